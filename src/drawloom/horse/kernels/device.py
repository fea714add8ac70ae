"""The kernels of library functions on one device: generated and loaded when first needed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from drawloom.horse.kernels.workspace import Workspace
from drawloom.horse.values import RawText, Value, Vector
from drawloom.ptx.ir import Module
from drawloom.runtime.machine import Device
from drawloom.runtime.module import Kernel
from drawloom.runtime.optimiser import DEFAULT_LEVEL, chosen_level


def level_for(device: Device) -> int:
    """How much is optimised of kernels that are generated: for the host nothing, as LLVM finds there what the passes
    find, in the same time (docs/opt.md)."""
    return chosen_level(None, 0 if device.is_host else DEFAULT_LEVEL)


class DeviceKernels:
    """A device, its memory, and the kernels that were loaded on it."""

    def __init__(
        self, device: Device, workspace: Workspace | None = None, loaded: dict[str, Kernel] | None = None
    ) -> None:
        self.device = device
        self.workspace = Workspace(device) if workspace is None else workspace
        self.loaded: dict[str, Kernel] = {} if loaded is None else loaded
        if workspace is None and not device.is_host:
            # Nothing that has the workspace: its memory on the device goes with the last reference, not when Python
            # next looks for cycles.
            self.workspace.encode = partial(encode_text, self.loaded)

    def kernel(self, name: str, make: Callable[[str], Module]) -> Kernel:
        """The kernel ``name`` of the module that ``make(name)`` gives; the name says all that it was generated for."""
        found = self.loaded.get(name)
        if found is None:
            from drawloom.runtime import load

            found = load(make(name), device=self.device, level=level_for(self.device), reinterpret=True)[name]
            found.stream = self.workspace.stream
            self.loaded[name] = found
        return found


def encode_text(loaded: dict[str, Kernel], workspace: Workspace, vector: Vector) -> None:
    """Gives a text without codes those, where kernels do so faster than the host."""
    if isinstance(vector.deferred, RawText):
        from drawloom.horse.kernels.dictionary import encode

        encode(DeviceKernels(workspace.device, workspace, loaded), vector)


#: Builtins by name with what calls their kernels; that gives None for operands that none of them takes.
LibraryCalls = dict[str, Callable[[DeviceKernels, list[Value]], Value | None]]
