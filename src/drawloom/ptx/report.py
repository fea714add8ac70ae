"""Collects what the verifier finds wrong, as ``VerifyError`` with file, line, column and the quoted line."""

from __future__ import annotations

from drawloom.errors import VerifyError
from drawloom.ptx.ir import Function, Instruction, Module


class Reporter:
    """The errors of one module. With ``first_only`` the first one is raised at once."""

    def __init__(self, module: Module, first_only: bool) -> None:
        self.module = module
        self.first_only = first_only
        self.errors: list[VerifyError] = []

    def report(self, pos: int, message: str, expected: str = "") -> None:
        """One error at the character offset ``pos`` (-1: nowhere in particular)."""
        error = self.module.error(VerifyError, pos, message, expected)
        if not isinstance(error, VerifyError):
            raise error
        self.add(error)

    def add(self, error: VerifyError) -> None:
        """One error that says already where it is."""
        self.errors.append(error)
        if self.first_only:
            raise error

    def instruction(
        self, function: Function, statement: Instruction, operand: int, message: str, expected: str = ""
    ) -> None:
        """One error in an instruction, at its operand ``operand`` (from 0; -1: the instruction as a whole)."""
        if statement.pos < 0 or not self.module.source:
            self.report(-1, f"{message}, in '{statement!r}' of '{function.name}'", expected)
            return
        pos = statement.pos if operand < 0 else operand_position(self.module.source, statement, operand)
        self.report(pos, message, expected)


def operand_position(source: str, statement: Instruction, operand: int) -> int:
    """The offset of the operand of that index; that of the opcode when the text cannot be followed."""
    if statement.opcode.name == "call":
        return statement.pos
    pos = statement.pos + len(statement.opcode.text)
    depth = 0
    index = 0
    while pos < len(source):
        character = source[pos]
        if character in "{[(":
            depth += 1
        elif character in "}])":
            depth -= 1
        elif character == ";":
            return statement.pos
        if index == operand and not character.isspace() and character != ",":
            return pos
        if character == "," and depth == 0:
            index += 1
        pos += 1
    return statement.pos
