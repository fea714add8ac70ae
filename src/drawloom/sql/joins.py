"""Joins, unions and subqueries of the relational tree to HorseIR: pairs of row numbers, and masks.

    inner              rows = @join(keys, keys), kept where the condition holds over the columns at those rows;
                       without keys @loop_join by the condition's comparisons between the sides, else @cross, and
                       where more is to hold a part of the left side's rows at a time; by keys a part of the pairs
                       at a time (``rounds.py``) where all of them were too many
    left, full         the rows without a partner behind them, with row number -1 for the other side
    semi, anti, mark   a mask over the left side's rows: @contains(keys, keys), or the rows that pairs @touched

A NULL key matches nothing: where a side has NULLs its validity is one more key, whose partner is true. IN has three
values: the comparison is unknown for a NULL on either side, unless something else matches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from drawloom.horse.ir import Literal, Operand, Value
from drawloom.horse.types import BOOL, I64, SYM
from drawloom.sql import lists, plan, rounds, structs
from drawloom.sql.coercion import drop_in_choice, drop_in_comparison, unified
from drawloom.sql.frames import ONE_ROW, Column, Frame, Result, Truth
from drawloom.sql.rounds import Kept, Pairs, Touched

if TYPE_CHECKING:
    from drawloom.sql.translate import Translator

_TRUE: Final = Literal([1], BOOL)
#: Comparisons by their Substrait name, and what they are with their sides swapped.
_COMPARISONS: Final[dict[str, tuple[str, str]]] = {
    "equal": ("eq", "eq"), "not_equal": ("neq", "neq"), "lt": ("lt", "gt"), "lte": ("leq", "geq"),
    "gt": ("gt", "lt"), "gte": ("geq", "leq"),
}  # fmt: skip


class KeyPair:
    """The two sides of a key."""

    def __init__(self, left: Result, right: Result, nulls_match: bool) -> None:
        self.left = left
        self.right = right
        self.nulls_match = nulls_match


def join(t: Translator, relation: plan.Join) -> Frame:
    """The joined relation."""
    if relation.counts:
        return t.relation(counted(relation))
    left, right = t.settled(t.relation(relation.left)), t.settled(t.relation(relation.right))
    kind = relation.kind
    if kind.startswith("right "):
        return masked(t, mirrored(relation), right, left)
    if kind in ("semi", "anti"):
        return masked(t, relation, left, right)
    if kind == "mark":
        return marked(t, relation, left, right)
    pairs = matching(t, relation, left, right, keys(t, relation, left, right))
    if kind == "inner":
        return beside(t.picked(left, pairs.left), t.picked(right, pairs.right), pairs)
    made = pairs
    if kind in ("left", "full"):
        made = with_rest(t, made, missing(t, pairs.left, left), False)
    if kind in ("right", "full"):
        made = with_rest(t, made, missing(t, pairs.right, right), True)
    lefts = t.picked(left, made.left) if kind == "left" else outer(t, left, made.left)
    rights = t.picked(right, made.right) if kind == "right" else outer(t, right, made.right)
    return beside(lefts, rights, made)


def mirrored(join: plan.Join) -> plan.Join:
    """The join seen from the other side."""
    split, width = join.left.width, join.right.width
    condition = join.condition
    if condition is not None:
        condition = plan.replaced(
            condition, lambda i: plan.Field(i + width if i < split else i - split), lambda relation: relation
        )
    sides = [plan.JoinKey(k.right, k.left, k.nulls_match) for k in join.keys]
    kind = join.kind.removeprefix("right ")
    return plan.Join(kind, join.right, join.left, sides, condition, join.null_aware)


def keys(t: Translator, relation: plan.Join, left: Frame, right: Frame) -> list[KeyPair]:
    made: list[KeyPair] = []
    for key in relation.keys:
        a, b = t.aligned([t.uncast(key.left, left, drop_in_comparison), t.uncast(key.right, right, drop_in_comparison)])
        made.append(KeyPair(spread(t, a, left), spread(t, b, right), key.nulls_match))
    return made


def spread(t: Translator, result: Result, frame: Frame) -> Result:
    """The result as long as the frame, also where it is one value for all rows."""
    valid = None if result.valid is None else t.spread(result.valid, frame)
    return Result(t.spread(result.value, frame), result.type, valid, result.canonical)


def key_lists(t: Translator, pairs: list[KeyPair], left: Frame, right: Frame) -> list[Operand]:
    """The vectors to match rows by, a list a side."""
    # Lists of their own: one that a group has too could not go into that group's kernel.
    return [t.emit("list", columns, "join") for columns in key_columns(t, pairs, left, right)]


def key_columns(t: Translator, pairs: list[KeyPair], left: Frame, right: Frame) -> tuple[list[Operand], list[Operand]]:
    """The vectors to match rows by, of each side."""
    lefts: list[Operand] = []
    rights: list[Operand] = []
    for pair in pairs:
        a, b = pair.left, pair.right
        if pair.nulls_match:
            a, b = t.key(unlike(a)), t.key(unlike(b))
        lefts.append(a.value)
        rights.append(b.value)
        if pair.nulls_match and (a.valid is not None or b.valid is not None):
            lefts.append(t.spread(a.valid or _TRUE, left))
            rights.append(t.spread(b.valid or _TRUE, right))
        elif not pair.nulls_match:
            if a.valid is not None:
                lefts.append(a.valid)
                rights.append(t.spread(_TRUE, right))
            if b.valid is not None:
                lefts.append(t.spread(_TRUE, left))
                rights.append(b.valid)
    return lefts, rights


def unlike(result: Result) -> Result:
    """The result as the side of a key: what stands for NULL in one column of text is another word in the next."""
    is_canonical = result.canonical and result.type.kind != "text"
    return Result(result.value, result.type, result.valid, is_canonical)


def counted(relation: plan.Join) -> plan.Relation:
    """INTERSECT ALL and EXCEPT ALL: equal rows are told apart by numbers, and then matched as others are."""
    width = relation.width

    def numbered(side: plan.Relation) -> plan.Relation:
        fields: list[plan.Expression] = [plan.Field(i) for i in range(side.width)]
        number = plan.Window("row_number", [], fields, [], plan.WindowFrame("rows", None, 0))
        return plan.Project(side, [*fields, number])

    keys = [*relation.keys, plan.JoinKey(plan.Field(width), plan.Field(width), False)]
    made = plan.Join(relation.kind, numbered(relation.left), numbered(relation.right), keys, None)
    return plan.Project(made, [plan.Field(i) for i in range(width)])


def matching(t: Translator, relation: plan.Join, left: Frame, right: Frame, pairs: list[KeyPair]) -> Pairs:
    """The rows whose keys and condition match."""
    if pairs and t.in_rounds and relation.condition is not None:
        made = Kept(t)
        into_rounds(t, relation, left, right, pairs, made)
        return made.pairs()
    if pairs:
        return filtered(t, t.emit("join", key_lists(t, pairs, left, right)), relation.condition, left, right)
    tests, condition = comparisons(relation)
    if condition is not None:
        return in_parts(t, relation, left, right)
    return filtered(t, every_pair(t, tests, left, right), None, left, right)


def filtered(t: Translator, rows: Operand, condition: plan.Expression | None, left: Frame, right: Frame) -> Pairs:
    """The pairs of a list of both sides' rows for which the condition holds."""
    found = Pairs(*[t.emit("item", [rows, Literal([side], I64)]) for side in (0, 1)])
    return found if condition is None else holding(t, found, condition, left, right)


