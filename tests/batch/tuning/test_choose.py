"""The layout that is chosen without measuring: what it rests on, and that it is the same every time."""

import numpy as np
import pytest

from drawloom import batch
from drawloom.batch.backends.chunk_ir import Chunk, flatten
from drawloom.batch.backends.chunking import cut_into_chunks
from drawloom.batch.backends.layout import Layout
from drawloom.batch.backends.native import NativeKernel
from drawloom.batch.backends.order import order_depth_first
from drawloom.batch.backends.reloads import STACK
from drawloom.batch.kernels import parse_ready, read_text
from drawloom.batch.tuning.choose import choose_layout
from drawloom.batch.tuning.cost import count_spills, simulate
from tests.batch.cases import check_result, copied, make_arguments

pytest.importorskip("pycparser")

#: Kernel and size -> the order of lanes that suits it, on 8 doubles a vector (docs/batch.md says why).
ORDERS = {("gema", 8): "rows", ("gemm", 8): "rows", ("trsv", 8): "interleaved",
          ("ldus", 4): "interleaved", ("ldus", 8): "interleaved", ("pade", 8): "columns",
          ("enum", 8): "columns"}  # fmt: skip


@pytest.mark.parametrize(("name", "size"), ORDERS)
def test_the_order_of_lanes_suits_the_kernel(name: str, size: int) -> None:
    kernel = batch.lower(parse_ready(name, wg_size=size))
    choice = choose_layout(kernel, 8, 512, 32)
    assert choice.order == ORDERS[name, size]
    assert choose_layout(kernel, 8, 512, 32) == choice


def test_few_registers_mean_few_groups() -> None:
    kernel = batch.lower(parse_ready("ldus", wg_size=8))
    assert choose_layout(kernel, 4, 256, 16).pack < choose_layout(kernel, 4, 256, 1000).pack


def test_depth_first_order_of_the_same_layout_needs_a_small_gain_only() -> None:
    floats = batch.lower(parse_ready("gemm", wg_size=16, real="float"))
    assert choose_layout(floats, 16, 512, 32)[:3] == ("rows", 1, True)  # 6 % cheaper
    assert choose_layout(batch.lower(parse_ready("gemm", wg_size=4)), 8, 512, 32)[:3] == ("rows", 1, False)  # equal


def test_a_kernel_without_options_chooses_and_is_right() -> None:
    for name in ("gemm", "trsv", "ldus", "pade"):
        size, groups = 4, 37
        kernel = batch.kernel(read_text(name), wg_size=size, defines={"real": "double"})
        arguments = make_arguments(name, size, groups, np.float64)
        before = copied(arguments)
        kernel(*[arguments[parameter.name] for parameter in kernel.source.parameters], groups=groups)
        check_result(name, size, before, arguments)


def chain(numbers: list[tuple[str, tuple[int, ...]]]) -> list[Chunk]:
    made: list[Chunk] = []
    for number, (op, operands) in enumerate(numbers):
        made.append(Chunk(number, op, "double", tuple(made[operand] for operand in operands), None))
    return made


def test_spills_are_counted_by_belady_s_rule() -> None:
    """Three values are held at once; of two registers one is stored and read again, a loaded value is read only."""
    computed = [("fadd", ()), ("fadd", ()), ("fadd", ()), ("fmul", (1, 2)), ("fmul", (0, 3)), ("store", (4,))]
    assert count_spills(chain(computed), 3) == (0, 0)
    assert count_spills(chain(computed), 2) == (2, 0)
    loaded = [("load", ()), *computed[1:]]
    assert count_spills(chain(loaded), 2) == (0, 1)


def test_a_dependent_chain_takes_its_latencies() -> None:
    dependent = chain([("fadd", ()), *[("fadd", (number,)) for number in range(300)]])
    independent = chain([("fadd", ())] * 301)
    # Of 1,204 cycles the window lets the next group begin some 500 before the end.
    assert simulate(dependent, 8, 512) > 600
    assert simulate(independent, 8, 512) < 160


@pytest.mark.parametrize(("name", "size"), [("gemm", 16), ("ldus", 12), ("trsv", 16)])
def test_depth_first_order_keeps_fewer_values_live(name: str, size: int) -> None:
    kernel = batch.lower(parse_ready(name, wg_size=size))
    program = cut_into_chunks(kernel, Layout("interleaved", 2, 8))
    before = flatten(program.block)
    after = flatten(order_depth_first(program.block))
    assert {chunk.number for chunk in after} <= {chunk.number for chunk in before}
    assert sum(count_spills(after, 32)) < 0.8 * sum(count_spills(before, 32))
    place = {chunk.number: number for number, chunk in enumerate(after)}
    assert all(place[operand.number] < place[chunk.number] for chunk in after for operand in chunk.operands)
    assert [c.number for c in after if c.op == "store"] == [c.number for c in before if c.op == "store"]


