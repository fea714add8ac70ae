"""Which picks need no check of their positions: what rows the positions are of, from where they are made.

``@where``, ``@order``, ``@group``, ``@unique``, ``@range`` of a length and joins make numbers of rows of a size, and
picks, masks and cells of these are some of them. Where the vector that is picked from has that size (sizes are equal
when named alike, ``shapes.py``) no position is outside. Neither is one whose range fits a length that is known.

A kernel says at its end that a result does not fit its type, or that a position was outside, and goes on until then:
here only ranges count that hold nevertheless, and of picks those whose positions are inside.
"""

from __future__ import annotations

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
from drawloom.horse.ranges import Facts, Range, Ranges, call_range
from drawloom.horse.shapes import (
    Compressed,
    Constant,
    Dynamic,
    Shape,
    Size,
    Symbol,
    operand_size,
)
from drawloom.horse.types import Type, VectorType, exact_bounds

#: Builtins of which the result has some elements of an argument's, by its place: of a vector, or of all cells.
_SELECTIONS: Final = {"compress": 1, "top": 0, "fill": 0, "raze": 0, "flat": 0, "keys": 0, "values": 0}
_PICKS: Final = frozenset(["index", "outer_index"])
#: Folds that give an element of a cell, or -1.
_CHOICES: Final = frozenset(["first", "last", "nth", "only"])


class Rows:
    """Numbers of rows of ``size``, and negative ones only where they ``may_lack``."""

    def __init__(self, size: Size, may_lack: bool = False) -> None:
        self.size = size
        self.may_lack = may_lack


def picks_inside(
    main: Function, types: dict[str, Type], ranges: Ranges, shapes: dict[str, Shape], facts: Facts
) -> set[str]:
    """The variables of which every assignment that picks has positions of rows that are there."""
    finder = _Finder(main, types, ranges, shapes, facts)
    inside: set[str] = set()
    outside: set[str] = set()
    for statement in walk(main.body):
        call = statement.value if isinstance(statement, Assign) else None
        if isinstance(statement, Assign) and isinstance(call, Call) and _picks(call):
            (inside if finder.are_inside(call) else outside).add(statement.targets[0].name)
    return inside - outside


def _picks(call: Call) -> bool:
    """Whether the last two arguments are what a call picks from and at which positions."""
    if call.function.name in _PICKS:
        return True
    function = call.arguments[0] if call.function.name == "each_right" else None
    return isinstance(function, FunctionRef) and function.name == "index"


