"""Selection of loads and stores of every space, in their order and with their hints for the caches."""

from __future__ import annotations

from typing import Final

from drawloom.errors import UnsupportedError
from drawloom.ptx.ir import Address, Instruction, Operand, Register, Symbol, Vector
from drawloom.ptx.isa import Opcode
from drawloom.ptx.types import Type
from drawloom.sass.machine import RZ
from drawloom.sass.select.barriers import acquire, release
from drawloom.sass.select.floats import float_pair, float_word
from drawloom.sass.select.moves import extract, pack_small
from drawloom.sass.select.operands import FALSE, IMMEDIATE, OTHER, ZERO, Src, bank, imm, pred, reg
from drawloom.sass.select.selector import HANDLERS, LONG_ADDRESS, Selector
from drawloom.sass.select.spaces import generic_address
from drawloom.sass.select.symbols import relocated

#: The suffix for an access of so many bytes in all.
_SIZES: Final[dict[int, str]] = {1: ".U8", 2: ".U16", 4: "", 8: ".64", 16: ".128"}
_SIGNED: Final[dict[int, str]] = {1: ".S8", 2: ".S16"}
_SCOPES: Final[dict[str, str]] = {"": "SYS", "cta": "SM", "cluster": "GPU", "gpu": "GPU", "sys": "SYS"}
#: Offsets of addresses have 24 bits, signed; those in constant banks 16.
_OFFSET_LIMIT: Final = 1 << 23
_BANK_LIMIT: Final = 1 << 15
#: The constant bank of `.const` variables.
_CONSTANTS: Final = 3
#: What the first cache is told, by a PTX modifier; and how much more of a line the second one may fetch.
_EVICTIONS: Final[dict[str, str]] = {
    "cs": ".EF", "lu": ".LU", "L1::evict_unchanged": ".EU", "L1::evict_first": ".EF", "L1::evict_last": ".EL",
    "L1::no_allocate": ".NA",
}  # fmt: skip
_FETCHES: Final[dict[str, str]] = {"L2::64B": ".LTC64B", "L2::128B": ".LTC128B", "L2::256B": ".LTC256B"}
#: Cache operators that say how far an access must go: to its multiprocessor's cache, the GPU's, to memory.
_REACHES: Final[dict[str, str]] = {
    "ca": ".STRONG.SM", "wb": ".STRONG.SM", "cg": ".STRONG.GPU", "cv": ".STRONG.SYS", "wt": ".STRONG.SYS",
}  # fmt: skip


#: What loads and stores were found to be called, by target and opcode.
_mnemonics: Final[dict[int, dict[Opcode, str]]] = {}
#: The unsigned or untyped load is marked on sm_75.
_SHARED_LOADS: Final[dict[int, str]] = {75: "LDS.U"}


