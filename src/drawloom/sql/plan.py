"""The relational tree between Substrait and HorseIR: a few relations over typed expressions on column positions.

    Relation   ::= Read(table, columns) | Empty(rows, types) | Values(columns) | Filter(input, condition)
                 | Project(input, expressions) | Aggregate(input, keys, measures) | Sort(input, keys)
                 | Limit(input, skip, keep) | Join(kind, left, right, keys, condition) | Union(inputs)
                 | those of made.py
    Expression ::= Field(index) | Constant(value, type) | Apply(function, arguments) | Cast(input, type)
                 | Asked(input) | Case(branches, otherwise) | InList(input, options) | Scalar(relation)
                 | InRelation(input, relation) | Exists(relation) | Dependent(kind, arguments, relation)
                 | Window(function, arguments, partitions, sorts, frame)

Types are HorseIR's vector types. A constant of value None is NULL, typed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Final

from drawloom.errors import count
from drawloom.horse.types import VectorType


class Expression:
    def key(self) -> str:
        """A text that is equal exactly for structurally equal expressions."""
        raise NotImplementedError

    def parts(self) -> list[Expression]:
        """The expressions directly inside, over the same columns."""
        return []

    def rebuilt(self, parts: list[Expression]) -> Expression:
        """The same over other parts."""
        return self


class Field(Expression):
    """Column ``index`` of the input relation, from 0."""

    def __init__(self, index: int) -> None:
        self.index = index

    def key(self) -> str:
        return f"${self.index}"


class Constant(Expression):
    """``value`` is an integer (unscaled, days), a float, a string, or None for NULL."""

    def __init__(self, value: int | float | str | None, type: VectorType) -> None:
        self.value = value
        self.type = type

    def key(self) -> str:
        return f"{self.value!r}:{self.type}"


class Apply(Expression):
    """A scalar function by its Substrait name."""

    def __init__(self, function: str, arguments: list[Expression]) -> None:
        self.function = function
        self.arguments = arguments

    def key(self) -> str:
        return f"{self.function}({', '.join([a.key() for a in self.arguments])})"

    def parts(self) -> list[Expression]:
        return self.arguments

    def rebuilt(self, parts: list[Expression]) -> Expression:
        return Apply(self.function, parts)


class ListsType(VectorType):
    """The type of lists of ``element``, which may be lists, that values are cast to."""

    def __init__(self, element: VectorType) -> None:
        super().__init__(f"list<{element}>", "list", 64)
        self.element = element


class Cast(Expression):
    """``is_try`` makes NULL of what has no value in the type, which else is an error; ``is_asked`` tells that the query
    has the cast, of which the planner could have put in the like."""

    def __init__(self, input: Expression, type: VectorType, is_try: bool = False, is_asked: bool = False) -> None:
        self.input = input
        self.type = type
        self.is_try = is_try
        self.is_asked = is_asked

    def key(self) -> str:
        return f"{'try_' if self.is_try else ''}cast({self.input.key()} as {self.type})"

    def parts(self) -> list[Expression]:
        return [self.input]

    def rebuilt(self, parts: list[Expression]) -> Expression:
        return Cast(parts[0], self.type, self.is_try, self.is_asked)


class Asked(Expression):
    """A column that the query casts, where the planner has put the cast below: once that is back here it is a Cast."""

    def __init__(self, input: Field) -> None:
        self.input = input

    def key(self) -> str:
        return self.input.key()

    def parts(self) -> list[Expression]:
        return [self.input]

    def rebuilt(self, parts: list[Expression]) -> Expression:
        return asked(parts[0])


def asked(expression: Expression) -> Expression:
    """The expression with the cast at its top told from the planner's."""
    if isinstance(expression, Cast):
        return Cast(expression.input, expression.type, expression.is_try, is_asked=True)
    return Asked(expression) if isinstance(expression, Field) else expression


class Case(Expression):
    """The value of the first branch whose condition is true; ``otherwise`` None stands for NULL."""

    def __init__(self, branches: list[tuple[Expression, Expression]], otherwise: Expression | None) -> None:
        self.branches = branches
        self.otherwise = otherwise

    def key(self) -> str:
        arms = " ".join([f"when {c.key()} then {v.key()}" for c, v in self.branches])
        return f"case {arms} else {'null' if self.otherwise is None else self.otherwise.key()}"

    def parts(self) -> list[Expression]:
        arms = [e for branch in self.branches for e in branch]
        return arms if self.otherwise is None else [*arms, self.otherwise]

    def rebuilt(self, parts: list[Expression]) -> Expression:
        branches = [(parts[2 * i], parts[2 * i + 1]) for i in range(len(self.branches))]
        return Case(branches, None if self.otherwise is None else parts[-1])


