"""Warp operations of a kernel that runs lane by lane: threads stop at them, and when all members of a warp have
come, one vector function computes every thread's result from the operands that they left in their states.

    @resolve.N(ptr states, i64 stride, i32 lanes)      one for each spelling of an operation in the kernel
    @dl_resolve_units(ptr states, i64 units, i64 stride) -> moved      finds complete sets of threads and calls those
    @dl_resolve(ptr launch, ptr slot) -> moved                         does so for the threads of a block
"""

from __future__ import annotations

from typing import Final

from drawloom.cpu import abi
from drawloom.cpu.emitter import Emitter, Value, int_const, type_of
from drawloom.cpu.ops.warp import emit_elect, emit_match, emit_redux, emit_shfl, emit_vote
from drawloom.cpu.scheduler import filled
from drawloom.ptx.isa import Opcode

#: Words of a state that hold operands (then results), behind STATE_OPERANDS.
VALUE: Final = 0
SECOND: Final = 1
THIRD: Final = 2
MEMBERS: Final = 3
LEGACY: Final = 4


class LaneOperations:
    """The spellings of warp operations that a kernel uses; each gets a number, its site."""

    def __init__(self) -> None:
        self.opcodes: list[Opcode] = []

    def site(self, opcode: Opcode) -> int:
        """The number of an operation: all ``bar.warp.sync`` are one, whatever their place."""
        for number, known in enumerate(self.opcodes):
            if known.text == opcode.text:
                return number
        self.opcodes.append(opcode)
        return len(self.opcodes) - 1

    def text(self, emitter: Emitter, of_block: bool) -> str:
        """The LLVM functions that complete the operations; ``of_block``: with ``dl_resolve``."""
        for number, opcode in enumerate(self.opcodes):
            self._resolver(emitter, number, opcode)
        cases = " ".join([f"i64 {n}, label %site{n}" for n in range(len(self.opcodes))])
        calls = "".join(
            [
                f"site{n}:\n  call void @resolve.{n}(ptr %group, i64 %stride, i32 %same.next)\n  br label %resolved\n"
                for n in range(len(self.opcodes))
            ]
        )
        return filled(_RESOLVE.replace("@CASES@", cases).replace("@CALLS@", calls) + (_OF_BLOCK if of_block else ""))

    def _resolver(self, e: Emitter, number: int, opcode: Opcode) -> None:
        lanes = abi.WARP
        wide = type_of("i64", lanes)
        outer = e.lines
        e.lines = []
        columns = [self._column(e, word) for word in range(4)]
        mask = e.value("i1", lanes, f"bitcast i32 %lanes to <{lanes} x i1>")
        members = e.cast("trunc", columns[MEMBERS], "i32")
        results = self._compute(e, opcode, columns, members, mask)
        for word, result in enumerate(results):
            value = e.splat(e.cast("zext", e.cast("bitcast", result, _bits(result)), "i64"), lanes)
            self._store_column(e, word, value, mask)
        e.line("  ret void")
        body = e.lines
        e.lines = outer
        e.line(f"define internal void @resolve.{number}(ptr %states, i64 %stride, i32 %lanes) {{")
        e.lines.extend(body)
        e.line("}")
        e.declare(f"llvm.masked.gather.v{lanes}i64.v{lanes}p0", wide, [f"<{lanes} x ptr>", f"<{lanes} x i1>", wide])
        e.declare(f"llvm.masked.scatter.v{lanes}i64.v{lanes}p0", "void", [wide, f"<{lanes} x ptr>", f"<{lanes} x i1>"])

    def _pointers(self, e: Emitter, word: int) -> Value:
        lanes = abi.WARP
        stride = e.splat(Value("%stride", "i64", 0), lanes)
        offsets = e.binary("mul", stride, e.vector_const("i64", list(range(lanes))))
        offsets = e.binary("add", offsets, int_const("i64", 8 * (abi.STATE_OPERANDS + word), lanes))
        return e.value("ptr", lanes, f"getelementptr i8, ptr %states, {offsets.typed}")

    def _column(self, e: Emitter, word: int) -> Value:
        """One operand of all lanes; lanes that take no part read as 0."""
        lanes = abi.WARP
        pointers = self._pointers(e, word)
        mask = e.value("i1", lanes, f"bitcast i32 %lanes to <{lanes} x i1>")
        wide = type_of("i64", lanes)
        return e.value(
            "i64",
            lanes,
            f"call {wide} @llvm.masked.gather.v{lanes}i64.v{lanes}p0({pointers.type} align 8 {pointers.text}, "
            f"{mask.typed}, {wide} zeroinitializer)",
        )

    def _store_column(self, e: Emitter, word: int, value: Value, mask: Value) -> None:
        lanes = abi.WARP
        pointers = self._pointers(e, word)
        e.line(
            f"  call void @llvm.masked.scatter.v{lanes}i64.v{lanes}p0({value.typed}, {pointers.type} align 8 "
            f"{pointers.text}, {mask.typed})"
        )

    def _compute(self, e: Emitter, opcode: Opcode, columns: list[Value], members: Value, mask: Value) -> list[Value]:
        name = opcode.name
        first = columns[VALUE]
        if name == "shfl":
            b = e.cast("trunc", columns[SECOND], "i32")
            c = e.cast("trunc", columns[THIRD], "i32")
            value, predicate = emit_shfl(e, opcode, e.cast("trunc", first, "i32"), b, c, mask)
            return [value, predicate]
        if name == "vote":
            return [emit_vote(e, opcode, e.cast("trunc", first, "i1"), members, mask)]
        if name == "match":
            wide = opcode.types[0].bits == 64
            return emit_match(e, opcode, first if wide else e.cast("trunc", first, "i32"), members, mask)
        if name == "redux":
            value = e.cast("trunc", first, "i32")
            if opcode.types[0].is_float:
                value = e.cast("bitcast", value, "float")
            return [emit_redux(e, opcode, value, members, mask)]
        if name == "elect":
            return emit_elect(e, members, mask)
        return []


