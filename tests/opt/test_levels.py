"""What -O2 leaves of the example of Wu and others, "gpucc" (CGO 2016), figures 5a and 6, as clang compiles it at -O0:
`tests/golden/opt/levels` holds both programs and what comes out of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from drawloom.opt import optimize
from drawloom.ptx import Module, parse
from tests.reference.harness import launch

FOLDER = Path(__file__).resolve().parents[1] / "golden" / "opt" / "levels"
CUT = "\n// after -O2\n"


def before(name: str) -> str:
    return (FOLDER / f"{name}.txt").read_text(encoding="utf-8").partition(CUT)[0].rstrip() + "\n"


def instructions(module: Module) -> int:
    return sum(len(f.instructions()) for f in module.functions.values() if f.has_body)


def result(module: Module) -> np.ndarray:
    matrix, out = np.arange(64, dtype=np.float32), np.zeros(1, np.float32)
    launch(module, "figure6", 1, 1, matrix, 2, 3, 8, out)
    return out


@pytest.mark.parametrize(("name", "counts"), [("figure5a", (134, 31)), ("figure6", (57, 26))])
def test_one_run_leaves_what_a_second_leaves(
    name: str, counts: tuple[int, int], golden: Callable[[str, str], None]
) -> None:
    text = before(name)
    module = parse(text)
    once = optimize(module, 2, check=True)
    twice = optimize(once, 2, check=True)
    golden(f"opt/levels/{name}.txt", f"{text}{CUT}{once}")
    assert instructions(twice) == instructions(once)
    assert (instructions(module), instructions(once)) == counts
    tile = np.arange(64, dtype=np.float32).reshape(8, 8)[2:5, 3:6]
    assert result(module) == result(once) == tile.sum()


def test_nothing_of_the_stack_stays() -> None:
    """Parameters are generic pointers here: what they lead to is not the local memory that they were stored to."""
    for name in ("figure5a", "figure6"):
        made = optimize(before(name), 2).functions["figure6"]
        assert not [i for i in made.instructions() if i.opcode.space == "local"]
