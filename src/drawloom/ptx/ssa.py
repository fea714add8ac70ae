"""SSA form: a function into one whose registers are written once, and back, so that a pass is Module -> Module.

    SsaFunction ::= SsaBlock+                      -- the reachable blocks, in body order
    SsaBlock    ::= Label* Phi* Statement* results -- statements as in ir.py, on registers of the SsaFunction
    Phi         ::= destination, one argument per predecessor

Every value is a fresh ``Register``, dense in ``SsaFunction.registers``. A guarded definition leaves the old value
to the threads whose guard is false: ``kept[d.id]`` is that old value for its destination ``d`` (absent when nothing
reads it). Construction is pruned: phis stand at iterated dominance frontiers where the register is live (Cytron
and others, "Efficiently Computing Static Single Assignment Form", 1991).

Destruction gives each phi a register of its own, written at the end of every predecessor and read at the start of
the block. As that register lives on edges only, copies need no particular order, values cannot be lost or swapped
and critical edges need no block of their own (Boissinot and others, "Revisiting Out-of-SSA Translation for
Correctness, Code Quality, and Efficiency", 2009). Then the two sides of a copy become one register wherever they
do not interfere, which leaves no copy at all in a function that went through unchanged.
"""

from __future__ import annotations

from typing import Final

from drawloom.ptx.cfg import Block, Cfg, build_cfg
from drawloom.ptx.dominators import DominatorTree, dominators
from drawloom.ptx.ir import (
    Address,
    Arguments,
    BranchTargets,
    CallPrototype,
    CallTargets,
    Function,
    Immediate,
    Instruction,
    Label,
    Module,
    Not,
    Operand,
    Pair,
    Register,
    Statement,
    Variable,
    Vector,
    collect_read,
)
from drawloom.ptx.isa import BRANCH, decode
from drawloom.ptx.liveness import Liveness, liveness, members
from drawloom.ptx.types import Type


class Phi:
    """``destination`` = the argument of the predecessor that control came from (order of ``SsaBlock.preds``)."""

    def __init__(self, destination: Register, arguments: list[Register]) -> None:
        self.destination = destination
        self.arguments = arguments

    def __repr__(self) -> str:
        return f"{self.destination!r} = phi {', '.join([repr(a) for a in self.arguments])}"


class SsaBlock:
    """A block. ``statements`` holds instructions and directives; a branch can only be the last instruction.

    ``results`` are the values of the function's ``.reg`` results where the block returns, else empty.
    """

    def __init__(self, id: int, labels: list[Label]) -> None:
        self.id = id
        self.labels = labels
        self.phis: list[Phi] = []
        self.statements: list[Statement] = []
        self.terminator: Instruction | None = None
        self.results: list[Register] = []
        self.succs: list[int] = []
        self.preds: list[int] = []


class SsaFunction:
    """A function in SSA form.

    ``source`` is the function it came from, which is left as it is; ``origin[v]`` is the id of the register of
    ``source`` that value ``v`` is a version of, -1 for values that a pass made. ``parameters[i]`` is the value of
    the i-th parameter if that is a ``.reg``; ``undefined`` are the values that are read although no path from the
    entry writes them.
    """

    def __init__(self, source: Function) -> None:
        self.source = source
        self.registers: list[Register] = []
        self.origin: list[int] = []
        self.blocks: list[SsaBlock] = []
        self.kept: dict[int, Register] = {}
        self.parameters: list[Register | None] = [None] * len(source.params)
        self.undefined: set[int] = set()

    def new_value(self, type: Type, origin: int = -1) -> Register:
        """A fresh value; its name is for reading only."""
        index = len(self.registers)
        stem = self.source.registers[origin].name if origin >= 0 else "%"
        value = Register(index, f"{stem}.{index}", type)
        self.registers.append(value)
        self.origin.append(origin)
        return value

    def __repr__(self) -> str:
        lines: list[str] = []
        for block in self.blocks:
            lines.append(f"{block.id}: <- {block.preds}")
            lines.extend([f"  {p!r}" for p in block.phis])
            for statement in block.statements:
                if isinstance(statement, Instruction):
                    kept = [repr(self.kept[d.id]) for d in statement.destinations() if d.id in self.kept]
                    lines.append(f"  {statement!r}" + (f"  keeps {', '.join(kept)}" if kept else ""))
        return "\n".join(lines)


