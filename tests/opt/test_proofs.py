"""Integer rewrites, proved by a solver for all operands at their widths; and those that would be wrong, with numbers
for which they are. Skipped where bitwuzla is not installed."""

from __future__ import annotations

import pytest

pytest.importorskip("bitwuzla", reason="the solver bitwuzla is not installed")

from bitwuzla import Kind

from drawloom.opt import Report, optimize
from tests.opt.symbolic import Solver

HEAD = """.version 8.6
.target sm_80
.address_size 64
.entry k(.param .u64 out, .param .u16 h, .param .u16 i, .param .u32 a, .param .u32 b, .param .u32 c, .param .u32 d,
         .param .u64 x, .param .u64 y, .param .u64 z)
{
.reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<29>; .reg .b64 %d<29>;
ld.param.u64 %d1, [out]; ld.param.u64 %d2, [x]; ld.param.u64 %d3, [y]; ld.param.u64 %d4, [z];
ld.param.u32 %r1, [a]; ld.param.u32 %r2, [b]; ld.param.u32 %r3, [c]; ld.param.u32 %r4, [d];
ld.param.u16 %h1, [h]; ld.param.u16 %h2, [i];
"""
REGISTERS = {16: "%h", 32: "%r", 64: "%d"}


def proved(body: str, passes: str, open_divisions: bool = False) -> bool:
    """Whether passes change a program; asserts that it stores the same for all parameters."""
    text = HEAD + body + " ret; }"
    after = str(optimize(text, passes=passes.split(), check=True))
    assert Solver().differs(text, after, open_divisions) is None, after
    return after != str(optimize(text, passes=[]))


def constants(bits: int) -> list[int]:
    top = 1 << (bits - 1)
    return [0, 1, 2, 3, 8, 255, top, top - 1, -1, -2, -8]


def algebra(bits: int) -> list[str]:
    """One instruction with a constant, either way round, and two that follow each other."""
    x, y, t = (f"{REGISTERS[bits]}{n}" for n in (2, 3, 8))
    if bits == 16:
        x, y = "%h1", "%h2"
    out: list[str] = []
    for value in constants(bits):
        pattern = value & (1 << bits) - 1
        for name in ("add.u", "sub.s", "mul.lo.s", "mul.lo.u", "and.b", "or.b", "xor.b", "min.s", "max.u"):
            out.append(f"{name}{bits} {t}, {x}, {value};")
            out.append(f"{name}{bits} {t}, {value}, {x};")
        out += [f"mad.lo.s{bits} {t}, {x}, {value}, {y};", f"mad.lo.u{bits} {t}, {value}, {x}, 5;"]
        out += [f"mad.lo.s{bits} {t}, {x}, {y}, {value};", f"mad.lo.u{bits} {t}, 3, {value}, {y};"]
        if pattern:
            out += [f"{name}.u{bits} {t}, {x}, {pattern};" for name in ("div", "rem")]
        for first, second in (("add.u", "add.s"), ("add.u", "sub.s"), ("mul.lo.u", "mul.lo.s"), ("and.b", "and.b"),
                              ("or.b", "or.b"), ("xor.b", "xor.b")):  # fmt: skip
            out.append(f"{first}{bits} {t}, {x}, {value}; {second}{bits} {t}, {t}, 7;")
        for compare in ("eq", "ne", "lt", "ge"):
            out.append(f"setp.{compare}.s{bits} %p1, {value}, {x}; selp.b{bits} {t}, {x}, {y}, %p1;")
            out.append(f"setp.{compare}.u{bits} %p1, {x}, {value}; not.pred %p1, %p1; selp.b{bits} {t}, {x}, {y}, %p1;")
    for amount in (0, 1, 5, bits - 1, bits, 40, 70):
        out += [f"{name}{bits} {t}, {x}, {amount};" for name in ("shl.b", "shr.u", "shr.s")]
        out.append(f"shl.b{bits} {t}, {x}, {amount}; shl.b{bits} {t}, {t}, 3;")
    out += [f"{name}{bits} {t}, {x}, {x};" for name in ("sub.s", "and.b", "or.b", "xor.b", "min.u", "max.s")]
    out += [f"not.b{bits} {t}, {x}; not.b{bits} {t}, {t};", f"selp.b{bits} {t}, {x}, {x}, %p0;"]
    out += [
        f"setp.lt.u32 %p1, %r2, %r3; setp.gt.s32 %p2, %r3, %r4; and.pred %p3, %p1, %p2; not.pred %p4, %p3;"
        f"selp.b{bits} {t}, {x}, {y}, %p4;"
    ]
    if bits == 32:
        out += [
            "setp.lt.u32 %p1, %r2, %r3; selp.b32 %r8, 1, 0, %p1; setp.ne.s32 %p2, %r8, 0; selp.b32 %r8, %r2, 9, %p2;"
        ]
        out += [
            "setp.lt.u32 %p1, %r2, %r3; selp.b32 %r8, 5, 6, %p1; setp.eq.s32 %p2, %r8, 6; selp.b32 %r8, %r2, 9, %p2;"
        ]
        out += ["cvt.u64.u32 %d8, %r2; cvt.u32.u64 %r8, %d8;", "cvt.s64.s32 %d8, %r2; cvt.u32.u64 %r8, %d8;"]
        out += ["cvt.u16.u32 %h8, %r2; cvt.u32.u16 %r8, %h8;", "cvt.s16.s32 %h8, %r2; cvt.s32.s16 %r8, %h8;"]
    if bits == 64:
        for sign in "us":
            for value in (0, 1, 6, -1):
                out += [f"mad.wide.{sign}32 %d8, {value}, 3, %d2;", f"mad.wide.{sign}32 %d8, %r1, {value}, %d2;"]
                out += [f"mad.wide.{sign}32 %d8, %r1, %r2, {value};", f"mul.wide.{sign}32 %d8, {value}, %r1;"]
            for other in "us":
                out += [f"cvt.{sign}64.{sign}32 %d6, %r1; cvt.{other}64.{other}32 %d7, %r2; mul.lo.s64 %d8, %d6, %d7;"]
            for factor in (12, 4294967295, -3, 2147483648):
                out += [f"cvt.{sign}64.{sign}32 %d6, %r1; mul.lo.u64 %d8, %d6, {factor};"]
    return [f"{body} st.global.b{bits} [%d1+{8 * k}], {t};" for k, body in enumerate(out)]


