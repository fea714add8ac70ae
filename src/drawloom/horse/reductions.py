"""Reductions of the rows of a walk, by group or not, into accumulators and the results that the host makes of them."""

from __future__ import annotations

from drawloom.horse.accumulate import Accumulator, RegisterGroups, TableGroups, choose_space
from drawloom.horse.emit import integer
from drawloom.horse.held import REGISTERS, Held
from drawloom.horse.ir import Call, FunctionRef
from drawloom.horse.kernel_plan import GroupKey, Output
from drawloom.horse.rowwise import Context, RowValues, name_of
from drawloom.horse.types import DecimalType, VectorType
from drawloom.ptx.ir import Address, Register, Symbol
from drawloom.ptx.types import B32, B64, PRED, U64

REDUCED: frozenset[str] = frozenset(["sum", "avg", "min", "max", "len", "raze"])


def is_reduced(context: Context, name: str) -> bool:
    """Whether a result is no row vector: a reduction, or the keys of groups."""
    call = context.calls.get(name)
    if call is None or call.function.name != "index":
        return call is not None and call.function.name in REDUCED
    rows = context.calls.get(name_of(call.arguments[1]))
    return rows is not None and rows.function.name == "keys"


class Mark(Accumulator):
    """A byte a group behind the slots of a table in global memory: 1 where the group has a row."""

    def __init__(self, masks: tuple[str, ...]) -> None:
        super().__init__("mark", None, masks, 0)

    @property
    def slots(self) -> int:
        return 0


