"""Value ranges: what each exact vector can hold, from the stored columns' bounds through the arithmetic.

A range that fits 32 or 64 bits lets the kernel compute there without an overflow check; the proof rests on the tables
being immutable. Text has the range of its codes. What is assigned more than once has the range of its type.
"""

from __future__ import annotations

import datetime
from typing import Final

from drawloom.horse.ir import (
    Assign,
    Call,
    CheckCast,
    Expression,
    Function,
    FunctionRef,
    Literal,
    Name,
    Operand,
    Use,
    assigned_once,
    literal_value,
    walk,
)
from drawloom.horse.signatures import READS_COLUMN
from drawloom.horse.types import DATE, DAY, EPOCH, TIMESTAMP, ListType, Type, VectorType, exact_bounds, scale_of

Range = tuple[int, int]

#: Days of the longest unit that there is: a millennium.
LONGEST_UNIT: Final = 366_000

#: Rows that a kernel can have, so that their numbers fit 32 bits; a launch over more, or by higher numbers, is refused.
MAX_ROWS: Final = (1 << 31) - 1
#: What makes row numbers, and what takes them out of it.
_ROWS: Final = frozenset(["join", "cross", "loop_join", "group", "distinct_slices"])
_TAKEN: Final = frozenset(["item", "keys", "values"])
_EACH: Final = frozenset(["each", "each_left", "each_right", "each_item"])


class Facts:
    """What is known about stored columns before the query runs."""

    def rows(self, table: str) -> int:
        raise NotImplementedError

    def range(self, table: str, column: str) -> Range | None:
        """The least and greatest value (unscaled, or code of text); None for floats."""
        raise NotImplementedError


class Ranges:
    """The ranges of a function's variables (of a list's, those of the elements of all cells), the stored column that
    each column variable is, and which hold the row numbers of joins and groups (``numbers``)."""

    def __init__(self) -> None:
        self.ranges: dict[str, Range] = {}
        self.tables: dict[str, str] = {}
        self.columns: dict[str, tuple[str, str]] = {}
        self.numbers: set[str] = set()

    def of(self, operand: Operand, type: Type) -> Range | None:
        """The range of a value of ``type``; None for floats, text without codes and what is no vector."""
        if isinstance(operand, Name):
            found = self.ranges.get(operand.name)
            if found is not None:
                return found
        if not isinstance(type, VectorType) or not type.is_exact:
            return None
        if isinstance(operand, Literal):
            values = [v for v in operand.values if isinstance(v, int)]
            return (min(values, default=0), max(values, default=0))
        return exact_bounds(type)


def analyse(function: Function, types: dict[str, Type], facts: Facts) -> Ranges:
    """The ranges of all variables that a function assigns once."""
    found = Ranges()
    once = assigned_once(function)
    for statement in walk(function.body):
        if isinstance(statement, Assign) and len(statement.targets) == 1 and statement.targets[0].name in once:
            name = statement.targets[0].name
            made = _range(name, statement.value, types, facts, found)
            if made is not None:
                found.ranges[name] = made
    return found


def _range(name: str, expression: Expression, types: dict[str, Type], facts: Facts, found: Ranges) -> Range | None:
    if isinstance(expression, CheckCast):
        return _range(name, expression.value, types, facts, found)
    if isinstance(expression, Use):
        return found.of(expression.operand, types[name])
    assert isinstance(expression, Call)
    function, arguments = expression.function.name, expression.arguments
    if function == "load_table":
        table = literal_value(arguments[0])
        if table is not None:
            found.tables[name] = str(table)
        return None
    if function in READS_COLUMN:
        return _column_range(name, function, arguments, facts, found)
    if function in _ROWS:
        found.numbers.add(name)
    if function in _TAKEN and isinstance(arguments[0], Name) and arguments[0].name in found.numbers:
        return (0, MAX_ROWS - 1)
    type = types[name]
    if function in _EACH and isinstance(type, ListType) and isinstance(type.element, VectorType):
        return _element_range(type.element, arguments, types, found)
    if function == "raze" and isinstance(arguments[0], Name):
        return found.ranges.get(arguments[0].name)
    if not isinstance(type, VectorType) or not (type.is_exact or type.kind == "text"):
        return None
    return _within(type, call_range(function, type, [_typed(a, types, found) for a in arguments]))


def _within(type: VectorType, range: Range | None) -> Range | None:
    """A range within the bounds of a type."""
    if range is None or not type.is_exact:
        return range
    low, high = exact_bounds(type)
    return (max(range[0], low), min(range[1], high))


def _element_range(type: VectorType, arguments: list[Operand], types: dict[str, Type], found: Ranges) -> Range | None:
    """The range of the elements of all cells, of ``type``, that a call of a function for each cell makes; an empty cell
    reduces to zero."""
    function = arguments[0]
    if not isinstance(function, FunctionRef) or not (type.is_exact or type.kind == "text"):
        return None
    typed = [_typed(a, types, found) for a in arguments[1:]]
    if function.name not in _REDUCED:
        return _within(type, call_range(function.name, type, typed))
    most, known = _REDUCED[function.name], typed[0][1]
    if known is None or function.name == "len":
        return None if function.name != "len" else (0, MAX_ROWS)
    return _within(type, (min(known[0], 0) * most, max(known[1], 0) * most))


