"""The PTX data model: what a module is made of, after parsing and before any back end.

The grammar of what is kept (nested scopes are flattened by the parser, constant expressions are folded):

    Module       ::= version target address_size (Directive | Variable | Function)*
    Function     ::= linkage entry? returns name params performance-directives
                     (Register* Variable* Statement*)?            -- no body: a declaration
    Statement    ::= Label | Instruction | Directive | BranchTargets | CallTargets | CallPrototype
    Instruction  ::= guard? Opcode Operand*
    Operand      ::= Register | Immediate | SpecialRegister | Symbol | Address | Vector | Pair | Not
                   | LabelRef | Sink | Arguments
    Address      ::= "[" (Register | Symbol)? offset "]"

Registers are dense: ``function.registers[r.id] is r``, so sets of registers are Python integers used as bit
sets. Every statement carries ``pos``, a character offset into ``module.source`` (-1 when it was made by a pass).

``acyclic`` tells the compiled build that no object of the class refers back to itself, so that the garbage collector
need not visit it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from mypy_extensions import mypyc_attr

from drawloom.errors import SourceError
from drawloom.ptx.isa import Opcode
from drawloom.ptx.isa_selectors import selected
from drawloom.ptx.types import TYPES, Type

if TYPE_CHECKING:
    from drawloom.ptx.unread import Unread

Key = tuple[object, ...]


@mypyc_attr(acyclic=True)
class Operand:
    """Base of everything that can stand in an operand position. Operands are never changed in place.

    ``signature`` is what the verifier's rules ask about the operand, as ``drawloom.ptx.operands`` spells it, or
    empty where that depends on declarations (symbols).
    """

    signature: str

    def key(self) -> Key:
        """A tuple that is equal exactly for structurally equal operands."""
        raise NotImplementedError


@mypyc_attr(acyclic=True)
class Register(Operand):
    """A virtual register; ``id`` is its index in ``function.registers``."""

    def __init__(self, id: int, name: str, type: Type) -> None:
        self.signature = type.name
        self.id = id
        self.name = name
        self.type = type

    def key(self) -> Key:
        return ("reg", self.id, self.name, self.type.name)

    def __repr__(self) -> str:
        return self.name


#: What an ``Immediate`` was written as.
INT: Final = 0
FLOAT32: Final = 1
FLOAT64: Final = 2
_LITERAL_SIGNATURES: Final = ("#i", "#s", "#d")


@mypyc_attr(acyclic=True)
class Immediate(Operand):
    """A literal. ``value`` is the signed integer as written, or the bit pattern of a float literal.

    ``kind`` is ``INT``, ``FLOAT32`` (``0f`` form, 32-bit pattern) or ``FLOAT64`` (``0d`` or decimal form).
    """

    def __init__(self, value: int, kind: int = INT) -> None:
        self.signature = _LITERAL_SIGNATURES[kind]
        self.value = value
        self.kind = kind

    def key(self) -> Key:
        return ("imm", self.kind, self.value)

    def __repr__(self) -> str:
        if self.kind == INT:
            return str(self.value)
        return f"0f{self.value:08X}" if self.kind == FLOAT32 else f"0d{self.value:016X}"


@mypyc_attr(acyclic=True)
class SpecialRegister(Operand):
    """A read-only special register such as ``%tid.x`` (``name`` includes the component)."""

    def __init__(self, name: str) -> None:
        self.signature = name
        self.name = name

    def key(self) -> Key:
        return ("special", self.name)

    def __repr__(self) -> str:
        return self.name


@mypyc_attr(acyclic=True)
class Symbol(Operand):
    """The name of a variable or function, standing for its address, plus a byte offset."""

    def __init__(self, name: str, offset: int = 0) -> None:
        self.signature = ""
        self.name = name
        self.offset = offset

    def key(self) -> Key:
        return ("sym", self.name, self.offset)

    def __repr__(self) -> str:
        return f"{self.name}+{self.offset}" if self.offset else self.name


@mypyc_attr(acyclic=True)
class LabelRef(Operand):
    """A reference to a label, or to a ``.branchtargets``/``.calltargets``/``.callprototype`` list."""

    def __init__(self, name: str) -> None:
        self.signature = "label"
        self.name = name

    def key(self) -> Key:
        return ("label", self.name)

    def __repr__(self) -> str:
        return self.name


@mypyc_attr(acyclic=True)
class Address(Operand):
    """``[base+offset]``; ``base`` is a Register, a Symbol (whose own offset is 0) or None for an absolute address."""

    def __init__(self, base: Register | Symbol | None, offset: int = 0) -> None:
        self.signature = base.type.address_signature if isinstance(base, Register) else "[#" if base is None else ""
        self.base = base
        self.offset = offset

    def key(self) -> Key:
        return ("addr", None if self.base is None else self.base.key(), self.offset)

    def __repr__(self) -> str:
        if self.base is None:
            return f"[{self.offset}]"
        return f"[{self.base!r}+{self.offset}]" if self.offset else f"[{self.base!r}]"


@mypyc_attr(acyclic=True)
class Vector(Operand):
    """``{a, b, ...}``: 2, 4 or 8 registers, immediates or sinks; ``{a}`` too where PTX allows it."""

    def __init__(self, elements: list[Operand]) -> None:
        self.signature = "{" + ",".join([e.signature for e in elements]) + "}"
        self.elements = elements

    def key(self) -> Key:
        return ("vec", *[e.key() for e in self.elements])

    def __repr__(self) -> str:
        return "{" + ", ".join([repr(e) for e in self.elements]) + "}"


@mypyc_attr(acyclic=True)
class Pair(Operand):
    """``a|b``: two destinations of ``setp``, ``shfl``, ``match`` or ``elect``; either may be a Sink."""

    def __init__(self, first: Operand, second: Operand) -> None:
        self.signature = f"{first.signature}|{second.signature}"
        self.first = first
        self.second = second

    def key(self) -> Key:
        return ("pair", self.first.key(), self.second.key())

    def __repr__(self) -> str:
        return f"{self.first!r}|{self.second!r}"


@mypyc_attr(acyclic=True)
class Not(Operand):
    """``!p``: a negated source predicate."""

    def __init__(self, register: Register) -> None:
        self.signature = "!" + register.type.name
        self.register = register

    def key(self) -> Key:
        return ("not", self.register.key())

    def __repr__(self) -> str:
        return f"!{self.register!r}"


@mypyc_attr(acyclic=True)
class Sink(Operand):
    """``_``: a destination that is thrown away."""

    def __init__(self) -> None:
        self.signature = "_"

    def key(self) -> Key:
        return ("_",)

    def __repr__(self) -> str:
        return "_"


@mypyc_attr(acyclic=True)
class Arguments(Operand):
    """``(a, b)``: the results or the arguments of a ``call``; elements are Symbols (``.param`` variables),
    Registers or Immediates."""

    def __init__(self, elements: list[Operand]) -> None:
        self.signature = ""
        self.elements = elements

    def key(self) -> Key:
        return ("args", *[e.key() for e in self.elements])

    def __repr__(self) -> str:
        return "(" + ", ".join([repr(e) for e in self.elements]) + ")"


SINK: Final = Sink()


@mypyc_attr(acyclic=True)
class Statement:
    """Anything in a function body."""

    def __init__(self, pos: int = -1) -> None:
        self.pos = pos

    def key(self) -> Key:
        raise NotImplementedError


@mypyc_attr(acyclic=True)
class Label(Statement):
    def __init__(self, name: str, pos: int = -1) -> None:
        self.pos = pos
        self.name = name

    def key(self) -> Key:
        return ("label", self.name)


@mypyc_attr(acyclic=True)
class Directive(Statement):
    """``.loc``, ``.pragma``, ``.file``, ``.section`` ... : kept as text, between name and ``;`` or line end."""

    def __init__(self, name: str, text: str, pos: int = -1) -> None:
        self.pos = pos
        self.name = name
        self.text = text

    def key(self) -> Key:
        return ("directive", self.name, self.text)


@mypyc_attr(acyclic=True)
class BranchTargets(Statement):
    """``name: .branchtargets a, b;`` for ``brx.idx``."""

    def __init__(self, name: str, labels: list[str], pos: int = -1) -> None:
        self.pos = pos
        self.name = name
        self.labels = labels

    def key(self) -> Key:
        return ("branchtargets", self.name, *self.labels)


@mypyc_attr(acyclic=True)
class CallTargets(Statement):
    """``name: .calltargets f, g;`` for indirect calls."""

    def __init__(self, name: str, functions: list[str], pos: int = -1) -> None:
        self.pos = pos
        self.name = name
        self.functions = functions

    def key(self) -> Key:
        return ("calltargets", self.name, *self.functions)


@mypyc_attr(acyclic=True)
class Instruction(Statement):
    """One instruction. Operands stand in PTX order, the destination first.

    ``call`` always has the operands ``Arguments`` (results), callee (Symbol or Register), ``Arguments``
    and, for indirect calls, a LabelRef (prototype or target list).
    """

    def __init__(
        self,
        opcode: Opcode,
        operands: list[Operand],
        guard: Register | None = None,
        guard_negated: bool = False,
        pos: int = -1,
    ) -> None:
        self.pos = pos
        self.opcode = opcode
        self.operands = operands
        self.guard = guard
        self.guard_negated = guard_negated

    @property
    def name(self) -> str:
        """The opcode's base name, such as ``"add"`` or ``"ld"``."""
        return self.opcode.name

    def key(self) -> Key:
        guard = None if self.guard is None else (self.guard.id, self.guard_negated)
        return ("insn", self.opcode.spelling, guard, *[o.key() for o in self.operands])

    def destinations(self) -> list[Register]:
        """The registers that this instruction writes, in operand order."""
        if not self.opcode.has_destination or not self.operands:
            return []
        first = self.operands[0]
        if isinstance(first, Register):
            return [first]
        out: list[Register] = []
        collect_written(first, out)
        return out

    def sources(self) -> list[Register]:
        """The registers that this instruction reads, the guard last; repeats are kept."""
        out: list[Register] = []
        operands = self.operands
        start = 0
        if self.opcode.has_destination and operands:
            start = 1
            if isinstance(operands[0], Address):
                collect_read(operands[0], out)
        for i in range(start, len(operands)):
            operand = operands[i]
            if isinstance(operand, Register):
                out.append(operand)
            else:
                collect_read(operand, out)
        if self.guard is not None:
            out.append(self.guard)
        return out

    def __repr__(self) -> str:
        guard = "" if self.guard is None else f"@{'!' if self.guard_negated else ''}{self.guard.name} "
        return f"{guard}{self.opcode.text} " + ", ".join(self.operand_texts())

    def operand_texts(self) -> list[str]:
        """The operands as PTX writes them."""
        texts = [repr(o) for o in self.operands]
        selectors = self.opcode.selectors
        return [selected(t, s) for t, s in zip(texts, selectors, strict=False)] if selectors else texts


