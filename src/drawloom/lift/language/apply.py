"""Building calls: complete and partial application, composition, and the lambdas that patterns hold."""

from __future__ import annotations

from drawloom.errors import count
from drawloom.lift.language.depth import room_for_depth
from drawloom.lift.language.errors import ill_typed
from drawloom.lift.language.infer import name_function
from drawloom.lift.language.ir import Call, Expression, Function, Lambda, Literal, Parameter, Pattern
from drawloom.lift.language.patterns.layout import Get
from drawloom.lift.language.positions import Position


def apply(function: Function, arguments: tuple[Expression, ...], position: Position) -> Expression | Lambda:
    """Return a call, or a lambda over the arguments that are missing: ``add(acc)`` is ``λ x . add(acc, x)``.

    Raises:
        LiftTypeError: There are more arguments than the function takes.
    """
    fewest = function.fewest if isinstance(function, Pattern) else 2
    missing = max(fewest - len(arguments), 0) if function.arity < 0 else function.arity - len(arguments)
    if missing < 0:
        raise ill_typed(
            f"{name_function(function)}: it is called with {count(len(arguments), 'argument')}",
            position,
            str(function.arity),
        )
    if missing == 0:
        return Call(function, arguments, None, position)
    return over_missing(function, arguments, missing, position)


def over_missing(function: Function, arguments: tuple[Expression, ...], missing: int, position: Position) -> Lambda:
    parameters = tuple([Parameter(name, position=position) for name in names_for(missing)])
    return Lambda(parameters, Call(function, (*arguments, *parameters), None, position), position)


def names_for(number: int) -> tuple[str, ...]:
    """Return names for the parameters of a function that the program did not write as a lambda."""
    return ("p",) if number == 1 else tuple([f"p{at}" for at in range(number)])


def as_lambda(function: Function, position: Position) -> Lambda:
    """Return a function as a lambda: ``f`` is ``λ p . f(p)``."""
    if isinstance(function, Lambda):
        return function
    return over_missing(function, (), function.arity if function.arity >= 0 else 2, position)


@room_for_depth()
def fit_arity(function: Function, wanted: int, position: Position) -> Lambda | None:
    """Return a function as a lambda of as many parameters as a pattern needs; None if it takes fewer.

    A function of more parameters takes the last argument apart, as the thesis's listings do: ``map(mult)`` over pairs
    is ``map(λ p . mult(get(0, p), get(1, p)))``.
    """
    made = as_lambda(function, position)
    if made.arity <= wanted:
        return made if made.arity == wanted else None
    packed = Parameter("p", position=position)
    components: dict[Parameter, Expression] = {
        parameter: Call(Get((at,), (), position), (packed,), None, position)
        for at, parameter in enumerate(made.parameters[wanted - 1 :])
    }
    body = substitute_parameters(made.body, components)
    return Lambda((*made.parameters[: wanted - 1], packed), body, made.position)


def substitute_parameters(expression: Expression, values: dict[Parameter, Expression]) -> Expression:
    """Replace parameters by expressions, which have no type afterwards."""
    if isinstance(expression, Parameter):
        return values.get(expression, expression)
    if isinstance(expression, Literal):
        return expression
    assert isinstance(expression, Call)
    arguments = tuple([substitute_parameters(argument, values) for argument in expression.arguments])
    function = substitute_in_function(expression.function, values)
    return Call(function, arguments, None, expression.position)


def substitute_in_function(function: Function, values: dict[Parameter, Expression]) -> Function:
    if isinstance(function, Lambda):
        body = substitute_parameters(function.body, values)
        return Lambda(function.parameters, body, function.position, function.name)
    if isinstance(function, Pattern) and function.functions:
        inner: list[Lambda] = []
        for one in function.functions:
            replaced = substitute_in_function(one, values)
            assert isinstance(replaced, Lambda)
            inner.append(replaced)
        return function.rebuild(function.statics, tuple(inner))
    return function


def compose(outer: Function, inner: Function, position: Position) -> Lambda:
    """Return ``outer ∘ inner``, the lambda that applies `inner` to its arguments and `outer` to the result."""
    names = names_for(inner.arity if inner.arity >= 0 else 2)
    parameters = tuple([Parameter(name, position=position) for name in names])
    first = Call(inner, parameters, None, position)
    if outer.arity > 1:
        raise ill_typed(
            f"{name_function(outer)}: it is composed with another function, but takes {outer.arity} arguments",
            position,
            "a function of one argument",
        )
    return Lambda(parameters, Call(outer, (first,), None, position), position)


@room_for_depth()
def chain_end(function: Lambda) -> bool:
    """Return True for a lambda that only hands its parameter through calls: its last argument, once, at the end."""
    if function.arity != 1:
        return False
    parameter = function.parameters[0]
    expression = function.body
    if parameter.declared is not None or not isinstance(expression, Call):
        return False
    while isinstance(expression, Call):
        if not expression.arguments or occurs_in_function(parameter, expression.function):
            return False
        if any(occurs(parameter, argument) for argument in expression.arguments[:-1]):
            return False
        expression = expression.arguments[-1]
    return expression is parameter


def substitute_end(expression: Expression, argument: Expression) -> Expression:
    """Replace the parameter at the end of a chain of calls by an argument."""
    if not isinstance(expression, Call):
        return argument
    inner = substitute_end(expression.arguments[-1], argument)
    return Call(expression.function, (*expression.arguments[:-1], inner), None, expression.position)


def occurs(parameter: Parameter, expression: Expression) -> bool:
    """Return True when a parameter is used in an expression."""
    if isinstance(expression, Literal | Parameter):
        return expression is parameter
    assert isinstance(expression, Call)
    return occurs_in_function(parameter, expression.function) or any(
        occurs(parameter, argument) for argument in expression.arguments
    )


def occurs_in_function(parameter: Parameter, function: Function) -> bool:
    if isinstance(function, Lambda):
        return occurs(parameter, function.body)
    return isinstance(function, Pattern) and any(occurs_in_function(parameter, inner) for inner in function.functions)
