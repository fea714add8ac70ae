"""Every kind of kernel in the corpus lowers to LLVM IR that LLVM accepts, for every layout, by warps and by lanes."""

import ctypes
import gc
import re
from functools import cache
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
import pytest

import drawloom
from drawloom.cpu.compile import KernelCode, compile_kernel
from drawloom.cpu.engine import host, optimise
from drawloom.cpu.layouts import LINEAR, SEGMENTS, layout_of
from drawloom.errors import KernelFault, UnsupportedError
from drawloom.ptx import parse
from drawloom.ptx.ir import Module

CORPUS = Path(__file__).resolve().parents[1] / "golden" / "corpus"
FILES = sorted(CORPUS.glob("**/*.ptx"))
HEADER = ".version 8.3\n.target sm_80\n.address_size 64\n"


@cache
def module_of(path: Path) -> Module:
    return parse(path.read_text(encoding="utf-8"), str(path.name))


def compiled(
    module: Module, kernel: str, layout: str = LINEAR, check: bool = False, by_lane: bool = False
) -> KernelCode:
    """The kernel's code, whose IR LLVM has parsed and verified."""
    machine = host()
    code = compile_kernel(module, kernel, layout, check, machine.features, machine.is_x86, by_lane)
    llvm.parse_assembly(code.text).verify()
    return code


def name_of(path: Path) -> str:
    return str(path.relative_to(CORPUS))


# The sample moves by one from layout to layout, so that together they see nearly the whole corpus.
@pytest.mark.parametrize(
    ("layout", "path"),
    [(layout, path) for i, layout in enumerate(SEGMENTS) for path in FILES[i :: len(SEGMENTS)]],
    ids=lambda value: name_of(value) if isinstance(value, Path) else value,
)
def test_corpus(layout: str, path: Path) -> None:
    for kernel in module_of(path).kernels:
        code = compiled(module_of(path), kernel.name, layout)
        assert code.lanes in (1, 32)
        assert code.resumable == (code.frame_bytes > 0) == ("kernel" in code.symbols)
        for symbol in code.symbols:
            assert re.search(rf"^define .*@{symbol}\(", code.text, re.MULTILINE)


@pytest.mark.parametrize("path", FILES[::8], ids=name_of)
def test_corpus_by_lane(path: Path) -> None:
    for kernel in module_of(path).kernels:
        code = compiled(module_of(path), kernel.name, by_lane=True)
        assert code.lanes == 1
        kernel_code = code.text.split("define internal void @resolve.")[0]
        assert "<32 x i1>" not in kernel_code


@pytest.mark.parametrize("path", FILES[3::12], ids=name_of)
def test_corpus_with_checked_memory(path: Path) -> None:
    for kernel in module_of(path).kernels:
        compiled(module_of(path), kernel.name, check=True)


