"""Runs a kernel over the cells of a list: the list's elements and offsets in, vectors with an element a cell out, or
lists of one; and one over the elements of lists, of which it makes more."""

from __future__ import annotations

from typing import Final

import numpy as np

from drawloom.horse.ir import Function
from drawloom.horse.kernel_plan import KernelPlan
from drawloom.horse.launch import ROW_DTYPES, LoadedKernel, Report, Resident, geometry
from drawloom.horse.lists import MAX_CELL
from drawloom.horse.types import ListType
from drawloom.horse.values import Array, Ragged, Value, Vector, as_vector
from drawloom.runtime.machine import Device

#: From how many rows a cell has on average on it gets a warp on a CPU, else a thread. Two cores, 4,000,000 rows, ms of
#: processor time with 1, 8 and 32 threads a cell, by rows a cell: 2: 35 81 427, 12: 23 37 91, 64: 21 20 32, 300: 19 19
#: 21, 8,000: 11 16 15. Long cells are few, so that threads would be idle and cores wait for one.
WIDE_ON_CPU: Final = 1 << 10


def lanes_for(device: Device, rows: int, cells: int) -> int:
    """The shift for so many rows in so many cells. On a GPU a cell has as many threads, of a warp's, as it has rows on
    average, so that neighbouring threads read neighbouring elements (figure 6.3)."""
    mean = rows // max(cells, 1)
    if device.kind == "cpu":
        return WIDEST if mean >= WIDE_ON_CPU else 0
    return min(max(mean, 1).bit_length() - 1, WIDEST)


#: The shift of a warp a cell.
WIDEST: Final = 5


def loaded_kernel(function: Function, plan: KernelPlan, device: Device) -> LoadedKernel:
    """The plan on a device, over cells, elements or rows."""
    if plan.is_flat:
        return LoadedElements(function, plan, device)
    return LoadedCells(function, plan, device) if plan.cells else LoadedKernel(function, plan, device)


class LoadedCells(LoadedKernel):
    """A kernel over the cells of a list. Its rows are the list's elements."""

    def rows(self, arguments: list[Value]) -> int:
        """As of a kernel over rows; -1 also for a list that is not one vector, and where a cell is too large for a
        warp, which is for the library to cut."""
        params = self.function.params
        (given,) = [a for p, a in zip(params, arguments) if p.name == self.plan.cells]
        if not isinstance(given, Ragged) or int(np.diff(given.offsets).max(initial=0)) > MAX_CELL:
            return -1
        linear = [as_vector(a) for p, a in zip(params, arguments) if p.name in self.plan.linear]
        return len(given.flat) if all(len(v) == given.count for v in linear) else -1

    def run(self, arguments: list[Value], resident: Resident) -> list[Value]:
        plan, workspace = self.plan, resident.workspace
        named: dict[str, Vector] = {}
        offsets = np.zeros(1, dtype=np.int64)
        for param, argument in zip(self.function.params, arguments):
            if isinstance(argument, Ragged):
                offsets = np.ascontiguousarray(argument.offsets, dtype=np.int64)
            named[param.name] = argument.flat if isinstance(argument, Ragged) else as_vector(argument)
        cells = len(offsets) - 1
        shift = lanes_for(self.device, len(named[plan.cells]), cells)
        shape = geometry(self.device, cells << shift)
        report = Report(workspace, {"error": 1}, 1)
        buffers = [workspace.empty(cells, ROW_DTYPES[kind]) for kind in plan.row_buffers]
        given = self.given(named, resident, buffers)
        given.update({"rows": cells, "chunk": shape.chunk, "shift": shift})
        given.update({"cells": workspace.put(offsets), "error": report.argument("error")})
        launch = self.kernel[shape.blocks, shape.threads, workspace.stream]
        launch(*[given[p.name] for p in self.kernel.parameters])
        if plan.errors:
            plan.check(int(report.words("error")[0]))
        made: list[Value] = []
        for output in plan.outputs:
            words = named[output.column].dictionary if output.type.kind == "text" else None
            made.append(workspace.vector(output.type, buffers[output.value], cells, words))
        if not any(isinstance(type, ListType) for type in self.function.returns):
            return made
        ones = np.arange(cells + 1, dtype=np.int64)
        return listed_results(self.function, made, ones)


class LoadedElements(LoadedKernel):
    """A kernel over the elements of lists of the same cells."""

    def rows(self, arguments: list[Value]) -> int:
        """How many elements there are; -1 also for lists that are not one vector, or are of unlike cells."""
        lists = [a for p, a in zip(self.function.params, arguments) if isinstance(p.type, ListType)]
        cells = [a.offsets for a in lists if isinstance(a, Ragged)]
        if len(cells) < len(lists) or any(c is not cells[0] and not np.array_equal(c, cells[0]) for c in cells):
            return -1
        return super().rows(flat_values(arguments))

    def run(self, arguments: list[Value], resident: Resident) -> list[Value]:
        offsets = [a.offsets for a in arguments if isinstance(a, Ragged)]
        return listed_results(self.function, super().run(flat_values(arguments), resident), offsets[0])


def flat_values(values: list[Value]) -> list[Value]:
    """Lists as the vectors that their elements lie in."""
    return [v.flat if isinstance(v, Ragged) else v for v in values]


def listed_results(function: Function, made: list[Value], offsets: Array) -> list[Value]:
    """The results that are lists in cells."""
    results: list[Value] = []
    for value, type in zip(made, function.returns, strict=True):
        results.append(Ragged(as_vector(value), offsets) if isinstance(type, ListType) else value)
    return results
