"""What the synthesis of shuffles finds in the kernels of its paper, how long that takes, and what the CPU makes of it.

    python benchmarks/shuffle.py                     # the kernels by clang
    python benchmarks/shuffle.py --compiler nvcc
    python benchmarks/shuffle.py --device cuda:0     # the launches on a GPU
    python benchmarks/shuffle.py --no-run            # no launches

Per kernel, seed 003, table 2: shuffles per loads, with --apply=all --assume-no-wrap and the paper's beside it; the
shuffles that are sound with tests at run time; those that pay on sm_61 and sm_70; the processor time of the analysis
and the synthesis without parsing, best of the rounds. Then, as in its figure 2, the time of a launch on a device with
the original kernel, without the loads that shuffles cover, without their corner cases (both compute wrong results),
with every shuffle that is sound, and with those that pay there, which is the default: medians of rounds in turn. The
goals: all kernels under 3 s plain and 1 s compiled, none over 0.5 s; a kernel of 10,000 instructions under 5 s; less
than 500 MB; on a GPU, the default no more than 2% slower than the original.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.common.timing import geometric_mean, markdown_table  # noqa: E402
from drawloom.build_info import build_kind  # noqa: E402
from drawloom.ptx import Module, parse  # noqa: E402
from drawloom.shuffle.cost import CPU  # noqa: E402
from drawloom.shuffle.pipeline import Shuffled, shuffle  # noqa: E402

FOLDER = ROOT / "tests" / "golden" / "shuffle"
PAPER = {
    "divergence": "1/6", "gameoflife": "6/9", "gaussblur": "20/25", "gradient": "1/6", "jacobi": "6/9",
    "lapgsrb": "12/25", "laplacian": "2/7", "matmul": "0/8", "matvec": "0/7", "sincos": "0/2", "tricubic": "48/67",
    "tricubic2": "48/67", "uxx1": "3/17", "vecadd": "0/2", "wave13pt": "4/14", "whispering": "6/19",
}  # fmt: skip
LARGE_LOADS = 2500
BLOCK = 128
#: By kind of device: the extents of fields of two and of three dimensions.
EXTENTS = {"cpu": ([2048, 512], [1024, 64, 16]), "cuda": ([8192, 8192], [512, 256, 256])}


def best(work: Callable[[], Shuffled], rounds: int) -> tuple[float, Shuffled]:
    """The least processor time of some rounds, in seconds, and the result."""
    seconds: list[float] = []
    for _ in range(rounds):
        begin = time.process_time()
        made = work()
        seconds.append(time.process_time() - begin)
    return min(seconds), made


def analysed(modules: dict[str, Module], rounds: int) -> tuple[list[list[str]], float, float]:
    """A row for each kernel; the sum and the most of the times in seconds."""
    rows: list[list[str]] = []
    times: list[float] = []
    for name, module in modules.items():
        seconds, made = best(lambda m=module: shuffle(m, apply="all", assume_no_wrap=True), rounds)  # type: ignore[misc]
        times.append(seconds)
        found = made.report
        distance = f"{found.functions[0].delta:.2f}" if found.shuffles else "-"
        guarded = shuffle(module, apply="all").report.shuffles
        pays = [str(shuffle(module, arch=arch).report.shuffles) for arch in ("sm_61", "sm_70")]
        rows.append(
            [
                name,
                f"{found.shuffles}/{found.loads}",
                PAPER[name],
                distance,
                str(guarded),
                *pays,
                f"{seconds * 1e3:.1f}",
            ]
        )
    return rows, sum(times), max(times)


def large() -> Module:
    """A stencil of 2,500 points in rows of five, unrolled: some 10,000 instructions."""
    body = [
        "ld.param.u64 %l0, [in]; mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %r2, %tid.x;",
        "mad.lo.s32 %r3, %r0, %r1, %r2; mov.f32 %f0, 0f00000000;",
    ]
    for k in range(LARGE_LOADS):
        if k % 5 == 0:
            body.append(f"add.s32 %r4, %r3, {k // 5 * 1000}; mul.wide.s32 %l1, %r4, 4; add.s64 %l2, %l0, %l1;")
        body.append(f"ld.global.nc.f32 %f1, [%l2+{4 * (k % 5) - 8}]; mul.f32 %f2, %f1, 0f3F000000;")
        body.append("add.f32 %f0, %f0, %f2; abs.f32 %f0, %f0;")
    body.append(
        "mul.wide.s32 %l1, %r3, 4; ld.param.u64 %l3, [out]; add.s64 %l3, %l3, %l1; st.global.f32 [%l3], %f0; ret;"
    )
    registers = ".reg .b32 %r<8>; .reg .b64 %l<8>; .reg .f32 %f<8>;"
    head = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out)"
    return parse(f"{head}\n{{\n{registers}\n" + "\n".join(body) + "\n}\n")


def sides(module: Module, arch: str) -> dict[str, Module]:
    """The kernel as it is, and what the synthesis makes of it."""
    return {
        "original": module,
        "no-load": shuffle(module, apply="all", variant="no-load"),
        "no-corner": shuffle(module, apply="all", variant="no-corner"),
        "all": shuffle(module, apply="all"),
        "profitable": shuffle(module, arch=arch),
    }


def launcher(module: Module, device: str, extents: list[int]) -> Callable[[], float]:
    """A launch over a grid of these extents, which gives the seconds that the kernel takes."""
    import drawloom

    numbers = np.random.default_rng(7)
    integers = iter([*extents, *extents])
    given: list[object] = []
    for parameter in module.kernels[0].params:
        if parameter.type.bits == 64:
            field = numbers.random(int(np.prod(extents)), dtype=np.float32)
            given.append(drawloom.Buffer.from_array(field, device))
        else:
            given.append(0.37 if parameter.type.name == "f32" else next(integers))
    kernel = drawloom.load(str(module), device=device)[module.kernels[0].name]
    rows, layers = [*extents[1:], 1, 1][:2]

    def launch() -> float:
        return kernel[(-(-extents[0] // BLOCK), rows, layers), BLOCK](*given).run_seconds

    return launch


def run_on(device: str, modules: dict[str, Module], rounds: int) -> list[list[str]]:
    """A row for each kernel: milliseconds of the original, and of the others as many times as much."""
    from drawloom.runtime.machine import device as find_device

    where = find_device(device)
    arch = "sm_{}{}".format(*where.compute) if where.kind == "cuda" else CPU
    rows: list[list[str]] = []
    ratios: dict[str, list[float]] = {}
    for name, module in modules.items():
        if not shuffle(module, apply="all").report.shuffles:
            continue
        extents = EXTENTS[where.kind]["%ctaid.z" in str(module)]
        runs = {side: launcher(made, device, extents) for side, made in sides(module, arch).items()}
        times: dict[str, list[float]] = {side: [] for side in runs}
        for number in range(rounds + 1):
            for side, launch in runs.items():
                seconds = launch()
                if number:  # the first compiles
                    times[side].append(seconds)
        middle = {side: statistics.median(found) for side, found in times.items()}
        row = [name, f"{middle['original'] * 1e3:.3f}"]
        for side in list(runs)[1:]:
            ratios.setdefault(side, []).append(middle[side] / middle["original"])
            row.append(f"{ratios[side][-1]:.2f}")
        rows.append(row)
    rows.append(["geometric mean", "", *[f"{geometric_mean(found):.2f}" for found in ratios.values()]])
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compiler", choices=["clang", "nvcc"], default="clang", help="whose PTX of the kernels")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--device", default="cpu", help="where launches are timed")
    parser.add_argument("--no-run", action="store_true", help="do not run the kernels")
    options = parser.parse_args()
    modules = {name: parse((FOLDER / options.compiler / f"{name}.ptx").read_text()) for name in PAPER}
    rows, total, most = analysed(modules, options.rounds)
    header = ["kernel", "shuffles", "paper", "distance", "with tests", "pay on sm_61", "on sm_70", "ms"]
    print(markdown_table(header, rows))
    print(f"\nAll kernels: {total:.2f} s, the slowest {most:.3f} s, {build_kind()} build (384 s in the paper).")
    module = large()
    seconds, made = best(lambda: shuffle(module, apply="all"), 1)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{len(module.kernels[0].instructions())} instructions: {made.report.shuffles} of {made.report.loads} loads in "
        f"{seconds:.2f} s; the most memory of this program so far: {memory:.0f} MB."
    )
    if not options.no_run:
        header = ["kernel", "original, ms", "no-load", "no-corner", "all", "profitable"]
        print(f"\nOn {options.device}, as many times the original:\n")
        print(markdown_table(header, run_on(options.device, modules, options.rounds)))


if __name__ == "__main__":
    main()
