"""Kernels over the cells of lists: what they compute is what the interpreter computes, on ``cpu`` and ``reference``."""

import subprocess
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from drawloom.errors import DataError
from drawloom.horse import launch_cells
from drawloom.horse.launch import Resident
from drawloom.horse.lists import MAX_CELL
from drawloom.horse.program import LoadedProgram
from drawloom.horse.types import I64
from drawloom.horse.values import ListValue, Ragged, Value, Vector
from drawloom.ptx import parse, verify
from drawloom.runtime.machine import device as find_device
from tests.horse.apart import Apart
from tests.horse.programs import columns, control, program, result
from tests.horse.test_kernels import numbers
from tests.horse.test_rows import same

SIZES = [0, 1, 31, 32, 33, 97, 1024, 9973]
#: Floats make the groups, so that they are not in place.
GROUPED = """var gl:? = @list(e); var gr:? = @group(gl); var firsts:? = @keys(gr); var rows:? = @values(gr);
    var m0:? = @gt(i, 0:i32); var mc:? = @each_right(@index, m0, rows);"""


def table(count: int) -> pa.Table:
    """``numbers`` and a key for groups of a fifth of the rows to one row."""
    made = numbers(count)
    keys = np.random.default_rng(count).geometric(0.2, count) * 0.5
    return made.append_column("e", pa.array(keys, pa.float64()))


def reductions(name: str, cells: str) -> str:
    made = [f"var {f}{name}c:? = @each(@{f}, {cells}); var {f}{name}:? = @raze({f}{name}c);" for f in FUNCTIONS]
    return " ".join(made)


FUNCTIONS = ["sum", "avg", "min", "max", "len"]


def every_reduction(of: str) -> str:
    """Of columns, of all rows and of those that a mask selects, and something computed of the results."""
    text = GROUPED
    for name in of.split():
        text += f"var {name}c:? = @each_right(@index, {name}, rows);" + reductions(name, f"{name}c")
        text += f"var {name}k:? = @each_item(@compress, mc, {name}c);" + reductions(f"{name}k", f"{name}k")
    text += "var z0:? = @plus(sumd, sumdk); var z1:? = @gt(lend, lendk); var z2:? = @if_else(z1, avgf, avgfk);"
    names = [f"{f}{n}{k}" for f in FUNCTIONS for n in of.split() for k in ("", "k")]
    return text + result([*names, "z0", "z1", "z2"])


@pytest.mark.parametrize(("count", "device"), [*[(n, "cpu") for n in SIZES], (33, "reference")])
def test_reductions_of_cells(count: int, device: str) -> None:
    made = program(table(count), every_reduction("i h d f g" if count == 97 else "d f"), count % 2 == 0)
    assert [p for p in made.plans.values() if p.cells]
    assert "each" not in control(made)
    same(made, device)


@pytest.mark.parametrize(("shift", "device"), [*[(n, "cpu") for n in range(6)], (2, "reference"), (5, "reference")])
def test_as_many_threads_a_cell_as_wanted(shift: int, device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch_cells, "lanes_for", lambda device, rows, cells: shift)
    same(program(table(500 if device == "cpu" else 50), every_reduction("d f"), True), device)


@pytest.mark.parametrize(("count", "device"), [*[(n, "cpu") for n in SIZES], (97, "reference")])
def test_what_is_computed_of_elements(count: int, device: str) -> None:
    """By functions of one cell, of two, of a cell and a scalar; of text; of the list in memory itself."""
    text = f"""{GROUPED} var top:? = @max(h); var ic:? = @each_right(@index, i, rows);
        var hc:? = @each_right(@index, h, rows); var dc:? = @each_right(@index, d, rows);
        var nc:? = @each(@neg, ic); var pc:? = @each_item(@plus, nc, hc); var uc:? = @each_right(@mul, 3:i16, pc);
        var vc:? = @each_left(@minus, uc, top); var bc:? = @each_item(@lt, hc, vc);
        var kc:? = @each_item(@compress, bc, dc); var wc:? = @each_item(@compress, bc, rows);
        var sc:? = @each_right(@index, s, rows); var ec:? = @each_left(@eq, sc, "bb":str);
        var s0c:? = @each(@sum, vc); var s0:? = @raze(s0c); var s1c:? = @each(@sum, kc); var s1:? = @raze(s1c);
        var s2c:? = @each(@max, wc); var s2:? = @raze(s2c); var s3c:? = @each(@min, sc); var s3:? = @raze(s3c);
        var s4c:? = @each(@max, ec); var s4:? = @raze(s4c); var s5c:? = @each(@len, kc); var s5:? = @raze(s5c);
        {result(["s0", "s1", "s2", "s3", "s4", "s5"])}"""
    made = program(table(max(count, 1)), text, device != "cpu")
    assert "each" not in control(made)
    same(made, device)


