"""The interpreter of machine code for sm_61: single instructions, the stack of a warp, generated programs as the vendor
and we assemble them."""

from __future__ import annotations

import numpy as np
import pytest

from drawloom.errors import KernelFault, UnsupportedError
from drawloom.sass.assembly import AssembledFunction, Assembly, Parameter
from drawloom.sass.cubin import write_cubin
from drawloom.sass.encoding import address_of, pack_section
from drawloom.sass.interpreter import run
from drawloom.sass.isa import load_target
from drawloom.sass.text import parse_instruction
from tools.fuzz_sass import UNSUPPORTED, Settings, check_program, program_of
from tools.isa import vendor

HEAD = ["S2R R2, SR_TID.X", "SHL R4, R2, 0x2", "IADD R4.CC, R4, c[0x0][0x140]", "IADD.X R5, RZ, c[0x0][0x144]"]
#: The address of the instruction behind the head, and of those behind it.
AT = [address_of(load_target(61), len(HEAD) + n) for n in range(20)]


def results(*lines: str, reverse: bool = False) -> list[int]:
    """R0 of 32 threads after these lines. R2 is the thread's number, R4 and R5 where its result goes."""
    target = load_target(61)
    text = [*HEAD, *lines, "STG.E [R4], R0", "EXIT"]
    text += ["NOP"] * (-len(text) % 3)
    code = pack_section(target, [parse_instruction(target, line, address_of(target, n)) for n, line in enumerate(text)])
    function = AssembledFunction("k", code, registers=32, parameters=[Parameter(0, 8)], parameter_bytes=8)
    out = np.zeros(32, np.uint32)
    address = int(out.ctypes.data)
    cubin = write_cubin(Assembly(61, functions=[function]))
    run(
        cubin, "k", (1, 1, 1), (32, 1, 1), address.to_bytes(8, "little"), buffers=[(address, out.nbytes)],
        max_steps=1000, reverse=reverse,
    )  # fmt: skip
    found: list[int] = out.tolist()
    return found


def words(**values: int) -> list[str]:
    return [f"MOV32I {name}, {value:#x}" for name, value in values.items()]


SINGLE = [
    # a difference of equal numbers borrows nothing
    ([*words(R6=7), "IADD RZ.CC, R6, -R6", "IADD.X R0, RZ, RZ"], 1),
    ([*words(R6=6, R7=7), "IADD RZ.CC, R6, -R7", "IADD.X R0, RZ, RZ"], 0),
    ([*words(R6=0xFFFFFFFF), "IADD32I RZ.CC, R6, 0x1", "IADD.X R0, R6, RZ"], 0),
    # the immediate of IADD3 has a sign that is not printed
    ([*words(R6=0x1000), "IADD3 R0, R6, 0xff808, RZ"], 0x1000 - 0x7F8),
    ([*words(R6=5, R7=9), "IADD3 R0, R7, R6, -R6"], 9),
    # the carry of the first sum of IADD3.RS is kept
    ([*words(R6=0xFFFF0000), "IADD3.RS R0, R6, R6, RZ"], 0x1FFFE),
    # a * b from three XMADs
    (
        [*words(R6=0x12345678, R7=0x9ABCDEF1), "XMAD R8, R6, R7, RZ", "XMAD.MRG R9, R6, R7.H1, RZ",
         "XMAD.PSL.CBCC R0, R6.H1, R9.H1, R8"],
        0x12345678 * 0x9ABCDEF1 & 0xFFFFFFFF,
    ),
    # the upper word of a signed product, as ptxas takes it
    (
        [*words(R6=0xFFFFFFFF, R7=0x10000), "XMAD R8, R6, R7, RZ", "XMAD.U16.S16 R9, R6, R7.H1, RZ",
         "XMAD.S16.U16.CHI R8, R6.H1, R7, R8", "XMAD.S16.S16.CSFU R10, R6.H1, R7.H1, RZ", "IADD3.RS R0, R8, R9, R10"],
        0xFFFFFFFF,
    ),
    ([*words(R6=0xF0), "ISCADD R0, -R6, R6, 0x4"], 0xF0 - 0xF00 & 0xFFFFFFFF),
    ([*words(R6=0x80), "BFE R0, R6, 0x105"], 0),
    ([*words(R6=0x80), "BFE R0, R6, 0x107"], 0xFFFFFFFF),
    ([*words(R6=0x80), "BFE.U32.BREV R0, R6, 0x2000"], 0x01000000),
    ([*words(R6=0xAB, R7=0xFFFFFFFF), "BFI R0, R6, 0x808, R7"], 0xFFFFABFF),
    ([*words(R6=0x80000000), "SHF.L R0, R6, 0x1, RZ"], 1),
    ([*words(R6=1), "SHL R0, R6, 0x20"], 0),
    ([*words(R6=1), "SHL.W R0, R6, 0x20"], 1),
    ([*words(R6=0x80FF), "I2I.S32.S8 R0, R6.B1"], 0xFFFFFF80),
    ([*words(R6=0x80FF), "I2I.U8.S32.SAT R0, R6"], 0xFF),
    ([*words(R6=0x7FC00000), "F2I.S32.F32.TRUNC R0, R6"], 0),
    ([*words(R6=3, R7=4), "ICMP.LT R0, R6, R7, RZ"], 4),
    ([*words(R6=5), "ISETP.GT.AND P0, P1, R6, 0x4, PT", "PSET.AND.AND R0, P0, !P1, PT"], 0xFFFFFFFF),
    # 5:0 < 5:1 by the difference of the lower words
    (
        [*words(R6=5, R7=0, R8=1), "IADD RZ.CC, R7, -R8", "ISETP.LT.X.AND P0, PT, R6, R6, PT", "SEL R0, R6, RZ, P0"],
        5,
    ),
    # min.s64 by halves: the upper words are equal
    ([*words(R6=9, R7=4), "IMNMX.XHI RZ.CC, R6, R6, PT", "IMNMX.U32.XLO R0, R6, R7, PT"], 4),
    ([*words(R6=0x3F800000), "LOP32I.PASS_B R0, RZ, 0xfffffff0.INV"], 15),
    ([*words(R6=6), "LOP.AND.NZ P1, RZ, R6, 0x1", "SEL R0, R6, RZ, P1"], 0),
]  # fmt: skip


