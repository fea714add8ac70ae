"""Warp operations on the lanes of one vector: shuffles, votes, matches, reductions (PTX ISA 9.0 sections 9.7.9.6 and
9.7.13.9 to 9.7.13.15).

``active`` says which lanes execute the instruction; the others take no part, whatever the member mask names. A member
mask is an i32, scalar when all lanes give the same, else one per lane; where it is scalar, so are results that are the
same for all participants. A shuffle that reads a lane which is not active gets the value in that lane's register.
"""

from __future__ import annotations

from typing import Final

from drawloom.cpu.emitter import Emitter, Value, int_const, type_suffix
from drawloom.cpu.ops.common import const, literal, not_
from drawloom.cpu.ops.floating import canonical_nan
from drawloom.cpu.ops.rounding import concatenate, piece
from drawloom.ptx.isa import Opcode

#: Lanes of a warp.
WARP: Final = 32
#: What leaves a reduction as it is, for lanes that take no part.
_IDENTITY: Final[dict[tuple[str, bool], int]] = {
    ("add", False): 0, ("and", False): -1, ("or", False): 0, ("xor", False): 0,
    ("add", True): 0, ("min", False): -1, ("max", False): 0, ("min", True): 0x7FFFFFFF, ("max", True): -0x80000000,
}  # fmt: skip


def emit_shfl(e: Emitter, op: Opcode, a: Value, b: Value, c: Value, active: Value) -> tuple[Value, Value]:
    """``shfl``: (value, predicate), both with 32 lanes; ``b`` and ``c`` are i32 with 32 lanes or scalars.

    A lane whose source is out of range keeps its own value and gets a false predicate.
    """
    fixed_b, fixed_c = literal(b), literal(c)
    if fixed_b is not None and fixed_c is not None:
        return _shuffle_by_constants(e, op, a, fixed_b, fixed_c)
    source, inside = _source_lanes(e, op, e.splat(b, WARP), e.splat(c, WARP))
    return permute(e, a, source), inside


def emit_vote(e: Emitter, op: Opcode, source: Value, members: Value, active: Value) -> Value:
    """``vote``: i1 for ``all``, ``any``, ``uni``, i32 for ``ballot``; as many lanes as ``members`` has."""
    participants = _participants(e, members, active)
    holding = e.binary("and", e.splat(mask_bits(e, e.binary("and", source, active)), members.lanes), participants)
    if op.operation == "ballot":
        return holding
    none = e.icmp("eq", holding, const(holding, 0))
    if op.operation == "any":
        return not_(e, none)
    every = e.icmp("eq", holding, participants)
    return every if op.operation == "all" else e.binary("or", every, none)


def emit_match(e: Emitter, op: Opcode, a: Value, members: Value, active: Value) -> list[Value]:
    """``match``: for ``any`` the lanes with an equal value; for ``all`` the participants, or 0, and a predicate."""
    participants = _participants(e, members, active)
    if op.operation == "any":
        return [e.binary("and", equal_lanes(e, a, active), e.splat(participants, WARP))]
    if members.lanes:
        equal = e.binary("and", equal_lanes(e, a, active), participants)
        same = e.icmp("eq", equal, participants)
    else:
        first = e.extract(a, _first_lane(e, participants))
        different = mask_bits(e, e.icmp("ne", a, e.splat(first, WARP)))
        outside = e.binary("and", different, participants)
        same = e.icmp("eq", outside, const(outside, 0))
    return [e.select(same, participants, const(participants, 0)), same]


def emit_redux(e: Emitter, op: Opcode, a: Value, members: Value, active: Value) -> Value:
    """``redux``: i32, or float for ``.f32``; as many lanes as ``members`` has."""
    assert op.type is not None
    value = e.intrinsic("llvm.fabs", [a]) if op.has("abs") else a
    identity = _identity(op, value)
    participants = _participants(e, members, active)
    if members.lanes:
        result = _reduce_per_lane(e, op, value, participants, identity)
    else:
        kept = e.select(_lanes_of(e, participants), value, identity)
        result = _reduce(e, op, kept)
    if op.type.is_float:
        result = e.select(e.fcmp("uno", result, result), canonical_nan(result), result)
    return result


def emit_activemask(e: Emitter, active: Value) -> Value:
    """``activemask``: a scalar i32, bit i for lane i."""
    return mask_bits(e, active)


def emit_elect(e: Emitter, members: Value, active: Value) -> list[Value]:
    """``elect``: the lowest participating lane as leader (i32), and for each lane whether it is the leader."""
    leader = _first_lane(e, _participants(e, members, active))
    lane = e.vector_const("i32", list(range(WARP)))
    return [leader, e.icmp("eq", lane, e.splat(leader, WARP))]


def mask_bits(e: Emitter, mask: Value) -> Value:
    """A vector of i1 as an i32, lane i in bit i."""
    return e.bits_of(mask, "i32")


