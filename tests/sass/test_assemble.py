"""The assembler as a whole: what it makes passes the checker, with few registers and many, in order and out of it."""

import random
from pathlib import Path

import pytest

from drawloom.errors import Error
from drawloom.sass.assemble import assemble
from drawloom.sass.cubin import Kernel
from drawloom.sass.decoder import unpack_section
from drawloom.sass.instruction import Instruction
from drawloom.sass.isa import load_target
from drawloom.sass.verify import verify

KERNELS = Path(__file__).resolve().parents[2] / "benchmarks" / "kernels"
TARGET = "sm_90"


def instructions(kernel: Kernel) -> list[Instruction]:
    return unpack_section(load_target(90), kernel.code)


def straight_line(count: int, seed: int, values: int) -> str:
    """A kernel of about ``count`` instructions in which about ``values`` of integers and of floats are live."""
    pick = random.Random(seed)
    lines = [
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p, .param .u32 n)\n{",
        f".reg .pred %p<{count}>; .reg .b32 %r<{count + 9}>; .reg .f32 %f<{count + 9}>; .reg .b64 %rd<8>;",
        "ld.param.u64 %rd1, [p]; ld.param.u32 %r0, [n]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4;",
        "add.s64 %rd3, %rd1, %rd2; ld.global.f32 %f0, [%rd3];",
    ]
    integers, floats = [0, 1], [0]
    for n in range(2, count):
        a, b = pick.choice(integers), pick.choice(integers)
        x, y, z = (pick.choice(floats) for _ in range(3))
        kind = pick.random()
        if kind < 0.35:
            lines.append(f"{pick.choice(['add.s32', 'sub.s32', 'xor.b32', 'mul.lo.s32'])} %r{n}, %r{a}, %r{b};")
            integers.append(n)
        elif kind < 0.7:
            lines.append(f"fma.rn.f32 %f{n}, %f{x}, %f{y}, %f{z};")
            floats.append(n)
        elif kind < 0.8:
            lines.append(f"ld.global.f32 %f{n}, [%rd3+{4 * pick.randrange(999)}];")
            floats.append(n)
        elif kind < 0.85:
            lines.append(f"st.global.f32 [%rd3+{4 * pick.randrange(999)}], %f{x};")
        else:
            lines.append(f"setp.lt.s32 %p{n}, %r{a}, %r{b}; selp.b32 %r{n}, %r{a}, %r{b}, %p{n};")
            integers.append(n)
        integers, floats = integers[-values:], floats[-values:]
    lines.append(f"st.global.u32 [%rd3], %r{integers[-1]}; ret;\n}}")
    return "\n".join(lines)


@pytest.mark.parametrize("name", ["matmul", "nbody", "saxpy", "transpose", "vecadd"])
@pytest.mark.parametrize("serial", [False, True])
def test_kernels_pass_the_checker(name: str, serial: bool) -> None:
    cubin = assemble((KERNELS / f"{name}.ptx").read_text(), TARGET, serial=serial)
    assert [p for k in cubin.kernels.values() for p in verify(load_target(90), instructions(k))] == []


@pytest.mark.parametrize("registers", [255, 24, 20, 16])
def test_spilled_registers_pass_the_checker(registers: int) -> None:
    kernel = assemble(straight_line(400, 7, 20), TARGET, max_registers=registers).kernels["k"]
    assert verify(load_target(90), instructions(kernel)) == []
    assert kernel.registers <= registers
    assert (kernel.stack > 0) == bool(kernel.spill_stores) == (registers < 255)


def test_order_hides_latency() -> None:
    """Stalls and waits cost fewer cycles than in the program's own order."""
    text = straight_line(400, 3, 12)
    cycles = [
        sum(i.control & 15 for i in instructions(assemble(text, TARGET, serial=serial).kernels["k"]))
        for serial in (False, True)
    ]
    assert cycles[0] < cycles[1] / 3


def test_same_bytes_every_time() -> None:
    text = straight_line(200, 5, 8)
    assert bytes(assemble(text, TARGET)) == bytes(assemble(text, TARGET))


def test_too_few_registers_is_one_clear_error() -> None:
    with pytest.raises(Error):
        assemble(straight_line(50, 1, 4), TARGET, max_registers=4)


@pytest.mark.parametrize("target", (61, 75, 80, 86, 89, 90))
def test_a_guarded_fence_sets_no_scoreboard_for_its_guard(target: int) -> None:
    """CCTL.IVALL reads no general register, and nvdisasm refuses one that sets a scoreboard."""
    text = """.version 8.0
        .target sm_61
        .address_size 64
        .entry k(.param .u64 to)
        {
            .reg .pred p;
            .reg .u32 x;
            .reg .u64 a;
            ld.param.u64 a, [to];
            ld.global.u32 x, [a];
            setp.eq.u32 p, x, 7;
            @p membar.gl;
            st.global.u32 [a], x;
            ret;
        }"""
    kernel = assemble(text, f"sm_{target}").kernels["k"]
    tables = load_target(target)
    assert verify(tables, unpack_section(tables, kernel.code)) == []
