import type { Bucket } from '../warehouse/questions/sentiment.ts';

/** The most points of one answer: more would not fit a screen, and take too long to sum up. */
export const mostPoints = 50_000;

const perDay: Readonly<Record<Bucket, number>> = { hour: 24, day: 1, week: 1 / 7, month: 1 / 28 };

/** Returns the most points of an answer over so many days, so that the page asks for no answer that the API refuses. */
export function pointsIn(series: number, days: number, by: Bucket): number {
  return series * days * perDay[by];
}
