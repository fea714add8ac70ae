"""A HorseIR kernel to one PTX kernel, by templates over vector geometry (thesis section 4.3).

Each block takes ``chunk`` consecutive rows, a tile of as many rows as it has threads at a time, consecutive threads
consecutive rows. Parameters, in order: the columns' addresses, scalars, ``out`` (partial results), ``error``, ``rows``
(u64), ``chunk`` (u32, a multiple of the block), the addresses of row results, and what depends on dictionaries.
Stored columns are padded, so a tile is read whole and rows past the end are only masked; of everything else only the
rows that are there are read. Columns that rows are picked from (``@index``) are read where the picking rows say.

Row results that masks select are written one behind the other, from where the rows of their warp begin: each warp then
takes consecutive rows, counts as it goes (a ballot a tile) and says at the end how many it kept (``kept``, u32).
"""

from __future__ import annotations

from typing import Final

from drawloom.horse.accumulate import ALL_LANES, WARP, Accumulator, RegisterGroups, TableGroups, choose_space
from drawloom.horse.elementwise import Templates, literal
from drawloom.horse.emit import Emitter, integer, zero
from drawloom.horse.held import REGISTERS, Held
from drawloom.horse.ir import Assign, Call, Function, FunctionRef, Literal, Name, Operand, Return
from drawloom.horse.kernel_plan import GroupKey, KernelPlan, Output, Storage, parameter
from drawloom.horse.placement import PICKS
from drawloom.horse.ranges import MAX_ROWS, Ranges
from drawloom.horse.shapes import Compressed, Constant, Shape, Symbol, base
from drawloom.horse.types import BOOL, DecimalType, Type, VectorType
from drawloom.ptx.ir import Address, Register
from drawloom.ptx.ir import Symbol as PtxSymbol
from drawloom.ptx.types import B32, B64, F64, PRED, S32, S64, U32, U64
from drawloom.ptx.types import F32 as PTX_F32
from drawloom.ptx.types import Type as PtxType

ROW_STORES: Final[dict[str, str]] = {"s32": "u32", "s64": "u64", "f32": "f32", "f64": "f64", "pred": "u8"}
_ROW_BYTES: Final[dict[str, int]] = {"s32": 4, "s64": 8, "f32": 4, "f64": 8, "pred": 1}


def generate(
    kernel: Function,
    types: dict[str, Type],
    ranges: Ranges,
    shapes: dict[str, Shape],
    storage: dict[str, Storage],
    rows: int,
    reduces_lanes: bool = True,
) -> KernelPlan:
    """The PTX of an outlined kernel over at most ``rows`` rows (a power of two, so that it serves many tables).

    With ``reduces_lanes`` a warp reduces by shuffles and stores one partial result, which a GPU with its many threads
    needs; without, every thread stores its own, which is less code to compile where threads are few.
    """
    generator = _Generator(kernel, types, ranges, shapes, storage, rows)
    generator.plan.reduces_lanes = reduces_lanes
    generator.plan.storage = storage
    generator.plan.most_rows = rows
    return generator.run()


