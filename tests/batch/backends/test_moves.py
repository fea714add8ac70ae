"""Permutations across vectors: every pattern gives its lanes, and transpositions take as few shuffles as they can."""

import random

import numpy as np
import pytest

from benchmarks.common.batch_moves import MOVES, moves_up_to
from drawloom.batch import lower, parse_file
from drawloom.batch.backends.chunk_ir import Chunk, ChunkProgram
from drawloom.batch.backends.chunking import cut_into_chunks
from drawloom.batch.backends.layout import Layout
from drawloom.batch.backends.moves import Row, Source, assemble
from drawloom.batch.backends.native import NativeKernel
from drawloom.batch.kernels import parse_ready
from tests.batch.cases import make_arguments


def run(width: int, rows: list[Row], count: int) -> tuple[list[list[int] | None], int]:
    """Return what the rows hold if lane l of chunk c holds c * width + l, and how many shuffles that took."""
    program = ChunkProgram(width)
    chunks = {number: program.append("input", "double", (), number) for number in range(count)}
    made = assemble(program, rows, chunks)
    held = {chunk.number: [number * width + lane for lane in range(width)] for number, chunk in chunks.items()}
    shuffles = [chunk for chunk in program.block if chunk.op == "shuffle"]
    for chunk in shuffles:
        held[chunk.number] = shuffled(chunk, held)
    return [None if chunk is None else held[chunk.number] for chunk in made], len(shuffles)


def shuffled(chunk: Chunk, held: dict[int, list[int]]) -> list[int]:
    lanes = [lane for operand in chunk.operands for lane in held[operand.number]]
    return [lanes[lane] if lane >= 0 else -1 for lane in chunk.detail]


def check(width: int, rows: list[Row], count: int) -> int:
    found, shuffles = run(width, rows, count)
    for row, lanes in zip(rows, found, strict=True):
        if lanes is None:
            assert all(source is None for source in row)
            continue
        for source, lane in zip(row, lanes, strict=True):
            assert source is None or lane == source.chunk * width + source.lane
    return shuffles


def transposition(width: int, columns: int) -> list[Row]:
    """A matrix of `width` rows and `columns` columns, row-major in chunks, by columns."""
    places = [[row * columns + column for row in range(width)] for column in range(columns)]
    return [[Source(place // width, place % width) for place in row] for row in places]


@pytest.mark.parametrize(
    ("width", "columns", "shuffles"), [(4, 4, 8), (8, 8, 24), (16, 16, 64), (8, 16, 48), (4, 16, 32)]
)
def test_transpositions_take_one_shuffle_for_each_vector_and_exchanged_bit(
    width: int, columns: int, shuffles: int
) -> None:
    assert check(width, transposition(width, columns), columns) == shuffles


@pytest.mark.parametrize(("width", "columns"), [(8, 4), (8, 2), (16, 4), (8, 12), (4, 6), (8, 1)])
def test_other_shapes_are_transposed_too(width: int, columns: int) -> None:
    check(width, transposition(width, columns), columns)


def test_whole_chunks_are_renamed() -> None:
    rows: list[Row] = [[Source(1 - row, lane) for lane in range(4)] for row in range(2)]
    assert check(4, rows, 2) == 0


def test_a_broadcast_is_one_shuffle() -> None:
    assert check(8, [[Source(3, 5)] * 8], 4) == 1


def test_random_permutations() -> None:
    for seed in range(2000):
        draw = random.Random(seed)
        width, count = draw.choice((2, 4, 8)), draw.randint(1, 6)
        rows: list[Row] = [
            [
                None if draw.random() < 0.2 else Source(draw.randrange(count), draw.randrange(width))
                for _ in range(width)
            ]
            for _ in range(draw.randint(1, 6))
        ]
        check(width, rows, count)


def test_random_exchanges_of_address_bits() -> None:
    for seed in range(300):
        draw = random.Random(seed)
        width, count = draw.choice((2, 4, 8)), draw.choice((2, 4, 8, 16))
        bits = (width * count - 1).bit_length()
        origin = draw.sample(range(bits), bits)
        sources = [
            sum((place >> bit & 1) << origin[bit] for bit in range(bits)) for place in range(width * count)
        ]
        row_of = [Source(source // width, source % width) for source in sources]
        rows: list[Row] = [list(row_of[start : start + width]) for start in range(0, len(row_of), width)]
        check(width, rows, count)


def test_moves_that_are_left_to_memory_change_no_result() -> None:
    pytest.importorskip("pycparser")
    lowered = lower(parse_ready("ldus", wg_size=4, real="double"))
    arguments = make_arguments("ldus", 4, 8, np.float64)
    results, reads = [], []
    for kind in range(len(MOVES)):
        with moves_up_to(kind):
            native = NativeKernel(lowered, "rows", 1, 8)
        matrices = arguments["mat_a"].copy()
        native.run([matrices.ctypes.data], 0, 8)
        results.append(matrices.tobytes())
        reads.append(sum(chunk.op == "read" for chunk in native.program.block))
    assert len(set(results)) == 1
    assert reads == sorted(reads, reverse=True)
    assert reads[0] > reads[2] > reads[-1] == 0


def test_parts_of_a_transposition_stand_one_after_the_other() -> None:
    """Rows 0 to 7 and 8 to 15 are two matrices: no shuffle of one stands between those of the other."""
    program = ChunkProgram(8)
    chunks = {number: program.append("input", "double", (), number) for number in range(16)}
    rows = [[Source(number % 2 * 8 + lane, number // 2) for lane in range(8)] for number in range(16)]
    assert all(chunk is not None for chunk in assemble(program, rows, chunks))
    assert check(8, rows, 16) == 48
    part = {chunk.number: number // 8 for number, chunk in chunks.items()}
    parts = []
    for chunk in program.block[16:]:
        (part[chunk.number],) = {part[operand.number] for operand in chunk.operands}
        parts.append(part[chunk.number])
    assert parts == sorted(parts)


@pytest.mark.parametrize("order", ["columns", "interleaved"])
def test_a_triangle_is_loaded_by_whole_vectors(order: str) -> None:
    """`trsm` of 4 doubles took five times as long with a gather for each element of the triangle."""
    program = cut_into_chunks(lower(parse_ready("trsm", wg_size=4)), Layout(order, 8, 8))
    assert "gather" not in [chunk.op for chunk in program.block]


def test_few_elements_of_many_are_gathered() -> None:
    text = "__kernel void k(const double *a, double *b) { b[get_global_id()] = a[get_global_id() * 3]; }"
    kernel = lower(parse_file(text, wg_size=4)["k"])
    assert "gather" in [chunk.op for chunk in cut_into_chunks(kernel, Layout("rows", 2, 8)).block]
