-- check: Probabilities and sentiment of tickers are in range and add up
-- why: Bearish, neutral and bullish are all that the model can say. Other values are not probabilities.
-- feeds: ticker-headlines
-- needs: job_ticker_headlines
-- setting: tolerance = 0.02, how far a sum may be from 1: rounding to two decimals makes up to 0.015

select h.ticker, h.published_at, h.headline_id, h.bearish_probability, h.neutral_probability, h.bullish_probability,
       h.topic_probability, h.sentiment_score
from job_ticker_headlines h
cross join setting
where abs(h.bearish_probability + h.neutral_probability + h.bullish_probability - 1) > setting.tolerance
   or least(h.bearish_probability, h.neutral_probability, h.bullish_probability, h.topic_probability) < 0
   or greatest(h.bearish_probability, h.neutral_probability, h.bullish_probability, h.topic_probability) > 1
   or abs(h.sentiment_score) > 1