def construct(function: Function, module: Module | None = None) -> SsaFunction:
    """SSA form of a function with a body; unreachable code is dropped. Raises as ``build_cfg`` does."""
    cfg = build_cfg(function, module)
    construction = _Construction(cfg)
    construction.place_phis()
    construction.rename()
    return construction.ssa


def destruct(ssa: SsaFunction) -> Function:
    """An ordinary function with the meaning of ``ssa``."""
    return _Destruction(ssa).function()


def replace_functions(module: Module, functions: dict[str, Function]) -> Module:
    """A module like ``module`` in which the functions with these names that have a body are replaced."""
    out = Module()
    out.version = module.version
    out.target = list(module.target)
    out.address_size = module.address_size
    out.source = module.source
    out.filename = module.filename
    for item in module.items:
        if isinstance(item, Function) and item.has_body and item.name in functions:
            out.add(functions[item.name])
        else:
            out.add(item)
    return out


class _Construction:
    def __init__(self, cfg: Cfg) -> None:
        self.cfg = cfg
        self.live: Liveness = liveness(cfg)
        self.tree: DominatorTree = dominators(cfg)
        self.ssa = SsaFunction(cfg.function)
        self.new_id = [-1] * len(cfg.blocks)  # block ids without the unreachable ones
        self.current: list[Register | None] = [None] * len(cfg.function.registers)
        self.undo: list[tuple[int, Register | None]] = []
        for block in cfg.blocks:
            if cfg.is_reachable(block.id):
                labels = [s for s in cfg.function.body[block.first : block.last + 1] if isinstance(s, Label)]
                self.new_id[block.id] = len(self.ssa.blocks)
                self.ssa.blocks.append(SsaBlock(len(self.ssa.blocks), labels))
        for block_id in cfg.rpo:
            made = self.block(block_id)
            made.succs = [self.new_id[s] for s in cfg.blocks[block_id].succs]
            made.preds = [self.new_id[p] for p in cfg.blocks[block_id].preds if cfg.is_reachable(p)]

    def block(self, block_id: int) -> SsaBlock:
        return self.ssa.blocks[self.new_id[block_id]]

    def place_phis(self) -> None:
        """Phis for registers that live across blocks, at the iterated frontier of the blocks that define them."""
        across = 0
        for block_id in self.cfg.rpo:
            across |= self.live.live_in[block_id]
        defining: dict[int, list[int]] = {}
        for block_id in self.cfg.rpo:
            for instruction in self.cfg.blocks[block_id].instructions if across else []:
                for register in instruction.destinations():
                    if across >> register.id & 1:
                        defining.setdefault(register.id, []).append(block_id)
        frontier = self.tree.frontier()
        for register_id in sorted(defining):
            placed: set[int] = set()
            work = list(defining[register_id])
            while work:
                for join in frontier[work.pop()]:
                    if join not in placed and self.live.live_in[join] >> register_id & 1:
                        placed.add(join)
                        work.append(join)
            register = self.ssa.source.registers[register_id]
            for join in sorted(placed):
                made = self.block(join)
                destination = self.ssa.new_value(register.type, register_id)
                made.phis.append(Phi(destination, [destination] * len(made.preds)))

    def rename(self) -> None:
        """Walks the dominator tree, with the current value of every register at hand."""
        self.enter_function()
        undo = self.undo
        marks: list[int] = []
        stack = [0]
        while stack:
            block_id = stack.pop()
            if block_id < 0:  # all that the block dominates is done
                mark = marks.pop()
                while len(undo) > mark:
                    register_id, value = undo.pop()
                    self.current[register_id] = value
                continue
            marks.append(len(undo))
            stack.append(-1 - block_id)
            self.rename_block(self.cfg.blocks[block_id])
            stack.extend(self.tree.children[block_id])

    def enter_function(self) -> None:
        ssa = self.ssa
        function = ssa.source
        live = self.live.live_in[0]
        for index, variable in enumerate(function.params):
            if variable.register is not None:
                value = ssa.new_value(variable.register.type, variable.register.id)
                ssa.parameters[index] = value
                self.current[variable.register.id] = value
                live &= ~(1 << variable.register.id)
        for register_id in members(live):
            value = ssa.new_value(function.registers[register_id].type, register_id)
            ssa.undefined.add(value.id)
            self.current[register_id] = value
        for block in self.cfg.blocks:
            if not self.cfg.is_reachable(block.id):
                self.keep_declarations(block)

    def keep_declarations(self, block: Block) -> None:
        """Unreachable code may hold lists and prototypes that reachable code uses."""
        reachable = self.cfg.label_block
        for statement in self.ssa.source.body[block.first : block.last + 1]:
            if isinstance(statement, BranchTargets):
                if all(self.cfg.is_reachable(reachable[name]) for name in statement.labels if name in reachable):
                    self.ssa.blocks[0].statements.append(statement)
            elif isinstance(statement, (CallTargets, CallPrototype)):
                self.ssa.blocks[0].statements.append(statement)

    def set_current(self, register_id: int, value: Register) -> None:
        self.undo.append((register_id, self.current[register_id]))
        self.current[register_id] = value

    def rename_block(self, block: Block) -> None:
        made = self.block(block.id)
        for phi in made.phis:
            self.set_current(self.ssa.origin[phi.destination.id], phi.destination)
        live_after: list[int] = []
        for instruction in block.instructions:
            if instruction.guard is not None and instruction.opcode.has_destination:
                live_after = self.live.live_after(block.id)
                break
        place = 0
        for statement in self.ssa.source.body[block.first : block.last + 1]:
            if isinstance(statement, Instruction):
                renamed = self.rename_instruction(statement, live_after[place] if live_after else 0)
                made.statements.append(renamed)
                if statement is block.terminator:
                    made.terminator = renamed
                place += 1
            elif not isinstance(statement, Label):
                made.statements.append(statement)
        if block.returns:
            for variable in self.ssa.source.returns:
                if variable.register is not None:
                    made.results.append(self.value(variable.register.id))
        for successor in made.succs:
            place = self.ssa.blocks[successor].preds.index(made.id)
            for phi in self.ssa.blocks[successor].phis:
                phi.arguments[place] = self.value(self.ssa.origin[phi.destination.id])

    def rename_instruction(self, instruction: Instruction, live_after: int) -> Instruction:
        operands = instruction.operands
        renamed: list[Operand] = []
        start = 0
        if instruction.opcode.has_destination and operands:
            start = 1
            renamed.append(operands[0])
        for index in range(start, len(operands)):
            renamed.append(_mapped(operands[index], self.current))
        guard = None if instruction.guard is None else self.value(instruction.guard.id)
        if start:
            for register in instruction.destinations():
                value = self.ssa.new_value(register.type, register.id)
                old = self.current[register.id]
                if guard is not None and live_after >> register.id & 1 and old is not None:
                    self.ssa.kept[value.id] = old
                self.set_current(register.id, value)
            renamed[0] = _mapped(operands[0], self.current)
        return Instruction(instruction.opcode, renamed, guard, instruction.guard_negated, instruction.pos)

    def value(self, register_id: int) -> Register:
        value = self.current[register_id]
        assert value is not None, "a register that is read is live at the entry or written before"
        return value


