"""Queries of sqllogictest files on Drawloom, beside DuckDB's answers over the same tables.

    python -m tools.suites.sqllogictest PATH [--filter TEXT] [--timeout 60] [--jobs N] [--report FILE] [--every N]

PATH is a checkout of DuckDB, a folder in it or one ``.test`` file of its dialect: ``statement``, ``query``, ``loop``,
``foreach``, ``onlyif``, ``skipif``, ``require``, ``mode skip``, ``load``, ``restart``, and ``{variables}``. Statements
run in DuckDB, which makes the tables. Each query runs there and here, and DuckDB's answer is the oracle: a file's
expected rows, which are DuckDB's of that commit, are passed over. What only DuckDB can run (PRAGMA, EXPLAIN, files that
need another extension), what it refuses in a ``query``, and what it answers in two ways is not counted. A
``statement error`` that holds a query is to be refused here too.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import duckdb
import pyarrow as pa

import drawloom
from drawloom.sql.compare import in_order, same_value
from drawloom.sql.tokens import COMMENT, QUOTED_NAME, STRING, WORD, pattern_of, without_comments
from tools.suites.report import Outcome, argument_parser, report, run_in_processes

#: What a file may require that DuckDB's wheel has; a vector size as large as its own.
_PRESENT: Final = frozenset([
    "parquet", "json", "icu", "core_functions", "skip_reload", "noforcestorage", "no_force_storage", "notwindows",
    "notmingw", "no_alternative_verify", "no_extension_autoloading", "no_vector_verification", "no_latest_storage",
    "64bit", "strinline", "longdouble", "autocomplete",
])  # fmt: skip
_VECTOR_SIZE: Final = 2048
#: Words that a query begins with.
_QUERIES: Final = frozenset(["select", "with", "from", "values", "table"])
_SIGNED: Final = ("tinyint", "smallint", "integer", "bigint", "hugeint")
_UNSIGNED: Final = ("utinyint", "usmallint", "uinteger", "ubigint", "uhugeint")
#: What foreach has words for.
_SETS: Final[dict[str, tuple[str, ...]]] = {
    "<signed>": _SIGNED, "<unsigned>": _UNSIGNED, "<integral>": _SIGNED + _UNSIGNED,
    "<numeric>": (*_SIGNED, *_UNSIGNED, "float", "double"),
    "<alltypes>": (*_SIGNED, *_UNSIGNED, "float", "double", "bool", "interval", "varchar"),
    "<compression>": ("none", "uncompressed", "rle", "bitpacking", "dictionary", "fsst", "alp", "alprd"),
}  # fmt: skip
_HEADS: Final = frozenset([
    "statement", "query", "loop", "foreach", "concurrentloop", "concurrentforeach", "endloop", "require", "require-env",
    "test-env", "mode", "halt", "load", "restart", "reconnect", "sleep", "onlyif", "skipif", "set", "reset", "tags",
    "unzip", "include", "template", "continue", "hash-threshold",
])  # fmt: skip
#: How often a query of one line is asked for in loops, and the most rows of a table or an answer.
_TIMES: Final = 3
_MOST_ROWS: Final = 1_000_000
#: Memory of a process.
_MEMORY: Final = 12 << 30
#: Floating-point sums depend on the order of their rows: 10 roundings, as in the TPC-H comparison.
_BOUND: Final = 10 * 2.0**-53
_NAME: Final = pattern_of(rf"{COMMENT} | {STRING} | (?P<name> {QUOTED_NAME} | {WORD} )")
#: Settings by which DuckDB means something else by the same query, which are left out.
_SETTINGS: Final = re.compile(
    r"(?i)^\s*(?:set|pragma)\b.*(?:null_order|default_order|collation|timezone|calendar|max_execution_time)"
)
_PLACE: Final = re.compile(r"^query:\d+:\d+: ")
_QUOTED: Final = re.compile(r"'[^']*'|\"[^\"]*\"|\b\d+(?:\.\d+)?\b")


class Record:
    """One command: its words, its line, its SQL; of a loop the records in it."""

    def __init__(self, words: list[str], line: int, sql: str = "") -> None:
        self.words = words
        self.line = line
        self.sql = sql
        self.body: list[Record] = []

    @property
    def is_loop(self) -> bool:
        return self.words[0].endswith(("loop", "foreach")) and self.words[0] != "endloop"


def parse(text: str) -> list[Record]:
    """Return the commands of a file, those within loops in their loop."""
    lines = [*text.replace("\r\n", "\n").split("\n"), ""]
    made: list[Record] = []
    open: list[Record] = []
    at = 0
    while at < len(lines):
        words = lines[at].split()
        at += 1
        if not words or words[0].startswith("#") or words[0] not in _HEADS:
            continue
        record = Record(words, at)
        if words[0] in ("statement", "query"):
            first = at
            while lines[at].strip() and lines[at] != "----":
                at += 1
            record.sql = "\n".join(lines[first:at])
            while lines[at].strip():  # the expected rows
                at += 1
        if words[0] == "endloop":
            if open:
                open.pop()
            continue
        (open[-1].body if open else made).append(record)
        if record.is_loop:
            open.append(record)
    return made


class _Unsupported(Exception):
    """A file that goes on with what is not there."""


class _File:
    """One file as it runs: DuckDB's database, Drawloom's connection, the values of variables."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.variables = {
            "TEST_DIR": str(folder),
            "TEMP_DIR": str(folder),
            "DATA_DIR": "data",
            "WORKING_DIRECTORY": ".",
        }
        self.loops: dict[str, str] = {}
        self.path = ":memory:"
        self.times: Counter[int] = Counter()
        self.skips = 0
        self.connections: dict[str, duckdb.DuckDBPyConnection] = {}
        #: Tables as they were registered, and whether a statement may have changed them.
        self.ours = drawloom.connect("cpu")
        self.tables: dict[str, pa.Table] = {}
        self.open(":memory:")

    def open(self, path: str) -> None:
        self.close()
        self.path = path
        self.database = duckdb.connect(path)
        self.database.execute("set autoinstall_known_extensions = false; set autoload_known_extensions = false")
        self.database.execute("set python_enable_replacements = false; set threads = 2")
        self.connections = {"": self.database}

    def close(self) -> None:
        for connection in self.connections.values():
            connection.close()
        self.connections = {}
        self.tables = {}

    def connection(self, name: str) -> duckdb.DuckDBPyConnection:
        if name not in self.connections:
            self.connections[name] = self.database.cursor()
        return self.connections[name]

    def text(self, given: str) -> str:
        """Put the values of variables in a text."""
        for name, value in {**self.variables, **self.loops}.items():
            given = given.replace("${" + name + "}", value).replace("{" + name + "}", value)
            given = given.replace(f"__{name}__", value)
        return given

    # Commands

    def run(self, records: Sequence[Record]) -> Iterator[Outcome | str]:
        guards: list[list[str]] = []
        for record in records:
            word = record.words[0]
            if word in ("onlyif", "skipif"):
                guards.append(record.words)
                continue
            is_wanted = all(self.holds(guard) for guard in guards)
            guards = []
            if word == "mode" and record.words[1:]:
                self.skips += {"skip": 1, "unskip": -1}.get(record.words[1], 0)
            elif self.skips > 0 or not is_wanted:
                continue
            elif record.is_loop:
                yield from self.loop(record)
            elif word in ("statement", "query"):
                yield from self.command(record)
            else:
                self.setting(record)

    def holds(self, guard: list[str]) -> bool:
        """Whether onlyif or skipif lets the next command run: a condition of a loop's variable, or an engine's name."""
        name, equal, value = "".join(guard[1:]).partition("=")
        is_true = self.loops.get(name) == value if equal else name == "duckdb"
        return is_true == (guard[0] == "onlyif")

    def loop(self, record: Record) -> Iterator[Outcome | str]:
        words = [self.text(word) for word in record.words]
        names, rounds = words[1].split(","), list[list[str]]()
        if words[0].endswith("foreach"):
            values = [value for word in words[2:] for value in _SETS.get(word, (word,))]
            dropped = [value[1:] for value in values if value.startswith("!")]
            rounds = [value.split(",") if len(names) > 1 else [value] for value in values
                      if value.lstrip("!") not in dropped]  # fmt: skip
        else:
            rounds = [[str(number)] for number in range(int(words[2]), int(words[3]))]
        for values in rounds:
            self.loops.update(zip(names, values))
            yield from self.run(record.body)
        for name in names:
            self.loops.pop(name, None)

    def setting(self, record: Record) -> None:
        words = [self.text(word) for word in record.words]
        if words[0] == "require" and not _is_present(words[1:]):
            raise _Unsupported(f"require {' '.join(words[1:])}")
        if words[0] in ("require-env", "include", "template", "unzip", "halt"):
            raise _Unsupported(words[0])
        if words[0] == "test-env" and len(words) > 2:
            self.variables[words[1]] = words[2]
        if words[0] == "load":
            self.open(words[1] if len(words) > 1 else ":memory:")
        elif words[0] == "restart":
            self.open(self.path)
        elif words[0] == "reconnect":
            self.connections = {"": self.database}

    def command(self, record: Record) -> Iterator[Outcome | str]:
        sql = self.text(record.sql)
        words = record.words
        is_error = words[:2] == ["statement", "error"]
        connection = self.connection(words[2] if words[0] == "statement" and len(words) > 2 else "")
        first = re.match(r"[\s(]*(\w*)", without_comments(sql))
        is_query = first is not None and first[1].lower() in _QUERIES and _is_single(sql)
        if not is_query and _SETTINGS.search(sql):
            return  # both sides answer as the default has it
        if not is_query or self.times[record.line] >= _TIMES:
            self.tables = {}
            try:
                connection.execute(sql)
                while connection.description and connection.fetchmany(10_000):
                    pass
            except Exception as problem:
                if words[1] == "ok":  # what follows has not the tables that it is about
                    raise _Unsupported(f"DuckDB refuses: {str(problem).partition(chr(10))[0]}") from None
            return
        self.times[record.line] += 1
        name = f"{self.name}:{record.line}"
        yield name
        outcome = self.query(name, sql, connection, is_error, "nosort" in words or len(words) < 3)
        if outcome is not None:
            yield outcome

    # Queries

    def query(
        self, name: str, sql: str, connection: duckdb.DuckDBPyConnection, is_error: bool, is_sorted: bool
    ) -> Outcome | None:
        """Ask both; None for what DuckDB alone decides."""
        theirs: pa.Table | None = None
        try:
            theirs = connection.sql(sql).limit(_MOST_ROWS).to_arrow_table()
        except Exception:
            if not is_error:
                return None
        try:
            self.register(sql, connection)
        except (duckdb.Error, drawloom.Error, pa.ArrowException):
            return None
        try:
            ours = self.ours.sql(sql).arrow()
        except drawloom.Error as problem:
            return Outcome(name, "same", "both refuse") if theirs is None else Outcome(name, "refused", cause(problem))
        except Exception as problem:
            return Outcome(name, "crashed", f"{crash_cause(problem)}\n{sql}\n{traceback.format_exc()}")
        if theirs is None:
            return Outcome(name, "different", f"DuckDB refuses, here are rows\n{sql}")
        try:
            wrong = difference(ours, theirs, is_sorted and "order by" in sql.lower())
            if wrong:
                again = connection.sql(sql).limit(_MOST_ROWS).to_arrow_table()
                if difference(again, theirs, False):
                    return None  # random(), or the rows of a LIMIT without ORDER BY
        except (duckdb.Error, pa.ArrowException):
            return None
        return Outcome(name, "different", f"{wrong}\n{sql}") if wrong else Outcome(name, "same")

    def register(self, sql: str, connection: duckdb.DuckDBPyConnection) -> None:
        """Make the tables and views that a query may name known here, as they are now."""
        named = {found["name"].strip('"`').lower() for found in _NAME.finditer(sql) if found["name"]}
        rows = connection.sql(
            "select table_name from duckdb_tables() where not internal union all "
            "select view_name from duckdb_views() where not internal"
        ).fetchall()
        known = {table.lower(): table for (table,) in rows}
        if not set(self.ours.tables()) <= set(known):  # a table was dropped
            self.ours = drawloom.connect("cpu")
            self.tables = {}
        for table in sorted(named & set(known)):
            if table not in self.tables:
                quoted = known[table].replace('"', '""')
                made = connection.sql(f'select * from "{quoted}"').limit(_MOST_ROWS).to_arrow_table()
                self.ours.register(known[table], made)
                self.tables[table] = made


