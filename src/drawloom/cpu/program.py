"""Kernels of one module on this machine's cores: compiled when first needed, cached, launched over threads."""

from __future__ import annotations

import ctypes
import hashlib
import json
import mmap
import os
import struct
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from drawloom.build_info import VERSION, fingerprint
from drawloom.cpu import abi, faults, races
from drawloom.cpu.compile import KernelCode, compile_kernel
from drawloom.cpu.engine import Loaded, host, level, object_code, optimise
from drawloom.cpu.gangs import gang_for, suited_layout
from drawloom.cpu.layouts import gains_at_once, lanes_wanted, layout_of, whole
from drawloom.cpu.scheduler import support
from drawloom.cpu.workers import Job, pool
from drawloom.errors import DeadlockError, KernelFault, LaunchError, MemoryAccessError, RaceError
from drawloom.ptx.ir import Module
from drawloom.ptx.layout import align_up
from drawloom.ptx.lines import source_line
from drawloom.ptx.printf import argument_bytes, format_vprintf

#: Blocks that a worker takes at a time, at most: long runs suit the memory prefetchers.
_CHUNK: Final = 4096
_SLOTS_WHEN_SPINNING: Final = 1024
_SLOT_BUDGET_BYTES: Final = 96 << 20
#: Workers count in cache lines of their own.
_WORDS_APART: Final = 16
_KEEP_BYTES: Final = 16 << 20
_WATCH_SECONDS: Final = 0.05
#: A launch in which every worker only spins, and no warp gets on for this long, is taken for a deadlock.
SPIN_LIMIT_SECONDS: Final = 10.0

_HOW_TO_FIND: Final = '; check="memory" or DRAWLOOM_CHECK=memory finds the PTX line'
_STACK_OVERFLOW: Final = f"stack overflow: device functions used over {abi.STACK_LIMIT >> 20} MiB of stack"

#: What kernels call of the functions that all share.
_IMPORTED: Final = ("dl_fail", "dl_check", "dl_race_fence", "dl_race_warp", "dl_race_thread")
_MAP_NORESERVE: Final = 0x4000  # of Linux; Python names it from 3.12 on

Memory = np.ndarray[Any, np.dtype[np.uint8]]

_Callback = ctypes.CFUNCTYPE(
    ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64
)


class KernelStore(Protocol):
    """Where compiled kernels are kept between runs."""

    def get(self, key: str) -> bytes | None: ...

    def put(self, key: str, data: bytes) -> None: ...


class Passes(Protocol):
    """What a module goes through before its kernels are compiled. ``key`` tells kernels of one optimiser from those of
    another."""

    @property
    def key(self) -> str: ...

    def reached_from(self, kernel: str) -> Module:
        """The module with a kernel, and what that may call, optimised."""
        ...


class LaunchStats:
    """What a launch cost: seconds to compile (or to load from the store) and to run."""

    def __init__(self, compile_seconds: float, run_seconds: float, cached: bool) -> None:
        self.compile_seconds = compile_seconds
        self.run_seconds = run_seconds
        self.cached = cached


class _Ready:
    """A kernel that can be called, and what its launch must provide."""

    def __init__(self, loaded: Loaded, meta: dict[str, Any], scheduler: int) -> None:
        self.loaded = loaded
        self.kernel = loaded.addresses.get("kernel", 0)
        self.resolve = loaded.addresses.get("dl_resolve", 0)
        self.worker = faults.guarded(scheduler if self.kernel else loaded.addresses["dl_worker"])
        self.frame_bytes = int(meta["frame_bytes"])
        self.local_bytes = int(meta["local_bytes"])
        self.thread_bytes = int(meta["thread_bytes"])
        self.shared_bytes = int(meta["shared_bytes"])
        self.resumable = bool(meta["resumable"])
        self.spins = bool(meta["spins"])
        self.lanes = int(meta["lanes"])
        self.alike = bool(meta["alike"])
        self.gang = bool(meta["gang"])


#: What all kernels share, by the key of the machine that it is compiled for.
_support: Final[dict[str, Loaded]] = {}
_support_lock: Final = threading.Lock()


