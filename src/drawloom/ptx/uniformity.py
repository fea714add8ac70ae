"""Which registers are the same for all threads of a block or warp, or affine in the lane: from a CFG to a class
per register.

The class of a register holds over all its definitions, for the threads that run a definition or a use together:

    UNIFORM_BLOCK  all threads of the block read the same value (at the same point of the same iteration)
    UNIFORM_WARP   all active lanes of a warp do
    AFFINE         value = base + stride * lane modulo 2^w, w the register's width, base uniform in the warp,
                   stride a known constant
    VARYING        nothing is known

Arithmetic on affine values is exact modulo 2^w only. Widening one (``cvt.s64.s32``, ``mul.wide``) is affine only
with a proof that no lane wraps around: a bound ``hi`` on the unsigned value with hi + 31*|stride| < 2^32 (and
hi < 2^31 for a signed widening). Without it the result is known modulo 2^32 only; its class is VARYING and
``likely_stride`` tells the stride that it has where no lane wrapped, to be checked at run time.

Threads that part at a branch and what that does to registers is in ``divergence.py``, with what is assumed about
where they meet again. The method is that of Karrenberg and Hack ("Improving Performance of OpenCL on CPUs",
2012), on registers instead of SSA values: an optimistic fixed point, everything uniform until shown otherwise.

What is taken as uniform: immediates, symbols, kernel parameters; ``.const`` and ``.nc`` loads like their address;
other weak loads at a uniform address in the warp only, because one access for all lanes is a legal execution of
it, while another warp may read later. ``.volatile`` and ordered loads, atomics, calls and ``.local`` memory
(another place for each thread) are varying, and so is the generic address of a local variable.
"""

from __future__ import annotations

from typing import Final

from mypy_extensions import mypyc_attr

from drawloom.ptx.cfg import Block, Cfg
from drawloom.ptx.divergence import Divergence
from drawloom.ptx.ir import (
    INT,
    Address,
    Immediate,
    Instruction,
    Not,
    Operand,
    Pair,
    Register,
    SpecialRegister,
    Symbol,
    Vector,
)
from drawloom.ptx.isa import ATOMIC, BRANCH, CALL, LOAD, PURE
from drawloom.ptx.launch_bounds import LARGEST_BLOCK
from drawloom.ptx.liveness import Liveness, Uses, bits, carry_lasts, liveness
from drawloom.ptx.loops import find_loops
from drawloom.ptx.specials import find_special
from drawloom.ptx.types import Type

UNDEFINED: Final = 0
UNIFORM_BLOCK: Final = 1
UNIFORM_WARP: Final = 2
AFFINE: Final = 3
VARYING: Final = 4

#: For messages and tests.
CLASS_NAMES: Final = ("undefined", "uniform in the block", "uniform in the warp", "affine", "varying")

WARP: Final = 32
_EXACT: Final = 1 << 30  # "known modulo 2^n" for every n: uniform values
_BOUND_UPDATES: Final = 8  # a bound that still grows after so many updates grows without end


class BlockShape:
    """What is known about the shape of the launched blocks.

    ``x``, ``y``, ``z`` are ``%ntid``, 0 where unknown. ``x_is_warps`` says that ``%ntid.x`` is a multiple of 32.
    With it, or with y = z = 1, lanes count along ``%tid.x``: a warp holds consecutive threads of the block, x
    fastest (PTX ISA 9.0 section 10.1 and 2.2.1).
    """

    def __init__(self, x: int = 0, y: int = 0, z: int = 0, x_is_warps: bool = False) -> None:
        self.x = x
        self.y = y
        self.z = z
        self.x_is_warps = x_is_warps or (x > 0 and x % WARP == 0)

    @property
    def lanes_along_x(self) -> bool:
        """Whether ``%tid.x`` is affine with stride 1, and ``%tid.y``, ``%tid.z`` are uniform in a warp."""
        return self.x_is_warps or (self.y == 1 and self.z == 1)

    def extent(self, component: int) -> int:
        """``%ntid`` of a component if known, else 0."""
        if component == 0:
            return self.x
        return self.y if component == 1 else self.z


@mypyc_attr(acyclic=True)
class Value:
    """What is known about a value: its class, the stride, the number of low bits for which that is exact
    (``modulus``; _EXACT for uniform values), and a bound on its unsigned value (-1: none)."""

    def __init__(self, kind: int, stride: int = 0, modulus: int = _EXACT, bound: int = -1) -> None:
        self.kind = kind
        self.stride = stride
        self.modulus = modulus
        self.bound = bound


