"""Stretches of a warp's code between what its lanes do together, a register's worth of lanes at a time.

    shfl.sync ...                     all lanes at once: a vector of 32
    mul, add, sqrt, ld.global ...     for 8 lanes, then the next 8: a loop of 4 rounds, whose values stay in registers
    shfl.sync ...

With AVX2 a warp's value takes four registers of sixteen. In a large kernel most values are then in memory between any
two instructions, and LLVM takes some ten times as long to place them (700 microseconds an instruction of attention
kernels) as it takes for gangs of 8 lanes. In slices only what lives longer than a stretch is in memory.

A stretch ends at all that orders lanes, and where it has loaded from a space and would store there, or stored and would
load: within a warp all lanes do the one before any of them does the other.
"""

from __future__ import annotations

from typing import Final

from drawloom.cpu import abi
from drawloom.cpu.body import Body, Place
from drawloom.cpu.calls import Calls
from drawloom.cpu.emitter import Value, int_const, type_of
from drawloom.cpu.frame import Frame
from drawloom.cpu.gangs import LARGE
from drawloom.cpu.layouts import Layout
from drawloom.cpu.memory import Memory
from drawloom.cpu.neighbours import Groups
from drawloom.cpu.pure import Pure
from drawloom.cpu.shapes import AFFINE, UNIFORM, VARYING
from drawloom.ptx.ir import Address, Instruction, Register, Symbol
from drawloom.ptx.isa import LOAD, PURE, STORE
from drawloom.ptx.liveness import before

#: Lanes of a slice: those that one register of AVX2 holds of 32 bits.
WIDTH: Final = 8
#: The shortest stretch that is worth a loop.
_SHORTEST: Final = 2
#: How much of a function is in stretches at least: votes and stores find their operands in memory, not in registers.
_SHARE: Final = 0.4
#: What asks where memory is, or works on a thread's own.
_OF_SPACES: Final = ("isspacep", "cvta")
#: The spaces by which lanes may see each other's stores, as sets of bits; a generic address is in any.
_COMMON: Final = {"shared": 1, "global": 2, "": 3}


class Stretch:
    """A run of instructions of one block, from number ``start`` up to ``end``.

    ``scalars`` are done first, once; ``sliced`` then for each slice. ``needed`` are the registers that are read in the
    run or behind it; ``read`` and ``written`` those of ``sliced``.
    """

    def __init__(self, start: int = 0) -> None:
        self.sliced: list[int] = []
        self.scalars: list[int] = []
        self.start = start
        self.end = 0
        self.needed = 0
        self.read: set[int] = set()
        self.written: set[int] = set()
        #: The spaces that are loaded from, and stored to.
        self.loaded = 0
        self.stored = 0

    def add(self, instructions: list[Instruction], index: int) -> None:
        """Let the instruction at ``index`` be sliced: it does all of ``instructions``."""
        self.sliced.append(index)
        for instruction in instructions:
            self.read.update([r.id for r in instruction.sources()])
            self.written.update([r.id for r in instruction.destinations()])
            if instruction.opcode.effect == STORE:
                self.stored |= _common(instruction)
            else:
                self.loaded |= _common(instruction)

    def keeps_order(self, instructions: list[Instruction]) -> bool:
        """Whether accesses may follow: no lane could see before a store what another lane has behind it."""
        for instruction in instructions:
            others = self.loaded if instruction.opcode.effect == STORE else self.stored
            if others & _common(instruction):
                return False
        return True

    def admits(self, scalar: Instruction) -> bool:
        """Whether an instruction may go before those that are sliced already."""
        written = [r.id for r in scalar.destinations()]
        return self.read.isdisjoint(written) and self.written.isdisjoint([*written, *[r.id for r in scalar.sources()]])


