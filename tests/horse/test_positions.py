"""Positions in kernels: outside ones are refused at their place, and only what is not known to be inside is checked."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import drawloom
from drawloom.horse.launch import Resident
from drawloom.horse.outline import MODES
from drawloom.horse.parser import parse
from drawloom.horse.program import LoadedProgram, Program
from drawloom.horse.store import from_arrow
from drawloom.horse.values import as_vector
from drawloom.runtime.machine import device as find_device
from tests.horse.programs import on_device, program, result

SIZES = [0, 1, 31, 32, 33, 1000]
#: By size the positions that are tried outside.
OUT = {1: [1], 31: [-1], 32: [32], 33: [-(1 << 40), 1 << 40], 1000: [-1, 1000]}
#: Positions out of arithmetic, so that nothing is known of them: those of column ``p``.
UNKNOWN = "var far:? = @plus(p, b); var at:? = @minus(far, b);"
#: The pick is in the third line, at its beginning; the rest is what reads it.
PICKS = {
    "index": "\nvar y:? = @index(x, at); " + result(["y"]),
    "outer_index": "\nvar y:? = @outer_index(x, at); " + result(["y"]),
    "index of text": "\nvar y:? = @index(s, at); " + result(["y"]),
    "index, summed up": "\nvar y:? = @index(x, at); var z:? = @sum(y); " + result(["z"]),
    "outer_index of floats, greatest": "\nvar y:? = @outer_index(f, at); var z:? = @max(y); " + result(["z"]),
    "index of selected": "var m:? = @geq(b, 0:i64); var c:? = @compress(m, at);\nvar y:? = @index(x, c); "
    + result(["y"]),
    "selected of index": "var m:? = @geq(b, 0:i64);\nvar y:? = @index(x, at); var z:? = @compress(m, y); "
    + result(["z"]),
    "index, by group": "var l:? = @list(k); var g:? = @group(l); var r:? = @values(g);\nvar y:? = @index(x, at); "
    "var e:? = @each_right(@index, y, r); var u:? = @each(@sum, e); var z:? = @raze(u); " + result(["z"]),
    "index of cells": "var l:? = @list(f); var g:? = @group(l); var r:? = @values(g); "
    "var h:? = @each_right(@index, at, r);\n"
    "var y:? = @each_right(@index, x, h); var v:? = @each_item(@mul, y, y); var u:? = @each(@sum, v); "
    "var z:? = @raze(u); " + result(["z"]),
}  # fmt: skip


def table(count: int, positions: np.ndarray | None = None) -> pa.Table:
    rng = np.random.default_rng(count)
    inside = rng.integers(0, max(count, 1), count)
    return pa.table({
        "x": rng.integers(-99, 99, count).astype(np.int32), "f": rng.integers(0, 3, count) / 2,
        "s": [f"w{n % 5}" for n in range(count)], "k": rng.integers(0, 4, count).astype(np.int32),
        "p": inside if positions is None else positions, "b": rng.integers(0, 1 << 40, count),
    })  # fmt: skip


def by_kernels(made: Program) -> pa.Table:
    """The result by kernels, however few the rows are."""
    where = find_device("cpu")
    return LoadedProgram(made, where, Resident(where, "kernels")).run().to_arrow()


def checks(made: Program) -> int:
    return sum([len(plan.lengths) for plan in made.plans.values()])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("pick", PICKS)
def test_positions_that_are_there_are_picked(pick: str, mode: str) -> None:
    for count in SIZES[pick == "index of cells" :]:  # a list without cells has no type
        made = program(table(count), UNKNOWN + PICKS[pick], mode=mode)
        assert by_kernels(made).equals(made.interpret().to_arrow()), count
        assert checks(made) or count == 1 or is_control(pick, mode), count  # of one row all values are known


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("pick", PICKS)
def test_positions_outside_are_refused_at_their_place(pick: str, mode: str) -> None:
    for count in SIZES[1:]:
        for position in OUT[count]:
            if position < 0 and "outer" in pick:
                continue
            positions = np.arange(count)
            positions[count * 2 // 3] = position
            made = program(table(count, positions), UNKNOWN + PICKS[pick], mode=mode)
            with pytest.raises(drawloom.Error) as oracle:
                made.interpret()
            with pytest.raises(drawloom.Error) as ours:
                by_kernels(made)
            assert place(ours.value) == place(oracle.value)
            assert "index: a position that the vector does not have" in str(ours.value) or is_control(pick, mode)


def is_control(pick: str, mode: str) -> bool:
    """Whether a list operation is a library function."""
    return pick == "index of cells" and mode != "full"


def place(refusal: drawloom.Error) -> str:
    return str(refusal).split(" ")[0]


@pytest.mark.parametrize("mode", MODES)
def test_positions_that_a_mask_leaves_out_do_not_count(mode: str) -> None:
    positions = np.arange(33) - 1
    text = UNKNOWN + "var m:? = @geq(at, 0:i64); var c:? = @compress(m, at); var y:? = @index(x, c); " + result(["y"])
    made = program(table(33, positions), text, mode=mode)
    assert checks(made)
    assert on_device(made, "cpu").equals(made.interpret().to_arrow())


@pytest.mark.parametrize("mode", MODES)
def test_null_positions_pick_nothing(mode: str) -> None:
    """Validity is a mask: what it leaves out is at -1."""
    text = UNKNOWN + "var v:? = @lt(at, 33:i64); var c:? = @if_else(v, at, -1:i64); var y:? = @outer_index(x, c); "
    made = program(table(33, np.arange(33) + 20), text + result(["y"]), mode=mode)
    assert on_device(made, "cpu").equals(made.interpret().to_arrow())
    assert made.interpret().to_arrow()["y"].to_pylist()[13:] == [0] * 20


@pytest.mark.parametrize("lanes", [True, False])
def test_the_reference_refuses_positions(lanes: bool) -> None:
    """With lanes that reduce, selected rows are written by look-back: these are checked in its first walk or second."""
    for pick in ("index of selected", "selected of index"):
        for row in (0, 32):
            positions = np.arange(33)
            positions[row] = 33
            with pytest.raises(drawloom.Error, match="@index: a position"):
                on_device(program(table(33, positions), UNKNOWN + PICKS[pick], lanes), "reference")


def test_picks_from_rows_that_an_outside_position_gave_are_checked_too() -> None:
    """A row that is not there is none of an empty vector's either."""
    text = (
        UNKNOWN + "var m:? = @gt(x, 100:i32); var w:? = @where(m); var e:? = @compress(m, x); var i:? = @index(w, at); "
    )
    made = program(table(33), text + "var y:? = @index(e, i); " + result(["y"]))
    assert not made.outlined.picks_inside & {"i", "y"}
    with pytest.raises(drawloom.Error, match="@index"):
        by_kernels(made)


