"""Loads and stores of every space and width, loads from constant banks, questions about addresses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from drawloom.sass.interpreter import memory
from drawloom.sass.interpreter.basics import ALL, AccessFault, Row
from drawloom.sass.interpreter.memory import LOCAL_WINDOW, SHARED_WINDOW, WINDOW_SIZE, Region
from drawloom.sass.interpreter.operation import Builder, Operation, Read, constant_row
from drawloom.sass.interpreter.state import Step, Warp

Address = Callable[[Warp], Row]  # 64-bit addresses
#: What is done in a region: for which of the accesses, and at what offsets, in bytes, into its views.
Action = Callable[[Region, Row | slice, Row], None]

SIZES: Final[dict[str, int]] = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "32": 4, "64": 8, "128": 16}
#: What says how an access is cached, ordered or waited for, which changes no result here.
HINTS: Final = """E STRONG WEAK MMIO CONSTANT SYS GPU SM CTA VC PRIVATE EF EL LU EU NA EN U LTC64B LTC128B LTC256B
    STRICT CG CI CS CV WT""".split()
SPACES: Final[dict[str, str]] = {
    "LD": "generic", "LDG": "global", "LDS": "shared", "LDL": "local",
    "ST": "generic", "STG": "global", "STS": "shared", "STL": "local",
}  # fmt: skip


def address_of(operation: Operation, at: int) -> Address:
    """The addresses of an operand in brackets: 64 bits wide with .E, else 32 that wrap."""
    operand = operation.operands[at]
    if operand.kind != "address":
        raise operation.unsupported("an operand that is no address")
    wide = operation.has("E") or operand.wide
    base = _part(operation, "R", operand.base, wide and not operand.unsigned)
    uniform = _part(operation, "UR", operand.uniform, wide)
    offset = constant_row(operand.offset, np.uint64)
    scale = np.uint64(operand.scale)
    mask = np.uint64(0xFFFFFFFFFFFFFFFF if wide else 0xFFFFFFFF)

    def addresses(w: Warp) -> Row:
        total = offset
        if base is not None:
            total = total + base(w).astype(np.uint64) * scale
        if uniform is not None:
            total = total + uniform(w).astype(np.uint64)
        return total & mask

    return addresses


def _part(operation: Operation, kind: str, number: int, wide: bool) -> Read | None:
    if number == (255 if kind == "R" else 63):
        return None
    if wide:
        return operation.pair(kind, number)
    return (lambda w: w.r[number]) if kind == "R" else (lambda w: w.u[number])


def size_of(operation: Operation) -> int:
    """The bytes of an access."""
    sizes = [SIZES[m] for m in operation.modifiers if m in SIZES]
    return sizes[0] if sizes else 4


def access(w: Warp, space: str, lanes: Row, addresses: Row, size: int, action: Action) -> None:
    """Runs `action` for lanes, by their numbers, and their addresses in `space`. Local memory is one region for all
    lanes, behind one another."""
    if space == "generic":
        by_window(w, lanes, addresses, size, action)
        return
    memory.check_alignment(addresses, size, space)
    if space == "global":
        for which, region in w.block.launch.memory.split(addresses, size):
            action(region, which, region.offsets(addresses[which], size))
    elif space == "shared":
        action(w.block.shared_region, ALL, w.block.shared_region.offsets(addresses, size))
    else:
        top = w.block.launch.stack_top
        highest = max(addresses.tolist())
        if highest + size > top:
            raise AccessFault(f"access outside of local memory, which ends at 0x{top:x}: {size} bytes", highest, size)
        action(w.local_region, ALL, addresses.view(np.int64) + lanes * top)


def by_window(w: Warp, lanes: Row, addresses: Row, size: int, action: Action) -> None:
    """Generic addresses, each in the space that it lies in."""
    if max(addresses.tolist()) < SHARED_WINDOW:  # as most are
        access(w, "global", lanes, addresses, size, action)
        return
    for space, inside in spaces(addresses).items():
        chosen = inside.nonzero()[0]
        if not len(chosen):
            continue
        start = {"shared": SHARED_WINDOW, "local": LOCAL_WINDOW, "global": 0}[space]

        def part(region: Region, which: Row | slice, offsets: Row, chosen: Row = chosen) -> None:
            action(region, chosen[which], offsets)

        access(w, space, lanes[chosen], addresses[chosen] - np.uint64(start), size, part)


def spaces(addresses: Row) -> dict[str, Row]:
    """For every space, which addresses lie in it."""
    found = {}
    for space, start in (("shared", SHARED_WINDOW), ("local", LOCAL_WINDOW)):
        found[space] = (addresses >= start) & (addresses < start + WINDOW_SIZE)
    found["global"] = ~(found["shared"] | found["local"])
    return found


def load(operation: Operation) -> Step:
    """LD, LDG, LDS, LDL."""
    operation.only(*HINTS, *SIZES)
    space, size = SPACES[operation.base], size_of(operation)
    addresses = address_of(operation, 1)
    first = operation.operands[0].value
    count = max(1, size // 4)
    if count > 1 and first != 255:
        operation.check_aligned(first, count)
    extend = next((m for m in ("S8", "S16") if operation.has(m)), "")

    def run(w: Warp, m: Row) -> None:
        lanes = m.nonzero()[0]
        at = addresses(w)[lanes]

        def take(region: Region, which: Row | slice, offsets: Row) -> None:
            for n, word in enumerate(memory.read(region, offsets, size)):
                if extend:
                    word = word.astype(np.int8 if extend == "S8" else np.int16).astype(np.int32).view(np.uint32)
                if first != 255:
                    w.r[first + n][lanes[which]] = word

        access(w, space, lanes, at, size, take)

    return run


def store(operation: Operation) -> Step:
    """ST, STG, STS, STL."""
    operation.only(*HINTS, *SIZES)
    space, size = SPACES[operation.base], size_of(operation)
    addresses = address_of(operation, 0)
    sources = words_from(operation, 1, max(1, size // 4))

    def run(w: Warp, m: Row) -> None:
        lanes = m.nonzero()[0]
        values = [source(w)[lanes] for source in sources]

        def put(region: Region, which: Row | slice, offsets: Row) -> None:
            memory.write(region, offsets, size, [value[which] for value in values])

        access(w, space, lanes, addresses(w)[lanes], size, put)

    return run


def words_from(operation: Operation, at: int, count: int) -> list[Read]:
    """The registers of a value of so many words."""
    operand = operation.operands[at]
    first = operand.value
    if operand.kind != "R":
        raise operation.unsupported(f"data of kind {operand.kind}")
    if first == 255:
        return [lambda w: w.r[255]] * count
    if count > 1:
        operation.check_aligned(first, count)
    return [_register(first + n) for n in range(count)]


def _register(number: int) -> Read:
    return lambda w: w.r[number]


def load_constant(operation: Operation) -> Step:
    """LDC and ULDC: from a place in a constant bank that registers may say."""
    operation.only("E", *SIZES)
    operand = operation.operands[1]
    target = operation.operands[0]
    size = size_of(operation)
    if operand.kind != "bank" or operand.bank < 0:
        raise operation.unsupported("a bank named by a register")
    count = max(1, size // 4)
    if count > 1 and target.value not in (255, 63):
        operation.check_aligned(target.value, count)
    region = operation.launch.bank(operand.bank)
    base = _part(operation, "R", operand.base, False)
    uniform = _part(operation, "UR", operand.uniform, False)
    offset = constant_row(operand.offset, np.uint32)
    extend = next((m for m in ("S8", "S16") if operation.has(m)), "")
    everyone = target.kind == "UR"

    def run(w: Warp, m: Row) -> None:
        total = offset
        for part in (base, uniform):
            if part is not None:
                total = total + part(w)
        lanes = ALL if everyone else m.nonzero()[0]
        places = total[lanes].astype(np.uint64)
        memory.check_alignment(places, size, "constant")
        for n, word in enumerate(memory.read(region, region.offsets(places, size), size)):
            if extend:
                word = word.astype(np.int8 if extend == "S8" else np.int16).astype(np.int32).view(np.uint32)
            if target.value != (63 if everyone else 255):
                (w.u if everyone else w.r)[target.value + n][lanes] = word

    return run


def query_space(operation: Operation) -> Step:
    """QSPC: whether a generic address is shared (.S), local (.L), global (.G) or another block's shared (.D)."""
    operation.only("E", "S", "L", "G", "D")
    write = operation.destination(0)
    addresses = address_of(operation, 2)
    letter = operation.modifiers[-1]

    def run(w: Warp, m: Row) -> None:
        found = spaces(addresses(w))
        none = np.zeros(32, np.bool_)
        write(w, m, {"S": found["shared"], "L": found["local"], "G": found["global"], "D": none}[letter])

    return run


BUILDERS: Final[dict[str, Builder]] = {
    **dict.fromkeys("LD LDG LDS LDL".split(), load), **dict.fromkeys("ST STG STS STL".split(), store),
    "LDC": load_constant, "ULDC": load_constant, "QSPC": query_space,
}  # fmt: skip
