"""`drawloom.load`: a path of CUDA C++ or OpenCL C, or what `drawloom.runtime.load` takes, to kernels on a device."""

import os
from typing import TYPE_CHECKING, Final

from drawloom.runtime.machine import Device
from drawloom.runtime.machine import device as find_device
from drawloom.runtime.module import Module, Source
from drawloom.runtime.module import load as load_ptx

if TYPE_CHECKING:
    from drawloom.cuda.compiler import Translated

SUFFIXES: Final = (".cu", ".cl")


def load(
    source: Source,
    device: str | Device | None = None,
    check: str | None = None,
    assembler: str | None = None,
    level: int | None = None,
    shuffle: str = "none",
    reinterpret: bool = False,
) -> Module:
    """Makes the kernels of a module ready on a device.

    `source` is the path of a `.cu` or `.cl` file, which is compiled with its source lines for the device's
    architecture; or what `drawloom.runtime.load` takes: the path of a `.ptx` file, PTX text, a `drawloom.ptx.Module`.
    The other arguments and the errors are those of `drawloom.runtime.load`; and, of a `.cu` or `.cl` file, those of
    `compile_cuda`.
    """
    if not (isinstance(source, (str, os.PathLike)) and is_source(os.fspath(source))):
        return load_ptx(source, device, check, assembler, level, shuffle, reinterpret)
    from drawloom.cuda.compiler import verified

    path, where = os.fspath(source), find_device(device)
    module = load_ptx(verified(translate_for(path, where)), where, check, assembler, level, shuffle, reinterpret)
    module.source_names = lambda: source_names(path, where)
    return module


def is_source(path: str) -> bool:
    """Whether clang is to compile what is named so."""
    return path.endswith(SUFFIXES) and "\n" not in path


def source_names(path: str, device: Device) -> dict[str, list[str]]:
    """The names of the parameters of a source's functions, by symbol, as the source is compiled for the device."""
    from drawloom.cuda.compiler import Options
    from drawloom.cuda.parameter_names import parameter_names

    return parameter_names(path, architecture(device), Options(line_info=True))  # as it was compiled


def architecture(device: Device) -> str:
    """The `sm_NN` of the GPU that is to run a source; a current one for other devices."""
    from drawloom.cuda.compiler import DEFAULT_ARCH

    major, minor = device.compute
    return f"sm_{major}{minor}" if major else DEFAULT_ARCH


def translate_for(path: str, device: Device) -> "Translated":
    """The PTX of a source for the device that is to run it."""
    from drawloom.cuda.compiler import Options, translate_cuda, translate_opencl

    translate = translate_opencl if path.endswith(".cl") else translate_cuda
    return translate(path, architecture(device), Options(line_info=True))
