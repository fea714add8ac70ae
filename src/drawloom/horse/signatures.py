"""The result types of builtin calls from their argument types: one rule per name in the builtin table.

Decimal rules are DuckDB's, checked against it in the tests: a sum or difference has the larger scale and one digit
more than both need; a product adds scales and digits, but stays within 18 digits when both sides do (and overflow
is then an error); quotients are f64; sums have 38 digits, averages are f64.
"""

from __future__ import annotations

from typing import Final

from drawloom.horse.compound_rules import COMPOUND_RULES
from drawloom.horse.ir import FunctionRef, Literal, Operand
from drawloom.horse.rules import Rule, SignatureError, arity, numbers, refuse, vectors
from drawloom.horse.scalar_rules import SCALAR_RULES, integer_type, same_decimals
from drawloom.horse.types import (
    BOOL,
    DATE,
    F32,
    F64,
    I32,
    I64,
    I128,
    MAX_DIGITS,
    MAX_DIGITS_64,
    MONTH,
    STR,
    SYM,
    TABLE,
    TIME,
    TIMESTAMP,
    WILDCARD,
    DecimalType,
    DictType,
    EnumType,
    ListType,
    Type,
    VectorType,
    integer_digits,
    named_type,
)


def result_type(signature: str, name: str, arguments: list[Operand], types: list[Type]) -> Type:
    """The type of ``@name(arguments)``; ``types`` has one entry per argument (WILDCARD for a function).

    Raises SignatureError. A wildcard among the types gives a wildcard where the result depends on it.
    """
    return RULES[signature](name, arguments, types)


def plus_type(left: VectorType, right: VectorType) -> VectorType:
    """The type of a sum or difference of two numbers, or of dates and days."""
    if left.is_float or right.is_float:
        return float_type(left, right)
    if not isinstance(left, DecimalType) and not isinstance(right, DecimalType):
        return integer_type(left, right)
    a, b = as_decimal(left), as_decimal(right)
    scale = max(a.scale, b.scale)
    whole = max(a.precision - a.scale, b.precision - b.scale)
    return DecimalType(min(max(scale + whole, a.precision, b.precision) + 1, MAX_DIGITS), scale)


def product_type(left: VectorType, right: VectorType) -> VectorType:
    """The type of a product. Raises SignatureError when the scales add up to more than 38."""
    if left.is_float or right.is_float:
        return float_type(left, right)
    if not isinstance(left, DecimalType) and not isinstance(right, DecimalType):
        return integer_type(left, right)
    a, b = as_decimal(left), as_decimal(right)
    digits = a.precision + b.precision
    scale = a.scale + b.scale
    if scale > MAX_DIGITS:
        raise SignatureError(f"the product needs scale {scale}", f"scales that add up to at most {MAX_DIGITS}")
    if digits > MAX_DIGITS_64 and max(a.precision, b.precision) <= MAX_DIGITS_64 and scale < MAX_DIGITS_64:
        digits = MAX_DIGITS_64
    return DecimalType(min(digits, MAX_DIGITS), scale)


def as_decimal(type: VectorType) -> DecimalType:
    """A decimal type, or the one an integer type counts as beside a decimal."""
    return type if isinstance(type, DecimalType) else DecimalType(integer_digits(type), 0)


def float_type(left: VectorType, right: VectorType) -> VectorType:
    """f32 only where neither side is f64; an exact number becomes the other side's float."""
    return F64 if F64 in (left, right) or not (left.is_float or right.is_float) else F32


def _load_table(name: str, arguments: list[Operand], types: list[Type]) -> Type:
    arity(name, types, 1)
    if types[0] != SYM:
        raise refuse(name, types, "the table's name as a sym")
    return TABLE


def _column(name: str, arguments: list[Operand], types: list[Type]) -> Type:
    arity(name, types, 2)
    if types != [TABLE, SYM]:
        raise refuse(name, types, "a table and a column's name as a sym")
    return WILDCARD


def _column_valid(name: str, arguments: list[Operand], types: list[Type]) -> Type:
    _column(name, arguments, types)
    return BOOL


def _table(name: str, arguments: list[Operand], types: list[Type]) -> Type:
    arity(name, types, 2)
    if types[0] != SYM or not (isinstance(types[1], ListType) or types[1] == WILDCARD):
        raise refuse(name, types, "the column names as sym and a list of columns")
    return TABLE


def _list(name: str, arguments: list[Operand], types: list[Type]) -> Type:
    if types and all(t == types[0] for t in types):
        return ListType(types[0])
    return ListType(WILDCARD)


