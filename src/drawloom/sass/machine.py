"""A function between selection and encoding: blocks of machine instructions on virtual registers.

    Function  ::= Block+                       -- block 0 is the entry; falls through in the order of the list
    Block     ::= Machine* -> successors       -- at most the last instructions branch
    Machine   ::= an Instruction (opcode, values, guard, control) and the PTX position it came from

Until registers are assigned, the value of a register slot (`R`, `UR`, `P`, `UP`, `B`) is either a fixed register's
number (below 256) or `VIRTUAL + 4 * id + part`: `part` counts 32-bit words of a virtual register that is wider than
one. A virtual guard is `VIRTUAL + 4 * id`, plus 1 where it is negated. Until blocks are placed, the value of a label
slot is a block's id.
"""

from __future__ import annotations

from typing import Final

from mypy_extensions import i64, mypyc_attr

from drawloom.sass.abi import SAVED
from drawloom.sass.control import DEFAULT_CONTROL
from drawloom.sass.form import Opcode
from drawloom.sass.instruction import Instruction
from drawloom.sass.syntax import NO_GUARD

#: Values of register slots from here on are virtual.
VIRTUAL: Final = 1024

#: Register files.
GENERAL: Final = 0
PREDICATE: Final = 1
UNIFORM: Final = 2
UNIFORM_PREDICATE: Final = 3
BARRIER: Final = 4
#: The file of each kind of register slot.
FILES: Final[dict[str, int]] = {"R": GENERAL, "P": PREDICATE, "UR": UNIFORM, "UP": UNIFORM_PREDICATE, "B": BARRIER}
#: The register of each file that reads as zero or true.
NEUTRAL: Final = (255, 7, 63, 7, -1)

RZ: Final = 255
PT: Final = 7
URZ: Final = 63
#: The ABI's stack pointer.
STACK_POINTER: Final = 1
#: Where it stood behind the beginning of a function that moves it.
FRAME_POINTER: Final = 2


@mypyc_attr(acyclic=True)
class Machine(Instruction):
    """An instruction with `pos`, the position of the PTX instruction that it belongs to (-1: of none). Of a call,
    `clobbers` is the set of general registers that it may change, as bits, and `arguments` those that it reads.

    Who goes through many of them reads `values` as ``cast("list[i64]", values)``, which compiled is one step less."""

    def __init__(
        self, opcode: Opcode, values: list[int], guard: int = NO_GUARD, control: int = DEFAULT_CONTROL, pos: int = -1
    ) -> None:
        super().__init__(opcode, values, guard, control)
        self.pos = pos
        #: Places of slots, as bits, whose registers hold nothing before: a guard leaves no earlier value in them.
        self.begins = 0
        self.clobbers = 0
        self.arguments = 0
        #: Where `access.Operands` has its registers.
        self.at: i64 = 0
        #: Whether its immediate is a linker's business.
        self.is_relocated = False


class MachineRelocation:
    """What a linker puts into an instruction: `kind` is one of `cubin_layout.RELOCATIONS`."""

    def __init__(self, instruction: Machine, kind: str, symbol: str, addend: int) -> None:
        self.instruction = instruction
        self.kind = kind
        self.symbol = symbol
        self.addend = addend


class CallSite:
    """A call: of the function `callee`, or through a pointer (""). `address` is the instruction that puts the return
    address into its register, in its slot `place`; it counts from the beginning of the section, or, where there is a
    `base` (the instruction itself or an LEPC), from there. `is_external`: the callee is another file's. In a
    relocatable file `upper` has the upper word of the return address, and a linker makes both of them absolute."""

    def __init__(self, call: Machine, callee: str, is_external: bool) -> None:
        self.call = call
        self.callee = callee
        self.is_external = is_external
        #: General registers that the results come in, as bits.
        self.results = 0
        self.address: Machine | None = None
        self.place = 1
        self.base: Machine | None = None
        self.upper: Machine | None = None


@mypyc_attr(acyclic=True)
class MachineBlock:
    """`successors` are block ids: first where control falls through or goes always, then branch targets; `depth`
    counts the loops around the block."""

    def __init__(self, id: int) -> None:
        self.id = id
        self.instructions: list[Machine] = []
        self.successors: list[int] = []
        self.depth = 0


class MachineFunction:
    """One function of the program.

    `files[v]` and `widths[v]` (1, 2, 3 or 4 words of 32 bits) describe virtual register v; a register of 2 words
    begins at an even number, one of 3 or 4 at a multiple of 4. `frame` is the bytes of local memory under the stack
    pointer (`.local` variables first, then spilled registers).
    """

    def __init__(self, name: str, target: int, is_entry: bool) -> None:
        self.name = name
        self.target = target
        self.is_entry = is_entry
        self.blocks: list[MachineBlock] = []
        self.files: list[int] = []
        self.widths: list[int] = []
        self.frame = 0
        #: What the frame is aligned to, in bytes.
        self.alignment = 16
        #: The register that the frame is found by.
        self.frame_pointer = STACK_POINTER
        #: Registers that only carry a value to or from where it is kept: keeping them elsewhere gains nothing.
        self.carriers: set[int] = set()
        #: The calls, the bytes at the stack pointer that they pass arguments in, and the loads of such arguments.
        self.calls: list[CallSite] = []
        self.outgoing = 0
        self.incoming: list[Machine] = []
        self.relocations: list[MachineRelocation] = []
        #: General registers that it must leave as they were, as bits.
        self.saved = 0 if is_entry else SAVED
        #: Whether the barriers that it must leave as they were are kept.
        self.saved_barriers = False
        #: Registers below this one are named by number.
        self.named = 0
        #: How many blocks there are of the PTX function, of the same ids.
        self.ptx_blocks = 0

    def block(self) -> MachineBlock:
        """A new block at the end."""
        block = MachineBlock(len(self.blocks))
        self.blocks.append(block)
        return block

    def ways_in(self) -> list[int]:
        """How many ways lead into each block from others; blocks are in the order of their numbers."""
        ways = [0] * len(self.blocks)
        for block in self.blocks:
            for successor in block.successors:
                ways[successor] += 1
        return ways

    def register(self, file: int, width: int = 1) -> int:
        """A new virtual register, as the value of its first word."""
        self.files.append(file)
        self.widths.append(width)
        return VIRTUAL + 4 * (len(self.files) - 1)


def virtual_id(value: int) -> int:
    """The number of the virtual register that a slot's value names a word of."""
    return (value - VIRTUAL) >> 2
