-- check: What is known of days follows from what was read
-- why: gmsi.series_days is kept with each reading of gmsi.readings. If they differ, one of them was written by hand, or restored without the other, and states of days are wrong. gmsi.derive_days(series_id) returns what the row should be.
-- feeds: all

select s.country, s.topic, s.ticker, s.variant, s.series_id,
       string_agg(format('%s is %s instead of %s', each."column", coalesce(each.stored, 'null'), coalesce(each.derived, 'null')), '; ') as differences
from job_series s
left join gmsi.series_days c using (series_id)
cross join lateral gmsi.derive_days(s.series_id) as d
cross join lateral (
  values ('touched', coalesce(c.touched, '{}')::text, d.touched::text), ('loaded', coalesce(c.loaded, '{}')::text, d.loaded::text),
         ('whole', coalesce(c.whole, '{}')::text, d.whole::text), ('covered', coalesce(c.covered, '{}')::text, d.covered::text),
         ('watch_here', c.watch_here::text, d.watch_here::text), ('watch_on', c.watch_on::text, d.watch_on::text),
         ('watch_from', c.watch_from::text, d.watch_from::text)
) as each ("column", stored, derived)
where s.series_id is not null and each.stored is distinct from each.derived
group by 1, 2, 3, 4, 5
order by 1, 2, 3, 4
