import { bisectLeft, cumsum, greatest, group, sum } from 'd3-array';
import { endOf, startOf, startsOf } from '../buckets.ts';
import type { Bucket } from '../loader.ts';
import type { Row } from '../rows.ts';
import { aDay, plusDays } from '../time.ts';

export type Model = 'directional' | 'semantic';

/** Writes a series as one text, for the address. Neither a country's code nor a match type has a space. */
export function keyOf(series: Pick<SeriesKey, 'country' | 'topic' | 'match'>): string {
  return `${series.country} ${series.topic} ${series.match}`;
}

export interface SeriesKey {
  readonly country: string;
  readonly topic: string;
  readonly match: string;
}

export type SentimentRow = Omit<Row<'sentiment'>, 'state'>;
type CoveredRow = Row<'coverage/days'>;

/**
 * `incomplete` is a bucket with headlines that is not covered: its windows are half drained, or its days are settling. `cut`
 * is one whose days in the period are covered, and that has others.
 */
export type State = 'covered' | 'cut' | 'incomplete' | 'missing';

type Times = readonly [begin: number, end: number];

/** Returns the state of a bucket in a period, both in milliseconds. */
function stateOf(
  isCovered: (...times: Times) => boolean,
  [start, stop]: Times,
  [begin, end]: Times,
  hasNews: boolean,
): State {
  const [from, to] = [Math.max(start, begin), Math.min(stop, end)];
  if (!isCovered(from, to)) return hasNews ? 'incomplete' : 'missing';
  return from > start || to < stop ? 'cut' : 'covered';
}

/** True if all of a bucket's days in the period are loaded. */
export function isLoaded(state: State): boolean {
  return state === 'covered' || state === 'cut';
}

/** Says what a bucket without news, or without all of its news, is. */
export function stateWords(state: State, { by, from, to }: Pick<Chart, 'by' | 'from' | 'to'>): string {
  if (state === 'cut') return `part of the ${by}: the period is ${from} to ${to}`;
  return { covered: 'no news', incomplete: 'not complete', missing: 'not loaded' }[state];
}

export interface Line extends SeriesKey {
  readonly key: string;
  readonly title: string;
  /** Its place among all lines, which decides its colour. */
  readonly place: number;
  readonly states: readonly State[];
  readonly headlines: readonly number[];
  /** How many headlines each drawn mean is of: those of the bucket, or of the days of the trailing mean. */
  readonly behind: readonly number[];
  /** The drawn values: `undefined` without news, `null` where not all days behind them are covered. */
  readonly values: readonly (number | null | undefined)[];
  /** The means so far of buckets that are incomplete or cut. */
  readonly loose: readonly (number | null)[];
  /** The buckets' means, without smoothing, and how many scores each is of. */
  readonly means: readonly (number | null)[];
  readonly counts: readonly number[];
  /** The usual scatter of a trailing mean at each drawn value. */
  readonly bands: readonly (readonly [low: number, high: number] | null)[];
}

export interface Chart {
  readonly by: Bucket;
  /** The days of the period, which may cut the first and the last bucket. */
  readonly from: string;
  readonly to: string;
  readonly starts: readonly number[];
  readonly ends: readonly number[];
  readonly lines: readonly Line[];
  readonly model: Model | 'mean';
  readonly smooth: number;
  readonly counted: 'headline' | 'event';
  /** The same lines as they are known now, if this is a chart of a past moment. */
  readonly now?: Chart;
}

export interface ChartAsked {
  readonly series: readonly SeriesKey[];
  readonly model: Model;
  readonly from: string;
  readonly to: string;
  readonly by: Bucket;
  /** Days of the trailing mean, which also needs rows from `leadOf` on. */
  readonly smooth: number;
}

