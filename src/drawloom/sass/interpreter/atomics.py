"""Atomic operations: ATOM, ATOMG, ATOMS, RED and their kin, one lane after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from drawloom.sass.interpreter import exact
from drawloom.sass.interpreter.basics import Row, anybody
from drawloom.sass.interpreter.conversions import INTEGERS, number_of
from drawloom.sass.interpreter.exact import BF16, F16, F32, F64, RN, Format
from drawloom.sass.interpreter.loads_stores import HINTS, access, address_of, spaces, words_from
from drawloom.sass.interpreter.memory import Region
from drawloom.sass.interpreter.operation import Builder, Operation
from drawloom.sass.interpreter.state import Step, Warp

#: New value of the old one, the operand and (of compare and swap) a second operand, at a width in bits.
Update = Callable[[int, int, int], int]

SPACES: Final[dict[str, str]] = {
    "ATOM": "generic", "ATOMG": "global", "ATOMS": "shared", "RED": "generic", "REDG": "global", "REDS": "shared",
}  # fmt: skip
FLOATS: Final[dict[str, Format]] = {"F32": F32, "F64": F64, "F16x2": F16, "BF16x2": BF16}
OPERATIONS: Final = "ADD MIN MAX INC DEC AND OR XOR EXCH CAS CAST POPC".split()


def _float_update(operation: Operation, name: str, f: Format) -> Update:
    """Sums of floats, of both halves of a word; .FTZ flushes operands and result."""
    if name != "ADD":
        raise operation.unsupported(f".{name} of floats")
    flush = f.flush if operation.has("FTZ") else lambda a: a
    if f.bits > 16:
        return lambda old, b, _: flush(exact.add(f, flush(old), flush(b), RN))

    def halves(old: int, b: int, _: int) -> int:
        low = exact.add(f, old & 0xFFFF, b & 0xFFFF, RN)
        return exact.add(f, old >> 16, b >> 16, RN) << 16 | low

    return halves


def update(operation: Operation, bits: int) -> Update:
    """What the operation makes of the old value."""
    name = next(m for m in operation.modifiers if m in OPERATIONS)
    for m in operation.modifiers:
        if m in FLOATS:
            return _float_update(operation, name, FLOATS[m])
    is_signed = operation.has("S32") or operation.has("S64")
    mask = (1 << bits) - 1

    def number(a: int) -> int:
        return number_of(a, bits, is_signed)

    table: dict[str, Update] = {
        "ADD": lambda old, b, _: old + b & mask,
        "MIN": lambda old, b, _: b if number(b) < number(old) else old,
        "MAX": lambda old, b, _: b if number(b) > number(old) else old,
        "INC": lambda old, b, _: 0 if old >= b else old + 1,
        "DEC": lambda old, b, _: b if old == 0 or old > b else old - 1,
        "AND": lambda old, b, _: old & b,
        "OR": lambda old, b, _: old | b,
        "XOR": lambda old, b, _: old ^ b,
        "EXCH": lambda old, b, _: b,
        "CAS": lambda old, b, c: c if old == b else old,
        "CAST": lambda old, b, c: c if old == b else old,
    }
    if name not in table:
        raise operation.unsupported(f".{name}")
    return table[name]


def atomic(operation: Operation) -> Step:
    """The old value goes to the destination; of CAST whether it was the expected one."""
    operation.only(*HINTS, *OPERATIONS, *FLOATS, *INTEGERS, "64", "128", "FTZ", "RN", "SPIN")
    wide = any(operation.has(m) for m in ("64", "U64", "S64", "F64", "128"))
    size = 16 if operation.has("128") else 8 if wide else 4
    at = next(n for n, operand in enumerate(operation.operands) if operand.kind == "address")
    done = operation.destination(0) if operation.is_predicate(0) else None
    target = operation.operands[at - 1].value if at else 255
    sources = [words_from(operation, n, size // 4) for n in range(at + 1, len(operation.operands))]
    if len(sources) == 1 and operation.has("CAS"):  # sm_61 names the first of the registers of both
        both = words_from(operation, at + 1, size // 2)
        sources = [both[: size // 4], both[size // 4 :]]
    addresses = address_of(operation, at)
    space, function = SPACES[operation.base], update(operation, size * 8)
    tests = operation.has("CAST")
    is_swap = any(operation.has(m) for m in ("EXCH", "CAS", "CAST"))
    lacking = any(operation.has(m) for m in FLOATS) or (wide and not is_swap)  # what ATOMS does not do
    if target != 255 and wide:
        operation.check_aligned(target, size // 4)

    def run(w: Warp, m: Row) -> None:
        places = addresses(w)
        if done is not None and space == "generic":
            # The predicate says which lanes have done it: none with addresses in local memory, and of shared memory
            # those whose operation it has (ptxas makes no second way for the others).
            found = spaces(places)
            outside = found["global"] if lacking else ~found["local"]
            done(w, m, outside)
            m = m & outside
            if not anybody(m):
                return
        lanes = m.nonzero()[0]
        values = [_joined([word(w)[lanes] for word in source]) for source in sources]
        first, second = values[0], values[-1]

        def change(region: Region, which: Row | slice, offsets: Row) -> None:
            data = region.views[1].data
            found = []
            chosen = which.tolist() if isinstance(which, np.ndarray) else range(len(lanes))
            for given, place in zip(chosen, offsets.tolist()):
                old = int.from_bytes(data[place : place + size], "little")
                data[place : place + size] = function(old, first[given], second[given]).to_bytes(size, "little")
                found.append((int(old == first[given]) if tests else old).to_bytes(size, "little"))
            if target != 255:
                words = np.frombuffer(b"".join(found), np.uint32).reshape(-1, size // 4)
                for k in range(size // 4):
                    w.r[target + k][lanes[which]] = words[:, k]

        access(w, space, lanes, places[lanes], size, change)

    return run


def _joined(words: list[Row]) -> list[int]:
    """Words, the lowest first, as numbers."""
    numbers: list[int] = words[0].tolist()
    for n, word in enumerate(words[1:], 1):
        numbers = [low | high << 32 * n for low, high in zip(numbers, word.tolist())]
    return numbers


BUILDERS: Final[dict[str, Builder]] = dict.fromkeys(SPACES, atomic)
