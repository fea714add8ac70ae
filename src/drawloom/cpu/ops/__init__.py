"""Pure PTX instructions to LLVM IR, a file per instruction family; ``PURE`` finds what emits an opcode.

Arguments and results are LLVM values of the element types that ``operand_elems`` names; all arguments of a call have
one lane count, 0 or 32, and so have the results.
"""

from __future__ import annotations

from typing import Final

from drawloom.cpu.emitter import Emitter, Value, int_const
from drawloom.cpu.ops import approx, bits, compare, convert, division, floating, half, integer, video
from drawloom.cpu.ops.common import Emit
from drawloom.cpu.ops.signatures import elem_of, operand_elems
from drawloom.ptx.isa import Opcode


def _by_type(integer_emit: Emit, float_emit: Emit, half_emit: Emit) -> Emit:
    """One opcode name for three kinds of numbers."""

    def emit(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
        assert op.type is not None
        if not op.type.is_float:
            return integer_emit(e, op, args)
        if op.type.bits // op.type.lanes == 16:
            return half_emit(e, op, args)
        return float_emit(e, op, args)

    return emit


def _exact_or_approximate(exact: Emit, approximate: Emit) -> Emit:
    """``.approx`` and ``.full`` forms apart from those with a rounding mode."""

    def emit(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
        return approximate(e, op, args) if op.approx or op.full else exact(e, op, args)

    return emit


def _create_policy(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    """An opaque cache hint; nothing here reads it."""
    return [int_const("i64", 0, args[0].lanes if args else 0)]


#: What emits each opcode, by name: every opcode without side effects but ``mov``, ``cvta`` and ``isspacep``.
PURE: Final[dict[str, Emit]] = {
    "add": _by_type(integer.emit_add, floating.emit_float, half.emit_half),
    "sub": _by_type(integer.emit_sub, floating.emit_float, half.emit_half),
    "mul": _by_type(integer.emit_mul, floating.emit_float, half.emit_half),
    "mad": _by_type(integer.emit_mad, floating.emit_float, half.emit_half_fma),
    "fma": _by_type(integer.emit_mad, floating.emit_float, half.emit_half_fma),
    "div": _by_type(
        division.emit_div, _exact_or_approximate(floating.emit_float, approx.emit_div_approx), half.emit_half
    ),
    "abs": _by_type(integer.emit_abs, floating.emit_float_abs, half.emit_half_abs),
    "neg": _by_type(integer.emit_neg, floating.emit_float_neg, half.emit_half_neg),
    "min": _by_type(integer.emit_min, floating.emit_float_extremum, half.emit_half_extremum),
    "max": _by_type(integer.emit_max, floating.emit_float_extremum, half.emit_half_extremum),
    "rem": division.emit_rem,
    "rcp": _exact_or_approximate(floating.emit_float, approx.emit_rcp),
    "sqrt": _exact_or_approximate(floating.emit_float, approx.emit_sqrt),
    "createpolicy.fractional": _create_policy,
    "createpolicy.cvt": _create_policy,
    **integer.EMIT_INTEGER,
    **bits.EMIT_BITS,
    **video.EMIT_VIDEO,
    **compare.EMIT_COMPARE,
    **convert.EMIT_CONVERT,
    **approx.EMIT_APPROX,
}

__all__ = ["PURE", "Emit", "elem_of", "operand_elems"]
