"""Loops of one block whose number of rounds is known are written out, if they stay short.

    mov.u32 %r1, 4;                 shfl.sync.down.b32 %r4, %r2, 4, 31, -1;
    again:                          add.u32 %r5, %r2, %r4;
    shfl.sync.down.b32 %r3, ...     shfl.sync.down.b32 %r6, %r5, 2, 31, -1;
    add.u32 %r2, %r2, %r3;          add.u32 %r7, %r5, %r6;
    shr.u32 %r1, %r1, 1;            shfl.sync.down.b32 %r8, %r7, 1, 31, -1;
    setp.ne.u32 %p1, %r1, 0;        add.u32 %r9, %r7, %r8;
    @%p1 bra again;

What decides whether there is another round is computed with ``evaluate`` from the constants that the loop begins with.
Then the copies are folded. ``.pragma "nounroll"`` in the loop keeps it. Instructions count as the issue slots that they
need on a GPU.
"""

from __future__ import annotations

from typing import Final

from drawloom.opt.evaluate import evaluate
from drawloom.opt.facts import literal_pattern, operand_type
from drawloom.opt.fold import fold
from drawloom.opt.work import Work, is_pure, move_of, substituted
from drawloom.ptx.ir import (
    Address,
    BranchTargets,
    CallPrototype,
    CallTargets,
    Directive,
    Immediate,
    Instruction,
    Register,
    Statement,
)
from drawloom.ptx.isa import PURE
from drawloom.ptx.ssa import SsaBlock
from drawloom.ptx.types import PRED

#: Rounds that are looked at, and issue slots of all rounds together.
_MOST_ROUNDS: Final = 32
_MOST_SLOTS: Final = 160
#: What takes more than a slot: divisions are some dozen instructions, 64-bit products four.
_SLOTS: Final[dict[str, int]] = {"div": 20, "rem": 20, "sqrt": 10, "call": 20}


def unroll(work: Work) -> None:
    """Write out every such loop."""
    loops = [b for b in work.ssa.blocks if b.id in b.succs and len(b.preds) == 2 and len(b.succs) == 2]
    if not loops:
        return
    literals, undefined = _literals(work), work.maybe_undefined()
    for block in loops:
        slots = _slots(block)
        most = _MOST_SLOTS // slots if slots else 0
        rounds = _rounds(block, most, literals, undefined) if most else 0
        if rounds:
            work.changed(block.terminator, f"{rounds} rounds written out")
            _write_out(work, block, rounds)
    if work.changes:
        work.forget_flow()
        fold(work)


def _slots(block: SsaBlock) -> int:
    """What a round costs; 0 where it must stay a loop."""
    found = 0
    for statement in block.statements:
        if isinstance(statement, (BranchTargets, CallTargets, CallPrototype)):
            return 0
        if isinstance(statement, Directive) and statement.name == ".pragma":
            return 0
        if isinstance(statement, Instruction):
            type = statement.opcode.type
            wide = type is not None and type.bits == 64 and type.is_integer
            found += _SLOTS.get(statement.opcode.name, 2 if wide else 1)
    return found


def _rounds(block: SsaBlock, most: int, literals: dict[int, int], undefined: set[int]) -> int:
    """How often the block runs; 0 where that is not known, or more often than ``most``."""
    branch = block.terminator
    if branch is None or branch.guard is None or branch.opcode.name != "bra" or block.succs[0] != block.id:
        return 0
    here = block.preds.index(block.id)
    starts = [phi.arguments[1 - here] for phi in block.phis]
    known = _incoming(block, starts, literals)
    if not known or any(start.id in undefined for start in starts):
        return 0
    needed = _needed(block)
    for rounds in range(1, min(most, _MOST_ROUNDS) + 1):
        values = dict(known)
        for instruction in needed:
            destination = instruction.operands[0]
            assert isinstance(destination, Register)
            pattern = _computed(instruction, values, destination)
            if pattern is not None:
                values[destination.id] = pattern
        again = values.get(branch.guard.id)
        if again is None:
            return 0
        if again == (1 if branch.guard_negated else 0):
            return rounds
        known = _incoming(block, [phi.arguments[here] for phi in block.phis], values)
    return 0


