"""Where lanes that part are made to meet: control flow by hand, as machine code beside the reference, on the stack of
sm_61 and with the barriers of later targets; what the code looks like on sm_61."""

from __future__ import annotations

import re
import time
from typing import Any

import numpy as np
import pytest

import drawloom.sass.assemble as assembler
from drawloom.ptx import parse
from drawloom.ptx.cfg import build_cfg
from drawloom.ptx.dominators import post_dominators
from drawloom.ptx.uniformity import VARYING, Uniformity, uniformity
from drawloom.sass.assemble import assemble
from drawloom.sass.convergence import meetings
from drawloom.sass.decoder import unpack_section
from drawloom.sass.encoding import address_of
from drawloom.sass.interpreter import launch
from drawloom.sass.isa import load_target
from drawloom.sass.predication import MOST
from drawloom.sass.verify import verify
from tools.fuzz import difference, run_on_reference
from tools.fuzz_sass import MAX_STEPS, run_machine_code
from tools.programs.program import Program

HEAD = """
.version 6.2
.target sm_61
.address_size 64
.visible .entry k(.param .u64 input, .param .u64 output, .param .u64 accumulators, .param .u32 n)
{
    .reg .u64 %o, %a; .reg .u32 %t, %x, %y, %z, %i, %s; .reg .pred %p, %q, %r;
    ld.param.u64 %o, [output];
    mov.u32 %t, %tid.x;
    mul.wide.u32 %a, %t, 4;
    add.u64 %o, %o, %a;
    mov.u32 %x, 0;
    mov.u32 %s, 0;
    mov.u32 %i, 0;
    and.b32 %y, %t, 7;
"""
#: Counts who is there, which shows whether the lanes have met.
TAIL = """
    bar.sync 0;
    vote.sync.ballot.b32 %s, %p, 0xFFFFFFFF;
    mad.lo.u32 %x, %x, 31, %s;
    st.global.u32 [%o], %x;
    ret;
}
"""
FLOWS = {
    "if and else": """
        setp.lt.u32 %p, %y, 3; @%p bra A; add.u32 %x, %t, 5; bra B;
        A: mul.lo.u32 %x, %t, 3;
        B: setp.gt.u32 %p, %x, 20;""",
    "a loop that lanes leave one after the other": """
        L: add.u32 %i, %i, 1; mad.lo.u32 %x, %x, 3, %i; setp.lt.u32 %p, %i, %y; @%p bra L;""",
    "a loop whose end others come to without it": """
        setp.gt.u32 %q, %t, 100; @%q bra E;
        L: add.u32 %i, %i, 1; mad.lo.u32 %x, %x, 3, %i; setp.lt.u32 %p, %i, %y; @%p bra L;
        E: setp.gt.u32 %p, %x, 20;""",
    "a loop that is begun again from two places": """
        L: add.u32 %i, %i, 1; setp.ge.u32 %p, %i, 9; @%p bra E;
        and.b32 %s, %i, %y; setp.eq.u32 %q, %s, 0; @%q bra L;
        mad.lo.u32 %x, %x, 5, %i; bra L;
        E: setp.gt.u32 %p, %x, 20;""",
    "a loop that is begun again before its middle and behind it": """
        L: add.u32 %i, %i, 1; and.b32 %s, %i, %y; setp.eq.u32 %q, %s, 0; setp.lt.and.u32 %q, %i, 15, %q; @%q bra L;
        mad.lo.u32 %x, %x, 5, %i; setp.lt.u32 %p, %i, 20; @%p bra L;""",
    "a break out of an if in a loop": """
        L: add.u32 %i, %i, 1; setp.gt.u32 %p, %i, 9; @%p bra E;
        and.b32 %s, %i, 1; setp.eq.u32 %q, %s, 0; @%q bra A;
        mad.lo.u32 %x, %x, 5, %i; setp.gt.u32 %r, %i, %y; @%r bra E;
        A: add.u32 %x, %x, 1; bra L;
        E: setp.gt.u32 %p, %x, 20;""",
    "a chain of else if": """
        setp.eq.u32 %p, %y, 1; @!%p bra A; mul.lo.u32 %x, %t, 3; add.u32 %x, %x, 7; xor.b32 %x, %x, %t; bra E;
        A: setp.eq.u32 %p, %y, 2; @!%p bra B; L: add.u32 %i, %i, 1; setp.lt.u32 %q, %i, %t; @%q bra L; bra E;
        B: setp.lt.u32 %p, %y, 5; @!%p bra E; st.global.u32 [%o], %t; ld.global.u32 %x, [%o];
        E: setp.gt.u32 %p, %x, 20;""",
    "a chain of else if in a loop": """
        L: add.u32 %i, %i, 1; and.b32 %z, %i, %y;
        setp.eq.u32 %p, %z, 1; @!%p bra A; mad.lo.u32 %x, %t, 3, %x; st.global.u32 [%o], %x; bra E;
        A: setp.eq.u32 %p, %z, 2; @!%p bra B; mad.lo.u32 %x, %x, 5, %i; st.global.u32 [%o], %x; bra E;
        B: setp.lt.u32 %p, %z, 5; @!%p bra E; ld.global.u32 %x, [%o];
        E: vote.sync.ballot.b32 %s, %p, 0xFFFFFFFF; mad.lo.u32 %x, %x, 3, %s; setp.lt.u32 %p, %i, 15; @%p bra L;
        setp.gt.u32 %p, %x, 20;""",
    "a break out of two loops": """
        L: mov.u32 %s, 0;
        M: mad.lo.u32 %x, %x, 3, %s; add.u32 %s, %s, 1; setp.gt.u32 %q, %x, 3000; @%q bra E;
        setp.lt.u32 %p, %s, %y; @%p bra M;
        add.u32 %x, %x, %t; add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 4; @%p bra L;
        E: setp.gt.u32 %p, %x, 90;""",
    "a break out of sides that meet in the loop": """
        L: add.u32 %i, %i, 1; and.b32 %s, %t, %i; setp.eq.u32 %q, %s, 0; @%q bra A;
        mad.lo.u32 %x, %x, 5, %i; st.global.u32 [%o], %x; setp.gt.u32 %r, %i, %y; @%r bra E; add.u32 %x, %x, %t; bra B;
        A: mad.lo.u32 %x, %x, 7, %t; ld.global.u32 %z, [%o]; add.u32 %x, %x, %z;
        B: xor.b32 %x, %x, %i; setp.lt.u32 %p, %i, 15; @%p bra L;
        E: setp.gt.u32 %p, %x, 20;""",
    "breaks out of sides of both of two loops": """
        L: mov.u32 %s, 0; add.u32 %i, %i, 1; and.b32 %z, %t, %i; setp.eq.u32 %q, %z, 0; @%q bra N;
        M: and.b32 %z, %t, %s; setp.eq.u32 %q, %z, 1; @%q bra A; mad.lo.u32 %x, %x, 5, %s; st.global.u32 [%o], %x;
        setp.gt.u32 %r, %s, %y; @%r bra X; setp.gt.u32 %r, %x, 70000; @%r bra E; bra B;
        A: mad.lo.u32 %x, %x, 3, %t; st.global.u32 [%o], %t;
        B: add.u32 %s, %s, 1; setp.lt.u32 %p, %s, 6; @%p bra M;
        X: add.u32 %x, %x, 9;
        N: add.u32 %x, %x, %i; setp.lt.u32 %p, %i, %y; @%p bra L;
        E: setp.gt.u32 %p, %x, 20;""",
    "a cycle that is entered at two places": """
        setp.lt.u32 %p, %y, 4; @%p bra B;
        A: add.u32 %x, %x, 7; add.u32 %i, %i, 1;
        B: mad.lo.u32 %x, %x, 3, %i; add.u32 %i, %i, 2; setp.lt.u32 %q, %i, %t; @%q bra A;
        setp.gt.u32 %p, %x, 20;""",
    "an if in a cycle that is entered at two places": """
        setp.lt.u32 %p, %y, 4; @%p bra B;
        A: add.u32 %x, %x, 7; add.u32 %i, %i, 1; and.b32 %s, %i, %y; setp.ne.u32 %r, %s, 0; @%r bra B;
        add.u32 %x, %x, 1000;
        B: mad.lo.u32 %x, %x, 3, %i; add.u32 %i, %i, 2; setp.lt.u32 %q, %i, %t; @%q bra A;
        setp.gt.u32 %p, %x, 20;""",
    "a branch to the next instruction": """
        setp.lt.u32 %p, %y, 4; @%p bra A; A: setp.gt.u32 %p, %y, 2;""",
    "a table of branches": """
        and.b32 %i, %t, 3; T: .branchtargets A, B, C, D; brx.idx %i, T;
        A: add.u32 %x, %x, 1; B: mad.lo.u32 %x, %x, 3, 5; bra D; C: mov.u32 %x, 9;
        D: setp.gt.u32 %p, %x, 7;""",
}
#: Some lanes end where the others go on.
ENDS = {
    "an early end in an if": "setp.lt.u32 %p, %y, 4; @%p bra A; setp.eq.u32 %q, %t, 5; @%q ret; add.u32 %x, %x, 3; A:",
    "an early end in a loop": """
        L: add.u32 %i, %i, 1; setp.gt.u32 %q, %i, 6; @%q exit; mad.lo.u32 %x, %x, 3, %i;
        setp.lt.u32 %p, %i, %y; @%p bra L;""",
    "an early end of all that is left": "setp.lt.u32 %p, %y, 4; @%p bra A; bra Z; A: add.u32 %x, %x, 3;",
}


