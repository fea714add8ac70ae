"""Holds the model of AVX2 and AVX-512 intrinsics, and printed C, against SIMDe's portable functions of the same names.

    git clone https://github.com/simd-everywhere/simde /tmp/simde
    python -m tools.check_simde /tmp/simde

Every intrinsic of tests/batch/backends/model/immintrin.h runs on random rows, and the ready kernels on their arguments,
both compiled twice: `portable` is SIMDe without any instruction set, `avx2` is AVX-512 by means of AVX2. Results have
to be equal bit for bit. Where they differ, the CPU's instruction decides if there is one. Printed are the intrinsics
that SIMDe lacks, and the differences; the exit status is 1 where the model or a kernel may be wrong.
"""

import argparse
import itertools
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from drawloom.batch import lower
from drawloom.batch.backends.layout import ORDERS
from drawloom.batch.backends.simd.compiler import find_c_compiler
from drawloom.batch.backends.simd.isa import AVX2, AVX512, Isa
from drawloom.batch.kernels import READY, parse_ready
from drawloom.cpu.vector.machine import host
from tests.batch.backends.intrinsics import (
    MODEL,
    Case,
    draw_rows,
    equal,
    find_intrinsics,
    list_cases,
    load_cases,
    run_case,
)
from tests.batch.cases import check_result, flat, make_arguments
from tools.batch_backends import PACKS, compile_as_c
from tools.batch_backends import Case as Layout
from tools.fuzz_batch import LARGEST_FRCG, REALS, difference, run_in_place

HEADER = Path(__file__).parent / "simde"
INPUTS = 20_000
SIZES = (4, 5, 8)
#: Functions that `HEADER` puts together from SIMDe's for halves of a register.
BY_HALVES = frozenset(
    f"_mm512_{name}"
    for name in ("permute_ps", "permute_pd", "permutex_pd", "srav_epi32", "cvtepi32_pd", "zextps256_ps512",
                 "zextpd256_pd512", "stream_ps", "stream_pd", "stream_si512")
)  # fmt: skip
#: Elements after each array: SIMDe reads and writes whole registers where a mask leaves elements out.
ROOM = 64
CONFIRMED = "the instruction gives the model's result"
REFUTED = "the instruction gives another result"
UNDECIDED = "this CPU lacks the instruction"


class Build(NamedTuple):
    """A way to compile SIMDe. `known` are differences that are SIMDe's, with the reason."""

    options: tuple[str, ...]
    targets: tuple[Isa, ...]
    is_fused: bool
    known: dict[str, str]


ROUNDED_TWICE = "SIMDe rounds the product"
BUILDS = {
    "portable": Build(("-O1", "-march=x86-64", "-DSIMDE_NO_NATIVE"), (AVX2, AVX512), False, {
        f"{prefix}_fmadd_{suffix}": ROUNDED_TWICE for prefix in ("_mm256", "_mm512") for suffix in ("ps", "pd")
    }),
    "avx2": Build(("-O1", "-march=x86-64-v3"), (AVX512,), True, {
        "_mm512_cvtepu32_ps": "SIMDe rounds half of the number, then the sum with its last bit",
    }),
}  # fmt: skip


class Report(NamedTuple):
    """The model's intrinsics, those that SIMDe lacks, verdicts by name and build, and the model's faults."""

    used: set[str]
    missing: set[str]
    differences: dict[str, str]
    faults: set[str]


def builds_here() -> dict[str, Build]:
    """Return the builds that this CPU can run."""
    return {name: build for name, build in BUILDS.items() if not build.is_fused or is_here(AVX2)}


def is_here(isa: Isa) -> bool:
    return not isa.features - host().features


def simde_options(checkout: Path, build: Build) -> tuple[str, ...]:
    # Calls in place of inlined functions: kernels compile in seconds, not in minutes.
    return (*build.options, "-DSIMDE_NO_INLINE", "-w", f"-I{HEADER}", f"-I{checkout}")


def simde_functions(checkout: Path, build: Build) -> set[str]:
    """Return the names of intrinsics that SIMDe defines."""
    command = [*find_c_compiler(), *simde_options(checkout, build), "-E", "-dM", "-"]
    done = subprocess.run(command, input="#include <immintrin.h>", capture_output=True, text=True, check=True)
    aliases = re.findall(r"^#define (_mm\w+)(?:\(.*?\))? (.*)", done.stdout, re.M)
    return {name for name, text in aliases if "simde_mm" in text}


