"""Window functions of the relational tree to HorseIR: rows are sorted by the partition and the order, every function is
found there by positions, and its value is carried back to where the row was.

    rows        = @order(partition and order), the sorted rows
    partition   = [@run_start, @run_end) of the partition's columns at those rows
    peers       = the same of the partition's and the order's columns
    row_number  = position - partition's start + 1        rank = peers' start - partition's start + 1
    lag, lead   = @outer_index at another position, -1 outside of the partition
    aggregates  = @each_slice over the values that are not NULL, between @before(validity, frame's bounds)
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from drawloom.horse.ir import FunctionRef, Literal, Operand, Value
from drawloom.horse.plain import FOLDS
from drawloom.horse.types import BOOL, CLOCK, F64, I64, MAX_DIGITS, SYM, TIMESTAMP, DecimalType, VectorType, scale_of
from drawloom.horse.values import INT64_MAX
from drawloom.sql import plan, structs
from drawloom.sql.aggregates import BLIND, FOLDED, REDUCTIONS, fold_option, folded_argument
from drawloom.sql.coercion import drop_in_choice, drop_in_sum
from drawloom.sql.frames import Frame, Result
from drawloom.sql.lists import ListOf, ranked

if TYPE_CHECKING:
    from drawloom.sql.translate import Translator

_TRUE: Final = Literal([1], BOOL)
_ZERO: Final = Literal([0], I64)
_ONE: Final = Literal([1], I64)
_NOWHERE: Final = Literal([-1], I64)
#: Behind every row.
_BEHIND: Final = Literal([INT64_MAX], I64)


def can_be_distinct(function: str) -> bool:
    """Whether DISTINCT has a meaning for the function here: for aggregates of one argument."""
    return function in REDUCTIONS or (function in FOLDED and FOLDS[FOLDED[function]].lists == 1)


def window(t: Translator, expression: plan.Window, below: Frame) -> Result:
    """The window function's value for each row of ``below``."""
    view = _View(t, expression, below)
    made = FUNCTIONS[expression.function](view)
    back = t.emit("order", [t.emit("list", [view.rows], "window"), _TRUE, Literal([0], BOOL)])
    valid = None if made.valid is None else t.index(made.valid, back)
    return Result(t.index(made.value, back), made.type, valid)