def collect_written(operand: Operand, out: list[Register]) -> None:
    """Adds the registers of a destination."""
    if isinstance(operand, Register):
        out.append(operand)
    elif isinstance(operand, Pair):
        collect_written(operand.first, out)
        collect_written(operand.second, out)
    elif isinstance(operand, (Vector, Arguments)):
        for element in operand.elements:
            collect_written(element, out)


def collect_read(operand: Operand, out: list[Register]) -> None:
    """Adds the registers that are read for an operand's value, or for its address."""
    if isinstance(operand, Register):
        out.append(operand)
    elif isinstance(operand, Address):
        if isinstance(operand.base, Register):
            out.append(operand.base)
    elif isinstance(operand, (Vector, Arguments)):
        for element in operand.elements:
            collect_read(element, out)
    elif isinstance(operand, Not):
        out.append(operand.register)
    elif isinstance(operand, Pair):
        collect_read(operand.first, out)
        collect_read(operand.second, out)


@mypyc_attr(acyclic=True)
class InitializerItem:
    """One element of a variable's initialiser: a literal, or the address of a symbol.

    ``generic`` marks ``generic(sym)``; ``mask`` is the ``0xFF00(sym)`` byte mask, 0 when absent.
    """

    def __init__(self, value: Immediate | Symbol, generic: bool = False, mask: int = 0) -> None:
        self.value = value
        self.generic = generic
        self.mask = mask

    def key(self) -> Key:
        return (self.value.key(), self.generic, self.mask)


