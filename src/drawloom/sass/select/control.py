"""Selection of branches, exits and barriers."""

from __future__ import annotations

from drawloom.errors import UnsupportedError
from drawloom.ptx.ir import Instruction
from drawloom.sass.select.operands import OTHER, Src, imm, label
from drawloom.sass.select.selector import HANDLERS, Selector


def branch(s: Selector, i: Instruction) -> None:
    """``bra``: nothing where control falls through anyway is left to the layout of the blocks."""
    block = s.cfg.blocks[s.block]
    s.emit("BRA", [label(block.taken)])


def leave(s: Selector, i: Instruction) -> None:
    """``ret`` and ``exit`` of a kernel: both end the thread."""
    s.emit("EXIT", [])


def trap(s: Selector, i: Instruction) -> None:
    """``trap``: the breakpoint trap, as the driver's assembler makes it."""
    s.emit("BPT.TRAP", [imm(1)])


def breakpoint(s: Selector, i: Instruction) -> None:
    """``brkpt``."""
    s.emit("BPT.DRAIN", [imm(1)])


def barrier(s: Selector, i: Instruction) -> None:
    """``bar`` and ``barrier``: sync, arrive and red; number and count may be registers."""
    opcode = i.opcode
    operands = i.operands[1:] if opcode.has_destination else i.operands
    which = s.number_of(operands[0])
    count = s.number_of(operands[1]) if len(operands) > 1 else None
    if which is None or (len(operands) > 1 and count is None):
        raise UnsupportedError(f"'{opcode.text}' with registers is not supported by the assembler yet")
    s.barriers = max(s.barriers, which + 1)
    places = [Src("I", [which], OTHER)]
    if count is not None:
        places.append(Src("I", [count], OTHER))
    if opcode.action == "arrive":
        s.emit("BAR.ARV", places)
    elif opcode.action == "sync":
        s.emit("BAR.SYNC.DEFER_BLOCKING", places)
    else:
        raise UnsupportedError(f"'{opcode.text}' is not supported by the assembler yet")


HANDLERS.update({"bra": branch, "ret": leave, "exit": leave, "trap": trap, "brkpt": breakpoint})
HANDLERS.update({"bar": barrier, "barrier": barrier})
