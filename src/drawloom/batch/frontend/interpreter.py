"""The first oracle: the syntax tree of a kernel run in lockstep on NumPy arrays, groups side by side.

A value is an array of shape (groups, work-items), a private array (elements, groups, work-items), a local variable
(elements, groups). This file shares nothing with the passes that lower kernels to InfReg-IR.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from drawloom.batch import numbers
from drawloom.batch.frontend.source import Position
from drawloom.batch.frontend.syntax import (
    Assign,
    Binary,
    Block,
    Break,
    Call,
    Cast,
    Conditional,
    Constant,
    Continue,
    Declare,
    Effect,
    Element,
    Evaluate,
    Expression,
    Identity,
    If,
    Invoke,
    Kernel,
    Load,
    Logical,
    Loop,
    Read,
    Return,
    ScalarParameter,
    Shuffle,
    Statement,
    Switch,
    Unary,
    Variable,
)
from drawloom.batch.types import ULONG
from drawloom.errors import KernelFault, LaunchError

Array = NDArray[Any]

MOST_TURNS: Final = 1_000_000


def interpret(
    kernel: Kernel, groups: int, arguments: Mapping[str, Any], *, first_group: int = 0, contract: bool = False
) -> None:
    """Run a kernel on flat NumPy arrays, which are written in place.

    Args:
        kernel: What `parse_file` returned.
        groups: How many work-groups run.
        arguments: A flat array for each pointer parameter, a number for each other one.
        first_group: The id of the first group.
        contract: Round a product and the sum that takes it once, as the compiled kernels do.

    Raises:
        LaunchError: An argument is missing or has another type than its parameter.
        KernelFault: An access outside of an array, or a loop without end; the error names the line.
    """
    for parameter in kernel.parameters:
        if parameter.name not in arguments:
            raise LaunchError(f"the argument {parameter.name} is missing", kernel.name)
        value = arguments[parameter.name]
        if parameter.is_pointer and (value.dtype != parameter.type.dtype or value.ndim != 1):
            raise LaunchError(
                f"the argument {parameter.name} is a {value.ndim}-dimensional array of {value.dtype}\n"
                f"  expected a flat array of {parameter.type.dtype}", kernel.name
            )  # fmt: skip
    run = Interpreter(kernel, groups, first_group, arguments, contract)
    run.execute(kernel.body, np.ones((groups, kernel.wg_size), bool))


class Interpreter:
    """The state of some groups: variables and memory."""

    def __init__(
        self, kernel: Kernel, groups: int, first_group: int, arguments: Mapping[str, Any], contract: bool
    ) -> None:
        self.kernel = kernel
        self.arguments = arguments
        self.contract = contract
        self.shape = (groups, kernel.wg_size)
        self.group_id = np.broadcast_to(np.arange(first_group, first_group + groups)[:, None], self.shape)
        self.local_id = np.broadcast_to(np.arange(kernel.wg_size)[None, :], self.shape)
        self.variables: dict[Variable, Array] = {}
        #: The items that have returned from the function that runs, left its innermost loop or switch, or left the
        #: loop's turn.
        self.returned, self.broken, self.continued = self.no_items(), self.no_items(), self.no_items()

    def no_items(self) -> Array:
        return np.zeros(self.shape, bool)

    def fault(self, message: str, position: Position) -> KernelFault:
        file, line = self.kernel.source.at(position)
        return KernelFault(message, self.kernel.name, file, position.line, line)

    # Statements.

    def execute(self, statement: Statement, mask: Array) -> None:
        match statement:
            case Block(_, statements):
                for child in statements:
                    self.execute(child, mask & ~(self.returned | self.broken | self.continued))
            case Declare(_, variable, initial):
                self.declare(variable)
                if initial is not None:
                    value = self.evaluate(initial, mask)
                    self.variables[variable][0] = value
            case Return():
                self.returned |= mask
            case Break():
                self.broken |= mask
            case Continue():
                self.continued |= mask
            case Assign(_, target, value):
                self.assign(target, self.evaluate(value, mask), mask)
            case Evaluate(_, value):
                self.evaluate(value, mask)
            case If(_, condition, then, otherwise):
                holds = self.evaluate(condition, mask)
                self.execute(then, mask & holds)
                if otherwise is not None:
                    self.execute(otherwise, mask & ~holds)
            case Switch(_, body):
                outer, self.broken = self.broken, self.no_items()
                self.execute(body, mask)
                self.broken = outer
            case Loop():
                self.loop(statement, mask)
            case _:
                raise AssertionError(statement)

    def declare(self, variable: Variable) -> None:
        """Begin a variable's life. A scope may be entered again by some of the items; the others have left it."""
        extent = max(variable.extent, 1)
        shape = (extent, self.shape[0]) if variable.is_local else (extent, *self.shape)
        if variable.is_local and variable in self.variables:
            return  # the group's variable exists once, however often its declaration is passed
        self.variables[variable] = np.zeros(shape, variable.type.dtype)
        if variable.values is not None:
            self.variables[variable][:] = variable.values[:, None]

    def loop(self, loop: Loop, mask: Array) -> None:
        if loop.first is not None:
            self.execute(loop.first, mask)
        outer = self.broken, self.continued
        self.broken, self.continued = self.no_items(), self.no_items()
        self.run_turns(loop, mask)
        self.broken, self.continued = outer

    def run_turns(self, loop: Loop, active: Array) -> None:
        turns = 0
        while True:
            if loop.tests_first or turns:
                active = active & self.evaluate(loop.condition, active)
            if not active.any():
                return
            self.execute(loop.body, active)
            active = active & ~(self.returned | self.broken)
            self.continued = self.no_items()
            self.step(loop, active)
            turns += 1
            if turns > MOST_TURNS:
                raise self.fault(f"this loop has not ended after {MOST_TURNS:,} turns", loop.position)

    def step(self, loop: Loop, active: Array) -> None:
        if loop.step is None:
            return
        if not loop.counts_for_all:
            self.execute(loop.step, active)
            return
        # `shuffle` reads the counter in masked items, among which are those that left.
        outer = self.returned, self.broken
        self.returned, self.broken = self.no_items(), self.no_items()
        self.execute(loop.step, np.ones(self.shape, bool))
        self.returned, self.broken = outer

    def assign(self, target: Read | Element | Load, value: Array, mask: Array) -> None:
        if isinstance(target, Load):
            index = self.memory_index(target, mask)
            memory = self.arguments[target.pointer.name]
            memory[index[mask]] = value[mask]  # NumPy keeps the last of equal indices: the highest item's
            return
        variable = target.variable
        index = np.zeros(self.shape, np.int64)
        if isinstance(target, Element):
            index = self.element_index(target, mask)
        storage = self.variables[variable]
        if variable.is_local:
            group = np.broadcast_to(np.arange(self.shape[0])[:, None], self.shape)
            storage[index[mask], group[mask]] = value[mask]
        else:
            group, item = np.nonzero(mask)
            storage[index[mask], group, item] = value[mask]

    # Expressions.

    def evaluate(self, expression: Expression, mask: Array) -> Array:
        """Return a value of every item; loads happen in the items of the mask only."""
        match expression:
            case Constant(_, _, value):
                return np.full(self.shape, value)
            case Read(_, _, variable):
                return self.everywhere(variable, self.variables[variable][0].copy())
            case Element():
                return self.read_element(expression, mask)
            case Load():
                return self.read_memory(expression, mask)
            case ScalarParameter(type, _, parameter):
                return np.full(self.shape, self.arguments[parameter.name], type.dtype)
            case Identity(_, _, name):
                return self.identity(name)
            case Cast(type, _, operand):
                return numbers.convert(self.evaluate(operand, mask), type)
            case Unary(_, _, op, operand):
                inner = self.evaluate(operand, mask)
                return numbers.negate(inner) if op == "-" else np.invert(inner)
            case Logical(_, _, op, left, right):
                first = self.evaluate(left, mask)
                decides = mask & (first if op == "&&" else ~first)
                second = self.evaluate(right, decides)
                return first & second if op == "&&" else first | second
            case Conditional(_, _, condition, then, otherwise):
                holds = self.evaluate(condition, mask)
                return np.where(holds, self.evaluate(then, mask & holds), self.evaluate(otherwise, mask & ~holds))
            case Binary():
                return self.binary(expression, mask)
            case Call(_, _, name, arguments):
                return numbers.call(name, [self.evaluate(argument, mask) for argument in arguments])
            case Shuffle(_, _, value, lane):
                shuffled = self.evaluate(value, mask)
                source = self.evaluate(lane, mask).astype(np.int64) % self.kernel.wg_size
                return np.take_along_axis(shuffled, source, axis=1)
            case Invoke():
                return self.invoke(expression, mask)
            case Effect(_, _, statements, value):
                for statement in statements:
                    self.execute(statement, mask)
                return self.evaluate(value, mask)
            case _:
                raise AssertionError(expression)

    def binary(self, expression: Binary, mask: Array) -> Array:
        left, right, op = expression.left, expression.right, expression.op
        if self.contract and expression.type.is_float and op in "+-":
            if is_product(left):
                one, two = self.factors(left, mask)
                addend = self.evaluate(right, mask)
                return numbers.call("fma", [one, two, addend if op == "+" else numbers.negate(addend)])
            if is_product(right):
                addend = self.evaluate(left, mask)
                one, two = self.factors(right, mask)
                return numbers.call("fma", [one if op == "+" else numbers.negate(one), two, addend])
        first = self.evaluate(left, mask)
        return numbers.binary(op, first, self.evaluate(right, mask))

    def factors(self, product: Expression, mask: Array) -> tuple[Array, Array]:
        assert isinstance(product, Binary)
        left = self.evaluate(product.left, mask)
        return left, self.evaluate(product.right, mask)

    def invoke(self, call: Invoke, mask: Array) -> Array:
        """Call a function. Arguments reach every item; the result is 0 where the mask does not hold."""
        function = call.function
        arguments = [self.evaluate(argument, mask) for argument in call.arguments]
        for target in (*function.parameters, *function.results):
            self.declare(target.variable)
        for target, value in zip(function.parameters, arguments):
            if isinstance(target, Read):
                self.variables[target.variable][0] = value
            else:
                self.assign(target, value, mask)
        outer, self.returned = self.returned, self.no_items()
        self.execute(function.body, mask)
        self.returned = outer
        return np.zeros(self.shape, bool) if call.result is None else self.evaluate(call.result, mask)

    def identity(self, name: str) -> Array:
        if name == "get_local_id":
            return self.local_id.astype(ULONG.dtype)
        if name == "get_group_id":
            return self.group_id.astype(ULONG.dtype)
        return (self.group_id * self.kernel.wg_size + self.local_id).astype(ULONG.dtype)

    def everywhere(self, variable: Variable, value: Array) -> Array:
        return np.broadcast_to(value[:, None], self.shape) if variable.is_local else value

    def read_element(self, element: Element, mask: Array) -> Array:
        storage = self.variables[element.variable]
        index = self.element_index(element, mask)
        group, item = np.indices(self.shape)
        return np.asarray(storage[index, group] if element.variable.is_local else storage[index, group, item])

    def element_index(self, element: Element, mask: Array) -> Array:
        """Return the index of every item; 0 where a masked one is out of range."""
        index = self.evaluate(element.index, mask).astype(np.int64)
        outside = (index < 0) | (index >= element.variable.extent)
        if (outside & mask).any():
            worst = int(index[outside & mask][0])
            name, extent = element.variable.name, element.variable.extent
            raise self.fault(f"index {worst} is out of range for {name}[{extent}]", element.position)
        return np.where(outside, 0, index)

    def read_memory(self, load: Load, mask: Array) -> Array:
        index = self.memory_index(load, mask)
        result = np.zeros(self.shape, load.type.dtype)
        result[mask] = self.arguments[load.pointer.name][index[mask]]
        return result

    def memory_index(self, load: Load, mask: Array) -> Array:
        index = self.evaluate(load.index, mask).astype(np.int64)
        size = len(self.arguments[load.pointer.name])
        outside = mask & ((index < 0) | (index >= size))
        if outside.any():
            raise self.fault(
                f"index {int(index[outside][0])} is out of range for {load.pointer.name}, an array of {size} elements",
                load.position,
            )
        return index


def is_product(expression: Expression) -> bool:
    return isinstance(expression, Binary) and expression.op == "*"
