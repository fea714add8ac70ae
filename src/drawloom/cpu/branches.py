"""How lanes go from block to block: a block's last instruction to jumps, or to masks of the lanes that wait.

Outside of regions all live lanes are at one place and a branch stays a branch. Inside, every edge adds its lanes
to the mask of its target, and the blocks of the region are tried in their linear order until no lane waits.

    B<block>  the block    D<region>.<place>  does a lane wait here?    A<region>.<place>  look behind this place
"""

from __future__ import annotations

from drawloom.cpu import abi
from drawloom.cpu.body import Body
from drawloom.cpu.emitter import Value, int_const
from drawloom.cpu.suspension import Suspension
from drawloom.ptx.ir import Instruction
from drawloom.ptx.isa import BRANCH, CALL, EXIT


class Branches:
    """Lowers the terminators of one function, and the search for the next block of its regions."""

    def __init__(self, body: Body, suspension: Suspension) -> None:
        self.body = body
        self.f = body.f
        self.e = body.e
        self.lanes = body.lanes
        self.plan = body.plan
        self.suspension = suspension
        self.region_last = self.region_ends()

    def terminate(self, b: int) -> None:
        f = self.f
        block = self.body.cfg.blocks[b]
        terminator = block.terminator
        if terminator is None or terminator.opcode.effect == CALL:
            if block.fallthrough >= 0:
                self.edges(b, [(block.fallthrough, f.mask)])
            else:
                self.leave_here(b, f.mask, False)
            return
        effect = terminator.opcode.effect
        condition = self.f.condition(terminator)
        if effect == BRANCH and terminator.opcode.name == "bra":
            if condition is None:
                self.edges(b, [(block.taken, f.mask)])
            else:
                self.two_way(b, condition, block.taken, block.fallthrough)
            return
        if effect == BRANCH:
            self.indexed(b, terminator, condition)
            return
        if effect == EXIT and terminator.opcode.name == "trap":
            self.trap(b, terminator, condition)
            return
        is_exit = effect == EXIT
        if condition is None:
            self.leave_here(b, f.mask, is_exit)
        else:
            self.two_way_leave(b, condition, is_exit, block.fallthrough)

    def two_way(self, b: int, condition: Value, taken: int, fallthrough: int) -> None:
        f = self.f
        e = self.e
        region = self.plan.region_of[b]
        if not condition.lanes and region < 0:
            then, other = f.label("taken"), f.label("not")
            f.branch(condition, then, other)
            f.place(then)
            self.edges(b, [(taken, f.mask)])
            f.place(other)
            self.edges(b, [(fallthrough, f.mask)])
            return
        condition = e.splat(condition, self.lanes)
        yes = e.binary("and", f.mask, condition)
        no = e.binary("and", f.mask, e.binary("xor", condition, int_const("i1", 1, self.lanes)))
        self.edges(b, [(taken, yes), (fallthrough, no)])

    def two_way_leave(self, b: int, condition: Value, is_exit: bool, fallthrough: int) -> None:
        """A guarded ``ret`` or ``exit``: some lanes leave, the others go on."""
        f = self.f
        e = self.e
        if not condition.lanes and self.plan.region_of[b] < 0:
            then, other = f.label("leaves"), f.label("stays")
            f.branch(condition, then, other)
            f.place(then)
            self.leave_here(b, f.mask, is_exit)
            f.place(other)
            if fallthrough >= 0:
                self.edges(b, [(fallthrough, f.mask)])
            else:
                self.leave_here(b, f.mask, False)
            return
        gone = e.binary("and", f.mask, e.splat(condition, self.lanes))
        self.body.depart(gone, is_exit)
        if fallthrough < 0:
            self.leave_here(b, f.mask, False)
        elif self.plan.region_of[b] < 0:
            self.go_if_any(b, fallthrough)
        else:
            self.edges(b, [(fallthrough, f.mask)])

    def leave_here(self, b: int, gone: Value, is_exit: bool) -> None:
        """All lanes of ``gone``, which are all of the block's, leave; then on to whoever waits."""
        f = self.f
        if self.plan.region_of[b] < 0 and (self.body.is_kernel or not is_exit):
            f.jump("leave")
            return
        self.body.depart(gone, is_exit)
        if self.plan.region_of[b] < 0:
            f.jump("leave")
        else:
            f.jump(f"A{self.plan.region_of[b]}.{self.plan.place[b]}")

    def trap(self, b: int, terminator: Instruction, condition: Value | None) -> None:
        f = self.f
        if condition is None:
            f.fail(abi.ERROR_TRAP, terminator.pos, f.mask)
            return
        bad, good = f.label("trap"), f.label("ok")
        outer = f.mask
        inner = f.e.binary("and", outer, condition) if condition.lanes else outer
        f.branch(f.any_lane(inner) if condition.lanes else condition, bad, good)
        f.place(bad)
        f.mask = inner
        f.fail(abi.ERROR_TRAP, terminator.pos, f.mask)
        f.place(good)
        f.mask = outer
        self.edges(b, [(self.body.cfg.blocks[b].fallthrough, f.mask)])

    def indexed(self, b: int, terminator: Instruction, condition: Value | None) -> None:
        """``brx.idx``: the index selects a target; one that is out of range is undefined and takes the last."""
        f = self.f
        e = self.e
        block = self.body.cfg.blocks[b]
        operand = terminator.operands[0]
        lanes = f.lanes_of(operand)
        index = f.operand(operand, "i32", lanes)
        if not lanes and self.plan.region_of[b] < 0 and (condition is None or not condition.lanes):
            if condition is not None:
                then, other = f.label("taken"), f.label("not")
                f.branch(condition, then, other)
                f.place(other)
                self.edges(b, [(block.fallthrough, f.mask)])
                f.place(then)
            labels = [f.label("case") for _ in block.targets]
            cases = " ".join([f"i32 {i}, label %{label}" for i, label in enumerate(labels)])
            f.save_registers()
            e.line(f"  switch i32 {index.text}, label %{labels[-1]} [{cases}]")
            for label, target in zip(labels, block.targets, strict=True):
                f.place(label)
                self.edges(b, [(target, f.mask)])
            return
        here = f.mask
        edges: list[tuple[int, Value]] = []
        if condition is not None:
            wide = e.splat(condition, self.lanes)
            stay = e.binary("and", here, e.binary("xor", wide, int_const("i1", 1, self.lanes)))
            here = e.binary("and", here, wide)
            edges.append((block.fallthrough, stay))
        index = e.splat(index, self.lanes)
        for i, target in enumerate(block.targets[:-1]):
            hit = e.icmp("eq", index, int_const("i32", i, self.lanes))
            edges.append((target, e.binary("and", here, hit)))
            here = e.binary("and", here, e.binary("xor", hit, int_const("i1", 1, self.lanes)))
        edges.append((block.targets[-1], here))
        self.edges(b, edges)

    def edges(self, b: int, edges: list[tuple[int, Value]]) -> None:
        """Send lanes along edges out of ``b``, each with the mask of those that take it, and go on."""
        f = self.f
        plan = self.plan
        region = plan.region_of[b]
        if region < 0 and len(edges) == 1:
            self.go(b, edges[0][0])
            return
        for target, mask in edges:
            if target in plan.leaving:
                self.body.leave_lanes(mask)
        staying = [(t, m) for t, m in edges if t not in plan.leaving]
        if region < 0 and b not in plan.divergent:
            if not staying:
                f.jump("leave")
                return
            self.go_if_any(b, staying[0][0])
            return
        home = region
        if home < 0:
            inside = [plan.region_of[t] for t, _ in staying if t != plan.immediate[b]]
            home = inside[0]
        forward = len(plan.order)
        for target, mask in staying:
            if target == plan.region_exit[home]:
                continue
            slot = self.body.mask_slot(target)
            f.store(f.e.binary("or", f.load(slot, "i1", self.lanes), mask), slot)
            if plan.place[target] > plan.place[b]:
                forward = min(forward, plan.place[target])
        if region < 0 and forward < len(plan.order):
            f.jump(f"D{home}.{forward}")
        else:
            f.jump(f"A{home}.{plan.place[b]}")

    def go(self, b: int, target: int) -> None:
        """All live lanes go from outside any region to ``target``."""
        f = self.f
        plan = self.plan
        if target in plan.leaving:
            f.jump("leave")
            return
        if b >= 0 and plan.place[target] <= plan.place[b]:
            self.suspension.back_edge(target)
        if plan.region_of[target] >= 0:
            f.store(f.load(self.body.live, "i1", self.lanes), self.body.mask_slot(target))
        f.jump(f"B{target}")

    def go_if_any(self, b: int, target: int) -> None:
        """Go on with the lanes that are left, if any."""
        f = self.f
        on = f.label("some")
        f.branch(f.any_lane(f.load(self.body.live, "i1", self.lanes)), on, "leave")
        f.place(on)
        self.go(b, target)

    # -- regions: who runs next --------------------------------------------------------------------------

    def region_ends(self) -> list[int]:
        """The last place of each region's chain of tests: its last block, or the end of its last loop."""
        plan = self.plan
        last = [-1] * len(plan.region_exit)
        for i, b in enumerate(plan.order):
            for c in [b, *plan.loop_end[b]]:
                if plan.region_of[c] >= 0:
                    last[plan.region_of[c]] = i
        return last

    def emit_dispatch(self) -> None:
        """For each region the chain of tests that finds the next block with waiting lanes.

        ``D`` is where the test of a place begins, ``A`` where the search goes on behind it.
        """
        plan = self.plan
        for region, last in enumerate(self.region_last):
            first = min([i for i, b in enumerate(plan.order) if plan.region_of[b] == region])
            for place in range(first, last + 1):
                self.dispatch_place(region, place)

    def dispatch_place(self, region: int, place: int) -> None:
        f = self.f
        b = self.plan.order[place]
        f.place(f"D{region}.{place}")
        after = f"A{region}.{place}"
        if self.plan.region_of[b] == region:
            waiting = f.any_lane(f.load(self.body.mask_slot(b), "i1", self.lanes))
            f.branch(waiting, f"B{b}", after)
        else:
            f.jump(after)
        f.place(after)
        self.after_place(region, place)

    def after_place(self, region: int, place: int) -> None:
        """Behind a place: loops that end here start over while lanes wait at their header; else the next place."""
        f = self.f
        plan = self.plan
        for header in plan.loop_end[plan.order[place]]:
            if plan.region_of[header] != region:
                continue
            again, on = f.label("repeat"), f.label("ends")
            f.branch(f.any_lane(f.load(self.body.mask_slot(header), "i1", self.lanes)), again, on)
            f.place(again)
            self.body.block = header
            self.suspension.back_edge(header)
            f.jump(f"B{header}")
            f.place(on)
        if place < self.region_last[region]:
            f.jump(f"D{region}.{place + 1}")
        else:
            self.region_end(region)

    def region_end(self, region: int) -> None:
        """All lanes of the region that still live meet again."""
        f = self.f
        target = self.plan.region_exit[region]
        if target < 0:
            f.jump("leave")
            return
        f.mask = f.load(self.body.live, "i1", self.lanes)
        self.go_if_any(-1, target)
