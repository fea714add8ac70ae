"""Signals that compiled code raises (SIGSEGV, SIGBUS, SIGFPE, SIGILL) to values that Python reports: the fault guard.

``dl_guard`` notes where it is and calls the worker. The signal handler finds the thread's record by its alternate
stack, which the kernel of the operating system hands it, so it calls nothing and needs no thread-local storage; when
the thread is inside a guard it makes the thread go on at the noted place, with a description in the record. Any other
signal goes to the handler that was there before. Only Linux on x86-64 has the guard (the layouts of ``sigaction``,
``siginfo_t`` and ``ucontext_t`` are its); elsewhere compiled code runs bare.
"""

from __future__ import annotations

import ctypes
import re
import signal
import threading
from collections.abc import Callable
from typing import Any, Final, cast

from drawloom.cpu.engine import Loaded, host

#: Bytes of a thread's alternate stack: a frame with AVX-512 and AMX state takes 11 KiB, faulthandler some more.
_SIGNAL_STACK: Final = 128 << 10

SIGNALS: Final = (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL)
_SIGSEGV: Final = int(signal.SIGSEGV)
_SIGABRT: Final = int(signal.SIGABRT)
SYMBOLS: Final = ["dl_guard", "dl_record", "dl_armed", "dl_arm", "dl_claim", "dl_span", "dl_unchecked"]

#: What a process says that aborts. glibc aborts it where the memory that it gives out is damaged, and names no cause.
_HINT: Final = (
    b"drawloom: this process aborts after it ran kernels whose accesses were not checked; if one of them wrote outside "
    b"of its arrays, DRAWLOOM_CHECK=memory names the line\n"
)

#: What the text below names. RECORD_*: byte offsets in ours, one per thread. FRAME_*: in ours, one per call of
#: ``dl_guard``, on the stack; the first five words are LLVM's. INFO_*, UC_*, SA_*: in siginfo_t, ucontext_t (with its
#: gregs) and struct sigaction of x86-64 Linux, alike in glibc and musl.
_NUMBERS: Final[dict[str, int]] = {
    "RECORD_STACK": 8, "RECORD_FRAME": 16, "RECORD_SIGNAL": 24, "RECORD_CODE": 32,
    "RECORD_ADDRESS": 40, "RECORD_TRAP": 48, "RECORD_ERROR": 56, "RECORD_DEPTH": 64,
    "FRAME_LABEL": 8, "FRAME_STACK": 16, "FRAME_OUTER": 40, "FRAME_MXCSR": 48,
    "INFO_CODE": 8, "INFO_ADDRESS": 16,
    "UC_STACK": 16, "UC_RBP": 120, "UC_RSP": 160, "UC_RIP": 168, "UC_FLAGS": 176, "UC_ERROR": 192, "UC_TRAP": 200,
    "SA_FLAGS": 136, "SA_BYTES": 152,
    "SA_WANTED": 0x08000004,  # SA_ONSTACK | SA_SIGINFO
    "FLAGS_KEPT": ~0x40400,  # without the direction and the alignment-check flag
    "MAP_FLAGS": 0x4022,  # MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE
    "SIGNAL_STACK": _SIGNAL_STACK, "SIGABRT": _SIGABRT, "HINT_BYTES": len(_HINT),
}  # fmt: skip

