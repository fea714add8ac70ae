"""The value of the builtins over text, and of the functions that Arrow computes as DuckDB does.

A function of one text is computed once for each word of its dictionary; one of two texts once for each pair of words
that stand in one row.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from drawloom.errors import DataError
from drawloom.horse.blocks import in_blocks
from drawloom.horse.evaluate import floats, like_hits
from drawloom.horse.memory import ask
from drawloom.horse.types import BOOL, F64, I64, STR, VectorType
from drawloom.horse.values import (
    INT64_MAX,
    Array,
    RawText,
    SpelledText,
    Value,
    Vector,
    as_vector,
    bounds,
    narrowest,
    only_number,
    only_text,
    taken,
)
from drawloom.horse.words import Strings, computed, picked, ranked, text_of

#: Bytes that finding the distinct pairs of two texts takes for a row.
_PAIRED: Final = 48
#: Words that are sorted at once, whoever may ask for them; those that a core takes at a time; and bytes of a number.
_FEW: Final = 1 << 12
_BLOCK: Final = 1 << 16
_NUMBER: Final = 8


def coded(words: Strings, codes: Array | None, type: VectorType) -> Vector:
    """The text that has word ``codes[i]`` in row i, or word i: its dictionary sorted and without repeats, when somebody
    asks for that where the words are many."""
    if codes is None:
        return Vector(type, RawText(words))
    if len(words) > _FEW:
        return Vector(type, SpelledText(words, codes))
    ranks, ordered = ranked(words)
    return Vector(type, taken(ranks.astype(narrowest(0, max(len(ordered) - 1, 0))), codes), ordered)


def _read(vector: Vector) -> tuple[Strings, Array | None]:
    """The strings of a text and each row's place among them, None where each row has its own: no more of them than
    there are rows."""
    words, codes = vector.spelled()
    if codes is None or len(words) <= _FEW or len(codes) >= len(words):
        return words, codes
    used, places = np.unique(codes, return_inverse=True)
    return picked(words, used), places.reshape(-1)


def _each(words: Strings, function: Callable[[Strings], Strings]) -> Strings:
    """What a function of each string gives, on all cores."""
    if len(words) <= _BLOCK:
        return function(words)

    def block(start: int) -> list[pa.Array]:
        made = function(words.slice(start, _BLOCK))
        return made.chunks if isinstance(made, pa.ChunkedArray) else [made]

    chunks = [c for made in in_blocks(len(words), _BLOCK, block) for c in made]
    return pa.chunked_array(chunks) if isinstance(words, pa.ChunkedArray) else pa.concat_arrays(chunks)


def _options(name: str, arguments: list[Value]) -> list[str]:
    return [only_text(name, a) for a in arguments[1:]]


def _text(name: str, arguments: list[Value]) -> Value:
    given = as_vector(arguments[0])
    words, codes = _read(given)
    options = _options(name, arguments)
    bound = _LONGER[name](words, *options) if name in _LONGER else _CHANGED * words.nbytes
    made = computed(bound, lambda: _each(words, lambda some: _TO_TEXT[name](some, *options)))
    return coded(made, codes, given.type)


def _number(name: str, arguments: list[Value]) -> Value:
    words, codes = _read(as_vector(arguments[0]))
    options = _options(name, arguments)
    ask(_CHANGED * words.nbytes if name == "position" else _NUMBER * len(words), "text")
    made = _each(words, lambda some: _TO_NUMBER[name](some, *options)).to_numpy(zero_copy_only=False)
    made = made.astype(narrowest(*bounds(made)))
    return Vector(I64, made if codes is None else taken(made, codes))


def _substring(name: str, arguments: list[Value]) -> Value:
    """At most so many characters from a start, which counts from 1."""
    given = as_vector(arguments[0])
    start, count = [only_number(name, a) for a in arguments[1:]]
    if start < 1 or count < 0:
        raise DataError(f"@substring of {count} characters from {start}: a start from 1 was expected")
    words, codes = _read(given)
    first, last = [min(place, INT64_MAX) for place in (start - 1, start - 1 + count)]
    made = computed(words.nbytes, lambda: _each(words, lambda some: pc.utf8_slice_codeunits(some, first, last)))
    return coded(made, codes, given.type)


def _replaced(words: Strings, pattern: str, by: str) -> Strings:
    return pc.replace_substring(words, pattern, by) if pattern else words


def _replaced_bytes(words: Strings, pattern: str, by: str) -> int:
    found = _found(pc.count_substring(words, pattern)) if pattern else 0
    return int(words.nbytes) + found * max(len(by.encode()) - len(pattern.encode()), 0)


def _regexp_bytes(words: Strings, pattern: str, by: str, flags: str = "") -> int:
    """What is put in a match's place may repeat all of it, and there is one before each character at most."""
    whole, found = int(words.nbytes), len(words)
    if "g" in flags:
        with suppress(pa.ArrowInvalid):  # which replacing raises as well
            found += _found(pc.count_substring_regex(words, pattern, ignore_case="i" in flags))
    return whole * (1 + by.count("\\")) + found * len(by.encode())


