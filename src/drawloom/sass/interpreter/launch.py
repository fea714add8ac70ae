"""Runs a kernel of a cubin: builds a step for every instruction, then lets the groups of lanes take turns.

Constant bank 0 is what the driver puts there: shapes, windows, the stack's top, then the parameters; 2 is the
function's own, 3 the module's `.const`, 4 addresses of variables.
"""

from __future__ import annotations

import ctypes
import sys
from collections import deque
from typing import Final, TextIO

import numpy as np

from drawloom.errors import DeadlockError, KernelFault, LaunchError, MemoryAccessError, UnsupportedError
from drawloom.sass.assembly import CONST, GLOBAL, AssembledFunction, Relocation
from drawloom.sass.control import CONTROL_MASK
from drawloom.sass.cubin import Cubin
from drawloom.sass.cubin_layout import LAYOUTS, parameters_at
from drawloom.sass.decoder import decode, section_words
from drawloom.sass.encoding import GROUP, address_of
from drawloom.sass.form import IsaError
from drawloom.sass.interpreter import (
    atomics,
    comparisons,
    control,
    conversions,
    external,
    floats,
    halves,
    integers,
    loads_stores,
    logic,
    pascal_control,
    pascal_integers,
    pascal_logic,
    warps,
)
from drawloom.sass.interpreter.basics import AccessFault, Fault, Row
from drawloom.sass.interpreter.memory import LOCAL_WINDOW, SHARED_WINDOW, GlobalMemory, Region, bytes_at
from drawloom.sass.interpreter.operation import Builder, Operation, guarded
from drawloom.sass.interpreter.state import PARTED, RUNS, Block, Group, Step, Warp
from drawloom.sass.isa import load_target

BUILDERS: Final[dict[str, Builder]] = {
    **integers.BUILDERS, **logic.BUILDERS, **comparisons.BUILDERS, **floats.BUILDERS, **halves.BUILDERS,
    **conversions.BUILDERS, **loads_stores.BUILDERS, **atomics.BUILDERS, **warps.BUILDERS, **external.BUILDERS,
}  # fmt: skip
PASCAL: Final[dict[str, Builder]] = {**BUILDERS, **pascal_integers.BUILDERS, **pascal_logic.BUILDERS}
#: Steps that no launch is part of, by target and word without control bits; when there are `MOST_STEPS` of them all
#: are forgotten.
_steps: Final[dict[tuple[int, int], Step]] = {}
MOST_STEPS: Final = 1 << 14
#: Instructions after which a group gives way to another when it next jumps.
GROUP_SLICE: Final = 8
REVERSE_SLICE: Final = 3
#: Rounds through its groups that a block may take before the next block has its turn.
BLOCK_SLICE: Final = 64
#: Local memory of a lane, in bytes; the stack grows down from its end.
STACK_TOP: Final = 1 << 14

#: Places in constant bank 0, by target: the block's shape with the grid's behind it, the words of the addresses of the
#: shared and the local window, the stack's top, the address of bank 3. The descriptor of global memory is 0: nothing
#: depends on it here. Read off what ptxas uses.
_LATER: Final = {"shape": 0, "local": 0x20, "local high": 0x24, "stack": 0x28, "const": 0x50}
PLACES: Final[dict[int, dict[str, int]]] = {
    61: {
        "shape": 8, "shared": 0, "shared high": 0x100, "local": 4, "local high": 0x104, "stack": 0x20, "const": 0xD0,
    },
    **{target: {**_LATER, "shared": 0x18, "shared high": 0x1C} for target in (75, 80, 86, 89)},
    90: {**_LATER, "const": 0xD0},
}  # fmt: skip
MULTIPROCESSORS: Final = 0x10C
#: sm_90: a cluster's shape (its reciprocals, as singles, behind it), that of the grid in clusters, a cluster's blocks.
CLUSTER_BLOCKS: Final = 0x144
CLUSTERS: Final = 0x15C
CLUSTER_SIZE: Final = 0x188
#: What relocations put into variables: (first bit of the address, bytes); with G in their name, of the generic one.
DATA_FIELDS: Final = {"64": (0, 8), "32": (0, 4), **{f"8_{shift}": (shift, 1) for shift in range(0, 64, 8)}}
#: Of relocations in instructions: the fields, as the bit of the address that they begin with, their place and size.
INSTRUCTION_FIELDS: Final[dict[str, list[tuple[int, int, int]]]] = {
    "R_CUDA_ABS32_LO_32": [(0, 32, 32)], "R_CUDA_ABS32_HI_32": [(32, 32, 32)], "R_CUDA_ABS32_32": [(0, 32, 32)],
    "R_CUDA_ABS32_20": [(0, 20, 32)], "R_CUDA_ABS47_34": [(2, 34, 47)],
    "R_CUDA_ABS55_16_34": [(2, 16, 8), (10, 34, 47)],
}  # fmt: skip


