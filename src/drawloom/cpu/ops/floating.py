"""``f32``, ``f64`` and ``f32x2`` arithmetic (PTX ISA 9.0 section 9.7.3) with its rounding, flushing and clamping."""

from __future__ import annotations

from typing import Final

from drawloom.cpu.emitter import Emitter, Value
from drawloom.cpu.ops.common import bitcast, fconst, join, split
from drawloom.cpu.ops.halves import widen
from drawloom.cpu.ops.rounding import arithmetic, flush, saturate
from drawloom.ptx.isa import Opcode

_INSTRUCTION: Final[dict[str, str]] = {
    "add": "fadd", "sub": "fsub", "mul": "fmul", "fma": "fma", "mad": "fma", "div": "fdiv", "sqrt": "sqrt",
}  # fmt: skip


def emit_float(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    """``add sub mul fma mad div rcp sqrt`` with a rounding mode, to nearest when none is written."""
    assert op.type is not None
    if op.type.lanes == 2:
        halves = [split(e, a, "i32") for a in args]
        low = _rounded(e, op, [bitcast(e, h[0], "float") for h in halves])
        high = _rounded(e, op, [bitcast(e, h[1], "float") for h in halves])
        return [join(e, bitcast(e, low, "i32"), bitcast(e, high, "i32"), "i64")]
    if len(op.types) == 2:  # mixed precision: all sources but the last are narrower
        narrow = op.types[1].name
        return [_rounded(e, op, [*[widen(e, a, narrow) for a in args[:-1]], args[-1]])]
    return [_rounded(e, op, args)]


def emit_float_abs(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    a = flush(e, args[0]) if op.ftz else args[0]
    return [e.intrinsic("llvm.fabs", [a])]


def emit_float_neg(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    a = flush(e, args[0]) if op.ftz else args[0]
    return [e.fneg(a)]


def emit_float_extremum(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    """``min`` and ``max`` of two or three; -0 is below +0, a NaN loses against a number unless ``.NaN``."""
    values = [flush(e, a) for a in args] if op.ftz else args
    return [extremum(e, op, values)]


def extremum(e: Emitter, op: Opcode, values: list[Value]) -> Value:
    """The modifiers ``.NaN``, ``.abs`` and ``.xorsign`` around minimum or maximum."""
    terms = [e.intrinsic("llvm.fabs", [v]) for v in values] if op.has("abs") else values
    name = "llvm.minimumnum" if op.name == "min" else "llvm.maximumnum"
    result = terms[0]
    for term in terms[1:]:
        result = e.intrinsic(name, [result, term])
    if op.has("xorsign"):
        elem = "i32" if result.elem == "float" else "i64"
        signs = e.binary("xor", bitcast(e, values[0], elem), bitcast(e, values[1], elem))
        signed = e.intrinsic("llvm.copysign", [result, bitcast(e, signs, result.elem)])
        result = e.select(e.fcmp("uno", result, result), result, signed)
    if op.nan:
        for term in terms:
            result = e.select(e.fcmp("uno", term, term), canonical_nan(term), result)
    return result


def canonical_nan(like: Value) -> Value:
    """0x7FFFFFFF as a float, or 0x7FFFFFFFFFFFFFFF as a double (section 9.7.3)."""
    # As a double pattern, which is how LLVM writes float constants; the float has all its fraction bits set.
    text = "0x7FFFFFFFE0000000" if like.elem == "float" else "0x7FFFFFFFFFFFFFFF"
    return Value(f"splat ({like.elem} {text})" if like.lanes else text, like.elem, like.lanes)


def _rounded(e: Emitter, op: Opcode, args: list[Value]) -> Value:
    values = [flush(e, a) for a in args] if op.ftz else args
    if op.name == "rcp":
        result = arithmetic(e, "fdiv", [fconst(values[0], 1.0), values[0]], op.rounding)
    else:
        result = arithmetic(e, _INSTRUCTION[op.name], values, op.rounding)
    if op.ftz:
        result = flush(e, result)
    return saturate(e, result) if op.sat else result
