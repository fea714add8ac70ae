"""Logic, shifts and bit fields against the manual's pseudo-code in Python integers."""

from __future__ import annotations

import pytest

from tests.cpu.jit import CASES
from tests.cpu.test_ops_integer import check, number, signed

MASK32 = 0xFFFFFFFF


@pytest.mark.parametrize(("target", "lanes"), CASES)
def test_logic(target: str, lanes: int) -> None:
    for t in "pred b16 b32 b64".split():
        check(f"and.{t}", target, lanes, lambda a, b: a & b)
        check(f"or.{t}", target, lanes, lambda a, b: a | b)
        check(f"xor.{t}", target, lanes, lambda a, b: a ^ b)
        check(f"not.{t}", target, lanes, lambda a: ~a)
        if t != "pred":
            check(f"cnot.{t}", target, lanes, lambda a: int(a == 0))


@pytest.mark.parametrize(("target", "lanes"), CASES)
def test_shifts_clamp(target: str, lanes: int) -> None:
    for w in (16, 32, 64):
        check(f"shl.b{w}", target, lanes, lambda a, n, w=w: a << n if n < w else 0)
        for t in (f"b{w}", f"u{w}"):
            check(f"shr.{t}", target, lanes, lambda a, n: a >> n)
        check(f"shr.s{w}", target, lanes, lambda a, n, w=w: signed(a, w) >> n)


@pytest.mark.parametrize(("target", "lanes"), CASES)
def test_shift_by_constants(target: str, lanes: int) -> None:
    for count in (0, 1, 15, 16, 31, 32, 40, 64, 255, MASK32):
        check("shl.b32", target, lanes, lambda a, n: a << n if n < 32 else 0, ((1, count),))
        check("shr.s64", target, lanes, lambda a, n: signed(a, 64) >> n, ((1, count),))


@pytest.mark.parametrize(("target", "lanes"), CASES)
def test_funnel_shift(target: str, lanes: int) -> None:
    def left(a: int, b: int, n: int) -> int:
        return (b << 32 | a) << n >> 32

    def right(a: int, b: int, n: int) -> int:
        return (b << 32 | a) >> n

    check("shf.l.clamp.b32", target, lanes, lambda a, b, c: left(a, b, min(c, 32)))
    check("shf.l.wrap.b32", target, lanes, lambda a, b, c: left(a, b, c & 31))
    check("shf.r.clamp.b32", target, lanes, lambda a, b, c: right(a, b, min(c, 32)))
    check("shf.r.wrap.b32", target, lanes, lambda a, b, c: right(a, b, c & 31))


@pytest.mark.parametrize(("target", "lanes"), CASES)
def test_counting(target: str, lanes: int) -> None:
    for w in (32, 64):
        check(f"popc.b{w}", target, lanes, lambda a: a.bit_count())
        check(f"clz.b{w}", target, lanes, lambda a, w=w: w - a.bit_length())
        check(f"brev.b{w}", target, lanes, lambda a, w=w: int(f"{a:0{w}b}"[::-1], 2))
        for t in (f"u{w}", f"s{w}"):

            def top(a: int, t: str = t) -> int:
                value = number(a, t)
                return (~value if value < 0 else value).bit_length() - 1

            check(f"bfind.{t}", target, lanes, top)
            check(f"bfind.shiftamt.{t}", target, lanes, lambda a, top=top, w=w: -1 if top(a) < 0 else w - 1 - top(a))


@pytest.mark.parametrize(("target", "lanes"), CASES)
def test_bit_fields(target: str, lanes: int) -> None:
    for t in "u32 u64 s32 s64".split():
        w = int(t[1:])

        def bfe(a: int, b: int, c: int, t: str = t, w: int = w) -> int:
            pos, length = b & 255, c & 255
            sign = 0 if t[0] == "u" or length == 0 else a >> min(pos + length - 1, w - 1) & 1
            return sum(((a >> pos + i & 1) if i < length and pos + i < w else sign) << i for i in range(w))

        check(f"bfe.{t}", target, lanes, bfe)
    for w in (32, 64):

        def bfi(a: int, b: int, c: int, d: int, w: int = w) -> int:
            pos, length = c & 255, d & 255
            for i in range(length):
                if pos + i < w:
                    b = b & ~(1 << pos + i) | (a >> i & 1) << pos + i if i < w else b & ~(1 << pos + i)
            return b

        check(f"bfi.b{w}", target, lanes, bfi)


