"""The words of a text column: distinct strings in the order of their UTF-8 bytes, kept as Arrow keeps them.

Python strings are made only of words that are asked for: a column of a million of them costs their bytes, and the
garbage collector has nothing to walk. Strings are made here, asked for before and counted while they live.
"""

from __future__ import annotations

import sys
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from drawloom.horse.memory import Growing, ask, current_use, hold

Array = npt.NDArray[Any]
#: An Arrow array of large_string without NULLs.
Strings = Any

#: Bytes of a string that one step of sorting compares; the eighth of its key says how many there are.
_STEP: Final = 7
#: Bytes that sorting takes for a string, beside the strings.
_SORTED: Final = 96
#: The bytes of a key that a string has, by how many are left of it: those behind its end, and the eighth, are cut off.
_SHOWN: Final = np.array([((1 << 8 * min(n, _STEP)) - 1) << 8 * (8 - min(n, _STEP)) for n in range(9)], dtype=np.uint64)
#: Strings of which it is seen whether they repeat each other.
_SAMPLE: Final = 1 << 12
#: Most words that are put into a long sorted array one by one.
FEW: Final = 64
#: Bytes of a place in an array of strings, and of a Python string beside its characters, the pointer to it included.
_PLACE: Final = 8
PYTHON_STRING: Final = 64
#: Bytes of strings that are not measured before they are taken, and strings of which the lengths are looked up at a
#: time.
_LITTLE: Final = 1 << 16
_MEASURED: Final = 1 << 16


class Words:
    """The strings of ``arrow`` (large_string), which ascend without repeats: code ``i`` is the i-th. Two objects are
    equal only if they are the same. ``copies`` is what devices keep of them, by the device's name."""

    def __init__(self, arrow: Strings) -> None:
        self.arrow = arrow
        self.copies: dict[str, object] = {}

    def __len__(self) -> int:
        return len(self.arrow)

    def __getitem__(self, code: int) -> str:
        word: str = self.arrow[code].as_py()
        return word

    def __iter__(self) -> Iterator[str]:
        return iter(self.arrow.to_pylist())

    def lower(self, word: str) -> int:
        """The first code whose string is not below ``word``."""
        return bisect_left(range(len(self)), word.encode(), key=self._bytes)

    def upper(self, word: str) -> int:
        """The first code whose string is above ``word``."""
        return bisect_right(range(len(self)), word.encode(), key=self._bytes)

    def places(self, others: Words) -> Array:
        """For each word of others one more than twice its code here, or the even number between those of its
        neighbours: with ``2 * codes + 1`` these compare as the words do."""
        return np.array([self.lower(w) + self.upper(w) for w in others], dtype=np.int64)

    def _bytes(self, code: int) -> bytes:
        return self[code].encode()

    @property
    def nbytes(self) -> int:
        """Bytes of the strings and of where they begin."""
        size: int = self.arrow.nbytes
        return size


# Strings that are made


def kept(strings: Strings) -> Strings:
    """Counts strings for as long as they live."""
    hold(strings, strings.nbytes)
    return strings


def computed(bound: int, make: Callable[[], Strings]) -> Strings:
    """Strings that Arrow makes, of at most ``bound`` bytes."""
    ask(bound, "text")
    return kept(make())


def picked(strings: Strings, rows: Array, mask: Array | None = None) -> Strings:
    """The strings at some rows; NULL where the mask is true."""
    ask_at(strings, rows, mask)
    if mask is None and 0 < len(rows) <= FEW and isinstance(strings, pa.ChunkedArray):
        # Arrow would put all chunks together.
        return kept(pa.concat_arrays([_alone(strings, int(row)) for row in rows]))
    return kept(strings.take(pa.array(rows, mask=mask)))


def _alone(strings: Strings, row: int) -> Strings:
    return strings.slice(row, 1).combine_chunks()


