"""How long `drawloom cc` compiles CUDA programs, beside nvcc.

    python benchmarks/build_time.py FOLDER...        # every .cu file below, by itself
    python benchmarks/build_time.py FOLDER --every 20 --limit 60

Each file is compiled to an object file by both in turn, and their processor time with that of all that they start is
compared: the least of some runs. The folder of a file, its `include` folder and those of `-I` hold headers. Files that
nvcc refuses are left out; what we refuse, or what takes longer than the limit, is counted. The goal is nvcc's time over
all files, and at most 1.5 times for any. Ours has code for CPUs besides; the last columns are without it, -march=none.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.common.timing import markdown_table  # noqa: E402

#: The environment of a user: Python keeps what it compiles of our sources.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
GOAL_EACH = 1.5


def processor_time(command: list[str], limit: int) -> tuple[float, str]:
    """Seconds of processor time of a command and its children, and why there is no result: "" where there is one."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        done = subprocess.run(command, capture_output=True, timeout=limit, check=False, env=ENVIRONMENT)
        wrong = "" if done.returncode == 0 else "refused"
    except subprocess.TimeoutExpired:
        wrong = "unfinished"
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--every", type=int, default=1, help="take every n-th file")
    parser.add_argument("--limit", type=int, default=120, help="seconds that one file may take")
    parser.add_argument("--repeat", type=int, default=1, help="runs of each side")
    parser.add_argument("-I", dest="include", action="append", default=[], help="a folder of headers")
    given = parser.parse_args()
    files = sorted([path for folder in given.folders for path in folder.glob("**/*.cu")])[:: given.every]
    rows: list[list[str]] = []
    sums = [0.0, 0.0, 0.0]
    with tempfile.TemporaryDirectory() as folder:
        out = str(Path(folder) / "out.o")
        for path in files:
            headers = [f"-I{name}" for name in [path.parent, path.parent / "include", *given.include]]
            common = ["-c", "-O3", *headers, str(path), "-o", out]
            whole = [sys.executable, "-m", "drawloom", "cc", *common]
            sides = [["nvcc", "-arch=sm_80", *common], whole, [*whole, "-march=none"]]
            if processor_time(sides[0], given.limit)[1]:
                continue
            if not rows:
                processor_time(whole, given.limit)  # what is done once: headers, bytecode
            taken = [processor_time(side, given.limit) for side in sides]
            for _ in range(given.repeat - 1):
                taken = [min(one, processor_time(side, given.limit)) for one, side in zip(taken, sides)]
            rows.append(row_of(path.name, taken))
            if not any(wrong for _, wrong in taken):
                sums = [one + seconds for one, (seconds, _) in zip(sums, taken)]
            print(*rows[-1], file=sys.stderr, flush=True)
    rows.sort(key=lambda row: row[3], reverse=True)
    if sums[0]:
        rows.append(row_of("all that were built", [(one, "") for one in sums]))
    print(markdown_table(["file", "nvcc (s)", "drawloom cc (s)", "ratio", "GPU alone (s)", "ratio"], rows))
    for column, name in ((3, "with code for CPUs"), (5, "GPU alone")):
        ratios = [row[column] for row in rows[:-1]]
        wrong = [ratio for ratio in ratios if ratio[0].isalpha()]
        over = sum(1 for ratio in ratios if not ratio[0].isalpha() and float(ratio) > GOAL_EACH)
        print(f"{name}: {len(ratios)} files, {len(wrong)} refused or unfinished, {over} over {GOAL_EACH} times")


def row_of(name: str, taken: list[tuple[float, str]]) -> list[str]:
    """A row of the table, from nvcc's time, that of `drawloom cc`, and that of -march=none."""
    theirs = taken[0][0]
    row = [name, f"{theirs:.2f}"]
    for seconds, wrong in taken[1:]:
        row += [f"{seconds:.2f}", wrong or f"{seconds / theirs:.2f}"]
    return row


if __name__ == "__main__":
    main()
