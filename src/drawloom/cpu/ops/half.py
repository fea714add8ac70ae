"""``f16`` and ``bf16`` arithmetic, scalar and packed (PTX ISA 9.0 section 9.7.4): computed wider, rounded once.

A ``float`` sum or product of two halves has enough bits for the second rounding to be harmless (2 * 11 + 2 <= 24);
of a fused multiply-add the product is exact and the sum is rounded to odd first. Products of ``bf16`` can be subnormal
in ``float`` too, so they go through ``double``.
"""

from __future__ import annotations

from typing import Final

from drawloom.cpu.emitter import Emitter, Value
from drawloom.cpu.ops.common import Emit, bitcast, const, per_half
from drawloom.cpu.ops.floating import extremum
from drawloom.cpu.ops.halves import narrow, widen
from drawloom.cpu.ops.rounding import odd_sum
from drawloom.ptx.isa import Opcode

_INSTRUCTION: Final[dict[str, str]] = {"add": "fadd", "sub": "fsub", "mul": "fmul"}
#: What a tensor copy writes for elements out of bounds, in both formats.
_OUT_OF_BOUNDS: Final = 0x7FF7


def emit_half(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    """``add sub mul`` of 16-bit floats."""
    return [each_half(e, _arithmetic, op, args)]


def emit_half_fma(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    """``fma``, with ``.relu`` and ``.oob`` (0 where a or b is the out-of-bounds NaN)."""
    return [each_half(e, _fma, op, args)]


def emit_half_abs(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    return [each_half(e, _abs, op, args)]


def emit_half_neg(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    return [each_half(e, _neg, op, args)]


def emit_half_extremum(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    """``min`` and ``max``."""
    return [each_half(e, _extremum, op, args)]


def update_half(e: Emitter, op: Opcode, old: Value, value: Value) -> Value:
    """Return what an atomic ``add``, ``min`` or ``max`` of 16-bit floats leaves behind."""
    return each_half(e, _update, op, [old, value])


def half_name(op: Opcode) -> str:
    """``"f16"`` or ``"bf16"``: the format of each element."""
    assert op.type is not None
    return op.type.name.removesuffix("x2")


def each_half(e: Emitter, emit: Emit, op: Opcode, args: list[Value]) -> Value:
    """``emit`` on i16 patterns; those of packed arguments become lanes of their own."""
    assert op.type is not None
    if op.type.lanes == 1:
        return emit(e, op, args)[0]
    return per_half(e, emit, op, args, "i16")


def flush_half(e: Emitter, a: Value) -> Value:
    """``.ftz`` of an f16 pattern."""
    tiny = e.icmp("eq", e.binary("and", a, const(a, 0x7C00)), const(a, 0))
    return e.select(tiny, e.binary("and", a, const(a, 0x8000)), a)


def _inputs(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    flushed = [flush_half(e, a) for a in args] if op.ftz else args
    return [widen(e, a, half_name(op)) for a in flushed]


def _arithmetic(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    values = _inputs(e, op, args)
    if op.name == "mul" and half_name(op) == "bf16":
        values = [e.cast("fpext", v, "double") for v in values]
    return [_finish(e, op, e.binary(_INSTRUCTION[op.name], values[0], values[1]))]


def _fma(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    if half_name(op) == "f16" and "avx512fp16" in e.features:
        flushed = [flush_half(e, a) for a in args] if op.ftz else args
        fused = e.intrinsic("llvm.fma", [bitcast(e, a, "half") for a in flushed])
        result = _finish(e, op, e.cast("fpext", fused, "float"))
    else:
        a, b, c = _inputs(e, op, args)
        if half_name(op) == "bf16":
            a, b, c = [e.cast("fpext", v, "double") for v in (a, b, c)]
        result = _finish(e, op, odd_sum(e, e.binary("fmul", a, b), c))
    if op.has("oob"):
        for factor in args[:2]:
            outside = e.icmp("eq", factor, const(factor, _OUT_OF_BOUNDS))
            result = e.select(outside, const(result, 0), result)
    return [result]


def _finish(e: Emitter, op: Opcode, value: Value) -> Value:
    """Round to the format, then ``.ftz``, ``.sat`` or ``.relu``."""
    name = half_name(op)
    pattern = narrow(e, value, name)
    if op.ftz:
        pattern = flush_half(e, pattern)
    if op.sat:
        one = const(pattern, 0x3C00)
        # As signed integers the patterns above +1.0 are larger numbers and NaN, those below 0 negative numbers.
        number = e.fcmp("ord", value, value)
        positive = e.intrinsic("llvm.smax", [pattern, const(pattern, 0)])
        pattern = e.select(number, e.intrinsic("llvm.smin", [positive, one]), const(pattern, 0))
    if op.relu:
        pattern = e.intrinsic("llvm.smax", [pattern, const(pattern, 0)])
    return pattern


def _update(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    # LLVM's own 16-bit floats would do, but it calls a function to round them where the CPU cannot.
    a, b = [widen(e, arg, half_name(op)) for arg in args]
    if op.operation == "add":
        return [narrow(e, e.binary("fadd", a, b), half_name(op))]
    name = "llvm.minimumnum" if op.operation == "min" else "llvm.maximumnum"
    return [narrow(e, e.intrinsic(name, [a, b]), half_name(op))]


def _abs(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    a = flush_half(e, args[0]) if op.ftz else args[0]
    return [e.binary("and", a, const(a, 0x7FFF))]


def _neg(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    a = flush_half(e, args[0]) if op.ftz else args[0]
    return [e.binary("xor", a, const(a, 0x8000))]


def _extremum(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    return [narrow(e, extremum(e, op, _inputs(e, op, args)), half_name(op))]
