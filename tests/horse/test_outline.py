"""The outliner's modes: other kernels, equal results."""

import re

import pyarrow as pa
import pytest

from drawloom.horse.launch import Resident
from drawloom.horse.outline import MODES
from drawloom.horse.program import LoadedProgram, Program
from drawloom.horse.values import TableValue
from drawloom.runtime.machine import device
from tests.horse.programs import columns, on_device, program, result
from tests.horse.test_kernels import ELEMENT_WISE, REDUCED, numbers, reductions

GROUPED = """var m:? = @gt(h, 2:i32); var dm:? = @compress(m, d); var sm:? = @compress(m, s);
    var kl:? = @list(sm); var gr:? = @group(kl); var firsts:? = @keys(gr); var rows:? = @values(gr);
    var k0:? = @index(sm, firsts); var dc:? = @each_right(@index, dm, rows);
    var sc:? = @each(@sum, dc); var s0:? = @raze(sc);"""


def kernels(made: Program) -> list[list[str]]:
    """For each kernel the builtins that it calls."""
    found = []
    for function in made.outlined.module.functions:
        if function.is_kernel:
            lines = [s.value for s in function.body[:-1]]  # type: ignore[attr-defined]
            found.append([call.function.name for call in lines])
    return found


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("count", "device"), [(0, "reference"), (33, "reference"), (1025, "reference")])
def test_reductions_in_every_mode(mode: str, count: int, device: str) -> None:
    body, names = reductions()
    masked = "".join([f"var {c}c:? = @compress(m, {c});" for c in REDUCED])
    text = f"var m:bool = @gt(h, 2:i32); {masked} {body} {result(names)}"
    made = program(numbers(count), text, mode=mode)
    assert repr(on_device(made, device).to_pylist()) == repr(made.interpret().to_arrow().to_pylist())


@pytest.mark.parametrize("mode", MODES)
def test_element_wise_in_every_mode(mode: str) -> None:
    """On compressed rows: with ``none`` and ``flow`` operands and results travel through memory in every type."""
    names = "i h b d f g s q dt".split()
    given = "".join([f"var {c}x:? = @compress(m, {c}); " for c in names])
    calls = [re.sub(rf"(?<=[( ])({'|'.join(names)})(?=[,)])", r"\1x", call) for call in ELEMENT_WISE]
    body = "".join([f"var x{n}:? = {call}; " for n, call in enumerate(calls)])
    text = f"var m:? = @gt(h, 2:i32); {given} {body} {result([f'x{n}' for n in range(len(calls))])}"
    made = program(numbers(200), text, mode=mode)
    assert repr(on_device(made, "reference").to_pylist()) == repr(made.interpret().to_arrow().to_pylist())
    if mode == "none":
        assert all(len(kernel) == 1 for kernel in kernels(made))
        assert len(kernels(made)) == 1 + 9 + len(ELEMENT_WISE)


@pytest.mark.parametrize(
    ("mode", "sums"),
    [("none", [["index"], ["each_right"], ["each"]]), ("flow", [["each_right", "each", "raze"], ["index"]])],
)
def test_groups_are_control_code_but_in_full(mode: str, sums: list[list[str]]) -> None:
    """What picks the groups' keys is a kernel of its own, and so is what sums their rows up."""
    made = program(numbers(500), GROUPED + result(["k0", "s0"]), mode=mode)
    assert kernels(made) == [["gt"], ["compress"], ["compress"], *sums]
    assert on_device(made, "cpu") == made.interpret().to_arrow()


def test_flow_is_figure_4_14() -> None:
    """``x`` is read by two kernels, so it is one of its own; ``@max`` scatters, so what reads it is another; what is
    compressed has another geometry."""
    text = f"""var x:? = @mul(i, h); var y:? = @plus(x, 1:i32); var a:? = @max(y); var m:? = @gt(x, a);
        var n:? = @and(m, q); var z:? = @compress(n, d); var w:? = @neg(z); var s0:? = @sum(w); {result(["s0"])}"""
    made = program(numbers(500), text, mode="flow")
    assert kernels(made) == [["mul"], ["plus", "max"], ["gt", "and", "compress"], ["neg", "sum"]]
    assert kernels(program(numbers(500), text)) == [
        ["mul", "plus", "max"],
        ["mul", "gt", "and", "compress", "neg", "sum"],
    ]
    assert on_device(made, "cpu") == made.interpret().to_arrow()


@pytest.mark.parametrize("mode", ["none", "flow"])
def test_an_overflow_of_rows_that_are_not_selected_is_none(mode: str) -> None:
    table = columns(x=([10**18 - 1, 2], pa.int64()), k=([0, 1], pa.int32()))
    text = f"var m:? = @eq(k, 1:i32); var a:? = @compress(m, x); var z:? = @mul(a, a); {result(['z'])}"
    assert on_device(program(table, text, mode=mode), "cpu").to_pylist() == [{"z": 4}]


@pytest.mark.parametrize("mode", MODES)
def test_positions_among_compressed_rows_count_those_only(mode: str) -> None:
    """Found by generated programs: a kernel over all rows gave the rows of the table."""
    text = f"var m:? = @gt(h, 4:i32); var c:? = @compress(m, q); var w:? = @where(c); {result(['w'])}"
    made = program(numbers(100), text, mode=mode)
    assert on_device(made, "reference") == made.interpret().to_arrow()


def test_an_extreme_of_f32_is_kept_in_32_bits() -> None:
    """Found by generated programs: kernels of library functions that read it beside a column took it for one."""
    made = program(numbers(50), f"var a0:? = @min(g); var a1:? = @max(g); {result(['a0', 'a1'])}")
    (table,) = LoadedProgram(made, device("reference"), Resident(device("reference"))).values()
    assert isinstance(table, TableValue)
    assert [column.data.dtype.name for column in table.columns] == ["float32", "float32"]


@pytest.mark.parametrize("mode", ["flow", "full"])
def test_figure_4_12(mode: str) -> None:
    """The reduction is a region of its own, as the edge out of it is synchronised; the two behind it are another."""
    text = f"var t2:i32 = @min(i); var t3:bool = @eq(i, t2); var t4:i32 = @compress(t3, i); {result(['t4'])}"
    made = program(numbers(100), text, mode=mode)
    assert kernels(made) == [["min"], ["eq", "compress"]]
    assert on_device(made, "reference") == made.interpret().to_arrow()
