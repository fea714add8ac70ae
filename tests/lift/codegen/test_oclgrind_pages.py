"""The programs of docs/lift*.md and examples/lift under Oclgrind: no race, no bad access, no divergent barrier."""

import ast
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from drawloom import lift
from drawloom.lift import Compiled, compile, find_sizes, infer_types, interpret, is_low_level, parse_program
from drawloom.lift.arithmetic import evaluate
from drawloom.lift.language.ir import Lambda
from drawloom.lift.language.types import ArrayType, ScalarType, Type, VectorType
from tests.lift.codegen import test_docs, test_first_chapter
from tests.lift.codegen.oclgrind import run_checked
from tests.lift.codegen.runners import compile_for, same
from tests.lift.language import test_pages
from tests.opencl_platforms import OCLGRIND, usable_device

EXAMPLES = sorted((Path(__file__).resolve().parents[3] / "examples" / "lift").glob("*.py"))
#: Of every size: the chunks on the pages divide it.
SIZE = 64


@pytest.fixture(scope="module")
def oclgrind() -> Any:
    """Oclgrind's device; skips without one."""
    return usable_device(OCLGRIND)


def check(compiled: Compiled, device: Any, *arguments: Any, **options: Any) -> None:
    """Fail unless a program has no fault under Oclgrind and gives what it gives on our CPU device."""
    result, faults = run_checked(compiled, device, *arguments, **options)
    assert not faults, (faults, compiled.opencl)
    assert same(result, compiled(*arguments, **options))


def argument(type: Type, sizes: dict[Any, int], shape: tuple[int, ...] = ()) -> Any:
    """Return small whole numbers of a type, which are places of every array, too."""
    if isinstance(type, ArrayType):
        return argument(type.element, sizes, (*shape, evaluate(type.length, sizes)))
    if isinstance(type, VectorType):
        return argument(type.element, sizes, (*shape, type.width))
    assert isinstance(type, ScalarType)
    numbers = np.random.default_rng(len(shape)).integers(0, 2, shape).astype(type.dtype)
    return numbers if shape else numbers[()]


def program_of(source: str) -> tuple[Lambda, Compiled]:
    variables: dict[str, Any] = {}
    exec(source, variables)
    return variables["program"], variables.get("compiled") or compile(variables["program"])


@pytest.mark.parametrize("source", [pair[1] for pair in test_docs.PAIRS], ids=[pair[0] for pair in test_docs.PAIRS])
def test_programs_of_the_page_about_code(source: str, oclgrind: Any) -> None:
    program, compiled = program_of(source)
    sizes: dict[Any, int] = dict.fromkeys(find_sizes(program).values(), SIZE)
    check(compiled, oclgrind, *[argument(one.typed, sizes) for one in infer_types(program).parameters])


LOW_LEVEL = [block for block in test_pages.BLOCKS if is_low_level(parse_program(block[0]))]


@pytest.mark.parametrize(("text", "value"), LOW_LEVEL, ids=[text for text, _ in LOW_LEVEL])
def test_examples_of_patterns(text: str, value: str, oclgrind: Any) -> None:
    program = parse_program(text)
    given = ast.literal_eval(value.split(" = ", 1)[0].removeprefix("f").replace(")", ",)"))
    types = [one.typed for one in infer_types(program).parameters]
    arguments = [test_pages.argument(one, type) for one, type in zip(given, types, strict=True)]
    check(compile_for(program, *arguments), oclgrind, *arguments)


@pytest.fixture
def checked(oclgrind: Any, monkeypatch: pytest.MonkeyPatch) -> list[Compiled]:
    """Have every call of a compiled program run under Oclgrind, too, and every low-level program compiled where it is
    interpreted; return the list of those that ran."""
    run = Compiled.__call__
    called: list[Compiled] = []

    def run_both(compiled: Compiled, *arguments: Any, **options: Any) -> Any:
        result = run(compiled, *arguments, **options)
        found, faults = run_checked(compiled, oclgrind, *arguments, **options)
        assert not faults, (faults, compiled.opencl)
        assert same(found, result)
        called.append(compiled)
        return result

    def interpret_and_run(program: Lambda, *arguments: Any) -> Any:
        if is_low_level(program):
            compile_for(program, *arguments)(*arguments)
        return interpret(program, *arguments)

    monkeypatch.setattr(Compiled, "__call__", run_both)
    monkeypatch.setattr(lift, "interpret", interpret_and_run)
    return called


def test_the_first_chapter(checked: list[Compiled]) -> None:
    test_first_chapter.test_the_first_chapter_is_a_session_that_prints_what_it_shows(False)
    assert len(checked) >= 5


@pytest.mark.parametrize("path", EXAMPLES, ids=[path.stem for path in EXAMPLES])
def test_examples(path: Path, checked: list[Compiled]) -> None:
    runpy.run_path(str(path), run_name="__main__")
    assert checked
