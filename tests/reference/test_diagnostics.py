"""What the reference reports about wrong programs: kind, line, thread and block."""

import io

import numpy as np
import pytest

from drawloom import reference
from drawloom.errors import DeadlockError, KernelFault, LaunchError, MemoryAccessError, RaceError
from drawloom.ptx import parse
from tests.reference.harness import HEADER, body_kernel, launch

OUT = "ld.param.u64 %d0, [out];"
REGISTERS = ".reg .b32 %r<9>; .reg .b64 %d<5>; .reg .pred %p<4>; .reg .b16 %h<3>;"
SHARED = REGISTERS + " .shared .align 8 .b8 s[256];"


def run(
    declarations: str, body: str, block: tuple[int, ...] | int = 32, grid: int = 1, **options: object
) -> np.ndarray:
    out = np.zeros(256, np.uint32)
    launch(body_kernel(declarations, body), "k", grid, block, out, **options)
    return out


def line_of(declarations: str, body: str, marker: str) -> int:
    """The line of the source that `body_kernel` makes, that holds `marker`."""
    for number, line in enumerate(body_kernel(declarations, body).splitlines(), 1):
        if marker in line:
            return number
    raise AssertionError(marker)


# Memory.


def test_out_of_bounds_names_address_thread_and_line() -> None:
    body = (
        f"{OUT}\nmov.u32 %r0, %tid.x;\nmul.wide.u32 %d1, %r0, 256;\nadd.u64 %d1, %d0, %d1;\nst.global.u32 [%d1], %r0;"
    )
    out = np.zeros(256, np.uint32)
    with pytest.raises(MemoryAccessError) as caught:
        launch(body_kernel(REGISTERS, body), "k", 1, (8, 2), out)
    error = caught.value
    assert error.thread == (4, 0, 0)
    assert error.address == out.ctypes.data + 1024 and error.size == 4
    assert error.line == line_of(REGISTERS, body, "st.global")
    assert "st.global.u32" in str(error) and error.kernel == "k" and error.block == (0, 0, 0)


def test_out_of_bounds_beyond_the_last_element() -> None:
    body = f"{OUT}\nadd.u64 %d0, %d0, 1020;\nld.global.v2.u32 {{%r0, %r1}}, [%d0+0];"
    with pytest.raises(MemoryAccessError, match=r"misaligned|outside"):
        run(REGISTERS, body)


def test_misaligned_access() -> None:
    body = f"{OUT}\nld.global.u32 %r0, [%d0+2];"
    with pytest.raises(MemoryAccessError, match="misaligned access to global memory: 4 bytes"):
        run(REGISTERS, body)


def test_misaligned_vector() -> None:
    with pytest.raises(MemoryAccessError, match="misaligned access to shared memory: 8 bytes"):
        run(SHARED, "ld.shared.v2.u32 {%r0, %r1}, [s+4];")


@pytest.mark.parametrize(
    ("body", "space"),
    [
        ("mov.u32 %r0, 256; ld.shared.u32 %r1, [%r0];", "shared"),
        ("mov.u64 %d0, 4096; ld.local.u32 %r1, [%d0];", "local"),
        ("ld.param.u64 %d1, [out+8];", "param"),
        ("mov.u64 %d0, 64; ld.u32 %r1, [%d0];", "global"),
    ],
)
def test_out_of_bounds_in_each_space(body: str, space: str) -> None:
    with pytest.raises(MemoryAccessError, match=f"{space} memory"):
        run(SHARED, body)


def test_use_after_free_and_double_free() -> None:
    head = HEADER + (
        ".extern .func (.param .b64 r) malloc (.param .b64 size);\n.extern .func free (.param .b64 p);\n"
        ".visible .entry k() {\n.reg .b64 %d<2>; .reg .b32 %r<2>; .param .b64 a; .param .b64 b;\n"
        "st.param.b64 [a], 16;\ncall (b), malloc, (a);\nld.param.b64 %d0, [b];\nst.param.b64 [a], %d0;\n"
        "st.b32 [%d0+12], 5;\ncall free, (a);\n"
    )
    with pytest.raises(MemoryAccessError, match="outside of every buffer"):
        launch(head + "ld.b32 %r0, [%d0];\nret; }", "k", 1, 1)
    with pytest.raises(KernelFault, match="freed before"):
        launch(head + "call free, (a);\nret; }", "k", 1, 1)


