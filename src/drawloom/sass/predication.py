"""Function to Function: the sides of a short branch become instructions under its guard (thesis section 5.3.4).

        setp.lt.s32 %p, %a, %b;               setp.lt.s32 %p, %a, %b;
    @%p bra other;                            mul.lo.s32  %t, %a, %a;      -- nobody else reads %t
        mul.lo.s32  %t, %a, %a;       ->  @!%p add.s32    %r, %t, 1;
        add.s32     %r, %t, 1;            @%p mov.b32     %r, 0;
        bra end;
    other:
        mov.b32     %r, 0;
    end:

Lanes that part have to be gathered again, which costs more than the few instructions that they skip. What only computes
a value for its own side is done by all lanes: it stays an ordinary definition, of which addresses and operands can be
folded. Memory is accessed, and what lives on is written, under the guard.
"""

from __future__ import annotations

from typing import Final

from drawloom.ptx.ir import (
    BranchTargets,
    Function,
    Instruction,
    Label,
    LabelRef,
    Register,
    SpecialRegister,
    Statement,
    collect_read,
)
from drawloom.ptx.isa import Opcode
from drawloom.ptx.template import copy_function

#: The most that a side may cost, in instructions of the machine: what the thesis found by experiment.
MOST: Final[dict[int, int]] = {61: 6, 75: 6, 80: 6, 86: 6, 89: 6, 90: 6}
#: Opcodes that compute and do nothing else.
PURE: Final = frozenset(
    "mov add sub mul mad fma neg abs min max and or xor not cnot shl shr shf lop3 prmt bfi bfe setp set selp slct cvt"
    " cvta popc clz brev bfind sad isspacep copysign testp dp2a dp4a mul24 mad24"
    " rcp rsqrt sqrt lg2 ex2 sin cos tanh".split()
)
#: Opcodes that access memory in few instructions.
ACCESS: Final = frozenset("ld st atom red".split())
#: Products of 32 and of 64 bits in instructions: sm_61 has to put them together from 16 bits.
PRODUCT: Final = {True: (1, 4), False: (3, 10)}
#: What opcodes cost, by the same.
_costs: Final[dict[bool, dict[Opcode, int]]] = {True: {}, False: {}}
#: Special registers that are another thing each time they are read.
_CLOCKS: Final = ("%clock", "%globaltimer")


class Predicated:
    """`function` without its short branches; `begun` are the ids of its registers that live in one side only, so that
    a write begins their life although it is under a guard."""

    def __init__(self, function: Function, begun: set[int]) -> None:
        self.function = function
        self.begun = begun


def predicate(function: Function, number: int) -> Predicated:
    """A function as code for sm_``number`` has it; itself where it has no short branch."""
    body = function.body
    most = MOST[number]
    found: list[_Branch] = []
    end = 0
    for place, statement in enumerate(body):
        if place >= end and isinstance(statement, Instruction) and statement.guard is not None:
            if statement.opcode.name == "bra":
                branch = _Branch(body, place, number, most)
                if branch.behind:
                    found.append(branch)
                    end = branch.behind
    return _Rewriter(function, found).run() if found else Predicated(function, set())


class _Branch:
    """A branch under a guard. Its sides are the statements `skipped`, of lanes that do not take it, and `taken`;
    `behind` is the place of the label where both meet, 0 if its sides are not short."""

    def __init__(self, body: list[Statement], place: int, number: int, most: int) -> None:
        self.body = body
        self.place = place
        self.number = number
        branch = body[place]
        assert isinstance(branch, Instruction) and branch.guard is not None
        self.guard: Register = branch.guard
        self.negated = branch.guard_negated
        target = branch.operands[0]
        assert isinstance(target, LabelRef)
        self.target = target.name
        #: The label that the skipped side jumps to, where it does.
        self.join = ""
        self.taken: list[Statement] = []
        self.behind = 0
        self.skipped, end = self.side(place + 1, most)
        last = body[end] if end < len(body) else None
        if isinstance(last, Label) and last.name == self.target:
            self.behind = end
        elif isinstance(last, Instruction) and last.opcode.name == "bra" and last.guard is None:
            join = last.operands[0]
            label = body[end + 1] if end + 1 < len(body) else None
            if isinstance(join, LabelRef) and isinstance(label, Label) and label.name == self.target:
                self.taken, end = self.side(end + 2, most)
                last = body[end] if end < len(body) else None
                if isinstance(last, Label) and last.name == join.name:
                    self.join = join.name
                    self.behind = end
        if not any(isinstance(s, Instruction) for s in (*self.skipped, *self.taken)):
            self.behind = 0

    def side(self, place: int, most: int) -> tuple[list[Statement], int]:
        """Statements from ``place`` on that can stand under a guard, and the place of the first one that cannot."""
        side: list[Statement] = []
        cost = 0
        while place < len(self.body):
            statement = self.body[place]
            if isinstance(statement, (Label, BranchTargets)):
                break
            if isinstance(statement, Instruction):
                if statement.guard is not None or not is_simple(statement, self.guard):
                    break
                cost += cost_of(statement.opcode, self.number)
                if cost > most:
                    break
            side.append(statement)
            place += 1
        return side, place


