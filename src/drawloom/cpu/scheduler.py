"""The native scheduler: LLVM IR that runs blocks on a worker thread and the warps of a block in turns.

Blocks start in the order of their index. A kernel that never stops runs its warps one after the other. One that
has barriers (or spins) is called again and again: a warp runs until its next barrier, and when all warps of a
barrier have come, they become ready. A block that only spins is parked; workers open other blocks beside it, so that
blocks which wait for later blocks make progress, too, and any worker may take it up again.
"""

from __future__ import annotations

import re
from typing import Final

from drawloom.cpu import abi, races

_REPORTS: Final = """
; %first: the thread of lane 0.
define void @dl_fail(ptr %launch, ptr %slot, i64 %first, i64 %code, i64 %pos, i32 %lane) {
  %error = getelementptr i8, ptr %launch, i64 @LAUNCH_ERROR@
  %claim = cmpxchg ptr %error, i64 0, i64 %code seq_cst seq_cst
  %won = extractvalue { i64, i1 } %claim, 1
  br i1 %won, label %record, label %done
record:
  %p.pos = getelementptr i8, ptr %launch, i64 @LAUNCH_ERROR_POS@
  store i64 %pos, ptr %p.pos
  %p.block = getelementptr i8, ptr %slot, i64 @SLOT_BLOCK@
  %block = load i64, ptr %p.block
  %p.eblock = getelementptr i8, ptr %launch, i64 @LAUNCH_ERROR_BLOCK@
  store i64 %block, ptr %p.eblock
  %lane64 = zext i32 %lane to i64
  %thread = add i64 %first, %lane64
  %p.thread = getelementptr i8, ptr %launch, i64 @LAUNCH_ERROR_THREAD@
  store i64 %thread, ptr %p.thread
  br label %done
done:
  %cancel = getelementptr i8, ptr %launch, i64 @LAUNCH_CANCEL@
  store atomic i64 1, ptr %cancel seq_cst, align 8
  ret void
}

; 0 when all of [address, address + size) of every set lane is in a known range and aligned, and races with nobody.
; %shape: bytes, alignment (from bit 32), what it does (races.py; from bit 40); %values: what each lane writes, or null.
define i32 @dl_check(ptr %launch, ptr %slot, i64 %first, ptr %addresses, i64 %stride, i32 %lanes, i64 %shape,
                     i64 %pos, ptr %values) {
entry:
  %clocks = call ptr @dl_clocks(ptr %launch, ptr %slot)
  %unwatched = icmp eq ptr %clocks, null
  %no.values = icmp eq ptr %values, null
  %kind64 = lshr i64 %shape, 40
  %kind = trunc i64 %kind64 to i32
  %size = and i64 %shape, 4294967295
  %align.kind = lshr i64 %shape, 32
  %align = and i64 %align.kind, 255
  %low = sub i64 %align, 1
  %p.shared = getelementptr i8, ptr %slot, i64 @SLOT_SHARED@
  %shared = load i64, ptr %p.shared
  %p.sbytes = getelementptr i8, ptr %launch, i64 @LAUNCH_SHARED@
  %sbytes = load i64, ptr %p.sbytes
  %p.buffers = getelementptr i8, ptr %launch, i64 @LAUNCH_BUFFERS@
  %buffers = load ptr, ptr %p.buffers
  %p.count = getelementptr i8, ptr %launch, i64 @LAUNCH_BUFFER_COUNT@
  %count = load i64, ptr %p.count
  br label %next
next:
  %left = phi i32 [ %lanes, %entry ], [ %rest, %good ]
  %none = icmp eq i32 %left, 0
  br i1 %none, label %fine, label %lane
lane:
  %number = call i32 @llvm.cttz.i32(i32 %left, i1 true)
  %minus = sub i32 %left, 1
  %rest = and i32 %left, %minus
  %n = zext i32 %number to i64
  %offset = mul i64 %n, %stride
  %at = getelementptr i8, ptr %addresses, i64 %offset
  %address = load i64, ptr %at
  %odd = and i64 %address, %low
  %aligned = icmp eq i64 %odd, 0
  br i1 %aligned, label %ranges, label %misaligned
ranges:
  %s.in = call i1 @dl_inside(i64 %address, i64 %size, i64 %shared, i64 %sbytes)
  br i1 %s.in, label %in.shared, label %try.buffers
in.shared:
  br i1 %unwatched, label %good, label %shared.cells
shared.cells:
  %s.from = sub i64 %address, %shared
  %s.cells = getelementptr i8, ptr %clocks, i64 @RACE_CELLS@
  br label %watch
try.buffers:
  %i = phi i64 [ 0, %ranges ], [ %i.next, %miss ]
  %over = icmp uge i64 %i, %count
  br i1 %over, label %try.variables, label %one
one:
  %pair = mul i64 %i, 24
  %p.begin = getelementptr i8, ptr %buffers, i64 %pair
  %begin = load i64, ptr %p.begin
  %p.bytes = getelementptr i8, ptr %p.begin, i64 8
  %bytes = load i64, ptr %p.bytes
  %b.in = call i1 @dl_inside(i64 %address, i64 %size, i64 %begin, i64 %bytes)
  br i1 %b.in, label %in.buffer, label %miss
in.buffer:
  br i1 %unwatched, label %good, label %buffer.cells
buffer.cells:
  %begin.odd = and i64 %begin, 3
  %b.start = sub i64 %address, %begin
  %b.from = add i64 %b.start, %begin.odd
  %p.cells = getelementptr i8, ptr %p.begin, i64 16
  %b.cells = load ptr, ptr %p.cells
  br label %watch
watch:
  %from = phi i64 [ %s.from, %shared.cells ], [ %b.from, %buffer.cells ]
  %cells = phi ptr [ %s.cells, %shared.cells ], [ %b.cells, %buffer.cells ]
  %is.shared = phi i1 [ true, %shared.cells ], [ false, %buffer.cells ]
  %word = lshr i64 %from, 2
  %o.cell = mul i64 %word, @RACE_CELL_BYTES@
  %cell = getelementptr i8, ptr %cells, i64 %o.cell
  %o.value = mul i64 %n, %size
  %p.value = getelementptr i8, ptr %values, i64 %o.value
  %value = select i1 %no.values, ptr null, ptr %p.value
  %races = call i32 @dl_touch(ptr %launch, ptr %slot, ptr %clocks, i64 %first, i32 %number, i64 %address, i64 %size,
                              ptr %cell, i32 %kind, ptr %value, i1 %is.shared, i64 %pos)
  %raced = icmp ne i32 %races, 0
  br i1 %raced, label %failed, label %good
failed:
  ret i32 1
miss:
  %i.next = add i64 %i, 1
  br label %try.buffers
try.variables:
  %v.in = call i1 @dl_in_variables(ptr %slot, i64 %n, i64 %address, i64 %size)
  br i1 %v.in, label %good, label %outside
good:
  br label %next
misaligned:
  br label %bad
outside:
  br label %bad
bad:
  %code = phi i64 [ @ERROR_ALIGNMENT_CODE@, %misaligned ], [ @ERROR_BOUNDS_CODE@, %outside ]
  %p.error = getelementptr i8, ptr %launch, i64 @LAUNCH_ERROR@
  %claimed = load atomic i64, ptr %p.error seq_cst, align 8
  %free = icmp eq i64 %claimed, 0
  br i1 %free, label %record, label %stop
record:
  %p.address = getelementptr i8, ptr %launch, i64 @LAUNCH_ERROR_ADDRESS@
  store i64 %address, ptr %p.address
  %p.size = getelementptr i8, ptr %launch, i64 @LAUNCH_ERROR_SIZE@
  store i64 %size, ptr %p.size
  br label %stop
stop:
  call void @dl_fail(ptr %launch, ptr %slot, i64 %first, i64 %code, i64 %pos, i32 %number)
  ret i32 1
fine:
  ret i32 0
}

; Whether an access of lane %lane is inside one of the lane's local variables.
define internal i1 @dl_in_variables(ptr %slot, i64 %lane, i64 %address, i64 %size) {
entry:
  %p.first = getelementptr i8, ptr %slot, i64 @SLOT_VARIABLES@
  %lane.bytes = mul i64 %lane, 8
  br label %next
next:
  %p.record = phi ptr [ %p.first, %entry ], [ %p.following, %compare ]
  %record = load ptr, ptr %p.record
  %none = icmp eq ptr %record, null
  br i1 %none, label %outside, label %look
look:
  %p.following = getelementptr i8, ptr %record, i64 @VARIABLE_NEXT@
  %p.begin = getelementptr i8, ptr %record, i64 @VARIABLE_BEGIN@
  %begin = load i64, ptr %p.begin
  %p.stride = getelementptr i8, ptr %record, i64 @VARIABLE_STRIDE@
  %stride = load i64, ptr %p.stride
  %offset = mul i64 %lane, %stride
  %mine = add i64 %begin, %offset
  %p.bytes = getelementptr i8, ptr %record, i64 @VARIABLE_BYTES@
  %fixed = load i64, ptr %p.bytes
  %p.ends = getelementptr i8, ptr %record, i64 @VARIABLE_ENDS@
  %ends = load ptr, ptr %p.ends
  %no.ends = icmp eq ptr %ends, null
  br i1 %no.ends, label %compare, label %grown
grown:
  %p.end = getelementptr i8, ptr %ends, i64 %lane.bytes
  %end = load i64, ptr %p.end
  %up.to = sub i64 %end, %mine
  br label %compare
compare:
  %bytes = phi i64 [ %fixed, %look ], [ %up.to, %grown ]
  %inside = call i1 @dl_inside(i64 %address, i64 %size, i64 %mine, i64 %bytes)
  br i1 %inside, label %found, label %next
found:
  ret i1 true
outside:
  ret i1 false
}

define internal i1 @dl_inside(i64 %address, i64 %size, i64 %begin, i64 %bytes) alwaysinline {
  %from = sub i64 %address, %begin
  %starts = icmp ule i64 %from, %bytes
  %room = sub i64 %bytes, %from
  %ends = icmp ule i64 %size, %room
  %inside = and i1 %starts, %ends
  ret i1 %inside
}

declare i32 @llvm.cttz.i32(i32, i1)
"""

