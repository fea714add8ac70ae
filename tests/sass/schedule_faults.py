"""Faults planted in schedules: control bits changed in places where that must matter.

That it matters is argued here without the checker, on a straight line of code: between an instruction that writes (or
reads) a register and one that reads (or rewrites) it there is no more time, and no other scoreboard, than the schedule
needs. Whatever the rest of the program does, the changed schedule is then wrong on that line.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from drawloom.sass.control import NO_BARRIER, REUSE_SHIFT, read_barrier, stall, switches, wait_mask, write_barrier
from drawloom.sass.decoder import unpack_section
from drawloom.sass.effects import GENERAL, effects, registers_read, registers_written
from drawloom.sass.instruction import Instruction
from drawloom.sass.isa import load_target
from drawloom.sass.latencies import Timing, register_reads, register_writes, timing
from drawloom.sass.machine import RZ

SECTIONS = Path(__file__).parents[1] / "golden/sass/sections.zip"
YIELD, WAIT = 1 << 4, 63 << 11
LONG_STALL = 12
FLOWING = ("", "prepare", "warp")


class Fault(NamedTuple):
    kind: str
    place: int  # of the instruction whose control bits change
    control: int


def golden_sections(target: int) -> Iterator[tuple[str, list[Instruction]]]:
    """(name, instructions) of every golden section of a target."""
    with zipfile.ZipFile(SECTIONS) as archive:
        for name in archive.namelist():
            if name.startswith(f"{target}/"):
                yield name, unpack_section(load_target(target), archive.read(name))


def faults(target: int, code: list[Instruction]) -> Iterator[Fault]:
    """Every fault that can be planted in this section."""
    times = timing(target)
    start = 0
    for index, instruction in enumerate(code):
        if effects(instruction.opcode).flow not in FLOWING:
            yield from line_faults(target, times, code, start, index + 1)
            if target >= 75 and stall(instruction.control) == 5:
                yield Fault("control stall", index, instruction.control - 1)
            start = index + 1
    yield from line_faults(target, times, code, start, len(code))


def line_faults(target: int, times: Timing, code: list[Instruction], start: int, end: int) -> Iterator[Fault]:
    for index in range(start, end):
        control = code[index].control
        if target >= 75 and stall(control) >= LONG_STALL:
            yield Fault("yield", index, control | YIELD)
        if index + 1 < end:
            yield from delay_faults(code, index)
    yield from stall_faults(target, times, code, start, end)
    yield from result_faults(times, code, start, end)
    yield from source_faults(times, code, start, end)
    yield from reuse_faults(code, start, end)


def reuse_faults(code: list[Instruction], start: int, end: int) -> Iterator[Fault]:
    """A flag on a register that its own instruction or the next one writes, on one that no later instruction of the
    line names, and on one of an instruction behind which another warp may issue."""
    for index in range(start, end - 1):
        instruction, control = code[index], code[index].control
        for slot in instruction.opcode.form.reuse:
            register = GENERAL, operand(instruction, slot)
            flagged = control | 1 << REUSE_SHIFT + slot
            if flagged == control or register[1] in (-1, RZ):
                continue
            if register in registers_written(instruction) or register in registers_written(code[index + 1]):
                yield Fault("reuse: rewritten", index, flagged)
            elif not any(register in registers_read(other) for other in code[index + 1 : end]):
                yield Fault("reuse: for nobody", index, flagged)
            elif switches(control):
                yield Fault("reuse: over a switch", index, flagged)


def operand(instruction: Instruction, slot: int) -> int:
    """The register that stands in a source slot, from the text with nothing but its flag; -1 for none."""
    marked = Instruction(instruction.opcode, instruction.values, control=1 << REUSE_SHIFT + slot)
    found = re.search(r"R(\d+)\b[^,]*?\.reuse", str(marked))
    return int(found[1]) if found else -1


def delay_faults(code: list[Instruction], index: int) -> Iterator[Fault]:
    """A scoreboard that is waited for one cycle after the instruction that sets it."""
    control = code[index].control
    waits = wait_mask(code[index + 1].control)
    if stall(control) == 2 and (waits >> write_barrier(control) & 1 or waits >> read_barrier(control) & 1):
        yield Fault("scoreboard delay", index, control - 1)


def stall_faults(target: int, times: Timing, code: list[Instruction], start: int, end: int) -> Iterator[Fault]:
    """One cycle less between a result of fixed latency and its reader, where there are just as many as needed."""
    last: dict[tuple[int, int], tuple[int, int, int]] = {}
    least = 1 if target >= 75 else 0
    clock = 0
    for index in range(start, end):
        for file, number, consumer in register_reads(times, code[index]):
            if (file, number) in last:
                writer, producer, then = last[file, number]
                exact = clock - then == times.cycles[producer][consumer]
                where = [i for i in range(writer, index) if stall(code[i].control) > least]
                if exact and where:
                    yield Fault("stall", where[0], code[where[0]].control - 1)
        for file, number, producer in register_writes(times, code[index]):
            last.pop((file, number), None)
            if not times.variable(code[index].opcode) and code[index].guard == 7:
                last[file, number] = index, producer, clock
        clock += max(stall(code[index].control), least)


def result_faults(times: Timing, code: list[Instruction], start: int, end: int) -> Iterator[Fault]:
    """A result by scoreboard whose reader waits for just that: the wait dropped, the scoreboard changed or left out."""
    last: dict[tuple[int, int], int] = {}
    for index in range(start, end):
        for file, number, _ in register_reads(times, code[index]):
            writer = last.get((file, number), -1)
            if writer >= 0 and certain(code[writer], code[index]):
                yield from board_faults("result", code, writer, index, 5)
        for file, number, _ in register_writes(times, code[index]):
            last.pop((file, number), None)
            if times.variable(code[index].opcode):
                # The predicate of an atomic operation has two scoreboards.
                if effects(code[index].opcode).memory != "atomic" or file == GENERAL:
                    last[file, number] = index


def source_faults(times: Timing, code: list[Instruction], start: int, end: int) -> Iterator[Fault]:
    """A source that a scoreboard holds, and one that rewrites it and waits for just that scoreboard."""
    last: dict[tuple[int, int], int] = {}
    for index in range(start, end):
        for file, number, _ in register_writes(times, code[index]):
            reader = last.get((file, number), -1)
            if reader >= 0 and certain(code[reader], code[index]) and not times.variable(code[index].opcode):
                yield from board_faults("source", code, reader, index, 8)
            last.pop((file, number), None)
        if times.variable(code[index].opcode) and write_barrier(code[index].control) == NO_BARRIER:
            for file, number, _ in register_reads(times, code[index]):
                if file == GENERAL:
                    last[file, number] = index


def certain(first: Instruction, second: Instruction) -> bool:
    """Whether the second executes in some lane where the first did, whatever the predicates."""
    return first.guard == 7 or second.guard == 7


def board_faults(what: str, code: list[Instruction], setter: int, waiter: int, shift: int) -> Iterator[Fault]:
    """The scoreboard at `shift` of the setter's control bits, if the waiter waits for it alone and nothing between the
    two waits at all. Where others set it as well, they may stand for the setter: then only the wait can be dropped."""
    control = code[setter].control
    board = control >> shift & 7
    between = code[setter + 1 : waiter]
    if board == NO_BARRIER or wait_mask(code[waiter].control) != 1 << board or not all(map(waitless, between)):
        return
    yield Fault(f"{what}: wait dropped", waiter, code[waiter].control & ~WAIT)
    if not any(board in (write_barrier(other.control), read_barrier(other.control)) for other in between):
        yield Fault(f"{what}: scoreboard left out", setter, control | 7 << shift)
        yield Fault(f"{what}: other scoreboard", setter, control & ~(7 << shift) | (board + 1) % 6 << shift)


def waitless(instruction: Instruction) -> bool:
    found = effects(instruction.opcode)
    return not wait_mask(instruction.control) and found.base not in ("BAR", "DEPBAR") and found.unit != "unknown"
