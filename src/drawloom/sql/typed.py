"""Calls and windows that DataFusion does not plan for the types of their values, as ones that it does:

    len(l), len(s)                      =>  array_length(l), length(s)
    median(day), quantile_disc(s, 0.3)      =>  drawloom_median_of_1(day), drawloom_quantile_disc_of_0(s, 0.3)
    sum(x) over (order by clock)            =>  sum(x) over (order by drawloom_moment(clock))

The functions are made known by the types that the planner says their arguments have, and mean the same everywhere else.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Final

import pyarrow as pa

from drawloom.horse.nested import is_list as is_list_type
from drawloom.sql.clauses import Sql, replaced
from drawloom.sql.framestext import is_window
from drawloom.sql.names import MOMENT
from drawloom.sql.planner import Planner, SqlError
from drawloom.sql.subqueries import named_before, types_of

#: DataFusion's words for quantiles of types that it has none of, and for frames of values that it adds nothing to.
_NO_QUANTILE: Final = re.compile(
    r"[Ff]unction '(?:quantile|quantile_disc|percentile_disc)'|(?:'median'|\bmedian\(|percentile_cont)"
)
_NO_FRAME: Final = "Cannot run range queries on datatype: Time"
_NO_LENGTH: Final = "Invalid function 'len'"
#: What each call means: a value that is there, or one between two of them.
_MEANINGS: Final[dict[str, str]] = {
    "median": "median", "quantile_cont": "quantile_cont", "percentile_cont": "quantile_cont",
    "quantile_disc": "quantile_disc", "percentile_disc": "quantile_disc", "quantile": "quantile_disc",
}  # fmt: skip


def with_known_types(text: str, problem: str, planner: Planner) -> str:
    """The text for the planner, which refused it; as it was where that is for another reason."""
    if _NO_LENGTH in problem:
        return _with_lengths(text, planner)
    if _NO_FRAME in problem:
        return _with_moments(text, planner)
    return _with_quantiles(text, planner) if _NO_QUANTILE.search(problem) else text


def _with_lengths(text: str, planner: Planner) -> str:
    sql = Sql(text)
    for i in range(len(sql.tokens) - 1, -1, -1):  # those within others first
        token = sql.tokens[i]
        if not token.is_word("len") or not sql.is_at(i + 1, "(") or sql.tokens[i + 1].mate < 0:
            continue
        type = type_of(sql, i, range(i + 2, sql.tokens[i + 1].mate), planner)
        is_list = type is not None and is_list_type(type)
        text = replaced(text, [(token.start, token.end, "array_length" if is_list else "length")])
    return text


def _with_quantiles(text: str, planner: Planner) -> str:
    sql = Sql(text)
    changes: list[tuple[int, int, str]] = []
    for i, token in enumerate(sql.tokens[:-1]):
        if token.is_word(*_MEANINGS) and sql.tokens[i + 1].is_mark("(") and not sql.is_at(i - 1, "."):
            changes.extend(_quantile(sql, i, planner))
    return replaced(text, changes)


def _quantile(sql: Sql, call: int, planner: Planner) -> list[tuple[int, int, str]]:
    """What a call of a quantile becomes; nothing of one that DataFusion has."""
    tokens, opens = sql.tokens, sql.tokens[call + 1]
    meaning = _MEANINGS[tokens[call].text]
    parts = sql.parts(range(call + 2, opens.mate)) if opens.mate > 0 else []
    is_within = opens.mate > 0 and sql.is_at(opens.mate + 1, "within", "group", "(", "order", "by")
    if is_within and len(parts) == 1:
        behind = tokens[opens.mate + 3].mate
        value, ways = range(opens.mate + 6, behind), ("asc", "desc")
        if behind < 0:
            return []
        down = tokens[value.stop - 1].is_word("desc")
        value = range(value.start, value.stop - tokens[value.stop - 1].is_word(*ways))
        given = f"{sql.between(value.start, value.stop)}, {sql.between(parts[0].start, parts[0].stop)}"
        meaning, end = meaning + "_down" * down, tokens[behind].end
    elif len(parts) == (1 if meaning == "median" else 2) and not is_within:
        value = parts[0]
        if tokens[value.start].is_word("distinct", "all"):
            value = range(value.start + 1, value.stop)
        given, end = sql.between(parts[0].start, parts[-1].stop), tokens[opens.mate].end
    else:
        return []
    type = type_of(sql, call, value, planner)
    if type is None:
        return []
    if meaning == "median" and pa.types.is_string(type):
        meaning, given = "quantile_disc", f"{given}, 0.5"
    between = pa.timestamp("us") if pa.types.is_date(type) else type
    if not (meaning.startswith("quantile_disc") or _is_moment(type)):
        return []
    types = [type] if meaning == "median" else [type, pa.float64()]
    name = planner.aggregate(f"drawloom_{meaning}_of_", types, type if "disc" in meaning else between)
    return [(tokens[call].start, end, f"{name}({given})")]


def _is_moment(type: pa.DataType) -> bool:
    return bool(pa.types.is_date(type) or pa.types.is_timestamp(type) or pa.types.is_time(type))


def _with_moments(text: str, planner: Planner) -> str:
    sql = Sql(text)
    changes: list[tuple[int, int, str]] = []
    for i, token in enumerate(sql.tokens):
        if not token.is_mark("(") or token.mate < i or not is_window(sql, i):
            continue
        inside = range(i + 1, token.mate)
        by = next((j for j in inside if sql.is_at(j, "order", "by") and sql.tokens[j].depth == token.depth + 1), -1)
        if by < 0:
            continue
        end = next((j for j in range(by, token.mate) if sql.tokens[j].depth == token.depth + 1
                    and sql.tokens[j].is_word("asc", "desc", "nulls", "rows", "range")), token.mate)  # fmt: skip
        key = sql.parts(range(by + 2, end))[0]
        type = type_of(sql, i, key, planner)
        if type is not None and pa.types.is_time(type):
            start, stop = sql.tokens[key.start].start, sql.tokens[key.stop - 1].end
            planner.register_function(MOMENT, [type], pa.timestamp("us"), "immutable")
            changes.append((start, stop, f"{MOMENT}({text[start:stop]})"))
    return replaced(text, changes)


def type_of(sql: Sql, at: int, value: range, planner: Planner, function: str = "") -> pa.DataType | None:
    """The type of an expression of the SELECT that a token is in, or of one around that; None where the planner does
    not say it. With ``function`` that of its call, the expression being all arguments."""
    around = sorted([s for s in sql.selects if s.start < at < s.end], key=lambda s: -s.start) if value else []
    given = f"{function}({sql.between(value.start, value.stop)}) as c0"
    for select in around:
        with suppress(SqlError):
            return types_of(sql, select, planner, named_before(sql, at), given)[0]
    return None
