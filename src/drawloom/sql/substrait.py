"""A Substrait plan, as DataFusion serialises it, to the relational tree of ``plan.py``.

Everything that the tree has no word for is collected, so that a query is refused once with the whole list.
"""

from __future__ import annotations

import struct
from fractions import Fraction
from typing import Any, Final

from substrait.proto import Plan as SubstraitPlan

from drawloom.horse.calendar import UNITS
from drawloom.horse.types import (
    BOOL,
    DATE,
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    MAX_DIGITS,
    STR,
    TIMESTAMP,
    DecimalType,
    VectorType,
)
from drawloom.sql.functions import DATE_PARTS, OF_TEXT, TIME_PARTS
from drawloom.sql.plan import (
    DAY,
    Aggregate,
    Apply,
    Case,
    Cast,
    Constant,
    Empty,
    Exists,
    Expression,
    Field,
    Filter,
    InList,
    InRelation,
    Join,
    JoinKey,
    Limit,
    Measure,
    Plan,
    Project,
    Read,
    Relation,
    Scalar,
    Sort,
    SortKey,
    Union,
    Window,
    WindowFrame,
    replaced,
    within,
)
from drawloom.sql.windows import FUNCTIONS

#: Substrait scalar functions that the translation knows, with their numbers of arguments.
SCALAR_FUNCTIONS: Final[dict[str, tuple[int, ...]]] = {
    "equal": (2,), "not_equal": (2,), "lt": (2,), "lte": (2,), "gt": (2,), "gte": (2,),
    "and": (2,), "or": (2,), "not": (1,), "is_null": (1,), "is_not_null": (1,),
    "add": (2,), "subtract": (2,), "multiply": (2,), "divide": (2,), "modulus": (2,), "negate": (1,), "abs": (1,),
    "like": (2, 3), "ilike": (2, 3), "date_part": (2,), "between": (3,), "nullif": (2,), "substring": (2, 3),
    "is_not_distinct_from": (2,), "is_distinct_from": (2,),
    "is_true": (1,), "is_false": (1,), "is_not_true": (1,), "is_not_false": (1,),
    "upper": (1,), "lower": (1,), "btrim": (1, 2), "ltrim": (1, 2), "rtrim": (1, 2), "replace": (3,),
    "regexp_replace": (3, 4), "character_length": (1,), "octet_length": (1,), "strpos": (2,), "left": (2,),
    "str_concat": (2,), "concat": tuple(range(1, 100)), "date_trunc": (2,), "greatest": tuple(range(1, 100)),
    "least": tuple(range(1, 100)), "sqrt": (1,), "ln": (1,), "exp": (1,), "power": (2,), "floor": (1,), "ceil": (1,),
    "round": (1, 2),
}  # fmt: skip
AGGREGATE_FUNCTIONS: Final = frozenset(["sum", "avg", "count", "min", "max"])
#: What only OVER (...) gives a meaning to.
WINDOW_FUNCTIONS: Final = frozenset([
    "row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile", "lag", "lead", "first_value",
    "last_value", "nth_value",
])  # fmt: skip
#: Substrait's units of window frames.
_UNITS: Final[dict[int, str]] = {1: "rows", 2: "range"}
#: Relations by their Substrait field, as SQL names them.
_RELATION_NAMES: Final[dict[str, str]] = {
    "window": "a window", "extension_leaf": "an extension", "extension_single": "an extension",
}  # fmt: skip
#: Substrait's join types.
_JOINS: Final[dict[int, str]] = {
    1: "inner", 2: "full", 3: "left", 4: "right", 5: "semi", 6: "anti", 8: "right semi", 9: "right anti", 11: "mark",
}  # fmt: skip
_UNION_ALL: Final = 6
_EXISTS: Final = 1  # PREDICATE_OP_EXISTS
_SORT: Final[dict[int, tuple[bool, bool]]] = {1: (True, True), 2: (True, False), 3: (False, True), 4: (False, False)}
_PLAIN_TYPES: Final[dict[str, VectorType]] = {
    "bool": BOOL, "i8": I8, "i16": I16, "i32": I32, "i64": I64, "fp32": F32, "fp64": F64, "date": DATE,
    "string": STR, "varchar": STR, "fixed_char": STR,
}  # fmt: skip
#: More than a string has.
MAX_CHARACTERS: Final = (1 << 31) - 1
_ANYTHING: Final = Constant(None, BOOL)  # stands for what was refused
_DISTINCT: Final = 2  # AGGREGATION_INVOCATION_DISTINCT


