import type { Day } from '../days.ts';
import { asShare, mix } from '../random.ts';

const PERIODS_IN_DAYS = [1460, 365.25, 130, 37] as const;
const AMPLITUDES = [0.35, 0.3, 0.2, 0.15] as const;

/**
 * Returns the mood of a pair on a day, from -1 to 1: a sum of slow waves, so that monthly means of the scores look like a
 * series and not like noise.
 */
export function moodOf(pair: number, day: Day): number {
  return PERIODS_IN_DAYS.reduce((mood, period, i) => {
    const phase = asShare(mix(pair, 101 + i));
    const stretch = 0.8 + 0.4 * asShare(mix(pair, 201 + i));
    return mood + AMPLITUDES[i]! * Math.sin(2 * Math.PI * (day / (period * stretch) + phase));
  }, 0);
}
