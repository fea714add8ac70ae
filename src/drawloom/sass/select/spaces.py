"""Selection of addresses: variables of every space, windows of generic addresses, ``cvta`` and ``isspacep``.

A shared address is an offset in the block's memory, a local one an offset in the thread's (under the stack pointer
while the kernel runs), a constant one an offset in bank 3, a parameter's one an offset in the parameters of bank 0.
Generic addresses of global memory are its own; the other spaces have windows, whose places constant bank 0 or a
special register holds.
"""

from __future__ import annotations

from typing import Final

from drawloom.errors import UnsupportedError
from drawloom.ptx.ir import Instruction, Operand, Register, Symbol
from drawloom.sass.select.integer import NO_PREDICATE, target_register
from drawloom.sass.select.moves import copy, symbol_address
from drawloom.sass.select.operands import FALSE, OTHER, REGISTER, TRUE, ZERO, Src, bank, imm, invert, pred, reg
from drawloom.sass.select.selector import HANDLERS, Selector
from drawloom.sass.select.specials import read_special
from drawloom.sass.select.symbols import relocated

#: Where a window begins: (offset in constant bank 0 of a 64-bit address, what to add). `cvta` of ptxas 12.9.
_EARLY: Final[dict[str, tuple[int, int]]] = {"shared": (0x18, 0), "local": (0x20, 0), "const": (0x50, 0)}
_LATE: Final[dict[str, tuple[int, int]]] = {"local": (0x20, 0), "const": (0xD0, 0), "param": (0x198, 0)}
#: sm_61: where each word of the address stands. Windows of shared and local memory have 16 MB.
_FIRST: Final[dict[str, tuple[int, int]]] = {"shared": (0x0, 0x100), "local": (0x4, 0x104), "const": (0xD0, 0xD4)}
_WINDOW_MASK: Final = 0xFF000000
#: sm_90: the rank of a block in its cluster stands above the offset in generic addresses of shared memory.
_RANK_SHIFT: Final = 24
_OFFSET_MASK: Final = (1 << _RANK_SHIFT) - 1
#: Whether an address is generic of a space (QSPC), by the space.
_QUERIES: Final[dict[str, str]] = {"shared": "S", "shared::cluster": "D", "local": "L", "global": "G"}


def window(s: Selector, space: str) -> tuple[list[Src], int]:
    """Where the window of a space begins: the words of bank 0 with an address, and what to add to it."""
    if s.number == 61:
        if space not in _FIRST:
            raise UnsupportedError("parameters have no generic addresses before sm_70")
        return [bank(place) for place in _FIRST[space]], 0
    if s.number >= 90:
        place, more = _LATE[space]
    else:
        place, more = (0x40, s.parameters_at) if space == "param" else _EARLY[space]
    return [bank(place), bank(place + 4)], more


