"""Expressions of a Substrait plan to those of ``plan.py``: fields, calls, casts, CASE, subqueries, window functions.

Everything that the tree has no word for is collected in ``unsupported``, so that a query is refused once with the whole
list.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from drawloom.horse.calendar import UNITS
from drawloom.horse.types import BOOL, DATE, DAY, F64, I32, I64, STR, VectorType
from drawloom.sql.aggregates import AGGREGATE_FUNCTIONS, FOLDED, REDUCTIONS, constants_of
from drawloom.sql.dateformat import formatted
from drawloom.sql.functions import DATE_PARTS, TIME_PARTS
from drawloom.sql.lists import FUNCTIONS as LISTS
from drawloom.sql.literals import ANYTHING, UNSIGNED, Literals, interval_parts
from drawloom.sql.names import MOMENT, SAME, ZONE_CALLS, known_aggregate, known_list_call
from drawloom.sql.plan import (
    Apply,
    Case,
    Cast,
    Constant,
    Dependent,
    Exists,
    Expression,
    Field,
    InList,
    InRelation,
    ListsType,
    Project,
    Relation,
    Scalar,
    SortKey,
    Window,
    WindowFrame,
    asked,
)
from drawloom.sql.rounding import TEXT
from drawloom.sql.scalars import TABLE
from drawloom.sql.tables import LIST
from drawloom.sql.text import DOUBLE
from drawloom.sql.unfolded import NUMBER
from drawloom.sql.windows import FUNCTIONS

#: Functions with rules of their own, with their numbers of arguments.
_OWN: Final[dict[str, tuple[int, ...]]] = {
    "equal": (2,), "not_equal": (2,), "lt": (2,), "lte": (2,), "gt": (2,), "gte": (2,),
    "and": (2,), "or": (2,), "not": (1,), "is_null": (1,), "is_not_null": (1,),
    "add": (2,), "subtract": (2,), "multiply": (2,), "divide": (2,), "modulus": (2,), "negate": (1,), "abs": (1,),
    "bitwise_and": (2,), "bitwise_or": (2,), "bitwise_xor": (2,), "bitwise_shift_left": (2,),
    "bitwise_shift_right": (2,),
    "like": (2, 3), "ilike": (2, 3), "date_part": (2,), "between": (3,), "nullif": (2,),
    "is_not_distinct_from": (2,), "is_distinct_from": (2,), "regex_not_match": (2,), "regex_not_imatch": (2,),
    "is_true": (1,), "is_false": (1,), "is_not_true": (1,), "is_not_false": (1,),
    "is_unknown": (1,), "is_not_unknown": (1,),
    "upper": (1,), "lower": (1,), "btrim": (1, 2), "ltrim": (1, 2), "rtrim": (1, 2),
    "regexp_replace": (3, 4), "character_length": (1,), "octet_length": (1,), "bit_length": (1,),
    "str_concat": (2,), "concat": tuple(range(1, 100)), "concat_ws": tuple(range(2, 100)),
    "date_trunc": (2,), "date_bin": (2, 3), "to_date": (1,), "to_timestamp": (1,), "to_timestamp_seconds": (1,),
    "to_timestamp_millis": (1,), "to_timestamp_micros": (1,), "to_timestamp_nanos": (1,), "from_unixtime": (1,),
    "to_unixtime": (1,),
    "greatest": tuple(range(1, 100)), "least": tuple(range(1, 100)), "sqrt": (1,), "ln": (1,), "exp": (1,),
    "power": (2,),
    "floor": (1,), "ceil": (1,), "round": (1, 2), "trunc": (1, 2), "logb": (1, 2),
    "iszero": (1,), "nanvl": (2,),
    "to_char": (2,), "date_format": (2,), "empty": (1,), "get_field": tuple(range(2, 20)),
    "struct": tuple(range(1, 100)), "local_moment": (2,), "universal_moment": (2,),
}  # fmt: skip
#: All Substrait scalar functions that the translation knows, with their numbers of arguments.
SCALAR_FUNCTIONS: Final[dict[str, tuple[int, ...]]] = {
    **{name: row.counts for name, row in TABLE.items()}, **_OWN, **LISTS,
}  # fmt: skip
#: What some of them are written as.
_REWRITES: Final[dict[str, Callable[[list[Expression]], Expression]]] = {
    "nullif": lambda a: Case([(Apply("equal", a), Constant(None, BOOL))], a[0]),
    "regex_not_match": lambda a: Apply("not", [Apply("regex_match", a)]),
    "regex_not_imatch": lambda a: Apply("not", [Apply("regex_imatch", a)]),
    "bit_length": lambda a: Apply("multiply", [Apply("octet_length", a), Constant(8, I64)]),
    "iszero": lambda a: Apply("equal", [a[0], Constant(0, I32)]),
    "nanvl": lambda a: Case([(Apply("is_nan", a[:1]), a[1])], a[0]),
    "empty": lambda a: Apply("equal", [Apply("array_length", a), Constant(0, I64)]),
    "is_unknown": lambda a: Apply("is_null", a),
    "is_not_unknown": lambda a: Apply("is_not_null", a),
    "to_date": lambda a: Cast(a[0], DATE),
    "logb": lambda a: Apply("log10", a) if len(a) == 1 else Apply("log_of", [a[1], a[0]]),
}  # fmt: skip
#: What only OVER (...) gives a meaning to.
WINDOW_FUNCTIONS: Final = frozenset([
    "row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile", "lag", "lead", "first_value",
    "last_value", "nth_value",
])  # fmt: skip
#: Substrait's literals that are lists.
_LISTS: Final = ("list", "empty_list")
#: Substrait's units of window frames.
_UNITS: Final[dict[int, str]] = {1: "rows", 2: "range"}
_SORT: Final[dict[int, tuple[bool, bool]]] = {1: (True, True), 2: (True, False), 3: (False, True), 4: (False, False)}
_RETURN_NULL: Final = 1  # FAILURE_BEHAVIOR_RETURN_NULL
_OF_GROUPING: Final = frozenset(["bitwise_and", "bitwise_shift_right"])
#: A row as a value, which comparisons take apart, and what they join its parts by.
_ROW: Final = "struct"
_ROW_COMPARISONS: Final[dict[str, str]] = {
    "equal": "and", "not_equal": "or", "is_not_distinct_from": "and", "is_distinct_from": "or",
}  # fmt: skip
_EXISTS: Final = 1  # PREDICATE_OP_EXISTS
_FLAGS: Final = frozenset([Constant(flag, STR).key() for flag in ("g", "i", "gi", "ig", "")])
_SPELLINGS: Final[dict[str, str]] = {"substr": "substring", "substring_index": "substr_index"}
#: More than a string has.
MAX_CHARACTERS: Final = (1 << 31) - 1


class Expressions(Literals):
    """Reads expressions; ``functions`` are the plan's functions by anchor, ``subqueries`` those by name that stand for
    a subquery."""

    def __init__(self, unsupported: list[str], subqueries: dict[str, Dependent]) -> None:
        super().__init__(unsupported)
        self.subqueries = subqueries
        self.functions: dict[int, str] = {}

    def relation(self, rel: Any) -> Relation:
        """The relation of a subquery."""
        raise NotImplementedError

    def expression(self, body: Any) -> Expression:
        kind = body.WhichOneof("rex_type")
        if kind is None:
            return Constant(None, BOOL)  # DataFusion's NULL without a type
        if kind == "selection":
            return self.selection(body.selection)
        if kind == "literal" and body.literal.WhichOneof("literal_type") in _LISTS:
            return self.constant_list(body.literal)
        if kind == "literal" and body.literal.WhichOneof("literal_type") == "struct":
            return Apply(_ROW, [self.literal(v) for v in body.literal.struct.fields])
        if kind == "literal":
            return self.literal(body.literal)
        if kind == "scalar_function":
            return self.function(body.scalar_function)
        if kind == "cast":
            inner = self.expression(body.cast.input)
            if body.cast.type.WhichOneof("kind") == "struct" and _is_row(inner):
                types = [self.type(t) or BOOL for t in body.cast.type.struct.types]
                return Apply(_ROW, [Cast(e, t) for e, t in zip(inner.parts(), types)])
            if body.cast.type.WhichOneof("kind") == "list":
                return self.cast_to_list(inner, body.cast)
            type = self.type(body.cast.type)
            if isinstance(inner, Apply) and inner.function in _OF_GROUPING and _is_unsigned(body.cast.input):
                return inner  # GROUPING(x), which is a bigint
            return ANYTHING if type is None else Cast(inner, type, body.cast.failure_behavior == _RETURN_NULL)
        if kind == "if_then":
            return self.case(body.if_then)
        if kind == "singular_or_list":
            options = [self.expression(o) for o in body.singular_or_list.options]
            value = self.expression(body.singular_or_list.value)
            return _among_rows(value, options) if _is_row(value) else InList(value, options)
        if kind == "window_function":
            return self.window(body.window_function)
        if kind == "subquery":
            return self.subquery(body.subquery)
        self.refuse(f"expression: {kind}")
        return ANYTHING

    def constant_list(self, body: Any) -> Expression:
        """A constant, which may be a list or a list of lists."""
        kind = body.WhichOneof("literal_type")
        if kind == "empty_list":
            return self.empty_list(body.empty_list.type)
        if kind == "list":
            return Apply("make_array", [self.constant_list(v) for v in body.list.values])
        return self.literal(body)

    def empty_list(self, element: Any) -> Expression:
        is_list = element.WhichOneof("kind") == "list"
        one = self.empty_list(element.list.type) if is_list else Constant(None, self.type(element) or I32)
        return Apply("array_slice", [Apply("make_array", [one]), Constant(1, I64), Constant(0, I64)])

    def cast_to_list(self, inner: Expression, body: Any) -> Expression:
        """A cast to a list; of a constant NULL that has no other type."""
        type = self.lists_type(body.type)
        if type is None or (isinstance(inner, Constant) and inner.value is None):
            return inner if type else ANYTHING
        return Cast(inner, type, body.failure_behavior == _RETURN_NULL)

    def lists_type(self, body: Any) -> VectorType | None:
        """The type, which may be of lists; None for one that is not supported."""
        if body.WhichOneof("kind") != "list":
            return self.type(body)
        element = self.lists_type(body.list.type)
        return None if element is None else ListsType(element)

    def subquery(self, body: Any) -> Expression:
        """A subquery that the planner did not make a join: one that does not depend on the row."""
        kind = body.WhichOneof("subquery_type")
        if kind == "scalar":
            return _scalar(self.relation(body.scalar.input))
        if kind == "in_predicate" and len(body.in_predicate.needles) == 1:
            return InRelation(self.expression(body.in_predicate.needles[0]), self.relation(body.in_predicate.haystack))
        if kind == "set_predicate" and body.set_predicate.predicate_op == _EXISTS:
            return Exists(self.relation(body.set_predicate.tuples))
        self.refuse(f"expression: {kind} subquery")
        return ANYTHING

    def window(self, body: Any) -> Expression:
        function = known_aggregate(self.functions.get(body.function_reference, "?"))
        arguments = [self.expression(a.value) for a in body.arguments]
        partitions = [self.expression(p) for p in body.partitions]
        sorts = [self.sort_key(s) for s in body.sorts]
        counts = (1,) if function in REDUCTIONS else AGGREGATE_FUNCTIONS.get(function, ())
        is_aggregate = function in REDUCTIONS or function in FOLDED
        if function not in FUNCTIONS or (is_aggregate and len(arguments) not in counts):
            self.refuse(f"{'window' if function in WINDOW_FUNCTIONS else 'aggregate'} function: {function} OVER (...)")
            return ANYTHING
        if function in ("lag", "lead", "nth_value", "ntile"):
            place = 0 if function == "ntile" else 1
            offset = arguments[place] if len(arguments) > place else Constant(1, I64)
            if not isinstance(offset, Constant) or not isinstance(offset.value, int):
                self.refuse(f"window function: {function} of what is no constant")
            elif function == "ntile" and offset.value < 1:
                self.refuse("window function: ntile into less than one bucket")
        self.check_options(function, arguments)
        if body.bounds_type not in _UNITS:
            self.refuse("window functions: a frame without a unit")
            return ANYTHING
        frame = WindowFrame(_UNITS[body.bounds_type], _bound(body.lower_bound), _bound(body.upper_bound))
        return Window(function, arguments, partitions, sorts, frame)

    def check_options(self, function: str, arguments: list[Expression]) -> None:
        """Refuses what an aggregate has behind the arguments that it folds, where that is no constant or a NULL."""
        options = constants_of(function, arguments)
        if not all(isinstance(o, Constant) for o in options):
            self.refuse(f"aggregate function: {function} with an option that is no constant")
        elif any(isinstance(o, Constant) and o.value is None for o in options):
            self.refuse(f"aggregate function: {function} with NULL for an option")

    def case(self, body: Any) -> Expression:
        """CASE. DataFusion writes ``CASE x WHEN y THEN z`` with x as a first branch that has no result."""
        branches = list(body.ifs)
        base: Expression | None = None
        if branches and not branches[0].HasField("then"):
            base = self.expression(getattr(branches.pop(0), "if"))
        made: list[tuple[Expression, Expression]] = []
        for branch in branches:
            condition = self.expression(getattr(branch, "if"))
            if base is not None:
                condition = Apply("equal", [base, condition])
            made.append((condition, self.expression(branch.then)))
        return Case(made, self.expression(getattr(body, "else")) if body.HasField("else") else None)

    def selection(self, body: Any) -> Expression:
        reference = body.direct_reference
        if reference.WhichOneof("reference_type") != "struct_field" or reference.struct_field.HasField("child"):
            self.refuse("expression: a field inside a column")
            return ANYTHING
        if body.WhichOneof("root_type") == "outer_reference":
            self.refuse("expression: a correlated subquery")
            return ANYTHING
        return Field(reference.struct_field.field)

    def function(self, body: Any) -> Expression:
        found = self.functions.get(body.function_reference, "?")
        name = ZONE_CALLS.get(found) or _SPELLINGS.get(found, known_list_call(found))
        if name in ("add", "subtract") and len(body.arguments) == 2:
            sides = [a.value for a in body.arguments]
            if name == "add" and self.interval(sides[0], 1) is not None:
                sides.reverse()
            interval = self.interval(sides[1], -1 if name == "subtract" else 1)
            if interval is not None:
                return Apply("later", [self.expression(sides[0]), *interval])
            if any(_days(side) is not None for side in sides):
                return Apply(name, [self.expression(_days(side) or side) for side in sides])
        if name == "date_bin":
            return self.date_bin([a.value for a in body.arguments])
        arguments = [self.expression(a.value) for a in body.arguments]
        if name == DOUBLE and isinstance(arguments[0], Constant):
            return Constant(float(str(arguments[0].value)), F64)
        if name == NUMBER and isinstance(arguments[0], Constant):
            return Constant(int(str(arguments[0].value)), I64)
        if name in (TEXT, MOMENT, SAME):
            return arguments[0]
        if name in self.subqueries:
            return self.subqueries[name].rebuilt(arguments)
        if name.startswith(LIST):
            return Apply("list_number", [*arguments, Constant(int(name.removeprefix(LIST)), I64)])
        if name not in SCALAR_FUNCTIONS:
            self.refuse(f"function: {name}")
            return ANYTHING
        counts = SCALAR_FUNCTIONS[name]
        if name in ("and", "or") and len(arguments) > 2:
            made = arguments[0]
            for argument in arguments[1:]:
                made = Apply(name, [made, argument])
            return made
        if len(arguments) not in counts:
            self.refuse(f"function: {name} with {len(arguments)} arguments")
            return ANYTHING
        if name == "date_part":
            part = arguments[0]
            word = str(part.value).lower() if isinstance(part, Constant) else "?"
            if word in TIME_PARTS:
                return Apply("time_" + word, arguments[1:])
            if word not in DATE_PARTS:
                self.refuse(f"function: date_part('{word}', ...)")
                return ANYTHING
            return Apply("date_" + word, arguments[1:])
        if name in ("like", "ilike"):
            return self.like(name, arguments)
        if name == "regexp_replace" and any(_is_null(a) for a in arguments):
            return Constant(None, STR)
        if name == "regexp_replace" and not all(isinstance(a, Constant) for a in arguments[1:]):
            self.refuse(f"function: {name} with arguments that are no constants")
        if name == "regexp_replace" and len(arguments) == 4 and arguments[3].key() not in _FLAGS:
            self.refuse("function: regexp_replace with options other than 'g' and 'i'")
        if name == "date_trunc" and not (isinstance(arguments[0], Constant) and arguments[0].value in UNITS):
            self.refuse(f"function: date_trunc to {getattr(arguments[0], 'value', 'what is no constant')}")
        if name in ("to_char", "date_format"):
            return self.text_of_moment(name, arguments)
        if name == "string_to_array" and not (isinstance(arguments[1], Constant) and arguments[1].value):
            self.refuse(f"function: {name} by what is no constant, or by nothing")
        if name == "array_slice" and len(arguments) == 4:
            stride = arguments.pop()
            if not isinstance(stride, Constant) or stride.value != 1:
                self.refuse("function: array_slice by steps")
        if name in ("range", "generate_series") and len(arguments) == 3 and not isinstance(arguments[2], Constant):
            self.refuse(f"function: {name} by steps that are no constant")
        if name == "array_sort" and not all(isinstance(a, Constant) for a in arguments[1:]):
            self.refuse(f"function: {name} in an order that is no constant")
        if name == "array_to_string" and not isinstance(arguments[1], Constant):
            self.refuse(f"function: {name} with a separator that is no constant")
        if name in ("round", "trunc") and len(arguments) == 2 and not _is_digits(arguments[1]):
            self.refuse(f"function: {name} to digits that are no constant")
        if name == "get_field":
            return _field_of(arguments)
        if name in _ROW_COMPARISONS and all(map(_is_row, arguments)):
            return _compared_rows(name, *[a.parts() for a in arguments])
        if name in ("greatest", "least") and len(arguments) == 1:
            return asked(arguments[0]) if name == "greatest" else arguments[0]
        if name in _REWRITES:
            return _REWRITES[name](arguments)
        if name == "substring" and self.is_front(arguments):
            count = arguments[2] if len(arguments) == 3 else Constant(MAX_CHARACTERS, I64)
            return Apply("front", [*arguments[:2], count])
        return Apply(name, arguments)

    def date_bin(self, arguments: list[Any]) -> Expression:
        """date_bin(interval, moment, origin) with the interval in microseconds."""
        width = self.interval(arguments[0], 1)
        months, days, micros = [a.value for a in width or [] if isinstance(a, Constant)] or (1, 0, 0)
        if months or not isinstance(days, int) or not isinstance(micros, int):
            self.refuse("function: date_bin into bins that are no constant, or of months")
            return ANYTHING
        return Apply("date_bin", [Constant(days * DAY + micros, I64), *[self.expression(a) for a in arguments[1:]]])

    def text_of_moment(self, name: str, arguments: list[Expression]) -> Expression:
        format = arguments[1]
        if _is_null(format):
            return Constant(None, STR)
        made = formatted(arguments[0], str(format.value)) if isinstance(format, Constant) else None
        if made is None:
            self.refuse(f"function: {name} with a format that is no constant, or has codes that are not known")
        return made or ANYTHING

    def is_front(self, arguments: list[Expression]) -> bool:
        """Whether a substring has a constant start, from 1, and a constant count."""
        bounds = [a.value for a in arguments[1:] if isinstance(a, Constant) and isinstance(a.value, int)]
        return len(bounds) == len(arguments) - 1 and bounds[0] >= 1 and bounds[-1] >= 0

    def interval(self, body: Any, sign: int) -> list[Expression] | None:
        """An interval literal as constant months, days and microseconds; None for anything else."""
        if body.WhichOneof("rex_type") != "literal" or body.literal.WhichOneof("literal_type") != "interval_compound":
            return None
        return [Constant(sign * amount, I64) for amount in interval_parts(body.literal.interval_compound)]

    def like(self, name: str, arguments: list[Expression]) -> Expression:
        pattern = arguments[1]
        escape = arguments[2].value if len(arguments) == 3 and isinstance(arguments[2], Constant) else None
        if escape not in (None, "", "\\"):
            self.refuse(f"function: like with escape character {escape!r}")
        if name == "like":
            return Apply("like", arguments[:2])
        if not isinstance(pattern, Constant) or not isinstance(pattern.value, str) or not pattern.value.isascii():
            self.refuse("function: ilike with a pattern that is no constant of ASCII")
            return ANYTHING
        return Apply("like", [Apply("lower", arguments[:1]), Constant(pattern.value.lower(), STR)])

    def sort_key(self, sort: Any) -> SortKey:
        ascending, nulls_first = _SORT.get(sort.direction, (True, False))
        if sort.direction not in _SORT:
            self.refuse("ORDER BY with clustered order")
        return SortKey(self.expression(sort.expr), ascending, nulls_first)


def _scalar(relation: Relation) -> Expression:
    """The value of a subquery. What the planner cast in it is cast outside, where that may be dropped."""
    column = relation.columns[0] if isinstance(relation, Project) and len(relation.columns) == 1 else None
    if isinstance(relation, Project) and isinstance(column, Cast):
        return Cast(_scalar(Project(relation.input, [column.input])), column.type, column.is_try)
    return Scalar(relation)


def _bound(body: Any) -> int | None:
    """The offset of a frame's bound; None for the end of the partition."""
    kind = body.WhichOneof("kind")
    if kind == "preceding":
        return -int(body.preceding.offset)
    if kind == "following":
        return int(body.following.offset)
    return 0 if kind == "current_row" else None


