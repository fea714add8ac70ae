"""Loop joins: pairs of rows between which comparisons hold, by kernels and on the host, beside Python's own loops."""

import operator
from pathlib import Path

import numpy as np
import pytest

from drawloom.errors import DataError
from drawloom.horse.kernels.device import DeviceKernels
from drawloom.horse.kernels.library import CALLS
from drawloom.horse.library import call
from drawloom.horse.types import F64, I64, SYM, DecimalType
from drawloom.horse.values import ListValue, Value, Vector, from_values
from drawloom.runtime import device as find_device
from tests.horse.kernels.checks import (
    as_on_a_gpu,
    assembled,
    kernels_on,
    plain,
    same_as_host,
    taken_by_the_vendor,
    vectors,
)

PYTHONS = {
    "eq": operator.eq, "neq": operator.ne, "lt": operator.lt, "leq": operator.le, "gt": operator.gt, "geq": operator.ge,
}  # fmt: skip


def operands(tests: list[str], left: list[Vector], right: list[Vector]) -> list[Value]:
    return [from_values(tests, SYM), ListValue([*left]), ListValue([*right])]


@pytest.mark.parametrize(("device", "test"), [*[("cpu", test) for test in PYTHONS], ("reference", "leq")])
def test_each_comparison(device: str, test: str) -> None:
    rng = np.random.default_rng(1)
    left, right = rng.integers(-5, 5, 40), rng.integers(-5, 5, 33).astype(np.int8)
    made = same_as_host(kernels_on(device), "loop_join", *operands([test], [Vector(I64, left)], [Vector(I64, right)]))
    compare = PYTHONS[test]
    wanted = [(i, j) for i, a in enumerate(left.tolist()) for j, b in enumerate(right.tolist()) if compare(a, b)]
    assert plain(made) == [["i64", [i for i, _ in wanted]], ["i64", [j for _, j in wanted]]]


@pytest.mark.parametrize("sizes", [(0, 5), (5, 0), (1, 1000), (1000, 1), (31, 257), (33, 256), (300, 300)])
def test_sizes_around_tiles_and_parts(sizes: tuple[int, int]) -> None:
    left, right = vectors(sizes[0]), vectors(sizes[1], 1)
    for test, name in (("lt", "i8"), ("geq", "f64"), ("neq", "bool"), ("leq", "decimal")):
        same_as_host(kernels_on("cpu"), "loop_join", *operands([test], [left[name]], [right[name]]))


@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_several_comparisons_and_blocks_of_several_warps(monkeypatch: pytest.MonkeyPatch, device: str) -> None:
    kernels = as_on_a_gpu(monkeypatch, device)
    left, right = vectors(270), vectors(20, 1)
    names = ["i8", "str", "f32"]
    given = operands(["lt", "eq", "neq"], [left[n] for n in names], [right[n] for n in names])
    same_as_host(kernels, "loop_join", *given)


def test_nan_and_zeros_and_scales() -> None:
    odd = Vector(F64, np.array([0.0, -0.0, np.nan, np.inf, -1.5]))
    cents, units = Vector(DecimalType(9, 2), np.array([150, 200, -1])), Vector(DecimalType(9, 0), np.array([2, 1, -1]))
    for test in ("eq", "lt", "geq"):
        same_as_host(kernels_on("cpu"), "loop_join", *operands([test], [odd], [odd]))
        same_as_host(kernels_on("cpu"), "loop_join", *operands([test], [cents], [units]))


def test_a_few_pairs_of_very_many_rows() -> None:
    """More combinations than a cross may have, in less memory than one percent of them."""
    rows = 20_000
    numbers = Vector(I64, np.arange(rows))
    made = CALLS["loop_join"](
        kernels_on("cpu"), operands(["leq", "geq"], [numbers, numbers], [numbers, Vector(I64, np.arange(rows) - 1)])
    )
    assert isinstance(made, ListValue)
    pairs = sorted([(i, i) for i in range(rows)] + [(i, i + 1) for i in range(rows - 1)])
    assert plain(made) == [["i64", [i for i, _ in pairs]], ["i64", [j for _, j in pairs]]]


def test_more_pairs_than_a_join_may_make() -> None:
    many = [Vector(I64, np.zeros(20_000, dtype=np.int8))]
    with pytest.raises(DataError, match="a join of 400000000 pairs of rows"):
        CALLS["loop_join"](kernels_on("cpu"), operands(["eq"], many, many))


def test_wrong_comparisons() -> None:
    one = [Vector(I64, np.array([1]))]
    for tests in (["like"], ["eq", "eq"], []):
        assert CALLS["loop_join"](kernels_on("cpu"), operands(tests, one, one)) is None
        with pytest.raises(DataError, match="one comparison a key was expected"):
            call("loop_join", operands(tests, one, one))


@pytest.mark.vendor
def test_assemblers_take_loop_joins(ptxas: str, tmp_path: Path) -> None:
    kernels, columns = DeviceKernels(find_device("cpu")), vectors(40)
    sides = [columns["f32"], columns["i8"]]
    same_as_host(kernels, "loop_join", *operands(["lt", "neq"], sides, sides))
    assembled(kernels)
    taken_by_the_vendor(kernels, ptxas, tmp_path)
