"""Shapes: the figures and tables of thesis section 4.2, merging, calls, and what runs say about generated programs."""

from __future__ import annotations

import random

import pytest

import drawloom
from drawloom.horse import interpret as interpreter
from drawloom.horse.builtins import BUILTINS
from drawloom.horse.graph import Graph
from drawloom.horse.infer import infer
from drawloom.horse.ir import Assign, Function, Statement
from drawloom.horse.parser import parse
from drawloom.horse.shape_analysis import analyse, shapes_at
from drawloom.horse.shape_rules import RULES
from drawloom.horse.shapes import (
    Compressed,
    Constant,
    DictShape,
    Dynamic,
    EnumShape,
    ListShape,
    Merge,
    Shape,
    Size,
    Symbol,
    TableShape,
    Unknown,
    VectorShape,
    dynamic_shape,
    element_wise,
)
from drawloom.horse.store import from_arrow
from drawloom.horse.types import I32, I64, STR, TABLE, WILDCARD, DictType, EnumType, ListType
from drawloom.horse.values import Vector
from tests.horse.random_programs import Programs, random_table

FIGURE_4_7 = """module m { import Builtin.*; def main() : table {
    var t0:table = @load_table(`sales:sym); var t1:i32 = check_cast(@column_value(t0, `amount:sym), i32);
    var t2:i32 = @min(t1); var t3:bool = @eq(t1, t2); var t4:i32 = @compress(t3, t1);
    var t5:list<i32> = @list(t4); var t6:table = @table(`out:sym, t5);
    return t6; } }"""


def main_of(text: str) -> Function:
    return infer(parse(text)).functions[0]


def shapes_of(body: str, params: str = "", functions: str = "") -> dict[str, str]:
    module = infer(parse(f"module m {{ import Builtin.*; def main({params}) {{ {body} return; }} {functions} }}"))
    return {name: str(shape) for name, shape in analyse(module.functions[0], module).items()}


def test_figure_4_7() -> None:
    """The figure's `amount is the rows of the table here, which all its columns have."""
    shapes = {name: str(shape) for name, shape in analyse(main_of(FIGURE_4_7)).items()}
    assert shapes == {
        "t0": "Table(`t0, ?t0.columns)", "t1": "Vector(`t0)", "t2": "Vector(1)", "t3": "Vector(`t0)",
        "t4": "Vector(`t0[t3])", "t5": "List(1, [Vector(`t0[t3])])", "t6": "Table(`t0[t3], 1)",
    }  # fmt: skip


def test_figure_4_6_and_4_11() -> None:
    """The graph's targets, synchronised edges and geometries. Reductions have the geometry of what they reduce, as
    section 4.2.4 says, where figure 4.11 prints CPU for t2."""
    main = main_of(FIGURE_4_7)
    block = [s for s in main.body if isinstance(s, Assign)]
    graph = Graph(block, {"t6"}, analyse(main))
    assert {n.name: n.target for n in graph.nodes} == {
        "t0": "cpu", "t1": "cpu", "t2": "gpu", "t3": "gpu", "t4": "gpu", "t5": "cpu", "t6": "cpu"
    }  # fmt: skip
    edges = {(e.source.name, e.sink.name): e.is_synchronised for n in graph.nodes for e in graph.successors[n.name]}
    assert {pair: edges[pair] for pair in [("t1", "t2"), ("t2", "t3"), ("t1", "t3"), ("t3", "t4"), ("t1", "t4")]} == {
        ("t1", "t2"): False, ("t2", "t3"): True, ("t1", "t3"): False, ("t3", "t4"): False, ("t1", "t4"): False
    }  # fmt: skip
    geometries = {n.name: str(n.geometry) for n in graph.nodes if n.target == "gpu"}
    assert geometries == {"t2": "`t0", "t3": "`t0", "t4": "`t0"}


