"""The value of functions of text that are no more than one word's at a time, in DuckDB's reading: negative counts come
from the end, positions count characters from 1.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from sys import getsizeof
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from drawloom.errors import DataError
from drawloom.horse import listtexts
from drawloom.horse.distinct import by_rows
from drawloom.horse.memory import ask, growing
from drawloom.horse.plain import PLAIN
from drawloom.horse.types import BOOL
from drawloom.horse.values import Array, Value, Vector, as_vector
from drawloom.horse.words import picked, to_python

#: A character that no text has more of than this many times over.
_LONGEST: Final = 1 << 30
#: Characters of a text that is asked for alone.
_LONG: Final = 1 << 16


def repeated(text: str, count: int) -> str:
    if len(text) * count >= _LONG:
        ask(getsizeof(text) * count, "a text")
    return text * count


def _padding(text: str, count: int, by: str) -> str:
    missing = count - len(text)
    if missing > 0 and not by:
        raise DataError("insufficient padding: there is nothing to pad with")
    if count > _LONGEST:
        raise DataError(f"a text of {count} characters is too long")
    return repeated(by, missing // len(by) + 1)[:missing] if missing > 0 else ""


def _repeat(text: str, count: int) -> str:
    if len(text) * count > _LONGEST:
        raise DataError(f"a text of {len(text) * count} characters is too long")
    return repeated(text, count)


def _capitalise(text: str) -> str:
    """The first letter of each word in upper case, the others in lower case; letters and digits make words."""
    made: list[str] = []
    before = " "
    for c in text:
        made.append(c.lower() if before.isalnum() else c.upper())
        before = c
    return "".join(made)


def _split_part(text: str, by: str, number: int) -> str:
    parts = text.split(by) if by else list(text)
    place = number - 1 if number > 0 else len(parts) + number
    return parts[place] if number and 0 <= place < len(parts) else ""


def _char_of(code: int) -> str:
    if not 0 <= code <= 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        raise DataError(f"{code} is no character's code")
    return chr(code)


def _leftmost(text: str, count: int) -> str:
    return text[:count] if count >= 0 else text[: max(len(text) + count, 0)]


def _rightmost(text: str, count: int) -> str:
    return text[max(len(text) - count, 0) :] if count >= 0 else text[-count:]


def _slice(text: str, start: int, count: int = _LONGEST) -> str:
    """``count`` characters from ``start``: from the end where that is negative, and those before it where ``count``
    is."""
    first = start - 1 if start > 0 else len(text) + start if start < 0 else -1
    if start == 0 and count == _LONGEST:
        first = 0
    low, high = (first, first + count) if count >= 0 else (first + count, first)
    return text[max(low, 0) : max(high, 0)]


def _replace_each(text: str, part: str, by: str) -> str:
    if not part:
        return text
    if len(by) > len(part) and text.count(part) * len(by) >= _LONG:
        ask(len(text) + text.count(part) * getsizeof(by), "a text")
    return text.replace(part, by)


def _translate(text: str, given: str, made: str) -> str:
    table: dict[int, str | None] = {}
    for i, c in enumerate(given):
        table.setdefault(ord(c), made[i] if i < len(made) else None)
    return text.translate(table)


def _overlay(text: str, by: str, start: int, count: int | None = None) -> str:
    end = start - 1 + (len(by) if count is None else count)
    return text[: max(start - 1, 0)] + by + text[max(end, 0) :]


def _levenshtein(left: str, right: str) -> int:
    """The least number of UTF-8 bytes to insert, remove or change, which is how DuckDB counts."""
    a, b = left.encode(), right.encode()
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        above, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            above, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, above + (x != y))
    return row[-1]


def _find_in_set(text: str, words: str) -> int:
    parts = words.split(",") if words else []
    return parts.index(text) + 1 if text in parts else 0


def _before_nth(text: str, by: str, count: int) -> str:
    """What is before the ``count``-th ``by``, or behind it counted from the end."""
    if not by or not count:
        return ""
    parts = text.split(by)
    return by.join(parts[:count] if count > 0 else parts[count:])


def _digest(text: str, name: str) -> str:
    try:
        return hashlib.new(name, text.encode(), usedforsecurity=False).hexdigest()
    except ValueError:
        raise DataError(f"there is no digest '{name}'") from None


_ONE: Final[dict[str, Callable[..., Any]]] = {
    "reverse": lambda text: text[::-1],
    "pad_start": lambda text, count, by: _padding(text, count, by) + text[: max(count, 0)],
    "pad_end": lambda text, count, by: text[: max(count, 0)] + _padding(text, count, by),
    "repeat": _repeat,
    "capitalise": _capitalise,
    "split_part": _split_part,
    "code_of": lambda text: ord(text[0]) if text else 0,
    "char_of": _char_of,
    "digest": _digest,
    "contains_text": lambda text, part: part in text,
    "begins_with": lambda text, part: text.startswith(part),
    "ends_with": lambda text, part: text.endswith(part),
    "leftmost": _leftmost,
    "rightmost": _rightmost,
    "slice": _slice,
    "replace_each": _replace_each,
    "trim_each": lambda text, characters: text.strip(characters),
    "trim_start_each": lambda text, characters: text.lstrip(characters),
    "trim_end_each": lambda text, characters: text.rstrip(characters),
    "translate": _translate,
    "overlay": _overlay,
    "levenshtein": _levenshtein,
    "find_in_set": _find_in_set,
    "before_nth": _before_nth,
    "hex": lambda number: f"{number & 0xFFFFFFFFFFFFFFFF:X}",
    "locate": lambda text, part: text.find(part) + 1,
    "count_list_items": listtexts.count_items,
    "is_list_text": lambda text: listtexts.split_list(text) is not None,
    "quote_list_item": listtexts.quote_item,
}


def value(name: str, arguments: list[Value]) -> Value:
    """The value of a function of one row's Python values."""
    vectors = [as_vector(a) for a in arguments]
    row = PLAIN[name]
    mask = vectors.pop() if row.is_partial and len(vectors) == len(row.takes) else None
    return by_rows(_ONE[name], vectors, row.gives, mask)


