"""What the translation knows of a relation while it writes HorseIR: its columns, made on demand, and conditions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from drawloom.horse.ir import Literal, Operand
from drawloom.horse.printer import print_operand
from drawloom.horse.types import BOOL, VectorType

#: The anchor of a relation that always has one row.
ONE_ROW: Final = Literal([1], BOOL)


class Result:
    """An expression's values, and where they are not NULL (None: everywhere).

    ``canonical`` tells that all NULLs have one and the same value, as in stored columns.
    """

    def __init__(self, value: Operand, type: VectorType, valid: Operand | None = None, canonical: bool = False) -> None:
        self.value = value
        self.type = type
        self.valid = valid
        self.canonical = canonical


class Mask:
    """Where rows count: where ``operand`` is true, or is not."""

    def __init__(self, operand: Operand, is_negated: bool = False) -> None:
        self.operand = operand
        self.is_negated = is_negated

    @property
    def text(self) -> str:
        return ("not " if self.is_negated else "") + print_operand(self.operand)


class Truth:
    """Where a condition is true and where it is false; ``false`` is None where it is just not ``true``."""

    def __init__(self, true: Operand, false: Operand | None = None) -> None:
        self.true = true
        self.false = false


Column = Callable[[], Result]


class Frame:
    """The columns of a relation, made when first asked for, and a vector as long as the relation.

    ``rows`` is "all" for the rows of one stored table, "some" for those under masks, which kernels read where they
    lie, and "" for any other. ``guard`` says which rows count for an expression: the others raise no error.
    ``guarded`` makes a column of which only some rows count, where the columns are computed from these very rows.
    """

    def __init__(
        self, columns: list[Column], anchor: Callable[[], Operand], rows: str = "", guard: tuple[Mask, ...] = ()
    ) -> None:
        self.columns = columns
        self.anchor = anchor
        self.rows = rows
        self.guard = guard
        self.guarded: Callable[[int, tuple[Mask, ...]], Result] | None = None

    def where(self, *masks: Mask) -> Frame:
        """The same relation, of which fewer rows count."""
        made = Frame(self.columns, self.anchor, self.rows, (*self.guard, *masks))
        made.guarded = self.guarded
        return made

    def column(self, index: int) -> Result:
        if self.guard and self.guarded is not None:
            return self.guarded(index, self.guard)
        return self.columns[index]()
