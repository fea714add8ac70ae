"""Batched linear algebra against libraries: oneMKL's compact and batched functions, LIBXSMM, Eigen, and NumPy.

    python benchmarks/batch_peers.py                                # what is there of the peers
    python benchmarks/batch_peers.py --mkl /path/to/libmkl_rt.so.3  # `pip install mkl` puts it below <prefix>/lib
    python benchmarks/batch_peers.py --sizes 8 16 --types double --items 20000

`packed` is our kernel on arrays in the packed layout (`batch.pack`), which is MKL's compact format but for the number
of lanes; packing is in neither time. `ours` is the same kernel on NumPy's layout, as batched MKL, LIBXSMM, Eigen and
NumPy have it. All on one core, by processor time; the least of 10 runs after 2 warm-ups, the sides alternating. Each
run follows one of the same side, so that all find as much in the caches; arrays are written anew between them.
Results are compared with NumPy before anything is timed. A ratio is a peer's time by ours in the same layout. Eigen
(`libeigen3-dev`) and LIBXSMM (`libxsmm-dev`) are compiled by g++ with -O3 -march=native; peers that are not there are
left out.
"""

from __future__ import annotations

import argparse
import ctypes
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402

from benchmarks.batch import aligned  # noqa: E402
from benchmarks.common.timing import choose_threads, geometric_mean, machine, markdown_table  # noqa: E402

SOURCE = ROOT / "benchmarks" / "batch_kernels" / "peers.cpp"
TYPES: dict[str, Any] = {"float": np.float32, "double": np.float64}
SIZES = (4, 8, 16, 32)
REPEAT, WARM_UP = 10, 2
#: The largest matrices that are eliminated with one in each lane of a vector.
LARGEST_INTERLEAVED = 24
# mkl_types.h
ROW_MAJOR, NO_TRANSPOSE, UPPER, LOWER, NON_UNIT, UNIT, LEFT = 101, 111, 121, 122, 131, 132, 141
FORMATS = {181: 16, 182: 32, 183: 64}  # mkl_get_format_compact: bytes of a vector
Run = Callable[[], None]
Copy = Callable[[Any], Any]


class Problem(NamedTuple):
    """One kernel at one size. `arrays` go to the kernel in its order, followed by `numbers`."""

    kernel: str
    macros: dict[str, str]
    arrays: list[Any]
    numbers: list[float]
    check: Callable[[list[Any]], bool]


def make_problem(name: str, size: int, items: int, dtype: Any) -> Problem:
    """Return well-conditioned matrices; every result is compared with NumPy's residual for the first 64 items."""
    rng = np.random.default_rng(size)
    a = rng.uniform(-1, 1, (items, size, size)).astype(dtype) + (2 * size * np.eye(size)).astype(dtype)
    b = rng.uniform(-1, 1, (items, size, size)).astype(dtype)
    out, certain = np.zeros_like(a), np.zeros(items, np.uint8)
    tolerance = 64 * size * float(np.finfo(dtype).eps)

    def close(found: Any, expected: Any) -> bool:
        return bool(np.allclose(found[:64], expected[:64], rtol=0, atol=tolerance * float(np.abs(expected).max())))

    if name == "gemm":
        return Problem("gemm", {}, [a, b, out], [], lambda r: close(r[2], a[:64] @ b[:64]))
    if name == "trsv":
        vector = np.ones((items, size), dtype)

        def solves(r: list[Any]) -> bool:
            lower, upper = np.tril(a[:64], -1) + np.eye(size), np.triu(a[:64])
            return close((lower @ (upper @ r[1][:64, :, None].astype(np.float64)))[..., 0], vector[:64] * 0 + 1.0)

        return Problem("trsv", {}, [a, vector], [], solves)
    if name == "ldus":
        whole = a.copy()

        def factors(r: list[Any]) -> bool:
            f = r[0][:64].astype(np.float64)
            diagonal = np.einsum("gii->gi", f)
            lower, upper = np.tril(f, -1) + np.eye(size), np.triu(f, 1) + np.eye(size)
            return close(lower @ (diagonal[:, :, None] * upper), whole[:64])

        return Problem("ldus", {}, [a], [], factors)
    if name == "lu":
        order = np.zeros((items, size), np.int32)

        def permuted(r: list[Any]) -> bool:
            f = r[1][:64].astype(np.float64)
            product = (np.tril(f, -1) + np.eye(size)) @ np.triu(f)
            return close(product, np.take_along_axis(b[:64], r[2][:64, :, None].astype(np.int64), axis=1))

        return Problem("lu", {"EXCHANGE": "1"}, [b, out, order], [], permuted)
    if name == "cholesky":
        definite = a + a.swapaxes(1, 2)

        def squares(r: list[Any]) -> bool:
            lower = r[1][:64].astype(np.float64)
            return close(lower @ lower.swapaxes(1, 2), definite[:64])

        return Problem("cholesky", {}, [definite, out, certain], [float(np.finfo(dtype).eps)], squares)
    if name == "qr":
        limits = [1e-280, 1e280] if dtype == np.float64 else [1e-30, 1e30]
        raw = np.linalg.qr(b[:64].astype(np.float64), mode="raw")[0]
        arrays = [b, out, np.zeros((items, size), dtype), certain]
        return Problem("qr", {"RAW": "1"}, arrays, limits, lambda r: close(r[1], raw))
    assert name == "inverse"
    return Problem("solve", {"INVERSE": "1", "EXCHANGE": "1"}, [a, out, certain], [float(np.finfo(dtype).eps)],
                   lambda r: close(r[1][:64] @ a[:64], np.broadcast_to(np.eye(size), (64, size, size))))  # fmt: skip


