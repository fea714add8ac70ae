"""Whole CUDA programs: built by `drawloom cc`, run on the CPU without Python, compared with what their heads say.

These are the programs that between them call most of the runtime library; `tools/cuda_programs.py` runs all.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from drawloom.cuda.clang import CompileError, find_clang, ziglang
from drawloom.cuda.programs import Request, build, finish
from drawloom.errors import DataError, Error, UnsupportedError
from tools.cuda_programs import PROGRAMS, difference
from tools.cuda_programs import build as build_program

try:
    find_clang()
except UnsupportedError as missing:
    pytest.skip(str(missing), allow_module_level=True)

EXAMPLES = PROGRAMS.parent.parent.parent / "examples"
CHOSEN = (
    "builtin_atomics checked_access device_printf device_queries error_assert error_capture error_configuration "
    "error_destroyed error_host_access error_host_use_after_free error_memory error_out_of_bounds error_race "
    "error_refused error_unsynchronised_small error_variable_overrun function_pointers graphs group_barriers "
    "samples_helpers samples_style scan_lookback small_launches standard_mathematics streams_events streams_overlap "
    "symbols warp_votes"
).split()


@pytest.mark.parametrize("name", CHOSEN)
def test_program_does_as_it_says(name: str, tmp_path: Path) -> None:
    build_program(PROGRAMS / f"{name}.cu", tmp_path / name)
    assert difference(PROGRAMS / f"{name}.cu", tmp_path / name) == ""


def test_reads_around_allocations_work_unless_checked_and_writes_are_faults(tmp_path: Path) -> None:
    """A row before or after, whose values are dropped, was a fault here and on no GPU; a write damaged the heap."""
    source, program = PROGRAMS / "around_allocations.cu", tmp_path / "around"
    build_program(source, program)
    assert difference(source, program) == ""
    environment = {**os.environ, "DRAWLOOM_DEVICE": "cpu", "DRAWLOOM_CHECK": "memory"}
    checked = subprocess.run([str(program)], capture_output=True, text=True, env=environment)
    assert checked.stdout == "read around: an illegal memory access was encountered\n"
    assert "kernel read_around(int const*, int, int, int*): access outside every allocation" in checked.stderr
    assert run(program, "many") == "many: 0 of 20000 wrong\n"


def test_more_blocks_than_cores_meet_at_the_grid_barrier_without_optimisation(tmp_path: Path) -> None:
    """At -O0 the barrier reads what it waits for through calls and local memory: the first blocks kept their cores."""
    cc(str(PROGRAMS / "grid_sync.cu"), "-O0", "-o", str(tmp_path / "grid_sync"))
    assert run(tmp_path / "grid_sync") == "grid barrier: 0 of 2048 wrong\n"


def run(program: Path, *words: str | Path) -> str:
    environment = {**os.environ, "DRAWLOOM_DEVICE": "cpu"}
    command = [str(program), *(str(word) for word in words)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=True).stdout


DOUBLE = """
#include "factor.h"
__global__ void scale(int* data) { data[threadIdx.x] *= FACTOR * kScale; }
extern "C" int scaled(int value) {
  int* data;
  cudaMalloc(&data, sizeof(int));
  cudaMemcpy(data, &value, sizeof(int), cudaMemcpyHostToDevice);
  scale<<<1, 1>>>(data);
  cudaMemcpy(&value, data, sizeof(int), cudaMemcpyDeviceToHost);
  cudaFree(data);
  return value;
}
"""
MAIN = """
#include <cuda_runtime.h>
#include <cstdio>
extern "C" int scaled(int value);
int main() {
  int count = 0;
  cudaError_t error = cudaGetDeviceCount(&count);
  std::printf("%d, %d device: %s\\n", scaled(7), count, cudaGetErrorString(error));
}
"""


PLAIN_C = """
#include <cuda_runtime.h>
int scaled(int);
int main(void) {
  int device = -1;
  return cudaGetDevice(&device) != cudaSuccess || device != 0 || scaled(7) != 42;
}
"""


def test_objects_compiled_apart_and_a_shared_library_are_linked(tmp_path: Path) -> None:
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "factor.h").write_text("constexpr int kScale = 3;\n")
    (tmp_path / "double.cu").write_text(DOUBLE)
    (tmp_path / "main.cpp").write_text(MAIN)
    words = ["-I", str(tmp_path / "include"), "-DFACTOR=2", "-O1", "-std=c++14", "-g"]
    assert cc("-c", str(tmp_path / "double.cu"), "-o", str(tmp_path / "double.o"), *words) == ""
    makefiles = ["-rdc=false", "--std=c++17", "-lcudart", "--compiler-options", "-Wall"]
    assert cc(str(tmp_path / "double.o"), str(tmp_path / "main.cpp"), "-o", str(tmp_path / "whole"), *makefiles) == ""
    assert run(tmp_path / "whole") == "42, 1 device: no error\n"
    assert cc("-shared", str(tmp_path / "double.o"), "-o", str(tmp_path / "libdouble.so")) == ""
    out = tmp_path / "parts"
    (tmp_path / "plain.c").write_text(PLAIN_C)
    assert cc(str(tmp_path / "plain.c"), f"-L{tmp_path}", "-ldouble", "-o", str(out)) == ""
    subprocess.run(
        [str(out)], env={**os.environ, "LD_LIBRARY_PATH": str(tmp_path), "DRAWLOOM_DEVICE": "cpu"}, check=True
    )


def test_the_hosts_compiler_links_objects_with_the_libraries_of_a_toolkit(tmp_path: Path) -> None:
    """Makefiles call `$(CUDA_DIR)/bin/nvcc -c` and then `gcc ... -L$(CUDA_DIR)/lib64 -lcuda -lcudart`."""
    compiler = shutil.which("gcc")
    if compiler is None:
        pytest.skip("there is no gcc")
    toolkit = tmp_path / "a toolkit"
    assert cc("-toolkit", str(toolkit)) == ""
    assert cc("-toolkit", str(toolkit)) == "", "a toolkit that is there is written again"
    assert os.access(toolkit / "bin" / "nvcc", os.X_OK)
    (tmp_path / "double.cu").write_text(DOUBLE.replace('#include "factor.h"', "constexpr int kScale = 3;"))
    (tmp_path / "plain.c").write_text(PLAIN_C)
    out = tmp_path / "program"
    cc("-c", str(tmp_path / "double.cu"), "-DFACTOR=2", "-O1", "-o", str(tmp_path / "double.o"))
    command = [compiler, "plain.c", "double.o", f"-I{toolkit}/include", f"-L{toolkit}/lib64", "-lcuda", "-lcudart"]
    subprocess.run([*command, "-lcudart", "-o", str(out)], cwd=tmp_path, check=True)
    subprocess.run([str(out)], env={**os.environ, "DRAWLOOM_DEVICE": "cpu"}, check=True)


def cc(*words: str) -> str:
    """What `drawloom cc` prints; raises what it refuses with."""
    from drawloom.cli.main import cli

    done = CliRunner().invoke(cli, ["cc", *words])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.output


def test_all_examples_are_built_by_one_command_and_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`drawloom cc examples/*.cu` ended in the linker's words about four functions `main`."""
    monkeypatch.chdir(tmp_path)
    assert cc(*(str(path) for path in sorted(EXAMPLES.glob("*.cu")))) == ""
    assert "thread 1 of block 1 is number 5" in run(tmp_path / "hello").splitlines()  # blocks run in any order
    (tmp_path / "bytes").write_bytes(b"warp and weft\0" + b"e" * 1000)
    assert run(tmp_path / "histogram", tmp_path / "bytes") == "1014 bytes; most often 0x65, 1001 times\n"
    environment = {**os.environ, "DRAWLOOM_DEVICE": "cpu"}
    image = subprocess.run([str(tmp_path / "mandelbrot")], capture_output=True, env=environment, check=True).stdout
    assert image.startswith(b"P5 1024 512 255\n") and len(image) == 16 + 1024 * 512
    assert run(tmp_path / "matmul", "64").endswith(" 0 wrong\n")


