"""The calling convention of device functions, as ptxas 12.9 and 13.0 follow it: from a list of parameters to the
registers and places of the stack that carry them.

Read off their code for functions with all kinds of parameters and with more live values than there are registers.
A value stands in neighbouring registers of R4 to R15, aligned as in memory; each takes the first gap that it fits
into, whatever came before it. What fits nowhere stands on the stack, from R1 of the caller on. Results stand in the
same registers; one that is larger is written to local memory at an address that the caller passes before all
parameters. R20 and R21 have the return address, R1 is the stack pointer.
"""

from __future__ import annotations

from typing import Final

from drawloom.ptx.ir import Variable
from drawloom.ptx.layout import align_up

#: Registers of arguments and results: the first one and how many there are.
FIRST: Final = 4
COUNT: Final = 12
#: The pair with the return address.
RETURN_ADDRESS: Final = 20
#: Places from here on are bytes of the stack.
STACK: Final = 1024
#: Convergence barriers from this one on keep what they have over a call.
SAVED_BARRIER: Final = 6
#: Registers that a kernel with calls has at least: those up to the return address.
LEAST_REGISTERS: Final = RETURN_ADDRESS + 2


def _saved() -> int:
    """R2, R16 to R31, and from there on the upper four of every eight."""
    mask = 1 << 2
    for register in range(16, 255):
        if register < 32 or register & 4:
            mask |= 1 << register
    return mask


#: General registers that a function leaves as they were, and those that it may change, as bits.
SAVED: Final = _saved()
#: Those that also a function leaves whose callers all know its code: its frame pointer and its return address.
OWN: Final = 1 << 2 | 3 << RETURN_ADDRESS
SCRATCH: Final = ((1 << 255) - 1) & ~SAVED & ~(1 << 1)
#: What is different behind a call: these and the return address.
CLOBBERED: Final = SCRATCH | 3 << RETURN_ADDRESS


class Convention:
    """Where the parameters and the results of a function stand: `places[n]` is a register below `STACK`, else `STACK`
    and an offset on the stack. `hidden[n]` is where the address of result n is passed, -1 if it comes in registers.
    `stack_bytes` is what the caller keeps free at its stack pointer."""

    def __init__(self, params: list[Variable], returns: list[Variable]) -> None:
        result = _Allocator()
        self.results: list[int] = []
        self.hidden: list[int] = []
        arguments = _Allocator()
        for variable in returns:
            place = result.registers(variable.size, variable.alignment)
            self.results.append(place)
            self.hidden.append(-1 if place >= 0 else arguments.place(4, 4))
        self.places = [arguments.place(v.size, v.alignment) for v in params]
        self.stack_bytes = arguments.stack_bytes


class _Allocator:
    """First fit in the registers, then the stack."""

    def __init__(self) -> None:
        self.taken = 0
        self.stack_bytes = 0

    def registers(self, size: int, alignment: int) -> int:
        """The first register for so many bytes, -1 if there is no room."""
        words = max(1, (size + 3) // 4)
        step = min(4, max(1, alignment // 4))
        mask = (1 << words) - 1
        for first in range(FIRST, FIRST + COUNT - words + 1, step):
            if not self.taken >> first & mask:
                self.taken |= mask << first
                return first
        return -1

    def place(self, size: int, alignment: int) -> int:
        found = self.registers(size, alignment)
        if found >= 0:
            return found
        offset = align_up(self.stack_bytes, max(4, alignment))
        self.stack_bytes = offset + align_up(size, 4)
        return STACK + offset
