"""Code for DRAWLOOM_CHECK: compiled when a program is first run so, or put into the program by `-checked`."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from drawloom.cuda import checked
from drawloom.cuda.clang import find_clang
from drawloom.cuda.compiler import Options, translate_cuda
from drawloom.errors import UnsupportedError
from drawloom.runtime.ahead import LEVEL, interface

try:
    find_clang()
except UnsupportedError as missing:
    pytest.skip(str(missing), allow_module_level=True)

#: Two threads are the first to launch kernels, and with more than 3 threads one kernel goes past its allocation.
SOURCE = """
#include <cstdio>
#include <thread>
__device__ int table[3] = {1, 2, 3};
__global__ void fill(int *out) { out[threadIdx.x] = table[threadIdx.x]; }
__global__ void add(int *out, int n) { out[threadIdx.x] += n; }
int main(int, char **words) {
  int *first, *second;
  cudaMalloc(&first, 3 * sizeof(int));
  cudaMalloc(&second, 3 * sizeof(int));
  std::thread other([&] { fill<<<1, 3>>>(second); });
  fill<<<1, 3>>>(first);
  other.join();
  add<<<1, words[1][0] - '0'>>>(first, 1);
  cudaError_t wait = cudaDeviceSynchronize(), later = cudaGetLastError();
  std::printf("%s, %s\\n", cudaGetErrorName(wait), cudaGetErrorName(later));
}
"""
COUNTING = """#!/bin/sh
echo called >> {log}
exec "{python}" -m drawloom "$@"
"""


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the program as it is built without an option, and with -checked."""
    folder = tmp_path_factory.mktemp("programs")
    (folder / "source.cu").write_text(SOURCE)
    for name, words in (("plain", []), ("whole", ["-checked"])):
        assert cc(str(folder / "source.cu"), *words, "-o", str(folder / name)) == ""
    return folder


def cc(*words: str) -> str:
    """What `drawloom cc` prints."""
    from drawloom.cli.main import cli

    done = CliRunner().invoke(cli, ["cc", *words])
    assert done.exit_code == 0, done.output
    return done.output


def run(program: Path, settings: dict[str, str], threads: int = 3, check: str = "memory") -> tuple[str, str]:
    """(Standard output, standard error) of a checked run."""
    environment = {**os.environ, "DRAWLOOM_DEVICE": "cpu", "DRAWLOOM_CHECK": check, **settings}
    done = subprocess.run([str(program), str(threads)], capture_output=True, text=True, env=environment, check=True)
    return done.stdout, done.stderr


def test_the_programs_own_drawloom_compiles_checked_code_once_and_the_cache_keeps_it(
    programs: Path, tmp_path: Path
) -> None:
    cache = {"DRAWLOOM_CACHE_DIR": str(tmp_path)}
    output, errors = run(programs / "plain", cache, 4)
    assert output == "cudaErrorIllegalAddress, cudaErrorIllegalAddress\n"
    assert "kernel add(int*, int): access outside every allocation, 4 bytes at 0x" in errors
    assert errors.endswith("in block (0, 0, 0), thread (3, 0, 0) at " + str(programs / "source.cu") + ":6\n")
    assert len(list(tmp_path.iterdir())) == 1
    cache["DRAWLOOM_CLANG"] = "/none"  # nothing can be compiled now
    for check in ("memory", "race"):
        assert run(programs / "plain", cache, check=check) == ("cudaSuccess, cudaSuccess\n", "")


def test_another_drawloom_may_be_named_and_is_called_once_for_all_threads(programs: Path, tmp_path: Path) -> None:
    command, log = tmp_path / "drawloom", tmp_path / "log"
    command.write_text(COUNTING.format(log=log, python=sys.executable))
    command.chmod(0o755)
    assert run(programs / "plain", {"DRAWLOOM": f" {command} "})[0] == "cudaSuccess, cudaSuccess\n"
    assert log.read_text() == "called\n"


def test_code_that_is_part_of_the_program_needs_no_drawloom(programs: Path) -> None:
    output, errors = run(programs / "whole", {"DRAWLOOM": "/none"}, 4)
    assert output == "cudaErrorIllegalAddress, cudaErrorIllegalAddress\n"
    assert errors.endswith(":6\n")
    assert (programs / "whole").stat().st_size > (programs / "plain").stat().st_size


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("/none", "code that checks accesses is compiled by `/none`, which cannot be run: No such file or directory"),
        ("/bin/false", "`/bin/false` did not compile the code that checks accesses"),
        ("/bin/true", "what `/bin/true` compiled cannot be loaded: "),
    ],
)
def test_without_a_drawloom_every_call_fails_and_standard_error_says_what_to_do(
    command: str, why: str, programs: Path
) -> None:
    output, errors = run(programs / "plain", {"DRAWLOOM": command}, check="race")
    assert output == "cudaErrorNoKernelImageForDevice, cudaErrorNoKernelImageForDevice\n"
    assert errors.startswith(f"drawloom: DRAWLOOM_CHECK=race: {why}")
    advice = "install Drawloom, name its command in DRAWLOOM, or build the program with `drawloom cc -checked`\n"
    assert errors.endswith("\n  " + advice)


def test_a_program_of_another_version_is_refused() -> None:
    command = [sys.executable, "-m", "drawloom", "checked", LEVEL, "another"]
    done = subprocess.run(command, input=".version 7.8\n", capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: the program was built by another version of Drawloom")


def test_who_waits_long_is_told_for_what(
    programs: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    source = str(programs / "source.cu")
    ptx = translate_cuda(source, "sm_80", Options(line_info=True, program=True)).ptx
    monkeypatch.setattr(checked, "PATIENCE_SECONDS", 0.0)
    monkeypatch.setenv("DRAWLOOM_CACHE", "off")
    assert checked.checked_library(ptx, LEVEL, interface()).startswith(b"\x7fELF")
    assert capfd.readouterr().err == f"drawloom: compiling the code of {source} that checks accesses\n"


def test_unchecked_is_what_programs_are_without_an_option() -> None:
    from drawloom.cli.nvcc_options import read_command_line

    given = read_command_line(["-unchecked", "a.cu"])
    assert given.notes == ["note: -unchecked is ignored: only -checked puts in the code that DRAWLOOM_CHECK runs"]
