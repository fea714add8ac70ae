"""SQL text to a serialised Substrait plan, through DataFusion's parser, binder and optimiser.

DataFusion sees only empty tables with the right schemas: it plans and never runs.
"""

from __future__ import annotations

import re
import threading
import weakref
from collections.abc import Callable
from typing import Any, Final

import datafusion
import pyarrow as pa
from datafusion import substrait

from drawloom.errors import DataError, SourceError, quote_line
from drawloom.horse.files import FORMATS
from drawloom.horse.nested import is_list
from drawloom.horse.store import horse_type
from drawloom.horse.types import MAX_DIGITS
from drawloom.sql.names import LOCAL, UNIVERSAL
from drawloom.sql.planner_process import PlanApart, PlannerProcess, takes_long
from drawloom.sql.rounding import TEXT
from drawloom.sql.subqueryplaces import without_rows
from drawloom.sql.text import DOUBLE
from drawloom.sql.unfolded import NUMBER

#: What makes DataFusion read SQL as DuckDB does: 0.1 is a decimal, and NULLs come last in any order.
#: The zone of moments with one is universal time.
_OPTIONS: Final[dict[str, str]] = {
    "datafusion.sql_parser.parse_float_as_decimal": "true",
    "datafusion.sql_parser.default_null_ordering": "nulls_last", "datafusion.execution.time_zone": "UTC",
}  # fmt: skip
_PREFIX: Final = re.compile(
    r"^(?:DataFusion error: |Error during planning: |SQL error: |Schema error: |Arrow error: |Execution error: "
    r"|Cast error: |Parser error: |Optimizer rule '\w+' failed\ncaused by\n|\w+\ncaused by\n)+"
)
#: A call whose arguments have wrong types is said to be a defect of DataFusion; what is meant stands behind.
_NO_MATCH: Final = re.compile(
    r"^(?:Internal error: )?Function '\w+' (?:failed to match|user-defined coercion).*?(?=No function)", re.S
)
_PARSER_ERROR: Final = re.compile(r'(?:Parser|Tokenizer)Error\("(.*)"\)', re.DOTALL)
_NO_TABLE: Final = re.compile(r"table 'datafusion\.public\.([^']*)' not found")

#: Types that a table may have and Substrait has no word for.
_OPAQUE: Final = frozenset([
    pa.lib.Type_RUN_END_ENCODED, pa.lib.Type_LIST_VIEW, pa.lib.Type_LARGE_LIST_VIEW, pa.lib.Type_HALF_FLOAT,
    pa.lib.Type_SPARSE_UNION, pa.lib.Type_DENSE_UNION,
])  # fmt: skip


class SqlError(SourceError):
    """SQL that DataFusion cannot parse or bind; the message is DataFusion's, at the place that it is about."""

    def __init__(self, message: str, line: int = 0, column: int = 0, source_line: str = "") -> None:
        super().__init__(message, "query", line, column, source_line)

    def __str__(self) -> str:
        if not self.line:
            return self.message
        # DataFusion's message may go on below its first line, which the place belongs to.
        first, *rest = self.message.split("\n")
        return "\n".join([f"{self.place()}: {first}", quote_line(self.source_line, self.column), *rest])