def _bits(value: Value) -> str:
    return {"float": "i32", "double": "i64"}.get(value.elem, value.elem)


#: Completes operations of threads of one kernel that runs lane by lane.
_OF_BLOCK: Final = """
define i64 @dl_resolve(ptr %launch, ptr %slot) {
  %p.units = getelementptr i8, ptr %launch, i64 @LAUNCH_UNITS@
  %units = load i64, ptr %p.units
  %p.stride = getelementptr i8, ptr %launch, i64 @LAUNCH_STATE_STRIDE@
  %stride = load i64, ptr %p.stride
  %p.states = getelementptr i8, ptr %slot, i64 @SLOT_STATES@
  %states = load ptr, ptr %p.states
  %moved = call i64 @dl_resolve_units(ptr %states, i64 %units, i64 %stride)
  ret i64 %moved
}
"""

_RESOLVE: Final = """
define internal i64 @dl_resolve_units(ptr %states, i64 %units, i64 %stride) {
entry:
  br label %warp
warp:
  %first = phi i64 [ 0, %entry ], [ %first.next, %warp.done ]
  %moved = phi i64 [ 0, %entry ], [ %left.moved, %warp.done ]
  %go = mul i64 %first, %stride
  %group = getelementptr i8, ptr %states, i64 %go
  %rest = sub i64 %units, %first
  %fewer = icmp ult i64 %rest, 32
  %count = select i1 %fewer, i64 %rest, i64 32
  br label %scan
scan:
  %i = phi i64 [ 0, %warp ], [ %i.next, %scan ]
  %at = phi i32 [ 0, %warp ], [ %at.next, %scan ]
  %alive = phi i32 [ 0, %warp ], [ %alive.next, %scan ]
  %ready = phi i32 [ 0, %warp ], [ %ready.next, %scan ]
  %so = mul i64 %i, %stride
  %state = getelementptr i8, ptr %group, i64 %so
  %p.status = getelementptr i8, ptr %state, i64 @STATE_STATUS@
  %status = load i64, ptr %p.status
  %i32 = trunc i64 %i to i32
  %bit = shl i32 1, %i32
  %is.at = icmp eq i64 %status, @AT_OPERATION_STATUS@
  %at.bit = select i1 %is.at, i32 %bit, i32 0
  %at.next = or i32 %at, %at.bit
  %is.over = icmp eq i64 %status, @FINISHED_STATUS@
  %alive.bit = select i1 %is.over, i32 0, i32 %bit
  %alive.next = or i32 %alive, %alive.bit
  %is.ready = icmp eq i64 %status, 0
  %ready.bit = select i1 %is.ready, i32 %bit, i32 0
  %ready.next = or i32 %ready, %ready.bit
  %i.next = add i64 %i, 1
  %scan.more = icmp ult i64 %i.next, %count
  br i1 %scan.more, label %scan, label %pick
pick:
  %left = phi i32 [ %at.next, %scan ], [ %left.next, %judged ]
  %left.moved = phi i64 [ %moved, %scan ], [ %moved.next, %judged ]
  %none = icmp eq i32 %left, 0
  br i1 %none, label %warp.done, label %lane
lane:
  %number = call i32 @llvm.cttz.i32(i32 %left, i1 true)
  %n = zext i32 %number to i64
  %lo = mul i64 %n, %stride
  %leader = getelementptr i8, ptr %group, i64 %lo
  %p.site = getelementptr i8, ptr %leader, i64 @STATE_SITE@
  %site = load i64, ptr %p.site
  %p.operands = getelementptr i8, ptr %leader, i64 @STATE_OPERANDS@
  %p.members = getelementptr i8, ptr %p.operands, i64 24
  %members64 = load i64, ptr %p.members
  %members = trunc i64 %members64 to i32
  %p.legacy = getelementptr i8, ptr %p.operands, i64 32
  %legacy = load i64, ptr %p.legacy
  br label %match
match:
  %j = phi i64 [ 0, %lane ], [ %j.next, %match ]
  %same = phi i32 [ 0, %lane ], [ %same.next, %match ]
  %jo = mul i64 %j, %stride
  %peer = getelementptr i8, ptr %group, i64 %jo
  %pj.site = getelementptr i8, ptr %peer, i64 @STATE_SITE@
  %jsite = load i64, ptr %pj.site
  %pj.operands = getelementptr i8, ptr %peer, i64 @STATE_OPERANDS@
  %pj.members = getelementptr i8, ptr %pj.operands, i64 24
  %jmembers = load i64, ptr %pj.members
  %site.same = icmp eq i64 %jsite, %site
  %members.same = icmp eq i64 %jmembers, %members64
  %both = and i1 %site.same, %members.same
  %j32 = trunc i64 %j to i32
  %jbit = shl i32 1, %j32
  %here = and i32 %jbit, %at.next
  %counted = select i1 %both, i32 %here, i32 0
  %same.next = or i32 %same, %counted
  %j.next = add i64 %j, 1
  %match.more = icmp ult i64 %j.next, %count
  br i1 %match.more, label %match, label %complete
complete:
  %wanted = and i32 %members, %alive.next
  %others = xor i32 %same.next, -1
  %missing = and i32 %wanted, %others
  %all.here = icmp eq i32 %missing, 0
  %nobody.runs = icmp eq i32 %ready.next, 0
  %is.legacy = icmp ne i64 %legacy, 0
  %now = select i1 %is.legacy, i1 %nobody.runs, i1 %all.here
  %rest.lanes = and i32 %left, %others
  br i1 %now, label %do, label %not.yet
do:
  switch i64 %site, label %resolved [ @CASES@ ]
@CALLS@resolved:
  br label %wake
wake:
  %w = phi i32 [ %same.next, %resolved ], [ %w.next, %wake ]
  %wn = call i32 @llvm.cttz.i32(i32 %w, i1 true)
  %wl = zext i32 %wn to i64
  %wo = mul i64 %wl, %stride
  %woken = getelementptr i8, ptr %group, i64 %wo
  %pw.status = getelementptr i8, ptr %woken, i64 @STATE_STATUS@
  store i64 0, ptr %pw.status
  %w.minus = sub i32 %w, 1
  %w.next = and i32 %w, %w.minus
  %w.more = icmp ne i32 %w.next, 0
  br i1 %w.more, label %wake, label %judged
not.yet:
  br label %judged
judged:
  %left.next = phi i32 [ %rest.lanes, %wake ], [ %rest.lanes, %not.yet ]
  %moved.next = phi i64 [ 1, %wake ], [ %left.moved, %not.yet ]
  br label %pick
warp.done:
  %first.next = add i64 %first, 32
  %warps.more = icmp ult i64 %first.next, %units
  br i1 %warps.more, label %warp, label %out
out:
  ret i64 %left.moved
}
"""
