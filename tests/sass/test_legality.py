"""What ptxas takes, the assembler takes: legal lines of the corpus of single instructions, each in a kernel."""

from __future__ import annotations

import random
import re

import pytest

from drawloom.errors import Error, UnsupportedError
from drawloom.ptx import parse, verify
from drawloom.sass.assemble import assemble
from tests.sass.selection import FULL
from tools import legality

#: Opcodes and spaces of textures, tensor cores and clusters, which `sass` leaves out.
OUTSIDE = re.compile(
    r"^(@\S+ )?(wmma|mma|wgmma|tex|tld4|txq|sust|suld|sured|suq|ldmatrix|stmatrix|movmatrix|mapa|getctarank)\b"
    r"|cluster|tensor"
)
#: Why others may be refused.
REFUSED = ("needs sm_", "exists up to")
SAMPLE = 120


@pytest.mark.parametrize("target", [61, 75, 80, 86, 89, 90] if FULL else [61, 90])
def test_what_ptxas_takes_is_assembled(target: int) -> None:
    lines = [line[3:] for line in legality.OUT.read_text().splitlines() if line.startswith("ok\t")]
    lines = [line for line in lines if not OUTSIDE.search(line)]
    chosen = lines if FULL else random.Random(target).sample(lines, SAMPLE)
    head = legality.MODULE_HEAD.replace(legality.ARCH, f"sm_{target}")
    registers = legality.REGISTERS.replace(".reg .b128 %rq<4>;", "") if target < 70 else legality.REGISTERS
    wrong, assembled = [], 0
    for line in chosen:
        text = head + registers + line + "\n" + legality.MODULE_TAIL
        try:
            verify(parse(text))
        except Error:
            continue  # of later targets, or only where the manual says otherwise (tests/ptx/legality_explained.txt)
        try:
            assemble(text, f"sm_{target}")
            assembled += 1
        except UnsupportedError as refusal:
            if not any(reason in str(refusal) for reason in REFUSED):
                wrong.append((line, str(refusal)))
    assert wrong == []
    assert assembled > len(chosen) // 2
