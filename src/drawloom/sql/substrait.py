"""A Substrait plan, as DataFusion serialises it, to the relational tree of ``plan.py``.

Everything that the tree has no word for is collected, so that a query is refused once with the whole list.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from google.protobuf.message import DecodeError
from substrait.proto import Plan as SubstraitPlan

from drawloom.horse.types import BOOL, I32, I64
from drawloom.sql.aggregates import AGGREGATE_FUNCTIONS
from drawloom.sql.expressions import Expressions
from drawloom.sql.literals import ANYTHING
from drawloom.sql.names import known_aggregate
from drawloom.sql.plan import (
    Aggregate,
    Apply,
    Constant,
    Dependent,
    Empty,
    Expression,
    Field,
    Filter,
    Join,
    JoinKey,
    Limit,
    Measure,
    Plan,
    Project,
    Read,
    Relation,
    Sort,
    Union,
    Values,
    between,
    conjuncts,
)

#: Relations by their Substrait field, as SQL names them.
_RELATION_NAMES: Final[dict[str, str]] = {
    "window": "a window", "extension_leaf": "an extension", "extension_single": "an extension",
}  # fmt: skip
#: Substrait's join types.
_JOINS: Final[dict[int, str]] = {
    1: "inner", 2: "full", 3: "left", 4: "right", 5: "semi", 6: "anti", 8: "right semi", 9: "right anti", 11: "mark",
}  # fmt: skip
_UNION_ALL: Final = 6
#: What becomes an aggregate, in a plan's text.
_AGGREGATE: Final = re.compile(r"^ *(?:Aggregate: groupBy=\[\[(GROUPING SETS|ROLLUP|CUBE)?|Distinct)", re.MULTILINE)
_DISTINCT: Final = 2  # AGGREGATION_INVOCATION_DISTINCT


def decode(
    data: bytes,
    unsupported: list[str],
    unknown: Mapping[str, Mapping[str, str]],
    subqueries: dict[str, Dependent] | None = None,
    shown: str = "",
) -> Plan:
    """The tree for a serialised plan, in which calls of the functions that ``subqueries`` names stand for these, their
    arguments aside. What has no place in the tree is named in ``unsupported``, each once; the plan is only whole while
    that stays empty. ``unknown`` are the types, by table and column, that have none. ``shown`` is the plan's
    text, which tells GROUPING SETS of one set from GROUP BY."""
    return _Decoder(_parsed(data), unsupported, unknown, subqueries or {}, shown).plan()


def _parsed(data: bytes) -> Any:
    """The plan's message. Protobuf refuses what is nested deeper than 100, as 30 conditions under OR are, unless told
    otherwise; how is not in its Python interface, but there in every version of its C implementation."""
    try:
        return SubstraitPlan.FromString(data)
    except DecodeError:
        from google._upb import _message

        _message.SetAllowOversizeProtos(True)
        try:
            return SubstraitPlan.FromString(data)
        finally:
            _message.SetAllowOversizeProtos(False)


class _Decoder(Expressions):
    def __init__(
        self,
        message: Any,
        unsupported: list[str],
        unknown: Mapping[str, Mapping[str, str]],
        subqueries: dict[str, Dependent],
        shown: str,
    ) -> None:
        super().__init__(unsupported, subqueries)
        #: Of each aggregate, in the order of the plan, whether it has GROUPING SETS; how many were read.
        self.has_sets = [found[1] is not None for found in _AGGREGATE.finditer(shown)]
        self.has_subqueries = "Subquery:" in shown
        self.aggregates = 0
        self.message = message
        self.unknown = unknown
        for extension in message.extensions:
            if extension.HasField("extension_function"):
                function = extension.extension_function
                self.functions[function.function_anchor] = function.name.partition(":")[0]
            elif extension.HasField("extension_type"):
                self.user_types[extension.extension_type.type_anchor] = extension.extension_type.name

    def plan(self) -> Plan:
        (relation,) = self.message.relations
        made = Plan(self.relation(relation.root.input), list(relation.root.names))
        if any(self.has_sets) and (self.has_subqueries or self.aggregates != len(self.has_sets)):
            self.refuse("GROUPING SETS that the plan's text does not place")
        return made

    # Relations

    def relation(self, rel: Any) -> Relation:
        kind = rel.WhichOneof("rel_type")
        body = getattr(rel, kind)
        if kind == "read":
            return self.read(body)
        if kind == "filter":
            made: Relation = Filter(self.relation(body.input), self.expression(body.condition))
            return _emitted(made, body)
        if kind == "project":
            return self.project(body)
        if kind == "aggregate":
            return self.aggregate(body)
        if kind == "sort":
            return _emitted(Sort(self.relation(body.input), [self.sort_key(s) for s in body.sorts]), body)
        if kind == "fetch":
            return _emitted(self.fetch(body), body)
        if kind == "join":
            return _emitted(self.join(body), body)
        if kind == "cross":
            return _emitted(Join("inner", self.relation(body.left), self.relation(body.right), [], None), body)
        if kind == "set" and body.op == _UNION_ALL:
            sides = [self.relation(r) for r in body.inputs]
            return _emitted(Union(sides, [[Field(i) for i in range(side.width)] for side in sides]), body)
        self.refuse(f"relation: {_RELATION_NAMES.get(kind, kind)}")
        if body.DESCRIPTOR.fields_by_name.get("input") is not None:
            self.relation(body.input)
        return Empty(0, [])

    def join(self, body: Any) -> Relation:
        left, right = self.relation(body.left), self.relation(body.right)
        condition = self.expression(body.expression) if body.HasField("expression") else None
        if body.type not in _JOINS or body.HasField("post_join_filter"):
            self.refuse(f"relation: JOIN of type {body.type}")
            return Empty(0, [])
        return _joined(_JOINS[body.type], left, right, condition)

    def read(self, read: Any) -> Relation:
        kind = read.WhichOneof("read_type")
        if kind == "virtual_table":
            return self.virtual_table(read)
        if kind != "named_table":
            self.refuse(f"relation: reading {kind}")
            return Empty(0, [])
        names = _column_names(read.base_schema)
        if read.HasField("projection"):
            items = [item.field for item in read.projection.select.struct_items]
        else:
            items = list(range(len(names)))
        unknown = self.unknown.get(read.named_table.names[-1].lower(), {})
        for i in items:
            where = f" (column '{names[i]}')"
            if names[i] in unknown:
                self.refuse(f"type: {unknown[names[i]]}{where}")
            else:
                self.column_type(read.base_schema.struct.types[i], where)
        if read.named_table.names[-1].endswith("()"):
            self.refuse(f"table function: {read.named_table.names[-1].removesuffix('()')}")
            return Empty(0, [BOOL] * len(items))
        table = ".".join(read.named_table.names).lower()  # every spelling of a name is one table
        made: Relation = Read(table, [names[i] for i in items])
        if read.HasField("filter"):
            # The filter speaks about the whole table, before the projection.
            whole = Read(table, names)
            made = Project(Filter(whole, self.expression(read.filter)), [Field(i) for i in items])
        return made

    def column_type(self, type: Any, where: str) -> None:
        """Refuses what no column may be; of a struct the fields that are used are asked for when they are read."""
        kind = type.WhichOneof("kind")
        if kind == "list":
            self.column_type(type.list.type, where)
        elif kind != "struct":
            self.type(type, where)

    def virtual_table(self, read: Any) -> Relation:
        rows = len(read.virtual_table.expressions)
        types = read.base_schema.struct.types
        if rows == 0 or not types:
            return self.nothing(rows, types)
        cells = [[self.expression(f) for f in row.fields] for row in read.virtual_table.expressions]
        columns = list(zip(*cells))
        if all(isinstance(c, Constant) for column in columns for c in column):
            return Values([[c for c in column if isinstance(c, Constant)] for column in columns])
        one: Relation = Empty(1, [])
        return Union([one] * rows, cells)

    def nothing(self, rows: int, types: Any) -> Relation:
        """A relation of so many rows, none where it has columns; lists are expressions over it."""
        lists = {i: t.list.type for i, t in enumerate(types) if t.WhichOneof("kind") == "list"}
        plain = [BOOL if i in lists else I64 if _counts(t) else self.type(t) or BOOL for i, t in enumerate(types)]
        made = Empty(rows, plain)
        if not lists:
            return made
        return Project(made, [self.empty_list(lists[i]) if i in lists else Field(i) for i in range(len(types))])

    def project(self, body: Any) -> Relation:
        below = self.relation(body.input)
        everything: list[Expression] = [Field(i) for i in range(below.width)]
        everything.extend([self.expression(e) for e in body.expressions])
        kept = body.common.emit.output_mapping if body.common.HasField("emit") else range(len(everything))
        return Project(below, [everything[i] if i < len(everything) else ANYTHING for i in kept])

    def aggregate(self, body: Any) -> Relation:
        has_sets = self.aggregates < len(self.has_sets) and self.has_sets[self.aggregates]
        self.aggregates += 1
        below = self.relation(body.input)
        keys = [self.expression(e) for e in body.grouping_expressions]
        measures = [self.measure(m, below) for m in body.measures]
        sets = [list(g.expression_references) for g in body.groupings]
        if len(sets) > 1 or has_sets:
            # Each set has its own copies of the keys.
            distinct = list({k.key(): k for k in keys}.values())
            places = {k.key(): i for i, k in enumerate(distinct)}
            sets = [list({places[keys[i].key()]: None for i in chosen}) for chosen in sets or [[]]]
            return _emitted(_grouping_sets(below, distinct, sets, measures), body)
        return _emitted(Aggregate(below, [keys[i] for i in (sets or [[]])[0]], measures), body)

    def measure(self, body: Any, below: Relation) -> Measure:
        function = known_aggregate(self.functions.get(body.measure.function_reference, "?"))
        arguments = [_constant(self.expression(a.value), below) for a in body.measure.arguments]
        condition = self.expression(body.filter) if body.HasField("filter") else None
        sorts = [self.sort_key(s) for s in body.measure.sorts]
        if function not in AGGREGATE_FUNCTIONS:
            self.refuse(f"aggregate function: {function}")
            return Measure("count", [])
        if len(arguments) not in AGGREGATE_FUNCTIONS[function]:
            self.refuse(f"aggregate function: {function} of {len(arguments)} arguments")
            return Measure("count", [])
        self.check_options(function, arguments)
        is_distinct = body.measure.invocation == _DISTINCT
        if function == "count" and not is_distinct and isinstance(arguments[0], Constant):
            if arguments[0].value is not None:
                arguments = []
        return Measure(function, arguments, condition, sorts, is_distinct)

    def fetch(self, body: Any) -> Relation:
        skip = self.constant_count(body, "offset", 0)
        return Limit(self.relation(body.input), skip, self.constant_count(body, "count", -1))

    def constant_count(self, body: Any, what: str, default: int) -> int:
        if body.HasField(what + "_expr"):
            value = self.expression(getattr(body, what + "_expr"))
            if isinstance(value, Constant) and (isinstance(value.value, int) or value.value is None):
                return default if value.value is None else value.value
            self.refuse(f"LIMIT whose {what} is no constant")
        return default


def _joined(kind: str, left: Relation, right: Relation, condition: Expression | None) -> Join:
    """The join with equalities between the sides as its keys."""
    keys: list[JoinKey] = []
    rest: Expression | None = None
    for conjunct in conjuncts(condition):
        key = _join_key(conjunct, left.width)
        if key is not None:
            keys.append(key)
        elif not (isinstance(conjunct, Constant) and conjunct.value == 1):
            rest = conjunct if rest is None else Apply("and", [rest, conjunct])
    return Join(kind, left, right, keys, rest)


def _join_key(conjunct: Expression, split: int) -> JoinKey | None:
    """The key that an equality of an expression over each side's columns is; None for any other condition."""
    if not isinstance(conjunct, Apply) or conjunct.function not in ("equal", "is_not_distinct_from"):
        return None
    sides = between(conjunct, split)
    return None if sides is None else JoinKey(sides.left, sides.right, conjunct.function == "is_not_distinct_from")


