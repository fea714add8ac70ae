"""Aggregates of the relational tree to HorseIR: groups of rows, and for each aggregate its cells reduced or folded.

groups     = @group(keys), the rows of each group; without keys all rows are one cell
cells      = the arguments at those rows, where they are not NULL and the FILTER is true
sum ... len  @each(reduction, cells)
others       @fold(name, cells), over sorted rows where the aggregate has an ORDER BY
DISTINCT     the same over the first rows of @group(keys and arguments)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from drawloom.horse.ir import FunctionRef, Literal, Operand
from drawloom.horse.plain import FOLDS, INTERPOLATED, QUANTILES
from drawloom.horse.types import BOOL, DATE, F64, I64, INTERVAL, STR, SYM, TIMESTAMP, VectorType, scale_of
from drawloom.sql import lists, plan
from drawloom.sql.coercion import drop_in_sum, drop_nothing, drop_to_double
from drawloom.sql.frames import ONE_ROW, Column, Frame, Mask, Result

if TYPE_CHECKING:
    from drawloom.sql.translate import Translator

#: SQL's aggregates that HorseIR reduces, and with what.
REDUCTIONS: Final[dict[str, str]] = {
    "sum": "sum", "avg": "avg", "min": "min", "max": "max", "bool_and": "min", "bool_or": "max", "count": "len",
}  # fmt: skip
#: Those that @fold computes, by its names for them.
FOLDED: Final[dict[str, str]] = {
    "median": "quantile", "approx_median": "quantile", "percentile_cont": "quantile",
    "approx_percentile_cont": "quantile", "quantile_cont": "quantile", "quantile_cont_down": "quantile_down",
    "quantile_disc": "quantile_disc", "quantile_disc_down": "quantile_disc_down",
    "stddev": "stddev", "stddev_pop": "stddev_pop", "var": "var",
    "var_pop": "var_pop", "covar_samp": "covar", "covar_pop": "covar_pop", "corr": "corr", "string_agg": "join",
    "bit_and": "bit_and", "bit_or": "bit_or", "bit_xor": "bit_xor",
    **{f"regr_{word}": f"regr_{word}" for word in
       ("avgx", "avgy", "count", "intercept", "r2", "slope", "sxx", "sxy", "syy")},
}  # fmt: skip
#: Those that are the value of one of the rows.
CHOSEN: Final = frozenset(["first_value", "last_value", "any_value", "nth_value", "only_value"])
#: All of them, with their numbers of arguments.
AGGREGATE_FUNCTIONS: Final[dict[str, tuple[int, ...]]] = {
    **dict.fromkeys([*REDUCTIONS, *FOLDED, *CHOSEN], (1,)), "count": (0, 1), "approx_distinct": (1,),
    "nth_value": (2,), "array_agg": (1,), "string_agg": (1, 2), "percentile_cont": (2,),
    "approx_percentile_cont": (2, 3),
    **dict.fromkeys(["quantile_cont", "quantile_cont_down", "quantile_disc", "quantile_disc_down"], (2,)),
    **dict.fromkeys([name for name, fold in FOLDED.items() if FOLDS[fold].lists == 2], (2,)),
}  # fmt: skip
#: What repeated rows change nothing of.
BLIND: Final = frozenset(["min", "max", "bool_and", "bool_or", "bit_and", "bit_or", "any_value"])
_ZERO: Final = Literal([0], I64)


def aggregate(t: Translator, relation: plan.Aggregate) -> Frame:
    below = t.relation(relation.input)
    if not relation.keys:
        return Frame([_measure(t, m, relation, below, None) for m in relation.measures], lambda: ONE_ROW)
    keys = [t.key(t.expression(k, below)) for k in relation.keys]
    groups = t.emit("group", [t.emit("list", t.grouped_by(keys, below))])
    firsts = t.emit("keys", [groups])

    def key(result: Result) -> Column:
        def make() -> Result:
            if t.is_constant(result.value):
                return result
            valid = result.valid
            if valid is not None and not t.is_constant(valid):
                valid = t.emit("index", [valid, firsts])
            return Result(t.emit("index", [result.value, firsts]), result.type, valid, canonical=True)

        return make

    columns = [key(k) for k in keys]
    columns.extend([_measure(t, m, relation, below, groups) for m in relation.measures])

    def anchor() -> Operand:
        values = [c().value for c in columns[: len(keys)]]
        return next((v for v in values if not t.is_constant(v)), firsts)

    return Frame(columns, anchor)


def _measure(
    t: Translator, measure: plan.Measure, relation: plan.Aggregate, below: Frame, groups: Operand | None
) -> Column:
    def make() -> Result:
        given, frame = measure, below
        if given.function == "approx_distinct":
            given = plan.Measure("count", given.arguments, given.condition, is_distinct=True)
        if given.is_distinct and given.function not in BLIND:
            given, frame = _first_of_each(t, given, relation, frame)
        if given.sorts and given.function not in REDUCTIONS and not _is_quantile(given):
            frame = t.ordered(frame, given.sorts)
        cells = _Cells(t, given, frame, groups)
        if frame is not below and relation.keys:
            keys = [t.key(t.expression(k, frame)) for k in relation.keys]
            cells.groups = t.emit("group", [t.emit("list", t.grouped_by(keys, frame))])
        if given.function in REDUCTIONS:
            return _reduced(t, cells)
        if given.function == "array_agg":
            return _gathered(t, cells)
        return _chosen(t, cells) if given.function in CHOSEN else _folded(t, cells)

    return make


def _is_quantile(measure: plan.Measure) -> bool:
    return FOLDED.get(measure.function) == "quantile"


def _first_of_each(
    t: Translator, measure: plan.Measure, relation: plan.Aggregate, below: Frame
) -> tuple[plan.Measure, Frame]:
    """The aggregate without DISTINCT, over one row for each value of the keys, its first argument and its FILTER. The
    argument counts in rows that the FILTER leaves alone."""
    parts = [*relation.keys, measure.arguments[0]]
    if measure.condition is not None:
        parts[-1] = plan.Case([(measure.condition, measure.arguments[0])], None)
        parts.append(plan.Apply("is_true", [measure.condition]))
    told_apart = [t.key(t.expression(e, below)) for e in parts]
    groups = t.emit("group", [t.emit("list", t.grouped_by(told_apart, below))])
    made = plan.Measure(measure.function, measure.arguments, measure.condition, measure.sorts)
    return made, t.picked(below, t.emit("keys", [groups]))


def constants_of(function: str, arguments: list[plan.Expression]) -> list[plan.Expression]:
    """The arguments that must be constants."""
    if function == "nth_value":
        return arguments[1:]
    return arguments[FOLDS[FOLDED[function]].lists :] if function in FOLDED else []


class _Cells:
    """The rows that an aggregate sees: of ``frame``, cut into ``groups`` where there are some."""

    def __init__(self, t: Translator, measure: plan.Measure, frame: Frame, groups: Operand | None) -> None:
        self.t = t
        self.measure = measure
        self.frame = frame
        self.groups = groups
        self.chosen = None if measure.condition is None else t.holds(measure.condition, frame)
        #: The rows for the arguments, of which those count that the FILTER leaves.
        self.rows = frame if self.chosen is None else frame.where(Mask(self.chosen))

    def anchor(self) -> Operand:
        """A vector as long as the rows: of groups a key, which is read in any case."""
        keys = [] if self.groups is None else self.t.arguments_of(self.t.arguments_of(self.groups)[0])
        return keys[0] if keys else self.frame.anchor()

    def mask(self, arguments: list[Result]) -> Operand | None:
        """Where the FILTER is true and no argument is NULL; None for everywhere."""
        return self.t.both([self.chosen, *[a.valid for a in arguments]])

    def of(self, value: Operand, mask: Operand | None) -> Operand:
        """The rows of ``value`` in ``mask``, as @each takes them."""
        t, frame = self.t, self.frame
        value = t.spread(value, frame)
        if self.groups is None:
            return value if mask is None else t.emit("compress", [t.spread(mask, frame), value])
        rows = t.emit("values", [self.groups])
        cells = t.emit("each_right", [FunctionRef("index"), value, rows])
        if mask is None:
            return cells
        masks = t.emit("each_right", [FunctionRef("index"), t.spread(mask, frame), rows])
        return t.emit("each_item", [FunctionRef("compress"), masks, cells])

    def reduced(self, name: str, cells: Operand) -> Result:
        if self.groups is None:
            return self.t.result(name, [cells])
        return self.t.result("raze", [self.t.emit("each", [FunctionRef(name), cells])])

    def folded(self, name: str, lists: list[Operand], option: Operand) -> Result:
        if self.groups is None:
            lists = [self.t.emit("list", [cells]) for cells in lists]
        return self.t.result("fold", [Literal([name], SYM), option, *lists])

    def more_than(self, count: int, cells: Operand) -> Operand:
        """Where there are more rows than ``count``."""
        return self.t.emit("gt", [self.reduced("len", cells).value, Literal([count], I64)])


def _reduced(t: Translator, cells: _Cells) -> Result:
    function, arguments = cells.measure.function, cells.measure.arguments
    result = Result(cells.anchor(), BOOL)
    if arguments:
        result = t.uncast(arguments[0], cells.rows, drop_in_sum if function in ("sum", "avg") else _of_quantile(t))
    is_time = function == "sum" and result.type == INTERVAL
    if is_time:
        result = t.result("micros", [result.value], result.valid)
    mask = cells.mask([result])
    rows = cells.of(result.value, mask)
    made = cells.reduced(REDUCTIONS[function], rows)
    if is_time:
        made = t.result("span", [t.cast(made, I64).value])
    if function != "count" and (cells.groups is None or mask is not None):
        made.valid = cells.more_than(0, rows)
    return made


def _of_quantile(t: Translator) -> Callable[[VectorType, plan.Cast], bool]:
    """What tells a cast that only comes of the planner's minimum in the place of a quantile of 0."""
    return lambda given, cast: cast.type == F64 and given.kind == "decimal" and not t.casts_are_asked_for


