"""Functions that look through lists, and that make lists, to HorseIR: over pairs of a row's number and an element.

    array_has(l, x)      a row has it where one of its elements is equal       @touched
    array_sort(l)        the pairs in the order of rows, then of elements      @order
    array_distinct(l)    the first pair of each row and element                @group
    array_concat(l, m)   the pairs of both, in the order of rows               @concat, @order

The pairs of a row are one behind the other, so that where they begin is found by searching.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from drawloom.errors import UnsupportedError
from drawloom.horse.ir import FunctionRef, Literal, Operand, Value
from drawloom.horse.types import BOOL, I64, STR, SYM, VectorType
from drawloom.sql import plan
from drawloom.sql.coercion import unified
from drawloom.sql.frames import Frame, Result
from drawloom.sql.lists import REFUSAL, ListOf, list_of, numbers_of, of_rows, place_of, ranked, together

if TYPE_CHECKING:
    from drawloom.sql.translate import Translator

_TRUE: Final = Literal([1], BOOL)
_FALSE: Final = Literal([0], BOOL)
_ZERO: Final = Literal([0], I64)
_ONE: Final = Literal([1], I64)
_NOWHERE: Final = Literal([-1], I64)


class Pairs:
    """Elements, and the numbers of the rows whose lists they are in; rows ascend."""

    def __init__(self, rows: Operand, elements: Result) -> None:
        self.rows = rows
        self.elements = elements


def function(t: Translator, call: plan.Apply, frame: Frame) -> Result:
    return _RULES[call.function](t, call, frame)


def _argument(t: Translator, call: plan.Apply, number: int, frame: Frame, type: VectorType | None = None) -> Result:
    """An argument, as long as the frame."""
    given = t.expression(call.arguments[number], frame)
    if type is not None:
        given = Result(t.zero(type), type, _FALSE) if t.is_null(given) else t.cast(given, type)
    return spread(t, given, frame)


def _place(t: Translator, call: plan.Apply, number: int, frame: Frame) -> Result:
    """An argument that is a place in a list, as long as the frame."""
    given = t.expression(call.arguments[number], frame)
    return spread(t, place_of(Result(t.zero(I64), I64, _FALSE) if t.is_null(given) else t.cast(given, I64)), frame)


def spread(t: Translator, given: Result, frame: Frame) -> Result:
    valid = None if given.valid is None else t.spread(given.valid, frame)
    return Result(t.spread(given.value, frame), given.type, valid)


def _list(t: Translator, call: plan.Apply, number: int, frame: Frame) -> tuple[Result, ListOf]:
    given, type = list_of(t, t.expression(call.arguments[number], frame), frame)
    return spread(t, given, frame), type


def _picked(t: Translator, result: Result, rows: Operand) -> Result:
    valid = None if result.valid is None else t.index(result.valid, rows)
    return Result(t.index(result.value, rows), result.type, valid)


def pairs_of(t: Translator, given: Result, type: ListOf) -> tuple[Pairs, Operand]:
    """The pairs of all rows, and each one's place in its list, from 1."""
    low, high = [of_rows(t, given, bound) for bound in (type.low, type.high)]
    before = t.emit("fill", [_NOWHERE, type.elements.value])
    found = t.emit("distinct_slices", [before, low, high])
    rows, places = [t.emit("item", [found, Literal([side], I64)]) for side in (0, 1)]
    number = t.emit("plus", [t.emit("minus", [places, t.index(low, rows)]), _ONE])
    return Pairs(rows, _picked(t, type.elements, places)), number


def _lists(t: Translator, pairs: Pairs, frame: Frame, valid: Operand | None) -> Result:
    return lists_of_pairs(t, pairs, frame.anchor(), valid)


def lists_of_pairs(t: Translator, pairs: Pairs, anchor: Operand, valid: Operand | None) -> Result:
    """The lists of the pairs, one for each entry of the anchor."""
    ids = numbers_of(t, anchor)
    first, last = t.emit("fill", [_ZERO, ids]), t.emit("fill", [t.emit("len", [pairs.rows]), ids])
    low, high = [t.emit(name, [pairs.rows, first, last, ids]) for name in ("search", "search_after")]
    return Result(ids, ListOf(pairs.elements, low, high), valid)