def ask_at(strings: Strings, rows: Array, mask: Array | None = None) -> None:
    """Asks for what ``picked`` takes."""
    use = current_use()
    if use is not None and strings.nbytes * len(rows) > _LITTLE:
        known, beside = rows if mask is None else rows[~mask], _PLACE * len(rows)
        if isinstance(strings, pa.ChunkedArray) and strings.num_chunks > 1:
            beside += strings.nbytes  # Arrow puts the chunks together
        use.ask(bytes_at(strings, known, use.limit - use.current - beside) + beside, "text")


def together(parts: list[Strings]) -> Strings:
    """All strings of several arrays."""
    if len(parts) < 2:
        return parts[0] if parts else pa.array([], pa.large_string())
    return computed(sum([p.nbytes for p in parts]), lambda: pa.concat_arrays(parts))


def from_python(strings: list[str], characters: int) -> Strings:
    """Python's strings, of so many characters in all; Arrow's memory grows by doubling."""
    return computed(2 * characters + _PLACE * len(strings), lambda: pa.array(strings, pa.large_string()))


def to_python(strings: Strings, rows: Array, grown: Growing) -> list[str]:
    """The strings at some rows as Python's."""
    found = picked(strings, rows)
    grown.take(found.nbytes + PYTHON_STRING * len(found))
    made: list[str] = found.to_pylist()
    return made


def bytes_at(strings: Strings, rows: Array, enough: int) -> int:
    """The bytes of the strings at some rows, each as often as it stands there; or more, but no more than ``enough``."""
    if not isinstance(strings, pa.ChunkedArray):
        starts = _offsets(strings)
        lengths = np.diff(starts) if len(strings) <= len(rows) else None
        total = 0
        if lengths is not None and (most := int(lengths.max(initial=0)) * len(rows)) <= enough:
            return most
        for first in range(0, len(rows), _MEASURED):
            some = rows[first : first + _MEASURED]
            if lengths is None:
                some = some.astype(np.int64, copy=False)
                total += int((starts.take(some + 1) - starts.take(some)).sum())
            else:
                total += int(lengths.take(some).sum())
        return total
    rows = rows.astype(np.int64, copy=False)
    if len(rows) > 1 and not bool((rows[1:] >= rows[:-1]).all()):
        rows = np.sort(rows)
    total, first = 0, 0
    for chunk in strings.chunks:
        low, high = np.searchsorted(rows, [first, first + len(chunk)]).tolist()
        if high > low:
            total += bytes_at(chunk, rows[low:high] - first, 0)
        first += len(chunk)
    return total


def words_of(strings: Iterable[str]) -> Words:
    """The distinct ones of some strings."""
    return Words(pa.array(sorted(set(strings), key=str.encode), pa.large_string()))


NO_WORDS: Final = words_of([])


