"""A thread's row in a kernel: statements into the PTX that computes their elements, loaded or computed once a walk.

A walk over rows (``codegen.py``, ``compaction.py``, ``cellwise.py``) says which row a thread has, and asks for values;
masks stay predicates until something needs them (thesis section 4.3.2).
"""

from __future__ import annotations

from typing import Final

from drawloom.horse.elementwise import Templates, TextParam, literal
from drawloom.horse.emit import Emitter, integer, zero
from drawloom.horse.held import Held
from drawloom.horse.ir import NOWHERE, Assign, Call, Function, FunctionRef, Literal, Name, Operand, Pos
from drawloom.horse.kernel_plan import KernelPlan, Storage, length_parameter, parameter
from drawloom.horse.placement import PICKS
from drawloom.horse.ranges import MAX_ROWS, Ranges
from drawloom.horse.shapes import Constant, Shape
from drawloom.horse.types import BOOL, ListType, Type, VectorType
from drawloom.ptx.ir import Address, Register
from drawloom.ptx.types import B32, B64, F64, PRED, S32, S64, U64
from drawloom.ptx.types import F32 as PTX_F32
from drawloom.ptx.types import Type as PtxType

ROW_STORES: Final[dict[str, str]] = {"s32": "u32", "s64": "u64", "f32": "f32", "f64": "f64", "pred": "u8"}
ROW_BYTES: Final[dict[str, int]] = {"s32": 4, "s64": 8, "f32": 4, "f64": 8, "pred": 1}


class Context:
    """What all walks of a kernel share: the kernel's statements by variable and what is known of these, the emitter,
    the plan in the making, and what is loaded once: scalars, addresses of columns, the error to report."""

    def __init__(
        self,
        kernel: Function,
        types: dict[str, Type],
        ranges: Ranges,
        shapes: dict[str, Shape],
        storage: dict[str, Storage],
        picks_inside: set[str],
        plan: KernelPlan,
    ) -> None:
        self.types = types
        self.ranges = ranges
        self.shapes = shapes
        self.storage = storage
        self.picks_inside = picks_inside
        self.plan = plan
        self.emitter = Emitter(kernel.name)
        self.calls: dict[str, Call] = {}
        self.places: dict[str, Pos] = {}
        for statement in kernel.body:
            if isinstance(statement, Assign) and isinstance(statement.value, Call):
                self.calls[statement.targets[0].name] = statement.value
                self.places[statement.targets[0].name] = statement.pos
        self.scalars: dict[str, Held] = {}
        self.origins: dict[str, Register] = {}
        self.text_params: list[TextParam] = []
        self.error: Register | None = None
        self.lengths: dict[str, Register] = {}

    def declare(self, kernel: Function) -> None:
        """Sorts the kernel's parameters into columns, a list too, and scalars."""
        for param in kernel.params:
            (self.plan.scalars if self.is_scalar(param.name) else self.plan.columns).append(param.name)

    def is_scalar(self, name: str) -> bool:
        shape = self.shapes.get(name)
        return shape is not None and isinstance(shape.size, Constant) and shape.size.count == 1

    def type_of(self, name: str) -> VectorType:
        """The type of a vector, or of a list's elements."""
        type = self.types[name]
        type = type.element if isinstance(type, ListType) else type
        assert isinstance(type, VectorType)
        return type

    def load_scalar(self, name: str) -> None:
        """In the prologue: the value of a scalar parameter."""
        type = self.type_of(name)
        register = self.emitter.param(parameter(name), scalar_type(type))
        if type.is_float:
            self.scalars[name] = Held(type.text, type, register)
        elif type == BOOL:
            predicate = self.emitter.made(PRED, "setp.ne.s32", [register, integer(0)])
            self.scalars[name] = Held("pred", type, predicate, 0, 1)
        else:
            low, high = self.ranges.of(Name(name), type) or (0, 0)
            self.scalars[name] = Held("s64", type, register, low, high)

    def origin(self, param: str) -> Register:
        """The address in a pointer parameter, loaded in the prologue."""
        found = self.origins.get(param)
        if found is None:
            emitter = self.emitter
            current, emitter.body = emitter.body, emitter.prologue
            found = self.origins[param] = emitter.pointer(param)
            emitter.body = current
        return found

    def length(self, column: str) -> Register:
        """How many elements a column has, loaded in the prologue (u64)."""
        found = self.lengths.get(column)
        if found is None:
            self.plan.lengths.append(column)
            self.emitter.scalar_param(length_parameter(column), U64)
            found = self.lengths[column] = self.emitter.hoisted_param(length_parameter(column), U64)
        return found

    def picks_itself(self, call: Call) -> bool:
        """Whether the rows that are picked are those of the kernel, under a mask."""
        rows = self.calls.get(name_of(call.arguments[1]))
        return rows is not None and rows.function.name == "where"

    def masks_of(self, operand: Operand) -> tuple[str, ...]:
        """The masks under which the kernel has the rows of an operand, or elements of a list, outermost last."""
        call = self.calls.get(operand.name) if isinstance(operand, Name) else None
        if call is None:
            return ()
        name, arguments = call.function.name, call.arguments
        if name == "compress":
            return (*self.masks_of(arguments[1]), name_of(arguments[0]))
        if name == "where":
            return (*self.masks_of(arguments[0]), name_of(arguments[0]))
        if name in PICKS or name == "fill":
            return self.masks_of(arguments[1])
        if name == "each_item" and isinstance(arguments[0], FunctionRef) and arguments[0].name == "compress":
            return (*self.masks_of(arguments[2]), name_of(arguments[1]))
        return max([self.masks_of(a) for a in arguments], key=len, default=())

    def error_code(self, message: str, name: str) -> int:
        """The code of an error in the statement that computes a variable."""
        pos = self.places.get(name, NOWHERE)
        for code, (said, place) in enumerate(self.plan.errors, 1):
            if said == message and (place.line, place.column) == (pos.line, pos.column):
                return code
        self.plan.errors.append((message, pos))
        return len(self.plan.errors)