def _incoming(block: SsaBlock, arguments: list[Register], values: dict[int, int]) -> dict[int, int]:
    """What is known of the phis of a block from what comes in."""
    pairs = zip(block.phis, arguments, strict=True)
    return {phi.destination.id: values[argument.id] for phi, argument in pairs if argument.id in values}


def _literals(work: Work) -> dict[int, int]:
    """The patterns of values that are literals."""
    found: dict[int, int] = {}
    for block in work.ssa.blocks:
        for statement in block.statements:
            if isinstance(statement, Instruction) and statement.opcode.name == "mov" and statement.guard is None:
                destination, source = statement.operands[0], statement.operands[1]
                if isinstance(destination, Register) and isinstance(source, Immediate):
                    found[destination.id] = literal_pattern(source, destination.type)
    return found


def _needed(block: SsaBlock) -> list[Instruction]:
    """The instructions of a block that compute one value from others."""
    found: list[Instruction] = []
    for statement in block.statements:
        if isinstance(statement, Instruction) and statement.opcode.effect == PURE and statement.guard is None:
            if isinstance(statement.operands[0], Register) and is_pure(statement) and not statement.opcode.selectors:
                found.append(statement)
    return found


def _computed(instruction: Instruction, values: dict[int, int], destination: Register) -> int | None:
    patterns: list[int] = []
    for index in range(1, len(instruction.operands)):
        operand = instruction.operands[index]
        if isinstance(operand, Register) and operand.id in values:
            patterns.append(values[operand.id])
        elif isinstance(operand, Immediate):
            patterns.append(literal_pattern(operand, operand_type(instruction.opcode, index)))
        else:
            return None
    return evaluate(instruction.opcode, patterns, 1 if destination.type is PRED else destination.type.bits)


def _write_out(work: Work, block: SsaBlock, rounds: int) -> None:
    """Put so many copies of a block into it. The last one writes the values that the loop had at its end."""
    body = [s for s in block.statements if s is not block.terminator]
    here = block.preds.index(block.id)
    current = {phi.destination.id: phi.arguments[1 - here] for phi in block.phis}
    out: list[Statement] = []
    for _ in range(rounds - 1):
        for statement in body:
            out.append(_copied(work, statement, current) if isinstance(statement, Instruction) else statement)
        current = {p.destination.id: current.get(p.arguments[here].id, p.arguments[here]) for p in block.phis}
    for phi in block.phis:
        out.append(Instruction(move_of(phi.destination.type), [phi.destination, current[phi.destination.id]]))
    block.statements = [*out, *body]
    block.phis, block.terminator = [], None
    del block.preds[here]
    block.succs.remove(block.id)


def _copied(work: Work, instruction: Instruction, current: dict[int, Register]) -> Instruction:
    """An instruction on the current values, with fresh ones for what it writes, which are current then."""
    ssa = work.ssa
    first = 1 if instruction.opcode.has_destination and instruction.operands else 0
    operands = [*instruction.operands[:first], *[substituted(o, current) for o in instruction.operands[first:]]]
    guard = instruction.guard
    if guard is not None:
        guard = current.get(guard.id, guard)
    if first:
        fresh: dict[int, Register] = {}
        for register in instruction.destinations():
            fresh[register.id] = ssa.new_value(register.type, ssa.origin[register.id])
            kept = ssa.kept.get(register.id)
            if kept is not None:
                ssa.kept[fresh[register.id].id] = current.get(kept.id, kept)
        if isinstance(operands[0], Address):
            operands[0] = substituted(operands[0], current)
        else:
            operands[0] = substituted(operands[0], fresh)
        current.update(fresh)
    return Instruction(instruction.opcode, operands, guard, instruction.guard_negated, instruction.pos)
