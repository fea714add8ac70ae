"""Checks calls: the callee exists and is no kernel, and arguments and results match its signature or prototype."""

from __future__ import annotations

from drawloom.ptx.ir import (
    Arguments,
    CallPrototype,
    CallTargets,
    Function,
    Immediate,
    Instruction,
    LabelRef,
    Operand,
    Register,
    Sink,
    Statement,
    Symbol,
    Variable,
)
from drawloom.ptx.report import Reporter
from drawloom.ptx.types import Type


class CallChecker:
    """The calls of one function. ``declared`` has the functions that were declared before it, and itself; ``tables``
    its prototypes and target lists by name; ``params`` its .param variables."""

    def __init__(
        self,
        declared: dict[str, Function],
        function: Function,
        tables: dict[str, Statement],
        params: dict[str, Variable],
        reporter: Reporter,
    ) -> None:
        self.declared = declared
        self.function = function
        self.tables = tables
        self.params = params
        self.reporter = reporter

    def check(self, statement: Instruction) -> None:
        """Report what is wrong with one ``call`` (whose operands have the right kinds already)."""
        operands = statement.operands
        results, callee, arguments = operands[0], operands[1], operands[2]
        if not isinstance(results, Arguments) or not isinstance(arguments, Arguments):
            return
        table = operands[3] if len(operands) > 3 else None
        if isinstance(callee, Symbol):
            function = self.declared.get(callee.name)
            if function is None:
                self.fail(statement, f"undefined function '{callee.name}'", "a function that is declared before")
            elif function.is_entry:
                self.fail(statement, f"'{callee.name}' is a kernel", "a .func: kernels cannot be called")
            elif table is not None:
                self.fail(statement, f"'{callee.name}' is called directly with a prototype", "no fourth operand")
            else:
                self.match(statement, f"'{callee.name}'", function.returns, function.params, results, arguments)
            return
        if not isinstance(table, LabelRef):
            self.fail(statement, "an indirect call has no prototype", "a .callprototype or .calltargets before it")
            return
        target = self.tables.get(table.name)
        if isinstance(target, CallPrototype):
            self.match(statement, f"prototype '{table.name}'", target.returns, target.params, results, arguments)
        elif isinstance(target, CallTargets):
            for name in target.functions:
                function = self.declared.get(name)
                if function is not None:
                    self.match(statement, f"'{name}'", function.returns, function.params, results, arguments)
        else:
            self.fail(statement, f"'{table.name}' is undefined", "a .callprototype or .calltargets before it")

    def match(
        self,
        statement: Instruction,
        what: str,
        returns: list[Variable],
        params: list[Variable],
        results: Arguments,
        arguments: Arguments,
    ) -> None:
        if len(results.elements) != len(returns):
            self.fail(statement, f"{what} returns {len(returns)} values", f"{len(returns)} results")
            return
        if len(arguments.elements) != len(params):
            self.fail(
                statement,
                f"{what} takes {len(params)} arguments, {len(arguments.elements)} given",
                f"{len(params)} arguments",
            )
            return
        for formal, actual in zip(returns, results.elements):
            self.pass_one(statement, what, formal, actual, True)
        for formal, actual in zip(params, arguments.elements):
            self.pass_one(statement, what, formal, actual, False)

    def pass_one(self, statement: Instruction, what: str, formal: Variable, actual: Operand, is_result: bool) -> None:
        word = "result" if is_result else "argument"
        if isinstance(actual, Sink) and is_result:
            return
        if isinstance(actual, Symbol):
            variable = self.params.get(actual.name)
            if variable is None:
                self.fail(statement, f"{word} '{actual.name}' is no .param variable", "a .param variable or a register")
            elif variable.size != formal.size:
                self.fail(
                    statement,
                    f"{word} '{actual.name}' has {variable.size} bytes, {what} has {formal.size} for '{formal.name}'",
                    f"a .param variable of {formal.size} bytes",
                )
            return
        if isinstance(actual, Register):
            if not _agrees(actual.type, formal.type) or formal.shape:
                self.fail(
                    statement,
                    f"{word} {actual.name} is a .{actual.type.name} register, {what} has .{formal.type.name}",
                    f"a register of {formal.type.bits} bits",
                )
            return
        if isinstance(actual, Immediate) and not is_result:
            return
        self.fail(statement, f"{word} {actual!r} cannot be passed", "a .param variable, a register or a constant")

    def fail(self, statement: Instruction, message: str, expected: str) -> None:
        self.reporter.instruction(self.function, statement, -1, message, expected)


def _agrees(held: Type, formal: Type) -> bool:
    if held.bits != formal.bits:
        return False
    return "b" in (held.kind, formal.kind) or held.is_float == formal.is_float
