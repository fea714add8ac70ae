"""What folding got wrong once, and what it must leave alone."""

from __future__ import annotations

import pytest

from drawloom.opt import optimize
from drawloom.ptx import parse

HEAD = """.version 8.6
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out, .param .u32 n) {
.reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %d<9>;
ld.param.u64 %d1, [out]; ld.param.u32 %r1, [n];
"""


def folded(body: str, passes: str = "copies fold dead") -> list[str]:
    """The instructions behind the loads of the parameters."""
    module = optimize(HEAD + body + " ret; }", passes=passes.split(), check=True)
    assert parse(str(module)) == module
    return [repr(i) for i in module.functions["k"].instructions() if i.opcode.name not in ("ld", "ret")]


def test_no_literal_goes_where_a_selector_stands() -> None:
    found = folded("mov.u32 %r2, 32; vmin.s32.s32.s32 %r3, %r1.b2, %r2.b3; st.global.u32 [%d1], %r3;")
    assert found[0] == "mov.b32 %r2, 32"


def test_a_vote_on_a_predicate_keeps_the_bits_of_its_mask() -> None:
    found = folded(
        "mov.u32 %r2, 0x55555555; setp.eq.u32 %p1, %r1, 7; vote.sync.any.pred %p2, %p1, %r2;"
        "selp.u32 %r3, 1, 0, %p2; st.global.u32 [%d1], %r3;"
    )
    assert "vote.sync.any.pred %p2, %p1, 1431655765" in found


def test_a_store_of_a_byte_takes_the_low_ones_of_a_constant() -> None:
    assert "st.global.u8 [%d1], 4" in folded("mov.u32 %r2, 260; st.global.u8 [%d1], %r2;")


def test_a_negated_predicate_and_true_is_its_opposite() -> None:
    found = folded(
        "setp.eq.u32 %p1, %r1, 7; setp.eq.u32 %p2, 1, 1; and.pred %p3, !%p1, %p2;"
        "@%p3 st.global.u32 [%d1], %r1; selp.u32 %r2, 3, 4, %p1; st.global.u32 [%d1+4], %r2;"
    )
    assert "setp.ne.u32 %p3, %r1, 7" in found


@pytest.mark.parametrize(
    "instruction",
    [
        "mul.rn.f32 %f2, %f1, 0f3F800000", "add.rn.f32 %f2, %f1, 0f00000000", "sub.rn.f32 %f2, %f1, %f1",
        "min.f32 %f2, %f1, %f1", "add.sat.s32 %f2, %r1, 0", "div.s32 %f2, %r1, 8", "shr.s32 %f2, %r1, 40",
        "mul.hi.u32 %f2, %r1, 1", "rem.s32 %f2, %r1, 16",
    ],
)  # fmt: skip
def test_what_is_not_the_same_bits_stays(instruction: str) -> None:
    text = instruction if ".f32" in instruction else instruction.replace("%f2", "%r2")
    found = folded(
        f"mov.b32 %f1, %r1; {text}; mov.b32 %r3, {'%f2' if '.f32' in text else '%r2'}; st.global.u32 [%d1], %r3;"
    )
    assert any(i.startswith(text.split()[0]) for i in found)


def test_the_carry_flag_is_not_computed_away() -> None:
    found = folded("add.cc.u32 %r2, %r1, 0; addc.u32 %r3, 0, 0; st.global.u32 [%d1], %r3;")
    assert found[:2] == ["add.cc.u32 %r2, %r1, 0", "addc.u32 %r3, 0, 0"]


def test_a_sum_that_may_wrap_before_it_is_widened_stays() -> None:
    body = "add.u32 %r2, %r1, 1; mul.wide.u32 %d2, %r2, 4; add.u64 %d3, %d1, %d2; st.global.u32 [%d3], %r1;"
    found = folded(body, "strength addresses dead")
    assert found[0] == "add.u32 %r2, %r1, 1" and found[-1] == "st.global.u32 [%d3], %r1"


@pytest.mark.parametrize(
    "between", ["bar.sync 0", "st.u32 [%d2], %r1", "membar.cta", "atom.shared.add.u32 %r5, [%d2], 1"]
)
def test_loads_are_not_taken_from_before(between: str) -> None:
    body = f"st.shared.u32 [tile], %r1; {between}; ld.shared.u32 %r4, [tile]; st.global.u32 [%d1], %r4;"
    text = HEAD + ".shared .u32 tile; ld.param.u64 %d2, [out]; " + body + " ret; }"
    assert "ld.shared.u32" in str(optimize(text, passes=["loads"], check=True))


@pytest.mark.parametrize(
    ("instruction", "result"),
    [
        ("mul.rn.f32 %f2, 0f40000000, 0f40400000", "st.global.f32 [%d1], 0f40C00000"),
        ("add.rn.ftz.f32 %f2, 0f3F800000, 0f4B800000", ""),  # 2^24 + 1 has to be rounded
        ("sub.rn.f32 %f2, 0f3F800000, 0f3F800000", ""),  # a zero, whose sign is that of the rounding mode
        ("mul.rn.f32 %f2, 0f00800000, 0f3F000000", ""),  # subnormal
        ("fma.rn.f32 %f2, 0f7F000000, 0f40000000, 0f3F800000", ""),  # too large
        ("add.rn.f32 %f2, 0f7F800000, 0f3F800000", ""),
    ],
)
def test_floats_are_computed_where_there_is_nothing_to_round(instruction: str, result: str) -> None:
    found = folded(f"{instruction}; st.global.f32 [%d1], %f2;")
    assert found[0] == (result or instruction)
