"""Joins by keys whose condition is applied to a part of the pairs at a time, beside DuckDB: every kind of join, keys
that most rows have, NULLs; and that a query goes this way where all its pairs are too many."""

import numpy as np
import pyarrow as pa
import pytest

from drawloom.errors import OutOfMemoryError
from drawloom.horse.ir import Module
from drawloom.sql import connect, rounds
from drawloom.sql.plan import Plan
from drawloom.sql.query import Query
from drawloom.sql.translate import translate
from tests.sql.compare import differences, duckdb_exact
from tools.fuzz_sql import check

KINDS = {
    "inner": "select count(*), sum(l.a), sum(r.b) from l join r on l.k = r.k and l.a + r.b < {few}",
    "left": "select count(*), sum(l.a), sum(r.b), count(r.b) from l left join r on l.k = r.k and l.a + r.b < {few}",
    "right": "select count(*), sum(r.a), sum(l.b), count(l.b) from l right join r on l.k = r.k and l.a + r.b < {few}",
    "full": "select count(*), count(l.a), count(r.b), sum(r.b) from l full join r on l.k = r.k and l.a + r.b < {few}",
    "semi": "select count(*), sum(a) from l where exists (select 1 from r where l.k = r.k and l.a + r.b < {few})",
    "anti": "select count(*), sum(a) from l where not exists (select 1 from r where l.k = r.k and l.a + r.b < {few})",
    "mark": "select count(*), sum(a) from l where a < 9 or exists "
    "(select 1 from r where l.k = r.k and l.a + r.b < {few})",
    "not in": "select count(*), sum(a) from l where b not in (select b from r where l.k = r.k and l.a + r.b < {few})",
}


def skewed(rows: int, seed: int) -> pa.Table:
    """Seven rows in ten have one key."""
    rng = np.random.default_rng(seed)
    keys = np.where(rng.random(rows) < 0.7, 7, rng.integers(0, max(rows, 1), rows))
    columns = {name: rng.integers(0, 10_000, rows) for name in "ab"}
    return pa.table(
        {"k": pa.array(keys, mask=rng.random(rows) < 0.05)}
        | {name: pa.array(values, mask=rng.random(rows) < 0.1) for name, values in columns.items()}
    )


@pytest.mark.parametrize(
    ("kind", "rows"), [*[(kind, (40, 55)) for kind in KINDS], ("full", (0, 5)), ("anti", (5, 0)), ("left", (1, 1))]
)
def test_joins_in_rounds_give_what_duckdb_gives(
    monkeypatch: pytest.MonkeyPatch, kind: str, rows: tuple[int, int]
) -> None:
    monkeypatch.setattr(rounds, "ROUND", 30)  # rounds end within the pairs of a row, and have those of several
    ours, theirs = connect("cpu"), duckdb_exact()
    for name, count in zip("lr", rows):
        table = skewed(count, count)
        ours.register(name, table)
        theirs.register(name, table)
    query = KINDS[kind].format(few=6000)
    relation = ours.sql(query)
    assert relation.query.goes_in_rounds()
    assert differences(relation.arrow(), theirs.sql(query).to_arrow_table()) == []


@pytest.mark.parametrize("seed", range(9100, 9108))
def test_random_joins_in_rounds_agree_with_duckdb(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    def in_rounds(self: Query, relation: Plan) -> Module:
        return translate(relation, self.schema, self.text.names_double, True)

    monkeypatch.setattr(rounds, "ROUND", 50)
    monkeypatch.setattr(Query, "translated", in_rounds)
    assert check(seed, "interpreter", 2, joins=True) == []


@pytest.mark.parametrize("kind", ["inner", "left", "anti"])
def test_a_join_goes_in_rounds_where_its_pairs_do_not_fit(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """Two million pairs are 14 MB of row numbers, and the columns at them as much; few of them meet the condition."""
    monkeypatch.setattr(rounds, "ROUND", 1 << 16)
    ours, theirs = connect("cpu", memory_limit="24MB"), duckdb_exact()
    for name, seed in (("l", 1), ("r", 2)):
        table = skewed(2_000, seed)
        ours.register(name, table)
        theirs.register(name, table)
    query = KINDS[kind].format(few=300)
    relation = ours.sql(query)
    assert differences(relation.arrow(), theirs.sql(query).to_arrow_table()) == []
    assert relation.query.in_rounds


def test_a_join_without_a_condition_is_refused_as_before() -> None:
    ours = connect("cpu", memory_limit="24MB")
    for name, seed in (("l", 1), ("r", 2)):
        ours.register(name, skewed(2_000, seed))
    with pytest.raises(OutOfMemoryError):
        ours.sql("select l.a + r.b from l join r on l.k = r.k").arrow()
