-- check: Every row is of the days that were asked for
-- why: If the service ignores the dates, days count as covered that it has not sent.
-- feeds: all
-- needs: job_rows
-- setting: days = 1, days that a row may be before or after, because the service's day may not be UTC's

select r.country, r.topic, r.ticker, r.variant, r.window_id, w.request_start, w.request_end, count(*) as rows,
       min(r.at) as earliest, max(r.at) as latest
from job_rows r
join gmsi.windows w using (window_id)
cross join setting
where w.state = 'drained'
  and (r.day < least(w.request_start, w.first_day) - setting.days::int
    or r.day > greatest(w.request_end, w.last_day) + setting.days::int)
group by 1, 2, 3, 4, 5, 6, 7
order by rows desc
