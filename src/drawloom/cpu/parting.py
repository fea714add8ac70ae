"""A warp that parts: where a warp operation names lanes that are elsewhere, its vector becomes single threads.

The kernel then has its code for one thread, too. Where members are absent, every lane's live registers go to a state of
its own, with the place where the lane waits; from then on ``dl_part`` runs the threads of the warp in turns, each until
it stops, and completes their warp operations. To the scheduler they stay one warp: it comes to a barrier when all have.

    states of a block's threads, behind its local memory: thread 0, thread 1, ...
"""

from __future__ import annotations

from typing import Final

from drawloom.cpu import abi
from drawloom.cpu.body import Body, Place
from drawloom.cpu.emitter import ELEM_BITS, Value, int_const
from drawloom.cpu.scheduler import filled
from drawloom.cpu.suspension import Suspension
from drawloom.ptx.layout import align_up
from drawloom.ptx.liveness import members

#: Where a warp that has parted goes on, in its ``STATE_RESUME``: behind all other stops.
_RESUME_PARTED: Final = 1 << 20


class Threads:
    """A kernel's code for one thread, as the warp that parts hands its lanes to it.

    ``entries`` are the numbers of the places where lanes can go on, ``frame`` the offsets of what they find in their
    states; ``stride`` is the size of a state.
    """

    def __init__(self, suspension: Suspension) -> None:
        self.entries: dict[Place, int] = suspension.entries
        self.frame: dict[str, int] = suspension.handed
        self.stride = align_up(8 * abi.STATE_FRAME + suspension.f.kept_bytes, 64)


