"""Control flow: branches, calls, returns, exits, convergence barriers, and the barriers of a block."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from drawloom.sass.interpreter.basics import FULL, Fault, Row, anybody, mask_of
from drawloom.sass.interpreter.operation import Builder, Operation, Read
from drawloom.sass.interpreter.state import AT_BARRIER, AT_COLLECTIVE, AT_SYNC, AT_WARPSYNC, PARTED, Step, Warp

Condition = Callable[[Warp, Row], Row]


def executing(operation: Operation) -> Condition:
    """The lanes for which the instruction does what it does."""
    lanes = operation.guard_lanes()
    return lanes if lanes is not None else lambda w, m: m


def go(w: Warp, taken: int, target: int, place: int) -> int | None:
    """Some lanes of the running group go to `target`, the others on behind `place`."""
    mask = w.running.mask
    if taken == mask:
        return target
    if not taken:
        return None
    return w.part([(mask & ~taken, place + 1), (taken, target)])


def branch(operation: Operation) -> Step:
    """BRA, on its guard and on predicates among its operands; .DIV goes where lanes of a mask are elsewhere."""
    operation.only("DIV", "U")
    label = len(operation.operands) - 1
    target = operation.index_of(operation.following + operation.operands[label].value)
    place, lanes = operation.place, executing(operation)
    if operation.has("DIV"):
        mask = operation.word(0, False)

        def divergent(w: Warp, m: Row) -> int | None:
            here = mask_of(lanes(w, m))
            apart = int(mask(w)[0]) & w.live & ~w.running.mask
            return go(w, here if apart else 0, target, place)

        return divergent
    if operation.has("U") or label > 1:
        raise operation.unsupported()
    if label == 1:
        condition = operation.predicate(0)
        return lambda w, m: go(w, mask_of(lanes(w, m) & condition(w)), target, place)
    if operation.guard_lanes() is None:
        return lambda w, m: target
    return lambda w, m: go(w, mask_of(lanes(w, m)), target, place)


def indirect(operation: Operation) -> Step:
    """BRX, and CALL and RET of an address: `R6 L` is the address in a pair relative to the label."""
    operation.only("REL", "NOINC", "NODEC")
    operand = operation.operands[0]
    if operand.kind in ("L", "I") and operation.base == "CALL":
        return branch_to_label(operation)
    if operand.kind != "pair" or operand.numbers[0].kind != "R":
        raise operation.unsupported("a target that is not in a register")
    base = operation.pair("R", operand.numbers[0].value)
    offset = operation.following + operand.numbers[1].value
    lanes, place = executing(operation), operation.place

    def run(w: Warp, m: Row) -> int | None:
        going = lanes(w, m)
        taken = mask_of(going)
        if not taken:
            return None
        rest = w.running.mask & ~taken
        targets = base(w).astype(np.int64)[going] + offset
        pieces = [(rest, place + 1)] if rest else []
        numbers = np.flatnonzero(going)
        for address in sorted(set(targets.tolist())):
            members = sum([1 << lane for lane in numbers[targets == address].tolist()])
            pieces.append((members, operation.index_of(address)))
        return pieces[0][1] if len(pieces) == 1 else w.part(pieces)

    return run


def branch_to_label(operation: Operation) -> Step:
    """A direct call: the return address is in registers already."""
    target = operation.index_of(operation.following + operation.operands[0].value)
    lanes, place = executing(operation), operation.place
    return lambda w, m: go(w, mask_of(lanes(w, m)), target, place)


def leave(operation: Operation) -> Step:
    """EXIT."""
    operation.only()
    lanes = executing(operation)

    def run(w: Warp, m: Row) -> int | None:
        gone = mask_of(lanes(w, m))
        if not gone:
            return None
        everybody = gone == w.running.mask
        w.leave(gone)
        return PARTED if everybody else None

    return run


def set_up(operation: Operation) -> Step:
    """BSSY: the lanes that execute it are those that will meet. Its label is behind the BSYNC."""
    operation.only()
    barrier, lanes = operation.operands[0].value, executing(operation)

    def run(w: Warp, m: Row) -> None:
        mask = mask_of(lanes(w, m))
        for lane in range(32):
            if mask >> lane & 1:
                w.b[barrier][lane] = mask

    return run


def meet(operation: Operation) -> Step:
    """BSYNC: waits for the lanes that set the barrier up, but for those that broke out or exited."""
    operation.only()
    barrier, lanes, place = operation.operands[0].value, executing(operation), operation.place

    def run(w: Warp, m: Row) -> int | None:
        mask = mask_of(lanes(w, m))
        if not mask:
            return None
        awaited = w.b[barrier][(mask & -mask).bit_length() - 1]
        if mask & ~awaited:
            raise Fault(f"lanes 0x{mask:x} wait at barrier B{barrier}, which was set up for 0x{awaited:x}")
        if not awaited & w.live & ~mask:
            return None
        return w.wait(mask, AT_SYNC, place + 1, awaited, barrier)

    return run


def break_out(operation: Operation) -> Step:
    """BREAK: nobody is to wait for these lanes at the barrier any more."""
    operation.only()
    barrier, lanes = operation.operands[-1].value, executing(operation)
    condition = operation.predicate(0) if operation.is_predicate(0) else None

    def run(w: Warp, m: Row) -> None:
        chosen = lanes(w, m)
        mask = mask_of(chosen if condition is None else chosen & condition(w))
        if not mask:
            return
        masks = w.b[barrier]
        together = masks[(mask & -mask).bit_length() - 1]
        for lane in range(32):
            if together >> lane & 1:
                masks[lane] &= ~mask

    return run


def move_barrier(operation: Operation) -> Step:
    """BMOV.32 between a convergence barrier and a register; .CLEAR empties the barrier."""
    operation.only("32", "CLEAR")
    target, source = operation.operands
    lanes = executing(operation)
    if target.kind == "B":
        read = operation.word(1)

        def restore(w: Warp, m: Row) -> None:
            values = read(w).tolist()
            for lane in np.flatnonzero(lanes(w, m)).tolist():
                w.b[target.value][lane] = values[lane]

        return restore
    write, clears = operation.destination(), operation.has("CLEAR")

    def save(w: Warp, m: Row) -> None:
        chosen = lanes(w, m)
        write(w, chosen, np.array(w.b[source.value], np.uint32))
        if clears:
            for lane in np.flatnonzero(chosen).tolist():
                w.b[source.value][lane] = 0

    return save


def warp_sync(operation: Operation) -> Step:
    """WARPSYNC: waits for the lanes of a mask, then they are together. A .COLLECTIVE gathers them only for the
    instructions up to ENDCOLLECTIVE, behind which its label is."""
    operation.only("ALL", "COLLECTIVE")
    collective = operation.has("COLLECTIVE")
    read: Read | None = None if operation.has("ALL") else operation.word(0, False)
    label = operation.index_of(operation.following + operation.operands[-1].value) if collective else -1
    lanes, place = executing(operation), operation.place

    def run(w: Warp, m: Row) -> int | None:
        mask = mask_of(lanes(w, m))
        if not mask:
            return None
        lowest = (mask & -mask).bit_length() - 1
        awaited = FULL if read is None else int(read(w)[lowest])
        if mask & ~awaited:
            raise Fault(f"lanes 0x{mask:x} synchronise with a mask 0x{awaited:x} that does not have them all")
        if not awaited & w.live & ~mask and not collective:
            return None
        state = AT_COLLECTIVE if collective else AT_WARPSYNC
        return w.wait(mask, state, place + 1, awaited, -1, label)

    return run


def end_collective(operation: Operation) -> Step:
    operation.only()

    def run(w: Warp, m: Row) -> int:
        parked = w.running.parked
        if not parked:
            raise Fault("ENDCOLLECTIVE outside of a collective")
        w.running.parked = []
        return w.part(parked)

    return run


def block_barrier(operation: Operation) -> Step:
    """BAR.SYNC, .ARV and .RED. In two registers the barrier is in the low bits of one, the number of threads in the
    upper half of the other; beside an immediate barrier it is the whole register."""
    operation.only("SYNC", "ARV", "RED", "DEFER_BLOCKING", "POPC", "AND", "OR")
    predicate = operation.predicate(len(operation.operands) - 1) if operation.has("RED") else None
    plain = operation.operands[: len(operation.operands) - (predicate is not None)]
    number = operation.word(0, False)
    count = operation.word(1, False) if len(plain) > 1 else None
    shift = 16 if len(plain) > 1 and plain[0].kind == "R" and plain[1].kind == "R" else 0
    reduction = next((m for m in operation.modifiers if m in ("POPC", "AND", "OR")), "")
    lanes, place, waits = executing(operation), operation.place, not operation.has("ARV")

    def run(w: Warp, m: Row) -> int | None:
        chosen = lanes(w, m)
        mask = mask_of(chosen)
        if not mask:
            return None
        lowest = (mask & -mask).bit_length() - 1
        which = int(number(w)[lowest]) & 15
        barrier = w.block.barriers[which]
        if barrier.arrived[w.index] & mask:
            raise Fault(f"lanes 0x{mask:x} arrive twice at barrier {which}")
        threads = int(count(w)[lowest]) >> shift & 0xFFF if count is not None else 0
        if any(barrier.arrived) and (barrier.count != threads or barrier.reduction != reduction):
            raise Fault(f"barrier {which} is used in two ways at once")
        barrier.count, barrier.reduction = threads, reduction
        barrier.arrived[w.index] |= mask
        if predicate is not None:
            barrier.brought[w.index] |= mask_of(chosen & predicate(w))
        return w.wait(mask, AT_BARRIER, place + 1, 0, which) if waits else None

    return run


def barrier_result(operation: Operation) -> Step:
    """B2R.RESULT: what the last BAR.RED of these lanes gave."""
    operation.only("RESULT")
    write = operation.destination()
    test = operation.destination(1) if len(operation.operands) > 1 else None
    lanes = executing(operation)

    def run(w: Warp, m: Row) -> None:
        chosen = lanes(w, m)
        write(w, chosen, w.reduced)
        if test is not None:
            test(w, chosen, w.reduced != 0)

    return run


def trap(operation: Operation) -> Step:
    """BPT.TRAP."""
    lanes = executing(operation)

    def run(w: Warp, m: Row) -> None:
        if anybody(lanes(w, m)):
            raise Fault("trap")

    return run


def nothing(operation: Operation) -> Step:
    """What only orders, delays or prefetches: memory is sequentially consistent here, and there is no time."""

    def run(w: Warp, m: Row) -> None:
        pass

    return run


#: These look after their guards themselves: lanes that do not execute go their own way.
BUILDERS: Final[dict[str, Builder]] = {
    "BRA": branch, "BRX": indirect, "CALL": indirect, "RET": indirect, "EXIT": leave, "BSSY": set_up, "BSYNC": meet,
    "BREAK": break_out, "BMOV": move_barrier, "WARPSYNC": warp_sync, "ENDCOLLECTIVE": end_collective,
    "BAR": block_barrier, "B2R": barrier_result, "BPT": trap,
    **dict.fromkeys(
        "NOP YIELD NANOSLEEP MEMBAR ERRBAR CGAERRBAR FENCE DEPBAR LDGDEPBAR CCTL CCTLL CCTLT PMTRIG".split(), nothing
    ),
}  # fmt: skip
