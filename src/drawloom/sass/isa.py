"""The targets: encoding tables read from `tables/` on first use, and opcodes looked up by name.

A table file holds one family, one line for each form, in JSON:

    [structure, kinds and constants, word, mask, operand fields, modifier fields, template, guard, reuse, seen, targets]

`tools/isa` writes them; docs/sass.md describes the columns.
"""

from __future__ import annotations

import json
import os
from typing import Any, Final

from drawloom.sass.form import NUMBER_KINDS, Form, IsaError, ModifierField, Opcode, Slot
from drawloom.sass.syntax import scan

TARGETS: Final[dict[int, str]] = {61: "pascal", 75: "volta", 80: "volta", 86: "volta", 89: "volta", 90: "volta"}
# A signature becomes text by putting one number for every kind.
_SAMPLES: Final[dict[str, str]] = {
    "R": "R1", "UR": "UR1", "P": "P1", "UP": "UP1", "B": "B1", "SB": "SB1", "I": "0x1", "L": "0x1",
    "F": "1", "S": "SR_TID.X", "M": "{1}",
}  # fmt: skip


class Target:
    """One architecture: `number` is 61 to 90, `word_bytes` 8 or 16."""

    def __init__(self, number: int, table: dict[str, Any]) -> None:
        self.number = number
        self.wide = number >= 75
        self.word_bytes = 16 if self.wide else 8
        self.word_mask = (1 << 105) - 1 & ~0xF000 if self.wide else (1 << 64) - 1 & ~0xF0000
        self._rows: dict[str, list[Any]] = {}
        self._forms: dict[str, list[Form]] = {}
        self._enumerations: list[list[Any]] = table["enumerations"]
        self._values: dict[int, dict[int, list[str]]] = {}
        bit = table["targets"].index(number)
        self.special_names: dict[int, str] = {
            value: name for value, name, targets in table["special"] if targets >> bit & 1
        }
        self._specials: dict[str, int] = {name: value for value, name in self.special_names.items()}
        for base, rows in table["forms"].items():
            kept = [row for row in rows if row[-1] >> bit & 1]
            if kept:
                self._rows[base] = kept
        self._by_opcode: dict[int, list[Form]] = {}
        self._opcode_rows: dict[int, list[Form]] = {}
        self._opcodes: dict[tuple[str, str], Opcode] = {}
        self._index = 0

    def bases(self) -> list[str]:
        """The base mnemonics, sorted."""
        return sorted(self._rows)

    def forms(self, base: str) -> list[Form]:
        """The forms with this base mnemonic, those that ptxas uses most first; empty where there are none."""
        found = self._forms.get(base)
        if found is None:
            found = [self._form(base, row) for row in self._rows.get(base, [])]
            self._forms[base] = found
        return found

    def all_forms(self) -> list[Form]:
        return [form for base in self.bases() for form in self.forms(base)]

    def by_key(self, key: str) -> list[Form]:
        base, _, structure = key.partition(" ")
        wanted = structure.split(" ") if structure else []
        return [form for form in self.forms(base) if form.structure == wanted]

    def candidates(self, word: int) -> list[Form]:
        """The forms that a word can be of, judged by its opcode bits; those with most fixed bits first."""
        opcode = word & 0xFFF if self.wide else word >> 48
        found = self._by_opcode.get(opcode)
        if found is None:
            shift, width = (0, 12) if self.wide else (48, 16)
            care = ((1 << width) - 1) << shift
            placed = opcode << shift
            found = [form for form in self.all_forms() if not (form.word ^ placed) & form.mask & care]
            found.sort(key=lambda form: form.rank)
            self._by_opcode[opcode] = found
        return found

    def special(self, name: str) -> int:
        """The number of a special register, `SR_TID.X`. Raises IsaError."""
        found = self._specials.get(name)
        if found is None:
            raise IsaError(f"sm_{self.number} has no special register {name}")
        return found

    def opcode(self, mnemonic: str, signature: str = "") -> Opcode:
        """The opcode with this full mnemonic and signature (docs/sass.md). Raises IsaError."""
        found = self._opcodes.get((mnemonic, signature))
        if found is None:
            found = self._opcodes[mnemonic, signature] = self._find(mnemonic, signature)
        return found

    def _find(self, mnemonic: str, signature: str) -> Opcode:
        parsed = scan(mnemonic + " " + _sample_text(signature))
        gaps = ["".join(gap) for gap in parsed.gaps]
        for form in self.by_key(parsed.key()):
            bits = form.choose(gaps)
            if bits is None:
                continue
            opcode = form.opcode(form.word | bits)
            if opcode.signature == signature:
                return opcode
        near = sorted({"".join(form.structure[1:]) for form in self.forms(parsed.base)})
        raise IsaError(
            f"sm_{self.number} has no instruction {mnemonic} {signature}"
            + (f"; {parsed.base} has {'; '.join(near[:12])}" if near else "")
        )

    def _form(self, base: str, row: list[Any]) -> Form:
        structure_text, kinds, word, mask, operands, fields, template, guard, reuse, seen, _ = row
        structure = structure_text.split(" ") if structure_text else []
        slots: list[Slot] = []
        names: list[str] = []
        constants: list[int] = []
        operand = 0
        number = 0
        for token in structure:
            if token == ",":
                operand += 1
            if token not in NUMBER_KINDS:
                continue
            kind = kinds[number]
            name, _, constant = kind.partition("=")
            names.append(name)
            constants.append(int(constant, 0) if constant else -1)
            if not constant:
                slots.append(_slot(name, operand, operands[len(slots)]))
            number += 1
        made = [ModifierField(bits_of(where), gaps, self._enumeration(index)) for where, gaps, index in fields]
        self._index += 1
        return Form(
            self._index - 1,
            base,
            structure,
            names,
            constants,
            slots,
            int(word, 16),
            int(mask, 16),
            made,
            template,
            guard,
            {int(bit): place for bit, place in reuse.items()},
            seen == "ptxas",
            self.wide,
            self.special_names,
        )

    def _enumeration(self, index: int) -> dict[int, list[str]]:
        found = self._values.get(index)
        if found is None:
            found = {}
            for value, *texts in self._enumerations[index]:
                found[value] = texts
            self._values[index] = found
        return found


