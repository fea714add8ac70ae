"""`batch.kernel` on NumPy arrays: results, and arguments that are refused before anything is written."""

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from drawloom import batch
from drawloom.batch.kernels import read_text
from drawloom.errors import DataError, LaunchError, UnsupportedError
from tests.batch.cases import check_result, copied, make_arguments

pytest.importorskip("pycparser")

ADD = "__kernel void add(const double *a, double *b, int n) { b[get_global_id()] += n * a[get_global_id()]; }"


@pytest.mark.parametrize("groups", [0, 1, 2, 3, 5, 7, 8, 9, 31, 64, 97, 1009])
@pytest.mark.parametrize(("order", "pack"), [("rows", 1), ("rows", 4), ("columns", 2), ("interleaved", 8)])
def test_any_number_of_groups(groups: int, order: str, pack: int) -> None:
    ldus = batch.kernel(read_text("ldus"), wg_size=5, defines={"real": "double"}, order=order, pack=pack)
    arguments = make_arguments("ldus", 5, groups, np.float64)
    before = copied(arguments)
    ldus(arguments["mat_a"])
    if groups:
        check_result("ldus", 5, before, arguments)


def test_nothing_beyond_the_arrays_is_touched() -> None:
    for order, pack in (("rows", 2), ("columns", 2), ("interleaved", 4)):
        gemm = batch.kernel(read_text("gemm"), wg_size=3, defines={"real": "float"}, order=order, pack=pack)
        whole = np.full((3, 2 + 7 * 9 + 2), 5, np.float32)
        a, b, c = (row[2:-2].reshape(7, 3, 3) for row in whole)
        a[:], b[:] = np.random.default_rng(0).random((2, 7, 3, 3))
        gemm(a, b, c)
        assert np.allclose(c, a @ b)
        assert (whole[:, :2] == 5).all()
        assert (whole[:, -2:] == 5).all()


def test_a_launch_large_enough_for_several_threads() -> None:
    add = batch.kernel(ADD, wg_size=8)
    a, b = np.arange(80_000.0).reshape(-1, 8), np.ones((10_000, 8))
    add(a, b, 2)
    assert np.array_equal(b, 1 + 2 * a)


def test_a_kernel_may_come_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "add.cl"
    path.write_text(ADD + "\n__kernel void other(int *p) {}")
    assert repr(batch.kernel(path, wg_size=2, name="add")) == "<batch kernel add(a, b, n), groups of 2>"
    with pytest.raises(
        DataError,
        match="several kernels, and none was chosen\n  expected one of add, other, by name='add' or --kernel add",
    ):
        batch.kernel(path, wg_size=2)
    with pytest.raises(DataError, match=r"no kernel third"):
        batch.kernel(str(path), wg_size=2, name="third")
    with pytest.raises(DataError, match=r"missing\.cl: cannot be read as text"):
        batch.kernel("missing.cl", wg_size=2)


def test_a_file_that_is_included_may_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAWLOOM_CACHE_DIR", str(tmp_path / "cache"))
    path = tmp_path / "k.cl"
    path.write_text('#include "f.h"\n__kernel void k(double *x) { x[get_global_id()] = f(x[get_global_id()]); }\n')
    for factor in (2, 3):
        (tmp_path / "f.h").write_text(f"double f(double x) {{ return {factor} * x; }}\n")
        x = np.ones((3, 4))
        batch.kernel(path, wg_size=4)(x)
        assert (x == factor).all()


@pytest.mark.parametrize(
    "options",
    [
        {"order": "diagonal"}, {"pack": 0}, {"pack": 1.5}, {"pack": 2.0}, {"pack": True}, {"pack": 65},
        {"wg_size": "4"}, {"wg_size": 2.0}, {"wg_size": True}, {"wg_size": None},
        {"defines": 3}, {"defines": ["N"]}, {"defines": {"N": None}}, {"defines": {"N": True}},
        {"defines": {"N": float("inf")}}, {"defines": {"a b": "1"}}, {"defines": {"3x": "1"}}, {"defines": {"": "1"}},
        {"defines": {3: "1"}}, {"name": []}, {"name": 3}, {"target": []}, {"order": []},
    ],
)  # fmt: skip
def test_unknown_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(DataError):
        batch.kernel(ADD, **{"wg_size": 4, **options})


