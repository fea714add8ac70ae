"""Loads and stores that only look alike, or only look needless."""

from __future__ import annotations

import pytest

from drawloom.opt import optimize

HEAD = """.version 8.6
.target sm_80
.address_size 64
.shared .align 8 .b8 tile[64];
.shared .align 8 .b8 other[64];
.extern .shared .align 8 .b8 first[];
.extern .shared .align 8 .b8 second[];
.visible .func use(.param .b64 p) { ret; }
.entry k(.param .u64 .ptr .global p, .param .u64 .ptr .global q, .param .u32 n) {
.reg .b32 %r<9>; .reg .b16 %h<9>; .reg .b64 %d<9>; .reg .f32 %f<9>; .reg .pred %c<9>;
.local .align 8 .b8 frame[64];
ld.param.u64 %d1, [p]; ld.param.u64 %d2, [q]; ld.param.u32 %r1, [n]; mov.u64 %d3, frame;
setp.eq.u32 %c1, %r1, 3;
"""


def count(body: str, opcode: str, passes: str = "loads stores dead", *promises: str) -> int:
    """How many of an opcode are left in ``body``."""
    module = optimize(HEAD + body + " ret; }", passes=passes.split(), promises=promises, check=True)
    return len([i for i in module.functions["k"].instructions() if i.opcode.text.startswith(opcode)])


def generic_count(body: str, opcode: str) -> int:
    """The same where parameters are not known to be global."""
    text = (HEAD + body + " ret; }").replace(".ptr .global ", "")
    module = optimize(text, passes="loads stores dead".split(), check=True)
    return len([i for i in module.functions["k"].instructions() if i.opcode.text.startswith(opcode)])


@pytest.mark.parametrize(
    ("body", "left"),
    [
        ("st.local.u32 [%d3], %r1; ld.u32 %r2, [%d1+4]; st.u32 [%d1], %r2;", 0),
        ("cvt.u64.u32 %d5, %r1; add.u64 %d5, %d5, %d1; st.local.u32 [%d3], %r1; ld.u32 %r2, [%d5];"
         "st.u32 [%d1], %r2;", 0),
        ("cvta.local.u64 %d4, %d3; st.local.u32 [%d3], %r1; ld.u32 %r2, [%d4]; st.u32 [%d1], %r2;", 1),
        ("cvta.local.u64 %d4, %d3; st.u64 [%d1], %d4; st.local.u32 [%d3], %r1; ld.u64 %d5, [%d1];"
         "ld.u32 %r2, [%d5]; st.u32 [%d1], %r2;", 1),
        ("cvta.local.u64 %d4, %d3; sub.u64 %d4, %d4, %d1; add.u64 %d4, %d4, %d1; st.local.u32 [%d3], %r1;"
         "ld.u32 %r2, [%d4]; st.u32 [%d1], %r2;", 1),
        ("cvta.local.u64 %d4, %d3; selp.u64 %d4, %d4, %d1, %c1; st.local.u32 [%d3], %r1; ld.u32 %r2, [%d4];"
         "st.u32 [%d1], %r2;", 1),
    ],
)  # fmt: skip
def test_generic_addresses_of_parameters_lead_to_no_local_memory(body: str, left: int) -> None:
    assert generic_count(body, "st.local") == left


def stored(register: str) -> str:
    return f"st.global.u32 [%d1+32], {register};"


