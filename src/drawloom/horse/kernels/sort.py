"""``@order`` by kernels: key columns into words of 64 bits that ascend as the rows do, sorted, and their rows.

A word is the codes of some keys above the row's number. A key's code is the place of its value in the range of the
values that there are, counted from the other end where the order descends, with a place before or behind for NULL.
Words take as many keys as they hold; where one word does not hold all, rows are sorted by the last word first. Few rows
are sorted by a bitonic sort (thesis section 4.3.4), more by a radix sort of the bits that the codes have.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from drawloom.horse.emit import Emitter
from drawloom.horse.kernels.bitonic import bitonic_sort, few_rows, padded
from drawloom.horse.kernels.device import DeviceKernels, LibraryCalls
from drawloom.horse.kernels.keys import code
from drawloom.horse.kernels.radix import radix_sort
from drawloom.horse.kernels.rows import ROW, Rounds, RowKernel, bits_of, storage_of
from drawloom.horse.kernels.topk import least
from drawloom.horse.kernels.warps import shuffled
from drawloom.horse.kernels.workspace import Block, Memory
from drawloom.horse.types import BOOL, I64
from drawloom.horse.values import ListValue, Ragged, Value, Vector, as_vector
from drawloom.ptx.ir import Address, Register
from drawloom.ptx.types import U32, U64

_WORD: Final = 64
#: The rows are that many times those wanted, or more, where the wanted ones are selected before they are sorted.
_SELECTED: Final = 8
_SIGN: Final = 1 << 63
_MOST: Final = (1 << 64) - 1


class SortKey:
    """A column that rows are ordered by. Codes of its values are ``low`` to ``high`` (those of ``ordered``)."""

    def __init__(self, vector: Vector, storage: str, ascends: bool, nulls_first: bool) -> None:
        self.vector = vector
        self.storage = storage
        self.ascends = ascends
        self.nulls_first = nulls_first
        self.low = 0
        self.high = 0

    @property
    def has_nulls(self) -> bool:
        return self.vector.valid is not None

    @property
    def bits(self) -> int:
        """How many bits its places need, that of NULL among them."""
        return (self.high - self.low + (1 if self.has_nulls else 0)).bit_length()

    @property
    def suffix(self) -> str:
        """The key's part of a kernel's name."""
        return f"{self.storage}{'a' if self.ascends else 'd'}{'n' if self.has_nulls else ''}"

    def origin(self) -> list[int]:
        """What a code is counted from, and the place of NULL."""
        first = 1 if self.has_nulls and self.nulls_first else 0
        start = self.low - first if self.ascends else self.high + first
        null = 0 if self.nulls_first else self.high - self.low + 1
        return [start & _MOST, null]

    def memory(self, kernels: DeviceKernels) -> list[Memory]:
        made = [kernels.workspace.column(self.vector, self.vector.dtype)]
        if self.vector.valid is not None:
            made.append(kernels.workspace.column(Vector(BOOL, self.vector.valid), bool))
        return made


def sort_keys(
    kernels: DeviceKernels, columns: list[Vector], ascends: list[bool], nulls_first: list[bool]
) -> list[SortKey] | None:
    """The columns as keys, their values' range known; None where no kernel takes one."""
    keys: list[SortKey] = []
    for vector, up, first in zip(columns, ascends, nulls_first):
        storage = storage_of(vector)
        if storage is None or storage == "u64":
            return None
        keys.append(SortKey(vector, storage, up, first))
    asked = [(key, found) for key in keys if (found := _bounds(kernels, key)) is not None]
    bounds = kernels.workspace.gets([(found, 0, 2) for _, found in asked])
    for (key, _), found in zip(asked, bounds):
        low, high = int(found[0]), int(found[1])
        key.low, key.high = (low, high) if low <= high else (0, 0)
        if isinstance(key.vector.block, Block) and not key.has_nulls:
            key.vector.block.bounds = (key.low, key.high)
    return keys


def measured(kernels: DeviceKernels, columns: list[Vector]) -> list[tuple[int, int]]:
    """What no value of columns of integers is below or above."""
    keys = sort_keys(kernels, columns, [True] * len(columns), [False] * len(columns))
    assert keys is not None
    return [(key.low - _SIGN, key.high - _SIGN) if len(key.vector) else (0, 0) for key in keys]


