"""Turns the CUDA sources of tests/golden/corpus/src into PTX by nvcc and by clang, as golden parser input.

Every source is compiled in several architectures and optimisation levels; a source can say on its first
lines `// compilers: nvcc` (it needs headers that only nvcc ships) or `// minimum: sm_80`. Results go to
tests/golden/corpus/{nvcc,clang}/<name>.<arch>.<variant>.ptx. Compilers that are not installed are named
and skipped. Machine paths are rewritten to the bare file name, so that the result does not depend on
where it was made.

    python tools/corpus.py              # everything
    python tools/corpus.py saxpy calls  # these sources only
    python tools/corpus.py --check      # additionally assemble every file of the corpus with ptxas
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

CORPUS = Path(__file__).resolve().parent.parent / "tests" / "golden" / "corpus"

# (architecture, variant name, flags); the third of `every` keeps the corpus small: the variant is made
# for every n-th source only, counted in alphabetical order.
NVCC_VARIANTS: tuple[tuple[str, str, tuple[str, ...], int], ...] = (
    ("sm_80", "O3", ("-O3",), 1),
    ("sm_75", "lineinfo", ("-O3", "-lineinfo"), 1),
    ("sm_90", "O0", ("-Xcicc", "-O0"), 1),
    ("sm_90", "fast", ("-O3", "-use_fast_math"), 3),
    ("sm_80", "debug", ("-G",), 5),
)
CLANG_VARIANTS: tuple[tuple[str, str, tuple[str, ...], int], ...] = (
    ("sm_61", "O1", ("-O1",), 1),
    ("sm_80", "O3", ("-O3",), 1),
    ("sm_90", "O0", ("-O0",), 2),
    ("sm_90", "lines", ("-O2", "-gline-tables-only"), 4),
)
CLANG_COMMON = (
    "-x", "cuda", "--cuda-device-only", "-nocudainc", "-nocudalib", "-fdeclspec", "-Wno-unknown-cuda-version",
    "-Xclang", "-target-sdk-version=12.8", "-S",
)  # fmt: skip


def source_rules(text: str) -> tuple[bool, int]:
    """Reads a source's header comments: (clang may compile it, smallest architecture number)."""
    clang = re.search(r"^// compilers: nvcc$", text, re.M) is None
    least = re.search(r"^// minimum: sm_(\d+)$", text, re.M)
    return clang, int(least[1]) if least else 0


def without_paths(ptx: str, folder: str) -> str:
    """Replaces machine paths by bare names: in `.file`, in symbol names, in the bytes of DWARF sections."""
    ptx = re.sub(r'(\.file\s+\d+\s+")[^"]*/([^"/]+")', r"\1\2", ptx)
    # nvcc puts a number of its own, different in every run, into the names of what has internal linkage.
    ptx = re.sub(r"(_INTERNAL_)[0-9a-f]{8}_", r"\g<1>00000000_", ptx)
    internal = ",".join(str(byte) for byte in b"_INTERNAL_")
    ptx = re.sub(rf"({internal})((?:,\d+){{8}})", r"\1" + ",48" * 8, ptx)
    ptx = ptx.replace(folder + "/", "").replace(folder, ".")
    # DWARF refers to its strings by offset, so a path keeps its length; ours gives way to a fixed one.
    for path in (folder, "/usr/local/cuda"):
        spelled = ",".join(str(byte) for byte in path.encode())
        ptx = ptx.replace(spelled, ",".join(str(byte) for byte in b"/corpus".ljust(len(path), b"/")))
    return ptx


def compile_one(command: list[str], folder: str, target: Path) -> str:
    """Runs one compiler; returns its complaint, or the empty string after writing `target`."""
    with tempfile.TemporaryDirectory() as scratch:
        out = os.path.join(scratch, "out.ptx")
        done = subprocess.run([*command, "-o", out], cwd=folder, capture_output=True, text=True)
        if done.returncode or not os.path.exists(out):
            return f"{target.name}: {done.stderr.strip()}"
        text = Path(out).read_text()
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(without_paths(text, folder))
    return ""


def jobs(names: list[str], folder: str) -> list[tuple[list[str], Path]]:
    """Lists (command, target) for the wanted sources and the compilers at hand."""
    found: list[tuple[list[str], Path]] = []
    nvcc = shutil.which("nvcc")
    clang = [sys.executable, "-m", "ziglang", "clang"]
    has_clang = subprocess.run([*clang, "--version"], capture_output=True).returncode == 0
    for absent, name in ((nvcc is None, "nvcc"), (not has_clang, "clang (the ziglang wheel)")):
        if absent:
            print(f"skipped: {name} is not installed", file=sys.stderr)
    for place, source in enumerate(sorted((CORPUS / "src").glob("*.cu"))):
        if names and source.stem not in names:
            continue
        with_clang, least = source_rules(source.read_text())
        for arch, variant, flags, every in NVCC_VARIANTS:
            if nvcc and place % every == 0 and int(arch[3:]) >= least:
                command = [nvcc, "-ptx", f"-arch={arch}", "--no-compress", *flags, source.name]
                found.append((command, CORPUS / "nvcc" / f"{source.stem}.{arch}.{variant}.ptx"))
        for arch, variant, flags, every in CLANG_VARIANTS:
            if has_clang and with_clang and place % every == 0 and int(arch[3:]) >= least:
                command = [*clang, *CLANG_COMMON, f"--cuda-gpu-arch={arch}", *flags, source.name]
                found.append((command, CORPUS / "clang" / f"{source.stem}.{arch}.{variant}.ptx"))
    return found


def check(path: Path) -> str:
    """Assembles one file with ptxas; returns its complaint. nvcc 13's ptxas starts at sm_75."""
    arch = re.search(r"^\.target\s+(sm_\d+a?)", path.read_text(), re.M)
    target = arch[1] if arch else "sm_75"
    if int(target.rstrip("a")[3:]) < 75:
        target = "sm_75"
    done = subprocess.run(["ptxas", f"-arch={target}", str(path), "-o", os.devnull], capture_output=True, text=True)
    return f"{path.name}: {done.stderr.strip()[:400]}" if done.returncode else ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="sources to compile; all of them without any")
    parser.add_argument("--check", action="store_true", help="assemble every file of the corpus with ptxas")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(options.jobs) as pool:
        folder = os.path.join(scratch, "src")  # mkdtemp's names all have one length: the result is the same
        shutil.copytree(CORPUS / "src", folder)
        work = jobs(options.names, folder)
        failures = [f for f in pool.map(lambda job: compile_one(job[0], folder, job[1]), work) if f]
        if options.check:
            failures += [f for f in pool.map(check, sorted(CORPUS.glob("*/*.ptx"))) if f]
    for failure in failures:
        print(failure, file=sys.stderr)
    size = sum(path.stat().st_size for path in CORPUS.glob("*/*.ptx"))
    print(f"{len(work)} compiled, {len(failures)} failed; the corpus holds {size / 1e6:.2f} MB of PTX")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
