"""The order of selects by the same mask: side by side, so that the mask is loaded once for all of them.

    before: c1 = select(m1, a1, c0); c2 = select(m2, a2, c1); ...; b1 = select(m1, x, a1); b2 = select(m2, x, a2); ...
    after:  c1 = select(m1, a1, c0); b1 = select(m1, x, a1); c2 = select(m2, a2, c1); b2 = select(m2, x, a2); ...

A kernel with interleaved groups that exchanges rows has a mask for every pair of rows, and AVX-512 has seven registers
for them.
"""

from __future__ import annotations

import itertools
from typing import Final

from drawloom.batch.backends.chunk_ir import Chunk

#: How far a select may move: its operands are in registers, and its result is used soon.
WINDOW: Final = 64
UNMASKED: Final = ("constant", "argument", "carried")


def group_selects_by_mask(chunks: list[Chunk], window: int = WINDOW) -> list[Chunk]:
    """Return a block's instructions with selects moved forward to the first one by the same mask, across no loop.

    Args:
        chunks: The instructions of a block.
        window: The most instructions that a select is moved across.
    """
    result: list[Chunk] = []
    for _, part in itertools.groupby(chunks, key=lambda chunk: chunk.op == "loop"):
        result += group_part(list(part), window)
    return result


def group_part(chunks: list[Chunk], window: int) -> list[Chunk]:
    """Return instructions between loops, or loops, with selects moved forward."""
    inside = {chunk.number for chunk in chunks}
    waiting: dict[int, list[tuple[int, Chunk]]] = {}
    for place, chunk in enumerate(chunks):
        if chunk.op == "select" and chunk.operands[0].op not in UNMASKED:
            waiting.setdefault(chunk.operands[0].number, []).append((place, chunk))
    for selects in waiting.values():
        selects.reverse()
    result: list[Chunk] = []
    emitted: set[int] = set()

    def emit(chunk: Chunk) -> None:
        emitted.add(chunk.number)
        result.append(chunk)

    def is_ready(chunk: Chunk) -> bool:
        return all(operand.number in emitted or operand.number not in inside for operand in chunk.operands)

    for place, chunk in enumerate(chunks):
        if chunk.number in emitted:
            continue
        emit(chunk)
        selects = waiting.get(chunk.operands[0].number, []) if chunk.op == "select" else []
        while selects and (selects[-1][1].number in emitted or selects[-1][0] <= place + window):
            following = selects.pop()[1]
            if following.number not in emitted and is_ready(following):
                emit(following)
    return result
