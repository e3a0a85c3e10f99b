-- check: Scores are positive minus negative
-- why: That is how scores are computed if the service sends none. Scores that it sends may be defined differently.
-- feeds: all
-- severity: warn
-- needs: job_models
-- 0.02: how far a score may be from the difference

select m.country, m.topic, m.ticker, m.variant, m.at, m.id, m.model, m.score, m.positive - m.negative as difference
from job_models m
where abs(m.score - (m.positive - m.negative)) > 0.02
