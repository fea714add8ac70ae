"""The vendor's PTX compiler as the other side of a benchmark: `ptxas` as a process, and as a library in this one."""

from __future__ import annotations

import ctypes
import functools
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from benchmarks.common.peers import BUILD, PEERS, Missing

#: The static library of the version that is on PATH where CUDA 13.0 is.
WHEEL = "nvidia-nvptxcompiler==13.0.88"
EMPTY = ".version 7.8\n.target sm_60\n.address_size 64\n"
_RELEASE = re.compile(r"release (\d+\.\d+)")


class Ptxas:
    """One `ptxas` program; `release` is its toolkit's, such as "12.9"."""

    def __init__(self, path: str) -> None:
        self.path = path
        said = subprocess.run([path, "--version"], capture_output=True, text=True).stdout
        found = _RELEASE.search(said)
        self.release = found[1] if found else "?"

    def seconds(self, source: Path, arch: str, level: str) -> float:
        """Processor time of one run, its start included. Raises Missing where it refuses the file."""
        command = [self.path, f"-arch={arch}", level, str(source), "-o", "/dev/null"]
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = status
        if status:
            raise Missing(f"ptxas {self.release} refuses {source.name}")
        return used.ru_utime + used.ru_stime

    def cubin(self, source: Path, arch: str, registers: int = 255) -> tuple[bytes, int]:
        """The file that -O3 makes with so many registers at most, and the bytes that it spills (stores and loads).
        Raises Missing where it refuses."""
        with tempfile.TemporaryDirectory() as scratch:
            out = Path(scratch) / "out.cubin"
            command = [self.path, "-v", f"-arch={arch}", "-O3", str(source), "-o", str(out)]
            command += [f"-maxrregcount={registers}"] if registers < 255 else []
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                raise Missing(f"ptxas {self.release} refuses {source.name}")
            spilled = sum(int(n) for n in re.findall(r"(\d+) bytes spill", done.stderr + done.stdout))
            return out.read_bytes(), spilled


def programs() -> list[Ptxas]:
    """Every release of ptxas that is in the folder DRAWLOOM_VENDOR or on PATH."""
    named = os.environ.get("DRAWLOOM_VENDOR")
    places = [Path(named) / "ptxas"] if named else []
    paths = [str(place) for place in places if os.access(place, os.X_OK)]
    on_path = shutil.which("ptxas")
    found: dict[str, Ptxas] = {}
    for program in map(Ptxas, [*paths, *([on_path] if on_path else [])]):
        found.setdefault(program.release, program)
    return [found[release] for release in sorted(found)]


class Library:
    """The compiler in this process: the static library of WHEEL behind peers/ptx_compiler.c, built on first use."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL(str(built()))
        self.library.compile_ptx.restype = ctypes.c_long
        self.library.compile_ptx.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_char_p]

    def compile(self, text: bytes, arch: str, level: str) -> int:
        """The bytes of the cubin. Raises Missing where it refuses the text."""
        size = int(self.library.compile_ptx(text, len(text), f"-arch={arch}".encode(), level.encode()))
        if size < 0:
            raise Missing("the library refuses it")
        return size


@functools.cache
def built() -> Path:
    """The shared object in build/benchmarks. Raises Missing where the wheel or a compiler cannot be had."""
    name, version = WHEEL.split("==")
    out = BUILD / f"ptx_compiler-{version}.so"
    if out.exists():
        return out
    if shutil.which("gcc") is None:
        raise Missing("gcc is not installed")
    BUILD.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=BUILD) as scratch:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
        if subprocess.run([*pip, "--dest", scratch, WHEEL], stderr=subprocess.DEVNULL).returncode:
            raise Missing(f"{name} {version} cannot be downloaded")
        with zipfile.ZipFile(next(Path(scratch).glob("*.whl"))) as wheel:
            wheel.extractall(scratch)
        include = next(Path(scratch).rglob("nvPTXCompiler.h")).parent
        library = next(Path(scratch).rglob("libnvptxcompiler_static.a"))
        made = Path(scratch) / "ptx_compiler.so"
        source = PEERS / "ptx_compiler.c"
        command = ["gcc", "-O2", "-shared", "-fPIC", f"-I{include}", str(source), "-o", str(made), str(library)]
        subprocess.run([*command, "-lstdc++", "-lpthread", "-lm", "-ldl"], check=True)
        made.rename(out)
    return out