def _with_null(name: str, arguments: list[Operand], types: list[Type]) -> Type:
    arity(name, types, 2)
    if types[1] not in (BOOL, WILDCARD):
        raise refuse(name, types, "a vector and a bool")
    return types[0]


def _compare(name: str, arguments: list[Operand], types: list[Type]) -> Type:
    arity(name, types, 2)
    if WILDCARD in types:
        return BOOL
    left, right = vectors(name, types, "two vectors")
    numeric = left.is_numeric and right.is_numeric
    text = left.kind == "text" and right.kind == "text"
    if not numeric and not text and left != right:
        raise refuse(name, types, "two numbers, two texts, or two of one type")
    return BOOL


def _logic(name: str, arguments: list[Operand], types: list[Type]) -> Type:
    arity(name, types, 1 if name == "not" else 2)
    if any(t not in (BOOL, WILDCARD) for t in types):
        raise refuse(name, types, "bool")
    return BOOL


def _plus(name: str, arguments: list[Operand], types: list[Type]) -> Type:
    arity(name, types, 2)
    counted = [t for t in types if t in (DATE, MONTH, TIME)]
    if counted:
        unit = counted[0]
        if name == "minus" and types == [unit, unit]:
            return I64
        other = types[1] if types[0] == unit else types[0]
        if (isinstance(other, VectorType) and other.is_integer) and (name == "plus" or types[0] == unit):
            return unit
        raise refuse(name, types, "two numbers, a date and a number of days, or two dates to subtract")
    if types[0] == TIMESTAMP and name == "plus" and isinstance(types[1], VectorType) and types[1].is_integer:
        return TIMESTAMP
    sides = numbers(name, types, 2)
    return WILDCARD if sides is None else plus_type(sides[0], sides[1])


def _mul(name: str, arguments: list[Operand], types: list[Type]) -> Type:
    sides = numbers(name, types, 2)
    return WILDCARD if sides is None else product_type(sides[0], sides[1])


def _div(name: str, arguments: list[Operand], types: list[Type]) -> Type:
    sides = numbers(name, types, 2)
    return WILDCARD if sides is None else float_type(sides[0], sides[1])


def _mod(name: str, arguments: list[Operand], types: list[Type]) -> Type:
    sides = numbers(name, types, 2)
    if sides is None:
        return WILDCARD
    decimal = same_decimals(types)
    if decimal is not None:
        return decimal
    if not (sides[0].is_integer and sides[1].is_integer):
        raise refuse(name, types, "two integers, or two decimals of one type")
    return plus_type(sides[0], sides[1])


def _same(name: str, arguments: list[Operand], types: list[Type]) -> Type:
    numbers(name, types, 1)
    return types[0]


def _convert(name: str, arguments: list[Operand], types: list[Type]) -> Type:
    arity(name, types, 2)
    target = arguments[1]
    if not isinstance(target, Literal) or types[1] != SYM or len(target.values) != 1:
        raise refuse(name, types, "a number and the name of a numeric type as a sym literal")
    made = named_type(str(target.values[0]))
    if made is None or not made.is_numeric:
        raise SignatureError(f"@{name} makes no '{target.values[0]}'", "the name of a numeric type")
    numbers(name, [types[0] if types[0] != BOOL else I32], 1)
    return made


def _if_else(name: str, arguments: list[Operand], types: list[Type]) -> Type:
    arity(name, types, 3)
    if types[0] not in (BOOL, WILDCARD):
        raise refuse(name, types, "a bool and two values of one type")
    if WILDCARD in types[1:]:
        return WILDCARD
    if types[1] != types[2]:
        raise refuse(name, types, "a bool and two values of one type")
    return types[1]


def _date_part(name: str, arguments: list[Operand], types: list[Type]) -> Type:
    arity(name, types, 1)
    if types[0] not in (DATE, WILDCARD):
        raise refuse(name, types, "a date")
    return I64


def _like(name: str, arguments: list[Operand], types: list[Type]) -> Type:
    arity(name, types, 2)
    if types[0] not in (STR, SYM, WILDCARD) or types[1] != STR:
        raise refuse(name, types, "a text and a pattern")
    return BOOL


def _member(name: str, arguments: list[Operand], types: list[Type]) -> Type:
    """``@member(x, values)``: which entries of ``x`` are among ``values``."""
    return _compare(name, arguments, types)


def _sum(name: str, arguments: list[Operand], types: list[Type]) -> Type:
    if len(types) == 1 and types[0] == BOOL:
        return I128
    sides = numbers(name, types, 1)
    if sides is None:
        return WILDCARD
    type = sides[0]
    if isinstance(type, DecimalType):
        return DecimalType(MAX_DIGITS, type.scale)
    return F64 if type.is_float else I128


