"""Arrays behind which a page lies that nobody may touch: a kernel that runs over their end gets an error with the
address, where it would overwrite what else the process has.
"""

import ctypes
import math
import mmap
from typing import Any, Final

import numpy as np
import numpy.typing as npt

#: What arrays are aligned to and padded with, as a GPU's allocator does; nobody notices a step into the padding.
ALIGNMENT: Final = 256
_PROT_NONE: Final = 0


def zeros(shape: tuple[int, ...], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """An array of zeros in C order, whose pages the machine gives when they are first touched. Raises MemoryError."""
    padded = -(-math.prod(shape) * dtype.itemsize // ALIGNMENT) * ALIGNMENT
    fence = -(-padded // mmap.PAGESIZE) * mmap.PAGESIZE
    try:
        memory = mmap.mmap(-1, fence + mmap.PAGESIZE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError as refusal:
        raise MemoryError(str(refusal)) from refusal
    address = np.frombuffer(memory, np.uint8).ctypes.data
    if ctypes.CDLL(None).mprotect(ctypes.c_void_p(address + fence), mmap.PAGESIZE, _PROT_NONE):
        raise MemoryError("no page can be fenced off")
    return np.ndarray(shape, dtype, memory, fence - padded)


def copy(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The same numbers, in C order and this machine's byte order. Raises MemoryError."""
    made = zeros(array.shape, array.dtype.newbyteorder("="))
    made[...] = array
    return made
