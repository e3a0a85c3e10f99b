-- check: Every covered day was in a window, or in an imported file
-- why: A day becomes covered when a window is drained to its end, or by a file. Other coverage was written by hand, or restored without the other tables.
-- feeds: all
-- severity: warn

select d.country, d.topic, d.ticker, d.variant, min(d.day) as first_day, max(d.day) as last_day, count(*) as days
from job_days d
left join (
  select s.country, s.topic, s.ticker, s.match_type, s.variant, range_agg(loaded.days) as days
  from job_series s
  join (
    select feed, country, topic, ticker, match_type, variant, days from gmsi.windows
    union all
    select feed, country, topic, ticker, match_type, variant, unnest(covers) from gmsi.imported_files
  ) as loaded using (feed, country, topic, ticker, match_type, variant)
  group by 1, 2, 3, 4, 5
) as loaded using (country, topic, ticker, match_type, variant)
where d.is_covered and not coalesce(loaded.days @> d.day, false)
group by 1, 2, 3, 4
order by days desc