def _is_present(words: Sequence[str]) -> bool:
    if words[0] in ("vector_size", "exact_vector_size"):
        return int(words[1]) <= _VECTOR_SIZE
    return words[0] in _PRESENT


def _is_single(sql: str) -> bool:
    try:
        return len(duckdb.extract_statements(sql)) == 1
    except duckdb.Error:
        return True


def cause(problem: drawloom.Error) -> str:
    """Return what a refusal is about, without the place and the names of the query; then its whole message."""
    items = getattr(problem, "items", None)
    if items:
        return f"{_QUOTED.sub('...', items[0])}\n{problem}"
    first = str(problem).partition("\n")[0]
    said = _PLACE.sub("", first)
    is_about_names = not said.startswith(("Invalid function", "function", "this "))
    return f"{_QUOTED.sub('...', said) if is_about_names else said}\n{problem}"


def crash_cause(problem: BaseException) -> str:
    """Return the type of an exception that is no Error of ours, and the function that it comes from."""
    place = traceback.extract_tb(problem.__traceback__)[-1]
    return f"{type(problem).__name__} in {Path(place.filename).name}:{place.name}"


def difference(ours: pa.Table, theirs: pa.Table, is_ordered: bool) -> str:
    """Return what differs first, led by its kind; "" where both hold the same rows."""
    if ours.num_columns != theirs.num_columns:
        return f"another number of columns\n{ours.schema.names}\nexpected {theirs.schema.names}"
    if ours.num_rows != theirs.num_rows:
        return f"another number of rows\n{ours.num_rows}, expected {theirs.num_rows}"
    mine, other = _rows(ours), _rows(theirs)
    for a, b in zip(in_order(mine), in_order(other)):
        if not all(_is_same(x, y) for x, y in zip(a, b)):
            kinds = sorted({str(field.type) for field, x, y in zip(theirs.schema, a, b) if not _is_same(x, y)})
            return f"other values: {', '.join(kinds)}\n{a}\nexpected {b}"
    if is_ordered and not all(_is_same(x, y) for a, b in zip(mine, other) for x, y in zip(a, b)):
        return "the rows in another order"
    return ""


