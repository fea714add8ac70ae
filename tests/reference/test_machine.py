"""Control flow, memory, calls, atomics and warp operations of the machine, on small kernels."""

from __future__ import annotations

import numpy as np
import pytest

from drawloom.ptx.isa import decode
from drawloom.reference.atomics import read_modify_write
from drawloom.reference.formats import F16
from drawloom.reference.warp_semantics import COLLECTIVES, shuffle_source
from tests.reference.harness import HEADER, body_kernel, launch
from tests.reference.semantics import INTEGER_EDGES, samples

REGISTERS = (
    ".reg .b32 %r<20>; .reg .b64 %d<9>; .reg .pred %p<6>; .reg .b16 %h<6>; .reg .f32 %f<4>; .reg .f64 %e<4>; "
    ".reg .b128 %q<3>;"
)
#: `%d0` is the output, `%d1` the place of the thread's 16 words in it, `%r0` the thread.
HEAD = "ld.param.u64 %d0, [out];\nmov.u32 %r0, %tid.x;\nmul.wide.u32 %d1, %r0, 64;\nadd.u64 %d1, %d0, %d1;\n"


def run(body: str, threads: int = 32, declarations: str = "", grid: int = 1) -> np.ndarray:
    """The 16 words of every thread after `body`."""
    out = np.zeros((threads, 16), np.uint32)
    launch(body_kernel(REGISTERS + declarations, HEAD + body), "k", grid, threads, out)
    return out


# Loads and stores.


def test_narrow_loads_extend_and_stores_truncate() -> None:
    out = run(
        "mov.u32 %r1, 0x80FF7F81;\nst.global.u32 [%d1], %r1;\nld.global.s8 %r2, [%d1];\nld.global.u8 %r3, [%d1];\n"
        "ld.global.s16 %r4, [%d1+2];\nld.global.s8 %d2, [%d1+3];\nld.global.u16 %d3, [%d1+2];\n"
        "st.global.u8 [%d1+5], %r1;\n"
        "st.global.u16 [%d1+6], %d2;\nst.global.v4.b32 [%d1+16], {%r2, %r3, %r4, -1};\n"
        "st.global.v2.b64 [%d1+32], {%d2, %d3};",
        1,
    )[0]
    assert list(out[:9]) == [0x80FF7F81, 0xFF808100, 0, 0, 0xFFFFFF81, 0x81, 0xFFFF80FF, 0xFFFFFFFF, 0xFFFFFF80]
    assert list(out[9:12]) == [0xFFFFFFFF, 0x80FF, 0]


def test_vectors_with_sinks_and_128_bits() -> None:
    out = run(
        "st.global.v4.u32 [%d1], {1, 2, 3, 4};\nld.global.v4.u32 {_, %r1, _, %r2}, [%d1];\nld.global.b128 %q0, [%d1];\n"
        "mov.b128 {%d2, %d3}, %q0;\nmov.b128 %q1, {%d3, %d2};\nst.global.b128 [%d1+16], %q1;\n"
        "st.global.v2.u32 [%d1+32], {%r1, %r2};",
        1,
    )[0]
    assert list(out[:10]) == [1, 2, 3, 4, 3, 4, 1, 2, 2, 4]


def test_packing_and_unpacking() -> None:
    out = run(
        "mov.u16 %h0, 0x1234;\nmov.u16 %h1, 0x5678;\nmov.b32 %r1, {%h0, %h1};\nmov.b64 %d2, {%h0, %h1, %h1, %h0};\n"
        "mov.b64 {%r2, _}, %d2;\nmov.b64 {_, %r3}, %d2;\nmov.v4.u32 {%r4, %r5, %r6, %r7}, %ntid;\n"
        "mov.v2.b32 {%r2, %r3}, {%r3, %r2};\nst.global.v4.u32 [%d1], {%r1, %r2, %r3, %r4};\n"
        "st.global.v2.u32 [%d1+16], {%r5, %r7};",
        1,
    )[0]
    assert list(out[:6]) == [0x56781234, 0x12345678, 0x56781234, 1, 1, 0]


