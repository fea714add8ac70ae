"""Pictures of outlines: what stands in them, and that an SVG's boxes do not cover each other."""

import re
import xml.etree.ElementTree as xml
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from drawloom.cli.explain import command
from drawloom.horse.outline import MODES
from drawloom.horse.picture import as_dot, as_svg, as_text
from tests.horse.programs import program, result
from tests.horse.test_kernels import numbers

BODY = f"""var x:? = @mul(i, h); var a:? = @max(x); var m:? = @gt(x, a); var z:? = @compress(m, d); var s0:? = @sum(z);
    var w:? = @lt(s, "b":str); var y:? = @compress(w, i); {result(["s0", "y"])}"""


def test_text_has_kernels_geometries_and_stars() -> None:
    shown = as_text(program(numbers(10), BODY).outlined)
    lines = [re.sub(r"  +", "  ", line.strip()) for line in shown.splitlines()]
    assert lines[:2] == ["control code", "i = t.i  cpu"]
    start = lines.index("kernel main_0")
    assert lines[start:] == [
        "kernel main_0", "x = @mul(i, h)  `t  <- i h", "a = @max(x)  `t  <- x", 'w = @lt(s, "b")  `t  <- s',
        "y = @compress(w, i)  `t  <- w i", "kernel main_1", "x = @mul(i, h)  `t  <- i h", "m = @gt(x, a)  `t  <- x a*",
        "z = @compress(m, d)  `t  <- m d", "s0 = @sum(z)  `t[m]  <- z",
    ]  # fmt: skip
    assert "zl = @list(s0, y)  cpu  <- s0* y" in lines


def test_text_has_the_geometry_of_lists() -> None:
    body = f"""var gl:? = @list(f); var gr:? = @group(gl); var rows:? = @values(gr);
        var c:? = @each_right(@index, i, rows); var sc:? = @each(@sum, c); var s0:? = @raze(sc); {result(["s0"])}"""
    shown = as_text(program(numbers(10), body).outlined)
    lines = [re.sub(r"  +", "  ", line.strip()) for line in shown.splitlines()]
    cells = "List(?gr, [Vector(?gr[])])"
    assert lines[lines.index("kernel main_0") :] == [
        "kernel main_0", f"c = @each_right(@index, i, rows)  {cells}  <- i rows", f"sc = @each(@sum, c)  {cells}  <- c",
        "s0 = @raze(sc)  List(?gr, [Vector(1)])  <- sc",
    ]  # fmt: skip


@pytest.mark.parametrize("mode", MODES)
def test_dot_defines_every_node_that_edges_join(mode: str) -> None:
    outlined = program(numbers(10), BODY, mode=mode).outlined
    text = as_dot(outlined)
    defined = re.findall(r'^ +("[^"]+") \[label=', text, re.M)
    ends = re.findall(r'^ +("[^"]+") -> ("[^"]+")', text, re.M)
    assert ends and {e for pair in ends for e in pair} <= set(defined)
    assert len(defined) == len(set(defined))
    assert text.count("subgraph cluster_") == len(outlined.blocks[0].regions)
    assert r"w = @lt(s, \"b\")" in text
    assert text.count("{") == text.count("}")


Box = tuple[float, float, float, float]


def box(element: xml.Element) -> Box:
    x, y, width, height = [float(element.attrib[k]) for k in ("x", "y", "width", "height")]
    return (x, y, x + width, y + height)


def apart(a: Box, b: Box) -> bool:
    return a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]


@pytest.mark.parametrize("mode", MODES)
def test_svg_boxes_are_apart_and_arrows_point_down(mode: str) -> None:
    outlined = program(numbers(10), BODY, mode=mode).outlined
    elements = list(xml.fromstring(as_svg(outlined)).iter())
    named = [(e.attrib.get("class", ""), e) for e in elements]
    nodes = [box(e) for kind, e in named if kind.startswith("node")]
    inside = [box(e) for kind, e in named if kind == "node gpu"]
    kernels = [box(e) for kind, e in named if kind == "kernel"]
    assert len(kernels) == len(outlined.blocks[0].regions)
    assert len(inside) == sum(len(r.members) for r in outlined.blocks[0].regions)
    for boxes in (nodes, kernels):
        assert all(apart(a, b) for n, a in enumerate(boxes) for b in boxes[:n])
    for node in nodes:
        held = [k for k in kernels if k[0] <= node[0] and k[1] <= node[1] and k[2] >= node[2] and k[3] >= node[3]]
        assert len(held) == (1 if node in inside else 0)
        assert all(apart(node, k) for k in kernels if k not in held)
    for kind, element in named:
        if kind == "edge":
            ys = [float(n) for n in re.findall(r"[-\d.]+", element.attrib["d"])][1::2]
            assert ys[0] < ys[-1]


def test_every_block_of_a_loop_is_drawn() -> None:
    body = f"""var x:i64 = @convert(i, `i64:sym); repeat (3:i64) {{ x = @plus(x, 1:i64); }} var s0:? = @sum(x);
        {result(["s0"])}"""
    outlined = program(numbers(10), body).outlined
    lines = [re.sub(r"  +", "  ", line.strip()) for line in as_text(outlined).splitlines()]
    for line in ("x = @convert(i, `i64)  `t  <- i", "x_next = @plus(x, 1)  `t  <- x", "s0 = @sum(x)  `t  <- x"):
        assert lines[lines.index(line) - 1].startswith("kernel ")
    kernels = [e for e in xml.fromstring(as_svg(outlined)).iter() if e.attrib.get("class") == "kernel"]
    assert len(kernels) == as_dot(outlined).count("subgraph") == 3


def test_the_command_draws_queries_and_programs(tmp_path: Path) -> None:
    pq.write_table(numbers(10), tmp_path / "t.parquet")
    table = f"--table=t={tmp_path / 't.parquet'}"
    hir = tmp_path / "query.hir"
    hir.write_text(
        "module m { import Builtin.*; def main() : table { var t:? = @load_table(`t:sym); "
        f"var i:i32 = check_cast(@column_value(t, `i:sym), i32); var s0:? = @sum(i); {result(['s0'])} }} }}"
    )
    for query in ("select sum(i) from t", str(hir)):
        for style, start in (("text", "control code\n"), ("dot", "digraph"), ("svg", "<svg")):
            done = CliRunner().invoke(command, [query, table, "--outline", "--format", style], catch_exceptions=False)
            assert done.exit_code == 0 and done.output.startswith(start) and "@sum(" in done.output
        done = CliRunner().invoke(command, [query, table], catch_exceptions=False)
        assert "-- outline\n" in done.output and ".entry main_0(" in done.output
    refused = CliRunner().invoke(command, ["select 1", "--format", "svg"])
    assert refused.exit_code == 2 and "--format svg is for --outline" in refused.output