def test_a_million_rows() -> None:
    rng = np.random.default_rng(5)
    e, i = rng.integers(0, 70_000, 1_000_000), rng.integers(-(1 << 30), 1 << 30, 1_000_000)
    text = """var gl:? = @list(e); var gr:? = @group(gl); var rows:? = @values(gr);
        var c:? = @each_right(@index, i, rows); var sc:? = @each(@sum, c); var s0:? = @raze(sc);
        var xc:? = @each(@max, c); var x0:? = @raze(xc);"""
    made = program(pa.table({"e": e * 0.5, "i": i.astype(np.int32)}), text + result(["s0", "x0"]), False)
    where = find_device("cpu")
    found = LoadedProgram(made, where, Resident(where, "kernels")).run().to_arrow()
    order = np.argsort(e, kind="stable")
    starts = np.flatnonzero(np.diff(e[order], prepend=-1))
    assert [int(v) for v in found["s0"].to_pylist()] == np.add.reduceat(i[order], starts).tolist()
    assert found["x0"].to_pylist() == np.maximum.reduceat(i[order], starts).tolist()


SUMS = """var c:? = @each_right(@index, d, rows); var sc:? = @each(@sum, c); var s0:? = @raze(sc);"""


def test_cells_too_large_for_a_warp_are_the_librarys() -> None:
    rows = MAX_CELL + 7
    given = pa.table({"e": np.full(rows, 0.5), "i": np.arange(rows) % 7, "d": np.arange(rows) % 1000})
    same(program(given, GROUPED + SUMS + result(["s0"])))


def test_lists_that_a_kernel_takes() -> None:
    """As one vector, in cells of no more than so many rows."""
    made = program(table(50), GROUPED + SUMS + result(["s0"]))
    where = find_device("cpu")
    loads = LoadedProgram(made, where, Resident(where, "kernels")).kernels.values()
    (loaded,) = [k for k in loads if isinstance(k, launch_cells.LoadedCells)]
    d = made.sources["t"].column("d").vector
    rows = Vector(I64, np.zeros(2 * MAX_CELL, np.int64))
    ends = (MAX_CELL, MAX_CELL + 1)
    lists: list[Value] = [Ragged(rows, np.array([0, end, 2 * MAX_CELL])) for end in ends]
    taken = [
        loaded.rows([d if p.name == "d" else x for p in loaded.function.params]) for x in [*lists, ListValue([rows])]
    ]
    assert taken == [2 * MAX_CELL, -1, -1]


@pytest.mark.parametrize("reader", ["@item(c, 0:i64)", "@raze(c)"])
def test_a_list_that_anything_else_reads_is_made_by_control_code(reader: str) -> None:
    """And is then in memory for the kernel that reduces it."""
    text = f"{GROUPED} {SUMS} var other:? = {reader}; var o0:? = @sum(other);"
    made = program(table(97), text + "var ol:? = @list(o0); var ot:? = @table(`o:sym, ol);" + result(["s0"]))
    (plan,) = [p for p in made.plans.values() if p.cells]
    assert plan.cells == "c"
    same(made)


def test_an_overflow_of_elements_is_an_error_where_masks_select_them() -> None:
    """As of rows: what no mask selects is not computed."""
    text = """var gl:? = @list(e); var gr:? = @group(gl); var rows:? = @values(gr); var m0:? = @gt(h, 0:i16);
        var mc:? = @each_right(@index, m0, rows); var bc:? = @each_right(@index, b, rows);
        var kc:? = @each_item(@compress, mc, bc); var qc:? = @each_item(@mul, kc, kc);
        var sc:? = @each(@max, qc); var s0:? = @raze(sc);""" + result(["s0"])
    for h, fails in ((0, False), (1, True)):
        given = columns(e=([0.5, 1.5, 0.5], pa.float64()), b=([3, 4, 1 << 40], pa.int64()), h=([1, 1, h], pa.int16()))
        made = program(given, text)
        if not fails:
            same(made)
            continue
        where = find_device("cpu")
        with pytest.raises(DataError, match="overflow"):
            made.interpret()
        with pytest.raises(DataError, match="overflow"):
            LoadedProgram(made, where, Resident(where, "kernels")).run()


