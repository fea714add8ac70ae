"""Random expressions over lists, lists of lists and texts of lists, for comparison with DuckDB.

The table is ``t`` with ``id``, integers ``k`` and ``n``, the texts ``s`` (of lists, or nearly) and ``w``, the lists
``li`` (integers) and ``ls`` (texts), and the lists of lists ``mi`` and ``ms``.
"""

from __future__ import annotations

import random

import pyarrow as pa

from tests.sql.random_queries import RandomQuery

_WORDS = ["a", "x y", "", "NULL", "it's", "a,b", "[1]", '"q"', "1", "22", None]
_PIECES = ["[", "]", "[", "]", "'", '"', "\\", ",", ",", " ", "1", "22", "a", "NULL", "{", "}", "(", ")", "[1]", "'a'"]
_NUMBERS = [1, 2, 3, -7, None]


def list_table(rng: random.Random, rows: int) -> pa.Table:
    def some(of: object, most: int = 3) -> list[object] | None:
        made = [of() if callable(of) else None for _ in range(rng.randint(0, most))]
        return None if rng.random() < 0.15 else made

    def number() -> int | None:
        return rng.choice(_NUMBERS)

    def word() -> str | None:
        return rng.choice(_WORDS)

    def text() -> str | None:
        kind = rng.random()
        if kind < 0.1:
            return None
        if kind < 0.4:
            return "[" + ", ".join(str(number() or "NULL") for _ in range(rng.randint(0, 4))) + "]"
        if kind < 0.6:
            return "[" + ",".join(text() or "null" for _ in range(rng.randint(0, 2))) + "]"
        return "[" * (kind < 0.95) + "".join(rng.choices(_PIECES, k=rng.randint(0, 6))) + "]"

    integers, words = pa.list_(pa.int32()), pa.list_(pa.string())
    columns: dict[str, tuple[pa.DataType, object]] = {
        "k": (pa.int32(), number), "n": (pa.int32(), number), "s": (pa.string(), text), "w": (pa.string(), word),
        "li": (integers, lambda: some(number)), "ls": (words, lambda: some(word)),
        "mi": (pa.list_(integers), lambda: some(lambda: some(number), 2)),
        "ms": (pa.list_(words), lambda: some(lambda: some(word), 2)),
    }  # fmt: skip
    made = {name: pa.array([of() for _ in range(rows)], type) for name, (type, of) in columns.items() if callable(of)}
    return pa.table({"id": pa.array(range(rows), pa.int32()), **made})


class ListQueries:
    """Random queries over ``list_table``; what is of several orders in DuckDB is sorted."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def query(self) -> RandomQuery:
        rng = self.rng
        kinds = rng.choices(["li", "ls", "mi", "ms", "int", "text", "bool"], weights=[3, 3, 4, 3, 2, 3, 2], k=2)
        values = ", ".join(f"{self.of(kind, 3)} as c{i}" for i, kind in enumerate(kinds))
        where = f" where {self.of('bool', 1)}" if rng.random() < 0.3 else ""
        text = f"select id, {values} from t{where} order by id"
        if rng.random() < 0.1:
            text = f"select id, unnest({self.of(rng.choice(['li', 'ls', 'mi', 'ms']), 2)}) as c from t{where}"
        elif rng.random() < 0.1:
            text = f"select {self.of(rng.choice(['li', 'ls', 'mi', 'ms']), 2)} as c, count(*) as n from t group by c"
        return RandomQuery(text, text, " order by " in text)

    def of(self, kind: str, depth: int) -> str:
        """An expression of a kind: a list that is called as its column is, "int", "text" or "bool"."""
        if depth == 0 or self.rng.random() < 0.15:
            return self.leaf(kind)
        inner = {"li": "int", "ls": "text", "mi": "li", "ms": "ls"}.get(kind, "")
        return self.list_of(kind, inner, depth - 1) if inner else self.scalar(kind, depth - 1)

    def leaf(self, kind: str) -> str:
        leaves = {"int": ["k", "n", "2"], "text": ["s", "w", "'a'"], "bool": ["k > 1", "w is null", "li is not null"]}
        return self.rng.choice(leaves.get(kind, [kind]))

    def scalar(self, kind: str, depth: int) -> str:
        rng = self.rng
        some = rng.choice(["li", "ls", "mi", "ms"])
        inner = {"li": "int", "ls": "text", "mi": "li", "ms": "ls"}[some]
        if kind == "int":
            return rng.choice([
                f"len({self.of(some, depth)})::int", f"length({self.of(some, depth)})::int",
                f"list_position({self.of(some, depth)}, {self.of(inner, depth)})::int",
                f"({self.of('li', depth)})[{rng.randint(-2, 2)}]",
            ])  # fmt: skip
        if kind == "text":
            return rng.choice([
                f"({self.of(some, depth)})::varchar", f"cast({self.of(some, depth)} as varchar)",
                f"array_to_string({self.of(some, depth)}, {rng.choice(['NULL', repr('-'), repr('')])})",
                f"({self.of('ls', depth)})[{rng.randint(-2, 2)}]", f"'[' || {self.of('int', depth)} || ']'",
                f"'[' || {self.of('text', depth)} || ']'",
            ])  # fmt: skip
        return rng.choice([
            f"list_contains({self.of(some, depth)}, {self.of(inner, depth)})",
            f"{self.of(some, depth)} {rng.choice(['=', '<', '<>', 'is distinct from'])} {self.of(some, depth)}",
            f"{self.of(some, depth)} is null", f"len({self.of(some, depth)}) > 1",
        ])  # fmt: skip

    def list_of(self, kind: str, inner: str, depth: int) -> str:
        rng = self.rng
        type = {"li": "int[]", "ls": "varchar[]", "mi": "int[][]", "ms": "varchar[][]"}[kind]
        other = {"li": "ls", "ls": "li", "mi": "ms", "ms": "mi"}[kind]
        of = self.of(kind, depth)
        made = [
            f"{rng.choice(['concat', 'list_concat'])}({of}, {self.of(kind, depth)})", f"{of} || {self.of(kind, depth)}",
            f"list_sort(list_distinct({of}))", f"list_append({of}, {self.of(inner, depth)})",
            f"list_prepend({self.of(inner, depth)}, {of})", f"({of})[{rng.randint(-2, 2)}:{rng.randint(-2, 3)}]",
            f"list_sort({of}{rng.choice(['', ', ' + repr('DESC')])})", f"list_reverse({of})",
            f"[{self.of(inner, depth)}, {self.of(inner, depth)}]", f"[{self.of(inner, depth)}]",
            f"try_cast({self.of('text', depth)} as {type})", f"try_cast({self.of(other, depth)} as {type})",
            f"try_cast(({self.of('text', depth)}) as {type})", f"({of})::{type}",
            f"coalesce({of}, {self.of(kind, depth)})",
            f"case when {self.of('bool', depth)} then {of} else {self.of(kind, depth)} end",
            f"case when {self.of('bool', depth)} then cast({self.of('text', depth)} as {type}) end",
        ]  # fmt: skip
        if kind in ("ls", "ms"):
            made.append(f"cast({self.of(other, depth)} as {type})")
        if kind == "ls":
            made.append(f"string_split({self.of('text', depth)}, {rng.choice([repr(','), repr(''), 'w'])})")
        if kind in ("li", "ls"):
            made += [f"flatten({self.of('mi' if kind == 'li' else 'ms', depth)})"] * 2
        else:
            made.append(f"flatten([{of}, {self.of(kind, depth)}])")
        return rng.choice(made)
