"""Keeps what may be an error (a division by zero, an overflow, a text that is no number) from rows that do not count:
those that another condition, a branch of CASE or a NULL leaves out.

Masks say which rows count. A call that may be an error under masks gets arguments that are harmless outside of them:

    case when i <> 0 then 10 % i end   =>   @mod(10, @if_else(i <> 0, i, 1))
    where s <> '' and s::int > 1       =>   @parse(s, `i32, s <> '')

A call whose arguments' ranges prove that it is none stays as it is, and so does one that is none outside of a mask
because an argument is 0 there, as stored columns are where they are NULL.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from drawloom.horse.builtins import BUILTINS
from drawloom.horse.ir import Call, Literal, Name, Operand
from drawloom.horse.plain import PLAIN
from drawloom.horse.printer import print_operand
from drawloom.horse.ranges import Range, call_range
from drawloom.horse.signatures import result_type
from drawloom.horse.types import F64, SYM, Type, VectorType, exact_bounds
from drawloom.sql.emitter import Emitter
from drawloom.sql.frames import Mask, Result

if TYPE_CHECKING:
    from drawloom.sql.translate import Schema

#: Builtins of exact numbers that are an error where the result does not fit; zeros for arguments are harmless.
_EXACT: Final = frozenset([
    "plus", "minus", "mul", "neg", "abs", "convert", "convert_moment", "timestamp_of", "add_months", "span",
    "shift_left",
])  # fmt: skip
#: Other builtins that may be an error, with the argument that decides and what is harmless for it.
_DECIDING: Final[dict[str, tuple[int, int | str]]] = {
    "mod": (1, 1), "date_bin": (0, 1), "repeat": (1, 0), "matches": (1, ""), "match_count": (1, ""),
    "match_place": (1, ""),
}  # fmt: skip
#: Those of rows whose last argument says which rows to look at.
_MASKED: Final = frozenset(["parse", *[name for name, row in PLAIN.items() if row.is_partial]])
_PARTIAL: Final = _EXACT | frozenset(_DECIDING) | _MASKED
#: What is 0 where an argument is, or where all are.
_ZERO_WHERE_ONE: Final = frozenset(["mul"])
_ZERO_WHERE_ALL: Final = frozenset(["plus", "minus", "neg", "abs", "convert"])
_PICKS: Final = frozenset(["index", "compress", "outer_index", "top"])


class Guarded(Emitter):
    """An emitter whose calls are no errors outside of ``masks``."""

    def __init__(self, schema: Schema) -> None:
        super().__init__()
        self.schema = schema
        #: The rows that count for what is emitted now.
        self.masks: tuple[Mask, ...] = ()
        self.ranges: dict[str, Range | None] = {}
        #: The calls that were made harmless, by what they were: the masks, and the variables.
        self.versions: dict[str, list[tuple[frozenset[str], Name]]] = {}

    def emit(self, name: str, arguments: list[Operand], purpose: str = "") -> Name:
        if not self.masks or name not in _PARTIAL:
            return super().emit(name, arguments, purpose)
        key = f"{purpose}@{name}({', '.join([print_operand(a) for a in arguments])})"
        if key in self.known:  # it is computed for all rows anyway
            return self.known[key]
        masks = self.needed(name, arguments)
        if not masks:
            return super().emit(name, arguments, purpose)
        texts = frozenset([m.text for m in self.masks])
        for others, version in self.versions.setdefault(key, []):
            if others <= texts:
                return version
        made = super().emit(name, self.harmless(name, arguments, masks), purpose)
        self.versions[key].append((frozenset([m.text for m in masks]), made))
        return made

    def result(self, name: str, arguments: list[Operand], valid: Operand | None = None) -> Result:
        """The call's result, whose rows count where it is ``valid``."""
        if valid is None:
            return super().result(name, arguments)
        outer, self.masks = self.masks, (*self.masks, Mask(valid))
        made = super().result(name, arguments, valid)
        self.masks = outer
        return made

    # What is an error where

    def needed(self, name: str, arguments: list[Operand]) -> list[Mask]:
        """The masks outside of which the call may be an error."""
        type = result_type(BUILTINS[name].signature, name, arguments, [self.type_of(a) for a in arguments])
        if self.is_harmless(name, type, arguments, []):
            return []
        made: list[Mask] = []
        for mask in self.masks:
            zeros = [i for i, a in enumerate(arguments) if self.is_zero_outside(a, mask)]
            if not (zeros and name in _EXACT and self.is_harmless(name, type, arguments, zeros)):
                made.append(mask)
        return [m for m in made if not (isinstance(m.operand, Literal) and bool(m.operand.values[0]) != m.is_negated)]

    def is_harmless(self, name: str, type: Type, arguments: list[Operand], zeros: list[int]) -> bool:
        """Whether the arguments' ranges prove that the call is no error, where those numbered ``zeros`` are 0."""
        if name in _MASKED:
            return False
        if name in _DECIDING:
            place, fitting = _DECIDING[name]
            if isinstance(fitting, str):
                return isinstance(arguments[place], Literal)
            range = self.range_of(arguments[place])
            return range is not None and (range[0] > 0 or (name == "mod" and range[1] < 0))
        assert isinstance(type, VectorType)
        given = self.type_of(arguments[0])
        if not type.is_exact:
            return not (name == "convert" and type.is_float and type != F64 and given == F64)
        typed: list[tuple[Type | None, Range | None]]
        typed = [(self.type_of(a), (0, 0) if i in zeros else self.range_of(a)) for i, a in enumerate(arguments)]
        if name == "convert" and isinstance(given, VectorType) and given.is_float:
            return 0 in zeros
        found = call_range(name, type, typed)
        if found is None:
            return zeros == self.values_of(arguments)
        low, high = exact_bounds(type)
        return low <= found[0] and found[1] <= high

    def range_of(self, operand: Operand) -> Range | None:
        """The least and greatest value that the operand may have; None for floats, and what is no vector."""
        type = self.type_of(operand)
        if not isinstance(type, VectorType) or not type.is_exact:
            return None
        if isinstance(operand, Literal):
            values = [v for v in operand.values if isinstance(v, int)]
            return (min(values, default=0), max(values, default=0))
        assert isinstance(operand, Name)
        if operand.name not in self.ranges:
            self.ranges[operand.name] = self.range_of_call(self.calls.get(operand.name), type)
        return self.ranges[operand.name]

    def range_of_call(self, call: Call | None, type: VectorType) -> Range:
        low, high = exact_bounds(type)
        found: Range | None = None
        if call is not None and call.function.name == "column_value":
            found = self.range_of_column(*call.arguments)
        elif call is not None:
            typed: list[tuple[Type | None, Range | None]]
            typed = [(self.type_of(a), self.range_of(a)) for a in call.arguments]
            found = call_range(call.function.name, type, typed)
        return (low, high) if found is None else (max(low, found[0]), min(high, found[1]))

    def range_of_column(self, table: Operand, column: Operand) -> Range | None:
        loaded = self.calls[table.name].arguments[0] if isinstance(table, Name) else None
        if not (isinstance(loaded, Literal) and isinstance(column, Literal)):
            return None
        return self.schema.range(str(loaded.values[0]), str(column.values[0]))

    def values_of(self, arguments: list[Operand]) -> list[int]:
        """The places of arguments that are values: all but the names of types."""
        return [i for i, a in enumerate(arguments) if self.type_of(a) != SYM]

    def is_zero_outside(self, operand: Operand, mask: Mask) -> bool:
        """Whether the operand is 0 wherever the mask says that rows do not count."""
        if isinstance(operand, Literal):
            return all(v == 0 for v in operand.values)
        call = self.calls.get(operand.name) if isinstance(operand, Name) else None
        if call is None:
            return False
        name, arguments = call.function.name, call.arguments
        if name == "if_else":
            zero = [self.is_zero_outside(a, mask) for a in arguments[1:]]
            if not mask.is_negated and print_operand(arguments[0]) == print_operand(mask.operand):
                return zero[1]
            return all(zero)
        if name in _ZERO_WHERE_ALL:
            return all(self.is_zero_outside(arguments[i], mask) for i in self.values_of(arguments))
        if name in _ZERO_WHERE_ONE:
            return any(self.is_zero_outside(a, mask) for a in arguments)
        other = self.calls.get(mask.operand.name) if isinstance(mask.operand, Name) else None
        if other is None or mask.is_negated:
            return False
        if name == "column_value":
            return other.function.name == "column_valid" and _texts(arguments) == _texts(other.arguments)
        if name in _PICKS and other.function.name == name:
            place = 1 if name == "compress" else 0
            rest = [_texts(a[:place] + a[place + 1 :]) for a in (arguments, other.arguments)]
            return rest[0] == rest[1] and self.is_zero_outside(arguments[place], Mask(other.arguments[place]))
        return False

    # Harmless arguments

    def harmless(self, name: str, arguments: list[Operand], masks: list[Mask]) -> list[Operand]:
        """The arguments with something in its place, outside of the masks, that is no error."""
        mask = self.all_of(masks)
        if name in _MASKED and all(self.is_constant(a) for a in [*arguments, mask]):
            return [*arguments, mask]
        if name in _MASKED:
            first = self.emit("fill", [arguments[0], mask]) if self.is_constant(arguments[0]) else arguments[0]
            return [first, *arguments[1:], self.emit("fill", [mask, first]) if self.is_constant(mask) else mask]
        if name in _DECIDING:
            place, fitting = _DECIDING[name]
            return self.chosen(arguments, [place], mask, fitting)
        places = self.values_of(arguments)
        type = result_type(BUILTINS[name].signature, name, arguments, [self.type_of(a) for a in arguments])
        for place in places:
            if isinstance(arguments[place], Name) and self.is_harmless(name, type, arguments, [place]):
                return self.chosen(arguments, [place], mask, 0)
        return self.chosen(arguments, places, mask, 0)

    def chosen(self, arguments: list[Operand], places: list[int], mask: Operand, other: int | str) -> list[Operand]:
        made = list(arguments)
        for place in places:
            type = self.type_of(arguments[place])
            assert isinstance(type, VectorType)
            value = float(other) if type.is_float and isinstance(other, int) else other
            made[place] = self.emit("if_else", [mask, arguments[place], Literal([value], type)])
        return made

    def all_of(self, masks: list[Mask]) -> Operand:
        """Where all of the masks say that rows count; by halves, as there may be hundreds."""
        if len(masks) == 1:
            return self.emit("not", [masks[0].operand]) if masks[0].is_negated else masks[0].operand
        middle = len(masks) // 2
        return self.emit("and", [self.all_of(masks[:middle]), self.all_of(masks[middle:])])


def _texts(operands: list[Operand]) -> list[str]:
    return [print_operand(o) for o in operands]
