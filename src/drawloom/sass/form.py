"""Forms, opcodes and slots: one row of the encoding tables, and a row with all its modifiers chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from librt.vecs import vec
from mypy_extensions import i64

from drawloom.errors import Error
from drawloom.sass.floats import FLOAT_KINDS, float_text

if TYPE_CHECKING:
    from drawloom.sass.access import Facts
    from drawloom.sass.effects import Effects

_HALF: Final = (1 << 64) - 1
NUMBER_KINDS: Final = frozenset("R UR P UP B SB N F M S".split())


class IsaError(Error):
    """An instruction that the tables do not have, or a value that an instruction cannot hold."""


class Slot:
    """One number among the operands.

    `operand` counts comma-separated operands from 0; `low` and `high` bound the value; `pieces` are (lowest bit
    of the word, width, lowest bit of the value).
    """

    def __init__(
        self,
        kind: str,
        operand: int,
        pieces: list[tuple[int, int, int]],
        signed: bool,
        inverted: bool,
        no_neutral: bool,
    ) -> None:
        high_bit = max(start + width for _, width, start in pieces)
        multiple = 1 << min(start for _, _, start in pieces)
        self.kind = kind
        self.operand = operand
        self.pieces = pieces
        self.signed = signed
        self.inverted = inverted  # the word holds the complement
        self.no_neutral = no_neutral  # RZ or PT makes another form
        self.multiple = multiple  # values are multiples of this
        self.bits = high_bit
        self.low = -(1 << (high_bit - 1)) if signed else 0
        self.high = (1 << (high_bit - 1)) - multiple if signed else (1 << high_bit) - multiple

    def fits(self, value: int) -> bool:
        """Whether the field holds this value, taken as signed or unsigned where it is an integer or a label."""
        if value % self.multiple or (self.no_neutral and value == self.high):
            return False
        if self.kind == "I2":
            return 1 < value < 1 << 31 and value != 1 << 16 and value & (value - 1) == 0
        return self.low <= value <= self.high or (self.kind == "I" and 0 <= value < 1 << self.bits)

    def __repr__(self) -> str:
        return f"Slot({self.kind}, operand {self.operand}, {self.low}..{self.high}, {self.pieces})"


class ModifierField:
    """Bits of a word that choose a modifier: for each value the text in each gap that it touches.

    `values` is in the order of preference: where several values print the same, the first is encoded.
    """

    def __init__(self, bits: list[int], gaps: list[int], values: dict[int, list[str]]) -> None:
        self.bits = bits
        self.gaps = gaps
        self.values = values
        self.low = bits[0]
        self.mask = (1 << len(bits)) - 1
        self.contiguous = bits[-1] - bits[0] + 1 == len(bits)

    def get(self, word: int) -> int:
        if self.contiguous:
            return word >> self.low & self.mask
        value = 0
        for place, bit in enumerate(self.bits):
            value |= (word >> bit & 1) << place
        return value

    def put(self, value: int) -> int:
        word = 0
        for place, bit in enumerate(self.bits):
            word |= (value >> place & 1) << bit
        return word


class Form:
    """One row of the tables: see docs/sass.md."""

    def __init__(
        self,
        index: int,
        base: str,
        structure: list[str],
        kinds: list[str],
        constants: list[int],
        slots: list[Slot],
        word: int,
        mask: int,
        fields: list[ModifierField],
        template: list[list[str | int]],
        guard: str,
        reuse: dict[int, int],
        emitted: bool,
        wide: bool,
        special_names: dict[int, str],
    ) -> None:
        self.index = index  # dense per target
        self.base = base
        self.structure = structure
        self.kinds = kinds  # of every number, those that never change included
        self.constants = constants  # per number: -1 where it is a slot, else its only value
        self.slots = slots
        self.word = word  # the fixed bits, and the usual values of bits that print nothing
        self.mask = mask  # which bits are fixed
        self.fields = fields
        self.template = template
        self.guard = guard  # "P", "UP" or "" where the instruction takes none
        self.reuse = reuse  # reuse bit -> number (as in `kinds`) whose register it keeps
        # IMAD.MOV is printed where a factor is RZ, IMAD.SHL where it is a power of two: the plain form comes last.
        self.rank = -mask.bit_count() - (1000 if base == "IMAD.MOV" else 0)
        self.checked = [slot for slot in slots if slot.no_neutral or slot.kind == "I2"]
        self.emitted = emitted  # ptxas was seen to use it
        self.wide = wide  # 128-bit words
        self.special_names = special_names
        operand_bits = inverted_bits = 0
        for slot in slots:
            for low, width, _ in slot.pieces:
                operand_bits |= ((1 << width) - 1) << low
                if slot.inverted:
                    inverted_bits |= ((1 << width) - 1) << low
        self.operand_bits = operand_bits
        self.inverted_bits = inverted_bits
        self.opcodes: dict[int, Opcode] = {}

    def matches(self, word: int) -> bool:
        """Whether a word, without guard and control, is of this form."""
        if (word ^ self.word) & self.mask:
            return False
        for modifier in self.fields:
            if modifier.get(word) not in modifier.values:
                return False
        for slot in self.checked:
            if not slot.fits(slot_value(slot, word)):
                return False
        if self.base == "IMAD.MOV":
            return self._moves(word)
        return True

    def _moves(self, word: int) -> bool:
        """Whether an IMAD is printed as a move: a factor is 0, or the factor is 1 and nothing is added."""
        numbers = list(self.constants)
        slots = iter(self.slots)
        for place, constant in enumerate(numbers):
            if constant < 0:
                numbers[place] = slot_value(next(slots), word)
        factor, kind = numbers[2], self.kinds[2]
        if numbers[1] == 255 or factor == (255 if kind == "R" else 63 if kind == "UR" else 0):
            return True
        return kind == "I" and factor == 1 and numbers[3] == 255

    def opcode(self, word: int) -> Opcode:
        """The opcode of a word of this form; its operands, guard and control may hold anything."""
        word = word & ~self.operand_bits | self.inverted_bits
        found = self.opcodes.get(word)
        if found is None:
            found = self.opcodes[word] = Opcode(self, word)
        return found

    def gap_texts(self, word: int) -> list[str]:
        """The modifiers' text in every gap."""
        chosen = [field.values[field.get(word)] for field in self.fields]
        texts = []
        for gap, items in enumerate(self.template):
            text = ""
            for item in items:
                if isinstance(item, str):
                    text += item
                else:
                    text += chosen[item][self.fields[item].gaps.index(gap)]
            texts.append(text)
        return texts

    def choose(self, gaps: list[str]) -> int | None:
        """The bits of the modifiers that print these texts, or None where no choice does."""
        return self._choose(gaps, 0, 0, gaps[0], [-1] * len(self.fields))

    def _choose(self, gaps: list[str], gap: int, item: int, rest: str, chosen: list[int]) -> int | None:
        items = self.template[gap]
        if item == len(items):
            if rest:
                return None
            if gap + 1 < len(self.template):
                return self._choose(gaps, gap + 1, 0, gaps[gap + 1], chosen)
            bits = 0
            for field, value in zip(self.fields, chosen):
                bits |= field.put(next(iter(field.values)) if value < 0 else value)
            return bits
        part = items[item]
        if isinstance(part, str):
            return self._choose(gaps, gap, item + 1, rest[len(part) :], chosen) if rest.startswith(part) else None
        field = self.fields[part]
        place = field.gaps.index(gap)
        if chosen[part] >= 0:
            text = field.values[chosen[part]][place]
            return self._choose(gaps, gap, item + 1, rest[len(text) :], chosen) if rest.startswith(text) else None
        for value, texts in field.values.items():
            if rest.startswith(texts[place]):
                chosen[part] = value
                found = self._choose(gaps, gap, item + 1, rest[len(texts[place]) :], chosen)
                if found is not None:
                    return found
        chosen[part] = -1
        return None


