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
import { type Failures, failuresOf } from '../questions/coverage.ts';
import { type EmptiedDays, emptiedDays } from '../questions/emptied.ts';
import { type LastLoad, lastLoadOfJobs } from '../questions/runs.ts';
import {
  type Completeness,
  newestCoveredDay,
  recentDays,
  type WorkersJob,
  workersByJob,
  workersJobs,
} from '../questions/status.ts';
import type { Secret } from '../secret.ts';
import { countedAs, monthOf, startOfNextMonth } from '../service/budget.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import type { JobCommand } from '../warehouse/database.ts';
import { readLookups, type StoredLookups } from '../warehouse/tables/lookups.ts';
import { usedRequests } from '../warehouse/tables/requests.ts';
import { storedJobs } from '../warehouse/tables/schedules.ts';
import type { WindowScope } from '../warehouse/tables/series.ts';

/** What the warehouse knows of a job. */
export interface JobStanding {
  /** With what a probe learned about its feed. */
  readonly job: Job;
  /** `undefined` if its series are not known: before anything was loaded, or if it names something that does not exist. */
  readonly scope: WindowScope | undefined;
  /** Why it names something that does not exist. */
  readonly problem?: JobFileError | undefined;
  readonly notListed?: NotListed | undefined;
  /** `undefined` if its series are not known, or if the history limit leaves no day. */
  readonly completeness: Completeness | undefined;
  /** Its windows that failed or were refused, by cause. */
  readonly failures: readonly Failures[];
  /** Looks for days of which all rows are gone; if it looked a few minutes ago, returns what it found then. */
  readonly findEmptied: () => Promise<EmptiedDays | undefined>;
  readonly newestCovered: string | null;
  /** As `recentDays` returns them. */
  readonly recent: string | null;
  readonly lagSeconds: number;
  readonly lastLoad: LastLoad | undefined;
  readonly work: JobWork;
  /** `undefined` without a key. */
  readonly budget: BudgetOutlook | undefined;
}

/** Reads the states of jobs that share a key. */
export type ReadStandings = (jobs: readonly Job[]) => Promise<JobStanding[]>;

const day = 24 * 3600 * 1000;

/** Milliseconds for which is kept what takes a while to find out and hardly changes. */
const keptFor = 300_000;

/** @param of without a key, no budgets are read */
export function standingsReader(
  warehouse: Warehouse,
  of: { readonly apiKey: Secret | undefined; readonly clock: () => Date; readonly leaseSeconds: number },
): ReadStandings {
  const { apiKey, clock, leaseSeconds } = of;
  const kept = new Map<
    string,
    { readonly at: number; readonly of: string; readonly value: Promise<unknown> }
  >();

  /** Returns what was found out a short time ago, unless it is of something else now. */
  function keeping<Value>(what: string, of: string, find: () => Promise<Value>): Promise<Value> {
    const now = performance.now();
    const before = kept.get(what);
    if (before?.of === of && now - before.at < keptFor) return before.value as Promise<Value>;
    const value = find();
    kept.set(what, { at: now, of, value });
    value.catch(() => kept.delete(what));
    return value;
  }

  async function requestsPerDay(job: Job, scope: WindowScope, today: Temporal.PlainDate): Promise<number> {
    const firstUnsettled = firstUnsettledDay(today, job.lookbackDays).toString();
    const cost = await scheduledRequests(warehouse, job, scope, { now: clock(), firstUnsettled });
    return cost ? requestsOfAll(job, cost) / cost.days : 0;
  }

  return async (jobs) => {
    const now = clock();
    const today = dayAt(now);
    const lookups = await readLookups(warehouse);
    const workOf = await readWork(warehouse, leaseSeconds);
    const names = jobs.map(({ name }) => name);
    const lastLoads = await lastLoadOfJobs(warehouse, names, leaseSeconds);
    const used = apiKey && (await usedRequests(warehouse, countedAs(apiKey), monthOf(now)));
    const read = await Promise.all(
      jobs.map(async (one) => {
        // Job files with a start in the future are refused, so a period always has a day.
        const period = wantedDays(one, today)!;
        const { job } = await withLearnedReading(warehouse, one);
        const { scope, problem } = knownScope(job, period, lookups);
        const lastLoad = lastLoads.get(job.name);
        const about = { job, scope, problem, work: workOf(job), lastLoad };
        const lagOf = (newestCovered: string | null) => ({
          newestCovered,
          lagSeconds: lagSeconds(newestCovered, period, now),
        });
        const { days } = plannedDays(job, today);
        const planned = scope && days && { ...scope, from: days.from.toString(), to: days.to.toString() };
        const findEmptied = async () =>
          planned &&
          keeping(`emptied ${job.name}`, JSON.stringify([planned, lastLoad?.load_id, lastLoad?.state]), () =>
            emptiedDays(warehouse, feedNamed(job.feed).table, planned),
          );
        if (!scope)
          return {
            ...about,
            completeness: undefined,
            failures: [],
            findEmptied,
            ...lagOf(null),
            recent: null,
            perDay: 0,
          };
        return {
          ...about,
          notListed: planned && (await notListed(warehouse, planned)),
          completeness: await completenessOfJob(warehouse, job, scope, today),
          failures: planned ? await failuresOf(warehouse, [planned]) : [],
          findEmptied,
          ...lagOf(await newestCoveredDay(warehouse, scope)),
          recent: await recentDays(warehouse, planned ?? scope),
          perDay: apiKey
            ? await keeping(`cost ${job.name}`, JSON.stringify(job.definition), () =>
                requestsPerDay(job, listedPart(scope), today),
              )
            : 0,
        };
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
  /** True if an operator has paused it. */
  readonly isPaused: boolean;
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
    const isPaused = known.some(({ paused_because: why }) => why === 'operator');
    const runs = workers === 0 || isPaused ? [] : known.flatMap((one) => runOf(one) ?? []);
    const version = stored.get(name);
    // The definition of a file may have values that JSON changes.
    const isOther = version && !isDeepStrictEqual(JSON.parse(JSON.stringify(definition)), version.definition);
    return {
      isScheduled: schedule !== undefined,
      workers,
      nextRun: runs.toSorted((a, b) => a.at.getTime() - b.at.getTime())[0] ?? null,
      isPaused,
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
