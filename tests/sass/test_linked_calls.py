"""Relocatable files: a kernel and the functions that it calls in two files, each ours or ptxas's, put together by
nvlink and run beside the reference. What ptxas expects of registers and stack, our code keeps, and the other way."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from drawloom.sass.assemble import assemble
from drawloom.sass.cubin import read_cubin
from tests.sass.test_calls import (
    ACKERMANN,
    REGISTERS,
    STRUCTS,
    THREADS,
    call,
    function,
    header,
    kernel,
    on_machine,
    on_reference,
)
from tools.isa import vendor

PRESSURE = function(
    "busy", 2,
    "".join([f"mad.lo.u32 %r{n}, %r1, {n * n + 7}, %r2;" for n in range(3, 38)])
    + "bar.sync 0; mov.u32 %r0, 1;"
    + "".join([f"xor.b32 %r0, %r0, %r{n}; mul.lo.u32 %r0, %r0, 13;" for n in range(3, 38)]),
)  # fmt: skip
WIDE = f""".func (.param .b64 result) wide(.param .b32 a, .param .b64 b, .param .b32 c, .param .f64 d, .param .b64 e,
    .param .b64 f, .param .b64 g, .param .b32 h) {{ {REGISTERS} .reg .f64 %f<2>;
    ld.param.b32 %r1, [a]; ld.param.b64 %d1, [b]; ld.param.b32 %r2, [c]; ld.param.f64 %f1, [d]; ld.param.b64 %d2, [e];
    ld.param.b64 %d3, [f]; ld.param.b64 %d4, [g]; ld.param.b32 %r3, [h]; cvt.rzi.u64.f64 %d5, %f1;
    mad.wide.u32 %d1, %r1, 3, %d1; mad.wide.u32 %d1, %r2, 5, %d1; mad.lo.u64 %d1, %d5, 7, %d1;
    mad.lo.u64 %d1, %d2, 11, %d1; mad.lo.u64 %d1, %d3, 13, %d1; mad.lo.u64 %d1, %d4, 17, %d1;
    mad.wide.u32 %d1, %r3, 19, %d1; st.param.b64 [result], %d1; ret; }}