def run(
    cubin: Cubin,
    kernel: str,
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    params: bytes,
    *,
    shared_bytes: int = 0,
    buffers: list[tuple[int, int]] | None = None,
    stdout: TextIO | None = None,
    max_steps: int | None = None,
    reverse: bool = False,
) -> None:
    """Run `kernel` of `cubin` over `grid` blocks of `block` threads, each (x, y, z).

    `params` is the parameter block as the kernel declares it. Global memory is this process's own: `buffers` are the
    (address, bytes) ranges that the kernel may touch; the module's variables are made anew for the launch.
    `shared_bytes` is dynamic shared memory. `vprintf` writes to `stdout` (default: `sys.stdout`). `max_steps` bounds
    the instructions that warps execute. `reverse` is a
    second schedule: later warps first, short turns, other contents of what was never written.

    Raises LaunchError for a wrong launch, UnsupportedError for an instruction that the interpreter does not have,
    KernelFault for what machine code must not do, MemoryAccessError for accesses out of bounds or misaligned,
    DeadlockError where nothing can run on or `max_steps` did not end it.
    """
    if kernel not in cubin.kernels:
        raise LaunchError(f"the cubin has no such kernel; it has: {', '.join(cubin.kernels) or 'none'}", kernel)
    if cubin.target not in PLACES:
        raise UnsupportedError(f"the interpreter of machine code does not have sm_{cubin.target}")
    function = cubin.functions[kernel]
    if min(grid) < 1 or min(block) < 1 or block[0] * block[1] * block[2] > 1024:
        raise LaunchError(f"grid {grid} of blocks {block}: 1 to 1024 threads per block", kernel)
    if len(params) != function.parameter_bytes:
        raise LaunchError(f"the parameters have {len(params)} bytes, {function.parameter_bytes} expected", kernel)
    launch = Launch(cubin, function, grid, block, params, shared_bytes, buffers or [], stdout)
    machine = Machine(launch, max_steps, reverse)
    try:
        machine.run()
    finally:
        machine.steps.clear()  # those that were never made hold the list itself


