"""HorseIR semantics: infers every ``?`` from the builtins' rules, and checks the rest (thesis section 4.1).

Three steps over a module: the symbol table resolves its functions and imports (``symbols.py``); each body is typed
statement by statement, the functions that it calls before it; a definite-assignment analysis refuses a variable that
some path has not assigned. All raise VerifyError with the place.
"""

from __future__ import annotations

from drawloom.errors import VerifyError
from drawloom.horse.builtins import BUILTINS
from drawloom.horse.dataflow import Variables
from drawloom.horse.definitions import assigned
from drawloom.horse.ir import (
    Assign,
    Call,
    CheckCast,
    Evaluate,
    Expression,
    Function,
    FunctionRef,
    If,
    Jump,
    Literal,
    Loop,
    Module,
    Name,
    Operand,
    Pos,
    Return,
    Statement,
    Use,
    read_operands,
)
from drawloom.horse.rules import SignatureError
from drawloom.horse.signatures import result_type
from drawloom.horse.symbols import link, refusal
from drawloom.horse.types import BOOL, I64, WILDCARD, DictType, EnumType, ListType, Type, accepts, is_complete


def infer(module: Module) -> Module:
    """``module`` itself, checked, with the inferred type in place of every ``?`` that a rule can fill.

    A function that is called as a builtin has another name in what is returned. A wildcard stays only where the types
    differ from cell to cell (a list of unlike columns). Raises VerifyError.
    """
    linked = link([module])
    _Checker(linked).check()
    return linked