def bits_of(where: str) -> list[int]:
    """`72-74,80` as the list of its bits."""
    bits: list[int] = []
    for part in where.split(","):
        low, _, high = part.partition("-")
        bits.extend(range(int(low), int(high or low) + 1))
    return bits


def _slot(kind: str, operand: int, where: str) -> Slot:
    """Reads `40+14<<2s`: from bit 40, 14 bits, the value's bits from 2 on; pieces joined by commas.

    At the end `s` says signed, `~` complemented, `!` that RZ or PT does not occur.
    """
    pieces: list[tuple[int, int, int]] = []
    for part in where.rstrip("s~!").split(","):
        place, _, start = part.partition("<<")
        low, _, width = place.partition("+")
        pieces.append((int(low), int(width), int(start or 0)))
    return Slot(kind, operand, pieces, "s" in where, "~" in where, "!" in where)


def _sample_text(signature: str) -> str:
    """A signature with a number in place of every kind, so that it can be read as operands."""
    text = ""
    word = ""
    for letter in signature + " ":
        if letter.isalnum() or letter == "_":
            word += letter
            continue
        text += word if text.endswith(".") else _SAMPLES.get(word, word)
        word = ""
        text += letter
    return text.strip()


_targets: dict[int, Target] = {}
_tables: dict[str, dict[str, Any]] = {}


def load_target(number: int) -> Target:
    """The target sm_`number`, the same object every time. Raises IsaError for one that has no tables."""
    found = _targets.get(number)
    if found is None:
        family = TARGETS.get(number)
        if family is None:
            raise IsaError(f"no encoding tables for sm_{number}: there are sm_{', sm_'.join(map(str, TARGETS))}")
        found = _targets[number] = Target(number, _table(family))
    return found


def _table(family: str) -> dict[str, Any]:
    found = _tables.get(family)
    if found is None:
        with open(os.path.join(os.path.dirname(__file__), "tables", family + ".json"), encoding="ascii") as file:
            found = _tables[family] = json.load(file)
    return found
