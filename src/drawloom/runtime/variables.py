"""From a module's variables to one image in memory, and NumPy views of the variables in it."""

from typing import Any, Final

import numpy as np

from drawloom.errors import LaunchError, UnsupportedError
from drawloom.ptx.ir import Module, Variable
from drawloom.runtime.guarded import guarded_bytes
from drawloom.runtime.memory import ALLOCATION_ALIGNMENT, Array

#: NumPy's type for each PTX type; bit types and what NumPy lacks (bfloat16) are unsigned integers.
DTYPES: Final[dict[str, str]] = {
    "f16": "<f2",
    "f32": "<f4",
    "f64": "<f8",
    "s8": "<i1",
    "s16": "<i2",
    "s32": "<i4",
    "s64": "<i8",
    "u8": "<u1",
    "u16": "<u2",
    "u32": "<u4",
    "u64": "<u8",
}
IMAGE_SPACES: Final = frozenset({"global", "const"})


def variable_layout(variable: Variable) -> tuple[np.dtype[Any], tuple[int, ...]]:
    """The NumPy type and shape of a variable; vectors and 128-bit values add a last dimension."""
    shape = tuple(variable.shape)
    if variable.vector > 1:
        shape += (variable.vector,)
    type_ = variable.type
    if type_.bits > 64:
        return np.dtype("<u8"), (*shape, type_.bits // 64)
    name = DTYPES.get(type_.name)
    return np.dtype(name if name is not None else f"<u{type_.bytes}"), shape


def find_variable(module: Module, name: str) -> Variable:
    """The module-level variable of that name. Raises KeyError with the names that there are."""
    variable = module.variables.get(name)
    if variable is None or variable.space not in IMAGE_SPACES:
        raise KeyError(f"no variable '{name}' in the module; there are: {', '.join(variable_names(module))}")
    return variable


def variable_names(module: Module) -> list[str]:
    """The module-level variables in global and constant memory, in file order."""
    return [name for name, variable in module.variables.items() if variable.space in IMAGE_SPACES]


def fitted(module: Module, name: str, value: Any) -> Array:
    """`value` as an array of the variable's type and shape. Raises LaunchError when it does not fit."""
    dtype, shape = variable_layout(find_variable(module, name))
    given = np.asarray(value)
    try:
        converted = given.astype(dtype, casting="unsafe" if given.dtype.kind in "iub" else "same_kind")
        if given.dtype.kind in "iub" and not np.array_equal(converted, given):
            raise LaunchError(f"variable {name}: a value is out of range of {dtype.name}")
        return np.ascontiguousarray(np.broadcast_to(converted, shape))
    except (TypeError, ValueError) as refusal:
        raise LaunchError(
            f"variable {name}: got {given.dtype.name}{list(given.shape)}, expected {dtype.name}{list(shape)}"
        ) from refusal


class ModuleImage:
    """The variables of one loaded module in host memory, initialised; their addresses never change."""

    def __init__(self, module: Module) -> None:
        from drawloom.ptx.layout import GlobalsLayout

        layout = GlobalsLayout(module)
        if layout.unresolved:
            raise UnsupportedError(
                f"{module.filename or 'the module'}: external variables that no module defines", layout.unresolved
            )
        self.module = module
        self.offsets: dict[str, int] = dict(layout.offsets)
        self.places = [(offset, size) for _, offset, size in layout.ranges if size]
        self.memory = guarded_bytes(layout.size, max(ALLOCATION_ALIGNMENT, layout.align))
        self.address = self.memory.ctypes.data
        self.memory[:] = np.frombuffer(layout.build(self.address), dtype=np.uint8)

    def ranges(self) -> list[tuple[int, int]]:
        """(address, bytes) of each variable."""
        return [(self.address + offset, size) for offset, size in self.places]

    def view(self, name: str) -> Array:
        """The variable's memory itself."""
        variable = find_variable(self.module, name)
        dtype, shape = variable_layout(variable)
        start = self.offsets[name]
        return self.memory[start : start + variable.size].view(dtype).reshape(shape)

    def write(self, name: str, value: Any) -> None:
        self.view(name)[...] = fitted(self.module, name, value)
