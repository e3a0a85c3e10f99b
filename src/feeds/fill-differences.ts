import type { Row } from './feed.ts';

/** A column that is the difference of two others, first minus second, where a record does not have it. */
export interface Difference {
  readonly column: string;
  readonly of: readonly [string, string];
}

/** Fills those that are empty and can be computed. */
export function fillDifferences(differences: readonly Difference[], row: Row): void {
  for (const { column, of } of differences) row[column] ??= differenceIn(row, of);
}

/** Empties those that are what they would be computed as. */
export function emptyDifferences(differences: readonly Difference[], row: Row): void {
  for (const { column, of } of differences) if (row[column] === differenceIn(row, of)) row[column] = null;
}

function differenceIn(row: Row, [from, take]: readonly [string, string]): number | null {
  const minuend = row[from];
  const subtrahend = row[take];
  return typeof minuend === 'number' && typeof subtrahend === 'number' ? minuend - subtrahend : null;
}
