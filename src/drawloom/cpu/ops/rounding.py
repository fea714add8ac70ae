"""IEEE arithmetic with a rounding mode of its own, flushing and clamping: what PTX's float modifiers mean in LLVM.

Round-to-nearest is LLVM's plain instruction. The directed modes use AVX-512's embedded rounding on vectors where the
target has it; elsewhere they call a function that switches the processor's rounding mode around constrained
operations, which every LLVM target provides.
"""

from __future__ import annotations

from typing import Final

from drawloom.cpu.emitter import Emitter, Value, int_const, type_of, type_suffix
from drawloom.cpu.ops.common import bitcast, const, fconst

#: LLVM's rounding numbers (``llvm.set.rounding``); 1 is to nearest.
_SET_ROUNDING: Final[dict[str, int]] = {"rz": 0, "rn": 1, "rp": 2, "rm": 3}
#: The immediate of AVX-512's embedded rounding, exceptions suppressed (Intel SDM volume 1 section 15.6.4).
_EMBEDDED: Final[dict[str, int]] = {"rn": 8, "rm": 9, "rp": 10, "rz": 11}
#: Packed AVX-512 intrinsics with a rounding operand, by operation and element.
_AVX512: Final[dict[tuple[str, str], str]] = {
    ("fadd", "float"): "add.ps", ("fsub", "float"): "sub.ps", ("fmul", "float"): "mul.ps",
    ("fdiv", "float"): "div.ps", ("sqrt", "float"): "sqrt.ps", ("fma", "float"): "vfmadd.ps",
    ("fadd", "double"): "add.pd", ("fsub", "double"): "sub.pd", ("fmul", "double"): "mul.pd",
    ("fdiv", "double"): "div.pd", ("sqrt", "double"): "sqrt.pd", ("fma", "double"): "vfmadd.pd",
}  # fmt: skip
#: Exponent masks, to recognise subnormals.
_EXPONENT: Final[dict[str, int]] = {"float": 0x7F800000, "double": 0x7FF0000000000000}
_INT: Final[dict[str, str]] = {"float": "i32", "double": "i64", "half": "i16"}


def flush(e: Emitter, a: Value) -> Value:
    """``.ftz``: a subnormal float becomes zero with its sign."""
    bits = bitcast(e, a, _INT[a.elem])
    tiny = e.icmp("eq", e.binary("and", bits, const(bits, _EXPONENT[a.elem])), const(bits, 0))
    sign = 1 << (31 if a.elem == "float" else 63)
    return bitcast(e, e.select(tiny, e.binary("and", bits, const(bits, sign)), bits), a.elem)


def saturate(e: Emitter, a: Value) -> Value:
    """``.sat``: clamped to [+0, 1], NaN to +0."""
    # Ordered comparisons are false for NaN, so it takes the constant; -0 does too.
    low = e.select(e.fcmp("ogt", a, fconst(a, 0.0)), a, fconst(a, 0.0))
    return e.select(e.fcmp("olt", low, fconst(a, 1.0)), low, fconst(a, 1.0))


def arithmetic(e: Emitter, name: str, args: list[Value], mode: str) -> Value:
    """``fadd fsub fmul fdiv sqrt fma`` of ``float`` or ``double`` values, rounded as ``mode`` (rn rz rm rp) says."""
    first = args[0]
    if mode in ("", "rn"):
        if name == "fma":
            return fma(e, args[0], args[1], args[2])
        return e.intrinsic("llvm.sqrt", args) if name == "sqrt" else e.binary(name, args[0], args[1])
    if first.lanes and "avx512f" in e.features:
        return _embedded(e, name, args, mode)
    return _dynamic(e, name, args, mode, first.elem)


def fma(e: Emitter, a: Value, b: Value, c: Value) -> Value:
    """Fused multiply-add to nearest. Without the instruction, floats go through an exact double product."""
    if a.elem == "double" or "fma" in e.features or "fma4" in e.features or "avx512f" in e.features:
        return e.intrinsic("llvm.fma", [a, b, c])
    product = e.binary("fmul", e.cast("fpext", a, "double"), e.cast("fpext", b, "double"))
    return e.cast("fptrunc", odd_sum(e, product, e.cast("fpext", c, "double")), "float")


def odd_sum(e: Emitter, a: Value, b: Value) -> Value:
    """a + b rounded to odd: a second rounding to a format with two bits less, or fewer, is then the only one."""
    total = e.binary("fadd", a, b)
    b_part = e.binary("fsub", total, a)
    a_part = e.binary("fsub", total, b_part)
    error = e.binary("fadd", e.binary("fsub", a, a_part), e.binary("fsub", b, b_part))
    elem = _INT[total.elem]
    bits = bitcast(e, total, elem)
    inexact = e.fcmp("one", error, fconst(error, 0.0))
    even = e.icmp("eq", e.binary("and", bits, const(bits, 1)), const(bits, 0))
    # The error's sign against the sum's says on which side the true value lies: step towards it.
    outwards = e.icmp("sge", e.binary("xor", bits, bitcast(e, error, elem)), const(bits, 0))
    step = e.select(outwards, const(bits, 1), const(bits, -1))
    moved = e.select(e.binary("and", inexact, even), e.binary("add", bits, step), bits)
    return bitcast(e, moved, total.elem)


