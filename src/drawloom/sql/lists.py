"""Lists as values to HorseIR: numbers of lists, which rows are picked by as any others are, and beside these, once for
all of them, the elements of all lists, and where each list begins and ends there.

    array_agg       the rows of each group, one group behind the other      make_array      the arguments, row by row
    ... OVER        the sorted rows, between the frame's bounds             l[n]            the element at begin + n - 1
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from drawloom.errors import UnsupportedError
from drawloom.horse.ir import FunctionRef, Literal, Operand, Value
from drawloom.horse.nested import HIGH, INTO, ITEM, LOW, ROW
from drawloom.horse.printer import print_operand
from drawloom.horse.types import BOOL, I32, I64, STR, SYM, VectorType
from drawloom.sql import casts, plan
from drawloom.sql.coercion import natural, unified
from drawloom.sql.frames import Frame, Result
from drawloom.sql.made import Elements

if TYPE_CHECKING:
    from drawloom.sql.translate import Translator

#: Functions of lists, with their numbers of arguments.
FUNCTIONS: Final[dict[str, tuple[int, ...]]] = {
    "make_array": tuple(range(1, 100)), "array_element": (2,), "array_length": (1,), "cardinality": (1,),
    "array_to_string": (2,), "list_number": (2,), "array_has": (2,), "array_position": (2,), "array_min": (1,),
    "array_max": (1,), "array_slice": (3, 4), "array_sort": (1, 2, 3), "array_reverse": (1,), "array_distinct": (1,),
    "array_remove": (2,), "array_remove_all": (2,), "array_append": (2,), "array_prepend": (2,),
    "array_concat": tuple(range(1, 100)), "range": (1, 2, 3), "generate_series": (1, 2, 3), "array_repeat": (2,),
    "array_joined": (2,), "string_to_array": (2,),
    "list_length": (1,), "list_concat": tuple(range(1, 100)), "list_distinct": (1,), "list_flatten": (1,),
    "list_split": (2,),
}  # fmt: skip
#: Those of them that this file knows; the others are those of ``listfunctions.py``.
OWN: Final = frozenset([
    "make_array", "array_element", "array_length", "list_length", "cardinality", "array_to_string", "list_number",
])  # fmt: skip
REFUSAL: Final = "this query needs what is not built yet:"
_TRUE: Final = Literal([1], BOOL)
_FALSE: Final = Literal([0], BOOL)
_ZERO: Final = Literal([0], I64)
_ONE: Final = Literal([1], I64)
_NOWHERE: Final = Literal([-1], I64)
#: Elements that no list has.
_LONGEST: Final = 1 << 40


class ListOf(VectorType):
    """Lists of one origin: list number ``i`` has the elements from ``low[i]`` on and before ``high[i]``. Lists of equal
    bounds have different origins where their elements are other vectors."""

    def __init__(self, elements: Result, low: Operand, high: Operand) -> None:
        origin = [low, high, elements.value, elements.valid or _TRUE]
        super().__init__(f"list<{elements.type}> {' '.join([print_operand(o) for o in origin])}", "list", 64)
        self.elements = elements
        self.low = low
        self.high = high


def stored(t: Translator, table: Operand, name: str, column: str) -> Result:
    """A column of a table; its elements are a table of their own."""
    rows, low, high = [t.stored(table, name, f"{column}{INTO}{part}") for part in (ROW, LOW, HIGH)]
    inside = t.schema.elements(name, column)
    elements = t.stored(t.emit("load_table", [Literal([inside], SYM)]), inside, ITEM)
    return Result(rows.value, ListOf(elements, low.value, high.value), rows.valid, canonical=True)


def shown(t: Translator, ids: Operand, type: ListOf) -> Operand:
    """The column of a result."""
    return t.emit("lists", [ids, t.shown(type.elements), type.low, type.high])


def gathered(t: Translator, value: Result, rows: Operand, counts: Operand) -> Result:
    """The lists of ``value`` at ``rows``, which are as many for each list as ``counts`` says; NULL for none."""
    place, low = numbers_of(t, counts), sums_before(t, counts)
    valid = None if value.valid is None else t.index(value.valid, rows)
    elements = Result(t.index(value.value, rows), value.type, valid)
    type = ListOf(elements, low, t.emit("plus", [low, counts]))
    return Result(place, type, t.emit("gt", [counts, _ZERO]))


def sums_before(t: Translator, counts: Operand) -> Operand:
    """For each of many counts the sum of those before it."""
    zeros = t.emit("fill", [_ZERO, counts])
    sums = t.result("raze", [t.emit("each_slice", [FunctionRef("sum"), counts, zeros, numbers_of(t, counts)])])
    return t.cast(sums, I64).value


def together(t: Translator, results: list[Result]) -> list[Result]:
    """Lists of several origins as those of one; any other results as they are."""
    types = {r.type.text: r.type for r in results if isinstance(r.type, ListOf)}
    if len(types) == 1 and all(r.type.kind == "list" for r in results):
        return results
    if not types:
        return results
    origins = list(types.values())
    elements = [o.elements for o in origins]
    joint = unified([e.type for e in elements if not t.is_null(e)] or [elements[0].type])
    parts = together(t, elements) if isinstance(joint, ListOf) else [t.cast(e, joint) for e in elements]
    valid: Operand | None = None
    if any(p.valid is not None for p in parts):
        valid = t.emit("concat", [mask(t, p.valid, p.value) for p in parts])
    lows, highs, firsts = list[Operand](), list[Operand](), dict[str, Operand]()
    number: Operand = _ZERO
    shift: Operand = _ZERO
    for origin, part in zip(origins, parts):
        firsts[origin.text] = number
        lows.append(t.emit("plus", [origin.low, shift]))
        highs.append(t.emit("plus", [origin.high, shift]))
        number = t.emit("plus", [number, t.emit("len", [origin.low])])
        shift = t.emit("plus", [shift, t.emit("len", [part.value])])
    values = Result(t.emit("concat", [p.value for p in parts]), parts[0].type, valid)
    type = ListOf(values, t.emit("concat", lows), t.emit("concat", highs))
    return [_moved(t, r, firsts.get(r.type.text), type) for r in results]


def _moved(t: Translator, result: Result, first: Operand | None, type: ListOf) -> Result:
    if first is None:
        return Result(_ZERO, type, result.valid)  # NULL
    return Result(t.emit("plus", [result.value, first]), type, result.valid, result.canonical)


def mask(t: Translator, valid: Operand | None, values: Operand) -> Operand:
    return t.emit("fill", [valid or _TRUE, values]) if valid is None or t.is_constant(valid) else valid


def ranked(t: Translator, result: Result) -> Result:
    """What lists are told apart and ordered by; any other result as it is."""
    type = result.type
    if not isinstance(type, ListOf):
        return result
    elements = ranked(t, type.elements)
    ranks = t.emit("list_ranks", [elements.value, type.low, type.high, mask(t, elements.valid, elements.value)])
    return Result(of_rows(t, result, ranks), I64, result.valid, result.canonical)


def function(t: Translator, call: plan.Apply, frame: Frame) -> Result:
    if call.function == "make_array":
        return _made(t, call, frame)
    given, type = list_of(t, t.expression(call.arguments[0], frame), frame)
    if call.function == "list_number":
        return Result(given.value, I64, given.valid)
    if call.function == "array_to_string":
        return _joined(t, given, type, call.arguments[1])
    low, high = [of_rows(t, given, bound) for bound in (type.low, type.high)]
    if call.function != "array_element":
        return t.result("minus", [high, low], given.valid)
    number = place_of(t.cast(t.expression(call.arguments[1], frame), I64))
    from_front = t.emit("plus", [low, t.emit("minus", [number.value, _ONE])])
    from_end = t.emit("plus", [high, number.value])
    is_front = t.emit("gt", [number.value, _ZERO])
    place = t.emit("if_else", [is_front, from_front, from_end])
    inside = t.emit("and", [t.emit("geq", [place, low]), t.emit("lt", [place, high])])
    inside = t.emit("and", [inside, t.emit("neq", [number.value, _ZERO])])
    known = t.both([inside, given.valid, number.valid]) or inside
    there = t.spread(t.emit("if_else", [known, place, _NOWHERE]), frame)
    elements = type.elements
    valid: Operand = known if elements.valid is None else t.outer_index(elements.valid, there)
    return Result(t.outer_index(elements.value, there), elements.type, valid)


def list_of(t: Translator, given: Result, frame: Frame) -> tuple[Result, ListOf]:
    """A value as a list: NULL of another type as lists that are NULL, of no elements. Raises UnsupportedError for any
    other value, which the planner is to cast to a list."""
    if isinstance(given.type, ListOf):
        return given, given.type
    if not t.is_null(given):
        raise UnsupportedError(REFUSAL, [f"cast: {given.type} to a list"])
    ids = numbers_of(t, frame.anchor())
    type = ListOf(Result(t.emit("fill", [Literal([0], I32), ids]), I32), ids, ids)
    return Result(ids, type, t.emit("fill", [_FALSE, ids])), type


def place_of(given: Result) -> Result:
    """A place in a list. Constants that no list has are the last that one may have, to which places are added."""
    if not isinstance(given.value, Literal) or not isinstance(given.value.values[0], int):
        return given
    number = max(-_LONGEST, min(given.value.values[0], _LONGEST))
    return Result(Literal([number], I64), I64, given.valid)


def elements(t: Translator, relation: Elements) -> Frame:
    """For each element of each list the number of the list, and the element."""
    assert relation.input is not None and relation.list is not None
    frame = t.relation(relation.input)
    _, type = list_of(t, t.expression(relation.list, frame), frame)
    before = t.emit("fill", [_NOWHERE, type.elements.value])
    rows = t.emit("distinct_slices", [before, type.low, type.high])
    numbers, places = [t.emit("item", [rows, Literal([side], I64)]) for side in (0, 1)]

    def number() -> Result:
        return Result(numbers, I64)

    def element() -> Result:
        found = type.elements
        valid = None if found.valid is None else t.index(found.valid, places)
        return Result(t.index(found.value, places), found.type, valid)

    return Frame([number, element], lambda: numbers)


def _made(t: Translator, call: plan.Apply, frame: Frame) -> Result:
    """The lists of the rows one behind the other, made of all first arguments, then all second ones, and so on."""
    constants = [natural(a) for a in call.arguments if isinstance(a, plan.Constant)]
    types = {c.type.text: c.type for c in constants if c.value is not None}
    if len(constants) == len(call.arguments) and len(types) == 1:
        return _of_constants(t, constants, next(iter(types.values())), frame)
    sides = together(t, [t.expression(a, frame) for a in call.arguments])
    type = unified([s.type for s in sides if not t.is_null(s)] or [sides[0].type])
    sides = [Result(t.zero(type), type, s.valid) if t.is_null(s) else t.cast(s, type) for s in sides]
    values = t.emit("concat", [t.spread(s.value, frame) for s in sides])
    valid: Operand | None = None
    if any(s.valid is not None for s in sides):
        valid = t.emit("concat", [t.spread(s.valid or _TRUE, frame) for s in sides])
    ids, count = numbers_of(t, frame.anchor()), Literal([len(sides)], I64)
    low = t.emit("mul", [ids, count])
    # Element j of row i is of the j-th side, which begins behind as many rows for each side before it.
    number = t.emit("range", [t.emit("len", [values])])
    side = t.emit("mod", [number, count])
    row = t.emit("convert", [t.emit("div", [t.emit("minus", [number, side]), count]), Literal(["i64"], SYM)])
    place = t.emit("plus", [row, t.emit("mul", [side, t.emit("len", [ids])])])
    elements = Result(t.index(values, place), type, None if valid is None else t.index(valid, place))
    return Result(ids, ListOf(elements, low, t.emit("plus", [low, count])))


def _of_constants(t: Translator, constants: list[plan.Constant], type: VectorType, frame: Frame) -> Result:
    """One list, which every row has: its elements are one vector, however many there are."""
    nothing = t.zero(type).values[0]
    given: list[Value] = [nothing if c.value is None else c.value for c in constants]
    known: list[Value] = [int(c.value is not None) for c in constants]
    valid = None if all(known) else t.emit("concat", [Literal(known, BOOL)])
    elements = Result(t.emit("concat", [Literal(given, type)]), type, valid)
    low, high = [t.emit("concat", [Literal([bound], I64)]) for bound in (0, len(given))]
    return Result(t.emit("fill", [_ZERO, frame.anchor()]), ListOf(elements, low, high))


def _joined(t: Translator, given: Result, type: ListOf, separator: plan.Expression) -> Result:
    """The texts of the elements that are not NULL, with the separator between two of them."""
    assert isinstance(separator, plan.Constant)
    between = "," if separator.value is None else str(separator.value)  # as DuckDB has it
    texts, low, high = _element_texts(t, type), type.low, type.high
    values = texts.value
    if texts.valid is not None:
        values = t.index(values, t.emit("where", [texts.valid]))
        low, high = [t.emit("before", [texts.valid, bound]) for bound in (low, high)]
    made = t.emit("fold_slices", [Literal(["join"], SYM), Literal([between], STR), low, high, values])
    if texts.valid is None:
        return Result(of_rows(t, given, made), STR, given.valid)
    known = t.either(t.emit("gt", [high, low]), t.emit("eq", [type.high, type.low]))  # DuckDB's text of NULLs is NULL
    return Result(of_rows(t, given, made), STR, t.both([given.valid, of_rows(t, given, known)]))


def show(t: Translator, given: Result) -> Result:
    """Lists as texts."""
    of = given.type
    assert isinstance(of, ListOf)
    elements = _element_texts(t, of)
    texts = elements.value
    if not isinstance(of.elements.type, ListOf):
        texts = t.emit("quote_list_item", [texts])
    if elements.valid is not None:
        texts = t.emit("if_else", [elements.valid, texts, Literal(["NULL"], STR)])
    made = t.emit("fold_slices", [Literal(["join"], SYM), Literal([", "], STR), of.low, of.high, texts])
    made = t.emit("join_text", [t.emit("join_text", [Literal(["["], STR), made]), Literal(["]"], STR)])
    return Result(of_rows(t, given, made), STR, given.valid)


def _element_texts(t: Translator, of: ListOf) -> Result:
    return show(t, of.elements) if isinstance(of.elements.type, ListOf) else casts.cast(t, of.elements, STR)


def of_rows(t: Translator, given: Result, of_lists: Operand) -> Operand:
    """What ``of_lists`` says of each row's list; of NULL what stands for nothing."""
    if given.valid is None:
        return t.index(of_lists, given.value)
    return t.outer_index(of_lists, t.emit("if_else", [given.valid, given.value, _NOWHERE]))


def numbers_of(t: Translator, rows: Operand) -> Operand:
    """0, 1, 2 ..., as long as ``rows``."""
    return t.emit("where", [t.emit("fill", [_TRUE, rows])])
