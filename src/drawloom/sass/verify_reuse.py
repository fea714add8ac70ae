"""Machine code to the faults of its reuse flags: what verify.py says of them, found without the scheduler's rule.

A flag on a source operand keeps its register for the next instruction that reads the same register in the same source
slot. It is a fault where that one would get an old value (something writes the register from the flagged instruction
on), and where nobody reads it before another warp may issue (yield) or control flow comes or goes elsewhere.
"""

from __future__ import annotations

from typing import Final

from drawloom.sass.control import reuse, switches
from drawloom.sass.effects import GENERAL, effects, registers_written
from drawloom.sass.flow import Flow
from drawloom.sass.instruction import Instruction
from drawloom.sass.machine import NEUTRAL

#: Of sm_61: ptxas sets flags of theirs that nvdisasm does not print.
_SILENT: Final = ("F2I", "I2F", "ISCADD")


def reuse_faults(instructions: list[Instruction], flow: Flow) -> list[tuple[int, str]]:
    """(index, why) of every flag that should not be there."""
    faults = []
    for start, end in flow.ends.items():
        for index in range(start, end):
            flags = reuse(instructions[index].control)
            for slot in range(4):
                if flags >> slot & 1:
                    why = _fault(instructions, index, end, slot)
                    if why:
                        faults.append((index, why))
    return sorted(faults)


def _fault(instructions: list[Instruction], index: int, end: int, slot: int) -> str:
    instruction = instructions[index]
    if slot not in instruction.opcode.form.reuse:
        return "" if instruction.opcode.form.base in _SILENT else f"has no source slot {slot} to keep"
    register = operand(instruction, slot)
    if register == NEUTRAL[GENERAL]:
        return f"keeps RZ in slot {slot}"
    name = f"keeps R{register} in slot {slot}"
    for following in range(index, end):
        before = instructions[following]
        if following > index and operand(before, slot) == register:
            return ""
        if (GENERAL, register) in registers_written(before):
            return f"{name}, which {before.opcode.mnemonic} writes"
        if switches(before.control) or effects(before.opcode).flow not in ("", "prepare", "warp"):
            return f"{name} for nobody: {before.opcode.mnemonic} lets others in between"
    return f"{name} for nobody"


def operand(instruction: Instruction, slot: int) -> int:
    """The register that an instruction has in a source slot with a cache; -1 for none."""
    form = instruction.opcode.form
    number = form.reuse.get(slot, -1)
    if number < 0 or form.kinds[number] != "R":
        return -1
    if form.constants[number] >= 0:
        return form.constants[number]
    return instruction.values[sum(constant < 0 for constant in form.constants[:number])]
