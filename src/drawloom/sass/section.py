"""From the functions of a kernel, each scheduled by itself, to the code of its section: frames on the stack, one list
of blocks, and the distances in branches, calls and return addresses.

    kernel:    R1 = top of the stack, R1 -= frame, ..., EXIT
    function:  R1 -= frame, save registers, ..., restore them, R1 += frame, RET

Where a `.local` variable is aligned to more than a frame is, R1 is rounded down behind that; a function keeps in its
frame what it was. Where the code moves R1 (`alloca`), R2 has what it was behind that. A frame has, from there on: what
calls pass on the stack, `.local` variables, spilled registers, saved registers.
"""

from __future__ import annotations

from typing import Final

from drawloom.ptx.layout import align_up
from drawloom.ptx.liveness import members
from drawloom.sass.abi import RETURN_ADDRESS
from drawloom.sass.assembly import Relocation
from drawloom.sass.effects import effects, registers_written
from drawloom.sass.encoding import GROUP, address_of
from drawloom.sass.isa import Target
from drawloom.sass.machine import (
    FRAME_POINTER,
    GENERAL,
    PT,
    RZ,
    STACK_POINTER,
    CallSite,
    Machine,
    MachineBlock,
    MachineFunction,
)
from drawloom.sass.select.selector import DESCRIPTOR, STACK_TOP

#: Entries of the table of functions: the first one is no function (ptxas has 1 there).
_NO_FUNCTION: Final = 1
#: Frames are multiples of this, so that below spilled registers too `.local` variables stay aligned.
_FRAME_UNIT: Final = 16
#: A register that has no argument and that every function may change.
_UNUSED: Final = 3


class Part:
    """A function in a section: where it stands there, its frame and what it spills, in bytes."""

    def __init__(self, name: str, frame: int) -> None:
        self.name = name
        self.frame = frame
        self.spill_stores = 0
        self.spill_loads = 0
        self.offset = 0
        self.size = 0


class Joined:
    """The code of a section: `code` has the blocks of all functions, `parts` the functions behind the kernel.
    `external` are the functions of other files that it calls, `external_calls` the offsets of those calls,
    `relocations` what a linker has to fill in."""

    def __init__(self, code: MachineFunction) -> None:
        self.code = code
        self.parts: list[Part] = []
        self.external: list[str] = []
        self.external_calls: list[int] = []
        self.relocations: list[Relocation] = []
        #: Where calls through pointers stand that are jumps (sm_61).
        self.jumps: list[int] = []

    def table(self, ids: dict[str, int]) -> bytes:
        """The table of functions: for each of ``ids``, by its number, where it stands (0 where it does not)."""
        places = {part.name: part.offset for part in self.parts}
        entries = [_NO_FUNCTION, *[places.get(name, 0) for name in ids]]
        return b"".join([entry.to_bytes(8, "little") for entry in entries])


# -- beginnings and ends ---------------------------------------------------------------------------------


def begin_kernel(code: MachineFunction, tables: Target, uses_descriptor: bool, pos: int) -> None:
    """What every kernel starts with: the stack pointer, the descriptor of global memory. ``pos`` is of its header."""
    top = STACK_TOP[code.target]
    first = [Machine(tables.opcode("MOV", "R,c[I][I]"), [STACK_POINTER, 0, top], pos=pos)]
    if uses_descriptor:
        load = tables.opcode("ULDC.64", "UR,c[I][I]")
        first.append(Machine(load, [4, 0, DESCRIPTOR[code.target]], pos=pos))
    code.blocks[0].instructions[0:0] = first


