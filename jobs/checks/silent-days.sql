-- check: No covered day is empty in a series that has rows every week
-- why: If a busy series has no row on a day that counts as loaded, the day was probably lost.
-- feeds: all
-- needs: job_rows
-- 8: number of earlier covered days, of the same weekday, that a day is compared with
-- 6: days with fewer of them are not checked
-- 20: a series is busy if the median of their rows is at least this

-- Not joined: PostgreSQL could not estimate how many rows a join by series and day has.
with counted as (
  select country, topic, ticker, match_type, variant, day, sum(n) as rows
  from (
    select country, topic, ticker, match_type, variant, day, 0 as n, is_covered from job_days
    union all
    select country, topic, ticker, match_type, variant, day, 1, false from job_rows
  ) as each
  group by 1, 2, 3, 4, 5, 6
  having bool_or(is_covered)
), compared as (
  select country, topic, ticker, variant, day, rows,
         array_agg(rows) over (
           partition by country, topic, ticker, match_type, variant, extract(dow from day) order by day
           rows between 8 preceding and 1 preceding) as before
  from counted
)
select s.country, s.topic, s.ticker, s.variant, s.day, usual.median as usual_rows
from compared s
cross join lateral (
  select percentile_cont(0.5) within group (order by n) as median, min(n) as least from unnest(s.before) as n) as usual
where s.rows = 0
  and cardinality(s.before) >= 6
  and usual.median >= 20
  and usual.least > 0
order by s.day desc, s.country, s.topic
