"""The trace subcommand: text and JSON, one kernel, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from drawloom.cli.trace import command
from drawloom.errors import DataError, LaunchError, ParseError

TEXT = """.version 8.0
.target sm_80
.address_size 64
.visible .entry copy(.param .u64 in, .param .u64 out, .param .u32 n) {
.reg .u64 %a<9>; .reg .u32 %r<9>; .reg .f32 %f<9>; .reg .pred %p; .shared .f32 tile[1024];
ld.param.u64 %a1, [in]; ld.param.u64 %a2, [out]; ld.param.u32 %r1, [n]; mov.u32 %r2, %tid.x;
mul.wide.u32 %a3, %r2, 4; add.s64 %a4, %a1, %a3; mul.wide.u32 %a5, %r1, %r2; add.s64 %a6, %a2, %a5;
ld.global.f32 %f1, [%a4];
ld.global.f32 %f2, [%a4+4];
ld.global.f32 %f3, [%a1];
mov.u32 %r3, tile; mad.lo.u32 %r4, %r2, 8, %r3;
st.shared.f32 [%r4], %f1;
setp.lt.u32 %p, %r2, %r1;
@%p st.global.f32 [%a6], %f2;
ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%a2];
ret; }
.visible .entry nothing() { ret; }
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in.ptx"
    path.write_text(TEXT)
    return path