def _found(counts: Strings) -> int:
    total = pc.sum(counts).as_py()
    return int(total or 0)


def _regexp_replaced(words: Strings, pattern: str, by: str, flags: str = "") -> Strings:
    try:
        asked = f"(?i:{pattern})" if "i" in flags else pattern
        return pc.replace_substring_regex(words, asked, by, max_replacements=None if "g" in flags else 1)
    except pa.ArrowInvalid as problem:
        raise DataError(f"regexp_replace with '{pattern}': {problem}") from None


def _length(words: Strings) -> Strings:
    """Characters: of text that is ASCII, bytes."""
    return pc.binary_length(words) if _is_ascii(words) else pc.utf8_length(words)


def _is_ascii(words: Strings) -> bool:
    parts = words.chunks if isinstance(words, pa.ChunkedArray) else [words]
    return all(int(text_of(part).view(np.int8).min(initial=0)) >= 0 for part in parts)


def _position(words: Strings, part: str) -> Strings:
    """The first character's number from 1, where the part begins; 0 where it is not in the word."""
    if not part:
        return pa.array(np.ones(len(words), dtype=np.int64))
    before = pc.list_element(pc.split_pattern(words, part, max_splits=1), 0)
    return pc.if_else(pc.match_substring(words, part), pc.add(pc.utf8_length(before), 1), 0)


_TO_TEXT: Final[dict[str, Callable[..., Strings]]] = {
    "upper": pc.utf8_upper,
    "lower": pc.utf8_lower,
    "trim": lambda words, characters=" ": pc.utf8_trim(words, characters),
    "trim_start": lambda words, characters=" ": pc.utf8_ltrim(words, characters),
    "trim_end": lambda words, characters=" ": pc.utf8_rtrim(words, characters),
    "replace": _replaced,
    "regexp_replace": _regexp_replaced,
}
#: The most bytes of what is longer than its words, and how many times theirs other cases of letters have.
_LONGER: Final[dict[str, Callable[..., int]]] = {"replace": _replaced_bytes, "regexp_replace": _regexp_bytes}
_CHANGED: Final = 2
_TO_NUMBER: Final[dict[str, Callable[..., Strings]]] = {
    "length": _length, "octet_length": pc.binary_length, "position": _position,
}  # fmt: skip


def _pairs(a: Vector, b: Vector) -> tuple[Array, Array, Array]:
    """The codes of both texts for each distinct pair of them, and each row's pair."""
    ask(_PAIRED * max(len(a), len(b)), "pairs of texts")
    left, right = np.broadcast_arrays(a.data.astype(np.int64), b.data.astype(np.int64))
    width = max(len(b.words), 1)
    pairs, rows = np.unique(left * width + right, return_inverse=True)
    return pairs // width, pairs % width, rows.reshape(-1)


def _joined(left: Strings, right: Strings) -> Strings:
    return pc.binary_join_element_wise(left, right, pa.scalar("", pa.large_string()))


def _join_text(name: str, arguments: list[Value]) -> Value:
    a, b = as_vector(arguments[0]), as_vector(arguments[1])
    left, right, rows = _pairs(a, b)
    first, second = picked(a.words.arrow, left), picked(b.words.arrow, right)
    return coded(computed(first.nbytes + second.nbytes, lambda: _joined(first, second)), rows, STR)


def _like_text(name: str, arguments: list[Value]) -> Value:
    """LIKE with a pattern of its own for each row: every pattern is compared once, with the words beside it."""
    text, patterns = as_vector(arguments[0]), as_vector(arguments[1])
    left, right, rows = _pairs(text, patterns)
    hits = np.zeros(len(left), dtype=bool)
    for code in np.unique(right).tolist():
        mine = right == code
        words = patterns.words[code]
        hits[mine] = like_hits(text.words.arrow, words).take(left[mine])
    return Vector(BOOL, hits.take(rows))


def _real(name: str, arguments: list[Value]) -> Value:
    """A function of doubles: NaN or an infinity where it has no value."""
    values = [floats(as_vector(a)) for a in arguments]
    made = _REAL[name](*[pa.array(v) if len(v) != 1 else pa.scalar(float(v[0])) for v in values])
    rows = next((len(v) for v in values if len(v) != 1), 1)
    data = np.array([made.as_py()]) if isinstance(made, pa.Scalar) else made.to_numpy(zero_copy_only=False)
    return Vector(F64, data if len(data) == rows else np.broadcast_to(data, (rows,)))


_REAL: Final[dict[str, Callable[..., Any]]] = {
    "sqrt": pc.sqrt, "ln": pc.ln, "exp": pc.exp, "power": pc.power, "floor": pc.floor, "ceil": pc.ceil,
    "round": lambda values: pc.round(values, round_mode="half_towards_infinity"),
}  # fmt: skip

TEXTS: Final[dict[str, Callable[[str, list[Value]], Value]]] = {
    **dict.fromkeys(_TO_TEXT, _text), **dict.fromkeys(_TO_NUMBER, _number), **dict.fromkeys(_REAL, _real),
    "substring": _substring, "join_text": _join_text, "like_text": _like_text,
}  # fmt: skip
