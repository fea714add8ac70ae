"""Batched kernels whose moves between lanes go through memory, but for some kinds: figure 9 of the paper.

before: %3 = shuffle <2, 2, 2, 2, 2, 2, 2, 2> %1
after:  %2 = table %1; %3 = read %2, <2, 2, 2, 2, 2, 2, 2, 2>       -- a store and a gather
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Final
from unittest.mock import patch

import numpy as np

from drawloom.batch.backends import chunking, moves
from drawloom.batch.backends.chunk_ir import Chunk, ChunkProgram, Read
from drawloom.batch.backends.simd import emit

#: Moves between lanes that are not left to memory, each with those before it.
MOVES: Final = ("store/gather", "+ reuse", "+ scalar broadcast", "+ one register", "+ two registers")


def assemble_with(
    allowed: int, program: ChunkProgram, rows: list[moves.Row], chunks: dict[int, Chunk]
) -> list[Chunk | None]:
    """Return a chunk for each row of sources, by a store and a gather where MOVES[allowed] does not suffice."""
    if allowed == len(MOVES) - 1:
        return moves.assemble(program, rows, chunks)
    return [
        moves.gather_row(program, row, chunks)
        if kind_of(row) <= allowed
        else store_and_gather(program, row, chunks, allowed)
        for row in rows
    ]


def kind_of(row: moves.Row) -> int:
    """Return the first of MOVES that a row needs. A row that nothing reads needs none."""
    sources = [source for source in row if source is not None]
    if not sources:
        return 0
    if len({source.chunk for source in sources}) > 1:
        return 4
    if all(source is None or source.lane == place for place, source in enumerate(row)):
        return 1
    return 2 if len(set(sources)) == 1 else 3


def store_and_gather(program: ChunkProgram, row: moves.Row, chunks: dict[int, Chunk], allowed: int) -> Chunk:
    """Write the chunks that a row takes lanes from to memory and gather. With reuse, equal moves are made once."""
    add = program.shared if allowed else program.append
    names = list(dict.fromkeys(source.chunk for source in row if source is not None))
    operands = tuple(chunks[name] for name in names)
    places = [0 if source is None else names.index(source.chunk) * program.width + source.lane for source in row]
    index = program.shared("constant", "i64", (), np.array(places, np.int64).tobytes())
    read = np.array([source is not None for source in row])
    table = add("table", operands[0].type, operands)
    return add("read", table.type, (table, index), Read(read.tobytes()))


@contextmanager
def moves_up_to(allowed: int) -> Iterator[None]:
    """Allow kinds of moves, and look nothing up within registers."""
    with (
        patch.object(chunking, "assemble", partial(assemble_with, allowed)),
        patch.object(emit, "LARGEST_PERMUTED", 0 if allowed < len(MOVES) - 1 else emit.LARGEST_PERMUTED),
    ):
        yield
