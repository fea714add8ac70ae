"""One machine instruction: an opcode, the numbers in its operands, a guard and scheduling bits; and its text."""

from __future__ import annotations

from mypy_extensions import mypyc_attr

from drawloom.sass.control import DEFAULT_CONTROL, REUSE_SHIFT
from drawloom.sass.floats import FLOAT_KINDS, float_text
from drawloom.sass.form import NUMBER_KINDS, IsaError, Opcode, constant_text, register_text
from drawloom.sass.syntax import NEGATED, NO_GUARD


@mypyc_attr(acyclic=True)
class Instruction:
    """Changeable; nothing is checked before `check`. `values` has one int for each of `opcode.slots`."""

    def __init__(
        self, opcode: Opcode, values: list[int], guard: int = NO_GUARD, control: int = DEFAULT_CONTROL
    ) -> None:
        self.opcode = opcode
        self.values = values
        self.guard = guard
        self.control = control

    def check(self) -> None:
        """Raises IsaError where a value, the guard or the control bits do not fit."""
        slots = self.opcode.slots
        if len(self.values) != len(slots):
            raise IsaError(f"{self.opcode.mnemonic} {self.opcode.signature} takes {len(slots)} values")
        for slot, value in zip(slots, self.values):
            if not slot.fits(value):
                raise IsaError(f"{self.opcode.mnemonic} {self.opcode.signature}: {value:#x} does not fit {slot}")
        if not 0 <= self.guard < 16 or not 0 <= self.control < 1 << 21:
            raise IsaError(f"{self.opcode.mnemonic}: guard {self.guard}, control {self.control:#x}")

    def text(self, address: int = 0, labels: dict[int, str] | None = None) -> str:
        """What nvdisasm prints, without the semicolon, for an instruction at this byte address.

        Labels are absolute addresses, or the names that `labels` has for them, as `(name).
        """
        text = self.guard_text() + self.opcode.mnemonic + _operands(self, address, labels)
        if not self.opcode.form.wide and self.opcode.form.base in ("ATOM", "ATOMS") and ".CAS" in self.opcode.mnemonic:
            first = self.values[-1]  # the second of the pair has no field of its own
            text += ", " + register_text("R", min(255, first + (2 if ".64" in self.opcode.mnemonic else 1)))
        return text

    def guard_text(self) -> str:
        if self.guard == NO_GUARD:
            return ""
        form_guard = self.opcode.form.guard or "P"
        sign = "!" if self.guard & NEGATED else ""
        return f"@{sign}{register_text(form_guard, self.guard & 7)} "

    def __str__(self) -> str:
        return self.text()

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Instruction)
            and self.opcode is other.opcode
            and self.values == other.values
            and self.guard == other.guard
            and self.control == other.control
        )

    __hash__ = None  # type: ignore[assignment]


def reuse_of(opcode: Opcode) -> dict[int, int]:
    """Reuse bit -> number (as in `kinds`) that prints `.reuse` for it. On sm_61 a conversion has a bit where a type of
    64 bits sends it to the double unit; an integer of 64 bits made of F16 does not (nvdisasm 12.4, all pairs)."""
    form = opcode.form
    if form.wide or form.base not in ("F2F", "F2I", "I2F") or form.structure != ["_", "R", ",", "R"]:
        return form.reuse
    is_double = "64" in opcode.mnemonic and not (form.base == "F2I" and ".F16" in opcode.mnemonic)
    return {1: 1} if is_double else {}


