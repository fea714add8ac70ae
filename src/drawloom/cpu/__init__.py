"""PTX to LLVM: a warp is a vector of lanes, a block a set of resumable warps, a grid a queue of blocks."""

from drawloom.cpu.program import KernelStore, LaunchStats, Program, available_cores

__all__ = ["KernelStore", "LaunchStats", "Program", "available_cores"]