def test_generic_addresses_reach_every_space() -> None:
    out = run(
        "mov.u32 %r1, s;\ncvt.u64.u32 %d2, %r1;\ncvta.shared.u64 %d2, %d2;\nst.u32 [%d2+4], 11;\n"
        "ld.shared.u32 %r2, [s+4];\n"
        "mov.u64 %d3, l;\ncvta.local.u64 %d3, %d3;\nst.u32 [%d3], 22;\nld.local.u32 %r3, [l];\n"
        "isspacep.shared %p0, %d2;\n"
        "isspacep.local %p1, %d3;\nisspacep.global %p2, %d1;\nisspacep.global %p3, %d2;\nselp.u32 %r4, 1, 0, %p0;\n"
        "selp.u32 %r5, 1, 0, %p1;\nselp.u32 %r6, 1, 0, %p2;\nselp.u32 %r7, 1, 0, %p3;\ncvta.to.shared.u64 %d4, %d2;\n"
        "cvt.u32.u64 %r8, %d4;\nsub.u32 %r8, %r8, %r1;\nmov.u64 %d5, out;\ncvta.param.u64 %d5, %d5;\n"
        "ld.u64 %d6, [%d5];\n"
        "sub.u64 %d6, %d6, %d0;\nst.global.v4.u32 [%d1], {%r2, %r3, %r4, %r5};\n"
        "st.global.v4.u32 [%d1+16], {%r6, %r7, %r8, 0};\n"
        "st.global.u64 [%d1+32], %d6;",
        1,
        ".shared .align 8 .b8 s[16]; .local .align 8 .b8 l[8];",
    )[0]
    assert list(out[:10]) == [11, 22, 1, 1, 1, 0, 0, 0, 0, 0]


def test_stack_allocation_lasts_until_the_function_returns() -> None:
    source = HEADER + (
        ".func (.param .b64 r) f () {\n.reg .b64 %d<3>;\nalloca.u64 %d0, 32, 16;\nst.local.u64 [%d0+24], 5;\n"
        "st.param.b64 [r], %d0;\nret; }\n"
        ".visible .entry k(.param .u64 out) {\n.reg .b64 %d<6>; .param .b64 a;\nld.param.u64 %d5, [out];\n"
        "stacksave.u64 %d3;\n"
        "call (a), f;\nld.param.b64 %d0, [a];\ncall (a), f;\nld.param.b64 %d1, [a];\nsub.u64 %d2, %d0, %d1;\n"
        "alloca.u64 %d4, 64;\nstackrestore.u64 %d3;\nalloca.u64 %d1, 64;\nsub.u64 %d4, %d4, %d1;\n"
        "st.global.v2.u64 [%d5], {%d2, %d4};\nret; }"
    )
    out = np.ones(2, np.uint64)
    launch(source, "k", 1, 1, out)
    assert list(out) == [0, 0]


# Calls.


def test_an_indirect_call_passes_variables_that_nothing_else_names() -> None:
    """Their places had no slot in a frame that was running already: an IndexError."""
    source = HEADER + (
        ".func (.param .b32 r) f (.param .b32 a) { .reg .u32 x; mov.u32 x, 9; st.param.b32 [r], x; ret; }\n"
        ".visible .entry k(.param .u64 out) {\n.reg .u64 %d<2>; .param .b32 a; .param .b32 b;\n"
        "ld.param.u64 %d0, [out]; mov.u64 %d1, f;\nP: .callprototype (.param .b32 _) _ (.param .b32 _);\n"
        "call (b), %d1, (a), P;\nst.global.u32 [%d0], 5;\nret; }"
    )
    out = np.zeros(1, np.uint32)
    launch(source, "k", 1, 1, out)
    assert out[0] == 5


def test_register_parameters_and_recursion() -> None:
    source = HEADER + (
        ".func (.reg .u32 r) sum (.reg .u32 n, .reg .u32 acc) {\n.reg .pred p; .reg .u32 m, s;\nmov.u32 r, acc;\n"
        "setp.eq.u32 p, n, 0;\n@p ret;\nsub.u32 m, n, 1;\nadd.u32 s, acc, n;\ncall (r), sum, (m, s);\nret; }\n"
        ".visible .entry k(.param .u64 out) {\n.reg .u64 %d0; .reg .u32 %r<2>;\nld.param.u64 %d0, [out];\n"
        "call (%r0), sum, (100, 7);\nst.global.u32 [%d0], %r0;\nret; }"
    )
    out = np.zeros(1, np.uint32)
    launch(source, "k", 1, 1, out)
    assert out[0] == 5057


def test_an_exit_in_a_function_ends_the_thread() -> None:
    source = HEADER + (
        ".func f () {\n.reg .pred p; .reg .u32 t;\nmov.u32 t, %tid.x;\nsetp.lt.u32 p, t, 3;\n@p exit;\nret; }\n"
        ".visible .entry k(.param .u64 out) {\n.reg .u64 %d<2>; .reg .u32 %r0;\nld.param.u64 %d0, [out];\ncall f;\n"
        "mov.u32 %r0, %tid.x;\nmul.wide.u32 %d1, %r0, 4;\nadd.u64 %d0, %d0, %d1;\nbar.sync 0;\n"
        "st.global.u32 [%d0], 1;\nret; }"
    )
    out = np.zeros(8, np.uint32)
    launch(source, "k", 1, 8, out)
    assert list(out) == [0, 0, 0, 1, 1, 1, 1, 1]


