"""Video instructions (PTX ISA 9.0 section 9.7.18) as bit fields, integer arithmetic and insertions.

The manual computes in 33 and more bits. Here the range of every value is known when a template is made, so that 64 bits
are used only where 32 would lose something that can be seen.
"""

from __future__ import annotations

from typing import Final

from drawloom.ptx.isa import Opcode
from drawloom.ptx.isa_selectors import FIELDS
from drawloom.sass.expand.rules import Rule, rule

Range = tuple[int, int]

_TYPES: Final[dict[str, Range]] = {
    "s32": (-(1 << 31), (1 << 31) - 1), "u32": (0, (1 << 32) - 1), "s64": (-(1 << 63), (1 << 63) - 1),
    "u64": (0, (1 << 64) - 1),
}  # fmt: skip
_SHIFTS: Final = ("vshl", "vshr")
#: Beyond this any product saturates to 32 bits, scaled or not, whatever is added to it.
_HUGE: Final = 1 << 62


class _Body:
    """The text of a template: every step writes a new register."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.count = 0

    def do(self, instruction: str, type: str, *sources: str | int) -> str:
        """``instruction.type`` into a new register of that type, which is returned."""
        return self.write(f"{instruction}.{type}", type, *sources)

    def write(self, opcode: str, type: str, *sources: str | int) -> str:
        name = f"t{self.count}"
        self.count += 1
        self.lines.append(f".reg .{type} {name}; {opcode} {name}, {', '.join([str(s) for s in sources])};")
        return name

    def rule(self, result: str) -> Rule:
        return rule("b32 b32 b32 b32", " ".join([*self.lines, f"mov.b32 d, {result};"]))


def video(opcode: Opcode) -> Rule:
    """The rule of a video instruction."""
    if opcode.name == "vmad":
        return _multiply_add(opcode)
    return _scalar(opcode) if FIELDS[opcode.name] == 1 else _packed(opcode)


def _holding(*ranges: Range) -> str:
    """The narrowest type that has all of these."""
    low, high = min([r[0] for r in ranges]), max([r[1] for r in ranges])
    return next(name for name, (first, last) in _TYPES.items() if first <= low and high <= last)


def _range(bits: int, is_signed: bool) -> Range:
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if is_signed else (0, (1 << bits) - 1)


def _place(selector: str) -> tuple[int, int]:
    """``(shift, bits)`` of the field that a selector names."""
    selector = selector.lstrip("-")
    if not selector:
        return 0, 32
    bits = 16 if selector[1] == "h" else 8
    return int(selector[2]) * bits, bits


def _field(out: _Body, source: str, shift: int, bits: int, is_signed: bool) -> tuple[str, Range]:
    """A register of 32 bits with a field of one, and its range."""
    sign = "s" if is_signed else "u"
    value = source if bits == 32 else out.do("bfe", f"{sign}32", source, shift, bits)
    return value, _range(bits, is_signed)


def _as(out: _Body, value: str, range: Range, type: str) -> str:
    """A register of 32 bits as ``type``."""
    return value if type.endswith("32") else out.write(f"cvt.{type}.{_holding(range)}", type, value)


def _clamped(out: _Body, value: str, type: str, range: Range, to: Range) -> tuple[str, Range]:
    if range[0] < to[0]:
        value = out.do("max", type, value, to[0])
    if range[1] > to[1]:
        value = out.do("min", type, value, to[1])
    return value, (max(range[0], to[0]), min(range[1], to[1]))


def _primary(out: _Body, opcode: Opcode, type: str, a: str, b: str) -> str:
    """The operation on two values of ``type``, which it does not overflow where anybody sees it."""
    name = opcode.name.rstrip("24")
    bits = type[1:]
    if name in ("vadd", "vsub", "vmin", "vmax"):
        return out.do(name[1:], type, a, b)
    if name == "vabsdiff":
        return out.do("sub", type, out.do("max", type, a, b), out.do("min", type, a, b))
    if name == "vset":
        test = out.write(f"setp.{opcode.compare}.{type}", "pred", a, b)
        return out.do("selp", type, 1, 0, test)
    if name == "vavrg":
        total = out.do("add", type, a, b)
        sign = out.do("shr", type, total, 31)  # -1 of a negative sum, which is rounded down
        return out.do("shr", type, out.do("add", type, out.do("add", type, total, sign), 1), 1)
    count = out.do("and", "b32", b, 31) if opcode.has("wrap") else out.do("min", "u32", b, 32)
    return out.do("shl", f"b{bits}", a, count) if name == "vshl" else out.do("shr", type, a, count)


def _result(opcode: Opcode, a: Range, b: Range) -> Range:
    """What the primary operation can give."""
    name = opcode.name.rstrip("24")
    match name:
        case "vadd":
            return a[0] + b[0], a[1] + b[1]
        case "vsub":
            return a[0] - b[1], a[1] - b[0]
        case "vabsdiff":
            return 0, max(a[1] - b[0], b[1] - a[0])
        case "vset":
            return 0, 1
        case "vshl":
            return _range(34, True)
        case "vshr":
            return min(a[0], 0), max(a[1], 0)
        case _:
            return min(a[0], b[0]), max(a[1], b[1])


def _cut(out: _Body, value: str, bits: int) -> str:
    """The low ``bits`` of a signed value of 64."""
    return out.do("shr", "s64", out.do("shl", "b64", value, 64 - bits), 64 - bits)


def _scalar(opcode: Opcode) -> Rule:
    out = _Body()
    selectors = opcode.selectors or ("", "", "", "")
    comparing = opcode.name == "vset"
    sources = opcode.types if comparing else opcode.types[1:]
    is_signed = opcode.types[0].is_signed and not comparing
    a, range_a = _field(out, "a", *_place(selectors[1]), sources[0].is_signed)
    b, range_b = _field(out, "b", *_place(selectors[2]), sources[1].is_signed)
    shift, bits = _place(selectors[0])
    range = _result(opcode, range_a, range_b)
    addend = _range(32, is_signed)
    shifting = opcode.name in _SHIFTS
    seen = [range_a] if shifting else [range_a, range_b]
    compares = opcode.operation in ("min", "max")
    if opcode.sat or compares:
        seen.append(range)
    if compares:
        seen.append(addend)
    type = _holding(*seen)
    t = _primary(out, opcode, type, _as(out, a, range_a, type), b if shifting else _as(out, b, range_b, type))
    if opcode.name == "vshl" and type == "s64":
        t = _cut(out, t, 34)
    if opcode.sat:
        t, range = _clamped(out, t, type, range, _range(bits, is_signed))
    elif compares and _holding(range) == "s64":
        t = _cut(out, t, 33)
    if compares:
        t = out.do(opcode.operation, type, t, _as(out, "c", addend, type))
    if type == "s64":
        t = out.write("cvt.u32.u64", "u32", t)
    if opcode.operation == "add":
        t = out.do("add", "u32", t, "c")
    if bits < 32:
        t = out.do("bfi", "b32", t, "c", shift, bits)
    return out.rule(t)


def _multiply_add(opcode: Opcode) -> Rule:
    """±(a*b) ± c, and one more with ``.po``; then scaled, then saturated."""
    out = _Body()
    selectors = opcode.selectors or ("", "", "", "")
    scale = 7 if opcode.has("shr7") else 15 if opcode.has("shr15") else 0
    product_negated = selectors[1].startswith("-") != selectors[2].startswith("-")
    addend_negated = selectors[3].startswith("-")
    is_signed = opcode.types[1].is_signed or opcode.types[2].is_signed or product_negated or addend_negated
    a, range_a = _field(out, "a", *_place(selectors[1]), opcode.types[1].is_signed)
    b, range_b = _field(out, "b", *_place(selectors[2]), opcode.types[2].is_signed)
    addend = "c"
    if opcode.sat or scale:
        type = "s64" if is_signed else "u64"
        factors = _holding(range_a, range_b)
        if factors == "s64":
            product = out.do("mul.lo", type, _as(out, a, range_a, type), _as(out, b, range_b, type))
        else:
            product = out.write(f"mul.wide.{factors}", factors[0] + "64", a, b)
        if opcode.sat and is_signed and factors == "u32":
            product = out.do("min", "u64", product, _HUGE)
        addend = _as(out, "c", _range(32, is_signed), type)
    else:
        type = "u32"
        product = out.do("mul.lo", type, a, b)
    if product_negated:
        total = out.do("sub", type, addend, product)
    else:
        total = out.do("sub" if addend_negated else "add", type, product, addend)
    if opcode.has("po"):
        total = out.do("add", type, total, 1)
    if scale:
        total = out.do("shr", type, total, scale)
    if opcode.sat:
        total, _ = _clamped(out, total, type, _TYPES[type], _range(32, is_signed))
    return out.rule(total if type == "u32" else out.write("cvt.u32.u64", "u32", total))


def _packed(opcode: Opcode) -> Rule:
    """Every field of the destination from two of the fields of ``b:a``."""
    out = _Body()
    fields = FIELDS[opcode.name]
    bits = 32 // fields
    chosen, firsts, seconds = opcode.selectors[:3] if opcode.selectors else ("", "", "")
    from_a, from_b = _digits(firsts, fields, 0), _digits(seconds, fields, fields)
    sources = opcode.types if opcode.name.startswith("vset") else opcode.types[1:]
    result = "c"
    for i in _digits(chosen, fields, 0):
        a, range_a = _field(out, "ab"[from_a[i] // fields], from_a[i] % fields * bits, bits, sources[0].is_signed)
        b, range_b = _field(out, "ab"[from_b[i] // fields], from_b[i] % fields * bits, bits, sources[1].is_signed)
        t = _primary(out, opcode, "s32", a, b)
        if opcode.operation == "add":
            result = out.do("add", "u32", result, t)
            continue
        if opcode.sat:
            range = _result(opcode, range_a, range_b)
            t, _ = _clamped(out, t, "s32", range, _range(bits, opcode.types[0].is_signed))
        result = out.do("bfi", "b32", t, result, bits * i, bits)
    return out.rule(result)


def _digits(selector: str, fields: int, first: int) -> list[int]:
    """The digits of a selector from the lowest field up; all fields from ``first`` on where there is none."""
    return [int(d) for d in reversed(selector[2:])] if selector else list(range(first, first + fields))
