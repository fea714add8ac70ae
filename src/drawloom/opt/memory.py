"""The places in memory that a function's weak loads and stores go to, and which of them may be the
same: what ``loads``, ``stores``, ``invariant`` and ``readonly`` ask (Wu and others, "gpucc", CGO 2016, section 3.3).

    Place ::= space, base register or symbol or none, offset, size, how the bytes become the register

Two places do not overlap if they are in two spaces, which tell memory apart; if they lie beside each other at one base;
or if their addresses come from different variables. What an address comes from is a set of bits, too: all that went
into it. A difference of two addresses has the bits of both, and what was loaded or given by a call has a bit that is
anything. A kernel parameter brings no variable of shared or local memory, but may bring those of global memory; a
generic address of parameters alone leads to no local memory, which ends with the grid that has it. With the promise
"distinct-parameters" each parameter has a bit of its own.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Final

from mypy_extensions import mypyc_attr

from drawloom.opt.work import Work
from drawloom.ptx.ir import Address, Immediate, Instruction, Operand, Register, Symbol, Variable, Vector
from drawloom.ptx.isa import ATOMIC, BARRIER, BRANCH, FENCE, LOAD, PURE, STORE, WARP, Opcode

_SPACES: Final = ("", "global", "shared", "local")
#: Modifiers of accesses that are no more than what their type and space say, or tell the caches something.
_HARMLESS: Final = frozenset("weak global shared local ca cg wb cs wt v2 v4 v8".split())
_PRIVATE: Final = ("shared", "local")
#: Bits of sources: anything; a kernel parameter; after these one for each variable, or promised parameter.
ANYTHING: Final = 1
_OUTSIDE: Final = 2
_FIRST: Final = 4
#: All bits, those of variables that are not met yet with them.
_EVERYTHING: Final = -1
#: Rounds over a function in which sources may still grow around loops; then all that do are everything at once.
_MOST_ROUNDS: Final = 8
#: Places of one ``Part``: sets take so many bits for each block at a time.
_LARGEST_PART: Final = 4096
Base = tuple[str, int, str]


@mypyc_attr(acyclic=True)
class Place:
    """``kind`` numbers the places that nothing but their bases tells apart; ``whole`` says that its bytes are the
    register as it is, ``loads`` and ``stores`` how many instructions do so there, and ``own`` that nobody sees it once
    the function has returned."""

    def __init__(self, index: int, space: str, address: Address, size: int, whole: bool) -> None:
        self.index = index
        self.kind = -1  # ``Memory.kind`` finds it
        self.space = space
        self.address = address
        self.base = _base(address)
        self.offset = address.offset
        self.size = size
        self.sources = 0  # ``Memory.sources`` finds them
        self.whole = whole
        self.loads = 0
        self.stores = 0
        self.own = False

    def overlaps(self, other: Place) -> bool:
        """Whether a byte of both may be the same."""
        if self.base == other.base and self.space == other.space:
            return self.offset < other.offset + other.size and other.offset < self.offset + self.size
        return self.meets(other)

    def meets(self, other: Place) -> bool:
        """Whether a byte of both may be the same, by what tells places at two bases apart."""
        if self.space != other.space and self.space and other.space:
            return False
        a, b = self.sources, other.sources
        if (a | b) & ANYTHING:
            return True
        if self.space not in _PRIVATE or other.space not in _PRIVATE:
            if "local" in (self.space, other.space):
                generic, local = (b, a) if self.space == "local" else (a, b)
                if generic == _OUTSIDE:
                    return local & _OUTSIDE != 0
            return (a | b) & _OUTSIDE != 0 or a & b != 0
        if a != _OUTSIDE and b != _OUTSIDE:
            a &= ~_OUTSIDE
        return a & b != 0

    def covers(self, other: Place) -> bool:
        """Whether all bytes of another place are in this one."""
        if self.space != other.space or self.base != other.base:
            return False
        return self.offset <= other.offset and other.offset + other.size <= self.offset + self.size


@mypyc_attr(acyclic=True)
class _Group:
    """The places of one space at one base, in the order of their offsets once they are asked for."""

    def __init__(self) -> None:
        self.places: list[Place] = []
        self.largest = 0
        self.offsets: list[int] = []

    def add(self, place: Place) -> None:
        self.places.append(place)
        self.largest = max(self.largest, place.size)

    def near(self, place: Place) -> list[Place]:
        """The places that begin where they may have a byte of one."""
        if not self.offsets:
            self.places.sort(key=_offset)
            self.offsets = [one.offset for one in self.places]
        start = bisect_right(self.offsets, place.offset - self.largest)
        return self.places[start : bisect_left(self.offsets, place.offset + place.size)]


def _offset(place: Place) -> int:
    return place.offset


class Memory:
    """The places of a function, as it is when this is made. ``place`` finds that of a plain access; accesses that are
    moved or removed, and those whose address is replaced by an equal one, leave the rest as it is."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self.places: list[Place] = []
        self.stored = 0  # stores among the plain accesses
        self._sources: Sources | None = None
        self._of: dict[tuple[str, Base, int, int, str], Place] = {}
        self._groups: dict[tuple[str, Base], _Group] = {}
        self._kinds: list[Place] = []  # a place of each kind: those of a kind have one space and the same sources
        self._meeting: list[int] = []  # by kind: the kinds whose places may have a byte of one of its own
        self._instructions: dict[int, Place] = {}  # by id(), which is not used again while these are held
        self._held: list[Instruction] = []
        for block in work.ssa.blocks:
            for statement in block.statements:
                if isinstance(statement, Instruction) and is_plain(statement.opcode):
                    self._instructions[id(statement)] = self._enter(statement)
                    self._held.append(statement)

    def _enter(self, access: Instruction) -> Place:
        opcode = access.opcode
        address, value = access.operands[0], access.operands[1]
        if opcode.effect == LOAD:
            address, value = value, address
        assert isinstance(address, Address) and opcode.type is not None
        base = _base(address)
        size = opcode.type.bytes * opcode.vector
        extension = _extension(opcode, value)
        key = (opcode.space, base, address.offset, size, extension)
        known = self._of.get(key)
        if known is None:
            known = Place(len(self.places), opcode.space, address, size, not extension)
            if opcode.space == "local":
                known.own = self.work.ssa.source.is_entry or not self.sources.of_address(address) & ANYTHING
            self._of[key] = known
            self.places.append(known)
            self._groups.setdefault((known.space, base), _Group()).add(known)
        if opcode.effect == LOAD:
            known.loads += 1
        else:
            known.stores += 1
            self.stored += 1
        return known

    @property
    def sources(self) -> Sources:
        """What went into values, found out when places at two bases are first compared."""
        if self._sources is None:
            self._sources = Sources(self.work)
        return self._sources

    def place(self, instruction: Instruction) -> Place | None:
        """The place of a plain access, None for all else."""
        return self._instructions.get(id(instruction))

    def near(self, place: Place) -> list[Place]:
        """The places at the base of one that may have a byte of it."""
        return [other for other in self._groups[place.space, place.base].near(place) if place.overlaps(other)]

    def may_overlap(self, place: Place, other: Place) -> bool:
        """Whether a byte of both may be the same."""
        if place.base == other.base and place.space == other.space:
            return place.overlaps(other)
        return self.meeting(place) >> self.kind(other) & 1 != 0

    def kind(self, place: Place) -> int:
        """The number of the places that have the same space and sources."""
        if place.kind < 0:
            self._compare_bases()
        return place.kind

    def meeting(self, place: Place) -> int:
        """The kinds whose places may have a byte of one, at other bases, as a set of bits."""
        kind = self.kind(place)
        found = self._meeting[kind]
        if found < 0:
            found = 0
            for number, alike in enumerate(self._kinds):
                if place.meets(alike):
                    found |= 1 << number
            self._meeting[kind] = found
        return found

    def _compare_bases(self) -> None:
        """Find out what went into addresses, if there are several bases, and which places it does not tell apart."""
        numbers: dict[tuple[str, int], int] = {}
        for place in self.places:
            if len(self._groups) > 1:
                place.sources = self.sources.of_address(place.address)
            key = (place.space, place.sources)
            if key not in numbers:
                numbers[key] = len(numbers)
                self._kinds.append(place)
            place.kind = numbers[key]
        self._meeting = [-1] * len(numbers)

    def parts(self, places: list[Place]) -> list[Part]:
        """Places in parts of a bounded size, so that sets of them are small however many there are."""
        return [Part(self, places[start : start + _LARGEST_PART]) for start in range(0, len(places), _LARGEST_PART)]

    def may_write(self, instruction: Instruction) -> bool:
        """Whether an instruction, or another thread at it, may write to any place."""
        opcode = instruction.opcode
        if opcode.effect in (PURE, BRANCH) or is_elsewhere(opcode):
            return False
        return opcode.effect != LOAD or self.place(instruction) is None