def convert(s: Selector, i: Instruction) -> None:
    """``cvta``."""
    register, source = target_register(i), i.operands[1]
    space = i.opcode.space
    if space == "global":
        if isinstance(source, Symbol):
            symbol_address(s, register, source)
        else:
            copy(s, register, source)
        return
    if space == "shared::cluster":
        raise UnsupportedError(f"'{i.opcode.text}' is not supported: clusters are not covered")
    out = s.home(register)
    low, high = address_words(s, source)
    results = [s.fresh(), s.fresh()]
    if space == "shared" and s.number >= 90:
        late_shared(s, results, low, i.opcode.has("to"))
    elif i.opcode.has("to"):
        subtract_window(s, results, low, high, space)
    else:
        add_window(s, results, low, high, space)
    for part in range(register.type.bits // 32):
        s.emit("MOV", [reg(out + part), reg(results[part])])


def generic_address(s: Selector, symbol: Symbol) -> int | None:
    """The pair of registers with the generic address of a shared or local variable; None for any other."""
    if symbol.name in s.shared:
        space = "shared"
    elif symbol.name in s.locals:
        space = "local"
    else:
        return None
    pair = s.fresh(2)
    low = symbol_word(s, symbol)
    if space == "shared" and s.number >= 90:
        late_shared(s, [pair, pair + 1], low, False)
    else:
        add_window(s, [pair, pair + 1], low, ZERO, space)
    return pair


def address_words(s: Selector, source: Operand) -> tuple[Src, Src]:
    """Both words of an address, a variable's or a register's."""
    if isinstance(source, Symbol):
        return symbol_word(s, source), ZERO
    return s.word(source, 0), s.word(source, 1)


def late_shared(s: Selector, out: list[int], low: Src, from_generic: bool) -> None:
    """sm_90: the window's upper word is a special register, the rank of the block stands above the offset."""
    if from_generic:
        s.emit("LOP3.LUT", [reg(out[0]), s.in_register(low), imm(_OFFSET_MASK), ZERO, imm(0xC0), FALSE])
        s.emit("MOV", [reg(out[1]), ZERO])
        return
    rank = s.fresh()
    read_special(s, rank, "SR_CgaCtaId")
    read_special(s, out[1], "SR_SWINHI")
    s.emit("LEA", [reg(out[0]), reg(rank), s.in_register(low), imm(_RANK_SHIFT)])


def add_window(s: Selector, out: list[int], low: Src, high: Src, space: str) -> None:
    begin, more = window(s, space)
    carry = pred(s.fresh_predicate())
    if more:
        moved = s.fresh()
        s.emit("IADD3", [reg(moved), s.in_register(low), imm(more), ZERO])
        low = reg(moved)
    s.emit("IADD3", [reg(out[0]), carry, s.in_register(low), begin[0], ZERO])
    s.emit("IADD3.X", [reg(out[1]), s.in_register(high), begin[1], ZERO, carry, FALSE])


def subtract_window(s: Selector, out: list[int], low: Src, high: Src, space: str) -> None:
    words, more = window(s, space)
    carry = pred(s.fresh_predicate())
    begin = [s.in_register(word).values for word in words]
    s.emit("IADD3", [reg(out[0]), carry, s.in_register(low), Src("-R", begin[0], REGISTER), ZERO])
    s.emit("IADD3.X", [reg(out[1]), s.in_register(high), Src("~R", begin[1], REGISTER), ZERO, carry, FALSE])
    if more:
        borrow = pred(s.fresh_predicate())
        s.emit("IADD3", [reg(out[0]), borrow, reg(out[0]), imm(-more), ZERO])
        s.emit("IADD3.X", [reg(out[1]), reg(out[1]), imm(-1), ZERO, borrow, FALSE])


def query(s: Selector, i: Instruction) -> None:
    """``isspacep``: the machine knows of shared, local and all else; constants and parameters lie in the latter."""
    target = i.operands[0]
    assert isinstance(target, Register)
    out = pred(s.home(target))
    space = i.opcode.space
    source = i.operands[1]
    found = _QUERIES.get(space)
    if found is None:
        size = s.variables.constant_bytes if space == "const" else s.parameter_bytes
        in_window(s, out, source, space, size)
        return
    if s.number == 61:
        query_windows(s, out, source, space)
        return
    result = out if space != "global" else pred(s.fresh_predicate())
    s.emit(f"QSPC.E.{found}", [result, ZERO, Src("[R+I]", [s.pair(source), 0], OTHER)])
    if space == "global":
        constant = pred(s.fresh_predicate())
        in_window(s, constant, source, "const", s.variables.constant_bytes)
        s.emit("PLOP3.LUT", [out, NO_PREDICATE, result, invert(constant), TRUE, imm(0xC0), imm(0)])


def query_windows(s: Selector, out: Src, source: Operand, space: str) -> None:
    """sm_61 compares the upper bits; what lies in no window is global."""
    low, high = s.register_word(source, 0), s.register_word(source, 1)
    top = reg(s.fresh())
    s.emit("LOP3.LUT", [top, low, imm(_WINDOW_MASK), ZERO, imm(0xC0), FALSE])
    others: list[Src] = []
    for name in ("shared", "local") if space == "global" else (space,):
        begin, _ = window(s, name)
        same, inside = pred(s.fresh_predicate()), out if space != "global" else pred(s.fresh_predicate())
        s.emit("ISETP.EQ.U32.AND", [same, NO_PREDICATE, top, begin[0], TRUE])
        s.emit("ISETP.EQ.U32.AND", [inside, NO_PREDICATE, high, begin[1], same])
        others.append(inside)
    if space == "global":
        constant = pred(s.fresh_predicate())
        in_window(s, constant, source, "const", s.variables.constant_bytes)
        outside = pred(s.fresh_predicate())
        s.emit("PLOP3.LUT", [outside, NO_PREDICATE, *map(invert, others), TRUE, imm(0xC0), imm(0)])
        s.emit("PLOP3.LUT", [out, NO_PREDICATE, outside, invert(constant), TRUE, imm(0xC0), imm(0)])


def in_window(s: Selector, out: Src, source: Operand, space: str, size: int) -> None:
    """Whether a generic address is less than ``size`` behind the beginning of a window."""
    if space == "const" and s.variables.relocatable:
        raise UnsupportedError("the size of constant memory is a linker's business: not supported by the assembler")
    distance = [s.fresh(), s.fresh()]
    subtract_window(s, distance, s.word(source, 0), s.word(source, 1), space)
    near = pred(s.fresh_predicate())
    s.emit("ISETP.LT.U32.AND", [near, NO_PREDICATE, reg(distance[0]), imm(size), TRUE])
    s.emit("ISETP.EQ.AND", [out, NO_PREDICATE, reg(distance[1]), ZERO, near])


def symbol_word(s: Selector, symbol: Symbol) -> Src:
    """The address of a shared, local, constant or parameter variable in its own space: one word."""
    number = s.number_of(symbol)
    if number is not None:
        return imm(number) if number else ZERO
    at = s.locals.get(symbol.name)
    if at is None and s.variables.relocatable:
        return relocated(s, symbol, 1)[0]
    if at is None:
        raise UnsupportedError(f"the address of '{symbol.name}' is not supported by the assembler yet")
    out = s.fresh()
    s.unguarded("IADD3", [reg(out), reg(s.out.frame_pointer), imm(at + symbol.offset), ZERO])
    return reg(out)


HANDLERS.update({"cvta": convert, "isspacep": query})
