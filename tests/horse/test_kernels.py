"""PTX templates: what a kernel computes is what the interpreter computes, and the PTX is legal."""

import math
import random
import subprocess
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import drawloom
from drawloom import ptx
from drawloom.horse.program import Program
from drawloom.horse.widths import WIDTH
from tests.horse.programs import columns, on_device, program, result

SIZES = [0, 1, 31, 32, 33, 1023, 1024, 1025, 9973]
D15 = pa.decimal128(15, 2)
D18 = pa.decimal128(18, 0)


def same(made: Program, device: str) -> pa.Table:
    """The device's result, after checking it against the interpreter's, NaN being NaN."""
    ours, oracle = on_device(made, device), made.interpret().to_arrow()
    assert ours.schema == oracle.schema
    assert repr(ours.to_pylist()) == repr(oracle.to_pylist())
    return ours


def numbers(count: int, seed: int = 1) -> pa.Table:
    rng = random.Random(seed)
    each = range(count)
    return columns(
        i=([rng.randint(-100, 100) for _ in each], pa.int32()),
        h=([rng.randint(1, 9) for _ in each], pa.int16()),
        b=([rng.randint(-(10**12), 10**12) for _ in each], pa.int64()),
        d=([Decimal(rng.randint(-(10**7), 10**7)).scaleb(-2) for _ in each], D15),
        f=([rng.choice([0.0, -1.5, math.inf, math.nan, float(rng.randint(-9, 9))]) for _ in each], pa.float64()),
        g=([rng.choice([0.5, -1.5, math.nan, float(rng.randint(-9, 9))]) for _ in each], pa.float32()),
        s=([rng.choice(["a", "bb", "ccc", "é"]) for _ in each], pa.string()),
        q=([rng.random() < 0.5 for _ in each], pa.bool_()),
        dt=([rng.randint(-30000, 30000) for _ in each], pa.date32()),
    )


ELEMENT_WISE = [
    "@plus(i, h)", "@minus(i, b)", "@mul(i, d)", "@mul(d, d)", "@plus(d, 1:i32)", "@minus(0.5:decimal<2,1>, d)",
    "@neg(d)", "@abs(i)", "@mod(b, h)", "@mod(i, -7:i32)", "@div(d, h)", "@div(i, 0:i32)", "@plus(f, d)", "@mul(g, g)",
    "@minus(g, i)", "@neg(f)", "@abs(g)", "@convert(d, `f64:sym)", "@convert(d, `\"decimal<15,1>\":sym)",
    "@convert(i, `\"decimal<10,3>\":sym)", "@convert(g, `f64:sym)", "@convert(b, `f32:sym)", "@convert(q, `i64:sym)",
    "@lt(i, h)", "@eq(d, 5:i32)", "@geq(d, 0.005:decimal<4,3>)", "@neq(b, i)", "@lt(f, g)", "@leq(f, 1.5:f64)",
    "@gt(f, nan:f64)", "@eq(f, nan:f64)", "@geq(f, f)", "@neq(g, d)", "@lt(q, q)", "@and(q, q)", "@or(q, q)", "@not(q)",
    '@eq(s, "bb":str)', '@neq(s, "nope":str)', '@lt(s, "b":str)', '@leq("bb":str, s)', '@gt(s, "":str)',
    '@geq(s, "zz":str)', '@like(s, "%c":str)', '@member(s, ("a", "é"):str)', "@member(i, (1, 2, -3):i32)",
    "@member(d, (1.5, 2.0):decimal<2,1>)", "@if_else(q, d, d)", "@if_else(q, f, 0.0:f64)", "@if_else(q, q, 0:bool)",
    "@date_year(dt)", "@date_month(dt)", "@date_day(dt)", "@minus(dt, dt)", "@plus(dt, i)",
    "@minus(dt, 1990.06.15:date)",
]  # fmt: skip