_NATIVE: Final = """
@dl.records = internal global ptr null
; What was installed before the first launch, and what others installed since (all 0: nothing), by signal number.
@dl.first = internal global [12 x [@SA_BYTES@ x i8]] zeroinitializer, align 8
@dl.later = internal global [12 x [@SA_BYTES@ x i8]] zeroinitializer, align 8
; What was last given to a later handler and may come back from it: where a fault was, whether it may raise it again.
@dl.given = internal global i64 0
@dl.echo = internal global i64 0
; Whether a kernel ran whose accesses were not checked, and what to say of it when the process aborts.
@dl.unchecked = internal global i64 0
@dl.hint = internal constant [@HINT_BYTES@ x i8] c"@HINT@"

; Calls %function(%a, %b). 0: it returned; 1: it raised a signal, which %record describes.
define i32 @dl_guard(ptr %record, ptr %function, ptr %a, ptr %b) noinline "frame-pointer"="all" {
entry:
  %frame = alloca [8 x i64], align 16
  %kept = alloca ptr
  store volatile ptr %record, ptr %kept
  %base = call ptr @llvm.frameaddress.p0(i32 0)
  store volatile ptr %base, ptr %frame
  %p.stack = getelementptr i8, ptr %frame, i64 @FRAME_STACK@
  %stack = call ptr @llvm.stacksave.p0()
  store volatile ptr %stack, ptr %p.stack
  %p.frame = getelementptr i8, ptr %record, i64 @RECORD_FRAME@
  %outer = load ptr, ptr %p.frame
  %p.outer = getelementptr i8, ptr %frame, i64 @FRAME_OUTER@
  store volatile ptr %outer, ptr %p.outer
  %p.mxcsr = getelementptr i8, ptr %frame, i64 @FRAME_MXCSR@
  call void @llvm.x86.sse.stmxcsr(ptr %p.mxcsr)
  %again = call i32 @llvm.eh.sjlj.setjmp(ptr %frame)
  %back = icmp ne i32 %again, 0
  br i1 %back, label %landed, label %run
run:
  store volatile ptr %frame, ptr %p.frame
  call void %function(ptr %a, ptr %b)
  store volatile ptr %outer, ptr %p.frame
  ret i32 0
landed:
  %mine = load volatile ptr, ptr %kept
  %q.frame = getelementptr i8, ptr %mine, i64 @RECORD_FRAME@
  %this = load volatile ptr, ptr %q.frame
  %q.mxcsr = getelementptr i8, ptr %this, i64 @FRAME_MXCSR@
  call void @llvm.x86.sse.ldmxcsr(ptr %q.mxcsr)
  %q.outer = getelementptr i8, ptr %this, i64 @FRAME_OUTER@
  %before = load volatile ptr, ptr %q.outer
  store volatile ptr %before, ptr %q.frame
  ret i32 1
}

; Gives this thread an alternate stack, and a record above it; null when there is no memory. Both are for good.
define ptr @dl_record() {
entry:
  %settings = alloca [3 x i64], align 8
  %all = add i64 @SIGNAL_STACK@, 4096
  %stack = call ptr @mmap(ptr null, i64 %all, i32 3, i32 @MAP_FLAGS@, i32 -1, i64 0)
  %number = ptrtoint ptr %stack to i64
  %none = icmp eq i64 %number, -1
  br i1 %none, label %failed, label %set
set:
  store ptr %stack, ptr %settings
  %p.flags = getelementptr i8, ptr %settings, i64 8
  store i64 0, ptr %p.flags
  %p.size = getelementptr i8, ptr %settings, i64 16
  store i64 @SIGNAL_STACK@, ptr %p.size
  %refused = call i32 @sigaltstack(ptr %settings, ptr null)
  %bad = icmp ne i32 %refused, 0
  br i1 %bad, label %failed, label %fill
fill:
  %record = getelementptr i8, ptr %stack, i64 @SIGNAL_STACK@
  %p.stack = getelementptr i8, ptr %record, i64 @RECORD_STACK@
  store ptr %stack, ptr %p.stack
  br label %push
push:
  %head = load atomic ptr, ptr @dl.records acquire, align 8
  store ptr %head, ptr %record
  %swap = cmpxchg ptr @dl.records, ptr %head, ptr %record seq_cst seq_cst
  %won = extractvalue { ptr, i1 } %swap, 1
  br i1 %won, label %done, label %push
done:
  ret ptr %record
failed:
  ret ptr null
}

define internal void @dl_on_signal(i32 %signal, ptr %info, ptr %context) {
entry:
  %p.code = getelementptr i8, ptr %info, i64 @INFO_CODE@
  %code = load i32, ptr %p.code
  %raised = icmp sgt i32 %code, 0 ; by the processor, and not by kill or raise
  br i1 %raised, label %find, label %foreign
find:
  %p.stack = getelementptr i8, ptr %context, i64 @UC_STACK@
  %stack = load ptr, ptr %p.stack
  %head = load atomic ptr, ptr @dl.records acquire, align 8
  br label %look
look:
  %record = phi ptr [ %head, %find ], [ %next, %other ]
  %end = icmp eq ptr %record, null
  br i1 %end, label %foreign, label %compare
compare:
  %p.mine = getelementptr i8, ptr %record, i64 @RECORD_STACK@
  %its = load ptr, ptr %p.mine
  %same = icmp eq ptr %its, %stack
  br i1 %same, label %known, label %other
other:
  %next = load ptr, ptr %record
  br label %look
known:
  %p.frame = getelementptr i8, ptr %record, i64 @RECORD_FRAME@
  %frame = load volatile ptr, ptr %p.frame
  %outside = icmp eq ptr %frame, null
  br i1 %outside, label %foreign, label %guarded
guarded:
  %r.signal = getelementptr i8, ptr %record, i64 @RECORD_SIGNAL@
  %signal64 = zext i32 %signal to i64
  store i64 %signal64, ptr %r.signal
  %r.code = getelementptr i8, ptr %record, i64 @RECORD_CODE@
  %code64 = zext i32 %code to i64
  store i64 %code64, ptr %r.code
  %p.address = getelementptr i8, ptr %info, i64 @INFO_ADDRESS@
  %address = load i64, ptr %p.address
  %r.address = getelementptr i8, ptr %record, i64 @RECORD_ADDRESS@
  store i64 %address, ptr %r.address
  %p.trap = getelementptr i8, ptr %context, i64 @UC_TRAP@
  %trap = load i64, ptr %p.trap
  %r.trap = getelementptr i8, ptr %record, i64 @RECORD_TRAP@
  store i64 %trap, ptr %r.trap
  %p.error = getelementptr i8, ptr %context, i64 @UC_ERROR@
  %error = load i64, ptr %p.error
  %r.error = getelementptr i8, ptr %record, i64 @RECORD_ERROR@
  store i64 %error, ptr %r.error
  %base = load i64, ptr %frame
  %p.rbp = getelementptr i8, ptr %context, i64 @UC_RBP@
  store i64 %base, ptr %p.rbp
  %f.label = getelementptr i8, ptr %frame, i64 @FRAME_LABEL@
  %label = load i64, ptr %f.label
  %p.rip = getelementptr i8, ptr %context, i64 @UC_RIP@
  store i64 %label, ptr %p.rip
  %f.stack = getelementptr i8, ptr %frame, i64 @FRAME_STACK@
  %top = load i64, ptr %f.stack
  %p.rsp = getelementptr i8, ptr %context, i64 @UC_RSP@
  %stack.pointer = load i64, ptr %p.rsp
  store i64 %top, ptr %p.rsp
  %depth = sub i64 %stack.pointer, %address
  %r.depth = getelementptr i8, ptr %record, i64 @RECORD_DEPTH@
  store i64 %depth, ptr %r.depth
  %p.flags = getelementptr i8, ptr %context, i64 @UC_FLAGS@
  %flags = load i64, ptr %p.flags
  %kept = and i64 %flags, @FLAGS_KEPT@
  store i64 %kept, ptr %p.flags
  ret void
foreign:
  %aborts = icmp eq i32 %signal, @SIGABRT@
  br i1 %aborts, label %ask, label %pass
ask:
  %unchecked = atomicrmw xchg ptr @dl.unchecked, i64 0 monotonic
  %suspected = icmp ne i64 %unchecked, 0
  br i1 %suspected, label %tell, label %pass
tell:
  %written = call i64 @write(i32 2, ptr @dl.hint, i64 @HINT_BYTES@)
  br label %pass
pass:
  call void @dl_forward(i32 %signal, i32 %code, ptr %info, ptr %context)
  ret void
}

; A signal that is none of ours: to the latest handler of somebody else, or, when it comes from there (the handler
; raised it again, or returned and changed nothing), to what was there before all of us.
define internal void @dl_forward(i32 %signal, i32 %code, ptr %info, ptr %context) noinline {
entry:
  %standard = alloca [@SA_BYTES@ x i8], align 8
  %waiting = alloca [16 x i64]
  %number = zext i32 %signal to i64
  %o = mul i64 %number, @SA_BYTES@
  %later = getelementptr i8, ptr @dl.later, i64 %o
  %first = getelementptr i8, ptr @dl.first, i64 %o
  %p.rip = getelementptr i8, ptr %context, i64 @UC_RIP@
  %rip = load i64, ptr %p.rip
  %raised = icmp sle i32 %code, 0
  %above = load ptr, ptr %later
  %no.later = icmp eq ptr %above, null
  br i1 %no.later, label %below, label %ask
ask:
  %given = load volatile i64, ptr @dl.given
  %same = icmp eq i64 %given, %rip
  %may.echo = load volatile i64, ptr @dl.echo
  %echoes = icmp ne i64 %may.echo, 0
  %comes.back = select i1 %raised, i1 %echoes, i1 %same
  br i1 %comes.back, label %below, label %give
give:
  store volatile i64 %rip, ptr @dl.given
  store volatile i64 1, ptr @dl.echo
  call void %above(i32 %signal, ptr %info, ptr %context)
  %rip.after = load i64, ptr %p.rip
  %stayed = icmp eq i64 %rip.after, %rip
  %faulted = xor i1 %raised, true
  %may.return = and i1 %stayed, %faulted
  %kept = select i1 %may.return, i64 %rip, i64 0
  store volatile i64 %kept, ptr @dl.given
  %listed = call i32 @sigpending(ptr %waiting)
  %set.word = load i64, ptr %waiting
  %place = sub i64 %number, 1
  %shifted = lshr i64 %set.word, %place
  %pending = and i64 %shifted, 1
  store volatile i64 %pending, ptr @dl.echo
  br label %out
below:
  %handler = load ptr, ptr %first
  %which = ptrtoint ptr %handler to i64
  switch i64 %which, label %call [ i64 0, label %default  i64 1, label %ignore ]
call:
  call void %handler(i32 %signal, ptr %info, ptr %context)
  ret void
ignore:
  br i1 %raised, label %out, label %default
default:
  call void @llvm.memset.p0.i64(ptr %standard, i8 0, i64 @SA_BYTES@, i1 false)
  %set = call i32 @sigaction(i32 %signal, ptr %standard, ptr null)
  br i1 %raised, label %repeat, label %out
repeat:
  %sent = call i32 @raise(i32 %signal) ; blocked until this handler returns
  ret void
out:
  ret void
}

; Kernels run from now on whose accesses are not checked.
define void @dl_unchecked() {
  store atomic i64 1, ptr @dl.unchecked monotonic, align 8
  ret void
}

; Whether the handler of %signal is ours.
define i32 @dl_armed(i32 %signal) {
  %now = alloca [@SA_BYTES@ x i8], align 8
  %asked = call i32 @sigaction(i32 %signal, ptr null, ptr %now)
  %handler = load ptr, ptr %now
  %ours = icmp eq ptr %handler, @dl_on_signal
  %result = zext i1 %ours to i32
  ret i32 %result
}

; Makes ours the handler of %signal, and keeps the present one: below ours where ours was never installed or where the
; default came back, else as a later one.
define void @dl_arm(i32 %signal, i32 %again) {
entry:
  %mine = alloca [@SA_BYTES@ x i8], align 8
  %now = alloca [@SA_BYTES@ x i8], align 8
  %asked = call i32 @sigaction(i32 %signal, ptr null, ptr %now)
  %handler = load ptr, ptr %now
  %ours = icmp eq ptr %handler, @dl_on_signal
  br i1 %ours, label %done, label %keep
keep:
  %number = zext i32 %signal to i64
  %o = mul i64 %number, @SA_BYTES@
  %later = getelementptr i8, ptr @dl.later, i64 %o
  %first = getelementptr i8, ptr @dl.first, i64 %o
  %which = ptrtoint ptr %handler to i64
  %plain = icmp ule i64 %which, 1
  %initial = icmp eq i32 %again, 0
  %bottom = or i1 %plain, %initial
  br i1 %bottom, label %below, label %above
below:
  call void @llvm.memset.p0.i64(ptr %later, i8 0, i64 @SA_BYTES@, i1 false)
  br label %install
above:
  store volatile i64 0, ptr @dl.given
  store volatile i64 0, ptr @dl.echo
  br label %install
install:
  %place = phi ptr [ %first, %below ], [ %later, %above ]
  call void @llvm.memcpy.p0.p0.i64(ptr %place, ptr %now, i64 @SA_BYTES@, i1 false)
  call void @llvm.memset.p0.i64(ptr %mine, i8 0, i64 @SA_BYTES@, i1 false)
  store ptr @dl_on_signal, ptr %mine
  %p.flags = getelementptr i8, ptr %mine, i64 @SA_FLAGS@
  store i32 @SA_WANTED@, ptr %p.flags
  %set = call i32 @sigaction(i32 %signal, ptr %mine, ptr null)
  br label %done
done:
  ret void
}

; Claims the word %error for %code, and sets %cancel; whether the word was free.
define i32 @dl_claim(ptr %error, i64 %code, ptr %cancel) {
  %claim = cmpxchg ptr %error, i64 0, i64 %code seq_cst seq_cst
  store atomic i64 1, ptr %cancel seq_cst, align 8
  %won = extractvalue { i64, i1 } %claim, 1
  %result = zext i1 %won to i32
  ret i32 %result
}

; Reads %size bytes, or (-1) up to a NUL, and puts how many there were to %size.
define void @dl_span(ptr %from, ptr %size) null_pointer_is_valid {
entry:
  %limit = load i64, ptr %size
  %string = icmp slt i64 %limit, 0
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %i.next, %on ]
  %over = icmp eq i64 %i, %limit
  br i1 %over, label %done, label %one
one:
  %p = getelementptr i8, ptr %from, i64 %i
  %byte = load volatile i8, ptr %p
  %zero = icmp eq i8 %byte, 0
  %end = and i1 %zero, %string
  br i1 %end, label %done, label %on
on:
  %i.next = add i64 %i, 1
  br label %next
done:
  store i64 %i, ptr %size
  ret void
}

declare i32 @llvm.eh.sjlj.setjmp(ptr)
declare ptr @llvm.frameaddress.p0(i32)
declare ptr @llvm.stacksave.p0()
declare void @llvm.x86.sse.stmxcsr(ptr)
declare void @llvm.x86.sse.ldmxcsr(ptr)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare i32 @sigaction(i32, ptr, ptr)
declare i32 @sigaltstack(ptr, ptr)
declare i32 @sigpending(ptr)
declare i32 @raise(i32)
declare i64 @write(i32, ptr, i64)
declare ptr @mmap(ptr, i64, i32, i32, i32, i64)
"""

