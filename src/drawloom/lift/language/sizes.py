"""The sizes of a program: the variables of its lengths, by name."""

from __future__ import annotations

from drawloom.lift.arithmetic import Nat, Variable, free_variables
from drawloom.lift.language.depth import room_for_depth
from drawloom.lift.language.index_functions import IndexFunction
from drawloom.lift.language.ir import Call, Lambda, Node, Pattern
from drawloom.lift.language.types import lengths_of


@room_for_depth()
def find_sizes(program: Node) -> dict[str, Variable]:
    """Return the sizes that a program's declared types, slots and index functions use, in the order of their use.

    Args:
        program: A lambda, or any expression or function.

    Returns:
        Every size by its name. Of two sizes of one name, which `infer_types` refuses, the first.

    Example:
        >>> from drawloom.lift import array, float32, fun, size, split
        >>> list(find_sizes(fun(array(float32, size("N"), size("M")), lambda x: split(size("c"), x))))
        ['N', 'M', 'c']
    """
    found: dict[str, Variable] = {}
    collect(program, found)
    return found


def collect(node: Node, found: dict[str, Variable]) -> None:
    if isinstance(node, Call):
        collect(node.function, found)
        for argument in node.arguments:
            collect(argument, found)
    elif isinstance(node, Lambda):
        for parameter in node.parameters:
            if parameter.declared is not None:
                note(lengths_of(parameter.declared), found)
        collect(node.body, found)
    elif isinstance(node, Pattern):
        for static in node.statics:
            if isinstance(static, IndexFunction):
                note(list(static.sizes), found)
            elif isinstance(static, Nat):
                note([static], found)
        for inner in node.functions:
            collect(inner, found)


def note(lengths: list[Nat], found: dict[str, Variable]) -> None:
    for length in lengths:
        for size in free_variables(length):
            found.setdefault(size.name, size)
