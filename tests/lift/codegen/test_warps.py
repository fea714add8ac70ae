"""Maps over the warps of a work-group and the lanes of a warp: their work-items, and which barriers they need."""

from typing import Any

import pytest

from drawloom.lift import (
    Lambda,
    LiftCompileError,
    add,
    array,
    compile,
    float32,
    fun,
    gather,
    id,
    iterate,
    join,
    map_lane,
    map_lcl,
    map_seq,
    map_warp,
    map_wrg,
    reduce_seq,
    reverse,
    size,
    split,
    split_guarded,
    to_global,
    to_local,
    to_private,
)
from tests.lift.codegen.runners import check, check_races, integers

n = size("N")
GROUP = "  barrier(CLK_LOCAL_MEM_FENCE);"
WARP = "sub_group_barrier(CLK_LOCAL_MEM_FENCE);"
LANES = 32


def groups(body: Any, chunk: int = 128, dim: int = 0) -> Lambda:
    """Return a program whose groups apply a function to each chunk of 32 elements with one warp."""
    return fun(
        array(float32, n),
        lambda x: (
            x >> split(chunk) >> map_wrg(lambda part: part >> split(LANES) >> map_warp(body, dim=dim) >> join) >> join
        ),
    )


def sum_up(part: Any) -> Any:
    """Return the sum of 32 elements in a tree over the lanes of a warp."""
    halve = split(2) >> map_lane(reduce_seq(0, add) >> to_local(map_seq(id))) >> join
    return part >> to_local(map_lane(id)) >> iterate(5, halve) >> to_global(map_lane(id))


def exchange(part: Any) -> Any:
    return part >> to_local(map_lane(id)) >> gather(reverse) >> to_global(map_lane(id))


@pytest.mark.parametrize("local_size", [None, 32, 64, 96, 128, 256])
@pytest.mark.parametrize("body", [map_lane(lambda e: e * e), map_lane(id)])
def test_lanes_compute_elements(body: Any, local_size: int | None) -> None:
    program = groups(body)
    check(program, compile(program, local_size=local_size), integers(384))


@pytest.mark.parametrize(("width", "chunk"), [(8, 64), (40, 120), (100, 200)])
def test_a_warp_takes_fewer_or_more_elements_than_it_has_lanes(width: int, chunk: int) -> None:
    program = fun(
        array(float32, n),
        lambda x: (
            x
            >> split(chunk)
            >> map_wrg(lambda part: part >> split(width) >> map_warp(map_lane(lambda e: e + e)) >> join)
            >> join
        ),
    )
    check(program, compile(program), integers(3 * chunk))


@pytest.mark.parametrize("local_size", [None, 64, 96])
@pytest.mark.parametrize("length", [1, 31, 33, 101, 300])
def test_guarded_chunks_of_any_length(length: int, local_size: int | None) -> None:
    program = fun(
        array(float32, n),
        lambda x: (
            x
            >> split_guarded(96)
            >> map_wrg(lambda part: part >> split_guarded(LANES) >> map_warp(map_lane(lambda e: e * e)) >> join)
            >> join
        ),
    )
    check_races(program, compile(program, local_size=local_size), integers(length))


@pytest.mark.parametrize(
    "options", [{}, {"local_size": 64}, {"sub_groups": True}, {"sub_groups": True, "local_size": 96}]
)
@pytest.mark.parametrize("body", [sum_up, exchange])
def test_lanes_exchange_data(body: Any, options: dict[str, Any]) -> None:
    program = groups(body)
    check_races(program, compile(program, **options), integers(512))


def test_without_sub_groups_a_warp_waits_with_its_group() -> None:
    text = compile(groups(exchange), num_groups=4, sizes={n: 512}).opencl
    assert "sub_group" not in text
    assert text.count(GROUP) == 1


def test_with_sub_groups_a_warp_waits_for_its_lanes_only() -> None:
    text = compile(groups(exchange), num_groups=4, sizes={n: 512}, sub_groups=True).opencl
    assert text.startswith("#pragma OPENCL EXTENSION cl_khr_subgroups : enable\n")
    assert text.count(WARP) == 1
    assert GROUP not in text


def test_no_barrier_where_each_lane_reads_what_it_wrote() -> None:
    text = compile(
        groups(lambda part: part >> to_local(map_lane(id)) >> to_global(map_lane(id))), sub_groups=True
    ).opencl
    assert "barrier" not in text


def phases(part: Any) -> Any:
    """Write with the lanes of warps, and read with all work-items of the group in another order."""
    return (
        part
        >> split(LANES)
        >> to_local(map_warp(lambda row: row >> to_local(map_lane(id)) >> gather(reverse) >> map_lane(lambda e: e + e)))
        >> join
        >> gather(reverse)
        >> to_global(map_lcl(id))
    )


@pytest.mark.parametrize("sub_groups", [False, True])
def test_data_that_warps_exchange_waits_for_the_group(sub_groups: bool) -> None:
    program = fun(array(float32, n), lambda x: x >> split(128) >> map_wrg(phases) >> join)
    compiled = compile(program, sizes={n: 512}, num_groups=4, sub_groups=sub_groups)
    check_races(program, compiled, integers(512))
    text = compiled.opencl
    assert GROUP in text[text.rindex("tile2[") - 400 : text.index("out[")]
    assert (WARP in text) == sub_groups


def test_a_warp_of_dimension_1_is_a_sub_group_where_dimension_0_has_one_work_item() -> None:
    program = groups(
        lambda part: part >> to_local(map_lane(id, dim=1)) >> gather(reverse) >> to_global(map_lane(id, dim=1)), dim=1
    )
    compiled = compile(program, sub_groups=True)
    check_races(program, compiled, integers(512))
    assert compiled.kernels[0].local_size == (1, 128, 1)
    assert WARP in compiled.opencl


def test_private_memory_of_lanes() -> None:
    program = groups(lambda part: part >> to_private(map_lane(lambda e: e * e)) >> to_global(map_lane(lambda e: e + e)))
    for local_size in (None, 64, 96):
        check(program, compile(program, local_size=local_size), integers(384))


def test_a_barrier_that_some_warps_do_not_reach_needs_sub_groups() -> None:
    with pytest.raises(
        LiftCompileError, match=r"mapWarp: a barrier is needed inside it, .* 4 elements for 3 warps"
    ) as refusal:
        compile(groups(exchange), local_size=96)
    assert "sub_groups=True" in refusal.value.expected
    check(groups(exchange), compile(groups(exchange), local_size=96, sub_groups=True), integers(512))


def test_groups_are_whole_warps() -> None:
    with pytest.raises(LiftCompileError, match="mapWarp: work-groups of 40 work-items in dimension 0") as refusal:
        compile(groups(exchange), local_size=40)
    assert refusal.value.expected == "a multiple of 32, the work-items of a warp"
    assert refusal.value.file == __file__


def test_two_dimensions_of_work_items_beside_warps_are_refused() -> None:
    with pytest.raises(LiftCompileError, match="2 work-items in dimension 1"):
        compile(groups(exchange), local_size=(64, 2))
