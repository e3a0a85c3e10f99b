"""Writes migrations/repeatable/04_markets.sql: the markets of countries, with their closes from 2015 to 2030.

The closes are those of https://github.com/gerrymanoim/exchange_calendars (Apache License 2.0), as far as it knows them:
pip install exchange_calendars && python scripts/markets.py <its version>
"""
import sys
from collections import Counter
from pathlib import Path

import exchange_calendars
import pandas as pd

# Country, name of the market, MIC of its calendar, currency, index.
markets = """
AR|Buenos Aires|XBUE|ARS|S&P Merval
AT|Vienna|XWBO|EUR|ATX
AU|Sydney|XASX|AUD|S&P/ASX 200
BE|Brussels|XBRU|EUR|BEL 20
BR|São Paulo|BVMF|BRL|Ibovespa
CA|Toronto|XTSE|CAD|S&P/TSX Composite
CH|Zurich|XSWX|CHF|SMI
CL|Santiago|XSGO|CLP|S&P IPSA
CN|Shanghai|XSHG|CNY|SSE Composite
CO|Bogotá|XBOG|COP|MSCI COLCAP
CY|Nicosia|XCYS|EUR|FTSE/CySE 20
CZ|Prague|XPRA|CZK|PX
DE|Frankfurt|XETR|EUR|DAX
DK|Copenhagen|XCSE|DKK|OMX Copenhagen 25
EE|Tallinn|XTAL|EUR|OMX Tallinn
ES|Madrid|XMAD|EUR|IBEX 35
FI|Helsinki|XHEL|EUR|OMX Helsinki 25
FR|Paris|XPAR|EUR|CAC 40
GB|London|XLON|GBP|FTSE 100
GR|Athens|ASEX|EUR|ATHEX Composite
HK|Hong Kong|XHKG|HKD|Hang Seng
HR|Zagreb|XZAG|EUR|CROBEX
HU|Budapest|XBUD|HUF|BUX
ID|Jakarta|XIDX|IDR|IDX Composite
IE|Dublin|XDUB|EUR|ISEQ All Share
IL|Tel Aviv|XTAE|ILS|TA-35
IN|Mumbai|XBOM|INR|BSE Sensex
IS|Reykjavík|XICE|ISK|OMX Iceland 15
IT|Milan|XMIL|EUR|FTSE MIB
JP|Tokyo|XTKS|JPY|Nikkei 225
KR|Seoul|XKRX|KRW|KOSPI
LT|Vilnius|XLIT|EUR|OMX Vilnius
LU|Luxembourg|XLUX|EUR|LuxX
LV|Riga|XRIS|EUR|OMX Riga
MX|Mexico City|XMEX|MXN|S&P/BMV IPC
MY|Kuala Lumpur|XKLS|MYR|FTSE Bursa Malaysia KLCI
NL|Amsterdam|XAMS|EUR|AEX
NO|Oslo|XOSL|NOK|OSEBX
NZ|Wellington|XNZE|NZD|S&P/NZX 50
PE|Lima|XLIM|PEN|S&P/BVL Peru General
PH|Manila|XPHS|PHP|PSEi
PK|Karachi|XKAR|PKR|KSE 100
PL|Warsaw|XWAR|PLN|WIG20
PT|Lisbon|XLIS|EUR|PSI
RO|Bucharest|XBSE|RON|BET
RS|Belgrade|XBEL|RSD|BELEX15
RU|Moscow|XMOS|RUB|MOEX Russia
SA|Riyadh|XSAU|SAR|TASI
SE|Stockholm|XSTO|SEK|OMX Stockholm 30
SG|Singapore|XSES|SGD|Straits Times
SI|Ljubljana|XLJU|EUR|SBI TOP
SK|Bratislava|XBRA|EUR|SAX
TH|Bangkok|XBKK|THB|SET
TR|Istanbul|XIST|TRY|BIST 100
TW|Taipei|XTAI|TWD|TAIEX
US|New York|XNYS|USD|S&P 500
ZA|Johannesburg|XJSE|ZAR|FTSE/JSE All Share
"""


def row_of(line):
    country, market, mic, currency, index = line.split("|")
    of = exchange_calendars.calendar_utils._default_calendar_factories[mic]
    begin = max([pd.Timestamp("2015-01-01"), *filter(None, [of.bound_min()])])
    end = min([pd.Timestamp("2030-12-31"), *filter(None, [of.bound_max()])])
    calendar = of(start=begin, end=end)
    closes = pd.Series(calendar.closes.dt.tz_convert(calendar.tz).dt.strftime("%H:%M").to_numpy(), calendar.sessions.date)
    # The usual close is that of most of the 31 days around; what differs from it is a half day.
    texts = closes.to_list()
    usual = [Counter(texts[max(0, n - 15) : n + 16]).most_common(1)[0][0] for n in range(len(texts))]
    since = [n for n in range(len(usual)) if n == 0 or usual[n] != usual[n - 1]]
    weekdays = [n + 1 for n in range(7) if (pd.DatetimeIndex(closes.index).weekday == n).mean() > 0.1]
    days = pd.date_range(begin, end)
    holidays = [day.date() for day in days if day.weekday() + 1 in weekdays and day.date() not in closes.index]
    is_other = [texts[n] != usual[n] or closes.index[n].isoweekday() not in weekdays for n in range(len(texts))]
    others = [(closes.index[n], texts[n]) for n in range(len(texts)) if is_other[n]]
    text = lambda value: "'" + str(value).replace("'", "''") + "'"
    # With their types, so that PostgreSQL reads them once, not for each day.
    several = lambda kind, values: "'{" + ",".join(map(str, values)) + "}'::" + kind + "[]"
    row = [
        text(country), text(market), text(mic), text(currency), text(index), text(calendar.tz),
        "date " + text(begin.date()), "date " + text(end.date()), several("integer", weekdays),
        several("date", (closes.index[n] for n in since)), several("time", (usual[n] for n in since)), several("date", holidays),
        several("date", (day for day, _ in others)), several("time", (at for _, at in others)),
    ]
    return "    (" + ", ".join(row) + ")"


rows = ",\n".join(map(row_of, markets.strip().split("\n")))
Path(__file__).parent.parent.joinpath("migrations/repeatable/04_markets.sql").write_text(f"""\
-- Written by scripts/markets.py from exchange_calendars {sys.argv[1]}; do not edit it.

create or replace view gmsi.markets as
  select * from (values
{rows}
  ) as m (country, market, mic, currency, index_name, zone, known_from, known_to, weekdays, usual_since, usual_closes, holidays,
          other_days, other_closes);
""")