class Planner:
    """A DataFusion session that knows the registered tables by schema only."""

    def __init__(self) -> None:
        self.context = new_context()
        #: Whoever plans, and whoever puts another table in the place of one, which is none in between.
        self.turn = threading.RLock()
        #: What was registered last by each name, for a process that plans what takes long.
        self.told: dict[tuple[str, str], tuple[Any, ...]] = {}
        self.process = PlannerProcess(self.told)
        weakref.finalize(self, self.process.stop)
        self.register_function(DOUBLE, [pa.string()], pa.float64(), "immutable")
        self.register_function(NUMBER, [pa.string()], pa.int64(), "immutable")
        self.register_function(TEXT, [pa.string()], pa.string(), "immutable")
        self.register_function(LOCAL, [pa.string(), pa.timestamp("us", "UTC")], pa.timestamp("us"), "immutable")
        self.register_function(UNIVERSAL, [pa.string(), pa.timestamp("us")], pa.timestamp("us", "UTC"), "immutable")
        self.options = only_queries()
        self.spellings: dict[str, list[str]] = {}
        #: What Arrow calls the types of columns that have none here, by table and column.
        self.unknown: dict[str, dict[str, str]] = {}
        #: The names of functions, and of aggregates, by the types that they take and give.
        self.functions: dict[str, str] = {}
        self.aggregates: dict[str, str] = {}

    def register(self, name: str, schema: pa.Schema, unknown: dict[str, str] | None = None) -> None:
        """Makes ``name`` known, in place of an earlier table of that name in any case: as it is spelt, and as SQL
        folds it where it is not quoted. ``unknown`` are the columns' types that have no place here, where the schema
        has others for them."""
        if unknown is None:
            unknown = {f.name: str(f.type) for f in schema if not _is_known(f.type)}
        schema = pa.schema([pa.field(f.name, _planned(f.type)) for f in schema])
        try:
            empty = pa.RecordBatch.from_arrays([pa.array([], f.type) for f in schema], schema=schema)
            with self.turn:
                for spelling in self.spellings.pop(name.lower(), []):
                    self.context.deregister_table(quoted(spelling))
                self.spellings[name.lower()] = sorted({name, name.lower()})
                for spelling in self.spellings[name.lower()]:
                    self.context.register_record_batches(quoted(spelling), [[empty]])
        except Exception as problem:
            raise DataError(f"table '{name}' cannot be registered: {problem}") from None
        self.unknown[name.lower()] = unknown
        self.told["register", name.lower()] = (name, schema, unknown)

    def register_columns(self, name: str, columns: list[str], types: list[pa.DataType]) -> None:
        """Makes a table known by the names and types of its columns, in place of an earlier one."""
        self.told["register_columns", name] = (name, columns, types)
        schema = pa.schema(list(zip(columns, types)))
        self.context.deregister_table(name)
        self.context.register_record_batches(name, [[pa.RecordBatch.from_pylist([], schema=schema)]])

    def register_function(
        self, name: str, types: list[pa.DataType], output: pa.DataType, volatility: str = "volatile"
    ) -> None:
        """Makes a function known that plans show and nothing folds, be it "immutable": it has no values."""
        self.told["register_function", name] = (name, types, output, volatility)
        self.context.register_udf(datafusion.udf(_no_value, types, output, volatility, name))

    def has_lists(self) -> bool:
        """Whether a registered table has a column of lists, or of structs, which may have them."""
        schemas = [given[1] for (kind, _), given in self.told.items() if kind == "register"]
        return any(is_list(f.type) or pa.types.is_struct(f.type) for schema in schemas for f in schema)

    def function(self, prefix: str, types: list[pa.DataType], output: pa.DataType) -> str:
        """Makes a function known that plans show, one for each choice of types: its name, the prefix and a number."""
        kind = f"{prefix} {types} {output}"
        if kind not in self.functions:
            self.functions[kind] = f"{prefix}{len(self.functions)}"
            self.register_function(self.functions[kind], types, output, "immutable")
        return self.functions[kind]

    def aggregate(self, prefix: str, types: list[pa.DataType], output: pa.DataType) -> str:
        """Makes an aggregate known that plans show, one for each choice of types: its name, the prefix and a number."""
        kind = f"{prefix} {types} {output}"
        if kind not in self.aggregates:
            name = f"{prefix}{len(self.aggregates)}"
            self.register_aggregate(name, types, output)
            self.aggregates[kind] = name
        return self.aggregates[kind]

    def register_aggregate(self, name: str, types: list[pa.DataType], output: pa.DataType) -> None:
        self.told["register_aggregate", name] = (name, types, output)
        self.context.register_udaf(datafusion.udaf(_Nothing, types, output, [output], "immutable", name))

    def schema(self, sql: str) -> pa.Schema:
        """The names and types of a query's columns, which may be among rows of a subquery. Raises SqlError."""
        sql = without_rows(sql)
        if not self.is_apart(sql):
            return self.schema_here(sql)
        schema: pa.Schema = self.from_process("schema", sql)
        return schema

    def schema_here(self, sql: str) -> pa.Schema:
        schema: pa.Schema = self.asked(sql, lambda frame: frame.schema())
        return schema

    def plan(self, sql: str, optimised: bool = True) -> Any:
        """The logical plan of one query, optimised or as it was bound; of one that takes long a ``PlanApart``. Raises
        SqlError."""
        if not self.is_apart(sql):
            return self.plan_here(sql, optimised)
        return PlanApart(self.process, sql, optimised, self.from_process("text", sql, optimised))

    def bound(self, sql: str) -> str:
        """The text of a query's plan before optimisation. Raises SqlError."""
        return str(self.plan(sql, optimised=False).display_indent())

    def plan_here(self, sql: str, optimised: bool) -> Any:
        return self.asked(sql, lambda frame: frame.optimized_logical_plan() if optimised else frame.logical_plan())

    def is_apart(self, sql: str) -> bool:
        """Whether the text is planned in another process."""
        return takes_long(sql) and self.process.can_start()

    def from_process(self, call: str, *arguments: Any) -> Any:
        try:
            return self.process.ask(call, *arguments)
        except EOFError:
            raise SqlError("DataFusion cannot plan this query: its process ended") from None

    def asked(self, sql: str, what: Callable[[Any], Any]) -> Any:
        """``what`` of DataFusion's frame for one query. Raises SqlError."""
        try:
            with self.turn:
                return what(self.context.sql_with_options(sql, self.options))
        except UnicodeEncodeError:
            raise SqlError("the query has text that is not UTF-8") from None
        except Exception as problem:
            raise SqlError(planner_message(problem)) from None
        except BaseException as problem:  # a panic in DataFusion is no Exception
            if isinstance(problem, KeyboardInterrupt | SystemExit):
                raise
            raise SqlError(f"DataFusion cannot plan this query: {problem}") from None

    def serialise(self, plan: Any) -> bytes:
        """The plan as Substrait. Raises SqlError for what Substrait cannot say."""
        if isinstance(plan, PlanApart):
            return plan.serialised()
        try:
            data: bytes = substrait.Producer.to_substrait_plan(plan, self.context).encode()
        except Exception as problem:
            raise SqlError(f"the plan has no Substrait form: {planner_message(problem)}") from None
        return data


