"""Bit-level instructions (PTX ISA 9.0 sections 9.7.1.15 to 9.7.1.23 and 9.7.8, and ``prmt``) as LLVM integers.

LLVM's own shifts are undefined for counts that reach the width, so every count is clamped or compared first.
"""

from __future__ import annotations

from typing import Final

from drawloom.cpu.emitter import ELEM_BITS, Emitter, Value, int_const
from drawloom.cpu.ops.common import Emit, const, join, literal, not_, umin
from drawloom.cpu.ops.rounding import concatenate, piece
from drawloom.ptx.isa import Opcode


def emit_and(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    return [e.binary("and", args[0], args[1])]


def emit_or(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    return [e.binary("or", args[0], args[1])]


def emit_xor(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    return [e.binary("xor", args[0], args[1])]


def emit_not(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    return [not_(e, args[0])]


def emit_cnot(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    """``cnot``: 1 for 0, else 0."""
    a = args[0]
    return [e.cast("zext", e.icmp("eq", a, const(a, 0)), a.elem)]


def emit_shl(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    return [shift_left(e, args[0], args[1])]


def emit_shr(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    """``shr``: arithmetic for signed types, logical for the others."""
    assert op.type is not None
    if op.type.is_signed:
        return [shift_right_signed(e, args[0], args[1])]
    return [shift_right(e, args[0], args[1])]


def emit_shf(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    """``shf``: a funnel shift of b:a, whose count is clamped to 32 or taken modulo 32 (section 9.7.8.8)."""
    a, b, count = args
    left = op.has("l")
    shifted = _funnel_shift(e, left, b, a, count)
    if op.has("wrap"):
        return [shifted]
    inside = e.icmp("ult", count, const(count, 32))
    return [e.select(inside, shifted, a if left else b)]


def _funnel_shift(e: Emitter, left: bool, high: Value, low: Value, count: Value) -> Value:
    """The upper half of high:low << count % 32, or the lower half of high:low >> count % 32."""
    if not e.shifts_by_floats(low):
        return e.intrinsic("llvm.fshl" if left else "llvm.fshr", [high, low, count])
    both = join(e, low, high, "i64")
    amount = e.cast("zext", e.binary("and", count, const(count, 31)), "i64")
    moved = e.binary("lshr", e.binary("shl", both, amount), const(both, 32)) if left else e.binary("lshr", both, amount)
    return e.cast("trunc", moved, "i32")


def emit_popc(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    return [e.cast("trunc", e.intrinsic("llvm.ctpop", args), "i32")]


def emit_clz(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    return [e.cast("trunc", leading_zeros(e, args[0]), "i32")]


def emit_brev(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    return [e.intrinsic("llvm.bitreverse", args)]


def emit_bfind(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    """``bfind``: the position of the first bit from the top that is no sign bit, all ones when there is none."""
    assert op.type is not None
    a = args[0]
    if op.type.is_signed:
        a = e.binary("xor", a, e.binary("ashr", a, const(a, op.type.bits - 1)))
    zeros = e.cast("trunc", leading_zeros(e, a), "i32")
    if not op.has("shiftamt"):
        return [e.binary("sub", const(zeros, op.type.bits - 1), zeros)]
    return [e.select(e.icmp("eq", a, const(a, 0)), const(zeros, -1), zeros)]


def emit_bfe(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    """``bfe``: position and length are the low 8 bits of their operands (section 9.7.1.20)."""
    assert op.type is not None
    a = args[0]
    bits = op.type.bits
    position = e.binary("and", args[1], const(args[1], 0xFF))
    length = e.binary("and", args[2], const(args[2], 0xFF))
    if not op.type.is_signed:
        return [e.binary("and", shift_right(e, a, position), _ones(e, a, length))]
    # Past the top the field continues with a's sign, which is what an arithmetic shift brings in.
    field = shift_right_signed(e, a, position)
    spare = e.binary("sub", const(length, bits), umin(e, length, const(length, bits)))
    amount = _resize(e, umin(e, spare, const(spare, bits - 1)), a.elem)
    extended = e.binary("ashr", e.binary("shl", field, amount), amount)
    return [e.select(e.icmp("eq", length, const(length, 0)), const(a, 0), extended)]


def emit_bfi(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    """``bfi``: the low bits of a over b, at position c with length d, both taken modulo 256."""
    a, b = args[0], args[1]
    position = e.binary("and", args[2], const(args[2], 0xFF))
    length = e.binary("and", args[3], const(args[3], 0xFF))
    mask = shift_left(e, _ones(e, a, length), position)
    inserted = e.binary("and", shift_left(e, a, position), mask)
    return [e.binary("or", e.binary("and", b, not_(e, mask)), inserted)]


def emit_szext(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    """``szext``: a as an N-bit value; 0 for N = 0, a itself for N >= 32 with ``.clamp``."""
    assert op.type is not None
    a, n = args
    width = e.binary("and", n, const(n, 31))
    spare = e.binary("and", e.binary("sub", const(n, 32), width), const(n, 31))
    shift = "ashr" if op.type.is_signed else "lshr"
    extended = e.binary(shift, e.binary("shl", a, spare), spare)
    result = e.select(e.icmp("eq", width, const(n, 0)), const(a, 0), extended)
    if op.has("wrap"):
        return [result]
    return [e.select(e.icmp("uge", n, const(n, 32)), a, result)]


def emit_bmsk(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    """``bmsk``: b ones from bit a upwards (section 9.7.1.23)."""
    a, b = args
    start = e.binary("and", a, const(a, 31))
    from_start = e.binary("shl", const(a, -1), start)
    if op.has("wrap"):
        count = e.binary("and", b, const(b, 31))
    else:
        count = umin(e, b, const(b, 32))
        from_start = e.select(e.icmp("uge", a, const(a, 32)), const(a, 0), from_start)
    end = e.binary("add", start, count)
    return [e.binary("and", from_start, not_(e, shift_left(e, const(a, -1), end)))]


def emit_lop3(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    """``lop3``: any function of three bits by its truth table, an immediate; with a Boolean operation also the
    predicate (result != 0) op q as second result. Raises ``ValueError`` when the table is no constant."""
    table = literal(args[3])
    if table is None:
        raise ValueError("lop3: the truth table must be an immediate, 0 to 255")
    result = _function3(e, args[0], args[1], args[2], table & 0xFF)
    if not op.operation:
        return [result]
    return [result, e.binary(op.operation, e.icmp("ne", result, const(result, 0)), args[4])]


#: For ``prmt``'s special modes, the generic selector for each value of c's low two bits (section 9.7.9.7).
PRMT_SELECTORS: Final[dict[str, tuple[int, int, int, int]]] = {
    "f4e": (0x3210, 0x4321, 0x5432, 0x6543),
    "b4e": (0x5670, 0x6701, 0x7012, 0x0123),
    "rc8": (0x0000, 0x1111, 0x2222, 0x3333),
    "ecl": (0x3210, 0x3211, 0x3222, 0x3333),
    "ecr": (0x0000, 0x1110, 0x2210, 0x3210),
    "rc16": (0x1010, 0x3232, 0x1010, 0x3232),
}


def emit_prmt(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    """``prmt``: four bytes picked from b:a by four selectors; their top bit replicates the byte's sign."""
    a, b, control = args
    fixed = literal(control)
    if op.operation:
        table = PRMT_SELECTORS[op.operation]
        if fixed is not None:
            fixed = table[fixed & 3]
        else:
            low = e.icmp("ne", e.binary("and", control, const(control, 1)), const(control, 0))
            high = e.icmp("ne", e.binary("and", control, const(control, 2)), const(control, 0))
            control = e.select(
                high,
                e.select(low, const(control, table[3]), const(control, table[2])),
                e.select(low, const(control, table[1]), const(control, table[0])),
            )
    if fixed is not None and not fixed & 0x8888:
        return [_bytes(e, a, b, fixed)]
    if fixed is not None:
        control = const(control, fixed)
    if a.lanes and "ssse3" in e.features:
        return [_permute_bytes(e, a, b, control)]
    return [_permute(e, a, b, control)]


def emit_fns(e: Emitter, op: Opcode, args: list[Value]) -> list[Value]:
    """``fns``: the n-th set bit from a base, up or down; all ones when there is none (section 9.7.1.18)."""
    first = args[0]
    suffix = f"v{first.lanes}i32" if first.lanes else "i32"
    name = f"drawloom.fns.{suffix}"
    if name not in e.declarations:
        e.declare(f"llvm.abs.{suffix}", first.type, [first.type, "i1"])
        e.declarations[name] = _fns_function(name, first, suffix)
    return [e.value("i32", first.lanes, f"call {first.type} @{name}({', '.join([a.typed for a in args])})")]


def shift_left(e: Emitter, a: Value, count: Value) -> Value:
    """``a << count`` for an i32 ``count`` of any size."""
    inside = e.icmp("ult", count, const(count, ELEM_BITS[a.elem]))
    return e.select(inside, e.binary("shl", a, _resize(e, count, a.elem)), const(a, 0))


def shift_right(e: Emitter, a: Value, count: Value) -> Value:
    """Logical ``a >> count`` for an i32 ``count`` of any size."""
    inside = e.icmp("ult", count, const(count, ELEM_BITS[a.elem]))
    return e.select(inside, e.binary("lshr", a, _resize(e, count, a.elem)), const(a, 0))


def shift_right_signed(e: Emitter, a: Value, count: Value) -> Value:
    """Arithmetic ``a >> count`` for an i32 ``count`` of any size."""
    clamped = umin(e, count, const(count, ELEM_BITS[a.elem] - 1))
    return e.binary("ashr", a, _resize(e, clamped, a.elem))


def leading_zeros(e: Emitter, a: Value) -> Value:
    """The number of leading zero bits, the width for 0."""
    suffix = f"v{a.lanes}{a.elem}" if a.lanes else a.elem
    return e.call(f"llvm.ctlz.{suffix}", a.elem, a.lanes, [a, int_const("i1", 0)])


def _resize(e: Emitter, a: Value, elem: str) -> Value:
    return e.cast("trunc" if ELEM_BITS[elem] < ELEM_BITS[a.elem] else "zext", a, elem)


def _ones(e: Emitter, like: Value, length: Value) -> Value:
    """``length`` low ones (all of them from the width on), as an integer like ``like``."""
    return not_(e, shift_left(e, const(like, -1), length))


def _function3(e: Emitter, a: Value, b: Value, c: Value, table: int) -> Value:
    """Shannon expansion by c: bit 4a + 2b + c of ``table``."""
    zero, one = 0, 0
    for i in range(4):
        zero |= (table >> (2 * i) & 1) << i
        one |= (table >> (2 * i + 1) & 1) << i
    without = _function2(e, a, b, zero)
    if zero == one:
        return without
    change = _function2(e, a, b, zero ^ one)
    return e.binary("xor", without, e.binary("and", change, c))


def _function2(e: Emitter, a: Value, b: Value, table: int) -> Value:
    """Bit 2a + b of a 4-bit ``table``."""
    zero = (table & 1) | (table >> 1 & 2)
    one = (table >> 1 & 1) | (table >> 2 & 2)
    without = _function1(e, a, zero)
    if zero == one:
        return without
    return e.binary("xor", without, e.binary("and", _function1(e, a, zero ^ one), b))


def _function1(e: Emitter, a: Value, table: int) -> Value:
    if table == 2:
        return a
    return not_(e, a) if table == 1 else const(a, -1 if table else 0)


def _bytes(e: Emitter, a: Value, b: Value, selectors: int) -> Value:
    """The four bytes that constant ``selectors`` name, as a byte shuffle (vector) or shifts (scalar)."""
    if not a.lanes:
        return _permute(e, a, b, const(a, selectors))
    count = 4 * a.lanes
    vector = f"<{count} x i8>"
    left = e.value("i8", count, f"bitcast {a.typed} to {vector}")
    right = e.value("i8", count, f"bitcast {b.typed} to {vector}")
    mask: list[str] = []
    for lane in range(a.lanes):
        for byte in range(4):
            selector = selectors >> (4 * byte) & 7
            mask.append(f"i32 {4 * lane + (selector & 3) + (count if selector & 4 else 0)}")
    picked = e.value("i8", count, f"shufflevector {left.typed}, {right.typed}, <{count} x i32> <{', '.join(mask)}>")
    return e.value("i32", a.lanes, f"bitcast {picked.typed} to {a.type}")


def _permute_bytes(e: Emitter, a: Value, b: Value, control: Value) -> Value:
    """``prmt`` by the processor's byte shuffle, which stays within 16 bytes: one of a, one of b, and a choice."""
    # Spread the four selectors over the four bytes of their lane.
    pairs = e.binary("and", control, const(control, 0xFFFF))
    pairs = e.binary("and", e.binary("or", pairs, e.binary("shl", pairs, const(pairs, 8))), const(pairs, 0x00FF00FF))
    spread = e.binary("or", pairs, e.binary("shl", pairs, const(pairs, 4)))
    count = 4 * a.lanes
    selectors = _as_bytes(e, e.binary("and", spread, const(spread, 0x0F0F0F0F)))
    own = e.vector_const("i8", [i & 12 for i in range(count)])
    index = e.binary("or", e.binary("and", selectors, const(selectors, 3)), own)
    upper = e.icmp("ne", e.binary("and", selectors, const(selectors, 4)), const(selectors, 0))
    moved = e.select(upper, _shuffle_bytes(e, _as_bytes(e, b), index), _shuffle_bytes(e, _as_bytes(e, a), index))
    replicate = e.icmp("ne", e.binary("and", selectors, const(selectors, 8)), const(selectors, 0))
    result = e.select(replicate, e.binary("ashr", moved, const(moved, 7)), moved)
    return e.value("i32", a.lanes, f"bitcast {result.typed} to {a.type}")


def _as_bytes(e: Emitter, a: Value) -> Value:
    return e.value("i8", 4 * a.lanes, f"bitcast {a.typed} to <{4 * a.lanes} x i8>")


def _shuffle_bytes(e: Emitter, a: Value, index: Value) -> Value:
    """Byte i of each 16 is byte ``index[i]`` (0 to 15) of the same 16."""
    name, width = "llvm.x86.ssse3.pshuf.b.128", 16
    if "avx512bw" in e.features:
        name, width = "llvm.x86.avx512.pshuf.b.512", 64
    elif "avx2" in e.features:
        name, width = "llvm.x86.avx2.pshuf.b", 32
    starts = range(0, a.lanes, width)
    return concatenate(
        e, [e.call(name, "i8", width, [piece(e, a, s, width), piece(e, index, s, width)]) for s in starts]
    )


def _permute(e: Emitter, a: Value, b: Value, control: Value) -> Value:
    both = e.binary("or", e.binary("shl", e.cast("zext", b, "i64"), const(e.cast("zext", b, "i64"), 32)),
                    e.cast("zext", a, "i64"))  # fmt: skip
    result = const(a, 0)
    for byte in range(4):
        selector = e.binary("lshr", control, const(control, 4 * byte)) if byte else control
        amount = e.binary("shl", e.binary("and", selector, const(selector, 7)), const(selector, 3))
        moved = e.cast("trunc", e.binary("lshr", both, e.cast("zext", amount, "i64")), "i8")
        sign = e.binary("ashr", moved, const(moved, 7))
        replicate = e.icmp("ne", e.binary("and", selector, const(selector, 8)), const(selector, 0))
        picked = e.cast("zext", e.select(replicate, sign, moved), "i32")
        result = e.binary("or", result, e.binary("shl", picked, const(picked, 8 * byte)))
    return result


def _fns_function(name: str, like: Value, suffix: str) -> str:
    """Walks all lanes at once, one bit position a turn."""
    t = like.type
    flag = f"<{like.lanes} x i1>" if like.lanes else "i1"

    def c(value: int) -> str:
        return int_const("i32", value, like.lanes).text

    return f"""define internal {t} @{name}({t} %mask, {t} %base, {t} %offset) noinline nounwind {{
entry:
  %up = icmp sgt {t} %offset, {c(0)}
  %still = icmp eq {t} %offset, {c(0)}
  %step = select {flag} %up, {t} {c(1)}, {t} {c(-1)}
  %magnitude = call {t} @llvm.abs.{suffix}({t} %offset, i1 false)
  %less = sub {t} %magnitude, {c(1)}
  %wanted = select {flag} %still, {t} {c(0)}, {t} %less
  br label %loop
loop:
  %turn = phi i32 [ 0, %entry ], [ %next_turn, %loop ]
  %position = phi {t} [ %base, %entry ], [ %next_position, %loop ]
  %left = phi {t} [ %wanted, %entry ], [ %next_left, %loop ]
  %found = phi {t} [ {c(-1)}, %entry ], [ %next_found, %loop ]
  %inside = icmp ult {t} %position, {c(32)}
  %amount = and {t} %position, {c(31)}
  %shifted = lshr {t} %mask, %amount
  %bit = and {t} %shifted, {c(1)}
  %bit_set = icmp ne {t} %bit, {c(0)}
  %set = and {flag} %inside, %bit_set
  %last = icmp eq {t} %left, {c(0)}
  %missing = icmp eq {t} %found, {c(-1)}
  %here = and {flag} %set, %last
  %hit = and {flag} %here, %missing
  %next_found = select {flag} %hit, {t} %position, {t} %found
  %fewer = sub {t} %left, {c(1)}
  %next_left = select {flag} %set, {t} %fewer, {t} %left
  %moved = add {t} %position, %step
  %next_position = select {flag} %still, {t} {c(32)}, {t} %moved
  %next_turn = add nuw nsw i32 %turn, 1
  %done = icmp eq i32 %next_turn, 32
  br i1 %done, label %end, label %loop
end:
  ret {t} %next_found
}}"""


EMIT_BITS: Final[dict[str, Emit]] = {
    "and": emit_and, "or": emit_or, "xor": emit_xor, "not": emit_not, "cnot": emit_cnot, "shl": emit_shl,
    "shr": emit_shr, "shf": emit_shf, "popc": emit_popc, "clz": emit_clz, "brev": emit_brev, "bfind": emit_bfind,
    "bfe": emit_bfe, "bfi": emit_bfi, "szext": emit_szext, "bmsk": emit_bmsk, "lop3": emit_lop3, "prmt": emit_prmt,
    "fns": emit_fns,
}  # fmt: skip
