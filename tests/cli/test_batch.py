"""`drawloom batch`: a kernel after each stage."""

import re
from collections.abc import Callable
from pathlib import Path

import llvmlite.binding as llvm
import pytest
from click.testing import Result

from drawloom.batch.ir.parser import parse_kernel
from drawloom.batch.kernels import read_text

pytest.importorskip("pycparser")

Command = Callable[..., Result]


@pytest.fixture
def gemm(tmp_path: Path) -> str:
    path = tmp_path / "gemm.cl"
    path.write_text(read_text("gemm"))
    return str(path)


def test_infreg_ir_parses_back(gemm: str, drawloom: Command) -> None:
    done = drawloom("batch", gemm, "--wg-size", "4", "-D", "real=double", "--emit", "infreg", "--pack", "2")
    assert done.exit_code == 0, done.output
    kernel = parse_kernel(done.stdout)
    assert (kernel.name, kernel.wg_size) == ("gemm", 4)
    assert [parameter.is_written for parameter in kernel.parameters] == [False, False, True]


def test_llvm_ir_is_llvm_ir(gemm: str, tmp_path: Path, drawloom: Command) -> None:
    output = tmp_path / "gemm.ll"
    done = drawloom("batch", gemm, "--wg-size", "4", "-D", "real=float", "--order", "rows", "-o", str(output))
    assert done.exit_code == 0, done.output
    text = output.read_text()
    llvm.parse_assembly(text).verify()
    assert "@llvm.fma." in text


def test_products_are_rounded_on_request(gemm: str, drawloom: Command) -> None:
    done = drawloom("batch", gemm, "--wg-size", "4", "-D", "real=float", "--no-contract")
    assert "@llvm.fma." not in done.stdout
    assert "fmul" in done.stdout


def test_a_macro_without_a_value_is_1(tmp_path: Path, drawloom: Command) -> None:
    path = tmp_path / "k.cl"
    path.write_text("__kernel void k(int *x) { x[get_global_id()] = ONE; }")
    done = drawloom("batch", str(path), "--wg-size", "1", "-D", "ONE", "--emit", "infreg")
    assert "splat (i32 1)" in done.stdout


def test_errors_name_their_place(gemm: str, tmp_path: Path, drawloom: Command) -> None:
    done = drawloom("batch", gemm, "--wg-size", "4")
    assert done.exit_code == 1
    assert f"{gemm}:4:26: unexpected *: 'real' is not a type" in done.stderr
    done = drawloom("batch", str(tmp_path / "missing.cl"), "--wg-size", "4")
    assert done.exit_code == 1
    assert "missing.cl: cannot be read as text" in done.stderr


def test_cuda_and_ptx_are_printed(gemm: str, clang: list[str], drawloom: Command) -> None:
    options = ("batch", gemm, "--wg-size", "8", "-D", "real=float")
    done = drawloom(*options, "--emit", "cuda")
    assert done.exit_code == 0, done.output
    assert "__shfl_sync(members, " in done.stdout
    done = drawloom(*options, "--emit", "ptx")
    assert done.exit_code == 0, done.output
    assert "shfl.sync.idx.b32" in done.stdout
    done = drawloom(*options, "--emit", "cuda", "--pack", "2")
    assert done.exit_code == 1
    assert "order and pack are for vectors of the CPU" in done.stderr


@pytest.mark.parametrize(("target", "vector"), [("avx512", "__m512d"), ("avx2", "__m256d")])
def test_c_is_for_the_target(gemm: str, target: str, vector: str, drawloom: Command) -> None:
    options = ("--target", target, "--pack", "2", "--streaming")
    done = drawloom("batch", gemm, "--wg-size", "4", "-D", "real=double", *options)
    assert done.exit_code == 0, done.output
    assert f"const {vector} " in done.stdout
    assert "#pragma omp parallel for" in done.stdout
    assert "stream_pd" in done.stdout
    assert "void batch_gemm(" in done.stdout
    assert "void batch_gemm_1(" in done.stdout


def test_c_for_sx_aurora_states_vector_lengths(gemm: str, drawloom: Command) -> None:
    options = ("--target", "ve", "--emit", "c", "--streaming")
    done = drawloom("batch", gemm, "--wg-size", "4", "-D", "real=double", *options)
    assert done.exit_code == 0, done.output
    assert "#include <velintrin.h>" in done.stdout
    assert "#pragma omp parallel for" in done.stdout
    assert "clang --target=ve-linux " in done.stdout
    assert re.search(r"_vel_vstnc_vssl\(c\d+, 8, base\d+, 256\);", done.stdout)
    assert "void batch_gemm_1(" in done.stdout


def test_c_needs_a_target_and_llvm_takes_none(gemm: str, drawloom: Command) -> None:
    done = drawloom("batch", gemm, "--wg-size", "4", "-D", "real=double", "--emit", "c")
    assert "--emit c needs --target" in done.stderr
    done = drawloom("batch", gemm, "--wg-size", "4", "-D", "real=double", "--emit", "llvm", "--target", "avx2")
    assert "--emit llvm is not for --target avx2, which prints c, infreg" in done.stderr


@pytest.mark.parametrize(
    ("target", "beginning"),
    [("llvm", "define void @"), ("avx512", "#include"), ("avx2", "#include"), ("ve", "#include"), ("cuda", "// twice")],
)
def test_emit_without_a_value_prints_the_code_for_the_target(
    target: str, beginning: str, tmp_path: Path, drawloom: Command
) -> None:
    path = tmp_path / "k.cl"
    path.write_text("__kernel void twice(double *x) { x[get_global_id()] *= 2; }")
    done = drawloom("batch", str(path), "--wg-size", "4", "--target", target, "--emit")
    assert done.stdout.startswith(beginning), done.stderr
    assert done.stdout == drawloom("batch", str(path), "--wg-size", "4", "--target", target).stdout


def test_a_malformed_macro_is_refused(gemm: str, drawloom: Command) -> None:
    done = drawloom("batch", gemm, "--wg-size", "4", "-D", "real=double", "-D", "3x")
    assert done.exit_code == 1
    assert "error: '3x' is not the name of a macro" in done.stderr
