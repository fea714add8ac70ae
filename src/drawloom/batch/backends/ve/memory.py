"""Arrays and slots in memory: contiguous, strided and by addresses; moves through memory, and lookups at run time.

    places a, a + s, a + 2 s, ...    vld, vst with the stride s, up to the last lane that counts
    other places                     vgt, vsc by a register of addresses, with a mask where lanes must not be touched
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from drawloom.batch.backends.chunk_ir import Chunk, Place, Read
from drawloom.batch.backends.ve.instructions import GATHERS, LOADS, SCATTERS, STORES
from drawloom.batch.backends.ve.lanes import LaneLoops
from drawloom.batch.backends.ve.values import at, make_mask
from drawloom.batch.ir.ir import DTYPES, MASK

Numbers = NDArray[np.int64]
Bits = NDArray[np.bool_]


class Memory(LaneLoops):
    """Accesses to memory."""

    streamed: set[str]

    def begin_memory(self, parts: int, streaming: bool) -> None:
        self.begin_values(parts)
        self.streamed = self.streamed_pointers(streaming)

    def letters(self, type: str, part: int) -> tuple[str, str, str, str]:
        """Return the load, gather, store and scatter of a part; packed floats go half by half."""
        if self.is_packed(type):
            return ("vldu", "vgtu", "vstu", "vscu") if part else ("vldlzx", "vgtlzx", "vstl", "vscl")
        return LOADS[type], GATHERS[type], STORES[type], SCATTERS[type]

    # Loads.

    def emit_broadcast(self, chunk: Chunk) -> None:
        self.define(chunk, self.remake(chunk, again=False))

    def emit_load(self, chunk: Chunk) -> None:
        mask = chunk.operands[0] if chunk.operands else None
        self.load(chunk, self.address(chunk.detail), np.arange(self.width), mask)

    def emit_gather(self, chunk: Chunk) -> None:
        index = chunk.operands[0]
        mask = chunk.operands[1] if len(chunk.operands) > 1 else None
        address = self.address(chunk.detail)
        if index.op == "constant":
            self.load(chunk, address, np.frombuffer(index.detail, np.int64), mask)
        elif chunk.type not in LOADS:
            self.load_by_lane(chunk, address, index, mask)
        else:
            addresses = self.indexed_addresses(index, address, size_of(chunk.type))
            self.define(chunk, self.gather(chunk.type, addresses, self.masks_of(mask)))

    def load(self, chunk: Chunk, address: str, offsets: Numbers, mask: Chunk | None) -> None:
        """Load elements whose places are known but for the group's."""
        if chunk.type not in LOADS:
            self.load_by_lane(chunk, address, offsets, mask)
        elif mask is None or mask.op == "constant":
            self.define(chunk, self.load_constant_places(chunk.type, address, offsets, self.live_lanes(mask)))
        else:
            addresses = self.constant_addresses(address, offsets * size_of(chunk.type))
            self.define(chunk, self.gather(chunk.type, addresses, self.masks_of(mask)))

    def live_lanes(self, mask: Chunk | None) -> Bits:
        return np.ones(self.width, bool) if mask is None else np.frombuffer(mask.detail, np.bool_)

    def masks_of(self, mask: Chunk | None) -> list[str] | None:
        """Return the masks of an access; None where every lane is touched."""
        return None if mask is None else self.need(mask)

    def load_constant_places(
        self, type: str, address: str, offsets: Numbers, live: Bits, *, again: bool = False
    ) -> list[str]:
        """Load elements of an array, counted from an address; lanes that are not live are arbitrary."""
        return self.load_bytes(type, address, offsets * size_of(type), live, size_of(type), again=again)

    def load_bytes(
        self, type: str, base: str, offsets: Numbers, live: Bits, unit: int, *, again: bool = False
    ) -> list[str]:
        """Load from places whose offsets are in bytes; `unit` is how many bytes a pointer to the base counts by."""
        rows = zip(offsets.reshape(self.parts, -1), live.reshape(self.parts, -1))
        results = [self.load_part(type, part, base, *row, unit, again) for part, row in enumerate(rows)]
        return self.join_halves(results) if self.is_packed(type) else results

    def load_part(
        self, type: str, part: int, base: str, offsets: Numbers, live: Bits, unit: int, again: bool
    ) -> str:
        load, gather, _, _ = self.letters(type, part)
        if not live.any():
            return self.zero()
        length = int(np.flatnonzero(live)[-1]) + 1
        stride = find_stride(offsets[:length], live[:length], size_of(type))
        if stride is not None:
            place = at(base, int(offsets[0]) // unit)
            place = f"opaque({place})" if again else place
            return f"_vel_{load}_vssl({stride}, {place}, {length})"
        filled = np.where(live, offsets, offsets[live][0])
        addresses = self.constant_addresses_of(f"opaque({base})" if again else base, filled)
        return f"_vel_{gather}_vvssl({addresses}, 0, 0, {length})"

    def join_halves(self, loaded: list[str]) -> list[str]:
        """Put floats that were loaded into lower and upper halves into one register."""
        return [f"_vel_vshf_vvvsl({loaded[1]}, {loaded[0]}, VE_VSHUFFLE_YUZL, {self.n})"]

    def zero(self) -> str:
        return f"_vel_vbrdl_vsl(0, {self.n})"

    def gather(self, type: str, addresses: list[str], masks: list[str] | None) -> list[str]:
        """Load from a register of addresses; lanes that are masked off become 0."""
        results = []
        for part, place in enumerate(addresses):
            name = self.letters(type, part)[1]
            if masks is None:
                results.append(f"_vel_{name}_vvssl({place}, 0, 0, {self.n})")
            else:
                results.append(f"_vel_{name}_vvssmvl({place}, 0, 0, {masks[part]}, {self.zero()}, {self.n})")
        return self.join_halves(results) if self.is_packed(type) else results

    # Addresses.

    def constant_addresses(self, base: str, offsets: Numbers) -> list[str]:
        return [self.constant_addresses_of(base, row) for row in offsets.reshape(self.parts, -1)]

    def constant_addresses_of(self, base: str, offsets: Numbers) -> str:
        """Return a register of addresses: a base and constant offsets in bytes."""
        words = self.word_register(np.ascontiguousarray(offsets).view(np.uint64))
        return f"_vel_vaddul_vsvl((uint64_t)({base}), {words}, {self.n})"

    def indexed_addresses(self, index: Chunk, base: str, size: int) -> list[str]:
        """Return registers of addresses: a base and elements that are known at run time."""
        shift = size.bit_length() - 1
        return [f"_vel_vsfa_vvssl({part}, {shift}, (uint64_t)({base}), {self.n})" for part in self.need(index)]

    # Stores.

    def emit_store(self, chunk: Chunk) -> None:
        mask = chunk.operands[1] if len(chunk.operands) > 1 else None
        self.store(chunk.detail, chunk.operands[0], np.arange(self.width), mask)

    def emit_scatter(self, chunk: Chunk) -> None:
        """Store lanes to places of their own; of several lanes with one place the highest is last."""
        value, index = chunk.operands[:2]
        mask = chunk.operands[2] if len(chunk.operands) > 2 else None
        if index.op == "constant":
            self.store(chunk.detail, value, np.frombuffer(index.detail, np.int64), mask)
        else:
            self.store_by_lane(value, self.address(chunk.detail), index, mask)

    def store(self, place: Place, value: Chunk, offsets: Numbers, mask: Chunk | None) -> None:
        """Store to elements whose places are known but for the group's."""
        address = self.address(place)
        is_constant = mask is None or mask.op == "constant"
        live = self.live_lanes(mask) if is_constant else np.ones(self.width, bool)
        if value.type not in STORES or len(np.unique(offsets[live])) < live.sum():
            self.store_by_lane(value, address, offsets, mask)
            return
        masks = None if is_constant else self.masks_of(mask)
        names = self.need(value)
        hint = "nc" if place.pointer in self.streamed else ""
        for part, row in enumerate(offsets.reshape(self.parts, -1)):
            name = names[0] if len(names) == 1 else names[part]
            own = live.reshape(self.parts, -1)[part]
            self.store_part(value.type, part, name, address, row, own, None if masks is None else masks[part], hint)

    def store_part(
        self, type: str, part: int, name: str, address: str, offsets: Numbers, live: Bits, mask: str | None, hint: str
    ) -> None:
        _, _, store, scatter = self.letters(type, part)
        if not live.any():
            return
        length = int(np.flatnonzero(live)[-1]) + 1
        if mask is None and not live[:length].all():
            mask = make_mask(live)
        stride = find_stride(offsets[:length] * size_of(type), np.ones(length, bool), size_of(type))
        end, m = ("vssml", f", {mask}") if mask is not None else ("vssl", "")
        if stride is not None:
            place = at(address, int(offsets[0]))
            self.line(f"_vel_{store}{hint}_{end}({name}, {stride}, {place}{m}, {length});")
            return
        addresses = self.constant_addresses_of(address, offsets * size_of(type))
        self.line(f"_vel_{scatter}{hint}_v{end}({name}, {addresses}, 0, 0{m}, {length});")

    # Lanes that are known at run time.

    def move_through_memory(self, type: str, operands: list[Chunk], lanes: tuple[int, ...]) -> list[str]:
        """Permute lanes by a store and a gather, or a load with a stride."""
        places = [self.keep_in_memory(operand) for operand in operands]
        if len(operands) > 1:
            places = [self.slot_of(operand, place) for operand, place in zip(operands, places)]
        base = places[0][0]
        live = np.array(lanes) >= 0
        offsets = np.array([
            places[lane // self.width][1] + self.lane_offset(type, lane % self.width) if lane >= 0 else 0
            for lane in lanes
        ], np.int64)  # fmt: skip
        return self.load_bytes(type if self.is_packed(type) else "i64", base, offsets, live, 1)

    def slot_of(self, chunk: Chunk, place: tuple[str, int]) -> tuple[str, int]:
        """Return where a value is in the slots; one that a loop carries is copied there."""
        if place[0] == "slots":
            return place
        return self.memory[self.anonymous(chunk.type, self.need(chunk)).number]

    def emit_table(self, chunk: Chunk) -> None:
        """Write a table to memory, lane after lane; masks become integers."""
        type = "i64" if chunk.type == MASK else chunk.type
        size = 4 if self.is_packed(type) else 8
        offset = self.take_slot(chunk, size * self.width * len(chunk.operands))
        for number, operand in enumerate(chunk.operands):
            self.pinned = {operand.number}
            names = self.vectors_of_mask(operand) if chunk.type == MASK else self.need(operand)
            for part in range(self.parts):
                place = at("slots", offset + size * (number * self.width + part * self.n))
                store = self.letters(type, part)[2] if size == 4 else "vst"
                name = names[0] if len(names) == 1 else names[part]
                self.line(f"_vel_{store}_vssl({name}, {size}, {place}, {self.n});")

    def emit_read(self, chunk: Chunk) -> None:
        table, index = chunk.operands
        base, offset = self.memory[table.number]
        type = "i64" if table.type == MASK else table.type
        size = 4 if self.is_packed(type) else 8
        letters = type if size == 4 else "i64"
        read: Read = chunk.detail
        if read.lane is not None:
            part, element = divmod(read.lane, self.n)
            lane = f"_vel_lvsl_svs({self.need(index)[part]}, {element})"
            place = f"{at(base, offset + size * read.offset)} + {size} * {lane}"
            results = self.one_element(place, size)
        else:
            addresses = self.indexed_addresses(index, at(base, offset), size)
            wanted = np.frombuffer(read.wanted, np.bool_)
            masks = None if wanted.all() else [make_mask(row) for row in wanted.reshape(self.parts, -1)]
            results = self.gather(letters, addresses, masks)
        if table.type == MASK:
            results = [f"_vel_vfmklne_mvl({result}, {self.n})" for result in results]
        self.define(chunk, results)

    def one_element(self, place: str, size: int) -> list[str]:
        """Read one element for all lanes."""
        if size == 4:
            return [f"_vel_vbrdl_vsl((int64_t)(bits_of_float(get_float({place})) * UINT64_C(0x100000001)), {self.n})"]
        return [f"_vel_vbrdl_vsl(get_int64_t({place}), {self.n})"] * self.parts


def find_stride(offsets: Numbers, live: Bits, size: int) -> int | None:
    """Return the distance of neighbours in bytes; None where it changes or a lane must not be touched."""
    if not live.all():
        return None
    if len(offsets) == 1:
        return size
    steps = np.diff(offsets)
    return int(steps[0]) if steps[0] and (steps == steps[0]).all() else None


def size_of(type: str) -> int:
    return int(DTYPES[type].itemsize)