class RowValues:
    """The elements of a thread's row; ``inside`` says whether there is one. Subclasses say where columns have it."""

    def __init__(self, context: Context, inside: Register) -> None:
        self.context = context
        self.emitter = context.emitter
        self.templates = Templates(context.emitter, self.fail)
        self.templates.text_params = context.text_params
        self.held: dict[str, Held] = dict(context.scalars)
        self.masks: dict[tuple[str, ...], Register] = {(): inside}
        #: The statements that are being computed, the innermost last.
        self.open: list[str] = []

    def address(self, name: str, bytes: int) -> Register:
        """The address of the row's element in a column."""
        raise NotImplementedError

    def row_number(self) -> Register:
        """The number of the row among all of the launch (u32)."""
        raise NotImplementedError

    def reads_all(self, storage: Storage) -> bool:
        """Whether rows that are not there may be read, too."""
        return storage.is_padded

    # Errors and masks

    def fail(self, bad: Register, function: str, type: VectorType, masks: tuple[str, ...]) -> None:
        """Reports an overflow where ``bad`` holds for a row that the masks select."""
        self.report(bad, f"overflow: a result of @{function} does not fit {type}", masks)

    def report(self, bad: Register, message: str, masks: tuple[str, ...]) -> None:
        """Reports an error of the innermost statement where ``bad`` holds for a row that the masks select."""
        code = self.context.error_code(message, self.open[-1])
        assert self.context.error is not None
        selected = self.emitter.both(bad, self.mask(masks))
        self.emitter.guarded(selected, "mov.u32", [self.context.error, integer(code)])

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
        name = name_of(operand)
        found = self.held.get(name)
        if found is None:
            self.open.append(name)
            found = self.compute(name) if name in self.context.calls else self.load(name)
            self.open.pop()
            self.held[name] = found
        return found

    def load(self, name: str) -> Held:
        """The element of the thread's own row."""
        storage = self.context.storage[name]
        address = self.address(name, storage.bytes)
        return self.loaded(name, address, None if self.reads_all(storage) else self.masks[()])

    def loaded(self, name: str, address: Register, guard: Register | None) -> Held:
        """The element of a column at an address; zero where ``guard`` does not hold, and nothing is read."""
        emitter = self.emitter
        storage, type = self.context.storage[name], self.context.type_of(name)
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
        low, high = self.context.ranges.of(Name(name), type) or (0, 0)
        kind = "s64" if storage.name == "s64" else "s32"
        return Held(kind, type, register, low, high, (), name if type.kind == "text" else "")

    def compute(self, name: str) -> Held:
        call, type = self.context.calls[name], self.context.type_of(name)
        function, arguments = call.function.name, call.arguments
        if function == "compress":
            inner = self.value(arguments[1])
            return inner.masked((*inner.masks, name_of(arguments[0])))
        if function == "where":
            return Held("s32", type, self.row_number(), 0, MAX_ROWS - 1, self.context.masks_of(Name(name)))
        if function in PICKS:
            return self.pick(call)
        if function == "fill":
            return self.value(arguments[0]).masked(self.value(arguments[1]).masks)
        return self.apply(function, type, arguments)

    def apply(self, function: str, type: VectorType, arguments: list[Operand]) -> Held:
        """An element-wise function."""
        operands = [self.value(a) for a in arguments]
        if function == "member" and operands[0].type.kind != "text":
            return self.member(operands[0], arguments[1])
        return self.templates.call(function, type, operands)

    def pick(self, call: Call) -> Held:
        """The element of a column in the row that another element says; zero where that is below zero."""
        emitter = self.emitter
        rows = self.value(call.arguments[1])
        if self.context.picks_itself(call):
            return self.value(call.arguments[0]).masked(rows.masks)
        guard = self.mask(rows.masks)
        source = name_of(call.arguments[0])
        if self.open[-1] not in self.context.picks_inside:
            guard = self.checked(call.function.name, source, rows)
        elif call.function.name == "outer_index":
            row = self.templates.in_register(rows, "s64")
            guard = emitter.both(guard, emitter.made(PRED, "setp.ge.s64", [row, integer(0)]))
        held = self.picked(source, rows, guard)
        if call.function.name == "outer_index" and not held.type.is_float:
            held.low, held.high = min(held.low, 0), max(held.high, 0)
        return held.masked(rows.masks)

    def checked(self, function: str, name: str, rows: Held) -> Register:
        """Where a column has the row, for a pick by ``function``; reports other rows."""
        emitter = self.emitter
        row, length = self.templates.in_register(rows, "s64"), self.context.length(name)
        # As an unsigned number a negative one is past every length.
        outside = "setp.ge.s64" if function == "outer_index" else "setp.ge.u64"
        bad = emitter.made(PRED, outside, [row, length])
        self.report(bad, f"@{function}: a position that the vector does not have", rows.masks)
        return emitter.both(self.mask(rows.masks), emitter.made(PRED, "setp.lt.u64", [row, length]))

    def picked(self, name: str, rows: Held, guard: Register) -> Held:
        """The element of a column in a row, where ``guard`` holds."""
        row = self.templates.in_register(rows, "s64")
        sources = [row, integer(self.context.storage[name].bytes), self.context.origin(parameter(name))]
        return self.loaded(name, self.emitter.made(B64, "mad.lo.s64", sources), guard)

    def member(self, held: Held, options: Operand) -> Held:
        assert isinstance(options, Literal) and isinstance(options.type, VectorType)
        found: Register | None = None
        for value in options.values:
            same = self.templates.compare("eq", held, literal(options.type, value))
            found = same if found is None else self.emitter.either(found, same)
        assert found is not None
        return Held("pred", BOOL, found, 0, 1, held.masks)

    def result(self, name: str) -> tuple[Held, str, Register]:
        """A row result: what is held, its register kind, and the register."""
        held = self.value(Name(name))
        kind = held.kind if held.kind != "text" else "s32"
        if kind == "pred":
            return held, kind, self.templates.predicate(held)
        return held, kind, self.templates.in_register(held, kind)


