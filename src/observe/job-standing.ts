import { isDeepStrictEqual } from 'node:util';
import type { Temporal } from 'temporal-polyfill';
import type { Job } from '../config/job.ts';
import { JobFileError } from '../config/problems.ts';
import { feedNamed } from '../feeds/catalog.ts';
import { withLearnedReading } from '../load/resolve-load.ts';
import { completenessOfJob } from '../plan/completeness.ts';
import { type DayRange, dayAt, firstUnsettledDay, plannedDays, wantedDays } from '../plan/days.ts';
import { requestsOfAll, scheduledRequests } from '../plan/forecast-schedule.ts';
import { nextRun } from '../plan/next-run.ts';
import { listedPart, type NotListed, notListed } from '../plan/not-listed.ts';
import { missingLists, scopeOf } from '../plan/scope.ts';
import type { RecentLoads } from '../questions/runs.ts';
import { newestCoveredDay, type WorkersJob, workersByJob, workersJobs } from '../questions/status.ts';
import type { Secret } from '../secret.ts';
import { countedAs, monthOf, startOfNextMonth } from '../service/budget.ts';
import { count } from '../terminal/table.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import type { JobCommand } from '../warehouse/database.ts';
import { readLookups, type StoredLookups } from '../warehouse/tables/lookups.ts';
import { usedRequests } from '../warehouse/tables/requests.ts';
import { storedJobs } from '../warehouse/tables/schedules.ts';
import { seriesIn, type WindowScope } from '../warehouse/tables/series.ts';

/** The state of a job, as far as the warehouse knows it. */
export interface JobStanding {
  /** With what a probe learned about its feed. */
  readonly job: Job;
  /** `undefined` if its series are not known: before anything was loaded, or if it names something that does not exist. */
  readonly scope: WindowScope | undefined;
  /** Why it names something that does not exist. */
  readonly problem?: JobFileError | undefined;
  readonly notListed?: NotListed | undefined;
  readonly newestCovered: string | null;
  readonly lagSeconds: number;
  readonly work: JobWork;
  /** `undefined` without a key. */
  readonly budget: BudgetOutlook | undefined;
}

/** Reads the states of jobs that share a key. */
export type ReadStandings = (jobs: readonly Job[]) => Promise<JobStanding[]>;

const day = 24 * 3600 * 1000;

/** Milliseconds for which the computed cost of a schedule is kept: computing it takes a while, and it hardly changes. */
const costKeepsFor = 3_600_000;

/** @param of without a key, no budgets are read */
export function standingsReader(
  warehouse: Warehouse,
  of: { readonly apiKey: Secret | undefined; readonly clock: () => Date; readonly leaseSeconds: number },
): ReadStandings {
  const { apiKey, clock, leaseSeconds } = of;
  const costs = new Map<string, { readonly at: number; readonly perDay: number }>();

  async function requestsPerDay(job: Job, scope: WindowScope | undefined, today: Temporal.PlainDate) {
    const now = clock();
    const kept = costs.get(job.name);
    if (kept && Math.abs(now.getTime() - kept.at) < costKeepsFor) return kept.perDay;
    if (!scope) return 0;
    const firstUnsettled = firstUnsettledDay(today, job.lookbackDays).toString();
    const cost = await scheduledRequests(warehouse, job, scope, { now, firstUnsettled });
    const perDay = cost ? requestsOfAll(job, cost) / cost.days : 0;
    costs.set(job.name, { at: now.getTime(), perDay });
    return perDay;
  }

  return async (jobs) => {
    const now = clock();
    const today = dayAt(now);
    const lookups = await readLookups(warehouse);
    const workOf = await readWork(warehouse, leaseSeconds);
    const used = apiKey && (await usedRequests(warehouse, countedAs(apiKey), monthOf(now)));
    const read = await Promise.all(
      jobs.map(async (one) => {
        // Job files with a start in the future are refused, so a period always has a day.
        const period = wantedDays(one, today)!;
        const { job } = await withLearnedReading(warehouse, one);
        const { scope, problem } = knownScope(job, period, lookups);
        const newestCovered = scope ? await newestCoveredDay(warehouse, scope) : null;
        const from = plannedDays(job, today).days?.from.toString();
        const gone = scope && from ? await notListed(warehouse, { ...scope, from }) : undefined;
        const perDay = apiKey ? await requestsPerDay(job, scope && listedPart(scope), today) : 0;
        const lag = lagSeconds(newestCovered, period, now);
        const known = { job, scope, problem, notListed: gone, work: workOf(job) };
        return { ...known, newestCovered, lagSeconds: lag, perDay };
      }),
    );
    const perDay = read.reduce((total, one) => total + one.perDay, 0);
    const outlook = ({ budget: { requestsPerMonth } }: Job) =>
      used === undefined ? undefined : budgetOutlook(used, requestsPerMonth, perDay, now);
    return read.map(({ perDay: _, ...standing }) => ({ ...standing, budget: outlook(standing.job) }));
  };
}

