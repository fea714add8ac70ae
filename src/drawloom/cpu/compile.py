"""One kernel and the functions it may call, from PTX to the LLVM IR of a whole program with its scheduler."""

from __future__ import annotations

from typing import Final

from drawloom.cpu import abi
from drawloom.cpu.body import NeedsLanes
from drawloom.cpu.calls import symbol_of
from drawloom.cpu.emitter import Emitter
from drawloom.cpu.inline import inline_stopping
from drawloom.cpu.lane_operations import LaneOperations
from drawloom.cpu.lower import FunctionLowering, Lowered
from drawloom.cpu.scheduler import straight
from drawloom.errors import UnsupportedError
from drawloom.ptx.ir import Function, Module
from drawloom.ptx.layout import GlobalsLayout, reachable_functions, shared_layout

#: How a block's threads lie over the lanes of its warps, and how many lanes then have consecutive %tid.x:
#: one row; rows of whole warps; rows of 16 or 8 threads; anything.
SEGMENTS: Final[dict[str, int]] = {"linear": 32, "rows32": 32, "rows16": 16, "rows8": 8, "general": 0}
LINEAR: Final = "linear"


def layout_of(block: tuple[int, int, int]) -> str:
    """The layout, a key of ``SEGMENTS``, for blocks of this shape."""
    x, y, z = block
    if y == 1 and z == 1:
        return LINEAR
    if x % abi.WARP == 0:
        return "rows32"
    return f"rows{x}" if x in (8, 16) else "general"


class KernelCode:
    """LLVM IR of a kernel and what a launch must provide.

    ``frame_bytes``: kept per warp between barriers; ``local_bytes``: ``.local`` memory per thread;
    ``shared_bytes``: static shared memory; ``lanes``: 32, or 1 when the kernel runs lane by lane;
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
) -> KernelCode:
    """The LLVM IR of ``kernel`` for blocks of the given ``layout``.

    Raises ``UnsupportedError`` for what the cpu device lacks. A kernel whose lanes cannot run in lock step is
    compiled lane by lane.
    """
    function = module.functions.get(kernel)
    if function is None or not function.has_body:
        raise UnsupportedError(f"kernel '{kernel}' is not defined in this module")
    if not by_lane:
        try:
            return _compile(module, function, layout, check, features, x86, abi.WARP)
        except NeedsLanes:
            pass
    return _compile(module, function, layout, check, features, x86, 0)


def _compile(
    module: Module, function: Function, layout: str, check: bool, features: frozenset[str], x86: bool, lanes: int
) -> KernelCode:
    emitter = Emitter(features)
    image = GlobalsLayout(module)
    linear = layout == LINEAR
    lowered: Lowered | None = None
    operations = LaneOperations()
    kernel = inline_stopping(module, function, lanes)
    for called in reachable_functions(module, kernel):
        if not called.has_body:
            continue
        name = "kernel" if called is kernel else symbol_of(called.name)
        lowering = FunctionLowering(module, called, emitter, lanes, linear, SEGMENTS[layout], check, image, operations)
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
            runtime,
            *[d for name, d in sorted(emitter.declarations.items()) if name not in declared],
            "attributes #0 = { nounwind alignstack=64 null_pointer_is_valid }",
            "!0 = !{}",
            '!1 = !{!"branch_weights", i32 2000, i32 1}',
        ]
    )
    shared = shared_layout(module, function)[1]
    symbols = ["dl_worker"]
    if lowered.suspends:
        symbols = ["kernel", "dl_resolve"] if operations.opcodes else ["kernel"]
    return KernelCode(function.name, text, lowered, shared, lanes or 1, symbols)
