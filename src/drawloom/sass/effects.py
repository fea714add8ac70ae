"""From an opcode to what it reads and writes, how wide, and what else it does: the ground of everything that moves,
renames, times or interprets instructions.

    found = effects(opcode)               # computed once for an opcode
    for place, words in found.reads: ...  # values[place] .. values[place] + words - 1, of kind slots[place].kind

Reading an instruction: `registers_read(instruction)` and `registers_written(instruction)` give (file, number) of every
32-bit word and predicate, guard included, RZ and PT left out.
"""

from __future__ import annotations

from typing import Final

from librt.vecs import vec
from mypy_extensions import i64

from drawloom.sass.effects_table import CLASS_OF, CONVERGENT, FLOW_OF, MEMORY, NOTED, PINNED, WIDTHS, WRITTEN
from drawloom.sass.form import NUMBER_KINDS, Opcode, Slot
from drawloom.sass.instruction import Instruction
from drawloom.sass.machine import BARRIER, FILES, GENERAL, NEUTRAL, PREDICATE, UNIFORM, UNIFORM_PREDICATE

#: The register file of sm_61's condition codes: one register, number 0. Only in `fixed_reads` and `fixed_writes`.
CONDITION: Final = 5

_DATA_WORDS: Final[dict[str, int]] = {
    "64": 2, "U64": 2, "S64": 2, "F64": 2, "96": 3, "128": 4, "F32x2": 2, "F32x4": 4,
    "F16x4": 2, "F16x8": 4, "BF16x4": 2, "BF16x8": 4, "TRANS64": 2,
}  # fmt: skip
#: Units whose instructions only compute.
_PURE: Final = ("alu", "fma", "half", "double", "special")
_WIDE_TYPES: Final = frozenset(("F64", "S64", "U64"))
#: A register slot as one number: whether it means general registers, above that how many neighbours it means, above
#: that its place in the values.
IS_GENERAL: Final = 1
WORDS_SHIFT: Final = 1
WORDS_MASK: Final = 7
PLACE_SHIFT: Final = 4
_TYPES: Final = frozenset("F64 F32 F16 BF16 S64 U64 S32 U32 S16 U16 S8 U8 TF32".split())


class Effects:
    """What an opcode does.

    `reads` and `writes` hold (place in `opcode.slots`, 32-bit words or predicates from there on) for every register
    slot; a place can be in both. `fixed_reads` and `fixed_writes` hold (file, first number, count) of registers that
    no slot names: all predicates of `P2R R0, PR`, sm_61's condition codes. `mask` is the place of the immediate that
    says which of those predicates, or -1.

    `unit` is the class of `effects_table.CLASSES`, "unknown" where the table does not have the mnemonic (nothing else
    of such Effects may be trusted, and `pinned` is set). `flow` is a key of `effects_table.FLOWS` or "". `memory` is
    "", "load", "store", "atomic" or "fence", in `space` ("global", "shared", "local", "constant", "generic").
    `label` is the place of the label slot, or -1; `branch_label` too where it names a block: neither a
    call's nor a return's. `pinned`: nothing may be moved across it. `convergent`: its result
    depends on which lanes execute it together. `guard_file` is -1 where the form takes no guard.
    """

    def __init__(self, base: str, modifiers: list[str]) -> None:
        self.base = base
        self.modifiers = modifiers
        self.reads: list[tuple[int, int]] = []
        self.writes: list[tuple[int, int]] = []
        self.fixed_reads: list[tuple[int, int, int]] = []
        self.fixed_writes: list[tuple[int, int, int]] = []
        self.mask = -1
        self.unit = CLASS_OF.get(base, "unknown")
        self.flow = FLOW_OF.get(base, "")
        self.memory, self.space = MEMORY.get(base, ("", ""))
        self.label = -1
        self.branch_label = -1
        self.pinned = base in PINNED or self.flow != "" or self.unit == "unknown"
        self.convergent = base in CONVERGENT
        self.guard_file = PREDICATE
        self.data_words = 1  # of one element that is loaded or stored
        #: `reads` and `writes` once more, a number each (`PLACE_SHIFT`), for those who go through many instructions;
        #: the places of all register slots; whether this is a move from one general register to another, an operation
        #: LOP3, one that does nothing but write registers that slots name; whether it reads neighbouring registers, or
        #: a special one.
        self.read_places = vec[i64]()
        self.write_places = vec[i64]()
        self.register_places = vec[i64]()
        self.is_copy = False
        self.is_logic = base == "LOP3"
        self.only_computes = False
        self.reads_groups = False
        #: Whether a cubin says where it stands.
        self.is_noted = base in NOTED
        self.reads_special = base in ("S2R", "S2UR", "CS2R")


