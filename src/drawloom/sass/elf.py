"""ELF64 little-endian files, from bytes to sections and symbols and back, as the ELF specification has them.

Nothing here knows what a cubin is, except that `Section.kind` and the file header take any number. The reader
checks every offset, index and length before it is used: a damaged file raises ElfError.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

from librt.strings import BytesWriter, write_i32_le, write_i64_le
from mypy_extensions import i32, i64

from drawloom.errors import Error

MAGIC: Final = b"\x7fELF"
CLASS_64: Final = 2
LITTLE_ENDIAN: Final = 1
HEADER: Final = struct.Struct("<16sHHIQQQIHHHHHH")
SECTION: Final = struct.Struct("<IIQQQQIIQQ")
SYMBOL: Final = struct.Struct("<IBBHQQ")
SEGMENT: Final = struct.Struct("<IIQQQQQQ")
REL: Final = struct.Struct("<QQ")
RELA: Final = struct.Struct("<QQq")

SHT_NULL: Final = 0
SHT_PROGBITS: Final = 1
SHT_SYMTAB: Final = 2
SHT_STRTAB: Final = 3
SHT_RELA: Final = 4
SHT_NOTE: Final = 7
SHT_NOBITS: Final = 8
SHT_REL: Final = 9
SHF_WRITE: Final = 1
SHF_ALLOC: Final = 2
SHF_EXECINSTR: Final = 4
SHF_INFO_LINK: Final = 0x40
STB_LOCAL: Final = 0
STB_GLOBAL: Final = 1
STB_WEAK: Final = 2
STT_NOTYPE: Final = 0
STT_OBJECT: Final = 1
STT_FUNC: Final = 2
STT_SECTION: Final = 3
STV_INTERNAL: Final = 1
ET_REL: Final = 1
ET_EXEC: Final = 2
PT_LOAD: Final = 1
PT_PHDR: Final = 6


#: One more than what 32 bits hold, without a sign and with one.
_WORD_END: Final = 1 << 32
_SIGN: Final = 1 << 31
#: More than any number of 64 bits in our files: what compiled code still compares in one step.
_LONG_END: Final = 1 << 61


class ElfError(Error):
    """A file that is no ELF64 file, or a damaged one."""


class Section:
    """One section. `size` is the length of `data`, except in sections without bytes of their own (`no_bits`)."""

    def __init__(
        self,
        name: str,
        kind: int,
        flags: int = 0,
        link: int = 0,
        info: int = 0,
        align: int = 1,
        entry_size: int = 0,
        data: bytes = b"",
        size: int = 0,
        no_bits: bool = False,
        offset: int = 0,
    ) -> None:
        self.name = name
        self.kind = kind
        self.flags = flags
        self.link = link
        self.info = info
        self.align = align
        self.entry_size = entry_size
        self.data = data
        self.size = size
        self.no_bits = no_bits
        self.offset = offset  # in the file; set by the reader and the writer


class Symbol:
    """One symbol; `section` is a section index, 0 for an undefined one. `kind` and `binding` are STT_ and STB_."""

    def __init__(
        self, name: str, kind: int, binding: int, section: int = 0, value: int = 0, size: int = 0, other: int = 0
    ) -> None:
        self.name = name
        self.kind = kind
        self.binding = binding
        self.section = section
        self.value = value
        self.size = size
        self.other = other


# Kinds of sections that have a size and no bytes: the standard one, and the CUDA toolkit's for variables in
# relocatable files: .nv.global, .nv.local and .nv.shared. (.nv.global.init, 0x70000008, has bytes.)
NO_BITS_KINDS: Final = frozenset({SHT_NOBITS, 0x70000007, 0x70000009, 0x7000000A})


class Segment:
    """One program header; `size` bytes of the file become `memory_size` bytes of memory."""

    def __init__(self, kind: int, flags: int, offset: int, size: int, memory_size: int, align: int = 8) -> None:
        self.kind = kind
        self.flags = flags
        self.offset = offset
        self.size = size
        self.memory_size = memory_size
        self.align = align


@dataclass(slots=True)
class Relocation:
    """`offset` in the section that is patched; `symbol` is an index; `addend` is 0 in SHT_REL sections."""

    offset: int
    kind: int
    symbol: int
    addend: int = 0


class Elf:
    """A whole file. Section 0 and symbol 0, which are empty, are in the lists."""

    def __init__(
        self, os_abi: int, abi_version: int, kind: int, machine: int, version: int, flags: int, names_index: int = 1
    ) -> None:
        self.os_abi = os_abi
        self.abi_version = abi_version
        self.kind = kind
        self.machine = machine
        self.version = version
        self.flags = flags
        self.sections: list[Section] = []
        self.symbols: list[Symbol] = []
        self.segments: list[Segment] = []
        self.names_index = names_index

    def find(self, name: str) -> Section | None:
        """The first section with this name."""
        for section in self.sections:
            if section.name == name:
                return section
        return None


def read_elf(data: bytes) -> Elf:
    """Reads a file. Raises ElfError, naming what is wrong, where it is not a whole ELF64 file."""
    if len(data) < HEADER.size or data[:4] != MAGIC:
        raise ElfError("not an ELF file" + what_is(data))
    if data[4] != CLASS_64 or data[5] != LITTLE_ENDIAN:
        raise ElfError("not a 64-bit little-endian ELF file")
    (_, kind, machine, version, _, segments_at, sections_at, flags, _, segment_size, segment_count, section_size,
     section_count, names_index) = HEADER.unpack_from(data)  # fmt: skip
    elf = Elf(data[7], data[8], kind, machine, version, flags, names_index=names_index)
    if section_count:
        if section_size != SECTION.size:
            raise ElfError(f"section headers of {section_size} bytes, {SECTION.size} expected")
        _read_sections(elf, data, sections_at, section_count)
    if segment_count:
        if segment_size != SEGMENT.size:
            raise ElfError(f"program headers of {segment_size} bytes, {SEGMENT.size} expected")
        for i in range(segment_count):
            found = _unpack(SEGMENT, data, segments_at + i * SEGMENT.size, "program headers")
            elf.segments.append(Segment(found[0], found[1], found[2], found[5], found[6], found[7]))
    for section in elf.sections:
        if section.kind == SHT_SYMTAB:
            _read_symbols(elf, section)
            break
    return elf


#: How files begin that are taken for cubins, and what to do with them.
_OTHERS: Final = (
    (b"\x50\xed\x55\xba", ", a fatbin: take its cubins or PTX out with cuobjdump -xelf all or -xptx all"),
    (b"BC\xc0\xde", ", LLVM bitcode: make PTX of it with llc"),
    (b"!<arch>", ", an archive of object files"),
    (b"MZ", ", a program for Windows"),
)


def what_is(data: bytes) -> str:
    """What a file is that is none of ours, as far as its beginning tells, for the end of a message."""
    if not data:
        return ", the file is empty"
    for magic, what in _OTHERS:
        if data.startswith(magic):
            return what
    if b".version" in data[:4096] and b".target" in data[:4096]:
        return ", PTX: make a cubin of it with drawloom as"
    return ""


def _unpack(layout: struct.Struct, data: bytes, offset: int, what: str) -> tuple[int, ...]:
    if offset + layout.size > len(data):
        raise ElfError(f"{what} end behind the end of the file")
    return layout.unpack_from(data, offset)


def _read_sections(elf: Elf, data: bytes, at: int, count: int) -> None:
    names: list[int] = []
    for i in range(count):
        name, kind, flags, _, offset, size, link, info, align, entry_size = _unpack(
            SECTION, data, at + i * SECTION.size, "section headers"
        )
        names.append(name)
        elf.sections.append(Section("", kind, flags, link, info, align, entry_size, b"", size, offset=offset))
    if elf.names_index >= count:
        raise ElfError(f"the section of names has index {elf.names_index}, of {count} sections")
    table = elf.sections[elf.names_index]
    strings = data[table.offset : table.offset + table.size]
    for section, name in zip(elf.sections, names):
        section.name = string_at(strings, name)
        section.no_bits = section.kind in NO_BITS_KINDS
        if section.kind == SHT_NULL or section.no_bits:
            continue
        if section.offset + section.size > len(data):
            raise ElfError(f"section {section.name} ends behind the end of the file")
        section.data = data[section.offset : section.offset + section.size]


def _read_symbols(elf: Elf, table: Section) -> None:
    if not 0 < table.link < len(elf.sections):
        raise ElfError(f"{table.name} names section {table.link} as its strings, which is not there")
    if table.size % SYMBOL.size:
        raise ElfError(f"{table.name} has {table.size} bytes, not a multiple of {SYMBOL.size}")
    strings = elf.sections[table.link].data
    for name, info, other, section, value, size in SYMBOL.iter_unpack(table.data):
        if section >= len(elf.sections) and section < 0xFF00:
            raise ElfError(f"a symbol is in section {section}, which is not there")
        elf.symbols.append(Symbol(string_at(strings, name), info & 15, info >> 4, section, value, size, other))


def relocations_of(section: Section) -> list[Relocation]:
    """The entries of a SHT_REL or SHT_RELA section."""
    entry = RELA if section.kind == SHT_RELA else REL
    if section.size % entry.size:
        raise ElfError(f"{section.name} has {section.size} bytes, not a multiple of {entry.size}")
    found = []
    for fields in entry.iter_unpack(section.data):
        addend = fields[2] if section.kind == SHT_RELA else 0
        found.append(Relocation(fields[0], fields[1] & 0xFFFFFFFF, fields[1] >> 32, addend))
    return found


def string_at(strings: bytes, offset: int) -> str:
    """The text at this offset of a string table."""
    end = strings.find(0, offset)
    if offset > len(strings) or end < 0:
        raise ElfError(f"a name is at {offset}, outside its table of {len(strings)} bytes")
    try:
        return strings[offset:end].decode()
    except UnicodeDecodeError:
        raise ElfError(f"the name at {offset} is not text") from None


class Strings:
    """A string table under construction: equal names share one place."""

    def __init__(self) -> None:
        self.data = bytearray(1)
        self.places: dict[str, int] = {"": 0}

    def place(self, name: str) -> int:
        """The offset of this name, which is added if it is new."""
        found = self.places.get(name)
        if found is None:
            found = len(self.data)
            self.places[name] = found
            self.data += name.encode() + b"\0"
        return found


def packed(words: list[int]) -> bytes:
    """Numbers of 32 bits. Raises struct.error for what is none."""
    out = BytesWriter()
    for word in words:
        put_word(out, word)
    return out.getvalue()


def put_word(out: BytesWriter, word: int) -> None:
    """Write a number of 32 bits. Raises struct.error for what is none."""
    if not 0 <= word < _WORD_END:
        raise struct.error(f"{word:#x} has more than 32 bits")
    write_i32_le(out, i32(word - _WORD_END if word >= _SIGN else word))


def put_long(out: BytesWriter, value: int) -> None:
    """Write a number in 64 bits. Raises struct.error for one of more than 61."""
    if not 0 <= value < _LONG_END:
        raise struct.error(f"{value:#x} has more than 61 bits")
    write_i64_le(out, i64(value))


def align_up(value: int, align: int) -> int:
    """The smallest multiple of `align` (0 and 1 mean none) that is not below `value`."""
    return value if align <= 1 else (value + align - 1) // align * align


def symbol_table(symbols: list[Symbol], strings: Strings) -> bytes:
    """The bytes of a SHT_SYMTAB section; the names go into `strings`."""
    out = BytesWriter()
    for s in symbols:
        put_word(out, strings.place(s.name))
        put_word(out, s.section << 16 | s.other << 8 | s.binding << 4 | s.kind)
        put_long(out, s.value)
        put_long(out, s.size)
    return out.getvalue()


def relocation_table(relocations: list[Relocation], with_addends: bool) -> bytes:
    """The bytes of a SHT_RELA section, or of a SHT_REL section, which has no addends."""
    if with_addends:
        return b"".join(RELA.pack(r.offset, r.symbol << 32 | r.kind, r.addend) for r in relocations)
    return b"".join(REL.pack(r.offset, r.symbol << 32 | r.kind) for r in relocations)


def place_sections(elf: Elf) -> int:
    """Gives every section its place in the file, in order and aligned; returns where the last one ends."""
    end = HEADER.size
    for section in elf.sections[1:]:
        if not section.no_bits:
            section.size = len(section.data)
        section.offset = end = align_up(end, section.align)
        if not section.no_bits:
            end += section.size
    return end


def write_elf(elf: Elf, names: Strings) -> bytes:
    """The bytes of a file whose sections are placed: header, sections, section headers, program headers.

    `names` must hold the sections' names, and be the content of section `elf.names_index`.
    """
    end = max((s.offset + (0 if s.no_bits else s.size) for s in elf.sections), default=HEADER.size)
    sections_at = align_up(end, 8)
    segments_at = sections_at + SECTION.size * len(elf.sections) if elf.segments else 0
    identity = MAGIC + bytes([CLASS_64, LITTLE_ENDIAN, 1, elf.os_abi, elf.abi_version])
    out = BytesWriter()
    header = HEADER.pack(
        identity, elf.kind, elf.machine, elf.version, 0, segments_at, sections_at, elf.flags, HEADER.size,
        SEGMENT.size if elf.segments else 0, len(elf.segments), SECTION.size, len(elf.sections), elf.names_index,
    )  # fmt: skip
    out.write(header)
    for section in elf.sections:
        if not section.no_bits and section.data:
            out.write(bytes(section.offset - len(out)))
            out.write(section.data)
    out.write(bytes(sections_at - len(out)))
    for s in elf.sections:
        put_word(out, names.place(s.name))
        put_word(out, s.kind)
        put_long(out, s.flags)
        put_long(out, 0)
        put_long(out, s.offset)
        put_long(out, s.size)
        put_word(out, s.link)
        put_word(out, s.info)
        put_long(out, s.align)
        put_long(out, s.entry_size)
    for g in elf.segments:
        out.write(SEGMENT.pack(g.kind, g.flags, g.offset, 0, 0, g.size, g.memory_size, g.align))
    return out.getvalue()
