-- check: The service's own index agrees with the rollups
-- why: Both add up the same headlines. If they differ, headlines are missing here, or the service counts different ones.
-- feeds: gmsi-headlines, gmsi-index
-- severity: warn
-- needs: gmsi.gmsi_index, gmsi.sentiment_hourly
-- 0.01: how far the sums of an hour's scores may be apart

-- Only days that are covered in both feeds; an hour without a row has no headlines. If the index was loaded without
-- align_to_period_end, its hours are taken to be stamped at their beginning.
with series as (
  select distinct country, topic, match_type from job_series
), indexed as (
  select i.country, i.topic, i.match_type, i.sentiment_type,
         date_trunc('hour', i.hour_ends_at - interval '1 hour', 'UTC') as hour,
         i.variant as index_variant,
         sum(i.headline_count) as headlines, sum(i.sentiment_sum) as sentiment_sum
  from gmsi.gmsi_index i
  join series s on s.country = i.country and s.topic = i.topic and s.match_type = i.match_type
  where i.retracted_at is null
  group by 1, 2, 3, 4, 5, 6
), rolled_up as (
  select country, topic, match_type, r.sentiment_type, r.hour, c.variant as index_variant, r.headline_count as headlines,
         r.sentiment_sum
  from gmsi.sentiment_hourly r
  join series using (country, topic, match_type)
  join gmsi.coverage c using (country, topic, match_type)
  where c.feed = 'gmsi-index' and 'sentiment_type=' || r.sentiment_type = any(string_to_array(c.variant, '&'))
)
select country, topic, sentiment_type, hour, coalesce(i.headlines, 0) as index_headlines,
       coalesce(r.headlines, 0) as own_headlines, i.sentiment_sum as index_sum, r.sentiment_sum as own_sum
from indexed i
full join rolled_up r using (country, topic, match_type, sentiment_type, hour, index_variant)
join gmsi.coverage own using (country, topic, match_type)
join gmsi.coverage c using (country, topic, match_type)
cross join job_period p
cross join lateral (select (hour at time zone 'UTC')::date as day) as of
where own.feed = 'gmsi-headlines' and c.feed = 'gmsi-index' and c.variant = index_variant
  and of.day between p.first_day and p.last_day and own.days @> of.day and c.days @> of.day
  and (coalesce(i.headlines, 0) <> coalesce(r.headlines, 0)
    or abs(coalesce(i.sentiment_sum, 0) - coalesce(r.sentiment_sum, 0)) > 0.01)
order by hour desc, country, topic
