"""`batch.linalg` next to NumPy: shapes, types, result types, errors, and matrices that a kernel leaves to NumPy."""

import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

from drawloom import batch
from drawloom.batch import linalg
from drawloom.batch.linalg import compiled, roads
from tests.batch.cases import Tensor
from tests.batch.linalg.references import make_definite, make_matrices, make_symmetric

pytest.importorskip("pycparser")

COUNT = 21
UNARY = ("inv", "det", "slogdet", "cholesky", "qr", "eigh", "eigvalsh", "svd", "svdvals", "pinv", "cond")


@pytest.fixture(autouse=True)
def every_stack_is_worth_a_kernel(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(roads, "LEAST_ITEMS", 1)
    yield


def outcome(function: Any, *arguments: Any, **options: Any) -> tuple[Any, ...]:
    """Return what a call gives: shapes, types and the result's class, or the error's class and text."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = function(*arguments, **options)
        except Exception as error:
            return type(error).__name__, str(error)
    parts = result if isinstance(result, tuple) else (result,)
    return type(result).__name__, *[(type(part).__name__, part.dtype.str, part.shape) for part in parts]


def assert_same_outcome(name: str, *arguments: Any, **options: Any) -> None:
    ours = outcome(getattr(linalg, name), *arguments, **options)
    assert ours == outcome(getattr(np.linalg, name), *arguments, **options)


def operands() -> dict[str, Any]:
    square = make_definite(COUNT, 3, np.float64)
    read_only = square.copy()
    read_only.flags.writeable = False
    return {
        "float64": square,
        "float32": square.astype(np.float32),
        "integers": (square * 8).astype(np.int64),
        "small integers": (square * 8).astype(np.int8),
        "booleans": np.tile(np.eye(3, dtype=bool), (COUNT, 1, 1)),
        "half precision": square.astype(np.float16),
        "extended precision": square.astype(np.longdouble),
        "complex": square.astype(np.complex64),
        "other byte order": square.astype(">f8"),
        "objects": square.astype(object),
        "several batch dimensions": square.reshape(3, 7, 3, 3),
        "no batch dimension": square[0],
        "empty batch": square[:0],
        "empty matrices": np.ones((COUNT, 0, 0)),
        "broadcast": np.broadcast_to(square[0], (COUNT, 3, 3)),
        "transposed": square.swapaxes(-1, -2),
        "every other": square[::2],
        "backwards": square[::-1, ::-1, ::-1],
        "columns first": np.asfortranarray(square),
        "read-only": read_only,
        "misaligned": np.concatenate([np.zeros(1, np.uint8), square.view(np.uint8).reshape(-1)])[1:].view("f8").reshape(
            square.shape
        ),
        "tall": np.ones((COUNT, 5, 3)) + np.arange(15).reshape(5, 3) ** 2,
        "wide": np.ones((COUNT, 3, 5)) + np.arange(15).reshape(3, 5) ** 2,
        "large": np.tile(np.eye(33), (3, 1, 1)),
        "a list": square[:2].tolist(),
        "a matrix": np.matrix(square[0]),
        "masked": np.ma.masked_array(square),
        "a vector": np.ones(3),
        "a number": 3.0,
    }


@pytest.mark.parametrize("kind", operands())
def test_results_have_numpys_shapes_and_types(kind: str) -> None:
    value = operands()[kind]
    for name in UNARY:
        assert_same_outcome(name, value)
    for mode in ("reduced", "complete", "r", "raw", "economic", "none"):
        assert_same_outcome("qr", value, mode)
    for options in ({"full_matrices": False}, {"compute_uv": False}, {"hermitian": True}):
        assert_same_outcome("svd", value, **options)
    for triangle in ("U", "l", "X"):
        assert_same_outcome("eigh", value, triangle)
    for exponent in (-2, 0, 3, 1.5):
        assert_same_outcome("matrix_power", value, exponent)
    for order in (None, "fro", 2, -2, "nuc", 3):
        assert_same_outcome("norm", value, order, (-2, -1))
        assert_same_outcome("norm", value, order, (-2, -1), True)
        assert_same_outcome("cond", value, order)
    assert_same_outcome("matmul", value, value)
    assert_same_outcome("cholesky", value, upper=True)
    assert_same_outcome("pinv", value, rtol=None)
    assert_same_outcome("pinv", value, 0.1, rtol=0.1)
    for right in (np.ones(3), np.ones((3, 1), np.float32), np.ones((COUNT, 3)), np.ones((COUNT, 3, 2)), np.ones((3, 9)),
                  np.ones((7, 3, 2)), np.ones((2, 1, 3, 1), np.int32), 1.0, np.ones((3, 2), complex)):  # fmt: skip
        assert_same_outcome("solve", value, right)


@pytest.mark.parametrize("kind", ["transposed", "every other", "backwards", "columns first", "misaligned", "integers",
                                  "other byte order", "broadcast", "several batch dimensions"])  # fmt: skip
def test_layouts_of_operands_do_not_change_results(kind: str) -> None:
    value = operands()[kind]
    plain = np.array(value, np.float64, order="C")
    before = np.array(value)
    for name in UNARY:
        for ours, theirs in zip(parts_of(getattr(linalg, name)(value)), parts_of(getattr(linalg, name)(plain))):
            assert np.array_equal(ours, theirs)
    b = np.arange(3.0)
    assert np.array_equal(linalg.solve(value, b), linalg.solve(plain, b))
    assert np.array_equal(value, before)


def parts_of(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)


def test_a_right_hand_side_is_a_vector_only_with_one_dimension() -> None:
    a = make_definite(3, 3, np.float64)
    assert linalg.solve(a, np.ones(3)).shape == (3, 3)
    # Three rows of three: one matrix, as in NumPy 2.
    assert np.allclose(linalg.solve(a, np.eye(3)), np.linalg.inv(a))
    assert linalg.solve(a[:, None], np.ones((2, 3, 1))).shape == (3, 2, 3, 1)


SINGULAR = {
    "zeros": np.zeros((3, 3)),
    "equal rows": np.ones((3, 3)),
    "a row of zeros": np.diag([1.0, 0.0, 2.0]),
    "integers whose last pivot is a rounding error": np.arange(9.0).reshape(3, 3),
    "thirds": np.array([[1, 2, 3], [4, 5, 6], [7, 8, 9]]) / 3,
    "badly scaled": np.diag([1e200, 1.0, 1e-200]),
    "small": np.eye(3) * 1e-300,
    "large": np.full((3, 3), 1e300) + np.diag([1e299, 2e299, 3e299]),
    "NaN": np.array([[1, 2, 3], [4, np.nan, 6], [7, 8, 10.0]]),
    "infinity": np.array([[1, np.inf, 3], [4, 5, 6], [7, 8, 10.0]]),
    "negative": -np.eye(3),
    "as good as singular": np.ones((3, 3)) + np.diag([0, 1e-16, 1e-15]),
}


@pytest.mark.parametrize("kind", SINGULAR)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_unusual_matrices_have_numpys_numbers_and_errors(kind: str, dtype: Any) -> None:
    with np.errstate(over="ignore"):
        matrix = SINGULAR[kind].astype(dtype)
    stack = make_definite(COUNT, 3, dtype)
    stack[5] = stack[20] = matrix
    b = np.ones((3, 1), dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in UNARY:
            # LAPACK's gesdd in OpenBLAS 0.3.31 never returns for some infinite matrices, in NumPy as well.
            if np.isfinite(matrix).all() or name not in ("svd", "svdvals", "pinv", "cond"):
                compare_unusual(name, stack, stack)
        compare_unusual("solve", stack, stack, b)


def compare_unusual(name: str, stack: Any, *arguments: Any) -> None:
    """Compare errors; results of the unusual matrices are equal, or as close as their condition leaves any digits."""
    assert_same_outcome(name, *arguments)
    try:
        expected = parts_of(getattr(np.linalg, name)(*arguments))
    except np.linalg.LinAlgError:
        return
    for ours, theirs in zip(parts_of(getattr(linalg, name)(*arguments)), expected):
        assert np.array_equal(np.isfinite(ours), np.isfinite(theirs))
        if name not in ("qr", "svd", "eigh"):
            limit = 1e-5 if stack.dtype == np.float32 else 1e-10
            close = np.isclose(ours, theirs, rtol=limit, atol=0, equal_nan=True)
            assert close[[5, 20]].all() or name in ("eigvalsh", "svdvals", "cond")
            assert np.delete(close, [5, 20], axis=0).all()


def test_a_kernel_leaves_few_usual_matrices_to_numpy() -> None:
    for size in (2, 5):
        a = make_matrices(2000, size, np.float64)
        symmetric = make_symmetric(2000, size, np.float64)
        with pytest.MonkeyPatch.context() as patch:
            for name, argument in (("inv", a), ("det", a), ("cholesky", make_definite(2000, size, np.float64)),
                                   ("qr", a), ("svd", a), ("eigh", symmetric)):  # fmt: skip
                asked: list[int] = []
                patch.setattr(np.linalg, name, partial(count_matrices, asked, getattr(np.linalg, name)))
                getattr(linalg, name)(argument)
                assert sum(asked) <= 10, (name, size, asked)


def count_matrices(asked: list[int], function: Any, matrices: Any, *options: Any, **named: Any) -> Any:
    asked.append(len(matrices))
    return function(matrices, *options, **named)


def test_names_are_numpys() -> None:
    assert set(linalg.__all__) == set(np.linalg.__all__)
    assert batch.linalg is linalg
    assert all(hasattr(linalg, name) for name in np.linalg.__all__)
    assert linalg.LinAlgError is np.linalg.LinAlgError


def test_short_stacks_and_missing_parser_go_to_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "ready_kernel", None)
    a = make_definite(COUNT, 3, np.float64)
    monkeypatch.setattr(roads, "_parser", [False])
    assert np.array_equal(linalg.inv(a), np.linalg.inv(a))
    monkeypatch.setattr(roads, "_parser", [True])
    monkeypatch.setattr(roads, "LEAST_ITEMS", COUNT + 1)
    assert np.array_equal(linalg.solve(a, np.ones(3)), np.linalg.solve(a, np.ones(3)))


def test_compiled_kernels_are_kept_on_disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("DRAWLOOM_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(compiled, "_kernels", {})
    a = make_definite(COUNT, 2, np.float64)
    first = linalg.cholesky(a)
    assert len(list(tmp_path.glob("*.kernel"))) == 1
    monkeypatch.setattr(compiled, "_kernels", {})
    monkeypatch.setattr(compiled, "compile_variant", None)
    assert np.array_equal(linalg.cholesky(a), first)
    monkeypatch.setattr("drawloom.batch.stored.VERSION", "another")
    monkeypatch.setattr(compiled, "_kernels", {})
    with pytest.raises(TypeError):
        linalg.cholesky(a)


@pytest.mark.parametrize("count", [3, COUNT])
def test_arrays_of_other_libraries_are_taken_by_dlpack(count: int) -> None:
    a, b = make_definite(count, 3, np.float64), np.ones(3)
    assert np.array_equal(linalg.solve(Tensor(a), Tensor(b)), linalg.solve(a, b))
    assert np.array_equal(linalg.cholesky(Tensor(a), upper=True), linalg.cholesky(a, upper=True))
    assert np.array_equal(linalg.matmul(Tensor(a), a), linalg.matmul(a, a))
    assert np.array_equal(linalg.svdvals(Tensor(a)), linalg.svdvals(a))
    assert linalg.solve.__doc__.startswith("Solve a x = b")
