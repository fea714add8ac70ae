"""What is to be done with an instruction of some opcode: which template, with which of its operands."""

from __future__ import annotations

from drawloom.ptx.ir import Instruction, Operand
from drawloom.ptx.template import Template


class Rule:
    """One template for all instructions of an opcode; subclasses look at the operands first."""

    def __init__(self, template: Template) -> None:
        self.template = template

    def choose(self, instruction: Instruction) -> tuple[Template, list[Operand]]:
        """The template, and the operands that are its ``a``, ``b`` ..."""
        return self.template, instruction.operands[1:]


def rule(types: str, body: str) -> Rule:
    """A rule with one template; ``types`` are those of ``d``, ``a``, ``b`` ..., with spaces between them."""
    return Rule(Template(types.split(), body))
