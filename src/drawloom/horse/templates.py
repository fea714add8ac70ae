"""What can run inside a kernel: whether an element-wise call has a PTX template for its operand types and ranges.

The outliner asks here before it puts a statement into a kernel, and the code generator relies on the answer: every call
that is accepted has its template in ``elementwise.py``.
"""

from __future__ import annotations

from typing import Final

from drawloom.horse.evaluate import EXACT_POWERS, MAX_EXACT
from drawloom.horse.ir import Call, FunctionRef, Literal, Name, Operand
from drawloom.horse.ranges import LONGEST_UNIT, Range, Ranges
from drawloom.horse.types import (
    BOOL,
    DATE,
    DAY,
    TIMESTAMP,
    Type,
    VectorType,
    exact_bounds,
    named_type,
    scale_of,
)

#: Most options of @member that become comparisons, and most entries of a dictionary that become one bit mask.
MAX_OPTIONS: Final = 64

S64: Final[Range] = (-(1 << 63), (1 << 63) - 1)
S32: Final[Range] = (-(1 << 31), (1 << 31) - 1)
_COMPARE: Final = frozenset(["eq", "neq", "lt", "leq", "gt", "geq"])


def fits(range: Range | None, within: Range) -> bool:
    return range is not None and within[0] <= range[0] and range[1] <= within[1]


def scaled(range: Range, digits: int) -> Range:
    return (range[0] * 10**digits, range[1] * 10**digits)


def has_template(call: Call, types: dict[str, Type], ranges: Ranges) -> bool:
    """Whether the element-wise call runs in a kernel, given its operands' types and ranges."""
    name = call.function.name
    sides: list[_Side] = []
    for argument in call.arguments:
        side = _side(argument, types, ranges)
        if side is None:
            return False
        sides.append(side)
    if name == "compress":
        return sides[1].is_held
    if name == "where":
        return True
    if name in ("index", "outer_index"):
        # Where no row is picked there is text that the dictionary need not have.
        has_codes = sides[0].type.kind == "text" and name == "index"
        return (sides[0].is_held or has_codes) and sides[1].is_held and not sides[1].type.is_float
    if name == "fill":
        return sides[0].is_held and sides[0].type.kind != "text"
    if name in _COMPARE:
        return _compares(sides[0], sides[1])
    if name in ("and", "or", "not"):
        return True
    if name in ("plus", "minus", "mul"):
        return _calculates(name, sides)
    if name == "mod":
        return all(s.is_held for s in sides) and (sides[1].low > 0 or sides[1].high < 0)
    if name == "div":
        return all(s.has_float for s in sides)
    if name in ("neg", "abs"):
        return sides[0].type.is_float or fits((-sides[0].high, -sides[0].low), S64)
    if name == "if_else":
        return all(s.is_held and s.type.kind != "text" for s in sides)
    if name == "convert":
        return _converts(sides[0], call.arguments[1])
    if name.startswith(("date_", "time_")):
        return sides[0].is_held
    if name in ("sqrt", "floor", "ceil", "round"):
        return sides[0].has_float
    if name in ("timestamp_of", "truncate", "add_months"):
        return _is_moment(name, sides)
    if name == "like":
        return sides[0].is_column and sides[0].high < MAX_OPTIONS and sides[1].is_literal
    if name == "member":
        return _is_member(sides[0], sides[1], call.arguments[1])
    return False


class _Side:
    """An operand: its type and range, and where it comes from."""

    def __init__(self, type: VectorType, range: Range | None, is_literal: bool) -> None:
        self.type = type
        self.low, self.high = range if range is not None else (0, 0)
        self.is_literal = is_literal
        self.is_held = type.is_float or (range is not None and fits(range, S64))
        # Of larger decimals the template's conversion and division round twice.
        is_exact = scale_of(type) == 0 or fits(range, (-MAX_EXACT, MAX_EXACT))
        self.has_float = self.is_held and is_exact and scale_of(type) <= EXACT_POWERS
        self.is_column = type.kind == "text" and not is_literal and range is not None


def _side(operand: Operand, types: dict[str, Type], ranges: Ranges) -> _Side | None:
    if isinstance(operand, FunctionRef):
        return None
    is_literal = isinstance(operand, Literal)
    type = (
        operand.type if isinstance(operand, Literal) else types.get(operand.name if isinstance(operand, Name) else "")
    )
    if not isinstance(type, VectorType):
        return None
    return _Side(type, ranges.of(operand, type), is_literal)


def _compares(left: _Side, right: _Side) -> bool:
    if left.type.kind == "text":
        return (left.is_column and right.is_literal) or (right.is_column and left.is_literal)
    if not (left.is_held and right.is_held):
        return False
    if left.type.is_float or right.type.is_float:
        return left.has_float and right.has_float
    scale = max(scale_of(left.type), scale_of(right.type))
    return all(fits(scaled((s.low, s.high), scale - scale_of(s.type)), S64) for s in (left, right))


def _calculates(name: str, sides: list[_Side]) -> bool:
    from drawloom.horse.signatures import plus_type, product_type

    if not all(s.is_held for s in sides):
        return False
    left, right = sides
    if left.type.is_float or right.type.is_float:
        return left.has_float and right.has_float
    if TIMESTAMP in (left.type, right.type):
        return False
    if DATE in (left.type, right.type):
        return True
    type = product_type(left.type, right.type) if name == "mul" else plus_type(left.type, right.type)
    if name != "mul":
        scale = scale_of(type)
        if not all(fits(scaled((s.low, s.high), scale - scale_of(s.type)), S64) for s in sides):
            return False
        low, high = (left.low + right.low, left.high + right.high)
        if name == "minus":
            low, high = (left.low - right.high, left.high - right.low)
    else:
        corners = [a * b for a in (left.low, left.high) for b in (right.low, right.high)]
        low, high = min(corners), max(corners)
    # What a 64-bit register cannot prove it holds must be of a type that it holds, so that the check is enough.
    return fits((low, high), S64) or fits(exact_bounds(type), S64)


def _converts(side: _Side, target: Operand) -> bool:
    assert isinstance(target, Literal)
    type = named_type(str(target.values[0]))
    if type is None or not side.is_held:
        return False
    if type.is_float or side.type.is_float:
        return type.is_float and side.has_float
    shift = scale_of(type) - scale_of(side.type)
    if shift >= 0:
        return fits(scaled((side.low, side.high), shift), S64)
    half = 10**-shift // 2
    return fits((side.low - half, side.high + half), S64)


def _is_moment(name: str, sides: list[_Side]) -> bool:
    """Whether 64 bits hold what the function of dates and timestamps computes with."""
    moment = sides[0]
    low, high = moment.low, moment.high
    if name == "timestamp_of":
        return fits((low * DAY, high * DAY), S64)
    if name == "truncate":
        return sides[1].is_literal and low >= S64[0] + LONGEST_UNIT * DAY
    if not (moment.is_held and sides[1].is_held):
        return False
    unit = DAY if moment.type == TIMESTAMP else 1
    return fits((low + (min(sides[1].low, 0) * 31 - 62) * unit, high + (max(sides[1].high, 0) * 31 + 62) * unit), S64)


def _is_member(left: _Side, right: _Side, options: Operand) -> bool:
    if not isinstance(options, Literal) or not right.is_literal:
        return False
    if left.type.kind == "text":
        return left.is_column and left.high < MAX_OPTIONS
    if left.type == BOOL or not 1 <= len(options.values) <= MAX_OPTIONS:
        return False
    return _compares(left, right)
