"""The runner of sqllogictest files, over a file of ours: what it counts, and what it passes over."""

from pathlib import Path

from tools.suites.report import Outcome
from tools.suites.sqllogictest import check, parse

FILE = """# name: a.test
statement ok
create table t(a int, b varchar)

statement ok
insert into t values (1, 'x'), (2, 'y'), (3, null)

query II rowsort
select a, b from t where a > 1
----
2\ty
3\tNULL

foreach type <signed> !hugeint

query I
select cast(sum(a) as {type}) from t
----
6

endloop

loop i 0 2

onlyif i=1
statement ok
insert into t values (10 + ${i}, 'z')

endloop

query I
select count(*) from t where b = 'z'
----
1

query I nosort label
select hash(a) from t
----
4 values hashing to 0123456789abcdef0123456789abcdef

statement error
select no_such_column from t
----
Binder Error

mode skip

query I
select 7
----
7

mode unskip

query I
select random() < 2
----
true

require no_such_extension

query I
select 8
----
8
"""


def test_a_file_becomes_the_outcomes_of_its_queries(tmp_path: Path) -> None:
    path = tmp_path / "a.test"
    path.write_text(FILE)
    found = [outcome for outcome in check(str(path)) if isinstance(outcome, Outcome)]
    lines = [(int(outcome.name.rpartition(":")[2]), outcome.kind) for outcome in found]
    kinds = [kind for _, kind in lines]
    assert kinds[:5] == ["same", "same", "same", "same", "same"]  # the first query, the loop's first three, the count
    assert kinds[5] == "refused" and "hash" in found[5].cause
    assert (found[6].kind, found[6].detail) == ("same", "both refuse")
    assert len(found) <= 8 and not any(number >= FILE[: FILE.index("require")].count("\n") for number, _ in lines)


def test_commands_within_loops_are_the_loops() -> None:
    records = parse(FILE)
    assert [record.words[0] for record in records[:4]] == ["statement", "statement", "query", "foreach"]
    assert [record.words[0] for record in records[3].body] == ["query"]
    assert [record.words[0] for record in records[4].body] == ["onlyif", "statement"]
    assert records[2].sql == "select a, b from t where a > 1"
