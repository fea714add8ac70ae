"""A cubin's code sections to text, one line an instruction: what `nvdisasm -c` prints, and the control bits.

Labels and their numbers are nvdisasm's (see `labels`), and so are the symbols of relocations (see `relocated`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from drawloom.errors import Error
from drawloom.sass.control import control_text, stall, switches
from drawloom.sass.cubin_layout import RELOCATION_NAMES
from drawloom.sass.decoder import DecodeError, decode, section_words
from drawloom.sass.elf import (
    SHT_REL,
    SHT_RELA,
    STT_FUNC,
    STT_SECTION,
    Elf,
    Section,
    Symbol,
    read_elf,
    relocations_of,
)
from drawloom.sass.instruction import Instruction
from drawloom.sass.isa import Target, load_target
from drawloom.sass.labels import LABELLED, TEXT_PREFIX, Labels, names_code, symbol_of
from drawloom.sass.relocated import Patch, expression, relocated

EM_CUDA: Final = 190
TEXT_COLUMN: Final = 84  # where the comment with the control bits begins
NO_CONTROL: Final = 0x7E0  # of padding: stall 0, may switch, no barriers; nvdisasm puts no space before its semicolon
ENDS_OF_BLOCKS: Final = frozenset(("BRA", "BRX", "EXIT", "CALL", "RET", "BSYNC"))


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
    """One `.text` section: its instructions, the names of its addresses, what its relocations patch."""

    name: str
    lines: list[Line]
    functions: dict[int, str]  # by address
    symbols: list[Symbol]  # at its addresses, the last of the file first, as nvdisasm has them
    labels: dict[int, str] = field(default_factory=dict)
    patches: dict[int, list[Patch]] = field(default_factory=dict)
    tables: set[int] = field(default_factory=set)  # the BRX whose table of targets a relocation names


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
    sections = {
        index: _code_section(elf, target, index, section)
        for index, section in enumerate(elf.sections)
        if section.name.startswith(TEXT_PREFIX)
    }
    labels = Labels(elf)
    if not target.wide:
        for index, code in sections.items():
            for first, second in pairwise(code.lines):
                if opens_pair(first, target):
                    labels.pairs[index, second.address] = labels.pairs[index, label_address(second)] = first.address
    labels.add_relocated()
    for index, code in sections.items():
        places = {place for line in code.lines for place in (line.address, label_address(line))}
        for line in code.lines:
            labels.add(index, [to for to in targets(line) if to in places])
            labels.count += line.address in code.tables  # the table's base uses up a number
    symbolic = {(index, branch) for index, code in sections.items() for branch in code.tables}
    labels.add_info(LABELLED if target.wide else frozenset(), symbolic)
    labels.add_ends(target.wide)
    for index, code in sections.items():
        code.labels = labels.of(index)
    _note_patches(elf, labels, sections)
    return target, list(sections.values())


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
    symbols = [s for s in reversed(elf.symbols) if s.section == index and s.kind in (STT_FUNC, STT_SECTION)]
    functions = {s.value: s.name for s in symbols if s.kind == STT_FUNC}
    code = CodeSection(section.name, lines, functions, symbols)
    code.tables = _branches_by_table(elf, code, index)
    return code


def _branches_by_table(elf: Elf, code: CodeSection, index: int) -> set[int]:
    """The indirect branches whose table a relocation names: that of an LDC before them in their block."""
    relocated_at = {
        relocation.offset
        for table in elf.sections
        if table.kind in (SHT_REL, SHT_RELA) and table.info == index
        for relocation in relocations_of(table)
    }
    found = set()
    has_table = False
    for line in code.lines:
        base = line.instruction.opcode.form.base if line.instruction is not None else ""
        if base == "LDC":
            has_table |= line.address in relocated_at
        elif base == "BRX" and has_table:
            found.add(line.address)
        if base in ENDS_OF_BLOCKS:
            has_table = False
    return found


def _note_patches(elf: Elf, labels: Labels, sections: dict[int, CodeSection]) -> None:
    for table in elf.sections:
        code = sections.get(table.info) if table.kind in (SHT_REL, SHT_RELA) else None
        if code is None:
            continue
        for relocation in relocations_of(table):
            symbol = symbol_of(elf, relocation)
            known = labels.of(symbol.section) if names_code(symbol, relocation) else {}
            kind = RELOCATION_NAMES.get(relocation.kind, "")
            patch = Patch(kind, expression(symbol, relocation, known), relocation.addend)
            code.patches.setdefault(relocation.offset, []).append(patch)


def label_address(line: Line) -> int:
    """Where a label of this instruction stands: on sm_61 before the control word, if that comes first."""
    narrow = line.instruction is not None and not line.instruction.opcode.form.wide
    return line.address - 8 if narrow and line.address % 32 == 8 else line.address


def opens_pair(line: Line, target: Target) -> bool:
    """Whether sm_61 issues this instruction together with the next."""
    return not target.wide and stall(line.control) == 0 and not switches(line.control)


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
    named = _names_by_address(section)
    end = 0  # of the line before
    after_pair = False
    for line in section.lines:
        out += [name + ":" for address in range(end, line.address + 1) for name in named.get(address, ())]
        pairs = opens_pair(line, target)
        out.append(_line_text(target, section, line, show_words, "{" if pairs else "}" if after_pair else ""))
        end, after_pair = line.address + 1, pairs
    out += [name + ":" for address in sorted(named) if address >= end for name in named[address]]
    return "\n".join(out) + "\n"


def _names_by_address(section: CodeSection) -> dict[int, list[str]]:
    """What stands before an address: the symbols there, or its label."""
    named: dict[int, list[str]] = {}
    for symbol in section.symbols:
        named.setdefault(symbol.value, []).append(symbol.name or section.name)
    for address, label in section.labels.items():
        named.setdefault(address, [label])
    return named


def _line_text(target: Target, section: CodeSection, line: Line, show_words: bool, brace: str) -> str:
    """One line; `brace` opens or closes a pair of instructions that sm_61 issues at once."""
    width = 32 if target.wide else 16
    word = f"0x{line.word:0{width}x}"
    if line.instruction is None:
        return f"        /*{line.address:04x}*/ {'':>18}.word {word} ; /* not in the tables of sm_{target.number} */"
    text = instruction_text(section, line)
    guard, rest = ("", text) if text[0] != "@" else tuple(text.split(" ", 1))
    end = "        }" if brace == "}" else ";" if line.control == NO_CONTROL or text[-2:] == "*)" else " ;"
    lead = f"{'{':>10}{guard:>8}" if brace == "{" else f"{guard:>18}"
    shown = f"        /*{line.address:04x}*/{lead} {rest}{end}"
    comment = control_text(line.control) + (f" {word}" if show_words else "")
    return f"{shown:<{TEXT_COLUMN}}/* {comment} */"


def instruction_text(section: CodeSection, line: Line) -> str:
    """The instruction's text with labels, and with the symbol of a relocation in place of the number it patches."""
    assert line.instruction is not None
    text = line.instruction.text(line.address, section.labels)
    for patch in section.patches.get(line.address, ()):
        text = relocated(text, patch)
    if line.address in section.tables:
        text = text[: text.rindex(" ")] + f" `((({section.name} - .) - 0x10))"
    return text
