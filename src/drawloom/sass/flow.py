"""Decoded machine code to its control-flow graph: blocks, and where control goes from the end of each.

Read off the instructions: branches and their labels; BSYNC goes on behind itself, where the label of its BSSY is;
SYNC and BRK of sm_61 go to the label on top of the stack that SSY and PBK push; a call of a function in the same
section enters it, and its return goes on behind every call of it. A call out of the section goes on behind itself.
"""

from __future__ import annotations

from drawloom.sass.effects import Effects, effects
from drawloom.sass.encoding import address_of
from drawloom.sass.instruction import Instruction
from drawloom.sass.isa import Target
from drawloom.sass.syntax import NO_GUARD


class Flow:
    """Blocks are named by the index of their first instruction; `ends[start]` is the index behind the last one.

    `entries` are the blocks where control comes from outside. `calls[block]` is (callee, place where it returns to) for
    a block that ends with a call in the section; `bodies[callee]` are the blocks of the function, callees left out;
    `returns` are the blocks that end with a return.
    """

    def __init__(self) -> None:
        self.ends: dict[int, int] = {}
        self.edges: dict[int, list[int]] = {}
        self.entries: list[int] = []
        self.calls: dict[int, tuple[int, int]] = {}
        self.returns: list[int] = []
        self.bodies: dict[int, list[int]] = {}

    def callers(self, block: int) -> list[int]:
        """The blocks whose call a return at the end of `block` may answer."""
        if block not in self.returns:
            return []
        return [caller for caller, (callee, _) in sorted(self.calls.items()) if block in self.bodies[callee]]


def control_flow(target: Target, instructions: list[Instruction], indirect: dict[int, list[int]]) -> Flow:
    """`indirect` gives the targets, as indices, of indirect branches by their index; for one that is not in it: all
    blocks into which nothing else goes."""
    labels = _labels(target, instructions)
    leaders = _leaders(instructions, labels, indirect)
    flow = Flow()
    starts = sorted(leaders)
    for start, end in zip(starts, [*starts[1:], len(instructions)]):
        flow.ends[start] = end
    stacks = _stacks(instructions, flow, labels)
    unknown: list[int] = []
    for start, end in flow.ends.items():
        last = instructions[end - 1]
        found = effects(last.opcode)
        flow.edges[start] = _edges(found, last, end, labels.get(end - 1, -1), stacks.get(start), len(instructions))
        if found.flow == "call" and labels.get(end - 1, -1) >= 0 and end < len(instructions):
            flow.calls[start] = labels[end - 1], end
            flow.edges[start] = [end] if last.guard != NO_GUARD else []
        elif found.flow == "return":
            flow.returns.append(start)
        elif found.flow == "indirect":
            if end - 1 in indirect:
                flow.edges[start] += indirect[end - 1]
            else:
                unknown.append(start)
    reached = {0}
    for start in flow.ends:
        reached.update(flow.edges[start])
    reached.update(callee for callee, _ in flow.calls.values())
    reached.update(behind for _, behind in flow.calls.values())
    orphans = [start for start in flow.ends if start not in reached]
    for start in unknown:
        flow.edges[start] += orphans
    flow.entries = [0] if unknown else [0, *orphans]
    for callee, _ in flow.calls.values():
        if callee not in flow.bodies:
            flow.bodies[callee] = _body(flow, callee)
    return flow


def _labels(target: Target, instructions: list[Instruction]) -> dict[int, int]:
    """The index of the instruction that a label operand names, by the index of the one that has it; -1 if outside."""
    places = {address_of(target, index): index for index in range(len(instructions))}
    found: dict[int, int] = {}
    for index, instruction in enumerate(instructions):
        what = effects(instruction.opcode)
        place = what.label
        # A register added to the label (calls through pointers) leads anywhere.
        if place >= 0 and not (what.flow == "call" and len(instruction.opcode.slots) > 1):
            address = address_of(target, index) + target.word_bytes + instruction.values[place]
            if not target.wide and address % 32 == 0:
                address += 8  # labels name the control word before the instruction
            found[index] = places.get(address, -1)
    return found


