import type { Temporal } from 'temporal-polyfill';
import type { Job } from '../config/job.ts';
import { jobFromDefinition } from '../config/read-job.ts';
import { ConfigError } from '../errors.ts';
import { feedNamed } from '../feeds/catalog.ts';
import { workersByJob } from '../questions/status.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { readLookups } from '../warehouse/tables/lookups.ts';
import { storedJobs } from '../warehouse/tables/schedules.ts';
import type { WantedScope } from '../warehouse/tables/series.ts';
import { plannedDays } from './days.ts';
import { readAllJobs } from './list-jobs.ts';
import { missingLists, scopeOf } from './scope.ts';

/** The days that jobs want, or why nobody can say here which days these are. */
export type WantedByJobs = { readonly wanted: readonly WantedScope[] } | { readonly unknown: string };

/**
 * Returns the days of all jobs: those of the folder, and those that others have stored for workers. If workers run another
 * version of a file, both count. Nothing is known if the folder has no job, or if one of the jobs cannot be read or resolved.
 */
export async function wantedByJobs(
  db: Warehouse,
  {
    cwd,
    today,
    leaseSeconds,
    named = [],
  }: {
    readonly cwd: string;
    readonly today: Temporal.PlainDate;
    readonly leaseSeconds: number;
    /** Further jobs, which may be of other folders. */
    readonly named?: readonly Job[];
  },
): Promise<WantedByJobs> {
  const { jobs, broken } = await readAllJobs(cwd, today);
  if (jobs.length + broken.length === 0) return { unknown: 'there is no job file in jobs/ here' };
  if (broken[0]) return { unknown: broken[0].error.message };
  const workers = await workersByJob(db, leaseSeconds);
  const isInForce = (job: string) => jobs.every(({ name }) => name !== job) || (workers.get(job) ?? 0) > 0;
  const stored = (await storedJobs(db)).filter(({ job }) => isInForce(job));
  const lookups = await readLookups(db);
  try {
    const all = [
      ...named,
      ...jobs,
      ...stored.map(({ job, definition }) => jobFromDefinition(job, definition, today)),
    ];
    const unlisted = all.find(({ feed }) => missingLists(feedNamed(feed), lookups).length > 0);
    if (unlisted) return { unknown: `the series of job ${unlisted.name} are not known yet` };
    // The job's own history limit; one that a probe has learned may change.
    const scopes = all.flatMap((job) => {
      const { days } = plannedDays(job, today);
      return days ? { job: job.name, scope: scopeOf(job, days, lookups) } : [];
    });
    return { wanted: scopes };
  } catch (error) {
    if (error instanceof ConfigError) return { unknown: error.message };
    throw error;
  }
}
