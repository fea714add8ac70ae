"""Permutations across vectors as two-operand shuffles: reuse, one shuffle, or as few as the pattern allows.

    8 rows of 8 to columns: three rounds of exchanges between pairs of vectors, 24 shuffles instead of 56
"""

from __future__ import annotations

from typing import NamedTuple

from drawloom.batch.backends.chunk_ir import Chunk, ChunkProgram


class Source(NamedTuple):
    """Where a lane comes from: a lane of a chunk. None in a list of sources stands for a lane that nothing reads."""

    chunk: int
    lane: int


Row = list[Source | None]


def assemble(program: ChunkProgram, rows: list[Row], chunks: dict[int, Chunk]) -> list[Chunk | None]:
    """Return a chunk for each row of sources; None for a row that nothing reads.

    Args:
        program: Where shuffles are appended.
        rows: The sources of every lane of the chunks to make.
        chunks: The chunks that sources name.
    """
    if not needs_exchanges(rows):
        return [gather_row(program, row, chunks) for row in rows]
    result: list[Chunk | None] = [None] * len(rows)
    for numbers in split_rows(rows):
        part = [rows[number] for number in numbers]
        exchanged = exchange(program, part, chunks) if needs_exchanges(part) else None
        for place, number in enumerate(numbers):
            result[number] = exchanged[place] if exchanged is not None else gather_row(program, rows[number], chunks)
    return result


def split_rows(rows: list[Row]) -> list[list[int]]:
    """Return the numbers of rows that take lanes from the same chunks, as few together as possible.

    Few chunks are held at once where one part of a large transposition stands after the other.
    """
    leader: dict[int, int] = {}

    def lead(chunk: int) -> int:
        while leader.setdefault(chunk, chunk) != chunk:
            chunk = leader[chunk]
        return chunk

    first = [next((source.chunk for source in row if source is not None), None) for row in rows]
    for row, chunk in zip(rows, first):
        for source in row:
            if source is not None and chunk is not None:
                leader[lead(source.chunk)] = lead(chunk)
    parts: dict[int | None, list[int]] = {}
    for number, chunk in enumerate(first):
        parts.setdefault(None if chunk is None else lead(chunk), []).append(number)
    return list(parts.values())


def gather_row(program: ChunkProgram, row: Row, chunks: dict[int, Chunk]) -> Chunk | None:
    """Merge the chunks that a row takes lanes from, pairwise."""
    width = program.width
    names: list[int] = []
    for source in row:
        if source is not None and source.chunk not in names:
            names.append(source.chunk)
    if not names:
        return None
    parts: list[tuple[Chunk, list[int]]] = [
        (chunks[name], [source.lane if source is not None and source.chunk == name else -1 for source in row])
        for name in names
    ]
    while len(parts) > 1:
        merged: list[tuple[Chunk, list[int]]] = []
        for first, second in zip(parts[::2], parts[1::2]):
            lanes = [a if a >= 0 else b + width if b >= 0 else -1 for a, b in zip(first[1], second[1])]
            chunk = program.shuffle(tuple(lanes), first[0], second[0])
            # What the shuffle moved stands in its place now.
            merged.append((chunk, [place if lane >= 0 else -1 for place, lane in enumerate(lanes)]))
        if len(parts) % 2:
            merged.append(parts[-1])
        parts = merged
    chunk, lanes = parts[0]
    return program.shuffle(tuple(lanes), chunk)


def needs_exchanges(rows: list[Row]) -> bool:
    """Return whether rows take lanes from more than two chunks each."""
    return any(len({source.chunk for source in row if source is not None}) > 2 for row in rows)


def exchange(program: ChunkProgram, rows: list[Row], chunks: dict[int, Chunk]) -> list[Chunk | None] | None:
    """Permute address bits, where the whole permutation is that; None where it is not.

    A place has an address: the bits of its lane, then those of its chunk. If every bit of a source's address is some
    bit of the place's, the bits that change between lane and chunk are exchanged one after the other.
    """
    width = program.width
    names = sorted({source.chunk for row in rows for source in row if source is not None})
    if len(names) != len(rows) or width & (width - 1) or len(rows) & (len(rows) - 1):
        return None
    rank = {name: number for number, name in enumerate(names)}
    sources = [-1 if source is None else rank[source.chunk] * width + source.lane for row in rows for source in row]
    if min(sources) < 0:
        return None
    bits = (len(sources) - 1).bit_length()
    origin = bit_permutation(sources, bits)
    if origin is None:
        return None
    lane_bits = (width - 1).bit_length()
    # held[b] is the source bit that bit b of the current address stands for.
    held = list(range(bits))
    current = [chunks[name] for name in names]
    for lane_bit in range(lane_bits):
        if origin[lane_bit] < lane_bits:
            continue  # this lane bit comes from a lane bit
        chunk_bit = held.index(origin[lane_bit])
        # The lane bit that has to leave: one whose source bit some chunk bit waits for.
        candidates = [bit for bit in range(lane_bits) if held[bit] in origin[lane_bits:]]
        leaving = lane_bit if lane_bit in candidates else candidates[0]
        current = exchange_bits(program, current, leaving, chunk_bit - lane_bits)
        held[leaving], held[chunk_bit] = held[chunk_bit], held[leaving]
    return finish(program, current, origin, held, lane_bits)


def bit_permutation(sources: list[int], bits: int) -> list[int] | None:
    """Return for each bit of a place's address the bit of the source's that equals it; None where none does."""
    origin: list[int] = []
    for bit in range(bits):
        moved = sources[1 << bit] ^ sources[0]
        if sources[0] != 0 or moved & (moved - 1) or moved == 0:
            return None
        origin.append(moved.bit_length() - 1)
    for place, source in enumerate(sources):
        expected = 0
        for bit in range(bits):
            if place >> bit & 1:
                expected |= 1 << origin[bit]
        if expected != source:
            return None
    return origin


def exchange_bits(program: ChunkProgram, chunks: list[Chunk], lane_bit: int, chunk_bit: int) -> list[Chunk]:
    """Exchange a bit of the lane with a bit of the chunk in every address: one shuffle for each chunk."""
    width = program.width
    result: list[Chunk] = []
    for number in range(len(chunks)):
        low = number & ~(1 << chunk_bit)
        pair = chunks[low], chunks[low | 1 << chunk_bit]
        own = number >> chunk_bit & 1
        lanes = tuple(
            (lane & ~(1 << lane_bit) | own << lane_bit) + width * (lane >> lane_bit & 1) for lane in range(width)
        )
        result.append(program.shuffle(lanes, *pair))
    return result


def finish(
    program: ChunkProgram, current: list[Chunk], origin: list[int], held: list[int], lane_bits: int
) -> list[Chunk | None]:
    """Permute lanes within chunks and rename chunks, once every bit is on its side."""
    where = {source: bit for bit, source in enumerate(held)}
    lanes = []
    for lane in range(1 << lane_bits):
        address = 0
        for bit in range(lane_bits):
            if lane >> bit & 1:
                address |= 1 << where[origin[bit]]
        lanes.append(address)
    result: list[Chunk | None] = []
    for number in range(len(current)):
        address = 0
        for bit in range(lane_bits, len(held)):
            if number >> (bit - lane_bits) & 1:
                address |= 1 << (where[origin[bit]] - lane_bits)
        result.append(program.shuffle(tuple(lanes), current[address]))
    return result
