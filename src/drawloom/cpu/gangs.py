"""Which kernels run gang by gang: those whose warps need not go in step.

    st.shared.f32 [%r1], %f1;        the lanes of a warp hand values to each other with no barrier in between:
    ld.shared.f32 %f2, [%r2];        right on a GPU, where a warp goes in step, and wrong in gangs of fewer lanes

Without warp operations, the number of lanes that run together is the compiler's choice. A gang of 8 has each 32-bit
value in one register of AVX2, where a warp has it in four: its code is a quarter as long, its values stay in registers.
"""

from __future__ import annotations

from typing import Final

from drawloom.cpu.hand_overs import hands_over, is_shared
from drawloom.cpu.layouts import GENERAL, layout_of
from drawloom.ptx.ir import Function, Instruction, Module, SpecialRegister
from drawloom.ptx.isa import BARRIER, LOAD, PURE, STORE, WARP
from drawloom.ptx.layout import reachable_functions, shared_layout

#: Special registers that number the lanes of warps.
_OF_WARPS: Final = ("%laneid", "%lanemask", "%warpid", "%nwarpid")
#: Instructions of a kernel from which on LLVM takes long for the four registers that each value of a warp has, and most
#: of them are spilled: then a value has two; and from which on it has one.
_MEDIUM: Final = 200
LARGE: Final = 500
#: Layouts of twice and half as many lanes.
_TWICE: Final = {"gang8": "gang16", "gang4": "gang8"}
_HALF: Final = {"gang16": "gang8", "gang8": "gang4"}
#: Roundings that set the mode of the processor for one operation on all lanes.
_DIRECTED: Final = frozenset({"rz", "rm", "rp"})


def gang_for(module: Module, kernel: Function, features: frozenset[str]) -> str:
    """Return the layout of gangs with one vector register for each value, "" where warps go in step."""
    if not _is_independent(module, kernel):
        return ""
    return "gang16" if "avx512f" in features else "gang8" if "avx" in features else "gang4"


def only_gang_for(module: Module, kernel: Function, features: frozenset[str]) -> str:
    """Return the layout of gangs that suits a kernel best whatever the shape of its blocks, "" where warps do.

    Warps suit small kernels: a warp's registers are computed beside each other, where a gang waits for each result.
    """
    count = size_of(module, kernel)
    if count < _MEDIUM or (count < LARGE and ("avx512f" in features or _rounds_directed(module, kernel))):
        return ""
    gang = gang_for(module, kernel, features)
    if count < LARGE:
        return _TWICE.get(gang, "")
    return _HALF.get(gang, gang) if _is_mostly_double(module, kernel) else gang


def suited_layout(module: Module, kernel: Function, block: tuple[int, int, int], features: frozenset[str]) -> str:
    """Return the layout for blocks of this shape that do not run at once."""
    gang = only_gang_for(module, kernel, features)
    layout = layout_of(block)
    if not gang and layout == GENERAL:
        gang = gang_for(module, kernel, features)
    return gang or layout


def size_of(module: Module, kernel: Function) -> int:
    """The instructions of a kernel and of the functions that it may call."""
    count = 0
    for function in reachable_functions(module, kernel):
        count += sum([isinstance(statement, Instruction) for statement in function.body])
    return count


def is_large(module: Module, kernel: Function) -> bool:
    """Whether LLVM takes long for a kernel."""
    return size_of(module, kernel) >= LARGE


def _is_mostly_double(module: Module, kernel: Function) -> bool:
    """Whether more values of a kernel are of 64 bits, addresses aside, than of 32: a register holds half as many."""
    doubles = others = 0
    for function in reachable_functions(module, kernel):
        for statement in function.body:
            if isinstance(statement, Instruction) and statement.opcode.effect == PURE and statement.opcode.types:
                double = statement.opcode.types[0].is_float and statement.opcode.types[0].bits == 64
                doubles += double
                others += not double
    return doubles > others


def _rounds_directed(module: Module, kernel: Function) -> bool:
    return any(
        statement.opcode.effect == PURE and statement.opcode.rounding in _DIRECTED
        for function in reachable_functions(module, kernel)
        for statement in function.body
        if isinstance(statement, Instruction)
    )


def _is_independent(module: Module, kernel: Function) -> bool:
    """Whether nothing tells how many lanes run together."""
    shared = set(shared_layout(module, kernel)[0])
    for function in reachable_functions(module, kernel):
        if not all(_allows_gangs(s) for s in function.body if isinstance(s, Instruction)):
            return False
        if shared and function is not kernel and any(is_shared(s) for s in function.body if isinstance(s, Instruction)):
            return False
    return not shared or not hands_over(module, kernel, shared)


def _allows_gangs(instruction: Instruction) -> bool:
    opcode = instruction.opcode
    if opcode.effect == WARP or (opcode.effect in (LOAD, STORE) and not opcode.weak):
        return False
    if opcode.effect == BARRIER and (opcode.action not in ("sync", "red") or _counts_threads(instruction)):
        return False
    return not any(
        isinstance(operand, SpecialRegister) and operand.name.startswith(_OF_WARPS) for operand in instruction.operands
    )


def _counts_threads(barrier: Instruction) -> bool:
    """Whether a barrier names the number of threads that it waits for."""
    others = int(barrier.opcode.has_destination) + (barrier.opcode.action == "red")
    return len(barrier.operands) - others > 1
