-- check: The service did not withdraw most of a day at once
-- why: The service withdraws single headlines. If most of a day is gone at once, its answer was probably incomplete.
-- needs: job_retracted_headlines
-- setting: share = 0.5, share of a day's headlines that may be retracted at once
-- setting: least = 10, this many retracted headlines of a day, or fewer, are not a finding

with every as (
  select country, topic, (published_at at time zone 'UTC')::date as day, retracted_at, window_id from job_headlines
  union all
  select country, topic, (published_at at time zone 'UTC')::date, retracted_at, window_id from job_retracted_headlines
), moments as (
  -- window_id of a retracted headline is the window that found it gone.
  select country, topic, day, retracted_at, min(window_id) as window_id, count(*) as retracted,
         sum(count(*)) over (partition by country, topic, day) as headlines
  from every
  group by 1, 2, 3, 4
)
select m.country, m.topic, m.retracted_at, min(m.window_id) as window_id, min(m.day) as first_day, max(m.day) as last_day,
       count(*) as days, sum(m.retracted) as retracted, sum(m.headlines) as of_headlines
from moments m
cross join setting
where m.retracted_at is not null
  and m.retracted > setting.least
  and m.retracted > setting.share * m.headlines
group by 1, 2, 3
order by retracted desc
