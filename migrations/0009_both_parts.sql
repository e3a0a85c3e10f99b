-- What is said of a file is compared with what it contains.

alter table gmsi.imported_files add column records_by_day jsonb not null default '{}';
comment on column gmsi.imported_files.records_by_day is 'How many records of each day (UTC) were read so far, rejected ones excluded. Stated days count as covered only if these records are of them.';
-- Files that were read before are read again when they are next imported, because the days of their records are not known.
update gmsi.imported_files set content = content || ' (read before the days of records were counted)';

-- A value that cannot be read is kept beside its row, and no mean divides sums of different rows.

alter table gmsi.rejected_records add column is_row boolean not null default false;
comment on table gmsi.rejected_records is 'Records that could not be read into a row, or not whole, with the reason. The rest of their page was loaded.';
comment on column gmsi.rejected_records.is_row is 'True if the record is a row, and only the values that the reason names could not be read: their columns are null, and extra has the values as sent.';

create or replace view gmsi.index_daily as
select feed, subject, coalesce(topic, '') as topic, match_type, variant,
       ((hour_ends_at - interval '1 hour') at time zone 'UTC')::date as day, count(*)::integer as hours,
       (sum(headline_count) filter (where has_both))::bigint as headline_count,
       sum(sentiment_sum) filter (where has_both) as sentiment_sum,
       case when bool_and(headline_count = 0 or sentiment_abs_sum is not null) filter (where has_both)
         then sum(sentiment_abs_sum) filter (where has_both) end as sentiment_abs_sum,
       sum(sentiment_sum) filter (where has_both)
         / nullif(sum(headline_count) filter (where has_both), 0)::float8 as sentiment_mean
from (
  select feed, subject, topic, match_type, variant, hour_ends_at, retracted_at, headline_count, sums.*,
         headline_count is not null and (headline_count = 0 or sums.sentiment_sum is not null) as has_both
  from (
    select 'gmsi-index' as feed, country as subject, topic, match_type, variant,
           hour_ends_at, headline_count, sentiment_sum, sentiment_abs_sum, retracted_at
    from gmsi.gmsi_index
    union all
    select 'regional-index', country_name, topic, match_type, variant,
           hour_ends_at, headline_count, sentiment_sum, sentiment_abs_sum, retracted_at
    from gmsi.regional_index
    union all
    select 'global-index', 'World', topic, match_type, variant,
           hour_ends_at, headline_count, sentiment_sum, sentiment_abs_sum, retracted_at
    from gmsi.global_index
    union all
    select 'ticker-index', ticker, topic, coalesce(record_match_type, match_type), variant,
           hour_ends_at, headline_count, sentiment_sum, sentiment_abs_sum, retracted_at
    from gmsi.ticker_index
  ) as hours
  cross join lateral (
    select gmsi.summable(hours.sentiment_sum) as sentiment_sum, gmsi.summable(hours.sentiment_abs_sum) as sentiment_abs_sum
  ) as sums
) as hours
where retracted_at is null
group by 1, 2, 3, 4, 5, 6;
comment on column gmsi.index_daily.hours is 'Hours that the service sent. The sums are of those that have both a count and a sum.';
comment on column gmsi.index_daily.sentiment_abs_sum is 'Sum of the absolute values of their scores; null if one of these hours lacks it.';
