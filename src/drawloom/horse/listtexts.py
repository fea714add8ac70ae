r"""Texts of lists: split one into the texts of its elements, and quote an element for one, both as DuckDB does.

    list    ::= '[' [element {',' element}] ']'
    element ::= {character | quoted | bracketed | '\' quote}     blanks around an element do not count
    quoted  ::= '"' {...} '"' | "'" {...} "'"                    a backslash stands before what is taken as it is
    bracketed: from a bracket to the one that closes it, kept with all quotes inside

An element that is the word NULL, in any case and without quotes, is NULL.
"""

from __future__ import annotations

from sys import getsizeof
from typing import Final

import numpy as np

from drawloom.errors import DataError
from drawloom.horse.distinct import vector_of
from drawloom.horse.memory import ask, growing
from drawloom.horse.types import BOOL, STR
from drawloom.horse.values import Value, Vector, as_vector, integers
from drawloom.horse.words import to_python

_BLANKS: Final = " \t\n\v\f\r"
_QUOTES: Final = "'\""
_OPENS: Final[dict[str, str]] = {"(": ")", "{": "}", "[": "]"}
_MARKS: Final = frozenset("(){}[]'\"\\")
_SPECIAL: Final = frozenset(",:=[](){}'\"\\")
_NULL: Final = "null"
#: Bytes of a place among elements.
_PLACE: Final = 8


def split_list(text: str) -> list[str | None] | None:
    """Split the text of a list into the texts of its elements.

    Returns:
        The elements without blanks and quotes around them, None for NULL; None for a text that is not a list.
    """
    parts = _parts(text)
    return None if parts is None else [None if part.lower() == _NULL else _unquoted(part) for part in parts]


def count_items(text: str, type: str) -> int:
    """Return the number of elements in the text of a list.

    Args:
        text: The text.
        type: SQL's name of the type that the text is cast to, for the error.

    Raises:
        DataError: The text is not a list.
    """
    found = split_list(text)
    if found is None:
        raise DataError(f"Type VARCHAR with value '{text}' can't be cast to the destination type {type}")
    return len(found)


def quote_item(text: str) -> str:
    """Return the text of a scalar as an element in the text of a list, in quotes where it would be read otherwise."""
    is_plain = text and text[0] not in _BLANKS and text[-1] not in _BLANKS and text.lower() != _NULL
    if is_plain and _SPECIAL.isdisjoint(text):
        return text
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def list_items(name: str, arguments: list[Value]) -> Value:
    """Return the first elements of the text of a list in each row, one row after the other.

    ``@list_items(text, counts)`` gives their texts, "" for NULL; ``@known_list_items`` whether they are not NULL.

    Raises:
        DataError: A text has fewer elements than its count.
    """
    text, counts = as_vector(arguments[0]), integers(as_vector(arguments[1])).astype(np.int64)
    strings, codes = text.spelled()
    asked = np.flatnonzero(counts)
    used, places = np.unique(asked if codes is None else codes[asked], return_inverse=True)
    items: list[str | None] = [""]
    starts: list[int] = []
    with growing("text") as grown:
        for given in to_python(strings, used, grown):
            found = split_list(given) or []
            grown.take(sum([getsizeof(item) for item in found]) + _PLACE * len(found))
            starts.append(len(items))
            items.extend(found)
        sizes = np.diff(np.array([*starts, len(items)], dtype=np.int64))
        counts = counts[asked]
        if bool((counts > sizes[places]).any()):
            raise DataError(f"@{name}: a text has fewer elements than were asked for")
        ask(3 * _PLACE * int(counts.sum()), "text")
        firsts = np.array(starts, dtype=np.int64)[places] - (np.cumsum(counts) - counts)
        rows = np.repeat(firsts, counts) + np.arange(int(counts.sum()))
        if name == "known_list_items":
            return Vector(BOOL, np.array([item is not None for item in items]).take(rows))
        return vector_of([item or "" for item in items], STR, rows)


def _parts(text: str) -> list[str] | None:
    """Split the text of a list at its commas, without blanks around the parts; None for what is not a list."""
    text = text.strip(_BLANKS)
    if len(text) > 1 and text[0] == "[" and text[-1] == "]" and _MARKS.isdisjoint(text[1:-1]):
        inside = text[1:-1].strip(_BLANKS)
        return [part.strip(_BLANKS) for part in inside.split(",")] if inside else []
    end = len(text)
    if not text.startswith("["):
        return None
    place = _after_blanks(text, 1)
    parts: list[str] = []
    is_escaped = False  # by the backslash before, over a comma as well
    while place < end and text[place] != "]":
        begin = place
        while place < end and text[place] not in ",]":
            letter, was_escaped, is_escaped = text[place], is_escaped, text[place] == "\\"
            if letter in _OPENS:
                place = _closing_bracket(text, place)
            elif letter in _QUOTES and not was_escaped:
                place = _closing_quote(text, place)
            if place < 0:
                return None
            place += 1
        if place == end:
            return None
        parts.append(text[begin:place].strip(_BLANKS))
        if text[place] == ",":
            begin, place = place + 1, _after_blanks(text, place + 1)
            is_escaped = is_escaped and begin == place
            if place < end and text[place] == "]":
                parts.append("")
    return parts if place == end - 1 else None


def _after_blanks(text: str, place: int) -> int:
    while place < len(text) and text[place] in _BLANKS:
        place += 1
    return place


def _closing_quote(text: str, place: int) -> int:
    """Return the place of the quote that closes the one at `place`, -1 for none."""
    quote, is_escaped = text[place], False
    for i in range(place + 1, len(text)):
        if text[i] == quote and not is_escaped:
            return i
        is_escaped = text[i] == "\\" and not is_escaped
    return -1


def _closing_bracket(text: str, place: int) -> int:
    """Return the place of the bracket that closes the one at `place`, -1 for none."""
    closes: list[str] = []
    is_escaped = False
    while 0 <= place < len(text):
        letter, was_escaped, is_escaped = text[place], is_escaped, text[place] == "\\"
        if letter in _QUOTES and not was_escaped:
            place = _closing_quote(text, place)
            if place < 0:
                return -1
        elif letter in _OPENS:
            closes.append(_OPENS[letter])
        elif letter == closes[-1]:
            closes.pop()
            if not closes:
                return place
        place += 1
    return -1


def _unquoted(part: str) -> str:
    """Return an element without its quotes and the backslashes before quotes, but those within brackets."""
    if _MARKS.isdisjoint(part):
        return part
    made: list[str] = []
    closes: list[str] = []
    quote, place = "", 0
    while place < len(part):
        letter, after = part[place], part[place + 1 : place + 2]
        place += 1
        if letter == "\\" and (quote or (not closes and after and after in _QUOTES)):
            made.append(letter * bool(closes) + after)
            place += 1
        elif letter == quote:
            quote = ""
            made.append(letter * bool(closes))
        elif quote:
            made.append(letter)
        elif letter in _QUOTES:
            quote = letter
            made.append(letter * bool(closes))
        else:
            if letter in _OPENS:
                closes.append(_OPENS[letter])
            elif closes and letter == closes[-1]:
                closes.pop()
            made.append(letter)
    return "".join(made)
