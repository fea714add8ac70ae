"""Writes the statements of a HorseIR program: each call once, and rows that are picked several times picked once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from drawloom.horse.builtins import BUILTINS
from drawloom.horse.ir import Assign, Call, Expression, FunctionRef, Literal, Name, Operand, Pos, Statement, Target
from drawloom.horse.printer import print_operand
from drawloom.horse.signatures import result_type
from drawloom.horse.types import I64, WILDCARD, Type, VectorType
from drawloom.sql.frames import Column, Frame, Result

#: Builtins of each value whose other arguments say how.
_OF_EACH: Final = ("convert", "convert_moment", "parse", "can_convert", "substring", "like", "member")


class Emitter:
    """A program in the making: ``body`` has its statements so far."""

    def __init__(self) -> None:
        self.body: list[Statement] = []
        self.known: dict[str, Name] = {}
        #: What each variable holds, and those that are columns whose rows were picked.
        self.calls: dict[str, Call] = {}
        self.picks: dict[str, Call] = {}
        #: What rows were ordered by, by the variable of the order.
        self.orders: dict[str, list[Operand]] = {}
        self.types: dict[str, Type] = {}
        #: Variables computed from constants alone: one value, whatever the length of the relation.
        self.constants: set[str] = set()
        self.count = 0

    def emit(self, name: str, arguments: list[Operand], purpose: str = "") -> Name:
        """The variable that holds ``@name(arguments)``; the same call twice for one ``purpose`` is one statement."""
        key = f"{purpose}@{name}({', '.join([print_operand(a) for a in arguments])})"
        found = self.known.get(key)
        if found is not None:
            return found
        types = [self.type_of(a) for a in arguments]
        type = result_type(BUILTINS[name].signature, name, arguments, types)
        call = Call(FunctionRef(name), arguments)
        made = self.assign(call, type)
        self.calls[made.name] = call
        if BUILTINS[name].shape in ("unary", "binary", "ternary") or name in _OF_EACH:
            if all(self.is_constant(a) for a in arguments):
                self.constants.add(made.name)
        self.known[key] = made
        return made

    def one(self, value: Operand) -> Operand:
        """The value, of which there is one for all rows."""
        if isinstance(value, Name):
            self.constants.add(value.name)
        return value

    def is_constant(self, operand: Operand) -> bool:
        return isinstance(operand, Literal) or (isinstance(operand, Name) and operand.name in self.constants)

    def assign(self, value: Expression, type: Type) -> Name:
        name = f"t{self.count}"
        self.count += 1
        self.types[name] = type
        self.body.append(Assign([Target(name, type)], value, Pos(self.count, 1)))  # by which errors are worded
        return Name(name)

    def type_of(self, operand: Operand) -> Type:
        if isinstance(operand, Literal):
            return operand.type
        return self.types[operand.name] if isinstance(operand, Name) else WILDCARD

    def arguments_of(self, made: Operand) -> list[Operand]:
        """What the call was given that made a variable."""
        assert isinstance(made, Name)
        return self.calls[made.name].arguments

    def result(self, name: str, arguments: list[Operand], valid: Operand | None = None) -> Result:
        made = self.emit(name, arguments)
        type = self.types[made.name]
        assert isinstance(type, VectorType)
        return Result(made, type, valid)

    # Rows

    def mapped(self, below: Frame, change: Callable[[Operand], Operand]) -> Frame:
        """``below`` with ``change`` applied to every column and its validity; constants stay."""

        def column(index: int) -> Column:
            def make() -> Result:
                result = below.columns[index]()
                value = result.value if self.is_constant(result.value) else change(result.value)
                valid = result.valid
                if valid is not None and not self.is_constant(valid):
                    valid = change(valid)
                return Result(value, result.type, valid, result.canonical)

            return make

        return Frame([column(i) for i in range(len(below.columns))], lambda: change(below.anchor()))

    def picked(self, below: Frame, rows: Operand) -> Frame:
        """The rows of ``below`` at these positions, in their order."""
        return self.mapped(below, lambda value: self.index(value, rows))

    def selected(self, below: Frame, mask: Operand) -> Frame:
        """The rows of ``below`` where ``mask`` is true."""
        if self.is_constant(mask):
            mask = self.emit("fill", [mask, below.anchor()])
        if not below.rows:
            return self.picked(below, self.emit("where", [mask]))
        made = self.mapped(below, lambda value: self.pick("compress", [mask, value]))
        # No column is read for the number of rows alone.
        made.anchor = lambda: self.pick("compress", [mask, mask])
        made.rows = "some"
        return made

    def settled(self, below: Frame) -> Frame:
        """The frame for a join, which is control code: where masks select rows, by their numbers."""

        def settle(value: Operand) -> Operand:
            before = self.pick_of(value)
            return value if before is None else self.pick(before[0], [before[1], before[2]])

        return self.mapped(below, settle) if below.rows == "some" else below

    def pick(self, name: str, arguments: list[Operand]) -> Operand:
        """Rows of a column that may be picked from once more."""
        made = self.emit(name, arguments)
        self.picks[made.name] = self.calls[made.name]
        return made

    def pick_of(self, value: Operand) -> tuple[str, Operand, Operand] | None:
        """How the value was picked: "index" or "outer_index", from what, and at which rows; None for any other."""
        made = self.picks.get(value.name) if isinstance(value, Name) else None
        if made is None:
            return None
        first, second = made.arguments
        if made.function.name == "compress":
            return "index", second, self.emit("where", [first])
        return made.function.name, first, second

    def index(self, value: Operand, rows: Operand) -> Operand:
        """``value`` at ``rows``. What was picked before is picked once, from where it lies:

        @index(@index(v, a), b) = @index(v, @index(a, b))
        @index(@compress(m, v), b) = @index(v, @index(@where(m), b))
        """
        before = self.pick_of(value)
        if before is None:
            return self.pick("index", [value, rows])
        name, inner, first = before
        if name == "index":
            return self.index(inner, self.index(first, rows))
        return self.pick(name, [inner, self.index(first, rows)])

    def outer_index(self, value: Operand, rows: Operand) -> Operand:
        """``value`` at ``rows``, zero where that is -1."""
        before = self.pick_of(value)
        if before is None:
            return self.pick("outer_index", [value, rows])
        _, inner, first = before
        is_there = self.emit("geq", [rows, Literal([0], I64)])
        return self.outer_index(
            inner, self.emit("if_else", [is_there, self.outer_index(first, rows), Literal([-1], I64)])
        )

    def top(self, value: Operand, bounds: list[Operand]) -> Operand:
        """The rows of ``value`` that are kept when so many are skipped; of an order no more rows are sorted than these.

        @top(@order(keys, ...), skip, keep) = @top(@order_first(keys, ..., skip + keep), skip, keep)
        """
        made = self.picks.get(value.name) if isinstance(value, Name) else None
        if made is None or made.function.name == "compress":
            return self.emit("top", [self.first_rows(value, bounds), *bounds])
        return self.pick(made.function.name, [made.arguments[0], self.top(made.arguments[1], bounds)])

    def first_rows(self, value: Operand, bounds: list[Operand]) -> Operand:
        """As much of an order as ``@top`` with these bounds takes; any other value as it is."""
        order = self.orders.get(value.name) if isinstance(value, Name) else None
        skip, keep = [int(b.values[0]) for b in bounds if isinstance(b, Literal)]
        if order is None or keep < 0:
            return value
        return self.emit("order_first", [*order, Literal([skip + keep], I64)])
