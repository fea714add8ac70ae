"""Draws random kernels in the collective register cache idiom and runs each in several ways, which have to agree.

    python -m tools.fuzz_batch --count 5000 --seed 0
    python -m tools.fuzz_batch --kernels        # the ready kernels in every order, size, pack and type
    python -m tools.fuzz_batch --count 300 --cuda cpu       # CUDA C++ on a device of the runtime; --kernels, too
    python -m tools.fuzz_batch --count 10000 --mutated      # damaged kernels: an error with its place, or a kernel
    python -m tools.fuzz_batch --backend avx2   # C with intrinsics; "avx2 model" runs on a model of the instructions
    python -m tools.fuzz_batch --backend "ve model"         # SX-Aurora's, packed and not

The interpreter of the syntax tree, the interpreter of InfReg-IR, whose text has to parse back, and machine code in
every order of lanes, for 1 to 4 groups that share vectors, and for vectors of several widths. Each kernel that fails is
printed with its seed, and the exit status is 1. A kernel at which the process dies, as a crash of LLVM makes it, is
named by its seed, too.
"""

import argparse
import itertools
import signal
import sys
import traceback
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from drawloom.batch import interpret, interpret_ir, lower, parse_file
from drawloom.batch.backends.cuda.kernel import DeviceKernel
from drawloom.batch.backends.layout import ORDERS
from drawloom.batch.backends.native import NativeKernel
from drawloom.batch.backends.simd.compiler import load_c
from drawloom.batch.backends.simd.emit import emit_file
from drawloom.batch.backends.simd.isa import ISAS
from drawloom.batch.backends.simd.native import SimdKernel, load_kernels
from drawloom.batch.frontend.syntax import Kernel
from drawloom.batch.ir.ir import Kernel as LoweredKernel
from drawloom.batch.ir.parser import parse_kernel
from drawloom.batch.ir.printer import show_kernel
from drawloom.batch.ir.verifier import verify
from drawloom.batch.kernels import READY, parse_ready
from drawloom.cuda.clang import CompileError
from drawloom.errors import Error
from tests.batch.backends.ve_model import ModelKernel, load_on_model
from tests.batch.cases import flat, make_arguments
from tests.batch.mutations import damaged_kernel
from tests.batch.random_kernels import Generator
from tools import driver
from tools.driver import Verdict

WIDTHS = (4, 8, 16)
PACKS = (1, 2, 4)
REALS = {"float": np.float32, "double": np.float64}
#: Unrolled steps of a hundred operations each: larger packs take minutes to compile.
LARGEST_FRCG = 16
#: Registers that random kernels with packs get: values beyond them are on the stack.
FEW = 6
#: A damaged kernel that takes longer to compile is a hang.
MOST_SECONDS = 120


class Runnable(Protocol):
    """Machine code of a kernel."""

    def run(self, arguments: list[Any], first: int, last: int) -> None: ...


class Case(NamedTuple):
    """A layout: the order of lanes, the groups that share vectors, the lanes of a vector (0: the machine's)."""

    order: str
    pack: int
    width: int
    depth_first: bool


Backend = Callable[[LoweredKernel, list[Case]], list[Runnable]]


def compile_by_llvm(kernel: LoweredKernel, cases: list[Case]) -> list[Runnable]:
    return [
        NativeKernel(kernel, c.order, c.pack, c.width, depth_first=c.depth_first, registers=FEW if c.pack > 1 else 0)
        for c in cases
    ]


def compile_as_c(target: str, *options: str) -> Backend:
    """Return the back end of an instruction set. The C compiler runs with few of its passes, which take long."""
    isa = ISAS[target]

    def compile(kernel: LoweredKernel, cases: list[Case]) -> list[Runnable]:
        made = [
            SimdKernel(kernel, isa, case.order, case.pack, case.width, depth_first=case.depth_first,
                       streaming=case.pack == 2, name=f"case{number}")
            for number, case in enumerate(cases)
        ]  # fmt: skip
        if not options:
            load_kernels(made, "-O1")
            return [*made]
        library = load_c(emit_file([native.emitted for native in made], isa), isa, *options)
        for native in made:
            native.bind(library)
        return [*made]

    return compile


def compile_for_ve(kernel: LoweredKernel, cases: list[Case]) -> list[Runnable]:
    """Return kernels for SX-Aurora on the model of its intrinsics; every second one with packed floats."""
    made = [
        ModelKernel(kernel, case.order, case.pack, case.width, packed=(case.pack + number) % 2 == 0,
                    depth_first=case.depth_first, streaming=case.pack == 2, name=f"case{number}")
        for number, case in enumerate(cases)
    ]  # fmt: skip
    load_on_model(made)
    return [*made]


