"""The control-flow graph: the flat body of a function into basic blocks with successors and predecessors.

    Cfg   ::= Block+            -- dense ids in body order; block 0 is the entry and has no predecessors
    Block ::= body[first..last] -> succs

A block ends before a label and after ``bra``, ``brx.idx``, ``ret``, ``exit``, ``trap`` and a call of a
``.noreturn`` function, guarded or not (PTX ISA 9.0 section 9.7.12). A guarded one falls through for the threads
whose guard is false. Running off the end of the body is a ``ret``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from drawloom.errors import SourceError, VerifyError
from drawloom.ptx.ir import BranchTargets, CallPrototype, Function, Instruction, Label, LabelRef, Module, Symbol
from drawloom.ptx.isa import BRANCH, CALL, EXIT, RETURN

if TYPE_CHECKING:
    from drawloom.ptx.dominators import DominatorTree
    from drawloom.ptx.loops import LoopForest


class Block:
    """A basic block: ``function.body[first : last + 1]``, of which ``instructions`` are the instructions.

    ``terminator`` is the last instruction if it ends the block, None where the block runs into the next one or
    off the end. ``succs`` and ``preds`` are block ids without repeats; the order of ``succs`` is taken,
    fallthrough for a guarded ``bra``, and the order of the list for ``brx.idx`` (then fallthrough, if guarded).
    ``taken`` is the target of a ``bra``, ``fallthrough`` the next block if control can run into it; both -1
    otherwise; they may be the same block. ``targets`` is the whole table of a ``brx.idx``, repeats included.
    ``leaves`` says that threads can leave the function here, ``returns`` that they do so by ``ret`` or by
    running off the end.
    """

    def __init__(self, id: int, first: int) -> None:
        self.id = id
        self.first = first
        self.last = first - 1
        self.labels: list[str] = []
        self.instructions: list[Instruction] = []
        self.terminator: Instruction | None = None
        self.succs: list[int] = []
        self.preds: list[int] = []
        self.taken = -1
        self.fallthrough = -1
        self.targets: list[int] = []
        self.leaves = False
        self.returns = False

    def __repr__(self) -> str:
        return f"<block {self.id} -> {self.succs}>"


class Cfg:
    """The blocks of a function.

    ``rpo`` lists the blocks that control can reach, in reverse postorder from block 0; ``rpo_index[b]`` is a
    block's place in it, -1 for unreachable code, which is kept in ``blocks`` but stands in no order.
    ``exit_blocks`` are the reachable blocks with ``leaves``, in body order; ``label_block`` finds a block by label.
    """

    def __init__(self, function: Function, blocks: list[Block], label_block: dict[str, int]) -> None:
        self.function = function
        self.blocks = blocks
        self.label_block = label_block
        self.rpo = reverse_postorder([b.succs for b in blocks])
        self.rpo_index = [-1] * len(blocks)
        for index, block_id in enumerate(self.rpo):
            self.rpo_index[block_id] = index
        self.exit_blocks = [b.id for b in blocks if b.leaves and self.rpo_index[b.id] >= 0]
        #: What `dominators` and `find_loops` found, once.
        self.tree: DominatorTree | None = None
        self.loops: LoopForest | None = None
        self._before: dict[int, int] = {}
        self._block_at: list[int] = []

    @property
    def entry(self) -> Block:
        """Block 0, where every thread starts; no edge leads to it."""
        return self.blocks[0]

    def is_reachable(self, block_id: int) -> bool:
        """Whether any path leads from the entry to the block."""
        return self.rpo_index[block_id] >= 0

    def before(self, block_id: int) -> int:
        """The blocks that may run before a block's first instruction, as a bit set; itself if it is in a cycle."""
        known = self._before.get(block_id, -1)
        if known >= 0:
            return known
        found = 0
        stack = [block_id]
        while stack:
            for pred in self.blocks[stack.pop()].preds:
                if not found >> pred & 1:
                    found |= 1 << pred
                    stack.append(pred)
        self._before[block_id] = found
        return found

    def block_at(self, at: int) -> int:
        """The block that ``function.body[at]`` stands in."""
        if not self._block_at:
            for block in self.blocks:
                self._block_at.extend([block.id] * (block.last + 1 - block.first))
        return self._block_at[at]


def build_cfg(function: Function, module: Module | None = None) -> Cfg:
    """The control-flow graph of a function with a body.

    ``module`` tells which called functions are ``.noreturn`` and lets errors name line and column. Raises
    ``VerifyError`` for a branch to an undefined label, an undefined branch table, and a label defined twice.
    """
    splitter = _Splitter(function, module)
    splitter.split()
    splitter.connect()
    return Cfg(function, splitter.blocks, splitter.label_block)