class Part:
    """Some places of a function, each with a bit in the sets that this gives and takes."""

    def __init__(self, memory: Memory, places: list[Place]) -> None:
        self.memory = memory
        self.places = places
        self.all = (1 << len(places)) - 1
        self.shared = 0  # what other threads may write to
        self.bits: dict[int, int] = {}
        self._groups: dict[tuple[str, Base], int] = {}
        self._based: dict[int, int] = {}  # by register: the places that it is the base of
        self._kinds: dict[int, int] = {}
        self._meeting: dict[int, int] = {}
        self._overlapping: dict[int, int] = {}
        self._covered: dict[int, int] = {}
        for number, place in enumerate(places):
            bit = 1 << number
            self.bits[place.index] = bit
            if place.space != "local":
                self.shared |= bit
            key = (place.space, place.base)
            self._groups[key] = self._groups.get(key, 0) | bit
            kind = memory.kind(place)
            self._kinds[kind] = self._kinds.get(kind, 0) | bit
            if isinstance(place.address.base, Register):
                base = place.address.base.id
                self._based[base] = self._based.get(base, 0) | bit

    def bit(self, place: Place) -> int:
        """The bit of a place, 0 if it belongs to another part."""
        return self.bits.get(place.index, 0)

    def overlapping(self, place: Place) -> int:
        """The places of this part that may overlap one of any part."""
        group = self._groups.get((place.space, place.base), 0)
        if not group:
            return self._elsewhere(place)
        found = self._overlapping.get(place.index, -1)
        if found < 0:
            # Those at its own base have its sources: offsets tell.
            found = self._elsewhere(place) & ~group
            for other in self.memory.near(place):
                found |= self.bits.get(other.index, 0)
            self._overlapping[place.index] = found
        return found

    def _elsewhere(self, place: Place) -> int:
        """The places whose kind meets that of one."""
        kind = self.memory.kind(place)
        found = self._meeting.get(kind, -1)
        if found < 0:
            found = 0
            meeting = self.memory.meeting(place)
            for number, bits in self._kinds.items():
                if meeting >> number & 1:
                    found |= bits
            self._meeting[kind] = found
        return found

    def covered(self, place: Place) -> int:
        """The places of this part all of whose bytes are in one of any part."""
        if (place.space, place.base) not in self._groups:
            return 0
        found = self._covered.get(place.index, -1)
        if found < 0:
            found = 0
            for other in self.memory.near(place):
                if place.covers(other):
                    found |= self.bits.get(other.index, 0)
            self._covered[place.index] = found
        return found

    def moved(self, registers: list[Register]) -> int:
        """The places that are others once these registers are written: in a loop, those of its next round."""
        found = 0
        for register in registers:
            found |= self._based.get(register.id, 0)
        return found

    def moved_by(self, instruction: Instruction) -> int:
        """The places that are others once an instruction has run."""
        if not instruction.opcode.has_destination or not self._based:
            return 0
        destination = instruction.operands[0]
        if isinstance(destination, Register):
            return self._based.get(destination.id, 0)
        return self.moved(instruction.destinations())

    def written(self, instruction: Instruction) -> int:
        """The places in which another value may be behind an instruction, as it or another thread has written there."""
        opcode = instruction.opcode
        if opcode.effect in (PURE, BRANCH) or is_elsewhere(opcode):
            return 0
        place = self.memory.place(instruction)
        if place is None:
            return self.touched(opcode)
        return 0 if opcode.effect == LOAD else self.overlapping(place)

    def touched(self, opcode: Opcode) -> int:
        """The places that other threads, or an instruction that is not followed, may read or write: of barriers and
        the like not those of local memory."""
        return self.all if touches_local(opcode) else self.shared


