"""Loads, or stores, of neighbours in memory become one of a vector, where the address is proved to be aligned.

    ld.global.f32 %f1, [%rd1];      ld.global.v2.f32 {%f1, %f2}, [%rd1];
    ld.global.f32 %f2, [%rd1+4];

What is known of an address is how many zeros it ends with: from ``.ptr .align`` of a parameter and the alignment of a
variable, and from the arithmetic behind those. Between the loads, or the stores, nothing may write there, or read what
is stored. Loads go to the first of them, stores to the last.
"""

from __future__ import annotations

from typing import Final

from drawloom.opt.memory import Memory, Place, memory_of, touches_local
from drawloom.opt.work import Work
from drawloom.ptx.ir import Address, Immediate, Instruction, Operand, Register, Statement, Symbol, Vector
from drawloom.ptx.isa import LOAD, PURE, Opcode, OpcodeError, decode
from drawloom.ptx.ssa import SsaBlock

_SIZES: Final = (4, 8)
_LARGEST: Final = 16
#: Runs that are followed at a time: neighbours are not far from each other, and each access looks at all of them.
_MOST_OPEN: Final = 16
#: Zeros of a number that is 0.
_ALL: Final = 64
_MOST_ROUNDS: Final = 4


def join_accesses(work: Work) -> None:
    """Look at every block for accesses beside each other; alignment is worked out when there are any."""
    memory = memory_of(work)
    if len(memory.places) < 2 or not _is_aligned(work):
        return
    zeros: _Zeros | None = None
    for block in work.ssa.blocks:
        joined: dict[int, Instruction | None] = {}
        for run in _runs(memory, block):
            if zeros is None:
                zeros = _Zeros(work)
            _join(work, run, zeros, joined)
        if joined:
            _replace(block, joined)


def _is_aligned(work: Work) -> bool:
    """Whether anything is said to be aligned to more than a value."""
    source = work.ssa.source
    if any(v.is_pointer and v.pointer_align > _SIZES[0] for v in source.params):
        return True
    variables = [*source.variables, *work.module.variables.values()]
    return any(max(v.align, v.type.bytes) > _SIZES[0] for v in variables)


class _Run:
    """Accesses of one kind by one base, by their offset. Loads move up to the first: ``blocked`` are the places that
    were written since; a run is left at what may write to all of them. Stores move down: a run is left at what reads or
    writes what it stores; ``taken`` are the places of its members."""

    def __init__(self, place: Place, opcode: Opcode) -> None:
        self.opcode = opcode
        self.first = place
        self.members: dict[int, Instruction] = {}
        self.taken: set[int] = set()
        self.blocked: set[int] = set()

    def takes(self, place: Place, opcode: Opcode) -> bool:
        if self.opcode is not opcode or not self.has_base(place):
            return False
        return place.offset not in self.members and place.index not in self.blocked

    def has_base(self, place: Place) -> bool:
        return place.base == self.first.base and place.space == self.first.space


def _runs(memory: Memory, block: SsaBlock) -> list[_Run]:
    """The runs of a block that have more than one access."""
    found: list[_Run] = []
    open: list[_Run] = []
    for statement in block.statements:
        if not isinstance(statement, Instruction) or statement.opcode.effect == PURE:
            continue
        place = memory.place(statement)
        if place is not None or memory.may_write(statement):
            open = [run for run in open if _goes_on(memory, run, statement, place)]
        if place is None or not _can_join(statement, place):
            continue
        takers = [run for run in open if run.takes(place, statement.opcode)]
        if not takers:
            takers = [_Run(place, statement.opcode)]
            open = [*open[-_MOST_OPEN + 1 :], *takers]
            found += takers
        takers[-1].members[place.offset] = statement
        takers[-1].taken.add(place.index)
    return [run for run in found if len(run.members) > 1]


def _goes_on(memory: Memory, run: _Run, instruction: Instruction, place: Place | None) -> bool:
    """Whether a run may get more members behind an access, or an instruction that is not followed."""
    loads = run.opcode.effect == LOAD
    if place is None:
        return run.first.space == "local" and not touches_local(instruction.opcode)
    if loads and instruction.opcode.effect == LOAD:
        return True
    if not run.has_base(place):
        return not memory.may_overlap(run.first, place)
    if loads:
        run.blocked.update([other.index for other in memory.near(place)])
        return True
    return not any(other.index in run.taken for other in memory.near(place))


def _can_join(access: Instruction, place: Place) -> bool:
    value = access.operands[0 if access.opcode.effect == LOAD else 1]
    return place.whole and access.guard is None and place.size in _SIZES and isinstance(value, Register)


def _join(work: Work, run: _Run, zeros: _Zeros, joined: dict[int, Instruction | None]) -> None:
    """Make vectors of neighbours, four of them where that is possible, else two: what is ``joined``, by the id() of the
    first load or the last store, and None for the others."""
    size = run.first.size
    offsets = sorted(run.members, reverse=True)
    order = {offset: number for number, offset in enumerate(run.members)}
    while offsets:
        offset = offsets[-1]
        for count in (4, 2):
            taken = [o for o in range(offset, offset + count * size, size) if o in run.members]
            if len(taken) == count and count * size <= _LARGEST:
                members = [run.members[o] for o in taken]
                aligned = 1 << zeros.of_address(members[0], offset) >= count * size
                opcode = _vector(run.opcode, count) if aligned else None
                if opcode is not None:
                    made = _vector_access(members, opcode)
                    joined.update(dict.fromkeys([id(member) for member in members]))
                    taken.sort(key=order.__getitem__)
                    joined[id(run.members[taken[0 if opcode.effect == LOAD else -1]])] = made
                    work.changed(made, f"in the place of {count}")
                    while offsets and offsets[-1] < offset + count * size:
                        offsets.pop()
                    break
        else:
            offsets.pop()