class Number:
    """A number among the operands: its kind, its place among the slots (-1: `constant`), the text right after it."""

    def __init__(self, kind: str, place: int, constant: int, address: str, suffix: str) -> None:
        self.kind = kind
        self.place = place
        self.constant = constant
        self.address = address  # "" outside of brackets, else the text before the bracket and the bracket itself
        self.suffix = suffix


class Operand:
    """What stands between two commas: numbers and words such as `PR`, `CC`."""

    def __init__(self) -> None:
        self.numbers: list[Number] = []
        self.words = ""

    def register(self) -> str:
        """The file's letters where this operand is one register, else ""."""
        if len(self.numbers) == 1 and not self.numbers[0].address and self.numbers[0].kind in FILES:
            return self.numbers[0].kind
        return ""


def effects(opcode: Opcode) -> Effects:
    """What an opcode reads, writes and does. The same object every time for the same opcode, `opcode.effects` behind
    that: who goes through many instructions looks there first."""
    found = opcode.effects
    if found is None:
        found = opcode.effects = _of_opcode(opcode)
    return found


def _of_opcode(opcode: Opcode) -> Effects:
    form = opcode.form
    places: list[int] = []
    slot = 0
    for constant in form.constants:
        places.append(slot if constant < 0 else -1)
        slot += constant < 0
    kinds = [slot.kind if slot.kind in FILES or slot.kind == "L" else "I" for slot in form.slots]
    found = derive(opcode.mnemonic, form.structure, opcode.gaps, places, form.constants, kinds, form.wide)
    if form.wide:
        _hidden_descriptor(found, opcode)
    if not form.guard:
        found.guard_file = -1
    elif form.guard == "UP":
        found.guard_file = UNIFORM_PREDICATE
    slots = form.slots
    found.read_places = _numbers(found.reads, slots)
    found.write_places = _numbers(found.writes, slots)
    found.register_places = vec[i64]([place for place, slot in enumerate(slots) if slot.kind in FILES])
    found.is_copy = found.base == "MOV" and [slot.kind for slot in slots] == ["R", "R"]
    found.branch_label = -1 if found.flow in ("call", "return") or found.base in ("LEPC", "PRET") else found.label
    does_more = found.pinned or found.memory or found.flow or found.fixed_writes
    found.only_computes = found.unit in _PURE and bool(found.writes) and not does_more
    found.reads_groups = found.memory == "atomic" or any(words > 1 for _, words in found.reads)
    return found


def _numbers(places: list[tuple[int, int]], slots: list[Slot]) -> vec[i64]:
    return vec[i64]([p << PLACE_SHIFT | words << WORDS_SHIFT | (slots[p].kind == "R") for p, words in places])


def derive(
    mnemonic: str,
    structure: list[str],
    gaps: list[str],
    places: list[int],
    constants: list[int],
    kinds: list[str],
    wide: bool,
) -> Effects:
    """Effects from the pieces of an instruction's text (see syntax.py). `places` and `constants` have an entry for
    every number: the slot it is in, or -1 and its value. `kinds` has the kind of every slot. `wide`: 128-bit words."""
    parts = mnemonic.split(".")
    found = Effects(parts[0], parts[1:])
    operands = _operands(structure, gaps, places, constants)
    for place, kind in enumerate(kinds):
        if kind == "L":
            found.label = place
    written = _written(found.base, operands)
    for index, operand in enumerate(operands):
        for number in operand.numbers:
            if number.kind not in FILES:
                continue
            is_written = index < written and not number.address
            words = _words(found, operands, index, number, is_written, wide)
            _access(found, number, words, is_written)
        if operand.words:
            _fixed(found, operand, index < written or (index == 0 and found.base in ("R2P", "UR2UP")), kinds)
    if not wide:
        _condition_codes(found, operands)
    _barriers(found)
    for word in found.modifiers:
        found.data_words = max(found.data_words, _DATA_WORDS.get(word, 1))
    return found