_NAME: Final = re.compile(r"@([A-Z][A-Z_]*)@")
#: Words of a record that tell of a signal: its number and code, the address, the processor's trap and error code, and
#: how far the address is below the stack pointer.
_FRAME_WORD: Final = 2
_FIRST_WORD: Final = 3
_WORDS: Final = 6

_PAGE_FAULT: Final = 14  # the processor's trap numbers
_WRITES: Final = 2  # bits of a page fault's error code
_FETCHES: Final = 16
_NO_RIGHT: Final = 2  # SEGV_ACCERR
#: Frames touch each of their pages, from the top.
_NEAR_STACK: Final = 64 << 10

_Function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
_Guard = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
_Record = ctypes.CFUNCTYPE(ctypes.c_int64)
_Unchecked = ctypes.CFUNCTYPE(None)
_Armed = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int32)
_Arm = ctypes.CFUNCTYPE(None, ctypes.c_int32, ctypes.c_int32)
_Claim = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)


class Fault:
    """A signal raised inside compiled code.

    ``address`` is what could not be accessed, None where the processor does not say; ``overflow`` says that it lies
    where the stack pointer is: what a function touches first beyond the end of its thread's stack.
    """

    def __init__(self, number: int, code: int, address: int, trap: int, error: int, depth: int) -> None:
        self.signal = number
        self.code = code
        located = number == signal.SIGBUS or (number == signal.SIGSEGV and trap == _PAGE_FAULT)
        self.address: int | None = address if located else None
        self.writes = bool(error & _WRITES)
        self.fetches = bool(error & _FETCHES)
        self.overflow = self.address is not None and abs(depth) < _NEAR_STACK

    @property
    def in_memory(self) -> bool:
        """Whether an access to memory raised it."""
        return self.signal in (signal.SIGSEGV, signal.SIGBUS)

    def __str__(self) -> str:
        if not self.in_memory:
            return "an arithmetic exception" if self.signal == signal.SIGFPE else "an illegal instruction"
        if self.address is None:
            return "access to an address that is misaligned, or that no memory can have"
        what = "jump to" if self.fetches else "write to" if self.writes else "read from"
        memory = "unmapped" if self.code != _NO_RIGHT else "read-only" if self.writes else "inaccessible"
        where = "an address that its file has no data for" if self.signal == signal.SIGBUS else f"{memory} memory"
        return f"{what} {where} at 0x{self.address:x}"


