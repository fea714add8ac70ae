"""The tables that know the builtins agree: signature rules, evaluation, templates, kernels, and the documentation."""

import re
from pathlib import Path

import pytest

from drawloom.horse.builtins import BUILTINS
from drawloom.horse.kernels.library import CALLS
from drawloom.horse.library import EVALUATE
from drawloom.horse.placement import REDUCTIONS
from drawloom.horse.signatures import RULES
from tests.horse.programs import program, result
from tests.horse.test_kernels import ELEMENT_WISE, numbers

#: What the interpreter does itself, because it needs the tables.
OF_INTERPRETER = {"load_table", "column_value", "column_valid"}
TARGETS = {"cpu", "gpu", "lib"}
DOCS = Path(__file__).resolve().parents[2] / "docs" / "builtins.md"


def test_each_builtin_has_an_evaluation() -> None:
    assert set(BUILTINS) - OF_INTERPRETER == set(EVALUATE)
    assert set(BUILTINS) >= OF_INTERPRETER


def test_each_builtin_has_a_signature_rule_and_each_rule_a_builtin() -> None:
    assert {b.signature for b in BUILTINS.values()} == set(RULES)


@pytest.mark.parametrize("name", BUILTINS)
def test_targets_geometries_and_marks_are_of_the_language(name: str) -> None:
    builtin = BUILTINS[name]
    assert builtin.target in TARGETS
    assert builtin.geometry in ("r", "-") or builtin.geometry.isdigit()
    assert all(place >= 0 for place in builtin.reads)


#: A call of each builtin with a template, over the columns of ``numbers``, in a kernel.
IN_KERNELS = {
    **{re.findall(r"@(\w+)", call)[0]: f"var x:? = {call};" for call in ELEMENT_WISE},
    **{name: f"var x:? = @{name}(i);" for name in sorted(REDUCTIONS)},
    "compress": "var x:? = @compress(q, i);",
    **{name: f"var x:? = @{name}(f);" for name in ("sqrt", "floor", "ceil", "round")},
    **{name: f"var x:? = @{name}(dt);" for name in
       ("date_quarter", "date_week", "date_dow", "date_doy", "timestamp_of")},
    "truncate": "var x:? = @truncate(dt, `month:sym);", "add_months": "var x:? = @add_months(dt, 2:i64);",
    **{name: f"var ts:? = @timestamp_of(dt); var x:? = @{name}(ts);" for name in
       ("date_of", "time_hour", "time_minute", "time_second")},
}  # fmt: skip


def test_each_builtin_with_a_template_has_a_call_that_runs_in_a_kernel() -> None:
    gathers = {n for n, b in BUILTINS.items() if b.target == "gpu" and (b.reads or b.shape == "where")}
    assert {n for n, b in BUILTINS.items() if b.target == "gpu"} - gathers == set(IN_KERNELS)


@pytest.mark.parametrize("name", IN_KERNELS)
def test_a_template_makes_a_kernel(name: str) -> None:
    made = program(numbers(100), IN_KERNELS[name] + result(["x"]))
    called = [s.value.function.name for f in made.outlined.module.functions if f.is_kernel  # type: ignore[attr-defined]
              for s in f.body[:-1]]  # fmt: skip
    assert name in called


def test_kernels_of_library_functions_are_of_builtins() -> None:
    assert set(CALLS) <= set(BUILTINS)
    assert {BUILTINS[name].target for name in CALLS} <= {"lib", "gpu"}


def test_every_builtin_is_in_the_documentation() -> None:
    page = DOCS.read_text(encoding="utf-8")
    calls = [row.split("|")[1] for row in page.splitlines() if row.startswith("| `")]
    named = re.findall(r"@([a-z_0-9]+)", " ".join(calls))
    functions = {name for name in named if name != "f"}
    assert sorted(set(BUILTINS) - functions) == []
    assert sorted(functions - set(BUILTINS)) == []
