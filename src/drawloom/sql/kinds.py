"""Finds what a relational tree asks of types that the translation has no rule for: casts to and from text and dates,
remainders of what is no integer.

A kind is a ``VectorType.kind``; None is one that is not known, because something below is unsupported already.
"""

from __future__ import annotations

from typing import Final

from drawloom.errors import DataError
from drawloom.horse.nested import INTO, ITEM
from drawloom.horse.plain import FOLDS, INTERPOLATED
from drawloom.horse.types import DATE, DAY, VectorType
from drawloom.sql.aggregates import CHOSEN, FOLDED
from drawloom.sql.casts import can_cast
from drawloom.sql.functions import FROM_NUMBERS, KINDS, SCALARS
from drawloom.sql.lists import FUNCTIONS as LISTS
from drawloom.sql.made import Elements, Recursive, Series
from drawloom.sql.plan import (
    Aggregate,
    Apply,
    Asked,
    Case,
    Cast,
    Constant,
    Dependent,
    Empty,
    Exists,
    Expression,
    Field,
    Filter,
    InList,
    InRelation,
    Join,
    Limit,
    ListsType,
    Measure,
    Project,
    Read,
    Relation,
    Scalar,
    Sort,
    Span,
    Union,
    Values,
    Window,
)
from drawloom.sql.scalars import KINDS_OF, TABLE
from drawloom.sql.spans import PARTS
from drawloom.sql.translate import Schema

Kinds = list[str | None]
_NUMBERS: Final = ("int", "float", "decimal")
_SAME_KIND: Final = frozenset(["add", "subtract", "multiply", "negate", "abs"])