class _Finder:
    """What is known of the variables that are assigned ``once``: the ``values`` that they have, what integers are
    ``within`` whatever overflows, the ``rows`` whose numbers they hold (in all cells, of a list), and of lists with
    several such cells the rows of each, ``cells``."""

    def __init__(
        self, main: Function, types: dict[str, Type], ranges: Ranges, shapes: dict[str, Shape], facts: Facts
    ) -> None:
        self.types = types
        self.ranges = ranges
        self.shapes = shapes
        self.facts = facts
        self.once = assigned_once(main)
        self.values: dict[str, Call | Use] = {}
        self.within: dict[str, Range] = {}
        self.rows: dict[str, Rows] = {}
        self.cells: dict[str, list[Rows | None]] = {}
        for statement in walk(main.body):
            if isinstance(statement, Assign) and len(statement.targets) == 1:
                name = statement.targets[0].name
                if name in self.once:
                    self.visit(name, statement.value)

    def are_inside(self, pick: Call) -> bool:
        source, positions = pick.arguments[-2:]
        least = -1 if pick.function.name == "outer_index" else 0
        size, known = self.size(source), self.of(positions)
        if known is not None and known.size == size and (least < 0 or not known.may_lack):
            return True
        range = self.range(positions)
        return range is not None and range[1] < self.length(source) and (least < 0 or range[0] >= 0)

    def size(self, vector: Operand) -> Size | None:
        """The size of a vector, where its name stands for one number."""
        whole = part = operand_size(vector, self.shapes)
        while isinstance(part, Compressed):
            if part.mask not in self.once:
                return None
            part = part.size
        return None if isinstance(part, Symbol | Dynamic) and part.variable not in self.once else whole

    # Row numbers

    def visit(self, name: str, value: Expression) -> None:
        if isinstance(value, CheckCast):
            self.visit(name, value.value)
            return
        assert isinstance(value, Call | Use)
        self.values[name] = value
        range = self.computed(name, value)
        if range is not None:
            self.within[name] = range
        if isinstance(value, Call) and value.function.name in ("join", "loop_join"):
            self.cells[name] = [self.of_columns(a) for a in value.arguments[-2:]]
        elif isinstance(value, Call) and value.function.name == "cross":
            self.cells[name] = [self.of_vector(a) for a in value.arguments]
        else:
            made = self.of(value.operand) if isinstance(value, Use) else self.made(value)
            if made is not None:
                self.rows[name] = made

    def of(self, operand: Operand) -> Rows | None:
        return self.rows.get(operand.name) if isinstance(operand, Name) else None

    def of_vector(self, vector: Operand) -> Rows | None:
        size = self.size(vector)
        return None if size is None else Rows(size)

    def of_columns(self, columns: Operand) -> Rows | None:
        """The rows of a list of columns."""
        call = self.call(columns)
        if call is None or call.function.name != "list" or not call.arguments:
            return None
        return self.of_vector(call.arguments[0])

    def made(self, call: Call) -> Rows | None:
        name, arguments = call.function.name, call.arguments
        if name in ("where", "unique"):
            return self.of_vector(arguments[0])
        if name in ("order", "order_first", "group"):
            return self.of_columns(arguments[0])
        if name == "range":
            counted = self.call(arguments[0])
            if counted is None or counted.function.name != "len":
                return None
            return self.of_vector(counted.arguments[0])
        if name == "item":
            return self.item(arguments[0], arguments[1])
        if name in _SELECTIONS:
            return self.of(arguments[_SELECTIONS[name]])
        if name == "each_item" and isinstance(arguments[0], FunctionRef) and arguments[0].name == "compress":
            return self.of(arguments[2])
        if _picks(call) and name != "outer_index":  # which has a zero, that need not be a row, where it picks nothing
            return self.of(arguments[-2]) if self.are_inside(call) else None
        if name in ("if_else", "concat"):
            return self.either(call)
        known = self.of(arguments[2]) if name == "fold" and literal_value(arguments[0]) in _CHOICES else None
        return None if known is None else Rows(known.size, True)

    def item(self, listed: Operand, place: Operand) -> Rows | None:
        cells = self.cells.get(listed.name) if isinstance(listed, Name) else None
        if cells is None:
            return self.of(listed)
        number = literal_value(place)
        return cells[number] if isinstance(number, int) and 0 <= number < len(cells) else None

    def either(self, call: Call) -> Rows | None:
        """Row numbers out of several vectors, or negative numbers."""
        is_choice = call.function.name == "if_else"
        choices = call.arguments[1:] if is_choice else call.arguments
        found: Rows | None = None
        lacks = False
        for choice in choices:
            range = self.range(choice)
            if range is not None and range[1] < 0:
                lacks = True
                continue
            known = self.of(choice)
            if known is None and is_choice and choice is choices[0]:
                known = self.picked_where_there(call.arguments[0], choice)
            if known is None or (found is not None and known.size != found.size):
                return None
            found, lacks = known, lacks or known.may_lack
        return None if found is None else Rows(found.size, lacks)

    def picked_where_there(self, condition: Operand, picked: Operand) -> Rows | None:
        """Of row numbers that ``@outer_index`` picks those at positions that a condition says are not negative."""
        call = self.call(picked)
        if call is None or call.function.name != "outer_index" or not self.are_inside(call):
            return None
        low, _ = self.bounds(condition, call.arguments[1])
        return self.of(call.arguments[0]) if low is not None and low >= 0 else None

    # Ranges and lengths

    def call(self, operand: Operand) -> Call | None:
        """What computes a variable that is assigned once."""
        value = self.values.get(operand.name) if isinstance(operand, Name) else None
        return self.call(value.operand) if isinstance(value, Use) else value

    def range(self, operand: Operand) -> Range | None:
        """What integers are within, whatever overflows; None where that is not known."""
        if isinstance(operand, Literal):
            return self.ranges.of(operand, operand.type)
        return self.within.get(operand.name) if isinstance(operand, Name) else None

    def computed(self, name: str, value: Call | Use) -> Range | None:
        """The range of a variable from those of what it is computed from; None where it may pass its type's bounds."""
        if name in self.ranges.columns:
            return self.ranges.ranges.get(name)
        if isinstance(value, Use):
            return self.range(value.operand)
        type = self.types[name]
        if not isinstance(type, VectorType) or not type.is_integer or (_picks(value) and not self.are_inside(value)):
            return None
        made = call_range(value.function.name, type, [(self.type(a), self.range(a)) for a in value.arguments])
        if value.function.name == "if_else":
            chosen, other = self.range_where(value.arguments[0], value.arguments[1]), self.range(value.arguments[2])
            made = (min(chosen[0], other[0]), max(chosen[1], other[1])) if chosen and other else made
        low, high = exact_bounds(type)
        return made if made is not None and low <= made[0] and made[1] <= high else None

    def type(self, operand: Operand) -> Type | None:
        if isinstance(operand, Name):
            return self.types[operand.name]
        return operand.type if isinstance(operand, Literal) else None

    def range_where(self, condition: Operand, operand: Operand) -> Range | None:
        """The range of what a choice takes where a condition holds: of a variable that this bounds, or of one less a
        number."""
        call = self.call(operand)
        less = self.range(call.arguments[1]) if call is not None and call.function.name == "minus" else None
        bounded = call.arguments[0] if call is not None and less is not None else operand
        low, high = self.bounds(condition, bounded)
        if low is None or high is None:
            return self.range(operand)
        return (low, high) if less is None else (low - less[1], high - less[0])

    def bounds(self, condition: Operand, operand: Operand) -> tuple[int | None, int | None]:
        """What a condition says of a variable's least and greatest value; None for nothing."""
        low: int | None = None
        high: int | None = None
        parts = [condition]
        seen: set[str] = set()
        while parts:
            part = parts.pop()
            call = self.call(part)
            if call is None or not isinstance(part, Name) or part.name in seen or not isinstance(operand, Name):
                continue
            seen.add(part.name)
            name, first = call.function.name, call.arguments[0]
            if name == "and":
                parts.extend(call.arguments)
            elif name in ("geq", "leq") and isinstance(first, Name) and first.name == operand.name:
                bound = self.range(call.arguments[1])
                if bound is not None and name == "geq":
                    low = bound[0] if low is None else max(low, bound[0])
                elif bound is not None:
                    high = bound[1] if high is None else min(high, bound[1])
        return (low, high)

    def length(self, vector: Operand) -> int:
        """How many elements a vector has at least."""
        size, call = self.size(vector), self.call(vector)
        if isinstance(size, Constant):
            return size.count
        if isinstance(size, Symbol) and size.variable in self.ranges.tables:
            return self.facts.rows(self.ranges.tables[size.variable])
        if call is None or call.function.name != "present":
            return 0
        low, high = self.range(call.arguments[1]), self.range(call.arguments[2])
        return 0 if low is None or high is None else high[0] - low[1] + 1
