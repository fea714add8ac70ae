"""The bytes of a cubin to an Assembly: what `cubin_writer` writes, and what ptxas does.

What an Assembly has no place for (frame and debug information, the name of the tool) is left out. Every number is
checked before it is used as a place or an index; whatever does not fit raises ElfError.
"""

from __future__ import annotations

import struct
from typing import Final

from drawloom.sass.assembly import (
    CONST,
    GLOBAL,
    LOCAL,
    SHARED,
    VISIBLE,
    WEAK,
    AssembledFunction,
    Assembly,
    BankSymbol,
    Part,
    Relocation,
    Variable,
)
from drawloom.sass.cubin_info import read_parameter
from drawloom.sass.cubin_layout import (
    BARRIERS_SHIFT,
    EM_CUDA,
    LAYOUTS,
    OFFSET_LISTS,
    RELOCATION_NAMES,
    SPECIFIC,
    STO_CUDA_ENTRY,
    STO_CUDA_MANAGED,
    STO_CUDA_SPACE,
    STT_CUDA_OBJECT,
    TOOLKITS,
)
from drawloom.sass.elf import (
    ET_REL,
    SHT_REL,
    SHT_RELA,
    STB_LOCAL,
    STB_WEAK,
    STT_FUNC,
    STT_OBJECT,
    Elf,
    ElfError,
    Section,
    Symbol,
    read_elf,
    relocations_of,
    string_at,
)
from drawloom.sass.info import Attribute, read_info
from drawloom.sass.line_table import read_line_table

MEMORY: Final[dict[str, str]] = {".nv.global": GLOBAL, ".nv.global.init": GLOBAL, ".nv.constant3": CONST}
NO_TARGET: Final = 0


def read_assembly(data: bytes) -> Assembly:
    """What is in a cubin. Raises ElfError for anything that is not one, or damaged."""
    elf = read_elf(data)
    if elf.machine != EM_CUDA:
        raise ElfError(f"an ELF file for machine {elf.machine}, not a cubin")
    return _Reader(elf).read()


