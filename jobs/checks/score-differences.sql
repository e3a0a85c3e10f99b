-- check: Scores are positive minus negative
-- why: That is how scores are computed if the service sends none. Scores that it sends may be defined differently.
-- severity: warn
-- needs: job_headlines
-- setting: tolerance = 0.02, how far a score may be from the difference

select h.country, h.topic, h.published_at, h.headline_id, m.model, m.score, m.positive - m.negative as difference
from job_headlines h
cross join setting
cross join lateral (values
  ('directional', h.directional_score, h.directional_positive, h.directional_negative),
  ('semantic', h.semantic_score, h.semantic_positive, h.semantic_negative)
) as m (model, score, positive, negative)
where abs(m.score - (m.positive - m.negative)) > setting.tolerance
