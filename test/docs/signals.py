"""Computes what gmsi.signals returns, for each of its arguments, from gmsi.headlines_point_in_time, and fails if the two differ.

Prints, for each argument, how many decisions it changes, as JSON.
"""
import json
import random

import numpy as np
import pandas as pd
from sqlalchemy import create_engine, text

series = {"country": "US", "topic": "Market Stress"}
engine = create_engine("postgresql+psycopg2://")
versions = pd.read_sql(
    text("""
        select headline_id::text, published_at, coalesce(moved_from, published_at) as first_published_at, first_seen_at, known_from, usable_to, reason, is_backfilled, is_first,
               directional_score, semantic_score, topic_probability, gmsi.story_key(headline) as story
        from gmsi.headlines_point_in_time where country = :country and topic = :topic and match_type = 'COMBINED'
    """),
    engine,
    params=series,
)
for time in ["published_at", "first_published_at", "first_seen_at", "known_from", "usable_to"]:
    versions[time] = pd.to_datetime(versions[time], utc=True)
versions["story"] = versions.story.fillna(versions.headline_id)
versions["probability"] = versions.topic_probability.fillna(0)
# Before the watch began, a repair does not make a version.
is_completed = versions.is_backfilled & versions.is_first & (versions.reason == "read again")
watch = pd.read_sql(
    text("select watch_here from gmsi.series_states where country = :country and topic = :topic and match_type = 'COMBINED'"),
    engine,
    params=series,
).watch_here[0]

columns = ["headline_count", "witnessed_count", "sentiment_sum", "sentiment_abs_sum", "sentiment_std", "sentiment_mean", "weighted_mean"]
defaults = {
    "over": None, "sentiment_type": "directional", "assume_backfilled": True, "rounding": "second, some on the hour",
    "half_life": None, "least_probability": None, "of_stories": False,
}
others = {
    "over": ["90 minutes", "1 day", "5 days"],
    "sentiment_type": ["semantic_sentiment"],
    "assume_backfilled": [False],
    "rounding": ["second", "minute", "hour", "minute, some on the hour", "day"],
    "half_life": ["30 minutes", "2 days"],
    "least_probability": [0.8],
    "of_stories": [True],
}
# Minutes by which a time may have been rounded down: on the hour, and else.
roundings = {
    "second": (0, 0), "minute": (1, 1), "hour": (60, 60), "day": (1440, 1440), "minute, some on the hour": (60, 1),
    "second, some on the hour": (60, 0),
}


def by_pandas(moments, over, sentiment_type, assume_backfilled, rounding, half_life, least_probability, of_stories):
    published, is_assumed = versions.published_at, versions.is_backfilled
    on_the_hour, otherwise = roundings[rounding]
    first = versions.first_published_at
    late = pd.to_timedelta(np.where(first == first.dt.floor("H"), on_the_hour, otherwise), unit="min")
    seen = versions[["first_published_at", "first_seen_at"]].max(axis=1)
    entered = (first + late).where(is_assumed, seen)
    held = versions[["published_at", "known_from"]].max(axis=1)
    usable = held.mask(is_assumed & versions.is_first, pd.Timestamp("1900-01-01", tz="UTC"))
    score = versions["directional_score" if sentiment_type == "directional" else "semantic_score"]
    answers = []
    for n, moment in enumerate(moments):
        if over is not None:
            since = moment - pd.Timedelta(over)
        else:
            since = moments[n - 1] if n > 0 else moment - pd.Timedelta(hours=24)
        is_watched = moment >= watch
        rows = versions.assign(entered=entered, score=score if assume_backfilled or is_watched else score.mask(is_assumed))
        known = rows[(entered > since) & (entered <= moment) & (published <= moment) & ((held if is_watched else usable) <= moment)
                     & ~(versions.usable_to <= moment) & (is_watched | ~is_completed)]
        if least_probability is not None:
            known = known[known.probability >= least_probability]
        known = known.dropna(subset=["score"])
        if of_stories:
            known = known.sort_values(["entered", "published_at", "headline_id"]).drop_duplicates("story")
        age = (moment - known.entered) / pd.Timedelta(half_life or "1 day")
        weight = 0.5**age if half_life else age * 0 + 1
        counted, scores = len(known), known.score
        with_probability = (weight * known.probability).sum()
        answers.append([
            counted, (known.first_seen_at <= moment).sum(), (scores * weight).sum(), (scores.abs() * weight).sum(),
            scores.std(ddof=0), (scores * weight).sum() / weight.sum() if counted else np.nan,
            (scores * weight * known.probability).sum() / with_probability if with_probability else np.nan,
        ])
    return np.array(answers, dtype=float)


def by_warehouse(moments, **arguments):
    given = ", ".join(f"{name} => :{name}" for name in arguments)
    found = pd.read_sql(
        text(f"select * from gmsi.signals(:moments, :country, :topic, {given})"),
        engine,
        params={"moments": [moment.to_pydatetime() for moment in moments], **series, **arguments},
    )
    assert list(pd.to_datetime(found.moment, utc=True)) == sorted(set(moments))
    return found[columns].to_numpy(dtype=float)


# At any time, in the history from before the watch and in the watch.
chance = random.Random(51)
begins = pd.Timestamp("2025-09-02", tz="UTC")
moments = sorted(begins + pd.Timedelta(minutes=chance.randrange(120 * 1440)) for _ in range(40))
# The hour itself is where times that are rounded down meet a decision.
moments += [pd.Timestamp("2025-10-01 12:00", tz="UTC"), pd.Timestamp("2025-11-28 18:00", tz="UTC")]
moments = sorted(set(moments))

asked = [{**defaults, name: value} for name, values in others.items() for value in values]
asked += [{name: chance.choice([defaults[name], *values]) for name, values in others.items()} for _ in range(15)]
usual = by_pandas(moments, **defaults)
np.testing.assert_allclose(by_warehouse(chance.sample(moments * 2, 2 * len(moments)), **defaults), usual, rtol=1e-9, atol=1e-9)
changed = dict.fromkeys(others, 0)
for n, arguments in enumerate(asked):
    expected = by_pandas(moments, **arguments)
    np.testing.assert_allclose(by_warehouse(moments, **arguments), expected, rtol=1e-9, atol=1e-9, err_msg=str(arguments))
    differing = [name for name in others if arguments[name] != defaults[name]]
    if len(differing) == 1:
        differs = ~np.isclose(expected, usual, rtol=1e-9, atol=1e-9, equal_nan=True).all(axis=1)
        changed[differing[0]] = max(changed[differing[0]], int(differs.sum()))
print(json.dumps({"headlines": versions.headline_id.nunique(), "versions": len(versions), "counted": int(usual[:, 0].sum()), "changed": changed}))
