-- check: No headline is loaded twice under different ids
-- why: The same text, source and time in one series is one headline. If ids changed from load to load, every headline would be doubled.
-- needs: job_headlines
-- setting: share = 0.02, share of a series' headlines that may be duplicates, because wire services repeat themselves
-- setting: least = 5, this many duplicates in a series, or fewer, are not a finding

with grouped as (
  select country, topic, published_at, source, headline, count(*) as copies
  from job_headlines
  where headline is not null
  group by 1, 2, 3, 4, 5
)
select g.country, g.topic, sum(g.copies) as headlines, sum(g.copies - 1) as doubled,
       round(sum(g.copies - 1) / sum(g.copies), 4) as share,
       min(g.published_at) filter (where g.copies > 1) as for_instance_at,
       (array_agg(g.headline) filter (where g.copies > 1))[1] as for_instance
from grouped g
cross join setting
group by g.country, g.topic, setting.share, setting.least
having sum(g.copies - 1) > setting.least and sum(g.copies - 1) > setting.share * sum(g.copies)
order by doubled desc
