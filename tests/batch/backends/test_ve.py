"""C for SX-Aurora: bit for bit what the oracles give, on the model of its intrinsics, and taken by clang for ve-linux.

`python -m tools.fuzz_batch --backend "ve model"` draws more kernels, and takes every layout with `--kernels`.
"""

import itertools
import os
import random
import re
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from drawloom import batch
from drawloom.batch.backends.layout import ORDERS
from drawloom.batch.backends.simd.compiler import find_c_compiler
from drawloom.batch.backends.ve.kernel import CLANG_OPTIONS, VeKernel, choose_layout, emit_file, make_kernels
from drawloom.batch.backends.ve.moves import Move, Pick, plan_moves
from drawloom.batch.backends.ve.registers import RegisterFile
from drawloom.batch.kernels import READY, parse_ready, read_text
from drawloom.cpu.vector.machine import host
from drawloom.cuda.clang import ziglang
from drawloom.errors import UnsupportedError
from tests.batch.backends.ve_model import MODEL, ModelKernel, load_on_model
from tests.batch.cases import Arguments, copied, flat, make_arguments, same
from tools.check_ve_model import check_model
from tools.fuzz_batch import check

pytest.importorskip("pycparser")
if not host().is_x86:
    pytest.skip("the C compiler is for another kind of CPU", allow_module_level=True)

TYPES = {"float": np.float32, "double": np.float64}
#: Random kernels of few hundred operations, between them of every type and kind of statement.
SMALL_SEEDS = (103, 105, 116, 7)
PACKS = (1, 2, 4)


def run(kernel: ModelKernel, arguments: Arguments, groups: int) -> Arguments:
    result = copied(arguments)
    passed = [
        result[parameter.name].ctypes.data if parameter.is_pointer else result[parameter.name]
        for parameter in kernel.kernel.parameters
    ]
    kernel.run(passed, 0, groups)
    return result


def lowered(text: str, wg_size: int, **defines: str) -> tuple[Any, Any]:
    kernel = batch.parse_file(text, wg_size=wg_size, defines=defines, file="k.cl")["k"]
    return kernel, batch.lower(kernel)