function knownScope(
  job: Job,
  period: DayRange,
  lookups: StoredLookups,
): Pick<JobStanding, 'scope' | 'problem'> {
  if (missingLists(feedNamed(job.feed), lookups).length > 0) return { scope: undefined };
  try {
    return { scope: scopeOf(job, period, lookups) };
  } catch (error) {
    // The other jobs are still watched.
    if (error instanceof JobFileError) return { scope: undefined, problem: error };
    throw error;
  }
}

/** Says how late a job is; `null` if it is not. */
export function lateness({
  job,
  newestCovered,
  lagSeconds,
}: Pick<JobStanding, 'job' | 'newestCovered' | 'lagSeconds'>) {
  const { maxLag } = job.alerts;
  const days = lagSeconds / 86_400;
  if (maxLag === undefined || days <= maxLag) return null;
  const since =
    newestCovered === null
      ? 'at least one series has no covered day yet'
      : `all series are covered up to ${newestCovered}`;
  return {
    message: `Job ${job.name} is ${days.toFixed(1)} days late: ${since}; ${count(maxLag, 'day')} are allowed.`,
    details: { lag_seconds: Math.round(lagSeconds), max_lag_days: maxLag, newest_covered_day: newestCovered },
  };
}

/**
 * - `good`: every day that no longer changes is loaded
 * - `working`: a load of it is running
 * - `behind`: days or windows are missing
 * - `failing`: windows have failed or were refused, rows are gone, a name has left the service's lists, or it is late
 * - `stopped`: no worker runs its schedule, nor did anything else load it of late; or the month's requests are spent
 */
export type JobState = 'good' | 'working' | 'behind' | 'failing' | 'stopped';

/**
 * Concludes the state of a job, the worst first, and why in a few words.
 * @param now its loads; whether its budget is spent, and its rows are gone
 */
export function stateOfJob(
  { notListed }: Pick<JobStanding, 'notListed'>,
  job: Omit<ListedJob, 'completeness'>,
  now: {
    readonly isSpent: boolean;
    readonly isEmptied: boolean;
    readonly loads: RecentLoads | undefined;
  },
): { readonly state: JobState; readonly why: string | null } {
  const { failed = 0, refused = 0, open = 0 } = job.windows ?? {};
  if (failed + refused > 0)
    return { state: 'failing', why: windowsThat([failed, 'failed'], [refused, 'were refused']) };
  if (now.isEmptied) return { state: 'failing', why: 'rows are gone' };
  if (notListed) return { state: 'failing', why: `not listed: ${notListed.names.join(', ')}` };
  if (job.late !== null) return { state: 'failing', why: 'late' };
  if (now.loads?.is_running) return { state: 'working', why: null };
  if (job.isComplete && !job.isScheduled) return { state: 'good', why: null };
  if (now.isSpent) return { state: 'stopped', why: "the month's requests are spent" };
  // Cron may run it.
  if (job.isScheduled && job.workers === 0 && !now.loads?.is_recent)
    return { state: 'stopped', why: 'no worker runs it' };
  if (job.series === null) return { state: 'behind', why: 'its series are not known yet' };
  if (job.isComplete !== false) return { state: 'good', why: null };
  const lacks = (job.wanted ?? 0) - (job.covered ?? 0);
  return {
    state: 'behind',
    why: lacks > 0 ? `${count(lacks, 'day')} missing` : `${count(open, 'window')} left`,
  };
}

function windowsThat(...parts: readonly (readonly [number, string])[]): string {
  return parts.flatMap(([many, did]) => (many > 0 ? `${count(many, 'window')} ${did}` : [])).join(', ');
}

/** What gmsi status and the page show of a job. */
export type ListedJob = Awaited<ReturnType<typeof listJob>>;

/**
 * Returns how far a job is loaded, who runs it and when, and how late it is.
 * @param others jobs whose series are not its own
 */
