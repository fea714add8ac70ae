"""Every type: literals, values that are made, passed to functions, returned and printed; what can be done with them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import drawloom
from drawloom.cli.run import command
from drawloom.horse.infer import infer
from drawloom.horse.interpret import run as interpret
from drawloom.horse.kernels.library import Library
from drawloom.horse.parser import parse
from drawloom.horse.results import literal, to_arrow
from drawloom.horse.store import from_arrow
from drawloom.horse.types import NAMED, VectorType
from drawloom.horse.values import Value
from drawloom.runtime.machine import device as find_device


def values(body: str, returns: str, functions: str = "", table: pa.Table | None = None) -> list[Value]:
    text = f"module m {{ import Builtin.*; def main() : {returns} {{ {body} }} {functions} }}"
    module = infer(parse(text))
    assert infer(parse(str(module))) == module
    return interpret(module, {} if table is None else {"t": from_arrow("t", table)})


def shown(body: str, returns: str, functions: str = "") -> list[str]:
    return [literal(v) for v in values(body, returns, functions)]


LITERALS = {
    "bool": "(1, 0)", "char": "('a', '\\x27', '\\xff')", "i8": "(-128, 127)", "i16": "(-32768, 32767)",
    "i32": "(-2147483648, 2147483647)", "i64": "(-9223372036854775808, 9223372036854775807)",
    "i128": "(-170141183460469231731687303715884105728, 170141183460469231731687303715884105727)",
    "f32": "(0.5, nan, -inf)", "f64": "(-0.0, 1e+300, inf)", "str": '("", "a\\n\\"b\\"", "ü")',
    "sym": '(`a, `"b c")', "date": "(1994.01.31, 1969.12.31)", "month": "(1994.02, 1969.12)",
    "time": "(00:00:00.000, 23:59:59.999)",
}  # fmt: skip


@pytest.mark.parametrize("type", LITERALS)
def test_every_vector_is_made_passed_returned_and_printed(type: str) -> None:
    text = f"{LITERALS[type]}:{type}"
    call = f"var x:{type} = {text}; var y:{type} = @same(x); return y;"
    assert shown(call, type, f"def same(x:{type}) : {type} {{ var y:{type} = x; return y; }}") == [text]
    (value,) = values(call, type, f"def same(x:{type}) : {type} {{ return x; }}")
    assert to_arrow(value).num_rows == text.count(",") + 1


def test_every_named_vector_type_of_the_language_is_among_the_literals() -> None:
    named = {n for n, t in NAMED.items() if isinstance(t, VectorType)}
    # Whole numbers, as i64.
    exact = {n for n in named if n[0] == "u" or n.startswith("timestamp") or n in ("clock", "interval")}
    assert named - exact == set(LITERALS)


@pytest.mark.parametrize(
    ("body", "returns", "expected"),
    [
        ("var a:month = (1994.11, 1994.12):month; var b:month = @plus(a, 2:i64); return b;", "month",
         "(1995.01, 1995.02):month"),
        ("var a:month = 1995.01:month; var b:i64 = @minus(a, 1993.12:month); return b;", "i64", "13:i64"),
        ("var a:time = 23:00:00.000:time; var b:time = @minus(a, 500:i64); return b;", "time", "22:59:59.500:time"),
        ("var a:char = ('a', 'b'):char; var b:bool = @lt(a, 'b':char); return b;", "bool", "(1, 0):bool"),
        ("var a:sym = (`b, `a):sym; var b:sym = @min(a); return b;", "sym", "`a:sym"),
        ("var a:char = ('x', 'y'):char; var b:char = @max(a); return b;", "char", "'y':char"),
        ("var a:time = (12:00:00.000, 01:00:00.000):time; var l:list<?> = @list(a);"
         "var o:i64 = @order(l, 1:bool, 0:bool); var b:time = @index(a, o); return b;", "time",
         "(01:00:00.000, 12:00:00.000):time"),
    ],
)  # fmt: skip
def test_what_counts_and_compares(body: str, returns: str, expected: str) -> None:
    assert shown(body, returns) == [expected]


NESTED = """var a:list<?> = @list((1, 2):i64, ():i64); var b:list<?> = @list(3:i64);
    var n:list<list<i64>> = @list(a, b); """


@pytest.mark.parametrize(
    ("body", "returns", "expected"),
    [
        ("return n;", "list<list<i64>>", "[[(1, 2):i64, ():i64], [3:i64]]"),
        ("var k:i64 = @len(n); return k;", "i64", "2:i64"),
        ("var c:list<i64> = @item(n, 1:i64); return c;", "list<i64>", "[3:i64]"),
        ("var f:list<i64> = @raze(n); var g:i64 = @raze(f); return f, g;", "list<i64>, i64",
         "[(1, 2):i64, ():i64, 3:i64]; (1, 2, 3):i64"),
        ("var f:list<?> = @each(@raze, n); return f;", "list<i64>", "[(1, 2):i64, 3:i64]"),
        ("var f:list<?> = @each(@len, n); var c:i64 = @raze(f); return c;", "i64", "(2, 1):i64"),
        ("var f:list<?> = @each_left(@plus, a, 10:i64); return f;", "list<i64>", "[(11, 12):i64, ():i64]"),
    ],
)  # fmt: skip
def test_lists_of_lists(body: str, returns: str, expected: str) -> None:
    assert "; ".join(shown(NESTED + body, returns)) == expected


def test_texts_of_a_list_are_razed_by_their_words() -> None:
    """Once all cells were read by the first one's dictionary."""
    body = 'var l:list<?> = @list(("b", "c"):str, "a":str); var r:str = @raze(l); return r;'
    assert shown(body, "str") == ['("b", "c", "a"):str']