class Launch:
    """One launch: code, constant banks, memory. `instruction_count` counts the whole section."""

    def __init__(
        self,
        cubin: Cubin,
        function: AssembledFunction,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        params: bytes,
        shared_bytes: int,
        buffers: list[tuple[int, int]],
        stdout: TextIO | None = None,
    ) -> None:
        self.cubin = cubin
        self.function = function
        self.grid = grid
        self.block = block
        self.target = load_target(cubin.target)
        #: The kernel's section and those of device functions behind it, and where each begins.
        self.sections = [function, *[f for f in cubin.assembly.functions if not f.is_entry]]
        self.begins = {f.name: sum([len(g.code) for g in self.sections[:n]]) for n, f in enumerate(self.sections)}
        whole = b"".join([f.code for f in self.sections])
        addresses = [address for address, _, _ in section_words(self.target, whole)]
        #: Which instruction stands at an address; on sm_61 a label may name the control word before it.
        self.places = {address: n for n, address in enumerate(addresses)}
        if not self.target.wide:
            self.places.update({address - 8: n for n, address in enumerate(addresses) if n % GROUP == 0})
        self.reverse = False
        self.stack_top = STACK_TOP
        self.time = 0
        self.reserved = LAYOUTS[cubin.target].shared_reserved
        self.shared_size = self.reserved + function.shared_bytes + shared_bytes + 15 & -16
        self._variables = _memory_of(cubin, GLOBAL)
        self._constants = _memory_of(cubin, CONST)
        self.write = (sys.stdout if stdout is None else stdout).write
        self.memory = GlobalMemory([*buffers, self._variables.range, self._constants.range])
        self._fill_variables()
        self._banks = {
            0: self._parameters(params),
            2: _bank(function.constants),
            3: _bank(self._constants.bytes()),
            4: _bank(self._addresses()),
        }
        if function.constant_relocations:
            raise UnsupportedError("the interpreter of machine code does not relocate constant bank 2")
        self.code = self._code()

    def _parameters(self, params: bytes) -> Region:
        """Constant bank 0."""
        start = parameters_at(self.cubin.target, len(params))
        data = bytearray(start + len(params) + 3 & -4)  # banks are whole words: a last byte may be read as one
        places = PLACES[self.cubin.target]

        def put(at: int, value: int, size: int = 4) -> None:
            data[at : at + size] = value.to_bytes(size, "little")

        for n in range(3):
            put(places["shape"] + 4 * n, self.block[n])
            put(places["shape"] + 12 + 4 * n, self.grid[n])
        for name, window in (("shared", SHARED_WINDOW), ("local", LOCAL_WINDOW)):
            if name in places:
                put(places[name], window & 0xFFFFFFFF)
                put(places[name + " high"], window >> 32)
        put(places["stack"], self.stack_top)
        put(places["const"], self._constants.range[0], 8)
        put(MULTIPROCESSORS, 1)
        if self.cubin.target >= 90:  # clusters of one block
            for n in range(3):
                put(CLUSTER_BLOCKS + 4 * n, 1)
                put(CLUSTER_BLOCKS + 12 + 4 * n, 0x3F800000)
                put(CLUSTERS + 4 * n, self.grid[n])
            put(CLUSTER_SIZE, 1)
        data[start : start + len(params)] = params
        return _bank(bytes(data))

    def _fill_variables(self) -> None:
        for variable in self.cubin.assembly.variables:
            if variable.space not in (GLOBAL, CONST) or not variable.is_defined:
                continue
            store = self._variables if variable.space == GLOBAL else self._constants
            at = store.places[variable.name]
            store.data[at : at + len(variable.data)] = np.frombuffer(variable.data, np.uint8)
            for relocation in variable.relocations:
                self._relocate(store.data[at:], relocation)

    def _relocate(self, data: Row, relocation: Relocation) -> None:
        kind = relocation.kind.removeprefix("R_CUDA_")
        if kind.removeprefix("G") not in DATA_FIELDS:
            raise UnsupportedError(f"the interpreter of machine code does not have the relocation {relocation.kind}")
        shift, size = DATA_FIELDS[kind.removeprefix("G")]
        value = self.address(relocation.symbol) + relocation.addend
        if kind.startswith("G") and relocation.symbol in self._constants.places:
            value += self._constants.range[0]
        value = value >> shift & (1 << 8 * size) - 1
        data[relocation.offset : relocation.offset + size] = np.frombuffer(value.to_bytes(size, "little"), np.uint8)

    def address(self, symbol: str) -> int:
        """The address of a variable (of a `.const` one, its place in bank 3) or of a function."""
        if symbol in self.begins:
            return external.CODE + self.begins[symbol]
        if symbol in self._variables.places:
            return self._variables.range[0] + self._variables.places[symbol]
        if symbol in self._constants.places:
            return self._constants.places[symbol]
        if symbol in external.EXTERNAL:
            return external.address_of_function(symbol)
        raise UnsupportedError(f"the interpreter of machine code cannot take the address of {symbol}")

    def _addresses(self) -> bytes:
        data = np.zeros(self.cubin.assembly.address_bytes, np.uint8)
        for relocation in self.cubin.assembly.addresses:
            self._relocate(data, relocation)
        return data.tobytes()

    def _code(self) -> bytes:
        """The sections with their relocations applied."""
        return b"".join([self._relocated(function) for function in self.sections])

    def _relocated(self, function: AssembledFunction) -> bytes:
        code = bytearray(function.code)
        for relocation in function.relocations:
            if relocation.kind not in INSTRUCTION_FIELDS:
                raise UnsupportedError(f"the interpreter of machine code does not have {relocation.kind}")
            value = self.address(relocation.symbol) + relocation.addend
            place = slice(relocation.offset, relocation.offset + 16)
            word = int.from_bytes(code[place], "little")
            for first, at, bits in INSTRUCTION_FIELDS[relocation.kind]:
                word = word & ~((1 << bits) - 1 << at) | (value >> first & (1 << bits) - 1) << at
            code[place] = word.to_bytes(16, "little")
        return bytes(code)

    def bank(self, number: int) -> Region:
        """A constant bank."""
        if number not in self._banks:
            raise UnsupportedError(f"the interpreter of machine code does not have constant bank {number}")
        return self._banks[number]

    def constant(self, number: int, offset: int, size: int) -> int:
        """`size` bytes of a constant bank."""
        region = self.bank(number)
        if offset % size or offset < 0 or offset + size > region.end:
            raise AccessFault(f"access outside of constant bank {number}: {size} bytes", offset, size)
        return int.from_bytes(region.views[1][offset : offset + size].tobytes(), "little")

    def steps(self) -> list[Step]:
        """A step for each instruction, made when it is first executed: much of a section never is."""
        steps: list[Step] = []
        for place, (_, word, bits) in enumerate(section_words(self.target, self.code)):
            known = _steps.get(self._key(word))
            steps.append(known if known is not None else self._first_step(steps, place, word, bits))
        return steps

    def _key(self, word: int) -> tuple[int, int]:
        return self.target.number, word & ~(CONTROL_MASK << 105) if self.target.wide else word

    def _first_step(self, steps: list[Step], place: int, word: int, bits: int) -> Step:
        def run(w: Warp, m: Row) -> int | None:
            steps[place] = self._step(place, word, bits)
            return steps[place](w, m)

        return run

    def _step(self, place: int, word: int, bits: int) -> Step:
        """The step of an instruction; one that no launch is part of is kept."""
        try:
            operation = Operation(self, decode(self.target, word, bits), place)
        except IsaError as error:
            raise UnsupportedError(str(error)) from None
        try:
            flow, others = (control.BUILDERS, BUILDERS) if self.target.wide else (pascal_control.BUILDERS, PASCAL)
            if operation.base in ("CALL", "RET") and operation.has("ABS"):
                return external.go_absolute(operation)
            if operation.base in flow:
                return flow[operation.base](operation)
            if operation.base not in others:
                raise operation.unsupported()
            step = guarded(operation, others[operation.base](operation))
        except (UnsupportedError, Fault) as error:
            return guarded(operation, _refusal(error))
        if not operation.is_bound:
            if len(_steps) == MOST_STEPS:
                _steps.clear()
            operation.leave_launch()
            _steps[self._key(word)] = step
        return step


