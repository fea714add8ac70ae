"""The state of a running block: warps, their registers as rows of 32 lanes, groups of lanes that execute together.

Lanes that part stay apart until a convergence barrier, a WARPSYNC or a collective brings them together: nothing
else does, which is the least that the hardware promises.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import numpy as np

from drawloom.sass.interpreter.basics import FULL, LANES, Row, lanes_of
from drawloom.sass.interpreter.memory import Region

if TYPE_CHECKING:
    from drawloom.sass.interpreter.launch import Launch

HALF: Final = np.uint64(0xFFFFFFFF)
#: Executes one instruction for the lanes of a mask. None goes on behind it, a number is the index to go on at; PARTED
#: says that it has put the group, or what became of it, where it belongs.
Step = Callable[["Warp", Row], int | None]
PARTED: Final = -1

# What a group does.
RUNS: Final = "runs"
AT_BARRIER: Final = "waits at BAR"
AT_SYNC: Final = "waits at BSYNC"
AT_WARPSYNC: Final = "waits at WARPSYNC"
AT_COLLECTIVE: Final = "waits at WARPSYNC.COLLECTIVE"
MEETING: Final = (AT_SYNC, AT_WARPSYNC, AT_COLLECTIVE)


class Group:
    """Lanes of a warp at one place. `pc` counts instructions. Where it waits: `mask_awaited` and, at BSYNC, the
    `barrier`. `parked` are the groups that a collective was gathered from, as (mask, pc to go on at)."""

    def __init__(self, mask: int, pc: int) -> None:
        self.mask = mask
        self.lanes = lanes_of(mask)
        self.pc = pc
        self.state = RUNS
        self.barrier = -1
        self.mask_awaited = 0
        self.label = -1
        self.parked: list[tuple[int, int]] = []

    def restrict(self, mask: int) -> None:
        self.mask = mask
        self.lanes = lanes_of(mask)


def mask_of_groups(groups: list[Group]) -> int:
    """The lanes of all of them."""
    mask = 0
    for group in groups:
        mask |= group.mask
    return mask


class Token:
    """On the stack of a warp of sm_61: what pushed it, and that `mask` goes on at `place`."""

    def __init__(self, kind: str, mask: int, place: int) -> None:
        self.kind = kind
        self.mask = mask
        self.place = place


#: Random words, and how many different places there are to read them from.
_NOISE: Final[Row] = np.random.default_rng(0x5EED).integers(0, 1 << 64, 1 << 17, np.uint64)
_PLACES: Final = 1 << 12


def noise(key: int, count: int) -> Row:
    """So many 64-bit words that look random, others for every key: what memory and registers have at first."""
    mixed = (key * 0x9E3779B97F4A7C15 & (1 << 64) - 1) >> 12
    start = mixed % _PLACES
    words = np.resize(_NOISE[start:], count) if count > len(_NOISE) - start else _NOISE[start : start + count]
    return words ^ np.uint64(mixed * 0x1001)


def words_of_pairs(pairs: Row) -> list[Row]:
    """The rows of words that rows of 64-bit words are made of."""
    halves = pairs.view(np.uint32).reshape(len(pairs), LANES, 2)
    return [half for pair in halves.transpose(0, 2, 1) for half in pair]


class Warp:
    """Registers are `r` (general), `u` (uniform, alike in all lanes), `p` and `up` (predicates); `rr` and `uu` are
    pairs as 64-bit words, by half the number of the first. RZ, PT and their like are rows that nobody writes.

    `b[n]` is, for every lane, the mask of convergence barrier n as that lane set it up. On sm_61, `cc` are the
    condition codes (zero, sign, carry, overflow), and `stack` says where lanes go on that are not executed.
    """

    def __init__(self, block: Block, index: int, live: int, poison: int) -> None:
        self.block = block
        self.index = index
        self.started = self.live = live
        self.groups = [Group(live, 0)]
        self.running = self.groups[0]
        self._poison = poison + index
        found = noise(self._poison, (128 + 1 + 3) * LANES).reshape(-1, LANES)
        general, uniform = found[:128], np.repeat(found[128, :, None], LANES, 1)
        truths = found[129:].view(np.int8).reshape(-1, LANES) < 0
        general[127] &= HALF  # RZ and URZ are their upper words
        uniform[31] &= HALF
        truths[7] = True
        uniform_truths = np.repeat(truths[12:20, :1], LANES, 1)
        uniform_truths[7] = True
        self.r: list[Row] = words_of_pairs(general)
        self.u: list[Row] = words_of_pairs(uniform)
        self.rr: list[Row] = list(general[:127])
        self.uu: list[Row] = list(uniform[:31])
        self.p: list[Row] = list(truths[:8])
        self.up: list[Row] = list(uniform_truths)
        self.b = [[0] * LANES for _ in range(16)]
        self.cc: list[Row] = list(truths[8:12])
        self.stack: list[Token] = []
        self.reduced = np.zeros(LANES, np.uint32)  # what B2R.RESULT reads
        self._local: Region | None = None

    @property
    def local_region(self) -> Region:
        """The local memory of all lanes, `stack_top` bytes each, behind one another; made when it is first used."""
        if self._local is None:
            size = LANES * self.block.launch.stack_top
            self._local = Region(0, size, noise(~self._poison, size // 8).view(np.uint8), "local")
        return self._local

    def part(self, pieces: list[tuple[int, int]]) -> int:
        """The running group falls apart into (mask, pc); the first goes on first. A single piece stays together."""
        self.running.restrict(pieces[0][0])
        self.running.pc = pieces[0][1]
        for mask, pc in pieces[1:]:
            group = Group(mask, pc)
            group.parked = self.running.parked
            self.groups.append(group)
        return PARTED

    def wait(self, lanes: int, state: str, pc: int, awaited: int, barrier: int = -1, label: int = -1) -> int:
        """These lanes of the running group wait until all of `awaited` do, and then go on at `pc`; the others of the
        group go on there at once."""
        group = self.running
        rest = group.mask & ~lanes
        if rest:
            self.part([(lanes, pc), (rest, pc)])
        group.pc = pc
        group.state, group.mask_awaited, group.barrier, group.label = state, awaited, barrier, label
        return PARTED

    def leave(self, lanes: int) -> None:
        """These lanes of the running group exit."""
        self.live &= ~lanes
        group = self.running
        rest = group.mask & ~lanes
        if rest:
            group.restrict(rest)
        else:
            self.groups.remove(group)

    def settle(self) -> bool:
        """Lets every group go on whose lanes are all there; whether there was one."""
        if len(self.groups) == 1 and self.groups[0].state in (RUNS, AT_BARRIER):
            return False
        waiting: dict[tuple[str, int, int], list[Group]] = {}
        for group in self.groups:
            if group.state in MEETING:
                if group.state == AT_SYNC:
                    group.mask_awaited = self.b[group.barrier][(group.mask & -group.mask).bit_length() - 1]
                waiting.setdefault((group.state, group.barrier, group.mask_awaited), []).append(group)
        moved = False
        for (_, _, awaited), same in waiting.items():
            if not awaited & self.live & ~mask_of_groups(same):
                self._join(same)
                moved = True
        return moved or self._yield(waiting)

    def _yield(self, waiting: dict[tuple[str, int, int], list[Group]]) -> bool:
        """Where nothing else can go on, a BSYNC gives up on lanes that wait at a WARPSYNC: ptxas leaves loops to one
        without a BREAK."""
        if any(g.state not in MEETING for g in self.groups):
            return False
        away = mask_of_groups([g for g in self.groups if g.state != AT_SYNC])
        for (state, _, awaited), same in waiting.items():
            if state == AT_SYNC and not awaited & self.live & ~(away | mask_of_groups(same)):
                self._join(same)
                return True
        return False

    def _join(self, groups: list[Group]) -> None:
        """Groups that have met become one for each place that they are at; of a collective, one."""
        collective = groups[0].state == AT_COLLECTIVE
        by_place: dict[int, list[Group]] = {}
        for group in groups:
            by_place.setdefault(groups[0].pc if collective else group.pc, []).append(group)
        for place, members in by_place.items():
            mask = mask_of_groups(members)
            for group in members:
                self.groups.remove(group)
            joined = Group(mask, place)
            joined.parked = [(g.mask, g.label) for g in members] if collective else members[0].parked
            self.groups.append(joined)


class NamedBarrier:
    """One of the 16 barriers of a block: which lanes have arrived in each warp, and what they brought to reduce."""

    def __init__(self, warps: int) -> None:
        self.arrived = [0] * warps
        self.brought = [0] * warps
        self.count = 0  # threads that complete it; 0: all that live
        self.reduction = ""


class Block:
    """One block of a launch."""

    def __init__(self, launch: Launch, ctaid: tuple[int, int, int], poison: int) -> None:
        self.launch = launch
        self.ctaid = ctaid
        self.poison = poison
        threads = launch.block[0] * launch.block[1] * launch.block[2]
        self.threads = threads
        count = (threads + LANES - 1) // LANES
        self.warps = [Warp(self, n, (1 << min(LANES, threads - n * LANES)) - 1, poison) for n in range(count)]
        shared = noise(poison << 16, launch.shared_size // 8).view(np.uint8)
        self.shared_region = Region(
            launch.reserved, launch.shared_size - launch.reserved, shared[launch.reserved :], "shared"
        )
        self.barriers = [NamedBarrier(count) for _ in range(16)]

    def thread(self, warp: int, lane: int) -> tuple[int, int, int]:
        """The indices of a thread."""
        width, height, _ = self.launch.block
        index = warp * LANES + lane
        return index % width, index // width % height, index // (width * height)

    def settle(self) -> bool:
        """Completes every barrier that all have arrived at; whether there was one."""
        moved = False
        for number, barrier in enumerate(self.barriers):
            if any(barrier.arrived) and self._complete(barrier):
                self._release(number, barrier)
                moved = True
        return moved

    def _complete(self, barrier: NamedBarrier) -> bool:
        """A warp of which everybody alive has come counts as whole, as the hardware counts."""
        if barrier.count == 0:
            return all(not warp.live & ~arrived for warp, arrived in zip(self.warps, barrier.arrived))
        total = 0
        for warp, arrived in zip(self.warps, barrier.arrived):
            total += LANES if arrived and not warp.live & ~arrived else arrived.bit_count()
        return total >= barrier.count

    def _release(self, number: int, barrier: NamedBarrier) -> None:
        came = sum([mask.bit_count() for mask in barrier.arrived])
        held = sum([mask.bit_count() for mask in barrier.brought])
        result = {"POPC": held, "AND": FULL * (held == came), "OR": FULL * (held > 0), "": 0}[barrier.reduction]
        for warp in self.warps:
            for group in warp.groups:
                if group.state == AT_BARRIER and group.barrier == number:
                    group.state = RUNS
                    warp.reduced[group.lanes] = result
        self.barriers[number] = NamedBarrier(len(self.warps))