@pytest.mark.parametrize(("lines", "expected"), SINGLE, ids=[lines[-1] for lines, _ in SINGLE])
def test_single_instructions(lines: list[str], expected: int) -> None:
    assert results(*lines) == [expected] * 32


@pytest.mark.parametrize("reverse", [False, True])
def test_lanes_meet_behind_the_sync_and_not_before(reverse: bool) -> None:
    parts = [
        "ISETP.LT.U32.AND P0, PT, R2, 0x5, PT", f"SSY {AT[6]:#x}", f"@P0 BRA {AT[4]:#x}", "SYNC",
        "VOTE.ANY R6, PT, PT", "SYNC", "VOTE.ANY R0, PT, PT",
    ]  # fmt: skip
    assert results(*parts, reverse=reverse) == [0xFFFFFFFF] * 32
    assert results(*parts[:-1], "MOV R0, R6", reverse=reverse)[:5] == [0x1F] * 5


def test_brk_takes_lanes_out_of_the_meetings_inside() -> None:
    parts = [
        f"PBK {AT[8]:#x}", "ISETP.LT.U32.AND P0, PT, R2, 0x5, PT", f"SSY {AT[6]:#x}", f"@P0 BRA {AT[5]:#x}", "SYNC",
        "BRK", "VOTE.ANY R6, PT, PT", "BRK", "VOTE.ANY R0, PT, PT", "LOP.XOR R0, R0, R6",
    ]  # fmt: skip
    assert results(*parts)[5:] == [0xFFFFFFFF ^ 0xFFFFFFE0] * 27


def test_cont_begins_a_round_of_those_that_stay() -> None:
    parts = [
        "MOV R0, RZ", f"PBK {AT[9]:#x}", f"PCNT {AT[2]:#x}", "IADD32I R0, R0, 0x1", f"SSY {AT[8]:#x}",
        "ISETP.GE.U32.AND P0, PT, R0, R2, PT", "@P0 BRK", "SYNC", "CONT", "VOTE.ANY R6, PT, PT", "LOP.XOR R0, R0, R6",
    ]  # fmt: skip
    for reverse in (False, True):
        assert results(*parts, reverse=reverse) == [0xFFFFFFFF ^ max(thread, 1) for thread in range(32)]


def test_a_call_comes_back_with_all_lanes() -> None:
    parts = [f"CAL {AT[3]:#x}", "VOTE.ANY R0, PT, PT", f"BRA {AT[6]:#x}", "ISETP.LT.U32.AND P0, PT, R2, 0x5, PT"]
    assert results(*parts, "@P0 RET", "RET") == [0xFFFFFFFF] * 32


def test_a_sync_needs_its_ssy_on_top() -> None:
    with pytest.raises(KernelFault, match="SYNC without a token"):
        results("SYNC")
    with pytest.raises(KernelFault, match="SYNC under a token of PBK"):
        results(f"SSY {AT[3]:#x}", f"PBK {AT[3]:#x}", "SYNC")


def test_a_barrier_of_the_block_needs_the_whole_warp() -> None:
    parts = ["ISETP.LT.U32.AND P0, PT, R2, 0x5, PT", f"@P0 BRA {AT[3]:#x}", "NOP", "BAR.SYNC 0x0"]
    with pytest.raises(UnsupportedError, match="lanes of the warp are elsewhere"):
        results(*parts)


def test_our_code_for_generated_programs_computes_what_the_reference_does() -> None:
    ran = 0
    for seed in range(7000, 7012):
        message = check_program(program_of(seed, 61), Settings(61, "ours", 3, reverse=seed % 2 == 1))
        if not message.startswith(UNSUPPORTED):
            assert message == "", f"seed {seed}: {message}"
            ran += 1
    assert ran >= 9


@pytest.mark.vendor
@pytest.mark.skipif(vendor.find("ptxas") is None, reason="ptxas is not installed")
@pytest.mark.parametrize("level", [0, 3])
def test_the_vendors_code_for_generated_programs_computes_what_the_reference_does(level: int) -> None:
    ran = 0
    for seed in range(8000, 8006):
        message = check_program(program_of(seed, 61), Settings(61, "ptxas", level, reverse=seed % 2 == 1))
        if message.startswith(UNSUPPORTED):
            continue  # PTX that it refuses, a ptxas without sm_61, forms that the encoding tables lack
        assert message == "", f"seed {seed}: {message}"
        ran += 1
    if not ran:
        pytest.skip("this ptxas does not know sm_61")
    assert ran >= 3
