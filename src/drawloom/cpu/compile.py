"""One kernel and the functions it may call, from PTX to the LLVM IR of a whole program with its scheduler."""

from __future__ import annotations

from drawloom.cpu import abi
from drawloom.cpu.body import NeedsLanes, NeedsWarps, Place
from drawloom.cpu.calls import symbol_of
from drawloom.cpu.emitter import Emitter
from drawloom.cpu.gangs import suited_layout
from drawloom.cpu.inline import inline_stopping
from drawloom.cpu.lane_operations import LaneOperations
from drawloom.cpu.layouts import GANGS, GENERAL, Layout, at_once, block_of, gang, layout_of, warps
from drawloom.cpu.lower import FunctionLowering, Lowered
from drawloom.cpu.parting import Threads
from drawloom.cpu.rows import rows_are_alike
from drawloom.cpu.scheduler import straight
from drawloom.errors import UnsupportedError
from drawloom.ptx.asynchronous import synchronous
from drawloom.ptx.ir import Function, Instruction, Module
from drawloom.ptx.isa import WARP
from drawloom.ptx.layout import GlobalsLayout, has_dynamic_stack, reachable_functions, shared_layout


class KernelCode:
    """LLVM IR of a kernel and what a launch must provide.

    ``frame_bytes``: kept per warp between barriers; ``local_bytes``: ``.local`` memory per thread;
    ``thread_bytes``: the state of each thread of a warp that parts, 0 where none does;
    ``shared_bytes``: static shared memory; ``lanes``: of a unit that runs at once, 32 where it is a warp, 1 when the
    kernel runs lane by lane;
    ``gang``: no unit has threads of two rows;
    ``alike``: all rows of a block do the same, so the first does it for them;
    ``symbols``: what the object code defines: ``dl_worker``, or ``kernel`` (and ``dl_resolve``) for one that stops.
    """

    def __init__(
        self, name: str, text: str, lowered: Lowered, shared_bytes: int, lanes: int, symbols: list[str], alike: bool,
        gang: bool,
    ) -> None:  # fmt: skip
        self.name = name
        self.text = text
        self.frame_bytes = lowered.frame_bytes
        self.local_bytes = lowered.local_bytes
        self.thread_bytes = lowered.state_bytes
        self.shared_bytes = shared_bytes
        self.resumable = lowered.suspends
        self.spins = lowered.spins
        self.lanes = lanes
        self.symbols = symbols
        self.alike = alike
        self.gang = gang


def compile_kernel(
    module: Module,
    kernel: str,
    layout: str,
    check: bool,
    features: frozenset[str],
    x86: bool = True,
    by_lane: bool = False,
    always_at_once: bool = False,
) -> KernelCode:
    """The LLVM IR of ``kernel`` for blocks of the given ``layout`` (see ``layouts``).

    Raises ``UnsupportedError`` for what the cpu device lacks. A kernel whose blocks cannot run at once is compiled
    warp by warp, one whose warps cannot run in lock step lane by lane.
    """
    module = synchronous(module)
    function = module.functions.get(kernel)
    if function is None or not function.has_body:
        raise UnsupportedError(f"kernel '{kernel}' is not defined in this module")
    machine = (check, features, x86)
    block = block_of(layout)
    if block is not None:
        try:
            return _compile(module, function, at_once(block, always_at_once), warps(layout_of(block), 0), *machine)
        except (NeedsWarps, NeedsLanes):
            layout = suited_layout(module, function, block, features)
    if layout in GANGS:
        try:
            return _compile(module, function, gang(layout), warps(GENERAL, 0), *machine)
        except NeedsLanes:
            layout = GENERAL
            by_lane = True
    threads = warps(layout, 0)
    if not by_lane:
        try:
            return _compile(module, function, warps(layout, abi.WARP), threads, *machine)
        except NeedsLanes:
            pass
    return _compile(module, function, threads, threads, *machine)


def _compile(
    module: Module,
    function: Function,
    layout: Layout,
    threads: Layout,
    check: bool,
    features: frozenset[str],
    x86: bool,
) -> KernelCode:
    """The code of a kernel for ``layout``; where its warps may part, also for ``threads``, that of single ones."""
    lanes = layout.lanes
    program = _Program(module, function, check, features)
    kernel = inline_stopping(module, function, lanes)
    lowering = program.lowering(kernel, layout)
    if lanes and (lowering.absences() or program.functions_meet(kernel)):
        # Only a kernel can wait for members: what functions have of such operations becomes part of it.
        whole = program.inlined()
        if whole is not None:
            kernel = whole
            lowering = program.lowering(kernel, layout)
            absences = lowering.absences()
            if absences and program.has_stack(kernel):
                raise NeedsLanes("warps may part, and have stacks")
            if absences:
                lowering.part_into(program.threads(kernel, lowering.places(absences), threads))
    lowered = program.lower(kernel, lowering, layout, "kernel")
    return program.code(lowered, layout)


