"""A cubin's code sections to text, one line an instruction: what `nvdisasm -c` prints, and the control bits.

Labels are numbered as nvdisasm numbers them: `.L_x_0`, `.L_x_1` ... in the order in which instructions of the whole
file first name them; a label at a function is the function's name.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from drawloom.errors import Error
from drawloom.sass.control import control_text
from drawloom.sass.decoder import DecodeError, decode, section_words
from drawloom.sass.elf import SHT_REL, SHT_RELA, STT_FUNC, Elf, Section, read_elf, relocations_of
from drawloom.sass.instruction import Instruction
from drawloom.sass.isa import Target, load_target

EM_CUDA: Final = 190
TEXT_PREFIX: Final = ".text."
TEXT_COLUMN: Final = 84  # where the comment with the control bits begins


class ListingError(Error):
    """A file that is no cubin, or one for a target that we do not know."""


@dataclass(slots=True)
class Line:
    """One instruction word: `instruction` is None where the word is not in the tables."""

    address: int
    word: int
    control: int
    instruction: Instruction | None


@dataclass(slots=True)
class CodeSection:
    """One `.text` section: its instructions, the functions in it and the labels that its instructions name."""

    name: str
    lines: list[Line]
    functions: dict[int, str]  # by address
    symbols: dict[int, str] = field(default_factory=dict)  # what a relocation at this address refers to
    labels: dict[int, str] = field(default_factory=dict)


def list_cubin(data: bytes, show_words: bool = False, only: str = "") -> str:
    """The listing of a cubin; `show_words` adds the words in hex, `only` names one function. Raises Error."""
    target, sections = read_code(data)
    if only:
        sections = [section for section in sections if only in section.functions.values()]
        if not sections:
            raise ListingError(f"no function {only} in the cubin")
    parts = [f"\t.target\tsm_{target.number}\n"]
    parts += [_section_text(target, section, show_words) for section in sections]
    return "\n".join(parts)


def read_code(data: bytes) -> tuple[Target, list[CodeSection]]:
    """The target and the code sections of a cubin, decoded and with labels. Raises Error for what is no cubin."""
    elf = read_elf(data)
    if elf.machine != EM_CUDA:
        raise ListingError(f"an ELF file for machine {elf.machine}, expected a cubin ({EM_CUDA})")
    target = load_target(target_of(elf))
    sections = [
        _code_section(elf, target, index, section)
        for index, section in enumerate(elf.sections)
        if section.name.startswith(TEXT_PREFIX)
    ]
    count = 0
    for section in sections:
        count = _number_labels(section, count)
    return target, sections


def target_of(elf: Elf) -> int:
    """The number of the architecture: the low byte of the flags before CUDA 13, the second byte since."""
    number = elf.flags >> 8 & 0xFF if elf.abi_version >= 8 else elf.flags & 0xFF
    return number


def _code_section(elf: Elf, target: Target, index: int, section: Section) -> CodeSection:
    lines = []
    for address, word, control in section_words(target, section.data):
        try:
            found: Instruction | None = decode(target, word, control)
        except DecodeError:
            found = None
        lines.append(Line(address, word, control, found))
    functions = {s.value: s.name for s in elf.symbols if s.section == index and s.kind == STT_FUNC}
    code = CodeSection(section.name, lines, functions)
    for table in elf.sections:
        if table.kind in (SHT_REL, SHT_RELA) and table.info == index:
            for relocation in relocations_of(table):
                if relocation.symbol < len(elf.symbols):
                    code.symbols[relocation.offset] = elf.symbols[relocation.symbol].name
    return code


def _number_labels(section: CodeSection, count: int) -> int:
    """Names every address that an instruction names; returns how many numbers are used so far."""
    addresses = {label_address(line) for line in section.lines}
    for line in section.lines:
        for to in targets(line):
            if to in section.labels or to not in addresses:
                continue  # it prints as a number
            if to in section.functions:
                section.labels[to] = section.functions[to]
            else:
                section.labels[to] = f".L_x_{count}"
                count += 1
    return count


def label_address(line: Line) -> int:
    """Where a label of this instruction stands: on sm_61 before the control word, if that comes first."""
    narrow = line.instruction is not None and not line.instruction.opcode.form.wide
    return line.address - 8 if narrow and line.address % 32 == 8 else line.address


def targets(line: Line) -> list[int]:
    """The absolute addresses that an instruction names as labels."""
    found = line.instruction
    if found is None:
        return []
    size = 16 if found.opcode.form.wide else 8
    return [line.address + size + v for slot, v in zip(found.opcode.slots, found.values) if slot.kind == "L"]


def _section_text(target: Target, section: CodeSection, show_words: bool) -> str:
    out = [f"//--------------------- {section.name:<25} --------------------------"]
    out.append(f'\t.section\t{section.name},"ax",@progbits')
    for line in section.lines:
        here = label_address(line)
        if here in section.functions:
            out.append(section.functions[here] + ":")
        elif here in section.labels:
            out.append(section.labels[here] + ":")
        out.append(_line_text(target, section, line, show_words))
    return "\n".join(out) + "\n"


def _line_text(target: Target, section: CodeSection, line: Line, show_words: bool) -> str:
    width = 32 if target.wide else 16
    word = f"0x{line.word:0{width}x}"
    if line.instruction is None:
        return f"        /*{line.address:04x}*/ {'':>18}.word {word} ; /* not in the tables of sm_{target.number} */"
    text = instruction_text(section, line)
    guard, rest = ("", text) if text[0] != "@" else tuple(text.split(" ", 1))
    shown = f"        /*{line.address:04x}*/{guard:>18} {rest} ;"
    comment = control_text(line.control) + (f" {word}" if show_words else "")
    return f"{shown:<{TEXT_COLUMN}}/* {comment} */"


def instruction_text(section: CodeSection, line: Line) -> str:
    """The instruction's text with labels, and with the symbol of a relocation in place of the number it patches."""
    assert line.instruction is not None
    labels = section.labels
    symbol = section.symbols.get(line.address)
    if symbol is not None:
        labels = labels | dict.fromkeys(targets(line), symbol)
    return line.instruction.text(line.address, labels)