def _sorted(t: Translator, pairs: Pairs, keys: list[Operand], ascends: list[int], nulls_first: list[int]) -> Pairs:
    """The pairs by rows, then by keys."""
    up: list[Value] = [1, *ascends]
    first: list[Value] = [0, *nulls_first]
    by = t.emit("order", [t.emit("list", [pairs.rows, *keys], "lists"), Literal(up, BOOL), Literal(first, BOOL)])
    return Pairs(t.index(pairs.rows, by), _picked(t, pairs.elements, by))


def _kept(t: Translator, pairs: Pairs, mask: Operand) -> Pairs:
    where = t.emit("where", [mask])
    return Pairs(t.index(pairs.rows, where), _picked(t, pairs.elements, where))


def _together(t: Translator, parts: list[Pairs]) -> Pairs:
    """The pairs of all parts; those of one row in the order of the parts."""
    made = together(t, [p.elements for p in parts])
    type = unified([m.type for m in made if not t.is_null(m)] or [made[0].type])
    made = [t.cast(m, type) for m in made]
    valid: Operand | None = None
    if any(m.valid is not None for m in made):
        valid = t.emit("concat", [t.emit("fill", [m.valid or _TRUE, p.rows]) if t.is_constant(m.valid or _TRUE)
                                  else m.valid or _TRUE for m, p in zip(made, parts)])  # fmt: skip
    values = [t.emit("fill", [m.value, p.rows]) if t.is_constant(m.value) else m.value for m, p in zip(made, parts)]
    rows = t.emit("concat", [p.rows for p in parts])
    return _sorted(t, Pairs(rows, Result(t.emit("concat", [*values]), type, valid)), [], [], [])


def _equal(t: Translator, pairs: Pairs, value: Result) -> Operand:
    """Where an element is the row's value; NULL is NULL's equal."""
    sides = t.aligned([pairs.elements, _picked(t, value, pairs.rows)])
    left, right = [t.key(side) for side in sides]
    same = t.emit("eq", [left.value, right.value])
    if left.valid is None and right.valid is None:
        return same
    return t.emit("and", [same, t.emit("eq", [_there(t, left, pairs), _there(t, right, pairs)])])


def _there(t: Translator, side: Result, pairs: Pairs) -> Operand:
    valid = side.valid or _TRUE
    return t.emit("fill", [valid, pairs.rows]) if t.is_constant(valid) else valid


# What lists have


def _has(t: Translator, call: plan.Apply, frame: Frame) -> Result:
    """Whether a list has a value; of NULL that is unknown but for a list of nothing."""
    given, type = _list(t, call, 0, frame)
    value = _argument(t, call, 1, frame)
    is_empty = t.emit("eq", [of_rows(t, given, type.low), of_rows(t, given, type.high)])
    if t.is_null(t.expression(call.arguments[1], frame)):
        return Result(t.emit("fill", [_FALSE, frame.anchor()]), BOOL, t.both([given.valid, is_empty]))
    pairs, _ = pairs_of(t, given, type)
    hits = t.index(pairs.rows, t.emit("where", [_equal(t, pairs, value)]))
    known = None if value.valid is None else t.either(value.valid, is_empty)
    return Result(t.emit("touched", [hits, frame.anchor()]), BOOL, t.both([given.valid, known]))


def _position(t: Translator, call: plan.Apply, frame: Frame) -> Result:
    given, type = _list(t, call, 0, frame)
    pairs, places = pairs_of(t, given, type)
    where = t.emit("where", [_equal(t, pairs, _argument(t, call, 1, frame, _known(type)))])
    rows, ids = t.index(pairs.rows, where), numbers_of(t, frame.anchor())
    count = t.emit("fill", [t.emit("len", [rows]), ids])
    first = t.emit("search", [rows, t.emit("fill", [_ZERO, ids]), count, ids])
    found = t.emit("if_else", [t.emit("touched", [rows, frame.anchor()]), first, _NOWHERE])
    there = t.emit("geq", [found, _ZERO])
    return Result(t.outer_index(t.index(places, where), found), I64, t.both([there, given.valid]))


def _known(type: ListOf) -> VectorType | None:
    """What a NULL that is looked for is typed as."""
    return None if type.elements.type.kind in ("list", "struct") else type.elements.type


