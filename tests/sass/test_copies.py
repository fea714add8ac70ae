"""Copies between virtual registers: which go, which stay, and that what is left computes the same (the fuzzer, too)."""

from __future__ import annotations

from drawloom.sass.assemble import assemble
from drawloom.sass.copies import drop_copies
from drawloom.sass.decoder import unpack_section
from drawloom.sass.isa import load_target
from drawloom.sass.machine import GENERAL, NO_GUARD, RZ, VIRTUAL, Machine, MachineFunction

TARGET = load_target(90)
NAMES = "abcdefgh"
#: Pairs of registers.
WIDE = "gh"


def text_of(value: int) -> str:
    if value < VIRTUAL:
        return "RZ" if value == RZ else f"R{value}"
    return NAMES[value - VIRTUAL >> 2] + str(value & 3 or "")


def dropped(lines: list[str], unsettled: str = "") -> list[str]:
    """One block of `MOV`, `ADD` (of two registers), `LDG` (from a pair) and `CAS`, before and after: registers are
    letters, with a number for a word of a pair; those in ``unsettled`` may hold something before."""
    function = MachineFunction("k", 90, True)
    for name in NAMES:
        function.register(GENERAL, 2 if name in WIDE else 1)
    add = TARGET.opcode("IADD3", "R,R,R,R")
    opcodes = {
        "MOV": TARGET.opcode("MOV", "R,R"), "ADD": add, "LDG": TARGET.opcode("LDG.E", "R,desc[UR][R.64+I]"),
        "CAS": TARGET.opcode("ATOMS.CAS", "R,[R+I],R,R"),
    }  # fmt: skip
    for line in lines:
        guard, name, *operands = line.split() if line[0] == "@" else ["", *line.split()]
        values = [VIRTUAL + 4 * NAMES.index(o[0]) + int(o[1:] or 0) for o in operands]
        values = {"ADD": [*values, RZ], "LDG": [*values[:1], 4, *values[1:], 0]}.get(name, values)
        if name == "CAS":
            values = [*values[:2], 0, *values[2:]]
        guard_number = int(guard[2:]) if guard else NO_GUARD
        if not function.blocks:
            function.block()
        function.blocks[0].instructions.append(Machine(opcodes[name], values, guard_number))
    drop_copies(function, [name not in unsettled for name in NAMES])
    names = {opcode: name for name, opcode in opcodes.items()}
    return [
        ("" if i.guard == NO_GUARD else f"@P{i.guard} ")
        + " ".join([names[i.opcode], *[text_of(v) for v in i.values if v >= VIRTUAL]])
        for i in function.blocks[0].instructions
    ]


def test_readers_read_what_was_copied() -> None:
    assert dropped(["ADD a e f", "MOV b a", "ADD c b a"]) == ["ADD a e f", "ADD c a a"]
    assert dropped(["ADD a e f", "MOV b a", "MOV d b", "ADD c d a", "ADD e a a"]) == [
        "ADD a e f", "ADD c a a", "ADD e a a",
    ]  # fmt: skip


def test_what_only_a_copy_reads_is_made_in_its_place() -> None:
    assert dropped(["ADD a e f", "MOV b a", "ADD b b e"], unsettled="b") == ["ADD b e f", "ADD b b e"]
    assert dropped(["ADD a e f", "ADD g e e", "MOV g1 a", "LDG c g"]) == ["ADD g1 e f", "ADD g e e", "LDG c g"]


def test_a_copy_stays_where_its_target_is_touched_in_between() -> None:
    lines = ["ADD a e f", "ADD c b e", "MOV b a", "ADD d b b"]
    assert dropped(lines, unsettled="b") == lines


def test_a_copy_stays_where_the_source_is_written_before_a_reader() -> None:
    lines = ["ADD a e f", "ADD c a a", "MOV b a", "ADD a e e", "ADD d b a"]
    assert dropped(lines, unsettled="a") == lines
    assert dropped([*lines[:3], "ADD d b b", "ADD a e e"], unsettled="a") == [
        "ADD a e f", "ADD c a a", "ADD d a a", "ADD a e e",
    ]  # fmt: skip


def test_a_copy_of_a_copy_does_not_pass_a_write_of_what_both_copied() -> None:
    made = dropped(["ADD a e f", "ADD h a a", "MOV b a", "MOV c b", "ADD a e e", "ADD d c a"], unsettled="a")
    assert made == ["ADD a e f", "ADD h a a", "MOV c a", "ADD a e e", "ADD d c a"]


def test_a_guarded_copy_stays() -> None:
    lines = ["ADD a e f", "@P1 MOV b a", "ADD c b a"]
    assert dropped(lines) == lines


def test_readers_of_pairs_need_the_pair() -> None:
    assert dropped(["LDG a h", "ADD c a a", "MOV g a", "MOV g1 c", "ADD e c c", "LDG d g"]) == [
        "LDG a h", "ADD c a a", "MOV g a", "MOV g1 c", "ADD e c c", "LDG d g",
    ]  # fmt: skip
    assert dropped(["ADD h a a", "ADD h1 a b", "MOV g h", "MOV g1 h1", "LDG d g", "LDG e h"]) == [
        "ADD h a a", "ADD h1 a b", "LDG d h", "LDG e h",
    ]  # fmt: skip


def test_operands_of_a_compare_and_swap_stay_neighbours() -> None:
    lines = ["ADD a e f", "ADD b a a", "MOV g a", "MOV g1 b", "ADD d a b", "CAS c d g g1"]
    assert dropped(lines) == lines


def test_shifts_of_pairs_leave_no_copy_behind() -> None:
    source = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [p];
    mov.u32 %r1, %tid.x;
    add.s32 %r2, %r1, 3;
    cvt.s64.s32 %rd2, %r2;
    shl.b64 %rd3, %rd2, 2;
    add.s64 %rd4, %rd1, %rd3;
    st.global.u32 [%rd4], %r2;
    ret;
}
"""
    code = unpack_section(TARGET, assemble(source, "sm_90").kernels["k"].code)
    assert [str(i) for i in code if i.opcode.signature == "R,R" and i.opcode.mnemonic == "MOV"] == []
