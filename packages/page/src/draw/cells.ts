import type { Cell, Place } from '../grid-layout.ts';
import { number, share } from '../numbers.ts';
import { namesOf, type Row, variantTitle } from '../rows.ts';
import { type State, spansOf, states, stateTitles } from './states.ts';

/** The series of a match type of a feed, in a period. */
export interface SeriesAsked {
  readonly feed: string;
  readonly match_type: string;
  readonly from: string;
  readonly to: string;
}

type Found = Row<'coverage'>;

/** All series of a feed. */
export type Cells = ReturnType<typeof cellsOf>;

/** Arranges the series of a feed. Includes countries and topics that the service lists but nobody has requested. */
export function cellsOf(
  feed: string,
  days: number,
  found: readonly Found[],
  listed: readonly Row<'series'>[],
) {
  const isByCountry =
    found.length === 0 ? feed.startsWith('gmsi-') : found.some(({ country }) => country !== '');
  const by = isByCountry ? ('country' as const) : ('ticker' as const);

  const variants = [...new Set(found.map(({ variant }) => variant))].sort();
  const names = namesOf(listed, by);
  // Of a feed without countries and tickers, the parameters say what it is of.
  if (!isByCountry && variants.length === 1) names.set('', variantTitle(variants[0]!));
  const codes = new Set([...(isByCountry ? names.keys() : []), ...found.map((one) => one[by])]);
  const rows = [...codes]
    .map((code) => ({ code, name: names.get(code) ?? null }))
    .sort((a, b) => compare(a.code, b.code));

  const categories = isByCountry ? namesOf(listed, 'topic') : new Map<string, string | null>();
  for (const { topic } of found) if (!categories.has(topic)) categories.set(topic, null);
  // Several variants stand below their topic, one below the category of its topic.
  const columns = [...categories].flatMap(([topic, category]) =>
    variants.length > 1
      ? variants.map((variant) => ({ topic, variant, title: variantTitle(variant), group: topic }))
      : {
          topic,
          variant: variants[0] ?? '',
          title: topic || 'all',
          group: topic === '' ? '' : category || (/^(.+?)-/.exec(topic)?.[1] ?? 'Others'),
        },
  );
  columns.sort((a, b) => compare(a.group, b.group) || compare(a.title, b.title));

  const keyOf = (...parts: string[]) => parts.join('\n');
  const byKey = new Map(found.map((one) => [keyOf(one[by], one.topic, one.variant), one]));
  // The days of each series by row and column; `undefined` if none was requested.
  const series = rows.map(({ code }) =>
    columns.map(({ topic, variant }) => byKey.get(keyOf(code, topic, variant))),
  );
  return { rows, columns, by, days, series };
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

/** The shown part of the cells. */
export type Shown = ReturnType<typeof shownOf>;

function isAsked(one: Found | undefined): one is Found {
  return one !== undefined && states.some((state) => one[state] > 0);
}

const missing = ['running', 'pending', 'failed', 'refused'] as const;

/** Counts series: those with any requested day, and those of them that have all requested days, settled or not. */
export function seriesIn({ series }: Cells): { readonly asked: number; readonly complete: number } {
  const asked = series.flat().filter(isAsked);
  const complete = asked.filter((one) => missing.every((state) => one[state] === 0));
  return { asked: asked.length, complete: complete.length };
}

/** @param onlyAsked omits rows and columns that were never requested */
export function shownOf(cells: Cells, onlyAsked: boolean, folded: ReadonlySet<string>) {
  const { rows, series } = cells;
  const keep = (all: readonly unknown[], isKept: (index: number) => boolean) =>
    [...all.keys()].filter((index) => !onlyAsked || isKept(index));
  const rowIndexes = keep(rows, (row) => series[row]!.some(isAsked));
  const columnIndexes = keep(cells.columns, (column) => series.some((row) => isAsked(row[column])));

  // Each is a column, or a folded group of some.
  const columns: { title: string; group: string; isFolded: boolean; of: number[] }[] = [];
  for (const index of columnIndexes) {
    const { title, group } = cells.columns[index]!;
    const last = columns.at(-1);
    if (!folded.has(group)) columns.push({ title, group, isFolded: false, of: [index] });
    else if (last?.group === group) last.of.push(index);
    else columns.push({ title: group, group, isFolded: true, of: [index] });
  }
  return {
    cells,
    columns,
    rows: rowIndexes.map((row) => rows[row]!),
    // By row and column: one, or all of a folded group.
    series: rowIndexes.map((row) => columns.map(({ of }) => of.map((column) => series[row]![column]))),
  };
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
      const of = shown.series[row]![column]!;
      for (const one of of) for (const state of states) days[state] += one?.[state] ?? 0;
      all += of.length * shown.cells.days;
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

/** Returns where the series with failed days are, row by row. */
export function failures({ series }: Cells): Place[] {
  return series.flatMap((ofRow, row) => ofRow.flatMap((one, column) => (one?.failed ? { row, column } : [])));
}

/**
 * Returns how a cell is drawn: a series from its first day to its last, a folded group by state; with a frame if any day
 * failed.
 */
export function barOf(shown: Shown, row: number, column: number): Cell {
  const of = shown.series[row]![column]!;
  const timeline = of.length === 1 ? of[0]?.timeline : undefined;
  const days = daysOf(shown, [row], [column]);
  const spans = timeline
    ? spansOf(timeline)
    : ([...states, 'never'] as const).map((state) => [state, days[state]] as const);
  const parts = spans
    .filter(([, length]) => length > 0)
    .map(([state, length]) => [`var(--${state})`, length / days.all] as const);
  return { parts, mark: days.failed > 0 ? 'frame' : undefined };
}
