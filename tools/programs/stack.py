"""Statements on the stack: memory of a size and an alignment of the thread's own, around other statements."""

from __future__ import annotations

from typing import Final

from drawloom.ptx.types import TYPES
from tools.programs.cooperation import Cooperation
from tools.programs.program import DECLARED

#: Bytes that every allocation has at least: what is stored there is read again behind the statements in between.
LEAST_BYTES: Final = 16


class StackStatements(Cooperation):
    """``alloca`` in a function whose ``uses_stack`` is set."""

    def _stack_scope(self, depth: int, uniform: bool = False) -> None:
        """A value in fresh memory, statements, the value again; then the memory is freed, or not until the end."""
        pick = self.random
        kind = pick.choice(["u64", "u64", "u32"])
        top, pointer = self.new(kind), self.new(kind)
        self.emit(f"stacksave.{kind} {top};")
        alignment = self._allocate(kind, pointer)
        cls = pick.choice([c for c in ("s", "r", "l") if c in self.registers.pools])
        size = TYPES[DECLARED[cls]].bytes
        offset = pick.randrange(0, LEAST_BYTES, size) if alignment >= size else 0
        if alignment < size:
            cls, size = "r", 1
        at = f"[{pointer}+{offset}]"
        space = ".local"
        if kind == "u64" and pick.random() < 0.4:
            self.emit(f"cvta.local.u64 {pointer}, {pointer};")
            space = ""
        self.emit(f"st{space}.b{8 * size} {at}, {self.reg(cls)};")
        self.statements(depth + 1, uniform)
        self.emit(f"ld{space}.{pick.choice('us')}{8 * size} {self.reg(cls)}, {at};")
        outermost = depth == (0 if self.in_kernel else 1)
        if not outermost or pick.random() < 0.6:
            self.emit(f"stackrestore.{kind} {top};")
            if space and pick.random() < 0.5:
                self._same_again(kind, alignment)

    def _stack_scope_together(self, depth: int) -> None:
        self._stack_scope(depth, uniform=True)

    def _allocate(self, kind: str, pointer: str) -> int:
        """Memory of a size that differs between threads, at times more of it in some threads; its alignment."""
        pick = self.random
        alignment = pick.choice([0, 0, 1, 2, 4, 8, 16, 32, 128])
        suffix = f", {alignment}" if alignment else ""
        size = self.new("u32")
        self.emit(f"and.b32 {size}, {self.reg('r')}, {pick.choice([0, 3, 12, 63])};")
        self.emit(f"add.u32 {size}, {size}, {LEAST_BYTES};")
        if kind == "u64":
            wide = self.new("u64")
            self.emit(f"cvt.u64.u32 {wide}, {size};")
            size = wide
        if pick.random() < 0.3:
            size = str(pick.choice([LEAST_BYTES, 24, 100]))
        self.emit(f"alloca.{kind} {pointer}, {size}{suffix};")
        if pick.random() < 0.3:
            self.emit(f"@{self.reg('p')} alloca.{kind} {pointer}, {size}{suffix};")
        rest, wrong = self.new(kind), self.new("pred")
        self.emit(f"and.b{kind[1:]} {rest}, {pointer}, {(alignment or 8) - 1};")
        self.emit(f"setp.ne.{kind} {wrong}, {rest}, 0;")
        self.emit(f"@{wrong} not.b32 {self.reg('r')}, 0;")
        return alignment or 8

    def _same_again(self, kind: str, alignment: int) -> None:
        """What was freed is given again."""
        top, first, second, same = self.new(kind), self.new(kind), self.new(kind), self.new("pred")
        self.emit(f"stacksave.{kind} {top};")
        self.emit(f"alloca.{kind} {first}, 40, {alignment};")
        self.emit(f"stackrestore.{kind} {top};")
        self.emit(f"alloca.{kind} {second}, 40, {alignment};")
        self.emit(f"stackrestore.{kind} {top};")
        self.emit(f"setp.eq.{kind} {same}, {first}, {second};")
        self.emit(f"@{same} add.u32 {self.reg('r')}, {self.reg('r')}, 1;")