def holding(t: Translator, found: Pairs, condition: plan.Expression, left: Frame, right: Frame) -> Pairs:
    """Those of some pairs for which the condition holds."""
    both = beside(t.picked(left, found.left), t.picked(right, found.right), found)
    return kept(t, found, both, t.holds(condition, both))


def every_pair(t: Translator, tests: list[Comparison], left: Frame, right: Frame) -> Operand:
    """Both sides' rows of every pair for which all comparisons are true."""
    return looped(t, tests, left, right) if tests else t.emit("cross", [left.anchor(), right.anchor()])


def in_parts(t: Translator, relation: plan.Join, left: Frame, right: Frame) -> Pairs:
    """The pairs for which a condition without keys holds, without a place in memory for all pairs that there are."""
    tests, condition = comparisons(relation)
    rounds.compute_columns(relation.condition, left, right)
    made = Kept(t)

    def found_of(some: Frame) -> Pairs:
        return filtered(t, every_pair(t, tests, some, right), condition, some, right)

    rounds.by_rows(t, left, right, found_of, made)
    return made.pairs()


def into_rounds(
    t: Translator, relation: plan.Join, left: Frame, right: Frame, pairs: list[KeyPair], made: Kept | Touched
) -> None:
    """Puts the pairs whose keys and condition match into ``made``, a part of the pairs with equal keys at a time."""
    condition = relation.condition
    assert condition is not None
    rounds.compute_columns(condition, left, right)
    lefts, rights = key_columns(t, pairs, left, right)
    rounds.by_keys(t, lefts, rights, lambda some: holding(t, some, condition, left, right), made)


