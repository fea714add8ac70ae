"""Loads, or stores, of neighbours in memory that one vector access does for all lanes.

    ld.global.f32 %f1, [%rd1];          lane 0 has bytes 0 to 11, lane 1 has 12 to 23 ...: together they are contiguous
    ld.global.f32 %f2, [%rd1+4];
    ld.global.f32 %f3, [%rd1+8];        (%rd1 is affine, or widened, with a stride of 12)

Such are fields of structures in an array, and vectors that are aligned as their elements are (OpenCL's ``vload4``). PTX
has no instruction for them: its vector accesses have 2, 4 or 8 elements and are aligned as a whole.

Loads go to the first of a group, stores to the last. In between nothing writes memory, or reads it where the group
stores; nothing touches a register that moves; and no warp stops.
"""

from __future__ import annotations

from typing import Final

from drawloom.cpu.memory import Memory
from drawloom.ptx.ir import Address, Instruction, Register
from drawloom.ptx.isa import LOAD, PURE, STORE

#: The longest stride of a group, and its longest vector, in elements: LLVM needs time for each register that they take.
_MOST_SLOTS: Final = 16
_MOST_ELEMENTS: Final = 1024
#: Groups that are looked at at a time.
_MOST_OPEN: Final = 16
#: By the place of an instruction in its block: the accesses that are done there, none for those done with others.
Groups = dict[int, list[Instruction]]
#: Whether accesses load, their base (a register's number, or -1 and a variable), and the bytes of their elements.
_Key = tuple[bool, int, str, int]


class _Group:
    """Accesses by one base; neighbouring lanes are ``stride`` bytes apart. ``offsets`` are those of their elements;
    ``touched`` the registers that were read or written since a group of loads began, ``stored`` what stores need."""

    def __init__(self, key: _Key, stride: int) -> None:
        self.is_load = key[0]
        self.base = key[1]
        self.size = key[3]
        self.stride = stride
        self.members: list[Instruction] = []
        self.places: list[int] = []
        self.offsets: list[int] = []
        self.touched: set[int] = set()
        self.stored: set[int] = set()

    def takes(self, instruction: Instruction) -> bool:
        """Whether an access lies beside the others, within the stride, and its registers are free to move."""
        every = [*self.offsets, *_offsets(instruction, self.size)]
        low = min(every)
        if len(set(every)) < len(every) or max(every) + self.size - low > self.stride:
            return False
        if any((offset - low) % self.size for offset in every):
            return False
        return not self.is_load or self.touched.isdisjoint([r.id for r in instruction.destinations()])

    def add(self, instruction: Instruction, place: int) -> None:
        self.members.append(instruction)
        self.places.append(place)
        self.offsets += _offsets(instruction, self.size)
        if not self.is_load:
            self.stored.update([r.id for r in instruction.sources()])

    def outlives(self, instruction: Instruction) -> bool:
        """Whether accesses behind an instruction may still join, by the registers that it reads and writes."""
        written = [r.id for r in instruction.destinations()]
        if self.base in written or not self.stored.isdisjoint(written):
            return False
        if self.is_load:
            self.touched.update(written)
            self.touched.update([r.id for r in instruction.sources()])
        return True


def find_groups(instructions: list[Instruction], memory: Memory) -> Groups:
    """The groups of a block."""
    search = _Search(memory)
    for place, instruction in enumerate(instructions):
        search.visit(instruction, place)
    search.close(list(search.open))
    return search.found


class _Search:
    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.open: dict[_Key, _Group] = {}
        self.found: Groups = {}

    def visit(self, instruction: Instruction, place: int) -> None:
        effect = instruction.opcode.effect
        key = self.key_of(instruction)
        if effect == STORE:
            self.close([other for other in self.open if other[0] or other != key])
        elif effect == LOAD and instruction.opcode.weak:
            if instruction.opcode.space != "param" or not self.memory.f.function.is_entry:
                self.close([other for other in self.open if not other[0]])
        elif effect != PURE:
            self.close(list(self.open))
        group = self.open.get(key) if key is not None else None
        joins = group is not None and group.takes(instruction)
        if group is not None and joins:
            group.add(instruction, place)
        self.close([k for k, other in self.open.items() if (k == key and not joins) or not other.outlives(instruction)])
        if key is not None and not joins:
            self.begin(key, instruction, place)

    def begin(self, key: _Key, instruction: Instruction, place: int) -> None:
        if len(self.open) == _MOST_OPEN:
            self.close([next(iter(self.open))])
        group = _Group(key, self.memory.stride_of(instruction))
        group.add(instruction, place)
        if group.outlives(instruction):
            self.open[key] = group

    def key_of(self, instruction: Instruction) -> _Key | None:
        """What a plain access has in common with those that it may join."""
        opcode = instruction.opcode
        if opcode.effect not in (LOAD, STORE) or not opcode.weak or instruction.guard is not None:
            return None
        bits = opcode.types[0].bits
        stride = self.memory.stride_of(instruction)
        address = _address(instruction)
        if bits > 64 or stride <= 0 or stride * 8 % bits or stride * 8 > bits * _MOST_SLOTS:
            return None
        if stride * 8 // bits * self.memory.f.lanes > _MOST_ELEMENTS or address is None:
            return None
        base = address.base
        number, name = (base.id, "") if isinstance(base, Register) else (-1, repr(base))
        return opcode.effect == LOAD, number, name, bits // 8

    def close(self, keys: list[_Key]) -> None:
        for key in keys:
            group = self.open.pop(key)
            if len(group.members) > 1 and self.pays(group):
                self.found.update({place: [] for place in group.places})
                self.found[group.places[0 if group.is_load else -1]] = group.members

    def pays(self, group: _Group) -> bool:
        """Whether half of the elements are used, or all where the processor has no masks for them."""
        used = len(group.offsets) * group.size
        return used == group.stride or (used * 2 >= group.stride and self.memory.has_masks(f"i{8 * group.size}"))


def _address(instruction: Instruction) -> Address | None:
    operand = instruction.operands[1 if instruction.opcode.effect == LOAD else 0]
    return operand if isinstance(operand, Address) else None


def _offsets(instruction: Instruction, size: int) -> list[int]:
    """The offsets of an access's elements from its base, in bytes."""
    address = _address(instruction)
    first = 0 if address is None else address.offset
    return [first + size * i for i in range(instruction.opcode.vector)]
