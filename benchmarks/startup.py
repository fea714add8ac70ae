"""The time of `drawloom --version` beside an empty Python program, in one run.

    python benchmarks/startup.py

The command must answer in under 0.15 s. Prints the median and the slowest of 20 runs of each, interleaved.
"""

import statistics
import subprocess
import sys
import time

RUNS = 20
LIMIT_SECONDS = 0.15

COMMANDS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "drawloom --version": [sys.executable, "-m", "drawloom", "--version"],
    "drawloom --help": [sys.executable, "-m", "drawloom", "--help"],
}


def seconds(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> None:
    measured: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(RUNS):
        for name, command in COMMANDS.items():
            measured[name].append(seconds(command))
    base = statistics.median(measured["python -c pass"])
    print(f"| {'command':<20} | median (ms) | slowest (ms) | ratio to Python |")
    print(f"| {'-' * 20} | ----------: | -----------: | --------------: |")
    for name, times in measured.items():
        median = statistics.median(times)
        print(f"| {name:<20} | {median * 1e3:11.1f} | {max(times) * 1e3:12.1f} | {median / base:15.2f} |")
    median = statistics.median(measured["drawloom --version"])
    if median > LIMIT_SECONDS:
        sys.exit(f"drawloom --version took {median:.3f} s, over {LIMIT_SECONDS} s")


if __name__ == "__main__":
    main()