@pytest.mark.parametrize("mode", MODES)
def test_one_value_is_picked_from(mode: str) -> None:
    text = "var m:? = @min(x); var y:? = @index(m, p); " + result(["y"])
    made = program(table(5, np.zeros(5, np.int64)), text, mode=mode)
    assert on_device(made, "cpu").equals(made.interpret().to_arrow())
    with pytest.raises(drawloom.Error, match="position 1 of a vector of 1"):
        on_device(program(table(5, np.ones(5, np.int64)), text, mode=mode), "cpu")


#: Positions that are rows by where they are made, and what is picked from.
INSIDE = [
    "var m:? = @gt(x, 0:i32); var r:? = @where(m); var y:? = @index(x, r);",
    "var m:? = @gt(x, 0:i32); var r:? = @where(m); var e:? = @compress(m, f); var o:? = @list(e); "
    "var q:? = @order(o, 1:bool, 0:bool); var i:? = @index(r, q); var y:? = @index(x, i);",
    "var l:? = @list(k); var j:? = @join(l, l); var r:? = @item(j, 1:i64); var y:? = @index(x, r);",
    "var l:? = @list(k); var g:? = @group(l); var r:? = @keys(g); var y:? = @index(f, r);",
    "var r:? = @unique(k); var y:? = @index(f, r);",
    "var c:? = @len(x); var r:? = @range(c); var y:? = @index(f, r);",
    "var y:? = @index(x, p);",
    "var z:? = @minus(p, 1:i64); var y:? = @outer_index(x, z);",
    "var l:? = @list(k); var j:? = @join(l, l); var r:? = @item(j, 0:i64); var a:? = @geq(r, 3:i64); "
    "var i:? = @if_else(a, r, -1:i64); var y:? = @outer_index(x, i);",
]  # fmt: skip
#: Such that look alike and are none.
OUTSIDE = [
    "var m:? = @gt(x, 0:i32); var r:? = @where(m); var e:? = @compress(m, x); var y:? = @index(e, r);",
    "var l:? = @list(k); var j:? = @join(l, l); var r:? = @item(j, 0:i64); var a:? = @geq(r, 3:i64); "
    "var i:? = @if_else(a, r, -1:i64); var y:? = @index(x, i);",
    "var z:? = @minus(p, 1:i64); var y:? = @index(x, z);",
    "var z:? = @plus(p, 33:i64); var y:? = @index(x, z);",
    "var c:? = @concat(x, x); var r:? = @index_of(x, c); var y:? = @index(x, r);",
    "var m:? = @gt(x, 0:i32); var c:? = @concat(x, x); var n:? = @gt(c, 0:i32); var r:? = @where(n); "
    "var y:? = @index(x, r);",
    "var v:? = @concat(x, x); var n:? = @lt(v, 0:i32); var r:? = @where(n); v = @compress(n, v); "
    "var w:? = @neg(v); var y:? = @index(w, r);",
]  # fmt: skip