NAMES = ("gemm", "trsv", "ldus", "lu", "cholesky", "qr", "inverse")


class Mkl:
    """oneMKL's functions for a type, sequential."""

    def __init__(self, path: str) -> None:
        os.environ["MKL_THREADING_LAYER"] = "SEQUENTIAL"
        self.library = ctypes.CDLL(path)
        self.format = self.library.mkl_get_format_compact()

    def lanes(self, dtype: Any) -> int:
        return FORMATS[self.format] // np.dtype(dtype).itemsize

    def compact(self, name: str, arrays: list[Any], items: int, dtype: Any) -> Run | None:
        """Return the call on packed arrays, with what MKL calls the same operation."""
        letter = "s" if dtype == np.float32 else "d"
        scalar = ctypes.c_float if dtype == np.float32 else ctypes.c_double
        size = arrays[0].shape[1]
        info, format = ctypes.c_int(), self.format

        def call(function: str, *arguments: Any) -> None:
            getattr(self.library, f"mkl_{letter}{function}_compact")(*arguments, format, items)

        pointers = [ctypes.c_void_p(array.data.ctypes.data) for array in arrays]
        if name == "gemm":
            a, b, c = pointers
            return lambda: call("gemm", ROW_MAJOR, NO_TRANSPOSE, NO_TRANSPOSE, size, size, size, scalar(1), a, size, b,
                                size, scalar(0), c, size)  # fmt: skip
        if name == "trsv":
            a, x = pointers

            def solve_twice() -> None:
                call("trsm", ROW_MAJOR, LEFT, LOWER, NO_TRANSPOSE, UNIT, size, 1, scalar(1), a, size, x, 1)
                call("trsm", ROW_MAJOR, LEFT, UPPER, NO_TRANSPOSE, NON_UNIT, size, 1, scalar(1), a, size, x, 1)

            return solve_twice
        if name == "ldus":
            return lambda: call("getrfnp", ROW_MAJOR, size, size, pointers[0], size, ctypes.byref(info))
        if name == "cholesky":
            return lambda: call("potrf", ROW_MAJOR, LOWER, size, pointers[0], size, ctypes.byref(info))
        if name == "qr":
            work = np.empty(size * size * 64 * 8, dtype)
            a, _, scales, _ = pointers
            space = ctypes.c_void_p(work.ctypes.data)
            return lambda: call("geqrf", ROW_MAJOR, size, size, a, size, scales, space, work.size, ctypes.byref(info))
        if name == "inverse":
            work = np.empty(size * size * 64 * 8, dtype)
            space = ctypes.c_void_p(work.ctypes.data)

            def invert() -> None:
                call("getrfnp", ROW_MAJOR, size, size, pointers[0], size, ctypes.byref(info))
                call("getrinp", ROW_MAJOR, size, pointers[0], size, space, work.size, ctypes.byref(info))

            return invert
        return None  # MKL has no compact elimination with pivoting

    def batched(self, name: str, arrays: list[Any], dtype: Any) -> Run | None:
        letter = "s" if dtype == np.float32 else "d"
        scalar = ctypes.c_float if dtype == np.float32 else ctypes.c_double
        items, size = arrays[0].shape[:2]
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
        if name == "gemm":
            a, b, c = pointers
            function = getattr(self.library, f"cblas_{letter}gemm_batch_strided")
            step = size * size
            return lambda: function(ROW_MAJOR, NO_TRANSPOSE, NO_TRANSPOSE, size, size, size, scalar(1), a, size, step,
                                    b, size, step, scalar(0), c, size, step, items)  # fmt: skip
        if name == "lu":
            # In place, of the transposed matrices: it is column-major.
            function = getattr(self.library, f"{letter}getrf_batch_strided")
            numbers = [ctypes.c_int(number) for number in (size, size, size, size * size, size, items)]
            n, m, lda, stride, pivot_stride, batch = map(ctypes.byref, numbers)
            info = np.zeros(items, np.int32)
            return lambda: function(n, m, pointers[0], lda, stride, pointers[2], pivot_stride, batch,
                                    ctypes.c_void_p(info.ctypes.data))  # fmt: skip
        return None


