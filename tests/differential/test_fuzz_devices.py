"""Generated programs give the same on the reference interpreter and on the CPU; `make fuzz` runs many more."""

import subprocess
import sys

import pytest

from drawloom.cpu import engine
from drawloom.errors import UnsupportedError
from drawloom.ptx import parse, verify
from tools.fuzz import check_program, difference, disagrees, minimise, run_on_reference
from tools.programs import Program, generate

#: Programs in the suite, in groups that the test processes share out. Seeds below are fixed, so a red run repeats.
PROGRAMS = 120
GROUP = 12


@pytest.mark.parametrize("first", range(0, PROGRAMS, GROUP))
def test_cpu_agrees_with_the_reference(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAWLOOM_CACHE", "off")
    for seed in range(first, first + GROUP):
        message = check_program(generate(seed), "cpu")
        assert not message, f"seed {seed}: {message}"


#: Programs that are run with each set of a CPU's features; 77 adds packed bf16 in memory.
SAMPLE = (77, *range(300, 304))


@pytest.mark.parametrize("features", ["sse4.2", "avx2", "avx512"])
def test_lesser_cpus_agree_with_the_reference(features: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAWLOOM_CACHE", "off")
    monkeypatch.setenv("DRAWLOOM_CPU_FEATURES", features)
    try:
        engine.host()
    except UnsupportedError as lacking:
        pytest.skip(str(lacking))
    for seed in SAMPLE:
        message = check_program(generate(seed), "cpu")
        assert not message, f"seed {seed}: {message}"


def test_bounds_checks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAWLOOM_CACHE", "off")
    for seed in range(9000, 9000 + GROUP):
        message = check_program(generate(seed), "cpu", check="memory")
        assert not message, f"seed {seed}: {message}"


def test_programs_are_valid_and_do_not_depend_on_the_order_of_threads() -> None:
    for seed in range(20_000, 20_120):
        program = generate(seed)
        verify(parse(program.text, f"seed {seed}"))
        forward = run_on_reference(program)
        assert forward.error == ""
        assert difference(program, forward, run_on_reference(program, reverse=True)) == "", f"seed {seed}"


def test_a_seed_gives_the_same_program_in_every_process() -> None:
    script = "from tools.programs import generate; print([generate(s).text for s in range(40)])"
    command = [sys.executable, "-c", script]
    runs = [
        subprocess.run(command, capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": seed}).stdout
        for seed in ("1", "2")
    ]
    assert runs[0] == runs[1]
    assert runs[0].strip() == str([generate(s).text for s in range(40)])


@pytest.mark.vendor
def test_the_vendor_assembler_takes_the_programs(ptxas: str) -> None:
    for seed in range(30):
        text = generate(seed).text
        arch = "sm_100" if ".target sm_100" in text else "sm_90"
        command = [ptxas, f"-arch={arch}", "-O0", "-", "-o", "/dev/null"]
        done = subprocess.run(command, input=text, capture_output=True, text=True)
        # Some releases crash on valid input; what is asked here is whether it refuses any.
        assert done.returncode <= 0, f"seed {seed}: {done.stderr}"


def test_a_wrong_answer_is_found_and_made_small() -> None:
    """A device that gets `brev` wrong: the fuzzer notices, and the smallest program still holds a `brev`."""

    def broken(program: Program) -> bool:
        try:
            right = run_on_reference(program)
            wrong = run_on_reference(program.with_text(program.text.replace("brev.b32", "popc.b32")))
        except Exception:
            return False
        return not right.error and difference(program, right, wrong) != ""

    candidates = sorted((p for p in map(generate, range(200)) if "brev.b32" in p.text), key=lambda p: len(p.text))
    program = next(filter(broken, candidates))
    small = minimise(program, broken, 5.0)
    assert broken(small) and "brev.b32" in small.text
    assert small.text.count("\n") < program.text.count("\n") * 0.8


def test_programs_that_the_reference_refuses_are_not_kept_while_shrinking() -> None:
    program = generate(1)
    lines = program.text.splitlines()
    without_end = "\n".join(lines[: len(lines) // 2])
    assert not disagrees(program.with_text(without_end), "cpu", None)
