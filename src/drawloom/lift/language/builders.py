"""Writing Lift in Python: a function for each pattern, lambdas from Python lambdas, composition with ``>>``.

    partial_dot = fun(array(float32, n), array(float32, n), lambda x, y:
        zip(x, y) >> split(128) >> map_wrg(reduce_seq(0, mult_and_sum_up)) >> join)

A builder that is given all arguments of its pattern returns an expression, and otherwise a function: ``split(128)``
is a function, ``split(128, x)`` the array split. ``f >> g`` applies ``f`` first; ``f << g`` is the thesis's ``f ∘ g``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from drawloom.errors import count
from drawloom.lift.arithmetic import Nat, Variable, as_nat, variable
from drawloom.lift.language.apply import apply, chain_end, compose, fit_arity, substitute_end
from drawloom.lift.language.embedding import Embedding, Hook
from drawloom.lift.language.errors import ill_typed
from drawloom.lift.language.ir import (
    Call,
    Expression,
    Function,
    Lambda,
    Literal,
    Node,
    Parameter,
    Scalar,
    Static,
)
from drawloom.lift.language.patterns import layout
from drawloom.lift.language.patterns.base import DefinedPattern
from drawloom.lift.language.positions import Position, caller
from drawloom.lift.language.printer import show
from drawloom.lift.language.types import (
    SCALARS,
    VECTOR_WIDTHS,
    ArrayType,
    ScalarType,
    TupleType,
    Type,
    VectorType,
)
from drawloom.lift.language.user_functions.library import add, div, mult, neg, sub

Length = Nat | int
#: What stands for a function: a Lift function or a Python function over expressions.
FunctionLike = Function | Callable[..., Any]


class PythonEmbedding:
    """What IR objects ask so that they can be called, composed, added and shown."""

    def call(self, function: Function, arguments: tuple[Any, ...]) -> Expression | Lambda:
        position = caller()
        values = tuple([as_expression(argument, position) for argument in arguments])
        if isinstance(function, Lambda) and len(values) == 1 and chain_end(function):
            return substitute_end(function.body, values[0])
        return apply(function, values, position)

    def compose(self, outer: Any, inner: Any) -> Lambda:
        position = caller()
        after = as_lambda_or_function(outer, position)
        before = as_lambda_or_function(inner, position)
        composed = compose(after, before, position)
        first: Expression = Call(before, composed.parameters, None, position)
        if isinstance(before, Lambda) and chain_end(before):
            first = substitute_end(before.body, composed.parameters[0])
        if isinstance(after, Lambda) and chain_end(after):
            return Lambda(composed.parameters, substitute_end(after.body, first), position)
        return Lambda(composed.parameters, Call(after, (first,), None, position), position)

    def pipe(self, argument: Expression, function: Any) -> Expression | Lambda:
        return self.call(as_lambda_or_function(function, caller()), (argument,))

    def operate(self, operator: str, *operands: Any) -> Expression:
        position = caller()
        return Call(OPERATORS[operator], as_expressions(operands, position), None, position)

    def component(self, expression: Expression, index: int) -> Expression:
        get = layout.Get((require_int("get", index, 0),))
        return Call(get, (expression,), None, caller())

    def show(self, node: Node) -> str:
        return show(node)

    def show_markdown(self, node: Node) -> str:
        from drawloom.lift.notebook import to_markdown

        return to_markdown(node)


OPERATORS = {"add": add, "sub": sub, "mult": mult, "div": div, "neg": neg}


def install() -> None:
    """Give the IR its Python face; importing `drawloom.lift` does this."""
    embedding: Embedding = PythonEmbedding()
    Hook.embedding = embedding


install()


# Types, sizes, literals and whole programs


def size(name: str, multiple_of: int = 1) -> Variable:
    """Make a size: a natural number that the arrays' shapes decide when the program runs.

    Args:
        name: In the program's text and in generated code.
        multiple_of: What divides the size. Other sizes are refused when the program runs, and code needs no guards
            where work-groups or vectors divide it.

    Example:
        >>> size("N") * 2
        2*N
        >>> size("N", multiple_of=4) % 4
        0
    """
    if not is_name(name):
        raise ill_typed(f"size: {name!r} is not a name", caller(), "letters, digits and _, the first no digit")
    if multiple_of < 1:
        raise ill_typed(f"size {name}: a multiple of {multiple_of}", caller(), "1 or more")
    return variable(name, multiple_of, None, multiple_of)


def array(element: Type, *lengths: Length) -> ArrayType:
    """Return the type of an array, outermost length first as in NumPy's shapes.

    Args:
        element: The type of one element.
        lengths: One or more lengths: numbers, sizes and arithmetic expressions of sizes.

    Raises:
        LiftTypeError: No length is given.

    Example:
        >>> from drawloom.lift import float32, size
        >>> array(float32, size("N"), 4)
        [[float]4]N
    """
    if not lengths:
        raise ill_typed("array: no length is given", caller(), "one or more lengths")
    found: Type = require_type("array", element)
    for length in reversed(lengths):
        found = ArrayType(found, require_length("array", length))
    assert isinstance(found, ArrayType)
    return found


def vector(element: ScalarType, width: int) -> VectorType:
    """Return the type of a vector of OpenCL C.

    Example:
        >>> from drawloom.lift import float32
        >>> vector(float32, 4)
        float4
    """
    scalar = require_type("vector", element)
    if not isinstance(scalar, ScalarType) or scalar.kind == "bool":
        raise ill_typed(f"vector: its components are of type {scalar}", caller(), "a type of numbers")
    require_int("vector", width, 2, VECTOR_WIDTHS)
    return VectorType(scalar, width)


def tuple_of(*elements: Type) -> TupleType:
    """Return the type of a tuple of two or more values.

    Example:
        >>> from drawloom.lift import float32, int32
        >>> tuple_of(float32, int32)
        (float, int)
    """
    if len(elements) < 2:
        raise ill_typed("tuple_of: fewer than two types", caller(), "two or more types")
    return TupleType(tuple([require_type("tuple_of", element) for element in elements]))


def literal(value: Scalar | tuple[Scalar, ...], type: ScalarType | VectorType) -> Literal:
    """Return a number or vector of a stated type; one number fills a vector.

    Example:
        >>> from drawloom.lift import float32, vector
        >>> literal(0.5, float32), literal(0, vector(float32, 4))
        (0.5f, (float4)0.0f)
    """
    return make_literal(value, type, caller())


def make_literal(value: Any, type: ScalarType | VectorType, position: Position) -> Literal:
    stated = require_type("literal", type)
    if not isinstance(stated, ScalarType | VectorType):
        raise ill_typed(f"literal: {stated} is not the type of a literal", position, "a scalar or vector type")
    parts = value if isinstance(value, tuple) else (value,)
    scalar = type.element if isinstance(type, VectorType) else type
    width = type.width if isinstance(type, VectorType) else 1
    if len(parts) not in (1, width):
        raise ill_typed(f"literal: {len(parts)} components", position, f"1 or {width} for {type}")
    cleaned = tuple([clean_number(part, scalar, position) for part in parts])
    if isinstance(type, ScalarType) or len(set(map(repr, cleaned))) == 1:
        return Literal(cleaned[0], type, None, position)
    return Literal(cleaned, type, None, position)


def clean_number(value: Any, type: ScalarType, position: Position) -> Scalar:
    """Return a number as its type holds it, or refuse it."""
    if type.kind == "bool":
        if isinstance(value, bool | np.bool_):
            return bool(value)
    elif isinstance(value, bool | np.bool_):
        pass
    elif type.is_float and isinstance(value, int | float | np.number):
        with np.errstate(over="ignore"):
            rounded = float(type.dtype.type(float(value)))
        if np.isfinite(rounded):
            return rounded
    elif isinstance(value, int | np.integer):
        low = -(2 ** (type.bits - 1)) if type.kind == "int" else 0
        if low <= int(value) < low + 2**type.bits:
            return int(value)
    raise ill_typed(f"literal: {value!r} is not a number of type {type}", position)


def fun(*types_and_function: Any, name: str = "") -> Lambda:
    """Make a program, or a lambda with declared types, from a Python function.

    Args:
        types_and_function: The type of each parameter, then a Python function of as many expressions. A type of
            None is inferred.
        name: What the printer calls the program; by default the name of a function made with ``def``.

    Raises:
        LiftTypeError: There are more or fewer types than parameters.

    Example:
        >>> from drawloom.lift import array, float32, map, mult, size
        >>> fun(array(float32, size("N")), lambda xs: map(lambda x: mult(x, x))(xs), name="squares")
        squares(xs: [float]N) = map(λ x . mult(x, x), xs)
    """
    position = caller()
    chosen: Any = name
    if chosen != "" and not (isinstance(chosen, str) and chosen.isidentifier()):
        raise ill_typed(f"fun: {name!r} is not a name", position, "letters, digits and _, the first no digit")
    if not types_and_function or not callable(types_and_function[-1]):
        raise ill_typed("fun: the last argument is not a function", position, "types, then a Python function")
    function, types = types_and_function[-1], types_and_function[:-1]
    if isinstance(function, Function):
        raise ill_typed("fun: the last argument is a Lift function", position, "a Python function")
    for type in types:
        if type is not None and not isinstance(type, Type):
            raise ill_typed(f"fun: {type!r} is not a type", position, "types, then a Python function")
    names = parameter_names(function, position)
    if len(names) != len(types):
        raise ill_typed(f"fun: {len(types)} types for the {len(names)} parameters of the function", position, "as many")
    made_name = name or ("" if function.__name__ == "<lambda>" else function.__name__)
    return from_python(function, types, position, made_name)


def parameter_names(function: Callable[..., Any], position: Position) -> list[str]:
    """Return the names of a Python function's parameters, which become those of the lambda."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        raise ill_typed(f"{function!r} has no signature", position, "a function made with lambda or def") from None
    if any(parameter.kind not in (0, 1) for parameter in parameters) or not parameters:
        raise ill_typed("a function over expressions takes *, ** or no parameters", position, "plain parameters")
    return [parameter.name for parameter in parameters if parameter.default is inspect.Parameter.empty]


