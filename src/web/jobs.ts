import { Temporal } from 'temporal-polyfill';
import { z } from 'zod';
import { JobFileError } from '../config/problems.ts';
import { standingsReader } from '../observe/job-standing.ts';
import { listJob, readAllJobs } from '../plan/list-jobs.ts';
import type { Secret } from '../secret.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { readLookups } from '../warehouse/tables/lookups.ts';
import type { Endpoint } from './endpoint.ts';

const row = z.object({
  job: z.string(),
  feed: z.string().nullable(),
  series: z.int().nullable().describe('null if the lists of the service were never fetched.'),
  covered: z.int().nullable().describe('Days of all series together.'),
  wanted: z.int().nullable(),
  lag_seconds: z
    .number()
    .nullable()
    .describe('Time since the end of the newest covered day, for the series furthest behind.'),
  next_run: z.date().nullable(),
  next_command: z.string().nullable(),
  requests_used: z.int().nullable().describe('Requests of the key this month; null without a key.'),
  requests_per_month: z.int().nullable(),
  reserve: z.int().nullable(),
  projected: z.int().nullable().describe('The total at the end of the month.'),
  spent_by: z.date().nullable(),
  problem: z.string().nullable().describe('Why the job file cannot be used.'),
});

/** A job as the page shows it. */
export type JobShown = z.output<typeof row>;

function unusable(job: string, { message }: Error): z.input<typeof row> {
  const numbers = { series: null, covered: null, wanted: null, lag_seconds: null, requests_used: null };
  const budget = { requests_per_month: null, reserve: null, projected: null, spent_by: null };
  return { job, feed: null, ...numbers, next_run: null, next_command: null, ...budget, problem: message };
}

/** Returns the jobs in a folder with their coverage, delay and budget. */
export function jobsEndpoint(
  warehouse: Warehouse,
  { cwd, ...of }: { readonly cwd: string; readonly apiKey: Secret | undefined; readonly clock: () => Date },
): Endpoint {
  const standings = standingsReader(warehouse, of);
  async function read() {
    const now = of.clock();
    const today = Temporal.PlainDate.from(now.toISOString().slice(0, 10));
    const { areExamples, jobs, broken } = await readAllJobs(cwd, today);
    // The program's examples are not the user's jobs.
    if (areExamples) return [];
    const lookups = await readLookups(warehouse);
    const rows: z.input<typeof row>[] = broken.map(({ path, error }) => unusable(path, error));
    for (const { job, lagSeconds, budget } of await standings(jobs)) {
      try {
        const listed = await listJob(warehouse, lookups, job, { now, today });
        rows.push({
          job: job.name,
          feed: job.feed,
          series: listed.series,
          problem: null,
          covered: listed.covered,
          wanted: listed.wanted,
          lag_seconds: lagSeconds,
          next_run: listed.nextRun?.at ?? null,
          next_command: listed.nextRun?.command ?? null,
          requests_per_month: job.budget.requestsPerMonth,
          reserve: job.budget.reserve,
          requests_used: budget?.used ?? null,
          projected: budget?.projected ?? null,
          spent_by: budget?.spentBy ?? null,
        });
      } catch (error) {
        // The job names something that the service does not list.
        if (!(error instanceof JobFileError)) throw error;
        rows.push(unusable(job.name, error));
      }
    }
    return rows;
  }
  return {
    path: 'jobs',
    about: 'The jobs: coverage, delay, next run and budget',
    takes: z.strictObject({}),
    row,
    rights: 'own' as const,
    isLive: true,
    answer: { read },
  };
}
