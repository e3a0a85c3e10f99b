import type { Random } from '../random.ts';

/**
 * When something happens, in seconds of its day, and how it is stamped: the share `hourShare` with the beginning of its hour.
 * Most news is made around noon.
 */
export function timeOfDay(hourShare: number, random: Random): { happened: number; stamped: number } {
  const happened = Math.floor(43_200 * (random.share() + random.share()));
  return { happened, stamped: random.share() < hourShare ? happened - (happened % 3600) : happened };
}
