"""The ready kernels: both oracles against NumPy and each other, and machine code against both, bit for bit."""

import itertools
from typing import Any

import numpy as np
import pytest

from drawloom import batch
from drawloom.batch.backends.layout import ORDERS
from drawloom.batch.backends.native import NativeKernel
from drawloom.batch.frontend.syntax import Kernel
from drawloom.batch.ir.verifier import verify
from drawloom.batch.kernels import READY, parse_ready, read_text
from drawloom.errors import DataError
from tests.batch.cases import Arguments, check_result, copied, flat, make_arguments, same

pytest.importorskip("pycparser")

SIZES = (4, 8, 12, 16, 20, 24, 28, 32)
GROUPS = 5
TYPES = {"float": np.float32, "double": np.float64}


def interpreted(kernel: Kernel, arguments: Arguments, groups: int, contract: bool) -> Arguments:
    result = copied(arguments)
    batch.interpret(kernel, groups, flat(result), contract=contract)
    return result


@pytest.mark.parametrize("real", TYPES)
@pytest.mark.parametrize("name", READY)
@pytest.mark.parametrize("size", [1, 2, 3, 7, *SIZES])
def test_oracles_agree_with_numpy_and_with_each_other(name: str, size: int, real: str) -> None:
    kernel = parse_ready(name, wg_size=size, real=real)
    arguments = make_arguments(name, size, GROUPS, TYPES[real], seed=size)
    for contract in (False, True):
        expected = interpreted(kernel, arguments, GROUPS, contract)
        check_result(name, size, arguments, expected)
        lowered = batch.lower(kernel, contract=contract)
        verify(lowered)
        found = copied(arguments)
        batch.interpret_ir(lowered, GROUPS, flat(found))
        assert same(expected, found)


# `python -m tools.fuzz_batch --kernels` takes every order at every size; here each size and pack has one.
@pytest.mark.parametrize(
    ("size", "pack"), [*itertools.product((4, 8, 12, 16), (1, 2, 4)), (20, 1), (24, 1), (28, 1), (32, 1)]
)
@pytest.mark.parametrize("name", [name for name in READY if name != "frcg"])
def test_machine_code_equals_the_oracle(name: str, size: int, pack: int) -> None:
    order = [*ORDERS][(size // 4 + pack) % len(ORDERS)]
    run_and_compare(name, size, "float", order, pack, 2 * pack)
    run_and_compare(name, size, "double", order, pack, 2 * pack)


@pytest.mark.parametrize(("order", "pack"), [("rows", 1), ("columns", 2), ("interleaved", 4)])
@pytest.mark.parametrize("size", [4, 12])
def test_machine_code_of_frcg_equals_the_oracle(size: int, order: str, pack: int) -> None:
    run_and_compare("frcg", size, "float", order, pack, 2 * pack)
    run_and_compare("frcg", size, "double", order, pack, 2 * pack)


def run_and_compare(name: str, size: int, real: str, order: str, pack: int, groups: int) -> None:
    kernel = parse_ready(name, wg_size=size, real=real)
    arguments = make_arguments(name, size, groups, TYPES[real], seed=size)
    expected = interpreted(kernel, arguments, groups, True)
    found = run(NativeKernel(batch.lower(kernel), order, pack, depth_first=pack != 2), arguments, groups)
    assert same(expected, found), (name, size, real, order, pack)


def run(native: NativeKernel, arguments: Arguments, groups: int) -> dict[str, Any]:
    result = copied(arguments)
    passed = [
        result[parameter.name].ctypes.data if parameter.is_pointer else result[parameter.name]
        for parameter in native.kernel.parameters
    ]
    native.run(passed, 0, groups)
    return result


def test_an_unknown_ready_kernel_is_refused() -> None:
    with pytest.raises(DataError, match="nothing is not a ready kernel\n  expected gema"):
        read_text("nothing")
