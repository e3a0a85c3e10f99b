-- check: No headline is published after it was seen, or after now
-- why: Times of another zone read as UTC would let a back-test look ahead, or make it late.
-- setting: hours = 2, hours that a time may be ahead: one if the service rounds up, one for clocks

-- Beyond the job's period, too: a time of next year is outside of it.
select h.country, h.topic, h.published_at, h.first_seen_at, h.headline_id,
       round(extract(epoch from h.published_at - least(h.first_seen_at, now())) / 3600, 1) as hours_ahead
from gmsi.headlines h
join job_series using (country, topic, match_type)
cross join job_period
cross join setting
where h.retracted_at is null
  and h.published_at >= job_period.first_day::timestamp at time zone 'UTC'
  and h.published_at > least(h.first_seen_at, now()) + make_interval(secs => setting.hours * 3600)
