import { Temporal } from 'temporal-polyfill';
import { z } from 'zod';
import { jobName } from '../config/find-job-file.ts';
import type { Job } from '../config/job.ts';
import { JobFileError } from '../config/problems.ts';
import { type JobStanding, standingsReader } from '../observe/job-standing.ts';
import { firstUnsettledDay, plannedDays } from '../plan/days.ts';
import { forecast } from '../plan/forecast.ts';
import { listJob, readAllJobs } from '../plan/list-jobs.ts';
import type { Secret } from '../secret.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { completenessOf, lastLoadOfJobs } from '../warehouse/questions/status.ts';
import { readLookups } from '../warehouse/tables/lookups.ts';
import { seriesIn, type WindowScope } from '../warehouse/tables/series.ts';
import { type Endpoint, exactTime, time } from './endpoint.ts';

const count = z.int().nullable();

const row = z.object({
  job: z.string(),
  feed: z.string().nullable().describe('null if the file cannot be read.'),
  last_load_at: exactTime.nullable().describe('null if it was never loaded.'),
  to: z.string().nullable().describe('The last day of its period so far.'),
  series: count.describe('null if the lists of the service were never fetched.'),
  complete: count.describe('Series that have all days that no longer change.'),
  own_series: count.describe(
    'Series that no job before it in this list has, so that a sum counts each once.',
  ),
  own_complete: count.describe('Those of them that have all these days.'),
  complete_to: z.string().nullable().describe('The last day that all of these have.'),
  covered: count.describe('Days of all series together that no longer change; null if there are none yet.'),
  wanted: count,
  failed: count.describe('Windows.'),
  refused: count.describe('Windows.'),
  backfill_requests: count.describe(
    'About how many requests a backfill sends, all refused windows included; null if the job is complete or was never loaded.',
  ),
  next_run: time.nullable(),
  next_command: z.enum(['sync', 'backfill', 'refresh']).nullable(),
  requests_per_month: count,
  reserve: count,
  requests_used: count.describe('By all that use the key.'),
  projected: count.describe("The least by the month's end."),
  spent_by: time.nullable().describe('null if the month ends before.'),
  problem: z.string().nullable().describe('What is wrong with the file.'),
});

/** A job as the page shows it. */
export type JobShown = z.output<typeof row>;

const unknown = Object.fromEntries(Object.keys(row.shape).map((column) => [column, null])) as {
  readonly [Column in keyof JobShown]: null;
};

/** Returns the jobs in a folder with their coverage, cost and budget. */
export function jobsEndpoint(
  warehouse: Warehouse,
  { cwd, ...of }: { readonly cwd: string; readonly apiKey: Secret | undefined; readonly clock: () => Date },
) {
  const standings = standingsReader(warehouse, of);
  async function read(): Promise<JobShown[]> {
    const now = of.clock();
    const today = Temporal.PlainDate.from(now.toISOString().slice(0, 10));
    const all = await readAllJobs(cwd, today);
    // The program's examples are not the user's jobs, unless a copy of one was loaded.
    if (all.areExamples) return [];
    const lookups = await readLookups(warehouse);
    const lastLoads = await lastLoadOfJobs(warehouse);
    const isOwn = (name: string) => !all.unchanged.has(name) || lastLoads.has(name);
    const jobs = all.jobs.filter(({ name }) => isOwn(name));
    const broken = all.broken.filter(({ path }) => isOwn(jobName(path)));

    async function shown(
      { job, scope, budget }: JobStanding,
      before: readonly JobStanding[],
    ): Promise<JobShown> {
      const listed = await listJob(warehouse, lookups, job, { now, today });
      const lastLoad = lastLoads.get(job.name) ?? null;
      return {
        ...unknown,
        job: job.name,
        feed: job.feed,
        last_load_at: lastLoad,
        ...(scope &&
          (await loaded(
            warehouse,
            job,
            scope,
            today,
            lastLoad !== null,
            before.flatMap(({ scope }) => scope ?? []),
          ))),
        covered: listed.covered,
        wanted: listed.wanted,
        next_run: listed.nextRun?.at ?? null,
        next_command: listed.nextRun?.command ?? null,
        requests_per_month: job.budget.requestsPerMonth,
        reserve: job.budget.reserve,
        requests_used: budget?.used ?? null,
        projected: budget?.projected ?? null,
        spent_by: budget?.spentBy ?? null,
      };
    }
    const unusable = (job: string, { message }: Error) => ({ ...unknown, job, problem: message });
    const isNeverLoaded = ({ job }: JobStanding) => Number(!lastLoads.has(job.name));
    // Series count for the first job that has them, and the page does not count jobs that were never loaded.
    const listed = (await standings(jobs)).toSorted((a, b) => isNeverLoaded(a) - isNeverLoaded(b));
    const rows = listed.map((standing, index, all) =>
      shown(standing, all.slice(0, index)).catch((error) => {
        // The job names something that the service does not list.
        if (!(error instanceof JobFileError)) throw error;
        return unusable(standing.job.name, error);
      }),
    );
    return [...broken.map(({ path, error }) => unusable(path, error)), ...(await Promise.all(rows))];
  }
  return {
    path: 'jobs' as const,
    about: 'The jobs: what they have loaded, what a backfill costs, next run and budget',
    takes: z.strictObject({}),
    row,
    rights: 'own' as const,
    isLive: true,
    answer: { read },
  } satisfies Endpoint;
}

/** Returns what of a job's period is loaded. Plans only jobs that were loaded before: the page proposes to load no others. */
async function loaded(
  warehouse: Warehouse,
  job: Job,
  scope: WindowScope,
  today: Temporal.PlainDate,
  isPlanned: boolean,
  others: readonly WindowScope[],
) {
  const { days } = plannedDays(job, today);
  if (!days) return undefined;
  const planned = { ...scope, from: days.from.toString(), to: days.to.toString() };
  const firstUnsettled = firstUnsettledDay(today, job.lookbackDays).toString();
  const completeness = await completenessOf(warehouse, planned, firstUnsettled, others);
  const { complete, failed, refused } = completeness;
  const series = seriesIn(planned);
  const isComplete = complete === series && failed + refused === 0;
  return {
    ...completeness,
    series,
    to: planned.to,
    backfill_requests:
      isPlanned && !isComplete ? await requestsOfBackfill(warehouse, job, planned, today) : null,
  };
}

async function requestsOfBackfill(
  warehouse: Warehouse,
  job: Job,
  scope: WindowScope,
  today: Temporal.PlainDate,
): Promise<number> {
  const options = { fullRefresh: false, retryRefused: true };
  const planned = await forecast(warehouse, job, scope, options, today.toString());
  return planned.expectedRequests ?? planned.leastRequests;
}
