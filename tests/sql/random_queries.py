"""Random tables and random queries of the supported family, for comparison with DuckDB.

Everything follows from the seed. Sums of floats are over multiples of 1/64 that a double adds without rounding, so that
they do not depend on the order; every other value is determined by SQL, and what overflows here overflows there.
"""

from __future__ import annotations

import datetime
import decimal
import math
import random
from typing import Any

import pyarrow as pa

WORDS = ["AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK", "", "a%b", "Zoë", "zz"]
INTEGERS = ["i", "b", "k", "n", "y"]
DECIMALS = ["d", "e", "w", "d2"]
EXACT = [*INTEGERS, *DECIMALS]
FLOATS = ["f", "f2", "g"]
KEYS = ["s", "k", "q", "s2", "n", "extract(year from dt)", "i", "dt", "q2", "f2", "g", "e", "k % 3", "k > 0", "y",
        "upper(s2)", "length(s)", "date_trunc('month', ts2)", "extract(hour from ts)", "ts", "u", "v2", "x2", "tm2",
        "moment2", "left(s2, 1)", "concat(u, s2)"]  # fmt: skip
SHOWN = ["i", "b", "d", "e", "f", "n", "s", "s2", "dt", "q", "q2", "k", "w", "y", "g", "d2", "dt2", "ts", "ts2",
         "u", "v2", "x2", "tm2", "moment2"]  # fmt: skip
#: Functions of one row, by what stands for a column or constant in them.
FUNCTIONS = [
    "reverse({s})", "lpad({s}, {k}, 'xy')", "rpad({s}, 6, {t} || '-')", "repeat({s}, 2)", "split_part({s}, 'A', {k})",
    "ascii({s})", "md5({s})", "concat_ws('-', {s}, {t})", "contains({s}, {t})", "ends_with({s}, 'L')",
    "right({s}, {k})",
    "left({s}, {k})", "substring({s}, cast({k} as bigint), 2)", "substring({s}, -2)", "replace({s}, {t}, '*')",
    "translate({s}, 'AIL', 'xy')", "levenshtein({s}, {t})", "strpos({s}, {t})", "{s} ~ '[AI]+L'", "{s} !~ '^R'",
    "to_hex({k})", "starts_with({s}, {t})", "bit_length({s})",
    "gcd({i}, {k})", "lcm({k}, 6)", "factorial(abs({k}))", "({i} & {k})", "({i} | {k})", "(abs({k}) << 3)",
    "({i} >> 2)",
    "({i} % (abs({k}) + 1))", "({d} % 1.7)", "({f} % 2.5)", "trunc({d})", "trunc({f})", "floor({d})", "ceil({d})",
    "round({d}, -1)", "round({f}, 1)", "isnan({f})", "cbrt(0 * {k})", "atan2(0 * {k}, 1)", "cast({f} as varchar)",
    "extract(epoch from {ts})", "extract(microsecond from {ts})", "extract(isodow from {dt})",
    "extract(isoyear from {dt})", "extract(decade from {dt})", "date_trunc('decade', {ts})",
    "({dt} + interval '1 month')", "({dt} + 4)", "({dt} - interval '30 day')",
    "make_date(1990 + abs({k}), 2, 20)", "cast({d} as varchar)", "cast({ts} as varchar)", "cast({dt} as varchar)",
    "cast({i} as varchar)", "cast({q} as varchar)", "try_cast({s} as integer)", "try_cast({i} as tinyint)",
    "try_cast({d} as decimal(4,1))", "cast(cast({d} as varchar) as double)", "cast(cast({ts} as varchar) as timestamp)",
    "cast({i} as boolean)", "cast({q} as integer)", "(u + {k})", "(u * 3)", "(v2 % 7)", "(u > {i})", "(v2 + {d})",
    "(x2 + {d})", "(x2 * {k})", "(x2 > {d})", "cast(x2 as double)", "(x2 / {i})", "round(x2, 1)", "floor(x2)",
    "(x2 % 1000)", "coalesce(u, {k})", "greatest(u, {i})", "(moment2 > {ts})", "date_trunc('hour', moment2)",
    "(moment2 + interval '1 day')", "extract(minute from tm2)", "(tm2 > time '12:00:00')", "cast(tm2 as varchar)",
    "cast(moment2 as varchar)", "cast({ts} as date)", "({ts} - ts)", "cast({ts} - {dt} as varchar)",
    "extract(hour from {ts} - ts2)", "({ts} - ts > interval '3 day')", "[{i}, {k}][2]",
    "({ts} + (ts - ts2))",
]  # fmt: skip