# Warp operations.


@pytest.mark.parametrize("mode", ["up", "down", "bfly", "idx"])
def test_shuffle_sources_as_the_manual_computes_them(mode: str) -> None:
    for b in range(40):
        for c in [0, 31, 7, 15, 0x1000, 0x181F, 0x1C00, 0x101F, 0x1E07, 0x1F1F]:
            for lane in range(32):
                bval, clamp, mask = b & 31, c & 31, c >> 8 & 31
                upper, lower = (lane & mask) | (clamp & ~mask & 31), lane & mask
                j = {"up": lane - bval, "down": lane + bval, "bfly": lane ^ bval, "idx": lower | (bval & ~mask)}[mode]
                in_range = j >= upper if mode == "up" else j <= upper
                assert shuffle_source(mode, lane, b, c) == ((j, True) if in_range else (lane, False))


def test_shuffles_with_a_predicate_in_partial_warps() -> None:
    out = run(
        "add.u32 %r1, %r0, 100;\nshfl.sync.up.b32 %r2|%p0, %r1, 2, 0, -1;\nselp.u32 %r3, 1, 0, %p0;\n"
        "shfl.sync.idx.b32 %r4|%p1, %r1, 9, 0x181F, -1;\nselp.u32 %r5, 1, 0, %p1;\n"
        "st.global.v4.u32 [%d1], {%r2, %r3, %r4, %r5};",
        10,
    )
    assert list(out[:, 0]) == [100, 101, 100, 101, 102, 103, 104, 105, 106, 107]
    assert list(out[:, 1]) == [0, 0, 1, 1, 1, 1, 1, 1, 1, 1]
    # Segments of eight: index 9 is lane 1 of the own segment.
    assert list(out[:8, 2]) == [101] * 8 and list(out[8:, 2]) == [109, 109]
    assert (out[:, 3] == 1).all()


def test_votes_match_and_reductions_of_some_lanes() -> None:
    mask, lanes = 0x0000F0F1, [0, 4, 5, 6, 7, 12, 13, 14, 15]
    values = {lane: (lane % 3 | 0x80000000 * (lane == 13),) for lane in lanes}

    def of(text: str, inputs: dict[int, tuple[int | None, ...]] = values) -> dict[int, tuple[int | None, ...]]:
        return COLLECTIVES[decode(text).name](decode(text))(inputs)

    numbers = [v - (v >> 31 << 32) for (v,) in values.values()]
    assert set(of("redux.sync.add.s32").values()) == {(sum(numbers) & 0xFFFFFFFF,)}
    assert set(of("redux.sync.min.s32").values()) == {(min(numbers) & 0xFFFFFFFF,)}
    assert set(of("redux.sync.max.u32").values()) == {(0x80000001,)}
    assert set(of("redux.sync.xor.b32").values()) == {(np.bitwise_xor.reduce([v for (v,) in values.values()]),)}
    assert set(of("redux.sync.and.b32").values()) == {(0,)}
    groups = of("match.any.sync.b32")
    assert groups[13] == (1 << 13,) and groups[0] == (1 << 0 | 1 << 6 | 1 << 12 | 1 << 15,)
    assert set(of("match.all.sync.b32").values()) == {(0, 0)}
    assert set(of("match.all.sync.b64", dict.fromkeys(lanes, (7,))).values()) == {(mask, 1)}
    predicates = {lane: (int(lane > 5),) for lane in lanes}
    ballot = sum(1 << lane for lane in lanes if lane > 5)
    assert set(of("vote.sync.ballot.b32", predicates).values()) == {(ballot,)}
    assert set(of("vote.sync.all.pred", predicates).values()) == {(0,)}
    assert set(of("vote.sync.any.pred", predicates).values()) == {(1,)}
    assert set(of("vote.sync.uni.pred", predicates).values()) == {(0,)}
    assert set(of("vote.sync.uni.pred", dict.fromkeys(lanes, (0,))).values()) == {(1,)}
    assert [lane for lane, (_, chosen) in of("elect.sync", dict.fromkeys(lanes, ())).items() if chosen] == [0]
    floats = {0: (0x3F800000,), 4: (0xC0000000,), 5: (0x7FC00000,)}
    assert set(of("redux.sync.min.f32", floats).values()) == {(0xC0000000,)}
    assert set(of("redux.sync.max.abs.f32", floats).values()) == {(0x40000000,)}
    assert set(of("redux.sync.max.NaN.f32", floats).values()) == {(0x7FFFFFFF,)}