_OPEN: Final = """
; Makes %slot hold block number %block.
define internal void @dl_open(ptr %launch, ptr %slot, i64 %block, i64 %top) alwaysinline {
  %p.gx = getelementptr i8, ptr %launch, i64 @LAUNCH_GRID@
  %gx = load i64, ptr %p.gx
  %p.gy = getelementptr i8, ptr %p.gx, i64 8
  %gy = load i64, ptr %p.gy
  %x = urem i64 %block, %gx
  %rows = udiv i64 %block, %gx
  %y = urem i64 %rows, %gy
  %z = udiv i64 %rows, %gy
  store i64 %x, ptr %slot
  %p.y = getelementptr i8, ptr %slot, i64 8
  store i64 %y, ptr %p.y
  %p.z = getelementptr i8, ptr %slot, i64 16
  store i64 %z, ptr %p.z
  %p.block = getelementptr i8, ptr %slot, i64 @SLOT_BLOCK@
  store i64 %block, ptr %p.block
  %here = ptrtoint ptr %slot to i64
  %p.o.shared = getelementptr i8, ptr %launch, i64 @LAUNCH_SLOT_SHARED@
  %o.shared = load i64, ptr %p.o.shared
  %shared = add i64 %here, %o.shared
  %p.shared = getelementptr i8, ptr %slot, i64 @SLOT_SHARED@
  store i64 %shared, ptr %p.shared
  %p.o.local = getelementptr i8, ptr %launch, i64 @LAUNCH_SLOT_LOCAL@
  %o.local = load i64, ptr %p.o.local
  %local = add i64 %here, %o.local
  %p.local = getelementptr i8, ptr %slot, i64 @SLOT_LOCAL@
  store i64 %local, ptr %p.local
  %p.o.states = getelementptr i8, ptr %launch, i64 @LAUNCH_SLOT_STATES@
  %o.states = load i64, ptr %p.o.states
  %states = add i64 %here, %o.states
  %p.states = getelementptr i8, ptr %slot, i64 @SLOT_STATES@
  store i64 %states, ptr %p.states
  %p.stack = getelementptr i8, ptr %slot, i64 @SLOT_STACK@
  store i64 %top, ptr %p.stack
  ret void
}
"""

