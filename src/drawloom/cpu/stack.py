"""``alloca``, ``stacksave`` and ``stackrestore`` (PTX ISA 9.0, section 9.7.16) to a stack for every lane.

    local memory of a unit    lane 0: .local variables, stack; lane 1: ...; the top of every lane's stack

The stacks grow up. Their tops stand in memory, so that device functions share them with the kernel and a kernel that
stops keeps them. A device function puts back what it found when it returns.
"""

from __future__ import annotations

from drawloom.cpu import abi
from drawloom.cpu.body import Body
from drawloom.cpu.emitter import INT_ELEM, Value, int_const, type_of
from drawloom.cpu.memory import Memory
from drawloom.ptx.ir import Instruction
from drawloom.ptx.layout import stack_alignment


class Stack:
    """The stacks of one function's lanes. A function that ``allocates`` frees when it returns."""

    def __init__(self, body: Body, memory: Memory, allocates: bool) -> None:
        self.body = body
        self.memory = memory
        self.f = body.f
        self.e = body.e
        self.lanes = body.lanes
        #: The stack slot of the tops as a device function finds them.
        self.found = ""
        self.allocates = allocates

    # -- beginning and end -------------------------------------------------------------------------------

    def begin_kernel(self) -> None:
        """Every stack begins behind the ``.local`` variables."""
        bottom = int_const("i64", self.body.local_bytes, self.lanes)
        self.store_tops(self.e.binary("add", self.starts(), bottom))

    def begin_function(self) -> None:
        if self.allocates:
            self.found = self.f.alloca("tops", type_of("i64", self.lanes), 64)
            self.f.store(self.load_tops(), self.found)

    def end_function(self) -> None:
        if self.allocates:
            self.store_tops(self.f.load(self.found, "i64", self.lanes))

    # -- instructions ------------------------------------------------------------------------------------

    def lower(self, instruction: Instruction) -> None:
        name = instruction.opcode.name
        if name == "alloca":
            self.allocate(instruction)
        elif name == "stacksave":
            self.give(instruction, self.load_tops())
        else:
            self.restore(instruction)

    def allocate(self, instruction: Instruction) -> None:
        e = self.e
        alignment = stack_alignment(instruction)
        size = e.cast("zext", self.f.operand(instruction.operands[1], self.elem(instruction), self.lanes), "i64")
        up = e.binary("add", self.load_tops(), int_const("i64", alignment - 1, self.lanes))
        at = e.binary("and", up, int_const("i64", -alignment, self.lanes))
        limit = e.binary("add", self.starts(), e.splat(self.stack_bytes(), self.lanes))
        room = e.intrinsic("llvm.usub.sat", [limit, at])
        self.fail_where(e.icmp("ugt", size, room), abi.ERROR_LOCAL, instruction)
        self.set_tops(e.binary("add", at, size))
        self.give(instruction, at)

    def restore(self, instruction: Instruction) -> None:
        e = self.e
        value = self.f.operand(instruction.operands[0], self.elem(instruction), self.lanes)
        value = self.memory.extended(value, "local")
        start = self.starts()
        used = e.binary("sub", self.load_tops(), start)
        wrong = e.icmp("ugt", e.binary("sub", value, start), used)
        self.fail_where(wrong, abi.ERROR_RESTORE, instruction)
        self.set_tops(value)

    def give(self, instruction: Instruction, address: Value) -> None:
        elem = self.elem(instruction)
        self.f.write_as(instruction.destinations()[0], self.e.cast("trunc", address, elem))

    def elem(self, instruction: Instruction) -> str:
        type = instruction.opcode.type
        assert type is not None
        return INT_ELEM[type.bits]

    def fail_where(self, condition: Value, code: int, instruction: Instruction) -> None:
        f = self.f
        bad = self.e.binary("and", condition, f.mask)
        over, fine = f.label("over"), f.label("fits")
        f.branch_expected(self.e.binary("xor", f.any_lane(bad), int_const("i1", 1)), fine, over)
        f.place(over)
        f.fail(code, instruction.pos, bad)
        f.place(fine)

    # -- tops --------------------------------------------------------------------------------------------

    def stack_bytes(self) -> Value:
        """The bytes of a lane's ``.local`` variables and stack."""
        return self.e.binary("sub", self.f.word("%launch", abi.LAUNCH_LOCAL), int_const("i64", abi.STACK_TOP_BYTES))

    def unit(self) -> Value:
        """Where the unit's local memory begins."""
        e = self.e
        bytes = e.binary("mul", self.f.word("%launch", abi.LAUNCH_LOCAL), int_const("i64", max(self.lanes, 1)))
        offset = e.binary("mul", Value("%index", "i64", 0), bytes)
        return e.binary("add", self.f.word("%slot", abi.SLOT_LOCAL, False), offset)

    def starts(self) -> Value:
        """Where each lane's local memory begins."""
        e = self.e
        if not self.lanes:
            return self.unit()
        steps = e.binary("mul", e.splat(self.stack_bytes(), self.lanes), self.f.lane_ids("i64"))
        return e.binary("add", e.splat(self.unit(), self.lanes), steps)

    def tops(self) -> str:
        e = self.e
        behind = e.binary("mul", self.stack_bytes(), int_const("i64", max(self.lanes, 1)))
        return self.f.pointer(e.binary("add", self.unit(), behind)).text

    def load_tops(self) -> Value:
        return self.e.value("i64", self.lanes, f"load {type_of('i64', self.lanes)}, ptr {self.tops()}, align 8")

    def store_tops(self, value: Value) -> None:
        self.e.line(f"  store {value.typed}, ptr {self.tops()}, align 8")

    def set_tops(self, value: Value) -> None:
        """New tops for the lanes that run."""
        if self.lanes:
            value = self.e.select(self.f.mask, value, self.load_tops())
        self.store_tops(value)
