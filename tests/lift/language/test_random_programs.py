"""Properties of random well-typed programs: two interpreters agree, and the text parses back to an equal program."""

from typing import Any

import numpy as np
import pytest

from drawloom.lift import check_well_formed, infer_types, interpret, is_low_level
from drawloom.lift.language.ir import Lambda
from drawloom.lift.language.parser import parse_program
from drawloom.lift.language.printer import show_program
from tests.lift import naive
from tests.lift.random_programs import Generator
from tools import fuzz_lift

SEEDS = range(120)


def draw(seed: int) -> tuple[Generator, Lambda, list[Any]]:
    generator = Generator(seed)
    program, arguments = generator.program()
    return generator, program, arguments


def same(left: Any, right: Any) -> bool:
    if isinstance(left, tuple):
        return isinstance(right, tuple) and all(same(one, other) for one, other in zip(left, right, strict=True))
    return left.dtype == right.dtype and np.array_equal(left, right, equal_nan=True)


@pytest.mark.parametrize("seed", SEEDS)
def test_batches_of_elements_mean_what_single_elements_mean(seed: int) -> None:
    generator, program, arguments = draw(seed)
    typed = infer_types(program)
    expected = naive.to_arrays(naive.run(program, arguments, generator.values), typed.body.typed)
    assert same(interpret(typed, *arguments), expected)


@pytest.mark.parametrize("seed", SEEDS)
def test_printed_programs_parse_back_to_equal_programs(seed: int) -> None:
    generator, program, _ = draw(seed)
    parsed = parse_program(show_program(program), sizes={size.name: size for size in generator.sizes})
    assert parsed == program
    assert hash(parsed) == hash(program)
    assert show_program(parsed) == show_program(program)


@pytest.mark.parametrize("seed", SEEDS)
def test_low_level_programs_are_well_formed_and_mean_the_same(seed: int) -> None:
    generator = Generator(seed)
    program, arguments = generator.low_level_program()
    typed = infer_types(program)
    check_well_formed(typed)
    assert is_low_level(typed)
    expected = naive.to_arrays(naive.run(program, arguments, generator.values), typed.body.typed)
    assert same(interpret(typed, *arguments), expected)
    parsed = parse_program(show_program(program), sizes={size.name: size for size in generator.sizes})
    assert parsed == program


@pytest.mark.parametrize("seed", SEEDS)
def test_typed_copies_equal_their_programs(seed: int) -> None:
    _, program, _ = draw(seed)
    typed = infer_types(program)
    assert typed == program
    assert hash(typed) == hash(program)
    assert infer_types(typed).body.type == typed.body.type


def test_programs_that_differ_are_not_equal() -> None:
    programs = [draw(seed)[1] for seed in range(200)]
    texts = {show_program(program) for program in programs}
    assert len(set(programs)) >= len(texts) > 150


def test_the_fuzzer_counts_programs(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["fuzz_lift", "--count", "3"])
    assert fuzz_lift.main() == 0
    assert capsys.readouterr().out == "3 programs agree\n"


def test_the_fuzzer_reports_a_wrong_result(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["fuzz_lift", "--count", "3"])
    monkeypatch.setattr(fuzz_lift, "interpret", lambda *_: np.zeros(1))
    assert fuzz_lift.main() == 1
    assert capsys.readouterr().out.startswith("seed 0: ")
