"""Random words of every form, decoded and printed by us and by nvdisasm, and the other way about."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from drawloom.sass.decoder import DecodeError, decode
from drawloom.sass.encoding import encode
from drawloom.sass.form import Form
from drawloom.sass.isa import Target
from drawloom.sass.syntax import NEUTRAL
from tools.isa import vendor
from tools.isa.oracle import PLAIN_CONTROL


@dataclass
class Mismatch:
    form: Form
    word: int
    ours: str
    theirs: str


@dataclass
class Report:
    asked: int = 0
    illegal: int = 0
    mismatches: list[Mismatch] = field(default_factory=list)
    silent: list[Form] = field(default_factory=list)  # forms of which nvdisasm took no word


def random_value(chance: random.Random, slot_kind: str, low: int, high: int, multiple: int, bits: int) -> int:
    if slot_kind == "I2":
        return 1 << chance.randrange(bits)
    if slot_kind in NEUTRAL:
        return chance.choice([NEUTRAL[slot_kind], 2, 4, chance.randrange(min(high, 63) & ~3 or 1)])
    if slot_kind in ("B", "SB"):
        return chance.randrange(0, min(high, 5) + 1)
    span = (high - low) // multiple
    return (
        low + multiple * chance.choice([0, 1, 2, span, chance.randint(0, span), chance.randint(0, span)])
        if (slot_kind != "I" or chance.random() < 0.5)
        else multiple * chance.randint(0, min(high // multiple, 63))
    )


def random_word(chance: random.Random, form: Form, changed: int) -> int:
    """A word of the form: its first modifiers but for `changed` of its fields, random operands."""
    word = form.word
    picked = chance.sample(range(len(form.fields)), min(changed, len(form.fields)))
    for index, modifier in enumerate(form.fields):
        values = list(modifier.values)
        word |= modifier.put(chance.choice(values) if index in picked else values[0])
    for slot in form.slots:
        value = random_value(chance, slot.kind, slot.low, slot.high, slot.multiple, slot.bits)
        if slot.no_neutral and value == slot.high:
            value = 0
        if slot.inverted:
            value = slot.high - value
        for low, width, start in slot.pieces:
            word = word & ~(((1 << width) - 1) << low) | (value >> start & ((1 << width) - 1)) << low
    return word


def completed(target: Target, form: Form, word: int) -> int:
    """The word with no guard and plain control bits."""
    if target.wide:
        return word | 7 << 12 | PLAIN_CONTROL
    return word | 7 << 16 if form.guard else word


def with_operands(form: Form, word: int) -> int:
    """The word with small even numbers in its operands, which no alignment rule forbids."""
    for slot in form.slots:
        value = 2 * slot.multiple if slot.kind in ("I2", "B", "SB", "R", "UR", "P", "UP") else 4 * slot.multiple
        if slot.inverted:
            value = slot.high - value
        for low, width, start in slot.pieces:
            word = word & ~(((1 << width) - 1) << low) | (value >> start & ((1 << width) - 1)) << low
    return word


def faults(target: Target, words: list[tuple[Form, int]]) -> list[bool]:
    """For every word whether nvdisasm refuses it or prints it otherwise."""
    full = [completed(target, form, word) for form, word in words]
    found = []
    for place, theirs in enumerate(vendor.texts_of(full, target.number)):
        legal = bool(theirs) and "?" not in theirs and "INVALID" not in theirs
        address = vendor.address_of(place % vendor.BATCH, target.number)
        found.append(not legal or our_text(target, full[place], address) != theirs)
    return found


def check_words(target: Target, words: list[tuple[Form, int]]) -> Report:
    """Asks nvdisasm about words and compares its text with ours; an illegal word is counted only."""
    report = Report(asked=len(words))
    full = [completed(target, form, word) for form, word in words]
    taken: dict[int, int] = {}
    for place, ((form, word), theirs) in enumerate(zip(words, vendor.texts_of(full, target.number))):
        taken.setdefault(form.index, 0)
        if not theirs or "?" in theirs or "INVALID" in theirs:
            report.illegal += 1
            continue
        taken[form.index] += 1
        address = vendor.address_of(place % vendor.BATCH, target.number)
        ours = our_text(target, full[place], address)
        if ours != theirs:
            report.mismatches.append(Mismatch(form, word, ours, theirs))
    by_index = {form.index: form for form, _ in words}
    report.silent = [by_index[index] for index, count in taken.items() if not count]
    return report


def our_text(target: Target, word: int, address: int) -> str:
    try:
        instruction = decode(target, word)
    except DecodeError as refusal:
        return str(refusal)
    again = encode(instruction)
    if again != word:
        return f"encoded as {again:#x}"
    return instruction.text(address)


def check_forms(target: Target, rounds: int, seed: int) -> Report:
    """Checks random words of every form: one changed modifier, then more and more of them."""
    chance = random.Random(seed)
    words = []
    for form in target.all_forms():
        for turn in range(rounds):
            words.append((form, random_word(chance, form, turn % 4 if turn < rounds // 2 else turn)))
    return check_words(target, words)