def test_lists_of_unlike_lengths_do_not_go_together() -> None:
    """Once the longer list lost its last cells."""
    body = """var a:list<?> = @list(1:i64, 2:i64); var b:list<?> = @list(1:i64);
        var c:list<?> = @each_item(@plus, a, b); return c;"""
    with pytest.raises(drawloom.DataError, match="lists of 2 and 1 cells"):
        values(body, "list<i64>")


# Enumerations: foreign keys

CITIES = """var names:sym = (`oslo, `rome, `bonn):sym; var people:i64 = (700, 2800, 330):i64;
    var home:sym = (`rome, `oslo, `rome):sym; var e:enum<sym> = @enum(home, names); """


@pytest.mark.parametrize(
    ("body", "returns", "expected"),
    [
        ("return e;", "enum<sym>", "(`rome, `oslo, `rome):sym"),
        ("var v:i64 = @values(e); return v;", "i64", "(1, 0, 1):i64"),
        ("var k:sym = @keys(e); return k;", "sym", "(`oslo, `rome, `bonn):sym"),
        ("var k:sym = @fetch(e); var n:i64 = @len(e); return k, n;", "sym, i64", "(`rome, `oslo, `rome):sym; 3:i64"),
        # a join through it: the row of the other table is known without a search
        ("var r:i64 = @values(e); var p:i64 = @index(people, r); return p;", "i64", "(2800, 700, 2800):i64"),
        ("var m:bool = @eq(home, `rome:sym); var c:enum<?> = @compress(m, e); var i:enum<?> = @index(c, 1:i64);"
         "var v:i64 = @values(c); var f:sym = @fetch(i); return v, f;", "i64, sym", "(1, 1):i64; `rome:sym"),
        ("var p:i64 = @population(e, people); return p;", "i64", "(2800, 700, 2800):i64"),
    ],
)  # fmt: skip
def test_enumerations(body: str, returns: str, expected: str) -> None:
    passed = """def population(e:enum<sym>, people:i64) : i64 {
        var r:i64 = @values(e); var p:i64 = @index(people, r); return p; }"""
    assert "; ".join(shown(CITIES + body, returns, passed)) == expected


@pytest.mark.parametrize(
    ("keys", "names", "message"),
    [
        ("(`rome, `paris):sym", "(`oslo, `rome):sym", "row 1 has a key that is not"),
        ("`rome:sym", "(`a, `a):sym", "twice"),
    ],
)
def test_foreign_keys_point_to_one_row(keys: str, names: str, message: str) -> None:
    with pytest.raises(drawloom.DataError, match=message):
        values(f"var k:sym = {keys}; var n:sym = {names}; var e:enum<sym> = @enum(k, n); return e;", "enum<sym>")