@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_every_element_wise_template(device: str) -> None:
    """All of them, as many in a kernel as one may have, compressed, so that masks are there too."""
    body = "var m:bool = @gt(h, 2:i32);" + "".join(
        [f"var x{n}:? = {call}; var y{n}:? = @compress(m, x{n});" for n, call in enumerate(ELEMENT_WISE)]
    )
    made = program(numbers(200), body + result([f"y{n}" for n in range(len(ELEMENT_WISE))]))
    kernels = [f for f in made.outlined.module.functions if f.is_kernel]
    assert len(kernels) == 2
    assert all(len(k.params) + len(k.returns) <= WIDTH for k in kernels)
    assert sum([len(k.returns) for k in kernels]) == len(ELEMENT_WISE)
    same(made, device)


REDUCED = ["i", "h", "b", "d", "s", "q", "dt", "g"]


def reductions() -> tuple[str, list[str]]:
    body, names = "", []
    for column in REDUCED:
        for function in ("sum", "avg", "min", "max", "len"):
            if function in ("sum", "avg") and column in ("s", "dt", "q", "g"):
                continue
            body += f"var {function}_{column}:? = @{function}({column}c);"
            names.append(f"{function}_{column}")
    return body, names


@pytest.mark.parametrize("reduces_lanes", [True, False])
@pytest.mark.parametrize("count", SIZES)
def test_reductions_of_every_size(count: int, reduces_lanes: bool) -> None:
    body, names = reductions()
    masked = "".join([f"var {c}c:? = @compress(m, {c});" for c in REDUCED])
    text = f"var m:bool = @gt(h, 2:i32); {masked} {body} {result(names)}"
    same(program(numbers(count), text, reduces_lanes), "cpu")


@pytest.mark.parametrize(
    ("key", "space"), [("@mod(h, 2:i32)", "register"), ("@mod(b, 60:i64)", "shared"), ("@mod(b, 3001:i64)", "global")]
)
@pytest.mark.parametrize("count", [0, 1, 33, 9973])
def test_groups_in_registers_shared_and_global_memory(key: str, space: str, count: int) -> None:
    cells, names = "", ["k0", "k1"]
    for column in REDUCED:
        cells += f"var e_{column}:? = @each_right(@index, {column}, rows);"
        for function in ("sum", "avg", "min", "max", "len"):
            if function in ("sum", "avg") and column in ("s", "dt", "q", "g"):
                continue
            name = f"{function}_{column}"
            cells += f"var c{name}:? = @each(@{function}, e_{column}); var {name}:? = @raze(c{name});"
            names.append(name)
    text = f"""var k:? = {key}; var kl:? = @list(k, q); var gr:? = @group(kl); var firsts:? = @keys(gr);
        var rows:? = @values(gr); var k0:? = @index(k, firsts); var k1:? = @index(q, firsts); {cells} {result(names)}"""
    made = program(numbers(count), text)
    (plan,) = made.plans.values()
    assert plan.space == (space if count > 1 else plan.space)
    same(made, "cpu")


@pytest.mark.parametrize("device", ["cpu", "reference"])
@pytest.mark.parametrize("functions", [[], ["sum"], ["max", "sum"], ["len"]])
def test_groups_that_nobody_counts_are_marked(functions: list[str], device: str) -> None:
    """Groups are in global memory: keys below zero, of two columns, and more of them than there are groups."""
    rng = random.Random(7)
    table = columns(
        x=([rng.randint(-(10**12), 10**12) for _ in range(300)], pa.int64()),
        k=([-4000, 4000, *[rng.randint(-4000, 4000) for _ in range(298)]], pa.int32()),
        q=([rng.random() < 0.5 for _ in range(300)], pa.bool_()),
    )
    cells = "".join([f"var c{n}:? = @each(@{f}, xc); var s{n}:? = @raze(c{n});" for n, f in enumerate(functions)])
    text = f"""var kl:? = @list(k, q); var gr:? = @group(kl); var rows:? = @values(gr); var firsts:? = @keys(gr);
        var k0:? = @index(k, firsts); var k1:? = @index(q, firsts); var xc:? = @each_right(@index, x, rows); {cells}
        {result(["k0", "k1", *[f"s{n}" for n in range(len(functions))]])}"""
    made = program(table, text)
    (plan,) = made.plans.values()
    assert plan.space == "global"
    # The least and the greatest of a group, and its number of rows, need that number.
    assert bool(plan.marks) == (functions in ([], ["sum"]))
    same(made, device)


