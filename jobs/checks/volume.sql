-- check: Each series has about as many headlines a day as it usually has
-- why: If a day has many more or far fewer, either the news was unusual, or the day was loaded twice or in part.
-- severity: warn
-- needs: job_headlines
-- setting: days = 366, number of days, up to the job's last one, that are checked
-- setting: weeks = 8, number of earlier covered days, of the same weekday, that a day is compared with
-- setting: least_weeks = 6, days with fewer of them are not checked
-- setting: times = 10, a finding has more than this many times the median, or less than the median divided by it
-- setting: deviations = 8, a finding is also at least this many deviations from the median

-- Days of the same weekday, because there is less news at weekends. Days without any headline are left to silent-days.
with counted as (
  select country, topic, (published_at at time zone 'UTC')::date as day, count(*) as headlines
  from job_headlines
  group by 1, 2, 3
), recent as (
  select d.country, d.topic, d.day, coalesce(c.headlines, 0) as headlines,
         array_agg(coalesce(c.headlines, 0)) over (
           partition by d.country, d.topic, extract(dow from d.day) order by d.day
           rows between (select weeks::bigint from setting) preceding and 1 preceding) as before
  from job_days d
  cross join job_period
  cross join setting
  left join counted c using (country, topic, day)
  where d.is_covered and d.day > job_period.last_day - (setting.days + 7 * setting.weeks)::int
)
select r.country, r.topic, r.day, r.headlines, usual.median, round((spread.deviation)::numeric, 1) as deviation
from recent r
cross join job_period
cross join setting
cross join lateral (
  select percentile_cont(0.5) within group (order by n) as median from unnest(r.before) as n) as usual
-- The deviation is at least what chance alone causes, and at least a tenth: a few weeks often look steadier than they are.
cross join lateral (
  select greatest(1.4826 * percentile_cont(0.5) within group (order by abs(n - usual.median)),
                  sqrt(usual.median + 1), usual.median / 10) as deviation
  from unnest(r.before) as n) as spread
where r.day > job_period.last_day - setting.days::int
  and r.headlines > 0
  and cardinality(r.before) >= setting.least_weeks
  and (r.headlines > setting.times * usual.median or r.headlines * setting.times < usual.median)
  and abs(r.headlines - usual.median) > setting.deviations * spread.deviation
order by r.day desc, r.country, r.topic
