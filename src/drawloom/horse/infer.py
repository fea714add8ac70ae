"""HorseIR semantics: resolves names and calls, infers every ``?`` from the builtins' rules, and checks the rest.

Three passes over a module, as in thesis section 4.1: functions and imports become a symbol table; each body is typed
statement by statement; a definite-assignment check refuses a variable that some path has not assigned. All raise
VerifyError with the place.
"""

from __future__ import annotations

from drawloom.errors import VerifyError
from drawloom.horse.builtins import BUILTIN_MODULE, BUILTINS
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
)
from drawloom.horse.signatures import SignatureError, result_type
from drawloom.horse.types import BOOL, I64, WILDCARD, DictType, EnumType, ListType, Type, accepts


def infer(module: Module) -> Module:
    """``module`` itself, checked, with the inferred type in place of every ``?`` that a rule can fill.

    A wildcard stays only where the types differ from cell to cell (a list of unlike columns). Raises VerifyError.
    """
    _Checker(module).check()
    return module


class _Checker:
    def __init__(self, module: Module) -> None:
        self.module = module
        self.functions: dict[str, Function] = {}
        self.imported: set[str] = set()
        self.types: dict[str, Type] = {}
        self.function: Function | None = None
        self.loops = 0

    def error(self, message: str, pos: Pos, expected: str = "") -> VerifyError:
        lines = self.module.source.split("\n")
        line = lines[pos.line - 1] if 0 < pos.line <= len(lines) else ""
        return VerifyError(message, self.module.filename or "<horse>", pos.line, pos.column, line, expected)

    def check(self) -> None:
        for item in self.module.imports:
            if item.module != BUILTIN_MODULE:
                raise self.error(f"there is no module '{item.module}'", item.pos, f"the module {BUILTIN_MODULE}")
            for name in BUILTINS if item.names is None else item.names:
                if name not in BUILTINS:
                    raise self.error(f"module {BUILTIN_MODULE} has no function '{name}'", item.pos)
                self.imported.add(name)
        for function in self.module.functions:
            if function.name in self.functions:
                raise self.error(f"function '{function.name}' is defined twice", function.pos)
            self.functions[function.name] = function
        for function in self.module.functions:
            self.check_function(function)

    def check_function(self, function: Function) -> None:
        self.types = {}
        self.function = function
        self.loops = 0
        for param in function.params:
            if param.name in self.types:
                raise self.error(f"parameter '{param.name}' is declared twice", param.pos)
            self.types[param.name] = param.type
        assigned = set(self.types)
        assigned = self.block(function.body, assigned)
        if function.returns and not _always_returns(function.body):
            raise self.error(f"'{function.name}' can end without returning a value", function.pos, "a return")

    # Statements. `assigned` is what every path so far has assigned; each returns it for what follows.

    def block(self, body: list[Statement], assigned: set[str]) -> set[str]:
        for statement in body:
            assigned = self.statement(statement, assigned)
        return assigned

    def statement(self, statement: Statement, assigned: set[str]) -> set[str]:
        if isinstance(statement, Assign):
            return self.assign(statement, assigned)
        if isinstance(statement, Evaluate):
            self.expression(statement.value, assigned)
            return assigned
        if isinstance(statement, If):
            self.condition(statement.condition, BOOL, assigned)
            then = self.block(statement.then, set(assigned))
            otherwise = self.block(statement.otherwise, set(assigned))
            if _always_returns(statement.then):
                return otherwise
            return then if _always_returns(statement.otherwise) else then & otherwise
        if isinstance(statement, Loop):
            self.condition(statement.condition, BOOL if statement.kind == "while" else I64, assigned)
            self.loops += 1
            self.block(statement.body, set(assigned))
            self.loops -= 1
            return assigned
        if isinstance(statement, Jump):
            if self.loops == 0:
                raise self.error(f"{statement.kind} outside a loop", statement.pos)
            return assigned
        assert isinstance(statement, Return)
        self.return_(statement, assigned)
        return assigned

    def condition(self, operand: Operand, type: Type, assigned: set[str]) -> None:
        given = self.operand(operand, assigned)
        if not accepts(type, given) and given != WILDCARD:
            raise self.error(f"the condition is {given}", operand.pos, str(type))

    def return_(self, statement: Return, assigned: set[str]) -> None:
        assert self.function is not None
        returns = self.function.returns
        if len(statement.values) != len(returns):
            raise self.error(
                f"return of {len(statement.values)} values", statement.pos, f"{len(returns)} values to return"
            )
        for i, value in enumerate(statement.values):
            given = self.operand(value, assigned)
            if not accepts(returns[i], given) and given != WILDCARD:
                raise self.error(f"return of a value of type {given}", value.pos, str(returns[i]))
            if "?" in returns[i].text:
                returns[i] = merge(returns[i], given)

    def assign(self, statement: Assign, assigned: set[str]) -> set[str]:
        types = self.expression(statement.value, assigned)
        if len(types) != len(statement.targets):
            raise self.error(
                f"{len(statement.targets)} variables for {len(types)} values", statement.pos, "one variable each"
            )
        made = set(assigned)
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
            made.add(target.name)
        return made

    # Expressions

    def expression(self, expression: Expression, assigned: set[str]) -> list[Type]:
        if isinstance(expression, Use):
            return [self.operand(expression.operand, assigned)]
        if isinstance(expression, CheckCast):
            given = self.expression(expression.value, assigned)
            if len(given) != 1:
                raise self.error("check_cast of several values", expression.pos, "one value")
            if not accepts(expression.type, given[0]) and not accepts(given[0], expression.type):
                raise self.error(f"a {given[0]} is never {expression.type}", expression.pos, str(given[0]))
            return [merge(expression.type, given[0])]
        assert isinstance(expression, Call)
        return self.call(expression, assigned)

    def call(self, call: Call, assigned: set[str]) -> list[Type]:
        types: list[Type] = []
        for argument in call.arguments:
            if isinstance(argument, FunctionRef):
                self.resolve(argument)
                if not call.function.name.startswith("each"):
                    raise self.error(f"@{argument.name} is no value", argument.pos, "a variable or a literal")
                types.append(WILDCARD)
            else:
                types.append(self.operand(argument, assigned))
        own = self.functions.get(call.function.name)
        if own is not None and call.function.module in ("", self.module.name):
            return self.call_own(call, own, types)
        self.resolve(call.function)
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
        return function.returns

    def resolve(self, function: FunctionRef) -> None:
        known = function.name in BUILTINS
        if function.module == BUILTIN_MODULE and known:
            return
        if function.module == "" and function.name in self.imported:
            return
        if function.name in self.functions and function.module in ("", self.module.name):
            return
        hint = f"'import {BUILTIN_MODULE}.*;'" if known else "a function of this module or an imported builtin"
        where = f"{function.module}." if function.module else ""
        raise self.error(f"there is no function @{where}{function.name}", function.pos, hint)

    def operand(self, operand: Operand, assigned: set[str]) -> Type:
        if isinstance(operand, Literal):
            return operand.type
        if isinstance(operand, FunctionRef):
            raise self.error(f"@{operand.name} is no value", operand.pos, "a variable or a literal")
        assert isinstance(operand, Name)
        type = self.types.get(operand.name)
        if type is None:
            raise self.error(f"'{operand.name}' is not declared", operand.pos, "a variable")
        if operand.name not in assigned:
            raise self.error(f"'{operand.name}' is not assigned on every path to here", operand.pos)
        return type


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


def _always_returns(body: list[Statement]) -> bool:
    for statement in body:
        if isinstance(statement, Return):
            return True
        if isinstance(statement, If) and _always_returns(statement.then) and _always_returns(statement.otherwise):
            return True
    return False
