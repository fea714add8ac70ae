"""A HorseIR module on a device: outlined, generated, loaded, and run as often as wanted."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pyarrow as pa

from drawloom.errors import DataError
from drawloom.horse import ranges
from drawloom.horse.blocks import on_all_cores
from drawloom.horse.codegen import generate
from drawloom.horse.infer import infer, variable_types
from drawloom.horse.inline import inline
from drawloom.horse.interpret import run as interpret
from drawloom.horse.ir import Assign, Call, Evaluate, Function, Module, Name, walk
from drawloom.horse.kernel_plan import KernelError, KernelPlan, Storage
from drawloom.horse.kernels.library import CALLS, Library, vectors_of
from drawloom.horse.launch import LOOK_BACK, STORED_DTYPES, LoadedKernel, Resident
from drawloom.horse.launch_cells import loaded_kernel
from drawloom.horse.library import HANDED_ON, call
from drawloom.horse.memory import MemoryUse, counted_by
from drawloom.horse.outline import Outline, outline
from drawloom.horse.ranges import Facts, Range
from drawloom.horse.results import whole
from drawloom.horse.schema import check_tables
from drawloom.horse.symbols import refused_data
from drawloom.horse.templates import S32, fits
from drawloom.horse.types import BOOL, F32, ListType, VectorType
from drawloom.horse.values import Dictionary, ListValue, Ragged, Source, TableValue, Value, Vector
from drawloom.horse.watch import Watch
from drawloom.runtime.machine import Device

_STORAGE: Final[dict[str, str]] = {np.dtype(dtype).name: name for name, dtype in STORED_DTYPES.items()}


class SourceFacts(Facts):
    """What the stored columns themselves say; asking reads and converts a column."""

    def __init__(self, sources: Mapping[str, Source]) -> None:
        self.sources = sources

    def rows(self, table: str) -> int:
        return self.sources[table].rows

    def range(self, table: str, column: str) -> Range | None:
        source = self.sources.get(table)
        if source is None:
            raise DataError(f"there is no table '{table}'")
        found = source.column(column)
        return None if found.vector.type.is_float else (found.low, found.high)


class _NothingKnown(Facts):
    """Facts for an analysis that is only asked which columns there are."""

    def range(self, table: str, column: str) -> Range | None:
        return None


class Program:
    """``module`` is as written, ``outlined`` with kernels; ``plans`` are the kernels' PTX by name.

    ``seconds`` has what each stage of making it took: load, outline, ptx. ``reduces_lanes`` is what ``generate`` takes,
    ``mode`` one of the outliner's.
    """

    def __init__(
        self, module: Module, sources: Mapping[str, Source], reduces_lanes: bool = True, mode: str = "full"
    ) -> None:
        self.sources = sources
        #: The columns that the program loads.
        self.stored: list[tuple[str, str]] = []
        self.reduces_lanes = reduces_lanes
        self.seconds: dict[str, float] = {}
        start = time.perf_counter()
        self.module = infer(module)
        inlined = inline(self.module)
        if inlined is not self.module:
            inlined = infer(inlined)  # a function's wildcards are of one type where it is called
        check_tables(inlined, sources)
        facts = SourceFacts(sources)
        self.find_columns(inlined)
        self.load_columns()
        loaded = time.perf_counter()
        self.outlined: Outline = outline(inlined, facts, mode)
        outlined = time.perf_counter()
        self.plans: dict[str, KernelPlan] = {}
        for function in self.outlined.module.functions:
            if function.is_kernel and function.name not in [f.name for f in self.module.functions]:
                self.plans[function.name] = self.generate(function)
        done = time.perf_counter()
        self.seconds = {"load": loaded - start, "outline": outlined - loaded, "ptx": done - outlined}

    def find_columns(self, module: Module) -> None:
        main = module.function("main")
        if main is not None:
            found = ranges.analyse(main, variable_types(main), _NothingKnown()).columns
            self.stored = sorted(set(found.values()))

    def load_columns(self) -> None:
        """Reads every column that the program loads and that is not there, on all cores, so that its range is known;
        those that are there stay for as long as the query runs. Raises DataError."""
        facts = SourceFacts(self.sources)
        known = [(self.sources.get(table), table, column) for table, column in self.stored]
        missing = [(table, column) for source, table, column in known if source is None or not source.has(column)]
        on_all_cores(missing, lambda column: facts.range(*column))

    def generate(self, kernel: Function, rows: int = 0) -> KernelPlan:
        """The kernel's PTX, for as many rows as the largest table has, or ``rows``, whichever is more."""
        outlined = self.outlined
        storage = {p.name: self.storage(p.name) for p in kernel.params if not self.is_scalar(p.name)}
        rows = max([rows, *[self.sources[t].rows for t in outlined.ranges.tables.values()]])
        power = 1 << max(rows - 1, 1).bit_length()
        types, shapes, lanes = outlined.types, outlined.shapes, self.reduces_lanes
        inside = outlined.picks_inside
        return generate(kernel, types, outlined.ranges, shapes, storage, inside, power, lanes, LOOK_BACK[lanes])

    def is_scalar(self, name: str) -> bool:
        return str(self.outlined.shapes[name].size) == "1"

    def storage(self, name: str) -> Storage:
        """How the rows of a variable of ``main`` lie in memory: as the stored column does, or by their range."""
        stored = self.outlined.ranges.columns.get(name)
        if stored is None:
            type = self.outlined.types[name]
            type = type.element if isinstance(type, ListType) else type
            assert isinstance(type, VectorType)
            return row_storage(type, self.outlined.ranges.of(Name(name), type))
        dtype: np.dtype[Any] = self.sources[stored[0]].column(stored[1]).vector.dtype
        return Storage(_STORAGE[dtype.name], dtype.itemsize, True)

    def ptx(self) -> str:
        """The PTX of all kernels, as text."""
        return "\n".join([str(p.module) for p in self.plans.values()])

    def interpret(self) -> TableValue:
        """The result by the interpreter alone: the oracle."""
        return result_table(interpret(self.module, self.sources))

    def interpret_outlined(self) -> TableValue:
        """The result of the outlined module by the interpreter, its kernels included."""
        return result_table(interpret(self.outlined.module, self.sources))


