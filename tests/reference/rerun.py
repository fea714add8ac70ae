"""The tests of the corpus once more, over what somebody makes of each module: a pass, or another compiler.

Case ::= a test of ``test_corpus``, the source that it is of
run ::= PTX file, Module -> Module; the test asserts what comes out, and the executed instructions are counted
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np

from drawloom.ptx import Module, parse
from tests.reference import test_corpus
from tests.reference.harness import launch

Change = Callable[[Module], Module]


class Case:
    """A test of the corpus. ``paths`` are the compilations of its source; it takes others of that, too."""

    def __init__(self, name: str, test: FunctionType, paths: list[Path]) -> None:
        self.name = name
        self.test = test
        self.paths = paths
        self.source = paths[0].name.partition(".")[0]

    def run(self, path: Path, change: Change) -> int:
        """Run the test over ``change`` of the module; the instructions that its launches executed. Raises what the
        test asserts, and whatever the reference finds."""
        executed: list[int] = []
        changed: list[Module] = []

        def launch_changed(source: Path, *arguments: Any, **options: Any) -> tuple[np.ndarray, dict[str, int]]:
            if not changed:
                changed.append(change(parse(source.read_text(encoding="utf-8"), source.name)))
            return launch(changed[0], *arguments, executed=executed, **options)

        code, scope = self.test.__code__, {**vars(test_corpus), "launch": launch_changed}
        FunctionType(code, scope, self.test.__name__)(path)
        return sum(executed)


def cases() -> list[Case]:
    """Every test of the corpus."""
    found = []
    for name, test in vars(test_corpus).items():
        for mark in getattr(test, "pytestmark", []):
            if mark.name == "parametrize":
                found.append(Case(name.removeprefix("test_"), test, list(mark.args[1])))
    return found
