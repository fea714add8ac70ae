"""The dimensions of a launch: from ints and tuples to (x, y, z), checked against what hardware and kernel take.

The limits are those of compute capability 5.0 to 9.0 (CUDA programming guide, technical specifications), on
every device, so that what runs here runs there.
"""

import operator
from math import prod
from typing import Final

from drawloom.errors import LaunchError
from drawloom.ptx.ir import Function, Module
from drawloom.ptx.launch_bounds import LARGEST_BLOCK, LARGEST_GRID, MOST_THREADS, block_extents

Dim3 = tuple[int, int, int]

#: Static shared memory of a block, in bytes; beyond it a kernel needs dynamic shared memory.
MAX_STATIC_SHARED: Final = 48 * 1024


class Limits:
    """What a kernel itself asks of a launch: `.reqntid`, `.maxntid` (0 when absent), static shared bytes."""

    def __init__(self, module: Module, kernel: Function) -> None:
        from drawloom.ptx.layout import shared_layout

        self.kernel = kernel.name
        self.required: Dim3 | None = None
        self.max_threads = 0
        self.static_shared: int = shared_layout(module, kernel)[1]
        for directive in kernel.directives:
            if directive.name == ".reqntid":
                self.required = block_extents(directive)
            elif directive.name == ".maxntid":
                self.max_threads = prod(block_extents(directive))


def dimensions(value: object, what: str, kernel: str) -> Dim3:
    """An int or up to three of them as (x, y, z). Raises LaunchError."""
    if type(value) is int:
        return (value, 1, 1)
    items = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    if not 1 <= len(items) <= 3:
        raise LaunchError(f"{what}: got {len(items)} dimensions, expected 1 to 3", kernel)
    extents: list[int] = []
    for item in items:
        if isinstance(item, bool):
            raise LaunchError(f"{what}: got {item!r}, expected an integer or up to three", kernel)
        try:
            extents.append(operator.index(item))
        except TypeError:
            raise LaunchError(f"{what}: got {item!r}, expected an integer or up to three", kernel) from None
    extents += [1] * (3 - len(extents))
    return (extents[0], extents[1], extents[2])


def check_launch(limits: Limits, grid: Dim3, block: Dim3, shared_bytes: object, shared_limit: int) -> int:
    """Checks everything about a launch but its arguments; returns the dynamic shared memory in bytes.

    Raises LaunchError.
    """
    kernel = limits.kernel
    for what, extents, most in (("grid", grid, LARGEST_GRID), ("block", block, LARGEST_BLOCK)):
        x, y, z = extents
        if not (1 <= x <= most[0] and 1 <= y <= most[1] and 1 <= z <= most[2]):
            axis, extent, limit = next(e for e in zip("xyz", extents, most) if not 1 <= e[1] <= e[2])
            raise LaunchError(f"{what}.{axis} is {extent}, expected 1..{limit}", kernel)
    threads = block[0] * block[1] * block[2]
    if threads > MOST_THREADS:
        raise LaunchError(f"a block of {block} has {threads} threads, expected at most {MOST_THREADS}", kernel)
    if limits.required is not None and block != limits.required:
        raise LaunchError(f"the block is {block}, the kernel requires {limits.required} (.reqntid)", kernel)
    if limits.max_threads and threads > limits.max_threads:
        raise LaunchError(
            f"a block of {block} has {threads} threads, the kernel takes at most {limits.max_threads} (.maxntid)",
            kernel,
        )
    return check_shared(limits, shared_bytes, shared_limit)


def check_shared(limits: Limits, shared_bytes: object, shared_limit: int) -> int:
    kernel = limits.kernel
    try:
        dynamic = operator.index(shared_bytes)  # type: ignore[arg-type]
    except TypeError:
        raise LaunchError(f"shared_bytes: got {shared_bytes!r}, expected a number of bytes", kernel) from None
    if dynamic < 0:
        raise LaunchError(f"shared_bytes is {dynamic}, expected 0 or more", kernel)
    if limits.static_shared > MAX_STATIC_SHARED:
        raise LaunchError(
            f"{limits.static_shared} bytes of static shared memory, at most {MAX_STATIC_SHARED}; more needs "
            "dynamic shared memory",
            kernel,
        )
    if limits.static_shared + dynamic > shared_limit:
        raise LaunchError(
            f"{limits.static_shared} static + {dynamic} dynamic bytes of shared memory, expected at most "
            f"{shared_limit}",
            kernel,
        )
    return dynamic
