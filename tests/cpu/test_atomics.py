"""Atomics of a warp on one address and on their own, and small elements from places that only the run knows: the same
as on the reference."""

from __future__ import annotations

import numpy as np
import pytest

import drawloom
from drawloom.cpu.compile import compile_kernel
from drawloom.ptx import parse

HEAD = """.version 8.3
.target sm_80
.address_size 64
.visible .entry k(.param .u64 words, .param .u64 out, .param .u32 lanes)
{
    .reg .pred %p; .reg .b16 %h<9>; .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .f32 %f<9>; .reg .f64 %g<9>;
    .shared .align 16 .b8 tile[64];
    ld.param.u64 %d1, [words]; ld.param.u64 %d2, [out]; ld.param.u32 %r1, [lanes];
    mov.u32 %r2, %tid.x; mul.wide.u32 %d3, %r2, 8; add.s64 %d4, %d2, %d3; mad.lo.u32 %r3, %r2, 40503, 77;
    xor.b32 %r3, %r3, 0x80000000; cvt.u64.u32 %d5, %r3; shl.b64 %d5, %d5, 13; cvt.rn.f32.u32 %f1, %r2;
    cvt.f64.f32 %g1, %f1; and.b32 %r4, %r2, 3; mov.b64 %d6, 0; cvt.u16.u32 %h1, %r2;
    mov.b32 %r5, 0; mov.b32 %r6, 0; mov.b32 %r7, 0;
    setp.lt.u32 %p, %r2, %r1;
"""
END = "st.global.u32 [%d4], %r5; st.global.u32 [%d4+4], %r5; ret; }"
LONG = "st.global.u64 [%d4], %d6; ret; }"
#: What is done to the word, its old value in %r5 or %d6.
OPERATIONS = (
    *[f"{name}.u32 %r5, [AT], %r3" for name in ("add", "min", "max", "inc", "dec")],
    *[f"{name}.b32 %r5, [AT], %r3" for name in ("and", "or", "xor", "exch")],
    *[f"{name}.s32 %r5, [AT], %r3" for name in ("add", "min", "max")],
    "dec.u32 %r5, [AT], 6", "inc.u32 %r5, [AT], 9", "cas.b32 %r5, [AT], %r4, %r2", "add.f32 %r5, [AT], %f1",
    "add.u64 %d6, [AT], %d5", "max.s64 %d6, [AT], %d5", "xor.b64 %d6, [AT], %d5", "cas.b64 %d6, [AT], 3, %d5",
    "add.f64 %d6, [AT], %g1", "exch.b64 %d6, [AT], %d5", "add.noftz.f16x2 %r5, [AT], %r4",
)  # fmt: skip


def agrees(body: str) -> None:
    kernels = [
        drawloom.load(HEAD + body, device=device, level=0, reinterpret=True)["k"] for device in ("cpu", "reference")
    ]
    for lanes in (32, 21, 1):
        left: list[list[int]] = []
        for kernel in kernels:
            words, out = np.arange(3, 35, dtype=np.uint32), np.zeros(64, np.uint32)
            words[:2] += 0x40000000 if ".add.f" in body else 0
            kernel[1, 32](words, out, lanes)
            left.append([*words.tolist(), *out.tolist()])
        assert left[0] == left[1], lanes


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_warp_at_one_address(operation: str) -> None:
    end = LONG if "%d6" in operation else END
    name, _, operands = operation.partition(" ")
    agrees(f"@%p atom.global.{name} {operands.replace('AT', '%d1')}; {end}")
    shared = "st.shared.v2.u32 [tile], {3, 4}; bar.sync 0;"
    after = "bar.sync 0; ld.shared.u64 %d7, [tile]; st.global.u64 [%d1+8], %d7;"
    agrees(f"{shared} @%p atom.shared.{name} {operands.replace('AT', 'tile')}; {after} {end}")
    if "cas" not in name and "exch" not in name:
        unused = operands.partition(", ")[2].replace("AT", "%d1")
        agrees(f"@%p red.global.{name} {unused}; {end}")


def test_lanes_at_addresses_of_their_own() -> None:
    agrees("mul.wide.u32 %d7, %r4, 4; add.s64 %d7, %d1, %d7; @%p atom.global.add.u32 %r5, [%d7], %r3;" + END)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_lanes_at_shared_addresses_of_their_own(operation: str) -> None:
    """Whose old values nobody wants: by each lane's operand, and by one of all."""
    name, _, operands = operation.partition(" ")
    given = operands.partition(", ")[2].replace("AT", "%r6+16")
    start = "st.shared.v4.u32 [tile+16], {3, 4, 0x40000000, 0x40800000}; and.b32 %r8, %r2, 1; shl.b32 %r8, %r8, 3;"
    start += "mov.u32 %r6, tile; add.u32 %r6, %r6, %r8; bar.sync 0;"
    end = "bar.sync 0; ld.shared.v2.u64 {%d7, %d8}, [tile+16]; st.global.u64 [%d1+8], %d7;"
    end += "st.global.u64 [%d1+16], %d8; ret; }"
    update = "atom" if "cas" in name or "exch" in name else "red"
    target = "" if update == "red" else f"{operands.partition(', ')[0]}, "
    agrees(f"{start} @%p {update}.shared.{name} {target}{given}; {end}")
    constants = {"%f1": "0f3F800000", "%g1": "0d3FF0000000000000", "%r4": "%r1"}
    one = constants.get(given.rpartition(", ")[2], "5")
    agrees(f"{start} @%p {update}.shared.{name} {target}{given.rpartition(', ')[0]}, {one}; {end}")


def test_hundreds_of_atomics_are_little_code() -> None:
    """Each updates shared memory lane by lane, by a function of all that are alike."""
    updates = "red.shared.add.u64 [%r6+8], %d5; red.shared.max.s32 [%r6], 7;" * 100
    module = parse(f"{HEAD} mov.u32 %r6, tile; add.u32 %r6, %r6, %r4; {updates} ret; }}")
    code = compile_kernel(module, "k", "32x1x1", False, frozenset(["avx2"])).text
    assert code.count("define internal void @update.") == 2
    assert len(code.splitlines()) < 5_000


@pytest.mark.parametrize("type", ["u8", "s8", "u16", "s16", "v2.u8", "v4.u8", "v2.u16", "v4.u16"])
def test_small_elements_from_anywhere(type: str) -> None:
    """Of lanes that take part only: the others' addresses are no memory."""
    count = int(type[1]) if type.startswith("v") else 1
    size = count * int(type.rpartition(".")[2][1:]) // 8
    targets = [f"%r{k}" for k in range(4, 4 + count)]
    what = f"{{{', '.join(targets)}}}" if count > 1 else targets[0]
    sums = "".join([f"mad.lo.u32 %r4, %r4, 31, {target};" for target in targets[1:]])
    body = f"""
    mul.lo.u32 %r8, %r2, 11; and.b32 %r8, %r8, 15; mul.wide.u32 %d7, %r8, {size}; add.s64 %d7, %d1, %d7;
    selp.b64 %d7, %d7, 1, %p; @%p ld.global.{type} {what}, [%d7]; @%p st.global.u32 [%d4], %r4; {sums}
    @%p st.global.u32 [%d4+4], %r4; ret; }}"""
    agrees(body)