def test_stack_overflow() -> None:
    source = HEADER + (
        ".func f() {\n.local .align 8 .b8 big[65536];\ncall f;\nret; }\n.visible .entry k() {\ncall f;\nret; }"
    )
    with pytest.raises(KernelFault, match="stack overflow"):
        launch(source, "k", 1, 1)


# Registers.


def test_uninitialised_register() -> None:
    body = "mov.u32 %r0, %tid.x;\nsetp.eq.u32 %p0, %r0, 5;\n@%p0 add.u32 %r1, %r2, 1;"
    with pytest.raises(KernelFault, match="register %r2 is read before it is written") as caught:
        run(REGISTERS, body)
    assert caught.value.thread == (5, 0, 0)
    assert caught.value.line == line_of(REGISTERS, body, "@%p0 add")


@pytest.mark.parametrize(
    "body",
    [
        "@%p0 bra L; L:",
        "setp.eq.u32 %p1, %r0, 0;",
        "setp.ne.s32 %p1, %r0, 0;",
        "ld.global.u32 %r1, [%d1];",
        "st.shared.u32 [s], %r0;",
        "selp.b32 %r1, 1, 2, %p0;",
        "popc.b32 %r1, %r0;",
        "cvt.u64.u32 %d1, %r0;",
        "mul.lo.u32 %r1, %r0, 0;",
        "and.pred %p1, %p0, %p2;",
        "shfl.sync.idx.b32 %r1, %r2, %r0, 31, -1;",
        "mov.b32 %r2, 1; shfl.sync.idx.b32 %r1, %r2, %r0, 31, -1;",
        "vote.sync.ballot.b32 %r1, %p0, -1;",
        "shfl.sync.idx.b32 %r1, %r2, 0, 31, %r0;",
        "min.u32 %r1, %r0, 0;",
        "brev.b32 %r1, %r0;",
        "clz.b32 %r1, %r0;",
        "bar.sync %r0;",
        "cvt.rn.f32.u32 %r1, %r0;",
        "prmt.b32 %r1, %r0, 0, 0x7777;",
        "lop3.b32 %r1, %r0, 0, 0, 0;",
        "setp.num.f32 %p1, %r0, 0f00000000;",
        "nanosleep.u32 %r0;",
        "isspacep.shared %p0, %d1;",
        "atom.shared.cas.b32 %r1, [s], %r0, 1;",
        "atom.shared.exch.b32 %r1, [s], %r0;",
        "not.b32 %r1, %r0;",
        "max.f32 %r1, %r0, 0f00000000;",
    ],
)
def test_uninitialised_registers_are_found_in_every_kind_of_use(body: str) -> None:
    with pytest.raises(KernelFault, match=r"register %(r0|p0|d1) is read before it is written"):
        run(SHARED, body, 32)


def test_copying_an_undefined_register_is_no_use() -> None:
    run(REGISTERS, "mov.u32 %r0, %r1;\nsetp.eq.u32 %p0, 0, 0;\nselp.b32 %r2, 1, %r0, %p0;\nadd.u32 %r2, %r2, 1;")


def test_carry_flag_before_it_is_written() -> None:
    with pytest.raises(KernelFault, match="the carry flag is read before it is written"):
        run(REGISTERS, "addc.u32 %r0, 1, 2;")


def test_value_of_a_lane_that_takes_no_part_is_undefined() -> None:
    shuffle = "mov.u32 %r0, %tid.x;\nshfl.sync.down.b32 %r1, %r0, 4, 31, -1;\n"
    run(REGISTERS, shuffle, 8)
    with pytest.raises(KernelFault, match="%r1 is read before it is written") as caught:
        run(REGISTERS, shuffle + "add.u32 %r1, %r1, 1;", 8)
    assert caught.value.thread in [(t, 0, 0) for t in (4, 5, 6, 7)]


# Races.


def own(offset: str = "") -> str:
    return f"mov.u32 %r0, %tid.x;\nshl.b32 %r1, %r0, 2;\nmov.u32 %r2, s;\nadd.u32 %r1, %r1, %r2;{offset}\n"


NEIGHBOUR = "xor.b32 %r3, %r0, 32;\nshl.b32 %r3, %r3, 2;\nadd.u32 %r3, %r3, %r2;\n"


def test_race_between_a_write_and_a_read() -> None:
    body = own() + NEIGHBOUR + "st.shared.u32 [%r1], %r0;\nld.shared.u32 %r4, [%r3];"
    with pytest.raises(RaceError, match=r"data race: byte \d+ of shared memory is written while thread") as caught:
        run(SHARED, body, 64)
    assert f"has read it at line {line_of(SHARED, body, 'ld.shared')}" in str(caught.value)
    assert caught.value.line == line_of(SHARED, body, "st.shared")
    assert caught.value.thread == (32, 0, 0)


