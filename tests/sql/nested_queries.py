"""Random queries over lists, structs, and tables that queries make, for comparison with DuckDB.

The table is ``t`` of ``random_table`` with ``id``, the lists ``li``, ``lm`` (integers) and ``ls`` (text), and the
struct ``st`` of ``x``, ``y`` and the list ``z`` behind its columns.
"""

from __future__ import annotations

import random

import pyarrow as pa

from tests.sql.random_queries import Queries, RandomQuery, random_table

_WORDS = ["R", "AI", "", "x y", None]


def nested_table(rng: random.Random, rows: int) -> pa.Table:
    def numbers() -> list[int | None] | None:
        return None if rng.random() < 0.15 else [rng.choice([1, 2, 3, -2, None]) for _ in range(rng.randint(0, 4))]

    def words() -> list[str | None] | None:
        return None if rng.random() < 0.15 else [rng.choice(_WORDS) for _ in range(rng.randint(0, 3))]

    def record() -> dict[str, object] | None:
        if rng.random() < 0.15:
            return None
        return {"x": rng.choice([1, 2, 3, None]), "y": rng.choice(_WORDS), "z": numbers()}

    integers = pa.list_(pa.int32())
    made = random_table(rng, rows).append_column("id", pa.array(range(rows), pa.int32()))
    made = made.append_column("li", pa.array([numbers() for _ in range(rows)], integers))
    made = made.append_column("lm", pa.array([numbers() for _ in range(rows)], integers))
    made = made.append_column("ls", pa.array([words() for _ in range(rows)], pa.list_(pa.string())))
    struct = pa.struct([("x", pa.int32()), ("y", pa.string()), ("z", integers)])
    return made.append_column("st", pa.array([record() for _ in range(rows)], struct))