#: The header with the model of the instructions, in place of the compiler's.
MODEL = Path(__file__).parents[1] / "tests/batch/backends/model"
BACKENDS: dict[str, Backend] = {
    "llvm": compile_by_llvm,
    **{name: compile_as_c(name) for name in ISAS},
    **{f"{name} model": compile_as_c(name, "-O0", "-march=x86-64", f"-I{MODEL}") for name in ISAS},
    "ve model": compile_for_ve,
}


def check(
    seed: int, backend: str = "llvm", largest: int | None = None, draw: type[Generator] = Generator
) -> str | None:
    """Return what is wrong with the kernel of a seed, or ""; None for a kernel of more than `largest` instructions."""
    generator = draw(seed)
    kernel = parse_file(generator.text, wg_size=generator.wg_size, file=f"seed {seed}")["drawn"]
    arguments = generator.arguments()
    contract = seed % 2 == 0
    lowered = lower(kernel, contract=contract)
    if largest is not None and lowered.count() > largest:
        return None
    verify(lowered)
    expected = copied(arguments)
    interpret(kernel, generator.groups, expected, contract=contract)
    found = copied(arguments)
    interpret_ir(lowered, generator.groups, found)
    fault = difference(expected, found)
    if fault:
        return f"{generator.text}\ngroups of {generator.wg_size}, InfReg-IR: {fault}"
    text = show_kernel(lowered, 1 + seed % 2)
    if show_kernel(parse_kernel(text), 1 + seed % 2) != text:
        return f"{generator.text}\nparses back from its InfReg-IR to another kernel"
    cases = [
        Case(order, PACKS[(seed + number) % len(PACKS)], WIDTHS[(seed // 3 + number) % len(WIDTHS)],
             (seed + number) % 2 == 0)
        for number, order in enumerate(ORDERS)
    ]  # fmt: skip
    for case, native in zip(cases, BACKENDS[backend](lowered, cases)):
        groups = generator.groups // case.pack * case.pack
        found = run_native(kernel, native, groups, arguments)
        fault = difference(reference(kernel, groups, arguments, contract), found)
        if fault:
            return f"{generator.text}\ngroups of {generator.wg_size}, {case}: {fault}"
    return ""


def check_cuda(seed: int, device: str) -> str:
    """Return what is wrong with the kernel of a seed as CUDA C++ on a device, or nothing."""
    generator = Generator(seed)
    kernel = parse_file(generator.text, wg_size=generator.wg_size, file=f"seed {seed}")["drawn"]
    arguments = generator.arguments()
    contract = seed % 2 == 0
    expected = reference(kernel, generator.groups, arguments, contract)
    found = copied(arguments)
    DeviceKernel(kernel, device, contract=contract)(*found.values(), groups=generator.groups)
    fault = difference(expected, found)
    return f"{generator.text}\ngroups of {generator.wg_size}, CUDA C++: {fault}" if fault else ""


def check_mutated(seed: int) -> tuple[str, bool]:
    """Return what is wrong with how a damaged kernel is taken, and whether it was refused."""
    text, wg_size = damaged_kernel(seed)
    signal.signal(signal.SIGALRM, fail_as_a_hang)
    signal.alarm(MOST_SECONDS)
    try:
        kernels = parse_file(text, wg_size=wg_size, defines={"real": "double"}, file="damaged.cl")
        for kernel in kernels.values():
            verify(lower(kernel))
    except Error as refusal:
        place = str(refusal).split(":")
        is_known = place[0] in ("damaged.cl", "reductions.cl", "elimination.cl")
        has_place = is_known and place[1].isdigit() and place[2].isdigit()
        return "" if has_place else f"{text}\nan error without its place: {refusal}", True
    except Exception:
        return f"{text}\n{traceback.format_exc()}", False
    finally:
        signal.alarm(0)
    return "", False


def fail_as_a_hang(*_: Any) -> None:
    raise TimeoutError(f"no answer within {MOST_SECONDS} seconds")


def check_ready_kernels_in_cuda(device: str) -> int:
    for name, size, (real, dtype) in itertools.product(READY, range(4, 33, 4), REALS.items()):
        kernel = parse_ready(name, wg_size=size, real=real)
        compiled = DeviceKernel(kernel, device, contract=True)
        # Blocks of which the last has a warp with one group.
        groups = compiled.cuda.groups_per_block + 32 // size + 1
        arguments = make_arguments(name, size, groups, dtype, seed=size)
        found = copied(arguments)
        compiled(*found.values(), groups=groups)
        fault = difference(reference(kernel, groups, flat(arguments), True), flat(found))
        print(f"{name}, {real}, groups of {size}, CUDA C++: {fault or 'agrees'}", flush=True)
        if fault:
            return 1
    return 0


def check_ready_kernels(backend: str) -> int:
    for name, size, (real, dtype) in itertools.product(READY, range(4, 33, 4), REALS.items()):
        kernel = parse_ready(name, wg_size=size, real=real)
        lowered = lower(kernel)
        cases = [
            Case(order, pack, 0, pack != 2)
            for order, pack in itertools.product(ORDERS, PACKS)
            if name != "frcg" or size * pack <= LARGEST_FRCG
        ]
        for case, native in zip(cases, BACKENDS[backend](lowered, cases) if cases else []):
            arguments = make_arguments(name, size, 2 * case.pack, dtype, seed=size)
            expected = reference(kernel, 2 * case.pack, flat(arguments), True)
            fault = difference(expected, run_native(kernel, native, 2 * case.pack, flat(arguments)))
            if fault:
                print(f"{name}, {real}, groups of {size}, {case}: {fault}")
                return 1
        print(f"{name}, {real}, groups of {size}: every order and pack agrees", flush=True)
    return 0


def copied(arguments: dict[str, Any]) -> dict[str, Any]:
    return {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in arguments.items()}


def reference(kernel: Kernel, groups: int, arguments: dict[str, Any], contract: bool) -> dict[str, Any]:
    result = copied(arguments)
    if groups:
        interpret(kernel, groups, result, contract=contract)
    return result


def run_native(kernel: Kernel, native: Runnable, groups: int, arguments: dict[str, Any]) -> dict[str, Any]:
    result = copied(arguments)
    run_in_place(kernel, native, groups, result)
    return result


def run_in_place(kernel: Kernel, native: Runnable, groups: int, arguments: dict[str, Any]) -> None:
    passed = [
        arguments[parameter.name].ctypes.data if parameter.is_pointer else arguments[parameter.name]
        for parameter in kernel.parameters
    ]
    native.run(passed, 0, groups)


def difference(expected: dict[str, Any], found: dict[str, Any]) -> str:
    """Return where arrays differ; NaN equals NaN, whatever its payload."""
    for name, value in expected.items():
        if not isinstance(value, np.ndarray) or np.array_equal(value, found[name], equal_nan=value.dtype.kind == "f"):
            continue
        equal = (value == found[name]) | ((value != value) & (found[name] != found[name]))
        place = int(np.flatnonzero(~equal)[0])
        return f"{name}[{place}] is {found[name][place]}, expected {value[place]}"
    return ""


def check_as_asked(seed: int, options: argparse.Namespace) -> list[Verdict]:
    """Check a seed in the way that the options ask for."""
    warnings.simplefilter("error")
    if options.mutated:
        fault, is_refused = check_mutated(seed)
        return [Verdict(fault, counts={"refused with a place": int(is_refused)})]
    if options.cuda:
        return [Verdict(check_cuda(seed, options.cuda))]
    try:
        found = check(seed, options.backend, options.largest)
    except CompileError as error:
        if "internal compiler error" not in str(error):
            raise
        return [Verdict(refused="the C compiler fails with an internal error")]
    return [Verdict(refused=f"more than {options.largest} instructions") if found is None else Verdict(found)]


def main() -> int:
    parser = driver.arguments(__doc__, "fuzz_batch")
    parser.add_argument("--kernels", action="store_true", help="the ready kernels, not random ones")
    parser.add_argument("--mutated", action="store_true", help="damaged kernels, which are parsed and lowered")
    parser.add_argument("--cuda", metavar="DEVICE", help="run CUDA C++ on a device, not machine code: cpu, cuda:0")
    parser.add_argument("--backend", choices=BACKENDS, default="llvm", help="what makes machine code (default: llvm)")
    parser.add_argument("--largest", type=int, metavar="N", help="skip kernels of more than N InfReg-IR instructions")
    options = parser.parse_args()
    if options.kernels:
        return check_ready_kernels_in_cuda(options.cuda) if options.cuda else check_ready_kernels(options.backend)
    name = "damaged" if options.mutated else f"CUDA C++, {options.cuda}" if options.cuda else options.backend
    return driver.run(options, [name], partial(check_as_asked, options=options), driver.say)


if __name__ == "__main__":
    sys.exit(main())
