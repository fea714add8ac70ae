"""Every command and Python block of the README, the pages of docs/, the help texts and the heads of examples/ runs, on
the files that they name, and ends as the page shows."""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from click import Context

import drawloom
from drawloom.cli.main import cli
from drawloom.sass.instruction import Instruction
from drawloom.sass.isa import load_target

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: A line of a page, indented or after a prompt. Lists of commands have two blanks after the name.
COMMAND = re.compile(r"^(?:    )?(?:\$ )?(drawloom(?:-ptxas)? (?!\w+  ).*)$")
#: What a page says for real sizes, and a test does for small ones.
SMALLER = {"--scale 1 ": "--scale 0.01 ", "--grid 32,64 ": "--grid 2,2 "}

LIFT_SAXPY = """from drawloom.lift import array, float32, fun, map_glb, size, zip
n = size("N")
types = float32, array(float32, n), array(float32, n)
saxpy = fun(*types, lambda a, x, y: zip(x, y) >> map_glb(lambda x, y: a * x + y))
"""
MAIN = "int solve(int); int main() { return solve(0); }\n"
SOLVER = """#include <cuda_runtime.h>
__global__ void fill(int *x) { x[threadIdx.x] = N; }
int solve(int) {
    int *x, first = 0;
    cudaMalloc(&x, N * sizeof(int));
    fill<<<1, N>>>(x);
    cudaMemcpy(&first, x, sizeof first, cudaMemcpyDeviceToHost);
    return first != N;
}
"""

CUDA = "__global__ void scale(float *x, int n) { if (threadIdx.x < n) x[threadIdx.x] *= 2; }\n"
OPENCL = "kernel void scale(global float *x) { x[get_global_id(0)] *= N; }\n"
TWICE = """.version 7.0
.target sm_60
.address_size 64
.visible .entry k(.param .u64 data, .param .u32 n)
{
    .reg .b64 %rd<3>; .reg .b32 %r<2>; .reg .f32 %f<2>;
    ld.param.u64 %rd1, [data];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd1, %rd1, %rd2;
    ld.global.f32 %f1, [%rd1];
    add.f32 %f1, %f1, %f1;
    st.global.f32 [%rd1], %f1;
    ret;
}
"""


@dataclass(frozen=True)
class Example:
    """A command line, where it stands, and whether the page shows that it fails."""

    where: str
    text: str
    fails: bool = False


def commands_in(where: str, text: str) -> list[Example]:
    """The command lines of a page; a backslash or an open quote continues one."""
    found: list[Example] = []
    lines = iter(text.splitlines())
    after = ""
    for line in lines:
        if after:
            found[-1] = Example(found[-1].where, found[-1].text, line.strip().startswith("error:"))
            after = ""
        begins = COMMAND.match(line)
        if begins is None:
            continue
        words = begins[1]
        while words.endswith("\\") or words.count('"') % 2:
            words = words.removesuffix("\\").rstrip() + " " + next(lines).strip()
        found.append(Example(where, words.partition("  # ")[0].strip()))
        after = words
    return found


def examples() -> list[Example]:
    found = [example for page in PAGES for example in commands_in(page.name, page.read_text(encoding="utf-8"))]
    for name in cli.list_commands(Context(cli)):
        command = cli.get_command(Context(cli), name)
        assert command is not None
        found += commands_in(f"drawloom {name} --help", command.get_help(Context(command, info_name=name)))
    for path in sorted((ROOT / "examples").iterdir()):
        if path.is_file():
            lines = [line.removeprefix("//").strip() for line in path.read_text().splitlines()]
            found += commands_in(f"examples/{path.name}", "\n".join(lines))
    return list({example.text: example for example in found}.values())