@pytest.mark.parametrize(
    "barrier", ["bar.sync 0;", "barrier.sync 3;", "bar.red.popc.u32 %r5, 1, %p0;", "bar.sync 2, 64;"]
)
def test_barriers_order_accesses(barrier: str) -> None:
    body = (
        own() + NEIGHBOUR + f"setp.eq.u32 %p0, %r0, 1;\nst.shared.u32 [%r1], %r0;\n{barrier}\nld.shared.u32 %r4, [%r3];"
    )
    run(SHARED, body, 64)


def test_race_after_the_barrier() -> None:
    body = (
        own() + NEIGHBOUR + "st.shared.u32 [%r1], %r0;\nbar.sync 0;\nld.shared.u32 %r4, [%r3];\nst.shared.u32 [%r1], 0;"
    )
    with pytest.raises(RaceError, match="read while"):
        run(SHARED, body, 64)


def test_two_writes_of_one_word_race() -> None:
    with pytest.raises(RaceError, match="is written while thread"):
        run(SHARED, "mov.u32 %r0, %tid.x;\nst.shared.u32 [s], %r0;", 2)


def test_writes_of_the_same_bytes_do_not_race() -> None:
    run(SHARED, "st.shared.u32 [s], 1;\nbar.sync 0;\nld.shared.u32 %r0, [s];\nbar.sync 0;\nst.shared.u32 [s], 2;", 64)


def test_who_reads_comes_after_all_who_wrote_the_same_bytes() -> None:
    """The last thread knows of the write of its own warp's other lanes only."""
    body = "st.shared.u32 [s], 1;\nbar.warp.sync -1;\nld.shared.u32 %r4, [s];"
    run(SHARED, body, 32)
    with pytest.raises(RaceError, match="data race"):
        run(SHARED, body, 64)


def test_a_different_write_races_with_each_of_those_that_were_alike() -> None:
    body = (
        "mov.u32 %r0, %tid.x;\nsetp.lt.u32 %p0, %r0, 32;\nsetp.eq.u32 %p1, %r0, 33;\n"
        "st.shared.u32 [s], 1;\nbar.warp.sync -1;\n@%p1 st.shared.u32 [s], 2;"
    )
    with pytest.raises(RaceError, match="is written while thread"):
        run(SHARED, body, 64)


def test_bytes_of_one_word_do_not_race() -> None:
    run(SHARED, "mov.u32 %r0, %tid.x;\nmov.u32 %r2, s;\nadd.u32 %r2, %r2, %r0;\nst.shared.u8 [%r2], %r0;", 32)


def test_a_warp_barrier_orders_its_warp_only() -> None:
    body = own() + (
        "xor.b32 %r3, %r0, {};\nshl.b32 %r3, %r3, 2;\nadd.u32 %r3, %r3, %r2;\nst.shared.u32 [%r1], %r0;\n"
        "bar.warp.sync -1;\nld.shared.u32 %r4, [%r3];"
    )
    run(SHARED, body.replace("{}", "1"), 64)
    with pytest.raises(RaceError):
        run(SHARED, body.replace("{}", "32"), 64)


def test_a_shuffle_orders_no_memory() -> None:
    body = own() + (
        "xor.b32 %r3, %r0, 1;\nshl.b32 %r3, %r3, 2;\nadd.u32 %r3, %r3, %r2;\nst.shared.u32 [%r1], %r0;\n"
        "shfl.sync.idx.b32 %r5, %r0, 0, 31, -1;\nld.shared.u32 %r4, [%r3];"
    )
    with pytest.raises(RaceError):
        run(SHARED, body, 32)


def test_atomics_do_not_race_with_each_other_but_with_plain_accesses() -> None:
    run(SHARED, "atom.shared.add.u32 %r0, [s], 1;\nred.shared.max.u32 [s], 7;", 64)
    with pytest.raises(RaceError):
        run(SHARED, "atom.shared.add.u32 %r0, [s], 1;\nld.shared.u32 %r1, [s];", 64)


FLAG = """
mov.u32 %r0, %tid.x;
setp.eq.u32 %p0, %r0, 0;
@!%p0 bra CONSUMER;
st.shared.u32 [s], 42;
{release}
bra END;
CONSUMER:
{acquire}
setp.eq.u32 %p1, %r1, 0;
@%p1 bra CONSUMER;
{fence}
ld.shared.u32 %r2, [s];
END:
"""


