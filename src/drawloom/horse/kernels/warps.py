"""What the lanes of a warp do together: values of other lanes, sums and prefix sums by shuffles."""

from __future__ import annotations

from drawloom.horse.emit import ALL_LANES, WARP, Emitter
from drawloom.ptx.ir import Register
from drawloom.ptx.types import F64


def shuffled(emitter: Emitter, value: Register, mode: str, lanes: Register | int) -> Register:
    """Another lane's value of 32 or 64 bits: "up", "down" or "bfly" by ``lanes``, or "idx" of that lane. A lane out
    of range gives the lane's own."""
    bound = 0 if mode == "up" else WARP - 1
    if value.type is F64:
        return emitter.calc("mov.f64", shuffled(emitter, emitter.calc("mov.b64", value), mode, lanes))
    if value.type.bits == 32:
        return emitter.calc(f"shfl.sync.{mode}.b32", value, lanes, bound, ALL_LANES)
    low = emitter.calc("cvt.u32.u64", value)
    high = emitter.calc("cvt.u32.u64", emitter.calc("shr.u64", value, 32))
    low, high = shuffled(emitter, low, mode, lanes), shuffled(emitter, high, mode, lanes)
    upper = emitter.calc("shl.b64", emitter.calc("cvt.u64.u32", high), 32)
    return emitter.calc("or.b64", upper, emitter.calc("cvt.u64.u32", low))


def warp_sum(emitter: Emitter, value: Register) -> Register:
    """The sum of the lanes' integers, in every lane."""
    for lanes in (16, 8, 4, 2, 1):
        value = emitter.calc(f"add.u{value.type.bits}", value, shuffled(emitter, value, "bfly", lanes))
    return value


def warp_scan(emitter: Emitter, value: Register, lane: Register) -> Register:
    """The sum of the integers of the lanes up to and with each."""
    type = f"u{value.type.bits}"
    for lanes in (1, 2, 4, 8, 16):
        other = shuffled(emitter, value, "up", lanes)
        reached = emitter.calc("setp.ge.u32", lane, lanes)
        grown = emitter.calc(f"add.{type}", value, other)
        value = emitter.calc(f"selp.b{value.type.bits}", grown, value, reached)
    return value
