"""A cubin's relocations, branches, `.nv.info` and symbols to names of addresses in code, numbered as nvdisasm does.

nvdisasm counts `.L_x_0`, `.L_x_1` ... through the whole file, in four rounds: the addresses that relocations name,
those that branches name, those that `.nv.info` lists (exits, targets of indirect branches ...), the ends of functions.
An address has one name; in the last two rounds one that has a name already uses up a number all the same. A function's
start is called by its name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from drawloom.sass.cubin_layout import OFFSET_LISTS
from drawloom.sass.elf import SHT_RELA, STT_FUNC, Elf, Relocation, Symbol, relocations_of
from drawloom.sass.info import read_info

INFO_PREFIX: Final = ".nv.info."
TEXT_PREFIX: Final = ".text."
#: Lists in `.nv.info` whose words are addresses; nvdisasm 12.4, which alone prints sm_61, has labels for none of them.
LABELLED: Final = OFFSET_LISTS - {"COOP_GROUP_MASK_REGIDS", "ATOM16_EMUL_INSTR_REG_MAP"}


class Labels:
    """The names of addresses, by the index of their section."""

    def __init__(self, elf: Elf) -> None:
        self.elf = elf
        self.count = 0
        self.names: dict[int, dict[int, str]] = {}
        self.pairs: dict[tuple[int, int], int] = {}  # (section, address) of a pair's second instruction: the first's
        for symbol in elf.symbols:
            if symbol.kind == STT_FUNC and symbol.section:
                self.of(symbol.section)[symbol.value] = symbol.name

    def of(self, section: int) -> dict[int, str]:
        return self.names.setdefault(section, {})

    def add(self, section: int, addresses: Iterable[int]) -> None:
        """Names those that have no name yet, in this order."""
        names = self.of(section)
        for given in addresses:
            address = self.pairs.get((section, given), given)
            if address not in names:
                names[address] = f".L_x_{self.count}"
                self.count += 1

    def add_counting(self, section: int, addresses: Iterable[int]) -> None:
        """The same, but each address uses up a number."""
        names = self.of(section)
        for address in addresses:
            names.setdefault(self.pairs.get((section, address), address), f".L_x_{self.count}")
            self.count += 1

    def add_relocated(self) -> None:
        """The first round: a function and an addend, `32@lo((k + .L_x_0@srel))`."""
        for table in self.elf.sections:
            if table.kind == SHT_RELA and table.info < len(self.elf.sections):
                for relocation in sorted(relocations_of(table), key=lambda relocation: relocation.offset):
                    symbol = symbol_of(self.elf, relocation)
                    if names_code(symbol, relocation):
                        self.add(symbol.section, [symbol.value + relocation.addend])

    def add_info(self, lists: frozenset[str], symbolic: set[tuple[int, int]]) -> None:
        """The third round: the words of these lists, and indirect branches with their targets; the targets of those
        that are `symbolic`, (section, address), twice, since the table in the constant bank has labels too."""
        places = {section.name: place for place, section in enumerate(self.elf.sections)}
        tables: list[tuple[int, list[int]]] = []
        for section in self.elf.sections:
            code = places.get(TEXT_PREFIX + section.name.removeprefix(INFO_PREFIX))
            if not section.name.startswith(INFO_PREFIX) or code is None:
                continue
            for attribute in read_info(section.data, section.name):
                if attribute.name in lists:
                    self.add_counting(code, attribute.words())
                elif attribute.name == "INDIRECT_BRANCH_TARGETS":
                    for branch, targets in indirect_branches(attribute.words()):
                        self.add_counting(code, [branch, *targets])
                        if (code, branch) in symbolic:
                            tables.append((code, targets))
        for code, targets in tables:
            self.add_counting(code, targets)

    def add_ends(self, wide: bool) -> None:
        """The last round, for `.size`. On sm_61 an end before a control word is not the start of the next function."""
        functions = [symbol for symbol in self.elf.symbols if symbol.kind == STT_FUNC and symbol.section]
        starts = {(symbol.section, symbol.value) for symbol in functions}
        for symbol in functions:
            end = symbol.value + symbol.size
            apart = not wide and end % 32 == 0 and (symbol.section, end) in starts
            self.add_counting(symbol.section, [end - 1 if apart else end])


def symbol_of(elf: Elf, relocation: Relocation) -> Symbol:
    """What a relocation refers to; a symbol without a name where the index is outside the table."""
    if relocation.symbol < len(elf.symbols):
        return elf.symbols[relocation.symbol]
    return Symbol("", 0, 0)


def names_code(symbol: Symbol, relocation: Relocation) -> bool:
    """Whether this is an address within a function, for which there is a label."""
    return symbol.kind == STT_FUNC and bool(symbol.section) and relocation.addend != 0


def indirect_branches(words: list[int]) -> Iterator[tuple[int, list[int]]]:
    """(address of the branch, its targets) of INDIRECT_BRANCH_TARGETS, up to where an entry is cut off."""
    place = 0
    while place + 3 <= len(words):
        targets = words[place + 3 : place + 3 + words[place + 2]]
        yield words[place], targets
        place += 3 + len(targets)