_UNDEFINED_VALUE: Final = Value(UNDEFINED)
_BLOCK_VALUE: Final = Value(UNIFORM_BLOCK)
_WARP_VALUE: Final = Value(UNIFORM_WARP)
_VARYING_VALUE: Final = Value(VARYING)


class Branches:
    """The class of every branch of a function."""

    def __init__(self, branches: list[int]) -> None:
        self._branches = branches

    def is_divergent(self, block_id: int) -> bool:
        """Whether active lanes of one warp may part at the end of a block."""
        return self._branches[block_id] > UNIFORM_WARP


class Uniformity(Branches):
    """The result of ``uniformity``."""

    def __init__(self, cfg: Cfg, values: list[Value], branches: list[int]) -> None:
        super().__init__(branches)
        self.cfg = cfg
        self._values = values

    def kind(self, register_id: int) -> int:
        """The class of a register. One that is never written in reachable code is ``UNIFORM_BLOCK``."""
        value = self._values[register_id]
        if value.kind == AFFINE and value.modulus < self.cfg.function.registers[register_id].type.bits:
            return VARYING
        return max(value.kind, UNIFORM_BLOCK)

    def is_uniform(self, register_id: int) -> bool:
        """Whether all active lanes of a warp read the same value."""
        return self.kind(register_id) <= UNIFORM_WARP

    def stride(self, register_id: int) -> int:
        """The stride of an affine register, signed; 0 for a uniform one. Raises ``ValueError`` for a varying one."""
        if self.kind(register_id) == VARYING:
            raise ValueError(f"{self.cfg.function.registers[register_id].name} is varying")
        return self._values[register_id].stride

    def likely_stride(self, register_id: int) -> int | None:
        """The stride of an affine register, or of a varying one that is affine but for lanes that wrapped around
        in a narrower register: to be checked at run time. None for others."""
        value = self._values[register_id]
        return value.stride if value.kind == AFFINE else None

    def branch(self, block_id: int) -> int:
        """The class of the condition at the end of a block: its guard, or the selector of a ``brx.idx``.

        ``UNIFORM_BLOCK`` without a condition. Guarded ``ret``, ``exit`` and ``trap`` have one too. ``.uni`` makes
        it ``UNIFORM_WARP`` at most, as the program promises.
        """
        return self._branches[block_id]


def uniformity(cfg: Cfg, shape: BlockShape | None = None, live: Liveness | None = None) -> Uniformity:
    """The class of every register of ``cfg.function`` and of every branch.

    ``shape`` is what is known about the blocks of a launch (nothing by default); ``live`` the liveness, if at hand.
    """
    live = liveness(cfg) if live is None else live
    analysis = _Analysis(cfg, BlockShape() if shape is None else shape, live)
    analysis.everything()
    analysis.solve()
    return Uniformity(cfg, analysis.values, analysis.branches)


def branches(cfg: Cfg, live: Liveness) -> Branches:
    """Which branches of ``cfg`` are divergent in ``uniformity``, found from what their conditions depend on alone."""
    analysis = _Analysis(cfg, BlockShape(), live)
    if analysis.conditions():
        analysis.solve()
        while analysis.part():
            analysis.solve()
    return Branches(analysis.branches)


def is_conditional(block: Block) -> bool:
    """Whether the block ends in an instruction on whose operands it depends where control goes."""
    terminator = block.terminator
    if terminator is None:
        return False
    return terminator.guard is not None or (terminator.opcode.effect == BRANCH and len(terminator.operands) > 1)


class _Slice:
    """What some instructions depend on: `matters` says of every register (the carry flag behind them) whether its class
    does, `instructions` are those that write such registers, as far as there is an order each after its sources."""

    def __init__(self, uses: Uses) -> None:
        self.uses = uses
        self.carry = len(uses.reads)
        self.matters = [False] * (self.carry + 1)
        self.instructions: list[Instruction] = []
        self.stack: list[int] = []

    def follow(self, instruction: Instruction) -> None:
        """Add what an instruction depends on."""
        matters, stack, instructions = self.matters, self.stack, self.instructions
        definition, others = self.uses.definition, self.uses.others
        self.add_sources(instruction)
        while stack:
            register_id = stack.pop()
            if register_id >= 0:
                if matters[register_id]:
                    continue
                matters[register_id] = True
                stack.append(-1 - register_id)
                first = definition[register_id]
                if first is not None:
                    self.add_result(first)
                    more = others.get(register_id)
                    if more is not None:
                        for writer in more:
                            self.add_result(writer)
                continue
            register_id = -1 - register_id  # all that it depends on has been added
            first = definition[register_id]
            if first is not None:
                instructions.append(first)
                more = others.get(register_id)
                if more is not None:
                    instructions += more

    def add_result(self, instruction: Instruction) -> None:
        """Look at what the result of an instruction depends on next."""
        effect = instruction.opcode.effect
        if effect != ATOMIC and effect != CALL:
            self.add_sources(instruction)

    def add_sources(self, instruction: Instruction) -> None:
        """Look at what an instruction reads next."""
        for register in instruction.sources():
            if not self.matters[register.id]:
                self.stack.append(register.id)
        if instruction.opcode.reads_carry and not self.matters[self.carry]:
            self.stack.append(self.carry)


