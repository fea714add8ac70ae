"""PTX to LLVM: a warp is a vector of lanes, a block a set of resumable warps, a grid a queue of blocks.

Names are loaded when they are first used: code that is compiled ahead of time needs nothing of launches, nor NumPy.
"""

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from drawloom.cpu.program import KernelStore as KernelStore
    from drawloom.cpu.program import LaunchStats as LaunchStats
    from drawloom.cpu.program import Program as Program
    from drawloom.cpu.program import available_cores as available_cores

#: What ``program.py`` defines for others.
LAZY_NAMES: Final = ("KernelStore", "LaunchStats", "Program", "available_cores")


def __getattr__(name: str) -> object:
    if name not in LAZY_NAMES:
        raise AttributeError(f"module 'drawloom.cpu' has no attribute '{name}'")
    from drawloom.cpu import program

    value: object = getattr(program, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *LAZY_NAMES})