class UnreadableError(Exception):
    """Memory that a kernel named for Python to read, and that cannot be read."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(str(fault))
        self.fault = fault


def available() -> bool:
    """Whether this platform has the guard: Linux on x86-64."""
    triple = host().triple
    return triple.startswith("x86_64") and "linux" in triple and ctypes.sizeof(ctypes.c_void_p) == 8


def native() -> str:
    """The guard in LLVM IR."""
    hint = "".join([f"\\{byte:02X}" for byte in _HINT])
    return _NAME.sub(lambda match: hint if match.group(1) == "HINT" else str(_NUMBERS[match.group(1)]), _NATIVE)


class _Natives:
    """The functions of the linked guard."""

    def __init__(self, loaded: Loaded) -> None:
        at = loaded.addresses
        self.guard: Any = _Guard(at["dl_guard"])
        self.record: Any = _Record(at["dl_record"])
        self.armed: Any = _Armed(at["dl_armed"])
        self.arm: Any = _Arm(at["dl_arm"])
        self.claim: Any = _Claim(at["dl_claim"])
        self.span: int = at["dl_span"]
        self.unchecked: Any = _Unchecked(at["dl_unchecked"])


_natives: _Natives | None = None
_lock: Final = threading.Lock()
_thread: Final = threading.local()
_again = 0


def begin(loaded: Loaded) -> None:
    """Take the linked guard into use. It stays linked to the end: a signal may come when Python is gone."""
    global _natives
    for needed in (loaded.jit, loaded.tracker):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(needed))
    _natives = _Natives(loaded)


def arm(checked: bool) -> None:
    """Make the signals' handlers ours; called for each launch, as others may have installed theirs since. That of
    SIGSEGV stands for all: it is the one that everybody wants. Where the launch is not ``checked``, the process says so
    when it aborts."""
    global _again
    natives = _natives
    if natives is None:
        return
    if not checked:
        natives.unchecked()
    if natives.armed(_SIGSEGV):
        return
    with _lock:
        for number in (*SIGNALS, _SIGABRT):
            natives.arm(number, _again)
        _again = 1


def guarded(address: int) -> Callable[[int, int], Fault | None]:
    """The compiled function ``void(ptr, ptr)`` at ``address`` as one that returns the signal it raised, or None."""
    natives = _natives
    if natives is None:
        return cast("Callable[[int, int], Fault | None]", _Function(address))
    guard = natives.guard

    def call(a: int, b: int) -> Fault | None:
        record = _record()
        return _told(record) if guard(record, address, a, b) else None

    return call


def _record() -> int:
    """This thread's record; raises MemoryError."""
    known: int = getattr(_thread, "record", 0)
    if known:
        return known
    natives = _natives
    record = 0 if natives is None else int(natives.record())
    if not record:
        raise MemoryError("no memory for an alternate signal stack")
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    _thread.record = record
    return record


