"""The plan for a function's control flow: the order of blocks, regions, and which lanes wait where.

Random functions are walked by simulated lanes under the rules of the plan: no lane may get lost, all meet again
behind a region, and nobody waits at a block where the plan says that nobody can.
"""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drawloom.cpu.shapes import UNIFORM, Rules
from drawloom.cpu.spinning import spinning_loops, varying_exits
from drawloom.cpu.structure import Structure
from drawloom.ptx import parse, verify
from drawloom.ptx.cfg import build_cfg

HEADER = """.version 8.3
.target sm_80
.address_size 64
.func (.param .u32 value) current(.param .u64 place)
{
.reg .b32 %r<1>; .reg .b64 %rd<1>;
ld.param.u64 %rd0, [place]; ld.volatile.u32 %r0, [%rd0]; st.param.u32 [value], %r0; ret;
}
"""
#: %p0 differs from lane to lane, %p1 does not; %r0 varies, %r1 is the same for all.
START = """.visible .entry k(.param .u64 out)
{
.reg .pred %p<8>; .reg .b32 %r<16>; .reg .b64 %rd<4>; .local .u32 kept; .shared .u32 shown;
mov.u32 %r0, %lanemask_lt; ld.param.u64 %rd0, [out]; mov.u32 %r1, %ctaid.x;
setp.lt.u32 %p0, %r0, 9; setp.lt.u32 %p1, %r1, 9;
"""


def plan_of(body: str) -> Structure:
    module = parse(HEADER + START + body + "\n}\n")
    verify(module)
    function = module.functions["k"]
    return Structure(build_cfg(function, module), Rules(32, frozenset(["out"]), frozenset(), 0), True)


def spinning(plan: Structure, body: str) -> set[int]:
    module = parse(HEADER + START + body + "\n}\n")
    return spinning_loops(module, plan.cfg, plan.loops)


def block(plan: Structure, label: str) -> int:
    return plan.cfg.label_block[label]


def waits(plan: Structure, label: str) -> list[str]:
    """The registers that lanes who wait elsewhere may still need while the block at ``label`` runs."""
    bits = plan.waiting[block(plan, label)]
    return sorted(r.name for r in plan.cfg.function.registers if bits >> r.id & 1)


# -- hand cases ----------------------------------------------------------------------------------------------


def test_uniform_branch_makes_no_region() -> None:
    plan = plan_of("@%p1 bra A; mov.u32 %r2, 1; bra B; A: mov.u32 %r2, 2; B: st.global.u32 [%rd0], %r2; ret;")
    assert plan.divergent == set() and plan.region_exit == []
    assert set(plan.region_of) == {-1} and set(plan.waiting) == {0}


def test_diamond_is_a_region_that_meets_behind_it() -> None:
    plan = plan_of(
        "@%p0 bra A; N: mov.u32 %r2, %r1; mov.u32 %r3, 5; add.u32 %r2, %r3, %r2; bra B; "
        "A: mov.u32 %r2, 2; B: st.global.u32 [%rd0], %r2; ret;"
    )
    a, n, b = block(plan, "A"), block(plan, "N"), block(plan, "B")
    assert plan.divergent == {0}
    assert plan.region_of[a] == plan.region_of[n] == 0
    assert plan.region_of[0] == plan.region_of[b] == -1
    assert plan.region_exit == [b]
    # The arm that runs first must not touch what the other arm reads; the second one not what the first one made.
    first, second = ("A", "N") if plan.place[a] < plan.place[n] else ("N", "A")
    assert waits(plan, first) == (["%r1", "%rd0"] if first == "A" else ["%rd0"])
    assert waits(plan, second) == ["%r2", "%rd0"]
    shapes = {r.name: plan.shapes[r.id] for r in plan.cfg.function.registers}
    assert repr(shapes["%r2"]) == "varying" and repr(shapes["%r3"]) == "uniform"


def test_loop_that_lanes_leave_one_by_one() -> None:
    plan = plan_of(
        "mov.u32 %r2, 0; mov.u32 %r3, 0; L: add.u32 %r2, %r2, 1; add.u32 %r3, %r3, 2; setp.lt.u32 %p2, %r2, %r0; "
        "@%p2 bra L; X: st.global.u32 [%rd0], %r3; ret;"
    )
    loop, behind = block(plan, "L"), block(plan, "X")
    assert plan.divergent == {loop} and plan.region_of[loop] == 0 and plan.region_exit == [behind]
    assert plan.loop_end[loop] == [loop]
    # Lanes that are done wait behind the loop for %r3; the counter itself they need no more.
    assert waits(plan, "L") == ["%r3", "%rd0"]
    assert plan.waiting_blocks(loop) == [behind]


