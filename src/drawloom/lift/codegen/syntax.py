"""The OpenCL C that Lift generates, as a tree whose indices are still arithmetic expressions.

    kernel      ::= statement*
    statement   ::= place '=' value                               -- Assign
                  | 'for' | 'if' | nothing around statement*      -- Loop, by its form
                  | 'if' condition statement*                     -- If
                  | 'barrier' | 'sub_group_barrier'               -- Barrier, of the work-group or of a warp
                  | 'int' NAME '=' value                          -- DeclareIndex: a size or an index that is data
                  | NAME '=' nat                                  -- SetIndex
                  | pointer '=' buffer                            -- SetPointer
    value       ::= place | nat | TEXT | NAME '(' values ')' | value '.' NAME | condition '?' value ':' value
    place       ::= buffer '[' nat ']'                            -- Access, also of vectors and their components

Barriers, unrolling and printing work on this tree; `codegen/printer.py` makes text of it.
"""

from __future__ import annotations

from collections.abc import Iterator

from drawloom.lift.arithmetic import Condition, Nat, Variable
from drawloom.lift.language.positions import NOWHERE, Position
from drawloom.lift.language.types import Type
from drawloom.lift.memory.buffers import GLOBAL, LOCAL, Buffer


class Value:
    """An expression of C."""


class Index(Value):
    """The value of an arithmetic expression, as an ``int``."""

    def __init__(self, nat: Nat) -> None:
        self.nat = nat


class Text(Value):
    """A constant, as C text."""

    def __init__(self, text: str) -> None:
        self.text = text


class Access(Value):
    """An element of a buffer, or several.

    Args:
        buffer: The memory.
        index: Which element, counted in elements of the buffer.
        width: 0 for one element; otherwise so many consecutive elements as a vector.
        component: Which component of a vector in private memory, or None.
        tag: Not 0 for what an accumulator held before a step of its reduction.
        path: The index in each dimension of the buffer, outermost first.
    """

    def __init__(
        self,
        buffer: Buffer,
        index: Nat,
        width: int = 0,
        component: Nat | None = None,
        tag: int = 0,
        path: tuple[Nat, ...] = (),
    ) -> None:
        self.buffer = buffer
        self.index = index
        self.width = width
        self.component = component
        self.tag = tag
        self.path = path


class Apply(Value):
    """A call of a function, or with a parenthesised type a conversion, a vector or a struct of values."""

    def __init__(self, name: str, arguments: list[Value], closing: str = ")") -> None:
        self.name = name
        self.arguments = arguments
        self.closing = closing


class Member(Value):
    """A component of a struct or a vector."""

    def __init__(self, operand: Value, name: str) -> None:
        self.operand = operand
        self.name = name


class Choose(Value):
    """One of two values, of which only the chosen one is evaluated."""

    def __init__(self, condition: Condition, then: Value, otherwise: Value) -> None:
        self.condition = condition
        self.then = then
        self.otherwise = otherwise


class Statement:
    """A statement of C."""


class Assign(Statement):
    def __init__(self, place: Access, value: Value) -> None:
        self.place = place
        self.value = value


class AtomicUpdate(Assign):
    """Combines a value with an element, whatever other work-items do to it meanwhile.

    Args:
        place: The element, of 4 or 8 bytes.
        value: The operand of `builtin`; without one, the new value as an expression of ``before``.
        builtin: A function such as ``atomic_add``, or "" for a loop of ``atomic_cmpxchg``.
        word: The integer type of the element's size, ``int`` or ``long``.
    """

    def __init__(self, place: Access, value: Value, builtin: str, word: str = "int") -> None:
        super().__init__(place, value)
        self.builtin = builtin
        self.word = word


#: The forms of a loop: a ``for``, an ``if`` for at most one round, or no control flow for exactly one.
FOR, IF, ONCE = "for", "if", "once"


class Loop(Statement):
    """The iterations of a pattern.

    Args:
        variable: The iteration variable: `start`, `start + step`, ... below `stop`.
        form: How often the body runs: any number of times, at most once, or exactly once.
        kind: ``glb``, ``wrg`` or ``lcl`` where work-items share the iterations, else ``seq`` or ``reduce``.
        dimension: Of the work-items, for a parallel loop.
        position: The Python line of the pattern.
        keyword: The pattern.
    """

    def __init__(
        self,
        variable: Variable,
        start: Nat,
        stop: Nat,
        step: Nat,
        body: list[Statement],
        form: str,
        kind: str,
        dimension: int = 0,
        position: Position = NOWHERE,
        keyword: str = "",
    ) -> None:
        self.variable = variable
        self.start = start
        self.stop = stop
        self.step = step
        self.body = body
        self.form = form
        self.kind = kind
        self.dimension = dimension
        self.position = position
        self.keyword = keyword


class If(Statement):
    def __init__(self, condition: Condition, body: list[Statement]) -> None:
        self.condition = condition
        self.body = body


class Barrier(Statement):
    """A barrier of the work-group or of a warp, with fences for local memory, global memory or both."""

    def __init__(self, local: bool, global_: bool, of_warp: bool = False) -> None:
        self.local = local
        self.global_ = global_
        self.of_warp = of_warp

    def add_fence(self, space: str) -> None:
        """Order the accesses to another address space, too."""
        self.local = self.local or space == LOCAL
        self.global_ = self.global_ or space == GLOBAL

    def has_fence(self, space: str) -> bool:
        return self.local if space == LOCAL else self.global_


class DeclareIndex(Statement):
    """An ``int`` variable with a value that is data, or that changes."""

    def __init__(self, variable: Variable, value: Value) -> None:
        self.variable = variable
        self.value = value


class SetIndex(Statement):
    def __init__(self, variable: Variable, value: Nat) -> None:
        self.variable = variable
        self.value = value


class SetPointer(Statement):
    """Points to a buffer; with `first` and `second` given, to whichever of them it, or `other`, does not point to.

    Args:
        pointer: A buffer that stands for other buffers.
        target: What it points to, a buffer or another pointer.
    """

    def __init__(self, pointer: Buffer, target: Buffer, is_declaration: bool) -> None:
        self.pointer = pointer
        self.target = target
        self.is_declaration = is_declaration


class SwapPointers(Statement):
    """Lets one pointer read what the other has written.

    Args:
        source: Points to the data of the next iteration afterwards.
        target: Points to `spare` where it pointed to `home`, and to `home` otherwise.
    """

    def __init__(self, source: Buffer, target: Buffer, home: Buffer, spare: Buffer) -> None:
        self.source = source
        self.target = target
        self.home = home
        self.spare = spare


class Struct:
    """A struct that stands for a tuple type."""

    def __init__(self, name: str, members: list[Type]) -> None:
        self.name = name
        self.members = members


def values_of(value: Value) -> Iterator[Value]:
    """Yield a value and everything that it is made of."""
    yield value
    if isinstance(value, Apply):
        for argument in value.arguments:
            yield from values_of(argument)
    elif isinstance(value, Member):
        yield from values_of(value.operand)
    elif isinstance(value, Choose):
        yield from values_of(value.then)
        yield from values_of(value.otherwise)


def loads_of(statement: Statement) -> Iterator[Access]:
    """Yield what a statement reads itself, without its body."""
    value = statement.value if isinstance(statement, Assign | DeclareIndex) else None
    if value is not None and isinstance(value, Value):
        for part in values_of(value):
            if isinstance(part, Access):
                yield part


def body_of(statement: Statement) -> list[Statement] | None:
    """Return the statements inside a statement."""
    return statement.body if isinstance(statement, Loop | If) else None