def ranked(strings: Strings) -> tuple[Array, Words]:
    """For each string its place among the distinct ones, in integers of 32 bits where these do; and those.

    Where the first strings repeat each other, those that differ are found by a hash table and sorted alone.
    """
    count = len(strings)
    if count >= _SAMPLE and 2 * pc.count_distinct(strings.slice(0, _SAMPLE)).as_py() <= _SAMPLE:
        ask(_PLACE * count + strings.nbytes // 2, "words")
        encoded = strings.dictionary_encode()
        ranks, words = _sorted_words(encoded.dictionary)
        return ranks.take(encoded.indices.to_numpy()), words
    return _sorted_words(strings)


def _sorted_words(strings: Strings) -> tuple[Array, Words]:
    count = len(strings)
    ask(_SORTED * count + strings.nbytes, "sorting words")
    order, begins = _sorted(strings)
    places = np.empty(count, dtype=np.int32 if count < 1 << 31 else np.int64)
    places[order] = np.cumsum(begins) - 1
    first = order[begins]
    if len(first) == count and bool((first[1:] > first[:-1]).all()):
        return places, Words(strings)
    return places, Words(picked(strings, first))


def united(texts: list[Words]) -> tuple[list[Array | None], Words]:
    """All words of several dictionaries, and each one's new codes by its old ones: None where they stay."""
    longest = max(texts, key=len)
    others = [t for t in texts if t is not longest]
    if sum([len(t) for t in others]) > FEW:
        codes, words = ranked(together([t.arrow for t in texts]))
        ends = np.cumsum([len(t) for t in texts])
        return list(np.split(codes, ends[:-1])), words
    new = sorted({w for t in others for w in t if longest.upper(w) == longest.lower(w)}, key=str.encode)
    if new:
        places = [longest.lower(w) for w in new]
        pieces: list[Strings] = []
        for word, start, stop in zip(new, [0, *places], places):
            pieces += [longest.arrow.slice(start, stop - start), pa.array([word], pa.large_string())]
        words = Words(together([*pieces, longest.arrow.slice(places[-1])]))
        old = np.arange(len(longest))
        moved: Array | None = old + np.searchsorted(places, old, side="right")
    else:
        words, moved = longest, None
    return [moved if t is longest else np.array([words.lower(w) for w in t], dtype=np.int64) for t in texts], words


def _sorted(strings: Strings) -> tuple[Array, Array]:
    """The rows in the order of their strings' bytes, equal ones in some order, and for each place whether another
    string begins there.

    All strings are sorted by their first seven bytes, those that these leave in doubt by the next seven, and so on.
    """
    starts, lengths, text = _layout(strings)
    order = np.arange(len(lengths), dtype=np.int32 if len(lengths) < 1 << 31 else np.int64)
    begins = np.ones(len(order), dtype=bool)
    doubtful, run, depth = order.copy(), np.zeros(len(order), dtype=np.int64), 0
    while len(doubtful):
        rows = order[doubtful]
        keys = _keys(text, starts[rows] + depth, lengths[rows] - depth)
        by_key = np.argsort(keys)
        if depth:
            # NumPy sorts integers many times faster than it sorts row numbers by them.
            places = np.sort((run[by_key] << 32) | np.arange(len(rows)))
            by_key = by_key[places & 0xFFFFFFFF]
            run = places >> 32
        keys = keys[by_key]
        order[doubtful] = rows[by_key]
        same = np.zeros(len(rows), dtype=bool)
        same[1:] = (keys[1:] == keys[:-1]) & (run[1:] == run[:-1])
        begins[doubtful] = ~same
        # A string that goes on, beside another with the same bytes so far.
        open_ = (keys & 0xFF) > _STEP
        beside = same.copy()
        beside[:-1] |= same[1:]
        run = np.cumsum(~same)
        kept = open_ & beside
        doubtful, run = doubtful[kept], run[kept]
        depth += _STEP
    return order, begins


def _layout(strings: Strings) -> tuple[Array, Array, Array]:
    """Where each string begins, its bytes, and the text with room for reading eight bytes from any of them."""
    offsets, found = _offsets(strings), text_of(strings)
    text = np.zeros(len(found) + 8, dtype=np.uint8)
    text[:-8] = found
    return offsets[:-1] - offsets[:1], np.diff(offsets), text


def _offsets(strings: Strings) -> Array:
    """Where each string begins in Arrow's bytes, and where the last one ends."""
    if not len(strings):
        return np.zeros(1, dtype=np.int64)
    starts: Array = np.frombuffer(strings.buffers()[1], dtype=np.int64)
    return starts[strings.offset : strings.offset + len(strings) + 1]


def text_of(strings: Strings) -> Array:
    """The bytes of all strings of an array, one behind the other."""
    offsets, data = _offsets(strings), strings.buffers()[2]
    low, high = int(offsets[0]), int(offsets[-1])
    return np.frombuffer(data, dtype=np.uint8)[low:high] if high > low else np.zeros(0, dtype=np.uint8)


def _keys(text: Array, starts: Array, lengths: Array) -> Array:
    """Integers ordered as the first seven bytes are, a string before one that goes on."""
    overlapping: Array = np.ndarray((len(text) - 7,), np.uint64, text.data, 0, (1,))
    keys = overlapping[starts]
    if sys.byteorder == "little":
        keys.byteswap(inplace=True)
    left = np.minimum(lengths, _STEP + 1)
    keys &= _SHOWN[left]
    keys |= left.view(np.uint64)
    return keys
