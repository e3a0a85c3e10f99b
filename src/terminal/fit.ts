import { type Cell, table } from './table.ts';
import { columnsOf, shortened, wholeWords } from './text.ts';

/** A part of a line; of those that find no room, the one of the lowest rank is left out first. */
export type Part = readonly [rank: number, text: string];

/** The parts that fit into a line, in their order; those without a text are none. */
export function fittingParts(parts: readonly Part[], columns: number, between = '  '): string {
  let kept = parts.filter(([, text]) => text !== '');
  const line = () => kept.map(([, text]) => text).join(between);
  while (kept.length > 1 && columnsOf(line()) > columns) {
    const least = Math.min(...kept.map(([rank]) => rank));
    kept = kept.filter(([rank]) => rank !== least);
  }
  return wholeWords(line(), columns);
}

/** A table whose lines fit: of its columns, those in `leftOut` are left out one after the other until they do. */
export function fittingTable(
  head: readonly string[],
  rows: readonly (readonly Cell[])[],
  columns: number,
  leftOut: readonly string[],
): string {
  const text = table(head, rows);
  const [first, ...others] = leftOut;
  if (first === undefined || text.split('\n').every((line) => columnsOf(line) <= columns)) return text;
  const isKept = (_: unknown, column: number) => head[column] !== first;
  return fittingTable(
    head.filter(isKept),
    rows.map((row) => row.filter(isKept)),
    columns,
    others,
  );
}

/** A job's name in a line of so many columns: a quarter of them at the most, for what is said of it matters more. */
export function shortenedName(name: string, columns: number): string {
  return shortened(name, Math.max(8, Math.floor(columns / 4)));
}
