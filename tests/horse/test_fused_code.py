"""Fused kernels as machine code: what our assembler makes of them computes what the interpreter of PTX does."""

import numpy as np
import pyarrow as pa
import pytest

from drawloom.horse.codegen import generate
from drawloom.horse.kernel_plan import KernelPlan
from drawloom.horse.kernels.look_back import states_for
from drawloom.horse.kernels.rows import Tile
from tests.horse.programs import program, result
from tests.sass.meaning import agree

ROWS = 150
TILE = Tile(64, 1)


def run(plan: KernelPlan, blocks: int, given: dict[str, object], target: int) -> dict[str, np.ndarray]:
    """What the kernel leaves in its arrays, by its parameters' names."""
    names = [p.name for p in plan.module.functions[plan.name].params]
    text = str(plan.module).replace(".version 7.0", ".version 7.8")
    made = agree(text, plan.name, blocks, TILE.threads, *[given[n] for n in names], target=target)
    return dict(zip([n for n in names if isinstance(given[n], np.ndarray)], made))


def columns(plan: KernelPlan, table: pa.Table) -> dict[str, object]:
    """The table's columns as the kernel reads them, a tile behind the last row readable."""
    types = {"s8": np.int8, "s16": np.int16, "s32": np.int32, "s64": np.int64}
    padded = {n: np.zeros(ROWS + 256, types[plan.storage[n].name]) for n in plan.columns if n in table.column_names}
    for name, array in padded.items():
        array[:ROWS] = table[name].to_numpy()
    return {f"p_{name}": array for name, array in padded.items()}


@pytest.mark.parametrize("target", [80, 90])
def test_selected_rows_of_several_tiles(target: int) -> None:
    rng = np.random.default_rng(4)
    x, k = rng.integers(-99, 99, ROWS).astype(np.int32), rng.integers(0, 9, ROWS).astype(np.int32)
    table = pa.table({"x": x, "k": k})
    text = f"""var m:? = @gt(k, 3:i32); var n:? = @gt(x, 0:i32); var a:? = @compress(m, x); var w:? = @where(n);
        var al:? = @list(a); var at:? = @table(`a:sym, al); {result(["w"]).replace("return zt", "return at, zt")}"""
    made = program(table, text, results=2)
    (kernel,) = [f for f in made.outlined.module.functions if f.is_kernel]
    (known,) = made.plans.values()
    outlined = made.outlined
    types, ranges, shapes, inside = outlined.types, outlined.ranges, outlined.shapes, outlined.picks_inside
    plan = generate(kernel, types, ranges, shapes, known.storage, inside, ROWS, True, TILE)
    given = columns(plan, table)
    given.update({"out": np.zeros(1, np.int64), "error": np.zeros(1, np.uint32), "rows": ROWS})
    states = np.zeros(states_for(TILE.blocks(ROWS), 2), np.uint64)
    given.update({"result0": np.zeros(ROWS, np.int32), "result1": np.zeros(ROWS, np.int32), "states": states})
    found = run(plan, 2, given, target)
    expected: list[np.ndarray] = [x[k > 3], np.flatnonzero(x > 0)]
    for output, values in zip(plan.outputs, expected):
        assert int(found["states"][1 + output.count]) == len(values)
        assert found[f"result{output.value}"][: len(values)].tolist() == values.tolist()


@pytest.mark.parametrize("shift", [0, 2, 5])
def test_cells_of_a_list(shift: int) -> None:
    rng = np.random.default_rng(5)
    x = rng.integers(-99, 99, ROWS).astype(np.int32)
    table = pa.table({"x": x, "e": rng.random(ROWS)})
    text = f"""var gl:? = @list(e); var gr:? = @group(gl); var rows:? = @values(gr);
        var c:? = @each_right(@index, x, rows); var sc:? = @each(@sum, c); var s0:? = @raze(sc);
        var xc:? = @each(@max, c); var x0:? = @raze(xc); var d0:? = @minus(s0, x0); {result(["x0", "d0"])}"""
    (plan,) = [p for p in program(table, text).plans.values() if p.cells]
    offsets = np.array([0, 1, 1, 40, 43, 150], np.uint64)
    rows = rng.permutation(ROWS).astype(np.int32)
    given = columns(plan, table)
    given.update({"p_rows": rows, "cells": offsets, "error": np.zeros(1, np.uint32), "rows": 5, "chunk": 192})
    given.update({"shift": shift})
    results = {f"result{i}": np.zeros(5, {"s32": np.int32, "s64": np.int64}[k]) for i, k in enumerate(plan.row_buffers)}
    given.update(results)
    found = run(plan, 1, given, 90)
    cells = [x[rows[a:b]] for a, b in zip(offsets[:-1].astype(int), offsets[1:].astype(int))]
    largest = [int(c.max()) if len(c) else 0 for c in cells]
    expected = [largest, [int(c.sum()) - m for c, m in zip(cells, largest)]]
    assert [found[f"result{o.value}"].tolist() for o in plan.outputs] == expected
