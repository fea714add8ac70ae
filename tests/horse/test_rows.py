"""Kernels over rows that no stored table has: a join's, those that a mask selects, those of groups.

What a kernel computes is what the interpreter computes, on the ``cpu`` and ``reference`` devices, where kernels are
asked for also of few rows.
"""

import random
import subprocess
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from drawloom.errors import DataError
from drawloom.horse import launch
from drawloom.horse.interpret import run as interpret
from drawloom.horse.launch import Resident
from drawloom.horse.program import LoadedProgram, Program
from drawloom.horse.results import to_arrow
from drawloom.ptx import parse, verify
from drawloom.runtime.machine import device as find_device
from drawloom.runtime.module import launches
from tests.horse.programs import columns, control, program, result
from tests.horse.test_kernels import numbers
from tests.horse.test_outline import kernels

#: The last is more than a block's rows.
SIZES = [0, 1, 31, 32, 33, 1025, 9973]
NAMES = "i h b d f g s q dt".split()


class Ran:
    """A program that ran: its ``kernels`` on the device, and the names of those that it launched, the library's too."""

    def __init__(self, loaded: LoadedProgram, launches: list[str]) -> None:
        self.program = loaded.program
        self.kernels = loaded.kernels
        self.launches = launches


def same(made: Program, device: str = "cpu") -> Ran:
    """The program on the device with a kernel for everything, after comparing its result with the interpreter's."""
    where = find_device(device)
    loaded = LoadedProgram(made, where, Resident(where, "kernels"))
    with launches() as seen:
        ours = loaded.run().to_arrow()
    oracle = made.interpret().to_arrow()
    assert ours.schema == oracle.schema
    assert repr(ours.to_pylist()) == repr(oracle.to_pylist())
    return Ran(loaded, [launch.kernel for launch in seen])


