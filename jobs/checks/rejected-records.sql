-- check: Few records are rejected
-- why: Every number lacks the records that could not be read. Once the cause is fixed, read them again: gmsi check <job> --repair records
-- feeds: all
-- severity: warn
-- 0.01: share of the records of a series that may be rejected

with rejected as (
  select series_id, country, topic, ticker, variant, count(*) as rejected, min(r.reason) as for_instance,
         max(r.rejected_at) as last_rejected_at
  from gmsi.rejected_records r
  join job_series using (feed, country, topic, ticker, match_type, variant)
  -- The others are rows; the check nulls finds what they lack.
  where not r.is_row
  group by 1, 2, 3, 4, 5
)
select r.country, r.topic, r.ticker, r.variant, r.rejected, l.records, r.for_instance, r.last_rejected_at
from rejected r
cross join lateral (
  select coalesce(sum(records), 0) as records
  from (
    select records from gmsi.readings where series_id = r.series_id and is_first
    union all
    select records from gmsi.queue where series_id = r.series_id
  ) as read
) as l
where r.rejected > 0.01 * l.records
order by r.rejected desc