def from_python(
    function: Callable[..., Any], types: tuple[Type | None, ...] | None, position: Position, name: str = ""
) -> Lambda:
    names = parameter_names(function, position)
    declared = types or (None,) * len(names)
    parameters = tuple([Parameter(one, type, None, position) for one, type in zip(names, declared)])
    body = function(*parameters)
    return Lambda(parameters, as_expression(body, position), position, name)


# Coercion


def as_expression(value: Any, position: Position) -> Expression:
    """Return a Python value as an expression: numbers as literals, tuples and lists as tuples and arrays."""
    if isinstance(value, Expression):
        return value
    if isinstance(value, bool | int | float):
        if isinstance(value, float) and not np.isfinite(value):
            raise ill_typed(f"{value} is not a literal", position, "a finite number")
        return Literal(value, None, None, position)
    if isinstance(value, np.generic):
        for scalar in SCALARS.values():
            if scalar.dtype == value.dtype:
                return make_literal(value.item(), scalar, position)
    if isinstance(value, tuple) and len(value) > 1:
        return Call(layout.MakeTuple((), (), position), as_expressions(value, position), None, position)
    if isinstance(value, list) and value:
        return Call(layout.ArrayOf((), (), position), as_expressions(tuple(value), position), None, position)
    found = f"a function ({show(value)})" if isinstance(value, Function) else repr(value)
    raise ill_typed(f"found {found[:200]}", position, "an expression, a number, a tuple or a list")


