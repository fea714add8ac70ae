"""C with intrinsics: bit for bit what the oracles give, on the CPU where it has the instructions, else on the model.

`python -m tools.fuzz_batch --backend avx2` draws more kernels, and takes every layout with `--kernels`.
"""

import ctypes
import itertools
import mmap
import random
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from drawloom import batch
from drawloom.batch.backends.layout import ORDERS
from drawloom.batch.backends.simd.compiler import OPTIONS, find_c_compiler, load_c
from drawloom.batch.backends.simd.emit import emit_file
from drawloom.batch.backends.simd.isa import AVX2, AVX512, F32, F64, I32, I64, ISAS, Carrier, Isa
from drawloom.batch.backends.simd.native import SimdKernel, load_kernels
from drawloom.batch.backends.simd.shuffles import Pick, arrange
from drawloom.batch.frontend.syntax import Kernel
from drawloom.batch.kernels import READY, parse_ready, read_text
from drawloom.cpu.vector.machine import host
from drawloom.cuda.clang import find_clang, ziglang
from drawloom.errors import DataError
from tests.batch.cases import Arguments, check_result, copied, flat, make_arguments, same
from tools.fuzz_batch import check

pytest.importorskip("pycparser")
if not host().is_x86:
    pytest.skip("the C compiler is for another kind of CPU", allow_module_level=True)

MODEL = Path(__file__).parent / "model"
#: The model is for any CPU of this machine's kind.
PORTABLE = ("-O0", "-march=x86-64", f"-I{MODEL}")
#: Random kernels of few hundred operations, between them of every type and kind of statement.
SMALL_SEEDS = (103, 116)
POINTER = ctypes.c_void_p
TYPES = {"float": np.float32, "double": np.float64}


def is_here(isa: Isa) -> bool:
    return not isa.features - host().features


def load(kernels: list[SimdKernel], *, by_model: bool) -> None:
    """Compile kernels for the CPU or, on request and where it lacks the instructions, with the model."""
    isa = kernels[0].isa
    if not by_model and is_here(isa):
        load_kernels(kernels, "-O1")
        return
    library = load_c(emit_file([kernel.emitted for kernel in kernels], isa), isa, *PORTABLE)
    for kernel in kernels:
        kernel.bind(library)


def run(native: SimdKernel, arguments: Arguments, groups: int) -> Arguments:
    result = copied(arguments)
    passed = [
        result[parameter.name].ctypes.data if parameter.is_pointer else result[parameter.name]
        for parameter in native.kernel.parameters
    ]
    native.run(passed, 0, groups)
    return result


def interpreted(kernel: Kernel, arguments: Arguments, groups: int) -> Arguments:
    result = copied(arguments)
    batch.interpret(kernel, groups, flat(result), contract=True)
    return result


def sizes_of(name: str) -> tuple[int, ...]:
    return (4,) if name == "frcg" else (4, 8, 12)


@pytest.mark.parametrize("name", READY)
@pytest.mark.parametrize("target", ISAS)
def test_ready_kernels_equal_the_oracles(target: str, name: str) -> None:
    check_ready(ISAS[target], name, sizes_of(name), by_model=False)


@pytest.mark.parametrize("name", ["gemm", "ldus", "enum"])
@pytest.mark.parametrize("target", ISAS)
def test_ready_kernels_on_the_model_equal_the_oracles(target: str, name: str) -> None:
    check_ready(ISAS[target], name, (5,), by_model=True)


