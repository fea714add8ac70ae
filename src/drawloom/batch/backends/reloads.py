"""Values that do not fit into registers: loaded anew where they are used again, from where memory has them.

    before: %1 = load b[0]; ... a hundred instructions ...; fma %a, %1, %c
    after:  ...; %9 = load b[0]; fma %a, %9, %c

    before: %2 = fmul %a, %b; ... a hundred instructions ...; fadd %2, %c
    after:  %2 = fmul %a, %b; store %2 to a slot of the stack; ...; %9 = load the slot; fadd %9, %c

LLVM's allocator does worse in long blocks: it keeps what is loaded once on the stack, a store and a load in place of an
operand in memory, and it splits the lives of hundreds of values badly. It also merges equal loads. So a load that is to
be a new one has an address that LLVM cannot compare: the pointers of every `PHASE` instructions are other ones to it.
Slots of the stack have such addresses, too, whose code is shorter, and are volatile in LLVM's words (`llvm.py`). Masks
have slots of their own, a bit for each lane, near each other: the code that reads them is shorter than LLVM's.
"""

from __future__ import annotations

import heapq
from typing import Final

from drawloom.batch.backends.chunk_ir import Chunk, ChunkProgram, Place
from drawloom.batch.ir.ir import MASK, VOID

#: Instructions whose loads share their addresses.
PHASE: Final = 128
LOADS: Final = ("load", "broadcast")
#: The name of the stack's slots for a type, as a pointer's; no parameter has it.
STACK: Final = "stack "
#: Lanes -> the integer that has a bit for each, as a mask's slot has. Lanes of narrow integers are wider there
#: (`widening.py`): no slot of a vector has these types.
MASK_TYPES: Final = {8: "i8", 16: "i16"}
#: What holds no vector register.
NO_REGISTER: Final = ("constant", "carried", "argument", "group", "table")


def reload_from_memory(program: ChunkProgram, registers: int, *, use_stack: bool, mask_registers: int = 0) -> None:
    """Replace late uses of values by loads, as far as the values would leave their registers (Belady's rule).

    Args:
        program: Its block is changed in place; blocks of loops stay as they are.
        registers: How many vector registers there are.
        use_stack: Whether values that memory does not have are stored; otherwise they are left to the compiler.
        mask_registers: How many registers there are for masks; with none, masks are left to the compiler.
    """
    if any(chunk.op == "loop" for chunk in program.block):
        return
    Reloader(program, registers, use_stack, mask_registers).run()


class Held:
    """The values that are held in registers of one kind, by their next use."""

    def __init__(self, registers: int) -> None:
        self.registers = registers
        self.next_use: dict[int, int] = {}
        self.heap: list[tuple[int, int]] = []

    def hold(self, number: int, following: int) -> list[int]:
        """Hold a value until its next use; return those that leave their registers for it."""
        self.next_use[number] = following
        heapq.heappush(self.heap, (-following, number))
        leaving = []
        while len(self.next_use) > self.registers:
            distance, evicted = heapq.heappop(self.heap)
            if self.next_use.get(evicted) == -distance:
                del self.next_use[evicted]
                leaving.append(evicted)
        return leaving


class Reloader:
    """The values that are held, and the newest load of each place."""

    def __init__(self, program: ChunkProgram, registers: int, use_stack: bool, mask_registers: int) -> None:
        self.program = program
        self.use_stack = use_stack
        self.vectors, self.masks = Held(registers), Held(mask_registers)
        self.uses: dict[int, list[int]] = {}
        for place, chunk in enumerate(program.block):
            for operand in chunk.operands:
                if operand.op not in NO_REGISTER and (operand.type != MASK or (mask_registers and use_stack)):
                    self.uses.setdefault(operand.number, []).append(place)
        for places in self.uses.values():
            places.reverse()
        self.newest: dict[int, Chunk] = {}
        self.result: list[Chunk] = []
        # The slots of what was stored, by number, and those that are free again, by type.
        self.slots: dict[int, Place] = {}
        self.free_slots: dict[str, list[Place]] = {}

    def run(self) -> None:
        for place, chunk in enumerate(self.program.block):
            for operand in dict.fromkeys(chunk.operands):
                if operand.number in self.uses:
                    self.use(operand, place)
            chunk.operands = tuple(self.newest.get(operand.number, operand) for operand in chunk.operands)
            self.result.append(chunk)
            if self.uses.get(chunk.number):
                self.newest[chunk.number] = chunk
                self.hold(chunk)
        self.program.block = self.result

    def use(self, operand: Chunk, place: int) -> None:
        """Take an operand from its register, or load it anew."""
        number = operand.number
        held = self.kind(operand).next_use
        if number not in held and (self.use_stack or self.is_reloadable(operand)):
            self.newest[number] = self.load_again(operand)
        while self.uses[number] and self.uses[number][-1] <= place:
            self.uses[number].pop()
        held.pop(number, None)
        if self.uses[number]:
            self.hold(operand)
        elif number in self.slots:
            slot = self.slots.pop(number)
            self.free_slots.setdefault(slot.type, []).append(slot)

    def load_again(self, operand: Chunk) -> Chunk:
        if self.is_reloadable(operand):
            op, source = operand.op, operand.detail
        else:
            op, source = "load", self.slots[operand.number]
        self.program.number += 1
        fresh = Chunk(self.program.number, op, operand.type, (), self.in_phase(source))
        self.result.append(fresh)
        return fresh

    def keep(self, number: int) -> None:
        """Store a value that leaves its register, unless memory has it."""
        value = self.newest[number]
        if number in self.slots or self.is_reloadable(value):
            return
        slot = self.slots[number] = self.take_slot(self.memory_type(value))
        self.program.number += 1
        self.result.append(Chunk(self.program.number, "store", VOID, (value,), self.in_phase(slot)))

    def in_phase(self, place: Place) -> Place:
        return place._replace(phase=len(self.result) // PHASE)

    def take_slot(self, type: str) -> Place:
        free = self.free_slots.get(type)
        if free:
            return free.pop()
        size = self.program.stack.get(type, 0)
        self.program.stack[type] = size + (1 if type in MASK_TYPES.values() else self.program.width)
        return Place(STACK + type, type, (), size)

    def is_reloadable(self, chunk: Chunk) -> bool:
        if chunk.op not in LOADS or chunk.operands:
            return False
        assert isinstance(chunk.detail, Place)
        return chunk.detail.pointer in self.program.read_only

    def hold(self, value: Chunk) -> None:
        for leaving in self.kind(value).hold(value.number, self.uses[value.number][-1]):
            if self.use_stack:
                self.keep(leaving)

    def kind(self, value: Chunk) -> Held:
        return self.masks if value.type == MASK else self.vectors

    def memory_type(self, value: Chunk) -> str:
        return MASK_TYPES[self.program.width] if value.type == MASK else value.type
