"""List scheduling: the order of the instructions of a block (thesis section 5.4.4), registers being assigned.

Sections between instructions that nothing may move across are ordered one by one. Among the instructions whose
predecessors are placed, the one that could issue earliest is next; then the one with the longest way to the end of
the section; then the first in the program. Latencies are those of the tables, and for what comes by scoreboard an
expectation: the order needs no more than that, for `timetable` proves every stall and wait afterwards.
"""

from __future__ import annotations

from typing import Final

from librt.vecs import append, vec
from mypy_extensions import i64, mypyc_attr

from drawloom.sass.access import CLASS_BITS, CLASS_MASK, NOTHING, SPACES, ZEROS, Facts, Operands, facts_of
from drawloom.sass.effects import pinned
from drawloom.sass.latencies import CONSUMER_COUNT, Timing
from drawloom.sass.machine import Machine

#: Cycles until an instruction of variable latency is expected to have read its sources.
_READ: Final = 12
#: Heaps hold one number for each entry: a time (the cycle, or the way that is left, from _FAR down), then the node.
_NODE_BITS: Final = 20
_NODE_MASK: Final = (1 << _NODE_BITS) - 1
_FAR: Final = (1 << 26) - 1
#: Edges hold how much later the later node is, above that its number, above that the node's edge before this one.
_DELAY_BITS: Final = 10
_DELAY_MASK: Final = (1 << _DELAY_BITS) - 1
_EDGE_BITS: Final = _NODE_BITS + _DELAY_BITS
#: Fewer instructions stay as they are.
_LEAST: Final = 3


@mypyc_attr(acyclic=True)
class Heap:
    """The smallest of up to `most` numbers at a time."""

    def __init__(self, most: i64) -> None:
        self.items = vec[i64]([0] * most)
        self.size: i64 = 0

    def push(self, item: i64) -> None:
        items = self.items
        place = self.size
        self.size = place + 1
        while place > 0:
            above = (place - 1) >> 1
            if items[above] <= item:
                break
            items[place] = items[above]
            place = above
        items[place] = item

    def pop(self) -> i64:
        items = self.items
        first = items[0]
        size = self.size - 1
        self.size = size
        item = items[size]
        place: i64 = 0
        below: i64 = 1
        while below < size:
            if below + 1 < size and items[below + 1] < items[below]:
                below += 1
            if item <= items[below]:
                break
            items[place] = items[below]
            place = below
            below = 2 * place + 1
        items[place] = item
        return first


