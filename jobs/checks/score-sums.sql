-- check: The probabilities of each model add up to 1
-- why: Positive, neutral and negative are all that a model can say. With another sum, the model or the reader is wrong.
-- needs: job_headlines
-- setting: tolerance = 0.02, how far a sum may be from 1: rounding to two decimals makes up to 0.015

select h.country, h.topic, h.published_at, h.headline_id, m.model, m.positive, m.neutral, m.negative,
       m.positive + m.neutral + m.negative as sum
from job_headlines h
cross join setting
cross join lateral (values
  ('directional', h.directional_positive, h.directional_neutral, h.directional_negative),
  ('semantic', h.semantic_positive, h.semantic_neutral, h.semantic_negative)
) as m (model, positive, neutral, negative)
where abs(m.positive + m.neutral + m.negative - 1) > setting.tolerance