class _Analysis:
    """The fixed point. The carry flag is one more register behind the others."""

    def __init__(self, cfg: Cfg, shape: BlockShape, live: Liveness) -> None:
        function = cfg.function
        self.cfg = cfg
        self.shape = shape
        self.live = live
        self.divergence: Divergence | None = None  # made for the first branch that matters
        count = len(function.registers)
        self.carry = count
        #: Whether the carry flag may differ behind a branch; None: not asked yet.
        self.carry_parts: bool | None = None
        self.values: list[Value] = [_UNDEFINED_VALUE] * (count + 1)
        self.updates = [0] * (count + 1)
        #: The class that branches force on a register.
        self.forced = [UNDEFINED] * (count + 1)
        #: The instructions of each block to visit; the registers that matter, as places in `live`.
        self.instructions: list[list[Instruction]] = []
        self.asked_places = 0
        #: Whether nothing but conditions matters, and for them only what differs in a warp; then the divergent branches
        #: whose effects are not known yet.
        self.only_conditions = False
        self.waiting: list[int] = []
        self.branches = [UNIFORM_BLOCK] * len(cfg.blocks)
        self.is_entry = function.is_entry
        self.params = frozenset([v.name for v in function.params])
        self.has_param_locals = any(v.space == "param" for v in function.variables)
        # A register that may be read before it is written holds something, which is taken to be uniform.
        for register_id in live.ids(live.into[0]):
            self.values[register_id] = _BLOCK_VALUE
        for variable in function.params:
            if variable.register is not None:
                self.values[variable.register.id] = _VARYING_VALUE
        #: Registers whose values were asked for in this round; whether one of them has changed since.
        self.asked = [False] * (count + 1)
        self.changed = False

    def everything(self) -> None:
        """Ask for the class of every register."""
        self.instructions = [block.instructions for block in self.cfg.blocks]
        self.asked_places = (1 << len(self.live.crossing)) - 1

    def conditions(self) -> bool:
        """Ask for what conditions of branches depend on, as far as divergence goes; False if there is none."""
        conditional = [block for block in self.reachable() if is_conditional(block)]
        if not conditional:
            return False
        self.only_conditions = True
        self.instructions = [[] for _ in self.cfg.blocks]
        self.depended_on(conditional)
        return True

    def reachable(self) -> list[Block]:
        """The blocks in reverse postorder."""
        return [self.cfg.blocks[b] for b in self.cfg.rpo]

    def depended_on(self, blocks: list[Block]) -> _Slice:
        """What the conditions at the ends of some blocks depend on; from now on nothing else is visited."""
        found = _Slice(self.live.uses)
        for block in blocks:
            if block.terminator is not None:
                found.follow(block.terminator)
        self.instructions[0] = found.instructions
        return found

    def part(self) -> bool:
        """Let registers differ behind the branches that were found to be divergent since, as far as others may be so
        for it; whether that makes a difference."""
        waiting, self.waiting = self.waiting, []
        if waiting and self.divergence is None:
            self.asked_places = self.open_places()
        self.changed = False
        if self.asked_places:
            for block_id in waiting:
                self.force(self.cfg.blocks[block_id])
        return self.changed

    def open_places(self) -> int:
        """The places of the registers on which it depends whether the other branches are divergent."""
        crossing, uses = self.live.crossing, self.live.uses
        open = [b for b in self.reachable() if is_conditional(b) and self.branches[b.id] <= UNIFORM_WARP]
        matters = self.depended_on(open).matters
        if not find_loops(self.cfg).cycles:
            # Without cycles no branch lets a register differ that is written once, before all that reads it.
            settled = [definition is not None for definition in uses.definition]
            for register_id in uses.unsettled:
                settled[register_id] = False
            for register_id in self.live.ids(self.live.into[0]):
                settled[register_id] = False
            return bits([place for place, id in enumerate(crossing) if matters[id] and not settled[id]])
        return bits([place for place, id in enumerate(crossing) if matters[id]])

    def solve(self) -> None:
        self.changed = True
        while self.changed:
            self.changed = False
            self.asked = [False] * len(self.asked)
            for block_id in self.cfg.rpo:
                for instruction in self.instructions[block_id]:
                    self.visit(instruction)
                self.visit_branch(self.cfg.blocks[block_id])

    def visit_branch(self, block: Block) -> None:
        terminator = block.terminator
        if terminator is None:
            return
        kind = UNIFORM_BLOCK
        if terminator.guard is not None:
            kind = self.of_register(terminator.guard.id).kind
        if terminator.opcode.effect == BRANCH and terminator.opcode.name == "brx.idx":
            kind = max(kind, self.operand(terminator.operands[0]).kind)
        if kind > UNIFORM_WARP:
            kind = UNIFORM_WARP if terminator.opcode.uni else VARYING
        if kind <= self.branches[block.id]:
            return
        self.branches[block.id] = kind
        if len(block.succs) < 2:
            return
        if not self.only_conditions:
            self.force(block)
        elif kind > UNIFORM_WARP:
            self.waiting.append(block.id)

    def force(self, block: Block) -> None:
        """Let registers differ behind a branch, as its class says."""
        if not self.asked_places or (self.only_conditions and self.ends_apart(block)):
            return
        kind = self.branches[block.id]
        if self.divergence is None:
            self.divergence = Divergence(self.cfg, self.live, self.asked_places)
        for register_id in self.live.ids(self.divergence.differing(block.id)):
            if kind > self.forced[register_id]:
                self.forced[register_id] = kind
            if self.values[register_id].kind != UNDEFINED:
                self.update(register_id, self.values[register_id])

    def ends_apart(self, block: Block) -> bool:
        """Whether one of two sides leaves the function at once, with nothing that matters: the usual guard of a kernel,
        behind which nothing differs."""
        live, asked = self.live, self.asked_places
        if len(block.succs) != 2 or find_loops(self.cfg).irreducible_regions:
            return False
        for side in block.succs:
            if not self.cfg.blocks[side].succs and not (live.into[side] | live.written[side]) & asked:
                return True
        return False

    def visit(self, instruction: Instruction) -> None:
        opcode = instruction.opcode
        if opcode.writes_carry:
            self.define_carry(instruction)
        if not opcode.has_destination:
            return
        destination = instruction.operands[0]
        if isinstance(destination, Register) and self.values[destination.id].kind == VARYING:
            return
        guard = UNDEFINED if instruction.guard is None else self.of_register(instruction.guard.id).kind
        if guard > UNIFORM_WARP:
            for register in instruction.destinations():
                self.update(register.id, _VARYING_VALUE)
            return
        self.assign(instruction, destination, guard)

    def define_carry(self, instruction: Instruction) -> None:
        if self.carry_parts is None:
            self.carry_parts = carry_lasts(self.cfg)
        kind = VARYING if self.carry_parts else self.join_kinds(instruction)
        if instruction.guard is not None:
            kind = max(kind, self.of_register(instruction.guard.id).kind)
        self.update(self.carry, _of_kind(VARYING if kind > UNIFORM_WARP else kind))

    def assign(self, instruction: Instruction, destination: Operand, guard: int) -> None:
        if isinstance(destination, Pair):
            first, second = self.pair(instruction)
            self.store(destination.first, first, guard)
            self.store(destination.second, second, guard)
            return
        if isinstance(destination, Vector) and len(instruction.operands) > 1:
            source = instruction.operands[1]
            if isinstance(source, SpecialRegister):
                for index, element in enumerate(destination.elements):
                    self.store(element, self.special(f"{source.name}.{'xyzw'[index & 3]}"), guard)
                return
            value = self.evaluate(instruction)
            if value.kind == AFFINE:
                value = _VARYING_VALUE  # pieces of an affine value
            for element in destination.elements:
                self.store(element, _of_kind(value.kind), guard)
            return
        if isinstance(destination, Register):
            self.store(destination, self.evaluate(instruction), guard)
            return
        value = self.evaluate(instruction)
        for register in instruction.destinations():
            self.store(register, _of_kind(VARYING if value.kind == AFFINE else value.kind), guard)

    def store(self, destination: Operand, value: Value, guard: int) -> None:
        if not isinstance(destination, Register):
            return
        if guard == UNIFORM_WARP and value.kind == UNIFORM_BLOCK:
            value = Value(UNIFORM_WARP, 0, _EXACT, value.bound)
        self.update(destination.id, value)

    def update(self, register_id: int, value: Value) -> None:
        """Joins ``value`` into a register, with what branches force on it."""
        if value.kind == UNDEFINED:
            return
        old = self.values[register_id]
        new = _join(old, value)
        if self.forced[register_id] == VARYING:
            new = _VARYING_VALUE
        elif new.kind == UNIFORM_BLOCK and self.forced[register_id] == UNIFORM_WARP:
            new = Value(UNIFORM_WARP, 0, _EXACT, new.bound)
        if new.kind == old.kind and new.modulus == old.modulus and new.stride == old.stride and new.bound == old.bound:
            return
        self.updates[register_id] += 1
        if self.updates[register_id] > _BOUND_UPDATES and new.bound >= 0:
            new = Value(new.kind, new.stride, new.modulus, -1)
            if new.kind == old.kind and new.modulus == old.modulus and old.bound < 0:
                return
        self.values[register_id] = new
        if self.asked[register_id]:
            self.changed = True

    # The values of operands.

    def of_register(self, register_id: int) -> Value:
        self.asked[register_id] = True
        return self.values[register_id]

    def operand(self, operand: Operand) -> Value:
        if isinstance(operand, Register):
            return self.of_register(operand.id)
        if isinstance(operand, Immediate):
            if operand.kind == INT and operand.value >= 0:
                return Value(UNIFORM_BLOCK, 0, _EXACT, operand.value)
            return _BLOCK_VALUE
        if isinstance(operand, SpecialRegister):
            return self.special(operand.name)
        if isinstance(operand, Not):
            return self.of_register(operand.register.id)
        if isinstance(operand, Address):
            return _BLOCK_VALUE if operand.base is None else self.operand(operand.base)
        if isinstance(operand, Vector):
            kind = UNIFORM_BLOCK
            for element in operand.elements:
                found = self.operand(element).kind
                if found == UNDEFINED:
                    return _UNDEFINED_VALUE
                kind = max(kind, found)
            return _of_kind(VARYING if kind == AFFINE else kind)
        return _BLOCK_VALUE

    def special(self, name: str) -> Value:
        base, _, component = name.partition(".")
        place = "xyzw".find(component) if component else -1
        if component and place < 0:
            place = "rgba".find(component)
        if base in ("%tid", "%ntid") and place >= 0:
            return self.thread_index(place) if base == "%tid" else self.extent(place)
        if base == "%laneid":
            return Value(AFFINE, 1, 32, WARP - 1)
        special = find_special(base)
        if special is None or special.uniformity == "lane" or special.uniformity == "warp":
            return _WARP_VALUE if special is not None and special.uniformity == "warp" else _VARYING_VALUE
        return _WARP_VALUE if special.volatile else _BLOCK_VALUE

    def thread_index(self, component: int) -> Value:
        if component > 2 or self.shape.extent(component) == 1:
            return Value(UNIFORM_BLOCK, 0, _EXACT, 0)
        extent = self.shape.extent(component)
        bound = (extent if extent > 0 else LARGEST_BLOCK[component]) - 1
        if not self.shape.lanes_along_x:
            return _VARYING_VALUE
        if component == 0:
            return Value(AFFINE, 1, 32, bound)
        return Value(UNIFORM_WARP, 0, _EXACT, bound)

    def extent(self, component: int) -> Value:
        if component > 2:
            return Value(UNIFORM_BLOCK, 0, _EXACT, 0)
        extent = self.shape.extent(component)
        return Value(UNIFORM_BLOCK, 0, _EXACT, extent if extent > 0 else LARGEST_BLOCK[component])

    def join_kinds(self, instruction: Instruction) -> int:
        """The worst class among all sources; UNDEFINED if one of them is not known yet."""
        kind = UNIFORM_BLOCK
        operands = instruction.operands
        for index in range(1 if instruction.opcode.has_destination else 0, len(operands)):
            operand = operands[index]
            if isinstance(operand, Immediate):
                continue
            found = self.operand(operand).kind
            if found == UNDEFINED:
                return UNDEFINED
            if found > kind:
                kind = found
        if instruction.opcode.reads_carry:
            kind = max(kind, self.of_register(self.carry).kind)
        return kind

    # The values of results.

    def pair(self, instruction: Instruction) -> tuple[Value, Value]:
        """The two results of ``setp``, ``shfl``, ``match`` or ``elect``."""
        name = instruction.opcode.name
        value = self.evaluate(instruction)
        if name == "shfl" and not _is_broadcast(self, instruction):
            return value, _VARYING_VALUE if self.join_kinds(instruction) != UNDEFINED else _UNDEFINED_VALUE
        if name == "elect":
            return value, _VARYING_VALUE
        return value, _of_kind(value.kind)

    def evaluate(self, instruction: Instruction) -> Value:
        opcode = instruction.opcode
        effect = opcode.effect
        if effect == LOAD:
            return self.load(instruction)
        if effect in (ATOMIC, CALL):
            return _VARYING_VALUE
        kind = self.join_kinds(instruction)
        if kind == UNDEFINED:
            return _UNDEFINED_VALUE
        if effect != PURE:
            return self.warp_operation(instruction, kind)
        if opcode.name == "cvta" and opcode.space == "local":
            return _VARYING_VALUE
        if kind == VARYING:
            return _VARYING_VALUE
        handler = _HANDLERS.get(opcode.name, _OTHER)
        operands = instruction.operands
        if handler != _OTHER and opcode.type is not None and not opcode.type.is_float and opcode.type.lanes == 1:
            found = self.arithmetic(instruction, handler, operands, kind, opcode.type)
            if found is not None:
                return found
        return _of_kind(VARYING if kind == AFFINE else kind)

    def load(self, instruction: Instruction) -> Value:
        opcode = instruction.opcode
        address = instruction.operands[1]
        found = self.operand(address)
        if found.kind == UNDEFINED:
            return _UNDEFINED_VALUE
        if found.kind > UNIFORM_WARP or opcode.space == "local":
            return _VARYING_VALUE
        if opcode.space == "param":
            base = address.base if isinstance(address, Address) else None
            is_parameter = base.name in self.params if isinstance(base, Symbol) else not self.has_param_locals
            return _of_kind(found.kind) if self.is_entry and is_parameter else _VARYING_VALUE
        bound = -1
        if opcode.type is not None and opcode.type.kind != "s" and opcode.type.bits < 32:
            bound = (1 << opcode.type.bits) - 1
        if opcode.space == "const" or opcode.nc:
            return Value(found.kind, 0, _EXACT, bound)
        return Value(UNIFORM_WARP, 0, _EXACT, bound) if opcode.weak else _VARYING_VALUE

    def warp_operation(self, instruction: Instruction, kind: int) -> Value:
        """``bar.red`` and the operations between lanes (PTX ISA 9.0 section 9.7.13), for converged lanes."""
        name = instruction.opcode.name
        operands = instruction.operands
        if name in ("bar", "barrier"):
            whole = len(operands) == 3 and isinstance(operands[1], Immediate)
            return _BLOCK_VALUE if whole else _WARP_VALUE
        if name == "activemask":
            return _WARP_VALUE
        if name in ("vote", "redux", "match", "elect"):
            has_mask = instruction.opcode.sync
            if has_mask and self.operand(operands[-1]).kind > UNIFORM_WARP:
                return _VARYING_VALUE
            return _VARYING_VALUE if name == "match" and instruction.opcode.operation == "any" else _WARP_VALUE
        if name == "shfl":
            source = self.operand(operands[1]).kind
            if source <= UNIFORM_WARP:
                return _of_kind(source)
            return _WARP_VALUE if _is_broadcast(self, instruction) else _VARYING_VALUE
        return _VARYING_VALUE

    def arithmetic(
        self, instruction: Instruction, handler: int, operands: list[Operand], kind: int, type: Type
    ) -> Value | None:
        """The rules that keep strides and bounds; None for the general rule."""
        opcode = instruction.opcode
        bits = type.bits
        if opcode.writes_carry or opcode.reads_carry or opcode.sat:
            return None
        a = self.operand(operands[1])
        if handler == _MOV:
            if isinstance(operands[1], Vector):
                return None
            return _narrowed(a, bits)
        if handler == _CVT:
            return _converted(a, opcode.types[1], bits) if len(opcode.types) == 2 else None
        if handler == _CVTA:
            return Value(a.kind, a.stride, min(a.modulus, bits) if a.kind == AFFINE else _EXACT)
        if handler == _NEG:
            return _linear(a, -1, kind, bits)
        b = self.operand(operands[2])
        if handler == _ADD:
            return _sum(a, b, kind, bits)
        if handler == _SUB:
            return _sum(a, _linear(b, -1, b.kind, bits), kind, bits)
        if handler == _SHL:
            shift = _constant(operands[2])
            return None if shift < 0 or shift >= bits else _linear(a, 1 << shift, kind, bits)
        if handler == _SELP:
            chosen = self.operand(operands[3])
            both = _join(a, b)
            if chosen.kind > UNIFORM_WARP or both.kind == VARYING:
                return None
            return Value(
                max(both.kind, chosen.kind) if both.kind != AFFINE else AFFINE, both.stride, both.modulus, both.bound
            )
        if handler in (_MUL, _MAD):
            product = _product(instruction, a, b, max(a.kind, b.kind), bits)
            if product is None or handler == _MUL:
                return product
            width = bits * 2 if opcode.half == "wide" else bits
            return _sum(product, self.operand(operands[3]), kind, width)
        return _bounded(handler, a, b, operands, kind)


