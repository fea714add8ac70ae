"""Kernels that Lift generates against hand-written OpenCL C kernels with the same optimisations (thesis figure 4.13).

    python benchmarks/lift_codegen.py                          # all tables
    python benchmarks/lift_codegen.py --only GEMV "MM AMD" --tables speed
    python benchmarks/lift_codegen.py --size test              # small arrays: whether all sides are right

The benchmarks are those of table 4.2, at its small sizes. Both sides run on our CPU device, and on the first CPU of an
OpenCL platform that builds a program: PoCL, Intel's runtime (`pip install intel-opencl-rt`; OCL_ICD_VENDORS names the
folder of its .icd files) or another. Results are checked before anything is timed. Times are medians of interleaved
runs. A ratio is the hand-written kernel's time by the generated one's, so that more than 1 means that Lift is faster:
the median over the rounds, in each of which the sides follow each other.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np

from benchmarks.common.timing import (
    PAUSE_SECONDS,
    add_features,
    choose_features,
    geometric_mean,
    machine,
    markdown_table,
)

TABLES = ("speed", "variants", "size", "compile")
GOAL_MEAN, GOAL_WORST, GOAL_MILLISECONDS = 1.0, 0.9, 100.0
HAND = "hand-written"
#: The bars of figure 4.13: which optimisations are on.
VARIANTS: dict[str, dict[str, bool]] = {
    "none": {"array_access": False, "barriers": False, "control_flow": False},
    "barriers, control flow": {"array_access": False, "barriers": True, "control_flow": True},
    "array access": {"array_access": True, "barriers": False, "control_flow": False},
    "all": {"array_access": True, "barriers": True, "control_flow": True},
}


def start_sides(case: Any, size: tuple[int, ...], variants: Sequence[str]) -> tuple[list[Any], dict[str, Any]]:
    """Return a benchmark's arguments and its sides: the hand-written one and one for each variant of Lift's."""
    from benchmarks.lift.launches import record
    from drawloom.lift import compile

    arguments = case.arguments(np.random.default_rng(sum(size)), size)
    sides = {HAND: case.hand_written(arguments, size)}
    for variant in variants:
        compiled = compile(case.program(), local_size=case.local_size, exact_groups=True, **VARIANTS[variant])
        sides[variant] = record(compiled, arguments)
    return arguments, sides


#: Seconds of every round, by side and device.
Times = dict[tuple[str, str], list[float]]


def measure(case: Any, size: tuple[int, ...], variants: Sequence[str], devices: Sequence[Any], repeat: int) -> Times:
    """Check all sides on all devices, then time them interleaved."""
    arguments, sides = start_sides(case, size, variants)
    reference = case.reference(*arguments)
    times: Times = {}
    for device in devices:
        runs: dict[str, Callable[[], None]] = {}
        for name, side in sides.items():
            runs[name] = run = device.prepare(side)
            for result in side.results:
                result.fill(0)
            run()
            device.fetch(side)
            try:
                case.check(reference, side.results)
            except AssertionError as error:
                raise SystemExit(f"{case.name}, {name}, {device.name}: a wrong result: {error}") from None
        times.update({(name, device.name): found for name, found in interleave(runs, repeat).items()})
        device.forget()
    return times


def interleave(runs: dict[str, Callable[[], None]], repeat: int) -> dict[str, list[float]]:
    """Return the seconds of every round for each side; every other round has the sides in the opposite order."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for round_ in range(repeat + 1):
        for name, run in list(runs.items())[:: 1 if round_ % 2 else -1]:
            time.sleep(PAUSE_SECONDS)
            start = time.perf_counter()
            run()
            seconds = time.perf_counter() - start
            if round_:  # the first warms caches
                times[name].append(seconds)
    return times


def ratio(times: Times, device: str, variant: str = "all") -> float:
    """Return how many times as fast as the hand-written kernel a variant is."""
    pairs = zip(times[HAND, device], times[variant, device], strict=True)
    return statistics.median([hand / ours for hand, ours in pairs])


def speed_table(rows: list[tuple[Any, Times]], devices: Sequence[Any]) -> str:
    """A row per benchmark: times of both sides, and ratios, on every device."""
    header = ["benchmark", "source"]
    for device in devices:
        header += [f"{device.name}: hand (ms)", "Lift (ms)", "ratio"]
    body = []
    for case, times in rows:
        row = [case.name, case.source]
        for device in devices:
            for side in (HAND, "all"):
                row.append(f"{statistics.median(times[side, device.name]) * 1e3:.2f}")
            row.append(f"{ratio(times, device.name):.2f}")
        body.append(row)
    for title, summary in (("geometric mean", geometric_mean), ("worst", min)):
        row = [title, ""]
        for device in devices:
            row += ["", "", f"{summary([ratio(times, device.name) for _, times in rows]):.2f}"]
        body.append(row)
    return markdown_table(header, body)


