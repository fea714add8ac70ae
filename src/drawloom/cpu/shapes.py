"""How a register's value varies over the lanes of a warp, and what each instruction makes of that.

    Shape ::= uniform                          one scalar for all lanes
            | affine stride                    base[row] + stride * column              modulo 2^width
            | widened scale stride signed      offset[row] + scale * ext(base[row] + stride * column modulo 2^32)
            | varying                          a vector

A warp is ``32 / S`` rows of ``S`` lanes, ``S`` being 32 for most blocks, 16 or 8 for blocks that are so narrow; the
base and the offset are one scalar per row.
``widened`` keeps a 32-bit index and its extension to 64 bits apart, because ``base + stride * lane`` may wrap
between two lanes: whether the whole is affine is asked at run time, where the address is used. One shape per
register covers all of its definitions.
"""

from __future__ import annotations

from typing import Final

from drawloom.ptx.ir import Address, Immediate, Instruction, Operand, Register, SpecialRegister, Symbol, Vector
from drawloom.ptx.isa import ATOMIC, BARRIER, LOAD, PURE, WARP

UNIFORM: Final = 0
AFFINE: Final = 1
WIDENED: Final = 2
VARYING: Final = 3
WARP_SIZE: Final = 32


class Shape:
    """One point of the lattice; see the grammar above. ``stride`` and ``scale`` are signed integers.

    ``even`` says that base and offset are the same in every row.

    ``aligned`` marks ``%tid.x`` itself: at most 1023, so once widened it cannot wrap, whatever the sign; and where a
    warp is one row, lane 0's value is a multiple of 32.
    """

    def __init__(
        self, kind: int, stride: int = 0, even: bool = True, scale: int = 0, signed: bool = False, aligned: bool = False
    ) -> None:
        self.kind = kind
        self.stride = stride
        self.even = even
        self.scale = scale
        self.signed = signed
        self.aligned = aligned

    def same(self, other: Shape) -> bool:
        return (
            self.kind == other.kind
            and self.stride == other.stride
            and self.even == other.even
            and self.scale == other.scale
            and self.signed == other.signed
            and self.aligned == other.aligned
        )

    def __repr__(self) -> str:
        if self.kind == AFFINE:
            return f"affine {self.stride}"
        if self.kind == WIDENED:
            return f"widened {self.scale} {self.stride} {'s' if self.signed else 'u'}"
        return "uniform" if self.kind == UNIFORM else "varying"


UNIFORM_SHAPE: Final = Shape(UNIFORM)
VARYING_SHAPE: Final = Shape(VARYING)


def affine(stride: int, even: bool, bits: int) -> Shape:
    """``affine`` with the stride wrapped to ``bits``; uniform when neither column nor row changes it."""
    stride = _wrapped(stride, bits)
    return Shape(AFFINE, stride, even) if stride or not even else UNIFORM_SHAPE


def widened(scale: int, stride: int, even: bool, signed: bool, aligned: bool = False) -> Shape:
    """``widened``; uniform when nothing of the lane is left, ``affine 0`` when nothing of the column is."""
    scale = _wrapped(scale, 64)
    if not scale:
        return UNIFORM_SHAPE if even else affine(0, False, 64)
    if not stride:
        return affine(0, even, 64)
    return Shape(WIDENED, stride, even, scale, signed, aligned)