class _View:
    """The sorted rows of one window. ``rows`` has their numbers; everything else is by position among them."""

    def __init__(self, t: Translator, expression: plan.Window, below: Frame) -> None:
        self.t = t
        self.expression = expression
        self.below = below
        self.parts = [t.key(ranked(t, t.expression(p, below))) for p in expression.partitions]
        self.keys = [t.key(ranked(t, t.expression(k.expression, below))) for k in expression.sorts]
        self.rows = self.sorted_rows(self.parts)

    def sorted_rows(self, parts: list[Result]) -> Operand:
        t, sorts = self.t, self.expression.sorts
        keys = [self.whole(r) for r in [*parts, *self.keys]]
        if not keys:
            return t.emit("where", [t.emit("fill", [_TRUE, self.below.anchor()])])
        ascending: list[Value] = [*[1] * len(parts), *[int(k.ascending) for k in sorts]]
        nulls_first: list[Value] = [*[0] * len(parts), *[int(k.nulls_first) for k in sorts]]
        columns = t.emit("list", keys, "window")
        return t.emit("order", [columns, Literal(ascending, BOOL), Literal(nulls_first, BOOL)])

    def whole(self, result: Result) -> Operand:
        value = self.t.spread(result.value, self.below)
        if result.valid is None:
            return value
        return self.t.emit("with_null", [value, self.t.spread(result.valid, self.below)])

    @property
    def position(self) -> Operand:
        return self.t.emit("where", [self.t.emit("fill", [_TRUE, self.rows])])

    @property
    def start(self) -> Operand:
        """Where the partition begins."""
        return self.t.emit("run_start", [self.columns(self.parts)])

    @property
    def end(self) -> Operand:
        """Where the partition ends."""
        return self.t.emit("run_end", [self.columns(self.parts)])

    @property
    def first_peer(self) -> Operand:
        """Where the rows begin that are equal in the order too."""
        return self.t.emit("run_start", [self.columns([*self.parts, *self.keys])])

    @property
    def last_peer(self) -> Operand:
        """Where the rows end that are equal in the order too."""
        return self.t.emit("run_end", [self.columns([*self.parts, *self.keys])])

    def columns(self, keys: list[Result]) -> Operand:
        """The list of the keys' columns at the sorted rows."""
        made = [self.sorted(c) for c in self.t.grouped_by(keys, self.below)]
        return self.t.emit("list", made or [self.t.emit("fill", [_TRUE, self.rows])], "window")

    def sorted(self, value: Operand) -> Operand:
        return self.t.index(self.t.spread(value, self.below), self.rows)

    def argument(self, index: int, drops: Callable[..., bool] = lambda given, cast: False) -> Result:
        """An argument of the function at the sorted rows."""
        result = self.t.uncast(self.expression.arguments[index], self.below, drops)
        valid = None if result.valid is None else self.sorted(result.valid)
        return Result(self.sorted(result.value), result.type, valid)

    def offset(self, index: int, default: int) -> int:
        """An argument that is a constant integer, ``default`` where it is left out."""
        if len(self.expression.arguments) <= index:
            return default
        argument = self.expression.arguments[index]
        assert isinstance(argument, plan.Constant) and isinstance(argument.value, int)
        return argument.value

    def plus(self, left: Operand, right: Operand) -> Operand:
        return self.t.emit("plus", [left, right])

    def minus(self, left: Operand, right: Operand) -> Operand:
        return self.t.emit("minus", [left, right])

    def whole_quotient(self, left: Operand, right: Operand) -> Operand:
        """Whole numbers divided towards zero: what divides without a rest is exact as doubles."""
        whole = self.minus(left, self.t.emit("mod", [left, right]))
        return self.t.emit("convert", [self.t.emit("div", [whole, right]), Literal([I64.text], SYM)])

    def choose(self, condition: Operand, then: Operand, otherwise: Operand) -> Operand:
        return self.t.emit("if_else", [condition, then, otherwise])

    def between(self, value: Operand) -> Operand:
        """The position, or the partition's nearest one (its end among them) where that is outside."""
        t = self.t
        low = self.choose(t.emit("lt", [value, self.start]), self.start, value)
        return self.choose(t.emit("gt", [low, self.end]), self.end, low)

    def at(self, value: Result, position: Operand, inside: Operand) -> Result:
        """The value at another position, NULL where that is not ``inside``."""
        t = self.t
        place = self.choose(inside, position, _NOWHERE)
        valid = inside if value.valid is None else t.outer_index(value.valid, place)
        return Result(t.outer_index(value.value, place), value.type, valid)

    def place_before(self, value: Result, from_end: bool) -> Operand:
        """Where the row's value stood last before it in the partition (``from_end``: where it stands next), -1 for
        nowhere."""
        t = self.t
        parts = [self.sorted(c) for c in t.grouped_by(self.parts, self.below)]
        columns = [*parts, *_told_apart_by(t, value)]
        upward: list[Value] = [1] * len(columns)
        order = t.emit("order", [t.emit("list", columns, "window"), Literal(upward, BOOL), Literal(upward, BOOL)])
        runs = t.emit("list", [t.index(c, order) for c in columns], "window")
        place = t.emit("where", [t.emit("fill", [_TRUE, order])])
        if from_end:
            other, bound = self.plus(place, _ONE), t.emit("run_end", [runs])
            inside = t.emit("lt", [other, bound])
        else:
            other, bound = self.minus(place, _ONE), t.emit("run_start", [runs])
            inside = t.emit("geq", [other, bound])
        found = t.outer_index(order, self.choose(inside, other, _NOWHERE))
        back = t.emit("order", [t.emit("list", [order], "window"), _TRUE, Literal([0], BOOL)])
        return t.index(self.choose(inside, found, _NOWHERE), back)

    # Frames

    def frame(self) -> tuple[Operand, Operand]:
        """The positions where each row's frame begins and ends; it is empty where these are one."""
        frame = self.expression.frame
        bound = {"rows": self.by_rows, "groups": self.by_groups}.get(frame.unit, self.by_range)
        low, high = bound(frame.low, False), bound(frame.high, True)
        return low, self.choose(self.t.emit("lt", [high, low]), low, high)

    def by_rows(self, offset: plan.Offset, is_end: bool) -> Operand:
        if offset is None:
            return self.end if is_end else self.start
        assert isinstance(offset, int)
        return self.between(self.plus(self.position, Literal([offset + is_end], I64)))

    def by_groups(self, offset: plan.Offset, is_end: bool) -> Operand:
        """By the rows that are equal in the order, numbered through all partitions."""
        if offset is None:
            return self.end if is_end else self.start
        assert isinstance(offset, int)
        t = self.t
        is_first = t.emit("eq", [self.position, self.first_peer])
        number = self.plus(t.emit("before", [is_first, self.last_peer]), Literal([offset + is_end - 1], I64))
        low, high = t.emit("before", [is_first, self.start]), t.emit("before", [is_first, self.end])
        inside = t.emit("and", [t.emit("geq", [number, low]), t.emit("lt", [number, high])])
        found = t.outer_index(t.emit("where", [is_first]), self.choose(inside, number, _NOWHERE))
        outside = self.choose(t.emit("lt", [number, low]), self.start, self.end)
        return self.choose(inside, found, outside)

    def by_range(self, offset: plan.Offset, is_end: bool) -> Operand:
        """By the one key of the order; NULLs are each other's frame, but for what is unbounded."""
        if offset is None:
            return self.end if is_end else self.start
        peers = self.last_peer if is_end else self.first_peer
        if offset == 0:
            return peers
        t, key = self.t, self.keys[0]
        value, target = self.shifted(Result(self.sorted(key.value), key.type), offset)
        if not self.expression.sorts[0].ascending:
            value, target = t.emit("neg", [value]), t.emit("neg", [target])
        low, high = self.start, self.end
        if key.valid is not None:
            valid = self.sorted(key.valid)
            nulls = self.minus(self.minus(high, low), self.count(valid, low, high))
            if self.expression.sorts[0].nulls_first:
                low = self.plus(low, nulls)
            else:
                high = self.minus(high, nulls)
        found = t.emit("search_after" if is_end else "search", [value, low, high, target])
        return found if key.valid is None else self.choose(valid, found, peers)

    def shifted(self, key: Result, offset: plan.Offset) -> tuple[Operand, Operand]:
        """The order's values, and those at ``offset`` from them in its direction, as whole numbers that compare so."""
        t = self.t
        sign = 1 if self.expression.sorts[0].ascending else -1
        if isinstance(offset, plan.Span) and key.type == CLOCK:
            ticks = t.emit("clock_ticks", [key.value])
            return ticks, t.emit("plus", [ticks, Literal([sign * offset.micros], I64)])
        if isinstance(offset, plan.Span):
            value = t.cast(key, TIMESTAMP)
            made = value
            if offset.months:
                made = t.result("add_months", [made.value, Literal([sign * offset.months], I64)])
            made = t.result("plus", [made.value, Literal([sign * offset.micros], I64)])
            return t.emit("ticks", [value.value]), t.emit("ticks", [made.value])
        assert isinstance(offset, int | Fraction)
        if key.type.is_float:
            value = t.cast(key, F64)
            moved = t.emit("plus", [value.value, Literal([float(sign * offset)], F64)])
            return t.emit("sortable", [value.value]), t.emit("sortable", [moved])
        scale = scale_of(key.type)
        whole = DecimalType(MAX_DIGITS, scale) if scale or key.type.bits > 64 else I64
        value = t.cast(key, whole)
        amount = offset * 10**scale
        assert Fraction(amount).denominator == 1
        other = Literal([int(sign * amount)], DecimalType(MAX_DIGITS, scale) if isinstance(whole, DecimalType) else I64)
        # In i128 a decimal is the whole number that it counts.
        return value.value, t.cast(t.result("plus", [value.value, other]), whole).value

    def count(self, mask: Operand, low: Operand, high: Operand) -> Operand:
        """How many rows from ``low`` on, and before ``high``, are in the mask."""
        return self.minus(self.t.emit("before", [mask, high]), self.t.emit("before", [mask, low]))