class _Reader:
    def __init__(self, elf: Elf) -> None:
        self.elf = elf
        self.assembly = _header(elf)
        self.layout = LAYOUTS.get(self.assembly.target)
        self.places: dict[str, int] = {}  # of sections; a name's first
        for place, section in enumerate(elf.sections):
            self.places.setdefault(section.name, place)
        self.members: dict[int, list[int]] = {}  # the symbols of a section
        for place, symbol in enumerate(elf.symbols):
            self.members.setdefault(symbol.section, []).append(place)
        self.functions: dict[int, AssembledFunction] = {}  # by symbol
        self.parts: dict[int, Part] = {}
        self.relocations: dict[int, list[Relocation]] = {}  # by the section that they patch

    def read(self) -> Assembly:
        self.read_relocations()
        for place, section in enumerate(self.elf.sections):
            if section.name.startswith(".text.") and self.places[section.name] == place:
                self.read_function(place, section)
        self.read_variables()
        found = self.section(".nv.info")
        if found is not None:
            self.read_file_info(found)
        found = self.section(".nv.callgraph")
        if found is not None:
            self.read_calls(found)
        found = self.section(".nv.prototype")
        if found is not None:
            self.read_prototypes(found)
        self.read_lines()
        found = self.section(".nv.constant4")
        if found is not None:
            self.assembly.address_bytes = found.size
            self.assembly.addresses = self.relocations.get(self.places[".nv.constant4"], [])
        return self.assembly

    def section(self, name: str) -> Section | None:
        place = self.places.get(name)
        return None if place is None else self.elf.sections[place]

    def symbol(self, place: int, what: str) -> Symbol:
        if not 0 < place < len(self.elf.symbols):
            raise ElfError(f"{what} names symbol {place}, of {len(self.elf.symbols)}")
        return self.elf.symbols[place]

    def name_of(self, place: int, what: str) -> str:
        """A symbol's name; that of its section for a section's own symbol, "" for none."""
        if place == 0:
            return ""
        symbol = self.symbol(place, what)
        if symbol.name or not 0 < symbol.section < len(self.elf.sections):
            return symbol.name
        return self.elf.sections[symbol.section].name

    def read_relocations(self) -> None:
        for section in self.elf.sections:
            if section.kind not in (SHT_REL, SHT_RELA):
                continue
            if section.info >= len(self.elf.sections):
                raise ElfError(f"{section.name} is for section {section.info}, which is not there")
            found = []
            target = self.elf.sections[section.info]
            for r in relocations_of(section):
                if r.offset >= max(target.size, 1):
                    raise ElfError(f"{section.name} has an entry for 0x{r.offset:x}, outside {target.name}")
                kind = RELOCATION_NAMES.get(r.kind, f"R_CUDA_{r.kind}")
                found.append(Relocation(r.offset, kind, self.name_of(r.symbol, section.name), r.addend))
            # Of two sections the first was begun first, and the writer begins with the last relocation.
            self.relocations[section.info] = found + self.relocations.get(section.info, [])

    def read_function(self, place: int, section: Section) -> None:
        name = section.name.removeprefix(".text.")
        function = AssembledFunction(name, section.data, is_entry=False, spill_stores=None, spill_loads=None)
        function.relocations = self.relocations.get(place, [])
        if self.assembly.cuda < 13:
            function.barriers = section.flags >> BARRIERS_SHIFT & 0x1F
        has_symbol = False
        for number in self.members.get(place, ()):
            symbol = self.elf.symbols[number]
            if symbol.kind != STT_FUNC:
                continue
            if symbol.value + symbol.size > section.size:
                raise ElfError(f"{symbol.name} ends behind {section.name}")
            if symbol.name == name:
                has_symbol = True
                self.functions[number] = function
                function.linkage = _linkage(symbol)
                function.is_entry = bool(symbol.other & STO_CUDA_ENTRY)
            else:
                part = Part(symbol.name, symbol.value, symbol.size, 0, _linkage(symbol))
                function.parts.append(part)
                self.parts[number] = part
        if not has_symbol:
            raise ElfError(f"{section.name} has no symbol")
        self.assembly.functions.append(function)
        info = self.section(".nv.info." + name)
        if info is not None:
            for attribute in read_info(info.data, info.name):
                self.read_attribute(function, attribute)
        shared = self.section(".nv.shared." + name)
        if shared is not None:
            self.read_shared(function, shared)
        constants = self.section(".nv.constant2." + name)
        if constants is not None:
            function.constants = constants.data
            function.constants_align = constants.align
            function.constant_relocations = self.relocations.get(self.places[constants.name], [])
            self.read_bank_symbols(function, 2, constants)
        parameters = self.section(".nv.constant0." + name)
        if parameters is not None:
            self.read_bank_symbols(function, 0, parameters)

    def read_bank_symbols(self, function: AssembledFunction, bank: int, section: Section) -> None:
        for number in self.members.get(self.places[section.name], ()):
            symbol = self.elf.symbols[number]
            if symbol.kind == STT_CUDA_OBJECT and symbol.name not in ("_param", "_SREG"):
                function.bank_symbols.append(BankSymbol(symbol.name, bank, symbol.value, symbol.size))

    def read_shared(self, function: AssembledFunction, section: Section) -> None:
        reserved = self.layout.shared_reserved if self.layout and not self.assembly.is_relocatable else 0
        if section.size < reserved:
            raise ElfError(f"{section.name} has {section.size} bytes, less than the {reserved} of the system")
        function.has_shared = True
        function.shared_bytes = section.size - reserved
        function.shared_align = section.align

    def read_attribute(self, function: AssembledFunction, attribute: Attribute) -> None:
        name = attribute.name
        if name in OFFSET_LISTS:
            function.offsets[name] = attribute.words()
        elif name in ("KPARAM_INFO", "KPARAM_INFO_V2"):
            _, parameter = read_parameter(attribute)
            function.parameters.insert(0, parameter)
        elif name == "CBANK_PARAM_SIZE":
            function.parameter_bytes = attribute.value
        elif name == "MAXREG_COUNT":
            function.max_registers = attribute.value
        elif name == "NUM_BARRIERS":
            function.barriers = attribute.value
        elif name == "CRS_STACK_SIZE":
            function.crs_stack_bytes = attribute.fixed(1)[0]
        elif name == "EXTERNS":
            function.externs = [self.name_of(word, name) for word in attribute.words()]
        elif name == "INDIRECT_BRANCH_TARGETS":
            function.indirect_branches = _indirect_branches(attribute.words())
        elif name == "MAX_THREADS":
            function.max_threads = _triple(attribute)
        elif name == "REQNTID":
            function.required_threads = _triple(attribute)
        elif name == "CTA_PER_CLUSTER":
            function.cluster = _triple(attribute)
        elif name == "EXPLICIT_CLUSTER":
            function.explicit_cluster = True
        elif name == "MAX_CLUSTER_RANK":
            function.max_cluster_rank = attribute.fixed(1)[0]
        elif name == "CTAIDZ_USED":
            function.reads_block_z = True

    def read_file_info(self, section: Section) -> None:
        for attribute in read_info(section.data, section.name):
            if attribute.name not in ("REGCOUNT", "FRAME_SIZE", "MIN_STACK_SIZE", "MAX_STACK_SIZE"):
                continue
            symbol, value = attribute.fixed(2)
            self.symbol(symbol, attribute.name)
            function = self.functions.get(symbol)
            part = self.parts.get(symbol)
            if part is not None and attribute.name == "FRAME_SIZE":
                part.frame_bytes = value
            if function is None:
                continue
            if attribute.name == "REGCOUNT":
                function.registers = value
            elif attribute.name == "FRAME_SIZE":
                function.frame_bytes = value
            elif attribute.name == "MIN_STACK_SIZE":
                function.stack_bytes = value

    def read_calls(self, section: Section) -> None:
        """The call graph's four parts; see _Writer.call_graph."""
        if section.size % 8:
            raise ElfError(f"{section.name} has {section.size} bytes, not a multiple of 8")
        part = 0
        for caller, callee in struct.iter_unpack("<II", section.data):
            function = self.functions.get(caller)
            if callee >= 0xFFFFFFFC:
                part = 0x100000000 - callee
            elif function is None and part == 2:
                self.assembly.extern_addresses[self.name_of(caller, section.name)] = self.string(callee)
            elif function is None:
                continue
            elif part == 1:
                function.calls.append(self.name_of(callee, section.name))
            elif part == 2:
                function.is_address_taken = True
                function.prototype = self.string(callee)
            elif part == 3:
                function.pointer_calls.append(self.string(callee))
            elif part == 4:
                function.pointer_callees.append(self.name_of(callee, section.name))

    def read_prototypes(self, section: Section) -> None:
        if section.size % 8:
            raise ElfError(f"{section.name} has {section.size} bytes, not a multiple of 8")
        for symbol, prototype in struct.iter_unpack("<II", section.data):
            function = self.functions.get(symbol)
            if function is not None:
                function.prototype = self.string(prototype)
            elif symbol:
                self.assembly.extern_prototypes[self.name_of(symbol, section.name)] = self.string(prototype)

    def read_lines(self) -> None:
        for name in (".debug_line", ".nv_debug_line_sass"):
            section = self.section(name)
            if section is None:
                continue
            functions = {r.offset: r.symbol for r in self.relocations.get(self.places[name], ())}
            files, sequences = read_line_table(section.data)
            by_name = {function.name: function for function in self.assembly.functions}
            if name == ".debug_line":
                self.assembly.files = files
            for address, rows in sequences:
                function = by_name.get(functions.get(address, ""))
                if function is None:
                    continue
                if name == ".debug_line":
                    function.lines = rows
                else:
                    function.ptx_lines = rows
        for section in self.elf.sections:
            if section.name.startswith(".nv_debug_ptx_txt"):
                self.assembly.ptx_text = section.data.replace(b"\0", b"\n").decode("utf-8", "replace")

    def string(self, place: int) -> str:
        strings = self.section(".strtab")
        return string_at(strings.data if strings is not None else b"", place)

    def read_variables(self) -> None:
        found: list[tuple[bool, Variable]] = []
        for symbol in self.elf.symbols:
            if symbol.kind not in (STT_OBJECT, STT_CUDA_OBJECT):
                continue
            variable = self.read_variable(symbol)
            if variable is not None:
                found.append((symbol.binding == STB_LOCAL, variable))
        self.assembly.variables = [v for is_local, v in found if not is_local]
        self.assembly.variables += [v for is_local, v in found if is_local]

    def read_variable(self, symbol: Symbol) -> Variable | None:
        """The variable of a symbol; None for symbols that the writer makes by itself."""
        variable = Variable(symbol.name, GLOBAL, symbol.size, linkage=_linkage(symbol), offset=symbol.value)
        variable.is_managed = bool(symbol.other & STO_CUDA_MANAGED)
        if symbol.section == 0:
            space = symbol.other & ~(STO_CUDA_MANAGED | 0x03)
            spaces = {number: name for name, number in STO_CUDA_SPACE.items()}
            if symbol.kind != STT_CUDA_OBJECT or space not in spaces or not symbol.name:
                return None
            variable.space = spaces[space]
            variable.is_defined = False
            variable.offset = -1
            return variable
        if symbol.section >= len(self.elf.sections):
            return None
        section = self.elf.sections[symbol.section]
        if section.name.startswith(".nv.shared."):
            variable.space = SHARED
            variable.owner = section.name.removeprefix(".nv.shared.")
        elif section.name == ".nv_debug.shared":
            variable.space = SHARED
        elif section.name in MEMORY:
            variable.space = MEMORY[section.name]
        else:
            return None
        if variable.space == SHARED:
            variable.align = max(symbol.value, 1)
            variable.offset = -1
            return variable
        end = symbol.value + symbol.size
        if end > section.size:
            raise ElfError(f"{symbol.name} ends behind {section.name}")
        variable.align = _alignment(symbol.value, section.align)
        if not section.no_bits:
            variable.data = section.data[symbol.value : end]
        for r in self.relocations.get(symbol.section, ()):
            if symbol.value <= r.offset < end:
                variable.relocations.append(Relocation(r.offset - symbol.value, r.kind, r.symbol, r.addend))
        return variable


