"""Runs kernels in both oracles, which have to agree."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from drawloom.batch import interpret, interpret_ir, lower, parse_file


def run_file(
    text: str, out: NDArray[Any], wg_size: int = 4, groups: int = 1, **arguments: Any
) -> NDArray[Any]:
    """Run the kernel `k` of a file, whose first parameter is `out`; returns `out`."""
    kernel = parse_file(text, wg_size=wg_size)["k"]
    passed = {"out": out, **arguments}
    again = {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in passed.items()}
    interpret(kernel, groups, passed)
    interpret_ir(lower(kernel, contract=False), groups, again)
    for name, value in passed.items():
        if isinstance(value, np.ndarray):
            assert np.array_equal(value, again[name], equal_nan=value.dtype.kind == "f"), name
    return out
