"""Random tables and random queries of the supported family, for comparison with DuckDB.

Everything follows from the seed. Decimals stay small enough that no expression overflows 18 digits.
"""

from __future__ import annotations

import datetime
import decimal
import random
from typing import Any

import pyarrow as pa

WORDS = ["AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK", "", "a%b", "Zoë", "zz"]
NUMBERS = ["i", "b", "k", "d", "e", "f", "n"]
EXACT = ["i", "b", "k", "d", "e", "n"]


def random_table(rng: random.Random, rows: int) -> pa.Table:
    """Columns of every supported type; ``n``, ``s2``, ``dt2``, ``g2`` and ``f2`` have NULLs."""

    def some_null(value: Any) -> Any:
        return None if rng.random() < 0.2 else value

    def money(limit: int, scale: int) -> decimal.Decimal:
        return decimal.Decimal(rng.randint(-limit, limit)).scaleb(-scale)

    def day() -> datetime.date:
        return datetime.date(1992, 1, 1) + datetime.timedelta(days=rng.randint(0, 2500))

    def float64() -> float:
        return rng.choice([0.0, -0.0, 1.5, -2.25, rng.uniform(-1e3, 1e3), float(rng.randint(-9, 9))])

    words = rng.sample(WORDS, rng.randint(1, len(WORDS)))
    low = rng.randint(-5, 5)
    each = range(rows)
    return pa.table(
        {
            "i": pa.array([rng.randint(-100, 100) for _ in each], pa.int32()),
            "b": pa.array([rng.randint(-(10**12), 10**12) for _ in each], pa.int64()),
            "k": pa.array([rng.randint(low, low + 6) for _ in each], pa.int16()),
            "d": pa.array([money(10**7, 2) for _ in each], pa.decimal128(15, 2)),
            "e": pa.array([money(10**4, 3) for _ in each], pa.decimal128(9, 3)),
            "f": pa.array([float64() for _ in each], pa.float64()),
            "n": pa.array([some_null(rng.randint(-20, 20)) for _ in each], pa.int32()),
            "s": pa.array([rng.choice(words) for _ in each], pa.string()),
            "s2": pa.array([some_null(rng.choice(words)) for _ in each], pa.string()),
            "dt": pa.array([day() for _ in each], pa.date32()),
            "dt2": pa.array([some_null(day()) for _ in each], pa.date32()),
            "g": pa.array([rng.random() < 0.5 for _ in each], pa.bool_()),
            "g2": pa.array([some_null(rng.random() < 0.5) for _ in each], pa.bool_()),
            "f2": pa.array([some_null(float64()) for _ in each], pa.float64()),
        }
    )


