-- check: Probabilities lie within 0 and 1, scores within -1 and 1
-- why: Other values are no probabilities, scores or counts: percentages, a broken number, or another field under the same name.
-- feeds: all
-- needs: job_numbers

-- Counts, sums of sizes and deviations must not be negative. NaN is greater than any number.
select n.country, n.topic, n.ticker, n.variant, n.at, n.id, n.column, n.value
from job_numbers n
where n.value < n.lowest or n.value > n.highest
