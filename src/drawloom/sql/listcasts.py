"""Casts to and from lists to HorseIR, of which each level is a cast of all elements at once.

    cast(s as int[])        count the elements of each text, then cast the text of each element       @count_list_items
    cast(l as bigint[])     the same lists of elements in another type
    cast(l as varchar)      the texts of the elements, joined                                         @fold_slices

The elements of rows that do not count, or that no row has, are not cast: a value among them may not fit the type.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from drawloom.horse.ir import Literal, Operand
from drawloom.horse.types import I64, STR, VectorType
from drawloom.sql import casts
from drawloom.sql.frames import Frame, Mask, Result
from drawloom.sql.listfunctions import lists_of_pairs, pairs_of, spread
from drawloom.sql.lists import ListOf, list_of, numbers_of, show, sums_before
from drawloom.sql.plan import ListsType
from drawloom.sql.wording import sql_type

if TYPE_CHECKING:
    from drawloom.sql.translate import Translator

_ZERO: Final = Literal([0], I64)


def is_of_lists(given: VectorType, made: VectorType) -> bool:
    """Return whether a cast is to lists, or from lists to text."""
    return isinstance(made, ListsType) or (isinstance(given, ListOf) and made.kind == "text")


def cast(t: Translator, given: Result, type: VectorType, is_try: bool, frame: Frame) -> Result:
    """Cast rows of a frame to or from lists, of which those that the translator's masks select count.

    Raises:
        UnsupportedError: The cast is of a value that is neither a text nor a list.
    """
    if not isinstance(type, ListsType):
        return show(t, spread(t, given, frame))
    if given.type.kind == "text" and not t.is_null(given):
        if t.is_constant(given.value) and given.valid is None and not t.masks:
            column = Result(t.emit("concat", [given.value]), given.type)
            made = _parsed(t, column, type, is_try)
            return Result(t.emit("fill", [_ZERO, frame.anchor()]), made.type, _on_all_rows(t, made, frame))
        return _parsed(t, spread(t, given, frame), type, is_try)
    lists, of = list_of(t, given, frame)
    return _cast(t, spread(t, lists, frame), of, type, is_try)


def _on_all_rows(t: Translator, one: Result, frame: Frame) -> Operand | None:
    """Return the validity of a list of one row as that of every row."""
    if one.valid is None:
        return None
    return t.index(one.valid, t.emit("fill", [_ZERO, frame.anchor()]))


def _cast(t: Translator, given: Result, of: ListOf, type: ListsType, is_try: bool) -> Result:
    """Cast lists to lists of another type of elements."""
    if _is_total(of.elements.type, type.element):
        outer, t.masks = t.masks, ()
        made = _element_cast(t, of.elements, type.element, is_try)
        t.masks = outer
        return Result(given.value, ListOf(made, of.low, of.high), given.valid)
    masks = t.masks if given.valid is None else (*t.masks, Mask(given.valid))
    outer, t.masks = t.masks, ()  # of rows, which elements are not
    counted = Result(given.value, of, _all_of(t, masks, given.value))
    pairs, _ = pairs_of(t, counted, of)
    pairs.elements = _element_cast(t, pairs.elements, type.element, is_try)
    made = lists_of_pairs(t, pairs, given.value, given.valid)
    t.masks = outer
    return made


def _all_of(t: Translator, masks: tuple[Mask, ...], anchor: Operand) -> Operand | None:
    """Return where all masks select an entry of the anchor, None for everywhere."""
    if not masks:
        return None
    made = t.all_of([*masks])
    return t.emit("fill", [made, anchor]) if t.is_constant(made) else made


def _is_total(given: VectorType, made: VectorType) -> bool:
    """Return whether every element has a value in the type that it is cast to."""
    while isinstance(given, ListOf) and isinstance(made, ListsType):
        given, made = given.elements.type, made.element
    if given == made or made.kind == "text":
        return True
    return given.is_integer and made.is_integer and given.bits < made.bits and given.is_unsigned <= made.is_unsigned


def _element_cast(t: Translator, elements: Result, type: VectorType, is_try: bool) -> Result:
    """Cast elements, which are as many rows of their own."""
    if isinstance(elements.type, ListOf):
        return _cast(t, elements, elements.type, type, is_try) if isinstance(type, ListsType) else show(t, elements)
    if isinstance(type, ListsType):
        return _parsed(t, elements, type, is_try)
    return casts.tried(t, elements, type) if is_try else casts.cast(t, elements, type)


def _parsed(t: Translator, text: Result, type: ListsType, is_try: bool) -> Result:
    """Cast texts, one a row, to lists."""
    value, valid = text.value, text.valid
    if is_try:
        valid = t.both([valid, t.emit("is_list_text", [value])])
    counts: Operand = t.result("count_list_items", [value, Literal([sql_type(type.text).upper()], STR)], valid).value
    masks = t.masks if valid is None else (*t.masks, Mask(valid))
    outer, t.masks = t.masks, ()  # of rows, which elements are not
    counting = _all_of(t, masks, value)
    if counting is not None:
        counts = t.emit("if_else", [counting, counts, _ZERO])
    items = Result(t.emit("list_items", [value, counts]), STR, t.emit("known_list_items", [value, counts]))
    elements = _element_cast(t, items, type.element, is_try)
    low = sums_before(t, counts)
    made = Result(numbers_of(t, value), ListOf(elements, low, t.emit("plus", [low, counts])), valid)
    t.masks = outer
    return made
