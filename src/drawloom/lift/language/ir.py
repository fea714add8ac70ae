"""The IR of Lift (thesis 2.4.2 and 2.4.4): expressions are values, functions are lambdas, patterns or user functions.

    program     ::= definition* NAME '(' parameters ')' '=' expression
    definition  ::= property* user function in a subset of C     -- user_functions/syntax.py
    property    ::= '[' 'associative' | 'commutative' | 'neutral' literal ']'

    expression  ::= literal
                  | NAME                                         -- a parameter
                  | function '(' arguments ')'                   -- a call
                  | function '∘' expression                      -- the same call
                  | expression ('+' | '-' | '*' | '×' | '/') expression      -- calls of add, sub, mult and div
                  | '(' expression (',' expression)+ ')'         -- a tuple
                  | '[' expression (',' expression)* ']'         -- an array literal
    literal     ::= 0 | 0.5 | 0.5f | true | (double)0.5 | (float4)0.0f | (float4)(1.0f, 2.0f, 3.0f, 4.0f)

    function    ::= 'λ' '(' parameters ')' '.' expression | 'λ' NAME '.' expression
                  | pattern
                  | NAME                                         -- a user function
                  | function '(' arguments ')'                   -- a partial application
                  | function '∘' function                        -- (f ∘ g)(x) = f(g(x))
    parameters  ::= parameter (',' parameter)*
    parameter   ::= NAME (':' type)? | '(' parameters ')'        -- the latter takes a tuple apart

    pattern     ::= NAME ('(' slots ')')*                        -- patterns/: one class for each

Composition, partial application and the destructuring of tuples are notation: they stand for lambdas and calls of
``get``. What remains is three kinds of expression (`Literal`, `Parameter`, `Call`) and three kinds of function
(`Lambda`, `Pattern`, and `UserFunction` in ``user_functions``). A function inside a pattern is always a `Lambda`.

Everything here is immutable. Expressions and functions are equal when they differ in nothing but the names of
bound parameters, positions and inferred types; free parameters are equal only to themselves.
"""

from __future__ import annotations

from typing import Any, ClassVar

from drawloom.lift.arithmetic import Nat
from drawloom.lift.language.depth import DEEPEST, room_for_depth
from drawloom.lift.language.embedding import embedding
from drawloom.lift.language.errors import ill_typed
from drawloom.lift.language.index_functions import IndexFunction
from drawloom.lift.language.operators import PythonOperators
from drawloom.lift.language.positions import NOWHERE, Position
from drawloom.lift.language.types import ScalarType, Type, VectorType

#: What stands in the slots of a pattern besides functions.
Static = Nat | int | str | bool | IndexFunction | ScalarType

Scalar = bool | int | float


class Node:
    """A part of a program: an expression or a function.

    ``depth`` is the number of calls inside each other.
    """

    depth = 0

    def __init__(self, position: Position) -> None:
        self.position = position
        self.cached_hash = 0

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Node) or hash(self) != hash(other):
            return False
        with room_for_depth():
            return bool(structure(self, {}) == structure(other, {}))

    def __hash__(self) -> int:
        if self.cached_hash == 0:
            with room_for_depth():
                self.cached_hash = hash(structure(self, {})) or 1
        return self.cached_hash

    def __repr__(self) -> str:
        return embedding().show(self)

    def __str__(self) -> str:
        return embedding().show(self)

    def _repr_markdown_(self) -> str:
        """Show the node in a notebook."""
        return embedding().show_markdown(self)


class Expression(PythonOperators, Node):
    """A value. ``type`` is None until `infer_types` has made a typed copy of the program."""

    def __init__(self, type: Type | None, position: Position) -> None:
        super().__init__(position)
        self.type = type

    @property
    def typed(self) -> Type:
        """The inferred type; an untyped program has none."""
        assert self.type is not None, "infer_types has not run on this program"
        return self.type


class Literal(Expression):
    """A number or truth value, or the components of a vector.

    Args:
        value: A Python number, or a tuple of numbers for a vector.
        declared: The scalar or vector type, or None for a bare number that takes the type its use needs.
    """

    def __init__(
        self,
        value: Scalar | tuple[Scalar, ...],
        declared: ScalarType | VectorType | None = None,
        type: Type | None = None,
        position: Position = NOWHERE,
    ) -> None:
        super().__init__(type, position)
        self.value = value
        self.declared = declared


class Parameter(Expression):
    """A name bound by a lambda, or free. Parameters are equal only to themselves, whatever their names.

    Args:
        name: What the printer shows; other parameters may have the same name.
        declared: The type that the program states, or None where it is inferred.
    """

    def __init__(
        self, name: str, declared: Type | None = None, type: Type | None = None, position: Position = NOWHERE
    ) -> None:
        super().__init__(type, position)
        self.name = name
        self.declared = declared

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)


