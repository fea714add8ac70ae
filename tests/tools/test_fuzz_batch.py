"""The fuzzer of kernels: one program on several back ends, each counted by itself, with headers that are read once."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from drawloom.batch.backends.simd.compiler import find_c_compiler
from drawloom.cpu.vector.machine import host
from tools import fuzz_batch
from tools.batch_backends import BACKENDS, precompile_headers
from tools.driver import Verdict
from tools.fuzz_batch import CUDA, ORACLES, Program, check_parts

pytest.importorskip("pycparser")
if not host().is_x86:
    pytest.skip("the C compiler is for another kind of CPU", allow_module_level=True)

#: A kernel that compiles fast.
SMALL = 105
ROOT = Path(__file__).parents[2]


def are_taken(command: Sequence[str], includes: Sequence[str], folder: Path) -> bool:
    """Return whether gcc takes the precompiled headers that a command names."""
    source = folder / "kernel.c"
    source.write_text("\n".join([*includes, "int32_t f(int32_t x) { return x; }"]))
    done = subprocess.run(
        [*command, "-Winvalid-pch", "-Werror", "-H", str(source), "-o", f"{source}.so"],
        capture_output=True, text=True,
    )  # fmt: skip
    return done.returncode == 0 and done.stderr.startswith("! ")


@pytest.mark.parametrize("name", ["avx2", "avx512"])
def test_gcc_takes_the_precompiled_headers(name: str, tmp_path: Path) -> None:
    if "gcc" not in find_c_compiler()[0]:
        pytest.skip("gcc alone tells which precompiled headers it takes")
    headers = precompile_headers(tmp_path, [name])
    by_gcc = {command: options for command, options in headers.items() if command[0] == find_c_compiler()[0]}
    assert len(by_gcc) >= 2, "for both levels of optimisation"
    for command, options in by_gcc.items():
        assert are_taken([*command, *options], BACKENDS[name].includes, tmp_path)
        assert not are_taken([*command, *options, "-march=x86-64-v2"], BACKENDS[name].includes, tmp_path)


def test_a_failure_of_one_back_end_is_not_that_of_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> list[object]:
        raise ValueError("no code")

    monkeypatch.setitem(BACKENDS, "llvm", BACKENDS["llvm"]._replace(make=fail))
    models = ["avx2 model", "avx512 model", "ve model"]
    verdicts = list(check_parts(SMALL, [ORACLES, "llvm", *models], None, True, precompile_headers(tmp_path, models)))
    assert [verdict.message == "" for verdict in verdicts] == [True, False, True, True, True]
    assert verdicts[1].kind == "errors" and "llvm: Traceback" in verdicts[1].message
    assert all(verdict.counts for verdict in verdicts)


def test_wrong_numbers_are_found_with_their_back_end(monkeypatch: pytest.MonkeyPatch) -> None:
    class Idle:
        def run(self, arguments: list[object], first: int, last: int) -> None: ...

    monkeypatch.setitem(BACKENDS, "llvm", BACKENDS["llvm"]._replace(make=lambda kernel, cases: [Idle()] * 3))
    verdicts = list(check_parts(SMALL, [ORACLES, "llvm"], None, True, None))
    assert verdicts[0].message == "" and verdicts[1].kind == "different"
    assert "llvm, Case(order='rows'" in verdicts[1].message and ", expected " in verdicts[1].message


def test_no_back_end_is_asked_when_the_oracles_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzz_batch, "interpret_ir", lambda *_: None)
    verdicts = list(check_parts(SMALL, [ORACLES, "llvm", "avx2"], None, True, None))
    assert "InfReg-IR: " in verdicts[0].message
    assert verdicts[1:] == [Verdict(refused="the oracles differ")] * 2


def test_large_kernels_are_refused_in_every_part() -> None:
    verdicts = list(check_parts(SMALL, [ORACLES, "llvm"], 3, True, None))
    assert verdicts == [Verdict(refused="more than 3 instructions")] * 2


def test_large_kernels_have_one_order_and_every_layout_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    program = Program(SMALL)
    monkeypatch.setattr(fuzz_batch, "LARGE", program.size)
    assert program.chosen_cases("llvm") == program.cases()
    monkeypatch.setattr(fuzz_batch, "LARGE", program.size - 1)
    seen: dict[str, set[tuple[object, ...]]] = {"llvm": set(), "avx2": set()}
    for seed in range(54):
        program.seed = seed
        chosen = {name: program.chosen_cases(name) for name in seen}
        assert [len(cases) for cases in chosen.values()] == [1, 1] and chosen["llvm"] != chosen["avx2"]
        for name, cases in chosen.items():
            seen[name].add(cases[0])
    assert [len(layouts) for layouts in seen.values()] == [54, 54], "orders, packs, widths, sequences: all combinations"


def test_the_largest_kernels_run_on_every_back_end_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzz_batch, "LARGEST", 0)
    program = Program(SMALL)
    for part in (*BACKENDS, CUDA + "cpu"):
        turns = []
        for number in range(8):
            program.seed = 54 * number
            turns.append(program.has_turn(part))
        assert turns == 2 * turns[:4] and sum(turns) == 2
    verdicts = list(check_parts(SMALL, [ORACLES, *BACKENDS], None, False, None))
    assert [verdict.message for verdict in verdicts] == [""] * len(verdicts)
    assert [verdict.refused != "" for verdict in verdicts[1:]] == [
        (SMALL // 54 + n) % 4 != 0 for n in range(len(BACKENDS))
    ]


@pytest.mark.usefixtures("clang")
def test_one_run_counts_every_back_end(tmp_path: Path) -> None:
    words = ["--count", "2", "--seed", str(SMALL), "--jobs", "1", "--out", str(tmp_path)]
    words += ["--thorough", "--backend", "llvm", "avx2 model", "--cuda", "cpu"]
    done = subprocess.run(
        [sys.executable, "-m", "tools.fuzz_batch", *words], cwd=ROOT, capture_output=True, text=True, check=True
    )
    parts = ["oracles", "llvm", "avx2 model", "CUDA C++, cpu"]
    for part in parts:
        assert f"{part}: 2 programs from seed {SMALL} to {SMALL + 1} ran: 2 passed, 0 failed\n" in done.stdout
    assert json.loads((tmp_path / "record.json").read_text()).keys() == set(parts)
