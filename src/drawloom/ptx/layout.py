"""Where variables stand in memory: parameter blocks, the image of module globals, shared and local frames.

Every variable stands at its own alignment, in declaration order, as C structures do (PTX ISA 9.0 section 5.4).
All offsets and sizes are in bytes.
"""

from __future__ import annotations

import struct
from typing import Final

from drawloom.errors import VerifyError
from drawloom.ptx.ir import (
    FLOAT32,
    INT,
    Address,
    Arguments,
    CallTargets,
    Function,
    Immediate,
    InitializerItem,
    Instruction,
    Module,
    Operand,
    Pair,
    Symbol,
    Variable,
    Vector,
)
from drawloom.ptx.isa import CALL, SIDE
from drawloom.ptx.types import Type

#: Function ids are multiples of this, so that a function's "address" is never 0 and never odd.
FUNCTION_ID_STEP: Final = 16
#: Bytes between variables of a module: a cache line, so that code without checks does not share more of them.
RED_ZONE: Final = 64
_FLOAT_BITS: Final = 1 << 64


def align_up(offset: int, alignment: int) -> int:
    """The least multiple of ``alignment`` (a power of two) that is at least ``offset``."""
    return (offset + alignment - 1) & -alignment


def param_layout(function: Function) -> tuple[list[tuple[int, int, int]], int]:
    """``(offset, size, align)`` of every parameter of ``function``, in order, and the size of the whole block."""
    return place(function.params)


def place(variables: list[Variable]) -> tuple[list[tuple[int, int, int]], int]:
    """``(offset, size, align)`` of every variable when they stand one after the other, and the size of all."""
    places: list[tuple[int, int, int]] = []
    end = 0
    for variable in variables:
        alignment = variable.alignment
        offset = align_up(end, alignment)
        places.append((offset, variable.size, alignment))
        end = offset + variable.size
    return places, end


def function_ids(module: Module) -> dict[str, int]:
    """A number like an address for every function of ``module``, for indirect calls: 16, 32, 48 ..."""
    return {name: FUNCTION_ID_STEP * (index + 1) for index, name in enumerate(module.functions)}


def scoped_name(function: Function, variable: Variable) -> str:
    """How a layout calls a variable that is declared in a body (``:`` stands in no PTX name)."""
    return f"{function.name}:{variable.name}"


class GlobalsLayout:
    """All ``.global`` and ``.const`` variables of a module in one image, with ``RED_ZONE`` bytes between them that
    belong to none: checked code tells of accesses past the end of a variable.

    ``offsets`` has the module's variables by name and those that a function body declares by ``scoped_name``.
    ``unresolved`` lists the names that are only declared ``.extern``: they have no place. The ``.const`` variables
    stand behind the others, from ``const_begin`` to ``size``. ``ranges`` are ``(name, offset, size)`` of all that
    have a place.
    """

    def __init__(self, module: Module) -> None:
        self.module = module
        self.offsets: dict[str, int] = {}
        self.ranges: list[tuple[str, int, int]] = []
        self.unresolved: list[str] = []
        self.size = 0
        self.align = 1
        self._placed: list[tuple[Variable, int, Function | None]] = []
        self._add_space("global")
        self.const_begin = self.size
        self._add_space("const")

    def _add_space(self, space: str) -> None:
        for variable in self.module.variables.values():
            if variable.space == space:
                if variable.linkage == ".extern":
                    self.unresolved.append(variable.name)
                else:
                    self._add(variable, variable.name, None)
        for function in self.module.functions.values():
            for variable in function.variables:
                if variable.space == space:
                    self._add(variable, scoped_name(function, variable), function)

    def _add(self, variable: Variable, name: str, function: Function | None) -> None:
        alignment = variable.alignment
        offset = align_up(self.size + RED_ZONE if self._placed else 0, alignment)
        self.offsets[name] = offset
        self.ranges.append((name, offset, variable.size))
        self.size = offset + variable.size
        self.align = max(self.align, alignment)
        self._placed.append((variable, offset, function))

    def build(self, base_address: int) -> bytes:
        """The bytes of the image when it stands at ``base_address``, initialisers and addresses filled in.

        Raises ``VerifyError`` for an initialiser that names a symbol without an address.
        """
        image = bytearray(self.size)
        ids = function_ids(self.module)
        for variable, offset, function in self._placed:
            if variable.initializer is not None:
                step = variable.type.bytes
                parts = [self._item(variable, item, base_address, ids, function) for item in variable.initializer]
                image[offset : offset + step * len(parts)] = b"".join(parts)
        return bytes(image)

    def addresses(self) -> list[tuple[int, int, int, int]]:
        """The places in the image that hold addresses of the image itself, as ``(offset, width, target, mask)``:
        ``width`` bytes at ``offset`` are the bits ``mask`` (0: all) of the image's base plus ``target``."""
        found: list[tuple[int, int, int, int]] = []
        for variable, offset, function in self._placed:
            step = variable.type.bytes
            at = offset
            for item in variable.initializer or []:
                value = item.value
                if isinstance(value, Symbol):
                    target = self._address(value.name, 0, {}, function)
                    if target >= 0:
                        found.append((at, step, target + value.offset, item.mask))
                at += step
        return found

    def _item(
        self, variable: Variable, item: InitializerItem, base: int, ids: dict[str, int], function: Function | None
    ) -> bytes:
        value = item.value
        if isinstance(value, Immediate):
            return literal_bytes(value, variable.type)
        width = variable.type.bytes
        address = self._address(value.name, base, ids, function)
        if address < 0:
            raise self.module.error(
                VerifyError,
                variable.pos,
                f"the initialiser of '{variable.name}' names '{value.name}', which has no address here",
                "a .global or .const variable of this module, or a function",
            )
        address += value.offset
        if item.mask:
            address = (address & item.mask) >> ((item.mask & -item.mask).bit_length() - 1)
        return (address & ((1 << (8 * width)) - 1)).to_bytes(width, "little")

    def _address(self, name: str, base: int, ids: dict[str, int], function: Function | None) -> int:
        offset = -1
        if function is not None:
            offset = self.offsets.get(f"{function.name}:{name}", -1)
        if offset < 0:
            offset = self.offsets.get(name, -1)
        return base + offset if offset >= 0 else ids.get(name, -1)


