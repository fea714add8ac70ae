"""Address space inference (thesis 4.3.2): where the result of a computation is stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from drawloom.lift.codegen.scope import Scope, Thunk
from drawloom.lift.language.ir import Call, Expression, Lambda, Literal, Parameter, Pattern
from drawloom.lift.language.patterns.algorithmic import AnyMap, AnyScan, FilterSeq, Fold, Iterate
from drawloom.lift.language.patterns.opencl import MapAtomicLcl, ToGlobal, ToLocal, ToPrivate, Wrapper
from drawloom.lift.memory.buffers import GLOBAL, LOCAL, PRIVATE, SPACES
from drawloom.lift.views.views import View

if TYPE_CHECKING:
    from drawloom.lift.codegen.generator import Generator


class SpaceOnly(View):
    """A value of which only the address space is known."""

    def __init__(self, space: str | None) -> None:
        self.space = space


def infer_space(generator: Generator, expression: Expression, scope: Scope) -> str | None:
    """Return the address space of an expression's result; None for literals.

    An enclosing ``toGlobal``, ``toLocal`` or ``toPrivate`` decides. Without one, a computation stores its result in
    the widest address space of its arguments, a reduction in that of its initial value, and ``mapAtomicLcl`` in local
    memory.
    """
    if isinstance(expression, Parameter):
        bound = scope.values.get(expression)
        if isinstance(bound, Thunk):
            return infer_space(generator, bound.expression, bound.scope)
        return bound.space if bound is not None else None
    if isinstance(expression, Literal):
        return None
    assert isinstance(expression, Call)
    function = expression.function
    arguments = [infer_space(generator, argument, scope.within(None)) for argument in expression.arguments]
    if isinstance(function, Lambda):
        return infer_space(generator, function.body, bind_spaces(function, arguments, scope))
    if isinstance(function, Wrapper):
        space = {ToGlobal: GLOBAL, ToLocal: LOCAL, ToPrivate: PRIVATE}.get(type(function))
        inner = bind_spaces(function.function, arguments, scope).within(space)
        return infer_space(generator, function.function.body, inner) if space is None else space
    if isinstance(function, AnyMap):
        return infer_space(generator, function.function.body, bind_spaces(function.function, arguments, scope))
    if isinstance(function, AnyScan | FilterSeq):
        return scope.space or widest(arguments)
    if isinstance(function, Fold):
        if generator.computes(expression.arguments[0], scope):
            return arguments[0]
        return PRIVATE
    if isinstance(function, Iterate):
        return scope.space or widest(arguments)
    if isinstance(function, MapAtomicLcl):
        return scope.space or LOCAL
    if generator.computes(expression, scope):
        if isinstance(function, Pattern) and any(generator.computes(one, scope) for one in expression.arguments):
            computed = [
                space for space, argument in zip(arguments, expression.arguments) if generator.computes(argument, scope)
            ]
            return widest(computed)
        return scope.space or widest(arguments)
    return widest(arguments)


def bind_spaces(function: Lambda, spaces: list[str | None], scope: Scope) -> Scope:
    for parameter, space in zip(function.parameters, spaces):
        scope = scope.bind(parameter, SpaceOnly(space))
    return scope


def widest(spaces: list[str | None]) -> str | None:
    """Return the widest of some address spaces."""
    known = [space for space in spaces if space is not None]
    return max(known, key=SPACES.index) if known else None
