"""Random programs through the code generator: an error that names a Python line or a place in the text, or code.

What compiles is OpenCL C that a platform builds, where one is installed. It runs, and gives what the interpreter
gives; what the interpreter refuses does not run.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawloom import Error
from drawloom.lift import compile, find_sizes, infer_types, parse_program, show_program
from tests.lift.codegen.opencl_platforms import find_build_error
from tests.lift.codegen.test_golden import PROGRAMS
from tests.lift.language.test_fuzz import WORDS, damage
from tests.lift.programs.table import BENCHMARKS
from tests.lift.random_nests import NestGenerator
from tests.lift.random_programs import Generator
from tools import fuzz_lift_code

#: Texts of low-level programs that are right.
TEXTS = [show_program(make()) for make, _ in PROGRAMS.values()]
TEXTS += [show_program(make()) for benchmark in BENCHMARKS for make in benchmark.low_level.values()]
TEXTS += [show_program(Generator(seed).low_level_program()[0]) for seed in range(30)]

#: Words that keep a low-level program low-level.
PATTERNS = """
    mapGlb(0) mapGlb(1) mapWrg(0) mapWrg(1) mapLcl(0) mapLcl(1) mapWarp(0) mapLane(0) mapSeq toGlobal toLocal toPrivate
    reduceSeq scanSeq iterate split splitGuarded join gather scatter slide pad padValue transpose zip unzip get(0)
    get(1) head take drop concat replicate asVector(4) asScalar id add neg kernel mapAtomicLcl(0) mapAtomicGlb(0)
    lookup iota
""".split()


def try_to_compile(text: str) -> None:
    """Take a text through the code generator, whole and with each of its optimisations off."""
    try:
        program = infer_types(parse_program(text))
    except Error:
        return
    sizes = dict.fromkeys(find_sizes(program), 8)
    for options in ({}, {"sizes": sizes}, {"array_access": False}, {"barriers": False}, {"control_flow": False}):
        try:
            compiled = compile(program, **options)  # type: ignore[arg-type]
        except Error as refusal:
            assert str(refusal)
        else:
            assert "kernel void" in compiled.opencl
            assert compiled.views
            assert not find_build_error(compiled.opencl), compiled.opencl


@given(st.sampled_from(TEXTS), st.integers(0, 1 << 30), st.integers(1, 3))
def test_damaged_low_level_programs(text: str, seed: int, times: int) -> None:
    """Delete, repeat, exchange and replace words of low-level programs that are right."""
    try_to_compile(
        damage(text, seed, times, lambda chosen, words: chosen.choice(chosen.choice((WORDS, PATTERNS, words))))
    )


@given(st.lists(st.sampled_from(PATTERNS), min_size=1, max_size=8), st.sampled_from(["1", "2", "4", "reverse", "0"]))
def test_random_chains_of_patterns(words: list[str], argument: str) -> None:
    """Nest patterns in the order of their words: maps around the rest, other patterns before it."""
    body = "id"
    for word in reversed(words):
        if word.startswith(("map", "to", "kernel")):
            body = f"{word}({body})"
        elif word in ("split", "splitGuarded", "gather", "scatter", "take", "drop"):
            body = f"{body} ∘ {word}({argument})"
        elif word in ("reduceSeq", "scanSeq"):
            body = f"{body} ∘ {word}(0, add)"
        elif word == "iterate":
            body = f"iterate({argument}, {body})"
        else:
            body = f"{body} ∘ {word}"
    for type in ("[float]N", "[[float]M]N", "[[[float]4]M]N"):
        try_to_compile(f"f(x: {type}) = ({body})(x)")


@given(st.integers(0, 1 << 30), st.booleans())
def test_random_nests(seed: int, has_known_sizes: bool) -> None:
    """Patterns wherever they have a type: refused with the Python line, or compiled."""
    generator = NestGenerator(seed)
    program, _ = generator.nest()
    used = set(find_sizes(program).values())
    sizes = {size: value for size, value in generator.values.items() if has_known_sizes and size in used}
    try:
        compiled = compile(program, sizes)
    except Error as refusal:
        assert fuzz_lift_code.has_place(refusal), repr(refusal)
    else:
        assert not find_build_error(compiled.opencl), compiled.opencl


@pytest.mark.parametrize("seed", range(100))
def test_random_programs_run_alike_everywhere(seed: int, sides: fuzz_lift_code.Sides) -> None:
    """On our CPU device, on an OpenCL platform, and under Oclgrind without a fault."""
    _, fault = fuzz_lift_code.check(seed, sides)
    assert not fault, fault


@pytest.fixture(scope="module")
def sides() -> fuzz_lift_code.Sides:
    return fuzz_lift_code.Sides()


def test_the_fuzzer_counts_refusals_and_reports_faults(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["fuzz_lift_code", "--count", "8"])
    assert fuzz_lift_code.main() == 0
    assert capsys.readouterr().out.startswith("8 programs: ")
    monkeypatch.setattr(fuzz_lift_code, "same", lambda *_: False)
    assert fuzz_lift_code.main() == 1
    assert "expected" in capsys.readouterr().out
