-- check: Headlines arrive about as fast as they usually do
-- why: If a source's headlines of a day came much later than usual, the service was late, or no load ran in time.
-- severity: warn
-- needs: job_headlines
-- 30: number of days, up to the job's last one, that are checked
-- 14: number of earlier days of the source, of the last 60, that a day is compared with
-- 7: days with fewer of them are not checked
-- 20: days with fewer headlines of the source are neither checked nor compared with
-- 2: a finding has more than this many times the median of their medians
-- 1 hour: a finding is also at least this much later

-- Only headlines that were seen when they came: of the others, it is not known when they did.
with delays as (
  select source, (published_at at time zone 'UTC')::date as day, count(*) as headlines,
         percentile_cont(0.5) within group (order by first_seen_at - published_at) as p50,
         percentile_cont(0.99) within group (order by first_seen_at - published_at) as p99
  from job_headlines
  cross join job_period
  where not is_backfilled and published_at >= (last_day - 60)::timestamp at time zone 'UTC'
  group by 1, 2
  having count(*) >= 20
), compared as (
  select delays.*, array_agg(p50) over (partition by source order by day rows between 14 preceding and 1 preceding) as before
  from delays
)
select c.source, c.day, c.headlines, date_trunc('second', c.p50) as p50, date_trunc('second', c.p99) as p99,
       date_trunc('second', usual.median) as usual_p50
from compared c
cross join job_period
cross join lateral (select percentile_cont(0.5) within group (order by p50) as median from unnest(c.before) as p50) as usual
where c.day > job_period.last_day - 30
  and cardinality(c.before) >= 7
  and c.p50 > 2 * usual.median
  and c.p50 >= usual.median + interval '1 hour'
order by c.day desc, c.p50 desc
