"""A PTX module to what a GPU's driver loads: a cubin of ours for that GPU, or the PTX for the driver's own compiler.

Which of the two is the user's choice and never changes by itself: what our assembler refuses is an error that names
the other choice.
"""

import os
from typing import Final

from drawloom.errors import DataError, Error, ParseError, UnsupportedError, VerifyError
from drawloom.ptx.ir import Module
from drawloom.runtime.machine import Device

DRAWLOOM: Final = "drawloom"
DRIVER: Final = "driver"
OTHER_WAY: Final = "assembler='driver' (or DRAWLOOM_ASSEMBLER=driver) has the driver compile it"

# Machine code runs on its own compute capability and on later ones of the same major number, except on or from the
# embedded ones (CUDA C++ Programming Guide, "Binary Compatibility").
_EMBEDDED: Final = ((5, 3), (6, 2), (7, 2), (8, 7))


def chosen_assembler(name: str | None) -> str:
    """The assembler of that name; None takes DRAWLOOM_ASSEMBLER, else our own. Raises DataError."""
    chosen = name or os.environ.get("DRAWLOOM_ASSEMBLER") or DRAWLOOM
    if chosen not in (DRAWLOOM, DRIVER):
        raise DataError(f"assembler={chosen}: expected {DRAWLOOM} or {DRIVER}")
    return chosen


def arch_for(compute: tuple[int, int]) -> str:
    """The architecture whose machine code a GPU of this compute capability runs, such as "sm_86"; "" for none."""
    from drawloom.sass.assemble import SELECTED

    major, minor = compute
    if compute in _EMBEDDED:
        return ""
    found = [number for number in SELECTED if number // 10 == major and number % 10 <= minor]
    return f"sm_{max(found)}" if found else ""


def image_of(module: Module, device: Device, assembler: str) -> bytes:
    """What the driver of a GPU is given. Raises UnsupportedError where our assembler cannot make it."""
    if assembler == DRIVER:
        return str(module).encode() + b"\0"
    from drawloom.sass.assemble import assemble

    arch = arch_for(device.compute)
    if not arch:
        capability = f"{device.compute[0]}.{device.compute[1]}"
        raise UnsupportedError(
            f"{device.name}: our assembler makes no code for compute capability {capability}; {OTHER_WAY}"
        )
    if arch == "sm_90" and module.arch == "sm_90a":
        arch = "sm_90a"
    try:
        return bytes(assemble(module, arch))
    except (ParseError, VerifyError):
        raise
    except Error as refusal:
        raise UnsupportedError(
            f"{device.name}: our assembler refuses the PTX; {OTHER_WAY}", [str(refusal)]
        ) from refusal