def check_ready(isa: Isa, name: str, sizes: tuple[int, ...], *, by_model: bool) -> None:
    """Run a kernel for some sizes and both types, in an order and pack that change with the size."""
    cases = []
    for number, (size, real) in enumerate(itertools.product(sizes, TYPES)):
        order, pack = [*ORDERS][(number // 2 + number) % 3], (1, 2, 4)[(number // 2) % 3]
        kernel = parse_ready(name, wg_size=size, real=real)
        native = SimdKernel(batch.lower(kernel), isa, order, pack, depth_first=pack != 2, name=f"case{number}")
        cases.append((kernel, native, size, real))
    load([native for _, native, _, _ in cases], by_model=by_model)
    for kernel, native, size, real in cases:
        groups = 2 * native.pack
        arguments = make_arguments(name, size, groups, TYPES[real], seed=size)
        expected = interpreted(kernel, arguments, groups)
        by_ir = copied(arguments)
        batch.interpret_ir(native.kernel, groups, flat(by_ir))
        assert same(expected, by_ir)
        assert same(expected, run(native, arguments, groups)), (size, real, native.layout.order, native.pack)


@pytest.mark.parametrize("backend", ["avx2", "avx512", "avx2 model", "avx512 model"])
def test_random_kernels_equal_the_oracles(backend: str) -> None:
    if not backend.endswith("model") and not is_here(ISAS[backend]):
        pytest.skip(f"this CPU lacks {backend}")
    for seed in (105, 107) if backend.endswith("model") else SMALL_SEEDS:
        assert check(seed, backend) == ""


# Memory.

WALLED = """
__kernel void walled(const real *a, real *b, const uchar *small, short *wide) {
    real t[3];
    for (int ix = 0; ix < 3; ++ix) t[ix] = a[get_global_id() * 3 + ix] + small[get_global_id()];
    if (a[get_global_id() * 3] > 0) b[get_global_id() * 3 + 1] = t[2] * t[(int)(t[0]) & 1];
    b[get_global_id() * 3 + 2] = t[1];
    wide[get_global_id()] = (short)t[0];
}
"""


def walled_array(shape: tuple[int, ...], dtype: Any, *, at_end: bool) -> np.ndarray[Any, Any]:
    """Return an array that begins or ends at a page that nothing may touch."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    page = mmap.PAGESIZE
    inner = max(1, -(-size // page)) * page
    area = mmap.mmap(-1, inner + 2 * page)
    whole = np.frombuffer(area, np.uint8)
    for place in (0, page + inner):
        protect(whole.ctypes.data + place, page)
    start = page + inner - size if at_end else page
    return whole[start : start + size].view(dtype).reshape(shape)


def protect(address: int, size: int) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    assert library.mprotect(ctypes.c_void_p(address), ctypes.c_size_t(size), 0) == 0


@pytest.mark.parametrize("by_model", [False, True])
@pytest.mark.parametrize("target", ISAS)
def test_no_byte_outside_the_arrays_is_touched(target: str, by_model: bool) -> None:
    """A touched guard page ends the process."""
    natives, cases = [], []
    for number, (order, real) in enumerate(itertools.product(ORDERS, TYPES)):
        dtype = TYPES[real]
        kernel = batch.parse_file(WALLED, wg_size=5, defines={"real": real}, file="walled.cl")["walled"]
        pack = (1, 3)[number % 2]
        natives.append(SimdKernel(batch.lower(kernel), ISAS[target], order, pack, name=f"case{number}"))
        cases.append((kernel, dtype))
    load(natives, by_model=by_model)
    rng = np.random.default_rng(0)
    for native, (kernel, dtype) in zip(natives, cases):
        for at_end, groups in itertools.product((False, True), (0, 3, 21)):
            shapes = {"a": ((groups, 15), dtype), "b": ((groups, 15), dtype), "small": ((groups, 5), np.uint8),
                      "wide": ((groups, 5), np.int16)}  # fmt: skip
            arguments = {name: (rng.random(shape) * 9 - 4).astype(type) for name, (shape, type) in shapes.items()}
            expected = interpreted(kernel, arguments, groups) if groups else copied(arguments)
            placed = {name: walled_array(shape, type, at_end=at_end) for name, (shape, type) in shapes.items()}
            for name, array in placed.items():
                array[:] = arguments[name]
            native.run([placed[p.name].ctypes.data for p in native.kernel.parameters], 0, groups)
            assert same(expected, placed)


@pytest.mark.parametrize("target", [name for name, isa in ISAS.items() if is_here(isa)])
def test_any_number_of_groups(target: str) -> None:
    for streaming in (False, True):
        options: dict[str, Any] = {"target": target, "streaming": streaming, "order": "interleaved", "pack": 4}
        gemm = batch.kernel(read_text("gemm"), wg_size=5, defines={"real": "float"}, **options)
        for groups in (0, 1, 2, 3, 5, 7, 31, 97, 1009):
            arguments = make_arguments("gemm", 5, groups, np.float32)
            before = copied(arguments)
            gemm(*arguments.values())
            if groups:
                check_result("gemm", 5, before, arguments)


def test_options_that_do_not_fit_are_refused() -> None:
    with pytest.raises(DataError, match="target is 'avx3'\n  expected avx512, avx2"):
        batch.kernel(read_text("gemm"), wg_size=4, defines={"real": "float"}, target="avx3")
    with pytest.raises(DataError, match="streaming is for vectors of the CPU"):
        batch.kernel(read_text("gemm"), wg_size=4, defines={"real": "float"}, device="cpu", streaming=True)


# Permutations.


@pytest.mark.parametrize(("isa", "carrier", "lanes", "expected"), [
    (AVX2, F32, [0, 1, 2, 3, 4, 5, 6, 7], r"^a$"),
    (AVX2, F32, [0] * 8, "_mm256_broadcastss_ps"),
    (AVX2, F32, [1, 1, 1, 1, 5, 5, 5, 5], r"_mm256_permute_ps\(a, 0x55\)"),
    (AVX2, F32, [4, 5, 6, 7, 0, 1, 2, 3], r"_mm256_permute2f128_ps\(a, a, 0x1\)"),
    (AVX2, F32, [2, 3, 0, 1, 6, 7, 4, 5], r"_mm256_permute_ps\(a, 0x4e\)"),
    (AVX2, F32, [6, 7, 4, 5, 2, 3, 0, 1], "_mm256_permute4x64_pd"),
    (AVX2, F32, [3] * 8, "_mm256_permutevar8x32_ps"),
    (AVX2, F32, [0, 9, 2, 11, 4, 13, 6, 15], r"_mm256_blend_ps\(a, b, 0xaa\)"),
    (AVX2, F32, [0, 8, 1, 9, 4, 12, 5, 13], r"_mm256_unpacklo_ps\(a, b\)"),
    (AVX2, F32, [10, 2, 11, 3, 14, 6, 15, 7], r"_mm256_unpackhi_ps\(b, a\)"),
    (AVX2, F32, [0, 1, 8, 9, 4, 5, 12, 13], r"_mm256_shuffle_ps\(a, b, 0x44\)"),
    (AVX2, F32, [4, 5, 6, 7, 8, 9, 10, 11], r"_mm256_permute2f128_ps\(a, b, 0x21\)"),
    (AVX2, F32, [0, 8, 2, 10, 4, 12, 6, 14], r"_mm256_blend_ps\(a, _mm256_permute_ps\(b"),
    (AVX2, F64, [3, 2, 1, 0], r"_mm256_permute4x64_pd\(a, 0x1b\)"),
    (AVX2, F64, [1, 0, 3, 2], "_mm256_permute_pd"),
    (AVX2, F64, [0, 4, 2, 6], "_mm256_unpacklo_pd"),
    (AVX2, F64, [1, 4, 3, 7], r"_mm256_shuffle_pd\(a, b"),
    (AVX512, F32, [0] * 16, "_mm512_broadcastss_ps"),
    (AVX512, F32, [5] * 16, "_mm512_permutexvar_ps"),
    (AVX512, F32, [lane & ~3 for lane in range(16)], r"_mm512_permute_ps\(a, 0x0\)"),
    (AVX512, F32, [(lane + 4) % 16 for lane in range(16)], r"_mm512_shuffle_f32x4\(a, a, 0x39\)"),
    (AVX512, F32, [lane + 16 * (lane % 2) for lane in range(16)], r"_mm512_mask_blend_ps\(0xaaaa, a, b\)"),
    (AVX512, F32, [lane // 2 + 16 * (lane % 2) for lane in range(16)], "_mm512_permutex2var_ps"),
    (AVX512, F64, [3, 2, 1, 0, 7, 6, 5, 4], r"_mm512_permutex_pd\(a, 0x1b\)"),
    (AVX512, F64, [0, 1, 2, 3, 8, 9, 10, 11], r"_mm512_shuffle_f64x2\(a, b, 0x44\)"),
    (AVX512, F64, [7, 6, 5, 4, 3, 2, 1, 0], "_mm512_permutexvar_pd"),
])  # fmt: skip
def test_a_pattern_takes_its_instruction(isa: Isa, carrier: Carrier, lanes: list[int], expected: str) -> None:
    count = isa.lanes(carrier)
    picks: list[Pick | None] = [Pick("ab"[lane // count], lane % count) for lane in lanes]
    found = arrange(isa, carrier, picks)
    assert re.search(expected, found), found
    assert "permute" not in found or "setr" in found or "permute" in expected


@pytest.mark.parametrize("target", ISAS)
def test_random_patterns_give_their_lanes(target: str) -> None:
    """Patterns of one to three registers: random ones, and those made of whole blocks, pairs and repetitions."""
    isa, draw = ISAS[target], random.Random(0)
    functions, expected = [], []
    for number, carrier in enumerate((F32, F64, I32, I64) * 60):
        count = isa.lanes(carrier)
        lanes = draw_pattern(draw, count, 1 + number % 3)
        picks = [None if lane < 0 else Pick("abc"[lane // count], lane % count) for lane in lanes]
        load, store = (isa.memory[op, memory_type(carrier)] for op in ("load", "store"))
        type, vector = carrier.c_type, isa.vector_type(carrier)
        registers = "".join(f"const {vector} {name} = {load.format(f'in + {n * count}')}; "
                            for n, name in enumerate("abc"))  # fmt: skip
        result = store.format("out", arrange(isa, carrier, picks))
        functions.append(f"void f{number}(const {type} *in, {type} *out) {{ {registers}{result}; }}")
        expected.append((carrier, lanes))
    text = "#include <immintrin.h>\n#include <stdint.h>\n" + "\n".join(functions)
    options = [PORTABLE] + [("-O1",)] * is_here(isa)
    for library in [load_c(text, isa, *chosen) for chosen in options]:
        for number, (carrier, lanes) in enumerate(expected):
            count = isa.lanes(carrier)
            dtype = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "i64": np.int64}[carrier.name]
            values = (np.arange(3 * count) + 100).astype(dtype)
            found = np.zeros(count, dtype)
            library[f"f{number}"](values.ctypes.data_as(POINTER), found.ctypes.data_as(POINTER))
            wanted = np.array(lanes) >= 0
            assert np.array_equal(found[wanted], values[np.array(lanes)[wanted]]), (target, carrier.name, lanes)


def draw_pattern(draw: random.Random, count: int, registers: int) -> list[int]:
    kind = draw.choice(("any", "blocks", "pairs", "repeated", "in place", "one lane"))
    total = count * registers
    if kind == "one lane":
        return [draw.randrange(total)] * count
    if kind == "in place":
        lanes = [place + count * draw.randrange(registers) for place in range(count)]
    elif kind in ("blocks", "pairs"):
        size = 2 if kind == "pairs" else max(2, count // 4)
        starts = [draw.randrange(total // size) * size for _ in range(count // size)]
        lanes = [start + lane for start in starts for lane in range(size)]
    elif kind == "repeated":
        size = min(4, count // 2)
        row = [draw.randrange(size) + count * draw.randrange(registers) for _ in range(size)]
        lanes = [place - place % size + row[place % size] for place in range(count)]
    else:
        lanes = [draw.randrange(total) for _ in range(count)]
    return [-1 if draw.random() < 0.15 else lane for lane in lanes]


def memory_type(carrier: Carrier) -> str:
    return {"f32": "float", "f64": "double"}.get(carrier.name, carrier.name)


# What the compiler makes of it.


def disassemble(kernel: SimdKernel, folder: Path) -> str:
    """Return the instructions of a kernel, compiled for its instruction set whatever this CPU has."""
    objdump = shutil.which("objdump")
    if objdump is None:
        pytest.skip("objdump is not installed")
    (folder / "kernel.c").write_text(kernel.text)
    command = [*find_c_compiler(), *OPTIONS, f"-march={kernel.isa.march}", "kernel.c", "-o", "kernel.so"]
    subprocess.run(command, cwd=folder, check=True)
    shower = [objdump, "-d", "--no-show-raw-insn", "kernel.so"]
    shown = subprocess.run(shower, cwd=folder, capture_output=True, text=True, check=True)
    return shown.stdout.split(f"<{kernel.emitted.name}>:")[1].split("\n\n")[0]


@pytest.mark.parametrize(("isa", "register"), [(AVX512, "%zmm"), (AVX2, "%ymm")])
def test_a_product_is_broadcasts_and_fused_sums(isa: Isa, register: str, tmp_path: Path) -> None:
    """8 x 8 of floats in rows: every step broadcasts an element of A, or spreads two of them over a register."""
    kernel = SimdKernel(batch.lower(parse_ready("gemm", wg_size=8, real="float")), isa, "rows", 1)
    code = disassemble(kernel, tmp_path)
    fused = re.findall(rf"vfmadd\d+ps .*{register}", code)
    assert len(fused) + len(re.findall(rf"vmulps .*{register}", code)) == 8 * 64 // (isa.bytes // 4)
    assert "gather" not in code
    if isa is AVX2:
        assert len(re.findall(r"vbroadcastss", code)) == 64
        assert "vperm" not in code
    else:
        assert "vpermps" in code
        assert "%rsp" not in code, "a spill"


@pytest.mark.parametrize("target", ISAS)
def test_a_transposition_has_no_gather(target: str, tmp_path: Path) -> None:
    """Interleaved groups load rows of memory and exchange lanes in registers."""
    kernel = SimdKernel(batch.lower(parse_ready("ldus", wg_size=4, real="double")), ISAS[target], "interleaved", 8)
    code = disassemble(kernel, tmp_path)
    assert "gather" not in code
    assert "scatter" not in code
    assert re.search("vshuff64x2|vperm2f128|vinsertf", code)


def test_streaming_stores_are_non_temporal(tmp_path: Path) -> None:
    gema = batch.lower(parse_ready("gema", wg_size=8, real="double"))
    assert "vmovntpd" in disassemble(SimdKernel(gema, AVX512, "rows", 1, streaming=True), tmp_path)
    assert "vmovnt" not in disassemble(SimdKernel(gema, AVX512, "rows", 1), tmp_path)
    in_place = batch.lower(parse_ready("ldus", wg_size=4, real="double"))
    assert "stream" not in SimdKernel(in_place, AVX512, "rows", 1, streaming=True).text


@pytest.mark.parametrize("target", ISAS)
def test_printed_c_compiles_without_warnings_and_with_openmp(target: str, tmp_path: Path) -> None:
    ldus = batch.kernel(read_text("ldus"), wg_size=4, defines={"real": "float"}, target=target, pack=2)
    (tmp_path / "ldus.c").write_text(ldus.show_c(ISAS[target]))
    command = [*find_c_compiler(), "-O1", "-Wall", "-Wextra", "-Werror", f"-march={ISAS[target].march}", "-fopenmp"]
    subprocess.run([*command, "-Wno-unused-variable", "-c", "ldus.c"], cwd=tmp_path, check=True)


@pytest.mark.skipif(ziglang() is None, reason="ziglang is not installed")
def test_the_bundled_clang_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAWLOOM_CC", " ".join(find_clang().c))
    check_ready(AVX512, "ldus", (4,), by_model=False)


def test_a_mask_keeps_its_name_where_an_access_narrows_it() -> None:
    """4 lanes fill half of a register: each access takes the mask of a chunk, and leaves the chunk as it is."""
    body = "int i = get_global_id(); if (a[i] > 0) { b[i] = a[i]; c[i] = a[i]; }"
    text = f"__kernel void k(const double *a, double *b, double *c) {{ {body} }}"
    kernel = batch.parse_file(text, wg_size=4, file="k.cl")["k"]
    code = SimdKernel(batch.lower(kernel), AVX512, "rows", 1, 4).text
    assert len(re.findall(r"mask_storeu_pd\([^;]*& \(__mmask8\)0xf\)", code)) == 2
    assert "0xf) & (__mmask8)0xf" not in code


#: A kernel whose gather takes known places, among loops from which gcc moves constants.
KNOWN_PLACES = """
ulong widened(long x) { return x; }
__kernel void k(const int *x, const uchar *y, double *w, long *z, int number, double factor) {
    double a[3];
    uint b[3];
    for (int i = 0; i < 3; ++i)
        b[i] = y[i];
    ulong r = 0;
    for (int i = 1; i < 4; ++i) {
        for (int j = 0; j < 4; ++j) {
            double c = b[1] - b[0];
            a[i % 3] = b[0];
            b[0] = (widened(x[get_global_id() * 6 + 3]) * - c) + 1;
        }
    }
    w[get_global_id() * 6 + 1] = r;
    z[get_global_id() * 6 + 1] = a[2];
}
"""


@pytest.mark.parametrize("target", ISAS)
def test_a_gather_of_known_places_keeps_its_mask(target: str) -> None:
    """For AVX2 gcc 12 built the places in the register of the mask, as soon as it knew them."""
    kernel = batch.parse_file(KNOWN_PLACES, wg_size=2)["k"]
    native = SimdKernel(batch.lower(kernel), ISAS[target], "interleaved", 1, 8, depth_first=True)
    load([native], by_model=False)
    arguments: Arguments = {
        "x": np.array([0, 4, 0, 6, 5, 0, 8, 4, 9, -1, -5, 9], np.int32),
        "y": np.array([5, 7, 4], np.uint8),
        "w": np.full(12, 8.0),
        "z": np.full(12, 8, np.int64),
        "number": 3,
        "factor": 0.5,
    }
    expected = copied(arguments)
    batch.interpret(kernel, 1, expected)
    assert same(expected, run(native, arguments, 1))
