import type { Cell, Place } from '../grid-layout.ts';
import { namesOf } from '../loaded.ts';
import { number, share } from '../numbers.ts';
import type { Row } from '../rows.ts';
import { type State, states, stateTitles } from './states.ts';

/** The series of a match type of a feed, in a period. */
export interface Asked {
  readonly feed: string;
  readonly match_type: string;
  readonly from: string;
  readonly to: string;
}

/** A country or a ticker. */
export interface Line {
  readonly code: string;
  readonly name: string | null;
}

/** A topic, a variant, or a topic in a variant. */
export interface Column {
  readonly topic: string;
  readonly variant: string;
  readonly title: string;
  readonly group: string;
}

/** The days of all series of a feed, by state. */
export interface Cells {
  readonly rows: readonly Line[];
  readonly columns: readonly Column[];
  readonly by: 'country' | 'ticker';
  /** Days of the period. */
  readonly days: number;
  /** Days by row, column and state. */
  readonly counts: Int32Array;
  /** Timelines by row and column. */
  readonly timelines: readonly (string | undefined)[];
}

/** Arranges the series of a feed. Includes countries and topics that the service lists but nobody has requested. */
export function cellsOf(
  feed: string,
  days: number,
  found: readonly Row<'coverage'>[],
  listed: readonly Row<'series'>[],
): Cells {
  const isByCountry =
    found.length === 0 ? feed.startsWith('gmsi-') : found.some(({ country }) => country !== '');
  const by = isByCountry ? 'country' : 'ticker';
  const codeOf = (one: Row<'coverage'>) => one[by];

  const names = namesOf(listed, by);
  const codes = new Set([...(isByCountry ? names.keys() : []), ...found.map(codeOf)]);
  const rows = [...codes]
    .map((code) => ({ code, name: names.get(code) ?? null }))
    .sort((a, b) => compare(a.code, b.code));

  const categories = isByCountry ? namesOf(listed, 'topic') : new Map<string, string | null>();
  for (const { topic } of found) if (!categories.has(topic)) categories.set(topic, null);
  const variants = [...new Set(found.map(({ variant }) => variant))].sort();
  const columns = [...categories].flatMap(([topic, category]) =>
    (variants.length > 0 ? variants : ['']).map((variant) => ({
      topic,
      variant,
      title: [topic, variant].filter(Boolean).join(' · ') || 'all',
      group: topic === '' ? '' : category || (/^(.+?)-/.exec(topic)?.[1] ?? 'Others'),
    })),
  );
  columns.sort((a, b) => compare(a.group, b.group) || compare(a.title, b.title));

  const rowOf = new Map(rows.map(({ code }, index) => [code, index]));
  const columnOf = new Map(columns.map(({ topic, variant }, index) => [`${topic}\n${variant}`, index]));
  const counts = new Int32Array(rows.length * columns.length * states.length);
  const timelines = new Array<string | undefined>(rows.length * columns.length);
  for (const one of found) {
    const column = columnOf.get(`${one.topic}\n${one.variant}`)!;
    const place = rowOf.get(codeOf(one))! * columns.length + column;
    const at = place * states.length;
    timelines[place] = one.timeline;
    states.forEach((state, index) => {
      counts[at + index] = one[state];
    });
  }
  return { rows, columns, by, days, counts, timelines };
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

/** A shown column: a column, or a folded group. */
export interface ShownColumn {
  readonly title: string;
  readonly group: string;
  readonly isFolded: boolean;
  /** The indexes of its columns in the cells. */
  readonly of: readonly number[];
}

export interface Shown {
  readonly cells: Cells;
  readonly rows: readonly Line[];
  readonly columns: readonly ShownColumn[];
  /** Days by row, column and state; those of a folded group are summed. */
  readonly counts: Int32Array;
}

/** Counts series: those with any requested day, and those of them that have all days, settled or not. */
export function seriesIn({ counts, days }: Cells): { readonly asked: number; readonly complete: number } {
  let [asked, complete] = [0, 0];
  for (let at = 0; at < counts.length; at += states.length) {
    asked += Number(isAnything(counts, at));
    complete += Number(
      counts[at + states.indexOf('covered')]! + counts[at + states.indexOf('settling')]! === days,
    );
  }
  return { asked, complete };
}

/** @param onlyAsked omits rows and columns that were never requested */
export function shownOf(cells: Cells, onlyAsked: boolean, folded: ReadonlySet<string>): Shown {
  const width = cells.columns.length;
  const isAsked = (row: number, column: number) =>
    isAnything(cells.counts, (row * width + column) * states.length);
  const every = (length: number) => [...Array(length).keys()];
  const keep = (indexes: number[], isKept: (index: number) => boolean) =>
    onlyAsked ? indexes.filter(isKept) : indexes;
  const rowIndexes = keep(every(cells.rows.length), (row) => every(width).some((at) => isAsked(row, at)));
  const columnIndexes = keep(every(width), (column) =>
    every(cells.rows.length).some((at) => isAsked(at, column)),
  );

  const columns: (ShownColumn & { of: number[] })[] = [];
  for (const index of columnIndexes) {
    const { title, group } = cells.columns[index]!;
    const last = columns.at(-1);
    if (!folded.has(group)) columns.push({ title, group, isFolded: false, of: [index] });
    else if (last?.group === group) last.of.push(index);
    else columns.push({ title: group, group, isFolded: true, of: [index] });
  }
  const counts = new Int32Array(rowIndexes.length * columns.length * states.length);
  rowIndexes.forEach((row, y) => {
    columns.forEach(({ of }, x) => {
      const to = (y * columns.length + x) * states.length;
      for (const column of of)
        for (let state = 0; state < states.length; state++)
          counts[to + state]! += cells.counts[(row * width + column) * states.length + state]!;
    });
  });
  return { cells, rows: rowIndexes.map((index) => cells.rows[index]!), columns, counts };
}

function isAnything(counts: Int32Array, at: number): boolean {
  for (let state = 0; state < states.length; state++) if (counts[at + state]! > 0) return true;
  return false;
}

export type Days = Readonly<Record<State | 'never', number>> & { readonly all: number };

/** Sums the days of rows and columns, by default of all. */
export function daysOf(
  shown: Shown,
  rows: Iterable<number> = shown.rows.keys(),
  columns: readonly number[] = [...shown.columns.keys()],
): Days {
  const days = { covered: 0, settling: 0, running: 0, pending: 0, failed: 0, refused: 0 };
  let all = 0;
  for (const row of rows)
    for (const column of columns) {
      const at = (row * shown.columns.length + column) * states.length;
      states.forEach((state, index) => {
        days[state] += shown.counts[at + index]!;
      });
      all += shown.columns[column]!.of.length * shown.cells.days;
    }
  const known = Object.values(days).reduce((sum, one) => sum + one, 0);
  return { ...days, never: Math.max(0, all - known), all };
}

/** Describes days for a screen reader or a tooltip: "1,096 of 1,461 days covered (75.0%), 30 failed". */
export function inWords(days: Days): string {
  const others = (['settling', 'running', 'pending', 'failed', 'refused'] as const)
    .filter((state) => days[state] > 0)
    .map((state) => `, ${number(days[state])} ${stateTitles[state][0]}`);
  if (days.never === days.all) return 'never requested';
  return `${number(days.covered)} of ${number(days.all)} days covered (${share(days.covered, days.all)})${others.join('')}`;
}

/** Returns the shown series with failed days, row by row; `column` counts the columns of `cells`. */
export function failures({ cells, rows, columns }: Shown): Place[] {
  const failed = states.indexOf('failed');
  const width = cells.columns.length;
  const at = new Map(cells.rows.map((row, index) => [row, index]));
  return rows.flatMap((line, row) =>
    columns
      .flatMap(({ of }) => of)
      .filter((column) => cells.counts[(at.get(line)! * width + column) * states.length + failed]! > 0)
      .map((column) => ({ row, column })),
  );
}

/**
 * Returns how a cell is drawn: a series from its first day to its last, a folded group by state; with a frame if any day
 * failed.
 */
export function barOf(shown: Shown, row: number, column: number): Cell {
  const { cells, rows, columns } = shown;
  const of = columns[column]!.of;
  const at = cells.rows.indexOf(rows[row]!) * cells.columns.length + of[0]!;
  const timeline = of.length === 1 ? cells.timelines[at] : undefined;
  const days = daysOf(shown, [row], [column]);
  const spans = timeline
    ? timeline.split(', ').map((span) => span.split(' ') as [State | 'never', string])
    : ([...states, 'never'] as const).map((state) => [state, days[state]] as const);
  const parts = spans
    .filter(([, length]) => Number(length) > 0)
    .map(([state, length]) => [`var(--${state})`, Number(length) / days.all] as const);
  return { parts, mark: days.failed > 0 ? 'frame' : undefined };
}