class Comparison:
    """``@function`` between an expression over the left side's columns and one over the right side's."""

    def __init__(self, function: str, left: plan.Expression, right: plan.Expression) -> None:
        self.function = function
        self.left = left
        self.right = right


def comparisons(relation: plan.Join) -> tuple[list[Comparison], plan.Expression | None]:
    """The condition as comparisons between the sides, and what is left of it."""
    tests: list[Comparison] = []
    rest: plan.Expression | None = None
    for conjunct in plan.conjuncts(relation.condition):
        test = _comparison(conjunct, relation.left.width)
        if test is not None:
            tests.append(test)
        else:
            rest = conjunct if rest is None else plan.Apply("and", [rest, conjunct])
    return tests, rest


def _comparison(conjunct: plan.Expression, split: int) -> Comparison | None:
    if not isinstance(conjunct, plan.Apply) or conjunct.function not in _COMPARISONS:
        return None
    sides = plan.between(conjunct, split)
    return (
        None if sides is None else Comparison(_COMPARISONS[conjunct.function][sides.swapped], sides.left, sides.right)
    )


def looped(t: Translator, tests: list[Comparison], left: Frame, right: Frame) -> Operand:
    """The pairs for which all comparisons are true, which no NULL makes them."""
    functions: list[Value] = []
    lefts: list[Operand] = []
    rights: list[Operand] = []

    def compare(function: str, a: Operand, b: Operand) -> None:
        functions.append(function)
        lefts.append(t.spread(a, left))
        rights.append(t.spread(b, right))

    for test in tests:
        given = [t.uncast(test.left, left, drop_in_comparison), t.uncast(test.right, right, drop_in_comparison)]
        a, b = t.aligned(given)
        compare(test.function, a.value, b.value)
        if a.valid is not None:
            compare("eq", a.valid, _TRUE)
        if b.valid is not None:
            compare("eq", _TRUE, b.valid)
    lists = [t.emit("list", lefts, "join"), t.emit("list", rights, "join")]
    return t.emit("loop_join", [Literal(functions, SYM), *lists])


def kept(t: Translator, pairs: Pairs, both: Frame, mask: Operand) -> Pairs:
    where = t.emit("where", [t.spread(mask, both)])
    return Pairs(t.index(pairs.left, where), t.index(pairs.right, where))


def beside(left: Frame, right: Frame, pairs: Pairs) -> Frame:
    """The columns of both frames, whose rows go together."""
    return Frame([*left.columns, *right.columns], lambda: pairs.left)


def missing(t: Translator, rows: Operand, frame: Frame) -> Operand:
    """The rows of ``frame`` that are not among ``rows``."""
    return t.emit("where", [t.negated(t.emit("touched", [rows, frame.anchor()]))])


