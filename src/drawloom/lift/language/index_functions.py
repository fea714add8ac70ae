"""Functions from an index to an index, as ``gather``, ``scatter`` and ``pad`` take them: ``i → n - 1 - i``.

The index and the length of the reordered array are two variables that all index functions share, so that functions
with equal bodies are equal whatever their author called the variables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar, Final

from drawloom.lift.arithmetic import Nat, Variable, as_nat, free_variables, substitute, variable

#: The length of the array that is reordered, and an index into it.
LENGTH: Final = variable("n")
INDEX: Final = variable("i", 0, LENGTH)
#: An index of a padded array, of which some are before and after the array itself.
PADDED_INDEX: Final = variable("i", -variable("left", 0), LENGTH + variable("right", 0))


class IndexFunction:
    """A permutation of the indices of an array, as an arithmetic expression.

    Args:
        body: The new index, over `INDEX`, `LENGTH` and the sizes of the program.
    """

    index: ClassVar[Variable] = INDEX

    def __init__(self, body: Nat) -> None:
        self.body = body

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.body == other.body

    def __hash__(self) -> int:
        return hash(("index function", self.body))

    def at(self, index: Nat, length: Nat) -> Nat:
        """Return the new index for an index into an array of a length."""
        return substitute(self.body, {self.index: index, LENGTH: length})

    def at_sizes(self, values: Mapping[Variable, int]) -> Nat:
        """Return the body with the program's sizes replaced by their values."""
        return substitute(self.body, {size: values[size] for size in self.sizes})

    @property
    def sizes(self) -> list[Variable]:
        """The sizes of the program that the function uses."""
        return [size for size in free_variables(self.body) if size is not self.index and size is not LENGTH]


class BoundaryFunction(IndexFunction):
    """Which element of an array stands at an index before or after it, as an arithmetic expression.

    Args:
        body: The index of the element, over `PADDED_INDEX`, `LENGTH` and the sizes of the program.
    """

    index: ClassVar[Variable] = PADDED_INDEX


def index_function(function: Callable[..., Nat | int], kind: type[IndexFunction] = IndexFunction) -> IndexFunction:
    """Make an index function from a Python function of the index, or of the index and the array's length.

    Raises:
        TypeError: The Python function returns no arithmetic expression.

    Example:
        >>> index_function(lambda i, n: n - 1 - i).at(as_nat(0), as_nat(8))
        7
    """
    takes = function.__code__.co_argcount
    body: object = function(kind.index, LENGTH) if takes == 2 else function(kind.index)
    if isinstance(body, bool) or not isinstance(body, int | Nat):
        raise TypeError(f"an index function returns {body!r}")
    return kind(as_nat(body))


reverse: Final = IndexFunction(LENGTH - 1 - INDEX)
