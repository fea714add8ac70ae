"""Names everything unsupported in a plan that has no Substrait form as a whole: parts that have one are decoded, the
others are read from DataFusion's own tree."""

from __future__ import annotations

import re
from typing import Any, Final

from drawloom.sql.aggregates import AGGREGATE_FUNCTIONS
from drawloom.sql.expressions import SCALAR_FUNCTIONS, WINDOW_FUNCTIONS
from drawloom.sql.planner import Planner, SqlError
from drawloom.sql.planner_process import PlanApart
from drawloom.sql.substrait import decode
from drawloom.sql.windows import FUNCTIONS

#: The methods by which DataFusion's plan nodes show their expressions.
_EXPRESSIONS: Final = ("projections", "predicate", "group_by_exprs", "aggregate_exprs", "sort_exprs", "get_window_expr")
#: DataFusion's words for what it cannot serialise, and the kind of thing that each introduces.
_CAUSES: Final[tuple[tuple[str, re.Pattern[str]], ...]] = (
    ("relation", re.compile(r"Unsupported plan type: (\w+)")),
    ("expression", re.compile(r"Cannot convert (\w+)")),
    ("literal", re.compile(r"Unsupported literal: (\w+)")),
    ("type", re.compile(r"Unsupported cast type: Field \{ (.*) \}")),
    ("expression", re.compile("Cannot parse (placeholder)")),
    ("relation", re.compile("join constraint: `(using)`")),
    ("window functions", re.compile("window frame unit: (Groups)")),
)
_SQL_NAMES: Final[dict[str, str]] = {
    "RecursiveQuery": "WITH RECURSIVE", "Unnest": "UNNEST", "DescribeTable": "DESCRIBE", "SimilarTo": "SIMILAR TO",
    "placeholder": "a parameter", "OuterReferenceColumn": "a correlated subquery that is no join",
    "using": "an outer JOIN with USING", "Groups": "a frame of GROUPS",
}  # fmt: skip
_OPERATORS: Final = frozenset(["+", "-", "*", "/", "%", "=", "!=", "<", "<=", ">", ">=", "AND", "OR"])


def unsupported_parts(planner: Planner, plan: Any, found: list[str]) -> None:
    """Adds to ``found`` what ``plan`` needs that is not built, each thing once."""
    if isinstance(plan, PlanApart):
        for what in plan.unsupported():
            _add(what, found)
        return
    cause = _decoded(planner, plan, found)
    if cause:
        _add(cause, found)
        for expression in _node_expressions(plan):
            _walk(expression, found)
        for below in plan.inputs():
            unsupported_parts(planner, below, found)


def _add(what: str, found: list[str]) -> None:
    if what not in found:
        found.append(what)


def _decoded(planner: Planner, plan: Any, found: list[str]) -> str:
    """Decodes the plan for what it has that is unsupported; what keeps it from a Substrait form, "" for nothing."""
    try:
        data = planner.serialise(plan)
    except SqlError as problem:
        return _cause(str(problem))
    decode(data, found, planner.unknown)
    return ""


def _cause(problem: str) -> str:
    for kind, pattern in _CAUSES:
        match = pattern.search(problem)
        if match is not None:
            word = match.group(1).replace('\\"', '"')
            return f"{kind}: {_SQL_NAMES.get(word, word)}"
    return problem.splitlines()[0][:200]


def _node_expressions(plan: Any) -> list[Any]:
    try:
        node = plan.to_variant()
    except Exception:  # a node that the bindings do not show; its inputs are still looked at
        return []
    made: list[Any] = []
    for method in _EXPRESSIONS:
        if hasattr(node, method):
            given = getattr(node, method)()
            made.extend(given if isinstance(given, list) else [given])
    return made


def _walk(expression: Any, found: list[str]) -> None:
    if not hasattr(expression, "variant_name"):
        expression = expression.expr()  # a sort key
    kind = str(expression.variant_name())
    try:
        operands = [] if kind in ("Literal", "Column") else list(expression.rex_call_operands())
    except Exception:  # an expression that the bindings do not take apart
        operands = []
    name = str(expression.canonical_name()).partition("(")[0]
    if kind == "WindowFunction":
        if name not in FUNCTIONS:
            _add(f"{'window' if name in WINDOW_FUNCTIONS else 'aggregate'} function: {name} OVER (...)", found)
    elif kind == "ScalarFunction" and name not in SCALAR_FUNCTIONS:
        _add(f"function: {name}", found)
    elif kind == "AggregateFunction" and name not in AGGREGATE_FUNCTIONS:
        _add(f"aggregate function: {name}", found)
    elif kind == "BinaryExpr" and str(expression.rex_call_operator()).upper() not in _OPERATORS:
        _add(f"operator: {expression.rex_call_operator()}", found)
    for operand in operands:
        _walk(operand, found)
