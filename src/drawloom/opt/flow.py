"""Control flow cleaned up: branches whose way is known, code that cannot be reached, blocks without instructions,
branches around branches and to the next block, blocks that only follow each other.

    @%p1 bra A;                     @!%p1 bra B;            -- %p1 not known
    bra B;                          A: ...
    A: ...                          B: ...
    B: bra C;                       C: ...                  -- B is empty: who branches to B, branches to C
    C: ...
"""

from __future__ import annotations

from typing import Final

from drawloom.opt.work import Replacements, Work, can_replace, move_of
from drawloom.ptx.cfg import reverse_postorder
from drawloom.ptx.ir import BranchTargets, CallPrototype, CallTargets, Directive, Instruction, LabelRef
from drawloom.ptx.isa import BRANCH
from drawloom.ptx.ssa import Phi, SsaBlock


def clean_flow(work: Work) -> None:
    """Apply the rules until none fits; edges, phis and labels stay in step."""
    cleaning = _Cleaning(work)
    cleaning.decide_branches()
    cleaning.drop_unreachable()
    for _ in range(_MOST_ROUNDS):
        before = work.changes
        cleaning.skip_empty_blocks()
        cleaning.drop_unreachable()
        cleaning.branch_around()
        cleaning.fall_through()
        cleaning.join_blocks()
        if work.changes == before:
            break
    cleaning.drop_tables()
    if work.changes:
        work.forget_flow()


#: Rounds through the rules: what a rule leaves for the next round is rare, and empty endless loops go round for ever.
_MOST_ROUNDS: Final = 6
_DECLARING: Final = (BranchTargets, CallTargets, CallPrototype)


