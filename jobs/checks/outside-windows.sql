-- check: Every record is of the days that were requested
-- why: These records were not loaded. If there are many, the service ignores the dates: gmsi doctor --probe finds out. Single ones have a wrong time.
-- feeds: all

select country, topic, ticker, variant, w.window_id, w.first_day, w.last_day, w.records, w.records_outside
from job_series
join (
  select reading_id as window_id, series_id, first_day, last_day, records, records_outside
  from gmsi.readings where source = 'w' and is_whole
  union all
  select window_id, series_id, first_day, last_day, records, records_outside from gmsi.queue
) as w using (series_id)
where w.records_outside > 0
order by w.records_outside desc, w.window_id