@pytest.mark.parametrize(
    ("body", "left"),
    [
        ("st.shared.u32 [tile], %r1; st.shared.u32 [other], %r2; ld.shared.u32 %r3, [tile];", 0),
        ("st.shared.u32 [first], %r1; st.shared.u32 [second+4], %r2; ld.shared.u32 %r3, [first];", 1),
        ("st.shared.u32 [tile], %r1; @%c1 st.shared.u32 [tile], %r2; ld.shared.u32 %r3, [tile];", 1),
        ("@%c1 st.shared.u32 [tile], %r1; ld.shared.u32 %r3, [tile];", 1),
        ("st.shared.u32 [tile], %r1; st.u32 [%d2], %r2; ld.shared.u32 %r3, [tile];", 1),
        ("st.shared.u64 [tile], %d2; ld.shared.u32 %r3, [tile];", 1),
        ("st.shared.u32 [tile+12], %r1; st.shared.v2.u32 [tile+8], {%r2, %r2}; ld.shared.u32 %r3, [tile+12];", 1),
        ("st.shared.u32 [tile], 5; ld.shared.u32 %r3, [tile];", 0),
        ("st.shared.f32 [tile], 0f3F800000; ld.shared.u32 %r3, [tile];", 0),
        ("mov.u64 %d4, tile; mov.u64 %d5, other; sub.u64 %d6, %d5, %d4; add.u64 %d6, %d4, %d6;"
         "st.shared.u32 [other], %r1; st.shared.u32 [%d6], %r2; ld.shared.u32 %r3, [other];", 1),
        ("ld.shared.u64 %d6, [tile+8]; st.shared.u32 [other], %r1; st.shared.u32 [%d6], %r2;"
         "ld.shared.u32 %r3, [other];", 1),
        ("cvt.u64.u32 %d6, %r1; mov.u64 %d5, other; add.u64 %d6, %d6, %d5;"
         "st.shared.u32 [tile], %r1; st.shared.u32 [%d6], %r2; ld.shared.u32 %r3, [tile];", 0),
    ],
)  # fmt: skip
def test_what_may_overlap(body: str, left: int) -> None:
    assert count(body + stored("%r3"), "ld.shared.u32") == left


def test_parameters_that_are_promised_to_be_distinct() -> None:
    body = "mul.wide.u32 %d4, %r1, 4; add.u64 %d5, %d1, %d4; add.u64 %d6, %d2, %d4; ld.global.u32 %r2, [%d6];"
    body += "st.global.u32 [%d5], %r2; ld.global.u32 %r3, [%d6]; add.u32 %r3, %r3, %r2;" + stored("%r3")
    assert count(body, "ld.global") == 2
    assert count(body, "ld.global", "loads", "distinct-parameters") == 1
    moved = body.replace("add.u64 %d6, %d2, %d4", "sub.u64 %d6, %d2, %d1; add.u64 %d6, %d1, %d6")
    assert count(moved, "ld.global", "loads", "distinct-parameters") == 2


def test_bytes_are_widened_as_they_were() -> None:
    body = "ld.shared.s8 %r2, [tile]; ld.shared.u8 %r3, [tile]; ld.shared.s8 %r4, [tile]; add.u32 %r3, %r3, %r4;"
    assert count(body + "add.u32 %r3, %r3, %r2;" + stored("%r3"), "ld.shared") == 2


def test_local_memory_outlives_a_barrier_but_no_call() -> None:
    body = "st.local.u32 [%d3], %r2; bar.sync 0; ld.local.u32 %r3, [%d3];" + stored("%r3")
    assert count(body, "ld.local") == 0
    call = "cvta.local.u64 %d4, %d3; { .param .b64 a; st.param.b64 [a], %d4; call use, (a); }"
    assert count(body.replace("bar.sync 0;", call), "ld.local") == 1
    assert count(body.replace("bar.sync 0;", call).replace("ld.local.u32 %r3, [%d3];", ""), "st.local") == 1


def test_a_round_of_a_loop_does_not_write_over_the_place_of_the_one_before() -> None:
    """The store behind the loop writes over that of the last round only."""
    loop = (
        "mov.u64 %d4, %d1; again: add.u64 %d5, %d4, 8; st.global.u32 [%d5], %r1; add.u64 %d4, %d4, 4;"
        "add.u32 %r1, %r1, 1; setp.lt.u32 %c2, %r1, 9; @%c2 bra again; st.global.u32 [%d5], %r2;"
    )
    assert count(loop, "st.global") == 2


def test_stores_of_an_endless_loop_stay() -> None:
    assert count("@%c1 bra out; again: st.global.u32 [%d1], %r1; bra again; out:", "st.global") == 1


