"""InfReg-IR to the vectors of a machine: every register becomes chunks, and only those that are demanded.

    before: %3 = permute b <8 lanes of row s for every item>; %4 = fma %2, %3, %c      (64 lanes)
    after:  8 fma of chunks, all with the one chunk of b that is row s

Equal chunks are one: a permutation that picks whole chunks costs nothing ("reuse" of the paper), constant masks that
cover a chunk or miss it vanish, and what remains of a permutation is put together by `moves.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from drawloom.batch.backends.accesses import Spread, find_hull, find_run, is_consecutive, spread_access
from drawloom.batch.backends.chunk_ir import Chunk, ChunkLoop, ChunkProgram
from drawloom.batch.backends.demand import Demand
from drawloom.batch.backends.layout import Layout
from drawloom.batch.backends.lookups import in_place, lookup
from drawloom.batch.backends.moves import Row, Source, assemble
from drawloom.batch.ir.ir import DTYPES, MASK, VOID, Block, Format, Kernel, Loop, Value
from drawloom.batch.ir.operations import CONVERSIONS, OPERATIONS
from drawloom.batch.ir.ranges import Ranges


def cut_into_chunks(kernel: Kernel, layout: Layout, *, moves_runs: bool = True) -> ChunkProgram:
    """Cut a kernel's registers into vectors.

    Args:
        kernel: InfReg-IR.
        layout: The order of lanes, the groups that run together, and the lanes of a vector.
        moves_runs: Load and store neighbouring elements in the order of memory, and move lanes between registers.
            Otherwise every lane is loaded into place, for machines whose loads have strides.
    """
    chunker = Chunker(kernel, layout, moves_runs)
    chunker.run(kernel.body)
    return chunker.program


class Chunker:
    """The chunks of every value so far, by the value's number; None where nothing reads a chunk."""

    def __init__(self, kernel: Kernel, layout: Layout, moves_runs: bool) -> None:
        self.layout = layout
        self.moves_runs = moves_runs
        self.width = layout.width
        read_only = frozenset(p.name for p in kernel.parameters if p.is_pointer and not p.is_written)
        self.program = ChunkProgram(layout.width, read_only)
        self.demand = Demand(kernel)
        self.ranges = Ranges()
        self.chunks: dict[int, list[Chunk | None]] = {}
        self.versions: dict[str, int] = {}

    def run(self, block: Block) -> None:
        for value in block.values:
            self.step(value)

    def step(self, value: Value) -> None:
        op = value.op
        if op == "loop":
            self.loop(value)
            return
        if op in ("store", "scatter"):
            self.store(value)
            return
        if value.number not in self.demand.lanes:
            return
        if op == "result":
            self.chunks[value.number] = self.chunks[value.detail.number]
        elif op == "permute":
            self.chunks[value.number] = self.permute(value)
        elif op in ("load", "gather"):
            self.chunks[value.number] = self.load(value)
        elif op == "lookup":
            self.chunks[value.number] = lookup(self, value)
        else:
            wanted = self.lanes_of(self.demand.of(value), value.format)
            if op == "select" and value.operands[0].is_constant:
                self.chunks[value.number] = self.select(value, wanted)
                return
            self.chunks[value.number] = [
                self.lanewise(value, number, wanted[number]) if is_demanded else None
                for number, is_demanded in enumerate(any_lane(wanted))
            ]

    # Lanes of chunks.

    def lanes_of(self, lanes: NDArray[Any], format: Format) -> NDArray[Any]:
        """Lay lanes of a format out in chunks: shape (chunks, width); what nothing reads is False or 0."""
        placement = self.layout.place(format)
        row = lanes.reshape(-1)[placement.lane_at.clip(0)]
        row = np.where(placement.lane_at >= 0, row, np.zeros((), row.dtype))
        return row.reshape(placement.chunks, self.width)

    def chunk(self, value: Value, number: int) -> Chunk:
        """Return a chunk of an operand."""
        if value.is_constant:
            return self.filled_constant(value, number)
        chunk = self.chunks[value.number][number]
        assert chunk is not None, (value, number)
        return chunk

    def filled_constant(self, value: Value, number: int) -> Chunk:
        """Return a chunk of a constant. Lanes that nothing reads get a number of it: a vector divides by them, too."""
        placement = self.layout.place(value.format)
        lane_at = placement.lane_at[number * self.width : (number + 1) * self.width]
        filled = np.where(lane_at < 0, lane_at[0], lane_at)
        return self.constant(value.type, value.detail.reshape(-1)[filled])

    def constant(self, type: str, lanes: NDArray[Any]) -> Chunk:
        return self.program.shared("constant", type, (), np.ascontiguousarray(lanes, DTYPES[type]).tobytes())

    def select(self, value: Value, wanted: NDArray[np.bool_]) -> list[Chunk | None]:
        """Return the chunks of a select by a constant mask. Most are chunks of one operand."""
        masks = self.lanes_of(value.operands[0].detail, value.format)
        takes_first, takes_second = any_lane(wanted & masks), any_lane(wanted & ~masks)
        result: list[Chunk | None] = [None] * len(wanted)
        for number, taken in enumerate(zip(takes_first, takes_second)):
            chosen = [self.chunk(operand, number) for operand, is_taken in zip(value.operands[1:], taken) if is_taken]
            if len(chosen) == 2:
                # Of a constant mask only the wanted lanes count; the others may be as the neighbours are.
                chosen = [self.program.shared("select", value.type, (self.constant(MASK, masks[number]), *chosen))]
            if chosen:
                result[number] = chosen[0]
        return result

    def lanewise(self, value: Value, number: int, wanted: NDArray[np.bool_]) -> Chunk:
        op = value.op
        program = self.program
        if op == "group":
            placement = self.layout.place(value.format)
            groups = placement.group_at.reshape(-1, self.width)[number]
            return program.shared("group", "i64", (), tuple(groups.tolist()))
        if op == "argument":
            return program.shared("argument", value.type, (), value.detail)
        assert op in OPERATIONS or op in CONVERSIONS, op
        operands = tuple(self.chunk(operand, number) for operand in value.operands)
        if value.type == MASK and op in ("and", "or"):
            return self.combine_masks(op, operands, wanted)
        if op == "select" and operands[0].op == "constant":
            lanes = np.frombuffer(operands[0].detail, DTYPES[MASK])[wanted]
            if lanes.all() or not lanes.any():
                return operands[1] if lanes.all() else operands[2]
        if op in ("icmp eq", "icmp ne") and operands[0].op == "constant":
            # A shuffle's comparisons (`lookups.py`) have the constant there: both share a mask.
            operands = operands[::-1]
        return program.shared(op, value.type, operands)

    def combine_masks(self, op: str, operands: tuple[Chunk, ...], wanted: NDArray[np.bool_]) -> Chunk:
        """Return the conjunction or disjunction of two masks, of which a constant one may decide all wanted lanes."""
        for mask, other in (operands, operands[::-1]):
            if mask.op == "constant":
                lanes = np.frombuffer(mask.detail, DTYPES[MASK])[wanted]
                if lanes.all():
                    return other if op == "and" else mask
                if not lanes.any():
                    return mask if op == "and" else other
        return self.program.shared(op, MASK, operands)

    # Permutations.

    def permute(self, value: Value) -> list[Chunk | None]:
        source = value.operands[0]
        target_places = self.layout.place(value.format)
        source_places = self.layout.place(source.format)
        permutation = value.detail.reshape(-1)
        demanded = self.lanes_of(self.demand.of(value), value.format)
        defined = self.lanes_of(value.detail >= 0, value.format) & demanded
        groups = target_places.group_at
        origin = source_places.position[groups, permutation[target_places.lane_at.clip(0)].clip(0)]
        moved = self.assemble(np.where(defined.reshape(-1), origin, -1), self.chunks[source.number], value.type)
        return self.fill(moved, demanded, value.type)

    def fill(self, chunks: list[Chunk | None], demanded: NDArray[np.bool_], type: str) -> list[Chunk | None]:
        """Put zeros where lanes are demanded that hold arbitrary numbers."""
        zero = self.constant(type, np.zeros(self.width))
        is_demanded = any_lane(demanded)
        return [zero if chunk is None and wanted else chunk for chunk, wanted in zip(chunks, is_demanded)]

    def assemble(
        self, origins: NDArray[np.int64], chunks: list[Chunk | None] | dict[int, Chunk], type: str
    ) -> list[Chunk | None]:
        """Return chunks whose lanes are at the places `origins` of other chunks; -1 stands for a lane nothing reads."""
        width = self.width
        places = origins.reshape(-1, width)
        renamed = in_place(places, places >= 0).tolist()
        demanded = any_lane(places >= 0)
        if all(number >= 0 or not is_demanded for number, is_demanded in zip(renamed, demanded)):
            return [chunks[number] if is_demanded else None for number, is_demanded in zip(renamed, demanded)]
        rows: list[Row] = []
        for start in range(0, len(origins), width):
            row = origins[start : start + width].tolist()
            if type not in ("float", "double"):
                row = fill_integers(row, 16 // lane_bytes(type))
            rows.append([None if place < 0 else Source(place // width, place % width) for place in row])
        if isinstance(chunks, list):
            chunks = {number: chunk for number, chunk in enumerate(chunks) if chunk is not None}
        return assemble(self.program, rows, chunks)

    # Memory.

    def load(self, value: Value) -> list[Chunk | None]:
        has_index = value.op == "gather"
        operands = value.operands
        index = operands[0] if has_index else None
        mask = operands[-1] if len(operands) > has_index else None
        spread = spread_access(value.detail, value.type, value.format, self.layout, self.demand.of(value))
        version = self.versions.get(spread.pointer, 0)
        wanted = self.lanes_of(self.demand.of(value), value.format)
        if not spread.live.any():
            return self.fill([None] * len(wanted), wanted, value.type)
        if self.moves_runs and index is None and mask is None and not self.is_simple(spread):
            moved = self.load_in_order(spread, version)
            if moved is not None:
                return self.fill(moved, wanted, value.type)
        return [
            self.load_chunk(value, spread, number, index, mask, version) if row.any() else None
            for number, row in enumerate(wanted)
        ]

    def is_simple(self, spread: Spread) -> bool:
        """Return whether every chunk is one contiguous load or one broadcast."""
        if spread.terms is None:
            return False
        offsets = spread.offsets.reshape(-1, self.width)
        for number, live in enumerate(spread.live.reshape(-1, self.width)):
            if not live.any():
                continue
            row = offsets[number]
            if not is_consecutive(row, live) and not (row[live] == row[live][0]).all():
                return False
        return True

    def load_in_order(self, spread: Spread, version: int) -> list[Chunk | None] | None:
        """Load what an access touches in the order of memory, and move its lanes into place; None where much lies
        between."""
        hull = find_hull(spread)
        if hull is None:
            return None
        first, count = hull
        places = np.where(spread.live, spread.offsets - first, -1)
        loaded = {}
        for number in np.unique(places[spread.live] // self.width).tolist():
            start = number * self.width
            loaded[number] = self.contiguous_load(spread, first + start, min(count - start, self.width), version)
        return self.assemble(places, loaded, spread.type)

    def contiguous_load(self, spread: Spread, offset: int, count: int, version: int) -> Chunk:
        place = spread.place(offset, 0)
        operands: tuple[Chunk, ...] = ()
        if count < self.width:
            operands = (self.constant(MASK, np.arange(self.width) < count),)
        return self.program.shared("load", spread.type, operands, place, version)

    def load_chunk(
        self, value: Value, spread: Spread, number: int, index: Value | None, mask: Value | None, version: int
    ) -> Chunk:
        program = self.program
        part = slice(number * self.width, (number + 1) * self.width)
        live, offsets = spread.live[part], spread.offsets[part]
        if not live.any():
            return self.constant(value.type, np.zeros(self.width))
        if mask is None and index is None and spread.terms is not None and (offsets[live] == offsets[live][0]).all():
            place = spread.place(int(offsets[live][0]), 0)
            return program.shared("broadcast", value.type, (), place, version)
        operands = self.mask_operands(live, mask, number)
        if index is None and spread.terms is not None and is_consecutive(offsets, live):
            place = spread.place(int((offsets - np.arange(self.width))[live][0]), 0)
            return program.shared("load", value.type, operands, place, version)
        lanes, place = self.lane_addresses(spread, part, index, number)
        return program.shared("gather", value.type, (lanes, *operands), place, version)

    def mask_operands(self, live: NDArray[np.bool_], mask: Value | None, number: int) -> tuple[Chunk, ...]:
        """Return the mask of an access: none where every lane is touched."""
        if mask is None:
            return () if live.all() else (self.constant(MASK, live),)
        chunk = self.chunk(mask, number)
        if live.all():
            return (chunk,)
        return (self.program.shared("and", MASK, (chunk, self.constant(MASK, live))),)

    def lane_addresses(self, spread: Spread, part: slice, index: Value | None, number: int) -> tuple[Chunk, Any]:
        """Return the element of every lane as an i64 chunk, and the place that it counts from."""
        program = self.program
        lanes = self.constant("i64", spread.offsets[part])
        if index is not None:
            lanes = program.shared("add", "i64", (lanes, self.chunk(index, number)))
        if spread.terms is not None:
            return lanes, spread.place(0, 0)
        rows = spread.bases[part]
        for factors in sorted({factors for row in rows for factors, _ in row}):
            coefficients = np.array([dict(row).get(factors, 0) for row in rows], np.int64)
            product = self.constant("i64", coefficients)
            for factor in factors:
                product = program.shared("mul", "i64", (product, self.run_time_number(factor)))
            lanes = program.shared("add", "i64", (lanes, product))
        return lanes, spread.place(0, part.start)._replace(terms=())

    def run_time_number(self, factor: str) -> Chunk:
        if factor == "group":
            return self.program.shared("group", "i64", (), (0,) * self.width)
        return self.program.shared("argument", "i64", (), factor)

    def store(self, value: Value) -> None:
        has_index = value.op == "scatter"
        operands = value.operands
        stored = operands[0]
        index = operands[1] if has_index else None
        mask = operands[-1] if len(operands) > 1 + has_index else None
        everything = np.ones(value.format, bool)
        spread = spread_access(value.detail, stored.type, value.format, self.layout, everything)
        if not spread.live.any():
            return
        is_movable = self.moves_runs and index is None and mask is None and not self.is_simple_store(spread)
        if not is_movable or not self.store_run(spread, stored):
            for number in range(self.layout.place(value.format).chunks):
                self.store_chunk(spread, stored, number, index, mask)
        self.versions[spread.pointer] = self.versions.get(spread.pointer, 0) + 1

    def is_simple_store(self, spread: Spread) -> bool:
        if spread.terms is None:
            return False
        offsets = spread.offsets.reshape(-1, self.width)
        return all(
            not live.any() or is_consecutive(offsets[number], live)
            for number, live in enumerate(spread.live.reshape(-1, self.width))
        )

    def store_run(self, spread: Spread, stored: Value) -> bool:
        """Move lanes into the order of memory and store them; False where elements are missing or written twice."""
        run = find_run(spread)
        if run is None or len(run.sources) != spread.live.sum():
            return False
        count = len(run.sources)
        origins = np.full(-(-count // self.width) * self.width, -1, np.int64)
        origins[:count] = run.sources
        chunks = {number: self.chunk(stored, number) for number in sorted(set((run.sources // self.width).tolist()))}
        for number, chunk in enumerate(self.assemble(origins, chunks, stored.type)):
            assert chunk is not None
            here = min(count - number * self.width, self.width)
            mask = () if here == self.width else (self.constant(MASK, np.arange(self.width) < here),)
            place = spread.place(run.first + number * self.width, 0)
            self.program.append("store", VOID, (chunk, *mask), place)
        return True

    def store_chunk(self, spread: Spread, stored: Value, number: int, index: Value | None, mask: Value | None) -> None:
        part = slice(number * self.width, (number + 1) * self.width)
        live, offsets = spread.live[part], spread.offsets[part]
        if not live.any():
            return
        operands = self.mask_operands(live, mask, number)
        chunk = self.chunk(stored, number)
        if index is None and spread.terms is not None and is_consecutive(offsets, live):
            place = spread.place(int((offsets - np.arange(self.width))[live][0]), 0)
            self.program.append("store", VOID, (chunk, *operands), place)
            return
        lanes, place = self.lane_addresses(spread, part, index, number)
        self.program.append("scatter", VOID, (chunk, lanes, *operands), place)

    # Loops.

    def loop(self, value: Value) -> None:
        loop: Loop = value.detail
        made = ChunkLoop()
        initial: list[Chunk] = []
        for carried, begin in zip(loop.carried, value.operands):
            numbers = range(self.layout.place(carried.format).chunks)
            initial += [self.chunk(begin, number) for number in numbers]
            row = [self.new_carried(carried.type) for _ in numbers]
            made.carried += row
            self.chunks[carried.number] = list(row)
        for pointer in stored_pointers(loop):
            self.versions[pointer] = self.versions.get(pointer, 0) + 1
        outer = self.program.enter(made.header)
        self.run(loop.header)
        condition = loop.condition
        wanted = self.lanes_of(np.ones(condition.format, bool), condition.format)
        for number, row in enumerate(wanted):
            chunk = self.chunk(condition, number)
            if not row.all():
                chunk = self.program.shared("and", MASK, (chunk, self.constant(MASK, row)))
            made.conditions.append(chunk)
        self.program.enter(made.body)
        self.run(loop.body)
        for following in loop.next_values:
            made.next_values += [
                self.chunk(following, number) for number in range(self.layout.place(following.format).chunks)
            ]
        self.program.leave(outer, scopes=2)
        self.program.append("loop", VOID, tuple(initial), made)

    def new_carried(self, type: str) -> Chunk:
        self.program.number += 1
        return Chunk(self.program.number, "carried", type, (), None)


def any_lane(rows: NDArray[np.bool_]) -> list[bool]:
    """Return for each row of lanes whether any is true."""
    found: list[bool] = np.logical_or.reduce(rows, axis=1).tolist()
    return found


def fill_integers(row: list[int], block: int) -> list[int]:
    """Give lanes that nothing reads a source: an integer must be a number, as a vector divides all of its lanes.

    Lanes that are read within the first block of 128 bits, from there, are read so in every block. LLVM 22 has an error
    in permutations across blocks, for AVX-512, of which it finds out late that the first block alone is read.

    Args:
        row: The place that each lane comes from; -1 where nothing reads it.
        block: The lanes of 128 bits.
    """
    filler = next((place for place in row if place >= 0), -1)
    start = filler // len(row) * len(row)
    lanes = [place - start if place >= 0 else number for number, place in enumerate(row[:block])]
    if filler < 0 or any(place >= 0 for place in row[block:]) or not all(0 <= lane < block for lane in lanes):
        return [filler if place < 0 else place for place in row]
    return [start + number // block * block + lanes[number % block] for number in range(len(row))]


def lane_bytes(type: str) -> int:
    """Return the bytes of an integer's lane: narrow ones and masks have 32 bits (`widening.py`)."""
    return max(4, DTYPES[type].itemsize)


def stored_pointers(loop: Loop) -> list[str]:
    """Return the pointers that a loop stores through."""
    found: list[str] = []
    for block in (loop.header, loop.body):
        for value in block.values:
            if value.op in ("store", "scatter"):
                found.append(value.detail.pointer)
            elif value.op == "loop":
                found += stored_pointers(value.detail)
    return found
