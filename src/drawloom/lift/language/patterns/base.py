"""What every pattern is made of: its type rule and its meaning, and what the type checker and the interpreter offer
to them.

Values are NumPy arrays with leading *batch* axes: inside ``map(f)`` the mapped axis belongs to the batch, so that
``f`` runs once for all elements. An array of tuples is a tuple of arrays. A vector's components are the last axis.
Batch axes may have length 1 where a value is the same for the whole axis.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from drawloom.lift.arithmetic import Nat, Variable
from drawloom.lift.language.errors import LiftTypeError
from drawloom.lift.language.index_functions import IndexFunction
from drawloom.lift.language.ir import Lambda, Pattern
from drawloom.lift.language.types import ArrayType, RaggedType, Type

Array = npt.NDArray[Any]
Value = Any  # Array | tuple[Value, ...]
Sizes = Callable[[Nat], int]


class Rules(ABC):
    """What a type rule may ask of the type checker, which knows the pattern that it works on."""

    @abstractmethod
    def fresh_type(self) -> Type:
        """Return a type that is still to be found."""

    @abstractmethod
    def fresh_length(self) -> Nat:
        """Return a length that is still to be found."""

    @abstractmethod
    def fresh_size(self, name: str, start: int, stop: Nat | None) -> Variable:
        """Return a length that nothing is known of but its range: start, start + 1, ... below stop."""

    @abstractmethod
    def resolve(self, type: Type) -> Type:
        """Replace what has been found of a type."""

    @abstractmethod
    def array(self, type: Type, what: str) -> ArrayType:
        """Return a type as an array's; an unknown type becomes one."""

    @abstractmethod
    def array_or_ragged(self, type: Type, what: str) -> ArrayType | RaggedType:
        """Return a type as that of an array or of a ragged array."""

    @abstractmethod
    def same(self, left: Type, right: Type, what: str) -> None:
        """Make two types equal, or refuse, saying what they are."""

    @abstractmethod
    def same_length(self, left: Nat, right: Nat, what: str) -> None:
        """Make two lengths equal, or refuse."""

    @abstractmethod
    def divide(self, length: Nat, chunk: Nat, what: str) -> Nat:
        """Return how many chunks a length has, asserting that nothing remains; refuse constants where it does."""

    @abstractmethod
    def call(self, function: Lambda, arguments: list[Type]) -> Type:
        """Type the body of the pattern's function for arguments, and return its type. Once for each function."""

    @abstractmethod
    def at_most(self, length: Nat, most: Nat, what: str) -> None:
        """Refuse a length that is certainly greater than another."""

    @abstractmethod
    def known_length(self, length: Nat) -> Nat | None:
        """Return a length without what is still to be found; None if something is."""

    @abstractmethod
    def refuse(self, message: str, expected: str = "") -> LiftTypeError:
        """Return a type error of the pattern that is being typed."""


class Machine(ABC):
    """What the meaning of a pattern may ask of the interpreter."""

    batch: int  # the number of batch axes
    argument_types: list[Type]  # of the call that is evaluated, until it calls a function
    result_type: Type

    @abstractmethod
    def size(self, length: Nat) -> int:
        """Return the value of a length under the sizes of this run."""

    @abstractmethod
    def bind(self, variable: Nat, value: int) -> None:
        """Give a size that a pattern brings, as ``iterate`` does, its value."""

    @abstractmethod
    def call(self, function: Lambda, arguments: list[Value], extra: int = 0) -> Value:
        """Apply a function, with the arguments' first ``extra`` own axes taken into the batch."""

    @abstractmethod
    def permutation(self, index: IndexFunction, length: int) -> Array:
        """Return the values of an index function for all indices of an array."""

    @abstractmethod
    def index_of(self, index: IndexFunction, at: int, length: int) -> int:
        """Return the value of an index function for one index."""

    @abstractmethod
    def refuse(self, message: str) -> Exception:
        """Return an error of the call that is being evaluated."""


class DefinedPattern(Pattern):
    """A pattern with its type rule and its meaning."""

    def type_rule(self, arguments: list[Type], rules: Rules) -> Type:
        """Return the type of a call.

        Args:
            arguments: The types of the call's arguments, as far as they are known.
            rules: The type checker.

        Raises:
            LiftTypeError: The arguments do not fit.
        """
        raise NotImplementedError(self.keyword)

    def meaning(self, arguments: list[Value], machine: Machine) -> Value:
        """Return the value of a call, given those of its arguments, which `find_fault` has nothing against."""
        raise NotImplementedError(self.keyword)

    def find_fault(self, lengths: list[int], size: Sizes) -> str:
        """Say why arrays do not fit the pattern; "" if they do.

        Args:
            lengths: The length of each argument that is an array, 0 for the others.
            size: Returns the value of a length.
        """
        return ""


def each_leaf(value: Value, function: Callable[[Array], Array]) -> Value:
    """Apply a function to every array of a value."""
    if isinstance(value, tuple):
        return tuple([each_leaf(part, function) for part in value])
    return function(value)


def two_leaves(left: Value, right: Value, function: Callable[[Array, Array], Array]) -> Value:
    """Apply a function to the arrays of two values of one type."""
    if isinstance(left, tuple):
        return tuple([two_leaves(one, other, function) for one, other in zip(left, right)])
    return function(left, right)


def first_leaf(value: Value) -> Array:
    """Return the first array of a value; for an array of tuples its axes are those of the array."""
    while isinstance(value, tuple):
        value = value[0]
    array: Array = value
    return array


def length_of(value: Value, batch: int) -> int:
    """Return the length of an array value."""
    return int(first_leaf(value).shape[batch])


def take(value: Value, at: int, batch: int) -> Value:
    """Return one element of an array value."""
    return each_leaf(value, lambda leaf: leaf[(slice(None),) * batch + (at,)])


def part(value: Value, start: int, stop: int, batch: int) -> Value:
    """Return a stretch of an array value."""
    return each_leaf(value, lambda leaf: leaf[(slice(None),) * batch + (slice(start, stop),)])


def spread(value: Value, length: int, axis: int) -> Value:
    """Repeat a value along an axis of length 1; an axis that has the length already stays."""

    def widen(leaf: Array) -> Array:
        shape = list(leaf.shape)
        shape[axis] = length
        return np.broadcast_to(leaf, shape)

    return each_leaf(value, widen)


def reshape_axes(value: Value, batch: int, old: int, new: tuple[int, ...]) -> Value:
    """Replace the first `old` own axes of every array of a value by axes of other lengths."""
    return each_leaf(value, lambda leaf: leaf.reshape(*leaf.shape[:batch], *new, *leaf.shape[batch + old :]))


def none_of(value: Value, batch: int) -> Value:
    """Make an array of no elements that are like a value."""
    return each_leaf(value, lambda leaf: np.empty((*leaf.shape[:batch], 0, *leaf.shape[batch:]), leaf.dtype))


def join_values(parts: list[Value], batch: int) -> Value:
    """Lay array values end to end; their batch axes are brought to one shape."""
    if isinstance(parts[0], tuple):
        return tuple([join_values([value[at] for value in parts], batch) for at in range(len(parts[0]))])
    shape = np.broadcast_shapes(*[leaf.shape[:batch] for leaf in parts])
    return np.concatenate([np.broadcast_to(leaf, (*shape, *leaf.shape[batch:])) for leaf in parts], axis=batch)


def stack_values(parts: list[Value], batch: int) -> Value:
    """Make an array value of its elements."""
    return join_values([each_leaf(value, lambda leaf: np.expand_dims(leaf, batch)) for value in parts], batch)