def _avg(name: str, arguments: list[Operand], types: list[Type]) -> Type:
    numbers(name, types, 1)
    return F64


def _extreme(name: str, arguments: list[Operand], types: list[Type]) -> Type:
    arity(name, types, 1)
    if not isinstance(types[0], VectorType) and types[0] != WILDCARD:
        raise refuse(name, types, "a vector")
    return types[0]


def _len(name: str, arguments: list[Operand], types: list[Type]) -> Type:
    arity(name, types, 1)
    return I64


def _compress(name: str, arguments: list[Operand], types: list[Type]) -> Type:
    arity(name, types, 2)
    if types[0] not in (BOOL, WILDCARD) or not (isinstance(types[1], VectorType | EnumType) or types[1] == WILDCARD):
        raise refuse(name, types, "a bool and a vector")
    return types[1]


def _index(name: str, arguments: list[Operand], types: list[Type]) -> Type:
    arity(name, types, 2)
    if types[1] not in (I64, WILDCARD):
        raise refuse(name, types, "a vector and i64 positions")
    return types[0]


def _order(name: str, arguments: list[Operand], types: list[Type]) -> Type:
    arity(name, types, 3)
    if not isinstance(types[0], ListType) or types[1] != BOOL or types[2] != BOOL:
        raise refuse(name, types, "a list of columns, for each whether it ascends, and whether NULLs come first")
    return I64


def _order_first(name: str, arguments: list[Operand], types: list[Type]) -> Type:
    arity(name, types, 4)
    if types[3] != I64:
        raise refuse(name, types, "what @order takes, and how many rows are wanted")
    return _order(name, arguments, types[:3])


def _top(name: str, arguments: list[Operand], types: list[Type]) -> Type:
    arity(name, types, 3)
    if types[1:] != [I64, I64]:
        raise refuse(name, types, "a vector, how many entries to skip, and how many to keep (-1 for all)")
    return types[0]


def _group(name: str, arguments: list[Operand], types: list[Type]) -> Type:
    arity(name, types, 1)
    if not isinstance(types[0], ListType):
        raise refuse(name, types, "a list of columns")
    return DictType(I64, ListType(I64))


#: What reads columns of tables; with what loads one, what no cell has a name for.
READS_COLUMN: Final = frozenset(["column_value", "column_valid"])
_OF_TABLES: Final = READS_COLUMN | {"load_table"}


def _inner(name: str, operand: Operand, arguments: list[Operand], types: list[Type]) -> Type:
    """The type of the function handed to ``@each``, applied to one cell."""
    from drawloom.horse.builtins import BUILTINS

    if not isinstance(operand, FunctionRef) or operand.name not in BUILTINS or operand.name in _OF_TABLES:
        raise SignatureError(f"@{name} takes a builtin function first", "a builtin such as @sum")
    return result_type(BUILTINS[operand.name].signature, operand.name, arguments, types)


def _each(name: str, arguments: list[Operand], types: list[Type]) -> Type:
    arity(name, types, 2)
    if not isinstance(types[1], ListType):
        raise refuse(name, types, "a function and a list")
    return ListType(_inner(name, arguments[0], arguments[1:], [types[1].element]))


def _each_right(name: str, arguments: list[Operand], types: list[Type]) -> Type:
    arity(name, types, 3)
    if not isinstance(types[2], ListType):
        raise refuse(name, types, "a function, a vector and a list")
    return ListType(_inner(name, arguments[0], arguments[1:], [types[1], types[2].element]))


def _each_left(name: str, arguments: list[Operand], types: list[Type]) -> Type:
    arity(name, types, 3)
    if not isinstance(types[1], ListType):
        raise refuse(name, types, "a function, a list and a vector")
    return ListType(_inner(name, arguments[0], arguments[1:], [types[1].element, types[2]]))


def _each_item(name: str, arguments: list[Operand], types: list[Type]) -> Type:
    arity(name, types, 3)
    if not isinstance(types[1], ListType) or not isinstance(types[2], ListType):
        raise refuse(name, types, "a function and two lists")
    return ListType(_inner(name, arguments[0], arguments[1:], [types[1].element, types[2].element]))


def _fill(name: str, arguments: list[Operand], types: list[Type]) -> Type:
    arity(name, types, 2)
    if not all(isinstance(t, VectorType) or t == WILDCARD for t in types):
        raise refuse(name, types, "one value, and a vector of the length to make")
    return types[0]


