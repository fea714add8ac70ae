"""sm_61: control flow on the stack of a warp.

A warp executes one set of lanes at a time. SSY, PBK, PRET and CAL push a token with these lanes and the place where
they will go on together; a branch that only some take pushes one for the others. SYNC, BRK and RET take lanes out of
the set, up to the nearest token of their kind, and where the set is empty the top token is popped. ptxas does not use
PCNT and CONT: they are taken to do the same, PCNT being executed anew in each round.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from drawloom.sass.interpreter import control
from drawloom.sass.interpreter.basics import Fault, Row, mask_of
from drawloom.sass.interpreter.operation import Builder, Operation
from drawloom.sass.interpreter.pascal_integers import condition
from drawloom.sass.interpreter.state import PARTED, Step, Token, Warp

#: What an instruction goes back to.
TOKENS: Final[dict[str, str]] = {"SYNC": "SSY", "BRK": "PBK", "CONT": "PCNT", "RET": "CAL"}
SIDE: Final = "side"


def _lanes(operation: Operation) -> control.Condition:
    """The lanes for which the instruction does what it does, by its guard and by `CC.NE`."""
    chosen = control.executing(operation)
    words = operation.operands[0].words if operation.operands else ""
    if not words.startswith("CC."):
        return chosen
    operation.operands = operation.operands[1:]
    if words == "CC.T":
        return chosen
    test = condition(words.removeprefix("CC."))
    return lambda w, m: chosen(w, m) & test(w)


def _label(operation: Operation) -> int:
    return operation.index_of(operation.following + operation.operands[-1].value)


def _go_on(w: Warp) -> int:
    """The lanes that are executed are gone elsewhere: pops the next that can."""
    while w.stack:
        token = w.stack.pop()
        mask = token.mask & w.live
        if mask:
            w.running.restrict(mask)
            return token.place
    assert not w.live, "lanes are on no way"
    w.groups.remove(w.running)
    return PARTED


def push(operation: Operation) -> Step:
    """SSY, PBK, PCNT, PRET."""
    operation.only()
    kind, place = {"PRET": "CAL"}.get(operation.base, operation.base), _label(operation)

    def run(w: Warp, m: Row) -> None:
        w.stack.append(Token(kind, w.running.mask, place))

    return run


def resume(operation: Operation) -> Step:
    """SYNC, BRK, CONT, RET. SYNC takes no other tokens off than those of branches."""
    operation.only()
    kind, lanes = TOKENS[operation.base], _lanes(operation)

    def run(w: Warp, m: Row) -> int | None:
        leaving = mask_of(lanes(w, m))
        if not leaving:
            return None
        at = len(w.stack) - 1
        while at >= 0 and w.stack[at].kind != kind:
            if kind == "SSY" and w.stack[at].kind != SIDE:
                raise Fault(f"SYNC under a token of {w.stack[at].kind}")
            at -= 1
        if at < 0:
            raise Fault(f"{operation.base} without a token of {kind}")
        for token in w.stack[at + 1 :]:
            token.mask &= ~leaving
        rest = w.running.mask & ~leaving
        if rest:
            w.running.restrict(rest)
            return None
        return _go_on(w)

    return run


def branch(operation: Operation) -> Step:
    """BRA: those that do not take it wait, or with the other schedule those that do."""
    operation.only("U")
    lanes = _lanes(operation)
    target, place = _label(operation), operation.place

    def run(w: Warp, m: Row) -> int | None:
        taken, mask = mask_of(lanes(w, m)), w.running.mask
        if taken == mask:
            return target
        if not taken:
            return None
        return part(w, [(taken, target), (mask & ~taken, place + 1)])

    return run


def part(w: Warp, pieces: list[tuple[int, int]]) -> int:
    """The running lanes go different ways: the first goes on, the others wait on the stack."""
    if w.block.launch.reverse:
        pieces = pieces[::-1]
    for mask, place in reversed(pieces[1:]):
        w.stack.append(Token(SIDE, mask, place))
    w.running.restrict(pieces[0][0])
    return pieces[0][1]


def indirect(operation: Operation) -> Step:
    """BRX: a register, and a distance. JMX: an address, here one in the section."""
    operation.only()
    operand = operation.operands[-1]
    if operation.base == "JMX" and operand.kind == "R":
        number, offset = operand.value, 0
    elif operation.base == "BRX" and operand.kind == "pair" and operand.numbers[0].kind == "R":
        number, offset = operand.numbers[0].value, operation.following + operand.numbers[1].value
    else:
        raise operation.unsupported("a target that is not in a register")
    if len(operation.operands) > 1:
        raise operation.unsupported("a target under a condition")
    lanes, place = control.executing(operation), operation.place

    def run(w: Warp, m: Row) -> int | None:
        going = lanes(w, m)
        taken = mask_of(going)
        if not taken:
            return None
        targets = w.r[number].view(np.int32).astype(np.int64) + offset
        rest = w.running.mask & ~taken
        pieces = [(rest, place + 1)] if rest else []
        for address in sorted(set(targets[going].tolist())):
            pieces.append((mask_of(going & (targets == address)), operation.index_of(address)))
        return pieces[0][1] if len(pieces) == 1 else part(w, pieces)

    return run


def call(operation: Operation) -> Step:
    """CAL."""
    operation.only("NOINC")
    target, place, pushes = _label(operation), operation.place, not operation.has("NOINC")

    def run(w: Warp, m: Row) -> int:
        if pushes:
            w.stack.append(Token("CAL", w.running.mask, place + 1))
        return target

    return run


def leave(operation: Operation) -> Step:
    """EXIT."""
    operation.only()
    lanes = _lanes(operation)

    def run(w: Warp, m: Row) -> int | None:
        gone = mask_of(lanes(w, m))
        if not gone:
            return None
        w.live &= ~gone
        rest = w.running.mask & ~gone
        if rest:
            w.running.restrict(rest)
            return None
        return _go_on(w)

    return run


def block_barrier(operation: Operation) -> Step:
    """BAR. The hardware counts warps, so that lanes that are elsewhere would count as well and come again."""
    step = control.block_barrier(operation)

    def run(w: Warp, m: Row) -> int | None:
        if w.running.mask != w.live:
            raise operation.unsupported("a barrier of the block while lanes of the warp are elsewhere")
        return step(w, m)

    return run


BUILDERS: Final[dict[str, Builder]] = {
    **dict.fromkeys("SSY PBK PCNT PRET".split(), push), **dict.fromkeys("SYNC BRK CONT RET".split(), resume),
    "BRA": branch, "BRX": indirect, "JMX": indirect, "CAL": call, "EXIT": leave, "BAR": block_barrier,
    "B2R": control.barrier_result, "BPT": control.trap,
    **dict.fromkeys("NOP MEMBAR DEPBAR CCTL CCTLL CCTLT PMTRIG".split(), control.nothing),
}  # fmt: skip