def _ready(code: bytes, meta: dict[str, Any], store: KernelStore | None) -> _Ready:
    """Link a kernel with what all kernels share."""
    shared = _shared_functions(store)
    imports = {name: shared[name] for name in _IMPORTED}
    return _Ready(Loaded(code, [str(s) for s in meta["symbols"]], imports), meta, shared["dl_run"])


def _shared_functions(store: KernelStore | None) -> dict[str, int]:
    """The addresses of the functions that all kernels share; compiled or taken from the store once in a process."""
    with _support_lock:
        known = _support.get(host().key)
        if known is None:
            if faults.available() and not _support:
                faults.begin(_linked(faults.native(), faults.SYMBOLS, store))
            text = support(host().is_x86)
            known = _support[host().key] = _linked(text, [*_IMPORTED, "dl_run"], store)
        return known.addresses


def _linked(text: str, symbols: list[str], store: KernelStore | None) -> Loaded:
    """LLVM IR that no kernel changes, compiled or taken from the store."""
    key = hashlib.sha256(f"support\0{VERSION}\0{host().key}\0{text}".encode()).hexdigest()
    code = None if store is None else store.get(key)
    if code is None:
        code = object_code(text)
        if store is not None:
            store.put(key, code)
    return Loaded(code, symbols)


def _llvm_failure(refusal: RuntimeError, kernel: str) -> LaunchError:
    """What a user is told when LLVM takes the code of a kernel for wrong, or cannot link it."""
    return LaunchError(
        f"LLVM fails on the code of this kernel: {str(refusal).rstrip()}\n  compiled for: {host().feature_text}", kernel
    )