def _extreme(t: Translator, call: plan.Apply, frame: Frame) -> Result:
    given, type = _list(t, call, 0, frame)
    low, high, elements, ranks = type.low, type.high, type.elements.value, ranked(t, type.elements).value
    if type.elements.valid is not None:
        where = t.emit("where", [type.elements.valid])
        elements, ranks = t.index(elements, where), t.index(ranks, where)
        low, high = [t.emit("before", [type.elements.valid, bound]) for bound in (low, high)]
    name = FunctionRef(call.function.removeprefix("array_"))
    found: Operand = t.emit("raze", [t.emit("each_slice", [name, ranks, low, high])])
    is_some = t.emit("gt", [high, low])
    if isinstance(type.elements.type, ListOf):
        place = t.emit("if_else", [is_some, _places_of(t, found, ranks), _NOWHERE])
        found = t.outer_index(elements, place)
    known = of_rows(t, given, is_some)
    return Result(of_rows(t, given, found), type.elements.type, t.both([given.valid, known]))


def _places_of(t: Translator, wanted: Operand, values: Operand) -> Operand:
    """Where each wanted one among many values is."""
    by = t.emit("order", [t.emit("list", [values], "lists"), _TRUE, _FALSE])
    first, last = t.emit("fill", [_ZERO, wanted]), t.emit("fill", [t.emit("len", [values]), wanted])
    place = t.emit("search", [t.index(values, by), first, last, wanted])
    return t.outer_index(by, t.emit("if_else", [t.emit("lt", [place, last]), place, _NOWHERE]))


# Lists of lists' elements


def _slice(t: Translator, call: plan.Apply, frame: Frame) -> Result:
    """From one place to another, both included; those below 0 count from the end."""
    given, type = _list(t, call, 0, frame)
    bounds = [_place(t, call, number, frame) for number in (1, 2)]
    low, high = [of_rows(t, given, bound) for bound in (type.low, type.high)]
    places: list[Operand] = []
    for bound, shift in zip(bounds, (_ONE, _ZERO)):
        from_front = t.emit("plus", [low, t.emit("minus", [bound.value, shift])])
        from_end = t.emit("plus", [high, t.emit("plus", [bound.value, t.emit("minus", [_ONE, shift])])])
        is_front = t.emit("geq", [bound.value, _ZERO])
        places.append(t.emit("if_else", [is_front, from_front, from_end]))
    first = t.emit("if_else", [t.emit("lt", [places[0], low]), low, places[0]])
    first = t.emit("if_else", [t.emit("gt", [first, high]), high, first])
    last = t.emit("if_else", [t.emit("gt", [places[1], high]), high, places[1]])
    last = t.emit("if_else", [t.emit("lt", [last, first]), first, last])
    valid = t.both([given.valid, *[b.valid for b in bounds]])
    return Result(numbers_of(t, frame.anchor()), ListOf(type.elements, first, last), valid)


def _sort(t: Translator, call: plan.Apply, frame: Frame) -> Result:
    given, type = _list(t, call, 0, frame)
    pairs, _ = pairs_of(t, given, type)
    words = [str(a.value).upper() for a in call.arguments[1:] if isinstance(a, plan.Constant)]
    is_up, nulls_first = "DESC" not in words, "NULLS FIRST" in words
    made = _sorted(t, pairs, [t.shown(ranked(t, pairs.elements))], [int(is_up)], [int(nulls_first)])
    return _lists(t, made, frame, given.valid)


def _reverse(t: Translator, call: plan.Apply, frame: Frame) -> Result:
    given, type = _list(t, call, 0, frame)
    pairs, places = pairs_of(t, given, type)
    return _lists(t, _sorted(t, pairs, [places], [0], [0]), frame, given.valid)


def _distinct(t: Translator, call: plan.Apply, frame: Frame) -> Result:
    given, type = _list(t, call, 0, frame)
    pairs, _ = pairs_of(t, given, type)
    if pairs.elements.valid is not None:
        pairs = _kept(t, pairs, pairs.elements.valid)
        pairs.elements.valid = None
    groups = t.emit("group", [t.emit("list", [pairs.rows, ranked(t, pairs.elements).value], "lists")])
    firsts = t.emit("keys", [groups])
    return _lists(t, _kept(t, pairs, t.emit("touched", [firsts, pairs.rows])), frame, given.valid)