def make_frame(code: MachineFunction, tables: Target) -> None:
    """Room for the frame below the stack pointer; in a function, also for the registers that it must leave as they
    were, which are put back before every return."""
    saved = [] if code.is_entry else saved_registers(code)
    moves = code.frame_pointer != STACK_POINTER
    at = align_up(code.frame, 4)
    frame = at + 4 * len(saved)
    aligns = code.alignment > _FRAME_UNIT
    before = frame if aligns and not code.is_entry else -1  # where the stack pointer is kept as it was
    code.frame = align_up(frame + 4 * (before >= 0), _FRAME_UNIT)
    for load in code.incoming:
        load.values[2] += code.frame
    down = move_stack(tables, -code.frame) if code.frame else []
    store, load_back = tables.opcode("STL", "[R+I],R"), tables.opcode("LDL", "R,[R+I]")
    places = [(register, at + 4 * n) for n, register in enumerate(saved)]
    stores = [Machine(store, [STACK_POINTER, place, register]) for register, place in places]
    if aligns:
        down += align_stack(tables, code.alignment)
        code.frame += code.alignment - _FRAME_UNIT
    if before >= 0:
        down.insert(0, copy(tables, _UNUSED, STACK_POINTER))
        stores.append(Machine(store, [STACK_POINTER, before, _UNUSED]))
    first = code.blocks[0].instructions
    behind = 1 if code.is_entry else 0
    keep = [copy(tables, FRAME_POINTER, STACK_POINTER)] if moves and (code.frame or not code.is_entry) else []
    first[behind:behind] = down + stores + keep
    if code.is_entry:
        return
    for block in code.blocks:
        if block.instructions and effects(block.instructions[-1].opcode).flow == "return":
            loads = [Machine(load_back, [register, STACK_POINTER, place]) for register, place in places]
            if before >= 0:
                up = [Machine(load_back, [STACK_POINTER, STACK_POINTER, before])]
            else:
                up = move_stack(tables, code.frame) if code.frame else []
            back = [copy(tables, STACK_POINTER, FRAME_POINTER)] if moves else []
            block.instructions[-1:-1] = back + loads + up


def move_stack(tables: Target, distance: int) -> list[Machine]:
    if not tables.wide:
        return [Machine(tables.opcode("IADD32I", "R,R,I"), [STACK_POINTER, STACK_POINTER, distance])]
    return [Machine(tables.opcode("IADD3", "R,R,I,R"), [STACK_POINTER, STACK_POINTER, distance, RZ])]


def align_stack(tables: Target, alignment: int) -> list[Machine]:
    mask = -alignment & 0xFFFFFFFF
    if not tables.wide:
        return [Machine(tables.opcode("LOP32I.AND", "R,R,I"), [STACK_POINTER, STACK_POINTER, mask])]
    return [Machine(tables.opcode("LOP3.LUT", "R,R,I,R,I,!P"), [STACK_POINTER, STACK_POINTER, mask, RZ, 0xC0, PT])]


def copy(tables: Target, to: int, register: int) -> Machine:
    return Machine(tables.opcode("MOV", "R,R"), [to, register])


def saved_registers(code: MachineFunction) -> list[int]:
    """The general registers that a function changes and must not, ascending."""
    written = changed_registers(code)
    if code.calls and code.target != 61:
        written |= 3 << RETURN_ADDRESS
    if code.frame_pointer != STACK_POINTER:
        written |= 1 << code.frame_pointer
    return members(written & code.saved)


def changed_by(code: MachineFunction) -> int:
    """The general registers that are different behind a call of a function, as bits: what it and all that it calls
    change, but for what it saves."""
    changed = changed_registers(code)
    for site in code.calls:
        changed |= site.call.clobbers
    return changed & ~code.saved & ~(1 << STACK_POINTER)


def changed_registers(code: MachineFunction) -> int:
    """The general registers that instructions of a function write, as bits."""
    written = 0
    for block in code.blocks:
        for instruction in block.instructions:
            for file, register in registers_written(instruction):
                if file == GENERAL:
                    written |= 1 << register
    return written


# -- the section -----------------------------------------------------------------------------------------


