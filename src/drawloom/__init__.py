"""Drawloom: from SQL, CUDA C++ and PTX to the single instruction of a warp, on a GPU or on this CPU.

Names are loaded when they are first used, so that importing the package costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from drawloom.build_info import VERSION as __version__
from drawloom.errors import (
    CacheError,
    DataError,
    DeadlockError,
    DeviceError,
    Error,
    KernelFault,
    LaunchError,
    MemoryAccessError,
    OutOfMemoryError,
    ParseError,
    RaceError,
    SourceError,
    UnsupportedError,
    VerifyError,
)

if TYPE_CHECKING:
    from drawloom.cuda import compile_cuda as compile_cuda
    from drawloom.cuda import compile_opencl as compile_opencl
    from drawloom.cuda.loading import load as load
    from drawloom.opt import optimize as optimize
    from drawloom.runtime import Buffer as Buffer
    from drawloom.runtime import Device as Device
    from drawloom.runtime import Kernel as Kernel
    from drawloom.runtime import Module as Module
    from drawloom.runtime import Stream as Stream
    from drawloom.runtime import devices as devices
    from drawloom.sass.assemble import assemble as assemble
    from drawloom.sass.cubin import Cubin as Cubin
    from drawloom.shuffle.pipeline import shuffle as shuffle

# Public name -> the module that defines it.
LAZY_NAMES: Final[dict[str, str]] = {
    "Cubin": "drawloom.sass.cubin",
    "assemble": "drawloom.sass.assemble",
    "compile_cuda": "drawloom.cuda",
    "compile_opencl": "drawloom.cuda",
    "optimize": "drawloom.opt",
    "Buffer": "drawloom.runtime",
    "Device": "drawloom.runtime",
    "Kernel": "drawloom.runtime",
    "Module": "drawloom.runtime",
    "Stream": "drawloom.runtime",
    "devices": "drawloom.runtime",
    "load": "drawloom.cuda.loading",
    "Connection": "drawloom.sql",
    "Relation": "drawloom.sql",
    "connect": "drawloom.sql",
}
LAZY_ROOMS: Final = ("cpu", "cuda", "horse", "opt", "ptx", "reference", "runtime", "sass", "shuffle", "sql")


def __getattr__(name: str) -> Any:
    if name in LAZY_NAMES:
        value: Any = getattr(import_module(LAZY_NAMES[name]), name)
    elif name in LAZY_ROOMS:
        value = import_module("drawloom." + name)
    else:
        raise AttributeError(f"module 'drawloom' has no attribute '{name}'")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *LAZY_NAMES, *LAZY_ROOMS})


#: `from drawloom import *` brings what programs are written with, not the rooms.
__all__ = [
    "Buffer",
    "CacheError",
    "Connection",
    "Cubin",
    "DataError",
    "DeadlockError",
    "Device",
    "DeviceError",
    "Error",
    "Kernel",
    "KernelFault",
    "LaunchError",
    "MemoryAccessError",
    "Module",
    "OutOfMemoryError",
    "ParseError",
    "RaceError",
    "Relation",
    "SourceError",
    "Stream",
    "UnsupportedError",
    "VerifyError",
    "__version__",
    "assemble",
    "compile_cuda",
    "compile_opencl",
    "connect",
    "devices",
    "load",
    "optimize",
    "shuffle",
]
