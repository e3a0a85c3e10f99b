import { Temporal } from 'temporal-polyfill';
import { feedNamed } from '../feeds/catalog.ts';
import type { Job } from '../job/job.ts';
import { JobFileError } from '../job/job-file-error.ts';
import { requestsOfSyncs, scheduledRequests } from '../pipeline/forecast-schedule.ts';
import { withLearnedReading } from '../pipeline/learned-reading.ts';
import { keyFingerprint, monthOf } from '../pipeline/request-budget.ts';
import { listsFor, scopeOf } from '../pipeline/resolve-job.ts';
import type { Secret } from '../secret.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { usedRequests } from '../warehouse/queries/api-usage.ts';
import { readLookups, type StoredLookups } from '../warehouse/queries/lookups.ts';
import { newestCoveredDay } from '../warehouse/queries/telemetry.ts';
import type { WindowScope } from '../warehouse/queries/window-scope.ts';
import type { DayRange } from '../window/day-range.ts';
import { settledBefore, wantedDays } from '../window/wanted-days.ts';
import { type BudgetOutlook, budgetOutlook } from './budget-outlook.ts';
import { lagSeconds } from './job-lag.ts';

/** How a job stands, as far as the warehouse knows. */
export interface JobStanding {
  readonly job: Job;
  /** `undefined` where its series are not known: before anything was loaded, or where it names what there is not. */
  readonly scope: WindowScope | undefined;
  readonly newestCovered: string | null;
  readonly lagSeconds: number;
  /** `undefined` without a key. */
  readonly budget: BudgetOutlook | undefined;
}

/** Reads how jobs stand; all of them have the same key. */
export type ReadStandings = (jobs: readonly Job[]) => Promise<JobStanding[]>;

/** What a schedule costs is reckoned anew after this many milliseconds; it takes a while, and hardly changes. */
const costKeepsFor = 3_600_000;

export function standingsReader(
  warehouse: Warehouse,
  { apiKey, clock }: { apiKey: Secret | undefined; clock: () => Date },
): ReadStandings {
  const costs = new Map<string, { readonly at: number; readonly perDay: number }>();

  async function requestsPerDay(job: Job, scope: WindowScope | undefined, today: Temporal.PlainDate) {
    const now = clock();
    const kept = costs.get(job.name);
    if (kept && Math.abs(now.getTime() - kept.at) < costKeepsFor) return kept.perDay;
    if (!scope) return 0;
    const { job: asRead } = await withLearnedReading(warehouse, job);
    const unsettledFrom = settledBefore(today, job.lookbackDays).toString();
    const cost = await scheduledRequests(warehouse, asRead, scope, { now, unsettledFrom });
    const perDay = cost ? (requestsOfSyncs(job, cost) + cost.backfillRequests) / cost.days : 0;
    costs.set(job.name, { at: now.getTime(), perDay });
    return perDay;
  }

  return async (jobs) => {
    const now = clock();
    const today = Temporal.PlainDate.from(now.toISOString().slice(0, 10));
    const lookups = await readLookups(warehouse);
    const used = apiKey && (await usedRequests(warehouse, keyFingerprint(apiKey), monthOf(now)));
    let perDay = 0;
    const coverages: Omit<JobStanding, 'budget'>[] = [];
    for (const job of jobs) {
      // Job files with a start in the future are refused, so a period always has a day.
      const period = wantedDays(job, today)!;
      const scope = knownScope(job, period, lookups);
      const newestCovered = scope ? await newestCoveredDay(warehouse, scope) : null;
      perDay += await requestsPerDay(job, scope, today);
      coverages.push({ job, scope, newestCovered, lagSeconds: lagSeconds(newestCovered, period, now) });
    }
    return coverages.map((coverage) => {
      const limit = coverage.job.budget.requestsPerMonth;
      return {
        ...coverage,
        budget: used === undefined ? undefined : budgetOutlook(used, limit, perDay, now),
      };
    });
  };
}

function knownScope(job: Job, period: DayRange, lookups: StoredLookups): WindowScope | undefined {
  if (listsFor(feedNamed(job.feed)).some((list) => lookups.refreshedAt[list] === null)) return undefined;
  try {
    return scopeOf(job, period, lookups);
  } catch (error) {
    // Its runs say so; the other jobs are watched all the same.
    if (error instanceof JobFileError) return undefined;
    throw error;
  }
}
