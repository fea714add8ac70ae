"""Selection of loads, stores and prefetches."""

from __future__ import annotations

from typing import Final

from drawloom.errors import UnsupportedError
from drawloom.ptx.ir import Address, Instruction, Operand, Register, Symbol, Vector
from drawloom.ptx.isa import Opcode
from drawloom.ptx.types import Type
from drawloom.sass.machine import RZ
from drawloom.sass.select.floats import float_pair, float_word
from drawloom.sass.select.moves import extract, pack_small
from drawloom.sass.select.operands import FALSE, OTHER, ZERO, Src, bank, imm, pred, reg
from drawloom.sass.select.selector import DESCRIPTOR, HANDLERS, Selector

#: The suffix for an access of so many bytes in all.
_SIZES: Final[dict[int, str]] = {1: ".U8", 2: ".U16", 4: "", 8: ".64", 16: ".128"}
_SIGNED: Final[dict[int, str]] = {1: ".S8", 2: ".S16"}
_SCOPES: Final[dict[str, str]] = {"": "SYS", "cta": "SM", "cluster": "GPU", "gpu": "GPU", "sys": "SYS"}
#: Offsets of addresses have 24 bits, signed.
_OFFSET_LIMIT: Final = 1 << 23


def load(s: Selector, i: Instruction) -> None:
    """``ld`` and ``ldu``: kernel parameters are no loads, but words of constant bank 0."""
    opcode = i.opcode
    target = i.operands[0]
    registers = target.elements if isinstance(target, Vector) else [target]
    type = opcode.types[0]
    address = i.operands[1]
    assert isinstance(address, Address)
    if opcode.space == "param" and isinstance(address.base, Symbol) and address.base.name in s.parameters:
        load_parameter(s, type, registers, s.parameters[address.base.name] + address.offset)
        return
    size = type.bytes * opcode.vector
    suffix = _SIGNED[size] if type.is_signed and size in _SIGNED and opcode.vector == 1 else _SIZES[size]
    if opcode.vector == 1:
        target = registers[0]
        out = s.home(target) if isinstance(target, Register) else RZ
        access(s, opcode, suffix, out, address, True)
        if isinstance(target, Register) and target.type.bits == 64 and type.bits < 64:
            widen(s, out, type.is_signed)
        return
    out = s.fresh(max(1, size // 4))
    access(s, opcode, suffix, out, address, True)
    for n, register in enumerate(registers):
        if not isinstance(register, Register):
            continue
        home = s.home(register)
        if type.bytes < 4:
            byte = n * type.bytes
            extract(s, home, out + byte // 4, byte % 4, type.bytes, type.is_signed)
            continue
        words = type.bytes // 4
        for part in range(words):
            s.emit("MOV", [reg(home + part), reg(out + n * words + part)])


def widen(s: Selector, out: int, signed: bool) -> None:
    """The upper word of a narrow value that was loaded into a 64-bit register."""
    if signed:
        s.emit("SHF.R.S32.HI", [reg(out + 1), ZERO, imm(31), reg(out)])
    else:
        s.emit("MOV", [reg(out + 1), ZERO])


def load_parameter(s: Selector, type: Type, registers: list[Operand], offset: int) -> None:
    """Words of the parameters' bank: of settled registers only the place is noted."""
    for n, register in enumerate(registers):
        if not isinstance(register, Register):
            continue
        at = offset + n * type.bytes
        if type.bytes >= 4 and register.type.bits == type.bits and s.definitions.settled(register):
            s.banks[register.id] = at
            continue
        out = s.home(register)
        if type.bytes >= 4:
            for part in range(type.bytes // 4):
                s.emit("MOV", [reg(out + part), bank(at + 4 * part)])
        else:
            word = s.fresh()
            s.emit("MOV", [reg(word), bank(at & ~3)])
            extract(s, out, word, at & 3, type.bytes, type.is_signed)
        if register.type.bits == 64 and type.bits < 64:
            widen(s, out, type.is_signed)


def store(s: Selector, i: Instruction) -> None:
    """``st``: a vector's elements are gathered into neighbouring registers first."""
    opcode = i.opcode
    type = opcode.types[0]
    source = i.operands[1]
    elements = source.elements if isinstance(source, Vector) else [source]
    address = i.operands[0]
    assert isinstance(address, Address)
    size = type.bytes * opcode.vector
    if len(elements) > 1:
        value = s.fresh(max(1, size // 4))
        gather(s, value, elements, type)
    elif type.bits == 64:
        value = float_pair(s, elements[0]) if type.is_float else s.pair(elements[0])
    elif type.bits == 128:
        value = s.home(s.origin(elements[0])) if isinstance(elements[0], Register) else RZ
    else:
        value = s.in_register(element_word(s, elements[0], type, 0)).values[0]
    access(s, opcode, _SIZES[size], value, address, False)


def element_word(s: Selector, operand: Operand, type: Type, part: int) -> Src:
    return float_word(s, operand, type.bits, part) if type.is_float else s.word(operand, part)


def gather(s: Selector, out: int, elements: list[Operand], type: Type) -> None:
    """The elements of a vector, one behind the other."""
    if type.bytes < 4:
        per = 4 // type.bytes
        for first in range(0, len(elements), per):
            pack_small(s, out + first // per, elements[first : first + per], type.bytes)
        return
    words = type.bytes // 4
    for n, element in enumerate(elements):
        for part in range(words):
            s.emit("MOV", [reg(out + n * words + part), element_word(s, element, type, part)])


def access(s: Selector, opcode: Opcode, suffix: str, data: int, address: Address, loading: bool) -> None:
    """One machine load or store of a register or a group of them."""
    space = opcode.space
    name = "LD" if loading else "ST"
    if space in ("shared", "local"):
        where = short_address(s, address, space)
        mnemonic = name + space[0].upper() + suffix
    elif space in ("global", "", "const"):
        where = long_address(s, address)
        kind = "" if space == "" else "G"
        constant = opcode.nc or (space == "const" and loading)
        mnemonic = name + kind + ".E" + suffix + (".CONSTANT" if constant else strength(opcode))
    else:
        raise UnsupportedError(f"'{opcode.text}' is not supported by the assembler yet")
    s.emit(mnemonic, [reg(data), where] if loading else [where, reg(data)])


def strength(opcode: Opcode) -> str:
    """Accesses that other threads see in their order."""
    if opcode.order in ("volatile", "mmio"):
        return ".STRONG.SYS"
    if opcode.order in ("relaxed", "acquire", "release", "sc"):
        return ".STRONG." + _SCOPES[opcode.scope]
    return ""


def long_address(s: Selector, address: Address) -> Src:
    """A 64-bit address: a register pair and an offset, from sm_80 on with the descriptor of memory in UR4."""
    base, offset = address.base, address.offset
    if isinstance(base, Register):
        pair = s.pair(base)
    elif isinstance(base, Symbol):
        at = s.addresses.setdefault(base.name, 8 * len(s.addresses))
        pair = s.fresh(2)
        offset += base.offset
        for part in (0, 1):
            s.unguarded("MOV", [reg(pair + part), bank(at + 4 * part, 4)])
    else:
        pair = s.fresh(2)
        s.unguarded("MOV", [reg(pair), imm(offset & 0xFFFFFFFF)])
        s.unguarded("MOV", [reg(pair + 1), imm(offset >> 32 & 0xFFFFFFFF)])
        offset = 0
    if not -_OFFSET_LIMIT <= offset < _OFFSET_LIMIT:
        moved = s.fresh(2)
        carry = pred(s.fresh_predicate())
        s.unguarded("IADD3", [reg(moved), carry, reg(pair), imm(offset & 0xFFFFFFFF), ZERO])
        s.unguarded("IADD3.X", [reg(moved + 1), reg(pair + 1), imm(offset >> 32 & 0xFFFFFFFF), ZERO, carry, FALSE])
        pair, offset = moved, 0
    if s.number in DESCRIPTOR:
        s.uses_descriptor = True
        return Src("desc[UR][R.64+I]", [4, pair, offset], OTHER)
    return Src("[R.64+I]", [pair, offset], OTHER)


def short_address(s: Selector, address: Address, space: str) -> Src:
    """``[R+I]`` in shared or local memory."""
    base, offset = address.base, address.offset
    if base is None:
        return Src("[R+I]", [RZ, offset], OTHER)
    number = s.number_of(base)
    if number is not None:
        return Src("[R+I]", [RZ, number + offset], OTHER)
    if isinstance(base, Symbol) and space == "local":
        raise UnsupportedError("local variables are not supported by the assembler yet")
    if isinstance(base, Register):
        total = s.defining(base, "add")
        if total is not None:
            number = s.number_of(total.operands[2])
            if number is not None:
                number = number - (1 << 32) if number >> 31 else number
                if -_OFFSET_LIMIT <= number + offset < _OFFSET_LIMIT:
                    return Src("[R+I]", [s.register_word(total.operands[1]).values[0], number + offset], OTHER)
    return Src("[R+I]", [s.register_word(base).values[0], offset], OTHER)


HANDLERS.update({"ld": load, "ldu": load, "st": store})
