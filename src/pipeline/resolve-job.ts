import type { Client } from '../api/client.ts';
import { fetchCountries, fetchTopics } from '../api/lookups.ts';
import type { Job } from '../job/job.ts';
import { resolveSeries } from '../job/resolve-series.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { readLookups, type StoredLookups, saveLookups } from '../warehouse/queries/lookups.ts';
import type { WindowScope } from '../warehouse/queries/window-scope.ts';
import type { DayRange } from '../window/day-range.ts';
import type { Origin } from './origin.ts';

/** Lookups older than this are fetched again before a load. */
const freshFor = 7 * 24 * 3600 * 1000;

/** Fetches countries and topics (two requests, more where the service pages them) and stores them. */
export async function refreshLookups(
  warehouse: Warehouse,
  client: Client,
  origin: Origin,
  signal: AbortSignal,
): Promise<StoredLookups> {
  const countries = await fetchCountries(client, signal);
  const topics = await fetchTopics(client, signal);
  await origin.check(client.servedBy);
  await saveLookups(warehouse, countries, topics);
  return readLookups(warehouse);
}

/** The stored lookups, fetched anew where there are none or they are older than a week. */
export async function freshLookups(
  warehouse: Warehouse,
  client: Client,
  origin: Origin,
  { clock, signal }: { clock: () => Date; signal: AbortSignal },
): Promise<StoredLookups> {
  const stored = await readLookups(warehouse);
  const isFresh = stored.refreshedAt !== null && clock().getTime() - stored.refreshedAt.getTime() < freshFor;
  return isFresh ? stored : refreshLookups(warehouse, client, origin, signal);
}

/**
 * What a job asks for, in terms of the warehouse.
 * @throws JobFileError where it names a country or topic that the service does not list
 */
export function scopeOf(job: Job, days: DayRange, lookups: StoredLookups): WindowScope {
  const series = resolveSeries(job, lookups);
  return {
    feed: job.feed,
    countries: [...new Set(series.map(({ country }) => country))],
    topics: [...new Set(series.map(({ topic }) => topic))],
    matchType: job.matchType,
    from: days.from.toString(),
    to: days.to.toString(),
  };
}
