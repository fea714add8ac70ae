"""Selection of moves, packing, address conversions and special registers."""

from __future__ import annotations

from typing import Final

from drawloom.errors import UnsupportedError
from drawloom.ptx.ir import Immediate, Instruction, Operand, Register, SpecialRegister, Symbol, Vector
from drawloom.sass.select.integer import NO_PREDICATE, target_register
from drawloom.sass.select.operands import FALSE, TRUE, ZERO, Src, bank, imm, pred, reg
from drawloom.sass.select.selector import HANDLERS, Selector, float_bits

#: Special registers that one S2R reads, by their PTX name.
_SPECIAL: Final[dict[str, str]] = {
    "%tid.x": "SR_TID.X", "%tid.y": "SR_TID.Y", "%tid.z": "SR_TID.Z", "%ctaid.x": "SR_CTAID.X",
    "%ctaid.y": "SR_CTAID.Y", "%ctaid.z": "SR_CTAID.Z", "%laneid": "SR_LANEID", "%lanemask_eq": "SR_EQMASK",
    "%lanemask_lt": "SR_LTMASK", "%lanemask_le": "SR_LEMASK", "%lanemask_gt": "SR_GTMASK",
    "%lanemask_ge": "SR_GEMASK", "%smid": "SR_VIRTUALSMID", "%clock": "SR_CLOCKLO", "%clock_hi": "SR_CLOCKHI",
}  # fmt: skip
#: Those that constant bank 0 holds, at these offsets (sm_61 keeps them 8 bytes further down).
_IN_BANK: Final[dict[str, int]] = {
    "%ntid.x": 0x0, "%ntid.y": 0x4, "%ntid.z": 0x8, "%nctaid.x": 0xC, "%nctaid.y": 0x10, "%nctaid.z": 0x14,
}  # fmt: skip


def move(s: Selector, i: Instruction) -> None:
    """``mov``: of settled registers nothing is left but what the readers put into their operands."""
    target, source = i.operands[0], i.operands[1]
    if isinstance(target, Vector):
        unpack(s, target, source, i)
        return
    register = target_register(i)
    if isinstance(source, Vector):
        pack(s, register, source)
        return
    if register.type.kind == "p":
        s.emit("PLOP3.LUT", [pred(s.home(register)), NO_PREDICATE, s.predicate(source), TRUE, TRUE, imm(0xF0), imm(0)])
        return
    if isinstance(source, SpecialRegister):
        special(s, register, source.name)
        return
    if isinstance(source, Symbol) and source.name not in s.shared:
        symbol_address(s, register, source)
        return
    if isinstance(source, Immediate) and source.kind:
        source = Immediate(float_bits(source, register.type.bits))
    copy(s, register, source)


