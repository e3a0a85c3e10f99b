import type { EndDateReading } from '../config/job.ts';
import { minute as written } from '../terminal/table.ts';
import type { Answer, Range } from './ask.ts';
import { daysBetween, type Minutes, type ProbeFinding } from './fact.ts';

/** A requested range, and the page that answered it, complete or cut off. */
export interface AnsweredRange {
  readonly range: Range;
  readonly answer: Answer;
}

type Reading = Exclude<EndDateReading, 'unknown'>;

/** One possible service: how it reads `end_date`, and how far its days begin from 0:00 in its records' times. */
interface Hypothesis {
  readonly reading: Reading;
  readonly shift: number;
}

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

/** From UTC+14, where days begin first, to UTC-12, where they begin last; zones differ by quarters of an hour. */
const shifts = Array.from({ length: (14 + 12) * 4 + 1 }, (_, i) => (-14 + i / 4) * hour);

/**
 * Infers by exclusion how the service reads `end_date` and when its days begin: keeps those of all possible services that would
 * have given the same answers. The zone need not be known, because each reading gives the range another length. Allows an hour at
 * each end, because clocks change and times are rounded down to the hour.
 * @param live times of records that are newer than all ranges: they show what an answer up to now would contain
 */
export function inferDays(
  answered: readonly AnsweredRange[],
  live: readonly number[] = [],
): { end_date: ProbeFinding; day_begin: ProbeFinding } {
  const unknown = (reason: string) => ({ end_date: { reason }, day_begin: { reason } });
  const evidence = answered.map(evidenceOf);
  const known = [...new Set(evidence.flatMap(({ returned }) => [...returned]))];
  if (known.length === 0) return unknown('no requested range contains a record');

  // Times without an hour do not show when days begin.
  const isByDay = known.every((time) => time % day === 0);
  const thatFit = (times: readonly number[]) =>
    (['inclusive', 'exclusive', 'ignored'] as const)
      .flatMap((reading) => (isByDay ? [0] : shifts).map((shift) => ({ reading, shift })))
      .filter((one) => evidence.every((piece) => fits(one, piece, times, isByDay ? 0 : hour)));
  const readingsOf = (some: readonly Hypothesis[]) => new Set(some.map(({ reading }) => reading));
  let possible = thatFit(known);
  // Otherwise not, because the historical feed may lag behind the live one.
  if (readingsOf(possible).size > 1) possible = thatFit([...known, ...live]);
  const readings = readingsOf(possible);
  if (readings.size === 0)
    return unknown('the answers fit no reading: are the dates sent under the right names?');
  if (readings.size > 1) return unknown(`the records lie too far apart to tell: ${describe(answered)}`);

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

/** The facts that one answer can test. */
function evidenceOf({ range, answer }: AnsweredRange) {
  const { times } = answer;
  const earliest = Math.min(...times);
  const latest = Math.max(...times);
  const isFalling = times.every((time, index) => index === 0 || time <= times[index - 1]!);
  const isRising = times.every((time, index) => index === 0 || time >= times[index - 1]!);
  // Whether a record of that time would be on the page, if it were in the range. A page that is cut off and has no order shows
  // nothing, and one whose times are all the same has none.
  const wouldShow = (time: number) => {
    if (answer.nextToken === null) return true;
    if (isFalling === isRising) return false;
    return isFalling ? time > earliest : time < latest;
  };
  const [start, end] = [Date.parse(range.start), Date.parse(range.end)];
  return { start, end, returned: new Set(times), earliest, latest, wouldShow };
}

/** The answer has nothing outside the range, and everything that is known to be inside. */
function fits(
  { reading, shift }: Hypothesis,
  evidence: ReturnType<typeof evidenceOf>,
  known: readonly number[],
  tolerance: number,
): boolean {
  const begin = evidence.start + shift;
  const end = reading === 'ignored' ? Infinity : evidence.end + shift + (reading === 'inclusive' ? day : 0);
  // For an empty page, the earliest is infinity and the latest minus infinity.
  if (evidence.earliest < begin - tolerance || evidence.latest >= end + tolerance) return false;
  return known.every(
    (time) =>
      time < begin + tolerance ||
      time >= end - tolerance ||
      !evidence.wouldShow(time) ||
      evidence.returned.has(time),
  );
}

/** Bounds that are further apart than this, in minutes, do not count as learned. */
const widestRange = 6 * 60;

function dayBegin(possible: readonly number[], answered: readonly AnsweredRange[]): ProbeFinding {
  const value: Minutes = { least: Math.min(...possible), most: Math.max(...possible) };
  if (value.most - value.least > widestRange) return { reason: 'the records lie too far apart to tell' };
  return { value, evidence: `to the hour at best: ${describe(answered)}` };
}

/** The short ranges; if none was answered, the two weeks before them. */
function describe(answered: readonly AnsweredRange[]): string {
  return (answered.length > 1 ? answered.slice(1) : answered)
    .map(({ range: { start, end }, answer: { times } }) => {
      const found =
        times.length === 0
          ? 'returned nothing'
          : `returned ${times.length} records from ${written(Math.min(...times))} to ${written(Math.max(...times))}`;
      return `start_date ${start}, end_date ${end} ${found}`;
    })
    .join('; ');
}

interface Days {
  readonly start: string;
  readonly end: string;
}

/**
 * Returns two consecutive days and a single day with as many records as possible, so that missing records show. Prefers days with
 * known days on both sides, because a range at the edge of the known days shows nothing, and a single day with a whole known day
 * after it, which shows whether the answer ends with the single day.
 */
export function pickDays(times: readonly number[]): Days[] {
  const counts = new Map<string, number>();
  for (const time of times) {
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
  const early = inside.length > 1 ? inside.slice(0, -1) : inside;
  const single = busiest(early.length > 0 ? early : days, (day) => counts.get(day)!)!;
  return [...(pair ? [pair] : []), { start: single, end: single }];
}

function busiest<T>(items: readonly T[], countOf: (item: T) => number): T | undefined {
  return items.toSorted((a, b) => countOf(b) - countOf(a))[0];
}
