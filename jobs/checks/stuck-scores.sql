-- check: The scores of a day are not all the same
-- why: If every headline gets the same scores, the model has stopped working, or the scores are a default.
-- severity: warn
-- needs: job_headlines
-- setting: least = 20, days of a series with fewer headlines are not checked

select h.country, h.topic, (h.published_at at time zone 'UTC')::date as day, m.model, count(*) as headlines,
       min(m.positive) as positive, min(m.negative) as negative
from job_headlines h
cross join setting
cross join lateral (values
  ('directional', h.directional_positive, h.directional_negative),
  ('semantic', h.semantic_positive, h.semantic_negative)
) as m (model, positive, negative)
where m.positive is not null and m.negative is not null
group by 1, 2, 3, 4, setting.least
having count(*) >= setting.least and min(m.positive) = max(m.positive) and min(m.negative) = max(m.negative)
order by 3 desc, 1, 2