def test_loop_of_all_lanes_around_a_divergent_branch() -> None:
    """The loop's own branch is uniform, so lanes meet in every round and the header runs for all of them."""
    plan = plan_of(
        "mov.u32 %r2, 0; mov.u32 %r3, 0; L: @%p0 bra S; M: add.u32 %r3, %r3, 3; S: add.u32 %r2, %r2, 1; "
        "setp.lt.u32 %p2, %r2, %r1; @%p2 bra L; X: st.global.u32 [%rd0], %r3; ret;"
    )
    assert plan.divergent == {block(plan, "L")}
    assert [plan.region_of[block(plan, x)] for x in "LMSX"] == [-1, 0, -1, -1]
    assert plan.region_exit == [block(plan, "S")]
    # All lanes that skipped M wait at S, and go on around the loop with all of this.
    assert waits(plan, "M") == ["%p0", "%r1", "%r2", "%r3", "%rd0"]


def test_lanes_that_leave_the_kernel_do_not_make_a_region() -> None:
    plan = plan_of("@%p0 bra E; M: st.global.u32 [%rd0], %r1; ret; E: exit;")
    assert block(plan, "E") in plan.leaving
    assert plan.place[block(plan, "E")] == -1
    assert plan.divergent == set() and plan.region_exit == []


def test_region_whose_lanes_all_leave_has_no_exit() -> None:
    plan = plan_of("@%p0 bra A; N: st.global.u32 [%rd0], 1; ret; A: st.global.u32 [%rd0], 2; ret;")
    assert plan.region_exit == [-1]
    assert plan.region_of[block(plan, "A")] == plan.region_of[block(plan, "N")] == 0


def test_registers_that_only_differ_behind_the_meeting_point_stay_uniform() -> None:
    plan = plan_of("@%p0 bra A; st.global.u32 [%rd0], 1; A: mov.u32 %r2, 4; st.global.u32 [%rd0], %r2; ret;")
    register = next(r for r in plan.cfg.function.registers if r.name == "%r2")
    shape = plan.shapes[register.id]
    assert shape is not None and shape.kind == UNIFORM


def test_nested_regions_are_one() -> None:
    plan = plan_of(
        "@%p0 bra A; setp.gt.u32 %p2, %r0, 4; @%p2 bra I; st.global.u32 [%rd0], 1; I: st.global.u32 [%rd0], 2; "
        "bra B; A: st.global.u32 [%rd0], 3; B: ret;"
    )
    assert len(plan.region_exit) == 1


@pytest.mark.parametrize(
    ("load", "spins"),
    [("ld.volatile.global.u32", True), ("ld.acquire.gpu.global.u32", True), ("ld.global.u32", False)],
)
def test_loops_that_wait_for_memory_spin(load: str, spins: bool) -> None:
    body = f"L: {load} %r2, [%rd0]; add.u32 %r3, %r2, 1; setp.ne.u32 %p2, %r3, 5; @%p2 bra L; ret;"
    plan = plan_of(body)
    assert spinning(plan, body) == ({block(plan, "L")} if spins else set())
    assert varying_exits(plan) == set()


CALL = "st.param.u64 [place], %rd0; call (value), current, (place); ld.param.u32 %r2, [value];"


@pytest.mark.parametrize(
    ("read", "spins"),
    [
        ("ld.volatile.u32 %r3, [%rd0]; st.local.u32 [kept], %r3; ld.local.u32 %r2, [kept];", True),
        ("cvta.local.u64 %rd2, %rd1; ld.volatile.u32 %r3, [%rd0]; st.u32 [%rd2], %r3; ld.local.u32 %r2, [kept];", True),
        ("atom.or.b32 %r3, [%rd0], 0; st.shared.u32 [shown], %r3; bar.sync 0; ld.shared.u32 %r2, [shown];", True),
        ("{ .param .u64 place; .param .u32 value; " + CALL + " }", True),
        ("mov.u32 %r2, 0; ld.volatile.u32 %r3, [%rd0]; setp.ne.u32 %p3, %r3, 0; @%p3 bra N; mov.u32 %r2, 1; N:", True),
        ("ld.volatile.u32 %r3, [%rd0]; st.local.u32 [kept+4], %r1; ld.local.u32 %r2, [kept];", False),
        ("ld.volatile.u32 %r3, [%rd0]; st.global.u32 [%rd0], %r3; ld.global.u32 %r2, [%rd0+4];", False),
    ],
    ids="local generic shared call branch another own_global".split(),
)
def test_loops_that_wait_by_way_of_memory_calls_and_branches_spin(read: str, spins: bool) -> None:
    """Only registers were followed from a load to the branch that leaves a loop; code at -O0 has them in memory."""
    body = f"mov.u64 %rd1, kept; L: {read} setp.ne.u32 %p2, %r2, 0; @%p2 bra L; ret;"
    plan = plan_of(body)
    assert spinning(plan, body) == ({block(plan, "L")} if spins else set())