def permute(e: Emitter, a: Value, source: Value) -> Value:
    """Lane i of the result is lane ``source[i]`` (0 to 31) of ``a``; both i32 with 32 lanes."""
    if "avx512f" in e.features:
        low, high = piece(e, a, 0, 16), piece(e, a, 16, 16)
        name = "llvm.x86.avx512.vpermi2var.d.512"
        return concatenate(e, [e.call(name, "i32", 16, [low, piece(e, source, s, 16), high]) for s in (0, 16)])
    if "avx2" in e.features:
        return concatenate(e, [_permute_octets(e, a, piece(e, source, s, 8)) for s in range(0, WARP, 8)])
    name = "drawloom.permute.v32i32"
    if name not in e.declarations:
        e.declarations[name] = _PERMUTE
    return e.value("i32", WARP, f"call <32 x i32> @{name}({a.typed}, {source.typed})")


def _permute_octets(e: Emitter, a: Value, source: Value) -> Value:
    """Eight result lanes: permute each source register of eight and choose by the upper index bits."""
    octet = e.binary("lshr", source, const(source, 3))
    result = e.call("llvm.x86.avx2.permd", "i32", 8, [piece(e, a, 0, 8), source])
    for index in range(1, 4):
        here = e.icmp("eq", octet, const(octet, index))
        moved = e.call("llvm.x86.avx2.permd", "i32", 8, [piece(e, a, 8 * index, 8), source])
        result = e.select(here, moved, result)
    return result


def source_lane(operation: str, lane: int, b: int, c: int) -> tuple[int, bool]:
    """The lane that ``shfl`` reads and whether it is in range (the manual's pseudo-code, section 9.7.9.6)."""
    offset, clamp, segment = b & 31, c & 31, c >> 8 & 31
    last = (lane & segment) | (clamp & ~segment)
    if operation == "up":
        source = lane - offset
        inside = source >= last
    else:
        if operation == "down":
            source = lane + offset
        elif operation == "bfly":
            source = lane ^ offset
        else:
            source = (lane & segment) | (offset & ~segment)
        inside = source <= last
    return (source, True) if inside else (lane, False)


def _shuffle_by_constants(e: Emitter, op: Opcode, a: Value, b: int, c: int) -> tuple[Value, Value]:
    pairs = [source_lane(op.operation, lane, b, c) for lane in range(WARP)]
    indices = ", ".join([f"i32 {source}" for source, _ in pairs])
    value = e.value(a.elem, WARP, f"shufflevector {a.typed}, {a.type} poison, <{WARP} x i32> <{indices}>")
    return value, e.vector_const("i1", [1 if inside else 0 for _, inside in pairs])


def _source_lanes(e: Emitter, op: Opcode, b: Value, c: Value) -> tuple[Value, Value]:
    lane = e.vector_const("i32", list(range(WARP)))
    offset = e.binary("and", b, const(b, 31))
    clamp = e.binary("and", c, const(c, 31))
    segment = e.binary("and", e.binary("lshr", c, const(c, 8)), const(c, 31))
    first = e.binary("and", lane, segment)
    outside_segment = not_(e, segment)
    last = e.binary("or", first, e.binary("and", clamp, outside_segment))
    if op.operation == "up":
        source = e.binary("sub", lane, offset)
        inside = e.icmp("sge", source, last)
    else:
        if op.operation == "down":
            source = e.binary("add", lane, offset)
        elif op.operation == "bfly":
            source = e.binary("xor", lane, offset)
        else:
            source = e.binary("or", first, e.binary("and", offset, outside_segment))
        inside = e.icmp("sle", source, last)
    return e.select(inside, source, lane), inside


def _participants(e: Emitter, members: Value, active: Value) -> Value:
    """The lanes that are active and named by ``members``, as bits."""
    bits = e.splat(mask_bits(e, active), members.lanes)
    return bits if literal(members) == 0xFFFFFFFF else e.binary("and", members, bits)


def _lanes_of(e: Emitter, bits: Value) -> Value:
    """A scalar i32 as a vector of i1."""
    return e.value("i1", WARP, f"bitcast {bits.typed} to <{WARP} x i1>")


def _first_lane(e: Emitter, bits: Value) -> Value:
    """The lowest set bit; lane 0 when there is none, so that it is always a lane."""
    count = e.call(f"llvm.cttz.{type_suffix('i32', bits.lanes)}", "i32", bits.lanes, [bits, int_const("i1", 0)])
    return e.binary("and", count, const(count, 31))


