"""Folders of CUDA programs that check themselves, to outcomes: each is built with `drawloom cc` and run on the CPU.

    python -m tools.suites.cuda_programs PATH [--filter TEXT] [--timeout S] [--jobs N] [--report FILE] [--every N]
        [--peer nvcc] [--compiler COMMAND]

A program is a folder with CUDA sources. Its own Makefile builds it, with a `nvcc` on PATH that is `drawloom cc`, and
its `run` target, its script `run` or what was built runs, as a benchmark suite has it (HeCBench, Rodinia, PolyBench).
Without a Makefile all its sources are one program (cuda-samples). Its exit status and its own words judge it. Folders
are copied to a temporary place; the rest of the checkout is linked beside them. Thrust, CUB and libcu++ are those of
the nvidia-cuda-cccl package, where this Python or PYTHONPATH has it.

same: built, ran, and nothing that it says tells of a failure; refused: `drawloom cc` names what it lacks, or the
program itself says that it waives its test on a machine such as this; different:
its own check fails; crashed: a signal, or a fault of a kernel; hung: out of time. With `--peer nvcc` a program that
is refused is also built by the real nvcc, and the cause says where that does not build it either.
"""

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tools.suites.report import Outcome, argument_parser, report, run_in_processes

ROOT: Final = Path(__file__).resolve().parent.parent.parent
MAKEFILES: Final = ("Makefile", "makefile", "GNUmakefile")
SOURCES: Final = (".cu", ".cpp", ".cc", ".c")
#: What an item is told by through the environment of its process: the checkout, seconds, the peer, the toolkit.
SETTINGS: Final = (
    "DRAWLOOM_SUITE_ROOT", "DRAWLOOM_SUITE_SECONDS", "DRAWLOOM_SUITE_PEER", "DRAWLOOM_SUITE_TOOLKIT"
)  # fmt: skip
COMPILER: Final = f'"{sys.executable}" -m drawloom.cli.main cc'
FAILURES: Final = ("fail", "mismatch", "non-matching", "not match", "incorrect", "wrong", "cuda error")
#: The exit status of NVIDIA's samples that waive their test, for want of a second GPU or of a library.
WAIVED: Final = 2
#: What programs say of files that are not there; some end with status 0 then.
MISSING: Final = ("no such file or directory", "error reading", "error opening", "file error", "not opened")
TOOLKIT_SECONDS: Final = 600.0
#: What a traceback of the compiler names; programs have scripts of their own, which fail for want of their modules.
OF_COMPILER: Final = f'File "{ROOT / "src" / "drawloom"}'
#: Exit statuses of `timeout`, and what shells and make say of a program that a signal ended.
OUT_OF_TIME: Final = (124, 137)
SIGNALS: Final = (
    "segmentation fault", "aborted", "illegal instruction", "floating point exception", "bus error", "core dumped"
)  # fmt: skip


def programs_in(root: Path) -> list[Path]:
    """Return the folders under ``root`` that hold CUDA sources, each but those inside another such folder."""
    out: list[Path] = []
    for folder in sorted({path.parent for path in root.rglob("*.cu")}):
        with_makefile = [f for f in (folder, *folder.parents) if f.is_relative_to(root) and has_makefile(f)]
        with_makefile = [f for f in with_makefile if f != root]
        runnable = [f for f in with_makefile if runs_by_itself(f)]
        program = (*runnable, *with_makefile, folder)[0]
        if program not in out:
            out.append(program)
    return out


def checkout_of(path: Path) -> Path:
    """Return the checkout that a folder is in, whose other parts its programs may name; the folder itself for none."""
    return next((folder for folder in (path, *path.parents) if (folder / ".git").exists()), path)


def has_makefile(folder: Path) -> bool:
    return any((folder / name).is_file() for name in MAKEFILES)


