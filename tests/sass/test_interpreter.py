"""The interpreter of machine code against the PTX reference: on ptxas's code, on ours, and on single instructions."""

from __future__ import annotations

import re

import numpy as np
import pytest

from drawloom.errors import DeadlockError, KernelFault, MemoryAccessError, UnsupportedError
from drawloom.sass.assemble import SELECTED, assemble
from drawloom.sass.assembly import AssembledFunction, Assembly, Parameter
from drawloom.sass.cubin import Cubin, write_cubin
from drawloom.sass.decoder import unpack_section
from drawloom.sass.encoding import pack_section
from drawloom.sass.interpreter import run
from drawloom.sass.isa import load_target
from drawloom.sass.predication import MOST
from drawloom.sass.text import parse_instruction
from tools.fuzz_sass import UNSUPPORTED, Settings, check_program, program_of, settings_of
from tools.isa import vendor
from tools.programs import generate

PROGRAMS = 5  # of every target
SEEDS_PER_LEVEL = 2


@pytest.mark.parametrize("target", SELECTED)
def test_our_code_for_generated_programs_computes_what_the_reference_does(target: int) -> None:
    """Also with few registers, with functions that are called, in the order of the program (`VARIANTS`)."""
    ran = 0
    for seed in range(5000, 5000 + PROGRAMS):
        message = check_program(program_of(seed, target), settings_of(seed, Settings(target, "ours", 3, False)))
        if not message.startswith(UNSUPPORTED):
            assert message == "", f"seed {seed}: {message}"
            ran += 1
    assert ran >= PROGRAMS - 1


@pytest.mark.vendor
@pytest.mark.skipif(vendor.find("ptxas") is None, reason="ptxas is not installed")
@pytest.mark.parametrize("level", [0, 1, 3])
def test_the_vendors_code_for_generated_programs_computes_what_the_reference_does(level: int) -> None:
    ran = 0
    for seed in range(6000, 6000 + 4 * SEEDS_PER_LEVEL):
        message = check_program(generate(seed), Settings(90, "ptxas", level, reverse=seed % 2 == 1))
        if message.startswith(UNSUPPORTED):
            continue  # PTX that it refuses, and forms that the encoding tables lack
        assert message == "", f"seed {seed}: {message}"
        ran += 1
    assert ran >= 2 * SEEDS_PER_LEVEL


def cubin(*lines: str) -> Cubin:
    """A kernel `k` of one pointer, in the words of nvdisasm."""
    target = load_target(90)
    code = pack_section(target, [parse_instruction(target, line, 16 * n) for n, line in enumerate(lines)])
    function = AssembledFunction("k", code, registers=32, parameters=[Parameter(0, 8)], parameter_bytes=8)
    return write_cubin(Assembly(90, functions=[function]))


def results(*lines: str, threads: int = 32, max_steps: int = 10_000, reverse: bool = False) -> list[int]:
    """R0 of every thread, after these lines. R2 is the thread's number, R4 and R5 where its result goes."""
    out = np.zeros(threads, np.uint32)
    head = ["S2R R2, SR_TID.X", "MOV R6, 0x4", "LDC.64 R8, c[0x0][0x210]", "IMAD.WIDE.U32 R4, R2, R6, R8"]
    head.append("ULDC.64 UR4, c[0x0][0x208]")
    code = cubin(*head, *lines, "STG.E desc[UR4][R4.64], R0", "EXIT")
    address = int(out.ctypes.data)
    run(
        code, "k", (1, 1, 1), (threads, 1, 1), address.to_bytes(8, "little"), buffers=[(address, out.nbytes)],
        max_steps=max_steps, reverse=reverse,
    )  # fmt: skip
    found: list[int] = out.tolist()
    return found


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["MOV R0, 0x7", "IADD3 R0, P0, -R0, 0x7, RZ", "IADD3.X R0, RZ, RZ, RZ, P0, !PT"], 1),  # 7 - 7 does not borrow
        (["MOV R0, 0xffffffff", "IADD3 R1, P0, P1, R0, R0, R0", "IADD3.X R0, RZ, RZ, RZ, P0, P1"], 2),
        (["MOV R0, 0x80000000", "IMAD.HI R0, R0, R0, RZ"], 0x40000000),
        (["MOV R0, 0xff", "SHF.L.U32 R0, R0, 0x20, RZ"], 0),
        (["MOV R0, 0x81", "SGXT R0, R0, 0x8"], 0xFFFFFF81),
        (["MOV R0, 0x3f800000", "FADD.RP R0, R0, 1.1754943508222875e-38"], 0x3F800001),
        (["MOV R0, 0x3f800003", "FFMA R0, R0, R0, -1"], 0x35400002),
        (["MOV R0, 0x00400000", "FADD.FTZ R0, R0, 1"], 0x3F800000),
        (["MOV R0, 0x7fc00001", "F2I.TRUNC.NTZ R0, R0"], 0),
        (["MOV R0, 0x12345678", "PRMT R0, R0, 0x9012, RZ"], 0x00785634 & 0xFF785634),
        (["MOV R0, 0x7c013c00", "HADD2 R0, R0, R0"], 0x7FFF4000),
    ],
)  # fmt: skip
def test_single_instructions(lines: list[str], expected: int) -> None:
    assert results(*lines) == [expected] * 32


