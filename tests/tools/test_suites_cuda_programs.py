"""The runner for folders of CUDA programs, on a folder that the test writes."""

import json
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


def test_programs_of_a_folder_are_built_run_and_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        find_clang()
    except UnsupportedError as missing:
        pytest.skip(str(missing))
    suite = tmp_path / "suite"
    (suite / "common").mkdir(parents=True)
    (suite / "common" / "shared.h").write_text("#include <stdio.h>\n")
    for name, expected in (("right", "1"), ("wrong", "2"), ("lacks", "missing_name")):
        (suite / name).mkdir()
        (suite / name / "main.cu").write_text(PROGRAM)
        (suite / name / "Makefile").write_text(MAKEFILE.format(expected))
    found = tmp_path / "found.json"
    monkeypatch.setattr("sys.argv", ["cuda_programs", str(suite), "--jobs", "2", "--report", str(found)])
    for name in cuda_programs.SETTINGS:
        monkeypatch.setenv(name, "")  # what the runner sets is taken back
    assert cuda_programs.main() == 1
    outcomes = {row["name"]: row for row in map(json.loads, found.read_text().splitlines())}
    assert {name: row["kind"] for name, row in outcomes.items()} == {
        "right": "same",
        "wrong": "different",
        "lacks": "refused",
    }
    assert "missing_name" in outcomes["lacks"]["detail"].splitlines()[0]
    assert "its own check fails" in capsys.readouterr().out
    assert sorted(path.name for path in (suite / "right").iterdir()) == ["Makefile", "main.cu"]


@pytest.mark.parametrize(
    "status, output, kind",
    [
        (0, "Non-Matching CPU-GPU Outputs Beyond Error Threshold of 0.05 Percent: 0\n", "same"),
        (0, "Non-Matching CPU-GPU Outputs Beyond Error Threshold of 0.05 Percent: 8190\n", "different"),
        (0, "0 errors\nmax error = 1e-6\nPASS\n", "same"),
        (0, "FAIL\n", "different"),
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
