"""A kernel on the PTX reference and, assembled by us, on the interpreter of machine code: the same bytes come out."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from drawloom.ptx import parse
from drawloom.sass.assemble import assemble
from drawloom.sass.interpreter import run
from tests.reference.harness import launch, parameter_block

MAX_STEPS = 400_000


def lowered(text: str, target: int) -> str:
    """The text for a target."""
    return re.sub(r"(?m)^\.target\s+sm_\w+", f".target sm_{target}", text)


def three(extent: int | tuple[int, ...]) -> tuple[int, int, int]:
    x, y, z = (*((extent,) if isinstance(extent, int) else extent), 1, 1)[:3]
    return x, y, z


def agree(
    source: str | Path, kernel: str, grid: int | tuple[int, ...], block: int | tuple[int, ...], *arguments: Any,
    target: int = 90, shared: int = 0, reverse: bool = False, **options: Any,
) -> list[np.ndarray]:  # fmt: skip
    """The arrays among the arguments as the reference leaves them; asserts that machine code leaves them alike.

    ``options`` are ``assemble``'s.
    """
    text = source.read_text() if isinstance(source, Path) else source
    expected = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    launch(text, kernel, grid, block, *expected, shared=shared)
    got = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    text = lowered(text, target)
    params, buffers = parameter_block(parse(text), kernel, got)
    run(
        assemble(text, f"sm_{target}", **options), kernel, three(grid), three(block), params, shared_bytes=shared,
        buffers=buffers, max_steps=MAX_STEPS, reverse=reverse,
    )  # fmt: skip
    for n, (a, b) in enumerate(zip(expected, got)):
        if isinstance(a, np.ndarray):
            wrong = np.flatnonzero(a.reshape(-1).view(np.uint8) != b.reshape(-1).view(np.uint8))
            assert not wrong.size, f"sm_{target}: argument {n} differs from byte {wrong[0]} on, in {wrong.size} bytes"
    return [a for a in expected if isinstance(a, np.ndarray)]