def _bounds(kernels: DeviceKernels, key: SortKey) -> Memory | None:
    """The least and the greatest code of the column's values: what its type says if that is little or was measured
    before, else the memory where a kernel puts it."""
    if key.vector.type.kind == "text" or bits_of(key.storage) == 8:
        low, high = (0, len(key.vector.words) - 1) if key.vector.type.kind == "text" else (-128, 255)
        low, high = (0, 1) if key.vector.type == BOOL else (low, max(high, low))
        key.low, key.high = low + _SIGN, high + _SIGN
        return None
    block = key.vector.block
    if isinstance(block, Block) and block.bounds is not None and not key.has_nulls:
        key.low, key.high = block.bounds
        return None
    found = kernels.workspace.put(np.array([_MOST, 0], dtype=np.uint64))
    arguments = [*key.memory(kernels), found]
    Range(key.storage, key.has_nulls).run(
        kernels, f"range_{key.storage}{'n' if key.has_nulls else ''}", arguments, len(key.vector)
    )
    return found


class Field:
    """Some bits of a key's place: ``bits`` of them above the lowest ``shift``."""

    def __init__(self, key: SortKey, shift: int, bits: int) -> None:
        self.key = key
        self.shift = shift
        self.bits = bits


def fields(keys: list[SortKey], room: int) -> list[list[Field]]:
    """What each word holds, the last word first, all but the first one full: ``room`` bits."""
    words: list[list[Field]] = [[]]
    left = room
    for key in reversed(keys):
        done = 0
        while done < key.bits:
            if left == 0:
                words.append([])
                left = room
            taken = min(left, key.bits - done)
            words[-1].insert(0, Field(key, done, taken))
            done, left = done + taken, left - taken
    return words


def sorted_rows(kernels: DeviceKernels, keys: list[SortKey], rows: int) -> Memory:
    """The rows (32 bits) in the order of their keys, those that are equal in all of them in their own order."""
    return rows_of_words(kernels, sorted_words(kernels, keys, rows), rows, row_bits_of(rows))


def first_rows(kernels: DeviceKernels, keys: list[SortKey], rows: int, wanted: int) -> Memory:
    """The ``wanted`` first of ``sorted_rows``, perhaps with more behind them: where there are many more rows, those
    that may be among the first are selected before they are sorted."""
    if wanted == 0 or rows <= few_rows(kernels.device) or wanted * _SELECTED > rows:
        return sorted_rows(kernels, keys, rows)
    row_bits, parts = row_bits_of(rows), words_of_keys(keys, rows)
    words = kernels.workspace.empty(rows, np.uint64)
    Encode(parts[-1], True).start(kernels, words, rows, row_bits)
    high = row_bits + sum([field.bits for field in parts[-1]])
    words, count = least(kernels, words, rows, wanted, 0 if len(parts) == 1 else row_bits, high)
    words = _sorted_by(kernels, words, count, parts, row_bits, parts[-1])
    return rows_of_words(kernels, words, count, row_bits)


def row_bits_of(rows: int) -> int:
    """The low bits of a word that have the row's number."""
    return max(rows - 1, 1).bit_length()


def words_of_keys(keys: list[SortKey], rows: int) -> list[list[Field]]:
    """What the words of so many rows hold of the keys, as ``fields`` gives it."""
    return fields(keys, _WORD - row_bits_of(rows))


def sorted_words(kernels: DeviceKernels, keys: list[SortKey], rows: int) -> Memory:
    """The rows' words in the order of the keys: of several words a row, those with the keys' first bits."""
    row_bits = row_bits_of(rows)
    parts = words_of_keys(keys, rows)
    few = len(parts) == 1 and rows <= few_rows(kernels.device)
    words = kernels.workspace.empty(padded(rows) if few else rows, np.uint64)
    Encode(parts[0], True).start(kernels, words, rows, row_bits)
    return _sorted_by(kernels, words, rows, parts, row_bits, parts[0])