def _days(body: Any) -> Any:
    """The number of days that the planner made seconds, and these an interval; None for anything else."""
    for kind in ("interval_compound", "interval_day"):
        if body.WhichOneof("rex_type") != "cast" or body.cast.type.WhichOneof("kind") != kind:
            return None
        body = body.cast.input
    factors = [a.value for a in body.scalar_function.arguments]
    return factors[0] if len(factors) == 2 and factors[1].literal.i64 == DAY // 1_000_000 else None


def _is_row(expression: Expression) -> bool:
    return isinstance(expression, Apply) and expression.function == _ROW


def _compared_rows(name: str, left: list[Expression], right: list[Expression]) -> Expression:
    """(a, b) = (c, d) and its kin, which NULLs make unknown or not as they do the comparisons of a and c, b and d."""
    joint = _ROW_COMPARISONS[name]
    made: Expression = Apply(name, [left[0], right[0]])
    for a, b in zip(left[1:], right[1:]):
        made = Apply(joint, [made, Apply(name, [a, b])])
    return made


def _among_rows(value: Expression, options: list[Expression]) -> Expression:
    made = [_compared_rows("equal", value.parts(), option.parts()) for option in options]
    either = made[0]
    for other in made[1:]:
        either = Apply("or", [either, other])
    return either


def _field_of(arguments: list[Expression]) -> Expression:
    made = arguments[0]
    for name in arguments[1:]:
        made = Apply("get_field", [made, name])
    return made


def _is_null(argument: Expression) -> bool:
    return isinstance(argument, Constant) and argument.value is None


def _is_digits(argument: Expression) -> bool:
    return isinstance(argument, Constant) and isinstance(argument.value, int)


def _is_unsigned(body: Any) -> bool:
    """Whether the call gives one of DataFusion's own unsigned bytes."""
    output = body.scalar_function.output_type
    kind = output.WhichOneof("kind")
    return kind in UNSIGNED and bool(getattr(output, kind).type_variation_reference)