_STRAIGHT: Final = """
; A kernel that never stops: every unit of every block, one call each. Without alignstack, LLVM puts spilled vectors
; on a stack aligned to 16 bytes, where each of them straddles two cache lines.
define void @dl_worker(ptr noalias %launch, ptr noalias %slot) alignstack(64) null_pointer_is_valid {
entry:
  %mark = alloca i8
  %top = ptrtoint ptr %mark to i64
  %p.units = getelementptr i8, ptr %launch, i64 @LAUNCH_UNITS@
  %units = load i64, ptr %p.units, !invariant.load !0
  %p.blocks = getelementptr i8, ptr %launch, i64 @LAUNCH_BLOCKS@
  %blocks = load i64, ptr %p.blocks, !invariant.load !0
  %p.chunk = getelementptr i8, ptr %launch, i64 @LAUNCH_CHUNK@
  %chunk = load i64, ptr %p.chunk, !invariant.load !0
  %p.next = getelementptr i8, ptr %launch, i64 @LAUNCH_NEXT@
  %p.cancel = getelementptr i8, ptr %launch, i64 @LAUNCH_CANCEL@
  %p.row.units = getelementptr i8, ptr %launch, i64 @LAUNCH_ROW_UNITS@
  %row.units = load i64, ptr %p.row.units, !invariant.load !0
  %p.ny = getelementptr i8, ptr %launch, i64 @LAUNCH_BLOCK_Y@
  %ny = load i64, ptr %p.ny, !invariant.load !0
  %p.column = getelementptr i8, ptr %slot, i64 @SLOT_COLUMN@
  %p.row.y = getelementptr i8, ptr %slot, i64 @SLOT_ROW@
  %p.row.z = getelementptr i8, ptr %p.row.y, i64 8
  br label %take
take:
  %cancelled = load atomic i64, ptr %p.cancel monotonic, align 8
  %stop = icmp ne i64 %cancelled, 0
  br i1 %stop, label %done, label %claim
claim:
  %first = atomicrmw add ptr %p.next, i64 %chunk monotonic
  %past = icmp uge i64 %first, %blocks
  br i1 %past, label %done, label %some
some:
  %to = add i64 %first, %chunk
  %over = icmp ugt i64 %to, %blocks
  %end = select i1 %over, i64 %blocks, i64 %to
  br label %block
block:
  %b = phi i64 [ %first, %some ], [ %b.next, %after ]
  call void @dl_open(ptr %launch, ptr %slot, i64 %b, i64 %top)
  br label %unit
unit:
  %u = phi i64 [ 0, %block ], [ %u.next, %ran ]
  %column = phi i64 [ 0, %block ], [ %column.next, %ran ]
  %y = phi i64 [ 0, %block ], [ %y.next, %ran ]
  %z = phi i64 [ 0, %block ], [ %z.next, %ran ]
  store i64 %column, ptr %p.column
  store i64 %y, ptr %p.row.y
  store i64 %z, ptr %p.row.z
  %r = call i64 @kernel(ptr %launch, ptr %slot, i64 %u, ptr null)
  %ok = icmp eq i64 %r, 0
  br i1 %ok, label %ran, label %done
ran:
  %column.more = add i64 %column, 1
  %row.ends = icmp eq i64 %column.more, %row.units
  %column.next = select i1 %row.ends, i64 0, i64 %column.more
  %row.count = zext i1 %row.ends to i64
  %y.more = add i64 %y, %row.count
  %plane.ends = icmp eq i64 %y.more, %ny
  %y.next = select i1 %plane.ends, i64 0, i64 %y.more
  %plane.count = zext i1 %plane.ends to i64
  %z.next = add i64 %z, %plane.count
  %u.next = add i64 %u, 1
  %more = icmp ult i64 %u.next, %units
  br i1 %more, label %unit, label %after
after:
  %b.next = add i64 %b, 1
  %again = icmp ult i64 %b.next, %end
  br i1 %again, label %block, label %take
done:
  ret void
}
"""

