"""The attributes of a file and of a function: an Assembly to the bytes of its .nv.info sections, and back."""

from __future__ import annotations

import struct
from typing import Final

from drawloom.sass.assembly import AssembledFunction, Assembly, Parameter
from drawloom.sass.cubin_layout import (
    LAYOUTS,
    OFFSET_LISTS,
    ORDER,
    ORDER_LATE,
    SMALL_PARAMETERS,
    TOOLKITS,
    parameters_at,
)
from drawloom.sass.elf import ElfError
from drawloom.sass.info import Attribute, of_words, write_info

CBANK: Final = 0x1F  # KPARAM_INFO's bank of a parameter: the one of the kernel


def file_attributes(assembly: Assembly, symbols: dict[str, int]) -> bytes:
    """.nv.info: registers and stack of every function."""
    found = []
    for function in reversed(assembly.functions):
        symbol = symbols[function.name]
        found.append(of_words("REGCOUNT", [symbol, function.registers]))
        if assembly.is_relocatable:
            found.append(of_words("MAX_STACK_SIZE", [symbol, 0]))
        for part in reversed(function.parts):
            found.append(of_words("FRAME_SIZE", [symbols[part.name], part.frame_bytes]))
        found.append(of_words("FRAME_SIZE", [symbol, function.frame_bytes]))
    if not assembly.is_relocatable:
        for function in assembly.functions:
            if function.is_entry:
                found.append(of_words("MIN_STACK_SIZE", [symbols[function.name], function.stack_bytes]))
    if assembly.cuda >= 13 and not any(function.is_entry for function in assembly.functions):
        found.append(_mercury(assembly))
    return write_info(found)


def function_attributes(assembly: Assembly, function: AssembledFunction, symbols: dict[str, int]) -> bytes:
    """.nv.info.NAME: everything else about one function, in the order of its architecture."""
    layout = LAYOUTS[assembly.target]
    present: dict[str, list[Attribute]] = {}
    for attribute in _attributes(assembly, function, symbols):
        known = present.get(attribute.name)
        if known is None:
            present[attribute.name] = [attribute]
        else:
            known.append(attribute)
    order = ORDER_LATE if layout.is_late else ORDER
    return write_info([attribute for name in order if name in present for attribute in present[name]])


def _attributes(assembly: Assembly, function: AssembledFunction, symbols: dict[str, int]) -> list[Attribute]:
    """The attributes of a function in no particular order."""
    layout = LAYOUTS[assembly.target]
    found = [of_words("CUDA_API_VERSION", [TOOLKITS[assembly.cuda].api_version])]
    for name in layout.workarounds:
        found.append(Attribute(name))
    if layout.software_workaround:
        found.append(of_words("SW_WAR", [layout.software_workaround]))
    if layout.is_late:
        found.append(Attribute("SPARSE_MMA_MASK"))
    if assembly.cuda >= 13:
        found.append(_mercury(assembly))
        if function.barriers:
            found.append(Attribute("NUM_BARRIERS", function.barriers))
    if function.is_entry:
        found += _entry_attributes(assembly, function, symbols)
    if function.externs:
        found.append(of_words("EXTERNS", [symbols[name] for name in function.externs]))
    for name, offsets in function.offsets.items():
        if name not in OFFSET_LISTS:
            raise KeyError(name)
        if offsets:
            found.append(of_words(name, offsets))
    if function.indirect_branches:
        words = []
        for offset, targets in function.indirect_branches:
            words += [offset, 0 if targets else 1, len(targets), *targets]
        found.append(of_words("INDIRECT_BRANCH_TARGETS", words))
    if function.crs_stack_bytes is not None:
        found.append(of_words("CRS_STACK_SIZE", [function.crs_stack_bytes]))
    return found


def _mercury(assembly: Assembly) -> Attribute:
    return Attribute("MERCURY_ISA_VERSION", 0x101 if LAYOUTS[assembly.target].is_late else 0)


def _entry_attributes(assembly: Assembly, function: AssembledFunction, symbols: dict[str, int]) -> list[Attribute]:
    found = [Attribute("MAXREG_COUNT", function.max_registers)]
    if function.parameters:
        size = function.parameter_bytes
        bank = symbols["section .nv.constant0." + function.name]
        found.append(of_words("PARAM_CBANK", [bank, size << 16 | parameters_at(assembly.target, size)]))
        found.append(Attribute("CBANK_PARAM_SIZE", size))
        for ordinal in range(len(function.parameters) - 1, -1, -1):
            parameter = function.parameters[ordinal]
            is_small = size <= SMALL_PARAMETERS
            found.append(_parameter(ordinal, parameter) if is_small else _large_parameter(ordinal, parameter))
    for name, threads in (
        ("MAX_THREADS", function.max_threads),
        ("REQNTID", function.required_threads),
        ("CTA_PER_CLUSTER", function.cluster),
    ):
        if threads is not None:
            found.append(of_words(name, list(threads)))
    if function.max_cluster_rank:
        found.append(of_words("MAX_CLUSTER_RANK", [function.max_cluster_rank]))
    if function.explicit_cluster:
        found.append(Attribute("EXPLICIT_CLUSTER"))
    if function.reads_block_z:
        found.append(Attribute("CTAIDZ_USED"))
    return found


def _parameter(ordinal: int, parameter: Parameter) -> Attribute:
    shape = parameter.size << 18 | CBANK << 12 | parameter.points_to << 8 | parameter.align_log2
    return of_words("KPARAM_INFO", [0, parameter.offset << 16 | ordinal, shape])


def _large_parameter(ordinal: int, p: Parameter) -> Attribute:
    data = struct.pack("<IHHHBB", 0, ordinal, p.offset, p.size, p.align_log2, p.points_to)
    return Attribute("KPARAM_INFO_V2", 0, data)


def read_parameter(attribute: Attribute) -> tuple[int, Parameter]:
    """Ordinal and parameter of a KPARAM_INFO or KPARAM_INFO_V2."""
    if len(attribute.data) != 12:
        raise ElfError(f"{attribute.name} has {len(attribute.data)} bytes, 12 expected")
    if attribute.name == "KPARAM_INFO_V2":
        _, ordinal, offset, size, align_log2, points_to = struct.unpack("<IHHHBB", attribute.data)
        return ordinal, Parameter(offset, size, points_to, align_log2)
    _, ordinal, offset, shape = struct.unpack("<IHHI", attribute.data)
    return ordinal, Parameter(offset, shape >> 18, shape >> 8 & 0xF, shape & 0xFF)
