"""A HorseIR kernel to one PTX kernel, by templates over vector geometry (thesis section 4.3).

Each block takes ``chunk`` consecutive rows, a tile of as many rows as it has threads at a time, consecutive threads
consecutive rows. Parameters, in order: the columns' addresses, scalars, ``out`` (partial results), ``error``, ``rows``
(u64), ``chunk`` (u32, a multiple of the block), the addresses of row results, and what depends on dictionaries.

Stored columns are padded, so a tile is read whole and rows past the end are only masked; of everything else only the
rows that are there are read. Columns that rows are picked from (``@index``) are read where the picking rows say.

Row results that masks select are written one behind the other: whole, by look-back (``compaction.py``; the kernel has
``states`` in place of ``chunk``), or in as many parts as there are warps. Each then takes consecutive rows, counts as
it goes (a ballot a tile) and says at the end how many it kept (``kept``, u32).
"""

from __future__ import annotations

from drawloom.horse.cellwise import CellKernel, listed
from drawloom.horse.compaction import Compaction, Walk, tile_within
from drawloom.horse.emit import ALL_LANES, WARP, Emitter, integer
from drawloom.horse.flat import flat_types, flattened, is_flat
from drawloom.horse.ir import Function, Name, Return
from drawloom.horse.kernel_plan import KernelPlan, Output, Storage, parameter
from drawloom.horse.kernels.rows import Tile
from drawloom.horse.placement import PICKS
from drawloom.horse.ranges import Ranges
from drawloom.horse.reductions import Reductions, is_reduced
from drawloom.horse.rowwise import ROW_BYTES, Context, RowValues, report_error, scalar_type, store_row
from drawloom.horse.shapes import Shape, Symbol, base
from drawloom.horse.types import Type
from drawloom.ptx.ir import Address, Register
from drawloom.ptx.types import B32, B64, PRED, U32, U64


def generate(
    kernel: Function,
    types: dict[str, Type],
    ranges: Ranges,
    shapes: dict[str, Shape],
    storage: dict[str, Storage],
    picks_inside: set[str],
    rows: int,
    reduces_lanes: bool,
    tile: Tile | None,
) -> KernelPlan:
    """The PTX of an outlined kernel over at most ``rows`` rows (a power of two, so that it serves many tables).

    With ``reduces_lanes`` a warp reduces by shuffles and stores one partial result, which a GPU with its many threads
    needs; without, every thread stores its own, which is less code to compile where threads are few. Rows that masks
    select are written by look-back with such a ``tile`` a block, in parts without.
    """
    plan = KernelPlan(kernel.name)
    plan.reduces_lanes = reduces_lanes
    plan.storage = storage
    plan.most_rows = rows
    plan.is_flat = is_flat(kernel)
    if plan.is_flat:
        types, shapes = flat_types(kernel, types, shapes)
        kernel = flattened(kernel)
    context = Context(kernel, types, ranges, shapes, storage, picks_inside, plan)
    context.declare(kernel)
    if listed(kernel):
        return CellKernel(kernel, context).run()
    return _Generator(kernel, context, tile).run()


