"""Runs a generated kernel on a device and makes its partial results the vectors that the HorseIR kernel returns."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from drawloom.errors import DataError
from drawloom.horse.accumulate import Accumulator
from drawloom.horse.codegen import KernelPlan, Output, parameter
from drawloom.horse.evaluate import averages
from drawloom.horse.ir import Function
from drawloom.horse.kernels.library import Library
from drawloom.horse.types import BOOL, DecimalType, VectorType
from drawloom.horse.values import PAD, Array, Value, Vector, as_vector
from drawloom.runtime.machine import Device

_ROW_DTYPES: Final[dict[str, Any]] = {
    "s32": np.int32, "s64": np.int64, "f32": np.float32, "f64": np.float64, "pred": np.bool_,
}  # fmt: skip
#: Columns as kernels read them, by what codegen calls their storage.
STORED_DTYPES: Final[dict[str, Any]] = {
    "s8": np.int8, "s16": np.int16, "s32": np.int32, "s64": np.int64, "f32": np.float32, "f64": np.float64,
    "u8": np.bool_,
}  # fmt: skip


class Geometry:
    """``blocks`` of ``threads``, each taking ``chunk`` rows in a row."""

    def __init__(self, blocks: int, threads: int, chunk: int) -> None:
        self.blocks = blocks
        self.threads = threads
        self.chunk = chunk


def geometry(device: Device, rows: int) -> Geometry:
    """Blocks for ``rows`` rows. A CPU core takes one warp at a time, so a block is one warp there, and some blocks a
    core even out what else the machine does; a GPU gets enough warps a multiprocessor to hide memory latency."""
    if device.kind == "cuda":
        threads, blocks, least = 256, 8 * max(device.cores, 1), 4096
    else:
        threads, blocks, least = 32, 8 * max(device.cores, 1), 8192
    if device.kind == "reference":
        blocks = 2
    wanted = max(-(-rows // blocks), least)
    chunk = -(-wanted // PAD) * PAD
    return Geometry(max(-(-rows // chunk), 1), threads, chunk)


class Launched:
    """What one launch took, in seconds. ``first_compile_seconds`` is what making the machine code took when the
    kernel was launched first, and ``cached`` whether it came out of the cache then."""

    def __init__(self, name: str, rows: int, compile_seconds: float, run_seconds: float) -> None:
        self.name = name
        self.rows = rows
        self.compile_seconds = compile_seconds
        self.run_seconds = run_seconds
        self.first_compile_seconds = compile_seconds
        self.cached = False


class LoadedKernel:
    """A kernel plan on a device."""

    def __init__(self, function: Function, plan: KernelPlan, device: Device) -> None:
        from drawloom.runtime import load

        self.function = function
        self.plan = plan
        self.device = device
        self.kernel = load(plan.module, device=device)[plan.name]
        self.first: tuple[float, bool] | None = None

    def run(self, arguments: list[Value], resident: Resident) -> tuple[list[Value], Launched]:
        """The kernel's results for these arguments, in the order of its return. Raises DataError for an overflow."""
        plan = self.plan
        named = {p.name: as_vector(a) for p, a in zip(self.function.params, arguments)}
        rows = len(named[plan.columns[0]])
        shape = geometry(self.device, rows)
        out = self.partials(shape)
        error = np.zeros(1, dtype=np.uint32)
        buffers = [np.empty(_padded_rows(rows), dtype=_ROW_DTYPES[k]) for k in plan.row_buffers]
        given: dict[str, object] = {}
        for name in plan.columns:
            given[parameter(name)] = resident.column(named[name], STORED_DTYPES[plan.storage[name].name])
        given.update({parameter(name): _scalar(named[name]) for name in plan.scalars})
        given.update({p.name: p.value(named[p.column].words) for p in plan.text_params})
        given.update({f"result{i}": b for i, b in enumerate(buffers)})
        given.update({"out": out, "error": error, "rows": rows, "chunk": shape.chunk})
        launch = self.kernel[shape.blocks, shape.threads](*[given[p.name] for p in self.kernel.parameters])
        if error[0]:
            raise DataError(plan.errors[int(error[0]) - 1])
        results = Results(plan, named, rows, self.by_slot(out, shape), buffers)
        took = Launched(plan.name, rows, launch.compile_seconds, launch.run_seconds)
        if self.first is None:
            self.first = (launch.compile_seconds, launch.cached)
        took.first_compile_seconds, took.cached = self.first
        return [results.output(o) for o in plan.outputs], took

    def partials(self, shape: Geometry) -> Array:
        """Memory for the partial results; a global table starts as its accumulators do."""
        plan = self.plan
        if plan.space == "register":
            parts = shape.blocks * shape.threads // (32 if plan.reduces_lanes else 1)
            return np.empty(max(plan.slots * plan.groups * parts, 1), dtype=np.int64)
        if plan.space == "shared":
            return np.empty(plan.slots * plan.groups * shape.blocks, dtype=np.int64)
        table = np.zeros((plan.slots, plan.groups), dtype=np.int64)
        for accumulator in plan.accumulators:
            table[accumulator.slot] = accumulator.identity()
        return table.reshape(-1)

    def by_slot(self, out: Array, shape: Geometry) -> Array:
        """The partial results as [slot, group, part]."""
        plan = self.plan
        if not plan.accumulators:
            return np.zeros((0, 1, 1), dtype=np.int64)
        if plan.space == "shared":
            return out.reshape(shape.blocks, plan.slots, plan.groups).transpose(1, 2, 0)
        return out.reshape(plan.slots, plan.groups, -1)