def compile_peers(folder: Path, size: int, real: str, with_xsmm: bool) -> ctypes.CDLL | None:
    library = folder / f"peers_{size}_{real}.so"
    command = ["g++", "-O3", "-march=native", "-shared", "-fPIC", "-I/usr/include/eigen3", f"-DSIZE={size}",
               f"-DREAL={real}", str(SOURCE), "-o", str(library)]  # fmt: skip
    if with_xsmm:
        command += ["-DWITH_XSMM", "-lxsmm", "-lxsmmnoblas", "-ldl", "-lpthread", "-lm"]
    if subprocess.run(command, capture_output=True).returncode:
        return None
    return ctypes.CDLL(str(library))


def aligned_copy(array: Any) -> Any:
    """Return a copy that begins at a cache line."""
    return aligned({"array": array})["array"]


def numpy_call(name: str, arrays: list[Any]) -> Run | None:
    if name == "gemm":
        return lambda: np.matmul(arrays[0], arrays[1], out=arrays[2])
    if name == "cholesky":
        return lambda: np.copyto(arrays[1], np.linalg.cholesky(arrays[0]))
    if name == "qr":
        return lambda: np.copyto(arrays[1], np.linalg.qr(arrays[0], mode="raw")[0])
    if name == "inverse":
        return lambda: np.copyto(arrays[1], np.linalg.inv(arrays[0]))
    return None


def make_kernels(text: str, size: int, lanes: int, macros: dict[str, str]) -> tuple[Any, Any]:
    """Return a kernel for plain arrays, and one for packed arrays.

    With the macro EXCHANGE the layout of plain arrays is that of `batch.linalg`, otherwise the one that is estimated.
    """
    from drawloom import batch

    if "EXCHANGE" not in macros:
        kernel = batch.kernel(text, wg_size=size, defines=macros)
        return kernel, kernel
    packing = batch.kernel(text, wg_size=size, defines=macros, order="interleaved", pack=lanes)
    if size <= LARGEST_INTERLEAVED:
        return packing, packing
    fixed = {macro: value for macro, value in macros.items() if macro != "EXCHANGE"}
    return batch.kernel(text, wg_size=size, defines=fixed, order="columns", pack=1), packing


