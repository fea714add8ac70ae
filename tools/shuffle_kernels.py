"""Turns the CUDA sources of tests/golden/shuffle/src into PTX by our front end (clang) and by nvcc, as golden input of
the shuffle synthesis: tests/golden/shuffle/{clang,nvcc}/<name>.ptx; those of strided/src, with grid-stride loops, into
strided/{clang,nvcc}.

The suite is that of "A Symbolic Emulator for Shuffle Synthesis on the NVIDIA PTX Code" (table 2), written here from the
mathematics of its kernels, with as many loads as the table says.

    python -m tools.shuffle_kernels                # all of them, by the compilers that are installed
    python -m tools.shuffle_kernels jacobi uxx1    # these only
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from drawloom import compile_cuda
from tools.corpus import without_paths

FOLDER = Path(__file__).resolve().parent.parent / "tests" / "golden" / "shuffle"
ARCH = {"clang": "sm_70", "nvcc": "sm_75"}  # nvcc 13 starts at sm_75


def by_nvcc(nvcc: str, source: Path, options: Sequence[str] = ()) -> str:
    """The PTX of a source by nvcc -O3. Raises CalledProcessError."""
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "out.ptx"
        subprocess.run(
            [nvcc, "-ptx", "-O3", f"-arch={ARCH['nvcc']}", *options, source.name, "-o", out],
            cwd=source.parent, check=True, stderr=subprocess.DEVNULL if options else None,
        )  # fmt: skip
        return without_paths(out.read_text(), str(source.parent))


def main(names: list[str]) -> None:
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        print("skipped: nvcc is not installed", file=sys.stderr)
    for source in [*sorted((FOLDER / "src").glob("*.cu")), *sorted((FOLDER / "strided" / "src").glob("*.cu"))]:
        if names and source.stem not in names:
            continue
        texts = {"clang": str(compile_cuda(source, arch=ARCH["clang"]))}
        if nvcc is not None:
            texts["nvcc"] = by_nvcc(nvcc, source)
        for compiler, text in texts.items():
            target = source.parent.parent / compiler / f"{source.stem}.ptx"
            target.parent.mkdir(exist_ok=True)
            target.write_text(text)


if __name__ == "__main__":
    main(sys.argv[1:])
