"""Subqueries that depend on the row they are asked for to joins, in the relational tree.

    R: exists (B)         R mark join B* on the outer columns
    R: v in (B)           the same, null-aware, where v is also the value
    R: (B)                R left join B* on the outer columns, B* of one row each

B* is B for all rows at once: where B reads the outer table it reads every combination of outer values that R has,
and carries these along to its result (Neumann and Kemper, Unnesting Arbitrary Queries, 2015): an aggregate has them
for keys, a limit counts within them, a join matches them.
"""

from __future__ import annotations

from typing import Final

from drawloom.horse.types import BOOL, I64
from drawloom.sql.made import Elements, Recursive
from drawloom.sql.plan import (
    Aggregate,
    Apply,
    Case,
    Constant,
    Dependent,
    Expression,
    Field,
    Filter,
    Join,
    JoinKey,
    Limit,
    Measure,
    Project,
    Read,
    Relation,
    Scalar,
    Sort,
    SortKey,
    Union,
    Window,
    WindowFrame,
    conjunction,
    conjuncts,
    replaced,
    within,
)

#: What comparisons are when they do not hold.
_OPPOSITE: Final[dict[str, str]] = {
    "equal": "not_equal", "not_equal": "equal", "lt": "gte", "gte": "lt", "gt": "lte", "lte": "gt",
}  # fmt: skip
#: Aggregates that are 0, not NULL, of no rows.
_COUNTS: Final = frozenset(["count", "approx_distinct", "regr_count"])
_ROWS: Final = WindowFrame("rows", None, 0)


def joined(relation: Relation, unsupported: list[str], tables: dict[str, Table] | None = None) -> Relation:
    """The relation with joins in the place of ``Dependent``, and the relations of ``tables`` in that of their names;
    subqueries that no join stands for are named in ``unsupported``."""
    return _Joins(unsupported, tables or {}).relation(relation)


class Table:
    """What a name stands for: a relation whose columns have these names."""

    def __init__(self, relation: Relation, names: list[str]) -> None:
        self.relation = relation
        self.names = names


def for_all(relation: Relation, table: str, columns: list[str], domain: Relation, unsupported: list[str]) -> Relation:
    """The rows of a subquery that reads outer values from ``table`` for all values of ``domain``, with these."""
    return _Carried(table, columns, domain, unsupported).whole(joined(relation, unsupported))


