import { Temporal } from 'temporal-polyfill';
import type { Client } from '../api/client.ts';
import { fetchCodes, fetchCountries, fetchTopics } from '../api/lookups.ts';
import { feedNamed } from '../feeds/catalog.ts';
import type { Feed, RecordReader } from '../feeds/feed.ts';
import type { Job } from '../job/job.ts';
import { resolveSeries } from '../job/resolve-series.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import type { LoadTotals } from '../warehouse/queries/loads.ts';
import {
  type ListName,
  readLookups,
  type StoredLookups,
  saveCodes,
  saveCountries,
  saveTopics,
} from '../warehouse/queries/lookups.ts';
import type { WindowScope } from '../warehouse/queries/window-scope.ts';
import type { DayRange } from '../window/day-range.ts';
import { plannedDays, type ShortenedPeriod } from '../window/wanted-days.ts';
import { type Clocks, endByClocks } from './clocks.ts';
import { clocksOf, countingTotals, nothingDone, type RunContext, type RunResult } from './open-load.ts';
import { type Origin, originOf } from './origin.ts';

/** Lookups older than this are fetched again before a load. */
const freshFor = 7 * 24 * 3600 * 1000;

/** Which list settles what a job selects along each dimension. */
const listOf = { country: 'countries', topic: 'topics', ticker: 'tickers' } as const;

/** The lists that the jobs of a feed are resolved against. */
export function listsFor(feed: Feed): ListName[] {
  return feed.dimensions.map((dimension) => listOf[dimension]);
}

/** Fetches a list (one request, more where the service pages it) and stores it. */
export async function refreshList(
  warehouse: Warehouse,
  client: Client,
  origin: Origin,
  list: ListName,
  signal: AbortSignal,
): Promise<void> {
  switch (list) {
    case 'countries': {
      const countries = await fetchCountries(client, signal);
      await origin.check(client.servedBy);
      return saveCountries(warehouse, countries);
    }
    case 'topics': {
      const topics = await fetchTopics(client, signal);
      await origin.check(client.servedBy);
      return saveTopics(warehouse, topics);
    }
    default: {
      const codes = await fetchCodes(client, list, signal);
      await origin.check(client.servedBy);
      return saveCodes(warehouse, list, codes);
    }
  }
}

/** The stored lookups; those of `lists` that are missing or older than a week are fetched anew first. */
export async function freshLookups(
  warehouse: Warehouse,
  client: Client,
  origin: Origin,
  { lists, clock, signal }: { lists: readonly ListName[]; clock: () => Date; signal: AbortSignal },
): Promise<StoredLookups> {
  const stored = await readLookups(warehouse);
  const stale = lists.filter((list) => {
    const at = stored.refreshedAt[list];
    return at === null || clock().getTime() - at.getTime() >= freshFor;
  });
  for (const list of stale) await refreshList(warehouse, client, origin, list, signal);
  return stale.length === 0 ? stored : readLookups(warehouse);
}

/**
 * What a job asks for, in terms of the warehouse.
 * @throws JobFileError where it names a country, topic or ticker that the service does not list
 */
export function scopeOf(job: Job, days: DayRange, lookups: StoredLookups): WindowScope {
  const series = resolveSeries(job, lookups);
  return {
    feed: job.feed,
    countries: [...new Set(series.map(({ country }) => country))],
    topics: [...new Set(series.map(({ topic }) => topic))],
    tickers: [...new Set(series.map(({ ticker }) => ticker))],
    matchType: job.matchType,
    variants: job.variants,
    from: days.from.toString(),
    to: days.to.toString(),
  };
}

/** A job made out in terms of the service and the warehouse, before anything of it is loaded. */
export interface ResolvedRun {
  readonly feed: Feed;
  readonly reader: RecordReader;
  readonly origin: Origin;
  readonly clocks: Clocks;
  readonly totals: LoadTotals;
  /** The day that it is, in UTC, by the earliest of the clocks. */
  readonly today: Temporal.PlainDate;
  /** `undefined` if there is no day to ask for: the job's period has not begun, or is older than the history limit. */
  readonly scope: WindowScope | undefined;
  /** How a history limit shortens the period, if it does. */
  readonly historyLimit: ShortenedPeriod | undefined;
  /** Seconds since the run began. */
  readonly seconds: () => number;
  readonly nothingToDo: () => RunResult;
}

/** Settles what a job asks for, by the lookups, which are fetched where they are missing or old. */
export async function resolveRun(context: RunContext): Promise<ResolvedRun> {
  const { job, warehouse, client, clock, stop } = context;
  const startedAt = performance.now();
  const seconds = () => (performance.now() - startedAt) / 1000;
  const feed = feedNamed(job.feed);
  const reader = feed.reader(job.fields);
  const origin = originOf(warehouse);
  const lists = listsFor(feed);
  const lookups = await freshLookups(warehouse, client, origin, { lists, clock, signal: stop });
  const clocks = await clocksOf(context);
  const today = Temporal.PlainDate.from(clocks.now().toISOString().slice(0, 10));
  const { days, historyLimit } = plannedDays(job, today);
  const scope = days && scopeOf(job, days, lookups);
  const totals = countingTotals(client);
  const nothingToDo = () => {
    const nothing = nothingDone(totals, seconds());
    return { ...nothing, ...endByClocks(nothing, clocks), historyLimit };
  };
  return { feed, reader, origin, clocks, totals, today, scope, historyLimit, seconds, nothingToDo };
}
