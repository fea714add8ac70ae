"""Library kernels as machine code: what our assembler makes of them computes what the interpreter of PTX does."""

import math
from itertools import pairwise

import numpy as np
import pytest

from drawloom.horse.kernels.bitonic import segments_module
from drawloom.horse.kernels.cells import Reduce
from drawloom.horse.kernels.gather import Chosen
from drawloom.horse.kernels.radix import count_module, move_module
from drawloom.horse.kernels.rows import Tile
from drawloom.horse.kernels.scan import Offsets, scan_module
from drawloom.horse.kernels.topk import Digits
from drawloom.ptx.ir import Module
from tests.sass.meaning import agree

ROWS = 150
TILE = Tile(64, 1)
BLOCKS = TILE.blocks(ROWS)


def words() -> np.ndarray:
    return np.random.default_rng(1).integers(0, 2**24, ROWS).astype(np.uint64)


def run(module: Module, name: str, *arguments: object, blocks: int = BLOCKS, target: int = 90) -> list[np.ndarray]:
    return agree(
        str(module).replace(".version 7.0", ".version 7.8"), name, blocks, TILE.threads, *arguments, target=target
    )


@pytest.mark.parametrize("target", [80, 90])
def test_scans_over_several_blocks(target: int) -> None:
    counts, offsets = np.random.default_rng(2).integers(0, 2**32, ROWS).astype(np.uint32), np.zeros(ROWS, np.uint64)
    states = np.zeros(BLOCKS + 2, np.uint64)
    module = scan_module("scan", TILE, Offsets("u64"))
    _, made, _ = run(module, "scan", counts, offsets, states, ROWS, target=target)
    assert made.tolist() == np.concatenate([[0], np.cumsum(counts, dtype=np.uint64)[:-1]]).tolist()


def test_compaction() -> None:
    mask, values = np.random.default_rng(3).random(ROWS) < 0.4, np.arange(ROWS, dtype=np.uint64) << np.uint64(33)
    module = scan_module("compress", TILE, Chosen("b64"))
    _, made, _, states = run(
        module,
        "compress",
        mask.view(np.uint8),
        np.zeros(ROWS, np.uint64),
        values,
        np.zeros(BLOCKS + 2, np.uint64),
        ROWS,
    )
    assert made[: int(states[1])].tolist() == values[mask].tolist()


def test_a_pass_of_the_radix_sort() -> None:
    given, counts = words(), np.zeros(256 * BLOCKS + 1, np.uint32)
    _, counted = run(count_module("count", TILE), "count", given, counts, 8, 255, ROWS)
    places = np.concatenate([[0], np.cumsum(counted, dtype=np.uint32)[:-1]]).astype(np.uint32)
    _, made, _ = run(move_module("move", TILE), "move", given, np.zeros(ROWS, np.uint64), places, 8, 255, ROWS)
    assert made.tolist() == given[np.argsort(given >> np.uint64(8) & np.uint64(255), kind="stable")].tolist()


def test_a_segment_of_the_bitonic_sort() -> None:
    given = words()[:60]
    (made,) = run(
        segments_module("bitonic", TILE.threads),
        "bitonic",
        np.append(given, [0] * 4).astype(np.uint64),
        60,
        64,
        2,
        64,
        blocks=1,
    )
    assert made[:60].tolist() == sorted(given.tolist())


@pytest.mark.parametrize("width", [1, 8, 32])
def test_reductions_of_cells(width: int) -> None:
    cuts = np.array([0, 3, 3, 90, ROWS], np.int64)
    doubles = np.random.default_rng(4).normal(size=ROWS)
    module = Reduce("sum", "f64", width).module("cells", TILE)
    made = run(
        module,
        "cells",
        doubles,
        cuts[:-1].copy(),
        cuts[1:].copy(),
        np.zeros(4),
        np.zeros(4),
        4 * width,
        blocks=TILE.blocks(4 * width),
    )
    for (begin, end), total, lacking in zip(pairwise(cuts.tolist()), made[3], made[4], strict=True):
        expected = math.fsum(doubles[begin:end])
        assert abs(total + lacking - expected) <= np.spacing(abs(expected))


def test_digits_of_a_bound() -> None:
    given = words()
    module = Digits(TILE.threads).module("digits", TILE)
    _, counts = run(module, "digits", given, np.zeros(2048, np.uint32), 3, 11, 22, 2047, ROWS)
    inside = given[given >> np.uint64(22) == 3] >> np.uint64(11) & np.uint64(2047)
    assert counts.tolist() == np.bincount(inside.astype(np.int64), minlength=2048).tolist()
