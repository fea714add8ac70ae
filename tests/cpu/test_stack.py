"""`alloca`, `stacksave` and `stackrestore` on the cpu device, beside the reference interpreter, in every way in which
a kernel runs.
"""

import numpy as np
import pytest

import drawloom
from drawloom.errors import KernelFault, MemoryAccessError
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
