"""Find where a warp can test that its lanes run the iterations of all loops together: from a block with a load to a
block that dominates it, the meeting, and to the loops around the meeting, whose iterations are counted.

Lanes that run the load's block together are in the same iteration of each loop around it if

 - all lanes of the warp were at the meeting at once, the last time that each of them was there,
 - they were then in the same iteration of each loop around the meeting, and
 - no branch from the meeting to the load parts lanes on two ways that both lead to the load without a second meeting.

The first two are tested at run time: at the meeting a lane compares its counters with those of lane 0, and at the load
the lanes vote. If all 32 lanes vote that their last meeting was complete, then it was one meeting: the last one of any
lane had all lanes. A lane that leaves a loop has left it for good as far as the load is concerned: to enter it again,
the lane comes to the meeting again. So neither the trip count of a loop nor its stride matters.
"""

from __future__ import annotations

from drawloom.ptx.cfg import Block
from drawloom.ptx.dominators import DominatorTree
from drawloom.ptx.ir import Instruction
from drawloom.shuffle.loops import Round, Rounds


class Meeting:
    """The test stands before ``function.body[at]``. ``counters`` are the loops around it: the places before which an
    iteration counter is set to 0 and incremented."""

    def __init__(self, at: int, counters: tuple[tuple[int, int], ...]) -> None:
        self.at = at
        self.counters = counters


class Meetings:
    """Answer for the blocks of one function, each block once."""

    def __init__(self, rounds: Rounds, tree: DominatorTree) -> None:
        self.rounds = rounds
        self.cfg = rounds.cfg
        self.tree = tree
        self._known: dict[int, Meeting | None] = {}

    def find(self, block_id: int) -> Meeting | None:
        """Return the meeting of a load's block in the fewest loops, None if no block will do."""
        if block_id not in self._known:
            self._known[block_id] = self._find(block_id)
        return self._known[block_id]

    def _find(self, block_id: int) -> Meeting | None:
        if self.rounds.irregular or not self.cfg.function.is_entry:
            return None
        best: Meeting | None = None
        place = block_id
        while place >= 0:
            around = self.rounds.around(place)
            if (best is None or len(around) < len(best.counters)) and self.keeps_together(place, block_id):
                at = self.start(self.cfg.blocks[place]) if place == block_id else self.end(self.cfg.blocks[place])
                best = Meeting(at, tuple([self.counter(cycle) for cycle in around]))
            place = self.tree.idom[place]
        return best

    def keeps_together(self, meeting: int, block_id: int) -> bool:
        """Return whether lanes that leave a meeting together cannot come to a block in different iterations."""
        blocks = self.cfg.blocks
        leads = 1 << block_id
        stack = [] if meeting == block_id else [block_id]
        while stack:
            for pred in blocks[stack.pop()].preds:
                if not leads >> pred & 1 and self.cfg.is_reachable(pred):
                    leads |= 1 << pred
                    if pred != meeting:
                        stack.append(pred)
        rounds = self.rounds
        for block in blocks:
            if not leads >> block.id & 1:
                continue
            if rounds.parts_within(block.id) and (block.id != meeting or block.id == block_id):
                return False
            ways = [successor for successor in block.succs if leads >> successor & 1 and successor != meeting]
            if len(ways) > 1 and (rounds.doubtful or rounds.uniform.is_divergent(block.id)):
                return False
        return True

    def counter(self, cycle: Round) -> tuple[int, int]:
        """Return where an iteration counter of a loop is set to 0 and incremented. Every way into a natural loop of a
        reducible graph leads through the immediate dominator of its header."""
        blocks = self.cfg.blocks
        return self.end(blocks[self.tree.idom[cycle.header]]), self.start(blocks[cycle.header])

    def start(self, block: Block) -> int:
        """Return the place of a block's first instruction."""
        body = self.cfg.function.body
        for at in range(block.first, block.last + 1):
            if isinstance(body[at], Instruction):
                return at
        return block.last + 1

    def end(self, block: Block) -> int:
        """Return the place of the branch that ends a block, else that of what follows the block."""
        if block.terminator is None:
            return block.last + 1
        body = self.cfg.function.body
        at = block.last
        while body[at] is not block.terminator:
            at -= 1
        return at
