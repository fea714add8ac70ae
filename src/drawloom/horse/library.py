"""The value of the builtins that move rows, over NumPy and Arrow: sorts, groups, joins, lists and tables.

``call(name, arguments)`` evaluates any builtin. The algorithms of joins are in ``matching.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from drawloom.errors import DataError
from drawloom.horse import matching
from drawloom.horse.builtins import BUILTINS
from drawloom.horse.calendar import CALENDAR
from drawloom.horse.casts import CASTS
from drawloom.horse.compound import COMPOUND, cells
from drawloom.horse.distinct import length
from drawloom.horse.evaluate import COMPARISONS, ELEMENT_WISE, comparable, compared, one_dictionary, reduce_cells
from drawloom.horse.folds import fold, fold_slices
from drawloom.horse.listtexts import list_items
from drawloom.horse.memory import ask
from drawloom.horse.phrases import PHRASES
from drawloom.horse.ranges import MAX_ROWS
from drawloom.horse.reals import REALS
from drawloom.horse.selection import first_by
from drawloom.horse.texts import TEXTS
from drawloom.horse.types import BOOL, I64, STR
from drawloom.horse.values import (
    INT64_MIN,
    Array,
    Dictionary,
    Enumeration,
    Lists,
    ListValue,
    Ragged,
    Room,
    Structs,
    TableValue,
    Value,
    Vector,
    as_vector,
    bounds,
    check_positions,
    integers,
    only_number,
    strings,
)
from drawloom.horse.windows import WINDOWS, check_slices
from drawloom.horse.words import words_of
from drawloom.horse.zones import ZONES

#: The text of rows that are not there.
_EMPTY_TEXT: Final = Vector(STR, np.zeros(1, dtype=np.int32), words_of([""]))


#: Builtins that hand on what they are given, without a copy.
HANDED_ON: Final = frozenset(["list", "item", "keys", "values", "table", "with_null", "column_names", "columns"])
#: Functions of vectors of one length, with which those of one entry go.
SPREAD: Final = frozenset([name for name, made in BUILTINS.items() if made.shape in ("binary", "ternary")])
#: Pairs of rows that a loop join compares at a time.
_COMPARED: Final = 1 << 20
#: Keys that are marked in a table at a time.
_MARKED: Final = 1 << 16


class FunctionValue(Value):
    """A builtin handed to ``@each``."""

    def __init__(self, name: str) -> None:
        self.name = name


def call(name: str, arguments: list[Value]) -> Value:
    """The value of ``@name(arguments)``. Raises DataError where it has none."""
    if name in SPREAD:
        length([as_vector(a) for a in arguments])
    return EVALUATE[name](name, arguments)


# Rows


def _compress(name: str, arguments: list[Value]) -> Value:
    mask, rows = as_vector(arguments[0]), arguments[1]
    if isinstance(rows, Enumeration):
        return Enumeration(as_vector(_compress(name, [mask, rows.rows])), rows.foreign)
    vector = as_vector(rows)
    if len(mask) == 1 and len(vector) != 1:
        return vector if mask.data[0] else vector.take(np.zeros(0, dtype=np.int64))
    if len(mask) != len(vector):
        raise DataError(f"@compress of {len(vector)} entries with a mask of {len(mask)}")
    return vector.take(matching.places(mask.data))


def _index(name: str, arguments: list[Value]) -> Value:
    rows, places = arguments[0], as_vector(arguments[1]).data
    foreign = rows.foreign if isinstance(rows, Enumeration) else None
    vector = rows.rows if isinstance(rows, Enumeration) else as_vector(rows)
    check_positions(name, places, len(vector))
    picked = vector.take(places)
    return picked if foreign is None else Enumeration(picked, foreign)


def _order(name: str, arguments: list[Value]) -> Value:
    columns = columns_of(arguments[0])
    ascending = as_vector(arguments[1]).data.tolist()
    nulls_first = as_vector(arguments[2]).data.tolist()
    check_order(name, columns, [len(ascending), len(nulls_first)])
    if name == "order":
        return Vector(I64, _ordered(columns, ascending, nulls_first, None))
    wanted = min(wanted_rows(name, arguments[3]), len(columns[0]) if columns else 0)
    if not wanted:
        return Vector(I64, np.zeros(0, dtype=np.int64))
    # Of the rows that the first key leaves.
    rows = first_by(columns[0], bool(ascending[0]), bool(nulls_first[0]), wanted)
    if len(rows) < len(columns[0]):
        columns = [column.take(rows) for column in columns]
    return Vector(I64, rows[_ordered(columns, ascending, nulls_first, wanted)])


def _ordered(columns: list[Vector], ascending: list[int], nulls_first: list[int], wanted: int | None) -> Array:
    """The order of the rows, or the first ``wanted`` of it."""
    keys: list[tuple[Array, int]] = []
    for column, up, first in zip(columns, ascending, nulls_first):
        codes, size = matching.ascending(column.data)
        if not up:
            codes = size - 1 - codes.astype(np.int64)
        if column.valid is not None:
            codes = np.where(column.valid, codes.astype(np.int64) + first, 0 if first else size)
            size += 1
        keys.append((codes, size))
    if not keys:
        return np.zeros(0, dtype=np.int64)
    codes, size = matching.composed(keys)
    if wanted is None:
        return matching.stable_order(codes, size)[0]
    rows = matching.places(codes <= np.partition(codes, wanted - 1)[wanted - 1])
    return rows[matching.stable_order(codes[rows], size)[0]][:wanted]


def check_order(name: str, columns: list[Vector], flags: list[int]) -> None:
    """Raises DataError for columns of unlike lengths, and for other than a flag of each kind for each."""
    if any(count != len(columns) for count in flags):
        raise DataError(f"@{name} by {len(columns)} columns: a bool of each kind for each was expected")
    check_alike(name, columns)


def check_alike(name: str, columns: list[Vector]) -> None:
    """Raises DataError for columns of unlike lengths."""
    lengths = {len(c) for c in columns}
    if len(lengths) > 1:
        raise DataError(f"@{name} of columns of lengths {', '.join([str(n) for n in sorted(lengths)])}")


def columns_of(value: Value) -> list[Vector]:
    """The cells of a list, which must be vectors. Raises DataError."""
    if isinstance(value, Ragged):
        return value.cells()
    if not isinstance(value, ListValue):
        raise DataError("a list of columns was expected")
    return [as_vector(c) for c in value.cells]


def wanted_rows(name: str, value: Value) -> int:
    """How many rows, or entries to skip, an argument of ``@name`` says. Raises DataError for less than none."""
    wanted = only_number(name, value)
    if wanted < 0:
        raise DataError(f"@{name} of {wanted} rows")
    return wanted


def top_range(arguments: list[Value]) -> tuple[int, int]:
    """The first entry that ``@top`` keeps, and that behind the last. Raises DataError."""
    rows = len(as_vector(arguments[0]))
    skip, keep = wanted_rows("top", arguments[1]), only_number("top", arguments[2])
    stop = rows if keep < 0 else min(skip + keep, rows)
    return min(skip, stop), stop


def _top(name: str, arguments: list[Value]) -> Value:
    return as_vector(arguments[0]).take(np.arange(*top_range(arguments)))


def _group(name: str, arguments: list[Value]) -> Value:
    """Groups in ascending order of their keys; within a group the rows keep their order.

    NULL keys make one group of their own, after the others.
    """
    columns = columns_of(arguments[0])
    if not columns:
        raise DataError("@group of no columns")
    check_alike(name, columns)
    keys: list[Array] = []
    for column in columns:
        key = column.data
        if column.valid is not None:
            keys.append(~column.valid)
            key = np.where(column.valid, key, key.dtype.type(0))
        keys.append(key)
    order, offsets = matching.groups(keys)
    return Dictionary(Vector(I64, order[offsets[:-1]]), Ragged(Vector(I64, order), offsets))


def _each(name: str, arguments: list[Value]) -> Value:
    function, items = arguments[0], arguments[1]
    assert isinstance(function, FunctionValue)
    if isinstance(items, Ragged) and function.name in ("sum", "avg", "min", "max", "len"):
        reduced = reduce_cells(function.name, items)
        return Ragged(reduced, np.arange(items.count + 1, dtype=np.int64))
    return ListValue([call(function.name, [item]) for item in cells(items)])


def _each_right(name: str, arguments: list[Value]) -> Value:
    function, left, right = arguments
    assert isinstance(function, FunctionValue)
    if isinstance(right, Ragged) and function.name == "index":
        return Ragged(as_vector(_index("index", [left, right.flat])), right.offsets)
    return ListValue([call(function.name, [left, cell]) for cell in cells(right)])


def _each_left(name: str, arguments: list[Value]) -> Value:
    function, left, right = arguments
    assert isinstance(function, FunctionValue)
    return ListValue([call(function.name, [cell, right]) for cell in cells(left)])


def _each_item(name: str, arguments: list[Value]) -> Value:
    function, left, right = arguments
    assert isinstance(function, FunctionValue)
    if isinstance(left, Ragged) and isinstance(right, Ragged) and function.name == "compress":
        mask = left.flat.data.astype(bool)
        kept = np.concatenate([[0], np.cumsum(mask)]).astype(np.int64)
        return Ragged(right.flat.take(matching.places(mask)), kept[left.offsets])
    a, b = cells(left), cells(right)
    if len(a) != len(b):
        raise DataError(f"@{name} of lists of {len(a)} and {len(b)} cells")
    return ListValue([call(function.name, [x, y]) for x, y in zip(a, b)])


def _fill(name: str, arguments: list[Value]) -> Value:
    value, like = as_vector(arguments[0]), as_vector(arguments[1])
    if len(value) == 0 and len(like):
        raise DataError(f"@{name} with the first of no values")
    return value.take(np.zeros(len(like), dtype=np.int64))


def _raze(name: str, arguments: list[Value]) -> Value:
    value = arguments[0]
    if isinstance(value, Ragged):
        return value.flat
    parts = cells(value)
    if not parts:
        raise DataError("@raze of a list without cells")
    vectors = [p for p in parts if isinstance(p, Vector)]
    if len(vectors) == len(parts):
        types = {v.type.text for v in vectors}
        if len(types) > 1:
            raise DataError(f"@{name} of cells of types {' and '.join(sorted(types))}: one type was expected")
        return _concat(name, parts)
    return ListValue([cell for part in parts for cell in cells(part)])


# Joins


def _key_columns(arguments: list[Value]) -> list[tuple[Array, Array]]:
    """The keys of two lists, pair by pair as arrays that compare as the values do."""
    left, right = columns_of(arguments[0]), columns_of(arguments[1])
    if len(left) != len(right) or not left:
        raise DataError(f"keys of {len(left)} and {len(right)} columns do not go together")
    check_alike("join", left)
    check_alike("join", right)
    return [comparable(a, b) for a, b in zip(left, right)]


def _join(name: str, arguments: list[Value]) -> Value:
    rows = matching.pairs(_key_columns(arguments))
    return ListValue([Vector(I64, r) for r in rows])


def _contains(name: str, arguments: list[Value]) -> Value:
    return Vector(BOOL, matching.has_match(_key_columns(arguments)))


def _cross(name: str, arguments: list[Value]) -> Value:
    left, right = [len(as_vector(a)) for a in arguments]
    return ListValue([Vector(I64, r) for r in matching.all_pairs(left, right)])


def _loop_join(name: str, arguments: list[Value]) -> Value:
    """The pairs of rows between which every comparison holds, ordered by the left row, then by the right one."""
    tests, keys = strings(as_vector(arguments[0])), _key_columns(arguments[1:])
    if len(tests) != len(keys) or any(test not in COMPARISONS for test in tests):
        raise DataError(f"@{name} of {len(keys)} keys by {', '.join(tests)}: one comparison a key was expected")
    rows, others = len(keys[0][0]), len(keys[0][1])
    block, found, made = max(_COMPARED // max(others, 1), 1), 0, [(np.zeros(0, np.int64), np.zeros(0, np.int64))]
    for start in range(0, rows, block):
        masks = [compared(t, a[start : start + block, None], b[None, :]) for t, (a, b) in zip(tests, keys)]
        left, right = np.nonzero(np.logical_and.reduce(masks))
        made.append((left + start, right))
        found += len(left)
        matching.check_pairs(found)
    return ListValue([Vector(I64, np.concatenate([pairs[side] for pairs in made])) for side in (0, 1)])


def _touched(name: str, arguments: list[Value]) -> Value:
    made, places = np.zeros(len(as_vector(arguments[1])), dtype=bool), as_vector(arguments[0]).data
    check_positions(name, places, len(made))
    made[places] = True
    return Vector(BOOL, made)


def _present(name: str, arguments: list[Value]) -> Value:
    values = as_vector(arguments[0]).data
    low, high = [only_number(name, a) for a in arguments[1:]]
    count = max(high - low + 1, 0)
    if count > MAX_ROWS:
        raise DataError(f"@{name} of {count} keys")
    ask(count, "a table of keys")
    made = np.zeros(count, dtype=bool)
    for start in range(0, len(values), _MARKED):
        keys = values[start : start + _MARKED]
        least, most = bounds(keys)
        if least < low or most > high:
            keys = keys[(keys >= low) & (keys <= high)]
        made[keys.astype(np.int64, copy=False) - low] = True
    return Vector(BOOL, made)


def _where(name: str, arguments: list[Value]) -> Value:
    return Vector(I64, matching.places(as_vector(arguments[0]).data))


def _outer_index(name: str, arguments: list[Value]) -> Value:
    vector, rows = as_vector(arguments[0]), as_vector(arguments[1]).data
    check_positions(name, rows, len(vector), INT64_MIN)
    none = rows < 0
    if not none.any():
        return vector.take(rows)
    if vector.type.kind == "text":
        vector = one_dictionary([vector, _EMPTY_TEXT])[0]
    data = np.zeros(len(rows), dtype=vector.data.dtype)
    data[~none] = vector.data[rows[~none]]
    return Vector(vector.type, data, vector.dictionary)


def _concat(name: str, arguments: list[Value]) -> Value:
    parts = [as_vector(a) for a in arguments]
    type = parts[0].type
    if type.kind == "text":
        parts = one_dictionary(parts)
        return Vector(type, np.concatenate([p.data for p in parts]), parts[0].dictionary)
    arrays = [p.data if p.data.dtype.kind == "i" or not type.is_exact or type == BOOL else integers(p) for p in parts]
    return _grown(parts[0], arrays)


def _grown(first: Vector, arrays: list[Array]) -> Vector:
    """The arrays one behind the other, the first of them ``first``'s: what grows time after time gets room for half as
    much again, so that a loop takes no time by the square of its steps."""
    room, before = first.room, len(arrays[0])
    whole = sum([len(a) for a in arrays])
    if room is None or len(arrays) < 2:
        made = Room(np.concatenate(arrays))
    elif room.used == before and len(room.memory) >= whole and np.result_type(*arrays) == room.memory.dtype:
        made = room
        np.concatenate(arrays[1:], out=room.memory[before:whole])
    else:
        memory = np.empty(whole + whole // 2, dtype=np.result_type(*arrays))
        np.concatenate(arrays, out=memory[:whole])
        made = Room(memory)
    made.used = whole
    vector = Vector(first.type, made.memory[:whole])
    vector.room = made
    return vector


def _item(name: str, arguments: list[Value]) -> Value:
    parts = cells(arguments[0])
    place = only_number(name, arguments[1])
    if not 0 <= place < len(parts):
        raise DataError(f"@item {place} of a list of {len(parts)}")
    return parts[place]


def _single(name: str, arguments: list[Value]) -> Value:
    vector = as_vector(arguments[0])
    if len(vector) > 1:
        raise DataError(f"a subquery that stands for one value gave {len(vector)} rows")
    return _outer_index(name, [vector, Vector(I64, np.array([len(vector) - 1], dtype=np.int64))])


# Tables


def _table(name: str, arguments: list[Value]) -> Value:
    names = strings(as_vector(arguments[0]))
    columns = columns_of(arguments[1])
    if len(names) != len(columns):
        raise DataError(f"@table with {len(names)} names and {len(columns)} columns")
    if len({len(c) for c in columns}) > 1:
        raise DataError("@table with columns of unlike lengths")
    return TableValue(names, columns)


def _list(name: str, arguments: list[Value]) -> Value:
    return ListValue(list(arguments))


def _with_null(name: str, arguments: list[Value]) -> Value:
    vector, valid = as_vector(arguments[0]), as_vector(arguments[1])
    if len(valid) not in (1, len(vector)):
        raise DataError(f"@{name} of {len(vector)} entries with a mask of {len(valid)}")
    mask = np.broadcast_to(valid.data.astype(bool), (len(vector),))
    return Vector(vector.type, vector.data, vector.dictionary, mask)


def _lists(name: str, arguments: list[Value]) -> Value:
    numbers, flat, low, high = [as_vector(a) for a in arguments]
    return Lists(numbers, flat, integers(low), integers(high))


def _list_ranks(name: str, arguments: list[Value]) -> Value:
    """For each list its place in the order of all: by the first element that differs, NULLs last, the shorter first.
    Those that are alike have one place. Each round goes one element further, while some lists are still alike."""
    flat, low, high, valid = [as_vector(a).data for a in arguments]
    check_slices(name, low, high, len(flat))
    if len(valid) not in (1, len(flat)):
        raise DataError(f"@{name} of {len(flat)} elements, {len(valid)} of them known or not")
    _, codes = np.unique(flat, return_inverse=True)
    codes = np.where(valid, codes, len(codes))
    low, lengths = low.astype(np.int64), (high - low).astype(np.int64)
    ranks = np.zeros(len(low), dtype=np.int64)
    place, count, longest = 0, 1, int(lengths.max(initial=0))
    while place <= longest and count < len(low):
        there = lengths > place
        at = np.full(len(low), -1, dtype=np.int64)
        at[there] = codes[low[there] + place]
        order = np.lexsort((at, ranks))
        news = np.ones(len(low), dtype=bool)
        news[1:] = (np.diff(ranks[order]) != 0) | (np.diff(at[order]) != 0)
        ranks[order] = np.cumsum(news) - 1
        place, count = place + 1, int(news.sum())
    return Vector(I64, ranks)


def _structs(name: str, arguments: list[Value]) -> Value:
    numbers, names = as_vector(arguments[0]), strings(as_vector(arguments[1]))
    fields = [as_vector(c) for c in cells(arguments[2])]
    if len(names) != len(fields) or any(len(f) != len(numbers) for f in fields):
        raise DataError(f"@structs of {len(names)} names and {len(fields)} fields, as long as the numbers")
    return Structs(numbers, names, fields)


EVALUATE: Final[dict[str, Callable[[str, list[Value]], Value]]] = {
    **ELEMENT_WISE,
    **WINDOWS,
    **CALENDAR,
    **COMPOUND,
    **TEXTS,
    **PHRASES,
    **REALS,
    **ZONES,
    **CASTS,
    "fold": fold, "fold_slices": fold_slices,
    "table": _table, "list": _list, "with_null": _with_null, "lists": _lists,
    "structs": _structs, "list_ranks": _list_ranks, "list_items": list_items, "known_list_items": list_items,
    "compress": _compress, "index": _index, "order": _order, "order_first": _order, "top": _top, "group": _group,
    "each": _each, "each_left": _each_left, "each_right": _each_right, "raze": _raze, "flat": _raze,
    "each_item": _each_item,
    "fill": _fill, "join": _join, "contains": _contains, "cross": _cross,
    "loop_join": _loop_join, "touched": _touched, "present": _present, "where": _where,
    "outer_index": _outer_index, "concat": _concat, "item": _item, "single": _single,
}  # fmt: skip
