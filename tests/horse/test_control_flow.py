"""Programs with functions, branches and loops: blocks are outlined, and the device gives the interpreter's answer."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from drawloom.cli.run import command
from drawloom.horse.infer import infer
from drawloom.horse.outline import MODES
from drawloom.horse.parser import parse
from drawloom.horse.program import Program
from drawloom.horse.store import from_arrow
from tests.horse.programs import on_device, program, result
from tests.horse.test_kernels import numbers

# name: (body over the columns of ``numbers``, results, kernels that some block has with full)
PROGRAMS: dict[str, tuple[str, list[str], list[set[str]]]] = {
    "a scalar goes round a loop into a kernel": (
        """var n:i64 = 0:i64; var total:i128 = 0:i128; var more:bool = 1:bool;
        while (more) {
            var m:? = @gt(b, n); var c:? = @compress(m, i); var s0:? = @sum(c);
            total = @plus(total, s0); n = @plus(n, 100000000000:i64); more = @lt(n, 900000000000:i64);
        }""",
        ["total"], [{"gt", "compress", "sum"}],
    ),
    "rows go round a loop": (
        """var x:i64 = @convert(i, `i64:sym);
        repeat (3:i64) { var y:? = @plus(h, 1:i32); x = @if_else(q, x, 5:i64); }
        var s0:? = @sum(x);""",
        ["s0"], [{"convert"}, {"if_else"}, {"sum"}],
    ),
    "both branches": (
        """var s0:? = @sum(d); var c:? = @gt(s0, 0:i32); var r:i64 = 0:i64;
        if (c) { var m:? = @gt(h, 3:i32); var k:? = @compress(m, b); r = @max(k); }
        else { var l:? = @lt(h, 3:i32); var j:? = @compress(l, b); r = @min(j); }""",
        ["r", "s0"], [{"sum"}, {"gt", "compress", "max"}, {"lt", "compress", "min"}],
    ),
    "a mask from before a loop": (
        """var m:? = @gt(h, 4:i32); var x:? = @compress(m, b); var t0:i64 = 0:i64; var n:i64 = 0:i64;
        repeat (4:i64) { var y:? = @minus(x, n); var a:? = @max(y); t0 = a; n = @plus(n, 7:i64); if (q0) { break; } }
        var z:? = @compress(m, s); var w:? = @min(z);""",
        ["t0", "w"], [{"gt", "compress"}, {"minus", "max"}, {"compress", "min"}],
    ),
    "a mask that changes": (
        """var m:bool = @gt(h, 4:i32); var x:? = @compress(m, b); m = @lt(h, 3:i32); var y:? = @compress(m, b);
        var s0:? = @sum(x); var s1:? = @sum(y);""",
        ["s0", "s1"], [],
    ),
    "copies of one mask": (
        """var m:bool = @gt(h, 4:i32); var k:bool = m; var l:bool = m; var x:? = @compress(k, b);
        var y:? = @compress(l, i); var z:? = @plus(x, y); m = @lt(h, 3:i32); var n:bool = m; var u:? = @compress(n, b);
        var s0:? = @sum(z); var s1:? = @sum(u);""",
        ["s0", "s1"], [],
    ),
    "a group in a loop": (
        """var total:i128 = 0:i128; var n:i32 = 0:i32;
        repeat (3:i64) {
            var m:? = @gt(h, n); var hm:? = @compress(m, h); var im:? = @compress(m, i);
            var kl:? = @list(hm); var gr:? = @group(kl); var rows:? = @values(gr);
            var ic:? = @each_right(@index, im, rows); var sc:? = @each(@sum, ic); var s0:? = @raze(sc);
            var a:? = @max(s0); total = @plus(total, a); n = 2:i32;
        }""",
        ["total"], [{"gt", "compress", "list", "group", "values", "each_right", "each", "raze"}],
    ),
}  # fmt: skip


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_device_gives_the_interpreters_answer(name: str, mode: str) -> None:
    body, results, kernels = PROGRAMS[name]
    for count in (0, 1, 300):
        made = program(numbers(count), f"var q0:bool = 0:bool; {body} {result(results)}", mode=mode)
        assert on_device(made, "reference") == made.interpret().to_arrow()
        assert made.interpret_outlined().to_arrow() == made.interpret().to_arrow()
        infer(parse(str(made.outlined.module)))
    if mode == "full":
        functions = [f for f in made.outlined.module.functions if f.is_kernel]
        called = [{s.value.function.name for s in f.body[:-1]} for f in functions]  # type: ignore[attr-defined]
        assert [k for k in kernels if k not in called] == []


FUNCTIONS = """module m {
    import Builtin.*;

    def main() : table {
        var t:table = @load_table(`t:sym);
        var i:i32 = check_cast(@column_value(t, `i:sym), i32);
        var h:i16 = check_cast(@column_value(t, `h:sym), i16);
        var low:i32, var high:i32 = @extent(i, 3:i16, h);
        low, high = @extent(i, low16, h);
        var steps:i64 = @halvings(100:i64);
        var l:list<?> = @list(low, high, steps);
        var r:table = @table((`low, `high, `steps):sym, l);
        return r;
    }

    kernel extent(x:i32, least:i16, h:i16) : i32, i32 {
        var m:bool = @above(h, least);
        var c:i32 = @compress(m, x);
        var low:i32 = @min(c);
        var high:i32 = @max(c);
        return low, high;
    }

    def above(h:i16, least:i16) : bool {
        var m:bool = @gt(h, least);
        return m;
    }

    kernel halvings(n:i64) : i64 {
        var steps:i64 = 0:i64;
        var more:bool = @gt(n, 1:i64);
        while (more) {
            steps = @plus(steps, 1:i64);
            n = @minus(n, steps);
            more = @gt(n, 1:i64);
        }
        return steps;
    }
}
""".replace("low16", "5:i16")


def functions(table: pa.Table, mode: str = "full") -> Program:
    return Program(parse(FUNCTIONS), {"t": from_arrow("t", table)}, mode=mode)


@pytest.mark.parametrize("mode", MODES)
def test_straight_functions_are_seen_through_and_others_called(mode: str) -> None:
    made = functions(numbers(100), mode)
    table = numbers(100).to_pydict()
    kept = [i for i, h in zip(table["i"], table["h"]) if h > 5]
    assert on_device(made, "reference").to_pylist() == [{"low": min(kept), "high": max(kept), "steps": 14}]
    assert made.interpret().to_arrow() == on_device(made, "reference")
    assert made.interpret_outlined().to_arrow() == on_device(made, "reference")
    if mode == "full":  # both calls of @extent read the same columns at the same time
        assert list(made.plans) == ["main_0"]


def test_run_takes_horse_programs(tmp_path: Path) -> None:
    file, data = tmp_path / "query.hir", tmp_path / "t.parquet"
    file.write_text(FUNCTIONS)
    pq.write_table(numbers(100), data)
    table = f"--table=t={data}"

    def run(*words: str) -> tuple[int, str]:
        done = CliRunner().invoke(command, [str(file), *words], catch_exceptions=False)
        return done.exit_code, done.output

    expected = functions(numbers(100)).interpret().to_arrow().to_pylist()[0]
    for device in ("cpu", "reference"):
        code, shown = run(table, "--format=csv", f"--device={device}")
        assert (code, shown) == (0, "low,high,steps\n{low},{high},{steps}\n".format(**expected))
    assert "kernel main_0(" in run(table, "--emit=outline")[1]
    assert run(table, "--grid=4") == (2, run(table, "--grid=4")[1])
    assert "--grid is for PTX files" in run(table, "--grid=4")[1]
    assert "--emit llvm is for PTX files" in run(table, "--emit=llvm")[1]


def test_an_assignment_whose_declaration_is_not_needed_declares_its_variable() -> None:
    """Found by generated programs: ``m`` is written again before anything reads it."""
    body = "var m:? = @not(q); m = @gt(h, 4:i32); var x:? = @compress(m, i); var s0:? = @sum(x);" + result(["s0"])
    for mode in MODES:
        made = program(numbers(100), body, mode=mode)
        infer(parse(str(made.outlined.module)))
        assert on_device(made, "reference") == made.interpret().to_arrow()


WILD = """module m {{ import Builtin.*;
    def main() : table {{
        var t:table = @load_table(`t:sym); var d:? = check_cast(@column_value(t, `d:sym), decimal<15,2>);
        var h:? = check_cast(@column_value(t, `h:sym), i16);
        var a:? = @weighted(d, h); var b:? = @weighted(h, h); var l:list<?> = @list(a, b);
        var r:table = @table((`a, `b):sym, l); return r; }}
    def weighted(x:?, y:?) : ? {{ {} var z:? = @mul(x, y); var s:? = @sum(z); return s; }} }}"""


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("more", ["", "var c:bool = @gt(1:i64, 0:i64); if (c) { c = 0:bool; }"])
def test_functions_whose_types_are_those_of_their_arguments(mode: str, more: str) -> None:
    """Once kernels waited for each other: rows of no known type were in kernels, and nothing could leave them."""
    table = numbers(50)
    made = Program(parse(WILD.format(more)), {"t": from_arrow("t", table)}, mode=mode)
    assert on_device(made, "reference") == made.interpret().to_arrow()
    assert on_device(made, "reference").to_pylist() == [{
        "a": sum(d * h for d, h in zip(table["d"].to_pylist(), table["h"].to_pylist())),
        "b": sum(h * h for h in table["h"].to_pylist()),
    }]  # fmt: skip
    if mode == "full" and not more:
        assert list(made.plans) == ["main_0"]