class Reductions:
    """What a kernel over at most ``most_rows`` rows reduces: outputs are asked for while ``rows`` has a row, whose
    elements ``accumulate`` then adds. ``out`` is the address of partial results."""

    def __init__(self, context: Context, rows: RowValues, out: Register, most_rows: int) -> None:
        self.context = context
        self.emitter = context.emitter
        self.plan = context.plan
        self.rows = rows
        self.out = out
        self.most_rows = most_rows
        self.updates: list[Accumulator] = []
        #: Accumulators that results are made of.
        self.asked: set[int] = set()
        self.widened: dict[tuple[int, str], Register] = {}
        self.group: Register | None = None
        self.group_masks: tuple[str, ...] = ()

    # Results

    def output(self, name: str) -> Output:
        type = self.context.type_of(name)
        call = self.context.calls[name]
        if call.function.name == "index":
            return self.key_output(call, type)
        if call.function.name != "raze":
            return self.reduction(call.function.name, self.rows.value(call.arguments[0]), type)
        each = self.context.calls[name_of(call.arguments[0])]
        inner = each.arguments[0]
        assert isinstance(inner, FunctionRef)
        self.open_group(name_of(each.arguments[1]))
        return self.reduction(inner.name, cell_rows(self.rows, name_of(each.arguments[1])), type)

    def reduction(self, function: str, held: Held, type: VectorType) -> Output:
        made = self.reduced(function, held, type)
        self.asked.update([made.value, made.count])
        return made

    def reduced(self, function: str, held: Held, type: VectorType) -> Output:
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
        return "i64" if max(abs(held.low), abs(held.high)) * self.most_rows < 1 << 63 else "i128"

    def accumulator(self, kind: str, held: Held | None, masks: tuple[str, ...]) -> int:
        if kind == "count" and held is not None:
            # The number of true values among the rows: those rows' count under one more mask.
            predicate = self.rows.templates.predicate(held)
            selected = self.emitter.both(self.rows.mask(masks), predicate)
            masks = (*masks, f"%{predicate.name}")
            self.rows.masks[masks] = selected
            held = None
        for index, known in enumerate(self.updates):
            if known.same(kind, held, masks):
                return index
        slot = sum([a.slots for a in self.updates])
        self.updates.append(Accumulator(kind, held, masks, slot))
        return len(self.updates) - 1

    # Groups in place

    def open_group(self, cells: str) -> None:
        """Finds the group behind a list of cells and numbers the thread's row in it, once."""
        if self.group is not None:
            return
        calls = self.context.calls
        call = calls[cells]
        while call.function.name == "each_item":
            call = calls[name_of(call.arguments[2])]
        rows = calls[name_of(call.arguments[2])]
        self.open_keys(name_of(rows.arguments[0]))

    def open_keys(self, group: str) -> None:
        calls = self.context.calls
        keys = calls[name_of(calls[group].arguments[0])].arguments
        stride = 1
        number: Register | None = None
        made: list[GroupKey] = []
        for key in reversed(keys):
            held = self.rows.value(key)
            self.group_masks = held.masks
            size = held.high - held.low + 1
            made.append(GroupKey(name_of(key), held.type, held.low, size, stride, held.column))
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
        code = self.rows.templates.in_register(held, kind)
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
            keys = self.context.calls[name_of(call.arguments[1])]
            self.open_keys(name_of(keys.arguments[0]))
        names = [k.name for k in self.plan.keys]
        number = names.index(name_of(call.arguments[0]))
        return Output("key", type, "", number, self.plan.exists, self.plan.keys[number].column)

    # Accumulators

    def accumulate(self, thread: Register, threads: Register) -> None:
        """The updates of all accumulators; the registers or the table they live in are made in the prologue."""
        emitter, plan = self.emitter, self.plan
        plan.accumulators = self.updates
        if not self.updates:
            return
        plan.space = choose_space(self.updates, plan.groups)
        if plan.space == "global" and plan.exists not in self.asked:
            self.mark_groups()
        current, emitter.body = emitter.body, emitter.prologue
        if plan.space == "register":
            self.registers = RegisterGroups(emitter, self.updates, plan.groups)
            self.registers.prepare()
        else:
            self.table = TableGroups(emitter, self.updates, plan.groups, plan.space)
            self.table.prepare(self.table_base(), thread, threads)
        emitter.body = current
        for accumulator in self.updates:
            value = None if accumulator.held is None else self.summand(accumulator, accumulator.held)
            selected = self.rows.mask(accumulator.masks)
            if isinstance(accumulator, Mark):
                assert self.group is not None
                place = emitter.calc("add.s64", self.out, emitter.calc("cvt.s64.s32", self.group))
                one = emitter.calc("mov.u32", 1)
                emitter.put("st.global.u8", Address(place, 8 * plan.slots * plan.groups), one, guard=selected)
            elif plan.space == "register":
                self.registers.update(accumulator, value, selected, self.group)
            else:
                self.table.update(accumulator, value, selected, self.group)

    def mark_groups(self) -> None:
        """Which groups there are is marked, where nobody asks for the number of their rows."""
        self.updates[self.plan.exists] = Mark(self.group_masks)
        slot = 0
        for accumulator in self.updates:
            accumulator.slot = slot
            slot += accumulator.slots

    def table_base(self) -> Register:
        if self.plan.space == "global":
            return self.out
        self.emitter.shared("groups", U64, self.plan.slots * self.plan.groups)
        return self.emitter.made(B64, "mov.u64", [Symbol("groups")])

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
            self.widened[key] = self.rows.templates.in_register(held, kind)
        return self.widened[key]

    def store_partials(self, block: Register, thread: Register, threads: Register) -> None:
        """After the last row: partial results of the thread, its warp, or its block."""
        emitter = self.emitter
        if not self.updates:
            return
        if self.plan.space != "register":
            self.table.finish(self.out, block, thread, threads)
            return
        blocks = emitter.special("%nctaid.x")
        if not self.plan.reduces_lanes:
            parts = emitter.made(B32, "mul.lo.u32", [blocks, threads])
            part = emitter.made(B32, "mad.lo.u32", [block, threads, thread])
            self.registers.store(self.out, parts, part, None)
            return
        self.registers.reduce_lanes()
        warps_a_block = emitter.made(B32, "shr.u32", [threads, integer(5)])
        parts = emitter.made(B32, "mul.lo.u32", [blocks, warps_a_block])
        inner = emitter.made(B32, "shr.u32", [thread, integer(5)])
        part = emitter.made(B32, "mad.lo.u32", [block, warps_a_block, inner])
        lane = emitter.made(B32, "and.b32", [thread, integer(31)])
        first = emitter.made(PRED, "setp.eq.u32", [lane, integer(0)])
        self.registers.store(self.out, parts, part, first)


def cell_rows(rows: RowValues, name: str) -> Held:
    """The row's element behind a list of cells, under the masks that were applied to the cells."""
    calls = rows.context.calls
    call = calls[name]
    if call.function.name == "each_right":
        return rows.value(call.arguments[1])
    assert call.function.name == "each_item"
    mask = calls[name_of(call.arguments[1])]
    inner = cell_rows(rows, name_of(call.arguments[2]))
    return inner.masked((*inner.masks, name_of(mask.arguments[1])))


def _scale(held: Held) -> str:
    """The scale of what was summed, for the average of decimals; kept with the output as text."""
    return str(held.type.scale) if isinstance(held.type, DecimalType) else ""