def test_lock_is_a_spinning_loop_with_varying_exits() -> None:
    body = (
        "L: atom.global.cas.b32 %r2, [%rd0], 0, 1; setp.ne.u32 %p2, %r2, 0; @%p2 bra L; "
        "st.global.u32 [%rd0+4], %r1; atom.global.exch.b32 %r3, [%rd0], 0; ret;"
    )
    plan = plan_of(body)
    assert spinning(plan, body) == varying_exits(plan) == {block(plan, "L")}


# -- random functions ----------------------------------------------------------------------------------------


@st.composite
def functions(draw: st.DrawFn) -> str:
    """A body of labelled blocks with random terminators; jumps backwards are rarer than jumps forwards."""
    count = draw(st.integers(2, 12))
    lines: list[str] = []
    for number in range(count):

        def target(number: int = number) -> str:
            """Mostly a little forward."""
            if draw(st.integers(0, 3)) == 0:
                return f"L{draw(st.integers(0, number))}"
            return f"L{min(number + draw(st.integers(1, 3)), count - 1)}"

        lines.append(f"L{number}: st.global.u32 [%rd0], {number};")
        kind = draw(
            st.sampled_from(["varies", "varies", "uniform", "uniform", "jump", "fall", "exit", "leaves", "table"])
        )
        guard = draw(st.sampled_from(["%p0", "!%p0", "%p1"]))
        if kind == "varies":
            lines.append(f"@%p0 bra {target()};")
        elif kind == "uniform":
            lines.append(f"@%p1 bra {target()};")
        elif kind == "jump":
            lines.append(f"bra {target()};")
        elif kind == "exit":
            lines.append(draw(st.sampled_from(["exit;", "ret;"])))
        elif kind == "leaves":
            lines.append(f"@{guard} exit;")
        elif kind == "table":
            index = draw(st.sampled_from(["%r0", "%r1"]))
            lines.append(f"T{number}: .branchtargets {target()}, {target()}, {target()}; brx.idx {index}, T{number};")
    lines.append("ret;")
    return "\n".join(lines)


def reachable(plan: Structure) -> list[int]:
    return [b for b in plan.cfg.rpo if b not in plan.leaving]


@settings(max_examples=400, deadline=None, derandomize=True)
@given(functions())
def test_order_holds_every_block_once_and_goes_forward(body: str) -> None:
    plan = plan_of(body)
    assert sorted(plan.order) == sorted(reachable(plan))
    assert [plan.place[b] for b in plan.order] == list(range(len(plan.order)))
    assert all(plan.place[b] == -1 for b in range(len(plan.cfg.blocks)) if b not in plan.order)
    if not plan.loops.is_reducible:
        return
    headers = {loop.header: loop for loop in plan.loops.loops}
    for b in plan.order:
        for s in plan.succs[b]:
            back = s in headers and headers[s].contains(b)
            assert back or plan.place[s] > plan.place[b]
    for loop in plan.loops.loops:
        places = sorted(plan.place[b] for b in loop.blocks if plan.place[b] >= 0)
        assert places == list(range(places[0], places[-1] + 1)), "a loop is contiguous"
        assert places[0] == plan.place[loop.header]
        assert loop.header in plan.loop_end[plan.order[places[-1]]]


@settings(max_examples=400, deadline=None, derandomize=True)
@given(functions())
def test_regions_have_one_exit_where_all_their_lanes_meet(body: str) -> None:
    plan = plan_of(body)
    members: dict[int, set[int]] = {}
    for b in plan.order:
        if plan.region_of[b] >= 0:
            members.setdefault(plan.region_of[b], set()).add(b)
    assert sorted(members) == list(range(len(plan.region_exit)))
    for region, blocks in members.items():
        stop = plan.region_exit[region]
        assert stop not in blocks
        for b in blocks:
            for s in plan.succs[b]:
                assert s in blocks or s == stop
        # A block that leads nowhere is one where lanes leave the kernel.
        if stop >= 0:
            for b in blocks:
                assert plan.succs[b] or plan.cfg.blocks[b].leaves
    for b in plan.divergent:
        inside = {plan.region_of[s] for s in plan.succs[b] if s != plan.immediate[b]}
        assert len(inside) == 1 and -1 not in inside
        if plan.region_of[b] >= 0:
            assert inside == {plan.region_of[b]}