_OTHER: Final = 0
_MOV: Final = 1
_CVT: Final = 2
_CVTA: Final = 3
_NEG: Final = 4
_ADD: Final = 5
_SUB: Final = 6
_SHL: Final = 7
_SELP: Final = 8
_MUL: Final = 9
_MAD: Final = 10
_AND: Final = 11
_SHR: Final = 12
_REM: Final = 13

_HANDLERS: Final[dict[str, int]] = {
    "mov": _MOV, "cvt": _CVT, "cvta": _CVTA, "neg": _NEG, "add": _ADD, "sub": _SUB, "shl": _SHL, "selp": _SELP,
    "mul": _MUL, "mad": _MAD, "and": _AND, "shr": _SHR, "rem": _REM,
}  # fmt: skip


def _of_kind(kind: int) -> Value:
    if kind == UNIFORM_BLOCK:
        return _BLOCK_VALUE
    if kind == UNIFORM_WARP:
        return _WARP_VALUE
    return _UNDEFINED_VALUE if kind == UNDEFINED else _VARYING_VALUE


def _join(a: Value, b: Value) -> Value:
    """What holds for a register that is defined as ``a`` in one place and as ``b`` in another."""
    if a.kind == UNDEFINED:
        return b
    if b.kind == UNDEFINED:
        return a
    if a.kind == VARYING or b.kind == VARYING or (a.kind == AFFINE) != (b.kind == AFFINE) or a.stride != b.stride:
        return _VARYING_VALUE
    bound = max(a.bound, b.bound) if a.bound >= 0 and b.bound >= 0 else -1
    return Value(max(a.kind, b.kind), a.stride, min(a.modulus, b.modulus), bound)


