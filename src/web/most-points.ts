import type { Bucket } from '../warehouse/questions/sentiment.ts';

/** The most points of one answer: what a screen can show, and a warehouse sum up while somebody waits. */
export const mostPoints = 50_000;

const perDay: Readonly<Record<Bucket, number>> = { hour: 24, day: 1, week: 1 / 7, month: 1 / 28 };

/** How many points an answer over so many days can have; the page asks before the API refuses. */
export function pointsIn(series: number, days: number, by: Bucket): number {
  return series * days * perDay[by];
}
