"""Functions and aggregates beside DuckDB: many expressions of one subject in a query, over rows that have NULLs, NaN,
infinities, empty text and the ends of their types; and over no rows.

A line is an expression for both, or ``ours ||| DuckDB's`` where the two spell it in other words.
"""

import datetime
import math
from decimal import Decimal

import datafusion
import pyarrow as pa
import pytest

from drawloom.sql import connect
from drawloom.sql.compare import same_value
from tests.sql.compare import differences, duckdb_exact, rows_of

MOMENTS = [
    datetime.datetime(2024, 2, 29, 23, 59, 59, 999999), datetime.datetime(1969, 12, 31, 23, 59, 59, 500000), None,
    datetime.datetime(1600, 3, 1), datetime.datetime(2021, 1, 3, 0, 0, 1), datetime.datetime(1970, 1, 1),
    datetime.datetime(2000, 12, 31, 12), datetime.datetime(1999, 1, 1, 1, 2, 3, 4),
]  # fmt: skip
AMOUNTS = ["1.50", "-2.25", None, "0.00", "99.99", "3.15", "-0.05", "2.50"]
T = pa.table(
    {
        "i": pa.array([1, -2, None, 0, 5, 7, 2147483647, -2147483648], pa.int32()),
        "k": pa.array([1, 2, 3, None, -3, 2, 1, 1], pa.int16()),
        "b": pa.array([10**12, -5, 7, 0, 1, None, 2**62, 3], pa.int64()),
        "d": pa.array([None if a is None else Decimal(a) for a in AMOUNTS], pa.decimal128(15, 2)),
        "f": [0.5, -2.5, None, -0.0, math.nan, 3.7, math.inf, -1e300],
        "g": pa.array([0.5, -2.5, None, -0.0, math.nan, 3.7, math.inf, 100], pa.float32()),
        "h": [0.5, -0.25, None, 0.0, 0.75, 1.0, -1.0, 0.125],
        "s": ["straße", "İi x-y", None, "", " a\tb ", "https://www.x.com/x\ny?z", "a.b.c", "12"],
        "p": ["a", "i", None, "s", ".", "x", "b", "1"],
        "n": ["12", " -7 ", None, "1.5", "1e3", "0", "99", "-0"],
        "q": [True, False, None, True, False, None, True, True],
        "ts": pa.array(MOMENTS, pa.timestamp("us")),
        "dt": pa.array([None if m is None else m.date() for m in MOMENTS], pa.date32()),
    }
)