class Call(Expression):
    """A function with all its arguments.

    Raises:
        LiftTypeError: The call is more than `DEEPEST` levels deep.
    """

    def __init__(
        self,
        function: Function,
        arguments: tuple[Expression, ...],
        type: Type | None = None,
        position: Position = NOWHERE,
    ) -> None:
        super().__init__(type, position)
        self.function = function
        self.arguments = arguments
        self.depth = 1 + max([function.depth, *[argument.depth for argument in arguments]])
        if self.depth > DEEPEST:
            raise ill_typed(
                f"more than {DEEPEST} calls inside each other", position, "an array and a reduceSeq or map over it"
            )


class Function(Node):
    """What a call calls. ``arity`` is how many arguments a call has; -1 means two or more, as for ``zip``."""

    def __init__(self, arity: int, position: Position) -> None:
        super().__init__(position)
        self.arity = arity

    def structure(self) -> Any:
        """Return what tells this function from others; only user functions have it."""
        raise NotImplementedError

    def __call__(self, *arguments: Any) -> Any:
        return embedding().call(self, arguments)

    def __rshift__(self, after: Any) -> Lambda:
        """Return the composition that applies this function first: ``(f >> g)(x)`` is ``g(f(x))``."""
        return embedding().compose(after, self)

    def __rrshift__(self, before: Any) -> Lambda:
        return embedding().compose(self, before)

    def __lshift__(self, before: Any) -> Lambda:
        """Return the thesis's composition ``f ∘ g``: ``(f << g)(x)`` is ``f(g(x))``."""
        return embedding().compose(self, before)

    def __rlshift__(self, after: Any) -> Lambda:
        return embedding().compose(after, self)


class Lambda(Function):
    """An anonymous function of named parameters."""

    def __init__(
        self, parameters: tuple[Parameter, ...], body: Expression, position: Position = NOWHERE, name: str = ""
    ) -> None:
        super().__init__(len(parameters), position)
        self.depth = body.depth
        self.parameters = parameters
        self.body = body
        self.name = name  # of a whole program, for the printer


class Pattern(Function):
    """A predefined function; each has a class in ``patterns/`` with its type rule and its meaning.

    All patterns are made alike, so that passes can rebuild any of them; `builders.py` has a function for each.

    Args:
        statics: The numbers, lengths, names and index functions in its slots, in their printed order.
        functions: The lambdas in its slots.
    """

    #: The printed name, such as ``mapSeq``.
    keyword: ClassVar[str] = ""
    #: What stands in the parentheses after the name: ``"nat"``, ``"int"``, ``"index"``, ``"boundary"`` and ``"word"``
    #: are statics, ``"function"`` is a lambda, ``"argument"`` an argument of the call. ``"dimension"`` has its own
    #: parentheses.
    slots: ClassVar[tuple[str, ...]] = ()
    #: The number of arguments of a call; -1 for any number from `fewest` on.
    takes: ClassVar[int] = 1
    fewest: ClassVar[int] = 2
    #: How many arguments each of its functions takes; empty for any number.
    function_takes: ClassVar[tuple[int, ...]] = ()

    def __init__(
        self,
        statics: tuple[Static, ...] = (),
        functions: tuple[Lambda, ...] = (),
        position: Position = NOWHERE,
    ) -> None:
        super().__init__(self.count_arguments(functions), position)
        self.statics = statics
        self.functions = functions
        self.depth = max([function.depth for function in functions], default=0)

    def count_arguments(self, functions: tuple[Lambda, ...]) -> int:
        return self.takes

    def rebuild(self, statics: tuple[Static, ...], functions: tuple[Lambda, ...]) -> Pattern:
        """Return the same pattern, at the same place, with other contents of its slots."""
        return type(self)(statics, functions, self.position)


def structure(node: Node, bound: dict[Parameter, int], depth: int = 0) -> Any:
    """Return nested tuples that are equal for equal nodes: bound parameters are numbers, counted from the outside."""
    if isinstance(node, Parameter):
        return ("bound", bound[node]) if node in bound else ("free", id(node))
    if isinstance(node, Literal):
        return ("literal", repr(node.value), node.declared)
    if isinstance(node, Call):
        return (
            structure(node.function, bound, depth),
            tuple([structure(argument, bound, depth) for argument in node.arguments]),
        )
    if isinstance(node, Lambda):
        inner = dict(bound)
        for at, parameter in enumerate(node.parameters):
            inner[parameter] = depth + at
        return (
            "lambda",
            tuple([parameter.declared for parameter in node.parameters]),
            structure(node.body, inner, depth + node.arity),
        )
    if isinstance(node, Pattern):
        return (node.keyword, node.statics, tuple([structure(inner, bound, depth) for inner in node.functions]))
    assert isinstance(node, Function)
    return node.structure()