@pytest.mark.parametrize("bits", [16, 32, 64])
def test_algebra(bits: int) -> None:
    """All rules of ``fold``, and no instruction between that it gets wrong."""
    programs = algebra(bits)
    report = Report()
    text = HEAD + "setp.eq.u32 %p0, %r1, 0;" + " ".join(programs) + " ret; }"
    after = optimize(text, passes=["copies", "fold", "dead"], report=report, remarks=True, check=True)
    assert Solver(60).differs(text, str(after)) is None
    rewritten = [remark for remark in report.remarks if remark.pass_name == "fold"]
    assert len(rewritten) > len(programs) // 2


STRENGTH = [
    "mul.lo.s32 %r5, %r1, %r2; add.s32 %r6, %r1, 1; mul.lo.s32 %r7, %r6, %r2; add.s32 %r8, %r3, %r5;"
    "add.s32 %r9, %r3, %r7;",
    "mad.lo.s32 %r5, %r1, 12, %r2; add.s32 %r6, %r1, 2; mad.lo.s32 %r7, %r6, 12, %r2; sub.s32 %r8, %r7, %r3;"
    "shl.b32 %r9, %r8, 2;",
    "add.s32 %r5, %r1, %r2; add.s32 %r6, %r5, %r3; add.s32 %r7, %r1, %r3; sub.s32 %r8, %r6, %r7; neg.s32 %r9, %r8;",
]
STRENGTH64 = [
    "mad.lo.s64 %d5, %d2, 12, %d3; mad.lo.s64 %d6, %d2, 44, %d3; mad.lo.s64 %d7, %d2, 28, %d3; mov.b64 %d8, %d4;",
    "add.s64 %d5, %d3, %d4; mul.lo.s64 %d6, %d2, 3; add.s64 %d7, %d6, %d3; mul.lo.s64 %d6, %d2, 4;"
    "add.s64 %d7, %d7, %d6; add.s64 %d8, %d7, %d4; mov.b64 %d6, %d8; mov.b64 %d7, %d8;",
    "mul.lo.s64 %d5, %d2, %d3; sub.s64 %d6, %d2, 5; mad.lo.s64 %d7, %d6, %d3, %d4; sub.s64 %d8, %d5, %d7;",
]
WIDENING = [
    "and.b32 %r5, %r1, 1023; add.s32 %r6, %r5, 3; mul.wide.s32 %d5, %r5, 4; mul.wide.s32 %d6, %r6, 4;"
    "add.s64 %d7, %d2, %d5; add.s64 %d8, %d2, %d6;",
    "shr.u32 %r5, %r1, 8; shr.u32 %r6, %r2, 9; add.u32 %r7, %r5, %r6; cvt.u64.u32 %d5, %r5; cvt.s64.s32 %d6, %r6;"
    "cvt.u64.u32 %d7, %r7; add.u64 %d8, %d5, %d6;",
    "shr.s32 %r5, %r1, 8; sub.s32 %r6, %r5, 9; cvt.s64.s32 %d5, %r5; cvt.s64.s32 %d6, %r6; shl.b64 %d7, %d6, 3;"
    "shl.b64 %d8, %d5, 3;",
    "and.b32 %r5, %r1, 4095; shl.b32 %r6, %r5, 4; mul.lo.s32 %r7, %r5, 20; mul.wide.u32 %d5, %r6, 2;"
    "mul.wide.s32 %d6, %r7, 2; mul.wide.s32 %d7, %r5, 32; cvt.u64.u32 %d8, %r7;",
]


