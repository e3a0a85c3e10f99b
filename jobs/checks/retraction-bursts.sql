-- check: The service did not withdraw most rows of its days at once
-- why: The service withdraws single rows. If most rows of a day are gone at once, its answer was probably incomplete.
-- feeds: all
-- needs: job_all_rows
-- 0.5: share of a day's rows that may be retracted at once
-- 10: if a load has retracted this many rows of such days, or fewer, in all series, they are not a finding

with moments as materialized (
  -- window_id and load_id of a retracted row are those that found it gone. A replay can have changed the row since.
  select r.country, r.topic, r.ticker, r.variant, r.day, r.retracted_at, r.load_id, min(r.window_id) as window_id,
         count(*) as retracted, least(min(l.started_at), r.retracted_at) as began_at
  from job_all_rows r
  left join gmsi.loads l using (load_id)
  cross join job_period p
  where r.retracted_at is not null and r.day <= p.last_day
  group by 1, 2, 3, 4, 5, 6, 7
), compared as (
  -- With the rows that stood when the load began: if all ids have changed, it brought as many as it retracted.
  select m.country, m.topic, m.ticker, m.variant, m.day, m.retracted_at, m.load_id, m.window_id, m.retracted, count(*) as rows
  from moments m
  join job_all_rows r using (country, topic, ticker, variant, day)
  where r.first_seen_at < m.began_at and (r.retracted_at is null or r.retracted_at >= m.began_at)
  group by 1, 2, 3, 4, 5, 6, 7, 8, 9
), emptied as (
  -- Of all series together: a quiet one has too few rows to show an outage.
  select c.*, sum(c.retracted) over (partition by c.load_id) as at_once from compared c
  where c.retracted > 0.5 * c.rows
    -- Somebody has accepted them (--accept-retractions).
    and not exists (select from gmsi.readings a where a.reading_id = c.window_id and a.is_accepted)
)
select c.country, c.topic, c.ticker, c.variant, c.retracted_at, min(c.window_id) as window_id, min(c.day) as first_day,
       max(c.day) as last_day, count(*) as days, sum(c.retracted) as retracted, sum(c.rows) as of_rows
from emptied c
where c.at_once > 10
group by 1, 2, 3, 4, 5
order by retracted desc
