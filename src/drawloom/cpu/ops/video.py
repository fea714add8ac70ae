"""Video instructions (PTX ISA 9.0 section 9.7.18): fields of i32 registers, worked on as wider LLVM integers.

Scalars go through i64, where the manual's 33 and 34 bits are exact; packed ones field by field through i32.
"""

from __future__ import annotations

from typing import Final

from drawloom.cpu.emitter import ELEM_BITS, Emitter, Value
from drawloom.cpu.ops.common import Emit, const, extend, not_, smax, smin, umin
from drawloom.cpu.ops.integer import absolute, lane
from drawloom.ptx.isa import Opcode
from drawloom.ptx.isa_selectors import FIELDS

#: Width and index of the field that a scalar selector names.
_SELECTED: Final[dict[str, tuple[int, int]]] = {
    "": (32, 0), ".h0": (16, 0), ".h1": (16, 1), ".b0": (8, 0), ".b1": (8, 1), ".b2": (8, 2), ".b3": (8, 3),
}  # fmt: skip


def emit_scalar(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    """``vadd vsub vabsdiff vmin vmax vshl vshr vset``: then saturate, then combine with c or merge into it."""
    selectors = op.selectors or ("", "", "", "")
    comparing = op.name == "vset"
    sources = op.types if comparing else op.types[1:]
    a = _field(e, args[0], selectors[1], sources[0].is_signed, "i64")
    b = _field(e, args[1], selectors[2], sources[1].is_signed, "i64")
    signed = op.types[0].is_signed and not comparing
    t = _primary(e, op, a, b)
    bits, index = _SELECTED[selectors[0]]
    if op.sat:
        t = _clamp(e, t, bits, signed)
    if op.operation:
        c = extend(e, args[2], "i64", signed)
        if op.operation == "add":
            t = e.binary("add", t, c)
        else:
            t = e.intrinsic(f"llvm.s{op.operation}", [t if op.sat else _cut(e, t, 33), c])
    result = e.cast("trunc", t, "i32")
    return [result if bits == 32 else _merged(e, result, args[2], bits, index)]


def emit_vmad(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    """``vmad``: ±(a*b) ± c, plus one with ``.po``; scaled by a right shift, then saturated."""
    selectors = op.selectors or ("", "", "", "")
    words = [s.lstrip("-") for s in selectors]
    # 32-bit factors overflow 64 bits, which only saturation sees.
    elem = "i128" if op.sat and (not words[1] or not words[2]) else "i64"
    a = _field(e, args[0], words[1], op.types[1].is_signed, elem)
    b = _field(e, args[1], words[2], op.types[2].is_signed, elem)
    negated = [s.startswith("-") for s in selectors]
    product_negated = negated[1] != negated[2]
    signed = op.types[1].is_signed or op.types[2].is_signed or product_negated or negated[3]
    total, c = e.binary("mul", a, b), extend(e, args[2], elem, signed)
    if product_negated:
        total = e.binary("sub", c, total)
    else:
        total = e.binary("sub" if negated[3] else "add", total, c)
    if op.has("po"):
        total = e.binary("add", total, const(total, 1))
    scale = 7 if op.has("shr7") else 15 if op.has("shr15") else 0
    if scale:
        total = e.binary("ashr", total, const(total, scale))
    return [e.cast("trunc", _clamp(e, total, 32, signed) if op.sat else total, "i32")]


def emit_packed(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    """Two halfwords or four bytes: each result field is merged into c or, with ``.add``, added to it."""
    fields = FIELDS[op.name]
    bits = 32 // fields
    destination, asel, bsel = op.selectors[:3] if op.selectors else ("", "", "")
    firsts, seconds = _digits(asel, fields, 0), _digits(bsel, fields, fields)
    sources = op.types if op.name.startswith("vset") else op.types[1:]
    out = args[2]
    for i in _digits(destination, fields, 0):
        a = lane(e, args[firsts[i] // fields], bits, firsts[i] % fields, sources[0].is_signed)
        b = lane(e, args[seconds[i] // fields], bits, seconds[i] % fields, sources[1].is_signed)
        t = _primary(e, op, a, b)
        if op.operation:
            out = e.binary("add", out, t)
        else:
            out = _merged(e, _clamp(e, t, bits, op.types[0].is_signed) if op.sat else t, out, bits, i)
    return [out]


def _digits(selector: str, fields: int, first: int) -> list[int]:
    """The digits of a selector from the lowest field up; all fields from ``first`` on where there is none."""
    return [int(d) for d in reversed(selector[2:])] if selector else list(range(first, first + fields))


def _field(e: Emitter, a: Value, selector: str, signed: bool, elem: str) -> Value:
    """The selected byte, halfword or word of an i32 as a wider integer."""
    bits, index = _SELECTED[selector.lstrip("-")]
    return extend(e, a if bits == 32 else lane(e, a, bits, index, signed), elem, signed)


def _primary(e: Emitter, op: Opcode, a: Value, b: Value) -> Value:
    """The operation on two numbers that are narrower than the values they stand in."""
    name = op.name.rstrip("24")
    if name == "vset":
        kind = op.compare if op.compare in ("eq", "ne") else "s" + op.compare
        return e.cast("zext", e.icmp(kind, a, b), a.elem)
    if name in ("vmin", "vmax"):
        return smin(e, a, b) if name == "vmin" else smax(e, a, b)
    if name in ("vshl", "vshr"):
        count = e.binary("and", b, const(b, 31)) if op.has("wrap") else umin(e, b, const(b, 32))
        return _cut(e, e.binary("shl", a, count), 34) if name == "vshl" else e.binary("ashr", a, count)
    if name == "vadd":
        return e.binary("add", a, b)
    if name == "vavrg":
        total = e.binary("add", a, b)
        up = e.cast("zext", e.icmp("sge", total, const(total, 0)), total.elem)
        return e.binary("ashr", e.binary("add", total, up), const(total, 1))
    difference = e.binary("sub", a, b)
    return absolute(e, difference) if name == "vabsdiff" else difference


def _cut(e: Emitter, a: Value, bits: int) -> Value:
    """The two's complement reading of the low ``bits`` bits."""
    spare = const(a, ELEM_BITS[a.elem] - bits)
    return e.binary("ashr", e.binary("shl", a, spare), spare)


def _clamp(e: Emitter, a: Value, bits: int, signed: bool) -> Value:
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    return smin(e, smax(e, a, const(a, low)), const(a, high))


def _merged(e: Emitter, field: Value, into: Value, bits: int, index: int) -> Value:
    """``into`` with the low ``bits`` bits of ``field`` as its field ``index``."""
    mask = const(into, (1 << bits) - 1 << bits * index)
    placed = e.binary("shl", field, const(field, bits * index)) if index else field
    return e.binary("or", e.binary("and", placed, mask), e.binary("and", into, not_(e, mask)))


EMIT_VIDEO: Final[dict[str, Emit]] = {
    name: emit_vmad if name == "vmad" else emit_scalar if fields == 1 else emit_packed
    for name, fields in FIELDS.items()
}