@pytest.mark.parametrize(
    ("release", "acquire", "fence"),
    [
        ("st.release.cta.shared.u32 [s+8], 1;", "ld.acquire.cta.shared.u32 %r1, [s+8];", ""),
        ("membar.cta;\nst.volatile.shared.u32 [s+8], 1;", "ld.volatile.shared.u32 %r1, [s+8];", "membar.cta;"),
        ("fence.acq_rel.cta;\nred.shared.or.b32 [s+8], 1;", "atom.acquire.cta.shared.or.b32 %r1, [s+8], 0;", ""),
    ],
)
def test_release_and_acquire_order_accesses(release: str, acquire: str, fence: str) -> None:
    run(SHARED, FLAG.format(release=release, acquire=acquire, fence=fence), 2)


def test_a_flag_without_a_fence_orders_nothing() -> None:
    body = FLAG.format(
        release="st.volatile.shared.u32 [s+8], 1;", acquire="ld.volatile.shared.u32 %r1, [s+8];", fence=""
    )
    with pytest.raises(RaceError):
        run(SHARED, body, 2)


# Barriers and deadlocks.


def test_barrier_divergence() -> None:
    body = (
        "mov.u32 %r0, %tid.x;\nsetp.lt.u32 %p0, %r0, 3;\n@%p0 bra A;\nbar.sync 0;\nbra E;\nA:\n"
        "bar.sync 0; // second\nE:"
    )
    with pytest.raises(KernelFault, match="barrier divergence") as caught:
        run(REGISTERS, body)
    assert caught.value.line > 0 and caught.value.thread is not None
    # The same is allowed to warps, and to barriers that are not aligned.
    run(REGISTERS, body.replace("%r0, 3", "%r0, 32"), 64)
    run(REGISTERS, body.replace("bar.sync", "barrier.sync"))


def test_deadlock_names_who_waits_where() -> None:
    body = (
        "mov.u32 %r0, %tid.x;\nsetp.lt.u32 %p0, %r0, 32;\n@%p0 bra A;\nbar.sync 1;\nbra E;\nA:\n"
        "bar.sync 2; // second\nE:"
    )
    with pytest.raises(DeadlockError, match=r"32 at line .* 32 at line") as caught:
        run(REGISTERS, body, 64)
    assert str(line_of(REGISTERS, body, "second")) in str(caught.value)


def test_a_lane_of_the_mask_that_never_comes() -> None:
    body = (
        "mov.u32 %r0, %tid.x;\nsetp.eq.u32 %p0, %r0, 3;\n@%p0 bra E;\n"
        "vote.sync.ballot.b32 %r1, %p0, -1;\nE:\nbar.sync 0;"
    )
    with pytest.raises(DeadlockError, match="vote"):
        run(REGISTERS, body)


def test_exited_lanes_are_not_waited_for() -> None:
    body = (
        f"{OUT}\nmov.u32 %r0, %tid.x;\nsetp.lt.u32 %p0, %r0, 3;\n@%p0 exit;\nvote.sync.ballot.b32 %r1, !%p0, -1;\n"
        "bar.sync 0;\nbar.red.popc.u32 %r2, 0, !%p0;\nst.global.v2.u32 [%d0], {%r1, %r2};"
    )
    assert list(run(REGISTERS, body, 32)[:2]) == [0xFFFFFFF8, 29]


def test_executing_lane_outside_of_its_mask() -> None:
    with pytest.raises(KernelFault, match=r"lane 0 executes bar\.warp\.sync with member mask 0x00000002"):
        run(REGISTERS, "bar.warp.sync 2;")


def test_wrong_thread_counts_and_barrier_numbers() -> None:
    with pytest.raises(KernelFault, match="multiple of 32"):
        run(REGISTERS, "mov.u32 %r0, 33; bar.sync 0, %r0;", 64)
    with pytest.raises(KernelFault, match="barriers 0 to 15"):
        run(REGISTERS, "mov.u32 %r0, 16; bar.sync %r0;")
    body = "mov.u32 %r0, %tid.x;\nsetp.lt.u32 %p0, %r0, 32;\n@%p0 bra A;\nbar.sync 0, 64;\nbra E;\nA:\nbar.sync 0;\nE:"
    with pytest.raises(KernelFault, match="is used for"):
        run(REGISTERS, body, 96)