def joined(count: int, seed: int = 1) -> pa.Table:
    """``numbers`` with a key ``k`` that joins each row with some three of the same table, and row numbers ``r``."""
    rng = random.Random(seed)
    keys = [rng.randint(0, max(count // 3, 1)) for _ in range(count)]
    table = numbers(count).append_column("k", pa.array(keys, pa.int32()))
    return table.append_column("r", pa.array([rng.randint(-1, count - 1) for _ in range(count)], pa.int64()))


JOIN = """var kl:? = @list(k); var two:? = @join(kl, kl);
    var left:i64 = @item(two, 0:i64); var right:i64 = @item(two, 1:i64);"""


@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_picks_of_every_type(device: str) -> None:
    """Also by rows that are below zero, which give zero, and through rows that are picked themselves."""
    names = [n for n in NAMES if n != "s"]
    body = "".join([f"var x{c}:? = @index({c}, left); var z{c}:? = @index({c}, both);" for c in NAMES])
    body += "".join([f"var y{c}:? = @outer_index({c}, none);" for c in names])
    made = program(
        joined(300),
        f"{JOIN} var none:? = @index(r, right); var kept:? = @geq(none, 0:i64); var some:? = @compress(kept, none);"
        f"var both:? = @index(left, left); {body}" + result([f"{x}{c}" for x in "xz" for c in NAMES]
        + [f"y{c}" for c in names]),
    )  # fmt: skip
    assert same(made, device).launches


@pytest.mark.parametrize(("count", "mode"), [*[(size, "full") for size in SIZES], (33, "none"), (33, "flow")])
def test_what_a_joins_rows_give_is_computed_in_kernels(count: int, mode: str) -> None:
    text = f"""{JOIN} var a:? = @index(i, left); var b1:? = @index(h, right); var c:? = @mul(a, b1);
        var m:? = @gt(c, 20:i32); var cm:? = @compress(m, c); var s0:? = @sum(cm); var n0:? = @len(cm);
        var w:? = @where(m); var lw:? = @index(left, w); var e:? = @index(d, lw); var s1:? = @sum(e);
        var zl:? = @list(cm, e); var zt:? = @table((`c, `e):sym, zl);
        var sl:? = @list(s0, n0, s1); return zt;"""
    same(program(joined(count), text, mode=mode))
    totals = text.replace("return zt", result(["s0", "n0", "s1"]).replace("zl", "yl").replace("zt", "yt")[:-1])
    made = same(program(joined(count), totals, mode=mode))
    if mode == "full":
        assert len(kernels(made.program)) == 1


@pytest.mark.parametrize(("count", "device"), [*[(n, "cpu") for n in (0, 1, 33, 1025)], (97, "reference")])
def test_groups_in_place_over_a_joins_rows(count: int, device: str) -> None:
    text = f"""{JOIN} var g0:? = @index(h, left); var g1:? = @index(s, right); var x:? = @index(d, right);
        var y:? = @mul(x, g0); var gl:? = @list(g0, g1); var gr:? = @group(gl); var firsts:? = @keys(gr);
        var rows:? = @values(gr); var k0:? = @index(g0, firsts); var k1:? = @index(g1, firsts);
        var cells:? = @each_right(@index, y, rows); var sc:? = @each(@sum, cells); var s0:? = @raze(sc);
        var mc:? = @each(@max, cells); var m0:? = @raze(mc); var twice:? = @plus(m0, m0);
        {result(["k0", "k1", "s0", "m0", "twice"])}"""
    made = same(program(joined(count), text), device)
    assert "@group" not in control(made.program)


@pytest.mark.parametrize(("count", "as_on_gpu"), [*[(n, False) for n in SIZES], *[(n, True) for n in (33, 9973)]])
def test_selected_rows_leave_a_kernel_one_behind_the_other(count: int, as_on_gpu: bool) -> None:
    """Under two masks, one within the other, and with the numbers of the rows."""
    chosen = "".join([f"var x{c}:? = @compress(m, {c}); var y{c}:? = @index({c}, wn);" for c in NAMES])
    text = f"var m:? = @gt(h, 2:i32); var n:? = @and(m, q); var w:? = @where(m); var wn:? = @where(n); {chosen}"
    for names in ([*[f"x{c}" for c in NAMES], "w"], [*[f"y{c}" for c in NAMES], "wn"]):
        made = same(program(numbers(count), text + result(names), as_on_gpu))
        assert len(kernels(made.program)) == 1


@pytest.mark.parametrize("as_on_gpu", [False, True])
def test_selected_rows_of_many_tiles_are_in_order(as_on_gpu: bool) -> None:
    """Few of some tiles and all of others, beside what is not selected and what is reduced; when the kernel runs again
    it knows where it selected many."""
    x = np.random.default_rng(1).integers(0, 1 << 20, 1_200_000).astype(np.int32)
    text = f"""var m:? = @lt(x, k); var n:? = @gt(k, 1000000:i32); var a:? = @compress(m, x); var w:? = @where(n);
        var y:? = @plus(x, 1:i32); var s0:? = @sum(x); var al:? = @list(a); var at:? = @table(`a:sym, al);
        var wl:? = @list(w); var wt:? = @table(`w:sym, wl); var yl:? = @list(y, k);
        var yt:? = @table((`y, `k):sym, yl); var sl:? = @list(s0); {result(["s0"])}"""
    k = np.repeat((np.arange(100) * 12345 % (1 << 20)).astype(np.int32), 12_000)
    text = text.replace("return zt;", "return at, wt, yt, zt;")
    made = program(pa.table({"x": x, "k": k}), text, as_on_gpu, results=4)
    where = find_device("cpu")
    loaded = LoadedProgram(made, where, Resident(where, "kernels"))
    (kernel,) = loaded.kernels.values()
    expected: list[np.ndarray] = [x[x < k], np.flatnonzero(k > 1_000_000), x + 1, np.array([x.sum()])]
    for dense in (0, 0 if as_on_gpu else 1):
        assert len(kernel.dense) == dense
        found = [to_arrow(v) for v in loaded.values()]
        for table, values in zip(found, expected):
            assert np.array_equal(table.column(0).to_numpy(), values)


@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_many_masks_in_one_kernel(device: str) -> None:
    """More than a block of a GPU has room for, so that its tiles are smaller."""
    masks = range(7)
    text = "".join([f"var m{n}:? = @gt(h, {n}:i16); var x{n}:? = @compress(m{n}, d);" for n in masks])
    text += "".join([f"var l{n}:? = @list(x{n}); var t{n}:? = @table(`x:sym, l{n});" for n in masks])
    count = 9973 if device == "cpu" else 300
    made = program(numbers(count), f"{text} return {', '.join([f't{n}' for n in masks])};", results=7)
    where = find_device(device)
    found = [to_arrow(v) for v in LoadedProgram(made, where, Resident(where, "kernels")).values()]
    assert found == [to_arrow(v) for v in interpret(made.module, made.sources)]
    assert len(kernels(made)) == 1


@pytest.mark.parametrize("as_on_gpu", [False, True])
@pytest.mark.parametrize("place", ["outside", "between", "inside"])
def test_an_overflow_of_rows_that_a_later_mask_drops_is_one(place: str, as_on_gpu: bool) -> None:
    """Values are computed for rows that all masks select, but checked for all that the interpreter computes."""
    b = [3] * 5000
    b[{"outside": 4000, "between": 4001, "inside": 4002}[place]] = 1 << 40
    table = columns(b=(b, pa.int64()), h=([n % 5 for n in range(5000)], pa.int16()))
    text = f"""var m:? = @gt(h, 0:i16); var c:? = @compress(m, b); var ch:? = @compress(m, h); var y:? = @mul(c, c);
        var n:? = @gt(ch, 1:i16); var z:? = @compress(n, y); {result(["z"])}"""
    made = program(table, text, as_on_gpu)
    if place == "outside":
        assert same(made).launches
        return
    where = find_device("cpu")
    with pytest.raises(DataError, match="overflow"):
        made.interpret()
    with pytest.raises(DataError, match="overflow"):
        LoadedProgram(made, where, Resident(where, "kernels")).run()


def test_what_is_picked_from_leaves_its_kernel_first() -> None:
    text = f"""{JOIN} var p:? = @mul(i, h); var v:? = @index(p, left); var u:? = @plus(v, 1:i32);
        {result(["u"])}"""
    made = same(program(joined(200), text))
    assert kernels(made.program) == [["mul"], ["index", "plus"]]


def test_columns_of_unlike_lengths_are_no_kernels_rows() -> None:
    """``x`` has another length each time that the loop comes round, under one name; what was computed from it before
    does not go together with it then."""
    text = f"""var m:? = @gt(h, 2:i32); var x:i64 = @where(m); var y:? = @plus(x, 1:i64); var c:i64 = @len(x);
        repeat(2:i64) {{ x = @top(x, 0:i64, 5:i64); var z:? = @mul(x, 2:i64); c = @sum(z); }}
        {result(["c"])}""".replace("c:i64 = @len(x)", "c:i128 = @sum(x)")
    same(program(numbers(100), text))


def test_sums_are_as_wide_as_the_rows_are_many() -> None:
    """A join has more rows than any table: its kernel is made again for so many."""
    count = 600
    table = columns(k=([0] * count, pa.int32()), x=([(1 << 50) - n for n in range(count)], pa.int64()))
    text = f"{JOIN} var v:? = @index(x, left); var s0:? = @sum(v); {result(['s0'])}"
    made = program(table, text)
    plans = dict(made.plans)
    loaded = same(made)
    (name,) = plans
    assert plans[name].most_rows == 1024 and {a.kind for a in plans[name].accumulators} == {"i64"}
    assert {a.kind for a in loaded.kernels[name].plan.accumulators} == {"i128"}


def test_few_rows_are_numpys_on_a_cpu() -> None:
    text = f"{JOIN} var a:? = @index(i, left); var c:? = @neg(a); {result(['c'])}"
    made = program(joined(100), text)
    device = find_device("cpu")
    loaded = LoadedProgram(made, device, Resident(device))
    with launches() as seen:
        assert loaded.run().to_arrow() == made.interpret().to_arrow()
    assert seen == []
    (kernel,) = loaded.kernels.values()
    assert kernel.is_better(launch.LEAST_COMPUTED, "auto", True)
    assert not kernel.is_better(launch.LEAST_COMPUTED - 1, "auto", True)


def test_what_is_asked_for_once_is_not_compiled() -> None:
    text = f"{JOIN} var a:? = @index(i, left); var c:? = @neg(a); {result(['c'])}"
    device = find_device("cpu")
    for rows, first in ((launch.LEAST_COMPUTED, False), (launch.LEAST_COMPILED, True)):
        (kernel,) = LoadedProgram(program(joined(10), text), device, Resident(device)).kernels.values()
        assert [kernel.is_better(rows, "auto", True) for _ in range(3)] == [first, True, True]


def test_more_groups_than_rows_are_not_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    table = columns(k=([1, 2, 3] * 50_000, pa.int32()), x=(list(range(150_000)), pa.int32()))
    text = f"""var m:? = @lt(x, 50:i32); var kl:? = @list(k); var w:? = @where(m); var top:i64 = @top(w, 0:i64, 40:i64);
        var v:? = @index(x, top); var gl:? = @list(v); var gr:? = @group(gl); var rows:? = @values(gr);
        var cells:? = @each_right(@index, v, rows); var sc:? = @each(@sum, cells); var s0:? = @raze(sc);
        {result(["s0"])}"""
    made = same(program(table, text))
    grouped = [name for name, plan in made.program.plans.items() if plan.groups > 1]
    assert grouped and not set(made.launches).intersection(grouped)


def test_the_vendors_assembler_takes_it(ptxas: str, tmp_path: Path) -> None:
    text = f"""{JOIN} var a:? = @index(i, left); var b1:? = @outer_index(b, r); var c:? = @mul(a, 2:i32);
        var m:? = @gt(c, 20:i32); var w:? = @where(m); var cm:? = @compress(m, a); {result(["cm", "w"])}"""
    for plan in program(joined(50), text).plans.values():
        verify(parse(str(plan.module)))
        path = tmp_path / "rows.ptx"
        path.write_text(str(plan.module))
        done = subprocess.run([ptxas, "-arch=sm_80", str(path), "-o", "/dev/null"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
