"""What a target lacks: instructions and special registers that a module may use by its own ``.target``, but not on the
architecture that it is assembled for (the "Target ISA Notes" of the PTX manual, as the instruction table has them)."""

from __future__ import annotations

from typing import Final

from drawloom.errors import SourceError, UnsupportedError
from drawloom.ptx.declarations import NEWEST
from drawloom.ptx.ir import Instruction, Module, SpecialRegister
from drawloom.ptx.isa import Opcode
from drawloom.ptx.specials import find_special

#: The first target that knows a word of an opcode, where the form exists on earlier ones.
_WORDS: Final[dict[str, int]] = {"L2::256B": 80, "L2::cache_hint": 80}
#: Instructions that no code is made for, and why none is needed.
IGNORED: Final[dict[str, str]] = {"setmaxnreg": "a thread has the registers of its kernel's directives throughout"}
#: The first target with clusters of blocks: as scopes and spaces of memory accesses.
_CLUSTERS: Final = 90
#: The opcodes that were found to be there, by target.
_available: Final[dict[int, set[Opcode]]] = {}


def check_available(module: Module, number: int) -> list[str]:
    """Warnings of what is left out, as nothing but speed depends on it.

    Raises UnsupportedError, with the place in PTX, at the first instruction that sm_``number`` does not have, or if
    addresses have not 64 bits, as all machine code here expects."""
    warnings: list[str] = []
    if module.version > NEWEST:
        newer, known = (f"{major}.{minor}" for major, minor in (module.version, NEWEST))
        warnings.append(f"PTX {newer} is newer than {known}, the newest that is known here")
    if module.address_size != 64:
        place = max(module.source.find(".address_size"), 0)
        raise refusal(module, place, "addresses of 32 bits are not supported by the assembler")
    present = _available.setdefault(number, set())
    for function in module.functions.values():
        for statement in function.body if function.has_body else []:
            if not isinstance(statement, Instruction):
                continue
            if statement.opcode not in present:
                lack = lacks(statement.opcode, number)
                if lack:
                    raise refusal(module, statement.pos, f"sm_{number} has no '{statement.opcode.text}': {lack}")
                present.add(statement.opcode)
                if statement.opcode.name in IGNORED:
                    where = f"'{function.name}': '{statement.opcode.name}' in line {module.line(statement)}"
                    warnings.append(f"{where} is ignored, {IGNORED[statement.opcode.name]}")
            if statement.opcode.name != "mov":
                continue
            for operand in statement.operands:
                special = find_special(operand.name) if isinstance(operand, SpecialRegister) else None
                if special is not None and special.sm > number:
                    lack = f"sm_{number} has no {special.name}: it needs sm_{special.sm} or later"
                    raise refusal(module, statement.pos, lack)
    return warnings


def lacks(opcode: Opcode, number: int) -> str:
    """Why sm_``number`` does not have any form of an opcode; "" if it has one."""
    if number < _CLUSTERS and (opcode.scope == "cluster" or opcode.space == "shared::cluster"):
        return f"clusters need sm_{_CLUSTERS} or later"
    for word in opcode.modifiers:
        if number < _WORDS.get(word, 0):
            return f"'.{word}' needs sm_{_WORDS[word]} or later"
    if any(form.sm <= number <= form.last_sm for form in opcode.forms):
        return ""
    if all(form.last_sm < number for form in opcode.forms):
        return f"it exists up to sm_{opcode.forms[0].last_sm} only"
    return f"it needs sm_{min(form.sm for form in opcode.forms)} or later"


def refusal(module: Module, pos: int, message: str) -> UnsupportedError:
    return UnsupportedError(str(module.error(SourceError, pos, message)))