def with_rest(t: Translator, pairs: Pairs, rest: Operand, is_right: bool) -> Pairs:
    """The pairs and then the rows ``rest`` of one side beside -1."""
    none = t.emit("fill", [Literal([-1], I64), rest])
    parts = (none, rest) if is_right else (rest, none)
    return Pairs(t.emit("concat", [pairs.left, parts[0]]), t.emit("concat", [pairs.right, parts[1]]))


def outer(t: Translator, frame: Frame, rows: Operand) -> Frame:
    """The frame at ``rows``, NULL where that is -1."""
    is_there = t.emit("geq", [rows, Literal([0], I64)])

    def column(index: int) -> Column:
        def make() -> Result:
            result = frame.columns[index]()
            value = result.value if t.is_constant(result.value) else t.outer_index(result.value, rows)
            valid: Operand = is_there
            if result.valid is not None and t.is_constant(result.valid):
                valid = t.emit("and", [is_there, result.valid])
            elif result.valid is not None:
                valid = t.outer_index(result.valid, rows)
            return Result(value, result.type, valid)

        return make

    return Frame([column(i) for i in range(len(frame.columns))], lambda: rows)


def masked(t: Translator, relation: plan.Join, left: Frame, right: Frame) -> Frame:
    """A semi or anti join: the left side's rows with, or without, a match."""
    truth = match(t, relation, left, right)
    mask = truth.true if relation.kind == "semi" else t.false(truth)
    if left.rows == "all":
        return t.selected(left, mask)
    return t.picked(left, t.emit("where", [t.spread(mask, left)]))


def marked(t: Translator, relation: plan.Join, left: Frame, right: Frame) -> Frame:
    def mark() -> Result:
        truth = match(t, relation, left, right)
        valid = None if truth.false is None else t.either(truth.true, truth.false)
        return Result(truth.true, BOOL, valid)

    return Frame([*left.columns, mark], left.anchor, left.rows)


def match(t: Translator, relation: plan.Join, left: Frame, right: Frame) -> Truth:
    """Which of the left side's rows have a match on the right side."""
    pairs = keys(t, relation, left, right)
    if relation.null_aware and relation.condition is None and relation.comparison == "equal":
        return among(t, pairs[0], pairs[1:], left, right)
    if relation.null_aware:
        return among_pairs(t, relation, left, right, pairs)
    if relation.condition is None:
        return Truth(t.emit("contains", key_lists(t, pairs or [always(t, left, right)], left, right)))
    if pairs and t.in_rounds:
        made = Touched(t, left)
        into_rounds(t, relation, left, right, pairs, made)
        return Truth(made.mask)
    found = matching(t, relation, left, right, pairs)
    return Truth(t.emit("touched", [found.left, left.anchor()]))


def always(t: Translator, left: Frame, right: Frame) -> KeyPair:
    """A key that every pair of rows has in common."""
    return KeyPair(Result(t.spread(_TRUE, left), BOOL), Result(t.spread(_TRUE, right), BOOL), False)


def among(t: Translator, key: KeyPair, others: list[KeyPair], left: Frame, right: Frame) -> Truth:
    """Where the left side of ``key`` is IN the right side's values, of those rows that have the other keys."""
    hit = t.emit("contains", key_lists(t, [key, *others], left, right))
    unknown: Operand | None = None
    true = t.spread(_TRUE, left)
    if key.right.valid is not None:
        is_null = KeyPair(Result(true, BOOL), Result(t.negated(key.right.valid), BOOL), False)
        unknown = t.emit("contains", key_lists(t, [is_null, *others], left, right))
    if key.left.valid is not None:
        some = t.emit("contains", key_lists(t, others or [always(t, left, right)], left, right))
        mine = t.emit("and", [t.negated(key.left.valid), some])
        unknown = mine if unknown is None else t.either(unknown, mine)
    if unknown is None:
        return Truth(hit)
    return Truth(hit, t.negated(t.either(hit, unknown)))