class _Joins:
    def __init__(self, unsupported: list[str], tables: dict[str, Table]) -> None:
        self.unsupported = unsupported
        self.tables = tables

    def relation(self, relation: Relation) -> Relation:
        if isinstance(relation, Filter):
            return self.filter(relation)
        if isinstance(relation, Project):
            side = _Side(self, self.relation(relation.input))
            columns = [side.expression(e) for e in relation.columns]
            return Project(side.relation, columns)
        if isinstance(relation, Sort):
            side = _Side(self, self.relation(relation.input))
            keys = [side.sort(k) for k in relation.keys]
            return _first(Sort(side.relation, keys), relation.width)
        if isinstance(relation, Aggregate):
            side = _Side(self, self.relation(relation.input))
            keys_of = [side.expression(k) for k in relation.keys]
            measures = [side.measure(m) for m in relation.measures]
            return Aggregate(side.relation, keys_of, measures)
        if isinstance(relation, Limit):
            return Limit(self.relation(relation.input), relation.skip, relation.keep)
        if isinstance(relation, Union):
            sides = [_Side(self, self.relation(r)) for r in relation.relations]
            shown = [[s.expression(e) for e in columns] for s, columns in zip(sides, relation.columns)]
            return Union([s.relation for s in sides], shown)
        if isinstance(relation, Recursive):
            return relation.of(self.relation(relation.start), self.relation(relation.step))
        if isinstance(relation, Read) and relation.table in self.tables:
            table = self.tables[relation.table]
            made = table.relation.copy() if isinstance(table.relation, Elements) else table.relation
            return Project(made, [Field(table.names.index(name)) for name in relation.columns])
        return self.join(relation) if isinstance(relation, Join) else relation

    def filter(self, relation: Filter) -> Relation:
        """A condition that is EXISTS or IN alone is a semi join, or an anti join; rows are kept by the others first."""
        whole, late = _divided(relation.condition)
        made = self.relation(relation.input)
        if whole is not None:
            made = Filter(made, self.inside(whole))
        for condition in late:
            is_negated = isinstance(condition, Apply) and condition.function == "not"
            inner = condition.parts()[0] if is_negated else condition
            if isinstance(inner, Dependent) and (inner.kind == "exists" or (inner.kind == "any" and not inner.is_row)):
                made = self.match(made, inner, "anti" if is_negated else "semi")
            else:
                side = _Side(self, made)
                kept = side.expression(condition)
                made = _first(Filter(side.relation, kept), relation.width)
        return made

    def join(self, join: Join) -> Relation:
        left, right = _Side(self, self.relation(join.left)), _Side(self, self.relation(join.right))
        keys = [JoinKey(left.expression(k.left), right.expression(k.right), k.nulls_match) for k in join.keys]
        whole, late = _divided(join.condition)
        if late and join.kind != "inner":
            self.refuse("a correlated subquery in the condition of an outer join")
        condition = None if whole is None else self.inside(whole)
        widths = (join.left.width, left.relation.width, right.relation.width)
        if condition is not None:
            condition = replaced(condition, lambda i: _moved(i, widths), lambda r: r)
        made = Join(
            join.kind, left.relation, right.relation, keys, condition, join.null_aware, join.counts, join.comparison
        )
        if join.kind in ("inner", "left", "right", "full"):
            shown = [_moved(i, widths) for i in range(join.width)]
        elif join.kind.startswith("right "):
            shown = [Field(i) for i in range(join.width)]
        else:
            shown = [Field(i) for i in range(join.left.width)] + [Field(made.width - 1)] * (join.kind == "mark")
        result: Relation = made if made.width == join.width else Project(made, list(shown))
        for condition in late:
            result = self.filter(Filter(result, condition))
        return result

    def inside(self, expression: Expression) -> Expression:
        """The expression, which has no dependent subquery itself, with those of its own subqueries joined."""
        return replaced(expression, Field, self.relation)

    def match(self, relation: Relation, subquery: Dependent, kind: str) -> Relation:
        """The relation with a mark for each row, or its rows that match the subquery, or do not."""
        values, keys, outer = self.asked(relation, subquery)
        if subquery.kind == "exists":
            return Join(kind, relation, values, keys, None)
        comparison = subquery.comparison if subquery.kind == "any" else _OPPOSITE[subquery.comparison]
        first = JoinKey(outer[0], Field(0), False)
        is_unknown = kind != "semi" or comparison != "equal"
        return Join(kind, relation, values, [first, *keys], None, is_unknown, comparison=comparison)

    def asked(self, relation: Relation, subquery: Dependent) -> tuple[Relation, list[JoinKey], list[Expression]]:
        """The rows of the subquery for all outer values of ``relation``, these behind its own columns; the keys by
        which the relation's rows find theirs; and the arguments."""
        arguments = [self.inside(a) for a in subquery.arguments]
        outer = arguments[len(arguments) - subquery.outer :]
        body = self.relation(subquery.relation)
        if not outer:
            return body, [], arguments
        rows = Project(relation, outer)
        domain = Aggregate(rows, [Field(i) for i in range(len(outer))], [])
        carried = _Carried(subquery.table, subquery.columns, domain, self.unsupported)
        keys = [JoinKey(e, Field(body.width + i), True) for i, e in enumerate(outer)]
        return carried.whole(body), keys, arguments

    def refuse(self, what: str) -> None:
        if what not in self.unsupported:
            self.unsupported.append(what)