def _refusal(error: Exception) -> Step:
    """What cannot be built fails when a guard lets it execute."""

    def refuse(w: Warp, m: Row) -> None:
        raise error

    return refuse


class _Variables:
    """Memory for the variables of one space. `places` are their offsets."""

    def __init__(self, size: int) -> None:
        self._buffer = ctypes.create_string_buffer(size + 512)
        start = ctypes.addressof(self._buffer) + 255 & -256
        self.range = start, size
        self.data: Row = bytes_at(start, max(size, 1))
        self.places: dict[str, int] = {}

    def bytes(self) -> bytes:
        return self.data[: self.range[1]].tobytes()


def _memory_of(cubin: Cubin, space: str) -> _Variables:
    """Of global ones, those with initial values stand behind those without: in files they are two sections."""
    found = [v for v in cubin.assembly.variables if v.space == space and v.is_defined]
    ends = [0, 0]
    for v in found:
        ends[bool(v.data or v.relocations)] = max(ends[bool(v.data or v.relocations)], v.offset + v.size)
    second = ends[0] + 255 & -256 if space == GLOBAL else 0
    made = _Variables(max(ends[0], second + ends[1]))
    for v in found:
        made.places[v.name] = v.offset + (second if v.data or v.relocations else 0)
    return made


def _bank(data: bytes) -> Region:
    padded = data + bytes(-len(data) % 16)
    return Region(0, len(data), np.frombuffer(padded, np.uint8), "constant")


