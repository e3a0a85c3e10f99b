import type { Temporal } from 'temporal-polyfill';
import { z } from 'zod';
import { type JobStanding, listJob, standingsReader } from '../observe/job-standing.ts';
import { dayAt } from '../plan/days.ts';
import { forecast } from '../plan/forecast.ts';
import { readAllJobs } from '../plan/list-jobs.ts';
import { timeText } from '../questions/reading.ts';
import { type Completeness, lastLoadOfJobs } from '../questions/status.ts';
import type { Secret } from '../secret.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import type { Endpoint } from './endpoint.ts';

const count = z.int().nullable();

const row = z.object({
  job: z.string(),
  feed: z.string().nullable().describe('null if the file cannot be read.'),
  last_load_at: timeText.nullable().describe('null if it was never loaded.'),
  to: z.string().nullable().describe('The last day of its period so far.'),
  series: count.describe('null if the lists of the service were never fetched.'),
  complete: count.describe('Series that have all days that no longer change.'),
  is_complete: z
    .boolean()
    .nullable()
    .describe('True if each series has all these days, and no window is open, failed or refused.'),
  own_series: count.describe(
    'Series that no job before it in this list has, so that a sum counts each once.',
  ),
  own_complete: count.describe('Those of them that have all these days.'),
  complete_to: z.string().nullable().describe('The last day that all of these have.'),
  covered: count.describe('Days of all series together that no longer change; null if there are none yet.'),
  wanted: count,
  open: count.describe('Windows that are waiting or running.'),
  failed: count.describe('Windows.'),
  refused: count.describe('Windows.'),
  backfill_requests: count.describe(
    'About how many requests a backfill sends, all refused windows included; null if the job is complete or was never loaded.',
  ),
  scheduled: z.boolean().describe('True if the file has a schedule.'),
  workers: z.int().describe('Living workers that run it.'),
  other_version_by: z
    .string()
    .nullable()
    .describe('The process that has stored another version of the file, which workers run.'),
  next_run: z
    .date()
    .nullable()
    .describe(
      'In the past if it is due or being loaded; null if no worker runs it, or nothing is to be run.',
    ),
  next_command: z.enum(['sync', 'backfill', 'refresh']).nullable(),
  late: z.string().nullable().describe('How late it is by its alerts.max_lag; null if it is not.'),
  requests_per_month: count,
  reserve: count,
  requests_used: count.describe('By all that use the key.'),
  projected: count.describe("The least by the month's end."),
  spent_by: z.date().nullable().describe('null if the month ends before.'),
  problem: z.string().nullable().describe('What is wrong with the file.'),
});

/** A job as the page shows it. */
export type JobShown = z.output<typeof row>;

const unknown = {
  ...(Object.fromEntries(Object.keys(row.shape).map((column) => [column, null])) as {
    readonly [Column in keyof JobShown]: null;
  }),
  scheduled: false,
  workers: 0,
};

/** Returns the jobs in a folder with their coverage, cost and budget. */
export function jobsEndpoint(
  warehouse: Warehouse,
  {
    cwd,
    ...of
  }: {
    readonly cwd: string;
    readonly apiKey: Secret | undefined;
    readonly clock: () => Date;
    readonly leaseSeconds: number;
  },
) {
  const standings = standingsReader(warehouse, of);
  async function read(): Promise<JobShown[]> {
    const today = dayAt(of.clock());
    const { jobs, broken } = await readAllJobs(cwd, today);
    const lastLoads = await lastLoadOfJobs(warehouse);

    async function shown(standing: JobStanding, before: readonly JobStanding[]): Promise<JobShown> {
      const { job, budget, problem } = standing;
      if (problem) return unusable(job.name, problem);
      const { completeness, ...listed } = await listJob(warehouse, standing, today, before);
      const lastLoad = lastLoads.get(job.name) ?? null;
      // Plans only jobs that were loaded before: the page proposes to load no others.
      const isPlanned = lastLoad !== null && completeness?.is_complete === false;
      return {
        ...unknown,
        ...completeness,
        job: job.name,
        feed: job.feed,
        last_load_at: lastLoad,
        backfill_requests: isPlanned ? await requestsOfBackfill(standing, completeness, today) : null,
        covered: listed.covered,
        wanted: listed.wanted,
        scheduled: listed.isScheduled,
        workers: listed.workers,
        other_version_by: listed.otherVersionBy,
        next_run: listed.nextRun?.at ?? null,
        next_command: listed.nextRun?.command ?? null,
        late: listed.late,
        requests_per_month: job.budget.requestsPerMonth,
        reserve: job.budget.reserve,
        requests_used: budget?.used ?? null,
        projected: budget?.projected ?? null,
        spent_by: budget?.spentBy ?? null,
      };
    }
    async function requestsOfBackfill(
      { job, scope }: JobStanding,
      { from, to }: Completeness,
      today: Temporal.PlainDate,
    ): Promise<number> {
      const options = { fullRefresh: false, retryRefused: true };
      const planned = await forecast(warehouse, job, { ...scope!, from, to }, options, today.toString());
      return planned.expectedRequests ?? planned.leastRequests;
    }
    const unusable = (job: string, { message }: Error) => ({ ...unknown, job, problem: message });
    const isNeverLoaded = ({ job }: JobStanding) => Number(!lastLoads.has(job.name));
    // Series count for the first job that has them, and the page does not count jobs that were never loaded.
    const listed = (await standings(jobs)).toSorted((a, b) => isNeverLoaded(a) - isNeverLoaded(b));
    const rows = listed.map((standing, index, all) => shown(standing, all.slice(0, index)));
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
