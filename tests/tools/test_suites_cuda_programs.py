"""The runner for folders of CUDA programs, on a folder that the test writes."""

import json
import sys
from pathlib import Path

import pytest

from drawloom.cuda.clang import find_clang
from drawloom.errors import UnsupportedError
from tools.suites import cuda_programs

PROGRAM = """
#include "../common/shared.h"
__global__ void add(int *data) { data[threadIdx.x] += 1; }
int main(int count, char **words) {
  int *data;
  cudaMallocManaged(&data, 128);
  add<<<1, 32>>>(data);
  cudaDeviceSynchronize();
  printf("%s\\n", count == 2 && words[1][0] == '5' && data[3] == EXPECTED ? "PASS" : "FAIL");
}
"""
MAKEFILE = """
program: main.cu
\tnvcc -O3 -arch=sm_80 -DEXPECTED={} main.cu -o program
run: program
\t./program 5
"""


#: Stands for `drawloom cc`: a program is a script that checks what the definition says.
COMPILER = """
import pathlib, sys
if "-toolkit" in sys.argv:
    sys.exit()
assert pathlib.Path("../common/shared.h").exists() and pathlib.Path("main.cu").exists()
defined = next(word for word in sys.argv if word.startswith("-DEXPECTED=")).partition("=")[2]
if not defined.isdigit():
    sys.exit(f"main.cu:9:1: error: use of undeclared identifier '{defined}'")
program = pathlib.Path(sys.argv[sys.argv.index("-o") + 1])
program.write_text(f'#!/bin/sh\\n[ "$1" = 5 ] && [ {defined} = 1 ] && echo PASS || echo FAIL\\n')
program.chmod(0o755)
"""


def outcomes_of(
    programs: dict[str, str], place: Path, monkeypatch: pytest.MonkeyPatch, *words: str
) -> dict[str, dict[str, str]]:
    """Run the runner over a program for each name, each with what its result is expected to be."""
    suite, found = place / "suite", place / "found.json"
    (suite / "common").mkdir(parents=True)
    (suite / "common" / "shared.h").write_text("#include <stdio.h>\n")
    for name, expected in programs.items():
        (suite / name).mkdir()
        (suite / name / "main.cu").write_text(PROGRAM)
        (suite / name / "Makefile").write_text(MAKEFILE.format(expected))
    monkeypatch.setattr("sys.argv", ["cuda_programs", str(suite), "--jobs", "1", "--report", str(found), *words])
    for name in cuda_programs.SETTINGS:
        monkeypatch.setenv(name, "")  # what the runner sets is taken back
    assert cuda_programs.main() == any(expected != "1" for expected in programs.values())
    assert all(sorted(p.name for p in (suite / name).iterdir()) == ["Makefile", "main.cu"] for name in programs)
    return {row["name"]: row for row in map(json.loads, found.read_text().splitlines())}


def test_programs_of_a_folder_are_built_run_and_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "compiler.py").write_text(COMPILER)
    programs = {"right": "1", "wrong": "2", "lacks": "missing_name"}
    compiler = f"{sys.executable} -S {tmp_path / 'compiler.py'}"
    outcomes = outcomes_of(programs, tmp_path, monkeypatch, "--compiler", compiler)
    kinds = {name: row["kind"] for name, row in outcomes.items()}
    assert kinds == {"right": "same", "wrong": "different", "lacks": "refused"}
    assert "missing_name" in outcomes["lacks"]["detail"].splitlines()[0]
    assert "its own check fails" in capsys.readouterr().out


def test_a_program_is_the_folder_whose_makefile_or_script_runs_it(tmp_path: Path) -> None:
    """Rodinia's lud has its sources and a Makefile in `lud/cuda`, and in `lud` the script with its arguments."""
    for name in ("suite/Makefile", "suite/lud/Makefile", "suite/lud/run", "suite/lud/cuda/Makefile", "suite/one/a.cu"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("all:\n")
    (tmp_path / "suite" / "lud" / "cuda" / "lud.cu").write_text("")
    suite = tmp_path / "suite"
    assert cuda_programs.programs_in(suite) == [suite / "lud", suite / "one"]


@pytest.mark.slow
def test_a_program_is_built_by_drawloom_cc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        find_clang()
    except UnsupportedError as missing:
        pytest.skip(str(missing))
    assert outcomes_of({"right": "1"}, tmp_path, monkeypatch)["right"]["kind"] == "same"


def test_only_the_compilers_own_traceback_is_its_crash() -> None:
    begin = "Traceback (most recent call last):\n"
    script = f'{begin}  File "/tmp/run.py", line 1, in <module>\nModuleNotFoundError: No module named torch\n'
    assert cuda_programs.outcome_of_build("p", 2, script).kind == "refused"
    ours = f'{begin}  File "{cuda_programs.ROOT}/src/drawloom/cuda/programs.py", line 1, in build\nKeyError: 1\n'
    assert cuda_programs.outcome_of_build("p", 2, ours).kind == "crashed"


@pytest.mark.parametrize(
    "status, output, kind",
    [
        (0, "Non-Matching CPU-GPU Outputs Beyond Error Threshold of 0.05 Percent: 0\n", "same"),
        (0, "Non-Matching CPU-GPU Outputs Beyond Error Threshold of 0.05 Percent: 8190\n", "different"),
        (0, "0 errors\nmax error = 1e-6\nPASS\n", "same"),
        (0, "FAIL\n", "different"),
        (0, "Reading File\nError Reading graph file\n", "different"),
        (0, "a.cu:9: k(int): Assertion `x` failed.\nDevice assert failed as expected\nreturned OK\n", "same"),
        (0, "a.cu:9: k(int): Assertion `x` failed.\n", "different"),
        (1, "Device assert failed as expected\nFAILED\n", "different"),
        (1, "\n", "different"),
        (2, "\n", "different"),
        (2, "Two or more GPUs are required for ./program.\nWaiving test.\n", "refused"),
        (124, "", "hung"),
        (2, "make: *** [Makefile:3: run] Segmentation fault (core dumped)\n", "crashed"),
        (1, "drawloom: kernel k(int*): access outside every allocation, 4 bytes at 0x1\n", "crashed"),
    ],
)
def test_a_run_is_judged_by_its_status_and_its_words(status: int, output: str, kind: str) -> None:
    assert cuda_programs.judge("p", status, output).kind == kind
