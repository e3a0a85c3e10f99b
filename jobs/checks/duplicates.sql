-- check: No record is loaded twice under different ids
-- why: The same texts at one time in one series are one record. If ids changed from load to load, every record would be doubled.
-- feeds: all
-- needs: job_rows
-- 0.02: share of a series' rows that may be duplicates, because wire services repeat themselves
-- 5: this many duplicates in a series, or fewer, are not a finding

with grouped as (
  select country, topic, ticker, variant, at, text, count(*) as copies
  from job_rows
  where text is not null
  group by 1, 2, 3, 4, 5, 6
)
select g.country, g.topic, g.ticker, g.variant, sum(g.copies) as rows, sum(g.copies - 1) as doubled,
       round(sum(g.copies - 1) / sum(g.copies), 4) as share,
       min(g.at) filter (where g.copies > 1) as for_instance_at,
       (array_agg(g.text) filter (where g.copies > 1))[1] as for_instance
from grouped g
group by g.country, g.topic, g.ticker, g.variant
having sum(g.copies - 1) > 5 and sum(g.copies - 1) > 0.02 * sum(g.copies)
order by doubled desc