_is_same = partial(same_value, bound=_BOUND)


def _rows(table: pa.Table) -> list[tuple[Any, ...]]:
    return list(zip(*[[_plain(value) for value in _numbered(column).to_pylist()] for column in table.columns]))


def _numbered(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return days and moments as numbers: Python's dates end in the year 9999."""
    if pa.types.is_date32(column.type):
        return column.cast(pa.int32())
    if pa.types.is_timestamp(column.type) and column.type.unit == "us":
        return column.cast(pa.int64())
    return column


def _plain(value: Any) -> Any:
    """Return a value by which rows can be ordered and compared: structs and maps as lists, intervals as numbers."""
    if isinstance(value, dict):
        return [_plain(part) for part in value.values()]
    if isinstance(value, list | tuple) and not isinstance(value, pa.MonthDayNano):
        return [_plain(part) for part in value]
    if isinstance(value, pa.MonthDayNano):
        return [value.months, value.days, value.nanoseconds]
    if hasattr(value, "total_seconds"):
        return [0, value.days, (value.seconds * 1_000_000 + value.microseconds) * 1000]
    if isinstance(value, bool | int | float | str | bytes) or value is None:
        return value
    if hasattr(value, "is_nan"):
        return int(value) if value == value.to_integral_value() and abs(value) < 1 << 52 else value
    return value


def check(item: str) -> Iterator[Outcome | str]:
    """Yield the outcomes of one file's queries; ``item`` is its path."""
    path = Path(item)
    name = "/".join(path.parts[-3:])
    before = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="drawloom-sqllogictest-") as folder:
        root = next((parent for parent in path.parents if (parent / "data").is_dir()), None)
        if root is not None:  # files are named from the checkout's root, and none is written there
            for part in ("data", "test"):
                Path(folder, part).symlink_to(root / part)
        file = _File(name, Path(folder))
        try:
            os.chdir(folder)
            yield from file.run(parse(path.read_text(errors="replace")))
        except (_Unsupported, duckdb.Error):  # the latter of ``load``
            pass
        finally:
            file.close()
            os.chdir(before)


def files(path: Path, text: str) -> list[Path]:
    """Return the test files of a checkout, a folder or one file, whose path has a text."""
    if path.is_file():
        return [path]
    root = path / "test" / "sql" if (path / "test" / "sql").is_dir() else path
    return [found for found in sorted(root.rglob("*.test")) if text in str(found)]


def main() -> int:
    parser = argument_parser(__doc__)
    parser.add_argument("--every", type=int, default=1, metavar="N", help="take each N-th file only")
    given = parser.parse_args()
    found = [str(path.resolve()) for path in files(given.path, given.filter)][:: given.every]
    outcomes = run_in_processes(found, "tools.suites.sqllogictest:check", given.timeout, given.jobs, _MEMORY)
    return report(outcomes, given.report)


if __name__ == "__main__":
    sys.exit(main())
