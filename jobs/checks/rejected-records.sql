-- check: Few records are rejected
-- why: Every number lacks the records that could not be read. Once the cause is fixed, read them again: gmsi repair <job>
-- feeds: all
-- severity: warn
-- 0.01: share of the records of a series that may be rejected

with rejected as (
  select country, topic, ticker, variant, count(*) as rejected, min(r.reason) as for_instance,
         max(r.rejected_at) as last_rejected_at
  from gmsi.rejected_records r
  join job_series using (feed, country, topic, ticker, match_type, variant)
  -- The others are rows; the check nulls finds what they lack.
  where not r.is_row
  group by 1, 2, 3, 4
), loaded as (
  select country, topic, ticker, variant, sum(w.records) as records
  from gmsi.windows w
  join job_series using (feed, country, topic, ticker, match_type, variant)
  group by 1, 2, 3, 4
)
select r.country, r.topic, r.ticker, r.variant, r.rejected, l.records, r.for_instance, r.last_rejected_at
from rejected r
left join loaded l using (country, topic, ticker, variant)
where r.rejected > 0.01 * coalesce(l.records, 0)
order by r.rejected desc
