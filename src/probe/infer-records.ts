import type { Answer } from './ask.ts';
import type { ProbeFinding } from './fact.ts';

const minute = 60_000;
const hour = 60 * minute;

/** The fewest records that show how times are rounded. */
const leastForRounding = 20;
/** One record in 60 or 3600 is on the hour by chance; a share above this, of several records, is not chance. */
const byChance = { several: 3, minute: 0.05, second: 0.01 };
/** In times without a zone, the hours of some zones begin at another minute. */
const fullHours = [0, 15, 30, 45].map((past) => past * minute);

/** How finely times are given: `second`, `minute`, `hour`, `day`; or mixed, as in `second, some on the hour`. */
export function inferRounding({ times }: Answer): ProbeFinding {
  if (times.length < leastForRounding) return { reason: `${times.length} records are too few to tell` };
  const countAt = (unit: number, past = 0) => times.filter((time) => time % unit === past).length;
  const onTheHour = Math.max(...fullHours.map((past) => countAt(hour, past)));
  const evidence = `${onTheHour} of ${times.length} records are on the hour`;
  if (countAt(24 * hour) === times.length) return { value: 'day', evidence };
  if (onTheHour === times.length) return { value: 'hour', evidence };
  const grain = countAt(minute) === times.length ? 'minute' : 'second';
  const isMixed = onTheHour > byChance.several && onTheHour / times.length > byChance[grain];
  return { value: isMixed ? `${grain}, some on the hour` : grain, evidence };
}
