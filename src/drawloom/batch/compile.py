"""`batch.kernel`: a kernel's text to something that is called with NumPy arrays."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, overload

import numpy as np

from drawloom.batch.arguments import LaunchArguments
from drawloom.batch.backends.layout import ORDERS
from drawloom.batch.backends.native import NativeKernel, default_width
from drawloom.batch.backends.simd.emit import emit_file
from drawloom.batch.backends.simd.isa import Isa
from drawloom.batch.backends.simd.native import SimdKernel, find_isa, load_kernels, make_kernels, vector_width
from drawloom.batch.frontend import syntax
from drawloom.batch.frontend.lower import lower
from drawloom.batch.frontend.parser import parse_file
from drawloom.batch.ir.ir import Kernel as LoweredKernel
from drawloom.batch.tuning.choose import Choice, choose_layout
from drawloom.cpu.vector.machine import vector_bits, vector_registers
from drawloom.errors import DataError
from drawloom.runtime.ranges import run_ranges

if TYPE_CHECKING:
    from drawloom.batch.backends.cuda.kernel import DeviceKernel
    from drawloom.runtime.machine import Device

LARGEST_PACK: Final = 64
#: Packs that are worth a thread: some tens of microseconds of work.
LEAST_PACKS: Final = 256


class Kernel:
    """A compiled kernel. `source` is its syntax tree, `lowered` its InfReg-IR."""

    def __init__(
        self, source: syntax.Kernel, *, pack: int | None, order: str | None, contract: bool, isa: Isa | None = None,
        streaming: bool = False,
    ) -> None:  # fmt: skip
        self.source = source
        self.isa = isa
        self.streaming = streaming
        self.name = source.name
        self.lowered: LoweredKernel = lower(source, contract=contract)
        if pack is None and order is None:
            if isa is None:
                width, bits, registers = default_width(self.lowered), vector_bits(), vector_registers()
            else:
                width, bits, registers = vector_width(self.lowered, isa), 8 * isa.bytes, isa.registers
            choice = choose_layout(self.lowered, width, bits, registers)
        else:
            choice = Choice(order or "rows", pack or 1, False, 0.0)
        self.pack = choice.pack
        self.order = choice.order
        self.depth_first = choice.depth_first
        self.arguments = LaunchArguments(source, self.lowered)
        self.compiled: dict[int, NativeKernel | SimdKernel] = {}

    def __repr__(self) -> str:
        names = ", ".join(parameter.name for parameter in self.source.parameters)
        return f"<batch kernel {self.name}({names}), groups of {self.source.wg_size}>"

    def native(self, pack: int) -> NativeKernel | SimdKernel:
        """Return the machine code that runs `pack` groups together."""
        if pack not in self.compiled:
            if self.isa is None:
                self.compiled[pack] = NativeKernel(self.lowered, self.order, pack, depth_first=self.depth_first)
            else:
                made = self.make_simd(self.isa)
                load_kernels([*made.values()])
                self.compiled.update(made)
        return self.compiled[pack]

    def make_simd(self, isa: Isa) -> dict[int, SimdKernel]:
        return make_kernels(
            self.lowered, isa, self.order, self.pack, depth_first=self.depth_first, streaming=self.streaming
        )

    def show_c(self, isa: Isa) -> str:
        """Return the kernel as C with an instruction set's intrinsics."""
        return emit_file([made.emitted for made in self.make_simd(isa).values()], isa)

    def __call__(self, *arguments: Any, groups: int | None = None) -> None:
        """Run the kernel; arrays that it writes to are changed in place.

        Args:
            arguments: A contiguous NumPy array for each pointer parameter, a number for each other one.
            groups: The number of work-groups; without it, the length that all arrays with several dimensions begin
                with.

        Raises:
            LaunchError: Arguments do not fit; nothing was written.
        """
        values, number = self.arguments.check(arguments, groups)
        passed = [value.ctypes.data if isinstance(value, np.ndarray) else value for value in values]
        whole = number - number % self.pack
        if whole:
            native = self.native(self.pack)
            run_ranges(lambda first, last: native.run(passed, first, last), 0, whole, self.pack, LEAST_PACKS)
        if whole < number:
            self.native(1).run(passed, whole, number)


