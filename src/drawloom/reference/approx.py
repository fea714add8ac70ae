"""The ``.approx`` and ``.full`` instructions (PTX ISA 9.0 section 9.7.3), computed to well inside their error bounds.

Algebraic functions are rounded correctly; the others come from the C library in double precision (error below
2**-52 relative), which rounding to single adds half a unit to. ``BOUNDS`` states what the manual promises, for those
who compare another device with this one.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Final

from drawloom.ptx.isa import Opcode
from drawloom.reference.floats import Semantics, div, finish, per_lane, rcp, rsqrt, sqrt
from drawloom.reference.formats import F64, F64_HIGH, RN, Format, format_of


class Bound:
    """A bound on the error of one instruction: ``relative`` and ``absolute`` are fractions, ``ulp`` units in the
    last place of the result; the largest that is not 0 of them holds. ``section`` is the manual's."""

    def __init__(self, section: str, relative: float = 0.0, absolute: float = 0.0, ulp: float = 0.0) -> None:
        self.section = section
        self.relative = relative
        self.absolute = absolute
        self.ulp = ulp


#: What PTX ISA 9.0 promises, by opcode name and type.
BOUNDS: Final[dict[tuple[str, str], Bound]] = {
    ("div", "f32"): Bound("9.7.3.8", ulp=2.0),
    ("rcp", "f32"): Bound("9.7.3.13", ulp=1.0),
    ("rcp", "f64"): Bound("9.7.3.14", relative=2.0**-20),
    ("sqrt", "f32"): Bound("9.7.3.15", relative=2.0**-23),
    ("rsqrt", "f32"): Bound("9.7.3.16", relative=2.0**-22.9),
    ("rsqrt", "f64"): Bound("9.7.3.16", relative=2.0**-19),
    ("sin", "f32"): Bound("9.7.3.18", absolute=2.0**-20.5),
    ("cos", "f32"): Bound("9.7.3.19", absolute=2.0**-20.5),
    ("lg2", "f32"): Bound("9.7.3.20", absolute=2.0**-22, relative=2.0**-22),
    ("ex2", "f32"): Bound("9.7.3.21", relative=2.0**-22),
    ("tanh", "f32"): Bound("9.7.3.22", relative=2.0**-11),
    ("ex2", "f16"): Bound("9.7.4.11", relative=2.0**-9.9),
    ("tanh", "f16"): Bound("9.7.4.10", absolute=2.0**-10.987),
    ("ex2", "bf16"): Bound("9.7.4.11", relative=2.0**-7),
    ("tanh", "bf16"): Bound("9.7.4.10", relative=2.0**-8),
}


def to_float(f: Format, pattern: int) -> float:
    """The value of a pattern; every format is a subset of Python's float."""
    if not f.is_finite(pattern):
        if f.is_nan(pattern):
            return math.nan
        return -math.inf if pattern & f.sign_bit else math.inf
    sign, significand, exponent = f.unpack(pattern)
    value = math.ldexp(significand, exponent)
    return -value if sign else value


def from_float(f: Format, value: float, mode: str = RN) -> int:
    """The pattern in ``f`` nearest to ``value``."""
    if value != value:
        return f.nan
    pattern: int = struct.unpack("<Q", struct.pack("<d", value))[0]
    if math.isinf(value):
        return (f.sign_bit if value < 0 else 0) | f.infinity
    return f.round(*F64.unpack(pattern), mode)


def _sin(x: float) -> float:
    return math.nan if math.isinf(x) else math.sin(x)


def _cos(x: float) -> float:
    return math.nan if math.isinf(x) else math.cos(x)


def _lg2(x: float) -> float:
    if x == 0.0:
        return -math.inf
    return math.nan if x < 0.0 else math.log2(x)


def _ex2(x: float) -> float:
    if x >= 1024.0:
        return math.inf
    return 0.0 if x < -1100.0 else math.exp2(x)


_TRANSCENDENTAL: Final[dict[str, Callable[[float], float]]] = {
    "sin": _sin, "cos": _cos, "lg2": _lg2, "ex2": _ex2, "tanh": math.tanh,
}  # fmt: skip


def transcendental(op: Opcode) -> Semantics:
    """``sin cos lg2 ex2 tanh``."""
    assert op.type is not None
    f = format_of(op.type)
    function = _TRANSCENDENTAL[op.name]
    return per_lane(op.type, finish(op, f, lambda a: from_float(f, function(to_float(f, a))), 1))


def approximate(op: Opcode) -> Semantics:
    """``div rcp sqrt rsqrt`` with ``.approx`` or ``.full``."""
    assert op.type is not None
    f = format_of(op.type)
    if op.name == "div":
        return finish(op, f, (lambda a, b: _div_approx(f, a, b)) if op.approx else lambda a, b: div(f, a, b), 2)
    function = {"rcp": rcp, "sqrt": sqrt, "rsqrt": rsqrt}[op.name]
    if f is F64 and op.ftz:
        # Sections 9.7.3.14 and 9.7.3.17: the upper halves of the operand and of the result only.
        return lambda a: F64_HIGH.flush(function(F64_HIGH, F64_HIGH.flush(a >> 32))) << 32
    return finish(op, f, lambda a: function(f, a), 1)


def _div_approx(f: Format, a: int, b: int) -> int:
    """Section 9.7.3.8: for a finite ``|b|`` above 2**126 the result is 0, and NaN when ``a`` is infinite."""
    magnitude = b & f.magnitude_mask
    if f.pattern_of_two(126) < magnitude < f.infinity and not f.is_nan(a):
        return f.nan if not f.is_finite(a) else (a ^ b) & f.sign_bit
    return div(f, a, b)
