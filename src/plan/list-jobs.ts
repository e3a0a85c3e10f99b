import { Cron } from 'croner';
import type { Temporal } from 'temporal-polyfill';
import { allJobFiles, isExample, jobName } from '../config/find-job-file.ts';
import type { Job } from '../config/job.ts';
import { readJob } from '../config/read-job.ts';
import { feedNamed } from '../feeds/catalog.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { coverageOf } from '../warehouse/questions/status.ts';
import type { StoredLookups } from '../warehouse/tables/lookups.ts';
import { seriesIn } from '../warehouse/tables/series.ts';
import { plannedDays } from './days.ts';
import { missingLists, scopeOf, settledPart } from './scope.ts';

/** A job file that cannot be read, or that names something that does not exist. */
export interface BrokenJob {
  readonly path: string;
  readonly error: Error;
}

/**
 * Reads all job files of a folder, or the program's examples if it has no folder `jobs/`. `unchanged` are the names of those that
 * are examples, too.
 */
export async function readAllJobs(cwd: string, today: Temporal.PlainDate) {
  const { folder, paths, areExamples } = await allJobFiles(cwd);
  const isUnchanged = await Promise.all(paths.map((path) => isExample(path, cwd)));
  const unchanged = new Set(paths.filter((_, index) => isUnchanged[index]).map(jobName));
  return { folder, areExamples, unchanged, ...(await readJobsApart(paths, cwd, today)) };
}

/** Reads job files by name or path, each on its own, so that a broken one hides no other. */
export async function readJobsApart(names: readonly string[], cwd: string, today: Temporal.PlainDate) {
  const jobs: Job[] = [];
  const broken: BrokenJob[] = [];
  const read = await Promise.allSettled(names.map((name) => readJob(name, today, cwd)));
  for (const [index, one] of read.entries()) {
    if (one.status === 'fulfilled') jobs.push(one.value);
    else broken.push({ path: names[index]!, error: one.reason as Error });
  }
  return { jobs, broken };
}

export type ListedJob = Awaited<ReturnType<typeof listJob>>;

/** Returns how much of a job is loaded, and when it runs next. */
export async function listJob(
  db: Warehouse,
  lookups: StoredLookups,
  job: Job,
  { now, today }: { readonly now: Date; readonly today: Temporal.PlainDate },
) {
  const { days } = plannedDays(job, today);
  const isKnown = missingLists(feedNamed(job.feed), lookups).length === 0;
  const scope = days && isKnown ? scopeOf(job, days, lookups) : undefined;
  const settled = scope && settledPart(scope, job, today);
  const coverage = settled && (await coverageOf(db, settled));
  return {
    job: job.name,
    feed: job.feed,
    from: job.startDate.toString(),
    to: job.endDate.toString(),
    // `null` if the lookups were never fetched.
    series: scope ? seriesIn(scope) : null,
    // Of the days that no longer change; `null` if there are none yet.
    covered: coverage?.covered ?? null,
    wanted: coverage?.wanted ?? null,
    nextRun: nextRunOf(job, now),
  };
}

/** Returns the next run of the job's schedule; `null` if it has none. */
function nextRunOf({ schedule }: Job, now: Date) {
  if (!schedule) return null;
  const runs = (['sync', 'backfill', 'refresh'] as const).flatMap((command) => {
    const expression = schedule[command];
    if (expression === undefined) return [];
    const at = new Cron(expression, { timezone: schedule.timezone, mode: '5-part' }).nextRun(now);
    return at ? [{ command, at }] : [];
  });
  return runs.toSorted((a, b) => a.at.getTime() - b.at.getTime())[0] ?? null;
}
