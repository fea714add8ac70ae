"""The result types of functions of values one by one, and of folds, from their argument types."""

from __future__ import annotations

from typing import Final

from drawloom.horse.ir import Literal, Operand, literal_value
from drawloom.horse.plain import FOLDS, PLAIN
from drawloom.horse.rules import Rule, SignatureError, refuse
from drawloom.horse.types import (
    BOOL,
    I64,
    I128,
    NAMED,
    STR,
    SYM,
    U64,
    WILDCARD,
    DecimalType,
    ListType,
    Type,
    VectorType,
    named_type,
)


def integer_type(left: VectorType, right: VectorType) -> VectorType:
    """The type that arithmetic of two integers has: the wider; i64 or i128 where neither type holds the other."""
    wide, other = (left, right) if left.bits >= right.bits else (right, left)
    if wide.is_unsigned == other.is_unsigned or (not wide.is_unsigned and wide.bits > other.bits):
        return wide
    return I128 if U64 in (left, right) else I64


def _plain(name: str, arguments: list[Operand], types: list[Type]) -> Type:
    row = PLAIN[name]
    given = [t in (WILDCARD, takes) or (t == SYM and takes == STR) for t, takes in zip(types, row.takes)]
    if not all(given) or not row.least <= len(types) <= len(row.takes):
        raise refuse(name, types, f"({', '.join([str(t) for t in row.takes])})")
    return row.gives


def _bits(name: str, arguments: list[Operand], types: list[Type]) -> Type:
    if len(types) == 2 and WILDCARD in types:
        return WILDCARD
    if len(types) != 2 or not all(isinstance(t, VectorType) and t.is_integer for t in types):
        raise refuse(name, types, "two integers")
    left, right = types
    assert isinstance(left, VectorType) and isinstance(right, VectorType)
    return left if name.startswith("shift") else integer_type(left, right)


def _show(name: str, arguments: list[Operand], types: list[Type]) -> Type:
    if len(types) != 1 or not (isinstance(types[0], VectorType) or types[0] == WILDCARD):
        raise refuse(name, types, "a vector")
    return STR


def _target(name: str, arguments: list[Operand], types: list[Type]) -> VectorType:
    """The type that the second argument names."""
    target = arguments[1] if len(arguments) > 1 else None
    made = named_type(_literal_text(target)) if isinstance(target, Literal) and target.type == SYM else None
    if made is None or not 2 <= len(types) <= 3 or types[2:] not in ([], [BOOL]):
        raise refuse(name, types, "a vector, the name of a type as a sym, and a bool for where to look")
    return made


def _literal_text(operand: Operand) -> str:
    """The one value of a literal as text; "" for any other operand."""
    value = literal_value(operand)
    return "" if value is None else str(value)


def _parse(name: str, arguments: list[Operand], types: list[Type]) -> Type:
    made = _target(name, arguments, types)
    if name == "parse" and types[0] not in (STR, SYM, WILDCARD):
        raise refuse(name, types, "texts and the name of a type as a sym")
    return BOOL if name == "can_convert" else made


def _moment(name: str, arguments: list[Operand], types: list[Type]) -> Type:
    made = _target(name, arguments, types)
    given = types[0]
    if given != WILDCARD and not (
        isinstance(given, VectorType) and given.kind in ("timestamp", "clock") and made.kind == "timestamp"
    ):
        raise refuse(name, types, "moments and the name of a type of moments as a sym")
    return made


def _fold(name: str, arguments: list[Operand], types: list[Type]) -> Type:
    """``(name, option, cells ...)`` or, of slices, ``(name, option, low, high, vector ...)``."""
    function = _literal_text(arguments[0]) if arguments else ""
    start = 2 if name == "fold" else 4
    if function not in FOLDS or len(types) != start + FOLDS[function].lists:
        raise SignatureError(f"@{name} of no '{function}'", f"one of {', '.join(FOLDS)}")
    given = [t.element if isinstance(t, ListType) else t for t in types[start:]]
    if name == "fold" and not all(isinstance(t, ListType) for t in types[start:]):
        raise refuse(name, types, "a fold's name, its option, and lists of cells")
    gives = FOLDS[function].gives
    return given[0] if gives == "same" else NAMED[gives]


def same_decimals(types: list[Type]) -> DecimalType | None:
    """The type of two decimals of one type, which have a remainder; None for any other."""
    first = types[0]
    return first if isinstance(first, DecimalType) and types == [first, first] else None


SCALAR_RULES: Final[dict[str, Rule]] = {
    "plain": _plain, "bits": _bits, "show": _show, "parse": _parse, "moment": _moment, "fold": _fold,
}  # fmt: skip
