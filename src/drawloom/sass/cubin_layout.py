"""What differs between targets and toolkit versions in a cubin: numbers of relocations, kinds and alignments of
sections, where parameters start, which attributes a function carries and in which order; and the places of variables.

All of it was read from what ptxas 12.9 and 13.0 write for some 4,000 files; the names of the relocations are what
cuobjdump prints for each number. tests/sass/test_cubin.py holds our files against theirs.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from drawloom.errors import Error, UnsupportedError
from drawloom.sass.assembly import CONST, GLOBAL, LOCAL, SHARED, Variable
from drawloom.sass.elf import SHT_NOBITS, SHT_PROGBITS, align_up

EM_CUDA: Final = 190
SHT_CUDA_INFO: Final = 0x70000000
SHT_CUDA_CALLGRAPH: Final = 0x70000001
SHT_CUDA_PROTOTYPE: Final = 0x70000002
SHT_CUDA_RELOCINFO: Final = 0x7000000B
SHT_CUDA_COMPAT: Final = 0x70000086
STT_CUDA_OBJECT: Final = 13  # a variable in a relocatable file; its space is in the symbol's `other`
STO_CUDA_ENTRY: Final = 0x10
STO_CUDA_MANAGED: Final = 0x04
STO_CUDA_SPACE: Final[dict[str, int]] = {GLOBAL: 0x20, SHARED: 0x40, CONST: 0x80}
STO_CUDA_CONSTANT: Final = 0x81  # something in a function's constant bank
SPECIFIC: Final = 0x800  # in the file's flags, up to CUDA 12: made for sm_90a
BARRIERS_SHIFT: Final = 20  # of the number of barriers in the flags of .text, up to CUDA 12
REGISTERS_SHIFT: Final = 24  # of the number of registers in sh_info of .text, up to sm_89
# `.nv.rel.action`: how R_CUDA_CONST_FIELD22_37 is to be applied, the same in every file.
RELOCATION_ACTIONS: Final = bytes.fromhex("73000000000000000000001125000536")
# `.nv.compat` of sm_90 under CUDA 13, the same in every file.
COMPATIBILITY: Final = bytes.fromhex("020900000202010002050500030701010203000002060100040b08000000000000000000")
# Undefined symbols that every file for sm_90 names: function tables, and the start of shared memory.
FUNCTION_TABLES: Final = (
    "__UDT_OFFSET __UFT_OFFSET __UFT_CANONICAL __UDT_CANONICAL __UFT __UDT __UFT_END __UDT_END".split()
)
# Relocatable code that turns a generic address into one of `.const` asks for the size of that space.
CONST_SIZE: Final = ".nv.ptx.const0.size"
RESERVED_SHARED: Final = ".nv.reservedSmem.offset0"
RESERVED_SHARED_ALIAS: Final = "__nv_reservedSMEM_offset_0_alias"

_BYTES: Final = ("0", "8", "16", "24", "32", "40", "48", "56")
# The relocations by number. Those of our own instructions: on sm_61 bits 20-51 of a word hold an address, from
# sm_75 on bits 32-63; `LO` and `HI` are its halves.
RELOCATION_NAMES: Final[dict[int, str]] = dict(
    enumerate(
        "R_CUDA_" + name
        for name in (
            *"NONE 32 64 G32 G64 ABS32_26 TEX_HEADER_INDEX SAMP_HEADER_INDEX SURF_HW_DESC SURF_HW_SW_DESC".split(),
            *"ABS32_LO_26 ABS32_HI_26 ABS32_23 ABS32_LO_23 ABS32_HI_23 ABS24_26 ABS24_23 ABS16_26 ABS16_23".split(),
            *"TEX_SLOT SAMP_SLOT SURF_SLOT TEX_BINDLESSOFF13_32 TEX_BINDLESSOFF13_47 CONST_FIELD19_28".split(),
            *"CONST_FIELD19_23 TEX_SLOT9_49 6_31 2_47 TEX_BINDLESSOFF13_41 TEX_BINDLESSOFF13_45".split(),
            *"FUNC_DESC32_23 FUNC_DESC32_LO_23 FUNC_DESC32_HI_23 FUNC_DESC_32 FUNC_DESC_64 CONST_FIELD21_26".split(),
            *"QUERY_DESC21_37 CONST_FIELD19_26 CONST_FIELD21_23 PCREL_IMM24_26 PCREL_IMM24_23 ABS32_20".split(),
            *"ABS32_LO_20 ABS32_HI_20 ABS24_20 ABS16_20 FUNC_DESC32_20 FUNC_DESC32_LO_20 FUNC_DESC32_HI_20".split(),
            *"CONST_FIELD19_20 BINDLESSOFF13_36 SURF_HEADER_INDEX INSTRUCTION64 CONST_FIELD21_20 ABS32_32".split(),
            *"ABS32_LO_32 ABS32_HI_32 ABS47_34 ABS16_32 ABS24_32 FUNC_DESC32_32 FUNC_DESC32_LO_32".split(),
            *"FUNC_DESC32_HI_32 CONST_FIELD19_40 BINDLESSOFF14_40 CONST_FIELD21_38 INSTRUCTION128".split(),
            *"YIELD_OPCODE9_0 YIELD_CLEAR_PRED4_87 32_LO 32_HI UNUSED_CLEAR32 UNUSED_CLEAR64 ABS24_40".split(),
            "ABS55_16_34",
            *("8_" + place for place in _BYTES),
            *("G8_" + place for place in _BYTES),
            *("FUNC_DESC_8_" + place for place in _BYTES),
            *"ABS20_44 SAMP_HEADER_INDEX_0 UNIFIED UNIFIED_32".split(),
            *("UNIFIED_8_" + place for place in _BYTES),
            *"UNIFIED32_LO_32 UNIFIED32_HI_32 ABS56_16_34 CONST_FIELD22_37".split(),
        )
    )
)
RELOCATIONS: Final[dict[str, int]] = {name: number for number, name in RELOCATION_NAMES.items()}


@dataclass(frozen=True, slots=True)
class Layout:
    """The container of one architecture."""

    parameters_at: int  # in constant bank 0
    text_align: int
    workarounds: tuple[str, ...]  # attributes without data that every function carries
    software_workaround: int = 0  # SW_WAR, 0 for none
    shared_reserved: int = 0  # bytes at the start of shared memory that belong to the system
    is_late: bool = False  # sm_90's order of sections and attributes, addends everywhere, no register count in .text
    has_block_ids: bool = False  # lists the S2R that read block indices


# Above this many bytes of parameters KPARAM_INFO_V2 describes them, and up to sm_89 they start elsewhere.
SMALL_PARAMETERS: Final = 4352
LARGE_PARAMETERS_AT: Final = 0x1A80

LAYOUTS: Final[dict[int, Layout]] = {
    61: Layout(0x140, 32, ("SW2393858_WAR", "SW1850030_WAR"), has_block_ids=True),
    75: Layout(0x160, 128, (), software_workaround=1),
    80: Layout(0x160, 128, ("SW2861232_WAR",)),
    86: Layout(0x160, 128, ("SW2861232_WAR",)),
    89: Layout(0x160, 128, ()),
    90: Layout(0x210, 128, (), software_workaround=8, shared_reserved=0x400, is_late=True),
}

_LISTS: Final = (
    "MAXREG_COUNT EXTERNS ATOM_SYS_INSTR_OFFSETS NUM_BARRIERS MERCURY_ISA_VERSION INT_WARP_WIDE_INSTR_OFFSETS "
    "ATOM16_EMUL_INSTR_REG_MAP COOP_GROUP_MASK_REGIDS COOP_GROUP_INSTR_OFFSETS SYSCALL_OFFSETS "
    "UNUSED_LOAD_BYTE_OFFSET S2RCTAID_INSTR_OFFSETS EXIT_INSTR_OFFSETS INDIRECT_BRANCH_TARGETS CTAIDZ_USED "
    "MAX_THREADS REQNTID CRS_STACK_SIZE"
).split()
# In which order the attributes of a function come, up to sm_89 and on sm_90.
ORDER: Final = (
    *"SW_WAR CUDA_API_VERSION SW2393858_WAR SW1850030_WAR SW2861232_WAR PARAM_CBANK CBANK_PARAM_SIZE".split(),
    *"KPARAM_INFO KPARAM_INFO_V2".split(),
    *_LISTS,
)
ORDER_LATE: Final = (
    *"CUDA_API_VERSION KPARAM_INFO KPARAM_INFO_V2 MAX_CLUSTER_RANK EXPLICIT_CLUSTER CTA_PER_CLUSTER".split(),
    "SPARSE_MMA_MASK",
    *_LISTS,
    *"CBANK_PARAM_SIZE PARAM_CBANK SW_WAR".split(),
)
# Lists in AssembledFunction.offsets.
OFFSET_LISTS: Final = frozenset(
    "ATOM_SYS_INSTR_OFFSETS INT_WARP_WIDE_INSTR_OFFSETS ATOM16_EMUL_INSTR_REG_MAP COOP_GROUP_MASK_REGIDS "
    "COOP_GROUP_INSTR_OFFSETS SYSCALL_OFFSETS UNUSED_LOAD_BYTE_OFFSET S2RCTAID_INSTR_OFFSETS "
    "EXIT_INSTR_OFFSETS".split()
)


@dataclass(frozen=True, slots=True)
class Toolkit:
    """The container of one version of the toolkit."""

    os_abi: int
    abi_version: int
    version: int  # e_version
    api_version: int  # CUDA_API_VERSION


TOOLKITS: Final[dict[int, Toolkit]] = {12: Toolkit(0x33, 7, 0x81, 0x81), 13: Toolkit(0x41, 8, 1, 0x82)}


def layout_of(target: int, cuda: int = 12) -> Layout:
    """The container of this architecture. Raises UnsupportedError where there is none."""
    if target not in LAYOUTS:
        raise UnsupportedError(f"no cubin can be made for sm_{target}", [f"sm_{known}" for known in LAYOUTS])
    if cuda not in TOOLKITS:
        raise UnsupportedError(f"no cubin can be made in the layout of CUDA {cuda}", ["CUDA 12", "CUDA 13"])
    if cuda >= 13 and target < 75:
        raise UnsupportedError(f"CUDA {cuda} has no cubin for sm_{target}; its layout starts with sm_75")
    return LAYOUTS[target]


def parameters_at(target: int, parameter_bytes: int) -> int:
    """Where the parameters of a kernel start in constant bank 0. UnsupportedError where they are too many."""
    layout = layout_of(target)
    if target < 70 and parameter_bytes > SMALL_PARAMETERS:
        raise UnsupportedError(f"sm_{target} has no room for {parameter_bytes} bytes of parameters, only for 4352")
    if layout.is_late or parameter_bytes <= SMALL_PARAMETERS:
        return layout.parameters_at
    return LARGE_PARAMETERS_AT


@dataclass(frozen=True, slots=True)
class SectionKind:
    """A section of variables: its kind in executable and in relocatable files."""

    executable: int
    relocatable: int
    flags: int


VARIABLE_SECTIONS: Final[dict[str, SectionKind]] = {
    ".nv.global": SectionKind(SHT_NOBITS, 0x70000007, 3),
    ".nv.global.init": SectionKind(SHT_PROGBITS, 0x70000008, 3),
    ".nv.shared": SectionKind(SHT_NOBITS, 0x7000000A, 0x43),
    ".nv_debug.shared": SectionKind(SHT_NOBITS, 0x7000000A, 3),
    ".nv.constant0": SectionKind(SHT_PROGBITS, 0x70000064, 0x42),
    ".nv.constant2": SectionKind(SHT_PROGBITS, 0x70000066, 0x42),
    ".nv.constant3": SectionKind(SHT_PROGBITS, 0x70000067, 2),
    ".nv.constant4": SectionKind(SHT_PROGBITS, 0x70000068, 2),
}


def section_of(variable: Variable) -> str:
    """The section that this variable is in."""
    if variable.space == CONST:
        return ".nv.constant3"
    if variable.space == SHARED:
        return ".nv.shared." + variable.owner if variable.owner else ".nv_debug.shared"
    return ".nv.global.init" if variable.data or variable.relocations else ".nv.global"


def place_variables(variables: list[Variable]) -> dict[str, int]:
    """Gives every defined variable without a place its offset, and returns the size of each section.

    The largest alignment comes first, so that nothing is lost between; equals stay in their order. Variables that
    have a place keep it. Shared variables are left to the linker: their sizes are added up. Raises Error where two
    variables overlap.
    """
    ends: dict[str, int] = {}
    taken: dict[str, list[tuple[int, int, str]]] = {}
    for variable in variables:
        if variable.space == SHARED and variable.is_defined:
            section = section_of(variable)
            ends[section] = ends.get(section, 0) + variable.size
        elif variable.is_defined and variable.offset >= 0:
            end = variable.offset + variable.size
            section = section_of(variable)
            ends[section] = max(ends.get(section, 0), end)
            taken.setdefault(section, []).append((variable.offset, end, variable.name))
    for places in taken.values():
        places.sort()
        for (_, end, first), (start, _, second) in pairwise(places):
            if start < end:
                raise Error(f"the variables {first} and {second} overlap")
    free = [v for v in variables if v.is_defined and v.offset < 0 and v.space != SHARED]
    for variable in sorted(free, key=lambda v: -v.align):
        section = section_of(variable)
        variable.offset = align_up(ends.get(section, 0), variable.align)
        ends[section] = variable.offset + variable.size
    return ends


def in_symbol_order(variables: list[Variable]) -> list[Variable]:
    """Variables in the order in which their sections come to be: those that other files see first."""
    return [v for v in variables if v.linkage != LOCAL] + [v for v in variables if v.linkage == LOCAL]
