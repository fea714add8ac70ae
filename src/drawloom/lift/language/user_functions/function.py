"""User functions as functions of the IR: typed, checked, instantiated for the types they are called with."""

from __future__ import annotations

from typing import Any

from drawloom.lift.language.errors import LiftTypeError, ill_typed
from drawloom.lift.language.ir import Function, Scalar
from drawloom.lift.language.positions import NOWHERE, Position
from drawloom.lift.language.types import TupleType, Type, float32, holds_arrays, int32
from drawloom.lift.language.user_functions.checker import check_function
from drawloom.lift.language.user_functions.printer import CPrinter
from drawloom.lift.language.user_functions.syntax import FunctionTree, TypeParameter


class UserFunction(Function):
    """A function in a subset of OpenCL C over scalars, vectors and tuples.

    Args:
        tree: The function from the parser, without types.
        associative: f(f(a, b), c) equals f(a, f(b, c)), up to rounding.
        commutative: f(a, b) equals f(b, a).
        neutral: z such that f(z, a) and f(a, z) equal a; a vector's components are all of this value.

    `user_function` makes one from text and tests what is declared of it.
    """

    def __init__(
        self,
        tree: FunctionTree,
        associative: bool = False,
        commutative: bool = False,
        neutral: Scalar | None = None,
        position: Position = NOWHERE,
    ) -> None:
        super().__init__(len(tree.parameters), position)
        self.tree = tree
        self.associative = associative
        self.commutative = commutative
        self.neutral = neutral
        self.type_parameters = find_type_parameters([type for _, type in tree.parameters])
        self.instances: dict[tuple[Type, ...], FunctionTree] = {}
        self.text = CPrinter().function(tree)

    @property
    def name(self) -> str:
        return self.tree.name

    @property
    def is_generic(self) -> bool:
        return bool(self.type_parameters)

    def structure(self) -> Any:
        return ("user function", self.text, self.associative, self.commutative, repr(self.neutral))

    def instantiate(self, arguments: tuple[Type, ...]) -> FunctionTree:
        """Return the checked tree for arguments of some types.

        Args:
            arguments: One type without type variables for each parameter; they fit the parameters' types.

        Raises:
            LiftTypeError: The body has no type for these arguments.
        """
        found = self.instances.get(arguments)
        if found is None:
            instance: dict[str, Type] = {}
            for (_, declared), type in zip(self.tree.parameters, arguments):
                bind(declared, type, instance)
            found = check_function(self.tree, instance)
            self.instances[arguments] = found
        return found

    def check(self) -> None:
        """Check the body once, for float and for int where a type is left open."""
        for _, type in self.tree.parameters:
            if holds_arrays(type):
                raise ill_typed(f"function {self.name}: a parameter of type {type}", self.tree.position)
        refusals: list[LiftTypeError] = []
        for type in (float32, int32):
            try:
                check_function(self.tree, dict.fromkeys(self.type_parameters, type))
                return
            except LiftTypeError as refusal:
                refusals.append(refusal)
        raise refusals[0]


def find_type_parameters(types: list[Type]) -> list[str]:
    """Return the names of the type parameters in some types, in the order in which they occur."""
    found: list[str] = []
    for type in types:
        if isinstance(type, TypeParameter) and type.name not in found:
            found.append(type.name)
        elif isinstance(type, TupleType):
            found.extend([name for name in find_type_parameters(list(type.elements)) if name not in found])
    return found


def bind(declared: Type, type: Type, instance: dict[str, Type]) -> None:
    """Note what type parameters stand for, given the type of an argument that fits."""
    if isinstance(declared, TypeParameter):
        instance[declared.name] = type
    elif isinstance(declared, TupleType) and isinstance(type, TupleType):
        for element, inner in zip(declared.elements, type.elements):
            bind(element, inner, instance)