class _Generator(Walk):
    def __init__(self, kernel: Function, context: Context, tile: Tile | None) -> None:
        self.kernel = kernel
        self.context = context
        self.emitter = context.emitter
        self.plan = context.plan
        returned = kernel.body[-1]
        assert isinstance(returned, Return)
        self.results = [v.name for v in returned.values if isinstance(v, Name)]
        #: Row results by the masks that select them.
        self.kept: dict[tuple[str, ...], list[str]] = {}
        for name in self.results:
            masks = context.masks_of(Name(name))
            if masks and not is_reduced(context, name):
                self.kept.setdefault(masks, []).append(name)
        if tile is not None and self.kept:
            self.plan.tile = tile_within(tile, len(self.kept))
        self.outputs: dict[str, Output] = {}

    def run(self) -> KernelPlan:
        emitter = self.emitter
        self.declare()
        self.open()
        if self.plan.tile is None:
            self.tiles()
        else:
            self.compacted(self.plan.tile)
        report_error(self.context)
        emitter.op("ret", [])
        self.plan.outputs = [self.outputs[name] for name in self.results]
        self.plan.text_params = self.context.text_params
        self.plan.module = emitter.module()
        return self.plan

    # Parameters

    def declare(self) -> None:
        emitter, context, plan = self.emitter, self.context, self.plan
        for name in plan.columns:
            emitter.pointer_param(parameter(name))
        plan.linear = [c for c in plan.columns if c in self.read_by_row()]
        plan.is_stored = isinstance(base(context.shapes[plan.linear[0]].size), Symbol)
        plan.only_picks = all(call.function.name in PICKS for call in context.calls.values())
        for name in plan.scalars:
            emitter.scalar_param(parameter(name), scalar_type(context.type_of(name)))
        emitter.pointer_param("out")
        emitter.pointer_param("error")
        emitter.scalar_param("rows", U64)
        if plan.tile is None:
            emitter.scalar_param("chunk", U32)
        else:
            emitter.pointer_param("states")

    def read_by_row(self) -> set[str]:
        """The variables that a statement reads otherwise than to pick rows from them."""
        found: set[str] = set()
        for call in self.context.calls.values():
            is_pick = call.function.name in PICKS and not self.context.picks_itself(call)
            picked = call.arguments[0] if is_pick else None
            found.update([a.name for a in call.arguments if isinstance(a, Name) and a is not picked])
        return found

    def open(self) -> None:
        """The prologue of both walks."""
        emitter = self.emitter
        self.thread = emitter.special("%tid.x")
        self.threads = emitter.special("%ntid.x")
        self.block = emitter.special("%ctaid.x")
        self.rows = emitter.param("rows", U64)
        self.out = emitter.pointer("out")
        for name in self.plan.scalars:
            self.context.load_scalar(name)
        self.context.error = emitter.made(B32, "mov.u32", [integer(0)])

    def output(self, name: str, kind: str, column: str, count: int) -> tuple[Output, Register]:
        index = len(self.plan.row_buffers)
        self.plan.row_buffers.append(kind)
        self.emitter.pointer_param(f"result{index}")
        made = Output("rows", self.context.type_of(name), "", index, count, column)
        return made, self.context.origin(f"result{index}")

    # Selected rows, by look-back

    def compacted(self, tile: Tile) -> None:
        self.plan.counters = len(self.kept)
        walk = Compaction(self.context, tile, self.kept, self.emitter.calc("cvt.u32.u64", self.rows))
        self.emitter.start_rows()
        walk.emit(self)
        self.outputs.update(walk.outputs)
        self.reductions.store_partials(self.block, self.thread, self.threads)

    def each(self, rows: RowValues) -> None:
        self.reductions = Reductions(self.context, rows, self.out, self.plan.most_rows)
        for name in self.results:
            if is_reduced(self.context, name):
                self.outputs[name] = self.reductions.output(name)
            elif not self.context.masks_of(Name(name)):
                held, kind, register = rows.result(name)
                self.outputs[name], base = self.output(name, kind, held.column, -1)
                address = self.emitter.element(base, rows.row_number(), ROW_BYTES[kind])
                store_row(self.emitter, kind, register, address, rows.masks[()])
        self.reductions.accumulate(self.thread, self.threads)

    # All others, and selected rows in parts

    def tiles(self) -> None:
        """The block's chunk is its warps' in turn, a tile at a time; or, where rows are selected, each warp has an
        equal share of it. (Where lanes are not reduced, a block is a warp.)"""
        emitter = self.emitter
        chunk = emitter.param("chunk", U32)
        place, step, part = self.thread, self.threads, self.block
        if self.kept and self.plan.reduces_lanes:
            place, step = emitter.special("%laneid"), emitter.calc("mov.u32", WARP)
            warps = emitter.calc("shr.u32", self.threads, 5)
            part = emitter.calc("mad.lo.u32", self.block, warps, emitter.calc("shr.u32", self.thread, 5))
            chunk = emitter.calc("div.u32", chunk, warps)
        walk = _Tiles(self.context, self.plan.linear, self.rows, chunk, part, place, step)
        emitter.start_rows()
        again, done = emitter.new_label("rows"), emitter.new_label("done")
        walk.head(again, done)
        self.reductions = Reductions(self.context, walk, self.out, self.plan.most_rows)
        only = next(iter(self.kept)) if len(self.kept) == 1 else ()
        if only:
            walk.mask(only)
        start = len(emitter.body)
        for name in self.results:
            if is_reduced(self.context, name):
                self.outputs[name] = self.reductions.output(name)
            elif not self.context.masks_of(Name(name)):
                self.row_output(walk, name)
        counters = [self.keep(walk, masks, names) for masks, names in self.kept.items()]
        if only and len(self.kept[only]) == len(self.results) and not self.plan.errors:
            walk.skip_tiles(start, only)
        self.reductions.accumulate(self.thread, self.threads)
        walk.next(again)
        emitter.place(done)
        self.reductions.store_partials(self.block, self.thread, self.threads)
        self.plan.counters = len(counters)
        for number, counter in enumerate(counters):
            emitter.pointer_param(f"kept{number}")
            emitter.store("u32", emitter.pointer(f"kept{number}"), part, counter)

    def row_output(self, walk: _Tiles, name: str) -> None:
        held, kind, register = walk.result(name)
        self.outputs[name], base = self.output(name, kind, held.column, -1)
        address = walk.place_in(base, ROW_BYTES[kind])
        store_row(self.emitter, kind, register, Address(address), walk.masks[()])

    def keep(self, walk: _Tiles, masks: tuple[str, ...], names: list[str]) -> Register:
        """Stores the selected rows of a tile behind those before; gives the register that counts them."""
        emitter = self.emitter
        current, emitter.body = emitter.body, emitter.prologue
        counter = emitter.calc("mov.u32", 0)
        below = emitter.special("%lanemask_lt")
        emitter.body = current
        number = list(self.kept).index(masks)
        stored: list[tuple[str, Register, Register]] = []
        for name in names:
            held, kind, register = walk.result(name)
            self.outputs[name], base = self.output(name, kind, held.column, number)
            stored.append((kind, register, walk.first_in(base, ROW_BYTES[kind])))
        votes = emitter.calc("vote.sync.ballot.b32", walk.mask(masks), ALL_LANES)
        with emitter.when(emitter.calc("setp.ne.u32", votes, 0), True):
            rank = emitter.calc("popc.b32", emitter.calc("and.b32", votes, below))
            place = emitter.calc("add.u32", counter, rank)
            for kind, register, start in stored:
                store_row(emitter, kind, register, emitter.element(start, place, ROW_BYTES[kind]), walk.mask(masks))
            emitter.put("add.u32", counter, counter, emitter.calc("popc.b32", votes))
        return counter