class SliceFrame(Frame):
    """The registers of a frame for all lanes of a warp, as 8 of these lanes see them."""

    def __init__(self, whole: Frame) -> None:
        layout = Layout(WIDTH, WIDTH if whole.segment else 0, whole.linear)
        super().__init__(whole.module, whole.function, whole.e, layout, whole.shapes, whole.layout)
        self.whole = whole
        self.has_wide_masks = False
        self.has_word_masks = False
        self.allocas = whole.allocas
        self.slots = whole.slots
        self.bases = whole.bases
        self.register_at = whole.register_at
        self.unallocated = whole.unallocated
        #: The number of the slice's first lane.
        self.position = int_const("i64", 0)

    def begin(self, position: Value, mask: str) -> None:
        """Start on the slice at ``position``; a slot ``mask`` has the warp's lanes, "" where all run."""
        whole = self.whole
        self.residents = whole.residents
        self.shared_offsets = whole.shared_offsets
        self.param_offsets = whole.param_offsets
        self.local_offsets = whole.local_offsets
        self.local_stride = whole.local_stride
        self.local_slot = whole.local_slot
        self.blocks = whole.blocks
        self.block_strides = whole.block_strides
        self.waiting = whole.waiting
        self.position = position
        self.forget_values()
        self.mask = self.all_lanes()
        if mask:
            self.mask = self.mask_in(mask)

    def displaced(self, first: Value, stride: int) -> Value:
        e = self.e
        position = self.position if first.elem == "i64" else e.cast("trunc", self.position, first.elem)
        steps = e.binary("mul", position, int_const(first.elem, stride))
        return e.binary("add", first, e.splat(steps, first.lanes))

    def slot(self, register: Register) -> str:
        return self.whole.slot(register)

    def keep(self, slot: str, size: int) -> int:
        return self.whole.keep(slot, size)

    def part_of(self, slot: str, elem: str) -> str:
        """The address of this slice's elements of a vector in memory."""
        e = self.e
        if elem == "i1":
            octet = e.binary("lshr", self.position, int_const("i64", 3))
            return e.value("ptr", 0, f"getelementptr i8, ptr {slot}, {octet.typed}").text
        return e.value("ptr", 0, f"getelementptr {elem}, ptr {slot}, {self.position.typed}").text

    def mask_in(self, slot: str) -> Value:
        """This slice's part of a mask in memory."""
        mask = self.e.mask_of(self.e.value(f"i{WIDTH}", 0, f"load i{WIDTH}, ptr {self.part_of(slot, 'i1')}"))
        mask.word = None  # what slices do with it is done to vectors
        return mask

    def load(self, address: str, elem: str, lanes: int) -> Value:
        id = self.register_at.get(address)
        if id is None or address in self.known:
            return super().load(address, elem, lanes)
        shape = self.shapes[id]
        self.memory_of(address)
        if shape.kind == VARYING:
            if elem == "i1":
                value = self.mask_in(address)
            else:
                part = f"ptr {self.part_of(address, elem)}{self.alignment(address)}"
                value = self.e.value(elem, WIDTH, f"load {type_of(elem, WIDTH)}, {part}")
        else:
            value = self.e.value(elem, 0, f"load {elem}, ptr {address}")
            if shape.kind == AFFINE or address == self.bases.get(id):
                value = self.displaced(value, shape.stride)
        self.known[address] = value
        return value

    def store_now(self, value: Value, address: str) -> None:
        if address in self.register_at:
            assert self.shapes[self.register_at[address]].kind == VARYING, f"{address} is set in slices"
            part = f"ptr {self.part_of(address, value.elem)}"
            if value.elem == "i1":
                self.e.line(f"  store {self.e.bits_of(value, f'i{WIDTH}').typed}, {part}")
            else:
                self.e.line(f"  store {value.typed}, {part}{self.alignment(address)}")
            return
        super().store_now(value, address)


def slices_of(body: Body, calls: Calls) -> Slices | None:
    """Return what lowers the stretches of a function, None where its lanes all go at once."""
    f = body.f
    if f.lanes != abi.WARP or f.rows or f.at_once or "avx512f" in f.e.features:
        return None
    large = sum([isinstance(statement, Instruction) for statement in body.function.body]) >= LARGE
    return Slices(body, calls) if large else None


