"""No command writes over a file that it reads, unless it is told to edit in place."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result

from drawloom.cli.main import SUBCOMMANDS
from tests.runtime import programs

Command = Callable[..., Result]

KERNEL = "__global__ void set(int* out) { *out = 1; }\nint main() { set<<<1, 1>>>(nullptr); }\n"
#: The words of each command that writes a file: {input} is what it reads, {output} what it is asked to write.
WRITERS: dict[str, list[tuple[str, str]]] = {
    "as": [("in.ptx", "{input} -arch sm_80 -o {output}")],
    "batch": [("in.cl", "{input} --wg-size 4 -o {output}")],
    "build": [
        ("in.cu", "{input} -o {output}"), ("in.cu", "{input} --emit cubin -o {output}"),
        ("in.cu", "{input} --emit sass -o {output}"),
    ],
    "cc": [("in.cu", "{input} -o {output}"), ("in.cu", "-c {input} -o {output}"), ("in.cpp", "{input} -o {output}")],
    "lift": [("in.lift", "{input} -o {output}"), ("in.lift", "{input} --emit cubin -o {output}")],
    "opt": [("in.ptx", "{input} -o {output}")],
    "run": [("in.npy", "saxpy.ptx --grid 1 --arg a=2 --arg x:f32[8] --arg y={input} --arg n=8 --save y={output}")],
    "shuffle": [("in.ptx", "{input} -o {output}"), ("in.ptx", "{input} --report text --report-file {output}")],
    "sql": [("in.csv", "select\u00a0a\u00a0from\u00a0t --table t={input} --profile-to {output}")],
}  # fmt: skip
#: Commands that write to standard output only, or (tpch) to a folder of their own.
PRINTERS = {"tpch", "explain", "trace", "disasm", "devices", "cache"}
REWRITERS = [("opt", ()), ("shuffle", ("--apply", "all"))]


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("in.ptx", "saxpy.ptx"):
        Path(name).write_text(programs.SAXPY)
    Path("in.cu").write_text(KERNEL)
    Path("in.lift").write_text("twice(x: [float]N) = mapGlb(0)(λ e . e + e)(x)", encoding="utf-8")
    Path("in.cl").write_text("__kernel void twice(float *x) { x[get_global_id()] *= 2; }")
    Path("in.cpp").write_text("int main() {}\n")
    Path("in.csv").write_text("a,b\n1,2\n")
    np.save("in.npy", np.ones(8, np.float32))
    return tmp_path


def test_every_command_is_known_to_write_files_or_not() -> None:
    assert WRITERS.keys() | PRINTERS == SUBCOMMANDS.keys()


@pytest.mark.parametrize(("name", "source", "words"), [(n, *row) for n, rows in WRITERS.items() for row in rows])
def test_no_command_overwrites_its_input(name: str, source: str, words: str, files: Path, drawloom: Command) -> None:
    before = Path(source).read_bytes()
    os.symlink(source, f"symbolic{Path(source).suffix}")
    os.link(source, f"hard{Path(source).suffix}")
    for output in (source, f"./{source}", f"symbolic{Path(source).suffix}", f"hard{Path(source).suffix}"):
        given = [word.replace("\u00a0", " ").format(input=source, output=output) for word in words.split(" ")]
        done = drawloom(name, *given)
        assert done.exit_code in (1, 2) and "input" in done.stderr, done.output
        assert Path(source).read_bytes() == before
        assert os.path.samefile(source, f"hard{Path(source).suffix}")


@pytest.mark.parametrize(("name", "source", "words"), [(n, *row) for n, rows in WRITERS.items() for row in rows])
def test_a_folder_that_is_missing_is_an_error(
    name: str, source: str, words: str, files: Path, drawloom: Command
) -> None:
    given = [word.replace("\u00a0", " ").format(input=source, output="missing/out.bin") for word in words.split(" ")]
    done = drawloom(name, *given)
    assert done.exit_code in (1, 2)
    assert isinstance(done.exception, SystemExit), done.exception
    assert "missing/out.bin" in done.stderr


@pytest.mark.parametrize(("name", "words"), REWRITERS)
def test_a_file_is_rewritten_in_place_on_request(
    name: str, words: tuple[str, ...], files: Path, drawloom: Command
) -> None:
    expected = drawloom(name, "in.ptx", *words).stdout
    assert drawloom(name, "in.ptx", *words, "--in-place").exit_code == 0
    assert Path("in.ptx").read_text() == expected
    assert drawloom(name, "-", "--in-place", input=programs.SAXPY).exit_code == 2
    assert drawloom(name, "in.ptx", "--in-place", "-o", "other.ptx").exit_code == 2


def test_an_array_is_saved_over_its_file_on_request(files: Path, drawloom: Command) -> None:
    words = "saxpy.ptx --grid 1 --arg a=2 --arg x:f32[8]=3 --arg y=in.npy --arg n=8 --save y=in.npy --in-place"
    assert drawloom("run", *words.split()).exit_code == 0
    assert np.load("in.npy").tolist() == [7] * 8
