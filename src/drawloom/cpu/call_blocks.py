"""Which ``.param`` variables of a kernel's calls are live at a stop: written before it, and read behind it."""

from __future__ import annotations

from drawloom.ptx.cfg import Cfg
from drawloom.ptx.ir import Address, Arguments, Instruction, Symbol
from drawloom.ptx.isa import CALL, LOAD, STORE


def live_call_blocks(cfg: Cfg, block: int, index: int, sizes: dict[str, int]) -> list[str]:
    """The variables, of ``sizes`` in bytes, that may be read behind an instruction before all of one is written."""
    return [name for name, size in sizes.items() if _is_read(cfg, block, index + 1, name, size)]


def _is_read(cfg: Cfg, block: int, index: int, name: str, size: int) -> bool:
    stack = [(block, index)]
    seen: set[int] = set()
    while stack:
        b, first = stack.pop()
        written = False
        for instruction in cfg.blocks[b].instructions[first:]:
            if _reads(instruction, name):
                return True
            if _writes(instruction, name, size):
                written = True
                break
        if not written:
            for s in cfg.blocks[b].succs:
                if s not in seen:
                    seen.add(s)
                    stack.append((s, 0))
    return False


def _reads(instruction: Instruction, name: str) -> bool:
    if instruction.opcode.effect == CALL:
        given = instruction.operands[2]
        return isinstance(given, Arguments) and any(isinstance(x, Symbol) and x.name == name for x in given.elements)
    return instruction.opcode.effect == LOAD and _place(instruction, name) is not None


def _writes(instruction: Instruction, name: str, size: int) -> bool:
    """Whether an instruction writes the whole variable."""
    if instruction.guard is not None:
        return False
    if instruction.opcode.effect == CALL:
        results = instruction.operands[0]
        return isinstance(results, Arguments) and any(
            isinstance(x, Symbol) and x.name == name for x in results.elements
        )
    type = instruction.opcode.type
    if instruction.opcode.effect != STORE or type is None:
        return False
    return _place(instruction, name) == 0 and type.bits >= 8 * size


def _place(access: Instruction, name: str) -> int | None:
    """How far into the variable an instruction accesses it; None if it accesses another."""
    for operand in access.operands:
        if isinstance(operand, Address) and isinstance(operand.base, Symbol) and operand.base.name == name:
            return operand.base.offset + operand.offset
    return None
