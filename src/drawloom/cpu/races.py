"""Data races of one launch: LLVM IR that knows who read and wrote each word last, and what orders it.

A launch that looks for races runs on one worker, and everything that orders accesses (a barrier, a warp operation, a
fence, a release) gets a number, the time. An access is ordered before a thread's next one when the thread knows of it:

    row of a warp        the time up to which it knows the accesses of each warp of its block, and of everybody (KNOWN)
    row of a thread      ... of each thread of its warp
    cell of a word       who wrote it last, two that read it since, what the last strong write released, what it wrote

What a warp learns from a release it knows of everybody up to that time: so blocks that hand work to each other are not
reported, and races between others at that time may be missed. Strong accesses do not race with each other, nor do
writes of the same value (see ``reference/races.py``). Shared memory's cells belong to the block whose number they have.
"""

from __future__ import annotations

import re
from typing import Final

#: What an access does, as ``dl_check`` is told.
WRITES: Final = 1
STRONG: Final = 2
ACQUIRES: Final = 4
RELEASES: Final = 8
READS: Final = 16

#: Bytes of the cell of 4 bytes of memory.
CELL_BYTES: Final = 64
_WORD_BYTES: Final = 4
_WARPS: Final = 32
_THREADS: Final = 1024
_ROW_BYTES: Final = 256
_ARRIVALS: Final = 64 + _WARPS * _ROW_BYTES
_LANES: Final = _ARRIVALS + 16 * _ROW_BYTES
#: Bytes of the rows of one block; the cells of its shared memory follow.
BLOCK_BYTES: Final = _LANES + _THREADS * 128