class InList(Expression):
    def __init__(self, input: Expression, options: list[Expression]) -> None:
        self.input = input
        self.options = options

    def key(self) -> str:
        return f"{self.input.key()} in ({', '.join([o.key() for o in self.options])})"

    def parts(self) -> list[Expression]:
        return [self.input, *self.options]

    def rebuilt(self, parts: list[Expression]) -> Expression:
        return InList(parts[0], parts[1:])


class Scalar(Expression):
    """The one value of a relation of one column; NULL where it has no row, an error where it has several."""

    def __init__(self, relation: Relation) -> None:
        self.relation = relation

    def key(self) -> str:
        return f"({shown_inline(self.relation)})"

    def rebuilt(self, parts: list[Expression]) -> Expression:
        return Scalar(self.relation)


class Exists(Expression):
    """Whether a relation has rows."""

    def __init__(self, relation: Relation) -> None:
        self.relation = relation

    def key(self) -> str:
        return f"exists ({shown_inline(self.relation)})"

    def rebuilt(self, parts: list[Expression]) -> Expression:
        return Exists(self.relation)


class InRelation(Expression):
    """Whether ``input`` is among the values of a relation of one column, with the three values of SQL's IN."""

    def __init__(self, input: Expression, relation: Relation) -> None:
        self.input = input
        self.relation = relation

    def key(self) -> str:
        return f"{self.input.key()} in ({shown_inline(self.relation)})"

    def parts(self) -> list[Expression]:
        return [self.input]

    def rebuilt(self, parts: list[Expression]) -> Expression:
        return InRelation(parts[0], self.relation)


class Dependent(Expression):
    """A subquery of the row that it is asked for: whether ``relation`` has rows ("exists"), whether the first arguments
    compare with any or all of its rows ("any", "all"), or its one value ("scalar").

    The last ``outer`` arguments are the values of the columns, by name, that ``relation`` reads from ``table``. None is
    left once ``dependent.py`` made them joins.
    """

    def __init__(
        self,
        kind: str,
        comparison: str,
        arguments: list[Expression],
        relation: Relation,
        table: str,
        columns: list[str],
    ) -> None:
        self.kind = kind
        self.comparison = comparison
        self.arguments = arguments
        self.relation = relation
        self.table = table
        self.columns = columns
        self.outer = len(columns)

    @property
    def is_row(self) -> bool:
        """Whether several values are compared."""
        return len(self.arguments) > self.outer + 1

    def key(self) -> str:
        arguments = ", ".join([a.key() for a in self.arguments])
        return f"{self.kind} {self.comparison} [{arguments}] of ({shown_inline(self.relation)})"

    def parts(self) -> list[Expression]:
        return self.arguments

    def rebuilt(self, parts: list[Expression]) -> Dependent:
        return Dependent(self.kind, self.comparison, parts, self.relation, self.table, self.columns)


class SortKey:
    def __init__(self, expression: Expression, ascending: bool, nulls_first: bool) -> None:
        self.expression = expression
        self.ascending = ascending
        self.nulls_first = nulls_first


class Measure:
    """An aggregate of ``arguments`` (none for ``count(*)``) over the rows that ``condition`` (None for all) selects, in
    the order of ``sorts``; ``is_distinct`` leaves out rows that repeat the arguments."""

    def __init__(
        self,
        function: str,
        arguments: list[Expression],
        condition: Expression | None = None,
        sorts: list[SortKey] | None = None,
        is_distinct: bool = False,
    ) -> None:
        self.function = function
        self.arguments = arguments
        self.condition = condition
        self.sorts = sorts or []
        self.is_distinct = is_distinct
        self.ignores_nulls = False

    def expressions(self) -> list[Expression]:
        made = [*self.arguments, *[s.expression for s in self.sorts]]
        return made if self.condition is None else [*made, self.condition]


