"""Random queries on Drawloom and on DuckDB: finds those whose answers differ in any bit.

    python -m tools.fuzz_sql --count 2000 --seed 0 --jobs 2 --device cpu
        [--joins | --windows | --nested | --lists | --values | --subqueries | --texts]

``--joins`` asks for joins, subqueries and unions of two tables, ``--windows`` for window functions, ``--nested`` for
lists, structs, UNNEST, recursive queries and series, ``--lists`` for lists of lists and texts of lists, ``--values``
for expressions of every type, ``--subqueries`` for subqueries in every clause that read the tables around them again;
else queries are over one table. ``--texts`` asks for no answers: texts of comments, blanks and pieces of SQL are to be
read in linear time. A seed is a table and five queries; ``--count`` counts queries.

A query that DuckDB refuses for an overflow must be refused here too; a subquery may be refused by either side. The
exit status is 1 when any query differed.
"""

from __future__ import annotations

import random
import sys
from functools import partial
from pathlib import Path
from typing import Any, Final

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import duckdb

import drawloom
from drawloom.sql.planner import SqlError
from tests.sql.compare import differences, duckdb_exact
from tests.sql.join_queries import JoinQueries, second_table
from tests.sql.list_queries import ListQueries, list_table
from tests.sql.long_texts import random_family, superlinear
from tests.sql.nested_queries import NestedQueries, nested_table
from tests.sql.random_queries import Queries, random_table
from tests.sql.subquery_queries import SubqueryQueries, subquery_table
from tests.sql.value_queries import ValueQueries
from tests.sql.window_queries import WindowQueries
from tools import driver
from tools.driver import Verdict

JOINED_ROWS: Final = (0, 1, 2, 7, 31, 33, 97)
FEW_ROWS: Final = (0, 1, 3, 6, 9, 9)
ROWS: Final = (0, 1, 2, 31, 32, 33, 97, 1000)
#: DataFusion's optimiser cannot plan max(k) beside max(cast(k as bigint)), nor a subquery's column beside its cast; its
#: plans do not tell || of lists from calls where a NULL is near.
_KNOWN_REFUSALS: Final = (
    "Schema contains duplicate unqualified field name",
    "Optimizer rule 'decorrelate_predicate_subquery' failed",
    "Projections require unique expression names",
    "operator: || of lists and NULL, all of them constants",
)
#: Queries that share a table.
_QUERIES: Final = 5


def check(
    seed: int, device: str, queries: int = _QUERIES, joins: bool = False, windows: bool = False, outline: str = "full",
    nested: bool = False, values: bool = False, subqueries: bool = False, lists: bool = False,
) -> list[str]:  # fmt: skip
    """Runs ``queries`` queries over one table (two for ``joins`` and ``subqueries``), all from ``seed``; a line for
    each that differs. ``device`` may also be "interpreter"; ``outline`` is the outliner's mode."""
    rng = random.Random(seed)
    make = nested_table if nested else subquery_table if subqueries else list_table if lists else random_table
    sizes = FEW_ROWS if subqueries or lists else JOINED_ROWS if joins or nested else ROWS
    tables = {"t": make(rng, rng.choice(sizes))}
    if subqueries:
        tables["u"] = make(rng, rng.choice(sizes))
    if joins:
        tables["u"] = second_table(rng, rng.choice(JOINED_ROWS))
    ours = drawloom.connect("cpu" if device == "interpreter" else device)
    theirs = duckdb_exact()
    for name, table in tables.items():
        ours.register(name, table)
        theirs.register(name, table)
    kinds: dict[type[Any], bool] = {
        JoinQueries: joins, WindowQueries: windows, NestedQueries: nested, ValueQueries: values,
        SubqueryQueries: subqueries, ListQueries: lists,
    }  # fmt: skip
    made = next((kind for kind, wanted in kinds.items() if wanted), Queries)(rng)
    found: list[str] = []
    for _ in range(queries):
        query = made.query()
        try:
            wanted = theirs.sql(query.oracle).to_arrow_table()
        except (duckdb.OutOfRangeException, duckdb.ConversionException) as problem:
            wanted = str(problem)
        except duckdb.Error:  # it has no correlated IN of several columns
            if not subqueries:
                raise
            continue
        try:
            relation = ours.sql(query.text, outline=outline)
            result = relation.query.program().interpret().to_arrow() if device == "interpreter" else relation.arrow()
        except drawloom.DataError as problem:
            if not isinstance(wanted, str):
                found.append(f"seed {seed}: {query.text}\n  refused: {problem}")
            continue
        except Exception as problem:
            is_refused = subqueries and isinstance(problem, drawloom.UnsupportedError | SqlError)
            if is_refused or any(known in str(problem) for known in _KNOWN_REFUSALS):
                continue
            found.append(f"seed {seed}: {query.text}\n  {type(problem).__name__}: {problem}")
            continue
        if isinstance(wanted, str):
            found.append(f"seed {seed}: {query.text}\n  DuckDB refuses: {wanted.splitlines()[0]}")
            continue
        wrong = differences(result, wanted, query.ordered)
        if wrong:
            found.append(f"seed {seed}: {query.text}\n  {wrong[0]} ({len(wrong)} rows differ)")
    return found


def verdict(
    seed: int, device: str, joins: bool, windows: bool, nested: bool, values: bool, subqueries: bool, lists: bool
) -> list[Verdict]:
    lines = check(
        seed, device, _QUERIES, joins, windows, nested=nested, values=values, subqueries=subqueries, lists=lists
    )
    return [Verdict("\n".join(lines), counts={"queries": _QUERIES, "queries that differ": len(lines)})]


def text_verdict(seed: int) -> list[Verdict]:
    found = superlinear(random_family(random.Random(seed)))
    return [Verdict(found and f"seed {seed}: {found}", counts={"texts": 1})]


def main() -> int:
    parser = driver.arguments(__doc__, "fuzz_sql")
    parser.add_argument("--device", default="cpu", help="cpu, reference, cuda:0 or interpreter")
    parser.add_argument("--joins", action="store_true", help="queries over two tables")
    parser.add_argument("--windows", action="store_true", help="queries with window functions")
    parser.add_argument("--nested", action="store_true", help="queries over lists, structs and tables that are made")
    parser.add_argument("--lists", action="store_true", help="queries of lists of lists and of texts of lists")
    parser.add_argument("--values", action="store_true", help="queries of expressions of every type")
    parser.add_argument("--subqueries", action="store_true", help="queries with subqueries in every clause")
    parser.add_argument("--texts", action="store_true", help="texts of any length, read in linear time")
    given = parser.parse_args()
    if given.texts:
        return driver.run(given, ["texts"], text_verdict, driver.say)
    given.count = -(-given.count // _QUERIES)
    chosen = {name: getattr(given, name) for name in ("joins", "windows", "nested", "values", "subqueries", "lists")}
    name = " ".join([given.device, *[kind for kind, wanted in chosen.items() if wanted]])
    return driver.run(given, [name], partial(verdict, device=given.device, **chosen), driver.say)


if __name__ == "__main__":
    sys.exit(main())
