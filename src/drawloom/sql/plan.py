"""The relational tree between Substrait and HorseIR: a few relations over typed expressions on column positions.

    Relation   ::= Read(table, columns) | Empty(rows, types) | Filter(input, condition) | Project(input, expressions)
                 | Aggregate(input, keys, measures) | Sort(input, keys) | Limit(input, skip, keep)
    Expression ::= Field(index) | Constant(value, type) | Apply(function, arguments) | Cast(input, type)
                 | Case(branches, otherwise) | InList(input, options)

Types are HorseIR's vector types. A constant of value None is NULL, typed.
"""

from __future__ import annotations

from drawloom.horse.types import VectorType


class Expression:
    def key(self) -> str:
        """A text that is equal exactly for structurally equal expressions."""
        raise NotImplementedError


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


class Cast(Expression):
    def __init__(self, input: Expression, type: VectorType) -> None:
        self.input = input
        self.type = type

    def key(self) -> str:
        return f"cast({self.input.key()} as {self.type})"


class Case(Expression):
    """The value of the first branch whose condition is true; ``otherwise`` None stands for NULL."""

    def __init__(self, branches: list[tuple[Expression, Expression]], otherwise: Expression | None) -> None:
        self.branches = branches
        self.otherwise = otherwise

    def key(self) -> str:
        arms = " ".join([f"when {c.key()} then {v.key()}" for c, v in self.branches])
        return f"case {arms} else {'null' if self.otherwise is None else self.otherwise.key()}"


class InList(Expression):
    def __init__(self, input: Expression, options: list[Expression]) -> None:
        self.input = input
        self.options = options

    def key(self) -> str:
        return f"{self.input.key()} in ({', '.join([o.key() for o in self.options])})"


class Measure:
    """An aggregate: sum, avg, count, count_distinct, min or max of ``argument`` (None for ``count(*)``) over the
    rows that ``condition`` (None for all) selects."""

    def __init__(self, function: str, argument: Expression | None, condition: Expression | None) -> None:
        self.function = function
        self.argument = argument
        self.condition = condition


class SortKey:
    def __init__(self, expression: Expression, ascending: bool, nulls_first: bool) -> None:
        self.expression = expression
        self.ascending = ascending
        self.nulls_first = nulls_first


class Relation:
    """Base of all relations; ``width`` is its number of columns."""

    width: int


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


class Filter(Relation):
    def __init__(self, input: Relation, condition: Expression) -> None:
        self.input = input
        self.condition = condition
        self.width = input.width


class Project(Relation):
    """Exactly ``expressions``, over the input's columns."""

    def __init__(self, input: Relation, expressions: list[Expression]) -> None:
        self.input = input
        self.expressions = expressions
        self.width = len(expressions)


class Aggregate(Relation):
    """The keys' columns, then the measures'. Without keys it is one row, for an empty input too."""

    def __init__(self, input: Relation, keys: list[Expression], measures: list[Measure]) -> None:
        self.input = input
        self.keys = keys
        self.measures = measures
        self.width = len(keys) + len(measures)


class Sort(Relation):
    def __init__(self, input: Relation, keys: list[SortKey]) -> None:
        self.input = input
        self.keys = keys
        self.width = input.width


class Limit(Relation):
    """Skips ``skip`` rows and keeps ``keep`` of the rest, all of them where ``keep`` is negative."""

    def __init__(self, input: Relation, skip: int, keep: int) -> None:
        self.input = input
        self.skip = skip
        self.keep = keep
        self.width = input.width


class Plan:
    """A whole query: its relation and the names of the result's columns."""

    def __init__(self, root: Relation, names: list[str]) -> None:
        self.root = root
        self.names = names


def show(relation: Relation, depth: int = 0) -> str:
    """The tree as indented text, a relation a line."""
    pad = "  " * depth
    if isinstance(relation, Read):
        return f"{pad}Read {relation.table}: {', '.join(relation.columns)}\n"
    if isinstance(relation, Empty):
        return f"{pad}Empty: {relation.rows} rows\n"
    if isinstance(relation, Filter):
        line, below = f"Filter {relation.condition.key()}", relation.input
    elif isinstance(relation, Project):
        line, below = f"Project {', '.join([e.key() for e in relation.expressions])}", relation.input
    elif isinstance(relation, Aggregate):
        keys = ", ".join([k.key() for k in relation.keys])
        measures = ", ".join([_show_measure(m) for m in relation.measures])
        line, below = f"Aggregate by [{keys}]: {measures}", relation.input
    elif isinstance(relation, Sort):
        keys = ", ".join([k.expression.key() + (" asc" if k.ascending else " desc") for k in relation.keys])
        line, below = f"Sort {keys}", relation.input
    else:
        assert isinstance(relation, Limit)
        line, below = f"Limit skip {relation.skip} keep {relation.keep}", relation.input
    return f"{pad}{line}\n" + show(below, depth + 1)


def _show_measure(measure: Measure) -> str:
    text = f"{measure.function}({'*' if measure.argument is None else measure.argument.key()})"
    return text if measure.condition is None else f"{text} filter {measure.condition.key()}"
