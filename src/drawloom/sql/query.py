"""One query from its text to a program on a device, each stage done when it is first asked for and timed."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from drawloom.errors import UnsupportedError
from drawloom.horse.blocks import on_all_cores
from drawloom.horse.ir import Module
from drawloom.horse.launch import Resident
from drawloom.horse.program import LoadedProgram, Program
from drawloom.horse.rules import SignatureError
from drawloom.horse.values import Source
from drawloom.runtime.machine import Device
from drawloom.sql import plan
from drawloom.sql.constants import hidden_by_folding
from drawloom.sql.existence import counted_existence
from drawloom.sql.kinds import unsupported_kinds
from drawloom.sql.places import find, line_and_column
from drawloom.sql.planner import Planner, SqlError
from drawloom.sql.progress import Progress
from drawloom.sql.sink import sink_casts
from drawloom.sql.substrait import decode
from drawloom.sql.text import read, shown_name
from drawloom.sql.translate import Schema, translate
from drawloom.sql.unknowns import mark_counts, mark_unknowns
from drawloom.sql.unserialised import unsupported_parts
from drawloom.sql.windowtext import find_lost

T = TypeVar("T")
_REFUSAL: Final = "this query needs what is not built yet:"
#: Integer constants with fewer digits than this, all together, make nothing that 64 bits do not hold.
_DIGITS_OF_64_BITS: Final = 19


class Query:
    """``seconds`` has what each stage took, in order: plan, substrait, decode, horse, load, outline, ptx, prepare.

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
        self.planner = planner
        self.sources = sources
        self.schema = schema
        self.seconds: dict[str, float] = {}
        #: Is told of every stage that begins.
        self.progress: Progress | None = None
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
            try:
                self._logical = self.timed("plan", lambda: self.planner.plan(self.text.sql))
            except SqlError as problem:
                raise self.located(problem) from None
        return self._logical

    def located(self, problem: SqlError) -> SqlError:
        """The error with the place in the query's text that it is about, where that can be told."""

        def said(sql: str) -> str:
            try:
                self.planner.plan(sql)
            except SqlError as other:
                return other.message
            return ""

        offset = find(self.text.sql, problem.message, said)
        if offset < 0:
            return problem
        return SqlError(problem.message, *line_and_column(self.text.given, self.text.offset(offset)))

    def relation(self) -> plan.Plan:
        """The relational tree. Raises UnsupportedError with everything in the query that it cannot say."""
        if self._relation is None:
            logical = self.logical()
            unsupported = list(self.text.unsupported)
            try:
                data = self.timed("substrait", lambda: self.planner.serialise(logical))
            except SqlError as problem:
                data = self.serialised_counts(problem)
                if not data:
                    unsupported_parts(self.planner, logical, unsupported)
                    raise UnsupportedError(_REFUSAL, unsupported) from None
                logical = self.logical()
            made = self.timed("decode", lambda: decode(data, unsupported))
            optimised = str(logical.display_indent())
            self.find_unknowns(made.root, optimised, unsupported)
            if self.text.bags:
                joins = [r for r in plan.relations(made.root) if isinstance(r, plan.Join)]
                mark_counts(joins, self.text.bags, self.text.only_bags, unsupported)
            find_lost(made.root, optimised, unsupported)
            unsupported.extend(unsupported_kinds(made.root, self.schema))
            unsupported.extend(self.hidden_by_folding())
            if not made.names:
                unsupported.append("a query without columns: FROM without SELECT")
            if unsupported:
                raise UnsupportedError(_REFUSAL, unsupported)
            made.names = [shown_name(n) for n in made.names]
            self._relation = sink_casts(made)
        return self._relation

    def serialised_counts(self, problem: SqlError) -> bytes:
        """The plan with counts in the place of EXISTS as Substrait, where ``problem`` was a correlated subquery;
        nothing where that has no such form either."""
        text = counted_existence(self.text.sql) if "OuterReferenceColumn" in problem.message else self.text.sql
        if text == self.text.sql:
            return b""
        try:
            logical = self.planner.plan(text)
            data = self.planner.serialise(logical)
        except SqlError:
            return b""
        self.text.sql, self._logical = text, logical
        return data

    def find_unknowns(self, root: plan.Relation, optimised: str, unsupported: list[str]) -> None:
        """Marks the joins of the plan, whose text is ``optimised``, that come of IN and NOT IN."""
        joins = [r for r in plan.relations(root) if isinstance(r, plan.Join)]
        if self.text.has_in or any(j.kind == "mark" or j.kind.endswith("anti") for j in joins):
            bound = self.planner.plan(self.text.sql, optimised=False)
            mark_unknowns(joins, str(bound.display_indent()), optimised, unsupported)

    def hidden_by_folding(self) -> list[str]:
        """What the text computes from constants, which the optimised plan does not show any more."""
        if self.text.digits < _DIGITS_OF_64_BITS:
            return []
        try:
            bound = self.planner.serialise(self.planner.plan(self.text.sql, optimised=False))
        except SqlError:
            return []  # a plan that Substrait cannot say before optimisation has more than expressions in it
        return hidden_by_folding(decode(bound, []).root)

    def module(self) -> Module:
        """The HorseIR program. Raises DataError for columns that cannot be read."""
        if self._module is None:
            relation = self.relation()
            self.timed("load", lambda: self.load_columns(relation.root))
            try:
                self._module = self.timed("horse", lambda: translate(relation, self.schema, self.text.names_double))
            except SignatureError as problem:
                raise UnsupportedError(_REFUSAL, [problem.message]) from None
        return self._module

    def load_columns(self, relation: plan.Relation) -> None:
        """Reads and converts the columns that the plan reads, on all cores: the translation and the kernels depend on
        them."""
        read = {
            (part.table, column)
            for part in plan.relations(relation)
            if isinstance(part, plan.Read)
            for column in part.columns or [self.schema.any_column(part.table)]
        }
        on_all_cores(sorted(read), lambda column: self.schema.has_nulls(*column))

    def program(self) -> Program:
        """The outlined program with the PTX of its kernels."""
        if self._program is None:
            module = self.module()
            if self.progress is not None:
                self.progress.stage("outline")
            self._program = Program(module, self.sources, self.device.kind != "cpu", self.outline)
            for stage, seconds in self._program.seconds.items():
                self.seconds[stage] = self.seconds.get(stage, 0.0) + seconds
        return self._program

    def loaded(self, resident: Resident) -> LoadedProgram:
        """The program on the query's device."""
        if self._loaded is None:
            program = self.program()
            self._loaded = self.timed("prepare", lambda: LoadedProgram(program, self.device, resident))
        return self._loaded