def _operands(instruction: Instruction, address: int, labels: dict[int, str] | None) -> str:
    """The operands, with the space before them."""
    opcode = instruction.opcode
    form = opcode.form
    structure, gaps = form.structure, opcode.gaps
    kept = reuse_of(opcode)
    reused = {kept[bit] for bit in kept if instruction.control >> (REUSE_SHIFT + bit) & 1}
    text = ""
    number = slot = -1
    place = 0
    while place < len(structure):
        token = structure[place]
        if token in NUMBER_KINDS:
            number += 1
            constant = form.constants[number]
            if constant >= 0:
                text += constant_text(form.kinds[number], constant)
            else:
                slot += 1
                text += value_text(instruction, slot, address, labels)
            if number in reused and not form.wide:  # sm_61 has R3.H1.reuse, the others R3.reuse.H1
                text += gaps[place + 1] + ".reuse"
                place += 1
                continue
            if number in reused:
                if gaps[place + 1][:1] == "|":
                    text += "|.reuse" + gaps[place + 1][1:]
                    place += 1
                    continue
                text += ".reuse"
        elif token[-1] == "[" and structure[place + 1 : place + 3] == ["R", "+"]:
            end = structure.index("]", place)
            count = sum(kind in NUMBER_KINDS for kind in structure[place:end])
            slots = sum(form.constants[number + 1 + i] < 0 for i in range(count))
            text += token + gaps[place + 1] + _address(instruction, place + 1, end, number + 1, slot + 1)
            number, slot = number + count, slot + slots
            place = end
            text += "]"
        else:
            text += " " if token == "_" else token
            if token == ",":
                text += " "
        text += gaps[place + 1]
        place += 1
    return text.rstrip()


def _address(instruction: Instruction, start: int, end: int, number: int, slot: int) -> str:
    """What stands between the brackets of an address: a base that is RZ and an offset of 0 need not be said."""
    form, gaps = instruction.opcode.form, instruction.opcode.gaps
    parts: list[str] = []
    values: list[int] = []
    tokens = [token for token in form.structure[start:end] if token in NUMBER_KINDS]
    decorations = [gaps[place + 1] for place in range(start, end) if form.structure[place] in NUMBER_KINDS]
    for i in range(len(tokens)):
        constant = form.constants[number + i]
        if constant < 0:
            values.append(instruction.values[slot])
            slot += 1
        else:
            values.append(constant)
    offset = values[-1]
    decoration = decorations[0]
    described = bank = False
    if start >= 4 and form.structure[start - 2] == "]":
        bank = form.structure[start - 4] == "c["
        described = form.structure[start - 4] == "desc["
    bare = values[0] == 255 and not described and (not decoration or (decoration[:2] == ".X" and len(tokens) == 2))
    if not bare or (len(tokens) == 2 and offset == 0):
        parts.append(register_text("R", values[0]) + ("" if bare else decoration))
    if len(tokens) == 3:
        parts.append(register_text(tokens[1], values[1]) + decorations[1])
    if bank and bare and not form.wide:  # sm_61 prints c[0x3][0x0], the others c[0x3][RZ]
        return hex(offset) + decorations[-1]
    if offset:
        if bare and len(tokens) == 2 and not bank and form.base != "LDGSTS":
            offset &= (1 << instruction.opcode.slots[slot - 1].bits) - 1  # alone it prints as an address
        parts.append(hex(offset) + decorations[-1])
    return "+".join(parts)


def value_text(instruction: Instruction, place: int, address: int, labels: dict[int, str] | None = None) -> str:
    """The text of the value in one slot."""
    slot, value = instruction.opcode.slots[place], instruction.values[place]
    kind = slot.kind
    if kind in FLOAT_KINDS:
        text = float_text(kind, value)
        if not instruction.opcode.form.wide and kind != "F64":  # sm_61's nvdisasm tells no NaNs apart but doubles
            text = text.replace("SNAN", "QNAN")
        return text
    if kind in ("I", "I2"):
        if slot.signed and value >= 1 << (slot.bits - 1):
            value -= 1 << slot.bits
        elif not slot.signed and value < 0:
            value += 1 << slot.bits
        return hex(value)
    if kind == "L":
        to = address + value + (16 if instruction.opcode.form.wide else 8)
        return f"`({labels[to]})" if labels is not None and to in labels else hex(to)
    if kind == "M":
        return "{" + ",".join(str(i) for i in range(slot.bits - 1, -1, -1) if value >> i & 1) + "}"
    if kind == "S":
        return instruction.opcode.form.special_names.get(value, f"SR{value}")
    return register_text(kind, value)