_RESUMABLE: Final = """
; Runs the block of %slot until it is done (0), only spins (2) or failed (3).
; The word after %counts tells which slot it is.
define internal i64 @dl_block(ptr %launch, ptr %slot, ptr %counts) {
entry:
  %p.current = getelementptr i8, ptr %counts, i64 8
  store volatile ptr %slot, ptr %p.current
  %p.units = getelementptr i8, ptr %launch, i64 @LAUNCH_UNITS@
  %units = load i64, ptr %p.units
  %p.stride = getelementptr i8, ptr %launch, i64 @LAUNCH_STATE_STRIDE@
  %stride = load i64, ptr %p.stride
  %p.states = getelementptr i8, ptr %slot, i64 @SLOT_STATES@
  %states = load ptr, ptr %p.states
  %p.done = getelementptr i8, ptr %slot, i64 @SLOT_DONE@
  %p.cancel = getelementptr i8, ptr %launch, i64 @LAUNCH_CANCEL@
  %p.progress = getelementptr i8, ptr %slot, i64 @SLOT_PROGRESS@
  %p.lanes = getelementptr i8, ptr %launch, i64 @LAUNCH_LANES@
  %lanes = load i64, ptr %p.lanes
  %p.kernel = getelementptr i8, ptr %launch, i64 @LAUNCH_KERNEL@
  %kernel = load ptr, ptr %p.kernel
  %p.resolve = getelementptr i8, ptr %launch, i64 @LAUNCH_RESOLVE@
  %resolve = load ptr, ptr %p.resolve
  %by.lane = icmp ne ptr %resolve, null
  %p.row.units = getelementptr i8, ptr %launch, i64 @LAUNCH_ROW_UNITS@
  %row.units = load i64, ptr %p.row.units
  %p.ny = getelementptr i8, ptr %launch, i64 @LAUNCH_BLOCK_Y@
  %ny = load i64, ptr %p.ny
  %p.column = getelementptr i8, ptr %slot, i64 @SLOT_COLUMN@
  %p.row.y = getelementptr i8, ptr %slot, i64 @SLOT_ROW@
  %p.row.z = getelementptr i8, ptr %p.row.y, i64 8
  br label %round
round:
  %cancelled = load atomic i64, ptr %p.cancel monotonic, align 8
  %stop = icmp ne i64 %cancelled, 0
  br i1 %stop, label %failed, label %unit
unit:
  %u = phi i64 [ 0, %round ], [ %u.next, %ran ]
  %progress = phi i64 [ 0, %round ], [ %progress.next, %ran ]
  %spins = phi i64 [ 0, %round ], [ %spins.next, %ran ]
  %ids = phi i64 [ 0, %round ], [ %ids.next, %ran ]
  %column = phi i64 [ 0, %round ], [ %column.next, %ran ]
  %y = phi i64 [ 0, %round ], [ %y.next, %ran ]
  %z = phi i64 [ 0, %round ], [ %z.next, %ran ]
  %o = mul i64 %u, %stride
  %state = getelementptr i8, ptr %states, i64 %o
  %p.status = getelementptr i8, ptr %state, i64 @STATE_STATUS@
  %status = load i64, ptr %p.status
  %ready = icmp eq i64 %status, 0
  br i1 %ready, label %run, label %skip
run:
  store i64 %column, ptr %p.column
  store i64 %y, ptr %p.row.y
  store i64 %z, ptr %p.row.z
  %r = call i64 %kernel(ptr %launch, ptr %slot, i64 %u, ptr %state)
  switch i64 %r, label %failed [
    i64 0, label %finished  i64 1, label %barrier  i64 2, label %yield  i64 4, label %operation
    i64 5, label %paused  i64 6, label %paused ]
finished:
  store i64 @FINISHED_STATUS@, ptr %p.status
  %d0 = load i64, ptr %p.done
  %d1 = add i64 %d0, 1
  store i64 %d1, ptr %p.done
  br label %ran
barrier:
  %p.id = getelementptr i8, ptr %state, i64 @STATE_BARRIER@
  %id = load i64, ptr %p.id
  %valid = icmp ult i64 %id, 16
  br i1 %valid, label %known, label %wrong
wrong:
  %p.wpos = getelementptr i8, ptr %state, i64 @STATE_POS@
  %wpos = load i64, ptr %p.wpos
  %wthread = call i64 @dl_first_thread(ptr %launch, i64 %u)
  call void @dl_fail(ptr %launch, ptr %slot, i64 %wthread, i64 @ERROR_BARRIER_ID_CODE@, i64 %wpos, i32 0)
  br label %failed
known:
  %p.kind = getelementptr i8, ptr %state, i64 @STATE_KIND@
  %kind = load i64, ptr %p.kind
  %arrive = icmp eq i64 %kind, @BARRIER_ARRIVE_KIND@
  %bit = shl i64 1, %id
  %ids.set = or i64 %ids, %bit
  br i1 %arrive, label %arrived, label %waits
arrived:
  %io = mul i64 %id, 8
  %table = getelementptr i8, ptr %slot, i64 @SLOT_ARRIVALS@
  %p.arrived = getelementptr i8, ptr %table, i64 %io
  %a0 = load i64, ptr %p.arrived
  %a1 = add i64 %a0, %lanes
  store i64 %a1, ptr %p.arrived
  call void @dl_race_arrive(ptr %launch, ptr %slot, i64 %u, i64 %id)
  br label %ran
waits:
  store i64 @AT_BARRIER_STATUS@, ptr %p.status
  br label %ran
operation:
  store i64 @AT_OPERATION_STATUS@, ptr %p.status
  br label %ran
yield:
  br label %ran
paused:
  br label %ran
skip:
  %at = icmp eq i64 %status, @AT_BARRIER_STATUS@
  br i1 %at, label %still, label %ran
still:
  %p.id2 = getelementptr i8, ptr %state, i64 @STATE_BARRIER@
  %id2 = load i64, ptr %p.id2
  %bit2 = shl i64 1, %id2
  %ids.still = or i64 %ids, %bit2
  br label %ran
ran:
  %progress.next = phi i64 [ 1, %finished ], [ 1, %arrived ], [ 1, %waits ], [ 1, %operation ],
    [ 1, %paused ], [ %progress, %yield ], [ %progress, %skip ], [ %progress, %still ]
  %spins.next = phi i64 [ %spins, %finished ], [ %spins, %arrived ], [ %spins, %waits ], [ %spins, %operation ],
    [ %spins, %paused ], [ 1, %yield ], [ %spins, %skip ], [ %spins, %still ]
  %ids.next = phi i64 [ %ids, %finished ], [ %ids.set, %arrived ], [ %ids.set, %waits ], [ %ids, %operation ],
    [ %ids, %paused ], [ %ids, %yield ], [ %ids, %skip ], [ %ids.still, %still ]
  %column.more = add i64 %column, 1
  %row.ends = icmp eq i64 %column.more, %row.units
  %column.next = select i1 %row.ends, i64 0, i64 %column.more
  %row.count = zext i1 %row.ends to i64
  %y.more = add i64 %y, %row.count
  %plane.ends = icmp eq i64 %y.more, %ny
  %y.next = select i1 %plane.ends, i64 0, i64 %y.more
  %plane.count = zext i1 %plane.ends to i64
  %z.next = add i64 %z, %plane.count
  %u.next = add i64 %u, 1
  %more = icmp ult i64 %u.next, %units
  br i1 %more, label %unit, label %settle
settle:
  %done = load i64, ptr %p.done
  %all = icmp eq i64 %done, %units
  br i1 %all, label %complete, label %release
release:
  %left = phi i64 [ %ids.next, %settle ], [ %rest, %released ]
  %moved = phi i64 [ %progress.next, %settle ], [ %moved.next, %released ]
  %none = icmp eq i64 %left, 0
  br i1 %none, label %judge, label %one
one:
  %bar = call i64 @llvm.cttz.i64(i64 %left, i1 true)
  %minus = sub i64 %left, 1
  %rest = and i64 %left, %minus
  %freed = call i64 @dl_release(ptr %launch, ptr %slot, i64 %bar)
  br label %released
released:
  %moved.next = or i64 %moved, %freed
  br label %release
judge:
  br i1 %by.lane, label %operations, label %judged
operations:
  %resolved = call i64 %resolve(ptr %launch, ptr %slot)
  %either = or i64 %moved, %resolved
  br label %judged
judged:
  %moving = phi i64 [ %moved, %judge ], [ %either, %operations ]
  %stuck = icmp eq i64 %moving, 0
  br i1 %stuck, label %idle, label %went
went:
  %seen = load i64, ptr %p.progress
  %seen.more = add i64 %seen, 1
  store atomic i64 %seen.more, ptr %p.progress monotonic, align 8
  br label %round
idle:
  %only.spins = icmp ne i64 %spins.next, 0
  br i1 %only.spins, label %spinning, label %deadlock
spinning:
  ret i64 2
deadlock:
  call void @dl_stuck(ptr %launch, ptr %slot)
  ret i64 3
complete:
  %seen2 = load i64, ptr %p.progress
  %seen2.more = add i64 %seen2, 1
  store atomic i64 %seen2.more, ptr %p.progress monotonic, align 8
  ret i64 0
failed:
  store atomic i64 1, ptr %p.cancel seq_cst, align 8
  ret i64 3
}

; Lets the units that wait at barrier %bar go on if all have come; returns whether it did.
define internal i64 @dl_release(ptr %launch, ptr %slot, i64 %bar) {
entry:
  %p.units = getelementptr i8, ptr %launch, i64 @LAUNCH_UNITS@
  %units = load i64, ptr %p.units
  %p.stride = getelementptr i8, ptr %launch, i64 @LAUNCH_STATE_STRIDE@
  %stride = load i64, ptr %p.stride
  %p.states = getelementptr i8, ptr %slot, i64 @SLOT_STATES@
  %states = load ptr, ptr %p.states
  %p.done = getelementptr i8, ptr %slot, i64 @SLOT_DONE@
  %done = load i64, ptr %p.done
  %io = mul i64 %bar, 8
  %table = getelementptr i8, ptr %slot, i64 @SLOT_ARRIVALS@
  %p.arrived = getelementptr i8, ptr %table, i64 %io
  %arrivals = load i64, ptr %p.arrived
  %p.lanes = getelementptr i8, ptr %launch, i64 @LAUNCH_LANES@
  %lanes = load i64, ptr %p.lanes
  br label %count
count:
  %u = phi i64 [ 0, %entry ], [ %u.next, %counted ]
  %here = phi i64 [ %arrivals, %entry ], [ %here.next, %counted ]
  %wanted = phi i64 [ 0, %entry ], [ %wanted.next, %counted ]
  %ones = phi i64 [ 0, %entry ], [ %ones.next, %counted ]
  %active = phi i64 [ 0, %entry ], [ %active.next, %counted ]
  %o = mul i64 %u, %stride
  %state = getelementptr i8, ptr %states, i64 %o
  %p.status = getelementptr i8, ptr %state, i64 @STATE_STATUS@
  %status = load i64, ptr %p.status
  %p.id = getelementptr i8, ptr %state, i64 @STATE_BARRIER@
  %id = load i64, ptr %p.id
  %waits = icmp eq i64 %status, @AT_BARRIER_STATUS@
  %same = icmp eq i64 %id, %bar
  %mine = and i1 %waits, %same
  br i1 %mine, label %add, label %counted
add:
  %here.add = add i64 %here, %lanes
  %p.want = getelementptr i8, ptr %state, i64 @STATE_COUNT@
  %want = load i64, ptr %p.want
  %p.value = getelementptr i8, ptr %state, i64 @STATE_VALUE@
  %value = load i64, ptr %p.value
  %ones.add = add i64 %ones, %value
  %p.active = getelementptr i8, ptr %state, i64 @STATE_ACTIVE@
  %act = load i64, ptr %p.active
  %active.add = add i64 %active, %act
  br label %counted
counted:
  %here.next = phi i64 [ %here, %count ], [ %here.add, %add ]
  %wanted.next = phi i64 [ %wanted, %count ], [ %want, %add ]
  %ones.next = phi i64 [ %ones, %count ], [ %ones.add, %add ]
  %active.next = phi i64 [ %active, %count ], [ %active.add, %add ]
  %u.next = add i64 %u, 1
  %more = icmp ult i64 %u.next, %units
  br i1 %more, label %count, label %decide
decide:
  %alive = sub i64 %units, %done
  %alive.threads = mul i64 %alive, %lanes
  %plain = icmp eq i64 %wanted.next, 0
  %needed = select i1 %plain, i64 %alive.threads, i64 %wanted.next
  %enough = icmp uge i64 %here.next, %needed
  br i1 %enough, label %free, label %not.yet
not.yet:
  ret i64 0
free:
  call void @dl_race_barrier(ptr %launch, ptr %slot, i64 %bar)
  store i64 0, ptr %p.arrived
  %every = icmp eq i64 %ones.next, %active.next
  %any = icmp ne i64 %ones.next, 0
  %every64 = zext i1 %every to i64
  %any64 = zext i1 %any to i64
  br label %wake
wake:
  %v = phi i64 [ 0, %free ], [ %v.next, %woken ]
  %vo = mul i64 %v, %stride
  %vstate = getelementptr i8, ptr %states, i64 %vo
  %pv.status = getelementptr i8, ptr %vstate, i64 @STATE_STATUS@
  %vstatus = load i64, ptr %pv.status
  %pv.id = getelementptr i8, ptr %vstate, i64 @STATE_BARRIER@
  %vid = load i64, ptr %pv.id
  %vwaits = icmp eq i64 %vstatus, @AT_BARRIER_STATUS@
  %vsame = icmp eq i64 %vid, %bar
  %vmine = and i1 %vwaits, %vsame
  br i1 %vmine, label %go, label %woken
go:
  store i64 0, ptr %pv.status
  %pv.kind = getelementptr i8, ptr %vstate, i64 @STATE_KIND@
  %vkind = load i64, ptr %pv.kind
  %is.and = icmp eq i64 %vkind, @BARRIER_AND_KIND@
  %is.popc = icmp eq i64 %vkind, @BARRIER_POPC_KIND@
  %r1 = select i1 %is.and, i64 %every64, i64 %any64
  %r2 = select i1 %is.popc, i64 %ones.next, i64 %r1
  %pv.result = getelementptr i8, ptr %vstate, i64 @STATE_RESULT@
  store i64 %r2, ptr %pv.result
  br label %woken
woken:
  %v.next = add i64 %v, 1
  %vmore = icmp ult i64 %v.next, %units
  br i1 %vmore, label %wake, label %out
out:
  ret i64 1
}

; The number of the first thread of unit %u.
define internal i64 @dl_first_thread(ptr %launch, i64 %u) {
  %p.row.units = getelementptr i8, ptr %launch, i64 @LAUNCH_ROW_UNITS@
  %row.units = load i64, ptr %p.row.units
  %p.lanes = getelementptr i8, ptr %launch, i64 @LAUNCH_LANES@
  %lanes = load i64, ptr %p.lanes
  %p.nx = getelementptr i8, ptr %launch, i64 @LAUNCH_BLOCK@
  %nx = load i64, ptr %p.nx
  %row = udiv i64 %u, %row.units
  %column = urem i64 %u, %row.units
  %before = mul i64 %row, %nx
  %first = mul i64 %column, %lanes
  %thread = add i64 %before, %first
  ret i64 %thread
}

; Every unit waits for something that cannot happen: report the first.
define internal void @dl_stuck(ptr %launch, ptr %slot) {
entry:
  %p.units = getelementptr i8, ptr %launch, i64 @LAUNCH_UNITS@
  %units = load i64, ptr %p.units
  %p.stride = getelementptr i8, ptr %launch, i64 @LAUNCH_STATE_STRIDE@
  %stride = load i64, ptr %p.stride
  %p.states = getelementptr i8, ptr %slot, i64 @SLOT_STATES@
  %states = load ptr, ptr %p.states
  br label %look
look:
  %u = phi i64 [ 0, %entry ], [ %u.next, %on ]
  %o = mul i64 %u, %stride
  %state = getelementptr i8, ptr %states, i64 %o
  %p.status = getelementptr i8, ptr %state, i64 @STATE_STATUS@
  %status = load i64, ptr %p.status
  %over = icmp eq i64 %status, @FINISHED_STATUS@
  br i1 %over, label %on, label %found
on:
  %u.next = add i64 %u, 1
  %more = icmp ult i64 %u.next, %units
  br i1 %more, label %look, label %out
found:
  %p.pos = getelementptr i8, ptr %state, i64 @STATE_POS@
  %pos = load i64, ptr %p.pos
  %thread = call i64 @dl_first_thread(ptr %launch, i64 %u)
  %in.warp = icmp eq i64 %status, @AT_OPERATION_STATUS@
  %code = select i1 %in.warp, i64 @ERROR_DIVERGED_CODE@, i64 @ERROR_BARRIER_CODE@
  call void @dl_fail(ptr %launch, ptr %slot, i64 %thread, i64 %code, i64 %pos, i32 0)
  br label %out
out:
  ret void
}

; Takes the next block into %slot; false when there is none left.
define internal i1 @dl_take(ptr %launch, ptr %slot, i64 %top) {
entry:
  %p.next = getelementptr i8, ptr %launch, i64 @LAUNCH_NEXT@
  %p.blocks = getelementptr i8, ptr %launch, i64 @LAUNCH_BLOCKS@
  %blocks = load i64, ptr %p.blocks
  %seen = load atomic i64, ptr %p.next monotonic, align 8
  %gone = icmp uge i64 %seen, %blocks
  br i1 %gone, label %no, label %claim
claim:
  %block = atomicrmw add ptr %p.next, i64 1 monotonic
  %past = icmp uge i64 %block, %blocks
  br i1 %past, label %no, label %yes
no:
  ret i1 false
yes:
  call void @dl_open(ptr %launch, ptr %slot, i64 %block, i64 %top)
  %p.done = getelementptr i8, ptr %slot, i64 @SLOT_DONE@
  store i64 0, ptr %p.done
  %table = getelementptr i8, ptr %slot, i64 @SLOT_ARRIVALS@
  call void @llvm.memset.p0.i64(ptr %table, i8 0, i64 128, i1 false)
  %p.units = getelementptr i8, ptr %launch, i64 @LAUNCH_UNITS@
  %units = load i64, ptr %p.units
  %p.stride = getelementptr i8, ptr %launch, i64 @LAUNCH_STATE_STRIDE@
  %stride = load i64, ptr %p.stride
  %p.states = getelementptr i8, ptr %slot, i64 @SLOT_STATES@
  %states = load ptr, ptr %p.states
  br label %clear
clear:
  %u = phi i64 [ 0, %yes ], [ %u.next, %clear ]
  %o = mul i64 %u, %stride
  %state = getelementptr i8, ptr %states, i64 %o
  call void @llvm.memset.p0.i64(ptr %state, i8 0, i64 @STATE_HEAD@, i1 false)
  %u.next = add i64 %u, 1
  %more = icmp ult i64 %u.next, %units
  br i1 %more, label %clear, label %ready
ready:
  ret i1 true
}

; The slot with number %s.
define internal ptr @dl_slot(ptr %launch, i64 %s) alwaysinline {
  %p.base = getelementptr i8, ptr %launch, i64 @LAUNCH_SLOT_BASE@
  %base = load ptr, ptr %p.base
  %p.stride = getelementptr i8, ptr %launch, i64 @LAUNCH_SLOT_STRIDE@
  %stride = load i64, ptr %p.stride
  %o = mul i64 %s, %stride
  %slot = getelementptr i8, ptr %base, i64 %o
  ret ptr %slot
}

; Makes a free slot this worker's; null when there is none.
define internal ptr @dl_free_slot(ptr %launch) {
entry:
  %p.slots = getelementptr i8, ptr %launch, i64 @LAUNCH_SLOTS@
  %slots = load i64, ptr %p.slots
  %p.used = getelementptr i8, ptr %launch, i64 @LAUNCH_USED@
  br label %look
look:
  %s = phi i64 [ 0, %entry ], [ %s.next, %on ]
  %slot = call ptr @dl_slot(ptr %launch, i64 %s)
  %p.busy = getelementptr i8, ptr %slot, i64 @SLOT_BUSY@
  %claim = cmpxchg ptr %p.busy, i64 @FREE_STATUS@, i64 @RUNNING_STATUS@ seq_cst seq_cst
  %won = extractvalue { i64, i1 } %claim, 1
  br i1 %won, label %found, label %on
on:
  %s.next = add i64 %s, 1
  %more = icmp ult i64 %s.next, %slots
  br i1 %more, label %look, label %none
found:
  %count = add i64 %s, 1
  %before = atomicrmw umax ptr %p.used, i64 %count seq_cst
  ret ptr %slot
none:
  ret ptr null
}

; Runs every parked block once; 0: one of them finished, 2: they only spin (or there are none), 3: one failed.
define internal i64 @dl_parked(ptr %launch, i64 %top, ptr %spins) {
entry:
  %p.used = getelementptr i8, ptr %launch, i64 @LAUNCH_USED@
  %used = load atomic i64, ptr %p.used seq_cst, align 8
  %p.parked = getelementptr i8, ptr %launch, i64 @LAUNCH_PARKED@
  %empty = icmp eq i64 %used, 0
  br i1 %empty, label %nothing, label %look
look:
  %s = phi i64 [ 0, %entry ], [ %s.next, %on ]
  %slot = call ptr @dl_slot(ptr %launch, i64 %s)
  %p.busy = getelementptr i8, ptr %slot, i64 @SLOT_BUSY@
  %seen = load atomic i64, ptr %p.busy monotonic, align 8
  %waits = icmp eq i64 %seen, @PARKED_STATUS@
  br i1 %waits, label %try, label %on
try:
  %claim = cmpxchg ptr %p.busy, i64 @PARKED_STATUS@, i64 @RUNNING_STATUS@ seq_cst seq_cst
  %won = extractvalue { i64, i1 } %claim, 1
  br i1 %won, label %run, label %on
run:
  %p.stack = getelementptr i8, ptr %slot, i64 @SLOT_STACK@
  store i64 %top, ptr %p.stack
  %r = call i64 @dl_block(ptr %launch, ptr %slot, ptr %spins)
  switch i64 %r, label %failed [ i64 0, label %finished  i64 2, label %park ]
finished:
  %fewer = atomicrmw sub ptr %p.parked, i64 1 seq_cst
  store atomic i64 @FREE_STATUS@, ptr %p.busy seq_cst, align 8
  ret i64 0
park:
  store atomic i64 @PARKED_STATUS@, ptr %p.busy seq_cst, align 8
  br label %on
on:
  %s.next = add i64 %s, 1
  %more = icmp ult i64 %s.next, %used
  br i1 %more, label %look, label %nothing
nothing:
  ret i64 2
failed:
  ret i64 3
}

; Block after block in one slot. A block that only spins is parked, and from then on any worker that has nothing
; better to do tries it again: which thread runs it does not matter, for all that it has is in its slot. The longer
; everything only spins, the more blocks are opened, and the core is offered to other threads. %spins counts the
; rounds in which this worker found nothing to do; -1 when it is done.
define void @dl_run(ptr %launch, ptr %spins) {
entry:
  %mark = alloca i8
  %idle = alloca i64
  %mine = alloca ptr
  store i64 0, ptr %idle
  store ptr null, ptr %mine
  %top = ptrtoint ptr %mark to i64
  %p.cancel = getelementptr i8, ptr %launch, i64 @LAUNCH_CANCEL@
  %p.parked = getelementptr i8, ptr %launch, i64 @LAUNCH_PARKED@
  br label %pass
pass:
  %cancelled = load atomic i64, ptr %p.cancel monotonic, align 8
  %stop = icmp ne i64 %cancelled, 0
  br i1 %stop, label %done, label %parked
parked:
  %waiting = load atomic i64, ptr %p.parked seq_cst, align 8
  %some = icmp ne i64 %waiting, 0
  br i1 %some, label %retry, label %open
retry:
  %tried = call i64 @dl_parked(ptr %launch, i64 %top, ptr %spins)
  switch i64 %tried, label %done [ i64 0, label %went  i64 2, label %may.open ]
went:
  store i64 0, ptr %idle
  br label %pass
may.open:
  %patience = load i64, ptr %idle
  %earned = lshr i64 %patience, @PATIENCE_SHIFT@
  %may = icmp uge i64 %earned, %waiting
  %first = icmp ule i64 %waiting, 1
  %either = or i1 %may, %first
  br i1 %either, label %open, label %wait
open:
  %old = load ptr, ptr %mine
  %none = icmp eq ptr %old, null
  br i1 %none, label %acquire, label %take
acquire:
  %fresh = call ptr @dl_free_slot(ptr %launch)
  store ptr %fresh, ptr %mine
  %full = icmp eq ptr %fresh, null
  br i1 %full, label %wait, label %take
take:
  %slot = load ptr, ptr %mine
  %got = call i1 @dl_take(ptr %launch, ptr %slot, i64 %top)
  br i1 %got, label %run, label %out
run:
  %r = call i64 @dl_block(ptr %launch, ptr %slot, ptr %spins)
  switch i64 %r, label %done [ i64 0, label %went  i64 2, label %park ]
park:
  store ptr null, ptr %mine
  %more = atomicrmw add ptr %p.parked, i64 1 seq_cst
  %p.busy = getelementptr i8, ptr %slot, i64 @SLOT_BUSY@
  store atomic i64 @PARKED_STATUS@, ptr %p.busy seq_cst, align 8
  br label %wait
out:
  %left = load atomic i64, ptr %p.parked seq_cst, align 8
  %any.left = icmp ne i64 %left, 0
  br i1 %any.left, label %wait, label %done
wait:
  %turns = load atomic i64, ptr %spins monotonic, align 8
  %turns.next = add i64 %turns, 1
  store atomic i64 %turns.next, ptr %spins monotonic, align 8
  %rounds = load i64, ptr %idle
  %longer = add i64 %rounds, 1
  store i64 %longer, ptr %idle
  %long = icmp uge i64 %rounds, @PATIENCE@
  br i1 %long, label %give.way, label %hold
give.way:
  %ignored = call i32 @sched_yield()
  br label %pass
hold:
@PAUSE@
  br label %pass
done:
  store atomic i64 -1, ptr %spins monotonic, align 8
  ret void
}

declare i32 @sched_yield()
declare i64 @llvm.cttz.i64(i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
"""

