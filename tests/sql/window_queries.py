"""Random queries with window functions over the columns of ``random_table``, for comparison with DuckDB.

What depends on the order of equal rows is ordered by ``b`` at last, which repeats no value in any table that is made.
"""

from __future__ import annotations

from tests.sql.random_queries import Queries, RandomQuery

PARTITIONS = ["k", "s", "s2", "q", "q2", "n", "f2", "e", "extract(year from dt2)", "k % 2"]
ORDERS = ["k", "n", "s2", "dt2", "d2", "f2", "g", "q2", "e", "y", "s", "tm2"]
INTEGERS = ["k", "n", "i", "y"]
#: Orders of frames whose offsets are no integers, each with some of those.
RANGES = {
    "d2": ["1.5", "100.25", "0"], "e": ["2.125", "10"], "f2": ["0.5", "3"], "f": ["1.25", "100"],
    "dt2": ["interval '40' day", "interval '1' month"], "ts2": ["interval '1' year", "interval '36' hour"],
    "moment2": ["interval '5' day"], "tm2": ["interval '2' hour", "interval '40' minute"],
}  # fmt: skip
VALUES = ["i", "n", "d2", "s2", "dt2", "q2", "f2", "e", "w", "s"]
ROWS = ["unbounded preceding", "3 preceding", "1 preceding", "0 preceding", "current row", "2 following",
        "unbounded following"]  # fmt: skip


