"""Unification of types, whose array lengths are symbolic natural numbers."""

from __future__ import annotations

from drawloom.lift.arithmetic import Nat, Variable, free_variables, solve, substitute, variable
from drawloom.lift.language.types import (
    ArrayType,
    RaggedType,
    ScalarType,
    TupleType,
    Type,
    TypeVariable,
)


class Mismatch(Exception):
    """Two types or lengths that cannot be equal; the message says which parts differ, "" if it is plain."""


class Solver:
    """What has been found of the types and lengths that inference looks for."""

    def __init__(self) -> None:
        self.types: dict[int, Type] = {}
        self.lengths: dict[Variable, Nat] = {}
        self.unknowns: set[Variable] = set()
        self.postponed: list[tuple[Nat, Nat]] = []
        self.count = 0

    def fresh_type(self, numeric: bool = False, default: ScalarType | None = None) -> TypeVariable:
        self.count += 1
        return TypeVariable(self.count, numeric, default)

    def fresh_length(self) -> Variable:
        self.count += 1
        unknown = variable(f"?{self.count}", 0)
        self.unknowns.add(unknown)
        return unknown

    def resolve(self, type: Type) -> Type:
        """Replace every variable of a type that has been found."""
        if isinstance(type, TypeVariable):
            found = self.types.get(type.number)
            return type if found is None else self.resolve(found)
        if isinstance(type, ArrayType):
            return ArrayType(self.resolve(type.element), self.resolve_length(type.length))
        if isinstance(type, RaggedType):
            return RaggedType(
                self.resolve(type.element), self.resolve_length(type.chunk), self.resolve_length(type.total)
            )
        if isinstance(type, TupleType):
            return TupleType(tuple([self.resolve(element) for element in type.elements]))
        return type

    def resolve_length(self, length: Nat) -> Nat:
        while self.lengths:
            found = {one: self.lengths[one] for one in free_variables(length) if one in self.lengths}
            if not found:
                break
            length = substitute(length, found)
        return length

    def unknowns_of(self, length: Nat) -> list[Variable]:
        return [one for one in free_variables(length) if one in self.unknowns] if self.unknowns else []

    def unify(self, left: Type, right: Type) -> None:
        """Make two types equal.

        Raises:
            Mismatch: They cannot be.
        """
        left, right = self.resolve(left), self.resolve(right)
        if left == right:
            return
        if isinstance(left, TypeVariable):
            self.bind(left, right)
        elif isinstance(right, TypeVariable):
            self.bind(right, left)
        elif isinstance(left, ArrayType) and isinstance(right, ArrayType):
            self.unify_lengths(left.length, right.length)
            self.unify(left.element, right.element)
        elif isinstance(left, RaggedType) and isinstance(right, RaggedType):
            self.unify_lengths(left.chunk, right.chunk)
            self.unify_lengths(left.total, right.total)
            self.unify(left.element, right.element)
        elif isinstance(left, TupleType) and isinstance(right, TupleType) and len(left.elements) == len(right.elements):
            for one, other in zip(left.elements, right.elements):
                self.unify(one, other)
        else:
            raise Mismatch(f"{left} is not {right}")

    def bind(self, variable: TypeVariable, type: Type) -> None:
        if isinstance(type, TypeVariable):
            if variable.numeric and (not type.numeric or is_wider(variable.default, type)):
                variable, type = type, variable
        elif variable.numeric and not isinstance(type, ScalarType):
            raise Mismatch(f"a number is not {type}")
        elif variable.numeric and variable.default is not None and variable.default.is_float:
            if isinstance(type, ScalarType) and not type.is_float:
                raise Mismatch(f"a number with a fraction is not {type}")
        if self.occurs(variable, type):
            raise Mismatch(f"a type would contain itself: {type}")
        self.types[variable.number] = type

    def occurs(self, variable: TypeVariable, type: Type) -> bool:
        type = self.resolve(type)
        if isinstance(type, ArrayType | RaggedType):
            return self.occurs(variable, type.element)
        if isinstance(type, TupleType):
            return any(self.occurs(variable, element) for element in type.elements)
        return isinstance(type, TypeVariable) and type.number == variable.number

    def unify_lengths(self, left: Nat, right: Nat) -> None:
        """Make two lengths equal; what cannot be decided yet is looked at again by `finish`."""
        left, right = self.resolve_length(left), self.resolve_length(right)
        if left == right:
            return
        unknowns = self.unknowns_of(left) + self.unknowns_of(right)
        for unknown in unknowns:
            value = left if right is unknown else right if left is unknown else solve(left, right, unknown)
            if value is not None and unknown not in free_variables(value):
                self.lengths[unknown] = value
                return
        if unknowns:
            self.postponed.append((left, right))
            return
        raise Mismatch(f"{left} is not {right}")

    def finish(self) -> None:
        """Look again at the lengths that could not be decided.

        Raises:
            Mismatch: Two lengths differ, or are still unknown.
        """
        waiting, self.postponed = self.postponed, []
        while waiting:
            for left, right in waiting:
                self.unify_lengths(left, right)
            if len(self.postponed) == len(waiting):
                left, right = self.postponed[0]
                raise Mismatch(f"{left} and {right} cannot be compared")
            waiting, self.postponed = self.postponed, []


def is_wider(default: ScalarType | None, other: TypeVariable) -> bool:
    """Return True when a bare number with a fraction meets one without: the former decides."""
    return default is not None and default.is_float and not (other.default is not None and other.default.is_float)
