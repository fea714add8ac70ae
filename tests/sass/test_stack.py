"""`alloca`, `stacksave` and `stackrestore` as machine code: beside the reference, through the checker, beside ptxas."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from drawloom.sass.assemble import assemble
from drawloom.sass.decoder import unpack_section
from drawloom.sass.isa import load_target
from drawloom.sass.verify import verify
from tests.reference.stacks import EVERYTHING, HEADER
from tests.sass.meaning import agree, lowered
from tests.sass.test_files import EXPLAINED, by_ptxas, different
from tools.isa.vendor import assembles_for, find

TARGETS = (61, 75, 86, 90)
HEAD = ".version 8.0\n.target sm_61\n.address_size 64\n"

#: Forty values that live beside memory of a size of the thread's own, which is freed in some threads only.
PRESSURE = f"""{HEAD}
.visible .entry k(.param .u64 out, .param .u32 n) {{
    .local .align 16 .b32 table[4]; .reg .u64 %o, %d<4>; .reg .u32 %n, %t, %x<40>, %a, %b; .reg .pred %p;
    ld.param.u64 %o, [out]; ld.param.u32 %n, [n]; mov.u32 %t, %tid.x; mad.wide.u32 %o, %t, 8, %o; mov.u32 %x0, %t;
    {"".join([f"mad.lo.u32 %x{n}, %x{n - 1}, %n, {n};" for n in range(1, 40)])}
    st.local.v4.u32 [table], {{%x3, %x9, %x20, %x30}};
    stacksave.u64 %d0;
    mul.wide.u32 %d1, %t, 4; add.u64 %d1, %d1, 4; alloca.u64 %d2, %d1, 64; st.local.u32 [%d2], %x5;
    setp.lt.u32 %p, %t, 9;
    @%p stackrestore.u64 %d0;
    @%p alloca.u64 %d2, 256; @%p st.local.u32 [%d2+252], %x7; @%p add.u64 %d2, %d2, 252;
    {"".join([f"mad.lo.u32 %x{n}, %x{n}, %x{(n * 7 + 3) % 40}, %n;" for n in range(40)])}
    and.b32 %a, %x39, 12; mov.u32 %b, table; add.u32 %a, %a, %b; ld.local.u32 %a, [%a];
    {"".join([f"add.u32 %a, %a, %x{n};" for n in range(40)])}
    ld.local.u32 %b, [%d2];
    st.global.v2.u32 [%o], {{%a, %b}}; ret;
}}
"""

#: Arguments on the stack of a function that has memory of another alignment there, which it still reads after the call.
ARGUMENTS = f"""{HEAD}
.func (.param .b32 r) sum({", ".join([f".param .b64 a{n}" for n in range(9)])}) {{
    .reg .b64 %d<3>; .reg .b32 %x, %y;
    ld.param.b64 %d0, [a7]; ld.param.b64 %d1, [a8]; ld.local.u32 %x, [%d0]; ld.local.u32 %y, [%d1];
    alloca.u64 %d2, 48; st.local.u32 [%d2+44], %y; ld.local.u32 %y, [%d2+44];
    mad.lo.u32 %x, %x, 3, %y; st.param.b32 [r], %x; ret;
}}
.func (.param .b32 r) middle(.param .b32 n) {{
    .reg .b64 %d<4>; .reg .b32 %n, %x, %y; .local .align 8 .b32 own[3];
    {" ".join([f".param .b64 b{n};" for n in range(9)])} .param .b32 q;
    ld.param.b32 %n, [n]; cvt.u64.u32 %d0, %n; st.local.u32 [own+8], %n;
    alloca.u64 %d1, %d0, 64; st.local.u32 [%d1], %n; mov.u64 %d2, own; add.u64 %d2, %d2, 8;
    {" ".join([f"st.param.b64 [b{n}], %d{2 if n == 8 else 1};" for n in range(9)])}
    call (q), sum, ({", ".join([f"b{n}" for n in range(9)])});
    ld.param.b32 %x, [q]; ld.local.u32 %y, [%d1]; mad.lo.u32 %x, %x, 7, %y; ld.local.u32 %y, [own+8];
    mad.lo.u32 %x, %x, 5, %y; and.b64 %d1, %d1, 63; cvt.u32.u64 %y, %d1; add.u32 %x, %x, %y;
    st.param.b32 [r], %x; ret;
}}
.visible .entry k(.param .u64 out) {{
    .reg .u64 %o; .reg .u32 %t, %n; .param .b32 a; .param .b32 q;
    ld.param.u64 %o, [out]; mov.u32 %t, %tid.x; mad.wide.u32 %o, %t, 4, %o; add.u32 %n, %t, 4;
    st.param.b32 [a], %n; call (q), middle, (a); ld.param.b32 %n, [q]; st.global.u32 [%o], %n; ret;
}}
"""


def checked(text: str, target: int, **options: int) -> None:
    cubin = assemble(lowered(text, target), f"sm_{target}", **options)
    tables = load_target(target)
    assert not verify(tables, unpack_section(tables, cubin.kernels["k"].code))


@pytest.mark.parametrize(
    ("target", "middle", "options"),
    [
        (61, "", {"most_copied": 0}),
        (61, "call waits;", {}),
        (75, "call waits;", {"max_registers": 24}),
        (90, "bar.sync 0;", {"most_copied": 0}),
    ],
)
def test_stacks_beside_the_reference(target: int, middle: str, options: dict[str, int]) -> None:
    text = HEADER + EVERYTHING.replace("MIDDLE", middle)
    agree(text, "k", 1, 40, np.zeros(40, np.uint32), target=target, reverse=target == 75, **options)
    checked(text, target, **options)


@pytest.mark.parametrize("target", TARGETS)
def test_spilled_registers_stay_where_they_are_when_the_stack_pointer_moves(target: int) -> None:
    agree(PRESSURE, "k", 1, 32, np.zeros(64, np.uint32), 3, target=target, max_registers=24)
    checked(PRESSURE, target, max_registers=24)
    assert assemble(lowered(PRESSURE, target), f"sm_{target}", max_registers=24).kernels["k"].spill_stores


@pytest.mark.parametrize("target", TARGETS)
def test_arguments_on_the_stack_stand_below_what_alloca_gave(target: int) -> None:
    agree(ARGUMENTS, "k", 1, 32, np.zeros(32, np.uint32), target=target, most_copied=0)
    checked(ARGUMENTS, target, most_copied=0)


@pytest.mark.vendor
@pytest.mark.parametrize("target", TARGETS)
def test_files_with_a_dynamic_stack_are_like_those_of_ptxas(target: int, tmp_path: Path) -> None:
    if find("ptxas") is None or not assembles_for(target):
        pytest.skip(f"no ptxas for sm_{target} is installed (python -m tools.isa fetch)")
    for text in (PRESSURE, ARGUMENTS, HEADER + EVERYTHING.replace("MIDDLE", "")):
        text = lowered(text, target)
        theirs = by_ptxas(text, target, tmp_path)
        assert theirs is not None
        found = different(assemble(text, f"sm_{target}", cuda=13 if theirs[7] == 0x41 else 12), theirs)
        assert not {part: what for part, what in found.items() if part not in EXPLAINED}
