"""OpenMP in host code: the library of the system that programs are linked with.

Clang's code calls LLVM's libomp. Where the system has only GCC's libgomp, `on_gomp.cpp` is linked between the two.
"""

import subprocess
from ctypes.util import find_library
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from drawloom.cuda.clang import Clang, CompileError
from drawloom.errors import UnsupportedError

LLVM_NAMES: Final = ("omp", "omp5", "iomp5")
GCC_NAME: Final = "gomp"
ON_GOMP: Final = Path(__file__).parent / "on_gomp.cpp"
#: Clang's version of OpenMP, 5.1, which it defines on the side that it compiles OpenMP on, the host's.
VERSION_MACRO: Final = "_OPENMP=202011"


@dataclass(frozen=True)
class Library:
    """A library for OpenMP: what the linker is told, and whether it is GCC's."""

    words: tuple[str, ...]
    is_gcc: bool


def find_openmp() -> Library:
    """Return LLVM's library, else GCC's. Raises UnsupportedError where neither is installed."""
    for name in (*LLVM_NAMES, GCC_NAME):
        found = find_library(name)
        if found is not None:
            return Library((f"-l:{found}",), name == GCC_NAME)
    raise UnsupportedError(
        "-fopenmp: neither LLVM's libomp nor GCC's libgomp is installed\n"
        "  expected one of them, such as Debian's package libgomp1 or libomp5"
    )


def adapter_object(clang: Clang, folder: Path) -> list[Path]:
    """Compile what stands between clang's code and libgomp, in a folder."""
    out = folder / "on_gomp.o"
    words = ["-O2", "-fPIC", "-fvisibility=hidden", "-fno-exceptions", "-c", str(ON_GOMP), "-o", str(out)]
    done = subprocess.run([*clang.cxx, *words], capture_output=True, text=True)
    if done.returncode:
        raise CompileError(done.stderr)
    return [out]


__all__ = ["VERSION_MACRO", "Library", "adapter_object", "find_openmp"]
