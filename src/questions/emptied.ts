import { type Kysely, sql } from 'kysely';
import type { FeedTable } from '../feeds/feed.ts';
import type { Database, Day } from '../warehouse/database.ts';
import {
  askedSeries,
  isRowOfJob,
  isRowOfSame,
  period,
  sameSeries,
  seriesOf,
  type WindowScope,
} from '../warehouse/tables/series.ts';

/**
 * The windows that counted the rows which the service sent, drained or not, as rows of SQL; `ended_at` is null until they are
 * drained. Rows of a day are judged by the last drained window of the day, and by those that were begun after it.
 */
export const countingWindows = sql`(
  select reading_id as window_id, series_id, first_day, last_day, asked_at, completed_at as ended_at, rows_met
  from gmsi.readings where source = 'w' and is_whole and rows_met is not null
  union all
  select window_id, series_id, first_day, last_day, asked_at, null, rows_met
  from gmsi.queue where rows_met is not null)`;

/** Between these days, no row of some series is left, although the ledger counts rows of them. */
export interface EmptiedDays {
  readonly from: Day;
  readonly to: Day;
}

/**
 * Looks for rows that are gone where that costs little: months without a row of the job, and series without any row, such as
 * after a truncated table or a dropped partition. The check lost-rows counts every row.
 * @returns `undefined` if there are none
 */
export async function emptiedDays(
  db: Kysely<Database>,
  table: FeedTable,
  scope: WindowScope,
): Promise<EmptiedDays | undefined> {
  const of = sql.table(`gmsi.${table.name}`);
  const time = sql.ref(`kept.${table.key[0]}`);
  const { rows } = await sql<EmptiedDays>`
    with series as materialized (
      -- In this order, because a series without news would look into every partition.
      select asked.*, case
        when not exists (select from gmsi.readings r where r.series_id = asked.series_id and r.is_whole and r.records > 0)
          and not exists (select from gmsi.queue w where w.series_id = asked.series_id and w.records > 0)
          and not exists (select from gmsi.imported_files f where ${sameSeries('f', 'asked')}) then true
        else exists (
          select from ${of} as kept where ${isRowOfSame('kept', table, 'asked')}
            and ${time} >= ${scope.from}::date::timestamp at time zone 'UTC'
            and ${time} < (${scope.to}::date + 1)::timestamp at time zone 'UTC') end as has_rows
      from ${askedSeries(scope)}
    ), months as materialized (
      select range_agg(daterange(month::date, (month + interval '1 month')::date) * ${period(scope)}) as days
      from generate_series(date_trunc('month', ${scope.from}::date::timestamp), ${scope.to}::date, interval '1 month') as month
      where not exists (
        select from ${of} as kept where ${isRowOfJob('kept', table, scope)}
          and ${time} >= month at time zone 'UTC' and ${time} < (month + interval '1 month') at time zone 'UTC')
    ), emptied as materialized (
      select ${seriesOf('s')}, s.series_id, case when has_rows then m.days else datemultirange(${period(scope)}) end as days
      from series s cross join months m
    ), counted as materialized (
      select met.*
      from emptied e
      cross join lateral (
        -- Of each day what was asked last.
        select min(day) as first_day, max(day) as last_day
        from (
          select distinct on (at.day) at.day, rows
          from ${countingWindows} w
          cross join lateral unnest(w.rows_met) with ordinality as met (rows, n)
          cross join lateral (select w.first_day + (n - 1)::int as day) as at
          where w.series_id = e.series_id and e.days @> at.day
          order by at.day, w.asked_at desc
        ) as asked
        where rows > 0
        union all
        select min(met.day::date), max(met.day::date)
        from gmsi.imported_files f
        cross join lateral jsonb_object_keys(f.records_by_day) as met (day)
        where ${sameSeries('f', 'e')} and f.finished_at is not null and e.days @> met.day::date
      ) as met
      where not isempty(e.days) and met.first_day is not null
      -- Some series tell enough: if every row is gone, to look at all of them would take minutes.
      limit 50
    )
    select min(first_day)::text as from, max(last_day)::text as to from counted having count(*) > 0`.execute(
    db,
  );
  return rows[0];
}