def as_expressions(values: tuple[Any, ...], position: Position) -> tuple[Expression, ...]:
    return tuple([as_expression(value, position) for value in values])


def as_lambda_or_function(value: Any, position: Position) -> Function:
    if isinstance(value, Function):
        return value
    if callable(value):
        return from_python(value, None, position)
    raise ill_typed(f"found {value!r}", position, "a function")


def as_function(value: Any, position: Position, arity: int, what: str) -> Lambda:
    """Return a function as a lambda of `arity` parameters; one of more takes the last argument apart."""
    function = as_lambda_or_function(value, position)
    made = fit_arity(function, arity, position)
    if made is None:
        taken = count(function.arity, "argument")
        raise ill_typed(f"{what}: its function takes {taken}", position, f"{arity}, or more to take a tuple apart")
    return made


def is_name(value: Any) -> bool:
    return isinstance(value, str) and value.isascii() and value.isidentifier()


def require_type(what: str, value: Any) -> Type:
    if not isinstance(value, Type):
        raise ill_typed(f"{what}: {value!r} is not a type", caller(), "a type such as float32")
    return value


def require_length(what: str, value: Any) -> Nat:
    if isinstance(value, np.integer):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | Nat):
        raise ill_typed(f"{what}: {value!r} is not a length", caller(), "a number, a size or their arithmetic")
    if isinstance(value, int) and value < 0:
        raise ill_typed(f"{what}: the length {value} is negative", caller(), "0 or more")
    return as_nat(value)


def require_int(what: str, value: Any, least: int, among: tuple[int, ...] = ()) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least or (among and value not in among):
        wanted = " or ".join([", ".join(map(str, among[:-1])), str(among[-1])]) if among else f"{least} or more"
        raise ill_typed(f"{what}: found {value!r}", caller(), wanted)
    return value


def call(
    pattern: type[DefinedPattern],
    statics: tuple[Static, ...],
    functions: tuple[Lambda, ...],
    arguments: tuple[Any, ...],
) -> Any:
    """Make a pattern and apply it to the arguments that are given: none, some or all."""
    position = caller()
    made = pattern(statics, functions, position)
    if not arguments and made.arity != 0:
        return made
    return apply(made, as_expressions(arguments, position), position)