def decode(data: bytes, unsupported: list[str]) -> Plan:
    """The tree for a serialised plan. What has no place in the tree is named in ``unsupported``, each once;
    the plan is only whole while that stays empty."""
    return _Decoder(SubstraitPlan.FromString(data), unsupported).plan()


class _Decoder:
    def __init__(self, message: Any, unsupported: list[str]) -> None:
        self.message = message
        self.unsupported = unsupported
        self.functions: dict[int, str] = {}
        self.user_types: dict[int, str] = {}
        for extension in message.extensions:
            if extension.HasField("extension_function"):
                function = extension.extension_function
                self.functions[function.function_anchor] = function.name.partition(":")[0]
            elif extension.HasField("extension_type"):
                self.user_types[extension.extension_type.type_anchor] = extension.extension_type.name

    def refuse(self, what: str) -> None:
        if what not in self.unsupported:
            self.unsupported.append(what)

    def plan(self) -> Plan:
        (relation,) = self.message.relations
        return Plan(self.relation(relation.root.input), list(relation.root.names))

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
        for i in items:
            self.type(read.base_schema.struct.types[i], f" (column '{names[i]}')")
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

    def virtual_table(self, read: Any) -> Relation:
        rows = len(read.virtual_table.expressions)
        types = [I64 if _counts(t) else self.type(t) or BOOL for t in read.base_schema.struct.types]
        if rows == 0 or not types:
            return Empty(rows, types)
        self.refuse("relation: VALUES")
        return Empty(0, types)

    def project(self, body: Any) -> Relation:
        below = self.relation(body.input)
        everything: list[Expression] = [Field(i) for i in range(below.width)]
        everything.extend([self.expression(e) for e in body.expressions])
        kept = body.common.emit.output_mapping if body.common.HasField("emit") else range(len(everything))
        return Project(below, [everything[i] if i < len(everything) else _ANYTHING for i in kept])

    def aggregate(self, body: Any) -> Relation:
        below = self.relation(body.input)
        if len(body.groupings) > 1:
            self.refuse("GROUPING SETS")
        keys: list[Expression] = []
        for grouping in body.groupings:
            for reference in grouping.expression_references:
                keys.append(self.expression(body.grouping_expressions[reference]))
        return _emitted(Aggregate(below, keys, [self.measure(m) for m in body.measures]), body)

    def measure(self, body: Any) -> Measure:
        function = self.functions.get(body.measure.function_reference, "?")
        arguments = [self.expression(a.value) for a in body.measure.arguments]
        condition = self.expression(body.filter) if body.HasField("filter") else None
        if function not in AGGREGATE_FUNCTIONS or len(arguments) != 1:
            self.refuse(f"aggregate function: {function}")
            return Measure("count", None, None)
        argument = arguments[0]
        if body.measure.invocation == _DISTINCT and function not in ("min", "max"):
            if function != "count":
                self.refuse(f"aggregate function: {function}(DISTINCT ...)")
            if condition is not None:
                argument = Case([(condition, argument)], None)  # NULL is not counted
            return Measure("count_distinct", argument, None)
        if function == "count" and isinstance(argument, Constant) and argument.value is not None:
            return Measure(function, None, condition)
        return Measure(function, argument, condition)

    def sort_key(self, sort: Any) -> SortKey:
        ascending, nulls_first = _SORT.get(sort.direction, (True, False))
        if sort.direction not in _SORT:
            self.refuse("ORDER BY with clustered order")
        return SortKey(self.expression(sort.expr), ascending, nulls_first)

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

    # Expressions

    def expression(self, body: Any) -> Expression:
        kind = body.WhichOneof("rex_type")
        if kind is None:
            return Constant(None, BOOL)  # DataFusion's NULL without a type
        if kind == "selection":
            return self.selection(body.selection)
        if kind == "literal":
            return self.literal(body.literal)
        if kind == "scalar_function":
            return self.function(body.scalar_function)
        if kind == "cast":
            inner = self.expression(body.cast.input)
            type = self.type(body.cast.type)
            return _ANYTHING if type is None else Cast(inner, type)
        if kind == "if_then":
            return self.case(body.if_then)
        if kind == "singular_or_list":
            options = [self.expression(o) for o in body.singular_or_list.options]
            return InList(self.expression(body.singular_or_list.value), options)
        if kind == "window_function":
            return self.window(body.window_function)
        if kind == "subquery":
            return self.subquery(body.subquery)
        self.refuse(f"expression: {kind}")
        return _ANYTHING

    def subquery(self, body: Any) -> Expression:
        """A subquery that the planner did not make a join: one that does not depend on the row."""
        kind = body.WhichOneof("subquery_type")
        if kind == "scalar":
            return Scalar(self.relation(body.scalar.input))
        if kind == "in_predicate" and len(body.in_predicate.needles) == 1:
            return InRelation(self.expression(body.in_predicate.needles[0]), self.relation(body.in_predicate.haystack))
        if kind == "set_predicate" and body.set_predicate.predicate_op == _EXISTS:
            return Exists(self.relation(body.set_predicate.tuples))
        self.refuse(f"expression: {kind} subquery")
        return _ANYTHING

    def window(self, body: Any) -> Expression:
        function = self.functions.get(body.function_reference, "?")
        arguments = [self.expression(a.value) for a in body.arguments]
        partitions = [self.expression(p) for p in body.partitions]
        sorts = [self.sort_key(s) for s in body.sorts]
        if function not in FUNCTIONS or (function in AGGREGATE_FUNCTIONS and len(arguments) != 1):
            self.refuse(f"{'window' if function in WINDOW_FUNCTIONS else 'aggregate'} function: {function} OVER (...)")
            return _ANYTHING
        if function in ("lag", "lead", "nth_value", "ntile"):
            place = 0 if function == "ntile" else 1
            offset = arguments[place] if len(arguments) > place else Constant(1, I64)
            if not isinstance(offset, Constant) or not isinstance(offset.value, int):
                self.refuse(f"window function: {function} of what is no constant")
        if body.bounds_type not in _UNITS:
            self.refuse("window functions: a frame without a unit")
            return _ANYTHING
        frame = WindowFrame(_UNITS[body.bounds_type], _bound(body.lower_bound), _bound(body.upper_bound))
        return Window(function, arguments, partitions, sorts, frame)

    def case(self, body: Any) -> Expression:
        """CASE. DataFusion writes ``CASE x WHEN y THEN z`` with x as a first branch that has no result."""
        branches = list(body.ifs)
        base: Expression | None = None
        if branches and not branches[0].HasField("then"):
            base = self.expression(getattr(branches.pop(0), "if"))
        made: list[tuple[Expression, Expression]] = []
        for branch in branches:
            condition = self.expression(getattr(branch, "if"))
            if base is not None:
                condition = Apply("equal", [base, condition])
            made.append((condition, self.expression(branch.then)))
        return Case(made, self.expression(getattr(body, "else")) if body.HasField("else") else None)

    def selection(self, body: Any) -> Expression:
        reference = body.direct_reference
        if reference.WhichOneof("reference_type") != "struct_field" or reference.struct_field.HasField("child"):
            self.refuse("expression: a field inside a column")
            return _ANYTHING
        if body.WhichOneof("root_type") == "outer_reference":
            self.refuse("expression: a correlated subquery")
            return _ANYTHING
        return Field(reference.struct_field.field)

    def function(self, body: Any) -> Expression:
        name = self.functions.get(body.function_reference, "?")
        if name in ("add", "subtract") and len(body.arguments) == 2:
            interval = self.interval(body.arguments[1].value, -1 if name == "subtract" else 1)
            if interval is not None:
                return Apply("later", [self.expression(body.arguments[0].value), *interval])
        arguments = [self.expression(a.value) for a in body.arguments]
        if name not in SCALAR_FUNCTIONS:
            self.refuse(f"function: {name}")
            return _ANYTHING
        counts = SCALAR_FUNCTIONS[name]
        if name in ("and", "or") and len(arguments) > 2:
            made = arguments[0]
            for argument in arguments[1:]:
                made = Apply(name, [made, argument])
            return made
        if len(arguments) not in counts:
            self.refuse(f"function: {name} with {len(arguments)} arguments")
            return _ANYTHING
        if name == "date_part":
            part = arguments[0]
            word = str(part.value).lower() if isinstance(part, Constant) else "?"
            if word in TIME_PARTS:
                return Apply("time_" + word, arguments[1:])
            if word not in DATE_PARTS:
                self.refuse(f"function: date_part('{word}', ...)")
                return _ANYTHING
            return Apply("date_" + word, arguments[1:])
        if name in ("like", "ilike"):
            return self.like(name, arguments)
        if name in OF_TEXT and not all(isinstance(a, Constant) and isinstance(a.value, str) for a in arguments[1:]):
            self.refuse(f"function: {name} with arguments that are no constants")
        if name == "regexp_replace" and len(arguments) == 4 and arguments[3].key() != Constant("g", STR).key():
            self.refuse("function: regexp_replace with options other than 'g'")
        if name == "left":
            return self.substring([arguments[0], Constant(1, I64), arguments[1]])
        if name == "date_trunc" and not (isinstance(arguments[0], Constant) and arguments[0].value in UNITS):
            self.refuse(f"function: date_trunc to {getattr(arguments[0], 'value', 'what is no constant')}")
        if name == "round" and len(arguments) == 2:
            digits = arguments[1].value if isinstance(arguments[1], Constant) else None
            if not isinstance(digits, int) or digits < 0:
                self.refuse("function: round to digits that are no constant, or negative")
        if name == "nullif":
            return Case([(Apply("equal", arguments), Constant(None, BOOL))], arguments[0])
        if name == "substring":
            return self.substring(arguments)
        if name == "modulus" and not (isinstance(arguments[1], Constant) and arguments[1].value not in (0, None)):
            self.refuse("function: modulus by something that is no constant other than 0")
        return Apply(name, arguments)

    def substring(self, arguments: list[Expression]) -> Expression:
        """substring(text, start, count), the rest of the text where the count is left out."""
        bounds = [a.value for a in arguments[1:] if isinstance(a, Constant) and isinstance(a.value, int)]
        if len(bounds) != len(arguments) - 1 or bounds[0] < 1 or bounds[-1] < 0:
            self.refuse("function: substring with a start or length that is no constant, or negative")
        count = arguments[2] if len(arguments) == 3 else Constant(MAX_CHARACTERS, I64)
        return Apply("substring", [*arguments[:2], count])

    def interval(self, body: Any, sign: int) -> list[Expression] | None:
        """An interval literal as constant months and microseconds; None for anything else."""
        if body.WhichOneof("rex_type") != "literal" or body.literal.WhichOneof("literal_type") != "interval_compound":
            return None
        compound = body.literal.interval_compound
        months, time = compound.interval_year_to_month, compound.interval_day_to_second
        micros = time.days * DAY + time.seconds * 1_000_000
        micros += int(Fraction(time.subseconds * 1_000_000, 10**time.precision))
        return [Constant(sign * (months.years * 12 + months.months), I64), Constant(sign * micros, I64)]

    def like(self, name: str, arguments: list[Expression]) -> Expression:
        pattern = arguments[1]
        escape = arguments[2].value if len(arguments) == 3 and isinstance(arguments[2], Constant) else None
        if escape not in (None, "", "\\"):
            self.refuse(f"function: like with escape character {escape!r}")
        if name == "like":
            return Apply("like", arguments[:2])
        if not isinstance(pattern, Constant) or not isinstance(pattern.value, str) or not pattern.value.isascii():
            self.refuse("function: ilike with a pattern that is no constant of ASCII")
            return _ANYTHING
        return Apply("like", [Apply("lower", arguments[:1]), Constant(pattern.value.lower(), STR)])

    # Types and literals

    def type(self, body: Any, where: str = "") -> VectorType | None:
        kind = body.WhichOneof("kind")
        if kind == "decimal":
            precision, scale = body.decimal.precision, body.decimal.scale
            if 1 <= precision <= MAX_DIGITS and 0 <= scale <= precision:
                return DecimalType(precision, scale)
            self.refuse(f"type: decimal({precision},{scale}){where}")
            return None
        if kind == "user_defined":
            name = self.user_types.get(body.user_defined.type_reference, kind)
            if name == "null":
                return I32  # as DuckDB types a bare NULL
            self.refuse(f"type: {name}{where}")
            return None
        if kind == "precision_timestamp":
            precision = body.precision_timestamp.precision
            if precision == 6 or (precision == 9 and not where):  # DataFusion's own casts of dates are to 9 digits
                return TIMESTAMP
            self.refuse(f"type: timestamp of {precision} digits of a second{where}")
            return None
        variation = getattr(body, kind).type_variation_reference if kind in _PLAIN_TYPES else 0
        if kind not in _PLAIN_TYPES or (variation and kind in ("i8", "i16", "i32", "i64")):
            unsigned = "unsigned " if kind in _PLAIN_TYPES else ""
            self.refuse(f"type: {unsigned}{kind}{where}")
            return None
        return _PLAIN_TYPES[kind]

    def literal(self, body: Any) -> Expression:
        kind = body.WhichOneof("literal_type")
        if kind == "null":
            null_type = self.type(body.null)
            return _ANYTHING if null_type is None else Constant(None, null_type)
        if kind == "decimal":
            value = int.from_bytes(body.decimal.value, "little", signed=True)
            return Constant(value, DecimalType(max(body.decimal.precision, 1), body.decimal.scale))
        if kind in ("i8", "i16", "i32", "i64") and body.type_variation_reference:
            return Constant(getattr(body, kind) % (1 << int(kind[1:])), I64)  # beside what counts rows
        if kind == "precision_timestamp":
            moment = Fraction(body.precision_timestamp.value * 10**6, 10**body.precision_timestamp.precision)
            if moment.denominator == 1:
                return Constant(int(moment), TIMESTAMP)
        if kind == "boolean":
            return Constant(int(body.boolean), BOOL)
        if kind == "fp32":
            return Constant(struct.unpack("f", struct.pack("f", body.fp32))[0], F32)
        if kind == "var_char":
            return Constant(body.var_char.value, STR)
        if kind == "fixed_char":
            return Constant(body.fixed_char, STR)
        if kind not in _PLAIN_TYPES:
            self.refuse(f"literal: {kind}")
            return _ANYTHING
        return Constant(getattr(body, kind), _PLAIN_TYPES[kind])


