"""Cubins: the machine code of one or more kernels in the file that the driver loads.

cubin = write_cubin(assembly)          # Assembly, see assembly.py -> Cubin
cubin = read_cubin(data)               # bytes -> Cubin
bytes(cubin), cubin.kernels["k"].registers, print(cubin.report()), print(cubin.disassembly()), cubin.save("k.cubin")
"""

from __future__ import annotations

import os

from drawloom.errors import DataError
from drawloom.files import whole_file
from drawloom.sass.assembly import CONST, GLOBAL, AssembledFunction, Assembly, Parameter
from drawloom.sass.cubin_layout import LAYOUTS, parameters_at
from drawloom.sass.cubin_reader import read_assembly
from drawloom.sass.cubin_writer import write_assembly


class Kernel:
    """One kernel of a cubin: its code and what it takes to run it. Sizes are in bytes."""

    def __init__(self, assembly: Assembly, function: AssembledFunction) -> None:
        self.assembly = assembly
        self.function = function

    @property
    def name(self) -> str:
        """The name as the driver is asked for it."""
        return self.function.name

    @property
    def code(self) -> bytes:
        """The machine code, device functions and padding at its end included."""
        return self.function.code

    @property
    def registers(self) -> int:
        """32-bit registers per thread, those that the architecture reserves included."""
        return self.function.registers

    @property
    def max_registers(self) -> int:
        """What directives or options left as the most registers, 255 where they left all."""
        return self.function.max_registers

    @property
    def max_threads(self) -> tuple[int, int, int] | None:
        """Threads of a block along x, y, z that a launch may not exceed (`.maxntid`)."""
        return self.function.max_threads

    @property
    def required_threads(self) -> tuple[int, int, int] | None:
        """Threads of a block along x, y, z that a launch must have (`.reqntid`)."""
        return self.function.required_threads

    @property
    def barriers(self) -> int:
        """Named barriers that it uses, 0 to 16."""
        return self.function.barriers

    @property
    def stack(self) -> int:
        """Stack per thread with all that the kernel calls, as far as that can be known."""
        return max(self.function.stack_bytes, self.function.frame_bytes)

    @property
    def shared(self) -> int:
        """Static shared memory, without what the architecture reserves; 0 where a linker is to place it."""
        return self.function.shared_bytes

    @property
    def spill_stores(self) -> int | None:
        """Bytes of registers written to the stack for want of registers; None in a cubin that was read."""
        return self.function.spill_stores

    @property
    def spill_loads(self) -> int | None:
        """Bytes of registers read back from the stack; None in a cubin that was read."""
        return self.function.spill_loads

    @property
    def parameters(self) -> list[Parameter]:
        """Offset and size of each parameter, in order."""
        return self.function.parameters

    @property
    def constant(self) -> dict[int, int]:
        """Bytes of the constant banks that are the kernel's own: 0 holds the parameters, 2 literals and tables."""
        size = self.function.parameter_bytes
        banks = {0: parameters_at(self.assembly.target, size) + size} if self.assembly.target in LAYOUTS else {}
        if self.function.constants:
            banks[2] = len(self.function.constants)
        return banks

    def __repr__(self) -> str:
        return f"<Kernel {self.name}: {self.registers} registers, {len(self.code)} bytes of code>"


