"""One PTX function on its way into LLVM IR: where its registers live, which lanes run, what operands are worth.

A register has stack slots that LLVM promotes: one scalar when it is uniform or affine (then: the value of lane 0),
offset and base when it is widened, a vector when it varies. Values are bit patterns, integers of the register's width.
Between two labels, registers are the values that they were last set to: slots are read at the first use and written
before the next branch, where the register is still needed. With ``lanes`` 0 there are no vectors: the function runs one
thread.
"""

from __future__ import annotations

import struct
from typing import Final, TypeVar

from drawloom.cpu import abi
from drawloom.cpu.emitter import ELEM_BITS, INT_ELEM, Emitter, Value, float_const, int_const, type_of
from drawloom.cpu.layouts import Layout
from drawloom.cpu.shapes import UNIFORM, VARYING, WIDENED, Shape
from drawloom.errors import SourceError, UnsupportedError, VerifyError
from drawloom.ptx.ir import (
    FLOAT32,
    FLOAT64,
    INT,
    Function,
    Immediate,
    Instruction,
    Module,
    Not,
    Operand,
    Register,
    SpecialRegister,
    Symbol,
)
from drawloom.ptx.layout import GlobalsLayout, align_up, function_ids

WARP: Final = abi.WARP
_Key = TypeVar("_Key")
_FLOATS: Final = frozenset({"half", "bfloat", "float", "double"})