SCALARS = {
    "parts of text": """
        left(s, -1)
        left(s, k)
        right(s, 2)
        right(s, -2)
        right(s, k)
        split_part(s, '.', 2)
        split_part(s, p, k)
        split_part(s, '.', -1)
        substring(s, cast(k as bigint))
        substring(s, cast(k as bigint), 2)
        substring(s, -2)
        substring(s, -3, 2)
        substr(s, 0, 2)
        substr(s, 2)""",
    "text that is made": """
        reverse(p)
        lpad(s, 5, 'xy')
        lpad(s, k, p)
        rpad(s, 5, '-')
        lpad(p, 3) ||| lpad(p, 3, ' ')
        repeat(p, 3)
        repeat(p, k)
        chr(abs(k) + 64)
        concat_ws('-', s, p)
        concat_ws(p, s, n, 'z')
        replace(s, p, 'zz')
        replace(s, 'a', p)
        translate(s, 'abx', 'y')
        overlay(s placing 'QQ' from 2)
        overlay(s placing 'QQ' from 2 for 1)
        s || i
        concat(s, i, d)
        ifnull(s, 'none')""",
    "what is told of text": """
        ascii(s)
        md5(s)
        sha256(s)
        contains(s, p)
        contains(s, 'a')
        ends_with(s, p)
        starts_with(s, p)
        levenshtein(md5(s), p)
        bit_length(s)
        to_hex(b)
        strpos(s, p)
        instr(s, p)
        position(p in s)""",
    "regular expressions": """
        s ~ 'a.'
        s !~ '[a-c]'
        s ~* 'A' ||| regexp_matches(s, 'A', 'i')
        s !~* 'A' ||| not regexp_matches(s, 'A', 'i')
        regexp_like(s, 'x') ||| regexp_matches(s, 'x')
        regexp_count(s, '[abx]') ||| len(regexp_extract_all(s, '[abx]'))
        regexp_replace(s, 'A', 'z', 'gi')
        regexp_replace(s, 'A', 'z', 'i')""",
    "whole numbers": """
        gcd(i, k)
        lcm(k, 6)
        factorial(k + 4)
        i % k
        b % k
        d % 2
        d % 0.7
        d % (abs(k) + 1) ||| d % (abs(k) + 1)::bigint
        i & k
        b & k
        b | k
        i | k
        i ^ k ||| xor(i, k)
        b >> 1
        signum(f) ||| sign(f)
        signum(i) ||| sign(i)
        signum(d) ||| sign(d)""",
    "rounding": """
        trunc(f)
        trunc(d)
        trunc(i)
        trunc(f, 1)
        trunc(d, 1)
        floor(d)
        ceil(d)
        floor(i)
        round(d)
        round(d, 1)
        round(d, -1)
        round(k, -1)
        round(f, 1)
        round(f)
        round(g, 1)
        floor(g)""",
    "numbers that are none": """
        isnan(f)
        isnan(g)
        iszero(f) ||| f = 0
        nanvl(f, 1.0) ||| case when isnan(f) then 1.0::double else f end
        f % 2
        f % h
        g % k
        sqrt(f)
        ln(f)
        log(f)
        log10(i)
        sin(f)
        acosh(i)""",
    "parts of dates": """
        extract(epoch from ts)
        extract(epoch from dt)
        extract(millisecond from ts)
        extract(microsecond from ts)
        extract(isodow from dt)
        extract(isoyear from dt)
        extract(decade from dt)
        extract(century from ts)
        extract(millennium from ts)
        extract(hour from dt)
        date_trunc('decade', ts)
        date_trunc('century', dt)
        date_trunc('millennium', dt)
        date_trunc('millisecond', ts)""",
    "dates that are made": """
        make_date(2000 + k, 2, 28)
        to_timestamp_seconds(b % 1000) ||| make_timestamp((b % 1000) * 1000000)
        to_timestamp_millis(k) ||| epoch_ms(k)
        to_date(cast(dt as varchar)) ||| dt
        to_unixtime(ts) ||| floor(epoch(ts))::bigint
        date_bin(interval '15 minutes', ts) ||| time_bucket(interval '15 minutes', ts, timestamp '1970-01-01')
        dt + interval '1 day'
        dt + interval '1 month'
        dt + 3
        dt - 3
        dt + interval '1 hour'
        interval '1 day' + dt
        ts - interval '1 month 2 days 3 hours'
        ts = dt
        least(dt, ts)""",
    "dates as text": """
        to_char(ts, '%Y-%m-%d %H:%M:%S') ||| strftime(ts, '%Y-%m-%d %H:%M:%S')
        to_char(dt, '%d.%m.%y %j') ||| strftime(dt, '%d.%m.%y %j')
        date_format(ts, '%I %p, %a %A %b %B') ||| strftime(ts, '%I %p, %a %A %b %B')
        to_char(ts, '100%% %F %T %G-%V %u %w') ||| strftime(ts, '100%% %Y-%m-%d %H:%M:%S %G-%V %u %w')""",
    "values as text": """
        cast(i as varchar)
        cast(d as varchar)
        cast(f as varchar)
        cast(g as varchar)
        cast(ts as varchar)
        cast(dt as varchar)
        cast(q as varchar)""",
    "text as values": """
        cast(n as double)
        cast(n as integer)
        cast(n as decimal(10,1))
        try_cast(s as integer)
        try_cast(n as bigint)
        try_cast(s as double)
        try_cast(s as date)
        cast(cast(ts as varchar) as timestamp)
        cast(cast(dt as varchar) as date)""",
    "casts that may fail": """
        try_cast(i as smallint)
        try_cast(f as integer)
        try_cast(d as decimal(3,2))
        cast(i as boolean)
        cast(f as boolean)
        cast(d as boolean)
        cast(q as integer)
        cast(q as double)""",
}
AGGREGATES = {
    "quantiles": """
        median(i)
        median(d)
        median(f)
        median(b)
        median(g)
        median(i) filter (where q)
        quantile_cont(i, 0.3)
        quantile_cont(d, 0.3)
        quantile_cont(h, 0.9)
        percentile_cont(0.25) within group (order by i desc)
        percentile_cont(0.3) within group (order by d desc)
        approx_median(k) ||| median(k)""",
    "one of the rows": """
        any_value(i)
        first_value(s order by k, b) ||| first(s order by k, b)
        last_value(s order by k, b) ||| last(s order by k, b)
        first_value(s order by k desc nulls first, b) ||| first(s order by k desc nulls first, b)
        nth_value(s, 2 order by b) ||| list(s order by b)[2]
        string_agg(s, ',' order by s)
        string_agg(p, '-' order by s desc)
        string_agg(p, '' order by s) filter (where q)
        string_agg(distinct p, ',' order by p)""",
    "distinct values": """
        sum(distinct k)
        avg(distinct k)
        sum(distinct d) filter (where q)
        min(distinct k)
        max(distinct s)
        count(distinct k) filter (where k > 1)
        approx_distinct(k) ||| count(distinct k)""",
    "bits and truth": """
        bit_and(b)
        bit_or(i)
        bit_xor(k)
        bool_and(q)
        bool_or(q)
        mean(h) ||| avg(h)""",
}
#: Functions of real numbers, whose last bits differ from one mathematical library to the next.
REALS = """
    cos(h)
    tan(h)
    cot(k)
    asin(h)
    acos(h)
    atan(f)
    atan2(f, h)
    sinh(h)
    cosh(h)
    tanh(h)
    asinh(h)
    atanh(h / 2)
    cbrt(f)
    log2(f)
    log(2, f)
    degrees(f)
    radians(f)
    power(f, 2)
    exp(h)"""
