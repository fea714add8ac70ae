"""``cp.async`` and ``mbarrier`` to handlers (PTX ISA 9.0 sections 9.7.9.25.3 and 9.7.13.15).

What a copy reads is read when it is issued; it is written as late as it may be, where its thread waits for it or hands
it to a barrier, so that a program which does not wait sees that. A barrier's word has the layout of
``drawloom.ptx.asynchronous``.
"""

from __future__ import annotations

from typing import Final

from drawloom.ptx.asynchronous import ARRIVALS, BYTES, BYTES_AT, EXPECTED, EXPECTED_AT, PHASE_AT, PHASES
from drawloom.ptx.ir import Immediate, Instruction, Not, Operand
from drawloom.ptx.types import PRED, U32, U64
from drawloom.reference.decode import Builder, Decoder
from drawloom.reference.memory import SHARED_WINDOW, WINDOW_SIZE, Fault, check_alignment, space_of
from drawloom.reference.threads import YIELD, Handler, PendingCopy, Registers, Thread

_WORD: Final = (1 << 64) - 1
_BARRIER_BYTES: Final = 8


def _copy(d: Decoder, i: Instruction) -> Handler:
    operation = i.opcode.operation
    if operation == "mbarrier":
        return _arrive_with_copies(d, i)
    if operation:
        return _wait(i)
    to, to_offset, to_mask = d.address(i.operands[0], "shared")
    source, source_offset, source_mask = d.address(i.operands[1], "global")
    size = i.operands[2]
    assert isinstance(size, Immediate)
    whole = size.value
    memory = d.launch.memory
    rest = i.operands[3:-1] if i.opcode.has("L2::cache_hint") else i.operands[3:]
    limit, ignored = d.constant(whole), d.constant(0)
    if rest and _is_predicate(rest[0]):
        ignored = d.source(rest[0], PRED)
    elif rest:
        limit = d.source(rest[0], U32)

    def step(r: Registers, t: Thread) -> None:
        address = (r[to] + to_offset & to_mask) & WINDOW_SIZE - 1  # type: ignore[operator]
        count = 0 if r[ignored] else min(r[limit] + 0, whole)  # type: ignore[operator]
        value = 0
        start = r[source] + source_offset & source_mask  # type: ignore[operator]
        if count:
            check_alignment(start, whole, "global")
        for at in range(count):
            value |= memory.load(start + at, 1) << 8 * at
        t.block.shared.load(address, whole)  # it has to lie there, and be aligned
        t.copies[-1].append(PendingCopy(address, whole, value, i))

    return step


def _is_predicate(operand: Operand) -> bool:
    held = operand.register if isinstance(operand, Not) else operand
    return held.signature == "pred"


def _finish(t: Thread, kept: int) -> None:
    """Write what the groups of copies but the last ``kept`` bring."""
    while len(t.copies) > kept:
        for copy in t.copies.pop(0):
            t.block.shared.write(t.clock, copy.address, copy.size, copy.value, False, copy.where)


def _finish_all(t: Thread) -> None:
    _finish(t, 0)
    t.copies.append([])


def _wait(i: Instruction) -> Handler:
    """``commit_group``, ``wait_group``, ``wait_all``: the last group of ``Thread.copies`` is the open one."""
    operation = i.opcode.operation
    operand = i.operands[0] if i.operands else None
    left = operand.value if isinstance(operand, Immediate) else 0

    def commit(r: Registers, t: Thread) -> None:
        t.copies.append([])

    def wait_group(r: Registers, t: Thread) -> None:
        _finish(t, left + 1)

    def wait_all(r: Registers, t: Thread) -> None:
        _finish_all(t)

    return {"commit_group": commit, "wait_group": wait_group, "wait_all": wait_all}[operation]


def _arrive_with_copies(d: Decoder, i: Instruction) -> Handler:
    """The copies so far arrive at the barrier when they are done; without ``.noinc`` it is told of one more."""
    access = _Accessor(d, i, i.operands[0])
    counted = 1 if i.opcode.has("noinc") else 0

    def step(r: Registers, t: Thread) -> None:
        _finish_all(t)
        access(r, t, counted, 0, 0)

    return step