#: Reductions, with how many elements a result is as large as.
_REDUCED: Final[dict[str, int]] = {"sum": MAX_ROWS, "min": 1, "max": 1, "len": MAX_ROWS}


def _typed(operand: Operand, types: dict[str, Type], found: Ranges) -> tuple[Type | None, Range | None]:
    if isinstance(operand, Literal):
        return (operand.type, found.of(operand, operand.type))
    if isinstance(operand, Name):
        type = types[operand.name]
        type = type.element if isinstance(type, ListType) else type
        return (type, found.of(operand, type))
    return (None, None)


def _column_range(name: str, function: str, arguments: list[Operand], facts: Facts, found: Ranges) -> Range | None:
    table, column = arguments[0], literal_value(arguments[1])
    if not isinstance(table, Name) or table.name not in found.tables or column is None:
        return None
    stored = (found.tables[table.name], str(column))
    if function == "column_valid":
        return (0, 1)
    found.columns[name] = stored
    return facts.range(*stored)


def call_range(function: str, type: VectorType, arguments: list[tuple[Type | None, Range | None]]) -> Range | None:
    """The range of ``@function`` before the type's own bounds; None where nothing better is known than those."""
    ranges = [r for _, r in arguments]
    if function in ("compress", "top", "index"):
        return ranges[1] if function == "compress" else ranges[0]
    if function == "fill":
        return ranges[0] if type.is_exact else None
    if not type.is_exact:
        return None
    if function in ("where", "order"):
        return (0, MAX_ROWS - 1)
    if function == "concat" and all(r is not None for r in ranges):
        known = [r for r in ranges if r is not None]
        return (min([low for low, _ in known]), max([high for _, high in known]))
    if function == "outer_index" and ranges[0] is not None:
        return (min(ranges[0][0], 0), max(ranges[0][1], 0))
    if function in ("plus", "minus") and ranges[0] is not None and ranges[1] is not None:
        a, b = [_scaled(r, t, type) for t, r in arguments if r is not None]
        return (a[0] + b[0], a[1] + b[1]) if function == "plus" else (a[0] - b[1], a[1] - b[0])
    if function == "mul" and ranges[0] is not None and ranges[1] is not None:
        corners = [x * y for x in ranges[0] for y in ranges[1]]
        return (min(corners), max(corners))
    if function == "mod" and ranges[0] is not None and ranges[1] is not None:
        most = max(abs(ranges[1][0]), abs(ranges[1][1])) - 1
        return (max(min(ranges[0][0], 0), -most), min(max(ranges[0][1], 0), most))
    if function == "neg" and ranges[0] is not None:
        return (-ranges[0][1], -ranges[0][0])
    if function == "abs" and ranges[0] is not None:
        low, high = ranges[0]
        return (0 if low <= 0 <= high else min(abs(low), abs(high)), max(abs(low), abs(high)))
    if function == "if_else" and ranges[1] is not None and ranges[2] is not None:
        return (min(ranges[1][0], ranges[2][0]), max(ranges[1][1], ranges[2][1]))
    if function == "convert" and ranges[0] is not None:
        return _converted(arguments[0][0], ranges[0], type)
    if function == "date_year" and ranges[0] is not None:
        return (year_of(ranges[0][0]), year_of(ranges[0][1]))
    if function in ("date_of", "timestamp_of", "truncate", "add_months") and ranges[0] is not None:
        return _moment_range(function, type, ranges)
    return _PARTS.get(function)


_PARTS: Final[dict[str, Range]] = {
    "date_quarter": (1, 4), "date_month": (1, 12), "date_week": (1, 53), "date_day": (1, 31), "date_dow": (0, 6),
    "date_doy": (1, 366), "time_hour": (0, 23), "time_minute": (0, 59), "time_second": (0, 59),
}  # fmt: skip


def _moment_range(function: str, type: VectorType, ranges: list[Range | None]) -> Range | None:
    low, high = ranges[0] or (0, 0)
    if function == "date_of":
        return (low // DAY, high // DAY)
    if function == "timestamp_of":
        return (low * DAY, high * DAY)
    unit = DAY if type == TIMESTAMP else 1
    if function == "truncate":
        return (low - LONGEST_UNIT * unit, high)
    months = ranges[1]
    if months is None:
        return None
    return (low + (min(months[0], 0) * 31 - 31) * unit, high + (max(months[1], 0) * 31 + 31) * unit)


def _scaled(range: Range, type: Type | None, to: VectorType) -> Range:
    factor = 10 ** (scale_of(to) - scale_of(type)) if to not in (DATE, TIMESTAMP) else 1
    return (range[0] * factor, range[1] * factor)


def _converted(given: Type | None, range: Range, to: VectorType) -> Range | None:
    shift = scale_of(to) - scale_of(given)
    if shift >= 0:
        return (range[0] * 10**shift, range[1] * 10**shift)
    # Rounding moves a quotient by at most one.
    return (range[0] // 10**-shift - 1, range[1] // 10**-shift + 1)


def year_of(days: int) -> int:
    """The year of a date; outside Python's calendar a bound on it."""
    ordinal = days + EPOCH
    if ordinal < 1:
        return 1970 + days // 365 - 1
    if ordinal > datetime.date.max.toordinal():
        return 1970 + days // 365 + 1
    return datetime.date.fromordinal(ordinal).year
