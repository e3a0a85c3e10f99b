import { type Kysely, sql } from 'kysely';
import { gmsiHeadlines } from '../src/feeds/gmsi-headlines.ts';
import type { Database } from '../src/warehouse/database.ts';
import { series } from './pages.ts';

// The only file of the benches that writes series, windows and readings.

interface Days {
  readonly from: string;
  readonly to: string;
}

/** How many windows of so many days a series has, in SQL. */
export const windowsOf = ({ from, to }: Days, each: number): string =>
  `ceil((date '${to}' - date '${from}' + 1) / ${each}.0)::int`;

/** SQL that adds all of bench_series, and their windows as drained and settled, in the order of their ids. */
export const loadedWindows = (days: Days, each: number): string => `
  insert into gmsi.series (series_id, feed, country, topic, match_type) overriding system value
    select series, 'gmsi-headlines', country, topic, match_type from bench_series;
  select setval(pg_get_serial_sequence('gmsi.series', 'series_id'), (select max(series) from bench_series));
  ${drainedWindows(days, each, { askedAt: 'now()', lookback: -1 })};
  ${derivedDays}`;

/** SQL that adds drained windows of every series, whose last `lookback` days were not settled when they were asked. */
const drainedWindows = (
  days: Days,
  each: number,
  { askedAt, lookback }: { askedAt: string; lookback: number },
): string => `
  insert into gmsi.readings (reading_id, asked_at, completed_at, load_id, series_id, first_day, last_day, asked_on, settled_before,
                             source, is_whole, is_first, pages, rows_met)
    select (series_id - 1) * ${windowsOf(days, each)} + n + 1, ${askedAt}, ${askedAt}, 1, series_id, first_day, last_day,
           (${askedAt} at time zone 'UTC')::date, date '${days.to}' - ${lookback}, 'w', true, true, 1,
           array_fill(0, array[last_day - first_day + 1])
    from gmsi.series cross join generate_series(0, ${windowsOf(days, each)} - 1) as n
    cross join lateral (
      select date '${days.from}' + n * ${each} as first_day,
             least(date '${days.from}' + n * ${each} + ${each - 1}, date '${days.to}') as last_day) as of_window;
  select setval('gmsi.reading_ids', (select max(reading_id) from gmsi.readings))`;

/** SQL that writes the cache from the readings. */
export const derivedDays = `
  delete from gmsi.series_days;
  insert into gmsi.series_days select d.* from gmsi.series cross join lateral gmsi.derive_days(series_id) as d`;

/** Days that syncs read again, with today. */
export const lookback = 3;
const syncsADay = 4;

/**
 * SQL that adds what is left of a backfill of so many series, until the day of its drain: `days.to`.
 * @param topics so many topics of each country
 */
export const backfilled = (
  series: { countries: number; topics: number },
  days: Days,
  each: number,
): string => `
  insert into gmsi.series (feed, country, topic, match_type)
    select 'gmsi-headlines', 'C' || c, 'T' || t, 'COMBINED'
    from generate_series(1, ${series.countries}) as c cross join generate_series(1, ${series.topics}) as t order by c, t;
  ${drainedWindows(days, each, { askedAt: `timestamptz '${days.to} 00:00+00'`, lookback })};
  ${derivedDays}`;

/**
 * SQL that adds the readings of syncs of all series until now, four a day. The first one of a day reads a day more, which has settled;
 * half of the series have rows, and one reading in ten has news.
 * @param isCompact without the readings that `gmsi.compact` would delete
 */
export const synced = (days: Days, isCompact: boolean): string => `
  -- Does not look each series up.
  set local session_replication_role = replica;
  insert into gmsi.readings (asked_at, completed_at, load_id, series_id, first_day, last_day, asked_on, settled_before, source, is_whole,
                             is_first, rows_held, pages, records, rows_inserted, rows_met)
    select at, at + interval '5 seconds', day - date '${days.from}' + 2, series_id, first_day, day, day, day - ${lookback}, 'w', true,
           nth = 0, case when series_id % 2 = 0 then 5 else 0 end, 1, 5, case when random() < 0.1 then 1 else 0 end,
           array_fill(1, array[day - first_day + 1])
    from (select (date '${days.from}' + n) as day from generate_series(1, date '${days.to}' - date '${days.from}') as n) as of_day
    cross join generate_series(0, ${syncsADay - 1}) as nth
    cross join lateral (
      select day::timestamp at time zone 'UTC' + interval '15 minutes' + nth * interval '24 hours' / ${syncsADay} as at,
             day - ${lookback} - case nth when 0 then 1 else 0 end as first_day) as of_sync
    cross join gmsi.series
    where at < now() and (nth = 0 or ${!isCompact} or day >= current_date - 31)
    order by at, series_id`;

/** Adds windows of the first load that are being drained, so many for each country. @returns their ids, in the order of the countries */
export async function drainingWindows(
  db: Kysely<Database>,
  countries: readonly string[],
  each: number,
): Promise<number[]> {
  await sql`
    insert into gmsi.series (feed, country, topic, match_type)
    select ${gmsiHeadlines.name}, unnest(${countries}::text[]), ${series.topic}, ${series.match_type}
    on conflict do nothing`.execute(db);
  const { rows } = await sql<{ window_id: number }>`
    insert into gmsi.queue (series_id, first_day, last_day, asked_at, asked_on, settled_before, state, load_id)
    select series_id, date '2016-01-01' + 90 * n, date '2016-01-01' + 90 * n + 89, now(), current_date, current_date, 'draining', 1
    from gmsi.series join unnest(${countries}::text[]) with ordinality as c (country, place) using (country)
    cross join generate_series(0, ${each}::int - 1) as n order by place, n
    returning window_id`.execute(db);
  return rows.map(({ window_id }) => window_id);
}

/** Moves the checkpoint of a window: its id, the next token, how many records. */
export const checkpoint = {
  name: 'checkpoint',
  text: 'update gmsi.queue set next_token = $2, pages = pages + 1, records = records + $3 where window_id = $1',
};