@overload
def kernel(
    source: str | os.PathLike[str],
    *,
    wg_size: int,
    name: str | None = None,
    defines: Mapping[str, str] | None = None,
    pack: int | None = None,
    order: str | None = None,
    contract: bool = True,
    device: None = None,
    target: str | None = None,
    streaming: bool = False,
) -> Kernel: ...
@overload
def kernel(
    source: str | os.PathLike[str],
    *,
    wg_size: int,
    name: str | None = None,
    defines: Mapping[str, str] | None = None,
    pack: int | None = None,
    order: str | None = None,
    contract: bool = True,
    device: str | Device,
    target: None = None,
    streaming: bool = False,
) -> DeviceKernel: ...
def kernel(
    source: str | os.PathLike[str],
    *,
    wg_size: int,
    name: str | None = None,
    defines: Mapping[str, str] | None = None,
    pack: int | None = None,
    order: str | None = None,
    contract: bool = True,
    device: str | Device | None = None,
    target: str | None = None,
    streaming: bool = False,
) -> Kernel | DeviceKernel:
    """Compile a kernel in the collective register cache idiom, for this CPU or as CUDA C++ for a device.

    Args:
        source: OpenCL C with `shuffle`, as text or as the path of a .cl file.
        wg_size: The work-items of a group, which `get_local_size()` gives.
        name: The kernel to take where the text has several.
        defines: Macros that are defined before the text begins.
        pack: How many groups share vectors.
        order: How lanes lie in vectors: "rows", "columns" or "interleaved". Without `pack` and `order`, an estimate
            of the cost chooses both.
        contract: Round a product and the sum that takes it once.
        device: A device of `drawloom.load` that runs the kernel as CUDA C++, a thread for each work-item: "cuda:0", or
            "cpu", which runs the same code without a GPU. Without a device, vectors of this CPU run the kernel.
        target: "avx512" or "avx2" for C with intrinsics that a C compiler translates, instead of LLVM in process.
        streaming: With a target, store around the caches what the kernel does not read.

    Raises:
        BatchParseError: The text is not in the language; the error names line and column.
        BatchTypeError: Types, sizes or indices do not fit.
        DataError: The file cannot be read, there is no such kernel, or an option is unknown or not for a device.
        DeviceError: There is no such device.
        UnsupportedError: A group for a device has more than 32 work-items; or, at the first call, this CPU lacks the
            target's instructions, or there is no C compiler.

    Example:
        >>> import numpy as np
        >>> twice = kernel("__kernel void twice(double *x) { x[get_global_id()] *= 2; }", wg_size=4)
        >>> x = np.ones((3, 4))
        >>> twice(x)
        >>> x.sum()
        np.float64(24.0)
    """
    if order is not None and order not in ORDERS:
        raise DataError(f"order is {order!r}\n  expected {', '.join(ORDERS)}")
    if pack is not None and pack not in range(1, LARGEST_PACK + 1):
        raise DataError(f"pack is {pack!r}\n  expected 1 to {LARGEST_PACK}")
    if device is not None and (order is not None or pack is not None):
        raise DataError("order and pack are for vectors of the CPU\n  expected neither with a device")
    if device is not None and target is not None:
        raise DataError("target is for vectors of the CPU\n  expected none with a device")
    if streaming and target is None:
        raise DataError("streaming needs a target\n  expected target='avx512' or target='avx2'")
    isa = None if target is None else find_isa(target)
    text, file = read_source(source)
    chosen = choose(parse_file(text, wg_size=wg_size, defines=defines, file=file), name, file)
    if device is None:
        return Kernel(chosen, pack=pack, order=order, contract=contract, isa=isa, streaming=streaming)
    from drawloom.batch.backends.cuda.kernel import DeviceKernel

    return DeviceKernel(chosen, device, contract=contract)


def choose(kernels: dict[str, syntax.Kernel], name: str | None, file: str) -> syntax.Kernel:
    """Return the kernel of a name, or the only one."""
    if name is None and len(kernels) == 1:
        return next(iter(kernels.values()))
    if name not in kernels:
        asked = "several kernels, and none was chosen" if name is None else f"no kernel {name}"
        raise DataError(f"{file}: {asked}\n  expected one of {', '.join(kernels)}")
    return kernels[name]


def read_source(source: str | os.PathLike[str]) -> tuple[str, str]:
    """Return a kernel's text and what errors call it."""
    if isinstance(source, str) and not source.endswith(".cl"):
        return source, "<text>"
    try:
        return Path(source).read_text(encoding="utf-8"), os.fspath(source)
    except (OSError, UnicodeDecodeError) as failure:
        raise DataError(f"{os.fspath(source)}: cannot be read as text: {failure}") from None