class Span:
    """An offset of moments: months, and microseconds."""

    def __init__(self, months: int, micros: int) -> None:
        self.months = months
        self.micros = micros

    def __str__(self) -> str:
        return f"({self.months} months {self.micros})"


#: An offset of a frame's bound from a row: before it where that is negative; None is the end of the partition.
Offset = int | Fraction | Span | None


class WindowFrame:
    """The rows, around one of them, that a window function sees: from ``low`` to ``high``, both of them included.

    ``unit`` is "rows" for offsets of positions, "groups" for those of sets of rows that are equal in the order, "range"
    for offsets of the order's one key, where 0 stands for the rows that are equal in the order.
    """

    def __init__(self, unit: str, low: Offset, high: Offset) -> None:
        self.unit = unit
        self.low = low
        self.high = high

    def __str__(self) -> str:
        return f"{self.unit} {'..' if self.low is None else self.low} to {'..' if self.high is None else self.high}"


class Window(Expression):
    """A window function over the rows that are equal in ``partitions``, in the order of ``sorts``."""

    def __init__(
        self,
        function: str,
        arguments: list[Expression],
        partitions: list[Expression],
        sorts: list[SortKey],
        frame: WindowFrame,
        ignores_nulls: bool = False,
    ) -> None:
        self.function = function
        self.arguments = arguments
        self.partitions = partitions
        self.sorts = sorts
        self.frame = frame
        self.ignores_nulls = ignores_nulls
        self.is_distinct = False

    def key(self) -> str:
        arguments, partitions = [", ".join([e.key() for e in given]) for given in (self.arguments, self.partitions)]
        sorts = ", ".join([_show_sort(s) for s in self.sorts])
        nulls = " ignore nulls" if self.ignores_nulls else ""
        distinct = "distinct " if self.is_distinct else ""
        return f"{self.function}({distinct}{arguments}){nulls} over (by [{partitions}] order [{sorts}] {self.frame})"

    def parts(self) -> list[Expression]:
        return [*self.arguments, *self.partitions, *[s.expression for s in self.sorts]]

    def rebuilt(self, parts: list[Expression]) -> Expression:
        first, behind = len(self.arguments), len(self.arguments) + len(self.partitions)
        sorts = [SortKey(e, s.ascending, s.nulls_first) for e, s in zip(parts[behind:], self.sorts)]
        made = Window(self.function, parts[:first], parts[first:behind], sorts, self.frame, self.ignores_nulls)
        made.is_distinct = self.is_distinct
        return made


class Relation:
    """Base of all relations; ``width`` is its number of columns."""

    width: int

    def inputs(self) -> list[Relation]:
        return []

    def expressions(self) -> list[Expression]:
        """The expressions that the relation itself evaluates."""
        return []

    def line(self) -> str:
        """The relation itself as text."""
        return type(self).__name__


class Read(Relation):
    def __init__(self, table: str, columns: list[str]) -> None:
        self.table = table
        self.columns = columns
        self.width = len(columns)


class Empty(Relation):
    """No rows of columns of these types, or (``rows`` 1, no columns) what a SELECT without FROM reads."""

    def __init__(self, rows: int, types: list[VectorType]) -> None:
        self.rows = rows
        self.types = types
        self.width = len(types)


class Values(Relation):
    """The rows of constant ``columns``, which are not empty."""

    def __init__(self, columns: list[list[Constant]]) -> None:
        self.columns = columns
        self.width = len(columns)


class Filter(Relation):
    def __init__(self, input: Relation, condition: Expression) -> None:
        self.input = input
        self.condition = condition
        self.width = input.width

    def inputs(self) -> list[Relation]:
        return [self.input]

    def expressions(self) -> list[Expression]:
        return [self.condition]


class Project(Relation):
    """Exactly ``columns``, expressions over the input's columns."""

    def __init__(self, input: Relation, columns: list[Expression]) -> None:
        self.input = input
        self.columns = columns
        self.width = len(columns)

    def inputs(self) -> list[Relation]:
        return [self.input]

    def expressions(self) -> list[Expression]:
        return self.columns


class Aggregate(Relation):
    """The keys' columns, then the measures'. Without keys it is one row, for an empty input too."""

    def __init__(self, input: Relation, keys: list[Expression], measures: list[Measure]) -> None:
        self.input = input
        self.keys = keys
        self.measures = measures
        self.width = len(keys) + len(measures)

    def inputs(self) -> list[Relation]:
        return [self.input]

    def expressions(self) -> list[Expression]:
        return [*self.keys, *[e for m in self.measures for e in m.expressions()]]


