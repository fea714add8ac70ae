"""The syntax trees of user functions: a subset of OpenCL C over scalars, vectors and tuples (thesis 2.4.2).

    function    ::= type NAME '(' type NAME (',' type NAME)* ')' block
    type        ::= scalar | vector | '(' type (',' type)+ ')' | CAPITAL    -- CAPITAL is a type parameter
    block       ::= '{' statement* '}'
    statement   ::= type NAME '=' expression (',' NAME '=' expression)* ';'
                  | place ('=' | '+=' | '-=' | '*=' | '/=' | '%=' | '&=' | '|=' | '^=' | '<<=' | '>>=') expression ';'
                  | place ('++' | '--') ';'
                  | 'if' '(' expression ')' statement ('else' statement)?
                  | 'while' '(' expression ')' statement
                  | 'for' '(' simple? ';' expression? ';' simple? ')' statement
                  | 'return' expression ';' | 'break' ';' | 'continue' ';' | block
    place       ::= NAME ('.' COMPONENTS)?
    expression  ::= NUMBER | 'true' | 'false' | NAME
                  | expression '.' COMPONENTS                      -- .x .y .s0 .lo: of a vector; ._0: of a tuple
                  | ('-' | '+' | '!' | '~') expression
                  | expression OPERATOR expression | expression '?' expression ':' expression
                  | BUILTIN '(' arguments ')'
                  | '(' type ')' expression                        -- a conversion; of a vector: all components
                  | '(' vector ')' '(' arguments ')'
                  | 'tuple' '(' arguments ')'

Every variable has an initial value, every path returns, and there are no pointers, arrays or calls of other user
functions. A tree from the parser has no types; `checker.check_function` returns a copy that has them, in which every
implicit conversion of C stands as a `Cast`.
"""

from __future__ import annotations

from drawloom.lift.language.positions import NOWHERE, Position
from drawloom.lift.language.types import ScalarType, Type, TypeVariable


class TypeParameter(Type):
    """A type that stands for whatever numeric type the function is called with, such as ``T``."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TypeParameter) and self.name == other.name

    def __hash__(self) -> int:
        return hash(("type parameter", self.name))

    def __str__(self) -> str:
        return self.name


#: The type of a tree that has not been checked.
UNKNOWN = TypeVariable(-1)


class Tree:
    """An expression of C."""

    def __init__(self, type: Type, position: Position) -> None:
        self.type = type
        self.position = position


class Number(Tree):
    """A constant; ``text`` is how it was written, and its type is what its suffix says."""

    def __init__(self, value: bool | int | float, type: ScalarType, position: Position = NOWHERE) -> None:
        super().__init__(type, position)
        self.value = value


class Variable(Tree):
    def __init__(self, name: str, type: Type = UNKNOWN, position: Position = NOWHERE) -> None:
        super().__init__(type, position)
        self.name = name


class Unary(Tree):
    def __init__(self, operator: str, operand: Tree, type: Type = UNKNOWN, position: Position = NOWHERE) -> None:
        super().__init__(type, position)
        self.operator = operator
        self.operand = operand


class Binary(Tree):
    def __init__(
        self, operator: str, left: Tree, right: Tree, type: Type = UNKNOWN, position: Position = NOWHERE
    ) -> None:
        super().__init__(type, position)
        self.operator = operator
        self.left = left
        self.right = right


class Conditional(Tree):
    def __init__(
        self, condition: Tree, then: Tree, otherwise: Tree, type: Type = UNKNOWN, position: Position = NOWHERE
    ) -> None:
        super().__init__(type, position)
        self.condition = condition
        self.then = then
        self.otherwise = otherwise


class BuiltinCall(Tree):
    """A call of a built-in function of OpenCL C, such as ``sqrt``."""

    def __init__(self, name: str, arguments: list[Tree], type: Type = UNKNOWN, position: Position = NOWHERE) -> None:
        super().__init__(type, position)
        self.name = name
        self.arguments = arguments


class Cast(Tree):
    """A conversion to a scalar or vector type; a scalar converted to a vector type fills its components.

    An implicit one is where C converts by itself, so that the printer leaves it out.
    """

    def __init__(
        self,
        target: Type,
        operand: Tree,
        type: Type = UNKNOWN,
        position: Position = NOWHERE,
        implicit: bool = False,
    ) -> None:
        super().__init__(type, position)
        self.target = target
        self.operand = operand
        self.implicit = implicit


class MakeVector(Tree):
    """``(float4)(a, b, c, d)``; the parts may be vectors, whose components are laid side by side."""

    def __init__(self, target: Type, parts: list[Tree], type: Type = UNKNOWN, position: Position = NOWHERE) -> None:
        super().__init__(type, position)
        self.target = target
        self.parts = parts


class MakeTuple(Tree):
    def __init__(self, parts: list[Tree], type: Type = UNKNOWN, position: Position = NOWHERE) -> None:
        super().__init__(type, position)
        self.parts = parts


class Select(Tree):
    """Components of a vector, or one component of a tuple. ``indices`` is empty until the tree is checked."""

    def __init__(
        self,
        operand: Tree,
        name: str,
        indices: tuple[int, ...] = (),
        type: Type = UNKNOWN,
        position: Position = NOWHERE,
    ) -> None:
        super().__init__(type, position)
        self.operand = operand
        self.name = name
        self.indices = indices


class Statement:
    """A statement of C."""

    def __init__(self, position: Position) -> None:
        self.position = position


class Declare(Statement):
    def __init__(self, type: Type, name: str, value: Tree, position: Position = NOWHERE) -> None:
        super().__init__(position)
        self.type = type
        self.name = name
        self.value = value


class Assign(Statement):
    """``place = value``; compound assignments are written out by the parser."""

    def __init__(self, place: Tree, value: Tree, position: Position = NOWHERE) -> None:
        super().__init__(position)
        self.place = place
        self.value = value


class If(Statement):
    def __init__(
        self, condition: Tree, then: list[Statement], otherwise: list[Statement], position: Position = NOWHERE
    ) -> None:
        super().__init__(position)
        self.condition = condition
        self.then = then
        self.otherwise = otherwise


class Loop(Statement):
    """``for`` and ``while``: `first` runs once, `step` after every round and at ``continue``."""

    def __init__(
        self,
        first: list[Statement],
        condition: Tree,
        step: list[Statement],
        body: list[Statement],
        position: Position = NOWHERE,
    ) -> None:
        super().__init__(position)
        self.first = first
        self.condition = condition
        self.step = step
        self.body = body


class Return(Statement):
    def __init__(self, value: Tree, position: Position = NOWHERE) -> None:
        super().__init__(position)
        self.value = value


class Jump(Statement):
    """``break`` or ``continue``."""

    def __init__(self, kind: str, position: Position = NOWHERE) -> None:
        super().__init__(position)
        self.kind = kind


class Block(Statement):
    def __init__(self, body: list[Statement], position: Position = NOWHERE) -> None:
        super().__init__(position)
        self.body = body


class FunctionTree:
    """A whole function: its name, parameters, result and body."""

    def __init__(
        self,
        name: str,
        parameters: list[tuple[str, Type]],
        result: Type,
        body: list[Statement],
        position: Position = NOWHERE,
    ) -> None:
        self.name = name
        self.parameters = parameters
        self.result = result
        self.body = body
        self.position = position