def test_geometry_of_lists() -> None:
    """Section 4.2.4: as many cells as the list, and in each the geometry of the function; ``@raze`` has its list's.
    Once they had none, and pictures said so."""
    main = main_of("""module m { import Builtin.*; def main() : i128 {
        var t0:table = @load_table(`t:sym); var x:i64 = check_cast(@column_value(t0, `x:sym), i64);
        var k:list<?> = @list(x); var g:? = @group(k); var r:? = @values(g); var c:? = @each_right(@index, x, r);
        var p:? = @each_left(@plus, c, 1:i64); var s:? = @each(@sum, p); var z:? = @raze(s);
        var o:? = @order(k, 1:bool, 0:bool); return z; } }""")
    block = [s for s in main.body if isinstance(s, Assign)]
    graph = Graph(block, {"z"}, analyse(main))
    cells = "List(?g, [Vector(?g[])])"
    assert {n.name: str(n.geometry) for n in graph.nodes if n.geometry is not None} == {
        "g": "`t0", "c": cells, "p": cells, "s": cells, "z": "List(?g, [Vector(1)])", "o": "`t0",
    }  # fmt: skip


# Figure 4.8

A, B = Compressed(Symbol("t"), "a"), Compressed(Symbol("t"), "b")
ONE, TWO = Constant(1), Constant(2)
D = Dynamic("x@1")


def vector(size: Size) -> Shape:
    return VectorShape(size)


def listed(size: Size, *cells: Size) -> Shape:
    return ListShape(size, [VectorShape(c) for c in cells])


@pytest.mark.parametrize(
    ("first", "second", "merged"),
    [
        (vector(TWO), vector(TWO), "Vector(2)"),
        (vector(ONE), vector(TWO), "Vector(?x@1)"),
        (vector(A), vector(A), "Vector(`t[a])"),
        (vector(A), vector(B), "Vector(`t[x@1])"),
        (vector(A), vector(Compressed(Symbol("u"), "a")), "Vector(?x@1)"),
        (vector(A), vector(Symbol("t")), "Vector(?x@1)"),
        (vector(D), vector(TWO), "Vector(?x@1)"),
        (vector(Compressed(Symbol("t"), "x@1")), vector(B), "Vector(`t[x@1])"),
        (vector(ONE), listed(ONE, ONE), "?"),
        (listed(TWO, A, ONE), listed(TWO, A, TWO), "List(2, [Vector(`t[a]), Vector(?x@1.1)])"),
        (listed(ONE, A), listed(TWO, A, A), "List(?x@1, [Vector(?x@1[])])"),
        (EnumShape(ONE, Symbol("t")), EnumShape(TWO, Symbol("t")), "Enumeration(?x@1, `t)"),
        (EnumShape(A, ONE), EnumShape(A, TWO), "Enumeration(`t[a], ?x@1.foreign)"),
        (DictShape(D, listed(D, ONE)), DictShape(D, listed(D, TWO)),
         "Dictionary(?x@1, List(?x@1, [Vector(?x@1.values.0)]))"),
        (DictShape(ONE, listed(ONE, A)), DictShape(TWO, listed(TWO, A, A)),
         "Dictionary(?x@1, List(?x@1.values, [Vector(?x@1.values[])]))"),
        (TableShape(A, ONE), TableShape(B, ONE), "Table(`t[x@1], 1)"),
        (TableShape(A, ONE), TableShape(A, TWO), "Table(`t[a], ?x@1.columns)"),
    ],
)  # fmt: skip
def test_figure_4_8(first: Shape, second: Shape, merged: str) -> None:
    merge = Merge("x@1")
    made = merge.shape(first, second)
    assert str(made) == merged
    assert merge.shape(made, first) == merge.shape(made, second) == made  # an upper bound: fixed points end
    assert merge.shape(second, first) == made


def test_figure_4_9() -> None:
    types = [I32, ListType(STR), EnumType(STR), DictType(I64, ListType(I64)), DictType(STR, I64), TABLE, WILDCARD]
    assert [str(dynamic_shape(t, "p")) for t in types] == [
        "Vector(?p)", "List(?p, [Vector(?p[])])", "Enumeration(?p, ?p.foreign)",
        "Dictionary(?p, List(?p, [Vector(?p[])]))", "Dictionary(?p, Vector(?p))", "Table(?p, ?p.columns)", "?",
    ]  # fmt: skip
    assert shapes_of("var y:? = @neg(x); var z:? = @plus(x, y);", "x:i32") == dict.fromkeys("xyz", "Vector(?x)")


