"""Data instructions to handlers: operands in, one pure function, destinations out; and the table of all builders."""

from __future__ import annotations

from typing import Final

from drawloom.ptx.ir import Instruction, Operand, Pair, Sink, SpecialRegister, Symbol, Vector
from drawloom.ptx.isa import Opcode
from drawloom.ptx.types import PRED, U32, Type, integer_type
from drawloom.reference.approx import approximate, transcendental
from drawloom.reference.asynchronous import ASYNCHRONOUS_BUILDERS
from drawloom.reference.control import CONTROL_BUILDERS
from drawloom.reference.conversions import CONVERSION_OPERATIONS
from drawloom.reference.decode import Builder, Decoder, apply, operand_types
from drawloom.reference.floats import FLOAT_OPERATIONS, Semantics
from drawloom.reference.integers import INTEGER_OPERATIONS, carry_operation
from drawloom.reference.loads_stores import MEMORY_BUILDERS
from drawloom.reference.selection import BOOLEAN, SELECTION_OPERATIONS, setp
from drawloom.reference.threads import Handler, Registers, Thread
from drawloom.reference.video import VIDEO_OPERATIONS
from drawloom.reference.warp_operations import WARP_BUILDERS

# Arithmetic on None raises TypeError, which the machine reports as a read of an uninitialised register; mypy is told
# so once per closure by the ignores below.


def semantics(op: Opcode) -> Semantics:
    """The function from source patterns to the result pattern of a pure instruction with one result."""
    name = op.name
    if name in CONVERSION_OPERATIONS:
        return CONVERSION_OPERATIONS[name](op)
    if name in VIDEO_OPERATIONS:
        return VIDEO_OPERATIONS[name](op)
    if name in SELECTION_OPERATIONS:
        return SELECTION_OPERATIONS[name](op)
    if name in ("sin", "cos", "lg2", "ex2", "tanh"):
        return transcendental(op)
    if name == "rsqrt" or op.approx or op.full:
        return approximate(op)
    if op.type is not None and op.type.is_float:
        return FLOAT_OPERATIONS[name](op)
    return INTEGER_OPERATIONS[name](op)


def _pure(d: Decoder, i: Instruction) -> Handler:
    op = i.opcode
    if op.writes_carry or op.reads_carry:
        return _with_carry(d, i)
    if op.has("oob"):
        raise d.refuse(i, "fma.oob is not run by the reference: the manual does not say which NaN is out of bounds")
    types = operand_types(op, len(i.operands))
    sources = [d.source(o, t) for o, t in zip(i.operands[1:], types[1:], strict=True)]
    handler = apply(semantics(op), d.destination(i.operands[0]), sources)
    return handler


def _with_carry(d: Decoder, i: Instruction) -> Handler:
    """Extended precision (9.7.2). The carry flag of a thread is undefined until it is written."""
    op = i.opcode
    assert op.type is not None
    compute = carry_operation(op)
    sources = [d.source(o, op.type) for o in i.operands[1:]]
    target = d.destination(i.operands[0])
    reads, writes = op.reads_carry, op.writes_carry

    def step(r: Registers, t: Thread) -> None:
        r[target], carry = compute(*[r[s] for s in sources], t.carry if reads else 0)
        if writes:
            t.carry = carry

    return step


def _setp(d: Decoder, i: Instruction) -> Handler:
    op = i.opcode
    assert op.type is not None
    types = operand_types(op, len(i.operands))
    compute = setp(op)
    target = i.operands[0]
    sources = [d.source(o, t) for o, t in zip(i.operands[1:], types[1:], strict=True)]
    if isinstance(target, Pair):
        p, q = d.destination(target.first), d.destination(target.second)

        def step_pair(r: Registers, t: Thread) -> None:
            r[p], r[q] = compute(*[r[s] for s in sources])

        return step_pair
    return apply(lambda *values: compute(*values)[0], d.destination(target), sources)


def _lop3(d: Decoder, i: Instruction) -> Handler:
    op = i.opcode
    target = i.operands[0]
    if not op.operation:
        return _pure(d, i)
    compute = INTEGER_OPERATIONS["lop3"](op)
    combine = BOOLEAN[op.operation]
    sources = [d.source(o, U32) for o in i.operands[1:5]]
    q = d.source(i.operands[5], PRED)
    first = target.first if isinstance(target, Pair) else target
    value, predicate = d.destination(first), d.destination(target.second if isinstance(target, Pair) else Sink())

    def step(r: Registers, t: Thread) -> None:
        out = compute(*[r[s] for s in sources])
        r[value] = out
        r[predicate] = combine(1 if out else 0, r[q])  # type: ignore[arg-type]

    return step


