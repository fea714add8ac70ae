"""A small table of web page views with the columns that ClickBench's queries read, and its 43 questions.

Each question is asked of a table of this size: thresholds and offsets are smaller, and rows that the sort keys leave
open are sorted by other columns, so that DuckDB has one answer.
"""

from __future__ import annotations

import datetime
import random
from typing import Final

import pyarrow as pa

_HOSTS: Final = [
    "http://www.google.com/",
    "https://maps.google.ru/x",
    "http://example.org/a/b?c=1",
    "https://www.shop.by/",
]
_PHRASES: Final = ["", "", "", "weather", "google maps", "Zoë", "cheap flights"]
USER: Final = 435090932899640449
_REFERER_HASH: Final = 3594120000172545465
_URL_HASH: Final = 2868770270353813622


def hits(seed: int, rows: int) -> pa.Table:
    rng = random.Random(seed)
    start = datetime.datetime(2013, 7, 1)

    def integers(low: int, high: int, type: pa.DataType) -> pa.Array:
        return pa.array([rng.randint(low, high) for _ in range(rows)], type)

    def choices(options: list[object], type: pa.DataType) -> pa.Array:
        return pa.array([rng.choice(options) for _ in range(rows)], type)

    urls = ["", *[f"{h}{i}" for h in _HOSTS for i in range(6)]]
    times = [start + datetime.timedelta(seconds=rng.randint(0, 31 * 86400 - 1)) for _ in range(rows)]
    return pa.table({
        "watchid": pa.array([i * 7919 + (1 << 60) for i in range(rows)], pa.int64()),
        "title": choices(["", "Google", "Google maps", "News", "Weather"], pa.string()),
        "eventtime": pa.array(times, pa.timestamp("us")),
        "eventdate": pa.array([t.date() for t in times], pa.date32()),
        "counterid": choices([62, 62, 62, 15, 1000], pa.int32()),
        "clientip": integers(-(2**31) + 3, 2**31 - 1, pa.int32()) if rows < 10 else integers(-30, 30, pa.int32()),
        "regionid": integers(1, 12, pa.int32()),
        "userid": choices([USER, *[rng.getrandbits(62) for _ in range(60)]], pa.int64()),
        "url": choices(list(urls), pa.string()),
        "referer": choices(list(urls), pa.string()),
        "isrefresh": choices([0, 0, 0, 1], pa.int16()),
        "resolutionwidth": integers(0, 2000, pa.int16()),
        "windowclientwidth": integers(0, 40, pa.int16()),
        "windowclientheight": integers(0, 40, pa.int16()),
        "mobilephone": integers(0, 4, pa.int16()),
        "mobilephonemodel": choices(["", "", "", "iPad", "iPhone", "Nokia"], pa.string()),
        "traficsourceid": integers(-1, 6, pa.int16()),
        "searchengineid": choices([0, 0, 2, 3], pa.int16()),
        "searchphrase": choices(list(_PHRASES), pa.string()),
        "advengineid": choices([0, 0, 0, 2, 27], pa.int16()),
        "islink": choices([0, 1], pa.int16()),
        "isdownload": choices([0, 0, 0, 1], pa.int16()),
        "dontcounthits": choices([0, 0, 0, 1], pa.int16()),
        "refererhash": choices([_REFERER_HASH, 5], pa.int64()),
        "urlhash": choices([_URL_HASH, 7, -9], pa.int64()),
    })  # fmt: skip


_COUNTER: Final = "counterid = 62 and eventdate >= '2013-07-01' and eventdate <= '2013-07-31'"
_SEEN: Final = f"{_COUNTER} and dontcounthits = 0 and isrefresh = 0"
_HOST: Final = r"regexp_replace(referer, '^https?://(?:www\.)?([^/]+)/.*$', '\1')"
_MEASURES: Final = "count(*) as c, sum(isrefresh), avg(resolutionwidth)"

