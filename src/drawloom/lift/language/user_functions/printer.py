"""The syntax tree of a user function to C text, with no more parentheses than C needs."""

from __future__ import annotations

from typing import Final

import numpy as np

from drawloom.lift.language.types import ScalarType, Type, VectorType
from drawloom.lift.language.user_functions.parser import LEVELS
from drawloom.lift.language.user_functions.syntax import (
    Assign,
    Binary,
    Block,
    BuiltinCall,
    Cast,
    Conditional,
    Declare,
    FunctionTree,
    If,
    Jump,
    Loop,
    MakeTuple,
    MakeVector,
    Number,
    Return,
    Select,
    Statement,
    Tree,
    Unary,
    Variable,
)

LEVEL_OF: Final = {operator: level for level, operators in enumerate(LEVELS) for operator in operators}
CONDITIONAL_LEVEL: Final = -1
UNARY_LEVEL: Final = len(LEVELS)
POSTFIX_LEVEL: Final = UNARY_LEVEL + 1


class CPrinter:
    """Prints trees. Subclass it to spell types and tuples otherwise, as OpenCL C needs for its structs."""

    def spell_type(self, type: Type) -> str:
        return str(type)

    def spell_tuple(self, type: Type, parts: list[str]) -> str:
        return "tuple(" + ", ".join(parts) + ")"

    def function(self, function: FunctionTree) -> str:
        parameters = ", ".join([f"{self.spell_type(type)} {name}" for name, type in function.parameters])
        head = f"{self.spell_type(function.result)} {function.name}({parameters})"
        if len(function.body) == 1 and isinstance(function.body[0], Return):
            return f"{head} {{ {self.statement(function.body[0], '').strip()} }}"
        return head + " {\n" + self.body(function.body, "  ") + "}"

    def body(self, statements: list[Statement], indent: str) -> str:
        return "".join([self.statement(statement, indent) + "\n" for statement in statements])

    def block(self, statements: list[Statement], indent: str) -> str:
        return "{\n" + self.body(statements, indent + "  ") + indent + "}"

    def statement(self, statement: Statement, indent: str) -> str:
        if isinstance(statement, If):
            text = f"{indent}if ({self.tree(statement.condition)}) {self.block(statement.then, indent)}"
            return text + (f" else {self.block(statement.otherwise, indent)}" if statement.otherwise else "")
        if isinstance(statement, Loop):
            if not statement.first and not statement.step:
                return f"{indent}while ({self.tree(statement.condition)}) {self.block(statement.body, indent)}"
            first = self.simple_list(statement.first)
            step = self.simple_list(statement.step)
            head = f"for ({first}; {self.tree(statement.condition)}; {step})"
            return f"{indent}{head} {self.block(statement.body, indent)}"
        if isinstance(statement, Block):
            return indent + self.block(statement.body, indent)
        return f"{indent}{self.simple(statement)};"

    def simple_list(self, statements: list[Statement]) -> str:
        """Print the declarations of one type at the head of a `for`, or one assignment."""
        texts = [self.simple(statement) for statement in statements]
        for at in range(1, len(texts)):
            declaration = statements[at]
            assert isinstance(declaration, Declare)
            texts[at] = texts[at].removeprefix(self.spell_type(declaration.type) + " ")
        return ", ".join(texts)

    def simple(self, statement: Statement) -> str:
        if isinstance(statement, Declare):
            return f"{self.spell_type(statement.type)} {statement.name} = {self.tree(statement.value)}"
        if isinstance(statement, Assign):
            return f"{self.tree(statement.place)} = {self.tree(statement.value)}"
        if isinstance(statement, Return):
            return f"return {self.tree(statement.value)}"
        assert isinstance(statement, Jump)
        return statement.kind

    def tree(self, tree: Tree, level: int = CONDITIONAL_LEVEL) -> str:
        """Print an expression; one that binds looser than `level` gets parentheses."""
        text, own = self.bare(tree)
        return f"({text})" if own < level else text

    def bare(self, tree: Tree) -> tuple[str, int]:
        """Return an expression's text and how tightly its outermost operator binds."""
        if isinstance(tree, Number):
            return print_number(tree.value, tree.type), POSTFIX_LEVEL
        if isinstance(tree, Variable):
            return tree.name, POSTFIX_LEVEL
        if isinstance(tree, Unary):
            operand = self.tree(tree.operand, UNARY_LEVEL)
            space = " " if operand[0] == tree.operator else ""
            return tree.operator + space + operand, UNARY_LEVEL
        if isinstance(tree, Binary):
            own = LEVEL_OF[tree.operator]
            return f"{self.tree(tree.left, own)} {tree.operator} {self.tree(tree.right, own + 1)}", own
        if isinstance(tree, Conditional):
            condition = self.tree(tree.condition, CONDITIONAL_LEVEL + 1)
            return f"{condition} ? {self.tree(tree.then)} : {self.tree(tree.otherwise)}", CONDITIONAL_LEVEL
        if isinstance(tree, BuiltinCall):
            return f"{tree.name}({self.commas(tree.arguments)})", POSTFIX_LEVEL
        if isinstance(tree, Cast) and tree.implicit:
            return self.bare(tree.operand)
        if isinstance(tree, Cast) and isinstance(tree.operand.type, VectorType):
            return f"convert_{self.spell_type(tree.target)}({self.tree(tree.operand)})", POSTFIX_LEVEL
        if isinstance(tree, Cast):
            return f"({self.spell_type(tree.target)}){self.tree(tree.operand, UNARY_LEVEL)}", UNARY_LEVEL
        if isinstance(tree, MakeVector):
            return f"({self.spell_type(tree.target)})({self.commas(tree.parts)})", POSTFIX_LEVEL
        if isinstance(tree, MakeTuple):
            return self.spell_tuple(tree.type, [self.tree(part) for part in tree.parts]), POSTFIX_LEVEL
        assert isinstance(tree, Select)
        return f"{self.tree(tree.operand, POSTFIX_LEVEL)}.{tree.name}", POSTFIX_LEVEL

    def commas(self, trees: list[Tree]) -> str:
        return ", ".join([self.tree(tree) for tree in trees])


def print_number(value: bool | int | float, type: Type) -> str:
    """Print a constant so that C reads the same value of the same type.

    Example:
        >>> from drawloom.lift.language.types import float32, float64, uint32
        >>> print_number(0.1, float32), print_number(3, uint32), print_number(2.0, float64)
        ('0.1f', '3u', '2.0')
    """
    assert isinstance(type, ScalarType)
    if type.kind == "bool":
        return "true" if value else "false"
    if type.is_integer:
        suffix = ("u" if type.kind == "uint" else "") + ("l" if type.bits == 64 else "")
        return f"{int(value)}{suffix if type.bits >= 32 else ''}"
    with np.errstate(over="ignore"):
        rounded = type.dtype.type(value)
    if np.isinf(rounded):
        return "INFINITY" if rounded > 0 else "-INFINITY"
    shortest = str(rounded) if type.bits < 64 else repr(float(value))
    if "e" not in shortest and "." not in shortest:
        shortest += ".0"
    return shortest + {16: "h", 32: "f", 64: ""}[type.bits]
