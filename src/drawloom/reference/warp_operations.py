"""Warp instructions to handlers: bring the operands, wait for the lanes, write what the collective gives."""

from __future__ import annotations

from typing import Final

from drawloom.ptx.ir import Instruction, Operand, Pair
from drawloom.ptx.types import PRED, U32
from drawloom.reference.decode import Builder, Decoder
from drawloom.reference.threads import Arrival, Handler, Registers, Thread
from drawloom.reference.warp_semantics import COLLECTIVES

#: How many source operands each operation brings, the member mask aside.
_SOURCES: Final[dict[str, int]] = {
    "shfl": 3, "vote": 1, "match": 1, "redux": 1, "activemask": 0, "elect": 0, "bar.warp": 0,
}  # fmt: skip


def _destinations(d: Decoder, target: Operand) -> list[int]:
    if isinstance(target, Pair):
        return [d.destination(target.first), d.destination(target.second)]
    return [d.destination(target)]


def _warp(d: Decoder, i: Instruction) -> Handler:
    op = i.opcode
    collective = COLLECTIVES[op.name](op)
    operands = list(i.operands)
    destinations = _destinations(d, operands.pop(0)) if op.has_destination else []
    count = _SOURCES[op.name]
    types = [PRED if op.name == "vote" else op.type or U32, U32, U32]
    sources = [d.source(o, t) for o, t in zip(operands[:count], types, strict=False)]
    if not op.sync and op.name != "bar.warp":
        pc = len(d.code.handlers)

        def step_converged(r: Registers, t: Thread) -> int:
            return t.warp.converge(i, pc, Arrival(t, r, tuple([r[s] for s in sources]), destinations), collective)

        return step_converged
    mask = d.source(operands[count], U32)
    orders_memory = op.name == "bar.warp"
    key = op.text

    def step(r: Registers, t: Thread) -> int | None:
        arrival = Arrival(t, r, tuple([r[s] for s in sources]), destinations)
        return t.warp.arrive(key, r[mask] + 0, i, arrival, collective, orders_memory)  # type: ignore[operator]

    return step


WARP_BUILDERS: Final[dict[str, Builder]] = dict.fromkeys(COLLECTIVES, _warp)
