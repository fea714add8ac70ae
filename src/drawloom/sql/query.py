"""One query from its text to a program on a device, each stage done when it is first asked for and timed."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Final, TypeVar

from drawloom.errors import UnsupportedError
from drawloom.horse.blocks import on_all_cores
from drawloom.horse.ir import Module
from drawloom.horse.launch import Resident
from drawloom.horse.memory import ask
from drawloom.horse.program import LoadedProgram, Program
from drawloom.horse.rules import SignatureError
from drawloom.horse.store import ArrowSource
from drawloom.horse.values import Source
from drawloom.ptx.collecting import uncollected
from drawloom.runtime.machine import Device
from drawloom.sql import plan
from drawloom.sql.coercion import mark_asked
from drawloom.sql.constants import hidden_by_folding, may_fold_lists
from drawloom.sql.dependent import Table, for_all, joined
from drawloom.sql.depth import refuses_depth
from drawloom.sql.kinds import KindChecker
from drawloom.sql.lateral import VALUE, Lateral, take_out_laterals, with_selected_values
from drawloom.sql.listcalls import with_list_calls
from drawloom.sql.listjoins import mark_joined_lists
from drawloom.sql.misuse import misuse
from drawloom.sql.places import find, line_and_column
from drawloom.sql.planner import Planner, SqlError
from drawloom.sql.planner_process import MOST_OPERATORS, endless_chain
from drawloom.sql.progress import Progress
from drawloom.sql.repeated import shown_again, told_apart, with_other_names
from drawloom.sql.sink import sink_casts
from drawloom.sql.stars import with_chosen_columns
from drawloom.sql.subqueries import Subquery, take_out
from drawloom.sql.substrait import decode
from drawloom.sql.tables import SEEN, STEP, makes_tables, take_out_tables
from drawloom.sql.tables import Table as TextTable
from drawloom.sql.text import bags_of, read, shown_name
from drawloom.sql.translate import Schema, translate
from drawloom.sql.typed import with_known_types
from drawloom.sql.unknowns import (
    MIXED_UP,
    has_marks,
    is_planned_wrongly,
    mark_counts,
    mark_unknowns,
    may_be_wrong,
)
from drawloom.sql.unnested import find_lists, relation_of
from drawloom.sql.unserialised import unsupported_parts
from drawloom.sql.using import without_using
from drawloom.sql.windowtext import find_lost
from drawloom.sql.zones import with_zones

T = TypeVar("T")
#: Bytes that decoding a plan takes for one of it, where that is constants.
_DECODED: Final = 3
#: How often columns of one name are told apart: an error names one pair of them.
_TIMES_APART: Final = 8
_REFUSAL: Final = "this query needs what is not built yet:"
_NOT_HERE: Final = "UNNEST, WITH RECURSIVE or a table function in a place where a table does not stand for it"
#: Integer constants with fewer digits than this, all together, make nothing that 64 bits do not hold.
_DIGITS_OF_64_BITS: Final = 19


def without(prefix: str, made: plan.Plan) -> plan.Plan:
    """The plan without columns whose names begin so."""
    kept = [i for i, name in enumerate(made.names) if not name.startswith(prefix)]
    if len(kept) == len(made.names):
        return made
    return plan.Plan(plan.Project(made.root, [plan.Field(i) for i in kept]), [made.names[i] for i in kept])


class Query:
    """Its stages run without the collector, which takes as long as all of them for the objects that others have.

    ``seconds`` has what each stage took, in order: plan, substrait, decode, horse, load, outline, ptx, prepare.

    ``load`` is reading and converting columns, which happens while types and NULLs are looked up too.
    """

    def __init__(
        self,
        text: str,
        planner: Planner,
        sources: Mapping[str, Source],
        schema: Schema,
        device: Device,
        outline: str = "full",
    ) -> None:
        self.text = read(text)
        self.device = device
        self.outline = outline
        #: How many rows of the result are skipped, and how many of the others kept; None for all of them.
        self.rows: tuple[int, int] | None = None
        self.planner = planner
        self.sources = sources
        self.schema = schema
        self.seconds: dict[str, float] = {}
        #: Is told of every stage that begins.
        self.progress: Progress | None = None
        #: Whether the text has been changed by what the planner tells of it.
        self.is_prepared = False
        #: The number of the next subquery that is planned apart.
        self.next_subquery = 0
        #: What the names of tables that were taken out of the text stand for.
        self.tables: dict[str, Table] = {}
        #: The texts that plans were decoded of, with what calls of functions in them stand for.
        self.texts: list[tuple[str, dict[str, plan.Dependent] | None]] = []
        #: What the columns of the text before were called, and what was wrong with it.
        self.names: list[str] = []
        self.problem: SqlError | None = None
        #: Whether joins by keys that have conditions, too, look at a part of their pairs at a time.
        self.in_rounds = False
        self._logical: Any = None
        self._relation: plan.Plan | None = None
        self._module: Module | None = None
        self._program: Program | None = None
        self._loaded: LoadedProgram | None = None

    def timed(self, stage: str, work: Callable[[], T]) -> T:
        if self.progress is not None:
            self.progress.stage(stage)
        start = time.perf_counter()
        done = work()
        self.seconds[stage] = self.seconds.get(stage, 0.0) + time.perf_counter() - start
        return done

    @property
    def is_planned(self) -> bool:
        return self._logical is not None

    def logical(self) -> Any:
        """DataFusion's optimised logical plan. Raises SqlError."""
        if self._logical is None:
            self.refuse_endless()
            self.prepare_text()
            text = without_using(self.text.sql, self.planner)
            if self.text.selects > 1:
                text = with_other_names(text)
            try:
                text, self._logical = self.timed("plan", lambda: self.planned(text))
            except SqlError as problem:
                raise self.located(problem) from None
            self.text.sql = text
        return self._logical

    def prepare_text(self) -> None:
        """Changes what of the text takes types or columns that the planner tells. Raises SqlError."""
        if self.is_prepared:
            return
        self.is_prepared = True
        with_selected_values(self.text)
        with_chosen_columns(self.text, self.planner)
        with_zones(self.text, self.planner)
        with_list_calls(self.text, self.planner)

    def refuse_endless(self) -> None:
        """Raises UnsupportedError for a chain of operators that DataFusion would plan for many minutes."""
        found = endless_chain(self.text.sql)
        if found is None:
            return
        count, offset = found
        line, column, _ = line_and_column(self.text.given, self.text.offset(offset))
        raise UnsupportedError(_REFUSAL, [
            f"a chain of {count + 1:,} terms, of which {MOST_OPERATORS + 1:,} end at line {line}, column {column}: put "
            "brackets around parts of it, a few dozen terms each",
        ])  # fmt: skip

    def planned(self, text: str) -> tuple[str, Any]:
        """The plan of the text, or of one that tells columns of one name, or functions of several types, apart, with
        that text. Raises SqlError."""
        for _ in range(_TIMES_APART):
            try:
                return text, self.planner.plan(text)
            except SqlError as problem:
                apart = told_apart(text, problem.message)
                if apart == text:
                    apart = with_known_types(text, problem.message, self.planner)
                if apart == text:
                    raise
            text = apart
        return text, self.planner.plan(text)

    def refuse_mixed(self) -> None:
        """Raises SqlError where something is compared that the planner casts, and the text does not."""
        for sql, subqueries in self.texts:
            message = self.mixed(subqueries, sql)
            if message and sql == self.text.sql:
                raise self.located(SqlError(message), partial(self.mixed, subqueries))
            if message:
                raise SqlError(message)

    def mixed(self, subqueries: dict[str, plan.Dependent] | None, sql: str) -> str:
        """Which kinds a text compares that only a cast makes alike; "" for none, and for a text that is an error."""
        bound = self.bound_relation(sql, subqueries)
        if bound is None:
            return ""
        checker = KindChecker(self.schema)
        checker.relation(bound)
        return checker.mixed

    def bound_relation(self, sql: str, subqueries: dict[str, plan.Dependent] | None) -> plan.Relation | None:
        """The tree of a text before optimisation; None where Substrait cannot say it."""
        try:
            bound = self.planner.plan(sql, optimised=False)
            data = self.planner.serialise(bound)
        except SqlError:
            return None
        return decode(data, [], self.planner.unknown, subqueries, str(bound.display_indent())).root

    def bound(self) -> str:
        """The text of the plan before optimisation. Raises SqlError."""
        return self.planner.bound(self.text.sql)

    def located(self, problem: SqlError, said: Callable[[str], str] | None = None) -> SqlError:
        """The error with the place in the query's text that it is about, where that can be told: ``said`` gives the
        message for another text that can be planned."""

        def planned(sql: str) -> str:
            try:
                self.planner.plan(without_using(sql, self.planner))
            except SqlError as other:
                return other.message
            return said(sql) if said is not None else ""

        offset = find(self.text.sql, problem.message, planned)
        if offset < 0:
            return problem
        return SqlError(problem.message, *line_and_column(self.text.given, self.text.offset(offset)))

    @refuses_depth()
    def relation(self) -> plan.Plan:
        """The relational tree. Raises UnsupportedError with everything in the query that it cannot say."""
        if self._relation is None:
            self.refuse_endless()
            given = self.text.sql
            wrong = misuse(given, self.planner)
            if wrong is not None:
                message, offset = wrong
                raise SqlError(message, *line_and_column(self.text.given, self.text.offset(offset)))
            self.prepare_text()
            given = self.text.sql
            try:
                self._relation = uncollected(self.made)
            except UnsupportedError:
                if self.tables:  # which DataFusion is to make itself
                    self.text.sql, self._logical = without_using(given, self.planner), None
                raise
        return self._relation

    def made(self) -> plan.Plan:
        """The relational tree, made."""
        unsupported = list(self.text.unsupported)
        try:
            self.without_tables(unsupported)
            logical = self.logical()
            made = self.decoded(self.text.sql, logical, unsupported)
            if made is None:
                made = self.taken_apart(self.text.sql, unsupported)
            if made is None:
                unsupported_parts(self.planner, logical, unsupported)
                unsupported = unsupported or [MIXED_UP]
                raise UnsupportedError(_REFUSAL, unsupported)
        except SqlError as problem:
            made = self.taken_apart(self.text.sql, unsupported) if self.text.selects > 1 else None
            if made is None and self.names:
                raise UnsupportedError(_REFUSAL, [*unsupported, _NOT_HERE]) from None
            if made is None:
                raise (self.problem or problem) from None
        if self.tables:
            made = without(VALUE, made)
            made.names = self.names or made.names
        made.root = joined(made.root, unsupported, self.tables)
        find_lists(made.root, unsupported)
        checker = KindChecker(self.schema)
        checker.relation(made.root)
        if checker.casts_texts or any(str(day) in self.text.sql for day in checker.days):
            self.refuse_mixed()
        unsupported.extend(checker.unsupported)
        if not made.names:
            unsupported.append("a query without columns: FROM without SELECT")
        if unsupported:
            raise UnsupportedError(_REFUSAL, unsupported)
        if self.rows is not None:
            made.root = plan.Limit(made.root, *self.rows)
        made.names = [shown_name(n) for n in shown_again(made.names)]
        return sink_casts(made)

    def without_tables(self, unsupported: list[str]) -> None:
        """Takes tables that are made out of the text."""
        given = self.text.sql
        if not makes_tables(given):
            return
        names: list[str] = []
        for _ in range(_TIMES_APART):
            try:
                names = list(self.planner.schema(given).names)
                break
            except SqlError as problem:
                apart = told_apart(given, problem.message)
                if apart == given:  # DataFusion does not see the columns of tables before an UNNEST in its argument
                    self.problem = self.located(problem)
                    break
                given = apart
        self.text.sql = self.with_tables(given, unsupported)
        if self.text.sql != given:
            self.names = names

    def with_tables(self, sql: str, unsupported: list[str]) -> str:
        """The text with names in the place of tables that are made; ``tables`` has what they stand for."""
        taken: list[TextTable] = []
        if not makes_tables(sql):
            return sql
        text = take_out_tables(sql, self.planner, len(self.tables), taken)
        for table in taken:
            self.tables[table.name] = Table(plan.Empty(0, []), table.names)  # numbers are not given twice
        for table in taken:
            made = relation_of(table, lambda text: self.whole(text, unsupported), unsupported)
            if made is None:
                return sql
            made.relation = joined(made.relation, unsupported, self.tables)
            self.tables[table.name] = made
        return text

    def decoded(
        self, sql: str, logical: Any, unsupported: list[str], subqueries: dict[str, plan.Dependent] | None = None
    ) -> plan.Plan | None:
        """The tree of a text's plan, in which calls of functions may stand for ``subqueries``; None for a plan that has
        no Substrait form, or none that says what the text does."""
        optimised = str(logical.display_indent())
        if self.text.selects > 1 and may_be_wrong(sql):
            bound = self.planner.bound(sql)
            if is_planned_wrongly(bound) or has_marks(bound, optimised):
                return None
        try:
            data = self.timed("substrait", lambda: self.planner.serialise(logical))
        except SqlError:
            return None
        ask(_DECODED * len(data), "the plan")
        self.texts.append((sql, subqueries))
        made = self.timed("decode", lambda: decode(data, unsupported, self.planner.unknown, subqueries, optimised))
        if self.text.names_moment:
            mark_asked(made.root, "timestamp")
        if len(made.names) != made.root.width:  # Substrait names the fields of structs too
            made.names = list(self.planner.schema(sql).names)
        joins = [r for r in plan.relations(made.root) if isinstance(r, plan.Join)]
        mark_unknowns(joins, optimised, unsupported)
        if any(join.null_aware and not join.keys for join in joins):  # of what turned out to be a constant
            return None
        bags, only_bags = bags_of(sql)
        if bags:
            mark_counts(joins, bags, only_bags, unsupported)
        find_lost(made.root, optimised, unsupported)
        mark_joined_lists(made.root, sql, self.planner, unsupported)
        unsupported.extend([w for w in self.hidden_by_folding(sql, subqueries) if w not in unsupported])
        return made

    def taken_apart(self, sql: str, unsupported: list[str]) -> plan.Plan | None:
        """The tree of a text whose subqueries are planned one by one; None where that does not help."""
        laterals: list[Lateral] = []
        text = take_out_laterals(with_other_names(sql), self.planner, self.next_subquery, laterals)
        self.next_subquery += len(laterals)
        taken: list[Subquery] = []
        text = take_out(text, self.planner, self.next_subquery, taken)
        if not (taken or laterals):
            return None
        self.next_subquery += len(taken)
        tables: dict[str, Table] = {}
        for lateral in laterals:
            body, domain = self.whole(lateral.sql, unsupported), self.whole(lateral.domain, unsupported)
            if body is None or domain is None:
                return None
            values = joined(domain.root, unsupported)
            found = for_all(body.root, lateral.outer, lateral.columns, values, unsupported)
            tables[lateral.table] = Table(found, lateral.names)
        subqueries: dict[str, plan.Dependent] = {}
        for subquery in taken:
            below = self.whole(subquery.sql, unsupported)
            if below is None:
                return None
            subqueries[subquery.function] = plan.Dependent(
                subquery.kind, subquery.comparison, [], below.root, subquery.table, subquery.columns
            )
        try:
            text, logical = self.timed("plan", lambda: self.planned(text))
            self._logical = logical
            made = self.decoded(text, logical, unsupported, subqueries)
        except SqlError:
            return None
        if made is not None and tables:
            made = without(VALUE, plan.Plan(joined(made.root, unsupported, tables), made.names))
        if made is not None:
            with suppress(SqlError):  # DataFusion binds most of what it cannot optimise
                made.names = list(self.planner.schema(sql).names)
        return made

    def whole(self, sql: str, unsupported: list[str]) -> plan.Plan | None:
        """The tree of a subquery's text, as a whole or with its own subqueries apart."""
        made: plan.Plan | None = None
        sql = self.with_tables(sql, unsupported)
        try:
            made = self.decoded(sql, self.timed("plan", lambda: self.planner.plan(sql)), unsupported)
        except SqlError:
            made = None
        return made or self.taken_apart(sql, unsupported)

    def hidden_by_folding(self, sql: str, subqueries: dict[str, plan.Dependent] | None) -> list[str]:
        """What a text computes from constants, which the optimised plan does not show any more."""
        is_long = self.text.digits >= _DIGITS_OF_64_BITS
        if not is_long and not self.text.names_integer and not may_fold_lists(sql):
            return []
        bound = self.bound_relation(sql, subqueries)
        return [] if bound is None else hidden_by_folding(bound)  # what has no such form has more than expressions

    @refuses_depth()
    def module(self) -> Module:
        """The HorseIR program. Raises DataError for columns that cannot be read."""
        if self._module is None:
            relation = self.relation()
            self.timed("load", lambda: self.load_columns(relation.root))
            try:
                self._module = uncollected(lambda: self.timed("horse", lambda: self.translated(relation)))
            except SignatureError as problem:
                raise UnsupportedError(_REFUSAL, [problem.message]) from None
        return self._module

    def translated(self, relation: plan.Plan) -> Module:
        return translate(relation, self.schema, self.text.names_double, self.in_rounds)

    def goes_in_rounds(self) -> bool:
        """Has the query made anew with joins that look at a part of their pairs at a time; whether that changes it."""
        joins = [r for r in plan.relations(self.relation().root) if isinstance(r, plan.Join)]
        if self.in_rounds or not any(j.keys and j.condition is not None for j in joins):
            return False
        self.in_rounds = True
        self._module = self._program = self._loaded = None
        return True

    def check_files(self) -> None:
        """Raises DataError where a file that the query reads is not what was registered."""
        read = {part.table for part in plan.relations(self.relation().root) if isinstance(part, plan.Read)}
        for name in sorted(read):
            source = self.sources.get(name)
            if isinstance(source, ArrowSource):
                source.check_files()

    def load_columns(self, relation: plan.Relation) -> None:
        """Reads and converts the columns that the plan reads, on all cores: the translation and the kernels depend on
        them."""
        read = {
            (part.table, column)
            for part in plan.relations(relation)
            if isinstance(part, plan.Read) and not part.table.startswith((STEP, SEEN))
            for column in part.columns or [self.schema.any_column(part.table)]
        }
        on_all_cores(sorted(read), lambda column: self.schema.has_nulls(*column))

    @refuses_depth()
    def program(self) -> Program:
        """The outlined program with the PTX of its kernels."""
        if self._program is None:
            module = self.module()
            if self.progress is not None:
                self.progress.stage("outline")
            on_cpu = self.device.kind == "cpu"
            self._program = uncollected(lambda: Program(module, self.sources, not on_cpu, self.outline))
            for stage, seconds in self._program.seconds.items():
                self.seconds[stage] = self.seconds.get(stage, 0.0) + seconds
        return self._program

    def loaded(self, resident: Resident) -> LoadedProgram:
        """The program on the query's device."""
        if self._loaded is None:
            program = self.program()
            self._loaded = self.timed("prepare", lambda: LoadedProgram(program, self.device, resident))
        return self._loaded
