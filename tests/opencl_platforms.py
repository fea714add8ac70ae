"""Finds the OpenCL platforms that pyopencl sees and that can build a kernel on this machine."""

import os
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


def usable_cpu() -> Any:
    """Return a pyopencl device that compiles for the CPU, PoCL's or another platform's. Skip the test without one."""
    try:
        return find_cpu()
    except UnusablePlatform as reason:
        pytest.skip(str(reason))


def find_cpu() -> Any:
    """Return a device that compiles for the CPU; raise UnusablePlatform, with PoCL's reason, where there is none."""
    try:
        return find_device(POCL)
    except UnusablePlatform as reason:
        for name in list_cpu_platforms():
            if not isinstance(find_outcome(name), UnusablePlatform):
                return find_device(name)
        raise reason


def list_cpu_platforms() -> list[str]:
    """Return the names of the installed platforms whose first device is a CPU; Oclgrind only simulates one."""
    names: list[str] = []
    for platform in list_platforms():
        from pyopencl import device_type

        if OCLGRIND not in platform.name and platform.get_devices()[0].type & device_type.CPU:
            names.append(platform.name)
    return names


def list_platforms() -> list[Any]:
    """Return pyopencl's platforms; none where pyopencl is not installed."""
    try:
        import pyopencl
    except ImportError:
        return []
    try:
        found: list[Any] = pyopencl.get_platforms()
    except pyopencl.Error:
        return []  # the loader reports an error where no platform is installed
    return found


@cache
def find_outcome(platform: str) -> Any:
    """Return a device or the reason why there is none: one attempt for all tests of a process."""
    os.environ.setdefault("PYOPENCL_NO_CACHE", "1")  # what is tested is built now, with the options of now
    found = next((one for one in list_platforms() if platform in one.name), None)
    if found is None:
        return UnusablePlatform(f"pyopencl has no platform {platform}, or is not installed")
    import pyopencl

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