class KindChecker:
    """What a plan asks of kinds of values: ``unsupported`` is what there is no rule for, each thing once, in the order
    of the plan; ``mixed`` says which kinds are compared that only a cast makes alike, "" for none. The planner casts
    one side of such for itself: ``casts_texts`` tells that it may have done so with a text, ``days`` are the dates that
    it may have made of numbers of days."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.unsupported: list[str] = []
        self.mixed = ""
        self.casts_texts = False
        self.days: set[int] = set()
        #: The kinds of what the steps of recursive queries read.
        self.working: dict[str, dict[str, str | None]] = {}

    def refuse(self, what: str) -> None:
        if what not in self.unsupported:
            self.unsupported.append(what)

    def relation(self, relation: Relation) -> Kinds:
        """The kinds of the relation's columns."""
        if isinstance(relation, Read):
            return [self.column(relation.table, c) for c in relation.columns]
        if isinstance(relation, Recursive):
            return self.recursive(relation)
        if isinstance(relation, Series):
            return [relation.type.kind]
        if isinstance(relation, Elements):
            assert relation.input is not None and relation.list is not None
            kind = self.expression(relation.list, self.relation(relation.input))
            return ["int", (kind or _LIST).removeprefix(_LIST) or None]
        if isinstance(relation, Empty):
            return [t.kind for t in relation.types]
        if isinstance(relation, Values):
            return [next((c.type.kind for c in column if c.value is not None), None) for column in relation.columns]
        if isinstance(relation, Filter | Sort | Limit):
            kinds = self.relation(relation.input)
            if isinstance(relation, Filter):
                self.expression(relation.condition, kinds)
            elif isinstance(relation, Sort):
                for key in relation.keys:
                    self.key(key.expression, kinds)
            return kinds
        if isinstance(relation, Project):
            below = self.relation(relation.input)
            return [self.expression(e, below) for e in relation.columns]
        if isinstance(relation, Join):
            return self.join(relation)
        if isinstance(relation, Union):
            sides: list[Kinds] = []
            for side, columns in zip(relation.relations, relation.columns):
                below = self.relation(side)
                sides.append([self.expression(e, below) for e in columns])
            if any(_has_struct(k) for kinds in sides for k in kinds):
                self.refuse("structs in UNION, INTERSECT, EXCEPT or GROUPING SETS")
            return [next((k for k in column if k is not None), None) for column in zip(*sides)]
        assert isinstance(relation, Aggregate)
        below = self.relation(relation.input)
        keys = [self.key(k, below) for k in relation.keys]
        return [*keys, *[self.measure(m, below) for m in relation.measures]]

    def recursive(self, relation: Recursive) -> Kinds:
        kinds = self.relation(relation.start)
        for name in (relation.name, relation.seen):
            self.working[name] = dict(zip(relation.names, kinds))
        for begun, found in zip(kinds, self.relation(relation.step)):
            if _is_list(found) and not _is_list(begun):
                self.refuse("a recursive query that begins with NULL for a list")
        if any(_is_struct(kind) or (kind or "").startswith((_LIST + _LIST, _LIST + _STRUCT)) for kind in kinds):
            self.refuse("structs, or lists of lists or structs, in a recursive query")
        return kinds

    def join(self, join: Join) -> Kinds:
        left, right = self.relation(join.left), self.relation(join.right)
        for key in join.keys:
            self.key(key.left, left)
            self.key(key.right, right)
        if join.condition is not None:
            self.expression(join.condition, [*left, *right])
        shown: dict[str, Kinds] = {
            "semi": left, "anti": left, "mark": [*left, "bool"], "right semi": right, "right anti": right,
        }  # fmt: skip
        return shown.get(join.kind, [*left, *right])

    def column(self, table: str, name: str) -> str | None:
        if table in self.working:
            return self.working[table][name]
        try:
            nested = self.schema.nested(table, name)
            if nested == "list":
                return f"{_LIST}{self.column(self.schema.elements(table, name), ITEM) or ''}"
            if nested == "struct":
                return f"{_STRUCT}{table}{_OF}{name}"
            return self.schema.column_type(table, name).kind
        except DataError:
            return None  # refused where the plan was decoded, or when the column is read

    def measure(self, measure: Measure, below: Kinds) -> str | None:
        if measure.condition is not None:
            self.expression(measure.condition, below)
        for sort in measure.sorts:
            self.key(sort.expression, below)
        check = self.key if measure.is_distinct else self.expression
        kinds = [check(a, below) for a in measure.arguments]
        return self.aggregate(measure.function, kinds)

    def aggregate(self, function: str, kinds: Kinds) -> str | None:
        """The kind of an aggregate's values, where it takes such arguments."""
        kind = kinds[0] if kinds else None
        if function == "array_agg":
            return f"{_LIST}{kind or ''}"
        if function in CHOSEN:
            return kind
        if (_is_list(kind) or _is_struct(kind)) and function not in ("count", "approx_distinct"):
            self.refuse(f"aggregate function: {function} of {'lists' if _is_list(kind) else 'structs'}")
        wanted = _AGGREGATED.get(function, ())
        if wanted and kind is not None and kind not in wanted:
            self.refuse(f"aggregate function: {function} of {_NAMES.get(kind, kind)}")
        if function == "sum":
            return "decimal" if kind in ("int", "bool") else kind
        if function in FOLDED and FOLDS[FOLDED[function]].gives != "same":
            return {"f64": "float", "str": "text"}.get(FOLDS[FOLDED[function]].gives, "int")
        if FOLDED.get(function) in INTERPOLATED:
            return {"int": "float", "time": "timestamp"}.get(kind or "", kind)
        return {"avg": "float", "count": "int", "approx_distinct": "int"}.get(function, kind)

    def key(self, expression: Expression, below: Kinds) -> str | None:
        """The kind of what rows are matched, grouped or ordered by."""
        kind = self.expression(expression, below)
        if _has_struct(kind):
            self.refuse("structs to match, group or order by")
        return kind

    def of_lists(self, function: str, kinds: Kinds, call: Apply) -> str | None:
        """What takes or gives a list."""
        if function in (*_OVER_LISTS, *_LISTS_OF, *_OF_TEXTS, "list_flatten") and any(map(_has_struct, kinds)):
            self.refuse(f"function: {function} of lists of structs")
        if function in ("range", "generate_series") and not all(k in ("int", None) for k in kinds):
            self.refuse(f"function: {function} of {next(_NAMES.get(k or '', k) for k in kinds if k != 'int')}")
        if function == "list_flatten":
            given = kinds[0] if _is_list(kinds[0]) else None  # a NULL
            inside = (given or _LIST).removeprefix(_LIST)
            if inside and not _is_list(inside):
                self.refuse("function: flatten of a list of what is no list")
            return inside or _LIST
        if function in _LISTS_OF:
            return f"{_LIST}{_LISTS_OF[function] or kinds[0] or ''}"
        if function in _COMPARISONS:
            if any(map(_has_struct, kinds)):
                self.refuse(f"function: {function} of lists of structs")
            return "bool"
        if function in _OVER_LISTS:
            lists = kinds[1:] if function == "array_prepend" else kinds
            inside = next((k for k in lists if k is not None and _is_list(k)), _LIST).removeprefix(_LIST)
            return _OVER_LISTS[function].replace("list", f"{_LIST}{inside}").replace("element", inside) or None
        if function == "make_array" and not any(map(_has_struct, kinds)):
            return f"{_LIST}{next((k for k in kinds if k is not None), '')}"
        if function not in ("is_null", "is_not_null") and (function not in LISTS or function == "make_array"):
            self.refuse(f"function: {function} of lists")
        if function == "array_element":
            return (kinds[0] or _LIST).removeprefix(_LIST) or None
        return _FROM_LISTS.get(function, "bool")

    def expression(self, expression: Expression, below: Kinds) -> str | None:
        if isinstance(expression, Field):
            return below[expression.index] if expression.index < len(below) else None
        if isinstance(expression, Constant):
            if expression.type == DATE and isinstance(expression.value, int):
                self.days.add(expression.value)
            return expression.type.kind
        if isinstance(expression, Cast):
            return self.cast(expression, below)
        if isinstance(expression, Asked):
            return self.expression(expression.input, below)
        if isinstance(expression, Case):
            return self.case(expression, below)
        if isinstance(expression, InList):
            kind = self.key(expression.input, below)
            for option in expression.options:
                self.compared("equal", [kind, self.key(option, below)])
            return "bool"
        if isinstance(expression, Scalar) or (isinstance(expression, Dependent) and expression.kind == "scalar"):
            return next(iter(self.relation(expression.relation)), None)
        if isinstance(expression, Exists | InRelation | Dependent):
            self.relation(expression.relation)
            for part in expression.parts():
                self.expression(part, below)
            return "bool"
        if isinstance(expression, Window):
            return self.window(expression, below)
        assert isinstance(expression, Apply)
        kinds = [self.expression(a, below) for a in expression.arguments]
        function = expression.function
        if function == "get_field":
            return self.field(kinds[0], call=expression)
        if function == "struct" or any(map(_is_struct, kinds)):
            if function not in ("is_null", "is_not_null"):
                self.refuse(f"function: {function} of structs" if function != "struct" else _MADE)
            return "bool"
        if function in LISTS or any(map(_is_list, kinds)):
            return self.of_lists(function, kinds, expression)
        if function == "divide":
            return "float"
        if "interval" in kinds or (function == "subtract" and "timestamp" in kinds):
            return self.of_intervals(function, expression, kinds)
        if function in _SAME_KIND:
            return _joined(function, kinds)
        if function in SCALARS:
            return self.scalar(expression, kinds)
        if function in _COMPARISONS:
            constants = [isinstance(a, Constant) for a in expression.arguments]
            self.compared(function, [None if c and k == "text" else k for c, k in zip(constants, kinds)])
        return "bool"

    def compared(self, function: str, kinds: Kinds) -> None:
        """Says which kinds do not compare, of whatever number: texts are equal to numbers that they are."""
        number = next((k for k in kinds if k in _NUMBERS), None)
        other = next((k for k in kinds if k == "time" or (k == "text" and function in _ORDERED)), None)
        if number and other:
            self.mixed = f"Cannot compare a {_NAMES.get(other, other)} with a number: an explicit cast was expected"

    def field(self, kind: str | None, call: Apply) -> str | None:
        name = call.arguments[1]
        if kind is None or not _is_struct(kind) or not isinstance(name, Constant):
            self.refuse("function: get_field of what is no column's struct")
            return None
        table, _, column = kind.removeprefix(_STRUCT).partition(_OF)
        if str(name.value) not in self.schema.fields(table, column):
            self.refuse(f"function: get_field of a field '{name.value}', which is spelt otherwise")
            return None
        return self.column(table, f"{column}{INTO}{name.value}")

    def of_intervals(self, function: str, call: Apply, kinds: Kinds) -> str | None:
        """What has an interval among its arguments, or is the difference of moments."""
        moments, known = ("time", "timestamp"), [k for k in kinds if k is not None]
        if function in ("add", "subtract") and len(known) == 2:
            if function == "subtract" and all(k in moments for k in kinds):
                return "interval"
            if known == ["interval", "interval"]:
                return "interval"
            if all(k in (*moments, "interval") for k in kinds) and (function == "add" or kinds[1] == "interval"):
                return "timestamp"
        if function == "later":
            if isinstance(call.arguments[1], Constant) and call.arguments[1].value:
                self.refuse("an interval of months that is not added to a date or a moment")
            return "interval"
        if function == "negate" or len(known) < len(kinds):
            return "interval"
        if function in PARTS or function == "time_epoch":
            return "float" if function == "time_epoch" else "int"
        if function in ("greatest", "least"):
            return "interval"
        if function in _SAME_KIND or function in SCALARS:
            other = next((_NAMES.get(k, k) for k in known if k != "interval"), "interval")
            self.refuse(f"function: {function} of interval" + (f" and {other}" if other != "interval" else ""))
        return "bool"

    def scalar(self, call: Apply, kinds: Kinds) -> str | None:
        function, kind = call.function, kinds[0]
        if function in TABLE:
            for given, word in zip(kinds, TABLE[function].arguments):
                if given is not None and given not in KINDS_OF[word.rstrip("?")]:
                    self.refuse(f"function: {function} of {_NAMES.get(given, given)}")
        elif function.startswith(("date_", "to_unixtime")) and "clock" in kinds:
            self.refuse(f"function: {function} of a time of day")
        elif function == "later" and kind not in ("time", "timestamp", "clock", None):
            self.refuse(f"an interval added to {_NAMES.get(kind, kind)}")
        elif function in FROM_NUMBERS and function != "to_timestamp" and kind in ("float", "decimal"):
            self.refuse(f"function: {function} of {_NAMES.get(kind, kind)}")
        if function == "later" and kind == "time":
            months, days, micros = [a.value for a in call.arguments[1:] if isinstance(a, Constant)]
            return "timestamp" if months or days or (isinstance(micros, int) and micros % DAY) else "time"
        if function in ("floor", "ceil") and kind == "int":
            return "float"
        if function in ("greatest", "least", "modulus"):
            return _joined(function, kinds)
        return KINDS.get(function, kind)

    def window(self, window: Window, below: Kinds) -> str | None:
        kinds = [self.expression(e, below) for e in window.arguments]
        if window.is_distinct and not all(map(self.is_told_apart, kinds)):
            self.refuse(f"window function: {window.function} of distinct structs")
        for part in window.partitions:
            self.key(part, below)
        ordered = [self.key(s.expression, below) for s in window.sorts]
        frame = window.frame
        offsets = [b for b in (frame.low, frame.high) if b is not None and b != 0]
        wanted = ("time", "timestamp", "clock") if any(isinstance(b, Span) for b in offsets) else _NUMBERS
        if frame.unit == "range" and offsets and (len(ordered) != 1 or ordered[0] not in (*wanted, None)):
            self.refuse("window functions: RANGE with an offset over an order by another kind of values, or by several")
        if window.function in ("lag", "lead"):
            if any(map(_has_struct, kinds[2:])) or any(map(_is_list, kinds[2:])):
                self.refuse(f"window function: {window.function} of lists or structs with another value")
            return kinds[0]
        if window.function in ("percent_rank", "cume_dist"):
            return "float"
        if window.function in ("row_number", "rank", "dense_rank", "ntile"):
            return "int"
        if window.function == "sum" and kinds[0] == "interval":
            self.refuse("window function: sum of interval")
        return self.aggregate(window.function, kinds)

    def is_told_apart(self, kind: str | None) -> bool:
        """Whether values have columns that tell them apart, as structs of such have."""
        if not _is_struct(kind):
            return not _has_struct(kind)
        assert kind is not None
        table, _, column = kind.removeprefix(_STRUCT).partition(_OF)
        fields = [self.column(table, f"{column}{INTO}{name}") for name in self.schema.fields(table, column)]
        return all(map(self.is_told_apart, fields))

    def cast(self, cast: Cast, below: Kinds) -> str | None:
        given, made = self.expression(cast.input, below), _kind_of(cast.type)
        self.casts_texts = self.casts_texts or (given == "text" and made in _NUMBERS and not cast.is_try)
        is_null = isinstance(cast.input, Constant) and cast.input.value is None
        if given is not None and not is_null and not _can_cast(given, made):
            self.refuse(f"cast: {_named(given)} to {_named(made)}")
        return made

    def case(self, case: Case, below: Kinds) -> str | None:
        values = [v for _, v in case.branches] + ([] if case.otherwise is None else [case.otherwise])
        for condition, _ in case.branches:
            self.expression(condition, below)
        kinds = [self.expression(v, below) for v in values]
        if any(map(_has_struct, kinds)):
            self.refuse("CASE of structs")
        told = [k for k, v in zip(kinds, values) if not (isinstance(v, Constant) and v.value is None)]
        return told[0] if told else None