def test_endless_loop_ends_with_the_steps() -> None:
    with pytest.raises(DeadlockError, match="has not ended"):
        run(REGISTERS, "L: bra L;", 1, max_steps=1000)


def test_spinning_on_another_lane_warp_and_block() -> None:
    """Everybody waits for the thread after it, the last one of the last block begins."""
    body = (
        f"{OUT}\nmov.u32 %r0, %ctaid.x;\nmov.u32 %r1, %ntid.x;\nmov.u32 %r2, %tid.x;\nmad.lo.u32 %r0, %r0, %r1, %r2;\n"
        "mul.wide.u32 %d1, %r0, 4;\nadd.u64 %d1, %d0, %d1;\nsetp.eq.u32 %p0, %r0, 119;\n@%p0 bra GO;\n"
        "WAIT:\nld.volatile.global.u32 %r3, [%d1+4];\nsetp.eq.u32 %p1, %r3, 0;\n@%p1 bra WAIT;\n"
        "GO:\nst.volatile.global.u32 [%d1], 7;"
    )
    assert (run(REGISTERS, body, 40, grid=3)[:120] == 7).all()


# Faults, launches, output.


def test_trap_and_bad_branches() -> None:
    with pytest.raises(KernelFault, match="executed trap"):
        run(REGISTERS, "trap;")
    table = "T: .branchtargets A, B;\nmov.u32 %r0, 2;\nbrx.idx %r0, T;\nA:\nB:"
    with pytest.raises(KernelFault, match="index 2: the list has 2 targets"):
        run(REGISTERS, table)
    with pytest.raises(KernelFault, match="which is no function"):
        run(REGISTERS, "mov.u64 %d0, 8;\nP: .callprototype _;\ncall %d0, P;")


def test_stores_to_parameters_and_atomics_on_local_memory() -> None:
    with pytest.raises(KernelFault, match="atomic operation on local memory"):
        body = "mov.u64 %d0, l;\ncvta.local.u64 %d0, %d0;\natom.add.u32 %r0, [%d0], 1;"
        run(REGISTERS + " .local .align 8 .b8 l[8];", body)


def test_wrong_launches() -> None:
    source = body_kernel(REGISTERS, "")
    out = np.zeros(1, np.uint32)
    with pytest.raises(LaunchError, match="1 to 1024 threads per block"):
        launch(source, "k", 1, 0, out)
    with pytest.raises(LaunchError, match="1 to 1024 threads per block"):
        launch(source, "k", 1, (64, 17), out)
    module = parse(source)
    with pytest.raises(LaunchError, match="it has: k"):
        reference.run(module, "missing", (1, 1, 1), (1, 1, 1), bytes(8))
    with pytest.raises(LaunchError, match="has 4 bytes; the kernel takes 8"):
        reference.run(module, "k", (1, 1, 1), (1, 1, 1), bytes(4))


def test_clocks_only_grow() -> None:
    body = (
        "mov.u64 %d1, %clock64;\nmov.u64 %d2, %clock64;\nmov.u32 %r0, %clock;\nsetp.le.u64 %p0, %d2, %d1;\n@%p0 trap;"
    )
    run(REGISTERS, body, 64)


def test_printf_goes_to_the_given_stream() -> None:
    source = HEADER + (
        ".extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);\n"
        ".global .align 1 .b8 text[6] = {37, 100, 47, 37, 115, 0};\n.global .align 1 .b8 word[3] = {111, 107, 0};\n"
        ".visible .entry k() {\n.reg .b64 %d<3>; .reg .b32 %r<2>; .local .align 8 .b8 args[16];\n"
        ".param .b64 f; .param .b64 a; .param .b32 r;\nmov.u32 %r0, %ctaid.x;\nst.local.u32 [args], %r0;\n"
        "mov.u64 %d0, word;\nst.local.u64 [args+8], %d0;\nmov.u64 %d1, args;\ncvta.local.u64 %d1, %d1;\n"
        "mov.u64 %d2, text;\nst.param.b64 [f], %d2;\nst.param.b64 [a], %d1;\ncall (r), vprintf, (f, a);\n"
        "ld.param.b32 %r1, [r];\nsetp.ne.u32 %p, %r1, 2;\n@%p trap;\nret; }"
    ).replace(".reg .b32 %r<2>;", ".reg .b32 %r<2>; .reg .pred %p;")
    out = io.StringIO()
    launch(source, "k", 3, 1, stdout=out)
    assert out.getvalue() == "0/ok1/ok2/ok"