def _matched(name: str, arguments: list[Value]) -> Value:
    """A regular expression in RE2's syntax, which is DuckDB's too: each pattern is compared with the words beside it.
    Options are "i" for letters in any case, and "f" for the whole of the text."""
    text, pattern = as_vector(arguments[0]), as_vector(arguments[1])
    options = "" if len(arguments) < 3 else as_vector(arguments[2]).words[int(as_vector(arguments[2]).data[0])]
    rows = max(len(text), len(pattern)) if len(text) and len(pattern) else 0
    codes, patterns = [np.broadcast_to(v.data, (rows,)) for v in (text, pattern)]
    gives = PLAIN[name].gives
    made = np.zeros(rows, dtype=bool if gives == BOOL else np.int64)
    for code in np.unique(patterns).tolist():
        mine = patterns == code
        used, places = np.unique(codes[mine], return_inverse=True)
        words = picked(text.words.arrow, used)
        try:
            found = _MATCHES[name](words, pattern.words[code], options)
        except pa.ArrowInvalid as problem:
            raise DataError(f"the regular expression '{pattern.words[code]}': {problem}") from None
        made[mine] = found.take(places.reshape(-1))
    return Vector(gives, made)


def _matches(words: Any, pattern: str, options: str) -> Array:
    whole = f"^(?:{pattern})$" if "f" in options else pattern
    found = pc.match_substring_regex(words, whole, ignore_case="i" in options)
    return np.asarray(found.to_numpy(zero_copy_only=False))


def _counted(words: Any, pattern: str, options: str) -> Array:
    return np.asarray(pc.count_substring_regex(words, pattern).to_numpy(zero_copy_only=False)).astype(np.int64)


def _placed(words: Any, pattern: str, options: str) -> Array:
    """The first character of the first match, from 1; 0 without one."""
    places = pc.find_substring_regex(words, pattern).to_pylist()
    with growing("text") as grown:
        texts = to_python(words, np.arange(len(words)), grown)
    return np.array([len(t.encode()[:p].decode()) + 1 if p >= 0 else 0 for t, p in zip(texts, places)], dtype=np.int64)


_MATCHES: Final[dict[str, Callable[[Any, str, str], Array]]] = {
    "matches": _matches, "match_count": _counted, "match_place": _placed,
}  # fmt: skip

PHRASES: Final[dict[str, Callable[[str, list[Value]], Value]]] = {
    **dict.fromkeys(_ONE, value), **dict.fromkeys(_MATCHES, _matched),
}  # fmt: skip
