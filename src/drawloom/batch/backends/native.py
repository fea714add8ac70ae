"""A kernel as machine code of this CPU, run over ranges of groups by several threads."""

from __future__ import annotations

import ctypes
from typing import Any, Final

import llvmlite.binding as llvm

from drawloom.batch.backends.chunking import cut_into_chunks
from drawloom.batch.backends.entry import emit_entry, entry_name
from drawloom.batch.backends.layout import Layout
from drawloom.batch.backends.llvm import emit_llvm
from drawloom.batch.backends.masks import group_selects_by_mask
from drawloom.batch.backends.order import order_depth_first
from drawloom.batch.backends.reloads import MASK_TYPES, reload_from_memory
from drawloom.batch.backends.saturation import expand_saturating_conversions
from drawloom.batch.backends.widening import widen_narrow_integers
from drawloom.batch.ir.ir import BITS, Kernel
from drawloom.cpu.vector.machine import FULL, Loaded, host, mask_registers, vector_bits, vector_registers

C_TYPES: Final[dict[str, Any]] = {
    "i1": ctypes.c_bool, "i8": ctypes.c_int8, "i16": ctypes.c_int16, "i32": ctypes.c_int32, "i64": ctypes.c_int64,
    "float": ctypes.c_float, "double": ctypes.c_double, "ptr": ctypes.c_void_p,
}  # fmt: skip


#: One register of so many is left to LLVM beyond what values are counted to need.
SPARED: Final = 8
#: The instructions from which on a block is not left to LLVM's allocator. By measurements of `ldus`, `trsv` and `trsm`
#: with 16 and 32 registers: longer ones become up to 1.4 times as fast, shorter ones up to 1.3 times as slow.
LONG_BLOCK: Final = 2000
#: Instructions for each cache line of the next pack, from which on lines are asked for ahead even if they follow those
#: before: a core then computes for longer than it looks ahead. Products of 16 to 32 become 1.1 to 1.4 times as fast
#: beyond the caches. Sums have 2 instructions for a line and would become up to 1.3 times as slow in the first cache.
#: Interleaved groups take a row of each in turn, an order that no CPU foresees.
FORESEEN_WORK: Final = 10


class NativeCode:
    """One kernel for one layout, as vectors (`program`) and as LLVM IR (`text`; `entry_text` is the entry).

    Args:
        kernel: InfReg-IR.
        order: The order of lanes.
        pack: How many groups run together.
        width: The lanes of a chunk; as many as fill a register otherwise.
        depth_first: Whether instructions stand depth first from the stores.
        packed: Pointers to arrays in the packed layout, with `pack` lanes.
        streaming: Store around the caches what the kernel does not read, in arrays aligned to registers.
        registers: Keep values beyond so many registers on the stack; long blocks are kept within the machine's.
    """

    def __init__(
        self, kernel: Kernel, order: str, pack: int, width: int = 0, *, depth_first: bool = False,
        packed: frozenset[str] = frozenset(), registers: int = 0, streaming: bool = False,
    ) -> None:  # fmt: skip
        self.kernel = kernel
        self.pack = pack
        self.order = order
        self.layout = Layout(order, pack, width or default_width(kernel), packed)
        self.program = cut_into_chunks(kernel, self.layout)
        expand_saturating_conversions(self.program)
        widen_narrow_integers(self.program)
        if depth_first:
            self.program.block = order_depth_first(self.program.block)
        self.program.block = group_selects_by_mask(self.program.block)
        there = vector_registers()
        use_stack = registers > 0 or len(self.program.block) >= LONG_BLOCK
        if depth_first or use_stack:
            masks = mask_registers() if self.layout.width in MASK_TYPES else 0
            reload_from_memory(
                self.program, registers or there - there // SPARED, use_stack=use_stack, mask_registers=masks
            )
        prefetch = 0 if order == "interleaved" and pack > 1 and not packed else FORESEEN_WORK
        self.text = emit_llvm(kernel, self.program, pack, prefetch=prefetch, streaming=streaming)
        self.entry_text = emit_entry(kernel.name, parameter_types(kernel))

    def compile(self) -> bytes:
        """Return the machine code of both functions."""
        return object_code(self.text + self.entry_text)


class LoadedKernel:
    """Machine code of this process. `types` are LLVM's types of the kernel's parameters."""

    def __init__(self, code: bytes, name: str, types: list[str]) -> None:
        self.loaded = Loaded(code, [name, entry_name(name)])
        prototype = ctypes.CFUNCTYPE(None, *[C_TYPES[type] for type in types], ctypes.c_int64, ctypes.c_int64)
        self.function = prototype(self.loaded.addresses[name])
        self.entry = self.loaded.addresses[entry_name(name)]

    def run(self, arguments: list[Any], first: int, last: int) -> None:
        """Run groups first to last - 1, a multiple of the pack; pointers are addresses."""
        self.function(*arguments, first, last)


class NativeKernel(NativeCode, LoadedKernel):
    """Both, for a kernel that is compiled at once."""

    def __init__(
        self, kernel: Kernel, order: str, pack: int, width: int = 0, *, depth_first: bool = False,
        packed: frozenset[str] = frozenset(), registers: int = 0,
    ) -> None:  # fmt: skip
        NativeCode.__init__(
            self, kernel, order, pack, width, depth_first=depth_first, packed=packed, registers=registers
        )
        LoadedKernel.__init__(self, self.compile(), kernel.name, parameter_types(kernel))


def parameter_types(kernel: Kernel) -> list[str]:
    """Return LLVM's types of a kernel's parameters."""
    return ["ptr" if p.is_pointer else p.type for p in kernel.parameters]


def object_code(text: str) -> bytes:
    """Return machine code of LLVM IR. The chunks are as they should be: only the code generator runs.

    Raises:
        RuntimeError: LLVM refuses the text, which is a defect of ours.
    """
    target = host()
    machine = target.machine(FULL)
    module = llvm.parse_assembly(text)
    module.triple = target.triple
    module.data_layout = str(machine.target_data)
    module.verify()
    code: bytes = machine.emit_object(module)
    return code


def default_width(kernel: Kernel) -> int:
    """Return how many lanes of a kernel's numbers fill a vector register; narrow integers fill lanes of 32 bits."""
    pointed = [max(32, BITS[parameter.type]) for parameter in kernel.parameters if parameter.is_pointer]
    return max(4, vector_bits() // max(pointed, default=32))
