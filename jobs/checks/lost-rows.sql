-- check: No loaded row is missing
-- why: The program never deletes a row. These were deleted, moved or kept out. To load their days again: gmsi backfill <job> --full-refresh --from <first> --to <last>. If that was intended, as with a detached month, check only later days: gmsi check <job> --from <later>
-- feeds: all
-- totals: first, last, later

select country, topic, ticker, variant, window_id, min(day) as first_day, max(day) as last_day, count(*) as days,
       sum(rows_met) as counted, sum(rows_held) as held,
       min(min(day)) over () as first, max(max(day)) over () as last, max(max(day)) over () + 1 as later
from job_counted_days
where rows_held < rows_met
group by country, topic, ticker, variant, window_id
order by first_day desc, country, topic, ticker, variant