def slot_value(slot: Slot, word: int) -> int:
    """The value that a word holds in a slot."""
    value = 0
    for low, width, start in slot.pieces:
        value |= (word >> low & ((1 << width) - 1)) << start
    if slot.inverted:
        return slot.high - value
    if slot.signed and value >> (slot.bits - 1):
        value -= 1 << slot.bits
    return value


#: What encoding does with a value, as one number: the place of its slot, the lowest of its bits that are taken, the bit
#: that this goes to, 64 to 127 in the upper half, and how many there are.
PLACE_MASK: Final = 15
START_SHIFT: Final = 4
START_MASK: Final = 63
LOW_SHIFT: Final = 10
LOW_MASK: Final = 63
UPPER: Final = 1 << 16
WIDTH_SHIFT: Final = 17


def _pieces(slots: list[Slot]) -> list[int]:
    made: list[int] = []
    seen: set[int] = set()
    for place, slot in enumerate(slots):
        for low, width, start in slot.pieces:
            if low in seen:  # an operand that is printed twice
                continue
            seen.add(low)
            below = max(0, min(width, 64 - low))
            if below:
                made.append(_piece(place, start, below, low))
            if width > below:
                made.append(_piece(place, start + below, width - below, low + below))
    return made


def _piece(place: int, start: int, width: int, low: int) -> int:
    return place | start << START_SHIFT | low << LOW_SHIFT | width << WIDTH_SHIFT