class NestedQueries(Queries):
    """Random queries over ``nested_table``. Words in capitals are other functions for DuckDB."""

    def query(self) -> RandomQuery:
        text, ordered = self.rng.choice([
            self.elements, self.elements, self.grouped_elements, self.listed, self.listed, self.listed, self.by_lists,
            self.sorted, self.recursive, self.paths, self.series, self.asked, self.asked, self.fields, self.united,
        ])()  # fmt: skip
        ours, theirs = text, text
        for word, (mine, other) in _FUNCTIONS.items():
            ours, theirs = ours.replace(word, mine), theirs.replace(word, other)
        return RandomQuery(ours, theirs, ordered)

    def numbers(self, depth: int = 2) -> str:
        """A list of integers of the row."""
        rng = self.rng
        if depth == 0 or rng.random() < 0.4:
            return rng.choice(["li", "lm", "t.st.z"])
        inner = self.numbers(depth - 1)
        return rng.choice([
            f"APPEND({inner}, k)", f"CONCAT({inner}, [k, n])", f"SORT({inner})", f"REVERSE({inner})",
            f"SORT(DISTINCT_OF({inner}))", f"({inner})[{rng.randint(-2, 2)}:{rng.randint(-2, 3)}]",
            f"case when {self.condition(1)} then {inner} else {self.numbers(depth - 1)} end",
            f"coalesce({inner}, {self.numbers(depth - 1)})", f"range(k % {rng.randint(1, 4)})", "[k, n, null]",
        ])  # fmt: skip

    def of_list(self) -> str:
        """Something of a list."""
        rng = self.rng
        given = self.numbers(1)
        return rng.choice([
            f"HAS({given}, {rng.choice(['1', 'k', 'n'])})", f"POSITION({given}, {rng.choice(['2', 'k'])})",
            f"LEAST_OF({given})", f"GREATEST_OF({given})", f"LENGTH_OF({given})", f"({given})[{rng.randint(-2, 2)}]",
            f"({given})[k]", f"{given} = {self.numbers(1)}", f"{given} < {self.numbers(1)}", f"{given} is null",
            "array_to_string(ls, '-')", "HAS(ls, s)", "ls[1]", "t.st.x", "upper(t.st.y)", "LENGTH_OF(SPLIT(s2, 'A'))",
            "SPLIT(s2, 'AI')[1]", f"{given} is distinct from {self.numbers(1)}",
        ])  # fmt: skip

    def where(self) -> str:
        return f" where {self.condition(2)}" if self.rng.random() < 0.5 else ""

    def elements(self) -> tuple[str, bool]:
        rng = self.rng
        given = rng.choice([self.numbers(1), "ls"])
        if rng.random() < 0.4:
            return f"select id, unnest({given}) as v from t{self.where()}", False
        if rng.random() < 0.4:
            return f"select t.id, x.v from t left join unnest({given}) as x(v) on true", False
        return f"select t.id, x.v from t{rng.choice([',', ' cross join'])} unnest({given}) as x(v){self.where()}", False

    def grouped_elements(self) -> tuple[str, bool]:
        inner = f"select unnest({self.rng.choice([self.numbers(1), 'ls'])}) as v, n, id from t{self.where()}"
        return f"select v, count(*) as c, sum(n) as m, max(id) as z from ({inner}) w group by v", False

    def listed(self) -> tuple[str, bool]:
        return (
            f"select id, {self.numbers()} as a, {self.of_list()} as b, {self.of_list()} as c from t{self.where()}",
            False,
        )

    def by_lists(self) -> tuple[str, bool]:
        given = self.rng.choice([self.numbers(1), "ls"])
        measure = self.rng.choice(["sum(n)", "array_agg(li order by id)", "count(distinct lm)", "max(t.st.x)"])
        return f"select a, count(*) as c, max(m) as m from (select {given} as a, id as m from t) v group by a" if (
            self.rng.random() < 0.5
        ) else f"select q2, {measure} as m from t group by q2", False  # fmt: skip

    def sorted(self) -> tuple[str, bool]:
        rng = self.rng
        how = f"{rng.choice(['', 'desc'])} {rng.choice(['', 'nulls first'])}"
        return f"select id, {self.numbers(1)} as a from t order by {rng.choice(['a', 'ls'])} {how}, id limit 20", True

    def recursive(self) -> tuple[str, bool]:
        rng = self.rng
        if rng.random() < 0.5:
            step = f"select t.id, t.n, r.d + 1 from t join r on t.id = r.id + {rng.choice(['1', '2', 't.k'])}"
            start = f"select id, n, 0::bigint as d from t where id % 3 = {rng.randint(0, 2)}"
            return f"with recursive r as ({start} union all {step} where r.d < 4) select * from r", False
        step = f"select p.a, t.k from p join t on t.id = p.b{rng.choice(['', ' and t.n > 0'])}"
        return f"with recursive p as (select id as a, k as b from t union {step}) select * from p", False

    def paths(self) -> tuple[str, bool]:
        start = "select id, [id] as p from t where id < 3"
        step = "select t.id, APPEND(r.p, t.id) from t join r on t.k = r.id % 5 where not HAS(r.p, t.id)"
        return f"with recursive r as ({start} union all {step} and LENGTH_OF(r.p) < 3) select * from r", False

    def series(self) -> tuple[str, bool]:
        rng = self.rng
        low, high, by = rng.randint(-3, 3), rng.randint(-3, 9), rng.choice([1, 2, 3, -1])
        source = f"{rng.choice(['generate_series', 'range'])}({low}, {high}, {by}) as g(m)"
        return f"select m, count(id) as c, sum(n) as s from {source} left join t on g.m = t.k group by m", False

    def asked(self) -> tuple[str, bool]:
        rng = self.rng
        given = rng.choice(["t.li", "t.lm", "CONCAT(t.li, [k, n])", "SORT(t.lm)", "coalesce(t.li, t.lm)"])
        source, condition = f"unnest({given}) as x(v)", rng.choice(["x.v > 1", "x.v is null", "x.v <= t.n"])
        value = rng.choice(["sum(x.v)", "count(*)", "max(x.v)", "count(x.v)"])
        return rng.choice([
            f"select id, (select {value} from {source} where {condition}) as a from t",
            f"select id from t where exists (select 1 from {source} where {condition})",
            f"select id from t where not exists (select 1 from {source} where {condition})",
            f"select id from t where n in (select v from {source})",
        ]), False  # fmt: skip

    def fields(self) -> tuple[str, bool]:
        rng = self.rng
        return rng.choice([
            f"select t.st.y as y, count(*) as c, sum(t.st.x) as s from t{self.where()} group by t.st.y",
            f"select id, st, t.st.x + n as a, t.st['y'] as b from t{self.where()}",
            "select a.id, b.st.y as y, b.st as c from t a left join t b on a.k = b.st.x where a.id < 20",
            "select id from t where (t.st.x, k) in ((1, 2), (2, 1), (3, 3))",
            "select id, sum(t.st.x) over (partition by t.st.y order by id) as s from t",
        ]), False  # fmt: skip

    def united(self) -> tuple[str, bool]:
        word = self.rng.choice(["union all", "union", "except", "intersect"])
        return f"select {self.numbers(1)} as a from t {word} select {self.numbers(1)} as a from t{self.where()}", False


_FUNCTIONS = {
    "APPEND": ("array_append", "list_append"), "CONCAT": ("array_concat", "list_concat"),
    "SORT": ("array_sort", "list_sort"), "REVERSE": ("array_reverse", "list_reverse"),
    "DISTINCT_OF": ("array_distinct", "list_distinct"), "HAS": ("array_has", "list_contains"),
    "POSITION": ("array_position", "list_position"), "LEAST_OF": ("array_min", "list_min"),
    "GREATEST_OF": ("array_max", "list_max"), "LENGTH_OF": ("array_length", "len"),
    "SPLIT": ("string_to_array", "string_split"),
}  # fmt: skip
