"""Runs a generated kernel on a device and makes its partial results the vectors that the HorseIR kernel returns."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from drawloom.horse.accumulate import Accumulator
from drawloom.horse.emit import WARP
from drawloom.horse.evaluate import averages
from drawloom.horse.groups import FEW_GROUPS
from drawloom.horse.ir import Function
from drawloom.horse.kernel_plan import KernelPlan, Output, Storage, length_parameter, parameter
from drawloom.horse.kernels.device import level_for
from drawloom.horse.kernels.library import LEAST_THERE, Library
from drawloom.horse.kernels.look_back import states_for
from drawloom.horse.kernels.rows import Tile
from drawloom.horse.kernels.workspace import Memory, Scratch, Size, Workspace
from drawloom.horse.matching import places
from drawloom.horse.memory import MemoryUse, ask, closed_up, sparse
from drawloom.horse.ranges import MAX_ROWS
from drawloom.horse.types import BOOL, F32, scale_of
from drawloom.horse.values import PAD, Array, Value, Vector, as_vector, narrowest, padded_rows, some_words, taken
from drawloom.runtime.machine import Device

ROW_DTYPES: Final[dict[str, Any]] = {
    "s32": np.int32, "s64": np.int64, "f32": np.float32, "f64": np.float64, "pred": np.bool_,
}  # fmt: skip
#: Columns as kernels read them, by what codegen calls their storage.
STORED_DTYPES: Final[dict[str, Any]] = {
    "s8": np.int8, "s16": np.int16, "s32": np.int32, "s64": np.int64, "f32": np.float32, "f64": np.float64,
    "u8": np.bool_,
}  # fmt: skip
#: Bytes of a word of a report.
_WORD: Final = 8
#: Results that are kept in other numbers than they are accumulated in.
_RESULTS: Final[dict[str, Any]] = {BOOL.text: np.bool_, F32.text: np.float32}


#: Rows that no stored table has, from which on a kernel is faster than NumPy on a CPU. Two cores, milliseconds of both
#: for 10,000, 100,000 and 1,000,000 rows: one pick 0.6 0.3, 1.0 0.6, 3.8 6.6; three 0.7 0.4, 1.7 1.6, 15.5 21.3; two
#: picks and two calculations 0.5 0.6, 1.0 1.9, 3.9 27.7; two picks summed up by group 0.8 0.8, 2.0 4.4, 9.6 47.2.
LEAST_PICKED: Final = 1 << 17
LEAST_COMPUTED: Final = 1 << 14
#: And when it is asked for first, so that it has to be compiled: some 50 ms.
LEAST_COMPILED: Final = 1 << 21
#: Of so many rows a mask that selects one or more selects many.
_DENSE: Final = 4


class Geometry:
    """``blocks`` of ``threads``, each taking ``chunk`` rows in a row."""

    def __init__(self, blocks: int, threads: int, chunk: int) -> None:
        self.blocks = blocks
        self.threads = threads
        self.chunk = chunk

    @property
    def warps(self) -> int:
        return self.blocks * self.threads // WARP

    @property
    def share(self) -> int:
        """The rows of a warp, where each takes some in a row."""
        return self.chunk * WARP // self.threads


#: The tile of a block whose kernel writes selected rows by look-back, by whether lanes reduce by shuffles, as on a GPU;
#: without one each warp's rows are put together by NumPy. On a CPU, where there are few warps, that needs as much time
#: with less code: of 6,000,000 rows a mask that selects 0.5, 10, 50 and 98 % takes 5.0, 6.8, 8.8, 13.4 ms of processor
#: time, and 4.1, 9.1, 17.2, 23.8 by look-back; LLVM takes 46 ms, and 108.
LOOK_BACK: Final[dict[bool, Tile | None]] = {True: Tile(256, 16), False: None}


def geometry(device: Device, rows: int, tile: Tile | None = None) -> Geometry:
    """Blocks for ``rows`` rows. A CPU core takes one warp at a time, so a block is one warp there, and some blocks a
    core even out what else the machine does; a GPU gets enough warps a multiprocessor to hide memory latency. Blocks
    that take a ``tile`` after the other are as many."""
    if tile is not None:
        return Geometry(min(tile.blocks(rows), 8 * max(device.cores, 1)), tile.threads, tile.rows)
    if device.kind == "cuda":
        threads, blocks, least = 256, 8 * max(device.cores, 1), 4096
    else:
        threads, blocks, least = 32, 8 * max(device.cores, 1), 8192
    if device.kind == "reference":
        blocks = 2
    wanted = max(-(-rows // blocks), least)
    chunk = -(-wanted // PAD) * PAD
    return Geometry(max(-(-rows // chunk), 1), threads, chunk)


class Report:
    """What a launch writes for the host to read: ``parts`` by the kernel's parameters, so many words of 64 bits each,
    all zero before. They lie next to each other, so that on a device apart one copy brings them to the host, when it
    first asks; of the last part it takes ``taken`` words."""

    def __init__(self, workspace: Workspace, parts: dict[str, int], taken: int) -> None:
        self.workspace = workspace
        self.parts = parts
        self.begins: dict[str, int] = {}
        total = last = 0
        for name, words in parts.items():
            self.begins[name] = last = total
            total += words
        self.memory: Memory = workspace.full(total, np.int64, 0)
        self.scratch = Scratch(workspace, self.memory, 0, last + taken)

    def argument(self, name: str) -> object:
        """A part as a launch takes it."""
        begin = self.begins[name]
        if self.workspace.device.is_host:
            return self.memory[begin : begin + self.parts[name]]
        return self.memory.address + begin * _WORD

    def begin_with(self, name: str, words: Array) -> None:
        """The part's words before the launch."""
        begin = self.begins[name]
        if self.workspace.device.is_host:
            self.memory[begin : begin + len(words)] = words
        else:
            self.memory.allocation().write(words.view(np.uint8), begin * _WORD, self.workspace.queue())

    def words(self, name: str) -> Array:
        """The part's words after the launch."""
        begin = self.begins[name]
        return self.scratch.read()[begin : begin + self.parts[name]]

    def size(self, name: str, place: int) -> int | Size:
        """The number in one word, which on a device apart nobody waits for now."""
        size = Size(self.scratch, self.begins[name] + place)
        return int(size) if self.workspace.device.is_host else size


