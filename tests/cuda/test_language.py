"""C++ in kernels, the standards that clang takes, and what a user reads when a source is wrong."""

import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

import drawloom
from drawloom.cli.cc import device_arithmetic
from drawloom.cli.nvcc_options import read_command_line
from drawloom.cuda import CompileError, clang, compile_cuda
from drawloom.cuda.compiler import Options, translate_cuda
from drawloom.cuda.prelude import asks_of_headers
from drawloom.ptx.demangle import source_name
from drawloom.runtime.kernel_names import symbol_of

SOURCE = Path(__file__).parent / "language.cu"
N = 64


def fibonacci(n: int) -> int:
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def expected(i: int) -> list[int]:
    factorials = [1, 1, 2, 6, 24, 120]
    return [
        14, (N - 1 - i) ** 2, factorials[i % 6], 10 ** (i & 3), 800, 1, 3, 20 + i,
        4 * i if i & 1 else 3, 8, fibonacci(i % 10), i + 3, 5 if i & 1 else -5, 4 - (i & 3), 3 * i,
        max(i, 7) - min(i, 3), i + 4 + 8 + 1, 3, 1, sum(k * k for k in range(8)),
    ]  # fmt: skip


def run_language(device: str) -> drawloom.Module:
    module = drawloom.load(compile_cuda(SOURCE, "sm_80"), device=device)
    out = np.zeros((20, N), np.int32)
    module["language"][1, N, 4 * N](out, N)
    for i in range(N):
        assert out[:, i].tolist() == expected(i)
    return module


@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_language(device: str, capfd: pytest.CaptureFixture[str]) -> None:
    module = run_language(device)
    assert "0 text 1.50 x 1099511627776\n" in capfd.readouterr().out
    with pytest.raises(drawloom.KernelFault, match="must be zero"):
        module["failing"][1, 32](np.arange(32, dtype=np.int32))


def test_launch_bounds_and_lines_are_in_the_ptx() -> None:
    source = "\n__global__ void __launch_bounds__(64, 2) bounded(int *p) {\n  p[0] = 1;\n}\n"
    text = translate_cuda(source, "sm_90", Options(line_info=True), "mine.cu").ptx
    assert ".target sm_90" in text and ".maxntid 64" in text and ".minnctapersm 2" in text
    assert ".loc\t1 3" in text and '.file\t1 "mine.cu"' in text