def _constant(operand: Operand) -> int:
    """The value of a non-negative integer literal, else -1."""
    return operand.value if isinstance(operand, Immediate) and operand.kind == INT and operand.value >= 0 else -1


def _signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def _made(kind: int, stride: int, modulus: int, bound: int, bits: int) -> Value:
    """A value of ``bits`` bits, brought into normal form: a stride of 0 is uniform, if it is exact."""
    if bound >> bits:
        bound = -1
    if kind != AFFINE:
        return Value(kind, 0, _EXACT, bound)
    modulus = min(modulus, bits)
    stride = _signed(stride, bits)
    if stride == 0:
        return Value(UNIFORM_WARP, 0, _EXACT, bound) if modulus >= bits else _VARYING_VALUE
    return Value(AFFINE, stride, modulus, bound)


def _narrowed(a: Value, bits: int) -> Value:
    """The low ``bits`` of a value."""
    bound = a.bound if 0 <= a.bound < 1 << bits else -1
    return _made(a.kind, a.stride, a.modulus, bound, bits)


def _sum(a: Value, b: Value, kind: int, bits: int) -> Value:
    """a + b modulo 2^bits."""
    if a.kind == UNDEFINED or b.kind == UNDEFINED:
        return _UNDEFINED_VALUE
    if a.kind == VARYING or b.kind == VARYING:
        return _VARYING_VALUE
    bound = a.bound + b.bound if a.bound >= 0 and b.bound >= 0 else -1
    return _made(kind, a.stride + b.stride, min(a.modulus, b.modulus), bound, bits)


