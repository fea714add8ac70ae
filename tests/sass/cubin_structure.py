"""A cubin taken apart without the code under test: pyelftools reads it, names replace all numbers of symbols and
sections, and two files can be held against each other part by part."""

from __future__ import annotations

import io
import struct
from typing import Any

from elftools.elf.elffile import ELFFile

#: Attributes whose first word, or every word, is a symbol.
FIRST_IS_SYMBOL = {0x0A, 0x11, 0x12, 0x23, 0x2F}
ALL_ARE_SYMBOLS = {0x0F}
RELOCATIONS = {"SHT_REL": "<QQ", "SHT_RELA": "<QQq"}
#: Kinds of sections without bytes: also the toolkit's for variables in relocatable files.
NO_BITS = ("SHT_NOBITS", 0x70000007, 0x7000000A)
#: What an Assembly does not hold, or says in other words: frames, the tool's name, the string tables, and the text
#: of the PTX in relocatable files, whose section has another number in its name.
LEFT_OUT = (".shstrtab", ".strtab", ".symtab", ".debug_frame", ".note.nv.tkinfo", ".nv_debug_ptx_txt.")


def structure(data: bytes) -> dict[str, Any]:
    """Part to content: the header, every section by name, `symbols` in order, `segments`."""
    file = ELFFile(io.BytesIO(data))
    sections = list(file.iter_sections())
    symbols = list(file.get_section_by_name(".symtab").iter_symbols())
    strings = file.get_section_by_name(".strtab")

    def section_name(index: int | str) -> str:
        return sections[index].name if isinstance(index, int) else ""

    def symbol_name(index: int) -> str:
        symbol = symbols[index]
        return symbol.name or "section " + section_name(symbol["st_shndx"])

    found: dict[str, Any] = {}
    header = file.header
    flags = header["e_flags"] & (0xFFFFFF if header["e_ident"]["EI_OSABI"] == 0x41 else 0xFFFFFFFF)
    found["header"] = (
        header["e_ident"]["EI_OSABI"],
        header["e_ident"]["EI_ABIVERSION"],
        header["e_type"],
        header["e_machine"],
        header["e_version"],
        flags,
    )
    for section in sections[1:]:
        name, kind = section.name, section["sh_type"]
        if name.startswith(LEFT_OUT) or name.startswith((".rel.debug_frame", ".rela.debug_frame")):
            continue
        if kind in RELOCATIONS and section["sh_size"] == 0:
            continue  # ptxas leaves the sections of relocations that it has applied
        info: Any = section["sh_info"]
        if name.startswith(".text."):
            info = (info >> 24, symbol_name(info & 0xFFFFFF))
        elif section["sh_flags"] & 0x40:
            info = section_name(info)
        link = section_name(section["sh_link"])
        parts = [str(kind), section["sh_flags"], link, info, section["sh_addralign"], section["sh_entsize"]]
        content: Any = section["sh_size"] if kind in NO_BITS else section.data()
        if kind in RELOCATIONS:
            content = [
                (entry[0], entry[1] & 0xFFFFFFFF, symbol_name(entry[1] >> 32), entry[2:])
                for entry in struct.iter_unpack(RELOCATIONS[kind], section.data())
            ]
        elif name.startswith(".nv.info"):
            content = attributes(section.data(), symbol_name)
        elif name in (".nv.callgraph", ".nv.prototype"):
            content = calls(section.data(), name, symbol_name, strings.get_string)
        found[name] = (parts, content)
    found["symbols"] = [
        (
            symbol_name(place),
            symbol["st_info"]["type"],
            symbol["st_info"]["bind"],
            symbol.entry["st_other"],
            symbol["st_value"],
            symbol["st_size"],
            section_name(symbol["st_shndx"]),
        )
        for place, symbol in enumerate(symbols)
        if symbol_name(place) != "section " and not symbol_name(place).removeprefix("section ").startswith(LEFT_OUT)
    ]
    found["segments"] = [(segment["p_type"], segment["p_flags"]) for segment in file.iter_segments()]
    found["order"] = [name for name in found if name.startswith(".")]
    return found


def attributes(data: bytes, symbol_name: Any) -> list[tuple[Any, ...]]:
    """The records of a .nv.info section: format, code, value."""
    found: list[tuple[Any, ...]] = []
    place = 0
    while place < len(data):
        form, code, value = struct.unpack_from("<BBH", data, place)
        place += 4
        content: Any = value
        if form == 4:
            words = list(struct.unpack_from(f"<{value // 4}I", data, place))
            symbols = len(words) if code in ALL_ARE_SYMBOLS else 1 if code in FIRST_IS_SYMBOL else 0
            content = [symbol_name(word) for word in words[:symbols]] + words[symbols:]
            place += value
        found.append((form, hex(code), content))
    return found


def calls(data: bytes, name: str, symbol_name: Any, string: Any) -> list[Any]:
    """The pairs of the call graph's four parts, or of .nv.prototype, whose second numbers are places of strings."""
    part = 2 if name == ".nv.prototype" else 0
    found: list[Any] = []
    for first, second in struct.iter_unpack("<Ii", data):
        if second < 0:
            part = -second
            found.append(part)
        else:
            found.append((part, symbol_name(first), string(second) if part in (2, 3) else symbol_name(second)))
    return found


def differences(theirs: bytes, ours: bytes) -> list[str]:
    """The parts in which two cubins differ, each with what is different; `NAME (order)` where only the order is."""
    first, second = structure(theirs), structure(ours)
    found = []
    for name in sorted(first.keys() | second.keys()):
        one, other = first.get(name), second.get(name)
        if one == other:
            continue
        if one is not None and other is not None and unordered(name, one) == unordered(name, other):
            found.append(f"{name} (order)")
        else:
            found.append(f"{name}: theirs {one!r:.2000}\nours {other!r:.2000}")
    return found


def unordered(name: str, content: Any) -> Any:
    if name in ("symbols", "order"):
        return sorted(map(str, content))
    if isinstance(content, tuple) and isinstance(content[1], list):
        return content[0], sorted(map(str, content[1]))
    return content
