"""Functions to handlers: each instruction becomes one Python closure, decoded once per launch.

Every operand is an index into a frame's register list: behind the function's registers stand its constants, the
addresses of its symbols and the special registers that never change. Registers hold bit patterns; None is a register
that was never written, which makes every arithmetic raise TypeError and so is found where it is used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from drawloom.errors import UnsupportedError, VerifyError
from drawloom.ptx.ir import (
    FLOAT32,
    INT,
    Address,
    Function,
    Immediate,
    Instruction,
    Label,
    Module,
    Not,
    Operand,
    Register,
    Sink,
    SpecialRegister,
    Symbol,
    Variable,
)
from drawloom.ptx.isa import Form, Opcode
from drawloom.ptx.layout import GlobalsLayout, align_up, function_ids, param_layout, scoped_name, shared_layout
from drawloom.ptx.types import B32, F32, F64, PRED, TYPES, U32, U64, Type
from drawloom.reference.conversions import reformat
from drawloom.reference.floats import Semantics
from drawloom.reference.formats import F32 as F32_FORMAT
from drawloom.reference.formats import F64 as F64_FORMAT
from drawloom.reference.formats import RN, format_of
from drawloom.reference.memory import WINDOWS, ByteMemory, GlobalMemory
from drawloom.reference.specials import CONSTANT_SPECIALS, VOLATILE_SPECIALS
from drawloom.reference.threads import Code, Handler, Registers, Thread

Builder = Callable[["Decoder", Instruction], Handler]
#: What a handler does before its own work: compute a source operand into its slot.
Prelude = Callable[[Registers, Thread], None]

_FIXED: Final[dict[str, Type]] = {"c": U32, "i": U32, "p": PRED, "u32": U32, "cvta": U64}

#: Bytes between the variables of a frame that belong to none: what passes the end of one is not in the next.
_GAP: Final = 16


class Launch:
    """One launch of a kernel: its geometry, its memory, and its functions as they are decoded."""

    def __init__(
        self,
        module: Module,
        kernel: Function,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        params: bytes,
        shared_bytes: int,
        image_base: int,
        memory: GlobalMemory,
        write: Callable[[str], object],
    ) -> None:
        self.module = module
        self.kernel = kernel
        self.grid: tuple[int, int, int] = grid
        self.block: tuple[int, int, int] = block
        self.memory = memory
        self.write = write
        self.params = ByteMemory("param", bytearray(params))
        self.dynamic_shared: int = shared_bytes
        self.shared_offsets, static = shared_layout(module, kernel)
        self.shared_size: int = static + shared_bytes
        #: What every byte of shared memory is before a thread writes it.
        self.shared_fill = 0
        self.image_base = image_base
        self.globals = GlobalsLayout(module)
        self.function_ids = function_ids(module)
        self.functions_by_id = {number: name for name, number in self.function_ids.items()}
        self.time = 0
        self._codes: dict[str, Code] = {}
        self.entry = self.code(kernel)

    def code(self, function: Function) -> Code:
        """The decoded ``function``."""
        known = self._codes.get(function.name)
        if known is None:
            known = Code(function)
            self._codes[function.name] = known
            Decoder(self, function, known).decode()
        return known

    def tick(self) -> int:
        """A time that is later than every one before."""
        self.time += 1
        return self.time


class Place:
    """What a symbol stands for. ``space`` is its state space, ``frame`` the one of device function parameters and
    call arguments, or ``function``; ``offset`` the address in it, relative to the frame for local and frame."""

    def __init__(self, space: str, offset: int) -> None:
        self.space = space
        self.offset = offset


def frame_layout(function: Function) -> list[tuple[Variable, int]]:
    """What stands in a function's frame, with the offsets, which ascend: its own variables, and the parameters and
    results of a device function that are not registers."""
    framed = [v for v in function.variables if v.space in ("local", "param")]
    if not function.is_entry:
        framed += [v for v in [*function.params, *function.returns] if v.register is None]
    places: list[tuple[Variable, int]] = []
    end = 0
    for variable in framed:
        offset = align_up(end, variable.alignment)
        places.append((variable, offset))
        end = offset + variable.size + _GAP
    return places


class Decoder:
    """Decodes one function for one launch."""

    def __init__(self, launch: Launch, function: Function, code: Code) -> None:
        self.launch = launch
        self.function = function
        self.code = code
        self.labels: dict[str, int] = {}
        self.preludes: list[Prelude] = []
        self._places: dict[str, Place] = {}
        self._slots: dict[tuple[str, int | str], int] = {}
        self._lay_out_frame()

    def _lay_out_frame(self) -> None:
        """Kernel parameters stand in the parameter block; everything else that is the thread's, in the frame."""
        function = self.function
        if function.is_entry:
            for variable, (offset, _, _) in zip(function.params, param_layout(function)[0], strict=True):
                self._places[variable.name] = Place("param", offset)
        for variable, offset in frame_layout(function):
            self._places[variable.name] = Place("local" if variable.space == "local" else "frame", offset)
            self.code.variables.append((offset, variable.size))
            self.code.frame_size = offset + variable.size
            self.code.frame_alignment = max(self.code.frame_alignment, variable.alignment)

    def decode(self) -> None:
        """Fill ``code``."""
        from drawloom.reference.instructions import BUILDERS

        code = self.code
        for statement in self.function.body:
            if isinstance(statement, Label):
                self.labels[statement.name] = len(code.instructions)
            elif isinstance(statement, Instruction):
                code.instructions.append(statement)
        for instruction in code.instructions:
            builder = BUILDERS.get(instruction.name)
            if builder is None:
                raise UnsupportedError(f"{self._where(instruction)}: the reference does not run '{instruction.name}'")
            self.preludes = []
            handler = builder(self, instruction)
            if self.preludes:
                handler = _with_preludes(self.preludes, handler)
            if instruction.guard is not None:
                handler = _guarded(instruction.guard.id, instruction.guard_negated, handler)
            code.handlers.append(handler)
        code.handlers.append(_return_handler())

    def _where(self, instruction: Instruction) -> str:
        return f"{self.launch.module.filename or 'PTX'}:{self.launch.module.line(instruction)}"

    def refuse(self, instruction: Instruction, message: str, expected: str = "") -> Exception:
        """The error for an instruction that the verifier would have refused."""
        return self.launch.module.error(VerifyError, instruction.pos, message, expected)

    # Symbols.

    def place(self, name: str) -> Place:
        """What ``name`` stands for in this function."""
        found = self._places.get(name)
        if found is None:
            found = self._places[name] = self._global_place(name)
        return found

    def _global_place(self, name: str) -> Place:
        launch = self.launch
        scoped = f"{self.function.name}:{name}"
        for variable in self.function.variables:
            if variable.name == name:
                scoped = scoped_name(self.function, variable)
        for key in (scoped, name):
            if key in launch.shared_offsets:
                return Place("shared", launch.shared_offsets[key])
            if key in launch.globals.offsets:
                return Place(self._space_of(name), launch.image_base + launch.globals.offsets[key])
        if name in launch.function_ids:
            return Place("function", launch.function_ids[name])
        raise UnsupportedError(f"'{name}' is declared but defined nowhere in the module")

    def _space_of(self, name: str) -> str:
        variable = self.variable(name)
        return "global" if variable is None else variable.space

    def variable(self, name: str) -> Variable | None:
        """The variable or parameter called ``name`` here."""
        function = self.function
        for variable in [*function.variables, *function.params, *function.returns]:
            if variable.name == name:
                return variable
        return self.launch.module.variables.get(name)

    def symbol_slot(self, name: str, offset: int, generic: bool = False) -> int:
        """The slot of an address: in its own space, or the generic one."""
        place = self.place(name)
        window = WINDOWS["local" if place.space == "frame" else place.space] if generic else 0
        address = window + place.offset + offset
        if place.space not in ("local", "frame"):
            return self.constant(address)
        key = ("frame", address)
        if key not in self._slots:
            self._slots[key] = self.new_slot()
            self.code.frame_symbols.append((self._slots[key], address))
        return self._slots[key]

    # Slots.

    def new_slot(self) -> int:
        self.code.template.append(None)
        return len(self.code.template) - 1

    def constant(self, value: int) -> int:
        """The slot that holds ``value``."""
        key = ("constant", value)
        if key not in self._slots:
            self._slots[key] = self.new_slot()
            self.code.template[self._slots[key]] = value
        return self._slots[key]

    def special(self, name: str) -> int:
        """The slot of a special register; volatile ones are read anew before the instruction."""
        volatile = VOLATILE_SPECIALS.get(name)
        if volatile is not None:
            slot = self.new_slot()
            read_now = volatile

            def refresh(r: Registers, t: Thread) -> None:
                r[slot] = read_now(t)

            self.preludes.append(refresh)
            return slot
        key = ("special", name)
        if key not in self._slots:
            read = CONSTANT_SPECIALS.get(name)
            if read is None:
                raise UnsupportedError(f"the reference does not have the special register {name}")
            self._slots[key] = self.new_slot()
            self.code.specials.append((self._slots[key], read))
        return self._slots[key]

    def source(self, operand: Operand, type: Type) -> int:
        """The slot to read ``operand`` from, as a value of ``type``."""
        if isinstance(operand, Register):
            return operand.id
        if isinstance(operand, Immediate):
            return self.constant(immediate_bits(operand, type))
        if isinstance(operand, SpecialRegister):
            return self.special(operand.name)
        if isinstance(operand, Symbol):
            return self.symbol_slot(operand.name, operand.offset)
        if isinstance(operand, Not):
            slot, register = self.new_slot(), operand.register.id

            def negate(r: Registers, t: Thread) -> None:
                r[slot] = r[register] ^ 1  # type: ignore[operator]

            self.preludes.append(negate)
            return slot
        raise UnsupportedError(f"the reference does not read {operand!r} here")

    def destination(self, operand: Operand) -> int:
        """The slot to write: a register's, or one that nobody reads."""
        if isinstance(operand, Register):
            return operand.id
        assert isinstance(operand, Sink), operand
        return self.new_slot()

    def widening(self, operand: Operand, type: Type) -> Callable[[int], int] | None:
        """How a value of ``type`` fills a wider register (section 9.4.1), None where it fits as it is."""
        if not isinstance(operand, Register) or operand.type.bits <= type.bits or not type.is_signed:
            return None
        high = (1 << operand.type.bits) - (1 << type.bits)
        sign = 1 << type.bits - 1
        return lambda v: v | high if v & sign else v

    def address(self, operand: Operand, space: str) -> tuple[int, int, int]:
        """``(slot, offset, mask)`` of ``[base+offset]``; symbols are generic addresses where ``space`` is empty."""
        assert isinstance(operand, Address), operand
        mask = (1 << 64) - 1
        if operand.base is None:
            return self.constant(0), operand.offset, mask
        if isinstance(operand.base, Symbol):
            return self.symbol_slot(operand.base.name, operand.offset, space == ""), 0, mask
        return operand.base.id, operand.offset, (1 << operand.base.type.bits) - 1


