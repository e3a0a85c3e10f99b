/** A GMSI headline record as the service may send it, with whatever is given in place of the defaults. */
export function aRecord(changes: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    id: '0A1B2C3D-0000-4000-8000-00000000000F',
    publication_time: '2026-05-21T13:00:00',
    headline: 'Food prices ease',
    language: 'en',
    source: 'Reuters',
    url: 'https://example.com/1',
    topic_probability: 0.91,
    directional_positive: 0.7,
    directional_neutral: 0.2,
    directional_negative: 0.1,
    semantic_positive: 0.5,
    semantic_neutral: 0.25,
    semantic_negative: 0.25,
    ...changes,
  };
}

export function without(record: Record<string, unknown>, ...names: string[]): Record<string, unknown> {
  return Object.fromEntries(Object.entries(record).filter(([name]) => !names.includes(name)));
}
