-- check: No row is dated later than it was received
-- why: If times of another zone were read as UTC, a back-test would see headlines too early or too late.
-- feeds: all
-- needs: job_all_rows
-- 2: hours that a time may be ahead: one for a service that rounds up, one for clocks that differ

-- Also after the job's period, because a time in the next year is outside of it.
select r.country, r.topic, r.ticker, r.variant, r.at, r.first_seen_at, r.id,
       round(extract(epoch from r.at - least(r.first_seen_at, now())) / 3600, 1) as hours_ahead
from job_all_rows r
where r.retracted_at is null
  and r.at > least(r.first_seen_at, now()) + make_interval(secs => 2 * 3600)
