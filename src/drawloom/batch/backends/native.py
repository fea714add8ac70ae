"""A kernel as machine code of this CPU, run over ranges of groups by several threads."""

from __future__ import annotations

import ctypes
from typing import Any, Final

from drawloom.batch.backends.chunking import cut_into_chunks
from drawloom.batch.backends.host import Code, vector_bits
from drawloom.batch.backends.layout import Layout
from drawloom.batch.backends.llvm import emit_llvm
from drawloom.batch.ir.ir import BITS, Kernel

C_TYPES: Final[dict[str, Any]] = {
    "i1": ctypes.c_bool, "i8": ctypes.c_int8, "i16": ctypes.c_int16, "i32": ctypes.c_int32, "i64": ctypes.c_int64,
    "float": ctypes.c_float, "double": ctypes.c_double,
}  # fmt: skip


class NativeKernel:
    """One kernel for one layout. `text` is its LLVM IR."""

    def __init__(self, kernel: Kernel, order: str, pack: int, width: int = 0) -> None:
        self.kernel = kernel
        self.pack = pack
        self.order = order
        self.layout = Layout(order, pack, width or default_width(kernel))
        self.program = cut_into_chunks(kernel, self.layout)
        self.text = emit_llvm(kernel, self.program, pack)
        self.code = Code(self.text, kernel.name)
        types = [ctypes.c_void_p if p.is_pointer else C_TYPES[p.type] for p in kernel.parameters]
        self.function = ctypes.CFUNCTYPE(None, *types, ctypes.c_int64, ctypes.c_int64)(self.code.address)

    def run(self, arguments: list[Any], first: int, last: int) -> None:
        """Run groups first to last - 1, a multiple of the pack; pointers are addresses."""
        self.function(*arguments, first, last)


def default_width(kernel: Kernel) -> int:
    """Return how many lanes of a kernel's numbers fill a vector register."""
    pointed = [BITS[parameter.type] for parameter in kernel.parameters if parameter.is_pointer]
    return max(4, vector_bits() // max(pointed, default=32))