class Cubin:
    """A cubin, as bytes and as what is in it.

    `kernels` has every kernel by name, `functions` those and the device functions that stand by themselves;
    `assembly` is everything that the file says, `warnings` which directives of the program could not be obeyed.
    """

    def __init__(self, data: bytes, assembly: Assembly) -> None:
        self.data = data
        self.assembly = assembly
        self.kernels = {f.name: Kernel(assembly, f) for f in assembly.functions if f.is_entry}
        self.functions = {f.name: f for f in assembly.functions}
        self.warnings: list[str] = []

    def __bytes__(self) -> bytes:
        return self.data

    @property
    def target(self) -> int:
        """The architecture, 61 to 90."""
        return self.assembly.target

    def disassembly(self, function: str = "", words: bool = False) -> str:
        """The code as `drawloom disasm` prints it: all of it, or the section of one function; `words` adds the
        instruction words in hex. Raises Error for a function that is not there."""
        from drawloom.sass.listing import list_cubin

        return list_cubin(self.data, words, function)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the file, whole or not at all. Raises DataError where it cannot be written."""
        try:
            with whole_file(path) as file:
                file.write(self.data)
        except OSError as failure:
            raise DataError(f"cannot write {path}: {failure.strerror}") from failure

    def __repr__(self) -> str:
        return f"<Cubin for sm_{self.target}, {len(self.data)} bytes: {', '.join(self.kernels) or 'no kernels'}>"

    def report(self) -> str:
        """Registers, stack, spills, shared and constant bytes of every function, as `ptxas -v` prints them."""
        lines = [f"ptxas info    : {_file_memory(self.assembly)}"]
        for function in self.assembly.functions:
            if function.is_entry:
                lines.append(f"ptxas info    : Compiling entry function '{function.name}' for 'sm_{self.target}'")
            stores, loads = function.spill_stores, function.spill_loads
            if stores is not None and loads is not None:
                stores -= sum(part.spill_stores or 0 for part in function.parts)
                loads -= sum(part.spill_loads or 0 for part in function.parts)
            lines += _stack_lines(function.name, function.frame_bytes, stores, loads)
            if function.is_entry:
                lines.append("ptxas info    : " + _resources(self.kernels[function.name]))
            for part in function.parts:
                if "__cuda_" in part.name:
                    continue  # the assembler's own: no function of the program
                lines += _stack_lines(part.name.split("$")[-1], part.frame_bytes, part.spill_stores, part.spill_loads)
        return "\n".join(lines) + "\n"


def write_cubin(assembly: Assembly) -> Cubin:
    """Makes the file. Places the variables that have no place yet; changes nothing else of `assembly`.

    Raises UnsupportedError for a target or layout that there is no cubin for, and Error for a relocation to a
    symbol that is not defined, a variable larger than its place, or two symbols of one name.
    """
    return Cubin(write_assembly(assembly), assembly)


def read_cubin(data: bytes) -> Cubin:
    """Reads a cubin, ours or the vendor's. Raises ElfError, an Error, for anything that is not a whole one."""
    return Cubin(data, read_assembly(data))


def _file_memory(assembly: Assembly) -> str:
    """The file's own memory: variables in global memory, and constant banks 3 and 4."""
    ends = {GLOBAL: 0, CONST: 0}
    sizes = {True: 0, False: 0}  # of global memory with and without initial values
    for v in assembly.variables:
        if v.space == GLOBAL and v.is_defined:
            has_data = bool(v.data or v.relocations)
            sizes[has_data] = max(sizes[has_data], v.offset + v.size)
        elif v.space == CONST and v.is_defined:
            ends[CONST] = max(ends[CONST], v.offset + v.size)
    text = f"{sizes[True] + sizes[False]} bytes gmem"
    if _is_late(assembly):
        return text
    if ends[CONST]:
        text += f", {ends[CONST]} bytes cmem[3]"
    if assembly.address_bytes:
        text += f", {assembly.address_bytes} bytes cmem[4]"
    return text


def _stack_lines(name: str, frame: int, stores: int | None, loads: int | None) -> list[str]:
    text = f"    {frame} bytes stack frame"
    if stores is not None and loads is not None:
        text += f", {stores} bytes spill stores, {loads} bytes spill loads"
    return [f"ptxas info    : Function properties for {name}", text]


def _resources(kernel: Kernel) -> str:
    text = f"Used {kernel.registers} registers, used {kernel.barriers} barriers"
    if kernel.function.stack_bytes:
        text += f", {kernel.function.stack_bytes} bytes cumulative stack size"
    shared = kernel.shared or kernel.function.linked_shared_bytes
    if shared:
        text += f", {shared} bytes smem"
    if not _is_late(kernel.assembly):
        text += "".join(f", {size} bytes cmem[{bank}]" for bank, size in kernel.constant.items())
    return text


def _is_late(assembly: Assembly) -> bool:
    """From sm_90 on ptxas counts no constant banks."""
    layout = LAYOUTS.get(assembly.target)
    return layout is not None and layout.is_late
