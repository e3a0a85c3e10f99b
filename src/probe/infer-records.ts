import { minute as written } from '../terminal/table.ts';
import type { Answer, Reply } from './ask.ts';
import { type ProbeFinding, widestRange } from './fact.ts';

const minute = 60_000;
const hour = 60 * minute;

/** The fewest records that show how times are rounded. */
const leastForRounding = 20;
/** One record in 60 or 3600 is on the hour by chance; a share above this, of several records, is not chance. */
const byChance = { several: 3, minute: 0.05, second: 0.01 };
/** In times without a zone, the hours of some zones begin at another minute. */
const fullHours = [0, 15, 30, 45].map((past) => past * minute);

/** How finely times are given: `second`, `minute`, `hour`, `day`; or mixed, as in `second, some on the hour`. */
export function inferRounding({ records }: Answer): ProbeFinding {
  if (records.length < leastForRounding) return { reason: `${records.length} records are too few to tell` };
  const countAt = (unit: number, past = 0) => records.filter(({ time }) => time % unit === past).length;
  const onTheHour = Math.max(...fullHours.map((past) => countAt(hour, past)));
  const evidence = `${onTheHour} of ${records.length} records are on the hour`;
  if (countAt(24 * hour) === records.length) return { value: 'day', evidence };
  if (onTheHour === records.length) return { value: 'hour', evidence };
  const grain = countAt(minute) === records.length ? 'minute' : 'second';
  const isMixed = onTheHour > byChance.several && onTheHour / records.length > byChance[grain];
  return { value: isMixed ? `${grain}, some on the hour` : grain, evidence };
}

/** All zones are a multiple of 15 minutes from UTC, from 12 hours behind to 14 ahead. */
const quarter = 15;
const zones = { least: -12 * 60, most: 14 * 60 };
/** By how much this machine's clock and the service's may differ, in minutes. */
const clocksDiffer = 2;
/** The newest record of a full page is no older than this many average gaps between its records. */
const gaps = 20;

/**
 * Infers the zone of times without one from the live feed: its newest record is not in the future, and its oldest within the
 * feed's reach. That reach is a guess, so an answer that does not fit is ignored.
 */
export function inferZone(
  historical: Answer,
  live: Reply | undefined,
  { reachHours, fullPage }: { readonly reachHours: number; readonly fullPage: number },
): ProbeFinding {
  const sample = historical.records[0] ?? (live?.kind === 'answered' ? live.answer.records[0] : undefined);
  if (!sample) return { reason: 'no records came' };
  const { writtenTime } = sample;
  if (typeof writtenTime === 'number' || /^\d{9,}|[T ].*(?:Z|UTC|[+-]\d\d(?::?\d\d)?)$/i.test(writtenTime)) {
    return { value: 'stated', evidence: `times look like ${writtenTime}` };
  }
  if (live === undefined) return { reason: 'times carry no zone, and there is no live feed to compare with' };
  if (live.kind !== 'answered') {
    const why = live.kind === 'refused' ? `${live.status}: ${live.words}` : live.reason;
    return { reason: `times carry no zone, and the live feed did not answer (${why})` };
  }
  return compareWithClock(live.answer, reachHours, live.answer.count >= fullPage);
}

function compareWithClock({ records, at }: Answer, reachHours: number, isCutOff: boolean): ProbeFinding {
  if (records.length === 0) return { reason: 'times carry no zone, and the live feed had no record' };
  const times = records.map(({ time }) => time);
  const [oldest, newest] = [Math.min(...times), Math.max(...times)];
  const byReach = oldest - at + reachHours * hour;
  const byFreshness = newest - at + hour + (gaps * (newest - oldest)) / times.length;
  const latest = isCutOff ? Math.min(byReach, byFreshness) : byReach;
  const least = Math.max(zones.least, roundUp((newest - at) / minute - clocksDiffer));
  const most = Math.min(zones.most, roundDown(latest / minute + clocksDiffer));
  const seen =
    `at ${written(at)} UTC the live feed, which probably reaches ${reachHours} h back, had ` +
    `${times.length} records from ${written(oldest)} to ${written(newest)}`;
  if (least > most) return { reason: `no zone fits: ${seen}` };
  if (most - least > widestRange) return { reason: `too little news to tell: ${seen}` };
  return { value: { least, most }, evidence: seen };
}

const roundUp = (minutes: number) => Math.ceil(minutes / quarter) * quarter + 0;
const roundDown = (minutes: number) => Math.floor(minutes / quarter) * quarter + 0;
