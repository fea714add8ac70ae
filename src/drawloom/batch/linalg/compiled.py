"""Ready kernels as machine code for one size and type, compiled once for each machine and kept on disk.

    solve, 8 x 8, float64  ->  the code of `solve.cl` for eight matrices at once, one in each lane of a vector
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from drawloom.batch.kernels import GROUP_WISE, LINEAR_ALGEBRA, read_text
from drawloom.batch.stored import stored
from drawloom.cpu.vector.machine import Loaded, host, vector_bits
from drawloom.runtime.ranges import run_ranges

Array = NDArray[Any]
Arrays = tuple[Array, ...]

KERNELS: Final = {**GROUP_WISE, **LINEAR_ALGEBRA}
#: The type that kernels compute in, as NumPy does for float32 as well, and the types that arrays may have.
REAL: Final = "double"
STORED: Final = {"f": "float", "d": "double"}
NUMBERS: Final[dict[type, Any]] = {float: ctypes.c_double, int: ctypes.c_int}
#: Multiplications that are worth a thread: some tens of microseconds of work.
LEAST_WORK: Final = 500_000


class Layout(NamedTuple):
    """How lanes lie in vectors (`backends/layout.py`): the order, and how many matrices run together."""

    order: str
    pack: int


class Variant(NamedTuple):
    """One kernel for one size: macros are sorted pairs of a name and its text."""

    name: str
    size: int
    real: str
    macros: tuple[tuple[str, str], ...]
    layout: Layout


class ReadyKernel:
    """The machine code of a variant. Calls take contiguous arrays whose first dimension is the batch, and numbers."""

    def __init__(self, variant: Variant) -> None:
        self.variant = variant
        self.loaded = Loaded(load_code(variant), [KERNELS[variant.name]])
        self.address = self.loaded.addresses[KERNELS[variant.name]]

    def __call__(self, count: int, inputs: Arrays, outputs: Arrays, *numbers: float | int) -> None:
        """Run the kernel for `count` matrices; `outputs` are written.

        Args:
            count: The length of the first dimension of every array.
            inputs: Arrays for the kernel's first parameters.
            outputs: Arrays for the parameters after them.
            numbers: The last parameters: a double for a float, an int for an int.
        """
        pack = self.variant.layout.pack
        whole = count - count % pack
        work = self.variant.size**3 * pack
        run = self.bind((*inputs, *outputs), numbers)
        run_ranges(run, 0, whole, pack, max(1, LEAST_WORK // work))
        if whole < count:
            self.run_rest(whole, count, inputs, outputs, numbers)

    def bind(self, arrays: Arrays, numbers: tuple[float | int, ...]) -> Any:
        """Return a function of the first matrix and the one after the last."""
        types = [*[ctypes.c_void_p] * len(arrays), *[NUMBERS[type(number)] for number in numbers]]
        function = ctypes.CFUNCTYPE(None, *types, ctypes.c_int64, ctypes.c_int64)(self.address)
        fixed = (*[array.ctypes.data for array in arrays], *numbers)
        return lambda first, last: function(*fixed, first, last)

    def run_rest(
        self, first: int, last: int, inputs: Arrays, outputs: Arrays, numbers: tuple[float | int, ...]
    ) -> None:
        """Run the matrices that fill no pack in copies; the last one fills the pack up."""
        pack = self.variant.layout.pack
        chosen = np.arange(first, first + pack).clip(max=last - 1)
        copies = tuple(array[chosen] for array in inputs)
        results = tuple(np.empty((pack, *array.shape[1:]), array.dtype) for array in outputs)
        self.bind((*copies, *results), numbers)(0, pack)
        for array, result in zip(outputs, results):
            array[first:last] = result[: last - first]


_kernels: Final[dict[Any, ReadyKernel]] = {}
_lock: Final = threading.Lock()


def ready_kernel(name: str, size: int, stored: str, order: str, macros: Mapping[str, int] | None = None) -> ReadyKernel:
    """Return the machine code of a ready kernel for this CPU, compiled where neither process nor disk has it.

    Args:
        name: The kernel.
        size: The work-items of a group, which are the rows of a matrix.
        stored: The type code of the arrays, "f" or "d"; "F" computes in float, too.
        order: How lanes lie in vectors. "interleaved" runs as many matrices together as a vector has lanes.
        macros: Further macros of the kernel's text.
    """
    real = "float" if stored == "F" else REAL
    defined = {"real": real, "stored": STORED[stored.lower()]}
    defined |= {macro: str(value) for macro, value in (macros or {}).items()}
    lanes = lanes_of(real)
    layout = Layout(order, lanes if order == "interleaved" else 1)
    variant = Variant(name, size, real, tuple(sorted(defined.items())), layout)
    key = (variant, host().key)
    with _lock:
        known = _kernels.get(key)
        if known is None:
            known = _kernels[key] = ReadyKernel(variant)
        return known


def lanes_of(real: str) -> int:
    """Return how many numbers fill a vector register."""
    return vector_bits() // (32 if real == "float" else 64)


def load_code(variant: Variant) -> bytes:
    """Return the object code of a variant, from the disk cache where it is there."""
    text = read_text(variant.name)
    return stored(lambda: compile_variant(variant, text), repr(variant), text)


def compile_variant(variant: Variant, text: str) -> bytes:
    # Imported here: a kernel that is on disk needs neither the parser nor LLVM's IR.
    from drawloom.batch.backends.native import NativeCode, object_code
    from drawloom.batch.frontend.lower import lower
    from drawloom.batch.frontend.parser import parse_file

    file = f"{variant.name}.cl"
    kernels = parse_file(text, wg_size=variant.size, defines=dict(variant.macros), file=file)
    lowered = lower(kernels[KERNELS[variant.name]])
    order, pack = variant.layout
    return object_code(NativeCode(lowered, order, pack, lanes_of(variant.real)).text)