def test_ptx_with_lines_is_taken_by_the_vendors_assembler(tmp_path: Path, ptxas: str) -> None:
    """As a GPU's driver takes it: of a file in two strings, folder and name, it knows nothing."""
    options = Options(line_info=True, program=True)
    path = tmp_path / "printf.ptx"
    path.write_text(translate_cuda(SOURCE.parent / "programs" / "device_printf.cu", "sm_80", options).ptx)
    done = subprocess.run([ptxas, "-arch=sm_80", str(path), "-o", os.devnull], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_precompiled_headers_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    path = SOURCE.parent / "programs" / "structures.cu"
    options = Options(line_info=True, program=True, defines=("N=64",))
    first, again = translate_cuda(path, "sm_80", options), translate_cuda(path, "sm_80", options)
    monkeypatch.setenv("DRAWLOOM_CACHE", "off")
    assert first == again == translate_cuda(path, "sm_80", options)


def test_kernels_of_a_program_that_counts_on_nvccs_headers_are_compiled() -> None:
    """Host code is parsed where its headers are found, and has those that nvcc gives unasked, here <stdlib.h>."""
    whole = "#include <cstdio>\n__global__ void k() {}\nint main() { k<<<1, 1>>>(); exit(EXIT_FAILURE); }\n"
    assert [kernel.name for kernel in compile_cuda(whole).kernels] == ["_Z1kv"]


def test_macros_that_headers_may_ask_for_have_them_read_anew() -> None:
    assert asks_of_headers(["-D", "N=64", "-D", "NDEBUG"]) and asks_of_headers(["-D", "_GNU_SOURCE=1"])
    assert not asks_of_headers(["-S", "-D", "N=64", "-I", "_folder"])


STANDARDS = {
    "c++11": "template <class T> using Twice = T[2]; __global__ void k(int *p) { Twice<int> t = {1, 2}; p[0] = t[1]; }",
    "c++14": "__global__ void k(int *p) { auto f = [](auto x) { return x + 0b10; }; p[0] = f(1'0); }",
    "c++20": "#include <compare>\n"
    "template <class T> concept Small = sizeof(T) < 5; template <Small T> __device__ T f(T x) { return x; }\n"
    "struct P { int a, b; auto operator<=>(const P &) const = default; }; consteval int two() { return 2; }\n"
    "__global__ void k(int *p) { P x{.a = 1, .b = two()}; p[0] = f(p[1]) + (x == x); }",
}


@pytest.mark.parametrize("standard", STANDARDS)
def test_standards(standard: str) -> None:
    assert compile_cuda("\n" + STANDARDS[standard], standard=standard).kernels[0].name == "_Z1kPi"


def test_products_and_sums_of_a_program_are_fused_those_of_our_headers_are_not() -> None:
    own = "\n__global__ void k(float *x, float y, float z) { x[0] = x[0] * y + z; }\n"
    assert "fma.rn.f32" in str(compile_cuda(own)) and "mul" not in str(compile_cuda(own, "sm_80")).replace(
        "mul.wide", ""
    )
    apart = own.replace("{ x", "{\n#pragma clang fp contract(off)\n x")
    assert "mul.rn.f32" in str(compile_cuda(apart)) and "fma" not in str(compile_cuda(apart))
    assert "fma" not in str(
        compile_cuda("\n__global__ void k(float *x) { x[0] = __fadd_rn(__fmul_rn(x[0], x[1]), x[2]); }\n")
    )


def test_products_and_sums_are_kept_apart_where_the_command_line_says_so() -> None:
    source = "\n__global__ void k(float *x, float y, float z) { x[0] = x[0] * y + z; }\n"
    options = Options(extra=device_arithmetic(read_command_line(["-fmad=false"])))
    made = translate_cuda(source, "sm_80", options).ptx
    assert "mul.rn.f32" in made and "fma" not in made


def test_a_header_beside_the_source_comes_before_one_of_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rodinia's dwt2d has a `common.h` of its own in the folder that `nvcc sub/common.cu` is called in."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "common.h").write_text("#error the header of the current folder\n")
    (tmp_path / "sub" / "common.h").write_text("#define VALUE 7\n")
    kernel = '#include "common.h"\n__kernel void k(__global int *x) { x[0] = VALUE; }\n'
    (tmp_path / "sub" / "a.cl").write_text(kernel)
    kernel = kernel.replace("__kernel", "__global__").replace("__global int", "int")
    (tmp_path / "sub" / "a.cu").write_text(kernel)
    monkeypatch.chdir(tmp_path)
    assert len(compile_cuda(Path("sub/a.cu")).kernels) == 1
    assert len(drawloom.compile_opencl(Path("sub/a.cl"), includes=["."]).kernels) == 1


def test_options() -> None:
    source = (
        "#ifdef TWO\n__global__ void two(float *x) { x[0] = sinf(x[1]) / x[2] + sqrtf(x[3]) + isnan(x[4]); }\n#endif\n"
    )
    assert not compile_cuda(source).kernels
    exact, fast = (compile_cuda(source, defines=["TWO"], fast_math=flag) for flag in (False, True))
    assert "div.rn.f32" in str(exact) and "sin.approx" not in str(exact)
    assert "sin.approx.f32" in str(fast) or "sin.approx.ftz.f32" in str(fast)
    assert re.search(r"div\.(approx|full)(\.ftz)?\.f32", str(fast))
    assert re.search(r"add(\.rn)?\.ftz\.f32", str(fast))
    assert "setp.nan" in str(fast) and "setp.nan" in str(exact)
    with pytest.raises(drawloom.UnsupportedError, match=r"c\+\+03.*c\+\+11, c\+\+14"):
        compile_cuda(source, standard="c++03")
    with pytest.raises(drawloom.UnsupportedError, match="'compute_80': expected sm_50 or later"):
        compile_cuda(source, "compute_80")
    with pytest.raises(drawloom.UnsupportedError, match="'sm_12': expected sm_50 or later"):
        compile_cuda(source, "sm_12")
    with pytest.raises(drawloom.UnsupportedError, match="'sm_999': this clang does not know it"):
        compile_cuda(source, "sm_999")


AGGREGATED = """
extern "C" __global__ void keep_odd(int *out, int *count, const int *in) {
  int x = in[blockIdx.x * blockDim.x + threadIdx.x];
  if (x % 2 == 0) return;
  unsigned mask = __activemask();
  int leader = __ffs(mask) - 1, lane = threadIdx.x % 32, first;
  if (lane == leader) first = atomicAdd(count, __popc(mask));
  first = __shfl_sync(mask, first, leader);
  out[first + __popc(mask & (1u << lane) - 1)] = x;
}
"""


@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_a_variable_that_only_the_leader_sets_may_be_shuffled(device: str) -> None:
    """Clang took what the other lanes have not set, an argument, for undefined behaviour, and had all lanes add."""
    numbers = np.arange(256, dtype=np.int32)
    out, count = np.zeros(256, np.int32), np.zeros(1, np.int32)
    drawloom.load(compile_cuda(AGGREGATED), device=device)["keep_odd"][2, 128](out, count, numbers)
    assert count[0] == 128 and sorted(out[:128].tolist()) == list(range(1, 256, 2))


# One mistake a line, with what clang says of it; it reports those of the second kind when it has read the whole source.
MISTAKES = {
    "__global__ void a(int *p) { p[0] = missing; }": "undeclared identifier 'missing'",
    "__global__ int b() { return 1; }": "kernel function type 'int ()' must have void return type",
    "__device__ int c(); int host() { return c(); }": "no matching function for call to 'c'",
    "__global__ void d(float *p) { p[0] = tex2D<float>(0ull, 0.0f, 0.0f); }": "textures are not supported",
    "__global__ void e() { surf2Dwrite(1.0f, 0ull, 0, 0); }": "surfaces are not supported",
    "texture<float, 1> f;": "texture references are not supported",
    "__device__ curandStateMRG32k3a_t g;": "other generators than XORWOW and Philox are not supported",
    "__global__ void h(int *p) { p[0] = __shfl(p[0], 1); }": "use of undeclared identifier '__shfl'",
    "__global__ void i(unsigned *p) { p[0] = __reduce_add_sync(~0u, p[0]); }": "identifier '__reduce_add_sync'",
}
LATE_MISTAKES = {
    "void host(); __global__ void j() { host(); }": "no matching function for call to 'host'",
    "__global__ void k() { throw 1; }": "cannot use 'throw' in __global__ function",
    "__global__ void child(); __device__ void l() { child<<<1, 1>>>(); }": "kernel launch from __device__",
}


@pytest.mark.parametrize("mistakes", [MISTAKES, LATE_MISTAKES], ids=["at once", "late"])
def test_mistakes_are_named_with_file_and_line(mistakes: dict[str, str]) -> None:
    source = "\n".join(["#include <curand_kernel.h>", *mistakes, ""])
    with pytest.raises(CompileError) as caught:
        compile_cuda(source, "sm_75", filename="mine.cu")
    error = caught.value
    assert (error.file, error.line) == ("mine.cu", 2) and error.column > 0
    told = [line for line in str(error).splitlines() if ": error: " in line]
    for number, (mistake, message) in enumerate(mistakes.items(), 2):
        assert any(line.startswith(f"mine.cu:{number}:") and message in line for line in told), (mistake, told)


def test_files_that_are_not_there_and_clangs_that_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(drawloom.DataError, match=r"cannot read 'none.cu': No such file.*expected a .cu file"):
        compile_cuda("none.cu")
    monkeypatch.setattr(clang, "ziglang", lambda: None)
    monkeypatch.setenv("PATH", "/nowhere")
    clang.clang_for.cache_clear()
    with pytest.raises(drawloom.UnsupportedError) as caught:
        compile_cuda("\n")
    assert str(caught.value) == clang.NO_CLANG and "pip install drawloom[cuda]" in clang.NO_CLANG
    monkeypatch.setenv("DRAWLOOM_CLANG", "/nowhere/clang")
    with pytest.raises(drawloom.UnsupportedError, match="DRAWLOOM_CLANG=/nowhere/clang"):
        compile_cuda("\n")
    clang.clang_for.cache_clear()


def test_files_include_what_lies_beside_them_in_any_encoding(tmp_path: Path) -> None:
    (tmp_path / "beside.h").write_text("#define THREE 3\n")
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "four.h").write_text("#define FOUR 4\n")
    file = tmp_path / "caf\u00e9.cu"
    file.write_bytes(
        b'\xef\xbb\xbf#include "beside.h" // caf\xe9\n#include <four.h>\n'
        b"__global__ void k(int *p) { *p = THREE + FOUR; }"
    )
    assert ", 7;" in str(compile_cuda(file, includes=[str(tmp_path / "there")]))
    with pytest.raises(CompileError, match=r"caf\u00e9.cu:2:10: fatal error: 'four.h' file not found"):
        compile_cuda(file)


