"""Which algebraic properties the function of a reduction has: those of the user function that it comes down to."""

from __future__ import annotations

from drawloom.lift.language.ir import Call, Expression, Lambda, Pattern
from drawloom.lift.language.user_functions.function import UserFunction


class OperatorProperties:
    """What is known of a binary function; ``operator`` is the user function that decides it."""

    def __init__(self, operator: UserFunction | None) -> None:
        self.operator = operator
        self.associative = operator is not None and operator.associative
        self.commutative = operator is not None and operator.commutative
        self.has_neutral = operator is not None and operator.neutral is not None


def operator_properties(function: Lambda) -> OperatorProperties:
    """Return the properties of a binary function.

    A user function has what is declared of it. A function that applies such a function to the elements of two
    arrays pairwise, or to the components of two vectors, has the same properties.
    """
    return OperatorProperties(find_operator(function))


def find_operator(function: Lambda) -> UserFunction | None:
    """Return the user function that a binary function applies to its two parameters, or pairwise to their elements."""
    if function.arity != 2:
        return None
    first, second = function.parameters
    body = function.body
    if not isinstance(body, Call):
        return None
    inner = body.function
    if isinstance(inner, UserFunction) and len(body.arguments) == 2:
        return inner if are_both(body.arguments, first, second, inner.commutative) else None
    if not isinstance(inner, Pattern):
        return None
    if inner.keyword == "vectorize" and are_both(body.arguments, first, second, False):
        return find_operator(inner.functions[0])
    if inner.keyword.startswith("map") and inner.arity == 1:
        pairs = body.arguments[0]
        if (
            isinstance(pairs, Call)
            and isinstance(pairs.function, Pattern)
            and pairs.function.keyword == "zip"
            and len(pairs.arguments) == 2
        ):
            operator = find_pair_operator(inner.functions[0])
            if operator is not None and are_both(pairs.arguments, first, second, operator.commutative):
                return operator
    return None


def find_pair_operator(function: Lambda) -> UserFunction | None:
    """Return the user function that is applied to both components of a pair, perhaps under further maps."""
    if function.arity != 1 or not isinstance(function.body, Call):
        return None
    pair, body = function.parameters[0], function.body
    inner = body.function
    if isinstance(inner, UserFunction) and len(body.arguments) == 2:
        left, right = [component_of(argument, pair) for argument in body.arguments]
        in_order = (left, right) == (0, 1) or ((left, right) == (1, 0) and inner.commutative)
        return inner if in_order else None
    if isinstance(inner, Pattern) and inner.keyword.startswith("map") and inner.arity == 1:
        zipped = body.arguments[0]
        if (
            isinstance(zipped, Call)
            and isinstance(zipped.function, Pattern)
            and zipped.function.keyword == "zip"
            and [component_of(argument, pair) for argument in zipped.arguments] == [0, 1]
        ):
            return find_pair_operator(inner.functions[0])
    return None


def component_of(expression: Expression, pair: Expression) -> int | None:
    """Return i for ``get(i, pair)``, None for anything else."""
    if (
        isinstance(expression, Call)
        and isinstance(expression.function, Pattern)
        and expression.function.keyword == "get"
        and expression.arguments[0] is pair
    ):
        index = expression.function.statics[0]
        return index if isinstance(index, int) else None
    return None


def are_both(arguments: tuple[Expression, ...], first: Expression, second: Expression, commutative: bool) -> bool:
    """Return True when the arguments are the two parameters, in their order or, if that is the same, the other."""
    if len(arguments) != 2:
        return False
    if arguments[0] is first and arguments[1] is second:
        return True
    return commutative and arguments[0] is second and arguments[1] is first
