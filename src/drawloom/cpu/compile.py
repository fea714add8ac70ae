"""One kernel and the functions it may call, from PTX to the LLVM IR of a whole program with its scheduler."""

from __future__ import annotations

from drawloom.cpu import abi
from drawloom.cpu.body import NeedsLanes, NeedsWarps
from drawloom.cpu.calls import symbol_of
from drawloom.cpu.emitter import Emitter
from drawloom.cpu.inline import inline_stopping
from drawloom.cpu.lane_operations import LaneOperations
from drawloom.cpu.layouts import Layout, at_once, block_of, layout_of, warps
from drawloom.cpu.lower import FunctionLowering, Lowered
from drawloom.cpu.scheduler import straight
from drawloom.errors import UnsupportedError
from drawloom.ptx.asynchronous import synchronous
from drawloom.ptx.ir import Function, Module
from drawloom.ptx.layout import GlobalsLayout, has_dynamic_stack, reachable_functions, shared_layout


class KernelCode:
    """LLVM IR of a kernel and what a launch must provide.

    ``frame_bytes``: kept per warp between barriers; ``local_bytes``: ``.local`` memory per thread;
    ``shared_bytes``: static shared memory; ``lanes``: of a unit that runs at once, 32 where it is a warp, 1 when the
    kernel runs lane by lane;
    ``symbols``: what the object code defines: ``dl_worker``, or ``kernel`` (and ``dl_resolve``) for one that stops.
    """

    def __init__(
        self, name: str, text: str, lowered: Lowered, shared_bytes: int, lanes: int, symbols: list[str]
    ) -> None:
        self.name = name
        self.text = text
        self.frame_bytes = lowered.frame_bytes
        self.local_bytes = lowered.local_bytes
        self.shared_bytes = shared_bytes
        self.resumable = lowered.suspends
        self.spins = lowered.spins
        self.lanes = lanes
        self.symbols = symbols


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
    block = block_of(layout)
    if block is not None:
        try:
            return _compile(module, function, at_once(block, always_at_once), check, features, x86)
        except (NeedsWarps, NeedsLanes):
            layout = layout_of(block)
    if not by_lane:
        try:
            return _compile(module, function, warps(layout, abi.WARP), check, features, x86)
        except NeedsLanes:
            pass
    return _compile(module, function, warps(layout, 0), check, features, x86)


def _compile(
    module: Module, function: Function, layout: Layout, check: bool, features: frozenset[str], x86: bool
) -> KernelCode:
    lanes = layout.lanes
    emitter = Emitter(features)
    image = GlobalsLayout(module)
    lowered: Lowered | None = None
    operations = LaneOperations()
    kernel = inline_stopping(module, function, lanes)
    program = [called for called in reachable_functions(module, kernel) if called.has_body]
    has_stack = any(has_dynamic_stack(called) for called in program)
    for called in program:
        name = "kernel" if called is kernel else symbol_of(called.name)
        lowering = FunctionLowering(module, called, emitter, layout, check, image, operations, has_stack)
        lowering.f.shared_offsets = shared_layout(module, called if called is not kernel else function)[0]
        part = lowering.lower(name)
        if called is kernel:
            lowered = part
    if lowered is None:
        raise UnsupportedError(f"kernel '{function.name}' is not defined in this module")
    if lowered.suspends:
        runtime = operations.text(emitter) if operations.opcodes else ""
    else:
        runtime = straight()
    declared = {line.split("@", 1)[1].split("(", 1)[0] for line in runtime.splitlines() if line.startswith("declare")}
    text = "\n".join(
        [
            *emitter.lines,
            *[line for lines in emitter.functions.values() for line in lines],
            runtime,
            *[d for name, d in sorted(emitter.declarations.items()) if name not in declared],
            # A frame touches each of its pages, so that one past the stack meets the guard page, not another's stack.
            'attributes #0 = { nounwind alignstack=64 null_pointer_is_valid "probe-stack"="inline-asm" }',
            "!0 = !{}",
            '!1 = !{!"branch_weights", i32 2000, i32 1}',
        ]
    )
    shared = shared_layout(module, function)[1]
    symbols = ["dl_worker"]
    if lowered.suspends:
        symbols = ["kernel", "dl_resolve"] if operations.opcodes else ["kernel"]
    return KernelCode(function.name, text, lowered, shared, lanes or 1, symbols)