class NumberedRows(RowValues):
    """Rows by their number ``row`` (u32), which must be that of a row, or of one whose tile is, where it ``may_pass``
    the last row."""

    def __init__(self, context: Context, row: Register, inside: Register, may_pass: bool = False) -> None:
        super().__init__(context, inside)
        self.row = row
        self.may_pass = may_pass

    def address(self, name: str, bytes: int) -> Register:
        origin = self.context.origin(parameter(name))
        return self.emitter.calc("mad.wide.u32", self.row, bytes, origin)

    def row_number(self) -> Register:
        return self.row

    def reads_all(self, storage: Storage) -> bool:
        return self.may_pass and storage.is_padded


class SelectedRows(NumberedRows):
    """Rows that all of ``chosen`` select. What may fail for rows that only the first of these select is left to a walk
    over those: ``unchecked``."""

    def __init__(self, context: Context, row: Register, inside: Register, chosen: tuple[str, ...]) -> None:
        super().__init__(context, row, inside)
        self.chosen = chosen
        self.unchecked: list[str] = []
        for count in range(len(chosen)):
            self.masks[chosen[: count + 1]] = inside

    def report(self, bad: Register, message: str, masks: tuple[str, ...]) -> None:
        if masks == self.chosen:
            super().report(bad, message, masks)
        elif self.open[-1] not in self.unchecked:
            self.unchecked.append(self.open[-1])


def store_row(emitter: Emitter, kind: str, register: Register, address: Address, guard: Register) -> None:
    """Stores a row result of a register kind, where ``guard`` holds."""
    source = emitter.calc("selp.u32", 1, 0, register) if kind == "pred" else register
    emitter.guarded(guard, f"st.global.{ROW_STORES[kind]}", [address, source])


def report_error(context: Context) -> None:
    """After the last row: a thread that found an error says so."""
    emitter, error = context.emitter, context.error
    if context.plan.errors and error is not None:
        failed = emitter.made(PRED, "setp.ne.u32", [error, integer(0)])
        emitter.guarded(failed, "red.global.max.u32", [Address(emitter.pointer("error")), error])


def name_of(operand: Operand) -> str:
    assert isinstance(operand, Name)
    return operand.name


def scalar_type(type: VectorType) -> PtxType:
    """The PTX type that a scalar of a HorseIR type is passed as."""
    if type.is_float:
        return PTX_F32 if type.text == "f32" else F64
    return S32 if type == BOOL else S64
