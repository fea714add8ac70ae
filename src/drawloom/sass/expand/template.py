"""Sequences of PTX written as text, parsed once, and put in the place of an instruction with its operands.

A template is the body of a function: ``d`` is what the instruction writes, ``a``, ``b`` ... what it reads, in their
order; all other registers and labels are fresh wherever the template is used.
"""

from __future__ import annotations

from typing import Final

from drawloom.ptx.ir import (
    Arguments,
    Function,
    Immediate,
    Instruction,
    Label,
    LabelRef,
    Module,
    Not,
    Operand,
    Pair,
    Register,
    Symbol,
    Vector,
)
from drawloom.ptx.isa import BRANCH, CALL, decode
from drawloom.ptx.parser import parse
from drawloom.ptx.types import Type

_HEADER: Final = ".version 8.6\n.target sm_90\n.address_size 64\n"
_SOURCES: Final = "abcdef"


def parse_function(text: str) -> Function:
    """The one function that ``text`` defines."""
    functions = [f for f in parse(_HEADER + text, "<expansion>").functions.values() if f.has_body]
    assert len(functions) == 1
    return functions[0]


class Template:
    """``types`` are those of ``d``, ``a``, ``b`` ... by name; ``body`` is PTX without the braces.

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
        self.source_types = types[1:]
        self.body = function.body
        instructions = function.instructions()
        self.straight = not any(
            i.guard is not None or i.opcode.effect in (BRANCH, CALL) for i in instructions
        ) and not any(isinstance(s, Label) for s in self.body)
        written = [n for n, i in enumerate(instructions) if any(r.id == self.result for r in i.destinations())]
        read = [n for n, i in enumerate(instructions) if any(r.id in self.sources for r in i.sources())]
        self.writes_early = bool(read) and written[0] < read[-1]


class Site:
    """The function that is being rewritten: a copy of the original one with a new body."""

    def __init__(self, module: Module, original: Function, helpers: dict[str, str]) -> None:
        self.module = module
        self.function = copy_function(original)
        self.function.body = []
        self.labels = {s.name for s in original.body if isinstance(s, Label)}
        self.number = 0
        #: The functions that templates call, and what they are called in this module.
        self.helpers = helpers

    def put(self, template: Template, instruction: Instruction, sources: list[Operand]) -> None:
        """Append ``template`` in the place of ``instruction``, reading ``sources``."""
        function = self.function
        target = instruction.operands[0]
        bound: list[Operand | None] = [None] * len(template.types)
        guard, negated, pos = instruction.guard, instruction.guard_negated, instruction.pos
        out = function.body
        skip = ""
        if guard is not None and not template.straight:
            skip = self.fresh_label()
            out.append(Instruction(_BRA, [LabelRef(skip)], guard, not negated, pos))
            guard = None
        for place, source, type in zip(template.sources, sources, template.source_types):
            if isinstance(source, Immediate):
                register = function.new_register(template.types[place])
                out.append(Instruction(decode(_MOVES.get(type, f"mov.{type}")), [register, source], None, False, pos))
                bound[place] = register
            else:
                bound[place] = source
        result = target
        if template.writes_early and any(s is target for s in sources):
            result = function.new_register(template.types[template.result])
        bound[template.result] = result
        binder = Binder(self, bound, template.types)
        for statement in template.body:
            if isinstance(statement, Instruction):
                own = statement.guard
                if own is None:
                    out.append(Instruction(statement.opcode, binder.operands(statement), guard, negated, pos))
                else:
                    held = binder.register(own)
                    assert isinstance(held, Register)
                    operands = binder.operands(statement)
                    out.append(Instruction(statement.opcode, operands, held, statement.guard_negated, pos))
            else:
                assert isinstance(statement, Label)
                out.append(Label(binder.label(statement.name), pos))
        if result is not target:
            type = template.types[template.result].name
            out.append(Instruction(decode(f"mov.{type}"), [target, result], guard, negated, pos))
        if skip:
            out.append(Label(skip, pos))

    def helper(self, name: str) -> str:
        """What the function ``name`` of ``functions.HELPERS`` is called in this module."""
        known = self.helpers.get(name)
        if known is None:
            known = name
            while known in self.module.functions or known in self.module.variables:
                known += "$"
            self.helpers[name] = known
        return known

    def fresh_label(self) -> str:
        """A label that the function does not have."""
        self.number += 1
        name = f"$expand_{self.number}"
        while name in self.labels:
            self.number += 1
            name = f"$expand_{self.number}"
        self.labels.add(name)
        return name


_BRA: Final = decode("bra")
_MOVES: Final[dict[str, str]] = {"f16": "mov.b16", "f16x2": "mov.b32"}


class Binder:
    """The registers and labels of one use of a template."""

    def __init__(self, site: Site, bound: list[Operand | None], types: list[Type]) -> None:
        self.site = site
        self.bound = bound
        self.types = types
        self.labels: dict[str, str] = {}

    def register(self, register: Register) -> Operand:
        known = self.bound[register.id]
        if known is None:
            known = self.bound[register.id] = self.site.function.new_register(register.type)
        return known

    def label(self, name: str) -> str:
        known = self.labels.get(name)
        if known is None:
            known = self.labels[name] = self.site.fresh_label()
        return known

    def operands(self, instruction: Instruction) -> list[Operand]:
        return [self.register(o) if isinstance(o, Register) else self.operand(o) for o in instruction.operands]

    def operand(self, operand: Operand) -> Operand:
        if isinstance(operand, Register):
            return self.register(operand)
        if isinstance(operand, Vector):
            return Vector([self.operand(e) for e in operand.elements])
        if isinstance(operand, Arguments):
            return Arguments([self.operand(e) for e in operand.elements])
        if isinstance(operand, Pair):
            return Pair(self.operand(operand.first), self.operand(operand.second))
        if isinstance(operand, Not):
            held = self.register(operand.register)
            assert isinstance(held, Register)
            return Not(held)
        if isinstance(operand, LabelRef):
            return LabelRef(self.label(operand.name))
        if isinstance(operand, Symbol):
            return Symbol(self.site.helper(operand.name))
        return operand


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