def test_sources_that_each_have_a_main_become_programs_of_their_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is linked beside them is part of each."""
    monkeypatch.chdir(tmp_path)
    for number, name in enumerate(("one", "two")):
        (tmp_path / f"{name}.cpp").write_text(
            f'#include <cstdio>\nint other();\nint main() {{ std::printf("%d\\n", {number} + other()); }}\n'
        )
    (tmp_path / "other.cpp").write_text("int other() { return 40; }\n")
    cc("-c", "other.cpp")
    assert cc("one.cpp", "other.o", "two.cpp") == ""
    assert (run(tmp_path / "one"), run(tmp_path / "two")) == ("40\n", "41\n")
    assert not (tmp_path / "a.out").exists()


def test_unknown_option_is_named_whole() -> None:
    """Click takes `-bogus` for `-b`, and says that there is no such option."""
    from drawloom.cli.main import cli

    done = CliRunner().invoke(cli, ["cc", "x.cu", "-bogus=3"])
    assert done.exit_code == 2 and "No such option '-bogus'." in done.output


OPTIONS = """
#ifdef GONE
#error -U undefines
#endif
#include <found.h>
extern "C" int wrapped(int);
int main() { return FIRST + FOUND + wrapped(0) != 6; }
extern "C" int __wrap_wrapped(int) { return 3; }
"""


@pytest.mark.parametrize("suffix", ["cu", "cpp"])
def test_options_of_the_preprocessor_and_the_linker(suffix: str, tmp_path: Path) -> None:
    (tmp_path / "found.h").write_text("#define FOUND 2\n")
    (tmp_path / "first.h").write_text("#define FIRST 1\n")
    source = tmp_path / f"options.{suffix}"
    source.write_text(OPTIONS)
    words = ["-DGONE", "-UGONE", "-isystem", str(tmp_path), "-include", str(tmp_path / "first.h")]
    assert cc(str(source), *words, "-Xlinker", "--wrap=wrapped", "-o", str(tmp_path / "out")) == ""
    assert run(tmp_path / "out") == ""


SETTINGS = [
    ("DRAWLOOM_DEVICE=cuda:x", "cpu, cuda or cuda:N"),
    ("DRAWLOOM_DEVICE=gpu", "cpu, cuda or cuda:N"),
    ("DRAWLOOM_CHECK=bogus", "memory, race or off"),
    ("DRAWLOOM_THREADS=many", "a number of threads from 0 to 4096"),
    ("DRAWLOOM_ASSEMBLER=nvcc", "drawloom or driver"),
]


def test_a_setting_that_is_none_is_told_and_leaves_no_device(tmp_path: Path) -> None:
    """`DRAWLOOM_CHECK=bogus` was taken for no check."""
    (tmp_path / "count.cpp").write_text(
        "#include <cuda_runtime.h>\n#include <cstdio>\n"
        "int main() { int count; std::puts(cudaGetErrorName(cudaGetDeviceCount(&count))); }\n"
    )
    cc(str(tmp_path / "count.cpp"), "-o", str(tmp_path / "count"))
    for setting, expected in SETTINGS:
        name, _, value = setting.partition("=")
        environment = {**os.environ, "DRAWLOOM_DEVICE": "cpu", name: value}
        done = subprocess.run([str(tmp_path / "count")], capture_output=True, text=True, env=environment)
        assert done.stdout == "cudaErrorNoDevice\n"
        assert done.stderr == f"drawloom: {setting}: expected {expected}\n"


NEEDS_A_GPU = """
#include <cstdio>
__device__ int where;
__global__ void fill(int *out) { out[threadIdx.x] = where; }
int main() {
  int *out;
  cudaMalloc(&out, 128);
  fill<<<1, 32>>>(out);
  std::puts(cudaGetErrorName(cudaGetLastError()));
  fill<<<1, 32>>>(out);
  std::puts(cudaGetErrorName(cudaMemcpyToSymbol(where, out, 4)));
}
"""


def test_a_program_for_gpus_alone_says_so_on_a_cpu(tmp_path: Path) -> None:
    source = tmp_path / "fill.cu"
    source.write_text(NEEDS_A_GPU)
    cc(str(source), "-march", "none", "-o", str(tmp_path / "fill"))
    environment = {**os.environ, "DRAWLOOM_DEVICE": "cpu"}
    done = subprocess.run([str(tmp_path / "fill")], capture_output=True, text=True, env=environment)
    assert done.stdout == "cudaErrorNoKernelImageForDevice\n" * 2
    assert done.stderr == (
        "drawloom: kernels of this program have no code for CPUs (-march=none), and it runs on no GPU\n"
    )


def test_a_program_for_gpus_alone_has_the_same_machine_code_for_them(tmp_path: Path) -> None:
    source = tmp_path / "fill.cu"
    source.write_text(NEEDS_A_GPU)
    objects = [tmp_path / "whole.o", tmp_path / "gpu.o"]
    for path, words in zip(objects, [(), ("-march=none",)]):
        cc(str(source), "-c", "-o", str(path), *words)
    cubin = drawloom_cubin(source)
    whole, gpu = [path.read_bytes() for path in objects]
    assert cubin in whole and cubin in gpu
    assert b"dl_worker" not in gpu and len(gpu) < len(whole)


def drawloom_cubin(source: Path) -> bytes:
    """The machine code that a program of the source has for GPUs."""
    from drawloom.cuda.compiler import Options, translate_cuda
    from drawloom.cuda.programs import machine_code, whole_module
    from drawloom.runtime.ahead import optimised

    translated = translate_cuda(str(source), "sm_80", Options("c++17", 3, line_info=True, program=True))
    ((_, cubin),) = machine_code(optimised(whole_module(str(source), translated)), ("sm_80",), [])
    return cubin


SLOW_IN_A_LIBRARY = """
template <class T> __global__ void late(T *out, T value) {
  for (long long begin = clock64(); clock64() - begin < 100000000;) {}
  *out = value;
}
extern "C" void start(int *out, cudaStream_t stream) { late<<<1, 1, 0, stream>>>(out, 42); }
"""
LOADS_A_LIBRARY = """
#include <cstdio>
#include <dlfcn.h>
template <class T> __global__ void late(T *out, T value) { *out = value; }
int main(int, char **words) {
  auto start = (void (*)(int *, cudaStream_t))dlsym(dlopen(words[1], RTLD_NOW | RTLD_LOCAL), "start");
  int *out;
  cudaMallocManaged(&out, sizeof *out);
  late<<<1, 1>>>(out, 7);
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  cudaDeviceSynchronize();
  start(out, stream);
  cudaError_t query = cudaStreamQuery(stream), wait = cudaStreamSynchronize(stream);
  std::printf("%s, %s, %d\\n", cudaGetErrorName(query), cudaGetErrorName(wait), *out);
}
"""


def test_a_program_waits_for_kernels_of_a_library_that_it_loads(tmp_path: Path) -> None:
    """Each had a runtime library of its own: streams of one were none of the other, and nobody waited."""
    (tmp_path / "slow.cu").write_text(SLOW_IN_A_LIBRARY)
    (tmp_path / "loads.cu").write_text(LOADS_A_LIBRARY)
    cc("-shared", str(tmp_path / "slow.cu"), "-o", str(tmp_path / "libslow.so"))
    cc(str(tmp_path / "loads.cu"), "-o", str(tmp_path / "loads"))
    assert run(tmp_path / "loads", tmp_path / "libslow.so") == "cudaErrorNotReady, cudaSuccess, 42\n"


NEWER_MATH = """
#pragma once
#include_next <math.h>
extern "C" {
double rsqrt(double) noexcept, sinpi(double) noexcept, cospi(double) noexcept;
float rsqrtf(float) noexcept, sinpif(float) noexcept, cospif(float) noexcept;
}
"""
MATH_OF_BOTH = """
#include <cstdio>
__global__ void k(double *out) { *out = rsqrt(4.0) + sinpi(0.5) + cospi(1.0) + rsqrtf(4.0f); }
int main() {
  double *out;
  cudaMallocManaged(&out, sizeof *out);
  k<<<1, 1>>>(out);
  cudaDeviceSynchronize();
  std::printf("%g %g\\n", rsqrt(4.0) + sinpi(0.5) + cospi(1.0) + rsqrtf(4.0f), *out);
}
"""


def test_a_newer_c_library_declares_functions_of_ours(tmp_path: Path) -> None:
    """glibc has C23's `sinpi` and `cospi` since 2.41 and `rsqrt` since 2.42, as zig's headers have them, too."""
    (tmp_path / "math.h").write_text(NEWER_MATH)
    (tmp_path / "both.cu").write_text(MATH_OF_BOTH)
    reread = "-D_PRELUDE_IS_READ_AGAIN"
    cc(str(tmp_path / "both.cu"), "-I", str(tmp_path), reread, "-o", str(tmp_path / "both"))
    assert run(tmp_path / "both") == "1 1\n"


def test_ziglang_alone_has_the_headers_that_a_program_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if ziglang() is None:
        pytest.skip("ziglang is not installed")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("DRAWLOOM_CLANG", raising=False)
    out = tmp_path / "style.o"
    assert cc("-c", str(PROGRAMS / "samples_style.cu"), "-o", str(out)) == ""
    assert out.read_bytes().startswith(b"\x7fELF")


def test_error_of_either_side_names_file_and_line(tmp_path: Path) -> None:
    source = tmp_path / "wrong.cu"
    source.write_text("__global__ void k(int* p) {\n  *p = undefined;\n}\nint main() {}\n")
    with pytest.raises(CompileError) as refusal:
        build(Request((str(source),), str(tmp_path / "out")))
    assert (refusal.value.file, refusal.value.line) == (str(source), 2)
    source.write_text("__global__ void k() {}\nint main() { return missing(); }\n")
    with pytest.raises(CompileError) as refusal:
        build(Request((str(source),), str(tmp_path / "out")))
    assert (refusal.value.file, refusal.value.line) == (str(source), 2)
    assert not (tmp_path / "out").exists()


def test_undefined_function_is_an_error_of_the_link(tmp_path: Path) -> None:
    source = tmp_path / "lacks.cpp"
    source.write_text("int elsewhere();\nint main() { return elsewhere(); }\n")
    with pytest.raises(CompileError, match="elsewhere"):
        build(Request((str(source),), str(tmp_path / "out")))
    assert not (tmp_path / "out").exists()


REFUSED = [
    (("x.cu", "-dlink"), "-dlink is not supported: device code is not linked over files"),
    (("x.cu", "--default-stream", "per-thread"), "-default-stream is not supported: cudaStreamPerThread"),
    (("x.cu", "-lcublas"), "-lcublas: the vendor's libraries are not supported"),
    (("managed.cu",), "__managed__: variables of both sides are not supported"),
    (("nowhere.cu",), "no such file"),
    (("x.txt",), "no source or object file"),
    (("x.cu", "-march=pentium"), "expected x86-64-v2, x86-64-v3, x86-64-v4, native, none"),
    (("x.cu", "-march=none", "-checked"), "-checked is code for CPUs, of which -march=none makes none"),
    (("x.cu", "-std=c++03"), "is not a C\\+\\+ standard"),
    (("extern.cu",), "variable 'elsewhere' is defined in another file"),
    (("function.cu",), "function 'elsewhere' is defined in another file"),
    (("constants.cu",), "PTX of constants.cu:.*80000 bytes in .const space"),
    (("tensor.cu",), "tensor cores, nvcuda::wmma, are not supported"),
    (("ranges.cu",), "'nvtx3/nvToolsExt.h' file not found \\(the profiler's ranges"),
    (("nested.cu",), "launches from kernels, dynamic parallelism, are not supported"),
    (("foreign.cu",), "handles of other processes' memory are not supported"),
    (("references.cu",), "texture references are not supported"),
    (("graphs.cu",), "graphs are not supported"),
    (("driver.cu",), "driver.cu:2:14: error: call to 'cuInit' .* the driver's interface"),
    (("x.cu", "x.cu", "-c", "-o", "y.o"), "-o takes one input file"),
    (("x.cu", "-arch=sm_999"), "^target 'sm_999': this clang does not know it"),
    (("x.cu", "-arch=sm_80,bogus"), "^target 'bogus': expected sm_50 or later"),
    (("x.cu", "main.c", "-o", "both"), "x.cu and main.c each define 'main', and a program has one"),
    (("x.cu", "main.c", "other.c"), "x.cu and main.c each define 'main', and a program has one"),
    (("x.cu", "folder/x.cu"), "two of these have one name"),
]


@pytest.mark.parametrize("words, message", REFUSED, ids=[" ".join(words) for words, _ in REFUSED])
def test_what_is_not_supported_is_refused_by_name(
    words: tuple[str, ...], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.cu").write_text("__global__ void k() {}\nint main() {}\n")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "x.cu").write_text("int main() {}\n")
    (tmp_path / "main.c").write_text("int main(void) { return 0; }\n")
    (tmp_path / "other.c").write_text("int other(void) { return 0; }\n")
    (tmp_path / "x.txt").write_text("no program\n")
    (tmp_path / "extern.cu").write_text(
        "extern __device__ int elsewhere;\n__global__ void k(int* p) { *p = elsewhere; }\nint main() {}\n"
    )
    (tmp_path / "managed.cu").write_text("__managed__ int both;\nint main() { return both; }\n")
    (tmp_path / "function.cu").write_text(
        "__device__ int elsewhere(int);\n__global__ void k(int* p) { *p = elsewhere(1); }\nint main() {}\n"
    )
    (tmp_path / "constants.cu").write_text("__constant__ int c[20000];\nint main() { cudaMemcpyToSymbol(c, c, 4); }\n")
    (tmp_path / "tensor.cu").write_text("#include <mma.h>\nint main() {}\n")
    (tmp_path / "ranges.cu").write_text("#include <nvtx3/nvToolsExt.h>\nint main() {}\n")
    (tmp_path / "nested.cu").write_text("__global__ void c() {}\n__global__ void k() { c<<<1, 1>>>(); }\n")
    (tmp_path / "foreign.cu").write_text("int main() { cudaIpcMemHandle_t handle; }\n")
    (tmp_path / "references.cu").write_text("texture<float, 2, cudaReadModeElementType> t;\n")
    (tmp_path / "graphs.cu").write_text("int main() { cudaGraphNodeParams p; }\n")
    (tmp_path / "driver.cu").write_text("#include <cuda.h>\nint main() { cuInit(0); }\n")
    with pytest.raises(Error, match=message):
        cc(*words)
    assert not (tmp_path / "a.out").exists()


def test_file_that_cannot_be_written_is_one_error(tmp_path: Path) -> None:
    source = tmp_path / "fine.c"
    source.write_text("int main(void) { return 0; }\n")
    with pytest.raises(DataError, match="cannot write"):
        build(Request((str(source),), str(tmp_path / "no folder" / "out")))


def test_what_is_no_plain_file_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    (tmp_path / "made").write_bytes(b"whole")
    finish(tmp_path / "made", str(pipe))
    assert os.read(reader, 64) == b"whole" and pipe.is_fifo()
    os.close(reader)


def test_atomics_on_generic_addresses_of_shared_memory_become_plain_updates(tmp_path: Path) -> None:
    """`atomicAdd` is inline PTX on a generic address; the CPU's locked additions were what a histogram spent its time
    on. Kernels are optimised before they become the CPU's code, and memory spaces inferred."""
    source = tmp_path / "count.cu"
    source.write_text(
        "__global__ void k(int *out, const int *in) {\n  __shared__ int bins[4];\n"
        "  bins[threadIdx.x & 3] = 0;\n  __syncthreads();\n  atomicAdd(&bins[in[threadIdx.x] & 3], 1);\n"
        "  __syncthreads();\n  out[threadIdx.x] = bins[threadIdx.x & 3];\n}\n"
    )
    cc("-c", str(source), "-o", str(tmp_path / "count.o"))
    if shutil.which("objdump") is None:
        pytest.skip("objdump is not installed")
    shown = subprocess.run(["objdump", "-d", str(tmp_path / "count.o")], capture_output=True, text=True, check=True)
    assert "ret" in shown.stdout and "lock" not in shown.stdout
