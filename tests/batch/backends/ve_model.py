"""SX-Aurora's C on this machine: compiled with the model of its intrinsics (model/velintrin.h), and loaded."""

import ctypes
import threading
from pathlib import Path
from typing import Any

from drawloom.batch.backends.native import C_TYPES
from drawloom.batch.backends.simd.compiler import OPTIONS, find_c_compiler, load_by
from drawloom.batch.backends.ve.kernel import VeKernel, emit_file

MODEL = Path(__file__).parent / "model"
#: gcc -O0 gives each of thousands of vectors 2 KiB of its own on the stack.
STACK_BYTES = 1 << 30


class ModelKernel(VeKernel):
    """A kernel for SX-Aurora that runs on the model."""

    function: Any = None

    def bind(self, library: ctypes.CDLL) -> None:
        types = [ctypes.c_void_p if p.is_pointer else C_TYPES[p.type] for p in self.kernel.parameters]
        self.library = library
        self.function = library[self.emitted.name]
        self.function.restype = None
        self.function.argtypes = [*types, ctypes.c_int64, ctypes.c_int64]

    def run(self, arguments: list[Any], first: int, last: int) -> None:
        """Run groups first to last - 1, a multiple of the pack; pointers are addresses."""
        threading.stack_size(STACK_BYTES)
        thread = threading.Thread(target=self.function, args=(*arguments, first, last))
        thread.start()
        threading.stack_size(0)
        thread.join()


def command_on_model(*options: str, compiler: tuple[str, ...] = ()) -> list[str]:
    """Return the command of a compilation with the model; more of the compiler's options win. The C compiler is that of
    kernels unless another one is given."""
    return [*(compiler or find_c_compiler()), *OPTIONS, "-O0", f"-I{MODEL}", *options]


def load_text(text: str, *options: str) -> ctypes.CDLL:
    """Compile C for SX-Aurora with the model and load it."""
    return load_by(command_on_model(*options), text)


def load_on_model(kernels: list[ModelKernel], *options: str) -> None:
    """Compile kernels whose functions have different names together, and load them."""
    library = load_text(emit_file([kernel.emitted for kernel in kernels]), *options)
    for kernel in kernels:
        kernel.bind(library)
