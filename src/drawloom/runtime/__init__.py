"""Devices, modules, kernels, launches, buffers and streams: the part that picks a back end and drives it.

Names are loaded when they are first used: `drawloom devices` needs no back end, a kernel cache no NumPy.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from drawloom.runtime.buffers import Buffer as Buffer
    from drawloom.runtime.buffers import pinned_array as pinned_array
    from drawloom.runtime.cache import DiskCache as DiskCache
    from drawloom.runtime.machine import Device as Device
    from drawloom.runtime.machine import device as device
    from drawloom.runtime.machine import devices as devices
    from drawloom.runtime.module import Kernel as Kernel
    from drawloom.runtime.module import Launch as Launch
    from drawloom.runtime.module import Module as Module
    from drawloom.runtime.module import load as load
    from drawloom.runtime.streams import Event as Event
    from drawloom.runtime.streams import Stream as Stream

# Public name -> the module that defines it.
LAZY_NAMES: Final[dict[str, str]] = {
    "Buffer": "buffers",
    "Device": "machine",
    "DiskCache": "cache",
    "Event": "streams",
    "Kernel": "module",
    "Launch": "module",
    "Module": "module",
    "Stream": "streams",
    "device": "machine",
    "devices": "machine",
    "load": "module",
    "pinned_array": "buffers",
}


def __getattr__(name: str) -> object:
    if name not in LAZY_NAMES:
        raise AttributeError(f"module 'drawloom.runtime' has no attribute '{name}'")
    value: object = getattr(import_module("drawloom.runtime." + LAZY_NAMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *LAZY_NAMES})