class Walk:
    """32 lanes on their way through a function, run as the plan says."""

    def __init__(self, plan: Structure, seed: int) -> None:
        self.plan = plan
        self.random = random.Random(seed)
        self.live = set(range(32))
        self.steps = 0

    def choose(self, b: int, lanes: set[int]) -> dict[int, set[int]]:
        """Which lanes go from ``b`` to which block; lanes that leave the kernel are taken out."""
        plan = self.plan
        source = plan.cfg.blocks[b]
        targets = list(source.succs)
        terminator = source.terminator
        if source.leaves:
            guarded = terminator is not None and terminator.guard is not None
            uniform = (
                guarded and terminator is not None and terminator.guard is not None and (terminator.guard.name == "%p1")
            )
            if not guarded:
                gone = set(lanes)
            elif uniform:
                gone = set(lanes) if self.random.random() < 0.3 else set()
            else:
                gone = {lane for lane in lanes if self.random.random() < 0.3}
            self.live -= gone
            lanes = lanes - gone
            targets = [source.fallthrough] if source.fallthrough >= 0 else targets
        out: dict[int, set[int]] = {}
        varies = plan._branch_varies(b)
        common = self.random.choice(targets) if targets else -1
        for lane in sorted(lanes):
            target = self.random.choice(targets) if varies else common
            if target in plan.leaving:
                self.live.discard(lane)
            else:
                out.setdefault(target, set()).add(lane)
        return out

    def run(self) -> None:
        at = self.plan.order[0]
        while at >= 0 and self.live and self.steps < 300:
            at = self.outside(at)

    def outside(self, b: int) -> int:
        """All live lanes run ``b``, which is in no region or is entered by all; returns where they are next."""
        plan = self.plan
        if plan.region_of[b] >= 0:
            return self.region(plan.region_of[b], {b: set(self.live)})
        self.steps += 1
        edges = self.choose(b, set(self.live))
        if b not in plan.divergent:
            assert len(edges) <= 1, "a branch outside of regions that is not divergent takes one way"
            return next(iter(edges), -1)
        home = next(plan.region_of[s] for s in plan.succs[b] if s != plan.immediate[b])
        masks = {t: lanes for t, lanes in edges.items() if t != plan.region_exit[home]}
        return self.region(home, masks)

    def region(self, region: int, masks: dict[int, set[int]]) -> int:
        """Run the blocks of a region in their order until no lane waits in it; returns its exit."""
        plan = self.plan
        stop = plan.region_exit[region]
        headers = {h for b in plan.order for h in plan.loop_end[b] if plan.region_of[h] == region}
        place = 0
        while place < len(plan.order) and self.steps < 300:
            b = plan.order[place]
            lanes = (masks.pop(b, set()) if plan.region_of[b] == region else set()) & self.live
            if lanes:
                self.steps += 1
                self.check_waiting(b, lanes, masks, stop)
                for target, going in self.choose(b, lanes).items():
                    if target != stop:
                        assert plan.region_of[target] == region
                        masks.setdefault(target, set()).update(going)
            again = next((h for h in plan.loop_end[b] if h in headers and masks.get(h, set()) & self.live), -1)
            place = plan.place[again] if again >= 0 else place + 1
        if self.steps < 300:
            assert not any(lanes & self.live for lanes in masks.values()), "lanes are left behind in the region"
        return stop

    def check_waiting(self, b: int, lanes: set[int], masks: dict[int, set[int]], stop: int) -> None:
        """Every block where another lane is waiting now is among those that the plan names."""
        elsewhere = {c for c, others in masks.items() if others & self.live}
        waiting = set().union(*masks.values()) if masks else set()
        if self.live - lanes - waiting:
            elsewhere.add(stop)
        known = set(self.plan.waiting_blocks(b))
        assert elsewhere <= known, f"block {b}: lanes wait at {sorted(elsewhere - known)}"
        for c in elsewhere:
            missing = self.plan.live.live_in[c] & ~self.plan.waiting[b]
            assert missing == 0


@settings(max_examples=500, deadline=None, derandomize=True)
@given(functions(), st.integers(0, 1 << 30))
def test_lanes_follow_the_plan_and_none_gets_lost(body: str, seed: int) -> None:
    plan = plan_of(body)
    if not plan.loops.is_reducible and plan.divergent:
        return  # such a kernel runs lane by lane
    for round in range(4):
        Walk(plan, seed + round).run()


def test_generated_functions_have_what_matters() -> None:
    """The random functions do contain loops in regions, exits in regions, and several regions."""
    seen: set[str] = set()

    @settings(max_examples=200, deadline=None, derandomize=True)
    @given(functions())
    def look(body: str) -> None:
        plan = plan_of(body)
        if not plan.loops.is_reducible:
            seen.add("irreducible")
            return
        seen.update({"two regions"} if len(plan.region_exit) > 1 else set())
        for loop in plan.loops.loops:
            seen.add("loop in a region" if plan.region_of[loop.header] >= 0 else "loop outside")
        for b in plan.order:
            if plan.region_of[b] >= 0 and plan.cfg.blocks[b].leaves:
                seen.add("exit in a region")

    look()
    assert seen == {"irreducible", "two regions", "loop in a region", "loop outside", "exit in a region"}
