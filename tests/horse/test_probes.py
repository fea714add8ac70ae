"""Tables of the keys that there are: ``@contains`` of integers as part of kernels, and what its masks select."""

import numpy as np
import pyarrow as pa
import pytest

from drawloom.horse.ir import Name, Return
from tests.horse.programs import control, program, result
from tests.horse.test_rows import SIZES, same

TYPES = [pa.int8(), pa.int16(), pa.int32(), pa.int64()]


def table(count: int, low: int, keys: pa.DataType = TYPES[3], others: pa.DataType = TYPES[2]) -> pa.Table:
    """``a`` from ``low`` on, ``b`` within 40; ``s`` and ``x`` beside them."""
    rng = np.random.default_rng(count)
    return pa.table({
        "a": pa.array(rng.integers(low, low + 60, count), keys), "b": pa.array(rng.integers(0, 40, count), others),
        "x": pa.array(rng.integers(-99, 99, count), pa.int32()),
        "s": pa.array([["red", "green", "blue"][n] for n in rng.integers(0, 3, count)], pa.string()),
    })  # fmt: skip


#: Rows that a mask selects, of these those that ``b`` has, of these groups in place and rows that leave.
SELECTED = """var m0:? = @gt(x, 0:i32); var am:? = @compress(m0, a); var wm:? = @where(m0); var bm:? = @gt(x, 50:i32);
    var bb:? = @compress(bm, b); var al:? = @list(am); var bl:? = @list(bb); var c:? = @contains(al, bl);
    var w:? = @where(c); var r:? = @index(wm, w); var sr:? = @index(s, r); var xr:? = @index(x, r);"""
GROUPED = """var gl:? = @list(sr); var gr:? = @group(gl); var firsts:? = @keys(gr); var rows:? = @values(gr);
    var k0:? = @index(sr, firsts); var xc:? = @each_right(@index, xr, rows); var xs:? = @each(@sum, xc);
    var s0:? = @raze(xs);"""


@pytest.mark.parametrize("low", [0, 10, -70, 45])
@pytest.mark.parametrize(("count", "device"), [*[(n, "cpu") for n in SIZES], (97, "reference")])
def test_masks_of_keys(count: int, device: str, low: int) -> None:
    """Keys within the bounds of the others, or partly or not at all."""
    if low and count not in (33, 97):
        return
    made = program(table(count, low), SELECTED + result(["r", "sr", "xr"]), count % 2 == 0)
    assert count == 0 or ("@present" in control(made) and "@contains" not in control(made))
    same(made, device)
    grouped = program(table(count, low), SELECTED + GROUPED + result(["k0", "s0"]), count % 2 == 0)
    assert count == 0 or "@group" not in control(grouped)
    same(grouped, device)


@pytest.mark.parametrize("keys", TYPES)
@pytest.mark.parametrize("others", TYPES)
def test_keys_of_two_widths(keys: pa.DataType, others: pa.DataType) -> None:
    text = """var al:? = @list(a); var bl:? = @list(b); var c:? = @contains(al, bl); var n:? = @not(c);
        var y:? = @compress(n, x); var s0:? = @sum(y); var s1:? = @sum(c);""" + result(["s0", "s1"])
    made = program(table(97, 20, keys, others), text)
    assert "@present" in control(made)
    same(made)


@pytest.mark.parametrize("mode", ["none", "flow"])
def test_other_modes_call_the_library(mode: str) -> None:
    made = program(table(97, 0), SELECTED + result(["r"]), mode=mode)
    assert "@contains" in control(made)
    same(made)


def test_keys_that_are_sparse_or_no_integers_are_the_librarys() -> None:
    given = table(97, 0).append_column("far", pa.array([0, *[1 << 40] * 96], pa.int64()))
    for a, b in (("a", "far"), ("s", "s"), ("a", "a")):
        text = f"""var al:? = @list({a}); var bl:? = @list({b}); var c:? = @contains(al, bl); var s0:? = @sum(c);"""
        made = program(given, text + result(["s0"]))
        assert "@contains" in control(made)
        same(made)


def test_positions_among_compressed_rows_that_anything_else_reads_are_counted() -> None:
    text = SELECTED + result(["r", "sr"]).replace("@list(r, sr)", "@list(w, sr)")
    made = program(table(97, 0), text)
    assert "@where" in control(made)
    same(made)


def test_keys_that_only_a_table_of_keys_is_asked_for_never_leave_their_kernel() -> None:
    text = """var y:? = @plus(a, 1:i64); var al:? = @list(y); var bl:? = @list(b); var c:? = @contains(al, bl);
        var s0:? = @sum(c);""" + result(["s0"])
    made = program(table(97, 20), text)
    returned = [function.body[-1] for function in made.outlined.module.functions if function.is_kernel]
    assert [[v.name for v in s.values if isinstance(v, Name)] for s in returned if isinstance(s, Return)] == [["s0"]]
    same(made)
