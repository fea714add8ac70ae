"""Integer instructions against Python's integers written another way, NumPy, and LLVM's own execution."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest

from drawloom.ptx.isa import decode
from drawloom.reference.integers import carry_operation
from drawloom.reference.selection import setp
from tests.reference.semantics import INTEGER_EDGES, function, samples

WIDTHS = (16, 32, 64)
ALL = [f"{k}{b}" for k in "us" for b in WIDTHS]
U32 = INTEGER_EDGES[32]


def number(value: int, type: str) -> int:
    bits = int(type[1:])
    return value - (1 << bits) if type[0] == "s" and value >> bits - 1 else value


def bits_of(value: int, index: int) -> int:
    return value >> index & 1


@pytest.mark.parametrize("type", ALL)
def test_arithmetic_of_every_width(type: str) -> None:
    bits = int(type[1:])
    mask = (1 << bits) - 1
    tests: dict[str, Callable[..., int]] = {
        "add": lambda a, b, c: a + b,
        "sub": lambda a, b, c: a - b,
        "mul.lo": lambda a, b, c: a * b,
        "mul.hi": lambda a, b, c: (a * b) // (1 << bits),
        "mad.lo": lambda a, b, c: a * b + c,
        "mad.hi": lambda a, b, c: (a * b) // (1 << bits) + c,
        "sad": lambda a, b, c: c + (b - a if a < b else a - b),
        "min": lambda a, b, c: min(a, b),
        "max": lambda a, b, c: max(a, b),
    }
    if type[0] == "s":
        tests |= {"abs": lambda a, b, c: abs(a), "neg": lambda a, b, c: -a}
    arity = {"mad.lo": 3, "mad.hi": 3, "sad": 3, "abs": 1, "neg": 1}
    for name, expected in tests.items():
        ours = function(f"{name}.{type}")
        for values in samples(INTEGER_EDGES[bits], bits, 3, 300):
            numbers = [number(v, type) for v in values]
            got = ours(*values[: arity.get(name, 2)])
            assert got == expected(*numbers) & mask, (name, [hex(v) for v in values])


@pytest.mark.parametrize("type", ["u16", "s16", "u32", "s32"])
def test_wide_products(type: str) -> None:
    bits = int(type[1:])
    mul, mad = function(f"mul.wide.{type}"), function(f"mad.wide.{type}")
    for a, b, c in samples(INTEGER_EDGES[bits], bits, 3, 300):
        product = number(a, type) * number(b, type)
        assert mul(a, b) == product & (1 << 2 * bits) - 1
        assert mad(a, b, c << bits | a) == product + (c << bits | a) & (1 << 2 * bits) - 1


@pytest.mark.parametrize("type", ALL)
def test_division_truncates(type: str) -> None:
    bits = int(type[1:])
    mask = (1 << bits) - 1
    div, rem = function(f"div.{type}"), function(f"rem.{type}")
    dtype = np.dtype(f"{'int' if type[0] == 's' else 'uint'}{bits}")
    for a, b in samples(INTEGER_EDGES[bits], bits, 2, 500):
        x, y = number(a, type), number(b, type)
        if y == 0:
            # Open in the manual: all ones and the dividend.
            assert div(a, b) == mask and rem(a, b) == a
            continue
        if y == -1:
            assert div(a, b) == -x & mask and rem(a, b) == 0
            continue
        remainder = np.fmod(np.array([x], dtype), np.array([y], dtype))[0]
        assert rem(a, b) == int(remainder) & mask
        assert div(a, b) == (x - int(remainder)) // y & mask


def test_24_bit_products_use_the_low_bits() -> None:
    for a, b, c in samples(U32, 32, 3, 500):
        ua, ub = a & 0xFFFFFF, b & 0xFFFFFF
        sa, sb = ua - (ua >> 23 << 24), ub - (ub >> 23 << 24)
        assert function("mul24.lo.u32")(a, b) == ua * ub & 0xFFFFFFFF
        assert function("mul24.hi.u32")(a, b) == ua * ub >> 16
        assert function("mul24.lo.s32")(a, b) == sa * sb & 0xFFFFFFFF
        assert function("mul24.hi.s32")(a, b) == (sa * sb) // 65536 & 0xFFFFFFFF
        assert function("mad24.hi.s32")(a, b, c) == (sa * sb) // 65536 + c & 0xFFFFFFFF
        clamped = max(-(1 << 31), min((1 << 31) - 1, (sa * sb) // 65536 + number(c, "s32")))
        assert function("mad24.hi.sat.s32")(a, b, c) == clamped & 0xFFFFFFFF


def test_saturation() -> None:
    low, high = -(1 << 31), (1 << 31) - 1
    for a, b, c in samples(U32, 32, 3, 500):
        x, y, z = (number(v, "s32") for v in (a, b, c))
        assert function("add.sat.s32")(a, b) == max(low, min(high, x + y)) & 0xFFFFFFFF
        assert function("sub.sat.s32")(a, b) == max(low, min(high, x - y)) & 0xFFFFFFFF
        assert function("mad.hi.sat.s32")(a, b, c) == max(low, min(high, (x * y) // (1 << 32) + z)) & 0xFFFFFFFF
        assert function("min.relu.s32")(a, b) == max(0, min(x, y))
        assert function("max.relu.s32")(a, b) == max(0, x, y)


def test_packed_sixteen_bit_lanes() -> None:
    for a, b in samples(U32, 32, 2, 300):
        lanes = [(number(v & 0xFFFF, "s16"), number(v >> 16, "s16")) for v in (a, b)]
        total = [(x + y) & 0xFFFF for x, y in zip(*lanes, strict=True)]
        assert function("add.u16x2")(a, b) == total[0] | total[1] << 16
        least = [max(0, min(x, y)) for x, y in zip(*lanes, strict=True)]
        assert function("min.relu.s16x2")(a, b) == least[0] | least[1] << 16
        most = [max(x & 0xFFFF, y & 0xFFFF) for x, y in zip(*lanes, strict=True)]
        assert function("max.u16x2")(a, b) == most[0] | most[1] << 16


@pytest.mark.parametrize("bits", [32, 64])
def test_bit_counts(bits: int) -> None:
    mask = (1 << bits) - 1
    for (a,) in samples(INTEGER_EDGES[bits], bits, 1, 500):
        text = f"{a:0{bits}b}"
        assert function(f"popc.b{bits}")(a) == text.count("1")
        assert function(f"clz.b{bits}")(a) == len(text) - len(text.lstrip("0"))
        assert function(f"brev.b{bits}")(a) == int(text[::-1], 2)
        first = text.find("1")
        assert function(f"bfind.u{bits}")(a) == (bits - 1 - first if first >= 0 else 0xFFFFFFFF)
        assert function(f"bfind.shiftamt.u{bits}")(a) == (first if first >= 0 else 0xFFFFFFFF)
        opposite = f"{a ^ mask if text[0] == '1' else a:0{bits}b}".find("1")
        assert function(f"bfind.s{bits}")(a) == (bits - 1 - opposite if opposite >= 0 else 0xFFFFFFFF)


@pytest.mark.parametrize("bits", [32, 64])
def test_bit_fields_as_the_manuals_loops(bits: int) -> None:
    msb = bits - 1
    for a, b, c, d in samples(INTEGER_EDGES[bits], bits, 4, 700):
        c, d = c & 0xFFFFFFFF, d & 0xFFFFFFFF
        position, length = c & 0xFF, d & 0xFF
        for kind in "us":
            sign = 0
            if kind == "s" and length:
                sign = bits_of(a, min(position + length - 1, msb))
            expected = 0
            for i in range(bits):
                expected |= (bits_of(a, position + i) if i < length and position + i <= msb else sign) << i
            assert function(f"bfe.{kind}{bits}")(a, c, d) == expected
        inserted = b
        for i in range(length):
            if position + i > msb:
                break
            inserted = inserted & ~(1 << position + i) | bits_of(a, i) << position + i
        assert function(f"bfi.b{bits}")(a, b, c, d) == inserted


def test_find_the_nth_set_bit() -> None:
    examples = [((0xAAAAAAAA, 3, 1), 3), ((0xAAAAAAAA, 3, -1), 3), ((0xAAAAAAAA, 2, 1), 3), ((0xAAAAAAAA, 2, -1), 1)]
    for (mask, base, offset), expected in examples:
        assert function("fns.b32")(mask, base, offset & 0xFFFFFFFF) == expected
    for mask, base, offset in samples(U32, 32, 3, 500):
        base, offset = base & 31, offset % 9 - 4
        above = [i for i in range(base, 32) if mask >> i & 1]
        below = [i for i in range(base, -1, -1) if mask >> i & 1]
        chosen = above[offset - 1 :] if offset > 0 else below[-offset - 1 :] if offset else above[:1]
        if offset == 0 and chosen and chosen[0] != base:
            chosen = []
        assert function("fns.b32")(mask, base, offset & 0xFFFFFFFF) == (chosen[0] if chosen else 0xFFFFFFFF)


def test_extension_and_masks() -> None:
    for a, b in samples(U32, 32, 2, 700):
        for mode in ("clamp", "wrap"):
            n = b if mode == "clamp" else b & 31
            width = min(n, 32)
            low = a & (1 << width) - 1
            sign = low - (1 << width) if width and low >> width - 1 else low
            assert function(f"szext.{mode}.u32")(a, b) == low
            assert function(f"szext.{mode}.s32")(a, b) == sign & 0xFFFFFFFF
        # Section 9.7.1.22: the mask starts at a and has b ones, cut off at bit 31.
        assert function("bmsk.wrap.b32")(a, b) == ((1 << (b & 31)) - 1 << (a & 31)) & 0xFFFFFFFF
        clamped = 0 if a >= 32 else ((1 << min(b, 32)) - 1 << a) & 0xFFFFFFFF
        assert function("bmsk.clamp.b32")(a, b) == clamped


@pytest.mark.parametrize("a_type", ["u32", "s32"])
@pytest.mark.parametrize("b_type", ["u32", "s32"])
def test_dot_products(a_type: str, b_type: str) -> None:
    kind = {"u32": np.uint8, "s32": np.int8}
    wide = {"u32": np.uint16, "s32": np.int16}
    for a, b, c in samples(U32, 32, 3, 400):
        raw_a, raw_b = np.array([a], np.uint32), np.array([b], np.uint32)
        x, y = raw_a.view(kind[a_type]).astype(np.int64), raw_b.view(kind[b_type]).astype(np.int64)
        assert function(f"dp4a.{a_type}.{b_type}")(a, b, c) == int(x @ y) + c & 0xFFFFFFFF
        halves = raw_a.view(wide[a_type]).astype(np.int64)
        assert function(f"dp2a.lo.{a_type}.{b_type}")(a, b, c) == int(halves @ y[:2]) + c & 0xFFFFFFFF
        assert function(f"dp2a.hi.{a_type}.{b_type}")(a, b, c) == int(halves @ y[2:]) + c & 0xFFFFFFFF


def test_logic() -> None:
    for a, b, c in samples(U32, 32, 3, 300):
        assert function("and.b32")(a, b) == a & b
        assert function("or.b32")(a, b) == a | b
        assert function("xor.b32")(a, b) == a ^ b
        assert function("not.b16")(a & 0xFFFF) == ~a & 0xFFFF
        assert function("cnot.b32")(a) == int(a == 0)
        for table in (0x80, 0xFE, 0x40, 0x1A, 0x96, 0xE8, 0x00, 0xFF, a & 0xFF):
            rows = [bits_of(a, i) << 2 | bits_of(b, i) << 1 | bits_of(c, i) for i in range(32)]
            expected = sum((table >> row & 1) << i for i, row in enumerate(rows))
            assert function("lop3.b32")(a, b, c, table) == expected


def test_shifts_clamp() -> None:
    for bits in WIDTHS:
        for a, _ in samples(INTEGER_EDGES[bits], bits, 2, 100):
            for count in (0, 1, 7, bits - 1, bits, bits + 1, 64, 255, 256, 0x80000000, 0xFFFFFFFF):
                steps = min(count, bits)
                assert function(f"shl.b{bits}")(a, count) == a * 2**steps & (1 << bits) - 1
                assert function(f"shr.u{bits}")(a, count) == a // 2**steps
                assert function(f"shr.b{bits}")(a, count) == a // 2**steps
                assert function(f"shr.s{bits}")(a, count) == number(a, f"s{bits}") // 2**steps & (1 << bits) - 1


PERMUTE_TABLE = {
    "f4e": ["3210", "4321", "5432", "6543"], "b4e": ["5670", "6701", "7012", "0123"],
    "rc8": ["0000", "1111", "2222", "3333"], "ecl": ["3210", "3211", "3222", "3333"],
    "ecr": ["0000", "1110", "2210", "3210"], "rc16": ["1010", "3232", "1010", "3232"],
}  # fmt: skip


def test_byte_permutes() -> None:
    for a, b, c in samples(U32, 32, 3, 300):
        source = a.to_bytes(4, "little") + b.to_bytes(4, "little")
        out = []
        for i in range(4):
            control = c >> 4 * i & 15
            byte = source[control & 7]
            out.append((0xFF if byte & 0x80 else 0) if control & 8 else byte)
        assert function("prmt.b32")(a, b, c) == int.from_bytes(bytes(out), "little")
        for mode, rows in PERMUTE_TABLE.items():
            # The manual's table lists the bytes from the highest to the lowest.
            expected = bytes(source[int(k)] for k in reversed(rows[c & 3]))
            assert function(f"prmt.b32.{mode}")(a, b, c) == int.from_bytes(expected, "little")


@pytest.mark.parametrize("type", ["u32", "s64"])
@pytest.mark.parametrize("name", ["add", "sub", "mad.lo", "mad.hi"])
def test_carry_chains(name: str, type: str) -> None:
    bits = int(type[1:])
    base, _, half = name.partition(".")
    half = f".{half}" if half else ""
    first = carry_operation(decode(f"{base}{half}.cc.{type}"))
    middle = carry_operation(decode(f"{base}c{half}.cc.{type}"))
    for a, b, c, d in samples(INTEGER_EDGES[bits], bits, 4, 400):
        if base == "mad":
            product = number(a, type) * number(b, type)
            term = (product >> bits if "hi" in name else product) & (1 << bits) - 1
            for carry in (0, 1):
                total = term + c + carry
                assert middle(a, b, c, carry) == (total & (1 << bits) - 1, total >> bits)
            continue
        low, carry = first(a, b, 0)
        high, out = middle(c, d, carry)
        x, y = c << bits | a, d << bits | b
        total = x + y if base == "add" else x - y
        assert high << bits | low == total & (1 << 2 * bits) - 1
        assert out == int(total >= 0 if base == "sub" else total >> 2 * bits)


def test_a_subtraction_leaves_the_complement_of_its_borrow_to_an_addition() -> None:
    sub, addc = carry_operation(decode("sub.cc.u32")), carry_operation(decode("addc.u32"))
    add, subc = carry_operation(decode("add.cc.u32")), carry_operation(decode("subc.cc.u32"))
    assert addc(7, 0, sub(5, 3, 0)[1])[0] == 8
    assert addc(7, 0, sub(3, 5, 0)[1])[0] == 7
    assert subc(7, 2, add(0xFFFFFFFF, 1, 0)[1]) == (5, 1)
    assert subc(7, 7, add(1, 1, 0)[1]) == (0xFFFFFFFF, 0)


def test_comparisons_and_boolean_operators() -> None:
    tests: dict[str, Callable[[int, int], bool]] = {
        "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
        "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
    }  # fmt: skip
    combine: dict[str, Callable[[int, int], int]] = {
        "and": lambda t, c: t & c, "or": lambda t, c: t | c, "xor": lambda t, c: t ^ c
    }  # fmt: skip
    for type in ALL:
        for a, b in samples(INTEGER_EDGES[int(type[1:])], int(type[1:]), 2, 60):
            for name, test in tests.items():
                holds = int(test(number(a, type), number(b, type)))
                assert setp(decode(f"setp.{name}.{type}"))(a, b) == (holds, 1 - holds)
                assert function(f"set.{name}.u32.{type}")(a, b) == (0xFFFFFFFF if holds else 0)
                for boolean, operation in combine.items():
                    for c in (0, 1):
                        expected = (operation(holds, c), operation(1 - holds, c))
                        assert setp(decode(f"setp.{name}.{boolean}.{type}"))(a, b, c) == expected
    assert setp(decode("setp.lo.u32"))(1, 0xFFFFFFFF) == (1, 0)
    assert setp(decode("setp.hs.u64"))(5, 5) == (1, 0)


def test_float_comparisons() -> None:
    one, nan, zero, minus_zero, tiny = 0x3F800000, 0x7FC00000, 0, 0x80000000, 1
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        assert setp(decode(f"setp.{name}.f32"))(nan, one) == (0, 1)
        assert setp(decode(f"setp.{name}u.f32"))(nan, one) == (1, 0)
    assert setp(decode("setp.eq.f32"))(zero, minus_zero) == (1, 0)
    assert setp(decode("setp.gt.f32"))(tiny, zero) == (1, 0)
    assert setp(decode("setp.gt.ftz.f32"))(tiny, zero) == (0, 1)
    assert setp(decode("setp.num.f32"))(one, one) == (1, 0)
    assert setp(decode("setp.nan.f64"))(0x7FF0000000000001, 0) == (1, 0)
    assert setp(decode("setp.lt.f16x2"))(0x3C00_0000, 0x0000_3C00) == (1, 0)
    assert setp(decode("setp.eq.and.bf16x2"))(0x3F80_0000, 0x3F80_3F80, 1) == (0, 1)
    assert function("set.lt.f32.f32")(zero, one) == one
    assert function("set.gt.f16x2.f16x2")(0x3C00_0000, 0x0000_3C00) == 0x3C00_0000
    assert function("set.le.u32.f16x2")(0x3C00_0000, 0x0000_3C00) == 0x0000_FFFF
    assert function("set.eq.u16.f16")(0x3C00, 0x3C00) == 0xFFFF


def test_selection() -> None:
    assert function("selp.b32")(1, 2, 1) == 1 and function("selp.b32")(1, 2, 0) == 2
    assert function("slct.u32.s32")(1, 2, 0) == 1 and function("slct.u32.s32")(1, 2, 0x80000000) == 2
    assert function("slct.u64.f32")(1, 2, 0x80000000) == 1, "-0.0 is not below zero"
    assert function("slct.u64.f32")(1, 2, 0x7FC00000) == 2, "a NaN is not at least zero"
    assert function("slct.u64.f32")(1, 2, 0x80000001) == 2
    assert function("slct.ftz.u64.f32")(1, 2, 0x80000001) == 1


# LLVM, executed: an implementation that shares nothing with ours.

LLVM_FUNCTIONS: dict[str, tuple[str, int]] = {
    "shf.l.wrap.b32": ("%r = call i32 @llvm.fshl.i32(i32 %b, i32 %a, i32 %c)", 3),
    "shf.r.wrap.b32": ("%r = call i32 @llvm.fshr.i32(i32 %b, i32 %a, i32 %c)", 3),
    "brev.b32": ("%r = call i32 @llvm.bitreverse.i32(i32 %a)", 1),
    "clz.b32": ("%r = call i32 @llvm.ctlz.i32(i32 %a, i1 false)", 1),
    "popc.b32": ("%r = call i32 @llvm.ctpop.i32(i32 %a)", 1),
    "add.sat.s32": ("%r = call i32 @llvm.sadd.sat.i32(i32 %a, i32 %b)", 2),
    "sub.sat.s32": ("%r = call i32 @llvm.ssub.sat.i32(i32 %a, i32 %b)", 2),
    "min.s32": ("%r = call i32 @llvm.smin.i32(i32 %a, i32 %b)", 2),
    "max.u32": ("%r = call i32 @llvm.umax.i32(i32 %a, i32 %b)", 2),
}
_DECLARATIONS = """
declare i32 @llvm.fshl.i32(i32, i32, i32)
declare i32 @llvm.fshr.i32(i32, i32, i32)
declare i32 @llvm.bitreverse.i32(i32)
declare i32 @llvm.ctlz.i32(i32, i1)
declare i32 @llvm.ctpop.i32(i32)
declare i32 @llvm.sadd.sat.i32(i32, i32)
declare i32 @llvm.ssub.sat.i32(i32, i32)
declare i32 @llvm.smin.i32(i32, i32)
declare i32 @llvm.umax.i32(i32, i32)
"""


@pytest.fixture(scope="module")
def llvm_engine() -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    text = _DECLARATIONS
    for index, (line, _) in enumerate(LLVM_FUNCTIONS.values()):
        text += f"define i32 @f{index}(i32 %a, i32 %b, i32 %c) {{\n{line}\nret i32 %r\n}}\n"
    machine = llvm.Target.from_default_triple().create_target_machine()
    return llvm.create_mcjit_compiler(llvm.parse_assembly(text), machine, use_lmm=True)


@pytest.mark.parametrize("name", sorted(LLVM_FUNCTIONS))
def test_llvm_agrees(name: str, llvm_engine: Any) -> None:
    index = list(LLVM_FUNCTIONS).index(name)
    arity = LLVM_FUNCTIONS[name][1]
    address = llvm_engine.get_function_address(f"f{index}")
    theirs = ctypes.CFUNCTYPE(ctypes.c_uint32, *[ctypes.c_uint32] * 3)(address)
    ours = function(name)
    for values in samples(U32, 32, 3, 500):
        assert ours(*values[:arity]) == theirs(*values), [hex(v) for v in values]


def test_clamped_funnel_shifts() -> None:
    for a, b, c in samples(U32, 32, 3, 500):
        both, n = b << 32 | a, min(c, 32)
        assert function("shf.l.clamp.b32")(a, b, c) == (both << n) >> 32 & 0xFFFFFFFF
        assert function("shf.r.clamp.b32")(a, b, c) == both >> n & 0xFFFFFFFF
