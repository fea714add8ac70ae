"""Text to instructions: what nvdisasm prints, read back."""

from __future__ import annotations

from drawloom.sass.control import DEFAULT_CONTROL, REUSE_SHIFT
from drawloom.sass.floats import FLOAT_KINDS, float_bits
from drawloom.sass.form import Form, IsaError
from drawloom.sass.instruction import Instruction, reuse_of
from drawloom.sass.isa import Target
from drawloom.sass.syntax import Parsed, drop_second_of_pair, scan


def parse_instruction(target: Target, text: str, address: int = 0, control: int = DEFAULT_CONTROL) -> Instruction:
    """The instruction of one line without its address. `address` is where it stands, for labels; `.reuse` in the text
    sets the reuse bits of `control`. Raises IsaError."""
    parsed = scan(text)
    if not target.wide:
        drop_second_of_pair(parsed)
    gaps = ["".join(gap) for gap in parsed.gaps]
    for form in target.by_key(parsed.key()):
        values = _values(target, form, parsed, address)
        if values is None:
            continue
        bits = form.choose(gaps)
        if bits is None:
            continue
        opcode = form.opcode(form.word | bits)
        for bit, number in reuse_of(opcode).items():
            if number in parsed.reuse:
                control |= 1 << (REUSE_SHIFT + bit)
        return Instruction(opcode, values, parsed.guard, control)
    raise IsaError(f"sm_{target.number} has no instruction {text.strip()!r}")


def _values(target: Target, form: Form, parsed: Parsed, address: int) -> list[int] | None:
    """The values for the form's slots, or None where one does not fit."""
    values: list[int] = []
    slots = iter(form.slots)
    for kind, constant, raw in zip(form.kinds, form.constants, parsed.values):
        if kind in FLOAT_KINDS:
            try:
                value = float_bits(kind, str(raw))
            except ValueError:
                return None
        elif kind == "S":
            value = target.special(str(raw))
        else:
            assert isinstance(raw, int)
            value = raw - address - target.word_bytes if kind == "L" else raw
        if constant >= 0:
            if value != constant:
                return None
            continue
        slot = next(slots)
        if not slot.fits(value):
            wrapped = value - (1 << slot.bits)  # an address without a register prints unsigned
            if not (slot.signed and kind in "IL" and slot.fits(wrapped)):
                return None
            value = wrapped
        values.append(value)
    return values
