"""Texts of lists, as DuckDB casts them, to lists in SQL.

'[1, NULL]'   =>   [cast(drawloom_text('1') as int), NULL]
list          ::= '[' [element {',' element}] ']'
element       ::= list | quoted | what has no quote, and a comma in brackets alone
quoted        ::= "..." | '...', in which a backslash stands before what is taken as it is
"""

from __future__ import annotations

from typing import Final

from drawloom.sql.rounding import TEXT

_QUOTES: Final = "\"'"
_OPENS: Final[dict[str, str]] = {"(": ")", "{": "}", "[": "]"}
_QUOTES_WITHIN: Final = "a text of a list: quotes around a part of an element were found, around all of it expected"
_TEXTS: Final = ("varchar", "text", "string", "char", "bpchar")


def list_of_text(text: str, element: str, depth: int, is_try: bool) -> str:
    """Return the SQL of a text as a list of a type of elements, which is a list of lists for a ``depth`` above 1. Of
    TRY_CAST NULL stands for what is no list. Raises ValueError for it otherwise."""
    type = element + "[]" * depth
    parts = _elements(text)
    if parts is None and is_try:
        return f"cast(NULL as {type})"
    if parts is None:
        raise ValueError(f"Type VARCHAR with value '{text}' can't be cast to the destination type {type}")
    made = [_element(part, element, depth - 1, is_try) for part in parts]
    known = any(value != "NULL" for value in made)
    return f"[{', '.join(made)}]" if known else f"cast([{', '.join(made)}] as {type})"


def _element(part: str, element: str, depth: int, is_try: bool) -> str:
    if part.lower() == "null":
        return "NULL"
    if depth:
        return list_of_text(part, element, depth, is_try)
    constant = "'" + _plain(part).replace("'", "''") + "'"
    if element.lower() in _TEXTS:
        return constant
    return f"{'try_' * is_try}cast({TEXT}({constant}) as {element})"


def _plain(part: str) -> str:
    """An element without its quotes. Raises ValueError for quotes within one."""
    if not any(quote in part for quote in _QUOTES):
        return part
    made: list[str] = []
    letters = iter(part[1:-1])
    for letter in letters:
        if letter == part[0]:
            raise ValueError(_QUOTES_WITHIN)
        made.append(next(letters, "") if letter == "\\" else letter)
    if part[0] not in _QUOTES or part[-1] != part[0] or len(part) < 2:
        raise ValueError(_QUOTES_WITHIN)
    return "".join(made)


def _elements(text: str) -> list[str] | None:
    """The elements of a list without the blanks around them; None for what is no list."""
    text = text.strip()
    if not (text.startswith("[") and text.endswith("]") and len(text) > 1):
        return None
    made: list[str] = []
    closes: list[str] = []
    quote, begin, skips = "", 1, False
    for place in range(1, len(text) - 1):
        letter = text[place]
        if quote:
            is_end = letter == quote and not skips
            skips = letter == "\\" and not skips
            quote = "" if is_end else quote
        elif letter in _QUOTES:
            quote, skips = letter, False
        elif letter in _OPENS:
            closes.append(_OPENS[letter])
        elif letter in _OPENS.values():
            if not closes or closes.pop() != letter:
                return None
        elif letter == "," and not closes:
            made.append(text[begin:place].strip())
            begin = place + 1
    if quote or closes:
        return None
    last = text[begin:-1].strip()
    return [*made, last] if made or last else []