@pytest.mark.parametrize(
    "body",
    [
        "var m:bool = (1, 0, 1):bool; var c:enum<?> = @compress(m, e); var v:i64 = @values(c); return v;",
        "var i:enum<?> = @index(e, (2, 1):i64); var v:i64 = @values(i); return v;",
        "var l:list<?> = @list(people); var k:list<?> = @list(l, l); var r:list<?> = @raze(k);"
        "var v:i64 = @raze(r); return v;",
    ],
)
def test_kernels_leave_enumerations_and_nested_lists_to_the_host(body: str) -> None:
    module = infer(parse(f"module m {{ import Builtin.*; def main() : i64 {{ {CITIES} {body} }} }}"))
    library = Library(find_device("cpu"), "kernels")
    made, expected = interpret(module, {}, library=library.call), interpret(module, {})
    assert [literal(v) for v in made] == [literal(v) for v in expected]


# Dictionaries


@pytest.mark.parametrize(
    ("body", "returns", "expected"),
    [
        ("return d;", "dict<sym,i64>", "{(`a, `b):sym: (1, 2):i64}"),
        ("var k:sym = @keys(d); var v:i64 = @values(d); var n:i64 = @len(d); return k, v, n;", "sym, i64, i64",
         "(`a, `b):sym; (1, 2):i64; 2:i64"),
        ("var v:i64 = @lookup(d, (`b, `b, `a):sym); return v;", "i64", "(2, 2, 1):i64"),
        ("var v:list<i64> = @lookup(g, 8:i64); return v;", "list<i64>", "[(5, 6):i64]"),
        ("var v:list<i64> = @values(g); var s:list<?> = @each(@sum, v); return s;", "list<i128>", "[0:i128, 11:i128]"),
        ("var v:dict<sym,i64> = @same(d); return v;", "dict<sym,i64>", "{(`a, `b):sym: (1, 2):i64}"),
    ],
)  # fmt: skip
def test_dictionaries(body: str, returns: str, expected: str) -> None:
    made = """var d:dict<sym,i64> = @dict((`a, `b):sym, (1, 2):i64); var l:list<?> = @list(():i64, (5, 6):i64);
        var g:dict<i64,list<i64>> = @dict((7, 8):i64, l); """
    same = "def same(d:dict<sym,i64>) : dict<sym,i64> { return d; }"
    assert "; ".join(shown(made + body, returns, same)) == expected


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("var d:dict<?,?> = @dict((1, 1):i64, (1, 2):i64); return d;", "a key stands twice"),
        ("var d:dict<?,?> = @dict((1, 2):i64, (1, 2, 3):i64); return d;", "2 keys and 3 values"),
        ("var d:dict<?,?> = @dict((1, 2):i64, (1, 2):i64); var v:? = @lookup(d, 3:i64); return d;", "key 0 is not in"),
    ],
)
def test_dictionaries_have_one_value_for_each_key(body: str, message: str) -> None:
    with pytest.raises(drawloom.DataError, match=message):
        values(body, "dict<i64,i64>")


# Tables


def test_tables_tell_their_columns_and_rows() -> None:
    body = """var t:table = @load_table(`t:sym); var n:sym = @column_names(t); var r:i64 = @len(t);
        var c:list<?> = @columns(t); var p:table = @table((`y, `x):sym, c); var q:sym = @column_names(p);
        var u:table = @same(p); return n, r, q, u, t;"""
    table = pa.table({"a": pa.array([1, None], pa.int32()), "b": ["x", "y"]})
    found = values(body, "sym, i64, sym, table, table", "def same(t:table) : table { return t; }", table)
    assert [literal(v) for v in found[:4]] == [
        "(`a, `b):sym", "2:i64", "(`y, `x):sym", '{y: (1, 0):i32, x: ("x", "y"):str}'
    ]  # fmt: skip
    assert to_arrow(found[4]) == table


# Positions