def measure(
    name: str, size: int, real: str, items: int, mkl: Mkl | None, peers: ctypes.CDLL | None, copy: Copy
) -> dict[str, float]:
    """Return the seconds of every side, on copies of the arrays that `copy` makes."""
    from drawloom import batch
    from drawloom.batch.kernels import read_text

    dtype = TYPES[real]
    problem = make_problem(name, size, items, dtype)
    macros = {"real": real, **problem.macros}
    lanes = batch.pack(problem.arrays[0][:1]).lanes
    kernel, packing = make_kernels(read_text(problem.kernel), size, lanes, macros)
    plain = [copy(array) for array in problem.arrays]
    packed = [batch.pack(array, lanes) for array in problem.arrays]
    theirs = [batch.pack(array, mkl.lanes(dtype) if mkl is not None else lanes) for array in problem.arrays]
    others = [copy(array) for array in problem.arrays]
    sides: dict[str, tuple[Run | None, Callable[[], list[Any]] | None]] = {
        "ours": (lambda: kernel(*plain, *problem.numbers, groups=items), lambda: plain),
        "packed": (
            (lambda: packing(*packed, *problem.numbers, groups=items)) if name != "lu" else None,  # rows change places
            lambda: [p.unpack() for p in packed],
        ),
        "NumPy": (numpy_call(name, others), lambda: others),
    }
    if mkl is not None:
        compact = mkl.compact(name, theirs, len(theirs[0].data) * theirs[0].lanes, dtype)
        in_place = name in ("gemm", "trsv", "ldus")
        # MKL's factorisation has D in U: only solves and products give the same arrays as ours.
        comparable = (lambda: [p.unpack() for p in theirs]) if in_place and name != "ldus" else None
        sides["MKL compact"] = (compact, comparable)
        sides["MKL batch"] = (mkl.batched(name, others, dtype), (lambda: others) if name == "gemm" else None)
    if peers is not None:
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in others]
        taken = {"gemm": 3, "lu": 3, "cholesky": 2, "inverse": 2, "trsv": 2}.get(name, 0)
        for side, prefix in (("Eigen", "eigen"), ("LIBXSMM", "xsmm")):
            function = getattr(peers, f"{prefix}_{name}", None)
            if function is not None:
                sides[side] = (lambda f=function: f(ctypes.c_long(items), *pointers[:taken]), lambda: others)


    def restore(side: str) -> None:
        """Write a side's arrays anew."""
        there: list[Any] = {"ours": plain, "packed": packed, "MKL compact": theirs}.get(side, others)
        for target, array in zip(there, problem.arrays):
            if side in ("packed", "MKL compact"):
                np.copyto(target.data, batch.pack(array, target.lanes).data)
            else:
                np.copyto(target, array)

    best = {side: math.inf for side, (run, _) in sides.items() if run is not None}
    for side, (run, result) in sides.items():
        if run is not None:
            restore(side)
            run()
            assert result is None or problem.check(result()), f"{side} gives a wrong {name} of size {size}, {real}"
    for turn in range(REPEAT + WARM_UP):
        for side, (run, _) in sides.items():
            if run is None:
                continue
            for _ in range(2):  # the second run finds in the caches what the first one left there
                restore(side)
                start = time.process_time()
                run()
                seconds = time.process_time() - start
            if turn >= WARM_UP:
                best[side] = min(best[side], seconds)
    return best


PEERS = ("MKL compact", "MKL batch", "LIBXSMM", "Eigen", "NumPy")


def ratios(best: dict[str, float]) -> dict[str, float]:
    """Return each peer's time by ours in the same layout."""
    return {
        peer: best[peer] / best["packed" if peer == "MKL compact" else "ours"] for peer in PEERS if peer in best
    }


def find_mkl(path: str | None) -> Mkl | None:
    found = path or next((str(p) for p in sorted(Path(sys.prefix, "lib").glob("libmkl_rt.so*"))), None)
    return Mkl(found) if found else None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernels", nargs="+", choices=NAMES, default=NAMES)
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES)
    parser.add_argument("--types", nargs="+", choices=tuple(TYPES), default=("double", "float"))
    parser.add_argument("--items", type=int, default=20_000)
    parser.add_argument("--mkl", metavar="PATH", help="libmkl_rt.so (default: the one of this Python)")
    parser.add_argument("--aligned", action="store_true", help="begin arrays at cache lines (default: as NumPy does)")
    options = parser.parse_args()
    copy: Copy = aligned_copy if options.aligned else np.copy
    choose_threads(1)
    mkl = find_mkl(options.mkl)
    rows, found = [], []
    with tempfile.TemporaryDirectory() as folder:
        libraries = {
            (size, real): compile_peers(Path(folder), size, real, True)
            or compile_peers(Path(folder), size, real, False)
            for size in options.sizes
            for real in options.types
        }
        for name in options.kernels:
            for real in options.types:
                for size in options.sizes:
                    best = measure(name, size, real, options.items, mkl, libraries[size, real], copy)
                    each = {side: f"{seconds / options.items * 1e9:.1f}" for side, seconds in best.items()}
                    ratio = ratios(best)
                    found.append((name, ratio))
                    rows.append([name, str(size), real, each["ours"], each.get("packed", ""),
                                 *[f"{ratio[peer]:.2f}" if peer in ratio else "" for peer in PEERS]])  # fmt: skip
                    print(*rows[-1], sep="\t", file=sys.stderr, flush=True)
    format = "no MKL" if mkl is None else f"mkl_get_format_compact() is {mkl.format}, {FORMATS[mkl.format]} bytes"
    print(f"{machine()}; one core; {options.items:,} items; {format}\n")
    print(markdown_table(("kernel", "size", "type", "ours ns", "packed ns", *PEERS), rows))
    means = []
    for name in options.kernels:
        columns = [[ratio[peer] for kernel, ratio in found if kernel == name and peer in ratio] for peer in PEERS]
        means.append([name, *[f"{geometric_mean(c):.2f}, least {min(c):.2f}" if c else "" for c in columns]])
    print()
    print(markdown_table(("kernel", *PEERS), means))
    return 0


if __name__ == "__main__":
    sys.exit(main())