class WindowQueries(Queries):
    """Random queries over table ``t``."""

    def query(self) -> RandomQuery:
        rng = self.rng
        kind = rng.random()
        if kind < 0.1:
            return self.over_groups()
        pairs = [self.windowed() for _ in range(rng.randint(1, 3))]
        where = self.where() if rng.random() < 0.4 else ""
        texts: list[str] = []
        for side in (0, 1):
            shown = ", ".join([f"{p[side]} as w{i}" for i, p in enumerate(pairs)])
            texts.append(f"select b, {shown} from t{where}")
        if kind < 0.2:
            inside = f"order by {rng.choice(ORDERS)}, b{self.frame()}"
            text = f"select b, sum(n) over (w {inside}) as x, count(*) over w as y from t{where}"
            text += f" window w as ({self.partition() or 'partition by k'})"
            return RandomQuery(text, text)
        if kind < 0.3:
            number = f"row_number() over ({self.window(total=True)}) as r"
            text = f"select * from (select b, {number} from t{where}) where r <= {rng.randint(1, 4)}"
            return RandomQuery(text, text)
        return RandomQuery(texts[0], texts[1])

    def over_groups(self) -> RandomQuery:
        key = self.rng.choice(["k", "s2", "n"])
        text = f"select {key}, count(*) as c, rank() over (order by sum(i) desc) as r, sum(count(*)) over () as s"
        text += f" from t{self.where()} group by {key}"
        return RandomQuery(text, text)

    def windowed(self) -> tuple[str, str]:
        """A window function, and what DuckDB is asked in its place."""
        rng = self.rng
        kind = rng.random()
        if kind < 0.3:
            function = rng.choice(["row_number", "ntile", "rank", "dense_rank", "percent_rank", "cume_dist"])
            count = rng.choice([1, 2, 3, 7, 50]) if function == "ntile" else ""
            made = f"{function}({count}) over ({self.window(total=function in ('row_number', 'ntile'))})"
        elif kind < 0.5:
            function = rng.choice(["lag", "lead"])
            value, other = rng.choice([("n", "k"), ("i", "7"), ("s2", "s"), ("d2", "1.5"), ("q2", "q"), ("f2", "f")])
            more = rng.choice(["", ", 1", ", 3", f", 2, {other}", f", 1, {other}"])
            made = f"{function}({value}{more}) over ({self.window(total=True)})"
        elif kind < 0.65:
            function = rng.choice(["first_value({})", "last_value({})", "nth_value({}, 2)"]).format(rng.choice(VALUES))
            made = f"{function} over ({self.window(total=True)}{self.frame()})"
        else:
            return self.aggregate()
        if rng.random() < 0.1:
            made = f"({made} is not null)"
        return made, made

    def aggregate(self) -> tuple[str, str]:
        rng = self.rng
        over = self.framed()
        function = rng.choice(["sum", "sum", "avg", "min", "max", "count", "count(*)", "other"])
        if function == "other":
            call = rng.choice(["median(n)", "quantile_cont(d2, 0.3)", "bool_or(q2)", "bit_xor(n)", "bool_and(n > 2)",
                               "median(f2)", "bit_and(u)", "median(dt2)", "quantile_disc(s2, 0.3)",
                               "quantile_cont(ts2, 0.3)"])  # fmt: skip
            return f"{call} over ({over})", f"{call} over ({over})"
        if function == "count(*)":
            made = f"count(*) over ({over})"
        elif rng.random() < 0.25:
            call = rng.choice(["count", "sum", "count", "min"])
            value = rng.choice(
                ["k", "n", "y", "d2", "e"] if call == "sum" else ["k", "n", "s2", "q2", "f2", "dt2", "d2"]
            )
            made = f"{call}(distinct {value}) over ({over})"
        elif function in ("min", "max", "count"):
            made = f"{function}({rng.choice([*VALUES, self.number(1)])}) over ({over})"
        elif rng.random() < 0.3:
            made = f"{function}({self.dyadic(1)}) over ({over})"
        else:
            value = rng.choice(["n", "d2", "i", "b", "w", "e", self.exact(1)])
            if function == "avg":
                parts = f"{{'sum': sum({value}) over ({over}), 'count': count({value}) over ({over})}}"
                return f"avg({value}) over ({over})", parts
            made = f"sum({value}) over ({over})"
        return made, made

    def framed(self) -> str:
        """A window whose frame, and so its set of rows, is determined."""
        rng = self.rng
        kind = rng.random()
        if kind < 0.15:
            return self.by_offsets()
        if kind < 0.25:
            return self.by_groups()
        if kind < 0.4:
            return self.window(total=False, ordered=rng.random() < 0.7)
        if kind < 0.7:
            return self.window(total=True) + self.frame()
        low, high = (
            rng.choice(["unbounded preceding", "3 preceding", "1 following", "current row"]),
            rng.choice(["unbounded following", "2 following", "5 following", "current row"]),
        )
        if low == "1 following" and high == "current row":
            high = "2 following"
        order = f"{rng.choice(INTEGERS)} {rng.choice(['asc', 'desc'])} {rng.choice(['', 'nulls first', 'nulls last'])}"
        return f"{self.partition()} order by {order} range between {low} and {high}".strip()

    def by_offsets(self) -> str:
        rng = self.rng
        key = rng.choice(list(RANGES))
        low = rng.choice(["unbounded preceding", f"{rng.choice(RANGES[key])} preceding", "current row"])
        high = rng.choice(["unbounded following", f"{rng.choice(RANGES[key])} following", "current row"])
        order = f"{key} {rng.choice(['asc', 'desc'])} {rng.choice(['', 'nulls first', 'nulls last'])}"
        return f"{self.partition()} order by {order} range between {low} and {high}".strip()

    def by_groups(self) -> str:
        rng = self.rng
        low = rng.randrange(len(ROWS) - 1)
        high = rng.randrange(max(low, 1), len(ROWS))
        return f"{self.window(total=False)} groups between {ROWS[low]} and {ROWS[high]}"

    def frame(self) -> str:
        rng = self.rng
        if rng.random() < 0.4:
            return ""
        low = rng.randrange(len(ROWS) - 1)
        high = rng.randrange(max(low, 1), len(ROWS))
        return f" rows between {ROWS[low]} and {ROWS[high]}"

    def partition(self) -> str:
        rng = self.rng
        keys = rng.sample(PARTITIONS, rng.choice([0, 1, 1, 2]))
        return f"partition by {', '.join(keys)}" if keys else ""

    def window(self, total: bool, ordered: bool = True) -> str:
        rng = self.rng
        if not (total or ordered):
            return self.partition()
        nulls = ["", " nulls first", " nulls last"]
        count = rng.choice([0, 1, 1, 2]) if total else rng.choice([1, 1, 2])
        keys = [f"{c} {rng.choice(['asc', 'desc'])}{rng.choice(nulls)}" for c in rng.sample(ORDERS, count)]
        return f"{self.partition()} order by {', '.join([*keys, 'b'] if total else keys)}".strip()
