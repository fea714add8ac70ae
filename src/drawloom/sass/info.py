""".nv.info sections: attributes of a file or a function, from records to bytes and back.

A record is a format byte, an attribute byte and 16 bits that are the value, or for SVAL the number of bytes that
follow. Formats and codes were read from what cuobjdump prints for each code, and for the codes after
SPARSE_MMA_MASK from the order of nvlink 13's names; what carries which format, from ptxas 12.9 and 13.0.
"""

from __future__ import annotations

import struct
from typing import Final

from librt.strings import BytesWriter

from drawloom.sass.elf import ElfError, packed, put_word

NVAL: Final = 1  # no value: being there is the message
BVAL: Final = 2  # 8 bits
HVAL: Final = 3  # 16 bits
SVAL: Final = 4  # bytes
HEAD: Final = struct.Struct("<BBH")
_MOST: Final = 0xFFFF

# name: (code, format)
ATTRIBUTES: Final[dict[str, tuple[int, int]]] = {
    "CTAIDZ_USED": (0x04, NVAL),
    "MAX_THREADS": (0x05, SVAL),
    "PARAM_CBANK": (0x0A, SVAL),
    "EXTERNS": (0x0F, SVAL),
    "REQNTID": (0x10, SVAL),
    "FRAME_SIZE": (0x11, SVAL),
    "MIN_STACK_SIZE": (0x12, SVAL),
    "KPARAM_INFO": (0x17, SVAL),
    "CBANK_PARAM_SIZE": (0x19, HVAL),
    "MAXREG_COUNT": (0x1B, HVAL),
    "EXIT_INSTR_OFFSETS": (0x1C, SVAL),
    "S2RCTAID_INSTR_OFFSETS": (0x1D, SVAL),
    "CRS_STACK_SIZE": (0x1E, SVAL),
    "MAX_STACK_SIZE": (0x23, SVAL),
    "ATOM_SYS_INSTR_OFFSETS": (0x27, SVAL),
    "COOP_GROUP_INSTR_OFFSETS": (0x28, SVAL),
    "COOP_GROUP_MASK_REGIDS": (0x29, SVAL),
    "SW1850030_WAR": (0x2A, NVAL),
    "ATOM16_EMUL_INSTR_REG_MAP": (0x2E, SVAL),
    "REGCOUNT": (0x2F, SVAL),
    "SW2393858_WAR": (0x30, NVAL),
    "INT_WARP_WIDE_INSTR_OFFSETS": (0x31, SVAL),
    "INDIRECT_BRANCH_TARGETS": (0x34, SVAL),
    "SW2861232_WAR": (0x35, NVAL),
    "SW_WAR": (0x36, SVAL),
    "CUDA_API_VERSION": (0x37, SVAL),
    "CTA_PER_CLUSTER": (0x3D, SVAL),
    "EXPLICIT_CLUSTER": (0x3E, NVAL),
    "MAX_CLUSTER_RANK": (0x3F, SVAL),
    "UNUSED_LOAD_BYTE_OFFSET": (0x44, SVAL),
    "KPARAM_INFO_V2": (0x45, SVAL),
    "SYSCALL_OFFSETS": (0x46, SVAL),
    "NUM_BARRIERS": (0x4C, BVAL),
    "SPARSE_MMA_MASK": (0x50, HVAL),
    "GEN_ERRBAR_AT_EXIT": (0x53, NVAL),
    "MERCURY_ISA_VERSION": (0x5F, HVAL),
}
NAMES: Final[dict[int, str]] = {code: name for name, (code, _) in ATTRIBUTES.items()}


class Attribute:
    """One record: `value` of BVAL and HVAL, `data` of SVAL. A code without a name has its number as one."""

    def __init__(self, name: str, value: int = 0, data: bytes = b"") -> None:
        self.name = name
        self.value = value
        self.data = data

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Attribute)
            and self.name == other.name
            and self.value == other.value
            and self.data == other.data
        )

    __hash__ = None  # type: ignore[assignment]

    def words(self) -> list[int]:
        """`data` as 32-bit numbers."""
        if len(self.data) % 4:
            raise ElfError(f"{self.name} has {len(self.data)} bytes, not a multiple of 4")
        return [word for (word,) in struct.iter_unpack("<I", self.data)]

    def fixed(self, count: int) -> list[int]:
        """`data` as exactly this many 32-bit numbers."""
        words = self.words()
        if len(words) != count:
            raise ElfError(f"{self.name} has {len(words)} words, {count} expected")
        return words


def of_words(name: str, words: list[int]) -> Attribute:
    """An SVAL attribute of 32-bit numbers."""
    return Attribute(name, 0, packed(words))


def write_info(attributes: list[Attribute]) -> bytes:
    """The bytes of a .nv.info section. KeyError for a name that is not in the table."""
    out = BytesWriter()
    for attribute in attributes:
        code, form = ATTRIBUTES[attribute.name]
        value = len(attribute.data) if form == SVAL else attribute.value
        if not 0 <= value <= _MOST:
            raise struct.error(f"{attribute.name} has the value {value:#x}")
        put_word(out, value << 16 | code << 8 | form)
        if form == SVAL:
            out.write(attribute.data)
    return out.getvalue()


def read_info(data: bytes, section: str) -> list[Attribute]:
    """The records of a .nv.info section; ElfError where one ends behind the section or has another format."""
    found = []
    place = 0
    while place < len(data):
        if place + HEAD.size > len(data):
            raise ElfError(f"{section}: a record is cut off at 0x{place:x}")
        form, code, value = HEAD.unpack_from(data, place)
        place += HEAD.size
        name = NAMES.get(code, f"0x{code:02x}")
        if form not in (NVAL, BVAL, HVAL, SVAL) or form != ATTRIBUTES.get(name, (code, form))[1]:
            raise ElfError(f"{section}: {name} has the format {form}, which it cannot have")
        if form != SVAL:
            found.append(Attribute(name, value))
            continue
        if place + value > len(data):
            raise ElfError(f"{section}: {name} ends behind the section")
        found.append(Attribute(name, 0, data[place : place + value]))
        place += value
    return found