class Parting:
    """Lowers the places of one kernel where its warps can part."""

    def __init__(self, body: Body, threads: Threads) -> None:
        self.body = body
        self.f = body.f
        self.e = body.e
        self.lanes = body.lanes
        self.plan = body.plan
        self.threads = threads
        self.values = ""

    def part(self, place: Place, here: Value) -> None:
        """Go on lane by lane: those of ``here`` from ``place``, the others from where they wait."""
        f = self.f
        e = self.e
        states = self.states()
        b = place[0]
        self.spread(states, abi.STATE_RESUME, self.resumes(place, here))
        live = f.load(self.body.live, "i1", self.lanes)
        ready, over = int_const("i64", abi.READY, self.lanes), int_const("i64", abi.FINISHED, self.lanes)
        self.spread(states, abi.STATE_STATUS, e.select(live, ready, over))
        self.spread(states, abi.STATE_HELD, int_const("i64", 0, self.lanes))
        registers = self.body.live_before(place)
        for c in self.plan.waiting_blocks(b):
            registers |= self.plan.live.live_in[c]
        for id in members(registers):
            register = f.function.registers[id]
            self.save(states, f"register {id}", f.read(register, self.lanes))
        if self.plan.carry_lasts:
            carry = f.load(self.body.carry_slot(), "i1", self.body.carry_lanes())
            self.save(states, "carry", e.splat(carry, self.lanes))
        if self.f.local_slot:
            base = e.splat(f.load(self.f.local_slot, "i64", 0), self.lanes)
            rows = f.lane_ids("i64", self.body.local_stride)
            self.save(states, "local", e.binary("add", base, rows))
        for name in self.body.call_blocks:
            self.copy(states, self.threads.frame[f"param {name}"], f.blocks[name], f.block_strides[name])
        self.go_on(states)

    def resumes(self, place: Place, here: Value) -> Value:
        """The number of the place where each lane goes on."""
        f = self.f
        e = self.e
        region = self.plan.region_of[place[0]]
        outside = self.plan.region_exit[region] if region >= 0 else -1
        first = place if outside < 0 else (outside, 0)
        numbers = int_const("i64", self.threads.entries[first], self.lanes)
        for c in self.plan.waiting_blocks(place[0]):
            if c != outside:
                waits = f.load(self.body.mask_slot(c), "i1", self.lanes)
                numbers = e.select(waits, int_const("i64", self.threads.entries[c, 0], self.lanes), numbers)
        return e.select(here, int_const("i64", self.threads.entries[place], self.lanes), numbers)

    def states(self) -> Value:
        """The address of the state of the warp's first thread."""
        f = self.f
        e = self.e
        units = e.binary("mul", f.word("%launch", abi.LAUNCH_UNITS), int_const("i64", self.lanes))
        local = e.binary("mul", units, f.word("%launch", abi.LAUNCH_LOCAL))
        start = e.binary("add", f.word("%slot", abi.SLOT_LOCAL, False), local)
        offset = e.binary("mul", f.first_thread(), int_const("i64", self.threads.stride))
        return f.pointer(e.binary("add", start, offset))

    def spread(self, states: Value, word: int, value: Value) -> None:
        """Set a word of every lane's state."""
        self.scatter(states, 8 * word, value)

    def save(self, states: Value, name: str, value: Value) -> None:
        """Put a value of every lane where that lane's thread finds it, if it needs it."""
        offset = self.threads.frame.get(name)
        if offset is not None:
            self.scatter(states, 8 * abi.STATE_FRAME + offset, value)

    def scatter(self, states: Value, offset: int, value: Value) -> None:
        if not self.values:
            self.values = self.f.alloca("parted", f"[{self.lanes} x i128]", 64)
        if value.elem == "i1":
            value = self.e.cast("zext", value, "i8")
        self.f.store(value, self.values)
        self.copy(states, offset - 8 * abi.STATE_FRAME, self.values, ELEM_BITS[value.elem] // 8)

    def copy(self, states: Value, offset: int, rows: str, size: int) -> None:
        """Copy one row of so many bytes per lane to the lanes' states, so far into their frames."""
        self.e.line(f"  call void @dl_deal({states.typed}, i64 {8 * abi.STATE_FRAME + offset}, ptr {rows}, i64 {size})")

    def go_on(self, states: Value) -> None:
        arguments = f"ptr %launch, ptr %slot, i64 %index, ptr %state, {states.typed}"
        status = self.e.value("i64", 0, f"call i64 @dl_part({arguments})")
        self.e.line(f"  ret i64 {status.text}")

    def resume(self) -> str:
        """The label where a warp that has parted goes on, as a case of the switch at the kernel's entry."""
        return f" i64 {_RESUME_PARTED}, label %parted"

    def resumption(self) -> None:
        self.f.place("parted")
        self.go_on(self.states())

    def runtime(self) -> str:
        """The LLVM functions that run the threads of a warp."""
        self.e.declare("dl_fail", "void", ["ptr", "ptr", "i64", "i64", "i64", "i32"])
        text = _RUNTIME.replace("@WIDTH@", str(self.lanes)).replace("@STRIDE@", str(self.threads.stride))
        return filled(text.replace("@PARTED@", str(_RESUME_PARTED)))


_RUNTIME: Final = """
; Copies a row of %size bytes per lane to the same place of every lane's state.
define internal void @dl_deal(ptr %states, i64 %offset, ptr %rows, i64 %size) #1 {
entry:
  %some = icmp ne i64 %size, 0
  br i1 %some, label %lane, label %out
lane:
  %n = phi i64 [ 0, %entry ], [ %n.next, %dealt ]
  %so = mul i64 %n, @STRIDE@
  %at = add i64 %so, %offset
  %to = getelementptr i8, ptr %states, i64 %at
  %ro = mul i64 %n, %size
  %from = getelementptr i8, ptr %rows, i64 %ro
  br label %byte
byte:
  %i = phi i64 [ 0, %lane ], [ %i.next, %byte ]
  %p.from = getelementptr i8, ptr %from, i64 %i
  %b = load i8, ptr %p.from
  %p.to = getelementptr i8, ptr %to, i64 %i
  store i8 %b, ptr %p.to
  %i.next = add i64 %i, 1
  %more = icmp ult i64 %i.next, %size
  br i1 %more, label %byte, label %dealt
dealt:
  %n.next = add i64 %n, 1
  %lanes.more = icmp ult i64 %n.next, @WIDTH@
  br i1 %lanes.more, label %lane, label %out
out:
  ret void
}

; How many threads of a warp have a status, and (in the upper half) the first that does.
define internal i64 @dl_count(ptr %states, i64 %wanted) #1 {
entry:
  br label %lane
lane:
  %n = phi i64 [ 0, %entry ], [ %n.next, %lane ]
  %count = phi i64 [ 0, %entry ], [ %count.next, %lane ]
  %so = mul i64 %n, @STRIDE@
  %state = getelementptr i8, ptr %states, i64 %so
  %p.status = getelementptr i8, ptr %state, i64 @STATE_STATUS@
  %status = load i64, ptr %p.status
  %is = icmp eq i64 %status, %wanted
  %none = icmp eq i64 %count, 0
  %is.first = and i1 %is, %none
  %upper = shl i64 %n, 32
  %one = or i64 %upper, 1
  %more = add i64 %count, 1
  %counted = select i1 %is, i64 %more, i64 %count
  %count.next = select i1 %is.first, i64 %one, i64 %counted
  %n.next = add i64 %n, 1
  %lanes.more = icmp ult i64 %n.next, @WIDTH@
  br i1 %lanes.more, label %lane, label %out
out:
  ret i64 %count.next
}

; Lets the threads that wait at a barrier go on with what the barrier gives.
define internal void @dl_free(ptr %states, i64 %result) #1 {
entry:
  br label %lane
lane:
  %n = phi i64 [ 0, %entry ], [ %n.next, %on ]
  %so = mul i64 %n, @STRIDE@
  %state = getelementptr i8, ptr %states, i64 %so
  %p.status = getelementptr i8, ptr %state, i64 @STATE_STATUS@
  %status = load i64, ptr %p.status
  %waits = icmp eq i64 %status, @AT_BARRIER_STATUS@
  br i1 %waits, label %free, label %on
free:
  store i64 @READY_STATUS@, ptr %p.status
  %p.result = getelementptr i8, ptr %state, i64 @STATE_RESULT@
  store i64 %result, ptr %p.result
  br label %on
on:
  %n.next = add i64 %n, 1
  %lanes.more = icmp ult i64 %n.next, @WIDTH@
  br i1 %lanes.more, label %lane, label %out
out:
  ret void
}

; The threads of a warp have come to a barrier: the warp has, with the sum of what they bring.
define internal void @dl_meet(ptr %state, ptr %states, i64 %number) #1 {
entry:
  %fo = mul i64 %number, @STRIDE@
  %one = getelementptr i8, ptr %states, i64 %fo
  %p.id = getelementptr i8, ptr %one, i64 @STATE_BARRIER@
  %id = load i64, ptr %p.id
  %q.id = getelementptr i8, ptr %state, i64 @STATE_BARRIER@
  store i64 %id, ptr %q.id
  %p.want = getelementptr i8, ptr %one, i64 @STATE_COUNT@
  %want = load i64, ptr %p.want
  %q.want = getelementptr i8, ptr %state, i64 @STATE_COUNT@
  store i64 %want, ptr %q.want
  %p.kind = getelementptr i8, ptr %one, i64 @STATE_KIND@
  %kind = load i64, ptr %p.kind
  %q.kind = getelementptr i8, ptr %state, i64 @STATE_KIND@
  store i64 %kind, ptr %q.kind
  %p.pos = getelementptr i8, ptr %one, i64 @STATE_POS@
  %pos = load i64, ptr %p.pos
  %q.pos = getelementptr i8, ptr %state, i64 @STATE_POS@
  store i64 %pos, ptr %q.pos
  br label %lane
lane:
  %n = phi i64 [ 0, %entry ], [ %n.next, %lane ]
  %ones = phi i64 [ 0, %entry ], [ %ones.next, %lane ]
  %active = phi i64 [ 0, %entry ], [ %active.next, %lane ]
  %so = mul i64 %n, @STRIDE@
  %peer = getelementptr i8, ptr %states, i64 %so
  %p.status = getelementptr i8, ptr %peer, i64 @STATE_STATUS@
  %status = load i64, ptr %p.status
  %waits = icmp eq i64 %status, @AT_BARRIER_STATUS@
  %p.value = getelementptr i8, ptr %peer, i64 @STATE_VALUE@
  %value = load i64, ptr %p.value
  %brought = select i1 %waits, i64 %value, i64 0
  %ones.next = add i64 %ones, %brought
  %p.active = getelementptr i8, ptr %peer, i64 @STATE_ACTIVE@
  %act = load i64, ptr %p.active
  %came = select i1 %waits, i64 %act, i64 0
  %active.next = add i64 %active, %came
  %n.next = add i64 %n, 1
  %lanes.more = icmp ult i64 %n.next, @WIDTH@
  br i1 %lanes.more, label %lane, label %out
out:
  %q.value = getelementptr i8, ptr %state, i64 @STATE_VALUE@
  store i64 %ones.next, ptr %q.value
  %q.active = getelementptr i8, ptr %state, i64 @STATE_ACTIVE@
  store i64 %active.next, ptr %q.active
  ret void
}

; Runs the threads of a warp that has parted until all are done, fail, or wait for something outside of the warp;
; returns what a kernel does. %state is null where the kernel of a whole warp never stops: then these threads are all
; that can meet at its barriers.
define internal i64 @dl_part(ptr %launch, ptr %slot, i64 %index, ptr %state, ptr %states) #1 {
entry:
  %p.cancel = getelementptr i8, ptr %launch, i64 @LAUNCH_CANCEL@
  %first = mul i64 %index, @WIDTH@
  %alone = icmp eq ptr %state, null
  %p.held = getelementptr i8, ptr %states, i64 @STATE_HELD@
  %held = load i64, ptr %p.held
  %was.held = icmp ne i64 %held, 0
  br i1 %was.held, label %released, label %begin
released:
  store i64 0, ptr %p.held
  %p.result = getelementptr i8, ptr %state, i64 @STATE_RESULT@
  %result = load i64, ptr %p.result
  call void @dl_free(ptr %states, i64 %result)
  br label %begin
begin:
  br label %round
round:
  %went = phi i64 [ @YIELD_STATUS@, %begin ], [ @PAUSE_STATUS@, %again ]
  %cancelled = load atomic i64, ptr %p.cancel monotonic, align 8
  %stop = icmp ne i64 %cancelled, 0
  br i1 %stop, label %failed, label %lane
lane:
  %n = phi i64 [ 0, %round ], [ %n.next, %ran ]
  %moved = phi i64 [ 0, %round ], [ %moved.next, %ran ]
  %turns = phi i64 [ 0, %round ], [ %turns.next, %ran ]
  %so = mul i64 %n, @STRIDE@
  %one = getelementptr i8, ptr %states, i64 %so
  %p.status = getelementptr i8, ptr %one, i64 @STATE_STATUS@
  %status = load i64, ptr %p.status
  %ready = icmp eq i64 %status, @READY_STATUS@
  br i1 %ready, label %run, label %ran
run:
  %thread = add i64 %first, %n
  %r = call i64 @kernel.thread(ptr %launch, ptr %slot, i64 %thread, ptr %one)
  switch i64 %r, label %failed [
    i64 @DONE_STATUS@, label %finished  i64 @BARRIER_STATUS@, label %barrier  i64 @YIELD_STATUS@, label %spun
    i64 @WARP_OPERATION_STATUS@, label %operation  i64 @PAUSE_STATUS@, label %paused
    i64 @TURN_STATUS@, label %turned ]
finished:
  store i64 @FINISHED_STATUS@, ptr %p.status
  br label %ran
barrier:
  store i64 @AT_BARRIER_STATUS@, ptr %p.status
  br label %ran
operation:
  store i64 @AT_OPERATION_STATUS@, ptr %p.status
  br label %ran
spun:
  br label %ran
paused:
  br label %ran
turned:
  br label %ran
ran:
  %moved.next = phi i64 [ %moved, %lane ], [ %moved, %spun ], [ 1, %finished ], [ 1, %barrier ], [ 1, %operation ],
    [ 1, %paused ], [ 1, %turned ]
  %turns.next = phi i64 [ %turns, %lane ], [ %turns, %spun ], [ %turns, %finished ], [ %turns, %barrier ],
    [ %turns, %operation ], [ %turns, %paused ], [ 1, %turned ]
  %n.next = add i64 %n, 1
  %lanes.more = icmp ult i64 %n.next, @WIDTH@
  br i1 %lanes.more, label %lane, label %settle
settle:
  %resolved = call i64 @dl_resolve_units(ptr %states, i64 @WIDTH@, i64 @STRIDE@)
  %progress = or i64 %moved.next, %resolved
  %some = icmp ne i64 %progress, 0
  br i1 %some, label %moves, label %judge
moves:
  %no.turn = icmp eq i64 %turns.next, 0
  %stays = or i1 %no.turn, %alone
  br i1 %stays, label %again, label %outside
again:
  br label %round
judge:
  %over = call i64 @dl_count(ptr %states, i64 @FINISHED_STATUS@)
  %over.count = and i64 %over, 4294967295
  %complete = icmp eq i64 %over.count, @WIDTH@
  br i1 %complete, label %done, label %spinning
done:
  ret i64 @DONE_STATUS@
spinning:
  %running = call i64 @dl_count(ptr %states, i64 @READY_STATUS@)
  %spins = icmp ne i64 %running, 0
  br i1 %spins, label %outside, label %waiting
waiting:
  %at = call i64 @dl_count(ptr %states, i64 @AT_BARRIER_STATUS@)
  %at.count = and i64 %at, 4294967295
  %met.count = add i64 %at.count, %over.count
  %met = icmp eq i64 %met.count, @WIDTH@
  br i1 %met, label %meets, label %stuck
meets:
  br i1 %alone, label %pass, label %wait
pass:
  call void @dl_free(ptr %states, i64 0)
  br label %again
wait:
  %leader = lshr i64 %at, 32
  call void @dl_meet(ptr %state, ptr %states, i64 %leader)
  store i64 1, ptr %p.held
  br label %outside
outside:
  %outcome = phi i64 [ %went, %spinning ], [ @TURN_STATUS@, %moves ], [ @BARRIER_STATUS@, %wait ]
  %p.resume = getelementptr i8, ptr %state, i64 @STATE_RESUME@
  store i64 @PARTED@, ptr %p.resume
  ret i64 %outcome
stuck:
  %waits = call i64 @dl_count(ptr %states, i64 @AT_OPERATION_STATUS@)
  %lane.first = lshr i64 %waits, 32
  %lo = mul i64 %lane.first, @STRIDE@
  %victim = getelementptr i8, ptr %states, i64 %lo
  %p.pos = getelementptr i8, ptr %victim, i64 @STATE_POS@
  %pos = load i64, ptr %p.pos
  %number = trunc i64 %lane.first to i32
  call void @dl_fail(ptr %launch, ptr %slot, i64 %first, i64 @ERROR_DIVERGED_CODE@, i64 %pos, i32 %number)
  br label %failed
failed:
  ret i64 @FAULT_STATUS@
}
"""
