"""The scheduler: runs a kernel's threads one at a time, in slices, and says where a thread did something wrong.

Threads of a block take turns in order of their index; blocks run in order of theirs. A block whose turn does not end
it lets the next one begin, so that blocks may wait for each other. Everything is deterministic.
"""

from __future__ import annotations

import sys
from collections import deque
from typing import Final, Protocol

from drawloom.errors import DeadlockError, KernelFault, LaunchError, MemoryAccessError, RaceError
from drawloom.ptx.ir import Function, Instruction, Module
from drawloom.ptx.layout import param_layout
from drawloom.reference.decode import Launch
from drawloom.reference.memory import AccessFault, Fault, GlobalMemory, RaceFault
from drawloom.reference.races import UnorderedAccess
from drawloom.reference.threads import CONVERGING, DONE, EXITED, FRAME, RUNNABLE, WAITING, Block, Thread

#: Steps that a thread may take before the next thread has its turn.
THREAD_SLICE: Final = 256
REVERSE_SLICE: Final = 17
#: Rounds through its threads that a block may take before the next block has its turn.
BLOCK_SLICE: Final = 64
_MAX_THREADS: Final = 1024


class TextOutput(Protocol):
    """Where ``vprintf`` writes."""

    def write(self, text: str, /) -> object: ...


def run(
    module: Module,
    kernel: str,
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    params: bytes,
    *,
    shared_bytes: int = 0,
    image_base: int = 0,
    buffers: list[tuple[int, int]] | None = None,
    stdout: TextOutput | None = None,
    max_steps: int | None = None,
    reverse: bool = False,
    shared_fill: int = 0,
) -> int:
    """Run ``kernel`` of ``module`` over ``grid`` blocks of ``block`` threads, each ``(x, y, z)``. Returns how many
    instructions the threads executed, all together.

    ``params`` is the parameter block as ``ptx.layout.param_layout`` lays it out. Global memory is this process's own:
    ``buffers`` are the ``(address, bytes)`` ranges that the kernel may touch, the image of the module's variables at
    ``image_base`` (``GlobalsLayout.build``) among them. ``shared_bytes`` is dynamic shared memory. ``vprintf``
    writes to ``stdout`` (default: ``sys.stdout``).

    ``reverse`` is a second schedule: the last thread of a block runs first, and turns are short. A program whose
    result differs between the two depends on the order of its threads. ``shared_fill`` is what bytes of shared memory
    are before a thread writes them, which GPUs leave open: a program whose result it changes reads what nobody wrote.

    Raises LaunchError for a wrong launch, KernelFault for ``trap``, failed assertions, reads of uninitialised
    registers and misused barriers, MemoryAccessError for accesses out of bounds or misaligned, RaceError for data
    races in shared memory, DeadlockError when no thread can run on or ``max_steps`` instructions did not end it.
    """
    function = module.functions.get(kernel)
    if function is None or not function.is_entry or not function.has_body:
        names = ", ".join([f.name for f in module.kernels]) or "none"
        raise LaunchError(f"the module has no such kernel; it has: {names}", kernel)
    _check_launch(function, grid, block, params)
    write = (sys.stdout if stdout is None else stdout).write
    memory = GlobalMemory(buffers or [])
    launch = Launch(module, function, grid, block, params, shared_bytes, image_base, memory, write)
    launch.shared_fill = shared_fill
    steps = max_steps if max_steps is not None else sys.maxsize
    machine = Machine(launch, steps, reverse)
    machine.run()
    return steps - machine.steps_left


def _check_launch(function: Function, grid: tuple[int, int, int], block: tuple[int, int, int], params: bytes) -> None:
    threads = block[0] * block[1] * block[2]
    if min(grid) < 1 or min(block) < 1 or threads > _MAX_THREADS:
        raise LaunchError(f"grid {grid} of blocks {block}: 1 to {_MAX_THREADS} threads per block", function.name)
    size = param_layout(function)[1]
    if len(params) != size:
        raise LaunchError(f"the parameter block has {len(params)} bytes; the kernel takes {size}", function.name)


