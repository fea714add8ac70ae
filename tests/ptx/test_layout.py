"""Layouts: parameters as C structures, one image of all globals with its addresses, shared and local frames."""

from __future__ import annotations

import struct

import pytest

from drawloom.errors import VerifyError
from drawloom.ptx.ir import FLOAT32, FLOAT64, INT, Immediate
from drawloom.ptx.layout import (
    GlobalsLayout,
    function_ids,
    literal_bytes,
    local_layout,
    param_layout,
    reachable_functions,
    shared_layout,
)
from drawloom.ptx.parser import parse
from drawloom.ptx.types import TYPES

HEADER = ".version 8.0\n.target sm_80\n.address_size 64\n"
MODULE = """
.func leaf () { .shared .align 8 .b8 inner[12]; st.shared.u8 [inner], 1; ret; }
.func caller () { call leaf; ret; }
.global .align 4 .b8 bytes[5] = {1, 2, 3, 4, 5};
.global .f32 single = 0d3FF8000000000000;
.global .b64 pointers[3] = {bytes + 1, generic(single), leaf};
.global .u8 parts[2] = {0xFF(bytes), 0xFF00(bytes)};
.const .align 16 .u16 table[2][2] = {{1, 2}, {3}};
.extern .global .b32 elsewhere;
.extern .shared .align 16 .b8 dynamic[];
.shared .b32 counter;
.shared .b32 unused;
.entry k (.param .u8 a, .param .u64 b, .param .align 16 .b8 c[20])
{
    .shared .b8 flag;
    .local .align 8 .b8 frame[10];
    .local .b32 word;
    st.shared.u32 [counter], 1; st.shared.u8 [flag], 2; st.shared.u32 [dynamic], 3;
    call caller;
    ret;
}
"""


def test_parameters_stand_as_in_c() -> None:
    module = parse(HEADER + MODULE)
    places, size = param_layout(module.functions["k"])
    assert places == [(0, 1, 1), (8, 8, 8), (16, 20, 16)]
    assert size == 36


def test_globals_image_has_initial_values_and_addresses() -> None:
    module = parse(HEADER + MODULE)
    layout = GlobalsLayout(module)
    assert layout.unresolved == ["elsewhere"]
    assert layout.align == 16
    base = 0x7F0000001230
    image = layout.build(base)
    assert len(image) == layout.size
    at = layout.offsets
    assert all(offset % module.variables[name].alignment == 0 for name, offset in at.items())
    assert image[at["bytes"] : at["bytes"] + 5] == bytes([1, 2, 3, 4, 5])
    assert struct.unpack_from("<f", image, at["single"]) == (1.5,)
    leaf = function_ids(module)["leaf"]
    expected = (base + at["bytes"] + 1, base + at["single"], leaf)
    assert struct.unpack_from("<3Q", image, at["pointers"]) == expected
    assert list(image[at["parts"] : at["parts"] + 2]) == [0x30 + at["bytes"], 0x12]
    assert struct.unpack_from("<4H", image, at["table"]) == (1, 2, 3, 0)


def test_an_initial_value_without_an_address_is_refused() -> None:
    module = parse(HEADER + ".shared .b32 s;\n.global .u64 p = s;\n")
    with pytest.raises(VerifyError, match="'s', which has no address here") as caught:
        GlobalsLayout(module).build(0)
    assert caught.value.line == 5


def test_function_ids_are_distinct_and_aligned() -> None:
    ids = function_ids(parse(HEADER + MODULE))
    assert ids == {"leaf": 16, "caller": 32, "k": 48}


def test_shared_memory_of_the_call_tree() -> None:
    module = parse(HEADER + MODULE)
    kernel = module.functions["k"]
    offsets, size = shared_layout(module, kernel)
    assert offsets == {"counter": 0, "k:flag": 4, "flag": 4, "leaf:inner": 8, "dynamic": 32}
    assert size == 32
    assert [f.name for f in reachable_functions(module, kernel)] == ["k", "caller", "leaf"]
    assert local_layout(kernel) == ({"frame": 0, "word": 12}, 16)


def test_indirect_calls_reach_every_function_they_may() -> None:
    text = """
.func one () { ret; } .func two () { .shared .b64 x; st.shared.u64 [x], 1; ret; } .func three () { ret; }
.func four () { .shared .b64 y; st.shared.u64 [y], 1; ret; }
.global .u64 table[2] = {one, two};
.entry takes () { .reg .b64 %f; mov.u64 %f, three; st.global.u64 [table], %f; call four; ret; }
.entry all (.param .u64 f) { .reg .b64 %f; ld.param.u64 %f, [f]; p: .callprototype _ (); call %f, p; ret; }
.entry some (.param .u64 f) { .reg .b64 %f; ld.param.u64 %f, [f]; t: .calltargets one, three; call %f, t; ret; }
"""
    module = parse(HEADER + text)
    assert [f.name for f in reachable_functions(module, module.functions["all"])] == ["all", "one", "two", "three"]
    assert [f.name for f in reachable_functions(module, module.functions["some"])] == ["some", "one", "three"]
    assert shared_layout(module, module.functions["all"])[1] == 8


def test_literals_take_the_type_of_the_variable() -> None:
    assert literal_bytes(Immediate(-1, INT), TYPES["u16"]) == b"\xff\xff"
    assert literal_bytes(Immediate(0x3F800000, FLOAT32), TYPES["f64"]) == struct.pack("<d", 1.0)
    assert literal_bytes(Immediate(0x3FF0000000000000, FLOAT64), TYPES["f32"]) == struct.pack("<f", 1.0)
    assert literal_bytes(Immediate(0x7FE0000000000000, FLOAT64), TYPES["f32"]) == struct.pack("<f", float("inf"))
    assert literal_bytes(Immediate(3, INT), TYPES["f32"]) == struct.pack("<f", 3.0)
