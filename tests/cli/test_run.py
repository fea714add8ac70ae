"""`drawloom run` as a user types it: results, files, and every way to get it wrong."""

import errno
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result

from drawloom.cli import run_arguments
from drawloom.cpu import faults
from tests.cli.conftest import Command
from tests.runtime import programs

N = 1000
GOOD = ["--grid", 8, "--block", 128, "--arg", "a=2.0", "--arg", f"x:f32[{N}]=arange", "--arg", f"y:f32[{N}]=1"]
GOOD_N = [*GOOD, "--arg", f"n={N}"]


def refused(result: Result, code: int, *words: str) -> None:
    """Exit code, words on stderr, and no traceback."""
    assert result.exit_code == code, result.output
    for word in words:
        assert word in result.stderr, result.stderr
    assert "Traceback" not in result.output
    assert result.stderr.startswith("error: " if code == 1 else "Usage: ")


@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_a_run_says_what_it_did(drawloom: Command, saxpy: Path, tmp_path: Path, device: str) -> None:
    out = tmp_path / "y.npy"
    result = drawloom("run", saxpy, "--kernel", "saxpy", *GOOD_N, "--save", f"y={out}", "--device", device)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0] == f"saxpy on {device}: grid 8, block 128, 1,024 threads"
    assert lines[1] == "arguments a, x, y, n"
    assert re.fullmatch(r"compile \d+\.\d{3} ms( \(from the cache\))?", lines[2])
    assert re.fullmatch(r"run \d+\.\d{3} ms, \S+ GB/s over 0\.008 MB of arrays", lines[3])
    assert lines[4] == f"saved y to {out}"
    np.testing.assert_array_equal(np.load(out), 2 * np.arange(N, dtype=np.float32) + 1)
    assert sorted(os.listdir(tmp_path)) == ["saxpy.ptx", "y.npy"]


