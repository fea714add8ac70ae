"""The ready kernels: their texts, which are files of this folder."""

from __future__ import annotations

from importlib.resources import files
from typing import Final

from drawloom.batch.frontend.parser import parse_file
from drawloom.batch.frontend.syntax import Kernel
from drawloom.errors import DataError

#: File -> the kernel in it. Group-wise kernels have one problem per group, item-wise ones one per work-item.
GROUP_WISE: Final = {"gema": "gema", "gemm": "gemm", "trsv": "trsv", "trsm": "trsm", "ldus": "ldus"}
ITEM_WISE: Final = {"pade": "pade", "enum": "enumerate", "frcg": "frcg"}
READY: Final = {**GROUP_WISE, **ITEM_WISE}
#: What `batch.linalg` runs: they say which of their results are certain, and take macros for further sizes.
LINEAR_ALGEBRA: Final = {"solve": "solve", "lu": "lu", "det": "det", "cholesky": "cholesky",
                         "qr": "qr", "eigh": "eigh", "svd": "svd"}  # fmt: skip


def read_text(name: str) -> str:
    """Return the text of a ready kernel.

    Raises:
        DataError: There is no such kernel.
    """
    if name not in READY and name not in LINEAR_ALGEBRA:
        raise DataError(f"{name} is not a ready kernel\n  expected {', '.join((*READY, *LINEAR_ALGEBRA))}")
    return (files("drawloom.batch.kernels") / f"{name}.cl").read_text(encoding="utf-8")


def parse_ready(name: str, *, wg_size: int, real: str = "double") -> Kernel:
    """Parse a ready kernel for a group size and a type of numbers, "float" or "double"."""
    kernels = parse_file(read_text(name), wg_size=wg_size, defines={"real": real}, file=f"{name}.cl")
    return kernels[READY[name]]
