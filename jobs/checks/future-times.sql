-- check: No headline is published after it was seen, or after now
-- why: If times of another zone were read as UTC, a back-test would see headlines too early or too late.
-- setting: hours = 2, hours that a time may be ahead: one for a service that rounds up, one for clocks that differ

-- Also after the job's period, because a time in the next year is outside of it.
select h.country, h.topic, h.published_at, h.first_seen_at, h.headline_id,
       round(extract(epoch from h.published_at - least(h.first_seen_at, now())) / 3600, 1) as hours_ahead
from gmsi.headlines h
join job_series using (country, topic, match_type)
cross join job_period
cross join setting
where h.retracted_at is null
  and h.published_at >= job_period.first_day::timestamp at time zone 'UTC'
  and h.published_at > least(h.first_seen_at, now()) + make_interval(secs => setting.hours * 3600)
