"""A warp of the small machine that keeps what an analysis calls uniform or affine in one place for all lanes.

If the analysis is right, every lane stores what it stores when it runs alone with registers of its own. Two ways
to run a warp: with a stack of reconvergence points at post-dominators, and with loop iterations in lockstep.
"""

from __future__ import annotations

import networkx

from drawloom.ptx.cfg import Cfg
from drawloom.ptx.dominators import post_dominators
from drawloom.ptx.ir import BranchTargets, Immediate, Instruction, LabelRef, Operand, Register, SpecialRegister
from drawloom.ptx.loops import find_loops
from drawloom.ptx.uniformity import AFFINE, VARYING, Uniformity
from tests.ptx.small_machine import compute

LANES = 4
LEFT = -1
MASK32 = 0xFFFFFFFF


class Warp:
    """Registers and the effect of a block on some lanes; ``stores[lane]`` is the trace of a lane."""

    def __init__(self, cfg: Cfg, found: Uniformity, most_steps: int) -> None:
        self.cfg = cfg
        self.found = found
        self.steps = most_steps
        self.tables = {s.name: s.labels for s in cfg.function.body if isinstance(s, BranchTargets)}
        self.shared = [0] * len(cfg.function.registers)
        self.own = [[0] * LANES for _ in cfg.function.registers]
        self.stores: list[list[int]] = [[] for _ in range(LANES)]

    def read(self, operand: Operand, lane: int) -> int:
        if isinstance(operand, Immediate):
            return operand.value
        if isinstance(operand, SpecialRegister):
            return lane
        assert isinstance(operand, Register)
        if self.found.kind(operand.id) == VARYING:
            return self.own[operand.id][lane]
        return self.shared[operand.id] + self.found.stride(operand.id) * lane & MASK32

    def write(self, register: Register, values: dict[int, int]) -> None:
        kind = self.found.kind(register.id)
        if kind == VARYING:
            for lane, value in values.items():
                self.own[register.id][lane] = value
            return
        stride = self.found.stride(register.id)
        bases = {value - stride * lane & MASK32 for lane, value in values.items()}
        assert len(bases) == 1, f"{register} is called {'affine' if kind == AFFINE else 'uniform'}: {values}"
        self.shared[register.id] = bases.pop()

    def active(self, instruction: Instruction, lanes: list[int]) -> list[int]:
        guard = instruction.guard
        if guard is None:
            return lanes
        return [x for x in lanes if (self.read(guard, x) != 0) != instruction.guard_negated]

    def run_block(self, block_id: int, lanes: list[int]) -> dict[int, list[int]]:
        """Runs a block for ``lanes``; which lanes go on to which block (LEFT: they are done)."""
        block = self.cfg.blocks[block_id]
        self.steps -= 1
        for instruction in block.instructions:
            if instruction is block.terminator:
                break
            active = self.active(instruction, lanes)
            name, operands = instruction.opcode.name, instruction.operands
            if name == "st":
                for lane in active:
                    self.stores[lane].append(self.read(operands[1], lane))
            elif active:
                assert isinstance(operands[0], Register)
                values = {x: compute(name, [self.read(o, x) for o in operands[1:]]) for x in active}
                self.write(operands[0], values)
        out: dict[int, list[int]] = {}
        taking = [] if block.terminator is None else self.active(block.terminator, lanes)
        for lane in lanes:
            target = self.target(block_id, lane) if lane in taking else block.fallthrough
            out.setdefault(target, []).append(lane)
        if len(out) > 1 and not block.leaves:
            assert self.found.is_divergent(block_id), f"block {block_id} diverges"
        return out

    def target(self, block_id: int, lane: int) -> int:
        block = self.cfg.blocks[block_id]
        assert block.terminator is not None
        if block.terminator.opcode.name == "bra":
            return block.taken
        if block.terminator.opcode.name == "brx.idx":
            table = block.terminator.operands[1]
            assert isinstance(table, LabelRef)
            return block.targets[self.read(block.terminator.operands[0], lane) % len(block.targets)]
        return LEFT


def run_with_stack(warp: Warp, last_side_first: bool) -> bool:
    """Threads that part wait for each other at the immediate post-dominator. Whether all lanes ended in time."""
    join_of = post_dominators(warp.cfg).idom
    stack: list[tuple[int, list[int], int]] = [(0, list(range(LANES)), LEFT)]
    gone: set[int] = set()
    while stack:
        block_id, lanes, stop = stack.pop()
        lanes = [x for x in lanes if x not in gone]
        if not lanes or block_id == stop:
            continue
        if warp.steps <= 0:
            return False
        ways = warp.run_block(block_id, lanes)
        gone.update(ways.pop(LEFT, []))
        if len(ways) == 1:
            ((target, lanes),) = ways.items()
            stack.append((target, lanes, stop))
            continue
        join = join_of[block_id]
        if join < len(warp.cfg.blocks):
            stack.append((join, lanes, stop))
        order = sorted(ways, reverse=last_side_first)
        stack.extend([(target, ways[target], join if join < len(warp.cfg.blocks) else LEFT) for target in order])
    return True


def linear_order(cfg: Cfg) -> list[int]:
    """A topological order without back edges in which every loop is contiguous; for reducible graphs."""
    graph = networkx.DiGraph()
    graph.add_nodes_from(cfg.rpo)
    graph.add_edges_from([(b, s) for b in cfg.rpo for s in cfg.blocks[b].succs])
    headers = {loop.header for loop in find_loops(cfg).loops}

    def order(part: networkx.DiGraph) -> list[int]:
        condensed = networkx.condensation(part)
        out: list[int] = []
        for node in networkx.topological_sort(condensed):
            inside = sorted(condensed.nodes[node]["members"], key=lambda b: cfg.rpo_index[b])
            header = next((b for b in inside if b in headers), inside[0])
            cycle = part.subgraph(inside).copy()
            cycle.remove_edges_from([(p, header) for p in list(cycle.predecessors(header))])
            out.extend(order(cycle) if len(inside) > 1 else inside)
        return out

    return order(graph)


def run_in_lockstep(warp: Warp) -> bool:
    """The lanes at the first block in linear order run; the header of a loop waits for all lanes in the loop."""
    cfg = warp.cfg
    place = {b: i for i, b in enumerate(linear_order(cfg))}
    forest = find_loops(cfg)
    at = dict.fromkeys(range(LANES), 0)
    waiting: dict[int, int] = {}  # lane -> header that it came back to
    while at:
        for loop in reversed(forest.loops):
            parked = [x for x in at if waiting.get(x) == loop.header]
            inside = [x for x in at if x not in parked and loop.contains(at[x])]
            if parked and not inside:
                for lane in parked:
                    del waiting[lane]
        if warp.steps <= 0:
            return False
        block_id = min([at[x] for x in at if x not in waiting], key=lambda b: place[b])
        lanes = [x for x in at if at[x] == block_id and x not in waiting]
        for target, moved in warp.run_block(block_id, lanes).items():
            for lane in moved:
                if target == LEFT:
                    del at[lane]
                    continue
                at[lane] = target
                if forest.is_header(target) and forest.loops[forest.loop_of[target]].contains(block_id):
                    waiting[lane] = target
    return True