STATISTICS = """
    stddev(i)
    stddev_samp(d)
    stddev_pop(h)
    var_samp(h)
    var_pop(i)
    covar_samp(b, k)
    covar_pop(h, k)
    corr(h, k)
    regr_slope(h, k)
    regr_intercept(h, k)
    regr_count(h, k)
    regr_r2(h, k)
    regr_avgx(h, k)
    regr_avgy(h, k)
    regr_sxx(h, k)
    regr_sxy(h, k)
    regr_syy(h, k)"""


def selects(lines: list[str]) -> list[str]:
    """Our query and DuckDB's."""
    pairs = [line.split(" ||| ") for line in lines]
    return [
        "select " + ", ".join([f"{p[min(side, len(p) - 1)]} as x{i}" for i, p in enumerate(pairs)]) for side in (0, 1)
    ]


def both(ours: str, theirs: str, table: pa.Table) -> tuple[pa.Table, pa.Table]:
    oracle = duckdb_exact()
    oracle.execute("set timezone = 'UTC'")
    oracle.register("t", table)
    wanted = oracle.sql(theirs).to_arrow_table()
    relation = connect("cpu").register("t", table).sql(ours)
    # Kernels are not compiled for a row or none.
    result = relation.arrow() if table.num_rows > 1 else relation.query.program().interpret().to_arrow()
    assert result.schema.types == wanted.schema.types
    return result, wanted


def lines_of(text: str) -> list[str]:
    return [line.strip() for line in text.strip().splitlines()]


@pytest.mark.parametrize("lines", SCALARS.values(), ids=SCALARS.keys())
def test_scalar_functions_are_duckdbs(lines: str) -> None:
    ours, theirs = selects(lines_of(lines))
    for table in (T, T.slice(0, 0)):
        assert differences(*both(ours + " from t", theirs + " from t", table)) == []


@pytest.mark.parametrize("lines", AGGREGATES.values(), ids=AGGREGATES.keys())
@pytest.mark.parametrize("keys", ["", "q, k"])
def test_aggregates_are_duckdbs(lines: str, keys: str) -> None:
    tail = f", q as key from t group by {keys}" if keys else " from t"
    ours, theirs = selects(lines_of(lines))
    for table in (T, T.slice(0, 0), T.slice(2, 1)):
        assert differences(*both(ours + tail, theirs + tail, table)) == []


def test_quantiles_of_32_bit_floats_beside_infinities() -> None:
    values = [float("-inf"), 1e-45, 2.5, float("inf"), float("inf")]
    table = pa.table({"f": pa.array(values, pa.float32()), "x": values})
    query = ", ".join([f"quantile_cont({c}, {s})" for c in "fx" for s in (0, 0.1, 0.5, 0.6, 0.7, 0.9, 1)])
    assert differences(*both(f"select {query} from t", f"select {query} from t", table)) == []


def test_a_quantile_of_0_of_a_decimal_stays_one() -> None:
    """The planner makes the minimum of a double of it."""
    ours, theirs = selects(["quantile_cont(d, 0)", "quantile_cont(d, 1)", "quantile_cont(i, 0)"])
    for tail in (" from t", ", k from t group by k"):
        assert differences(*both(ours + tail, theirs + tail, T)) == []
    least = "select min(cast(d as double)) as x from t"
    assert differences(*both(least, least, T)) == []


