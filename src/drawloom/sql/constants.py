"""Finds what constant folding hides: a quotient of exact constants, which DataFusion truncates or rounds.

DuckDB gives doubles (3/2 is 1.5), DataFusion folds integers to integers and decimals to decimals before a plan
reaches us. The plan before optimisation still has the division, so that such a query is refused, not answered wrong.
"""

from __future__ import annotations

from drawloom.sql.plan import (
    Aggregate,
    Apply,
    Case,
    Cast,
    Constant,
    Empty,
    Expression,
    Filter,
    InList,
    Project,
    Read,
    Relation,
    Sort,
)


def divides_constants(relation: Relation) -> bool:
    """Whether an expression of the plan divides one exact constant by another."""
    if isinstance(relation, Read | Empty):
        return False
    found: list[Expression] = []
    if isinstance(relation, Filter):
        found.append(relation.condition)
    elif isinstance(relation, Project):
        found.extend(relation.expressions)
    elif isinstance(relation, Aggregate):
        found.extend(relation.keys)
        found.extend([m.argument for m in relation.measures if m.argument is not None])
        found.extend([m.condition for m in relation.measures if m.condition is not None])
    elif isinstance(relation, Sort):
        found.extend([k.expression for k in relation.keys])
    below = getattr(relation, "input", None)
    assert isinstance(below, Relation)
    return any(_divides(e) for e in found) or divides_constants(below)


def _divides(expression: Expression) -> bool:
    if isinstance(expression, Apply):
        if expression.function == "divide" and all(_is_exact_constant(a) for a in expression.arguments):
            return True
        return any(_divides(a) for a in expression.arguments)
    if isinstance(expression, Cast):
        return _divides(expression.input)
    if isinstance(expression, Case):
        parts = [e for branch in expression.branches for e in branch]
        if expression.otherwise is not None:
            parts.append(expression.otherwise)
        return any(_divides(p) for p in parts)
    return isinstance(expression, InList) and any(_divides(e) for e in [expression.input, *expression.options])


def _is_exact_constant(expression: Expression) -> bool:
    if isinstance(expression, Constant):
        return isinstance(expression.value, int)
    if isinstance(expression, Cast):
        return not expression.type.is_float and _is_exact_constant(expression.input)
    if isinstance(expression, Apply):
        return all(_is_exact_constant(a) for a in expression.arguments)
    return False