@pytest.mark.parametrize(("top", "is_fused"), [(69_999, True), (70_000, False)])
def test_as_many_groups_as_rows_are_aggregated_in_place(top: int, is_fused: bool) -> None:
    rng = random.Random(1)
    keys = [0, top, *[rng.randint(0, top) for _ in range(70_000 - 2)]]
    table = columns(x=([rng.randint(-9, 9) for _ in keys], pa.int32()), k=(keys, pa.int32()))
    text = f"""var kl:? = @list(k); var gr:? = @group(kl); var rows:? = @values(gr);
        var xc:? = @each_right(@index, x, rows); var sc:? = @each(@sum, xc); var s0:? = @raze(sc); {result(["s0"])}"""
    made = program(table, text)
    assert any(plan.exists >= 0 for plan in made.plans.values()) == is_fused
    same(made, "cpu")


def test_a_table_of_groups_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("drawloom.horse.groups.MAX_ENTRIES", 27)
    table = columns(x=([1, 2, 3, 4], pa.int32()), k=([0, 6, 1, 2], pa.int32()))
    text = f"""var kl:? = @list(k); var gr:? = @group(kl); var rows:? = @values(gr);
        var xc:? = @each_right(@index, x, rows); var sc:? = @each(@sum, xc); var s0:? = @raze(sc); {result(["s0"])}"""
    assert not any(plan.exists >= 0 for plan in program(table, text).plans.values())


def test_masked_cells_are_reduced_where_the_mask_is() -> None:
    text = f"""var kl:? = @list(h); var gr:? = @group(kl); var rows:? = @values(gr);
        var m:? = @gt(i, 0:i32); var mc:? = @each_right(@index, m, rows); var dc:? = @each_right(@index, d, rows);
        var kept:? = @each_item(@compress, mc, dc); var sc:? = @each(@sum, kept); var s0:? = @raze(sc);
        var nc:? = @each(@len, kept); var n0:? = @raze(nc); {result(["s0", "n0"])}"""
    made = program(numbers(500), text)
    assert len(made.plans) == 1
    same(made, "cpu")


def test_a_reduction_of_what_depends_on_a_reduction_is_a_second_kernel() -> None:
    text = f"var a:? = @avg(d); var m:? = @gt(d, a); var x:? = @compress(m, b); var s0:? = @sum(x); {result(['s0'])}"
    made = program(numbers(500), text)
    assert len(made.plans) == 2
    same(made, "cpu")


# Exactness and overflow

BIG = 10**18 - 1


@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_sums_beyond_64_bits_are_exact(device: str) -> None:
    values = [BIG, -BIG, BIG, BIG - 5, 7] * 40 + [BIG] * 33
    table = columns(x=([Decimal(v) for v in values], D18), k=([n % 3 for n in range(len(values))], pa.int8()))
    text = f"""var s0:? = @sum(x); var a0:? = @avg(x); {result(["s0", "a0"])}"""
    made = program(table, text)
    assert "i128" in {a.kind for a in made.plans["main_0"].accumulators}
    assert same(made, device).to_pylist()[0]["s0"] == Decimal(sum(values))
    grouped = f"""var kl:? = @list(k); var gr:? = @group(kl); var rows:? = @values(gr);
        var xc:? = @each_right(@index, x, rows); var sc:? = @each(@sum, xc); var s0:? = @raze(sc); {result(["s0"])}"""
    made = program(table, grouped)
    expected = [Decimal(sum(values[r::3])) for r in range(3)]
    assert [row["s0"] for row in same(made, device).to_pylist()] == expected