class _Destruction:
    """The lowered function is first written on the values themselves, one more register per phi and result."""

    def __init__(self, ssa: SsaFunction) -> None:
        self.ssa = ssa
        self.registers: list[Register] = list(ssa.registers)
        self.origin: list[int] = list(ssa.origin)
        self.copies: list[Instruction] = []
        self.same_value: dict[int, int] = {}  # by id() of a copy: what holds the value that it copies
        self.fixed: dict[int, Register] = {}  # registers of parameters and results, to those of the source
        self.results: list[Register | None] = [self.fixed_register(v) for v in ssa.source.returns]
        for variable, value in zip(ssa.source.params, ssa.parameters):
            if variable.register is not None and value is not None:
                self.fixed[value.id] = variable.register
        self.phi_register: dict[int, Register] = {}
        for block in ssa.blocks:
            for phi in block.phis:
                made = self.new_register(phi.destination.type, ssa.origin[phi.destination.id])
                self.phi_register[phi.destination.id] = made
        self.parent: list[int] = []
        self.members: list[int] = []
        self.conflicts: list[int] = []

    def new_register(self, type: Type, origin: int) -> Register:
        register = Register(len(self.registers), f"%.{len(self.registers)}", type)
        self.registers.append(register)
        self.origin.append(origin)
        return register

    def fixed_register(self, variable: Variable) -> Register | None:
        if variable.register is None:
            return None
        register = self.new_register(variable.register.type, variable.register.id)
        self.fixed[register.id] = variable.register
        return register

    def function(self) -> Function:
        lowered = self.lower()
        self.find_conflicts(lowered)
        self.coalesce()
        return self.rewrite(lowered)

    def lower(self) -> Function:
        out = _shell(self.ssa.source)
        out.registers = self.registers
        for place, variable in enumerate(self.ssa.source.returns):
            out.returns.append(_with_register(variable, self.results[place]))
        for place, variable in enumerate(self.ssa.source.params):
            out.params.append(_with_register(variable, self.ssa.parameters[place]))
        for block in self.ssa.blocks:
            out.body.extend(block.labels)
            for phi in block.phis:
                self.copy(out.body, phi.destination, self.phi_register[phi.destination.id])
            for statement in block.statements:
                if statement is block.terminator:
                    self.copy_results(block, out.body)
                    if block.terminator.opcode.effect == BRANCH:
                        self.copy_arguments(block, out.body)
                if isinstance(statement, Instruction):
                    for destination in statement.destinations():
                        if destination.id in self.ssa.kept:
                            self.copy(out.body, destination, self.ssa.kept[destination.id])
                out.body.append(statement)
            if block.terminator is None:
                self.copy_results(block, out.body)
            if block.terminator is None or block.terminator.opcode.effect != BRANCH:
                self.copy_arguments(block, out.body)
        return out

    def copy(self, body: list[Statement], destination: Register, source: Register, same: int = 0) -> None:
        """Writes a copy; ``same`` are other registers that hold the value of ``source`` at this point."""
        if source.id in self.ssa.undefined:
            return
        instruction = Instruction(decode(_move(destination.type)), [destination, source])
        self.copies.append(instruction)
        self.same_value[id(instruction)] = same | 1 << source.id
        body.append(instruction)

    def copy_results(self, block: SsaBlock, body: list[Statement]) -> None:
        place = 0
        for register in self.results:
            if register is not None and place < len(block.results):
                self.copy(body, register, block.results[place])
                place += 1

    def copy_arguments(self, block: SsaBlock, body: list[Statement]) -> None:
        copied: dict[int, int] = {}  # what holds a value after the copies so far
        for successor in block.succs:
            target = self.ssa.blocks[successor]
            if target.phis:
                place = target.preds.index(block.id)
                for phi in target.phis:
                    register = self.phi_register[phi.destination.id]
                    argument = phi.arguments[place]
                    same = copied.get(argument.id, 0)
                    self.copy(body, register, argument, same)
                    copied[argument.id] = same | 1 << register.id

    def find_conflicts(self, lowered: Function) -> None:
        """For every register of a copy, those of copies that live where it is written (Chaitin's interference)."""
        count = len(self.registers)
        self.parent = list(range(count))
        self.members = [1 << index for index in range(count)]
        self.conflicts = [0] * count
        if not self.copies:
            return
        cfg = build_cfg(lowered)
        live = liveness(cfg)
        copied = bytearray(count)
        candidates = 0
        for instruction in self.copies:
            for operand in instruction.operands:
                assert isinstance(operand, Register), "copies are between registers"
                copied[operand.id] = 1
                candidates |= 1 << operand.id
        at_entry = live.live_in[0]
        for value in self.ssa.parameters:
            if value is not None:
                at_entry |= 1 << value.id
        at_entry &= candidates
        for register_id in members(at_entry):
            self.conflicts[register_id] |= at_entry & ~(1 << register_id)
        for block in cfg.blocks:
            alive = live.live_out[block.id] & candidates
            for place in range(len(block.instructions) - 1, -1, -1):
                instruction = block.instructions[place]
                destinations = [r for r in instruction.destinations() if copied[r.id]]
                if destinations:
                    written = 0
                    for register in destinations:
                        written |= 1 << register.id
                    around = (alive | written) & ~self.same_value.get(id(instruction), 0)
                    for register in destinations:
                        self.conflicts[register.id] |= around & ~(1 << register.id)
                    if instruction.guard is None:
                        alive &= ~written
                for register in instruction.sources():
                    if copied[register.id]:
                        alive |= 1 << register.id

    def find(self, register_id: int) -> int:
        while self.parent[register_id] != register_id:
            self.parent[register_id] = self.parent[self.parent[register_id]]
            register_id = self.parent[register_id]
        return register_id

    def coalesce(self) -> None:
        """Makes the two sides of a copy one register where they do not interfere, in program order."""
        for instruction in self.copies:
            first, second = instruction.operands
            assert isinstance(first, Register) and isinstance(second, Register), "copies are between registers"
            a, b = self.find(first.id), self.find(second.id)
            if a == b or self.registers[a].type is not self.registers[b].type:
                continue
            if a in self.fixed and b in self.fixed:
                continue
            if self.members[a] & self.conflicts[b] or self.members[b] & self.conflicts[a]:
                continue
            if b in self.fixed:
                a, b = b, a
            self.parent[b] = a
            self.members[a] |= self.members[b]
            self.conflicts[a] |= self.conflicts[b]

    def rewrite(self, lowered: Function) -> Function:
        out = _shell(self.ssa.source)
        final = self.name_registers(lowered, out)
        for variable in lowered.returns:
            out.returns.append(_with_register(variable, _at(final, variable.register)))
        for variable in lowered.params:
            out.params.append(_with_register(variable, _at(final, variable.register)))
        left: list[Instruction] = []
        row: dict[int, Register] = {}  # what the copies just before have written, and from where
        for statement in lowered.body:
            if not isinstance(statement, Instruction):
                out.body.append(statement)
                row = {}
                continue
            operands = [_mapped(operand, final) for operand in statement.operands]
            guard = _at(final, statement.guard)
            made = Instruction(statement.opcode, operands, guard, statement.guard_negated, statement.pos)
            if id(statement) in self.same_value:
                destination, source = operands[0], operands[1]
                assert isinstance(destination, Register) and isinstance(source, Register)
                if destination is source or row.get(destination.id) is source:
                    continue
                row = {written: read for written, read in row.items() if read is not destination}
                row[destination.id] = source
                left.append(made)
            elif row:
                row = {}
            out.body.append(made)
        self.write_undefined(out, left)
        return out

    def name_registers(self, lowered: Function, out: Function) -> list[Register | None]:
        """One register per class, in the order of the source's registers; the first class of one gets its name."""
        roots = [self.find(index) for index in range(len(self.registers))]
        used = bytearray(len(self.registers))
        inside: list[Register] = []  # of addresses, vectors and the like
        for statement in lowered.body:
            if isinstance(statement, Instruction):
                for operand in statement.operands:
                    if isinstance(operand, Register):
                        used[roots[operand.id]] = 1
                    else:
                        collect_read(operand, inside)
                if statement.guard is not None:
                    used[roots[statement.guard.id]] = 1
        for register in inside:
            used[roots[register.id]] = 1
        for register_id in self.fixed:
            used[roots[register_id]] = 1
        source = self.ssa.source.registers
        claims: list[int] = [-1] * len(source)
        others: list[int] = []
        for register_id in self.fixed:
            claims[self.fixed[register_id].id] = roots[register_id]
        claimed = set(claims)
        for root in range(len(used)):
            if not used[root] or root in claimed:
                continue
            origin = self.origin[root]
            if origin >= 0 and claims[origin] < 0 and source[origin].type is self.registers[root].type:
                claims[origin] = root
            else:
                others.append(root)
        by_root: list[Register | None] = [None] * len(used)
        for origin, root in enumerate(claims):
            if root >= 0:
                register = Register(len(out.registers), source[origin].name, source[origin].type)
                out.registers.append(register)
                by_root[root] = register
        for root in others:
            by_root[root] = out.new_register(self.registers[root].type)
        return [by_root[root] for root in roots]

    def write_undefined(self, out: Function, left: list[Instruction]) -> None:
        """A copy must not be the first to read a register that nobody wrote: such a register starts as zero."""
        if not left or not self.ssa.undefined:
            return
        start = liveness(build_cfg(out)).live_in[0]
        parameters = {v.register.id for v in out.params if v.register is not None}
        zeroed: list[Statement] = []
        seen: set[int] = set()
        for instruction in left:
            for register in instruction.sources():
                if start >> register.id & 1 and register.id not in parameters and register.id not in seen:
                    seen.add(register.id)
                    if register.type.bits <= 64:
                        zeroed.append(Instruction(decode(_move(register.type)), [register, Immediate(0)]))
        out.body[:0] = zeroed


