"""A kernel as C with intrinsics, compiled and run over ranges of groups, as `batch/backends/native.py` does by LLVM."""

from __future__ import annotations

import ctypes
from typing import Any

from drawloom.batch.backends.chunking import cut_into_chunks
from drawloom.batch.backends.layout import Layout
from drawloom.batch.backends.native import C_TYPES, SPARED, parameter_types
from drawloom.batch.backends.order import order_depth_first
from drawloom.batch.backends.reloads import reload_from_memory
from drawloom.batch.backends.simd.compiler import load_c
from drawloom.batch.backends.simd.emit import emit_file, emit_function
from drawloom.batch.backends.simd.isa import ISAS, Isa
from drawloom.batch.ir.ir import BITS, Kernel
from drawloom.cpu.vector.machine import host
from drawloom.errors import DataError, UnsupportedError


class SimdKernel:
    """One kernel for one layout and instruction set. `text` is its C."""

    def __init__(
        self, kernel: Kernel, isa: Isa, order: str, pack: int, width: int = 0, *, depth_first: bool = False,
        streaming: bool = False, name: str = "", packed: frozenset[str] = frozenset(),
    ) -> None:  # fmt: skip
        self.kernel = kernel
        self.isa = isa
        self.pack = pack
        self.layout = Layout(order, pack, width or vector_width(kernel, isa), packed)
        self.program = cut_into_chunks(kernel, self.layout)
        if depth_first:
            self.program.block = order_depth_first(self.program.block)
            reload_from_memory(self.program, isa.registers - isa.registers // SPARED, use_stack=False)
        self.emitted = emit_function(kernel, self.program, pack, isa, streaming=streaming, name=name)
        self.function: Any = None

    @property
    def text(self) -> str:
        return emit_file([self.emitted], self.isa)

    def bind(self, library: ctypes.CDLL) -> None:
        """Take the kernel's function from a library."""
        types = [C_TYPES[type] for type in parameter_types(self.kernel)]
        self.library = library
        self.function = library[self.emitted.name]
        self.function.restype = None
        self.function.argtypes = [*types, ctypes.c_int64, ctypes.c_int64]

    def run(self, arguments: list[Any], first: int, last: int) -> None:
        """Run groups first to last - 1, a multiple of the pack; pointers are addresses."""
        self.function(*arguments, first, last)


def load_kernels(kernels: list[SimdKernel], *options: str) -> None:
    """Compile kernels of one instruction set together and load them.

    Args:
        kernels: Kernels whose functions have different names.
        options: More options of the C compiler.

    Raises:
        UnsupportedError: This CPU lacks instructions, or there is no C compiler.
    """
    isa = kernels[0].isa
    check_features(isa)
    library = load_c(emit_file([kernel.emitted for kernel in kernels], isa), isa, *options)
    for kernel in kernels:
        kernel.bind(library)


def vector_width(kernel: Kernel, isa: Isa) -> int:
    """Return how many lanes of a kernel's numbers fill a register; narrow integers fill lanes of 32 bits."""
    pointed = [max(32, BITS[parameter.type]) for parameter in kernel.parameters if parameter.is_pointer]
    return 8 * isa.bytes // max(pointed, default=32)


def find_isa(target: str) -> Isa:
    """Return the instruction set of a name.

    Raises:
        DataError: There is none of this name.
    """
    if target not in ISAS:
        raise DataError(f"target is {target!r}\n  expected {', '.join(ISAS)}, ve")
    return ISAS[target]


def check_features(isa: Isa) -> None:
    missing = sorted(isa.features - host().features)
    if missing:
        raise UnsupportedError(f"{isa.name}: this CPU lacks {', '.join(missing)}")
