"""Random queries over two tables: joins of every kind, subqueries and unions, for comparison with DuckDB.

The second table is ``u``, whose columns are those of ``random_table`` with ``u_`` before their names.
"""

from __future__ import annotations

import random

import pyarrow as pa

from tests.sql.random_queries import Queries, RandomQuery, random_table

#: Columns that are compared in joins: of one type, of two types that compare, with NULLs, NaN and repeated values.
PAIRS = [
    ("k", "u_k"), ("k", "u_k"), ("n", "u_n"), ("n", "u_n"), ("s", "u_s"), ("s2", "u_s2"), ("dt", "u_dt"),
    ("dt2", "u_dt2"), ("q2", "u_q2"), ("f2", "u_f2"), ("d2", "u_d2"), ("e", "u_d"), ("i", "u_k"), ("b", "u_i"),
    ("f", "u_i"), ("g", "u_f"), ("y", "u_n"), ("d2", "u_n"), ("w", "u_w"), ("k", "u_y % 3"), ("k + 1", "u_n"),
    ("extract(year from dt)", "u_k + 1993"),
    ("substring(s from 1 for 1)", "substring(u_s2 from 1 for 1)"),
]  # fmt: skip
#: Conditions over both sides.
CONDITIONS = [
    "i < u_i", "n <> u_n", "d2 > u_d2", "s2 < u_s2", "dt <= u_dt2", "f2 >= u_f2", "u_i > 0", "q2", "(u_q2 or q)",
    "n > 3", "u_n is null", "k + u_k > 3", "coalesce(n, u_n) > 0", "(s = u_s or i > u_i)",
]  # fmt: skip
#: Columns that go into one column of a union.
SAME = [
    ("k", "u_k"), ("n", "u_n"), ("s", "u_s2"), ("s2", "u_s"), ("d2", "u_e"), ("dt", "u_dt2"), ("f2", "u_f"),
    ("q", "u_q2"),
]  # fmt: skip
THEIRS = ["u_i", "u_k", "u_n", "u_s", "u_s2", "u_d2", "u_dt2", "u_f2", "u_q2", "u_e"]
OURS = ["i", "k", "n", "s", "s2", "d2", "dt2", "f2", "q2", "e"]


def second_table(rng: random.Random, rows: int) -> pa.Table:
    made = random_table(rng, rows)
    return made.rename_columns([f"u_{name}" for name in made.column_names])