class _Checker:
    def __init__(self, module: Module) -> None:
        self.module = module
        self.functions = {f.name: f for f in module.functions}
        self.types: dict[str, Type] = {}
        self.function: Function | None = None
        self.loops = 0
        #: Functions whose check has begun.
        self.begun: set[str] = set()

    def error(self, message: str, pos: Pos, expected: str = "") -> VerifyError:
        return refusal(self.module, message, pos, expected)

    def check(self) -> None:
        for function in self.module.functions:
            self.check_function(function)

    def check_function(self, function: Function) -> None:
        if function.name in self.begun:
            return
        self.begun.add(function.name)
        outer = (self.types, self.function, self.loops)
        self.types, self.function, self.loops = {}, function, 0
        for param in function.params:
            if param.name in self.types:
                raise self.error(f"parameter '{param.name}' is declared twice", param.pos)
            self.types[param.name] = param.type
        self.block(function.body)
        self.check_assigned(function)
        self.types, self.function, self.loops = outer

    def check_assigned(self, function: Function) -> None:
        """Refuses a variable that some path to its use has not assigned, and a function that ends without a value."""
        variables = Variables(function)
        states = assigned(function, variables)
        for statement, have in states.at.items():
            if variables.reads[statement] & ~have:
                for operand in read_operands(statement):
                    if isinstance(operand, Name) and not have >> variables.numbers[operand.name] & 1:
                        message = f"'{operand.name}' is not assigned on every path to here"
                        raise self.error(message, operand.pos, "a variable that has a value")
        if function.returns and states.end is not None:
            raise self.error(f"'{function.name}' can end without returning a value", function.pos, "a return")

    # Statements

    def block(self, body: list[Statement]) -> None:
        for statement in body:
            self.statement(statement)

    def statement(self, statement: Statement) -> None:
        if isinstance(statement, Assign):
            self.assign(statement)
        elif isinstance(statement, Evaluate):
            self.expression(statement.value)
        elif isinstance(statement, If):
            self.condition(statement.condition, BOOL)
            self.block(statement.then)
            self.block(statement.otherwise)
        elif isinstance(statement, Loop):
            self.condition(statement.condition, BOOL if statement.kind == "while" else I64)
            self.loops += 1
            self.block(statement.body)
            self.loops -= 1
        elif isinstance(statement, Jump):
            if self.loops == 0:
                raise self.error(f"{statement.kind} outside a loop", statement.pos)
        else:
            assert isinstance(statement, Return)
            self.return_(statement)

    def condition(self, operand: Operand, type: Type) -> None:
        given = self.operand(operand)
        if not accepts(type, given) and given != WILDCARD:
            raise self.error(f"the condition is {given}", operand.pos, str(type))

    def return_(self, statement: Return) -> None:
        assert self.function is not None
        returns = self.function.returns
        if len(statement.values) != len(returns):
            raise self.error(
                f"return of {len(statement.values)} values", statement.pos, f"{len(returns)} values to return"
            )
        for i, value in enumerate(statement.values):
            given = self.operand(value)
            if not accepts(returns[i], given) and given != WILDCARD:
                raise self.error(f"return of a value of type {given}", value.pos, str(returns[i]))
            if "?" in returns[i].text:
                returns[i] = merge(returns[i], given)

    def assign(self, statement: Assign) -> None:
        types = self.expression(statement.value)
        if len(types) != len(statement.targets):
            raise self.error(
                f"{len(statement.targets)} variables for {len(types)} values", statement.pos, "one variable each"
            )
        for target, given in zip(statement.targets, types):
            declared = target.type
            if declared is None:
                known = self.types.get(target.name)
                if known is None:
                    raise self.error(f"'{target.name}' is not declared", target.pos, "var and a type")
                declared = known
            elif target.name in self.types and self.types[target.name] != declared:
                raise self.error(f"'{target.name}' is declared twice", target.pos, "another name")
            if not accepts(declared, given) and given != WILDCARD and not accepts(given, declared):
                raise self.error(f"'{target.name}' is {declared} and is given {given}", target.pos, str(declared))
            merged = merge(declared, given)
            if target.type is not None:
                target.type = merged
            self.types[target.name] = merged
            if len(types) == 1 and not is_complete(given) and is_complete(declared):
                statement.value = checked(statement.value, declared)

    # Expressions

    def expression(self, expression: Expression) -> list[Type]:
        if isinstance(expression, Use):
            return [self.operand(expression.operand)]
        if isinstance(expression, CheckCast):
            given = self.expression(expression.value)
            if len(given) != 1:
                raise self.error("check_cast of several values", expression.pos, "one value")
            if not accepts(expression.type, given[0]) and not accepts(given[0], expression.type):
                raise self.error(f"a {given[0]} is never {expression.type}", expression.pos, str(given[0]))
            return [merge(expression.type, given[0])]
        assert isinstance(expression, Call)
        return self.call(expression)

    def call(self, call: Call) -> list[Type]:
        types: list[Type] = []
        for argument in call.arguments:
            if isinstance(argument, FunctionRef):
                if not call.function.name.startswith("each"):
                    raise self.error(f"@{argument.name} is no value", argument.pos, "a variable or a literal")
                types.append(WILDCARD)
            else:
                types.append(self.operand(argument))
        own = self.functions.get(call.function.name)
        if own is not None:
            return self.call_own(call, own, types)
        values = [t for a, t in zip(call.arguments, types) if not isinstance(a, FunctionRef)]
        call.is_open = not all(is_complete(t) for t in values)
        name = call.function.name
        try:
            return [result_type(BUILTINS[name].signature, name, call.arguments, types)]
        except SignatureError as problem:
            raise self.error(problem.message, call.pos, problem.expected) from None

    def call_own(self, call: Call, function: Function, types: list[Type]) -> list[Type]:
        if len(types) != len(function.params):
            raise self.error(
                f"@{function.name} is given {len(types)} arguments", call.pos, f"{len(function.params)} arguments"
            )
        for param, given, argument in zip(function.params, types, call.arguments):
            if not accepts(param.type, given) and given != WILDCARD:
                raise self.error(
                    f"parameter '{param.name}' of @{function.name} is given {given}", argument.pos, str(param.type)
                )
        if not all(is_complete(t) for t in function.returns):
            self.check_function(function)
        return function.returns

    def operand(self, operand: Operand) -> Type:
        if isinstance(operand, Literal):
            return operand.type
        if isinstance(operand, FunctionRef):
            raise self.error(f"@{operand.name} is no value", operand.pos, "a variable or a literal")
        assert isinstance(operand, Name)
        type = self.types.get(operand.name)
        if type is None:
            raise self.error(f"'{operand.name}' is not declared", operand.pos, "a variable")
        return type


def checked(value: Expression, type: Type) -> CheckCast:
    """The value, of a type that only the run tells, as one that is checked to be of ``type`` there."""
    return CheckCast(value.value if isinstance(value, CheckCast) else value, type, value.pos)


def merge(declared: Type, given: Type) -> Type:
    """``declared`` with its wildcards filled from ``given``, which it accepts (or which is wilder)."""
    if declared == WILDCARD:
        return given
    if isinstance(declared, ListType) and isinstance(given, ListType):
        return ListType(merge(declared.element, given.element))
    if isinstance(declared, EnumType) and isinstance(given, EnumType):
        return EnumType(merge(declared.element, given.element))
    if isinstance(declared, DictType) and isinstance(given, DictType):
        return DictType(merge(declared.key, given.key), merge(declared.value, given.value))
    return declared


def variable_types(function: Function) -> dict[str, Type]:
    """The type of every variable of a checked function."""
    types: dict[str, Type] = {p.name: p.type for p in function.params}
    _collect(function.body, types)
    return types


def _collect(body: list[Statement], types: dict[str, Type]) -> None:
    for statement in body:
        if isinstance(statement, Assign):
            for target in statement.targets:
                if target.type is not None:
                    types[target.name] = target.type
        elif isinstance(statement, If):
            _collect(statement.then, types)
            _collect(statement.otherwise, types)
        elif isinstance(statement, Loop):
            _collect(statement.body, types)
