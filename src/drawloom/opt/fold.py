"""Constants are computed, copies followed and instructions made cheaper, in one walk over the dominator tree.

    mov.u32 %r1, 6;                 mov.u32 %r1, 6;
    mul.lo.u32 %r2, %r1, 7;         mov.u32 %r2, 42;
    mad.lo.u32 %r4, %r3, 1, %r2;    add.u32 %r4, %r3, 42;
    @%p1 bra L;                     bra L;                  -- where %p1 is known, by ``flow``

``evaluate`` says what an instruction on constants gives, ``algebra`` what others are the same as. A constant goes into
the operands that take a literal; what made it is left to ``dead``.
"""

from __future__ import annotations

from typing import Final

from drawloom.opt.algebra import simplified
from drawloom.opt.evaluate import evaluate
from drawloom.opt.facts import Facts
from drawloom.opt.work import Work, can_replace, is_pure, move_of, with_literal
from drawloom.ptx.ir import FLOAT32, FLOAT64, Immediate, Instruction, Not, Operand, Pair, Register, Statement, Vector
from drawloom.ptx.isa import BRANCH, CALL, decode
from drawloom.ptx.types import PRED, Type

#: Rules that one instruction may go through.
_MOST_RULES: Final = 8


def fold(work: Work) -> None:
    """Fold every instruction of a function."""
    folding = _Fold(work)
    for block in work.preorder():
        left: list[Statement] = []
        for statement in block.statements:
            if not isinstance(statement, Instruction):
                left.append(statement)
                continue
            kept = folding.folded(statement)
            if kept is None:
                continue
            if statement is block.terminator:
                block.terminator = kept
            left.append(kept)
        block.statements = left
    folding.facts.replacements.finish()