# Table 4.4

SIZES = [ONE, TWO, Symbol("t"), A, Dynamic("d")]
OTHERS = [ONE, Constant(3), Symbol("u"), B, Dynamic("e")]


@pytest.mark.parametrize("row", range(5))
@pytest.mark.parametrize("column", range(5))
def test_table_4_4(row: int, column: int) -> None:
    left, right, other = SIZES[row], SIZES[column], OTHERS[column]
    spread = right if row == 0 else left if column == 0 else None
    assert element_wise("v", [left, right]) == (spread or (left if row == column else Dynamic("v")))
    if row and column:
        assert element_wise("v", [left, other]) == (None if row == column == 1 else Dynamic("v"))


@pytest.mark.parametrize(
    ("call", "column"), [("@plus((1, 2):i32, (1, 2, 3):i32)", 82), ("@compress((1, 0):bool, (1, 2, 3):i32)", 82)]
)
def test_constant_lengths_that_do_not_go_together_are_refused_at_their_place(call: str, column: int) -> None:
    from drawloom.horse.program import Program

    text = f"module m {{ import Builtin.*; def main() : i32 {{ var one:i32 = 1:i32; var a:i32 = {call}; return a; }} }}"
    with pytest.raises(drawloom.VerifyError, match="of vectors of lengths 2 and 3") as refusal:
        Program(parse(text), {})
    assert (refusal.value.line, refusal.value.column) == (1, column)


# Rules


def test_shapes_of_compound_values() -> None:
    body = """var t:table = @load_table(`t:sym); var k:? = check_cast(@column_value(t, `k:sym), i64);
        var m:bool = @gt(k, 3:i64); var c:? = @compress(m, k); var l:? = @list(k); var g:? = @group(l);
        var f:? = @keys(g); var r:? = @values(g); var e:? = @each_right(@index, k, r); var s:? = @each(@sum, e);
        var z:? = @raze(s); var x:? = @index(k, f); var y:? = @plus(z, x);
        var u:? = @enum(c, k); var p:? = @values(u); var q:? = @keys(u); var w:? = @fetch(u);
        var j:? = @join(l, l); var a:? = @item(j, 0:i64); var b:? = @item(j, 1:i64); var n:? = @column_names(t);
        var d:? = @dict((1, 2):i64, (3, 4):i64); var h:? = @lookup(d, c); var i:? = @where(m);
        var o:? = @index(k, i);"""
    shapes = shapes_of(body)
    assert {name: shapes[name] for name in "clgfreszxyupqwjabndhio"} == {
        "c": "Vector(`t[m])", "l": "List(1, [Vector(`t)])", "g": "Dictionary(?g, List(?g, [Vector(?g[])]))",
        "f": "Vector(?g)", "r": "List(?g, [Vector(?g[])])", "e": "List(?g, [Vector(?g[])])",
        "s": "List(?g, [Vector(1)])", "z": "Vector(?g)", "x": "Vector(?g)", "y": "Vector(?g)",
        "u": "Enumeration(`t[m], `t)", "p": "Vector(`t[m])", "q": "Vector(`t)", "w": "Vector(`t[m])",
        "j": "List(2, [Vector(?j)])", "a": "Vector(?j)", "b": "Vector(?j)", "n": "Vector(?t.columns)",
        "d": "Dictionary(2, Vector(2))", "h": "Vector(`t[m])", "i": "Vector(`t[m])", "o": "Vector(`t[m])",
    }  # fmt: skip


def test_each_builtin_has_a_shape_rule_and_each_rule_a_builtin() -> None:
    assert {b.shape for b in BUILTINS.values()} == set(RULES)


# Control flow and calls


