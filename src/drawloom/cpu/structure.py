"""Decides how a function's control flow runs on warps: the order of its blocks, where lanes diverge, what shape
every register has, and which definitions must keep the old value of lanes that wait elsewhere.

A *region* is what lanes can run through between a divergent branch and its post-dominator, where they all meet
again. Inside a region every block runs under the mask of the lanes that have arrived at it; the blocks run in
one linear order, each skipped when its mask is empty, loops repeated while lanes wait at their header. Outside
all regions every live lane is at the same place and branches stay branches.
"""

from __future__ import annotations

from drawloom.cpu.shapes import UNIFORM, UNIFORM_SHAPE, VARYING_SHAPE, Rules, Shape, join
from drawloom.ptx.cfg import Block, Cfg
from drawloom.ptx.dominators import DominatorTree
from drawloom.ptx.ir import Instruction, Register
from drawloom.ptx.isa import EXIT, RETURN
from drawloom.ptx.liveness import Liveness, carry_lasts, liveness, members
from drawloom.ptx.loops import LoopForest, find_loops


class Structure:
    """The plan for one function.

    ``order`` is the linear order of the blocks that are lowered, ``place`` its inverse (-1: not lowered);
    ``succs`` are a block's successors without those that only leave; ``leaving`` the blocks that do nothing
    but leave the kernel, which become an exit of the lanes that branch to them; ``region_of[b]`` is -1 outside
    of regions; ``region_exit[r]`` is where region ``r`` meets again, -1 if its lanes all leave;
    ``waiting[b]`` is the bit set of registers whose old value a lane that waits elsewhere may still need while
    ``b`` runs; ``loop_end[b]`` lists the headers of the loops that end with ``b`` in the order, inner first;
    ``carry_lasts`` says that the carry flag is a value to keep, as registers are.
    """

    def __init__(self, cfg: Cfg, rules: Rules, is_kernel: bool) -> None:
        self.cfg = cfg
        self.rules = rules
        self.is_kernel = is_kernel
        self.live: Liveness = liveness(cfg)
        self.loops: LoopForest = find_loops(cfg)
        count = len(cfg.blocks)
        self.leaving: set[int] = set()
        if is_kernel:
            self.leaving = {b for b in cfg.rpo if b != 0 and _only_leaves(cfg.blocks[b])}
        self.succs: list[list[int]] = [[] for _ in range(count)]
        self.preds: list[list[int]] = [[] for _ in range(count)]
        for b in cfg.rpo:
            if b in self.leaving:
                continue
            for s in cfg.blocks[b].succs:
                if s not in self.leaving:
                    self.succs[b].append(s)
                    self.preds[s].append(b)
        self.order = self._linear_order()
        self.place = [-1] * count
        for position, b in enumerate(self.order):
            self.place[b] = position
        self.loop_end: list[list[int]] = [[] for _ in range(count)]
        for loop in self.loops.loops:
            inside = [self.place[b] for b in loop.blocks if self.place[b] >= 0]
            if inside:
                self.loop_end[self.order[max(inside)]].append(loop.header)
        for ends in self.loop_end:
            ends.sort(key=lambda header: -self.place[header])
        self.immediate = self._post_dominators()
        self.shapes: list[Shape | None] = [None] * len(cfg.function.registers)
        self.carry: Shape | None = None
        self.carry_lasts = carry_lasts(cfg)
        self.divergent: set[int] = set()
        self.region_of = [-1] * count
        self.region_exit: list[int] = []
        #: Of every divergent branch: where its lanes meet again, and the blocks that each side can run before.
        self.splits: list[tuple[int, list[int]]] = []
        self.waiting = [0] * count
        self.waiting_at: dict[int, list[int]] = {}
        for variable in cfg.function.params:
            if variable.register is not None:
                self.shapes[variable.register.id] = VARYING_SHAPE
        self._solve()

    # -- order and reconvergence -------------------------------------------------------------------------

    def _linear_order(self) -> list[int]:
        """A topological order without back edges in which every loop is contiguous."""
        loops = self.loops
        members: dict[int, list[int]] = {}
        for b in self.cfg.rpo:
            if b not in self.leaving:
                members.setdefault(loops.loop_of[b], []).append(b)
        out: list[int] = []
        self._order_level(-1, members, out)
        return out

    def _order_level(self, level: int, members: dict[int, list[int]], out: list[int]) -> None:
        loops = self.loops
        nodes: list[int] = list(members.get(level, []))
        children = [c.index for c in loops.loops if c.parent == level]
        owner: dict[int, int] = {b: b for b in nodes}
        for child in children:
            for b in loops.loops[child].blocks:
                owner[b] = -1 - child
        header = loops.loops[level].header if level >= 0 else -1
        edges: dict[int, list[int]] = {}
        for b, node in owner.items():
            if b in self.leaving:
                continue
            for s in self.succs[b]:
                target = owner.get(s)
                if target is not None and target != node and s != header:
                    edges.setdefault(node, []).append(target)
        first = header if level >= 0 else 0
        for node in _topological(owner.get(first, first), edges):
            if node >= 0:
                out.append(node)
            else:
                self._order_level(-1 - node, members, out)

    def _post_dominators(self) -> list[int]:
        """The immediate post-dominator of every lowered block, ``len(blocks)`` standing for the end."""
        count = len(self.cfg.blocks)
        succs: list[list[int]] = [list(s) for s in self.succs]
        succs.append([])
        for b in self.order:
            if not succs[b]:
                succs[b].append(count)
        while True:
            preds: list[list[int]] = [[] for _ in range(count + 1)]
            for b in self.order:
                for s in succs[b]:
                    preds[s].append(b)
            order = _postorder(preds, count)
            seen = set(order)
            stuck = [b for b in self.order if b not in seen]
            if not stuck:
                break
            succs[stuck[-1]].append(count)
        order.reverse()
        return DominatorTree(count, order, succs).idom

    # -- shapes and regions ------------------------------------------------------------------------------

    def _solve(self) -> None:
        """Shapes decide which branches diverge, divergence decides shapes: from the best guess to a fixed point."""
        self._find_waiting()
        while True:
            self._propagate()
            divergent = {b for b in self.order if len(self.succs[b]) > 1 and self._branch_varies(b)}
            if divergent != self.divergent:
                self.divergent = divergent
                self._find_regions()
                continue
            if not self._force_blended() and not self._force_carry() and not self._settle_unknown():
                break

    def _settle_unknown(self) -> bool:
        """Registers that are never written before they are read are taken as uniform; True when there were any."""
        unknown = [index for index, shape in enumerate(self.shapes) if shape is None]
        for index in unknown:
            self.shapes[index] = UNIFORM_SHAPE
        if self.carry is None:
            self.carry = UNIFORM_SHAPE
        return bool(unknown)

    def _propagate(self) -> None:
        blocks = self.cfg.blocks
        changed = True
        while changed:
            changed = False
            for b in self.order:
                for instruction in blocks[b].instructions:
                    if self._transfer(instruction):
                        changed = True

    def _transfer(self, instruction: Instruction) -> bool:
        opcode = instruction.opcode
        shape = self.rules.result(instruction, self.shapes, self.carry)
        if shape is None:
            return False
        guard = instruction.guard
        if guard is not None:
            guard_shape = self.shapes[guard.id]
            if guard_shape is not None and guard_shape.kind != UNIFORM:
                shape = VARYING_SHAPE
        changed = False
        if opcode.writes_carry:
            carry = join(self.carry, shape)
            if carry is not self.carry:
                self.carry = carry
                changed = True
        for register in instruction.destinations():
            wanted: Shape = shape
            if register.type.kind == "p" and shape.kind != UNIFORM:
                wanted = VARYING_SHAPE
            if self._raise(register, wanted):
                changed = True
        return changed

    def _raise(self, register: Register, shape: Shape) -> bool:
        old = self.shapes[register.id]
        new = join(old, shape)
        if new is old or (old is not None and new is not None and new.same(old)):
            return False
        self.shapes[register.id] = new
        return True

    def _branch_varies(self, b: int) -> bool:
        terminator = self.cfg.blocks[b].terminator
        if terminator is None:
            return False
        for register in terminator.sources():
            shape = self.shapes[register.id]
            if shape is not None and shape.kind != UNIFORM:
                return True
        return False

    def _find_regions(self) -> None:
        count = len(self.cfg.blocks)
        reach: list[int] = []
        heads: list[int] = []
        self.splits = []
        for a in sorted(self.divergent, key=lambda b: self.place[b]):
            stop = self.immediate[a]
            sides = [self._reach(s, stop) for s in self.succs[a]]
            seen = 0
            for side in sides:
                seen |= side
            reach.append(seen)
            heads.append(a)
            if self._overtakes(seen, stop):
                sides = [self._reach(s, -1) for s in self.succs[a]]
            self.splits.append((stop, sides))
        merged: list[int] = []
        for seen in reach:
            rest: list[int] = []
            for other in merged:
                if other & seen:
                    seen |= other
                else:
                    rest.append(other)
            merged = [*rest, seen]
        merged.sort(key=lambda m: m & -m)
        self.region_of = [-1] * count
        self.region_exit = []
        for index, blocks in enumerate(merged):
            for b in self.order:
                if blocks >> b & 1:
                    self.region_of[b] = index
        for index, blocks in enumerate(merged):
            exits = {s for b in self.order if blocks >> b & 1 for s in self.succs[b] if not blocks >> s & 1}
            exits |= {self.immediate[a] for a in heads if self.region_of[a] != index and self._enters(a, blocks)}
            exits.discard(count)
            exits = {e for e in exits if not blocks >> e & 1}
            if len(exits) > 1:
                raise AssertionError(f"region {index} leaves to several blocks: {sorted(exits)}")
            self.region_exit.append(exits.pop() if exits else -1)
        self._find_waiting()

    def _overtakes(self, blocks: int, stop: int) -> bool:
        """Whether lanes can go past ``stop``, where they should meet, while others start a loop around it over."""
        return any(blocks >> loop.header & 1 and loop.contains(stop) for loop in self.loops.loops)

    def _reach(self, first: int, stop: int) -> int:
        """The blocks on the ways from ``first`` to before ``stop``, as a bit set."""
        seen = 0
        stack = [first] if first != stop else []
        while stack:
            b = stack.pop()
            if seen >> b & 1:
                continue
            seen |= 1 << b
            stack.extend([s for s in self.succs[b] if s != stop and not seen >> s & 1])
        return seen

    def _enters(self, a: int, blocks: int) -> bool:
        return any(blocks >> s & 1 for s in self.succs[a])

    def _find_waiting(self) -> None:
        """For every block of a region, where other lanes of the warp may be waiting, and the registers live there."""
        self.waiting = [self._results()] * len(self.cfg.blocks)
        self.waiting_at = {b: self._waiting_blocks(b) for b in self.order if self.region_of[b] >= 0}
        for b, places in self.waiting_at.items():
            for c in places:
                self.waiting[b] |= self.live.live_in[c]

    def _results(self) -> int:
        """The result registers of a device function that lanes can have left while others still run it."""
        returns = [b for b in self.order if self.cfg.blocks[b].returns]
        once = len(returns) == 1 and not self.cfg.blocks[returns[0]].succs
        if self.is_kernel or once:
            return 0
        return sum([1 << v.register.id for v in self.cfg.function.returns if v.register is not None])

    def waiting_blocks(self, b: int) -> list[int]:
        """The blocks (the region's exit included) at which lanes may wait while ``b`` runs."""
        return self.waiting_at[b] if self.region_of[b] >= 0 else []

    def _waiting_blocks(self, b: int) -> list[int]:
        region = self.region_of[b]
        outside = self.region_exit[region]
        parted = members(self._parted_from(b))
        places = [c for c in parted if c == outside or (c < len(self.region_of) and self.region_of[c] == region)]
        return [c for c in places if self._may_wait(c, b, region)]

    def _may_wait(self, c: int, b: int, region: int) -> bool:
        """Whether lanes can have arrived at ``c`` and not run it yet while ``b`` runs."""
        inside = self.region_of[c] == region
        if c == b:
            return False
        around = self._is_header_around(c, b)
        if inside and self.place[c] < self.place[b] and not around:
            return False
        for x in self.preds[c]:
            if self.region_of[x] != region:
                if x in self.divergent and self._enters_region(x, region):
                    return True
                continue
            if x != b and self.place[x] < self.place[b]:
                return True
            if self._share_loop(x, b, c if around else -1):
                return True
        return False

    def _parted_from(self, b: int) -> int:
        """Return the blocks, as bits, to which some divergent branch sends lanes while it sends others to ``b``, and
        those where its sides meet again: lanes that no branch has parted are always at the same place."""
        parted = 0
        for stop, sides in self.splits:
            for i, side in enumerate(sides):
                if side >> b & 1:
                    for j, other in enumerate(sides):
                        if j != i:
                            parted |= other if stop < 0 else other | 1 << stop
        return parted

    def _enters_region(self, x: int, region: int) -> bool:
        return any(self.region_of[s] == region for s in self.succs[x])

    def _is_header_around(self, c: int, b: int) -> bool:
        """Whether ``c`` is the header of a loop around ``b``."""
        return any(loop.header == c and loop.contains(b) for loop in self.loops.loops)

    def _share_loop(self, x: int, b: int, header: int) -> bool:
        """Whether both are in a loop whose header runs under a mask, so that ``x`` of an earlier round precedes.

        A loop that begins at ``header`` itself does not count: lanes that wait there run when it starts over.
        """
        return any(
            loop.header != header
            and self.region_of[loop.header] >= 0
            and loop.contains(x)
            and loop.contains(b)
            and not (header >= 0 and loop.contains(header))
            for loop in self.loops.loops
        )

    def _force_blended(self) -> bool:
        """A definition that must keep waiting lanes' old value is varying; True when that changed a shape."""
        changed = False
        for b in self.order:
            waiting = self.waiting[b]
            if not waiting:
                continue
            for instruction in self.cfg.blocks[b].instructions:
                for register in instruction.destinations():
                    if waiting >> register.id & 1 and self._raise(register, VARYING_SHAPE):
                        changed = True
        return changed

    def _force_carry(self) -> bool:
        """A carry flag that outlasts its block differs between lanes that have parted; True when that is new."""
        if not self.carry_lasts or not self.divergent or self.carry is VARYING_SHAPE:
            return False
        self.carry = VARYING_SHAPE
        return True