@pytest.mark.vendor
def test_the_vendors_assembler_takes_it(ptxas: str, tmp_path: Path) -> None:
    for plan in program(table(50), every_reduction("i h d f g")).plans.values():
        verify(parse(str(plan.module)))
        path = tmp_path / "cells.ptx"
        path.write_text(str(plan.module))
        done = subprocess.run([ptxas, "-arch=sm_80", str(path), "-o", "/dev/null"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


#: Picks, functions of one and two cells and of a scalar, text, reductions, also of empty cells, and lists of these.
LISTED = f"""{GROUPED} var top:? = @max(h);
        var ic:? = @each_right(@index, i, rows); var hc:? = @each_right(@index, h, rows);
        var dc:? = @each_right(@index, d, rows); var fc:? = @each_right(@index, f, rows);
        var sc:? = @each_right(@index, s, rows); var nc:? = @each(@neg, ic); var pc:? = @each_item(@plus, nc, hc);
        var uc:? = @each_right(@mul, 3:i16, pc); var vc:? = @each_left(@minus, uc, top);
        var bc:? = @each_item(@lt, hc, vc); var kc:? = @each_item(@compress, bc, dc);
        var ec:? = @each_left(@eq, sc, "bb":str);
        var s0c:? = @each(@sum, vc); var s0:? = @raze(s0c); var s1c:? = @each(@avg, kc); var s1:? = @raze(s1c);
        var s2c:? = @each(@max, ec); var s2:? = @raze(s2c); var s3c:? = @each(@min, sc); var s3:? = @raze(s3c);
        var s4c:? = @each(@sum, fc); var s4:? = @raze(s4c); var s5c:? = @each(@len, kc); var s5:? = @raze(s5c);
        var s6c:? = @each(@neg, s0c); var s6:? = @raze(s6c); var s7:? = @plus(s0, s6);
        {result([f"s{n}" for n in range(8)])}"""


#: What a list without cells has a value of, too.
PICKED = f"""{GROUPED} var c:? = @each_right(@index, d, rows); var sc:? = @each(@sum, c); var s0:? = @raze(sc);
    var lc:? = @each(@len, rows); var l0:? = @raze(lc); {result(["s0", "l0"])}"""


@pytest.mark.parametrize(("count", "device"), [*[(n, "cpu") for n in SIZES], (33, "reference")])
@pytest.mark.parametrize("mode", ["none", "flow", "full"])
def test_lists_that_leave_kernels(mode: str, count: int, device: str) -> None:
    """Compression of cells alone is control code where kernels do not compute masks and what they select together."""
    made = program(table(count), LISTED if count else PICKED, count % 2 == 0, mode)
    left = [text.partition("(")[0] for text in control(made).split("@each")[1:]]
    assert mode == "full" or left == (["_item"] if count else [])
    same(made, device)


@pytest.mark.parametrize(("mode", "kernels"), [("none", 4), ("flow", 2), ("full", 1)])
def test_kernels_over_lists_by_mode(mode: str, kernels: int) -> None:
    """Each statement alone; along data flow, also what razes a list's reductions; all."""
    text = f"""{GROUPED} var c:? = @each_right(@index, i, rows); var nc:? = @each(@neg, c);
        var sc:? = @each(@sum, nc); var s0:? = @raze(sc); var xc:? = @each(@max, nc); var x0:? = @raze(xc);"""
    if mode == "flow":
        text = text.replace("@each(@max, nc)", "@each(@max, rows)")
    made = same(program(table(97), text + result(["s0", "x0"]), mode=mode))
    assert len([p for p in made.kernels.values() if p.plan.cells or p.plan.is_flat]) == kernels


def test_lists_of_unlike_cells_are_the_interpreters() -> None:
    """As are lists that are not one vector."""
    text = f"""{GROUPED} var c:? = @each_right(@index, h, rows); var nc:? = @each_item(@plus, c, rows);
        var nl:? = @raze(nc); var s0:? = @sum(nl); {result(["s0"])}"""
    made = program(table(97), text, mode="none")
    where = find_device("cpu")
    loads = LoadedProgram(made, where, Resident(where, "kernels")).kernels.values()
    (loaded,) = [k for k in loads if [p.name for p in k.function.params] == ["rows", "c"]]
    given = Vector(I64, np.arange(5))
    lists: list[Value] = [Ragged(given, np.array(ends)) for ends in ([0, 2, 5], [0, 3, 5])]
    assert loaded.rows([lists[0], lists[0]]) == 5
    assert loaded.rows(lists) == -1
    assert loaded.rows([lists[0], ListValue([given])]) == -1


@pytest.mark.parametrize("mode", ["none", "flow"])
def test_lists_stay_on_a_device_apart(mode: str) -> None:
    made = program(table(997), PICKED, mode == "none", mode)
    where = Apart()
    ours = LoadedProgram(made, where, Resident(where, "kernels")).run().to_arrow()
    assert repr(ours.to_pylist()) == repr(made.interpret().to_arrow().to_pylist())