@pytest.mark.parametrize(
    ("between", "left"),
    [("", 1), ("@%c1 ret;", 2), ("@%c1 exit;", 2), ("membar.gl;", 2), ("ld.u32 %r2, [%d2];" + stored("%r2"), 3),
     ("vote.sync.any.pred %c2, %c1, -1;", 2)],
)  # fmt: skip
def test_a_store_that_may_be_seen_stays(between: str, left: int) -> None:
    body = "st.global.u32 [%d1], %r1;" + between + "st.global.u32 [%d1], %r3;"
    assert count(body, "st.global") == left


@pytest.mark.parametrize(
    ("body", "left"),
    [
        ("", 1), ("membar.gl;", 0), ("st.global.u32 [%d2], %r3;", 0), ("ld.volatile.global.u32 %r5, [%d1];", 0),
        ("bar.sync 0;", 1), ("ld.global.u64 %d5, [%d1]; st.global.u32 [%d5], %r3;", 0),
        ("atom.global.add.u32 %r5, [%d2], 1;", 0), ("st.shared.u32 [tile], %r3;", 1),
        ("sub.u64 %d5, %d2, %d1; add.u64 %d5, %d5, %d1; st.global.u32 [%d5], %r3;", 0),
    ],
)  # fmt: skip
def test_what_a_kernel_only_reads(body: str, left: int) -> None:
    body = "mul.wide.u32 %d4, %r1, 4; add.u64 %d4, %d2, %d4; ld.global.u32 %r3, [%d4+4];" + body + stored("%r3")
    assert count(body, "ld.global.nc.u32", "readonly", "distinct-parameters") == left
    assert count(body, "ld.global.nc.u32", "readonly") == 0


def test_a_loop_reads_once_what_it_does_not_write() -> None:
    loop = "again: ld.shared.u32 %r2, [tile]; {} add.u32 %r1, %r1, %r2; setp.lt.u32 %c2, %r1, 9; @%c2 bra again;"

    def rounds(body: str) -> bool:
        text = str(optimize(HEAD + loop.format(body) + stored("%r1") + " ret; }", passes=["invariant"], check=True))
        return text.index("ld.shared") > text.index("again:")

    assert not rounds("st.shared.u32 [other], %r1;")
    assert rounds("st.shared.u32 [tile+2], %r1;") and rounds("bar.sync 0;") and rounds("st.u32 [%d2], %r1;")


def test_addresses_that_take_turns_in_a_loop() -> None:
    """What goes from one phi to the next needs a round each; the last of them still comes from both arrays."""
    turns = range(10, 24)
    body = "mov.u64 %d4, tile; mov.u64 %d5, other; mov.u32 %r2, 0; mov.u32 %r4, 0;"
    body += "".join([f"mov.u64 %e{k}, {'%d5' if k == turns[-1] else '%d4'};" for k in turns])
    body += "AGAIN: ld.shared.u32 %r3, [%d5]; st.shared.u32 [%e10], %r2; ld.shared.u32 %r5, [%d5];"
    body += "add.u32 %r4, %r4, %r3; add.u32 %r4, %r4, %r5; mov.u64 %d6, %e10;"
    body += "".join([f"mov.u64 %e{k}, %e{k + 1};" for k in turns[:-1]]) + f"mov.u64 %e{turns[-1]}, %d6;"
    body += "add.u32 %r2, %r2, 1; setp.lt.u32 %c2, %r2, %r1; @%c2 bra AGAIN;" + stored("%r4")
    assert count(".reg .b64 %e<24>;" + body, "ld.shared.u32") == 2


def test_a_value_is_known_behind_many_joins() -> None:
    """More than functions may call each other."""
    joins = [f"setp.lt.u32 %c2, %r1, {k}; @%c2 bra J{k}; xor.b32 %r4, %r4, {k}; J{k}:" for k in range(1100)]
    body = "ld.global.u32 %r2, [%d1]; mov.u32 %r4, 0;" + "".join(joins) + "ld.global.u32 %r3, [%d1];"
    text = HEAD + body + "add.u32 %r4, %r4, %r2;" + stored("%r4") + stored("%r3") + " ret; }"
    made = optimize(text, passes=["loads"]).functions["k"]
    assert len([i for i in made.instructions() if i.opcode.name == "ld" and i.opcode.space == "global"]) == 1
