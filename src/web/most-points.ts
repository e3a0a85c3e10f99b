import type { Bucket } from '../warehouse/questions/sentiment.ts';

/** Most points of an answer. More would not fit on a screen, and would take too long to sum up. */
export const mostPoints = 50_000;

const perDay: Readonly<Record<Bucket, number>> = { hour: 24, day: 1, week: 1 / 7, month: 1 / 28 };

/** Returns how many points an answer can have, so that the page does not request answers that the API refuses. */
export function pointsIn(series: number, days: number, by: Bucket): number {
  return series * days * perDay[by];
}