class _Side:
    """A relation, and behind its columns those that the dependent subqueries of its expressions became."""

    def __init__(self, joins: _Joins, relation: Relation) -> None:
        self.joins = joins
        self.relation = relation
        self.found: dict[str, Expression] = {}

    def expression(self, expression: Expression) -> Expression:
        if isinstance(expression, Dependent):
            return self.dependent(expression)
        if not _has_dependent(expression):
            return self.joins.inside(expression)
        return expression.rebuilt([self.expression(p) for p in expression.parts()])

    def dependent(self, subquery: Dependent) -> Expression:
        arguments = [self.expression(a) for a in subquery.arguments]
        subquery = subquery.rebuilt(arguments)
        key = subquery.key()
        if key not in self.found:
            self.found[key] = self.value(subquery)
        return self.found[key]

    def value(self, subquery: Dependent) -> Expression:
        width = self.relation.width
        if subquery.is_row:
            return self.among_rows(subquery)
        if subquery.kind != "scalar":
            self.relation = self.joins.match(self.relation, subquery, "mark")
            mark = Field(width)
            return Apply("not", [mark]) if subquery.kind == "all" else mark
        values, keys, _ = self.joins.asked(self.relation, subquery)
        if not keys:
            return Scalar(values)
        outer: list[Expression] = [Field(values.width - len(keys) + i) for i in range(len(keys))]
        if not _is_single(subquery.relation):
            values = Aggregate(values, outer, [Measure("only_value", [Field(0)])])
            values = Project(values, [Field(len(keys)), *[Field(i) for i in range(len(keys))]])
            keys = [JoinKey(k.left, Field(1 + i), True) for i, k in enumerate(keys)]
        self.relation = Join("left", self.relation, values, keys, None)
        return Field(width)

    def among_rows(self, subquery: Dependent) -> Expression:
        """Whether several values are a row of the subquery, of kind "any": unknown where none is, and one may be."""
        hit, width = Field(self.relation.width), self.relation.width + 1
        values, keys, arguments = self.joins.asked(self.relation, subquery)
        pairs = [(v, i) for i, v in enumerate(arguments[: len(arguments) - subquery.outer])]
        equal = [JoinKey(value, Field(i), False) for value, i in pairs]
        self.relation = Join("mark", self.relation, values, [*equal, *keys], None)
        tests: list[Expression] = [Apply("equal", [value, Field(width + i)]) for value, i in pairs]
        test = tests[0]
        for other in tests[1:]:
            test = Apply("and", [test, other])
        self.relation = Join("mark", self.relation, values, keys, Apply("is_not_false", [test]))
        return Case([(hit, Constant(1, BOOL)), (Field(width), Constant(None, BOOL))], Constant(0, BOOL))

    def sort(self, key: SortKey) -> SortKey:
        return SortKey(self.expression(key.expression), key.ascending, key.nulls_first)

    def measure(self, measure: Measure) -> Measure:
        condition = None if measure.condition is None else self.expression(measure.condition)
        arguments, sorts = [self.expression(a) for a in measure.arguments], [self.sort(s) for s in measure.sorts]
        made = Measure(measure.function, arguments, condition, sorts, measure.is_distinct)
        made.ignores_nulls = measure.ignores_nulls
        return made


