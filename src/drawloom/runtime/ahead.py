"""A PTX module to what executables embed to run it without Python: an object file of CPU code, and cubins."""

from typing import Final

from drawloom.errors import UnsupportedError
from drawloom.ptx.ir import Module
from drawloom.runtime.assembler import arch_for
from drawloom.runtime.geometry import Limits

#: The level of x86-64 that CPU code asks for unless told otherwise.
LEVEL: Final = "x86-64-v3"
NATIVE: Final = "native"
#: Without code for CPUs: a program whose kernels run on GPUs alone.
NO_CODE: Final = "none"


def optimised(module: Module) -> Module:
    """The module that executables embed code of, for CPUs and GPUs."""
    from drawloom.opt import optimize

    return optimize(module)


def cpu_objects(
    module: Module, key: str, level: str = LEVEL, checked: Module | None = None, hidden: str = ""
) -> list[bytes]:
    """Object files of a module's kernels and variables for CPUs of a level of x86-64: ``NATIVE`` is that of this
    machine, and with ``NO_CODE`` there are tables alone.

    A program that they are linked to finds them under ``key``. ``checked`` is the module that code which checks
    accesses is made of, None for no such code; errors do not name lines of files in the folder ``hidden``. Raises
    UnsupportedError.
    """
    from drawloom.cpu.ahead import Bounds, module_objects

    bounds = {}
    for kernel in module.kernels:
        limits = Limits(module, kernel)
        bounds[kernel.name] = Bounds(limits.required or (0, 0, 0), limits.max_threads)
    return module_objects(module, checked, key, level, bounds, hidden)


def checked_objects(module: Module, level: str, hidden: str = "") -> list[bytes]:
    """Object files of a shared library with the code of a module's kernels that checks accesses, for a program that was
    built without it. Raises UnsupportedError."""
    from drawloom.cpu.ahead import checked_objects

    return checked_objects(module, level, hidden)


def target_key(level: str) -> str:
    """What code for a level of x86-64 depends on beside its source."""
    if level != NATIVE:
        return level
    from drawloom.cpu.engine import Host

    return Host().key


def interface() -> str:
    """What names the records and numbers that CPU code shares with the runtime library."""
    from drawloom.cpu import ahead

    return ahead.interface()


def cpu_support(level: str = LEVEL) -> bytes:
    """The object file of what all kernels share."""
    from drawloom.cpu.ahead import support_object

    return support_object(level)


def library_header() -> str:
    """The C++ header that a runtime library is compiled with: the records that object files hold."""
    from drawloom.cpu import ahead

    return ahead.library_header()


def cubin(module: Module, arch: str) -> tuple[bytes, str]:
    """Machine code of our assembler for an architecture, and what its kernels take of registers and memory.

    Raises UnsupportedError where it makes none.
    """
    from drawloom.sass.assemble import assemble

    number = int("".join([c for c in arch if c.isdigit()]))
    if not arch_for((number // 10, number % 10)):
        raise UnsupportedError(f"our assembler makes no code for {arch}")
    made = assemble(module, arch)
    return bytes(made), made.report()