def cell_bytes(begin: int, size: int) -> int:
    """The bytes of the cells of ``size`` bytes of memory at ``begin``."""
    return ((begin + size - 1) // _WORD_BYTES - begin // _WORD_BYTES + 1) * CELL_BYTES if size else 0


_NUMBERS: Final[dict[str, int]] = {
    "ROWS": 64, "ROW": _ROW_BYTES, "ARRIVALS": _ARRIVALS, "LANES": _LANES, "CELLS": BLOCK_BYTES,
    "KNOWN": 128, "FENCED": 132, "PENDING": 136,
    "WRITES": WRITES, "STRONG": STRONG, "ACQUIRES": ACQUIRES, "RELEASES": RELEASES, "READS": READS,
    "R_TIME": 4, "R_POS": 8, "R_THREAD": 12, "R_FLAGS": 14, "C_FIRST": 16, "C_SECOND": 32, "C_RELEASED": 48,
    "C_VALUE": 52,
}  # fmt: skip

_TEXT: Final = """
; The rows of the block in %slot, all 0 when it begins; null where nobody looks for races.
define internal ptr @dl_clocks(ptr %launch, ptr %slot) {
entry:
  %p.races = getelementptr i8, ptr %launch, i64 @LAUNCH_RACES@
  %races = load ptr, ptr %p.races
  %off = icmp eq ptr %races, null
  br i1 %off, label %none, label %find
none:
  ret ptr null
find:
  %p.base = getelementptr i8, ptr %launch, i64 @LAUNCH_SLOT_BASE@
  %base = load i64, ptr %p.base
  %p.stride = getelementptr i8, ptr %launch, i64 @LAUNCH_SLOT_STRIDE@
  %stride = load i64, ptr %p.stride
  %here = ptrtoint ptr %slot to i64
  %distance = sub i64 %here, %base
  %number = udiv i64 %distance, %stride
  %p.bytes = getelementptr i8, ptr %launch, i64 @LAUNCH_RACES_STRIDE@
  %bytes = load i64, ptr %p.bytes
  %offset = mul i64 %number, %bytes
  %clocks = getelementptr i8, ptr %races, i64 %offset
  %p.block = getelementptr i8, ptr %slot, i64 @SLOT_BLOCK@
  %block = load i64, ptr %p.block
  %tag = add i64 %block, 1
  %seen = load i64, ptr %clocks
  %same = icmp eq i64 %seen, %tag
  br i1 %same, label %known, label %fresh
fresh:
  %p.threads = getelementptr i8, ptr %launch, i64 @LAUNCH_THREADS@
  %threads = load i64, ptr %p.threads
  %lanes = mul i64 %threads, 128
  %all = add i64 %lanes, #LANES#
  call void @llvm.memset.p0.i64(ptr %clocks, i8 0, i64 %all, i1 false)
  store i64 %tag, ptr %clocks
  br label %known
known:
  ret ptr %clocks
}

; The time, which goes on.
define internal i32 @dl_tick(ptr %launch) {
  %p.time = getelementptr i8, ptr %launch, i64 @LAUNCH_TIME@
  %time = load i64, ptr %p.time
  %next = add i64 %time, 1
  store i64 %next, ptr %p.time
  %now = trunc i64 %time to i32
  ret i32 %now
}

define internal ptr @dl_row(ptr %clocks, i64 %warp) alwaysinline {
  %offset = mul i64 %warp, #ROW#
  %rows = getelementptr i8, ptr %clocks, i64 #ROWS#
  %row = getelementptr i8, ptr %rows, i64 %offset
  ret ptr %row
}

define internal ptr @dl_lane_row(ptr %clocks, i64 %thread) alwaysinline {
  %offset = mul i64 %thread, 128
  %rows = getelementptr i8, ptr %clocks, i64 #LANES#
  %row = getelementptr i8, ptr %rows, i64 %offset
  ret ptr %row
}

define internal void @dl_raise(ptr %place, i32 %time) alwaysinline {
  %old = load i32, ptr %place
  %new = call i32 @llvm.umax.i32(i32 %old, i32 %time)
  store i32 %new, ptr %place
  ret void
}

; Whether the access of %record is over before what %thread of block %tag does now.
define internal i1 @dl_ordered(ptr %record, ptr %clocks, i64 %thread, i32 %tag, i1 %shared) {
entry:
  %block = load i32, ptr %record
  %p.time = getelementptr i8, ptr %record, i64 #R_TIME#
  %time = load i32, ptr %p.time
  %warp = lshr i64 %thread, 5
  %row = call ptr @dl_row(ptr %clocks, i64 %warp)
  %p.known = getelementptr i8, ptr %row, i64 #KNOWN#
  %known = load i32, ptr %p.known
  %learnt = icmp ule i32 %time, %known
  %mine = icmp eq i32 %block, %tag
  br i1 %mine, label %inside, label %foreign
foreign:
  %past = or i1 %learnt, %shared
  ret i1 %past
inside:
  %p.who = getelementptr i8, ptr %record, i64 #R_THREAD#
  %who16 = load i16, ptr %p.who
  %who = zext i16 %who16 to i64
  %self = icmp eq i64 %who, %thread
  %early = or i1 %learnt, %self
  br i1 %early, label %yes, label %compare
yes:
  ret i1 true
compare:
  %other = lshr i64 %who, 5
  %neighbour = icmp eq i64 %other, %warp
  %lane = and i64 %who, 31
  %lanes = call ptr @dl_lane_row(ptr %clocks, i64 %thread)
  %column = select i1 %neighbour, i64 %lane, i64 %other
  %from = select i1 %neighbour, ptr %lanes, ptr %row
  %p.upto = getelementptr i32, ptr %from, i64 %column
  %upto = load i32, ptr %p.upto
  %before = icmp ule i32 %time, %upto
  ret i1 %before
}

; Whether the access of %record and this one race.
define internal i1 @dl_conflicts(ptr %record, ptr %clocks, i64 %thread, i32 %tag, i1 %shared, i32 %flags) {
entry:
  %p.flags = getelementptr i8, ptr %record, i64 #R_FLAGS#
  %theirs16 = load i16, ptr %p.flags
  %theirs = zext i16 %theirs16 to i32
  %both = and i32 %theirs, %flags
  %bytes = and i32 %both, 15
  %apart = icmp eq i32 %bytes, 0
  %strong = and i32 %both, 16
  %synchronises = icmp ne i32 %strong, 0
  %fine = or i1 %apart, %synchronises
  br i1 %fine, label %no, label %look
no:
  ret i1 false
look:
  %ordered = call i1 @dl_ordered(ptr %record, ptr %clocks, i64 %thread, i32 %tag, i1 %shared)
  %races = xor i1 %ordered, true
  ret i1 %races
}

; Puts an access into %record; one of the same thread at the same time is joined with what stands there.
define internal void @dl_note(ptr %launch, ptr %record, i32 %tag, i64 %thread, i32 %flags, i64 %pos) {
entry:
  %p.now = getelementptr i8, ptr %launch, i64 @LAUNCH_TIME@
  %now64 = load i64, ptr %p.now
  %now = trunc i64 %now64 to i32
  %block = load i32, ptr %record
  %p.time = getelementptr i8, ptr %record, i64 #R_TIME#
  %time = load i32, ptr %p.time
  %p.pos = getelementptr i8, ptr %record, i64 #R_POS#
  %p.who = getelementptr i8, ptr %record, i64 #R_THREAD#
  %who = load i16, ptr %p.who
  %p.flags = getelementptr i8, ptr %record, i64 #R_FLAGS#
  %old16 = load i16, ptr %p.flags
  %old = zext i16 %old16 to i32
  %me = trunc i64 %thread to i16
  %same.block = icmp eq i32 %block, %tag
  %same.time = icmp eq i32 %time, %now
  %same.thread = icmp eq i16 %who, %me
  %same.0 = and i1 %same.block, %same.time
  %same = and i1 %same.0, %same.thread
  %either = or i32 %old, %flags
  %bytes = and i32 %either, 15
  %both = and i32 %old, %flags
  %rest = and i32 %both, 48
  %joined = or i32 %bytes, %rest
  %new = select i1 %same, i32 %joined, i32 %flags
  %new16 = trunc i32 %new to i16
  %pos32 = trunc i64 %pos to i32
  store i32 %tag, ptr %record
  store i32 %now, ptr %p.time
  store i32 %pos32, ptr %p.pos
  store i16 %me, ptr %p.who
  store i16 %new16, ptr %p.flags
  ret void
}

define internal i32 @dl_bits(i32 %bytes) alwaysinline {
  %four = and i32 %bytes, 15
  %spread = mul i32 %four, 2113665
  %ones = and i32 %spread, 16843009
  %bits = mul i32 %ones, 255
  ret i32 %bits
}

; An access to one word. 0: fine; 1: it races with the last write; 2, 3: with a read.
define internal i32 @dl_touch_word(ptr %launch, ptr %clocks, ptr %cell, i64 %thread, i32 %tag, i1 %shared, i32 %flags,
                                   i1 %writes, i32 %value, i64 %pos) {
entry:
  %p.value = getelementptr i8, ptr %cell, i64 #C_VALUE#
  %written = load i32, ptr %p.value
  %first = getelementptr i8, ptr %cell, i64 #C_FIRST#
  %second = getelementptr i8, ptr %cell, i64 #C_SECOND#
  %mine = call i32 @dl_bits(i32 %flags)
  %after.write = call i1 @dl_conflicts(ptr %cell, ptr %clocks, i64 %thread, i32 %tag, i1 %shared, i32 %flags)
  br i1 %after.write, label %clash, label %go
clash:
  %p.flags = getelementptr i8, ptr %cell, i64 #R_FLAGS#
  %theirs16 = load i16, ptr %p.flags
  %theirs = zext i16 %theirs16 to i32
  %both = and i32 %theirs, %flags
  %overlap = call i32 @dl_bits(i32 %both)
  %difference = xor i32 %written, %value
  %visible = and i32 %difference, %overlap
  %equal = icmp eq i32 %visible, 0
  %has = and i32 %both, 32
  %valued = icmp ne i32 %has, 0
  %alike.0 = and i1 %equal, %valued
  %alike = and i1 %alike.0, %writes
  br i1 %alike, label %go, label %with.write
with.write:
  ret i32 1
go:
  br i1 %writes, label %write, label %read
write:
  %after.first = call i1 @dl_conflicts(ptr %first, ptr %clocks, i64 %thread, i32 %tag, i1 %shared, i32 %flags)
  br i1 %after.first, label %with.first, label %write.on
with.first:
  ret i32 2
write.on:
  %after.second = call i1 @dl_conflicts(ptr %second, ptr %clocks, i64 %thread, i32 %tag, i1 %shared, i32 %flags)
  br i1 %after.second, label %with.second, label %written.now
with.second:
  ret i32 3
written.now:
  call void @llvm.memset.p0.i64(ptr %first, i8 0, i64 32, i1 false)
  call void @dl_note(ptr %launch, ptr %cell, i32 %tag, i64 %thread, i32 %flags, i64 %pos)
  %others = xor i32 %mine, -1
  %kept = and i32 %written, %others
  %fresh = and i32 %value, %mine
  %merged = or i32 %kept, %fresh
  store i32 %merged, ptr %p.value
  ret i32 0
read:
  %over.first = call i1 @dl_ordered(ptr %first, ptr %clocks, i64 %thread, i32 %tag, i1 %shared)
  br i1 %over.first, label %in.first, label %try.second
in.first:
  call void @dl_note(ptr %launch, ptr %first, i32 %tag, i64 %thread, i32 %flags, i64 %pos)
  ret i32 0
try.second:
  %over.second = call i1 @dl_ordered(ptr %second, ptr %clocks, i64 %thread, i32 %tag, i1 %shared)
  %block.1 = load i32, ptr %first
  %block.2 = load i32, ptr %second
  %p.who.1 = getelementptr i8, ptr %first, i64 #R_THREAD#
  %who.1 = load i16, ptr %p.who.1
  %p.who.2 = getelementptr i8, ptr %second, i64 #R_THREAD#
  %who.2 = load i16, ptr %p.who.2
  %warp.1 = lshr i16 %who.1, 5
  %warp.2 = lshr i16 %who.2, 5
  %me = trunc i64 %thread to i16
  %warp.me = lshr i16 %me, 5
  %one.block = icmp eq i32 %block.1, %block.2
  %new.block = icmp ne i32 %block.1, %tag
  %one.warp = icmp eq i16 %warp.1, %warp.2
  %new.warp = icmp ne i16 %warp.1, %warp.me
  %other.warp = and i1 %one.warp, %new.warp
  %farther = or i1 %new.block, %other.warp
  %better = and i1 %one.block, %farther
  %take = or i1 %over.second, %better
  br i1 %take, label %in.second, label %done
in.second:
  call void @dl_note(ptr %launch, ptr %second, i32 %tag, i64 %thread, i32 %flags, i64 %pos)
  ret i32 0
done:
  ret i32 0
}

; An access of one thread to [address, address + size), whose words' cells begin at %cells: 1 for a race, which is
; reported. %value: what is written, or null.
define internal i32 @dl_touch(ptr %launch, ptr %slot, ptr %clocks, i64 %first, i32 %lane, i64 %address, i64 %size,
                              ptr %cells, i32 %kind, ptr %value, i1 %shared, i64 %pos) {
entry:
  %lane64 = zext i32 %lane to i64
  %thread = add i64 %first, %lane64
  %warp = lshr i64 %thread, 5
  %row = call ptr @dl_row(ptr %clocks, i64 %warp)
  %p.known = getelementptr i8, ptr %row, i64 #KNOWN#
  %p.fenced = getelementptr i8, ptr %row, i64 #FENCED#
  %p.pending = getelementptr i8, ptr %row, i64 #PENDING#
  %tag64 = load i64, ptr %clocks
  %tag = trunc i64 %tag64 to i32
  %k.writes = and i32 %kind, #WRITES#
  %writes = icmp ne i32 %k.writes, 0
  %k.strong = and i32 %kind, #STRONG#
  %strong = icmp ne i32 %k.strong, 0
  %k.reads = and i32 %kind, #READS#
  %reads = icmp ne i32 %k.reads, 0
  %k.acquires = and i32 %kind, #ACQUIRES#
  %acquires = icmp ne i32 %k.acquires, 0
  %k.releases = and i32 %kind, #RELEASES#
  %releases = icmp ne i32 %k.releases, 0
  %observes = and i1 %strong, %reads
  %publishes = and i1 %strong, %writes
  %has.value = icmp ne ptr %value, null
  %f.strong = select i1 %strong, i32 16, i32 0
  %f.value = select i1 %has.value, i32 32, i32 0
  %f.rest = or i32 %f.strong, %f.value
  br label %word
word:
  %done = phi i64 [ 0, %entry ], [ %done.next, %next ]
  %cell = phi ptr [ %cells, %entry ], [ %cell.next, %next ]
  %at = add i64 %address, %done
  %within = and i64 %at, 3
  %room = sub i64 4, %within
  %left = sub i64 %size, %done
  %count = call i64 @llvm.umin.i64(i64 %room, i64 %left)
  %count32 = trunc i64 %count to i32
  %within32 = trunc i64 %within to i32
  %power = shl i32 1, %count32
  %low = sub i32 %power, 1
  %bytes = shl i32 %low, %within32
  %flags = or i32 %f.rest, %bytes
  br i1 %has.value, label %fetch, label %ready
fetch:
  %p.given = getelementptr i8, ptr %value, i64 %done
  switch i64 %count, label %four [ i64 1, label %one  i64 2, label %two ]
one:
  %v1 = load i8, ptr %p.given
  %w1 = zext i8 %v1 to i32
  br label %fetched
two:
  %v2 = load i16, ptr %p.given, align 1
  %w2 = zext i16 %v2 to i32
  br label %fetched
four:
  %w4 = load i32, ptr %p.given, align 1
  br label %fetched
fetched:
  %raw = phi i32 [ %w1, %one ], [ %w2, %two ], [ %w4, %four ]
  %shift = shl i32 %within32, 3
  %placed = shl i32 %raw, %shift
  br label %ready
ready:
  %word.value = phi i32 [ 0, %word ], [ %placed, %fetched ]
  %p.released = getelementptr i8, ptr %cell, i64 #C_RELEASED#
  %released = load i32, ptr %p.released
  br i1 %observes, label %observe, label %touch
observe:
  call void @dl_raise(ptr %p.pending, i32 %released)
  br i1 %acquires, label %acquire, label %touch
acquire:
  call void @dl_raise(ptr %p.known, i32 %released)
  br label %touch
touch:
  %race = call i32 @dl_touch_word(ptr %launch, ptr %clocks, ptr %cell, i64 %thread, i32 %tag, i1 %shared, i32 %flags,
                                  i1 %writes, i32 %word.value, i64 %pos)
  %clean = icmp eq i32 %race, 0
  br i1 %clean, label %published, label %report
published:
  br i1 %publishes, label %publish, label %next
publish:
  br i1 %releases, label %release, label %relax
release:
  %tick = call i32 @dl_tick(ptr %launch)
  br label %put
relax:
  %fenced = load i32, ptr %p.fenced
  br label %put
put:
  %known.then = phi i32 [ %tick, %release ], [ %fenced, %relax ]
  %continued = select i1 %reads, i32 %released, i32 0
  %total = call i32 @llvm.umax.i32(i32 %known.then, i32 %continued)
  store i32 %total, ptr %p.released
  br label %next
next:
  %done.next = add i64 %done, %count
  %cell.next = getelementptr i8, ptr %cell, i64 64
  %more = icmp ult i64 %done.next, %size
  br i1 %more, label %word, label %fine
fine:
  ret i32 0
report:
  %p.error = getelementptr i8, ptr %launch, i64 @LAUNCH_ERROR@
  %claimed = load atomic i64, ptr %p.error seq_cst, align 8
  %free = icmp eq i64 %claimed, 0
  br i1 %free, label %describe, label %stop
describe:
  %which = sub i32 %race, 1
  %which64 = zext i32 %which to i64
  %o.record = mul i64 %which64, 16
  %record = getelementptr i8, ptr %cell, i64 %o.record
  %o.block = load i32, ptr %record
  %o.block0 = sub i32 %o.block, 1
  %o.block64 = zext i32 %o.block0 to i64
  %p.oblock = getelementptr i8, ptr %launch, i64 @LAUNCH_OTHER_BLOCK@
  store i64 %o.block64, ptr %p.oblock
  %p.rpos = getelementptr i8, ptr %record, i64 #R_POS#
  %o.pos = load i32, ptr %p.rpos
  %o.pos64 = zext i32 %o.pos to i64
  %p.opos = getelementptr i8, ptr %launch, i64 @LAUNCH_OTHER_POS@
  store i64 %o.pos64, ptr %p.opos
  %p.rwho = getelementptr i8, ptr %record, i64 #R_THREAD#
  %o.who = load i16, ptr %p.rwho
  %o.who64 = zext i16 %o.who to i64
  %p.othread = getelementptr i8, ptr %launch, i64 @LAUNCH_OTHER_THREAD@
  store i64 %o.who64, ptr %p.othread
  %then.wrote = icmp eq i32 %race, 1
  %d.now = select i1 %writes, i64 1, i64 0
  %d.then = select i1 %then.wrote, i64 2, i64 0
  %d.shared = select i1 %shared, i64 4, i64 0
  %d.both = or i64 %d.now, %d.then
  %d.all = or i64 %d.both, %d.shared
  %p.access = getelementptr i8, ptr %launch, i64 @LAUNCH_OTHER_ACCESS@
  store i64 %d.all, ptr %p.access
  %p.shared = getelementptr i8, ptr %slot, i64 @SLOT_SHARED@
  %shared.begin = load i64, ptr %p.shared
  %begin = select i1 %shared, i64 %shared.begin, i64 0
  %place = sub i64 %at, %begin
  %p.address = getelementptr i8, ptr %launch, i64 @LAUNCH_ERROR_ADDRESS@
  store i64 %place, ptr %p.address
  %p.size = getelementptr i8, ptr %launch, i64 @LAUNCH_ERROR_SIZE@
  store i64 %count, ptr %p.size
  br label %stop
stop:
  call void @dl_fail(ptr %launch, ptr %slot, i64 %first, i64 @ERROR_RACE_CODE@, i64 %pos, i32 %lane)
  ret i32 1
}

; A fence of lanes of the warp of thread %first.
define void @dl_race_fence(ptr %launch, ptr %slot, i64 %first) {
entry:
  %clocks = call ptr @dl_clocks(ptr %launch, ptr %slot)
  %off = icmp eq ptr %clocks, null
  br i1 %off, label %out, label %on
on:
  %warp = lshr i64 %first, 5
  %row = call ptr @dl_row(ptr %clocks, i64 %warp)
  %p.pending = getelementptr i8, ptr %row, i64 #PENDING#
  %pending = load i32, ptr %p.pending
  %p.known = getelementptr i8, ptr %row, i64 #KNOWN#
  call void @dl_raise(ptr %p.known, i32 %pending)
  %now = call i32 @dl_tick(ptr %launch)
  %p.fenced = getelementptr i8, ptr %row, i64 #FENCED#
  store i32 %now, ptr %p.fenced
  br label %out
out:
  ret void
}

; Lanes of the warp of thread %first meet: each then knows what all did.
define void @dl_race_warp(ptr %launch, ptr %slot, i64 %first, i32 %lanes) {
entry:
  %joined = alloca [32 x i32], align 16
  %clocks = call ptr @dl_clocks(ptr %launch, ptr %slot)
  %off = icmp eq ptr %clocks, null
  br i1 %off, label %out, label %on
on:
  call void @llvm.memset.p0.i64(ptr %joined, i8 0, i64 128, i1 false)
  %now = call i32 @dl_tick(ptr %launch)
  br label %gather
gather:
  %left = phi i32 [ %lanes, %on ], [ %left.next, %gathered ]
  %none = icmp eq i32 %left, 0
  br i1 %none, label %hand, label %lane
lane:
  %n = call i32 @llvm.cttz.i32(i32 %left, i1 true)
  %minus = sub i32 %left, 1
  %left.next = and i32 %left, %minus
  %n64 = zext i32 %n to i64
  %thread = add i64 %first, %n64
  %row = call ptr @dl_lane_row(ptr %clocks, i64 %thread)
  br label %column
column:
  %c = phi i64 [ 0, %lane ], [ %c.next, %column ]
  %p.theirs = getelementptr i32, ptr %row, i64 %c
  %theirs = load i32, ptr %p.theirs
  %p.all = getelementptr i32, ptr %joined, i64 %c
  call void @dl_raise(ptr %p.all, i32 %theirs)
  %c.next = add i64 %c, 1
  %c.more = icmp ult i64 %c.next, 32
  br i1 %c.more, label %column, label %gathered
gathered:
  %p.own = getelementptr i32, ptr %joined, i64 %n64
  store i32 %now, ptr %p.own
  br label %gather
hand:
  %rest = phi i32 [ %lanes, %gather ], [ %rest.next, %give ]
  %over = icmp eq i32 %rest, 0
  br i1 %over, label %out, label %give
give:
  %m = call i32 @llvm.cttz.i32(i32 %rest, i1 true)
  %rest.minus = sub i32 %rest, 1
  %rest.next = and i32 %rest, %rest.minus
  %m64 = zext i32 %m to i64
  %to = add i64 %first, %m64
  %to.row = call ptr @dl_lane_row(ptr %clocks, i64 %to)
  call void @llvm.memcpy.p0.p0.i64(ptr %to.row, ptr %joined, i64 128, i1 false)
  br label %hand
out:
  ret void
}

; Thread %thread comes to a warp operation (%members 0), or goes on behind it: then all of %members had come.
define void @dl_race_thread(ptr %launch, ptr %slot, i64 %thread, i32 %members) {
entry:
  %clocks = call ptr @dl_clocks(ptr %launch, ptr %slot)
  %off = icmp eq ptr %clocks, null
  br i1 %off, label %out, label %on
on:
  %mine = call ptr @dl_lane_row(ptr %clocks, i64 %thread)
  %warp = and i64 %thread, -32
  %comes = icmp eq i32 %members, 0
  br i1 %comes, label %come, label %gather
come:
  %lane = and i64 %thread, 31
  %now = call i32 @dl_tick(ptr %launch)
  %p.own = getelementptr i32, ptr %mine, i64 %lane
  store i32 %now, ptr %p.own
  br label %out
gather:
  %left = phi i32 [ %members, %on ], [ %left.next, %gathered ]
  %none = icmp eq i32 %left, 0
  br i1 %none, label %out, label %member
member:
  %n = call i32 @llvm.cttz.i32(i32 %left, i1 true)
  %minus = sub i32 %left, 1
  %left.next = and i32 %left, %minus
  %n64 = zext i32 %n to i64
  %other = add i64 %warp, %n64
  %row = call ptr @dl_lane_row(ptr %clocks, i64 %other)
  br label %column
column:
  %c = phi i64 [ 0, %member ], [ %c.next, %column ]
  %p.theirs = getelementptr i32, ptr %row, i64 %c
  %theirs = load i32, ptr %p.theirs
  %p.mine = getelementptr i32, ptr %mine, i64 %c
  call void @dl_raise(ptr %p.mine, i32 %theirs)
  %c.next = add i64 %c, 1
  %c.more = icmp ult i64 %c.next, 32
  br i1 %c.more, label %column, label %gathered
gathered:
  br label %gather
out:
  ret void
}

; The unit with number %unit says that it has come to barrier %bar, and does not wait.
define internal void @dl_race_arrive(ptr %launch, ptr %slot, i64 %unit, i64 %bar) {
entry:
  %clocks = call ptr @dl_clocks(ptr %launch, ptr %slot)
  %off = icmp eq ptr %clocks, null
  br i1 %off, label %out, label %on
on:
  %warp = call i64 @dl_warp_of(ptr %launch, i64 %unit)
  %row = call ptr @dl_row(ptr %clocks, i64 %warp)
  %to = call ptr @dl_arrivals(ptr %clocks, i64 %bar)
  call void @dl_raise_row(ptr %to, ptr %row)
  %now = call i32 @dl_tick(ptr %launch)
  %p.own = getelementptr i32, ptr %to, i64 %warp
  store i32 %now, ptr %p.own
  br label %out
out:
  ret void
}

; The units that wait at barrier %bar go on: each then knows what they all did, and those that only arrived.
define internal void @dl_race_barrier(ptr %launch, ptr %slot, i64 %bar) {
entry:
  %joined = alloca [64 x i32], align 16
  %clocks = call ptr @dl_clocks(ptr %launch, ptr %slot)
  %off = icmp eq ptr %clocks, null
  br i1 %off, label %out, label %on
on:
  %arrivals = call ptr @dl_arrivals(ptr %clocks, i64 %bar)
  call void @llvm.memcpy.p0.p0.i64(ptr %joined, ptr %arrivals, i64 #ROW#, i1 false)
  call void @llvm.memset.p0.i64(ptr %arrivals, i8 0, i64 #ROW#, i1 false)
  %now = call i32 @dl_tick(ptr %launch)
  %p.units = getelementptr i8, ptr %launch, i64 @LAUNCH_UNITS@
  %units = load i64, ptr %p.units
  br label %gather
gather:
  %u = phi i64 [ 0, %on ], [ %u.next, %gathered ]
  %here = call i1 @dl_waits(ptr %launch, ptr %slot, i64 %u, i64 %bar)
  br i1 %here, label %add, label %gathered
add:
  %warp = call i64 @dl_warp_of(ptr %launch, i64 %u)
  %row = call ptr @dl_row(ptr %clocks, i64 %warp)
  call void @dl_raise_row(ptr %joined, ptr %row)
  %p.own = getelementptr i32, ptr %joined, i64 %warp
  store i32 %now, ptr %p.own
  br label %gathered
gathered:
  %u.next = add i64 %u, 1
  %more = icmp ult i64 %u.next, %units
  br i1 %more, label %gather, label %hand
hand:
  %v = phi i64 [ 0, %gathered ], [ %v.next, %handed ]
  %there = call i1 @dl_waits(ptr %launch, ptr %slot, i64 %v, i64 %bar)
  br i1 %there, label %give, label %handed
give:
  %to = call i64 @dl_warp_of(ptr %launch, i64 %v)
  %to.row = call ptr @dl_row(ptr %clocks, i64 %to)
  %p.pending = getelementptr i8, ptr %to.row, i64 #PENDING#
  %pending = load i32, ptr %p.pending
  call void @llvm.memcpy.p0.p0.i64(ptr %to.row, ptr %joined, i64 #ROW#, i1 false)
  store i32 %pending, ptr %p.pending
  %p.lanes = getelementptr i8, ptr %launch, i64 @LAUNCH_LANES@
  %lanes = load i64, ptr %p.lanes
  %first = mul i64 %v, %lanes
  br label %lane
lane:
  %l = phi i64 [ 0, %give ], [ %l.next, %lane.done ]
  %thread = add i64 %first, %l
  %lane.row = call ptr @dl_lane_row(ptr %clocks, i64 %thread)
  br label %column
column:
  %c = phi i64 [ 0, %lane ], [ %c.next, %column ]
  %p.known = getelementptr i32, ptr %lane.row, i64 %c
  store i32 %now, ptr %p.known
  %c.next = add i64 %c, 1
  %c.more = icmp ult i64 %c.next, 32
  br i1 %c.more, label %column, label %lane.done
lane.done:
  %l.next = add i64 %l, 1
  %l.more = icmp ult i64 %l.next, %lanes
  br i1 %l.more, label %lane, label %handed
handed:
  %v.next = add i64 %v, 1
  %v.more = icmp ult i64 %v.next, %units
  br i1 %v.more, label %hand, label %out
out:
  ret void
}

define internal i64 @dl_warp_of(ptr %launch, i64 %unit) alwaysinline {
  %p.lanes = getelementptr i8, ptr %launch, i64 @LAUNCH_LANES@
  %lanes = load i64, ptr %p.lanes
  %thread = mul i64 %unit, %lanes
  %warp = lshr i64 %thread, 5
  ret i64 %warp
}

define internal ptr @dl_arrivals(ptr %clocks, i64 %bar) alwaysinline {
  %offset = mul i64 %bar, #ROW#
  %rows = getelementptr i8, ptr %clocks, i64 #ARRIVALS#
  %row = getelementptr i8, ptr %rows, i64 %offset
  ret ptr %row
}

; Raises each number of %to to that of %from, what a warp has only observed left out.
define internal void @dl_raise_row(ptr %to, ptr %from) {
entry:
  br label %column
column:
  %c = phi i64 [ 0, %entry ], [ %c.next, %column ]
  %p.to = getelementptr i32, ptr %to, i64 %c
  %p.from = getelementptr i32, ptr %from, i64 %c
  %value = load i32, ptr %p.from
  call void @dl_raise(ptr %p.to, i32 %value)
  %c.next = add i64 %c, 1
  %more = icmp ult i64 %c.next, 34
  br i1 %more, label %column, label %out
out:
  ret void
}

; Whether a unit waits at barrier %bar.
define internal i1 @dl_waits(ptr %launch, ptr %slot, i64 %unit, i64 %bar) {
  %p.stride = getelementptr i8, ptr %launch, i64 @LAUNCH_STATE_STRIDE@
  %stride = load i64, ptr %p.stride
  %p.states = getelementptr i8, ptr %slot, i64 @SLOT_STATES@
  %states = load ptr, ptr %p.states
  %o = mul i64 %unit, %stride
  %state = getelementptr i8, ptr %states, i64 %o
  %p.status = getelementptr i8, ptr %state, i64 @STATE_STATUS@
  %status = load i64, ptr %p.status
  %waits = icmp eq i64 %status, @AT_BARRIER_STATUS@
  %p.id = getelementptr i8, ptr %state, i64 @STATE_BARRIER@
  %id = load i64, ptr %p.id
  %same = icmp eq i64 %id, %bar
  %both = and i1 %waits, %same
  ret i1 %both
}

declare i32 @llvm.umax.i32(i32, i32)
declare i64 @llvm.umin.i64(i64, i64)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
"""

_NAME: Final = re.compile(r"#([A-Z_]+)#")


def native() -> str:
    """The LLVM IR of all this, with the names of ``abi`` still to be filled in."""
    return _NAME.sub(lambda match: str(_NUMBERS[match.group(1)]), _TEXT)
