"""Builds and wraps the other sides of the kernel benchmarks: C with OpenMP, Numba, OpenCL on PoCL."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common.timing import ROOT
from drawloom.cpu.engine import FEATURE_SETS, HOST

PEERS = ROOT / "benchmarks" / "peers"
BUILD = ROOT / "build" / "benchmarks"
GCC = "gcc -O3 -march={march} -fopenmp -fno-math-errno -fno-trapping-math -shared -fPIC {source} -o {out} -lmvec -lm"


class Missing(Exception):
    """A peer that cannot run here; the text says what is missing."""


def compared_level() -> str:
    """The -march of a peer: what DRAWLOOM_CPU_FEATURES has our kernels compiled for."""
    return FEATURE_SETS[os.environ.get("DRAWLOOM_CPU_FEATURES") or HOST] or "native"


class CPeer:
    """peers/kernels.c built by gcc; NumPy arrays pass as pointers, Python floats as float, integers as int."""

    def __init__(self, threads: int) -> None:
        if shutil.which("gcc") is None:
            raise Missing("gcc is not installed")
        source = PEERS / "kernels.c"
        BUILD.mkdir(parents=True, exist_ok=True)
        command = GCC.replace("{march}", compared_level())
        key = hashlib.sha256(source.read_bytes() + command.encode()).hexdigest()[:16]
        library = BUILD / f"kernels-{key}.so"
        if not library.exists():
            scratch = library.with_suffix(f".{os.getpid()}")
            subprocess.run(command.format(source=source, out=scratch).split(), check=True)
            scratch.rename(library)
        self.library = ctypes.CDLL(str(library))
        self.library.set_threads(ctypes.c_int(threads))

    def call(self, name: str, *arguments: object) -> Callable[[], None]:
        """Prepares a call: what is timed is the bare foreign call."""
        function = getattr(self.library, name)
        converted = [c_argument(value) for value in arguments]
        return lambda: function(*converted)


def c_argument(value: object) -> Any:
    if isinstance(value, np.ndarray):
        return ctypes.c_void_p(value.ctypes.data)
    return ctypes.c_float(value) if isinstance(value, float) else ctypes.c_int(value)  # type: ignore[arg-type]


class NumbaPeer:
    """peers/numba_kernels.py; Python floats pass as float32."""

    def __init__(self, threads: int) -> None:
        try:
            import numba
        except ImportError as error:
            raise Missing("numba is not installed") from error
        from benchmarks.peers import numba_kernels

        numba.set_num_threads(min(threads, os.cpu_count() or 1))
        self.module = numba_kernels

    def call(self, name: str, *arguments: object) -> Callable[[], None]:
        function = getattr(self.module, name)
        converted = [np.float32(a) if isinstance(a, float) else a for a in arguments]
        return lambda: function(*converted)


class OpenCLPeer:
    """peers/kernels.cl on PoCL's CPU device, on the very memory of the arrays (CL_MEM_USE_HOST_PTR)."""

    def __init__(self, threads: int) -> None:
        os.environ["POCL_MAX_PTHREAD_COUNT"] = str(threads)
        try:
            import pyopencl as cl
        except ImportError as error:
            raise Missing("pyopencl is not installed") from error
        try:
            platforms = cl.get_platforms()
        except cl.Error:
            platforms = []
        pocl = [p for p in platforms if "Portable Computing Language" in p.name]
        if not pocl:
            raise Missing("PoCL is not installed (pip install pocl-binary-distribution)")
        self.cl = cl
        self.context = cl.Context(pocl[0].get_devices()[:1])
        self.queue = cl.CommandQueue(self.context)
        self.program = cl.Program(self.context, (PEERS / "kernels.cl").read_text()).build()
        self.version = pocl[0].version

    def call(
        self, name: str, groups: tuple[int, ...], local: tuple[int, ...], *arguments: object
    ) -> Callable[[], None]:
        """Prepares a launch of `groups` work-groups; what is timed is the launch and the wait for its end."""
        cl = self.cl
        kernel = cl.Kernel(self.program, name)
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.USE_HOST_PTR
        converted: list[object] = []
        for value in arguments:
            if isinstance(value, np.ndarray):
                converted.append(cl.Buffer(self.context, flags, hostbuf=value))
            else:
                converted.append(np.float32(value) if isinstance(value, float) else np.int32(value))  # type: ignore[arg-type]
        kernel.set_args(*converted)
        size = tuple(g * n for g, n in zip(groups, local))

        def launch(keep: object = converted) -> None:  # OpenCL does not hold a kernel's arguments
            cl.enqueue_nd_range_kernel(self.queue, kernel, size, local).wait()

        return launch


class DrawloomPeer:
    """Our own side: the checked-in PTX on the `cpu` device, NumPy arrays passed as they are."""

    def __init__(self, threads: int) -> None:
        os.environ["DRAWLOOM_THREADS"] = str(threads)
        import drawloom

        self.kernels = ROOT / "benchmarks" / "kernels"
        self.load: Callable[..., Any] = drawloom.load
        self.modules: dict[str, Any] = {}

    def call(self, name: str, grid: tuple[int, ...], block: tuple[int, ...], *arguments: object) -> Callable[[], None]:
        module = self.load(self.kernels / f"{name}.ptx", device="cpu")
        self.modules[name] = module
        launch = module[name][grid, block]
        return lambda: launch(*arguments)


def pocl_cache(folder: Path) -> None:
    """Keeps PoCL's compiled kernels in the build folder instead of the user's home."""
    folder.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("POCL_CACHE_DIR", str(folder))