@pytest.mark.parametrize("groups", [700, 5000])
def test_128_bit_sums_in_tables_carry(groups: int) -> None:
    rng = random.Random(3)
    values = [rng.choice([BIG, BIG, -BIG, rng.randint(-BIG, BIG)]) for _ in range(20000)]
    keys = [n % groups for n in range(len(values))]
    table = columns(x=([Decimal(v) for v in values], D18), k=(keys, pa.int32()))
    text = f"""var kl:? = @list(k); var gr:? = @group(kl); var rows:? = @values(gr);
        var xc:? = @each_right(@index, x, rows); var sc:? = @each(@sum, xc); var s0:? = @raze(sc); {result(["s0"])}"""
    made = program(table, text)
    assert made.plans["main_0"].space == ("shared" if groups == 700 else "global")
    same(made, "cpu")


@given(st.lists(st.tuples(st.integers(-BIG, BIG), st.integers(-BIG, BIG)), min_size=1, max_size=40))
@settings(max_examples=25)
def test_products_and_sums_are_checked_exactly_where_ranges_do_not_prove_them(pairs: list[tuple[int, int]]) -> None:
    """One wide pair makes every operation checked; the result is the interpreter's, or both refuse."""
    table = columns(
        x=([Decimal(a) for a, _ in pairs], D18),
        y=([Decimal(b) for _, b in pairs], D18),
        u=([a * 9 for a, _ in pairs], pa.int64()),
        v=([b * 9 for _, b in pairs], pa.int64()),
    )
    for call in ("@mul(x, y)", "@mul(u, v)", "@plus(u, v)", "@minus(u, v)", "@mul(x, 3:i32)"):
        made = program(table, f"var z:? = {call}; {result(['z'])}")
        try:
            expected: Any = made.interpret().to_arrow().to_pylist()
        except drawloom.DataError:
            with pytest.raises(drawloom.DataError, match="overflow"):
                on_device(made, "reference")
        else:
            assert on_device(made, "reference").to_pylist() == expected


@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_an_overflow_of_rows_that_are_not_selected_is_none(device: str) -> None:
    table = columns(x=([Decimal(BIG), Decimal(2)], D18), k=([0, 1], pa.int32()))
    text = "var m:? = @eq(k, {}:i32); var a:? = @compress(m, x); var z:? = @mul(a, a); var s0:? = @sum(z);" + result(
        ["s0"]
    )
    assert on_device(program(table, text.format(1)), device).to_pylist() == [{"s0": Decimal(4)}]
    with pytest.raises(drawloom.DataError, match="overflow: a result of @mul does not fit decimal<18,0>"):
        on_device(program(table, text.format(0)), device)


def test_a_device_answers_after_an_overflow() -> None:
    table = columns(x=([Decimal(BIG)] * 3, D18))
    with pytest.raises(drawloom.DataError):
        on_device(program(table, f"var z:? = @mul(x, x); var s0:? = @sum(z); {result(['s0'])}"), "cpu")
    assert on_device(program(table, f"var s0:? = @sum(x); {result(['s0'])}"), "cpu").to_pylist() == [{"s0": 3 * BIG}]


# The PTX itself


