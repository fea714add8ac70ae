"""A kernel over the cells of a list to PTX: reductions of what is computed of their elements, and what follows.

The geometry of lists (thesis section 4.3.3, figure 6.3): ``1 << shift`` neighbouring threads a cell, by the cells'
mean size, go round in it; each accumulates in registers, a butterfly of shuffles reduces them, and the first of them
computes and stores the cell's results. Parameters, in order: the addresses of columns and of the list's elements, its
offsets (``cells``, u64, one more than there are cells), scalars, ``error``, ``rows`` (u64, how many cells), ``chunk``
(u32, the threads that a block stands for, a multiple of its own), ``shift`` (u32), and the addresses of results.
"""

from __future__ import annotations

from drawloom.horse.accumulate import Accumulator, RegisterGroups, extreme_kind
from drawloom.horse.emit import float64, integer, zero
from drawloom.horse.evaluate import EXACT_POWERS
from drawloom.horse.held import REGISTERS, Held
from drawloom.horse.ir import Function, FunctionRef, Name, Return
from drawloom.horse.kernel_plan import KernelPlan, Output, parameter
from drawloom.horse.lists import ELEMENTS, MAX_CELL
from drawloom.horse.placement import REDUCTIONS
from drawloom.horse.ranges import MAX_ROWS
from drawloom.horse.rowwise import (
    ROW_BYTES,
    Context,
    NumberedRows,
    RowValues,
    name_of,
    report_error,
    scalar_type,
    store_row,
)
from drawloom.horse.types import F64, I64, ListType, scale_of
from drawloom.ptx.ir import Register
from drawloom.ptx.types import PRED, U32, U64


def listed(kernel: Function) -> str:
    """The parameter that is the list whose cells a kernel is over; "" for a kernel over rows."""
    return next((p.name for p in kernel.params if isinstance(p.type, ListType)), "")


class Elements(RowValues):
    """The elements of cells: of a list, in memory at ``place`` (u32) of all elements; of others, computed."""

    def __init__(self, context: Context, place: Register, inside: Register) -> None:
        super().__init__(context, inside)
        self.place = place

    def address(self, name: str, bytes: int) -> Register:
        return self.emitter.calc("mad.wide.u32", self.place, bytes, self.context.origin(parameter(name)))

    def compute(self, name: str) -> Held:
        call = self.context.calls[name]
        function, inner, operands = call.function.name, call.arguments[0], call.arguments[1:]
        assert isinstance(inner, FunctionRef)
        if function == "each_right" and inner.name == "index":
            rows, source = self.value(operands[1]), name_of(operands[0])
            is_inside = name in self.context.picks_inside
            guard = self.mask(rows.masks) if is_inside else self.checked("index", source, rows)
            return self.picked(source, rows, guard).masked(rows.masks)
        if function == "each_item" and inner.name == "compress":
            held = self.value(operands[1])
            return held.masked((*held.masks, name_of(operands[0])))
        return self.apply(inner.name, self.context.type_of(name), operands)


