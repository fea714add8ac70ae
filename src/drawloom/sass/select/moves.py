"""Selection of moves, packing, address conversions and special registers."""

from __future__ import annotations

from drawloom.ptx.ir import Immediate, Instruction, Operand, Register, SpecialRegister, Symbol, Vector
from drawloom.sass.select.integer import NO_PREDICATE, target_register
from drawloom.sass.select.operands import FALSE, TRUE, ZERO, Src, bank, imm, pred, reg
from drawloom.sass.select.selector import HANDLERS, Selector, float_bits
from drawloom.sass.select.specials import special
from drawloom.sass.select.symbols import relocated


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
    if isinstance(source, SpecialRegister):
        special(s, register, source.name)
        return
    if register.type.kind == "p":
        s.emit("PLOP3.LUT", [pred(s.home(register)), NO_PREDICATE, s.predicate(source), TRUE, TRUE, imm(0xF0), imm(0)])
        return
    if isinstance(source, Symbol) and s.number_of(source) is None:
        if source.name in s.locals:
            frame_address(s, register, s.locals[source.name] + source.offset)
        else:
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
        if any(r is not None and any(e is r for e in source.elements) for r in registers):
            rearrange(s, registers, source)
            return
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


def rearrange(s: Selector, registers: list[Register | None], source: Vector) -> None:
    """Registers to registers, some of them the same: all are read before any is written."""
    moves: list[tuple[int, Src]] = []
    for register, element in zip(registers, source.elements, strict=True):
        if register is not None:
            for part in range(max(1, register.type.bits // 32)):
                moves.append((s.home(register) + part, _saved(s, s.word(element, part))))
    for out, word in moves:
        s.emit("MOV", [reg(out), word])


def symbol_address(s: Selector, register: Register, symbol: Symbol) -> None:
    """The address of a global variable: two words of bank 4, which the loader fills in."""
    if s.variables.relocatable:
        for part, word in enumerate(relocated(s, symbol, max(1, register.type.bits // 32))):
            s.emit("MOV", [reg(s.home(register) + part), word])
        return
    at = s.variables.address(symbol.name)
    out = s.home(register)
    if symbol.offset:
        carry = pred(s.fresh_predicate())
        s.emit("IADD3", [reg(out), carry, s.in_register(bank(at, 4)), imm(symbol.offset), ZERO])
        s.emit("IADD3.X", [reg(out + 1), s.in_register(bank(at + 4, 4)), imm(symbol.offset >> 32), ZERO, carry, FALSE])
        return
    for part in range(max(1, register.type.bits // 32)):
        s.emit("MOV", [reg(out + part), bank(at + 4 * part, 4)])


def frame_address(s: Selector, register: Register, offset: int) -> None:
    """The address of a local variable in local memory: so far above the beginning of the frame."""
    out = s.home(register)
    s.emit("IADD3", [reg(out), reg(s.out.frame_pointer), imm(offset), ZERO])
    for part in range(1, register.type.bits // 32):
        s.emit("MOV", [reg(out + part), ZERO])


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


HANDLERS.update({"mov": move})