def check(item: str) -> Iterator[Outcome | str]:
    """Build and run the program in a folder."""
    root, seconds, peer, toolkit = (os.environ.get(name, "") for name in SETTINGS)
    folder = Path(item)
    name = str(folder.relative_to(root))
    with TemporaryDirectory(prefix="drawloom-suite-") as temporary:
        place = copy_beside(Path(root), folder, Path(temporary) / "suite")
        tools = Path(toolkit)
        yield name
        built = build(place, tools, float(seconds))
        if built.returncode:
            outcome = outcome_of_build(name, built.returncode, built.stdout)
            if peer == "nvcc" and outcome.kind == "refused" and not builds_with_nvcc(root, folder, float(seconds)):
                outcome = Outcome(name, "refused", f"nvcc does not build it either\n{outcome.detail}")
            yield outcome
            return
        yield f"{name}: run"
        for command in commands_of(place):
            ran = call(command, place, tools, float(seconds))
            outcome = judge(name, ran.returncode, ran.stdout)
            if outcome.kind != "same":
                yield outcome
                return
        yield Outcome(name, "same")


def copy_beside(root: Path, folder: Path, target: Path) -> Path:
    """Copy a folder to its place under ``target``, with links to what stands beside it and beside its parents."""
    target.mkdir(parents=True)
    here, there = root, target
    for part in folder.relative_to(root).parts:
        for sibling in here.iterdir():
            if sibling.name != part:
                (there / sibling.name).symlink_to(sibling)
        here, there = here / part, there / part
        if here != folder:
            there.mkdir()
    shutil.copytree(folder, there, symlinks=True, dirs_exist_ok=True)
    return there


def write_toolkit(folder: Path, compiler: str) -> None:
    """Write what Makefiles take for a CUDA toolkit: the libraries are those of a compiler, which is the nvcc."""
    path = folder / "bin" / "nvcc"
    path.parent.mkdir(parents=True)
    made = call(["sh", "-c", f"{compiler} -toolkit {folder}"], folder, None, TOOLKIT_SECONDS)
    if made.returncode:
        raise SystemExit(f"{compiler} makes no toolkit:\n{made.stdout}")
    path.write_text(f'#!/bin/sh\nexec {compiler} "$@"\n')
    path.chmod(0o755)


def call(command: list[str], folder: Path, tools: Path | None, seconds: float) -> subprocess.CompletedProcess[str]:
    """Run a command with the compiler of ``tools`` first on PATH; what it prints is in ``stdout``."""
    environment = {**os.environ, "DRAWLOOM_DEVICE": "cpu"}
    further = os.environ.get("PYTHONPATH", "")
    environment["PYTHONPATH"] = ":".join([str(ROOT / "src"), str(ROOT), *([further] if further else [])])
    if tools is not None:
        environment["PATH"] = f"{tools / 'bin'}:{environment['PATH']}"
    limited = ["timeout", "--kill-after=5", f"{seconds:.0f}", *command]
    return subprocess.run(
        limited, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, errors="replace",
    )  # fmt: skip


def build(folder: Path, tools: Path | None, seconds: float) -> subprocess.CompletedProcess[str]:
    if not has_makefile(folder):
        sources = sorted(path.name for path in folder.iterdir() if path.suffix in SOURCES)
        openmp = any("#include <omp.h>" in (folder / name).read_text(errors="replace") for name in sources)
        words = ["-Xcompiler", "-fopenmp"] if openmp else []
        return call(["nvcc", "-I.", *words, *sources, "-o", "program"], folder, tools, seconds)
    variables = [] if tools is None else [f"CUDA_DIR={tools}", f"CUDA_PATH={tools}"]
    return call(["make", *variables], folder, tools, seconds)


def builds_with_nvcc(root: str, folder: Path, seconds: float) -> bool:
    with TemporaryDirectory(prefix="drawloom-suite-") as temporary:
        place = copy_beside(Path(root), folder, Path(temporary) / "suite")
        return build(place, None, seconds).returncode == 0


def commands_of(folder: Path) -> list[list[str]]:
    """Return what runs a program that was built: its target, its script, or the executables that are there."""
    if has_target(folder):
        return [["make", "run"]]
    if (folder / "run").is_file():
        return [["sh", "./run"]]
    return [[f"./{path.name}"] for path in sorted(folder.iterdir()) if is_program(path)]


def runs_by_itself(folder: Path) -> bool:
    """Return whether a folder says how its program runs."""
    return has_target(folder) or (folder / "run").is_file()


def has_target(folder: Path) -> bool:
    """Return whether the Makefile of a folder has a target that runs the program."""
    files = [folder / name for name in MAKEFILES if (folder / name).is_file()]
    return any(line.startswith("run:") for file in files for line in file.read_text(errors="replace").splitlines())