def _operands(structure: list[str], gaps: list[str], places: list[int], constants: list[int]) -> list[Operand]:
    operands: list[Operand] = []
    address = ""
    number = 0
    for index, token in enumerate(structure):
        if token == "," or not operands:
            operands.append(Operand())
        last = operands[-1]
        if token in NUMBER_KINDS:
            constant = constants[number]
            last.numbers.append(Number(token, places[number], constant, address, gaps[index + 1]))
            number += 1
            continue
        if token[-1] == "[":
            address = token
        elif token == "]":
            address = ""
        if token in ("_", ",") or token[-1] != "[":
            last.words += gaps[index + 1].strip("-!|~")
    return operands


def _written(base: str, operands: list[Operand]) -> int:
    """How many operands, from the first on, are written."""
    count = WRITTEN.get(base)
    if count is not None:
        return count if count >= 0 else len(operands) - 1
    seen = False
    for index, operand in enumerate(operands):
        kind = operand.register()
        if kind in ("P", "UP"):
            continue
        if operand.words and not operand.numbers and not seen and index == 0:
            return 1
        if kind == "" or seen:
            return index
        seen = True
    return len(operands)


def _words(found: Effects, operands: list[Operand], index: int, number: Number, is_written: bool, wide: bool) -> int:
    """How many registers an operand has."""
    if number.kind not in ("R", "UR"):
        return 1
    if number.address:
        return _address_words(found, number)
    rule = WIDTHS.get(found.base, "")
    modifiers = found.modifiers
    if rule == "double":
        return 2
    if rule == "double sources":
        return 1 if is_written else 2
    if rule == "wide":
        return _wide_words(modifiers, operands, index, is_written, wide)
    if rule == "convert":
        types = [word for word in modifiers if word in _TYPES]
        return 2 if _convert_type(found.base, types, is_written) in _WIDE_TYPES else 1
    if rule == "code address":
        return 2 if wide else 1
    if rule == "data":
        words = max([_DATA_WORDS.get(word, 1) for word in modifiers], default=1)
        return 2 * words if not wide and not is_written and _swaps(modifiers, operands) else words
    if rule == "special pair":
        return 1 if "32" in modifiers or not wide else 2
    if rule == "match":
        return 2 if "U64" in modifiers and not is_written else 1
    return 1


def _swaps(modifiers: list[str], operands: list[Operand]) -> bool:
    """sm_61's compare and swap has one operand for both values, in consecutive registers."""
    return ("CAS" in modifiers or "CAST" in modifiers) and sum(operand.register() == "R" for operand in operands) == 2


def _address_words(found: Effects, number: Number) -> int:
    """Generic and global addresses, descriptors and handles of constant banks have 64 bits."""
    if number.address == "desc[" or number.address == "cx[":
        return 2
    if number.address != "[":
        return 1
    return 2 if "E" in found.modifiers and ".U32" not in number.suffix else 1


def _wide_words(modifiers: list[str], operands: list[Operand], index: int, is_written: bool, wide: bool) -> int:
    """IMAD: the product of .WIDE has 64 bits, and what is added to it and to .HI's."""
    if not wide:
        return 1
    if is_written:
        return 2 if "WIDE" in modifiers else 1
    last = max(place for place, operand in enumerate(operands) if operand.register() not in ("P", "UP"))
    return 2 if index == last and ("WIDE" in modifiers or "HI" in modifiers) else 1


def _convert_type(base: str, types: list[str], is_written: bool) -> str:
    """The type of the operand of a conversion. What the mnemonic leaves out has 32 bits."""
    if len(types) >= 2:
        return types[0] if is_written else types[1]
    if not types:
        return ""
    if base == "FRND":
        return types[0]
    of_written = (types[0] in ("F64", "F32", "F16", "BF16")) == (base == "I2F")
    return types[0] if of_written == is_written else ""


def _access(found: Effects, number: Number, words: int, is_written: bool) -> None:
    if number.place >= 0:
        (found.writes if is_written else found.reads).append((number.place, words))
        return
    file = FILES[number.kind]
    if number.constant != NEUTRAL[file]:
        (found.fixed_writes if is_written else found.fixed_reads).append((file, number.constant, words))


