import { sql } from 'kysely';
import { z } from 'zod';
import { exactTime } from '../warehouse/exact-time.ts';
import { seriesColumns } from '../warehouse/tables/series.ts';
import { question, text, timeText } from './reading.ts';

export const loadedFeeds = question(
  z.object({
    feed: z.string(),
    match_type: z.string(),
    series: z.int(),
    oldest: z.string().describe('The first day that was ever requested of any series, or read from a file.'),
    newest: z.string(),
  }),
  'What is loaded, by feed and match type',
  sql`
      select feed, match_type, count(*)::int as series, min(first_day) as oldest, max(last_day) as newest
      from gmsi.series_states where first_day is not null group by 1, 2 order by 1, 2`,
);

export const fullSeriesRow = z.object({
  feed: z.string(),
  country: z.string(),
  topic: z.string(),
  ticker: z.string(),
  match_type: z.string(),
  variant: z.string(),
  records: z.int(),
});

/** Returns the series of a feed with the most records lately, which has most to show. */
export function fullestSeries(feed: string, atMost: number) {
  return question(
    fullSeriesRow,
    `The series of ${feed} with the most records in its last year`,
    sql`
      select ${seriesColumns}, sum(records)::bigint as records
      from gmsi.windows
      where feed = ${feed}
        and last_day > coalesce((select max(upper(days)) - 366 from gmsi.coverage where feed = ${feed}), '-infinity')
      group by ${seriesColumns}
      having sum(records) > 0
      order by records desc, ${seriesColumns}
      limit ${atMost}::int`,
  );
}

export const knownRow = z.object({
  first_at: timeText.nullable().describe('When the first rows were stored.'),
  changed_at: timeText.nullable().describe('When the latest load began that changed or retracted rows.'),
});

export function knownSince(feed: string) {
  return question(
    knownRow,
    `Since when rows of ${feed} are known, and when a load last changed some`,
    sql`
      select ${exactTime('first_at')} as first_at, ${exactTime('changed_at')} as changed_at
      from (
        select coalesce((select min(completed_at) from gmsi.readings
                         where rows_inserted > 0
                           and load_id = (select min(load_id) from gmsi.loads where feed = ${feed} and rows_inserted > 0)),
                        min(started_at) filter (where rows_inserted > 0)) as first_at,
               max(started_at) filter (where rows_changed + rows_retracted > 0) as changed_at
        from gmsi.loads
        where feed = ${feed}
      ) as known`,
  );
}

/** Only loaded tickers, because the service may list very many. */
export const listedSeries = question(
  z.object({
    kind: z.enum(['country', 'topic', 'ticker']),
    code: z.string(),
    name: text.describe('The name of a country or a ticker, the category of a topic.'),
  }),
  'The countries and topics that the service lists, and the loaded tickers of its list',
  sql`
      select 'country' as kind, country as code, name from gmsi.countries where listed
      union all
      select 'topic', topic, category from gmsi.topics where listed
      union all
      select 'ticker', code, name from gmsi.lookups
      where lookup = 'tickers' and listed and code in (select ticker from gmsi.coverage)
      order by kind, code`,
);

export const ruleRow = z.object({ model: z.string(), plus: z.string(), rule: text });

/** What the scores of a topic mean, by model; empty if the service does not list the topic. */
export function topicRules(topic: string) {
  return question(
    ruleRow,
    `What the scores of ${topic} mean`,
    sql`
      select model, plus, rule
      from gmsi.topic_guide
      cross join lateral (values ('directional', directional_plus, directional_rule),
                                 ('semantic', semantic_plus, semantic_rule)) as models (model, plus, rule)
      where topic = ${topic} order by 1`,
  );
}

/** No row before the first answer. */
export const servedBy = question(
  z.object({ served_by: z.enum(['service', 'sandbox']) }),
  'Whether the headlines are real or from a sandbox',
  sql`select served_by from gmsi.origin`,
);

export const namedMoments = question(
  z.object({ name: z.string(), at: timeText, note: text }),
  'Moments that have a name (gmsi snapshot), the newest first',
  sql`select name, ${exactTime('at')} as at, note from gmsi.moments order by moments.at desc, name limit 500`,
);
