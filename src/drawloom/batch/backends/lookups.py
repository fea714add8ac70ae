"""Lanes that are known at run time only: by selects where the candidates lie in place, else through memory.

    before: %9 = lookup %a, %p * 4 + 2      a shuffle of column 2, whose groups are interleaved
    after:  select(p == 3, a_32, select(p == 2, a_22, select(p == 1, a_12, a_02)))
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from drawloom.batch.backends.chunk_ir import Chunk, Read, is_uniform
from drawloom.batch.ir.ir import MASK, Format, Lanes, Value

if TYPE_CHECKING:
    from drawloom.batch.backends.chunking import Chunker

#: Selects cost one instruction each, and a read of lanes from memory about two for each lane.
MOST_SELECTS: Final = 33


class ItemLookup(NamedTuple):
    """A lookup whose index is `item` * extent + `columns`: what a shuffle is lowered to."""

    item: Value
    columns: Lanes


def lookup(chunker: Chunker, value: Value) -> list[Chunk | None]:
    """Return the chunks of a lookup."""
    selected = select_items(chunker, value)
    return selected if selected is not None else read_table(chunker, value)


def match_item_lookup(value: Value) -> ItemLookup | None:
    """Return the item and the columns that a lookup reads; None where its index is something else."""
    source, index = value.operands
    extent = source.format.extent
    if extent == 1:
        return ItemLookup(index, np.zeros(index.format, np.int64))
    columns: Lanes = np.zeros(index.format, np.int64)
    if index.op == "add" and index.operands[1].is_constant:
        index, columns = index.operands[0], index.operands[1].detail
    if index.op != "mul" or not index.operands[1].is_constant or not (index.operands[1].detail == extent).all():
        return None
    return ItemLookup(index.operands[0], columns) if ((columns >= 0) & (columns < extent)).all() else None


def select_items(chunker: Chunker, value: Value) -> list[Chunk | None] | None:
    """Select among the chunks of every item; None where a candidate would have to move between lanes."""
    source = value.operands[0]
    found = match_item_lookup(value)
    if found is None or source.format.items > MOST_SELECTS or source.is_constant:
        return None
    wanted = chunker.lanes_of(chunker.demand.of(value), value.format)
    demanded = wanted.any(axis=1)
    rows = []
    for item in range(source.format.items):
        rows.append(in_place(place_candidates(chunker, source.format, value.format, found.columns, item), wanted))
        if (rows[-1] < 0)[demanded].any():
            return None
    numbers = np.array(rows)
    first, last = chunker.ranges.bounds(found.item) or (0, source.format.items - 1)
    first, last = max(first, 0), min(last, source.format.items - 1)
    chunks = [chunker.chunk(source, number) for number in range(chunker.layout.place(source.format).chunks)]
    keys = [(chunker.chunk(found.item, place), tuple(numbers[:, place].tolist())) if row.any() else None
            for place, row in enumerate(wanted)]  # fmt: skip
    results = {key: chunks[key[1][first]] for key in keys if key is not None}
    for item in range(first + 1, last + 1):
        for key, chosen in results.items():
            number = chunker.constant(found.item.type, np.full(chunker.width, item))
            is_item = chunker.program.shared("icmp eq", MASK, (key[0], number))
            candidate = chunks[key[1][item]]
            results[key] = chunker.program.shared("select", value.type, (is_item, candidate, chosen))
    return [results[key] if key is not None else None for key in keys]


def place_candidates(chunker: Chunker, source: Format, target: Format, columns: Lanes, item: int) -> Lanes:
    """Return the places in the source's vectors that lanes of the target's would read of one item."""
    places = chunker.layout.place(target)
    lane = item * source.extent + columns.reshape(-1)[places.lane_at.clip(0)]
    position = chunker.layout.place(source).position
    return np.asarray(position[places.group_at, lane]).reshape(places.chunks, chunker.width)


def in_place(rows: Lanes, wanted: Lanes) -> Lanes:
    """Return for each row of places the chunk that has them in the same lanes, -1 where there is none."""
    width = rows.shape[1]
    chunks = rows // width
    least = np.where(wanted, chunks, np.iinfo(np.int64).max).min(axis=1)
    most = np.where(wanted, chunks, -1).max(axis=1)
    stays = (rows % width == np.arange(width)) | ~wanted
    return np.where((least == most) & stays.all(axis=1), least, -1)


def read_table(chunker: Chunker, value: Value) -> list[Chunk | None]:
    """Write a register to memory and read the lanes that an index names."""
    source = value.operands[0]
    found = match_item_lookup(value)
    count = chunker.layout.place(source.format).chunks
    chunks = [chunker.chunk(source, number) for number in range(count)]
    wanted = chunker.lanes_of(chunker.demand.of(value), value.format)
    result: list[Chunk | None] = []
    for number, row in enumerate(wanted):
        if not row.any():
            result.append(None)
            continue
        place, offset = find_place(chunker, value, found, number)
        first, last = find_chunks(chunker, value, found, offset[row]) or (0, count - 1)
        table = chunker.program.shared("table", source.type, tuple(chunks[first : last + 1]))
        offset = offset - first * chunker.width
        lanes = np.flatnonzero(row)
        if is_uniform(place, lanes.tolist()) and (offset[lanes] == offset[lanes[0]]).all():
            read = Read(row.tobytes(), int(lanes[0]), int(offset[lanes[0]]))
        else:
            read = Read(row.tobytes())
            if offset.any():
                place = chunker.program.shared("add", "i64", (place, chunker.constant("i64", offset)))
        result.append(chunker.program.shared("read", value.type, (table, place), read))
    return result


def find_chunks(chunker: Chunker, value: Value, found: ItemLookup | None, offsets: Lanes) -> tuple[int, int] | None:
    """Return the first and the last chunk of its source that a chunk of a lookup may read; None where any may be."""
    if found is None:
        return None
    source = value.operands[0].format
    stride = chunker.layout.strides(source)[1]
    first, last = chunker.ranges.bounds(found.item) or (0, source.items - 1)
    least = int(offsets.min()) + stride * max(first, 0)
    most = int(offsets.max()) + stride * min(last, source.items - 1)
    return least // chunker.width, most // chunker.width


def find_place(chunker: Chunker, value: Value, found: ItemLookup | None, number: int) -> tuple[Chunk, Lanes]:
    """Return where each lane of a chunk of a lookup reads in the vectors of its source: a sum of both."""
    program, width = chunker.program, chunker.width
    source, index = value.operands
    group_stride, item_stride, element_stride = chunker.layout.strides(source.format)
    groups = chunker.layout.place(value.format).group_at.reshape(-1, width)[number]
    offset = groups * group_stride

    def times(factor: Chunk, number: int) -> Chunk:
        return factor if number == 1 else program.shared("mul", "i64", (factor, filled(number)))

    def filled(number: int) -> Chunk:
        return chunker.constant("i64", np.full(width, number))

    if found is not None:
        place = times(chunker.chunk(found.item, number), item_stride)
        offset = offset + chunker.lanes_of(found.columns, value.format)[number] * element_stride
    else:
        place, extent = chunker.chunk(index, number), filled(source.format.extent)
        if (item_stride, element_stride) != (source.format.extent, 1):
            item = program.shared("udiv", "i64", (place, extent))
            element = program.shared("urem", "i64", (place, extent))
            place = program.shared("add", "i64", (times(item, item_stride), times(element, element_stride)))
    return place, offset
