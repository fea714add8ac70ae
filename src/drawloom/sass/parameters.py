"""What becomes of `.param` variables once a function's body is settled: registers where everybody accesses them in
the same pieces, local variables elsewhere; and of calls that stay: values at the places of the convention.

    call (r), f, (a, b)   ->   call (place, register ...), f, (place, register ...)

Places are `Immediate`s: general registers, or offsets on the stack (`abi`). A function that stays one begins with
such a call of `ENTRY`, whose results are its parameters, and its `ret` has its results as arguments.
"""

from __future__ import annotations

from typing import Final

from drawloom.errors import SourceError, UnsupportedError
from drawloom.ptx.ir import (
    SINK,
    Address,
    Arguments,
    CallPrototype,
    CallTargets,
    Function,
    Immediate,
    Instruction,
    LabelRef,
    Module,
    Operand,
    Register,
    Statement,
    Symbol,
    Variable,
    Vector,
)
from drawloom.ptx.isa import CALL, Opcode, decode
from drawloom.ptx.layout import align_up
from drawloom.ptx.types import TYPES, Type
from drawloom.sass.abi import STACK, Convention

#: The callee of the call that a function's parameters come from (`:` stands in no PTX name).
ENTRY: Final = ":entry"
_CALL: Final = decode("call")
_RET: Final = decode("ret")


#: The moves of registers, by the name of their type.
_moves: dict[str, Opcode] = {}


def move_of(type: Type) -> Opcode:
    """The opcode that moves a register of a type."""
    found = _moves.get(type.name)
    if found is None:
        found = _moves[type.name] = decode("mov.pred" if type.kind == "p" else f"mov.b{type.bits}")
    return found


def place_behind(place: int, offset: int) -> int:
    """The place of what stands ``offset`` bytes behind the beginning of a value."""
    return place + offset if place >= STACK else place + offset // 4


def stack_arguments(function: Function) -> tuple[bool, int]:
    """Whether a function calls others, and the bytes at its stack pointer that arguments for them need."""
    most = 0
    has_calls = False
    for statement in function.body:
        if isinstance(statement, Instruction) and statement.opcode.effect == CALL:
            arguments = statement.operands[2]
            has_calls = True
            for element in arguments.elements if isinstance(arguments, Arguments) else []:
                if isinstance(element, Immediate) and element.value >= STACK:
                    most = max(most, element.value - STACK + 8)
    return has_calls, (most + 15) & ~15