EXAMPLES = examples()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that the examples name, and a `drawloom` to find on PATH."""
    folder = tmp_path_factory.mktemp("examples")
    shutil.copytree(ROOT / "examples", folder / "examples")
    for path in (ROOT / "examples").glob("*.*"):
        shutil.copy(path, folder)
    shutil.copy(ROOT / "README.md", folder)
    for name in ("in.ptx", "kernels.ptx"):
        shutil.copy(ROOT / "examples" / "saxpy.ptx", folder / name)
    shutil.copy(ROOT / "examples" / "hello.cu", folder / "prog.cu")
    shutil.copy(ROOT / "src" / "drawloom" / "batch" / "kernels" / "gemm.cl", folder)
    page = (ROOT / "docs" / "cpu.md").read_text(encoding="utf-8")
    fold = next(text for _, text in FENCED.findall(page) if ".entry fold(" in text)
    (folder / "fold.ptx").write_text(f".version 7.0\n.target sm_60\n.address_size 64\n{fold}")
    (folder / "kernel.ptx").write_text(
        ".version 7.0\n.target sm_60\n.address_size 64\n.visible .entry k(.param .u64 out) { ret; }\n"
    )
    (folder / "saxpy.cu").write_text(
        "__global__ void saxpy(float a, float *x, float *y, int n) {\n"
        "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n) y[i] += a * x[i];\n}\n"
    )
    (folder / "saxpy.py").write_text(LIFT_SAXPY)
    (folder / "solver.cu").write_text(SOLVER)
    (folder / "main.cpp").write_text(MAIN)
    (folder / "include").mkdir()
    (folder / "build").mkdir()
    for name in ("x.npy", "y.npy"):
        np.save(folder / name, np.ones(1_000_000, np.float32))
    (folder / "FILE.raw").write_bytes(bytes(range(256)) * 4)
    make_tables(folder)
    wrapper = folder / "bin" / "drawloom"
    wrapper.parent.mkdir()
    wrapper.write_text(f'#!/bin/sh\nexec {sys.executable} -m drawloom "$@"\n')
    wrapper.chmod(0o755)
    return folder


def make_tables(folder: Path) -> None:
    """TPC-H's tables at a small scale under the names that the pages use."""
    tpchgen = shutil.which("tpchgen-cli", path=os.path.dirname(sys.executable)) or shutil.which("tpchgen-cli")
    if tpchgen is None:
        pytest.skip("tpchgen-cli is not installed")
    data = folder / "build" / "data" / "tpch-sf1"
    subprocess.run([tpchgen, "parquet", "-s", "0.01", f"--output-dir={data}"], check=True, capture_output=True)
    (folder / "data").mkdir()
    for name in ("lineitem", "orders"):
        shutil.copy(data / f"{name}.parquet", folder)
        shutil.copy(data / f"{name}.parquet", folder / "data")
    pq.write_table(pq.read_table(folder / "orders.parquet").slice(0, 10), folder / "t.parquet")


@pytest.mark.parametrize("example", EXAMPLES, ids=[f"{e.where}: {e.text.splitlines()[0]}" for e in EXAMPLES])
def test_an_example_ends_as_the_page_shows(example: Example, folder: Path) -> None:
    text = example.text + " "
    for large, small in SMALLER.items():
        text = text.replace(large, small)
    text = text.replace("LENGTH", "1024")
    environment = {**os.environ, "PATH": f"{folder}/bin:{os.environ['PATH']}", "DRAWLOOM_CACHE_DIR": ""}
    done = subprocess.run(["bash", "-c", text], cwd=folder, env=environment, capture_output=True, text=True)
    assert (done.returncode != 0) == example.fails, done.stdout[-2000:] + done.stderr[-2000:]
    assert "Traceback" not in done.stderr


def blocks() -> list[tuple[str, str]]:
    """The Python blocks of each page whose blocks run alone; those of docs/lift.md are a session, and that of
    docs/lift-code.md with pyopencl goes on from the one above it: these have tests of their own."""
    found = []
    for page in [page for page in PAGES if page.name != "lift.md"]:
        codes = [code for kind, code in FENCED.findall(page.read_text(encoding="utf-8")) if kind == "python"]
        found += [(f"{page.name}, {number}", code) for number, code in enumerate(codes, 1) if "pyopencl" not in code]
    return found


BLOCKS = blocks()


def names_for_blocks() -> dict[str, Any]:
    """What the blocks take for granted: a kernel's text in each form, a module, buffers and what they are made for."""
    text = (ROOT / "examples" / "saxpy.ptx").read_text()
    module = drawloom.ptx.parse(text)
    cubin = drawloom.assemble(text.replace("saxpy", "k"), "sm_90")
    target = load_target(90)
    setp = target.opcode("ISETP.GE.U32.AND", "P,P,R,I,P")
    x, y, out = (np.ones(64, np.float32) for _ in range(3))
    params = np.float32(2).tobytes().ljust(8, b"\0")
    params += b"".join(int(array.ctypes.data).to_bytes(8, "little") for array in (x, y)) + (64).to_bytes(4, "little")
    return {
        "drawloom": drawloom, "np": np, "text": text, "text_or_module": text, "module": module, "source": CUDA,
        "opencl_source": OPENCL, "x": x, "y": y, "out": out, "n": 64, "grid": 1, "block": 64,
        "kernel": drawloom.load(TWICE)["k"], "buffer": drawloom.Buffer.from_array(x), "params": params,
        "buffers": [(int(array.ctypes.data), array.nbytes) for array in (x, y)], "assembly": cubin.assembly,
        "data": bytes(cubin), "opcode": setp, "instruction": Instruction(setp, [0, 7, 3, 0x10, 7]), "target": target,
        "code": cubin.kernels["k"].code,
    }  # fmt: skip


@pytest.mark.parametrize(("where", "code"), BLOCKS, ids=[where for where, _ in BLOCKS])
def test_a_block_of_python_runs(where: str, code: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    if "import cupy" in code:
        pytest.importorskip("cupy", reason="CuPy is not installed")
    if "from numba" in code:
        pytest.importorskip("numba")
    exec(compile(code, where, "exec"), names_for_blocks())
