"""An Assembly to the bytes of a cubin, section by section as ptxas lays them out.

Symbols come to be function by function: those of a function's sections, then (after the first one) those of the
sections of variables, then those of the file; local and weak ones before global ones. Relocations are kept in the
order in which they are given; an addend makes a SHT_RELA entry, and on sm_90 every entry is one.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final
from zlib import crc32

from drawloom.build_info import VERSION
from drawloom.errors import Error
from drawloom.sass.assembly import (
    GLOBAL,
    LOCAL,
    SHARED,
    VISIBLE,
    WEAK,
    AssembledFunction,
    Assembly,
    LineRow,
    Relocation,
    SourceFile,
    Variable,
)
from drawloom.sass.cubin_info import file_attributes, function_attributes
from drawloom.sass.cubin_layout import (
    BARRIERS_SHIFT,
    COMPATIBILITY,
    CONST_SIZE,
    EM_CUDA,
    FUNCTION_TABLES,
    REGISTERS_SHIFT,
    RELOCATION_ACTIONS,
    RELOCATIONS,
    RESERVED_SHARED,
    RESERVED_SHARED_ALIAS,
    SHT_CUDA_CALLGRAPH,
    SHT_CUDA_COMPAT,
    SHT_CUDA_INFO,
    SHT_CUDA_PROTOTYPE,
    SHT_CUDA_RELOCINFO,
    SPECIFIC,
    STO_CUDA_CONSTANT,
    STO_CUDA_ENTRY,
    STO_CUDA_MANAGED,
    STO_CUDA_SPACE,
    STT_CUDA_OBJECT,
    TOOLKITS,
    VARIABLE_SECTIONS,
    in_symbol_order,
    layout_of,
    parameters_at,
    place_variables,
    section_of,
)
from drawloom.sass.elf import (
    ET_EXEC,
    ET_REL,
    PT_LOAD,
    PT_PHDR,
    REL,
    RELA,
    SECTION,
    SEGMENT,
    SHT_NOBITS,
    SHT_NOTE,
    SHT_NULL,
    SHT_PROGBITS,
    SHT_REL,
    SHT_RELA,
    SHT_STRTAB,
    SHT_SYMTAB,
    STB_GLOBAL,
    STB_LOCAL,
    STB_WEAK,
    STT_FUNC,
    STT_NOTYPE,
    STT_OBJECT,
    STT_SECTION,
    STV_INTERNAL,
    SYMBOL,
    Elf,
    Section,
    Segment,
    Strings,
    Symbol,
    align_up,
    packed,
    place_sections,
    relocation_table,
    symbol_table,
    write_elf,
)
from drawloom.sass.elf import Relocation as ElfRelocation
from drawloom.sass.line_table import write_line_table

BINDINGS: Final[dict[str, int]] = {VISIBLE: STB_GLOBAL, WEAK: STB_WEAK, LOCAL: STB_LOCAL}
PF_X: Final = 1
PF_W: Final = 2
PF_R: Final = 4


def write_assembly(assembly: Assembly) -> bytes:
    """The bytes of a cubin.

    Raises UnsupportedError for a target or layout that there is none for, and Error for a relocation of a kind or
    to a symbol that does not exist, and for values that their fields do not hold.
    """
    try:
        return _Writer(assembly).write()
    except struct.error as overflow:
        raise Error(f"a size or offset does not fit its field in the cubin: {overflow}") from None


class _Writer:
    """One file under construction. Sections and symbols are found by name until the end, when they get numbers."""

    def __init__(self, assembly: Assembly) -> None:
        self.assembly = assembly
        self.layout = layout_of(assembly.target, assembly.cuda)
        self.sizes = place_variables(assembly.variables)
        self.strings = Strings()
        self.banks: list[Section] = []
        self.late_banks: list[Section] = []
        self.texts: list[Section] = []
        self.data: list[Section] = []
        self.no_data: list[Section] = []
        self.infos: list[Section] = []
        self.relocations: list[Section] = []
        self.locals: list[tuple[Symbol, str]] = []  # with the names of their sections
        self.globals: list[tuple[Symbol, str]] = []
        self.last: list[tuple[Symbol, str]] = []
        self.symbol_of: dict[str, int] = {}
        self.debug: list[Section] = []  # line tables
        self.debug_addresses: list[tuple[str, list[Relocation]]] = []
        self.links: list[tuple[Section, str]] = []  # sections whose sh_info is the number of another one

    def write(self) -> bytes:
        assembly = self.assembly
        for function in assembly.functions:
            for prototype in (function.prototype, *function.pointer_calls):
                self.strings.place(prototype)
        for place, function in enumerate(assembly.functions):
            self.add_function(function, is_first=place == 0)
        if not assembly.functions:
            self.add_file_sections()
        self.add_lines()
        self.add_file_symbols()
        self.number_symbols()
        self.add_relocations()
        return self.finish()

    # -- what comes to be -------------------------------------------------------------------------------------

    def local(self, symbol: Symbol, section: str = "") -> None:
        self.locals.append((symbol, section))

    def section_symbol(self, section: Section) -> None:
        self.local(Symbol(section.name, STT_SECTION, STB_LOCAL), section.name)

    def variable_section(self, name: str, suffix: str, data: bytes, size: int, align: int) -> Section:
        kind = VARIABLE_SECTIONS[name]
        number = kind.relocatable if self.assembly.is_relocatable else kind.executable
        no_bits = kind.executable == SHT_NOBITS
        section = Section(name + suffix, number, kind.flags, 0, 0, align, 0, data, size, no_bits)
        if suffix:
            self.links.append((section, ".text" + suffix))
        return section

    def add_function(self, function: AssembledFunction, is_first: bool) -> None:
        """The sections and local symbols of one function."""
        layout = self.layout
        suffix = "." + function.name
        flags = 6 | (function.barriers << BARRIERS_SHIFT if self.assembly.cuda < 13 else 0)
        text = Section(".text" + suffix, SHT_PROGBITS, flags, 3, 0, layout.text_align, 0, function.code)
        own = Symbol(
            function.name,
            STT_FUNC,
            BINDINGS[function.linkage],
            0,
            0,
            len(function.code),
            STO_CUDA_ENTRY if function.is_entry else 0,
        )
        if function.linkage == VISIBLE:
            self.globals.append((own, text.name))
        else:
            self.local(own, text.name)
        self.texts.append(text)
        self.section_symbol(text)
        if function.has_shared or function.shared_bytes:
            self.add_shared(function, suffix)
        if is_first:
            self.add_file_sections()
        for variable in self.assembly.variables:
            if variable.space == SHARED and variable.owner == function.name and variable.is_defined:
                self.add_variable_symbol(variable)
        if function.constants:
            bank = self.variable_section(".nv.constant2", suffix, function.constants, 0, function.constants_align)
            self.banks.append(bank)
            self.section_symbol(bank)
            self.add_bank_symbols(function, 2)
        for part in function.parts:
            symbol = Symbol(part.name, STT_FUNC, BINDINGS[part.linkage], 0, part.offset, part.size)
            if part.linkage == VISIBLE:
                self.globals.append((symbol, text.name))
            else:
                self.local(symbol, text.name)
        if function.is_entry:
            self.add_parameters(function, suffix)
        self.infos.append(Section(".nv.info" + suffix, SHT_CUDA_INFO, 0x40, 3, 0, 4))
        self.links.append((self.infos[-1], text.name))

    def add_shared(self, function: AssembledFunction, suffix: str) -> None:
        reserved = 0 if self.assembly.is_relocatable else self.layout.shared_reserved
        size = function.shared_bytes + reserved
        section = self.variable_section(".nv.shared", suffix, b"", size, function.shared_align)
        self.no_data.append(section)
        if function.shared_bytes:
            self.section_symbol(section)

    def add_parameters(self, function: AssembledFunction, suffix: str) -> None:
        start = parameters_at(self.assembly.target, function.parameter_bytes)
        bank = self.variable_section(".nv.constant0", suffix, bytes(start + function.parameter_bytes), 0, 4)
        if self.layout.is_late:
            self.late_banks.append(bank)
            self.last.append((Symbol(bank.name, STT_SECTION, STB_LOCAL), bank.name))
            return
        self.banks.append(bank)
        self.section_symbol(bank)
        if self.assembly.is_relocatable:
            name, offset, size = "_param", start, function.parameter_bytes
            if not size:
                name, offset, size = "_SREG", 0, start
            self.local(Symbol(name, STT_CUDA_OBJECT, STB_LOCAL, 0, offset, size, STO_CUDA_CONSTANT), bank.name)
        self.add_bank_symbols(function, 0)

    def add_bank_symbols(self, function: AssembledFunction, bank: int) -> None:
        for s in function.bank_symbols:
            if s.bank == bank:
                symbol = Symbol(s.name, STT_CUDA_OBJECT, STB_LOCAL, 0, s.offset, s.size, STO_CUDA_CONSTANT)
                self.local(symbol, f".nv.constant{bank}.{function.name}")

    def add_file_sections(self) -> None:
        """The sections of the file's variables, and the symbols that sm_90 reserves."""
        if self.layout.is_late:
            self.add_reserved()
        externs = sorted({name for f in self.assembly.functions for name in f.externs}, key=self.first_use)
        if externs:
            self.add_addresses()
        for variable in in_symbol_order(self.assembly.variables):
            name = section_of(variable)
            if variable.space == SHARED and (variable.owner or not self.assembly.is_relocatable):
                continue
            if variable.is_defined and not any(s.name == name for s in (*self.banks, *self.data, *self.no_data)):
                self.add_variables(name)
            self.add_variable_symbol(variable)
            if variable.space == GLOBAL:
                self.add_addresses()
        self.add_addresses()
        if any(r.symbol == CONST_SIZE for f in self.assembly.functions for r in f.relocations):
            size = self.sizes.get(".nv.constant3", 0)
            self.local(Symbol(CONST_SIZE, STT_OBJECT, STB_LOCAL, 0, size, 4, STV_INTERNAL))
        for name in externs:
            self.globals.append((Symbol(name, STT_FUNC, STB_GLOBAL), ""))

    def first_use(self, name: str) -> tuple[int, int]:
        for place, function in enumerate(self.assembly.functions):
            if name in function.externs:
                return place, function.externs.index(name)
        return len(self.assembly.functions), 0

    def add_reserved(self) -> None:
        if self.assembly.is_relocatable:
            for name in FUNCTION_TABLES:
                self.local(Symbol(name, STT_OBJECT, STB_WEAK, 0, 0, 8))
        self.local(Symbol(RESERVED_SHARED, STT_OBJECT, STB_WEAK, 0, 0, 4))
        if not self.assembly.is_relocatable:
            section = Section(".nv.shared.reserved.0", SHT_NOBITS, 3, no_bits=True)
            self.no_data.append(section)
            self.local(Symbol(RESERVED_SHARED_ALIAS, STT_NOTYPE, STB_WEAK, 0, 0, 0, 0xA0), section.name)

    def add_addresses(self) -> None:
        """Constant bank 4, once: the addresses that the code loads."""
        size = self.assembly.address_bytes
        if size and not any(s.name == ".nv.constant4" for s in self.banks):
            bank = self.variable_section(".nv.constant4", "", bytes(size), 0, 8)
            self.banks.append(bank)
            self.section_symbol(bank)

    def add_variables(self, name: str) -> None:
        """The section of this name with all of its variables."""
        members = [v for v in self.assembly.variables if v.is_defined and section_of(v) == name]
        align = max(v.align for v in members)
        data = bytearray(self.sizes[name] if VARIABLE_SECTIONS[name].executable == SHT_PROGBITS else 0)
        for variable in members if data else ():
            if len(variable.data) > variable.size:
                raise Error(f"the initial value of {variable.name} is larger than the variable")
            data[variable.offset : variable.offset + len(variable.data)] = variable.data
        section = self.variable_section(name, "", bytes(data), self.sizes[name], align)
        (self.banks if name == ".nv.constant3" else self.no_data if section.no_bits else self.data).append(section)
        self.section_symbol(section)

    def add_variable_symbol(self, variable: Variable) -> None:
        other = STO_CUDA_MANAGED if variable.is_managed else 0
        kind = STT_OBJECT
        if self.assembly.is_relocatable:
            kind = STT_CUDA_OBJECT
            other |= STO_CUDA_SPACE[variable.space]
        binding = BINDINGS[variable.linkage]
        # A linker finds the alignment of a shared variable where others have their offset.
        value = variable.align if variable.space == SHARED else variable.offset
        symbol = Symbol(variable.name, kind, binding, 0, value if variable.is_defined else 0, variable.size, other)
        section = section_of(variable) if variable.is_defined else ""
        (self.globals if binding == STB_GLOBAL else self.locals).append((symbol, section))

    def add_lines(self) -> None:
        """The line tables: code to source, code to PTX, and the text of the PTX."""
        assembly = self.assembly
        if any(function.lines or function.ptx_lines for function in assembly.functions):
            self.add_line_table(".debug_line", assembly.files, [f.lines for f in assembly.functions])
        # A linker takes several files together: their texts must not have one name, and tables name theirs.
        text = assembly.ptx_text.replace("\n", "\0").encode()
        name = ".nv_debug_ptx_txt" + (f".{crc32(text)}" if assembly.is_relocatable else "")
        if any(function.ptx_lines for function in assembly.functions):
            files = [SourceFile(name)] if assembly.is_relocatable else []
            self.add_line_table(".nv_debug_line_sass", files, [f.ptx_lines for f in assembly.functions])
        if text:
            self.debug.append(Section(name, SHT_PROGBITS, data=text))

    def add_line_table(self, name: str, files: list[SourceFile], rows: list[list[LineRow]]) -> None:
        functions = self.assembly.functions
        data, places = write_line_table(files, [(len(f.code), own) for f, own in zip(functions, rows)])
        self.debug.append(Section(name, SHT_PROGBITS, data=data))
        names = [f.name for f, own in zip(functions, rows) if own]
        addresses = [Relocation(place, "R_CUDA_64", function) for place, function in zip(places, names)]
        self.debug_addresses.append((name, addresses))

    def add_file_symbols(self) -> None:
        """The sections of the file as a whole: their symbols come last among the local ones."""
        names = [section.name for section in self.debug]
        names.append(".nv.callgraph")
        if self.prototyped():
            names.append(".nv.prototype")
        if not self.layout.is_late and not self.assembly.is_relocatable:
            names.append(".nv.rel.action")
        for name in names:
            self.local(Symbol(name, STT_SECTION, STB_LOCAL), name)
        if self.assembly.cuda >= 13:
            for place, name in enumerate((".note.nv.tkinfo", ".note.nv.cuinfo")):
                self.locals.insert(place, (Symbol(name, STT_SECTION, STB_LOCAL), name))

    def number_symbols(self) -> None:
        for place, (symbol, section) in enumerate((*self.locals, *self.globals, *self.last), 1):
            key = symbol.name if symbol.kind != STT_SECTION else "section " + section
            if key in self.symbol_of and key not in ("_param", "_SREG"):
                raise Error(f"{symbol.name} is defined twice")
            self.symbol_of[key] = place

    # -- what refers to symbols -------------------------------------------------------------------------------

    def symbol(self, name: str, where: str) -> int:
        found = self.symbol_of.get(name)
        if found is None:
            raise Error(f"{where} refers to {name}, which is not defined")
        return found

    def add_relocations(self) -> None:
        assembly = self.assembly
        for function in assembly.functions:
            self.relocate(function.relocations, ".text." + function.name)
        for name, addresses in self.debug_addresses:
            self.relocate(addresses if self.layout.is_late else addresses[::-1], name)
        self.relocate(assembly.addresses, ".nv.constant4")
        for section in (".nv.global.init", ".nv.constant3"):
            found: list[Relocation] = []
            for variable in assembly.variables:
                if variable.relocations and section_of(variable) == section:
                    found += [
                        Relocation(variable.offset + r.offset, r.kind, r.symbol, r.addend) for r in variable.relocations
                    ]
            self.relocate(found, section)
        for function in assembly.functions:
            self.relocate(function.constant_relocations, ".nv.constant2." + function.name)

    def relocate(self, relocations: Sequence[Relocation], target: str) -> None:
        """The one or two sections with the relocations of a section."""
        tables: dict[bool, list[ElfRelocation]] = {}
        for r in reversed(relocations):
            if r.kind not in RELOCATIONS:
                raise Error(f"{target} has a relocation of the kind {r.kind}, which there is not")
            with_addend = self.layout.is_late or r.addend != 0
            symbol = self.symbol(r.symbol, target) if r.symbol else 0
            entry = ElfRelocation(r.offset, RELOCATIONS[r.kind], symbol, r.addend)
            tables.setdefault(with_addend, []).append(entry)
        for with_addend, entries in tables.items():
            data = relocation_table(entries[::-1], with_addend)
            name, kind, entry_size = (".rela", SHT_RELA, RELA.size) if with_addend else (".rel", SHT_REL, REL.size)
            self.relocations.append(Section(name + target, kind, 0x40, 3, 0, 8, entry_size, data))
            self.links.append((self.relocations[-1], target))

    def call_graph(self) -> bytes:
        """Pairs of symbols or prototypes in four parts, each behind a mark: caller and callee; function whose
        address is taken and its prototype; caller through a pointer and prototype; such a caller and possible
        callee. Prototypes stand for themselves by their places in .strtab."""
        found: list[list[tuple[int, int]]] = [[], [], [], []]
        for function in self.assembly.functions:
            own = self.symbol_of[function.name]
            found[0] += [(own, self.symbol(callee, function.name)) for callee in function.calls]
            if function.is_address_taken:
                found[1].append((own, self.strings.place(function.prototype)))
            found[2] += [(own, self.strings.place(prototype)) for prototype in function.pointer_calls]
            found[3] += [(own, self.symbol(callee, function.name)) for callee in function.pointer_callees]
        for name, text in self.assembly.extern_addresses.items():
            found[1].append((self.symbol(name, name), self.strings.place(text)))
        out = b""
        for part, pairs in enumerate(found, 1):
            words = [0, (1 << 32) - part]
            for pair in sorted(pairs, key=lambda pair: pair[0]):
                words += pair
            out += packed(words)
        return out

    def prototypes(self) -> bytes:
        """The functions that other files may call by name, with their prototypes."""
        pairs = [(self.symbol(name, name), self.strings.place(text)) for name, text in self.prototyped().items()]
        return b"".join(struct.pack("<II", *pair) for pair in sorted(pairs))

    def prototyped(self) -> dict[str, str]:
        """The functions of .nv.prototype."""
        own = {f.name: f.prototype for f in self.assembly.functions if f.prototype and not f.is_address_taken}
        return own | self.assembly.extern_prototypes

    # -- the file ---------------------------------------------------------------------------------------------

    def finish(self) -> bytes:
        assembly = self.assembly
        toolkit = TOOLKITS[assembly.cuda]
        notes = self.notes()
        info = Section(".nv.info", SHT_CUDA_INFO, 0, 3, 0, 4, 0, file_attributes(assembly, self.symbol_of))
        for section, function in zip(self.infos, assembly.functions):
            section.data = function_attributes(assembly, function, self.symbol_of)
        graph = [Section(".nv.callgraph", SHT_CUDA_CALLGRAPH, 0, 3, 0, 4, 8, self.call_graph())]
        prototypes = self.prototypes()
        if prototypes:
            graph.append(Section(".nv.prototype", SHT_CUDA_PROTOTYPE, 0, 3, 0, 4, 8, prototypes))
        if not self.layout.is_late and not assembly.is_relocatable:
            graph.append(Section(".nv.rel.action", SHT_CUDA_RELOCINFO, 0, 0, 0, 8, 8, RELOCATION_ACTIONS))
        compatibility = []
        if assembly.cuda >= 13 and self.layout.is_late:
            compatibility.append(Section(".nv.compat", SHT_CUDA_COMPAT, 0, 0, 0, 4, 0, COMPATIBILITY))
            self.links.append((notes[1], ".nv.compat"))
        names = Section(".shstrtab", SHT_STRTAB)
        strings = Section(".strtab", SHT_STRTAB)
        symbols = Section(".symtab", SHT_SYMTAB, 0, 2, len(self.locals) + 1, 8, SYMBOL.size)
        infos = [info] if assembly.functions or assembly.cuda >= 13 else []
        tables = [
            names,
            strings,
            symbols,
            *self.debug,
            *notes,
            *infos,
            *compatibility,
            *self.infos,
            *graph,
            *self.relocations,
        ]
        loaded = [*self.banks, *self.texts, *self.data, *self.no_data, *self.late_banks]
        elf = Elf(toolkit.os_abi, toolkit.abi_version, ET_EXEC, EM_CUDA, toolkit.version, 0)
        elf.kind = ET_REL if assembly.is_relocatable else ET_EXEC
        elf.sections = [Section("", SHT_NULL, align=0), *tables, *loaded]
        self.number_sections(elf, notes)
        symbols.data = symbol_table(elf.symbols, self.strings)
        strings.data = bytes(self.strings.data)
        section_names = Strings()
        for section in elf.sections:
            section_names.place(section.name)
        names.data = bytes(section_names.data)
        end = place_sections(elf)
        if not assembly.is_relocatable:
            elf.segments = self.segments(align_up(end, 8) + SECTION.size * len(elf.sections))
        return write_elf(elf, section_names)

    def number_sections(self, elf: Elf, notes: list[Section]) -> None:
        """Section numbers into symbols and headers, once all sections stand in order."""
        assembly = self.assembly
        number = {section.name: place for place, section in enumerate(elf.sections)}
        number[""] = 0
        elf.symbols = [Symbol("", STT_NOTYPE, STB_LOCAL)]
        for symbol, section in (*self.locals, *self.globals, *self.last):
            symbol.section = number[section]
            elf.symbols.append(symbol)
        for section_with_link, target in self.links:
            section_with_link.info = number[target]
        for text, function in zip(self.texts, assembly.functions):
            text.info = self.symbol_of[function.name]
            if not self.layout.is_late:
                text.info |= function.registers << REGISTERS_SHIFT
        if assembly.cuda < 13:
            elf.flags = (assembly.ptx_target or assembly.target) << 16 | 0x500 | assembly.target
            elf.flags |= SPECIFIC if assembly.is_specific else 0
        else:
            notes[1].link = number[notes[0].name]
            elf.flags = number[notes[1].name] << 24 | assembly.target << 8 | 4

    def notes(self) -> list[Section]:
        """CUDA 13's two notes: which tool wrote the file, and for which architecture."""
        if self.assembly.cuda < 13:
            return []
        target = self.assembly.target
        strings = ["drawloom", f"drawloom {VERSION}", "", f"-arch sm_{target} "]
        places = []
        text = b"\0"
        for string in strings:
            places.append(len(text))
            text += string.encode() + b"\0"
        tool = struct.pack("<6I", 2, 0, *places) + text
        tool += bytes(-len(tool) % 4)
        architecture = struct.pack("<4H", 2, self.assembly.ptx_target or target, 130, 0)
        has_link = 0x40 if self.layout.is_late else 0
        return [
            Section(".note.nv.tkinfo", SHT_NOTE, 0x2000000, 0, 0, 4, 0, _note(2000, tool)),
            Section(".note.nv.cuinfo", SHT_NOTE, 0x1000000 | has_link, 0, 0, 4, 0, _note(1000, architecture)),
        ]

    def segments(self, segments_at: int) -> list[Segment]:
        """Program headers: each run of sections with the same access, and the headers themselves."""
        if self.layout.is_late:
            runs = [(PF_R, self.banks), (PF_R | PF_X, self.texts)]
            tail = [(PF_R, self.late_banks)]
        else:
            runs = [(PF_R | PF_X, [*self.banks, *self.texts])]
            tail = []
        runs += [(PF_R | PF_W, [*self.data, *self.no_data]), *tail]
        loads = [_load(flags, sections) for flags, sections in runs if sections]
        size = SEGMENT.size * (len(loads) + 2)
        access = PF_R if self.layout.is_late else PF_R | PF_X
        header = Segment(PT_PHDR, access, segments_at, size, size)
        headers = Segment(PT_LOAD, access, segments_at, size, size)
        return [header, headers, *loads] if self.layout.is_late else [header, *loads, headers]


def _load(flags: int, sections: list[Section]) -> Segment:
    """The segment of consecutive sections: in memory, those without bytes follow the others."""
    start = sections[0].offset
    end = max(s.offset + (0 if s.no_bits else s.size) for s in sections)
    memory = end - start
    for section in sections:
        if section.no_bits:
            memory = align_up(memory, section.align) + section.size
    return Segment(PT_LOAD, flags, start, end - start, memory)


def _note(kind: int, description: bytes) -> bytes:
    return struct.pack("<3I", 12, len(description), kind) + b"NVIDIA Corp\0" + description