#: What the kinds of lists begin with, before that of their elements.
_LIST: Final = "list of "

#: What functions give of lists that is none.
_FROM_LISTS: Final[dict[str, str]] = {
    "array_to_string": "text", "array_length": "int", "list_length": "int", "cardinality": "int", "list_number": "int",
}  # fmt: skip
#: What lists functions make: of elements of a kind, "" for that of the first argument.
_LISTS_OF: Final[dict[str, str]] = {
    "range": "int",
    "generate_series": "int",
    "string_to_array": "text",
    "list_split": "text",
    "array_repeat": "",
}
#: What makes texts of lists.
_OF_TEXTS: Final = ("array_to_string",)
_ORDERED: Final = frozenset(["lt", "lte", "gt", "gte"])
_COMPARISONS: Final = _ORDERED | {"equal", "not_equal", "is_distinct_from", "is_not_distinct_from"}
#: What functions give that look through lists: "list" is one of the same kind.
_OVER_LISTS: Final[dict[str, str]] = {
    "array_has": "bool", "array_position": "int", "array_min": "element", "array_max": "element",
    **dict.fromkeys(["array_slice", "array_sort", "array_reverse", "array_distinct", "array_remove", "array_remove_all",
                     "array_append", "array_prepend", "array_concat", "array_joined", "list_concat",
                     "list_distinct"], "list"),
}  # fmt: skip
#: What the kinds of structs begin with, before the table and the column that has them.
_STRUCT: Final = "struct of "
_OF: Final = " "


