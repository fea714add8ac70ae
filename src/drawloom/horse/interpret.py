"""Runs HorseIR over NumPy values: the oracle of the compiled program, and its control code.

With a kernel hook, calls of ``kernel`` functions go to the device; without one they are interpreted like any other.
With a library hook, so do calls of library functions that have kernels.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from drawloom.errors import DataError
from drawloom.horse.blocks import go_on
from drawloom.horse.compound import check_types, has_type
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
    Return,
    Statement,
    Use,
)
from drawloom.horse.library import EVALUATE, FunctionValue, call
from drawloom.horse.liveness import done_with
from drawloom.horse.signatures import READS_COLUMN
from drawloom.horse.symbols import refused_data
from drawloom.horse.types import BOOL, I64, VectorType
from drawloom.horse.values import Source, TableValue, Value, Vector, as_vector, from_values, only_text, type_name
from drawloom.horse.watch import Watch

#: What a kernel returns; None where the interpreter is to run it.
KernelHook = Callable[[Function, list[Value]], list[Value] | None]
#: What a library function gives; None where the interpreter is to evaluate it.
LibraryHook = Callable[[str, list[Value]], Value | None]

#: Calls of functions that may be open at a time, and the frames of Python that they may take.
MAX_CALLS: Final = 1000
_MAX_FRAMES: Final = 40_000


def run(
    module: Module,
    sources: Mapping[str, Source],
    arguments: list[Value] | None = None,
    kernel: KernelHook | None = None,
    library: LibraryHook | None = None,
    watch: Watch | None = None,
) -> list[Value]:
    """What ``main`` of a checked module returns. ``sources`` are the tables that ``@load_table`` finds.

    Raises DataError: an unknown table or column, an overflow, lengths that do not go together, endless recursion.
    """
    main = module.function("main")
    if main is None:
        raise DataError(f"module {module.name} has no function 'main'")
    limit = sys.getrecursionlimit()
    try:
        return Interpreter(module, sources, kernel, library, watch).function(main, arguments or [])
    finally:
        sys.setrecursionlimit(limit)


class Interpreter:
    def __init__(
        self,
        module: Module,
        sources: Mapping[str, Source],
        kernel: KernelHook | None = None,
        library: LibraryHook | None = None,
        watch: Watch | None = None,
    ) -> None:
        self.module = module
        self.sources = sources
        self.kernel = kernel
        self.library = library
        self.watch = watch
        #: Calls that are open, and for each function what its statements are the last to need.
        self.calls = 0
        self.done_with: dict[Function, dict[Statement, list[str]]] = {}

    def function(self, function: Function, arguments: list[Value]) -> list[Value]:
        self.calls += 1
        if self.calls > MAX_CALLS:
            raise DataError(f"@{function.name}: more than {MAX_CALLS} calls of functions inside each other")
        if self.calls == 2:
            sys.setrecursionlimit(max(sys.getrecursionlimit(), _MAX_FRAMES))
        done = self.done_with.get(function)
        if done is None:
            done = self.done_with[function] = done_with(function)
        frame = _Frame(self, done)
        if len(arguments) != len(function.params):
            raise DataError(f"@{function.name} is given {len(arguments)} arguments for {len(function.params)}")
        for param, value in zip(function.params, arguments):
            if not has_type(value, param.type):
                raise DataError(f"@{function.name}: '{param.name}' is {param.type} and is given {given_type(value)}")
            frame.values[param.name] = value
        frame.block(function.body)
        self.calls -= 1
        return frame.returned or []

    def load_table(self, name: str) -> TableValue:
        source = self.sources.get(name)
        if source is None:
            raise DataError(f"there is no table '{name}'")
        return TableValue(source.column_names(), [], source)


def given_type(value: Value) -> str:
    return str(value.type) if isinstance(value, Vector) else type_name(value)


class _Frame:
    """One activation of a function."""

    def __init__(self, owner: Interpreter, done_with: dict[Statement, list[str]]) -> None:
        self.owner = owner
        self.done_with = done_with
        self.values: dict[str, Value] = {}
        self.returned: list[Value] | None = None

    def block(self, body: list[Statement]) -> str:
        """Runs until the end ("") or until "break", "continue" or "return".

        Values that nothing reads any more are given up, and so is their memory.
        """
        for statement in body:
            try:
                stop = self.statement(statement)
            except DataError as problem:
                raise refused_data(self.owner.module, problem, statement.pos) from None
            if stop:
                return stop
            for name in self.done_with[statement]:
                self.values.pop(name, None)
        return ""

    def statement(self, statement: Statement) -> str:
        go_on()
        watch = self.owner.watch
        if watch is not None:
            watch.begin_statement(statement)
        if isinstance(statement, Assign):
            results = self.expression(statement.value)
            for target, value in zip(statement.targets, results):
                self.values[target.name] = value
            return ""
        if isinstance(statement, Evaluate):
            self.expression(statement.value)
            return ""
        if isinstance(statement, Return):
            self.returned = [self.operand(v) for v in statement.values]
            return "return"
        if isinstance(statement, If):
            return self.block(statement.then if self.truth(statement.condition) else statement.otherwise)
        if isinstance(statement, Jump):
            return statement.kind
        assert isinstance(statement, Loop)
        return self.loop(statement)

    def loop(self, loop: Loop) -> str:
        left = -1 if loop.kind == "while" else self.count(loop.condition)
        while left > 0 or (loop.kind == "while" and self.truth(loop.condition)):
            left -= 1
            stop = self.block(loop.body)
            if stop == "break":
                return ""
            if stop == "return":
                return stop
        return ""

    def count(self, operand: Operand) -> int:
        count = as_vector(self.operand(operand))
        if count.type != I64 or len(count) != 1:
            raise DataError(f"a repeat by {len(count)} values of type {count.type}: one i64 was expected")
        return int(count.data[0])

    def truth(self, operand: Operand) -> bool:
        condition = as_vector(self.operand(operand))
        if condition.type != BOOL or len(condition) != 1:
            raise DataError(f"a condition of {len(condition)} values of type {condition.type}: one bool was expected")
        return bool(condition.data[0])

    def expression(self, expression: Expression) -> list[Value]:
        if isinstance(expression, Use):
            return [self.operand(expression.operand)]
        if isinstance(expression, CheckCast):
            (value,) = self.expression(expression.value)
            if not has_type(value, expression.type):
                raise DataError(f"check_cast to {expression.type} of a value of type {given_type(value)}")
            return [value]
        assert isinstance(expression, Call)
        return self.call(expression)

    def call(self, expression: Call) -> list[Value]:
        name = expression.function.name
        own = self.owner.module.function(name)
        arguments = [self.operand(a) for a in expression.arguments]
        if expression.is_open and own is None:
            check_types(expression, arguments)
        watch = self.owner.watch
        if watch is None:
            return self.value(name, own, arguments)
        watch.begin(expression, own, arguments)
        results = self.value(name, own, arguments)
        watch.end(results)
        return results

    def value(self, name: str, own: Function | None, arguments: list[Value]) -> list[Value]:
        if own is not None:
            done = self.owner.kernel(own, arguments) if own.is_kernel and self.owner.kernel is not None else None
            return done if done is not None else self.owner.function(own, arguments)
        if name == "load_table":
            return [self.owner.load_table(only_text(name, arguments[0]))]
        if name in READS_COLUMN:
            return [self.column(name, arguments)]
        assert name in EVALUATE, f"@{name} has no evaluation"
        by_kernels = None if self.owner.library is None else self.owner.library(name, arguments)
        return [call(name, arguments) if by_kernels is None else by_kernels]

    def column(self, name: str, arguments: list[Value]) -> Value:
        table, wanted = arguments[0], only_text(name, arguments[1])
        if not isinstance(table, TableValue):
            raise DataError(f"@{name} of something that is no table")
        if table.source is None:
            if wanted not in table.names:
                raise DataError(f"the table has no column '{wanted}'")
            return table.columns[table.names.index(wanted)]
        column = table.source.column(wanted)
        if name == "column_value":
            return column.vector
        valid = column.valid
        if valid is None:
            return Vector(BOOL, np.ones(len(column.vector), dtype=bool))
        return Vector(BOOL, valid, padded=column.padded_valid)

    def operand(self, operand: Operand) -> Value:
        if isinstance(operand, Name):
            return self.values[operand.name]
        if isinstance(operand, FunctionRef):
            return FunctionValue(operand.name)
        assert isinstance(operand, Literal)
        assert isinstance(operand.type, VectorType)
        return from_values(operand.values, operand.type)
