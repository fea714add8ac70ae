"""Kernels with launches, compiled by clang and nvcc, run on the reference: how many instructions their threads execute.

    measured ::= Subject, compiler, Module -> Module: executed instructions, executed accesses without a space

Conversions of addresses between spaces are not counted: a global address is its own generic one, so that `cvta` is no
machine instruction, and code with generic accesses has none of them. What comes out of a changed module is compared
with what its test expects, or with what came out before, byte by byte.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np

from drawloom.ptx import Module, parse
from drawloom.ptx.ir import Instruction
from drawloom.reference.decode import Decoder
from drawloom.reference.instructions import BUILDERS
from drawloom.reference.threads import Handler, Registers, Thread
from tests.reference.harness import launch
from tests.reference.rerun import Case, cases
from tests.sass.test_meaning_kernels import LAUNCHES, floats, zeros

ROOT: Final = Path(__file__).resolve().parents[2]
SOURCES: Final = ROOT / "tests" / "golden" / "corpus" / "src"
KERNELS: Final = ROOT / "benchmarks" / "kernels"
EXAMPLE: Final = ROOT / "benchmarks" / "cuda" / "running_example.cu"
#: Sources that bring what our headers have, or need what only nvcc has; and a test that prints.
LEFT_OUT: Final = frozenset("barriers pipeline printf_assert".split())
Change = Callable[[Module], Module]


class Tally:
    """What the reference executed since the last ``take``, by kind."""

    def __init__(self) -> None:
        self.conversions = 0
        self.generic = 0
        BUILDERS["cvta"] = self._counting(BUILDERS["cvta"], self._conversion)
        for name in ("ld", "st", "atom", "red"):
            BUILDERS[name] = self._counting(BUILDERS[name], self._access, True)

    def _conversion(self) -> None:
        self.conversions += 1

    def _access(self) -> None:
        self.generic += 1

    def _counting(
        self, build: Callable[[Decoder, Instruction], Handler], count: Callable[[], None], generic: bool = False
    ) -> Callable[[Decoder, Instruction], Handler]:
        def build_counting(decoder: Decoder, instruction: Instruction) -> Handler:
            handler = build(decoder, instruction)
            if generic and instruction.opcode.space:
                return handler

            def step(registers: Registers, thread: Thread) -> int | None:
                count()
                return handler(registers, thread)

            return step

        return build_counting

    def take(self, executed: int) -> tuple[int, int]:
        """(executed instructions without conversions, generic accesses) of a run that has just ended."""
        found = executed - self.conversions, self.generic
        self.conversions = self.generic = 0
        return found


class Subject:
    """A source with a launch. ``run`` gives the executed instructions of a text after a change."""

    def __init__(self, name: str, source: Path) -> None:
        self.name = name
        self.source = source

    def run(self, text: Path, change: Change) -> int:
        raise NotImplementedError


class CorpusSubject(Subject):
    def __init__(self, case: Case) -> None:
        super().__init__(case.name, SOURCES / f"{case.source}.cu")
        self.case = case

    def run(self, text: Path, change: Change) -> int:
        return self.case.run(text, change)


class KernelSubject(Subject):
    def __init__(self, source: Path, kernel: str, given: tuple[Any, ...]) -> None:
        super().__init__(kernel, source)
        self.grid, self.block, *self.arguments = given
        self.expected: dict[Path, list[bytes]] = {}

    def run(self, text: Path, change: Change) -> int:
        arguments = [a.copy() if isinstance(a, np.ndarray) else a for a in self.arguments]
        executed: list[int] = []
        module = change(parse(text.read_text(encoding="utf-8"), text.name))
        launch(module, self.name, self.grid, self.block, *arguments, executed=executed)
        found = [a.tobytes() for a in arguments if isinstance(a, np.ndarray)]
        assert self.expected.setdefault(text, found) == found, f"{text.name}: {self.name} gives something else"
        return sum(executed)


def subjects() -> dict[str, list[Subject]]:
    """The running example of the paper, the tests of the corpus, and the kernels of the other benchmarks."""
    tile = floats(64), 1, 2, 8, zeros(1)
    launches = {**LAUNCHES, "nbody": (1, 256, floats(40, 4), zeros(40, 4), 40, 0.01)}
    return {
        "running example": [KernelSubject(EXAMPLE, "running_example", (1, 1, *tile))],
        "corpus": [CorpusSubject(case) for case in cases() if case.source not in LEFT_OUT],
        "benchmarks/kernels": [KernelSubject(KERNELS / f"{k}.cu", k, given) for k, given in launches.items()],
    }
