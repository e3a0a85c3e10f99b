-- check: Columns that the service fills are filled
-- why: A value that could not be read is missing from every sum; it is in extra. If many are null, a field was probably renamed: extra has it under its new name.
-- feeds: all
-- needs: job_rows
-- 0.2: share of a month's rows that may have null
-- 100: months with fewer rows are not checked for their share

-- Undocumented columns count from the first month in which one was filled: the service may not send them at all.
with columns as (
  select f.*, sum(f.filled) over (partition by f.column order by f.month) > 0
           or f.column in ('topic_probability', 'directional_positive', 'directional_neutral', 'directional_negative',
                           'directional_score') as is_known
  from job_filled f
)
select c.month, c.column, c.rows, c.rows - c.filled as nulls, c.unread, round((c.rows - c.filled)::numeric / c.rows, 4) as share
from columns c
where c.unread > 0
  or (c.is_known and c.rows >= 100 and c.rows - c.filled > 0.2 * c.rows)
order by c.month desc, c.column
