"""One query from its text to a program on a device, each stage done when it is first asked for and timed."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from drawloom.errors import UnsupportedError
from drawloom.horse.ir import Module
from drawloom.horse.launch import Resident
from drawloom.horse.program import LoadedProgram, Program
from drawloom.horse.values import Source, TableValue
from drawloom.runtime.machine import Device
from drawloom.sql import plan
from drawloom.sql.constants import divides_constants
from drawloom.sql.planner import Planner, SqlError
from drawloom.sql.substrait import decode
from drawloom.sql.translate import Schema, translate

T = TypeVar("T")


class Query:
    """``seconds`` has what each stage took, in order: plan, substrait, decode, horse, load, outline, ptx, prepare.

    ``load`` is reading and converting columns, which happens while types and NULLs are looked up too.
    """

    def __init__(
        self, text: str, planner: Planner, sources: Mapping[str, Source], schema: Schema, device: Device
    ) -> None:
        self.text = text
        self.device = device
        self.planner = planner
        self.sources = sources
        self.schema = schema
        self.seconds: dict[str, float] = {}
        self._logical: Any = None
        self._relation: plan.Plan | None = None
        self._module: Module | None = None
        self._program: Program | None = None
        self._loaded: LoadedProgram | None = None

    def timed(self, stage: str, work: Callable[[], T]) -> T:
        start = time.perf_counter()
        done = work()
        self.seconds[stage] = self.seconds.get(stage, 0.0) + time.perf_counter() - start
        return done

    def logical(self) -> Any:
        """DataFusion's optimised logical plan. Raises SqlError."""
        if self._logical is None:
            self._logical = self.timed("plan", lambda: self.planner.plan(self.text))
        return self._logical

    def relation(self) -> plan.Plan:
        """The relational tree. Raises UnsupportedError with everything in the query that it cannot say."""
        if self._relation is None:
            logical = self.logical()
            data = self.timed("substrait", lambda: self.planner.serialise(logical))
            unsupported: list[str] = []
            made = self.timed("decode", lambda: decode(data, unsupported))
            if "/" in self.text and self.divides_constants():
                unsupported.append("a quotient of constants: write it as a double, such as 1e0 / 3")
            if unsupported:
                raise UnsupportedError("this query needs what is not built yet:", unsupported)
            self._relation = made
        return self._relation

    def divides_constants(self) -> bool:
        """Whether the text divides exact constants, which the optimised plan does not show any more."""
        try:
            bound = self.planner.serialise(self.planner.plan(self.text, optimised=False))
        except SqlError:
            return False  # a plan that Substrait cannot say before optimisation has more than expressions in it
        return divides_constants(decode(bound, []).root)

    def module(self) -> Module:
        """The HorseIR program. Raises DataError for columns that cannot be read."""
        if self._module is None:
            relation = self.relation()
            self.timed("load", lambda: self.load_columns(relation.root))
            self._module = self.timed("horse", lambda: translate(relation, self.schema))
        return self._module

    def load_columns(self, relation: plan.Relation) -> None:
        """Reads and converts the columns that the plan reads: the translation and the kernels depend on them."""
        if isinstance(relation, plan.Read):
            for column in relation.columns or [self.schema.any_column(relation.table)]:
                self.schema.has_nulls(relation.table, column)
        elif not isinstance(relation, plan.Empty):
            below = getattr(relation, "input", None)
            assert isinstance(below, plan.Relation)
            self.load_columns(below)

    def program(self) -> Program:
        """The outlined program with the PTX of its kernels."""
        if self._program is None:
            module = self.module()
            self._program = Program(module, self.sources, self.device.kind != "cpu")
            for stage, seconds in self._program.seconds.items():
                self.seconds[stage] = self.seconds.get(stage, 0.0) + seconds
        return self._program

    def loaded(self, resident: Resident) -> LoadedProgram:
        """The program on the query's device."""
        if self._loaded is None:
            program = self.program()
            self._loaded = self.timed("prepare", lambda: LoadedProgram(program, self.device, resident))
        return self._loaded

    def run(self, resident: Resident) -> TableValue:
        """The result. Raises DataError for an overflow, KernelFault for what goes wrong on the device."""
        return self.loaded(resident).run()
