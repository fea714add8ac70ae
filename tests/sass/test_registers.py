"""Registers that do not suffice: barriers kept in general registers, and one error where nothing helps."""

from __future__ import annotations

import numpy as np
import pytest

import drawloom
from drawloom.errors import UnsupportedError
from drawloom.sass.assemble import SELECTED, assemble
from drawloom.sass.decoder import unpack_section
from drawloom.sass.interpreter import run
from drawloom.sass.isa import load_target
from drawloom.sass.verify import verify
from tests.sass.meaning import agree

HEADER = ".version 8.0\n.target sm_61\n.address_size 64\n"


def nested(depth: int) -> str:
    """Lanes part ``depth`` times inside each other, and meet as often."""
    lines = [
        HEADER + ".visible .entry k(.param .u64 p)\n{ .reg .u64 %a, %o; .reg .u32 %x, %y, %t; .reg .pred %q;",
        "ld.param.u64 %a, [p]; mov.u32 %t, %tid.x; mul.wide.u32 %o, %t, 4; add.u64 %a, %a, %o;",
        "ld.global.u32 %x, [%a]; mov.u32 %y, 1;",
    ]
    for n in range(depth):
        lines.append(
            f"setp.lt.u32 %q, %x, {n}; @%q bra E{n}; mad.lo.u32 %y, %y, 3, {n}; st.global.u32 [%a+{256 * n}], %y;"
        )
    for n in reversed(range(depth)):
        lines.append(f"add.u32 %y, %y, %t; E{n}: xor.b32 %y, %y, {77 * n};")
        lines.append(f"st.global.u32 [%a+{256 * n + 128}], %y;")
    return "\n".join([*lines, "ret; }"])


@pytest.mark.parametrize("target", [target for target in SELECTED if target >= 75])
@pytest.mark.parametrize("registers", [255, 24])
def test_more_barriers_than_there_are_wait_in_registers(target: int, registers: int) -> None:
    depth = 20
    text = nested(depth)
    cubin = assemble(text, f"sm_{target}", max_registers=registers)
    tables = load_target(target)
    code = unpack_section(tables, cubin.kernels["k"].code)
    assert verify(tables, code) == []
    assert sum("BMOV" in str(i) for i in code) == 2 * sum("BMOV.32.CLEAR" in str(i) for i in code) > 0
    results = []
    for by in ("reference", "machine code"):
        memory = np.zeros(64 * (depth + 1), np.uint32)
        memory[:32] = np.arange(32)
        if by == "reference":
            drawloom.load(text, "reference")["k"][1, 32](memory)
        else:
            at = memory.ctypes.data
            run(cubin, "k", (1, 1, 1), (32, 1, 1), at.to_bytes(8, "little"), buffers=[(at, memory.nbytes)])
        results.append(memory)
    np.testing.assert_array_equal(*results)


def test_where_nothing_helps_the_error_names_the_line_and_what_lacks() -> None:
    text = (
        HEADER
        + """.visible .entry k(.param .u64 p) { .reg .u64 a; .reg .v4 .f32 v; .reg .f32 %f<4>;
ld.param.u64 a, [p];
ld.global.v4.f32 {%f0, %f1, %f2, %f3}, [a];
st.global.v4.f32 [a+16], {%f3, %f2, %f1, %f0}; ret; }""".replace(" .reg .v4 .f32 v;", "")
    )
    with pytest.raises(UnsupportedError, match=r"k\.ptx:\d:\d+: 'k' cannot do with 5 registers") as caught:
        assemble(text, "sm_90", max_registers=5, filename="k.ptx")
    assert "^" in str(caught.value)
    assert assemble(text, "sm_90", max_registers=16).kernels["k"].registers <= 16