class Slices:
    """Finds and lowers the stretches of one function."""

    def __init__(self, body: Body, calls: Calls) -> None:
        self.body = body
        self.f = body.f
        self.e = body.e
        #: By block, the accesses that are done with their neighbours.
        self.groups: dict[int, Groups] = {}
        self.frame = SliceFrame(body.f)
        self.memory = Memory(self.frame, False)
        self.pure = Pure(body, self.frame, calls)

    # -- finding -----------------------------------------------------------------------------------------

    def find(self, groups: dict[int, Groups], turns: set[Place]) -> dict[int, dict[int, Stretch]]:
        """The stretches of each block by the number of their first instruction, of which those in ``turns`` are in
        none; ``groups`` are accesses that are done with their neighbours. There are no stretches at all where most of
        the function would not be in one."""
        self.groups = groups
        found: dict[int, dict[int, Stretch]] = {}
        sliced = count = 0
        for b in self.body.plan.order:
            found[b] = self.stretches_of(b, turns)
            sliced += sum([len(stretch.sliced) for stretch in found[b].values()])
            count += sum([not self.is_scalar(instruction) for instruction in self.body.cfg.blocks[b].instructions])
        return found if sliced >= _SHARE * count else {}

    def stretches_of(self, b: int, turns: set[Place]) -> dict[int, Stretch]:
        found: dict[int, Stretch] = {}
        current = Stretch()
        instructions = self.body.cfg.blocks[b].instructions
        after = self.body.plan.live.live_after(b)
        for index, instruction in enumerate(instructions):
            done = self.groups[b].get(index, [instruction])
            free = (b, index) not in turns
            if free and all(map(self.is_sliceable, done)):
                if not current.keeps_order(done):
                    current.end = index
                    self.close(found, current, instructions, after)
                    current = Stretch(index)
                current.add(done, index)
            elif free and self.is_scalar(instruction) and current.admits(instruction):
                current.scalars.append(index)
            else:
                current.end = index
                self.close(found, current, instructions, after)
                current = Stretch(index + 1)
        current.end = len(instructions)
        self.close(found, current, instructions, after)
        return found

    def close(
        self, found: dict[int, Stretch], stretch: Stretch, instructions: list[Instruction], after: list[int]
    ) -> None:
        if len(stretch.sliced) < _SHORTEST:
            return
        stretch.needed = before(instructions[stretch.start], after[stretch.start])
        for index in range(stretch.start, stretch.end):
            stretch.needed |= after[index]
        found[stretch.start] = stretch

    def is_sliceable(self, instruction: Instruction) -> bool:
        """Whether each lane computes or loads values of its own, or stores to a place of its own."""
        if instruction.opcode.effect == STORE:
            return instruction.opcode.name == "st" and self.is_free(instruction) and not self.has_one_place(instruction)
        written = instruction.destinations()
        varying = self.varying(written) == len(written) > 0
        return varying and self.is_free(instruction) and instruction.opcode.name not in _OF_SPACES

    def has_one_place(self, store: Instruction) -> bool:
        """Whether all lanes store to the same place: the last one wins."""
        address = store.operands[0]
        base = address.base if isinstance(address, Address) else None
        if isinstance(base, Symbol):
            own = base.name in self.f.local_offsets or store.opcode.space == "param"
            return not own
        return base is None or self.f.shape(base).kind == UNIFORM

    def is_scalar(self, instruction: Instruction) -> bool:
        """Whether an instruction sets registers that are one value for all lanes, or the lanes' base."""
        written = instruction.destinations()
        return len(written) > 0 and not self.varying(written) and self.is_free(instruction)

    def varying(self, registers: list[Register]) -> int:
        return sum([self.f.shape(register).kind == VARYING for register in registers])

    def is_free(self, instruction: Instruction) -> bool:
        """Whether nothing orders an instruction but registers and the memory that it accesses."""
        opcode = instruction.opcode
        if opcode.effect in (LOAD, STORE):
            return opcode.weak
        return opcode.effect == PURE and not opcode.reads_carry and not opcode.writes_carry

    # -- lowering ----------------------------------------------------------------------------------------

    def lower(self, stretch: Stretch, moved: int) -> None:
        """Emit the loop over the slices of the lanes that run; scalars are set already. ``moved`` are registers of
        accesses that are done with their neighbours."""
        f = self.f
        e = self.e
        frame = self.frame
        mask = "" if f.mask.text == f.all_lanes().text else f.alloca("running", f.slot_type("i1", f.lanes))
        if mask:
            f.store(f.mask, mask)
        before, round, ends, done = [f.label(stem) for stem in ("slices", "slice", "sliced", "after")]
        f.jump(before)
        e.line(f"{before}:")
        e.line(f"  br label %{round}")
        e.line(f"{round}:")
        position = Value(f"%at.{e.number()}", "i64", 0)
        next = f"%next.{e.number()}"
        e.line(f"  {position.text} = phi i64 [ 0, %{before} ], [ {next}, %{ends} ]")
        frame.begin(position, mask)
        self.instructions(stretch, moved)
        frame.jump(ends)
        frame.place(ends)
        e.line(f"  {next} = add i64 {position.text}, {WIDTH}")
        again = e.icmp("ult", Value(next, "i64", 0), int_const("i64", f.lanes))
        e.line(f"  br i1 {again.text}, label %{round}, label %{done}")
        e.line(f"{done}:")
        for id in stretch.written:
            f.known.pop(f.slots.get(id, ""), None)

    def instructions(self, stretch: Stretch, moved: int) -> None:
        body = self.body
        frame = self.frame
        block = body.cfg.blocks[body.block].instructions
        for index in stretch.sliced:
            body.index = index
            frame.needed = before(block[index], body.live_after[index]) | body.live_after[index] | moved
            group = self.groups[body.block].get(index)
            if group is None:
                self.instruction(block[index])
            elif group:
                frame.guard = None
                self.memory.access_group(group)

    def instruction(self, instruction: Instruction) -> None:
        frame = self.frame
        frame.guard = None
        condition = frame.condition(instruction)
        if condition is None:
            self.dispatch(instruction)
            return
        if instruction.opcode.effect == PURE:
            frame.guard = condition
            self.dispatch(instruction)
            frame.guard = None
            return
        outer = frame.mask
        inner = self.e.binary("and", outer, self.e.splat(condition, WIDTH))
        then, done = frame.label("guarded"), frame.label("after")
        frame.branch(frame.any_lane(inner), then, done)
        frame.place(then)
        frame.mask = frame.guard = inner
        self.dispatch(instruction)
        frame.guard = None
        frame.mask = outer
        frame.jump(done)
        frame.place(done)

    def dispatch(self, instruction: Instruction) -> None:
        effect = instruction.opcode.effect
        if effect == PURE:
            self.pure.lower(instruction)
        elif effect == LOAD:
            self.memory.load(instruction)
        else:
            self.memory.store(instruction)


def _common(access: Instruction) -> int:
    """The spaces by which an instruction may see other lanes' stores, or they this one's."""
    opcode = access.opcode
    return _COMMON.get(opcode.space, 0) if opcode.effect in (LOAD, STORE) and not opcode.nc else 0