def variants_table(rows: list[tuple[Any, Times]], devices: Sequence[Any]) -> str:
    """Figure 4.13: the speed of each variant relative to the hand-written kernel."""
    header = ["benchmark", *[f"{device.name}: {variant}" for device in devices for variant in VARIANTS]]
    columns = [(device.name, variant) for device in devices for variant in VARIANTS]
    body = [[case.name, *[f"{ratio(times, *column):.2f}" for column in columns]] for case, times in rows]
    means = [geometric_mean([ratio(times, *column) for _, times in rows]) for column in columns]
    return markdown_table(header, [*body, ["geometric mean", *[f"{mean:.2f}" for mean in means]]])


def size_table(cases: Sequence[Any]) -> str:
    """Lines of code beside table 4.2's: OpenCL by hand and generated, and Lift programs as they print themselves."""
    from drawloom.lift import compile, infer_types, show_program

    header = ["benchmark", "by hand", "thesis", "generated", "high-level", "thesis", "low-level", "thesis"]
    body = []
    for case in cases:
        low = compile(case.program(), local_size=case.local_size, exact_groups=True)
        texts = [case.text, low.opencl, show_program(infer_types(case.high_level())),
                 show_program(low.program)]  # fmt: skip
        hand, generated, high_level, low_level = map(count_lines, texts)
        thesis = case.lines
        numbers = [hand, thesis[0], generated, high_level, thesis[1], low_level, thesis[2]]
        body.append([case.name, *map(str, numbers)])
    return markdown_table(header, body)


def count_lines(text: str) -> int:
    """Return the lines that are neither empty nor a comment."""
    return len([line for line in text.splitlines() if line.strip() and not line.strip().startswith("//")])


def compile_table(cases: Sequence[Any], rounds: int) -> str:
    """Milliseconds from a Lift expression to OpenCL C, the least of several compilations, and of the first."""
    from drawloom.lift import compile

    header = ["benchmark", "first (ms)", "least (ms)", "goal (ms)"]
    body = []
    for case in cases:
        times = []
        for _ in range(rounds):
            program = case.program()
            start = time.perf_counter()
            compile(program, local_size=case.local_size, exact_groups=True)
            times.append((time.perf_counter() - start) * 1e3)
        goal = 20.0 if case.name.startswith("MM") else GOAL_MILLISECONDS
        body.append([case.name, f"{times[0]:.1f}", f"{min(times):.1f}", f"{goal:.0f}"])
    return markdown_table(header, body)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these benchmarks only")
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES))
    parser.add_argument(
        "--size", choices=("small", "large", "test"), default="small", help="table 4.2's (default: small)"
    )
    parser.add_argument("--repeat", type=int, default=10, help="timed rounds (default: 10)")
    parser.add_argument("--no-opencl", action="store_true", help="the CPU device only")
    add_features(parser)
    options = parser.parse_args()
    choose_features(options.features)

    from benchmarks.lift.cases import CASES
    from benchmarks.lift.launches import CPUDevice, find_opencl
    from drawloom.build_info import build_kind

    cases = [case for case in CASES if not options.only or case.name in options.only]
    unknown = set(options.only or ()) - {case.name for case in CASES}
    if unknown:
        parser.error(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join([c.name for c in CASES])}")
    if "compile" in options.tables:
        print(f"\nExpression to OpenCL C, {build_kind()} build:\n\n{compile_table(cases, options.repeat)}")
    if "size" in options.tables:
        print(f"\nLines of code:\n\n{size_table(cases)}")
    wanted = list(VARIANTS) if "variants" in options.tables else ["all"]
    if not {"speed", "variants"} & set(options.tables):
        return 0
    devices: list[Any] = [CPUDevice()]
    opencl = None if options.no_opencl or options.features != "host" else find_opencl()
    if opencl is not None:
        devices.append(opencl)
    rows = []
    for case in cases:
        rows.append((case, measure(case, case.sizes[options.size], wanted, devices, options.repeat)))
        ratios = [f"{device.name} {ratio(rows[-1][1], device.name):.2f}" for device in devices]
        print(f"{case.name}: {', '.join(ratios)}", file=sys.stderr)
    means = {device.name: geometric_mean([ratio(times, device.name) for _, times in rows]) for device in devices}
    if "speed" in options.tables:
        print(f"\nHand-written by generated time, {options.size} sizes:\n\n{speed_table(rows, devices)}")
    if "variants" in options.tables:
        print(f"\nThe same with some optimisations off:\n\n{variants_table(rows, devices)}")
    platform = opencl.version if opencl is not None else "none that builds a program"
    print(f"\nOpenCL platform: {platform}. {machine()}, medians of {options.repeat} interleaved runs.")
    for name, mean in means.items():
        worst = min([ratio(times, name) for _, times in rows])
        if mean < GOAL_MEAN or worst < GOAL_WORST:
            print(
                f"under the goal on {name}: {mean:.2f} in the mean (goal {GOAL_MEAN}), {worst:.2f} at worst "
                f"(goal {GOAL_WORST})",
                file=sys.stderr,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