def join(functions: list[MachineFunction], tables: Target) -> Joined:
    """One section of the kernel and the functions behind it, all labels placed."""
    kernel = functions[0]
    out = Joined(kernel)
    entries: dict[str, int] = {}
    sites: list[CallSite] = []
    starts: list[int] = []
    blocks: list[MachineBlock] = []
    for function in functions:
        base = len(blocks)
        starts.append(base)
        entries[function.name] = base
        sites += function.calls
        if function is not kernel:
            kernel.relocations += function.relocations
        for block in function.blocks:
            if not base:
                continue
            block.id += base
            block.successors = [successor + base for successor in block.successors]
            for instruction in block.instructions:
                found = instruction.opcode.effects or effects(instruction.opcode)
                if found.branch_label >= 0:
                    instruction.values[found.branch_label] += base
        blocks += function.blocks
    kernel.blocks = blocks
    places = place_branches(kernel, tables)
    for n, function in enumerate(functions[1:], 1):
        part = Part(function.name, function.frame)
        part.offset = places[starts[n]]
        end = starts[n + 1] if n + 1 < len(functions) else len(blocks)
        part.size = places[end] - part.offset
        out.parts.append(part)
    if sites or len(functions) > 1 or kernel.relocations or not kernel.is_entry:
        place_calls(out, sites, {name: places[block] for name, block in entries.items()}, tables)
    return out


def place_branches(code: MachineFunction, tables: Target) -> list[int]:
    """Put distances into branches, now that the place of every block is known; returns where blocks begin and the
    last one ends."""
    places: list[int] = []
    index = 0
    for block in code.blocks:
        places.append(label_of(tables, index))
        index += len(block.instructions)
    places.append(label_of(tables, index))
    index = 0
    for block in code.blocks:
        for instruction in block.instructions:
            found = instruction.opcode.effects or effects(instruction.opcode)
            label = found.branch_label
            if label >= 0:
                end = address_of(tables, index) + tables.word_bytes
                instruction.values[label] = places[instruction.values[label]] - end
            index += 1
    return places


def label_of(tables: Target, index: int) -> int:
    """Where a label before an instruction stands: on sm_61 before its control word, if that comes first."""
    address = address_of(tables, index)
    return address - address % 32 if not tables.wide and index % GROUP == 0 else address


def place_calls(out: Joined, sites: list[CallSite], entries: dict[str, int], tables: Target) -> None:
    """Put distances into calls and returns, and return addresses where they belong."""
    ends: dict[int, int] = {}
    index = 0
    for block in out.code.blocks:
        for instruction in block.instructions:
            offset = address_of(tables, index) + tables.word_bytes
            index += 1
            ends[id(instruction)] = offset
            if tables.wide and effects(instruction.opcode).flow == "return" and instruction.opcode.slots[1].kind == "L":
                instruction.values[1] = -offset
    for site in sites:
        behind = ends[id(site.call)]
        if site.address is not None and site.upper is not None:
            for word, part in ((site.address, "LO"), (site.upper, "HI")):
                at = ends[id(word)] - tables.word_bytes
                out.relocations.append(Relocation(at, f"R_CUDA_ABS32_{part}_32", out.code.name, behind))
            continue
        if site.is_external:
            out.external_calls.append(behind - tables.word_bytes)
            if site.callee not in out.external:
                out.external.append(site.callee)
        elif site.callee and not site.call.is_relocated:
            site.call.values[0] = entries[site.callee] - behind
        elif not site.callee and tables.wide:
            site.call.values[1] = -behind
        if site.base is not None and effects(site.base.opcode).base == "PRET":
            out.jumps.append(behind - tables.word_bytes)
        if site.address is not None:
            start = 0
            if site.base is not None:
                # LEPC with a label counts from its end, LEPC without one is its own address.
                start = ends[id(site.base)] - (0 if site.base is site.address else tables.word_bytes)
            site.address.values[site.place] = behind - start
    out.external_calls.sort()
    for relocation in out.code.relocations:
        at = ends[id(relocation.instruction)] - tables.word_bytes
        out.relocations.append(Relocation(at, relocation.kind, relocation.symbol, relocation.addend))
    out.relocations.sort(key=lambda relocation: -relocation.offset)