def random_table(rng: random.Random, rows: int) -> pa.Table:
    """Columns of every supported type; those whose names end in 2, and ``n``, have NULLs; ``f2`` has NaN and infinities
    in some tables; in few tables a column is NULL throughout."""
    nulls = rng.choice([0.0, 0.2, 0.2, 0.2, 1.0])
    specials = rng.choice([[], [], [0.0, -0.0], [math.nan, math.inf, -math.inf, -0.0]])

    def some_null(value: Any) -> Any:
        return None if rng.random() < nulls else value

    def money(limit: int, scale: int) -> decimal.Decimal:
        return decimal.Decimal(rng.randint(-limit, limit)).scaleb(-scale)

    def day() -> datetime.date:
        return datetime.date(1992, 1, 1) + datetime.timedelta(days=rng.randint(0, 2500))

    def moment() -> datetime.datetime:
        return datetime.datetime(1995, 6, 1) + datetime.timedelta(microseconds=rng.randint(-(10**15), 10**14))

    def dyadic() -> float:
        return rng.choice([0.0, 1.5, -2.25, rng.randint(-4000, 4000) / 8, float(rng.randint(-9, 9))])

    def special() -> float:
        return rng.choice(specials) if specials and rng.random() < 0.1 else dyadic()

    words = rng.sample(WORDS, rng.randint(1, len(WORDS)))
    low = rng.randint(-5, 5)
    each = range(rows)
    return pa.table(
        {
            "i": pa.array([rng.randint(-100, 100) for _ in each], pa.int32()),
            "b": pa.array([rng.randint(-(10**12), 10**12) for _ in each], pa.int64()),
            "k": pa.array([rng.randint(low, low + 6) for _ in each], pa.int16()),
            "y": pa.array([rng.randint(-9, 9) for _ in each], pa.int8()),
            "d": pa.array([money(10**7, 2) for _ in each], pa.decimal128(15, 2)),
            "e": pa.array([money(10**4, 3) for _ in each], pa.decimal128(9, 3)),
            "w": pa.array([money(10**17, 4) for _ in each], pa.decimal128(22, 4)),
            "f": pa.array([dyadic() for _ in each], pa.float64()),
            "g": pa.array([dyadic() for _ in each], pa.float32()),
            "n": pa.array([some_null(rng.randint(-20, 20)) for _ in each], pa.int32()),
            "d2": pa.array([some_null(money(10**6, 2)) for _ in each], pa.decimal128(12, 2)),
            "s": pa.array([rng.choice(words) for _ in each], pa.string()),
            "s2": pa.array([some_null(rng.choice(words)) for _ in each], pa.string()),
            "dt": pa.array([day() for _ in each], pa.date32()),
            "dt2": pa.array([some_null(day()) for _ in each], pa.date32()),
            "q": pa.array([rng.random() < 0.5 for _ in each], pa.bool_()),
            "q2": pa.array([some_null(rng.random() < 0.5) for _ in each], pa.bool_()),
            "f2": pa.array([some_null(special()) for _ in each], pa.float64()),
            "ts": pa.array([moment() for _ in each], pa.timestamp("us")),
            "ts2": pa.array([some_null(moment()) for _ in each], pa.timestamp("us")),
            "u": pa.array([rng.randint(0, 9) for _ in each], pa.uint8()),
            "v2": pa.array([some_null(rng.choice([0, 7, 2**63, 2**64 - 1])) for _ in each], pa.uint64()),
            "x2": pa.array([some_null(money(10**24, 3)) for _ in each], pa.decimal128(30, 3)),
            "tm2": pa.array([some_null(moment().time()) for _ in each], pa.time64("us")),
            "moment2": pa.array([some_null(moment().replace(microsecond=0)) for _ in each], pa.timestamp("s")),
        }
    )


