-- check: Every settled day of the job is loaded
-- why: Averages lack the days that are not covered. To load them: gmsi backfill <job>
-- feeds: all
-- severity: warn

select lower(gap) as first_day, upper(gap) - 1 as last_day, count(*) as series,
       min(concat_ws(' ', nullif(country, ''), nullif(topic, ''), nullif(ticker, ''), nullif(variant, ''))) as for_instance
from (
  select d.country, d.topic, d.ticker, d.variant, range_agg(daterange(d.day, d.day, '[]')) as days
  from job_days d
  cross join job_period
  where not d.is_covered and d.day >= job_period.first_requested and d.day < job_period.first_unsettled
  group by 1, 2, 3, 4
) as missing
cross join lateral unnest(missing.days) as gap
group by gap
order by series desc, gap desc