def _header(elf: Elf) -> Assembly:
    """Target and layout, from the header and CUDA 13's note."""
    is_relocatable = elf.kind == ET_REL
    if elf.os_abi == TOOLKITS[12].os_abi:
        target = elf.flags & 0xFF
        specific = bool(elf.flags & SPECIFIC)
        return Assembly(target, elf.flags >> 16 & 0xFF or target, is_relocatable=is_relocatable, is_specific=specific)
    if elf.os_abi != TOOLKITS[13].os_abi:
        raise ElfError(f"a cubin with the layout 0x{elf.os_abi:x}, which is not known")
    target = elf.flags >> 8 & 0xFF
    note = elf.find(".note.nv.cuinfo")
    ptx_target = target
    if note is not None and len(note.data) >= 28:
        ptx_target = struct.unpack_from("<H", note.data, 26)[0]
    return Assembly(target, ptx_target, is_relocatable=is_relocatable, cuda=13)


def _linkage(symbol: Symbol) -> str:
    return LOCAL if symbol.binding == STB_LOCAL else WEAK if symbol.binding == STB_WEAK else VISIBLE


def _alignment(offset: int, most: int) -> int:
    """The largest alignment that a variable at this offset can have had."""
    return max(most, 1) if offset == 0 else min(max(most, 1), offset & -offset)


def _triple(attribute: Attribute) -> tuple[int, int, int]:
    x, y, z = attribute.fixed(3)
    return x, y, z


def _indirect_branches(words: list[int]) -> list[tuple[int, list[int]]]:
    found = []
    place = 0
    while place < len(words):
        start = place + 3
        if start > len(words) or start + words[place + 2] > len(words):
            raise ElfError("INDIRECT_BRANCH_TARGETS ends within an entry")
        targets = words[start : start + words[place + 2]]
        found.append((words[place], targets))
        place = start + len(targets)
    return found
