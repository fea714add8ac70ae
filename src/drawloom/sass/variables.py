"""The variables of a module: from PTX declarations to what stands in the cubin, and where code finds them.

Constants have offsets in bank 3, which code names directly. Addresses of global variables stand in bank 4, 8 bytes
each in the order in which kernels first read one; the loader fills them in.
"""

from __future__ import annotations

from typing import Final

from drawloom.errors import UnsupportedError, VerifyError
from drawloom.ptx.ir import Immediate, InitializerItem, Module, Variable
from drawloom.ptx.layout import literal_bytes
from drawloom.sass.assembly import CONST, GLOBAL, LOCAL, SHARED, VISIBLE, WEAK, Relocation
from drawloom.sass.assembly import Variable as Placed
from drawloom.sass.cubin_layout import place_variables

_LINKAGES: Final[dict[str, str]] = {"": LOCAL, ".visible": VISIBLE, ".extern": VISIBLE, ".weak": WEAK, ".common": WEAK}
_ADDRESS_BYTES: Final = 8
#: In a relocatable file: the words of an address in an instruction, by the variable's space.
_ADDRESS_KINDS: Final[dict[str, list[str]]] = {
    GLOBAL: ["R_CUDA_ABS32_LO_32", "R_CUDA_ABS32_HI_32"], CONST: ["R_CUDA_ABS16_32"], SHARED: ["R_CUDA_ABS32_32"],
}  # fmt: skip
#: The same for sm_61.
_EARLY_KINDS: Final[dict[str, list[str]]] = {
    GLOBAL: ["R_CUDA_ABS32_LO_20", "R_CUDA_ABS32_HI_20"], CONST: ["R_CUDA_ABS16_20"], SHARED: ["R_CUDA_ABS24_20"],
}  # fmt: skip


