"""The table of the ready kernels' arguments in docs/batch.md says what the kernels' sources say."""

import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from drawloom.batch import interpret, lower, parse_file
from drawloom.batch.frontend.syntax import Kernel
from drawloom.batch.kernels import LINEAR_ALGEBRA, READY, read_text
from drawloom.batch.linalg.spectra import jacobi_steps, qr_steps
from drawloom.batch.signature import signature_of
from drawloom.errors import KernelFault

pytest.importorskip("pycparser")

PAGE = Path(__file__).resolve().parents[2] / "docs" / "batch.md"
HEAD = "| kernel | argument | type | shape |"
SIZES = {"G": 3, "N": 4, "RHS": 2, "COLUMNS": 3}
KERNELS = {**READY, **LINEAR_ALGEBRA}


class Row(NamedTuple):
    """An argument. `macros` are those with which it is there, or with `is_without` those with which it is not."""

    name: str
    type: str
    shape: str
    access: str
    macros: frozenset[str]
    is_without: bool

    def is_there(self, macro: str) -> bool:
        return not self.macros or (macro in self.macros) != self.is_without


def read_table() -> dict[str, list[Row]]:
    """Return the rows by file, one for each argument."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    begin = next(number for number, line in enumerate(lines) if line.startswith(HEAD)) + 2
    table: dict[str, list[Row]] = {}
    rows: list[Row] = []
    for line in lines[begin:]:
        if not line.startswith("|"):
            break
        file, names, type, shape, access, macros, _ = (cell.strip() for cell in line.strip("|").split("|"))
        if file:
            rows = table[file.strip("`")] = []
        found = frozenset(re.findall(r"`(\w+)`", macros))
        is_without = macros.startswith("not ")
        rows += [Row(name, type.strip("`"), shape, access, found, is_without) for name in re.findall(r"`(\w+)`", names)]
    return table


TABLE = read_table()
#: A file, and one of the macros that its rows name, or none.
FORMS = [
    (file, macro) for file, rows in TABLE.items() for macro in ("", *sorted(set().union(*(r.macros for r in rows))))
]


def parse_form(file: str, macro: str) -> Kernel:
    sizes = {name: str(SIZES[name]) for name in ("RHS", "COLUMNS")}
    defines = {"real": "double", "stored": "float", **sizes, **({macro: "1"} if macro else {})}
    return parse_file(read_text(file), wg_size=SIZES["N"], defines=defines)[KERNELS[file]]


def count_elements(shape: str) -> int:
    """Return the product of a shape's lengths, which are numbers and products of sizes."""
    factors = re.findall(r"\w+", shape)
    return int(np.prod([SIZES[factor] if factor in SIZES else int(factor) for factor in factors]))


def make_arguments(kernel: Kernel, rows: list[Row], file: str) -> dict[str, Any]:
    """Return definite matrices for inputs, NaN and 77 in outputs, so that what is not written shows."""
    groups, size = SIZES["G"], SIZES["N"]
    numbers = {"tolerance": 1e-15, "epsilon": 1e-16, "quiet": 1e-18, "least": 1e-280, "most": 1e280,
               "count": groups * size, "steps": jacobi_steps(size) if file == "svd" else qr_steps(size)}  # fmt: skip
    square = np.arange(1.0, size * size + 1).reshape(size, size) + 20 * np.eye(size)
    result: dict[str, Any] = {}
    for parameter, row in zip(kernel.parameters, rows):
        if row.shape == "number":
            result[row.name] = numbers[row.name]
        elif "in" not in row.access:
            result[row.name] = np.full(count_elements(row.shape), 77 if row.type in ("int", "uchar") else np.nan)
        elif row.shape == "(G, N, N)":
            result[row.name] = np.tile((square + square.T).reshape(-1), groups)
        else:
            result[row.name] = 1 + np.arange(count_elements(row.shape)) % 7
        if parameter.is_pointer:
            result[row.name] = result[row.name].astype(parameter.type.dtype)
    return result


def test_every_ready_kernel_is_in_the_table() -> None:
    assert TABLE.keys() == KERNELS.keys()


@pytest.mark.parametrize(("file", "macro"), FORMS)
def test_the_table_has_the_arguments_of_the_sources(file: str, macro: str) -> None:
    kernel = parse_form(file, macro)
    signature = signature_of(kernel, lower(kernel))
    types = {"real": "double", "stored": "float"}
    said = [
        (row.name, types.get(row.type, row.type), row.shape != "number", row.access)
        for row in TABLE[file]
        if row.is_there(macro)
    ]
    found = []
    for p in signature.parameters:
        access = {(True, False): "in", (False, True): "out", (True, True): "in, out"}[p.is_read, p.is_written] \
            if p.is_pointer else "in"  # fmt: skip
        found.append((p.name, p.type, p.is_pointer, access))
    assert said == found


@pytest.mark.parametrize(("file", "macro"), FORMS)
def test_the_shapes_of_the_table_have_as_many_elements_as_kernels_access(file: str, macro: str) -> None:
    kernel = parse_form(file, macro)
    rows = [row for row in TABLE[file] if row.is_there(macro)]
    arguments = make_arguments(kernel, rows, file)
    interpret(kernel, SIZES["G"], arguments)
    for row in rows:
        if row.shape == "number":
            continue
        if row.access == "out":
            untouched = np.isnan(arguments[row.name]) | (arguments[row.name] == 77)
            assert not untouched.any(), f"{row.name} has elements that the kernel does not write"
        shorter = {**make_arguments(kernel, rows, file), row.name: arguments[row.name][:-1]}
        with pytest.raises(KernelFault, match=row.name):
            interpret(kernel, SIZES["G"], shorter)
