"""Threads that share a range of groups by machine code, so that two cores are worth it from some microseconds on.

The calling thread writes a *job* of several parts, opens the job and takes parts. Helpers that find the job join and
take parts, too. When no part is left, the caller closes the job and waits for those who joined, but for nobody else. So
a helper that wakes up late holds nobody up. No step takes the interpreter lock. A helper without a job looks for one
for two milliseconds, as calls often follow each other, before sleep.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, NamedTuple

from drawloom.build_info import VERSION
from drawloom.cpu.engine import Loaded, host, object_code
from drawloom.runtime.cache import cache_key, kernel_store
from drawloom.threads import start

#: Bytes of a word, in which jobs and arguments are written, and of a cache line.
WORD: Final = 8
LINE: Final = 64
#: Words of a job. The first three change while the job is open: a count of who joined, which is at least CLOSED while
#: the job is closed, of who left, and of the parts that were taken. The others lie in cache lines of their own.
JOINED, LEFT, TAKEN = 0, 1, 2
ENTRY, FIRST, STEPS, STEP, PARTS, HELPERS, ARGUMENTS = 8, 9, 10, 11, 12, 13, 14
CLOSED: Final = 1 << 32
#: How `struct` writes the words from ENTRY to HELPERS.
JOB_FORMAT: Final = "=Qqqqqq"
#: Jobs that helpers can find at one time; callers beyond them work alone.
SLOTS: Final = 8
#: Arguments that a job has room for.
MOST_ARGUMENTS: Final = 64
#: How long a helper looks for the next job, and a caller for the last part before the caller yields the core.
LINGER_SECONDS: Final = 2e-3
PATIENCE_SECONDS: Final = 20e-6
#: Turns of a helper after which other threads may have the core, a power of 2.
POLITE: Final = 64
#: Turns of a helper that looks for a job, timed to find how many take so long.
PROBED: Final = 500
#: Parts for each thread, so that a thread that was held up leaves its share to the others.
PARTS_EACH: Final = 8

#: A hint that a loop waits, by the beginning of LLVM's triple: a declaration and the call's arguments.
PAUSES: Final = {
    "x86_64": ("declare void @llvm.x86.sse2.pause()", "call void @llvm.x86.sse2.pause()"),
    "aarch64": ("declare void @llvm.aarch64.hint(i32)", "call void @llvm.aarch64.hint(i32 1)"),
}

TEXT: Final = f"""
define internal void @take_parts(ptr %job) nounwind {{
start:
  %taken = getelementptr i64, ptr %job, i64 {TAKEN}
  %entry.at = getelementptr i64, ptr %job, i64 {ENTRY}
  %first.at = getelementptr i64, ptr %job, i64 {FIRST}
  %steps.at = getelementptr i64, ptr %job, i64 {STEPS}
  %step.at = getelementptr i64, ptr %job, i64 {STEP}
  %parts.at = getelementptr i64, ptr %job, i64 {PARTS}
  %arguments = getelementptr i64, ptr %job, i64 {ARGUMENTS}
  %entry = load ptr, ptr %entry.at
  %first = load i64, ptr %first.at
  %steps = load i64, ptr %steps.at
  %step = load i64, ptr %step.at
  %parts = load i64, ptr %parts.at
  br label %next
next:
  %part = atomicrmw add ptr %taken, i64 1 acq_rel
  %some = icmp slt i64 %part, %parts
  br i1 %some, label %run, label %done
run:
  %following = add i64 %part, 1
  %begin.product = mul i64 %steps, %part
  %begin.step = sdiv i64 %begin.product, %parts
  %begin.offset = mul i64 %begin.step, %step
  %begin = add i64 %first, %begin.offset
  %end.product = mul i64 %steps, %following
  %end.step = sdiv i64 %end.product, %parts
  %end.offset = mul i64 %end.step, %step
  %end = add i64 %first, %end.offset
  call void %entry(ptr %arguments, i64 %begin, i64 %end)
  br label %next
done:
  ret void
}}

; Join a job that is open, has parts, and takes another helper.
define internal i1 @join(ptr %job) nounwind {{
start:
  %taken.at = getelementptr i64, ptr %job, i64 {TAKEN}
  %parts.at = getelementptr i64, ptr %job, i64 {PARTS}
  %helpers.at = getelementptr i64, ptr %job, i64 {HELPERS}
  br label %try
try:
  %joined = load atomic i64, ptr %job acquire, align {WORD}
  %helpers = load atomic i64, ptr %helpers.at monotonic, align {WORD}
  %open = icmp slt i64 %joined, %helpers
  br i1 %open, label %look, label %no
look:
  %taken = load atomic i64, ptr %taken.at monotonic, align {WORD}
  %parts = load atomic i64, ptr %parts.at monotonic, align {WORD}
  %left = icmp slt i64 %taken, %parts
  br i1 %left, label %enter, label %no
enter:
  %more = add i64 %joined, 1
  %pair = cmpxchg ptr %job, i64 %joined, i64 %more acq_rel acquire
  %entered = extractvalue {{i64, i1}} %pair, 1
  br i1 %entered, label %yes, label %try
yes:
  ret i1 true
no:
  ret i1 false
}}

