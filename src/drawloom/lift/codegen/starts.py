"""What stands in a kernel's results before the launch: the starts of its atomic maps over all work-items.

No work-item may update an element before all starts are written, so the host writes them. The program that computes
them is the kernel's own, with each ``mapAtomicGlb`` replaced by its start, and everything else that computes by zeros.
"""

from __future__ import annotations

from drawloom.lift.language.ir import Call, Expression, Function, Lambda, Literal, Parameter
from drawloom.lift.language.patterns.algorithmic import AnyMap
from drawloom.lift.language.patterns.layout import MakeTuple, Replicate
from drawloom.lift.language.patterns.opencl import MapAtomicGlb, MapAtomicLcl, Wrapper
from drawloom.lift.language.types import ArrayType, RaggedType, ScalarType, TupleType, Type, VectorType
from drawloom.lift.memory.ragged import stored_type


def find_start(program: Lambda) -> Lambda | None:
    """Return the program that computes what is in the results before a kernel; None if that does not matter."""
    if not updates(program.body):
        return None
    return Lambda(program.parameters, start_of(program.body), program.position)


def is_update(function: Function) -> bool:
    return isinstance(function, MapAtomicGlb) and not isinstance(function, MapAtomicLcl)


def updates(expression: Expression) -> bool:
    """Return True for an expression whose value atomic maps make."""
    if not isinstance(expression, Call):
        return False
    function = expression.function
    if is_update(function) or any(updates(argument) for argument in expression.arguments):
        return True
    inner = inner_function(function)
    return inner is not None and updates(inner.body)


def inner_function(function: Function) -> Lambda | None:
    if isinstance(function, Lambda):
        return function
    return function.function if isinstance(function, Wrapper | AnyMap) else None


def start_of(expression: Expression) -> Expression:
    """Return the start of an expression that `updates`."""
    assert isinstance(expression, Call)
    function = expression.function
    if is_update(function):
        return expression.arguments[0]
    arguments = tuple([start_or_zero(argument, function) for argument in expression.arguments])
    inner = inner_function(function)
    if isinstance(function, Lambda | Wrapper) and inner is not None and updates(inner.body):
        started = Lambda(inner.parameters, start_of(inner.body), inner.position, inner.name)
        function = started if isinstance(function, Lambda) else function.rebuild(function.statics, (started,))
    return Call(function, arguments, expression.type, expression.position)


def start_or_zero(argument: Expression, function: Function) -> Expression:
    """Return an argument's start; what a function is applied to stays, as its body may need it."""
    if updates(argument):
        return start_of(argument)
    if isinstance(function, Lambda | Wrapper) or isinstance(argument, Parameter | Literal):
        return argument
    return zero(argument.typed)


def zero(type: Type) -> Expression:
    """Return an expression for zeros of a type."""
    if isinstance(type, RaggedType):
        return zero(stored_type(type))
    if isinstance(type, ArrayType):
        return Call(Replicate((type.length,)), (zero(type.element),), type)
    if isinstance(type, TupleType):
        return Call(MakeTuple(), tuple([zero(element) for element in type.elements]), type)
    assert isinstance(type, ScalarType | VectorType)
    return Literal(0, type, type)