class JoinQueries(Queries):
    """Random queries over tables ``t`` and ``u``."""

    def query(self) -> RandomQuery:
        kind = self.rng.random()
        if kind < 0.05:
            return self.using()
        if kind < 0.4:
            return self.joined()
        if kind < 0.65:
            return self.filtered()
        if kind < 0.8:
            return self.asked()
        return self.put_together() if kind < 0.9 else self.derived()

    def joined(self) -> RandomQuery:
        rng = self.rng
        kind = rng.choice(["join", "join", "left join", "left join", "right join", "full join"])
        on = self.on(kind)
        return self.shown(f"t {kind} u on {on}", where=True)

    def using(self) -> RandomQuery:
        """Joins by columns that both sides have, which are one column then."""
        rng = self.rng
        both = rng.sample(["k", "n", "s2", "q2", "dt2", "s"], rng.choice([1, 1, 2]))
        kind = rng.choice(["left join", "right join", "full join", "full outer join", "join"])
        ours = f"(select {', '.join(both)}, i, d2 from t{self.where()}) x"
        theirs = f"(select {', '.join([f'u_{name} as {name}' for name in both])}, u_i, u_e from u) y"
        source = f"{ours} {kind} {theirs} using ({', '.join(both)})"
        if rng.random() < 0.3:
            source = f"{ours} natural {kind} {theirs}"
        if rng.random() < 0.2:
            source += (
                f" left join (select u_k as w_k, count(*) as c, {both[0]} from t join u on k = u_k group by all) z"
            )
            source += f" using ({both[0]})"
        text = f"select {rng.choice(['*', f'{both[0]}, u_i, i', f'x.{both[0]} as a, y.{both[0]} as b'])} from {source}"
        if rng.random() < 0.3:
            text = f"select {both[0]}, count(*) as rows_of, sum(u_i) as total from {source} group by {both[0]}"
        return RandomQuery(text, text)

    def on(self, kind: str) -> str:
        rng = self.rng
        conditions = [self.equality() for _ in range(rng.choice([1, 1, 1, 2, 3]))]
        if kind != "full join" and rng.random() < 0.4:
            conditions.append(rng.choice(CONDITIONS))
        if kind == "join" and rng.random() < 0.1:
            conditions = [rng.choice(CONDITIONS)]
        return " and ".join(conditions)

    def equality(self) -> str:
        left, right = self.rng.choice(PAIRS)
        if self.rng.random() < 0.5:
            left, right = right, left
        return f"({left} {'is not distinct from' if self.rng.random() < 0.1 else '='} {right})"

    def shown(self, source: str, where: bool, ours_only: bool = False) -> RandomQuery:
        """A query over the joined rows: their columns, or aggregates of them."""
        rng = self.rng
        columns = OURS if ours_only else [*OURS, *THEIRS]
        tail = f" where {self.condition(1)}" if where and rng.random() < 0.3 else ""
        shape = rng.random()
        if shape < 0.4:
            chosen = rng.sample(columns, 4)
            text = f"select {', '.join(chosen)} from {source}{tail}"
            return RandomQuery(text, text)
        pairs = self.measures(2) if rng.random() < 0.5 else []
        for column in rng.sample(columns, 2):
            function = rng.choice(["count", "min", "max", "count(distinct"])
            made = f"{function}({column})" if "(" not in function else f"{function} {column})"
            pairs.append((made, made))
        pairs.append(("count(*)", "count(*)"))
        keys = rng.sample(columns, rng.randint(1, 2)) if shape < 0.8 else []
        group = f" group by {', '.join(keys)}" if keys else ""
        texts: list[str] = []
        for side in (0, 1):
            shown = [*keys, *[f"{p[side]} as m{i}" for i, p in enumerate(pairs)]]
            texts.append(f"select {', '.join(shown)} from {source}{tail}{group}")
        return RandomQuery(texts[0], texts[1])

    def filtered(self) -> RandomQuery:
        """Rows of ``t`` that a subquery over ``u`` selects."""
        rng = self.rng
        conditions = [self.subquery()]
        if rng.random() < 0.3:
            conditions.append(self.condition(1))
        word = rng.choice([" and ", " and ", " or "])
        source = f"t where {word.join(conditions)}"
        return self.shown(source, where=False, ours_only=True)

    def subquery(self) -> str:
        rng = self.rng
        left, right = rng.choice(PAIRS)
        inner = rng.choice(
            ["", "", " where u_i > 0", " where u_n is not null", " where u_k = k", " where u_i < i and u_k = k"]
        )
        kind = rng.random()
        if kind < 0.3:
            return f"{left} {rng.choice(['in', 'not in'])} (select {right} from u{inner})"
        if kind < 0.6:
            extra = f" and {rng.choice(CONDITIONS)}" if rng.random() < 0.4 else ""
            return f"{rng.choice(['exists', 'not exists'])} (select 1 from u where {left} = {right}{extra})"
        if kind < 0.8:
            function = rng.choice(["max(u_i)", "min(u_n)", "count(*)", "count(u_n)", "sum(u_k)", "max(u_d2)"])
            inner = rng.choice(["", " where u_k = k", " where u_s2 = s2", " where u_i > 200"])
            return (
                f"{rng.choice(['i', 'n', 'd2'])} {rng.choice(['>', '<=', '<>', '='])} (select {function} from u{inner})"
            )
        if kind < 0.9:
            return f"{rng.choice(['exists', 'not exists'])} (select 1 from u where u_i > {rng.randint(-50, 150)})"
        word = rng.choice(["any", "all"])
        return f"i {rng.choice(['>', '<=', '='])} {word} (select {rng.choice(['u_i', 'u_n'])} from u)"

    def asked(self) -> RandomQuery:
        """Subqueries that depend on the row as values: in the select list, an aggregate, a CASE or a condition."""
        rng = self.rng
        found = self.dependent()
        kind = rng.random()
        where = self.where() if rng.random() < 0.3 else ""
        if kind < 0.4:
            text = f"select {', '.join(rng.sample(OURS, 2))}, {found} as x, {self.dependent()} as y from t{where}"
        elif kind < 0.6:
            shown = f"{rng.choice(['s', 'k', 'q2'])} as key, max({found}) as x, count({found}) as y"
            text = f"select {shown} from t{where} group by 1"
        elif kind < 0.8:
            text = f"select b, n from t where ({found}) is {rng.choice(['', 'not '])}null or {self.condition(1)}"
        else:
            text = (
                f"select b, case when {self.truth()} then 'a' when not {self.truth()} then 'b' end as x from t{where}"
            )
        return RandomQuery(text, text)

    def dependent(self) -> str:
        """A subquery of the row: a truth, or one value."""
        rng = self.rng
        if rng.random() < 0.5:
            return self.truth()
        value = rng.choice(
            [
                "max(u_i)",
                "min(u_s2)",
                "count(*)",
                "count(u_n)",
                "sum(u_k)",
                "max(u_d2)",
                "count(distinct u_s)",
                "bool_or(u_q2)",
            ]
        )
        if rng.random() < 0.2:
            return f"(select {rng.choice(['u_i', 'u_n', 'u_s2'])} from u{self.inner()} order by u_b limit 1)"
        return f"(select {value} from u{self.inner()})"

    def truth(self) -> str:
        rng = self.rng
        left, right = rng.choice(PAIRS)
        kind = rng.random()
        if kind < 0.1:
            other, their_other = rng.choice([("k", "u_k"), ("n", "u_n"), ("s2", "u_s2"), ("q2", "u_q2")])
            rows = f"select {right}, {their_other} from u"
            return f"(({left}, {other}) {rng.choice(['in', 'not in'])} ({rows}))"
        if kind < 0.4:
            return f"(({left}) {rng.choice(['in', 'not in'])} (select {right} from u{self.inner()}))"
        if kind < 0.8:
            return f"({rng.choice(['', 'not '])}exists (select 1 from u{self.inner()}))"
        comparison = rng.choice([">", "<=", "<>", "="])
        return (
            f"(i {comparison} {rng.choice(['any', 'all'])} (select {rng.choice(['u_i', 'u_n'])} from u{self.inner()}))"
        )

    def inner(self) -> str:
        rng = self.rng
        left, right = rng.choice(PAIRS)
        return rng.choice([
            "", f" where {left} = {right}", f" where {rng.choice(CONDITIONS)}", f" where {rng.choice(CONDITIONS)}",
            f" where {left} = {right} and {rng.choice(CONDITIONS)}",
            f" where {left} is not distinct from {right} or {rng.choice(CONDITIONS)}",
        ])  # fmt: skip

    def put_together(self) -> RandomQuery:
        rng = self.rng
        both = rng.sample(SAME, rng.randint(1, 3))
        word = rng.choice(["union all", "union all", "union", "intersect", "except", "intersect all", "except all"])
        ours, theirs = [", ".join([p[side] for p in both]) for side in (0, 1)]
        text = f"select {ours} from t{self.where()} {word} select {theirs} from u"
        if word == "union all" and rng.random() < 0.5:
            names = ", ".join([f"c{i}" for i in range(len(both))])
            last = f"count(c{len(both) - 1}) as l"
            text = f"select c0, count(*) as m, {last} from ({text}) as v({names}) group by 1"
        return RandomQuery(text, text)

    def derived(self) -> RandomQuery:
        """A join with groups of ``u``, and with a subquery of one row."""
        rng = self.rng
        key = rng.choice(["k", "n", "s2", "s"])
        inner = (
            f"(select u_{key} as v_key, count(*) as u_i, max(u_n) as u_n, min(u_s2) as u_s2 from u group by u_{key}) v"
        )
        kind = rng.choice(["join", "left join", "right join"])
        text = f"select {key} as key, i, n as m, u_i, u_n, u_s2 from t {kind} {inner} on {key} = v_key"
        if rng.random() < 0.5:
            shown = f"{key} as key, (select max(u_i) from u) as m, {self.number(1)} as x"
            text = f"select {shown} from t, {inner} where {key} = v_key"
        return RandomQuery(text, text)