def test_read_only_operands_are_loaded_again_instead_of_kept_on_the_stack() -> None:
    kernel = batch.lower(parse_ready("gemm", wg_size=24))
    native = NativeKernel(kernel, "rows", 1, depth_first=True)
    assert native.text.count("asm sideeffect") > 10
    loads = [chunk for chunk in native.program.block if chunk.op in ("load", "broadcast")]
    assert len({chunk.detail._replace(phase=0) for chunk in loads}) < len(loads)


def test_what_a_kernel_writes_is_never_loaded_again_from_its_array() -> None:
    """Values that leave their registers are kept on the stack, each in a slot that another takes after its last use."""
    kernel = batch.lower(parse_ready("ldus", wg_size=16))
    native = NativeKernel(kernel, "rows", 1, depth_first=True, registers=16)
    loads = [chunk.detail for chunk in native.program.block if chunk.op in ("load", "broadcast")]
    again = [place for place in loads if place.pointer != "mat_a"]
    assert again
    assert {place.pointer for place in again} == {STACK + "double"}
    stores = [chunk.detail for chunk in native.program.block if chunk.op == "store"]
    kept = [place.offset for place in stores if place.pointer == STACK + "double"]
    assert len(set(kept)) < len(kept)
    assert max(kept) + native.program.width == native.program.stack["double"]


def test_long_blocks_in_program_order_keep_their_values_on_the_stack() -> None:
    small, large = (batch.lower(parse_ready("ldus", wg_size=size)) for size in (4, 32))
    assert NativeKernel(small, "interleaved", 8).program.stack == {}
    assert NativeKernel(large, "interleaved", 2).program.stack != {}
    memory = np.random.default_rng(0).random((8, 32, 32)) + 32 * np.eye(32)
    expected = memory.copy()
    NativeKernel(large, "interleaved", 2).run([memory.ctypes.data], 0, 8)
    NativeKernel(large, "rows", 1).run([expected.ctypes.data], 0, 8)
    assert np.array_equal(memory, expected)


def test_long_computations_ask_for_the_next_group_ahead() -> None:
    text = NativeKernel(batch.lower(parse_ready("gemm", wg_size=16)), "rows", 1).text
    assert text.count("call void @llvm.prefetch") == 64  # two arrays of 16 x 16 doubles
    packed = frozenset({"mat_a", "mat_b", "mat_c"})
    text = NativeKernel(batch.lower(parse_ready("gemm", wg_size=16)), "interleaved", 8, packed=packed).text
    assert text.count("call void @llvm.prefetch") == 512  # of eight groups
    assert "prefetch" not in NativeKernel(batch.lower(parse_ready("gema", wg_size=16)), "rows", 1, 8).text
    assert "prefetch" not in NativeKernel(batch.lower(parse_ready("gemm", wg_size=8)), "rows", 1, 8).text


def test_interleaved_groups_of_256_bytes_and_more_are_asked_for_ahead() -> None:
    kernel = batch.lower(parse_ready("trsv", wg_size=16))
    text = NativeKernel(kernel, "interleaved", 4).text
    # 4 groups of 16 x 16 doubles: 128 lines of 64 bytes, and none of the right-hand sides of 128 bytes.
    assert text.count("call void @llvm.prefetch") == 128
    assert "prefetch" not in NativeKernel(kernel, "interleaved", 4, packed=frozenset({"mat_a", "vec_b"})).text
    assert "prefetch" not in NativeKernel(batch.lower(parse_ready("trsv", wg_size=5)), "interleaved", 4).text


def test_loads_stay_before_the_stores_that_follow_them() -> None:
    """The kernel reverses rows in place: every load comes before the first store, in any order of instructions."""
    text = """
    __kernel void reverse(double *p) {
        double a[4];
        for (int ix = 0; ix < 4; ++ix) a[ix] = p[get_global_id() * 4 + ix];
        for (int ix = 0; ix < 4; ++ix) p[get_global_id() * 4 + 3 - ix] = a[ix];
        for (int ix = 0; ix < 4; ++ix) a[ix] = p[get_global_id() * 4 + ix];
        for (int ix = 0; ix < 4; ++ix) p[get_global_id() * 4 + ix] = a[ix] + ix;
    }
    """
    lowered = batch.lower(batch.parse_file(text, wg_size=4)["reverse"])
    for order in ("rows", "columns", "interleaved"):
        memory = np.arange(64.0)
        expected = memory.reshape(16, 4)[:, ::-1] + np.arange(4)
        NativeKernel(lowered, order, 2, 4, depth_first=True).run([memory.ctypes.data], 0, 4)
        assert np.array_equal(memory.reshape(16, 4), expected)