@pytest.mark.parametrize(("target", "lanes"), CASES)
def test_szext_and_bmsk(target: str, lanes: int) -> None:
    for mode in ("clamp", "wrap"):
        for t in ("u32", "s32"):

            def szext(a: int, b: int, t: str = t, mode: str = mode) -> int:
                width = b & 31
                too_large = b >= 32 and mode == "clamp"
                mask = 0 if too_large else (MASK32 << width) & MASK32
                sign = 0 if width == 0 or too_large or t != "s32" else a >> (width - 1 & 31) & 1
                return a & ~mask | (mask if sign else 0)

            check(f"szext.{mode}.{t}", target, lanes, szext)

        def bmsk(a: int, b: int, mode: str = mode) -> int:
            start, width = a & 31, b & 31
            mask0, mask1 = MASK32 << start & MASK32, MASK32 << (start + width) & MASK32
            position_overflow = mode == "clamp" and a >= 32
            if position_overflow:
                mask0 = 0
            if start + width >= 32 or position_overflow or (mode == "clamp" and b >= 32):
                mask1 = 0
            elif width == 0:
                mask1 = MASK32
            return mask0 & ~mask1

        check(f"bmsk.{mode}.b32", target, lanes, bmsk)


@pytest.mark.parametrize(("target", "lanes"), CASES)
def test_lop3(target: str, lanes: int) -> None:
    def function(a: int, b: int, c: int, table: int) -> int:
        out = 0
        for i in range(8):
            if table >> i & 1:
                out |= (a if i & 4 else ~a) & (b if i & 2 else ~b) & (c if i & 1 else ~c)
        return out & MASK32

    tables = range(256) if (target, lanes) == ("host", 32) else (0, 0x1B, 0x80, 0x96, 0xE8, 0xFE, 0xFF)
    for table in tables:
        check("lop3.b32", target, lanes, function, ((3, table),))
    check("lop3.and.b32", target, lanes, lambda a, b, c, t, q: (function(a, b, c, t), function(a, b, c, t) != 0 and q),
          ((3, 0x80),))  # fmt: skip
    check("lop3.or.b32", target, lanes, lambda a, b, c, t, q: (function(a, b, c, t), function(a, b, c, t) != 0 or q),
          ((3, 0x80),))  # fmt: skip


PRMT = {
    "f4e": ((3, 2, 1, 0), (4, 3, 2, 1), (5, 4, 3, 2), (6, 5, 4, 3)),
    "b4e": ((5, 6, 7, 0), (6, 7, 0, 1), (7, 0, 1, 2), (0, 1, 2, 3)),
    "rc8": ((0, 0, 0, 0), (1, 1, 1, 1), (2, 2, 2, 2), (3, 3, 3, 3)),
    "ecl": ((3, 2, 1, 0), (3, 2, 1, 1), (3, 2, 2, 2), (3, 3, 3, 3)),
    "ecr": ((0, 0, 0, 0), (1, 1, 1, 0), (2, 2, 1, 0), (3, 2, 1, 0)),
    "rc16": ((1, 0, 1, 0), (3, 2, 3, 2), (1, 0, 1, 0), (3, 2, 3, 2)),
}


@pytest.mark.parametrize(("target", "lanes"), CASES)
def test_prmt(target: str, lanes: int) -> None:
    def generic(a: int, b: int, c: int) -> int:
        out = 0
        for i in range(4):
            selector = c >> 4 * i & 15
            byte = (b << 32 | a) >> 8 * (selector & 7) & 255
            out |= ((255 if byte & 128 else 0) if selector & 8 else byte) << 8 * i
        return out

    check("prmt.b32", target, lanes, generic)
    for constant in (0x3210, 0x7654, 0x5410, 0x0123, 0x3BA8, 0x8888):
        check("prmt.b32", target, lanes, generic, ((2, constant),))
    for mode, rows in PRMT.items():

        def special(a: int, b: int, c: int, rows: tuple[tuple[int, ...], ...] = rows) -> int:
            both = b << 32 | a
            return sum((both >> 8 * s & 255) << 8 * (3 - i) for i, s in enumerate(rows[c & 3]))

        check(f"prmt.b32.{mode}", target, lanes, special)
        check(f"prmt.b32.{mode}", target, lanes, special, ((2, 6),))


@pytest.mark.parametrize(("target", "lanes"), CASES)
def test_fns(target: str, lanes: int) -> None:
    def fns(mask: int, base: int, offset: int) -> int:
        offset = signed(offset, 32)
        if base > 31:
            return 0  # undefined: not compared
        if offset == 0:
            return base if mask >> base & 1 else -1
        position, count, step = base, abs(offset) - 1, 1 if offset > 0 else -1
        while 0 <= position < 32:
            if mask >> position & 1:
                if count == 0:
                    return position
                count -= 1
            position += step
        return -1

    for base in range(0, 32, 5):
        check("fns.b32", target, lanes, fns, ((1, base),))
    for offset in (-3, -1, 0, 1, 2):
        check("fns.b32", target, lanes, lambda m, b, o: fns(m, b, o), ((1, 31), (2, offset)))