class CellKernel:
    def __init__(self, kernel: Function, context: Context) -> None:
        self.context = context
        self.emitter = context.emitter
        self.plan = context.plan
        self.plan.cells = listed(kernel)
        returned = kernel.body[-1]
        assert isinstance(returned, Return)
        self.results = [v.name for v in returned.values if isinstance(v, Name)]
        #: By what is razed, or leaves as a list of one value a cell, the lists that it reduces and how.
        self.razed: dict[str, tuple[str, str]] = {}
        for name, call in context.calls.items():
            each = context.calls[name_of(call.arguments[0])] if call.function.name == "raze" else call
            function = each.arguments[0]
            is_reduction = isinstance(function, FunctionRef) and function.name in REDUCTIONS
            if call.function.name == "raze" or (name in self.results and is_reduction):
                assert isinstance(function, FunctionRef)
                self.razed[name] = function.name, name_of(each.arguments[1])
        self.updates: list[Accumulator] = []
        steps = ELEMENTS | {"raze"}
        others = [c for c in context.calls.values() if c.function.name not in steps]
        read = {a.name for call in others for a in call.arguments if isinstance(a, Name)}
        self.plan.linear = [name for name in self.plan.columns if name in read]
        self.plan.most_rows = MAX_ROWS

    def run(self) -> KernelPlan:
        emitter, context = self.emitter, self.context
        self.declare()
        thread, threads = emitter.special("%tid.x"), emitter.special("%ntid.x")
        shift = emitter.param("shift", U32)
        lanes = emitter.calc("shl.b32", emitter.calc("mov.u32", 1), shift)
        part = emitter.calc("and.b32", thread, emitter.calc("sub.u32", lanes, 1))
        chunk = emitter.param("chunk", U32)
        slots = emitter.calc("shl.b32", emitter.calc("cvt.u32.u64", emitter.param("rows", U64)), shift)
        first = emitter.calc("mul.lo.u32", emitter.special("%ctaid.x"), chunk)
        stop = emitter.calc("min.u32", emitter.calc("add.u32", first, chunk), slots)
        offsets = emitter.pointer("cells")
        for name in self.plan.scalars:
            context.load_scalar(name)
        context.error = emitter.made(U32, "mov.u32", [integer(0)])
        emitter.start_rows()
        with emitter.loop() as loop:
            loop.leave(emitter.calc("setp.ge.u32", first, stop))
            slot = emitter.calc("add.u32", first, thread)
            inside = emitter.calc("setp.lt.u32", slot, stop)
            cell = emitter.calc("shr.u32", slot, shift)
            begin = emitter.calc("cvt.u32.u64", emitter.load("u64", offsets, cell, inside))
            behind = emitter.calc("add.u32", cell, 1)
            end = emitter.calc("cvt.u32.u64", emitter.load("u64", offsets, behind, inside))
            finished = self.cell(begin, end, part, lanes)
            leads = emitter.both(inside, emitter.calc("setp.eq.u32", part, 0))
            self.store(NumberedRows(context, cell, leads), finished)
            emitter.put("add.u32", first, first, threads)
        report_error(context)
        emitter.op("ret", [])
        self.plan.text_params = context.text_params
        self.plan.module = emitter.module()
        return self.plan

    def declare(self) -> None:
        emitter, plan = self.emitter, self.plan
        for name in plan.columns:
            emitter.pointer_param(parameter(name))
        emitter.pointer_param("cells")
        for name in plan.scalars:
            emitter.scalar_param(parameter(name), scalar_type(self.context.type_of(name)))
        emitter.pointer_param("error")
        for name, type in (("rows", U64), ("chunk", U32), ("shift", U32)):
            emitter.scalar_param(name, type)

    # A cell

    def cell(self, begin: Register, end: Register, part: Register, lanes: Register) -> dict[str, Held]:
        """What a cell reduces to, by what is razed; in all of its ``lanes``, of which this is number ``part``."""
        emitter = self.emitter
        place = emitter.calc("add.u32", begin, part)
        # The accumulators are known when the loop that updates them is.
        before, emitter.body = emitter.body, []
        with emitter.loop() as loop:
            loop.leave(emitter.calc("setp.ge.u32", place, end))
            elements = Elements(self.context, place, emitter.calc("setp.lt.u32", place, end))
            found = {name: self.reduction(elements, *how) for name, how in self.razed.items()}
            registers = RegisterGroups(emitter, self.updates, 1)
            body, emitter.body = emitter.body, before
            registers.prepare()
            emitter.body = body
            for accumulator in self.updates:
                held = accumulator.held
                value = None if held is None else elements.templates.in_register(held, summand_kind(accumulator))
                registers.update(accumulator, value, elements.mask(accumulator.masks), None)
            emitter.put("add.u32", place, place, lanes)
        if self.updates:
            before.extend(emitter.body)
        emitter.body = before
        if self.updates:
            registers.reduce_lanes(lanes)
        rows = emitter.calc("sub.u32", end, begin)
        return {name: self.finished(registers, name, held, rows) for name, held in found.items()}

    def reduction(self, elements: Elements, function: str, cells: str) -> Held:
        """Notes the accumulators that a reduction of the elements of ``cells`` needs; gives an element, or where only
        the rows are counted their masks."""
        masks = self.context.masks_of(Name(cells))
        if masks:
            self.accumulator("count", None, masks)
        if function == "len":
            return Held("s32", I64, integer(0), 0, MAX_ROWS, masks)
        held = elements.value(Name(cells))
        if function in ("min", "max"):
            self.accumulator(function, held, held.masks)
        else:
            self.accumulator("f64x2" if held.type.is_float else "i64", held, held.masks)
        return held

    def accumulator(self, kind: str, held: Held | None, masks: tuple[str, ...]) -> Accumulator:
        for known in self.updates:
            if known.same(kind, held, masks):
                return known
        slot = sum([a.slots for a in self.updates])
        self.updates.append(Accumulator(kind, held, masks, slot))
        return self.updates[-1]

    def finished(self, registers: RegisterGroups, name: str, held: Held, rows: Register) -> Held:
        """The value of a reduction of ``held``; of a cell without rows zero, and NaN as an average."""
        emitter, type = self.emitter, self.context.type_of(name)
        function = self.razed[name][0]
        if held.masks:
            (rows,) = registers.registers[self.accumulator("count", None, held.masks).slot, 0]
        if function == "len":
            return Held("s32", I64, rows, 0, MAX_ROWS)
        if function in ("min", "max"):
            (found,) = registers.registers[self.accumulator(function, held, held.masks).slot, 0]
            kind = held.kind if held.type.is_float else extreme_kind(held)
            some = emitter.calc("setp.ne.u32", rows, 0)
            move = f"selp.{kind}" if kind[0] == "f" else f"selp.b{kind[1:]}"
            value = emitter.made(REGISTERS[kind], move, [found, zero(kind), some])
            if held.kind == "pred":
                return Held("pred", type, emitter.calc("setp.ne.s32", value, 0), 0, 1)
            return Held(kind, type, value, min(held.low, 0), max(held.high, 0), (), held.column)
        if held.type.is_float:
            total, lacking = registers.registers[self.accumulator("f64x2", held, held.masks).slot, 0]
            is_finite = emitter.made(PRED, "testp.finite.f64", [total])
            total = emitter.calc("selp.f64", emitter.calc("add.rn.f64", total, lacking), total, is_finite)
        else:
            (total,) = registers.registers[self.accumulator("i64", held, held.masks).slot, 0]
        if function == "sum":
            return Held("f64" if held.type.is_float else "s64", type, total, *self.bounds(name, held))
        if not held.type.is_float:
            total = emitter.calc("cvt.rn.f64.s64", total)
        count, scale = emitter.calc("cvt.rn.f64.u32", rows), scale_of(held.type)
        if scale:
            assert scale <= EXACT_POWERS
            count = emitter.calc("mul.rn.f64", count, float64(float(10**scale)))
        return Held("f64", F64, emitter.calc("div.rn.f64", total, count))

    def bounds(self, name: str, held: Held) -> tuple[int, int]:
        """Of a sum of exact values."""
        if held.type.is_float:
            return 0, 0
        low, high = min(held.low, 0) * MAX_CELL, max(held.high, 0) * MAX_CELL
        known = self.context.ranges.of(Name(name), self.context.type_of(name)) or (low, high)
        return max(low, known[0]), min(high, known[1])

    # Results

    def store(self, rows: NumberedRows, finished: dict[str, Held]) -> None:
        """What is computed of the cell's reductions, and what leaves the kernel."""
        rows.held.update(finished)
        for index, name in enumerate(self.results):
            held, kind, register = rows.result(name)
            self.emitter.pointer_param(f"result{index}")
            self.plan.row_buffers.append(kind)
            self.plan.outputs.append(Output("rows", self.context.type_of(name), "", index, -1, held.column))
            address = self.emitter.element(self.context.origin(f"result{index}"), rows.row, ROW_BYTES[kind])
            store_row(self.emitter, kind, register, address, rows.masks[()])


def summand_kind(accumulator: Accumulator) -> str:
    """The register kind that an accumulator takes."""
    assert accumulator.held is not None
    if accumulator.kind in ("min", "max"):
        held = accumulator.held
        return held.kind if held.type.is_float else extreme_kind(held)
    return "f64" if accumulator.kind == "f64x2" else "s64"
