-- check: Each series has about as many rows a day as it usually has
-- why: If a day has many more or far fewer, either the news was unusual, or the day was loaded twice or in part.
-- feeds: all
-- severity: warn
-- needs: job_rows
-- 366: number of days, up to the job's last one, that are checked
-- 8: number of earlier covered days, of the same weekday, that a day is compared with
-- 6: days with fewer of them are not checked
-- 10: a finding has more than this many times the median, or less than the median divided by it
-- 8: a finding is also at least this many deviations from the median

-- Days of the same weekday, because there is less news at weekends. Days without any row are left to silent-days.
-- Not joined: PostgreSQL could not estimate how many rows a join by series and day has.
with counted as (
  select country, topic, ticker, match_type, variant, day, sum(n) as rows
  from (
    select country, topic, ticker, match_type, variant, day, 0 as n, is_covered from job_days
    union all
    select country, topic, ticker, match_type, variant, day, 1, false from job_rows
  ) as each
  cross join job_period
  where day > job_period.last_day - (366 + 7 * 8)
  group by 1, 2, 3, 4, 5, 6
  having bool_or(is_covered)
), recent as (
  select country, topic, ticker, variant, day, rows,
         array_agg(rows) over (
           partition by country, topic, ticker, match_type, variant, extract(dow from day) order by day
           rows between 8 preceding and 1 preceding) as before
  from counted
)
select r.country, r.topic, r.ticker, r.variant, r.day, r.rows, usual.median, round((spread.deviation)::numeric, 1) as deviation
from recent r
cross join job_period
cross join lateral (
  select percentile_cont(0.5) within group (order by n) as median from unnest(r.before) as n) as usual
-- The deviation is at least what chance alone causes, and at least a tenth: a few weeks often look steadier than they are.
cross join lateral (
  select greatest(1.4826 * percentile_cont(0.5) within group (order by abs(n - usual.median)),
                  sqrt(usual.median + 1), usual.median / 10) as deviation
  from unnest(r.before) as n) as spread
where r.day > job_period.last_day - 366
  and r.rows > 0
  and cardinality(r.before) >= 6
  and (r.rows > 10 * usual.median or r.rows * 10 < usual.median)
  and abs(r.rows - usual.median) > 8 * spread.deviation
order by r.day desc, r.country, r.topic
