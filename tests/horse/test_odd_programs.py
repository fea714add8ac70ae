"""Wrong and odd programs: what each is refused with, and at which place, in every mode; and that builtins answer or
refuse whatever they are given."""

from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner

import drawloom
from drawloom.cli.run import command
from drawloom.horse.infer import infer
from drawloom.horse.interpret import run as interpret
from drawloom.horse.kernels.library import Library
from drawloom.horse.launch import Resident
from drawloom.horse.outline import MODES
from drawloom.horse.parser import parse
from drawloom.horse.program import LoadedProgram, Program
from drawloom.horse.store import from_arrow
from drawloom.runtime.machine import device
from tests.horse.random_calls import random_calls

TABLE = pa.table({
    "n": pa.array([1, 2, 3, 4, 5], pa.int32()), "s": ["a", "b", "a", None, "ü"],
    "lists": pa.array([[1], [], None, [3], [4]], pa.list_(pa.int64())),
})  # fmt: skip
COLUMNS = "var n:i32 = @column_value(t, `n:sym); var s:str = @column_value(t, `s:sym);"


def text(body: str) -> str:
    """``body`` begins in line 3."""
    return (
        f"module m {{ import Builtin.*; def main() : ? {{\nvar t:table = @load_table(`t:sym); {COLUMNS}\n{body}\n}} }}"
    )


def refused(source: str, mode: str) -> drawloom.Error:
    where = device("cpu")
    with pytest.raises(drawloom.Error) as refusal:
        module = parse(source, "q.hir")
        program = Program(module, {"t": from_arrow("t", TABLE)}, mode=mode)
        LoadedProgram(program, where, Resident(where)).values()
    return refusal.value


#: What the third line is, and what the refusal says; the column of the place follows a bar.
REFUSED = [
    ("var x:f64 = check_cast(@column_value(t, `n:sym), f64); return x;", "13|column 'n' of table 't' is i32, not f64"),
    ("var x:f64 = @column_value(t, `n:sym); var y:f64 = @sum(x); return y;", "13|column 'n' of table 't' is i32"),
    ("var x:? = @column_value(t, `none:sym); return x;", "11|table 't' has no column 'none'"),
    ("var x:? = @column_value(t, `lists:sym); return x;", "11|column 'lists' of table 't' has type list"),
    ("var u:table = @load_table(`u:sym); return u;", "15|there is no table 'u' (tables: t)"),
    ("var u:table = @load_table((`t, `t):sym); return u;", "1|@load_table takes one value where it was given 2"),
    ("var u:table = @load_table(():sym); return u;", "1|@load_table takes one value where it was given 0"),
    ("var x:? = @column_value(t, ():sym); return x;", "1|@column_value takes one value"),
    ("var x:? = @list(n, s); var y:i64 = @item(x, 1:i64); return y;", "24|check_cast to i64 of a value of type str"),
    ("var x:? = @list(n, s); var y:? = @raze(x); return y;", "24|@raze of cells of types i32 and str"),
    ("var x:? = @list(n, s); var y:? = @each(@sum, x); return y;", "24|@sum does not take (str)"),
    ("var x:? = @list(n, s); var y:? = @item(x, ():i64); return y;", "24|@item takes one value"),
    ("var x:? = @list(); var y:? = @raze(x); return y;", "20|@raze of a list without cells"),
    ("var y:? = @index(n, (0, 5):i64); return y;", "1|@index: position 5 of a vector of 5"),
    ("var y:? = @index(n, (0, -1):i64); return y;", "1|@index: position -1 of a vector of 5"),
    ("var y:? = @outer_index(n, (5, -1):i64); return y;", "1|@outer_index: position 5 of a vector of 5"),
    ("var c:? = @gt(n, 2:i32); var y:? = @if_else(c, n, (1, 2):i32); return y;", "26|lengths 5 and 2 do not go"),
    ("var y:? = @plus(n, ():i32); return y;", "1|vectors of lengths 5 and 0 do not go together"),
    ("var y:? = @with_null(n, (1, 0):bool); return y;", "1|@with_null of 5 entries with a mask of 2"),
    ("repeat ((1, 2):i64) { n = @neg(n); } return n;", "1|a repeat by 2 values of type i64"),
    ("var c:? = @list(n, s); var x:? = @order(c, 0:bool, 0:bool); return x;", "24|@order by 2 columns"),
    ("var c:? = @list(n, 1:i32); var b:bool = (0, 1):bool; var x:? = @order(c, b, b); return x;",
     "54|@order of columns of lengths 1, 5"),
    ("var c:? = @list(n); var x:? = @order_first(c, 0:bool, 0:bool, -2:i64); return x;", "21|@order_first of -2 rows"),
    ("var x:? = @top(n, -1:i64, 2:i64); return x;", "1|@top of -1 rows"),
    ('var x:? = @like(s, ("a", "b"):str); return x;', "1|@like takes one value where it was given 2"),
    ("var x:? = @mul(n, 2000000000:i32); return x;", "1|overflow"),
    ("var x:time = @plus(23:59:59.999:time, 1:i32); return x;", "1|overflow in @plus: 86400000 does not fit time"),
    ("var x:time = 12:61:00:time; return x;", "14|expected at most 59 minutes and 59 seconds"),
    ("var x:i32 = @plus(@neg(n), 1:i32); return x;", "19|a call inside another statement's operands"),
    ("return @neg(n);", "8|a call inside another statement's operands"),
    ("if (@gt(1:i32, 2:i32)) { return n; } return n;", "5|a call inside another statement's operands"),
    ("var x:? = @trim(s, \"a\":str, \"b\":str); return x;", "11|expected str and 0 to 1 texts"),
    ('var x:? = @digest(s, "md0":str); return x;', "1|there is no digest 'md0'"),
]  # fmt: skip


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("body", "said"), REFUSED)
def test_wrong_programs_are_refused_at_their_place(body: str, said: str, mode: str) -> None:
    column, _, message = said.partition("|")
    report = str(refused(text(body), mode))
    assert report.startswith(f"q.hir:3:{column}: ")
    assert message in report