def _told(record: int) -> Fault:
    words = (ctypes.c_int64 * _WORDS).from_address(record + 8 * _FIRST_WORD)
    number, code, address, trap, error, depth = words
    return Fault(number, code, address & 0xFFFFFFFFFFFFFFFF, trap, error, depth)


def outside(callback: Callable[..., int]) -> Callable[..., int]:
    """``callback``, which compiled code calls, with the guard lifted while it runs: a signal in Python is Python's."""

    def called(*arguments: int) -> int:
        record: int = getattr(_thread, "record", 0)
        if not record:
            return callback(*arguments)
        frame = ctypes.c_int64.from_address(record + _FRAME_WORD * 8)
        held = frame.value
        frame.value = 0
        try:
            return callback(*arguments)
        finally:
            frame.value = held

    return called


def read(address: int, size: int) -> bytes:
    """``size`` bytes at ``address``, or with -1 those before the first NUL. Raises UnreadableError."""
    natives = _natives
    if natives is not None:
        span = ctypes.c_int64(size)
        fault = guarded(natives.span)(address, ctypes.addressof(span))
        if fault is not None:
            raise UnreadableError(fault)
    return ctypes.string_at(address, size)


def read_string(address: int) -> bytes:
    """The bytes before the first NUL at ``address``. Raises UnreadableError."""
    return read(address, -1)


def claim(error: int, code: int, cancel: int) -> bool:
    """Claim the word at address ``error`` for ``code`` where it is 0, and stop the launch by the word at ``cancel``."""
    natives = _natives
    return natives is not None and bool(natives.claim(error, code, cancel))
