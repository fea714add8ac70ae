"""Random queries whose subqueries read the tables around them again, in every clause, for comparison with DuckDB.

Both tables have the same columns with few values and NULLs, and inner names may hide outer ones, so that a name that is
taken for another one's, and a truth that is never unknown, change the answer.
"""

from __future__ import annotations

import random

import pyarrow as pa

from tests.sql.random_queries import RandomQuery

NUMBERS = ["a", "b", "c"]
TABLES = ["t", "u"]
ALIASES = ["t", "u", "x", "y", "t2"]
OPERATORS = ["=", "=", "<>", "<", ">", "<="]
#: What is asked of a truth.
ASKED = [
    "{q}", "not {q}", "{q} is null", "{q} is not true", "{q} is not false", "coalesce({q}, {p})", "({q} and {p})",
    "({q} or {p})", "not ({q} and {p})", "not ({q} or {p})", "({q} and {p}) is null", "({q} or {p}) is not null",
    "{q} = {p}", "{q} is distinct from {p}", "(case when {q} then {p} else not {p} end)",
    "(case when {p} then {q} end) is null",
]  # fmt: skip


def subquery_table(rng: random.Random, rows: int) -> pa.Table:
    nulls = rng.choice([0.0, 0.2, 0.2, 0.3])

    def column(type: pa.DataType, choice: list[object]) -> pa.Array:
        return pa.array([None if rng.random() < nulls else rng.choice(choice) for _ in range(rows)], type)

    numbers: dict[str, pa.Array] = {name: column(pa.int64(), [0, 1, 2, 3, 4]) for name in NUMBERS}
    return pa.table({**numbers, "s": column(pa.string(), ["p", "q", "r"]), "q": column(pa.bool_(), [True, False])})


class Scope:
    """The tables of a FROM, by the names of their columns; ``around`` is that of the query around it."""

    def __init__(self, names: dict[str, list[str]], around: Scope | None = None) -> None:
        self.names = names
        self.around = around

    def visible(self) -> list[tuple[str, int]]:
        """The names of tables that are not hidden, with how far out they are."""
        made: dict[str, int] = {}
        scope: Scope | None = self
        distance = 0
        while scope is not None:
            for name in scope.names:
                made.setdefault(name, distance)
            scope, distance = scope.around, distance + 1
        return list(made.items())

    def columns(self, name: str) -> list[str]:
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.around
        raise KeyError(name)


