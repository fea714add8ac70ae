"""Addresses in relocatable files: words that a linker fills in."""

from __future__ import annotations

from drawloom.errors import UnsupportedError
from drawloom.ptx.ir import Symbol
from drawloom.sass.machine import Machine, MachineRelocation
from drawloom.sass.select.operands import IMMEDIATE, OTHER, ZERO, Src, reg
from drawloom.sass.select.selector import SHARED_BEGIN, Selector


def relocated(s: Selector, symbol: Symbol, words: int) -> list[Src]:
    """So many words of the address of a variable (in its own space) or function, in registers."""
    kinds = s.variables.kinds(symbol.name, s.number)
    if not kinds:
        raise UnsupportedError(f"the address of '{symbol.name}' is not supported by the assembler yet")
    is_shared = symbol.name in s.module.variables and s.module.variables[symbol.name].space == "shared"
    addend = symbol.offset + (SHARED_BEGIN[s.number] if is_shared else 0)
    out: list[Src] = []
    for part in range(words):
        if part >= len(kinds):
            out.append(ZERO)
            continue
        word = s.fresh()
        made = s.unguarded("MOV", [reg(word), Src("I", [0], OTHER if s.number >= 75 else IMMEDIATE)])
        relocate(s, made, kinds[part], symbol.name, addend)
        out.append(reg(word))
    return out


def relocate(s: Selector, instruction: Machine, kind: str, symbol: str, addend: int = 0) -> None:
    """Leave the immediate of an instruction to a linker."""
    instruction.is_relocated = True
    s.out.relocations.append(MachineRelocation(instruction, kind, symbol, addend))
