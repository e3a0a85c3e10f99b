/** The place of a headline in its feed. It never changes, so it stays valid even if the headline is withdrawn. */
export interface Position {
  readonly publishedAt: number;
  readonly id: string;
}

/** Sorts oldest first, equal times by id. */
export function comparePositions(a: Position, b: Position): number {
  return a.publishedAt - b.publishedAt || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);
}
