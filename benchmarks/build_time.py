"""How long `drawloom cc` compiles CUDA programs, beside nvcc.

    python benchmarks/build_time.py FOLDER...        # every .cu file below, by itself
    python benchmarks/build_time.py FOLDER --every 20 --limit 60

Each file is compiled to an object file by both in turn, and their processor time with that of all that they start is
compared: the least of some runs. The folder of a file, its `include` folder and those of `-I` hold headers. Files that
nvcc refuses are left out; what we refuse, or what takes longer than the limit, is counted. The goal is nvcc's time over
all files, and at most 1.5 times for any.
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
    total = [0.0, 0.0]
    wrong_count = 0
    with tempfile.TemporaryDirectory() as folder:
        out = str(Path(folder) / "out.o")
        for path in files:
            headers = [f"-I{name}" for name in [path.parent, path.parent / "include", *given.include]]
            common = ["-c", "-O3", *headers, str(path), "-o", out]
            nvcc, drawloom = ["nvcc", "-arch=sm_80", *common], [sys.executable, "-m", "drawloom", "cc", *common]
            theirs, refused = processor_time(nvcc, given.limit)
            if refused:
                continue
            if not rows:
                processor_time(drawloom, given.limit)  # what is done once: headers, bytecode
            ours, wrong = processor_time(drawloom, given.limit)
            for _ in range(0 if wrong else given.repeat - 1):
                theirs = min(theirs, processor_time(nvcc, given.limit)[0])
                ours = min(ours, processor_time(drawloom, given.limit)[0])
            wrong_count += wrong != ""
            if not wrong:
                total[0] += ours
                total[1] += theirs
            rows.append([path.name, f"{ours:.2f}", f"{theirs:.2f}", wrong or f"{ours / theirs:.2f}"])
            print(*rows[-1], file=sys.stderr, flush=True)
    over = sum(1 for row in rows if row[3].replace(".", "").isdigit() and float(row[3]) > GOAL_EACH)
    rows.sort(key=lambda row: row[3], reverse=True)
    if total[1]:
        rows.append(["all that were built", f"{total[0]:.2f}", f"{total[1]:.2f}", f"{total[0] / total[1]:.2f}"])
    print(markdown_table(["file", "drawloom cc (s)", "nvcc (s)", "ratio"], rows))
    print(f"{len(rows)} rows, {wrong_count} refused or unfinished, {over} over {GOAL_EACH} times")


if __name__ == "__main__":
    main()
