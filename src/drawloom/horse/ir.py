"""The HorseIR data model: modules, functions and kernels of structured three-address statements.

    text       ::= module+
    module     ::= 'module' NAME '{' import* function* '}'
    import     ::= 'import' NAME '.' ('*' | NAME | '{' NAME (',' NAME)* '}') ';'
    function   ::= ('def' | 'kernel') NAME '(' (param (',' param)*)? ')' (':' type (',' type)*)? block
    param      ::= NAME ':' type
    block      ::= '{' statement* '}'
    statement  ::= target (',' target)* '=' expression ';'
                 | call ';'
                 | 'if' '(' operand ')' block ('else' block)?
                 | ('while' | 'repeat') '(' operand ')' block
                 | 'return' (operand (',' operand)*)? ';' | 'break' ';' | 'continue' ';'
    target     ::= 'var'? NAME ':' type                               -- a declaration
                 | NAME                                               -- an assignment
    expression ::= 'check_cast' '(' (call | operand) ',' type ')' | call | operand
    call       ::= FUNCTION '(' (argument (',' argument)*)? ')'
    argument   ::= operand | FUNCTION                                 -- a function goes to @each and its kin
    FUNCTION   ::= '@' (NAME '.')? NAME
    operand    ::= NAME | literal
    literal    ::= value ':' type | '(' (value (',' value)*)? ')' ':' type
    value      ::= INT | FLOAT | STRING | CHAR | '`' (NAME | STRING) | DATE | MONTH | TIME

Types are in ``types.py``. A literal's values are kept as Python objects: ``int`` for everything exact (decimals
unscaled, dates in days, months in months, times in milliseconds), ``float``, or ``str``.
"""

from __future__ import annotations

from collections.abc import Callable

from drawloom.horse.types import Type

Value = int | float | str


class Pos:
    """Where something stands in the text: line and column from 1, both 0 when it was made by a pass."""

    def __init__(self, line: int = 0, column: int = 0) -> None:
        self.line = line
        self.column = column


NOWHERE = Pos()


class Operand:
    """A name, a literal, or the function handed to ``@each``."""

    def __init__(self, pos: Pos) -> None:
        self.pos = pos


class Name(Operand):
    def __init__(self, name: str, pos: Pos = NOWHERE) -> None:
        super().__init__(pos)
        self.name = name


class Literal(Operand):
    """``values`` of vector type ``type``; one value without parentheses is a vector of length 1."""

    def __init__(self, values: list[Value], type: Type, pos: Pos = NOWHERE) -> None:
        super().__init__(pos)
        self.values = values
        self.type = type


def literal_value(operand: Operand) -> Value | None:
    """The one value of a literal; None for several, for none, and for any other operand."""
    return operand.values[0] if isinstance(operand, Literal) and len(operand.values) == 1 else None


class FunctionRef(Operand):
    """``@name`` or ``@module.name``; ``module`` is "" when it is not given."""

    def __init__(self, name: str, module: str = "", pos: Pos = NOWHERE) -> None:
        super().__init__(pos)
        self.name = name
        self.module = module


class Expression:
    def __init__(self, pos: Pos) -> None:
        self.pos = pos


class Use(Expression):
    """An operand standing as an expression."""

    def __init__(self, operand: Operand, pos: Pos = NOWHERE) -> None:
        super().__init__(pos)
        self.operand = operand


class Call(Expression):
    """``is_open`` says that only the run tells an argument's type, and with it whether the function takes it."""

    def __init__(self, function: FunctionRef, arguments: list[Operand], pos: Pos = NOWHERE) -> None:
        super().__init__(pos)
        self.function = function
        self.arguments = arguments
        self.is_open = False


class CheckCast(Expression):
    """``check_cast(value, type)``: the value, which must be of that type when the program runs."""

    def __init__(self, value: Expression, type: Type, pos: Pos = NOWHERE) -> None:
        super().__init__(pos)
        self.value = value
        self.type = type


class Target:
    """What a statement writes. ``type`` is None for an assignment to a variable declared before."""

    def __init__(self, name: str, type: Type | None, pos: Pos = NOWHERE) -> None:
        self.name = name
        self.type = type
        self.pos = pos


class Statement:
    def __init__(self, pos: Pos) -> None:
        self.pos = pos


class Assign(Statement):
    def __init__(self, targets: list[Target], value: Expression, pos: Pos = NOWHERE) -> None:
        super().__init__(pos)
        self.targets = targets
        self.value = value


class Evaluate(Statement):
    """A call for its effect."""

    def __init__(self, value: Expression, pos: Pos = NOWHERE) -> None:
        super().__init__(pos)
        self.value = value