def program(body: str, tail: str = TAIL) -> Program:
    zeros = np.zeros(64, np.uint32)
    return Program(0, HEAD + body + tail, (1, 1, 1), (64, 1, 1), 0, zeros, zeros.copy(), zeros.copy(), 3)


def check(program: Program, target: int) -> None:
    expected = run_on_reference(program)
    assert not expected.error
    cubin = assemble(program.text, f"sm_{target}")
    tables = load_target(target)
    assert verify(tables, unpack_section(tables, cubin.functions["k"].code)) == []
    for reverse in (False, True):
        assert difference(program, expected, run_machine_code(program, cubin, reverse)) == ""


@pytest.fixture(autouse=True)
def short_branches_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """No side is short enough to stand under a guard."""
    for target in MOST:
        monkeypatch.setitem(MOST, target, 0)


@pytest.mark.parametrize("target", [61, 90])
@pytest.mark.parametrize("name", FLOWS)
def test_lanes_meet_behind(name: str, target: int) -> None:
    check(program(FLOWS[name]), target)


@pytest.mark.parametrize("target", [61, 90])
@pytest.mark.parametrize("name", ENDS)
def test_lanes_meet_without_those_that_ended_behind(name: str, target: int) -> None:
    tail = "bar.sync 0; activemask.b32 %s; mad.lo.u32 %x, %x, 31, %s; st.global.u32 [%o], %x; Z: ret; }"
    check(program(ENDS[name], tail), target)