class _Cleaning:
    def __init__(self, work: Work) -> None:
        self.work = work
        self.ssa = work.ssa

    # -- edges -------------------------------------------------------------------------------------------

    def remove_edge(self, source: SsaBlock, target: SsaBlock) -> None:
        """Remove the edge with its phi arguments."""
        source.succs.remove(target.id)
        place = target.preds.index(source.id)
        del target.preds[place]
        for phi in target.phis:
            phi.arguments = [a for index, a in enumerate(phi.arguments) if index != place]

    def falls_into(self, block: SsaBlock) -> SsaBlock | None:
        """The block that control runs into behind this one, if it can."""
        terminator = block.terminator
        if (terminator is None or terminator.guard is not None) and block.id + 1 < len(self.ssa.blocks):
            return self.ssa.blocks[block.id + 1]
        return None

    def target(self, block: SsaBlock) -> SsaBlock | None:
        """Where the ``bra`` at the end of a block leads."""
        terminator = block.terminator
        if terminator is None or terminator.opcode.name != "bra":
            return None
        reference = terminator.operands[0]
        assert isinstance(reference, LabelRef)
        for successor in block.succs:
            if any(label.name == reference.name for label in self.ssa.blocks[successor].labels):
                return self.ssa.blocks[successor]
        return None

    def drop_terminator(self, block: SsaBlock) -> None:
        terminator = block.terminator
        block.statements = [s for s in block.statements if s is not terminator]
        block.terminator = None

    def label_of(self, block: SsaBlock) -> str:
        """A label of a block, which gets one if it has none."""
        if not block.labels:
            block.labels.append(self.work.new_label())
        return block.labels[0].name

    # -- rules -------------------------------------------------------------------------------------------

    def decide_branches(self) -> None:
        """Branches on a predicate that ``fold`` knows."""
        for block in self.ssa.blocks:
            terminator = block.terminator
            if terminator is None or terminator.guard is None:
                continue
            known = self.work.known_predicates.get(terminator.guard.id)
            if known is None:
                continue
            following = self.falls_into(block)
            taken = known != (1 if terminator.guard_negated else 0)
            if taken:
                targets = block.succs if terminator.opcode.name == "brx.idx" else []
                target = self.target(block)
                if target is not None:
                    targets = [target.id]
                if following is not None and following.id not in targets:
                    self.remove_edge(block, following)
                elif terminator.opcode.name == "brx.idx":
                    continue  # whether its table has the next block is not looked up
                block.results = block.results if terminator.opcode.effect != BRANCH else []
                terminator.guard = None
                terminator.guard_negated = False
                self.work.changed(terminator, "always taken")
            elif following is not None:
                self.work.changed(terminator, "removed, never taken")
                for successor in list(block.succs):
                    if successor != following.id:
                        self.remove_edge(block, self.ssa.blocks[successor])
                block.results = []
                self.drop_terminator(block)

    def drop_unreachable(self) -> None:
        """Leave out blocks that no path leads to, and number the others anew."""
        blocks = self.ssa.blocks
        reached = set(reverse_postorder([b.succs for b in blocks]))
        if len(reached) == len(blocks):
            return
        left = [b for b in blocks if b.id in reached]
        for block in blocks:
            if block.id not in reached:
                self.work.changed(block.statements[0] if block.statements else None, "removed, cannot be reached")
                for successor in list(block.succs):
                    if successor in reached:
                        self.remove_edge(block, blocks[successor])
                # Tables and prototypes in it may be those of code that stays.
                left[0].statements[:0] = [s for s in block.statements if isinstance(s, _DECLARING)]
        self.work.number_blocks(left)

    def skip_empty_blocks(self) -> None:
        """A branch to a block that only branches on goes where that one goes."""
        for block in self.ssa.blocks:
            middle = self.target(block)
            if middle is None or middle is block or middle.phis or middle.terminator is None:
                continue
            if middle.terminator.guard is not None or not _only_branches(middle):
                continue
            end = self.target(middle)
            if end is None or end is middle or end.id in block.succs:
                continue
            if middle is self.falls_into(block):
                continue
            terminator = block.terminator
            assert terminator is not None
            place = end.preds.index(middle.id)
            for phi in end.phis:
                phi.arguments.append(phi.arguments[place])
            end.preds.append(block.id)
            block.succs = [end.id if s == middle.id else s for s in block.succs]
            middle.preds.remove(block.id)
            terminator.operands[0] = LabelRef(self.label_of(end))
            self.work.changed(terminator, "leads over an empty block")

    def branch_around(self) -> None:
        """``@p bra A; bra B; A:`` is ``@!p bra B; A:``."""
        blocks = self.ssa.blocks
        for block in blocks[:-2]:
            middle, after = blocks[block.id + 1], blocks[block.id + 2]
            terminator = block.terminator
            if terminator is None or terminator.guard is None or self.target(block) is not after:
                continue
            if middle.phis or middle.preds != [block.id] or not _only_branches(middle):
                continue
            end = self.target(middle)
            if middle.terminator is None or middle.terminator.guard is not None or end is None:
                continue
            if end is after or end is middle or end.id in block.succs:
                continue
            end.preds[end.preds.index(middle.id)] = block.id
            block.succs = [end.id, after.id]
            terminator.operands[0] = LabelRef(self.label_of(end))
            terminator.guard_negated = not terminator.guard_negated
            middle.succs = []
            middle.preds = []
            self.work.changed(terminator, "turned round")
        self.drop_unreachable()

    def fall_through(self) -> None:
        """A branch to the next block."""
        for block in self.ssa.blocks[:-1]:
            target = self.target(block)
            if target is not None and target.id == block.id + 1:
                assert block.terminator is not None
                self.work.changed(block.terminator, "removed, leads to the next instruction")
                self.drop_terminator(block)

    def join_blocks(self) -> None:
        """A block that runs into one that nothing else leads to becomes one with it."""
        replacements = Replacements(self.ssa)
        left: list[SsaBlock] = []
        for block in self.ssa.blocks:
            head = left[-1] if left else block
            if head is block or head.terminator is not None or head.succs != [block.id] or block.preds != [head.id]:
                left.append(block)
                continue
            for phi in block.phis:
                self.become_copy(phi, head, replacements)
            head.statements.extend(block.statements)
            head.terminator = block.terminator
            head.results = block.results
            head.succs = block.succs
            for successor in block.succs:
                preds = self.ssa.blocks[successor].preds
                preds[preds.index(block.id)] = head.id
            self.work.changed(None, f"block {block.id} joined with the one before")
        if len(left) == len(self.ssa.blocks):
            return
        self.work.number_blocks(left)
        for block in left:
            for statement in block.statements:
                if isinstance(statement, Instruction):
                    replacements.rewrite(statement)
        replacements.finish()

    def become_copy(self, phi: Phi, head: SsaBlock, replacements: Replacements) -> None:
        """The phi of a block with one predecessor."""
        source = replacements.value(phi.arguments[0])
        if can_replace(phi.destination, source):
            replacements.replace(phi.destination, source)
        else:
            head.statements.append(Instruction(move_of(phi.destination.type), [phi.destination, source]))

    def drop_tables(self) -> None:
        """Branch tables that have lost a label: no branch can use them any more."""
        labels = {label.name for block in self.ssa.blocks for label in block.labels}
        for block in self.ssa.blocks:
            block.statements = [
                s for s in block.statements if not isinstance(s, BranchTargets) or labels.issuperset(s.labels)
            ]


def _only_branches(block: SsaBlock) -> bool:
    """Whether a block has nothing but its terminator, and positions."""
    for statement in block.statements:
        if statement is not block.terminator and not (isinstance(statement, Directive) and statement.name == ".loc"):
            return False
    return True
