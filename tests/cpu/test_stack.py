"""`alloca`, `stacksave` and `stackrestore` on the cpu device, beside the reference interpreter, in every way in which
a kernel runs.
"""

import numpy as np
import pytest

import drawloom
from drawloom.errors import KernelFault, MemoryAccessError, UnsupportedError
from tests.reference.stacks import EVERYTHING, HEADER


@pytest.mark.parametrize("lanes", ["", "1", "block"])
@pytest.mark.parametrize("middle", ["", "bar.sync 0;", "call waits;"], ids=["straight", "barrier", "function stops"])
def test_stacks_beside_the_reference(middle: str, lanes: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAWLOOM_LANES", lanes)
    text = HEADER + EVERYTHING.replace("MIDDLE", middle)
    for threads in (40, 64):
        expected = np.zeros(2 * threads, np.uint32)
        drawloom.load(text, device="reference")["k"][2, threads](expected)
        out = np.zeros_like(expected)
        drawloom.load(text, device="cpu", check="memory" if threads == 40 else "")["k"][2, threads](out)
        np.testing.assert_array_equal(out, expected)
    assert len(set(expected.tolist())) > 2 * threads // 2


@pytest.mark.parametrize("lanes", ["1", "32"])
@pytest.mark.parametrize(
    ("body", "thread", "message"),
    [
        ("shl.b32 %r4, %r0, 14; alloca.u32 %r5, %r4;", 5, "stack overflow: alloca takes more than the 64 KiB"),
        ("mov.b64 %d1, -1; setp.eq.u32 %p0, %r0, 9; @%p0 alloca.u64 %d2, %d1;", 9, "stack overflow: alloca takes"),
        ("mov.b32 %r5, 65600; alloca.u32 %r5, %r5, 32;", 0, "stack overflow: alloca takes more than the 64 KiB"),
        ("L: alloca.u64 %d1, 16; bra L;", 0, "stack overflow: alloca takes more than the 64 KiB of a thread"),
        ("stackrestore.u64 %d0;", 0, "stackrestore to an address that stacksave did not give"),
        ("alloca.u64 %d1, 64; stacksave.u64 %d2; add.u64 %d2, %d2, 8; stackrestore.u64 %d2;", 0, "stackrestore to an"),
    ],
    ids=["sizes differ", "negative", "alignment", "loop", "elsewhere", "above the top"],
)
def test_faults_of_the_stack(body: str, thread: int, message: str, lanes: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAWLOOM_LANES", lanes)
    text = HEADER + body + "\nret;\n}\n"
    with pytest.raises(KernelFault, match=message) as fault:
        drawloom.load(text, device="cpu")["k"][1, 64](np.zeros(64, np.uint32))
    assert fault.value.thread == (thread, 0, 0)
    assert f":{HEADER.count(chr(10)) + 1}" in str(fault.value)


def test_checks_know_where_stacks_end() -> None:
    text = HEADER + "alloca.u64 %d1, 4; st.local.u32 [%d1+16777216], 1;\nret;\n}\n"
    with pytest.raises(MemoryAccessError, match="access outside every buffer"):
        drawloom.load(text, device="cpu", check="memory")["k"][1, 32](np.zeros(32, np.uint32))


@pytest.mark.parametrize("device", ["reference", "cpu"])
def test_alloca_is_aligned_as_it_says(device: str) -> None:
    text = HEADER + "alloca.u64 %d1, 1; alloca.u64 %d2, 8, 4096; and.b64 %d2, %d2, 4095; st.global.u64 [%d0], %d2;"
    out = np.ones(2, np.uint32)
    drawloom.load(text + "\nret;\n}\n", device=device)["k"][1, 1](out)
    assert not out.any()


ALIGNED = """
.func (.reg .b64 odd) bits(.reg .b64 more) {
    .reg .b64 %d<3>; .local .align 64 .b8 own[12];
    mov.u64 %d0, own; cvta.local.u64 %d0, %d0; and.b64 odd, %d0, 63; add.u64 odd, odd, more;
    ret;
}
.visible .entry k(.param .u64 out) {
    .reg .pred %p<2>; .reg .b32 %r<4>; .reg .b64 %d<8>;
    .local .b8 first[5]; .local .align 32 .b8 second[8]; .local .align 128 .b8 third[4];
    ld.param.u64 %d0, [out]; mov.u32 %r0, %tid.x; mad.wide.u32 %d0, %r0, 8, %d0;
    st.local.b32 [third], %r0; ALLOCA
    mov.u64 %d1, second; cvta.local.u64 %d1, %d1; and.b64 %d1, %d1, 31;
    mov.u64 %d2, third; cvta.local.u64 %d2, %d2; and.b64 %d2, %d2, 127; add.u64 %d1, %d1, %d2;
    mov.u64 %d2, third; and.b64 %d2, %d2, 127; add.u64 %d1, %d1, %d2;
    call (%d2), bits, (%d1); setp.gt.u32 %p0, %r0, 50; @%p0 call (%d2), bits, (%d2);
    ld.local.b32 %r1, [third]; cvt.u64.u32 %d3, %r1; add.u64 %d2, %d2, %d3; st.global.u64 [%d0], %d2;
    ret;
}
"""


@pytest.mark.parametrize("alloca", ["", "alloca.u64 %d4, 24;"])
@pytest.mark.parametrize("lanes", ["", "1", "block"])
def test_local_variables_are_aligned_as_they_say(lanes: str, alloca: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAWLOOM_LANES", lanes)
    text = HEADER[: HEADER.index(".visible")] + ALIGNED.replace("ALLOCA", alloca)
    out = np.zeros(96, np.uint64)
    if alloca and lanes == "1":
        with pytest.raises(
            UnsupportedError, match=r"'second' is aligned to 32 bytes of local memory\n.*\n.*\n.*at most 16"
        ):
            drawloom.load(text, device="cpu")["k"][1, 96](out)
        return
    drawloom.load(text, device="cpu")["k"][1, 96](out)
    assert out.tolist() == list(range(96))


def test_a_larger_alignment_is_refused_with_its_place() -> None:
    text = HEADER + ".local .align 256 .b8 wide[4];\nst.local.b32 [wide], 1;\nret;\n}\n"
    with pytest.raises(UnsupportedError, match=rf":{HEADER.count(chr(10)) + 1}:.*'wide' is aligned to 256 bytes"):
        drawloom.load(text, device="cpu")["k"][1, 32](np.zeros(32, np.uint32))
