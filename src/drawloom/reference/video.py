"""Video instructions on bit patterns (PTX ISA 9.0 section 9.7.18): fields of two registers, worked on as exact numbers.

Numbers are Python integers, cut to the widths that the manual's pseudo-code declares where those show.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from drawloom.ptx.isa import Opcode
from drawloom.ptx.isa_selectors import FIELDS
from drawloom.reference.floats import Semantics
from drawloom.reference.integers import MASK32, clamp, signed

_WIDTHS: Final = {"": (0, 32), ".h0": (0, 16), ".h1": (16, 16)} | {f".b{i}": (8 * i, 8) for i in range(4)}
_COMPARISONS: Final[dict[str, Callable[[int, int], bool]]] = {
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
}  # fmt: skip
_BINARY: Final[dict[str, Callable[[int, int], int]]] = {
    "vadd": lambda a, b: a + b, "vsub": lambda a, b: a - b, "vabsdiff": lambda a, b: abs(a - b), "vmin": min,
    "vmax": max, "vavrg": lambda a, b: (a + b + 1 if a + b >= 0 else a + b) >> 1,
}  # fmt: skip
_SECOND: Final[dict[str, Callable[[int, int], int]]] = {"add": lambda t, c: t + c, "min": min, "max": max}


def _field(selector: str, is_signed: bool) -> Callable[[int], int]:
    """A pattern to the number in the selected byte, halfword or the whole."""
    shift, bits = _WIDTHS[selector.lstrip("-")]
    mask = (1 << bits) - 1
    if is_signed:
        return lambda v: signed(v >> shift & mask, bits)
    return lambda v: v >> shift & mask


def _primary(op: Opcode) -> Callable[[int, int], int]:
    """The operation on two numbers."""
    name = op.name.rstrip("24")
    if name == "vset":
        test = _COMPARISONS[op.compare]
        return lambda a, b: 1 if test(a, b) else 0
    if name not in ("vshl", "vshr"):
        return _BINARY[name]
    wraps = op.has("wrap")

    def shift(a: int, b: int) -> int:
        count = b & 31 if wraps else min(b, 32)
        return signed(a << count & (1 << 34) - 1, 34) if name == "vshl" else a >> count

    return shift


def _scalar(op: Opcode) -> Semantics:
    selectors = op.selectors or ("",) * 4
    comparing = op.name == "vset"
    sources = op.types if comparing else op.types[1:]
    first, second = _field(selectors[1], sources[0].is_signed), _field(selectors[2], sources[1].is_signed)
    is_signed = op.types[0].is_signed and not comparing
    compute = _primary(op)
    shift, bits = _WIDTHS[selectors[0]]
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if is_signed else (0, (1 << bits) - 1)
    saturates = op.sat
    addend = _field("", is_signed)
    combine = _SECOND.get(op.operation)
    merged = ((1 << bits) - 1) << shift

    def video(a: int, b: int, c: int = 0) -> int:
        t = compute(first(a), second(b))
        t = max(low, min(high, t)) if saturates else signed(t & (1 << 33) - 1, 33)
        if combine is not None:
            t = combine(t, addend(c))
        return (t << shift & merged) | (c & ~merged) if bits < 32 else t & MASK32

    return video


def _vmad(op: Opcode) -> Semantics:
    """``(a*b)+c``, in which the minus signs and ``.po`` add one to complements; then scaled, then saturated."""
    selectors = op.selectors or ("",) * 4
    first, second = _field(selectors[1], op.types[1].is_signed), _field(selectors[2], op.types[2].is_signed)
    product_negated = selectors[1].startswith("-") != selectors[2].startswith("-")
    addend_negated = selectors[3].startswith("-")
    is_signed = op.types[1].is_signed or op.types[2].is_signed or product_negated or addend_negated
    addend = _field("", is_signed)
    scale = 7 if op.has("shr7") else 15 if op.has("shr15") else 0
    one = 1 if op.has("po") else 0
    saturates = op.sat

    def vmad(a: int, b: int, c: int) -> int:
        product, term = first(a) * second(b), addend(c)
        total = (-product if product_negated else product) + (-term if addend_negated else term) + one >> scale
        return clamp(total, 32, is_signed) if saturates else total & MASK32

    return vmad


def _packed(op: Opcode) -> Semantics:
    """Each field of the destination from two of the eight bytes (four halfwords) of ``b:a``."""
    fields = FIELDS[op.name]
    bits = 32 // fields
    mask = (1 << bits) - 1
    destination, asel, bsel = op.selectors[:3] if op.selectors else ("", "", "")
    chosen = _digits(destination, fields, 0)
    firsts, seconds = _digits(asel, fields, 0), _digits(bsel, fields, fields)
    sources = op.types if op.name.startswith("vset") else op.types[1:]
    compute = _primary(op)
    is_signed, saturates, adds = op.types[0].is_signed, op.sat, op.operation == "add"

    def number(both: int, index: int, of_signed: bool) -> int:
        value = both >> bits * index & mask
        return signed(value, bits) if of_signed else value

    def video(a: int, b: int, c: int) -> int:
        both = b << 32 | a
        out = c + 0
        for i in chosen:
            t = compute(number(both, firsts[i], sources[0].is_signed), number(both, seconds[i], sources[1].is_signed))
            if adds:
                out += t
                continue
            pattern = clamp(t, bits, is_signed) if saturates else t & mask
            out = out & ~(mask << bits * i) | pattern << bits * i
        return out & MASK32

    return video


def _digits(selector: str, fields: int, first: int) -> list[int]:
    """The digits of a selector from the lowest field up; all fields from ``first`` on where there is none."""
    return [int(d) for d in reversed(selector[2:])] if selector else list(range(first, first + fields))


VIDEO_OPERATIONS: Final[dict[str, Callable[[Opcode], Semantics]]] = {
    name: _vmad if name == "vmad" else _scalar if fields == 1 else _packed for name, fields in FIELDS.items()
}
