"""Launching kernels on the reference interpreter from NumPy arrays, as the runtime does for users."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np

from drawloom import reference
from drawloom.ptx import Module, parse
from drawloom.ptx.layout import GlobalsLayout, param_layout

CORPUS = Path(__file__).resolve().parents[1] / "golden" / "corpus"
HEADER = ".version 8.6\n.target sm_100\n.address_size 64\n"


def parameter_block(module: Module, kernel: str, arguments: list[Any]) -> tuple[bytes, list[tuple[int, int]]]:
    """The raw parameters, and the ranges of the arrays among ``arguments``."""
    layout, size = param_layout(module.functions[kernel])
    assert len(layout) == len(arguments)
    block = bytearray(size)
    buffers = []
    for (offset, width, _), argument in zip(layout, arguments, strict=True):
        if isinstance(argument, np.ndarray):
            assert argument.flags.c_contiguous
            buffers.append((argument.ctypes.data, argument.nbytes))
            value = argument.ctypes.data.to_bytes(8, "little")
        elif isinstance(argument, bytes):
            value = argument
        elif isinstance(argument, float):
            value = struct.pack("<f" if width == 4 else "<d", argument)
        else:
            value = (int(argument) & (1 << 8 * width) - 1).to_bytes(width, "little")
        assert len(value) == width
        block[offset : offset + width] = value
    return bytes(block), buffers


def image_of(module: Module) -> tuple[int, np.ndarray, dict[str, int]]:
    """``(address, memory, offsets)`` of the module's variables."""
    layout = GlobalsLayout(module)
    memory = np.zeros(layout.size + 2 * layout.align, np.uint8)
    base = (memory.ctypes.data + layout.align - 1) // layout.align * layout.align
    start = base - memory.ctypes.data
    image = memory[start : start + layout.size]
    image[:] = np.frombuffer(layout.build(base), np.uint8)
    return base, image, layout.offsets


def launch(
    source: str | Path | Module,
    kernel: str,
    grid: tuple[int, ...] | int,
    block: tuple[int, ...] | int,
    *arguments: Any,
    shared: int = 0,
    executed: list[int] | None = None,
    **options: Any,
) -> tuple[np.ndarray, dict[str, int]]:
    """Run ``kernel``; arrays are changed in place. Returns the image of module variables and their offsets; how many
    instructions the threads executed is appended to ``executed``."""
    if isinstance(source, Module):
        module = source
    else:
        text = source.read_text() if isinstance(source, Path) else source
        module = parse(text, source.name if isinstance(source, Path) else "test.ptx")
    params, buffers = parameter_block(module, kernel, list(arguments))
    base, image, offsets = image_of(module)
    if image.nbytes:
        buffers.append((base, image.nbytes))
    count = reference.run(
        module, kernel, _dims(grid), _dims(block), params, shared_bytes=shared, image_base=base, buffers=buffers,
        **options,
    )  # fmt: skip
    if executed is not None:
        executed.append(count)
    return image, offsets


def _dims(extent: tuple[int, ...] | int) -> tuple[int, int, int]:
    sizes = (extent,) if isinstance(extent, int) else extent
    x, y, z = (*sizes, 1, 1)[:3]
    return x, y, z


def body_kernel(declarations: str, body: str, params: str = ".param .u64 out") -> str:
    """A module with one kernel ``k`` of the given body."""
    return f"{HEADER}.visible .entry k({params})\n{{\n{declarations}\n{body}\nret;\n}}\n"
