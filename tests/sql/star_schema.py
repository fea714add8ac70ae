"""The Star Schema Benchmark: small tables of its schema, and its 13 queries.

The queries are those of the benchmark's paper (O'Neil, O'Neil, Chen, Revilak: The Star Schema Benchmark), one statement
for each; rows that its sort keys leave open are sorted by the other columns.
"""

from __future__ import annotations

import datetime
import random
from typing import Final

import pyarrow as pa

_NATIONS: Final = {
    "AMERICA": ["UNITED STATES", "CANADA", "PERU"], "ASIA": ["CHINA", "JAPAN", "INDIA"],
    "EUROPE": ["UNITED KINGDOM", "FRANCE", "GERMANY"],
}  # fmt: skip
_MONTHS: Final = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]


def tables(seed: int, orders: int) -> dict[str, pa.Table]:
    """The five tables; ``orders`` is the number of rows of ``lineorder``."""
    rng = random.Random(seed)
    first = datetime.date(1992, 1, 1)
    days = [first + datetime.timedelta(days=i) for i in range(7 * 365 + 2)]
    keys = [d.year * 10000 + d.month * 100 + d.day for d in days]
    dates = {
        "d_datekey": pa.array(keys, pa.int32()),
        "d_year": pa.array([d.year for d in days], pa.int32()),
        "d_yearmonthnum": pa.array([d.year * 100 + d.month for d in days], pa.int32()),
        "d_yearmonth": [f"{_MONTHS[d.month - 1]}{d.year}" for d in days],
        "d_weeknuminyear": pa.array([(d - datetime.date(d.year, 1, 1)).days // 7 + 1 for d in days], pa.int32()),
    }
    columns = {
        "lo_custkey": [rng.randint(1, 60) for _ in range(orders)],
        "lo_suppkey": [rng.randint(1, 30) for _ in range(orders)],
        "lo_partkey": [rng.randint(1, 80) for _ in range(orders)],
        "lo_orderdate": [rng.choice(keys) for _ in range(orders)],
        "lo_quantity": [rng.randint(1, 50) for _ in range(orders)],
        "lo_extendedprice": [rng.randint(90_000, 10_000_000) for _ in range(orders)],
        "lo_discount": [rng.randint(0, 10) for _ in range(orders)],
        "lo_revenue": [rng.randint(90_000, 10_000_000) for _ in range(orders)],
        "lo_supplycost": [rng.randint(50_000, 100_000) for _ in range(orders)],
    }
    categories = [(m, c, b) for m in range(1, 6) for c in range(1, 6) for b in (1, 20, 21, 22, 28, 39)]
    parts = [rng.choice([p for p in categories if p[:2] in ((1, 2), (1, 4), (2, 2), (3, 1))]) for _ in range(80)]
    part = {
        "p_partkey": pa.array(range(1, 81), pa.int32()),
        "p_mfgr": [f"MFGR#{m}" for m, _, _ in parts],
        "p_category": [f"MFGR#{m}{c}" for m, c, _ in parts],
        "p_brand1": [f"MFGR#{m}{c}{b}" for m, c, b in parts],
    }
    return {
        "lineorder": pa.table({name: pa.array(values, pa.int32()) for name, values in columns.items()}),
        "dates": pa.table(dates),
        "part": pa.table(part),
        "customer": _places(rng, "c", "cust", 60),
        "supplier": _places(rng, "s", "supp", 30),
    }


def _places(rng: random.Random, letter: str, word: str, count: int) -> pa.Table:
    regions = [rng.choice(list(_NATIONS)) for _ in range(count)]
    nations = [rng.choice(_NATIONS[r]) for r in regions]
    return pa.table({
        f"{letter}_{word}key": pa.array(range(1, count + 1), pa.int32()),
        f"{letter}_region": regions,
        f"{letter}_nation": nations,
        f"{letter}_city": [f"{n[:9]:9}{rng.choice([1, 1, 5, 5, 7])}" for n in nations],
    })  # fmt: skip


_PROFIT: Final = "sum(lo_revenue - lo_supplycost) as profit"
_ALL: Final = """from dates, customer, supplier, part, lineorder where lo_custkey = c_custkey and lo_suppkey = s_suppkey
    and lo_partkey = p_partkey and lo_orderdate = d_datekey"""
_TWO: Final = """from customer, lineorder, supplier, dates where lo_custkey = c_custkey and lo_suppkey = s_suppkey
    and lo_orderdate = d_datekey"""
_BRANDS: Final = """select sum(lo_revenue) as revenue, d_year, p_brand1 from lineorder, dates, part, supplier
    where lo_orderdate = d_datekey and lo_partkey = p_partkey and lo_suppkey = s_suppkey"""
_DISCOUNTS: Final = """select sum(lo_extendedprice * lo_discount) as revenue from lineorder, dates
    where lo_orderdate = d_datekey"""
_KINGDOM: Final = "('UNITED KI1', 'UNITED KI5')"


def _flight(columns: str, where: str) -> str:
    return f"""select {columns}, d_year, sum(lo_revenue) as revenue {_TWO} and {where}
        group by {columns}, d_year order by d_year, revenue desc, {columns}"""


QUERIES: Final[dict[str, str]] = {
    "1.1": f"{_DISCOUNTS} and d_year = 1993 and lo_discount between 1 and 3 and lo_quantity < 25",
    "1.2": f"""{_DISCOUNTS} and d_yearmonthnum = 199401 and lo_discount between 4 and 6
        and lo_quantity between 26 and 35""",
    "1.3": f"""{_DISCOUNTS} and d_weeknuminyear = 6 and d_year = 1994 and lo_discount between 5 and 7
        and lo_quantity between 26 and 35""",
    "2.1": f"""{_BRANDS} and p_category = 'MFGR#12' and s_region = 'AMERICA'
        group by d_year, p_brand1 order by d_year, p_brand1""",
    "2.2": f"""{_BRANDS} and p_brand1 between 'MFGR#2221' and 'MFGR#2228' and s_region = 'ASIA'
        group by d_year, p_brand1 order by d_year, p_brand1""",
    "2.3": f"""{_BRANDS} and p_brand1 = 'MFGR#2239' and s_region = 'EUROPE'
        group by d_year, p_brand1 order by d_year, p_brand1""",
    "3.1": _flight("c_nation, s_nation", "c_region = 'ASIA' and s_region = 'ASIA' and d_year between 1992 and 1997"),
    "3.2": _flight(
        "c_city, s_city",
        "c_nation = 'UNITED STATES' and s_nation = 'UNITED STATES' and d_year >= 1992 and d_year <= 1997",
    ),
    "3.3": _flight("c_city, s_city", f"c_city in {_KINGDOM} and s_city in {_KINGDOM} and d_year between 1992 and 1997"),
    "3.4": _flight("c_city, s_city", f"c_city in {_KINGDOM} and s_city in {_KINGDOM} and d_yearmonth = 'Dec1997'"),
    "4.1": f"""select d_year, c_nation, {_PROFIT} {_ALL} and c_region = 'AMERICA' and s_region = 'AMERICA'
        and (p_mfgr = 'MFGR#1' or p_mfgr = 'MFGR#2') group by d_year, c_nation order by d_year, c_nation""",
    "4.2": f"""select d_year, s_nation, p_category, {_PROFIT} {_ALL} and c_region = 'AMERICA' and s_region = 'AMERICA'
        and (d_year = 1997 or d_year = 1998) and (p_mfgr = 'MFGR#1' or p_mfgr = 'MFGR#2')
        group by d_year, s_nation, p_category order by d_year, s_nation, p_category""",
    "4.3": f"""select d_year, s_city, p_brand1, {_PROFIT} {_ALL} and c_region = 'AMERICA'
        and s_nation = 'UNITED STATES' and (d_year = 1997 or d_year = 1998) and p_category = 'MFGR#14'
        group by d_year, s_city, p_brand1 order by d_year, s_city, p_brand1""",
}
