"""A PTX module to what a GPU's driver loads: a cubin of ours for that GPU, or the PTX for the driver's own compiler.

Which of the two is the user's choice and never changes by itself: what our assembler refuses is an error that names
the other choice.
"""

import os
from typing import TYPE_CHECKING, Final

from drawloom.build_info import VERSION, fingerprint
from drawloom.errors import DataError, Error, ParseError, UnsupportedError, VerifyError
from drawloom.ptx.ir import Module
from drawloom.runtime.cache import cache_key, kernel_store
from drawloom.runtime.machine import Device
from drawloom.runtime.optimiser import Optimiser, chosen_level

if TYPE_CHECKING:
    from drawloom.runtime.module import Kernel

DRAWLOOM: Final = "drawloom"
DRIVER: Final = "driver"
OTHER_WAY: Final = "assembler='driver' (or DRAWLOOM_ASSEMBLER=driver) has the driver compile it"

#: The architecture that machine code is shown for where there is no GPU and none is named.
SHOWN_ARCH: Final = "sm_90"

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


def kept_image(optimiser: Optimiser, device: Device, assembler: str) -> tuple[bytes, bool]:
    """What the driver of a GPU is given for a module, and whether the kernel cache had it. Raises as `image_of`."""
    store = kernel_store()
    if store is None:
        return image_of(optimiser.whole(), device, assembler), False
    made_by = [VERSION, fingerprint("sass"), assembler, f"{device.compute}", optimiser.key]
    key = cache_key(*made_by, str(optimiser.module))
    image = store.get(key)
    if image is not None:
        return image, True
    image = image_of(optimiser.whole(), device, assembler)
    store.put(key, image)
    return image, False


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


class Resources:
    """What a thread or block of a kernel takes: ``registers`` of 32 bits, bytes of static ``shared`` memory, bytes of
    ``local`` memory (the stack) and of registers ``spilled`` to it. None where there is no machine code of a GPU."""

    def __init__(self, shared: int, registers: int | None = None, local: int | None = None) -> None:
        self.shared = shared
        self.registers = registers
        self.local = local
        self.spilled: int | None = None


def resources_of(kernel: "Kernel") -> Resources:
    """What a loaded kernel takes on its device; on a GPU as our assembler has it, whoever made the code that runs."""
    device = kernel.module.device
    arch = arch_for(device.compute) if device.kind == "cuda" else ""
    if not arch:
        return Resources(kernel.limits.static_shared)
    from drawloom.sass.assemble import assemble

    try:
        made = assemble(kernel.module.optimiser.whole(), arch).kernels[kernel.name]
    except Error:  # a kernel that the driver's compiler was chosen for
        return Resources(kernel.limits.static_shared)
    found = Resources(made.shared, made.registers, made.stack)
    found.spilled = (made.spill_stores or 0) + (made.spill_loads or 0)
    return found


def machine_code(module: Module, device: Device, arch: str = "") -> str:
    """The machine code that loading a module makes, as `drawloom disasm` prints it: for ``arch``, else for the device
    where it is a GPU that we make code for, else for ``SHOWN_ARCH``. Raises what assembling raises."""
    from drawloom.sass.assemble import assemble

    own = arch_for(device.compute) if device.kind == "cuda" else ""
    return assemble(Optimiser(module, chosen_level(None)).whole(), arch or own or SHOWN_ARCH).disassembly()