class If(Statement):
    def __init__(
        self, condition: Operand, then: list[Statement], otherwise: list[Statement], pos: Pos = NOWHERE
    ) -> None:
        super().__init__(pos)
        self.condition = condition
        self.then = then
        self.otherwise = otherwise


class Loop(Statement):
    """``while`` (the condition is a bool) or ``repeat`` (a count), by ``kind``."""

    def __init__(self, kind: str, condition: Operand, body: list[Statement], pos: Pos = NOWHERE) -> None:
        super().__init__(pos)
        self.kind = kind
        self.condition = condition
        self.body = body


class Return(Statement):
    def __init__(self, values: list[Operand], pos: Pos = NOWHERE) -> None:
        super().__init__(pos)
        self.values = values


class Jump(Statement):
    """``break`` or ``continue``, by ``kind``."""

    def __init__(self, kind: str, pos: Pos = NOWHERE) -> None:
        super().__init__(pos)
        self.kind = kind


class Param:
    def __init__(self, name: str, type: Type, pos: Pos = NOWHERE) -> None:
        self.name = name
        self.type = type
        self.pos = pos


class Function:
    """A ``def`` (control code) or, with ``is_kernel``, one parallel region."""

    def __init__(
        self,
        name: str,
        params: list[Param],
        returns: list[Type],
        body: list[Statement],
        is_kernel: bool = False,
        pos: Pos = NOWHERE,
    ) -> None:
        self.name = name
        self.params = params
        self.returns = returns
        self.body = body
        self.is_kernel = is_kernel
        self.pos = pos


class Import:
    """``import module.*`` has ``names`` None, ``import module.a`` has ``["a"]``."""

    def __init__(self, module: str, names: list[str] | None, pos: Pos = NOWHERE) -> None:
        self.module = module
        self.names = names
        self.pos = pos


class Module:
    """``source`` and ``filename`` are what errors quote; both "" for a module made by a pass."""

    def __init__(self, name: str, imports: list[Import], functions: list[Function], pos: Pos = NOWHERE) -> None:
        self.name = name
        self.imports = imports
        self.functions = functions
        self.pos = pos
        self.source = ""
        self.filename = ""

    def with_functions(self, functions: list[Function]) -> Module:
        """The module with other functions, whose statements stand where they stood."""
        made = Module(self.name, self.imports, functions, self.pos)
        made.source, made.filename = self.source, self.filename
        return made

    def function(self, name: str) -> Function | None:
        for function in self.functions:
            if function.name == name:
                return function
        return None

    def __str__(self) -> str:
        from drawloom.horse.printer import print_module

        return print_module(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Module) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))


def operands(expression: Expression) -> list[Operand]:
    """The names, literals and functions an expression reads, in order."""
    if isinstance(expression, CheckCast):
        return operands(expression.value)
    if isinstance(expression, Call):
        return expression.arguments
    assert isinstance(expression, Use)
    return [expression.operand]


def walk(body: list[Statement]) -> list[Statement]:
    """The statements of a body and of all bodies within, in the order of the text."""
    found: list[Statement] = []
    for statement in body:
        found.append(statement)
        if isinstance(statement, If):
            found.extend(walk(statement.then))
            found.extend(walk(statement.otherwise))
        elif isinstance(statement, Loop):
            found.extend(walk(statement.body))
    return found


def with_bodies(statement: If | Loop, change: Callable[[list[Statement]], list[Statement]]) -> If | Loop:
    """The statement with its bodies changed, in the order of the text."""
    if isinstance(statement, If):
        return If(statement.condition, change(statement.then), change(statement.otherwise), statement.pos)
    return Loop(statement.kind, statement.condition, change(statement.body), statement.pos)


def read_operands(statement: Statement) -> list[Operand]:
    """The operands that a statement itself reads; of ``if`` and loops the condition."""
    if isinstance(statement, Assign | Evaluate):
        return operands(statement.value)
    if isinstance(statement, Return):
        return statement.values
    return [statement.condition] if isinstance(statement, If | Loop) else []


def reads(statement: Statement) -> list[str]:
    """The variables that a statement itself reads; of ``if`` and loops those of the condition."""
    return [o.name for o in read_operands(statement) if isinstance(o, Name)]


def assigned_once(function: Function) -> set[str]:
    """The variables that one statement of the function assigns, and no parameter is."""
    counts: dict[str, int] = {p.name: 1 for p in function.params}
    for statement in walk(function.body):
        if isinstance(statement, Assign):
            for target in statement.targets:
                counts[target.name] = counts.get(target.name, 0) + 1
    return {name for name, count in counts.items() if count == 1}.difference([p.name for p in function.params])