def _joined(kind: str, left: Relation, right: Relation, condition: Expression | None) -> Join:
    """The join with equalities between the sides as its keys."""
    keys: list[JoinKey] = []
    rest: Expression | None = None
    for conjunct in [] if condition is None else _conjuncts(condition):
        key = _join_key(conjunct, left.width)
        if key is not None:
            keys.append(key)
        elif not (isinstance(conjunct, Constant) and conjunct.value == 1):
            rest = conjunct if rest is None else Apply("and", [rest, conjunct])
    return Join(kind, left, right, keys, rest)


def _conjuncts(expression: Expression) -> list[Expression]:
    if isinstance(expression, Apply) and expression.function == "and":
        return [c for a in expression.arguments for c in _conjuncts(a)]
    return [expression]


def _join_key(conjunct: Expression, split: int) -> JoinKey | None:
    """The key that an equality of an expression over each side's columns is; None for any other condition."""
    if not isinstance(conjunct, Apply) or conjunct.function not in ("equal", "is_not_distinct_from"):
        return None
    sides = [{part.index < split for part in within(a) if isinstance(part, Field)} for a in conjunct.arguments]
    if sides not in ([{True}, {False}], [{False}, {True}]):
        return None
    left, right = conjunct.arguments if sides[0] == {True} else conjunct.arguments[::-1]
    right = replaced(right, lambda i: Field(i - split), lambda r: r)
    return JoinKey(left, right, conjunct.function == "is_not_distinct_from")


def _counts(type: Any) -> bool:
    """Whether the type is DataFusion's for row_number and ranks, which are i64 here."""
    return bool(type.WhichOneof("kind") == "i64" and type.i64.type_variation_reference)


def _bound(body: Any) -> int | None:
    """The offset of a frame's bound; None for the end of the partition."""
    kind = body.WhichOneof("kind")
    if kind == "preceding":
        return -int(body.preceding.offset)
    if kind == "following":
        return int(body.following.offset)
    return 0 if kind == "current_row" else None


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