; Help with the jobs in the slots until none was found in so many turns.
define void @help(ptr %slots, i64 %turns) nounwind {{
start:
  br label %turn
turn:
  %count = phi i64 [ 0, %start ], [ %counted, %idle.next ], [ 0, %helped ]
  br label %look
look:
  %slot = phi i64 [ 0, %turn ], [ %slot.next, %skip ]
  %at = getelementptr ptr, ptr %slots, i64 %slot
  %job = load atomic ptr, ptr %at acquire, align {WORD}
  %posted = icmp ne ptr %job, null
  br i1 %posted, label %try, label %skip
try:
  %joined = call i1 @join(ptr %job)
  br i1 %joined, label %helped, label %skip
helped:
  call void @take_parts(ptr %job)
  %left = getelementptr i64, ptr %job, i64 {LEFT}
  %before = atomicrmw add ptr %left, i64 1 acq_rel
  br label %turn
skip:
  %slot.next = add i64 %slot, 1
  %more = icmp slt i64 %slot.next, {SLOTS}
  br i1 %more, label %look, label %idle
idle:
  call void @pause()
  %counted = add i64 %count, 1
  %rest = and i64 %counted, {POLITE - 1}
  %polite = icmp eq i64 %rest, 0
  br i1 %polite, label %give, label %idle.next
give:
  %ignored = call i32 @yield_core()
  br label %idle.next
idle.next:
  %again = icmp slt i64 %counted, %turns
  br i1 %again, label %turn, label %done
done:
  ret void
}}

; Run a job that is closed, and return when all parts are done.
define void @run(ptr %job, ptr %slots, i64 %patience) nounwind {{
start:
  %left.at = getelementptr i64, ptr %job, i64 {LEFT}
  %taken.at = getelementptr i64, ptr %job, i64 {TAKEN}
  store atomic i64 0, ptr %left.at monotonic, align {WORD}
  store atomic i64 0, ptr %taken.at monotonic, align {WORD}
  store atomic i64 0, ptr %job release, align {WORD}
  br label %post
post:
  %slot = phi i64 [ 0, %start ], [ %slot.next, %occupied ]
  %at = getelementptr ptr, ptr %slots, i64 %slot
  %pair = cmpxchg ptr %at, ptr null, ptr %job acq_rel acquire
  %posted = extractvalue {{ptr, i1}} %pair, 1
  br i1 %posted, label %helped, label %occupied
occupied:
  %slot.next = add i64 %slot, 1
  %more = icmp slt i64 %slot.next, {SLOTS}
  br i1 %more, label %post, label %alone
helped:
  call void @take_parts(ptr %job)
  store atomic ptr null, ptr %at release, align {WORD}
  br label %close
alone:
  call void @take_parts(ptr %job)
  br label %close
close:
  %joined = atomicrmw or ptr %job, i64 {CLOSED} acq_rel
  br label %wait
wait:
  %count = phi i64 [ 0, %close ], [ %counted, %spin ], [ %count, %give ]
  %left = load atomic i64, ptr %left.at acquire, align {WORD}
  %finished = icmp eq i64 %left, %joined
  br i1 %finished, label %done, label %unfinished
unfinished:
  %patient = icmp slt i64 %count, %patience
  br i1 %patient, label %spin, label %give
spin:
  call void @pause()
  %counted = add i64 %count, 1
  br label %wait
give:
  %ignored = call i32 @yield_core()
  br label %wait
done:
  ret void
}}

