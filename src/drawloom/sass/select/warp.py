"""Selection of operations between the lanes of a warp.

Where lanes may have parted, those of the member mask are brought together first (WARPSYNC); elsewhere the operation
finds them together. The forms without ``.sync`` take whoever is there.

The machine's operations, too, take whoever is there, and lanes that are there may have other masks: tiles of a warp
vote side by side. So what comes of a mask in a register is of its own lanes only: ballots and matches are cut down to
the mask, reductions go from lane to lane of it. sm_61 wants all active lanes to be in the mask (PTX ISA, `vote.sync`).
"""

from __future__ import annotations

from typing import Final

from drawloom.errors import UnsupportedError
from drawloom.ptx.ir import Instruction, Operand, Pair, Register
from drawloom.sass.machine import PT, RZ, UNIFORM
from drawloom.sass.select.operands import (
    FALSE,
    IMMEDIATE,
    OTHER,
    TRUE,
    ZERO,
    Src,
    imm,
    invert,
    pred,
    reg,
)
from drawloom.sass.select.selector import HANDLERS, Selector
from drawloom.sass.select.specials import read_special

_VOTES: Final[dict[str, str]] = {"all": "ALL", "any": "ANY", "uni": "EQ", "ballot": "ANY"}
_AND: Final = 0xC0
_BITWISE: Final[dict[str, int]] = {"and": _AND, "or": 0xFC, "xor": 0x3C}
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
    mask = mask_apart(s, i.operands[2]) if opcode.sync else None
    if mask is not None:
        vote_of(s, opcode.operation, s.home(target), holds, mask)
    elif opcode.operation == "ballot":
        s.emit(mnemonic, [reg(s.home(target)), pred(PT), holds])
    else:
        s.emit(mnemonic, [pred(s.home(target)), holds])


def mask_apart(s: Selector, mask: Operand) -> Src | None:
    """A member mask that other lanes may have another of; None where all that are there have the same."""
    return None if s.number < 70 or s.number_of(mask) is not None else s.register_word(mask)


def combined(s: Selector, function: int, a: Src, b: Src) -> Src:
    """A function of the bits of two words, by its table for LOP3."""
    out = reg(s.fresh())
    s.emit("LOP3.LUT", [out, a, b, ZERO, imm(function), FALSE])
    return out


def ballot(s: Selector, holds: Src, mask: Src) -> Src:
    """The lanes of a mask for which a predicate holds."""
    lanes = reg(s.fresh())
    s.emit("VOTE.ANY", [lanes, pred(PT), holds])
    return combined(s, _AND, lanes, mask)


def vote_of(s: Selector, operation: str, target: int, holds: Src, mask: Src) -> None:
    """``vote.sync`` with a mask that other lanes may have another of."""
    lanes = ballot(s, invert(holds) if operation == "all" else holds, mask)
    if operation == "ballot":
        s.emit("MOV", [reg(target), lanes])
        return
    if operation != "uni":
        relation = "NE" if operation == "any" else "EQ"
        s.emit(f"ISETP.{relation}.U32.AND", [pred(target), pred(PT), lanes, ZERO, TRUE])
        return
    nobody = pred(s.fresh_predicate())
    everybody = ballot(s, TRUE, mask)
    s.emit("ISETP.EQ.U32.AND", [nobody, pred(PT), lanes, ZERO, TRUE])
    s.emit("ISETP.EQ.U32.OR", [pred(target), pred(PT), lanes, everybody, nobody])


def lowest(s: Selector, lanes: Src) -> Src:
    """The number of the lowest lane of a mask, all ones for none."""
    reversed_, out = reg(s.fresh()), reg(s.fresh())
    s.emit("BREV", [reversed_, lanes])
    s.emit("FLO.U32.SH", [out, reversed_])
    return out


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
    mask = mask_apart(s, i.operands[2])
    if mask is not None:
        match_of(s, i.opcode.operation, (out, same), value, size, mask)
    elif i.opcode.operation == "any":
        s.emit("MATCH.ANY" + size, [reg(out), value])
    else:
        s.emit("MATCH.ALL" + size, [pred(same), reg(out), value])


def match_of(s: Selector, operation: str, outs: tuple[int, int], value: Src, size: str, mask: Src) -> None:
    """``match`` with a mask that other lanes may have another of."""
    out, same = outs
    lanes = reg(s.fresh())
    s.emit("MATCH.ANY" + size, [lanes, value])
    found = combined(s, _AND, lanes, mask)
    if operation == "any":
        s.emit("MOV", [reg(out), found])
        return
    all_of_them = pred(s.fresh_predicate())
    s.emit("ISETP.EQ.U32.AND", [all_of_them, pred(PT), found, ballot(s, TRUE, mask), TRUE])
    if out != RZ:
        s.emit("SEL", [reg(out), found, ZERO, all_of_them])
    if same != PT:
        s.emit("ISETP.EQ.U32.AND", [pred(same), pred(PT), found, ballot(s, TRUE, mask), TRUE])


