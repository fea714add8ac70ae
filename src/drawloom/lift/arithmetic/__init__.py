"""Symbolic arithmetic of array lengths and indices: normal forms, relational ranges, proofs, C text.

>>> from drawloom.lift.arithmetic import index, variable
>>> m, n = variable("M"), variable("N")
>>> wg, l = index("wg", m), index("l", n)
>>> print((wg * n + l) // n, (wg * n + l) % n)
wg l
"""

from drawloom.lift.arithmetic.bounds import (
    is_at_most,
    is_less,
    is_nonnegative,
    is_positive,
    lower_bound,
    upper_bound,
)
from drawloom.lift.arithmetic.c_printer import c_condition, c_text, c_text_by_depth
from drawloom.lift.arithmetic.conditions import (
    all_of,
    any_of,
    equal,
    is_provably_false,
    is_provably_true,
    less,
    less_equal,
    negation,
    not_equal,
)
from drawloom.lift.arithmetic.expression import (
    FALSE,
    ONE,
    TRUE,
    ZERO,
    ArithmeticRefusal,
    Condition,
    Constant,
    Nat,
    Range,
    Variable,
    as_nat,
    constant,
    index,
    unsimplified,
    variable,
)
from drawloom.lift.arithmetic.opencl import Launch
from drawloom.lift.arithmetic.operators import (
    ceil_div,
    divides,
    exact_div,
    is_zero,
    log2,
    maximum,
    minimum,
    select,
)
from drawloom.lift.arithmetic.parser import parse, parse_condition
from drawloom.lift.arithmetic.simplify import simplify, simplify_condition
from drawloom.lift.arithmetic.substitution import (
    evaluate,
    evaluate_condition,
    free_variables,
    free_variables_of_condition,
    solve,
    substitute,
    substitute_condition,
)

__all__ = [
    "FALSE",
    "ONE",
    "TRUE",
    "ZERO",
    "ArithmeticRefusal",
    "Condition",
    "Constant",
    "Launch",
    "Nat",
    "Range",
    "Variable",
    "all_of",
    "any_of",
    "as_nat",
    "c_condition",
    "c_text",
    "c_text_by_depth",
    "ceil_div",
    "constant",
    "divides",
    "equal",
    "evaluate",
    "evaluate_condition",
    "exact_div",
    "free_variables",
    "free_variables_of_condition",
    "index",
    "is_at_most",
    "is_less",
    "is_nonnegative",
    "is_positive",
    "is_provably_false",
    "is_provably_true",
    "is_zero",
    "less",
    "less_equal",
    "log2",
    "lower_bound",
    "maximum",
    "minimum",
    "negation",
    "not_equal",
    "parse",
    "parse_condition",
    "select",
    "simplify",
    "simplify_condition",
    "solve",
    "substitute",
    "substitute_condition",
    "unsimplified",
    "upper_bound",
    "variable",
]