def close(ours: object, theirs: object, ulps: int) -> bool:
    """Whether two numbers are within so many units in the last place."""
    if not isinstance(ours, float) or not isinstance(theirs, float) or not math.isfinite(theirs):
        return same_value(ours, theirs)
    return abs(ours - theirs) <= ulps * math.ulp(max(abs(theirs), math.ulp(1.0)))


def test_functions_of_reals_are_within_units_in_the_last_place() -> None:
    ours, theirs = [f"{q}, i from t order by i" for q in selects(lines_of(REALS))]
    result, wanted = both(ours, theirs, T)
    for mine, other in zip(rows_of(result), rows_of(wanted)):
        assert [(n, a, b) for n, (a, b) in enumerate(zip(mine, other)) if not close(a, b, 2)] == []


def test_statistics_are_within_their_condition() -> None:
    """DuckDB adds up deviations from a mean that moves: with n values whose mean is m deviations from zero each of n
    additions is off by at most m units in the last place. Here n is 8 and m below 2."""
    ours, theirs = [f"{q} from t" for q in selects(lines_of(STATISTICS))]
    for table in (T, T.slice(0, 0), T.slice(0, 1), T.slice(2, 1)):
        result, wanted = both(ours, theirs, table)
        (mine,), (other,) = rows_of(result), rows_of(wanted)
        assert [(n, a, b) for n, (a, b) in enumerate(zip(mine, other)) if not close(a, b, 16)] == []


#: What DuckDB has no function for.
DATAFUSIONS = """
    initcap(s)
    find_in_set(p, 'x,a,1,')
    substr_index(s, '.', 2)
    substr_index(s, '.', -1)
    to_hex(abs(k))
    regexp_instr(s, '[abx]')
    approx_distinct(i)"""


def test_functions_that_duckdb_lacks_are_datafusions() -> None:
    theirs = datafusion.SessionContext()
    theirs.register_record_batches("t", [T.to_batches()])
    for line in lines_of(DATAFUSIONS):
        query = f"select {line} as x from t"
        wanted = pa.Table.from_batches(theirs.sql(query).collect())
        result = connect("cpu").register("t", T).sql(query).arrow()
        shown = [v.upper() if line.startswith("to_hex") and v else v for v in wanted["x"].to_pylist()]
        assert result["x"].to_pylist() == shown, line


QUERIES = {
    "rolled up": "select q, k, sum(i) as s, count(*) as c from t group by rollup(q, k)",
    "which keys are left out": """
        select q, k, sum(i) as s, grouping(q) as g, grouping(k) as h from t group by cube(q, k)""",
    "sets of keys": "select q, k, sum(i) as s from t group by grouping sets ((q), (k), ())",
    "one row of none": "select q, sum(i) as s, avg(d) as z from t where false group by rollup(q)",
    "rows of constants": "select * from (values (cast(1 as bigint), 'a', null), (2, null, 1.5)) v(a, b, c)",
    "groups of constants": "select a, count(*) as c from (values ('x'), ('y'), ('x')) v(a) group by a",
    "a join with constants": "select t.i, v.b as z from t join (values (1, 'one'), (5, 'five')) v(a, b) on t.i = v.a",
    "no table": "select cast(1 as bigint) as a, 'x' as b, 1.5 as c",
    "aggregates of no table": "select sum(1) as a, count(*) as b",
    "the first of each": "select distinct on (q) q, i from t order by q, i",
    "windows that choose": "select s, i from t qualify row_number() over (partition by q order by i, b) = 1",
    "a null beside numbers": "select i from t union all select null",
    "distinct of several columns": "select count(distinct i) as a, count(distinct s) as b, sum(distinct k) as c from t",
    "a lateral subquery": """
        select t.i, x.m from t, lateral (select max(u.b) as m from t as u where u.q = t.q) x""",
    "rows as often as both have them": """
        select k, q from t intersect all select k, q from t where b > 0""",
    "rows as often as the other has not": """
        select k from t except all select k from t where q except all select cast(7 as smallint)""",
    "the whole of a text": """
        select s, s similar to '[a-z.]+' as a, s not similar to '(12|a.*)' as b from t where p similar to '.'""",
    "existence in the select list": """
        select i, exists (select 1 from t as u where u.k = t.k and u.b > 0) as a, not exists (select u.i, 'from' from t
        as u where u.s = t.p) as b, case when exists (select * from t as u where u.i = t.k) then 'x' end as c from t""",
    "no groups": "select sum(i) as x from t having sum(i) > 3",
    "an aggregate of aggregates": "select median(x) as m from (select sum(i) as x from t group by q) v",
}


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES.keys())
def test_relations_are_duckdbs(query: str) -> None:
    assert differences(*both(query, query, T)) == []
