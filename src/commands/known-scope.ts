import { type Session, today } from '../compose.ts';
import { ConfigError } from '../errors.ts';
import { feedNamed } from '../feeds/catalog.ts';
import type { Job } from '../job/job.ts';
import { listsFor, scopeOf } from '../pipeline/resolve-job.ts';
import type { StoredLookups } from '../warehouse/queries/lookups.ts';
import type { WindowScope } from '../warehouse/queries/window-scope.ts';
import { wantedDays } from '../window/wanted-days.ts';

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