class Writes:
    """What some instructions may write to, without a set of places: ``enter`` each, then ask ``reach``."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.everything = False
        self.all_shared = False
        self._places: set[int] = set()
        self._kinds: dict[int, set[tuple[str, Base]]] = {}

    def enter(self, instruction: Instruction) -> None:
        memory = self.memory
        if not memory.may_write(instruction):
            return
        place = memory.place(instruction)
        if place is None:
            self.all_shared = True
            self.everything = self.everything or touches_local(instruction.opcode)
        else:
            self._places.add(place.index)
            self._kinds.setdefault(memory.kind(place), set()).add((place.space, place.base))

    def join(self, other: Writes) -> None:
        """Enter what another one has, which is not used again: the larger one's sets are kept."""
        self.everything = self.everything or other.everything
        self.all_shared = self.all_shared or other.all_shared
        if len(other._places) > len(self._places):
            self._places, other._places = other._places, self._places
            self._kinds, other._kinds = other._kinds, self._kinds
        self._places |= other._places
        for kind, bases in other._kinds.items():
            mine = self._kinds.get(kind)
            if mine is None:
                self._kinds[kind] = bases
            else:
                mine |= bases

    def reach(self, place: Place) -> bool:
        """Whether one of the instructions may write to a place."""
        if self.everything or (self.all_shared and place.space != "local"):
            return True
        if any(other.index in self._places for other in self.memory.near(place)):
            return True
        meeting = self.memory.meeting(place)
        own = (place.space, place.base)
        return any(meeting >> kind & 1 and (len(bases) > 1 or own not in bases) for kind, bases in self._kinds.items())