def among_pairs(t: Translator, relation: plan.Join, left: Frame, right: Frame, pairs: list[KeyPair]) -> Truth:
    """The same where rows must also meet a condition, or compare in another way: every pair of them is looked at."""
    found = matching(t, relation, left, right, pairs[1:])
    both = beside(t.picked(left, found.left), t.picked(right, found.right), found)
    first = relation.keys[0]
    moved = plan.replaced(first.right, lambda i: plan.Field(i + relation.left.width), lambda relation: relation)
    equal = t.truth(plan.Apply(relation.comparison, [first.left, moved]), both)
    masks = [equal.true] if equal.false is None else [equal.true, t.negated(equal.false)]
    hits = [t.emit("touched", [kept(t, found, both, m).left, left.anchor()]) for m in masks]
    return Truth(hits[0]) if len(hits) == 1 else Truth(hits[0], t.negated(hits[1]))


def exists(t: Translator, frame: Frame) -> Truth:
    rows = t.emit("len", [frame.anchor()])
    return Truth(t.one(t.emit("gt", [rows, Literal([0], I64)])))


def in_relation(t: Translator, value: Result, frame: Frame, other: Frame) -> Truth:
    """Where ``value``, over ``frame``, is IN the one column of ``other``."""
    left, right = t.aligned([value, other.columns[0]()])
    key = KeyPair(spread(t, left, frame), spread(t, right, other), False)
    return among(t, key, [], frame, other)


def scalar(t: Translator, frame: Frame, around: Frame) -> Result:
    """The one value of a subquery, NULL where it has no row. A list or struct is that of every row around it."""
    result = frame.columns[0]()
    type = result.type
    valid = result.valid
    if frame.anchor() is not ONE_ROW:
        some = t.emit("gt", [t.emit("len", [frame.anchor()]), Literal([0], I64)])
        valid = t.both([some, None if valid is None else t.emit("single", [t.spread(valid, frame)])])
        result = t.result("single", [t.spread(result.value, frame)])
    made = Result(t.one(result.value), type, None if valid is None else t.one(valid))
    return _in_each_row(t, made, around) if type.kind in ("list", "struct") else made


def _in_each_row(t: Translator, one: Result, around: Frame) -> Result:
    """A list or struct, of whose number there is one for all rows, as a column of these."""
    value = t.spread(one.value, around)
    valid = None if one.valid is None else t.spread(one.valid, around)
    if isinstance(one.type, structs.StructOf):  # whose fields are picked as it is
        rows = value if valid is None else t.emit("if_else", [valid, value, Literal([-1], I64)])
        value = t.outer_index(one.type.rows, rows)
    return Result(value, one.type, valid)


def union(t: Translator, relation: plan.Union) -> Frame:
    """The rows of all inputs, one behind the other, in a type that holds each side's."""
    frames = [t.relation(r) for r in relation.relations]

    def column(index: int) -> Column:
        def make() -> Result:
            given = [columns[index] for columns in relation.columns]
            results = [t.uncast(e, f, drop_in_choice) for e, f in zip(given, frames)]
            results = lists.together(t, results)
            type = unified([r.type for r in results if not t.is_null(r)] or [results[0].type])
            results = [Result(t.zero(type), type, r.valid) if t.is_null(r) else r for r in results]
            parts = [t.spread(t.cast(r, type).value, f) for r, f in zip(results, frames)]
            valid: Operand | None = None
            if any(r.valid is not None for r in results):
                valids = [t.spread(r.valid or _TRUE, f) for r, f in zip(results, frames)]
                valid = t.emit("concat", valids)
            return Result(t.emit("concat", parts), type, valid)

        return make

    return Frame([column(i) for i in range(relation.width)], lambda: t.emit("concat", [
        t.emit("fill", [_TRUE, f.anchor()]) for f in frames
    ]))  # fmt: skip
