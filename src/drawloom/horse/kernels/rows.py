"""What most library kernels share: how columns lie in memory, and a block's walk over its rows.

    tile = tile_for(device)
    with Rows(emitter, tile, emitter.param("rows", U32)) as each:
        value = emitter.load("s32", data, each.row, each.inside)

A block takes a tile of consecutive rows, as many as it has threads at a time, consecutive threads consecutive rows.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from drawloom.horse.emit import WARP, Emitter
from drawloom.horse.kernels.device import DeviceKernels
from drawloom.horse.values import Array, Vector
from drawloom.ptx.ir import Module, Register
from drawloom.ptx.types import U32, Type
from drawloom.runtime.machine import Device

#: Kernels number rows with 32 bits, signed in differences.
MAX_ROWS: Final = (1 << 31) - 1
#: What row numbers that kernels make are stored as.
ROW: Final = np.int32


class Tile:
    """How much a block takes: ``threads`` threads, each ``rounds`` rows."""

    def __init__(self, threads: int, rounds: int) -> None:
        self.threads = threads
        self.rounds = rounds

    @property
    def warps(self) -> int:
        return self.threads // WARP

    @property
    def rows(self) -> int:
        return self.threads * self.rounds

    def blocks(self, rows: int) -> int:
        return max(-(-rows // self.rows), 1)


def tile_for(device: Device) -> Tile:
    """A core runs a warp at a time and gains by long tiles; a multiprocessor needs many warps under way."""
    return Tile(256, 16) if device.kind == "cuda" else Tile(32, 128 if device.kind == "cpu" else 4)


class Rounds:
    """A loop over ``first``, ``first + step``, ... before ``stop`` (uniform in the warp): ``row`` is the thread's, at
    ``place`` behind; ``inside`` whether it is before ``stop``."""

    def __init__(self, emitter: Emitter, first: Register, stop: Register, step: int, place: Register) -> None:
        self.emitter = emitter
        self.first = emitter.calc("mov.u32", first)
        self.stop = stop
        self.step = step
        self.place = place
        self.loop = emitter.loop()

    def __enter__(self) -> Rounds:
        emitter = self.emitter
        self.loop.__enter__()
        self.loop.leave(emitter.calc("setp.ge.u32", self.first, self.stop))
        self.row = emitter.calc("add.u32", self.first, self.place)
        self.inside = emitter.calc("setp.lt.u32", self.row, self.stop)
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.emitter.put("add.u32", self.first, self.first, self.step)
        self.loop.__exit__(kind, error, trace)


def rows_of_block(emitter: Emitter, tile: Tile, rows: Register) -> Rounds:
    """The walk of this block over its tile of ``rows`` rows."""
    first = emitter.calc("mul.lo.u32", emitter.special("%ctaid.x"), tile.rows)
    stop = emitter.calc("min.u32", emitter.calc("add.u32", first, tile.rows), rows)
    return Rounds(emitter, first, stop, tile.threads, emitter.special("%tid.x"))


class RowKernel:
    """A kernel that does something with each row by itself. Its parameters are ``pointers``, ``scalars``, ``rows``."""

    def __init__(self, pointers: list[str], scalars: dict[str, Type] | None = None) -> None:
        self.pointers = pointers
        self.scalars = scalars or {}

    def each(self, emitter: Emitter, bases: list[Register], at: Rounds) -> None:
        """What is done with the row ``at``, given the pointers and then the scalars."""
        raise NotImplementedError

    def open(self, emitter: Emitter) -> None:
        """What a thread begins with."""

    def close(self, emitter: Emitter, bases: list[Register]) -> None:
        """What a thread ends with, the whole warp together."""

    def module(self, name: str, tile: Tile) -> Module:
        emitter = Emitter(name)
        for pointer in self.pointers:
            emitter.pointer_param(pointer)
        for scalar, type in self.scalars.items():
            emitter.scalar_param(scalar, type)
        emitter.scalar_param("rows", U32)
        bases = [emitter.pointer(pointer) for pointer in self.pointers]
        bases += [emitter.param(scalar, type) for scalar, type in self.scalars.items()]
        self.open(emitter)
        with rows_of_block(emitter, tile, emitter.param("rows", U32)) as at:
            self.each(emitter, bases, at)
        self.close(emitter, bases)
        emitter.op("ret", [])
        return emitter.module()

    def run(self, kernels: DeviceKernels, name: str, arguments: list[Any], rows: int) -> None:
        """Launches over ``rows`` rows, if there are any; ``name`` says all that the kernel was made for."""
        if rows == 0:
            return
        assert rows <= MAX_ROWS
        tile = tile_for(kernels.device)
        kernel = kernels.kernel(name, lambda name: self.module(name, tile))
        kernel[tile.blocks(rows), tile.threads](*arguments, rows)


# Columns


def storage_of(data: Array | Vector) -> str | None:
    """The PTX type of an array's elements, "s8" to "u64", "f32" or "f64"; None for what no kernel takes."""
    if len(data) > MAX_ROWS or data.dtype.kind not in "biuf":
        return None
    kind = {"i": "s", "u": "u", "f": "f", "b": "u"}[data.dtype.kind]
    return f"{kind}{8 * data.dtype.itemsize}"


def stored(vector: Vector) -> str | None:
    """As ``storage_of``; None for a vector with NULLs too."""
    return None if vector.valid is not None else storage_of(vector)


def bits_of(storage: str) -> int:
    return int(storage[1:])


def integer64(emitter: Emitter, storage: str, value: Register) -> Register:
    """A loaded integer as one of 64 bits."""
    if bits_of(storage) == 64:
        return value
    return emitter.calc("cvt.s64.s32" if storage[0] == "s" else "cvt.u64.u32", value)
