"""Where values are stored: no buffer without need, and one memory for buffers whose lives do not overlap."""

import re
from typing import Any

import numpy as np
import pytest

from drawloom.lift import (
    Lambda,
    add,
    array,
    compile,
    float32,
    fun,
    gather,
    id,
    iterate,
    join,
    map_glb,
    map_lane,
    map_lcl,
    map_seq,
    map_warp,
    map_wrg,
    parse_program,
    reduce_seq,
    replicate,
    reverse,
    size,
    split,
    to_global,
    to_local,
    to_private,
    zip,
)
from tests.lift.codegen.runners import check_races, integers
from tests.lift.programs.counting import histogram_arguments, histogram_groups

n = size("N")


def groups(body: Any, chunk: int = 16) -> Lambda:
    return fun(array(float32, n), lambda x: x >> split(chunk) >> map_wrg(body) >> join)


def local_bytes(program: Lambda, length: int = 64, **options: Any) -> str:
    """Return the bytes of local memory, after comparing results."""
    compiled = compile(program, **options)
    check_races(program, compiled, integers(length))
    (found,) = compiled.bytes_in("local")
    return str(found)


def phase(value: Any) -> Any:
    return value >> to_local(map_lcl(lambda e: e + e)) >> gather(reverse)


@pytest.mark.parametrize("local_size", [None, 3, 5, 32])
def test_three_phases_in_local_memory_need_two_buffers(local_size: int | None) -> None:
    program = groups(lambda part: phase(phase(phase(part))) >> to_global(map_lcl(id)))
    assert local_bytes(program, local_size=local_size) == "128"


@pytest.mark.parametrize("local_size", [None, 3, 32])
def test_buffers_of_different_lengths_share_the_longer_one(local_size: int | None) -> None:
    program = groups(
        lambda part: (
            phase(part)
            >> split(2)
            >> to_global(map_lcl(reduce_seq(0, add) >> map_seq(id)))
            >> join
            >> split(8)
            >> map_lcl(to_local(map_seq(id)) >> gather(reverse) >> to_global(map_seq(id)))
            >> join
        )
    )
    compiled = compile(program, local_size=local_size)
    check_races(program, compiled, integers(64))


def test_the_writes_of_the_next_buffer_wait_for_the_reads_of_the_last() -> None:
    program = groups(lambda part: phase(phase(phase(part))) >> to_global(map_lcl(id)))
    text = compile(program, {"N": 16}, num_groups=1).opencl
    stores = re.findall(r"(barrier|tile\d?(?=\[l_id_0\] =))", text)
    first, *_, third = [name for name in stores if name != "barrier"]
    assert first == third
    assert stores == [first, "barrier", stores[2], "barrier", third, "barrier"]


def test_buffers_that_live_together_share_nothing() -> None:
    program = groups(lambda part: zip(phase(part), phase(phase(part))) >> to_global(map_lcl(add)))
    assert local_bytes(program) == "192"


def test_an_accumulator_lives_as_long_as_its_loop() -> None:
    program = fun(
        array(float32, n, 4, 8),
        lambda x: (
            x
            >> map_wrg(
                lambda rows: (
                    rows
                    >> reduce_seq(
                        to_local(map_lcl(id))(replicate(8, 0)),
                        lambda sums, row: zip(sums, row >> to_local(map_lcl(id)) >> gather(reverse)) >> map_lcl(add),
                    )
                    >> join
                    >> to_global(map_lcl(id))
                )
            )
        ),
    )
    compiled = compile(program)
    check_races(program, compiled, integers(3, 4, 8))
    assert str(compiled.bytes_in("local")[0]) == "64"


def test_iterations_and_what_follows_them() -> None:
    program = groups(
        lambda part: (
            part
            >> to_local(map_lcl(id))
            >> iterate(2, split(2) >> map_lcl(reduce_seq(0, add) >> to_local(map_seq(id))) >> join)
            >> to_local(map_lcl(lambda e: e + e))
            >> gather(reverse)
            >> to_local(map_lcl(id))
            >> gather(reverse)
            >> to_global(map_lcl(id))
        )
    )
    for local_size in (None, 4, 32):
        check_races(program, compile(program, local_size=local_size), integers(64))
    assert local_bytes(program) == "112"  # 16 and 8 elements of the iterations, 4 that are read from them


def test_parts_of_warps() -> None:
    def body(row: Any) -> Any:
        for _ in range(3):
            row = row >> to_local(map_lane(lambda e: e + e)) >> gather(reverse)
        return row >> to_global(map_lane(id))

    program = groups(lambda part: part >> split(16) >> map_warp(body) >> join, 64)
    for options in ({}, {"sub_groups": True}, {"local_size": 64}, {"local_size": 96, "sub_groups": True}):
        assert local_bytes(program, 192, **options) == "512"  # type: ignore[arg-type]


def test_memory_is_used_again_only_where_no_divergent_barrier_results() -> None:
    def row(values: Any) -> Any:
        for _ in range(3):
            values = values >> to_local(map_lcl(lambda e: e + e))
        return values >> gather(lambda i: i) >> to_global(map_lcl(id))

    program = groups(lambda part: part >> split(4) >> map_lcl(row, dim=1) >> join)
    for local_size in ((4, 4), (4, 3), (4, 8)):
        check_races(program, compile(program, local_size=local_size), integers(64))


def test_variables_are_used_again() -> None:
    program = fun(
        array(float32, n, 4),
        lambda x: x >> map_glb(lambda r: zip(sums(r), sums(r)) >> map_seq(lambda a, b: a + b)),
    )
    check_races(program, compile(program), integers(5, 4))
    once = parse_program(
        "f(x: [[float]4]N) = mapGlb(0)(toGlobal(mapSeq(id)) ∘ toPrivate(mapSeq(neg)) ∘ toPrivate(mapSeq(add(1))) ∘ "
        "toPrivate(mapSeq(mult(2))), x)"
    )
    compiled = compile(once)
    check_races(once, compiled, integers(5, 4))
    assert str(compiled.bytes_in("private")[0]) == "32"


def sums(row: Any) -> Any:
    return row >> reduce_seq(0, add) >> to_private(map_seq(id))


def test_a_group_histogram_needs_no_memory_but_its_bins() -> None:
    program = histogram_groups()
    compiled = compile(program)
    assert [str(one) for one in compiled.bytes_in("global")] == ["0", "0"]
    assert [str(one) for one in compiled.bytes_in("local")] == ["64", "0"]
    check_races(program, compiled, *histogram_arguments(np.random.default_rng(1), (100,)))


def test_the_three_address_spaces_are_counted_apart() -> None:
    program = groups(
        lambda part: (
            part
            >> to_global(map_lcl(id))
            >> gather(reverse)
            >> to_local(map_lcl(id))
            >> gather(reverse)
            >> map_lcl(lambda e: e * e)
        )
    )
    compiled = compile(program)
    check_races(program, compiled, integers(64))
    found = {space: str(compiled.bytes_in(space)[0]) for space in ("global", "local", "private")}
    assert found == {"global": "4*N", "local": "64", "private": "0"}
