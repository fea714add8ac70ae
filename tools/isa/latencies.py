"""From what ptxas emitted to the fixed latencies that it counts on: `python -m tools.isa.latencies FAMILY CUBIN...`

For every pair of producer and consumer class (src/drawloom/sass/latencies.py) the fewest cycles that stall counts
leave between the two, in straight lines of code, over all cubins; and how often those few were seen. A pair seen fewer
than `ENOUGH` times proves nothing: its cycles are a guess, marked `?`: what was seen, but no more than the largest
proven number for the producer, or for the producer that `LIKE` names. The output goes to latency_table.py.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from drawloom.sass.effects import effects
from drawloom.sass.instruction import Instruction
from drawloom.sass.latencies import CONSUMERS, FAMILIES, PRODUCERS, register_reads, register_writes, timing

ENOUGH = 3
# Producers seen too rarely, and the longer one in the same data path that bounds them.
LIKE = {"umov": "uniform", "half": "fma", "half.p": "alu.p", "r2ur.p": "r2p.p", "lepc": "double", "cs2r": "double",
        "fma.p": "alu.p", "uniform.p": "alu.p", "wide": "wide.hi"}  # fmt: skip
# Files that a producer class writes, and so the consumers that its row needs.
READERS = {
    "general": "alu fma wide wide.c wide.ch half half.c mma double xu mem ldc branch bar uniform",
    "uniform": "alu fma wide wide.c wide.ch half half.c mma double xu mem ldc branch bar uniform",
    "predicate": "guard alu.p fma.p half.p double.p mem.p vote.p",
    "uniform predicate": "alu.p fma.p vote.p uguard uniform.p",
    "condition": "cc",
    "barrier": "barrier",
}
# Producers that a family does not have, or has with variable latency.
ABSENT = {
    75: "mma double double.p r2ur r2ur.p alu.cc".split(),
    80: "double double.p r2ur r2ur.p alu.cc".split(),
    90: ["alu.cc"],
}
PASCAL_PRODUCERS = "alu alu.p r2p.p alu.cc".split()


Histogram = dict[tuple[int, int], dict[int, int]]  # (producer, consumer) -> cycles -> times seen


def measure(family: int, sections: Iterable[list[Instruction]]) -> Histogram:
    """Counts the cycles between every write of fixed latency and the reads that follow it in a straight line."""
    times = timing(family)
    histogram: Histogram = {}
    for section in sections:
        clock = 0
        last: dict[tuple[int, int], tuple[Instruction, int, int]] = {}
        for instruction in section:
            found = effects(instruction.opcode)
            for file, number, consumer in register_reads(times, instruction):
                if (file, number) in last:
                    writer, producer, then = last[file, number]
                    if writer.guard == 7 or writer.guard ^ 8 != instruction.guard:
                        seen = histogram.setdefault((producer, consumer), {})
                        seen[clock - then] = seen.get(clock - then, 0) + 1
            for file, number, producer in register_writes(times, instruction):
                if times.variable(instruction.opcode):
                    last.pop((file, number), None)
                else:
                    last[file, number] = instruction, producer, clock
            stall = instruction.control & 15
            clock += stall if family == 61 else max(stall, 1)
            if found.flow == "call" or (found.flow not in ("", "prepare", "warp") and instruction.guard == 7):
                last = {}
    return histogram


def rows(family: int, histogram: Histogram) -> str:
    """The table of one family, as latency_table.py holds it."""
    lines = []
    for name in PASCAL_PRODUCERS if family == 61 else PRODUCERS:
        if name in ABSENT.get(family, []):
            continue
        consumers = [c for c in READERS[file_of(name)].split() if family != 61 or c in PASCAL_CONSUMERS]
        proven = largest_proven(histogram, name)
        if name in LIKE:
            proven = max(proven, largest_proven(histogram, LIKE[name]))
        cells = []
        for consumer in consumers:
            seen = histogram.get((PRODUCERS.index(name), CONSUMERS.index(consumer)), {})
            fewest = min(seen, default=99)
            if seen and (seen[fewest] >= ENOUGH and fewest <= max(proven, 14)):
                cells.append(f"{consumer}={fewest}")
            else:
                cells.append(f"{consumer}={min(fewest, proven or 13)}?")
        lines.append(f"{name}: {' '.join(cells)}")
    return "\n".join(lines)


PASCAL_CONSUMERS = frozenset("alu double xu mem ldc branch bar guard alu.p double.p mem.p vote.p cc".split())


def file_of(producer: str) -> str:
    if producer == "barrier":
        return "barrier"
    if producer == "alu.cc":
        return "condition"
    if producer == "uniform.p":
        return "uniform predicate"
    if producer.endswith(".p"):
        return "predicate"
    return "uniform" if producer in ("uniform", "umov", "r2ur") else "general"


def largest_proven(histogram: Histogram, name: str) -> int:
    """The largest of the fewest cycles for a producer, over the consumers that were seen often."""
    largest = 0
    for (producer, _), seen in histogram.items():
        if PRODUCERS[producer] == name and seen[min(seen)] >= 3 * ENOUGH:
            largest = max(largest, min(seen))
    return largest


def sections_of(path: Path) -> Iterator[bytes]:
    """The code sections of a cubin."""
    data = path.read_bytes()
    start = int.from_bytes(data[40:48], "little")
    count, names = int.from_bytes(data[60:62], "little"), int.from_bytes(data[62:64], "little")
    headers = [data[start + 64 * i : start + 64 * i + 64] for i in range(count)]
    strings = int.from_bytes(headers[names][24:32], "little")
    for header in headers:
        name = strings + int.from_bytes(header[:4], "little")
        if data[name : data.index(b"\0", name)].startswith(b".text"):
            offset, size = int.from_bytes(header[24:32], "little"), int.from_bytes(header[32:40], "little")
            yield data[offset : offset + size]


def main() -> None:
    from drawloom.sass.decoder import unpack_section
    from drawloom.sass.isa import load_target

    family = int(sys.argv[1])
    assert family in FAMILIES
    decoded: list[list[Instruction]] = []
    for path in map(Path, sys.argv[2:]):
        target = load_target(int(path.name.split("-")[0]))
        decoded.extend(unpack_section(target, code) for code in sections_of(path))
    print(rows(family, measure(family, decoded)))


if __name__ == "__main__":
    main()