def _cvt(d: Decoder, i: Instruction) -> Handler:
    """Sources wider than their type give their low bits; a destination wider than its type is extended."""
    op = i.opcode
    source_type = op.types[1]
    inner = semantics(op)
    mask = (1 << source_type.bits) - 1
    # Some types stand in a plain register: two e4m3 in b16, tf32 in b32.
    sources = [d.source(o, source_type) for o in i.operands[1:]]
    if op.name == "cvt.pack" or len(sources) > 1:
        return apply(inner, d.destination(i.operands[0]), sources)
    widen = d.widening(i.operands[0], op.types[0])
    if widen is None:
        return apply(lambda a: inner(a & mask), d.destination(i.operands[0]), sources)
    return apply(lambda a: widen(inner(a & mask)), d.destination(i.operands[0]), sources)


def _mov(d: Decoder, i: Instruction) -> Handler:
    """Copies; packs ``{a, b}`` into one register with ``a`` lowest, or unpacks. Undefined values stay undefined."""
    op = i.opcode
    assert op.type is not None
    target, source = i.operands
    if op.vector > 1:
        return _mov_vector(d, target, source, op.type)
    bits = op.type.bits
    if isinstance(source, Vector):
        width = bits // len(source.elements)
        parts = [d.source(e, integer_type("b", width)) for e in source.elements]
        whole = d.destination(target)

        def pack(r: Registers, t: Thread) -> None:
            whole_value: int | None = 0
            for k, part in enumerate(parts):
                value = r[part]
                whole_value = None if value is None or whole_value is None else whole_value | value << width * k
            r[whole] = whole_value

        return pack
    if isinstance(target, Vector):
        width = bits // len(target.elements)
        mask = (1 << width) - 1
        pieces = [(d.destination(e), width * k) for k, e in enumerate(target.elements)]
        packed = d.source(source, op.type)

        def unpack(r: Registers, t: Thread) -> None:
            value = r[packed]
            for slot, shift in pieces:
                r[slot] = None if value is None else value >> shift & mask

        return unpack
    to, origin = d.destination(target), d.source(source, op.type)
    if isinstance(source, (SpecialRegister, Symbol)):
        mask = (1 << bits) - 1
        return apply(lambda a: a & mask, to, [origin])

    def copy(r: Registers, t: Thread) -> None:
        r[to] = r[origin]

    return copy


def _mov_vector(d: Decoder, target: Operand, source: Operand, type: Type) -> Handler:
    """``mov.v4.u32 {x, y, z, w}, %tid`` and ``mov.v2.b32 {a, b}, {c, d}``."""
    assert isinstance(target, Vector)
    if isinstance(source, SpecialRegister):
        sources = [d.special(f"{source.name}.{component}") for component in "xyzw"[: len(target.elements)]]
    else:
        assert isinstance(source, Vector)
        sources = [d.source(e, type) for e in source.elements]
    targets = [d.destination(e) for e in target.elements]

    def step(r: Registers, t: Thread) -> None:
        values = [r[s] for s in sources]
        for slot, value in zip(targets, values, strict=True):
            r[slot] = value

    return step


def _nothing(d: Decoder, i: Instruction) -> Handler:
    """Hints to caches, counters and the scheduler of a device that this machine does not have."""

    def step(r: Registers, t: Thread) -> None:
        return None

    return step


def _createpolicy(d: Decoder, i: Instruction) -> Handler:
    """Cache policies are opaque and have no effect here."""
    return apply(lambda a: a, d.destination(i.operands[0]), [d.constant(0)])


_PURE: Final = (
    "add sub mul mad mul24 mad24 sad div rem abs neg min max popc clz bfind fns brev bfe bfi szext bmsk dp4a dp2a "
    "addc subc madc testp copysign fma rcp sqrt rsqrt sin cos lg2 ex2 tanh set selp slct and or xor not cnot shf shl "
    "shr prmt"
).split()
_HINTS: Final = "prefetch prefetchu pmevent griddepcontrol setmaxnreg discard applypriority".split()

#: What decodes each opcode.
BUILDERS: Final[dict[str, Builder]] = {
    **dict.fromkeys(_PURE, _pure),
    **dict.fromkeys(VIDEO_OPERATIONS, _pure),
    **dict.fromkeys(_HINTS, _nothing),
    "setp": _setp,
    "lop3": _lop3,
    "cvt": _cvt,
    "cvt.pack": _cvt,
    "mov": _mov,
    **dict.fromkeys(("createpolicy.fractional", "createpolicy.range", "createpolicy.cvt"), _createpolicy),
    **MEMORY_BUILDERS,
    **ASYNCHRONOUS_BUILDERS,
    **CONTROL_BUILDERS,
    **WARP_BUILDERS,
}