def _no_value(*arguments: Any) -> Any:
    raise NotImplementedError("plans are never run")


class _Nothing(datafusion.user_defined.Accumulator):
    """What an aggregate of a plan that is never run has."""

    def state(self) -> list[Any]:
        raise NotImplementedError("plans are never run")

    def update(self, *values: Any) -> None:
        raise NotImplementedError("plans are never run")

    def merge(self, states: list[Any]) -> None:
        raise NotImplementedError("plans are never run")

    def evaluate(self) -> Any:
        raise NotImplementedError("plans are never run")


def new_context() -> datafusion.SessionContext:
    """A session that reads SQL as DuckDB does, as far as options go."""
    config = datafusion.SessionConfig()
    for option, value in _OPTIONS.items():
        config = config.set(option, value)
    return datafusion.SessionContext(config)


def only_queries() -> datafusion.SQLOptions:
    """Options that refuse all that changes something."""
    return datafusion.SQLOptions().with_allow_ddl(False).with_allow_dml(False).with_allow_statements(False)


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def planner_message(problem: Exception) -> str:
    """DataFusion's message without its nested prefixes, its own defect reports and its backtrace."""
    text = str(problem).split("\n\nbacktrace:")[0].strip()
    text = _PREFIX.sub("", text)
    parser = _PARSER_ERROR.fullmatch(text)
    if parser is not None:
        text = parser.group(1).replace('\\"', '"').replace("\\'", "'")
    if text.startswith("RecursionLimitExceeded"):
        return "the query is nested too deeply for DataFusion's parser"
    return _NO_TABLE.sub(_missing, _NO_MATCH.sub("", text))


def _missing(found: re.Match[str]) -> str:
    """That a table is missing, and what a file needs to be one."""
    name = found[1]
    said = f"there is no table '{name}'"
    is_file = any(name.lower().endswith(ending) for ending in FORMATS)
    return f"{said}: a file gets a name first, by register(name, path)" if is_file else said


def _is_known(type: pa.DataType) -> bool:
    """Whether there are columns of the type; of structs the fields that are used are asked for when they are read."""
    if is_list(type):
        return _is_known(type.value_type)
    return pa.types.is_struct(type) or horse_type(type) is not None


def _planned(type: pa.DataType) -> pa.DataType:
    """The type that plans see, whose parts may be NULL whatever the table says, as they are in a row that a subquery or
    a join does not have: dictionaries are what they hold, all decimals are decimal128, times of day and
    moments with a zone have one type each, so have lists, a column without a type is of integers, and what Substrait
    has no word for is opaque."""
    if pa.types.is_dictionary(type) and horse_type(type) is not None:
        return _planned(type.value_type)
    if pa.types.is_null(type):
        return pa.int32()
    if pa.types.is_date64(type):
        return pa.date32()
    if pa.types.is_time(type):
        return pa.time64("ns")  # as the planner types constants
    if pa.types.is_timestamp(type) and type.tz is not None:
        return pa.timestamp("us", "UTC")
    if type.id in _OPAQUE or isinstance(type, pa.BaseExtensionType):
        return pa.binary()
    if pa.types.is_decimal(type) and type.precision <= MAX_DIGITS:
        return pa.decimal128(type.precision, type.scale)
    if is_list(type):
        return pa.list_(_planned(type.value_type))
    if pa.types.is_struct(type):
        return pa.struct([(type.field(i).name, _planned(type.field(i).type)) for i in range(type.num_fields)])
    return type
