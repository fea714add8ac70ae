"""The instruction for a register's lanes that come from other registers: renaming, an immediate form, or an index.

    before: lanes (a0, a1, b0, b1, a4, a5, b4, b5) of two registers a and b
    after:  _mm256_shuffle_ps(a, b, 0x44)

A pattern that has an immediate form needs no register for an index. AVX-512's last resort is one permutation of two
registers by an index, AVX2's are permutations of each register and a blend. Lanes that nothing reads fit every form.
"""

from __future__ import annotations

from typing import NamedTuple

from drawloom.batch.backends.simd.isa import F32, F64, I32, I64, Carrier, Isa


class Pick(NamedTuple):
    """A lane of a register. None in a list of picks stands for a lane that nothing reads."""

    register: str
    lane: int


Lanes = list[int | None]
#: Bytes of a block, across which many instructions move nothing.
BLOCK_BYTES = 16


def arrange(isa: Isa, carrier: Carrier, picks: list[Pick | None]) -> str:
    """Return an expression for a register of picked lanes.

    Args:
        isa: The instruction set.
        carrier: What the lanes are.
        picks: The source of every lane.
    """
    if carrier.domain == "si":
        real = F32 if carrier is I32 else F64
        cast = [None if p is None else Pick(isa.cast(p.register, "si", real.domain), p.lane) for p in picks]
        if is_identity(picks):
            return next(p.register for p in picks if p is not None)
        return isa.cast(arrange(isa, real, cast), real.domain, "si")
    registers = list(dict.fromkeys(pick.register for pick in picks if pick is not None))
    if not registers:
        return f"{isa.prefix}_setzero_{carrier.suffix}()"
    if len(registers) == 1:
        return permute(isa, carrier, registers[0], [None if pick is None else pick.lane for pick in picks])
    lanes = isa.lanes(carrier)
    first, second = registers[:2]
    both: Lanes = [
        pick.lane + lanes * (pick.register == second) if pick is not None and pick.register in registers[:2] else None
        for pick in picks
    ]
    result = combine(isa, carrier, first, second, both)
    for register in registers[2:]:
        own: Lanes = [pick.lane if pick is not None and pick.register == register else None for pick in picks]
        taken = [pick is not None and pick.register == register for pick in picks]
        result = blend(isa, carrier, result, permute(isa, carrier, register, own), taken)
    return result


def is_identity(picks: list[Pick | None]) -> bool:
    registers = {pick.register for pick in picks if pick is not None}
    return len(registers) == 1 and all(pick is None or pick.lane == place for place, pick in enumerate(picks))


def blend(isa: Isa, carrier: Carrier, first: str, second: str, taken: list[bool]) -> str:
    """Return the second register's lanes where `taken`, the first one's elsewhere."""
    bits = sum(1 << place for place, is_taken in enumerate(taken) if is_taken)
    if isa.has_mask_registers:
        return f"{isa.prefix}_mask_blend_{carrier.suffix}({bits:#x}, {first}, {second})"
    if carrier.domain == "si":
        wide = sum(3 << 2 * place for place, is_taken in enumerate(taken) if is_taken)
        return f"{isa.prefix}_blend_epi32({first}, {second}, {bits if carrier is I32 else wide:#x})"
    return f"{isa.prefix}_blend_{carrier.suffix}({first}, {second}, {bits:#x})"


# One register.


def permute(isa: Isa, carrier: Carrier, register: str, lanes: Lanes) -> str:
    """Return lanes of one register in another order."""
    if all(lane in (None, place) for place, lane in enumerate(lanes)):
        return register
    immediate = permute_by_immediate(isa, carrier, register, lanes)
    if immediate is not None:
        return immediate
    if carrier is F32:
        pairs = as_pairs(lanes)
        if pairs is not None:
            wide = permute_by_immediate(isa, F64, isa.cast(register, "ps", "pd"), pairs)
            if wide is not None:
                return isa.cast(wide, "pd", "ps")
    index = index_register(isa, carrier, lanes)
    if isa.has_mask_registers:
        return f"{isa.prefix}_permutexvar_{carrier.suffix}({index}, {register})"
    # Every order of four doubles has an immediate form.
    return f"{isa.prefix}_permutevar8x32_ps({register}, {index})"


