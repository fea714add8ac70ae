"""Which loops may wait for another thread, and which ones the lanes of a warp leave at different times."""

from __future__ import annotations

from typing import Final

from drawloom.cpu.shapes import UNIFORM
from drawloom.cpu.structure import Structure
from drawloom.ptx.cfg import Cfg
from drawloom.ptx.dominators import DominatorTree, dominators
from drawloom.ptx.ir import Address, Arguments, Instruction, Module, Operand, Register, Symbol, collect_read
from drawloom.ptx.isa import ATOMIC, CALL, LOAD, STORE
from drawloom.ptx.layout import addressed_functions, reachable_functions
from drawloom.ptx.loops import Loop, LoopForest


def spinning_loops(module: Module, cfg: Cfg, loops: LoopForest) -> set[int]:
    """The headers of loops that may wait for another thread: an exit depends on memory that is read anew each time
    by a volatile, relaxed, acquiring or atomic access."""
    if not loops.loops:
        return set()
    calls = _Calls(module)
    tree = dominators(cfg)
    return {loop.header for loop in loops.loops if _Taint(cfg, loop, tree, calls).reaches_an_exit()}


def varying_exits(plan: Structure) -> set[int]:
    """The headers of loops that the lanes of a warp leave at different times."""
    out: set[int] = set()
    for loop in plan.loops.loops:
        for id in _exit_guards(plan.cfg, loop):
            shape = plan.shapes[id]
            if shape is not None and shape.kind != UNIFORM:
                out.add(loop.header)
    return out


#: Memory that threads hand values on to themselves, or to each other, by; generic addresses may be of any.
_OF_THE_BLOCK: Final = ("", "local", "shared")


class _Calls:
    """Which functions, or those that they call, read memory anew."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.known: dict[str, bool] = {}
        self.addressed: list[str] | None = None  # found at the first indirect call

    def read_anew(self, callee: Operand) -> bool:
        if isinstance(callee, Symbol):
            return self.function_reads_anew(callee.name)
        if self.addressed is None:
            self.addressed = addressed_functions(self.module)
        return any(self.function_reads_anew(name) for name in self.addressed)

    def function_reads_anew(self, name: str) -> bool:
        found = self.known.get(name)
        if found is None:
            function = self.module.functions.get(name)
            found = function is not None and any(
                isinstance(s, Instruction) and _reads_anew(s)
                for called in reachable_functions(self.module, function)
                for s in called.body
            )
            self.known[name] = found
        return found


class _Taint:
    """What depends on memory that a loop reads anew: registers, ``.param`` variables by name, and other memory by its
    space, which stands for all of it ("" for generic addresses)."""

    def __init__(self, cfg: Cfg, loop: Loop, tree: DominatorTree, calls: _Calls) -> None:
        self.cfg = cfg
        self.loop = loop
        self.tree = tree
        self.calls = calls
        self.registers: set[int] = set()
        self.places: set[str] = set()
        #: A branch within the loop depends on it, and so does all that is not done each time around.
        self.branches = False

    def reaches_an_exit(self) -> bool:
        blocks = self.cfg.blocks
        guards = _exit_guards(self.cfg, self.loop)
        if not guards:
            return False
        size = -1
        while size != len(self.registers) + len(self.places) + self.branches:
            size = len(self.registers) + len(self.places) + self.branches
            for b in self.loop.blocks:
                sometimes = self.branches and not all(self.tree.dominates(b, latch) for latch in self.loop.latches)
                for instruction in blocks[b].instructions:
                    self.step(instruction, sometimes)
                terminator = blocks[b].terminator
                if terminator is not None and any(r.id in self.registers for r in terminator.sources()):
                    self.branches = True
            if guards & self.registers:
                return True
        return False

    def step(self, instruction: Instruction, sometimes: bool) -> None:
        effect = instruction.opcode.effect
        depends = sometimes or any(r.id in self.registers for r in instruction.sources())
        if effect == CALL:
            depends = depends or self.calls.read_anew(instruction.operands[1]) or self.given(instruction.operands[2])
            if depends:
                self.places.add("")
                self.write(instruction.operands[0])
        elif effect == LOAD:
            depends = depends or self.holds(instruction)
        elif effect == STORE and depends:
            place = _place(instruction)
            # What a thread finds in global memory that it has written itself it does not wait for.
            if place != "global" and (sometimes or any(self.is_tainted(o) for o in instruction.operands[1:])):
                self.places.add(place)
        if depends or _reads_anew(instruction):
            self.registers.update([r.id for r in instruction.destinations()])

    def given(self, arguments: Operand) -> bool:
        if not isinstance(arguments, Arguments):
            return False
        return any(isinstance(a, Symbol) and a.name in self.places for a in arguments.elements)

    def write(self, results: Operand) -> None:
        if isinstance(results, Arguments):
            self.places.update([r.name for r in results.elements if isinstance(r, Symbol)])

    def is_tainted(self, operand: Operand) -> bool:
        read: list[Register] = []
        collect_read(operand, read)
        return any(r.id in self.registers for r in read)

    def holds(self, load: Instruction) -> bool:
        """Whether a load may read what the loop has put there."""
        space = load.opcode.space
        if space == "":
            return any(place in _OF_THE_BLOCK for place in self.places)
        return _place(load) in self.places or (space in _OF_THE_BLOCK and "" in self.places)


def _place(access: Instruction) -> str:
    """What a load or store accesses: a ``.param`` variable's name, or the space."""
    space = access.opcode.space
    if space != "param":
        return space
    for operand in access.operands:
        if isinstance(operand, Address) and isinstance(operand.base, Symbol):
            return operand.base.name
    return space


def _reads_anew(instruction: Instruction) -> bool:
    opcode = instruction.opcode
    if opcode.effect == ATOMIC:
        return opcode.has_destination
    return opcode.effect == LOAD and opcode.order in ("volatile", "relaxed", "acquire")


def _exit_guards(cfg: Cfg, loop: Loop) -> set[int]:
    """The registers that decide whether a loop is left."""
    guards: set[int] = set()
    for b in loop.blocks:
        block = cfg.blocks[b]
        if block.terminator is not None and (block.leaves or any(not loop.contains(s) for s in block.succs)):
            guards.update([r.id for r in block.terminator.sources()])
    return guards
