import type { Random } from '../random.ts';

/**
 * Returns when something happens, in seconds of its day, and its stamp: for the share `hourShare`, the beginning of its hour.
 * Most news is made around noon.
 */
export function timeOfDay(hourShare: number, random: Random): { happened: number; stamped: number } {
  const happened = Math.floor(43_200 * (random.share() + random.share()));
  return { happened, stamped: random.share() < hourShare ? happened - (happened % 3600) : happened };
}
