"""Who does a library function on a CPU: kernels where they measured faster, from the second such call on."""

import numpy as np

from drawloom.horse.builtins import BUILTINS
from drawloom.horse.kernels.library import CALLS, FASTER_ON_CPU, HOST_ONLY, Library
from drawloom.horse.selection import MOST_SELECTED
from drawloom.horse.types import BOOL, I64
from drawloom.horse.values import ListValue, Value, Vector
from drawloom.runtime import device
from tests.horse.kernels.checks import plain


def keys(rows: int, dtype: type) -> list[Value]:
    return [ListValue([Vector(I64, np.arange(rows).astype(dtype))])]


def test_kernels_do_the_second_call_over_many_rows() -> None:
    library = Library(device("cpu"))
    rows = FASTER_ON_CPU["group"]
    assert [library.prefers_kernels("group", keys(rows, np.int64)) for _ in range(3)] == [False, True, True]
    assert not any(library.prefers_kernels("group", keys(rows - 1, np.int64)) for _ in range(3))
    assert not any(library.prefers_kernels("group", keys(rows, np.int32)) for _ in range(3))
    assert not any(library.prefers_kernels("keys", keys(rows, np.int64)) for _ in range(3))


def test_searches_are_kernels_work() -> None:
    """Measured three to ten times as fast, and yet the host had them."""
    library = Library(device("cpu"))
    for name, dtype in (("search", np.int32), ("run_end", np.int32)):
        given = keys(FASTER_ON_CPU[name], dtype)
        assert [library.prefers_kernels(name, given) for _ in range(2)] == [False, True]


def test_first_rows_are_kernels_work_where_the_first_key_leaves_many() -> None:
    library, rows = Library(device("cpu")), FASTER_ON_CPU["order_first"]
    byte, wide = [Vector(I64, np.zeros(rows, dtype)) for dtype in (np.int8, np.int64)]

    def asked(columns: list[Value], wanted: int) -> list[bool]:
        given = [ListValue(columns), *[Vector(BOOL, np.zeros(len(columns), bool))] * 2, Vector(I64, np.array([wanted]))]
        return [library.prefers_kernels("order_first", given) for _ in range(2)]

    assert asked([byte, wide], 10) == [False, True]
    assert asked([wide, byte], 10) == [False, False]
    assert asked([wide, byte], MOST_SELECTED + 1)[1]
    assert asked([byte], MOST_SELECTED + 1) == [False, False]


def test_library_functions_have_kernels_or_a_reason() -> None:
    functions = {name for name, builtin in BUILTINS.items() if builtin.target == "lib"}
    assert functions - CALLS.keys() == HOST_ONLY.keys()
    assert not CALLS.keys() & HOST_ONLY.keys()
    assert FASTER_ON_CPU.keys() <= CALLS.keys()


def test_the_choice_of_one() -> None:
    few = [*keys(3, np.int64), *keys(4, np.int64)]
    assert Library(device("cpu"), "host").call("join", few) is None
    assert Library(device("cpu")).call("join", few) is None
    made = Library(device("cpu"), "kernels").call("join", few)
    assert made is not None and plain(made) == [["i64", [0, 1, 2]], ["i64", [0, 1, 2]]]
