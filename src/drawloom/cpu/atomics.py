"""Atomics: what decides how many of them there are is where the lanes' addresses go.

one address, old values not wanted, integers    the lanes' operands are combined, then one atomic
one address, old values wanted, integers        one atomic, and what the lanes before each have added to it
one address, other operations, more lanes       the lanes follow each other on a copy, which is swapped in
shared memory                                   plain loads and stores: a block is one thread
anything else                                   an atomic for each lane, lowest first
"""

from __future__ import annotations

from typing import Final

from drawloom.cpu import abi, races
from drawloom.cpu.emitter import ELEM_BITS, INT_ELEM, Value, int_const, type_of
from drawloom.cpu.memory import Memory
from drawloom.cpu.ops.half import update_half
from drawloom.cpu.shapes import UNIFORM
from drawloom.errors import UnsupportedError
from drawloom.ptx.ir import Address, Instruction, Operand, Register, Symbol, Vector
from drawloom.ptx.isa import Opcode
from drawloom.ptx.types import Type

#: LLVM's atomicrmw operation by PTX operation and type kind.
_RMW: Final[dict[str, str]] = {
    "add u": "add", "add s": "add", "add f": "fadd", "and b": "and", "or b": "or", "xor b": "xor", "exch b": "xchg",
    "exch u": "xchg", "exch s": "xchg", "exch f": "xchg", "min u": "umin", "min s": "min", "max u": "umax",
    "max s": "max", "inc u": "uinc_wrap", "dec u": "udec_wrap",
}  # fmt: skip


