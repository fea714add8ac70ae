"""What an expression is compiled in: the views of its parameters, the values of its sizes, the address space."""

from __future__ import annotations

from drawloom.lift.arithmetic import Nat, Variable, substitute
from drawloom.lift.language.ir import Expression, Parameter
from drawloom.lift.language.types import ArrayType, RaggedType, TupleType, Type
from drawloom.lift.views.views import View


class Thunk:
    """An expression that is compiled where the only use of a parameter is."""

    def __init__(self, expression: Expression, scope: Scope) -> None:
        self.expression = expression
        self.scope = scope


class Scope:
    """Immutable: `bind`, `with_size` and `within` return another scope.

    Args:
        values: What parameters are bound to.
        sizes: What the lengths of types are: known sizes, and the rests of guarded splits.
        space: The address space that the innermost ``toGlobal``, ``toLocal`` or ``toPrivate`` names, or None.
    """

    def __init__(
        self, values: dict[Parameter, View | Thunk], sizes: dict[Variable, Nat], space: str | None = None
    ) -> None:
        self.values = values
        self.sizes = sizes
        self.space = space

    def bind(self, parameter: Parameter, value: View | Thunk) -> Scope:
        return Scope({**self.values, parameter: value}, self.sizes, self.space)

    def with_size(self, size: Nat, value: Nat) -> Scope:
        if not isinstance(size, Variable):
            return self
        return Scope(self.values, {**self.sizes, size: value}, self.space)

    def within(self, space: str | None) -> Scope:
        return Scope(self.values, self.sizes, space)

    def nat(self, length: Nat) -> Nat:
        return substitute(length, self.sizes) if self.sizes else length

    def type(self, type: Type) -> Type:
        """Return a type with the lengths of this scope."""
        if isinstance(type, ArrayType):
            return ArrayType(self.type(type.element), self.nat(type.length))
        if isinstance(type, RaggedType):
            return RaggedType(self.type(type.element), self.nat(type.chunk), self.nat(type.total))
        if isinstance(type, TupleType):
            return TupleType(tuple([self.type(element) for element in type.elements]))
        return type
