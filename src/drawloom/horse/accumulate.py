"""PTX templates of the reductions: threads accumulate their rows, warps may reduce by shuffles, the host adds up.

With few groups every thread keeps one accumulator a group in registers; with more, the groups of a block are a table in
shared memory, or those of the grid one in global memory, that atomics update. Partial results are 64-bit slots; a sum
that 64 bits cannot be proved to hold has two, the low half and the high half of a 128-bit integer.
"""

from __future__ import annotations

import math
from typing import Final

from drawloom.horse.emit import ALL_LANES, WARP, Emitter, float32, float64, integer
from drawloom.horse.held import REGISTERS, Held
from drawloom.horse.templates import S64
from drawloom.ptx.ir import Address, Operand, Register, Vector
from drawloom.ptx.types import B32, B64, F64, PRED

#: Most 64-bit accumulators that a thread keeps in registers.
MAX_REGISTER_SLOTS: Final = 96
#: Most bytes of a block's table of groups: what every device has as static shared memory.
MAX_SHARED_BYTES: Final = 48 * 1024
#: The bits of the NaN that minima and maxima in tables give.
ORDERED_NAN: Final = 0x7FF8000000000000


class Accumulator:
    """One running value a group. ``kind`` is "i64", "i128", "f64", "f64x2", "count", or "min" / "max" of ``held.kind``.

    ``slot`` is its first slot; an "i128" has two, and so has an "f64x2", which keeps what the additions to a double
    rounded away; everything else has one. "min" and "max" of floats keep a float.
    """

    def __init__(self, kind: str, held: Held | None, masks: tuple[str, ...], slot: int) -> None:
        self.kind = kind
        self.held = held
        self.masks = masks
        self.slot = slot

    @property
    def slots(self) -> int:
        return 2 if self.kind in ("i128", "f64x2") else 1

    @property
    def is_float(self) -> bool:
        return self.kind in ("f64", "f64x2") or (
            self.held is not None and self.held.type.is_float and self.kind in ("min", "max")
        )

    def same(self, kind: str, held: Held | None, masks: tuple[str, ...]) -> bool:
        operand = None if self.held is None else self.held.operand
        return kind == self.kind and masks == self.masks and operand is (None if held is None else held.operand)

    def identity(self) -> int:
        """What a slot of a table starts with; floats' minima and maxima are kept as ordered integers there."""
        if self.kind in ("min", "max"):
            return S64[1] if self.kind == "min" else S64[0]
        return 0