def load(s: Selector, i: Instruction) -> None:
    """``ld`` and ``ldu``: kernel parameters are no loads, but words of constant bank 0."""
    opcode = i.opcode
    target = i.operands[0]
    registers = target.elements if isinstance(target, Vector) else [target]
    target = registers[0]
    type = opcode.types[0]
    address = i.operands[1]
    assert isinstance(address, Address)
    if opcode.space == "param":
        if isinstance(address.base, Symbol) and address.base.name in s.parameters:
            load_parameter(s, type, registers, s.parameters[address.base.name] + address.offset)
        else:
            load_constant(s, type, registers, 0, address, s.parameters_at)
        return
    if opcode.space == "const":
        load_constant(s, type, registers, _CONSTANTS, address, 0)
        return
    size = type.bytes * opcode.vector
    if opcode.vector == 1:
        out = s.home(target) if isinstance(target, Register) else RZ
        access(s, opcode, load_size(type), out, address, True)
        if isinstance(target, Register) and target.type.bits == 64 and type.bits < 64:
            widen(s, out, type.is_signed)
    else:
        out = s.fresh(max(1, size // 4))
        access(s, opcode, vector_size(opcode, size), out, address, True)
        scatter(s, out, registers, type)
    acquire(s, opcode)


def load_size(type: Type) -> str:
    return _SIGNED[type.bytes] if type.is_signed and type.bytes in _SIGNED else _SIZES[type.bytes]


def vector_size(opcode: Opcode, size: int) -> str:
    suffix = _SIZES.get(size)
    if suffix is None:
        raise UnsupportedError(f"'{opcode.text}' moves {size} bytes at once: no target of the assembler does")
    return suffix


def scatter(s: Selector, words: int, registers: list[Operand], type: Type) -> None:
    """The elements of a vector, one behind the other in ``words``, to their registers."""
    for n, register in enumerate(registers):
        if not isinstance(register, Register):
            continue
        home = s.home(register)
        if type.bytes < 4:
            byte = n * type.bytes
            extract(s, home, words + byte // 4, byte % 4, type.bytes, type.is_signed)
        else:
            size = type.bytes // 4
            for part in range(size):
                s.emit("MOV", [reg(home + part), reg(words + n * size + part)])
        if register.type.bits == 64 and type.bits < 64:
            widen(s, home, type.is_signed)


def load_constant(s: Selector, type: Type, registers: list[Operand], number: int, address: Address, begin: int) -> None:
    """Elements from a constant bank, at most 8 bytes at once; ``begin`` is where address 0 stands in it."""
    if isinstance(address.base, Symbol) and s.number_of(address.base) is None and s.variables.relocatable:
        base = relocated(s, address.base, 1)[0]
    else:
        base = ZERO if address.base is None else s.word(address.base)
    offset = begin + address.offset
    if base.kind == IMMEDIATE:
        base, offset = ZERO, offset + base.values[0]
    last = offset + type.bytes * len(registers)
    base = s.in_register(base)
    if not -_BANK_LIMIT <= offset <= last < _BANK_LIMIT:
        moved = s.fresh()
        s.unguarded("IADD3", [reg(moved), base, imm(offset), ZERO])
        base, offset = reg(moved), 0
    step = min(type.bytes, 8)
    for n, register in enumerate(registers):
        out = s.home(register) if isinstance(register, Register) else RZ
        for at in range(0, type.bytes if out != RZ else 0, step):
            place = Src("c[I][R+I]", [number, base.values[0], offset + n * type.bytes + at], OTHER)
            s.emit("LDC" + (load_size(type) if step < 8 else ".64"), [reg(out + at // 4), place])
        if isinstance(register, Register) and register.type.bits == 64 and type.bits < 64:
            widen(s, out, type.is_signed)


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
    release(s, opcode)
    access(s, opcode, vector_size(opcode, size), value, address, False)


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


def access(s: Selector, opcode: Opcode, size: str, data: int, address: Address, loading: bool) -> None:
    """One machine load or store of a register or a group of them."""
    known = _mnemonics.setdefault(s.number, {})
    mnemonic = known.get(opcode)
    if mnemonic is None:
        mnemonic = known[opcode] = access_mnemonic(s, opcode, size, loading)
    space = opcode.space
    where = long_address(s, address) if space == "global" or not space else short_address(s, address, space)
    s.emit(mnemonic, [reg(data), where] if loading else [where, reg(data)])


def access_mnemonic(s: Selector, opcode: Opcode, size: str, loading: bool) -> str:
    """What the machine calls a load or store, with the suffix for its size."""
    space = opcode.space
    name = "LD" if loading else "ST"
    if space in ("shared", "local"):
        if loading and space == "shared":
            return _SHARED_LOADS.get(s.number, "LDS") + size
        return name + space[0].upper() + size
    if space in ("global", ""):
        before, behind = strength(s, opcode)
        return name + ("G" if space else "") + ".E" + before + size + behind
    if space == "param":
        raise UnsupportedError(f"'{opcode.text}' to a parameter that no call takes is not supported by the assembler")
    raise UnsupportedError(f"'{opcode.text}' is not supported: clusters are not covered")


def strength(s: Selector, opcode: Opcode) -> tuple[str, str]:
    """The modifiers before and behind the size: what caches do, who sees the access in its order."""
    before = fetch = reach = ""
    for modifier in opcode.modifiers:
        before = before or _EVICTIONS.get(modifier, "")
        fetch = fetch or _FETCHES.get(modifier, "")
        reach = reach or _REACHES.get(modifier, "")
    if opcode.nc:
        reach = ".CONSTANT" + (".SYS" if s.number == 75 else "")
    elif opcode.has("mmio"):
        reach = ".MMIO.SYS"
    elif opcode.order == "volatile":
        reach = ".STRONG.SYS"
    elif opcode.order in ("relaxed", "acquire", "release", "sc"):
        reach = ".STRONG." + _SCOPES[opcode.scope]
    elif s.number == 75:
        reach = reach or ".SYS"
    return before + fetch, early_reach(reach, before) if s.number == 75 else reach


def early_reach(reach: str, eviction: str) -> str:
    """sm_75 names the block where others name its multiprocessor; a strong access with a hint goes all the way."""
    return ".STRONG.SYS" if eviction and reach.startswith(".STRONG") else reach.replace(".SM", ".CTA")


def long_base(s: Selector, address: Address) -> tuple[int, int]:
    """A 64-bit address as a register pair and an offset that instructions have room for."""
    base, offset = address.base, address.offset
    known = generic_address(s, base) if isinstance(base, Symbol) else None
    if known is not None:
        pair = known
    elif isinstance(base, Register):
        pair = s.pair(base)
    elif isinstance(base, Symbol) and s.variables.relocatable:
        pair = s.fresh(2)
        for part, word in enumerate(relocated(s, base, 2)):
            s.unguarded("MOV", [reg(pair + part), word])
    elif isinstance(base, Symbol):
        at = s.variables.address(base.name)
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
    return pair, offset


def long_address(s: Selector, address: Address) -> Src:
    """A 64-bit address as an operand, from sm_80 on with the descriptor of memory in UR4."""
    pair, offset = long_base(s, address)
    s.need_descriptor()
    text = LONG_ADDRESS[s.number]
    return Src(text, [4, pair, offset] if text.startswith("desc") else [pair, offset], OTHER)


def short_address(s: Selector, address: Address, space: str) -> Src:
    """``[R+I]`` in shared or local memory."""
    base, offset = address.base, address.offset
    if isinstance(base, Symbol) and space == "local" and base.name in s.locals:
        return near(s, reg(s.out.frame_pointer), s.locals[base.name] + offset)
    if base is None:
        return near(s, ZERO, offset)
    number = s.number_of(base)
    if number is not None:
        return near(s, ZERO, number + offset)
    if isinstance(base, Symbol) and s.variables.relocatable:
        return near(s, relocated(s, base, 1)[0], offset)
    if isinstance(base, Symbol):
        raise UnsupportedError(f"'{base.name}' is no variable in {space} memory")
    total = s.defining(base, "add")
    if total is not None:
        number = s.number_of(total.operands[2])
        if number is not None:
            number = number - (1 << 32) if number >> 31 else number
            return near(s, s.register_word(total.operands[1]), number + offset)
    return near(s, s.register_word(base), offset)


def near(s: Selector, base: Src, offset: int) -> Src:
    """``[R+I]``, the offset in a register where it is too large."""
    if -_OFFSET_LIMIT <= offset < _OFFSET_LIMIT:
        return Src("[R+I]", [base.values[0], offset], OTHER)
    moved = s.fresh()
    s.unguarded("IADD3", [reg(moved), base, imm(offset & 0xFFFFFFFF), ZERO])
    return Src("[R+I]", [moved, 0], OTHER)


HANDLERS.update({"ld": load, "ldu": load, "st": store})
