import { type Day, isWeekend } from '../days.ts';
import { asShare, hashText, mix, Random } from '../random.ts';
import type { Country } from '../world/countries.ts';
import type { Topic } from '../world/topics.ts';

const MEDIAN_PER_DAY = 8.2;
const SILENT_SHARE = 0.04;
const NEARLY_SILENT_SHARE = 0.08;
const WEEKEND = 0.4;
const BURST_SHARE = 0.012;
const BURST_DAYS = 5;

/** Most headlines of a pair on a day, because ids have 16 bits for the index. */
const MOST_PER_DAY = 65_535;

/** Returns a pair's average number of headlines on an ordinary weekday; 0 for the few pairs without any news. */
export function pairVolume(seed: string, country: Country, topic: Topic, pair: number): number {
  const fate = asShare(mix(pair, 1));
  if (fate < SILENT_SHARE) return 0;
  const topicWeight = 0.5 + 1.5 * asShare(hashText(`${seed}/${topic.name}`));
  const own = Math.exp(0.6 * new Random(mix(pair, 2)).normal());
  const hush = fate < SILENT_SHARE + NEARLY_SILENT_SHARE ? 0.02 : 1;
  return MEDIAN_PER_DAY * country.weight * topicWeight * own * hush;
}

/** Returns a pair's number of headlines on a day: fewer at weekends, several times as many while a burst fades. */
export function headlinesOn(day: Day, pair: number, ordinary: number): number {
  if (ordinary === 0) return 0;
  let factor = isWeekend(day) ? WEEKEND : 1;
  for (let age = 0; age < BURST_DAYS; age++) {
    const burst = asShare(mix(mix(pair, 3), day - age));
    if (burst < BURST_SHARE) factor += (1 + (4 * burst) / BURST_SHARE) * 0.6 ** age;
  }
  return Math.min(MOST_PER_DAY, new Random(mix(mix(pair, 4), day)).poisson(ordinary * factor));
}