def _whole_number(value: Operand) -> Result:
    return Result(value, I64)


def _row_number(view: _View) -> Result:
    return _whole_number(view.plus(view.minus(view.position, view.start), _ONE))


def _rank(view: _View) -> Result:
    return _whole_number(view.plus(view.minus(view.first_peer, view.start), _ONE))


def _dense_rank(view: _View) -> Result:
    is_first = view.t.emit("eq", [view.position, view.first_peer])
    return _whole_number(view.count(is_first, view.start, view.last_peer))


def _percent_rank(view: _View) -> Result:
    """The rows before the peers, over the other rows; 0 for a row alone."""
    others = view.minus(view.minus(view.end, view.start), _ONE)
    before = view.minus(view.first_peer, view.start)
    share = view.t.emit("div", [before, view.choose(view.t.emit("eq", [others, _ZERO]), _ONE, others)])
    return Result(share, F64)


def _cume_dist(view: _View) -> Result:
    rows = view.minus(view.end, view.start)
    return Result(view.t.emit("div", [view.minus(view.last_peer, view.start), rows]), F64)


def _ntile(view: _View) -> Result:
    """The number of the bucket: as many as are asked for, the first ones a row longer than the others."""
    t = view.t
    buckets = Literal([view.offset(0, 1)], I64)
    rows, row = view.minus(view.end, view.start), view.minus(view.position, view.start)
    short = view.whole_quotient(rows, buckets)
    longer = view.minus(rows, t.emit("mul", [short, buckets]))
    long = view.plus(short, _ONE)
    in_longer = t.emit("mul", [longer, long])
    some = view.choose(t.emit("eq", [short, _ZERO]), _ONE, short)
    behind = view.plus(longer, view.whole_quotient(view.minus(row, in_longer), some))
    bucket = view.choose(t.emit("lt", [row, in_longer]), view.whole_quotient(row, long), behind)
    return _whole_number(view.plus(bucket, _ONE))