def test_load_takes_the_path_of_a_source(tmp_path: Path) -> None:
    file = tmp_path / "three.cu"
    file.write_text('extern "C" __global__ void three(int *p) { p[threadIdx.x] = 3; }')
    array = np.zeros(4, np.int32)
    drawloom.load(file)["three"][1, 4](array)
    assert array.tolist() == [3, 3, 3, 3]


def test_names_in_sources() -> None:
    symbols = ["_Z5scalePfi", "_ZN2ns5otherIfEEvPT_", "_ZN12_GLOBAL__N_16hiddenEv", "plain", "_ZL6staticv"]
    assert [source_name(s) for s in symbols] == ["scale", "ns::other", "hidden", "plain", "static"]
    assert [symbol_of(n, symbols) for n in ("scale", "other", "ns::other", "plain", "none")] == [
        symbols[0], symbols[1], symbols[1], "plain", "none",
    ]  # fmt: skip
    with pytest.raises(drawloom.LaunchError, match=r"'k' is 2 kernels.*k\(int\*\) \(_Z1kPi\), k\(float\*\) \(_Z1kPf\)"):
        symbol_of("k", ["_Z1kPi", "_Z1kPf"])


def test_instances_of_templates_and_overloads_are_named_as_in_sources() -> None:
    """`k<3>` and `k(int*)` were no names of kernels, and `drawloom.load(...)["k"]` took symbols alone."""
    symbols = ["_Z1kILi3EEvPi", "_Z1kILi4EEvPi", "_Z1sPi", "_Z1sPKf", "_ZN12_GLOBAL__N_11tIN2ns1AIiEEEEvT_"]
    names = ["k<3>", "k<4>(int *)", "s( int* )", "s(float const *)", "t<ns::A<int> >", "k<5>"]
    assert [symbol_of(name, symbols) for name in names] == [*symbols, "k<5>"]
    text = "\ntemplate <int n> __global__ void k(int *p) { *p *= n; }\n"
    text += "template __global__ void k<3>(int *);\ntemplate __global__ void k<4>(int *);\n"
    kernels = drawloom.load(compile_cuda(text), device="cpu")
    array = np.array([7], np.int32)
    kernels["k<4>"][1, 1](array)
    assert array.tolist() == [28]
    with pytest.raises(drawloom.LaunchError, match=r"'k' is 2 kernels"):
        kernels["k"]
