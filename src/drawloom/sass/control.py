"""The 21 scheduling bits of an instruction: stall count, yield, barriers, wait mask and reuse flags."""

from __future__ import annotations

from typing import Final

NO_BARRIER: Final = 7
# Where the yield bit (0: the scheduler may switch) and the reuse flags begin.
YIELD_SHIFT: Final = 4
REUSE_SHIFT: Final = 17
CONTROL_BITS: Final = 21
CONTROL_MASK: Final = (1 << CONTROL_BITS) - 1
# Stall 1, no yield to another warp, no barriers, waits for nothing.
DEFAULT_CONTROL: Final = 1 | 1 << 4 | NO_BARRIER << 5 | NO_BARRIER << 8


def pack_control(
    stall: int = 1,
    switch: bool = False,
    write_barrier: int = NO_BARRIER,
    read_barrier: int = NO_BARRIER,
    wait_mask: int = 0,
    reuse: int = 0,
) -> int:
    """The control bits. `stall` 0-15 cycles; `switch` lets the scheduler go to another warp; barriers 0-5."""
    return stall | (0 if switch else 1 << 4) | write_barrier << 5 | read_barrier << 8 | wait_mask << 11 | reuse << 17


def stall(control: int) -> int:
    return control & 15


def switches(control: int) -> bool:
    """Whether the scheduler may go to another warp; the yield bit is then 0."""
    return not control >> YIELD_SHIFT & 1


def write_barrier(control: int) -> int:
    return control >> 5 & 7


def read_barrier(control: int) -> int:
    return control >> 8 & 7


def wait_mask(control: int) -> int:
    return control >> 11 & 63


def reuse(control: int) -> int:
    return control >> REUSE_SHIFT & 15


def control_text(control: int) -> str:
    """`B0-2---:R-:W1:Y:S04`: barriers waited for, read barrier, write barrier, yield, stall."""
    waits = "".join(str(i) if wait_mask(control) >> i & 1 else "-" for i in range(6))
    read, write = read_barrier(control), write_barrier(control)
    read_text = "-" if read == NO_BARRIER else str(read)
    write_text = "-" if write == NO_BARRIER else str(write)
    return f"B{waits}:R{read_text}:W{write_text}:{'Y' if switches(control) else '-'}:S{stall(control):02d}"
