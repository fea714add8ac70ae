"""What tests of library kernels share: kernels laid out as on a GPU, on host devices, and assembling all that ran."""

import subprocess
from functools import lru_cache
from pathlib import Path

import pytest

from drawloom.horse.kernels import rows, scan
from drawloom.horse.kernels.device import DeviceKernels
from drawloom.runtime import device
from drawloom.sass.assemble import assemble

SIZES = [0, 1, 31, 32, 33, 97, 997, 1024, 4096]


@lru_cache(maxsize=8)
def kernels_on(name: str, geometry: str = "") -> DeviceKernels:
    """Shared by tests, so that a kernel is compiled once; ``geometry`` keeps those of another one apart."""
    return DeviceKernels(device(name))


def as_on_a_gpu(patch: pytest.MonkeyPatch, name: str) -> DeviceKernels:
    """A host device whose blocks have several warps from here on, as GPUs' have."""
    for user in (rows, scan):
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
