"""docs/routing.md, followed: other people's compilers with our assembler in the place of ptxas."""

import importlib.util
import os
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from drawloom.sass.cubin import Cubin, read_cubin
from drawloom.sass.interpreter import run

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "routing.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.S)
DEVICE_CODE = """
#define KERNEL __attribute__((global))
KERNEL void axpy(float a, const float *x, float *y) { int i = __nvvm_read_ptx_sreg_tid_x(); y[i] += a * x[i]; }
"""
PROGRAM = """
__global__ void axpy(float a, const float *x, float *y) { int i = threadIdx.x; y[i] += a * x[i]; }
int main() { axpy<<<1, 32>>>(2.f, nullptr, nullptr); return 0; }
"""


@pytest.fixture
def wrapper(tmp_path: Path) -> Path:
    """The page's wrapper, with this Python's command."""
    path = tmp_path / "ptxas"
    path.write_text(f'#!/bin/sh\nexec {sys.executable} -m drawloom.cli.main as "$@"\n')
    path.chmod(0o755)
    return path


def numba_block(marker: str) -> Any:
    """The names that a Python block of the page makes; skips where Numba cannot make PTX."""
    pytest.importorskip("numba.cuda")
    from numba.core.errors import NumbaError
    from numba.cuda.cudadrv.error import CudaSupportError, NvvmSupportError

    (block,) = [block for block in BLOCKS if marker in block]
    names: dict[str, Any] = {}
    try:
        exec(block, names)
    except (NvvmSupportError, CudaSupportError, NumbaError, FileNotFoundError) as refusal:
        pytest.skip(f"Numba makes no PTX here: {refusal}")
    return names


def axpy_of(cubin: Cubin) -> np.ndarray:
    """y += 3x of 100 elements by a kernel with Numba's arrays, on the interpreter of machine code."""
    x, y = np.arange(100, dtype=np.float32), np.ones(100, np.float32)
    arrays = [struct.pack("<7Q", 0, 0, a.size, 4, a.ctypes.data, a.size, 4) for a in (x, y)]
    params = struct.pack("<f4x", 3.0) + b"".join(arrays)
    buffers = [(a.ctypes.data, a.nbytes) for a in (x, y)]
    run(cubin, next(iter(cubin.kernels)), (4, 1, 1), (32, 1, 1), params, buffers=buffers)
    np.testing.assert_array_equal(y, np.arange(100, dtype=np.float32) * 3 + 1)
    return y


def test_ptx_of_numba(capsys: pytest.CaptureFixture[str]) -> None:
    names = numba_block("compile_ptx")
    assert "<Cubin for sm_80" in capsys.readouterr().out
    axpy_of(names["cubin"])


def test_numba_compiles_through_us() -> None:
    pytest.importorskip("numba.cuda")
    from numba.cuda import codegen

    original = codegen.JITCUDACodegen._library_class
    try:
        names = numba_block("_library_class")
        axpy = numba_block("compile_ptx")
        from numba.cuda.compiler import compile_cuda

        compiled = compile_cuda(axpy["axpy"], None, axpy["signature"], cc=(8, 6))
        library = compiled.target_context.prepare_cuda_kernel(
            compiled.library, compiled.fndesc, False, False, {"fastmath": False, "opt": 3}, "axpy.py", 1
        )[0]
        assert isinstance(library, names["Library"])
        cubin = read_cubin(library.get_cubin(cc=(8, 6)))
        assert cubin.target == 86
        assert "registers" in library.get_linkerinfo((8, 6))
        axpy_of(cubin)
    finally:
        codegen.JITCUDACodegen._library_class = original


def test_numba_cuda_gets_the_object_that_its_driver_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    """NVIDIA's package loads an ObjectCode of cuda.core, and gives three parts of a capability; by a stand-in."""
    pytest.importorskip("numba.cuda")
    from numba.cuda import codegen
    from numba.cuda.cudadrv import driver

    class ObjectCode:
        def __init__(self, code: bytes) -> None:
            self.code = code

        from_cubin = classmethod(lambda kind, code: kind(code))

    monkeypatch.setattr(driver, "ObjectCode", ObjectCode, raising=False)
    monkeypatch.setattr(codegen.JITCUDACodegen, "_library_class", codegen.CUDACodeLibrary)
    library = object.__new__(numba_block("_library_class")["Library"])
    library._cubin_cache, library._linkerinfo_cache, library._linking_files = {}, {}, set()
    library.needs_cudadevrt, library._max_registers = False, 40
    ptx = ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k() { ret; }\n"
    library.get_asm_str = lambda cc: ptx
    found = library.get_cubin((9, 0, "a"))
    assert isinstance(found, ObjectCode)
    assert found is library.get_cubin((9, 0, "a"))
    assert read_cubin(found.code).functions["k"].max_registers == 40


@pytest.mark.skipif(importlib.util.find_spec("ziglang") is None, reason="ziglang is not installed")
def test_clang_takes_the_wrapper(wrapper: Path, tmp_path: Path) -> None:
    source, made = tmp_path / "axpy.cu", tmp_path / "axpy.o"
    source.write_text(DEVICE_CODE)
    clang = [sys.executable, "-m", "ziglang", "clang", "-x", "cuda", "--cuda-gpu-arch=sm_80", "-O2"]
    # Without a toolkit: no headers, no library, device code alone.
    alone = ["--cuda-device-only", "-nocudainc", "-nocudalib", "-Xclang", "-target-sdk-version=12.8"]
    done = subprocess.run(
        [*clang, *alone, f"--ptxas-path={wrapper}", "-gline-tables-only", "-c", source, "-o", made],
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    cubin = read_cubin(made.read_bytes())
    assert [file.path for file in cubin.assembly.files if file.path.endswith("axpy.cu")]
    assert cubin.functions["_Z4axpyfPKfPf"].lines


@pytest.mark.vendor
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not installed")
def test_the_commands_of_nvcc_with_ours_among_them(tmp_path: Path) -> None:
    (tmp_path / "program.cu").write_text(PROGRAM)
    lines = PAGE.splitlines()
    first = next(n for n, line in enumerate(lines) if "--dryrun" in line)
    command = "\n".join(line.strip() for line in lines[first : first + 2])
    command = command.replace("-o program", "-cubin -G -lineinfo -o p.cubin")  # the host's half takes ten seconds
    script = tmp_path / "drawloom"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -m drawloom.cli.main "$@"\n')
    script.chmod(0o755)
    paths = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, env=paths)
    assert done.returncode == 0, done.stderr  # nvcc's own warning, of these two options, is no command
    cubin = read_cubin((tmp_path / "p.cubin").read_bytes())
    assert (cubin.target, list(cubin.kernels)) == (80, ["_Z4axpyfPKfPf"])
    assert b"drawloom" in bytes(cubin)  # our name, in CUDA 13's note