def test_lanes_of_one_mask_may_meet_at_different_instructions() -> None:
    out = run(
        "and.b32 %r1, %r0, 1;\nsetp.eq.u32 %p0, %r1, 0;\n@%p0 bra EVEN;\n"
        "shfl.sync.bfly.b32 %r2, %r0, 1, 31, -1;\nbra END;\n"
        "EVEN:\nshfl.sync.bfly.b32 %r2, %r0, 1, 31, -1;\nEND:\nst.global.u32 [%d1], %r2;"
    )
    assert list(out[:, 0]) == [t ^ 1 for t in range(32)]


def test_active_mask_of_converged_lanes() -> None:
    out = run(
        "setp.lt.u32 %p0, %r0, 5;\n@%p0 bra A;\nactivemask.b32 %r1;\nbra B;\nA:\nactivemask.b32 %r1;\nB:\n"
        "activemask.b32 %r2;\n"
        "st.global.v2.u32 [%d1], {%r1, %r2};",
        40,
    )
    assert [hex(v) for v in out[[0, 5, 32], 0]] == ["0x1f", "0xffffffe0", "0xff"]
    assert [hex(v) for v in out[[0, 5, 32], 1]] == ["0xffffffff", "0xffffffff", "0xff"]


def test_a_lane_that_spins_does_not_stop_the_converged_ones() -> None:
    """Lane 0 waits for what lane 1 does behind an operation of the converged lanes."""
    out = run(
        "setp.ne.u32 %p0, %r0, 0;\n@%p0 bra GO;\nWAIT:\nld.volatile.global.u32 %r1, [%d0+64];\n"
        "setp.eq.u32 %p1, %r1, 0;\n"
        "@%p1 bra WAIT;\nbra END;\nGO:\nactivemask.b32 %r2;\nst.volatile.global.u32 [%d1], %r2;\nEND:",
        4,
    )
    assert list(out[:, 0]) == [0, 0xE, 0xE, 0xE]


# Atomics.


@pytest.mark.parametrize("type", ["u32", "s32", "u64", "s64", "b32", "b64"])
def test_atomic_operations(type: str) -> None:
    bits, signed = int(type[1:]), type[0] == "s"
    mask = (1 << bits) - 1

    def number(v: int) -> int:
        return v - (1 << bits) if signed and v >> bits - 1 else v

    expected = {
        "add": lambda old, b: old + b, "min": lambda old, b: min(number(old), number(b)),
        "max": lambda old, b: max(number(old), number(b)), "and": lambda old, b: old & b,
        "or": lambda old, b: old | b, "xor": lambda old, b: old ^ b, "exch": lambda old, b: b,
        "inc": lambda old, b: 0 if old >= b else old + 1, "dec": lambda old, b: b if old == 0 or old > b else old - 1,
    }  # fmt: skip
    by_kind = {"b": ["and", "or", "xor", "exch"], "u": ["add", "min", "max"], "s": ["min", "max"]}
    operations = by_kind[type[0]] + (["inc", "dec"] if type == "u32" else [])
    for operation in operations:
        ours = read_modify_write(decode(f"atom.global.{operation}.{type}"), "global")
        for old, b in samples(INTEGER_EDGES[bits], bits, 2, 100):
            assert ours(old, b) == expected[operation](old, b) & mask
    swap = read_modify_write(decode("atom.cas.b64"), "global")
    assert swap(5, 5, 9) == 9 and swap(5, 6, 9) == 5


def test_float_atomics() -> None:
    subnormal = 0x00000001
    assert read_modify_write(decode("atom.global.add.f32"), "global")(subnormal, 0) == 0
    assert read_modify_write(decode("atom.shared.add.f32"), "shared")(subnormal, 0) == subnormal
    assert read_modify_write(decode("atom.add.noftz.f16x2"), "global")(0x3C00_0001, 0x4000_0001) == 0x4200_0002
    assert read_modify_write(decode("red.global.min.noftz.v2.f16"), "global")(0x7E00, 0x3C00) == 0x3C00
    assert read_modify_write(decode("red.global.max.noftz.v2.f16"), "global")(0x7E00, 0x7E00) == F16.nan


