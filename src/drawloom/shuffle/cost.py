"""Whether a shuffle pays: from a candidate and an architecture to a gain in clock cycles, and from a function with its
candidates to those that do not lower its occupancy.

    gain(N) = load * (1 - |N|/32) - shuffle * words - arithmetic * (1 + tests)         N != 0
    gain(0) = load

The latencies are those of seed 003, table 1 (Jia et al. 2018, Wong et al. 2010), with that of an integer instruction
from Jia et al. 2018. The share of lanes that do the original load all the same is |N|/32. The model sees latencies
only; what it does not see, the slots of the load pipeline that a shuffle and the load of the corner lanes take
together, made Volta 15% slower on average in the paper, at gains of 1 to 5% of a load in this model. So a gain counts
from an eighth of a load on: on Maxwell and Pascal short distances pay, on Kepler and from Volta on only what a lane has
loaded itself does. Architectures behind Volta have its kind of first-level cache and its row. On the CPU device a warp
is a vector, and the load of one lane at the edge is a masked load of all: nothing is saved, and only copies pay.
"""

from __future__ import annotations

from typing import Final

from drawloom.errors import DataError
from drawloom.ptx.cfg import build_cfg
from drawloom.ptx.declarations import is_architecture
from drawloom.ptx.ir import Function, Instruction, Module
from drawloom.ptx.launch_bounds import LaunchBounds
from drawloom.ptx.liveness import liveness, pressure
from drawloom.ptx.loops import find_loops
from drawloom.shuffle.facts import LANES_ALONG_X, Candidate
from drawloom.shuffle.synthesis import overlaps_of, synthesize

#: The architecture of the CPU device.
CPU: Final = "cpu"
#: What stands before the number of a GPU's: of real and virtual ones, and of those for link-time optimisation.
_GPU: Final = ("sm_", "compute_", "lto_")
WARP: Final = 32
LEAST_SHARE: Final = 8  # of a load's latency, that a gain has to be


class Latencies:
    """Clock cycles from the issue of an instruction to its result: an integer operation, a shuffle, a load that hits
    the first-level cache, a load from shared memory."""

    def __init__(self, arithmetic: int, shuffle: int, cached: int, shared: int) -> None:
        self.arithmetic = arithmetic
        self.shuffle = shuffle
        self.cached = cached
        self.shared = shared


#: By the smallest architecture that has them.
LATENCIES: Final[dict[int, Latencies]] = {
    30: Latencies(9, 24, 35, 26),
    50: Latencies(6, 33, 82, 23),
    60: Latencies(6, 33, 82, 24),
    70: Latencies(4, 22, 28, 19),
}
#: What a multiprocessor has: 32-bit registers, in units of a warp, and warps (CUDA programming guide, technical
#: specifications; 64 warps but for some later ones, which have fewer and so lose less).
REGISTERS: Final = 65536
UNIT: Final = 256
WARPS: Final = 64
RESERVED_REGISTERS: Final = 2


def check_arch(arch: str) -> None:
    """Raises DataError for what is no architecture."""
    for kind in _GPU:
        if arch.startswith(kind) and is_architecture("sm_" + arch[len(kind) :]):
            return
    if arch != CPU:
        raise DataError(f"there is no architecture '{arch}': expected one such as sm_70, or {CPU}")


def latencies(arch: str) -> Latencies:
    """The row of an architecture such as ``sm_70``; the first row for older ones."""
    return LATENCIES[max([first for first in LATENCIES if first <= number(arch)], default=min(LATENCIES))]


def number(arch: str) -> int:
    """70 of ``sm_70`` or ``sm_70a``; 0 of what has none."""
    return int("".join([c for c in arch if c.isdigit()]) or "0")


def gain(load: Instruction, candidate: Candidate, arch: str) -> float:
    """The cycles that the value of a load is there earlier."""
    row = latencies(arch)
    cost = row.shared if load.opcode.space == "shared" else row.cached
    if candidate.delta == 0:
        return float(cost)
    words = load.opcode.vector * (2 if load.opcode.types[-1].bits > 32 else 1)
    tests = len([a for a in candidate.assumptions if a.testable and a.kind != LANES_ALONG_X])
    return cost * (1 - abs(candidate.delta) / WARP) - row.shuffle * words - row.arithmetic * (1 + tests)


def pays(load: Instruction, candidate: Candidate, arch: str) -> bool:
    """Whether the gain is large enough to count."""
    if arch == CPU:
        # A load beside the copy, for where pointers overlap, costs what it saves.
        return candidate.delta == 0 and not overlaps_of(candidate)
    row = latencies(arch)
    cost = row.shared if load.opcode.space == "shared" else row.cached
    return gain(load, candidate, arch) * LEAST_SHARE >= cost


def worth_their_tests(function: Function, module: Module, chosen: list[Candidate], arch: str) -> list[Candidate]:
    """Return the candidates without those that rest on tests of pointers, if the tests take longer than is gained. A
    candidate in a loop is worth a test at the entry, which is done once."""
    tested = [candidate for candidate in chosen if overlaps_of(candidate)]
    cfg = build_cfg(function, module)
    forest = find_loops(cfg)
    gained = 0.0
    for candidate in tested:
        load = function.body[candidate.load]
        assert isinstance(load, Instruction)
        if forest.depth(cfg.block_at(candidate.load)):
            return chosen
        gained += gain(load, candidate, arch)
    tests = {repr(overlap): overlap.instructions for candidate in tested for overlap in overlaps_of(candidate)}
    if gained > latencies(arch).arithmetic * sum(tests.values()):
        return chosen
    return [candidate for candidate in chosen if candidate not in tested]


def may_run(function: Function, candidate: Candidate) -> bool:
    """Whether a block that the function's directives allow has a warp in which the shuffle is done: of 32 threads."""
    return candidate.delta == 0 or LaunchBounds(function).threads >= WARP


def warps(function: Function, module: Module) -> int:
    """How many warps of a kernel its registers let a multiprocessor hold, by the most values that are live at once."""
    cfg = build_cfg(function, module)
    registers = pressure(cfg, liveness(cfg)).words + RESERVED_REGISTERS
    units = -(-registers * WARP // UNIT)
    return min(WARPS, REGISTERS // (UNIT * units))


def within_occupancy(
    function: Function, module: Module, chosen: list[Candidate], assume_no_wrap: bool
) -> list[Candidate]:
    """The most of the candidates, the shortest way from source to load first, with which no fewer warps fit."""
    before = warps(function, module)
    by_way = sorted(chosen, key=lambda c: (c.load - c.source, c.load))
    low, high = 0, len(by_way)
    while low < high:
        middle = (low + high + 1) // 2
        if warps(synthesize(function, by_way[:middle], assume_no_wrap=assume_no_wrap), module) >= before:
            low = middle
        else:
            high = middle - 1
    return sorted(by_way[:low], key=lambda c: c.load)