@pytest.mark.parametrize("path", FILES[5::40], ids=name_of)
def test_same_code_every_time(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for kernel in module_of(path).kernels:
        assert compiled(parse(text), kernel.name).text == compiled(parse(text), kernel.name).text


@pytest.mark.parametrize(
    ("block", "layout"),
    [
        ((1, 1, 1), "linear"),
        ((1024, 1, 1), "linear"),
        ((16, 1, 1), "linear"),
        ((32, 2, 1), "rows32"),
        ((64, 2, 2), "rows32"),
        ((16, 16, 1), "rows16"),
        ((8, 8, 8), "rows8"),
        ((4, 8, 1), "general"),
        ((33, 2, 1), "general"),
    ],
)
def test_layout_of_a_block(block: tuple[int, int, int], layout: str) -> None:
    assert layout_of(block) == layout


# -- by warps or by lanes ------------------------------------------------------------------------------------

BODY = """.visible .entry k(.param .u64 out)
{
.reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<4>; .param .b32 none;
mov.u32 %r0, %lanemask_lt; ld.param.u64 %rd0, [out]; setp.gt.u32 %p0, %r0, 7;
"""
LOCK = (
    "L: atom.global.cas.b32 %r2, [%rd0], 0, 1; setp.ne.u32 %p1, %r2, 0; @%p1 bra L;"
    "atom.global.exch.b32 %r3, [%rd0], 0; ret;"
)


@pytest.mark.parametrize(
    ("body", "lanes"),
    [
        ("@%p0 bra A; st.global.u32 [%rd0], 1; A: bar.sync 0; ret;", 32),
        ("@%p0 bra A; bar.sync 0; A: st.global.u32 [%rd0], 1; ret;", 1),
        ("@%p0 exit; bar.sync 0; st.global.u32 [%rd0], 1; ret;", 32),
        ("@%p0 bra B; A: st.global.u32 [%rd0], 1; B: st.global.u32 [%rd0], 2; @%p0 bra A; ret;", 1),
        (LOCK, 1),
        ("L: ld.volatile.global.u32 %r2, [%rd0]; setp.ne.u32 %p1, %r2, 5; @%p1 bra L; ret;", 32),
    ],
    ids=[
        "a barrier where all lanes have met again",
        "a barrier in one arm of a divergent branch",
        "a barrier behind lanes that left",
        "a divergent jump into the middle of a loop",
        "a lock that lanes of one warp fight for",
        "a warp that waits for another",
    ],
)
def test_runs_lane_by_lane_only_where_lock_step_would_go_wrong(body: str, lanes: int) -> None:
    assert compiled(parse(HEADER + BODY + body + "\n}\n"), "k").lanes == lanes


# -- what is refused -----------------------------------------------------------------------------------------

STOPS = ".func stops() { bar.sync 0; ret; }\n"
RECURSIVE = ".func again() { bar.sync 0; call again; ret; }\n"


@pytest.mark.parametrize(
    ("before", "body", "message"),
    [
        ("", "mov.u32 %r1, %clusterid.x; ret;", "special register %clusterid.x is not supported by the cpu device"),
        (".extern .func other();\n", "call other; ret;", "function 'other' is called but not defined in this module"),
        (
            RECURSIVE,
            "call again; ret;",
            "function 'again' is recursive and contains a barrier",
        ),
        (
            STOPS,
            "mov.u64 %rd1, stops; P: .callprototype _ (); call %rd1, P; ret;",
            "function 'stops' is called indirectly and contains a barrier",
        ),
    ],
    ids=["cluster register", "undefined function", "recursive barrier", "indirect barrier"],
)
@pytest.mark.parametrize("by_lane", [False, True], ids=["warps", "lanes"])
def test_refused(before: str, body: str, message: str, by_lane: bool) -> None:
    module = parse(HEADER + before + BODY + body + "\n}\n", "refused.ptx")
    with pytest.raises(UnsupportedError) as refusal:
        compiled(module, "k", by_lane=by_lane)
    text = str(refusal.value)
    assert message in text
    if "contains a barrier" not in message:
        line = HEADER.count("\n") + before.count("\n") + BODY.count("\n") + 1
        assert text.startswith(f"refused.ptx:{line}:")
        assert body in text


def test_missing_kernel_is_named() -> None:
    with pytest.raises(UnsupportedError, match="kernel 'nobody' is not defined in this module"):
        compiled(parse(HEADER + BODY + "ret;\n}\n"), "nobody")


@pytest.mark.parametrize("device", ["reference", "cpu"])
def test_breakpoint_is_a_fault(device: str) -> None:
    text = HEADER + BODY + "@%p0 brkpt; ret;\n}\n"
    with pytest.raises(KernelFault, match="brkpt"):
        drawloom.load(text, device=device)["k"][1, 32](np.zeros(1, np.uint32))


class _Heap(ctypes.Structure):
    """glibc's ``struct mallinfo2``."""

    _fields_ = [(f"word{n}", ctypes.c_size_t) for n in range(10)]


def test_optimising_leaves_no_memory_behind() -> None:
    """Pass managers were never freed: 0.3 MB for each kernel."""
    library = ctypes.CDLL(None)
    if not hasattr(library, "mallinfo2"):
        pytest.skip("no mallinfo2 in this C library")
    library.mallinfo2.restype = _Heap
    text = compiled(parse(HEADER + BODY + "add.u32 %r1, %r1, 1; st.global.u32 [%rd1], %r1; ret;\n}\n"), "k").text

    def in_use() -> int:
        gc.collect()
        heap = library.mallinfo2()
        return int(heap.word7 + heap.word4)  # of arenas, and mapped

    for _ in range(3):
        optimise(text)
    before = in_use()
    for _ in range(5):
        optimise(text)
    assert in_use() - before < 5 * 20_000