def _sorted_by(
    kernels: DeviceKernels, words: Memory, rows: int, parts: list[list[Field]], row_bits: int, encoded: list[Field]
) -> Memory:
    """The words sorted by each of the parts, when they have the part ``encoded``."""
    few = len(parts) == 1 and rows <= few_rows(kernels.device)
    for part in parts:
        if part is not encoded:
            Encode(part, False).start(kernels, words, rows, row_bits)
        encoded = part
        if few:
            bitonic_sort(kernels, words, rows)
        elif not _ascend(kernels, words, rows, row_bits):
            words = radix_sort(kernels, words, rows, row_bits, row_bits + sum([field.bits for field in part]))
    return words


def _ascend(kernels: DeviceKernels, words: Memory, rows: int, row_bits: int) -> bool:
    """Whether the words are in order already, as those of stored keys often are."""
    falls = kernels.workspace.full(1, np.uint32, 0)
    Falls(["words", "falls"], {"row_bits": U32}).run(kernels, "falls", [words, falls, row_bits], rows)
    return not kernels.workspace.get(falls, 1)[0]


def rows_of_words(kernels: DeviceKernels, words: Memory, rows: int, row_bits: int) -> Memory:
    """The rows (32 bits) that so many words are of, in their order; ``row_bits`` of a word have its row."""
    made = kernels.workspace.empty(rows, ROW)
    RowsOfWords().run(kernels, "rows_of_words", [words, made, (1 << row_bits) - 1], rows)
    return made


# Kernels


def ordered(emitter: Emitter, storage: str, code: Register) -> Register:
    """A key's code (``keys.py``) as an unsigned integer that ascends as the values do, NaN above every number."""
    if storage[0] != "f":
        return emitter.calc("xor.b64", code, _SIGN)
    negative = emitter.calc("shr.s64", code, 63)
    return emitter.calc("xor.b64", code, emitter.calc("or.b64", negative, _SIGN))


class Range(RowKernel):
    """The least and the greatest code of a column into the two words of ``found``."""

    def __init__(self, storage: str, has_nulls: bool) -> None:
        super().__init__(["column", *(["valid"] if has_nulls else []), "found"])
        self.storage = storage
        self.has_nulls = has_nulls

    def open(self, emitter: Emitter) -> None:
        self.least = emitter.calc("mov.u64", _MOST)
        self.greatest = emitter.calc("mov.u64", 0)

    def each(self, emitter: Emitter, bases: list[Register], at: Rounds) -> None:
        there = at.inside
        if self.has_nulls:
            valid = emitter.load("u8", bases[1], at.row, at.inside)
            there = emitter.calc("setp.ne.u32", valid, 0)
        with emitter.when(there):
            value = ordered(emitter, self.storage, code(emitter, bases[0], at.row, self.storage))
            emitter.put("min.u64", self.least, self.least, value)
            emitter.put("max.u64", self.greatest, self.greatest, value)

    def close(self, emitter: Emitter, bases: list[Register]) -> None:
        leader = emitter.calc("setp.eq.u32", emitter.special("%laneid"), 0)
        for place, (pick, value) in enumerate((("min", self.least), ("max", self.greatest))):
            for lanes in (16, 8, 4, 2, 1):
                value = emitter.calc(f"{pick}.u64", value, shuffled(emitter, value, "bfly", lanes))
            emitter.put(f"red.global.{pick}.u64", Address(bases[-1], 8 * place), value, guard=leader)


