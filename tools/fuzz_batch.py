"""Draws random kernels in the collective register cache idiom and runs each in several ways, which have to agree.

    python -m tools.fuzz_batch --count 5000 --seed 0
    python -m tools.fuzz_batch --backend llvm avx512 avx2 "ve model" --cuda cpu     # every kernel on all of these
    python -m tools.fuzz_batch --backend avx2   # C with intrinsics; "avx2 model" runs on a model of the instructions
    python -m tools.fuzz_batch --backend "ve model"         # SX-Aurora's, packed and not
    python -m tools.fuzz_batch --count 300 --cuda cpu       # CUDA C++ on a device of the runtime; --kernels, too
    python -m tools.fuzz_batch --kernels        # the ready kernels in every order, size, pack and type
    python -m tools.fuzz_batch --count 10000 --mutated      # damaged kernels: an error with its place, or a kernel

The interpreter of the syntax tree, the interpreter of InfReg-IR, whose text has to parse back, and machine code in
every order of lanes, for 1 to 4 groups that share vectors, and for vectors of several widths. Each kernel that fails is
printed with its seed and its back end, and the exit status is 1. A kernel at which the process dies, as a crash of LLVM
makes it, is named by its seed, too. Large kernels have one order of lanes on each back end, unless --thorough.
"""

import argparse
import itertools
import os
import resource
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from drawloom.batch import interpret, interpret_ir, lower, parse_file
from drawloom.batch.backends.cuda.kernel import DeviceKernel
from drawloom.batch.backends.layout import ORDERS
from drawloom.batch.frontend.syntax import Kernel
from drawloom.batch.ir.parser import parse_kernel
from drawloom.batch.ir.printer import show_kernel
from drawloom.batch.ir.verifier import verify
from drawloom.batch.kernels import READY, parse_ready
from drawloom.cuda.clang import CompileError
from drawloom.errors import Error
from tests.batch.cases import flat, make_arguments
from tests.batch.mutations import damaged_kernel
from tests.batch.random_kernels import Generator
from tools import driver
from tools.batch_backends import BACKENDS, OPTIMISED, PACKS, Case, Headers, Runnable, precompile_headers
from tools.driver import ERROR, Verdict

WIDTHS = (4, 8, 16)
REALS = {"float": np.float32, "double": np.float64}
#: Unrolled steps of a hundred operations each: larger packs take minutes to compile.
LARGEST_FRCG = 16
#: A kernel of more InfReg-IR instructions, times its work-items, has one order of lanes on each back end, not three.
#: Two of five random kernels are smaller, and have a tenth of all instructions.
LARGE = 1000
#: Of still larger kernels each back end runs a quarter. They are a quarter of all, with two thirds of all instructions.
LARGEST = 3000
TURNS = 4
STACK_BYTES = 1 << 30
#: A damaged kernel that takes longer to compile is a hang.
MOST_SECONDS = 120
#: What the oracles and CUDA C++ are called among the parts of a run; a device follows the latter.
ORACLES = "oracles"
CUDA = "CUDA C++, "
#: Groups that machine code runs on at least: as many as the largest pack.
GROUPS = max(PACKS)


