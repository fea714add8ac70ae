"""Accesses of a row of lanes to consecutive memory, each lane to some of its ``slots`` elements there.

    slots 1                   a0 a1 a2 ...                 one vector
    slots 4, used 0 1 2       a0 b0 c0 .. a1 b1 c1 ..      three vectors, out of one access: points in an array

One masked vector access where the processor has masks for such elements. Elsewhere LLVM would ask for each lane; so it
is one vector access where all lanes of the row are active, and a loop over lanes where some are not. Masked stores of
AVX2 are slow, ten times as slow on AMD's processors, so they are for rows of which some lanes are not active, too.
"""

from __future__ import annotations

from drawloom.cpu.emitter import ELEM_BITS, Value, int_const, type_of
from drawloom.cpu.lane_loops import LaneLoops


class Contiguous(LaneLoops):
    """Lowers such accesses into one function's frame. Addresses are those of slot 0 of the row's first lane."""

    def has_masks(self, elem: str) -> bool:
        """Whether the processor loads and stores vectors of such elements under a mask."""
        features = self.f.e.features
        if "avx512bw" in features:
            return True
        return ELEM_BITS[elem] >= 32 and ("avx" in features or "avx512f" in features)

    def load_contiguous(self, address: Value, mask: Value, elem: str, slots: int, used: list[int]) -> list[Value]:
        """The used elements of every lane, slot by slot."""
        f = self.f
        e = f.e
        total = mask.lanes * slots
        vector = type_of(elem, total)
        place = f"align {ELEM_BITS[elem] // 8}"
        if self.has_masks(elem):
            every = self.mask_of_slots(mask, slots, used)
            name = f"llvm.masked.load.v{total}{elem}.p0"
            e.declare(name, vector, ["ptr", f"<{total} x i1>", vector])
            pointer = f.pointer(address)
            loaded = f"call {vector} @{name}(ptr {place} {pointer.text}, {every.typed}, {vector} zeroinitializer)"
            return self.taken_apart(e.value(elem, total, loaded), slots, used)
        results = [f.alloca("loaded", type_of(elem, mask.lanes), 64) for _ in used]
        done = f.label("row")
        if len(used) == slots:
            whole, some = f.label("whole"), f.label("seldom")
            f.fork(self.all_lanes_of(mask), whole, some, True)
            f.arm(whole)
            loaded = f"load {vector}, {f.pointer(address).typed}, {place}"
            parts = self.taken_apart(e.value(elem, total, loaded), slots, used)
            for slot, value in zip(results, parts, strict=True):
                f.store(value, slot)
            f.go(done)
            f.arm(some)
        for slot in results:
            f.store(Value("zeroinitializer", elem, mask.lanes), slot)
        lane = self.lane_loop_begin(mask)
        for slot, number in zip(results, used, strict=True):
            pointer = self.pointer_of(address, elem, slots, lane, number)
            self.set_element(slot, e.value(elem, 0, f"load {elem}, {pointer.typed}, {place}"), lane)
        self.lane_loop_end()
        if len(used) == slots:
            f.go(done)
            f.join(done)
        return [f.load(slot, elem, mask.lanes) for slot in results]

    def store_contiguous(
        self, address: Value, mask: Value, values: list[Value], elem: str, slots: int, used: list[int]
    ) -> None:
        """Store a vector into each used slot."""
        f = self.f
        e = f.e
        place = f"align {ELEM_BITS[elem] // 8}"
        if self.has_masks(elem) and ("avx512f" in e.features or len(used) < slots):
            self.store_masked(address, mask, values, elem, slots, used)
            return
        done = f.label("row")
        if len(used) == slots:
            all_lanes, some = f.label("whole"), f.label("seldom")
            f.fork(self.all_lanes_of(mask), all_lanes, some, True)
            f.arm(all_lanes)
            whole = self.put_together(values, slots, used)
            e.line(f"  store {whole.typed}, {f.pointer(address).typed}, {place}")
            f.go(done)
            f.arm(some)
        if self.has_masks(elem):
            self.store_masked(address, mask, values, elem, slots, used)
            f.go(done)
            f.join(done)
            return
        spilled = [self.spill(value) for value in values]
        lane = self.lane_loop_begin(mask)
        for slot, number in zip(spilled, used, strict=True):
            value = self.element(slot, elem, lane)
            e.line(f"  store {value.typed}, {self.pointer_of(address, elem, slots, lane, number).typed}, {place}")
        self.lane_loop_end()
        if len(used) == slots:
            f.go(done)
            f.join(done)

    def store_masked(
        self, address: Value, mask: Value, values: list[Value], elem: str, slots: int, used: list[int]
    ) -> None:
        e = self.f.e
        whole = self.put_together(values, slots, used)
        every = self.mask_of_slots(mask, slots, used)
        name = f"llvm.masked.store.v{whole.lanes}{elem}.p0"
        e.declare(name, "void", [whole.type, "ptr", every.type])
        pointer = f"ptr align {ELEM_BITS[elem] // 8} {self.f.pointer(address).text}"
        e.line(f"  call void @{name}({whole.typed}, {pointer}, {every.typed})")

    def pointer_of(self, address: Value, elem: str, slots: int, lane: Value, number: int) -> Value:
        """The address of a slot of one lane."""
        e = self.f.e
        size = ELEM_BITS[elem] // 8
        offset = e.binary("mul", e.cast("zext", lane, "i64"), int_const("i64", slots * size))
        return self.f.pointer(e.binary("add", address, e.binary("add", offset, int_const("i64", number * size))))

    def all_lanes_of(self, mask: Value) -> Value:
        bits = self.f.mask_bits(mask)
        return self.f.e.icmp("eq", bits, Value("-1", bits.elem, 0))

    def mask_of_slots(self, mask: Value, slots: int, used: list[int]) -> Value:
        """Each lane's bit for its used slots."""
        if slots == 1:
            return mask
        lanes = mask.lanes
        picks = [lane if slot in used else lanes for lane in range(lanes) for slot in range(slots)]
        return self.picked(mask, Value("zeroinitializer", "i1", lanes), picks)

    # -- one vector for each slot, and all slots in one vector -------------------------------------------------

    def picked(self, a: Value, b: Value | None, picks: list[int]) -> Value:
        """Elements of two vectors by number, those of the second behind those of the first."""
        e = self.f.e
        second = b.typed if b is not None else f"{a.type} poison"
        return e.value(a.elem, len(picks), f"shufflevector {a.typed}, {second}, {e.vector_const('i32', picks).typed}")

    def taken_apart(self, whole: Value, slots: int, used: list[int]) -> list[Value]:
        """The vectors of the used slots. Many slots go by halves: LLVM would move single elements."""
        if slots == 1:
            return [whole]
        if slots <= 4 or slots % 2:
            return [self.picked(whole, None, list(range(slot, whole.lanes, slots))) for slot in used]
        found: dict[int, Value] = {}
        for parity in (0, 1):
            wanted = [slot for slot in used if slot % 2 == parity]
            if wanted:
                half = self.picked(whole, None, list(range(parity, whole.lanes, 2)))
                parts = self.taken_apart(half, slots // 2, [slot // 2 for slot in wanted])
                found.update(zip(wanted, parts, strict=True))
        return [found[slot] for slot in used]

    def put_together(self, values: list[Value], slots: int, used: list[int]) -> Value:
        """``a0 b0 c0 d0 a1 b1 ...`` of vectors; slots that are not used hold anything."""
        given = dict(zip(used, values, strict=True))
        unused = Value("poison", values[0].elem, values[0].lanes)
        return self.interleaved([given.get(slot, unused) for slot in range(slots)])

    def interleaved(self, values: list[Value]) -> Value:
        count = len(values)
        if count == 1:
            return values[0]
        lanes = values[0].lanes
        if count > 4 and count % 2 == 0:
            even, odd = self.interleaved(values[::2]), self.interleaved(values[1::2])
            return self.picked(even, odd, [i // 2 + i % 2 * even.lanes for i in range(2 * even.lanes)])
        return self.picked(self.joined(values), None, [i * lanes + j for j in range(lanes) for i in range(count)])

    def joined(self, parts: list[Value]) -> Value:
        """Vectors one behind the other, padded to a power of two of them."""
        while len(parts) & (len(parts) - 1):
            parts = [*parts, Value("poison", parts[0].elem, parts[0].lanes)]
        while len(parts) > 1:
            picks = list(range(parts[0].lanes * 2))
            parts = [self.picked(parts[i], parts[i + 1], picks) for i in range(0, len(parts), 2)]
        return parts[0]
