"""64-bit divisions whose operands fit in 32 bits go the short way (Wu and others, "gpucc", CGO 2016, section 3.6).

    div.u64 %rd3, %rd1, %rd2;       or.b64 %t, %rd1, %rd2;
                                    shr.u64 %h, %t, 32;
                                    setp.ne.u64 %p, %h, 0;
                                    @%p bra wide;
                                    ... div.u32 of the low halves, widened ...
                                    bra join;
                                    wide: div.u64 %rd3, %rd1, %rd2;
                                    join: ...

That holds for signed ones as well: with no bit above the low half both are positive. Quotient and remainder of the
same operands share one test and one narrow division. Divisors that are constant are left to multiplication, no test
is needed where both operands were widened from 32 bits, and what stands behind such a test already, as compilers write
it, stays.
"""

from __future__ import annotations

from typing import Final

from drawloom.opt.work import Work
from drawloom.ptx.ir import Immediate, Instruction, LabelRef, Operand, Register, Statement
from drawloom.ptx.isa import decode
from drawloom.ptx.ssa import Phi, SsaBlock
from drawloom.ptx.types import PRED, U32, U64


def bypass_divisions(work: Work) -> None:
    """Rewrite every 64-bit division by a register."""
    made_by = _definitions(work)
    widened = {value for value, one in made_by.items() if one.opcode.text == "cvt.u64.u32"}
    blocks: list[SsaBlock] = []
    number = len(work.ssa.blocks)
    tests = [_tested(work, block, made_by) for block in work.ssa.blocks]
    for block, tested in zip(list(work.ssa.blocks), tests, strict=True):
        _narrow_widened(work, block, widened, tested)
        rest: SsaBlock | None = block
        while rest is not None:
            blocks.append(rest)
            made = _split(work, rest, tested, number)
            blocks.extend(made[:-1])
            number += len(made)
            rest = made[-1] if made else None
    if len(blocks) > len(work.ssa.blocks):
        work.number_blocks(blocks)


def _definitions(work: Work) -> dict[int, Instruction]:
    """The unguarded instructions that take part in a test for high bits, by the value that they compute."""
    return {
        destination.id: statement
        for block in work.ssa.blocks
        for statement in block.statements
        if isinstance(statement, Instruction) and statement.guard is None and statement.opcode.name in _IN_TESTS
        for destination in statement.destinations()
    }


_IN_TESTS: Final = frozenset(("cvt", "or", "shr", "and", "setp"))
#: What leaves the high bits of 64, and by which number.
_HIGH: Final[dict[str, tuple[int, ...]]] = {"shr": (32,), "and": (-1 << 32, (1 << 64) - (1 << 32))}
_NO_PAIR: Final[frozenset[int]] = frozenset()


def _tested(work: Work, block: SsaBlock, made_by: dict[int, Instruction]) -> frozenset[int]:
    """The two values of which one has a high bit wherever the block runs, as the branch before it says; else none."""
    before = work.ssa.blocks[block.preds[0]] if len(block.preds) == 1 else block
    branch = before.terminator
    if before is block or branch is None or branch.guard is None or len(before.succs) != 2:
        return _NO_PAIR
    test = made_by.get(branch.guard.id)
    if (
        test is None
        or test.operands[0] is not branch.guard
        or len(test.operands) != 3
        or not _is_zero(test.operands[2])
    ):
        return _NO_PAIR
    high = _maker(made_by, test.operands[1])
    holds = "ne" if (before.succs[0] == block.id) != branch.guard_negated else "eq"
    if test.opcode.compare != holds or high is None or high.opcode.name not in _HIGH:
        return _NO_PAIR
    mask = high.operands[2]
    both = _maker(made_by, high.operands[1])
    if not isinstance(mask, Immediate) or mask.value not in _HIGH[high.opcode.name]:
        return _NO_PAIR
    if both is None or both.opcode.text != "or.b64":
        return _NO_PAIR
    return frozenset([operand.id for operand in both.operands[1:] if isinstance(operand, Register)])


def _is_zero(operand: Operand) -> bool:
    return isinstance(operand, Immediate) and operand.value == 0


def _maker(made_by: dict[int, Instruction], operand: Operand) -> Instruction | None:
    return made_by.get(operand.id) if isinstance(operand, Register) else None


def _is_division(statement: Statement) -> bool:
    if not isinstance(statement, Instruction) or statement.guard is not None:
        return False
    type = statement.opcode.type
    if statement.opcode.name not in ("div", "rem") or type is None or type.is_float or type.bits != 64:
        return False
    return isinstance(statement.operands[1], Register) and isinstance(statement.operands[2], Register)


def _is_tested(division: Instruction, tested: frozenset[int]) -> bool:
    return tested == {o.id for o in division.operands[1:] if isinstance(o, Register)}


