"""What is known about numbers, and what only seems to be."""

from __future__ import annotations

import itertools
import random

import pytest

from drawloom.opt import optimize
from drawloom.opt.evaluate import evaluate
from drawloom.opt.intervals import ARITHMETIC, RULES, Range, anything, exact, intersection, ranged, union, wrapped
from drawloom.ptx.isa import decode

HEAD = """.version 8.6
.target sm_80
.address_size 64
.entry k(.param .u64 out, .param .u32 n, .param .u64 m) .reqntid 64, 2, 1 {
.reg .b32 %r<19>; .reg .b64 %d<19>; .reg .pred %c<9>;
ld.param.u64 %d1, [out]; ld.param.u32 %r1, [n]; ld.param.u64 %d2, [m];
"""


def narrowed(body: str, passes: str = "copies narrow fold flow dead") -> str:
    return str(optimize(HEAD + body + " ret; }", passes=passes.split(), check=True))


@pytest.mark.parametrize(
    ("body", "holds"),
    [
        ("mov.u32 %r2, %tid.x; setp.lt.u32 %c1, %r2, 64;", True),
        ("mov.u32 %r2, %tid.x; setp.lt.u32 %c1, %r2, 63;", False),
        ("mov.u32 %r2, %tid.x; sub.u32 %r2, %r2, 1; setp.lt.u32 %c1, %r2, 64;", False),
        ("mov.u32 %r2, %tid.x; sub.u32 %r2, %r2, 1; setp.lt.s32 %c1, %r2, 64;", True),
        ("mov.u32 %r2, %ntid.y; setp.eq.u32 %c1, %r2, 2;", True),
        ("and.b32 %r2, %r1, -8; setp.ge.u32 %c1, %r2, 8;", False),
        ("shr.s32 %r2, %r1, 31; setp.lt.s32 %c1, %r2, 1;", True),
        ("shr.u32 %r2, %r1, 24; shl.b32 %r3, %r2, 24; setp.lt.u32 %c1, %r3, 4278190081;", True),
        ("shr.u32 %r2, %r1, 24; shl.b32 %r3, %r2, 25; setp.lt.u32 %c1, %r3, 4278190081;", False),
        ("rem.s32 %r2, %r1, 10; setp.gt.s32 %c1, %r2, -10;", True),
        ("rem.u32 %r2, %r1, %r1; setp.lt.u32 %c1, %r2, 4294967295;", False),
        ("ld.global.s8 %r2, [%d1]; setp.lt.s32 %c1, %r2, 128;", True),
        ("ld.global.s8 %r2, [%d1]; setp.lt.u32 %c1, %r2, 128;", False),
        ("cvt.s64.s32 %d3, %r1; setp.ge.s64 %c1, %d3, -2147483648;", True),
        ("popc.b64 %r2, %d2; setp.le.u32 %c1, %r2, 64;", True),
        ("and.b32 %r2, %r1, 255; mul.lo.u32 %r3, %r2, 16843009; setp.le.u32 %c1, %r3, 4294967295;", True),
    ],
)  # fmt: skip
def test_comparisons_that_always_hold(body: str, holds: bool) -> None:
    text = narrowed(body + "@!%c1 bra skip; st.global.u32 [%d1], 1; skip:")
    assert ("bra" not in text and "st.global" in text) == holds


@pytest.mark.parametrize(
    ("edge", "narrow"),
    [
        ("setp.gt.u64 %c1, %d2, 4294967295; @%c1 bra past;", True),
        ("setp.gt.u64 %c1, %d2, 4294967296; @%c1 bra past;", False),
        ("setp.gt.s64 %c1, %d2, 4294967295; @%c1 bra past;", False),
        ("setp.gt.s64 %c1, %d2, 9; setp.lt.s64 %c2, %d2, 0; or.pred %c3, %c1, %c2; @%c3 bra past;", True),
        ("setp.gt.s64 %c1, %d2, 9; setp.lt.s64 %c2, %d2, 0; and.pred %c3, %c1, %c2; @%c3 bra past;", False),
        ("setp.le.u64 %c1, %d2, 9; @!%c1 bra past;", True),
        ("setp.le.u64 %c1, %d2, 9; @%c1 bra past;", False),
        ("setp.le.u64 %c1, %d2, 9; @!%c1 bra join; add.u64 %d4, %d4, 1; join:", False),
    ],
)
def test_divisions_behind_comparisons(edge: str, narrow: bool) -> None:
    body = "mov.u64 %d4, 0;" + edge + "div.u64 %d3, %d2, 7; add.u64 %d3, %d3, %d4; st.global.u64 [%d1], %d3; past:"
    assert ("div.u32" in narrowed(body)) == narrow


def loop(start: str, step: str, test: str) -> str:
    return (
        f"mov.u32 %r2, {start}; again: add.s32 %r3, %r2, 3; mul.wide.s32 %d3, %r3, 4; add.s64 %d4, %d1, %d3;"
        f"st.global.u32 [%d4], %r1; {step}; {test}; @%c1 bra again;"
    )


