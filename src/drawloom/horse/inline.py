"""Calls of straight-line functions in ``main`` to their bodies, so that the outliner sees through them.

A function, ``def`` or ``kernel``, is inlined where its body is assignments and one return; its variables become
``function_n_variable``, n counting the calls. What has control flow of its own stays a call.
"""

from __future__ import annotations

from drawloom.horse.ir import (
    Assign,
    Call,
    CheckCast,
    Evaluate,
    Expression,
    Function,
    FunctionRef,
    If,
    Literal,
    Loop,
    Module,
    Name,
    Operand,
    Return,
    Statement,
    Target,
    Use,
    walk,
    with_bodies,
)
from drawloom.horse.shapes import is_straight


def inline(module: Module) -> Module:
    """The checked module with such calls of ``main`` inlined, also those in what was inlined."""
    main = module.function("main")
    own = {f.name: f for f in module.functions if f is not main and is_straight(f.body)}
    if main is None or not own:
        return module
    inliner = _Inliner(module, own, main)
    body = inliner.block(main.body)
    if inliner.calls == 0:
        return module
    made = Function("main", main.params, main.returns, body, main.is_kernel, main.pos)
    return module.with_functions([made if f is main else f for f in module.functions])


class _Inliner:
    def __init__(self, module: Module, own: dict[str, Function], main: Function) -> None:
        self.module = module
        self.own = own
        self.calls = 0
        #: Functions that are being inlined: one that calls itself is not inlined again.
        self.open: list[str] = []
        self.taken = {t.name for s in walk(main.body) if isinstance(s, Assign) for t in s.targets}

    def block(self, body: list[Statement]) -> list[Statement]:
        made: list[Statement] = []
        for statement in body:
            if isinstance(statement, If | Loop):
                made.append(with_bodies(statement, self.block))
            elif isinstance(statement, Assign | Evaluate) and isinstance(statement.value, Call):
                targets = statement.targets if isinstance(statement, Assign) else []
                made.extend(self.call(statement, targets, statement.value))
            else:
                made.append(statement)
        return made

    def call(self, statement: Statement, targets: list[Target], call: Call) -> list[Statement]:
        function = self.own.get(call.function.name)
        is_own = call.function.module in ("", self.module.name)
        if function is None or not is_own or function.name in self.open:
            return [statement]
        body = function.body[:-1]
        last = function.body[-1]
        assert isinstance(last, Return)
        prefix = self.prefix(function, body)
        written = [t.name for s in body if isinstance(s, Assign) for t in s.targets]
        renamed: dict[str, Operand] = {name: Name(prefix + name) for name in written}
        made: list[Statement] = []
        for param, argument in zip(function.params, call.arguments):
            if param.name in renamed:  # the body assigns to it
                made.append(Assign([Target(prefix + param.name, param.type)], Use(argument)))
            else:
                renamed[param.name] = argument
        # A result is written straight to its variable, unless the arguments or another result are in the way.
        given = {a.name for a in call.arguments if isinstance(a, Name)}
        results = [v.name for v in last.values if isinstance(v, Name)]
        copies: list[Statement] = []
        for target, value in zip(targets, last.values):
            is_own_name = isinstance(value, Name) and results.count(value.name) == 1 and written.count(value.name) == 1
            if isinstance(value, Name) and is_own_name and target.name not in given and target.type is not None:
                renamed[value.name] = Name(target.name)
            else:
                copies.append(Assign([target], Use(_renamed(value, renamed))))
        self.open.append(function.name)
        made.extend(self.block([_statement(s, renamed) for s in body]))
        self.open.pop()
        return [*made, *copies]

    def prefix(self, function: Function, body: list[Statement]) -> str:
        """What the function's variables begin with in this call, so that no other variable is called so."""
        names = {t.name for s in body if isinstance(s, Assign) for t in s.targets}
        names.update([p.name for p in function.params])
        while True:
            prefix = f"{function.name}_{self.calls}_"
            self.calls += 1
            if not any(prefix + name in self.taken for name in names):
                self.taken.update([prefix + name for name in names])
                return prefix


def _statement(statement: Statement, renamed: dict[str, Operand]) -> Assign:
    assert isinstance(statement, Assign)
    targets: list[Target] = []
    for target in statement.targets:
        name = renamed[target.name]
        assert isinstance(name, Name)
        targets.append(Target(name.name, target.type, target.pos))
    return Assign(targets, _expression(statement.value, renamed), statement.pos)


def _expression(expression: Expression, renamed: dict[str, Operand]) -> Expression:
    if isinstance(expression, CheckCast):
        return CheckCast(_expression(expression.value, renamed), expression.type, expression.pos)
    if isinstance(expression, Use):
        return Use(_renamed(expression.operand, renamed), expression.pos)
    assert isinstance(expression, Call)
    return Call(expression.function, [_renamed(a, renamed) for a in expression.arguments], expression.pos)


def _renamed(operand: Operand, renamed: dict[str, Operand]) -> Operand:
    if isinstance(operand, Literal | FunctionRef):
        return operand
    assert isinstance(operand, Name)
    return renamed[operand.name]
