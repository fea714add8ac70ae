"""Where threads of a warp wait for each other: the items of a group run in lockstep, threads of a GPU do not.

    store a, %1;  load %2, a        ->  a[..] = v1;  __syncwarp(warp);  v2 = a[..];

A load waits for stores through the same pointer before it, a store for loads and stores. Pointers that are not written
need nothing, and different pointers do not overlap. The tile of shared memory is treated as one more pointer.
"""

from __future__ import annotations

from typing import Protocol

from drawloom.batch.ir.ir import Access, Kernel, Loop

#: What the tile is called among the pointers.
TILE = ""


class Lines(Protocol):
    """The text that barriers are added to; `depth` is how many loops are around it."""

    kernel: Kernel
    size: int
    depth: int

    def line(self, text: str) -> None: ...


class Hazards:
    """The pointers that threads have read and written since they last waited."""

    def __init__(self, lines: Lines) -> None:
        self.lines = lines
        self.read: set[str] = set()
        self.written: set[str] = set()
        self.outside: list[tuple[set[str], set[str]]] = []

    def before_read(self, name: str) -> None:
        if name in self.written:
            self.wait()
        self.read.add(name)

    def before_write(self, name: str) -> None:
        if name in self.written or name in self.read:
            self.wait()
        self.written.add(name)

    def wait(self) -> None:
        """Let all threads of the warp meet, in a loop those of a group."""
        if self.lines.depth == 0:
            self.lines.line("__syncwarp(warp);")
        elif self.lines.size > 1:
            self.lines.line("__syncwarp(members);")
        self.read.clear()
        self.written.clear()

    def enter_loop(self, loop: Loop) -> None:
        """Wait for threads of other groups, with which a group in a loop does not meet."""
        if self.lines.depth == 0 and (self.read | self.written) & self.touched_in(loop):
            self.wait()
        self.outside.append((set(self.read), set(self.written)))

    def begin_turn(self, loop: Loop) -> None:
        """Wait for the stores and loads of the turn before."""
        if any(op in ("store", "scatter") for op, _ in accesses_in(loop)):
            self.wait()

    def leave_loop(self, loop: Loop) -> None:
        """Add the loop's accesses to those before it: only a group has met in the loop, or nobody in no turn."""
        read, written = self.outside.pop()
        names = self.touched_in(loop)
        self.read |= names | read
        self.written |= names | written

    def touched_in(self, loop: Loop) -> set[str]:
        """Return the pointers that a loop accesses, but for those that the kernel only reads."""
        pointers = {access.pointer for _, access in accesses_in(loop)}
        return {pointer for pointer in pointers if self.lines.kernel.parameter(pointer).is_written}


def accesses_in(loop: Loop) -> list[tuple[str, Access]]:
    """Return the operations of a loop, and of loops in it, that access memory."""
    found = []
    for block in (loop.header, loop.body):
        for value in block.values:
            if isinstance(value.detail, Access):
                found.append((value.op, value.detail))
            elif isinstance(value.detail, Loop):
                found += accesses_in(value.detail)
    return found
