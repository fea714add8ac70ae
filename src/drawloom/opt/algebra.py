"""Integer instructions to cheaper ones that write the same bits: the rules that ``fold`` applies.

    add x, 0 -> x              sub x, c -> add x, -c      add (add x, a), b -> add x, a+b
    mul.lo x, 2^k -> shl x, k  mad x, 1, c -> add x, c    div.u x, 2^k -> shr x, k
    and x, x -> x              xor x, x -> 0              selp x, x, p -> x
    setp.ne (selp 1, 0, p), 0 -> p                        cvt.u32.u64 (cvt.u64.u32 x) -> x
    mul.lo.u64 (cvt.u64.u32 x), (cvt.u64.u32 y) -> mul.wide.u32 x, y                cvta.to.S (cvta.S x) -> x

All wrap as the originals do. Nothing is done to floats: even ``x * 1`` gives another NaN than ``x``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from drawloom.opt.facts import Facts
from drawloom.opt.work import signed
from drawloom.ptx.ir import Immediate, Instruction, Not, Operand, Register
from drawloom.ptx.isa import decode
from drawloom.ptx.types import Type

#: What an instruction is the same as: an operand that has its value, or another instruction; None: no rule.
Result = Operand | Instruction | None
Rule = Callable[[Instruction, Facts], Result]


def simplified(instruction: Instruction, facts: Facts) -> Result:
    """What an unguarded instruction with one register as destination is the same as, by the first rule that fits.

    An ``Immediate`` is a pattern of the destination's width. Constants come last in a commutative instruction.
    """
    opcode = instruction.opcode
    rule = RULES.get(opcode.name)
    if rule is None or opcode.writes_carry or opcode.sat or opcode.relu or opcode.selectors:
        return None
    type = opcode.type
    if type is not None and (type.lanes > 1 or (type.is_float and opcode.name != "selp")):
        return None
    return rule(instruction, facts)


def made(instruction: Instruction, text: str, sources: list[Operand]) -> Instruction:
    """Another instruction for the destination and at the place of this one."""
    return Instruction(decode(text), [instruction.operands[0], *sources], pos=instruction.pos)


def _type(instruction: Instruction) -> Type:
    type = instruction.opcode.type
    assert type is not None
    return type


def _literal(value: int, type: Type) -> Immediate:
    return Immediate(signed(value, type.bits))


def _constant_last(instruction: Instruction, facts: Facts) -> tuple[Operand, Operand, int | None, bool]:
    """The two sources with a constant behind, its pattern, and whether they changed places."""
    a, b = instruction.operands[1], instruction.operands[2]
    known = facts.pattern(instruction, 2)
    if known is None:
        other = facts.pattern(instruction, 1)
        if other is not None:
            return b, a, other, True
    return a, b, known, False


def _add(instruction: Instruction, facts: Facts) -> Result:
    type = _type(instruction)
    a, _b, constant, swapped = _constant_last(instruction, facts)
    if constant is None:
        return None
    if constant == 0:
        return a
    inner = facts.maker(a, "add")
    if inner is not None and _is_plain(inner, type):
        first = facts.pattern(inner, 2)
        if first is not None:
            return made(instruction, f"add.{type.name}", [inner.operands[1], _literal(first + constant, type)])
    return made(instruction, f"add.{type.name}", [a, _literal(constant, type)]) if swapped else None


def _is_plain(inner: Instruction, type: Type) -> bool:
    """Whether an instruction is a wrapping one on integers of the same width."""
    opcode = inner.opcode
    other = opcode.type
    if other is None or other.bits != type.bits or other.is_float or other.lanes > 1:
        return False
    return not opcode.sat and not opcode.writes_carry and opcode.half in ("", "lo")


def _sub(instruction: Instruction, facts: Facts) -> Result:
    type = _type(instruction)
    a, b = instruction.operands[1], instruction.operands[2]
    if a is b:
        return Immediate(0)
    constant = facts.pattern(instruction, 2)
    if constant is None:
        return None
    return a if constant == 0 else made(instruction, f"add.{type.name}", [a, _literal(-constant, type)])


def _power(constant: int) -> int:
    """k where a constant is 2^k, else -1."""
    return constant.bit_length() - 1 if constant and constant & (constant - 1) == 0 else -1


def _mul(instruction: Instruction, facts: Facts) -> Result:
    type = _type(instruction)
    a, b, constant, swapped = _constant_last(instruction, facts)
    half = instruction.opcode.half
    if half == "lo" and type.bits == 64 and constant != 1 and (constant is None or _power(constant) < 0):
        wide = _wide_product(instruction, facts, a, b, constant)
        if wide is not None:
            return wide
    if constant is None:
        return None
    if constant == 0:
        return Immediate(0)
    if half == "lo":
        if constant == 1:
            return a
        power = _power(constant)
        if power > 0:
            return made(instruction, f"shl.b{type.bits}", [a, Immediate(power)])
        inner = facts.maker(a, "mul")
        if inner is not None and _is_plain(inner, type):
            first = facts.pattern(inner, 2)
            if first is not None:
                product = _literal(first * constant, type)
                return made(instruction, f"mul.lo.{type.name}", [inner.operands[1], product])
    return made(instruction, f"mul.{half}.{type.name}", [a, _literal(constant, type)]) if swapped else None


def _wide_product(
    instruction: Instruction, facts: Facts, a: Operand, b: Operand, constant: int | None
) -> Instruction | None:
    """The product of two 32-bit numbers that were widened, both with their sign or both with zeros."""
    first = facts.maker(a, "cvt")
    if first is None or first.opcode.text not in ("cvt.u64.u32", "cvt.s64.s32") or not _is_word(first.operands[1]):
        return None
    kind = first.opcode.text[4]
    if constant is not None:
        value = signed(constant, 64)
        fits = -(1 << 31) <= value < 1 << 31 if kind == "s" else constant < 1 << 32
        return made(instruction, f"mul.wide.{kind}32", [first.operands[1], Immediate(value)]) if fits else None
    second = facts.maker(b, "cvt")
    if second is None or second.opcode.text != first.opcode.text or not _is_word(second.operands[1]):
        return None
    return made(instruction, f"mul.wide.{kind}32", [first.operands[1], second.operands[1]])


def _is_word(operand: Operand) -> bool:
    return isinstance(operand, Register) and operand.type.bits == 32


def _mad(instruction: Instruction, facts: Facts) -> Result:
    type = _type(instruction)
    half = instruction.opcode.half
    if half == "hi":
        return None
    a, b, constant, swapped = _constant_last(instruction, facts)
    c = instruction.operands[3]
    if constant == 0:
        return c
    if facts.pattern(instruction, 3) == 0:
        return made(instruction, f"mul.{half}.{type.name}", [a, b])
    if constant is None:
        return None
    if constant == 1 and half == "lo":
        return made(instruction, f"add.{type.name}", [a, c])
    first = facts.pattern(instruction, 1) if not swapped else facts.pattern(instruction, 2)
    if first is not None:
        if half == "lo":
            return made(instruction, f"add.{type.name}", [c, _literal(first * constant, type)])
        product = signed(first, type.bits) * signed(constant, type.bits) if type.is_signed else first * constant
        wide = f"{type.kind}{2 * type.bits}"
        return made(instruction, f"add.{wide}", [c, Immediate(signed(product, 2 * type.bits))])
    return made(instruction, f"mad.{half}.{type.name}", [a, _literal(constant, type), c]) if swapped else None


def _division(instruction: Instruction, facts: Facts) -> Result:
    type = _type(instruction)
    a = instruction.operands[1]
    constant = facts.pattern(instruction, 2)
    if constant is None:
        return None
    quotient = instruction.opcode.name == "div"
    if constant == 1:
        return a if quotient else Immediate(0)
    power = _power(constant)
    if type.is_signed or power < 0:
        return None
    if quotient:
        return made(instruction, f"shr.{type.name}", [a, Immediate(power)])
    return made(instruction, f"and.b{type.bits}", [a, _literal(constant - 1, type)])


def _logic(instruction: Instruction, facts: Facts) -> Result:
    type = _type(instruction)
    name = instruction.opcode.name
    a, b, constant, swapped = _constant_last(instruction, facts)
    if a is b and isinstance(a, Register):
        return Immediate(0) if name == "xor" and type.kind != "p" else None if name == "xor" else a
    if constant is None:
        return None
    ones = (1 << type.bits) - 1
    if constant == 0:
        return (Immediate(0) if type.kind != "p" else None) if name == "and" else a
    if constant == ones:
        if name == "and":
            return a
        if type.kind == "p":
            return None
        return Immediate(ones) if name == "or" else made(instruction, f"not.b{type.bits}", [a])
    inner = facts.maker(a, name)
    if inner is not None and _is_plain(inner, type):
        first = facts.pattern(inner, 2)
        if first is not None:
            joined = first & constant if name == "and" else first | constant if name == "or" else first ^ constant
            return made(instruction, f"{name}.b{type.bits}", [inner.operands[1], _literal(joined, type)])
    return made(instruction, f"{name}.b{type.bits}", [a, _literal(constant, type)]) if swapped else None


def _not(instruction: Instruction, facts: Facts) -> Result:
    """``not (not x) -> x``; the opposite of a comparison of integers is another comparison."""
    type = _type(instruction)
    source = instruction.operands[1]
    if isinstance(source, Not):
        return source.register
    inner = facts.maker(source, "not")
    if inner is not None and _type(inner).bits == type.bits:
        return inner.operands[1]
    compare = facts.maker(source, "setp")
    if compare is None or compare.opcode.operation or compare.opcode.types[-1].is_float:
        return None
    if not isinstance(compare.operands[0], Register):
        return None
    return made(instruction, f"setp.{_OPPOSITE[compare.opcode.compare]}.{_type(compare).name}", compare.operands[1:])


_OPPOSITE: Final[dict[str, str]] = {
    "eq": "ne", "ne": "eq", "lt": "ge", "ge": "lt", "le": "gt", "gt": "le", "lo": "hs", "hs": "lo", "ls": "hi",
    "hi": "ls",
}  # fmt: skip
_MIRRORED: Final[dict[str, str]] = {
    "eq": "eq", "ne": "ne", "lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "lo": "hi", "hi": "lo", "ls": "hs",
    "hs": "ls",
}  # fmt: skip


def _shift(instruction: Instruction, facts: Facts) -> Result:
    type = _type(instruction)
    name = instruction.opcode.name
    amount = facts.pattern(instruction, 2)
    if amount is None:
        return None
    source = instruction.operands[1]
    if amount == 0:
        return source
    if amount >= type.bits and not type.is_signed:
        return Immediate(0)
    inner = facts.maker(source, name)
    if inner is None or name != "shl" or _type(inner).bits != type.bits:
        return None
    first = facts.pattern(inner, 2)
    if first is None or first >= type.bits:
        return None
    if first + amount >= type.bits:
        return Immediate(0)
    return made(instruction, f"shl.b{type.bits}", [inner.operands[1], Immediate(first + amount)])


def _same(instruction: Instruction, facts: Facts) -> Result:
    """``min x, x`` and ``max x, x``."""
    a, b = instruction.operands[1], instruction.operands[2]
    return a if a is b else None


def _selp(instruction: Instruction, facts: Facts) -> Result:
    a, b, predicate = instruction.operands[1:]
    if a is b or (isinstance(a, Immediate) and isinstance(b, Immediate) and a.key() == b.key()):
        return a if isinstance(a, Register) else None
    known = facts.pattern(instruction, 3)
    if known is not None:
        chosen = a if known else b
        return chosen if isinstance(chosen, Register) else None
    inner = facts.maker(predicate, "not")
    if inner is not None and isinstance(inner.operands[1], Register):
        return made(instruction, instruction.opcode.text, [b, a, inner.operands[1]])
    return None


def _setp(instruction: Instruction, facts: Facts) -> Result:
    """``setp.ne (selp 1, 0, p), 0 -> p``, ``setp.eq`` of it the opposite; a constant goes behind."""
    opcode = instruction.opcode
    if opcode.operation or opcode.types[-1].is_float or opcode.types[-1].lanes > 1:
        return None
    a, _b, constant, swapped = _constant_last(instruction, facts)
    if constant is None:
        return None
    if swapped:
        type = _type(instruction)
        return made(instruction, f"setp.{_MIRRORED[opcode.compare]}.{type.name}", [a, _literal(constant, type)])
    inner = facts.maker(a, "selp")
    if opcode.compare not in ("eq", "ne") or inner is None:
        return None
    first, second = facts.pattern(inner, 1), facts.pattern(inner, 2)
    if first is None or second is None or first == second or constant not in (first, second):
        return None
    predicate = inner.operands[3]
    if (opcode.compare == "eq") == (constant == first):
        return predicate if isinstance(predicate, Register) else made(instruction, "not.pred", [_under(predicate)])
    return _under(predicate) if isinstance(predicate, Not) else made(instruction, "not.pred", [predicate])


def _under(predicate: Operand) -> Operand:
    assert isinstance(predicate, Not)
    return predicate.register


def _convert(instruction: Instruction, facts: Facts) -> Result:
    """Conversions between integers that change nothing, and the low half of what was widened."""
    to, source = instruction.opcode.types
    if to.is_float or source.is_float or source.lanes > 1:
        return None
    destination, operand = instruction.operands[0], instruction.operands[1]
    if not isinstance(destination, Register) or not isinstance(operand, Register):
        return None
    if destination.type.bits != to.bits:
        return None
    if operand.type.bits == to.bits and source.bits == to.bits:
        return operand
    inner = facts.maker(operand, "cvt")
    if inner is None or inner.opcode.sat:
        return None
    between, origin = inner.opcode.types
    first = inner.operands[1]
    if between.is_float or origin.is_float or between.lanes > 1 or origin.lanes > 1 or not isinstance(first, Register):
        return None
    least = min(source.bits, between.bits, origin.bits)
    if first.type.bits == to.bits == origin.bits and least >= to.bits:
        return first
    return None


def _address(instruction: Instruction, facts: Facts) -> Result:
    """A generic address that was made of one of the space that it is taken back to."""
    opcode = instruction.opcode
    if not opcode.has("to"):
        return None
    inner = facts.maker(instruction.operands[1], "cvta")
    if inner is None or inner.opcode.has("to") or inner.opcode.modifiers != opcode.modifiers[1:]:
        return None
    return inner.operands[1] if isinstance(inner.operands[1], Register) else None


RULES: Final[dict[str, Rule]] = {
    "add": _add, "sub": _sub, "mul": _mul, "mad": _mad, "div": _division, "rem": _division, "and": _logic,
    "or": _logic, "xor": _logic, "not": _not, "shl": _shift, "shr": _shift, "min": _same, "max": _same,
    "selp": _selp, "setp": _setp, "cvt": _convert, "cvta": _address,
}  # fmt: skip