class _Fold:
    def __init__(self, work: Work) -> None:
        self.work = work
        self.facts = Facts(work.ssa)
        self.facts.constants.update(work.known_predicates)

    def folded(self, instruction: Instruction) -> Instruction | None:
        """What takes the place of an instruction; None if nothing has to."""
        facts = self.facts
        facts.replacements.rewrite(instruction)
        if instruction.guard is not None and instruction.opcode.effect != BRANCH:
            known = facts.constants.get(instruction.guard.id)
            if known is not None and not self.resolve_guard(instruction, known):
                return None
        if instruction.guard is None and is_pure(instruction):
            return self.pure(instruction)
        self.put_literals(instruction)
        return instruction

    def resolve_guard(self, instruction: Instruction, known: int) -> bool:
        """Take away a guard that is known; False if the instruction goes. One that ends its block keeps it."""
        if instruction.opcode.effect >= BRANCH and instruction.opcode.effect != CALL:
            return True
        kept = self.work.ssa.kept
        if known != (0 if instruction.guard_negated else 1):
            if instruction.opcode.effect == CALL:
                return True
            for destination in instruction.destinations():
                old = kept.get(destination.id)
                if old is not None:
                    old = self.facts.replacements.value(old)
                    if not can_replace(destination, old):
                        return True
            for destination in instruction.destinations():
                old = kept.pop(destination.id, None)
                if old is not None:
                    self.facts.replacements.replace(destination, old)
            self.work.changed(instruction, "removed, its guard is always false")
            return False
        self.work.changed(instruction, "its guard is always true")
        instruction.guard = None
        instruction.guard_negated = False
        for destination in instruction.destinations():
            kept.pop(destination.id, None)
        return True

    def pure(self, instruction: Instruction) -> Instruction | None:
        facts = self.facts
        destination = instruction.operands[0]
        if isinstance(destination, Vector):
            return self.unpacked(instruction, destination)
        first = destination.first if isinstance(destination, Pair) else destination
        if not isinstance(first, Register):
            facts.define(instruction)
            return instruction
        pattern = self.constant(instruction, first.type)
        if pattern is not None:
            return self.constant_result(instruction, first, pattern)
        if isinstance(destination, Register):
            for _ in range(_MOST_RULES):
                copied = _copied(instruction)
                if copied is not None:
                    return self.copy(instruction, destination, copied)
                result = simplified(instruction, facts)
                if result is None:
                    break
                if isinstance(result, Not):
                    result = Instruction(decode("not.pred"), [destination, result.register], pos=instruction.pos)
                if isinstance(result, Instruction):
                    self.work.changed(instruction, f"is '{result!r}'")
                    instruction = result
                elif isinstance(result, Immediate):
                    return self.constant_result(instruction, destination, result.value & _mask(destination.type))
                else:
                    return self.copy(instruction, destination, result)
        self.put_literals(instruction)
        facts.define(instruction)
        return instruction

    def constant(self, instruction: Instruction, type: Type) -> int | None:
        """The pattern that an instruction on constants computes."""
        patterns: list[int] = []
        for index in range(1, len(instruction.operands)):
            pattern = self.facts.pattern(instruction, index)
            if pattern is None:
                return None
            patterns.append(pattern)
        return evaluate(instruction.opcode, patterns, type.bits) if patterns else None

    def constant_result(self, instruction: Instruction, destination: Register, pattern: int) -> Instruction:
        """Note a constant; an instruction that writes nothing else becomes a ``mov``."""
        facts = self.facts
        facts.constants[destination.id] = pattern
        written = instruction.operands[0]
        if destination.type is PRED:
            self.work.known_predicates[destination.id] = pattern
            if isinstance(written, Pair) and isinstance(written.second, Register) and not instruction.opcode.operation:
                facts.constants[written.second.id] = self.work.known_predicates[written.second.id] = 1 - pattern
            facts.define(instruction)
            return instruction
        made = load_constant(destination, pattern, instruction.pos)
        if made is None or not isinstance(written, Register):
            facts.define(instruction)
            return instruction
        if instruction.opcode.name != "mov":
            self.work.changed(instruction, f"is {made.operands[1]!r}")
        facts.define(made)
        return made

    def copy(self, instruction: Instruction, destination: Register, source: Operand) -> Instruction | None:
        """``destination`` is the same as ``source``: it goes where its type lets it, else there is a ``mov``."""
        assert isinstance(source, Register)
        facts = self.facts
        source = facts.replacements.value(source)
        if can_replace(destination, source):
            facts.replacements.replace(destination, source)
            self.work.changed(instruction, f"is {source!r}")
            return None
        known = facts.constants.get(source.id)
        if known is not None:
            facts.constants[destination.id] = known
        if destination.type.bits == source.type.bits and instruction.opcode.name != "mov":
            self.work.changed(instruction, f"is {source!r}")
            instruction = Instruction(move_of(destination.type), [destination, source], pos=instruction.pos)
        facts.define(instruction)
        return instruction

    def unpacked(self, instruction: Instruction, parts: Vector) -> Instruction | None:
        """``mov.b64 {a, b}, r``: the parts of what was packed, or of a constant."""
        facts = self.facts
        source = instruction.operands[1]
        packing = facts.maker(source, "mov")
        whole = packing.operands[1] if packing is not None else None
        if isinstance(whole, Vector) and len(whole.elements) == len(parts.elements):
            pairs = list(zip(parts.elements, whole.elements, strict=True))
            if all(not isinstance(p, Register) or _stands_for(p, w) for p, w in pairs):
                for part, element in pairs:
                    if isinstance(part, Register) and isinstance(element, Register):
                        facts.replacements.replace(part, facts.replacements.value(element))
                self.work.changed(instruction, "what was packed is taken apart")
                return None
        facts.define(instruction)
        return instruction

    def put_literals(self, instruction: Instruction) -> None:
        """Constants into the source operands that take literals."""
        constants = self.facts.constants
        opcode = instruction.opcode
        if not constants or opcode.effect in (BRANCH, CALL):
            return
        operands = instruction.operands
        for index in range(1 if opcode.has_destination else 0, len(operands)):
            operand = operands[index]
            if isinstance(operand, Register) and operand.id in constants and operand.type is not PRED:
                literal = with_literal(
                    instruction, index, constants[operand.id], _literal_bits(instruction, index, operand)
                )
                if literal is not None:
                    operands[index] = literal
                    self.work.changes += 1


def _stands_for(part: Register, element: Operand) -> bool:
    return isinstance(element, Register) and can_replace(part, element)


def _literal_bits(instruction: Instruction, index: int, operand: Register) -> int:
    """How many bits of a register an operand is: ``st`` takes the low ones of a wider register."""
    type = instruction.opcode.type
    if instruction.opcode.name != "st" or index != 1 or type is None:
        return operand.type.bits
    return min(type.bits, operand.type.bits)


def _copied(instruction: Instruction) -> Register | None:
    """The register that a ``mov`` copies as it is."""
    if instruction.opcode.name != "mov" or instruction.opcode.vector > 1:
        return None
    source = instruction.operands[1]
    return source if isinstance(source, Register) else None


def _mask(type: Type) -> int:
    return (1 << type.bits) - 1


def load_constant(destination: Register, pattern: int, pos: int = -1) -> Instruction | None:
    """The ``mov`` that writes a pattern into a register; None where there is none (predicates, 128 bits)."""
    type = destination.type
    if type.bits not in (16, 32, 64):
        return None
    if type.name == "f32":
        return Instruction(decode("mov.f32"), [destination, Immediate(pattern, FLOAT32)], pos=pos)
    if type.name == "f64":
        return Instruction(decode("mov.f64"), [destination, Immediate(pattern, FLOAT64)], pos=pos)
    value = pattern - (1 << type.bits) if pattern >> (type.bits - 1) else pattern
    return Instruction(decode(f"mov.b{type.bits}"), [destination, Immediate(value)], pos=pos)
