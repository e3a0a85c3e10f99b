import { Temporal } from 'temporal-polyfill';
import { type Session, today } from '../compose.ts';
import type { Job } from '../config/job.ts';
import { ConfigError } from '../errors.ts';
import { feedNamed } from '../feeds/catalog.ts';
import { listsFor, scopeOf } from '../load/resolve-load.ts';
import { wantedDays } from '../plan/days.ts';
import type { Day } from '../warehouse/database.ts';
import type { StoredLookups } from '../warehouse/tables/lookups.ts';
import type { WindowScope } from '../warehouse/tables/scope.ts';

/** The day that an option was given, if it was. @throws ConfigError naming the option */
export function readDay(flag: string, text: string | undefined): Day | undefined {
  if (text === undefined) return undefined;
  try {
    if (/^\d{4}-\d{2}-\d{2}$/.test(text)) return Temporal.PlainDate.from(text).toString();
  } catch {
    // A day that the calendar does not have is told like any other text.
  }
  throw new ConfigError(`${flag} is "${text}".`, {
    hint: 'It must be a day (UTC) such as 2025-12-31; it is included.',
  });
}

/** The number that an option was given. @throws ConfigError naming the option */
export function readWholeNumber(flag: string, text: string): number {
  if (!/^\d+$/.test(text)) {
    throw new ConfigError(`${flag} is "${text}".`, { hint: 'It must be a whole number.' });
  }
  return Number(text);
}

/**
 * What a job asks for, by the lookups as they are stored; the service is not asked.
 * @param done what cannot be done without them, such as `checked`
 * @throws ConfigError where they were never fetched
 */
export function knownScope(session: Session, job: Job, lookups: StoredLookups, done: string): WindowScope {
  if (listsFor(feedNamed(job.feed)).some((list) => lookups.refreshedAt[list] === null)) {
    throw new ConfigError(`Nothing of ${job.name} can be ${done}: the warehouse does not know its series.`, {
      hint: 'Run gmsi lookups, or load the job first.',
    });
  }
  // Job files with a start in the future are refused, so a period always has a day.
  return scopeOf(job, wantedDays(job, today(session))!, lookups);
}
