"""CUDA sources to the PTX of several compilers: clang with the passes that LLVM has for GPUs, clang without them, nvcc.

    compiled ::= source, Compiler -> PTX text

LLVM has no switch for all of its GPU passes. It can run, though, passes by number: a first run says which numbers those
have, a second one leaves them out and says so.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Final

from drawloom.cuda.compiler import Options, translate_cuda

ARCH: Final = "sm_80"
#: What the NVPTX target adds to LLVM's usual passes (Wu and others, "gpucc", CGO 2016, section 3): before code is
#: selected, and one in the middle. `gvn` and `early-cse` clean up between these.
BEFORE_SELECTION: Final = frozenset(
    "infer-address-spaces|separate-const-offset-from-gep|Speculatively execute instructions|slsr|gvn|nary-reassociate"
    "|early-cse|load-store-vectorizer".split("|")
)
IN_THE_MIDDLE: Final = frozenset(("speculative-execution", "infer-address-spaces"))
#: The corpus brings what it uses of CUDA's headers for a clang that has none; this asks it for ours.
DEFINES: Final = ("__CUDACC_RTC__",)
_PASS: Final = re.compile(r"^BISECT: (NOT )?running pass \((\d+)\) (.+?) on (.*)$", re.M)


def clang(source: Path) -> str:
    """The PTX of `drawloom build`, with all of LLVM's passes."""
    return _clang(source, ())[0]


def clang_without_gpu_passes(source: Path) -> str:
    """The same without those of LLVM for GPUs. Raises ValueError where their numbers do not settle."""
    left_out: list[int] = []
    for _ in range(5):
        arguments = ("-mllvm", f"-opt-bisect={_all_but(left_out)}") if left_out else ("-mllvm", "-opt-bisect-limit=-1")
        text, said = _clang(source, (*arguments, "-mllvm", "-opt-bisect-verbose"))
        found = [int(number) for _, number, name, where in _PASS.findall(said) if _is_for_gpus(name, where)]
        if left_out and found == left_out:
            return text
        left_out = found
    raise ValueError(f"{source.name}: the numbers of LLVM's passes do not settle")


def _is_for_gpus(name: str, where: str) -> bool:
    return name in (BEFORE_SELECTION if where.startswith("function (") else IN_THE_MIDDLE)


def _all_but(numbers: list[int]) -> str:
    """The intervals of all passes but some, as LLVM reads them."""
    ends = [0, *numbers, 1_000_000]
    return ",".join([f"{low + 1}-{high - 1}" for low, high in pairwise(ends) if low + 1 < high])


def _clang(source: Path, extra: tuple[str, ...]) -> tuple[str, str]:
    options = Options("c++17", 3, DEFINES, (), False, False, extra)
    made = translate_cuda(str(source), ARCH, options)
    return made.ptx, made.warnings


def nvcc(source: Path) -> str | None:
    """nvcc's -O3, None where it is not installed."""
    program = shutil.which("nvcc")
    if program is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "out.ptx"
        command = [program, "-O3", f"-arch={ARCH}", "-std=c++17", "-ptx", "-o", str(made), str(source)]
        subprocess.run(command, check=True, capture_output=True)
        return made.read_text(encoding="utf-8")
