"""The types of a program as text: one line for each call, in the order in which the data flows."""

from __future__ import annotations

from drawloom.lift.language.index_functions import IndexFunction
from drawloom.lift.language.infer import infer_types
from drawloom.lift.language.ir import Call, Expression, Lambda, Parameter, Pattern
from drawloom.lift.language.printer import print_index_function, show
from drawloom.lift.language.user_functions.function import UserFunction


def show_types(program: Lambda) -> str:
    """Print the type of every call of a program, arguments before the calls that use them.

    Args:
        program: A lambda; its types are inferred if that has not been done.

    Returns:
        A line for each parameter and each call. The body of a pattern's function is indented under its parameters.

    Raises:
        LiftTypeError: The program is ill-typed.

    Example:
        >>> from drawloom.lift import add, array, float32, fun, join, map_glb, reduce_seq, size, split
        >>> print(show_types(fun(array(float32, size("N")), lambda x:
        ...     split(4, x) >> map_glb(reduce_seq(0, add)) >> join)))
        x: [float]N
        split(4): [[float]4](N/^4)
        mapGlb(0): [[float]1](N/^4)
          p: [float]4
          reduceSeq: [float]1
            p0: float
            p1: float
            add: float
        join: [float](N/^4)
    """
    typed = program if program.body.type is not None else infer_types(program)
    lines: list[str] = []
    place_function(typed, "", lines)
    return "\n".join(lines)


def place_function(function: Lambda, indent: str, lines: list[str]) -> None:
    for parameter in function.parameters:
        lines.append(f"{indent}{parameter.name}: {parameter.typed}")
    place(function.body, indent, lines)
    if isinstance(function.body, Parameter):
        lines.append(f"{indent}{function.body.name}")


def place(expression: Expression, indent: str, lines: list[str]) -> None:
    """Append the lines of a call, after those of its arguments; other expressions have none of their own."""
    if not isinstance(expression, Call):
        return
    for argument in expression.arguments:
        place(argument, indent, lines)
    function = expression.function
    if isinstance(function, Lambda):
        lines.append(f"{indent}λ: {expression.typed}")
        place_function(function, indent + "  ", lines)
        return
    lines.append(f"{indent}{name(expression)}: {expression.typed}")
    if isinstance(function, Pattern):
        for inner in function.functions:
            place_function(inner, indent + "  ", lines)


def name(call: Call) -> str:
    """Return a pattern's name with what is in its slots but functions and arguments, or a user function's."""
    function = call.function
    if isinstance(function, UserFunction):
        return function.name
    if not isinstance(function, Pattern):
        return show(function)
    statics = [print_index_function(one) if isinstance(one, IndexFunction) else str(one) for one in function.statics]
    return f"{function.keyword}({', '.join(statics)})" if statics else function.keyword
