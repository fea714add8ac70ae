"""Calls of functions of lists to functions that the planner knows by the types of their arguments and cannot fold:
DataFusion computes some of constants as DuckDB does not, and takes lists for texts in others.

    select length([]), concat(l, [1]) from t
    =>  select drawloom_list_length_of_0(cast([] as int[])), drawloom_list_concat_of_1(l, [1]) from t
    select '[1, 2]'::int[]
    =>  select drawloom_text('[1, 2]')::int[]

A call whose types the planner does not tell stays as it is.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from drawloom.horse.nested import is_list
from drawloom.sql.clauses import Sql
from drawloom.sql.names import LIST_CALLS, LIST_FUNCTIONS, SAME
from drawloom.sql.planner import Planner
from drawloom.sql.rounding import TEXT, operand_start
from drawloom.sql.text import SqlText
from drawloom.sql.typed import type_of

#: One of these is in every text that may have a list and no table that has one.
_SIGNS: Final = ("[", "list", "array", "split", "range", "series", "unnest")
_TEXTS: Final = ("varchar", "text", "string", "char", "bpchar")
#: Calls within each other, of which each is planned for its type.
_DEEPEST: Final = 20
_FLATTENED: Final = "function: flatten of a list of what is no list"
_MIXED: Final = "function: concat of lists and of what is none"
_Change = tuple[int, int, str]


def with_list_calls(text: SqlText, planner: Planner) -> None:
    """Put calls of functions that are made for their types in the place of calls of functions of lists, those within
    others first, and what is cast to lists into calls that are not folded."""
    lower = text.sql.lower()
    if not any(sign in lower for sign in _SIGNS) and not planner.has_lists():
        return
    sql = Sql(text.sql)
    hidden = _hidden_casts(sql, planner)
    if hidden:
        text.change(hidden)
        sql = Sql(text.sql)
    depths = sorted({sql.tokens[i].depth for i in _calls(sql)}, reverse=True)
    if len(depths) > _DEEPEST:
        text.unsupported.append(f"functions of lists, more than {_DEEPEST} calls within each other")
        return
    for depth in depths:
        calls = [i for i in _calls(sql) if sql.tokens[i].depth == depth]
        text.change([change for i in calls for change in _call(sql, i, planner, text.unsupported)])
        sql = Sql(text.sql)


def _calls(sql: Sql) -> list[int]:
    """The names of the calls in a text."""
    return [
        i
        for i, token in enumerate(sql.tokens[:-1])
        if token.is_word(*LIST_FUNCTIONS) and sql.is_at(i + 1, "(") and sql.tokens[i + 1].mate > i + 2
    ]


def _call(sql: Sql, call: int, planner: Planner, unsupported: list[str]) -> list[_Change]:
    """What a call becomes; nothing of one that is of no lists, or whose types are not told."""
    name, opens = sql.tokens[call], sql.tokens[call + 1]
    function = LIST_FUNCTIONS[name.text]
    arguments = sql.parts(range(call + 2, opens.mate))
    if function == "list_split":
        if len(arguments) != 2:
            return []
        return [_named(sql, call, planner, [pa.string()] * 2, pa.list_(pa.string()))]
    types = [type_of(sql, call, argument, planner) for argument in arguments]
    lists = [type for type in types if type is not None and is_list(type)]
    if not lists or None in types:
        return [(name.start, name.end, "length")] if name.text == "len" and None not in types else []
    if function == "list_concat":
        return _concat(sql, call, arguments, types, planner, unsupported)
    options = len(arguments) - 1
    if types[0] != lists[0] or (options and function not in ("array_sort", "array_to_string")):
        return []
    given = lists[0]
    if function == "list_flatten":
        if pa.types.is_null(given.value_type):  # of lists that are NULL nothing is left
            end = sql.tokens[opens.mate].start
            return [(name.start, name.end, "array_slice"), (end, end, ", 1, 0")]
        if not is_list(given.value_type):
            unsupported.append(_FLATTENED)
            return []
    made = _known(given)
    gives: dict[str, pa.DataType] = {
        "list_length": pa.int64(), "list_distinct": made, "array_sort": made, "list_flatten": made.value_type,
        "array_to_string": pa.string(),
    }  # fmt: skip
    changes = [] if made == given else _with_cast(sql, arguments[0], made)
    return [_named(sql, call, planner, [made, *[pa.string()] * options], gives[function]), *changes]


def _concat(
    sql: Sql,
    call: int,
    arguments: list[range],
    types: list[pa.DataType | None],
    planner: Planner,
    unsupported: list[str],
) -> list[_Change]:
    """The lists of one type; what is NULL has that type, too."""
    if any(type is not None and not is_list(type) and not pa.types.is_null(type) for type in types):
        unsupported.append(_MIXED)
        return []
    known = {str(type): type for type in types if type is not None and _known(type) == type}
    joint = next(iter(known.values()), None)
    if len(known) > 1:
        joint = type_of(sql, call, range(arguments[0].start, arguments[-1].stop), planner, "coalesce")
        if joint is None or not is_list(joint):
            return []
    joint = joint or pa.list_(pa.int32())
    changes: list[_Change] = []
    for argument, type in zip(arguments, types):
        if str(type) not in known:
            changes.extend(_with_cast(sql, argument, joint))
    return [_named(sql, call, planner, [joint] * len(arguments), joint), *changes]


def _named(sql: Sql, call: int, planner: Planner, types: list[pa.DataType], output: pa.DataType) -> _Change:
    """The name of the function of these types in the place of the one that is called."""
    token = sql.tokens[call]
    return token.start, token.end, planner.function(f"{LIST_CALLS}{token.text}_of_", types, output)


def _known(type: pa.DataType) -> pa.DataType:
    """A type in which integers are what has no type."""
    if is_list(type):
        return pa.list_(_known(type.value_type))
    return pa.int32() if pa.types.is_null(type) else type


def _with_cast(sql: Sql, value: range, type: pa.DataType) -> list[_Change]:
    """A value without a type of its own as lists of integers, or lists of these."""
    depth = 0
    while is_list(type):
        type, depth = type.value_type, depth + 1
    start, end = sql.tokens[value.start].start, sql.tokens[value.stop - 1].end
    return [(start, start, "cast("), (end, end, f" as int{'[]' * depth})")]


def _hidden_casts(sql: Sql, planner: Planner) -> list[_Change]:
    """Put what is cast to a list, and lists that are cast to text, into calls that the planner cannot fold."""
    casts = [given for i in range(len(sql.tokens)) if (given := _operand_of_cast(sql, i))]
    changes: list[_Change] = []
    for i, given in enumerate(casts):
        if any(given.start <= c.start and c.stop <= given.stop for j, c in enumerate(casts) if i != j):
            continue  # that one is not folded either
        first, last = sql.tokens[given.start], sql.tokens[given.stop - 1]
        if first is last and first.kind == "string" and first.text.startswith("'"):
            changes.append((first.start, first.end, f"{TEXT}({first.text})"))
        elif not all(sql.tokens[j].is_identifier or sql.is_at(j, ".") for j in given):
            type = type_of(sql, given.start, given, planner)
            if type is not None and (is_list(type) or _is_text(type)):
                name = planner.function(f"{LIST_CALLS}{SAME}_of_", [_known(type)], _known(type))
                changes += [(first.start, first.start, f"{name}("), (last.end, last.end, ")")]
    return changes


def _is_text(type: pa.DataType) -> bool:
    return bool(pa.types.is_string(type) or pa.types.is_large_string(type) or pa.types.is_string_view(type))


def _operand_of_cast(sql: Sql, at: int) -> range:
    """What is cast to a type whose last word or bracket a token is: to lists, or a list that is made to text; nothing
    for any other token."""
    first = at
    while sql.is_at(first - 1, "[", "]"):
        first -= 2
    if sql.is_at(at + 1, "[") or (first == at and not sql.tokens[at].is_word(*_TEXTS)):
        return range(0)
    if sql.is_at(first, ")"):
        first = sql.tokens[first].mate - 1  # of the digits of decimals
    given, opens = range(0), sql.tokens[at + 1].mate if sql.is_at(at + 1, ")") else 0
    if sql.is_at(first - 1, "::"):
        given = range(operand_start(sql, first - 2), first - 1)
    elif opens > 0 and sql.is_at(first - 1, "as") and sql.tokens[opens - 1].is_word("cast", "try_cast"):
        given = range(opens + 1, first - 1)
    if given.start < 0 or (first == at and not any(sql.is_at(i, "[") for i in given)):
        return range(0)
    return given
