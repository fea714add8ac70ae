"""Relations that queries make rows with: recursive queries, series of numbers and moments, the elements of lists.

Relation ::= those of plan.py | Recursive(name, seen, names, start, step, is_distinct)
           | Series(type, low, count, stride) | Elements(number, input, list)
"""

from __future__ import annotations

from drawloom.horse.types import VectorType
from drawloom.sql.plan import Expression, Relation


class Recursive(Relation):
    """WITH RECURSIVE: the rows of ``start``, then those of ``step`` over them, and over these, until there are none.

    ``step`` reads the rows that it goes on from as the table ``name``, and all rows so far as ``seen``; their columns
    are ``names``. ``is_distinct`` tells that it is UNION, whose step leaves out what is among ``seen``.
    """

    def __init__(
        self, name: str, seen: str, names: list[str], start: Relation, step: Relation, is_distinct: bool
    ) -> None:
        self.name = name
        self.names = names
        self.seen = seen
        self.start = start
        self.step = step
        self.is_distinct = is_distinct
        self.width = start.width

    def of(self, start: Relation, step: Relation) -> Recursive:
        """The same over other relations."""
        return Recursive(self.name, self.seen, self.names, start, step, self.is_distinct)

    def inputs(self) -> list[Relation]:
        return [self.start, self.step]

    def line(self) -> str:
        return f"Recursive {self.name}{', distinct' * self.is_distinct}"


class Series(Relation):
    """One column of ``type``: ``low``, and ``count - 1`` times the value before it and ``stride`` more."""

    def __init__(self, type: VectorType, low: int, count: int, stride: int) -> None:
        self.type = type
        self.low = low
        self.count = count
        self.stride = stride
        self.width = 1

    def line(self) -> str:
        return f"Series of {self.count} from {self.low} by {self.stride}"


class Elements(Relation):
    """The elements of all lists that ``list`` is numbers of, over ``input``: the number of the list, and the element.

    ``number`` tells it from others; what it is of is found once the whole tree is there (``unnested.py``).
    """

    def __init__(self, number: int) -> None:
        self.number = number
        self.input: Relation | None = None
        self.list: Expression | None = None
        self.width = 2

    def copy(self) -> Elements:
        """The same, which may be of something else where the query reads it twice."""
        made = Elements(self.number)
        made.input, made.list = self.input, self.list
        return made

    def of(self, input: Relation, list: Expression) -> Elements:
        """The same over another relation."""
        made = Elements(self.number)
        made.input, made.list = input, list
        return made

    def inputs(self) -> list[Relation]:
        return [] if self.input is None else [self.input]

    def expressions(self) -> list[Expression]:
        return [] if self.list is None else [self.list]

    def line(self) -> str:
        return f"Elements of {'?' if self.list is None else self.list.key()}"