def _fixed(found: Effects, operand: Operand, is_written: bool, kinds: list[str]) -> None:
    """Words that stand for registers: PR, UPR."""
    word = operand.words.split(".")[0]
    if word not in ("PR", "UPR"):
        return
    file = PREDICATE if word == "PR" else UNIFORM_PREDICATE
    (found.fixed_writes if is_written else found.fixed_reads).append((file, 0, 7))
    if kinds and kinds[-1] == "I":
        found.mask = len(kinds) - 1


def _condition_codes(found: Effects, operands: list[Operand]) -> None:
    """sm_61: `R0.CC` as a destination writes them; .X, `CC` as an operand and a test of a branch read them."""
    for index, operand in enumerate(operands):
        if any(".CC" in number.suffix for number in operand.numbers):
            found.fixed_writes.append((CONDITION, 0, 1))
        if operand.words.split(".")[0] == "CC":
            is_written = index == 0 and found.base == "R2P"
            (found.fixed_writes if is_written else found.fixed_reads).append((CONDITION, 0, 1))
    if "X" in found.modifiers:
        found.fixed_reads.append((CONDITION, 0, 1))


def _barriers(found: Effects) -> None:
    """Convergence barriers that are changed although they stand as sources."""
    if found.base == "BREAK" or (found.base == "BMOV" and "CLEAR" in found.modifiers):
        found.writes.extend((place, words) for place, words in found.reads if (place, words) not in found.writes)


def _hidden_descriptor(found: Effects, opcode: Opcode) -> None:
    """sm_80 to sm_89: bit 91 of an access through `[R2.64]` says that it has a descriptor in a pair of uniform
    registers, which nvdisasm does not print there (on sm_90 it does, as `desc[UR4]`)."""
    if "E" not in found.modifiers or not opcode.word >> 91 & 1 or found.memory in ("", "fence"):
        return
    if any(opcode.slots[place].kind == "UR" for place, _ in found.reads):
        return
    number = opcode.word >> (32 if found.memory == "load" else 64) & 63
    if number != NEUTRAL[UNIFORM]:
        found.fixed_reads.append((UNIFORM, number, 2))


def registers_read(instruction: Instruction) -> list[tuple[int, int]]:
    """(file, number) of every register that an instruction with assigned registers reads, its guard included."""
    found = effects(instruction.opcode)
    names = _names(instruction, found.reads, found.fixed_reads, found.mask)
    if instruction.guard & 7 != 7 and found.guard_file >= 0:
        names.append((found.guard_file, instruction.guard & 7))
    return names


def registers_written(instruction: Instruction) -> list[tuple[int, int]]:
    """(file, number) of every register that an instruction with assigned registers writes."""
    found = effects(instruction.opcode)
    return _names(instruction, found.writes, found.fixed_writes, found.mask)


def _names(
    instruction: Instruction, slots: list[tuple[int, int]], fixed: list[tuple[int, int, int]], mask: int
) -> list[tuple[int, int]]:
    names: list[tuple[int, int]] = []
    for place, words in slots:
        file = FILES[instruction.opcode.slots[place].kind]
        first = instruction.values[place]
        if first != NEUTRAL[file]:
            names.extend((file, first + word) for word in range(words))
    for file, first, count in fixed:
        chosen = instruction.values[mask] if mask >= 0 and count == 7 else -1
        names.extend((file, first + word) for word in range(count) if chosen >> word & 1)
    return names


def pinned(instruction: Instruction) -> bool:
    """Whether nothing may move across this instruction: `Effects.pinned`, and what reads a clock or a timer."""
    found = instruction.opcode.effects or effects(instruction.opcode)
    if found.pinned or not found.reads_special:
        return found.pinned
    for slot, value in zip(instruction.opcode.slots, instruction.values):
        if slot.kind == "S":
            name = instruction.opcode.form.special_names.get(value, "")
            return "CLOCK" in name or "TIMER" in name
    return False


__all__ = [
    "BARRIER", "CONDITION", "GENERAL", "PREDICATE", "UNIFORM", "UNIFORM_PREDICATE",
    "Effects", "derive", "effects", "pinned", "registers_read", "registers_written",
]  # fmt: skip