def row_storage(type: VectorType, range: Range | None) -> Storage:
    """How rows that kernels or control code made are handed to a kernel."""
    if type == BOOL:
        return Storage("u8", 1)
    if type.is_float:
        return Storage("f32", 4) if type == F32 else Storage("f64", 8)
    if type.kind == "text":
        return Storage("s32", 4)
    return Storage("s32", 4) if fits(range, S32) else Storage("s64", 8)


class LoadedProgram:
    """A program on a device. Running it twice compiles nothing twice."""

    def __init__(self, program: Program, device: Device, resident: Resident) -> None:
        self.program = program
        self.device = device
        self.resident = resident
        self.kernels: dict[str, LoadedKernel] = {}
        for function in program.outlined.module.functions:
            plan = program.plans.get(function.name)
            if plan is not None:
                self.kernels[function.name] = loaded_kernel(function, plan, device)
        #: Does the library functions in place of the resident one.
        self.library: Library | None = None

    def run(self, watch: Watch | None = None) -> TableValue:
        """The table that ``main`` returns; as ``values``, and DataError for anything else."""
        return result_table(self.values(watch))

    def arrow(self, watch: Watch | None = None) -> pa.Table:
        """The table that ``main`` returns, as Arrow has it. Raises as ``run`` does."""
        with counted_by(self.resident.use):
            made = self.run(watch)
            if self.resident.use is not None:
                self.resident.use.begin_result()
            return made.to_arrow()

    def values(self, watch: Watch | None = None) -> list[Value]:
        """What ``main`` returns. Raises DataError for an overflow."""
        use = self.resident.use
        module = self.program.outlined.module
        workspace = self.resident.workspace
        try:
            with counted_by(use), self.device.backend.session():
                self.program.load_columns()
                if use is not None:
                    use.begin_program()
                self.send_columns()
                made = interpret(module, self.program.sources, kernel=self.call, library=self.evaluate, watch=watch)
                workspace.fetch([vector for value in made if isinstance(value, TableValue) for vector in value.columns])
                workspace.give_back()
        except Exception:
            workspace.drop()
            raise
        if use is not None:
            use.give_back()
        return made

    def send_columns(self) -> None:
        """Begins to take to a device apart the stored columns that kernels read, in the order of their first use."""
        main = self.program.outlined.module.function("main")
        if self.device.is_host or main is None:
            return
        stored = self.program.outlined.ranges.columns
        for statement in walk(main.body):
            call = statement.value if isinstance(statement, Assign | Evaluate) else None
            if not isinstance(call, Call):
                continue
            loaded = self.kernels.get(call.function.name)
            if loaded is None and call.function.name not in CALLS:
                continue
            for number, argument in enumerate(call.arguments):
                place = stored.get(argument.name) if isinstance(argument, Name) else None
                if place is None:
                    continue
                vector = self.program.sources[place[0]].column(place[1]).vector
                if loaded is None:
                    self.resident.workspace.send(vector, vector.dtype)
                    continue
                parameter = loaded.function.params[number].name
                if parameter in loaded.plan.columns:
                    storage = loaded.plan.storage[parameter]
                    self.resident.workspace.send(vector, STORED_DTYPES[storage.name], storage.is_padded)

    def evaluate(self, name: str, arguments: list[Value]) -> Value:
        """The value of a builtin, by kernels or on the host; the account asks for eight bytes for each row of the
        longest operand before, and counts what comes out."""
        use = self.resident.use
        if use is not None and name not in HANDED_ON:
            use.ask(8 * max([rows_of(a) for a in arguments], default=0), f"@{name}", begins=True)
        made = (self.library or self.resident.library).call(name, arguments)
        if made is None:
            made = call(name, arguments)
        if use is not None:
            hold_values(use, made)
        return made

    def call(self, function: Function, arguments: list[Value]) -> list[Value] | None:
        """What a kernel returns; None for one that stayed a call, which is control code, and where control code is the
        better choice for these arguments."""
        loaded = self.kernels.get(function.name)
        if loaded is None:
            return None
        if self.resident.use is not None:
            self.resident.use.operation = f"kernel {function.name}"
        rows = loaded.rows(arguments)
        are_here = all(v.deferred is None for v in vectors_of(arguments))
        if not loaded.is_better(rows, (self.library or self.resident.library).choice, are_here):
            return None
        if rows > loaded.plan.most_rows:
            # A join can make more rows than any table has, and their sums be wider than those of a table's.
            loaded = loaded_kernel(function, self.program.generate(function, rows), self.device)
            self.kernels[function.name] = loaded
        try:
            results = loaded.run(arguments, self.resident)
        except KernelError as problem:
            raise refused_data(self.program.outlined.module, problem, problem.pos) from None
        if self.resident.use is not None:
            for result in results:
                hold_values(self.resident.use, result)
        return results


def rows_of(value: Value) -> int:
    """The most rows of the vectors in a value that are in the host's memory."""
    if isinstance(value, Vector):
        return len(value) if value.deferred is None else 0
    if isinstance(value, Ragged):
        return rows_of(value.flat)
    return max([rows_of(cell) for cell in value.cells], default=0) if isinstance(value, ListValue) else 0


def hold_values(use: MemoryUse, value: Value) -> None:
    """Counts the arrays of a value that are in the host's memory."""
    if isinstance(value, Vector):
        if value.deferred is None:
            use.hold_array(value.data)
    elif isinstance(value, Ragged):
        hold_values(use, value.flat)
        use.hold_array(value.offsets)
    elif isinstance(value, Dictionary):
        hold_values(use, value.keys)
        hold_values(use, value.values)
    elif isinstance(value, ListValue):
        for cell in value.cells:
            hold_values(use, cell)


def result_table(values: list[Value]) -> TableValue:
    if len(values) != 1 or not isinstance(values[0], TableValue):
        raise DataError("'main' returned no table")
    return whole(values[0])
