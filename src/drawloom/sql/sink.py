"""Moves casts out of projections to where their result is used, which is where their meaning is known.

DataFusion computes a cast that two conditions share once, in a projection below them:

    Filter $1 >= -1 and $1 <= 1.5            Filter cast($0) >= -1 and cast($0) <= 1.5
      Project $0, cast($0 as decimal)   =>     Project $0, $0
"""

from __future__ import annotations

from drawloom.horse.types import VectorType
from drawloom.sql.made import Elements, Recursive
from drawloom.sql.plan import (
    Aggregate,
    Cast,
    Expression,
    Field,
    Filter,
    Join,
    JoinKey,
    Limit,
    Measure,
    Plan,
    Project,
    Relation,
    Sort,
    SortKey,
    Union,
    replaced,
)

#: The types that a column is still to be cast to, in order.
Pending = list[VectorType]


def sink_casts(plan: Plan) -> Plan:
    """The same plan with no cast at the top of a projection's expression, but for the result's and those of subqueries'
    results."""
    return Plan(_whole(plan.root), plan.names)


def _whole(relation: Relation) -> Relation:
    """The relation sunk, with its own columns as they were."""
    made, pending = _sunk(relation)
    return Project(made, [_field(i, pending) for i in range(len(pending))]) if any(pending) else made


def _sunk(relation: Relation) -> tuple[Relation, list[Pending]]:
    if isinstance(relation, Filter):
        below, pending = _sunk(relation.input)
        return Filter(below, _used(relation.condition, pending)), pending
    if isinstance(relation, Sort):
        below, pending = _sunk(relation.input)
        keys = [SortKey(_used(k.expression, pending), k.ascending, k.nulls_first) for k in relation.keys]
        return Sort(below, keys), pending
    if isinstance(relation, Limit):
        below, pending = _sunk(relation.input)
        return Limit(below, relation.skip, relation.keep), pending
    if isinstance(relation, Project):
        below, pending = _sunk(relation.input)
        stripped = [_stripped(_used(e, pending)) for e in relation.columns]
        return Project(below, [e for e, _ in stripped]), [types for _, types in stripped]
    if isinstance(relation, Aggregate):
        below, pending = _sunk(relation.input)
        made = Aggregate(
            below, [_used(k, pending) for k in relation.keys], [_measure(m, pending) for m in relation.measures]
        )
        return made, [[] for _ in range(made.width)]
    if isinstance(relation, Join):
        return _join(relation)
    if isinstance(relation, Union):
        return _union(relation), [[] for _ in range(relation.width)]
    if isinstance(relation, Recursive):
        relation = relation.of(_whole(relation.start), _whole(relation.step))
    elif isinstance(relation, Elements) and relation.input is not None and relation.list is not None:
        below, pending = _sunk(relation.input)
        relation = relation.of(below, _used(relation.list, pending))
    return relation, [[] for _ in range(relation.width)]


def _join(join: Join) -> tuple[Relation, list[Pending]]:
    left, of_left = _sunk(join.left)
    right, of_right = _sunk(join.right)
    both = [*of_left, *of_right]
    keys = [JoinKey(_used(k.left, of_left), _used(k.right, of_right), k.nulls_match) for k in join.keys]
    condition = None if join.condition is None else _used(join.condition, both)
    made = Join(join.kind, left, right, keys, condition, join.null_aware, join.counts, join.comparison)
    shown = {"semi": of_left, "anti": of_left, "mark": [*of_left, []], "right semi": of_right, "right anti": of_right}
    return made, shown.get(join.kind, both)


def _union(union: Union) -> Union:
    sides = [_sunk(r) for r in union.relations]
    columns = [[_used(e, pending) for e in given] for given, (_, pending) in zip(union.columns, sides)]
    return Union([below for below, _ in sides], columns)


def _measure(measure: Measure, pending: list[Pending]) -> Measure:
    arguments = [_used(a, pending) for a in measure.arguments]
    condition = None if measure.condition is None else _used(measure.condition, pending)
    sorts = [SortKey(_used(s.expression, pending), s.ascending, s.nulls_first) for s in measure.sorts]
    made = Measure(measure.function, arguments, condition, sorts, measure.is_distinct)
    made.ignores_nulls = measure.ignores_nulls
    return made


def _stripped(expression: Expression) -> tuple[Expression, Pending]:
    types: Pending = []
    while isinstance(expression, Cast) and not (expression.is_try or expression.is_asked):
        types.insert(0, expression.type)
        expression = expression.input
    return expression, types


def _field(index: int, pending: list[Pending]) -> Expression:
    made: Expression = Field(index)
    for type in pending[index]:
        made = Cast(made, type)
    return made


def _used(expression: Expression, pending: list[Pending]) -> Expression:
    """The expression over columns whose casts are ``pending``."""
    return replaced(expression, lambda index: _field(index, pending), _whole)
