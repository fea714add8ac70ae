"""What a user function computes, in NumPy, for many arguments at once.

Arguments are arrays of one shape up to broadcasting, the *batch*; a vector has one more axis, its components, and a
tuple is a Python tuple. Control flow works as on a GPU: a mask says which elements of the batch take part, and
assignments of the others keep the old value.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from drawloom.errors import DataError
from drawloom.lift.language.types import ScalarType, TupleType, Type, VectorType
from drawloom.lift.language.user_functions.builtins import BUILTINS
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

Array = npt.NDArray[Any]
Value = Any  # Array | tuple[Value, ...]: a recursive alias that mypyc would not take

#: Rounds of all loops of a call, after which the call is taken to be endless: some 5 seconds.
MOST_ROUNDS: Final = 300_000


def run_function(function: FunctionTree, arguments: list[Value], batch: int) -> Value:
    """Apply a checked user function to batches of arguments.

    Args:
        function: A tree from `check_function`.
        arguments: Arrays with ``batch`` axes, one more for a vector, and tuples of such.
        batch: The number of batch axes.

    Returns:
        The results, in the same form, with the shape that the arguments broadcast to.

    Raises:
        DataError: An integer is divided by zero, or a loop does not end.
    """
    with np.errstate(all="ignore"):
        return Run(function, arguments, batch).run()


class Run:
    """One call: the variables, and which elements of the batch are where in the control flow."""

    def __init__(self, function: FunctionTree, arguments: list[Value], batch: int) -> None:
        self.function = function
        self.batch = batch
        self.shape = batch_shape(arguments, batch)
        self.scopes: list[dict[str, Value]] = [
            {name: value for (name, _), value in zip(function.parameters, arguments)}
        ]
        self.result: Value = None
        self.returned: Array = np.zeros(self.shape, bool)
        self.broken: list[Array] = []
        self.continued: list[Array] = []
        self.rounds = 0  # of all loops

    def run(self) -> Value:
        body = self.function.body
        if isinstance(body[0], Return):
            return self.evaluate(body[0].value, None)  # without control flow nothing is masked
        if 0 in self.shape:
            return empty_value(self.function.result, self.shape)  # no statement runs for no element
        self.block(body, np.ones(self.shape, bool))
        return self.result

    # Statements

    def block(self, statements: list[Statement], mask: Array) -> None:
        self.scopes.append({})
        for statement in statements:
            active = self.remaining(mask)
            if not active.any():
                break
            self.statement(statement, active)
        self.scopes.pop()

    def remaining(self, mask: Array) -> Array:
        """Take away what has returned, and what has left the round of the innermost loop."""
        mask = mask & ~self.returned
        if self.broken:
            mask = mask & ~self.broken[-1] & ~self.continued[-1]
        return mask

    def statement(self, statement: Statement, mask: Array) -> None:
        if isinstance(statement, Declare):
            self.scopes[-1][statement.name] = self.evaluate(statement.value, mask)
        elif isinstance(statement, Assign):
            self.assign(statement.place, self.evaluate(statement.value, mask), mask)
        elif isinstance(statement, If):
            condition = self.evaluate(statement.condition, mask)
            self.block(statement.then, mask & condition)
            self.block(statement.otherwise, mask & ~condition)
        elif isinstance(statement, Loop):
            self.loop(statement, mask)
        elif isinstance(statement, Return):
            value = self.evaluate(statement.value, mask)
            self.result = value if self.result is None else self.merge(mask, value, self.result)
            self.returned = self.returned | mask
        elif isinstance(statement, Jump):
            left = self.broken if statement.kind == "break" else self.continued
            left[-1] = left[-1] | mask
        else:
            assert isinstance(statement, Block)
            self.block(statement.body, mask)

    def loop(self, loop: Loop, mask: Array) -> None:
        self.scopes.append({})
        for statement in loop.first:
            self.statement(statement, mask)
        self.broken.append(np.zeros(self.shape, bool))
        while True:
            self.continued.append(np.zeros(self.shape, bool))
            active = self.remaining(mask)
            active = active & self.evaluate(loop.condition, active)
            if not active.any():
                break
            mask = active
            self.block(loop.body, mask)
            self.continued.pop()
            self.continued.append(np.zeros(self.shape, bool))
            for statement in loop.step:
                self.statement(statement, self.remaining(mask))
            self.continued.pop()
            self.rounds += 1
            if self.rounds > MOST_ROUNDS:
                raise DataError(
                    f"function {self.function.name}: its loops have not ended after {MOST_ROUNDS:,} rounds\n"
                    "  a compiled kernel has no such limit"
                )
        self.continued.pop()
        self.broken.pop()
        self.scopes.pop()

    def assign(self, place: Tree, value: Value, mask: Array) -> None:
        if isinstance(place, Variable):
            for scope in reversed(self.scopes):
                if place.name in scope:
                    scope[place.name] = self.merge(mask, value, scope[place.name])
                    return
        assert isinstance(place, Select)
        old = self.evaluate(place.operand, mask)
        if isinstance(place.operand.type, TupleType):
            parts = list(old)
            parts[place.indices[0]] = value
            new: Value = tuple(parts)
        else:
            new = np.broadcast_to(old, (*self.shape, old.shape[-1])).copy()
            if isinstance(place.type, VectorType):
                new[..., list(place.indices)] = value
            else:
                new[..., place.indices[0]] = value
        self.assign(place.operand, new, mask)

    def merge(self, mask: Array, new: Value, old: Value) -> Value:
        """Choose the new value where the mask is set."""
        if isinstance(new, tuple):
            return tuple([self.merge(mask, one, other) for one, other in zip(new, old)])
        if new.ndim > self.batch:
            mask = mask[..., np.newaxis]
        return np.where(mask, new, old)

    # Expressions

    def evaluate(self, tree: Tree, mask: Array | None) -> Value:
        if isinstance(tree, Variable):
            for scope in reversed(self.scopes):
                if tree.name in scope:
                    return scope[tree.name]
        if isinstance(tree, Number):
            assert isinstance(tree.type, ScalarType)
            return np.full((1,) * self.batch, tree.value, tree.type.dtype)
        if isinstance(tree, Unary):
            return self.unary(tree, mask)
        if isinstance(tree, Binary):
            return self.binary(tree, mask)
        if isinstance(tree, Conditional):
            everything = np.ones(self.shape, bool) if mask is None else mask
            condition = np.broadcast_to(self.evaluate(tree.condition, mask), self.shape)
            then = self.evaluate(tree.then, everything & condition)
            return self.merge(condition, then, self.evaluate(tree.otherwise, everything & ~condition))
        if isinstance(tree, BuiltinCall):
            arguments = [self.evaluate(argument, mask) for argument in tree.arguments]
            return np.asarray(BUILTINS[tree.name].meaning(*arguments)).astype(dtype_of(tree.type), copy=False)
        if isinstance(tree, Cast):
            return self.cast(tree, mask)
        if isinstance(tree, MakeVector):
            parts = [
                part if part.ndim > self.batch else part[..., np.newaxis]
                for part in [self.evaluate(part, mask) for part in tree.parts]
            ]
            shape = np.broadcast_shapes(*[part.shape[:-1] for part in parts])
            return np.concatenate([np.broadcast_to(part, (*shape, part.shape[-1])) for part in parts], axis=-1)
        if isinstance(tree, MakeTuple):
            return tuple([self.evaluate(part, mask) for part in tree.parts])
        assert isinstance(tree, Select)
        operand = self.evaluate(tree.operand, mask)
        if isinstance(tree.operand.type, TupleType):
            return operand[tree.indices[0]]
        if isinstance(tree.type, VectorType):
            return operand[..., list(tree.indices)]
        return operand[..., tree.indices[0]]

    def cast(self, tree: Cast, mask: Array | None) -> Array:
        operand: Array = self.evaluate(tree.operand, mask)
        if isinstance(tree.type, VectorType) and operand.ndim == self.batch:
            operand = np.repeat(operand[..., np.newaxis], tree.type.width, axis=-1)
        return operand.astype(dtype_of(tree.type))

    def unary(self, tree: Unary, mask: Array | None) -> Array:
        operand: Array = self.evaluate(tree.operand, mask)
        if tree.operator == "!":
            return (~operand).astype(np.int32)
        if tree.operator == "-":
            return np.negative(operand)
        return np.invert(operand) if tree.operator == "~" else operand

    def binary(self, tree: Binary, mask: Array | None) -> Array:
        operator = tree.operator
        left: Array = self.evaluate(tree.left, mask)
        if operator in ("&&", "||"):
            everything = np.ones(self.shape, bool) if mask is None else mask
            decides = left if operator == "||" else ~left
            right = self.evaluate(tree.right, everything & ~decides)
            return np.where(decides, operator == "||", right).astype(np.int32)
        right = self.evaluate(tree.right, mask)
        if operator in ("/", "%") and left.dtype.kind in "iu":
            return self.divide(operator, left, right, mask)
        if operator in ("<<", ">>"):
            count = right & (left.dtype.itemsize * 8 - 1)  # OpenCL C 6.3.j: modulo the width
            shift = np.left_shift if operator == "<<" else np.right_shift
            return np.asarray(shift(left, count.astype(left.dtype)))
        if operator in COMPARE:
            holds = COMPARE[operator](left, right)
            is_vector = isinstance(tree.type, VectorType)
            return np.asarray(-holds.astype(dtype_of(tree.type)) if is_vector else holds.astype(np.int32))
        return np.asarray(ARITHMETIC[operator](left, right))

    def divide(self, operator: str, left: Array, right: Array, mask: Array | None) -> Array:
        """Divide integers as C does, towards zero."""
        zero = right == 0
        if zero.any():
            at_zero = zero.any(axis=-1) if zero.ndim > self.batch else zero
            if mask is None or (np.broadcast_to(at_zero, self.shape) & mask).any():
                raise DataError(f"function {self.function.name}: an integer is divided by zero")
            right = np.where(zero, right.dtype.type(1), right)
        remainder = np.fmod(left, right)
        return remainder if operator == "%" else (left - remainder) // right


COMPARE: Final[dict[str, Any]] = {
    "==": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}

ARITHMETIC: Final[dict[str, Any]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "%": np.fmod,
    "&": np.bitwise_and,
    "|": np.bitwise_or,
    "^": np.bitwise_xor,
}


def dtype_of(type: Type) -> np.dtype[Any]:
    """Return the NumPy type of a scalar, or of a vector's components."""
    if isinstance(type, VectorType):
        return type.element.dtype
    assert isinstance(type, ScalarType)
    return type.dtype


def empty_value(type: Type, shape: tuple[int, ...]) -> Value:
    """Return a value of a type for a batch without elements."""
    if isinstance(type, TupleType):
        return tuple([empty_value(element, shape) for element in type.elements])
    return np.empty((*shape, type.width) if isinstance(type, VectorType) else shape, dtype_of(type))


def batch_shape(values: list[Value], batch: int) -> tuple[int, ...]:
    """Return the shape that the batch axes of all values broadcast to."""
    shapes: list[tuple[int, ...]] = []
    for value in values:
        if isinstance(value, tuple):
            shapes.append(batch_shape(list(value), batch))
        else:
            shapes.append(value.shape[:batch])
    return np.broadcast_shapes(*shapes)