def permute_by_immediate(isa: Isa, carrier: Carrier, register: str, lanes: Lanes) -> str | None:
    p, s = isa.prefix, carrier.suffix
    if {lane for lane in lanes if lane is not None} == {0}:
        name = "broadcastss_ps" if carrier is F32 else "broadcastsd_pd"
        cast = {"_mm512": "_mm512_cast{s}512_{s}128", "_mm256": "_mm256_cast{s}256_{s}128"}[p].format(s=s)
        return f"{p}_{name}({cast}({register}))"
    block = BLOCK_BYTES // carrier.bytes
    if carrier is F32:
        pattern = repeated_pattern(lanes, block)
        if pattern is not None:
            return f"{p}_permute_ps({register}, {two_bits(pattern):#x})"
    elif all(lane is None or lane // 2 == place // 2 for place, lane in enumerate(lanes)):
        bits = sum((place if lane is None else lane) % 2 << place for place, lane in enumerate(lanes))
        return f"{p}_permute_pd({register}, {bits:#x})"
    if carrier is F64:
        pattern = repeated_pattern(lanes, 4)
        if pattern is not None:
            name = "permutex_pd" if isa.has_mask_registers else "permute4x64_pd"
            return f"{p}_{name}({register}, {two_bits(pattern):#x})"
    blocks = whole_blocks(lanes, block)
    if blocks is None:
        return None
    return pick_blocks(isa, carrier, register, register, [0 if number is None else number for number in blocks])


def repeated_pattern(lanes: Lanes, size: int) -> list[int] | None:
    """Return the order of lanes that all groups of `size` lanes have; None where there is none."""
    pattern: Lanes = [None] * size
    for place, lane in enumerate(lanes):
        if lane is None:
            continue
        if lane // size != place // size or pattern[place % size] not in (None, lane % size):
            return None
        pattern[place % size] = lane % size
    return [place if lane is None else lane for place, lane in enumerate(pattern)]


def whole_blocks(lanes: Lanes, size: int) -> Lanes | None:
    """Return which block of `size` lanes each block is; None where one is not a whole block."""
    blocks: Lanes = [None] * (len(lanes) // size)
    for place, lane in enumerate(lanes):
        if lane is None:
            continue
        if lane % size != place % size or blocks[place // size] not in (None, lane // size):
            return None
        blocks[place // size] = lane // size
    return blocks


def as_pairs(lanes: Lanes) -> Lanes | None:
    """Return lanes of 32 bits as lanes of 64 bits; None where pairs do not stay together."""
    return whole_blocks(lanes, 2)


def two_bits(numbers: list[int]) -> int:
    return sum(number << 2 * place for place, number in enumerate(numbers))


def index_register(isa: Isa, carrier: Carrier, lanes: Lanes) -> str:
    integer = I32 if carrier.bytes == 4 else I64
    return isa.set_lanes(integer, [str(place if lane is None else lane) for place, lane in enumerate(lanes)])


# Two registers.


def combine(isa: Isa, carrier: Carrier, first: str, second: str, lanes: Lanes) -> str:
    """Return lanes of two registers, numbered side by side."""
    immediate = combine_by_immediate(isa, carrier, first, second, lanes)
    if immediate is not None:
        return immediate
    if carrier is F32:
        pairs = as_pairs(lanes)
        if pairs is not None:
            cast = [isa.cast(register, "ps", "pd") for register in (first, second)]
            wide = combine_by_immediate(isa, F64, cast[0], cast[1], pairs)
            if wide is not None:
                return isa.cast(wide, "pd", "ps")
    if isa.has_mask_registers:
        index = index_register(isa, carrier, lanes)
        return f"{isa.prefix}_permutex2var_{carrier.suffix}({first}, {index}, {second})"
    count = isa.lanes(carrier)
    taken = [lane is not None and lane >= count for lane in lanes]
    own: Lanes = [None if lane is None or lane >= count else lane for lane in lanes]
    other: Lanes = [None if lane is None or lane < count else lane - count for lane in lanes]
    return blend(isa, carrier, permute(isa, carrier, first, own), permute(isa, carrier, second, other), taken)


def combine_by_immediate(isa: Isa, carrier: Carrier, first: str, second: str, lanes: Lanes) -> str | None:
    count = isa.lanes(carrier)
    if all(lane is None or lane % count == place for place, lane in enumerate(lanes)):
        return blend(isa, carrier, first, second, [lane is not None and lane >= count for lane in lanes])
    swapped: Lanes = [None if lane is None else (lane + count) % (2 * count) for lane in lanes]
    for one, other, order in ((first, second, lanes), (second, first, swapped)):
        found = interleave(isa, carrier, one, other, order) or shuffle_within_blocks(isa, carrier, one, other, order)
        if found is not None:
            return found
        blocks = whole_blocks(order, BLOCK_BYTES // carrier.bytes)
        if blocks is not None and can_pick_blocks(isa, blocks):
            filled = fill_blocks(isa, blocks)
            return pick_blocks(isa, carrier, one, other, filled)
    return None


def interleave(isa: Isa, carrier: Carrier, first: str, second: str, lanes: Lanes) -> str | None:
    """Match unpacklo and unpackhi: lanes of the halves of each block, in turns."""
    count, block = isa.lanes(carrier), BLOCK_BYTES // carrier.bytes
    for name, start in (("unpacklo", 0), ("unpackhi", block // 2)):
        expected = [
            place - place % block + start + place % block // 2 + count * (place % 2) for place in range(count)
        ]
        if all(lane in (None, other) for lane, other in zip(lanes, expected)):
            return f"{isa.prefix}_{name}_{carrier.suffix}({first}, {second})"
    return None


def shuffle_within_blocks(isa: Isa, carrier: Carrier, first: str, second: str, lanes: Lanes) -> str | None:
    """Match shuffle_ps and shuffle_pd: the low half of each block from one register, the high half from the other."""
    count, block = isa.lanes(carrier), BLOCK_BYTES // carrier.bytes
    own: Lanes = []
    for place, lane in enumerate(lanes):
        is_second = place % block >= block // 2
        if lane is not None and (lane >= count) != is_second:
            return None
        own.append(None if lane is None else lane % count)
    if carrier is F32:
        pattern = repeated_pattern(own, block)
        if pattern is None:
            return None
        immediate = two_bits(pattern)
    else:
        if any(lane is not None and lane // 2 != place // 2 for place, lane in enumerate(own)):
            return None
        immediate = sum((place if lane is None else lane) % 2 << place for place, lane in enumerate(own))
    return f"{isa.prefix}_shuffle_{carrier.suffix}({first}, {second}, {immediate:#x})"


def can_pick_blocks(isa: Isa, blocks: Lanes) -> bool:
    """Return whether one instruction takes these blocks: any two for AVX2, two of each register for AVX-512."""
    if not isa.has_mask_registers:
        return True
    return all(block is None or block // 4 == place // 2 for place, block in enumerate(blocks))


def fill_blocks(isa: Isa, blocks: Lanes) -> list[int]:
    """Choose blocks for those that nothing reads."""
    if not isa.has_mask_registers:
        return [0 if block is None else block for block in blocks]
    return [4 * (place // 2) if block is None else block for place, block in enumerate(blocks)]


def pick_blocks(isa: Isa, carrier: Carrier, first: str, second: str, blocks: list[int]) -> str:
    if isa.has_mask_registers:
        name = "shuffle_f32x4" if carrier is F32 else "shuffle_f64x2"
        return f"{isa.prefix}_{name}({first}, {second}, {two_bits([block % 4 for block in blocks]):#x})"
    immediate = blocks[0] | blocks[1] << 4
    return f"{isa.prefix}_permute2f128_{carrier.suffix}({first}, {second}, {immediate:#x})"