class Variables:
    """The ``.global`` and ``.const`` variables of a module. `constants` has the offsets in bank 3 by name,
    `constant_bytes` the size of that bank; `functions` the numbers that are the addresses of functions."""

    def __init__(
        self, module: Module, functions: dict[str, int] | None = None, relocatable: bool = False, target: int = 90
    ) -> None:
        self.module = module
        self.relocatable = relocatable
        self.target = target
        self.functions: dict[str, int] = functions or {}
        #: The addresses that are numbers: places in constant memory, and functions. A linker has none of them yet.
        self.numbers: dict[str, int] = {}
        self.addresses: dict[str, int] = {}
        self.constants: dict[str, int] = {}
        self.placed: list[Placed] = []
        spaces = (GLOBAL, CONST, SHARED) if relocatable else (GLOBAL, CONST)
        chosen = [v for v in module.variables.values() if v.space in spaces]
        for variable in chosen:
            placed = Placed(
                variable.name, variable.space, variable.size, variable.alignment,
                linkage=_LINKAGES[variable.linkage], is_defined=variable.linkage != ".extern",
                is_managed=".managed" in variable.attributes,
            )  # fmt: skip
            if not placed.is_defined and not relocatable:
                self.refuse(variable, f"'{variable.name}' is defined in another module")
            self.placed.append(placed)
        place_variables([p for p in self.placed if p.space == CONST])
        self.constants = {p.name: p.offset for p in self.placed if p.space == CONST}
        if not relocatable:
            self.numbers = {**self.functions, **self.constants}
        ends = [p.offset + p.size for p in self.placed if p.space == CONST]
        self.constant_bytes = max(ends, default=0)
        for variable, placed in zip(chosen, self.placed, strict=True):
            if variable.initializer is not None:
                self.initialize(placed, variable)

    def address(self, name: str) -> int:
        """Where in bank 4 the address of a global variable stands. Raises UnsupportedError for anything else."""
        known = self.addresses.get(name)
        if known is None:
            variable = self.module.variables.get(name)
            if variable is None or variable.space != GLOBAL:
                raise UnsupportedError(f"the address of '{name}' is not supported by the assembler yet")
            known = self.addresses[name] = _ADDRESS_BYTES * len(self.addresses)
        return known

    def kinds(self, name: str, target: int) -> list[str]:
        """How a linker puts each word of an address into an instruction; none for what has no address here."""
        kinds = _ADDRESS_KINDS if target >= 75 else _EARLY_KINDS
        if name in self.module.functions and target < 75:
            return kinds[GLOBAL]
        if name in self.module.functions:
            kind = "UNIFIED32" if target >= 90 else "ABS32"
            return [f"R_CUDA_{kind}_LO_32", f"R_CUDA_{kind}_HI_32"]
        variable = self.module.variables.get(name)
        space = "" if variable is None else variable.space
        return kinds.get(space, [])

    def external(self, name: str) -> int:
        """Where in bank 4 the address of a function of another file stands."""
        known = self.addresses.get(name)
        if known is None:
            known = self.addresses[name] = _ADDRESS_BYTES * len(self.addresses)
        return known

    def relocations(self) -> list[Relocation]:
        """Bank 4, last address first as the driver's assembler lists them."""
        return [Relocation(at, "R_CUDA_64", name) for name, at in reversed(self.addresses.items())]

    def initialize(self, placed: Placed, variable: Variable) -> None:
        """The bytes of an initialiser, and relocations where they are addresses of global memory."""
        assert variable.initializer is not None
        data = bytearray(placed.size)
        width = variable.type.bytes
        for n, item in enumerate(variable.initializer):
            if isinstance(item.value, Immediate):
                data[n * width : (n + 1) * width] = literal_bytes(item.value, variable.type)
            else:
                self.put_address(placed, variable, n * width, item, data)
        placed.data = bytes(data)

    def put_address(self, placed: Placed, variable: Variable, at: int, item: InitializerItem, data: bytearray) -> None:
        """A symbol as an element: constants have numbers, what is in global memory waits for the loader."""
        symbol = item.value
        assert not isinstance(symbol, Immediate)
        width = variable.type.bytes
        function = self.functions.get(symbol.name)
        if function is not None and self.relocatable:
            if width != 8 or item.mask:
                self.refuse(variable, f"an address of {width} bytes")
            # On sm_61 code stands within 32 bits.
            kind = "R_CUDA_64" if self.target >= 75 else "R_CUDA_32"
            placed.relocations.append(Relocation(at, kind, symbol.name, symbol.offset))
            return
        if function is not None:
            shift = (item.mask & -item.mask).bit_length() - 1 if item.mask else 0
            number = ((function + symbol.offset) & (item.mask or -1)) >> shift
            data[at : at + width] = number.to_bytes(width, "little")
            return
        named = self.module.variables.get(symbol.name)
        if named is None or named.space not in (GLOBAL, CONST):
            raise self.module.error(
                VerifyError, variable.pos, f"the initialiser of '{variable.name}' names '{symbol.name}'",
                "a .global or .const variable of this module",
            )  # fmt: skip
        shift = (item.mask & -item.mask).bit_length() - 1 if item.mask else 0
        if named.space == CONST and not item.generic and self.relocatable:
            self.refuse(variable, f"the place of '{symbol.name}' in constant memory, which a linker chooses")
        if named.space == CONST and not item.generic:
            number = self.constants[symbol.name] + symbol.offset
            number = (number & item.mask) >> shift if item.mask else number
            data[at : at + width] = (number & ((1 << 8 * width) - 1)).to_bytes(width, "little")
        elif item.mask:
            if item.mask >> shift != 0xFF or shift % 8:
                self.refuse(variable, f"the mask {item.mask:#x}")
            placed.relocations.append(Relocation(at, f"R_CUDA_G8_{shift}", symbol.name, symbol.offset))
        elif width in (4, 8):
            placed.relocations.append(Relocation(at, f"R_CUDA_G{8 * width}", symbol.name, symbol.offset))
        else:
            self.refuse(variable, f"an address of {width} bytes")

    def refuse(self, variable: Variable, what: str) -> None:
        place = self.module.error(VerifyError, variable.pos, f"{what}: not supported by the assembler")
        raise UnsupportedError(str(place))