class _Splitter:
    """The state of one construction."""

    def __init__(self, function: Function, module: Module | None) -> None:
        self.function = function
        self.module = module
        self.blocks: list[Block] = []
        self.label_block: dict[str, int] = {}
        self.tables: dict[str, BranchTargets] = {}
        self.noreturn_prototypes: set[str] = set()

    def split(self) -> None:
        """Cuts the body into blocks and records labels, branch tables and prototypes."""
        body = self.function.body
        blocks = self.blocks
        current: Block | None = None
        first = 0  # where the next block begins, while there is no current one
        for index, statement in enumerate(body):
            if isinstance(statement, Instruction):
                if current is None:
                    current = self.new_block(first)
                current.instructions.append(statement)
                effect = statement.opcode.effect
                if BRANCH <= effect <= EXIT and (effect != CALL or self.never_returns(statement)):
                    current.terminator = statement
                    current.last = index
                    current = None
                    first = index + 1
            elif isinstance(statement, Label):
                if current is None:
                    current = self.new_block(first)
                elif current.instructions:
                    current.last = index - 1
                    current = self.new_block(index)
                if statement.name in self.label_block:
                    raise self.error(statement.pos, f"label '{statement.name}' is defined twice", "")
                self.label_block[statement.name] = current.id
                current.labels.append(statement.name)
            elif isinstance(statement, BranchTargets):
                self.tables[statement.name] = statement
            elif isinstance(statement, CallPrototype) and ".noreturn" in statement.directives:
                self.noreturn_prototypes.add(statement.name)
        if current is None and (not blocks or _falls_through(blocks[-1])):
            self.new_block(first)
        blocks[-1].last = len(body) - 1

    def new_block(self, first: int) -> Block:
        block = Block(len(self.blocks), first)
        self.blocks.append(block)
        return block

    def never_returns(self, call: Instruction) -> bool:
        callee = call.operands[1]
        if isinstance(callee, Symbol):
            function = None if self.module is None else self.module.functions.get(callee.name)
            return function is not None and function.noreturn
        if len(call.operands) > 3:
            prototype = call.operands[3]
            return isinstance(prototype, LabelRef) and prototype.name in self.noreturn_prototypes
        return False

    def connect(self) -> None:
        """Fills in the edges; puts an empty block first if the first one is a branch target."""
        for block in self.blocks:
            self.add_targets(block)
            terminator = block.terminator
            if terminator is None or terminator.guard is not None:
                if block.id + 1 < len(self.blocks):
                    block.fallthrough = block.id + 1
                    _add_successor(block, block.fallthrough)
                else:
                    block.leaves = block.returns = True
            if terminator is not None and terminator.opcode.effect in (RETURN, EXIT, CALL):
                block.leaves = True
                block.returns = terminator.opcode.effect == RETURN
        for block in self.blocks:
            for successor in block.succs:
                self.blocks[successor].preds.append(block.id)
        if self.blocks[0].preds:
            self.prepend_entry()

    def add_targets(self, block: Block) -> None:
        terminator = block.terminator
        if terminator is None or terminator.opcode.effect != BRANCH:
            return
        if terminator.opcode.name == "bra":
            block.taken = self.target(terminator.operands[0], terminator.pos)
            _add_successor(block, block.taken)
            return
        reference = terminator.operands[1]
        table = self.tables.get(reference.name) if isinstance(reference, LabelRef) else None
        if table is None:
            raise self.error(
                terminator.pos, f"undefined branch table '{reference!r}'", "the name of a .branchtargets list"
            )
        for name in table.labels:
            target = self.target(LabelRef(name), table.pos)
            block.targets.append(target)
            _add_successor(block, target)

    def target(self, reference: object, pos: int) -> int:
        if isinstance(reference, LabelRef):
            block_id = self.label_block.get(reference.name, -1)
            if block_id >= 0:
                return block_id
        raise self.error(pos, f"undefined label '{reference!r}'", f"a label defined in function '{self.function.name}'")

    def prepend_entry(self) -> None:
        for block in self.blocks:
            block.id += 1
            block.succs = [s + 1 for s in block.succs]
            block.preds = [p + 1 for p in block.preds]
            block.targets = [t + 1 for t in block.targets]
            if block.taken >= 0:
                block.taken += 1
            if block.fallthrough >= 0:
                block.fallthrough += 1
        entry = Block(0, 0)
        entry.fallthrough = 1
        entry.succs = [1]
        self.blocks[0].preds.insert(0, 0)
        self.blocks.insert(0, entry)
        for name in self.label_block:
            self.label_block[name] += 1

    def error(self, pos: int, message: str, expected: str) -> SourceError:
        if self.module is not None:
            return self.module.error(VerifyError, pos, message, expected)
        return VerifyError(message, expected=expected)


def _falls_through(block: Block) -> bool:
    return block.terminator is not None and block.terminator.guard is not None


def _add_successor(block: Block, successor: int) -> None:
    if successor not in block.succs:
        block.succs.append(successor)


def reverse_postorder(successors: list[list[int]]) -> list[int]:
    """Depth-first from block 0, first successor first, so that a fallthrough comes before the branch target. Blocks
    that it does not lead to are left out; ``successors`` are those of each block."""
    order: list[int] = []
    seen = [False] * len(successors)
    seen[0] = True
    stack = [0]
    next_successor = [0] * len(successors)
    while stack:
        block_id = stack[-1]
        succs = successors[block_id]
        at = next_successor[block_id]
        if at == len(succs):
            stack.pop()
            order.append(block_id)
            continue
        next_successor[block_id] = at + 1
        successor = succs[at]
        if not seen[successor]:
            seen[successor] = True
            stack.append(successor)
    order.reverse()
    return order
