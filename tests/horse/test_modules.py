"""Several modules in one text: the three passes of the symbol table, and calls between modules."""

from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import drawloom
from drawloom.cli.run import command
from drawloom.horse.infer import infer
from drawloom.horse.interpret import MAX_CALLS
from drawloom.horse.interpret import run as interpret
from drawloom.horse.ir import Module
from drawloom.horse.outline import MODES
from drawloom.horse.parser import parse_modules
from drawloom.horse.program import Program
from drawloom.horse.store import from_arrow
from drawloom.horse.symbols import link
from drawloom.horse.values import as_vector
from tests.horse.programs import on_device

ROUND = """module default {
    import Builtin.*;
    import shapes.*;
    import units.{scaled, half};

    def main() : i64 {
        var a:i64 = @area(3:i64, 4:i64);
        var b:i64 = @scaled(a);
        var c:i64 = @half(b);
        var d:i64 = @shapes.half(c);
        return d;
    }
}

module shapes {
    import Builtin.mul;

    def area(x:i64, y:i64) : i64 {
        var a:i64 = @mul(x, y);
        return a;
    }

    def half(x:i64) : i64 {
        var h:i64 = @minus1(x);
        return h;
    }

    def minus1(x:i64) : i64 {
        var y:i64 = @Builtin.minus(x, 1:i64);
        return y;
    }
}

module units {
    import Builtin.*;

    def scaled(x:i64) : i64 {
        var y:i64 = @mul(x, 10:i64);
        return y;
    }

    def half(x:i64) : ? {
        var y:? = @plus(x, -60:i64);
        return y;
    }
}
"""


def scalar(module: Module) -> object:
    (value,) = interpret(infer(module), {})
    return as_vector(value).data.tolist()[0]


def test_a_text_of_several_modules_prints_as_it_was_written() -> None:
    assert "\n".join([str(m) for m in parse_modules(ROUND)]) == ROUND


def test_calls_go_across_modules() -> None:
    assert scalar(link(parse_modules(ROUND))) == 3 * 4 * 10 - 60 - 1


def test_the_linked_module_has_a_name_for_each_function() -> None:
    linked = link(parse_modules(ROUND))
    assert [f.name for f in linked.functions] == ["main", "area", "half", "minus1", "scaled", "units_half"]
    assert scalar(link(parse_modules(str(linked)))) == 59


def test_one_module_is_linked_to_itself() -> None:
    modules = parse_modules(
        "module m { import Builtin.*; def main() : i32 { var a:i32 = @plus(1:i32, 2:i32); return a; } }"
    )
    assert link(modules) is modules[0]


def test_functions_of_two_modules_call_each_other() -> None:
    text = """module a { import Builtin.*; import b.odd; def main() : bool { var r:bool = @even(7:i64); return r; }
            def even(n:i64) : bool { var z:bool = @eq(n, 0:i64); if (z) { return z; }
                var m:i64 = @minus(n, 1:i64); var r:bool = @odd(m); return r; } }
        module b { import Builtin.*; import a.*;
            def odd(n:i64) : bool { var z:bool = @eq(n, 0:i64); if (z) { return 0:bool; }
                var m:i64 = @minus(n, 1:i64); var r:bool = @even(m); return r; } }"""
    assert scalar(link(parse_modules(text))) is False


RECURSIVE = """module m { import Builtin.*; def main() : i64 { var r:i64 = @down(%d:i64); return r; }
    def down(n:i64) : i64 { var more:bool = @gt(n, 1:i64); var r:i64 = 1:i64;
        if (more) { var m:i64 = @minus(n, 1:i64); var s:i64 = @down(m); r = @plus(s, 1:i64); } return r; } }"""


def test_recursion_has_a_limit_that_is_an_error() -> None:
    assert scalar(link(parse_modules(RECURSIVE % (MAX_CALLS - 1)))) == MAX_CALLS - 1
    with pytest.raises(drawloom.DataError, match="@down: more than 1000 calls"):
        scalar(link(parse_modules(RECURSIVE % MAX_CALLS)))


def test_a_function_named_as_a_builtin_is_called_where_it_is_meant() -> None:
    """Once the interpreter called it for ``@Builtin.plus`` too, and nothing was outlined."""
    text = """module m { import Builtin.*; def main() : i32 {
            var a:i32 = @plus(1:i32, 2:i32); var b:i32 = @Builtin.plus(a, 100:i32); return b; }
        def plus(x:i32, y:i32) : i32 { var z:i32 = @mul(x, y); return z; } }"""
    assert scalar(link(parse_modules(text))) == 102


def test_library_functions_are_in_the_gpu_module() -> None:
    """Figure 4.2 calls ``@GPU.order_lib``; figure 4.3 resolves ``@like_lib`` by an import."""
    text = """module default { import Builtin.*; import GPU.*; def main() : i64 {
        var w:bool = (0, 1, 1):bool; var r:i64 = @where_lib(w); var p:i64 = @GPU.where_lib(w);
        var i:i64 = @index_lib(r, 1:i64); return i; } }"""
    assert scalar(link(parse_modules(text))) == 2