@pytest.mark.parametrize("source", [b"__kernel void k(int *p) {}", None, 3])
def test_a_source_that_is_not_text_is_refused(source: Any) -> None:
    with pytest.raises(DataError, match=r"expected text, or the path of a \.cl file"):
        batch.kernel(source, wg_size=4)


@pytest.mark.parametrize("value", [4, np.int64(4), 4.0, np.float32(4), "4"])
def test_macros_may_be_numbers(value: Any) -> None:
    fill = batch.kernel("__kernel void k(double *p) { p[get_global_id()] = N; }", wg_size=2, defines={"N": value})
    array = np.zeros((3, 2))
    fill(array)
    assert (array == 4).all()


def test_numbers_beyond_a_type_are_refused() -> None:
    fill = batch.kernel("__kernel void k(double *p, float x) { p[get_global_id()] = x; }", wg_size=2)
    array = np.zeros((3, 2))
    fill(array, float("inf"))
    assert np.isinf(array).all()
    fill(array, np.array(3))
    assert (array == 3).all()
    with pytest.raises(LaunchError, match="expected a number of type float"):
        fill(array, 10**400)


@pytest.mark.parametrize("groups", ["3", 1.5, 2.0, True, [1]])
def test_groups_that_are_not_a_whole_number_are_refused(groups: Any) -> None:
    a, b = np.ones((3, 4)), np.ones((3, 4))
    with pytest.raises(LaunchError, match="expected a number of work-groups"):
        batch.kernel(ADD, wg_size=4)(a, b, 1, groups=groups)
    assert (b == 1).all()