def to_integral(e: Emitter, name: str, a: Value) -> Value:
    """``roundeven trunc floor ceil`` of ``float`` or ``double`` values, as values of that type.

    x86-64 has an instruction for each from SSE4.1 on; before, LLVM calls the C library. Adding and subtracting 2**23
    (a double: 2**52) rounds smaller magnitudes to nearest, and larger ones are integers.
    """
    if "sse2" not in e.features or "sse4.1" in e.features:
        return e.intrinsic(f"llvm.{name}", [a])
    magnitude = e.intrinsic("llvm.fabs", [a])
    unit = fconst(a, 2.0**23 if a.elem == "float" else 2.0**52)
    near = e.binary("fsub", e.binary("fadd", magnitude, unit), unit)
    one = fconst(a, 1.0)
    if name == "trunc":
        near = e.select(e.fcmp("ogt", near, magnitude), e.binary("fsub", near, one), near)
    near = e.intrinsic("llvm.copysign", [near, a])
    if name == "floor":
        near = e.select(e.fcmp("ogt", near, a), e.binary("fsub", near, one), near)
    elif name == "ceil":
        above = e.binary("fadd", near, one)
        near = e.select(e.fcmp("olt", near, a), e.intrinsic("llvm.copysign", [above, a]), near)
    return e.select(e.fcmp("olt", magnitude, unit), near, a)


def convert(e: Emitter, name: str, a: Value, elem: str, mode: str) -> Value:
    """``fptrunc sitofp uitofp`` to ``elem``, rounded as ``mode`` says."""
    if mode in ("", "rn"):
        return e.cast(name, a, elem)
    return _dynamic(e, name, [a], mode, elem)


def _embedded(e: Emitter, name: str, args: list[Value], mode: str) -> Value:
    """One AVX-512 instruction per 64-byte piece of the vector."""
    first = args[0]
    width = 16 if first.elem == "float" else 8
    rounding = int_const("i32", _EMBEDDED[mode])
    pieces: list[Value] = []
    for start in range(0, first.lanes, width):
        parts = [piece(e, a, start, width) for a in args]
        full = f"llvm.x86.avx512.{_AVX512[name, first.elem]}.512"
        pieces.append(e.call(full, first.elem, width, [*parts, rounding]))
    return concatenate(e, pieces)


def piece(e: Emitter, a: Value, start: int, width: int) -> Value:
    """Lanes ``start`` to ``start + width`` of a vector."""
    if a.lanes == width:
        return a
    indices = ", ".join([f"i32 {i}" for i in range(start, start + width)])
    return e.value(a.elem, width, f"shufflevector {a.typed}, {a.type} poison, <{width} x i32> <{indices}>")


def concatenate(e: Emitter, pieces: list[Value]) -> Value:
    """Equal vectors one after another; their number is a power of two."""
    while len(pieces) > 1:
        joined: list[Value] = []
        for i in range(0, len(pieces), 2):
            a, b = pieces[i], pieces[i + 1]
            count = 2 * a.lanes
            indices = ", ".join([f"i32 {k}" for k in range(count)])
            text = f"shufflevector {a.typed}, {b.typed}, <{count} x i32> <{indices}>"
            joined.append(e.value(a.elem, count, text))
        pieces = joined
    return pieces[0]


def _dynamic(e: Emitter, name: str, args: list[Value], mode: str, elem: str) -> Value:
    """Call the function that runs the operation in another rounding mode."""
    lanes = args[0].lanes
    full = f"drawloom.{name}.{mode}.{type_suffix(elem, lanes)}.{type_suffix(args[0].elem, lanes)}"
    if full not in e.declarations:
        operation = f"llvm.experimental.constrained.{name}.{type_suffix(elem, lanes)}"
        if name in ("fptrunc", "sitofp", "uitofp"):
            operation += f".{type_suffix(args[0].elem, lanes)}"
        e.declare(operation, type_of(elem, lanes), [*[a.type for a in args], "metadata", "metadata"])
        e.declare("llvm.set.rounding", "void", ["i32"])
        e.declarations[full] = _dynamic_function(full, operation, args, mode, type_of(elem, lanes))
    return e.value(elem, lanes, f"call {type_of(elem, lanes)} @{full}({', '.join([a.typed for a in args])})")


def _dynamic_function(full: str, operation: str, args: list[Value], mode: str, result: str) -> str:
    source = args[0].type
    params = ", ".join([f"{source} %a{i}" for i in range(len(args))])
    return f"""define internal {result} @{full}({params}) noinline nounwind strictfp {{
  call void @llvm.set.rounding(i32 {_SET_ROUNDING[mode]}) strictfp
  %r = call {result} @{operation}({params}, metadata !"round.dynamic", metadata !"fpexcept.ignore") strictfp
  call void @llvm.set.rounding(i32 1) strictfp
  ret {result} %r
}}"""
