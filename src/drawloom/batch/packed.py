"""Batches in the packed layout: equal elements of as many matrices as a vector has lanes, side by side.

    NumPy:   a[item, row, column]
    packed:  data[item // lanes, row, column, item % lanes]

A kernel loads an element of all matrices of a pack as one vector, with nothing to transpose. Who calls several kernels
on the same batch packs it once.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from drawloom.batch.options import as_whole_number
from drawloom.cpu.vector.machine import vector_bits
from drawloom.errors import DataError

#: Lanes that a pack may have.
MOST_LANES: Final = 64
#: The kinds of NumPy's element types that are numbers.
NUMBER_KINDS: Final = "biufc"


class Packed:
    """A batch in the packed layout. `data` has the shape (packs, *shape, lanes); the lanes beyond the last item hold
    copies of it, which kernels compute with and nobody reads.

    DLPack consumers (`torch.from_dlpack`) see `data`.
    """

    def __init__(self, data: NDArray[Any], count: int) -> None:
        self.data = data
        self.count = count

    @property
    def lanes(self) -> int:
        return int(self.data.shape[-1])

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the unpacked array."""
        return (self.count, *self.data.shape[1:-1])

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.data.dtype

    def __len__(self) -> int:
        return self.count

    def __repr__(self) -> str:
        return f"<packed array {self.shape} of {self.dtype}, {self.lanes} lanes>"

    def __dlpack__(self, **options: Any) -> Any:
        return self.data.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.data.__dlpack_device__()

    def unpack(self) -> NDArray[Any]:
        """Return the batch as an array of NumPy's layout, a copy."""
        whole, *shape, lanes = self.data.shape
        return np.moveaxis(self.data, -1, 1).reshape(whole * lanes, *shape)[: self.count].copy()


def pack(array: Any, lanes: int | None = None) -> Packed:
    """Copy a batch into the packed layout.

    Args:
        array: Items along the first dimension.
        lanes: How many items lie side by side; as many as fill a vector register of this CPU otherwise. All packed
            arguments of a call have the same.

    Raises:
        DataError: The array is packed already, has no dimension or other elements than numbers, or the lanes are not a
            whole number from 1 to 64.

    Example:
        >>> import numpy as np
        >>> packed = pack(np.arange(6.0).reshape(3, 2), lanes=2)
        >>> packed.data
        array([[[0., 2.],
                [1., 3.]],
        <BLANKLINE>
               [[4., 4.],
                [5., 5.]]])
        >>> packed.unpack()
        array([[0., 1.],
               [2., 3.],
               [4., 5.]])
    """
    items = as_items(array)
    if lanes is None:
        lanes = max(1, vector_bits() // (8 * items.itemsize))
    lanes = as_whole_number("lanes", lanes)
    if not 1 <= lanes <= MOST_LANES:
        raise DataError(f"lanes is {lanes!r}\n  expected 1 to {MOST_LANES}")
    count = len(items)
    data = np.empty((-(-count // lanes), *items.shape[1:], lanes), items.dtype)
    whole = count // lanes
    data[:whole] = np.moveaxis(items[: whole * lanes].reshape(whole, lanes, *items.shape[1:]), 1, -1)
    if whole < len(data):
        rest = items[whole * lanes :]
        data[whole, ..., : len(rest)] = np.moveaxis(rest, 0, -1)
        data[whole, ..., len(rest) :] = rest[-1][..., None]
    return Packed(data, count)


def as_items(array: Any) -> NDArray[Any]:
    """Return what is to be packed as an array of numbers with a dimension at least."""
    if isinstance(array, Packed):
        raise DataError("the array is packed already\n  expected an array in NumPy's layout")
    try:
        items = np.asarray(array)
    except (TypeError, ValueError) as refusal:
        raise DataError(f"this cannot be packed: {refusal}\n  expected an array of items") from None
    if items.dtype.kind not in NUMBER_KINDS:
        raise DataError(f"elements of type {items.dtype} cannot be packed\n  expected numbers")
    if not items.ndim:
        raise DataError("a single number cannot be packed\n  expected an array of items")
    return items