def test_errors_in_kernels_name_the_statement() -> None:
    body = "var x:i32 = @plus(n, 1:i32);\nvar y:i32 = @mul(x, 2000000000:i32); var z:? = @sum(y); return z;"
    assert str(refused(text(body), "full")).startswith("q.hir:4:1: overflow: a result of @mul does not fit i32")


ANSWERED = [
    ("var x:? = @list(); return x;", []),
    ("var x:? = @list(); var y:? = @each(@sum, x); return y;", []),
    ("var x:? = @member(n, ():i32); return x;", [False] * 5),
    ("var x:? = @min(():str); return x;", [""]),
    ("var x:date = @2147483647:date; var y:? = @date_year(x); return y;", [5881580]),
    ("repeat (-3:i64) { n = @neg(n); } var x:? = @top(n, 0:i64, 1:i64); return x;", [1]),
    ("var x:i32 = 1:i32; var x:i32 = 2:i32; return x;", [2]),
]  # fmt: skip


@pytest.mark.parametrize("mode", [*MODES, "interpreter"])
@pytest.mark.parametrize(("body", "expected"), ANSWERED)
def test_odd_programs_are_answered(body: str, expected: list[object], mode: str) -> None:
    from drawloom.horse.results import to_arrow

    module, sources, where = parse(text(body)), {"t": from_arrow("t", TABLE)}, device("cpu")
    if mode == "interpreter":
        (value,) = interpret(infer(module), sources)
    else:
        (value,) = LoadedProgram(Program(module, sources, mode=mode), where, Resident(where)).values()
    assert to_arrow(value)["value"].to_pylist() == expected


def test_dates_that_python_lacks_are_shown(tmp_path: Path) -> None:
    """Arrow writes them in no way that could be read back."""
    file = tmp_path / "q.hir"
    file.write_text("module m { def main() : date { return (@2147483647, @-800000):date; } }")
    done = CliRunner().invoke(command, [str(file), "--format=csv"], catch_exceptions=False)
    assert done.output.splitlines() == ["value", "5881580-07-11", "0222-09-04 (BC)"]


@pytest.mark.parametrize("by", ["host", "kernels"])
def test_builtins_answer_or_refuse_whatever_they_are_given(by: str) -> None:
    library = Library(device("cpu"), "kernels") if by == "kernels" else None
    assert random_calls(20261123, 6 if library is None else 2, library) > 60
