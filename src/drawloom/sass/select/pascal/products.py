"""Products on sm_61 by XMAD, which multiplies 16 by 16 bits and adds 32 (thesis section 5.3).

Of a = (a1, a0) and b = (b1, b0) in halves: XMAD is a0 * b0 + c, `.H1` takes the upper half of an operand, `.MRG` puts
b0 above the lower half of the result, `.PSL` moves the product up by 16, `.CBCC` adds b moved up by 16, `.CHI` takes
the upper half of c, `.CSFU` corrects for the signs of halves that were taken as unsigned; IADD3.RS shifts the sum of
its first two operands down by 16 before it adds the third.
"""

from __future__ import annotations

from drawloom.sass.select.operands import CONSTANT, IMMEDIATE, OTHER, REGISTER, ZERO, Src, imm, is_zero, reg
from drawloom.sass.select.pascal.selector import PascalSelector


def upper(a: Src) -> Src:
    """The upper half of an operand."""
    return Src(a.text + ".H1", a.values, a.kind)


def factor(s: PascalSelector, b: Src) -> Src:
    """A second factor as XMAD takes it: a register, a word of a bank, a number of 16 bits."""
    if b.kind == CONSTANT:
        return Src("c[I] [I]", b.values, OTHER)
    if b.kind == IMMEDIATE and b.values[0] >> 16:
        return s.in_register(b)
    return b


def addend_in_reach(s: PascalSelector, b: Src, c: Src) -> Src:
    """An addend; it may stand in a bank where the second factor is a register."""
    return c if c.kind == CONSTANT and b.text == "R" else s.in_register(c)


def low_word(s: PascalSelector, out: Src, a: Src, b: Src, c: Src) -> None:
    """a * b + c, 32 bits of it."""
    a, b = s.in_register(a), factor(s, b)
    c = addend_in_reach(s, b, c)
    partial = reg(s.fresh())
    s.native("XMAD", [partial, a, b, c])
    if b.kind == IMMEDIATE:
        s.native("XMAD.PSL", [out, upper(a), b, partial])
        return
    cross = reg(s.fresh())
    s.native("XMAD.MRG", [cross, a, upper(b), ZERO])
    s.native("XMAD.PSL.CBCC", [out, upper(a), upper(cross), partial])


def high_word(s: PascalSelector, out: Src, a: Src, b: Src, c: Src, signed: bool, low: Src | None = None) -> None:
    """The upper word of a * b, plus c; ``low`` is a0 * b0 where that is known already."""
    a, b, c = s.in_register(a), s.in_register(b), s.in_register(c)
    if low is None:
        low = reg(s.fresh())
        s.native("XMAD", [low, a, b, ZERO])
    cross, top, middle = reg(s.fresh()), reg(s.fresh()), reg(s.fresh())
    s.native("XMAD.U16.S16" if signed else "XMAD", [cross, a, upper(b), ZERO])
    s.native("XMAD.S16.S16.CSFU" if signed else "XMAD", [top, upper(a), upper(b), c])
    s.native("XMAD.S16.U16.CHI" if signed else "XMAD.CHI", [middle, upper(a), b, low])
    s.native("IADD3.RS", [out, middle, cross, top])


def wide_product(s: PascalSelector, out: int, a: Src, b: Src, c: Src, signed: bool) -> None:
    """The 64 bits of a * b plus a pair; ``out`` may be one of the sources."""
    a = s.in_register(a)
    shift = b.values[0].bit_length() - 1 if b.kind == IMMEDIATE and b.values[0] > 0 else 0
    if shift and b.values[0] == 1 << shift and shift < 31:
        scaled(s, out, a, shift, c, signed)
        return
    if not is_zero(c):
        low, high = reg(s.fresh()), reg(s.fresh())
        both_words(s, low, high, a, b, signed)
        s.add_wide(out, [low, high], [part(c, 0), part(c, 1)])
        return
    overlap = any(v in (out, out + 1) for v in a.values + b.values)
    low = reg(s.fresh()) if overlap else reg(out)
    both_words(s, low, reg(out + 1), a, b, signed)
    if overlap:
        s.native("MOV", [reg(out), low])


def scaled(s: PascalSelector, out: int, a: Src, shift: int, c: Src, signed: bool) -> None:
    """A word times a power of two, plus a pair: LEA, whose carry the upper word takes in."""
    kind = "SHR" if signed else "SHR.U32"
    if is_zero(c):
        high = reg(s.fresh())
        s.native(kind, [high, a, imm(32 - shift)])
        s.native("SHL", [reg(out), a, imm(shift)])
        s.native("MOV", [reg(out + 1), high])
        return
    above = ZERO
    if signed:
        above = reg(s.fresh())
        s.native("SHR", [above, a, imm(31)])
    low = reg(s.fresh()) if a.values[0] in (out, out + 1) else reg(out)
    s.native("LEA", [Src("R.CC", low.values, OTHER), a, part(c, 0), imm(shift)])
    s.native("LEA.HI.X", [reg(out + 1), a, part(c, 1), above, imm(shift)])
    if low.values[0] != out:
        s.native("MOV", [reg(out), low])


def part(pair: Src, n: int) -> Src:
    """A word of a pair of registers or of two words of a bank."""
    if pair.kind == CONSTANT:
        return Src(pair.text, [pair.values[0], pair.values[1] + 4 * n], CONSTANT)
    return pair if is_zero(pair) else Src("R", [pair.values[0] + n], REGISTER)


def both_words(s: PascalSelector, low: Src, high: Src, a: Src, b: Src, signed: bool) -> None:
    """Both words of a product, of which neither is a source."""
    if b.kind == IMMEDIATE and b.values[0] >> 16 == 0:
        partial, middle = reg(s.fresh()), reg(s.fresh())
        s.native("XMAD", [partial, a, b, ZERO])
        s.native("XMAD.PSL", [low, upper(a), b, partial])
        s.native("XMAD.S16.U16.CHI" if signed else "XMAD.CHI", [middle, upper(a), b, partial])
        s.native("SHR" if signed else "SHR.U32", [high, middle, imm(16)])
        return
    b = s.in_register(b)
    partial, cross = reg(s.fresh()), reg(s.fresh())
    s.native("XMAD", [partial, a, b, ZERO])
    s.native("XMAD.MRG", [cross, a, upper(b), ZERO])
    s.native("XMAD.PSL.CBCC", [low, upper(a), upper(cross), partial])
    high_word(s, high, a, b, ZERO, signed, partial)


def low_words(s: PascalSelector, out: int, a: list[Src], b: list[Src], c: list[Src]) -> None:
    """The lower 64 bits of a product of 64-bit numbers, plus another."""
    sources = [word.values[0] for word in a + b + c if word.kind == REGISTER]
    overlap = out in sources or out + 1 in sources
    low = reg(s.fresh()) if overlap else reg(out)
    high, cross = reg(s.fresh()), reg(s.fresh())
    both_words(s, low, high, a[0], b[0], False)
    low_word(s, cross, a[0], b[1], high)
    if is_zero(c[0]) and is_zero(c[1]):
        low_word(s, reg(out + 1), a[1], b[0], cross)
        if overlap:
            s.native("MOV", [reg(out), low])
        return
    total = reg(s.fresh())
    low_word(s, total, a[1], b[0], cross)
    s.add_wide(out, [low, total], c)