export function chartOf(
  rows: readonly SentimentRow[],
  covered: readonly CoveredRow[],
  asked: ChartAsked,
): Chart {
  const { by, from, to, smooth, model } = asked;
  const starts = startsOf(from, to, by);
  const ends = starts.map((start) => endOf(start, by));
  const period: Times = [smooth > 1 ? starts[0]! : Date.parse(from), Date.parse(to) + aDay];
  const byKey = groupedBySeries(rows);
  const coveredByKey = groupedBySeries(covered);
  const titles = titlesOf(asked.series);
  const chart = { by, from, to, starts, ends, model, smooth, counted: 'headline' } as const;
  const behindAt = starts.map((_, index) => behindOf(chart, index));
  const lines = asked.series.map((one, place): Line => {
    const key = keyOf(one);
    const found = new Map((byKey.get(key) ?? []).map((row) => [Date.parse(row.at), row]));
    const rows = starts.map((start) => found.get(start));
    const headlines = rows.map((row) => row?.all_count ?? 0);
    const isCovered = coveredBy(coveredByKey.get(key) ?? []);
    const states = starts.map((start, index) =>
      stateOf(isCovered, [start, ends[index]!], period, headlines[index]! > 0),
    );
    const means = rows.map((row) => row?.[model] ?? null);
    const sumsOf = summing(found);
    const scores = scoresOf(sumsOf, model);
    const allBehind = sumsOf((row) => row.all_count ?? 0);
    const drawn = means.map((mean, index) => {
      const { from, to } = behindAt[index]!;
      return mean === null || smooth === 1 ? mean : scores.sum(from, to) / scores.count(from, to);
    });
    const values = drawn.map((value, index) => {
      const isFull = states[index] === 'covered' && isCovered(behindAt[index]!.from, ends[index]!);
      return isFull ? (value ?? undefined) : null;
    });
    return {
      ...{ ...one, key, title: titles[place]!, place, states, headlines, means, values },
      behind: smooth > 1 ? behindAt.map(({ from, to }) => allBehind(from, to)) : headlines,
      loose: drawn.map((value, index) => (/incomplete|cut/.test(states[index]!) ? value : null)),
      counts: rows.map((row) => row?.[`${model}_count`] ?? 0),
      bands: values.map((value, index) => {
        const { from, to } = behindAt[index]!;
        const isKnown = typeof value === 'number' && isCovered(from - usualDays * aDay, to);
        return smooth > 1 && by === 'day' && isKnown ? usualScatter(scores, from, to) : null;
      }),
    };
  });
  return { ...chart, lines };
}

/** Returns a function that sums up a value of rows, by when they begin, from one moment to before another, in milliseconds. */
function summing(found: ReadonlyMap<number, SentimentRow>) {
  const sorted = [...found].toSorted(([a], [b]) => a - b);
  const times = sorted.map(([at]) => at);
  return (value: (row: SentimentRow) => number) => {
    const sums = [0, ...cumsum(sorted, ([, row]) => value(row))];
    return (from: number, to: number) => sums[bisectLeft(times, to)]! - sums[bisectLeft(times, from)]!;
  };
}

/** Sums up the scores of a model: their number, the scores, what their scatter follows from, and the rows that have some. */
function scoresOf(sumsOf: ReturnType<typeof summing>, model: Model) {
  const count = (row: SentimentRow) => row[`${model}_count`] ?? 0;
  const sum = (row: SentimentRow) => row[`${model}_sum`] ?? 0;
  return {
    count: sumsOf(count),
    sum: sumsOf(sum),
    squares: sumsOf((row) => count(row) && sum(row) ** 2 / count(row)),
    rows: sumsOf((row) => Number(count(row) > 0)),
  };
}

/** Days before a period whose daily means say what is usual, and standard errors on each side, as in Briefing. */
const [usualDays, usualErrors] = [90, 2];

/**
 * Returns the usual scatter of the mean of a period: around the mean of the 90 days before, where the mean of the period would be
 * less than 2 standard errors (z) from it. These follow from the scatter of daily means, as in `sentiment/changes`.
 */
function usualScatter({ count, sum, squares, rows }: ReturnType<typeof scoresOf>, from: number, to: number) {
  const before = from - usualDays * aDay;
  const [n, n0, days] = [count(from, to), count(before, from), rows(before, to)];
  if (n === 0 || n0 === 0 || days < leastBuckets) return null;
  const rest = squares(before, to) - sum(from, to) ** 2 / n - sum(before, from) ** 2 / n0;
  const variance = Math.max(0, rest) / (days - 2);
  const middle = sum(before, from) / n0;
  const aside = usualErrors * Math.sqrt(variance * (1 / n + 1 / n0));
  return [middle - aside, middle + aside] as const;
}

export interface Move {
  readonly line: Line;
  readonly index: number;
  readonly change: number;
  /** The change in standard errors. */
  readonly z: number;
}

/** The least buckets with headlines from which a standard error follows, as in Changes. */
const leastBuckets = 7;

/**
 * Finds the move between complete neighbours that is largest in standard errors, which follow from how the means of the buckets
 * scatter: means of a few headlines move most, and say least.
 */
