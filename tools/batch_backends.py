"""The back ends that tools/fuzz_batch.py compares: InfReg-IR and layouts to functions of this process.

    llvm                       machine code of this CPU
    avx512, avx2               C with intrinsics, compiled for this CPU
    avx512 model, avx2 model   the same C on a model of the intrinsics in portable C
    ve model                   C for SX-Aurora on a model of its intrinsics

The models are compiled without optimisation, by clang if there is one: it takes less than half of gcc's time. So are
most large kernels in C with intrinsics. The others are compiled by the compiler that kernels have, as fast as it can,
and now and then as kernels are.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

from drawloom.batch.backends.layout import ORDERS
from drawloom.batch.backends.native import NativeKernel
from drawloom.batch.backends.simd.compiler import OPTIONS, command_for, find_c_compiler, load_by
from drawloom.batch.backends.simd.emit import INCLUDES, emit_file
from drawloom.batch.backends.simd.isa import ISAS, Isa
from drawloom.batch.backends.simd.native import SimdKernel, check_features
from drawloom.batch.backends.ve import kernel as ve
from drawloom.batch.ir.ir import Kernel
from drawloom.cuda.clang import find_clang
from drawloom.errors import UnsupportedError
from tests.batch.backends.ve_model import ModelKernel, command_on_model
from tools.precompiled import precompile

PACKS: Final = (1, 2, 4)
#: Registers that kernels with packs get from LLVM: values beyond them are on the stack.
FEW: Final = 6
#: The header with the model of the instructions, in place of the compiler's.
MODEL: Final = Path(__file__).parents[1] / "tests/batch/backends/model"
MODEL_OPTIONS: Final = ("-O0", "-march=x86-64", f"-I{MODEL}")
#: What gcc takes the least time with: half of that of -O1, and no more than that of -O0.
FAST: Final = "-Og"
#: One compilation of so many is with the options of kernels, and one of so many of large kernels by their compiler.
OPTIMISED: Final = 16
BY_KERNELS_COMPILER: Final = 8


class Runnable(Protocol):
    """Machine code of a kernel."""

    def run(self, arguments: list[Any], first: int, last: int) -> None: ...


class Case(NamedTuple):
    """A layout: the order of lanes, the groups that share vectors, the lanes of a vector (0: the machine's)."""

    order: str
    pack: int
    width: int
    depth_first: bool


class Backend(NamedTuple):
    """What makes machine code of a kernel. Where that is C, `emit` prints what was made, `commands` are those of C
    compilers that small or large kernels take in turn, and `includes` the lines of the headers that they read."""

    make: Callable[[Kernel, Sequence[Case]], list[Any]]
    emit: Callable[[list[Any]], str] | None = None
    commands: Callable[[bool], list[list[str]]] = lambda is_large: []
    includes: tuple[str, ...] = ()

    def compile(
        self, kernel: Kernel, cases: Sequence[Case], turn: int = 0, is_large: bool = False,
        headers: "Headers | None" = None,
    ) -> list[Runnable]:  # fmt: skip
        """Compile a kernel for some layouts, by the command whose turn it is, with headers that are precompiled."""
        made = self.make(kernel, cases)
        if self.emit is not None and made:
            commands = self.commands(is_large)
            command = commands[turn % len(commands)]
            bind(made, [*command, *(headers or {}).get(tuple(command), ())], self.emit)
        return made


#: The command of a C compiler -> the options with which it uses precompiled headers.
Headers = Mapping[tuple[str, ...], tuple[str, ...]]


def precompile_headers(folder: Path, backends: Sequence[str]) -> Headers:
    """Precompile the headers of back ends that print C, in files of a folder."""
    headers: dict[tuple[str, ...], tuple[str, ...]] = {}
    for name in backends:
        commands = BACKENDS[name].commands
        for command in map(tuple, commands(False) + commands(True)):
            if command not in headers:
                headers[command] = precompile(folder, f"headers{len(headers)}", BACKENDS[name].includes, command)
    return headers


def bind(made: list[Any], command: Sequence[str], emit: Callable[[list[Any]], str]) -> None:
    """Compile C of some kernels together, whose functions have different names, and give them their functions."""
    library = load_by(command, emit([native.emitted for native in made]))
    for native in made:
        native.bind(library)


def make_by_llvm(kernel: Kernel, cases: Sequence[Case]) -> list[NativeKernel]:
    return [
        NativeKernel(kernel, c.order, c.pack, c.width, depth_first=c.depth_first, registers=FEW if c.pack > 1 else 0)
        for c in cases
    ]


def make_c(kernel: Kernel, cases: Sequence[Case], isa: Isa) -> list[SimdKernel]:
    return [
        SimdKernel(kernel, isa, case.order, case.pack, case.width, depth_first=case.depth_first,
                   streaming=case.pack == 2, name=f"case{number}")
        for number, case in enumerate(cases)
    ]  # fmt: skip


def make_native_c(kernel: Kernel, cases: Sequence[Case], isa: Isa) -> list[SimdKernel]:
    check_features(isa)
    return make_c(kernel, cases, isa)


def make_for_ve(kernel: Kernel, cases: Sequence[Case]) -> list[ModelKernel]:
    """Return kernels for SX-Aurora; every second one has packed floats."""
    orders = list(ORDERS)
    return [
        ModelKernel(kernel, case.order, case.pack, case.width, packed=(case.pack + orders.index(case.order)) % 2 == 0,
                    depth_first=case.depth_first, streaming=case.pack == 2, name=f"case{number}")
        for number, case in enumerate(cases)
    ]  # fmt: skip


def compile_as_c(target: str, kernel: Kernel, cases: Sequence[Case], *options: str) -> list[Runnable]:
    """Compile C with the intrinsics of an instruction set, with more options of the C compiler."""
    isa = ISAS[target]
    made = make_c(kernel, cases, isa)
    bind(made, command_for(isa, *options), partial(emit_file, isa=isa))
    return [*made]


@cache
def find_fast_compiler() -> tuple[str, ...]:
    """Return the command of clang, without one that of the C compiler of kernels."""
    try:
        clang = find_clang()
    except UnsupportedError:
        return find_c_compiler()
    # zig's own driver looks for undefined behaviour, and links what reports it.
    return find_c_compiler() if clang.zig_links else clang.c


def c_backend(isa: Isa) -> Backend:
    """Return the back end of an instruction set of this CPU."""

    def commands(is_large: bool) -> list[list[str]]:
        fast, full = command_for(isa, FAST), command_for(isa)
        if not is_large:
            return [*[fast] * (OPTIMISED - 1), full]
        by_clang = [*find_fast_compiler(), *OPTIONS, f"-march={isa.march}", "-O0"]
        return [*[by_clang] * (BY_KERNELS_COMPILER - 1), fast]

    return Backend(partial(make_native_c, isa=isa), partial(emit_file, isa=isa), commands, INCLUDES)


def model_backend(isa: Isa) -> Backend:
    """Return the back end of the model of an instruction set."""

    def commands(is_large: bool) -> list[list[str]]:
        return [[*find_fast_compiler(), *OPTIONS, *MODEL_OPTIONS]]

    return Backend(partial(make_c, isa=isa), partial(emit_file, isa=isa), commands, INCLUDES)


def commands_on_ve_model(is_large: bool) -> list[list[str]]:
    return [command_on_model(compiler=find_fast_compiler())]


BACKENDS: dict[str, Backend] = {
    "llvm": Backend(make_by_llvm),
    **{name: c_backend(isa) for name, isa in ISAS.items()},
    **{f"{name} model": model_backend(isa) for name, isa in ISAS.items()},
    "ve model": Backend(make_for_ve, ve.emit_file, commands_on_ve_model, ve.INCLUDES),
}