class _Program:
    """The LLVM IR of one kernel and the functions that it may call."""

    def __init__(self, module: Module, function: Function, check: bool, features: frozenset[str]) -> None:
        self.module = module
        self.function = function
        self.check = check
        self.emitter = Emitter(features)
        self.image = GlobalsLayout(module)
        self.operations = LaneOperations()

    def inlined(self) -> Function | None:
        """The kernel with all functions that have warp operations; None where one can be no part of it."""
        try:
            return inline_stopping(self.module, self.function, 0)
        except UnsupportedError:
            return None

    def functions(self, kernel: Function) -> list[Function]:
        """The kernel and what it may call."""
        return [called for called in reachable_functions(self.module, kernel) if called.has_body]

    def functions_meet(self, kernel: Function) -> bool:
        """Whether a function that the kernel may call has warp operations that name their members."""
        return any(
            isinstance(statement, Instruction) and statement.opcode.effect == WARP and statement.opcode.sync
            for called in self.functions(kernel)
            if called is not kernel
            for statement in called.body
        )

    def has_stack(self, kernel: Function) -> bool:
        return any(has_dynamic_stack(called) for called in self.functions(kernel))

    def lowering(self, kernel: Function, layout: Layout, called: Function | None = None) -> FunctionLowering:
        """What lowers the kernel, or a function that it may call."""
        one = called if called is not None else kernel
        lowering = FunctionLowering(
            self.module, one, self.emitter, layout, self.check, self.image, self.operations, self.has_stack(kernel)
        )
        lowering.f.shared_offsets = shared_layout(self.module, one if one is not kernel else self.function)[0]
        return lowering

    def lower(self, kernel: Function, lowering: FunctionLowering, layout: Layout, name: str) -> Lowered:
        """The text of the kernel, under this name, and of what it may call."""
        lowered = lowering.lower(name)
        for called in self.functions(kernel):
            if called is not kernel:
                self.lowering(kernel, layout, called).lower(symbol_of(called.name, layout.lanes))
        return lowered

    def threads(self, kernel: Function, places: set[Place], layout: Layout) -> Threads:
        """The text of the kernel for single threads, which lanes enter at ``places``."""
        lowering = self.lowering(kernel, layout)
        lowering.entries = places
        self.lower(kernel, lowering, layout, "kernel.thread")
        return Threads(lowering.suspension)

    def code(self, lowered: Lowered, layout: Layout) -> KernelCode:
        lanes = layout.lanes
        emitter = self.emitter
        operations = self.operations
        runtime = lowered.runtime
        if operations.opcodes:
            runtime += operations.text(emitter, not lanes)
        if not lowered.suspends:
            runtime += straight()
        lines = runtime.splitlines()
        declared = {line.split("@", 1)[1].split("(", 1)[0] for line in lines if line.startswith("declare")}
        text = "\n".join(
            [
                *emitter.lines,
                *[line for lines in emitter.functions.values() for line in lines],
                runtime,
                *[d for name, d in sorted(emitter.declarations.items()) if name not in declared],
                # A frame touches each of its pages, so that one past the stack meets the guard page, not another's
                # stack.
                'attributes #0 = { nounwind alignstack=64 null_pointer_is_valid "probe-stack"="inline-asm" }',
                "attributes #2 = { nounwind noinline null_pointer_is_valid }",
                'attributes #1 = { nounwind cold noinline null_pointer_is_valid "no-builtins" }',
                "!0 = !{}",
                '!1 = !{!"branch_weights", i32 2000, i32 1}',
            ]
        )
        shared = shared_layout(self.module, self.function)[1]
        symbols = ["dl_worker"]
        if lowered.suspends:
            symbols = ["kernel", "dl_resolve"] if operations.opcodes and not lanes else ["kernel"]
        alike = not self.check and lanes <= abi.WARP and rows_are_alike(self.module, self.function)
        return KernelCode(self.function.name, text, lowered, shared, lanes or 1, symbols, alike, layout.gang)