def _linear(a: Value, factor: int, kind: int, bits: int) -> Value:
    """a * factor modulo 2^bits. Multiplying by 2^n makes n more low bits exact."""
    if a.kind == VARYING or a.kind == UNDEFINED:
        return _of_kind(a.kind)
    if factor == 0:
        return Value(UNIFORM_BLOCK, 0, _EXACT, 0)
    zeros = (factor & -factor).bit_length() - 1
    bound = a.bound * factor if a.bound >= 0 and factor > 0 else -1
    return _made(kind, a.stride * factor, a.modulus + zeros, bound, bits)


def _widened(a: Value, from_bits: int, to_bits: int, is_signed: bool) -> Value:
    """The low ``from_bits`` of ``a``, sign or zero extended: see the top of this file for the proof."""
    if a.kind != AFFINE:
        bound = a.bound if 0 <= a.bound < 1 << (from_bits - 1 if is_signed else from_bits) else -1
        return Value(a.kind, 0, _EXACT, bound)
    stride = _signed(a.stride, from_bits)
    limit = 1 << (from_bits - 1 if is_signed else from_bits)
    if a.modulus >= from_bits and 0 <= a.bound < limit and a.bound + (WARP - 1) * abs(stride) < 1 << from_bits:
        return _made(AFFINE, stride, to_bits, a.bound, to_bits)
    return _made(AFFINE, stride, min(a.modulus, from_bits), -1, to_bits)