export function largestMove({ lines }: Chart): Move | undefined {
  const moves = lines.flatMap((line) => {
    const { values, counts } = line;
    const all = values.flatMap((mean, index) =>
      typeof mean === 'number' ? [{ mean, count: counts[index]! }] : [],
    );
    if (all.length < leastBuckets) return [];
    const mean = sum(all, (one) => one.count * one.mean) / sum(all, ({ count }) => count);
    const variance = sum(all, (one) => one.count * (one.mean - mean) ** 2) / (all.length - 1);
    return values.flatMap((now, index): Move[] => {
      const before = values[index - 1];
      if (typeof now !== 'number' || typeof before !== 'number') return [];
      const error = Math.sqrt(variance * (1 / counts[index]! + 1 / counts[index - 1]!));
      return error > 0 ? [{ line, index, change: now - before, z: (now - before) / error }] : [];
    });
  });
  return greatest(moves, ({ z }) => Math.abs(z));
}

const leastShare = 1 / 3;

/** Returns the story that did most of a move, with its share; none that was news before, or that did less than a third. */
export function storyOfMove(stories: readonly Row<'sentiment/changes/stories'>[], { change }: Move) {
  const shares = stories
    .filter(({ others, headline_count_before: before }) => others === null && before === 0)
    .map(({ headline, contribution }) => ({ headline, share: contribution / change }));
  return greatest(
    shares.filter(({ share }) => share >= leastShare),
    ({ share }) => share,
  );
}

export function meanAt({ values, loose }: Line, index: number): number | null {
  return values[index] ?? loose[index] ?? null;
}

/** Says how a point differs from the same point now: its headlines changed, or nothing was known then. */
export function changeAt(
  { lines, now }: Chart,
  place: number,
  index: number,
): 'changed' | 'added' | undefined {
  const [then, later] = [lines[place]!, now?.lines[place]];
  if (!later) return undefined;
  const [before, after] = [meanAt(then, index), meanAt(later, index)];
  if (before === null) return after === null ? undefined : 'added';
  // Sums of days and of headlines differ in their last digits.
  const isSame = after !== null && Math.abs(before - after) < 1e-9;
  return isSame && then.behind[index] === later.behind[index] ? undefined : 'changed';
}

export function groupedBySeries<One extends Pick<SentimentRow, 'country' | 'topic' | 'match_type'>>(
  rows: readonly One[],
) {
  return group(rows, (row) => keyOf({ ...row, match: row.match_type }));
}

function coveredBy(ranges: readonly CoveredRow[]): (from: number, to: number) => boolean {
  const parsed = ranges.map((range) => [Date.parse(range.first_day), Date.parse(range.last_day) + aDay]);
  return (from, to) => parsed.some(([first, end]) => first! <= from && to <= end!);
}

/** Returns when the headlines behind a drawn mean begin and end, in milliseconds. */
export function behindOf(
  { starts, ends, smooth, ...days }: Pick<Chart, 'starts' | 'ends' | 'smooth' | 'from' | 'to'>,
  index: number,
): { from: number; to: number } {
  const start = starts[index]!;
  const to = Math.min(ends[index]!, Date.parse(days.to) + aDay);
  return {
    from: smooth > 1 ? Math.min(start, to - smooth * aDay) : Math.max(start, Date.parse(days.from)),
    to,
  };
}

/** Returns the first day whose rows a chart needs: a trailing mean is of earlier days, too, and compared with those before. */
export function leadOf({ from, by, smooth }: Pick<ChartAsked, 'from' | 'by' | 'smooth'>): string {
  if (smooth === 1) return from;
  return startOf(plusDays(from, 1 - smooth - (by === 'day' ? usualDays : 0)), by);
}

/** True if the headlines behind a drawn mean are of more days than its bucket. */
export function isTrailing(chart: Chart, index: number): boolean {
  return behindOf(chart, index).from < chart.starts[index]!;
}

/** Returns what distinguishes the series from each other, or country and topic if there is only one. */
function titlesOf(series: readonly SeriesKey[]): string[] {
  const all = series.map(({ country, topic, match }) => [country, topic, ...match.toLowerCase().split(' ')]);
  const isCommon = (part: string) => all.every((parts) => parts.includes(part));
  return all.map((parts) =>
    (all.length === 1 ? parts.slice(0, 2) : parts.filter((part) => !isCommon(part))).join(' · '),
  );
}

export function allHeadlines({ lines, starts }: Pick<Chart, 'lines' | 'starts'>): number[] {
  return starts.map((_, index) => sum(lines, ({ headlines }) => headlines[index]));
}
