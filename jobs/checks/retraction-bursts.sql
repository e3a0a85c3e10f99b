-- check: The service did not withdraw most of a day at once
-- why: The service withdraws single rows. If most of a day is gone at once, its answer was probably incomplete.
-- feeds: all
-- needs: job_rows
-- setting: share = 0.5, share of a day's rows that may be retracted at once
-- setting: least = 10, this many retracted rows of a day, or fewer, are not a finding

with moments as (
  -- window_id of a retracted row is the window that found it gone.
  select country, topic, ticker, variant, day, retracted_at, min(window_id) as window_id, count(*) as retracted,
         sum(count(*)) over (partition by country, topic, ticker, variant, day) as rows
  from job_all_rows
  cross join job_period p
  where day <= p.last_day
  group by 1, 2, 3, 4, 5, 6
)
select m.country, m.topic, m.ticker, m.variant, m.retracted_at, min(m.window_id) as window_id, min(m.day) as first_day,
       max(m.day) as last_day, count(*) as days, sum(m.retracted) as retracted, sum(m.rows) as of_rows
from moments m
cross join setting
where m.retracted_at is not null
  and m.retracted > setting.least
  and m.retracted > setting.share * m.rows
group by 1, 2, 3, 4, 5
order by retracted desc