class SubqueryQueries:
    """Random queries over tables ``t`` and ``u``."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        #: The named queries of the query that is made, with their columns.
        self.named: dict[str, list[str]] = {}
        self.count = 0

    def query(self) -> RandomQuery:
        rng = self.rng
        self.named = {}
        head = ""
        if rng.random() < 0.25:
            name = rng.choice(["w", "w", "x"])
            head = f"with {name} as ({self.table_text(None, 2)}) "
            self.named[name] = ["a", "b", "c", "s", "q"]
        made = rng.choice([self.plain, self.plain, self.filtered, self.filtered, self.grouped, self.windowed,
                           self.together, self.joined, self.lateral])()  # fmt: skip
        return RandomQuery(head + made, head + made)

    # Whole queries

    def plain(self) -> str:
        source, scope = self.source(None, 2)
        where = f" where {self.condition(scope, 2)}" if self.rng.random() < 0.7 else ""
        shown = [self.number(scope, 0), self.value(scope, 2), self.truth(scope, 2)]
        distinct = self.rng.choice(["", "", "distinct "])
        return f"select {distinct}{', '.join([f'{e} as v{i}' for i, e in enumerate(shown)])} from {source}{where}"

    def filtered(self) -> str:
        """The conditions outside of a query whose columns are subqueries."""
        inner = self.table_text(None, 3)
        name = self.rng.choice(["z", "t", "u"])
        scope = Scope({name: ["a", "b", "c", "s", "q"]})
        shown = self.rng.choice(["a, b", "*", "count(*)", "a, q", f"{name}.b, {self.truth(scope, 1)} as v"])
        return f"select {shown} from ({inner}) {name} where {self.condition(scope, 2)}"

    def grouped(self) -> str:
        rng = self.rng
        source, scope = self.source(None, 2)
        name = rng.choice(list(scope.names))
        key = f"{name}.{rng.choice(NUMBERS)}"
        measures = [
            rng.choice(["count(*)", f"sum({name}.b)", f"max({name}.c)"]),
            rng.choice([f"sum({self.value(scope, 1)})", f"count(*) filter (where {self.truth(scope, 1)})",
                        f"bool_or({self.truth(scope, 1)})"]),
        ]  # fmt: skip
        where = f" where {self.condition(scope, 1)}" if rng.random() < 0.4 else ""
        alias, table = self.inner(Scope({"": []}))
        having = rng.choice([
            "", f" having count(*) > (select min({alias}.a) from {table})",
            f" having {key} {rng.choice(['', 'not '])}in (select {alias}.b from {table})",
            f" having sum({name}.b) is null or exists (select 1 from {table} where {alias}.a > 3)",
        ])  # fmt: skip
        if alias == name:
            having = ""
        shown = ", ".join([f"{key} as k", *[f"{m} as m{i}" for i, m in enumerate(measures)]])
        return f"select {shown} from {source}{where} group by {key}{having}"

    def windowed(self) -> str:
        source, scope = self.source(None, 1)
        name = next(iter(scope.names))
        truth, value = self.truth(scope, 1), self.value(scope, 1)
        call = self.rng.choice([
            f"count(*) over (partition by {truth})", f"sum({value}) over (partition by {name}.a)",
            f"max({value}) over (partition by {name}.s)", f"rank() over (order by {value})",
        ])  # fmt: skip
        where = f" where {self.condition(scope, 1)}" if self.rng.random() < 0.5 else ""
        return f"select {name}.a, {name}.b, {call} as v from {source}{where}"

    def together(self) -> str:
        kind = self.rng.choice(["union", "union all", "intersect", "except"])
        sides = []
        for _ in range(2):
            source, scope = self.source(None, 1)
            where = f" where {self.condition(scope, 1)}" if self.rng.random() < 0.6 else ""
            sides.append(f"select {self.number(scope, 0)} as v, {self.truth(scope, 1)} as w from {source}{where}")
        return f" {kind} ".join(sides)

    def joined(self) -> str:
        rng = self.rng
        kind = rng.choice(["join", "join", "left join", "right join", "full join"])
        left, right = rng.choice([("t", "t2"), ("t", "u"), ("x", "y")])
        inner = self.table_text(None, 2)
        on = f"{left}.{rng.choice(NUMBERS)} = {right}.{rng.choice(NUMBERS)}"
        scope = Scope({name: ["a", "b", "c", "s", "q"] for name in (left, right)})
        if kind == "join" and rng.random() < 0.6:
            on += f" and {self.condition(scope, 1)}"
        where = f" where {self.condition(scope, 2)}" if rng.random() < 0.7 else ""
        own = left if left in TABLES else rng.choice(TABLES) + " " + left
        shown = f"{left}.a, {right}.b, {self.truth(scope, 1)} as v"
        return f"select {shown} from {own} {kind} ({inner}) {right} on {on}{where}"

    def lateral(self) -> str:
        rng = self.rng
        source, scope = self.source(None, 1)
        alias, table = self.inner(scope)
        inner = Scope({alias: ["a", "b", "c", "s", "q"]}, scope)
        body = f"select max({alias}.a) as m, count(*) as n from {table} where {self.condition(inner, 1)}"
        name = next(iter(scope.names))
        where = rng.choice(["", " where l.n > 1", f" where l.m is distinct from {name}.a"])
        return f"select {name}.a, l.m, l.n from {source}, lateral ({body}) l{where}"

    # Tables

    def table_text(self, around: Scope | None, depth: int) -> str:
        """A query of columns a, b, c, s and q, of which some are computed."""
        rng = self.rng
        source, scope = self.source(around, depth - 1)
        name = next(iter(scope.names))
        truth = self.truth(scope, depth - 1) if rng.random() < 0.7 else f"{name}.q"
        c = self.value(scope, depth - 1) if rng.random() < 0.3 else f"{name}.c"
        where = f" where {self.condition(scope, depth - 1)}" if rng.random() < 0.4 else ""
        made = f"select {name}.a, {name}.b, {c} as c, {name}.s, {truth} as q from {source}{where}"
        if rng.random() < 0.15:
            made += f" union all select a, b, c, s, q from {rng.choice(TABLES)}"
        return made

    def source(self, around: Scope | None, depth: int) -> tuple[str, Scope]:
        rng = self.rng
        alias, text = self.inner(around)
        scope = Scope({alias: ["a", "b", "c", "s", "q"]}, around)
        if depth > 0 and rng.random() < 0.15:
            return f"({self.table_text(None, depth - 1)}) {alias}", scope
        if depth > 0 and rng.random() < 0.2:
            other = rng.choice([n for n in ALIASES if n != alias])
            second = other if other in TABLES else f"{rng.choice(TABLES)} {other}"
            kind = rng.choice(["join", "left join"])
            scope.names[other] = ["a", "b", "c", "s", "q"]
            return f"{text} {kind} {second} on {alias}.{rng.choice(NUMBERS)} = {other}.{rng.choice(NUMBERS)}", scope
        return text, scope

    def inner(self, around: Scope | None) -> tuple[str, str]:
        """A table's name, and its text in FROM: mostly one that is not hidden by it."""
        rng = self.rng
        known = [] if around is None else [name for name, _ in around.visible()]
        table = rng.choice([*TABLES, *self.named])
        free = [n for n in ALIASES if n not in known and n not in self.named] or ["v"]
        alias = rng.choice(free) if table in known or rng.random() < 0.6 else table
        if rng.random() < 0.05:
            alias = table
        return alias, table if alias == table else f"{table} {alias}"

    # Expressions

    def column(self, scope: Scope, choice: list[str]) -> str:
        rng = self.rng
        visible = scope.visible()
        near = [name for name, distance in visible if not distance and name]
        far = [name for name, distance in visible if distance and name]
        name = rng.choice(far if far and (rng.random() < 0.3 or not near) else near)
        column = rng.choice(choice)
        return column if name in near and len(near) == 1 and rng.random() < 0.3 else f"{name}.{column}"

    def number(self, scope: Scope, depth: int) -> str:
        rng = self.rng
        kind = rng.random()
        if depth > 0 and kind < 0.2:
            return self.value(scope, depth)
        if kind < 0.85:
            return self.column(scope, NUMBERS)
        return rng.choice([f"({self.column(scope, NUMBERS)} + 1)", f"coalesce({self.column(scope, NUMBERS)}, 1)",
                           str(rng.randint(0, 4)), f"-{self.column(scope, NUMBERS)}"])  # fmt: skip

    def value(self, scope: Scope, depth: int) -> str:
        """A subquery that stands for one number."""
        rng = self.rng
        if depth <= 0:
            return self.column(scope, NUMBERS)
        source, inner = self.source(scope, depth - 1)
        where = f" where {self.correlated(inner, depth)}" if rng.random() < 0.9 else ""
        near = list(inner.names)
        own = f"{rng.choice(near)}.{rng.choice(NUMBERS)}"
        kind = rng.random()
        if kind < 0.55:
            measure = rng.choice(["count(*)", "max({})", "min({})", "sum({})", "count({})", "count(distinct {})"])
            return f"(select {measure.format(own)} from {source}{where})"
        if kind < 0.7:
            return f"(select {own} from {source}{where} order by {own} nulls last limit 1)"
        if kind < 0.8:
            return f"(select count(*) from {source}{where} group by {own} order by count(*) desc limit 1)"
        if kind < 0.9:
            return f"(select max(w) from (select {own} as w from {source}{where} order by 1 limit 2) v)"
        return f"(select {self.number(scope, 0)} + max({own}) from {source}{where})"

    def correlated(self, inner: Scope, depth: int) -> str:
        """A condition of a subquery that names a column around it, mostly."""
        rng = self.rng
        near = rng.choice(list(inner.names))
        far = [name for name, distance in inner.visible() if distance and name]
        made: list[str] = []
        if far and rng.random() < 0.85:
            operator = rng.choice(OPERATORS if rng.random() < 0.9 else ["is not distinct from", "is distinct from"])
            made.append(f"{near}.{rng.choice(NUMBERS)} {operator} {rng.choice(far)}.{rng.choice(NUMBERS)}")
        if rng.random() < 0.35 or not made:
            made.append(self.condition(inner, depth - 1))
        return f" {rng.choice(['and', 'and', 'or'])} ".join(made)

    def truth(self, scope: Scope, depth: int) -> str:
        """Whether there is a row, or whether a value is one of a subquery's, or compares with it."""
        rng = self.rng
        if depth <= 0:
            return self.condition(scope, 0)
        source, inner = self.source(scope, depth - 1)
        where = f" where {self.correlated(inner, depth)}" if rng.random() < 0.75 else ""
        own = f"{rng.choice(list(inner.names))}.{rng.choice(NUMBERS)}"
        no = rng.choice(["", "not "])
        kind = rng.random()
        if kind < 0.3:
            shown = rng.choice(["1", "*", own, f"max({own})", "null"])
            tail = rng.choice(["", "", "", f" group by {own} having count(*) > 1"]) if shown == own else ""
            return f"({no}exists (select {shown} from {source}{where}{tail}))"
        if kind < 0.6:
            left = self.number(scope, 0) if rng.random() < 0.9 else rng.choice(["null", "9", "1"])
            own = rng.choice([own, own, own, "count(*)", f"max({own})"])
            return f"({left} {no}in (select {own} from {source}{where}))"
        if kind < 0.75:
            quantor = rng.choice(["any", "all", "some"])
            left = self.number(scope, 0)
            return f"({left} {rng.choice(OPERATORS)} {quantor} (select {own} from {source}{where}))"
        if kind < 0.8:
            names = list(inner.names)
            row = f"({self.column(scope, NUMBERS)}, {self.column(scope, NUMBERS)})"
            return f"({row} {no}in (select {names[0]}.a, {names[-1]}.b from {source}{where}))"
        return f"({self.number(scope, 0)} {rng.choice(OPERATORS)} {self.value(scope, depth)})"

    def condition(self, scope: Scope, depth: int) -> str:
        rng = self.rng
        if depth > 0 and rng.random() < 0.75:
            other = self.condition(scope, depth - 1 if rng.random() < 0.3 else 0)
            return f"({rng.choice(ASKED).format(q=self.truth(scope, depth), p=other)})"
        if depth > 0 and rng.random() < 0.3:
            word = rng.choice(["and", "or"])
            return f"({self.condition(scope, depth - 1)} {word} {self.condition(scope, depth - 1)})"
        one, other = self.column(scope, NUMBERS), self.column(scope, NUMBERS)
        made = rng.choice([
            f"{one} {rng.choice(OPERATORS)} {other}", f"{one} {rng.choice(OPERATORS)} {rng.randint(0, 4)}",
            f"{one} is {rng.choice(['', 'not '])}null", self.column(scope, ["q"]), f"(not {self.column(scope, ['q'])})",
            f"{self.column(scope, ['s'])} = {self.column(scope, ['s'])}", f"{self.column(scope, ['s'])} like 'p%'",
            f"{one} {rng.choice(['', 'not '])}in ({rng.choice(['1, 2', '0, 3, null', '4'])})",
        ])  # fmt: skip
        return made if made.startswith("(") else f"({made})"
