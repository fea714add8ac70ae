"""Platforms of OpenCL that build nothing are a reason to skip a test, not a failure."""

import pytest

from tests.opencl_platforms import UnusablePlatform, find_device, usable_device


def test_a_platform_that_is_not_installed_is_named() -> None:
    pytest.importorskip("pyopencl")
    with pytest.raises(UnusablePlatform, match="pyopencl has no platform Nowhere"):
        find_device("Nowhere")
    with pytest.raises(pytest.skip.Exception, match="Nowhere"):
        usable_device("Nowhere")


def test_a_platform_that_builds_nothing_is_named_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    pyopencl = pytest.importorskip("pyopencl")

    class Program:
        def __init__(self, context: object, source: str) -> None:
            pass

        def build(self) -> None:
            raise pyopencl.Error("clBuildProgram failed\n\nerror: unknown target CPU 'generic'\n")

    class Device:
        name = "a processor "

    class Platform:
        name = "Refusing Platform"

        def get_devices(self) -> list[Device]:
            return [Device()]

    monkeypatch.setattr(pyopencl, "get_platforms", lambda: [Platform()])
    monkeypatch.setattr(pyopencl, "Context", lambda devices: devices)
    monkeypatch.setattr(pyopencl, "Program", Program)
    expected = "Refusing Platform cannot build a kernel on a processor: error: unknown target CPU 'generic'"
    with pytest.raises(UnusablePlatform, match=expected):
        find_device("Refusing")