def of_pick(made: Program) -> bool:
    return "y" in made.outlined.picks_inside


@pytest.mark.parametrize("text", INSIDE)
def test_positions_that_are_rows_are_not_checked(text: str) -> None:
    for mode in MODES:
        made = program(table(33), text + result(["y"]), mode=mode)
        assert of_pick(made)
        assert not checks(made)
        assert on_device(made, "cpu").equals(made.interpret().to_arrow())


@pytest.mark.parametrize("text", OUTSIDE)
def test_positions_that_may_be_outside_are_checked(text: str) -> None:
    assert not of_pick(program(table(33), text + result(["y"])))


def test_positions_that_overflow_are_checked() -> None:
    """A kernel goes on with a sum that does not fit its type until it says so, and this one then picks by it."""
    rows = pa.table({"x": np.arange(200), "p": np.full(200, 100, np.int8), "q": np.full(200, 120, np.int8)})
    made = program(
        rows, "var d:i8 = @plus(p, q); var e:? = @convert(d, `i64:sym); var y:? = @index(x, e); " + result(["y"])
    )
    assert not of_pick(made)
    with pytest.raises(drawloom.Error, match=r"does not fit|does not have"):
        on_device(made, "cpu")


def test_a_position_of_another_table() -> None:
    """The positions' range is compared with the rows of what is picked from."""
    text = """module m { import Builtin.*; def main() : ? { var t:table = @load_table(`t:sym);
        var u:table = @load_table(`u:sym); var x:i64 = @column_value(t, `x:sym); var p:i64 = @column_value(u, `p:sym);
        var y:? = @index(x, p); return y; } }"""
    where = find_device("cpu")
    for last, is_inside in ((4, True), (5, False)):
        sources = {
            "t": from_arrow("t", pa.table({"x": [7, 8, 9, 10, 11]})),
            "u": from_arrow("u", pa.table({"p": [0, last]})),
        }
        made = Program(parse(text), sources)
        assert bool(checks(made)) != is_inside
        loaded = LoadedProgram(made, where, Resident(where))
        if is_inside:
            assert as_vector(loaded.values()[0]).data.tolist() == [7, 11]
        else:
            with pytest.raises(drawloom.Error, match="@index: a position"):
                loaded.values()
