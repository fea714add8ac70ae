"""``@present`` by kernels: which of consecutive integers are among those of a column, as a table of booleans."""

from __future__ import annotations

from typing import Final

import numpy as np

from drawloom.horse.emit import Emitter
from drawloom.horse.kernels.device import DeviceKernels, LibraryCalls
from drawloom.horse.kernels.rows import MAX_ROWS, Rounds, RowKernel, integer64, stored
from drawloom.horse.types import BOOL
from drawloom.horse.values import Value, as_vector, only_number
from drawloom.ptx.ir import Register
from drawloom.ptx.types import U64


class Present(RowKernel):
    """``table[values[row] - low] = 1``, of values below ``low + count``."""

    def __init__(self, storage: str) -> None:
        super().__init__(["values", "table"], {"low": U64, "count": U64})
        self.storage = storage

    def each(self, emitter: Emitter, bases: list[Register], at: Rounds) -> None:
        values, table, low, count = bases
        value = integer64(emitter, self.storage, emitter.load(self.storage, values, at.row, at.inside))
        place = emitter.calc("sub.s64", value, low)
        known = emitter.both(at.inside, emitter.calc("setp.lt.u64", place, count))
        target = emitter.calc("cvt.u32.u64", place)
        emitter.store("u8", table, target, emitter.calc("mov.u32", 1), known)


def _present(kernels: DeviceKernels, arguments: list[Value]) -> Value | None:
    values = as_vector(arguments[0])
    low, high = [only_number("present", a) for a in arguments[1:]]
    storage, count = stored(values), max(high - low + 1, 0)
    if storage is None or storage[0] == "f" or count > MAX_ROWS:
        return None
    workspace = kernels.workspace
    table = workspace.full(count, np.bool_, False)
    memory = [workspace.column(values, values.dtype), table, low & ((1 << 64) - 1), count]
    Present(storage).run(kernels, f"present_{storage}", memory, len(values))
    return workspace.vector(BOOL, table, count)


#: Builtins by kernels.
CALLS: Final[LibraryCalls] = {"present": _present}