def touches_local(opcode: Opcode) -> bool:
    """Whether an instruction that is not followed may read or write local memory: barriers and the like do not."""
    return opcode.effect not in (BARRIER, FENCE, WARP) and (opcode.effect != ATOMIC or opcode.space not in _SPACES[1:3])


def memory_of(work: Work) -> Memory:
    """The places of a function, found once for passes that follow each other without computing addresses."""
    found = work.memory
    if not isinstance(found, Memory):
        found = work.memory = Memory(work)
    return found


def is_plain(opcode: Opcode) -> bool:
    """Whether an instruction is a weak load or store in a space that is followed."""
    if opcode.effect not in (LOAD, STORE) or opcode.name not in ("ld", "st") or opcode.space not in _SPACES:
        return False
    if not opcode.weak or opcode.type is None:
        return False
    return _HARMLESS.issuperset(opcode.modifiers)


def is_elsewhere(opcode: Opcode) -> bool:
    """Whether an access is to parameters, or only reads what nobody writes."""
    return opcode.effect in (LOAD, STORE) and (opcode.space in ("param", "const") or opcode.nc)


def _base(address: Address) -> Base:
    base = address.base
    if isinstance(base, Register):
        return ("register", base.id, "")
    return ("symbol", -1, base.name) if base is not None else ("", -1, "")


def _extension(opcode: Opcode, value: Operand) -> str:
    """How bytes become a register: "" where they are all of it, or a literal's; vectors are of no use to others."""
    assert opcode.type is not None
    if isinstance(value, Immediate) and opcode.type.bits in (32, 64):
        return ""
    if isinstance(value, Register) and value.type.bits == 8 * opcode.type.bytes and value.type.kind != "p":
        return ""
    if isinstance(value, Register) and opcode.effect == LOAD and not isinstance(value, Vector):
        return f"{opcode.type.name}.{value.type.bits}"
    return opcode.text


