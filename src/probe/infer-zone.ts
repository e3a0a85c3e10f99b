import type { Answer, Reply } from './ask.ts';
import type { Finding } from './fact.ts';
import { widest, written } from './infer-days.ts';

const minute = 60_000;
const hour = 60 * minute;
/** All zones are whole quarters of an hour from UTC, from 12 hours behind to 14 ahead. */
const quarter = 15;
const zones = { least: -12 * 60, most: 14 * 60 };
/** By how much this machine's clock and the service's may differ, in minutes. */
const clocksDiffer = 2;
/** The newest record of a page that is cut off at its limit is no older than so many gaps between its records. */
const gaps = 20;

/**
 * The zone of times that carry none, by the live feed: its newest record is not of the future, and its oldest no older
 * than the feed reaches back (which is only likely, so an answer that does not fit that tells nothing).
 */
export function inferZone(
  historical: Answer,
  live: Reply | undefined,
  { reachHours, fullPage }: { readonly reachHours: number; readonly fullPage: number },
): Finding {
  const sample = historical.records[0] ?? (live?.kind === 'answered' ? live.answer.records[0] : undefined);
  if (!sample) return { reason: 'no records came' };
  const { writtenTime } = sample;
  if (typeof writtenTime === 'number' || /^\d{9,}|[T ].*(?:Z|UTC|[+-]\d\d(?::?\d\d)?)$/i.test(writtenTime)) {
    return { value: 'stated', evidence: `times look like ${writtenTime}` };
  }
  if (live === undefined) return { reason: 'times carry no zone, and the feed has no live twin to compare' };
  if (live.kind !== 'answered') {
    const why = live.kind === 'refused' ? `${live.status}: ${live.words}` : live.reason;
    return { reason: `times carry no zone, and the live feed did not answer (${why})` };
  }
  return compareWithClock(live.answer, reachHours, live.answer.count >= fullPage);
}

function compareWithClock({ records, at }: Answer, reachHours: number, isCutOff: boolean): Finding {
  if (records.length === 0) return { reason: 'times carry no zone, and the live feed had no record' };
  const times = records.map(({ time }) => time);
  const [oldest, newest] = [Math.min(...times), Math.max(...times)];
  const byReach = oldest - at + reachHours * hour;
  const byFreshness = newest - at + hour + (gaps * (newest - oldest)) / times.length;
  const latest = isCutOff ? Math.min(byReach, byFreshness) : byReach;
  const least = Math.max(zones.least, roundUp((newest - at) / minute - clocksDiffer));
  const most = Math.min(zones.most, roundDown(latest / minute + clocksDiffer));
  const seen =
    `at ${written(at)} UTC the live feed, which is likely to reach ${reachHours} h back, had ` +
    `${times.length} records of ${written(oldest)} to ${written(newest)}`;
  if (least > most) return { reason: `no zone fits: ${seen}` };
  if (most - least > widest) return { reason: `too little news to tell: ${seen}` };
  return { value: { least, most }, evidence: seen };
}

const roundUp = (minutes: number) => Math.ceil(minutes / quarter) * quarter + 0;
const roundDown = (minutes: number) => Math.floor(minutes / quarter) * quarter + 0;
