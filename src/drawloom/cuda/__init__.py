"""CUDA C++ and OpenCL C to PTX, through clang and device headers of our own (seed 004, section 2).

Names are loaded when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from drawloom.cuda.compiler import CompileError as CompileError
    from drawloom.cuda.compiler import compile_cuda as compile_cuda
    from drawloom.cuda.compiler import compile_opencl as compile_opencl
    from drawloom.cuda.loading import load as load

# Public name -> the module that defines it.
LAZY_NAMES: Final[dict[str, str]] = {
    "CompileError": "compiler",
    "compile_cuda": "compiler",
    "compile_opencl": "compiler",
    "load": "loading",
}


def __getattr__(name: str) -> object:
    if name not in LAZY_NAMES:
        raise AttributeError(f"module 'drawloom.cuda' has no attribute '{name}'")
    value: object = getattr(import_module("drawloom.cuda." + LAZY_NAMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *LAZY_NAMES})
