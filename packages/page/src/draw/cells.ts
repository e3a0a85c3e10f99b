import { cumsum, index, max, sum } from 'd3-array';
import type { Cell } from '../grid.tsx';
import { number, share } from '../numbers.ts';
import { namesOf, type Row, variantTitle } from '../rows.ts';
import { spansOf, states, stateTitles } from './states.ts';

type Found = Row<'coverage'>;

/** The series of a feed that were requested, by row and column. */
export type Cells = ReturnType<typeof cellsOf>;

/** Arranges the requested series of a feed: a row for each country or ticker, a column for each topic and variant. */
export function cellsOf(found: readonly Found[], listed: readonly Row<'series'>[]) {
  const by = found.some(({ ticker }) => ticker !== '') ? ('ticker' as const) : ('country' as const);
  const names = namesOf(listed, by);
  const categories = namesOf(listed, 'topic');
  const keyOf = ({ topic, variant }: Pick<Found, 'topic' | 'variant'>) => `${topic}\n${variant}`;
  const byCode = index(
    found,
    (one) => one[by],
    (one) => keyOf(one),
  );
  const variants = new Set(found.map(({ variant }) => variant)).size;
  const columns = [...new Map(found.map((one) => [keyOf(one), one])).values()].map(({ topic, variant }) => ({
    topic,
    variant,
    // Several variants stand below their topic, one below the category of its topic.
    title: variants > 1 ? variantTitle(variant) : topic,
    group: variants > 1 ? topic : (categories.get(topic) ?? ''),
  }));
  columns.sort((a, b) => compare(a.group, b.group) || compare(a.title, b.title));
  const rows = [...byCode.keys()].toSorted().map((code) => ({ code, name: names.get(code) ?? null }));
  return {
    by,
    rows,
    columns,
    at: (row: number, column: number): Found | undefined =>
      byCode.get(rows[row]!.code)?.get(keyOf(columns[column]!)),
  };
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

const missing = ['running', 'pending', 'failed', 'refused'] as const;

/** Returns true for a series that has all requested days, settled or not. */
export function isComplete(one: Found): boolean {
  return max(missing, (state) => one[state]) === 0;
}

/** Describes days for a screen reader or a tooltip: "1,096 of 1,461 days covered (75.0%), 30 failed". */
export function inWords(one: Found | undefined, days: number): string {
  if (!one) return 'never requested';
  const others = (['settling', ...missing] as const)
    .filter((state) => one[state] > 0)
    .map((state) => `, ${number(one[state])} ${stateTitles[state][0]}`);
  return `${number(one.covered)} of ${number(days)} days covered (${share(one.covered, days)})${others.join('')}`;
}

/** The least share of a part of a bar: every part is visible, however short it is. */
const leastPart = 0.02;

/** Returns how a series is drawn: from its first day to its last, with a frame if any day failed. */
export function barOf({ timeline, failed }: Found): Cell {
  const spans = spansOf(timeline);
  const days = sum(spans, ([, length]) => length);
  const ends = cumsum(spans, ([, length]) => Math.max(length / days, leastPart));
  const at = (place: number) => `${Math.round((1000 * (ends[place] ?? 0)) / ends.at(-1)!) / 10}%`;
  const parts = spans.map(([state], place) => `var(--${state}) ${at(place - 1)} ${at(place)}`);
  return { background: `linear-gradient(to right, ${parts.join(', ')})`, isFailed: failed > 0 };
}

/** Returns the states that some days have, for a legend. */
export function statesIn(found: readonly Found[]) {
  return [
    ...states.filter((state) => found.some((one) => one[state] > 0)),
    ...(found.some(({ timeline }) => timeline.includes('never')) ? (['never'] as const) : []),
  ];
}
