import type { EndDateReading } from '../config/job.ts';
import type { Answer, Range, SeenRecord } from './ask.ts';
import { daysBetween, type Minutes, type ProbeFinding } from './fact.ts';
import { orderOf } from './infer-records.ts';

/** A range that was asked for and the page that came, the whole of it or its first part. */
export interface AnsweredRange {
  readonly range: Range;
  readonly answer: Answer;
}

type Reading = Exclude<EndDateReading, 'unknown'>;

/** One possible service: how it reads `end_date`, and how far from 0:00 of its records' times its days begin. */
interface Hypothesis {
  readonly reading: Reading;
  readonly shift: number;
}

/** What one answer allows to check. */
interface Evidence {
  readonly start: number;
  readonly end: number;
  readonly returned: ReadonlySet<number>;
  readonly earliest: number;
  readonly latest: number;
  /** Whether a record of that time would be on the page, if it were in the range. */
  readonly wouldShow: (time: number) => boolean;
}

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

/** From where days begin earliest, in UTC+14, to where they begin latest, in UTC-12; zones differ by quarters of an hour. */
const shifts = Array.from({ length: (14 + 12) * 4 + 1 }, (_, i) => (-14 + i / 4) * hour);

/**
 * Whether `end_date` is part of the range, and when days begin, by exclusion: of all services that could be, those stay
 * that would have answered as this one did. Zones need not be known for it: under either reading a range has another
 * length. An hour is allowed for at each end, since clocks are set back and forth and times are rounded down to the hour.
 */
export function inferDays(answered: readonly AnsweredRange[]): {
  end_date: ProbeFinding;
  day_begin: ProbeFinding;
} {
  const unknown = (reason: string) => ({ end_date: { reason }, day_begin: { reason } });
  const evidence = answered.map(evidenceOf);
  const known = [...new Set(evidence.flatMap(({ returned }) => [...returned]))];
  if (known.length === 0) return unknown('no range that was asked for held a record');

  // Times that tell nothing but the day tell nothing of when days begin.
  const isByDay = known.every((time) => time % day === 0);
  const possible = (['inclusive', 'exclusive'] as const)
    .flatMap((reading) => (isByDay ? [0] : shifts).map((shift) => ({ reading, shift })))
    .filter((one) => evidence.every((piece) => fits(one, piece, known, isByDay ? 0 : hour)));
  const readings = new Set(possible.map(({ reading }) => reading));
  if (readings.size === 0)
    return unknown('the answers fit neither reading: are the dates sent under the right names?');
  if (readings.size === 2) return unknown(`the records lie too far apart to tell: ${describe(answered)}`);

  const [reading] = readings as Set<Reading>;
  return {
    end_date: { value: reading!, evidence: describe(answered) },
    day_begin: isByDay
      ? { reason: 'times are whole days' }
      : dayBegin(
          possible.map(({ shift }) => shift / minute),
          answered,
        ),
  };
}

function evidenceOf({ range, answer }: AnsweredRange): Evidence {
  const times = answer.records.map(({ time }) => time);
  const earliest = Math.min(...times);
  const latest = Math.max(...times);
  const order = orderOf(answer.records);
  const wouldShow = (time: number) => {
    if (answer.nextToken === null) return true;
    if (order === 'newest-first') return time > earliest;
    return order === 'oldest-first' && time < latest;
  };
  const [start, end] = [Date.parse(range.start), Date.parse(range.end)];
  return { start, end, returned: new Set(times), earliest, latest, wouldShow };
}

/** Nothing outside of the range has come, and everything known to be inside has. */
function fits(
  { reading, shift }: Hypothesis,
  evidence: Evidence,
  known: readonly number[],
  tolerance: number,
): boolean {
  const begin = evidence.start + shift;
  const end = evidence.end + shift + (reading === 'inclusive' ? day : 0);
  if (evidence.returned.size > 0) {
    if (evidence.earliest < begin - tolerance || evidence.latest >= end + tolerance) return false;
  }
  return known.every(
    (time) =>
      time < begin + tolerance ||
      time >= end - tolerance ||
      !evidence.wouldShow(time) ||
      evidence.returned.has(time),
  );
}

function dayBegin(possible: readonly number[], answered: readonly AnsweredRange[]): ProbeFinding {
  const value: Minutes = { least: Math.min(...possible), most: Math.max(...possible) };
  if (value.most - value.least > widestRange) return { reason: 'the records lie too far apart to tell' };
  return { value, evidence: `to the hour at best: ${describe(answered)}` };
}

/** Bounds that are further apart than this, in minutes, tell too little to be called learned. */
export const widestRange = 6 * 60;

/** The short ranges; the month before them, where none was answered. */
function describe(answered: readonly AnsweredRange[]): string {
  return (answered.length > 1 ? answered.slice(1) : answered)
    .map(({ range: { start, end }, answer: { records } }) => {
      const times = records.map(({ time }) => time);
      const found =
        times.length === 0
          ? 'brought nothing'
          : `brought ${times.length} records of ${written(Math.min(...times))} to ${written(Math.max(...times))}`;
      return `start_date ${start}, end_date ${end} ${found}`;
    })
    .join('; ');
}

/** A point in time to the minute, in UTC or what was taken for it. */
export function written(time: number): string {
  return new Date(time).toISOString().slice(0, 16).replace('T', ' ');
}

interface Days {
  readonly start: string;
  readonly end: string;
}

/**
 * Two days in a row and a single day with as many records as can be had, so that it shows which of them are left out.
 * Days with others known on both sides come first: what ends where the knowledge ends tells nothing.
 */
export function pickDays(records: readonly SeenRecord[]): Days[] {
  const counts = new Map<string, number>();
  for (const { time } of records) {
    const day = new Date(time).toISOString().slice(0, 10);
    counts.set(day, (counts.get(day) ?? 0) + 1);
  }
  const days = [...counts.keys()].sort();
  if (days.length === 0) return [];
  const inside = days.slice(1, -1);
  const pairs = days.slice(1).flatMap((end, index) => {
    const start = days[index]!;
    return daysBetween(start, end) === 1 ? [{ start, end }] : [];
  });
  const insidePairs = pairs.filter(({ start, end }) => start > days[0]! && end < days.at(-1)!);
  const least = ({ start, end }: Days) => Math.min(counts.get(start)!, counts.get(end)!);
  const pair = busiest(insidePairs.length > 0 ? insidePairs : pairs, least);
  const single = busiest(inside.length > 0 ? inside : days, (day) => counts.get(day)!)!;
  return [...(pair ? [pair] : []), { start: single, end: single }];
}

function busiest<T>(items: readonly T[], countOf: (item: T) => number): T | undefined {
  return items.toSorted((a, b) => countOf(b) - countOf(a))[0];
}
