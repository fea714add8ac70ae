"""`drawloom build`, and `drawloom run` of sources: CUDA C++ and OpenCL C on the command line."""

from pathlib import Path

import pytest

from tests.cli.conftest import Command

SCALE = """
template <class T> __global__ void scale(T *x, T a) { x[threadIdx.x] *= a + T(OFFSET); }
template __global__ void scale<float>(float *, float);
"""


@pytest.fixture
def scale(tmp_path: Path) -> Path:
    path = tmp_path / "scale.cu"
    path.write_text(SCALE)
    return path


def test_build_emits_each_stage(drawloom: Command, scale: Path, tmp_path: Path) -> None:
    ptx = drawloom("build", "-D", "OFFSET=1", scale, "--arch", "sm_90")
    assert ptx.exit_code == 0 and ".target sm_90" in ptx.output and ".entry _Z5scaleIfEvPT_S0_" in ptx.output
    sass = drawloom("build", "-DOFFSET=1", "-O", "2", scale, "--emit", "sass")
    assert sass.exit_code == 0 and "FMUL" in sass.output
    cubin = tmp_path / "out.cubin"
    assert drawloom("build", "-DOFFSET=1", scale, "--emit", "cubin", "-o", cubin).exit_code == 0
    assert cubin.read_bytes().startswith(b"\x7fELF")


def test_mistakes_of_a_source_are_clangs(drawloom: Command, scale: Path, tmp_path: Path) -> None:
    refused = drawloom("build", scale)
    assert refused.exit_code == 1 and f"error: {scale}:2:" in refused.stderr and "'OFFSET'" in refused.stderr
    assert drawloom("build", tmp_path / "none.cu").exit_code == 1
    assert drawloom("build", tmp_path / "scale.ptx").exit_code == 2


def test_run_takes_kernels_by_their_names_in_the_source(drawloom: Command, scale: Path, tmp_path: Path) -> None:
    scale.write_text("#define OFFSET 1\n" + SCALE)
    done = drawloom("run", scale, "-k", "scale", "-b", "4", "-a", "x:f32[4]=arange", "-a", "a=2", "-p", "x")
    assert done.exit_code == 0 and "[0. 3. 6. 9.]" in done.output
    opencl = tmp_path / "twice.cl"
    opencl.write_text("kernel void twice(global int *x) { x[get_global_id(0)] *= 2; }")
    done = drawloom("run", opencl, "-b", "4", "-a", "x:s32[4]=arange", "-p", "x")
    assert done.exit_code == 0 and "[0 2 4 6]" in done.output