def test_paths_merge_where_they_meet() -> None:
    text = """module m { import Builtin.*; def main(c:bool) {
        var t:table = @load_table(`t:sym); var k:? = check_cast(@column_value(t, `k:sym), i64);
        var m:bool = @gt(k, 3:i64); var n:bool = @lt(k, 1:i64); var x:i64 = k; var y:i64 = @compress(m, k);
        if (c) { x = @neg(k); y = @compress(n, k); } else { x = @abs(k); }
        var z:i64 = x; var w:i64 = y; x = 1:i64; var v:i64 = x;
        while (c) { var u:i64 = y; y = @where(m); }
        return; } }"""
    module = infer(parse(text))
    main = module.functions[0]
    states = list(shapes_at(main, module).items())
    seen = {name: str(shape) for name, shape in states[-1][1].items()}
    assert {n: seen[n] for n in "zwvx"} == {
        "z": "Vector(`t)",
        "w": "Vector(`t[y@6])",
        "v": "Vector(1)",
        "x": "Vector(1)",
    }
    assert seen["y"] == "Vector(`t[y@14])"
    assert {name: str(shape) for name, shape in analyse(main, module).items()}["x"] == "?"


def test_rows_under_copies_of_one_mask_go_together() -> None:
    body = """var t:table = @load_table(`t:sym); var k:? = check_cast(@column_value(t, `k:sym), i64);
        var m:bool = @gt(k, 3:i64); var a:bool = m; var b:bool = m; var x:? = @compress(a, k);
        var y:? = @compress(b, k); var z:? = @plus(x, y); m = @lt(k, 1:i64); var d:bool = m;
        var w:? = @compress(d, k);"""
    shapes = shapes_of(body)
    assert shapes["x"] == shapes["y"] == shapes["z"] == "Vector(`t[m#2])"
    assert shapes["w"] == "Vector(`t[m#8])"


def test_calls_have_the_shapes_of_their_arguments() -> None:
    functions = """
        def twice(x:i64) : i64 { var c:bool = @gt(1:i64, 0:i64); if (c) { return x; }
            var y:i64 = @plus(x, x); return y; }
        def kept(x:i64) : i64, i64 { var m:bool = @gt(x, 3:i64); var y:i64 = @compress(m, x); var z:i64 = @neg(y);
            var c:bool = @gt(1:i64, 0:i64); if (c) { return y, z; } return y, y; }
        def down(n:i64) : i64 { var m:i64 = @down(n); return m; }"""
    body = """var t:table = @load_table(`t:sym); var k:? = check_cast(@column_value(t, `k:sym), i64);
        var a:i64 = @twice(k); var b:i64 = @twice(5:i64); var c:i64, var d:i64 = @kept(k); var e:i64 = @down(k);"""
    shapes = shapes_of(body, functions=functions)
    assert {n: shapes[n] for n in "abe"} == {"a": "Vector(`t)", "b": "Vector(1)", "e": "Vector(?e.?m)"}
    assert shapes["c"] == shapes["d"] == "Vector(?c.`t[m])"


# What runs say


@pytest.mark.skipif(not str(interpreter.__file__).endswith(".py"), reason="only plain classes can be watched")
@pytest.mark.parametrize("seed", range(25))
def test_equal_sizes_are_equal_lengths_in_every_run(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(seed)
    table = random_table(rng, rng.choice([0, 1, 7, 40]))
    module = infer(parse(Programs(rng).program(16)))
    states = shapes_at(module.functions[0], module)
    plain = interpreter._Frame.statement
    checked = 0

    def statement(frame: interpreter._Frame, at: Statement) -> str:
        nonlocal checked
        lengths: dict[str, int] = {}
        for name, shape in states.get(at, {}).items():
            value = frame.values.get(name)
            if isinstance(shape, VectorShape) and isinstance(value, Vector):
                checked += 1
                assert lengths.setdefault(str(shape.size), len(value)) == len(value), (name, shape)
                if isinstance(shape.size, Constant):
                    assert shape.size.count == len(value)
        return plain(frame, at)

    monkeypatch.setattr(interpreter._Frame, "statement", statement)
    try:
        interpreter.run(module, {"t": from_arrow("t", table)})
    except drawloom.DataError:
        pass
    assert checked > 50
    assert all(not isinstance(shape, Unknown) for shape in states[module.functions[0].body[0]].values())
