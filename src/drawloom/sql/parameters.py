"""Values in the places of a query's parameters: ``?`` takes the next of a sequence, ``$2`` its second, ``$name`` a
mapping's.

    select * from t where a > ? and b = ?         [1, "x"]          =>  ... where a > 1 and b = 'x'
    select * from t where a in $keys              {"keys": [1, 2]}  =>  ... where a in (1, 2)

A value becomes the constant that SQL writes for it, so that its type is what that constant's is.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

from drawloom.errors import DataError
from drawloom.sql.clauses import Sql, left_side, replaced
from drawloom.sql.tokens import COMMENT, QUOTED_NAME, STRING, WORD, pattern_of

#: What ``Connection.sql`` takes.
Parameters = Sequence[Any] | Mapping[str, Any]

_TOKEN: Final = pattern_of(
    rf"{COMMENT} | {STRING} | {QUOTED_NAME} | (?P<in> (?i:in) (?=\s*[?$]) ) | (?P<word> {WORD} )"
    r" | (?P<parameter> \? | \$ (?P<number> \d+ ) | \$ (?P<name> \w+ ) )"
)
_MOST_DIGITS: Final = 38


def with_values(text: str, parameters: Parameters | None) -> str:
    """The text with a constant in the place of each parameter. Raises DataError for a parameter without a value, a
    value without a parameter, and a value that SQL has no constant for."""
    if isinstance(parameters, str | bytes) or not isinstance(parameters, Sequence | Mapping | None):
        raise DataError(f"parameters are a list or a dict, not {type(parameters).__name__}")
    made: list[str] = []
    used: set[int | str] = set()
    at = next_number = 0
    behind_in = False
    has_empty = False
    for token in _TOKEN.finditer(text):
        if token["parameter"] is None:
            behind_in = token["in"] is not None
            continue
        key: int | str = token["name"] or 0
        if token["name"] is None:
            next_number += token["number"] is None
            key = int(token["number"] or next_number)
        used.add(key)
        value = _value(token["parameter"], key, parameters)
        has_empty = has_empty or (behind_in and isinstance(value, list | tuple) and not value)
        made.extend([text[at : token.start()], _options(value) if behind_in else constant(value)])
        at, behind_in = token.end(), False
    if parameters is not None:
        given = set(parameters) if isinstance(parameters, Mapping) else set(range(1, len(parameters) + 1))
        if given - used:
            raise DataError(f"the query has no parameter for {_listed(given - used)}")
    made.append(text[at:])
    return _without_empty("".join(made)) if has_empty else "".join(made)


def _without_empty(text: str) -> str:
    """The text without lists behind IN that have no value: nothing is in them, NULL neither (as in DuckDB 2.0.1)."""
    while True:
        sql = Sql(text)
        word = next((i for i, t in enumerate(sql.tokens) if t.is_word("in") and sql.is_at(i + 1, "(", ")")), -1)
        if word < 0:
            return text
        is_negated = sql.is_at(word - 1, "not")
        last = word - 1 - is_negated
        start = left_side(sql, last)
        if start < 0 or start > last:
            raise DataError("a parameter behind IN is an empty list, and it is not told what it is compared with")
        value = sql.between(start, last + 1)
        made = f"(({value}) is null {'or true' if is_negated else 'and false'})"
        text = replaced(text, [(sql.tokens[start].start, sql.tokens[word + 2].end, made)])


def _value(parameter: str, key: int | str, parameters: Parameters | None) -> Any:
    if isinstance(parameters, Mapping):
        if isinstance(key, int):
            raise DataError(f"parameter {parameter} takes a value of a list, and a dict was given")
        if key not in parameters:
            raise DataError(f"parameter {parameter} has no value: {_listed(set(parameters))} were given")
        return parameters[key]
    if isinstance(key, str):
        raise DataError(f"parameter {parameter} takes a value of a dict such as {{'{key}': ...}}")
    if not 1 <= key <= len(parameters or ()):
        raise DataError(f"parameter {parameter} has no value: {len(parameters or ())} were given")
    return (parameters or ())[key - 1]


def _listed(keys: set[Any]) -> str:
    return ", ".join([f"'{k}'" if isinstance(k, str) else f"value {k}" for k in sorted(keys, key=str)]) or "none"


def _options(value: Any) -> str:
    """A list behind IN."""
    if not isinstance(value, list | tuple):
        return f"({constant(value)})"
    return f"({', '.join([constant(v) for v in value])})"


def constant(value: Any) -> str:
    """The constant that SQL writes for a value. Raises DataError for a value that there is none for."""
    if hasattr(value, "item") and hasattr(value, "dtype") and getattr(value, "ndim", 1) == 0:
        value = value.item()  # a scalar of NumPy's
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"({value})" if value < 0 else str(value)
    if isinstance(value, float):
        return f"cast('{value!r}' as double)"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, Decimal):
        return _decimal(value)
    if isinstance(value, datetime.datetime):
        zone = "timestamp" if value.tzinfo is None else "timestamp with time zone"
        return f"{zone} '{value.isoformat(' ')}'"
    if isinstance(value, datetime.date):
        return f"date '{value.isoformat()}'"
    if isinstance(value, datetime.time) and value.tzinfo is None:
        return f"time '{value.isoformat()}'"
    if isinstance(value, datetime.timedelta):
        return f"interval '{value // datetime.timedelta(microseconds=1)} microseconds'"
    if isinstance(value, list | tuple):
        return f"[{', '.join([constant(v) for v in value])}]"
    raise DataError(f"a parameter is of type {type(value).__name__}, which SQL has no constant for")


def _decimal(value: Decimal) -> str:
    if not value.is_finite():
        raise DataError(f"a parameter is the decimal {value}: decimals are finite")
    text = format(value, "f")
    digits = len(text.replace("-", "").replace(".", "").lstrip("0"))
    if digits > _MOST_DIGITS:
        raise DataError(f"a parameter is the decimal {value}, which has more than {_MOST_DIGITS} digits")
    return f"cast({text} as decimal({max(digits, 1)}, 0))" if "." not in text else f"({text})"