def _folded(t: Translator, cells: _Cells) -> Result:
    """An aggregate by @fold; NULL where there are fewer rows than it needs."""
    measure = cells.measure
    name = FOLDED[measure.function]
    fold = FOLDS[name]
    sides = [folded_argument(t, a, cells.rows, name) for a in measure.arguments[: fold.lists]]
    mask = cells.mask(sides)
    lists = [cells.of(s.value, mask) for s in sides]
    made = cells.folded(name + ("_down" if _is_down(measure) else ""), lists, fold_option(measure.arguments, name))
    if fold.least:
        made.valid = cells.more_than(fold.least - 1, lists[0])
    if name in ("regr_r2", "regr_intercept"):
        varies = t.emit("neq", [cells.folded("regr_sxx", lists, _ZERO).value, Literal([0.0], F64)])
        made.valid = t.both([made.valid, varies])
    return made


def _is_down(measure: plan.Measure) -> bool:
    return _is_quantile(measure) and bool(measure.sorts) and not measure.sorts[0].ascending


def fold_option(arguments: list[plan.Expression], name: str) -> Operand:
    """The constant behind the arguments that are folded."""
    fold = FOLDS[name]
    constants = [a for a in arguments[fold.lists :] if isinstance(a, plan.Constant) and a.value is not None]
    if name in QUANTILES:
        return Literal([_number(constants[0]) if constants else 0.5], F64)
    if name == "join":
        return Literal([str(constants[0].value) if constants else ","], STR)
    return _ZERO