@pytest.mark.parametrize("body", STRENGTH)
def test_strength_reduction(body: str) -> None:
    stores = "".join([f"st.global.u32 [%d1+{4 * k}], %r{k};" for k in range(5, 10)])
    assert proved(body + stores, "copies strength fold dead")


@pytest.mark.parametrize("body", STRENGTH64)
def test_strength_reduction_of_64_bits(body: str) -> None:
    stores = "".join([f"st.global.u64 [%d1+{8 * k}], %d{k};" for k in range(5, 9)])
    assert proved(body + stores, "copies strength fold dead")


ADDRESSES = [
    "add.s64 %d5, %d2, 24; shl.b64 %d6, %d3, 3; add.s64 %d7, %d5, %d6; st.global.u64 [%d7+8], %d4;",
    "sub.s64 %d5, %d2, 16; sub.s64 %d6, %d3, %d5; st.global.u64 [%d6], %d4; st.global.u64 [%d5+12], %d4;",
    "add.s64 %d5, %d2, 3; shl.b64 %d6, %d5, 4; add.s64 %d7, %d6, %d3; st.global.u64 [%d7+4], %d4;",
    "and.b32 %r5, %r1, 1023; add.s32 %r6, %r5, -3; mul.wide.s32 %d5, %r6, 12; add.s64 %d6, %d2, %d5;"
    "st.global.u64 [%d6], %d4;",
    "shr.u32 %r5, %r1, 8; add.u32 %r6, %r5, 9; mul.wide.u32 %d5, %r6, 8; add.s64 %d6, %d2, %d5;"
    "cvt.u64.u32 %d7, %r6; add.s64 %d8, %d7, %d3; st.global.u64 [%d6], %d4; st.global.u64 [%d8], %d4;",
    "add.s64 %d5, %d2, 2147483640; add.s64 %d6, %d5, -8; st.global.u64 [%d5+16], %d4; st.global.u64 [%d6], %d4;",
]


@pytest.mark.parametrize("body", ADDRESSES)
def test_constants_of_addresses(body: str) -> None:
    """Each store goes to the address that it went to."""
    assert proved(body, "copies fold narrow addresses dead")


@pytest.mark.parametrize("body", WIDENING)
def test_sums_behind_extensions(body: str) -> None:
    stores = "".join([f"st.global.u64 [%d1+{8 * k}], %d{k};" for k in range(5, 9)])
    assert proved(body + stores, "copies fold narrow number strength fold dead")


