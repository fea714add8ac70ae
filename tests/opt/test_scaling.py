"""What passes need grows with the size of a function, not with its square: of many loops, branches and places."""

from __future__ import annotations

import gc
import time
import tracemalloc

import pytest

from drawloom.opt.loads import reuse_loads
from drawloom.opt.manager import LEVELS, PASSES
from drawloom.opt.stores import remove_stores
from drawloom.opt.work import Work
from drawloom.ptx.parser import parse
from drawloom.ptx.ssa import construct

HEAD = """.version 8.0
.target sm_80
.address_size 64
.entry k(.param .u64 p, .param .u64 q, .param .u32 n) {
.reg .b64 %d<4>; .reg .b32 %r<9>; .reg .pred %c<3>;
.local .align 16 .b8 frame[400000];
ld.param.u64 %d1, [p]; ld.param.u64 %d2, [q]; ld.param.u32 %r1, [n];
"""


def loops(count: int) -> str:
    """Loops of one block, each with places of its own; the first values are loaded again at the end."""
    body = [f"ld.global.u32 %r2, [%d1+{4 * i}]; st.local.u32 [frame+{4 * i}], %r2;" for i in range(count)]
    for i in range(count):
        body.append(
            f"mov.u32 %r3, 0; L{i}: ld.local.u32 %r4, [frame+{4 * i}]; add.u32 %r3, %r3, %r4;"
            f"st.local.u32 [frame+{4 * count + 4 * i}], %r3; setp.lt.u32 %c1, %r3, %r1; @%c1 bra L{i};"
        )
    for i in range(count):
        body.append(f"ld.local.u32 %r5, [frame+{4 * i}]; st.global.u32 [%d2+{4 * i}], %r5;")
    return "\n".join(body)


def diamonds(count: int) -> str:
    """Branches, of which both ways store to a place that is loaded behind them and again at the end."""
    body = []
    for i in range(count):
        body.append(
            f"ld.global.u32 %r2, [%d1+{4 * i}]; setp.lt.u32 %c1, %r2, %r1; @%c1 bra A{i};"
            f"st.local.u32 [frame+{4 * i}], %r2; bra B{i}; A{i}: st.local.u32 [frame+{4 * i}], 5;"
            f"B{i}: ld.local.u32 %r3, [frame+{4 * i}]; st.global.u32 [%d1+{4 * i}], %r3;"
        )
    for i in range(count):
        body.append(f"ld.local.u32 %r5, [frame+{4 * i}]; st.global.u32 [%d2+{4 * i}], %r5;")
    return "\n".join(body)


def nests(count: int) -> str:
    """Loops in each other, each with a product that no loop changes and a counter in memory."""
    body = []
    for i in range(count):
        body.append(
            f"st.local.u32 [frame+{4 * i}], 0; mov.u32 %r3, 0; L{i}: mul.lo.u32 %r5, %r1, {i + 3};"
            "add.u32 %r4, %r5, %r4;"
        )
    for i in reversed(range(count)):
        body.append(
            f"ld.local.u32 %r3, [frame+{4 * i}]; add.u32 %r3, %r3, 1; st.local.u32 [frame+{4 * i}], %r3;"
            f"setp.lt.u32 %c1, %r3, %r1; @%c1 bra L{i};"
        )
    return "\n".join(body)


def pointers(count: int) -> str:
    """Places at as many bases, in one block."""
    body = []
    for i in range(count):
        body.append(
            f"ld.global.u64 %d3, [%d1+{8 * i}]; ld.global.u32 %r2, [%d3]; st.global.u32 [%d3+4], %r2;"
            f"ld.global.u32 %r3, [%d3]; st.global.u32 [%d2+{4 * i}], %r3;"
        )
    return "\n".join(body)


SHAPES = {"loops": loops, "diamonds": diamonds, "pointers": pointers}


def work_on(body: str) -> Work:
    module = parse(HEAD + body + "\nret; }")
    return Work(module, construct(module.functions["k"], module))


@pytest.mark.parametrize("shape", SHAPES)
def test_passes_take_no_quadratic_time(shape: str) -> None:
    """Four times as much, of which each pass may take eight times as long, where it takes long enough to tell."""
    small, large = 150, 600
    taken: dict[str, list[float]] = {}
    for count in (small, large):
        work = work_on(SHAPES[shape](count))
        gc.collect()
        gc.disable()
        try:
            for name in LEVELS[3]:
                before = time.process_time()
                PASSES[name](work)
                work.memory = None
                taken.setdefault(name, []).append(time.process_time() - before)
        finally:
            gc.enable()
    for name, times in taken.items():
        quarter = len(times) // 2
        assert sum(times[quarter:]) < 8 * sum(times[:quarter]) + 0.05, name


@pytest.mark.parametrize("shape", ["loops", "diamonds"])
def test_values_that_outlive_many_loops_take_no_phi_in_each(shape: str) -> None:
    """They took one of 2 * 600 * 600 before those that join nothing were dropped."""
    peaks = []
    for count in (150, 600):
        work = work_on(SHAPES[shape](count))
        tracemalloc.start()
        reuse_loads(work)
        remove_stores(work)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        made = len([phi for block in work.ssa.blocks for phi in block.phis])
        assert made <= 2 * count
        assert not [r for r in work.ssa.registers if r.id > 20 * count]
    assert peaks[1] < 6 * peaks[0]


def test_invariants_of_deep_loops_take_no_quadratic_time() -> None:
    """600 loops in each other took 16 times as long as 150 while each loop looked at all that are inside."""
    taken = []
    for count in (150, 600):
        work = work_on("mov.u32 %r4, 0;" + nests(count) + "st.global.u32 [%d2], %r4;")
        before = time.process_time()
        PASSES["invariant"](work)
        taken.append(time.process_time() - before)
        assert work.changes >= count
        assert len([s for s in work.ssa.blocks[0].statements if "mul.lo.u32" in str(s)]) == count
    assert taken[1] < 8 * taken[0] + 0.05
