import type { Job } from '../config/job.ts';
import { type Lookups, resolveSeries, variantsOf } from '../config/resolve-series.ts';
import type { Feed, Series } from '../feeds/feed.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { busiestSeries } from '../warehouse/tables/rollups.ts';
import { keyOfSeries } from '../warehouse/tables/series.ts';

/** How many series to try: a second one if the first has no news. */
const candidates = 2;

/** A guess for an empty warehouse: countries and topics that have news every day. */
const likelyBusy = {
  countries: ['US'],
  topics: ['Benchmark Equity Indices', 'Elections', 'Policy Tools-Interest Rates', 'Inflation-Food'],
};

/**
 * Busy series to probe a feed with, those of the job if there is one: the busiest that the warehouse has loaded, then likely
 * busy ones.
 */
export async function chooseSeries(
  warehouse: Warehouse,
  feed: Feed,
  job: Job | undefined,
  lookups: Lookups,
): Promise<Series[]> {
  const all = job ? resolveSeries(job, lookups) : everySeries(feed, lookups);
  const named = new Map(all.map((series) => [keyOfSeries(series), series]));
  const matchType = job?.matchType ?? feed.matchTypes[0] ?? '';
  const loaded = (await busiestSeries(warehouse, feed.name, matchType, 100))
    .map((series) => named.get(keyOfSeries(series)))
    .filter((series) => series !== undefined);
  const guessed = all.toSorted((a, b) => quietness(a) - quietness(b));
  return [...new Set([...loaded, ...guessed])].slice(0, candidates);
}

function everySeries(feed: Feed, { countries, topics, tickers }: Lookups): Series[] {
  const names = (dimension: Feed['dimensions'][number], listed: readonly string[]) =>
    feed.dimensions.includes(dimension) ? listed : [''];
  const match_type = feed.matchTypes[0] ?? '';
  const [variant = ''] = variantsOf(feed, { parameters: {} });
  return names(
    'country',
    countries.map(({ code }) => code),
  ).flatMap((country) =>
    names(
      'topic',
      topics.map(({ name }) => name),
    ).flatMap((topic) =>
      names(
        'ticker',
        tickers.map(({ code }) => code),
      ).map((ticker) => ({ feed: feed.name, country, topic, ticker, match_type, variant })),
    ),
  );
}

function quietness({ country, topic }: Series): number {
  const place = (list: readonly string[], name: string) =>
    list.includes(name) ? list.indexOf(name) : list.length;
  return place(likelyBusy.countries, country) * 10 + place(likelyBusy.topics, topic);
}