def lines(body: str) -> list[str]:
    tables = load_target(61)
    code = assemble(HEAD + body + TAIL, "sm_61").functions["k"].code
    return [i.text(address_of(tables, n)) for n, i in enumerate(unpack_section(tables, code))]


def test_ssy_names_what_stands_behind_its_sync() -> None:
    text = lines(FLOWS["if and else"])
    (set_up,) = [line for line in text if line.startswith("SSY")]
    index = len(text) - text[::-1].index("SYNC")
    address = address_of(load_target(61), index)
    assert set_up.partition(" 0x")[2] in (f"{address:x}", f"{address - 8:x}")


def test_code_without_divergent_branches_has_no_stack() -> None:
    uniform = "ld.param.u32 %z, [n]; setp.lt.u32 %q, %z, 3; @%q bra A; add.u32 %x, %t, 5; A: setp.gt.u32 %p, %x, 7;"
    assert not [line for line in lines(uniform) if re.match(r"(SSY|SYNC)\b", line)]
    assert assemble(HEAD + uniform + TAIL, "sm_61").functions["k"].crs_stack_bytes == 16


def test_the_stack_of_a_loop_has_room_for_every_lane() -> None:
    body = FLOWS["a loop that lanes leave one after the other"]
    assert assemble(HEAD + body + TAIL, "sm_61").functions["k"].crs_stack_bytes == 16 * (1 + 32)


