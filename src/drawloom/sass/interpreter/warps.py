"""What lanes do together, and what they know of themselves: shuffles, votes, matches, reductions, special registers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from drawloom.sass.interpreter.basics import FULL, LANES, Row, mask_of, numbers_of
from drawloom.sass.interpreter.conversions import number_of
from drawloom.sass.interpreter.memory import SHARED_WINDOW
from drawloom.sass.interpreter.operation import Builder, Operation, Read, constant_row
from drawloom.sass.interpreter.state import Step, Warp

LANE: Final[Row] = np.arange(LANES, dtype=np.int64)
#: What a lane gets that reads from one that does not take part: anything.
NOBODY: Final = np.uint32(0xBADC0DE5)


def shuffle(operation: Operation) -> Step:
    """SHFL: `P, d, a, b, c`; P is whether the source lane is in range."""
    operation.only("IDX", "UP", "DOWN", "BFLY")
    mode = operation.modifiers[0]
    test, write = operation.destination(0), operation.destination(1)
    value, distance, bounds = (operation.word(at) for at in (2, 3, 4))

    def run(w: Warp, m: Row) -> None:
        b = distance(w).astype(np.int64) & 31
        c = bounds(w).astype(np.int64)
        segment, clamp = c >> 8 & 31, c & 31
        lowest = LANE & segment
        highest = lowest | clamp & ~segment
        if mode == "UP":
            source = LANE - b
            inside = source >= highest
        else:
            source = {"IDX": lowest | b & ~segment, "DOWN": LANE + b, "BFLY": LANE ^ b}[mode]
            inside = source <= highest
        source = np.where(inside, source, LANE)
        row = value(w)[source]
        row = np.where(m[source], row, NOBODY)
        write(w, m, row)
        test(w, m, inside)

    return run


def vote(operation: Operation) -> Step:
    """VOTE and VOTEU: the mask of lanes where the predicate holds, and whether it holds in any, all, or equally."""
    operation.only("ANY", "ALL", "EQ")
    mode = operation.modifiers[0]
    source = operation.predicate(len(operation.operands) - 1)
    mask_to = None if operation.is_predicate(0) else operation.destination(0)
    test_at = 0 if mask_to is None else 1
    test = operation.destination(test_at) if len(operation.operands) > test_at + 1 else None

    def run(w: Warp, m: Row) -> None:
        mask, there = mask_of(source(w) & m), mask_of(m)
        holds = {"ANY": mask != 0, "ALL": mask == there, "EQ": mask in (0, there)}[mode]
        if mask_to is not None:
            mask_to(w, m, constant_row(mask))
        if test is not None:
            test(w, m, np.full(LANES, holds))

    return run


def match(operation: Operation) -> Step:
    """MATCH.ANY: the lanes with the same value; .ALL: all lanes where they agree, else none."""
    operation.only("ANY", "ALL", "U64")
    at = len(operation.operands) - 1
    read: Read = operation.long(at) if operation.has("U64") else operation.word(at)
    if operation.has("ANY"):
        write = operation.destination()

        def match_any(w: Warp, m: Row) -> None:
            values = read(w)
            same = (values[:, None] == values[None, :]) & m[None, :]
            write(w, m, np.packbits(same, axis=1, bitorder="little").view("<u4")[:, 0])

        return match_any
    test, write = operation.destination(0), operation.destination(1)

    def match_all(w: Warp, m: Row) -> None:
        found = read(w)[m]
        same = bool((found == found[0]).all())
        write(w, m, constant_row(mask_of(m) if same else 0))
        test(w, m, np.full(LANES, same))

    return match_all


_REDUCTIONS: Final[dict[str, Callable[[int, int], int]]] = {
    "AND": lambda a, b: a & b, "OR": lambda a, b: a | b, "XOR": lambda a, b: a ^ b, "SUM": lambda a, b: a + b,
    "MIN": min, "MAX": max,
}  # fmt: skip


def reduce(operation: Operation) -> Step:
    """REDUX, into a uniform register."""
    operation.only(*_REDUCTIONS, "S32")
    name = next((m for m in operation.modifiers if m in _REDUCTIONS), "AND")
    combine, is_signed = _REDUCTIONS[name], operation.has("S32")
    write, read = operation.destination(), operation.word(1)

    def run(w: Warp, m: Row) -> None:
        values = [number_of(value, 32, is_signed) for value in read(w)[m].tolist()]
        total = values[0]
        for value in values[1:]:
            total = combine(total, value)
        write(w, m, constant_row(total & FULL))

    return run


def elect(operation: Operation) -> Step:
    """ELECT: the lowest lane."""
    operation.only()
    test, write, candidates = operation.destination(0), operation.destination(1), operation.predicate(2)

    def run(w: Warp, m: Row) -> None:
        chosen = numbers_of(m & candidates(w))
        leader = chosen[0] if chosen else 0
        test(w, m, np.array([lane == leader and bool(chosen) for lane in range(LANES)]))
        write(w, m, constant_row(leader))

    return run


def _thread(axis: int) -> Read:
    def read(w: Warp) -> Row:
        return np.array([w.block.thread(w.index, lane)[axis] for lane in range(LANES)], np.uint32)

    return read


def _block(axis: int) -> Read:
    return lambda w: constant_row(w.block.ctaid[axis])


def _constant(value: int) -> Read:
    row = constant_row(value)
    return lambda w: row


def _lane_masks(function: Callable[[int], int]) -> Read:
    row = np.array([function(lane) & FULL for lane in range(LANES)], np.uint32)
    return lambda w: row


SPECIALS: Final[dict[str, Read]] = {
    **{f"SR_TID.{axis}": _thread(n) for n, axis in enumerate("XYZ")},
    **{f"SR_CTAID.{axis}": _block(n) for n, axis in enumerate("XYZ")},
    "SR_LANEID": _lane_masks(lambda lane: lane),
    "SR_EQMASK": _lane_masks(lambda lane: 1 << lane),
    "SR_LTMASK": _lane_masks(lambda lane: (1 << lane) - 1),
    "SR_LEMASK": _lane_masks(lambda lane: (2 << lane) - 1),
    "SR_GTMASK": _lane_masks(lambda lane: FULL << lane + 1),
    "SR_GEMASK": _lane_masks(lambda lane: FULL << lane),
    "SR_VIRTID": lambda w: constant_row(w.index << 8),
    "SR_VIRTUALSMID": _constant(0),
    "SR_CgaCtaId": _constant(0),
    "SR_SWINHI": _constant(SHARED_WINDOW >> 32),
    "SR_SWINLO": _constant(0),
    "SR_LMEMHIOFF": _constant(0),  # the stack may grow down to here
    "SRZ": _constant(0),
}


def clock(w: Warp) -> int:
    """The instructions executed so far, which is the time here."""
    w.block.launch.time += 1
    return w.block.launch.time


def special(operation: Operation) -> Step:
    """S2R, S2UR, CS2R."""
    operation.only("32")
    form = operation.instruction.opcode.form
    name = form.special_names.get(operation.operands[1].value, "")
    wide = operation.base == "CS2R" and not operation.has("32")
    write = operation.long_destination() if wide else operation.destination()
    if "CLOCK" in name or "TIMER" in name:
        shift = 32 if name.endswith("HI") else 0
        type = np.uint64 if wide else np.uint32
        return lambda w, m: write(w, m, constant_row(clock(w) >> shift, type))
    if name not in SPECIALS:
        raise operation.unsupported(f"special register {name or operation.operands[1].value}")
    read = SPECIALS[name]
    if operation.base == "S2UR":
        return lambda w, m: write(w, m, constant_row(int(read(w)[int(np.argmax(m))])))
    return lambda w, m: write(w, m, read(w))


BUILDERS: Final[dict[str, Builder]] = {
    "SHFL": shuffle, "VOTE": vote, "VOTEU": vote, "MATCH": match, "REDUX": reduce, "ELECT": elect, "S2R": special,
    "S2UR": special, "CS2R": special,
}  # fmt: skip
