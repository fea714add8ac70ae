"""Copies between virtual registers: which go, which stay, and that what is left computes the same (the fuzzer, too)."""

from __future__ import annotations

from drawloom.sass.assemble import assemble
from drawloom.sass.copies import Uses, drop_copies, forward
from drawloom.sass.decoder import unpack_section
from drawloom.sass.form import Opcode
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
    forward(function, Uses(function), [name not in unsettled for name in NAMES])
    return texts(function, opcodes)


def texts(function: MachineFunction, opcodes: dict[str, Opcode]) -> list[str]:
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


def test_results_that_nobody_reads_are_not_made() -> None:
    """Both words of a sign extension are made where only the lower one is read."""
    function = MachineFunction("k", 90, True)
    a, b, c = (function.register(GENERAL) for _ in "abc")
    add, store = TARGET.opcode("IADD3", "R,R,R,R"), TARGET.opcode("STG.E", "desc[UR][R.64+I],R")
    function.block().instructions = [
        Machine(add, [a, 4, 5, RZ]),
        Machine(add, [b, a, 6, RZ]),
        Machine(add, [c, b, b, RZ]),
        Machine(store, [4, 2, 0, a]),
        Machine(add, [7, a, 6, RZ]),
    ]
    drop_copies(function, [True] * 3)
    assert [i.values[0] for i in function.blocks[0].instructions] == [a, 4, 7]


def test_a_scaled_index_is_added_by_two_instructions() -> None:
    source = """.version 8.0
.target sm_75
.address_size 64
.visible .entry k(.param .u64 p, .param .s32 n)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [p];
    mov.u32 %r1, %tid.x;
    cvt.s64.s32 %rd2, %r1;
    shl.b64 %rd3, %rd2, 2;
    add.s64 %rd4, %rd1, %rd3;
    st.global.u32 [%rd4], %r1;
    ret;
}
"""
    for target in (75, 80, 90):
        code = unpack_section(load_target(target), assemble(source, f"sm_{target}").kernels["k"].code)
        names = [i.opcode.mnemonic for i in code]
        assert [n for n in names if n[:3] in ("LEA", "SHF", "IAD")] == ["LEA", "LEA.HI.X.SX32"]