def apply(f: Semantics, d: int, sources: list[int]) -> Handler:
    """``r[d] = f(sources...)``."""
    if len(sources) == 1:
        (a,) = sources

        def step1(r: Registers, t: Thread) -> None:
            r[d] = f(r[a])

        return step1
    if len(sources) == 2:
        a, b = sources

        def step2(r: Registers, t: Thread) -> None:
            r[d] = f(r[a], r[b])

        return step2
    if len(sources) == 3:
        a, b, c = sources

        def step3(r: Registers, t: Thread) -> None:
            r[d] = f(r[a], r[b], r[c])

        return step3

    def step(r: Registers, t: Thread) -> None:
        r[d] = f(*[r[s] for s in sources])

    return step


def _guarded(guard: int, negated: bool, handler: Handler) -> Handler:
    off = 0 if not negated else 1

    def step(r: Registers, t: Thread) -> int | None:
        return handler(r, t) if r[guard] ^ off else None  # type: ignore[operator]

    return step


def _with_preludes(preludes: list[Prelude], handler: Handler) -> Handler:
    def step(r: Registers, t: Thread) -> int | None:
        for prelude in preludes:
            prelude(r, t)
        return handler(r, t)

    return step


def _return_handler() -> Handler:
    from drawloom.reference.control import leave_function

    return leave_function