class Resident:
    """Columns where the device reads them: host memory itself, or a copy that stays on the device.

    ``library`` does the library functions there; ``choice`` is one of its ``CHOICES``.
    """

    def __init__(self, device: Device, choice: str = "auto") -> None:
        self.device = device
        self.library = Library(device, choice)
        self.copies: dict[int, tuple[Array, object]] = {}

    def column(self, vector: Vector, dtype: Any) -> object:
        """The rows as a kernel that expects ``dtype`` reads them, up to a multiple of PAD."""
        from drawloom.runtime import Buffer

        data = vector.padded
        if data is None or data.dtype != dtype:
            data = np.zeros(_padded_rows(len(vector)), dtype=dtype)
            data[: len(vector)] = vector.data
            return data
        if self.device.is_host:
            return data
        known = self.copies.get(id(data))
        if known is None:
            known = (data, Buffer.from_array(data, self.device))
            self.copies[id(data)] = known
        return known[1]


class Results:
    """The results of one launch, from the partial results of its accumulators and its row buffers."""

    def __init__(
        self, plan: KernelPlan, named: dict[str, Vector], rows: int, slots: Array, buffers: list[Array]
    ) -> None:
        self.plan = plan
        self.named = named
        self.rows = rows
        self.slots = slots
        self.buffers = buffers
        self.present: Array | None = None
        if plan.exists >= 0:
            self.present = np.flatnonzero(self.total(plan.accumulators[plan.exists]))

    def output(self, output: Output) -> Vector:
        dictionary = self.named[output.column].dictionary if output.type.kind == "text" else None
        if output.kind == "rows":
            return Vector(output.type, self.row_values(output), dictionary)
        if output.kind == "key":
            return Vector(output.type, self.key_values(output), dictionary)
        return Vector(output.type, self.reduced(output), dictionary)

    def row_values(self, output: Output) -> Array:
        values = self.buffers[output.value][: self.rows]
        return values if output.count < 0 else values[self.buffers[output.count][: self.rows]]

    def key_values(self, output: Output) -> Array:
        key = self.plan.keys[output.value]
        assert self.present is not None
        values = self.present // key.stride % key.size + key.low
        return values.astype(bool) if output.type == BOOL else values

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
        return values.astype(bool) if output.type == BOOL else values

    def averages(self, accumulator: Accumulator, values: Array, counts: Array) -> Array:
        if accumulator.kind == "f64":
            with np.errstate(all="ignore"):
                return np.asarray(values / counts)
        assert accumulator.held is not None
        scale = _scale(accumulator.held.type)
        return averages(values, counts, scale)

    def picked(self, accumulator: Accumulator) -> Array:
        """The accumulator's value for every group that has rows; one value without groups."""
        total = self.total(accumulator)
        return total if self.present is None else total[self.present]

    def total(self, accumulator: Accumulator) -> Array:
        """The accumulator's value for every group: its partial results put together."""
        parts = self.slots[accumulator.slot]
        if accumulator.kind in ("i64", "count"):
            return np.asarray(parts.sum(axis=1))
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


def _scale(type: VectorType) -> int:
    return type.scale if isinstance(type, DecimalType) else 0


def _padded_rows(rows: int) -> int:
    return max(-(-rows // PAD), 1) * PAD


def _scalar(vector: Vector) -> int | float:
    value = vector.data.tolist()[0]
    return float(value) if vector.type.is_float else int(value)


def _unordered(ordered: Array) -> Array:
    """The floats behind the ordered integers of a table's minima and maxima."""
    bits = ordered ^ ((ordered >> 63) & np.int64((1 << 63) - 1))
    return np.asarray(np.ascontiguousarray(bits).view(np.float64))