def _wrapped(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def join(a: Shape | None, b: Shape | None) -> Shape | None:
    """The least shape over both; None is 'not known yet'."""
    if a is None:
        return b
    if b is None or a.same(b):
        return a
    if a.kind != b.kind or a.stride != b.stride or a.scale != b.scale:
        return VARYING_SHAPE
    if a.signed != b.signed and not a.aligned and not b.aligned:
        return VARYING_SHAPE
    # An aligned index has no sign: it takes the other's.
    signed = b.signed if not b.aligned else a.signed if not a.aligned else a.signed and b.signed
    return Shape(a.kind, a.stride, a.even and b.even, a.scale, signed, a.aligned and b.aligned)


#: Special registers whose value is one for the whole warp, whatever the block's shape.
_WARP_UNIFORM: Final = frozenset(
    "%ntid %ctaid %nctaid %nsmid %smid %warpid %nwarpid %gridid %clock %clock_hi %clock64 %globaltimer"
    " %globaltimer_lo %globaltimer_hi %total_smem_size %dynamic_smem_size %aggr_smem_size".split()
)


class Rules:
    """The transfer function.

    Of ``lanes`` lanes (a warp, or a block that runs at once) ``segment`` have consecutive ``%tid.x``, the next ones
    the next ``%tid.y`` (0: no such order); ``kernel_params`` are the names of a kernel's parameters (other ``.param``
    variables differ per lane); ``locals`` the names of ``.local`` variables,
    which stand ``stride`` bytes apart from lane to lane; ``blocks`` those of the other ``.param`` variables.
    """

    def __init__(
        self,
        segment: int,
        kernel_params: frozenset[str],
        locals: frozenset[str],
        stride: int,
        blocks: frozenset[str] = frozenset(),
        lanes: int = WARP_SIZE,
    ) -> None:
        self.segment = segment
        self.lanes = lanes
        self.kernel_params = kernel_params
        self.locals = locals
        self.local_stride = stride
        self.blocks = blocks

    def special(self, name: str) -> Shape:
        base, _, component = name.partition(".")
        if base == "%tid":
            if not self.segment or not component:  # without a component it is moved to a vector of all three
                return VARYING_SHAPE
            if component == "x":
                return Shape(AFFINE, 1, aligned=True)
            return affine(0, self.segment == self.lanes, 32)
        if base in ("%laneid", "%warpid") and self.lanes > WARP_SIZE:
            return VARYING_SHAPE
        if base == "%laneid":
            return self.by_lane(1, 32)
        if base.startswith("%lanemask"):
            return VARYING_SHAPE
        if base in _WARP_UNIFORM or base.startswith(("%envreg", "%pm", "%cluster", "%nclusterid", "%is_")):
            return UNIFORM_SHAPE
        return UNIFORM_SHAPE

    def by_lane(self, stride: int, bits: int) -> Shape:
        """``stride`` times the lane's number."""
        return affine(stride, not 0 < self.segment < self.lanes, bits)

    def of_operand(self, operand: Operand, shapes: list[Shape | None]) -> Shape | None:
        if isinstance(operand, Register):
            return shapes[operand.id]
        if isinstance(operand, SpecialRegister):
            return self.special(operand.name)
        if isinstance(operand, Symbol) and operand.name in self.locals:
            return self.by_lane(self.local_stride, 64)
        if isinstance(operand, Symbol) and operand.name in self.blocks:
            return VARYING_SHAPE
        return UNIFORM_SHAPE

    def result(self, instruction: Instruction, shapes: list[Shape | None], carry: Shape | None) -> Shape | None:
        """The shape of what ``instruction`` writes; None while an operand is not known yet."""
        opcode = instruction.opcode
        effect = opcode.effect
        worst: Shape | None = UNIFORM_SHAPE
        plain = True
        for register in instruction.sources():
            if instruction.guard is register:
                continue
            shape = shapes[register.id]
            if shape is None:
                return None
            if shape.kind != UNIFORM:
                plain = False
                worst = VARYING_SHAPE
        for operand in instruction.operands[1:]:
            if isinstance(operand, (SpecialRegister, Symbol)):
                shape = self.of_operand(operand, shapes)
                if shape is not None and shape.kind != UNIFORM:
                    plain = False
                    worst = VARYING_SHAPE
        if effect == LOAD:
            address = instruction.operands[1]
            if isinstance(address, Address) and isinstance(address.base, Symbol):
                name = address.base.name
                if name in self.locals or (opcode.space == "param" and name not in self.kernel_params):
                    return VARYING_SHAPE
            return worst
        if effect == ATOMIC:
            return VARYING_SHAPE
        if effect == BARRIER:
            return UNIFORM_SHAPE
        if effect == WARP:
            if self.lanes == WARP_SIZE and opcode.name in ("vote", "redux", "activemask", "elect"):
                return self.warp_result(instruction, shapes)
            return VARYING_SHAPE
        if effect != PURE:
            return VARYING_SHAPE
        if opcode.reads_carry or opcode.writes_carry:
            if opcode.reads_carry and carry is None:
                return None
            uniform = plain and (not opcode.reads_carry or (carry is not None and carry.kind == UNIFORM))
            return UNIFORM_SHAPE if uniform else VARYING_SHAPE
        if plain:
            return UNIFORM_SHAPE
        shape = self.linear(instruction, shapes)
        return shape if shape is not None else VARYING_SHAPE

    def warp_result(self, instruction: Instruction, shapes: list[Shape | None]) -> Shape:
        """One value for the warp when every lane names the same members; ``elect`` also writes a predicate."""
        if instruction.opcode.name == "elect":
            return VARYING_SHAPE
        last = instruction.operands[-1]
        if instruction.opcode.sync and isinstance(last, Register):
            members = shapes[last.id]
            if members is None or members.kind != UNIFORM:
                return VARYING_SHAPE
        return UNIFORM_SHAPE

    def linear(self, instruction: Instruction, shapes: list[Shape | None]) -> Shape | None:
        """The shape of an instruction that is linear in its non-uniform operands; None when it is not."""
        opcode = instruction.opcode
        name = opcode.name
        operands = instruction.operands
        type = opcode.type
        if type is None or type.lanes > 1 or type.is_float or type.bits not in (32, 64):
            return None
        if name in ("shr", "and", "setp") and len(operands) == 3:
            return self.of_aligned(instruction, shapes)
        if name == "mov":
            packs = isinstance(operands[0], Vector) or isinstance(operands[1], Vector)
            return None if packs else self.of_operand(operands[1], shapes)
        if name == "cvta":
            return self.of_operand(operands[1], shapes) if opcode.space in ("global", "const", "param") else None
        if name == "cvt":
            return self.convert(instruction, shapes)
        if opcode.sat or opcode.half == "hi":
            return None
        a = self.of_operand(operands[1], shapes)
        b = self.of_operand(operands[2], shapes) if len(operands) > 2 else UNIFORM_SHAPE
        if a is None or b is None:
            return None
        if name == "add":
            return _sum(a, b, 1, type.bits)
        if name == "sub":
            return _sum(a, b, -1, type.bits)
        if name == "neg":
            return _sum(UNIFORM_SHAPE, a, -1, type.bits)
        if name == "shl":
            if b.kind == UNIFORM and isinstance(operands[2], Immediate) and 0 <= operands[2].value < type.bits:
                return _scaled(a, 1 << operands[2].value, type.bits)
            return None
        if name in ("mul", "mad"):
            return self.product(instruction, a, b, shapes)
        return None

    def of_aligned(self, instruction: Instruction, shapes: list[Shape | None]) -> Shape | None:
        """The warp's and the lane's number out of ``%tid.x``, and tests that no warp is split by."""
        opcode = instruction.opcode
        operands = instruction.operands
        a = self.of_operand(operands[1], shapes)
        literal = operands[2]
        if a is None or a.kind != AFFINE or not a.aligned or self.segment != self.lanes:
            return None  # what is widened may have been scaled, or added to
        if not isinstance(literal, Immediate) or literal.kind != 0:
            return None
        value = literal.value
        if opcode.name == "shr":
            return UNIFORM_SHAPE if 1 << value >= self.lanes else None
        if opcode.name == "and":
            low = value & (self.lanes - 1)
            if low == 0:
                return UNIFORM_SHAPE
            return affine(1, True, 32) if low == self.lanes - 1 and opcode.types[0].bits == 32 else None
        # In a warp the values are 32 k to 32 k + 31, so only a bound between two warps is the same for all.
        edge = value + 1 if opcode.compare in ("le", "gt", "ls", "hi") else value
        ordered = opcode.compare in ("lt", "le", "gt", "ge", "lo", "ls", "hi", "hs")
        return UNIFORM_SHAPE if ordered and edge % self.lanes == 0 else None

    def product(self, instruction: Instruction, a: Shape, b: Shape, shapes: list[Shape | None]) -> Shape | None:
        opcode = instruction.opcode
        operands = instruction.operands
        type = opcode.types[0]
        if a.kind == UNIFORM and b.kind == UNIFORM:
            scaled: Shape | None = UNIFORM_SHAPE
        elif isinstance(operands[2], Immediate) and operands[2].kind == 0:
            scaled = self.times(a, operands[2].value, opcode.half, type.is_signed, type.bits)
        elif isinstance(operands[1], Immediate) and operands[1].kind == 0:
            scaled = self.times(b, operands[1].value, opcode.half, type.is_signed, type.bits)
        elif opcode.half == "lo" and _by_row(a) and _by_row(b):
            scaled = affine(0, False, type.bits)
        else:
            return None
        if scaled is None or opcode.name == "mul":
            return scaled
        c = self.of_operand(operands[3], shapes)
        if c is None:
            return None
        return _sum(scaled, c, 1, 64 if opcode.half == "wide" else type.bits)

    def times(self, a: Shape, factor: int, half: str, signed: bool, bits: int) -> Shape | None:
        if half == "wide":
            if bits != 32 or a.kind != AFFINE or not _fits(factor, signed):
                return None
            return widened(factor, a.stride, a.even, signed, a.aligned)
        return _scaled(a, factor, bits)

    def convert(self, instruction: Instruction, shapes: list[Shape | None]) -> Shape | None:
        opcode = instruction.opcode
        target = opcode.types[0]
        source = opcode.types[1]
        a = self.of_operand(instruction.operands[1], shapes)
        register = instruction.operands[1]
        if a is None or a.kind == VARYING or opcode.sat or not target.is_integer or not source.is_integer:
            return None
        destination = instruction.operands[0]
        if isinstance(destination, Register) and destination.type.bits != target.bits:
            return None
        if isinstance(register, Register) and register.type.bits != source.bits:
            if register.type.bits != 64 or source.bits != 32:
                return None
            a = _low_half(a)  # the upper half of the register is not read
        if target.bits == source.bits or a.kind == UNIFORM:
            return a
        if target.bits == 64 and source.bits == 32 and a.kind == AFFINE:
            return widened(1, a.stride, a.even, source.is_signed, a.aligned)
        return _low_half(a) if target.bits == 32 and source.bits == 64 else None


def _low_half(a: Shape) -> Shape:
    """The low 32 bits of a 64-bit value that does not vary, where no sign matters any more."""
    if a.kind == UNIFORM:
        return a
    return affine(a.scale * a.stride if a.kind == WIDENED else a.stride, a.even, 32)


def _by_row(a: Shape) -> bool:
    """Whether a value is one scalar per row."""
    return a.kind == UNIFORM or (a.kind == AFFINE and a.stride == 0)


def _fits(factor: int, signed: bool) -> bool:
    """Whether an immediate means the same number when it is read as a signed or unsigned 32-bit operand."""
    return -(1 << 31) <= factor < 1 << 31 if signed else 0 <= factor < 1 << 32


def _sum(a: Shape, b: Shape, sign: int, bits: int) -> Shape | None:
    if a.kind == VARYING or b.kind == VARYING:
        return None
    if a.kind == WIDENED or b.kind == WIDENED:
        if _by_row(a):
            return widened(sign * b.scale, b.stride, b.even and a.even, b.signed, b.aligned)
        return widened(a.scale, a.stride, a.even and b.even, a.signed, a.aligned) if _by_row(b) else None
    return affine(a.stride + sign * b.stride, a.even and b.even, bits)


def _scaled(a: Shape, factor: int, bits: int) -> Shape | None:
    if a.kind == AFFINE:
        return affine(a.stride * factor, a.even, bits)
    if a.kind == WIDENED:
        return widened(a.scale * factor, a.stride, a.even, a.signed, a.aligned)
    return a if a.kind == UNIFORM else None
