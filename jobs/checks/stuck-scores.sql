-- check: The scores of a day are not all the same
-- why: If every headline gets the same scores, the model has stopped working, or the scores are a default.
-- feeds: all
-- severity: warn
-- needs: job_models
-- 20: days of a series with fewer headlines are not checked

select m.country, m.topic, m.ticker, m.variant, m.day, m.model, count(*) as headlines,
       min(m.positive) as positive, min(m.negative) as negative
from job_models m
where m.positive is not null and m.negative is not null
group by 1, 2, 3, 4, 5, 6
having count(*) >= 20 and min(m.positive) = max(m.positive) and min(m.negative) = max(m.negative)
order by m.day desc, 1, 2
