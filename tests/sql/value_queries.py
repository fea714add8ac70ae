"""Random expressions over the columns of ``random_table``, for comparison with DuckDB: CASE, COALESCE and NULLIF within
each other, values that are tried in every type, arithmetic of dates and moments, text that is empty, NULL or not ASCII,
subqueries that name the row, distinct values of every type, unions of two types.
"""

from __future__ import annotations

from tests.sql.random_queries import Queries, RandomQuery

NUMBERS = ["i", "k", "n", "y", "d", "d2", "e", "u", "v2", "w"]
TEXTS = ["s", "s2", "upper(s2)", "''", "'Zoë 🙂'", "s || s2"]
DAYS = ["dt", "dt2", "date '1996-02-29'"]
MOMENTS = ["ts", "ts2", "moment2", "timestamp '1995-12-31 23:59:59'"]
#: What has DuckDB's type and text with an interval and as text; of constants alone it is DataFusion's.
OF_COLUMNS = ["dt", "dt2", "ts", "ts2", "moment2"]
CONDITIONS = ["q", "q2", "i > 0", "s = s2", "dt < dt2", "n is null", "tm2 < time '12:00:00'"]
#: Values that CASE and its kin choose from, whose types are one.
CHOICES = {"number": NUMBERS, "text": TEXTS, "day": DAYS, "moment": ["ts", "ts2"], "condition": CONDITIONS,
           "clock": ["tm2", "time '06:30:00'"]}  # fmt: skip
COLUMNS = ["i", "n", "y", "d2", "e", "f2", "g", "q2", "s", "s2", "dt2", "ts2", "u", "v2", "x2", "tm2"]
TRIED = {
    "tinyint": NUMBERS, "smallint": [*NUMBERS, "s"], "integer": [*NUMBERS, "s2", "q2"], "bigint": [*NUMBERS, "s"],
    "utinyint": NUMBERS, "usmallint": NUMBERS, "uinteger": NUMBERS, "ubigint": NUMBERS, "double": [*NUMBERS, "s"],
    "decimal(5,1)": NUMBERS, "decimal(18,3)": NUMBERS, "decimal(30,2)": [*NUMBERS, "s2"], "boolean": ["i", "s", "q2"],
    "varchar": [*NUMBERS, "dt2", "ts2", "q2", "tm2", "s"], "date": ["dt2", "ts2", "s"], "time": ["ts2", "tm2"],
    "timestamp": ["dt2", "ts2", "s2"],
}  # fmt: skip
SPANS = ["1 day", "1 month", "-1 month", "1 year", "13 months", "36 hours", "90 minutes", "1 year 2 months 3 days"]


