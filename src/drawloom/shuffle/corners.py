"""Loads under a guard that only replace a value which is there already: by moves from a shuffle, or from another load.

Such are the corner cases that the synthesis leaves behind its shuffles and copies (seed 003, listing 6). There is
nothing to gain from them, so that a module that was rewritten once comes out of a second run as it is.
"""

from __future__ import annotations

from typing import Final

from drawloom.ptx.cfg import Cfg
from drawloom.ptx.ir import Instruction, Register

#: What moves a value, whole or in words, and what makes words of a narrow one (``synthesis.py``).
_MOVES: Final = frozenset("mov cvt shr".split())
_MOST_MOVES: Final = 6


class Corners:
    """Answers for the loads of one function."""

    def __init__(self, cfg: Cfg) -> None:
        self.cfg = cfg
        #: By register: where moves, shuffles and loads write it; built when it is asked for.
        self._writers: dict[int, list[int]] = {}

    def replaced(self, at: int) -> tuple[bool, frozenset[int]]:
        """Whether what the guarded load ``function.body[at]`` replaces comes from a shuffle, and from which loads it
        comes; nothing of it where anything else has written the register last."""
        if not self._writers:
            self._look()
        load = self._instruction(at)
        found: set[int] = set()
        for register in load.destinations():
            last = self._last(register, at)
            if last < 0 or self._instruction(last).name == "ld":
                return False, frozenset()
            self._follow(register, at, 0, found)
        loads = frozenset([k for k in found if self._instruction(k).name == "ld"])
        return len(loads) < len(found), loads

    def _look(self) -> None:
        body = self.cfg.function.body
        for block in self.cfg.blocks:
            for at in range(block.first, block.last + 1):
                statement = body[at]
                if isinstance(statement, Instruction):
                    for register in statement.destinations():
                        self._writers.setdefault(register.id, []).append(at)

    def _instruction(self, at: int) -> Instruction:
        statement = self.cfg.function.body[at]
        assert isinstance(statement, Instruction)
        return statement

    def _last(self, register: Register, before: int) -> int:
        """The last writer of a register before a place, in its block; -1 if there is none."""
        block = self.cfg.block_at(before)
        for at in reversed(self._writers.get(register.id, [])):
            if at < before:
                return at if self.cfg.block_at(at) == block else -1
        return -1

    def _follow(self, register: Register, before: int, moves: int, found: set[int]) -> None:
        """Add the shuffles and loads that a register's value comes from by moves."""
        last = self._last(register, before)
        for at in [last] if last >= 0 else self._writers.get(register.id, []):
            writer = self._instruction(at)
            if writer.name in ("ld", "shfl"):
                found.add(at)
            elif writer.name in _MOVES and moves < _MOST_MOVES:
                for source in writer.sources():
                    if source is not writer.guard:
                        self._follow(source, at, moves + 1, found)