class Sort(Relation):
    def __init__(self, input: Relation, keys: list[SortKey]) -> None:
        self.input = input
        self.keys = keys
        self.width = input.width

    def inputs(self) -> list[Relation]:
        return [self.input]

    def expressions(self) -> list[Expression]:
        return [k.expression for k in self.keys]


class Limit(Relation):
    """Skips ``skip`` rows and keeps ``keep`` of the rest, all of them where ``keep`` is negative."""

    def __init__(self, input: Relation, skip: int, keep: int) -> None:
        self.input = input
        self.skip = skip
        self.keep = keep
        self.width = input.width

    def inputs(self) -> list[Relation]:
        return [self.input]


class JoinKey:
    """Rows match where ``left``, over the left side's columns, equals ``right``, over the right side's; two NULLs are
    equal only where ``nulls_match``."""

    def __init__(self, left: Expression, right: Expression, nulls_match: bool) -> None:
        self.left = left
        self.right = right
        self.nulls_match = nulls_match


class Join(Relation):
    """``kind`` is "inner", "left", "right", "full" (the columns of both sides), "semi", "anti" (the left side's rows
    with, or without, a match), "right semi", "right anti" or "mark" (the left side's columns, and whether there is a
    match).

    A pair of rows matches where all ``keys`` do and ``condition``, over the columns of both sides, is true.
    ``null_aware`` makes an "anti" NOT IN and a "mark" IN, whose first key is the comparison: the answer is unknown
    where that is; ``comparison`` is which one. ``counts`` makes a "semi" INTERSECT ALL and an "anti" EXCEPT ALL: a row
    has as many matches as the other side has rows like it.
    """

    def __init__(
        self,
        kind: str,
        left: Relation,
        right: Relation,
        keys: list[JoinKey],
        condition: Expression | None,
        null_aware: bool = False,
        counts: bool = False,
        comparison: str = "equal",
    ) -> None:
        self.comparison = comparison
        self.counts = counts
        self.kind = kind
        self.left = left
        self.right = right
        self.keys = keys
        self.condition = condition
        self.null_aware = null_aware
        if kind in ("semi", "anti", "mark"):
            self.width = left.width + (kind == "mark")
        else:
            self.width = right.width + (0 if kind.startswith("right ") else left.width)

    def inputs(self) -> list[Relation]:
        return [self.left, self.right]

    def expressions(self) -> list[Expression]:
        sides = [e for k in self.keys for e in (k.left, k.right)]
        return sides if self.condition is None else [*sides, self.condition]


class Union(Relation):
    """The rows of all inputs, one behind the other: of each relation its ``columns``, expressions over it."""

    def __init__(self, relations: list[Relation], columns: list[list[Expression]]) -> None:
        self.relations = relations
        self.columns = columns
        self.width = len(columns[0])

    def inputs(self) -> list[Relation]:
        return self.relations

    def expressions(self) -> list[Expression]:
        return [e for columns in self.columns for e in columns]


class Plan:
    """A whole query: its relation and the names of the result's columns."""

    def __init__(self, root: Relation, names: list[str]) -> None:
        self.root = root
        self.names = names


def within(expression: Expression) -> Iterator[Expression]:
    """The expression and everything inside it, but not what is inside subqueries."""
    yield expression
    for part in expression.parts():
        yield from within(part)


def relations(relation: Relation) -> Iterator[Relation]:
    """The relation, then the subqueries in its expressions and its inputs, each with what is below it."""
    yield relation
    for expression in relation.expressions():
        for part in within(expression):
            if isinstance(part, Scalar | Exists | InRelation):
                yield from relations(part.relation)
    for below in relation.inputs():
        yield from relations(below)


def replaced(
    expression: Expression, field: Callable[[int], Expression], subquery: Callable[[Relation], Relation]
) -> Expression:
    """The expression with ``field(index)`` for every column, and the relations of subqueries changed."""
    if isinstance(expression, Field):
        return field(expression.index)

    made = expression.rebuilt([replaced(part, field, subquery) for part in expression.parts()])
    if isinstance(made, Scalar | Exists | InRelation | Dependent):
        made.relation = subquery(made.relation)
    return made


