"""Our machine code on the interpreter against the PTX reference: defects that generated programs found, by name."""

from __future__ import annotations

import numpy as np
import pytest

from tests.sass.meaning import agree

HEAD = ".version 8.6\n.target sm_90\n.address_size 64\n"

OWN_GUARD = f"""{HEAD}
.func (.param .b32 result) next(.param .b32 x) {{
    .reg .b32 %x; ld.param.b32 %x, [x]; add.u32 %x, %x, 1; st.param.b32 [result], %x; ret;
}}
.visible .entry k(.param .u64 out) {{
    .reg .u64 %o; .reg .b32 %x, %y; .reg .pred %p, %q;
    ld.param.u64 %o, [out]; mov.u32 %x, %tid.x; mad.wide.u32 %o, %x, 4, %o;
    setp.lt.u32 %q, %x, 9; setp.gt.u32 %p, %x, 5;
    {{ .param .b32 a; st.param.b32 [a], %x; .param .b32 r; call (r), next, (a); ld.param.b32 %y, [r]; }}
    @%p setp.eq.u32 %p|%q, %y, 8;
    {{ .param .b32 a; st.param.b32 [a], %y; .param .b32 r; call (r), next, (a); ld.param.b32 %y, [r]; }}
    @%p add.u32 %y, %y, 100; @%q add.u32 %y, %y, 1000;
    st.global.u32 [%o], %y; ret;
}}
"""


def test_a_spilled_result_is_kept_where_the_instruction_changes_its_own_guard() -> None:
    """The store had the same guard, which the instruction had changed."""
    agree(OWN_GUARD, "k", 1, 32, np.zeros(32, np.uint32), most_copied=0)


ALIGNED_LOCAL = f"""{HEAD}
.visible .entry k(.param .u64 out, .param .u32 n) {{
    .local .align 16 .b32 table[12]; .reg .u64 %o; .reg .u32 %n, %x<40>; .reg .u32 %a, %t;
    ld.param.u64 %o, [out]; ld.param.u32 %n, [n]; mov.u32 %x0, %tid.x; mad.wide.u32 %o, %x0, 4, %o;
    {"".join([f"mad.lo.u32 %x{n}, %x{n - 1}, %n, {n};" for n in range(1, 40)])}
    st.local.v4.u32 [table], {{%x3, %x9, %x20, %x30}};
    and.b32 %a, %x39, 12; mov.u32 %t, table; add.u32 %a, %a, %t; ld.local.u32 %a, [%a];
    {"".join([f"add.u32 %a, %a, %x{n};" for n in range(40)])}
    st.global.u32 [%o], %a; ret;
}}
"""


@pytest.mark.parametrize("registers", [255, 32, 24])
def test_vectors_in_local_variables_stay_aligned_beside_spilled_registers(registers: int) -> None:
    """The frame was a multiple of 8."""
    agree(ALIGNED_LOCAL, "k", 1, 32, np.zeros(32, np.uint32), 3, max_registers=registers)


TWO_ENTRIES = f"""{HEAD}
.visible .entry k(.param .u64 out) {{
    .reg .u64 %o; .reg .u32 %x, %n, %y; .reg .pred %p, %q;
    ld.param.u64 %o, [out]; mov.u32 %x, %tid.x; mad.wide.u32 %o, %x, 4, %o;
    and.b32 %n, %x, 7; mov.u32 %y, 0; setp.gt.u32 %p, %n, 3;
    @%p bra INSIDE;
AGAIN:
    add.u32 %y, %y, 1;
INSIDE:
    add.u32 %y, %y, 16; setp.eq.u32 %q, %n, 0; @%q bra END;
    sub.u32 %n, %n, 1; @%p bra AGAIN;
    add.u32 %y, %y, 256; bra INSIDE;
END:
    vote.sync.ballot.b32 %n, %p, 0xFFFFFFFF; add.u32 %y, %y, %n;
    st.global.u32 [%o], %y; ret;
}}
"""


@pytest.mark.parametrize("reverse", [False, True])
def test_lanes_meet_behind_a_cycle_with_two_entries_and_not_in_it(reverse: bool) -> None:
    """A barrier was set up in every round, for those lanes only that came together."""
    agree(TWO_ENTRIES, "k", 1, 32, np.zeros(32, np.uint32), reverse=reverse)


ONE_IN_BRACES = f"""{HEAD}
.visible .entry k(.param .u64 out) {{
    .reg .u64 %o, %d; .reg .u32 %x, %y;
    ld.param.u64 {{%o}}, [out]; mov.u32 %x, %tid.x; mad.wide.u32 %o, %x, 8, %o;
    ld.global.u32 {{%y}}, [%o]; add.u32 %y, %y, %x; st.global.u32 [%o], {{%y}};
    ld.global.b64 {{%d}}, [%o]; add.u64 %d, %d, 7; st.global.b64 [%o], {{%d}}; ret;
}}
"""


def test_loads_of_one_register_in_braces() -> None:
    """Triton writes them; what was loaded went to RZ."""
    agree(ONE_IN_BRACES, "k", 1, 32, np.arange(64, dtype=np.uint32))