@pytest.mark.parametrize("options", [{}, {"target": "avx2"}, {"measure": True}])
def test_kernels_are_copied_and_pickled(options: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "k.cl"
    path.write_text('#include "f.h"\n' + ADD.replace("+= n *", "+= n * ONE *"))
    (tmp_path / "f.h").write_text("#define ONE 1\n")
    add = batch.kernel(path, wg_size=4, **options)
    a, b = np.arange(4000.0).reshape(-1, 4), np.ones((1000, 4))
    try:
        add(a, b, 2)
    except UnsupportedError as refusal:
        pytest.skip(str(refusal))
    (tmp_path / "f.h").unlink()
    for twin in (copy.copy(add), copy.deepcopy(add), pickle.loads(pickle.dumps(add))):
        assert repr(twin) == repr(add)
        assert twin.recipe == add.recipe
        c = np.ones((1000, 4))
        twin(a, c, 2)
        assert np.array_equal(c, b)
        assert twin.source.name == "add"


def refusals() -> list[tuple[Any, str]]:
    a, b = np.ones((2, 4)), np.ones((2, 4))
    locked = b.copy()
    locked.flags.writeable = False
    shared = np.ones((4, 4))
    return [
        ((a, b), "expected 3 arguments (a, b, n), found 2"),
        (([1.0], b, 1), "a is a list\n  expected a NumPy array, or one by DLPack"),
        ((a.astype(np.float32), b, 1), "a is an array of float32\n  expected float64"),
        ((a.astype(">f8"), b, 1), "a is an array of >f8\n  expected float64"),
        ((a, locked, 1), "b is read-only, and the kernel writes to it"),
        ((shared[:2], shared[1:3], 1), "a and b overlap, and the kernel writes to one"),
        ((a, b, "1"), "n is a str\n  expected a number"),
        ((a, b, 1.5), "n is 1.5\n  expected a number of type int"),
        ((a, b, float("nan")), "n is nan\n  expected a number of type int"),
        ((a, b, float("-inf")), "n is -inf\n  expected a number of type int"),
        ((a, b, np.complex64(1)), "n is a complex64\n  expected a number"),
        ((a, b, np.array(None)), "n is a NoneType\n  expected a number"),
        ((a, b, np.array("x")), "n is a str_\n  expected a number"),
        ((a, b, 2**40), "n is 1099511627776\n  expected a number of type int"),
        ((a, b, np.ones(2)), "n is an array\n  expected a number"),
        ((a.reshape(-1), b.reshape(-1), 1), "is not known: no array has several dimensions\n  pass groups=..."),
        ((a[:1], b, 1), "arrays with several dimensions begin with 1, 2"),
    ]


@pytest.mark.parametrize(("arguments", "message"), refusals())
def test_arguments_that_do_not_fit_are_refused(arguments: Any, message: str) -> None:
    with pytest.raises(LaunchError) as refused:
        batch.kernel(ADD, wg_size=4)(*arguments)
    assert message in str(refused.value)
    assert all((value == 1).all() for value in arguments if isinstance(value, np.ndarray) and value.ndim)


def test_arrays_that_are_too_small_are_refused() -> None:
    add = batch.kernel(ADD, wg_size=4)
    with pytest.raises(LaunchError, match="group 2 accesses element 11 of a, an array of 8 elements"):
        add(np.ones((2, 4)), np.ones((3, 4)), 1, groups=3)
    with pytest.raises(LaunchError, match="groups is -1"):
        add(np.ones((2, 4)), np.ones((3, 4)), 1, groups=-1)
    back = batch.kernel("__kernel void k(double *p) { p[(int)get_local_id() - 1] = 1; }", wg_size=2)
    with pytest.raises(LaunchError, match="group 0 accesses element -1 of p"):
        back(np.zeros((1, 2)))


def test_items_of_more_elements_than_a_group_takes_are_refused() -> None:
    """Groups took elements one after the other, across the ends of items."""
    add = batch.kernel(ADD, wg_size=4)
    with pytest.raises(LaunchError, match="a has 3 items of 6 elements\n  expected 4, as many as a group takes"):
        add(np.ones((3, 6)), np.ones((3, 4)), 1)
    with pytest.raises(LaunchError, match="b has 3 items of 8 elements"):
        add(np.ones((3, 4)), np.ones((3, 2, 4)), 1)
    a, b = np.ones(18), np.ones(18)
    add(a, b, 1, groups=3)


def test_an_index_of_32_bits_limits_the_groups() -> None:
    k = batch.kernel("__kernel void k(double *p) { int i = get_group_id() * 65536; p[i] = 1; }", wg_size=1)
    with pytest.raises(LaunchError, match="32,769 groups overflow an index of 32 bits\n  run at most 32,768 at once"):
        k(np.zeros((1, 1)), groups=32769)


def test_what_was_compiled_once_is_read_from_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DRAWLOOM_CACHE_DIR", str(tmp_path))
    text = ADD.replace("add", "added")

    def run() -> Any:
        a, b = np.arange(44.0).reshape(11, 4), np.ones((11, 4))
        batch.kernel(text, wg_size=4, order="interleaved", pack=2)(a, b, 2)
        return b

    expected = run()

    def fail(*_: Any, **__: Any) -> Any:
        raise AssertionError("compiled again")

    monkeypatch.setattr("drawloom.batch.compile.parse_file", fail)
    monkeypatch.setattr("drawloom.batch.backends.native.object_code", fail)
    assert np.array_equal(run(), expected)
    with pytest.raises(AssertionError, match="compiled again"):
        batch.kernel(text, wg_size=4, order="interleaved", pack=4)
    monkeypatch.setenv("DRAWLOOM_CACHE", "off")
    with pytest.raises(AssertionError, match="compiled again"):
        run()