class LoadedKernel:
    """A kernel plan on a device."""

    def __init__(self, function: Function, plan: KernelPlan, device: Device) -> None:
        from drawloom.runtime import load

        self.function = function
        self.plan = plan
        self.device = device
        self.kernel = load(plan.module, device=device, level=level_for(device), reinterpret=True)[plan.name]
        self.times_asked = 0
        #: The masks that selected many of the rows when the kernel last ran.
        self.dense: frozenset[int] = frozenset()

    def rows(self, arguments: list[Value]) -> int:
        """The rows of the arguments; -1 where they have unlike ones, which is for the interpreter to judge."""
        linear = self.plan.linear
        lengths = {len(as_vector(a)) for p, a in zip(self.function.params, arguments) if p.name in linear}
        return lengths.pop() if len(lengths) == 1 else -1

    def is_better(self, rows: int, choice: str, are_here: bool) -> bool:
        """Whether the kernel, and not the interpreter, is to compute so many rows, which the host has or not;
        ``choice`` is the library's."""
        plan = self.plan
        if not 0 <= rows <= MAX_ROWS or plan.groups > max(FEW_GROUPS, rows):
            return False
        if plan.is_stored or choice == "kernels":
            return True
        if self.device.kind != "cpu":
            return rows >= LEAST_THERE or not are_here
        self.times_asked += 1
        if self.times_asked == 1:
            return rows >= LEAST_COMPILED
        return rows >= (LEAST_PICKED if plan.only_picks else LEAST_COMPUTED)

    def run(self, arguments: list[Value], resident: Resident) -> list[Value]:
        """The kernel's results for these arguments, in the order of its return. Raises DataError for an overflow."""
        plan, workspace = self.plan, resident.workspace
        named = {p.name: as_vector(a) for p, a in zip(self.function.params, arguments)}
        rows = len(named[plan.linear[0]])
        shape = geometry(self.device, rows, plan.tile)
        report = self.report(workspace, shape, rows)
        buffers = self.buffers(workspace, padded_rows(rows))
        given = self.given(named, resident, buffers)
        given.update({"rows": rows, "chunk": shape.chunk})
        given.update({name: report.argument(name) for name in report.parts})
        launch = self.kernel[shape.blocks, shape.threads, workspace.stream]
        launch(*[given[p.name] for p in self.kernel.parameters])
        given.clear()  # buffers go when they are read
        if plan.errors:
            plan.check(int(report.words("error")[0]))
        counters = range(plan.counters)
        kept: list[Array | int | Size] = []
        if plan.tile is None:
            counts = [report.words(f"kept{i}").view(np.uint32)[: shape.warps] for i in counters]
            self.dense = frozenset([i for i in counters if _DENSE * int(counts[i].sum()) >= rows])
            kept.extend(counts)
        else:
            kept.extend([report.size("states", 1 + i) for i in counters])
        results = Results(workspace, plan, named, rows, self.by_slot(report, shape), buffers, kept, shape.share)
        if plan.marks:
            results.present = places(report.words("out")[plan.slots * plan.groups :].view(np.uint8)[: plan.groups])
        return results.outputs()

    def given(self, named: dict[str, Vector], resident: Resident, buffers: list[Memory]) -> dict[str, object]:
        """The kernel's arguments that are its operands and its row results, by parameter."""
        plan = self.plan
        given: dict[str, object] = {}
        for name in plan.columns:
            given[parameter(name)] = resident.column(named[name], plan.storage[name])
        given.update({parameter(name): scalar(named[name]) for name in plan.scalars})
        given.update({p.name: p.value(named[p.column].words) for p in plan.text_params})
        given.update({length_parameter(name): len(named[name]) for name in plan.lengths})
        given.update({f"result{i}": b for i, b in enumerate(buffers)})
        return given

    def buffers(self, workspace: Workspace, rows: int) -> list[Memory]:
        """Memory for the row results. On a host what is selected by warps takes only the pages that are written, which
        are slower to take, unless they were many the last time."""
        made: list[Memory] = []
        selected = {o.value: o.count for o in self.plan.outputs if o.kind == "rows" and o.count >= 0}
        for number, kind in enumerate(self.plan.row_buffers):
            dtype = np.dtype(ROW_DTYPES[kind])
            if number not in selected or self.plan.tile is not None or not self.device.is_host:
                made.append(workspace.empty(rows, dtype))
                continue
            ask(rows * dtype.itemsize, "a kernel's result")
            made.append(np.empty(rows, dtype) if selected[number] in self.dense else sparse(rows, dtype))
        return made

    def report(self, workspace: Workspace, shape: Geometry, rows: int) -> Report:
        """Memory for partial results, errors and counts; a global table starts as its accumulators do."""
        plan = self.plan
        cells = plan.slots * plan.groups
        parts = {"error": 1}
        if plan.tile is None:
            parts.update({f"kept{i}": -(-shape.warps // 2) for i in range(plan.counters)})
        if plan.space == "register":
            parts["out"] = max(cells * shape.blocks * shape.threads // (WARP if plan.reduces_lanes else 1), 1)
        else:
            marks = -(-plan.marks // _WORD)
            parts["out"] = max(cells * (shape.blocks if plan.space == "shared" else 1) + marks, 1)
        taken = parts["out"]
        if plan.tile is not None:
            parts["states"] = states_for(plan.tile.blocks(rows), plan.counters)
            taken = 1 + plan.counters
        report = Report(workspace, parts, taken)
        identities = [(a.slot, a.identity()) for a in plan.accumulators]
        if plan.space not in ("register", "shared") and any(identity for _, identity in identities):
            table = np.zeros((plan.slots, plan.groups), dtype=np.int64)
            for slot, identity in identities:
                table[slot] = identity
            report.begin_with("out", table.reshape(-1))
        return report

    def by_slot(self, report: Report, shape: Geometry) -> Array:
        """The partial results as [slot, group, part]."""
        plan = self.plan
        if not plan.accumulators:
            return np.zeros((0, 1, 1), dtype=np.int64)
        out = report.words("out")
        if plan.space == "shared":
            return out.reshape(shape.blocks, plan.slots, plan.groups).transpose(1, 2, 0)
        if plan.space == "global":
            return out[: plan.slots * plan.groups].reshape(plan.slots, plan.groups, 1)
        return out.reshape(plan.slots, plan.groups, -1)


class Resident:
    """Columns where the device reads them: host memory itself, or a copy that stays on the device.

    ``library`` does the library functions there; ``choice`` is one of its ``CHOICES``. What runs is counted by ``use``.
    """

    def __init__(self, device: Device, choice: str = "auto", use: MemoryUse | None = None) -> None:
        self.device = device
        self.use = use
        self.library = Library(device, choice)
        self.workspace = self.library.kernels.workspace

    def column(self, vector: Vector, storage: Storage) -> object:
        """The rows as a kernel that expects ``storage`` reads them, a stored column up to a multiple of PAD."""
        return self.workspace.column(vector, STORED_DTYPES[storage.name], storage.is_padded)


class Results:
    """The results of one launch, from the partial results of its accumulators and its row buffers: ``kept`` has by
    masks how many rows are in a buffer or, by warp, in the front of the warp's ``share`` of it."""

    def __init__(
        self,
        workspace: Workspace,
        plan: KernelPlan,
        named: dict[str, Vector],
        rows: int,
        slots: Array,
        buffers: list[Memory],
        kept: list[Array | int | Size],
        share: int,
    ) -> None:
        self.workspace = workspace
        self.plan = plan
        self.named = named
        self.rows = rows
        self.slots = slots
        self.buffers = buffers
        self.kept = kept
        self.share = share
        #: The numbers of the groups that there are.
        self.present: Array | None = None
        if plan.exists >= 0 and not plan.marks:
            self.present = places(self.total(plan.accumulators[plan.exists]))

    def outputs(self) -> list[Value]:
        """All results; a buffer of rows goes with the last one that is in it."""
        made: list[Value] = []
        if self.present is not None:
            ask(_WORD * len(self.present) * len(self.plan.outputs), "groups")
        last = {output.value: output for output in self.plan.outputs if output.kind == "rows"}
        for output in self.plan.outputs:
            made.append(self.output(output))
            if last.get(output.value) is output:
                self.buffers[output.value] = None
        return made

    def output(self, output: Output) -> Vector:
        dictionary = self.named[output.column].dictionary if output.type.kind == "text" else None
        if output.kind == "rows":
            rows = self.rows if output.count < 0 else self.kept[output.count]
            if isinstance(rows, int | Size):
                return self.workspace.vector(output.type, self.buffers[output.value], rows, dictionary)
            return Vector(output.type, self.parts(output, rows), dictionary)
        if output.kind == "key":
            return Vector(output.type, self.key_values(output), dictionary)
        words = None if dictionary is None else some_words(dictionary)
        return Vector(output.type, self.reduced(output), words)

    def parts(self, output: Output, kept: Array) -> Array:
        """The rows that masks kept, from where each warp put its own."""
        buffer = self.buffers[output.value]
        if self.workspace.device.is_host:
            return closed_up(buffer, self.share, kept.tolist())
        values, parts = self.workspace.get(buffer, self.rows), enumerate(kept.tolist())
        return np.concatenate([values[w * self.share : w * self.share + count] for w, count in parts])

    def key_values(self, output: Output) -> Array:
        key = self.plan.keys[output.value]
        assert self.present is not None
        values = self.present
        if len(self.plan.keys) > 1:
            values = values // key.stride % key.size
        if output.type == BOOL:
            return (values + key.low).astype(bool)
        low, high = key.low, key.low + key.size - 1
        return values + values.dtype.type(low) if narrowest(low, high).itemsize <= 4 else values.astype(np.int64) + low

    def reduced(self, output: Output) -> Array:
        plan = self.plan
        counts = None if output.count < 0 else self.picked(plan.accumulators[output.count])
        if output.value < 0:
            assert counts is not None
            return counts
        accumulator = plan.accumulators[output.value]
        values = self.picked(accumulator)
        if output.function == "avg":
            assert counts is not None
            return self.averages(accumulator, values, counts)
        if counts is not None:
            # The minimum and maximum of nothing are 0, as the evaluator has it.
            values = np.where(counts > 0, values, values.dtype.type(0))
        return values.astype(_RESULTS[output.type.text]) if output.type.text in _RESULTS else values

    def averages(self, accumulator: Accumulator, values: Array, counts: Array) -> Array:
        if accumulator.kind == "f64":
            with np.errstate(all="ignore"):
                return np.asarray(values / counts)
        assert accumulator.held is not None
        scale = scale_of(accumulator.held.type)
        return averages(values, counts, scale)

    def picked(self, accumulator: Accumulator) -> Array:
        """The accumulator's value for every group that has rows; one value without groups."""
        total = self.total(accumulator)
        return total if self.present is None else taken(total, self.present)

    def total(self, accumulator: Accumulator) -> Array:
        """The accumulator's value for every group: its partial results put together."""
        parts = self.slots[accumulator.slot]
        if accumulator.kind in ("i64", "count"):
            return np.asarray(parts[:, 0] if parts.shape[1] == 1 else parts.sum(axis=1))
        if accumulator.kind == "i128":
            high = self.slots[accumulator.slot + 1]
            low = parts.view(np.uint64) if parts.flags.c_contiguous else np.ascontiguousarray(parts).view(np.uint64)
            sums = [sum(h.tolist()) * (1 << 64) + sum(w.tolist()) for h, w in zip(high, low)]
            return np.array(sums, dtype=object)
        if accumulator.is_float and accumulator.kind != "f64" and self.plan.space != "register":
            ordered = parts.min(axis=1) if accumulator.kind == "min" else parts.max(axis=1)
            return _unordered(ordered)
        if accumulator.is_float:
            return self.total_floats(accumulator, np.ascontiguousarray(parts).view(np.float64))
        return np.asarray(parts.min(axis=1) if accumulator.kind == "min" else parts.max(axis=1))

    def total_floats(self, accumulator: Accumulator, parts: Array) -> Array:
        with np.errstate(all="ignore"):
            if accumulator.kind == "f64":
                return np.asarray(parts.sum(axis=1))
            # fmin passes over NaN, maximum does not: NaN is above every number.
            return np.asarray(np.fmin.reduce(parts, axis=1) if accumulator.kind == "min" else parts.max(axis=1))


def scalar(vector: Vector) -> int | float:
    value = vector.data.tolist()[0]
    return float(value) if vector.type.is_float else int(value)


def _unordered(ordered: Array) -> Array:
    """The floats behind the ordered integers of a table's minima and maxima."""
    bits = ordered ^ ((ordered >> 63) & np.int64((1 << 63) - 1))
    return np.asarray(np.ascontiguousarray(bits).view(np.float64))
