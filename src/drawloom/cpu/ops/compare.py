"""Comparison, selection and sign tests (PTX ISA 9.0 sections 9.7.6 and 9.7.7, ``testp``, ``copysign``)."""

from __future__ import annotations

from typing import Final

from drawloom.cpu.emitter import ELEM_BITS, INT_ELEM, Emitter, Value, int_const, type_suffix
from drawloom.cpu.ops.common import Emit, const, fconst, not_, split
from drawloom.cpu.ops.halves import widen
from drawloom.cpu.ops.rounding import flush
from drawloom.ptx.isa import Opcode
from drawloom.ptx.types import Type

_UNSIGNED: Final[dict[str, str]] = {
    "eq": "eq", "ne": "ne", "lt": "ult", "le": "ule", "gt": "ugt", "ge": "uge", "lo": "ult", "ls": "ule",
    "hi": "ugt", "hs": "uge",
}  # fmt: skip
_SIGNED: Final[dict[str, str]] = {**_UNSIGNED, "lt": "slt", "le": "sle", "gt": "sgt", "ge": "sge"}
#: Comparisons are false for NaN operands; their ``u`` forms are true.
_FLOAT: Final[dict[str, str]] = {
    "eq": "oeq", "ne": "one", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge", "equ": "ueq", "neu": "une",
    "ltu": "ult", "leu": "ule", "gtu": "ugt", "geu": "uge", "num": "ord", "nan": "uno",
}  # fmt: skip
#: ``llvm.is.fpclass`` masks.
_CLASSES: Final[dict[str, int]] = {
    "notanumber": 0x003, "infinite": 0x204, "normal": 0x168, "subnormal": 0x090, "finite": 0x1F8, "number": 0x3FC,
}  # fmt: skip
#: The bits of "true" for ``set`` with a float destination.
_ONE: Final[dict[str, int]] = {"f16": 0x3C00, "f16x2": 0x3C00, "bf16": 0x3F80, "bf16x2": 0x3F80}


def emit_setp(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    """``setp``: two predicates, the comparison and its complement, each combined with ``args[2]`` when there.

    For packed types the two are the comparisons of the low and of the high halves; single halves have one only.
    """
    assert op.type is not None
    if op.type.lanes == 2:
        low, high = _compare_halves(e, op, op.type, args[0], args[1])
        return [_combined(e, op, low, args), _combined(e, op, high, args)]
    holds = _compare(e, op, op.type, args[0], args[1])
    first = _combined(e, op, holds, args)
    if op.type.is_float and op.type.bits == 16:
        return [first]
    return [first, _combined(e, op, not_(e, holds), args)]


def emit_set(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    """``set``: the comparison as all ones or 0, or as 1.0 or 0.0 when the destination is a float."""
    target, source = op.types
    if source.lanes == 2:
        low, high = _compare_halves(e, op, source, args[0], args[1])
        true_bits = _ONE.get(target.name, 0xFFFF)
        joined = e.select(_combined(e, op, low, args), const(args[0], true_bits), const(args[0], 0))
        upper = e.select(_combined(e, op, high, args), const(args[0], true_bits << 16), const(args[0], 0))
        return [e.binary("or", joined, upper)]
    holds = _combined(e, op, _compare(e, op, source, args[0], args[1]), args)
    if target.name == "f32":
        return [e.cast("uitofp", holds, "float")]
    if target.is_float:
        one = int_const("i16", _ONE[target.name], holds.lanes)
        return [e.select(holds, one, const(one, 0))]
    return [e.cast("sext", holds, f"i{target.bits}")]


def emit_selp(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    return [e.select(args[2], args[0], args[1])]


def emit_slct(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    """``slct``: a when c >= 0, else b; a NaN selects b."""
    c = args[2]
    if c.elem == "i32":
        return [e.select(e.icmp("sge", c, const(c, 0)), args[0], args[1])]
    if op.ftz:
        c = flush(e, c)
    return [e.select(e.fcmp("oge", c, fconst(c, 0.0)), args[0], args[1])]


def emit_testp(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    """``testp``: what kind of float it is."""
    a = args[0]
    mask = int_const("i32", _CLASSES[op.operation])
    return [e.call(f"llvm.is.fpclass.{type_suffix(a.elem, a.lanes)}", "i1", a.lanes, [a, mask])]


def emit_copysign(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    """``copysign``: the sign of a on the value of b, as bits: to LLVM's intrinsic the sign of a NaN is any, also where
    the program has just replaced all NaNs by one."""
    bits = ELEM_BITS[args[0].elem]
    sign, magnitude = [e.cast("bitcast", value, INT_ELEM[bits]) for value in args]
    own = e.binary("and", sign, const(sign, 1 << bits - 1))
    rest = e.binary("and", magnitude, const(magnitude, (1 << bits - 1) - 1))
    return [e.cast("bitcast", e.binary("or", own, rest), args[0].elem)]


def _combined(e: Emitter, op: Opcode, holds: Value, args: list[Value]) -> Value:
    return e.binary(op.operation, holds, args[2]) if op.operation else holds


def _compare(e: Emitter, op: Opcode, type: Type, a: Value, b: Value) -> Value:
    if not type.is_float:
        return e.icmp((_SIGNED if type.is_signed else _UNSIGNED)[op.compare], a, b)
    if type.bits == 16:
        a, b = widen(e, a, type.name), widen(e, b, type.name)
        return _compare_floats(e, op, a, b, 2.0**-14 if op.ftz else 0.0)
    if op.ftz:
        a, b = flush(e, a), flush(e, b)
    return e.fcmp(_FLOAT[op.compare], a, b)


def _compare_floats(e: Emitter, op: Opcode, a: Value, b: Value, smallest: float) -> Value:
    """Compare; magnitudes below ``smallest`` count as zero first."""
    if smallest:
        a, b = _flush_below(e, a, smallest), _flush_below(e, b, smallest)
    return e.fcmp(_FLOAT[op.compare], a, b)


def _flush_below(e: Emitter, a: Value, smallest: float) -> Value:
    tiny = e.fcmp("olt", e.intrinsic("llvm.fabs", [a]), fconst(a, smallest))
    return e.select(tiny, fconst(a, 0.0), a)


def _compare_halves(e: Emitter, op: Opcode, type: Type, a: Value, b: Value) -> tuple[Value, Value]:
    name = type.name[:-2]
    a_low, a_high = split(e, a, "i16")
    b_low, b_high = split(e, b, "i16")
    smallest = 2.0**-14 if op.ftz else 0.0
    low = _compare_floats(e, op, widen(e, a_low, name), widen(e, b_low, name), smallest)
    high = _compare_floats(e, op, widen(e, a_high, name), widen(e, b_high, name), smallest)
    return low, high


EMIT_COMPARE: Final[dict[str, Emit]] = {
    "set": emit_set, "setp": emit_setp, "selp": emit_selp, "slct": emit_slct, "testp": emit_testp,
    "copysign": emit_copysign,
}  # fmt: skip
