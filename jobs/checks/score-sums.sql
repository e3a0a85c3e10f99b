-- check: The probabilities of each model add up to 1
-- why: Positive, neutral and negative are all that a model can say. With another sum, the model or the reader is wrong.
-- feeds: all
-- needs: job_models
-- 0.02: how far a sum may be from 1: rounding to two decimals makes up to 0.015

select m.country, m.topic, m.ticker, m.variant, m.at, m.id, m.model, m.positive, m.neutral, m.negative,
       m.positive + m.neutral + m.negative as sum
from job_models m
where abs(m.positive + m.neutral + m.negative - 1) > 0.02
