-- check: An index without gaps has every hour of a covered day
-- why: If an hour is missing, counts and means of that day leave news out.
-- feeds: all
-- needs: job_sums
-- severity: warn
-- 8: number of earlier covered days that a day is compared with
-- 6: days with fewer of them are not checked

-- An index that leaves out hours without news (sparse) does not have every hour on its usual days, and is not checked.
with counted as (
  select country, topic, ticker, match_type, variant, text, day, count(distinct hour) as hours
  from (
    select country, topic, ticker, match_type, variant, text, day, date_trunc('hour', at, 'UTC') as hour, false as is_covered
    from job_sums
    union all
    -- The days of each topic that the index itself names.
    select d.country, d.topic, d.ticker, d.match_type, d.variant, every.text, d.day, null, d.is_covered
    from (select country, topic, ticker, match_type, variant, text from job_sums group by 1, 2, 3, 4, 5, 6) as every
    join job_days d using (country, topic, ticker, match_type, variant)
  ) as each
  group by 1, 2, 3, 4, 5, 6, 7
  having bool_or(is_covered)
), compared as (
  select country, topic, ticker, variant, text, day, hours,
         array_agg(hours) over (
           partition by country, topic, ticker, match_type, variant, text order by day
           rows between 8 preceding and 1 preceding) as before
  from counted
)
select h.country, h.topic, h.ticker, h.variant, h.text, h.day, h.hours
from compared h
cross join lateral (select percentile_cont(0.5) within group (order by n) as median from unnest(h.before) as n) as usual
where h.hours < 24 and usual.median = 24 and cardinality(h.before) >= 6
order by h.day desc