def _shifted(view: _View, sign: int) -> Result:
    t = view.t
    value = view.argument(0)
    count = sign * view.offset(1, 1)
    if view.expression.ignores_nulls and value.valid is not None:
        before = t.emit("before", [value.valid, view.plus(view.position, _ONE) if count > 0 else view.position])
        place = view.plus(before, Literal([count - 1 if count > 0 else count], I64))
        found, inside = _nth_valid(view, value, place, view.start, view.end)
    else:
        position = view.plus(view.position, Literal([count], I64))
        inside = t.emit("and", [t.emit("geq", [position, view.start]), t.emit("lt", [position, view.end])])
        found = view.at(value, position, inside)
    if len(view.expression.arguments) < 3:
        return found
    other = t.cast(view.argument(2, drop_in_choice), value.type)
    valid: Operand | None = None
    if value.valid is not None or other.valid is not None:
        there = _TRUE if value.valid is None else found.valid
        valid = view.choose(inside, there or _TRUE, other.valid or _TRUE)
    return Result(view.choose(inside, found.value, other.value), value.type, valid)


def _nth_valid(view: _View, value: Result, place: Operand, low: Operand, high: Operand) -> tuple[Result, Operand]:
    """The value of the row that has number ``place`` among those that are not NULL, where it is from ``low`` on and
    before ``high``; and where that is so."""
    t = view.t
    assert value.valid is not None
    first, behind = t.emit("before", [value.valid, low]), t.emit("before", [value.valid, high])
    inside = t.emit("and", [t.emit("geq", [place, first]), t.emit("lt", [place, behind])])
    rows = t.outer_index(t.emit("where", [value.valid]), view.choose(inside, place, _NOWHERE))
    there = view.choose(inside, rows, _NOWHERE)
    return Result(t.outer_index(value.value, there), value.type, inside), inside


def _nth(view: _View, offset: int, from_end: bool) -> Result:
    """The value at a place of the frame, which counts from 0; or the last one."""
    t = view.t
    low, high = view.frame()
    value = view.argument(0)
    skips_nulls = view.expression.ignores_nulls or view.expression.function == "any_value"
    if skips_nulls and value.valid is not None:
        bound = t.emit("before", [value.valid, high if from_end else low])
        place = view.plus(bound, Literal([-1 if from_end else offset], I64))
        return _nth_valid(view, value, place, low, high)[0]
    position = view.minus(high, _ONE) if from_end else view.plus(low, Literal([offset], I64))
    inside = t.emit("and", [t.emit("geq", [position, low]), t.emit("lt", [position, high])])
    return view.at(value, position, inside)


class _Members:
    """The rows of each frame that an aggregate sees: ``values``, from ``low`` on and before ``high``."""

    def __init__(self, values: list[Operand], low: Operand, high: Operand) -> None:
        self.values = values
        self.low = low
        self.high = high


def _members(view: _View, values: list[Operand], type: VectorType, valid: Operand | None) -> _Members:
    """Those where ``valid`` is true; with DISTINCT only the first, in the order, of equal values."""
    t = view.t
    low, high = view.frame()
    if view.expression.is_distinct and view.expression.function not in BLIND:
        frame, value = view.expression.frame, Result(values[0], type, valid)
        from_end = frame.low is not None and frame.high is None
        other = view.place_before(value, from_end)
        if frame.low is not None and not from_end:
            return _firsts(view, values, other, valid)
        valid = t.both([valid, t.emit("eq", [other, _NOWHERE])])
    if valid is None:
        return _Members(values, low, high)
    rows = t.emit("where", [valid])
    bounds = [t.emit("before", [valid, bound]) for bound in (low, high)]
    return _Members([t.index(v, rows) for v in values], bounds[0], bounds[1])