def _has_struct(kind: str | None) -> bool:
    """Whether values are structs, or lists of them, in however many lists."""
    while kind is not None and _is_list(kind):
        kind = kind.removeprefix(_LIST)
    return _is_struct(kind)


def _is_struct(kind: str | None) -> bool:
    return kind is not None and kind.startswith(_STRUCT)


def _is_list(kind: str | None) -> bool:
    return kind is not None and kind.startswith(_LIST)


_MADE: Final = "function: struct, as rows in brackets are that nothing is compared with"
_NAMES: Final[dict[str, str]] = {"time": "date", "int": "integer", "float": "double", "clock": "a time of day"}
#: What kinds aggregates take, where not all.
_AGGREGATED: Final[dict[str, tuple[str, ...]]] = {
    **{name: _NUMBERS for name, fold in FOLDED.items() if FOLDS[fold].gives in ("f64", "u32")},
    **{name: (*_NUMBERS, "time", "timestamp", "clock") for name, fold in FOLDED.items()
       if fold in INTERPOLATED},
    "sum": (*_NUMBERS, "bool", "interval"), "avg": _NUMBERS, "string_agg": ("text",),
    "bool_and": ("bool",), "bool_or": ("bool",),
    **dict.fromkeys(["bit_and", "bit_or", "bit_xor"], ("int",)),
}  # fmt: skip


def _kind_of(type: VectorType) -> str:
    return f"{_LIST}{_kind_of(type.element)}" if isinstance(type, ListsType) else type.kind


def _can_cast(given: str, made: str) -> bool:
    """Whether values of a kind, which may be lists, may be cast to another."""
    if _is_struct(given) or _has_struct(given):
        return False
    if given in ("", "text") and _is_list(made):
        return True
    if _is_list(given) != _is_list(made):
        return made == "text"
    if _is_list(given):
        return _can_cast(given.removeprefix(_LIST), made.removeprefix(_LIST))
    return not given or can_cast(given, made)


def _named(kind: str) -> str:
    if _is_struct(kind):
        return "a struct"
    return f"{_LIST}{_named(kind.removeprefix(_LIST))}" if _is_list(kind) else _NAMES.get(kind, kind)


def _joined(function: str, kinds: Kinds) -> str | None:
    if None in kinds:
        return None
    if "timestamp" in kinds:
        return "timestamp"
    if "time" in kinds:
        return "int" if kinds == ["time", "time"] and function == "subtract" else "time"
    return next((k for k in ("float", "decimal") if k in kinds), kinds[0])