@pytest.mark.parametrize("name", READY)
def test_ready_kernels_equal_the_oracles(name: str) -> None:
    """Sizes, types and packs, in an order that changes; every second kernel of floats has them packed."""
    cases = []
    sizes = (4,) if name in ("frcg", "enum") else (4, 6, 8)
    for number, (size, real, pack) in enumerate(itertools.product(sizes, TYPES, PACKS)):
        kernel = parse_ready(name, wg_size=size, real=real)
        order = [*ORDERS][(number + number // 3) % 3]
        packed = real == "float" and pack != 2
        ir = batch.lower(kernel)
        native = ModelKernel(ir, order, pack, packed=packed, depth_first=pack != 4, name=f"case{number}")
        cases.append((kernel, native, size, real))
    load_on_model([native for _, native, _, _ in cases])
    for kernel, native, size, real in cases:
        groups = 2 * native.pack
        arguments = make_arguments(name, size, groups, TYPES[real], seed=size)
        expected = copied(arguments)
        batch.interpret(kernel, groups, flat(expected), contract=True)
        found = run(native, arguments, groups)
        assert same(expected, found), (size, real, native.layout.order, native.pack, native.packed)


def test_random_kernels_equal_the_oracles() -> None:
    for seed in SMALL_SEEDS:
        assert check(seed, "ve model") == ""


# Registers.


def test_values_that_leave_their_registers_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """With hardly any registers, every value goes through memory between two uses, masks too.

    In seed 103 a mask is permuted through a piece of memory that masks which leave meanwhile must not take.
    """
    surplus = RegisterFile.surplus

    def tight(self: RegisterFile, of_masks: bool, more: int, pinned: set[int]) -> Any:
        return surplus(self, of_masks, more + (4 if of_masks else 36), pinned)

    monkeypatch.setattr(RegisterFile, "surplus", tight)
    for seed in SMALL_SEEDS[:2]:
        assert check(seed, "ve model") == ""


WALLED = """
__kernel void k(const real *a, real *b, const uchar *small, short *wide) {
    real t[3];
    for (int ix = 0; ix < 3; ++ix) t[ix] = a[get_global_id() * 3 + ix] + small[get_global_id()];
    if (a[get_global_id() * 3] > 0) b[get_global_id() * 3 + 1] = t[2] * t[(int)(t[0]) & 1];
    b[get_global_id() * 3 + 2] = t[1];
    wide[get_global_id()] = (short)t[0];
}
"""


@pytest.mark.parametrize("packed", [False, True])
def test_no_byte_outside_the_arrays_is_touched(packed: bool) -> None:
    """A touched guard page ends the process."""
    from tests.batch.backends.test_simd import walled_array

    rng = np.random.default_rng(0)
    cases = []
    for number, (order, real) in enumerate(itertools.product(ORDERS, TYPES)):
        kernel, ir = lowered(WALLED, 5, real=real)
        cases.append((kernel, ModelKernel(ir, order, (1, 3)[number % 2], packed=packed, name=f"case{number}"), real))
    load_on_model([native for _, native, _ in cases])
    for kernel, native, real in cases:
        dtype = TYPES[real]
        for at_end, groups in itertools.product((False, True), (0, 3, 21)):
            shapes = {"a": ((groups, 15), dtype), "b": ((groups, 15), dtype), "small": ((groups, 5), np.uint8),
                      "wide": ((groups, 5), np.int16)}  # fmt: skip
            arguments = {name: (rng.random(shape) * 9 - 4).astype(type) for name, (shape, type) in shapes.items()}
            expected = copied(arguments)
            if groups:
                batch.interpret(kernel, groups, flat(expected), contract=True)
            placed = {name: walled_array(shape, type, at_end=at_end) for name, (shape, type) in shapes.items()}
            for name, array in placed.items():
                array[:] = arguments[name]
            native.run([placed[p.name].ctypes.data for p in native.kernel.parameters], 0, groups)
            assert same(expected, placed)


# Moves.


def test_runs_of_neighbours_are_moves_from_long_to_short() -> None:
    picks: list[Pick | None] = [Pick("a", lane) for lane in (5, 6, 7, 0, 1, 2)]
    assert plan_moves(picks) == [Move("a", 253, 6), Move("a", 5, 3)]


def test_a_row_in_every_row_doubles() -> None:
    picks: list[Pick | None] = [Pick("a", 16 + lane % 8) for lane in range(64)]
    assert plan_moves(picks) == [Move("a", 216, 64), Move(None, 8, 56), Move(None, 16, 48), Move(None, 32, 32)]


def test_what_takes_many_moves_has_no_plan() -> None:
    assert plan_moves([Pick("a", lane * 7 % 32) for lane in range(32)]) is None


def test_random_plans_give_their_lanes() -> None:
    draw = random.Random(0)
    planned = 0
    for _ in range(2000):
        picks = draw_picks(draw, draw.choice((6, 16, 60, 256)))
        plan = plan_moves(picks)
        if plan is None:
            continue
        planned += 1
        result: list[Pick | None] = [None] * 256
        for move in plan:
            source = result if move.register is None else [Pick(move.register, lane) for lane in range(256)]
            moved = [source[(lane + move.displacement) % 256] for lane in range(move.length)]
            result = [*moved, *result[move.length :]]
        assert all(pick is None or pick == found for pick, found in zip(picks, result)), picks
    assert planned > 1000


def draw_picks(draw: random.Random, count: int) -> list[Pick | None]:
    kind = draw.choice(("rows", "pieces", "any"))
    if kind == "rows":
        size = draw.choice((2, 3, 4, 6))
        start = draw.randrange(count - size + 1)
        lanes = [start + lane % size for lane in range(count)]
    elif kind == "pieces":
        size = count // 2
        starts = [draw.randrange(count - size + 1) for _ in range(2)]
        lanes = [start + lane for start in starts for lane in range(size)]
    else:
        lanes = [draw.randrange(count) for _ in range(count)]
    register = "ab"[draw.randrange(2)]
    return [None if draw.random() < 0.05 else Pick(register, lane) for lane in lanes]


# The printed C.


def test_places_with_a_distance_are_strided() -> None:
    """Column order: element 0 of every item, 24 bytes apart, is one load."""
    _, ir = lowered("__kernel void k(const double *a, double *b) { double t[3]; int i = get_global_id() * 3; "
                    "for (int j = 0; j < 3; ++j) t[j] = a[i + j]; b[get_global_id()] = t[0] + t[2]; }", 16)  # fmt: skip
    text = VeKernel(ir, "columns", 1, 16).text
    assert len(re.findall(r"_vel_vld_vssl\(24, ", text)) == 2
    assert "_vel_vgt" not in text


def test_a_select_is_a_masked_operation_that_keeps_the_other_lanes() -> None:
    body = "double t = a[get_global_id()]; if (t > 0) t = t * t; b[get_global_id()] = t;"
    _, ir = lowered(f"__kernel void k(const double *a, double *b) {{ {body} }}", 16)
    text = VeKernel(ir, "rows", 1).text
    assert re.search(r"_vel_vfmuld_vvvmvl\((\w+), \1, \w+, \1, 16\)", text)
    assert "vmrg" not in text


def test_floats_are_packed_where_they_fill_more_than_a_register() -> None:
    single, double = (batch.lower(parse_ready("gemm", wg_size=8, real=real)) for real in TYPES)
    text = VeKernel(single, "columns", 8).text
    assert "_vel_pvfmad_vvvvl" in text
    assert "_vel_vfmads" not in text
    assert not VeKernel(single, "columns", 4).packed
    assert not VeKernel(double, "columns", 8).packed


def test_what_packed_instructions_lack_is_split_in_two() -> None:
    _, ir = lowered("__kernel void k(float *a) { a[get_global_id()] = sqrt(a[get_global_id()]) / 3; }", 32)
    text = VeKernel(ir, "rows", 1, packed=True).text
    assert len(re.findall("_vel_vfsqrts_vvl", text)) == 2
    assert len(re.findall("_vel_vfdivs_vvvl", text)) == 2
    assert "VE_VSHUFFLE_YUZU" in text


@pytest.mark.parametrize("real", TYPES)
def test_the_pack_fills_at_most_two_registers(real: str) -> None:
    """A matrix of 8 x 8 has 64 lanes; two registers have 512, twice as many if floats are packed."""
    choice = choose_layout(batch.lower(parse_ready("gemm", wg_size=8, real=real)))
    assert choice.pack == {"double": 8, "float": 16}[real]
    assert choose_layout(batch.lower(parse_ready("gemm", wg_size=32, real=real))).pack == 1


def test_vectors_wider_than_registers_are_refused() -> None:
    _, ir = lowered("__kernel void k(double *a) { a[get_global_id()] *= 2; }", 4)
    with pytest.raises(UnsupportedError, match="ve: vectors of 512 lanes are not supported\n  expected up to 256"):
        VeKernel(ir, "rows", 1, 512)


def test_a_kernel_for_another_machine_does_not_run() -> None:
    gemm = batch.kernel(read_text("gemm"), wg_size=4, defines={"real": "float"}, target="ve")
    assert "_vel_" in gemm.show_ve()
    arrays = make_arguments("gemm", 4, 3, np.float32)
    before = copied(arrays)
    with pytest.raises(UnsupportedError, match="kernels for SX-Aurora do not run here"):
        gemm(*arrays.values())
    assert same(before, arrays)


def test_the_printed_c_has_no_warnings_on_the_model(tmp_path: Path) -> None:
    """pade divides, frcg loops at run time, ldus permutes."""
    functions = [
        VeKernel(batch.lower(parse_ready(name, wg_size=4, real=real)), "interleaved", 2, packed=real == "float",
                 name=f"{name}_{real}").emitted
        for name in ("pade", "ldus", "enum") for real in TYPES
    ]  # fmt: skip
    (tmp_path / "kernel.c").write_text(emit_file(functions))
    command = [*find_c_compiler(), "-std=gnu11", "-O0", "-Wall", "-Wextra", "-Werror", "-Wno-unused-variable"]
    subprocess.run([*command, "-fopenmp", "-isystem", str(MODEL), "-c", "kernel.c"], cwd=tmp_path, check=True)


def test_division_takes_every_integer() -> None:
    """Division by 0 and of the smallest number by -1 stop the model, as they raise exceptions on the machine."""
    body = "int i = get_global_id(); c[i] = a[i] / b[i]; d[i] = a[i] % b[i];"
    text = f"__kernel void k(const T *a, const T *b, T *c, T *d) {{ {body} }}"
    for name, dtype in (("long", np.int64), ("ulong", np.uint64), ("int", np.int32), ("uint", np.uint32)):
        kernel, ir = lowered(text, 16, T=name)
        native = ModelKernel(ir, "rows", 1)
        load_on_model([native])
        info = np.iinfo(dtype)
        numbers = np.array([info.min, info.max, 0, 1, 7, 100, info.max - 1, 3], dtype)
        if info.min:
            numbers[-1] = -1
        a, b = (grid.reshape(-1, 16) for grid in np.meshgrid(numbers, numbers))
        arguments = {"a": a.copy(), "b": b.copy(), "c": np.zeros_like(a), "d": np.zeros_like(a)}
        expected = copied(arguments)
        batch.interpret(kernel, 4, flat(expected), contract=True)
        assert same(expected, run(native, arguments, 4)), name


# What clang makes of it.


def compile_for_ve(text: str, folder: Path) -> Path:
    """Compile C with clang's own header for the machine, as the comment in the C says."""
    zig = ziglang()
    if zig is None:
        pytest.skip("ziglang, whose clang knows SX-Aurora, is not installed")
    (folder / "kernel.c").write_text(text)
    command = [zig, "clang", "-resource-dir", os.path.join(os.path.dirname(zig), "lib"), *CLANG_OPTIONS]
    warnings = ("-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas", "-Wno-unused-parameter", "-Wno-unused-variable")
    done = subprocess.run([*command, *warnings, "-c", "kernel.c", "-o", "kernel.o"], cwd=folder, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()[:2000]
    return folder / "kernel.o"


@pytest.mark.parametrize("real", TYPES)
@pytest.mark.parametrize("name", READY)
def test_clang_compiles_the_ready_kernels(name: str, real: str, tmp_path: Path) -> None:
    for size in (4, 8, 16, 32) if name != "frcg" else (4, 8):
        ir = batch.lower(parse_ready(name, wg_size=size, real=real))
        choice = choose_layout(ir)
        compile_for_ve(emit_file([k.emitted for k in make_kernels(ir, *choice, streaming=False).values()]), tmp_path)


def test_a_product_of_matrices_has_vectors_of_256_elements(tmp_path: Path) -> None:
    ir = batch.lower(parse_ready("gemm", wg_size=8, real="double"))
    place = compile_for_ve(VeKernel(ir, *choose_layout(ir)).text, tmp_path)
    objdump = shutil.which("llvm-objdump")
    if objdump is None:
        pytest.skip("llvm-objdump is not installed")
    shown = subprocess.run([objdump, "-d", place], capture_output=True, text=True, check=True).stdout
    if "<unknown>" in shown:
        pytest.skip("llvm-objdump does not know SX-Aurora")
    assert len(re.findall(r"vfmad\.d", shown)) == 16
    assert "lea %s0, 256" in shown or re.search(r"lea %s\d+, 256", shown)


def test_random_kernels_compile_for_the_machine(tmp_path: Path) -> None:
    from drawloom.batch.backends.ve.emit import Function
    from tests.batch.random_kernels import Generator

    functions: list[Function] = []
    for seed in SMALL_SEEDS:
        generator = Generator(seed)
        kernel = batch.parse_file(generator.text, wg_size=generator.wg_size, file="seed")["drawn"]
        for packed in (False, True):
            name = f"seed{seed}_{'packed' if packed else 'plain'}"
            functions.append(VeKernel(batch.lower(kernel), "rows", 2, packed=packed, name=name).emitted)
    compile_for_ve(emit_file(functions), tmp_path)


@pytest.mark.parametrize("statement", [
    "_vel_vld_vssl(8, bytes + 4, 2)", "_vel_vstu_vssl(zero, 4, bytes + 2, 2)", "_vel_vbrdl_vsl(0, 257)",
    "_vel_vdivsl_vvvl(zero, zero, 1)",
])  # fmt: skip
def test_the_model_stops_where_the_machine_raises_an_exception(statement: str, tmp_path: Path) -> None:
    """Misaligned elements, more than 256 of them, division by 0."""
    text = "#include <velintrin.h>\nint main(void) {{ _Alignas(8) static char bytes[64]; "
    text += "const __vr zero = _vel_vbrdl_vsl(0, 256); (void)bytes; (void)zero; {}; return 0; }}"
    (tmp_path / "stop.c").write_text(text.format(statement))
    subprocess.run([*find_c_compiler(), f"-I{MODEL}", "stop.c", "-lm", "-o", "stop"], cwd=tmp_path, check=True)
    assert subprocess.run([tmp_path / "stop"]).returncode == -signal.SIGABRT


# The model against the suite of the instruction set's vendor, where DRAWLOOM_VE_REFERENCE names a checkout of it.

REFERENCE = os.environ.get("DRAWLOOM_VE_REFERENCE", "")
needs_reference = pytest.mark.skipif(not REFERENCE, reason="DRAWLOOM_VE_REFERENCE names no checkout of the suite")


@needs_reference
def test_the_model_equals_the_reference() -> None:
    report = check_model(Path(REFERENCE), 20)
    assert not report.faults
    assert len(report.covered) > 140


@needs_reference
@pytest.mark.parametrize(("right", "wrong", "intrinsic"), [
    ("fma(D(y), D(w), D(x))", "fma(D(x), D(w), D(y))", "vfmadd_vvvvl"),
    ("(s + (uint32_t)i) % VE_LANES", "((uint32_t)i - s) % VE_LANES", "vel_vmv.cc"),
    ("63 - i % 64", "i % 64", "vel_vfmk.cc"),
    ("m.upper = upper", "m.lower = upper", "vel_insert_vm512.cc"),
])  # fmt: skip
def test_a_wrong_model_differs_from_the_reference(right: str, wrong: str, intrinsic: str, tmp_path: Path) -> None:
    text = (MODEL / "velintrin.h").read_text()
    assert right in text
    (tmp_path / "velintrin.h").write_text(text.replace(right, wrong))
    assert any(fault.startswith(intrinsic) for fault in check_model(Path(REFERENCE), 5, tmp_path).faults)