def _only_leaves(block: Block) -> bool:
    """Whether a block is nothing but an unguarded ``ret`` or ``exit`` (or the end of the body)."""
    if not block.leaves or block.succs:
        return False
    if not block.instructions:
        return True
    only = block.instructions[0]
    return (
        len(block.instructions) == 1
        and only.guard is None
        and (only.opcode.effect == RETURN or (only.opcode.effect == EXIT and only.opcode.name == "exit"))
    )


def _topological(first: int, edges: dict[int, list[int]]) -> list[int]:
    """Reverse postorder from ``first``."""
    out: list[int] = []
    seen = {first}
    stack: list[tuple[int, int]] = [(first, 0)]
    while stack:
        node, at = stack.pop()
        targets = edges.get(node, [])
        if at < len(targets):
            stack.append((node, at + 1))
            target = targets[at]
            if target not in seen:
                seen.add(target)
                stack.append((target, 0))
        else:
            out.append(node)
    out.reverse()
    return out


def _postorder(edges: list[list[int]], root: int) -> list[int]:
    out: list[int] = []
    seen = {root}
    stack: list[tuple[int, int]] = [(root, 0)]
    while stack:
        node, at = stack.pop()
        if at < len(edges[node]):
            stack.append((node, at + 1))
            target = edges[node][at]
            if target not in seen:
                seen.add(target)
                stack.append((target, 0))
        else:
            out.append(node)
    return out
