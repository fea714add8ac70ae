"""List scheduling: the order of the instructions of a block (thesis section 5.4.4), registers being assigned.

Sections between instructions that nothing may move across are ordered one by one. Among the instructions whose
predecessors are placed, the one that could issue earliest is next; then the one with the longest way to the end of
the section; then the first in the program. Latencies are those of the tables, and for what comes by scoreboard an
expectation: the order needs no more than that, for `timetable` proves every stall and wait afterwards.
"""

from __future__ import annotations

import heapq
from typing import Final

from drawloom.sass.effects import Effects, effects, pinned
from drawloom.sass.latencies import Timing
from drawloom.sass.machine import FILES, NEUTRAL, Machine
from drawloom.sass.syntax import NO_GUARD

#: Cycles until a result that comes by scoreboard is expected, by class and space.
_EXPECTED: Final[dict[str, int]] = {
    "global": 300, "generic": 300, "local": 80, "shared": 24, "constant": 30, "": 20,
}  # fmt: skip
#: Cycles until such an instruction is expected to have read its sources.
_READ: Final = 12


class Node:
    """An instruction of a section: who comes after it and how much later, and how many come before it."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.after: list[int] = []
        self.delay: list[int] = []
        self.waiting = 0
        self.ready = 0
        self.path = 0


class Uses:
    """Of one register: its last writer and the readers since, as numbers in the section."""

    def __init__(self) -> None:
        self.writer = -1
        self.writer_class = -1
        self.readers: list[int] = []


def ordered(instructions: list[Machine], timing: Timing) -> list[Machine]:
    """The instructions of a block in the order in which they issue."""
    out: list[Machine] = []
    section: list[Machine] = []
    for instruction in instructions:
        if pinned(instruction):
            out += order_section(section, timing)
            section = []
            out.append(instruction)
        else:
            section.append(instruction)
    return out + order_section(section, timing)


def order_section(section: list[Machine], timing: Timing) -> list[Machine]:
    if len(section) < 3:
        return section
    nodes = graph(section, timing)
    for node in reversed(nodes):
        for other, delay in zip(node.after, node.delay):
            node.path = max(node.path, delay + nodes[other].path)
    heap = [(0, -node.path, node.number) for node in nodes if not node.waiting]
    heapq.heapify(heap)
    out: list[Machine] = []
    clock = 0
    later: list[tuple[int, int, int]] = []
    while heap or later:
        while later and later[0][0] <= clock:
            _, path, number = heapq.heappop(later)
            heapq.heappush(heap, (0, path, number))
        if not heap:
            clock = later[0][0]
            continue
        _, _, number = heapq.heappop(heap)
        node = nodes[number]
        out.append(section[number])
        for other, delay in zip(node.after, node.delay):
            successor = nodes[other]
            successor.ready = max(successor.ready, clock + delay)
            successor.waiting -= 1
            if not successor.waiting:
                heapq.heappush(later, (successor.ready, -successor.path, other))
        clock += 1
    return out


def graph(section: list[Machine], timing: Timing) -> list[Node]:
    """Who depends on whom: registers, and memory of one space."""
    nodes = [Node(n) for n in range(len(section))]
    uses: dict[int, Uses] = {}
    stores: dict[str, int] = {}
    loads: dict[str, list[int]] = {}
    for number, instruction in enumerate(section):
        found = effects(instruction.opcode)
        opcode = instruction.opcode
        values = instruction.values
        edges: dict[int, int] = {}
        for place, words in found.reads:
            file = FILES[opcode.slots[place].kind]
            first = values[place]
            if first != NEUTRAL[file]:
                read(uses, edges, section, timing, file, first, words, number, timing.consumer(opcode, place, words))
        for file, first, words in found.fixed_reads:
            consumer = timing.consumer_of_file(opcode, file, words)
            read(uses, edges, section, timing, file, first, words, number, consumer)
        if instruction.guard & 7 != NO_GUARD and found.guard_file >= 0:
            guard = instruction.guard & 7
            read(uses, edges, section, timing, found.guard_file, guard, 1, number, timing.consumer(opcode, -1, 1))
        for place, words in found.writes:
            file = FILES[opcode.slots[place].kind]
            first = values[place]
            if first != NEUTRAL[file]:
                write(uses, edges, section, timing, file, first, words, number)
        for file, first, words in found.fixed_writes:
            write(uses, edges, section, timing, file, first, words, number)
        if found.memory:
            after_memory(found, number, stores, loads, edges)
        for before, delay in edges.items():
            if before != number:
                nodes[before].after.append(number)
                nodes[before].delay.append(delay)
                nodes[number].waiting += 1
    return nodes


def read(
    uses: dict[int, Uses], edges: dict[int, int], section: list[Machine], timing: Timing,
    file: int, first: int, words: int, number: int, consumer: int,
) -> None:  # fmt: skip
    for word in range(words):
        use = uses.get(file << 9 | first + word)
        if use is None:
            use = uses[file << 9 | first + word] = Uses()
        use.readers.append(number)
        if use.writer >= 0:
            opcode = section[use.writer].opcode
            if timing.variable(opcode):
                delay = expected(effects(opcode))
            else:
                delay = timing.cycles[timing.producer(opcode, file, use.writer_class)][consumer]
            if edges.get(use.writer, 0) < delay:
                edges[use.writer] = delay


def write(
    uses: dict[int, Uses], edges: dict[int, int], section: list[Machine], timing: Timing,
    file: int, first: int, words: int, number: int,
) -> None:  # fmt: skip
    for word in range(words):
        use = uses.get(file << 9 | first + word)
        if use is None:
            use = uses[file << 9 | first + word] = Uses()
        for reader in use.readers:
            if reader != number:
                delay = _READ if timing.variable(section[reader].opcode) else 1
                if edges.get(reader, 0) < delay:
                    edges[reader] = delay
        if use.writer >= 0 and not use.readers and edges.get(use.writer, 0) < 1:
            edges[use.writer] = 1
        use.writer = number
        use.writer_class = word
        use.readers = []


def after_memory(
    found: Effects, number: int, stores: dict[str, int], loads: dict[str, list[int]], edges: dict[int, int]
) -> None:
    """Stores of one space stay in their order, and loads on their side of them; generic accesses may be of any."""
    if found.space == "constant":
        return
    spaces = ["global", "shared", "local"] if found.space in ("generic", "") else [found.space]
    for space in spaces:
        store = stores.get(space, -1)
        if store >= 0:
            edges.setdefault(store, 1)
        if found.memory == "load":
            loads.setdefault(space, []).append(number)
        else:
            for load in loads.get(space, []):
                edges.setdefault(load, 1)
            stores[space] = number
            loads[space] = []


def expected(found: Effects) -> int:
    """Cycles after which a result that comes by scoreboard may be there."""
    return _EXPECTED.get(found.space, 20)