@pytest.mark.parametrize(
    ("body", "returns", "expected"),
    [
        ("var r:i64 = @range(4:i64); return r;", "i64", "(0, 1, 2, 3):i64"),
        ('var u:i64 = @unique(("b", "a", "b", "c"):str); return u;', "i64", "(0, 1, 3):i64"),
        ("var u:i64 = @unique((nan, 1.0, nan, -0.0, 0.0):f64); return u;", "i64", "(0, 1, 3):i64"),
        ("var u:i64 = @unique(():i32); return u;", "i64", "():i64"),
        ('var p:i64 = @index_of(("b", "a", "b"):str, ("b", "z", "a"):str); return p;', "i64", "(0, 3, 1):i64"),
        ("var p:i64 = @index_of((1.0, nan):f64, (nan, 2.0):f64); return p;", "i64", "(1, 2):i64"),
        ("var w:i32 = @index_a((1, 2, 3):i32, (2, 0):i64, (9, 8):i32); return w;", "i32", "(8, 2, 9):i32"),
        ("var w:i32 = @index_a((1, 2, 3):i32, (2, 0):i64, 7:i32); return w;", "i32", "(7, 2, 7):i32"),
        ('var w:str = @index_a(("a", "b"):str, 1:i64, "0":str); return w;', "str", '("a", "0"):str'),
    ],
)
def test_positions(body: str, returns: str, expected: str) -> None:
    assert shown(body, returns) == [expected]


# The command


@pytest.mark.parametrize(
    ("body", "returns", "expected"),
    [
        ("var x:month = (1994.02, 1994.03):month; return x;", "month", "value\n1994-02-01\n1994-03-01\n"),
        ("var x:char = ('a', 'b'):char; var y:time = 12:00:00.000:time; return x, y;", "char, time",
         "value\na\nb\nvalue\n12:00:00\n"),
        ("var l:list<?> = @list((1, 2):i64, `a:sym); return l;", "list<?>", 'value\n"(1, 2):i64"\n`a:sym\n'),
        ("var d:dict<?,?> = @dict((1, 2):i64, (`a, `b):sym); return d;", "dict<i64,sym>", "key,value\n1,a\n2,b\n"),
        ("var t:table = @load_table(`t:sym); return t;", "table", 'a\n1\n\n'),
        ("var t:table = @load_table(`t:sym); var a:i32 = check_cast(@column_value(t, `a:sym), i32);"
         "var s:i128 = @sum(a); return s;", "i128", "value\n1\n"),
        ("var e:enum<?> = @enum((`b, `a):sym, (`a, `b):sym); return e;", "enum<sym>", "value,row\nb,1\na,0\n"),
    ],
)  # fmt: skip
def test_run_prints_what_main_returns(tmp_path: Path, body: str, returns: str, expected: str) -> None:
    file, data = tmp_path / "query.hir", tmp_path / "t.parquet"
    file.write_text(f"module m {{ import Builtin.*; def main() : {returns} {{ {body} }} }}")
    pq.write_table(pa.table({"a": pa.array([1, None], pa.int32())}), data)
    words = [str(file), f"--table=t={data}", "--format=csv"]
    done = CliRunner().invoke(command, words, catch_exceptions=False)
    assert (done.exit_code, done.output) == (0, expected)


@pytest.mark.parametrize(
    ("value", "type"),
    [
        ("@list(1:i64, `a:sym)", "list<i64>"), ("@list(1:i64)", "list<i32>"), ("@item(u, 0:i64)", "list<i64>"),
        ("@item(u, 1:i64)", "enum<sym>"), ("@item(u, 1:i64)", "dict<i64,i64>"), ("@item(u, 0:i64)", "table"),
        ("@item(u, 2:i64)", "dict<i64,sym>"), ("@item(u, 0:i64)", "i32"), ("@item(u, 1:i64)", "i32"),
    ],
)  # fmt: skip
def test_a_cast_is_checked_when_the_program_runs(value: str, type: str) -> None:
    made = """var l:list<?> = @list(2:i64); var d:dict<?,?> = @dict(1:i64, 2:i64);
        var u:list<?> = @list(1:i64, l, d); """
    with pytest.raises(drawloom.Error, match=r"check_cast to|is never"):
        values(f"{made} var x:{type} = check_cast({value}, {type}); return x;", type)
