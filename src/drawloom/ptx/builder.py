"""Makes PTX functions from Python calls: opcodes as text, operands as registers and Python values.

    fb = FunctionBuilder("scale", entry=True)
    data = fb.param(U64, "data")
    index = fb.op("mov.u32", "%tid.x")
    address = fb.op("add.u64", fb.load_param(data), fb.op("mul.wide.u32", index, 4))
    value = fb.op("ld.global.f32", address)
    fb.emit("st.global.f32", fb.at(address, 0), fb.op("mul.f32", value, 2.0))
    fb.emit("ret")
    module.add(fb.finish())

Every instruction is judged by the instruction table at once; what the table refuses raises ``VerifyError``.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from drawloom.errors import VerifyError
from drawloom.ptx.ir import (
    FLOAT32,
    FLOAT64,
    Address,
    Arguments,
    BranchTargets,
    Directive,
    Function,
    Immediate,
    Instruction,
    Label,
    LabelRef,
    Operand,
    Pair,
    Register,
    SpecialRegister,
    Symbol,
    Variable,
    Vector,
)
from drawloom.ptx.isa import Form, Opcode, OpcodeError, decode
from drawloom.ptx.layout import float_bits
from drawloom.ptx.operands import judge, register_type, signature, word_type, wrong_value
from drawloom.ptx.specials import canonical, find_special
from drawloom.ptx.types import PRED, TYPES, Type

#: What may be given as an operand: an operand, a variable (its address, or its place where memory is wanted), a
#: number, text (``"%tid.x"``, a label or a symbol), or a list of those for a vector.
Value: TypeAlias = "Operand | Variable | int | float | str | list[Operand] | list[Register] | list[int] | list[float]"

_TERMINATORS: Final = frozenset({"ret", "exit", "bra", "brx.idx", "trap"})
_LABEL_WORDS: Final = frozenset({"l"})


class FunctionBuilder:
    """One function in the making; ``entry`` makes a kernel. ``address_size`` is the module's, 64 or 32."""

    def __init__(self, name: str, entry: bool = False, linkage: str = ".visible", address_size: int = 64) -> None:
        self.function = Function(name, entry)
        self.function.linkage = linkage
        self.address_size = address_size
        self._spaces: dict[str, str] = {}
        self._placed: set[str] = set()
        self._reserved: set[str] = set()
        self._used_labels: dict[str, str] = {}
        self._names: set[str] = set()

    # -- declarations ------------------------------------------------------------------------------------

    def param(
        self, type: Type, name: str, count: int = 0, align: int = 0, space: str = "", pointee_align: int = 0
    ) -> Variable:
        """A ``.param`` of ``type``: an array of ``count`` when that is not 0. ``space`` and ``pointee_align`` (bytes)
        say what a pointer points at (``.ptr``)."""
        variable = self._variable("param", type, name, count, align)
        if space or pointee_align:
            variable.is_pointer = True
            variable.pointer_space = space
            variable.pointer_align = pointee_align
        self.function.params.append(variable)
        self._spaces[name] = "param.entry" if self.function.is_entry else "param.in"
        return variable

    def result(self, type: Type, name: str = "result", count: int = 0, align: int = 0) -> Variable:
        """A ``.param`` that the function returns; only device functions have one."""
        if self.function.is_entry:
            raise self._error("a kernel returns nothing", "entry=False")
        variable = self._variable("param", type, name, count, align)
        self.function.returns.append(variable)
        self._spaces[name] = "param.out"
        return variable

    def reg(self, type: Type, prefix: str = "") -> Register:
        """A fresh register of ``type``; its name begins with ``prefix`` when one is given."""
        return self.function.new_register(type, prefix)

    def regs(self, type: Type, count: int) -> list[Register]:
        """``count`` fresh registers of ``type``."""
        return [self.function.new_register(type) for _ in range(count)]

    def shared(self, type: Type, name: str, count: int = 0, align: int = 0) -> Variable:
        """A ``.shared`` variable of the block: a scalar, or an array of ``count``."""
        return self._local_variable("shared", type, name, count, align)

    def local(self, type: Type, name: str, count: int = 0, align: int = 0) -> Variable:
        """A ``.local`` variable of the thread: a scalar, or an array of ``count``."""
        return self._local_variable("local", type, name, count, align)

    def call_param(self, type: Type, name: str, count: int = 0, align: int = 0) -> Variable:
        """A ``.param`` variable of the body, to pass to a call or to receive its result."""
        return self._local_variable("param", type, name, count, align)

    def _local_variable(self, space: str, type: Type, name: str, count: int, align: int) -> Variable:
        variable = self._variable(space, type, name, count, align)
        self.function.variables.append(variable)
        return variable

    def _variable(self, space: str, type: Type, name: str, count: int, align: int) -> Variable:
        if name in self._names:
            raise self._error(f"'{name}' is declared twice", "a name that is unique in the function")
        self._names.add(name)
        self._spaces[name] = space
        return Variable(name, space, type, [count] if count else [], align)

    def directive(self, name: str, text: str = "") -> None:
        """A performance directive such as ``(".maxntid", "256, 1, 1")``."""
        self.function.directives.append(Directive(name, text))

    # -- labels ------------------------------------------------------------------------------------------

    def new_label(self, stem: str = "L") -> str:
        """A label name that nothing has yet; ``label`` puts it somewhere."""
        number = len(self._reserved)
        name = f"{stem}_{number}"
        while name in self._reserved or name in self._names or name in self._placed:
            number += 1
            name = f"{stem}_{number}"
        self._reserved.add(name)
        return name

    def label(self, name: str) -> str:
        """Put the label ``name`` here."""
        if name in self._placed:
            raise self._error(f"label '{name}' is defined twice", "a label that is unique in the function")
        self._placed.add(name)
        self.function.body.append(Label(name))
        return name

    def branch(self, label: str, guard: Register | None = None, unless: Register | None = None) -> None:
        """Jump to ``label``: always, when ``guard`` holds, or unless ``unless`` does."""
        self.emit("bra", label, guard=guard, unless=unless)

    def branch_table(self, labels: list[str], name: str = "") -> str:
        """A ``.branchtargets`` list for ``brx.idx``; returns its name."""
        table = name if name else self.new_label("targets")
        for label in labels:
            self._used_labels.setdefault(label, f".branchtargets {table}")
        self._placed.add(table)
        self.function.body.append(BranchTargets(table, list(labels)))
        return table

    # -- instructions ------------------------------------------------------------------------------------

    def at(self, base: Register | Variable | Symbol | str, offset: int = 0) -> Address:
        """``[base+offset]``, the offset in bytes."""
        if isinstance(base, Register):
            return Address(base, offset)
        return Address(self._symbol(base), offset)

    def emit(
        self, opcode: str, *operands: Value, guard: Register | None = None, unless: Register | None = None
    ) -> Instruction:
        """Append ``opcode`` with all its operands, the destination first; a predicate may guard it.

        Raises ``VerifyError`` for an opcode, a number of operands or an operand that the table refuses.
        """
        return self._emit(self._decode(opcode), list(operands), guard, unless)

    def op(
        self, opcode: str, *sources: Value, guard: Register | None = None, unless: Register | None = None
    ) -> Register:
        """Append ``opcode`` with a fresh destination of the type that the table gives it, and return that register.

        Raises ``VerifyError`` as ``emit`` does, and for an opcode that has no single register as its result.
        """
        decoded = self._decode(opcode)
        form = self._form(decoded, len(sources) + 1)
        if not decoded.has_destination or decoded.vector > 1:
            raise self._error(f"'{opcode}' does not compute one register", "an opcode with a scalar destination")
        destination = self._destination(decoded, form)
        self._emit(decoded, [destination, *sources], guard, unless)
        return destination

    def ops(self, opcode: str, *sources: Value) -> list[Register]:
        """As ``op``, for opcodes with several results: the elements of a vector, or the two of ``d|p``."""
        decoded = self._decode(opcode)
        form = self._form(decoded, len(sources) + 1)
        if decoded.has_destination and decoded.vector > 1:
            elements = [self._destination(decoded, form) for _ in range(decoded.vector)]
            vector: list[Operand] = []
            vector.extend(elements)
            self._emit(decoded, [Vector(vector), *sources], None, None)
            return elements
        if decoded.has_destination and form.operands[0].endswith("|p"):
            first = self._destination(decoded, form)
            second = self.reg(PRED)
            self._emit(decoded, [Pair(first, second), *sources], None, None)
            return [first, second]
        raise self._error(f"'{opcode}' does not compute several registers", "a vector or 'd|p' destination")

    def load_param(self, variable: Variable, offset: int = 0) -> Register:
        """The value of a scalar parameter (or of the element ``offset`` bytes into an array), in a register."""
        return self.op(f"ld.param.{variable.type.name}", self.at(variable, offset))

    def call(self, callee: Function, *arguments: Value) -> list[Register]:
        """Call ``callee`` with scalar arguments by the calling convention: one ``.param`` variable for each argument
        and result. Returns the results in registers."""
        if len(arguments) != len(callee.params):
            raise self._error(f"'{callee.name}' is called with {len(arguments)} arguments", f"{len(callee.params)}")
        passed: list[Operand] = []
        for parameter, argument in zip(callee.params, arguments, strict=True):
            variable = self._call_variable(parameter)
            self.emit(f"st.param.{_bits_name(parameter.type)}", self.at(variable), argument)
            passed.append(Symbol(variable.name))
        results = [self._call_variable(result) for result in callee.returns]
        received: list[Operand] = [Symbol(result.name) for result in results]
        self._spaces[callee.name] = "entry" if callee.is_entry else "func"
        self.emit("call.uni", Arguments(received), Symbol(callee.name), Arguments(passed))
        return [self.load_param(result) for result in results]

    def _call_variable(self, parameter: Variable) -> Variable:
        if parameter.space != "param" or parameter.shape:
            raise self._error(f"parameter '{parameter.name}' is no scalar in .param space", "emit the call by hand")
        return self.call_param(parameter.type, self.new_label(f"param_{parameter.name}"), 0, parameter.align)

    def finish(self) -> Function:
        """The function. Raises ``VerifyError`` for undefined labels and for a body that runs off its end."""
        for label, where in self._used_labels.items():
            if label not in self._placed:
                raise self._error(f"label '{label}' is used by '{where}' and never placed", f"fb.label('{label}')")
        last = self.function.body[-1] if self.function.body else None
        ends = isinstance(last, Instruction) and last.guard is None and last.opcode.name in _TERMINATORS
        if not ends:
            raise self._error(
                "the body runs off its end", "'ret', 'exit' or an unguarded branch as its last instruction"
            )
        return self.function

    def _decode(self, text: str) -> Opcode:
        try:
            return decode(text)
        except OpcodeError as error:
            raise self._error(error.message, error.expected) from None

    def _form(self, opcode: Opcode, count: int) -> Form:
        """The form that says what the operands are, by their number; the verdict says later whether it fits."""
        for form in opcode.forms:
            if form.required <= count <= len(form.operands):
                return form
        wanted = " or ".join(sorted({str(len(form.operands)) for form in opcode.forms}))
        raise self._error(f"'{opcode.text}' has {count} operands", wanted)

    def _destination(self, opcode: Opcode, form: Form) -> Register:
        type = word_type(form.operands[0], opcode)
        if type is None:
            raise self._error(f"the destination of '{opcode.text}' has no type", "emit with a register of your own")
        return self.reg(register_type(type))

    def _emit(
        self, opcode: Opcode, values: list[Value], guard: Register | None, unless: Register | None
    ) -> Instruction:
        words = self._form(opcode, len(values)).operands
        if len(values) < len(words) and not words[-1].endswith("?"):
            words = [word for word in words if not word.endswith("?")]
        operands: list[Operand] = []
        for word, value in zip(words, values):
            operands.append(
                value if isinstance(value, Register) and word != "m" else self._operand(value, word, opcode)
            )
        negated = unless is not None
        predicate = unless if negated else guard
        if negated and guard is not None:
            raise self._error(f"'{opcode.text}' has both guard and unless", "one of them")
        if predicate is not None and predicate.type is not PRED:
            raise self._error(f"the guard {predicate.name} is a .{predicate.type.name} register", "a .pred register")
        spaces = self._spaces
        verdict = judge(opcode, tuple([signature(operand, spaces) for operand in operands]), self.address_size)
        if not verdict.forms:
            raise self._error(verdict.message, verdict.expected)
        if opcode.bounds:
            wrong = wrong_value(opcode, operands)
            if wrong is not None:
                raise self._error(wrong.message, wrong.expected)
        instruction = Instruction(opcode, operands, predicate, negated)
        self.function.body.append(instruction)
        return instruction

    # -- operands ----------------------------------------------------------------------------------------

    def _operand(self, value: Value, word: str, opcode: Opcode) -> Operand:
        if isinstance(value, Operand):
            if word == "m" and isinstance(value, (Register, Symbol)):
                return self.at(value)
            return value
        if isinstance(value, Variable):
            return self.at(value) if word == "m" else self._symbol(value)
        if isinstance(value, str):
            return self._named(value, word, opcode)
        if isinstance(value, (int, float)):
            return self._literal(value, word_type(word, opcode), opcode, word)
        type = word_type(word, opcode)
        if "pack" in word and type is not None and value:
            type = _part_type(type, len(value))
        elements: list[Operand] = []
        for element in value:
            if isinstance(element, Operand):
                elements.append(element)
            else:
                elements.append(self._literal(element, type, opcode, word))
        return Vector(elements)

    def _named(self, text: str, word: str, opcode: Opcode) -> Operand:
        if word in _LABEL_WORDS:
            self._used_labels.setdefault(text, opcode.text)
            return LabelRef(text)
        if text.startswith("%"):
            if find_special(text) is None:
                raise self._error(f"'{text}' is no special register", "one such as '%tid.x'")
            return SpecialRegister(canonical(text))
        return self.at(text) if word == "m" else Symbol(text)

    def _symbol(self, base: Variable | Symbol | str) -> Symbol:
        if isinstance(base, Variable):
            self._spaces.setdefault(base.name, base.space)
            return Symbol(base.name)
        return base if isinstance(base, Symbol) else Symbol(base)

    def _literal(self, value: int | float, type: Type | None, opcode: Opcode, word: str) -> Immediate:
        """A Python number as the literal that the operand's type wants."""
        if type is None:
            if isinstance(value, float):
                raise self._error(f"'{opcode.text}' is given the float {value}", "an integer")
            return Immediate(int(value))
        if type.is_float or isinstance(value, float):
            if type.bits == 32 and type.kind in ("f", "b") and type.lanes == 1:
                return Immediate(float_bits(float(value), 4), FLOAT32)
            if type.bits == 64 and type.kind in ("f", "b") and type.lanes == 1:
                return Immediate(float_bits(float(value), 8), FLOAT64)
            raise self._error(
                f"'{opcode.text}' is given the number {value} for a .{type.name} operand",
                "a register: PTX has float literals of 32 and 64 bits only" if type.is_float else "an integer",
            )
        bits = type.bits if not word.endswith(">") else max(type.bits, 16)
        if not -(1 << (bits - 1)) <= value < 1 << bits:
            raise self._error(
                f"'{opcode.text}' is given {value} for a .{type.name} operand", f"an integer of {bits} bits"
            )
        return Immediate(int(value))

    def _error(self, message: str, expected: str) -> VerifyError:
        return VerifyError(message, f"<function {self.function.name}>", expected=expected)


def _bits_name(type: Type) -> str:
    return type.name if type.name in ("f32", "f64") or type.kind != "f" else f"b{type.bits}"


def _part_type(type: Type, count: int) -> Type | None:
    return TYPES.get(f"b{type.bits // count}")
