"""Finds the OpenCL platforms that pyopencl sees and that can build a kernel on this machine."""

from functools import cache
from typing import Any

import pytest

POCL = "Portable Computing Language"
OCLGRIND = "Oclgrind"


class UnusablePlatform(Exception):
    """An OpenCL platform that is not installed or cannot build a kernel; the text says which and why."""


def usable_device(platform: str) -> Any:
    """Return the first pyopencl device of the platform whose name contains `platform`. Skip the test without one.

    A platform may be installed and still build nothing: PoCL 3.0 refuses processors that are newer than its LLVM.
    """
    try:
        return find_device(platform)
    except UnusablePlatform as reason:
        pytest.skip(str(reason))


@cache
def find_outcome(platform: str) -> Any:
    """Return a device or the reason why there is none: one attempt for all tests of a process."""
    try:
        import pyopencl
    except ImportError:
        return UnusablePlatform("pyopencl is not installed")
    try:
        platforms = pyopencl.get_platforms()
    except pyopencl.Error:
        platforms = []  # the loader reports an error where no platform is installed
    found = next((one for one in platforms if platform in one.name), None)
    if found is None:
        return UnusablePlatform(f"pyopencl has no platform {platform}")
    device = found.get_devices()[0]
    try:
        pyopencl.Program(pyopencl.Context([device]), "kernel void nothing(global int *p) { p[0] = 1; }").build()
    except pyopencl.Error as error:
        reason = next((line for line in str(error).splitlines() if line.startswith("error:")), "no reason given")
        return UnusablePlatform(f"{found.name} cannot build a kernel on {device.name.strip()}: {reason}")
    return device


def find_device(platform: str) -> Any:
    """Return the first device of a platform; raise UnusablePlatform where no kernel can be built for it."""
    outcome = find_outcome(platform)
    if isinstance(outcome, UnusablePlatform):
        raise outcome
    return outcome