class Atomics(Memory):
    """Loads and stores, and atomics."""

    def atomic(self, instruction: Instruction, result_used: bool) -> None:
        f = self.f
        opcode = instruction.opcode
        is_red = opcode.name == "red"
        if opcode.vector > 1:
            self.vector_atomic(instruction)
            return
        operands = instruction.operands if is_red else instruction.operands[1:]
        type = opcode.types[0]
        elem = _atomic_elem(type)
        place = self.place_of(operands[0], opcode, instruction.pos)
        self.check_access(place, type.bytes, instruction, races.READS | races.WRITES)
        self.order_before_atomic(opcode)
        shared = opcode.space == "shared"
        target = None if is_red else instruction.operands[0]
        sources = operands[1 : _value_count(opcode) + 1]
        if not f.lanes or (place.kind == UNIFORM and _is_combined(opcode)):
            address = self.plus(place.address, place.offset)
            values = [self.stored_as(o, type, elem, f.lanes) for o in sources]
            if not f.lanes:
                old = self.one_atomic(address, opcode, values, elem, shared)
            elif _is_reducible(opcode) and (f.lanes == abi.WARP or not result_used):
                old = self.reduced(address, opcode, values[0], elem, shared, result_used)
            else:
                old = self.in_turn(address, opcode, values, elem, shared, result_used)
            self.order_after_atomic(opcode)
            if isinstance(target, Register):
                f.write_as(target, old)
            return
        if shared and not result_used and not self.check and opcode.operation != "cas" and _is_combined(opcode):
            self.shared_updates(operands[0], operands[1], opcode, elem)
            self.order_after_atomic(opcode)
            return
        at = self.spill(self.lane_addresses(place))
        slots = [self.spill(self.stored_as(o, type, elem, f.lanes)) for o in sources]
        results = f.alloca("old", type_of(elem, f.lanes), 64)
        f.store(Value("zeroinitializer", elem, f.lanes), results)
        lane = self.lane_loop_begin(f.mask)
        old = self.one_atomic(
            self.element(at, "i64", lane), opcode, [self.element(s, elem, lane) for s in slots], elem, shared
        )
        if result_used:
            self.set_element(results, old, lane)
        self.lane_loop_end()
        self.order_after_atomic(opcode)
        if isinstance(target, Register):
            f.write_as(target, f.load(results, elem, f.lanes))

    def shared_updates(self, address: Operand, source: Operand, opcode: Opcode, elem: str) -> None:
        """Atomics on shared memory whose old values nobody wants: plain updates, lane by lane. This is what histograms
        consist of; a kernel may have hundreds, so each calls a function, of which there is one for all that are alike.
        """
        f = self.f
        e = f.e
        if not isinstance(address, Address):
            raise AssertionError(f"{address!r} is no address")
        shared = f.word("%slot", abi.SLOT_SHARED, False)
        base = address.base
        if isinstance(base, Register):
            offsets = e.cast("trunc", f.read(base, f.lanes), "i32")
            constant = address.offset
        else:
            offsets = int_const("i32", 0, f.lanes)
            constant = address.offset + (f.shared_offsets[base.name] if isinstance(base, Symbol) else 0)
        shared = self.plus(shared, constant)
        value = self.stored_as(source, opcode.types[0], elem, f.lanes_of(source))

        def update(address: Value, values: list[Value]) -> None:
            self.one_atomic(address, opcode, values, elem, True)

        name = f"update.{opcode.operation}.{opcode.types[0].name}"
        self.lane_calls.call(name, shared, offsets, [value], update)

    def vector_atomic(self, instruction: Instruction) -> None:
        """``atom.v4.f32`` and its kin: atomic in each element (PTX ISA 9.0 section 9.7.13.5), one after the other."""
        f = self.f
        opcode = instruction.opcode
        is_red = opcode.name == "red"
        operands = instruction.operands if is_red else instruction.operands[1:]
        type = opcode.types[0]
        elem = _atomic_elem(type)
        place = self.place_of(operands[0], opcode, instruction.pos)
        self.check_access(place, type.bytes * opcode.vector, instruction, races.READS | races.WRITES)
        sources = operands[1].elements if isinstance(operands[1], Vector) else [operands[1]]
        target = None if is_red else instruction.operands[0]
        at = self.spill(self.lane_addresses(place) if f.lanes else self.plus(place.address, place.offset))
        slots = [self.spill(self.stored_as(o, type, elem, f.lanes)) for o in sources]
        results = [f.alloca("old", type_of(elem, f.lanes), 64) for _ in sources]
        lane = self.lane_loop_begin(f.mask) if f.lanes else int_const("i32", 0)
        for i, slot in enumerate(slots):
            address = self.plus(self.element(at, "i64", lane), i * type.bytes)
            old = self.one_atomic(address, opcode, [self.element(slot, elem, lane)], elem, False)
            self.set_element(results[i], old, lane)
        if f.lanes:
            self.lane_loop_end()
        elements = target.elements if isinstance(target, Vector) else []
        for element, result in zip(elements, results, strict=False):
            if isinstance(element, Register):
                f.write_as(element, f.load(result, elem, f.lanes))

    def stored_as(self, operand: Operand, type: Type, elem: str, lanes: int) -> Value:
        if elem in ("float", "double"):
            return self.f.operand(operand, elem, lanes)
        return self.stored(operand, type, elem, lanes)

    def order_before_atomic(self, opcode: Opcode) -> None:
        if opcode.space == "shared":
            self.f.e.line('  fence syncscope("singlethread") seq_cst')

    def order_after_atomic(self, opcode: Opcode) -> None:
        if opcode.space == "shared":
            self.f.e.line('  fence syncscope("singlethread") seq_cst')

    def reduced(
        self, address: Value, opcode: Opcode, values: Value, elem: str, shared: bool, result_used: bool
    ) -> Value:
        """Combine the active lanes' operands and do one atomic for all of them; what each lane would have found is what
        was there, combined with the operands of those before it."""
        f = self.f
        e = f.e
        operation = _RMW[f"{opcode.operation} {opcode.types[0].kind}"]
        bits = ELEM_BITS[elem]
        neutral = {"and": -1, "umin": -1, "min": (1 << (bits - 1)) - 1, "max": -(1 << (bits - 1))}.get(operation, 0)
        values = e.select(f.mask, values, int_const(elem, neutral, f.lanes))
        if not result_used:
            reduce = {"umin": "umin", "min": "smin", "umax": "umax", "max": "smax"}.get(operation, operation)
            total = e.call(f"llvm.vector.reduce.{reduce}.v{f.lanes}{elem}", elem, 0, [values])
            return self.one_atomic(address, opcode, [total], elem, shared)
        distance = 1
        while distance < f.lanes:
            values = self.combined(operation, self.moved_up(values, distance, neutral), values)
            distance *= 2
        total = e.extract(values, int_const("i32", f.lanes - 1))
        old = self.one_atomic(address, opcode, [total], elem, shared)
        return self.combined(operation, e.splat(old, f.lanes), self.moved_up(values, 1, neutral))

    def moved_up(self, values: Value, distance: int, neutral: int) -> Value:
        """Every lane's value in the lane so far above; ``neutral`` in the lowest."""
        e = self.f.e
        lanes = values.lanes
        picks = e.vector_const("i32", [lane - distance if lane >= distance else lanes for lane in range(lanes)])
        filler = int_const(values.elem, neutral, lanes)
        return e.value(values.elem, lanes, f"shufflevector {values.typed}, {filler.typed}, {picks.typed}")

    def in_turn(
        self, address: Value, opcode: Opcode, values: list[Value], elem: str, shared: bool, result_used: bool
    ) -> Value:
        """The active lanes one after the other on a copy of what is at one address, which then is swapped in if that is
        still there: a lock for all of them."""
        f = self.f
        e = f.e
        pointer = f.pointer(address)
        word = INT_ELEM[ELEM_BITS[elem]]
        align = f"align {opcode.types[0].bytes}"
        slots = [self.spill(value) for value in values]
        results = f.alloca("old", type_of(elem, f.lanes), 64)
        found, copy = f.alloca("found", word), f.alloca("copy", word)
        f.store(Value("zeroinitializer", elem, f.lanes), results)
        order = "" if shared else " monotonic"
        kind = "load" if shared else "load atomic"
        f.store(e.value(word, 0, f"{kind} {word}, {pointer.typed}{order}, {align}"), found)
        again, done = f.label("again"), f.label("swapped")
        f.begin_fork(f"br label %{again}")
        f.arm(again)
        f.store(f.load(found, word, 0), copy)
        lane = self.lane_loop_begin(f.mask)
        old = e.cast("bitcast", f.load(copy, word, 0), elem)
        if result_used:
            self.set_element(results, old, lane)
        new = self.updated(opcode, old, [self.element(slot, elem, lane) for slot in slots])
        f.store(e.cast("bitcast", new, word), copy)
        self.lane_loop_end()
        before, behind = f.load(found, word, 0), f.load(copy, word, 0)
        if shared:
            e.line(f"  store {behind.typed}, {pointer.typed}, {align}")
            f.go(done)
        else:
            pair = e.fresh()
            e.line(f"  {pair} = cmpxchg {pointer.typed}, {before.typed}, {behind.typed} seq_cst seq_cst, {align}")
            f.store(e.value(word, 0, f"extractvalue {{ {word}, i1 }} {pair}, 0"), found)
            swapped = e.value("i1", 0, f"extractvalue {{ {word}, i1 }} {pair}, 1")
            e.line(f"  br i1 {swapped.text}, label %{done}, label %{again}")
        f.join(done)
        return f.load(results, elem, f.lanes)

    def updated(self, opcode: Opcode, old: Value, values: list[Value]) -> Value:
        """What a lane leaves behind."""
        if opcode.operation == "cas":
            return self.f.e.select(self.f.e.icmp("eq", old, values[0]), values[1], old)
        return self.combined(_RMW[f"{opcode.operation} {opcode.types[0].kind}"], old, values[0])

    def one_atomic(self, address: Value, opcode: Opcode, values: list[Value], elem: str, shared: bool) -> Value:
        """One lane's atomic; returns the old value."""
        f = self.f
        e = f.e
        pointer = f.pointer(address)
        operation = opcode.operation
        type = opcode.types[0]
        size = type.bytes
        if size == 16 and not shared and "sse2" in e.features and "cx16" not in e.features:  # LLVM would call a library
            raise UnsupportedError(f"'{opcode.text}' needs a CPU with the instruction cmpxchg16b")
        if operation == "cas":
            if shared:
                old = e.value(elem, 0, f"load {elem}, {pointer.typed}, align {size}")
                new = e.select(e.icmp("eq", old, values[0]), values[1], old)
                e.line(f"  store {new.typed}, {pointer.typed}, align {size}")
                return old
            pair = e.fresh()
            swap = f"{values[0].typed}, {values[1].typed} seq_cst seq_cst, align {size}"
            e.line(f"  {pair} = cmpxchg {pointer.typed}, {swap}")
            return e.value(elem, 0, f"extractvalue {{ {elem}, i1 }} {pair}, 0")
        if type.lanes > 1 or (type.is_float and type.bits == 16):
            return self.packed_atomic(pointer, opcode, values[0], elem)
        name = _RMW.get(f"{operation} {type.kind}")
        if name is None:
            raise UnsupportedError(f"'{opcode.text}' is not supported by the cpu device")
        if not shared:
            return e.value(elem, 0, f"atomicrmw {name} {pointer.typed}, {values[0].typed} seq_cst, align {size}")
        old = e.value(elem, 0, f"load {elem}, {pointer.typed}, align {size}")
        new = self.combined(name, old, values[0])
        e.line(f"  store {new.typed}, {pointer.typed}, align {size}")
        return old

    def combined(self, name: str, old: Value, value: Value) -> Value:
        """What an atomicrmw stores, without the lock."""
        e = self.f.e
        if name in ("add", "fadd", "and", "or", "xor"):
            return e.binary(name, old, value)
        if name == "xchg":
            return value
        if name in ("umin", "min", "umax", "max"):
            predicate = {"umin": "ult", "min": "slt", "umax": "ugt", "max": "sgt"}[name]
            return e.select(e.icmp(predicate, old, value), old, value)
        zero = int_const(old.elem, 0)
        one = int_const(old.elem, 1)
        if name == "uinc_wrap":
            return e.select(e.icmp("uge", old, value), zero, e.binary("add", old, one))
        wraps = e.binary("or", e.icmp("eq", old, zero), e.icmp("ugt", old, value))
        return e.select(wraps, value, e.binary("sub", old, one))

    def packed_atomic(self, pointer: Value, opcode: Opcode, value: Value, elem: str) -> Value:
        """Addition, minimum or maximum of half or bfloat elements, by compare and swap."""
        f = self.f
        e = f.e
        size = opcode.types[0].bytes
        seen = f.alloca("seen", elem)
        f.store(e.value(elem, 0, f"load atomic {elem}, {pointer.typed} monotonic, align {size}"), seen)
        again, done = f.label("again"), f.label("swapped")
        f.begin_fork(f"br label %{again}")
        f.arm(again)
        old = f.load(seen, elem, 0)
        new = update_half(e, opcode, old, value)
        pair = e.fresh()
        e.line(f"  {pair} = cmpxchg {pointer.typed}, {old.typed}, {new.typed} seq_cst seq_cst, align {size}")
        f.store(e.value(elem, 0, f"extractvalue {{ {elem}, i1 }} {pair}, 0"), seen)
        swapped = e.value("i1", 0, f"extractvalue {{ {elem}, i1 }} {pair}, 1")
        e.line(f"  br i1 {swapped.text}, label %{done}, label %{again}")
        f.join(done)
        return old


def _is_reducible(opcode: Opcode) -> bool:
    """Whether the lanes' operands may be combined before there is an atomic: integers, whose order does not show."""
    return not opcode.types[0].is_float and opcode.operation in ("add", "and", "or", "xor", "min", "max")


def _is_combined(opcode: Opcode) -> bool:
    """Whether ``combined`` says what an atomic leaves, of a value that ``cmpxchg`` takes everywhere."""
    type = opcode.types[0]
    known = opcode.operation == "cas" or f"{opcode.operation} {type.kind}" in _RMW
    return known and type.lanes == 1 and type.bits <= 64 and not (type.is_float and type.bits == 16)


def _value_count(opcode: Opcode) -> int:
    return 2 if opcode.operation == "cas" else 1


def _atomic_elem(type: Type) -> str:
    if type.is_float and type.lanes == 1 and type.bits >= 32:
        return "float" if type.bits == 32 else "double"
    return INT_ELEM[type.bits]
