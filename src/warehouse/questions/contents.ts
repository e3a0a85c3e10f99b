import { sql } from 'kysely';
import type { Series } from '../../feeds/feed.ts';
import type { Day } from '../database.ts';
import { exactTime } from '../exact-time.ts';
import { seriesColumns } from '../tables/series.ts';
import { isUncovered } from './coverage.ts';
import type { Question } from './reading.ts';

/** How much of a feed is loaded, over all series of a match type. */
export interface LoadedFeed {
  readonly feed: string;
  readonly match_type: string;
  readonly series: number;
  /** First and last day that any series has covered or any window requests. */
  readonly oldest: Day;
  readonly newest: Day;
}

/** Returns the requested feeds. Coverage has the days of drained and settled windows, which are most. */
export const loadedFeeds: Question<LoadedFeed> = {
  about: 'What is loaded, by feed',
  query: sql<LoadedFeed>`
      select feed, match_type, count(distinct (country, topic, ticker, variant))::int as series,
             min(first) as oldest, max(last) as newest
      from (
        select feed, match_type, country, topic, ticker, variant, lower(days) as first, upper(days) - 1 as last
        from gmsi.coverage where not isempty(days)
        union all
        select feed, match_type, country, topic, ticker, variant, first_day, last_day
        from gmsi.windows where ${isUncovered}
      ) as asked
      group by 1, 2 order by 1, 2`,
};

/** A series and how many records its windows had. */
export interface FullSeries extends Series {
  readonly records: number;
}

/** Returns the series of a feed with the most records lately, which has most to show. */
export function fullestSeries(feed: string, atMost: number): Question<FullSeries> {
  return {
    about: `The series of ${feed} with the most records in its last year`,
    query: sql<FullSeries>`
      select ${seriesColumns}, sum(records)::bigint as records
      from gmsi.windows
      where feed = ${feed}
        and last_day > coalesce((select max(upper(days)) - 366 from gmsi.coverage where feed = ${feed}), '-infinity')
      group by ${seriesColumns}
      having sum(records) > 0
      order by records desc, ${seriesColumns}
      limit ${atMost}::int`,
  };
}

/** What a feed's past moments can show. */
export interface Known {
  /** When the first rows were stored; `null` if there are none. As text (UTC), to the microsecond, as is the other time. */
  readonly first_at: string | null;
  /** When the latest load began that changed or retracted rows, if one did. */
  readonly changed_at: string | null;
}

export function knownSince(feed: string): Question<Known> {
  return {
    about: `Since when rows of ${feed} are known, and when a load last changed some`,
    query: sql<Known>`
      select ${exactTime('first_at')} as first_at, ${exactTime('changed_at')} as changed_at
      from (
        select coalesce((select min(finished_at) from gmsi.windows
                         where rows_inserted > 0
                           and load_id = (select min(load_id) from gmsi.loads where feed = ${feed} and rows_inserted > 0)),
                        min(started_at) filter (where rows_inserted > 0)) as first_at,
               max(started_at) filter (where rows_changed + rows_retracted > 0) as changed_at
        from gmsi.loads
        where feed = ${feed}
      ) as known`,
  };
}

/** A country or a topic that the service lists, or a loaded ticker, of which it may list very many. */
export interface Listed {
  readonly kind: 'country' | 'topic' | 'ticker';
  readonly code: string;
  /** The name of a country or a ticker, a topic's category. */
  readonly name: string | null;
}

export const listedSeries: Question<Listed> = {
  about: 'The countries and topics that the service lists, and the loaded tickers of its list',
  query: sql<Listed>`
      select 'country' as kind, country as code, name from gmsi.countries where listed
      union all
      select 'topic', topic, category from gmsi.topics where listed
      union all
      select 'ticker', code, name from gmsi.lookups
      where lookup = 'tickers' and listed and code in (select ticker from gmsi.coverage)
      order by kind, code`,
};

/** The rules by which the service scores headlines of a topic, by model; empty if it sends none. */
export function topicRules(topic: string): Question<{ readonly model: string; readonly rule: string }> {
  return {
    about: `The service's rules for the scores of ${topic}`,
    query: sql<{ readonly model: string; readonly rule: string }>`
      select replace(rules.key, '_sentiment', '') as model, rules.value as rule
      from gmsi.topics cross join lateral jsonb_each_text(case jsonb_typeof(classification_rule)
                                                          when 'object' then classification_rule else '{}' end) as rules
      where topic = ${topic} order by 1`,
  };
}

/** Returns whether the headlines are real or made up; `null` before the first answer. */
export const servedBy: Question<{ readonly served_by: 'service' | 'sandbox' }> = {
  about: 'Who filled the warehouse',
  query: sql`select served_by from gmsi.origin`,
};

/** Moments that have a name. */
export const namedMoments: Question<{
  readonly name: string;
  readonly at: string;
  readonly note: string | null;
}> = {
  about: 'Moments that have a name, the newest first',
  query: sql`select name, ${exactTime('at')} as at, note from gmsi.moments order by moments.at desc, name limit 500`,
};
