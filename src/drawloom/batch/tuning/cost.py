"""What a kernel's vectors are estimated to cost on a CPU: slots of the busiest unit, the longest chain, and spills.

The numbers are rounded from the tables of uops.info for Zen 4 and Ice Lake; only ratios between layouts matter here.
"""

from __future__ import annotations

import heapq
from typing import Final, NamedTuple

from drawloom.batch.backends.chunk_ir import Chunk, ChunkProgram, flatten
from drawloom.batch.backends.reloads import NO_REGISTER
from drawloom.batch.ir.ir import BITS, MASK


class Price(NamedTuple):
    """Slots of a vector unit that an operation takes for each register of its result, and its latency in cycles."""

    slots: float
    latency: float


CHEAP: Final = Price(1.0, 1.0)
PRICES: Final[dict[str, Price]] = {
    "fadd": Price(1.0, 4.0), "fsub": Price(1.0, 4.0), "fmul": Price(1.0, 4.0), "fma": Price(1.0, 4.0),
    "fdiv": Price(12.0, 16.0), "sqrt": Price(16.0, 20.0),
    "bitcast": Price(0.0, 0.0),
    "load": Price(0.7, 6.0), "broadcast": Price(0.5, 6.0), "store": Price(1.5, 4.0),
}  # fmt: skip
FREE: Final = ("constant", "carried", "argument", "group")
#: Slots for each lane of what is done lane by lane.
BY_LANE: Final = {"gather": 2.0, "scatter": 2.5, "read": 2.0, "sdiv": 6.0, "udiv": 6.0, "srem": 7.0, "urem": 7.0}
#: A number of the index moves to an address, and an element is loaded for all lanes.
READ_ONE: Final = Price(2.0, 12.0)
SHUFFLE: Final = Price(1.0, 3.0)
MASKED: Final = 2.0
#: Slots of a store of a value that leaves its register, and of reading it again; what memory holds already is read as
#: an operand of what uses it.
SPILL: Final = 1.5
RELOAD_LOADED: Final = 0.4
#: Vector instructions that begin in a cycle, that the front end delivers, and that are looked at ahead.
PORTS: Final = 2.0
DISPATCH: Final = 4.0
WINDOW: Final = 128


def estimate_cost(program: ChunkProgram, pack: int, vector_bits: int, registers: int) -> float:
    """Return the estimated cycles for one group.

    Args:
        program: The vectors of `pack` groups.
        pack: How many groups that is.
        vector_bits: The width of a register.
        registers: How many there are.
    """
    chunks = flatten(program.block)
    spilled, reloaded = count_spills(chunks, registers)
    cycles = simulate(chunks, program.width, vector_bits)
    return (cycles + SPILL * spilled + RELOAD_LOADED * reloaded) / pack


def simulate(chunks: list[Chunk], width: int, vector_bits: int) -> float:
    """Return the cycles of a block on a core that runs instructions out of order within a window.

    Two runs follow each other, so that one hides latencies of the other as packs do; the second one's cycles count.
    """
    dispatch = busy = retired = 0.0
    retirements: list[float] = []
    ends = [0.0, 0.0]
    for turn in range(2):
        ready: dict[int, float] = {}
        for chunk in chunks:
            price = price_of(chunk, width)
            slots = price.slots * registers_of(chunk, width, vector_bits)
            if slots == 0.0:
                continue
            dispatch += slots / DISPATCH
            if len(retirements) >= WINDOW:
                dispatch = max(dispatch, retirements[-WINDOW])
            busy = max(busy + slots / PORTS, dispatch - WINDOW / DISPATCH)
            start = max(dispatch, busy)
            for operand in chunk.operands:
                start = max(start, ready.get(operand.number, 0.0))
            ready[chunk.number] = start + price.latency
            retired = max(retired, start + price.latency)
            retirements.append(retired)
        ends[turn] = retired
    return ends[1] - ends[0]


def price_of(chunk: Chunk, width: int) -> Price:
    if chunk.op in FREE:
        return Price(0.0, 0.0)
    if chunk.op == "shuffle":
        return SHUFFLE
    if chunk.op == "read" and chunk.detail.lane is not None:
        return READ_ONE
    if chunk.op in BY_LANE:
        return Price(BY_LANE[chunk.op] * width, 20.0)
    price = PRICES.get(chunk.op, CHEAP)
    if chunk.op in ("load", "store") and len(chunk.operands) > (chunk.op == "store"):
        return Price(price.slots * MASKED, price.latency + 2)
    return price


def registers_of(chunk: Chunk, width: int, vector_bits: int) -> float:
    """Return how many registers a chunk fills; gathers and such are priced by lane."""
    if chunk.op in BY_LANE:
        return 1.0
    type = chunk.operands[0].type if chunk.op == "store" else chunk.type
    if type == MASK:
        return 0.5
    return max(1.0, width * BITS.get(type, 8) / vector_bits)


def count_spills(chunks: list[Chunk], registers: int) -> tuple[int, int]:
    """Return how often values that do not fit into the registers are stored or read again (Belady's rule).

    Returns:
        The stores and reads of values that were computed, and the reads of values that memory holds anyway.
    """
    uses: dict[int, list[int]] = {}
    for place, chunk in enumerate(chunks):
        for operand in chunk.operands:
            if operand.op not in NO_REGISTER and operand.type != MASK:
                uses.setdefault(operand.number, []).append(place)
    for places in uses.values():
        places.reverse()
    held: dict[int, int] = {}
    heap: list[tuple[int, int]] = []
    clean: set[int] = set()
    loaded: set[int] = set()
    spilled = reloaded = 0

    def hold(number: int) -> None:
        nonlocal spilled
        following = uses[number][-1]
        held[number] = following
        heapq.heappush(heap, (-following, number))
        while len(held) > registers:
            distance, evicted = heapq.heappop(heap)
            if held.get(evicted) != -distance:
                continue
            del held[evicted]
            if evicted not in clean:
                spilled += 1
                clean.add(evicted)

    for place, chunk in enumerate(chunks):
        for number in dict.fromkeys(operand.number for operand in chunk.operands if operand.number in uses):
            if number not in held and number in loaded:
                reloaded += 1
            elif number not in held:
                spilled += 1
            while uses[number] and uses[number][-1] <= place:
                uses[number].pop()
            held.pop(number, None)
            if uses[number]:
                hold(number)
        if uses.get(chunk.number):
            if chunk.op in ("load", "broadcast"):
                clean.add(chunk.number)
                loaded.add(chunk.number)
            hold(chunk.number)
    return spilled, reloaded