"""
#: The functions of the second file, and how the kernel of the first one calls them.
CASES = {
    "recursion": (
        ACKERMANN,
        "rem.u32 %r1, %r0, 3; rem.u32 %r2, %r0, 4;" + call("ackermann", "%r9", "%r1", "%r2"),
    ),
    "pressure": (
        PRESSURE,
        "".join([f"mad.lo.u32 %r{n}, %r0, {n}, {n + 3};" for n in range(10, 20)])
        + "setp.gt.u32 %p1, %r0, 9; setp.gt.u32 %p2, %r0, 20;" + call("busy", "%r9", "%r0", "%r11")
        + call("busy", "%r8", "%r9", "%r12") + "".join([f"mad.lo.u32 %r9, %r9, 31, %r{n};" for n in range(8, 20)])
        + "@%p1 add.u32 %r9, %r9, 1; @%p2 add.u32 %r9, %r9, 2;",
    ),
    "divergence": (
        ACKERMANN,
        "mov.u32 %r9, 0; and.b32 %r3, %r0, 3; setp.gt.u32 %p1, %r3, 1; AGAIN: setp.eq.u32 %p2, %r3, 0; @%p2 bra DONE;"
        "@%p1 bra OTHER;" + call("ackermann", "%r4", "1", "%r3") + "bra.uni JOIN; OTHER:"
        + call("ackermann", "%r4", "%r3", "2") + "JOIN: mad.lo.u32 %r9, %r9, 7, %r4; sub.u32 %r3, %r3, 1; bra AGAIN;"
        "DONE:",
    ),
    "stack": (
        WIDE,
        """cvt.u64.u32 %d2, %r0; cvt.rn.f64.u32 %fd1, %r0; { .param .b32 a; .param .b64 b; .param .b32 c; .param .f64 d;
        .param .b64 e; .param .b64 f; .param .b64 g; .param .b32 h; .param .b64 back; st.param.b32 [a], %r0;
        st.param.b64 [b], %d2; st.param.b32 [c], 5; st.param.f64 [d], %fd1; st.param.b64 [e], %d2; st.param.b64 [f], 77;
        st.param.b64 [g], %d2; st.param.b32 [h], %r0; call (back), wide, (a, b, c, d, e, f, g, h);
        ld.param.b64 %d3, [back]; } cvt.u32.u64 %r9, %d3;""",
    ),
    "structs": (
        STRUCTS.replace("ld.param.u16 %h1, [large+2]", "ld.param.u16 %h1, [large+32]"),
        """{ .param .align 8 .b8 a[24]; .param .align 16 .b8 b[64]; .param .b32 c; .param .align 8 .b8 d[64];
        mul.wide.u32 %d2, %r0, 70001; st.param.b32 [a], %r0; st.param.b64 [a+16], %d2; st.param.b8 [b+63], %r0;
        st.param.v2.b32 [b+32], {%r0, 99}; st.param.b32 [c], %r0; call (d), spread, (a, b, c);
        ld.param.b32 %r1, [d]; ld.param.b64 %d3, [d+8]; ld.param.b32 %r3, [d+16]; ld.param.b32 %r5, [d+24]; }
        cvt.u32.u64 %r9, %d3; mad.lo.u32 %r9, %r9, 31, %r1; mad.lo.u32 %r9, %r9, 31, %r3; mad.lo.u32 %r9, %r9, 31, %r5;
        { .param .align 1 .b8 a[7]; .param .align 4 .b8 b[20]; st.param.b8 [a], %r0; st.param.b8 [a+5], 200;
        st.param.b8 [a+6], %r9; call (b), middle, (a); ld.param.b32 %r1, [b]; ld.param.b32 %r2, [b+8];
        ld.param.b32 %r3, [b+16]; } mad.lo.u32 %r9, %r9, 31, %r1; mad.lo.u32 %r9, %r9, 31, %r2;
        mad.lo.u32 %r9, %r9, 31, %r3;""",
    ),
    "pointers": (
        ACKERMANN + ".visible .global .align 8 .u64 table[1] = {ackermann};\n",
        """proto: .callprototype (.param .b32 _) _ (.param .b32 _, .param .b32 _); mov.u64 %d2, table;
        ld.global.u64 %d3, [%d2]; mov.u64 %d4, ackermann; setp.gt.u32 %p1, %r0, 7; selp.b64 %d3, %d3, %d4, %p1;
        rem.u32 %r2, %r0, 5; { .param .b32 a; .param .b32 b; .param .b32 c; st.param.b32 [a], 2;
        st.param.b32 [b], %r2; call (c), %d3, (a, b), proto; ld.param.b32 %r9, [c]; }""",
    ),
}  # fmt: skip


def relocatable(text: str, number: int, by: str, out: Path) -> Path:
    """The file of a PTX text, by us or by ptxas."""
    if by == "ours":
        out.write_bytes(bytes(assemble(text, f"sm_{number}", relocatable=True)))
        return out
    ptxas = vendor.find("ptxas")
    if ptxas is None:
        pytest.skip("ptxas is not installed")
    source = out.with_suffix(".ptx")
    source.write_text(text)
    subprocess.run([ptxas, "-c", f"-arch=sm_{number}", str(source), "-o", str(out)], check=True)
    return out


def declarations(functions: str) -> str:
    """What the kernel's file says of the functions and variables of the other one."""
    heads = re.findall(r"^\.func (.*?) ?\{", functions, re.M | re.S)
    tables = re.findall(r"^\.visible (\.global .*?) =", functions, re.M)
    return "".join([f".extern .func {head};\n" for head in heads] + [f".extern {table};\n" for table in tables])


@pytest.mark.vendor
@pytest.mark.parametrize("callers", ["ours", "ptxas"])
@pytest.mark.parametrize(
    "name, number", [(name, 90) for name in CASES] + [(name, 75 + 5 * (n % 2)) for n, name in enumerate(CASES)]
)
def test_files_of_both_assemblers_call_each_other(name: str, callers: str, number: int, tmp_path: Path) -> None:
    nvlink = shutil.which("nvlink")
    if nvlink is None:
        pytest.skip("nvlink is not on PATH")
    functions, body = CASES[name]
    expected = np.zeros(2 * THREADS, np.uint32)
    on_reference(header(number) + functions + kernel(body), expected)
    assert expected.any()
    visible = re.sub(r"^\.func", ".visible .func", functions, flags=re.M)
    one = relocatable(header(number) + declarations(functions) + kernel(body), number, callers, tmp_path / "k.cubin")
    for others in ["ours", "ptxas"] if callers == "ours" else ["ours"]:
        other = relocatable(header(number) + visible, number, others, tmp_path / f"{others}.cubin")
        out = tmp_path / "linked.cubin"
        subprocess.run([nvlink, "-w", f"-arch=sm_{number}", str(one), str(other), "-o", str(out)], check=True)
        memory = np.zeros(2 * THREADS, np.uint32)
        on_machine(read_cubin(out.read_bytes()), memory)
        assert memory.tolist() == expected.tolist()