class _Tiles(RowValues):
    """A loop over the rows ``part * chunk + place``, and every ``step`` rows on, of the launch's ``rows``. Columns have
    an address that moves with it."""

    def __init__(
        self,
        context: Context,
        linear: list[str],
        rows: Register,
        chunk: Register,
        part: Register,
        place: Register,
        step: Register,
    ) -> None:
        emitter = context.emitter
        self.place = place
        self.step = step
        self.first_row = emitter.made(B64, "mul.wide.u32", [part, chunk])
        left = emitter.made(B64, "sub.s64", [rows, self.first_row])
        mine = emitter.made(B64, "min.s64", [left, emitter.made(B64, "cvt.u64.u32", [chunk])])
        mine = emitter.made(B64, "max.s64", [mine, integer(0)])
        self.count = emitter.made(B32, "cvt.u32.u64", [mine])
        self.bases: dict[str, Register] = {}
        for name in linear:
            self.bases[name] = self.base(emitter, emitter.pointer(parameter(name)), context.storage[name].bytes)
        self.done_rows = emitter.made(B32, "mov.u32", [integer(0)])
        self.wide_done = emitter.made(B64, "mov.u64", [integer(0)])
        self.wide_step = emitter.made(B64, "cvt.u64.u32", [step])
        self.offsets: dict[int, Register] = {1: self.wide_done}
        self.row: Register | None = None
        super().__init__(context, emitter.register(PRED))

    def base(self, emitter: Emitter, origin: Register, bytes: int) -> Register:
        """The address of this thread's first element."""
        first = emitter.made(B64, "mad.lo.s64", [self.first_row, integer(bytes), origin])
        return emitter.made(B64, "mad.wide.u32", [self.place, integer(bytes), first])

    def first_in(self, origin: Register, bytes: int) -> Register:
        """In the prologue: the address of the element that this thread's first tile begins with."""
        emitter = self.emitter
        current, emitter.body = emitter.body, emitter.prologue
        made = emitter.made(B64, "mad.lo.s64", [self.first_row, integer(bytes), origin])
        emitter.body = current
        return made

    def place_in(self, origin: Register, bytes: int) -> Register:
        """The address of this row's element."""
        emitter = self.emitter
        current, emitter.body = emitter.body, emitter.prologue
        own = self.base(emitter, origin, bytes)
        emitter.body = current
        return emitter.made(B64, "mad.lo.s64", [self.wide_done, integer(bytes), own])

    def address(self, name: str, bytes: int) -> Register:
        emitter = self.emitter
        offset = self.offsets.get(bytes)
        if offset is None:
            offset = self.offsets[bytes] = emitter.made(B64, "mul.lo.s64", [self.wide_done, integer(bytes)])
        return emitter.made(B64, "add.s64", [self.bases[name], offset])

    def row_number(self) -> Register:
        if self.row is None:
            emitter = self.emitter
            first = emitter.made(B32, "cvt.u32.u64", [self.first_row])
            self.row = emitter.calc("add.u32", emitter.calc("add.u32", first, self.done_rows), self.place)
        return self.row

    def head(self, again: str, done: str) -> None:
        emitter = self.emitter
        emitter.branch(done, emitter.made(PRED, "setp.eq.u32", [self.count, integer(0)]))
        emitter.place(again)
        row = emitter.made(B32, "add.u32", [self.done_rows, self.place])
        emitter.put("setp.lt.u32", self.masks[()], row, self.count)

    def next(self, again: str) -> None:
        emitter = self.emitter
        emitter.op("add.u32", [self.done_rows, self.done_rows, self.step])
        emitter.op("add.s64", [self.wide_done, self.wide_done, self.wide_step])
        emitter.branch(again, emitter.made(PRED, "setp.lt.u32", [self.done_rows, self.count]))

    def skip_tiles(self, start: int, masks: tuple[str, ...]) -> None:
        """Jumps from ``start`` over all that follows, which computes rows that nothing selects."""
        emitter = self.emitter
        end = emitter.new_label("skipped")
        current, emitter.body = emitter.body, []
        votes = emitter.calc("vote.sync.ballot.b32", self.mask(masks), ALL_LANES)
        emitter.branch(end, emitter.calc("setp.eq.u32", votes, 0))
        current[start:start] = emitter.body
        emitter.body = current
        emitter.place(end)