#: By ClickBench's numbers, from 0.
QUERIES: Final[list[str]] = [
    "select count(*) from hits",
    "select count(*) from hits where advengineid <> 0",
    "select sum(advengineid), count(*), avg(resolutionwidth) from hits",
    "select avg(userid) from hits",
    "select count(distinct userid) from hits",
    "select count(distinct searchphrase) from hits",
    "select min(eventdate), max(eventdate) from hits",
    "select advengineid, count(*) from hits where advengineid <> 0 group by advengineid order by count(*) desc, 1",
    "select regionid, count(distinct userid) as u from hits group by regionid order by u desc, 1 limit 10",
    """select regionid, sum(advengineid), count(*) as c, avg(resolutionwidth), count(distinct userid) from hits
        group by regionid order by c desc, 1 limit 10""",
    """select mobilephonemodel, count(distinct userid) as u from hits where mobilephonemodel <> ''
        group by mobilephonemodel order by u desc, 1 limit 10""",
    """select mobilephone, mobilephonemodel, count(distinct userid) as u from hits where mobilephonemodel <> ''
        group by mobilephone, mobilephonemodel order by u desc, 1, 2 limit 10""",
    "select searchphrase, count(*) as c from hits where searchphrase <> '' group by 1 order by c desc, 1 limit 10",
    """select searchphrase, count(distinct userid) as u from hits where searchphrase <> ''
        group by searchphrase order by u desc, 1 limit 10""",
    """select searchengineid, searchphrase, count(*) as c from hits where searchphrase <> ''
        group by searchengineid, searchphrase order by c desc, 1, 2 limit 10""",
    "select userid, count(*) from hits group by userid order by count(*) desc, 1 limit 10",
    """select userid, searchphrase, count(*) from hits group by userid, searchphrase
        order by count(*) desc, 1, 2 limit 10""",
    "select userid, searchphrase, count(*) from hits group by userid, searchphrase order by 1, 2 limit 10",
    """select userid, extract(minute from eventtime) as m, searchphrase, count(*) from hits
        group by userid, m, searchphrase order by count(*) desc, 1, 2, 3 limit 10""",
    f"select userid from hits where userid = {USER}",
    "select count(*) from hits where url like '%google%'",
    """select searchphrase, min(url), count(*) as c from hits where url like '%google%' and searchphrase <> ''
        group by searchphrase order by c desc, 1 limit 10""",
    """select searchphrase, min(url), min(title), count(*) as c, count(distinct userid) from hits
        where title like '%Google%' and url not like '%.google.%' and searchphrase <> ''
        group by searchphrase order by c desc, 1 limit 10""",
    "select * from hits where url like '%google%' order by eventtime, watchid limit 10",
    "select searchphrase from hits where searchphrase <> '' order by eventtime, watchid limit 10",
    "select searchphrase from hits where searchphrase <> '' order by searchphrase limit 10",
    "select searchphrase from hits where searchphrase <> '' order by eventtime, searchphrase limit 10",
    """select counterid, avg(length(url)) as l, count(*) as c from hits where url <> '' group by counterid
        having count(*) > 5 order by l desc, 1 limit 25""",
    f"""select {_HOST} as k, avg(length(referer)) as l, count(*) as c, min(referer) from hits where referer <> ''
        group by k having count(*) > 5 order by l desc, 1 limit 25""",
    f"select {', '.join([f'sum(resolutionwidth + {n})' for n in range(90)])} from hits",
    f"""select searchengineid, clientip, {_MEASURES} from hits where searchphrase <> ''
        group by searchengineid, clientip order by c desc, 1, 2 limit 10""",
    f"""select watchid, clientip, {_MEASURES} from hits where searchphrase <> '' group by watchid, clientip
        order by c desc, 1, 2 limit 10""",
    f"select watchid, clientip, {_MEASURES} from hits group by watchid, clientip order by c desc, 1, 2 limit 10",
    "select url, count(*) as c from hits group by url order by c desc, 1 limit 10",
    "select 1 as one, url, count(*) as c from hits group by 1, url order by c desc, 2 limit 10",
    """select clientip, clientip - 1 as b, clientip - 2 as d, clientip - 3 as e, count(*) as c from hits
        group by clientip, clientip - 1, clientip - 2, clientip - 3 order by c desc, 1 limit 10""",
    f"select url, count(*) as v from hits where {_SEEN} and url <> '' group by url order by v desc, 1 limit 10",
    f"select title, count(*) as v from hits where {_SEEN} and title <> '' group by title order by v desc, 1 limit 10",
    f"""select url, count(*) as v from hits where {_COUNTER} and isrefresh = 0 and islink <> 0 and isdownload = 0
        group by url order by v desc, 1 limit 10 offset 3""",
    f"""select traficsourceid, searchengineid, advengineid,
        case when searchengineid = 0 and advengineid = 0 then referer else '' end as src, url as dst, count(*) as v
        from hits where {_COUNTER} and isrefresh = 0 group by traficsourceid, searchengineid, advengineid, src, dst
        order by v desc, 1, 2, 3, 4, 5 limit 10 offset 10""",
    f"""select urlhash, eventdate, count(*) as v from hits where {_COUNTER} and isrefresh = 0
        and traficsourceid in (-1, 6) and refererhash = {_REFERER_HASH} group by urlhash, eventdate
        order by v desc, 1, 2 limit 10 offset 5""",
    f"""select windowclientwidth, windowclientheight, count(*) as v from hits where {_SEEN} and urlhash = {_URL_HASH}
        group by windowclientwidth, windowclientheight order by v desc, 1, 2 limit 10 offset 20""",
    """select date_trunc('minute', eventtime) as m, count(*) as v from hits where counterid = 62
        and eventdate >= '2013-07-14' and eventdate <= '2013-07-15' and isrefresh = 0 and dontcounthits = 0
        group by m order by m limit 10 offset 10""",
]