class Parameters:
    """The `.param` variables of ``function``, by `names`; its body is `function.body`.

    ``convention`` is that of the function itself if it stays one (its own parameters and results are then among the
    names), None for kernels.
    """

    def __init__(self, module: Module, function: Function, names: list[str], convention: Convention | None) -> None:
        self.module = module
        self.function = function
        self.convention = convention
        self.names = set(names)
        self.pieces: dict[str, dict[int, int]] = {name: {} for name in names}  # offset -> bytes
        self.mixed: set[str] = set()
        self.registers: dict[str, dict[int, Register]] = {name: {} for name in names}
        #: Whether the address of one is taken.
        self.has_addresses = False
        self.sizes: dict[str, int] = {v.name: v.size for v in function.variables}
        self.tables: dict[str, Statement] = {}
        for statement in function.body:
            if isinstance(statement, (CallPrototype, CallTargets)):
                self.tables[statement.name] = statement
        #: Where the caller wants results that do not come in registers.
        self.addresses: dict[str, Register] = {}
        self.body: list[Statement] = []

    def settle(self) -> None:
        """Make registers of those that are accessed in the same pieces everywhere, local variables of the others."""
        own = self.own_variables()
        for variable in own:
            self.sizes[variable.name] = variable.size
        for statement in self.function.body:
            if isinstance(statement, Instruction):
                self.note(statement)
        if self.convention is not None:
            for n, variable in enumerate(self.function.returns):
                if variable.register is None and self.convention.hidden[n] >= 0:
                    self.mixed.add(variable.name)
            for variable in own:
                self.note_passed(variable.name)
        for name, pieces in self.pieces.items():
            if len(pieces) < 2:
                continue
            ends = 0
            for offset in sorted(pieces):
                if offset < ends:
                    self.mixed.add(name)
                ends = offset + pieces[offset]
        kept = [v for v in self.function.variables if v.name not in self.names]
        for variable in [v for v in self.function.variables if v.name in self.names] + own:
            if variable.name in self.mixed:
                shape = [align_up(variable.size, 4)]
                kept.append(Variable(variable.name, "local", TYPES["b8"], shape, max(4, variable.alignment)))
        old = self.function.body
        self.enter()
        for statement in old:
            if isinstance(statement, Instruction) and self.concerns(statement.opcode):
                self.rewrite(statement)
            else:
                self.body.append(statement)
        self.function.variables = kept
        self.function.body = self.body

    def own_variables(self) -> list[Variable]:
        if self.convention is None:
            return []
        return [v for v in self.function.params + self.function.returns if v.register is None]

    # -- which pieces ------------------------------------------------------------------------------------

    def accessed(self, instruction: Instruction) -> str:
        """The parameter that a load or store accesses, or ""."""
        if instruction.opcode.space != "param" or instruction.opcode.name not in ("ld", "st"):
            return ""
        address = instruction.operands[1 if instruction.opcode.name == "ld" else 0]
        if isinstance(address, Address) and isinstance(address.base, Symbol) and address.base.name in self.names:
            return address.base.name
        return ""

    def note(self, instruction: Instruction) -> None:
        if instruction.opcode.effect == CALL:
            self.note_call(instruction)
            return
        name = self.accessed(instruction) if instruction.opcode.space == "param" else ""
        if name:
            address = instruction.operands[1 if instruction.opcode.name == "ld" else 0]
            assert isinstance(address, Address)
            size = instruction.opcode.types[0].bytes
            for n in range(instruction.opcode.vector):
                known = self.pieces[name].setdefault(address.offset + n * size, size)
                if known != size or size > 8:
                    self.mixed.add(name)
            return
        for operand in instruction.operands:
            if isinstance(operand, Symbol) and operand.name in self.names:
                self.mixed.add(operand.name)
                self.has_addresses = True

    def note_call(self, instruction: Instruction) -> None:
        results, arguments = instruction.operands[0], instruction.operands[2]
        assert isinstance(results, Arguments) and isinstance(arguments, Arguments)
        convention = self.convention_of(instruction)
        for n, result in enumerate(results.elements):
            if isinstance(result, Symbol):
                if convention.hidden[n] >= 0:
                    self.mixed.add(result.name)
                self.note_passed(result.name)
        for argument in arguments.elements:
            if isinstance(argument, Symbol):
                self.note_passed(argument.name)

    def note_passed(self, name: str) -> None:
        """A variable that is passed in words: each of its pieces must begin with one and have it for itself."""
        taken: set[int] = set()
        for offset in self.pieces[name]:
            if offset % 4 or offset // 4 in taken or (self.pieces[name][offset] == 8 and offset % 8):
                self.mixed.add(name)
            taken.add(offset // 4)

    def signature(self, instruction: Instruction) -> tuple[list[Variable], list[Variable]]:
        """Results and parameters of what a call calls."""
        callee = instruction.operands[1]
        if isinstance(callee, Symbol):
            function = self.module.functions[callee.name]
            return function.returns, function.params
        reference = instruction.operands[3]
        assert isinstance(reference, LabelRef)
        table = self.tables[reference.name]
        if isinstance(table, CallPrototype):
            return table.returns, table.params
        assert isinstance(table, CallTargets)
        first = self.module.functions[table.functions[0]]
        return first.returns, first.params

    def convention_of(self, instruction: Instruction) -> Convention:
        returns, params = self.signature(instruction)
        return Convention(params, returns)

    # -- accesses ----------------------------------------------------------------------------------------

    def put(self, text: str, *operands: Operand) -> None:
        self.body.append(Instruction(decode(text), list(operands)))

    def concerns(self, opcode: Opcode) -> bool:
        """Whether instructions with an opcode may have to be rewritten."""
        if opcode.space == "param" or opcode.effect == CALL:
            return True
        return self.convention is not None and opcode.name == "ret"

    def rewrite(self, instruction: Instruction) -> None:
        opcode, guard, negated, pos = instruction.opcode, instruction.guard, instruction.guard_negated, instruction.pos
        if opcode.effect == CALL:
            self.call(instruction)
            return
        if opcode.name == "ret" and self.convention is not None:
            self.leave(instruction)
            return
        name = self.accessed(instruction)
        out = self.body
        if not name and opcode.space == "param" and self.has_addresses and not self.names_another(instruction):
            self.by_address(instruction)
            return
        if not name:
            out.append(instruction)
            return
        if name in self.mixed:
            text = opcode.text.replace("param::func", "local").replace("param", "local")
            out.append(Instruction(decode(text), instruction.operands, guard, negated, pos))
            return
        loading = opcode.name == "ld"
        address = instruction.operands[1 if loading else 0]
        values = instruction.operands[0 if loading else 1]
        assert isinstance(address, Address)
        type = opcode.types[0]
        for n, value in enumerate(values.elements if isinstance(values, Vector) else [values]):
            piece = self.piece(name, address.offset + n * type.bytes, type.bits)
            if value is SINK or (loading and not isinstance(value, Register)):
                continue
            if not loading:
                out.append(Instruction(move_of(piece.type), [piece, value], guard, negated, pos))
            elif isinstance(value, Register) and (type.bytes < 4 or value.type.bits != type.bits):
                signed = "s" if type.is_signed else "u"
                width = max(16, value.type.bits)
                convert = decode(f"cvt.{signed}{width}.{signed}{type.bits}")
                out.append(Instruction(convert, [value, piece], guard, negated, pos))
            else:
                out.append(Instruction(move_of(type), [value, piece], guard, negated, pos))

    def names_another(self, instruction: Instruction) -> bool:
        """Whether an operand names what is no parameter variable of this function: a kernel's own parameter."""
        for operand in instruction.operands:
            symbol = operand.base if isinstance(operand, Address) else operand
            if isinstance(symbol, Symbol) and symbol.name not in self.names:
                return True
        return False

    def by_address(self, instruction: Instruction) -> None:
        """An access to parameters by an address, or its conversion: those of functions stand in local memory, those
        of kernels in a constant bank. Raises UnsupportedError where it may be either."""
        opcode = instruction.opcode
        named = any(isinstance(o, Symbol) and o.name in self.names for o in instruction.operands)
        if self.convention is None and not named:
            raise self.refusal(
                instruction.pos, f"'{opcode.text}' by an address, a kernel's or a function's parameter's"
            )
        text = opcode.text.replace("param::func", "local").replace("param", "local")
        guard, negated, pos = instruction.guard, instruction.guard_negated, instruction.pos
        self.body.append(Instruction(decode(text), instruction.operands, guard, negated, pos))

    def piece(self, name: str, offset: int, bits: int) -> Register:
        """The register of a piece; those of less than 32 bits have room for any register that is stored."""
        registers = self.registers[name]
        known = registers.get(offset)
        if known is None:
            known = registers[offset] = self.function.new_register(TYPES["b32"] if bits <= 32 else TYPES[f"b{bits}"])
        return known

    # -- calls -------------------------------------------------------------------------------------------

    def call(self, instruction: Instruction) -> None:
        """A call that stays: what it reads and writes stands in registers or is named by its place."""
        results, callee, arguments = instruction.operands[:3]
        assert isinstance(results, Arguments) and isinstance(arguments, Arguments)
        returns, params = self.signature(instruction)
        convention = Convention(params, returns)
        given: list[Operand] = []
        for variable, argument, place in zip(params, arguments.elements, convention.places, strict=True):
            if isinstance(argument, Symbol):
                self.give(argument.name, place, given)
            else:
                self.give_value(argument, variable.type, place, given)
        taken: list[Operand] = []
        behind: list[Instruction] = []
        for n, result in enumerate(results.elements):
            place = convention.results[n]
            if convention.hidden[n] >= 0:
                self.give_address(result, returns[n], convention.hidden[n], given, instruction)
            elif isinstance(result, Symbol):
                self.take(result.name, place, taken, behind)
            elif isinstance(result, Register):
                self.take_value(result, place, taken, behind)
        self.body.append(
            Instruction(_CALL, [Arguments(taken), callee, Arguments(given), *instruction.operands[3:]],
            None, False, instruction.pos),
        )  # fmt: skip
        self.body += behind

    def give(self, name: str, place: int, given: list[Operand]) -> None:
        """The words of a variable as arguments."""
        if name not in self.mixed:
            for offset, size in sorted(self.pieces[name].items()):
                given += [Immediate(place_behind(place, offset)), self.piece(name, offset, 8 * size)]
            return
        for offset in range(0, self.sizes[name], 4):
            word = self.function.new_register(TYPES["b32"])
            self.put("ld.local.b32", word, Address(Symbol(name), offset))
            given += [Immediate(place_behind(place, offset)), word]

    def give_value(self, value: Operand, type: Type, place: int, given: list[Operand]) -> None:
        """A register or a literal as an argument; predicates as 0 and 1."""
        if isinstance(value, Register) and value.type.kind != "p":
            given += [Immediate(place), value]
            return
        if isinstance(value, Register):
            word = self.function.new_register(TYPES["u32"])
            self.put("selp.u32", word, Immediate(1), Immediate(0), value)
        else:
            word = self.function.new_register(TYPES[f"b{max(16, type.bits)}"])
            self.put(f"mov.b{word.type.bits}", word, value)
        given += [Immediate(place), word]

    def give_address(
        self, result: Operand, variable: Variable, place: int, given: list[Operand], call: Instruction
    ) -> None:
        """Where the callee is to write a result: a local variable."""
        if not isinstance(result, Symbol):
            raise self.refusal(call.pos, f"'{variable.name}' is a result without a register")
        word = self.function.new_register(TYPES["u32"])
        self.put("mov.u32", word, Symbol(result.name))
        given += [Immediate(place), word]

    def take(self, name: str, place: int, taken: list[Operand], behind: list[Instruction]) -> None:
        """The words of a variable as results."""
        if name not in self.mixed:
            for offset, size in sorted(self.pieces[name].items()):
                taken += [Immediate(place_behind(place, offset)), self.piece(name, offset, 8 * size)]
            return
        for offset in range(0, self.sizes[name], 4):
            word = self.function.new_register(TYPES["b32"])
            taken += [Immediate(place_behind(place, offset)), word]
            behind.append(Instruction(decode("st.local.b32"), [Address(Symbol(name), offset), word]))

    def take_value(self, value: Register, place: int, taken: list[Operand], behind: list[Instruction]) -> None:
        if value.type.kind == "p":
            word = self.function.new_register(TYPES["u32"])
            behind.append(Instruction(decode("setp.ne.u32"), [value, word, Immediate(0)]))
            value = word
        taken += [Immediate(place), value]

    def enter(self) -> None:
        """The beginning of a function that stays one."""
        if self.convention is None:
            return
        taken: list[Operand] = []
        behind: list[Instruction] = []
        for variable, place in zip(self.function.params, self.convention.places, strict=True):
            if variable.register is not None:
                self.take_value(variable.register, place, taken, behind)
            else:
                self.take(variable.name, place, taken, behind)
        for variable, place in zip(self.function.returns, self.convention.hidden, strict=True):
            if place >= 0:
                pointer = self.addresses[variable.name] = self.function.new_register(TYPES["u32"])
                taken += [Immediate(place), pointer]
        if taken:
            self.body.append(Instruction(_CALL, [Arguments(taken), Symbol(ENTRY), Arguments([])]))
        self.body += behind

    def leave(self, instruction: Instruction) -> None:
        """``ret``, with the results as arguments."""
        assert self.convention is not None
        given: list[Operand] = []
        for n, variable in enumerate(self.function.returns):
            place = self.convention.results[n]
            if variable.register is not None:
                if place < 0:
                    raise self.refusal(self.function.pos, f"'{variable.name}' is a result without a register")
                self.give_value(variable.register, variable.type, place, given)
            elif place >= 0:
                self.give(variable.name, place, given)
            else:
                for offset in range(0, variable.size, 4):
                    word = self.function.new_register(TYPES["b32"])
                    self.put("ld.local.b32", word, Address(Symbol(variable.name), offset))
                    self.put("st.local.b32", Address(self.addresses[variable.name], offset), word)
        self.body.append(Instruction(_RET, [Arguments(given)], None, False, instruction.pos))

    def refusal(self, pos: int, message: str) -> UnsupportedError:
        return UnsupportedError(str(self.module.error(SourceError, pos, f"{message}: not supported by the assembler")))
