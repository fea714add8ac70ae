"""Views: how the elements of a value are found in memory (thesis 4.3.3, table 4.1).

A view answers three questions: what is element ``i`` (an array), what is component ``c`` (a tuple), and how is it
loaded or stored (a scalar or vector). Layout patterns make views of views, so they cost no memory and no code. The same
classes serve reads and writes, as each pattern's write view is the read view of its dual: what is written through
``join`` is cut by a `SplitView`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from drawloom.errors import Error
from drawloom.lift.arithmetic import (
    TRUE,
    ZERO,
    Condition,
    Constant,
    Nat,
    all_of,
    as_nat,
    is_provably_false,
    is_provably_true,
    less,
    less_equal,
    maximum,
    minimum,
    select,
    simplify,
)
from drawloom.lift.arithmetic.expression import OPERATORS
from drawloom.lift.codegen.syntax import Access, Apply, Choose, Member, Value
from drawloom.lift.language.types import ScalarType, TupleType, VectorType
from drawloom.lift.memory.buffers import PRIVATE, Buffer


def tidy(index: Nat) -> Nat:
    """Return the normal form of an index, or the index as it is where indices are not simplified."""
    return index if OPERATORS.active is OPERATORS.raw else simplify(index)


class UnsupportedView(Error):
    """An access that the code generator cannot express; `codegen` adds the pattern and the Python line."""


class View:
    """How a value is read or written. ``space`` is the address space of its memory, None for constants."""

    space: str | None = None

    def at(self, index: Nat) -> View:
        """Return the view of an element of an array."""
        raise UnsupportedView(f"{self.describe()} is not an array")

    def component(self, index: int) -> View:
        """Return the view of a component of a tuple."""
        raise UnsupportedView(f"{self.describe()} is not a tuple")

    def load(self) -> Value:
        """Return the value of a scalar, vector or struct."""
        raise UnsupportedView(f"{self.describe()} cannot be loaded as one value")

    def place(self) -> list[Access]:
        """Return where a scalar or vector is stored: one place, or one for each component of a vector."""
        raise UnsupportedView(f"{self.describe()} cannot be written")

    def describe(self) -> str:
        return self.__class__.__name__

    def show(self) -> str:
        """Return the view and those below it in the notation of table 4.1."""
        return self.describe()


class ConstantView(View):
    """A literal, or the components of a vector literal."""

    def __init__(self, value: Value) -> None:
        self.value = value

    def load(self) -> Value:
        return self.value


class ValueView(View):
    """An expression of C, such as a call whose result is a struct."""

    space: str | None = PRIVATE

    def __init__(self, value: Value) -> None:
        self.value = value

    def component(self, index: int) -> View:
        if isinstance(self.value, Apply) and self.value.closing == "}":
            return ValueView(self.value.arguments[index])
        return ValueView(Member(self.value, f"_{index}"))

    def load(self) -> Value:
        return self.value


class Forest:
    """The buffers of a value: one, or for tuples one forest for each component."""

    def __init__(self, buffer: Buffer | None, parts: list[Forest]) -> None:
        self.buffer = buffer
        self.parts = parts

    def buffers(self) -> list[Buffer]:
        if self.buffer is not None:
            return [self.buffer]
        return [buffer for part in self.parts for buffer in part.buffers()]


class MemoryView(View):
    """A value in memory: its buffers and the indices so far, outermost first."""

    def __init__(self, forest: Forest, path: tuple[Nat, ...], convert: Convert, tag: int = 0) -> None:
        self.forest = forest
        self.path = path
        self.convert = convert
        self.tag = tag
        self.space = forest.buffers()[0].space

    def at(self, index: Nat) -> View:
        return MemoryView(self.forest, (*self.path, index), self.convert, self.tag)

    def component(self, index: int) -> View:
        if self.forest.buffer is not None:
            assert isinstance(self.forest.buffer.element, TupleType)
            return ValueView(Member(self.load(), f"_{index}"))
        return MemoryView(self.forest.parts[index], self.path, self.convert, self.tag)

    def load(self) -> Value:
        return self.place()[0]

    def place(self) -> list[Access]:
        buffer = self.forest.buffer
        if buffer is None:
            raise UnsupportedView("a tuple is stored by components")
        lengths = buffer.lengths
        width = 0
        path = list(self.path)
        if len(lengths) == len(path) + 1 and buffer.space != PRIVATE:
            width = buffer.vector_width
            path.append(ZERO)
        if len(lengths) != len(path):
            raise UnsupportedView(f"{buffer.name} has {len(lengths)} dimensions, and {len(path)} indices are given")
        return [Access(buffer, self.convert(buffer, path), width, None, self.tag, tuple(path))]

    def same_place(self, other: View) -> bool:
        return isinstance(other, MemoryView) and other.forest is self.forest and other.path == self.path

    def describe(self) -> str:
        names = ", ".join([buffer.name for buffer in self.forest.buffers()])
        return f"MemoryView({names})" + "".join([f"[{index}]" for index in self.path])

    def tagged(self, tag: int) -> MemoryView:
        return MemoryView(self.forest, self.path, self.convert, tag)


#: From the indices of a buffer's dimensions to the index of its element.
Convert = Callable[[Buffer, list[Nat]], Nat]


class Derived(View):
    """A view of another view."""

    def __init__(self, base: View) -> None:
        self.base = base
        self.space = base.space

    def show(self) -> str:
        return f"{self.describe()} <- {self.base.show()}"


class SplitView(Derived):
    """Chunks of an array: element (i, j) is element ``i*chunk + j``."""

    def __init__(self, base: View, chunk: Nat, outer: Nat | None = None) -> None:
        super().__init__(base)
        self.chunk = chunk
        self.outer = outer

    def at(self, index: Nat) -> View:
        if self.outer is None:
            return SplitView(self.base, self.chunk, index)
        return self.base.at(tidy(self.outer * self.chunk + index))

    def describe(self) -> str:
        return f"SplitView({self.chunk})"


class JoinView(Derived):
    """The elements of an array of arrays: element k is element (k / chunk, k mod chunk)."""

    def __init__(self, base: View, chunk: Nat) -> None:
        super().__init__(base)
        self.chunk = chunk

    def at(self, index: Nat) -> View:
        return self.base.at(index // self.chunk).at(index % self.chunk)

    def describe(self) -> str:
        return f"JoinView({self.chunk})"


class ReorderView(Derived):
    """An array whose element i is element ``reorder(i)``."""

    def __init__(self, base: View, reorder: Callable[[Nat], Nat], name: str) -> None:
        super().__init__(base)
        self.reorder = reorder
        self.name = name

    def at(self, index: Nat) -> View:
        return self.base.at(self.reorder(index))

    def describe(self) -> str:
        return f"ReorderView({self.name})"


class TransposeView(Derived):
    """A matrix with its dimensions exchanged."""

    def __init__(self, base: View, row: Nat | None = None) -> None:
        super().__init__(base)
        self.row = row

    def at(self, index: Nat) -> View:
        return TransposeView(self.base, index) if self.row is None else self.base.at(index).at(self.row)


class SlideView(Derived):
    """Windows that begin every ``step`` elements."""

    def __init__(self, base: View, step: Nat, window: Nat | None = None) -> None:
        super().__init__(base)
        self.step = step
        self.window = window

    def at(self, index: Nat) -> View:
        if self.window is None:
            return SlideView(self.base, self.step, index)
        return self.base.at(tidy(self.window * self.step + index))

    def describe(self) -> str:
        return f"SlideView({self.step})"


class ZipView(View):
    """An array of tuples, or a tuple, of several views: component c of element i is element i of view c."""

    def __init__(self, parts: list[View]) -> None:
        self.parts = parts
        self.space = next((part.space for part in parts if part.space is not None), None)

    def at(self, index: Nat) -> View:
        return ZipView([part.at(index) for part in self.parts])

    def component(self, index: int) -> View:
        return self.parts[index]

    def show(self) -> str:
        return "ZipView(" + ", ".join([part.show() for part in self.parts]) + ")"


class UnzipView(Derived):
    """Component c of every element of an array of tuples."""

    def __init__(self, base: View, index: int) -> None:
        super().__init__(base)
        self.index = index

    def at(self, index: Nat) -> View:
        return self.base.at(index).component(self.index)

    def describe(self) -> str:
        return f"TupleAccessView({self.index})"


class Branches:
    """Counts the branches of conditions that are being made: no statement may be emitted for what stands in one."""

    depth: ClassVar[int] = 0


def in_branch(make: Callable[[], View]) -> View:
    """Make a view that is only valid under a condition."""
    Branches.depth += 1
    try:
        return make()
    finally:
        Branches.depth -= 1


class ConditionView(View):
    """One of two views, chosen by a condition when it is read."""

    def __init__(self, condition: Condition, then: View, otherwise: View) -> None:
        self.condition = condition
        self.then = then
        self.otherwise = otherwise
        self.space = then.space or otherwise.space

    def at(self, index: Nat) -> View:
        return ConditionView(
            self.condition, in_branch(lambda: self.then.at(index)), in_branch(lambda: self.otherwise.at(index))
        )

    def component(self, index: int) -> View:
        return ConditionView(self.condition, self.then.component(index), self.otherwise.component(index))

    def load(self) -> Value:
        return Choose(self.condition, self.then.load(), self.otherwise.load())


def choose_view(condition: Condition, then: Callable[[], View], otherwise: Callable[[], View]) -> View:
    """Return the view that a condition chooses, without the condition where it is decided."""
    if is_provably_true(condition):
        return then()
    if is_provably_false(condition):
        return otherwise()
    return ConditionView(condition, in_branch(then), in_branch(otherwise))


class FunctionView(View):
    """An array whose elements are made by a function of the index."""

    def __init__(self, element: Callable[[Nat], View], name: str, space: str | None = None) -> None:
        self.element = element
        self.name = name
        self.space = space

    def at(self, index: Nat) -> View:
        return self.element(index)

    def describe(self) -> str:
        return self.name


class HeadView(View):
    """The only element of an array, as an array: what is written through ``head``."""

    def __init__(self, base: View) -> None:
        self.base = base
        self.space = base.space

    def at(self, index: Nat) -> View:
        return self.base


class ReplicateView(View):
    """An array of equal elements."""

    def __init__(self, element: View) -> None:
        self.element = element
        self.space = element.space

    def at(self, index: Nat) -> View:
        return self.element


def concat_view(parts: list[View], lengths: list[Nat]) -> View:
    """Return the view of arrays that are laid end to end."""

    def element(index: Nat, at: int = 0) -> View:
        if at == len(parts) - 1:
            return parts[at].at(index)
        return choose_view(
            less(index, lengths[at]),
            lambda: parts[at].at(index),
            lambda: element(tidy(index - lengths[at]), at + 1),
        )

    return FunctionView(element, "ConcatView", parts[0].space)


def shift_view(base: View, offset: Nat) -> View:
    return ReorderView(base, lambda index: tidy(index + offset), f"i → i + {offset}")


def pad_view(base: View, left: Nat, length: Nat, boundary: str) -> View:
    """Return the view of an array with elements of its own before and after it."""

    def inside(index: Nat) -> Nat:
        at = tidy(index - left)
        if boundary == "wrap":
            return at % length
        if boundary == "mirror":
            below = select(less(at, 0), -1 - at, at)
            return select(less(below, length), below, 2 * length - 1 - below)
        return maximum(minimum(at, length - 1), as_nat(0))

    return ReorderView(base, inside, f"pad {boundary}")


def pad_value_view(base: View, left: Nat, length: Nat, value: View) -> View:
    def element(index: Nat) -> View:
        at = tidy(index - left)
        return choose_view(
            less(at, 0), lambda: value, lambda: choose_view(less(at, length), lambda: base.at(at), lambda: value)
        )

    return FunctionView(element, "PadView", base.space)


class AsVectorView(Derived):
    """``width`` scalars as one vector."""

    def __init__(self, base: View, width: int, element: ScalarType, index: Nat | None = None) -> None:
        super().__init__(base)
        self.width = width
        self.element = element
        self.index = index

    def at(self, index: Nat) -> View:
        assert self.index is None
        return AsVectorView(self.base, self.width, self.element, index)

    def parts(self) -> list[View]:
        assert self.index is not None
        return [self.base.at(tidy(self.index * self.width + at)) for at in range(self.width)]

    def load(self) -> Value:
        values = [part.load() for part in self.parts()]
        vector = as_one_vector(values)
        return vector if vector is not None else Apply(f"({self.element}{self.width})(", values)

    def place(self) -> list[Access]:
        places = [place for part in self.parts() for place in part.place()]
        vector = as_one_vector(list(places))
        return [vector] if vector is not None else places

    def describe(self) -> str:
        return f"AsVectorView({self.width})"


def as_one_vector(values: list[Value]) -> Access | None:
    """Return the vector of consecutive elements that values are the components of, if they are."""
    first = values[0]
    if not isinstance(first, Access) or first.width or first.tag:
        return None
    buffer = first.buffer
    in_vector = isinstance(buffer.element, VectorType) and buffer.element.width == len(values)
    for at, value in enumerate(values):
        if not isinstance(value, Access) or value.buffer is not buffer or value.width:
            return None
        if in_vector:
            if value.component is not as_nat(at) or value.index is not first.index:
                return None
        elif value.component is not None or tidy(value.index - first.index) is not as_nat(at):
            return None
    if in_vector:
        return Access(buffer, first.index)
    return None if buffer.space == PRIVATE else Access(buffer, first.index, len(values), None, 0, first.path)


class AsScalarView(Derived):
    """The components of vectors."""

    def __init__(self, base: View, width: int) -> None:
        super().__init__(base)
        self.width = width

    def at(self, index: Nat) -> View:
        return ComponentView(self.base.at(index // self.width), index % self.width)

    def describe(self) -> str:
        return f"AsScalarView({self.width})"


class ComponentView(Derived):
    """A component of a vector."""

    def __init__(self, base: View, index: Nat) -> None:
        super().__init__(base)
        self.index = index

    def load(self) -> Value:
        value = self.base.load()
        if isinstance(value, Access):
            return component_of(value, self.index)
        if isinstance(self.index, Constant):
            return Member(value, f"s{self.index.value:x}")
        raise UnsupportedView("a component that is not constant of a vector that is not in memory")

    def place(self) -> list[Access]:
        places = self.base.place()
        if len(places) == 1:
            return [component_of(places[0], self.index)]
        if isinstance(self.index, Constant):
            return [places[self.index.value]]
        raise UnsupportedView("a component that is not constant of a vector whose components are not consecutive")


def component_of(access: Access, index: Nat) -> Access:
    if access.width:
        path = (*access.path[:-1], tidy(access.path[-1] + index))
        return Access(access.buffer, tidy(access.index + index), 0, None, access.tag, path)
    return Access(access.buffer, access.index, 0, index, access.tag)


class GuardedView(Derived):
    """A target that is written only where a condition holds."""

    def __init__(self, base: View, condition: Condition) -> None:
        super().__init__(base)
        self.condition = condition

    def at(self, index: Nat) -> View:
        return GuardedView(self.base.at(index), self.condition)

    def component(self, index: int) -> View:
        return GuardedView(self.base.component(index), self.condition)


def part_target(base: View, start: Nat, stop: Nat | None) -> View:
    """Return the target of an array of which only the elements from `start` to `stop` are kept."""

    def element(index: Nat) -> View:
        kept = base.at(tidy(index - start))
        below = TRUE if stop is None else less(index, stop)
        condition = all_of(less_equal(start, index), below)
        return kept if is_provably_true(condition) else GuardedView(kept, condition)

    return FunctionView(element, "PartView", base.space)
