"""Float arithmetic and comparison against exact rational arithmetic, rounded once in the instruction's direction."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest

from drawloom.ptx.isa import Opcode, decode
from drawloom.reference.instructions import semantics
from tests.cpu import exact
from tests.cpu.exact import BF16, F16, F32, F64, FORMATS, Format, patterns
from tests.cpu.jit import CASES, compiled, supported

MODES = ("rn", "rz", "rm", "rp")
COUNT = 160


def run(text: str, target: str, lanes: int, inputs: list[np.ndarray]) -> list[np.ndarray]:
    if not supported(target):
        pytest.skip(f"this machine does not have every feature of {target}")
    return compiled(text, lanes, target)(*inputs)


def agree(f: Format, got: int, want: int | None) -> bool:
    return f.is_nan(got) if want is None else got == want


def saturate(f: Format, value: int | None) -> int:
    if value is None or value & f.sign:
        return 0
    return min(value, f.one)


def relu(f: Format, value: int | None) -> int | None:
    return 0 if value is not None and value & f.sign else value


def check(text: str, target: str, lanes: int, f: Format, oracle: Callable[..., int | None], arity: int) -> None:
    """Compare each result; ``.ftz``, ``.sat``, ``.relu`` are applied around ``oracle``, packed types split."""
    op = decode(text.removesuffix("/3"))
    assert op.type is not None
    packed = op.type.lanes
    parts = [[patterns(f, 100 * i + h + len(text)) for h in range(packed)] for i in range(arity)]
    inputs = [p[0] if packed == 1 else p[0] | p[1] << np.uint64(f.bits) for p in parts]
    (results,) = run(text, target, lanes, inputs)
    if text not in _wanted:
        _wanted[text] = [
            [_expected(op, f, oracle, [int(p[half][row]) for p in parts]) for half in range(packed)]
            for row in range(COUNT)
        ]
    for row, expected in enumerate(_wanted[text]):
        for half, want in enumerate(expected):
            got = int(results[row]) >> f.bits * half & (1 << f.bits) - 1
            args = [hex(int(p[half][row])) for p in parts]
            assert agree(f, got, want), (text, args, hex(got), want if want is None else hex(want))


#: What the oracle said, so that it is asked once for all targets.
_wanted: dict[str, list[list[int | None]]] = {}


def _expected(op: Opcode, f: Format, oracle: Callable[..., int | None], args: list[int]) -> int | None:
    want = oracle(*[f.flush(a) for a in args] if op.ftz else args)
    if op.ftz and want is not None:
        want = f.flush(want)
    if op.sat:
        want = saturate(f, want)
    return relu(f, want) if op.relu else want


@pytest.mark.parametrize(("target", "lanes"), CASES)
@pytest.mark.parametrize("mode", MODES)
def test_single_and_double(mode: str, target: str, lanes: int) -> None:
    for f in (F32, F64):
        one = f.one
        minus = f.sign
        t = f.name
        suffixes = ["", ".ftz", ".sat", ".ftz.sat"] if f is F32 else [""]
        for s in suffixes:
            check(f"add.{mode}{s}.{t}", target, lanes, f, lambda a, b, f=f, one=one: exact.fma(f, a, one, b, mode), 2)
            check(f"sub.{mode}{s}.{t}", target, lanes, f,
                  lambda a, b, f=f, one=one, minus=minus: exact.fma(f, a, one, b ^ minus, mode), 2)  # fmt: skip
            check(f"mul.{mode}{s}.{t}", target, lanes, f, lambda a, b, f=f: exact.mul(f, a, b, mode), 2)
            check(f"fma.{mode}{s}.{t}", target, lanes, f, lambda a, b, c, f=f: exact.fma(f, a, b, c, mode), 3)
        for s in [x for x in suffixes if "sat" not in x]:
            check(f"div.{mode}{s}.{t}", target, lanes, f, lambda a, b, f=f: exact.div(f, a, b, mode), 2)
            check(f"rcp.{mode}{s}.{t}", target, lanes, f, lambda a, f=f, one=one: exact.div(f, one, a, mode), 1)
            check(f"sqrt.{mode}{s}.{t}", target, lanes, f, lambda a, f=f: exact.sqrt(f, a, mode), 1)
    for s in ("", ".ftz"):
        check(f"add.{mode}{s}.f32x2", target, lanes, F32, lambda a, b: exact.fma(F32, a, F32.one, b, mode), 2)
        check(f"mul.{mode}{s}.f32x2", target, lanes, F32, lambda a, b: exact.mul(F32, a, b, mode), 2)
        check(f"fma.{mode}{s}.f32x2", target, lanes, F32, lambda a, b, c: exact.fma(F32, a, b, c, mode), 3)


@pytest.mark.parametrize(("target", "lanes"), CASES)
@pytest.mark.parametrize("mode", MODES)
def test_mixed_precision_rounds_once(mode: str, target: str, lanes: int) -> None:
    """On the reference too: narrow sources are exact in single precision."""
    wide = patterns(F32, 31)
    for f in (F16, BF16):
        narrow = [patterns(f, 32), patterns(f, 33)]
        for name, sat in itertools.product(("add", "sub", "fma"), ("", ".sat")):
            text = f"{name}.{mode}{sat}.f32.{f.name}"
            inputs = [*narrow[: 2 if name == "fma" else 1], wide]
            reference = semantics(decode(text))
            (results,) = run(text, target, lanes, inputs)
            for row in range(COUNT):
                args = [int(a[row]) for a in inputs]
                widened = [F32.encode(f.decode(a)) for a in args[:-1]]
                want = None
                if None not in widened:
                    a, b = widened if name == "fma" else [widened[0], F32.one]
                    want = exact.fma(F32, a, b, args[-1] ^ (F32.sign if name == "sub" else 0), mode)
                want = saturate(F32, want) if sat else want
                assert agree(F32, int(results[row]), want), (text, [hex(a) for a in args], hex(int(results[row])), want)
                assert agree(F32, reference(*args), want), (text, [hex(a) for a in args])


@pytest.mark.parametrize(("target", "lanes"), CASES)
def test_default_rounding_is_to_nearest(target: str, lanes: int) -> None:
    check("add.f32", target, lanes, F32, lambda a, b: exact.fma(F32, a, F32.one, b, "rn"), 2)
    check("sub.ftz.f32", target, lanes, F32, lambda a, b: exact.fma(F32, a, F32.one, b ^ F32.sign, "rn"), 2)
    check("mul.f64", target, lanes, F64, lambda a, b: exact.mul(F64, a, b, "rn"), 2)
    check("mad.rn.f32", target, lanes, F32, lambda a, b, c: exact.fma(F32, a, b, c, "rn"), 3)


@pytest.mark.parametrize(("target", "lanes"), CASES)
def test_halves(target: str, lanes: int) -> None:
    for f in (F16, BF16):
        for packed in ("", "x2"):
            t = f.name + packed
            for s in ["", ".ftz", ".sat", ".ftz.sat"] if f is F16 else [""]:
                check(f"add{s}.{t}", target, lanes, f, lambda a, b, f=f: exact.fma(f, a, f.one, b, "rn"), 2)
                check(f"sub{s}.{t}", target, lanes, f, lambda a, b, f=f: exact.fma(f, a, f.one, b ^ f.sign, "rn"), 2)
                check(f"mul.rn{s}.{t}", target, lanes, f, lambda a, b, f=f: exact.mul(f, a, b, "rn"), 2)
                check(f"fma.rn{s}.{t}", target, lanes, f, lambda a, b, c, f=f: exact.fma(f, a, b, c, "rn"), 3)
            check(f"fma.rn.relu.{t}", target, lanes, f, lambda a, b, c, f=f: exact.fma(f, a, b, c, "rn"), 3)
            for s in ("", ".ftz") if f is F16 else ("",):
                check(f"abs{s}.{t}", target, lanes, f, lambda a, f=f: a & f.sign - 1, 1)
                check(f"neg{s}.{t}", target, lanes, f, lambda a, f=f: a ^ f.sign, 1)


@pytest.mark.parametrize(("target", "lanes"), CASES)
def test_fma_out_of_bounds_marker(target: str, lanes: int) -> None:
    a = np.array([0x7FF7, 0x3C00, 0x3C00, 0x7FF7, 0x7FF6], np.uint64)
    b = np.array([0x3C00, 0x7FF7, 0x3C00, 0x7E00, 0x3C00], np.uint64)
    c = np.array([0x3C00, 0x3C00, 0x7FF7, 0x3C00, 0x3C00], np.uint64)
    (got,) = run("fma.rn.oob.f16", target, lanes, [a, b, c])
    assert [int(g) for g in got] == [0, 0, 0x7FFF, 0, 0x7FFF]


def extremum(f: Format, smaller: bool, nan: bool, magnitude: bool, xorsign: bool, *args: int) -> int | None:
    def order(p: int) -> int:
        m = p & f.sign - 1
        return -1 - m if p & f.sign else m

    terms = [a & f.sign - 1 if magnitude else a for a in args]
    numbers = [t for t in terms if not f.is_nan(t)]
    if not numbers or (nan and len(numbers) < len(terms)):
        return None
    result = (min if smaller else max)(numbers, key=order)
    if xorsign:
        result = result & f.sign - 1 | (args[0] ^ args[1]) & f.sign
    return result


@pytest.mark.parametrize(("target", "lanes"), CASES)
@pytest.mark.parametrize("name", ["min", "max"])
def test_min_max(name: str, target: str, lanes: int) -> None:
    def oracle(f: Format, nan: bool, magnitude: bool, xorsign: bool) -> Callable[..., int | None]:
        return lambda *args: extremum(f, name == "min", nan, magnitude, xorsign, *args)

    for t in ("f32", "f16", "f16x2", "bf16", "bf16x2"):
        f = FORMATS[t.removesuffix("x2")]
        for ftz in ("", ".ftz") if f is not BF16 else ("",):
            for nan in (False, True):
                for sign in ("", ".xorsign.abs"):
                    text = f"{name}{ftz}{'.NaN' if nan else ''}{sign}.{t}"
                    check(text, target, lanes, f, oracle(f, nan, bool(sign), bool(sign)), 2)
    check(f"{name}.f64", target, lanes, F64, oracle(F64, False, False, False), 2)
    for modifiers in ("", ".NaN", ".abs", ".ftz.NaN.abs"):
        text = f"{name}{modifiers}.f32/3"
        check(text, target, lanes, F32, oracle(F32, "NaN" in modifiers, "abs" in modifiers, False), 3)


@pytest.mark.parametrize(("target", "lanes"), CASES)
def test_nan_modifier_gives_the_canonical_nan(target: str, lanes: int) -> None:
    a = np.array([0xFFC00001, 0x3F800000, 0x7F800001], np.uint64)
    b = np.array([0x3F800000, 0x7F800001, 0xFFFFFFFF], np.uint64)
    (got,) = run("min.NaN.f32", target, lanes, [a, b])
    assert [int(g) for g in got] == [0x7FFFFFFF] * 3
    halves = np.array([0xFE01FC01, 0x7C013C00], np.uint64)
    (got,) = run("max.NaN.f16x2", target, lanes, [halves, halves])
    assert [int(g) for g in got] == [0x7FFF7FFF, 0x7FFF3C00]


@pytest.mark.parametrize(("target", "lanes"), CASES)
def test_sign_operations(target: str, lanes: int) -> None:
    for f in (F32, F64):
        for ftz in ("", ".ftz") if f is F32 else ("",):
            check(f"abs{ftz}.{f.name}", target, lanes, f, lambda a, f=f: None if f.is_nan(a) else a & f.sign - 1, 1)
            check(f"neg{ftz}.{f.name}", target, lanes, f, lambda a, f=f: None if f.is_nan(a) else a ^ f.sign, 1)
        a, b = patterns(f, 1), patterns(f, 2)
        (got,) = run(f"copysign.{f.name}", target, lanes, [a, b])
        want = a & np.uint64(f.sign) | b & np.uint64(f.sign - 1)
        assert np.array_equal(got.astype(np.uint64), want)


COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
}  # fmt: skip


def compare(name: str, a: float, b: float) -> bool:
    unordered = math.isnan(a) or math.isnan(b)
    if name in ("num", "nan"):
        return unordered == (name == "nan")
    if name in COMPARISONS:
        return not unordered and COMPARISONS[name](a, b)
    return unordered or COMPARISONS[name[:-1]](a, b)


FLOAT_COMPARES = "eq ne lt le gt ge equ neu ltu leu gtu geu num nan".split()


@pytest.mark.parametrize(("target", "lanes"), CASES)
def test_setp_of_floats(target: str, lanes: int) -> None:
    for t in ("f32", "f64", "f16", "bf16"):
        f = FORMATS[t]
        a, b = patterns(f, 3), patterns(f, 4)
        b[::5] = a[::5]
        for name in FLOAT_COMPARES:
            for ftz in ("", ".ftz") if t in ("f32", "f16") else ("",):
                fix = f.flush if ftz else lambda v: v
                results = run(f"setp.{name}{ftz}.{t}", target, lanes, [a, b])
                assert len(results) == (2 if f.bits > 16 else 1)
                for row, (x, y) in enumerate(zip(a, b, strict=True)):
                    want = compare(name, f.decode(fix(int(x))), f.decode(fix(int(y))))
                    got = [bool(r[row]) for r in results]
                    assert got == [want, not want][: len(got)], (name, t, hex(int(x)), hex(int(y)))


@pytest.mark.parametrize(("target", "lanes"), CASES)
def test_setp_combines_with_a_predicate(target: str, lanes: int) -> None:
    a, b = patterns(F32, 5), patterns(F32, 6)
    third = np.random.default_rng(0).integers(0, 2, COUNT).astype(np.uint64)
    for word, function in (("and", bool.__and__), ("or", bool.__or__), ("xor", bool.__xor__)):
        first, second = run(f"setp.lt.{word}.f32", target, lanes, [a, b, third])
        for x, y, c, p, q in zip(a, b, third, first, second, strict=True):
            want = F32.decode(int(x)) < F32.decode(int(y))
            assert (bool(p), bool(q)) == (function(want, bool(c)), function(not want, bool(c)))


@pytest.mark.parametrize(("target", "lanes"), CASES)
def test_packed_setp_and_set(target: str, lanes: int) -> None:
    for t in ("f16", "bf16"):
        f = FORMATS[t]
        lows = [patterns(f, 7), patterns(f, 8)]
        highs = [patterns(f, 9), patterns(f, 10)]
        inputs = [low | high << np.uint64(16) for low, high in zip(lows, highs, strict=True)]
        first, second = run(f"setp.le.{t}x2", target, lanes, inputs)
        (mask,) = run(f"set.gtu.u32.{t}x2", target, lanes, inputs)
        (ones,) = run(f"set.eq.{t}x2.{t}x2", target, lanes, inputs)
        one = f.one
        for row in range(COUNT):
            values = [(f.decode(int(s[0][row])), f.decode(int(s[1][row]))) for s in (lows, highs)]
            assert bool(first[row]) == compare("le", *values[0])
            assert bool(second[row]) == compare("le", *values[1])
            want = sum(0xFFFF << 16 * i for i in range(2) if compare("gtu", *values[i]))
            assert int(mask[row]) == want
            assert int(ones[row]) == sum(one << 16 * i for i in range(2) if compare("eq", *values[i]))


@pytest.mark.parametrize(("target", "lanes"), CASES)
def test_set_and_integer_compares(target: str, lanes: int) -> None:
    rng = np.random.default_rng(11)
    signed_ops = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
    unsigned_ops = {**signed_ops, "lo": "<", "ls": "<=", "hi": ">", "hs": ">="}
    for bits in (16, 32, 64):
        a = rng.integers(0, 1 << 64, COUNT, dtype=np.uint64) >> np.uint64(64 - bits)
        b = rng.integers(0, 1 << 64, COUNT, dtype=np.uint64) >> np.uint64(64 - bits)
        b[::4] = a[::4]
        for kind, table in (("s", signed_ops), ("u", unsigned_ops)):
            for name, sign in table.items():
                x = a.astype(f"u{bits // 8}").view(f"{'i' if kind == 's' else 'u'}{bits // 8}")
                y = b.astype(f"u{bits // 8}").view(x.dtype)
                want = {"==": x == y, "!=": x != y, "<": x < y, "<=": x <= y, ">": x > y, ">=": x >= y}[sign]
                p, q = run(f"setp.{name}.{kind}{bits}", target, lanes, [a, b])
                assert np.array_equal(p.astype(bool), want)
                assert np.array_equal(q.astype(bool), ~want)
                (whole,) = run(f"set.{name}.u32.{kind}{bits}", target, lanes, [a, b])
                assert np.array_equal(whole, np.where(want, 0xFFFFFFFF, 0))
    third = rng.integers(0, 2, COUNT).astype(np.uint64)
    f, g = patterns(F32, 12), patterns(F32, 13)
    (one,) = run("set.lt.and.f32.f32", target, lanes, [f, g, third])
    for x, y, c, o in zip(f, g, third, one, strict=True):
        assert int(o) == (0x3F800000 if F32.decode(int(x)) < F32.decode(int(y)) and c else 0)
    (half,) = run("set.ge.u16.f16", target, lanes, [patterns(F16, 14), patterns(F16, 15)])
    for x, y, o in zip(patterns(F16, 14), patterns(F16, 15), half, strict=True):
        assert int(o) == (0xFFFF if F16.decode(int(x)) >= F16.decode(int(y)) else 0)


@pytest.mark.parametrize(("target", "lanes"), CASES)
def test_selections(target: str, lanes: int) -> None:
    rng = np.random.default_rng(16)
    a, b = patterns(F64, 17), patterns(F64, 18)
    p = rng.integers(0, 2, COUNT).astype(np.uint64)
    (got,) = run("selp.b64", target, lanes, [a, b, p])
    assert np.array_equal(got, np.where(p == 1, a, b))
    c = rng.integers(0, 1 << 32, COUNT).astype(np.uint64)
    c[:2] = [0, 1 << 31]
    (got,) = run("slct.u64.s32", target, lanes, [a, b, c])
    assert np.array_equal(got, np.where(c < 1 << 31, a, b))
    c = patterns(F32, 19)
    for ftz in ("", ".ftz"):
        (got,) = run(f"slct{ftz}.b64.f32", target, lanes, [a, b, c])
        keep = [F32.decode(F32.flush(int(v)) if ftz else int(v)) >= 0 for v in c]
        assert np.array_equal(got, np.where(keep, a, b))


@pytest.mark.parametrize(("target", "lanes"), CASES)
def test_testp(target: str, lanes: int) -> None:
    for f in (F32, F64):
        a = patterns(f, 20)
        kinds: dict[str, Callable[[int], bool]] = {
            "finite": lambda m, f=f: m < f.infinity, "infinite": lambda m, f=f: m == f.infinity,
            "number": lambda m, f=f: m <= f.infinity, "notanumber": lambda m, f=f: m > f.infinity,
            "normal": lambda m, f=f: m == 0 or f.smallest_normal <= m < f.infinity,
            "subnormal": lambda m, f=f: 0 < m < f.smallest_normal,
        }  # fmt: skip
        for name, holds in kinds.items():
            (got,) = run(f"testp.{name}.{f.name}", target, lanes, [a])
            assert [bool(g) for g in got] == [holds(int(v) & f.sign - 1) for v in a], name
