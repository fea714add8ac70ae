"""Loads of inputs that loops do not change."""

from typing import Any

import numpy as np

from drawloom.lift import (
    Lambda,
    array,
    compile,
    drop,
    float32,
    fun,
    head,
    id,
    int32,
    join,
    lookup,
    map_glb,
    map_seq,
    mult_and_sum_up,
    pad_value,
    reduce_seq,
    size,
    slide,
    to_global,
    user_function,
    zip,
)
from tests.lift.codegen.runners import check, integers

n, m = size("N"), size("M")
ADD_DISTANCE = user_function("float addDistance(float sum, float a, float b) { return sum + (a - b) * (a - b); }")


def distances() -> Lambda:
    def total(point: Any, others: Any) -> Any:
        return others >> reduce_seq(0.0, lambda sum, other: ADD_DISTANCE(sum, point, other)) >> to_global(map_seq(id))

    return fun(array(float32, n), array(float32, m), lambda x, y: x >> map_glb(lambda e: total(e, y)) >> join)


def test_a_load_that_a_loop_does_not_change_stands_before_the_loop() -> None:
    compiled = compile(distances())
    assert compiled.opencl.count("x[g_0]") == 1
    assert compiled.opencl.index("held = x[g_0];") < compiled.opencl.index("for (int i = 0")
    check(distances(), compiled, integers(13), integers(7))


def test_a_load_under_a_condition_stays_under_it() -> None:
    program = fun(
        array(float32, n),
        array(float32, n),
        lambda x, weights: (
            zip(x >> pad_value(1, 1, 0.0) >> slide(3, 1), weights)
            >> map_glb(
                lambda window, weight: (
                    window >> reduce_seq(0.0, lambda sum, e: mult_and_sum_up(sum, e, weight)) >> to_global(map_seq(id))
                )
            )
            >> join
        ),
    )
    compiled = compile(program)
    assert "held = weights[g_0];" in compiled.opencl and "held2" not in compiled.opencl
    check(program, compiled, integers(9), integers(9, seed=2))


def test_a_load_at_an_index_that_the_loop_reads_stays_inside() -> None:
    program = fun(
        array(float32, n),
        array(int32, m),
        lambda x, at: (
            x
            >> map_glb(
                lambda e: lookup(x, at) >> reduce_seq(e, lambda sum, other: sum + other) >> to_global(map_seq(id))
            )
            >> join
        ),
    )
    compiled = compile(program)
    assert "x[at" in compiled.opencl.split("for (int i")[1]
    check(program, compiled, integers(5), np.int32([4, 0, 2, 2]))


def test_a_load_of_a_loop_that_may_not_run_stays_inside() -> None:
    """The rest after the first element may be empty, and then the load would be outside of the array."""

    def sums(x: Any, y: Any) -> Any:
        rest = drop(1, y)
        return (
            x
            >> map_glb(
                lambda e: (
                    rest
                    >> reduce_seq(e, lambda sum, other: ADD_DISTANCE(sum, other, head(rest)))
                    >> to_global(map_seq(id))
                )
            )
            >> join
        )

    program = fun(array(float32, n), array(float32, m), sums)
    compiled = compile(program)
    assert "held" not in compiled.opencl
    check(program, compiled, integers(3), integers(5))