def literal_bytes(value: Immediate, type: Type) -> bytes:
    """A literal as it stands in memory as one element of ``type``, little-endian."""
    width = type.bytes
    bits = value.value
    if type.kind == "f" and value.kind == INT:
        bits = float_bits(float(bits), width)
    elif value.kind != INT and width == 4 and value.kind != FLOAT32:
        bits = float_bits(_double(bits), 4)
    elif value.kind == FLOAT32 and width == 8:
        bits = float_bits(_single(bits), 8)
    return (bits & ((1 << (8 * width)) - 1)).to_bytes(width, "little")


def float_bits(value: float, width: int) -> int:
    """The IEEE bit pattern of ``value`` in ``width`` bytes (2, 4 or 8), rounded to nearest even."""
    try:
        raw = struct.pack("<d" if width == 8 else "<f" if width == 4 else "<e", value)
    except OverflowError:
        raw = struct.pack("<f" if width == 4 else "<e", float("inf") if value > 0 else float("-inf"))
    return int.from_bytes(raw, "little")


def _double(bits: int) -> float:
    return float(struct.unpack("<d", struct.pack("<Q", bits % _FLOAT_BITS))[0])


def _single(bits: int) -> float:
    return float(struct.unpack("<f", struct.pack("<I", bits & 0xFFFFFFFF))[0])


def shared_layout(module: Module, function: Function) -> tuple[dict[str, int], int]:
    """Offsets of every ``.shared`` variable that ``function`` or a function it may call uses, and the static size.

    Module-level variables stand under their name, those of a body under ``scoped_name``, and those of
    ``function`` itself under their plain name too. All unsized ``extern`` arrays share one place, behind the
    static variables; the returned size is that place, so static size + dynamic bytes is what a block needs.
    """
    offsets: dict[str, int] = {}
    dynamic: list[str] = []
    end = 0
    dynamic_align = 1
    for name, variable in _reachable_shared(module, function):
        if variable.linkage == ".extern" and variable.size == 0:
            dynamic.append(name)
            dynamic_align = max(dynamic_align, variable.alignment)
            continue
        end = align_up(end, variable.alignment)
        offsets[name] = end
        end += variable.size
    if dynamic:
        end = align_up(end, dynamic_align)
    for name in dynamic:
        offsets[name] = end
    for variable in function.variables:
        offset = offsets.get(scoped_name(function, variable), -1)
        if offset >= 0:
            offsets[variable.name] = offset
    return offsets, end