class Program:
    """The random kernel of a seed. `groups` are how many run as CUDA C++, whose last warp may have threads left over;
    machine code runs on at least one whole pack of them."""

    def __init__(self, seed: int, draw: type[Generator] = Generator) -> None:
        generator = draw(seed)
        self.seed = seed
        self.text = generator.text
        self.kernel = parse_file(generator.text, wg_size=generator.wg_size, file=f"seed {seed}")["drawn"]
        self.groups = generator.groups
        generator.groups = max(generator.groups, GROUPS)
        self.most_groups = generator.groups
        self.arguments = generator.arguments()
        self.contract = seed % 2 == 0
        self.lowered = lower(self.kernel, contract=self.contract)
        self.expectations: dict[int, dict[str, Any]] = {}

    def expect(self, groups: int) -> dict[str, Any]:
        """Return the arguments as the first oracle leaves them after some groups."""
        if groups not in self.expectations:
            self.expectations[groups] = reference(self.kernel, groups, self.arguments, self.contract)
        return self.expectations[groups]

    def cases(self) -> list[Case]:
        """Return a layout for each order of lanes."""
        seed = self.seed
        return [
            Case(order, PACKS[(seed + number) % len(PACKS)], WIDTHS[(seed // 3 + number) % len(WIDTHS)],
                 (seed + number) % 2 == 0)
            for number, order in enumerate(ORDERS)
        ]  # fmt: skip

    @property
    def size(self) -> int:
        return self.lowered.count() * self.kernel.wg_size

    def has_turn(self, part: str) -> bool:
        """Return whether a back end runs this kernel, as it does a quarter of the largest."""
        # Layouts repeat every 54 seeds.
        return self.size <= LARGEST or (self.seed // 54 + place_of(part)) % TURNS == 0

    def chosen_cases(self, part: str) -> list[Case]:
        """Return the layouts for a back end: of a large kernel one, which is not that of the next back end."""
        cases = self.cases()
        if self.size <= LARGE:
            return cases
        # Packs go by the seed's remainder of 3, widths by that of the third.
        return [cases[(self.seed // 9 + place_of(part)) % len(cases)]]

    def describe(self, way: object, fault: str) -> str:
        return f"{self.text}\ngroups of {self.kernel.wg_size}, {way}: {fault}"


def place_of(part: str) -> int:
    """Return the place of a back end among all, whichever are asked for."""
    return [*BACKENDS, CUDA].index(CUDA if part.startswith(CUDA) else part)


def check_oracles(program: Program) -> str:
    """Return how the oracles differ, or how InfReg-IR does not parse back, or nothing."""
    verify(program.lowered)
    found = copied(program.arguments)
    interpret_ir(program.lowered, program.most_groups, found)
    fault = difference(program.expect(program.most_groups), found)
    if fault:
        return program.describe("InfReg-IR", fault)
    columns = 1 + program.seed % 2
    text = show_kernel(program.lowered, columns)
    if show_kernel(parse_kernel(text), columns) != text:
        return f"{program.text}\nparses back from its InfReg-IR to another kernel"
    return ""


def check_machine_code(program: Program, backend: str, cases: list[Case], headers: Headers | None = None) -> str:
    """Return what is wrong with a kernel's machine code for some layouts, or nothing."""
    # Contraction goes by the seed's remainder of 2.
    turn, is_large = program.seed // 2, program.size > LARGE
    compiled = BACKENDS[backend].compile(program.lowered, cases, turn, is_large, headers)
    for case, native in zip(cases, compiled, strict=True):
        groups = program.most_groups // case.pack * case.pack
        found = run_native(program.kernel, native, groups, program.arguments)
        fault = difference(program.expect(groups), found)
        if fault:
            return program.describe(f"{backend}, {case}", fault)
    return ""


def check_cuda(program: Program, device: str) -> str:
    """Return what is wrong with a kernel as CUDA C++ on a device, or nothing."""
    found = copied(program.arguments)
    DeviceKernel(program.kernel, device, contract=program.contract)(*found.values(), groups=program.groups)
    fault = difference(program.expect(program.groups), found)
    return program.describe(CUDA + device, fault) if fault else ""


def check(seed: int, part: str = "llvm", draw: type[Generator] = Generator) -> str:
    """Return what is wrong with the kernel of a seed in every order of lanes, after the oracles, or nothing.

    Args:
        seed: The seed of the kernel.
        part: A back end, or `CUDA` and a device.
        draw: What draws the kernel.
    """
    program = Program(seed, draw)
    fault = check_oracles(program)
    if fault:
        return fault
    if part.startswith(CUDA):
        return check_cuda(program, part.removeprefix(CUDA))
    return check_machine_code(program, part, program.cases())


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
        for case, native in zip(cases, BACKENDS[backend].compile(lowered, cases)):
            arguments = make_arguments(name, size, 2 * case.pack, dtype, seed=size)
            expected = reference(kernel, 2 * case.pack, flat(arguments), True)
            fault = difference(expected, run_native(kernel, native, 2 * case.pack, flat(arguments)))
            if fault:
                print(f"{name}, {real}, groups of {size}, {backend}, {case}: {fault}")
                return 1
        print(f"{name}, {real}, groups of {size}, {backend}: every order and pack agrees", flush=True)
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


def check_damaged(seed: int) -> list[Verdict]:
    warnings.simplefilter("error")
    fault, is_refused = check_mutated(seed)
    return [Verdict(fault, counts={"refused with a place": int(is_refused)})]


def check_parts(
    seed: int, parts: list[str], largest: int | None, is_thorough: bool, headers: Headers | None
) -> Iterator[Verdict]:
    """Check a seed in every part, one after the other.

    Args:
        seed: The seed of the kernel.
        parts: The ways to run it; the first one is the oracles.
        largest: Refuse a kernel of more InfReg-IR instructions.
        is_thorough: Whether large kernels have every order of lanes, and run on every back end, too.
        headers: The options that make C compilers use precompiled headers.
    """
    warnings.simplefilter("error")
    start = processor_seconds()
    program = Program(seed)
    if largest is not None and program.lowered.count() > largest:
        yield from [Verdict(refused=f"more than {largest} instructions")] * len(parts)
        return
    for part in parts:
        verdict = judge(program, part, is_thorough, headers)
        end = processor_seconds()
        yield verdict._replace(counts={"milliseconds of processor time": round(1000 * (end - start))})
        start = end
        if part == ORACLES and verdict.message:
            yield from [Verdict(refused="the oracles differ")] * (len(parts) - 1)
            return


def judge(program: Program, part: str, is_thorough: bool, headers: Headers | None) -> Verdict:
    """Check a part; an exception is a failure of this part alone."""
    try:
        if part == ORACLES:
            return Verdict(check_oracles(program))
        if not is_thorough and not program.has_turn(part):
            return Verdict(refused=f"one of the largest kernels, of which one in {TURNS} runs")
        if part.startswith(CUDA):
            # The device optimises as often as the C compiler of kernels does. This process is that of the fuzzer.
            os.environ["DRAWLOOM_OPTIMIZE"] = "1" if program.seed // 2 % OPTIMISED == OPTIMISED - 1 else "0"
            return Verdict(check_cuda(program, part.removeprefix(CUDA)))
        cases = program.cases() if is_thorough else program.chosen_cases(part)
        return Verdict(check_machine_code(program, part, cases, headers))
    except CompileError as error:
        if "internal compiler error" in str(error):
            return Verdict(refused="the C compiler fails with an internal error")
        return Verdict(program.describe(part, f"{error}\n{traceback.format_exc()}"), kind=ERROR)
    except Exception:
        return Verdict(program.describe(part, traceback.format_exc()), kind=ERROR)


def processor_seconds() -> float:
    """Return the processor time of this process and of compilers that it has run."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def fuzz(options: argparse.Namespace, backends: list[str]) -> int:
    """Check random kernels. Compilers and the cache, which keeps CUDA's headers, have a folder of their own."""
    raise_stack_limit()
    parts = [ORACLES, *backends, *([CUDA + options.cuda] if options.cuda else [])]
    with tempfile.TemporaryDirectory(prefix="drawloom-fuzz-") as folder:
        # The processes that check inherit these.
        os.environ |= {"DRAWLOOM_CACHE": "on", "DRAWLOOM_CACHE_DIR": folder, "TMPDIR": folder}
        headers = precompile_headers(Path(folder), backends)
        check_seed = partial(
            check_parts, parts=parts, largest=options.largest, is_thorough=options.thorough, headers=headers
        )
        return driver.run(options, parts, check_seed, partial(report, parts))


def raise_stack_limit() -> None:
    """Let this process and its children use a large stack: without optimisation each of thousands of vectors has a
    place of its own there."""
    _, most = resource.getrlimit(resource.RLIMIT_STACK)
    resource.setrlimit(resource.RLIMIT_STACK, (STACK_BYTES if most < 0 else min(STACK_BYTES, most), most))


def report(parts: list[str], seed: int, place: int, message: str) -> None:
    print(f"\nseed {seed}, {parts[place]}: {message}", flush=True)


def main() -> int:
    parser = driver.arguments(__doc__, "fuzz_batch")
    parser.add_argument("--kernels", action="store_true", help="the ready kernels, not random ones")
    parser.add_argument("--mutated", action="store_true", help="damaged kernels, which are parsed and lowered")
    parser.add_argument("--cuda", metavar="DEVICE", help="run CUDA C++ on a device, too: cpu, cuda:0")
    parser.add_argument("--backend", nargs="+", choices=BACKENDS,
                        help="what makes machine code (default: llvm, nothing with --cuda)")  # fmt: skip
    parser.add_argument("--largest", type=int, metavar="N", help="skip kernels of more than N InfReg-IR instructions")
    parser.add_argument("--thorough", action="store_true", help="every order of lanes for large kernels, too")
    options = parser.parse_args()
    backends = options.backend or ([] if options.cuda else ["llvm"])
    if options.mutated:
        return driver.run(options, ["damaged"], check_damaged, driver.say)
    if not options.kernels:
        return fuzz(options, backends)
    statuses = [check_ready_kernels(backend) for backend in backends]
    return max([*statuses, *([check_ready_kernels_in_cuda(options.cuda)] if options.cuda else [])])


if __name__ == "__main__":
    sys.exit(main())
