import type { Job } from '../config/job.ts';
import { resolveSeries } from '../config/resolve-series.ts';
import type { Feed, Series } from '../feeds/feed.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { fullestSeries } from '../warehouse/questions/contents.ts';
import { listedValues, type StoredLookups } from '../warehouse/tables/lookups.ts';
import { keyOfSeries } from '../warehouse/tables/series.ts';

/** Series to try: a second one if the first has no news. */
const candidates = 2;

/** A guess for an empty warehouse: topics that have news every day, at least in the US. */
const busyTopics = ['Benchmark Equity Indices', 'Elections', 'Policy Tools-Interest Rates', 'Inflation-Food'];

/**
 * Returns busy series to probe a feed with, from the job if there is one: those with the most records lately first, then guesses.
 */
export async function chooseSeries(
  warehouse: Warehouse,
  feed: Feed,
  job: Job | undefined,
  lookups: StoredLookups,
): Promise<Series[]> {
  const listed = listedValues(lookups);
  const isListed = (series: Series) =>
    feed.dimensions.every((dimension) => listed[dimension].includes(series[dimension]));
  const all = job ? resolveSeries(job, lookups).filter(isListed) : everySeries(feed, lookups);
  const named = new Map(all.map((series) => [keyOfSeries(series), series]));
  const { rows: fullest } = await fullestSeries(feed.name, 300).query.execute(warehouse);
  const loaded = fullest
    .map((series) => named.get(keyOfSeries(series)))
    .filter((series) => series !== undefined);
  const guessed = all.filter(({ country, topic }) => country === 'US' && busyTopics.includes(topic));
  return [...new Set([...loaded, ...guessed, ...all])].slice(0, candidates);
}

/** Without a job, the feed is one of countries and topics, without variants. */
function everySeries({ name: feed, matchTypes }: Feed, { countries, topics }: StoredLookups): Series[] {
  const [match_type = ''] = matchTypes;
  return countries.flatMap(({ code: country }) =>
    topics.map(({ name: topic }) => ({ feed, country, topic, ticker: '', match_type, variant: '' })),
  );
}