def _number(constant: plan.Constant) -> float:
    assert isinstance(constant.value, int | float)
    return float(constant.value / 10 ** scale_of(constant.type))


def folded_argument(t: Translator, argument: plan.Expression, frame: Frame, name: str) -> Result:
    """What is folded: quantiles keep decimals, are doubles of integers and moments of dates."""
    if FOLDS[name].gives == "f64" or FOLDS[name].lists == 2:
        return t.cast(t.expression(argument, frame), F64)
    if name not in INTERPOLATED:
        return t.expression(argument, frame)
    made = t.uncast(argument, frame, drop_nothing if t.casts_are_asked_for else drop_to_double)
    if made.type.is_integer:
        return t.cast(made, F64)
    return t.cast(made, TIMESTAMP) if made.type == DATE else made


def _gathered(t: Translator, cells: _Cells) -> Result:
    """The list of all values, NULLs among them."""
    value = t.expression(cells.measure.arguments[0], cells.rows)
    valid = None if value.valid is None else t.spread(value.valid, cells.frame)
    mask = cells.mask([])
    counts = cells.reduced("len", cells.of(cells.anchor(), mask)).value
    if cells.groups is None:
        rows: Operand = t.emit("where", [t.emit("fill", [Literal([1], BOOL), cells.frame.anchor()])])
    else:
        rows = t.emit("flat", [t.emit("values", [cells.groups])])
    if mask is not None:
        rows = t.index(rows, t.emit("where", [t.index(t.spread(mask, cells.frame), rows)]))
    return lists.gathered(t, Result(t.spread(value.value, cells.frame), value.type, valid), rows, counts)


def _chosen(t: Translator, cells: _Cells) -> Result:
    """The value of the first, last or n-th row, or of the first that has one."""
    measure = cells.measure
    value = t.expression(measure.arguments[0], cells.rows)
    skips_nulls = measure.function in ("any_value", "nth_value") or measure.ignores_nulls
    mask = cells.mask([value] if skips_nulls and measure.function != "nth_value" else [])
    numbers = t.emit("where", [t.emit("fill", [Literal([1], BOOL), cells.frame.anchor()])])
    rows = cells.of(numbers, mask)
    option = measure.arguments[1] if len(measure.arguments) > 1 else None
    count = option.value if isinstance(option, plan.Constant) and option.value is not None else 1
    name = {"last_value": "last", "nth_value": "nth", "only_value": "only"}.get(measure.function, "first")
    place = cells.folded(name, [rows], Literal([count], I64)).value
    is_there = t.emit("geq", [place, _ZERO])
    found = t.spread(value.value, cells.frame)
    valid = is_there if value.valid is None else t.outer_index(t.spread(value.valid, cells.frame), place)
    return Result(t.outer_index(found, place), value.type, valid)
