"""Which space an address is in, and what only seems to tell."""

from __future__ import annotations

import pytest

from drawloom.errors import DataError
from drawloom.opt import optimize

HEAD = """.version 8.0
.target sm_80
.address_size 64
.const .align 4 .b8 table[64];
.shared .align 8 .b8 tile[64];
.entry k(.param .u64 p, .param .u64 q, .param .u64 .ptr .global g, .param .u64 .ptr .shared s) {
.reg .b32 %r<9>; .reg .b64 %d<9>; .reg .pred %c;
ld.param.u64 %d1, [p]; ld.param.u64 %d2, [q]; ld.param.u64 %d3, [g]; ld.param.u64 %d4, [s];
mov.u64 %d5, tile; cvta.shared.u64 %d6, %d5;
"""


def access(body: str, *promises: str) -> str:
    """The opcode of the only access to memory in ``body``."""
    module = optimize(HEAD + body + " ret; }", passes=["spaces"], promises=promises, check=True)
    found = [i.opcode.text for i in module.functions["k"].instructions() if i.opcode.name in ("ld", "st", "atom")]
    return found[-1]


def test_a_parameter_may_point_to_constant_memory() -> None:
    assert access("ld.u32 %r1, [%d1];") == "ld.u32"
    assert access("ld.u32 %r1, [%d1];", "global-parameters") == "ld.global.u32"
    assert access("ld.u32 %r1, [%d3+8];") == "ld.global.u32"


def test_what_is_written_is_not_constant() -> None:
    assert access("st.u32 [%d1], %r1;") == "st.global.u32"
    assert access("add.u64 %d7, %d1, %d2; atom.add.u32 %r1, [%d7], 1;") == "atom.global.add.u32"


@pytest.mark.parametrize(
    "disguise",
    ["shr.u64 %d7, %d6, 3; shl.b64 %d7, %d7, 3;", "mul.lo.u64 %d7, %d6, 1;", "neg.s64 %d7, %d6; neg.s64 %d7, %d7;"],
)
def test_a_shared_address_in_disguise_and_a_parameter(disguise: str) -> None:
    """The parameter may be the offset."""
    assert access(disguise + "add.u64 %d8, %d7, %d1; st.u32 [%d8], %r1;") == "st.u32"
    assert access(disguise + "add.u64 %d8, %d3, %d7; st.u32 [%d8], %r1;") == "st.global.u32"


def test_an_index_from_memory_is_a_number() -> None:
    body = "ld.global.u64 %d7, [%d3]; shl.b64 %d7, %d7, 2; add.u64 %d8, %d3, %d7; st.u32 [%d8], %r1;"
    assert access(body) == "st.global.u32"
    assert access(body.replace("%d8, %d3", "%d8, %d6")) == "st.shared.u32"
    assert access(body.replace("%d8, %d3", "%d8, %d1")) == "st.u32"


def test_a_parameter_that_points_into_another_space_is_no_generic_address() -> None:
    assert access("st.u32 [%d4], %r1;", "global-parameters") == "st.u32"


def test_shared_or_global() -> None:
    assert access("setp.eq.u64 %c, %d1, 0; selp.b64 %d7, %d1, %d6, %c; st.u32 [%d7], %r1;") == "st.u32"


def test_promises_have_names() -> None:
    with pytest.raises(DataError, match="no promise 'nothing': expected global-parameters, "):
        access("", "nothing")


@pytest.mark.parametrize("amount", ["32", "%r2"])
def test_an_address_put_together_from_halves_is_of_any_space(amount: str) -> None:
    """The parameter is what is added to it."""
    halves = f"cvt.u64.u32 %d7, %r2; cvt.u64.u32 %d8, %r3; shl.b64 %d7, %d7, {amount}; or.b64 %d7, %d7, %d8;"
    assert access(halves + "add.u64 %d8, %d7, %d1; st.u8 [%d8], %r1;") == "st.u8"
    assert access(halves + "setp.eq.u64 %c, %d1, 0; selp.b64 %d8, %d1, %d7, %c; st.u8 [%d8], %r1;") == "st.u8"