class _Carried:
    """Relations that read the outer table, as relations that read ``domain`` and have its columns behind their own."""

    def __init__(self, table: str, columns: list[str], domain: Relation, unsupported: list[str]) -> None:
        self.table = table
        self.columns = columns
        self.domain = domain
        self.unsupported = unsupported
        #: What relations became, by their identity, with themselves, so that none is made twice.
        self.known: dict[int, tuple[Relation, Relation | None]] = {}

    @property
    def count(self) -> int:
        return self.domain.width

    def whole(self, relation: Relation) -> Relation:
        """The relation with the outer values, all of them with each row where it does not depend on them."""
        found = self.carried(relation)
        return Join("inner", relation, self.domain, [], None) if found is None else found

    def carried(self, relation: Relation) -> Relation | None:
        """None for a relation that does not read the outer table."""
        if id(relation) not in self.known:
            self.known[id(relation)] = relation, self.made(relation)
        return self.known[id(relation)][1]

    def made(self, relation: Relation) -> Relation | None:
        if isinstance(relation, Read):
            if relation.table != self.table:
                return None
            shown = [self.columns.index(name) for name in relation.columns]
            return Project(self.domain, [Field(i) for i in [*shown, *range(self.count)]])
        if isinstance(relation, Join):
            return self.join(relation)
        if all(self.carried(below) is None for below in relation.inputs()):
            return None
        if isinstance(relation, Recursive):
            self.unsupported.append("a recursive query that names columns of the query around it")
            return None
        if isinstance(relation, Union):
            sides = [self.whole(r) for r in relation.relations]
            columns = [[*given, *self.outer(side.width - self.count)] for given, side in zip(relation.columns, sides)]
            return Union(sides, columns)
        (input,) = relation.inputs()
        below, width = self.whole(input), input.width
        outer = self.outer(width)
        if isinstance(relation, Filter):
            return Filter(below, relation.condition)
        if isinstance(relation, Sort):
            return Sort(below, relation.keys)
        if isinstance(relation, Project):
            return Project(below, [*[_partitioned(e, outer) for e in relation.columns], *outer])
        if isinstance(relation, Limit):
            number = Window("row_number", [], outer, [], _ROWS)
            counted = Project(below, [*[Field(i) for i in range(below.width)], number])
            bounds: list[Expression] = [Apply("gt", [Field(below.width), Constant(relation.skip, I64)])]
            if relation.keep >= 0:
                last = Constant(relation.skip + relation.keep, I64)
                bounds.append(Apply("lte", [Field(below.width), last]))
            return _first(Filter(counted, bounds[0] if len(bounds) == 1 else Apply("and", bounds)), below.width)
        assert isinstance(relation, Aggregate)
        return self.aggregate(relation, below, outer)

    def outer(self, width: int) -> list[Expression]:
        """The outer values behind ``width`` columns."""
        return [Field(width + i) for i in range(self.count)]

    def aggregate(self, relation: Aggregate, below: Relation, outer: list[Expression]) -> Relation:
        """Groups have the outer values for keys; without keys there is one for each of them, of no rows too."""
        keys, measures = len(relation.keys), len(relation.measures)
        made: Relation = Aggregate(below, [*relation.keys, *outer], relation.measures)
        if relation.keys:
            shown = [*range(keys), *range(keys + self.count, made.width), *range(keys, keys + self.count)]
            return Project(made, [Field(i) for i in shown])
        on = [JoinKey(Field(i), Field(i), True) for i in range(self.count)]
        made = Join("left", self.domain, made, on, None)
        columns: list[Expression] = []
        for i, measure in enumerate(relation.measures):
            value: Expression = Field(2 * self.count + i)
            if measure.function in _COUNTS:
                value = Case([(Apply("is_null", [value]), Constant(0, I64))], value)
            columns.append(value)
        assert len(columns) == measures
        return Project(made, [*columns, *self.outer(0)])

    def join(self, join: Join) -> Relation | None:
        """The side whose rows are kept without a match must know what they are kept for; sides that both know must
        agree."""
        left, right = self.carried(join.left), self.carried(join.right)
        if left is None and right is None:
            return None
        if left is None and join.kind in ("left", "full", "semi", "anti", "mark"):
            left = self.whole(join.left)
        if right is None and join.kind in ("right", "full", "right semi", "right anti"):
            right = self.whole(join.right)
        keys = list(join.keys)
        if left is not None and right is not None:
            pairs = zip(self.outer(join.left.width), self.outer(join.right.width))
            keys.extend([JoinKey(a, b, True) for a, b in pairs])
        sides = (left or join.left, right or join.right)
        widths = (join.left.width, sides[0].width, sides[1].width)
        condition = join.condition
        if condition is not None:
            condition = replaced(condition, lambda i: _moved(i, widths), lambda r: r)
        made = Join(join.kind, sides[0], sides[1], keys, condition, join.null_aware, join.counts, join.comparison)
        if join.kind.endswith(("semi", "anti")):
            return made
        if join.kind == "mark":
            return Project(made, [*[Field(i) for i in range(join.left.width)], Field(made.width - 1),
                                  *self.outer(join.left.width)])  # fmt: skip
        of_left, of_right = self.outer(join.left.width), self.outer(sides[0].width + join.right.width)
        outer = of_left if left is not None and join.kind != "right" else of_right
        if join.kind == "full":
            outer = [Case([(Apply("is_null", [a]), b)], a) for a, b in zip(of_left, of_right)]
        return Project(made, [*[_moved(i, widths) for i in range(join.width)], *outer])


def _divided(condition: Expression | None) -> tuple[Expression | None, list[Expression]]:
    """The parts of a condition that have no dependent subquery, as one, and the others."""
    parts = conjuncts(condition)
    has = [_has_dependent(part) for part in parts]
    return conjunction([p for p, is_late in zip(parts, has) if not is_late]), [p for p, late in zip(parts, has) if late]


def _has_dependent(expression: Expression) -> bool:
    return any(isinstance(part, Dependent) for part in within(expression))


def _first(relation: Relation, width: int) -> Relation:
    """The relation's first columns."""
    return relation if relation.width == width else Project(relation, [Field(i) for i in range(width)])


def _moved(index: int, widths: tuple[int, int, int]) -> Field:
    """A column of a join whose left side was ``widths[0]`` wide, and is ``widths[1]`` now."""
    return Field(index if index < widths[0] else index - widths[0] + widths[1])


def _partitioned(expression: Expression, outer: list[Expression]) -> Expression:
    """The expression, whose window functions see the rows of the same outer values."""
    made = expression.rebuilt([_partitioned(p, outer) for p in expression.parts()])
    if isinstance(made, Window):
        made.partitions = [*made.partitions, *outer]
    return made


def _is_single(relation: Relation) -> bool:
    """Whether a subquery has one row, or none, for all outer values."""
    while isinstance(relation, Project | Filter | Sort):
        (relation,) = relation.inputs()
    return (isinstance(relation, Aggregate) and not relation.keys) or (
        isinstance(relation, Limit) and 0 <= relation.keep <= 1
    )
