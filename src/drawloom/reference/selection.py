"""Comparison and selection (PTX ISA 9.0 sections 9.7.6 and 9.7.7): ``set setp selp slct``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from drawloom.ptx.isa import Opcode
from drawloom.ptx.types import Type
from drawloom.reference.floats import Semantics
from drawloom.reference.formats import F32, Format, format_of
from drawloom.reference.integers import reader, signed

_INTEGER_TESTS: Final[dict[str, Callable[[int, int], bool]]] = {
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b, "lo": lambda a, b: a < b, "ls": lambda a, b: a <= b,
    "hi": lambda a, b: a > b, "hs": lambda a, b: a >= b,
}  # fmt: skip
#: How the comparison and the predicate operand combine.
BOOLEAN: Final[dict[str, Callable[[int, int], int]]] = {
    "": lambda t, c: t, "and": lambda t, c: t & c, "or": lambda t, c: t | c, "xor": lambda t, c: t ^ c,
}  # fmt: skip


def comparison(op: Opcode, type: Type) -> Semantics:
    """``a CmpOp b`` on patterns of one lane of ``type``, giving 0 or 1."""
    if not type.is_float:
        test = _INTEGER_TESTS[op.compare]
        if op.compare in ("lo", "ls", "hi", "hs") or not type.is_signed:
            return lambda a, b: 1 if test(a + 0, b + 0) else 0
        number = reader(type)
        return lambda a, b: 1 if test(number(a), number(b)) else 0
    return _float_comparison(op.compare, format_of(type), op.ftz)


def _float_comparison(compare: str, f: Format, ftz: bool) -> Semantics:
    if compare in ("num", "nan"):
        wanted = compare == "nan"
        return lambda a, b: 1 if (f.is_nan(a) or f.is_nan(b)) == wanted else 0
    unordered = len(compare) == 3
    test = _INTEGER_TESTS[compare[:2]]

    def value(a: int) -> int:
        """Ordered as the numbers are; both zeros are 0."""
        if ftz:
            a = f.flush(a)
        magnitude = a & f.magnitude_mask
        return -magnitude if a & f.sign_bit else magnitude

    def compute(a: int, b: int) -> int:
        if f.is_nan(a) or f.is_nan(b):
            return 1 if unordered else 0
        return 1 if test(value(a), value(b)) else 0

    return compute


def setp(op: Opcode) -> Callable[..., tuple[int, int]]:
    """``(p, q)`` of ``a, b`` and, with a Boolean operator, ``c``.

    Scalar: ``p = t BoolOp c``, ``q = !t BoolOp c``; packed: ``p`` and ``q`` are of the lower and upper lane.
    """
    assert op.type is not None
    compare = comparison(op, op.type)
    combine = BOOLEAN[op.operation]
    if op.type.lanes == 2:

        def setp_packed(a: int, b: int, c: int = 0) -> tuple[int, int]:
            low, high = compare(a & 0xFFFF, b & 0xFFFF), compare(a >> 16, b >> 16)
            return combine(low, c), combine(high, c)

        return setp_packed

    def setp_scalar(a: int, b: int, c: int = 0) -> tuple[int, int]:
        t = compare(a, b)
        return combine(t, c), combine(1 - t, c)

    return setp_scalar


def _set(op: Opcode) -> Semantics:
    """All ones or 1.0 where the comparison holds; per 16-bit lane for packed sources."""
    destination, source = op.types[0], op.types[1]
    compare = comparison(op, source)
    combine = BOOLEAN[op.operation]
    lanes = source.lanes
    width = destination.bits // lanes
    true = format_of(destination).one if destination.is_float else (1 << width) - 1

    def compute(a: int, b: int, c: int = 0) -> int:
        if lanes == 1:
            return true if combine(compare(a, b), c) else 0
        low = true if combine(compare(a & 0xFFFF, b & 0xFFFF), c) else 0
        high = true if combine(compare(a >> 16, b >> 16), c) else 0
        return high << 16 | low

    return compute


def _selp(op: Opcode) -> Semantics:
    # `c ^ 1` refuses an undefined predicate; an undefined value that is not chosen does no harm.
    return lambda a, b, c: b if c ^ 1 else a


def _slct(op: Opcode) -> Semantics:
    """``a`` if ``c >= 0`` else ``b``; a NaN is not >= 0, -0.0 is."""
    if op.types[1].is_float:
        ftz = op.ftz

        def slct_float(a: int, b: int, c: int) -> int:
            if F32.is_nan(c):
                return b
            c = F32.flush(c) if ftz else c
            return a if not c & F32.sign_bit or not c & F32.magnitude_mask else b

        return slct_float
    return lambda a, b, c: a if signed(c, 32) >= 0 else b


SELECTION_OPERATIONS: Final[dict[str, Callable[[Opcode], Semantics]]] = {"set": _set, "selp": _selp, "slct": _slct}