class Queries:
    """Random queries over table ``t`` with the columns of ``random_table``."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def query(self) -> str:
        kind = self.rng.random()
        if kind < 0.45:
            return self.grouped()
        return self.scalar() if kind < 0.85 else self.rows()

    def scalar(self) -> str:
        measures = ", ".join([f"{self.measure()} as m{i}" for i in range(self.rng.randint(1, 5))])
        return f"select {measures} from t{self.where()}"

    def grouped(self) -> str:
        keys = self.rng.sample(
            ["s", "k", "g", "s2", "n", "extract(year from dt)", "i", "dt", "g2"], self.rng.randint(1, 2)
        )
        shown = ", ".join([f"{key} as k{i}" for i, key in enumerate(keys)])
        measures = ", ".join([f"{self.measure()} as m{i}" for i in range(self.rng.randint(1, 4))])
        having = f" having count(*) > {self.rng.randint(0, 3)}" if self.rng.random() < 0.2 else ""
        return f"select {shown}, {measures} from t{self.where()} group by {', '.join(keys)}{having}"

    def rows(self) -> str:
        columns = self.rng.sample(["i", "b", "d", "e", "f", "n", "s", "s2", "dt", "g", "g2", "k"], 3)
        return f"select {', '.join(columns)}, {self.number(1)} as x from t{self.where()}"

    def where(self) -> str:
        return f" where {self.condition(2)}" if self.rng.random() < 0.8 else ""

    def measure(self) -> str:
        rng = self.rng
        function = rng.choice(["sum", "avg", "min", "max", "count", "count(*)"])
        if function == "count(*)":
            return function
        if function in ("min", "max") and rng.random() < 0.3:
            argument = rng.choice(["s", "dt", "s2", "dt2", "k"])
        elif function == "count":
            argument = rng.choice(["n", "s2", "i", "dt2"])
        else:
            argument = self.number(2) if function in ("sum", "avg") else self.number(1)
        made = f"{function}({argument})"
        if rng.random() < 0.1:
            made += f" filter (where {self.condition(1)})"
        return made

    def number(self, depth: int) -> str:
        rng = self.rng
        if depth == 0 or rng.random() < 0.3:
            return rng.choice([*NUMBERS, "f2"])
        kind = rng.random()
        if kind < 0.25:
            return (
                f"({rng.choice(['d', 'e', 'n', 'k'])} * {rng.choice(['2', '0.5', '1.25', 'k', '(1 - e)', '(1 + d)'])})"
            )
        if kind < 0.5:
            return f"({self.number(depth - 1)} {rng.choice('+-')} {rng.choice(['1', '0.25', 'k', 'e', 'i'])})"
        if kind < 0.6:
            return f"(-{rng.choice(EXACT)})"
        if kind < 0.7:
            return f"abs({rng.choice(EXACT)})"
        if kind < 0.8:
            return f"(case when {self.condition(1)} then {rng.choice(['d', 'e'])} else 0 end)"
        if kind < 0.9:
            return rng.choice(["extract(year from dt)", "extract(month from dt)", "extract(day from dt2)"])
        return f"({rng.choice(['d', 'e'])} / {rng.choice(['2', '4', '8'])})"

    def condition(self, depth: int) -> str:
        rng = self.rng
        if depth and rng.random() < 0.5:
            left, right = self.condition(depth - 1), self.condition(depth - 1)
            return f"({left} {rng.choice(['and', 'and', 'or'])} {right})"
        if depth and rng.random() < 0.15:
            return f"(not {self.condition(depth - 1)})"
        return self.atom()

    def atom(self) -> str:
        rng = self.rng
        sign = rng.choice(["=", "<>", "<", "<=", ">", ">="])
        kind = rng.randrange(10)
        if kind == 0:
            return f"d {sign} {rng.randint(-(10**5), 10**5)}.{rng.randint(0, 99):02d}"
        if kind == 1:
            return f"{rng.choice(['i', 'k', 'n'])} {sign} {rng.randint(-50, 50)}"
        if kind == 2:
            return f"{rng.choice(['s', 's2'])} {sign} '{rng.choice(WORDS)}'"
        if kind == 3:
            day = f"{rng.randint(1992, 1998)}-0{rng.randint(1, 9)}-1{rng.randint(0, 9)}"
            return f"{rng.choice(['dt', 'dt2'])} {sign} date '{day}'"
        if kind == 4:
            return f"f {sign} {rng.choice(['0.0', '1.5', '-2.25', '100.0'])}"
        if kind == 5:
            return f"{rng.choice(['s', 's2'])} in ({', '.join([repr(w) for w in rng.sample(WORDS[:7], 3)])})"
        if kind == 6:
            return f"{rng.choice(['s', 's2'])} like '{rng.choice(['%AI%', 'R%', '_AIL', '%', 'Z%', ''])}'"
        if kind == 7:
            return f"{rng.choice(['n', 's2', 'dt2', 'g2'])} is {rng.choice(['', 'not '])}null"
        if kind == 8:
            return rng.choice(["g", "g2", "not g", "not g2"])
        return rng.choice(
            ["d < e", "k = n", "d between -1000 and 5000.5", "i in (1, 2, 3, 5, 8, 13)", "e > 0.0005 * k"]
        )
