"""Batched small kernels, written once in OpenCL C with `shuffle`, compiled to vectors of this CPU or to CUDA C++.

Names are loaded when they are first used, so that importing the package costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from drawloom.batch import linalg as linalg
    from drawloom.batch.backends.cuda.kernel import DeviceKernel as DeviceKernel
    from drawloom.batch.compile import Kernel as Kernel
    from drawloom.batch.compile import kernel as kernel
    from drawloom.batch.frontend.interpreter import interpret as interpret
    from drawloom.batch.frontend.lower import lower as lower
    from drawloom.batch.frontend.parser import parse_file as parse_file
    from drawloom.batch.frontend.source import BatchParseError as BatchParseError
    from drawloom.batch.frontend.source import BatchTypeError as BatchTypeError
    from drawloom.batch.frontend.source import MissingParserError as MissingParserError
    from drawloom.batch.ir.interpreter import interpret_ir as interpret_ir
    from drawloom.batch.packed import Packed as Packed
    from drawloom.batch.packed import pack as pack

# Public name -> the module that defines it.
LAZY_NAMES: Final[dict[str, str]] = {
    "BatchParseError": "drawloom.batch.frontend.source",
    "BatchTypeError": "drawloom.batch.frontend.source",
    "DeviceKernel": "drawloom.batch.backends.cuda.kernel",
    "Kernel": "drawloom.batch.compile",
    "MissingParserError": "drawloom.batch.frontend.source",
    "Packed": "drawloom.batch.packed",
    "interpret": "drawloom.batch.frontend.interpreter",
    "interpret_ir": "drawloom.batch.ir.interpreter",
    "kernel": "drawloom.batch.compile",
    "lower": "drawloom.batch.frontend.lower",
    "pack": "drawloom.batch.packed",
    "parse_file": "drawloom.batch.frontend.parser",
}


def __getattr__(name: str) -> Any:
    if name == "linalg":
        return import_module("drawloom.batch.linalg")
    if name not in LAZY_NAMES:
        raise AttributeError(f"module 'drawloom.batch' has no attribute '{name}'")
    value: Any = getattr(import_module(LAZY_NAMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *LAZY_NAMES, "linalg"})


__all__ = [
    "BatchParseError",
    "BatchTypeError",
    "DeviceKernel",
    "Kernel",
    "MissingParserError",
    "Packed",
    "interpret",
    "interpret_ir",
    "kernel",
    "linalg",
    "lower",
    "pack",
    "parse_file",
]