class RandomQuery:
    """``text`` is ours. ``oracle`` asks DuckDB for the same, but for the sum and the count of an exact average.
    ``ordered`` tells that the order of the rows is determined."""

    def __init__(self, text: str, oracle: str, ordered: bool = False) -> None:
        self.text = text
        self.oracle = oracle
        self.ordered = ordered


class Queries:
    """Random queries over table ``t`` with the columns of ``random_table``."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def query(self) -> RandomQuery:
        kind = self.rng.random()
        if kind < 0.45:
            return self.grouped()
        return self.scalar() if kind < 0.75 else self.rows()

    def scalar(self) -> RandomQuery:
        pairs = self.measures(5)
        where = self.where()
        ours, theirs = [", ".join([f"{p[side]} as m{i}" for i, p in enumerate(pairs)]) for side in (0, 1)]
        return RandomQuery(f"select {ours} from t{where}", f"select {theirs} from t{where}")

    def grouped(self) -> RandomQuery:
        rng = self.rng
        keys = rng.sample(KEYS, rng.randint(1, 3))
        shown = ", ".join([f"{key} as k{i}" for i, key in enumerate(keys)])
        if rng.random() < 0.1:
            text = f"select distinct {shown} from t{self.where()}"
            return RandomQuery(text, text)
        pairs = self.measures(4)
        tail = f" from t{self.where()} group by {', '.join(keys)}"
        if rng.random() < 0.2:
            tail += f" having count(*) > {rng.randint(0, 3)}"
        ours, theirs = [", ".join([f"{p[side]} as m{i}" for i, p in enumerate(pairs)]) for side in (0, 1)]
        return RandomQuery(f"select {shown}, {ours}{tail}", f"select {shown}, {theirs}{tail}")

    def rows(self) -> RandomQuery:
        rng = self.rng
        columns = [*rng.sample(SHOWN, 3), f"{self.number(2)} as x", f"{self.anything()} as z"]
        text = f"select {', '.join(columns)} from t{self.where()}"
        ordered = rng.random() < 0.3
        if ordered:
            exact = rng.sample([c for c in SHOWN if c not in FLOATS], 4)
            keys = [f"{c} {rng.choice(['asc', 'desc'])} {rng.choice(['', 'nulls first', 'nulls last'])}" for c in exact]
            text = f"select {', '.join(exact)} from t{self.where()} order by {', '.join(keys)}"
            text += rng.choice(["", " limit 5", " limit 7 offset 2", " limit 0", " offset 3"])
        return RandomQuery(text, text, ordered)

    def where(self) -> str:
        return f" where {self.condition(2)}" if self.rng.random() < 0.8 else ""

    def measures(self, most: int) -> list[tuple[str, str]]:
        return [self.measure() for _ in range(self.rng.randint(1, most))]

    def measure(self) -> tuple[str, str]:
        """An aggregate, and what DuckDB is asked in its place."""
        rng = self.rng
        function = rng.choice(["sum", "avg", "avg", "min", "max", "count", "count(*)", "distinct", "other"])
        if function == "other":
            made = self.other_measure()
            return made, made.replace("_value(", "(")
        if function == "count(*)":
            return function, function
        if function == "distinct":
            counted = f"count(distinct {rng.choice(['s', 's2', 'k', 'n', 'dt', 'q2', 'f2', 'e'])})"
            counted += f" filter (where {self.condition(1)})" if rng.random() < 0.2 else ""
            return counted, counted
        tail = f" filter (where {self.condition(1)})" if rng.random() < 0.1 else ""
        if function == "count":
            made = f"count({rng.choice(['n', 's2', 'i', 'dt2', 'q2', 'f2', self.number(1)])}){tail}"
            return made, made
        if function in ("min", "max"):
            argument = rng.choice(
                ["s", "dt", "s2", "dt2", "k", "q", "q2", "ts", "ts2", "lower(s2)", self.number(2), self.number(2)]
            )
        elif rng.random() < 0.3:
            argument = self.dyadic(2)
        else:
            argument = self.exact(2)
            if function == "avg":
                return f"avg({argument}){tail}", f"{{'sum': sum({argument}){tail}, 'count': count({argument}){tail}}}"
        made = f"{function}({argument}){tail}"
        return made, made

    def other_measure(self) -> str:
        """An aggregate whose value is determined: no order of sums, no choice of rows."""
        rng = self.rng
        made = rng.choice([
            f"median({rng.choice(['i', 'n', 'd2', 'e', 'y', 'f', 'u', 'x2'])})",
            f"quantile_cont({rng.choice(['k', 'd', 'd2'])}, {rng.choice(['0', '0.25', '0.9', '1'])})",
            f"bool_and({self.condition(1)})", f"bool_or({rng.choice(['q2', 'q', 'n > 3'])})",
            f"bit_and({rng.choice(['i', 'n', 'u', 'v2'])})", f"bit_or({rng.choice(['k', 'n', 'v2'])})",
            f"bit_xor({rng.choice(['b', 'n', 'y'])})", f"string_agg(s2, '-' order by s2 {rng.choice(['', 'desc'])})",
            "string_agg(distinct s, ',' order by s)", f"first_value({rng.choice(['s2', 'n', 'd2'])} order by b)",
            f"last_value({rng.choice(['s2', 'n', 'f2'])} order by n nulls first, b)",
            f"sum(distinct {rng.choice(['n', 'k', 'd2', 'u'])})", "sum(v2)", "sum(x2)", "max(v2)", "min(x2)",
            f"array_agg({rng.choice(['s2', 'n', 'd2', 'dt2', 'q2', 'k'])} order by b {rng.choice(['', 'desc'])})",
            f"max({rng.choice(['ts', 'ts2'])} - ts2)", "max(ts2) - min(ts2)",
            "min(tm2)", "max(moment2)", "count(distinct v2)", "count(distinct x2)",
        ])  # fmt: skip
        return f"{made} filter (where {self.condition(1)})" if rng.random() < 0.15 else made

    def function(self) -> str:
        """A function of one row, of columns that it takes."""
        rng = self.rng
        return rng.choice(FUNCTIONS).format(
            s=rng.choice(["s", "s2"]), t=rng.choice(["s", "s2", "'AI'"]), i=rng.choice(["i", "n", "b"]),
            k=rng.choice(["k", "y", "n", "2"]), d=rng.choice(["d", "d2", "e"]), f=rng.choice(["f", "f2"]),
            ts=rng.choice(["ts", "ts2"]), dt=rng.choice(["dt", "dt2"]), q=rng.choice(["q", "q2"]),
        )  # fmt: skip

    def anything(self) -> str:
        """A function of text, dates, timestamps or numbers."""
        rng = self.rng
        if rng.random() < 0.6:
            return self.function()
        s, t, dt = rng.choice(["s", "s2"]), rng.choice(["s", "s2"]), rng.choice(["dt", "dt2"])
        ts = rng.choice(["ts", "ts2", "cast(dt2 as timestamp)"])
        unit = rng.choice(["year", "quarter", "month", "week", "day"])
        return rng.choice([
            f"upper({s})", f"lower({s})", f"trim({s})", f"ltrim({s}, 'RA')", f"rtrim({s}, 'IL')", f"length({s})",
            f"replace({s}, 'AI', 'e')", f"strpos({s}, 'I')", f"{s} || {t}", f"concat({s}, ' ', {t})", f"left({s}, 2)",
            f"regexp_replace({s}, '([A-Z])([A-Z]*)', '\\2 \\1')", f"regexp_replace({s}, '[AI]', '', 'g')",
            f"substring(upper({s}) from 2 for 3)", f"{s} like {t}", f"{s} ilike '%ai%'", f"starts_with({s}, 'R')",
            f"date_trunc('{unit}', {ts})", f"date_trunc('{unit}', {dt})",
            f"date_trunc('{rng.choice(['hour', 'minute', 'second'])}', {ts})",
            f"extract({rng.choice(['hour', 'minute', 'second', 'dow', 'doy', 'week', 'quarter', 'year'])} from {ts})",
            f"extract({rng.choice(['dow', 'doy', 'week', 'quarter'])} from {dt})", f"cast({ts} as date)",
            f"{ts} {rng.choice(['+', '-'])} interval '{rng.randint(1, 40)}' {rng.choice(['month', 'day', 'hour'])}",
            f"greatest({self.exact(1)}, {self.exact(1)})", f"least({s}, {t})", "greatest(ts, ts2)", "least(f2, g, n)",
            f"round({rng.choice(['d', 'e', 'd2'])}, {rng.randint(0, 2)})", "round(f2)", "floor(f)", "ceil(f2)",
            "sqrt(abs(n))", "ln(abs(i) + 1)", "exp(y)", "power(k, 3)",
        ])  # fmt: skip

    # Numbers

    def number(self, depth: int) -> str:
        """Any number: of one row, every value is determined."""
        rng = self.rng
        kind = rng.random()
        if kind < 0.5:
            return self.exact(depth)
        if kind < 0.7:
            return self.dyadic(depth)
        if kind < 0.8:
            quotient = (
                f"({rng.choice(['d', 'e', 'b', 'd2', 'i', 'n'])} / {rng.choice(['3', '0.3', 'k', 'i', 'f', 'n'])})"
            )
            return quotient if rng.random() < 0.5 else f"({quotient} {rng.choice('+-*/')} {rng.choice(EXACT)})"
        if kind < 0.9:
            return f"({self.dyadic(1)} {rng.choice('+-*')} {rng.choice(['d', 'e', '0.1', '1e-3', 'd2', 'w'])})"
        return f"cast({rng.choice(['d', 'e', 'i', 'b', 'n', 'w', 'k'])} as {rng.choice(['double', 'float'])})"

    def dyadic(self, depth: int) -> str:
        """A float that is a multiple of 1/64, small enough to be summed without rounding."""
        rng = self.rng
        if depth == 0 or rng.random() < 0.4:
            return rng.choice(FLOATS)
        kind = rng.random()
        if kind < 0.4:
            return f"({self.dyadic(depth - 1)} {rng.choice('+-')} {rng.choice(['1', '0.25', 'k', 'i', 'n', 'f'])})"
        if kind < 0.6:
            return f"({rng.choice(FLOATS)} * {rng.choice(['2', '0.5', 'k', '-4', '1e1'])})"
        if kind < 0.7:
            quotient = f"({rng.choice(['i', 'k', 'n', 'y', '(i + k)'])} / {rng.choice(['2', '4', '8'])})"
            return quotient if rng.random() < 0.5 else f"({quotient} {rng.choice('+-')} {rng.choice(['k', 'n', '1'])})"
        if kind < 0.85:
            return (
                f"(case when {self.condition(1)} then {rng.choice(FLOATS)} else {rng.choice(['0', 'k', 'null'])} end)"
            )
        return f"{rng.choice(['abs', '-', 'cast'])}({rng.choice(FLOATS)})".replace("cast(", "(0.5 + ")

    def exact(self, depth: int) -> str:
        """An integer or a decimal."""
        rng = self.rng
        if depth == 0 or rng.random() < 0.3:
            return rng.choice(EXACT)
        kind = rng.random()
        if kind < 0.25:
            factor = rng.choice(["2", "0.5", "1.25", "k", "(1 - e)", "(1 + d)", "y"])
            return f"({rng.choice(['d', 'e', 'n', 'k', 'd2', 'i'])} * {factor})"
        if kind < 0.5:
            return f"({self.exact(depth - 1)} {rng.choice('+-')} {rng.choice(['1', '0.25', 'k', 'e', 'i', 'd2'])})"
        if kind < 0.57:
            return f"(-{rng.choice(EXACT)})"
        if kind < 0.64:
            return f"abs({rng.choice(EXACT)})"
        if kind < 0.76:
            other = rng.choice(["0", "n", "e", "null", "1.5"])
            return f"(case when {self.condition(1)} then {rng.choice(['d', 'e', 'k', 'd2'])} else {other} end)"
        if kind < 0.82:
            function = rng.choice(["coalesce", "coalesce", "nullif"])
            return f"{function}({rng.choice(['n', 'd2'])}, {rng.choice(['0', 'k', 'e'])})"
        if kind < 0.88:
            return f"({rng.choice(['i', 'b', 'k', 'n'])} % {rng.choice(['3', '7', '-4', '100'])})"
        if kind < 0.94:
            return rng.choice(["extract(year from dt)", "extract(month from dt)", "extract(day from dt2)",
                               "(dt - date '1994-05-06')", "(dt2 - dt)"])  # fmt: skip
        type = rng.choice(["bigint", "decimal(18,3)", "decimal(20,1)", "integer"])
        return f"cast({rng.choice(['d', 'e', 'i', 'n', 'k', 'd2', 'f', 'q2'])} as {type})".replace(
            "(q2 as decimal", "(n as decimal"
        )

    # Conditions

    def condition(self, depth: int) -> str:
        rng = self.rng
        if depth and rng.random() < 0.5:
            left, right = self.condition(depth - 1), self.condition(depth - 1)
            return f"({left} {rng.choice(['and', 'and', 'or'])} {right})"
        if depth and rng.random() < 0.15:
            return f"(not {self.condition(depth - 1)})"
        return self.atom()

    def moment(self, sign: str) -> str:
        rng = self.rng
        day = f"19{rng.randint(65, 98)}-0{rng.randint(1, 9)}-1{rng.randint(0, 9)}"
        return rng.choice([
            f"ts {sign} timestamp '{day} 12:30:00'", f"ts2 {sign} timestamp '{day} 00:00:00.5'", f"ts {sign} ts2",
            f"ts2 {sign} dt", "extract(hour from ts) < 12", "length(s2) > 3", f"upper(s) {sign} lower(s2)",
            "ts between timestamp '1975-01-01' and timestamp '1992-01-01'", "ts2 is null", "s like s2",
        ])  # fmt: skip

    def atom(self) -> str:
        rng = self.rng
        sign = rng.choice(["=", "<>", "<", "<=", ">", ">="])
        kind = rng.randrange(14)
        if kind == 13:
            return self.moment(sign)
        if kind == 0:
            return f"{rng.choice(['d', 'w', 'd2'])} {sign} {rng.randint(-(10**5), 10**5)}.{rng.randint(0, 99):02d}"
        if kind == 1:
            return f"{rng.choice(['i', 'k', 'n', 'y'])} {sign} {rng.randint(-50, 50)}"
        if kind == 2:
            return f"{rng.choice(['s', 's2'])} {sign} '{rng.choice(WORDS)}'"
        if kind == 3:
            day = f"{rng.randint(1992, 1998)}-0{rng.randint(1, 9)}-1{rng.randint(0, 9)}"
            return f"{rng.choice(['dt', 'dt2'])} {sign} date '{day}'"
        if kind == 4:
            return f"{rng.choice(FLOATS)} {sign} {rng.choice(['0.0', '1.5', '-2.25', '100', '1e2', 'k', 'e', '0.1'])}"
        if kind == 5:
            words = ", ".join([repr(w) for w in rng.sample(WORDS[:7], 3)])
            return f"{rng.choice(['s', 's2'])} {rng.choice(['', 'not '])}in ({words})"
        if kind == 6:
            return f"{rng.choice(['s', 's2'])} like '{rng.choice(['%AI%', 'R%', '_AIL', '%', 'Z%', ''])}'"
        if kind == 7:
            return f"{rng.choice(['n', 's2', 'dt2', 'q2', 'f2', 'd2'])} is {rng.choice(['', 'not '])}null"
        if kind == 8:
            return rng.choice(["q", "q2", "not q", "not q2", "q = q2", "q2 is null or q"])
        if kind == 9:
            return rng.choice(["f in (0.0, 1.5, 3)", "f2 in (1.5, -2.25)", "i in (1, 2, 3, 5, 8, 13)", "k in (1)",
                               "n in (1, null)", "e in (0.5, 1, 2.25)", "d2 in (1.5, 0)", "dt in (date '1994-01-01')",
                               "g in (0.5, 1.5)", "n not in (3, 4, 5)"])  # fmt: skip
        if kind == 10:
            return f"{self.exact(1)} {sign} {self.exact(1)}"
        if kind == 11:
            return f"{self.number(1)} {sign} {self.number(1)}"
        return rng.choice(
            ["d < e", "k = n", "d between -1000 and 5000.5", "e > 0.0005 * k", "dt > dt2", "s = s2", "s < s2",
             "n between k and 7", "f2 = f2", "f2 <> f2", "f > f2", "f2 between -1 and 1.5"]
        )  # fmt: skip
