"""Selection of ``atom`` and ``red``: what the machine does in one instruction.

Operations that shared memory lacks, and those on 16 bits, are loops by now (see ``unfold.py``). Release order is a
fence before the instruction, acquire order one behind it, as the driver's assembler has it.
"""

from __future__ import annotations

from typing import Final

from drawloom.errors import UnsupportedError
from drawloom.ptx.ir import Address, Instruction, Operand, Register, Vector
from drawloom.ptx.isa import Opcode
from drawloom.ptx.types import Type
from drawloom.sass.machine import PT, RZ
from drawloom.sass.select.barriers import acquire, release
from drawloom.sass.select.memory import (
    early_reach,
    element_word,
    gather,
    long_address,
    long_base,
    scatter,
    short_address,
)
from drawloom.sass.select.operands import OTHER, Src, pred, reg
from drawloom.sass.select.selector import HANDLERS, Selector

#: Who sees a strong access in its order.
SCOPES: Final[dict[str, str]] = {"": "GPU", "cta": "SM", "cluster": "GPU", "gpu": "GPU", "sys": "SYS"}
#: The first of eight registers that nothing is kept in over a call.
_EIGHT: Final = 8
_FLOATS: Final[dict[str, str]] = {
    "f32": ".F32.FTZ.RN", "f64": ".F64.RN", "f16x2": ".F16x2.RN", "bf16x2": ".BF16x2.RN",
}  # fmt: skip


def atomic(s: Selector, i: Instruction) -> None:
    """``atom`` and ``red``."""
    opcode = i.opcode
    type = opcode.types[0]
    sources = list(i.operands if opcode.name == "red" else i.operands[1:])
    if opcode.has("L2::cache_hint"):
        sources.pop()  # a hint on what to keep in the cache; nothing else depends on it
    address = sources[0]
    assert isinstance(address, Address)
    target = i.operands[0] if opcode.name == "atom" else None
    words = max(1, type.bytes * opcode.vector // 4)
    out = RZ
    if isinstance(target, Vector):
        out = s.fresh(words)
    elif isinstance(target, Register):
        out = s.home(target)
    release(s, opcode)
    if opcode.operation == "cas":
        swap(s, opcode, out, address, sources[1:], type)
    else:
        update(s, opcode, out, address, sources[1], type, words)
    acquire(s, opcode)
    if isinstance(target, Vector):
        scatter(s, out, target.elements, type)


def update(s: Selector, opcode: Opcode, out: int, address: Address, value: Operand, type: Type, words: int) -> None:
    """Everything but compare-and-swap."""
    source = reg(operand_group(s, value, type, words))
    operation = opcode.operation.upper()
    if opcode.space == "shared":
        where = short_address(s, address, "shared")
        s.emit(f"ATOMS.{operation}{kind_of(opcode, type)}", [reg(out), where, source])
        return
    tail = f".E.{operation}{kind_of(opcode, type)}{reach_of(s, opcode)}"
    where = long_address(s, address)
    if out == RZ and opcode.space == "global" and operation != "EXCH":
        s.emit(("REDG" if s.number >= 90 else "RED") + tail, [where, source])
    else:
        s.emit(base_of(opcode) + tail, [pred(PT), reg(out), where, source])


def swap(s: Selector, opcode: Opcode, out: int, address: Address, values: list[Operand], type: Type) -> None:
    """Compare-and-swap: what is compared and what is stored stand in neighbouring registers. No virtual register has
    eight words: those of 128 bits are given by number, as arguments of calls are."""
    words = type.bits // 32
    if words > 2:
        group = _EIGHT
        s.out.named = _EIGHT + 8
    else:
        group = s.fresh(2 * words)
    for n, value in enumerate(values):
        for part in range(words):
            s.emit("MOV", [reg(group + n * words + part), element_word(s, value, type, part)])
    size = f".{type.bits}" if words > 1 else ""
    operands = [reg(group), reg(group + words)]
    if opcode.space == "shared":
        s.emit(f"ATOMS.CAS{size}", [reg(out), short_address(s, address, "shared"), *operands])
        return
    pair, offset = long_base(s, address)
    where = Src("[R+I]", [pair, offset], OTHER)
    mnemonic = f"{base_of(opcode)}.E.CAS{size}{reach_of(s, opcode)}"
    s.emit(mnemonic, [pred(PT), reg(out), where, *operands])


def reach_of(s: Selector, opcode: Opcode) -> str:
    """Who sees the operation in its order."""
    reach = ".STRONG." + SCOPES[opcode.scope]
    return early_reach(reach, "") if s.number == 75 else reach


def base_of(opcode: Opcode) -> str:
    """ATOM finds out by itself whether a generic address is one of shared memory."""
    if opcode.space == "shared::cluster":
        raise UnsupportedError(f"'{opcode.text}' is not supported: clusters are not covered")
    return "ATOMG" if opcode.space == "global" else "ATOM"


def kind_of(opcode: Opcode, type: Type) -> str:
    """The modifier for the type; signed integers differ from others in their order only."""
    if type.is_float:
        lanes = type.lanes * opcode.vector
        if type.name in _FLOATS and lanes == type.lanes:
            return _FLOATS[type.name]
        flush = ".FTZ" if type.name == "f32" else ""
        return f".{type.name.removesuffix('x2').upper()}x{lanes}{flush}.RN"
    if type.bits == 128:
        return ".128"
    signed = type.is_signed and opcode.operation in ("min", "max")
    if type.bits == 64:
        return ".S64" if signed else ".64"
    return ".S32" if signed else ""


def operand_group(s: Selector, value: Operand, type: Type, words: int) -> int:
    """The first of the neighbouring registers that hold a value."""
    if isinstance(value, Vector):
        group = s.fresh(words)
        gather(s, group, value.elements, type)
        return group
    if words == 1:
        return s.in_register(element_word(s, value, type, 0)).values[0]
    if isinstance(value, Register) and s.is_held(value):
        return s.home(s.origin(value))
    group = s.fresh(words)
    for part in range(words):
        s.emit("MOV", [reg(group + part), element_word(s, value, type, part)])
    return group


HANDLERS.update({"atom": atomic, "red": atomic})