def test_a_meeting_begins_where_all_ways_into_a_cycle_do() -> None:
    """Lanes prepared it in the cycle, some of them twice, or not at all."""
    module = parse(HEAD + FLOWS["a cycle that is entered at two places"] + TAIL)
    cfg = build_cfg(module.functions["k"])
    (found,) = meetings(cfg, uniformity(cfg))
    assert (found.start, found.end) == (0, post_dominators(cfg).idom[2])


def steps(name: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many instructions the warps of a program execute on sm_61."""
    made: list[launch.Machine] = []
    begin = launch.Machine.__init__

    def note(self: launch.Machine, *arguments: Any) -> None:
        begin(self, *arguments)
        made.append(self)

    monkeypatch.setattr(launch.Machine, "__init__", note)
    run_machine_code(program(FLOWS[name]), assemble(HEAD + FLOWS[name] + TAIL, "sm_61"))
    monkeypatch.undo()
    return MAX_STEPS - made[-1].left


@pytest.mark.parametrize(
    "name",
    [
        "a break out of two loops",
        "a break out of sides that meet in the loop",
        "breaks out of sides of both of two loops",
    ],
)
def test_lanes_that_break_leave_the_others_together(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They parted for the rest of the loop when some could leave it from one side: up to twice as much was executed."""
    text = lines(FLOWS[name])
    assert sum(line.startswith("PBK") for line in text) == 1
    assert any(re.match(r"(@!?P\d )?BRK", line) for line in text)
    together = steps(name, monkeypatch)
    monkeypatch.setattr(assembler, "meetings", lambda cfg, uniformity, breaks: meetings(cfg, uniformity))
    assert steps(name, monkeypatch) > 1.2 * together


def chain(arms: int) -> str:
    """One `else if` behind the other, all going on at E."""
    tests = [
        f"setp.ne.u32 %p, %y, {n}; @%p bra L{n}; st.global.u32 [%o], {n}; st.global.u32 [%o], %x; bra E; L{n}:"
        for n in range(arms)
    ]
    return "\n".join([*tests, "E: setp.gt.u32 %p, %x, 20;"])


def test_a_chain_of_else_if_waits_once() -> None:
    """It waited once for each arm, from the 17th on with barriers in registers."""
    tables = load_target(80)
    text = [str(i) for i in unpack_section(tables, assemble(HEAD + chain(40) + TAIL, "sm_80").functions["k"].code)]
    assert [sum(line.startswith(word) for line in text) for word in ("BSSY", "BSYNC", "BMOV")] == [1, 1, 0]


def test_meetings_of_a_long_chain_take_time_by_its_length() -> None:
    """They took the square of it: 16 times for four times the arms."""

    def seconds(arms: int) -> float:
        cfg = build_cfg(parse(HEAD + chain(arms) + TAIL).functions["k"])
        divergent = Uniformity(cfg, [], [VARYING] * len(cfg.blocks))
        times = []
        for _ in range(3):
            start = time.process_time()
            assert len(meetings(cfg, divergent)) == 1
            times.append(time.process_time() - start)
        return min(times)

    assert seconds(2000) < 9 * seconds(500)
