"""The value of builtins over enumerations, dictionaries, tables and positions, over NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from drawloom.errors import DataError
from drawloom.horse import matching
from drawloom.horse.builtins import BUILTINS
from drawloom.horse.evaluate import comparable, one_dictionary
from drawloom.horse.ir import Call
from drawloom.horse.memory import ask
from drawloom.horse.rules import SignatureError
from drawloom.horse.signatures import result_type
from drawloom.horse.types import I64, SYM, TABLE, WILDCARD, DictType, EnumType, ListType, Type, VectorType
from drawloom.horse.values import (
    Array,
    Dictionary,
    Enumeration,
    ListValue,
    Ragged,
    TableValue,
    Value,
    Vector,
    as_vector,
    from_values,
    integers,
    only_number,
    type_name,
)


def _first_rows(vector: Vector, wanted: Vector) -> Array:
    """For each wanted value the first row of the vector that has it, -1 where none does."""
    keys, values = comparable(vector, wanted)
    distinct, first = np.unique(keys, return_index=True)
    if len(distinct) == 0:
        return np.full(len(values), -1, dtype=np.int64)
    place = np.minimum(np.searchsorted(distinct, values), len(distinct) - 1)
    found = distinct[place] == values
    if values.dtype.kind == "f":
        found |= np.isnan(distinct[place]) & np.isnan(values)
    return np.where(found, first[place], -1).astype(np.int64)


# Enumerations: foreign keys, as the rows of the column that they point into


def _enum(name: str, arguments: list[Value]) -> Value:
    """Raises DataError for a column with repeated values, and for a key that is not in it."""
    keys, foreign = as_vector(arguments[0]), as_vector(arguments[1])
    if len(np.unique(foreign.data)) != len(foreign):
        raise DataError("@enum: the column that is pointed into has a value twice")
    rows = _first_rows(foreign, keys)
    if (rows < 0).any():
        raise DataError(f"@enum: row {int((rows < 0).argmax())} has a key that is not in the column")
    return Enumeration(Vector(I64, rows), foreign)


def _fetch(name: str, arguments: list[Value]) -> Value:
    value = arguments[0]
    if not isinstance(value, Enumeration):
        raise DataError(f"@fetch of a {type_name(value)}: an enumeration was expected")
    return value.foreign.take(value.rows.data)


def _keys(name: str, arguments: list[Value]) -> Value:
    """Of an enumeration the column that it points into."""
    value = arguments[0]
    if isinstance(value, Enumeration):
        return value.foreign
    return _dictionary(value).keys


def _values(name: str, arguments: list[Value]) -> Value:
    """Of an enumeration the rows that it points to."""
    value = arguments[0]
    if isinstance(value, Enumeration):
        return value.rows
    return _dictionary(value).values


# Dictionaries


def _dictionary(value: Value) -> Dictionary:
    if not isinstance(value, Dictionary):
        raise DataError(f"a dictionary was expected, not a {type_name(value)}")
    return value


def _dict(name: str, arguments: list[Value]) -> Value:
    keys, values = as_vector(arguments[0]), arguments[1]
    count = len(cells(values)) if isinstance(values, ListValue | Ragged) else len(as_vector(values))
    if count != len(keys):
        raise DataError(f"@dict of {len(keys)} keys and {count} values")
    if len(np.unique(keys.data)) != len(keys):
        raise DataError("@dict: a key stands twice")
    return Dictionary(keys, values)


def _lookup(name: str, arguments: list[Value]) -> Value:
    """The value of each key. Raises DataError for a key that the dictionary does not have."""
    dictionary, wanted = _dictionary(arguments[0]), as_vector(arguments[1])
    rows = _first_rows(dictionary.keys, wanted)
    if (rows < 0).any():
        raise DataError(f"@lookup: key {int((rows < 0).argmax())} is not in the dictionary")
    values = dictionary.values
    if isinstance(values, Vector):
        return values.take(rows)
    given = cells(values)
    return ListValue([given[row] for row in rows.tolist()])


def cells(value: Value) -> list[Value]:
    """The cells of a list, of any kind. Raises DataError."""
    if isinstance(value, Ragged):
        return list(value.cells())
    if not isinstance(value, ListValue):
        raise DataError(f"a list was expected, not a {type_name(value)}")
    return value.cells


def has_type(value: Value, type: Type) -> bool:
    """Whether the value is of the type, as far as the type says."""
    if type == WILDCARD:
        return True
    if isinstance(type, VectorType):
        return isinstance(value, Vector) and value.type == type
    if isinstance(type, EnumType):
        return isinstance(value, Enumeration) and has_type(value.foreign, type.element)
    if isinstance(type, DictType):
        return isinstance(value, Dictionary) and has_type(value.keys, type.key) and has_type(value.values, type.value)
    if isinstance(type, ListType):
        if isinstance(value, Ragged):
            return has_type(value.flat, type.element)
        return isinstance(value, ListValue) and all(has_type(cell, type.element) for cell in value.cells)
    return isinstance(value, TableValue)


def type_of(value: Value) -> Type:
    """The type of a value; what differs from cell to cell, and a function, has the wildcard."""
    if isinstance(value, Vector):
        return value.type
    if isinstance(value, Ragged):
        return ListType(value.flat.type)
    if isinstance(value, ListValue):
        types = {type_of(cell) for cell in value.cells}
        return ListType(types.pop() if len(types) == 1 else WILDCARD)
    if isinstance(value, Dictionary):
        return DictType(value.keys.type, type_of(value.values))
    if isinstance(value, Enumeration):
        return EnumType(value.foreign.type)
    return TABLE if isinstance(value, TableValue) else WILDCARD


def check_types(call: Call, arguments: list[Value]) -> None:
    """Raises DataError where a builtin does not take the types that its arguments turn out to have, cell by cell where
    it goes through lists."""
    signature = BUILTINS[call.function.name].signature
    types = [type_of(a) for a in arguments]
    lists = [i for i, t in enumerate(types) if isinstance(t, ListType) and t.element == WILDCARD]
    combinations = {tuple(types)}
    if call.function.name.startswith("each") and lists:
        count = max([len(cells(arguments[i])) for i in lists])
        of_cells = [[type_of(c) for c in cells(a)] if i in lists else [] for i, a in enumerate(arguments)]
        for row in range(count):
            made = [ListType(t[row]) if row < len(t) else types[i] for i, t in enumerate(of_cells)]
            combinations.add(tuple(made))
    for combination in sorted(combinations, key=str):
        try:
            result_type(signature, call.function.name, call.arguments, list(combination))
        except SignatureError as problem:
            raise DataError(f"{problem.message}: expected {problem.expected}") from None


# Tables


def _column_names(name: str, arguments: list[Value]) -> Value:
    return from_values(list(_table(arguments[0]).names), SYM)


def _columns(name: str, arguments: list[Value]) -> Value:
    """The columns without their NULLs, as ``@column_value`` gives them."""
    table = _table(arguments[0])
    if table.source is None:
        return ListValue(list(table.columns))
    return ListValue([table.source.column(column).vector for column in table.names])


def _table(value: Value) -> TableValue:
    if not isinstance(value, TableValue):
        raise DataError(f"a table was expected, not a {type_name(value)}")
    return value


# Positions


def _range(name: str, arguments: list[Value]) -> Value:
    count = only_number(name, arguments[0])
    if count < 0:
        raise DataError(f"@range of {count}")
    ask(8 * count, f"@range of {count}")
    return Vector(I64, np.arange(count, dtype=np.int64))


def _unique(name: str, arguments: list[Value]) -> Value:
    """The first row of each distinct value, in ascending order of the rows."""
    order, offsets = matching.groups([as_vector(arguments[0]).data])
    return Vector(I64, np.sort(order[offsets[:-1]]))


def _index_of(name: str, arguments: list[Value]) -> Value:
    """The first position of each value in the vector; the vector's length where it is not there."""
    vector, wanted = as_vector(arguments[0]), as_vector(arguments[1])
    rows = _first_rows(vector, wanted)
    return Vector(I64, np.where(rows < 0, len(vector), rows))


