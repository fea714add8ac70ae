"""Selection of branches and exits."""

from __future__ import annotations

from drawloom.ptx.ir import Instruction
from drawloom.sass.select.operands import imm, label
from drawloom.sass.select.selector import HANDLERS, Selector


def branch(s: Selector, i: Instruction) -> None:
    """``bra``: nothing where control falls through anyway is left to the layout of the blocks."""
    block = s.cfg.blocks[s.block]
    s.emit("BRA", [label(block.taken)])


def leave(s: Selector, i: Instruction) -> None:
    """``exit``."""
    s.emit("EXIT", [])


def trap(s: Selector, i: Instruction) -> None:
    """``trap`` and ``brkpt``: the breakpoint trap, as the driver's assembler makes it of both."""
    s.emit("BPT.TRAP", [imm(1)])


HANDLERS.update({"bra": branch, "exit": leave, "trap": trap, "brkpt": trap})