def test_the_second_run_is_served_by_the_cache(
    drawloom: Command, saxpy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DRAWLOOM_CACHE_DIR", str(tmp_path / "kernels"))
    assert "from the cache" not in drawloom("run", saxpy, *GOOD_N).stdout
    assert "(from the cache)" in drawloom("run", saxpy, *GOOD_N).stdout
    assert "entries  0" not in drawloom("cache").stdout
    for entry in (tmp_path / "kernels").iterdir():
        entry.write_bytes(entry.read_bytes()[:-5] + b"wrong")
    again = drawloom("run", saxpy, *GOOD_N, "--print", "y")
    assert again.exit_code == 0
    assert "from the cache" not in again.stdout
    assert "(from the cache)" in drawloom("run", saxpy, *GOOD_N).stdout


def test_a_full_disk_under_the_cache_warns_and_runs(saxpy: Path, tmp_path: Path) -> None:
    """RLIMIT_FSIZE of 0 in a process of its own: no file grows."""
    program = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0));"
        "from drawloom.cli.main import main; main()"
    )
    folder = tmp_path / "kernels"
    words = ["run", str(saxpy), *map(str, GOOD_N), "--print", "y"]
    done = subprocess.run(
        [sys.executable, "-c", program, *words],
        env={**os.environ, "DRAWLOOM_CACHE_DIR": str(folder)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert "y = [" in done.stdout
    assert done.stderr.count("kernel cache: cannot write to") == 1
    assert list(folder.iterdir()) == []


def test_processes_that_compile_the_same_kernel_at_once(saxpy: Path, tmp_path: Path) -> None:
    folder = tmp_path / "kernels"
    command = [sys.executable, "-m", "drawloom", "run", str(saxpy), *map(str, GOOD_N), "--print", "y"]
    environment = {**os.environ, "DRAWLOOM_CACHE_DIR": str(folder)}
    racers = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    for racer in racers:
        out, error = racer.communicate(timeout=60)
        assert racer.returncode == 0, error
        assert error == ""
        assert "y = [1.000e+00 3.000e+00 5.000e+00" in out
    assert all(name.suffix == ".kernel" for name in folder.iterdir())
    again = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert "(from the cache)" in again.stdout


def test_arrays_from_files_and_to_files(drawloom: Command, saxpy: Path, tmp_path: Path) -> None:
    x = np.arange(6, dtype=np.float32)
    np.save(tmp_path / "x.npy", x)
    x.tofile(tmp_path / "y.raw")
    result = drawloom(
        *["run", saxpy, "--block", 32, "-a", "a:f32=3", "-a", f"x={tmp_path}/x.npy"],
        *[
            "-a",
            f"y={tmp_path}/y.raw:f32",
            "-a",
            "n:i32=6",
            "-s",
            f"y={tmp_path}/out.raw",
            "-s",
            f"x={tmp_path}/x2.npy",
        ],
    )
    assert result.exit_code == 0, result.output
    np.testing.assert_array_equal(np.fromfile(tmp_path / "out.raw", np.float32), 4 * x)
    np.testing.assert_array_equal(np.load(tmp_path / "x2.npy"), x)


def test_arguments_by_name_in_any_order(drawloom: Command, saxpy: Path) -> None:
    result = drawloom(
        *["run", saxpy, "-a", "n=4", "-a", "y:f32[4]=10", "-a", "x:f32[4]=arange", "-a", "a=1", "-p", "y", "-b", 4]
    )
    assert "y = [10. 11. 12. 13.]" in result.stdout


def test_names_without_the_kernels_name_go_to_their_parameters(drawloom: Command, tmp_path: Path) -> None:
    path = tmp_path / "prefixed.ptx"
    path.write_text(re.sub(r"\b(?=[axyn][,\]\n])(?<!%)", "saxpy_", programs.SAXPY))
    assert ".align 4 saxpy_x" in path.read_text()
    result = drawloom(
        *["run", path, "-a", "a=1", "-a", "saxpy_y:f32[4]=1", "-a", "x:f32[4]=5", "-a", "3=4", "-p", "y", "-p", "1"]
    )
    assert result.exit_code == 0, result.output
    assert "arguments a (saxpy_a), x (saxpy_x), saxpy_y, 3 (saxpy_n)\n" in result.stdout
    assert "y = [6. 6. 6. 6.]\n1 = [5. 5. 5. 5.]\n" in result.stdout


def test_arrays_of_another_type_than_the_kernel_reads_are_refused(drawloom: Command, saxpy: Path) -> None:
    words = ["run", saxpy, "-a", "a=1", "-a", "x:f64[4]=1", "-a", "y:f32[4]", "-a", "n=4", "-p", "y"]
    result = drawloom(*words)
    assert result.exit_code == 1
    assert "parameter 1 (x): its elements are float64, but the kernel accesses .f32 through it" in result.stderr
    assert "y = [0.    1.875 0.    1.875]" in drawloom(*words, "--reinterpret").stdout


def test_every_repeat_starts_from_the_same_arrays(drawloom: Command, saxpy: Path) -> None:
    result = drawloom("run", saxpy, *GOOD_N, "--repeat", 5, "--print", "y")
    assert "y = [1.000e+00 3.000e+00 5.000e+00" in result.stdout
    assert re.search(r"run \d+\.\d+ ms \(best of 5; median \d+\.\d+ ms\), ", result.stdout)


def test_variables_of_the_file_are_printed_and_saved(drawloom: Command, tmp_path: Path) -> None:
    path = tmp_path / "count.ptx"
    path.write_text(programs.VARIABLES)
    result = drawloom(
        *["run", path, "-b", 8, "-a", "out:f64[8]", "-p", "counter", "-p", "table", "-s", f"counter={tmp_path}/c.npy"]
    )
    assert result.exit_code == 0, result.output
    assert "counter = 13\ntable = [1. 2. 3. 4.]\n" in result.stdout
    assert np.load(tmp_path / "c.npy") == 13


def test_dynamic_shared_memory_and_checks(drawloom: Command, tmp_path: Path) -> None:
    path = tmp_path / "reverse.ptx"
    path.write_text(programs.REVERSE)
    words = ["run", path, "-b", 8, "-a", "data:u32[8]=arange", "-p", "data", "--check", "memory"]
    assert "data = [7 6 5 4 3 2 1 0]" in drawloom(*words, "--shared", 32).stdout


def test_random_is_the_same_every_time(drawloom: Command, tmp_path: Path) -> None:
    path = tmp_path / "empty.ptx"
    path.write_text(programs.HEADER + ".visible .entry k(.param .u64 p, .param .u64 q) { ret; }\n")
    words = ["run", path, "-p", "p", "-p", "q", "-a", "q:u8[4]=random(3)", "-a"]
    first = drawloom(*words, "p:f32[3]=random").stdout.split("p = ")[1]
    assert first == drawloom(*words, "p:f32[3]=random(0)").stdout.split("p = ")[1]
    assert first != drawloom(*words, "p:f32[3]=random(1)").stdout.split("p = ")[1]


def test_emit_ptx_is_the_file_again(drawloom: Command, saxpy: Path) -> None:
    from drawloom.ptx.parser import parse

    result = drawloom("run", saxpy, "--emit", "ptx")
    assert result.exit_code == 0
    assert parse(result.stdout) == parse(programs.SAXPY)


def test_emit_llvm_is_a_module(drawloom: Command, saxpy: Path) -> None:
    import llvmlite.binding as llvm

    result = drawloom("run", saxpy, "--emit", "llvm", "--block", 64)
    assert result.exit_code == 0, result.output
    llvm.parse_assembly(result.stdout).verify()


USAGE = [
    (["--grid", "a"], "'a': expected one to three integers"),
    (["--block", "1,2,3,4"], "'1,2,3,4': expected one to three integers"),
    (["--repeat", "0"], "0 is not in the range x>=1"),
    (["--shared", "-1"], "-1 is not in the range x>=0"),
    (["--check", "all"], "'all' is not one of 'memory', 'race', 'off'"),
    (["--nonsense"], "No such option"),
    (["-a", "x"], "'x': expected a value after x=, or x:TYPE[SHAPE]"),
    (["-a", "x="], "'x=': expected a value after x="),
    (["-a", "=3"], "'=3': expected NAME:TYPE[SHAPE], NAME=VALUE or NAME=FILE"),
    (["-a", "1x=3"], "'1x=3': expected NAME:TYPE[SHAPE]"),
    (["-a", "x:f33[4]"], "unknown type 'f33', expected one of f16 f32 f64"),
    (["-a", "x:f32"], "expected x:f32[SHAPE], or a number after '='"),
    (["-a", "x:f32[4"], "expected ']' at the end of the shape"),
    (["-a", "x:f32[]"], "the shape [] is not numbers with commas between"),
    (["-a", "x:f32[a]"], "the shape [a] is not numbers with commas between"),
    (["-a", "x:f32[-4]"], "the shape [-4] has a negative extent"),
    (["-a", "x:f32[4]="], "expected a number, arange or random after '='"),
    (["-a", "x:f32[4]=ones"], "'ones' is neither a number nor arange, random or random(SEED)"),
    (["-a", "x:u8[4]=256"], "256 is not a uint8"),
    (["-a", "x:u8=1.5"], "1.5 is not a uint8"),
    (["-a", "x:u8=one"], "'one' is not a number"),
    (["-a", "x=data.bin"], "'data.bin' is no number, no .npy file and no FILE:TYPE"),
    (["-a", "x=1", "-a", "x=2"], "kernel saxpy: parameter 'x' is given twice"),
    (["-s", "y"], "'y': expected NAME=FILE"),
    (["-s", "y=out.txt"], "expected a file name that ends in .npy, .raw or .bin"),
    ([*GOOD_N, "-s", "other=out.npy"], "no array or variable 'other'; there are: x, y"),
    ([*GOOD_N, "-p", "a"], "no array or variable 'a'; there are: x, y"),
    (["-a", "y:f32[4]", "-a", "q=1"], "kernel saxpy: no parameter 'q'; there are: a, x, y, n"),
    (["-a", "a=1"], "kernel saxpy: no --arg for x, y, n"),
]


@pytest.mark.parametrize("words, said", USAGE, ids=[" ".join(map(str, words)) for words, _ in USAGE])
def test_wrong_command_lines_exit_2(drawloom: Command, saxpy: Path, words: list[str], said: str) -> None:
    result = drawloom("run", saxpy, *words)
    refused(result, 2, said)


def test_a_file_with_several_kernels_needs_a_name(drawloom: Command, tmp_path: Path) -> None:
    path = tmp_path / "two.ptx"
    path.write_text(programs.HEADER + ".visible .entry a() { ret; }\n.visible .entry b() { ret; }\n")
    refused(drawloom("run", path), 2, "has 2 kernels; name one with --kernel: a, b")
    assert drawloom("run", path, "-k", "b").exit_code == 0
    refused(drawloom("run", path, "-k", "c"), 1, "no kernel 'c' in", "there are: a, b")


REFUSED = [
    ([*GOOD, "-a", "n=1.5"], "kernel saxpy: parameter 3 (n): got the float 1.5, expected an integer"),
    ([*GOOD, "-a", "n=5000000000"], "kernel saxpy: parameter 3 (n): 5000000000 is out of range"),
    ([*GOOD, "-a", "n=nosuch.npy"], "cannot read nosuch.npy: No such file or directory; expected a .npy file"),
    ([*GOOD, "-a", "n=nosuch.raw:f32"], "cannot read nosuch.raw: No such file or directory"),
    ([*GOOD_N, "--grid", "0"], "kernel saxpy: grid.x is 0, expected 1..2147483647"),
    ([*GOOD_N, "--block", "2048"], "kernel saxpy: block.x is 2048, expected 1..1024"),
    ([*GOOD_N, "--shared", "300000"], "of shared memory, expected at most 232448"),
    ([*GOOD_N, "--device", "gpu"], "unknown device 'gpu': expected cpu, reference or cuda:N"),
    (["-a", "x:f64[1000000000000000]"], "no memory for float64[1000000000000000]"),
]


@pytest.mark.parametrize("words, said", REFUSED, ids=[said[:50] for _, said in REFUSED])
def test_refusals_exit_1(drawloom: Command, saxpy: Path, words: list[object], said: str) -> None:
    refused(drawloom("run", saxpy, *words), 1, said)


FILES = {
    "missing": (None, "cannot read"),
    "empty": (b"", "the file is empty, expected PTX"),
    "noise": (bytes(range(256)) * 40, "byte 0 is NUL"),
    "text": (b"SELECT 1;\n", ":1:1: "),
    "cut off": (programs.SAXPY.encode()[:400], "saxpy"),
    "machine code": (b"\x7fELF" + bytes(60), "machine code"),
}


@pytest.mark.parametrize("kind", FILES)
def test_wrong_files_exit_1(drawloom: Command, tmp_path: Path, kind: str) -> None:
    data, said = FILES[kind]
    path = tmp_path / "saxpy.ptx"
    if data is not None:
        path.write_bytes(data)
    refused(drawloom("run", path, *GOOD_N), 1, said, str(path))


def test_a_folder_exits_1(drawloom: Command, tmp_path: Path) -> None:
    refused(drawloom("run", tmp_path), 1, "Is a directory; expected a PTX file")


NPY = {
    "empty": b"",
    "noise": b"\x93NUMPY" + bytes(range(100)),
    "cut off": None,
    "pickled": None,
    "text": b"1 2 3\n",
}


@pytest.mark.parametrize("kind", NPY)
def test_damaged_npy_files_exit_1(drawloom: Command, saxpy: Path, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "x.npy"
    if kind == "cut off":
        np.save(path, np.zeros(100))
        path.write_bytes(path.read_bytes()[:-8])
    elif kind == "pickled":
        np.save(path, np.array([{}], object), allow_pickle=True)
    else:
        path.write_bytes(NPY[kind])
    refused(drawloom("run", saxpy, "-a", f"x={path}"), 1, f"{path}: not a .npy file of numbers")


def test_npy_files_of_another_order_are_read_as_their_numbers(drawloom: Command, tmp_path: Path) -> None:
    kernel = tmp_path / "empty.ptx"
    kernel.write_text(programs.HEADER + ".visible .entry k(.param .u64 p) { ret; }\n")
    np.save(tmp_path / "p.npy", np.asfortranarray(np.arange(4, dtype=">f4").reshape(2, 2)))
    result = drawloom("run", kernel, "-a", f"p={tmp_path}/p.npy", "-p", "p")
    assert "p = [[0. 1.]\n [2. 3.]]" in result.stdout


def test_a_raw_file_of_a_wrong_size_exits_1(drawloom: Command, saxpy: Path, tmp_path: Path) -> None:
    path = tmp_path / "x.raw"
    path.write_bytes(bytes(7))
    refused(drawloom("run", saxpy, "-a", f"x={path}:f32"), 1, "7 bytes are no whole number of float32")


def test_results_that_cannot_be_saved_are_refused_before_the_run(
    drawloom: Command, saxpy: Path, tmp_path: Path
) -> None:
    for path, said in ((tmp_path / "no" / "y.npy", "no folder"), (tmp_path / "dir.npy", "it is a folder")):
        (tmp_path / "dir.npy").mkdir(exist_ok=True)
        result = drawloom("run", saxpy, *GOOD_N, "--save", f"y={path}")
        refused(result, 1, f"cannot save {path}: {said}")
        assert result.stdout == ""


@pytest.mark.parametrize("function", ["replace", "fdopen"])
def test_a_full_disk_leaves_the_old_file(
    drawloom: Command, saxpy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: str
) -> None:
    out = tmp_path / "y.npy"
    out.write_bytes(b"before")

    def fail(*args: object, **kwargs: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    drawloom("run", saxpy, *GOOD_N)  # fills the cache before nothing can be written
    monkeypatch.setattr(run_arguments.os, function, fail)
    result = drawloom("run", saxpy, *GOOD_N, "--save", f"y={out}")
    refused(result, 1, f"cannot save {out}: No space left on device")
    assert out.read_bytes() == b"before"
    assert sorted(os.listdir(tmp_path)) == ["saxpy.ptx", "y.npy"]


def test_saved_files_follow_the_umask(drawloom: Command, saxpy: Path, tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        drawloom("run", saxpy, *GOOD_N, "--save", f"y={tmp_path}/y.npy")
        assert os.stat(tmp_path / "y.npy").st_mode & 0o777 == 0o640
    finally:
        os.umask(before)


def test_a_fault_exits_1_and_names_the_place(drawloom: Command, tmp_path: Path) -> None:
    path = tmp_path / "store.ptx"
    path.write_text(programs.STORE_AT)
    result = drawloom("run", path, "-a", "out:u32[4]", "-a", "index=4", "--check", "memory")
    line = programs.STORE_AT[: programs.STORE_AT.index("st.global")].count("\n") + 1
    refused(result, 1, "kernel store_at: ", f"{path}:{line}", "in thread (0, 0, 0)")


@pytest.mark.skipif(not faults.available(), reason="the fault guard is for Linux on x86-64")
def test_a_kernel_that_runs_over_an_array_is_stopped_at_its_end(drawloom: Command, saxpy: Path, tmp_path: Path) -> None:
    """It overwrote what else the process had, which then crashed at its end."""
    np.save(tmp_path / "y.npy", np.zeros(100, np.float32))
    (tmp_path / "y.raw").write_bytes(bytes(400))
    for y in ("y:f32[100]", "y:f32[100]=1", f"y={tmp_path}/y.npy", f"y={tmp_path}/y.raw:f32"):
        words = ["-g", 4, "-b", 32, "-a", "a=1", "-a", "x:f32[128]", "-a", y, "-a", "n=128"]
        result = drawloom("run", saxpy, *words)
        assert result.exit_code == 0, result.output  # within what is aligned
        refused(drawloom("run", saxpy, *words[:-1], "n=129", "-g", 5), 1, "kernel saxpy: ", "memory at 0x")


def test_a_fault_saves_nothing(drawloom: Command, tmp_path: Path) -> None:
    path = tmp_path / "stop.ptx"
    path.write_text(programs.HEADER + ".visible .entry stop(.param .u64 p) { trap; ret; }\n")
    refused(drawloom("run", path, "-a", "p:u32[4]", "-s", f"p={tmp_path}/p.npy"), 1, "kernel stop: ")
    assert os.listdir(tmp_path) == ["stop.ptx"]


SAYS_WHEN_IT_LAUNCHES = """
import drawloom.runtime.module as module
launch = module.Configured.__call__
def announced(*args, **options):
    print("launching", flush=True)
    return launch(*args, **options)
module.Configured.__call__ = announced
from drawloom.cli.main import main
main()
"""


@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_ctrl_c_exits_130_and_saves_nothing(tmp_path: Path, device: str) -> None:
    path = tmp_path / "spin.ptx"
    path.write_text(programs.SPIN)
    words = ["run", str(path), "--arg", "flag:u32[1]", "--device", device, "--save", f"flag={tmp_path}/f.npy"]
    command = [sys.executable, "-c", SAYS_WHEN_IT_LAUNCHES, *words]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == "launching\n"
        time.sleep(0.5)
        assert child.poll() is None
        child.send_signal(signal.SIGINT)
        asked = time.monotonic()
        out, error = child.communicate(timeout=20)
        assert time.monotonic() - asked < 3
    finally:
        child.kill()
    assert child.returncode == 130, error
    assert error.strip() == "interrupted"
    assert out == ""
    assert os.listdir(tmp_path) == ["spin.ptx"]


def test_help_shows_the_grammar_and_examples(drawloom: Command) -> None:
    result = drawloom("run", "--help")
    assert result.exit_code == 0
    for words in ("--arg x:f32[4096]=random(7)", "drawloom run saxpy.ptx", "--emit [ptx|llvm|horse|outline]"):
        assert words in result.stdout


def test_the_assembler_is_chosen_by_name(saxpy: Path, drawloom: Command) -> None:
    words = ("run", saxpy, "--block", 4, "--arg", "a=1", "--arg", "x:f32[4]=1", "--arg", "y:f32[4]=1", "--arg", "n=4")
    assert drawloom(*words, "--assembler", "driver").exit_code == 0  # host devices need none
    refused = drawloom(*words, "--assembler", "ptxas")
    assert (refused.exit_code, "--assembler" in refused.stderr) == (2, True)


def test_loads_become_shuffles_on_demand(drawloom: Command) -> None:
    jacobi = Path(__file__).resolve().parent.parent / "golden" / "shuffle" / "clang" / "jacobi.ptx"
    words = ["run", jacobi, "--emit", "ptx", "--block", 128]
    assert "shfl" not in drawloom(*words, "--shuffle", "profitable").stdout
    assert drawloom(*words, "--shuffle", "all").stdout.count("shfl.sync") == 6
    refused(drawloom("run", "query.hir", "--shuffle", "all"), 2, "--shuffle is for PTX files")
    checked = drawloom(*words, "--shuffle", "all", "--check", "memory")
    assert "shfl" not in checked.stdout
    assert "--shuffle all: nothing is rewritten, because memory accesses are checked" in checked.stderr
