"""Functions and joins by DuckDB's names, which DataFusion has under others.

    select year(day), ceiling(x), first(y) from t   =>   select date_part('year', day), ceil(x), first_value(y) from t
    select if(a > 1, 'many', 'one') from t          =>   select (case when a > 1 then 'many' else 'one' end) from t
    select * from t semi join u on a = k            =>   select * from t left semi join u on a = k

What follows no word or mark that an expression stands behind is no call, and stays.
"""

from __future__ import annotations

import re
from typing import Final

from drawloom.sql.clauses import BEFORE, OPERATORS, Sql, replaced

_NAMES: Final[dict[str, str]] = {
    "ceiling": "ceil", "sign": "signum", "regexp_matches": "regexp_like", "listagg": "string_agg",
    "group_concat": "string_agg", "approx_count_distinct": "approx_distinct", "first": "first_value",
    "last": "last_value", "arbitrary": "first_value", "list_value": "make_array", "list": "array_agg",
    "string_split": "string_to_array", "str_split": "string_to_array", "split": "string_to_array",
    "strlen": "octet_length", "ucase": "upper", "lcase": "lower", "mean": "avg", "prefix": "starts_with",
    "suffix": "ends_with",
}  # fmt: skip
#: A time of day as a moment, which compares as it does.
MOMENT: Final = "drawloom_moment"
#: AT TIME ZONE of moments with a zone and without, by the functions that they are.
LOCAL: Final = "drawloom_local_moment"
UNIVERSAL: Final = "drawloom_universal_moment"
ZONE_CALLS: Final[dict[str, str]] = {LOCAL: "local_moment", UNIVERSAL: "universal_moment"}
_ZONE_CALL: Final = re.compile(rf"(?:{LOCAL}|{UNIVERSAL})\(")
#: An aggregate of some types that DataFusion has for others only.
_TYPED: Final = re.compile(r"drawloom_(median|quantile_(?:cont|disc)(?:_down)?)_of_\d+")
_TYPED_CALL: Final = re.compile(rf"{_TYPED.pattern}\(")
#: Functions that are a part of a moment, by the part.
_PARTS: Final[dict[str, str]] = {
    **{part: part for part in ("year", "month", "day", "hour", "minute", "second", "quarter", "week", "epoch", "decade",
                               "century", "isodow", "isoyear")},
    "dayofweek": "dow", "weekday": "dow", "dayofyear": "doy", "dayofmonth": "day", "weekofyear": "week",
}  # fmt: skip
#: Types of integers without sign.
_TYPES: Final[dict[str, str]] = {
    f"u{name}": f"{name} unsigned" for name in ("tinyint", "smallint", "integer", "bigint")
}
_WANTED: Final = re.compile(
    rf"\b(?:{'|'.join([*_NAMES, *_PARTS, 'if'])})\s*\(|\b(?:semi|anti)\s+join\b|\b(?:{'|'.join(_TYPES)})\b",
    re.IGNORECASE,
)
#: Marks and words behind which a name and a bracket are the call of a function.
_MARKS: Final = frozenset(
    ["(", "[", ",", "+", "-", "*", "/", "%", "=", "<", ">", "<>", "!=", "<=", ">=", "||", "|", "&"]
)
_WORDS: Final = BEFORE | OPERATORS | {"limit", "offset", "interval", "exclude"}
#: Behind a comma in these clauses a name is a table's.
_TABLES: Final = frozenset(["from", "window"])


def with_known_names(text: str) -> str:
    """The text with DataFusion's names."""
    if not _WANTED.search(text):
        return text
    sql = Sql(text)
    changes: list[tuple[int, int, str]] = []
    for i, token in enumerate(sql.tokens):
        if token.is_word(*_TYPES) and _is_type(sql, i):
            changes.append((token.start, token.end, _TYPES[token.text]))
        elif i + 1 == len(sql.tokens):
            break
        elif token.is_word("semi", "anti") and sql.tokens[i + 1].is_word("join"):
            if i and not sql.tokens[i - 1].is_word("left", "right"):
                changes.append((token.start, token.start, "left "))
        elif token.kind == "word" and sql.tokens[i + 1].is_mark("(") and _is_call(sql, i):
            changes.extend(_call(sql, i))
    return replaced(text, changes)


def _is_type(sql: Sql, token: int) -> bool:
    """Whether something is cast to the type that a token names."""
    opens = sql.tokens[token + 1].mate if sql.is_at(token + 1, ")") else -1
    is_cast = opens > 0 and sql.tokens[opens - 1].is_word("cast", "try_cast") and sql.is_at(token - 1, "as")
    return is_cast or sql.is_at(token - 1, "::")


def _is_call(sql: Sql, token: int) -> bool:
    if not token:
        return False
    before = sql.tokens[token - 1]
    if before.is_mark(",") or before.is_mark("("):
        select = sql.within(token)
        return select is not None and not (
            select.clause_at(token) in _TABLES and sql.tokens[token].depth == select.depth
        )
    return before.is_mark(*_MARKS) or before.is_word(*(_WORDS - {"from"}))


def _call(sql: Sql, token: int) -> list[tuple[int, int, str]]:
    """What the call of a function at a token becomes."""
    name, opens = sql.tokens[token], sql.tokens[token + 1]
    if name.text in _NAMES:
        return [(name.start, name.end, _NAMES[name.text])]
    if name.text in _PARTS:
        return [(name.start, opens.end, f"date_part('{_PARTS[name.text]}', ")]
    closes = sql.tokens[opens.mate] if opens.mate >= 0 else None
    arguments = sql.parts(range(token + 2, opens.mate)) if closes else []
    if name.text != "if" or closes is None or len(arguments) != 3:
        return []
    commas = [sql.tokens[part.start - 1] for part in arguments[1:]]
    return [
        (name.start, opens.end, "(case when "), (commas[0].start, commas[0].end, " then "),
        (commas[1].start, commas[1].end, " else "), (closes.start, closes.end, " end)"),
    ]  # fmt: skip


def known_aggregate(name: str) -> str:
    """The aggregate that a function of ``typed.py`` stands for; another's name as it is."""
    found = _TYPED.fullmatch(name)
    return name if found is None else found[1]


def shown_calls(name: str) -> str:
    """A column's name with the calls that the query has; of AT TIME ZONE with the one that it is in DuckDB."""
    name = _ZONE_CALL.sub("timezone(", name)
    return _TYPED_CALL.sub(lambda found: f"{found[1].removesuffix('_down')}(", name).replace(f"{MOMENT}(", "(")