def _vector(opcode: Opcode, count: int) -> Opcode | None:
    """The opcode of so many values."""
    head, _, type = opcode.text.rpartition(".")
    try:
        return decode(f"{head}.v{count}.{type}")
    except OpcodeError:
        return None


def _vector_access(members: list[Instruction], opcode: Opcode) -> Instruction:
    """One access for several beside each other."""
    loads = opcode.effect == LOAD
    values: list[Operand] = [member.operands[0 if loads else 1] for member in members]
    address = members[0].operands[1 if loads else 0]
    return Instruction(opcode, [Vector(values), address] if loads else [address, Vector(values)], pos=members[0].pos)


def _replace(block: SsaBlock, joined: dict[int, Instruction | None]) -> None:
    """Put what is joined into its place."""
    out: list[Statement] = []
    for statement in block.statements:
        made = joined.get(id(statement), statement)
        if made is not None:
            out.append(made)
    block.statements = out


class _Zeros:
    """How many zeros values end with: ``of[v]``, never more than is sure once the rounds have ended."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self.of = [_ALL] * len(work.ssa.registers)
        self.params = {v.name: v for v in work.ssa.source.params} if work.ssa.source.is_entry else {}
        for value in [*work.ssa.parameters, *[work.ssa.registers[v] for v in sorted(work.ssa.undefined)]]:
            if value is not None:
                self.of[value.id] = 0
        rounds = 0
        while self.round(rounds >= _MOST_ROUNDS):
            rounds += 1

    def round(self, give_up: bool) -> bool:
        """Lower what has to be; values that still fall after some rounds have no zeros."""
        lowered = False
        for block in self.work.ssa.blocks:
            for phi in block.phis:
                found = min([self.of[a.id] for a in phi.arguments])
                lowered |= self.lower(phi.destination, found, give_up)
            for statement in block.statements:
                if isinstance(statement, Instruction) and statement.opcode.has_destination:
                    found = self.computed(statement) if statement.guard is None else 0
                    for register in statement.destinations():
                        lowered |= self.lower(register, found, give_up)
        return lowered

    def lower(self, register: Register, zeros: int, give_up: bool) -> bool:
        if zeros >= self.of[register.id]:
            return False
        self.of[register.id] = 0 if give_up else zeros
        return True

    def computed(self, instruction: Instruction) -> int:
        opcode = instruction.opcode
        operands = instruction.operands
        name = opcode.name
        if name == "ld":
            return self.loaded(instruction)
        if opcode.effect != PURE or opcode.sat or any(t.lanes > 1 or t.is_float for t in opcode.types):
            return 0
        if not isinstance(operands[0], Register):
            return 0
        if name == "mov":
            return self.value(operands[1])
        if name in ("add", "sub", "or", "xor", "min", "max", "selp"):
            return min(self.value(operands[1]), self.value(operands[2]))
        if name == "and":
            return max(self.value(operands[1]), self.value(operands[2]))
        if name in ("mul", "mad") and opcode.half in ("lo", "wide"):
            product = min(_ALL, self.value(operands[1]) + self.value(operands[2]))
            return product if name == "mul" else min(product, self.value(operands[3]))
        if name == "shl" and isinstance(operands[2], Immediate) and operands[2].value >= 0:
            return min(_ALL, self.value(operands[1]) + operands[2].value)
        return self.value(operands[1]) if name in ("cvt", "cvta", "neg") else 0

    def loaded(self, load: Instruction) -> int:
        address = load.operands[1]
        if load.opcode.space != "param" or not isinstance(address, Address) or not isinstance(address.base, Symbol):
            return 0
        parameter = self.params.get(address.base.name)
        if parameter is None or not parameter.is_pointer:
            return 0
        return _zeros(parameter.pointer_align or 1)

    def value(self, operand: Operand) -> int:
        if isinstance(operand, Register):
            return self.of[operand.id]
        if isinstance(operand, Immediate):
            return _zeros(operand.value)
        return self.symbol(operand) if isinstance(operand, Symbol) else 0

    def symbol(self, symbol: Symbol) -> int:
        """The alignment of a variable; a cvta of it keeps that, as windows are aligned to more."""
        for variable in [*self.work.ssa.source.variables, *self.work.module.variables.values()]:
            if variable.name == symbol.name:
                return min(_zeros(variable.align or variable.type.bytes), _zeros(symbol.offset))
        return 0

    def of_address(self, access: Instruction, offset: int) -> int:
        for operand in access.operands[:2]:
            if isinstance(operand, Address):
                base = operand.base
                known = _ALL if base is None else self.value(base)
                return min(known, _zeros(offset))
        return 0


def _zeros(number: int) -> int:
    """Trailing zeros of a number."""
    return (number & -number).bit_length() - 1 if number else _ALL
