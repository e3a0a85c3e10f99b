-- check: What drained windows brought is still there
-- why: Rows are never deleted by this program; where most of a window's are gone, somebody did, or restored a part.
-- setting: share = 0.5, share of a window's records that must be there as rows, retracted or not
-- setting: least = 20, windows with fewer records are not judged

with counted as (
  select country, topic, (published_at at time zone 'UTC')::date as day, count(*) as rows
  from (select country, topic, published_at from job_headlines
        union all
        select country, topic, published_at from job_retracted_headlines) as every
  group by 1, 2, 3
)
select w.country, w.topic, w.window_id, w.first_day, w.last_day, w.records - w.records_rejected as records,
       coalesce(sum(c.rows), 0) as rows
from job_series s
join gmsi.windows w using (feed, country, topic, ticker, match_type, variant)
cross join job_period
cross join setting
-- The days that were asked for, which can be one more than the window's own.
cross join lateral (
  select w.request_start + n as day from generate_series(0, w.request_end - w.request_start) as n) as asked
left join counted c on c.country = w.country and c.topic = w.topic and c.day = asked.day
where w.state = 'drained'
  and w.request_start >= job_period.first_day and w.request_end <= job_period.last_day
  and w.records - w.records_rejected >= setting.least
group by w.window_id, setting.share
having coalesce(sum(c.rows), 0) < setting.share * (w.records - w.records_rejected)
order by w.first_day desc, w.country, w.topic
