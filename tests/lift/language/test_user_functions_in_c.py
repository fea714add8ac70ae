"""User functions mean what a C compiler makes of them: random functions, compiled and compared bit for bit.

The C compiler is clang (as `python -m ziglang cc`). Signed integers wrap around (`-fwrapv`), products and sums are kept
apart, and the generator avoids what C leaves undefined: divisions by zero, shifts by more than the width, conversions
of numbers that are out of range.
"""

import ctypes
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from drawloom.lift import user_function
from drawloom.lift.language.types import (
    ScalarType,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from drawloom.lift.language.user_functions.meaning import run_function

SCALARS = (int8, uint8, int16, uint16, int32, uint32, int64, uint64, float32, float64)
INTEGERS = tuple(type for type in SCALARS if type.is_integer)
FUNCTIONS = 150
VALUES = 64

PRELUDE = """
double fabs(double x);
typedef _Bool bool;
typedef unsigned char uchar; typedef unsigned short ushort; typedef unsigned int uint; typedef unsigned long ulong;
"""


class Generator:
    """Draws a function of two parameters: expressions of any type, conditions, and loops that end."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.variables: list[tuple[str, ScalarType]] = []
        self.count = 0

    def function(self, name: str) -> tuple[str, list[ScalarType], ScalarType]:
        types = [self.random.choice(SCALARS) for _ in range(2)]
        result = self.random.choice(SCALARS)
        self.variables = [("a", types[0]), ("b", types[1])]
        body = "".join(self.statement(2) for _ in range(self.random.randint(0, 3)))
        body += f"  return {self.converted(result, 3)};\n"
        return f"{result} {name}({types[0]} a, {types[1]} b) {{\n{body}}}", types, result

    def statement(self, depth: int) -> str:
        kind = self.random.randrange(5)
        if kind == 0 and depth > 0:
            known = len(self.variables)
            text = f"  if ({self.expression(2)[0]}) {{\n{self.statement(depth - 1)}  }}"
            del self.variables[known:]
            if self.random.random() < 0.5:
                text += f" else {{\n{self.statement(depth - 1)}  }}"
                del self.variables[known:]
            return text + "\n"
        if kind == 1 and depth > 0:
            index = self.fresh()
            known = len(self.variables)
            jump = self.random.choice(("break", "continue"))
            text = f"  for (int {index} = 0; {index} < {self.random.randint(1, 5)}; {index}++) {{\n"
            self.variables.append((index, int32))
            text += f"  if ({self.expression(2)[0]}) {jump};\n"
            hidden = self.variables.pop()
            text += self.statement(depth - 1) + "  }\n"
            assert hidden[0] == index
            del self.variables[known:]
            return text
        if kind == 2 or len(self.variables) == 2:
            name, type = self.fresh(), self.random.choice(SCALARS)
            text = f"  {type} {name} = {self.converted(type, 2)};\n"
            self.variables.append((name, type))
            return text
        name, type = self.random.choice(self.variables)
        operator = self.random.choice(("=", "+=", "-="))
        return (
            f"  {name} {operator} {self.small(type)};\n"
            if operator != "="
            else f"  {name} = {self.converted(type, 2)};\n"
        )

    def fresh(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def small(self, type: ScalarType) -> str:
        """Return a number that every type holds."""
        return str(self.random.randint(0, 9)) + (".5" if type.is_float and self.random.random() < 0.5 else "")

    def converted(self, target: ScalarType, depth: int) -> str:
        """Return an expression whose conversion to a type is defined: floating point is brought into range first."""
        text, type = self.expression(depth)
        if target.is_integer and type.is_float:
            return f"({text}) > -99.0 && ({text}) < 99.0 ? ({target})fabs((double)({text})) : ({target})7"
        return text

    def expression(self, depth: int) -> tuple[str, ScalarType]:
        """Return an expression in parentheses and its type."""
        if depth == 0 or self.random.random() < 0.15:
            if self.random.random() < 0.3:
                type = self.random.choice((int32, uint32, int64, float32, float64))
                suffix = {"uint": "u", "long": "l", "float": ".25f", "double": ".5"}.get(type.name, "")
                return f"{self.random.randint(0, 300)}{suffix}", type
            return self.random.choice(self.variables)
        left, left_type = self.expression(depth - 1)
        kind = self.random.randrange(8)
        if kind == 0:
            operator = self.random.choice(("-", "~", "!"))
            if operator == "~" and left_type.is_float:
                operator = "-"
            return f"({operator}({left}))", int32 if operator == "!" else promote(left_type)
        if kind == 1 and not left_type.is_float:
            target = self.random.choice(SCALARS)
            return f"(({target})({left}))", target
        right, right_type = self.expression(depth - 1)
        common = usual(left_type, right_type)
        if kind == 2:
            operator = self.random.choice(("<", "<=", ">", ">=", "==", "!=", "&&", "||"))
            return f"({left} {operator} {right})", int32
        if kind == 3:
            condition = self.expression(1)[0]
            return f"({condition} ? {left} : {right})", common if left_type != right_type else left_type
        if common.is_float:
            operator = self.random.choice(("+", "-", "*"))
            return f"({left} {operator} {right})", common
        if kind == 4:
            operator = self.random.choice(("/", "%"))
            return f"({left} {operator} (({right}) == 0 ? 3 : {right}))", usual(left_type, usual(right_type, int32))
        if kind == 5 and left_type.kind == "uint":
            return f"({left} {self.random.choice(('<<', '>>'))} (({right}) & 7))", promote(left_type)
        operator = self.random.choice(("+", "-", "*", "&", "|", "^"))
        return f"({left} {operator} {right})", common


RANKS = {type.name: rank for rank, type in enumerate(SCALARS)}


def promote(type: ScalarType) -> ScalarType:
    return int32 if RANKS[type.name] < RANKS["int"] else type


def usual(left: ScalarType, right: ScalarType) -> ScalarType:
    return max(promote(left), promote(right), key=lambda type: RANKS[type.name])


def values(type: ScalarType, seed: int) -> Any:
    numbers = np.random.default_rng(seed)
    if type.is_float:
        return numbers.normal(0, 20, VALUES).astype(type.dtype)
    info = np.iinfo(type.dtype)
    some = numbers.integers(info.min, info.max, VALUES, type.dtype, endpoint=True)
    some[::2] = numbers.integers(0 if type.kind == "uint" else -9, 10, VALUES)[::2].astype(type.dtype)
    return some


def loop(name: str, types: list[ScalarType], result: ScalarType) -> str:
    """Return C that applies a function to arrays."""
    return (
        f"void all_{name}({types[0]} *a, {types[1]} *b, {result} *out, int n)"
        f" {{ for (int i = 0; i < n; i++) out[i] = {name}(a[i], b[i]); }}\n"
    )


def compile_c(source: str, folder: Path) -> Path:
    """Return a shared library; without the C library, which takes the most time by far."""
    text, code, library = folder / "functions.c", folder / "functions.o", folder / "functions.so"
    text.write_text(source, encoding="utf-8")
    compiler = [sys.executable, "-m", "ziglang", "cc", "-nostdlib", "-w", "-O0"]
    flags = ["-fPIC", "-fwrapv", "-ffp-contract=off", "-fno-sanitize=all"]
    subprocess.run([*compiler, *flags, "-c", "-o", str(code), str(text)], check=True)
    subprocess.run([*compiler, "-shared", "-o", str(library), str(code)], check=True)
    return library


def test_random_functions_are_what_clang_makes_of_them(tmp_path: Path) -> None:
    pytest.importorskip("ziglang", reason="ziglang, which brings clang, is not installed")
    made = [Generator(seed).function(f"f{seed}") for seed in range(FUNCTIONS)]
    source = PRELUDE + "".join(
        text + "\n" + loop(f"f{at}", types, result) for at, (text, types, result) in enumerate(made)
    )
    compiled = ctypes.CDLL(str(compile_c(source, tmp_path)))
    for at, (text, types, result) in enumerate(made):
        arguments = [values(type, 7 * at + index) for index, type in enumerate(types)]
        found = run_function(user_function(text).instantiate(tuple(types)), arguments, 1)
        expected = np.zeros(VALUES, result.dtype)
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in (*arguments, expected)]
        getattr(compiled, f"all_f{at}")(*pointers, ctypes.c_int(VALUES))
        found = np.broadcast_to(found, VALUES)
        assert found.dtype == expected.dtype
        assert np.array_equal(found, expected, equal_nan=True), (text, arguments, found, expected)
