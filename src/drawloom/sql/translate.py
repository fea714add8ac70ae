"""The relational tree to a HorseIR program: rows become masks and indexes, NULLs become validity vectors.

Types are derived anew from the columns up, by DuckDB's rules (``horse/signatures.py``): the casts that DataFusion
puts in only to bring two sides together are dropped where the value does not change. An expression becomes the pair
(values, validity); a condition becomes the pair (is true, is false), from which SQL's third value follows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from drawloom.errors import UnsupportedError
from drawloom.horse.builtins import BUILTIN_MODULE
from drawloom.horse.infer import infer
from drawloom.horse.ir import (
    Call,
    CheckCast,
    Function,
    FunctionRef,
    Import,
    Literal,
    Module,
    Operand,
    Return,
    Value,
)
from drawloom.horse.printer import print_operand
from drawloom.horse.types import (
    BOOL,
    F32,
    I64,
    SYM,
    TABLE,
    VectorType,
)
from drawloom.sql import (
    aggregates,
    casts,
    joins,
    listcasts,
    listfunctions,
    lists,
    plan,
    recursion,
    spans,
    structs,
    windows,
)
from drawloom.sql.coercion import (
    are_comparable,
    drop_in_arithmetic,
    drop_in_choice,
    drop_in_comparison,
    natural,
    unified,
)
from drawloom.sql.conditions import in_order, put_together
from drawloom.sql.frames import ONE_ROW, Column, Frame, Mask, Result, Truth
from drawloom.sql.functions import SCALARS
from drawloom.sql.guards import Guarded
from drawloom.sql.made import Elements, Recursive, Series

Drops = Callable[[VectorType, plan.Cast], bool]

_COMPARE: Final[dict[str, str]] = {
    "equal": "eq", "not_equal": "neq", "lt": "lt", "lte": "leq", "gt": "gt", "gte": "geq",
}  # fmt: skip
_ARITHMETIC: Final[dict[str, str]] = {
    "add": "plus", "subtract": "minus", "multiply": "mul", "divide": "div", "negate": "neg", "abs": "abs",
}  # fmt: skip
_REFUSAL: Final = "this query needs what is not built yet:"
_FLOAT_QUOTIENT: Final = "a quotient of a 32-bit float: cast it to double"
_FALSE: Final = Literal([0], BOOL)
_TRUE: Final = Literal([1], BOOL)


class Schema:
    """What the translation asks about stored columns."""

    def column_type(self, table: str, column: str) -> VectorType:
        """Raises DataError for a column that is not there or has no HorseIR type."""
        raise NotImplementedError

    def has_nulls(self, table: str, column: str) -> bool:
        raise NotImplementedError

    def range(self, table: str, column: str) -> tuple[int, int] | None:
        """The least and greatest value of a column of exact numbers, unscaled, where they are known."""
        return None

    def any_column(self, table: str) -> str:
        """A column to count rows by, the cheapest."""
        raise NotImplementedError

    def nested(self, table: str, column: str) -> str:
        """ "list" or "struct" for a column, or a part of one (``horse/nested.py``), that is one; else ""."""
        return ""

    def fields(self, table: str, column: str) -> list[str]:
        """The names of a struct's fields."""
        raise NotImplementedError

    def elements(self, table: str, column: str) -> str:
        """The table that has a list's elements."""
        raise NotImplementedError


def translate(query: plan.Plan, schema: Schema, casts_are_asked_for: bool = True, in_rounds: bool = False) -> Module:
    """The checked HorseIR module for a plan whose relations and functions are all supported.

    ``main`` takes nothing and returns the result's table. ``casts_are_asked_for`` tells that casts to double may stand
    in the SQL text; else they are the planner's. ``in_rounds`` has joins by keys look at a part of their pairs at a
    time. Raises DataError for a column without a type, UnsupportedError for the quotient of an f32, which the planner
    widens, where nobody asked for that.
    """
    return infer(Translator(schema, casts_are_asked_for, in_rounds).module(query))


