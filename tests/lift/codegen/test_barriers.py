"""Barriers stand where work-items read what others write, and nowhere else (thesis 4.3.4)."""

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
    join,
    map_lcl,
    map_wrg,
    parse_program,
    reverse,
    size,
    split,
    to_global,
    to_local,
    transpose,
    zip,
)
from tests.lift.codegen.runners import check, integers

n = size("N")
LOCAL = "barrier(CLK_LOCAL_MEM_FENCE);"
GLOBAL = "barrier(CLK_GLOBAL_MEM_FENCE);"


def groups(body: Any, chunk: int = 16) -> Lambda:
    return fun(array(float32, n), lambda x: x >> split(chunk) >> map_wrg(body) >> join)


def code(program: Lambda, **options: Any) -> str:
    compiled = compile(program, **options)
    check(program, compiled, integers(64))
    return compiled.opencl


def test_no_barrier_where_each_work_item_reads_what_it_wrote() -> None:
    text = code(groups(lambda part: to_global(map_lcl(id))(to_local(map_lcl(id))(part))))
    assert "barrier" not in text


def test_a_barrier_where_elements_are_read_by_another_work_item() -> None:
    text = code(groups(lambda part: to_global(map_lcl(id))(gather(reverse)(to_local(map_lcl(id))(part)))))
    first, second = text.index("tile[l_id_0] ="), text.index("out[")
    assert first < text.index(LOCAL) < second


def test_the_next_round_of_a_loop_over_groups_waits_for_the_last_reads() -> None:
    text = code(groups(lambda part: to_global(map_lcl(id))(gather(reverse)(to_local(map_lcl(id))(part)))))
    assert text.count(LOCAL) == 2
    assert text.index("out[") < text.rindex(LOCAL)


def test_no_barrier_after_the_last_reads_where_groups_run_once() -> None:
    program = groups(lambda part: to_global(map_lcl(id))(gather(reverse)(to_local(map_lcl(id))(part))))
    text = code(program, sizes={n: 64}, num_groups=4)
    assert text.count(LOCAL) == 1


def test_one_barrier_after_both_arguments_of_a_zip() -> None:
    text = code(
        groups(
            lambda part: (
                zip(
                    gather(reverse)(to_local(map_lcl(id))(part)),
                    gather(reverse)(to_local(map_lcl(lambda e: e + e))(part)),
                )
                >> to_global(map_lcl(add))
            )
        ),
        sizes={n: 64},
        num_groups=4,
    )
    assert text.count(LOCAL) == 1
    assert text.index("tile2[l_id_0] =") < text.index(LOCAL)


def nested(chunk: int = 4) -> Lambda:
    """Return a program whose first mapLcl holds another one, and whose result is read transposed."""
    return groups(
        lambda part: (
            part
            >> split(4)
            >> to_local(map_lcl(map_lcl(id, dim=0), dim=1))
            >> transpose
            >> to_global(map_lcl(map_lcl(id, dim=0), dim=1))
            >> join
        )
    )


def test_no_barrier_inside_nested_maps() -> None:
    text = code(nested(), sizes={n: 64}, num_groups=4)
    assert text.count(LOCAL) == 1


def test_no_barrier_inside_nested_loops_of_fewer_work_items_than_elements() -> None:
    text = code(nested(), local_size=(2, 3))
    assert text.count(LOCAL) == 2
    indents = [line[: line.index("barrier")] for line in text.splitlines() if "barrier" in line]
    assert indents == ["    ", "    "]  # in the loop over groups, not in those over work-items


def test_barriers_for_global_memory_have_a_global_fence() -> None:
    text = code(groups(lambda part: to_global(map_lcl(id))(gather(reverse)(to_global(map_lcl(id))(part)))))
    assert GLOBAL in text
    assert LOCAL not in text


def test_barriers_are_kept_where_their_elimination_is_off() -> None:
    text = code(groups(lambda part: to_global(map_lcl(id))(to_local(map_lcl(id))(part))), barriers=False)
    assert LOCAL in text
    assert GLOBAL in text


def divergent() -> Lambda:
    """Return a program whose inner maps exchange data inside an outer map over work-items."""
    return groups(
        lambda part: (
            part
            >> split(4)
            >> map_lcl(
                lambda row: to_global(map_lcl(id, dim=0))(gather(reverse)(to_local(map_lcl(id, dim=0))(row))), dim=1
            )
            >> join
        )
    )


def test_a_barrier_that_all_work_items_reach_may_stand_inside_a_map() -> None:
    assert LOCAL in code(divergent(), local_size=(4, 4))
    assert LOCAL in code(divergent(), local_size=(4, 2))


@pytest.mark.parametrize("local_size", [(4, 3), (4, 8)])
def test_a_barrier_that_some_work_items_do_not_reach_is_refused(local_size: tuple[int, int]) -> None:
    with pytest.raises(LiftCompileError, match="a barrier is needed inside it") as refusal:
        compile(divergent(), local_size=local_size)
    assert refusal.value.file == __file__
    assert refusal.value.line > 0


def test_a_barrier_in_a_loop_whose_length_differs_between_work_items_is_refused() -> None:
    sums = "reduceSeq(toLocal(mapLcl(0)(id))(replicate(4, 0)), λ (s, y) . mapLcl(0)(add, zip(gather(reverse, s), y)))"
    chunks = f"mapLcl(1)(toGlobal(mapLcl(0)(id)) ∘ head ∘ {sums})"
    program = parse_program(f"f(x: [[[float]4]M]N) = mapWrg(0)({chunks} ∘ splitGuarded(3), x)")
    with pytest.raises(LiftCompileError, match=r"reduceSeq: a barrier is needed inside it, .* it runs min\(.* times"):
        compile(program, {"M": 7}, local_size=(4, 3))
    compiled = compile(program, {"M": 6}, local_size=(4, 2))
    check(program, compiled, integers(2, 6, 4))


def test_a_barrier_gets_a_fence_for_all_memory_that_is_exchanged_across_it() -> None:
    """Local memory is read before the exchange in global memory, and written after it."""

    def body(part: Any) -> Any:
        local = gather(reverse)(to_local(map_lcl(lambda e: e + e))(part))
        exchanged = gather(reverse)(to_global(map_lcl(id))(local))
        return exchanged >> to_local(map_lcl(id)) >> gather(reverse) >> to_global(map_lcl(id))

    text = code(groups(body), sizes={n: 64}, num_groups=4)
    fences = [line.strip() for line in text.splitlines() if "barrier" in line]
    assert fences == [LOCAL, "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);", LOCAL]
    assert text.count("local float") == 1  # which the second use of local memory shares with the first
