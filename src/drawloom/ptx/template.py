"""Sequences of PTX written as text, parsed once, and put in the place of an instruction with its operands.

A template is the body of a function: ``d`` is what the instruction writes, ``a``, ``b`` ... what it reads, in their
order (there is no ``d`` among those); all other registers and labels are fresh wherever the template is used.
"""

from __future__ import annotations

from typing import Final

from drawloom.ptx.ir import (
    Address,
    Arguments,
    BranchTargets,
    CallPrototype,
    CallTargets,
    Function,
    Immediate,
    Instruction,
    Label,
    LabelRef,
    Module,
    Operand,
    Register,
    Sink,
    Statement,
    Symbol,
    Vector,
)
from drawloom.ptx.isa import BRANCH, CALL, decode
from drawloom.ptx.parser import parse
from drawloom.ptx.types import Type

_HEADER: Final = ".version 8.6\n.target sm_90\n.address_size 64\n"
_SOURCES: Final = "abcefg"


def parse_function(text: str) -> Function:
    """The one function that ``text`` defines."""
    functions = [f for f in parse(_HEADER + text, "<expansion>").functions.values() if f.has_body]
    assert len(functions) == 1
    return functions[0]


class Step:
    """One statement of a template: a label, or an instruction whose operands are the registers ``ids`` of the
    template, or where those are -1 ``others``. ``guard`` is a register, -1 for none."""

    def __init__(self, statement: Statement) -> None:
        self.label = ""
        self.opcode = _BRA
        self.ids: list[int] = []
        self.only_registers = False
        self.others: list[Operand] = []
        self.guard = -1
        self.negated = False
        if isinstance(statement, Label):
            self.label = statement.name
            return
        assert isinstance(statement, Instruction)
        self.opcode = statement.opcode
        self.others = statement.operands
        self.ids = [o.id if isinstance(o, Register) else -1 for o in statement.operands]
        self.only_registers = -1 not in self.ids
        if statement.guard is not None:
            self.guard = statement.guard.id
            self.negated = statement.guard_negated


class Template:
    """``types`` are those of ``d``, ``a``, ``b`` ... by name; ``body`` is PTX without braces, and need not write ``d``.

    ``straight`` templates have neither guards nor branches, so that a guard can be put on every statement.
    ``writes_early`` says that ``d`` is written before the last source is read: it must not be the same register.
    """

    def __init__(self, types: list[str], body: str) -> None:
        sources = ", ".join([f".reg .{t} {n}" for t, n in zip(types[1:], _SOURCES)])
        function = parse_function(f".func (.reg .{types[0]} d) template({sources}) {{ {body} }}")
        self.types: list[Type] = [r.type for r in function.registers]
        names = {r.name: r.id for r in function.registers}
        self.result = names["d"]
        self.sources = [names[n] for n in _SOURCES[: len(types) - 1]]
        own = {self.result, *self.sources}
        self.fresh = [id for id in range(len(self.types)) if id not in own]
        self.moves = [decode(f"mov.{t}") for t in types[1:]]
        self.move_back = decode(f"mov.{types[0]}")
        self.steps = [Step(s) for s in function.body]
        instructions = function.instructions()
        self.straight = all(s.guard < 0 and not s.label for s in self.steps) and not any(
            i.opcode.effect in (BRANCH, CALL) for i in instructions
        )
        written = [n for n, i in enumerate(instructions) if any(r.id == self.result for r in i.destinations())]
        read = [n for n, i in enumerate(instructions) if any(r.id in self.sources for r in i.sources())]
        self.writes_early = bool(read and written) and written[0] < read[-1]


