"""The warehouse as pandas frames: panels, signals and headlines. Copy this file; it needs pandas and psycopg2.

It connects to DATABASE_URL, or to what the PG* variables name. Each function sends one query and returns its columns, typed as in
PostgreSQL: days, times in UTC, integers and texts that may be null. docs/analysis.md says what they mean. Look at `state` before
you compute: a count of 0 means no news, a null that the day is not loaded. For polars, pass a frame to polars.from_pandas.
"""
import os

import pandas as pd
import psycopg2

DATE, TIME = 1082, 1184
TYPES = {16: "boolean", 20: "Int64", 23: "Int64", 25: "string", 701: "float64", 2950: "string"}


def frame(query, **parameters):
    """Returns the rows of a query, in which %(name)s stands for a parameter."""
    connection = psycopg2.connect(os.environ.get("DATABASE_URL", ""))
    try:
        with connection.cursor() as cursor:
            cursor.execute(query, parameters or None)
            rows = pd.DataFrame(cursor.fetchall(), columns=[column.name for column in cursor.description])
            for name, oid, *_ in cursor.description:
                if oid in (DATE, TIME):
                    rows[name] = pd.to_datetime(rows[name], utc=oid == TIME)
                elif oid in TYPES:
                    rows[name] = rows[name].astype(TYPES[oid])
            return rows
    finally:
        connection.close()


def panel(topic, start=None, end=None, country=None, match_type="COMBINED", delay=None, **others):
    """Returns the days of a topic, in one country or all: as they are now (gmsi.sentiment_by_day) or, with a delay, each as it was
    known that long after its end, such as "1 hour" (gmsi.sentiment_daily_as_known, which takes the others, such as market="London")."""
    asked = {"topic": topic, "start": start, "end": end, "country": country, "match_type": match_type}
    if delay is not None:
        call = "%(start)s, %(end)s, %(country)s, %(topic)s, %(match_type)s" + named(delay=delay, **others)
        return frame(f"select * from gmsi.sentiment_daily_as_known({call})", **asked, delay=delay, **others)
    if others:
        raise TypeError(f"needs a delay: {', '.join(others)}")
    return frame(
        """select * from gmsi.sentiment_by_day
           where topic = %(topic)s and match_type = %(match_type)s and (%(country)s is null or country = %(country)s)
             and (%(start)s is null or day >= %(start)s) and (%(end)s is null or day <= %(end)s)
           order by country, day""",
        **asked,
    )


def closes(market, start, end):
    """Returns the days on which a market trades, and `at`, when it closes."""
    query = "select day, at from gmsi.market_closes where market = %(market)s and day between %(start)s and %(end)s order by day"
    return frame(query, market=market, start=start, end=end)


def signals(moments, country=None, topic=None, **others):
    """Returns what the news of a country and topic, or of all, said at each moment, as it was known then. The others are arguments
    of gmsi.signals, such as over="5 days". A moment without a zone is in UTC."""
    moments = [moment.to_pydatetime() for moment in pd.to_datetime(pd.Series(moments), utc=True)]
    call = "%(moments)s::timestamptz[], %(country)s, %(topic)s" + named(**others)
    return frame(f"select * from gmsi.signals({call})", moments=moments, country=country, topic=topic, **others)


def headlines(topic, start, end, country=None, match_type="COMBINED", as_of=None):
    """Returns the headlines published from start to before end, as they are now, or as this warehouse had them at a moment, which
    may be a name of gmsi snapshot. Those that are retracted have a retracted_at. A time without a zone is in UTC."""
    start, end = (pd.to_datetime(time, utc=True).to_pydatetime() for time in (start, end))
    table = "gmsi.headlines"
    if isinstance(as_of, str) and as_of[:1].isalpha():
        table = "gmsi.headlines_as_of(gmsi.moment(%(as_of)s))"
    elif as_of is not None:
        table, as_of = "gmsi.headlines_as_of(%(as_of)s)", pd.to_datetime(as_of, utc=True).to_pydatetime()
    return frame(
        f"""select * from {table}
            where topic = %(topic)s and match_type = %(match_type)s and (%(country)s is null or country = %(country)s)
              and published_at >= %(start)s and published_at < %(end)s
            order by published_at, headline_id""",
        topic=topic, start=start, end=end, country=country, match_type=match_type, as_of=as_of,
    )


def named(**arguments):
    return "".join(f", {name} => %({name})s" for name in arguments)
