"""Line tables: rows (code offset, file, line) to a DWARF 2 line program and back, as .debug_line has them.

One sequence for each function; its address is filled in by a relocation. The header's numbers are ptxas's.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final

from drawloom.sass.assembly import LineRow, SourceFile
from drawloom.sass.elf import ElfError

LINE_BASE: Final = -5
LINE_RANGE: Final = 14
OPCODE_BASE: Final = 10
OPERANDS: Final = bytes([0, 1, 1, 1, 1, 0, 0, 0, 1])  # of standard opcodes 1 to 9
COPY: Final = 1
ADVANCE_PC: Final = 2
ADVANCE_LINE: Final = 3
SET_FILE: Final = 4
CONST_ADD_PC: Final = 8
FIXED_ADVANCE_PC: Final = 9
END_SEQUENCE: Final = b"\x00\x01\x01"
SET_ADDRESS: Final = b"\x00\x09\x02"

Sequence_ = tuple[int, list[LineRow]]  # end of the code, rows


def write_line_table(files: Sequence[SourceFile], functions: Sequence[Sequence_]) -> tuple[bytes, list[int]]:
    """The bytes of the section, and the place in them of each function's address (8 bytes, 0)."""
    folders: list[str] = []
    names = bytearray()
    for file in files:
        folder, _, name = file.path.rpartition("/")
        if folder and folder not in folders:
            folders.append(folder)
        place = folders.index(folder) + 1 if folder else 0
        names += name.encode() + b"\0" + _unsigned(place) + _unsigned(file.time) + _unsigned(file.size)
    prologue = struct.pack("<BBbBB", 1, 1, LINE_BASE, LINE_RANGE, OPCODE_BASE) + OPERANDS
    prologue += b"".join(folder.encode() + b"\0" for folder in folders) + b"\0" + names + b"\0"
    body = bytearray(struct.pack("<HI", 2, len(prologue)) + prologue)
    addresses = []
    for end, rows in functions:
        if rows:
            addresses.append(4 + len(body) + len(SET_ADDRESS))
            body += SET_ADDRESS + bytes(8)
            _write_rows(body, rows, end)
    return struct.pack("<I", len(body)) + bytes(body), addresses


def _write_rows(out: bytearray, rows: Sequence[LineRow], end: int) -> None:
    """Byte for byte as ptxas: it advances the line even by 0, and the address by a number with a sign."""
    offset, line, file = 0, 1, 1
    for place, row in enumerate(rows):
        if row.file != file or place == 0:
            out.append(SET_FILE)
            out += _unsigned(row.file)
        ahead, down = row.offset - offset, row.line - line
        special = (down - LINE_BASE) + LINE_RANGE * ahead + OPCODE_BASE
        if ahead and 0 <= down - LINE_BASE < LINE_RANGE and special <= 255:
            out.append(special)
        else:
            out.append(ADVANCE_LINE)
            out += _signed(down)
            if ahead:
                out.append(ADVANCE_PC)
                out += _signed(ahead)
            out.append(COPY)
        offset, line, file = row.offset, row.line, row.file
    out.append(ADVANCE_PC)
    out += _signed(end - offset) + END_SEQUENCE


