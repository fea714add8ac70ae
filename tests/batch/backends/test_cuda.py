"""Kernels as CUDA C++, run on the CPU device and on the interpreter of PTX: bit for bit what both oracles give.

`python -m tools.fuzz_batch --kernels --cuda cpu` takes every ready kernel at every size; here each kernel has some.
"""

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from drawloom import batch
from drawloom.batch.backends.cuda.emit import emit_cuda
from drawloom.batch.backends.cuda.kernel import DeviceKernel
from drawloom.batch.backends.cuda.operations import PRELUDE
from drawloom.batch.kernels import parse_ready, read_text
from drawloom.errors import DataError, DeviceError, LaunchError, UnsupportedError
from drawloom.runtime.module import load
from tests.batch.cases import Arguments, check_result, copied, flat, make_arguments, same
from tools.fuzz_batch import CUDA, check

pytest.importorskip("pycparser")
pytestmark = pytest.mark.usefixtures("clang")

TYPES = {"float": np.float32, "double": np.float64}
#: Warps of one group, of several, and with threads that are left over, each with the number of groups. The interpreter
#: of PTX compiles nothing, so that larger kernels are fast enough.
READY_CASES = [
    ("cpu", "gema", 4, "float", 67), ("cpu", "gemm", 8, "float", 37), ("cpu", "gemm", 4, "double", 9),
    ("cpu", "trsv", 12, "float", 11), ("cpu", "trsv", 8, "double", 5), ("cpu", "ldus", 8, "double", 1),
    ("cpu", "ldus", 4, "float", 33), ("cpu", "pade", 20, "double", 7), ("cpu", "enum", 12, "float", 13),
    ("cpu", "enum", 24, "double", 2), ("cpu", "frcg", 8, "float", 17),
    ("reference", "gema", 32, "double", 2), ("reference", "gema", 20, "float", 3),
    ("reference", "gemm", 12, "double", 3), ("reference", "gemm", 16, "float", 3),
    ("reference", "trsv", 28, "float", 3), ("reference", "trsv", 24, "double", 2),
    ("reference", "ldus", 12, "float", 5), ("reference", "ldus", 16, "double", 3),
    ("reference", "pade", 24, "float", 5), ("reference", "frcg", 20, "double", 2),
]  # fmt: skip


def expected_of(source: Any, arguments: Arguments, groups: int, contract: bool = True) -> Arguments:
    """Return what both oracles give."""
    expected, found = copied(arguments), copied(arguments)
    batch.interpret(source, groups, flat(expected), contract=contract)
    batch.interpret_ir(batch.lower(source, contract=contract), groups, flat(found))
    assert same(expected, found)
    return expected


def run_text(text: str, size: int, groups: int, arguments: Arguments, device: str = "cpu") -> Arguments:
    """Run a kernel on a device with looking for races, and compare with the oracles."""
    (source,) = batch.parse_file(text, wg_size=size).values()
    kernel = DeviceKernel(source, device, contract=True)
    kernel.loaded = load(kernel.module, device, check="race", reinterpret=True)[kernel.cuda.entry]
    found = copied(arguments)
    kernel(*found.values(), groups=groups)
    expected = expected_of(source, arguments, groups)
    assert same(expected, found), kernel.text
    return found


@pytest.mark.parametrize(("device", "name", "size", "real", "groups"), READY_CASES)
def test_ready_kernels(device: str, name: str, size: int, real: str, groups: int) -> None:
    source = parse_ready(name, wg_size=size, real=real)
    arguments = make_arguments(name, size, groups, TYPES[real], seed=size)
    found = copied(arguments)
    DeviceKernel(source, device, contract=True)(*found.values(), groups=groups)
    assert same(expected_of(source, arguments, groups), found)
    check_result(name, size, arguments, found)


@pytest.mark.parametrize("seed", range(12))
def test_random_kernels(seed: int) -> None:
    assert check(seed, CUDA + ("cpu" if seed in (4, 8) else "reference")) == ""


@pytest.fixture(scope="module")
def ldus() -> DeviceKernel:
    return batch.kernel(read_text("ldus"), wg_size=5, defines={"real": "double"}, device="cpu")