def test_atomics_on_wide_narrow_and_vector_places() -> None:
    out = run(
        "st.global.v4.u32 [%d1], {0x00010002, 5, 6, 7};\nmov.u16 %h0, 2;\nmov.u16 %h1, 9;\n"
        "atom.global.cas.b16 %h2, [%d1], %h0, %h1;\n"
        "mov.b128 %q0, {1, 2};\natom.global.exch.b128 %q1, [%d1], %q0;\nmov.b128 {%d2, %d3}, %q1;\n"
        "st.global.v2.b64 [%d1+16], {%d2, %d3};\nst.global.v2.f32 [%d1+32], {0f3F800000, 0f40000000};\n"
        "mov.f32 %f0, 0f3F000000;\natom.global.add.v2.f32 {%f1, %f2}, [%d1+32], {%f0, %f0};\n"
        "st.global.v2.f32 [%d1+40], {%f1, %f2};",
        1,
    )[0]
    assert list(out[:4]) == [1, 0, 2, 0]
    assert list(out[4:8]) == [0x00010009, 5, 6, 7]
    assert list(out[8:12].view(np.float32)) == [1.5, 2.5, 1.0, 2.0]


# Special registers, order of blocks, time.


def test_special_registers() -> None:
    out = np.zeros((2, 3, 2, 64, 8), np.uint32)
    body = (
        "ld.param.u64 %d0, [out];\nmov.u32 %r0, %tid.x;\nmov.u32 %r1, %tid.y;\nmov.u32 %r2, %tid.z;\n"
        "mad.lo.u32 %r3, %r2, 4, %r1;\n"
        "mad.lo.u32 %r3, %r3, 8, %r0;\nmov.u32 %r4, %ctaid.x;\nmov.u32 %r5, %ctaid.y;\nmov.u32 %r6, %ctaid.z;\n"
        "mad.lo.u32 %r7, %r6, 3, %r5;\nmad.lo.u32 %r7, %r7, 2, %r4;\nmad.lo.u32 %r7, %r7, 64, %r3;\n"
        "mul.wide.u32 %d1, %r7, 32;\n"
        "add.u64 %d1, %d0, %d1;\nmov.u32 %r8, %laneid;\nmov.u32 %r9, %warpid;\nmov.u32 %r10, %nwarpid;\n"
        "mov.u32 %r11, %lanemask_gt;\n"
        "mov.u32 %r12, %lanemask_le;\nmov.u32 %r13, %nctaid.y;\nmov.u16 %h0, %ntid.z;\ncvt.u32.u16 %r14, %h0;\n"
        "mov.u32 %r15, %dynamic_smem_size;\nst.global.v4.u32 [%d1], {%r8, %r9, %r10, %r11};\n"
        "st.global.v4.u32 [%d1+16], {%r12, %r13, %r14, %r15};"
    )
    launch(body_kernel(REGISTERS, body), "k", (2, 3, 2), (8, 4, 2), out, shared=48)
    flat = out.reshape(12, 64, 8)
    t = np.arange(64)
    lane = t % 32
    for block in flat:
        np.testing.assert_array_equal(block[:, 0], lane)
        np.testing.assert_array_equal(block[:, 1], t // 32)
        np.testing.assert_array_equal(block[:, 3], [(0xFFFFFFFF << i + 1) & 0xFFFFFFFF for i in lane])
        np.testing.assert_array_equal(block[:, 4], [(2 << i) - 1 for i in lane])
        assert (block[:, 2] == 2).all() and (block[:, 5] == 3).all() and (block[:, 6] == 2).all()
        assert (block[:, 7] == 48).all()


def test_blocks_begin_in_order() -> None:
    out = np.zeros(8, np.uint32)
    body = (
        "ld.param.u64 %d0, [out];\natom.global.add.u32 %r0, [%d0+28], 1;\nmov.u32 %r1, %ctaid.x;\n"
        "mul.wide.u32 %d1, %r1, 4;\n"
        "add.u64 %d1, %d0, %d1;\nst.global.u32 [%d1], %r0;"
    )
    launch(body_kernel(REGISTERS, body), "k", 7, 1, out)
    assert list(out[:7]) == list(range(7))


def test_guards_labels_and_jump_tables() -> None:
    out = run(
        "and.b32 %r1, %r0, 3;\nmov.u32 %r2, 0;\nT: .branchtargets A, B, C, A;\nbrx.idx %r1, T;\nA:\n"
        "add.u32 %r2, %r2, 1;\nB:\n"
        "add.u32 %r2, %r2, 10;\nC:\nadd.u32 %r2, %r2, 100;\nsetp.gt.u32 %p0, %r0, 15;\n@!%p0 add.u32 %r2, %r2, 1000;\n"
        "st.global.u32 [%d1], %r2;"
    )
    expected = [[111, 110, 100, 111][t & 3] + (0 if t > 15 else 1000) for t in range(32)]
    assert list(out[:, 0]) == expected