def read_line_table(data: bytes) -> tuple[list[SourceFile], list[tuple[int, list[LineRow]]]]:
    """The files, and for each sequence the place of its address in the section and its rows.

    Extended opcodes that are not standard (the toolkit's, for inlined calls) are passed over. Raises ElfError for
    a section that is cut off or of another version.
    """
    files: list[SourceFile] = []
    found: list[tuple[int, list[LineRow]]] = []
    unit = 0
    while unit < len(data):
        reader = _Bytes(data, unit)
        length = reader.number("<I")
        version = reader.number("<H")
        if version != 2:
            raise ElfError(f".debug_line has version {version}, 2 expected")
        prologue = reader.number("<I")
        start = reader.place + prologue
        _, _, base, span, opcode_base = (reader.number(code) for code in ("<B", "<B", "<b", "<B", "<B"))
        if span == 0 or opcode_base == 0:
            raise ElfError(".debug_line has a line range or opcode base of 0")
        operands = [reader.number("<B") for _ in range(opcode_base - 1)]
        folders = _strings(reader)
        while reader.peek():
            name = reader.text()
            place, time, size = reader.unsigned(), reader.unsigned(), reader.unsigned()
            if place > len(folders):
                raise ElfError(f".debug_line names folder {place}, of {len(folders)}")
            files.append(SourceFile(f"{folders[place - 1]}/{name}" if place else name, time, size))
        reader.place = start
        end = unit + 4 + length
        if end > len(data):
            raise ElfError(".debug_line ends behind its section")
        while reader.place < end:
            found.append(_read_rows(reader, end, base, span, operands))
        unit = end
    return files, found


def _read_rows(reader: _Bytes, end: int, base: int, span: int, operands: list[int]) -> tuple[int, list[LineRow]]:
    """One sequence: the place of its address (-1 if it has none) and its rows."""
    address, offset, line, file = -1, 0, 1, 1
    rows: list[LineRow] = []
    while reader.place < end:
        opcode = reader.number("<B")
        if opcode > len(operands):
            offset += (opcode - len(operands) - 1) // span
            line += base + (opcode - len(operands) - 1) % span
            rows.append(LineRow(offset, file, line))
        elif opcode == 0:
            size = reader.unsigned()
            place = reader.place
            if place + size > len(reader.data):
                raise ElfError(".debug_line ends within an opcode")
            kind = reader.number("<B") if size else 0
            if kind == 2:
                address = place + 1
            reader.place = place + size
            if kind == 1:
                break
        elif opcode == COPY:
            rows.append(LineRow(offset, file, line))
        elif opcode == ADVANCE_PC:
            offset += reader.unsigned()
        elif opcode == ADVANCE_LINE:
            line += reader.signed()
        elif opcode == SET_FILE:
            file = reader.unsigned()
        elif opcode == CONST_ADD_PC:
            offset += (255 - len(operands) - 1) // span
        elif opcode == FIXED_ADVANCE_PC:
            offset += reader.number("<H")
        else:
            for _ in range(operands[opcode - 1]):
                reader.unsigned()
    return address, rows


def _strings(reader: _Bytes) -> list[str]:
    found = []
    while reader.peek():
        found.append(reader.text())
    reader.place += 1
    return found


class _Bytes:
    """Data and a place in it; every read is checked."""

    def __init__(self, data: bytes, place: int) -> None:
        self.data = data
        self.place = place

    def number(self, code: str) -> int:
        size = struct.calcsize(code)
        if self.place + size > len(self.data):
            raise ElfError(".debug_line is cut off")
        value: int = struct.unpack_from(code, self.data, self.place)[0]
        self.place += size
        return value

    def peek(self) -> int:
        if self.place >= len(self.data):
            raise ElfError(".debug_line is cut off")
        return self.data[self.place]

    def text(self) -> str:
        end = self.data.find(0, self.place)
        if end < 0:
            raise ElfError(".debug_line is cut off")
        found = self.data[self.place : end].decode("utf-8", "replace")
        self.place = end + 1
        return found

    def unsigned(self) -> int:
        """A ULEB128 number."""
        value = shift = 0
        while True:
            byte = self.number("<B")
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value
            if shift > 63:
                raise ElfError(".debug_line has a number of more than 64 bits")

    def signed(self) -> int:
        """A SLEB128 number."""
        value = shift = 0
        while True:
            byte = self.number("<B")
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value - (1 << shift) if byte & 0x40 else value
            if shift > 63:
                raise ElfError(".debug_line has a number of more than 64 bits")


def _unsigned(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _signed(value: int) -> bytes:
    out = bytearray()
    while not -0x40 <= value < 0x40:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value & 0x7F)
    return bytes(out)
