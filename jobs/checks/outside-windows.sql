-- check: Every record is of the days that were requested
-- why: These records were not loaded. If there are many, the service ignores the dates: gmsi doctor --probe finds out. Single ones have a wrong time.
-- feeds: all

select w.country, w.topic, w.ticker, w.variant, w.window_id, w.request_start, w.request_end, w.records, w.records_outside
from gmsi.windows w
join job_series using (feed, country, topic, ticker, match_type, variant)
where w.records_outside > 0
order by w.records_outside desc, w.window_id
