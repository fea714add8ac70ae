"""Random calls of every builtin, by types that its rule takes: empty vectors, unlike lengths, positions that are not
there, lists of unlike cells. Each has a value of the type that the rule gives, or is refused with our error."""

from __future__ import annotations

import math
import random
from typing import cast

import numpy as np

from drawloom.errors import Error
from drawloom.horse.builtins import BUILTINS
from drawloom.horse.compound import check_types, has_type
from drawloom.horse.ir import Call, FunctionRef, Literal, Name, Operand
from drawloom.horse.ir import Value as LiteralValue
from drawloom.horse.kernels.library import Library
from drawloom.horse.library import EVALUATE, FunctionValue, call
from drawloom.horse.results import to_arrow
from drawloom.horse.rules import SignatureError
from drawloom.horse.signatures import result_type
from drawloom.horse.types import (
    F32,
    NAMED,
    TABLE,
    WILDCARD,
    DecimalType,
    DictType,
    EnumType,
    ListType,
    Type,
    VectorType,
    exact_bounds,
    is_complete,
)
from drawloom.horse.values import Dictionary, ListValue, Ragged, TableValue, Value, Vector, from_values

Argument = tuple[Value, Type, Operand]

VECTORS = [t for t in NAMED.values() if isinstance(t, VectorType)] + [DecimalType(4, 2), DecimalType(38, 0)]
WORDS = ["a", "b", "", "sum", "i32", "f64", "day", "year", "(", "%", "ü"]
FLOATS = [0.0, 1.5, -2.0, math.nan, math.inf, 1e30]
#: Builtins that make as much as a number says, which may be more than there is memory for.
UNBOUNDED = frozenset(["range", "repeat", "pad_start", "pad_end"])


class _Arguments:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def vector(self, type: VectorType | None = None, rows: int | None = None) -> Argument:
        choose = self.random.choice
        type = type or choose(VECTORS)
        rows = choose([0, 1, 1, 2, 3, 5]) if rows is None else rows
        values: list[LiteralValue]
        if type.kind == "text":
            values = [choose(WORDS) for _ in range(rows)]
        elif type.is_float:
            values = [choose(FLOATS) for _ in range(rows)]
        else:
            low, high = exact_bounds(type)
            values = [choose([v for v in (0, 1, 2, -1, 3, low, high) if low <= v <= high]) for _ in range(rows)]
        made = from_values(values, type)
        return (Vector(F32, made.data.astype(np.float32)) if type == F32 else made), type, Literal(values, type)

    def vectors(self, count: int, is_alike: bool) -> list[Value]:
        type, rows = (self.random.choice(VECTORS) if is_alike else None), self.random.choice([None, 2, 3])
        return [self.vector(type, rows)[0] for _ in range(count)]

    def listed(self) -> Argument:
        is_alike = self.random.random() < 0.7
        cells = self.vectors(self.random.choice([0, 1, 2, 3]), is_alike)
        first = cells[0] if is_alike and cells else None
        return ListValue(cells), ListType(first.type if isinstance(first, Vector) else WILDCARD), Name("list")

    def ragged(self) -> Argument:
        counts = [self.random.choice([0, 1, 2]) for _ in range(self.random.choice([0, 1, 2, 3]))]
        offsets = np.cumsum([0, *counts]).astype(np.int64)
        flat, type, _ = self.vector(None, int(offsets[-1]))
        return Ragged(cast(Vector, flat), offsets), ListType(type), Name("list")

    def compound(self) -> Argument:
        """A dictionary, an enumeration or a table."""
        kind, rows = self.random.choice(["dict", "enum", "table"]), self.random.choice([0, 1, 3])
        keys, key_type, _ = self.vector(None, rows)
        values, value_type, _ = self.vector(None, rows)
        if kind == "table":
            return TableValue(["a", "b"], [cast(Vector, keys), cast(Vector, values)]), TABLE, Name("table")
        if kind == "dict":
            return Dictionary(cast(Vector, keys), values), DictType(key_type, value_type), Name("dict")
        try:
            return call("enum", [keys, keys]), EnumType(key_type), Name("enum")
        except Error:
            return self.vector()

    def function(self) -> Argument:
        name = self.random.choice(list(BUILTINS))
        return FunctionValue(name), WILDCARD, FunctionRef(name)

    def any(self) -> Argument:
        chance = self.random.random()
        if chance < 0.62:
            return self.vector()
        return self.listed() if chance < 0.76 else self.ragged() if chance < 0.84 else self.compound()

    def several(self, name: str) -> list[Argument]:
        made = [self.any() for _ in range(self.random.choice([0, 1, 1, 2, 2, 3, 3, 4, 4, 5]))]
        if self.random.random() < 0.5:
            type, rows = self.random.choice(VECTORS), self.random.choice([None, 2])
            made = [self.vector(type, rows) if self.random.random() < 0.7 else argument for argument in made]
        if name.startswith("each") and made:
            made[0] = self.function()
        return made


def random_calls(seed: int, each: int, library: Library | None = None) -> int:
    """Makes up to ``each`` calls of every builtin, by kernels where a ``library`` has them; how many these were."""
    arguments, made = _Arguments(seed), 0
    for name in sorted(set(EVALUATE) & set(BUILTINS) - UNBOUNDED):
        done = 0
        for _ in range(each * 20):
            several = arguments.several(name)
            operands = [operand for _, _, operand in several]
            try:
                type = result_type(BUILTINS[name].signature, name, operands, [t for _, t, _ in several])
            except SignatureError:
                continue
            _answer(name, several, type, library)
            done += 1
            if done == each:
                break
        made += done
    return made


def _answer(name: str, several: list[Argument], type: Type, library: Library | None) -> None:
    values = [value for value, _, _ in several]
    try:
        if not all(is_complete(t) for _, t, _ in several):
            check_types(Call(FunctionRef(name), [operand for _, _, operand in several]), values)
        value = None if library is None else library.call(name, values)
        value = call(name, values) if value is None else value
        assert has_type(value, type), f"@{name} gives {type}"
        to_arrow(value)
    except Error:
        pass
