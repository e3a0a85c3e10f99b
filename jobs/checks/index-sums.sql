-- check: The sums of an index are those of as many scores
-- why: With other sums, a mean is wrong: the service has counted otherwise, or a field was read under another name.
-- feeds: all
-- needs: job_sums
-- 0.005: relative difference that rounding may cause; absolute, if the sum is below 1

select s.country, s.topic, s.ticker, s.variant, s.text, s.at, s.id, p.problem, s.count, s.sum, s.abs_sum, s.std, s.mean
from job_sums s
cross join lateral (select 0.005 * greatest(1, s.abs_sum, s.count) as margin) as m
cross join lateral (values
  ('nothing is counted, but summed up', s.count = 0 and (s.sum <> 0 or s.abs_sum <> 0)),
  ('the sum is larger than the sum of sizes', abs(s.sum) > s.abs_sum + margin),
  ('the sum is larger than so many scores can be', greatest(abs(s.sum), s.abs_sum) > s.count + margin),
  ('the deviation is larger than such scores can have', s.count > 0 and s.std > sqrt(2) + 0.005),
  -- The mean of squares is at least the square of the mean size.
  ('the deviation is smaller than the sums say',
    s.count > 0 and s.std ^ 2 + (s.sum / s.count) ^ 2 < (s.abs_sum / s.count) ^ 2 - 4 * 0.005),
  ('the mean is not the sum divided by the count', s.count > 0 and abs(s.mean * s.count - s.sum) > margin)
) as p (problem, is_found)
where p.is_found
order by s.at desc
