"""What sm_61 does in its own way: the carry flag, products of halves, immediates, generic addresses, counters."""

from __future__ import annotations

import io
import random

import numpy as np
import pytest

from drawloom.errors import UnsupportedError
from drawloom.ptx import parse, verify
from drawloom.sass.assemble import assemble
from drawloom.sass.decoder import unpack_section
from drawloom.sass.instruction import Instruction
from drawloom.sass.interpreter import run
from drawloom.sass.isa import load_target
from drawloom.sass.verify import verify as check_schedule
from tests.sass.selection import header

THREADS = 32
WORDS = 8


def code(source: str) -> list[Instruction]:
    """The machine code of a kernel without the padding, which the checker has accepted."""
    module = parse(source)
    verify(module)
    found = unpack_section(load_target(61), assemble(module, "sm_61").kernels["k"].code)
    assert not check_schedule(load_target(61), found)
    return [i for i in found if i.opcode.mnemonic != "NOP"]


def body(text: str, declared: str = "") -> str:
    """A kernel whose threads have ``WORDS`` words of memory each, at ``at``; x0 to x3 are the first of them."""
    loads = "".join(f"ld.global.b32 x{n}, [at+{4 * n}];" for n in range(4))
    return f"""{header(61)}{declared}.visible .entry k(.param .u64 p) {{ .reg .u64 at, w0, w1; .reg .u32 t;
.reg .b32 x<8>; .reg .pred q; mov.u32 t, %tid.x; ld.param.u64 at, [p]; mad.wide.u32 at, t, {4 * WORDS}, at;
{loads} {text} ret; }}"""


def results(source: str) -> tuple[np.ndarray, np.ndarray]:
    """The words of all threads before and after."""
    pick = random.Random(source)
    memory = np.array([[pick.getrandbits(32) for _ in range(WORDS)] for _ in range(THREADS)], np.uint32)
    before = memory.copy()
    at = int(memory.ctypes.data)
    params = at.to_bytes(8, "little")
    run(assemble(source, "sm_61"), "k", (1, 1, 1), (THREADS, 1, 1), params, buffers=[(at, memory.nbytes)])
    return before, memory


@pytest.mark.parametrize(
    ("between", "count"),
    [("", 0), ("mov.u32 x6, x3;", 0), ("mul.wide.u32 w0, x0, x1; add.u64 w1, w0, w0; cvt.u32.u64 x6, w1;", 2)],
)
def test_the_carry_flag_outlives_what_stands_between(between: str, count: int) -> None:
    """What needs CC in between saves it: one instruction to keep it, one to bring it back."""
    text = f"add.cc.u32 x4, x0, x1; {between} addc.u32 x5, x2, x3; st.global.b32 [at], x4; st.global.b32 [at+4], x5;"
    source = body(text + ("st.global.b32 [at+8], x6;" if between else ""))
    saving = [i for i in code(source) if "RZ, RZ" in str(i) or "RZ.CC" in str(i)]
    assert len(saving) == count
    before, after = results(source)
    wide = before.astype(np.uint64)
    sums = wide[:, 0] + wide[:, 1]
    assert (after[:, 0] == sums.astype(np.uint32)).all()
    assert (after[:, 1] == (wide[:, 2] + wide[:, 3] + (sums >> 32)).astype(np.uint32)).all()


def test_the_carry_flag_crosses_blocks() -> None:
    text = """add.cc.u32 x4, x0, x1; setp.lt.u32 q, x2, x3; @q bra SMALL; add.u32 x5, x3, 1; bra END;
SMALL: addc.u32 x5, x2, 0; END: st.global.b32 [at], x5;"""
    before, after = results(body(text))
    wide = before.astype(np.uint64)
    carry = (wide[:, 0] + wide[:, 1]) >> 32
    expected = np.where(wide[:, 2] < wide[:, 3], wide[:, 2] + carry, wide[:, 3] + 1).astype(np.uint32)
    assert (after[:, 0] == expected).all()


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("add.u32 x4, x0, 0x12345678;", ["IADD32I"]),
        ("and.b32 x4, x0, 0x12345678;", ["LOP32I.AND"]),
        ("mov.u32 x4, 0x12345678; xor.b32 x4, x4, x0;", ["LOP32I.XOR", "MOV32I LOP.XOR"]),
        ("add.f32 x4, x0, 0f3FC00000;", ["FADD"]),
        ("add.f32 x4, x0, 0f3F800001;", ["FADD32I"]),
        ("setp.lt.u32 q, x0, 100000; selp.b32 x4, x1, x2, q;", ["ISETP.LT.U32.AND SEL"]),
        ("setp.lt.u32 q, x0, 1000000; selp.b32 x4, x1, x2, q;", ["MOV32I ISETP.LT.U32.AND SEL"]),
        ("mul.lo.u32 x4, x0, 1000;", ["XMAD XMAD.PSL"]),
        ("mul.lo.u32 x4, x0, x1;", ["XMAD XMAD.MRG XMAD.PSL.CBCC"]),
        ("mul.hi.u32 x4, x0, x1;", ["XMAD XMAD XMAD XMAD.CHI IADD3.RS"]),
        ("shl.b32 x4, x0, 3; add.u32 x4, x4, x1;", ["SHL IADD", "ISCADD"]),
        ("bfe.u32 x4, x0, 3, 5;", ["BFE.U32"]),
        ("bfi.b32 x4, x0, x1, x2, x3;", ["BFI BFI"]),
        ("setp.lt.s64 q, w0, w1; selp.b32 x4, x1, x2, q;", ["IADD ISETP.LT.X.AND SEL"]),
        ("ex2.approx.ftz.f32 x4, x0;", ["RRO.EX2 MUFU.EX2"]),
        ("sin.approx.f32 x4, x0;", ["RRO.SINCOS MUFU.SIN"]),
    ],
)  # fmt: skip
def test_instructions_are_those_of_ptxas(text: str, wanted: list[str]) -> None:
    def mnemonics(source: str) -> list[str]:
        return [i.opcode.mnemonic for i in code(source)]

    pairs = "mov.b64 w0, {x0, x1}; mov.b64 w1, {x2, x3};" if "w0" in text else ""
    made = mnemonics(body(pairs + text + "st.global.b32 [at], x4;"))
    around = mnemonics(body("st.global.b32 [at], x0;"))
    for mnemonic in around:
        if mnemonic in made:
            made.remove(mnemonic)
    while "MOV" in made:
        made.remove("MOV")
    assert sorted(made) in [sorted(way.split()) for way in wanted]


