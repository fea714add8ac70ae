"""Kernels whose threads differ by ``%tid.x`` alone: all rows of a block do the same, and one row does it for them.

    kernel<<<grid, dim3(32, 8)>>>      with  i = blockIdx.x * blockDim.x + threadIdx.x;  x[i] += a[i];

Without a race the other rows can write nothing. With one, as here, rows in step give on a GPU what one row gives: all
load the old value, and all store the same sum. Rows one after the other would add eight times.
"""

from __future__ import annotations

from typing import Final

from drawloom.ptx.ir import Function, Instruction, Module, SpecialRegister
from drawloom.ptx.isa import BRANCH, CALL, EXIT, LOAD, PURE, RETURN, STORE
from drawloom.ptx.layout import reachable_functions

#: What is the same for the threads of one column.
_OF_COLUMNS: Final = ("%ntid", "%ctaid", "%nctaid")
#: Instructions that do the same in every row: no atomics, which count threads, no operations of warps or blocks.
_ALIKE: Final = frozenset({PURE, LOAD, STORE, BRANCH, CALL, RETURN, EXIT})


def rows_are_alike(module: Module, kernel: Function) -> bool:
    """Whether the rows of a block can be told from each other by nothing."""
    for function in reachable_functions(module, kernel):
        if not function.has_body:
            return False  # print and malloc count threads
        for statement in function.body:
            if isinstance(statement, Instruction) and not _is_alike(statement):
                return False
    return True


def _is_alike(instruction: Instruction) -> bool:
    opcode = instruction.opcode
    if opcode.effect not in _ALIKE or not opcode.weak:
        return False
    if opcode.effect == EXIT and opcode.name != "exit":
        return False
    for operand in instruction.operands:
        if isinstance(operand, SpecialRegister):
            base, _, component = operand.name.partition(".")
            if base not in _OF_COLUMNS and (base != "%tid" or component != "x"):
                return False
    return True
