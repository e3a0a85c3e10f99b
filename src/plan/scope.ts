import type { Temporal } from 'temporal-polyfill';
import type { Job } from '../config/job.ts';
import { resolveSeries } from '../config/resolve-series.ts';
import { feedNamed } from '../feeds/catalog.ts';
import type { Dimension, Feed } from '../feeds/feed.ts';
import { type ListName, listedValues, type StoredLookups } from '../warehouse/tables/lookups.ts';
import type { WindowScope } from '../warehouse/tables/series.ts';
import { type DayRange, firstUnsettledDay } from './days.ts';

const listOf = { country: 'countries', topic: 'topics', ticker: 'tickers' } as const;

/** Returns the lookups that the jobs of a feed need. */
export function listsFor(feed: Feed): ListName[] {
  return feed.dimensions.map((dimension) => listOf[dimension]);
}

/** Returns the needed lookups that were never fetched. Without them, a job's series are unknown. */
export function missingLists(feed: Feed, { refreshedAt }: StoredLookups): ListName[] {
  return listsFor(feed).filter((list) => refreshedAt[list] === null);
}

/**
 * Resolves a job to its series and days.
 * @throws JobFileError if it names a country, topic or ticker that the service has never listed
 */
export function scopeOf(job: Job, days: DayRange, lookups: StoredLookups): WindowScope {
  const series = resolveSeries(job, lookups);
  const namesOf = (dimension: Dimension) => [...new Set(series.map((one) => one[dimension]))];
  const names = { country: namesOf('country'), topic: namesOf('topic'), ticker: namesOf('ticker') };
  return {
    feed: job.feed,
    countries: names.country,
    topics: names.topic,
    tickers: names.ticker,
    unlisted: feedNamed(job.feed).dimensions.flatMap((dimension) => {
      const listed = new Set(listedValues(lookups)[dimension]);
      return names[dimension]
        .filter((name) => !listed.has(name))
        .map((name) => ({ list: listOf[dimension], name }));
    }),
    matchType: job.matchType,
    variants: job.variants,
    from: days.from.toString(),
    to: days.to.toString(),
    isOpenEnded: job.service.endDate === 'ignored',
  };
}

/** Returns the days of a job that may still change, and so do not count as covered; `undefined` if there are none. */
export function settlingPart(
  scope: Pick<WindowScope, 'from' | 'to'>,
  { lookbackDays }: Pick<Job, 'lookbackDays'>,
  today: Temporal.PlainDate,
): { readonly from: string; readonly to: string } | undefined {
  const first = firstUnsettledDay(today, lookbackDays).toString();
  if (scope.to < first) return undefined;
  return { from: scope.from > first ? scope.from : first, to: scope.to };
}