def _raze(name: str, arguments: list[Operand], types: list[Type]) -> Type:
    arity(name, types, 1)
    if not isinstance(types[0], ListType):
        raise refuse(name, types, "a list")
    return types[0].element


def _join(name: str, arguments: list[Operand], types: list[Type]) -> Type:
    arity(name, types, 2)
    if not all(isinstance(t, ListType) for t in types):
        raise refuse(name, types, "two lists of keys")
    return BOOL if name == "contains" else ListType(I64)


def _cross(name: str, arguments: list[Operand], types: list[Type]) -> Type:
    arity(name, types, 2)
    if not all(isinstance(t, VectorType) or t == WILDCARD for t in types):
        raise refuse(name, types, "two vectors, of the lengths of the sides")
    return ListType(I64)


def _loop_join(name: str, arguments: list[Operand], types: list[Type]) -> Type:
    """``@loop_join(comparisons, keys, keys)``: a symbol (`lt, `geq, ...) for each pair of keys."""
    arity(name, types, 3)
    if types[0] not in (SYM, WILDCARD) or not all(isinstance(t, ListType) for t in types[1:]):
        raise refuse(name, types, "symbols of comparisons, and two lists of keys")
    return ListType(I64)


def _lists(name: str, arguments: list[Operand], types: list[Type]) -> Type:
    arity(name, types, 4)
    if any(t not in (I64, WILDCARD) for t in (types[0], *types[2:])):
        raise refuse(name, types, "i64 numbers of lists, a vector, and i64 positions where lists begin and end")
    return I64


def _list_ranks(name: str, arguments: list[Operand], types: list[Type]) -> Type:
    arity(name, types, 4)
    if any(t not in (I64, WILDCARD) for t in types[1:3]) or types[3] not in (BOOL, WILDCARD):
        raise refuse(name, types, "a vector, i64 positions where lists begin and end, and a bool for each element")
    return I64


def _list_items(name: str, arguments: list[Operand], types: list[Type]) -> Type:
    arity(name, types, 2)
    if types[0] not in (STR, SYM, WILDCARD) or types[1] not in (I64, WILDCARD):
        raise refuse(name, types, "texts, and how many elements of each as i64")
    return BOOL if name == "known_list_items" else STR


def _structs(name: str, arguments: list[Operand], types: list[Type]) -> Type:
    arity(name, types, 3)
    if types[0] not in (I64, WILDCARD) or types[1] not in (SYM, WILDCARD) or not isinstance(types[2], ListType):
        raise refuse(name, types, "i64 numbers of structs, the names of their fields (sym), and the fields")
    return I64


def _distinct_slices(name: str, arguments: list[Operand], types: list[Type]) -> Type:
    arity(name, types, 3)
    if any(t not in (I64, WILDCARD) for t in types):
        raise refuse(name, types, "i64 positions of equal values, and of where slices begin and end")
    return ListType(I64)


def _touched(name: str, arguments: list[Operand], types: list[Type]) -> Type:
    arity(name, types, 2)
    if types[0] not in (I64, WILDCARD):
        raise refuse(name, types, "i64 positions, and a vector of the length to make")
    return BOOL


def _present(name: str, arguments: list[Operand], types: list[Type]) -> Type:
    arity(name, types, 3)
    is_integer = isinstance(types[0], VectorType) and types[0].is_integer
    if not (is_integer or types[0] == WILDCARD) or any(t not in (I64, WILDCARD) for t in types[1:]):
        raise refuse(name, types, "integers, and the i64 bounds of those that are asked for")
    return BOOL


def _where(name: str, arguments: list[Operand], types: list[Type]) -> Type:
    arity(name, types, 1)
    if types[0] not in (BOOL, WILDCARD):
        raise refuse(name, types, "a bool")
    return I64


def _concat(name: str, arguments: list[Operand], types: list[Type]) -> Type:
    known = [t for t in types if t != WILDCARD]
    if not types or any(not isinstance(t, VectorType) or t != known[0] for t in known):
        raise refuse(name, types, "vectors of one type")
    return known[0] if known else WILDCARD


def _single(name: str, arguments: list[Operand], types: list[Type]) -> Type:
    arity(name, types, 1)
    return types[0]


def _item(name: str, arguments: list[Operand], types: list[Type]) -> Type:
    arity(name, types, 2)
    if not isinstance(types[0], ListType) or types[1] != I64:
        raise refuse(name, types, "a list and the place of a cell as i64")
    return types[0].element


def _substring(name: str, arguments: list[Operand], types: list[Type]) -> Type:
    arity(name, types, 3)
    if types[0] not in (STR, SYM, WILDCARD) or types[1:] != [I64, I64]:
        raise refuse(name, types, "a text, a start from 1 and a count of characters as i64")
    return types[0]