class Machine:
    """Runs one launch to its end."""

    def __init__(self, launch: Launch, max_steps: int, reverse: bool) -> None:
        self.launch = launch
        self.reverse = reverse
        self.slice = REVERSE_SLICE if reverse else THREAD_SLICE
        self.steps_left = max_steps

    def run(self) -> None:
        """Blocks begin in order. One that does not end in its turn goes behind those that have begun, and one more
        begins."""
        width, height, depth = self.launch.grid
        total = width * height * depth
        begun: deque[Block] = deque()
        next_index = 0
        while begun or next_index < total:
            if next_index < total:
                index = next_index
                next_index += 1
                ctaid = (index % width, index // width % height, index // (width * height))
                begun.appendleft(Block(self.launch, ctaid))
            idle = 0
            for _ in range(len(begun)):
                block = begun.popleft()
                moved, ended = self._run_block(block)
                if not ended:
                    begun.append(block)
                    idle += 0 if moved else 1
                elif next_index < total:
                    break
            if begun and idle == len(begun) and next_index >= total:
                self._deadlock(begun[0])

    def _run_block(self, block: Block) -> tuple[bool, bool]:
        """``(whether any thread ran, whether all have exited)`` after one turn."""
        moved = False
        for _ in range(BLOCK_SLICE):
            ran = False
            alive = 0
            for thread in reversed(block.threads) if self.reverse else block.threads:
                if thread.state == RUNNABLE:
                    ran = True
                    self._run_thread(thread)
                if thread.state != EXITED:
                    alive += 1
            if alive == 0:
                return True, True
            for warp in block.warps:
                ran = warp.settle() or ran
            if not ran:
                # Blocked for good: nobody outside of a block completes its barriers or warp operations.
                self._deadlock(block)
            moved = True
        return moved, False

    def _run_thread(self, thread: Thread) -> None:
        frame = thread.frames[-1]
        registers = frame.registers
        handlers = frame.code.handlers
        pc = frame.pc
        limit = min(self.slice, self.steps_left)
        left = limit
        try:
            while left:
                left -= 1
                following = handlers[pc](registers, thread)
                if following is None:
                    pc += 1
                elif following >= 0:
                    pc = following
                elif following == FRAME:
                    frame.pc = pc + 1
                    frame = thread.frames[-1]
                    registers = frame.registers
                    handlers = frame.code.handlers
                    pc = frame.pc
                elif following == DONE:
                    thread.block.leave(thread)
                    break
                else:
                    # A thread that waits, or whose slice is over, goes on behind this instruction.
                    pc += 1
                    break
        except (Fault, TypeError) as problem:
            raise self._report(thread, frame.code.instructions, pc, registers, problem) from None
        frame.pc = pc
        used = limit - left
        self.launch.time += used
        self.steps_left -= used
        if self.steps_left <= 0:
            raise self._fault(DeadlockError, "the kernel has not ended within the steps it was given", thread, pc)

    # Reports.

    def _report(
        self, thread: Thread, instructions: list[Instruction], pc: int, registers: list[int | None], problem: Exception
    ) -> Exception:
        instruction = instructions[pc] if pc < len(instructions) else None
        if isinstance(problem, TypeError):
            return self._uninitialised(thread, instruction, registers, problem)
        if isinstance(problem, AccessFault):
            error = self._fault(MemoryAccessError, str(problem), thread, pc, instruction)
            assert isinstance(error, MemoryAccessError)
            error.address, error.size = problem.address, problem.size
            return error
        if isinstance(problem, UnorderedAccess):
            other = thread.block.threads[problem.thread].tid
            line = self.launch.module.line(problem.where)
            message = f"{problem} thread {other} has {problem.then} it at line {line}, unordered by any barrier"
            return self._fault(RaceError, message, thread, pc, instruction)
        kind = RaceError if isinstance(problem, RaceFault) else KernelFault
        return self._fault(kind, str(problem), thread, pc, instruction)

    def _uninitialised(
        self, thread: Thread, instruction: Instruction | None, registers: list[int | None], problem: TypeError
    ) -> Exception:
        """A TypeError is an undefined value that met arithmetic; anything else is a defect here."""
        if instruction is not None:
            name = _undefined(instruction, registers)
            if name:
                return self._fault(KernelFault, f"register {name} is read before it is written", thread, 0, instruction)
            if instruction.opcode.reads_carry and thread.carry is None:
                return self._fault(KernelFault, "the carry flag is read before it is written", thread, 0, instruction)
            for warp_thread in thread.warp.threads:
                if warp_thread.waits_at is instruction and warp_thread.frames:
                    name = _undefined(instruction, warp_thread.frames[-1].registers)
                    if name:
                        message = f"register {name} is read before it is written"
                        return self._fault(KernelFault, message, warp_thread, 0, instruction)
        return problem

    def _fault(
        self, kind: type[KernelFault], message: str, thread: Thread, pc: int, instruction: Instruction | None = None
    ) -> KernelFault:
        module = self.launch.module
        if instruction is None and thread.frames:
            instructions = thread.frames[-1].code.instructions
            instruction = instructions[pc] if pc < len(instructions) else None
        line = 0 if instruction is None else module.line(instruction)
        return kind(
            message, self.launch.kernel.name, module.filename, line, module.source_line(line), thread.block.ctaid,
            thread.tid,
        )  # fmt: skip

    def _deadlock(self, block: Block) -> None:
        """Raise for threads that all wait: the first of them, and how many wait where."""
        waiting = [t for t in block.threads if t.state in (WAITING, CONVERGING)]
        places: dict[int, list[Thread]] = {}
        for thread in waiting:
            places.setdefault(id(thread.waits_at), []).append(thread)
        parts: list[str] = []
        for threads in places.values():
            where = threads[0].waits_at
            assert where is not None
            line = self.launch.module.line(where)
            parts.append(f"{len(threads)} at line {line} ({where!r})")
        exited = len(block.threads) - len(waiting)
        parts += [f"{exited} have exited"] if exited else []
        message = "deadlock: no thread of the block can run on: " + ", ".join(parts)
        first = waiting[0]
        raise self._fault(DeadlockError, message, first, 0, first.waits_at)


def _undefined(instruction: Instruction, registers: list[int | None]) -> str:
    """The name of a source register that was never written; "" when all were. What an instruction only copies
    (the value of ``shfl``, those of ``selp``) is named last."""
    sources = [s for s in instruction.sources() if registers[s.id] is None]
    if not sources:
        return ""
    copied = {"shfl": instruction.operands[1:2], "selp": instruction.operands[1:3]}.get(instruction.name, [])
    strict = [s for s in sources if s not in copied]
    return (strict or sources)[0].name