def is_program(path: Path) -> bool:
    if not path.is_file() or not os.access(path, os.X_OK) or path.suffix in (".o", ".so"):
        return False
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def outcome_of_build(name: str, status: int, output: str) -> Outcome:
    """Return the outcome that a build which failed is."""
    shown = output[-3000:]
    if status in OUT_OF_TIME:
        return Outcome(name, "hung", f"the build is out of time\n{shown}")
    if "Traceback (most recent call last)" in output and OF_COMPILER in output:
        return Outcome(name, "crashed", f"the compiler: {output.strip().splitlines()[-1]}\n{shown}")
    return Outcome(name, "refused", f"{cause_of(output)}\n{shown}")


def judge(name: str, status: int, output: str) -> Outcome:
    """Return the outcome that a run's exit status and words are."""
    shown = output[-3000:]
    if status in OUT_OF_TIME:
        return Outcome(name, "hung", f"the run is out of time\n{shown}")
    faults = [line for line in output.splitlines() if line.startswith("drawloom: ")]
    if faults:
        fault = faults[0].split(": ")
        return Outcome(name, "crashed", f"{': '.join(fault[2:3])}\n{shown}")
    said = [signal for signal in SIGNALS if signal in output.lower()]
    if status and (said or status < 0 or 128 < status < 160):
        return Outcome(name, "crashed", f"{said[0] if said else f'exit status {status}'}\n{shown}")
    if lacks(output):
        return Outcome(name, "refused", f"what it calls is not supported\n{shown}")
    waives = [line for line in output.splitlines() if "waiv" in line.lower()]
    if status == WAIVED and waives:
        return Outcome(name, "refused", f"the program waives its test\n{shown}")
    if any(word in output.lower() for word in MISSING):
        return Outcome(name, "different", f"its data is missing\n{shown}")
    meant = "as expected" in output  # a program that tests assertions of kernels
    wrong = [line for line in output.splitlines() if tells_of_failure(line) and not (meant and of_assertion(line))]
    if wrong or status:
        cause = "its own check fails" if wrong else f"exit status {status}"
        return Outcome(name, "different", f"{cause}\n{shown}")
    return Outcome(name, "same")


def of_assertion(line: str) -> bool:
    return "as expected" in line or "assert" in line.lower()


def lacks(output: str) -> bool:
    return "cudaErrorNotSupported" in output or "operation not supported" in output


def tells_of_failure(line: str) -> bool:
    """Return whether a line of output tells of a failed check: one of the words, and no count of them that is 0."""
    text = line.lower()
    if not any(word in text for word in FAILURES):
        return False
    words = text.replace(":", " ").replace("=", " ").replace(",", " ").split()
    none = ("0", "0.0", "0%", "0.000000")
    return not words or (words[-1] not in none and words[0] not in none and " 0 " not in text)


def cause_of(output: str) -> str:
    """Return the first error of a build, without where it is."""
    for line in output.splitlines():
        before, error, what = line.partition("rror: ")
        if error:
            return (what if before[-1:] in ("e", "E") and what else line).strip()
    lines = [line for line in output.splitlines() if line.strip()]
    return lines[-1].strip() if lines else "the build says nothing"


def main() -> int:
    parser: argparse.ArgumentParser = argument_parser(__doc__, timeout=120.0)
    parser.add_argument("--peer", choices=("none", "nvcc"), default="none", help="who builds what is refused, too")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="take each N-th program only")
    parser.add_argument("--compiler", default=COMPILER, metavar="COMMAND", help="what the Makefiles call as nvcc")
    given = parser.parse_args()
    path = given.path.resolve()
    items = [str(folder) for folder in programs_in(path) if given.filter in str(folder)][:: given.every]
    if not items:
        parser.error(f"{given.path}: no folder with .cu files")
    # An item has a limit for its build and one for its run; the process has to outlast both.
    with TemporaryDirectory(prefix="drawloom-suite-") as toolkit:
        write_toolkit(Path(toolkit), given.compiler)
        values = (checkout_of(path), given.timeout, given.peer, toolkit)
        for name, value in zip(SETTINGS, values, strict=True):
            os.environ[name] = str(value)
        # An item has a limit for its build and one for its run; the process has to outlast both.
        outcomes = run_in_processes(items, "tools.suites.cuda_programs:check", 3 * given.timeout + 60, given.jobs)
        return report(outcomes, given.report)


if __name__ == "__main__":
    sys.exit(main())
