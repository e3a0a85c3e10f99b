/** States of a day of a series, in the order in which their shares are drawn. Other days were never requested. */
export const states = ['covered', 'settling', 'running', 'pending', 'failed', 'refused'] as const;
export type State = (typeof states)[number];

export const stateTitles: Readonly<Record<State | 'never', readonly [title: string, meaning: string]>> = {
  covered: ['covered', 'Loaded completely, and not expected to change.'],
  settling: ['settling', 'Loaded, but it was not over then or may still change: sync loads it again.'],
  running: ['running', 'A load is draining it.'],
  pending: ['waiting', 'Planned, not begun.'],
  failed: ['failed', 'Could not be loaded, even with retries; the next backfill retries it.'],
  refused: ['refused', 'The service refused it.'],
  never: ['never requested', 'No job has requested it.'],
};

/** Reads the states of days in order, such as `covered 300, failed 20, never 45`. */
export function spansOf<Of extends string = State | 'never'>(
  timeline: string,
): (readonly [state: Of, days: number])[] {
  return timeline.split(', ').map((span) => {
    const end = span.lastIndexOf(' ');
    return [span.slice(0, end) as Of, Number(span.slice(end))];
  });
}
