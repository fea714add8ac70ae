"""The kernels of `batch.linalg`: machine code in every order equals both oracles, and `lu` gives P A = L U."""

from typing import Any

import numpy as np
import pytest

from drawloom import batch
from drawloom.batch.backends.native import NativeKernel
from drawloom.batch.frontend.parser import parse_file
from drawloom.batch.frontend.syntax import Kernel
from drawloom.batch.ir.verifier import verify
from drawloom.batch.kernels import LINEAR_ALGEBRA, read_text
from drawloom.batch.linalg.spectra import jacobi_steps, qr_steps
from tests.batch.cases import Arguments, copied, flat, gamma, same

pytest.importorskip("pycparser")

GROUPS = 4
EPSILON = float(np.finfo(np.float64).eps)
#: A kernel with the macros of one of its forms.
FORMS = [("solve", "RHS=2"), ("solve", "RHS=2 EXCHANGE=1"), ("solve", "INVERSE=1"), ("solve", "INVERSE=1 EXCHANGE=1"),
         ("solve", "N=2"), ("solve", "N=2 INVERSE=1"), ("lu", ""), ("lu", "EXCHANGE=1"), ("det", ""),
         ("det", "EXCHANGE=1"), ("det", "N=2"), ("cholesky", ""), ("cholesky", "UPPER=1"), ("qr", ""),
         ("qr", "COLUMNS=2"), ("qr", "ONLY_R=1"), ("qr", "RAW=1"), ("eigh", ""), ("eigh", "UPPER=1"),
         ("eigh", "VALUES_ONLY=1"), ("svd", ""), ("svd", "VALUES_ONLY=1")]  # fmt: skip


def parse_form(name: str, macros: str, size: int) -> Kernel:
    defines = {"real": "double", **dict(macro.split("=") for macro in macros.split())}
    return parse_file(read_text(name), wg_size=size, defines=defines)[LINEAR_ALGEBRA[name]]


def make_arguments(kernel: Kernel, name: str, size: int) -> Arguments:
    """Return definite matrices for inputs, NaN in outputs, so that what is not written shows."""
    rng = np.random.default_rng(size)
    matrix = rng.standard_normal((GROUPS, size, size))
    matrix = matrix @ matrix.swapaxes(1, 2) + np.eye(size)
    steps = jacobi_steps(size) if name == "svd" else qr_steps(size)
    numbers = {"tolerance": size * EPSILON, "epsilon": EPSILON, "quiet": 1e-18, "least": 1e-280, "most": 1e280}
    result: Arguments = {}
    for parameter in kernel.parameters:
        if not parameter.is_pointer:
            result[parameter.name] = steps if parameter.name == "steps" else numbers[parameter.name]
        elif parameter.name == "mat_a":
            result[parameter.name] = matrix.copy()
        elif parameter.name == "mat_b":
            result[parameter.name] = rng.standard_normal((GROUPS, 2 * size))
        elif parameter.type.is_float:
            result[parameter.name] = np.full((GROUPS, size * max(size, 2)), np.nan, parameter.type.dtype)
        else:
            result[parameter.name] = np.full((GROUPS, size), 7, parameter.type.dtype)
    return result


@pytest.mark.parametrize("size", [1, 3, 4])
@pytest.mark.parametrize(("name", "macros"), FORMS)
def test_machine_code_equals_both_oracles(name: str, macros: str, size: int) -> None:
    if macros.startswith(("COLUMNS=2", "N=2")) and size < 2:
        return
    kernel = parse_form(name, macros, size)
    arguments = make_arguments(kernel, name, size)
    expected = copied(arguments)
    batch.interpret(kernel, GROUPS, flat(expected), contract=True)
    lowered = batch.lower(kernel)
    verify(lowered)
    found = copied(arguments)
    batch.interpret_ir(lowered, GROUPS, flat(found))
    assert same(expected, found)
    orders = (("rows", 1), ("columns", 2), ("interleaved", 4))
    order, pack = orders[size % 3] if size != 4 else orders[2]
    native = NativeKernel(lowered, order, pack, 4)
    found = copied(arguments)
    passed: list[Any] = [value.ctypes.data if isinstance(value, np.ndarray) else value for value in found.values()]
    native.run(passed, 0, GROUPS)
    assert same(expected, found), (order, pack)


@pytest.mark.parametrize("macros", [{}, {"EXCHANGE": "1"}])
@pytest.mark.parametrize("size", [1, 2, 5, 8])
def test_lu_gives_the_factors_of_the_permuted_matrix(size: int, macros: dict[str, str]) -> None:
    """|P A - L U| <= gamma(n) |L| |U| (Higham, theorem 9.3); all of L is at most 1, as partial pivoting has it."""
    kernel = batch.kernel(read_text("lu"), wg_size=size, defines={"real": "double", **macros})
    a = np.random.default_rng(size).standard_normal((GROUPS, size, size))
    a[0] = np.arange(size * size).reshape(size, size)
    factors, order = np.empty_like(a), np.empty((GROUPS, size), np.int32)
    kernel(a, factors, order)
    lower, upper = np.tril(factors, -1) + np.eye(size), np.triu(factors)
    permuted = np.take_along_axis(a, order[..., None], axis=1).astype(np.longdouble)
    residual = np.abs(permuted - lower.astype(np.longdouble) @ upper)
    assert (residual <= gamma(size, np.float64) * (np.abs(lower) @ np.abs(upper))).all()
    assert (np.abs(lower) <= 1).all()
    assert np.array_equal(np.sort(order, axis=1), np.broadcast_to(np.arange(size), (GROUPS, size)))


@pytest.mark.parametrize("macros", [[], ["UPPER"], ["UNIT"], ["TRANSPOSED"], ["UPPER", "TRANSPOSED", "UNIT"]])
@pytest.mark.parametrize(("size", "columns"), [(1, 1), (3, 5), (8, 8)])
def test_trsm_solves_with_each_triangle(macros: list[str], size: int, columns: int) -> None:
    """|B - T X| <= gamma(n) |T| |X| (Higham, theorem 8.5)."""
    defines = {"real": "double", "RHS": str(columns), **dict.fromkeys(macros, "1")}
    kernel = batch.kernel(read_text("trsm"), wg_size=size, defines=defines)
    rng = np.random.default_rng(size)
    a = rng.uniform(-1, 1, (GROUPS, size, size)) + 2 * np.eye(size)
    b = rng.uniform(-1, 1, (GROUPS, size, columns))
    x = b.copy()
    kernel(a, x)
    triangle = np.triu(a) if "UPPER" in macros else np.tril(a)
    if "UNIT" in macros:
        triangle[:, range(size), range(size)] = 1
    if "TRANSPOSED" in macros:
        triangle = triangle.swapaxes(1, 2)
    residual = np.abs(b - triangle.astype(np.longdouble) @ x)
    assert (residual <= gamma(size, np.float64) * (np.abs(triangle) @ np.abs(x))).all()
