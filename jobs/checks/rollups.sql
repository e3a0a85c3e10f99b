-- check: Rollups equal the sums of the headlines
-- why: Triggers update sentiment_hourly and sentiment_daily. If they are wrong, compute them again: gmsi check --repair rollups
-- 1e-9: relative difference that a sum may have; absolute, if the sum is below 1

with scored as not materialized (
  select h.country, h.topic, h.published_at, m.sentiment_type, m.score,
         case when m.score is not null then coalesce(gmsi.summable(h.topic_probability), 0) end as probability
  from job_headlines h
  cross join lateral (
    values ('directional', gmsi.summable(h.directional_score)), ('semantic_sentiment', gmsi.summable(h.semantic_score))
  ) as m (sentiment_type, score)
), fresh as (
  select 'hour' as grain, country, topic, sentiment_type, date_trunc('hour', published_at, 'UTC') as begins,
         count(*) as all_n, count(score) as n, sum(score) as sum, sum(abs(score)) as abs_sum, stddev_pop(score) as std,
         sum(probability) as probabilities, sum(score * probability) as weighted
  from scored
  group by 1, 2, 3, 4, 5
  union all
  select 'day', country, topic, sentiment_type, date_trunc('day', published_at, 'UTC'),
         count(*), count(score), sum(score), sum(abs(score)), stddev_pop(score), sum(probability), sum(score * probability)
  from scored
  group by 1, 2, 3, 4, 5
), kept as (
  select 'hour' as grain, r.country, r.topic, r.sentiment_type, r.hour as begins, r.all_count as all_n, r.headline_count as n,
         r.sentiment_sum as sum, r.sentiment_abs_sum as abs_sum, r.sentiment_std as std,
         r.probability_sum as probabilities, r.weighted_sum as weighted
  from gmsi.sentiment_hourly r
  join job_series using (country, topic, match_type)
  cross join job_period p
  where r.hour >= p.first_day::timestamp at time zone 'UTC' and r.hour < (p.last_day + 1)::timestamp at time zone 'UTC'
  union all
  select 'day', r.country, r.topic, r.sentiment_type, r.day::timestamp at time zone 'UTC', r.all_count, r.headline_count,
         r.sentiment_sum, r.sentiment_abs_sum, r.sentiment_std, r.probability_sum, r.weighted_sum
  from gmsi.sentiment_daily r
  join job_series using (country, topic, match_type)
  cross join job_period p
  where r.day between p.first_day and p.last_day
)
select grain, country, topic, sentiment_type, begins, kept.all_n as kept_all, fresh.all_n as fresh_all,
       kept.n as kept_count, fresh.n as fresh_count,
       kept.sum as kept_sum, fresh.sum as fresh_sum, kept.std as kept_std, fresh.std as fresh_std
from kept
full join fresh using (grain, country, topic, sentiment_type, begins)
where kept.all_n is distinct from fresh.all_n or kept.n is distinct from fresh.n
   or abs(kept.sum - fresh.sum) > 1e-9 * greatest(1, fresh.abs_sum)
   or abs(kept.abs_sum - fresh.abs_sum) > 1e-9 * greatest(1, fresh.abs_sum)
   or abs(kept.probabilities - fresh.probabilities) > 1e-9 * greatest(1, fresh.probabilities)
   or abs(kept.weighted - fresh.weighted) > 1e-9 * greatest(1, fresh.abs_sum)
   -- The deviation of nearly equal scores is the rest of a difference, so it has the noise of its square.
   or abs(kept.std ^ 2 - fresh.std ^ 2) > 1e-9 * greatest(1, fresh.abs_sum)
order by begins desc, grain, country, topic