def _signed(word: int) -> int:
    return word - (1 << 64) if word >> 63 else word


class Opcode:
    """A form with every modifier chosen. `word` has all bits except operands, guard and control."""

    def __init__(self, form: Form, word: int) -> None:
        self.form = form
        self.word = word
        #: Its halves as signed numbers.
        self.lower: i64 = _signed(word & _HALF)
        self.upper: i64 = _signed(word >> 64 & _HALF)
        self.slots = form.slots
        self.gaps = form.gap_texts(word)
        self.mnemonic = form.base.split(".")[0] + self.gaps[0]
        self.signature = _signature(self)
        self.pieces = vec[i64](_pieces(form.slots))
        #: What `effects` and `access.facts_of` made of it.
        self.effects: Effects | None = None
        self.facts: Facts | None = None

    def __repr__(self) -> str:
        return f"Opcode({self.mnemonic} {self.signature})"


NEUTRAL_NAMES: Final[dict[str, tuple[int, str]]] = {
    "R": (255, "RZ"),
    "UR": (63, "URZ"),
    "P": (7, "PT"),
    "UP": (7, "UPT"),
}


def register_text(kind: str, value: int) -> str:
    neutral = NEUTRAL_NAMES.get(kind)
    if neutral is not None and neutral[0] == value:
        return neutral[1]
    return f"{kind}{value}"


def kind_letter(kind: str) -> str:
    """The kind as a signature writes it."""
    return "F" if kind in FLOAT_KINDS else "I" if kind == "I2" else kind


def _signature(opcode: Opcode) -> str:
    form = opcode.form
    number = -1
    text = ""
    for place, token in enumerate(form.structure):
        if token in NUMBER_KINDS:
            number += 1
            constant = form.constants[number]
            kind = form.kinds[number]
            text += kind_letter(kind) if constant < 0 else constant_text(kind, constant)
        elif token != "_" or place:
            text += " " if token == "_" else token
        text += opcode.gaps[place + 1]
    return text


def constant_text(kind: str, value: int) -> str:
    """The text of a number that a form fixes."""
    if kind in FLOAT_KINDS:
        return float_text(kind, value)
    return hex(value) if kind in "IL" else register_text(kind, value)