def _runs(name: str, arguments: list[Operand], types: list[Type]) -> Type:
    arity(name, types, 1)
    if not isinstance(types[0], ListType):
        raise refuse(name, types, "a list of columns")
    return I64


def _before(name: str, arguments: list[Operand], types: list[Type]) -> Type:
    arity(name, types, 2)
    if types[0] not in (BOOL, WILDCARD) or types[1] not in (I64, WILDCARD):
        raise refuse(name, types, "a bool and i64 positions")
    return I64


def _search(name: str, arguments: list[Operand], types: list[Type]) -> Type:
    arity(name, types, 4)
    if types[1:3] != [I64, I64] or types[0] != types[3]:
        raise refuse(name, types, "a vector, for each row two i64 positions, and a value of the vector's type")
    return I64


def _each_slice(name: str, arguments: list[Operand], types: list[Type]) -> Type:
    arity(name, types, 4)
    if types[2:] != [I64, I64]:
        raise refuse(name, types, "a function, a vector, and for each slice two i64 positions")
    return ListType(_inner(name, arguments[0], arguments[1:2], types[1:2]))


def _of_type(given: VectorType, made: VectorType) -> Rule:
    """The rule for functions of one vector, with constant texts behind it where that is text."""

    def rule(name: str, arguments: list[Operand], types: list[Type]) -> Type:
        least, most = _OPTIONS.get(name, (0, 0))
        if not types or types[0] not in (given, WILDCARD) or any(t != STR for t in types[1:]):
            raise refuse(name, types, str(given))
        if not least <= len(types) - 1 <= most:
            raise refuse(name, types, f"{given} and {least} to {most} texts" if most else str(given))
        return made

    return rule


#: How many texts stand behind the one that a function is of.
_OPTIONS: Final[dict[str, tuple[int, int]]] = {
    "trim": (0, 1), "trim_start": (0, 1), "trim_end": (0, 1), "replace": (2, 2), "regexp_replace": (2, 3),
    "position": (1, 1),
}  # fmt: skip


def _date_like(name: str, arguments: list[Operand], types: list[Type]) -> Type:
    arity(name, types, 2)
    second = SYM if name == "truncate" else I64
    if types[0] not in (DATE, TIMESTAMP, WILDCARD) or types[1] not in (second, WILDCARD):
        raise refuse(
            name, types, f"a date or a timestamp, and {'a unit as a sym' if second == SYM else 'months as i64'}"
        )
    return types[0]


def _two_texts(name: str, arguments: list[Operand], types: list[Type]) -> Type:
    arity(name, types, 2)
    if any(t not in (STR, SYM, WILDCARD) for t in types):
        raise refuse(name, types, "two texts")
    return BOOL if name == "like_text" else STR


def _real(name: str, arguments: list[Operand], types: list[Type]) -> Type:
    numbers(name, types, 2 if name == "power" else 1)
    return F64


RULES: Final[dict[str, Rule]] = {
    "load_table": _load_table, "column": _column, "column_valid": _column_valid, "table": _table, "list": _list,
    "with_null": _with_null, "compare": _compare, "logic": _logic, "plus": _plus, "mul": _mul, "div": _div,
    "mod": _mod,
    "same": _same, "convert": _convert, "if_else": _if_else, "date_part": _date_part, "like": _like,
    "member": _member, "sum": _sum, "avg": _avg, "extreme": _extreme, "len": _len, "compress": _compress,
    "index": _index, "order": _order, "order_first": _order_first, "top": _top, "group": _group,
    "each": _each, "each_left": _each_left, "each_right": _each_right, "raze": _raze,
    "each_item": _each_item, "fill": _fill, "join": _join, "contains": _join, "cross": _cross,
    "distinct_slices": _distinct_slices, "lists": _lists,
    "structs": _structs, "list_ranks": _list_ranks, "list_items": _list_items,
    "loop_join": _loop_join, "touched": _touched, "present": _present,
    "where": _where, "concat": _concat,
    "single": _single, "item": _item, "substring": _substring, **COMPOUND_RULES,
    "runs": _runs, "before": _before, "search": _search, "each_slice": _each_slice,
    "date_of": _of_type(TIMESTAMP, DATE), "timestamp_of": _of_type(DATE, TIMESTAMP),
    "time_part": _of_type(TIMESTAMP, I64), "date_like": _date_like, "text": _of_type(STR, STR),
    "text_number": _of_type(STR, I64), "two_texts": _two_texts, "real": _real, **SCALAR_RULES,
}  # fmt: skip
