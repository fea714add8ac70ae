"""The rules of ``intervals.py``, proved by a solver for intervals of whole widths: whatever numbers of these an
instruction computes from, what it gives is in the interval that comes out. Skipped where bitwuzla is not installed."""

from __future__ import annotations

import random
from typing import Any

import pytest

pytest.importorskip("bitwuzla", reason="the solver bitwuzla is not installed")

from bitwuzla import Kind

from drawloom.opt.intervals import ARITHMETIC, RULES, Range, exact, ranged, wrapped
from drawloom.ptx.isa import Opcode, decode
from tests.opt.symbolic import Solver, computed

#: Products, quotients and counts of 64 bits are the fuzzer's: no solver has them in time.
OPCODES = """
    add.u32 add.s32 add.s64 sub.u32 sub.s32 sub.u64 neg.s32 neg.s64 mul.lo.u16 mul.lo.s16 mad.lo.s16 mad.lo.u16
    and.b32 and.b64 or.b32 or.b64 xor.b32 xor.b64 shl.b32 shl.b64 shr.u32 shr.s32 shr.s64 min.s32 min.u32 min.s64
    max.s32 max.u32 max.u64 div.u16 div.s16 rem.u16 rem.s16 abs.s32 abs.s64 selp.b32 popc.b32 clz.b32 bfe.u32 bfe.s32
    bfe.s64 cvt.s64.s32 cvt.u64.u32 cvt.u32.u64 cvt.s16.s32 cvt.u16.u32 cvt.s32.s16 cvt.s32.u16 cvt.u32.s8 cvt.u64.s8
""".split()
#: Opcodes whose last operands are 32 bits wide, whatever the first ones are; and how many operands there are.
SHORT_OPERANDS = {"shl": 1, "shr": 1, "bfe": 2}
OPERANDS = {"neg": 1, "abs": 1, "popc": 1, "clz": 1, "cvt": 1, "mad": 3, "bfe": 3}


def intervals(opcode: Opcode, chance: random.Random) -> list[Range]:
    """Of each operand, at the ends of its width and at zero, where things wrap."""
    count = OPERANDS.get(opcode.name, 2)
    out: list[Range] = []
    for place in range(count):
        bits = max(16, opcode.types[-1].bits)
        if place >= count - SHORT_OPERANDS.get(opcode.name, 0):
            bits, least = 32, chance.choice([0, 3, bits - 2])
            out.append(Range(least, least + chance.choice([0, 0, 4, 300]), bits))
            continue
        half = 1 << bits - 1
        low = chance.choice([0, 1, -1, -300, half - 40, -half, 2 * half - 9, chance.randrange(half)])
        out.append(ranged(low, low + chance.choice([0, 5, 300, half // 2, half]), bits))
    return out


def within(solver: Solver, term: Any, range: Range) -> Any:
    """That a term is in an interval, modulo its width."""
    low, size = (solver.number(number, range.bits) for number in (range.low, range.high - range.low))
    return solver.make(Kind.BV_ULE, [solver.make(Kind.BV_SUB, [term, low]), size])


def rule(opcode: Opcode, operands: list[Range], bits: int) -> Range | None:
    if opcode.name not in ARITHMETIC:
        return RULES[opcode.name](opcode, operands, bits)
    found = [exact(opcode.name, [r.read(is_signed) for r in operands]) for is_signed in (True, False)]
    return wrapped(found[0], found[1], bits)


@pytest.mark.parametrize("text", OPCODES)
def test_what_comes_out_is_in_the_interval(text: str) -> None:
    opcode = decode(text)
    chance = random.Random(text)
    bits = 32 if opcode.name in ("popc", "clz") else max(16, opcode.types[0].bits)
    proved = 0
    for _ in range(60):
        operands = intervals(opcode, chance)
        found = rule(opcode, operands, bits)
        if found is None or found.full:
            continue
        solver = Solver()
        terms = [solver.parameter(f"x{k}", r.bits) for k, r in enumerate(operands)]
        given = [within(solver, term, r) for term, r in zip(terms, operands, strict=True)]
        if opcode.name == "selp":
            terms.append(solver.parameter("p", 1))
        result = computed(solver, opcode, terms, bits)
        assert solver.counterexample([within(solver, result, found)], given) is None, (operands, found)
        proved += 1
        if proved == 5:
            return
    assert proved, "no interval is known after that"


def test_an_interval_that_is_too_small_is_refuted() -> None:
    solver = Solver()
    x = solver.parameter("x", 32)
    result = computed(solver, decode("add.u32"), [x, solver.number(1, 32)], 32)
    given = [within(solver, x, Range(0, 10, 32))]
    assert solver.counterexample([within(solver, result, Range(1, 11, 32))], given) is None
    assert solver.counterexample([within(solver, result, Range(1, 10, 32))], given) == {"x": 10}