def immediate_bits(immediate: Immediate, type: Type) -> int:
    """A literal as a pattern of ``type``: a float literal in an integer or bit context gives its own bits."""
    value = immediate.value
    if immediate.kind == INT or type.kind == "p":
        return value & (1 << type.bits) - 1
    if immediate.kind == FLOAT32:
        if type.is_float and type is not F32 and type.lanes == 1:
            return reformat(format_of(type), F32_FORMAT, value, RN)
        return value & (1 << type.bits) - 1
    if type.is_float and type is not F64 and type.lanes == 1:
        return reformat(format_of(type), F64_FORMAT, value, RN)
    if type.bits == 32:
        return reformat(F32_FORMAT, F64_FORMAT, value, RN)
    return value & (1 << type.bits) - 1


def choose_form(op: Opcode, count: int) -> Form:
    """The row of the instruction table with ``count`` operands."""
    for form in op.forms:
        if form.required <= count <= len(form.operands):
            return form
    return op.forms[0]


def operand_types(op: Opcode, count: int) -> list[Type]:
    """The type of each operand of a pure instruction."""
    form = choose_form(op, count)
    return [_operand_type(op, word.strip("=>?!")) for word in form.operands[:count]]


def _operand_type(op: Opcode, word: str) -> Type:
    word = word.partition("|")[0]
    if word == "t":
        return op.types[0]
    if word == "t1":
        return op.types[1]
    if word == "t2":
        return op.types[2]
    if word == "w":
        return TYPES[f"{op.types[0].kind}{2 * op.types[0].bits}"]
    if word == "acc":
        return B32
    fixed = _FIXED.get(word)
    return fixed if fixed is not None else TYPES.get(word, B32)