_MOVES: Final[dict[int, str]] = {1: "mov.pred", 16: "mov.b16", 32: "mov.b32", 64: "mov.b64", 128: "mov.b128"}


def _move(type: Type) -> str:
    return _MOVES[max(16, type.bits)] if type.kind != "p" else _MOVES[1]


def _at(table: list[Register | None], register: Register | None) -> Register | None:
    return None if register is None else table[register.id]


def _mapped(operand: Operand, table: list[Register | None]) -> Operand:
    """``operand`` with ``table[r.id]`` for every register ``r`` in it."""
    if isinstance(operand, Register):
        return _found(table, operand)
    if isinstance(operand, Address):
        return Address(_found(table, operand.base), operand.offset) if isinstance(operand.base, Register) else operand
    if isinstance(operand, Vector):
        return Vector([_mapped(e, table) for e in operand.elements])
    if isinstance(operand, Arguments):
        return Arguments([_mapped(e, table) for e in operand.elements])
    if isinstance(operand, Pair):
        return Pair(_mapped(operand.first, table), _mapped(operand.second, table))
    return Not(_found(table, operand.register)) if isinstance(operand, Not) else operand


def _found(table: list[Register | None], register: Register) -> Register:
    value = table[register.id]
    assert value is not None, "every register that is used has a place in the table"
    return value


def _shell(source: Function) -> Function:
    """A copy of ``source`` without parameters, results, registers and body."""
    out = Function(source.name, source.is_entry)
    out.linkage = source.linkage
    out.noreturn = source.noreturn
    out.attributes = source.attributes
    out.directives = list(source.directives)
    out.variables = list(source.variables)
    out.pos = source.pos
    return out


def _with_register(variable: Variable, register: Register | None) -> Variable:
    """``variable`` itself, or for a ``.reg`` one a copy that names ``register``."""
    if register is None:
        return variable
    out = Variable(variable.name, variable.space, variable.type, list(variable.shape), variable.align, variable.vector)
    out.linkage = variable.linkage
    out.attributes = variable.attributes
    out.is_pointer = variable.is_pointer
    out.pointer_space = variable.pointer_space
    out.pointer_align = variable.pointer_align
    out.pos = variable.pos
    out.register = register
    return out