@pytest.mark.parametrize("groups", [0, 1, 2, 3, 7, 8, 9, 17, 97])
def test_any_number_of_groups_and_nothing_beyond_the_arrays(ldus: DeviceKernel, groups: int) -> None:
    arguments = make_arguments("ldus", 5, groups, np.float64)
    whole = np.full(groups * 25 + 64, 7.0)
    whole[32 : 32 + groups * 25] = arguments["mat_a"].reshape(-1)
    ldus(whole[32 : 32 + groups * 25].reshape(groups, 5, 5))
    assert (whole[:32] == 7).all()
    assert (whole[32 + groups * 25 :] == 7).all()
    if groups:
        check_result("ldus", 5, arguments, {"mat_a": whole[32 : 32 + groups * 25].reshape(groups, 5, 5)})


# Divergence.


@pytest.mark.parametrize(("device", "size"), [("cpu", 4), ("cpu", 12), ("reference", 8), ("reference", 32)])
def test_groups_leave_a_loop_at_different_turns(device: str, size: int) -> None:
    """Shuffles in the loop read items that have left, and groups of a warp that run on do not wait for others."""
    text = """__kernel void k(const int *turns, double *x) {
        double t = x[get_global_id()];
        for (int left = turns[get_global_id()]; left > 0; left -= 1)
            t = t * 0.75 + shuffle(t, get_local_id() + 1);
        x[get_global_id()] = t + shuffle(t, 0);
    }"""
    groups = 2 * (32 // size) + 1
    rng = np.random.default_rng(size)
    turns = rng.integers(0, 9, groups * size).astype(np.int32)
    run_text(text, size, groups, {"turns": turns, "x": rng.random(groups * size)}, device)


def test_nested_loops_that_load_and_store() -> None:
    """What an item stores in one turn is what another loads in the next."""
    text = """__kernel void k(const int *turns, int *x) {
        for (int outer = turns[get_group_id()]; outer > 0; outer -= 1) {
            int here = x[get_group_id() * get_local_size() + (get_local_id() + outer) % get_local_size()];
            for (int inner = here & 3; inner > 0; inner -= 1)
                x[get_global_id()] += here + inner;
        }
    }"""
    rng = np.random.default_rng(0)
    arguments = {"turns": rng.integers(0, 5, 13).astype(np.int32), "x": rng.integers(0, 9, 13 * 8).astype(np.int32)}
    run_text(text, 8, 13, arguments)


# Lockstep: threads wait where items would not be able to get ahead of each other.


@pytest.mark.parametrize(("device", "size"), [("cpu", 4), ("reference", 12)])
def test_a_load_sees_what_other_items_stored(device: str, size: int) -> None:
    """The store goes through shared memory, so that threads of other groups make it."""
    text = """#define N get_local_size()
    __kernel void k(float *a) {
        float t[N], u[N];
        for (int ix = 0; ix < N; ++ix) t[ix] = a[get_group_id() * N * N + get_local_id() * N + ix];
        for (int ix = 0; ix < N; ++ix) a[get_group_id() * N * N + get_local_id() * N + ix] = t[ix] + ix;
        for (int ix = 0; ix < N; ++ix) u[ix] = a[get_group_id() * N * N + ix * N + get_local_id()];
        for (int ix = 0; ix < N; ++ix) a[get_group_id() * N * N + get_local_id() * N + ix] = u[ix];
    }"""
    a = np.random.default_rng(0).random((9, size, size)).astype(np.float32)
    found = run_text(text, size, 9, {"a": a}, device)
    assert np.array_equal(found["a"], (a + np.arange(size, dtype=np.float32)).transpose(0, 2, 1))


def test_a_store_before_a_loop_is_waited_for_after_it() -> None:
    """In the loop only a group's threads meet, and others of the warp made the store."""
    text = """#define N get_local_size()
    __kernel void k(int turns, float *a, float *b) {
        float t[N];
        for (int ix = 0; ix < N; ++ix) t[ix] = a[get_group_id() * N * N + get_local_id() * N + ix];
        for (int ix = 0; ix < N; ++ix) a[get_group_id() * N * N + get_local_id() * N + ix] = t[ix] + 1;
        for (int left = turns; left > 0; left -= 1) b[get_global_id()] += t[0];
        float last = a[get_group_id() * N * N + get_local_id()];
        b[get_global_id()] += last;
    }"""
    a = np.random.default_rng(0).random(5 * 16).astype(np.float32)
    run_text(text, 4, 5, {"turns": 2, "a": a, "b": np.zeros(20, np.float32)}, "reference")
    after_loop = emit_cuda(batch.lower(batch.parse_file(text, wg_size=4)["k"])).text.rpartition("\n    }\n")[2]
    assert after_loop.startswith("    __syncwarp(warp);\n    float")


def test_groups_that_overlap_or_leave_gaps() -> None:
    """Groups lie closer than they are long, further apart, backwards, and as far apart as a number says."""
    text = """#define N get_local_size()
    __kernel void k(int stride, const float *a, float *b) {
        float t[N], u[N], v[N], w[N];
        for (int ix = 0; ix < N; ++ix) t[ix] = a[get_group_id() * N + get_local_id() * N + ix];
        for (int ix = 0; ix < N; ++ix) u[ix] = a[get_group_id() * 40 + get_local_id() * N + ix];
        for (int ix = 0; ix < N; ++ix) v[ix] = a[64 - (long)get_group_id() * 16 + get_local_id() * N + ix];
        for (int ix = 0; ix < N; ++ix) w[ix] = a[get_group_id() * stride + get_local_id() * N + ix];
        for (int ix = 0; ix < N; ++ix)
            b[get_group_id() * 20 + get_local_id() * N + ix] = t[ix] + 2 * u[N - 1 - ix] + 3 * v[ix] + 5 * w[ix];
    }"""
    a = np.random.default_rng(0).random(300).astype(np.float32)
    run_text(text, 4, 5, {"stride": 7, "a": a, "b": np.zeros(100, np.float32)}, "reference")


def test_neighbours_exchange_elements_in_place() -> None:
    text = """__kernel void k(int *a) {
        a[get_global_id()] = a[get_group_id() * get_local_size() + get_local_size() - 1 - get_local_id()];
    }"""
    a = np.arange(60, dtype=np.int32)
    found = run_text(text, 20, 3, {"a": a})
    assert np.array_equal(found["a"].reshape(3, 20), a.reshape(3, 20)[:, ::-1])


@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_the_highest_of_several_items_wins(device: str) -> None:
    """At places known at compile time, known at run time, and under masks."""
    text = """__kernel void k(const uint *where, int *a, int *b, int *c) {
        a[get_group_id() * 4 + get_local_id() / 3] = get_local_id();
        b[get_group_id() * 16 + where[get_global_id()] % 4] = get_local_id();
        if (where[get_global_id()] & 4)
            c[get_group_id() * 16 + where[get_global_id()] % 4] = get_local_id();
    }"""
    groups, size = 5, 10
    rng = np.random.default_rng(0)
    arguments = {"where": rng.integers(0, 8, groups * size).astype(np.uint32)}
    arguments |= {name: np.full(groups * 16, -1, np.int32) for name in "abc"}
    run_text(text, size, groups, arguments, device)


def test_a_variable_of_the_group_is_the_same_in_every_item() -> None:
    text = """__kernel void k(const float *a, float *b) {
        __local float shared[get_local_size()];
        shared[get_local_id()] = a[get_global_id()];
        int place = (int)a[get_global_id()] & 7;
        b[get_global_id()] = shared[place] - shared[(get_local_id() + 3) % get_local_size()];
    }"""
    a = np.random.default_rng(0).random(40).astype(np.float32) * 9
    run_text(text, 8, 5, {"a": a, "b": np.zeros(40, np.float32)})


# Moves.


@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_every_kind_of_move(device: str) -> None:
    """Uniform and rotated lanes, lanes of a table, transpositions, and lanes and elements known at run time only."""
    text = """#define N get_local_size()
    __kernel void k(const int *turn, const int *a, int *b) {
        int t[N], u[N], r = turn[get_global_id()];
        for (int ix = 0; ix < N; ++ix) t[ix] = a[get_global_id() * N + ix];
        int s = shuffle(t[1], 2) + shuffle(t[2], get_local_id() + 5) * 3;
        s += shuffle(t[0], get_local_id() * get_local_id()) * 7;
        s += shuffle(t[get_local_id()], get_local_id() ^ 1) * 11 + shuffle(t[3], r) * 13 + t[(uint)r % N] * 17;
        for (int ix = 0; ix < N; ++ix) u[ix] = shuffle(t[ix], 4);
        s += u[get_local_id()] * 19 + shuffle(t[(uint)r % N], r + 1) * 23;
        for (int ix = 0; ix < N; ++ix) b[get_global_id() * N + ix] = s + shuffle(t[ix], ix);
    }"""
    rng = np.random.default_rng(0)
    turn = rng.integers(-20, 20, 24).astype(np.int32)
    a = rng.integers(0, 99, 24 * 6).astype(np.int32)
    run_text(text, 6, 4, {"turn": turn, "a": a, "b": np.zeros_like(a)}, device)


def test_half_of_a_number_is_used() -> None:
    """clang then loads half of it, which is not the type of the array's elements."""
    kernel = batch.kernel(
        "__kernel void k(const long *a, int *b) { b[get_global_id()] = (int)a[get_global_id()]; }",
        wg_size=4,
        device="cpu",
    )
    a, b = np.arange(8) - (5 << 40), np.zeros(8, np.int32)
    kernel(a, b, groups=2)
    assert np.array_equal(b, np.arange(8))


def test_conversions_saturate_and_integers_wrap() -> None:
    types = {"char": np.int8, "uchar": np.uint8, "short": np.int16, "ushort": np.uint16, "int": np.int32,
             "uint": np.uint32, "long": np.int64, "ulong": np.uint64}  # fmt: skip
    parameters = ", ".join(f"{type} *to_{type}" for type in types)
    lines = [
        f"to_{type}[get_global_id()] = ({type})x[get_global_id()] * (({type})f[get_global_id()] >> 1) + 3;"
        for type in types
    ]
    text = f"__kernel void k(const double *x, const float *f, {parameters}) {{\n" + "\n".join(lines) + "\n}"
    numbers = [0.0, -0.9, 127.9, 128.0, -128.9, -129.0, 255.5, 256.0, 32768.5, -32769.0, 65536.0, 2.0**31,
               -(2.0**31) - 1, 2.0**32, 2.0**63, -(2.0**63), 2.0**64, 1e300, -1e300, np.inf, -np.inf,
               np.nan, 77.7, -5.0]  # fmt: skip
    x = np.array(numbers)
    with np.errstate(over="ignore"):
        f = x[::-1].astype(np.float32)
    arguments: Arguments = {"x": x, "f": f}
    arguments |= {f"to_{type}": np.zeros(24, dtype) for type, dtype in types.items()}
    run_text(text, 8, 3, arguments)


@pytest.mark.parametrize("type", ["int", "float"])
def test_numbers_that_are_chosen_from_numbers_compile_in_no_time(type: str) -> None:
    """For each use of a `const` number, clang 22 looked at the two numbers of `m ? x : y` that it is: 2^60 times."""
    text = f"""__kernel void k(const {type} *a, {type} *b) {{
        {type} x = a[get_global_id()], y = x * x;
        for (int i = 0; i < 90; ++i) if ((get_local_id() + i) % 3) {{ {type} z = x; x = y; y = z; }}
        b[get_global_id()] = x;
    }}"""
    a = np.arange(8).astype({"int": np.int32, "float": np.float32}[type])
    run_text(text, 8, 1, {"a": a, "b": np.zeros_like(a)})


# What the text looks like.


def text_of(name: str, size: int, real: str = "float") -> str:
    return emit_cuda(batch.lower(parse_ready(name, wg_size=size, real=real))).text


@pytest.mark.parametrize(("size", "groups"), [(4, 8), (8, 4), (12, 2), (16, 2), (20, 1), (24, 1), (28, 1), (32, 1)])
def test_a_warp_has_as_many_whole_groups_as_it_can(size: int, groups: int) -> None:
    text = text_of("trsv", size)
    assert f"groups of {size} work-items, {groups} in a warp" in text
    assert f"const u32 members = {hex((1 << size) - 1)}u << base;" in text
    assert (f"part >= {groups}" in text) == (groups * size < 32)


def test_a_product_shuffles_every_element_of_one_matrix_once() -> None:
    text = text_of("gemm", 8)
    assert text.count("__shfl_sync") == 64
    assert text.count("__fmaf_rn") == 512 // 8


def test_matrices_are_read_and_written_by_neighbouring_threads() -> None:
    """A row for each thread would take N transactions for each load; no element is accessed in that way."""
    text = text_of("gemm", 16)
    assert text.count(" = at_mat_a_0[k];") == text.count(" = at_mat_b_1[k];") == text.count("at_mat_c_2[k] = ") == 1
    assert "tile_float[k + k / 16]" in text


def test_a_sum_needs_no_shared_memory() -> None:
    text = text_of("gema", 16)
    assert "float v50_15 = at_mat_a_0[lane + 15 * live];" in text
    assert "__shared__" not in text
    assert "__syncwarp" not in text


@pytest.mark.parametrize("change", ["get_local_id()", "(int)get_group_id()", "ix", "shuffle(t[ix], 1)", "(ix < 2)"])
def test_what_depends_on_its_place_is_no_stream(change: str) -> None:
    text = f"""#define N get_local_size()
    __kernel void k(const float *a, float *b) {{
        float t[N];
        for (int ix = 0; ix < N; ++ix) t[ix] = a[get_group_id() * N * N + get_local_id() * N + ix];
        for (int ix = 0; ix < N; ++ix) b[get_group_id() * N * N + get_local_id() * N + ix] = t[ix] + {change};
    }}"""
    a = np.random.default_rng(0).random(3 * 36).astype(np.float32)
    run_text(text, 6, 3, {"a": a, "b": np.zeros_like(a)}, "reference")
    assert "__shared__" in emit_cuda(batch.lower(batch.parse_file(text, wg_size=6)["k"])).text


def test_lanes_of_its_own_need_no_shuffle() -> None:
    (source,) = batch.parse_file(
        "__kernel void k(float *a) { a[get_global_id()] = shuffle(a[get_global_id()], get_local_id()); }", wg_size=8
    ).values()
    assert "__shfl_sync" not in emit_cuda(batch.lower(source)).text


@pytest.mark.vendor
def test_nvidias_compiler_takes_the_text(nvcc: str, tmp_path: Path) -> None:
    """All warnings are errors; ptxas makes machine code of it."""
    path = tmp_path / "kernels.cu"
    texts = [text_of(name, size, "double") for name, size in (("gemm", 4), ("gema", 12), ("ldus", 8), ("enum", 12))]
    declarations = PRELUDE.splitlines()
    lines = [line for text in texts for line in text.splitlines() if line not in declarations]
    path.write_text("\n".join([*declarations, *lines, ""]))
    options = ["-arch=sm_80", "-Werror", "all-warnings", "-cubin", "-o", str(tmp_path / "kernels.cubin")]
    command = [nvcc, *options, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


# The face.


def test_a_kernel_runs_on_a_device() -> None:
    gemm = batch.kernel(read_text("gemm"), wg_size=4, defines={"real": "double"}, device="cpu")
    assert repr(gemm) == "<batch kernel gemm(mat_a, mat_b, mat_c), groups of 4, on cpu>"
    assert "__global__" in gemm.text
    assert ".visible .entry batch_gemm" in gemm.ptx
    a, b = np.random.default_rng(0).random((2, 9, 4, 4))
    c = np.zeros_like(a)
    gemm(a, b, c)
    assert np.allclose(c, a @ b)


def test_what_a_device_does_not_take_is_refused() -> None:
    text = "__kernel void k(double *p) { p[get_global_id()] = 1; }"
    with pytest.raises(DataError, match="order and pack are for vectors of the CPU"):
        batch.kernel(text, wg_size=4, pack=2, device="cpu")
    with pytest.raises(DeviceError, match="unknown device 'gpu'"):
        batch.kernel(text, wg_size=4, device="gpu")
    with pytest.raises(UnsupportedError, match="k: groups of 33 do not fit a warp\n  expected at most 32 work-items"):
        batch.kernel(text, wg_size=33, device="cpu")
    with pytest.raises(LaunchError, match="group 2 accesses element 11 of p, an array of 8 elements"):
        batch.kernel(text, wg_size=4, device="cpu")(np.zeros((2, 4)), groups=3)
