"""Loads of global memory that nobody writes while the kernel runs go through the read-only cache.

    ld.global.f32 %f1, [%rd1];      ld.global.nc.f32 %f1, [%rd1];   -- %rd1 from a parameter
    st.global.f32 [%rd2], %f1;      st.global.f32 [%rd2], %f1;      -- %rd2 from another, promised to be distinct

All threads of the grid run this kernel, so what it writes nowhere is not written, as long as it does not wait for other
grids or the host: there is no fence, no ordered access and no call in it. PTX does not say which parameters are
``__restrict__``; the promise "distinct-parameters" does.
"""

from __future__ import annotations

from typing import Final

from drawloom.opt.memory import ANYTHING, memory_of
from drawloom.opt.work import Work
from drawloom.ptx.ir import Instruction
from drawloom.ptx.isa import ATOMIC, BARRIER, BRANCH, EXIT, LOAD, PURE, RETURN, STORE, WARP, OpcodeError, decode


def mark_readonly(work: Work) -> None:
    """Loads by a promised parameter that no store or atomic of the kernel goes by."""
    if not work.ssa.source.is_entry or "distinct-parameters" not in work.promises:
        return
    memory = memory_of(work)
    loads: list[Instruction] = []
    written = 0
    for block in work.ssa.blocks:
        for statement in block.statements:
            if not isinstance(statement, Instruction):
                continue
            opcode = statement.opcode
            if opcode.effect not in _ALONE or opcode.order not in ("", "weak", "relaxed") or opcode.name == "mbarrier":
                return
            if opcode.effect in (STORE, ATOMIC) and opcode.space != "param":
                written |= memory.sources.of_access(statement)
            elif memory.place(statement) is not None and opcode.space == "global":
                loads.append(statement)
    parameters = memory.sources.parameters()
    if written & ANYTHING:
        return
    for load in loads:
        sources = memory.sources.of_access(load)
        if sources & ~parameters or sources & written:
            continue
        try:
            load.opcode = decode(load.opcode.text.replace("ld.weak.", "ld.").replace("ld.global", "ld.global.nc"))
        except OpcodeError:
            continue
        work.changed(load, "nobody writes there while the kernel runs")


#: What does not wait for other grids.
_ALONE: Final = (PURE, LOAD, STORE, ATOMIC, BARRIER, WARP, BRANCH, RETURN, EXIT)
