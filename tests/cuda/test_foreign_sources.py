"""Sources that nvcc takes and clang by itself does not."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from drawloom.cuda import openmp
from drawloom.cuda.clang import CompileError, find_clang
from drawloom.cuda.compiler import compile_cuda
from drawloom.cuda.launches import join_launches
from drawloom.errors import UnsupportedError
from tests.cuda.test_programs import cc, run

try:
    find_clang()
except UnsupportedError as missing:
    pytest.skip(str(missing), allow_module_level=True)

HEADER = "template <class T> void launch(T *p) { add << < dim3(1), 1 >> > (p); }\n"
SPACED = """
#include <cstdio>
#include <omp.h>
#define OPEN << <
template <class T> struct A { enum { v = 1 }; };
__global__ void add(int *p) { *p += 3; }
#include "launch.h"
int main() {
  const char *text = "add << <1>> >(";  // add << <1, 1>> >(p)
  register int n = 1 << 2 >> 2;
  int *p;
  cudaMalloc(&p, 4);
  cudaMemset(p, 0, 4);
  add OPEN A<A<A<int>> >::v, (4 >> 2)>> >(p);
  add << <n, 1>> >(p);
  launch(p);
  cudaMemcpy(&n, p, 4, cudaMemcpyDeviceToHost);
  printf("%d %s\\n", n, text);
}
"""
OLD_C = """
#include <stdio.h>
static twice(x) int x; { return 2 * x; }
main() { char *s = 0; unsigned *u = s; printf("%d\\n", twice(21) + later()); return 0; }
later() { return 0; }
"""


def test_signs_of_launches_are_joined_outside_of_literals() -> None:
    assert join_launches("k << <1, 1>> >(p);") == "k <<< 1, 1>>> (p);"
    assert join_launches("k<<<1, 1>> >(p);") == "k<<<1, 1>>> (p);"
    for text in (
        '"k << <1>> >(p)"',
        'R"x(k << <1>> >(p))x"',
        "A<B<C<int>> >(p)",
        "a << b >> (c)",
        "k<<<1, 1>>>(p)",
        "A<B<C<int>> > a; k<<<1, 1>>>(p)",
    ):
        assert join_launches(text) is None
    nested = "k << <f(A<B<C>> >()), 1>> >(p)"
    assert join_launches(nested) == "k <<< f(A<B<C>> >()), 1>>> (p)"


def test_launches_with_blanks_and_register_variables_compile(tmp_path: Path) -> None:
    (tmp_path / "spaced.cu").write_text(SPACED)
    (tmp_path / "launch.h").write_text(HEADER)
    words = [str(tmp_path / "spaced.cu"), "-lcuda", "-MMD", "-o", str(tmp_path / "spaced")]
    assert "warning: ISO C++17 does not allow 'register'" in cc(*words)
    assert run(tmp_path / "spaced") == "9 add << <1>> >(\n"
    rule = (tmp_path / "spaced.d").read_text().replace("\\\n", "").split()
    assert rule == [f"{tmp_path}/spaced:", f"{tmp_path}/spaced.cu", f"{tmp_path}/launch.h"]
    (tmp_path / "launch.h").write_text(HEADER.replace("dim3(1)", "missing"))
    with pytest.raises(CompileError, match=r"launch\.h:1:49: error: use of undeclared identifier 'missing'"):
        cc(*words)


SHADOWED = """
#include <type_traits>
#if __has_builtin(__make_signed)
template <class T> using Signed = __make_signed(T);
#else
template <class T> using Signed = std::make_signed_t<T>;
#endif
__global__ void k(Signed<unsigned> *p) { *p = -1; }
int main() { k << <1, 1>> >((int *)nullptr); }
"""


def test_launches_with_blanks_compile_beside_builtin_traits_that_the_host_library_shadows(tmp_path: Path) -> None:
    """CCCL asks for the built-in function; where clang only preprocesses, it is there, and then it is not."""
    (tmp_path / "shadowed.cu").write_text(SHADOWED)
    assert cc("-c", str(tmp_path / "shadowed.cu"), "-o", str(tmp_path / "shadowed.o")) == ""


GROUPS = """
namespace cooperative_groups {
namespace __v1 {
class thread_block;
template <unsigned int Size, typename Parent> class thread_block_tile;
}
using namespace __v1;
}
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void k(int *p) {
  cg::thread_block block = cg::this_thread_block();
  *p = cg::tiled_partition<32>(block).size() + cg::thread_group(block).size();
}
"""


def test_groups_that_cccl_declares_before_their_header_are_its_own() -> None:
    assert "k" in "".join(compile_cuda(GROUPS).functions)


OVERFLOW = """
#include <stdio.h>
#include <stdlib.h>
int main() {
  int n = 70000, *squares = (int *)malloc(n * sizeof(int));
  for (int i = 0; i < n; i++) squares[i] = (int)((unsigned)i * (unsigned)i);
  for (int i = 0; i < n; i++) {
    if (squares[i] != i * i) {
      printf("%d\\n", i);
      return 1;
    }
  }
  printf("same\\n");
}
"""


@pytest.mark.parametrize("suffix", ["cu", "c"])
def test_host_integers_that_overflow_wrap_around(suffix: str, tmp_path: Path) -> None:
    """simpleOccupancy of NVIDIA's samples squares 65536 in an int; a wider loop variable made the squares differ."""
    (tmp_path / f"squares.{suffix}").write_text(OVERFLOW)
    assert cc(str(tmp_path / f"squares.{suffix}"), "-o", str(tmp_path / "squares")) == ""
    assert run(tmp_path / "squares") == "same\n"


