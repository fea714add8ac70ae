"""Functions and joins by DuckDB's names, which DataFusion has under others.

    select year(day), ceiling(x), first(y) from t   =>   select date_part('year', day), ceil(x), first_value(y) from t
    select if(a > 1, 'many', 'one') from t          =>   select (case when a > 1 then 'many' else 'one' end) from t
    select mod(a, 7), last_day(d) from t             =>   select ((a) % (7)), cast(date_trunc('month', d) + ... from t
    select l[2:], l[:3] from t                      =>   select l[2:-1], l[1:3] from t
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
    "suffix": "ends_with", "strftime": "to_char",
}  # fmt: skip
#: Functions that are expressions of their arguments: what stands before, between and behind these.
_EXPRESSIONS: Final[dict[str, tuple[str, ...]]] = {
    "if": ("(case when ", " then ", " else ", " end)"), "mod": ("((", ") % (", "))"),
    "last_day": ("cast(date_trunc('month', ", ") + interval '1 month' - interval '1 day' as date)"),
    "dayname": ("to_char(", ", '%A')"), "monthname": ("to_char(", ", '%B')"),
}  # fmt: skip
#: A time of day as a moment, which compares as it does.
MOMENT: Final = "drawloom_moment"
#: AT TIME ZONE of moments with a zone and without, by the functions that they are.
LOCAL: Final = "drawloom_local_moment"
UNIVERSAL: Final = "drawloom_universal_moment"
ZONE_CALLS: Final[dict[str, str]] = {LOCAL: "local_moment", UNIVERSAL: "universal_moment"}
_ZONE_CALL: Final = re.compile(rf"(?:{LOCAL}|{UNIVERSAL})\(")
#: What the names of functions of lists begin with that the planner knows by their types; what these are.
LIST_CALLS: Final = "drawloom_list_"
#: The one of them that gives its argument.
SAME: Final = "same"
_LIST_CALL: Final = re.compile(rf"{LIST_CALLS}(\w+)_of_\d+")
_LIST_CALL_SHOWN: Final = re.compile(rf"{_LIST_CALL.pattern}\(")
#: What these are, by the names that a text may call them by.
LIST_FUNCTIONS: Final[dict[str, str]] = {
    "length": "list_length", "len": "list_length", "concat": "list_concat", "flatten": "list_flatten",
    **{f"{kind}_{name}": "list_concat" for kind in ("list", "array") for name in ("concat", "cat")},
    **dict.fromkeys(["list_distinct", "array_distinct"], "list_distinct"), "string_to_array": "list_split",
    **dict.fromkeys(["list_sort", "array_sort"], "array_sort"),
    **dict.fromkeys(["array_to_string", "list_to_string", "array_join", "list_join"], "array_to_string"),
}  # fmt: skip
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
#: Decimals without their digits, and what these are.
_DECIMALS: Final = ("decimal", "numeric", "dec")
_DECIMAL: Final = "decimal(18, 3)"
_WANTED: Final = re.compile(
    rf"\b(?:{'|'.join([*_NAMES, *_PARTS, *_EXPRESSIONS])})\s*\(|\[[^\]]*:|\b(?:preceding|following)\b"
    rf"|\b(?:semi|anti)\s+join\b|\b(?:{'|'.join([*_TYPES, *_DECIMALS])})\b",
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
        elif token.is_word(*_DECIMALS) and not sql.is_at(i + 1, "(") and _is_type(sql, i):
            changes.append((token.start, token.end, _DECIMAL))
        elif i + 1 == len(sql.tokens):
            break
        elif token.is_word("semi", "anti") and sql.tokens[i + 1].is_word("join"):
            if i and not sql.tokens[i - 1].is_word("left", "right"):
                changes.append((token.start, token.start, "left "))
        elif token.is_mark(":") and i:
            changes.extend(_open_ends(sql, i))
        elif token.is_word("preceding", "following"):
            changes.extend(_offset(sql, i))
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
    if before.is_word("from"):  # of IS DISTINCT FROM, or within a call
        return token - 1 not in [select.clauses.get("from") for select in sql.selects]
    return before.is_mark(*_MARKS) or before.is_word(*_WORDS)


def _open_ends(sql: Sql, colon: int) -> list[tuple[int, int, str]]:
    """The first and the last place of a list, where a slice around a colon leaves them out."""
    token, before, behind = sql.tokens[colon], sql.tokens[colon - 1], sql.tokens[colon + 1]
    changes: list[tuple[int, int, str]] = []
    if before.is_mark("["):
        changes.append((token.start, token.start, "1"))
    if behind.is_mark("]") and sql.tokens[behind.mate].is_mark("["):
        changes.append((token.end, token.end, "-1"))
    return changes


def _offset(sql: Sql, word: int) -> list[tuple[int, int, str]]:
    """``interval 30 days`` before PRECEDING and FOLLOWING with the quotes that the planner wants there."""
    number, unit = sql.tokens[word - 2 : word] if word > 2 else (None, None)
    if number is None or unit is None or number.kind != "number" or not sql.tokens[word - 3].is_word("interval"):
        return []
    return [(number.start, number.start, "'"), (unit.end, unit.end, "'")]


def _call(sql: Sql, token: int) -> list[tuple[int, int, str]]:
    """What the call of a function at a token becomes."""
    name, opens = sql.tokens[token], sql.tokens[token + 1]
    if name.text in _NAMES:
        return [(name.start, name.end, _NAMES[name.text])]
    if name.text in _PARTS:
        return [(name.start, opens.end, f"date_part('{_PARTS[name.text]}', ")]
    closes = sql.tokens[opens.mate] if opens.mate >= 0 else None
    arguments = sql.parts(range(token + 2, opens.mate)) if closes else []
    parts = _EXPRESSIONS.get(name.text, ())
    if closes is None or len(arguments) != len(parts) - 1:
        return []
    commas = [sql.tokens[part.start - 1] for part in arguments[1:]]
    places = [(name.start, opens.end), *[(c.start, c.end) for c in commas], (closes.start, closes.end)]
    return [(start, end, part) for (start, end), part in zip(places, parts)]


def known_aggregate(name: str) -> str:
    """The aggregate that a function of ``typed.py`` stands for; another's name as it is."""
    found = _TYPED.fullmatch(name)
    return name if found is None else found[1]


def known_list_call(name: str) -> str:
    """The function that one of ``listcalls.py`` stands for; another's name as it is."""
    found = _LIST_CALL.fullmatch(name)
    return name if found is None else LIST_FUNCTIONS.get(found[1], found[1])


def shown_calls(name: str) -> str:
    """A column's name with the calls that the query has; of AT TIME ZONE with the one that it is in DuckDB."""
    name = _ZONE_CALL.sub("timezone(", name)
    name = _LIST_CALL_SHOWN.sub(lambda found: "(" if found[1] == SAME else f"{found[1]}(", name)
    return _TYPED_CALL.sub(lambda found: f"{found[1].removesuffix('_down')}(", name).replace(f"{MOMENT}(", "(")
