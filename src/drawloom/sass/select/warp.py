"""Selection of operations between the lanes of a warp.

Where lanes may have parted, those of the member mask are brought together first (WARPSYNC); elsewhere the operation
finds them together. The forms without ``.sync`` take whoever is there.
"""

from __future__ import annotations

from typing import Final

from drawloom.errors import UnsupportedError
from drawloom.ptx.ir import Instruction, Operand, Pair, Register
from drawloom.sass.machine import PT, RZ, UNIFORM
from drawloom.sass.select.operands import FALSE, IMMEDIATE, OTHER, TRUE, ZERO, Src, imm, pred, reg
from drawloom.sass.select.selector import HANDLERS, Selector

_VOTES: Final[dict[str, str]] = {"all": "ALL", "any": "ANY", "uni": "EQ", "ballot": "ANY"}
_REDUCTIONS: Final[dict[str, str]] = {"add": "SUM", "min": "MIN", "max": "MAX", "or": "OR", "xor": "XOR"}


def targets(s: Selector, i: Instruction) -> tuple[int, int]:
    """The register and the predicate that are written; RZ and PT where there are none."""
    target: Operand = i.operands[0]
    first, second = (target.first, target.second) if isinstance(target, Pair) else (target, None)
    out = s.home(first) if isinstance(first, Register) else RZ
    return out, s.home(second) if isinstance(second, Register) else PT


def shuffle(s: Selector, i: Instruction) -> None:
    """``shfl``: the lane and what it is clamped to may be constants."""
    opcode = i.opcode
    out, inside = targets(s, i)
    if opcode.sync:
        s.bring_together(i.operands[4])
    value = s.register_word(i.operands[1])
    lane, clamp = masked(s, i.operands[2], 0x1F), masked(s, i.operands[3], 0x1FFF)
    s.emit(f"SHFL.{opcode.operation.upper()}", [pred(inside), reg(out), value, lane, clamp])


def masked(s: Selector, operand: Operand, mask: int) -> Src:
    """An operand of which the machine reads only the bits of ``mask``."""
    number = s.number_of(operand)
    return s.register_word(operand) if number is None else Src("I", [number & mask], IMMEDIATE)


def vote(s: Selector, i: Instruction) -> None:
    """``vote``."""
    opcode = i.opcode
    if opcode.sync:
        s.bring_together(i.operands[2])
    target = i.operands[0]
    assert isinstance(target, Register)
    mnemonic = "VOTE." + _VOTES[opcode.operation]
    holds = s.predicate(i.operands[1])
    if opcode.operation == "ballot":
        s.emit(mnemonic, [reg(s.home(target)), pred(PT), holds])
    else:
        s.emit(mnemonic, [pred(s.home(target)), holds])


def active_lanes(s: Selector, i: Instruction) -> None:
    """``activemask``."""
    target = i.operands[0]
    assert isinstance(target, Register)
    s.emit("VOTE.ANY", [reg(s.home(target)), pred(PT), TRUE])


def match(s: Selector, i: Instruction) -> None:
    """``match``: lanes with the same value."""
    out, same = targets(s, i)
    s.bring_together(i.operands[2])
    wide = i.opcode.types[0].bits == 64
    value = reg(s.pair(i.operands[1])) if wide else s.register_word(i.operands[1])
    size = ".U64" if wide else ""
    if i.opcode.operation == "any":
        s.emit("MATCH.ANY" + size, [reg(out), value])
    else:
        s.emit("MATCH.ALL" + size, [pred(same), reg(out), value])


def reduce(s: Selector, i: Instruction) -> None:
    """``redux``: the result comes in a uniform register."""
    opcode = i.opcode
    if opcode.types[0].is_float or s.number < 80:
        raise UnsupportedError(f"sm_{s.number} has no instruction for '{opcode.text}'")
    out, _ = targets(s, i)
    s.bring_together(i.operands[2])
    signed = ".S32" if opcode.types[0].is_signed and opcode.operation in ("min", "max") else ""
    value = s.register_word(i.operands[1])
    if opcode.operation == "and":
        # The tables have no REDUX for "and": it is the complement of "or" of the complements.
        inverse, result = s.fresh(), s.fresh()
        s.emit("LOP3.LUT", [reg(inverse), ZERO, value, ZERO, imm(0x33), FALSE])
        from_uniform(s, "REDUX.OR", result, reg(inverse))
        s.emit("LOP3.LUT", [reg(out), ZERO, reg(result), ZERO, imm(0x33), FALSE])
        return
    from_uniform(s, f"REDUX.{_REDUCTIONS[opcode.operation]}{signed}", out, value)


def from_uniform(s: Selector, mnemonic: str, out: int, source: Src) -> None:
    uniform = s.out.register(UNIFORM)
    s.emit(mnemonic, [Src("UR", [uniform], OTHER), source])
    s.emit("MOV", [reg(out), Src("UR", [uniform], OTHER)])


def elect(s: Selector, i: Instruction) -> None:
    """``elect``: one of the lanes that are here, and which."""
    if s.number < 90:
        raise UnsupportedError(f"sm_{s.number} has no instruction for '{i.opcode.text}'")
    out, chosen = targets(s, i)
    s.bring_together(i.operands[1])
    uniform = s.out.register(UNIFORM)
    s.emit("ELECT", [pred(chosen), Src("UR", [uniform], OTHER), TRUE])
    if out != RZ:
        s.emit("MOV", [reg(out), Src("UR", [uniform], OTHER)])


def wait(s: Selector, i: Instruction) -> None:
    """``bar.warp``: where the lanes are together anyway nothing is left to do but to keep memory in order."""
    s.bring_together(i.operands[0])


HANDLERS.update({"shfl": shuffle, "vote": vote, "activemask": active_lanes, "match": match})
HANDLERS.update({"redux": reduce, "elect": elect, "bar.warp": wait})