@mypyc_attr(acyclic=True)
class Variable:
    """A variable or a parameter.

    ``space`` is ``"global" | "const" | "shared" | "local" | "param" | "reg" | "tex" ...``; ``shape`` holds the
    array dimensions (``[]`` for a scalar, a leading 0 for an unsized array); ``vector`` is 1, 2, 4 or 8;
    ``align`` is in bytes, 0 when not given; ``initializer`` is flat, in row-major order, or None;
    ``register`` is set for ``.reg`` parameters; ``pointer_space``/``pointer_align`` come from ``.ptr``.
    """

    linkage: str = ""
    initializer: list[InitializerItem] | None = None
    attributes: str = ""
    is_pointer: bool = False
    pointer_space: str = ""
    pointer_align: int = 0
    register: Register | None = None
    pos: int = -1

    def __init__(
        self, name: str, space: str, type: Type, shape: list[int] | None = None, align: int = 0, vector: int = 1
    ) -> None:
        self.name = name
        self.space = space
        self.type = type
        self.shape: list[int] = [] if shape is None else shape
        self.align = align
        self.vector = vector

    @property
    def count(self) -> int:
        """The number of elements: the product of the dimensions (1 for a scalar, 0 when unsized)."""
        total = 1
        for extent in self.shape:
            total *= extent
        return total

    @property
    def size(self) -> int:
        """The size in bytes (0 for an unsized ``extern`` array)."""
        return self.type.bytes * self.vector * self.count

    @property
    def alignment(self) -> int:
        """The alignment in bytes: as given, else the natural one of the type (and vector)."""
        return self.align if self.align else self.type.bytes * self.vector

    def key(self) -> Key:
        init = None if self.initializer is None else tuple([i.key() for i in self.initializer])
        return (
            "var", self.name, self.space, self.type.name, tuple(self.shape), self.align, self.vector, self.linkage,
            init, self.attributes, self.is_pointer, self.pointer_space, self.pointer_align,
            None if self.register is None else self.register.key(),
        )  # fmt: skip


