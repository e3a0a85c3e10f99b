-- check: Rows say rightly whether they are backfilled
-- why: Answers as of a moment count a backfilled row from its publication, and others from when they came. A finding is a group of rows whose is_backfilled does not follow from gmsi.readings: somebody has changed one of them.
-- feeds: all
-- needs: job_rows
-- 92: number of days, up to the job's last one, that are checked
-- 1 minute: times that are closer do not show which of two transactions saw the other

-- Only first versions that a window brought, because of others it is not known when they were asked for. A file with --known-at
-- is stored later than its time, so days of files are passed over.
with brought as (
  select r.country, r.topic, r.ticker, r.match_type, r.variant, r.day, r.window_id, r.asked_at, r.is_backfilled,
         count(*) as rows, min(r.first_seen_at) as first_seen, max(r.first_seen_at) as last_seen, min(r.id::text) as for_instance
  from job_rows r
  cross join job_period p
  where r.at >= (p.last_day - 92)::timestamp at time zone 'UTC' and r.window_id is not null and r.changed_at = r.first_seen_at
  group by 1, 2, 3, 4, 5, 6, 7, 8, 9
), drains as (
  select reading_id as window_id, series_id, asked_at, asked_on, completed_at from gmsi.readings where source = 'w'
  union all
  select window_id, series_id, asked_at, asked_on, null from gmsi.queue where asked_at is not null
), facts as (
  select f.series_id, f.day, f.loaded_at
  from job_period p
  cross join lateral gmsi.day_facts(
    array(select series_id from job_series where series_id is not null), daterange(p.last_day - 92, p.last_day, '[]')) as f
), judged as (
  select b.*, s.series_id, d.asked_on, c.watch_here, c.watch_on, f.loaded_at,
         case
           when c.watch_on is null or c.watch_here >= d.completed_at or (b.day < c.watch_on) = (b.day < d.asked_on) then b.day < d.asked_on
           when c.watch_here < b.first_seen - interval '1 minute' then b.day < c.watch_on
           when c.watch_here > b.last_seen + interval '1 minute' then b.day < d.asked_on
         end as is_before_watch,
         -- Compaction keeps the first whole reading of each day.
         case
           when f.loaded_at is null or f.loaded_at >= d.completed_at then false
           when f.loaded_at < b.first_seen - interval '1 minute' then true
           when f.loaded_at > b.last_seen + interval '1 minute' then false
         end as was_read_before
  from brought b
  join job_series s using (country, topic, ticker, match_type, variant)
  -- A window that was begun again has rows of an earlier drain, too.
  join drains d on d.window_id = b.window_id and d.series_id = s.series_id and d.asked_at = b.asked_at
  left join gmsi.series_days c on c.series_id = s.series_id
  left join facts f on f.series_id = s.series_id and f.day = b.day
)
select j.country, j.topic, j.ticker, j.variant, j.day, j.window_id, j.is_backfilled, j.rows, j.for_instance, j.asked_on, j.watch_on,
       j.loaded_at
from judged j
where j.is_backfilled <> (j.is_before_watch and not j.was_read_before)
  and not exists (
    select from gmsi.readings f
    where f.series_id = j.series_id and f.is_whole and f.source = 'f' and f.last_day >= j.day and f.first_day <= j.day)
order by j.day desc, j.country, j.topic, j.ticker, j.variant, j.window_id