declare i32 @yield_core()
"""


class Team:
    """The jobs, helpers and machine code of this process."""

    def __init__(self) -> None:
        self.loaded = Loaded(team_code(), ["help", "run"], {"yield_core": yield_address()})
        addresses = self.loaded.addresses
        self.help = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(addresses["help"])
        self.run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(addresses["run"])
        self.slots = Memory(SLOTS)
        #: Jobs that nobody uses. Their memory stays: a helper may still look whether one is open.
        self.free: list[JobMemory] = []
        self.lock = threading.Lock()
        self.asleep: list[Helper] = []
        self.awake = 0
        turns = self.turns_each_second()
        self.linger = max(1, int(turns * LINGER_SECONDS))
        self.patience = max(1, int(turns * PATIENCE_SECONDS))

    def turns_each_second(self) -> float:
        """Return how often a helper looks for a job in a second."""
        seconds = []
        for _ in range(3):
            start = time.perf_counter()
            self.help(self.slots.address, PROBED)
            seconds.append(time.perf_counter() - start)
        return PROBED / min(seconds)

    def call_helpers(self, wanted: int) -> None:
        """Have at least so many helpers awake, or on their way."""
        if self.awake >= wanted:
            return
        with self.lock:
            called = [self.asleep.pop() if self.asleep else Helper(self) for _ in range(wanted - self.awake)]
            self.awake += len(called)
        cores = other_cores()
        for helper in called:
            helper.wake(cores)

    def fall_asleep(self, helper: Helper) -> None:
        with self.lock:
            self.awake -= 1
            self.asleep.append(helper)

    def run_parts(
        self, entry: int, first: int, last: int, step: int, workers: int, words: struct.Struct, values: list[Any]
    ) -> None:
        """Run groups on several threads, and return when all have run.

        Args:
            entry: The address of a kernel's entry function.
            first: The first group.
            last: The group after the last; last - first is a multiple of `step`.
            step: Parts begin at multiples of it from `first`.
            workers: How many threads share the range, the caller included.
            words: Writes a job: JOB_FORMAT, followed by words with `values`.
            values: The kernel's arguments.
        """
        try:
            job = self.free.pop()
        except IndexError:
            job = JobMemory()
        job.write(words, (entry, first, (last - first) // step, step, workers * PARTS_EACH, workers - 1), values)
        self.call_helpers(workers - 1)
        self.run(job.address, self.slots.address, self.patience)
        self.free.append(job)


class Cores(NamedTuple):
    """The cores that a thread may use, and those but the one that the thread runs on."""

    allowed: set[int]
    others: set[int]


class Helper:
    """A thread that sleeps until a caller wants help."""

    def __init__(self, team: Team) -> None:
        self.team = team
        self.cores: Cores | None = None
        self.woken = threading.Lock()
        self.woken.acquire()
        self.thread = start(self.serve, "drawloom helper")

    def wake(self, cores: Cores | None) -> None:
        """Wake the thread on one of the other cores.

        Linux takes a halted core of a virtual machine for one that other machines use (`available_idle_cpu`). So it
        would wake a helper on the caller's core, where the helper would get no time before the caller is done.
        """
        self.cores = cores
        if cores is not None:
            with suppress(OSError):
                os.sched_setaffinity(self.thread.native_id or 0, cores.others)
        self.woken.release()

    def serve(self) -> None:
        while True:
            self.woken.acquire()
            if self.cores is not None:
                with suppress(OSError):
                    os.sched_setaffinity(0, self.cores.allowed)
            self.team.help(self.team.slots.address, self.team.linger)
            self.team.fall_asleep(self)


class Memory:
    """Words that begin at a cache line and are 0."""

    def __init__(self, words: int) -> None:
        self.bytes = ctypes.create_string_buffer(words * WORD + LINE)
        start = ctypes.addressof(self.bytes)
        self.offset = -start % LINE
        self.address = start + self.offset


class JobMemory(Memory):
    """The words of a job, which is closed."""

    def __init__(self) -> None:
        super().__init__(ARGUMENTS + MOST_ARGUMENTS)
        struct.pack_into("=q", self.bytes, self.offset, CLOSED)

    def write(self, words: struct.Struct, fixed: tuple[int, ...], values: list[Any]) -> None:
        words.pack_into(self.bytes, self.offset + ENTRY * WORD, *fixed, *values)


def find_core_number() -> Callable[[], int] | None:
    """Return the function that gives the core of the calling thread, None where the system has none."""
    return getattr(ctypes.CDLL(None), "sched_getcpu", None) if sys.platform == "linux" else None


core_number: Final = find_core_number()


def other_cores() -> Cores | None:
    """Return the cores of the calling thread, None where the system does not tell."""
    if core_number is None:
        return None
    allowed = os.sched_getaffinity(0)
    others = allowed - {core_number()}
    return Cores(allowed, others) if others else None


def team_text() -> str:
    """Return the team's machine code as LLVM IR for this CPU."""
    architecture = host().triple.partition("-")[0]
    declaration, call = PAUSES.get(architecture, ("", ""))
    return f"{TEXT}{declaration}\ndefine internal void @pause() nounwind {{\n  {call}\n  ret void\n}}\n"


def team_code() -> bytes:
    """Return the object code, from the kernel cache where it is there."""
    text, store = team_text(), kernel_store()
    key = cache_key("team", VERSION, host().key, text)
    known = None if store is None else store.get(key)
    if known is not None:
        return known
    code = object_code(text)
    if store is not None:
        store.put(key, code)
    return code


def yield_address() -> int:
    """Return the address of the system's function that leaves the core to another thread."""
    function = ctypes.CDLL("kernel32").SwitchToThread if sys.platform == "win32" else ctypes.CDLL(None).sched_yield
    return ctypes.cast(function, ctypes.c_void_p).value or 0


_team: Team | None = None
_team_lock = threading.Lock()


def team() -> Team:
    """Return the team of this process; a forked child has its own."""
    global _team
    with _team_lock:
        if _team is None:
            _team = Team()
        return _team


def _forget() -> None:
    global _team, _team_lock
    _team, _team_lock = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