class Translator(Guarded):
    def __init__(self, schema: Schema, casts_are_asked_for: bool, in_rounds: bool = False) -> None:
        super().__init__(schema)
        self.casts_are_asked_for = casts_are_asked_for
        self.in_rounds = in_rounds
        #: What the steps of recursive queries read, by name; the rows of each such query.
        self.tables: dict[str, dict[str, Column]] = {}
        self.working: dict[str, Frame] = {}

    def module(self, query: plan.Plan) -> Module:
        frame = self.relation(query.root)
        outputs: list[Operand] = []
        for column in frame.columns:
            outputs.append(self.output(column(), frame))
        names: list[Value] = list(query.names)
        columns = self.emit("list", outputs)
        table = self.emit("table", [Literal(names, SYM), columns])
        self.body.append(Return([table]))
        main = Function("main", [], [TABLE], self.body)
        return Module("default", [Import(BUILTIN_MODULE, None)], [main])

    def output(self, result: Result, frame: Frame) -> Operand:
        """The column as the result shows it: as long as the relation, NULL where it is not valid."""
        return self.shown(Result(self.spread(result.value, frame), result.type, result.valid))

    def shown(self, result: Result) -> Operand:
        """A column of a result."""
        value = result.value if result.valid is None else self.emit("with_null", [result.value, result.valid])
        if isinstance(result.type, lists.ListOf):
            return lists.shown(self, value, result.type)
        if isinstance(result.type, structs.StructOf):
            return structs.shown(self, value, result, result.type)
        return value

    # Relations

    def relation(self, relation: plan.Relation) -> Frame:
        if isinstance(relation, plan.Read):
            return self.read(relation)
        if isinstance(relation, plan.Empty):
            return self.empty(relation)
        if isinstance(relation, plan.Values):
            return self.values(relation)
        if isinstance(relation, plan.Filter):
            return self.filter(relation)
        if isinstance(relation, plan.Project):
            return self.project(relation)
        if isinstance(relation, plan.Join):
            return joins.join(self, relation)
        if isinstance(relation, plan.Union):
            return joins.union(self, relation)
        if isinstance(relation, plan.Aggregate):
            return aggregates.aggregate(self, relation)
        if isinstance(relation, plan.Sort):
            return self.sort(relation)
        if isinstance(relation, Recursive):
            return recursion.recursive(self, relation)
        if isinstance(relation, Series):
            return self.series(relation)
        if isinstance(relation, Elements):
            return lists.elements(self, relation)
        assert isinstance(relation, plan.Limit)
        below = self.relation(relation.input)
        bounds: list[Operand] = [Literal([relation.skip], I64), Literal([relation.keep], I64)]
        return self.mapped(below, lambda value: self.top(value, bounds))

    def project(self, relation: plan.Project) -> Frame:
        below = self.relation(relation.input)
        has_windows = any(isinstance(part, plan.Window) for e in relation.columns for part in plan.within(e))
        if has_windows:
            below = self.settled(below)
        rows = "" if has_windows else below.rows
        made = Frame([self.lazy(e, below) for e in relation.columns], below.anchor, rows)
        made.guarded = lambda index, guard: self.expression(relation.columns[index], below.where(*guard))
        return made

    def lazy(self, expression: plan.Expression, below: Frame) -> Column:
        return lambda: self.expression(expression, below)

    def read(self, relation: plan.Read) -> Frame:
        if relation.table in self.tables:
            rows = self.tables[relation.table]
            first = next(iter(rows.values()))
            return Frame([rows[name] for name in relation.columns], lambda: first().value)
        table = self.emit("load_table", [Literal([relation.table], SYM)])

        def column(name: str) -> Column:
            return lambda: self.stored(table, relation.table, name)

        def anchor() -> Operand:
            plain = next((c for c in relation.columns if not self.schema.nested(relation.table, c)), None)
            return self.stored(table, relation.table, plain or self.schema.any_column(relation.table)).value

        return Frame([column(n) for n in relation.columns], anchor, "all")

    def stored(self, table: Operand, table_name: str, column: str) -> Result:
        """A column, or a part of one."""
        nested = self.schema.nested(table_name, column)
        if nested == "list":
            return lists.stored(self, table, table_name, column)
        if nested == "struct":
            return structs.stored(self, table, table_name, column)
        type = self.schema.column_type(table_name, column)
        name: Operand = Literal([column], SYM)
        key = f"{print_operand(table)}.{print_operand(name)}"
        found = self.known.get(key)
        if found is None:
            call = Call(FunctionRef("column_value"), [table, name])
            found = self.assign(CheckCast(call, type), type)
            self.known[key] = found
            self.calls[found.name] = call
        if not self.schema.has_nulls(table_name, column):
            return Result(found, type)
        return Result(found, type, self.emit("column_valid", [table, name]), canonical=True)

    def empty(self, relation: plan.Empty) -> Frame:
        def column(type: VectorType) -> Column:
            return lambda: Result(self.emit("fill", [self.zero(type), anchor()]), type)

        def anchor() -> Operand:
            return Literal([0] * relation.rows, BOOL)

        return Frame([column(t) for t in relation.types], anchor)

    def values(self, relation: plan.Values) -> Frame:
        """Vectors of constants; @concat of one makes it a column."""

        def column(constants: list[plan.Constant]) -> Column:
            def make() -> Result:
                given = [natural(c) for c in constants]
                type = unified([c.type for c in given if c.value is not None] or [given[0].type])
                parts = [self.spread(self.cast(self.constant(c), type).value, one) for c in given]
                valid: Operand | None = None
                if any(c.value is None for c in given):
                    valid = self.emit("concat", [Literal([int(c.value is not None) for c in given], BOOL)])
                return Result(self.emit("concat", parts), type, valid)

            return make

        rows = len(relation.columns[0])
        one = Frame([], lambda: ONE_ROW)
        return Frame([column(c) for c in relation.columns], lambda: self.emit("concat", [Literal([1] * rows, BOOL)]))

    def series(self, relation: Series) -> Frame:
        def column() -> Result:
            stride = Literal([relation.stride], I64)
            steps = self.emit("mul", [self.emit("range", [Literal([relation.count], I64)]), stride])
            return self.result("plus", [Literal([relation.low], relation.type), steps])

        return Frame([column], lambda: column().value)

    def filter(self, relation: plan.Filter) -> Frame:
        below = self.relation(relation.input)
        return self.selected(below, self.holds(relation.condition, below))

    def sort(self, relation: plan.Sort) -> Frame:
        return self.ordered(self.relation(relation.input), relation.keys)

    def ordered(self, below: Frame, sorts: list[plan.SortKey]) -> Frame:
        keys = [self.output(lists.ranked(self, self.expression(k.expression, below)), below) for k in sorts]
        ascending: list[Value] = [int(k.ascending) for k in sorts]
        nulls_first: list[Value] = [int(k.nulls_first) for k in sorts]
        by: list[Operand] = [self.emit("list", keys), Literal(ascending, BOOL), Literal(nulls_first, BOOL)]
        order = self.emit("order", by)
        self.orders[order.name] = by
        return self.picked(below, order)

    # Groups

    def key(self, result: Result) -> Result:
        """The result with one value for all NULLs, so that value and validity together are what groups tell apart."""
        if result.valid is None or result.canonical:
            return result
        value = self.emit("if_else", [result.valid, result.value, self.zero(result.type)])
        return Result(value, result.type, result.valid, canonical=True)

    def grouped_by(self, keys: list[Result], below: Frame) -> list[Operand]:
        """The vectors to group by: of each key the values, and the validity where there are NULLs."""
        made: list[Operand] = []
        for given in keys:
            key = lists.ranked(self, given)
            made.append(self.spread(key.value, below))
            if key.valid is not None:
                made.append(self.spread(key.valid, below))
        return made

    def spread(self, value: Operand, below: Frame) -> Operand:
        return self.emit("fill", [value, below.anchor()]) if self.is_constant(value) else value

    def cells(self, value: Operand, mask: Operand | None, below: Frame, groups: Operand | None) -> Operand:
        """What a reduction runs over: the rows of ``value`` in ``mask``, cut into groups where there are some."""
        if groups is None:
            return value if mask is None else self.emit("compress", [self.spread(mask, below), value])
        rows = self.emit("values", [groups])
        cells = self.emit("each_right", [FunctionRef("index"), value, rows])
        if mask is None:
            return cells
        masks = self.emit("each_right", [FunctionRef("index"), self.spread(mask, below), rows])
        return self.emit("each_item", [FunctionRef("compress"), masks, cells])

    def reduce(self, name: str, cells: Operand, groups: Operand | None) -> Result:
        if groups is None:
            return self.result(name, [cells])
        return self.result("raze", [self.emit("each", [FunctionRef(name), cells])])

    # Expressions

    def expression(self, expression: plan.Expression, frame: Frame) -> Result:
        """The values of an expression. What is computed row by row is an error in rows that count alone."""
        outer, self.masks = self.masks, frame.guard if _is_by_row(expression) else ()
        made = self.computed(expression, frame)
        self.masks = outer
        return made

    def computed(self, expression: plan.Expression, frame: Frame) -> Result:
        if isinstance(expression, plan.Field):
            return frame.column(expression.index)
        if isinstance(expression, plan.Constant):
            return self.constant(expression)
        if isinstance(expression, plan.Cast):
            below = self.expression(expression.input, frame)
            return self.cast_in(frame, below, expression.type, expression.is_try)
        if isinstance(expression, plan.Asked):
            return self.expression(expression.input, frame)
        if isinstance(expression, plan.Case):
            return self.case(expression, frame)
        if isinstance(expression, plan.Apply) and expression.function in _ARITHMETIC:
            return self.arithmetic(expression, frame)
        if isinstance(expression, plan.Window):
            return windows.window(self, expression, frame)
        if isinstance(expression, plan.Scalar):
            return joins.scalar(self, self.relation(expression.relation), frame)
        if isinstance(expression, plan.Apply) and expression.function == "get_field":
            return structs.field(self, expression, frame)
        if isinstance(expression, plan.Apply) and expression.function in lists.FUNCTIONS:
            if expression.function in lists.OWN:
                return lists.function(self, expression, frame)
            return listfunctions.function(self, expression, frame)
        if isinstance(expression, plan.Apply) and expression.function in SCALARS:
            return SCALARS[expression.function](self, expression, frame)
        truth = self.truth(expression, frame)
        if truth.false is None:
            return Result(truth.true, BOOL)
        return Result(truth.true, BOOL, self.either(truth.true, truth.false))

    def of_words(self, name: str, text: Result, arguments: list[Operand]) -> Result:
        """A text made from each word of a column's dictionary, before rows are picked from it: so it is made once."""
        before = self.pick_of(text.value)
        if before is None or before[0] != "index":
            return self.result(name, [text.value, *arguments], text.valid)
        _, inner, rows = before
        made = self.of_words(name, Result(inner, text.type), arguments)
        return Result(self.index(made.value, rows), made.type, text.valid)

    def uncast(self, expression: plan.Expression, frame: Frame, drops: Drops) -> Result:
        """The expression without the casts at its top that mean nothing there."""
        if not isinstance(expression, plan.Cast) or expression.is_try:
            return self.expression(expression, frame)
        below = self.uncast(expression.input, frame, drops)
        return below if drops(below.type, expression) else self.cast_in(frame, below, expression.type)

    def arithmetic(self, expression: plan.Apply, frame: Frame) -> Result:
        sides = [self.uncast(a, frame, drop_in_arithmetic) for a in expression.arguments]
        name = _ARITHMETIC[expression.function]
        if any(s.type.kind in ("interval", "timestamp") for s in sides):
            return spans.arithmetic(self, name, sides)
        if name == "div" and not self.casts_are_asked_for:
            for side in expression.arguments:
                if isinstance(side, plan.Cast) and self.expression(side.input, frame).type == F32:
                    raise UnsupportedError(_REFUSAL, [_FLOAT_QUOTIENT])
        return self.result(name, [s.value for s in sides], self.both([s.valid for s in sides]))

    def cast(self, below: Result, type: VectorType) -> Result:
        return casts.cast(self, below, type)

    def cast_in(self, frame: Frame, below: Result, type: VectorType, is_try: bool = False) -> Result:
        """Values of a frame's rows in another type."""
        outer, self.masks = self.masks, frame.guard
        if listcasts.is_of_lists(below.type, type):
            made = listcasts.cast(self, below, type, is_try, frame)
        else:
            made = casts.tried(self, below, type) if is_try else self.cast(below, type)
        self.masks = outer
        return made

    def case(self, expression: plan.Case, frame: Frame) -> Result:
        """CASE: conditions count where none before them holds, and a value where its condition is the first that
        does."""
        conditions: list[Operand] = []
        frames: list[Frame] = []
        rest = frame
        for condition, _ in expression.branches:
            chosen = self.holds(condition, rest)
            conditions.append(chosen)
            frames.append(rest.where(Mask(chosen)))
            rest = rest.where(Mask(chosen, is_negated=True))
        values = [self.uncast(v, f, drop_in_choice) for (_, v), f in zip(expression.branches, frames)]
        last = None
        if expression.otherwise is not None:
            last = self.uncast(expression.otherwise, rest, drop_in_choice)
        joint = lists.together(self, values if last is None else [*values, last])
        values, last = joint[: len(values)], None if last is None else joint[-1]
        nulls = [v.type for v in joint if v.type != BOOL]  # the NULL of NULLIF is of that type
        type = unified([v.type for v in joint if not self.is_null(v)] or nulls[:1])
        null = Result(self.zero(type), type, _FALSE)
        made = null if last is None or self.is_null(last) else self.cast_in(rest, last, type)
        for chosen, where, value in zip(reversed(conditions), reversed(frames), reversed(values)):
            arm = null if self.is_null(value) else self.cast_in(where, value, type)
            valid: Operand | None = None
            if arm.valid is not None or made.valid is not None:
                valid = self.emit("if_else", [chosen, arm.valid or _TRUE, made.valid or _TRUE])
            made = Result(self.emit("if_else", [chosen, arm.value, made.value]), type, valid)
        return made

    def constant(self, constant: plan.Constant) -> Result:
        made = natural(constant)
        if made.value is None:
            return Result(self.zero(made.type), made.type, _FALSE)
        return Result(Literal([made.value], made.type), made.type)

    def zero(self, type: VectorType) -> Literal:
        """What stands for NULL."""
        if type.kind in ("list", "struct"):
            return Literal([0], I64)
        return Literal(["" if type.kind == "text" else 0.0 if type.is_float else 0], type)

    def is_null(self, result: Result) -> bool:
        """Whether the result is the constant NULL."""
        return isinstance(result.value, Literal) and result.valid is _FALSE

    # Conditions

    def holds(self, expression: plan.Expression, frame: Frame) -> Operand:
        """Where a condition is true, which is all that is asked: ``a AND b`` does not look at b where a is unknown."""
        return self.decided(expression, frame, True)

    def decided(self, expression: plan.Expression, frame: Frame, wanted: bool) -> Operand:
        """Where a condition is true, or where it is false."""
        if isinstance(expression, plan.Apply) and expression.function == "not":
            return self.decided(expression.arguments[0], frame, not wanted)
        if not isinstance(expression, plan.Apply) or expression.function not in ("and", "or"):
            truth = self.truth(expression, frame)
            return truth.true if wanted else self.false(truth)
        joint = "and" if (expression.function == "and") == wanted else "or"
        made: dict[int, Operand] = {}
        for part in in_order(expression):
            made[id(part)] = found = self.decided(part, frame, wanted)
            frame = frame.where(Mask(found, is_negated=joint == "or"))

        def part_of(part: plan.Expression) -> Operand:
            return made[id(part)] if made else self.decided(part, frame, wanted)

        return put_together(expression, expression.function, part_of, lambda a, b: self.emit(joint, [a, b]))

    def chained(self, expression: plan.Apply, frame: Frame) -> Truth:
        """The truth of AND and OR: a part counts where those before it do not decide."""
        made: dict[int, Truth] = {}
        for part in in_order(expression):
            made[id(part)] = found = self.truth(part, frame)
            if expression.function == "or":
                frame = frame.where(Mask(found.true, is_negated=True))
            else:
                frame = frame.where(Mask(found.true) if found.false is None else Mask(found.false, is_negated=True))

        def part_of(part: plan.Expression) -> Truth:
            return made[id(part)] if made else self.truth(part, frame)

        word = expression.function
        return put_together(expression, word, part_of, lambda a, b: self.joined(word, a, b))

    def truth(self, expression: plan.Expression, frame: Frame) -> Truth:
        if isinstance(expression, plan.Apply):
            name = expression.function
            if name in ("and", "or"):
                return self.chained(expression, frame)
            if name == "not":
                inner = self.truth(expression.arguments[0], frame)
                return Truth(self.false(inner), None if inner.false is None else inner.true)
            if name in ("is_null", "is_not_null"):
                return self.null_test(name, self.uncast(expression.arguments[0], frame, drop_in_choice))
            if name in _COMPARE or name == "like":
                return self.compared(expression, frame)
            if name == "between":
                value, low, high = expression.arguments
                parts = [plan.Apply("gte", [value, low]), plan.Apply("lte", [value, high])]
                return self.truth(plan.Apply("and", list(parts)), frame)
            if name in _TRUTH_TESTS:
                return Truth(_TRUTH_TESTS[name](self, self.truth(expression.arguments[0], frame)))
            if name in ("is_not_distinct_from", "is_distinct_from"):
                return self.told_apart(expression, frame)
        if isinstance(expression, plan.InList):
            return self.in_list(expression, frame)
        if isinstance(expression, plan.Exists):
            return joins.exists(self, self.relation(expression.relation))
        if isinstance(expression, plan.InRelation):
            given = self.uncast(expression.input, frame, drop_in_comparison)
            return joins.in_relation(self, given, frame, self.relation(expression.relation))
        result = self.expression(expression, frame)
        return self.valid_truth(result.value, result.valid)

    def valid_truth(self, value: Operand, valid: Operand | None) -> Truth:
        """The truth of a boolean vector that says nothing where it is not valid."""
        if valid is None:
            return Truth(value)
        return Truth(self.emit("and", [value, valid]), self.emit("and", [self.negated(value), valid]))

    def joined(self, name: str, left: Truth, right: Truth) -> Truth:
        true = self.emit(name, [left.true, right.true])
        if left.false is None and right.false is None:
            return Truth(true)
        other = "or" if name == "and" else "and"
        return Truth(true, self.emit(other, [self.false(left), self.false(right)]))

    def null_test(self, name: str, result: Result) -> Truth:
        if result.valid is None:
            return Truth(_FALSE if name == "is_null" else _TRUE)
        return Truth(self.negated(result.valid) if name == "is_null" else result.valid)

    def compared(self, expression: plan.Apply, frame: Frame) -> Truth:
        left, right = self.aligned([self.uncast(a, frame, drop_in_comparison) for a in expression.arguments], frame)
        name = _COMPARE.get(expression.function, "like" if isinstance(right.value, Literal) else "like_text")
        return self.valid_truth(self.emit(name, [left.value, right.value]), self.both([left.valid, right.valid]))

    def aligned(self, sides: list[Result], frame: Frame | None = None) -> list[Result]:
        """Both sides of a comparison, moments and dates in one unit, lists by their order. Raises UnsupportedError for
        sides that nothing cast to one kind: those of IN and ANY over subqueries that are planned apart."""
        if any(isinstance(s.type, lists.ListOf) for s in sides):
            return [lists.ranked(self, s) for s in lists.together(self, sides)]
        kinds = [s.type.kind for s in sides]
        if not are_comparable(kinds):
            types = [s.type for s in sides if not self.is_null(s)]
            if len(types) == 2:
                raise UnsupportedError(_REFUSAL, [f"a comparison of {types[0]} and {types[1]} without a cast"])
            return [Result(self.zero(t), t, s.valid) if s.type != t else s for s in sides for t in types[:1] or [BOOL]]
        if sides[0].type == sides[1].type or "timestamp" not in kinds:
            return sides
        type = unified([s.type for s in sides])
        return [self.cast(s, type) if frame is None else self.cast_in(frame, s, type) for s in sides]

    def in_list(self, expression: plan.InList, frame: Frame) -> Truth:
        """Constants of one type together, others beside them; one NULL is as good as many."""
        options = expression.options
        constants = [o for o in options if isinstance(o, plan.Constant) and o.value is not None]
        alike: dict[str, list[plan.Expression]] = {}
        for option in constants:
            alike.setdefault(option.type.text, []).append(option)
        if len(constants) == len(options) and len(alike) == 1 and len(options) > 1:
            below = self.uncast(expression.input, frame, drop_in_comparison)
            values: list[Value] = [o.value for o in constants if o.value is not None]
            choice = Literal(values, constants[0].type)
            return self.valid_truth(self.emit("member", [below.value, choice]), below.valid)
        value = expression.input
        tests: list[plan.Expression] = [plan.InList(value, group) for group in alike.values() if len(group) > 1]
        others = [group[0] for group in alike.values() if len(group) == 1]
        others.extend([o for o in options if not isinstance(o, plan.Constant) or o.value is None])
        tests.extend([plan.Apply("equal", [value, o]) for o in {o.key(): o for o in others}.values()])
        made = tests[0]
        for test in tests[1:]:
            made = plan.Apply("or", [made, test])
        return self.truth(made, frame)

    def told_apart(self, expression: plan.Apply, frame: Frame) -> Truth:
        """IS [NOT] DISTINCT FROM: a comparison for which NULL is a value, equal to itself."""
        sides = self.aligned([self.uncast(a, frame, drop_in_comparison) for a in expression.arguments], frame)
        left, right = [self.key(side) for side in sides]
        is_valid = [side.valid or _TRUE for side in (left, right)]
        both_null = [self.negated(v) for v in is_valid]
        equal = self.emit("and", [self.emit("eq", [left.value, right.value]), self.both([*is_valid]) or _TRUE])
        same = self.either(equal, self.emit("and", both_null))
        return Truth(same if expression.function == "is_not_distinct_from" else self.negated(same))

    def false(self, truth: Truth) -> Operand:
        return self.negated(truth.true) if truth.false is None else truth.false

    def negated(self, operand: Operand) -> Operand:
        if isinstance(operand, Literal):
            return _FALSE if operand.values[0] else _TRUE
        return self.emit("not", [operand])

    def either(self, left: Operand, right: Operand) -> Operand:
        return self.emit("or", [left, right])

    def both(self, valids: list[Operand | None]) -> Operand | None:
        """Where all are valid; None for everywhere."""
        made: Operand | None = None
        for valid in valids:
            if valid is not None:
                made = valid if made is None else self.emit("and", [made, valid])
        return made


def _is_by_row(expression: plan.Expression) -> bool:
    """Whether what an expression emits has a value for each row, in the order of the rows."""
    if isinstance(expression, plan.Apply):
        return expression.function != "get_field" and expression.function not in lists.FUNCTIONS
    return isinstance(expression, plan.Cast)


_TRUTH_TESTS: Final[dict[str, Callable[[Translator, Truth], Operand]]] = {
    "is_true": lambda t, truth: truth.true,
    "is_false": lambda t, truth: t.false(truth),
    "is_not_true": lambda t, truth: t.negated(truth.true),
    "is_not_false": lambda t, truth: t.negated(t.false(truth)),
}
