"""What a GPU (an H100) showed and ptxas's code confirmed: each of these gave wrong answers or faults there."""

import pytest

from drawloom.sass.assemble import assemble
from drawloom.sass.control import stall, write_barrier
from drawloom.sass.decoder import unpack_section
from drawloom.sass.encoding import encode
from drawloom.sass.instruction import Instruction
from drawloom.sass.isa import load_target
from drawloom.sass.latencies import CONSUMERS, PRODUCERS, timing

HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n.shared .align 4 .b8 tile[256];\n"
KERNEL = (
    HEAD
    + ".visible .entry k(.param .u64 out)\n{{\n.reg .pred %p<4>;\n.reg .b32 %r<9>;\n.reg .b64 %d<4>;\n{}\nret;\n}}\n"
)


def code_of(body: str, arch: str = "sm_90") -> list[Instruction]:
    cubin = assemble(KERNEL.format(body), arch)
    return unpack_section(load_target(int(arch[3:])), cubin.functions["k"].code)


def between(code: list[Instruction], first: str, second: str) -> int:
    """Cycles from one instruction to the next of another name behind it."""
    at = next(place for place, i in enumerate(code) if i.opcode.mnemonic.startswith(first))
    cycles = 0
    while not code[at].opcode.mnemonic.startswith(second):
        cycles += max(stall(code[at].control), 1)
        at += 1
    return cycles


def test_shared_memory_is_read_six_cycles_behind_a_barrier() -> None:
    code = code_of("mov.u32 %r1, tile;\nst.shared.u32 [%r1], %r1;\nbar.sync 0;\nld.shared.u32 %r2, [%r1+4];\n"
                   "ld.param.u64 %d1, [out];\nst.global.u32 [%d1], %r2;")  # fmt: skip
    assert between(code, "BAR", "LDS") >= 6


@pytest.mark.parametrize("operation", ["popc.u32 %r2", "and.pred %p2", "or.pred %p2"])
def test_the_result_of_a_barrier_is_read_six_cycles_behind_it(operation: str) -> None:
    code = code_of(f"mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 9;\nbarrier.red.{operation}, 0, %p1;\n"
                   "@%p2 add.u32 %r2, %r1, 1;\nld.param.u64 %d1, [out];\nst.global.u32 [%d1], %r2;")  # fmt: skip
    assert between(code, "BAR", "B2R") >= 6


def test_warps_meet_before_what_follows_warpsync() -> None:
    code = code_of("bar.warp.sync 0xffffffff;\nmov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 3;\n"
                   "vote.sync.ballot.b32 %r2, %p1, 0xffffffff;\nld.param.u64 %d1, [out];\n"
                   "st.global.u32 [%d1], %r2;")  # fmt: skip
    for instruction in code:
        if instruction.opcode.mnemonic.startswith("WARPSYNC"):
            assert stall(instruction.control) >= 5


def test_lanes_are_brought_together_behind_nanosleep() -> None:
    """The lanes of a branch did not always meet at the BSYNC behind one that slept; ptxas has a NOP there, too."""
    code = code_of("mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 7;\n@%p1 bra L;\nnanosleep.u32 41;\nL:\n"
                   "shfl.sync.bfly.b32 %r2, %r1, 16, 31, -1;\nld.param.u64 %d1, [out];\n"
                   "st.global.u32 [%d1], %r2;")  # fmt: skip
    names = [i.opcode.mnemonic for i in code]
    assert names[names.index("NANOSLEEP") + 1] == "NOP"
    assert names.index("BSYNC") < names.index("WARPSYNC.ALL") < names.index("SHFL.BFLY")


def test_lanes_are_brought_together_before_a_barrier_behind_nanosleep() -> None:
    """Where they were not, the barrier let go before all had stored."""
    code = code_of("mov.u32 %r1, %tid.x;\nmov.u32 %r2, tile;\nsetp.lt.u32 %p1, %r1, 7;\n@%p1 bra L;\nnanosleep.u32 4;\n"
                   "L:\nst.shared.u32 [%r2], %r1;\nbar.sync 0;\nld.shared.u32 %r3, [%r2+4];\n"
                   "ld.param.u64 %d1, [out];\nst.global.u32 [%d1], %r3;")  # fmt: skip
    names = [i.opcode.mnemonic for i in code]
    assert names.index("STS") < names.index("WARPSYNC.ALL") < names.index("BAR.SYNC.DEFER_BLOCKING")


def test_elect_takes_a_fixed_time_and_sets_no_scoreboard() -> None:
    code = code_of("elect.sync %r1|%p1, -1;\nselp.u32 %r2, 7, %r1, %p1;\nld.param.u64 %d1, [out];\n"
                   "st.global.u32 [%d1], %r2;")  # fmt: skip
    elect = next(i for i in code if i.opcode.mnemonic == "ELECT")
    assert write_barrier(elect.control) == 7
    assert between(code, "ELECT", "SEL") >= 13


@pytest.mark.parametrize("target", [75, 80, 90])
def test_i2i_takes_a_fixed_time(target: int) -> None:
    opcode = load_target(target).opcode("I2I.U8.S32.SAT", "R,R")
    assert not timing(target).variable(opcode)


def test_the_lower_word_of_a_wide_addend_is_read_like_any_other() -> None:
    cycles = timing(90).cycles
    low, high = CONSUMERS.index("wide.c"), CONSUMERS.index("wide.ch")
    assert [cycles[PRODUCERS.index(p)][low] for p in ("alu", "fma")] == [5, 4]
    assert [cycles[PRODUCERS.index(p)][high] for p in ("alu", "fma")] == [3, 2]


@pytest.mark.parametrize("target", [75, 80, 90])
def test_unprinted_bits_are_those_of_forms_that_ptxas_uses(target: int) -> None:
    """LEA with a carry out and an immediate had register 5 for RZ, and false for the carry in: an illegal
    instruction."""
    table = load_target(target)
    known = encode(Instruction(table.opcode("LEA", "R,P,R,R,I"), [24, 2, 14, 7, 2]))
    rare = encode(Instruction(table.opcode("LEA", "R,P,R,I,I"), [24, 2, 14, 0xC00, 2]))
    assert rare >> 64 == known >> 64


def test_constants_of_rare_forms_have_no_stray_bits() -> None:
    """On sm_90 ptxas moves most constants by ULDC, so that flips alone led to these forms."""
    new, old = load_target(90), load_target(80)
    for mnemonic, signature in (("MOV", "R,c[I][I]"), ("IADD3", "R,R,c[I][I],R"), ("FFMA", "R,R,c[I][I],R")):
        words = [t.opcode(mnemonic, signature).word & ((1 << 64) - 1) for t in (new, old)]
        assert words[0] == words[1], f"{mnemonic}: {words[0]:016x} {words[1]:016x}"
