import { type Day, MS_PER_DAY } from '../days.ts';
import { readFlag } from '../paging/parameters.ts';
import type { Query } from '../service.ts';

const HOUR = 3_600_000;

/** The components of an hour's scores: averages are `sum / count` (docs/service.md, "Index feeds"). */
export interface HourlyComponents {
  /** Start of the hour, in milliseconds since 1970. */
  readonly hour: number;
  readonly count: number;
  readonly sum: number;
  readonly absSum: number;
  /** Population standard deviation; 0 for a single score. */
  readonly std: number;
}

export interface Scored {
  readonly publishedAt: number;
  /** At most four decimals. */
  readonly score: number;
}

/** Which hours a request wants from an index, and how they are stamped. */
export interface Hours {
  readonly asked: readonly unknown[];
  /** Returns the components of a day's hours, in order. */
  readonly ofDay: (scored: readonly Scored[], day: Day) => HourlyComponents[];
  /** Returns the time in the record of an hour, in milliseconds since 1970. */
  readonly stampOf: (components: HourlyComponents) => number;
}

/**
 * Reads `sparse` and `align_to_period_end`. Made up: hours without headlines are omitted unless `sparse` is false, and times
 * are the beginnings of hours unless `align_to_period_end` is true. Either way, a record belongs to the day on which its hour
 * begins.
 */
export function readHours(query: Query, now: number): Hours {
  const isSparse = readFlag(query, 'sparse', true);
  const shift = readFlag(query, 'align_to_period_end', false) ? HOUR : 0;
  return {
    asked: [isSparse, shift],
    ofDay: (scored, day) => {
      const components = hourlyComponents(scored);
      return isSparse ? components : everyHour(components, day, now);
    },
    stampOf: ({ hour }) => hour + shift,
  };
}

/** Returns all hours of a day that have begun, also those without headlines. */
function everyHour(components: readonly HourlyComponents[], day: Day, now: number): HourlyComponents[] {
  const known = new Map(components.map((it) => [it.hour, it]));
  return Array.from({ length: 24 }, (_, i) => day * MS_PER_DAY + i * HOUR)
    .filter((hour) => hour <= now)
    .map((hour) => known.get(hour) ?? emptyHour(hour));
}

/** Returns the components of each hour that has scores, in order. */
export function hourlyComponents(scored: readonly Scored[]): HourlyComponents[] {
  const scoresOf = new Map<number, number[]>();
  for (const { publishedAt, score } of scored) {
    const hour = publishedAt - (publishedAt % HOUR);
    const scores = scoresOf.get(hour);
    if (scores === undefined) scoresOf.set(hour, [score]);
    else scores.push(score);
  }
  return [...scoresOf].map(([hour, scores]) => componentsOf(hour, scores)).sort((a, b) => a.hour - b.hour);
}

function emptyHour(hour: number): HourlyComponents {
  return { hour, count: 0, sum: 0, absSum: 0, std: 0 };
}

function componentsOf(hour: number, scores: readonly number[]): HourlyComponents {
  const sum = scores.reduce((total, score) => total + score, 0);
  const absSum = scores.reduce((total, score) => total + Math.abs(score), 0);
  const mean = sum / scores.length;
  const variance = scores.reduce((total, score) => total + (score - mean) ** 2, 0) / scores.length;
  // Sums of numbers with four decimals have four decimals; further digits are rounding errors.
  return {
    hour,
    count: scores.length,
    sum: round(sum, 4),
    absSum: round(absSum, 4),
    std: round(Math.sqrt(variance), 8),
  };
}

function round(value: number, decimals: number): number {
  // Adding 0 turns -0 into 0, because JSON has no -0.
  return Number(value.toFixed(decimals)) + 0;
}