def _index_a(name: str, arguments: list[Value]) -> Value:
    """The vector with other values at the positions: the last one where a position stands twice."""
    vector, rows, written = as_vector(arguments[0]), as_vector(arguments[1]).data, as_vector(arguments[2])
    if len(written) not in (1, len(rows)):
        raise DataError(f"@index_a of {len(written)} values at {len(rows)} positions")
    if len(rows) and (int(rows.min()) < 0 or int(rows.max()) >= len(vector)):
        raise DataError(f"@index_a: a position outside of the {len(vector)} rows")
    if vector.type.kind == "text":
        vector, written = one_dictionary([vector, written])
    is_exact = vector.type.is_exact and vector.type.kind != "bool"
    data = integers(vector).copy() if is_exact else vector.data.copy()
    if written.data.dtype == object:
        data = data.astype(object)
    data[rows] = written.data
    return Vector(vector.type, data, vector.dictionary)


COMPOUND: Final[dict[str, Callable[[str, list[Value]], Value]]] = {
    "enum": _enum, "fetch": _fetch, "keys": _keys, "values": _values, "dict": _dict, "lookup": _lookup,
    "column_names": _column_names, "columns": _columns, "range": _range, "unique": _unique, "index_of": _index_of,
    "index_a": _index_a,
}  # fmt: skip