def copy(s: Selector, register: Register, source: Operand) -> None:
    """The same bits under another name; words are moved only where the register is written more than once."""
    settled = s.definitions.settled(register)
    number = s.number_of(source)
    if settled and number is not None:
        s.numbers[register.id] = number
        return
    if settled and isinstance(source, Register):
        origin = s.origin(source)
        if s.banks[origin.id] >= 0:
            s.banks[register.id] = s.banks[origin.id]
            return
        if s.definitions.settled(origin) and origin.type.bits == register.type.bits:
            s.copies[register.id] = origin
            return
    out = s.home(register)
    for part in range(max(1, register.type.bits // 32)):
        s.emit("MOV", [reg(out + part), s.word(source, part)])


def pack(s: Selector, register: Register, source: Vector) -> None:
    """``mov wide, {low, high}``."""
    out = s.home(register)
    each = register.type.bits // len(source.elements)
    if each >= 32:
        words = [s.word(e, part) for e in source.elements for part in range(each // 32)]
        if any(w.values[0] in range(out, out + len(words)) for w in words if w.text == "R"):
            words = [_saved(s, w) for w in words]
        for part, word in enumerate(words):
            s.emit("MOV", [reg(out + part), word])
        return
    for part in range(register.type.bits // 32):
        per = 32 // each
        elements = source.elements[part * per : part * per + per]
        words = [s.register_word(e) for e in elements]
        if each == 16:
            s.emit("PRMT", [reg(out + part), words[0], imm(0x5410), words[1]])
        else:
            low, high = s.fresh(), s.fresh()
            s.emit("PRMT", [reg(low), words[0], imm(0x40), words[1]])
            s.emit("PRMT", [reg(high), words[2], imm(0x40), words[3]])
            s.emit("PRMT", [reg(out + part), reg(low), imm(0x5410), reg(high)])


def _saved(s: Selector, word: Src) -> Src:
    fresh = reg(s.fresh())
    s.emit("MOV", [fresh, word])
    return fresh


def unpack(s: Selector, target: Vector, source: Operand, i: Instruction) -> None:
    """``mov {low, high}, wide``."""
    registers = [r if isinstance(r, Register) else None for r in target.elements]
    if isinstance(source, SpecialRegister):
        for register, axis in zip(registers, "xyzw", strict=False):
            if register is not None:
                special(s, register, f"{source.name}.{axis}")
        return
    if isinstance(source, Vector):
        for register, element in zip(registers, source.elements, strict=True):
            if register is not None:
                copy(s, register, element)
        return
    widths = [r.type.bits for r in registers if r is not None]
    each = widths[0] if widths else 16
    if each >= 32:
        words = [s.word(source, n) for n in range(len(registers) * each // 32)]
        outs = [s.home(r) + part if r is not None else -1 for r in registers for part in range(each // 32)]
        for out, word in zip(outs, words, strict=True):
            if out >= 0:
                s.emit("MOV", [reg(out), word])
        return
    for n, register in enumerate(registers):
        if register is not None:
            word = s.register_word(source, n * each // 32)
            byte = n * each % 32 // 8
            picks = (0x4440 | byte) if each == 8 else (0x4400 | (byte + 1) << 4 | byte)
            s.emit("PRMT", [reg(s.home(register)), word, imm(picks), ZERO])


def special(s: Selector, register: Register, name: str) -> None:
    """A special register's value."""
    out = s.home(register)
    if name in _IN_BANK:
        offset = _IN_BANK[name] + (8 if s.number == 61 else 0)
        if s.definitions.settled(register):
            s.banks[register.id] = offset
        else:
            s.emit("MOV", [reg(out), bank(offset)])
        return
    known = _SPECIAL.get(name)
    if known is not None:
        read_special(s, out, known)
    elif name == "%clock64":
        s.emit("CS2R", [reg(out), Src("S", [s.target.special("SR_CLOCKLO")], 3)])
    elif name == "%warpid":
        word = s.fresh()
        read_special(s, word, "SR_VIRTID")
        s.emit("SHF.R.U32.HI", [reg(word), ZERO, imm(8), reg(word)])
        s.emit("LOP3.LUT", [reg(out), reg(word), imm(0x7F), ZERO, imm(0xC0), FALSE])
    elif name.endswith(".w") or name.startswith("%envreg"):
        s.emit("MOV", [reg(out), ZERO])
    else:
        raise UnsupportedError(f"special register {name} is not supported by the assembler yet")
    for part in range(1, register.type.bits // 32):
        if name != "%clock64":
            s.emit("MOV", [reg(out + part), ZERO])


def special_word(s: Selector, name: str, part: int) -> Src:
    """A word of a special register that is an operand of something else than ``mov``."""
    if part:
        return ZERO
    if name in _IN_BANK:
        return bank(_IN_BANK[name] + (8 if s.number == 61 else 0))
    if name not in _SPECIAL:
        raise UnsupportedError(f"special register {name} is not supported by the assembler yet")
    out = s.fresh()
    read_special(s, out, _SPECIAL[name])
    return reg(out)


def read_special(s: Selector, out: int, name: str) -> None:
    s.emit("S2R", [reg(out), Src("S", [s.target.special(name)], 3)])


def to_generic(s: Selector, i: Instruction) -> None:
    """``cvta``: global, constant and parameter addresses are generic ones already; shared and local lie in windows."""
    register, source = target_register(i), i.operands[1]
    space = i.opcode.space
    if space in ("shared", "local"):
        window_address(s, register, source, space, i.opcode.has("to"))
        return
    if isinstance(source, Symbol):
        symbol_address(s, register, source)
        return
    copy(s, register, source)


def symbol_address(s: Selector, register: Register, symbol: Symbol) -> None:
    """The address of a global or constant variable: two words of bank 4, which the loader fills in."""
    at = s.addresses.setdefault(symbol.name, 8 * len(s.addresses))
    out = s.home(register)
    if symbol.offset:
        carry = pred(s.fresh_predicate())
        s.emit("IADD3", [reg(out), carry, s.in_register(bank(at, 4)), imm(symbol.offset), ZERO])
        s.emit("IADD3.X", [reg(out + 1), s.in_register(bank(at + 4, 4)), imm(symbol.offset >> 32), ZERO, carry, FALSE])
        return
    for part in range(max(1, register.type.bits // 32)):
        s.emit("MOV", [reg(out + part), bank(at + 4 * part, 4)])


def window_address(s: Selector, register: Register, source: Operand, space: str, from_generic: bool) -> None:
    """Shared and local memory have windows in generic addresses, whose upper words a special register (sm_90) or
    constant bank 0 holds; offsets inside are 32 bits."""
    out = s.home(register)
    if from_generic:
        s.emit("MOV", [reg(out), s.word(source)])
        if register.type.bits == 64:
            s.emit("MOV", [reg(out + 1), ZERO])
        return
    raise UnsupportedError(f"cvta.{space} is not supported by the assembler yet")


def extract(s: Selector, out: int, word: int, byte: int, size: int, signed: bool) -> None:
    """A byte or half of a word, extended to 32 bits."""
    top = 8 + byte + size - 1 if signed else 4
    picks = (top << 12 | top << 8 | top << 4 | byte) if size == 1 else (top << 12 | top << 8 | (byte + 1) << 4 | byte)
    s.emit("PRMT", [reg(out), reg(word), imm(picks), ZERO])


def pack_small(s: Selector, out: int, elements: list[Operand], size: int) -> None:
    """Two halves or up to four bytes in one word."""
    words = [s.register_word(e) for e in elements]
    if size == 2:
        s.emit("PRMT", [reg(out), words[0], imm(0x5410), words[1] if len(words) > 1 else ZERO])
        return
    pairs: list[int] = []
    for n in range(0, len(words), 2):
        pairs.append(s.fresh())
        s.emit("PRMT", [reg(pairs[-1]), words[n], imm(0x40), words[n + 1]])
    s.emit("PRMT", [reg(out), reg(pairs[0]), imm(0x5410), reg(pairs[1]) if len(pairs) > 1 else ZERO])


HANDLERS.update({"mov": move, "cvta": to_generic})
