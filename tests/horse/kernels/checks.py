"""What tests of library kernels share: kernels laid out as on a GPU, on host devices, and assembling all that ran."""

import subprocess
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from drawloom.horse.kernels import bitonic, radix, rows, scan
from drawloom.horse.kernels.device import DeviceKernels
from drawloom.horse.kernels.library import CALLS
from drawloom.horse.library import call
from drawloom.horse.types import BOOL, DATE, F32, F64, I32, I64, STR, DecimalType
from drawloom.horse.values import ListValue, Ragged, Value, Vector, strings
from drawloom.horse.words import words_of
from drawloom.runtime import device
from drawloom.sass.assemble import assemble

SIZES = [0, 1, 31, 32, 33, 97, 997, 1024, 4096]


@lru_cache(maxsize=8)
def kernels_on(name: str, geometry: str = "") -> DeviceKernels:
    """Shared by tests, so that a kernel is compiled once; ``geometry`` keeps those of another one apart."""
    return DeviceKernels(device(name))


def as_on_a_gpu(patch: pytest.MonkeyPatch, name: str) -> DeviceKernels:
    """A host device whose blocks have several warps from here on, as GPUs' have."""
    for user in (bitonic, radix, rows, scan):
        patch.setattr(user, "tile_for", lambda device: rows.Tile(256, 4))
    return kernels_on(name, "gpu")


def assembled(kernels: DeviceKernels) -> int:
    """How many kernels were loaded; each has been assembled for two GPUs."""
    for kernel in kernels.loaded.values():
        for target in ("sm_80", "sm_90"):
            assemble(str(kernel.module.ptx), target)
    return len(kernels.loaded)


def taken_by_the_vendor(kernels: DeviceKernels, ptxas: str, folder: Path) -> None:
    for name, kernel in kernels.loaded.items():
        path = folder / f"{name}.ptx"
        path.write_text(str(kernel.module.ptx))
        done = subprocess.run([ptxas, "-arch=sm_80", str(path), "-o", "/dev/null"], capture_output=True, text=True)
        assert done.returncode == 0, f"{name}: {done.stderr}"


def vectors(size: int, seed: int = 0) -> dict[str, Vector]:
    """Columns of every kind that kernels take, with repeats, and floats with NaN, infinities and both zeros."""
    rng = np.random.default_rng(seed * 1000 + size)
    words = words_of(["", "a", "bb", "é", "zz"])
    odd = np.array([0.0, -0.0, 1.5, -1.5, np.nan, np.inf, -np.inf, 1e30, -1e-300])
    return {
        "i8": Vector(I64, rng.integers(-128, 128, size).astype(np.int8)),
        "i16": Vector(I64, rng.integers(-3, 4, size).astype(np.int16)),
        "i32": Vector(I32, rng.integers(-(2**31), 2**31, size).astype(np.int32)),
        "i64": Vector(I64, rng.integers(-(2**63), 2**63 - 1, size)),
        "decimal": Vector(DecimalType(15, 2), rng.integers(-(10**6), 10**6, size)),
        "date": Vector(DATE, rng.integers(8000, 10000, size).astype(np.int16)),
        "f32": Vector(F32, rng.choice(odd, size).astype(np.float32)),
        "f64": Vector(F64, np.where(rng.random(size) < 0.5, rng.choice(odd, size), rng.normal(size=size))),
        "bool": Vector(BOOL, rng.random(size) < 0.5),
        "str": Vector(STR, rng.integers(0, 5, size).astype(np.int8), words),
        "equal": Vector(I64, np.full(size, 7)),
        "ascending": Vector(I64, np.sort(rng.integers(-9, 9, size))),
        "descending": Vector(F64, -np.sort(rng.normal(size=size))),
    }


def plain(value: Value) -> object:
    """What a value says, NaN being equal to itself."""
    if isinstance(value, Ragged):
        return ["ragged", plain(value.flat), value.offsets.tolist()]
    if isinstance(value, ListValue):
        return [plain(cell) for cell in value.cells]
    assert isinstance(value, Vector)
    entries = strings(value) if value.type.kind == "text" else value.data.tolist()
    return [str(value.type), ["nan" if e != e else e for e in entries]]


def same_as_host(kernels: DeviceKernels, name: str, *arguments: Value) -> Value:
    """The kernels' value of ``@name``, which is the host's."""
    made = CALLS[name](kernels, list(arguments))
    assert made is not None, f"no kernel takes @{name}"
    assert plain(made) == plain(call(name, list(arguments)))
    return made
