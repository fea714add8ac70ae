"""Cubins to the cycles that one warp is expected to take through their blocks, each gone through once.

    python -m tools.waits 61 FOLDER [FOLDER ...]

Stall counts are taken as they stand; results by scoreboard come after the times that the scheduler expects
(`access.Facts.expected`), those that come in order no sooner than the ones before. So two folders with the same files,
of two assemblers, can be compared: for each folder the cycles, of them those waited for scoreboards, the partial waits,
and the functions that have some; then by how much the first differs from each other one by geometric mean.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import NamedTuple

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from drawloom.sass.access import facts_of
from drawloom.sass.control import NO_BARRIER, read_barrier, stall, wait_mask, write_barrier
from drawloom.sass.cubin import read_cubin
from drawloom.sass.decoder import unpack_section
from drawloom.sass.effects import effects
from drawloom.sass.instruction import Instruction
from drawloom.sass.isa import load_target
from drawloom.sass.latencies import Timing, timing

#: Cycles until the operands of a memory instruction are read, and between two results that come in order.
READ, NEXT = 15, 4


class Cycles(NamedTuple):
    """`all` cycles of a function, of them `waited` for scoreboards; how many `partial` waits and loads it has."""

    all: int
    waited: int
    partial: int
    loads: int


def cycles(code: list[Instruction], times: Timing) -> Cycles:
    """What one warp takes through every block once; what is under way at a branch is left out."""
    clock = waited = partial = loads = 0
    boards: list[list[int]] = [[] for _ in range(6)]
    newest = 0
    for instruction in code:
        found = effects(instruction.opcode)
        start = clock
        for board in range(6):
            if wait_mask(instruction.control) >> board & 1:
                clock = max([clock, *boards[board]])
        if found.base == "DEPBAR" and instruction.opcode.signature == "SB,I":
            board, most = instruction.values
            under_way = sorted((then for then in boards[board] if then > clock), reverse=True)
            clock = max([clock, *under_way[most : most + 1]])
            partial += 1
        waited += clock - start
        facts = facts_of(instruction.opcode, times)
        if facts.variable:
            then = clock + facts.expected
            if facts.counted:
                loads += 1
                newest = then = max(then, newest + NEXT)
            for board, when in (
                (write_barrier(instruction.control), then),
                (read_barrier(instruction.control), clock + READ),
            ):
                if board != NO_BARRIER:
                    boards[board].append(when)
        clock += stall(instruction.control)
        if found.flow not in ("", "prepare", "warp"):
            boards = [[] for _ in range(6)]
            newest = 0
    return Cycles(clock, waited, partial, loads)


def read_folder(folder: Path, target: int) -> dict[tuple[str, str], Cycles]:
    found = {}
    for path in sorted(folder.glob("*.cubin")):
        for function in read_cubin(path.read_bytes()).assembly.functions:
            if function.code:
                code = unpack_section(load_target(target), function.code)
                found[path.name, function.name] = cycles(code, timing(target))
    return found


def main() -> int:
    target, folders = int(sys.argv[1]), [Path(name) for name in sys.argv[2:]]
    every = [read_folder(folder, target) for folder in folders]
    common = [name for name in every[0] if all(name in found for found in every)]
    for many in (False, True):
        names = [name for name in common if not many or every[0][name].loads > 6]
        print(f"{len(names)} functions" + (", with more than six loads" if many else ""))
        for folder, found in zip(folders, every, strict=True):
            total = [sum(column) for column in zip(*(found[name] for name in names), strict=True)]
            having = sum(found[name].partial > 0 for name in names)
            ratio = math.exp(sum(math.log(every[0][n].all / found[n].all) for n in names) / max(len(names), 1))
            kinds = f"{total[0]} cycles, {total[1]} waited, {total[2]} partial waits in {having}"
            print(f"  {folder.name}: {kinds}; {ratio:.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