@mypyc_attr(acyclic=True)
class CallPrototype(Statement):
    """``name: .callprototype (returns) _ (params);`` for indirect calls."""

    def __init__(
        self, name: str, returns: list[Variable], params: list[Variable], directives: str = "", pos: int = -1
    ) -> None:
        self.pos = pos
        self.name = name
        self.returns = returns
        self.params = params
        self.directives = directives

    def key(self) -> Key:
        returns = tuple([v.key() for v in self.returns])
        return ("prototype", self.name, returns, tuple([v.key() for v in self.params]), self.directives)


_MAX_KEPT_NUMBER: Final = 1 << 13
_MAX_KEPT_STEMS: Final = 64
_kept_names: dict[str, list[str]] = {}


def numbered_names(stem: str, count: int) -> list[str]:
    """``stem0``, ``stem1`` ..., ``count`` or more: usual stems are kept, so that their strings are made and hashed
    once."""
    if count > _MAX_KEPT_NUMBER:
        return [f"{stem}{index}" for index in range(count)]
    names = _kept_names.get(stem)
    if names is None:
        if len(_kept_names) >= _MAX_KEPT_STEMS:
            _kept_names.clear()
        names = []
    if len(names) < count:
        names = names + [f"{stem}{index}" for index in range(len(names), 2 * count)]
        _kept_names[stem] = names  # a new list, because another thread may be reading the old one
    return names


def numbered_name(stem: str, number: int) -> str:
    """``stem`` and a number."""
    return numbered_names(stem, number + 1)[number] if number < _MAX_KEPT_NUMBER else f"{stem}{number}"


class Function:
    """A kernel (``.entry``) or device function (``.func``); ``has_body`` is False for declarations.

    ``variables`` holds what the body declares in ``.shared``, ``.local``, ``.param``, ``.const`` or ``.global``
    space; ``directives`` the performance directives (``.maxntid`` ...) in order. ``unread`` is the whole text of a
    function that is defined, but not understood (see ``drawloom.ptx.recovery``), which is a declaration otherwise.
    """

    def __init__(self, name: str, is_entry: bool = False) -> None:
        self.name = name
        self.is_entry = is_entry
        self.linkage = ""
        self.has_body = True
        self.noreturn = False
        self.attributes = ""
        self.returns: list[Variable] = []
        self.params: list[Variable] = []
        self.directives: list[Directive] = []
        self.registers: list[Register] = []
        self.variables: list[Variable] = []
        self.body: list[Statement] = []
        self.unread: Unread | None = None
        self.pos = -1
        self._names: set[str] | None = None

    def new_register(self, type: Type, prefix: str = "") -> Register:
        """Add a fresh register of ``type``; its name is unused so far."""
        stem = prefix or _STEMS[type.name]
        registers = self.registers
        index = len(registers)
        names = self._names
        if names is None or len(names) != index:
            names = self._names = {r.name for r in registers}
        name = numbered_name(stem, index)
        number = index
        while name in names:
            number += 1
            name = numbered_name(stem, number)
        names.add(name)
        register = Register(index, name, type)
        registers.append(register)
        return register

    def instructions(self) -> list[Instruction]:
        """The instructions of the body, in order."""
        return [s for s in self.body if isinstance(s, Instruction)]

    def key(self) -> Key:
        return (
            "func", self.name, self.is_entry, self.linkage, self.has_body, self.noreturn, self.attributes,
            tuple([v.key() for v in self.returns]), tuple([v.key() for v in self.params]),
            tuple([d.key() for d in self.directives]), tuple([r.key() for r in self.registers]),
            tuple([v.key() for v in self.variables]), tuple([s.key() for s in self.body]),
            "" if self.unread is None else self.unread.text,
        )  # fmt: skip

    def __repr__(self) -> str:
        return f"<{'entry' if self.is_entry else 'func'} {self.name}: {len(self.body)} statements>"