def test_old_c_compiles_with_warnings(tmp_path: Path) -> None:
    (tmp_path / "old.c").write_text(OLD_C)
    assert "warning: " in cc(str(tmp_path / "old.c"), "-o", str(tmp_path / "old"))
    assert run(tmp_path / "old") == "42\n"


def test_registers_are_bounded_and_told(tmp_path: Path) -> None:
    """-maxrregcount reaches the PTX and our machine code; -res-usage says what the latter takes."""
    (tmp_path / "k.cu").write_text(
        "__global__ void k(float *p) { p[0] = sin(p[1]); }\n"
        "__global__ void __launch_bounds__(64) bounded(float *p) { p[0] = 1; }\n"
    )
    made = tmp_path / "k.o"
    said = cc("-c", str(tmp_path / "k.cu"), "-maxrregcount=24", "-Xptxas=-v", "-o", str(made))
    assert "Compiling entry function '_Z1kPf' for 'sm_80'" in said
    assert made.read_bytes().count(b".maxnreg") == 1


OPENMP = """
#include <cstdio>
#include <omp.h>
__global__ void add(long *p) { *p += 1; }
static int fibonacci(int n) {
  if (n < 2) return n;
  int a, b;
#pragma omp task shared(a)
  a = fibonacci(n - 1);
  b = fibonacci(n - 2);
#pragma omp taskwait
  return a + b;
}
int main() {
  const int n = 10000;
  long plain = 0, dynamic = 0, guided = 0, down = 0, chunks = 0, expected = 0, tasks = 0, counts[4] = {};
#pragma omp parallel for reduction(+ : plain) num_threads(4)
  for (int i = 0; i < n; i++) plain += i;
#pragma omp parallel num_threads(3)
  {
#pragma omp for schedule(dynamic, 7) reduction(+ : dynamic)
    for (int i = 0; i < n; i++) dynamic += i;
#pragma omp for schedule(guided) reduction(+ : guided)
    for (unsigned long i = 0; i < (unsigned long)n; i++) guided += i;
#pragma omp for schedule(static, 5) reduction(+ : chunks) nowait
    for (int i = 0; i < n; i++) chunks += i;
#pragma omp for schedule(dynamic) reduction(+ : down)
    for (int i = n - 1; i >= 0; i -= 3) down += i;
#pragma omp for collapse(2)
    for (int i = 0; i < 10; i++)
      for (int j = 0; j < 10; j++) {
#pragma omp critical
        counts[0]++;
      }
#pragma omp single
    counts[1] += omp_get_num_threads();
#pragma omp barrier
#pragma omp atomic
    counts[2]++;
  }
#pragma omp parallel if (n < 0)
  counts[3] += omp_get_num_threads();
#pragma omp parallel
#pragma omp single
  tasks = fibonacci(10);
  for (int i = n - 1; i >= 0; i -= 3) expected += i;
  const bool right[4] = {dynamic == plain, guided == plain, chunks == plain, down == expected};
  std::printf("%d %d %d %d %d\\n", plain == 49995000, right[0], right[1], right[2], right[3]);
  std::printf("%ld %ld %ld %ld %ld\\n", counts[0], counts[1], counts[2], counts[3], tasks);
}
"""


@pytest.mark.parametrize("option", ["-Xcompiler=-fopenmp", "-fopenmp"])
def test_host_code_with_openmp_runs_with_the_systems_library(option: str, tmp_path: Path) -> None:
    try:
        openmp.find_openmp()
    except UnsupportedError as missing:
        pytest.skip(str(missing))
    suffix = "cu" if option == "-fopenmp" else "cpp"
    source = tmp_path / f"threads.{suffix}"
    source.write_text(OPENMP if suffix == "cu" else OPENMP.replace("__global__ void add(long *p) { *p += 1; }", ""))
    assert cc(str(source), option, "-o", str(tmp_path / "threads")) == ""
    assert run(tmp_path / "threads") == "1 1 1 1 1\n100 3 3 1 55\n"


def test_openmp_without_a_library_is_refused_before_anything_is_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openmp, "find_library", lambda name: None)
    monkeypatch.setattr(subprocess, "run", lambda *words, **options: pytest.fail("something was compiled"))
    (tmp_path / "x.cpp").write_text("int main() {}\n")
    with pytest.raises(UnsupportedError, match="neither LLVM's libomp nor GCC's libgomp is installed"):
        cc(str(tmp_path / "x.cpp"), "-fopenmp")