@pytest.mark.parametrize(
    ("start", "step", "test", "found"),
    [
        ("0", "add.s32 %r2, %r2, 1", "setp.lt.s32 %c1, %r2, 100", True),
        ("0", "add.s32 %r2, %r2, 1", "setp.lt.s32 %c1, %r2, 2147483645", True),
        ("0", "add.s32 %r2, %r2, 1", "setp.lt.s32 %c1, %r2, 2147483646", False),
        ("0", "add.s32 %r2, %r2, 1", "setp.lt.s32 %c1, %r2, %r1", False),
        ("0", "add.s32 %r2, %r2, 5", "setp.lt.s32 %c1, %r2, 2147483646", False),
        ("0", "add.s32 %r2, %r2, 1", "setp.ne.s32 %c1, %r2, 100", False),
        ("0", "add.s32 %r2, %r2, 1", "setp.lt.u32 %c1, %r2, 100", True),
        ("2147483647", "add.s32 %r2, %r2, 1", "setp.lt.s32 %c1, %r2, 100", False),
        ("%r1", "add.s32 %r2, %r2, 1", "setp.lt.s32 %c1, %r2, 100", False),
        ("100", "sub.s32 %r2, %r2, 1", "setp.gt.s32 %c1, %r2, 0", True),
    ],
)
def test_counters_that_cannot_wrap(start: str, step: str, test: str, found: bool) -> None:
    """Then the constant comes out of what is widened. With a bound that nobody knows, i + 3 may wrap."""
    text = narrowed(loop(start, step, test), "copies narrow addresses number dead")
    assert ("+12]" in text) == found


def numbers(range: Range) -> set[int]:
    return {n & (1 << range.bits) - 1 for n in range_of(range)}


def range_of(interval: Range) -> range:
    return range(interval.low, interval.high + 1)


@pytest.mark.parametrize("seed", range(40))
def test_intervals_hold_what_instructions_compute(seed: int) -> None:
    """All pairs of small intervals of 16 bits, against the constant folder."""
    chance = random.Random(seed)
    names = "add.u16 sub.s16 mul.lo.u16 min.s16 max.u16 and.b16 or.b16 xor.b16 div.u16 div.s16 rem.s16 rem.u16 shl.b16"
    names += " shr.u16 shr.s16 neg.s16 abs.s16 popc.b32 clz.b32 cvt.s16.s8 cvt.u16.u8 cvt.s16.u8"
    for name in names.split():
        opcode = decode(name)
        bits = opcode.types[-1].bits if opcode.name != "cvt" else 16
        unary = opcode.name in ("neg", "abs", "popc", "clz", "cvt")
        first, second = (small(chance, bits) for _ in range(2))
        if opcode.name in ("shl", "shr"):
            low = chance.randrange(20)
            second = Range(low, low + chance.choice([0, 3]), 32)
        operands = [first] if unary else [first, second]
        if opcode.name in ARITHMETIC:
            pair = [[r.signed() for r in operands], [r.unsigned() for r in operands]]
            found: Range | None = wrapped(exact(opcode.name, pair[0]), exact(opcode.name, pair[1]), bits)
        else:
            found = RULES[opcode.name](opcode, operands, 32 if opcode.name in ("popc", "clz") else bits)
        if found is None or found.full:
            continue
        allowed = numbers(found)
        for values in itertools.product(*[range_of(r) for r in operands]):
            patterns = [value & (1 << r.bits) - 1 for value, r in zip(values, operands, strict=True)]
            got = evaluate(opcode, patterns, found.bits)
            assert got is None or got in allowed, (name, operands, values, found)


def small(chance: random.Random, bits: int) -> Range:
    low = chance.choice(
        [0, 1, -1, -5, 200, (1 << bits - 1) - 4, (1 << bits) - 9, -(1 << bits - 1), chance.randrange(999)]
    )
    return ranged(low, low + chance.randrange(8), bits)


@pytest.mark.parametrize("seed", range(20))
def test_unions_and_intersections(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(50):
        a, b = small(chance, 16), small(chance, 16)
        assert numbers(a) | numbers(b) <= numbers(union(a, b))
        for is_signed in (False, True):
            low, high = b.read(is_signed)
            kept = {n & 0xFFFF for n in range(low, high + 1)}
            assert numbers(a) & kept <= numbers(intersection(a, low, high, is_signed))
    assert anything(16).full and union(anything(16), anything(16)).full


@pytest.mark.parametrize("type", ["u64", "s64", "u32", "s32"])
@pytest.mark.parametrize("name", ["div", "rem"])
def test_a_division_by_a_known_zero_stays_as_it_is(name: str, type: str) -> None:
    """Its ones are those of its own width: what is divided in 32 bits has fewer of them."""
    register = "%d" if type.endswith("64") else "%r"
    body = f"and.b32 %r2, %r1, 255; cvt.u64.u32 %d2, %r2; {name}.{type} {register}3, {register}2, 0;"
    assert f"{name}.{type} " in narrowed(f"{body} st.global.{type} [%d1], {register}3;")
