"""What an object file of this machine, 64-bit ELF, defines (System V ABI, "Object Files")."""

import struct
from typing import Final

SYMBOL_TABLE: Final = 2
SECTION_HEADER: Final = struct.Struct("<IIQQQQIIQQ")  # name, type, flags, address, offset, size, link, info, ...
SYMBOL: Final = struct.Struct("<IBBHQQ")  # name, kind, visibility, section (0: defined elsewhere), value, size


def defines(data: bytes, name: str) -> bool:
    """Whether an object file has a symbol of that name, and not only uses it."""
    headers, count = struct.unpack_from("<Q", data, 0x28)[0], struct.unpack_from("<H", data, 0x3C)[0]
    sections = [SECTION_HEADER.unpack_from(data, headers + number * SECTION_HEADER.size) for number in range(count)]
    wanted = name.encode() + b"\0"
    for _, kind, _, _, offset, size, link, _, _, _ in sections:
        if kind != SYMBOL_TABLE:
            continue
        names = sections[link][4]
        for at in range(offset, offset + size, SYMBOL.size):
            text, _, _, section, _, _ = SYMBOL.unpack_from(data, at)
            if section and data.startswith(wanted, names + text):
                return True
    return False
