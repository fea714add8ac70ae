"""Finds a clang, and runs its front end: from `clang -cc1` arguments to what it writes, or to its diagnostics as one
error. The clang is the one on PATH, 16 or later, else the one inside PyPI's `ziglang`; DRAWLOOM_CLANG names another.
"""

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Final

from drawloom.errors import SourceError, UnsupportedError

OLDEST: Final = 16  # the first whose CUDA mode knows sm_90 and C++20
NO_CLANG: Final = (
    "no clang for CUDA C++ and OpenCL C: install one with `pip install drawloom[cuda]`, "
    "or put clang 16 or later on PATH"
)
#: The host that mixed programs are compiled for; its types and macros are what device code sees, too.
HOST_TRIPLE: Final = "x86_64-unknown-linux-gnu"
#: As zig spells that host: with the oldest C library that programs are to run on.
ZIG_HOST: Final = "x86_64-linux-gnu.2.28"
OLDEST_COMPUTE: Final = 50  # the first whose PTX clang 22 and the drivers of today take
EXPECTED_TARGET: Final = f"expected sm_{OLDEST_COMPUTE} or later, such as sm_80"
#: Where PyPI's nvidia-cuda-cccl packages have their headers, in the folder of all packages of NVIDIA's.
CCCL_LAYOUTS: Final = ("cuda_cccl/include", "cu*/include/cccl")
HEADERS: Final = Path(__file__).parent / "include"

_DIAGNOSTIC: Final = re.compile(
    r"^(?P<file>[^\n:]+):(?P<line>\d+):(?P<column>\d+): (?:fatal )?error: (?P<message>.*)$", re.M
)
_ANY_ERROR: Final = re.compile(r"^(?:fatal )?error: (.*)$", re.M)
_UNKNOWN_TARGET: Final = re.compile(r"^error: unknown target CPU ('.*')$", re.M)
#: What clang's words mean here: features that are not supported, by the headers that they come with and by the option
#: that clang asks for. The reason follows in parentheses.
_DRIVER: Final = "the driver's interface, cuInit and its like, is not supported"
_IMAGES: Final = "images are not supported"
_LAUNCH: Final = "launches from kernels, dynamic parallelism, are not supported"
_REASONS: Final = tuple(
    (re.compile(rf"^(.*error: {words}.*)$", re.M), reason)
    for words, reason in (
        (r"kernel launch from __device__ or __global__ function", _LAUNCH),
        (r"use of undeclared identifier 'cu(?:Init|Device|Ctx|Module|Launch|Mem|Stream|Event|Func|Get)\w*'", _DRIVER),
        (r"use of undeclared identifier '(?:(?:read|write|get)_image|CLK_(?:NORMALIZED|ADDRESS|FILTER)_)\w*'", _IMAGES),
        (r"'mma\.h' file not found", "tensor cores, nvcuda::wmma, are not supported"),
        (r"'cuda_fp[864]\.h' file not found", "floats of 8 bits and less are not supported"),
        (
            r"'(?:thrust|cub|cuda|nv)/[\w/.]+' file not found",
            "Thrust, CUB and libcu++ are in NVIDIA's CCCL: `pip install drawloom[cccl]`, or -I names its folder",
        ),
        (
            r"'(?:cublas|cufft|cusparse|cusolver|curand\.|cudnn|nccl|npp|nvrtc|cutensor)[\w.]*' file not found",
            "the vendor's libraries are not supported",
        ),
        (r"'(?:nvtx3/)?nvToolsExt[\w.]*' file not found", "the profiler's ranges are not supported"),
        (r"'cuda_gl_interop\.h' file not found", "graphics interoperability is not supported"),
        (r"'helper_\w+\.h' file not found", "it is one of CUDA's samples' own: -I names its folder"),
    )
)


def with_reasons(diagnostics: str) -> str:
    for pattern, reason in _REASONS:
        diagnostics = pattern.sub(rf"\1 ({reason})", diagnostics)
    return diagnostics


class CompileError(SourceError):
    """A source that clang refuses. `diagnostics` is clang's whole text, warnings and notes included; the message and
    the place are those of its first error."""

    def __init__(self, diagnostics: str) -> None:
        diagnostics = with_reasons(diagnostics.strip())
        first = _DIAGNOSTIC.search(diagnostics)
        if first is not None:
            super().__init__(first["message"], first["file"], int(first["line"]), int(first["column"]))
        else:
            bare = _ANY_ERROR.search(diagnostics)
            super().__init__(
                bare[1] if bare is not None else diagnostics.splitlines()[-1] if diagnostics else "clang failed"
            )
        self.diagnostics = diagnostics.removeprefix("error: ")  # of one that has no place

    def __str__(self) -> str:
        return self.diagnostics or self.message