class Sources:
    """What went into values: a set of bits for each register of 32 and 64 bits."""

    def __init__(self, work: Work) -> None:
        self.work = work
        ssa = work.ssa
        self.bits: dict[str, int] = {}
        self.promised = "distinct-parameters" in work.promises and ssa.source.is_entry
        self.of = [0] * len(ssa.registers)
        if not self.promised and not ssa.source.variables and not work.module.variables:
            # Nothing is there to tell one address from another.
            self.of = [ANYTHING] * len(ssa.registers)
            return
        place = {block_id: index for index, block_id in enumerate(work.tree.order)}
        self.turns_back = any(place.get(p, -1) >= place[b] for b in place for p in ssa.blocks[b].preds)
        for value in [*ssa.parameters, *[ssa.registers[v] for v in sorted(ssa.undefined)]]:
            if value is not None:
                self.of[value.id] = ANYTHING
        rounds = 1
        while self.round(_EVERYTHING if rounds >= _MOST_ROUNDS else 0) and self.turns_back:
            rounds += 1

    def round(self, more: int) -> bool:
        """Whether a walk over all instructions has made a set larger; those get ``more``, too."""
        grown = False
        of = self.of
        kept_values = self.work.ssa.kept
        for block_id in self.work.tree.order:
            block = self.work.ssa.blocks[block_id]
            for phi in block.phis:
                found = of[phi.destination.id]
                for argument in phi.arguments:
                    found |= of[argument.id]
                if found != of[phi.destination.id]:
                    of[phi.destination.id] = found | more
                    grown = True
            for statement in block.statements:
                if isinstance(statement, Instruction) and statement.opcode.has_destination:
                    found = self.computed(statement)
                    for register in statement.destinations():
                        kept = kept_values.get(register.id)
                        union = found | of[register.id] | (0 if kept is None else of[kept.id])
                        if union != of[register.id]:
                            of[register.id] = union | more
                            grown = True
        return grown

    def computed(self, instruction: Instruction) -> int:
        opcode = instruction.opcode
        if opcode.effect != PURE:
            return self.loaded(instruction)
        found = 0
        for operand in instruction.operands[1:]:
            if isinstance(operand, Symbol):
                found |= self.symbol(operand.name)
        for register in instruction.sources():
            found |= self.of[register.id]
        if self.promised and opcode.name in _SCALING:
            # A number, which leads from no parameter to another; between variables it might, on purpose.
            found &= ~(self.parameters() | ANYTHING)
            addend = instruction.operands[-1]
            if opcode.name == "mad" and isinstance(addend, Register):
                found |= self.of[addend.id]
        return found

    def parameters(self) -> int:
        """The bits that a promise is about."""
        found = 0
        for name, bit in self.bits.items():
            if name in self.work.kernel_parameters:
                found |= bit
        return found

    def loaded(self, instruction: Instruction) -> int:
        opcode = instruction.opcode
        if opcode.effect != LOAD or opcode.space != "param":
            return ANYTHING
        address = instruction.operands[1]
        if not isinstance(address, Address) or not isinstance(address.base, Symbol):
            return ANYTHING
        name = address.base.name
        if name not in self.work.kernel_parameters:
            return ANYTHING
        if not self.promised:
            return _OUTSIDE
        return self.bit(name) if opcode.type is not None and opcode.type.bits == 64 else 0

    def symbol(self, name: str) -> int:
        """The bit of a variable whose address is taken. Arrays without a size are all at one address."""
        variable = self.variable(name)
        if variable is None or variable.space not in ("global", "shared", "local"):
            return ANYTHING
        return self.bit("extern" if variable.linkage == ".extern" and variable.space == "shared" else name)

    def variable(self, name: str) -> Variable | None:
        for variable in self.work.ssa.source.variables:
            if variable.name == name:
                return variable
        return self.work.module.variables.get(name)

    def bit(self, name: str) -> int:
        return self.bits.setdefault(name, _FIRST << len(self.bits))

    def of_access(self, access: Instruction) -> int:
        """The sources of the address of a load, store or atomic."""
        for operand in access.operands[:2]:
            if isinstance(operand, Address):
                return self.of_address(operand)
        return ANYTHING

    def of_address(self, address: Address) -> int:
        if isinstance(address.base, Register):
            # A number for an address may be anywhere.
            return self.of[address.base.id] or ANYTHING
        return self.symbol(address.base.name) if isinstance(address.base, Symbol) else ANYTHING


_SCALING: Final = frozenset("mul shl shr mad".split())