def _remove(t: Translator, call: plan.Apply, frame: Frame) -> Result:
    """Without the first element that is equal, or (``array_remove_all``) all of them."""
    given, type = _list(t, call, 0, frame)
    pairs, _ = pairs_of(t, given, type)
    hit: Operand = _equal(t, pairs, _argument(t, call, 1, frame, _known(type)))
    if call.function == "array_remove":
        where = t.emit("where", [hit])
        starts = t.emit("run_start", [t.emit("list", [t.index(pairs.rows, where)], "lists")])
        hit = t.emit("touched", [t.index(where, starts), pairs.rows])
    return _lists(t, _kept(t, pairs, t.negated(hit)), frame, given.valid)


def _concat(t: Translator, call: plan.Apply, frame: Frame) -> Result:
    """Lists and, of ``array_append`` and ``array_prepend``, a value; a list that is NULL has nothing to add, and
    what is made is never NULL."""
    parts: list[Pairs] = []
    added = {"array_append": 1, "array_prepend": 0}.get(call.function)
    for number in range(len(call.arguments)):
        given = _argument(t, call, number, frame)
        if number == added:
            parts.append(Pairs(numbers_of(t, frame.anchor()), given))
        elif isinstance(given.type, ListOf):
            parts.append(pairs_of(t, given, given.type)[0])
    if not parts:
        return list_of(t, Result(t.zero(I64), I64, _FALSE), frame)[0]
    return _lists(t, _together(t, parts), frame, None)


def _flatten(t: Translator, call: plan.Apply, frame: Frame) -> Result:
    """The elements of the lists that a list has, without those that are NULL."""
    if t.is_null(t.expression(call.arguments[0], frame)):
        return _list(t, call, 0, frame)[0]
    given, type = _list(t, call, 0, frame)
    lists, _ = pairs_of(t, given, type)
    if not isinstance(lists.elements.type, ListOf):
        raise UnsupportedError(REFUSAL, ["function: flatten of a list of what is no list"])
    if lists.elements.valid is not None:
        lists = _kept(t, lists, lists.elements.valid)
        lists.elements.valid = None
    assert isinstance(lists.elements.type, ListOf)
    pairs, _ = pairs_of(t, lists.elements, lists.elements.type)
    return _lists(t, Pairs(t.index(lists.rows, pairs.rows), pairs.elements), frame, given.valid)


def _joined(t: Translator, call: plan.Apply, frame: Frame) -> Result:
    """What ``||`` makes of two lists, NULL where one is."""
    given = [_argument(t, call, number, frame) for number in range(len(call.arguments))]
    parts = [pairs_of(t, g, g.type)[0] for g in given if isinstance(g.type, ListOf)]
    valids = [g.valid if isinstance(g.type, ListOf) else _FALSE for g in given]
    return _lists(t, _together(t, parts), frame, t.both(valids))


# Lists of other things


def _expanded(t: Translator, counts: Operand) -> tuple[Operand, Operand]:
    """Each row's number as often as its count says, and how manieth of the row's that is, from 0."""
    ids = numbers_of(t, counts)
    zeros = t.emit("fill", [_ZERO, ids])
    low = t.cast(t.result("raze", [t.emit("each_slice", [FunctionRef("sum"), counts, zeros, ids])]), I64).value
    total = t.cast(t.result("sum", [counts]), I64).value
    before = t.emit("fill", [_NOWHERE, t.emit("range", [total])])
    found = t.emit("distinct_slices", [before, low, t.emit("plus", [low, counts])])
    rows, places = [t.emit("item", [found, Literal([side], I64)]) for side in (0, 1)]
    return rows, t.emit("minus", [places, t.index(low, rows)])


