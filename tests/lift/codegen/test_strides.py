"""Sequential loops count in the steps of their indices."""

import re

from drawloom.lift import (
    Lambda,
    add,
    array,
    compile,
    float32,
    fun,
    id,
    join,
    map_glb,
    map_seq,
    reduce_seq,
    size,
    split,
    to_global,
    transpose,
)
from drawloom.lift.arithmetic import ONE, ZERO, Nat, Variable, index, less, minimum
from drawloom.lift.codegen.launch import SEQ
from drawloom.lift.codegen.strides import count_in_strides
from drawloom.lift.codegen.syntax import FOR, Access, Assign, If, Loop, Statement, Text
from drawloom.lift.codegen.vector_buffers import VectorIndices
from drawloom.lift.memory.buffers import GLOBAL, Buffer
from tests.lift.codegen.runners import check, integers

n = size("N")


def strided_sums(chunk: int) -> Lambda:
    """A work-item for each element of a chunk sums those that are as many elements apart as a chunk has."""
    return fun(
        array(float32, n),
        lambda x: (
            x
            >> split(chunk)
            >> transpose
            >> map_glb(lambda column: column >> reduce_seq(0.0, add) >> to_global(map_seq(id)))
            >> join
        ),
    )


def loop_of(text: str) -> str:
    found = re.search(r"for \(int i = (.*)\) \{", text)
    assert found is not None
    return found[1]


def test_a_loop_over_chunks_counts_elements() -> None:
    compiled = compile(strided_sums(8))
    assert loop_of(compiled.opencl) == "0; i < N; i += 8"
    assert "x[g_0 + i]" in compiled.opencl
    check(strided_sums(8), compiled, integers(40))


def test_indices_that_are_not_simplified_stay_as_written() -> None:
    compiled = compile(strided_sums(8), array_access=False)
    assert loop_of(compiled.opencl) == "0; i < N / 8; i++"


class Rounds:
    """A loop of N rounds, after the pass."""

    def __init__(self, *uses: Nat, stop: Nat = n, inside: Nat | None = None, width: int = 0) -> None:
        self.counter = counter
        buffer = Buffer("x", GLOBAL, float32, [n])
        body: list[Statement] = [Assign(Access(buffer, use, width), Text("0.0f")) for use in uses]
        if inside is not None:
            body = [If(less(inside, 5), body)]
        loop = Loop(counter, ZERO, stop, ONE, body, FOR, SEQ)
        (made,) = count_in_strides([loop], VectorIndices({}, str))
        assert isinstance(made, Loop)
        self.head = f"{made.stop} by {made.step}"
        self.indices = [str(one.place.index) for one in made.body if isinstance(one, Assign)]


counter: Variable = index("i", n)
other = index("j", n)


def test_a_stride_is_what_all_indices_have_in_common() -> None:
    rounds = Rounds(12 * counter + other, 8 * counter * n)
    assert (rounds.head, rounds.indices) == ("4*N by 4", ["3*i + j", "2*i*N"])


def test_an_index_that_has_no_stride_leaves_the_rounds() -> None:
    for use in (counter + other, counter // 2, counter * counter * 4, minimum(4 * counter, other)):
        assert Rounds(4 * counter, use).head == "N by 1", use


def test_a_condition_on_the_round_leaves_the_rounds() -> None:
    assert Rounds(4 * counter, inside=counter).head == "N by 1"
    assert Rounds(4 * counter, inside=other).head == "4*N by 4"


def test_vectors_are_counted_as_such() -> None:
    assert Rounds(4 * counter, width=4).head == "N by 1"
    assert Rounds(16 * counter, width=4).head == "4*N by 4"


def test_a_bound_that_is_a_choice_is_not_multiplied() -> None:
    assert Rounds(4 * counter, stop=minimum(n, 7)).head == "min(N, 7) by 1"