@pytest.mark.parametrize("target", SELECTED)
def test_constants_are_made_anew_where_registers_do_not_suffice(target: int) -> None:
    """Pairs with two constants in them used to go to memory."""
    loads = "\n".join(f"ld.global.f64 %d{n}, [%a+{256 * n}];" for n in range(6))
    sums = "\n".join(f"fma.rn.f64 %e, %d{n}, 0d3FB999999999999A, %e;" for n in range(6))
    products = "\n".join(f"mul.rn.f64 %d{n}, %d{n}, 0d3FF3333333333333;" for n in range(6))
    stores = "\n".join(f"st.global.f64 [%a+{256 * n}], %d{n};" for n in range(6))
    text = HEADER + (
        ".visible .entry k(.param .u64 p)\n{ .reg .u64 %a, %o; .reg .u32 %t; .reg .f64 %e, %d<6>;\n"
        "ld.param.u64 %a, [p]; mov.u32 %t, %tid.x; mul.wide.u32 %o, %t, 8; add.u64 %a, %a, %o;\n"
        f"mov.f64 %e, 0d0000000000000000;\n{loads}\n{sums}\n{products}\n{sums}\n{stores}\n"
        "st.global.f64 [%a+1536], %e; ret; }"
    )
    most = 22 if target >= 75 else 20
    kernel = assemble(text, f"sm_{target}", max_registers=most).kernels["k"]
    assert kernel.registers <= most
    assert (kernel.spill_stores, kernel.spill_loads) == (0, 0)
    results = []
    for by in ("reference", "machine code"):
        memory = np.linspace(1, 2, 32 * 7)
        if by == "reference":
            drawloom.load(text, "reference")["k"][1, 32](memory)
        else:
            at = memory.ctypes.data
            cubin = assemble(text, f"sm_{target}", max_registers=most)
            run(cubin, "k", (1, 1, 1), (32, 1, 1), at.to_bytes(8, "little"), buffers=[(at, memory.nbytes)])
        results.append(memory)
    np.testing.assert_array_equal(*results)


@pytest.mark.parametrize("count", [31, 32, 33, 64, 70])
def test_words_that_live_around_a_loop_fill_rows_of_bits(count: int) -> None:
    """Compiled, the last bit of a row of 32 words was taken for a sign: `1 << n` is a shift of 32 bits in C."""
    names = [f"%v{n}" for n in range(count)]
    text = (
        HEADER + f".visible .entry k(.param .u64 p)\n{{ .reg .u64 %a; .reg .u32 %i, %v<{count}>; .reg .pred %q;\n"
        "ld.param.u64 %a, [p]; mov.u32 %i, 0;\n"
        + "\n".join(f"ld.global.u32 {name}, [%a+{4 * n}];" for n, name in enumerate(names))
        + "\nL: "
        + "\n".join(f"add.u32 {name}, {name}, {names[n - 1]};" for n, name in enumerate(names))
        + "\nadd.u32 %i, %i, 1; setp.lt.u32 %q, %i, 3; @%q bra L;\n"
        + "\n".join(f"st.global.u32 [%a+{4 * n}], {name};" for n, name in enumerate(names))
        + "\nret; }"
    )
    results = []
    for by in ("reference", "machine code"):
        memory = np.arange(count, dtype=np.uint32) * 77
        if by == "reference":
            drawloom.load(text, "reference")["k"][1, 1](memory)
        else:
            at = memory.ctypes.data
            cubin = assemble(text, "sm_90")
            run(cubin, "k", (1, 1, 1), (1, 1, 1), at.to_bytes(8, "little"), buffers=[(at, memory.nbytes)])
        results.append(memory)
    np.testing.assert_array_equal(*results)


def test_a_kept_register_is_whole_behind_an_instruction_that_writes_its_own_guard() -> None:
    """The old value comes back for the lanes that write nothing, and nothing else may take its place meanwhile."""
    numbers, predicates = range(2, 30), range(2, 9)
    text = (
        ".version 8.2\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
        ".reg .b32 %r<40>; .reg .b64 %d<4>; .reg .pred %p<10>;\n"
        "ld.param.u64 %d0, [in]; ld.param.u64 %d1, [out]; mov.u32 %r0, %tid.x; mul.wide.u32 %d2, %r0, 4;\n"
        "add.u64 %d0, %d0, %d2; add.u64 %d1, %d1, %d2;\n"
        + "".join([f"ld.global.b32 %r{n}, [%d0+{4 * n}];\n" for n in numbers])
        + "and.b32 %r1, %r0, 3; setp.eq.u32 %p1, %r1, 1;\n"
        + "".join([f"setp.gt.s32 %p{n}, %r{n}, {n * 30};\n" for n in predicates])
        + "".join([f"@%p1 lop3.or.b32 %r{n}|%p1, %r2, %r{n + 1}, %r0, 150, !%p{n % 7 + 2};\n" for n in numbers[:-1]])
        + "".join([f"@%p{n} add.u32 %r2, %r2, %r{n};\n" for n in predicates])
        + "".join([f"mad.lo.u32 %r2, %r2, 31, %r{n};\n" for n in numbers])
        + "selp.b32 %r3, 5, 7, %p1; xor.b32 %r2, %r2, %r3; st.global.b32 [%d1], %r2; ret;\n}\n"
    )
    given = np.arange(64, dtype=np.int32) * 7919 % 601 - 90
    for target in (75, 90):
        agree(text, "k", 1, 32, given, np.zeros(32, np.int32), target=target, max_registers=20)
