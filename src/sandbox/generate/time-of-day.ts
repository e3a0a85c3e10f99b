import type { Random } from '../random.ts';

/** Most news is made around noon; the share `hourShare` of it is given a time on the hour. */
export function secondOfDay(hourShare: number, random: Random): number {
  const second = Math.floor(43_200 * (random.share() + random.share()));
  return random.share() < hourShare ? second - (second % 3600) : second;
}
