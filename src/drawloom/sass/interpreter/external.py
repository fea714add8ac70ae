"""Functions that the driver gives to machine code: `vprintf`, `__assertfail`, `malloc`, `free`, called by the
convention of device functions.

Code stands in memory from `CODE` on, these functions from `FUNCTIONS` on: the lower word tells them apart, too. What a
call may change is noise behind it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import numpy as np

from drawloom.ptx.printf import argument_bytes, argument_count, format_vprintf
from drawloom.sass.abi import FIRST, RETURN_ADDRESS, SCRATCH
from drawloom.sass.interpreter import memory
from drawloom.sass.interpreter.basics import Fault, Row, anybody, mask_of, numbers_of
from drawloom.sass.interpreter.control import executing
from drawloom.sass.interpreter.loads_stores import by_window
from drawloom.sass.interpreter.operation import Builder, Operation, Read, constant_row
from drawloom.sass.interpreter.state import Step, Warp

if TYPE_CHECKING:
    from drawloom.sass.interpreter.launch import Launch

CODE: Final = 1 << 40
FUNCTIONS: Final = (1 << 41) + (1 << 31)
_STEP: Final = 128
_NOISE: Final = np.random.default_rng(0xCA11)


def read_bytes(w: Warp, lane: int, address: int, size: int) -> bytes:
    """Bytes at a generic address of a lane."""
    out = bytearray()
    lanes = np.array([lane])
    for at in range(address, address + size):

        def take(region: memory.Region, which: Row | slice, offsets: Row) -> None:
            out.append(int(memory.read(region, offsets, 1)[0][0]))

        by_window(w, lanes, np.array([at], np.uint64), 1, take)
    return bytes(out)


def read_string(w: Warp, lane: int, address: int) -> bytes:
    """The bytes before the NUL."""
    out = b""
    while (byte := read_bytes(w, lane, address + len(out), 1)) != b"\0":
        out += byte
    return out


def argument(w: Warp, lane: int, register: int, words: int = 2) -> int:
    return sum(int(w.r[register + n][lane]) << 32 * n for n in range(words))


def vprintf(launch: Launch, w: Warp, lane: int) -> int:
    """Prints; returns the number of arguments, -1 for a null format (CUDA C++ Programming Guide, 10.35)."""
    place, block = argument(w, lane, FIRST), argument(w, lane, FIRST + 2)
    if not place:
        return 0xFFFFFFFF
    format = read_string(w, lane, place)
    data = read_bytes(w, lane, block, argument_bytes(format))
    launch.write(format_vprintf(format, data, lambda address: read_string(w, lane, address)))
    return argument_count(format)


def assertfail(launch: Launch, w: Warp, lane: int) -> int:
    """Stops the kernel with the message that CUDA prints."""
    message, file = (read_string(w, lane, argument(w, lane, FIRST + n)).decode() for n in (0, 2))
    line, function = argument(w, lane, FIRST + 4, 1), read_string(w, lane, argument(w, lane, FIRST + 6)).decode()
    raise Fault(f"assertion failed: {message} ({file}:{line}, {function})")


def malloc(launch: Launch, w: Warp, lane: int) -> int:
    return launch.memory.allocate(argument(w, lane, FIRST))


def free(launch: Launch, w: Warp, lane: int) -> int:
    launch.memory.free(argument(w, lane, FIRST))
    return 0


EXTERNAL: Final[dict[str, Callable[[Launch, Warp, int], int]]] = {
    "vprintf": vprintf, "__assertfail": assertfail, "malloc": malloc, "free": free,
}  # fmt: skip
_NAMES: Final = tuple(EXTERNAL)


def address_of_function(name: str) -> int:
    """Where one of them stands; -1 for any other name."""
    return FUNCTIONS + _STEP * _NAMES.index(name) if name in EXTERNAL else -1


def go_absolute(operation: Operation) -> Step:
    """CALL.ABS and RET.ABS: to code of the kernel's file; of the functions above, to the return address at once."""
    operation.only("ABS", "NOINC", "NODEC")
    targets, back = absolute_target(operation), operation.pair("R", RETURN_ADDRESS)
    lanes, place, launch = executing(operation), operation.place, operation.launch

    def run(w: Warp, m: Row) -> int | None:
        going = lanes(w, m)
        taken = mask_of(going)
        if not taken:
            return None
        goals = targets(w).copy()
        outside = going & (goals >= FUNCTIONS)
        if anybody(outside):
            returns = back(w).copy()
            call_outside(launch, w, goals, outside)
            goals[outside] = returns[outside]
        rest = w.running.mask & ~taken
        pieces = [(rest, place + 1)] if rest else []
        for address in sorted(set(goals[going].tolist())):
            pieces.append((mask_of(going & (goals == address)), operation.index_of(address - CODE)))
        return pieces[0][1] if len(pieces) == 1 else w.part(pieces)

    return run