def _leaders(instructions: list[Instruction], labels: dict[int, int], indirect: dict[int, list[int]]) -> set[int]:
    leaders = {0}
    leaders.update(label for label in labels.values() if label >= 0)
    for targets in indirect.values():
        leaders.update(targets)
    for index, instruction in enumerate(instructions):
        if effects(instruction.opcode).flow not in ("", "prepare", "warp") and index + 1 < len(instructions):
            leaders.add(index + 1)
    return leaders


def conditional(instruction: Instruction, found: Effects) -> bool:
    """Whether control may go on behind an instruction that otherwise would not let it."""
    if instruction.guard != NO_GUARD:
        return True
    operands = sum(slot.kind in ("P", "UP", "UR") for slot in instruction.opcode.slots)
    return (found.flow == "jump" and operands > 0) or any(file == 5 for file, _, _ in found.fixed_reads)


def _edges(
    found: Effects, last: Instruction, end: int, label: int, stack: list[tuple[str, int]] | None, count: int
) -> list[int]:
    """Where control goes from the end of a block, returns and calls in the section left out."""
    behind = [end] if end < count else []
    if found.flow in ("", "prepare", "call"):
        return behind
    beside = behind if conditional(last, found) else []
    if found.flow == "warp":
        return sorted({*behind, label} - {-1}) if "COLLECTIVE" in found.modifiers else behind
    if found.flow == "jump":
        return sorted({*beside, label} - {-1})
    if found.base == "BSYNC":
        return behind
    if found.flow == "resume" and stack is not None:
        kind = {"SYNC": "SSY", "BRK": "PBK", "CONT": "PCNT"}.get(found.base, "")
        for pushed, place in reversed(stack):
            if pushed == kind:
                return sorted({*beside, place} - {-1})
    return beside


def _stacks(instructions: list[Instruction], flow: Flow, labels: dict[int, int]) -> dict[int, list[tuple[str, int]]]:
    """sm_61: the stack of (SSY or PBK, label) at the end of every block, by the first path that reaches it."""
    at_end: dict[int, list[tuple[str, int]]] = {}
    work: list[tuple[int, list[tuple[str, int]]]] = [(0, [])]
    while work:
        start, stack = work.pop()
        if start in at_end:
            continue
        stack = list(stack)
        end = flow.ends[start]
        for index in range(start, end):
            found = effects(instructions[index].opcode)
            if found.flow == "prepare" and found.base in ("SSY", "PBK", "PCNT"):
                stack.append((found.base, labels[index]))
        at_end[start] = stack
        last = instructions[end - 1]
        found = effects(last.opcode)
        label = labels.get(end - 1, -1)
        if found.flow == "resume" and found.base != "BSYNC":
            kind = {"SYNC": "SSY", "BRK": "PBK", "CONT": "PCNT"}.get(found.base, "")
            depth = len(stack) - 1
            while depth >= 0 and stack[depth][0] != kind:
                depth -= 1
            if depth >= 0 and stack[depth][1] >= 0:
                work.append((stack[depth][1], stack[:depth]))
            if last.guard != NO_GUARD and end < len(instructions):
                work.append((end, stack))
            continue
        if found.flow == "call" and label >= 0:
            work.append((label, []))
        for following in _edges(found, last, end, label, None, len(instructions)):
            work.append((following, stack))
    return at_end


def _body(flow: Flow, entry: int) -> list[int]:
    """The blocks of a function: what its entry reaches without entering other functions."""
    seen: set[int] = set()
    work = [entry]
    while work:
        start = work.pop()
        if start in seen:
            continue
        seen.add(start)
        work += flow.edges[start]
        if start in flow.calls:
            work.append(flow.calls[start][1])
    return sorted(seen)
