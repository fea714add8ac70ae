"""Memory that library kernels read and write: NumPy arrays where the device reads the host's, buffers elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np

from drawloom.horse.types import VectorType
from drawloom.horse.values import Array, Vector
from drawloom.horse.words import Words
from drawloom.runtime import Buffer
from drawloom.runtime.machine import Device

#: What a launch takes for an address: an array on a host device, a buffer on others.
Memory = Any


class Workspace:
    """Memory on one device. What it makes is freed with the last reference to it."""

    def __init__(self, device: Device) -> None:
        self.device = device

    def empty(self, rows: int, dtype: Any) -> Memory:
        """Memory for ``rows`` elements (at least one), whatever it holds."""
        if self.device.is_host:
            return np.empty(max(rows, 1), dtype=dtype)
        return Buffer.alloc(max(rows, 1), dtype, self.device)

    def full(self, rows: int, dtype: Any, value: int) -> Memory:
        """Memory for ``rows`` elements (at least one), all of them ``value``."""
        return self.put(np.full(max(rows, 1), value, dtype=dtype))

    def put(self, array: Array) -> Memory:
        """The array where the device reads it: itself on a host device, a copy on others."""
        return array if self.device.is_host else Buffer.from_array(array, self.device)

    def get(self, memory: Memory, rows: int) -> Array:
        """The first ``rows`` elements as the host reads them."""
        whole: Array = memory if self.device.is_host else memory.to_array()
        return whole[:rows]

    def column(self, vector: Vector, dtype: Any) -> Memory:
        """The vector's elements as ``dtype``, for kernels to read only; text is its codes."""
        data = np.ascontiguousarray(vector.data, dtype=dtype)
        return self.put(data if len(data) else np.zeros(1, dtype=dtype))

    def vector(self, type: VectorType, memory: Memory, rows: int, dictionary: Words | None = None) -> Vector:
        """A vector of the first ``rows`` elements that kernels wrote."""
        return Vector(type, self.get(memory, rows), dictionary)