def _narrow_widened(work: Work, block: SsaBlock, widened: set[int], tested: frozenset[int]) -> None:
    """Divisions of operands that were both widened from 32 bits need no test."""
    shared: dict[tuple[str, int, int], list[Instruction]] = {}
    for statement in block.statements:
        if isinstance(statement, Instruction) and _is_division(statement) and not _is_tested(statement, tested):
            a, b = statement.operands[1:]
            if isinstance(a, Register) and isinstance(b, Register) and {a.id, b.id} <= widened:
                shared.setdefault((statement.opcode.types[0].name, a.id, b.id), []).append(statement)
    if not shared:
        return
    first = {id(both[0]): both for both in shared.values()}
    others = {id(one) for both in shared.values() for one in both[1:]}
    out: list[Statement] = []
    for statement in block.statements:
        if id(statement) in first:
            both = first[id(statement)]
            for one in both:
                work.changed(one, "is a division of 32 bits")
            out.extend(_narrow(work, both, [one.destinations()[0] for one in both]))
        elif id(statement) not in others:
            out.append(statement)
    block.statements = out


def _split(work: Work, block: SsaBlock, tested: frozenset[int], number: int) -> list[SsaBlock]:
    """Cut a block at its first division: the blocks that follow it, the last with what came behind. Wide divisions of
    what was ``tested`` stay in it."""
    for place, statement in enumerate(block.statements):
        if isinstance(statement, Instruction) and _is_division(statement) and not _is_tested(statement, tested):
            both = [
                other
                for other in block.statements[place:]
                if isinstance(other, Instruction) and _is_division(other) and _is_pair(other, statement)
            ]
            return _cut(work, block, place, both, number)
    return []


def _is_pair(a: Instruction, b: Instruction) -> bool:
    """Whether two divisions have the same operands and sign."""
    return a.opcode.types == b.opcode.types and a.operands[1] is b.operands[1] and a.operands[2] is b.operands[2]


def _cut(work: Work, block: SsaBlock, place: int, both: list[Instruction], number: int) -> list[SsaBlock]:
    narrow, wide, join = (SsaBlock(number + k, []) for k in range(3))
    wide.labels, join.labels = [work.new_label()], [work.new_label()]
    pos = both[0].pos
    bits, high = work.ssa.new_value(U64), work.ssa.new_value(U64)
    test = work.ssa.new_value(PRED)
    branch = _made("bra", [LabelRef(wide.labels[0].name)], pos)
    branch.guard = test
    back = _made("bra", [LabelRef(join.labels[0].name)], pos)
    join.statements = [s for s in block.statements[place:] if s not in both]
    join.terminator, join.results, join.succs = block.terminator, block.results, block.succs
    for successor in join.succs:
        preds = work.ssa.blocks[successor].preds
        preds[preds.index(block.id)] = join.id
    block.statements = [
        *block.statements[:place],
        _made("or.b64", [bits, both[0].operands[1], both[0].operands[2]], pos),
        _made("shr.u64", [high, bits, Immediate(32)], pos),
        _made("setp.ne.u64", [test, high, Immediate(0)], pos),
        branch,
    ]
    block.terminator, block.results, block.succs = branch, [], [wide.id, narrow.id]
    narrow.preds, wide.preds, join.preds = [block.id], [block.id], [narrow.id, wide.id]
    narrow.succs, wide.succs = [join.id], [join.id]
    shorts = [work.ssa.new_value(one.destinations()[0].type) for one in both]
    narrow.statements = [*_narrow(work, both, shorts), back]
    narrow.terminator = back
    for one, short in zip(both, shorts, strict=True):
        destination = one.destinations()[0]
        long = work.ssa.new_value(destination.type)
        wide.statements.append(Instruction(one.opcode, [long, *one.operands[1:]], pos=one.pos))
        join.phis.append(Phi(destination, [short, long]))
        work.changed(one, "goes by 32 bits where both operands fit")
    return [narrow, wide, join]


def _narrow(work: Work, both: list[Instruction], destinations: list[Register]) -> list[Statement]:
    """The quotients and remainders of the low halves, from one division."""
    pos = both[0].pos
    a, b, quotient = (work.ssa.new_value(U32) for _ in range(3))
    out: list[Statement] = [
        _made("cvt.u32.u64", [a, both[0].operands[1]], pos),
        _made("cvt.u32.u64", [b, both[0].operands[2]], pos),
    ]
    if any(one.opcode.name == "div" for one in both):
        out.append(_made("div.u32", [quotient, a, b], pos))
        product, remainder = work.ssa.new_value(U32), work.ssa.new_value(U32)
        if any(one.opcode.name == "rem" for one in both):
            out.append(_made("mul.lo.u32", [product, quotient, b], pos))
            out.append(_made("sub.u32", [remainder, a, product], pos))
    else:
        remainder = work.ssa.new_value(U32)
        out.append(_made("rem.u32", [remainder, a, b], pos))
    for one, destination in zip(both, destinations, strict=True):
        source = quotient if one.opcode.name == "div" else remainder
        out.append(_made("cvt.u64.u32", [destination, source], pos))
    return out


def _made(text: str, operands: list[Operand], pos: int) -> Instruction:
    return Instruction(decode(text), operands, pos=pos)
