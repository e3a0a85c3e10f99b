"""From a panel of today to a back-test with costs, cell by cell: python3 examples/backtest.py, or # %% in an editor.

It reads the warehouse at DATABASE_URL, such as that of `gmsi demo`, whose address `gmsi psql --address` prints. examples/backtest.txt
has the results of a warehouse that begins in September 2025. Is there more or less news of stress before a close in New York than
in the 21 trading days before? It sells after more, and buys after less.
"""
# %% The days as they are known now, a column for each country. A settling day may not be over, and missing is not 0.
import numpy as np
import pandas as pd

import gmsi

first, last = "2025-09-01", "2025-12-31"
today = gmsi.panel("Market Stress", first, last)
now = today[today.state == "covered"].pivot(index="day", columns="country", values="directional_mean")
print("The panel of today", now.tail(3).round(3), sep="\n")

# %% The same days as they were known 15 minutes after each close in New York: without what came later, which would be look-ahead. A day
# begins after the close before it. Choose a delay in which a load runs: a headline that comes later is in no day.
known = gmsi.panel("Market Stress", first, last, delay="15 minutes", market="New York")
loaded = ["covered", "settling", "assumed"]  # of a day that is late, partial or not loaded, news may be missing
then = known[known.state.isin(loaded)].pivot(index="day", columns="country", values="directional_mean")
print("\nThe panel as it was known", then.tail(3).round(3), sep="\n")
print("\nDays by state", known.groupby(["country", "state"]).size().unstack(fill_value=0), sep="\n")

# %% What the news said at each decision. A headline counts at the first decision after it became known, also if it came late. Those
# that were `witnessed` had been loaded by then; the others are assumed to have been known when they were published. Run it again
# with assume_backfilled=False, which omits them.
closes = gmsi.closes("New York", first, last)
days = gmsi.signals(closes["at"] + pd.Timedelta("15 minutes"), "US", "Market Stress").set_index(closes.day)
days = days.rename(columns={"headline_count": "headlines", "witnessed_count": "witnessed", "sentiment_mean": "mean"})
print("\nThe signal at each close", days[["state", "headlines", "witnessed", "mean"]].tail(3).round(3), sep="\n")

# %% The signal against the 21 trading days before: null unless all 21 are loaded and 10 had news.
is_loaded = days.state.isin(loaded)
mean = days["mean"].where(is_loaded)
before = mean.shift(1).rolling(21, min_periods=10)
days["z"] = ((mean - before.mean()) / before.std()).where(is_loaded.rolling(21).sum().shift(1) == 21)

# %% Prices at the closes, made up. Yours: price = pd.read_csv("prices.csv", parse_dates=["day"], index_col="day").price
sessions = gmsi.closes("New York", "2025-08-29", "2026-03-06").day
n = np.arange(len(sessions))
price = pd.Series((100 + 4 * np.sin(n / 9) + np.sin(1.7 * n)).round(2), index=sessions)

# %% Bought at the next close, because the signal is known 15 minutes after this one, and held for one day. In percent: replace 0.05
# with what it costs you to buy or sell one unit.
for held in [1, 5, 20, 60]:
    days[f"after_{held}"] = 100 * (price.shift(-held - 1) / price.shift(-1) - 1)
days["position"] = np.sign(-days.z).where(days.z.abs() >= 1, 0)
days["cost"] = 0.05 * days.position.diff().fillna(0).abs()
days["net"] = days.position * days.after_1 - days.cost
print("\nThe last trades", days[["mean", "z", "position", "after_1", "cost", "net"]].tail(5).round(2), sep="\n")
print("\nAll trades", days[["cost", "net"]].sum().round(2).to_string(), sep="\n")

# %% How the price moved after the first day of such news. `neither` has the days to compare with. There is no t-statistic, because
# holding periods overlap.
events = days.dropna(subset=["z"]).copy()
events["news"] = np.select([events.z >= 1, events.z <= -1], ["more", "less"], "neither")
events = events[(events.news == "neither") | (events.news != events.news.shift(1))]
after = events.groupby("news")[["after_1", "after_5", "after_20", "after_60"]].agg(["mean", "count"])
print("\nAfter the news", after.round(2).to_string(), sep="\n")
