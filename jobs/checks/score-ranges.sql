-- check: Probabilities lie within 0 and 1, scores within -1 and 1
-- why: Other values are not probabilities: percentages, a broken number, or another field under the same name.
-- needs: job_headlines

select h.country, h.topic, h.published_at, h.headline_id, v.column, v.value
from job_headlines h
cross join lateral (values
  ('topic_probability', h.topic_probability, 0),
  ('directional_positive', h.directional_positive, 0),
  ('directional_neutral', h.directional_neutral, 0),
  ('directional_negative', h.directional_negative, 0),
  ('directional_score', h.directional_score, -1),
  ('semantic_positive', h.semantic_positive, 0),
  ('semantic_neutral', h.semantic_neutral, 0),
  ('semantic_negative', h.semantic_negative, 0),
  ('semantic_score', h.semantic_score, -1)
) as v ("column", value, least)
-- The first condition finds the headlines, the second the values that are out of range. NaN is greater than any number.
where (least(h.topic_probability, h.directional_positive, h.directional_neutral, h.directional_negative,
             h.semantic_positive, h.semantic_neutral, h.semantic_negative) < 0
    or greatest(h.topic_probability, h.directional_positive, h.directional_neutral, h.directional_negative,
                h.semantic_positive, h.semantic_neutral, h.semantic_negative) > 1
    or abs(h.directional_score) > 1 or abs(h.semantic_score) > 1)
  and (v.value < v.least or v.value > 1)
