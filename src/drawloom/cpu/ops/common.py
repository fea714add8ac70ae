"""Small builders that every instruction family uses: constants shaped like a value, clamps, packed halves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from drawloom.cpu.emitter import ELEM_BITS, Emitter, Value, float_const, int_const, type_of
from drawloom.ptx.isa import Opcode

#: What lowers one pure opcode: arguments in, results out (see ``operand_elems`` for their types).
Emit = Callable[[Emitter, Opcode, list[Value]], list[Value]]

_UNSIGNED: Final = frozenset("u8 u16 u32 u64 b8 b16 b32 b64 b128 u16x2".split())


def const(like: Value, value: int) -> Value:
    """The integer ``value`` with the element type and lanes of ``like``."""
    return int_const(like.elem, value, like.lanes)


def fconst(like: Value, value: float) -> Value:
    """The float ``value`` with the element type and lanes of ``like``."""
    return float_const(like.elem, value, like.lanes)


def true(lanes: int) -> Value:
    return int_const("i1", 1, lanes)


def literal(value: Value) -> int | None:
    """The integer that ``value`` is a constant of (the same in every lane), else None."""
    text = value.text
    if text.startswith("splat ("):
        text = text[7:-1].split(" ")[1]
    if text == "zeroinitializer" or text == "false":
        return 0
    if text == "true":
        return 1
    if text.lstrip("-").isdigit():
        return int(text) & ((1 << ELEM_BITS[value.elem]) - 1)
    return None


def bitcast(e: Emitter, value: Value, elem: str) -> Value:
    """The same bits as another element type of the same width."""
    return e.cast("bitcast", value, elem)


def umin(e: Emitter, a: Value, b: Value) -> Value:
    return e.intrinsic("llvm.umin", [a, b])


def smin(e: Emitter, a: Value, b: Value) -> Value:
    return e.intrinsic("llvm.smin", [a, b])


def smax(e: Emitter, a: Value, b: Value) -> Value:
    return e.intrinsic("llvm.smax", [a, b])


def not_(e: Emitter, a: Value) -> Value:
    """Every bit inverted."""
    return e.binary("xor", a, const(a, -1))


def extend(e: Emitter, a: Value, elem: str, signed: bool) -> Value:
    """``a`` widened to the integer ``elem``."""
    return e.cast("sext" if signed else "zext", a, elem)


def split(e: Emitter, a: Value, elem: str) -> tuple[Value, Value]:
    """The low and the high half of an integer, as ``elem``."""
    half = ELEM_BITS[elem]
    low = e.cast("trunc", a, elem)
    high = e.cast("trunc", e.binary("lshr", a, const(a, half)), elem)
    return low, high


def join(e: Emitter, low: Value, high: Value, elem: str) -> Value:
    """The inverse of ``split``."""
    wide_low = e.cast("zext", low, elem)
    wide_high = e.cast("zext", high, elem)
    return e.binary("or", e.binary("shl", wide_high, const(wide_high, ELEM_BITS[low.elem])), wide_low)


def overflow(e: Emitter, name: str, a: Value, b: Value) -> tuple[Value, Value]:
    """``llvm.uadd.with.overflow`` and its kin: the wrapped result and whether it wrapped."""
    if a.lanes and name == "llvm.uadd.with.overflow":  # LLVM's fast selection, of vectors, fails an assertion
        total = e.binary("add", a, b)
        return total, e.icmp("ult", total, a)
    if a.lanes and name == "llvm.usub.with.overflow":
        return e.binary("sub", a, b), e.icmp("ult", a, b)
    suffix = f"v{a.lanes}{a.elem}" if a.lanes else a.elem
    result = "{ " + a.type + ", " + type_of("i1", a.lanes) + " }"
    full = f"{name}.{suffix}"
    e.declare(full, result, [a.type, b.type])
    pair = e.fresh()
    e.line(f"  {pair} = call {result} @{full}({a.typed}, {b.typed})")
    value = e.value(a.elem, a.lanes, f"extractvalue {result} {pair}, 0")
    flag = e.value("i1", a.lanes, f"extractvalue {result} {pair}, 1")
    return value, flag


def per_half(e: Emitter, emit: Emit, opcode: Opcode, args: list[Value], elem: str) -> Value:
    """Apply ``emit`` to all ``elem`` parts of packed arguments at once, as lanes of a longer vector."""
    first = args[0]
    parts = ELEM_BITS[first.elem] // ELEM_BITS[elem]
    count = parts * (first.lanes or 1)
    spread = [e.value(elem, count, f"bitcast {a.typed} to {type_of(elem, count)}") for a in args]
    result = emit(e, opcode, spread)[0]
    return e.value(first.elem, first.lanes, f"bitcast {result.typed} to {first.type}")
