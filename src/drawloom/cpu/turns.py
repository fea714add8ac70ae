"""Where the warps of a block take turns once more behind a barrier, so that all read what it shared before one goes on.

    bar.sync 0;                     or some blocks before
    ld.shared.f32 %f1, [sum];       all lanes of all warps read one place
    // here each warp stops, until the others have read, too
    ...
    st.shared.f32 [sum], %f2;       with no barrier in between

Such programs race by the letter. On a GPU the warps that a barrier lets go read at about the same time, so they come
out right there; here the first warp would go on to the store before the second one reads.
"""

from __future__ import annotations

from drawloom.cpu.roots import ANY, Roots
from drawloom.cpu.shapes import UNIFORM
from drawloom.cpu.structure import Structure
from drawloom.ptx.ir import Address, Instruction, Register
from drawloom.ptx.isa import ATOMIC, BARRIER, CALL, LOAD, STORE


def turns(plan: Structure, shared: set[str]) -> set[tuple[int, int]]:
    """The loads, as blocks and numbers of instructions, behind which warps take turns; ``shared`` are the names of the
    variables in shared memory."""
    found: set[tuple[int, int]] = set()
    roots = Roots(plan.live.uses, shared)
    entered = _entered_after_barriers(plan)
    for b in plan.order:
        last = -1
        behind = entered[b] and not _repeats(plan, b)
        read: set[str] = set()
        for index, instruction in enumerate(plan.cfg.blocks[b].instructions):
            effect = instruction.opcode.effect
            if effect in (BARRIER, CALL) or _writes(instruction):
                if last >= 0 and _is_overwritten(plan, roots, b, last + 1, read):
                    found.add((b, last))
                last = -1
                read = set()
                behind = effect == BARRIER
            elif behind and effect == LOAD and instruction.opcode.space == "shared" and _is_common(plan, instruction):
                last = index
                read.add(roots.of_access(instruction))
        if last >= 0 and _is_overwritten(plan, roots, b, last + 1, read):
            found.add((b, last))
    return found


def _entered_after_barriers(plan: Structure) -> dict[int, bool]:
    """For each block whether on every way to it no call and no write of shared memory comes after the last barrier."""
    begin = plan.order[0]
    entered = {b: b != begin for b in plan.order}
    changed = True
    while changed:
        changed = False
        for b in plan.order:
            leaves = entered[b]
            for instruction in plan.cfg.blocks[b].instructions:
                if instruction.opcode.effect == BARRIER:
                    leaves = True
                elif instruction.opcode.effect == CALL or _writes(instruction):
                    leaves = False
            if leaves:
                continue
            for s in plan.succs[b]:
                if entered.get(s, False):
                    entered[s] = False
                    changed = True
    return entered


def _repeats(plan: Structure, block: int) -> bool:
    """Whether a warp may come to a block again with no barrier in between: it would stop in every round."""
    stack = [block]
    seen: set[int] = set()
    while stack:
        b = stack.pop()
        if any(instruction.opcode.effect == BARRIER for instruction in plan.cfg.blocks[b].instructions):
            continue
        for s in plan.succs[b]:
            if s == block:
                return True
            if s not in seen:
                seen.add(s)
                stack.append(s)
    return False


def _writes(instruction: Instruction) -> bool:
    """Whether an instruction may write shared memory."""
    return instruction.opcode.effect in (STORE, ATOMIC) and instruction.opcode.space in ("shared", "")


def _is_common(plan: Structure, load: Instruction) -> bool:
    """Whether all lanes load one place."""
    address = load.operands[1]
    if load.guard is not None or not isinstance(address, Address):
        return False
    if not isinstance(address.base, Register):
        return True
    shape = plan.shapes[address.base.id]
    return shape is not None and shape.kind == UNIFORM


def _is_overwritten(plan: Structure, roots: Roots, block: int, index: int, read: set[str]) -> bool:
    """Whether a warp may come from there to a write of what was ``read``, and to no barrier before."""
    stack = [(block, index)]
    seen: set[int] = set()
    while stack:
        b, first = stack.pop()
        ends = False
        for instruction in plan.cfg.blocks[b].instructions[first:]:
            if instruction.opcode.effect == CALL:
                return True
            if instruction.opcode.effect == BARRIER and instruction.opcode.action != "arrive":
                ends = True
                break
            if _writes(instruction):
                root = roots.of_access(instruction)
                if root == ANY or root in read or ANY in read:
                    return True
        if not ends:
            for s in plan.succs[b]:
                if s not in seen:
                    seen.add(s)
                    stack.append((s, 0))
    return False