class Machine:
    """Runs one launch to its end."""

    def __init__(self, launch: Launch, max_steps: int | None, reverse: bool) -> None:
        self.launch = launch
        self.reverse = reverse
        self.slice = REVERSE_SLICE if reverse else GROUP_SLICE
        launch.reverse = reverse
        self.left = max_steps if max_steps is not None else sys.maxsize
        self.steps = launch.steps()

    def run(self) -> None:
        """Blocks begin in order. One that does not end in its turn goes behind those that have begun, and one more
        begins."""
        width, height, depth = self.launch.grid
        total = width * height * depth
        begun: deque[Block] = deque()
        following = 0
        with np.errstate(all="ignore"):
            while begun or following < total:
                if following < total:
                    place = following % width, following // width % height, following // (width * height)
                    begun.appendleft(Block(self.launch, place, 0x5EED + 2 * following + self.reverse))
                    following += 1
                for _ in range(len(begun)):
                    block = begun.popleft()
                    if not self._run_block(block):
                        begun.append(block)
                    elif following < total:
                        break

    def _run_block(self, block: Block) -> bool:
        """Whether all have exited after one turn."""
        for _ in range(BLOCK_SLICE):
            ran = False
            for warp in reversed(block.warps) if self.reverse else block.warps:
                for group in list(reversed(warp.groups) if self.reverse else warp.groups):
                    if group.state == RUNS and group in warp.groups:
                        ran = True
                        self._run_group(warp, group)
                ran = warp.settle() or ran
            if not any(warp.groups for warp in block.warps):
                block.warps.clear()  # they hold their block
                return True
            ran = block.settle() or ran
            if not ran:
                raise self._deadlock(block)
        return False

    def _run_group(self, warp: Warp, group: Group) -> None:
        """One turn. It ends at a jump: between two instructions in a row another group of the warp would change the
        uniform registers, which all lanes share and which ptxas uses where lanes have parted."""
        steps = self.steps
        warp.running = group
        pc = group.pc
        done = 0
        try:
            while True:
                done += 1
                following = steps[pc](warp, group.lanes)
                if following is None:
                    pc += 1
                elif following == PARTED:
                    break
                else:
                    pc = following
                    if done >= self.slice:
                        group.pc = pc
                        break
        except Fault as problem:
            raise self._report(warp, group, pc, problem) from None
        except IndexError:
            raise self._fault(KernelFault, "control runs off the end of the code", warp, group, pc) from None
        self.launch.time += done
        self.left -= done
        if self.left <= 0:
            raise self._fault(DeadlockError, "the kernel has not ended within its steps", warp, group, pc)

    def _report(self, warp: Warp, group: Group, pc: int, problem: Fault) -> KernelFault:
        if isinstance(problem, AccessFault):
            error = self._fault(MemoryAccessError, str(problem), warp, group, pc)
            assert isinstance(error, MemoryAccessError)
            error.address, error.size = problem.address, problem.size
            return error
        return self._fault(KernelFault, str(problem), warp, group, pc)

    def _fault(self, kind: type[KernelFault], message: str, warp: Warp, group: Group, pc: int) -> KernelFault:
        block = warp.block
        lane = (group.mask & -group.mask).bit_length() - 1 if group.mask else 0
        where = f"\n  at 0x{self._address(pc):x}: {self._text(pc)}"
        return kind(
            message + where, self.launch.function.name, block=block.ctaid, thread=block.thread(warp.index, lane)
        )

    def _address(self, pc: int) -> int:
        return address_of(self.launch.target, pc)

    def _text(self, pc: int) -> str:
        for address, word, bits in section_words(self.launch.target, self.launch.code):
            if address == self._address(pc):
                try:
                    return decode(self.launch.target, word, bits).text(address)
                except IsaError as error:
                    return str(error)
        return "nothing"

    def _deadlock(self, block: Block) -> KernelFault:
        waiting = [(warp, group) for warp in block.warps for group in warp.groups]
        parts = [f"lanes 0x{g.mask:x} of warp {w.index} {g.state} before 0x{self._address(g.pc):x}" for w, g in waiting]
        warp, group = waiting[0]
        return self._fault(DeadlockError, "deadlock: " + ", ".join(parts), warp, group, max(group.pc - 1, 0))