def _told_apart_by(t: Translator, value: Result) -> list[Operand]:
    """The columns that tell values apart: of structs those of all fields."""
    if isinstance(value.type, structs.StructOf):
        made = [] if value.valid is None else [value.valid]
        for name in t.schema.fields(value.type.name, value.type.column):
            made.extend(_told_apart_by(t, structs.of(t, value, value.type, str(name))))
        return made
    key = t.key(ranked(t, value))
    return [key.value, *([] if key.valid is None else [key.valid])]


def _firsts(view: _View, values: list[Operand], previous: Operand, valid: Operand | None) -> _Members:
    """Frames that begin and end anywhere, row by row."""
    t = view.t
    low, high = view.frame()
    if valid is not None:
        previous = view.choose(valid, previous, _BEHIND)
    pairs = t.emit("distinct_slices", [previous, low, high])
    frames, rows = [t.emit("item", [pairs, Literal([side], I64)]) for side in (0, 1)]
    zero, end = t.emit("fill", [_ZERO, low]), t.emit("fill", [t.one(t.emit("len", [frames])), low])
    bounds = [t.emit(name, [frames, zero, end, view.position]) for name in ("search", "search_after")]
    return _Members([t.index(v, rows) for v in values], bounds[0], bounds[1])


def _gathered(view: _View) -> Result:
    """The list of the frame's values, NULLs among them."""
    low, high = view.frame()
    return Result(view.position, ListOf(view.argument(0), low, high), view.t.emit("gt", [high, low]))


def _count(view: _View) -> Result:
    value = view.argument(0)
    if view.expression.is_distinct:
        members = _members(view, [value.value], value.type, value.valid)
        return _whole_number(view.minus(members.high, members.low))
    low, high = view.frame()
    return _whole_number(view.minus(high, low) if value.valid is None else view.count(value.valid, low, high))


def _aggregate(view: _View) -> Result:
    """Sum, average, least or greatest of the values that are not NULL; NULL where there are none."""
    t, name = view.t, REDUCTIONS[view.expression.function]
    value = view.argument(0, drop_in_sum) if name in ("sum", "avg") else view.argument(0)
    members = _members(view, [value.value], value.type, value.valid)
    slices = [FunctionRef(name), members.values[0], members.low, members.high]
    made = t.result("raze", [t.emit("each_slice", slices)])
    made.valid = t.emit("gt", [members.high, members.low])
    return made


def _fold(view: _View) -> Result:
    """Any other aggregate of a frame's rows where no argument is NULL."""
    t, arguments = view.t, view.expression.arguments
    name = FOLDED[view.expression.function]
    fold = FOLDS[name]
    sides = [folded_argument(t, a, view.below, name) for a in arguments[: fold.lists]]
    valid = t.both([None if s.valid is None else view.sorted(s.valid) for s in sides])
    members = _members(view, [view.sorted(s.value) for s in sides], sides[0].type, valid)
    low, high, values = members.low, members.high, members.values
    made = t.result("fold_slices", [Literal([name], SYM), fold_option(arguments, name), low, high, *values])
    if fold.least:
        made.valid = t.emit("geq", [view.minus(high, low), Literal([fold.least], I64)])
    if name in ("regr_r2", "regr_intercept"):
        spread = t.emit("fold_slices", [Literal(["regr_sxx"], SYM), _ZERO, low, high, *values])
        made.valid = t.both([made.valid, t.emit("neq", [spread, Literal([0.0], F64)])])
    return made


#: The window functions that are built, by their Substrait names.
FUNCTIONS: Final[dict[str, Callable[[_View], Result]]] = {
    "row_number": _row_number, "rank": _rank, "dense_rank": _dense_rank, "percent_rank": _percent_rank,
    "cume_dist": _cume_dist, "ntile": _ntile,
    "lag": lambda view: _shifted(view, -1), "lead": lambda view: _shifted(view, 1),
    "first_value": lambda view: _nth(view, 0, False), "last_value": lambda view: _nth(view, 0, True),
    "any_value": lambda view: _nth(view, 0, False),
    "nth_value": lambda view: _nth(view, view.offset(1, 1) - 1, False),
    "count": _count, **dict.fromkeys(["sum", "avg", "min", "max", "bool_and", "bool_or"], _aggregate),
    **dict.fromkeys(FOLDED, _fold), "array_agg": _gathered,
}  # fmt: skip