export async function listJob(
  db: Warehouse,
  standing: JobStanding,
  today: Temporal.PlainDate,
  others: readonly JobStanding[] = [],
) {
  const { job, scope, work } = standing;
  const scopes = others.flatMap((other) => other.scope ?? []);
  const found = scope && (await completenessOfJob(db, job, scope, today, scopes));
  // A period without a settled day has nothing that can be missing.
  const hasDays = found !== undefined && found.wanted > 0;
  return {
    job: job.name,
    feed: job.feed,
    from: job.startDate.toString(),
    to: job.endDate.toString(),
    // `null` if the lookups were never fetched.
    series: scope ? seriesIn(scope) : null,
    isComplete: found?.is_complete ?? null,
    complete: found?.complete ?? null,
    // Of the days that no longer change; `null` if there are none yet.
    covered: hasDays ? found.covered : null,
    wanted: hasDays ? found.wanted : null,
    // Those that are not drained.
    windows: found ? { open: found.open, failed: found.failed, refused: found.refused } : null,
    ...work,
    late: lateness(standing)?.message ?? null,
    completeness: found,
  };
}

/**
 * Returns how many seconds ago the newest covered day of the series that is furthest behind ended. If a series has no covered
 * day, counts from the job's first day. Counts up to the end of the job's last day at most, so that a job that has loaded its
 * whole period is never late.
 * @param newestCovered the day (UTC), within the period, up to which each series is covered; `null` if one has none
 */
export function lagSeconds(newestCovered: string | null, period: DayRange, now: Date): number {
  const endOf = (date: string) => Date.parse(date) + day;
  const covered = newestCovered === null ? Date.parse(period.from.toString()) : endOf(newestCovered);
  const until = Math.min(now.getTime(), endOf(period.to.toString()));
  return Math.max(0, until - covered) / 1000;
}

/** The forecast of a job's budget for the end of the calendar month (UTC). */
export interface BudgetOutlook {
  /** Requests that all processes have booked with the key this month. */
  readonly used: number;
  /** The job's limit for the month's total. */
  readonly limit: number;
  /** The total at the end of the month: the requests used so far, and the fewest that the schedules still need. */
  readonly projected: number;
  /** When the limit is reached; `null` if the month ends before. */
  readonly spentBy: Date | null;
}

/** @param perDay the fewest requests a day that the schedules of all jobs with the key need */
export function budgetOutlook(used: number, limit: number, perDay: number, now: Date): BudgetOutlook {
  const daysLeft = (startOfNextMonth(now).getTime() - now.getTime()) / day;
  const projected = Math.round(used + perDay * daysLeft);
  const left = Math.max(0, limit - used);
  const isSpent = left === 0 || projected > limit;
  const spentBy = isSpent ? new Date(now.getTime() + (left === 0 ? 0 : (left / perDay) * day)) : null;
  return { used, limit, projected, spentBy };
}

/** Who runs a job, and when. */
interface JobWork {
  /** True if the job file has a schedule. */
  readonly isScheduled: boolean;
  /** Living workers that run it, as scheduled or queued. */
  readonly workers: number;
  /** `null` if no worker runs it, or if nothing is scheduled or queued. */
  readonly nextRun: {
    readonly command: JobCommand;
    readonly at: Date;
    /** True if it has been due since then: it waits for a worker, or is being loaded. */
    readonly isDue: boolean;
  } | null;
  /** The process that has stored another version of the file, which workers run; else `null`. */
  readonly otherVersionBy: string | null;
}

/** Returns a function that says who runs a job, by what workers have stored. */
async function readWork(db: Warehouse, leaseSeconds: number): Promise<(job: Job) => JobWork> {
  const all = await workersJobs(db, leaseSeconds);
  const workersOf = await workersByJob(db, leaseSeconds);
  const stored = new Map((await storedJobs(db)).map((one) => [one.job, one]));
  return ({ name, schedule, definition }) => {
    const known = all.filter(({ job }) => job === name);
    const workers = workersOf.get(name) ?? 0;
    const runs = workers === 0 ? [] : known.flatMap((one) => runOf(one) ?? []);
    const version = stored.get(name);
    // The definition of a file may have values that JSON changes.
    const isOther = version && !isDeepStrictEqual(JSON.parse(JSON.stringify(definition)), version.definition);
    return {
      isScheduled: schedule !== undefined,
      workers,
      nextRun: runs.toSorted((a, b) => a.at.getTime() - b.at.getTime())[0] ?? null,
      otherVersionBy: workers > 0 && isOther ? version.registered_by : null,
    };
  };
}

function runOf(one: WorkersJob): JobWork['nextRun'] {
  const at = one.due_at ?? one.resumes_at ?? readableRun(one);
  return at ? { command: one.command, at, isDue: one.due_at !== null } : null;
}

/** This machine may not know the time zone. */
function readableRun(one: WorkersJob): Date | undefined {
  try {
    return nextRun(one);
  } catch {
    return undefined;
  }
}