def changed(word: int, arrivals: int, dropped: int, expected_bytes: int) -> int:
    """A barrier's word after so many arrivals, of threads that will not come again, and more bytes to wait for."""
    pending = (word & ARRIVALS) - arrivals
    expected = (word >> EXPECTED_AT & ARRIVALS) - dropped
    if pending < 0 or expected < 0:
        raise Fault(f"{arrivals} arrivals at a barrier in memory that waits for {word & ARRIVALS}")
    waited = (word >> BYTES_AT) + expected_bytes << BYTES_AT & BYTES
    phase = word & PHASES
    if pending == 0 and waited == 0:
        pending = expected
        phase = phase + (1 << PHASE_AT) & _WORD
    return phase | waited | expected << EXPECTED_AT & EXPECTED | pending


class _Accessor:
    """Reads or changes the barrier that an operand addresses."""

    def __init__(self, d: Decoder, i: Instruction, operand: Operand) -> None:
        self.i = i
        self.fixed = "shared" if i.opcode.space else ""
        self.base, self.offset, self.mask = d.address(operand, self.fixed)

    def place(self, r: Registers, t: Thread) -> int:
        """The barrier's address in shared memory."""
        address: int = r[self.base] + self.offset & self.mask  # type: ignore[operator]
        if not self.fixed and space_of(address) != "shared":
            raise Fault(f"a barrier in {space_of(address)} memory: it must be in shared memory")
        return address & WINDOW_SIZE - 1

    def read(self, r: Registers, t: Thread) -> int:
        at = self.place(r, t)
        t.block.locations.read(t.clock, at | SHARED_WINDOW, True)
        return t.block.shared.read(t.clock, at, _BARRIER_BYTES, True, self.i)

    def write(self, r: Registers, t: Thread, word: int) -> None:
        at = self.place(r, t)
        t.block.locations.write(t.clock, at | SHARED_WINDOW, True, True)
        t.block.shared.write(t.clock, at, _BARRIER_BYTES, word, True, self.i)

    def __call__(self, r: Registers, t: Thread, arrivals: int, dropped: int, expected_bytes: int) -> int:
        """Change it; the word before."""
        at = self.place(r, t)
        t.block.locations.read(t.clock, at | SHARED_WINDOW, True)
        old = t.block.shared.load(at, _BARRIER_BYTES)
        self.write(r, t, changed(old, arrivals, dropped, expected_bytes))
        return old


def _barrier(d: Decoder, i: Instruction) -> Handler:
    operation = i.opcode.operation
    if operation in ("arrive", "arrive_drop"):
        return _arrive(d, i)
    if operation in ("test_wait", "try_wait"):
        return _test(d, i)
    operands = i.operands
    if operation == "pending_count":
        to, state = d.destination(operands[0]), d.source(operands[1], U64)

        def pending(r: Registers, t: Thread) -> None:
            r[to] = r[state] & ARRIVALS  # type: ignore[operator]

        return pending
    access = _Accessor(d, i, operands[0])
    if operation == "inval":
        return lambda r, t: None
    number = d.source(operands[1], U32)
    if operation == "init":

        def init(r: Registers, t: Thread) -> None:
            count = r[number] & ARRIVALS  # type: ignore[operator]
            access.write(r, t, count << EXPECTED_AT | count)

        return init
    sign = 1 if operation == "expect_tx" else -1

    def transfer(r: Registers, t: Thread) -> None:
        access(r, t, 0, 0, sign * r[number])  # type: ignore[operator]

    return transfer


def _arrive(d: Decoder, i: Instruction) -> Handler:
    to = d.destination(i.operands[0])
    access = _Accessor(d, i, i.operands[1])
    number = d.source(i.operands[2], U32) if len(i.operands) > 2 else d.constant(1)
    expects = i.opcode.has("expect_tx")
    drops = i.opcode.operation == "arrive_drop"

    def step(r: Registers, t: Thread) -> None:
        given: int = r[number] + 0  # type: ignore[operator]
        arrivals = 1 if expects else given
        r[to] = access(r, t, arrivals, arrivals if drops else 0, given if expects else 0)

    return step


def _test(d: Decoder, i: Instruction) -> Handler:
    to = d.destination(i.operands[0])
    access = _Accessor(d, i, i.operands[1])
    parity = i.opcode.has("parity")
    state = d.source(i.operands[2], U32 if parity else U64)

    def step(r: Registers, t: Thread) -> int | None:
        phase = access.read(r, t) >> PHASE_AT
        given: int = r[state] + 0  # type: ignore[operator]
        done = (phase ^ given) & 1 if parity else int(phase != given >> PHASE_AT)
        r[to] = done
        return None if done else YIELD

    return step


ASYNCHRONOUS_BUILDERS: Final[dict[str, Builder]] = {"cp.async": _copy, "mbarrier": _barrier}