#: More conditions than this are not nested one by one: each level is frames of the stack.
_MANY: Final = 16


def conjuncts(condition: Expression | None) -> list[Expression]:
    """What must hold where a condition does: one after the other, none without a condition."""
    if condition is None:
        return []
    if isinstance(condition, Apply) and condition.function == "and":
        return [c for a in condition.arguments for c in conjuncts(a)]
    return [condition]


def conjunction(parts: list[Expression]) -> Expression | None:
    """What holds where all parts do, None for none: nested to the left, and many of them by halves."""
    if len(parts) > _MANY:
        halves = [conjunction(parts[: len(parts) // 2]), conjunction(parts[len(parts) // 2 :])]
        return Apply("and", [half for half in halves if half is not None])
    made = parts[0] if parts else None
    for part in parts[1:]:
        made = part if made is None else Apply("and", [made, part])
    return made


class Sides:
    """The arguments of a call, each over one side's columns; ``swapped`` where the first is the right one's."""

    def __init__(self, left: Expression, right: Expression, swapped: bool) -> None:
        self.left = left
        self.right = right
        self.swapped = swapped


def between(call: Apply, split: int) -> Sides | None:
    """The sides of a call over the columns of a join, of which the first ``split`` are the left side's; None where an
    argument has columns of both or of none."""
    sides = [{part.index < split for part in within(a) if isinstance(part, Field)} for a in call.arguments]
    if sides not in ([{True}, {False}], [{False}, {True}]):
        return None
    swapped = sides[0] == {False}
    left, right = call.arguments[::-1] if swapped else call.arguments
    return Sides(left, replaced(right, lambda i: Field(i - split), lambda r: r), swapped)


def show(relation: Relation, depth: int = 0) -> str:
    """The tree as indented text, a relation a line."""
    lines = f"{'  ' * depth}{_line(relation)}\n"
    return lines + "".join([show(below, depth + 1) for below in relation.inputs()])


def shown_inline(relation: Relation) -> str:
    return " <- ".join([line.strip() for line in show(relation).splitlines()])


def _line(relation: Relation) -> str:
    if isinstance(relation, Read):
        return f"Read {relation.table}: {', '.join(relation.columns)}"
    if isinstance(relation, Empty):
        return f"Empty: {count(relation.rows, 'row')}"
    if isinstance(relation, Values):
        rows = [", ".join([c.key() for c in row]) for row in zip(*relation.columns)]
        return f"Values ({'), ('.join(rows)})"
    if isinstance(relation, Filter):
        return f"Filter {relation.condition.key()}"
    if isinstance(relation, Project):
        return f"Project {', '.join([e.key() for e in relation.columns])}"
    if isinstance(relation, Aggregate):
        keys = ", ".join([k.key() for k in relation.keys])
        return f"Aggregate by [{keys}]: {', '.join([_show_measure(m) for m in relation.measures])}"
    if isinstance(relation, Sort):
        return f"Sort {', '.join([_show_sort(k) for k in relation.keys])}"
    if isinstance(relation, Join):
        return _show_join(relation)
    if isinstance(relation, Union):
        return f"Union of [{'], ['.join([', '.join([e.key() for e in columns]) for columns in relation.columns])}]"
    if isinstance(relation, Limit):
        return f"Limit skip {relation.skip} keep {relation.keep}"
    return relation.line()


def _show_sort(key: SortKey) -> str:
    return f"{key.expression.key()} {'asc' if key.ascending else 'desc'}{' nulls first' if key.nulls_first else ''}"


def _show_join(join: Join) -> str:
    keys = [f"{k.left.key()} {'is' if k.nulls_match else '='} right {k.right.key()}" for k in join.keys]
    if join.condition is not None:
        keys.append(f"if {join.condition.key()}")
    kind = f"{join.kind}{', null-aware' * join.null_aware}{', counted' * join.counts}"
    return f"Join {kind} on [{', '.join(keys)}]"


def _show_measure(measure: Measure) -> str:
    arguments = ", ".join([a.key() for a in measure.arguments]) or "*"
    text = f"{measure.function}({'distinct ' if measure.is_distinct else ''}{arguments}"
    if measure.sorts:
        text += f" order by {', '.join([_show_sort(s) for s in measure.sorts])}"
    return f"{text})" if measure.condition is None else f"{text}) filter {measure.condition.key()}"