class Encode(RowKernel):
    """The words of rows: of all rows in their order, or (not ``is_first``) of those that ``words`` has."""

    def __init__(self, part: list[Field], is_first: bool) -> None:
        pointers = ["words"]
        scalars = {"row_bits": U32, "row_mask": U32}
        for number, field in enumerate(part):
            pointers += [f"column{number}", *([f"valid{number}"] if field.key.has_nulls else [])]
            scalars.update({f"start{number}": U64, f"null{number}": U64, f"mask{number}": U64})
            scalars.update({f"shift{number}": U32, f"bits{number}": U32})
        super().__init__(pointers, scalars)
        self.part = part
        self.is_first = is_first

    def start(self, kernels: DeviceKernels, words: Memory, rows: int, row_bits: int) -> None:
        """Launches, for ``rows`` rows whose numbers are below ``2**row_bits``."""
        memory: list[Any] = [words]
        scalars = [row_bits, (1 << row_bits) - 1]
        for field in self.part:
            memory += field.key.memory(kernels)
            scalars += [*field.key.origin(), (1 << field.bits) - 1, field.shift, field.bits]
        suffix = "_".join([field.key.suffix for field in self.part])
        name = f"words_{suffix}" if self.is_first else f"further_words_{suffix}"
        self.run(kernels, name, [*memory, *scalars], rows)

    def each(self, emitter: Emitter, bases: list[Register], at: Rounds) -> None:
        words, row = bases[0], at.row
        columns = bases[1 : len(self.pointers)]
        row_bits, row_mask, *numbers = bases[len(self.pointers) :]
        with emitter.when(at.inside):
            if not self.is_first:
                row = emitter.calc("and.b32", emitter.calc("cvt.u32.u64", emitter.load("u64", words, row)), row_mask)
            word = emitter.calc("mov.u64", 0)
            for field in self.part:
                start, null, mask, shift, bits = numbers[:5]
                numbers = numbers[5:]
                key = field.key
                value = ordered(emitter, key.storage, code(emitter, columns.pop(0), row, key.storage))
                value = emitter.calc("sub.u64", *((value, start) if key.ascends else (start, value)))
                if key.has_nulls:
                    valid = emitter.calc("setp.ne.u32", emitter.load("u8", columns.pop(0), row), 0)
                    value = emitter.calc("selp.b64", value, null, valid)
                value = emitter.calc("and.b64", emitter.calc("shr.u64", value, shift), mask)
                word = emitter.calc("or.b64", emitter.calc("shl.b64", word, bits), value)
            number = emitter.calc("cvt.u64.u32", row)
            word = emitter.calc("or.b64", emitter.calc("shl.b64", word, row_bits), number)
            emitter.store("u64", words, at.row, word)


class Falls(RowKernel):
    """Sets ``falls`` where a word is below the one before, above the rows that they have."""

    def each(self, emitter: Emitter, bases: list[Register], at: Rounds) -> None:
        words, falls, row_bits = bases
        follows = emitter.both(at.inside, emitter.calc("setp.ne.u32", at.row, 0))
        word = emitter.load("u64", words, at.row, follows)
        before = emitter.load("u64", words, emitter.calc("sub.u32", at.row, 1), follows)
        below = emitter.calc("setp.lt.u64", *[emitter.calc("shr.u64", w, row_bits) for w in (word, before)])
        emitter.put("st.global.u32", Address(falls), 1, guard=below)


class RowsOfWords(RowKernel):
    """The rows that sorted words are of."""

    def __init__(self) -> None:
        super().__init__(["words", "to"], {"row_mask": U32})

    def each(self, emitter: Emitter, bases: list[Register], at: Rounds) -> None:
        words, target, row_mask = bases
        word = emitter.calc("cvt.u32.u64", emitter.load("u64", words, at.row, at.inside))
        emitter.store("u32", target, at.row, emitter.calc("and.b32", word, row_mask), at.inside)


def _order(kernels: DeviceKernels, arguments: list[Value]) -> Value | None:
    columns = _columns(arguments[0])
    ascends, nulls_first = [[bool(b) for b in as_vector(a).data.tolist()] for a in arguments[1:3]]
    if not columns or any(len(column) != len(columns[0]) for column in columns):
        return None
    keys = sort_keys(kernels, columns, ascends, nulls_first)
    if keys is None:
        return None
    rows = len(columns[0])
    wanted = min(int(as_vector(arguments[3]).data[0]), rows) if len(arguments) > 3 else rows
    return kernels.workspace.vector(I64, first_rows(kernels, keys, rows, wanted), wanted)


def _columns(value: Value) -> list[Vector]:
    if isinstance(value, Ragged):
        return value.cells()
    return [as_vector(cell) for cell in value.cells] if isinstance(value, ListValue) else []


#: Rows of the table of calls.
CALLS: Final[LibraryCalls] = {"order": _order, "order_first": _order}