def _converted(a: Value, source: Type, bits: int) -> Value | None:
    """``cvt`` between integers."""
    if not source.is_integer:
        return None
    if bits <= source.bits:
        if bits >= 32:
            return _narrowed(a, bits)
        # The register may be wider than the type, and then holds the extended value.
        bound = a.bound if 0 <= a.bound < 1 << (bits - 1) else -1
        return None if a.kind == AFFINE else Value(a.kind, 0, _EXACT, bound)
    return _widened(a, source.bits, bits, source.is_signed)


def _product(instruction: Instruction, a: Value, b: Value, kind: int, bits: int) -> Value | None:
    """``mul.lo`` and ``mul.wide``: exact when one factor is a constant, or both are uniform."""
    opcode = instruction.opcode
    if opcode.half == "hi" or opcode.half == "":
        return None
    if a.kind == UNDEFINED or b.kind == UNDEFINED:
        return _UNDEFINED_VALUE
    factor = instruction.operands[2]
    value = a
    if isinstance(instruction.operands[1], Immediate):
        factor = instruction.operands[1]
        value = b
    if not isinstance(factor, Immediate) or factor.kind != INT:
        if kind >= AFFINE:
            return None
        width = bits
        if opcode.half == "wide" and opcode.type is not None:
            width = bits * 2
            a = _widened(a, bits, width, opcode.type.is_signed)
            b = _widened(b, bits, width, opcode.type.is_signed)
        bound = a.bound * b.bound if a.bound >= 0 and b.bound >= 0 else -1
        return _made(kind, 0, _EXACT, bound, width)
    if opcode.half == "lo" or opcode.type is None:
        return _linear(value, factor.value, kind, bits)
    extended = _signed(factor.value, bits) if opcode.type.is_signed else factor.value & ((1 << bits) - 1)
    return _linear(_widened(value, bits, bits * 2, opcode.type.is_signed), extended, kind, bits * 2)