class Orderer:
    """Orders the blocks of one function; ``operands`` has the registers of its instructions.

    Nodes are the numbers of instructions in the section at hand: `edges[latest[node]]` is the last of those to nodes
    that come after one, `waiting[node]` says how many come before it, and `expected[node]` after how many cycles a
    result of variable latency is expected, -1 for one of fixed latency. Of every register: its last writer and its
    class of time, and the last of the entries in `readers` for who read it since. Writers and entries count
    on from section to section, so that those of earlier ones, below `begun` and `entered`, are told apart.
    """

    def __init__(self, timing: Timing, operands: Operands) -> None:
        self.timing = timing
        self.table = operands.table
        self.delays = timing.delays
        self.writer = NOTHING[:]
        self.producer = ZEROS[:]
        self.reader = NOTHING[:]
        self.stores = vec[i64]([-1] * SPACES)
        self.loads = vec[i64]([-1] * SPACES)
        self.readers = vec[i64]()
        self.edges = vec[i64]()
        self.begun: i64 = 0
        self.entered: i64 = 0
        self.expected = vec[i64]()
        self.latest = vec[i64]()
        self.waiting = vec[i64]()

    def ordered(self, instructions: list[Machine]) -> list[Machine]:
        """The instructions of a block in the order in which they issue."""
        if len(instructions) < _LEAST:
            return instructions
        out: list[Machine] = []
        section: list[Machine] = []
        for instruction in instructions:
            if pinned(instruction):
                out += self.section(section)
                section = []
                out.append(instruction)
            else:
                section.append(instruction)
        return out + self.section(section) if out else self.section(section)

    def section(self, section: list[Machine]) -> list[Machine]:
        count: i64 = len(section)
        if count < _LEAST:
            return section
        self.graph(section)
        edges, latest, waiting = self.edges, self.latest, self.waiting
        paths = vec[i64]([0] * count)
        ready = vec[i64]([0] * count)
        heap = Heap(count)
        later = Heap(count)
        for number in range(count - 1, -1, -1):
            path: i64 = 0
            place = latest[number]
            while place >= 0:
                edge = edges[place]
                way = paths[edge >> _DELAY_BITS & _NODE_MASK] + (edge & _DELAY_MASK)
                if way > path:
                    path = way
                place = edge >> _EDGE_BITS
            paths[number] = path
            if waiting[number] == 0:
                heap.push((_FAR - path) << _NODE_BITS | number)
        out: list[Machine] = []
        clock: i64 = 0
        while heap.size or later.size:
            while later.size and later.items[0] >> _NODE_BITS <= clock:
                number = later.pop() & _NODE_MASK
                heap.push((_FAR - paths[number]) << _NODE_BITS | number)
            if not heap.size:
                clock = later.items[0] >> _NODE_BITS
                continue
            number = heap.pop() & _NODE_MASK
            out.append(section[number])
            place = latest[number]
            while place >= 0:
                edge = edges[place]
                number = edge >> _DELAY_BITS & _NODE_MASK
                at = clock + (edge & _DELAY_MASK)
                if at > ready[number]:
                    ready[number] = at
                waiting[number] -= 1
                if waiting[number] == 0:
                    at = ready[number]
                    if at <= clock + 1:
                        heap.push((_FAR - paths[number]) << _NODE_BITS | number)
                    else:
                        later.push(at << _NODE_BITS | number)
                place = edge >> _EDGE_BITS
            clock += 1
        return out

    def graph(self, section: list[Machine]) -> None:
        """Who depends on whom: registers, and memory of one space."""
        count: i64 = len(section)
        self.latest = vec[i64]([-1] * count)
        self.waiting = vec[i64]([0] * count)
        self.expected = expected = vec[i64]([-1] * count)
        self.entered = entered = len(self.readers)
        self.stores = vec[i64]([-1] * SPACES)
        self.loads = vec[i64]([-1] * SPACES)
        table, begun, delays = self.table, self.begun, self.delays
        writer, producer, reader = self.writer, self.producer, self.reader
        readers = self.readers
        number: i64 = -1
        for instruction in section:
            number += 1
            facts = facts_of(instruction.opcode, self.timing)
            if facts.variable:
                expected[number] = facts.expected
            at = instruction.at
            for place in range(at + 2, table[at]):
                register = table[place] >> CLASS_BITS
                readers = append(readers, reader[register] << _NODE_BITS | number)
                reader[register] = len(readers) - 1
                before = writer[register] - begun
                if before >= 0:
                    delay = expected[before]
                    if delay < 0:
                        delay = delays[producer[register] * CONSUMER_COUNT + (table[place] & CLASS_MASK)]
                    self.edge(before, number, delay)
            for place in range(table[at], table[at + 1]):
                register = table[place] >> CLASS_BITS
                entry = reader[register]
                if entry >= entered:
                    while entry >= entered:
                        before = readers[entry] & _NODE_MASK
                        self.edge(before, number, _READ if expected[before] >= 0 else 1)
                        entry = readers[entry] >> _NODE_BITS
                elif writer[register] >= begun:
                    self.edge(writer[register] - begun, number, 1)
                writer[register] = begun + number
                producer[register] = table[place] & CLASS_MASK
                reader[register] = -1
            if facts.spaces:
                self.readers = readers
                self.after_memory(facts, number)
                readers = self.readers
        self.readers = readers
        self.begun = begun + count

    def edge(self, before: i64, number: i64, delay: i64) -> None:
        if before != number and delay > 0:
            self.edges = append(self.edges, self.latest[before] << _EDGE_BITS | number << _DELAY_BITS | delay)
            self.latest[before] = len(self.edges) - 1
            self.waiting[number] += 1

    def after_memory(self, facts: Facts, number: i64) -> None:
        """Stores of one space stay in their order, and loads on their side of them; generic accesses may be of any."""
        for space in range(SPACES):
            if not facts.spaces >> space & 1:
                continue
            if self.stores[space] >= 0:
                self.edge(self.stores[space], number, 1)
            if facts.loads:
                self.readers = append(self.readers, self.loads[space] << _NODE_BITS | number)
                self.loads[space] = len(self.readers) - 1
                continue
            place = self.loads[space]
            while place >= 0:
                self.edge(self.readers[place] & _NODE_MASK, number, 1)
                place = self.readers[place] >> _NODE_BITS
            self.stores[space] = number
            self.loads[space] = -1