@pytest.mark.parametrize("operation", ["add.u32", "max.s32", "exch.b32", "add.f32"])
def test_generic_atomics_find_shared_memory(operation: str) -> None:
    """A generic address of shared memory takes the way of ATOMS; sums of single bits are exact as floats, too."""
    declared = ".shared .align 8 .b32 sums[32];\n"
    one = "0f3F800000" if "f32" in operation else "1"
    text = f"""mov.u64 w0, sums; cvta.shared.u64 w0, w0; mul.wide.u32 w1, t, 4; add.u64 w1, w0, w1;
st.b32 [w1], 0; bar.sync 0; mov.b32 x5, {one}; atom.{operation} x4, [w0], x5; atom.{operation} x6, [at], x5; bar.sync 0;
ld.b32 x7, [w0]; st.global.b32 [at+4], x7;"""
    before, after = results(body(text, declared))
    count = {"add.u32": THREADS, "add.f32": int(np.float32(THREADS).view(np.uint32))}.get(operation, 1)
    assert (after[:, 1] == count).all()
    if operation == "add.u32":
        assert (after[:, 0] == before[:, 0] + np.uint32(1)).all()


def test_windows_of_generic_addresses() -> None:
    text = """mov.u64 w0, sums; cvta.shared.u64 w0, w0; isspacep.shared q, w0; selp.b32 x4, 1, 0, q;
isspacep.global q, w0; selp.b32 x5, 1, 0, q; isspacep.global q, at; selp.b32 x6, 1, 0, q; isspacep.local q, at;
selp.b32 x7, 1, 0, q; st.global.v4.b32 [at], {x4, x5, x6, x7};"""
    _, after = results(body(text, ".shared .b32 sums[32];\n"))
    assert (after[:, :4] == [1, 0, 1, 0]).all()


def test_wide_counters_are_read_twice() -> None:
    found = [str(i) for i in code(body("mov.u64 w0, %clock64; st.global.u64 [at], w0;"))]
    assert sum("CS2R" in text for text in found) == 4


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("isspacep.param q, at;", "no generic addresses"),
    ],
)
def test_what_it_lacks_is_named_with_its_place(text: str, why: str) -> None:
    with pytest.raises(UnsupportedError, match=why) as caught:
        assemble(body(text), "sm_61")
    assert "sm_61" in str(caught.value) and "<text>:" in str(caught.value)


def test_the_driver_s_functions_are_called_by_their_word() -> None:
    """JCAL, whose address a relocation in the code brings, as ptxas makes it with ``-g``; from a kernel and from a
    function that stays one."""
    declared = """.extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);
.global .align 1 .b8 line[6] = {103, 111, 32, 37, 100, 0};
.func say (.param .b32 times) { .reg .u32 n; .reg .pred q; .reg .u64 f, a; .local .align 8 .b32 value[2];
ld.param.u32 n, [times]; setp.eq.u32 q, n, 0; @q bra END; mov.u64 a, value; cvta.local.u64 a, a;
st.local.u32 [value], n;
mov.u64 f, line; cvta.global.u64 f, f;
{ .param .b64 x; .param .b64 y; .param .b32 z; st.param.b64 [x], f; st.param.b64 [y], a; call (z), vprintf, (x, y); }
sub.u32 n, n, 1; { .param .b32 x; st.param.b32 [x], n; call say, (x); } END: ret; }
"""
    source = body("{ .param .b32 x; st.param.b32 [x], 3; call say, (x); }", declared)
    calls = [i.opcode.mnemonic for i in code(source) if "CAL" in i.opcode.mnemonic]
    assert calls.count("JCAL") == 1 and calls.count("CAL") == 2
    out = io.StringIO()
    memory = np.zeros((1, WORDS), np.uint32)
    at = int(memory.ctypes.data)
    cubin = assemble(source, "sm_61")
    run(cubin, "k", (1, 1, 1), (1, 1, 1), at.to_bytes(8, "little"), buffers=[(at, memory.nbytes)], stdout=out)
    assert out.getvalue() == "go 3go 2go 1"
    assert cubin.assembly.functions[0].externs == ["vprintf"]