def reduce(s: Selector, i: Instruction) -> None:
    """``redux``: the result comes in a uniform register."""
    opcode = i.opcode
    if opcode.types[0].is_float or s.number < 80:
        raise UnsupportedError(f"sm_{s.number} has no instruction for '{opcode.text}'")
    out, _ = targets(s, i)
    s.bring_together(i.operands[2])
    signed = ".S32" if opcode.types[0].is_signed and opcode.operation in ("min", "max") else ""
    value = s.register_word(i.operands[1])
    mask = mask_apart(s, i.operands[2])
    if mask is not None:
        reduce_of(s, opcode.operation, opcode.types[0].is_signed, out, value, mask)
        return
    if opcode.operation == "and":
        # The tables have no REDUX for "and": it is the complement of "or" of the complements.
        inverse, result = s.fresh(), s.fresh()
        s.emit("LOP3.LUT", [reg(inverse), ZERO, value, ZERO, imm(0x33), FALSE])
        from_uniform(s, "REDUX.OR", result, reg(inverse))
        s.emit("LOP3.LUT", [reg(out), ZERO, reg(result), ZERO, imm(0x33), FALSE])
        return
    from_uniform(s, f"REDUX.{_REDUCTIONS[opcode.operation]}{signed}", out, value)


def reduce_of(s: Selector, operation: str, signed: bool, out: int, value: Src, mask: Src) -> None:
    """``redux`` with a mask that other lanes may have another of: every lane has what the lanes of its mask from itself
    up to another have together, and that one's number; five times what that one has is added."""
    members = ballot(s, TRUE, mask)
    above = s.fresh()
    read_special(s, above, "SR_GTMASK")
    next_ = lowest(s, combined(s, _AND, members, reg(above)))
    for _ in range(5):
        other, behind, is_there = reg(s.fresh()), reg(s.fresh()), pred(s.fresh_predicate())
        s.emit("SHFL.IDX", [pred(PT), other, value, next_, imm(0x1F)])
        s.emit("SHFL.IDX", [pred(PT), behind, next_, next_, imm(0x1F)])
        s.emit("ISETP.NE.U32.AND", [is_there, pred(PT), next_, imm(-1), TRUE])
        both, taken, next_taken = together(s, operation, signed, value, other), reg(s.fresh()), reg(s.fresh())
        s.emit("SEL", [taken, both, value, is_there])
        s.emit("SEL", [next_taken, behind, next_, is_there])
        value, next_ = taken, next_taken
    s.emit("SHFL.IDX", [pred(PT), reg(out), value, lowest(s, members), imm(0x1F)])


def together(s: Selector, operation: str, signed: bool, a: Src, b: Src) -> Src:
    """Two words by the operation of a reduction."""
    if operation in _BITWISE:
        return combined(s, _BITWISE[operation], a, b)
    out = reg(s.fresh())
    if operation == "add":
        s.emit("IADD3", [out, a, b, ZERO])
        return out
    is_first = pred(s.fresh_predicate())
    relation = "LT" if operation == "min" else "GT"
    s.emit(f"ISETP.{relation}{'' if signed else '.U32'}.AND", [is_first, pred(PT), a, b, TRUE])
    s.emit("SEL", [out, a, b, is_first])
    return out


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
    mask = mask_apart(s, i.operands[1])
    if mask is not None:
        own = s.fresh()
        read_special(s, own, "SR_LANEID")
        first = lowest(s, ballot(s, TRUE, mask))
        s.emit("ISETP.EQ.U32.AND", [pred(chosen), pred(PT), reg(own), first, TRUE])
        if out != RZ:
            s.emit("MOV", [reg(out), first])
        return
    uniform = s.out.register(UNIFORM)
    s.emit("ELECT", [pred(chosen), Src("UR", [uniform], OTHER), TRUE])
    if out != RZ:
        s.emit("MOV", [reg(out), Src("UR", [uniform], OTHER)])


def wait(s: Selector, i: Instruction) -> None:
    """``bar.warp``: where the lanes are together anyway nothing is left to do but to keep memory in order."""
    s.bring_together(i.operands[0])


HANDLERS.update({"shfl": shuffle, "vote": vote, "activemask": active_lanes, "match": match})
HANDLERS.update({"redux": reduce, "elect": elect, "bar.warp": wait})
