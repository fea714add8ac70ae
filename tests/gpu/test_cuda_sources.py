"""Kernels of CUDA C++ and OpenCL C on the first GPU: what tests/cuda/ asks of the CPU."""

from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest

from drawloom.cuda.clang import find_clang
from drawloom.errors import UnsupportedError
from tests.cuda import test_intrinsics, test_language, test_libraries
from tools.math_accuracy import FUNCTIONS, measure, special_functions

pytestmark = pytest.mark.large

ON_A_DEVICE: list[Callable[[str], None]] = [
    test_intrinsics.test_integer_intrinsics,
    test_intrinsics.test_parts_of_words,
    test_intrinsics.test_exchanges_between_lanes,
    test_intrinsics.test_atomics,
    test_intrinsics.test_conversions_and_roundings,
    test_intrinsics.test_loads_and_stores_with_hints,
    test_intrinsics.test_spaces_of_addresses_and_clocks,
    test_libraries.test_groups_of_threads,
    test_libraries.test_the_grid_meets,
    test_libraries.test_known_answers_of_philox,
    test_libraries.test_pairs_of_small_floats,
    test_language.run_language,
]


@pytest.fixture(scope="module", autouse=True)
def clang() -> None:
    """What makes PTX of the sources; skips without one."""
    try:
        find_clang()
    except UnsupportedError as lack:
        pytest.skip(str(lack))


@pytest.mark.parametrize("check", ON_A_DEVICE, ids=lambda check: check.__name__)
def test_sources(check: Callable[[str], None], device: str) -> None:
    check(device)


def test_random_numbers(device: str) -> None:
    test_libraries.test_random_numbers("xorwow", test_libraries.Xorwow, device)
    test_libraries.test_random_numbers("philox", test_libraries.Philox, device)


def test_small_floats(device: str) -> None:
    test_libraries.test_small_floats("halves", np.float16, device)
    test_libraries.test_small_floats("bfloats", ml_dtypes.bfloat16, device)


def test_errors_of_the_mathematics(device: str) -> None:
    for name, bound, worst, at in measure(FUNCTIONS + special_functions(), 2000, device):
        assert worst <= bound, (name, worst, at)
