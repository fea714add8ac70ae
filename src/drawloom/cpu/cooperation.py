"""What lanes and warps do together: shuffles, votes, matches, reductions and barriers, at the edges of the manual.

A warp does its operations at once on the vector; lane by lane a thread stops at them, and
``lane_operations`` computes all results when the others have come. At a barrier the whole warp stops.
"""

from __future__ import annotations

from drawloom.cpu import abi
from drawloom.cpu.body import Body, NeedsLanes
from drawloom.cpu.emitter import INT_ELEM, Value, int_const
from drawloom.cpu.lane_operations import LEGACY, MEMBERS, VALUE, LaneOperations
from drawloom.cpu.ops.warp import emit_activemask, emit_elect, emit_match, emit_redux, emit_shfl, emit_vote
from drawloom.cpu.shapes import VARYING
from drawloom.cpu.suspension import Suspension
from drawloom.errors import UnsupportedError
from drawloom.ptx.ir import Instruction, Operand, Pair, Register
from drawloom.ptx.isa import Opcode


class Cooperation:
    """Lowers the warp operations and barriers of one function."""

    def __init__(self, body: Body, suspension: Suspension, operations: LaneOperations) -> None:
        self.body = body
        self.f = body.f
        self.e = body.e
        self.lanes = body.lanes
        self.plan = body.plan
        self.suspension = suspension
        self.operations = operations

    def warp_operation(self, instruction: Instruction) -> None:
        f = self.f
        e = self.e
        opcode = instruction.opcode
        name = opcode.name
        if not self.lanes:
            self.lane_warp_operation(instruction)
            return
        if name == "bar.warp":
            if self.plan.waiting_blocks(self.body.block):
                self.require_members(instruction.operands[0], instruction)
            e.line('  fence syncscope("singlethread") seq_cst')
            return
        operands = instruction.operands
        if opcode.sync and self.plan.waiting_blocks(self.body.block):
            self.require_members(operands[-1], instruction)
        target = operands[0]
        targets = [target.first, target.second] if isinstance(target, Pair) else [target]
        if name == "shfl":
            b = f.operand(operands[2], "i32", f.lanes_of(operands[2]))
            c = f.operand(operands[3], "i32", f.lanes_of(operands[3]))
            value, predicate = emit_shfl(e, opcode, f.operand(operands[1], "i32", self.lanes), b, c, f.mask)
            results = [value, predicate]
        elif name == "vote":
            source = f.operand(operands[1], "i1", self.lanes)
            members_mask = self.members(operands, 2)
            results = [emit_vote(e, opcode, source, members_mask, f.mask)]
        elif name == "match":
            elem = INT_ELEM[opcode.types[0].bits]
            results = emit_match(e, opcode, f.operand(operands[1], elem, self.lanes), self.members(operands, 2), f.mask)
        elif name == "redux":
            elem = "float" if opcode.types[0].is_float else "i32"
            source = f.operand(operands[1], elem, self.lanes)
            results = [emit_redux(e, opcode, source, self.members(operands, 2), f.mask)]
        elif name == "elect":
            results = emit_elect(e, self.members(operands, 1), f.mask)
        else:
            results = [emit_activemask(e, f.mask)]
        for register, result in zip(targets, results, strict=False):
            if isinstance(register, Register):
                if result.lanes and f.shape(register).kind != VARYING:
                    result = e.extract(result, self.first_lane())
                f.write_as(register, result)

    def require_members(self, operand: Operand, instruction: Instruction) -> None:
        """Fail if a live lane that the member mask names waits elsewhere: lock step would get it wrong."""
        f = self.f
        e = self.e
        lanes = f.lanes_of(operand)
        members_mask = f.operand(operand, "i32", lanes)
        live = f.mask_bits(f.load(self.body.live, "i1", self.lanes))
        absent = e.binary("and", live, e.binary("xor", f.mask_bits(f.mask), int_const("i32", -1)))
        if lanes:
            named = e.icmp("ne", e.binary("and", members_mask, e.splat(absent, lanes)), int_const("i32", 0, lanes))
            missing = f.any_lane(e.binary("and", named, f.mask))
        else:
            missing = e.icmp("ne", e.binary("and", members_mask, absent), int_const("i32", 0))
        bad, good = f.label("absent"), f.label("present")
        f.branch(missing, bad, good)
        f.place(bad)
        f.fail(abi.ERROR_DIVERGED, instruction.pos, f.mask)
        f.place(good)

    def members(self, operands: list[Operand], at: int) -> Value:
        """The member mask operand, all lanes where there is none (operations without ``.sync``)."""
        if at >= len(operands):
            return int_const("i32", -1)
        operand = operands[at]
        return self.f.operand(operand, "i32", self.f.lanes_of(operand))

    def first_lane(self) -> Value:
        f = self.f
        return f.e.call("llvm.cttz.i32", "i32", 0, [f.mask_bits(f.mask), int_const("i1", 1)])

    def lane_warp_operation(self, instruction: Instruction) -> None:
        """One thread stops here; when all members of its warp have come, its results are in its state."""
        f = self.f
        e = self.e
        opcode = instruction.opcode
        operands = instruction.operands
        if opcode.name == "activemask":
            if isinstance(operands[0], Register):
                f.write_as(operands[0], e.binary("shl", int_const("i32", 1), f.lane_id(0)))
            return
        sources = operands if opcode.name == "bar.warp" else operands[1:]
        members_at = len(sources) - 1 if opcode.sync else -1
        f.set_word("%state", abi.STATE_SITE, int_const("i64", self.operations.site(opcode)))
        words = {MEMBERS: int_const("i64", -1 & 0xFFFFFFFF), LEGACY: int_const("i64", 0 if opcode.sync else 1)}
        for i, source in enumerate(sources):
            if i == members_at:
                words[MEMBERS] = self.wide(source)
            elif i == 0:
                words[VALUE] = self.whole(source, opcode)
            else:
                words[i] = self.wide(source)
        for word, value in words.items():
            f.set_word("%state", abi.STATE_OPERANDS + word, value)
        f.set_word("%state", abi.STATE_POS, int_const("i64", instruction.pos))
        self.suspension.suspend(abi.WARP_OPERATION, self.body.live_across(instruction))
        target = operands[0] if opcode.has_destination else None
        targets = [target.first, target.second] if isinstance(target, Pair) else [target]
        for word, register in enumerate(targets):
            if isinstance(register, Register):
                result = f.word("%state", abi.STATE_OPERANDS + word, False)
                f.write_as(register, f.as_elem(result, f.elem_of(register)))

    def whole(self, source: Operand, opcode: Opcode) -> Value:
        """The first operand of a warp operation as a word: a predicate, or 32 or 64 bits."""
        if opcode.name == "vote":
            return self.e.cast("zext", self.f.operand(source, "i1", 0), "i64")
        bits = opcode.types[0].bits if opcode.types else 32
        return self.e.cast("zext", self.f.operand(source, INT_ELEM[bits], 0), "i64")

    def barrier(self, instruction: Instruction) -> None:
        """Stop here until the other warps have come; ``arrive`` only says so."""
        f = self.f
        e = self.e
        opcode = instruction.opcode
        if not self.body.is_kernel:
            raise UnsupportedError("a barrier in a device function that is not inlined")
        if self.lanes and self.plan.waiting_blocks(self.body.block):
            raise NeedsLanes("a barrier is reached by some lanes of a warp while others wait elsewhere")
        operands = instruction.operands[1:] if opcode.has_destination else instruction.operands
        f.set_word("%state", abi.STATE_BARRIER, self.wide(operands[0]))
        predicate: Operand | None = None
        count: Operand | None = None
        if opcode.action == "red":
            predicate = operands[-1]
            count = operands[1] if len(operands) > 2 else None
        elif len(operands) > 1:
            count = operands[1]
        f.set_word("%state", abi.STATE_COUNT, self.wide(count) if count is not None else int_const("i64", 0))
        kind = abi.BARRIER_SYNC
        if opcode.action == "arrive":
            kind = abi.BARRIER_ARRIVE
        if predicate is not None:
            kind = {"popc": abi.BARRIER_POPC, "and": abi.BARRIER_AND, "or": abi.BARRIER_OR}[opcode.operation]
            holds = f.operand(predicate, "i1", self.lanes)
            bits = f.mask_bits(e.binary("and", holds, f.mask))
            ones = e.call("llvm.ctpop.i32", "i32", 0, [bits])
            f.set_word("%state", abi.STATE_VALUE, e.cast("zext", ones, "i64"))
            here = e.call("llvm.ctpop.i32", "i32", 0, [f.mask_bits(f.mask)])
            f.set_word("%state", abi.STATE_ACTIVE, e.cast("zext", here, "i64"))
        f.set_word("%state", abi.STATE_KIND, int_const("i64", kind))
        f.set_word("%state", abi.STATE_POS, int_const("i64", instruction.pos))
        self.suspension.suspend(abi.BARRIER, self.body.live_across(instruction))
        self.body.reload_mask()
        if opcode.has_destination:
            result = f.word("%state", abi.STATE_RESULT, False)
            target = instruction.operands[0]
            if isinstance(target, Register):
                value = e.cast("trunc", result, "i1" if target.type.kind == "p" else "i32")
                f.write_as(target, value)

    def wide(self, operand: Operand) -> Value:
        """A uniform 32-bit operand as a word of the state."""
        return self.e.cast("zext", self.f.operand(operand, "i32", 0), "i64")
