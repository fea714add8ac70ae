"""List scheduling: the order of the instructions of a block (thesis section 5.4.4), registers being assigned.

Sections between instructions that nothing may move across are ordered one by one. Among the instructions whose
predecessors are placed, the one that could issue earliest is next; then the one with the longest way to the end of
the section; then the first in the program. Latencies are those of the tables, and for what comes by scoreboard an
expectation: the order needs no more than that, for `timetable` proves every stall and wait afterwards.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Final

from mypy_extensions import i64, mypyc_attr

from drawloom.sass.access import REGISTERS, Facts, facts_of, first_register
from drawloom.sass.effects import Effects, pinned
from drawloom.sass.latencies import Timing
from drawloom.sass.machine import Machine
from drawloom.sass.syntax import NO_GUARD

#: Cycles until an instruction of variable latency is expected to have read its sources.
_READ: Final = 12
#: Heaps hold one number for each entry: a time (cycles, or the way that is left, from _FAR down), then the node.
_NODE_BITS: Final = 20
_NODE_MASK: Final = (1 << _NODE_BITS) - 1
_PATH_BITS: Final = 26
_PATH_MASK: Final = (1 << _NODE_BITS + _PATH_BITS) - 1
_FAR: Final = (1 << _PATH_BITS) - 1
#: Edges hold the later node and, in the lower bits, how much later it is.
_DELAY_BITS: Final = 10
_DELAY_MASK: Final = (1 << _DELAY_BITS) - 1


@mypyc_attr(acyclic=True)
class Node:
    """An instruction of a section: who comes `after` it, each with the cycles between, and how many come before."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.after: list[int] = []
        self.waiting: i64 = 0
        self.ready: i64 = 0
        self.path: i64 = 0


class Orderer:
    """Orders the blocks of one function.

    Of every register while a section is looked at: its last writer and its class of time, and the
    readers since, as numbers in the section.
    """

    def __init__(self, timing: Timing) -> None:
        self.timing = timing
        self.cycles = timing.cycles
        self.writer = [-1] * REGISTERS
        self.producer = [0] * REGISTERS
        self.readers: list[list[int] | None] = [None] * REGISTERS
        self.touched: list[int] = []
        self.nodes: list[Node] = []

    def ordered(self, instructions: list[Machine]) -> list[Machine]:
        """The instructions of a block in the order in which they issue."""
        out: list[Machine] = []
        section: list[Machine] = []
        for instruction in instructions:
            if pinned(instruction):
                out += self.section(section)
                section = []
                out.append(instruction)
            else:
                section.append(instruction)
        return out + self.section(section)

    def section(self, section: list[Machine]) -> list[Machine]:
        if len(section) < 3:
            return section
        self.graph(section)
        nodes = self.nodes
        heap: list[int] = []
        for number in range(len(nodes) - 1, -1, -1):
            node = nodes[number]
            path: i64 = 0
            for edge in node.after:
                path = max(path, nodes[edge >> _DELAY_BITS].path + (edge & _DELAY_MASK))
            node.path = path
            if node.waiting == 0:
                heap.append(key(path, number))
        heapify(heap)
        out: list[Machine] = []
        clock: i64 = 0
        later: list[int] = []
        while heap or later:
            while later and later[0] >> _NODE_BITS + _PATH_BITS <= clock:
                heappush(heap, heappop(later) & _PATH_MASK)
            if not heap:
                clock = later[0] >> _NODE_BITS + _PATH_BITS
                continue
            number = heappop(heap) & _NODE_MASK
            out.append(section[number])
            for edge in nodes[number].after:
                number = edge >> _DELAY_BITS
                successor = nodes[number]
                successor.ready = max(successor.ready, clock + (edge & _DELAY_MASK))
                successor.waiting -= 1
                if successor.waiting == 0:
                    ready: int = successor.ready
                    if ready <= clock + 1:
                        heappush(heap, key(successor.path, number))
                    else:
                        heappush(later, ready << _NODE_BITS + _PATH_BITS | key(successor.path, number))
            clock += 1
        return out

    def graph(self, section: list[Machine]) -> None:
        """Who depends on whom: registers, and memory of one space."""
        self.nodes = [Node(facts_of(instruction.opcode, self.timing)) for instruction in section]
        stores: dict[str, int] = {}
        loads: dict[str, list[int]] = {}
        for number, instruction in enumerate(section):
            facts = self.nodes[number].facts
            values = instruction.values
            for access in facts.reads:
                first = first_register(access, values)
                if first >= 0:
                    for register in range(first, first + access.words):
                        self.read(register, number, access.consumer)
            if instruction.guard & 7 != NO_GUARD and facts.guard >= 0:
                self.read(facts.guard + (instruction.guard & 7), number, facts.guard_consumer)
            for access in facts.writes:
                first = first_register(access, values)
                if first >= 0:
                    for word in range(access.words):
                        self.write(first + word, number, access.producers[word])
            if facts.effects.memory:
                self.after_memory(facts.effects, number, stores, loads)
        for register in self.touched:
            self.writer[register] = -1
            self.readers[register] = None
        self.touched = []

    def edge(self, before: i64, number: i64, delay: i64) -> None:
        if before != number and delay > 0:
            self.nodes[before].after.append(int(number << _DELAY_BITS | delay))
            self.nodes[number].waiting += 1

    def read(self, register: i64, number: i64, consumer: i64) -> None:
        readers = self.readers[register]
        if readers is None:
            readers = self.readers[register] = []
            self.touched.append(int(register))
        readers.append(int(number))
        writer: i64 = self.writer[register]
        if writer >= 0:
            facts = self.nodes[writer].facts
            delay: i64
            if facts.variable:
                delay = facts.expected
            else:
                delay = self.cycles[self.producer[register]][consumer]
            self.edge(writer, number, delay)

    def write(self, register: i64, number: i64, producer: int) -> None:
        readers = self.readers[register]
        writer: i64 = self.writer[register]
        if readers is None:
            self.touched.append(int(register))
            if writer >= 0:
                self.edge(writer, number, 1)
        elif readers:
            for reader in readers:
                self.edge(reader, number, _READ if self.nodes[reader].facts.variable else 1)
        elif writer >= 0:
            self.edge(writer, number, 1)
        self.writer[register] = int(number)
        self.producer[register] = producer
        self.readers[register] = []

    def after_memory(self, found: Effects, number: int, stores: dict[str, int], loads: dict[str, list[int]]) -> None:
        """Stores of one space stay in their order, and loads on their side of them; generic accesses may be of any."""
        if found.space == "constant":
            return
        spaces = ["global", "shared", "local"] if found.space in ("generic", "") else [found.space]
        for space in spaces:
            store = stores.get(space, -1)
            if store >= 0:
                self.edge(store, number, 1)
            if found.memory == "load":
                loads.setdefault(space, []).append(number)
            else:
                for load in loads.get(space, []):
                    self.edge(load, number, 1)
                stores[space] = number
                loads[space] = []


def key(path: i64, number: i64) -> int:
    """What the heaps are sorted by: the longest way first, then the place in the program."""
    return int((_FAR - path) << _NODE_BITS | number)
