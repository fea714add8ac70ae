"""Kernels whose groups have one item are plain C: gcc's code of random ones has to give what the oracle gives.

With one item `shuffle` is its first argument. What C leaves undefined is left out: shifts, divisions, and conversions
of floating point to integers. Signed overflow wraps by an option of gcc's, and variables get their zeros.
"""

import ctypes
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from drawloom.batch import interpret, interpret_ir, lower, parse_file
from tests.batch import random_kernels
from tests.batch.cases import copied, same
from tests.batch.random_kernels import Generator

pytest.importorskip("pycparser")
needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no gcc")

PRELUDE = """
typedef unsigned char uchar; typedef unsigned short ushort; typedef unsigned int uint; typedef unsigned long ulong;
#define __kernel
#define __local
#define __constant const
#define shuffle(value, lane) (value)
static ulong group;
#define get_local_id() 0ul
#define get_group_id() group
#define get_global_id() group
#define max(a, b) ((a) < (b) ? (b) : (a))
#define min(a, b) ((b) < (a) ? (b) : (a))
"""
UNINITIALISED = re.compile(r"^( *(?!return )(?:__local )?\w+ \w+(\[\d+\])?);$", re.MULTILINE)
HEADER = re.compile(r"void drawn\((.*)\) {$", re.MULTILINE)
SEEDS = 20


class IntegerGenerator(Generator):
    """Draws kernels of integers only, groups of one item."""

    orders_calls = False

    def __init__(self, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(random_kernels, "SCALARS", random_kernels.INTEGERS)
        monkeypatch.setattr(random_kernels, "ARITHMETIC", ("+", "-", "*"))
        monkeypatch.setattr(random_kernels, "BITWISE", ("&", "|", "^"))
        super().__init__(seed)

    def kernel(self) -> str:
        self.wg_size, self.real = 1, "int"
        return super().kernel()

    def expression(self, depth: int, integer: bool = False) -> str:
        return super().expression(depth, True)

    def leaf(self, integer: bool) -> str:
        return super().leaf(True)

    def arguments(self) -> dict[str, Any]:
        return {**super().arguments(), "factor": 3}


def run_as_c(text: str, folder: Path, groups: int, arguments: dict[str, Any]) -> None:
    """Compile a kernel as C, and call it for every group."""
    source, library = folder / "kernel.c", folder / "kernel.so"
    # gcc 12 with -ftrivial-auto-var-init=zero still gives other numbers for some arrays.
    text = UNINITIALISED.sub(lambda match: f"{match[1]} = {'{0}' if match[2] else '0'};", text)
    text = HEADER.sub(r"void drawn(ulong this_group, \1) { group = this_group;", text)
    source.write_text(PRELUDE + text)
    options = ("-w", "-O1", "-fwrapv", "-shared", "-fPIC")
    subprocess.run(["gcc", *options, "-o", library, source], check=True)
    function = ctypes.CDLL(str(library)).drawn
    for group in range(groups):
        passed = [
            ctypes.c_void_p(value.ctypes.data) if isinstance(value, np.ndarray) else ctypes.c_int(value)
            for value in arguments.values()
        ]
        function(ctypes.c_ulong(group), *passed)


@needs_gcc
def test_integer_kernels_are_what_gcc_makes_of_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(SEEDS):
        generator = IntegerGenerator(seed, monkeypatch)
        kernel = parse_file(generator.text, wg_size=1)["drawn"]
        expected = generator.arguments()
        found, lowered = copied(expected), copied(expected)
        folder = tmp_path / str(seed)
        folder.mkdir()
        run_as_c(generator.text, folder, generator.groups, expected)
        interpret(kernel, generator.groups, found)
        assert same(expected, found), generator.text
        interpret_ir(lower(kernel), generator.groups, lowered)
        assert same(expected, lowered), generator.text