class ValueQueries(Queries):
    """Random queries over table ``t``."""

    def query(self) -> RandomQuery:
        rng = self.rng
        kind = rng.random()
        if kind < 0.15:
            text = self.subquery()
        elif kind < 0.3:
            text = self.distinct()
        elif kind < 0.4:
            text = self.union()
        else:
            makers = [self.chosen, self.tried, self.tried, self.moved, self.spelt]
            shown = ", ".join([f"{rng.choice(makers)()} as x{i}" for i in range(rng.randint(1, 3))])
            text = f"select b, {shown} from t{self.where()}"
        return RandomQuery(text, text)

    def chosen(self) -> str:
        return self.choice(self.rng.choice(list(CHOICES)), self.rng.randint(1, 3))

    def choice(self, type: str, depth: int) -> str:
        rng = self.rng
        value = rng.choice(CHOICES[type])
        if depth == 0:
            return value
        first, kind = self.choice(type, depth - 1), rng.random()
        if kind < 0.3:
            return f"coalesce({first}, {value})"
        if kind < 0.5:
            return f"nullif({first}, {value})"
        condition = self.choice("condition", depth - 1)
        if kind < 0.85:
            return f"case when {condition} then {first} {rng.choice(['', f'else {value}'])} end"
        return f"case k % 3 when 0 then {first} when {rng.choice(['1', 'n'])} then {value} else {first} end"

    def tried(self) -> str:
        rng = self.rng
        type = rng.choice(list(TRIED))
        made = f"try_cast({rng.choice(TRIED[type])} as {type})"
        if type in ("integer", "bigint", "double", "decimal(18,3)"):
            made = rng.choice([made, f"({made} + 1)", f"coalesce({made}, -1)", f"({made} > 5)"])
        return made

    def moved(self) -> str:
        rng = self.rng
        moment, column, span = rng.choice([*DAYS, *MOMENTS]), rng.choice(OF_COLUMNS), f"interval '{rng.choice(SPANS)}'"
        unit = rng.choice(["year", "quarter", "month", "week", "day", "decade", "century"])
        part = rng.choice(["year", "month", "day", "quarter", "week", "dow", "doy", "isodow", "isoyear", "century"])
        return rng.choice([
            f"({column} {rng.choice('+-')} {span})", f"({column} + {span} < {rng.choice(['dt2', 'ts2'])})",
            f"date_trunc('{unit}', {moment})", f"extract({part} from {moment})", f"cast({column} as varchar)",
            f"(tm2 {rng.choice('+-')} interval '{rng.choice(SPANS[5:7])}')", f"({moment} between dt2 and ts2)",
            f"(date_trunc('month', {moment}) + interval '1 month' - interval '1 day')", "(dt2 - dt)", "(dt + k)",
        ])  # fmt: skip

    def spelt(self) -> str:
        rng = self.rng
        text, count = rng.choice(TEXTS), rng.choice(["0", "1", "-1", "3", "100", "k", "null"])
        part = rng.choice(["'A'", "''", "'ë'", "s2"])
        return rng.choice([
            f"length({text})", f"reverse({text})", f"left({text}, {count})", f"right({text}, {count})",
            f"lower({text})", f"lpad({text}, {rng.randint(0, 8)}, 'ëx')", f"trim({text})", f"trim({text}, 'AZ ')",
            f"replace({text}, {part}, '--')", f"contains({text}, {part})", f"starts_with({text}, {part})",
            f"concat_ws(',', {text}, s2, i)", f"({text} || n)", f"({text} < s2)", f"({text} like '_%ë%')",
            f"split_part({text}, ' ', {rng.choice(['1', '2', '-1'])})", f"md5({text})", f"levenshtein({text}, s2)",
            f"regexp_replace({text}, '[A-M]', 'x', 'g')", f"({text} in ('AIR', '', null))", f"repeat({text}, k % 3)",
        ])  # fmt: skip

    def subquery(self) -> str:
        rng = self.rng
        column = rng.choice(COLUMNS)
        match = rng.choice([
            "v.k = t.k", "v.k < t.k", f"v.{column} = t.{column}", f"v.{column} is not distinct from t.{column}",
            "v.s = t.s2", "v.dt = t.dt2 and v.k <> t.k",
        ])  # fmt: skip
        whole = rng.choice(["max", "min", "count", "count(distinct"])
        call = f"{whole} v.{column})" if "(" in whole else f"{whole}(v.{column})"
        return rng.choice([
            f"select b, (select {call} from t v where {match}) as x from t",
            f"select b, {column} in (select v.{column} from t v where {match}) as x from t",
            f"select b, {column} >= all (select v.{column} from t v where {match} and v.i > 0) as x from t",
            f"select b from t where not exists (select 1 from t v where {match} and v.i > 0)",
        ])  # fmt: skip

    def distinct(self) -> str:
        rng = self.rng
        column, key = rng.choice(COLUMNS), rng.choice(["k", "q2", "s2", "dt2", "tm2", "date_trunc('year', ts2)"])
        calls = [
            f"count(distinct {column})", f"min(distinct {column})",
            f"quantile_disc({column}, {rng.choice([0, 0.3, 1])})",
            f"median({rng.choice(['n', 'd2', 'dt2', 'ts2', 'tm2', 's2'])})", "string_agg(distinct s, '-' order by s)",
            f"count(distinct {column}) filter (where i > 0)", f"quantile_cont({rng.choice(['dt2', 'ts2'])}, 0.3)",
        ]  # fmt: skip
        shown = ", ".join([f"{call} as x{i}" for i, call in enumerate(rng.sample(calls, 2))])
        return f"select {key} as g, {shown} from t group by {key}"

    def union(self) -> str:
        rng = self.rng
        one, other = rng.choice([rng.sample(NUMBERS, 2), ["dt", "ts2"], ["g", "d2"], ["f2", "e"], rng.sample(TEXTS, 2)])
        return f"select {one} as x from t where k > 0 {rng.choice(['union', 'union all'])} select {other} from t"