NARROWING = [
    "and.b32 %r5, %r1, 255; and.b32 %r6, %r5, 1023; setp.lt.u32 %p1, %r6, 256; selp.b32 %r7, %r5, 7, %p1;",
    "shr.u32 %r5, %r1, 1; div.s32 %r6, %r5, 8; rem.s32 %r7, %r5, 16;",
    "and.b32 %r5, %r1, 15; add.s32 %r6, %r5, 16; div.u32 %r7, %r5, %r6;",
    "and.b32 %r5, %r1, 15; add.s32 %r6, %r5, 16; min.s32 %r7, %r5, %r6; max.u32 %r6, %r5, 15;",
    "setp.gt.u32 %p1, %r1, 9; mov.u32 %r6, 1; mov.u32 %r7, 2; @%p1 bra past; setp.gt.s32 %p2, %r1, -1;"
    "selp.b32 %r6, 3, 4, %p2; shr.s32 %r7, %r1, 1; past:",
    "setp.lt.s32 %p1, %r1, 0; mov.u32 %r6, 1; mov.u32 %r7, 2; @%p1 bra past; cvt.s64.s32 %d5, %r1;"
    "shr.u64 %d6, %d5, 31; cvt.u32.u64 %r7, %d6; past: mov.u32 %r5, %r7;",
    "and.b32 %r5, %r1, 15; add.s32 %r6, %r5, 16; rem.u32 %r7, %r5, %r6;",
    "and.b32 %r5, %r1, 15; add.s32 %r6, %r5, 16; min.s32 %r7, %r6, %r5; max.u32 %r6, %r6, 15;",
    "and.b32 %r5, %r1, 7; setp.le.u32 %p1, %r5, 7; selp.b32 %r6, 1, 2, %p1; setp.ne.u32 %p2, %r5, 8;"
    "selp.b32 %r7, 3, 4, %p2;",
    "setp.ne.u32 %p1, %r1, 7; mov.u32 %r6, 1; mov.u32 %r7, 2; @%p1 bra past; setp.lt.u32 %p2, %r1, 8;"
    "selp.b32 %r6, 3, 4, %p2; past:",
    "setp.gt.u32 %p1, %r1, 9; setp.gt.s32 %p2, %r2, 99; or.pred %p3, %p1, %p2; mov.u32 %r6, 1; mov.u32 %r7, 2;"
    "@%p3 bra past; setp.gt.u32 %p4, %r1, 20; selp.b32 %r6, 3, 4, %p4; setp.le.s32 %p5, %r2, 99;"
    "selp.b32 %r7, 5, 6, %p5; past:",
]


@pytest.mark.parametrize("body", NARROWING)
def test_narrowing(body: str) -> None:
    if "%r5," not in body:
        body += "mov.u32 %r5, 0;"
    if "%r6," not in body:
        body += "mov.u32 %r6, 0;"
    stores = "".join([f"st.global.u32 [%d1+{4 * k}], %r{k};" for k in (5, 6, 7)])
    assert proved(body + stores, "copies fold narrow fold flow dead")


@pytest.mark.parametrize("bits", [8, 16, 32])
def test_a_division_of_values_that_fit_half_the_width(bits: int) -> None:
    """``bypass`` and ``narrow``. No solver divides 64 bits: quotient and remainder are those that the definition of the
    division in half the width allows, and then they are those of the whole width, as these are unique."""
    solver = Solver()
    make = solver.make
    a, b, q, r = (solver.parameter(name, bits) for name in "abqr")
    product = make(Kind.BV_MUL, [q, b])
    half = [
        make(Kind.NOT, [make(Kind.BV_UMUL_OVERFLOW, [q, b])]),
        make(Kind.NOT, [make(Kind.BV_UADD_OVERFLOW, [product, r])]),
        make(Kind.EQUAL, [make(Kind.BV_ADD, [product, r]), a]),
        make(Kind.BV_ULT, [r, b]),
    ]
    wide = [make(Kind.BV_ZERO_EXTEND, [term], [bits]) for term in (a, b, q, r)]
    whole = make(Kind.BV_ADD, [make(Kind.BV_MUL, [wide[2], wide[1]]), wide[3]])
    claims = [make(Kind.EQUAL, [whole, wide[0]]), make(Kind.BV_ULT, [wide[3], wide[1]])]
    assert solver.counterexample(claims, half) is None
    if bits == 8:  # and here the solver divides itself, with and without signs
        narrow = make(Kind.BV_ZERO_EXTEND, [make(Kind.BV_UDIV, [a, b])], [bits])
        positive = make(Kind.BV_UGT, [b, solver.number(0, bits)])
        quotients = [make(kind, wide[:2]) for kind in (Kind.BV_UDIV, Kind.BV_SDIV)]
        assert solver.counterexample([make(Kind.EQUAL, [q, narrow]) for q in quotients], [positive]) is None


