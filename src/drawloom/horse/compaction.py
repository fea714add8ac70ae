"""Rows that masks select, written by their kernel one behind the other and in order: a walk with look-back.

Thesis section 4.3.2, prefix sums for writes. A block draws tiles of consecutive rows from a counter until there are no
more. Its warps walk over their parts of a tile and note in shared memory which rows each result's masks select, as
places of 16 bits; everything that is not selected, reductions too, is done in this walk. The counts of the tile are
said, those of all tiles before are looked back for (``kernels/look_back.py``), and the warps walk over the noted rows,
with no lane idle but the last ones': values are loaded and computed for these alone, and neighbouring lanes write
neighbouring elements.
"""

from __future__ import annotations

from typing import Final

from drawloom.horse.emit import ALL_LANES, WARP, Emitter
from drawloom.horse.ir import Name
from drawloom.horse.kernel_plan import Output
from drawloom.horse.kernels.look_back import LookBack
from drawloom.horse.kernels.rows import Rounds, Tile
from drawloom.horse.rowwise import ROW_BYTES, Context, NumberedRows, RowValues, SelectedRows, store_row
from drawloom.ptx.ir import Register, Statement
from drawloom.ptx.types import B32, B64, U16

#: Bytes of a row's place within the part of a tile that is a warp's.
PLACE_BYTES: Final = 2
#: Of the 48 KiB that every device has as static shared memory, for all places of a tile.
MAX_NOTED_BYTES: Final = 40 * 1024


def tile_within(tile: Tile, selections: int) -> Tile:
    """The tile with as many rounds as there is room for the places of so many selections."""
    rounds = tile.rounds
    while rounds > 1 and tile.threads * rounds * PLACE_BYTES * selections > MAX_NOTED_BYTES:
        rounds //= 2
    return Tile(tile.threads, rounds)


class Selection:
    """Results that the same masks select; ``count`` is how many of its rows a warp has ``noted`` (an address), and
    ``before`` how many there are before the warp's."""

    def __init__(self, emitter: Emitter, number: int, masks: tuple[str, ...], results: list[str], tile: Tile) -> None:
        self.number = number
        self.masks = masks
        self.results = results
        self.count = emitter.register(B32)
        self.noted = emitter.shared_array(f"noted{number}", U16, tile.rows)
        self.before = emitter.register(B64)


class Walk:
    """What a kernel does with the rows of a tile besides selecting some."""

    def each(self, rows: RowValues) -> None:
        """Called for every row of the launch."""
        raise NotImplementedError

    def output(self, name: str, kind: str, column: str, count: int) -> tuple[Output, Register]:
        """A new row result, selected by counter ``count``, and its address."""
        raise NotImplementedError


