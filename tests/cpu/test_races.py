"""Data races that the cpu device finds: both accesses, and nothing in programs that barriers, warps or fences order."""

import numpy as np
import pytest

import drawloom
from drawloom.errors import RaceError

HEAD = """
.version 7.8
.target sm_80
.address_size 64
.visible .entry k(.param .u64 data) {
  .shared .align 4 .b8 s[1024];
  .reg .b64 %rd<9>; .reg .b32 %r<20>; .reg .pred %p<5>;
  ld.param.u64 %rd1, [data];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  mul.wide.u32 %rd2, %r1, 4;
  add.u64 %rd3, %rd1, %rd2;
  shl.b32 %r3, %r1, 2;
  mov.u32 %r4, s;
  add.u32 %r5, %r4, %r3;
  xor.b32 %r6, %r5, 128;
  xor.b32 %r7, %r5, 4;
"""
#: Bodies that race, the line of the earlier access and that of the later one.
RACES = {
    "across warps": ("st.shared.u32 [%r5], %r1;\nld.shared.u32 %r8, [%r6];\nret;", "st.shared", "ld.shared"),
    "in a warp": ("st.shared.u32 [%r5], %r1;\nld.shared.u32 %r8, [%r7];\nret;", "st.shared", "ld.shared"),
    "the result of a reduction": (
        "st.shared.u32 [%r5], %r1;\nbar.sync 0;\nld.shared.u32 %r8, [s];\n"
        "setp.eq.u32 %p1, %r1, 64;\n@%p1 st.shared.u32 [s], %r8;\nret;",
        "ld.shared", "@%p1 st.shared",
    ),
    "a sum of rows": (
        "ld.global.u32 %r8, [%rd1];\nadd.u32 %r8, %r8, %r1;\nst.global.u32 [%rd1], %r8;\nret;",
        "ld.global", "st.global",
    ),
    "across blocks": ("add.u32 %r8, %r1, %r2;\nst.global.u32 [%rd3], %r8;\nret;", "st.global", "st.global"),
    "an atomic and a plain load": (
        "atom.shared.add.u32 %r8, [%r5], 1;\nld.shared.u32 %r9, [%r6];\nret;", "atom.shared", "ld.shared",
    ),
    "a barrier of a part": (
        "st.shared.u32 [%r5], %r1;\nsetp.lt.u32 %p1, %r1, 64;\n@!%p1 bra ON;\nbar.sync 1, 64;\nON:\nld.shared.u32 %r8, "
        "[s+256];\nret;",
        "st.shared", "ld.shared",
    ),
}  # fmt: skip
#: Bodies that are in order.
ORDERED = {
    "a barrier": "st.shared.u32 [%r5], %r1;\nbar.sync 0;\nld.shared.u32 %r8, [%r6];\nbar.sync 0;\n"
    "st.shared.u32 [%r7], %r8;\nret;",
    "a warp": "st.shared.u32 [%r5], %r1;\nbar.warp.sync -1;\nld.shared.u32 %r8, [%r7];\nret;",
    "atomics": "atom.shared.add.u32 %r8, [s], 1;\natom.global.add.u32 %r8, [%rd1], %r1;\nret;",
    "equal writes": "st.global.u32 [%rd1], 7;\nst.shared.u32 [s], 5;\nret;",
    "bytes of a word": "cvt.u64.u32 %rd4, %r1;\nadd.u64 %rd5, %rd1, %rd4;\nmad.wide.u32 %rd5, %r2, 128, %rd5;\n"
    "st.global.u8 [%rd5], %r1;\nret;",
    "an arrival": "setp.lt.u32 %p1, %r1, 64;\n@%p1 bra FIRST;\nbar.sync 1, 128;\nld.shared.u32 %r8, [%r4];\nret;\n"
    "FIRST:\nst.shared.u32 [%r5], %r1;\nbar.arrive 1, 128;\nret;",
    "a last block": "mad.wide.u32 %rd4, %r2, 512, %rd3;\nadd.u32 %r8, %r1, %r2;\nst.global.u32 [%rd4], %r8;\n"
    "fence.acq_rel.gpu;\nbar.sync 0;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra ON;\nfence.acq_rel.gpu;\n"
    "atom.global.add.u32 %r9, [%rd1+8192], 1;\nfence.acq_rel.gpu;\nst.shared.u32 [s], %r9;\nON:\nbar.sync 0;\n"
    "ld.shared.u32 %r9, [s];\nsetp.ne.u32 %p2, %r9, 2;\n@%p2 ret;\nld.global.u32 %r10, [%rd3];\n"
    "ld.global.u32 %r11, [%rd3+512];\nret;",
}  # fmt: skip


def launch(body: str, lanes: str, device: str = "cpu") -> None:
    kernel = drawloom.load(HEAD + body + "\n}\n", device=device, check="race")["k"]
    kernel[3, 128](np.zeros(4096, np.uint32))


@pytest.mark.parametrize("lanes", ["", "1"])
@pytest.mark.parametrize("name", RACES)
def test_a_race_names_both_accesses(name: str, lanes: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAWLOOM_LANES", lanes)
    body, earlier, later = RACES[name]
    with pytest.raises(RaceError) as caught:
        launch(body, lanes)
    error = caught.value
    lines = (HEAD + body).splitlines()
    said = [int(word.rstrip(", ")) for word in str(error).split("unordered")[0].split("line ")[1:]]
    assert earlier in lines[said[0] - 1] or later in lines[said[0] - 1]
    assert later in error.source_line or earlier in error.source_line
    assert error.thread is not None and error.block is not None
    assert "thread (" in str(error) and " of block (" in str(error)


@pytest.mark.parametrize("name", [n for n in RACES if "shared" in RACES[n][0] and "part" not in n])
def test_the_reference_finds_the_races_of_shared_memory_too(name: str) -> None:
    with pytest.raises(RaceError):
        launch(RACES[name][0], "", "reference")


@pytest.mark.parametrize("lanes", ["", "1"])
@pytest.mark.parametrize("name", ORDERED)
def test_what_is_ordered_is_no_race(name: str, lanes: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAWLOOM_LANES", lanes)
    launch(ORDERED[name], lanes)
    if name != "equal writes":
        launch(ORDERED[name], lanes, "reference")


def test_a_race_names_the_lines_of_the_source() -> None:
    body = '.loc 1 12 3\nst.shared.u32 [%r5], %r1;\n.loc 1 14 5\nld.shared.u32 %r8, [%r6];\nret;\n}\n.file 1 "sum.cu"\n'
    with pytest.raises(RaceError, match=r"source: read at sum\.cu:14, written at sum\.cu:12"):
        drawloom.load(HEAD + body, device="cpu", check="race")["k"][1, 128](np.zeros(4096, np.uint32))


def test_a_search_for_races_tells_accesses_out_of_bounds() -> None:
    with pytest.raises(drawloom.MemoryAccessError):
        launch("st.global.u32 [%rd3+1000000], %r1;\nret;", "")