class Program:
    """The kernels of ``module`` on the CPU, compiled from what ``passes`` make of it. ``check`` makes every access
    bounds-checked; ``races``, with it, looks for data races."""

    def __init__(
        self,
        module: Module,
        store: KernelStore | None = None,
        check: bool = False,
        passes: Passes | None = None,
        races: bool = False,
    ) -> None:
        self.module = module
        self.races = races
        self.store = store
        self.check = check
        self.passes = passes
        self._text_hash = hashlib.sha256(str(module).encode()).hexdigest()
        self._ready: dict[tuple[str, str], _Ready] = {}
        self._layouts: dict[tuple[str, tuple[int, int, int], str], str] = {}
        self._lock = threading.Lock()
        self._memory: list[Memory] = []
        #: What kernels took with malloc and did not free, by address; shared by the launches of this program.
        self.heap: dict[int, Memory] = {}

    # -- compiling ---------------------------------------------------------------------------------------

    def llvm(self, kernel: str, block: tuple[int, int, int] = (32, 1, 1), optimised: bool = False) -> str:
        """The LLVM IR of a kernel for blocks of this shape, as lowered or after the optimiser."""
        text = self._lower(kernel, self._layout(kernel, block)).text
        try:
            return str(optimise(text)) if optimised else text
        except RuntimeError as refusal:
            raise _llvm_failure(refusal, kernel) from refusal

    def _layout(self, kernel: str, block: tuple[int, int, int]) -> str:
        """The layout for blocks of this shape: at once where that gains something, else warp by warp."""
        lanes = lanes_wanted()
        if self.check or lanes in ("1", "32"):
            return layout_of(block)
        if lanes == "block":
            return whole(block) or layout_of(block)
        known = self._layouts.get((kernel, block, lanes))
        if known is None:
            known = self._layouts[kernel, block, lanes] = self._chosen_layout(kernel, block, lanes)
        return known

    def _chosen_layout(self, kernel: str, block: tuple[int, int, int], lanes: str) -> str:
        function = self.module.functions.get(kernel)
        if function is None or not function.has_body:
            return layout_of(block)
        if not lanes and gains_at_once(function) and whole(block):
            return whole(block)
        features = host().features
        if lanes:
            return f"gang{lanes}" if gang_for(self.module, function, features) else layout_of(block)
        return suited_layout(self.module, function, block, features)

    def _lower(self, kernel: str, layout: str) -> KernelCode:
        machine = host()
        lanes = lanes_wanted()
        module = self.module if self.passes is None else self.passes.reached_from(kernel)
        return compile_kernel(
            module, kernel, layout, self.check, machine.features, machine.is_x86, lanes == "1", lanes == "block"
        )

    def _prepare(self, kernel: str, layout: str) -> tuple[_Ready, bool]:
        """The callable kernel, and whether it was compiled before."""
        known = self._ready.get((kernel, layout))
        if known is not None:
            return known, True
        with self._lock:
            known = self._ready.get((kernel, layout))
            if known is not None:
                return known, True
            by_lane = lanes_wanted()
            parts = [
                VERSION, fingerprint("cpu"), host().key, str(level()), self._text_hash, kernel, layout,
                str(self.check), by_lane, "" if self.passes is None else self.passes.key,
            ]  # fmt: skip
            key = hashlib.sha256("\0".join(parts).encode()).hexdigest()
            ready = self._from_store(key)
            cached = ready is not None
            if ready is None:
                ready = self._compile(key, kernel, layout)
            self._ready[(kernel, layout)] = ready
            return ready, cached

    def _from_store(self, key: str) -> _Ready | None:
        data = None if self.store is None else self.store.get(key)
        if data is None:
            return None
        try:
            size = struct.unpack_from("<I", data)[0]
            meta = json.loads(data[4 : 4 + size])
            return _ready(data[4 + size :], meta, self.store)
        except (struct.error, ValueError, KeyError, RuntimeError):
            return None  # not ours, or of another make: compile again and overwrite it

    def _compile(self, key: str, kernel: str, layout: str) -> _Ready:
        code = self._lower(kernel, layout)
        meta = {
            "frame_bytes": code.frame_bytes,
            "local_bytes": code.local_bytes,
            "thread_bytes": code.thread_bytes,
            "shared_bytes": code.shared_bytes,
            "resumable": code.resumable,
            "spins": code.spins,
            "lanes": code.lanes,
            "alike": code.alike,
            "gang": code.gang,
            "symbols": code.symbols,
        }
        try:
            image = object_code(code.text)
            ready = _ready(image, meta, self.store)
        except RuntimeError as refusal:
            raise _llvm_failure(refusal, kernel) from refusal
        if self.store is not None:
            head = json.dumps(meta, sort_keys=True).encode()
            self.store.put(key, struct.pack("<I", len(head)) + head + image)
        return ready

    def take_memory(self, size: int) -> Memory:
        """Working memory of at least ``size`` bytes: that of an earlier launch if it fits."""
        with self._lock:
            known = self._memory.pop() if self._memory else None
        return known if known is not None and known.nbytes >= size else np.empty(size, dtype=np.uint8)

    def give_memory(self, memory: Memory) -> None:
        """Keep a launch's memory for the next, unless it is large."""
        if memory.nbytes <= _KEEP_BYTES:
            with self._lock:
                self._memory = [memory]

    # -- launching ---------------------------------------------------------------------------------------

    def launch(
        self,
        kernel: str,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        shared_bytes: int,
        params: bytes,
        image_base: int,
        buffers: list[tuple[int, int]],
        threads: int = 0,
        stdout: Callable[[str], object] | None = None,
    ) -> LaunchStats:
        """Run ``kernel`` and return when it is done.

        ``grid`` and ``block`` are (x, y, z); ``shared_bytes`` is dynamic shared memory; ``params`` the raw
        parameter block; ``image_base`` the address of the module's variables; ``buffers`` the (address, size)
        ranges that checks accept. ``threads`` is the number of cores, 0 for all. ``stdout`` takes what the
        kernel prints.

        Raises ``KernelFault`` and its kin, with the PTX line; ``KeyboardInterrupt`` stops the kernel.
        """
        begin = time.perf_counter()
        ready, cached = self._prepare(kernel, self._layout(kernel, block))
        compiled = time.perf_counter()
        run = _Run(self, kernel, ready, grid, block, shared_bytes, params, image_base, buffers, stdout)
        run.start(threads or available_cores())
        return LaunchStats(compiled - begin, time.perf_counter() - compiled, cached)