class Compaction:
    """The walk of a kernel whose results ``by_masks`` are selected rows; a ``tile`` has several warps. Its parameter
    ``states`` (u64) are those of the look-back, zero at the start; ``rows`` (u32) is how many rows the launch has."""

    def __init__(
        self, context: Context, tile: Tile, by_masks: dict[tuple[str, ...], list[str]], rows: Register
    ) -> None:
        emitter = self.emitter = context.emitter
        self.context = context
        self.tile = tile
        self.rows = rows
        self.share = WARP * tile.rounds
        self.look_back = LookBack(emitter, emitter.pointer("states"), tile.warps, len(by_masks))
        self.below = emitter.special("%lanemask_lt")
        self.selections = [Selection(emitter, i, m, r, tile) for i, (m, r) in enumerate(by_masks.items())]
        self.outputs: dict[str, Output] = {}
        #: What runs before the walk over a selection's rows.
        self.before_loop: list[Statement] = []

    def emit(self, walk: Walk) -> None:
        """All tiles, in the body."""
        emitter = self.emitter
        with emitter.loop() as tiles:
            tile = self.look_back.numbered()
            begin = emitter.calc("mul.lo.u32", tile, self.tile.rows)
            tiles.leave(emitter.calc("setp.ge.u32", begin, self.rows), True)
            first_noted = emitter.calc("mul.lo.u32", self.look_back.warp, self.share)
            start = emitter.calc("add.u32", begin, first_noted)
            for selection in self.selections:
                emitter.put("mov.u32", selection.count, 0)
            # What the second walk cannot check, the first one has to.
            second, unchecked = self.second_walk(walk, start, first_noted)
            self.first_walk(walk, start, first_noted, unchecked)
            self.say(tile, begin)
            emitter.body.extend(second)

    def first_walk(self, walk: Walk, start: Register, first_noted: Register, unchecked: list[str]) -> None:
        emitter = self.emitter
        with Rounds(emitter, start, self.stop(start), WARP, self.look_back.lane) as each:
            rows = NumberedRows(self.context, each.row, each.inside, True)
            for selection in self.selections:
                rows.mask(selection.masks)
            for name in unchecked:
                rows.value(Name(name))
            walk.each(rows)
            for selection in self.selections:
                chosen = rows.mask(selection.masks)
                votes = emitter.calc("vote.sync.ballot.b32", chosen, ALL_LANES)
                with emitter.when(emitter.calc("setp.ne.u32", votes, 0), True):
                    rank = emitter.calc("popc.b32", emitter.calc("and.b32", votes, self.below))
                    at = emitter.calc("add.u32", emitter.calc("add.u32", first_noted, selection.count), rank)
                    noted = emitter.shared_element(selection.noted, at, PLACE_BYTES)
                    emitter.put("st.shared.u16", noted, emitter.calc("sub.u32", each.row, start), guard=chosen)
                    emitter.put("add.u32", selection.count, selection.count, emitter.calc("popc.b32", votes))

    def say(self, tile: Register, begin: Register) -> None:
        """The sums of the selections before this warp's rows."""
        emitter = self.emitter
        totals = [emitter.calc("cvt.u64.u32", s.count) for s in self.selections]
        is_last = emitter.calc("setp.ge.u32", emitter.calc("add.u32", begin, self.tile.rows), self.rows)
        before = self.look_back.before_warp(tile, totals, is_last, None)
        for selection, sum in zip(self.selections, before):
            emitter.put("mov.u64", selection.before, sum)
        emitter.put("bar.warp.sync", ALL_LANES)

    def second_walk(self, walk: Walk, start: Register, first_noted: Register) -> tuple[list[Statement], list[str]]:
        """The walks over the noted rows, and the statements that these leave unchecked."""
        emitter = self.emitter
        current = emitter.body
        made: list[Statement] = []
        unchecked: list[str] = []
        for selection in self.selections:
            emitter.body, self.before_loop = [], []
            with Rounds(emitter, emitter.calc("mov.u32", 0), selection.count, WARP, self.look_back.lane) as each:
                place = emitter.calc("mov.u32", 0)
                at = emitter.calc("add.u32", first_noted, each.row)
                noted = emitter.shared_element(selection.noted, at, PLACE_BYTES)
                emitter.put("ld.shared.u16", place, noted, guard=each.inside)
                row = emitter.calc("add.u32", start, place)
                rows = SelectedRows(self.context, row, each.inside, selection.masks)
                self.write(walk, selection, rows, each.row)
            unchecked.extend([n for n in rows.unchecked if n not in unchecked])
            made.extend([*self.before_loop, *emitter.body])
        emitter.body = current
        return made, unchecked

    def write(self, walk: Walk, selection: Selection, rows: SelectedRows, place: Register) -> None:
        """The results of a row, ``place`` rows behind the first that the warp writes."""
        emitter = self.emitter
        for name in selection.results:
            held, kind, register = rows.result(name)
            self.outputs[name], base = walk.output(name, kind, held.column, selection.number)
            current, emitter.body = emitter.body, self.before_loop
            start = emitter.calc("mad.lo.u64", selection.before, ROW_BYTES[kind], base)
            emitter.body = current
            store_row(emitter, kind, register, emitter.element(start, place, ROW_BYTES[kind]), rows.masks[()])

    def stop(self, start: Register) -> Register:
        """Where the warp's rows end."""
        return self.emitter.calc("min.u32", self.emitter.calc("add.u32", start, self.share), self.rows)