def equal_lanes(e: Emitter, a: Value, active: Value) -> Value:
    """For each lane the active lanes with its value, as bits: one turn for each different value."""
    name = f"drawloom.match.v{WARP}{a.elem}"
    if name not in e.declarations:
        e.declare("llvm.cttz.i32", "i32", ["i32", "i1"])
        e.declarations[name] = _MATCH.replace("ELEM", a.elem).replace("NAME", name)
    return e.value("i32", WARP, f"call <32 x i32> @{name}({a.typed}, {active.typed})")


def _identity(op: Opcode, like: Value) -> Value:
    assert op.type is not None
    if not op.type.is_float:
        return const(like, _IDENTITY[op.operation, op.type.is_signed])
    if op.nan:
        text = "0x7FF0000000000000" if op.operation == "min" else "0xFFF0000000000000"
        return Value(f"splat (float {text})", "float", like.lanes)
    # Against a NaN the other operand wins, so lanes that take no part are NaN.
    return canonical_nan(like)


def _combine(e: Emitter, op: Opcode, a: Value, b: Value) -> Value:
    assert op.type is not None
    if op.type.is_float:
        # .NaN is LLVM's IEEE 754-2019 minimum; without it, minimumNumber. Both have -0 below +0.
        name = f"llvm.{op.operation}imum"
        return e.intrinsic(name if op.nan else name + "num", [a, b])
    if op.operation in ("min", "max"):
        return e.intrinsic(f"llvm.{'s' if op.type.is_signed else 'u'}{op.operation}", [a, b])
    return e.binary(op.operation, a, b)


def _reduce(e: Emitter, op: Opcode, a: Value) -> Value:
    """Halve the vector until one element is left."""
    while a.lanes > 1:
        half = a.lanes // 2
        a = _combine(e, op, piece(e, a, 0, half), piece(e, a, half, half))
    return e.extract(a, int_const("i32", 0))


def _reduce_per_lane(e: Emitter, op: Opcode, a: Value, participants: Value, identity: Value) -> Value:
    """Every lane reduces over its own set: 32 turns, each offering one lane's value to all."""
    result = identity
    for lane in range(WARP):
        bit = e.binary("and", participants, const(participants, 1 << lane))
        takes = e.icmp("ne", bit, const(bit, 0))
        offered = e.splat(e.extract(a, int_const("i32", lane)), WARP)
        result = e.select(takes, _combine(e, op, result, offered), result)
    return result


_PERMUTE: Final = """define internal <32 x i32> @drawloom.permute.v32i32(<32 x i32> %a, <32 x i32> %source) noinline {
entry:
  %values = alloca <32 x i32>
  %sources = alloca <32 x i32>
  store <32 x i32> %a, ptr %values
  store <32 x i32> %source, ptr %sources
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %place = getelementptr i32, ptr %sources, i64 %i
  %index = load i32, ptr %place
  %from = getelementptr i32, ptr %values, i32 %index
  %value = load i32, ptr %from
  store i32 %value, ptr %place
  %next = add nuw nsw i64 %i, 1
  %done = icmp eq i64 %next, 32
  br i1 %done, label %end, label %loop
end:
  %result = load <32 x i32>, ptr %sources
  ret <32 x i32> %result
}"""

_MATCH: Final = """define internal <32 x i32> @NAME(<32 x ELEM> %a, <32 x i1> %active)
noinline nounwind willreturn memory(none) {
entry:
  %values = alloca <32 x ELEM>
  store <32 x ELEM> %a, ptr %values
  %all = bitcast <32 x i1> %active to i32
  %none = icmp eq i32 %all, 0
  br i1 %none, label %end, label %loop
loop:
  %left = phi i32 [ %all, %entry ], [ %fewer, %loop ]
  %result = phi <32 x i32> [ zeroinitializer, %entry ], [ %more, %loop ]
  %lane = call i32 @llvm.cttz.i32(i32 %left, i1 true)
  %place = getelementptr ELEM, ptr %values, i32 %lane
  %value = load ELEM, ptr %place
  %one = insertelement <32 x ELEM> poison, ELEM %value, i64 0
  %every = shufflevector <32 x ELEM> %one, <32 x ELEM> poison, <32 x i32> zeroinitializer
  %equal = icmp eq <32 x ELEM> %a, %every
  %equal_active = and <32 x i1> %equal, %active
  %bits = bitcast <32 x i1> %equal_active to i32
  %bits_one = insertelement <32 x i32> poison, i32 %bits, i64 0
  %bits_every = shufflevector <32 x i32> %bits_one, <32 x i32> poison, <32 x i32> zeroinitializer
  %more = select <32 x i1> %equal_active, <32 x i32> %bits_every, <32 x i32> %result
  %rest = xor i32 %bits, -1
  %fewer = and i32 %left, %rest
  %done = icmp eq i32 %fewer, 0
  br i1 %done, label %end, label %loop
end:
  %out = phi <32 x i32> [ zeroinitializer, %entry ], [ %more, %loop ]
  ret <32 x i32> %out
}"""
