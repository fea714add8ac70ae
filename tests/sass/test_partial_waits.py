"""sm_61: loads that share a scoreboard are waited for one by one, and nothing more than needed tells of their reads."""

from __future__ import annotations

import numpy as np
import pytest

from drawloom.sass.assemble import assemble
from drawloom.sass.control import NO_BARRIER, read_barrier, wait_mask, write_barrier
from drawloom.sass.decoder import decode, unpack_section
from drawloom.sass.encoding import encode
from drawloom.sass.instruction import Instruction
from drawloom.sass.isa import load_target
from drawloom.sass.verify import verify
from tools.fuzz import difference, run_on_reference
from tools.fuzz_sass import run_machine_code
from tools.isa import vendor
from tools.programs.program import Program

ISA = load_target(61)
PARTIAL = "DEPBAR.LE"


def loads(count: int, guard: str = "", last: str = "") -> str:
    """A kernel with so many loads under way, each used in turn."""
    lines = [f"{guard if n % 2 else ''} ld.global.f32 %x{n}, [%i+{4096 * n}];" for n in range(count)]
    lines += [f"fma.rn.f32 %s, %s, %x{n}, %x{n}; {last}" for n in range(count)]
    return f"""
.version 6.2
.target sm_61
.address_size 64
.visible .entry k(.param .u64 input, .param .u64 output, .param .u64 accumulators, .param .u32 n)
{{
    .reg .u64 %i, %o, %a; .reg .u32 %t; .reg .f32 %x<{count}>, %s; .reg .pred %p;
    ld.param.u64 %i, [input]; ld.param.u64 %o, [output];
    mov.u32 %t, %tid.x; mul.wide.u32 %a, %t, 4; add.u64 %i, %i, %a; add.u64 %o, %o, %a;
    mov.f32 %s, 0f00000000; setp.lt.u32 %p, %t, 9;
    {" ".join(f"mov.f32 %x{n}, 0f3F800000;" for n in range(count)) if guard else ""}
    {" ".join(lines)}
    st.global.f32 [%o], %s;
    ret;
}}
"""


def code_of(text: str) -> list[Instruction]:
    return unpack_section(ISA, assemble(text, "sm_61").kernels["k"].code)


def base(instruction: Instruction) -> str:
    return instruction.opcode.mnemonic


@pytest.mark.parametrize("count", [8, 16, 40])
def test_a_use_waits_for_its_load_and_not_for_all(count: int) -> None:
    code = code_of(loads(count))
    waits = [i for i in code if base(i) == PARTIAL]
    assert len(waits) >= (count - 8) // 2
    assert verify(ISA, code) == []
    first = next(n for n, i in enumerate(code) if base(i) == "FFMA")
    shared = {write_barrier(i.control) for i in code[:first] if base(i).startswith("LDG")}
    assert wait_mask(code[first].control).bit_count() == 1
    assert len(shared) == 5


def test_five_loads_have_scoreboards_of_their_own() -> None:
    code = code_of(loads(5))
    assert not [i for i in code if base(i) == PARTIAL]
    assert len({write_barrier(i.control) for i in code if base(i).startswith("LDG")}) == 5


def test_one_too_many_left_out_is_found() -> None:
    code = code_of(loads(16))
    places = [n for n, i in enumerate(code) if base(i) == PARTIAL]
    assert len(places) > 3
    for place in places:
        kept = code[place].control
        code[place].values[1] += 1
        assert verify(ISA, code) != []
        code[place].values[1] -= 1
        code[place].control = kept & ~15 | 2
        assert "waits for some with a stall of 2" in [p.why for p in verify(ISA, code)]
        code[place].control = kept
    assert verify(ISA, code) == []


def test_a_load_under_a_guard_is_not_counted() -> None:
    code = code_of(loads(16, guard="@%p"))
    assert [i for i in code if i.guard != 7 and base(i).startswith("LDG")]
    for place, wait in enumerate(code):
        if base(wait) == PARTIAL:
            board, most = wait.values
            before = [i for i in code[:place] if write_barrier(i.control) == board and i.guard == 7]
            assert len(before) > most
    assert verify(ISA, code) == []


def test_the_last_reader_tells_for_all_that_read_in_order() -> None:
    """Each load had a read barrier of its own, and the next write of the address waited for all of them."""
    code = code_of(loads(4, last="add.u64 %i, %i, 4; st.global.f32 [%o], %s;"))
    first = next(n for n, i in enumerate(code) if base(i) == "FFMA")
    assert sum(read_barrier(i.control) != NO_BARRIER for i in code[:first] if base(i).startswith("LDG")) <= 1
    assert verify(ISA, code) == []


@pytest.mark.parametrize("text", [loads(8), loads(16), loads(40), loads(16, guard="@%p")])
def test_results_are_those_of_the_reference(text: str) -> None:
    read = np.arange(41 * 1024, dtype=np.uint32) % 9973 + 0x3F800000
    zeros = np.zeros(64, np.uint32)
    program = Program(0, text, (1, 1, 1), (64, 1, 1), 0, read, zeros, zeros.copy(), 3)
    expected = run_on_reference(program)
    assert not expected.error
    assert difference(program, expected, run_machine_code(program, assemble(text, "sm_61"))) == ""


def test_every_scoreboard_can_be_named() -> None:
    """The table had only SB0, SB1, SB4 and SB5: ptxas uses SB5, from which a flip leads to no SB7."""
    opcode = ISA.opcode("DEPBAR.LE", "SB,I")
    words = [encode(Instruction(opcode, [board, 5])) for board in range(6)]
    texts = [f"DEPBAR.LE SB{board}, 0x5" for board in range(6)]
    assert [str(decode(ISA, word)) for word in words] == texts
    if vendor.find("nvdisasm-12.4") is None:
        pytest.skip("needs nvdisasm")
    assert vendor.texts_of(words, 61) == texts