class RegisterGroups:
    """Accumulators in registers, one set a group; ``groups`` is 1 for a reduction without groups."""

    def __init__(self, emitter: Emitter, accumulators: list[Accumulator], groups: int) -> None:
        self.emitter = emitter
        self.accumulators = accumulators
        self.groups = groups
        self.registers: dict[tuple[int, int], list[Register]] = {}
        #: Where a row is selected and in a group, by the selecting predicate and the group.
        self.chosen: dict[tuple[int, int], Register] = {}

    def prepare(self) -> None:
        """In the prologue: the registers and what they start with."""
        for accumulator in self.accumulators:
            for group in range(self.groups):
                self.registers[accumulator.slot, group] = self.start(accumulator)

    def start(self, accumulator: Accumulator) -> list[Register]:
        emitter = self.emitter
        if accumulator.kind in ("f64", "f64x2"):
            return [emitter.made(F64, "mov.f64", [float64(0.0)]) for _ in range(accumulator.slots)]
        if accumulator.kind == "count":
            return [emitter.made(B32, "mov.u32", [integer(0)])]
        if accumulator.kind in ("min", "max"):
            return [self.start_extreme(accumulator)]
        return [emitter.made(B64, "mov.u64", [integer(0)]) for _ in range(accumulator.slots)]

    def start_extreme(self, accumulator: Accumulator) -> Register:
        held = accumulator.held
        assert held is not None
        is_min = accumulator.kind == "min"
        if held.type.is_float:
            value = math.nan if is_min else -math.inf
            immediate = float32(value) if held.kind == "f32" else float64(value)
            return self.emitter.made(REGISTERS[held.kind], f"mov.{held.kind}", [immediate])
        kind = extreme_kind(held)
        bits = 31 if kind == "s32" else 63
        limit = (1 << bits) - 1 if is_min else -(1 << bits)
        return self.emitter.made(REGISTERS[kind], f"mov.{kind}", [integer(limit)])

    def update(
        self, accumulator: Accumulator, value: Register | None, selected: Register, group: Register | None
    ) -> None:
        """Adds the thread's element where ``selected``; ``group`` is its group's number."""
        if group is None:
            self.add(accumulator, self.registers[accumulator.slot, 0], value, selected)
            return
        for number in range(self.groups):
            chosen = self.chosen.get((selected.id, number))
            if chosen is None:
                chosen = self.emitter.made(PRED, "setp.eq.and.s32", [group, integer(number), selected])
                self.chosen[selected.id, number] = chosen
            self.add(accumulator, self.registers[accumulator.slot, number], value, chosen)

    def add(self, accumulator: Accumulator, into: list[Register], value: Register | None, chosen: Register) -> None:
        emitter = self.emitter
        kind = accumulator.kind
        if kind == "count":
            emitter.guarded(chosen, "add.u32", [into[0], into[0], integer(1)])
            return
        assert value is not None and accumulator.held is not None
        if kind == "i64":
            emitter.guarded(chosen, "add.s64", [into[0], into[0], value])
        elif kind == "i128":
            sign = emitter.made(B64, "shr.s64", [value, integer(63)])
            low = emitter.made(B64, "selp.b64", [value, integer(0), chosen])
            high = emitter.made(B64, "selp.b64", [sign, integer(0), chosen])
            emitter.op("add.cc.u64", [into[0], into[0], low])
            emitter.op("addc.u64", [into[1], into[1], high])
        elif kind == "f64":
            emitter.guarded(chosen, "add.rn.f64", [into[0], into[0], value])
        elif kind == "f64x2":
            two_sum(emitter, into, emitter.calc("selp.f64", value, float64(0.0), chosen))
        elif accumulator.is_float:
            better = emitter.both(self.float_better(accumulator, value, into[0]), chosen)
            emitter.guarded(better, f"mov.{accumulator.held.kind}", [into[0], value])
        else:
            word = f"{kind}.{extreme_kind(accumulator.held)}"
            emitter.guarded(chosen, word, [into[0], into[0], value])

    def float_better(self, accumulator: Accumulator, value: Register, old: Register) -> Register:
        """Whether ``value`` replaces ``old``, in SQL's order where NaN is above every number."""
        assert accumulator.held is not None
        emitter, kind = self.emitter, accumulator.held.kind
        above, below = (old, value) if accumulator.kind == "min" else (value, old)
        unordered = emitter.made(PRED, f"setp.gtu.{kind}", [above, below])
        return emitter.both(unordered, emitter.made(PRED, f"setp.num.{kind}", [below, below]))

    # After the rows

    def reduce_lanes(self, lanes: Register | None = None) -> None:
        """Every lane of a warp gets the warp's total, by a butterfly of shuffles; or that of its ``lanes`` neighbours
        (u32, the same power of two in all lanes)."""
        emitter = self.emitter
        if lanes is not None:
            distance = emitter.calc("shr.u32", lanes, 1)
            with emitter.when(emitter.calc("setp.ne.u32", distance, 0)):
                self.butterfly(distance)
        else:
            self.butterfly(emitter.made(B32, "mov.u32", [integer(WARP // 2)]))

    def butterfly(self, distance: Register) -> None:
        emitter = self.emitter
        again = emitter.new_label("reduce")
        emitter.place(again)
        for accumulator in self.accumulators:
            for group in range(self.groups):
                self.combine(accumulator, self.registers[accumulator.slot, group], distance)
        emitter.op("shr.u32", [distance, distance, integer(1)])
        more = emitter.made(PRED, "setp.ne.u32", [distance, integer(0)])
        emitter.branch(again, more)

    def store(self, out: Register, parts: Register, part: Register, guard: Register | None) -> None:
        """Stores slot ``s`` of group ``g`` at ``out[(s * groups + g) * parts + part]``, where ``guard`` holds."""
        emitter = self.emitter
        stride = emitter.made(B64, "mul.wide.u32", [parts, integer(8)])
        address = emitter.made(B64, "mad.wide.u32", [part, integer(8), out])
        for accumulator in self.accumulators:
            store = f"st.global.{'f64' if accumulator.is_float else 'u64'}"
            for half in range(accumulator.slots):
                for group in range(self.groups):
                    source = self.wide(accumulator, self.registers[accumulator.slot, group][half])
                    if guard is None:
                        emitter.op(store, [Address(address), source])
                    else:
                        emitter.guarded(guard, store, [Address(address), source])
                    address = emitter.made(B64, "add.s64", [address, stride])

    def wide(self, accumulator: Accumulator, register: Register) -> Register:
        """A slot's 64-bit value."""
        emitter = self.emitter
        if accumulator.kind == "count":
            return emitter.made(B64, "cvt.u64.u32", [register])
        if accumulator.kind in ("min", "max"):
            assert accumulator.held is not None
            if accumulator.held.kind == "f32":
                return emitter.made(F64, "cvt.f64.f32", [register])
            if not accumulator.is_float and extreme_kind(accumulator.held) == "s32":
                return emitter.made(B64, "cvt.s64.s32", [register])
        return register

    def combine(self, accumulator: Accumulator, registers: list[Register], distance: Register) -> None:
        """One step of the warp's butterfly: every lane takes in the lane ``distance`` away."""
        emitter = self.emitter
        others = [self.shuffled(r, distance) for r in registers]
        kind = accumulator.kind
        if kind == "count":
            emitter.op("add.u32", [registers[0], registers[0], others[0]])
        elif kind == "i64":
            emitter.op("add.s64", [registers[0], registers[0], others[0]])
        elif kind == "i128":
            emitter.op("add.cc.u64", [registers[0], registers[0], others[0]])
            emitter.op("addc.u64", [registers[1], registers[1], others[1]])
        elif kind == "f64":
            emitter.op("add.rn.f64", [registers[0], registers[0], others[0]])
        elif kind == "f64x2":
            two_sum(emitter, registers, others[0])
            emitter.op("add.rn.f64", [registers[1], registers[1], others[1]])
        elif accumulator.is_float:
            better = self.float_better(accumulator, others[0], registers[0])
            assert accumulator.held is not None
            emitter.guarded(better, f"mov.{accumulator.held.kind}", [registers[0], others[0]])
        else:
            assert accumulator.held is not None
            emitter.op(f"{kind}.{extreme_kind(accumulator.held)}", [registers[0], registers[0], others[0]])

    def shuffled(self, register: Register, distance: Register) -> Register:
        emitter = self.emitter
        if register.type.bits == 32:
            return self.shuffle_word(register, distance, register)
        halves: list[Operand] = [emitter.register(B32), emitter.register(B32)]
        emitter.op("mov.b64", [Vector(halves), register])
        moved: list[Operand] = []
        for half in halves:
            assert isinstance(half, Register)
            moved.append(self.shuffle_word(half, distance, half))
        made = emitter.register(register.type)
        emitter.op("mov.b64", [made, Vector(moved)])
        return made

    def shuffle_word(self, register: Register, distance: Register, like: Register) -> Register:
        sources: list[Operand] = [register, distance, integer(WARP - 1), integer(ALL_LANES)]
        return self.emitter.made(like.type, "shfl.sync.bfly.b32", sources)


class TableGroups:
    """Accumulators in a table of groups in memory, updated by atomics: ``table[slot * groups + group]``.

    ``space`` is "shared" (a table a block, written out at the end) or "global" (one table, started by the host).
    """

    def __init__(self, emitter: Emitter, accumulators: list[Accumulator], groups: int, space: str) -> None:
        self.emitter = emitter
        self.accumulators = accumulators
        self.groups = groups
        self.space = space
        self.slots = sum([a.slots for a in accumulators])
        self.address: Register | None = None

    def prepare(self, base: Register, thread: Register, threads: Register) -> None:
        """In the prologue: ``base`` is the table's address; a shared table is started by the block's threads."""
        self.address = base
        if self.space != "shared":
            return
        first, identity = 0, 0
        for slot, value in [*self.identities(), (self.slots, None)]:
            if value != identity and slot > first:
                start = self.emitter.made(B64, "mov.u64", [integer(identity)])
                self.for_each_entry(thread, threads, first, slot - first, None, start)
                first = slot
            identity = value or 0
        self.emitter.op("bar.sync", [integer(0)])

    def identities(self) -> list[tuple[int, int | None]]:
        """What each slot starts as."""
        return [(a.slot + part, a.identity()) for a in self.accumulators for part in range(a.slots)]

    def for_each_entry(
        self, thread: Register, threads: Register, slot: int, slots: int, out: Register | None, value: Register | None
    ) -> None:
        """The block's threads store ``value`` into every entry of ``slots`` slots from one on, or copy them to ``out``:
        in one loop, as a loop a slot is most of what a kernel with many sums has to compile."""
        emitter = self.emitter
        assert self.address is not None
        entries = slots * self.groups
        index = emitter.made(B32, "mov.u32", [thread])
        again, done = emitter.new_label("slot"), emitter.new_label("slot_done")
        over = emitter.made(PRED, "setp.ge.u32", [index, integer(entries)])
        emitter.branch(done, over, False)
        emitter.place(again)
        offset = emitter.made(B64, "mul.wide.u32", [index, integer(8)])
        inner = emitter.made(B64, "add.s64", [self.address, offset])
        at = slot * self.groups * 8
        if out is None:
            assert value is not None
            emitter.op("st.shared.u64", [Address(inner, at), value])
        else:
            target = emitter.made(B64, "add.s64", [out, offset])
            word = emitter.made(B64, "ld.shared.u64", [Address(inner, at)])
            emitter.op("st.global.u64", [Address(target, at), word])
        emitter.op("add.u32", [index, index, threads])
        more = emitter.made(PRED, "setp.lt.u32", [index, integer(entries)])
        emitter.branch(again, more, False)
        emitter.place(done)

    def update(
        self, accumulator: Accumulator, value: Register | None, selected: Register, group: Register | None
    ) -> None:
        emitter = self.emitter
        assert self.address is not None and group is not None
        place = emitter.made(B64, "mad.wide.s32", [group, integer(8), self.address])
        at = Address(place, accumulator.slot * self.groups * 8)
        kind = accumulator.kind
        if kind == "count":
            one = emitter.made(B64, "mov.u64", [integer(1)])
            emitter.guarded(selected, f"red.{self.space}.add.u64", [at, one])
            return
        assert value is not None
        if kind == "i64":
            emitter.guarded(selected, f"red.{self.space}.add.u64", [at, value])
        elif kind == "i128":
            old = emitter.made(B64, "mov.u64", [integer(0)])
            emitter.guarded(selected, f"atom.{self.space}.add.u64", [old, at, value])
            # The low half wrapped exactly when the new value is below what was added (unsigned).
            total = emitter.made(B64, "add.s64", [old, value])
            carried = emitter.made(PRED, "setp.lt.u64", [total, value])
            carry = emitter.made(B64, "selp.b64", [integer(1), integer(0), carried])
            high = emitter.made(B64, "shr.s64", [value, integer(63)])
            upper = emitter.made(B64, "add.s64", [high, carry])
            above = Address(place, (accumulator.slot + 1) * self.groups * 8)
            emitter.guarded(selected, f"red.{self.space}.add.u64", [above, upper])
        elif kind == "f64":
            emitter.guarded(selected, f"red.{self.space}.add.f64", [at, value])
        else:
            assert accumulator.held is not None
            wide = value
            if accumulator.is_float:
                wide = self.ordered(value, accumulator.held.kind)
            elif extreme_kind(accumulator.held) == "s32":
                wide = emitter.made(B64, "cvt.s64.s32", [value])
            emitter.guarded(selected, f"red.{self.space}.{kind}.s64", [at, wide])

    def ordered(self, value: Register, kind: str) -> Register:
        """An integer that orders as SQL orders floats: the bits, the magnitude inverted below zero, NaN on top."""
        emitter = self.emitter
        wide = value if kind == "f64" else emitter.made(F64, "cvt.f64.f32", [value])
        bits = emitter.made(B64, "mov.b64", [wide])
        sign = emitter.made(B64, "shr.s64", [bits, integer(63)])
        flip = emitter.made(B64, "and.b64", [sign, integer(S64[1])])
        ordered = emitter.made(B64, "xor.b64", [bits, flip])
        is_nan = emitter.made(PRED, "setp.nan.f64", [wide, wide])
        return emitter.made(B64, "selp.b64", [integer(ORDERED_NAN), ordered, is_nan])

    def finish(self, out: Register, block: Register, thread: Register, threads: Register) -> None:
        """A shared table goes to ``out[block]``; a global one is where it belongs already."""
        if self.space != "shared":
            return
        self.emitter.op("bar.sync", [integer(0)])
        bytes_a_block = self.slots * self.groups * 8
        target = self.emitter.made(B64, "mad.wide.u32", [block, integer(bytes_a_block), out])
        self.for_each_entry(thread, threads, 0, self.slots, target, None)


def two_sum(emitter: Emitter, held: list[Register], value: Register) -> None:
    """Adds a double to a sum, and what the addition rounds away to what the sum lacks (Knuth's TwoSum)."""
    total, lacking = held
    made = emitter.calc("add.rn.f64", total, value)
    back = emitter.calc("sub.rn.f64", made, total)
    rest = emitter.calc("sub.rn.f64", total, emitter.calc("sub.rn.f64", made, back))
    lost = emitter.calc("add.rn.f64", rest, emitter.calc("sub.rn.f64", value, back))
    emitter.put("add.rn.f64", lacking, lacking, lost)
    emitter.put("mov.f64", total, made)


def extreme_kind(held: Held) -> str:
    """The register kind in which an exact minimum or maximum runs."""
    return "s32" if held.kind in ("pred", "s32") else held.kind


def choose_space(accumulators: list[Accumulator], groups: int) -> str:
    """Where a kernel's groups are accumulated: "register", "shared" or "global"."""
    slots = sum([a.slots for a in accumulators])
    if groups * slots <= MAX_REGISTER_SLOTS or groups == 1:
        return "register"
    return "shared" if groups * slots * 8 <= MAX_SHARED_BYTES else "global"
