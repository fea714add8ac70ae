"""How deep expressions may be: each part within the next is some frames of the stack, and is looked through for all
that is within it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Final

from drawloom.errors import UnsupportedError
from drawloom.sql.clauses import Sql
from drawloom.sql.places import line_and_column

#: Python's frames while a query is prepared: enough for a thousand parts, and within 8 MiB of a compiled build's stack.
_FRAMES: Final = 8000
#: Brackets within each other, and casts by ``::`` of one value, that a text may have.
MOST_BRACKETS: Final = 1000
MOST_CASTS: Final = 100
_REFUSAL: Final = "this query needs what is not built yet:"
_lock: Final = Lock()
_entered: list[int] = []


def refuse_deep(text: str) -> None:
    """Raise UnsupportedError for a text whose brackets or casts are too many within each other."""
    if text.count("(") <= MOST_BRACKETS and text.count("::") <= MOST_CASTS:
        return
    tokens = Sql(text).tokens
    casts = [0] * len(tokens)  # by the last token of the type
    for i, token in enumerate(tokens):
        found = ""
        if token.depth >= MOST_BRACKETS:
            found = f"brackets {MOST_BRACKETS + 1:,} deep, each within the next: at most {MOST_BRACKETS:,} are read"
        if token.is_mark("::") and i + 1 < len(tokens):
            last = i + 1
            while last + 1 < len(tokens) and tokens[last + 1].is_mark("(", "[") and tokens[last + 1].mate > last:
                last = tokens[last + 1].mate
            casts[last] = casts[i - 1] + 1
            if casts[last] > MOST_CASTS:
                found = (
                    f"{MOST_CASTS + 1:,} casts of one value by ::, each of the next: at most {MOST_CASTS:,} are read"
                )
        if found:
            line, column, _ = line_and_column(text, token.start)
            raise UnsupportedError(_REFUSAL, [f"{found} (line {line}, column {column})"])


@contextmanager
def refuses_depth() -> Iterator[None]:
    """Room for deep expressions, for whoever is first to enter until the last has left. UnsupportedError in place of
    RecursionError."""
    with _lock:
        _entered.append(sys.getrecursionlimit())
        sys.setrecursionlimit(max(_FRAMES, _entered[0]))
    try:
        yield
    except RecursionError:
        raise UnsupportedError(_REFUSAL, [
            "an expression of more than a thousand parts, each within the next",
        ]) from None  # fmt: skip
    finally:
        with _lock:
            first = _entered.pop(0)
            if _entered:
                _entered[0] = first
            else:
                sys.setrecursionlimit(first)