def _bounded(handler: int, a: Value, b: Value, operands: list[Operand], kind: int) -> Value | None:
    """``and``, ``shr`` and ``rem`` by a constant: uniform as usual, with a bound."""
    if kind >= AFFINE:
        return None
    constant = _constant(operands[2])
    bound = -1
    if handler == _AND:
        bound = min(a.bound, b.bound) if a.bound >= 0 and b.bound >= 0 else max(a.bound, b.bound)
    elif handler == _SHR and a.bound >= 0 and 0 <= constant < 31 and a.bound < 1 << 15:
        bound = a.bound >> constant
    elif handler == _REM and constant > 0 and 0 <= a.bound < 1 << 15:
        bound = constant - 1
    return Value(kind, 0, _EXACT, bound)


def _is_broadcast(analysis: _Analysis, instruction: Instruction) -> bool:
    """``shfl.idx`` from one lane to all: the lane is uniform, and the segment is the whole warp (c = 31)."""
    operands = instruction.operands
    if instruction.opcode.operation != "idx" or len(operands) < 4 or _constant(operands[3]) != WARP - 1:
        return False
    mask_is_uniform = len(operands) < 5 or analysis.operand(operands[4]).kind <= UNIFORM_WARP
    return mask_is_uniform and analysis.operand(operands[2]).kind <= UNIFORM_WARP
