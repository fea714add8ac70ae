"""What the object code of this machine leaves for a linker to find, from 64-bit ELF files (System V ABI)."""

from __future__ import annotations

import struct
from typing import Final

_MAGIC: Final = b"\x7fELF\x02\x01"  # 64 bits, little endian
_SYMBOL_TABLE: Final = 2
_SECTION: Final = struct.Struct("<IIQQQQIIQQ")  # name, type, flags, address, offset, size, link, info, ...
_SYMBOL: Final = struct.Struct("<IBBHQQ")  # name, kind, visibility, section (0: defined elsewhere), value, size


def undefined_symbols(code: bytes) -> list[str]:
    """Return the names that object code uses and does not define, sorted; none for another format than ELF."""
    if not code.startswith(_MAGIC):
        return []
    headers = struct.unpack_from("<Q", code, 0x28)[0]
    count = struct.unpack_from("<H", code, 0x3C)[0]
    sections = [_SECTION.unpack_from(code, headers + number * _SECTION.size) for number in range(count)]
    found: set[str] = set()
    for _, kind, _, _, offset, size, link, _, _, _ in sections:
        if kind != _SYMBOL_TABLE:
            continue
        names = sections[link][4]
        for at in range(offset, offset + size, _SYMBOL.size):
            name, _, _, section, _, _ = _SYMBOL.unpack_from(code, at)
            if name and not section:
                start = names + name
                found.add(code[start : code.index(b"\0", start)].decode())
    return sorted(found)