def test_lanes_that_parted_stay_apart_until_a_barrier() -> None:
    parts = ["ISETP.LT.U32.AND P0, PT, R2, 0x5, PT", "BSSY B0, 0xb0", "@P0 BRA 0xa0", "NOP", "NOP", "BSYNC B0"]
    assert results(*parts, "VOTE.ANY R0, PT, PT") == [0xFFFFFFFF] * 32
    parts[1] = parts[5] = "NOP"
    assert results(*parts, "VOTE.ANY R0, PT, PT") == [0x1F] * 5 + [0xFFFFFFE0] * 27


def test_a_shuffle_gets_nothing_from_lanes_that_are_elsewhere() -> None:
    parts = ["ISETP.EQ.U32.AND P0, PT, R2, RZ, PT", "MOV R0, 0x1", "@P0 BRA 0x90", "SHFL.IDX PT, R0, R0, RZ, 0x1f"]
    assert results(*parts)[1:] != [1] * 31


def test_unknown_instructions_are_named_when_they_are_reached() -> None:
    with pytest.raises(UnsupportedError, match="FSWZADD"):
        results("FSWZADD R0, R0, R0, PPPPPPPP")
    assert results("MOV R0, 0x1", "BRA 0x80", "FSWZADD R0, R0, R0, PPPPPPPP") == [1] * 32


def test_what_code_must_not_do_is_an_error() -> None:
    with pytest.raises(MemoryAccessError, match="outside of"):
        results("LDG.E R0, desc[UR4][R4.64+0x1000]")
    with pytest.raises(MemoryAccessError, match="misaligned"):
        results("LDG.E R0, desc[UR4][R4.64+0x1]")
    with pytest.raises(KernelFault, match="not aligned"):
        results("DADD R0, R3, R4")
    with pytest.raises(DeadlockError, match="not ended"):
        results("BRA 0x50")
    with pytest.raises(KernelFault, match="set up for"):
        results("BSSY B0, 0x80", "BREAK B0", "BSYNC B0")


LOOP_AFTER_IF = """
.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out)
{
    .reg .u64 %p; .reg .u32 %t, %n; .reg .pred %q;
    ld.param.u64 %p, [out];
    mov.u32 %t, %tid.x;
    mov.u32 %n, %t;
    setp.lt.u32 %q, %t, 3;
    @%q bra head;
    st.global.u32 [%p], %t;
head:
    sub.u32 %n, %n, 1;
    setp.gt.s32 %q, %n, 0;
    @%q bra head;
    ret;
}
"""


def test_lanes_that_meet_at_the_header_of_a_loop_do_not_wait_in_every_round(monkeypatch: pytest.MonkeyPatch) -> None:
    """The BSYNC stood in the loop: lanes in their second round waited for others that had left it."""
    monkeypatch.setitem(MOST, 90, 0)
    out = np.zeros(1, np.uint32)
    address = int(out.ctypes.data)
    params = address.to_bytes(8, "little")
    run(assemble(LOOP_AFTER_IF, "sm_90"), "k", (1, 1, 1), (32, 1, 1), params, buffers=[(address, 4)], max_steps=9999)


def test_a_convergence_barrier_names_the_instruction_behind_its_bsync(monkeypatch: pytest.MonkeyPatch) -> None:
    """It named the BSYNC itself, which the vendor's code never does."""
    monkeypatch.setitem(MOST, 90, 0)  # the sides of short branches would stand under a guard
    code = assemble(LOOP_AFTER_IF.replace("ret;", "bar.sync 0; ret;"), "sm_90").functions["k"].code
    text = [i.text(16 * n) for n, i in enumerate(unpack_section(load_target(90), code))]
    set_ups = [re.fullmatch(r"BSSY (B\d+), 0x([0-9a-f]+)", line) for line in text]
    found = [(m[1], int(m[2], 16) // 16) for m in set_ups if m is not None]
    assert len(found) == 2
    for barrier, behind in found:
        assert text[behind - 1] == f"BSYNC {barrier}"


RECIPROCAL = """
.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out, .param .f64 x)
{
    .reg .u64 %p; .reg .f64 %x, %d;
    ld.param.u64 %p, [out];
    ld.param.f64 %x, [x];
    rcp.rn.f64 %d, %x;
    st.global.f64 [%p], %d;
    ret;
}
"""


@pytest.mark.parametrize("bits", [0x7FF0000000000001, 0xFFF0000000000001, 0x7FF8000000000000])
def test_a_double_that_is_a_nan_in_its_lower_word_only_has_no_reciprocal(bits: int) -> None:
    """MUFU.RCP64H sees the upper word, which is that of an infinity: the result was 0."""
    out = np.zeros(1, np.float64)
    address = int(out.ctypes.data)
    params = address.to_bytes(8, "little") + bits.to_bytes(8, "little")
    run(assemble(RECIPROCAL, "sm_90"), "k", (1, 1, 1), (1, 1, 1), params, buffers=[(address, 8)])
    assert np.isnan(out[0])