def call_by_word(operation: Operation) -> Step:
    """JCAL of sm_61: the lower word of the address; of the functions above, which return at once."""
    operation.only("NOINC")
    goal = FUNCTIONS + operation.operands[0].value - (FUNCTIONS & 0xFFFFFFFF)
    lanes, launch = executing(operation), operation.launch

    def run(w: Warp, m: Row) -> None:
        going = lanes(w, m)
        if anybody(going):
            call_outside(launch, w, np.full(len(going), goal, np.int64), going)

    return run


def absolute_target(operation: Operation) -> Read:
    """An address: an immediate, a pair of registers, or both."""
    operand = operation.operands[0]
    if operand.kind == "I":
        return lambda w: constant_row(operand.value, np.uint64)
    if operand.kind == "R":
        return operation.pair("R", operand.value)
    if operand.kind != "pair" or operand.numbers[0].kind != "R":
        raise operation.unsupported("a target that is not in a register")
    base, more = operation.pair("R", operand.numbers[0].value), np.uint64(operand.numbers[1].value)
    return lambda w: base(w) + more


def call_outside(launch: Launch, w: Warp, goals: Row, lanes: Row) -> None:
    results = np.zeros((2, len(lanes)), np.uint32)
    for lane in numbers_of(lanes):
        number, rest = divmod(int(goals[lane]) - FUNCTIONS, _STEP)
        if rest or not 0 <= number < len(_NAMES):
            raise Fault(f"a call of 0x{int(goals[lane]):x}, where there is no function")
        value = EXTERNAL[_NAMES[number]](launch, w, lane)
        results[:, lane] = value & 0xFFFFFFFF, value >> 32
    forget(w, lanes)
    for part in (0, 1):
        np.copyto(w.r[FIRST + part], results[part], where=lanes)


def forget(w: Warp, lanes: Row) -> None:
    """What a function of another file may leave in registers."""
    for register in range(255):
        if SCRATCH >> register & 1:
            np.copyto(w.r[register], _NOISE.integers(0, 1 << 32, len(lanes), np.uint32), where=lanes)
    for predicate in range(7):
        np.copyto(w.p[predicate], _NOISE.integers(0, 2, len(lanes)).astype(np.bool_), where=lanes)
    for register in range(4, 36):
        w.u[register][:] = _NOISE.integers(0, 1 << 32, 1, np.uint32)


def program_counter(operation: Operation) -> Step:
    """LEPC: the address of a label, or of the instruction itself."""
    operation.only()
    write, lanes = operation.long_destination(), executing(operation)
    here = operation.following - operation.bytes
    if len(operation.operands) > 1:
        here = operation.following + operation.operands[1].value
    row = np.full(32, CODE + here, np.uint64)
    return lambda w, m: write(w, lanes(w, m), row)


BUILDERS: Final[dict[str, Builder]] = {"LEPC": program_counter, "JCAL": call_by_word}