class Frame:
    """Registers, masks and operand values of one function while it is being lowered."""

    def __init__(
        self, module: Module, function: Function, emitter: Emitter, layout: Layout, shapes: list[Shape],
        image: GlobalsLayout,
    ) -> None:  # fmt: skip
        self.module = module
        self.function = function
        self.e = emitter
        lanes = layout.lanes
        segment = layout.segment
        self.lanes = lanes
        self.shapes = shapes
        self.layout = image
        self.linear = layout.linear
        self.segment = segment
        #: The extents of the block, where all of it runs at once.
        self.block = layout.block
        self.at_once = layout.block is not None
        #: Whether a unit is lanes of one row of threads.
        self.is_gang = layout.gang
        #: Rows of lanes where there are several, and affine registers one scalar per row; else 0.
        self.rows = lanes // segment if 0 < segment < lanes else 0
        #: Whether masks that outlast a block are integers as wide as most values, all ones or 0: without registers for
        #: masks, LLVM packs them into bits where blocks meet, and unpacks them at each use.
        self.has_wide_masks = 0 < lanes <= 16 and "avx512f" not in emitter.features
        #: Whether they are words of a bit for each lane, and predicates, too: where code goes in slices, of which each
        #: takes its byte, and only integers decide about all lanes.
        self.has_word_masks = False
        self.function_ids = function_ids(module)
        self.allocas: list[str] = []
        self.slots: dict[int, str] = {}
        self.bases: dict[int, str] = {}
        #: The registers by the names of their slots.
        self.register_at: dict[str, int] = {}
        #: The types of slots of registers that nothing was read from or written to so far.
        self.unallocated: dict[str, str] = {}
        #: The registers whose slots are in the frame of the state, which outlasts a stop, and not on the stack.
        self.residents = 0
        #: Where in that frame slots are kept, in bytes, and how many bytes it has.
        self.kept_at: dict[str, int] = {}
        self.kept_bytes = 0
        #: Since the last label: what slots of registers are worth, which of them are not written yet, what registers
        #: are in every lane or row, and values as other types.
        self.known: dict[str, Value] = {}
        self.unsaved: dict[str, int] = {}
        self.expanded: dict[tuple[int, int], Value] = {}
        self.views: dict[tuple[str, str], Value] = {}
        #: How much of ``known``, ``expanded`` and ``views`` was there when each open fork began.
        self.forks: list[tuple[int, int, int]] = []
        #: The registers that are needed at or after the current instruction: a bit set.
        self.needed = -1
        #: Lanes that run the current instruction; a scalar i1 when ``lanes`` is 0.
        self.mask = self.all_lanes()
        #: Registers whose old value must survive in lanes outside of ``mask``.
        self.waiting = 0
        #: The guard of the current instruction, as a mask, or None.
        self.guard: Value | None = None
        #: Offsets of ``.shared``, ``.local`` and kernel ``.param`` variables in their space, by name.
        self.shared_offsets: dict[str, int] = {}
        self.local_offsets: dict[str, int] = {}
        self.param_offsets: dict[str, int] = {}
        #: Bytes of local memory of a lane, and the stack slot of the address of lane 0's.
        self.local_stride = 0
        self.local_slot = ""
        #: ``.param`` variables of calls and of device functions: stack blocks, one row per lane.
        self.blocks: dict[str, str] = {}
        self.block_strides: dict[str, int] = {}
        #: What leaves the function when something went wrong.
        self.fault_exit = "  ret i64 3"

    # -- small emitters ----------------------------------------------------------------------------------

    def all_lanes(self) -> Value:
        return int_const("i1", 1, self.lanes)

    def no_lanes(self) -> Value:
        return int_const("i1", 0, self.lanes)

    def label(self, stem: str) -> str:
        return f"{stem}{self.e.number()}"

    def place(self, label: str) -> None:
        self.forget_values()
        self.e.line(f"{label}:")

    def forget_values(self) -> None:
        """Take registers from their slots again: other code comes here, too."""
        assert not self.unsaved, f"{list(self.unsaved)} are not written"
        self.known.clear()
        self.expanded.clear()
        self.views.clear()

    def branch(self, condition: Value, then: str, other: str) -> None:
        self.save_registers()
        self.e.line(f"  br i1 {condition.text}, label %{then}, label %{other}")

    def branch_expected(self, condition: Value, then: str, other: str) -> None:
        """A branch that is nearly always taken."""
        self.save_registers()
        self.e.line(f"  br i1 {condition.text}, label %{then}, label %{other}, !prof !1")

    def jump(self, label: str) -> None:
        self.save_registers()
        self.e.line(f"  br label %{label}")

    # Ways that part and meet again within an instruction, and set no registers: what these are worth, and that it is
    # not written yet, holds on each of them and behind.

    def fork(self, condition: Value, then: str, other: str, expected: bool = False) -> None:
        """Part: ``then`` or ``other`` comes next; ``expected``: nearly always ``then``."""
        self.begin_fork(f"br i1 {condition.text}, label %{then}, label %{other}{', !prof !1' if expected else ''}")

    def begin_fork(self, branch: str) -> None:
        self.e.line(f"  {branch}")
        self.forks.append((len(self.known), len(self.expanded), len(self.views)))

    def arm(self, label: str) -> None:
        """One of the ways; what another one has found is not there."""
        known, expanded, views = self.forks[-1]
        _shorten(self.known, known)
        _shorten(self.expanded, expanded)
        _shorten(self.views, views)
        self.e.line(f"{label}:")

    def go(self, label: str) -> None:
        """On one of the ways to another."""
        self.e.line(f"  br label %{label}")

    def join(self, label: str) -> None:
        """Where the ways of the last fork meet."""
        self.arm(label)
        self.forks.pop()

    def alloca(self, stem: str, type: str, align: int = 0) -> str:
        name = f"%{stem}.{self.e.number()}"
        self.allocas.append(f"  {name} = alloca {type}" + (f", align {align}" if align else ""))
        return name

    def slot_type(self, elem: str, lanes: int) -> str:
        """The type of a stack slot that keeps values of ``elem``."""
        if elem == "i1" and lanes == self.lanes and self.has_word_masks:
            return "i32"
        return type_of("i32" if elem == "i1" and lanes and self.has_wide_masks else elem, lanes)

    def load(self, address: str, elem: str, lanes: int) -> Value:
        """The value in a stack slot."""
        known = self.known.get(address)
        if known is not None:
            return self.as_elem(known, elem)
        self.memory_of(address)
        if elem == "i1" and lanes and self.has_wide_masks:
            wide = self.e.value("i32", lanes, f"load {type_of('i32', lanes)}, ptr {address}")
            value = self.e.icmp("slt", wide, int_const("i32", 0, lanes))
        elif elem == "i1" and lanes == self.lanes and self.has_word_masks:
            value = self.e.mask_of(self.e.value("i32", 0, f"load i32, ptr {address}"))
        else:
            value = self.e.value(elem, lanes, f"load {type_of(elem, lanes)}, ptr {address}{self.alignment(address)}")
        if address in self.register_at:
            self.known[address] = value
        return value

    def store(self, value: Value, address: str) -> None:
        """Put a value into a stack slot, that of a register only before the next branch."""
        register = self.register_at.get(address)
        if register is None:
            self.store_now(value, address)
            return
        self.known[address] = value
        self.unsaved[address] = register
        for lanes in (0, self.rows, self.lanes):
            self.expanded.pop((register, lanes), None)

    def save_registers(self) -> None:
        """Write the slots of registers that were set since the last label, apart from those that nothing reads."""
        assert not self.forks or not self.unsaved, f"{list(self.unsaved)} would be written on some of the ways only"
        for address, register in self.unsaved.items():
            if self.needed >> register & 1:
                value = self.known[address]
                bits = ELEM_BITS[value.elem]
                self.store_now(self.as_elem(value, INT_ELEM[bits]), self.memory_of(address))
        self.unsaved.clear()

    def store_now(self, value: Value, address: str) -> None:
        if value.elem == "i1" and value.lanes and self.has_wide_masks:
            value = self.e.cast("sext", value, "i32")
        elif value.elem == "i1" and value.lanes == self.lanes and self.has_word_masks:
            value = self.e.bits_of(value, "i32")
        self.e.line(f"  store {value.typed}, ptr {address}{self.alignment(address)}")

    def alignment(self, address: str) -> str:
        """What an access of a slot says of its alignment: nothing where it is on the stack."""
        register = self.register_at.get(address)
        return ", align 8" if register is not None and self.residents >> register & 1 else ""

    def keep(self, slot: str, size: int) -> int:
        """The offset of a slot in the frame of the state; each has a place of its own."""
        offset = self.kept_at.get(slot)
        if offset is None:
            offset = self.kept_at[slot] = self.kept_bytes
            self.kept_bytes += align_up(size, 8)
        return offset

    def no_lanes_slot(self, name: str) -> None:
        """Make a stack slot of that name for a mask, without lanes at first."""
        type = self.slot_type("i1", self.lanes)
        self.allocas.append(f"  {name} = alloca {type}")
        self.allocas.append(f"  store {type} {zero_of(type)}, ptr {name}")

    def word(self, pointer: str, index: int, invariant: bool = True) -> Value:
        """An i64 word of a structure of ``abi``."""
        at = self.word_pointer(pointer, index)
        return self.e.value("i64", 0, f"load i64, ptr {at}, align 8" + (", !invariant.load !0" if invariant else ""))

    def word_pointer(self, pointer: str, index: int) -> str:
        if index == 0:
            return pointer
        return self.e.value("ptr", 0, f"getelementptr inbounds i8, ptr {pointer}, i64 {8 * index}").text

    def set_word(self, pointer: str, index: int, value: Value) -> None:
        at = self.word_pointer(pointer, index)
        self.e.line(f"  store i64 {value.text}, ptr {at}, align 8")

    def pointer(self, address: Value) -> Value:
        return self.e.cast("inttoptr", address, "ptr")

    def displaced(self, first: Value, stride: int) -> Value:
        """A value of the unit's first lane, as it is for the first lane of this frame."""
        return first

    def lane_ids(self, elem: str = "i32", stride: int = 1) -> Value:
        """``<0, stride, 2 * stride, ...>``."""
        return self.e.vector_const(elem, [stride * lane for lane in range(self.lanes)])

    def steps(self, elem: str, stride: int) -> Value:
        """What the lanes of an affine value add to their row's base."""
        width = self.segment or self.lanes
        return self.e.vector_const(elem, [stride * (i % width) for i in range(self.lanes)])

    def row_steps(self, elem: str, stride: int) -> Value:
        """For each row ``stride`` times the number of its first lane (0 when a warp is one row)."""
        if not self.rows:
            return int_const(elem, 0)
        return self.e.vector_const(elem, [stride * self.segment * row for row in range(self.rows)])

    def spread(self, value: Value) -> Value:
        """One scalar per row (or one for all) in every lane."""
        if not value.lanes:
            return self.e.splat(value, self.lanes)
        picks = self.e.vector_const("i32", [i // self.segment for i in range(self.lanes)])
        return self.e.value(value.elem, self.lanes, f"shufflevector {value.typed}, {value.type} poison, {picks.typed}")

    def row(self, value: Value, row: int) -> Value:
        """The scalar of one row."""
        return self.e.extract(value, int_const("i64", row)) if value.lanes else value

    def mask_bits(self, mask: Value) -> Value:
        """The mask as an integer of as many bits as there are lanes (one thread: an i32), lane 0 in bit 0."""
        if not mask.lanes:
            return self.e.cast("zext", mask, "i32")
        return self.e.bits_of(mask, f"i{mask.lanes}")

    def any_lane(self, mask: Value) -> Value:
        if not mask.lanes:
            return mask
        return self.e.icmp("ne", self.mask_bits(mask), int_const(f"i{mask.lanes}", 0))

    def bits_mask(self, bits: Value) -> Value:
        """The mask that the low bits of an i32 are."""
        if self.lanes < WARP:
            bits = self.e.cast("trunc", bits, f"i{self.lanes}")
        return self.e.value("i1", self.lanes, f"bitcast {bits.typed} to <{self.lanes} x i1>")

    def mask_word(self, mask: Value) -> Value:
        """The mask of a unit of at most 32 lanes as an i32."""
        bits = self.mask_bits(mask)
        return bits if bits.elem == "i32" else self.e.cast("zext", bits, "i32")

    def first_lane(self, mask: Value) -> Value:
        """The number of the lowest set lane as an i32; ``mask`` is not empty."""
        return self.first_bit(self.mask_bits(mask))

    def first_bit(self, bits: Value) -> Value:
        """The number of the lowest set bit as an i32; there is one."""
        count = self.e.call(f"llvm.cttz.{bits.elem}", bits.elem, 0, [bits, int_const("i1", 1)])
        return self.int32(count)

    def int32(self, value: Value) -> Value:
        """A small number as an i32."""
        bits = ELEM_BITS[value.elem]
        return value if bits == 32 else self.e.cast("trunc" if bits > 32 else "zext", value, "i32")

    def leave_with_fault(self) -> None:
        """Return at once: the launch record says what happened."""
        self.unsaved.clear()
        self.e.line(self.fault_exit)

    def fail(self, code: int, pos: int, mask: Value) -> None:
        """Record an error of the first lane of ``mask`` and return."""
        self.e.declare("dl_fail", "void", ["ptr", "ptr", "i64", "i64", "i64", "i32"])
        lane = self.first_lane(mask)
        first = self.first_thread().typed
        self.e.line(f"  call void @dl_fail(ptr %launch, ptr %slot, {first}, i64 {code}, i64 {pos}, {lane.typed})")
        self.leave_with_fault()

    def first_thread(self) -> Value:
        """The number of lane 0's thread in its block."""
        index = Value("%index", "i64", 0)
        if not self.is_gang:
            return self.e.binary("mul", index, int_const("i64", self.lanes)) if self.lanes else index
        e = self.e
        y, z = [self.word("%slot", abi.SLOT_ROW + i, False) for i in range(2)]
        nx, ny = [self.word("%launch", abi.LAUNCH_BLOCK + i) for i in range(2)]
        row = e.binary("add", e.binary("mul", z, ny), y)
        return e.binary("add", e.binary("mul", row, nx), self.first_column())

    def first_column(self) -> Value:
        """``%tid.x`` of a gang's lane 0, as an i64."""
        return self.e.binary("mul", self.word("%slot", abi.SLOT_COLUMN, False), int_const("i64", self.lanes))

    def error(self, pos: int, message: str, expected: str = "") -> SourceError:
        return self.module.error(VerifyError, pos, message, expected)

    # -- registers ---------------------------------------------------------------------------------------

    def elem_of(self, register: Register) -> str:
        return INT_ELEM[register.type.bits]

    def passed_elem(self, register: Register) -> str:
        """How a register stands in memory between a function and its caller: a predicate as a byte."""
        return INT_ELEM[8 * register.type.bytes]

    def shape(self, register: Register) -> Shape:
        return self.shapes[register.id]

    def slot(self, register: Register) -> str:
        """The stack slot that holds the register (its scalar part when it is widened)."""
        name = self.slots.get(register.id)
        if name is None:
            name = f"%r{register.id}"
            self.slots[register.id] = name
            self.register_at[name] = register.id
            type = self.slot_type(self.elem_of(register), self.slot_lanes(register))
            self.unallocated[name] = type
            if self.shapes[register.id].kind == WIDENED:
                base = f"%r{register.id}.base"
                self.bases[register.id] = base
                self.register_at[base] = register.id
                self.unallocated[base] = type_of("i32", self.rows)
        return name

    def memory_of(self, slot: str) -> str:
        """The slot of a register, which from here on has memory."""
        type = self.unallocated.pop(slot, "")
        if type and self.residents >> self.register_at[slot] & 1:
            offset = 8 * abi.STATE_FRAME + self.keep(slot, byte_size(type))
            self.allocas.append(f"  {slot} = getelementptr inbounds i8, ptr %state, i64 {offset}")
        elif type:
            self.allocas.append(f"  {slot} = alloca {type}")
        return slot

    def slot_lanes(self, register: Register) -> int:
        """How many elements the register's slot has: one per lane, per row, or 0 for a scalar."""
        kind = self.shapes[register.id].kind
        return self.lanes if kind == VARYING else 0 if kind == UNIFORM else self.rows

    def base_slot(self, register: Register) -> str:
        self.slot(register)
        return self.bases[register.id]

    def read(self, register: Register, lanes: int) -> Value:
        """The register's bits in every lane, or, where it does not vary, one per row (``lanes`` is ``rows``) or
        lane 0's (``lanes`` is 0)."""
        return self.read_as(register, self.elem_of(register), lanes)

    def read_as(self, register: Register, elem: str, lanes: int) -> Value:
        """``read`` as ``elem``; truncated when the register is wider."""
        shape = self.shapes[register.id]
        slot = self.slot(register)
        if shape.kind == VARYING:
            known = self.known.get(slot)
            return self.as_elem(known or self.load(slot, self.elem_of(register), self.lanes), elem)
        expanded = self.expanded.get((register.id, lanes))
        if expanded is None:
            expanded = self.expanded[register.id, lanes] = self.expand(register, shape, slot, lanes)
        return self.as_elem(expanded, elem)

    def expand(self, register: Register, shape: Shape, slot: str, lanes: int) -> Value:
        """The value of a register that does not vary; where it is uniform, as a value of any type."""
        elem = self.elem_of(register)
        e = self.e
        if shape.kind == UNIFORM:
            return e.splat(self.known.get(slot) or self.load(slot, elem, 0), lanes)
        value = self.load(slot, elem, self.slot_lanes(register))
        if shape.kind == WIDENED:
            index = self.widened_index(register, lanes == self.lanes)
            scaled = e.binary("mul", index, int_const("i64", shape.scale, index.lanes))
            if lanes == self.lanes:
                return e.binary("add", self.spread(value), scaled)
            first = e.binary("add", value, scaled)
            return first if lanes else self.row(first, 0)
        if lanes == self.lanes:
            return e.binary("add", self.spread(value), self.steps(elem, shape.stride))
        return value if lanes else self.row(value, 0)

    def widened_index(self, register: Register, every_lane: bool) -> Value:
        """The exact 64-bit index of every lane (or of every row's first) of a widened register, without scale and
        offset."""
        shape = self.shapes[register.id]
        index = self.load(self.base_slot(register), "i32", self.rows)
        if every_lane:
            index = self.e.binary("add", self.spread(index), self.steps("i32", shape.stride))
        return self.e.cast("sext" if shape.signed else "zext", index, "i64")

    def write(self, register: Register, value: Value) -> None:
        """Set the register in the lanes of ``mask`` (and of the guard); ``value`` has the register's width."""
        slot = self.slot(register)
        e = self.e
        if self.shapes[register.id].kind != VARYING:
            lanes = self.slot_lanes(register)
            if value.lanes not in (0, lanes):
                raise AssertionError(f"{register.name} is {self.shapes[register.id]!r} but gets {value.lanes} values")
            value = e.splat(value, lanes)
            if self.guard is not None:
                value = e.select(self.guard, value, self.load(slot, value.elem, lanes))
            self.store(value, slot)
            return
        value = e.splat(value, self.lanes)
        condition: Value | None = None
        if self.waiting >> register.id & 1:
            condition = self.mask
        if self.guard is not None:
            guard = e.splat(self.guard, self.lanes)
            condition = guard if condition is None else e.binary("and", condition, guard)
        if condition is not None:
            value = e.select(condition, value, self.load(slot, value.elem, self.lanes))
        self.store(value, slot)

    def write_as(self, register: Register, value: Value, signed: bool = False) -> None:
        """``write`` a value of any element type: floats by their bits, narrower integers extended."""
        e = self.e
        bits = ELEM_BITS[value.elem]
        if value.elem in _FLOATS:
            if bits == register.type.bits:
                self.write(register, value)
                return
            value = e.cast("bitcast", value, INT_ELEM[bits])
        if bits < register.type.bits:
            value = e.cast("sext" if signed else "zext", value, self.elem_of(register))
        elif bits > register.type.bits:
            value = e.cast("trunc", value, self.elem_of(register))
        self.write(register, value)

    # -- operands ----------------------------------------------------------------------------------------

    def lanes_of(self, operand: Operand) -> int:
        """0 when the operand is one scalar for all lanes, else the lane count."""
        if isinstance(operand, Register):
            return 0 if self.shapes[operand.id].kind == UNIFORM else self.lanes
        if isinstance(operand, Not):
            return self.lanes_of(operand.register)
        if isinstance(operand, SpecialRegister):
            return self.special_lanes(operand.name)
        if isinstance(operand, Symbol) and (operand.name in self.local_offsets or operand.name in self.blocks):
            return self.lanes
        return 0

    def special_lanes(self, name: str) -> int:
        if name.startswith(("%laneid", "%lanemask")) or (self.at_once and name == "%warpid"):
            return self.lanes
        if name.startswith("%tid"):
            return 0 if self.segment == self.lanes and name != "%tid.x" else self.lanes
        return 0

    def operand(self, operand: Operand, elem: str, lanes: int) -> Value:
        """The operand as an LLVM value of ``elem``; with ``lanes`` 0 lane 0's value where it is affine."""
        if isinstance(operand, Register):
            return self.read_as(operand, elem, lanes)
        if isinstance(operand, Immediate):
            return constant(operand, elem, lanes)
        if isinstance(operand, Not):
            value = self.read(operand.register, lanes)
            return self.e.binary("xor", value, int_const("i1", 1, value.lanes))
        if isinstance(operand, SpecialRegister):
            return self.as_elem(self.special(operand.name, lanes), elem)
        if isinstance(operand, Symbol):
            return self.as_elem(self.symbol(operand, lanes), elem)
        raise UnsupportedError(f"operand {operand!r} is not supported by the cpu device")

    def condition(self, instruction: Instruction) -> Value | None:
        """The guard of an instruction as a value, scalar where it is uniform; None when there is no guard."""
        guard = instruction.guard
        if guard is None:
            return None
        value = self.read(guard, self.lanes_of(guard))
        if instruction.guard_negated:
            value = self.e.binary("xor", value, int_const("i1", 1, value.lanes))
        return value

    def as_elem(self, value: Value, elem: str) -> Value:
        """Reinterpret register bits as ``elem``: truncated when the register is wider."""
        if value.elem == elem:
            return value
        seen = self.views.get((value.text, elem))
        if seen is not None:
            return seen
        want = ELEM_BITS[elem]
        have = ELEM_BITS[value.elem]
        view = value if have == want else self.e.cast("bitcast", value, INT_ELEM[have])
        if have > want:
            view = self.e.cast("trunc", view, INT_ELEM[want])
        elif have < want:
            view = self.e.cast("zext", view, INT_ELEM[want])
        view = self.e.cast("bitcast", view, elem)
        if value.text.startswith("%"):
            self.views[value.text, elem] = view
            if have == want:
                self.views[view.text, value.elem] = value
        return view

    def symbol(self, symbol: Symbol, lanes: int) -> Value:
        """The address of a symbol in its own space as an i64; global, const and local ones are generic addresses, and
        so are a device function's parameters."""
        e = self.e
        name = symbol.name
        if name in self.shared_offsets:
            return int_const("i64", self.shared_offsets[name] + symbol.offset, lanes)
        if name in self.local_offsets:
            offset = int_const("i64", self.local_offsets[name] + symbol.offset)
            first = e.binary("add", self.load(self.local_slot, "i64", 0), offset)
            if not lanes:
                return first
            per_lane = lanes == self.lanes
            first = self.displaced(first, self.local_stride)
            steps = self.lane_ids("i64", self.local_stride) if per_lane else self.row_steps("i64", self.local_stride)
            return e.binary("add", e.splat(first, lanes), steps)
        if name in self.blocks and not self.function.is_entry:
            first = e.value("i64", 0, f"ptrtoint ptr {self.blocks[name]} to i64")
            first = e.binary("add", first, int_const("i64", symbol.offset))
            if not lanes:
                return first
            first = self.displaced(first, self.block_strides[name])
            return e.binary("add", e.splat(first, lanes), self.lane_ids("i64", self.block_strides[name]))
        if name in self.param_offsets:
            return int_const("i64", self.param_offsets[name] + symbol.offset, lanes)
        for known in (f"{self.function.name}:{name}", name):
            if known in self.layout.offsets:
                image = self.word("%launch", abi.LAUNCH_IMAGE)
                offset = int_const("i64", self.layout.offsets[known] + symbol.offset)
                return e.splat(e.binary("add", image, offset), lanes)
        if name in self.function_ids:
            return int_const("i64", self.function_ids[name], lanes)
        raise UnsupportedError(f"the cpu device cannot take the address of '{name}'")

    def special(self, name: str, lanes: int) -> Value:
        """The value of a special register, of its own width."""
        base, _, component = name.partition(".")
        axis = "xyz".find(component) if component else 0
        if axis < 0:
            return int_const("i32", 0, lanes)
        if base == "%tid":
            return self.thread_id(axis, lanes)
        if base == "%ntid" and self.block is not None:
            return int_const("i32", self.block[axis], lanes)
        if base == "%ntid":
            return self.e.splat(self.narrow(self.word("%launch", abi.LAUNCH_BLOCK + axis)), lanes)
        if base == "%ctaid":
            return self.e.splat(self.narrow(self.word("%slot", abi.SLOT_CTAID + axis, False)), lanes)
        if base == "%nctaid":
            return self.e.splat(self.narrow(self.word("%launch", abi.LAUNCH_GRID + axis)), lanes)
        if base == "%laneid":
            return self.lane_id(lanes)
        if base.startswith("%lanemask_"):
            return self.lane_mask(base[len("%lanemask_") :], lanes)
        value = self.scalar_special(base, name)
        return self.e.splat(value, lanes)

    def narrow(self, value: Value) -> Value:
        return self.e.cast("trunc", value, "i32")

    def lane_id(self, lanes: int) -> Value:
        if self.at_once:
            return self.e.vector_const("i32", [lane % WARP for lane in range(self.lanes)])
        if self.lanes:
            return self.displaced(self.lane_ids() if lanes == self.lanes else self.row_steps("i32", 1), 1)
        return self.e.binary("and", self.narrow(Value("%index", "i64", 0)), int_const("i32", WARP - 1))

    def lane_mask(self, relation: str, lanes: int) -> Value:
        """``%lanemask_eq`` and its kin, from the lane's number."""
        e = self.e
        lane = self.lane_id(lanes)
        n = lane.lanes
        bit = e.binary("shl", int_const("i32", 1, n), lane)
        below = e.binary("sub", bit, int_const("i32", 1, n))
        if relation == "eq":
            return bit
        if relation == "lt":
            return below
        if relation == "le":
            return e.binary("or", below, bit)
        upto = below if relation == "ge" else e.binary("or", below, bit)
        return e.binary("xor", upto, int_const("i32", -1, n))

    def thread_id(self, axis: int, lanes: int) -> Value:
        """``%tid``: linear thread number = warp * 32 + lane, split over the block's extents."""
        e = self.e
        if self.block is not None:
            return self.known_thread_id(self.block, axis, lanes)
        if self.is_gang:
            if axis:
                return e.splat(self.narrow(self.word("%slot", abi.SLOT_ROW + axis - 1, False)), lanes)
            column = self.narrow(self.first_column())
            return e.binary("add", e.splat(column, lanes), self.lane_ids()) if lanes else column
        index = self.narrow(Value("%index", "i64", 0))
        first = self.displaced(e.binary("mul", index, int_const("i32", WARP)), 1) if self.lanes else index
        if self.linear:
            if axis:
                return int_const("i32", 0, lanes)
            return e.binary("add", e.splat(first, lanes), self.lane_ids()) if lanes else first
        if self.segment and self.lanes:
            rows = e.binary("add", e.splat(first, self.rows), self.row_steps("i32", 1)) if self.rows else first
            value = self.split_thread(rows, axis) if axis or not self.rows else int_const("i32", 0, self.rows)
            if lanes != self.lanes:
                return value if lanes else self.row(value, 0)
            spread = self.spread(value)
            return spread if axis else e.binary("add", spread, self.steps("i32", 1))
        if not self.lanes:
            return self.split_thread(first, axis)
        return self.split_thread(e.binary("add", e.splat(first, self.lanes), self.lane_ids()), axis)

    def known_thread_id(self, block: tuple[int, int, int], axis: int, lanes: int) -> Value:
        """``%tid`` of every lane, of every row's first lane or of the first of all, where the block runs at once."""
        x, y, _ = block
        threads = range(self.lanes) if lanes == self.lanes else [row * self.segment for row in range(lanes)] or [0]
        values = [(t % x, t // x % y, t // (x * y))[axis] for t in threads]
        return self.e.vector_const("i32", values) if lanes else int_const("i32", values[0])

    def split_thread(self, linear: Value, axis: int) -> Value:
        e = self.e
        nx = e.splat(self.narrow(self.word("%launch", abi.LAUNCH_BLOCK)), linear.lanes)
        if axis == 0:
            return e.binary("urem", linear, nx)
        ny = e.splat(self.narrow(self.word("%launch", abi.LAUNCH_BLOCK + 1)), linear.lanes)
        rows = e.binary("udiv", linear, nx)
        return e.binary("urem", rows, ny) if axis == 1 else e.binary("udiv", rows, ny)

    def scalar_special(self, base: str, name: str) -> Value:
        e = self.e
        if base == "%warpid" and self.at_once:
            return self.e.vector_const("i32", [lane // WARP for lane in range(self.lanes)])
        if base == "%warpid":
            index = self.narrow(Value("%index", "i64", 0))
            return index if self.lanes else e.binary("lshr", index, int_const("i32", 5))
        if base == "%nwarpid":
            threads = self.narrow(self.word("%launch", abi.LAUNCH_THREADS))
            return e.binary("lshr", e.binary("add", threads, int_const("i32", WARP - 1)), int_const("i32", 5))
        if base in ("%smid", "%nsmid", "%gridid"):
            return int_const("i64" if base == "%gridid" else "i32", 1 if base == "%nsmid" else 0)
        if base in ("%clock", "%clock64", "%clock_hi", "%globaltimer", "%globaltimer_lo", "%globaltimer_hi"):
            e.declare("llvm.readcyclecounter", "i64", [])
            cycles = e.value("i64", 0, "call i64 @llvm.readcyclecounter()")
            if base in ("%clock64", "%globaltimer"):
                return cycles
            if base in ("%clock_hi", "%globaltimer_hi"):
                cycles = e.binary("lshr", cycles, int_const("i64", 32))
            return self.narrow(cycles)
        if base == "%dynamic_smem_size":
            return self.narrow(self.word("%launch", abi.LAUNCH_DYNAMIC))
        if base in ("%total_smem_size", "%aggr_smem_size"):
            return self.narrow(self.word("%launch", abi.LAUNCH_SHARED))
        if base.startswith(("%envreg", "%pm")):
            return int_const("i64" if base.endswith("_64") else "i32", 0)
        raise UnsupportedError(f"special register {name} is not supported by the cpu device")


def byte_size(type: str) -> int:
    """The bytes that LLVM stores for a type as ``type_of`` writes it."""
    bits = {"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64, "i128": 128}
    if type.startswith("<"):
        lanes, _, elem = type[1:-1].partition(" x ")
        return (int(lanes) * bits[elem] + 7) // 8
    return (bits[type] + 7) // 8


def zero_of(type: str) -> str:
    """The constant of an integer type, or a vector of them, whose bits are 0."""
    return "zeroinitializer" if type[0] == "<" else "false" if type == "i1" else "0"


def _shorten(found: dict[_Key, Value], length: int) -> None:
    """Forget what was added last."""
    while len(found) > length:
        found.popitem()


def constant(immediate: Immediate, elem: str, lanes: int) -> Value:
    """A literal as ``elem``: integers wrapped, floats rounded to the type, bits where the type is an integer."""
    if elem in _FLOATS:
        return float_const(elem, immediate_float(immediate, elem), lanes)
    if immediate.kind == INT:
        return int_const(elem, immediate.value if elem != "i1" else int(immediate.value != 0), lanes)
    width = ELEM_BITS[elem]
    if width == 64 and immediate.kind == FLOAT32:
        return int_const(elem, struct.unpack("<Q", struct.pack("<d", immediate_float(immediate, "double")))[0], lanes)
    if width == 32 and immediate.kind == FLOAT64:
        value = immediate_float(immediate, "float")
        return int_const(elem, struct.unpack("<I", struct.pack("<f", value))[0], lanes)
    if width == 16:
        return int_const(elem, struct.unpack("<H", struct.pack("<e", immediate_float(immediate, "half")))[0], lanes)
    return int_const(elem, immediate.value, lanes)


def immediate_float(immediate: Immediate, elem: str) -> float:
    """The number that a float literal stands for, rounded to nearest in ``elem``."""
    if immediate.kind == FLOAT32:
        value: float = struct.unpack("<f", struct.pack("<I", immediate.value))[0]
    elif immediate.kind == FLOAT64:
        value = struct.unpack("<d", struct.pack("<Q", immediate.value))[0]
    else:
        value = float(immediate.value)
    if elem == "float" and value == value and abs(value) != float("inf"):
        try:
            value = struct.unpack("<f", struct.pack("<f", value))[0]
        except OverflowError:
            value = float("inf") if value > 0 else float("-inf")
    return value