def check_intrinsics(checkout: Path, inputs: int = INPUTS, model: Path = MODEL) -> Report:
    """Compare the model's intrinsics with SIMDe's.

    Args:
        checkout: The folder of SIMDe.
        inputs: How many rows of random bytes the cases of each intrinsic share out.
        model: The folder of the model's immintrin.h.
    """
    intrinsics = {intrinsic.name: intrinsic for intrinsic in find_intrinsics(model)}
    missing = intrinsics.keys() - simde_functions(checkout, BUILDS["portable"])
    differences, faults = {}, set()
    rows = draw_rows(inputs)
    for build_name, build in builds_here().items():
        compared = intrinsics.keys() & (simde_functions(checkout, build) | BY_HALVES)
        cases = list_cases([intrinsics[name] for name in sorted(compared)])
        for case in find_differences(cases, rows, simde_options(checkout, build), model):
            name = case.intrinsic.name
            verdict = judge(case, rows, model)
            differences[f"{name}, {build_name}"] = f"{verdict}; {build.known.get(name, 'an unknown difference')}"
            if verdict != CONFIRMED and not (verdict == UNDECIDED and name in build.known):
                faults.add(name)
    return Report(set(intrinsics), missing, differences, faults)


def find_differences(
    cases: list[Case], rows: NDArray[np.uint8], options: tuple[str, ...], model: Path
) -> Iterator[Case]:
    """Yield the first case of each intrinsic whose results with SIMDe are not the model's."""
    ours, theirs = load_cases(cases, AVX2, "-O1", f"-I{model}"), load_cases(cases, AVX2, *options)
    different: set[str] = set()
    for number, case in enumerate(cases):
        if case.intrinsic.name in different:
            continue
        if not equal(run_case(ours, number, case, rows), run_case(theirs, number, case, rows)):
            different.add(case.intrinsic.name)
            yield case


def judge(case: Case, rows: NDArray[np.uint8], model: Path) -> str:
    """Return what the CPU's instruction says of the model."""
    isa = AVX512 if is_here(AVX512) else AVX2
    if not is_here(isa) or ("_mm512" in case.intrinsic.name and isa is AVX2):
        return UNDECIDED
    real, ours = load_cases([case], isa, "-O1"), load_cases([case], AVX2, "-O1", f"-I{model}")
    return CONFIRMED if equal(run_case(real, 0, case, rows), run_case(ours, 0, case, rows)) else REFUTED


def check_kernels(checkout: Path, name: str, size: int) -> Iterator[str]:
    """Yield for each type, instruction set, order and pack how a ready kernel on SIMDe differs from the model, or "".

    Without fused products, contraction is off: then the builds that lack them give the same bits, too.
    """
    packs = [pack for pack in PACKS if name != "frcg" or size * pack <= LARGEST_FRCG]
    layouts = [Layout(order, pack, 0, pack != 2) for order, pack in itertools.product(ORDERS, packs)]
    for (build_name, build), (real, dtype) in itertools.product(builds_here().items(), REALS.items()):
        kernel = parse_ready(name, wg_size=size, real=real)
        lowered = lower(kernel, contract=build.is_fused)
        for isa in build.targets:
            ours = compile_as_c(isa.name, lowered, layouts, "-O1", "-march=x86-64", f"-I{MODEL}")
            theirs = compile_as_c(isa.name, lowered, layouts, *simde_options(checkout, build))
            for layout, model, simde in zip(layouts, ours, theirs):
                groups = 2 * layout.pack
                arguments = make_arguments(name, size, groups, dtype, seed=size)
                expected, found = with_room(arguments), with_room(arguments)
                run_in_place(kernel, model, groups, expected)
                run_in_place(kernel, simde, groups, found)
                check_result(name, size, arguments, found)
                fault = difference(flat(expected), flat(found))
                yield fault and f"{name}, {real}, groups of {size}, {isa.name}, {build_name}, {layout}: {fault}"


def with_room(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return copies of arrays with memory after them."""
    copies = dict(arguments)
    for name, value in arguments.items():
        if isinstance(value, np.ndarray):
            copies[name] = np.pad(value.reshape(-1), (0, ROOM))[: value.size].reshape(value.shape)
    return copies


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path, help="a checkout of simd-everywhere/simde")
    parser.add_argument("--inputs", type=int, default=INPUTS, help=f"rows for each intrinsic (default: {INPUTS})")
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES, help="sizes of ready kernels (default: 4 5 8)")
    options = parser.parse_args()
    checkout = options.checkout.resolve()
    report = check_intrinsics(checkout, options.inputs)
    present = len(report.used) - len(report.missing)
    print(f"{present} of {len(report.used)} intrinsics of the model are in SIMDe, {options.inputs} rows each")
    print("not in SIMDe:", ", ".join(sorted(report.missing - BY_HALVES)))
    print("not in SIMDe, put together from its halves:", ", ".join(sorted(report.missing & BY_HALVES)))
    for name, verdict in report.differences.items():
        print(f"differs: {name}: {verdict}")
    runs = faults = 0
    for name, size in itertools.product(READY, options.sizes):
        found = list(check_kernels(checkout, name, size))
        runs, faults = runs + len(found), faults + len([*filter(None, found)])
        print(*filter(None, found), f"{name}, groups of {size}: {len(found)} compiled", sep="\n", flush=True)
    print(f"{runs} compiled kernels, {faults} differ")
    return 1 if report.faults or faults else 0


if __name__ == "__main__":
    sys.exit(main())