@pytest.mark.parametrize("sign", "us")
@pytest.mark.parametrize("kinds", ["div", "rem", "div rem"])
def test_the_way_around_a_division(sign: str, kinds: str) -> None:
    """The whole of ``bypass``, with what the test before says of divisions in half the width."""
    divided = "".join([f"{k}.{sign}64 %d{n}, %d2, %d3; st.global.u64 [%d1+{8 * n}], %d{n};"
                       for n, k in enumerate(kinds.split(), 5)])  # fmt: skip
    assert proved(divided, "copies bypass", True)
    assert proved(divided, "copies bypass fold narrow flow dead", True)
    assert proved("cvt.u64.u32 %d2, %r1; cvt.u64.u32 %d3, %r2;" + divided, "copies bypass", True)
    assert proved("shr.u64 %d2, %d2, 40; shr.u64 %d3, %d3, 32;" + divided, "copies fold narrow fold dead", True)
    by_constant = divided.replace("%d3", "10")
    assert proved("shr.u64 %d2, %d2, 40;" + by_constant, "copies narrow dead", True)
    if sign == "s":  # too long for 32 bits, but without a sign
        assert proved("shr.u64 %d2, %d2, 1; shr.u64 %d3, %d3, 9;" + divided, "copies fold narrow fold dead", True)


@pytest.mark.parametrize("sign", "us")
def test_a_way_around_without_a_test_is_wrong(sign: str) -> None:
    store = "st.global.u64 [%d1], %d5; ret; }"
    halves = "cvt.u32.u64 %r5, %d2; cvt.u32.u64 %r6, %d3; div.u32 %r7, %r5, %r6; cvt.u64.u32 %d5, %r7;"
    assert Solver().differs(f"{HEAD} div.{sign}64 %d5, %d2, %d3; {store}", HEAD + halves + store, True) is not None


#: Rewrites that would be wrong: the program, what one might make of it, and the passes that must not.
WRONG = [
    ("add.s32 %r5, %r1, 1; mul.wide.s32 %d5, %r5, 4;", "mul.wide.s32 %d5, %r1, 4; add.s64 %d5, %d5, 4;"),
    ("add.u32 %r5, %r1, 1; cvt.u64.u32 %d5, %r5;", "cvt.u64.u32 %d5, %r1; add.u64 %d5, %d5, 1;"),
    ("shl.b32 %r5, %r1, 2; cvt.u64.u32 %d5, %r5;", "cvt.u64.u32 %d5, %r1; shl.b64 %d5, %d5, 2;"),
    ("sub.u32 %r5, %r1, %r2; cvt.u64.u32 %d5, %r5;",
     "cvt.u64.u32 %d5, %r1; cvt.u64.u32 %d6, %r2; sub.u64 %d5, %d5, %d6;"),
    ("cvt.s64.s32 %d5, %r1; shr.s64 %d5, %d5, 2;", "cvt.u64.u32 %d5, %r1; shr.u64 %d5, %d5, 2;"),
    ("cvt.s64.s32 %d5, %r1; cvt.u64.u32 %d6, %r2; mul.lo.s64 %d5, %d5, %d6;", "mul.wide.s32 %d5, %r1, %r2;"),
    ("div.s64 %d5, %d2, 8;", "shr.s64 %d5, %d2, 3;"),
    ("cvt.u32.u64 %r5, %d2; cvt.u64.u32 %d5, %r5;", "mov.b64 %d5, %d2;"),
    ("setp.lt.s32 %p1, %r1, %r2; selp.b64 %d5, 1, 0, %p1;", "sub.s32 %r5, %r1, %r2; setp.lt.s32 %p1, %r5, 0;"
     "selp.b64 %d5, 1, 0, %p1;"),
    ("shl.b32 %r5, %r1, 3; shr.u32 %r5, %r5, 3; cvt.u64.u32 %d5, %r5;", "cvt.u64.u32 %d5, %r1;"),
]  # fmt: skip


@pytest.mark.parametrize(("right", "wrong"), WRONG)
def test_what_would_be_wrong_is_not_done(right: str, wrong: str) -> None:
    store = " st.global.u64 [%d1], %d5; ret; }"
    assert Solver().differs(HEAD + right + store, HEAD + wrong + store) is not None
    for passes in ("copies fold narrow number strength addresses number fold flow dead", "fold", "narrow", "strength"):
        proved(right + "st.global.u64 [%d1], %d5;", passes)
