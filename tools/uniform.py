"""What uniform registers would save: our machine code of the corpus to counts of instructions that they could take.

    python -m tools.uniform 90 80

`computed`: arithmetic of the vector unit on constants of bank 0, immediates and results of such alone, each of which
would be one of the uniform unit; `moved`: constants that are brought to a register, for operands and pairs that only a
register can be; `addresses`: sums of a pair of bank 0 and 32 bits without a sign, two instructions that `[R.U32+UR]`
would spare for one ULDC.64. A register counts as uniform where one instruction without a guard writes it.
"""

from __future__ import annotations

import sys
from collections import Counter

from drawloom.errors import Error
from drawloom.sass.assemble import assemble
from drawloom.sass.decoder import unpack_section
from drawloom.sass.effects import registers_read, registers_written
from drawloom.sass.instruction import Instruction
from drawloom.sass.isa import load_target
from drawloom.sass.syntax import NO_GUARD
from tools.isa.probes import corpus_files, retargeted

ARITHMETIC = frozenset("IADD3 IMAD LEA LOP3 SHF SEL ISETP PRMT VIMNMX IMNMX".split())


def count(code: list[Instruction], found: Counter[str]) -> None:
    """Adds what one function has."""
    writes = Counter(key for instruction in code for key in registers_written(instruction))
    uniform: set[tuple[int, int]] = set()
    for instruction in code:
        base = instruction.opcode.mnemonic.split(".")[0]
        if base == "NOP":
            continue
        found["instructions"] += 1
        if instruction.opcode.mnemonic == "IADD3.X" and ", RZ, c[0x0]" in str(instruction):
            found["addresses"] += 1
        if (base != "MOV" and base not in ARITHMETIC) or instruction.guard != NO_GUARD:
            continue
        written = registers_written(instruction)
        if written and all(key in uniform for key in registers_read(instruction)):
            found["moved" if base == "MOV" else "computed"] += 1
            uniform.update(key for key in written if writes[key] == 1)


def main() -> int:
    for number in [int(word) for word in sys.argv[1:]] or [90, 80]:
        found: Counter[str] = Counter()
        for path in corpus_files():
            try:
                cubin = assemble(retargeted(path.read_text(), number), f"sm_{number}")
            except Error:
                continue
            for function in cubin.assembly.functions:
                count(unpack_section(load_target(number), function.code), found)
        print(f"sm_{number}: " + ", ".join(f"{what} {found[what]:,}" for what in sorted(found)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