def _range(t: Translator, call: plan.Apply, frame: Frame) -> Result:
    bounds = [_argument(t, call, number, frame, I64) for number in range(min(len(call.arguments), 2))]
    valid = t.both([b.valid for b in bounds])
    if len(bounds) == 1:
        bounds.insert(0, Result(t.spread(_ZERO, frame), I64))
    low, high = bounds[0].value, bounds[1].value
    given = call.arguments[2] if len(call.arguments) == 3 else None
    stride = given.value if isinstance(given, plan.Constant) and isinstance(given.value, int) else 1
    step = Literal([stride], I64)
    reach = t.emit("minus", [high, low] if stride > 0 else [low, high])
    if call.function == "range":
        reach = t.emit("minus", [reach, _ONE])
    size = Literal([abs(stride)], I64)
    rest = t.emit("mod", [reach, size])
    whole = t.result("convert", [t.emit("div", [t.emit("minus", [reach, rest]), size]), Literal(["i64"], SYM)])
    counts = t.emit("if_else", [t.emit("lt", [reach, _ZERO]), _ZERO, t.emit("plus", [whole.value, _ONE])])
    if valid is not None:
        counts = t.emit("if_else", [valid, counts, _ZERO])
    rows, places = _expanded(t, counts)
    steps = t.cast(t.result("mul", [places, step]), I64).value
    return _lists(t, Pairs(rows, Result(t.emit("plus", [t.index(low, rows), steps]), I64)), frame, valid)


def _repeat(t: Translator, call: plan.Apply, frame: Frame) -> Result:
    value, count = _argument(t, call, 0, frame), _argument(t, call, 1, frame, I64)
    counts = t.emit("if_else", [t.emit("lt", [count.value, _ZERO]), _ZERO, count.value])
    if count.valid is not None:
        counts = t.emit("if_else", [count.valid, counts, _ZERO])
    rows, _ = _expanded(t, counts)
    return _lists(t, Pairs(rows, _picked(t, value, rows)), frame, count.valid)


def _split(t: Translator, call: plan.Apply, frame: Frame) -> Result:
    """What a text divides another into: nothing the letters of it, which nothing has none of, and NULL none of it."""
    text, by = [_argument(t, call, number, frame, STR) for number in (0, 1)]
    nothing = t.spread(Literal([""], STR), frame)
    length, width = [t.cast(t.result("length", [side.value]), I64).value for side in (text, by)]
    rest = t.cast(t.result("length", [t.emit("replace_each", [text.value, by.value, nothing])]), I64).value
    is_empty = t.emit("eq", [width, _ZERO])
    by_letter = t.emit("if_else", [is_empty, _ONE, width])
    taken = t.emit("if_else", [is_empty, t.emit("minus", [length, _ONE]), t.emit("minus", [length, rest])])
    taken = t.emit("if_else", [t.emit("lt", [taken, _ZERO]), _ZERO, taken])
    whole = t.result("convert", [t.emit("div", [taken, by_letter]), Literal(["i64"], SYM)]).value
    counts: Operand = t.emit("plus", [whole, _ONE])
    counts = t.emit("if_else", [t.emit("and", [is_empty, t.emit("eq", [length, _ZERO])]), _ZERO, counts])
    if by.valid is not None:
        counts = t.emit("if_else", [by.valid, counts, _ONE])
    if text.valid is not None:
        counts = t.emit("if_else", [text.valid, counts, _ZERO])
    rows, places = _expanded(t, counts)
    number, given = t.emit("plus", [places, _ONE]), t.index(text.value, rows)
    words = t.emit("split_part", [given, t.index(by.value, rows), number])
    if by.valid is not None:
        words = t.emit("if_else", [t.index(by.valid, rows), words, given])
    return _lists(t, Pairs(rows, Result(words, STR)), frame, text.valid)


_RULES: Final[dict[str, Callable[[Translator, plan.Apply, Frame], Result]]] = {
    "array_has": _has, "array_position": _position, "array_min": _extreme, "array_max": _extreme,
    "array_slice": _slice, "array_sort": _sort, "array_reverse": _reverse, "array_distinct": _distinct,
    "array_remove": _remove, "array_remove_all": _remove, "array_append": _concat, "array_prepend": _concat,
    "array_concat": _concat, "array_joined": _joined, "range": _range, "generate_series": _range,
    "array_repeat": _repeat, "string_to_array": _split,
    "list_concat": _concat, "list_distinct": _distinct, "list_flatten": _flatten, "list_split": _split,
}  # fmt: skip
