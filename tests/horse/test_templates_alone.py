"""Every template in a kernel of its own, at sizes around a warp and a tile, beside the interpreter."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from drawloom.horse.placement import REDUCTIONS
from tests.horse.programs import on_device, program, result
from tests.horse.test_builtins import IN_KERNELS
from tests.horse.test_kernels import ELEMENT_WISE, numbers, same

SIZES = [0, 1, 31, 32, 33, 97, 997, 1024, 4096]
#: The reference runs a thread at a time.
SMALL = [s for s in SIZES if s < 100]


def pinned(count: int) -> pa.Table:
    """``numbers`` of so many rows; from three on the least and greatest values are there, so that kernels are alike."""
    table = numbers(max(count, 400)).slice(0, count)
    if count < 3:
        return table
    whole = numbers(400)
    columns = []
    for name in table.column_names:
        first, last = _extremes(whole.column(name))
        columns.append(pa.array([first, last, *table.column(name).to_pylist()[2:]], table.schema.field(name).type))
    return pa.table(dict(zip(table.column_names, columns)))


def _extremes(column: pa.ChunkedArray) -> tuple[object, object]:
    values = sorted(v for v in column.to_pylist() if v == v)
    return values[0], values[-1]


def element_wise() -> str:
    """A statement for each template, so that without fusion each is a kernel."""
    calls = [*ELEMENT_WISE, *[c.split("= ")[-1].rstrip(";") for n, c in IN_KERNELS.items() if n not in REDUCTIONS]]
    calls = [c for c in calls if "(ts)" not in c]
    more = "var ts:? = @timestamp_of(dt);"
    stamps = [f"@{name}(ts)" for name in ("date_of", "time_hour", "time_minute", "time_second")]
    body = "".join([f"var x{n}:? = {call};" for n, call in enumerate([*calls, *stamps])])
    return (
        more
        + body
        + result([f"x{n}" for n in range(len(calls) + len(stamps)) if "compress" not in [*calls, *stamps][n]])
    )


def reductions() -> str:
    names, body = [], ""
    for column, functions in (("i", "sum avg min max len"), ("b", "sum avg min max"), ("d", "sum avg min max"),
                              ("h", "sum"), ("q", "min max"), ("s", "min max"), ("dt", "min max"), ("g", "min max"),
                              ("f", "min max")):  # fmt: skip
        for function in functions.split():
            names.append(f"{function}_{column}")
            body += f"var {function}_{column}:? = @{function}({column});"
    return body + result(names)


@pytest.mark.parametrize("count", [s for s in SIZES if s > 30])
def test_templates_alone_on_the_cpu(count: int) -> None:
    """Without rows and with one the ranges of values are others, and so is every kernel: the reference has those."""
    for body in (element_wise(), reductions()):
        made = program(pinned(count), body, mode="none")
        assert all(len(f.body) == 2 for f in made.outlined.module.functions if f.is_kernel)
        same(made, "cpu")


@pytest.mark.parametrize("count", SMALL)
def test_templates_alone_on_the_reference(count: int) -> None:
    for body in (element_wise(), reductions()):
        same(program(pinned(count), body, mode="none"), "reference")


def test_templates_over_a_million_rows() -> None:
    table = pa.concat_tables([pinned(4096)] * 256).combine_chunks()
    for text in (element_wise(), reductions()):
        made = program(table, text)
        ours, oracle = on_device(made, "cpu"), made.interpret().to_arrow()
        assert ours.schema == oracle.schema
        for name in ours.column_names:
            a, b = ours.column(name).combine_chunks(), oracle.column(name).combine_chunks()
            if pa.types.is_floating(a.type):
                assert np.array_equal(a.to_numpy(), b.to_numpy(), equal_nan=True), name
            else:
                assert a.equals(b), name
