-- check: Each series has about as many headlines a day as it usually has
-- why: Many times as many, or a small part of them, is a shock in the news, or a day that is loaded twice or in part.
-- severity: warn
-- needs: job_headlines
-- setting: days = 366, days back from the job's last one that are judged
-- setting: weeks = 8, covered days of the same weekday before a day that it is compared with
-- setting: least_weeks = 6, days with fewer of these are not judged
-- setting: times = 10, a finding is more than this many times the median, or less than the median divided by it
-- setting: deviations = 8, a finding is also at least this many deviations away from the median

-- Days of the same weekday, since at weekends there is less news. Days without any headline are for silent-days.
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
-- The deviation is at least what chance makes it, and at least a tenth: a few weeks alone often look steadier.
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