class _Generator:
    def __init__(
        self,
        kernel: Function,
        types: dict[str, Type],
        ranges: Ranges,
        shapes: dict[str, Shape],
        storage: dict[str, Storage],
        rows: int,
    ) -> None:
        self.kernel = kernel
        self.types = types
        self.ranges = ranges
        self.shapes = shapes
        self.storage = storage
        self.rows = rows
        self.emitter = Emitter(kernel.name)
        self.templates = Templates(self.emitter, self.fail)
        self.plan = KernelPlan(kernel.name)
        self.held: dict[str, Held] = {}
        self.calls: dict[str, Call] = {}
        self.bases: dict[str, Register] = {}
        #: The addresses of the columns that rows are picked from.
        self.origins: dict[str, Register] = {}
        self.offsets: dict[int, Register] = {}
        self.masks: dict[tuple[str, ...], Register] = {}
        #: By the masks that select row results the results: the element, its register kind and the buffer's address.
        self.kept: dict[tuple[str, ...], list[tuple[Register, str, Register]]] = {}
        self.updates: list[Accumulator] = []
        self.widened: dict[tuple[int, str], Register] = {}
        self.row: Register | None = None
        self.group: Register | None = None
        self.group_masks: tuple[str, ...] = ()
        self.row_pointers: list[Register] = []
        self.error: Register | None = None

    def run(self) -> KernelPlan:
        for statement in self.kernel.body:
            if isinstance(statement, Assign) and isinstance(statement.value, Call):
                self.calls[statement.targets[0].name] = statement.value
        returned = self.kernel.body[-1]
        assert isinstance(returned, Return)
        results = [v.name for v in returned.values if isinstance(v, Name)]
        self.declare()
        self.open_rows(any(isinstance(self.shapes[r].size, Compressed) for r in results))
        self.emitter.start_rows()
        again, done = self.emitter.new_label("rows"), self.emitter.new_label("done")
        self.loop_head(again, done)
        masks = self.selecting(results)
        if masks:
            self.mask(masks)
        start = len(self.emitter.body)
        for name in results:
            self.plan.outputs.append(self.output(name))
        counters = self.keep()
        if list(self.kept) == [masks] and len(self.kept[masks]) == len(results) and not self.plan.errors:
            self.skip_tiles(start, masks)
        self.close_rows(again, done, counters)
        self.plan.text_params = self.templates.text_params
        self.plan.module = self.emitter.module()
        return self.plan

    # Parameters and the walk over rows

    def declare(self) -> None:
        emitter = self.emitter
        for param in self.kernel.params:
            if self.is_scalar(param.name):
                self.plan.scalars.append(param.name)
            else:
                self.plan.columns.append(param.name)
                emitter.pointer_param(parameter(param.name))
        self.plan.linear = [c for c in self.plan.columns if c in self.read_by_row()]
        self.plan.is_stored = isinstance(base(self.shapes[self.plan.linear[0]].size), Symbol)
        self.plan.only_picks = all(call.function.name in PICKS for call in self.calls.values())
        for name in self.plan.scalars:
            emitter.scalar_param(parameter(name), _scalar_type(self.types[name]))
        emitter.pointer_param("out")
        emitter.pointer_param("error")
        emitter.scalar_param("rows", U64)
        emitter.scalar_param("chunk", U32)

    def read_by_row(self) -> set[str]:
        """The variables that a statement reads otherwise than to pick rows from them."""
        found: set[str] = set()
        for call in self.calls.values():
            picked = call.arguments[0] if call.function.name in PICKS and not self.picks_itself(call) else None
            found.update([a.name for a in call.arguments if isinstance(a, Name) and a is not picked])
        return found

    def picks_itself(self, call: Call) -> bool:
        """Whether the rows that are picked are those of the kernel, under a mask."""
        rows = self.calls.get(_name(call.arguments[1]))
        return rows is not None and rows.function.name == "where"

    def is_scalar(self, name: str) -> bool:
        shape = self.shapes.get(name)
        return shape is not None and isinstance(shape.size, Constant) and shape.size.count == 1

    def is_reduced(self, name: str) -> bool:
        call = self.calls[name]
        if call.function.name != "index":
            return call.function.name in ("sum", "avg", "min", "max", "len", "raze")
        rows = self.calls.get(_name(call.arguments[1]))
        return rows is not None and rows.function.name == "keys"

    def open_rows(self, by_warps: bool) -> None:
        """The prologue: where this thread's rows are. The block's chunk is its warps' in turn, a tile at a time; or,
        ``by_warps``, each warp has an equal share of it. (Where lanes are not reduced, a block is a warp.)"""
        emitter = self.emitter
        self.thread = emitter.special("%tid.x")
        self.threads = emitter.special("%ntid.x")
        self.block = emitter.special("%ctaid.x")
        chunk = emitter.param("chunk", U32)
        rows = emitter.param("rows", U64)
        self.place, self.step, self.part = self.thread, self.threads, self.block
        if by_warps and self.plan.reduces_lanes:
            self.place, self.step = emitter.special("%laneid"), emitter.calc("mov.u32", WARP)
            warps = emitter.calc("shr.u32", self.threads, 5)
            self.part = emitter.calc("mad.lo.u32", self.block, warps, emitter.calc("shr.u32", self.thread, 5))
            chunk = emitter.calc("div.u32", chunk, warps)
        self.first_row = emitter.made(B64, "mul.wide.u32", [self.part, chunk])
        left = emitter.made(B64, "sub.s64", [rows, self.first_row])
        wide_chunk = emitter.made(B64, "cvt.u64.u32", [chunk])
        mine = emitter.made(B64, "min.s64", [left, wide_chunk])
        mine = emitter.made(B64, "max.s64", [mine, integer(0)])
        self.count = emitter.made(B32, "cvt.u32.u64", [mine])
        self.out = emitter.pointer("out")
        for name in self.plan.columns:
            if name in self.plan.linear:
                self.bases[name] = self.row_pointer(parameter(name), self.storage[name].bytes)
        for name in self.plan.scalars:
            self.held[name] = self.scalar(name)
        self.error = emitter.made(B32, "mov.u32", [integer(0)])
        self.done_rows = emitter.made(B32, "mov.u32", [integer(0)])
        self.wide_done = emitter.made(B64, "mov.u64", [integer(0)])
        self.wide_step = emitter.made(B64, "cvt.u64.u32", [self.step])

    def row_pointer(self, param: str, bytes: int) -> Register:
        """The address of this thread's first row in a column: the first tile's plus the thread's place in it."""
        return self.emitter.made(B64, "mad.wide.u32", [self.place, integer(bytes), self.first_address(param, bytes)])

    def first_address(self, param: str, bytes: int) -> Register:
        """The address in a column of the row that this thread's first tile begins with."""
        emitter = self.emitter
        return emitter.made(B64, "mad.lo.s64", [self.first_row, integer(bytes), emitter.pointer(param)])

    def scalar(self, name: str) -> Held:
        type = self.types[name]
        assert isinstance(type, VectorType)
        register = self.emitter.param(parameter(name), _scalar_type(type))
        if type.is_float:
            return Held(type.text, type, register)
        if type == BOOL:
            return Held("pred", type, self.emitter.made(PRED, "setp.ne.s32", [register, integer(0)]), 0, 1)
        low, high = self.ranges.of(Name(name), type) or (0, 0)
        return Held("s64", type, register, low, high)

    def loop_head(self, again: str, done: str) -> None:
        emitter = self.emitter
        none = emitter.made(PRED, "setp.eq.u32", [self.count, integer(0)])
        emitter.branch(done, none)
        emitter.place(again)
        row = emitter.made(B32, "add.u32", [self.done_rows, self.place])
        self.masks[()] = emitter.made(PRED, "setp.lt.u32", [row, self.count])

    def selecting(self, results: list[str]) -> tuple[str, ...]:
        """The masks of this kernel that select all results, where these are rows under the same ones; else none."""
        size = self.shapes[results[0]].size
        if any(self.shapes[r].size != size or self.is_reduced(r) for r in results if r in self.calls):
            return ()
        masks: list[str] = []
        while isinstance(size, Compressed):
            masks.insert(0, size.mask)
            size = size.size
        return tuple(masks) if all(m in self.calls or m in self.bases for m in masks) else ()

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

    def close_rows(self, again: str, done: str, counters: list[Register]) -> None:
        emitter = self.emitter
        self.plan.accumulators = self.updates
        self.accumulate()
        emitter.op("add.u32", [self.done_rows, self.done_rows, self.step])
        emitter.op("add.s64", [self.wide_done, self.wide_done, self.wide_step])
        more = emitter.made(PRED, "setp.lt.u32", [self.done_rows, self.count])
        emitter.branch(again, more)
        emitter.place(done)
        self.store_partials()
        for number, counter in enumerate(counters):
            emitter.store("u32", emitter.pointer(f"kept{number}"), self.part, counter)
        if self.plan.errors:
            assert self.error is not None
            failed = emitter.made(PRED, "setp.ne.u32", [self.error, integer(0)])
            where = emitter.pointer("error")
            emitter.guarded(failed, "red.global.max.u32", [Address(where), self.error])
        emitter.op("ret", [])

    def accumulate(self) -> None:
        """The updates of all accumulators; the registers or the table they live in are made in the prologue."""
        emitter = self.emitter
        plan = self.plan
        if not self.updates:
            return
        plan.space = choose_space(self.updates, plan.groups)
        current, emitter.body = emitter.body, emitter.prologue
        if plan.space == "register":
            self.registers = RegisterGroups(emitter, self.updates, plan.groups)
            self.registers.prepare()
        else:
            self.table = TableGroups(emitter, self.updates, plan.groups, plan.space)
            self.table.prepare(self.table_base(), self.thread, self.threads)
        emitter.body = current
        for accumulator in self.updates:
            value = None if accumulator.held is None else self.summand(accumulator, accumulator.held)
            selected = self.mask(accumulator.masks)
            if plan.space == "register":
                self.registers.update(accumulator, value, selected, self.group)
            else:
                self.table.update(accumulator, value, selected, self.group)

    def keep(self) -> list[Register]:
        """Stores the selected rows of a tile behind those before; gives the registers that count them, by masks."""
        emitter = self.emitter
        counters: list[Register] = []
        for masks, results in self.kept.items():
            emitter.pointer_param(f"kept{len(counters)}")
            current, emitter.body = emitter.body, emitter.prologue
            counter = emitter.calc("mov.u32", 0)
            below = emitter.special("%lanemask_lt")
            emitter.body = current
            counters.append(counter)
            votes = emitter.calc("vote.sync.ballot.b32", self.mask(masks), ALL_LANES)
            with emitter.when(emitter.calc("setp.ne.u32", votes, 0), True):
                rank = emitter.calc("popc.b32", emitter.calc("and.b32", votes, below))
                place = emitter.calc("add.u32", counter, rank)
                for register, kind, start in results:
                    self.store_row(kind, register, emitter.element(start, place, _ROW_BYTES[kind]), self.mask(masks))
                emitter.put("add.u32", counter, counter, emitter.calc("popc.b32", votes))
        self.plan.counters = len(counters)
        return counters

    def table_base(self) -> Register:
        if self.plan.space == "global":
            return self.out
        self.emitter.shared("groups", U64, self.plan.slots * self.plan.groups)
        return self.emitter.made(B64, "mov.u64", [PtxSymbol("groups")])

    def summand(self, accumulator: Accumulator, held: Held) -> Register:
        """The element in the register kind that its accumulator adds; made once for all that share it."""
        kind = held.kind
        if accumulator.kind in ("i64", "i128"):
            kind = "s64"
        elif accumulator.kind == "f64":
            kind = "f64"
        elif kind == "pred":
            kind = "s32"
        key = (id(held.operand), kind)
        if key not in self.widened:
            self.widened[key] = self.templates.in_register(held, kind)
        return self.widened[key]

    def store_partials(self) -> None:
        emitter = self.emitter
        if not self.updates:
            return
        if self.plan.space != "register":
            self.table.finish(self.out, self.block, self.thread, self.threads)
            return
        blocks = emitter.special("%nctaid.x")
        if not self.plan.reduces_lanes:
            parts = emitter.made(B32, "mul.lo.u32", [blocks, self.threads])
            part = emitter.made(B32, "mad.lo.u32", [self.block, self.threads, self.thread])
            self.registers.store(self.out, parts, part, None)
            return
        self.registers.reduce_lanes()
        warps_a_block = emitter.made(B32, "shr.u32", [self.threads, integer(5)])
        parts = emitter.made(B32, "mul.lo.u32", [blocks, warps_a_block])
        inner = emitter.made(B32, "shr.u32", [self.thread, integer(5)])
        part = emitter.made(B32, "mad.lo.u32", [self.block, warps_a_block, inner])
        lane = emitter.made(B32, "and.b32", [self.thread, integer(31)])
        first = emitter.made(PRED, "setp.eq.u32", [lane, integer(0)])
        self.registers.store(self.out, parts, part, first)

    # Errors and masks

    def fail(self, bad: Register, function: str, type: VectorType, masks: tuple[str, ...]) -> None:
        assert self.error is not None
        self.plan.errors.append(f"overflow: a result of @{function} does not fit {type}")
        selected = self.emitter.both(bad, self.mask(masks))
        self.emitter.guarded(selected, "mov.u32", [self.error, integer(len(self.plan.errors))])

    def mask(self, masks: tuple[str, ...]) -> Register:
        """The predicate of the rows that are there and in all masks."""
        found = self.masks.get(masks)
        if found is None:
            last = self.value(Name(masks[-1]))
            found = self.emitter.both(self.mask(masks[:-1]), self.templates.predicate(last))
            self.masks[masks] = found
        return found

    # Values

    def value(self, operand: Operand) -> Held:
        """The element of an operand, computed or loaded when first asked for."""
        if isinstance(operand, Literal):
            assert isinstance(operand.type, VectorType)
            if operand.type.kind == "text":
                return Held("text", operand.type, integer(0), words=[str(v) for v in operand.values])
            return literal(operand.type, operand.values[0])
        assert isinstance(operand, Name)
        found = self.held.get(operand.name)
        if found is None:
            found = self.load(operand.name) if operand.name in self.bases else self.compute(operand.name)
            self.held[operand.name] = found
        return found

    def load(self, name: str) -> Held:
        """The element of the thread's own row."""
        emitter = self.emitter
        storage = self.storage[name]
        offset = self.offsets.get(storage.bytes)
        if offset is None:
            offset = self.wide_done
            if storage.bytes > 1:
                offset = emitter.made(B64, "mul.lo.s64", [self.wide_done, integer(storage.bytes)])
            self.offsets[storage.bytes] = offset
        address = emitter.made(B64, "add.s64", [self.bases[name], offset])
        return self.loaded(name, address, None if storage.is_padded else self.masks[()])

    def loaded(self, name: str, address: Register, guard: Register | None) -> Held:
        """The element of a column at an address; zero where ``guard`` does not hold, and nothing is read."""
        emitter = self.emitter
        storage, type = self.storage[name], self.types[name]
        assert isinstance(type, VectorType)
        register_type = {"f32": PTX_F32, "f64": F64, "s64": B64}.get(storage.name, B32)
        if guard is None:
            register = emitter.made(register_type, f"ld.global.{storage.name}", [Address(address)])
        else:
            move = storage.name if storage.name[0] == "f" else "b64" if register_type is B64 else "b32"
            register = emitter.made(register_type, f"mov.{move}", [zero(storage.name)])
            emitter.guarded(guard, f"ld.global.{storage.name}", [register, Address(address)])
        if type.is_float:
            return Held(type.text, type, register)
        if type == BOOL:
            return Held("pred", type, emitter.made(PRED, "setp.ne.s32", [register, integer(0)]), 0, 1)
        low, high = self.ranges.of(Name(name), type) or (0, 0)
        kind = "s64" if storage.name == "s64" else "s32"
        return Held(kind, type, register, low, high, (), name if type.kind == "text" else "")

    def pick(self, call: Call) -> Held:
        """The element of a column in the row that another element says; zero where that is below zero."""
        emitter = self.emitter
        rows = self.value(call.arguments[1])
        if self.picks_itself(call):
            return self.value(call.arguments[0]).masked(rows.masks)
        name = _name(call.arguments[0])
        origin = self.origins.get(name)
        if origin is None:
            current, emitter.body = emitter.body, emitter.prologue
            origin = self.origins[name] = emitter.pointer(parameter(name))
            emitter.body = current
        row = self.templates.in_register(rows, "s64")
        guard = self.mask(rows.masks)
        if call.function.name == "outer_index":
            guard = emitter.both(guard, emitter.made(PRED, "setp.ge.s64", [row, integer(0)]))
        address = emitter.made(B64, "mad.lo.s64", [row, integer(self.storage[name].bytes), origin])
        held = self.loaded(name, address, guard)
        if call.function.name == "outer_index" and not held.type.is_float:
            held.low, held.high = min(held.low, 0), max(held.high, 0)
        return held.masked(rows.masks)

    def row_number(self) -> Register:
        """The number of the thread's row among all of the launch."""
        if self.row is None:
            emitter = self.emitter
            first = emitter.made(B32, "cvt.u32.u64", [self.first_row])
            tile = emitter.made(B32, "add.u32", [first, self.done_rows])
            self.row = emitter.made(B32, "add.u32", [tile, self.place])
        return self.row

    def compute(self, name: str) -> Held:
        call = self.calls[name]
        function, arguments = call.function.name, call.arguments
        type = self.types[name]
        assert isinstance(type, VectorType)
        if function == "compress":
            mask = arguments[0]
            assert isinstance(mask, Name)
            inner = self.value(arguments[1])
            return inner.masked((*inner.masks, mask.name))
        if function == "where":
            masks = (*self.value(arguments[0]).masks, _name(arguments[0]))
            return Held("s32", type, self.row_number(), 0, MAX_ROWS - 1, masks)
        if function in PICKS:
            return self.pick(self.calls[name])
        if function == "fill":
            return self.value(arguments[0]).masked(self.value(arguments[1]).masks)
        operands = [self.value(a) for a in arguments]
        if function == "member" and operands[0].type.kind != "text":
            return self.member(operands[0], arguments[1])
        return self.templates.call(function, type, operands)

    def member(self, held: Held, options: Operand) -> Held:
        assert isinstance(options, Literal) and isinstance(options.type, VectorType)
        found: Register | None = None
        for value in options.values:
            same = self.templates.compare("eq", held, literal(options.type, value))
            found = same if found is None else self.emitter.either(found, same)
        assert found is not None
        return Held("pred", BOOL, found, 0, 1, held.masks)

    # Results

    def output(self, name: str) -> Output:
        if name not in self.calls or not self.is_reduced(name):
            return self.row_output(name)
        type = self.types[name]
        assert isinstance(type, VectorType)
        call = self.calls[name]
        if call.function.name == "index":
            return self.key_output(call, type)
        if call.function.name != "raze":
            return self.reduction(call.function.name, self.value_of(call), type)
        each = self.calls[_name(call.arguments[0])]
        inner = each.arguments[0]
        assert isinstance(inner, FunctionRef)
        self.open_group(_name(each.arguments[1]))
        return self.reduction(inner.name, self.cells(_name(each.arguments[1])), type)

    def value_of(self, call: Call) -> Held:
        return self.value(call.arguments[0])

    def cells(self, name: str) -> Held:
        """The row vector behind a list of cells, under the masks that were applied to the cells."""
        call = self.calls[name]
        if call.function.name == "each_right":
            return self.value(call.arguments[1])
        assert call.function.name == "each_item"
        mask = self.calls[_name(call.arguments[1])]
        inner = self.cells(_name(call.arguments[2]))
        return inner.masked((*inner.masks, _name(mask.arguments[1])))

    def open_group(self, cells: str) -> None:
        """Finds the group behind a list of cells and numbers the thread's row in it, once."""
        if self.group is not None:
            return
        call = self.calls[cells]
        while call.function.name == "each_item":
            call = self.calls[_name(call.arguments[2])]
        rows = self.calls[_name(call.arguments[2])]
        self.open_keys(_name(rows.arguments[0]))

    def open_keys(self, group: str) -> None:
        keys = self.calls[_name(self.calls[group].arguments[0])].arguments
        stride = 1
        number: Register | None = None
        made: list[GroupKey] = []
        for key in reversed(keys):
            held = self.value(key)
            self.group_masks = held.masks
            size = held.high - held.low + 1
            made.append(GroupKey(_name(key), held.type, held.low, size, stride, held.column))
            number = self.add_key(held, stride, number)
            stride *= size
        self.plan.keys = made[::-1]
        self.plan.groups = stride
        assert number is not None
        self.group = number
        self.plan.exists = self.accumulator("count", None, self.group_masks)

    def add_key(self, held: Held, stride: int, number: Register | None) -> Register:
        emitter = self.emitter
        kind = "s64" if held.kind == "s64" else "s32"
        code = self.templates.in_register(held, kind)
        if held.low != 0:
            code = emitter.made(REGISTERS[kind], f"sub.{kind}", [code, integer(held.low)])
        if kind == "s64":
            code = emitter.made(B32, "cvt.u32.u64", [code])
        if number is None and stride == 1:
            return code
        if number is None:
            return emitter.made(B32, "mul.lo.s32", [code, integer(stride)])
        return emitter.made(B32, "mad.lo.s32", [code, integer(stride), number])

    def key_output(self, call: Call, type: VectorType) -> Output:
        if self.group is None:
            keys = self.calls[_name(call.arguments[1])]
            self.open_keys(_name(keys.arguments[0]))
        names = [k.name for k in self.plan.keys]
        number = names.index(_name(call.arguments[0]))
        return Output("key", type, "", number, self.plan.exists, self.plan.keys[number].column)

    def reduction(self, function: str, held: Held, type: VectorType) -> Output:
        masks = held.masks
        count = -1
        if function in ("len", "avg", "min", "max"):
            count = self.accumulator("count", None, masks)
        if function == "len":
            return Output("reduce", type, function, -1, count)
        if function in ("min", "max"):
            return Output("reduce", type, function, self.accumulator(function, held, masks), count, held.column)
        return Output("reduce", type, function, self.accumulator(self.sum_kind(held), held, masks), count, _scale(held))

    def sum_kind(self, held: Held) -> str:
        if held.type.is_float:
            return "f64"
        if held.kind == "pred":
            return "count"
        return "i64" if max(abs(held.low), abs(held.high)) * self.rows < 1 << 63 else "i128"

    def accumulator(self, kind: str, held: Held | None, masks: tuple[str, ...]) -> int:
        if kind == "count" and held is not None:
            # The number of true values among the rows: those rows' count under one more mask.
            predicate = self.templates.predicate(held)
            selected = self.emitter.both(self.mask(masks), predicate)
            masks = (*masks, f"%{predicate.name}")
            self.masks[masks] = selected
            held = None
        for index, known in enumerate(self.updates):
            if known.same(kind, held, masks):
                return index
        slot = sum([a.slots for a in self.updates])
        self.updates.append(Accumulator(kind, held, masks, slot))
        return len(self.updates) - 1

    def row_output(self, name: str) -> Output:
        held = self.value(Name(name))
        kind = held.kind if held.kind != "text" else "s32"
        register = self.templates.predicate(held) if kind == "pred" else self.templates.in_register(held, kind)
        emitter = self.emitter
        index, bytes = len(self.plan.row_buffers), _ROW_BYTES[kind]
        self.plan.row_buffers.append(kind)
        emitter.pointer_param(f"result{index}")
        current, emitter.body = emitter.body, emitter.prologue
        start = self.first_address(f"result{index}", bytes)
        own = emitter.made(B64, "mad.wide.u32", [self.place, integer(bytes), start])
        emitter.body = current
        if not held.masks:
            address = emitter.made(B64, "mad.lo.s64", [self.wide_done, integer(bytes), own])
            self.store_row(kind, register, Address(address), self.masks[()])
            return Output("rows", held.type, "", index, -1, held.column)
        self.mask(held.masks)
        self.kept.setdefault(held.masks, []).append((register, kind, start))
        return Output("rows", held.type, "", index, list(self.kept).index(held.masks), held.column)

    def store_row(self, kind: str, register: Register, address: Address, guard: Register) -> None:
        source = register
        if kind == "pred":
            source = self.emitter.made(B32, "selp.u32", [integer(1), integer(0), register])
        self.emitter.guarded(guard, f"st.global.{ROW_STORES[kind]}", [address, source])


def _name(operand: Operand) -> str:
    assert isinstance(operand, Name)
    return operand.name


def _scale(held: Held) -> str:
    """The scale of what was summed, for the average of decimals; kept with the output as text."""
    return str(held.type.scale) if isinstance(held.type, DecimalType) else ""


def _scalar_type(type: Type) -> PtxType:
    """The PTX type that a scalar of a HorseIR type is passed as."""
    assert isinstance(type, VectorType)
    if type.is_float:
        return PTX_F32 if type.text == "f32" else F64
    return S32 if type == BOOL else S64
