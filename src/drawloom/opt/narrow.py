"""Integer instructions to cheaper ones that do the same for the numbers that their operands can be.

    and.b64 %rd3, %rd1, 255;        and.b64 %rd3, %rd1, 255;
    div.u64 %rd4, %rd3, 10;         cvt.u32.u64 %r1, %rd3; div.u32 %r2, %r1, 10; cvt.u64.u32 %rd4, %r2;
    mov.u32 %r3, %tid.x;            mov.u32 %r3, %tid.x;
    div.s32 %r4, %r3, 8;            shr.u32 %r4, %r3, 3;
    setp.lt.u32 %p1, %r3, 1024;     (always true: ``flow`` removes the branch)
    cvt.s64.s32 %rd5, %r3;          cvt.u64.u32 %rd5, %r3;

``ranges`` says what they can be, at the place of the instruction: what a branch before it compared counts, too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from drawloom.opt.intervals import Range
from drawloom.opt.ranges import Ranges
from drawloom.opt.work import Replacements, Work, can_replace
from drawloom.ptx.ir import Immediate, Instruction, Operand, Register, Statement
from drawloom.ptx.isa import decode
from drawloom.ptx.ssa import SsaBlock
from drawloom.ptx.types import PRED, U32

#: Instructions in the place of one; None if it stays, a register if that has the value.
Result = list[Instruction] | Register | None


def narrow(work: Work) -> None:
    """One walk with the ranges."""
    _Narrow(work).run()


class _Narrow:
    def __init__(self, work: Work) -> None:
        self.work = work
        self.ranges = Ranges(work)
        self.replacements = Replacements(work.ssa)

    def run(self) -> None:
        self.ranges.walk(self.visit)
        self.replacements.finish()

    def visit(self, block: SsaBlock) -> None:
        left: list[Statement] = []
        for statement in block.statements:
            if isinstance(statement, Instruction):
                self.replacements.rewrite(statement)
                made = self.made(statement)
                if isinstance(made, Register):
                    continue
                if made is not None:
                    for one in made:
                        self.ranges.enter(one)
                    left.extend(made)
                    continue
                self.ranges.enter(statement)
            left.append(statement)
        block.statements = left

    def made(self, instruction: Instruction) -> Result:
        """What takes the place of an instruction."""
        if instruction.guard is not None or not instruction.operands:
            return None
        destination = instruction.operands[0]
        if not isinstance(destination, Register):
            return None
        rule = _RULES.get(instruction.opcode.name)
        if destination.type is PRED:
            self.decide(instruction, destination)
            return None
        found = None if rule is None else rule(self, instruction)
        if isinstance(found, Register):
            if not can_replace(destination, found):
                return None
            self.replacements.replace(destination, found)
            self.work.changed(instruction, f"is {found!r}")
        elif found is not None:
            self.work.changed(instruction, f"is '{found[-1]!r}'")
        return found

    def decide(self, instruction: Instruction, destination: Register) -> None:
        """A comparison that always comes out the same; ``fold`` and ``flow`` use what is known."""
        decided = self.ranges.decided(instruction)
        if decided >= 0 and destination.id not in self.work.known_predicates:
            self.work.known_predicates[destination.id] = decided
            self.work.changed(instruction, "always true" if decided else "never true")

    def sources(self, instruction: Instruction, bits: int) -> tuple[Range, Range]:
        return self.ranges.of(instruction.operands[1], bits), self.ranges.of(instruction.operands[2], bits)


def _again(instruction: Instruction, text: str, sources: list[Operand]) -> Instruction:
    return Instruction(decode(text), [instruction.operands[0], *sources], pos=instruction.pos)


def _division(narrow: _Narrow, instruction: Instruction) -> Result:
    """In 32 bits where both operands fit, and without signs where they have none. Dividends that are less than what
    they are divided by are the remainder. What a division by zero gives is open in PTX: one by a number that is always
    zero stays and gives all ones, as on a GPU; one by a number that may be zero gives the ones of the narrow type."""
    type = instruction.opcode.types[0]
    name = instruction.opcode.name
    if type.is_float or type.lanes > 1 or type.bits < 32:
        return None
    dividend, divisor = narrow.sources(instruction, type.bits)
    (low, high), (least, most) = dividend.read(type.is_signed), divisor.read(type.is_signed)
    if low < 0 or least < 0 or most == 0:
        return None
    a, b = instruction.operands[1:]
    if high < least:
        if name == "rem":
            return a if isinstance(a, Register) else None
        return [_again(instruction, f"mov.b{type.bits}", [Immediate(0)])]
    if type.bits == 64 and high >> 32 == 0 and most >> 32 == 0:
        return _divided(narrow, instruction, name)
    return [_again(instruction, f"{name}.u{type.bits}", [a, b])] if type.is_signed else None


def _divided(narrow: _Narrow, instruction: Instruction, name: str) -> Result:
    """A division of 64-bit operands that fit 32 bits."""
    out: list[Instruction] = []
    halves: list[Operand] = []
    for operand in instruction.operands[1:]:
        if isinstance(operand, Register):
            half = narrow.work.ssa.new_value(U32)
            out.append(Instruction(decode("cvt.u32.u64"), [half, operand], pos=instruction.pos))
            halves.append(half)
        else:
            halves.append(operand)
    quotient = narrow.work.ssa.new_value(U32)
    out.append(Instruction(decode(f"{name}.u32"), [quotient, *halves], pos=instruction.pos))
    out.append(_again(instruction, "cvt.u64.u32", [quotient]))
    return out


def _mask(narrow: _Narrow, instruction: Instruction) -> Result:
    """A mask that takes nothing away."""
    a, mask = instruction.operands[1:]
    bits = instruction.opcode.types[0].bits
    if not isinstance(a, Register) or not isinstance(mask, Immediate) or a.type.bits != bits:
        return None
    pattern = mask.value & (1 << bits) - 1
    high = narrow.ranges.of(a).unsigned()[1]
    return a if pattern & (pattern + 1) == 0 and high <= pattern else None


def _extension(narrow: _Narrow, instruction: Instruction) -> Result:
    """The sign of a number that is not negative: zeros are cheaper."""
    if instruction.opcode.text != "cvt.s64.s32":
        return None
    a = instruction.operands[1]
    if not isinstance(a, Register) or a.type.bits != 32 or a.id not in narrow.work.never_negative:
        return None
    return [_again(instruction, "cvt.u64.u32", [a])]


def _limited(narrow: _Narrow, instruction: Instruction) -> Result:
    """``min`` and ``max`` of numbers of which one is always the greater."""
    type = instruction.opcode.types[0]
    if type.is_float or type.lanes > 1 or instruction.opcode.relu:
        return None
    a, b = instruction.operands[1:]
    first, second = narrow.sources(instruction, type.bits)
    (low, high), (least, most) = first.read(type.is_signed), second.read(type.is_signed)
    if high <= least:
        chosen = a if instruction.opcode.name == "min" else b
    elif most <= low:
        chosen = b if instruction.opcode.name == "min" else a
    else:
        return None
    return chosen if isinstance(chosen, Register) else [_again(instruction, f"mov.b{type.bits}", [chosen])]


def _shift(narrow: _Narrow, instruction: Instruction) -> Result:
    """A shift that keeps the sign of what has none, for ``number`` and ``sums``."""
    type = instruction.opcode.types[0]
    a = instruction.operands[1]
    if not type.is_signed or not isinstance(a, Register) or narrow.ranges.of(a).signed()[0] < 0:
        return None
    return [_again(instruction, f"shr.u{type.bits}", instruction.operands[1:])]


_RULES: Final[dict[str, Callable[[_Narrow, Instruction], Result]]] = {
    "div": _division, "rem": _division, "and": _mask, "cvt": _extension, "min": _limited, "max": _limited,
    "shr": _shift,
}  # fmt: skip