def sample_programs() -> list[Program]:
    body, names = reductions()
    masked = "".join([f"var {c}c:? = @compress(m, {c});" for c in REDUCED])
    element_wise = "".join([f"var x{n}:? = {call};" for n, call in enumerate(ELEMENT_WISE)])
    grouped = """var k:? = @mod(b, {}:i64); var kl:? = @list(k); var gr:? = @group(kl); var rows:? = @values(gr);
        var fc:? = @each_right(@index, f, rows); var mc:? = @each(@max, fc); var m0:? = @raze(mc);
        var bc:? = @each_right(@index, b, rows); var sc:? = @each(@sum, bc); var s0:? = @raze(sc);"""
    table = numbers(100)
    return [
        program(table, f"var m:? = @gt(h, 2:i32); {masked} {body} {result(names)}"),
        program(table, f"var m:? = @gt(h, 2:i32); {masked} {body} {result(names)}", False),
        program(table, element_wise + result([f"x{n}" for n in range(len(ELEMENT_WISE))])),
        *[program(table, grouped.format(n) + result(["m0", "s0"])) for n in (3, 300, 9000)],
        program(columns(x=([Decimal(BIG)], D18)), f"var z:? = @mul(x, x); var s0:? = @sum(z); {result(['s0'])}"),
    ]


def test_generated_ptx_verifies_and_reads_back() -> None:
    for made in sample_programs():
        for plan in made.plans.values():
            ptx.verify(plan.module)
            assert ptx.parse(str(plan.module)) == plan.module


@pytest.mark.vendor
def test_the_vendors_assembler_takes_it(ptxas: str, tmp_path: Path) -> None:
    path = tmp_path / "kernels.ptx"
    for made in sample_programs():
        for plan in made.plans.values():
            path.write_text(str(plan.module))
            done = subprocess.run([ptxas, "-arch=sm_80", str(path), "-o", "/dev/null"], capture_output=True, text=True)
            assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["out", "rows", "chunk", "error", "result0", "text0", "add", "ld", "tid", "groups"])
def test_variables_may_have_any_name(name: str) -> None:
    table = columns(**{name: ([1, 2, 3], pa.int32())}, s=(["a", "b", "c"], pa.string()))
    text = f"""var m:? = @lt(s, "c":str); var c:? = @compress(m, {name}); var s0:? = @sum(c); {result(["s0"])}"""
    assert same(program(table, text), "cpu").to_pylist() == [{"s0": Decimal(3)}]


def test_two_groups_are_two_kernels() -> None:
    """A kernel numbers its rows by one group; reductions without a group are not by that of another."""
    text = f"""var al:? = @list(h); var ag:? = @group(al); var ar:? = @values(ag);
        var ac:? = @each_right(@index, d, ar);
        var as:? = @each(@sum, ac); var a0:? = @raze(as); var a1:? = @max(a0);
        var bl:? = @list(q); var bg:? = @group(bl); var br:? = @values(bg); var bc:? = @each_right(@index, d, br);
        var bs:? = @each(@sum, bc); var b0:? = @raze(bs); var b1:? = @max(b0); var s0:? = @sum(d);
        {result(["a1", "b1", "s0"])}"""
    made = program(numbers(300), text)
    # The sum of all rows, each group's sums, and the greatest of each of these.
    assert [plan.groups for plan in made.plans.values()] == [1, 9, 2, 1, 1]
    same(made, "cpu")


def test_masks_over_large_dictionaries_go_into_kernels() -> None:
    """LIKE over more strings than a bit mask has is control code; what it selects is still reduced in a kernel."""
    count = 5000
    table = columns(
        w=([f"w{n * 7919 % 997}" for n in range(count)], pa.string()),
        x=([n % 1000 for n in range(count)], pa.int32()),
        k=([n % 3 for n in range(count)], pa.int8()),
    )
    text = f"""var m:? = @like(w, "%7":str); var n:? = @gt(x, 10:i32); var both:? = @and(m, n);
        var c:? = @compress(both, x); var kc:? = @compress(both, k); var kl:? = @list(kc); var gr:? = @group(kl);
        var rows:? = @values(gr); var cc:? = @each_right(@index, c, rows); var sc:? = @each(@sum, cc);
        var s0:? = @raze(sc); {result(["s0"])}"""
    made = program(table, text)
    assert list(made.plans) == ["main_0"]
    main = made.outlined.module.function("main")
    assert main is not None
    assert [p.name for p in made.outlined.module.functions[1].params if p.type.text == "bool"] == ["m"]
    same(made, "cpu")
