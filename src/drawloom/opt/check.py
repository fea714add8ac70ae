"""The rules of SSA form, checked between passes: every value is written once, before it is read, and edges and phis
fit together."""

from __future__ import annotations

from typing import Final

from drawloom.ptx.cfg import reverse_postorder
from drawloom.ptx.dominators import DominatorTree
from drawloom.ptx.ir import Instruction, Register
from drawloom.ptx.ssa import SsaFunction

#: A place behind every statement of a block.
_END: Final = 1 << 60


def wrong_form(ssa: SsaFunction) -> str:
    """The first rule that a function breaks, in words; "" if it keeps all."""
    return _Check(ssa).message()


class _Check:
    def __init__(self, ssa: SsaFunction) -> None:
        self.ssa = ssa
        self.written: dict[int, tuple[int, int]] = {v.id: (0, -1) for v in ssa.parameters if v is not None}
        self.written.update(dict.fromkeys(ssa.undefined, (0, -1)))
        self.wrong = ""

    def message(self) -> str:
        self.edges()
        if not self.wrong:
            self.definitions()
        if not self.wrong:
            self.uses()
        return self.wrong

    def expect(self, holds: bool, text: str) -> None:
        if not holds and not self.wrong:
            self.wrong = text

    def edges(self) -> None:
        blocks = self.ssa.blocks
        for index, block in enumerate(blocks):
            self.expect(block.id == index, f"block {index} is called {block.id}")
            self.expect(len(set(block.succs)) == len(block.succs), f"block {index} has an edge twice")
            for successor in block.succs:
                self.expect(block.id in blocks[successor].preds, f"edge {index} -> {successor} has no way back")
            for pred in block.preds:
                self.expect(block.id in blocks[pred].succs, f"block {pred} does not lead to its successor {index}")
            for phi in block.phis:
                self.expect(len(phi.arguments) == len(block.preds), f"{phi!r} has not an argument per edge")
            falls = block.terminator is None or block.terminator.guard is not None
            if falls and index + 1 < len(blocks):
                self.expect(index + 1 in block.succs, f"block {index} falls through without an edge")
            if block.terminator is not None:
                self.expect(block.statements[-1] is block.terminator, f"block {index} goes on behind its end")
        self.expect(len(reverse_postorder([b.succs for b in blocks])) == len(blocks), "a block cannot be reached")

    def definitions(self) -> None:
        for block in self.ssa.blocks:
            for phi in block.phis:
                self.define(phi.destination, (block.id, -1))
            for place, statement in enumerate(block.statements):
                if isinstance(statement, Instruction):
                    for register in statement.destinations():
                        self.define(register, (block.id, place))

    def define(self, register: Register, place: tuple[int, int]) -> None:
        self.expect(self.ssa.registers[register.id] is register, f"{register!r} is not a value of the function")
        self.expect(register.id not in self.written, f"{register!r} is written twice")
        self.written[register.id] = place

    def uses(self) -> None:
        blocks = self.ssa.blocks
        self.tree = DominatorTree(0, reverse_postorder([b.succs for b in blocks]), [b.preds for b in blocks])
        for block in blocks:
            for phi in block.phis:
                for argument, pred in zip(phi.arguments, block.preds, strict=True):
                    self.use(argument, pred, _END)
            for place, statement in enumerate(block.statements):
                if isinstance(statement, Instruction):
                    for register in statement.sources():
                        self.use(register, block.id, place)
                    for register in statement.destinations():
                        if register.id in self.ssa.kept:
                            self.expect(statement.guard is not None, f"{register!r} keeps a value without a guard")
                            self.use(self.ssa.kept[register.id], block.id, place)
            for register in block.results:
                self.use(register, block.id, _END)

    def use(self, register: Register, block: int, place: int) -> None:
        where = self.written.get(register.id)
        if where is None:
            self.expect(False, f"{register!r} is read in block {block} and never written")
        elif where[0] == block:
            self.expect(where[1] < place, f"{register!r} is read before it is written")
        else:
            self.expect(self.tree.dominates(where[0], block), f"{register!r} is not written on every way to {block}")