class Site:
    """The function that is being rewritten: a copy of the original one with a new body."""

    def __init__(self, module: Module, original: Function, helpers: dict[str, str]) -> None:
        self.module = module
        self.function = copy_function(original)
        self.function.body = []
        self.stem = _unused_stem(original)
        self.labels = 0
        #: The functions that templates call, and what they are called in this module.
        self.helpers = helpers

    def put(self, template: Template, instruction: Instruction, sources: list[Operand]) -> None:
        """Append ``template`` in the place of ``instruction``, reading ``sources``."""
        target = instruction.operands[0]
        bound: list[Operand] = [target] * len(template.types)
        guard, negated, pos = instruction.guard, instruction.guard_negated, instruction.pos
        out = self.function.body
        skip = ""
        if guard is not None and not template.straight:
            skip = self.fresh_label()
            out.append(Instruction(_BRA, [LabelRef(skip)], guard, not negated, pos))
            guard = None
        for place, source, move in zip(template.sources, sources, template.moves):
            if isinstance(source, Immediate):
                register = self.fresh_register(template.types[place])
                out.append(Instruction(move, [register, source], guard, negated, pos))
                bound[place] = register
            else:
                bound[place] = source
        result = target
        if template.writes_early and any(s is target for s in sources):
            result = bound[template.result] = self.fresh_register(template.types[template.result])
        registers, stem, types = self.function.registers, self.stem, template.types
        index = len(registers)
        for id in template.fresh:
            fresh = Register(index, f"{stem}{index}", types[id])
            registers.append(fresh)
            bound[id] = fresh
            index += 1
        labels: dict[str, str] = {}
        for step in template.steps:
            if step.label:
                out.append(Label(self.label(step.label, labels), pos))
                continue
            if step.only_registers:
                operands = [bound[id] for id in step.ids]
            else:
                operands = [
                    bound[id] if id >= 0 else self.operand(other, bound, labels)
                    for id, other in zip(step.ids, step.others)
                ]
            if step.guard < 0:
                out.append(Instruction(step.opcode, operands, guard, negated, pos))
            else:
                held = bound[step.guard]
                assert isinstance(held, Register)
                out.append(Instruction(step.opcode, operands, held, step.negated, pos))
        if result is not target:
            out.append(Instruction(template.move_back, [target, result], guard, negated, pos))
        if skip:
            out.append(Label(skip, pos))

    def operand(self, operand: Operand, bound: list[Operand], labels: dict[str, str]) -> Operand:
        """An operand of a template with the registers, labels and functions of this place."""
        if isinstance(operand, Immediate):
            return operand
        if isinstance(operand, Register):
            return bound[operand.id]
        if isinstance(operand, Vector):
            return Vector([self.operand(e, bound, labels) for e in operand.elements])
        if isinstance(operand, Arguments):
            return Arguments([self.operand(e, bound, labels) for e in operand.elements])
        if isinstance(operand, Address):
            base = operand.base
            assert isinstance(base, Register), operand
            held = bound[base.id]
            assert isinstance(held, Register)
            return Address(held, operand.offset)
        if isinstance(operand, LabelRef):
            return LabelRef(self.label(operand.name, labels))
        if isinstance(operand, Symbol):
            return Symbol(self.helper(operand.name))
        assert isinstance(operand, Sink), operand
        return operand

    def fresh_register(self, type: Type) -> Register:
        registers = self.function.registers
        index = len(registers)
        register = Register(index, f"{self.stem}{index}", type)
        registers.append(register)
        return register

    def label(self, name: str, labels: dict[str, str]) -> str:
        """What the label ``name`` of a template is called in this use of it."""
        known = labels.get(name)
        if known is None:
            known = labels[name] = self.fresh_label()
        return known

    def fresh_label(self) -> str:
        self.labels += 1
        return f"{self.stem}_{self.labels}"

    def helper(self, name: str) -> str:
        """What the function ``name`` of ``functions`` is called in this module."""
        known = self.helpers.get(name)
        if known is None:
            known = name
            while known in self.module.functions or known in self.module.variables:
                known += "$"
            self.helpers[name] = known
        return known


_BRA: Final = decode("bra")


def _unused_stem(function: Function) -> str:
    """What no name of the function begins with."""
    names = [r.name for r in function.registers] + [v.name for v in function.variables]
    names += [v.name for v in function.params + function.returns]
    for statement in function.body:
        if isinstance(statement, (Label, BranchTargets, CallTargets, CallPrototype)):
            names.append(statement.name)
    stem = "%e"
    while any(name.startswith(stem) for name in names):
        stem += "e"
    return stem


def copy_function(original: Function) -> Function:
    """A function with the same header, registers, variables and statements, in lists of its own."""
    copy = Function(original.name, original.is_entry)
    copy.linkage = original.linkage
    copy.noreturn = original.noreturn
    copy.attributes = original.attributes
    copy.returns = original.returns
    copy.params = original.params
    copy.directives = original.directives
    copy.registers = list(original.registers)
    copy.variables = list(original.variables)
    copy.body = list(original.body)
    copy.pos = original.pos
    return copy