def available_cores() -> int:
    """The cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


class _Run:
    """One launch: its record in memory, its workers, its outcome."""

    def __init__(
        self,
        program: Program,
        kernel: str,
        ready: _Ready,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        dynamic_bytes: int,
        params: bytes,
        image_base: int,
        buffers: list[tuple[int, int]],
        stdout: Callable[[str], object] | None,
    ) -> None:
        self.program = program
        self.kernel = kernel
        self.ready = ready
        self.grid = grid
        self.block = block
        self.stdout = stdout
        self.printed = threading.Lock()
        self.failed_message = ""
        self.fault: faults.Fault | None = None
        self.params = np.frombuffer(params or b"\0", dtype=np.uint8).copy()
        # A kernel may take the address of a parameter and hand it on.
        readable = _merged([*buffers, (self.params.ctypes.data, len(self.params))])
        threads = block[0] if ready.alike else block[0] * block[1] * block[2]
        blocks = grid[0] * grid[1] * grid[2]
        lanes = ready.lanes
        rows = threads // block[0] if ready.gang else 1
        row_units = -(-threads // (rows * lanes))
        units = row_units * rows
        self.blocks = blocks
        shared = ready.shared_bytes + dynamic_bytes
        stride = align_up(8 * abi.STATE_FRAME + ready.frame_bytes, 64)
        states = align_up(8 * abi.SLOT_WORDS, 64)
        shared_at = align_up(states + (units * stride if ready.resumable else 0), 128)
        local_at = align_up(shared_at + shared, abi.LOCAL_ALIGNMENT)
        self.slot_bytes = align_up(local_at + (ready.local_bytes + ready.thread_bytes) * units * lanes, 4096) + 128
        self.slots = 1
        if ready.spins:
            self.slots = max(1, min(_SLOTS_WHEN_SPINNING, blocks, _SLOT_BUDGET_BYTES // self.slot_bytes))
        record = np.zeros(abi.LAUNCH_WORDS, dtype=np.int64)
        record[abi.LAUNCH_PARAMS] = self.params.ctypes.data
        record[abi.LAUNCH_IMAGE] = _signed(image_base)
        record[abi.LAUNCH_GRID : abi.LAUNCH_GRID + 3] = grid
        record[abi.LAUNCH_BLOCK : abi.LAUNCH_BLOCK + 3] = block
        record[abi.LAUNCH_THREADS] = threads
        record[abi.LAUNCH_UNITS] = units
        record[abi.LAUNCH_ROW_UNITS] = row_units
        record[abi.LAUNCH_SHARED] = shared
        record[abi.LAUNCH_DYNAMIC] = dynamic_bytes
        record[abi.LAUNCH_BLOCKS] = blocks
        record[abi.LAUNCH_LOCAL] = ready.local_bytes
        record[abi.LAUNCH_STATE_STRIDE] = stride
        record[abi.LAUNCH_BUFFER_COUNT] = len(readable)
        record[abi.LAUNCH_SLOT_STRIDE] = self.slot_bytes
        record[abi.LAUNCH_SLOT_STATES] = states
        record[abi.LAUNCH_SLOT_SHARED] = shared_at
        record[abi.LAUNCH_SLOT_LOCAL] = local_at
        record[abi.LAUNCH_LANES] = lanes
        record[abi.LAUNCH_KERNEL] = _signed(ready.kernel)
        record[abi.LAUNCH_RESOLVE] = _signed(ready.resolve)
        cells = self.watch(readable, record) if program.races else [0] * len(readable)
        self.ranges = np.array([(*r, c) for r, c in zip(readable, cells, strict=True)], dtype=np.uint64).reshape(-1)
        record[abi.LAUNCH_BUFFERS] = self.ranges.ctypes.data
        self.record = record
        called = (self.on_printf, self.on_assert, self.on_malloc, self.on_free)
        self.callbacks = [_Callback(faults.outside(f)) for f in called]
        for word, callback in zip(range(abi.LAUNCH_PRINTF, abi.LAUNCH_FREE + 1), self.callbacks, strict=True):
            record[word] = _signed(ctypes.cast(callback, ctypes.c_void_p).value or 0)

    def watch(self, ranges: list[tuple[int, int]], record: npt.NDArray[np.int64]) -> list[int]:
        """Where the cells of each range begin, for a launch that looks for races."""
        slot_bytes = align_up(races.BLOCK_BYTES + races.cell_bytes(0, int(record[abi.LAUNCH_SHARED])), 64)
        sizes = [races.cell_bytes(begin, size) for begin, size in ranges]
        # Untouched pages cost nothing.
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | (_MAP_NORESERVE if sys.platform == "linux" else 0)
        total = slot_bytes * self.slots + sum(sizes)
        try:
            self.cells = np.frombuffer(mmap.mmap(-1, total, flags=flags), np.uint8)
        except (OSError, OverflowError, ValueError) as refusal:
            raise LaunchError(f"no {total} bytes of address space to look for races with", self.kernel) from refusal
        base = self.cells.ctypes.data
        record[abi.LAUNCH_RACES] = _signed(base)
        record[abi.LAUNCH_RACES_STRIDE] = slot_bytes
        record[abi.LAUNCH_TIME] = 1
        starts = [base + slot_bytes * self.slots]
        for size in sizes:
            starts.append(starts[-1] + size)
        return starts[:-1]

    def start(self, cores: int) -> None:
        if self.blocks == 0:
            return
        if self.program.races:
            cores = 1
        workers = max(1, min(cores, self.blocks))
        chunk = 1 if self.ready.resumable else max(1, min(_CHUNK, self.blocks // (workers * 16)))
        self.record[abi.LAUNCH_CHUNK] = chunk
        # A kernel that never stops keeps a slot to each worker; blocks of the others may change workers.
        slots = max(workers, self.slots)
        memory = self.slot_memory(slots)
        base = align_up(memory.ctypes.data, 128)
        self.record[abi.LAUNCH_SLOTS] = slots
        self.record[abi.LAUNCH_SLOT_BASE] = _signed(base)
        first = base - memory.ctypes.data
        words = memory[first : first + slots * self.slot_bytes].view(np.int64)
        self.progress_words = words[abi.SLOT_PROGRESS :: self.slot_bytes // 8]
        self.spin_counts = np.zeros(workers * _WORDS_APART, dtype=np.int64)
        counts = self.spin_counts.ctypes.data
        address = self.record.ctypes.data
        worker = self.ready.worker
        stops = self.ready.kernel != 0

        def body(index: int) -> None:
            spot = counts + 8 * _WORDS_APART * index if stops else base + index * self.slot_bytes
            fault = worker(address, spot)
            if fault is not None:
                slot = ctypes.c_int64.from_address(spot + 8).value if stops else spot
                self.on_fault(fault, ctypes.c_int64.from_address(slot + 8 * abi.SLOT_BLOCK).value, -1)

        faults.arm(self.program.check)
        job = Job(body, workers)
        try:
            pool().start(job)
            self.wait(job, workers)
        except BaseException:
            self.record[abi.LAUNCH_CANCEL] = 1
            job.abandon()
            raise
        finally:
            self.program.give_memory(memory)
        self.raise_error()

    def slot_memory(self, slots: int) -> Memory:
        """Working memory for ``slots`` blocks in flight; their heads must be 0."""
        size = slots * self.slot_bytes + abi.SLOT_MARGIN + abi.LOCAL_ALIGNMENT
        memory = self.program.take_memory(size)
        start = align_up(memory.ctypes.data, abi.LOCAL_ALIGNMENT) - memory.ctypes.data
        heads = memory[start : start + slots * self.slot_bytes].reshape(slots, self.slot_bytes)
        heads[:, : 8 * abi.SLOT_WORDS] = 0
        return memory

    def wait(self, job: Job, workers: int) -> None:
        """Wait for the workers. A launch in which, look after look, every worker has spun again and nothing else
        has moved, no further block begun either, is a deadlock."""
        progress = -1
        spins = [0] * workers
        since = time.monotonic()
        while not job.wait(_WATCH_SECONDS):
            if not self.ready.spins:
                continue
            now = [int(count) for count in self.spin_counts[::_WORDS_APART]]
            seen = int(self.progress_words.sum()) + int(self.record[abi.LAUNCH_NEXT])
            stuck = seen == progress and all(w < 0 or w != before for w, before in zip(now, spins, strict=True))
            progress, spins = seen, now
            if not stuck:
                since = time.monotonic()
            elif time.monotonic() - since > SPIN_LIMIT_SECONDS:
                if int(self.record[abi.LAUNCH_ERROR]) == 0:
                    self.record[abi.LAUNCH_ERROR] = abi.ERROR_SPIN
                self.record[abi.LAUNCH_CANCEL] = 1
                since = time.monotonic()

    # -- what the kernel calls ---------------------------------------------------------------------------

    def on_printf(self, format: int, arguments: int, _2: int, _3: int, block: int, thread: int) -> int:
        try:
            pattern = faults.read_string(format)
            size = argument_bytes(pattern)
            text = format_vprintf(pattern, faults.read(arguments, size) if size else b"", faults.read_string)
            with self.printed:
                if self.stdout is not None:
                    self.stdout(text)
                else:
                    sys.stdout.write(text)
            return len(text)
        except faults.UnreadableError as unreadable:
            self.on_fault(unreadable.fault, block, thread)
            return -1
        except Exception as error:
            self.failed_message = f"printf failed: {error}"
            return -1

    def on_assert(self, message: int, file: int, line: int, function: int, _block: int, _thread: int) -> int:
        with self.printed:
            if not self.failed_message:
                where = f"{_c_string(file)}:{line & 0xFFFFFFFF}: {_c_string(function)}"
                self.failed_message = f"{where}: assertion '{_c_string(message)}' failed"
        return 0

    def on_fault(self, fault: faults.Fault, block: int, thread: int) -> None:
        """Note a signal that the kernel raised, unless another error came first; ``thread`` is -1 if unknown."""
        word = self.record.ctypes.data
        with self.printed:
            if faults.claim(word + 8 * abi.LAUNCH_ERROR, abi.ERROR_SIGNAL, word + 8 * abi.LAUNCH_CANCEL):
                self.fault = fault
                self.record[abi.LAUNCH_ERROR_BLOCK] = block
                self.record[abi.LAUNCH_ERROR_THREAD] = thread

    def on_malloc(self, size: int, *_rest: int) -> int:
        memory = np.zeros(max(size, 1) + 16, dtype=np.uint8)
        address = align_up(memory.ctypes.data, 16)
        with self.printed:
            self.program.heap[address] = memory
        return address

    def on_free(self, address: int, *_rest: int) -> int:
        with self.printed:
            self.program.heap.pop(address & 0xFFFFFFFFFFFFFFFF, None)
        return 0

    # -- the outcome -------------------------------------------------------------------------------------

    def spinning(self) -> str:
        """What to say when nothing but spinning goes on."""
        waited = f"nothing has moved for {SPIN_LIMIT_SECONDS:g} s"
        left = self.blocks - int(self.record[abi.LAUNCH_NEXT])
        if left <= 0:
            return f"deadlock: every block only spins, and {waited}"
        return (
            f"deadlock: the first {self.slots} blocks, as many as can be under way at a time, only spin, and {waited}; "
            f"{left} have not begun"
        )

    def race(self) -> str:
        """What two accesses did to each other."""
        record = self.record
        module = self.program.module
        access = int(record[abi.LAUNCH_OTHER_ACCESS])
        place = int(record[abi.LAUNCH_ERROR_ADDRESS]) & 0xFFFFFFFFFFFFFFFF
        size = int(record[abi.LAUNCH_ERROR_SIZE])
        what = f"{size} bytes" if size > 1 else "1 byte"
        where = f"at byte {place} of shared memory" if access & abi.RACE_IN_SHARED else f"at 0x{place:x}"
        now = "written" if access & abi.RACE_NOW_WRITES else "read"
        then = "written" if access & abi.RACE_THEN_WROTE else "read"
        thread = _split(int(record[abi.LAUNCH_OTHER_THREAD]), self.block)
        block = _split(int(record[abi.LAUNCH_OTHER_BLOCK]), self.grid)
        positions = [int(record[abi.LAUNCH_OTHER_POS]), int(record[abi.LAUNCH_ERROR_POS])]
        line = module.position(positions[0])[0]
        message = (
            f"data race: {what} {where} {'are' if size > 1 else 'is'} {now} while thread {thread} of block {block} has "
            f"{then} {'them' if size > 1 else 'it'} at line {line}, unordered by any barrier"
        )
        sources = [source_line(module, position) for position in positions]
        return message + (f" (source: {then} at {sources[0]}, {now} at {sources[1]})" if all(sources) else "")

    def raise_error(self) -> None:
        code = int(self.record[abi.LAUNCH_ERROR])
        if code == 0:
            return
        module = self.program.module
        line = 0 if self.fault is not None else module.position(int(self.record[abi.LAUNCH_ERROR_POS]))[0]
        text = module.source_line(line)
        number = int(self.record[abi.LAUNCH_ERROR_BLOCK])
        index = int(self.record[abi.LAUNCH_ERROR_THREAD])
        thread = _split(index, self.block) if index >= 0 else None
        block = _split(number, self.grid)
        name = self.kernel
        if code in (abi.ERROR_BOUNDS, abi.ERROR_ALIGNMENT):
            address = int(self.record[abi.LAUNCH_ERROR_ADDRESS]) & 0xFFFFFFFFFFFFFFFF
            size = int(self.record[abi.LAUNCH_ERROR_SIZE])
            what = "access outside every buffer" if code == abi.ERROR_BOUNDS else "misaligned access"
            raise MemoryAccessError(what, name, module.filename, line, text, block, thread, address, size)
        if code == abi.ERROR_RACE:
            raise RaceError(self.race(), name, module.filename, line, text, block, thread)
        if code == abi.ERROR_BARRIER:
            message = "deadlock: a barrier waits for warps that never reach it"
            raise DeadlockError(message, name, module.filename, line, text, block, thread)
        if code == abi.ERROR_SPIN:
            raise DeadlockError(self.spinning(), name, module.filename)
        if code == abi.ERROR_APART:
            message = (
                "lanes that the member mask names wait elsewhere in the warp, and the cpu device cannot stop in a "
                "function that is recursive or called indirectly"
            )
            raise DeadlockError(message, name, module.filename, line, text, block, thread)
        if code == abi.ERROR_DIVERGED:
            message = "deadlock: lanes that the member mask names never come, or the mask leaves out its own lane"
            raise DeadlockError(message, name, module.filename, line, text, block, thread)
        if self.fault is not None and self.fault.in_memory and not self.fault.overflow:
            message = str(self.fault) + ("" if self.program.check else _HOW_TO_FIND)
            raise MemoryAccessError(message, name, module.filename, 0, "", block, thread, self.fault.address or 0)
        message = {
            abi.ERROR_SIGNAL: _STACK_OVERFLOW if self.fault is None or self.fault.overflow else str(self.fault),
            abi.ERROR_BRKPT: "the kernel stopped at brkpt: there is no debugger",
            abi.ERROR_TRAP: "the kernel executed trap",
            abi.ERROR_ASSERT: self.failed_message or "assertion failed",
            abi.ERROR_CALL: "indirect call to an address that is no function",
            abi.ERROR_STACK: _STACK_OVERFLOW,
            abi.ERROR_LOCAL: f"stack overflow: alloca takes more than the {abi.DYNAMIC_STACK >> 10} KiB of a thread",
            abi.ERROR_RESTORE: "stackrestore to an address that stacksave did not give",
            abi.ERROR_BARRIER_ID: "barrier number is over 15",
        }.get(code, f"error {code}")
        raise KernelFault(message, name, module.filename, line, text, block, thread)


def _split(number: int, extent: tuple[int, int, int]) -> tuple[int, int, int]:
    x, y = extent[0], extent[1]
    return (number % x, number // x % y, number // (x * y))


def _merged(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The ranges (address, bytes) in order, those that overlap as one: views of one array do."""
    out: list[tuple[int, int]] = []
    for begin, size in sorted(ranges):
        if out and begin < out[-1][0] + out[-1][1]:
            first, bytes_ = out.pop()
            out.append((first, max(bytes_, begin + size - first)))
        else:
            out.append((begin, size))
    return out


def _signed(address: int) -> int:
    return address - (1 << 64) if address >> 63 else address


def _c_string(address: int) -> str:
    try:
        return faults.read_string(address).decode("utf-8", "replace") if address else ""
    except faults.UnreadableError:
        return "?"


__all__ = ["KernelStore", "LaunchError", "LaunchStats", "Program", "available_cores"]
