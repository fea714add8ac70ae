"""``@loop_join`` by kernels (thesis section 4.3.4): every row of the left side beside every row of the right one.

A thread has a row of the left side and its block goes over a part of the right side, tile by tile through shared
memory, so that the right side is read once a block. It runs twice: pairs are counted by row and part, a prefix sum
says where those of each go, and then they are written, so that they ascend by the left row and then by the right one.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from drawloom.horse.emit import Emitter
from drawloom.horse.kernels.device import DeviceKernels, LibraryCalls
from drawloom.horse.kernels.keys import KeyColumns, code, key_pairs
from drawloom.horse.kernels.rows import ROW, tile_for
from drawloom.horse.kernels.scan import offsets
from drawloom.horse.kernels.sort import ordered
from drawloom.horse.library import columns_of
from drawloom.horse.matching import check_pairs
from drawloom.horse.types import I64
from drawloom.horse.values import ListValue, Value, as_vector, strings
from drawloom.ptx.ir import Address, Module, Register
from drawloom.ptx.types import U32, U64

#: Rows of the right side in shared memory, 8 bytes a key, and most keys: 32 KiB.
_TILE: Final = 256
_MOST_KEYS: Final = 16
#: How a comparison of codes is called in PTX.
_TESTS: Final = {"eq": "eq", "neq": "ne", "lt": "lt", "leq": "le", "gt": "gt", "geq": "ge"}


def loop_join(kernels: DeviceKernels, arguments: list[Value]) -> Value | None:
    """``@loop_join(comparisons, keys, keys)``."""
    tests = [_TESTS.get(name, "") for name in strings(as_vector(arguments[0]))]
    both = key_pairs(columns_of(arguments[1]), columns_of(arguments[2]))
    if both is None or "" in tests or len(tests) != len(both[0].storages) or len(tests) > _MOST_KEYS:
        return None
    left, right = both
    join = LoopJoin(tests, left, right)
    threads = tile_for(kernels.device).threads
    blocks = max(-(-left.rows // threads), 1)
    # As many parts as give every core some blocks, none of them shorter than a tile.
    parts = max(min(-(-8 * kernels.device.cores // blocks), -(-right.rows // _TILE)), 1)
    part = -(-right.rows // parts)
    counts = kernels.workspace.full(left.rows * parts, np.uint32, 0)
    given = [*left.memory(kernels), *right.memory(kernels)]
    sizes = [left.rows, right.rows, part]
    count = kernels.kernel(f"count_{join.suffix}", lambda name: join.module(name, False))
    count[(blocks, parts), threads](*given, counts, *sizes)
    places, total = offsets(kernels, counts, left.rows * parts)
    check_pairs(total)
    sides = [kernels.workspace.empty(total, ROW) for _ in range(2)]
    if total:
        write = kernels.kernel(f"write_{join.suffix}", lambda name: join.module(name, True))
        write[(blocks, parts), threads](*given, places, *sides, *sizes)
    return ListValue([kernels.workspace.vector(I64, side, total) for side in sides])


#: Builtins by kernels.
CALLS: Final[LibraryCalls] = {"loop_join": loop_join}


class LoopJoin:
    """The kernels of one loop join. Parameters: the left side's columns, the right side's, ``places`` (the counts, or
    where the pairs of each row and part go), in the second kernel both sides of the pairs, and the numbers of rows of
    the left side, of the right side, and of a part of that."""

    def __init__(self, tests: list[str], left: KeyColumns, right: KeyColumns) -> None:
        self.tests = tests
        self.left = left.storages
        self.right = right.storages

    @property
    def suffix(self) -> str:
        """The join's part of a kernel's name."""
        return "_".join([f"{a}{test}{b}" for a, test, b in zip(self.left, self.tests, self.right)])

    def module(self, name: str, writes: bool) -> Module:
        emitter = Emitter(name)
        numbers = range(len(self.tests))
        pointers = [*[f"left{n}" for n in numbers], *[f"right{n}" for n in numbers], "places"]
        pointers += ["left_rows", "right_rows"] if writes else []
        for pointer in pointers:
            emitter.pointer_param(pointer)
        for size in ("rows", "others", "part"):
            emitter.scalar_param(size, U32)
        bases = [emitter.pointer(pointer) for pointer in pointers]
        lefts, rights, rest = bases[: len(numbers)], bases[len(numbers) : 2 * len(numbers)], bases[2 * len(numbers) :]
        rows, others, part = [emitter.param(size, U32) for size in ("rows", "others", "part")]
        thread, threads = emitter.special("%tid.x"), emitter.special("%ntid.x")
        row = emitter.calc("mad.lo.u32", emitter.special("%ctaid.x"), threads, thread)
        inside = emitter.calc("setp.lt.u32", row, rows)
        keys = [emitter.calc("mov.u64", 0) for _ in numbers]
        with emitter.when(inside):
            for key, base, storage in zip(keys, lefts, self.left):
                emitter.put("mov.u64", key, ordered(emitter, storage, code(emitter, base, row, storage)))
        place = emitter.calc("mad.lo.u32", row, emitter.special("%nctaid.y"), emitter.special("%ctaid.y"))
        pairs = emitter.load("u32", rest[0], place, inside) if writes else emitter.calc("mov.u32", 0)
        first = emitter.calc("mul.lo.u32", emitter.special("%ctaid.y"), part)
        stop = emitter.calc("min.u32", emitter.calc("add.u32", first, part), others)
        tiles = [emitter.shared_array(f"tile{n}", U64, _TILE) for n in numbers]
        with emitter.loop() as further:
            further.leave(emitter.calc("setp.ge.u32", first, stop), uniform=True)
            end = emitter.calc("min.u32", emitter.calc("add.u32", first, _TILE), stop)
            self.fill(emitter, tiles, rights, first, end)
            other = emitter.calc("mov.u32", first)
            at = [emitter.calc("mov.u32", tile) for tile in tiles]
            with emitter.loop() as along:
                along.leave(emitter.calc("setp.ge.u32", other, end), uniform=True)
                hit = emitter.calc("mov.pred", inside)
                for key, test, address in zip(keys, self.tests, at):
                    its = emitter.calc("ld.shared.u64", Address(address))
                    emitter.put("and.pred", hit, hit, emitter.calc(f"setp.{test}.u64", key, its))
                if writes:
                    emitter.store("u32", rest[1], pairs, row, hit)
                    emitter.store("u32", rest[2], pairs, other, hit)
                emitter.put("add.u32", pairs, pairs, 1, guard=hit)
                emitter.put("add.u32", other, other, 1)
                for address in at:
                    emitter.put("add.u32", address, address, 8)
            emitter.put("bar.sync", 0)
            emitter.put("add.u32", first, first, _TILE)
        if not writes:
            emitter.store("u32", rest[0], place, pairs, inside)
        emitter.put("ret")
        return emitter.module()

    def fill(
        self, emitter: Emitter, tiles: list[Register], bases: list[Register], first: Register, end: Register
    ) -> None:
        """The block's threads bring the right side's rows from ``first`` to below ``end`` into shared memory."""
        place = emitter.calc("mov.u32", emitter.special("%tid.x"))
        row = emitter.calc("add.u32", first, place)
        with emitter.loop() as further:
            further.leave(emitter.calc("setp.ge.u32", row, end))
            for tile, base, storage in zip(tiles, bases, self.right):
                value = ordered(emitter, storage, code(emitter, base, row, storage))
                emitter.put("st.shared.u64", emitter.shared_element(tile, place, 8), value)
            for moved in (place, row):
                emitter.put("add.u32", moved, moved, emitter.special("%ntid.x"))
        emitter.put("bar.sync", 0)