def local_layout(function: Function) -> tuple[dict[str, int], int]:
    """Offsets of the ``.local`` variables of a body, by name, and the size of the frame.

    The frame must stand at a multiple of the largest alignment in it.
    """
    variables = [v for v in function.variables if v.space == "local"]
    places, size = place(variables)
    return {variable.name: where[0] for variable, where in zip(variables, places, strict=True)}, size


def stack_alignment(alloca: Instruction) -> int:
    """What an ``alloca`` aligns to: 8 bytes where it does not say (PTX ISA 9.0, section 9.7.16.3)."""
    last = alloca.operands[-1]
    return max(1, last.value) if len(alloca.operands) > 2 and isinstance(last, Immediate) else 8


def has_dynamic_stack(function: Function) -> bool:
    """Whether a body takes or frees local memory as it runs (``alloca``, ``stackrestore``)."""
    for statement in function.body:
        if isinstance(statement, Instruction):
            opcode = statement.opcode
            if opcode.effect == SIDE and opcode.name in ("alloca", "stackrestore"):
                return True
    return False


def reachable_functions(module: Module, function: Function) -> list[Function]:
    """``function`` and every function that it may call, directly or not, in the order they are found.

    An indirect call reaches the functions that some ``.calltargets`` names, or every function whose address the
    module takes when it has no such list.
    """
    found: list[Function] = [function]
    seen = {function.name}
    addressed: list[str] | None = None
    at = 0
    while at < len(found):
        names, anywhere = _called(found[at])
        if anywhere:
            if addressed is None:
                addressed = addressed_functions(module)
            names += addressed
        at += 1
        for name in names:
            callee = module.functions.get(name)
            if callee is not None and name not in seen:
                seen.add(name)
                found.append(callee)
    return found


def addressed_functions(module: Module) -> list[str]:
    """The functions whose addresses instructions, arguments or initialisers take, in the module's order."""
    used: set[str] = set()
    for function in module.functions.values():
        for statement in function.body:
            if isinstance(statement, Instruction):
                for operand in statement.operands[2 if statement.opcode.effect == CALL else 0 :]:
                    _collect_symbols(operand, used)
        _collect_initial(function.variables, used)
    _collect_initial(list(module.variables.values()), used)
    return [f.name for f in module.functions.values() if not f.is_entry and f.name in used]


def _collect_initial(variables: list[Variable], out: set[str]) -> None:
    for variable in variables:
        out.update([item.value.name for item in variable.initializer or [] if isinstance(item.value, Symbol)])


def _called(function: Function) -> tuple[list[str], bool]:
    """The functions that calls in a body name, and whether some call may reach any whose address is known."""
    names: list[str] = []
    anywhere = False
    targets: dict[str, list[str]] = {}
    for statement in function.body:
        if isinstance(statement, CallTargets):
            targets[statement.name] = statement.functions
    for statement in function.body:
        if not isinstance(statement, Instruction) or statement.opcode.effect != CALL:
            continue
        callee = statement.operands[1]
        if isinstance(callee, Symbol):
            names.append(callee.name)
            continue
        listed = targets.get(repr(statement.operands[3]), []) if len(statement.operands) > 3 else []
        names.extend(listed)
        anywhere = anywhere or not listed
    return names, anywhere


def _reachable_shared(module: Module, function: Function) -> list[tuple[str, Variable]]:
    """Shared variables in use: the module's in file order, then those of each body."""
    of_module = [(name, v) for name, v in module.variables.items() if v.space == "shared"]
    if not of_module and not any(_has_shared(f) for f in module.functions.values()):
        return []
    functions = reachable_functions(module, function)
    used: set[str] = set()
    for reached in functions if of_module else []:
        for statement in reached.body:
            if isinstance(statement, Instruction):
                for operand in statement.operands:
                    _collect_symbols(operand, used)
    out = [(name, v) for name, v in of_module if name in used]
    for reached in functions:
        for variable in reached.variables:
            if variable.space == "shared":
                out.append((scoped_name(reached, variable), variable))
    return out


def _has_shared(function: Function) -> bool:
    return any(variable.space == "shared" for variable in function.variables)


def _collect_symbols(operand: Operand, out: set[str]) -> None:
    if isinstance(operand, Symbol):
        out.add(operand.name)
    elif isinstance(operand, Address):
        if isinstance(operand.base, Symbol):
            out.add(operand.base.name)
    elif isinstance(operand, (Vector, Arguments)):
        for element in operand.elements:
            _collect_symbols(element, out)
    elif isinstance(operand, Pair):
        _collect_symbols(operand.first, out)
        _collect_symbols(operand.second, out)
