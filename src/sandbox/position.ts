/**
 * The place of a headline in its feed. Neither part ever changes, so a position stays valid even if the headline is
 * withdrawn.
 */
export interface Position {
  readonly publishedAt: number;
  readonly id: string;
}

/** Oldest first, equal times by id. */
export function comparePositions(a: Position, b: Position): number {
  return a.publishedAt - b.publishedAt || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);
}