@dataclass(frozen=True)
class Clang:
    """A clang: the command that takes `-cc1 ...`, and the driver commands of C++ and C for this machine's host."""

    command: tuple[str, ...]
    cxx: tuple[str, ...]
    c: tuple[str, ...]
    version: int
    bundled: bool  # inside the ziglang package, which brings the host's headers and libraries, too
    zig_links: bool = False  # with zig's linker, which refuses some options of others

    def cc1(self, arguments: list[str], text: str | None = None, files: tuple[int, ...] = ()) -> tuple[bytes, str]:
        """Runs `clang -cc1`, with `text` as standard input; `files` are open files that it reads. (What it wrote to
        standard output, its warnings.)

        Raises CompileError with its diagnostics, UnsupportedError where it does not start or know the target.
        """
        given = None if text is None else text.encode("utf-8", "surrogateescape")
        try:
            done = subprocess.run([*self.command, "-cc1", *arguments], input=given, capture_output=True, pass_fds=files)
        except OSError as failure:
            raise UnsupportedError(f"cannot run {self.command[0]}: {failure.strerror}") from failure
        diagnostics = done.stderr.decode("utf-8", "replace")
        unknown = _UNKNOWN_TARGET.search(diagnostics)
        if unknown is not None:
            raise UnsupportedError(f"target {unknown[1]}: this clang does not know it; {EXPECTED_TARGET}")
        if done.returncode:
            raise CompileError(diagnostics)
        return done.stdout, diagnostics


def run(command: list[str], warnings: list[str]) -> None:
    """Runs a compiler or linker. Raises CompileError with what it says."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL)
    except OSError as failure:
        raise UnsupportedError(f"cannot run {command[0]}: {failure.strerror}") from failure
    if done.returncode:
        raise CompileError(done.stderr)
    if done.stderr.strip():
        warnings.append(done.stderr)


def ziglang() -> str | None:
    """The compiler inside the ziglang package, or None where it is not installed."""
    spec = importlib.util.find_spec("ziglang")
    if spec is None or spec.origin is None:
        return None
    zig = os.path.join(os.path.dirname(spec.origin), "zig")
    return zig if os.path.isfile(zig) else None


def version_of(command: list[str]) -> int:
    """The major version that `clang --version` tells; 0 for what is no clang."""
    try:
        told = subprocess.run([*command, "--version"], capture_output=True, text=True).stdout
    except OSError:
        return 0
    found = re.search(r"clang version (\d+)", told)
    return int(found[1]) if found else 0


def find_clang() -> Clang:
    """The clang that compiles. Raises UnsupportedError that says what to install."""
    return clang_for(os.environ.get("DRAWLOOM_CLANG", ""), os.environ.get("PATH", ""))


@cache
def clang_for(chosen: str, path: str) -> Clang:
    if chosen:
        version = version_of([chosen])
        if version < OLDEST:
            raise UnsupportedError(f"DRAWLOOM_CLANG={chosen}: expected the path of clang {OLDEST} or later")
        return on_path(chosen, version)
    there = shutil.which("clang", path=path)
    if there is not None:
        version = version_of([there])
        if version >= OLDEST:
            return on_path(there, version)
    zig = ziglang()
    if zig is None:
        raise UnsupportedError(NO_CLANG)
    if shutil.which("g++", path=path) is not None:  # its headers, libraries and linker; zig would first build its own
        host = (zig, "clang", "--target=x86_64-linux-gnu", "-resource-dir", os.path.join(os.path.dirname(zig), "lib"))
        return Clang((zig, "clang"), (*host, "--driver-mode=g++"), host, version_of([zig, "clang"]), True)
    target = ("-target", ZIG_HOST)
    return Clang((zig, "clang"), (zig, "c++", *target), (zig, "cc", *target), version_of([zig, "clang"]), True, True)


def on_path(clang: str, version: int) -> Clang:
    return Clang((clang,), (clang, "--driver-mode=g++"), (clang,), version, False)


@cache
def cccl_folders() -> tuple[str, ...]:
    """Return the folder of Thrust's, CUB's and libcu++'s headers where the nvidia-cuda-cccl package is installed."""
    spec = importlib.util.find_spec("nvidia")
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
    found = [folder for place in places for layout in CCCL_LAYOUTS for folder in sorted(Path(place).glob(layout))]
    return tuple(str(folder) for folder in reversed(found) if (folder / "cub").is_dir())[:1]


@cache
def host_headers(clang: Clang) -> tuple[str, ...]:
    """The -cc1 options under which the host's C++ and C headers are found, with the macros that they need: those that
    clang's driver would give. Device code sees the host's headers, too (seed 004, section 2.2)."""
    shown = subprocess.run(
        [*clang.cxx, "-v", "-E", "-x", "c++", os.devnull], capture_output=True, text=True, stdin=subprocess.DEVNULL
    ).stderr
    command = next((line for line in shown.splitlines() if " -cc1 " in line), "")
    words = shlex.split(command)
    found: list[str] = []
    for option, value in pairwise(words):
        if option in ("-isystem", "-internal-isystem", "-internal-externc-isystem", "-resource-dir") or (
            option == "-D" and value.startswith(("_LIB", "__GLIBC"))
        ):
            found += [option, value]
    return tuple(found)
