"""What lanes and warps do together: shuffles, votes, matches, reductions and barriers, at the edges of the manual.

A warp does its operations at once on the vector; lane by lane a thread stops at them, and
``lane_operations`` computes all results when the others have come. At a barrier the whole warp stops.
"""

from __future__ import annotations

from drawloom.cpu import abi
from drawloom.cpu.body import Body, NeedsLanes, NeedsWarps, Place
from drawloom.cpu.emitter import INT_ELEM, Value, int_const
from drawloom.cpu.lane_operations import LEGACY, MEMBERS, VALUE, LaneOperations
from drawloom.cpu.layouts import passes_at_once
from drawloom.cpu.ops.rounding import concatenate, piece
from drawloom.cpu.ops.warp import (
    emit_activemask,
    emit_elect,
    emit_match,
    emit_redux,
    emit_shfl,
    emit_vote,
    equal_lanes,
)
from drawloom.cpu.parting import Parting
from drawloom.cpu.shapes import VARYING
from drawloom.cpu.suspension import Suspension
from drawloom.errors import UnsupportedError
from drawloom.ptx.ir import Instruction, Operand, Pair, Register
from drawloom.ptx.isa import WARP, Opcode


class Cooperation:
    """Lowers the warp operations and barriers of one function."""

    def __init__(self, body: Body, suspension: Suspension, operations: LaneOperations, check: bool) -> None:
        self.body = body
        self.f = body.f
        self.e = body.e
        self.lanes = body.lanes
        self.plan = body.plan
        self.suspension = suspension
        self.operations = operations
        self.check = check
        self.agreed: set[int] | None = None
        #: Where the warp goes on lane by lane when members are absent; None where it cannot.
        self.parting: Parting | None = None

    def warp_operation(self, instruction: Instruction) -> None:
        f = self.f
        e = self.e
        opcode = instruction.opcode
        name = opcode.name
        if not self.lanes:
            self.lane_warp_operation(instruction)
            return
        if opcode.sync and self.may_lack_members(instruction):
            self.require_members(instruction)
        if self.check and name != "activemask":
            e.declare("dl_race_warp", "void", ["ptr", "ptr", "i64", "i32"])
            bits = f.mask_bits(f.mask)
            e.line(f"  call void @dl_race_warp(ptr %launch, ptr %slot, {f.first_thread().typed}, {bits.typed})")
        if name == "bar.warp":
            e.line('  fence syncscope("singlethread") seq_cst')
            return
        operands = instruction.operands
        target = operands[0]
        targets = [target.first, target.second] if isinstance(target, Pair) else [target]
        sources = self.sources(instruction)
        if f.at_once:
            warps = [self.of_warp(opcode, sources, first) for first in range(0, self.lanes, abi.WARP)]
            results = [self.block_of([w[i] for w in warps]) for i in range(len(targets))]
        else:
            results = self.warp_results(opcode, sources, f.mask)
        for register, result in zip(targets, results, strict=False):
            if isinstance(register, Register):
                if result.lanes and f.shape(register).kind != VARYING:
                    result = e.extract(result, f.first_lane(f.mask))
                f.write_as(register, result)

    def sources(self, instruction: Instruction) -> list[Value]:
        """The values that a warp operation reads: what it works on in every lane, the others as they are; last the
        member mask, except of ``shfl``, whose result does not depend on it."""
        f = self.f
        opcode = instruction.opcode
        operands = instruction.operands
        name = opcode.name
        if name == "shfl":
            value = f.operand(operands[1], "i32", self.lanes)
            return [value, *[f.operand(o, "i32", f.lanes_of(o)) for o in operands[2:4]]]
        if name == "activemask":
            return []
        if name == "elect":
            return [self.members(operands, 1)]
        elem = "i1" if name == "vote" else "float" if opcode.types[0].is_float else INT_ELEM[opcode.types[0].bits]
        return [f.operand(operands[1], elem, self.lanes), self.members(operands, 2)]

    def warp_results(self, opcode: Opcode, sources: list[Value], active: Value) -> list[Value]:
        """What a warp operation gives the lanes of one warp: vectors, or scalars that are the same for all."""
        e = self.e
        name = opcode.name
        if name == "shfl":
            return list(emit_shfl(e, opcode, sources[0], sources[1], sources[2], active))
        if name == "vote":
            return [emit_vote(e, opcode, sources[0], sources[1], active)]
        if name == "match":
            return emit_match(e, opcode, sources[0], sources[1], active)
        if name == "redux":
            return [emit_redux(e, opcode, sources[0], sources[1], active)]
        if name == "elect":
            return emit_elect(e, sources[0], active)
        return [emit_activemask(e, active)]

    def of_warp(self, opcode: Opcode, sources: list[Value], first: int) -> list[Value]:
        """The results of the warp whose first lane has this number, in every lane, where the block runs at once."""
        parts = [piece(self.e, s, first, abi.WARP) if s.lanes else s for s in sources]
        results = self.warp_results(opcode, parts, piece(self.e, self.f.mask, first, abi.WARP))
        return [self.e.splat(r, abi.WARP) for r in results]

    def block_of(self, warps: list[Value]) -> Value:
        """The values of all warps of the block, one behind the other."""
        return concatenate(self.e, warps)

    def parts(self, instruction: Instruction) -> bool:
        """Whether lanes of the warp may be elsewhere, or pass by, as others execute ``instruction``."""
        guard = instruction.guard
        return bool(self.plan.waiting_blocks(self.body.block)) or (guard is not None and self.f.lanes_of(guard) > 0)

    def may_lack_members(self, instruction: Instruction) -> bool:
        """Whether lanes that a member mask names may be elsewhere (of those in a function others are in its caller) or
        here with another mask, which is another meeting."""
        if not self.body.is_kernel or self.parts(instruction):
            return True
        members = instruction.operands[-1]
        if not isinstance(members, Register) or not self.f.lanes_of(members):
            return False
        if self.agreed is None:
            self.agreed = self.agreed_masks()
        return members.id not in self.agreed

    def absences(self) -> list[Place]:
        """The warp operations whose members may be absent."""
        found: list[Place] = []
        for b in self.plan.order:
            self.body.block = b
            for index, instruction in enumerate(self.body.cfg.blocks[b].instructions):
                if instruction.opcode.effect != WARP or not instruction.opcode.sync:
                    continue
                if self.f.at_once and self.parts(instruction):
                    raise NeedsWarps("a warp operation may have to wait for lanes that are elsewhere")
                if self.may_lack_members(instruction):
                    found.append((b, index))
        return found

    def agreed_masks(self) -> set[int]:
        """The registers that hold what warp operations gave all lanes at once: as masks the same for all members."""
        plan = self.plan
        together = [plan.cfg.blocks[b] for b in plan.order if plan.region_of[b] < 0]
        found: set[int] = set()
        for block in together:
            for instruction in block.instructions:
                if instruction.opcode.name in ("activemask", "match", "vote"):
                    found.update([register.id for register in instruction.destinations()])
        return found - set(plan.live.uses.unsettled)

    def require_members(self, instruction: Instruction) -> None:
        """Part if a live lane that the member mask names waits elsewhere: lock step would get it wrong."""
        f = self.f
        e = self.e
        operand = instruction.operands[-1]
        if not f.lanes_of(operand):
            absent = e.binary("and", self.body.warp_live(), e.binary("xor", f.mask_bits(f.mask), int_const("i32", -1)))
            named = e.binary("and", f.operand(operand, "i32", 0), absent)
            missing = e.icmp("ne", named, int_const("i32", 0))
        elif f.at_once:
            live = f.load(self.body.live, "i1", self.lanes)
            masks = [f.operand(operand, "i32", self.lanes), f.mask, live]
            missing = int_const("i1", 0)
            for first in range(0, self.lanes, abi.WARP):
                members, active, alive = [piece(e, mask, first, abi.WARP) for mask in masks]
                missing = e.binary("or", missing, self.are_missed(members, active, f.mask_bits(alive)))
        else:
            missing = self.are_missed(f.operand(operand, "i32", self.lanes), f.mask, self.body.warp_live())
        bad, good = f.label("absent"), f.label("present")
        f.branch_expected(e.binary("xor", missing, int_const("i1", 1)), good, bad)
        f.place(bad)
        if self.parting is None:
            f.fail(abi.ERROR_APART, instruction.pos, f.mask)
        else:
            self.parting.part((self.body.block, self.body.index), self.body.here)
        f.place(good)

    def are_missed(self, members: Value, active: Value, live: Value) -> Value:
        """Whether one of a warp's active lanes names a live one that is not active with the same mask."""
        e = self.e
        here = equal_lanes(e, members, active)
        others = e.binary("and", members, e.binary("xor", here, int_const("i32", -1, abi.WARP)))
        named = e.binary("and", others, e.splat(live, abi.WARP))
        return self.f.any_lane(e.binary("and", e.icmp("ne", named, int_const("i32", 0, abi.WARP)), active))

    def members(self, operands: list[Operand], at: int) -> Value:
        """The member mask operand, all lanes where there is none (operations without ``.sync``)."""
        if at >= len(operands):
            return int_const("i32", -1)
        operand = operands[at]
        return self.f.operand(operand, "i32", self.f.lanes_of(operand))

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
        self.order_thread(int_const("i32", 0))
        self.suspension.suspend(abi.WARP_OPERATION, self.body.live_across(instruction))
        self.order_thread(e.cast("trunc", f.word("%state", abi.STATE_OPERANDS + MEMBERS, False), "i32"))
        target = operands[0] if opcode.has_destination else None
        targets = [target.first, target.second] if isinstance(target, Pair) else [target]
        for word, register in enumerate(targets):
            if isinstance(register, Register):
                result = f.word("%state", abi.STATE_OPERANDS + word, False)
                f.write_as(register, f.as_elem(result, f.elem_of(register)))

    def order_thread(self, members: Value) -> None:
        """Tell the search for races of this thread at a warp operation: it comes, or goes on with ``members``."""
        if self.check:
            first = self.f.first_thread()
            self.e.declare("dl_race_thread", "void", ["ptr", "ptr", "i64", "i32"])
            self.e.line(f"  call void @dl_race_thread(ptr %launch, ptr %slot, {first.typed}, {members.typed})")

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
        if self.lanes and self.parts(instruction):
            if f.at_once:
                raise NeedsWarps("a barrier is reached by some threads while others wait elsewhere or pass by")
            raise NeedsLanes("a barrier is reached by some lanes of a warp while others wait elsewhere or pass by")
        if f.at_once:
            self.barrier_at_once(instruction)
            return
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
            bits = f.mask_word(e.binary("and", holds, f.mask))
            ones = e.call("llvm.ctpop.i32", "i32", 0, [bits])
            f.set_word("%state", abi.STATE_VALUE, e.cast("zext", ones, "i64"))
            here = e.call("llvm.ctpop.i32", "i32", 0, [f.mask_word(f.mask)])
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

    def barrier_at_once(self, instruction: Instruction) -> None:
        """All threads of the block are here anyway."""
        if not passes_at_once(instruction):
            raise NeedsWarps("a barrier counts threads, only arrives, or reduces")

    def wide(self, operand: Operand) -> Value:
        """A uniform 32-bit operand as a word of the state."""
        return self.e.cast("zext", self.f.operand(operand, "i32", 0), "i64")