_PREFIX: Final[dict[str, str]] = {
    "pred": "p", "b16": "rs", "u16": "rs", "s16": "rs", "b32": "r", "u32": "r", "s32": "r", "b64": "rd",
    "u64": "rd", "s64": "rd", "f32": "f", "f64": "fd", "f16": "h", "f16x2": "hh", "b128": "rq",
}  # fmt: skip
#: What the names of new registers of a type begin with.
_STEMS: Final[dict[str, str]] = {name: "%" + _PREFIX.get(name, f"x_{name}_") for name in TYPES}


class Module:
    """A PTX module. ``items`` keeps file order; ``functions`` and ``variables`` are the views by name.

    ``refusals`` say what outside functions was not understood, where that is allowed (``drawloom.ptx.recovery``).
    Equality is structural and ignores comments, positions and the source text.
    """

    def __init__(self) -> None:
        self.version: tuple[int, int] = (8, 0)
        self.target: list[str] = ["sm_75"]
        self.address_size = 64
        self.items: list[Directive | Variable | Function] = []
        self.functions: dict[str, Function] = {}
        self.variables: dict[str, Variable] = {}
        self.source = ""
        self.filename = ""
        self.refusals: list[SourceError] = []
        self._line_starts: list[int] | None = None
        self._quoted_line = 0  # the line that was quoted last, and its text: many errors may be on one long line
        self._quoted = ""

    @property
    def arch(self) -> str:
        """The target architecture, such as ``"sm_80"``."""
        return self.target[0]

    @property
    def kernels(self) -> list[Function]:
        """The entries that have a body, in file order."""
        return [f for f in self.functions.values() if f.is_entry and f.has_body]

    def with_functions(self, changed: dict[str, Function], first: Sequence[Variable | Function] = ()) -> Module:
        """A module with the functions ``changed``, by name, in the places of those that it defines, and ``first``
        before the first function; everything else is shared."""
        out = Module()
        out.version, out.target, out.address_size = self.version, self.target, self.address_size
        out.source, out.filename = self.source, self.filename
        waiting = list(first)
        for item in self.items:
            if isinstance(item, Function):
                for more in waiting:
                    out.add(more)
                waiting = []
                if item.has_body:
                    out.add(changed.get(item.name, item))
                    continue
            out.add(item)
        return out

    def add(self, item: Directive | Variable | Function) -> None:
        """Append ``item``; a definition replaces an earlier declaration in the name views."""
        self.items.append(item)
        if isinstance(item, Function):
            previous = self.functions.get(item.name)
            if previous is None or not previous.has_body:
                self.functions[item.name] = item
        elif isinstance(item, Variable):
            known = self.variables.get(item.name)
            if known is None or known.linkage == ".extern":
                self.variables[item.name] = item

    def position(self, pos: int) -> tuple[int, int]:
        """``(line, column)``, both from 1, of a character offset; ``(0, 0)`` when there is none."""
        if pos < 0 or not self.source:
            return (0, 0)
        if self._line_starts is None:
            starts = [0]
            at = self.source.find("\n")
            while at >= 0:
                starts.append(at + 1)
                at = self.source.find("\n", at + 1)
            self._line_starts = starts
        line = bisect_right(self._line_starts, pos)
        return (line, pos - self._line_starts[line - 1] + 1)

    def line(self, statement: Statement) -> int:
        """The line of a statement in the source, from 1; 0 when it has none."""
        return self.position(statement.pos)[0]

    def source_line(self, line: int) -> str:
        """The text of a line (from 1), without its line end; empty when there is none."""
        if line < 1 or self._line_starts is None or line > len(self._line_starts):
            return ""
        if line != self._quoted_line:
            start = self._line_starts[line - 1]
            end = self.source.find("\n", start)
            self._quoted = self.source[start : end if end >= 0 else len(self.source)]
            self._quoted_line = line
        return self._quoted

    def error(self, kind: type[SourceError], pos: int, message: str, expected: str = "") -> SourceError:
        """An error of ``kind`` that names file, line and column of ``pos`` and quotes the line."""
        line, column = self.position(pos)
        return kind(message, self.filename, line, column, self.source_line(line), expected)

    def key(self) -> Key:
        return (self.version, tuple(self.target), self.address_size, tuple([i.key() for i in self.items]))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Module) and self.key() == other.key()

    def __hash__(self) -> int:
        return hash(self.key())

    def __str__(self) -> str:
        from drawloom.ptx.printer import print_module

        return print_module(self)