PLUS = "def plus(x:i32) : i32 { return x; }"
TWO = """module a {{ import Builtin.*; {imports}
    def main() : i32 {{ var x:i32 = {call}(1:i32); return x; }} }}
module b {{ def f(x:i32) : i32 {{ return x; }} def g(x:i32) : i32 {{ return x; }} }}
module c {{ def f(x:i32) : i32 {{ return x; }} {more} }}
"""


@pytest.mark.parametrize(
    ("imports", "call", "more", "place", "message"),
    [
        ("import b.*; import c.*;", "@f", "", (2, 36), "@f is @b.f and @c.f: expected a full path, such as @b.f"),
        ("import b.f; import c.f;", "@f", "", (2, 36), "@f is @b.f and @c.f"),
        ("import b.*; import c.*;", "@plus", PLUS, (2, 36), "@plus is @Builtin.plus and @c.plus"),
        ("", "@g", "", (2, 36), "there is no function @g: expected 'import b.*;'"),
        ("", "@b.h", "", (2, 36), "there is no function @b.h"),
        ("", "@d.f", "", (2, 36), "there is no module 'd': expected one of Builtin, GPU, a, b, c"),
        ("import d.*;", "@f", "", (1, 30), "there is no module 'd'"),
        ("import b.h;", "@f", "", (1, 30), "module b has no function 'h'"),
        ("import b.*;", "@f", "} module b {", (4, 47), "module 'b' is defined twice"),
        ("import b.*;", "@f", "} module GPU {", (4, 47), "module 'GPU' is the system's"),
        ("import b.*;", "@f", "def f() { return; }", (4, 45), "function 'f' is defined twice"),
        ("import b.*;", "@f", "def main() { return; }", (4, 45), "there is a 'main' in modules a and c"),
    ],
)  # fmt: skip
def test_what_names_nothing_or_two_things_is_refused(
    imports: str, call: str, more: str, place: tuple[int, int], message: str
) -> None:
    with pytest.raises(drawloom.VerifyError) as refusal:
        link(parse_modules(TWO.format(imports=imports, call=call, more=more), "two.hir"))
    assert (refusal.value.line, refusal.value.column) == place
    problem, _, expected = message.partition(": expected ")
    assert problem in str(refusal.value)
    assert expected in str(refusal.value).split("expected ")[-1]


def test_names_go_before_wildcards_and_own_functions_before_both() -> None:
    named = TWO.format(imports="import b.*; import c.f;", call="@f", more="").replace(
        "return x; } }", "return x; }}", 1
    )
    assert link(parse_modules(named)).functions[0].body[0].value.function.name == "c_f"  # type: ignore[attr-defined]
    own = TWO.format(imports="import b.*; import c.f; def f(x:i32) : i32 { return x; }", call="@f", more="")
    assert link(parse_modules(own)).functions[1].body[0].value.function.name == "f"  # type: ignore[attr-defined]


PACKAGE = """module default { import Builtin.*; import money.*;
    def main() : table {
        var t:table = @load_table(`t:sym);
        var p:decimal<15,2> = check_cast(@column_value(t, `p:sym), decimal<15,2>);
        var s:? = @net(p, 0.90:decimal<3,2>);
        var l:list<?> = @list(s);
        var r:table = @table(`net:sym, l);
        return r;
    } }
module money { import Builtin.*;
    kernel net(p:decimal<15,2>, rate:decimal<3,2>) : decimal<38,4> {
        var n:decimal<18,4> = @mul(p, rate);
        var s:decimal<38,4> = @sum(n);
        return s;
    } }
"""


@pytest.mark.parametrize("mode", MODES)
def test_functions_of_other_modules_go_into_kernels(tmp_path: Path, mode: str) -> None:
    file, data = tmp_path / "query.hir", tmp_path / "t.parquet"
    file.write_text(PACKAGE)
    pq.write_table(pa.table({"p": pa.array([Decimal(n) for n in (100, 250, 5)], pa.decimal128(15, 2))}), data)
    words = [str(file), f"--table=t={data}", f"--outline={mode}", "--format=csv"]
    done = CliRunner().invoke(command, words, catch_exceptions=False)
    assert (done.exit_code, done.output) == (0, "net\n319.5000\n")
    if mode == "full":
        emitted = CliRunner().invoke(command, [*words, "--emit=outline"], catch_exceptions=False).output
        assert "kernel main_0(" in emitted
        assert "@mul" in emitted


def test_a_file_of_modules_runs_on_devices() -> None:
    table = pa.table({"p": pa.array([Decimal(1), Decimal(2)], pa.decimal128(15, 2))})
    made = Program(link(parse_modules(PACKAGE)), {"t": from_arrow("t", table)})
    assert on_device(made, "reference") == made.interpret().to_arrow()