#: Rounds of nothing but spinning before the core is offered to others, and (as a power of two) before each new block.
_NUMBERS: Final[dict[str, int]] = {
    "STATE_HEAD": 8 * abi.STATE_FRAME, "LAUNCH_BLOCK_Y": 8 * (abi.LAUNCH_BLOCK + 1),
    "PATIENCE": 64, "PATIENCE_SHIFT": 6, "RACE_CELLS": races.BLOCK_BYTES,
    "RACE_CELL_BYTES": races.CELL_BYTES,
}  # fmt: skip
_NAME: Final = re.compile(r"@([A-Z][A-Z_]*)@")


def support(x86: bool) -> str:
    """The LLVM IR of what every kernel shares: fault reports, checks, and the scheduler of kernels that stop."""
    pause = "  call void @llvm.x86.sse2.pause()" if x86 else "  fence seq_cst"
    declared = "declare void @llvm.x86.sse2.pause()\n" if x86 else ""
    return filled(_REPORTS + races.native() + _OPEN + _RESUMABLE.replace("@PAUSE@", pause) + declared)


def straight() -> str:
    """The LLVM IR of the scheduler around a ``@kernel`` that never stops."""
    return filled(_OPEN + _STRAIGHT)


def filled(text: str) -> str:
    """``text`` with ``@NAME@`` replaced by the byte offset of a word of ``abi``, or by the value of a constant."""

    def value(match: re.Match[str]) -> str:
        name = match.group(1)
        if name in _NUMBERS:
            return str(_NUMBERS[name])
        if name in vars(abi):
            return str(8 * int(vars(abi)[name]))
        return str(vars(abi)[name.rpartition("_")[0]])  # X_CODE, X_STATUS, X_KIND: a value, no place

    return _NAME.sub(value, text)