def _grouping_sets(below: Relation, keys: list[Expression], sets: list[list[int]], measures: list[Measure]) -> Relation:
    """The rows of each set of keys, with NULL for the others, then a number whose bits say which those are (the last
    key's is 1), then the measures."""
    sides: list[Relation] = []
    columns: list[list[Expression]] = []
    for chosen in sets:
        sides.append(Aggregate(below, [keys[i] for i in chosen], measures))
        shown: list[Expression] = [
            Field(chosen.index(i)) if i in chosen else Constant(None, I32) for i in range(len(keys))
        ]
        bits = sum([1 << (len(keys) - 1 - i) for i in range(len(keys)) if i not in chosen])
        of_measures = [Field(len(chosen) + i) for i in range(len(measures))]
        columns.append([*shown, Constant(bits, I64), *of_measures])
    return Union(sides, columns)


def _counts(type: Any) -> bool:
    """Whether the type is DataFusion's for row_number and ranks, which are i64 here."""
    return bool(type.WhichOneof("kind") == "i64" and type.i64.type_variation_reference)


def _constant(argument: Expression, below: Relation) -> Expression:
    """The constant that the planner took out of several calls; any other argument as it is."""
    if not isinstance(argument, Field) or not isinstance(below, Project):
        return argument
    found = below.columns[argument.index]
    return found if isinstance(found, Constant) else argument


def _emitted(relation: Relation, body: Any) -> Relation:
    """``relation`` with the columns that its ``emit`` keeps."""
    if not body.common.HasField("emit"):
        return relation
    return Project(relation, [Field(i) for i in body.common.emit.output_mapping])


def _column_names(schema: Any) -> list[str]:
    """The names of the columns themselves; the schema lists those of nested fields in between."""
    names: list[str] = []
    at = 0
    for type in schema.struct.types:
        names.append(schema.names[at])
        at += _names_inside(type)
    return names


def _names_inside(type: Any) -> int:
    kind = type.WhichOneof("kind")
    inner = getattr(type, kind)
    if kind == "struct":
        return 1 + sum([_names_inside(t) for t in inner.types])
    if kind == "list":
        return _names_inside(inner.type)
    if kind == "map":
        return _names_inside(inner.key) + _names_inside(inner.value) - 1
    return 1