def run(*words: object, given: str | None = None) -> str:
    result = CliRunner().invoke(command, [str(word) for word in words], input=given, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_every_access_with_its_class_and_what_a_warp_moves(source: Path) -> None:
    (kernel,) = json.loads(run(source, "--kernel", "copy", "--report", "json"))
    assert kernel["kernel"] == "copy" and kernel["notes"] == []
    rows = {row["line"]: row for row in kernel["accesses"]}
    assert [rows[n]["class"] for n in (8, 9, 10, 12, 14, 15)] == [
        "contiguous", "contiguous", "uniform", "strided", "strided", "uniform",
    ]  # fmt: skip
    assert [rows[n]["stride"] for n in (8, 12, 14)] == ["4", "8", "zext(param(n))"]
    assert (rows[8]["bytes_moved"], rows[8]["bytes_used"]) == (128, 128)
    assert (rows[10]["bytes_moved"], rows[10]["bytes_used"]) == (32, 4)
    assert (rows[14]["bytes_moved"], rows[14]["bytes_used"]) == (1024, 128)
    assert [n for n in rows if rows[n]["bytes_are_bounds"]] == [14]
    assert [rows[n]["column"] for n in (8, 14)] == [1, 5]
    assert rows[12]["bank_ways"] == 2 and "bytes_moved" not in rows[12]
    assert rows[14]["guard"] == "%tid.x < param(n)"
    (overlap,) = rows[9]["overlaps"]
    assert (overlap["line"], overlap["lane"]) == (8, 1)
    assert overlap["assumptions"] == ["lanes-along-x: %ntid.x is a multiple of 32, or %ntid.y and %ntid.z are 1"]


def test_the_text_says_the_same(source: Path) -> None:
    text = run(source)
    assert "line 9:1: ld.global.f32 %f2, [%a4+4]\n    at param(in) + 4*zext(%tid.x) + 4\n    contiguous" in text
    assert "loaded before by lane +1 in line 8:1, if" in text
    assert "strided by zext(param(n)), at most 128 of 1024 bytes a warp" in text
    assert "strided by 8, 128 bytes a warp, 2 lanes to a bank" in text
    assert text.endswith("nothing: 0 accesses on 1 flows\n")


def traced(*lines: str) -> dict[int, dict[str, object]]:
    """The rows of a kernel whose lane is %r1 and whose pointer is %a1, by their lines from 1 on."""
    head = (
        ".version 8.0 .target sm_80 .address_size 64 .visible .entry k(.param .u64 in) { .reg .u64 %a<9>; "
        ".reg .u32 %r<9>; .reg .f32 %f<9>; .reg .pred %p; "
        ".local .b32 own[4]; ld.param.u64 %a1, [in]; mov.u32 %r1, %laneid; "
    )
    (kernel,) = json.loads(run("-", "--report", "json", given=head + "\n".join(["", *lines, "ret; }"])))
    return {row["line"] - 1: row for row in kernel["accesses"]}


def test_bytes_that_several_lanes_ask_for_count_once() -> None:
    rows = traced("mul.wide.u32 %a2, %r1, 4; add.s64 %a3, %a1, %a2;", "ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%a3];")
    assert (rows[2]["stride"], rows[2]["bytes_used"], rows[2]["bytes_moved"]) == ("4", 31 * 4 + 16, 160)


def test_bytes_of_an_irregular_function_of_the_lane_are_exact() -> None:
    rows = traced("and.b32 %r2, %r1, 5; mul.wide.u32 %a2, %r2, 4; add.s64 %a3, %a1, %a2;", "ld.global.f32 %f1, [%a3];")
    assert (rows[2]["bytes_used"], rows[2]["bytes_moved"], rows[2]["bytes_are_bounds"]) == (16, 32, False)


def test_bytes_of_an_irregular_access_are_bounds() -> None:
    rows = traced(
        "mul.wide.u32 %a2, %r1, 4; add.s64 %a3, %a1, %a2; ld.global.u32 %r2, [%a3]; "
        "mul.wide.u32 %a2, %r2, 4; add.s64 %a3, %a1, %a2;",
        "  ld.global.f32 %f1, [%a3];",
    )
    assert rows[2]["class"] == "irregular"
    assert (rows[2]["bytes_used"], rows[2]["bytes_moved"], rows[2]["bytes_are_bounds"]) == (128, 1024, True)
    assert (rows[2]["line"], rows[2]["column"]) == (3, 3)


def test_each_lane_has_its_own_local_memory() -> None:
    rows = traced("ld.local.f32 %f1, [own];", "ld.global.f32 %f2, [%a1];")
    assert [(rows[n]["class"], rows[n]["bytes_used"]) for n in (1, 2)] == [("uniform", 128), ("uniform", 4)]


def test_standard_input(source: Path) -> None:
    assert run("-", given=TEXT) == run(source)


def test_json_is_the_same_on_every_run(source: Path) -> None:
    assert run(source, "--report", "json") == run(source, "--report", "json")


def test_a_kernel_that_is_not_there(source: Path) -> None:
    with pytest.raises(DataError, match=r"there is no kernel 'sum' in .*: expected one of copy, nothing"):
        run(source, "--kernel", "sum")


def test_a_kernel_is_named_as_in_its_source(tmp_path: Path) -> None:
    source = tmp_path / "in.ptx"
    source.write_text(TEXT.replace("copy(", "_ZN5image4copyIfEEvPKT_(").replace("nothing(", "_ZN5other4copyEv("))
    text = run(source, "--kernel", "image::copy")
    assert text.startswith("image::copy (_ZN5image4copyIfEEvPKT_): ") and "other" not in text
    with pytest.raises(LaunchError, match=r"'copy' is 2 kernels; .*\(_ZN5image4copyIfEEvPKT_\), other::copy\(\) \(_Z"):
        run(source, "--kernel", "copy")


@pytest.mark.parametrize(
    ("directive", "kind", "rests_on"),
    [
        ("", "contiguous", ["lanes-along-x"]), (".maxntid 16, 2", "contiguous", ["lanes-along-x"]),
        (".reqntid 64, 2", "contiguous", []), (".reqntid 16, 2", "irregular", []),
    ],
)  # fmt: skip
def test_what_is_taken_for_granted_of_the_lanes(directive: str, kind: str, rests_on: list[str]) -> None:
    """Where lanes of a block are known not to count along x, nothing is said of their distance."""
    given = TEXT.replace(".param .u32 n) {", f".param .u32 n) {directive} {{")
    (kernel,) = json.loads(run("-", "--kernel", "copy", "--report", "json", given=given))
    rows = {row["line"]: row for row in kernel["accesses"]}
    assert (rows[8]["class"], rows[8]["class_rests_on"]) == (kind, rests_on)
    assert (rows[10]["class"], rows[10]["class_rests_on"]) == ("uniform", [])
    assert ("classes and bytes rest on lanes-along-x" in run("-", given=given)) == (rests_on != [])


def test_a_loop_is_named_by_its_label() -> None:
    rows = traced(
        "mov.u64 %a2, %a1;", "$AGAIN: ld.global.f32 %f1, [%a2];",
        "add.s64 %a2, %a2, 4; setp.lt.u64 %p, %a2, 999; @%p bra $AGAIN;",
    )  # fmt: skip
    assert rows[2]["address"] == "param(in) + 4*iteration($AGAIN)"


def test_that_an_index_does_not_wrap_is_taken_for_granted_of_its_class() -> None:
    rows = traced(
        "ld.param.u32 %r2, [in]; add.s32 %r2, %r2, %r1; mul.wide.s32 %a2, %r2, 4; add.s64 %a3, %a1, %a2;",
        "ld.global.f32 %f1, [%a3];",
    )
    assert (rows[2]["class"], rows[2]["class_rests_on"]) == ("contiguous", ["no-wrap"])


def test_what_is_no_ptx() -> None:
    with pytest.raises(ParseError):
        run("-", given="frobnicate;")


def test_what_is_not_covered_is_named_and_the_rest_is_traced() -> None:
    text = ".version 8.0\n.target sm_80\n.address_size 64\n.entry odd() {\n.new x; }\n.entry k(.param .u64 a) {\n"
    text += "new.op;\n.reg .b64 %l<2>; ld.param.u64 %l1, [a]; ld.global.b64 %l1, [%l1]; ret; }"
    odd, kernel = json.loads(run("-", "--report", "json", given=text))
    assert (odd["accesses"], len(kernel["accesses"])) == ([], 1)
    assert odd["notes"][0].startswith("the function was not analysed: <stdin>:5:1: '.new'")
    assert kernel["notes"] == ["line 7:1: not analysed: unknown opcode 'new'"]


def test_accesses_behind_a_branch_at_which_lanes_part() -> None:
    text = TEXT.replace("ld.global.f32 %f3", "setp.gt.u32 %q, {0}, 7; @%q bra skip;\nld.global.f32 %f3").replace(
        "mov.u32 %r3", "skip: mov.u32 %r3"
    )
    text = text.replace(".reg .pred %p;", ".reg .pred %p, %q;")
    for register, apart in (("%r2", [11]), ("%r1", [])):
        (kernel,) = json.loads(run("-", "--kernel", "copy", "--report", "json", given=text.replace("{0}", register)))
        assert [row["line"] for row in kernel["accesses"] if row["divergent"]] == apart
        printed = run("-", "--kernel", "copy", given=text.replace("{0}", register))
        assert printed.count("4 of 32 bytes a warp, lanes may come apart") == len(apart)