def is_simple(instruction: Instruction, guard: Register) -> bool:
    """Whether an instruction may stand under ``guard``."""
    opcode = instruction.opcode
    if (opcode.name not in PURE and opcode.name not in ACCESS) or opcode.reads_carry or opcode.writes_carry:
        return False
    for operand in instruction.operands:
        if isinstance(operand, SpecialRegister) and operand.name.startswith(_CLOCKS):
            return False
    return all(register.id != guard.id for register in instruction.destinations())


def cost_of(opcode: Opcode, number: int) -> int:
    """About how many instructions of the machine an opcode becomes."""
    costs = _costs[number >= 75]
    found = costs.get(opcode)
    if found is None:
        found = costs[opcode] = _cost(opcode, number)
    return found


def _cost(opcode: Opcode, number: int) -> int:
    bits = max([type.bits for type in opcode.types], default=32)
    is_float = bool(opcode.types) and opcode.types[0].is_float
    if opcode.name in ACCESS or is_float:
        return 1
    if opcode.name in ("mul", "mad"):
        narrow, wide = PRODUCT[number >= 75]
        return wide if bits > 32 else narrow
    return 2 if bits > 32 else 1


class _Rewriter:
    """A copy of a function, its short branches taken away."""

    def __init__(self, function: Function, found: list[_Branch]) -> None:
        self.original = function
        self.found = found
        self.accesses = [0] * len(function.registers)
        self.labels: dict[str, int] = {}
        for statement in function.body:
            if isinstance(statement, BranchTargets):
                for name in statement.labels:
                    self.labels[name] = self.labels.get(name, 0) + 1
            elif isinstance(statement, Instruction):
                self.count(statement)
        self.begun: set[int] = set()

    def count(self, instruction: Instruction) -> None:
        for register in accessed(instruction):
            self.accesses[register.id] += 1
        for operand in instruction.operands:
            if isinstance(operand, LabelRef):
                self.labels[operand.name] = self.labels.get(operand.name, 0) + 1

    def run(self) -> Predicated:
        body = self.original.body
        function = copy_function(self.original)
        out: list[Statement] = []
        done = 0
        for branch in self.found:
            if branch.join and self.labels[branch.target] > 1:
                continue  # others come to the taken side
            out += body[done : branch.place]
            own = self.own(branch)
            self.side(out, branch.skipped, branch.guard, not branch.negated, own)
            self.side(out, branch.taken, branch.guard, branch.negated, own)
            done = branch.behind
            if self.labels[branch.join or branch.target] == 1:
                done += 1
        function.body = out + body[done:]
        return Predicated(function, self.begun)

    def own(self, branch: _Branch) -> set[int]:
        """The registers that live in one side of a branch only."""
        counts: dict[int, int] = {}
        exposed: set[int] = set()
        for side in (branch.skipped, branch.taken):
            written: set[int] = set()
            for statement in side:
                if isinstance(statement, Instruction):
                    targets = {register.id for register in statement.destinations()}
                    for register in accessed(statement):
                        counts[register.id] = counts.get(register.id, 0) + 1
                    exposed |= {r.id for r in statement.sources()} - written
                    written |= targets
        return {id for id, count in counts.items() if count == self.accesses[id] and id not in exposed}

    def side(self, out: list[Statement], side: list[Statement], guard: Register, negated: bool, own: set[int]) -> None:
        for statement in side:
            if isinstance(statement, Instruction) and not self.is_free(statement, own):
                self.begun |= {r.id for r in statement.destinations()} & own
                statement = Instruction(statement.opcode, statement.operands, guard, negated, statement.pos)
            out.append(statement)

    def is_free(self, instruction: Instruction, own: set[int]) -> bool:
        """Whether all lanes may execute an instruction: it computes something that only its side reads."""
        opcode = instruction.opcode
        if opcode.name not in PURE and not self.reads_parameter(instruction):
            return False
        return all(register.id in own for register in instruction.destinations())

    def reads_parameter(self, instruction: Instruction) -> bool:
        """Whether it is a load of a kernel's parameter by its name, which the machine has among its constants."""
        opcode = instruction.opcode
        if opcode.name != "ld" or not opcode.space.startswith("param") or not self.original.is_entry:
            return False
        found: list[Register] = []
        collect_read(instruction.operands[1], found)
        return not found


def accessed(instruction: Instruction) -> list[Register]:
    """The registers that an instruction reads or writes, its guard too, each as often as it does."""
    return instruction.destinations() + instruction.sources()
