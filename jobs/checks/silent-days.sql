-- check: No covered day is empty in a series that has news every week
-- why: If a busy series has no headline on a day that counts as loaded, the day was probably lost.
-- needs: job_headlines
-- setting: weeks = 8, number of earlier covered days, of the same weekday, that a day is compared with
-- setting: least_weeks = 6, days with fewer of them are not checked
-- setting: usual = 20, a series is busy if the median of their headlines is at least this

with counted as (
  select country, topic, (published_at at time zone 'UTC')::date as day, count(*) as headlines
  from job_headlines
  group by 1, 2, 3
), compared as (
  select d.country, d.topic, d.day, coalesce(c.headlines, 0) as headlines,
         array_agg(coalesce(c.headlines, 0)) over (
           partition by d.country, d.topic, extract(dow from d.day) order by d.day
           rows between (select weeks::bigint from setting) preceding and 1 preceding) as before
  from job_days d
  left join counted c using (country, topic, day)
  where d.is_covered
)
select s.country, s.topic, s.day, usual.median as usual_headlines
from compared s
cross join setting
cross join lateral (
  select percentile_cont(0.5) within group (order by n) as median, min(n) as least from unnest(s.before) as n) as usual
where s.headlines = 0
  and cardinality(s.before) >= setting.least_weeks
  and usual.median >= setting.usual
  and usual.least > 0
order by s.day desc, s.country, s.topic
