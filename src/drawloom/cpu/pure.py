"""Instructions that only compute: registers and immediates to LLVM values, as vectors, per row, or once for the warp.

What each opcode computes stands in ``ops/``; here it is decided how many values that takes. Moves, packing and
address spaces are here too, and linear steps on widened registers, which go on with offset and base apart.
"""

from __future__ import annotations

from drawloom.cpu import abi
from drawloom.cpu.body import Body
from drawloom.cpu.calls import Calls
from drawloom.cpu.emitter import INT_ELEM, Value, int_const
from drawloom.cpu.frame import Frame
from drawloom.cpu.ops import PURE as PURE_OPS
from drawloom.cpu.ops import operand_elems
from drawloom.cpu.shapes import UNIFORM, VARYING, WIDENED
from drawloom.ptx.ir import Immediate, Instruction, Operand, Pair, Register, SpecialRegister, Vector
from drawloom.ptx.isa import Form, Opcode
from drawloom.ptx.layout import param_layout


class Pure:
    """Lowers the pure instructions of one function."""

    def __init__(self, body: Body, frame: Frame, calls: Calls) -> None:
        self.body = body
        self.f = frame
        self.e = body.e
        self.lanes = frame.lanes
        self.plan = body.plan
        self.calls = calls

    def lower(self, instruction: Instruction) -> None:
        opcode = instruction.opcode
        name = opcode.name
        if name == "mov":
            self.move(instruction)
            return
        if name in ("cvta", "isspacep"):
            self.address_space(instruction)
            return
        f = self.f
        target = instruction.operands[0]
        if name == "createpolicy.range":  # an opaque cache hint; nothing here reads it
            assert isinstance(target, Register)
            f.write_as(target, int_const("i64", 0, 0))
            return
        if isinstance(target, Register) and f.shape(target).kind == WIDENED:
            self.widened(instruction, target)
            return
        form = matching_form(instruction)
        arguments = operand_elems(opcode, form)[1]
        lanes = self.result_lanes(instruction)
        values = [f.operand(o, elem, lanes) for o, elem in zip(instruction.operands[1:], arguments, strict=False)]
        if opcode.reads_carry:
            values.append(f.load(self.body.carry_slot(), "i1", self.body.carry_lanes()))
            if values[-1].lanes != lanes:
                values[-1] = self.e.splat(values[-1], lanes)
        out = PURE_OPS[name](self.e, opcode, values)
        if opcode.writes_carry:
            self.write_carry(out[-1])
            out = out[:-1]
        targets = [target.first, target.second] if isinstance(target, Pair) else [target]
        for register, value in zip(targets, out, strict=False):
            if isinstance(register, Register):
                f.write_as(register, value, opcode.types[0].is_signed if opcode.types else False)

    def result_lanes(self, instruction: Instruction) -> int:
        """How many values to compute: for an affine destination the bases of its rows, from those of the operands."""
        destinations = instruction.destinations()
        for register in destinations:
            if self.f.shape(register).kind == VARYING:
                return self.varying_lanes(instruction)
        if not destinations:
            return self.varying_lanes(instruction)
        return self.f.slot_lanes(destinations[0])

    def varying_lanes(self, instruction: Instruction) -> int:
        """A vector computation, unless all operands are scalars anyway."""
        for operand in instruction.operands[1:]:
            if self.f.lanes_of(operand):
                return self.lanes
        opcode = instruction.opcode
        if opcode.reads_carry and self.plan.carry is not None and self.plan.carry.kind != UNIFORM:
            return self.lanes
        return 0

    def write_carry(self, value: Value) -> None:
        """Set the carry flag. Waiting lanes have none to keep, unless it lasts."""
        f = self.f
        e = self.e
        slot = self.body.carry_slot()
        value = e.splat(value, self.body.carry_lanes())
        kept = [e.splat(f.guard, value.lanes)] if f.guard is not None else []
        if self.plan.carry_lasts and self.plan.region_of[self.body.block] >= 0:
            kept.append(f.mask)
        for written in kept:
            value = e.select(written, value, f.load(slot, "i1", value.lanes))
        f.store(value, slot)

    # -- linear steps on widened registers ---------------------------------------------------------------

    def widened(self, instruction: Instruction, target: Register) -> None:
        """A linear step on a widened register: on its offset, with the 32-bit base handed on."""
        f = self.f
        opcode = instruction.opcode
        operands = instruction.operands
        extended = self.extended_index(instruction)
        if extended is None:
            base = self.base_of(instruction)
            offset = self.linear_offset(instruction)
        else:
            base = f.operand(extended, "i32", f.rows)
            offset = f.operand(operands[3], "i64", f.rows) if opcode.name == "mad" else int_const("i64", 0, f.rows)
        f.write(target, offset)
        f.store(base, f.base_slot(target))

    def extended_index(self, instruction: Instruction) -> Operand | None:
        """The 32-bit index that this instruction extends; None when it goes on with one that is extended already."""
        opcode = instruction.opcode
        if opcode.name == "cvt":
            return instruction.operands[1] if opcode.types[1].bits == 32 else None
        if opcode.half == "wide":
            for operand in instruction.operands[1:3]:
                if not isinstance(operand, Immediate) and self.f.lanes_of(operand) and not self.is_widened(operand):
                    return operand
        return None

    def is_widened(self, operand: Operand) -> bool:
        return isinstance(operand, Register) and self.f.shape(operand).kind == WIDENED

    def base_of(self, instruction: Instruction) -> Value:
        """The base of the widened operand."""
        f = self.f
        for operand in instruction.operands[1:]:
            if isinstance(operand, Register) and self.is_widened(operand):
                return f.load(f.base_slot(operand), "i32", f.rows)
        raise AssertionError(f"'{instruction!r}' has no widened operand")

    def linear_offset(self, instruction: Instruction) -> Value:
        """The step on the offsets of widened operands and on uniform ones."""
        e = self.e
        opcode = instruction.opcode
        operands = instruction.operands
        name = opcode.name
        if name == "mad" and opcode.half == "wide":
            extension = "sext" if opcode.types[0].is_signed else "zext"
            factors = [e.cast(extension, self.f.operand(o, "i32", self.f.rows), "i64") for o in operands[1:3]]
            return e.binary("add", e.binary("mul", factors[0], factors[1]), self.offset_of(operands[3]))
        a = self.offset_of(operands[1])
        if name in ("mov", "cvt"):
            return a
        if name == "cvta":
            return self.between_spaces(opcode, a)
        if name == "neg":
            return e.binary("sub", int_const("i64", 0, self.f.rows), a)
        b = self.offset_of(operands[2])
        if name in ("add", "sub", "shl", "mul"):
            return e.binary(name, a, b)
        if name == "mad":
            return e.binary("add", e.binary("mul", a, b), self.offset_of(operands[3]))
        raise AssertionError(f"{name} is not linear")

    def offset_of(self, operand: Operand) -> Value:
        """The scalar part of a linear operand: the offset of a widened register, the value of a uniform one."""
        f = self.f
        if isinstance(operand, Register) and f.shape(operand).kind == WIDENED:
            return f.load(f.slot(operand), "i64", f.rows)
        return f.operand(operand, "i64", f.rows)

    # -- moves -------------------------------------------------------------------------------------------

    def move(self, instruction: Instruction) -> None:
        f = self.f
        target, source = instruction.operands[0], instruction.operands[1]
        if isinstance(target, Vector):
            self.unpack(target, source)
            return
        if not isinstance(target, Register):
            return
        if isinstance(source, Vector):
            self.pack(target, source)
            return
        if f.shape(target).kind == WIDENED:
            self.widened(instruction, target)
            return
        lanes = self.result_lanes(instruction)
        if isinstance(source, Immediate) and source.kind != 0:
            elem = "float" if target.type.bits == 32 else "double"
            if target.type.bits >= 32:
                f.write_as(target, f.operand(source, elem, lanes))
                return
        f.write_as(target, f.operand(source, f.elem_of(target), lanes))

    def unpack(self, target: Vector, source: Operand) -> None:
        """``mov {lo, hi}, wide``; also the vector forms of special registers and of registers."""
        f = self.f
        e = self.e
        if isinstance(source, Vector):
            pairs = [(t, s) for t, s in zip(target.elements, source.elements, strict=True) if isinstance(t, Register)]
            values = [f.operand(s, f.elem_of(t), f.lanes_of(s)) for t, s in pairs]
            for pair, value in zip(pairs, values, strict=True):
                f.write_as(pair[0], value)
            return
        lanes = f.lanes_of(source)
        if isinstance(source, SpecialRegister):
            for element, axis in zip(target.elements, "xyzw", strict=False):
                if isinstance(element, Register):
                    special = SpecialRegister(f"{source.name}.{axis}")
                    f.write_as(element, f.operand(special, "i32", f.lanes_of(special)))
            return
        widths = [r.type.bits for r in target.elements if isinstance(r, Register)]
        bits = widths[0] if widths else 8
        wide = f.operand(source, INT_ELEM[bits * len(target.elements)], lanes)
        for i, register in enumerate(target.elements):
            if isinstance(register, Register):
                part = e.binary("lshr", wide, int_const(wide.elem, i * bits, lanes)) if i else wide
                f.write_as(register, e.cast("trunc", part, INT_ELEM[bits]))

    def pack(self, target: Register, source: Vector) -> None:
        f = self.f
        e = self.e
        elem = f.elem_of(target)
        bits = target.type.bits // len(source.elements)
        lanes = self.lanes if f.shape(target).kind == VARYING else 0
        total = int_const(elem, 0, lanes)
        for i, operand in enumerate(source.elements):
            part = e.cast("zext", f.operand(operand, INT_ELEM[bits], lanes), elem)
            if i:
                part = e.binary("shl", part, int_const(elem, i * bits, lanes))
            total = e.binary("or", total, part)
        f.write(target, total)

    # -- address spaces ----------------------------------------------------------------------------------

    def address_space(self, instruction: Instruction) -> None:
        """``cvta`` and ``isspacep``: shared offsets are relative to the block's memory, the rest is generic."""
        f = self.f
        opcode = instruction.opcode
        target = instruction.operands[0]
        if not isinstance(target, Register):
            return
        space = opcode.space
        if f.shape(target).kind == WIDENED:
            self.widened(instruction, target)
            return
        lanes = self.result_lanes(instruction)
        value = f.operand(instruction.operands[1], "i64", lanes)
        if opcode.name == "isspacep":
            f.write(target, self.in_space(space, value, lanes))
            return
        f.write_as(target, self.between_spaces(opcode, value))

    def between_spaces(self, opcode: Opcode, address: Value) -> Value:
        """``cvta``: from the space to a generic address, or back."""
        f = self.f
        if opcode.space == "shared":
            base = f.word("%slot", abi.SLOT_SHARED, False)
        elif opcode.space == "param":
            base = f.word("%launch", abi.LAUNCH_PARAMS)
        else:
            return address
        return self.e.binary("sub" if opcode.has("to") else "add", address, self.e.splat(base, address.lanes))

    def in_space(self, space: str, address: Value, lanes: int) -> Value:
        f = self.f
        e = self.e
        if space == "shared":
            start = f.word("%slot", abi.SLOT_SHARED, False)
            size = f.word("%launch", abi.LAUNCH_SHARED)
            return e.icmp("ult", e.binary("sub", address, e.splat(start, lanes)), e.splat(size, lanes))
        if space == "local":
            return self.calls.in_local(address, lanes)
        if space == "param":
            start = f.word("%launch", abi.LAUNCH_PARAMS)
            size = int_const("i64", param_layout(self.body.function)[1] if self.body.is_kernel else 0)
            return e.icmp("ult", e.binary("sub", address, e.splat(start, lanes)), e.splat(size, lanes))
        if space == "const":
            image = f.word("%launch", abi.LAUNCH_IMAGE)
            start = e.binary("add", image, int_const("i64", f.layout.const_begin))
            size = int_const("i64", f.layout.size - f.layout.const_begin, lanes)
            return e.icmp("ult", e.binary("sub", address, e.splat(start, lanes)), size)
        elsewhere = self.in_space("const", address, lanes)
        for other in ("shared", "local"):
            elsewhere = e.binary("or", elsewhere, self.in_space(other, address, lanes))
        return e.binary("xor", elsewhere, int_const("i1", 1, lanes))


def matching_form(instruction: Instruction) -> Form:
    """The form of the opcode that takes as many operands as the instruction has."""
    count = len(instruction.operands)
    for form in instruction.opcode.forms:
        if form.required <= count <= len(form.operands):
            return form
    return instruction.opcode.forms[0]
