"""Selection of comparisons and choices: ``setp``, ``set``, ``selp``, ``slct``."""

from __future__ import annotations

from typing import Final

from drawloom.ptx.ir import Instruction, Operand, Pair, Register
from drawloom.ptx.types import Type
from drawloom.sass.select import half
from drawloom.sass.select.floats import RELATIONS as FLOAT_RELATIONS
from drawloom.sass.select.floats import compare as compare_floats
from drawloom.sass.select.integer import NO_PREDICATE, narrow, target_register
from drawloom.sass.select.operands import REGISTER, TRUE, ZERO, Src, imm, invert, pred, reg
from drawloom.sass.select.selector import HANDLERS, Selector

#: Comparisons of integers by their PTX name; those of unsigned numbers have names of their own.
_RELATIONS: Final[dict[str, str]] = {
    "eq": "EQ", "ne": "NE", "lt": "LT", "le": "LE", "gt": "GT", "ge": "GE", "lo": "LT", "ls": "LE", "hi": "GT",
    "hs": "GE",
}  # fmt: skip
_SWAPPED: Final[dict[str, str]] = {"EQ": "EQ", "NE": "NE", "LT": "GT", "LE": "GE", "GT": "LT", "GE": "LE"}


def set_predicate(s: Selector, i: Instruction) -> None:
    """``setp``: p = (a cmp b) op c, and q = !(a cmp b) op c."""
    opcode = i.opcode
    target = i.operands[0]
    first, second = (target.first, target.second) if isinstance(target, Pair) else (target, None)
    outs = [pred(s.home(o)) if isinstance(o, Register) else NO_PREDICATE for o in (first, second)]
    combine = opcode.operation.upper() if opcode.operation in ("and", "or", "xor") else "AND"
    other = s.predicate(i.operands[3]) if len(i.operands) > 3 else TRUE
    if half.is_half(opcode.types[-1]):
        half.set_predicate(s, i, FLOAT_RELATIONS[opcode.compare], combine, other)
        return
    compare(s, i, opcode.types[-1], outs, combine, other)


def compare(s: Selector, i: Instruction, type: Type, outs: list[Src], combine: str, other: Src) -> None:
    """Compare operands 1 and 2 into ``outs``, combined with a predicate."""
    opcode = i.opcode
    if type.is_float:
        compare_floats(s, i, type, outs, combine, other)
        return
    relation = _RELATIONS[opcode.compare]
    signed = type.is_signed and opcode.compare not in ("lo", "ls", "hi", "hs")
    kind = "" if signed else ".U32"
    a, b = i.operands[1], i.operands[2]
    if type.bits == 64:
        first, second = [s.word(a, 0), s.word(a, 1)], [s.word(b, 0), s.word(b, 1)]
        if first[0].kind != REGISTER and second[0].kind == REGISTER:
            first, second, relation = second, first, _SWAPPED[relation]
        s.compare_wide(relation, signed, outs, first, second, combine, other)
        return
    x, y = (s.word(a), s.word(b)) if type.bits == 32 else (narrow(s, a, signed), narrow(s, b, signed))
    x, y, relation = ordered(s, x, y, relation)
    s.emit(f"ISETP.{relation}{kind}.{combine}", [*outs, x, y, other])


def ordered(s: Selector, a: Src, b: Src, relation: str) -> tuple[Src, Src, str]:
    """Both operands, the first in a register, and the relation between them."""
    if a.kind == REGISTER:
        return a, b, relation
    if b.kind == REGISTER:
        return b, a, _SWAPPED[relation]
    return s.in_register(a), b, relation


def set_value(s: Selector, i: Instruction) -> None:
    """``set``: all ones, or 1.0, where the comparison holds."""
    opcode = i.opcode
    result, type = opcode.types[0], opcode.types[1]
    combine = opcode.operation.upper() if opcode.operation in ("and", "or", "xor") else "AND"
    other = s.predicate(i.operands[3]) if len(i.operands) > 3 else TRUE
    if half.is_half(type):
        half.set_value(s, i, FLOAT_RELATIONS[opcode.compare], combine, other)
        return
    holds = pred(s.fresh_predicate())
    compare(s, i, type, [holds, NO_PREDICATE], combine, other)
    value = half.ONES[result.name] if result.is_float else 0xFFFFFFFF
    s.emit("SEL", [reg(s.home(target_register(i))), ZERO, imm(value), invert(holds)])


def choose(s: Selector, i: Instruction) -> None:
    """``selp``: a where the predicate holds, else b."""
    condition = s.predicate(i.operands[3])
    choose_words(s, i, i.operands[1], i.operands[2], condition)


def choose_words(s: Selector, i: Instruction, a: Operand, b: Operand, condition: Src) -> None:
    out = s.home(target_register(i))
    type = i.opcode.types[0]
    for part in range(max(1, type.bits // 32)):
        x, y = constant_word(s, a, type, part), constant_word(s, b, type, part)
        if x.kind != REGISTER and y.kind == REGISTER:
            s.emit("SEL", [reg(out + part), y, x, invert(condition)])
        else:
            s.emit("SEL", [reg(out + part), s.in_register(x), y, condition])


def constant_word(s: Selector, operand: Operand, type: Type, part: int) -> Src:
    """A word of an operand whose literals have the type's format."""
    if type.is_float:
        from drawloom.sass.select.floats import float_word

        return float_word(s, operand, type.bits, part)
    return s.word(operand, part)


def choose_by_sign(s: Selector, i: Instruction) -> None:
    """``slct``: a where c >= 0, else b; NaN chooses b, and -0.0 chooses a."""
    condition = pred(s.fresh_predicate())
    if i.opcode.types[1].is_float:
        ftz = ".FTZ" if i.opcode.ftz else ""
        word = s.register_word(i.operands[3])
        s.emit(f"FSETP.GE{ftz}.AND", [condition, NO_PREDICATE, word, ZERO, TRUE])
    else:
        s.emit("ISETP.GE.AND", [condition, NO_PREDICATE, s.register_word(i.operands[3]), ZERO, TRUE])
    choose_words(s, i, i.operands[1], i.operands[2], condition)


HANDLERS.update({"setp": set_predicate, "set": set_value, "selp": choose, "slct": choose_by_sign})
