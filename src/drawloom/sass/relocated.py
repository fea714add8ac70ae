"""A relocation to what nvdisasm prints in place of the number that it patches: `32@lo(table)`, `c[`(hid)]`, a callee.

What each kind prints was read from nvdisasm 13, given a file with the numbers of all kinds of relocations in turn.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from drawloom.sass.elf import Relocation, Symbol

#: How a kind wraps the symbol, by the part of its name that tells; the first one counts.
WRAPPERS: Final = (
    ("FUNC_DESC32_LO", "32@lo(fun@fdesc({}))"),
    ("FUNC_DESC32_HI", "32@hi(fun@fdesc({}))"),
    ("FUNC_DESC32", "fun@fdesc({})"),
    ("UNIFIED32_LO", "32@lo(fun@unified({}))"),
    ("UNIFIED32_HI", "32@hi(fun@unified({}))"),
    ("ABS32_LO", "32@lo({})"),
    ("ABS32_HI", "32@hi({})"),
    ("CONST_FIELD", "`({})"),
    ("ABS", "`({})"),
    ("PCREL", "`({})"),
)
#: Kinds that say something about the whole instruction, in a remark behind it.
REMARKS: Final = {
    "R_CUDA_INSTRUCTION64": "RELOCATOR MAIN,{0.name}",
    "R_CUDA_INSTRUCTION128": "RELOCATOR MAIN,{0.name}",
    "R_CUDA_YIELD_OPCODE9_0": "RELOCATOR OPCODE,YIELD,{0.addend}",
}
REMARK_COLUMN: Final = 41  # of the text
#: Where the number of a kind stands, and what is printed there with the register beside it.
PLACES: Final = (
    ("CONST_FIELD", re.compile(r"c\[0x[0-9a-f]+\] ?\[(R\d+(?:\.X\d+)?)?[^\]]*\]"), "c[{}{}]"),
    ("ABS24", re.compile(r"(?<![a-z\]])\[(.*?)(?:\+?-?0x[0-9a-f]+)?\]"), "[{}{}]"),
    ("", re.compile(r"(?<=[ ,])()(?:`\([^)]*\)|-?0x[0-9a-f]+)"), "{}{}"),
)


@dataclass(frozen=True, slots=True)
class Patch:
    """A relocation of one instruction: its kind, the `expression` of its symbol, its addend."""

    kind: str
    name: str
    addend: int


def expression(symbol: Symbol, relocation: Relocation, labels: dict[int, str]) -> str:
    """`k`, `(table + 0x8)`, `(k + .L_x_0@srel)`; `labels` are those of the section of a function."""
    if relocation.addend == 0:
        return symbol.name
    label = labels.get(symbol.value + relocation.addend)
    return f"({symbol.name} + {label}@srel)" if label else f"({symbol.name} + {hex(relocation.addend)})"


def relocated(text: str, patch: Patch) -> str:
    """The text of an instruction with the symbol where the relocation puts its number."""
    remark = REMARKS.get(patch.kind)
    if remark is not None:
        return f'{text:<{REMARK_COLUMN}}(*"{remark.format(patch)}"*)'
    wrapper = next((wrapper for part, wrapper in WRAPPERS if patch.kind.startswith("R_CUDA_" + part)), "")
    if not wrapper:
        return text
    shown = wrapper.format(patch.name)
    for part, place, around in PLACES:
        found = place.search(text) if part in patch.kind else None
        if found is not None:
            inside = around.format(f"{found[1]}+" if found[1] else "", shown)
            return text[: found.start()] + inside + text[found.end() :]
    return f"{text} {shown}"
