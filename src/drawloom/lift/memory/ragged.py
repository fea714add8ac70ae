"""The chunks of a guarded split in memory: they lie one after the other, as the array that was split."""

from __future__ import annotations

from drawloom.lift.language.types import ArrayType, RaggedType, TupleType, Type
from drawloom.lift.memory.buffers import PRIVATE, Distribution
from drawloom.lift.views.views import FunctionView, SplitView, UnsupportedView, View, ZipView


def stored_type(type: Type) -> Type:
    """Return the type of the memory of a value: chunks are stored as the array that they are chunks of."""
    if isinstance(type, RaggedType):
        return ArrayType(stored_type(type.element), type.total)
    if isinstance(type, ArrayType):
        return ArrayType(stored_type(type.element), type.length)
    if isinstance(type, TupleType):
        return TupleType(tuple([stored_type(element) for element in type.elements]))
    return type


def has_chunks(type: Type) -> bool:
    """Return True for a type with the chunks of a guarded split in it."""
    if isinstance(type, TupleType):
        return any(has_chunks(element) for element in type.elements)
    return isinstance(type, RaggedType) or (isinstance(type, ArrayType) and has_chunks(type.element))


def chunk_view(memory: View, type: Type) -> View:
    """Return the view of a value whose memory has `stored_type`."""
    if not has_chunks(type):
        return memory
    if isinstance(type, RaggedType):
        return SplitView(chunk_view(memory, ArrayType(type.element, type.total)), type.chunk)
    if isinstance(type, TupleType):
        return ZipView([chunk_view(memory.component(at), element) for at, element in enumerate(type.elements)])
    assert isinstance(type, ArrayType)
    element = type.element
    return FunctionView(lambda at: chunk_view(memory.at(at), element), "ChunkView", memory.space)


def stored_distribution(type: Type, shared: list[Distribution | None], space: str) -> list[Distribution | None]:
    """Return how work-items share the dimensions of the memory of a value, from how they share the value's.

    Raises:
        UnsupportedView: Work-items share chunks in private memory.
    """
    stored: list[Distribution | None] = []
    marks = list(shared)
    while isinstance(type, ArrayType | RaggedType) and marks:
        own = marks.pop(0)
        if isinstance(type, RaggedType):
            own = own or (marks.pop(0) if marks else None)
            if own is not None and space == PRIVATE:
                raise UnsupportedView("work-items share the chunks of a guarded split in private memory: toLocal")
        stored.append(own)
        type = type.element
    return [*stored, *marks]
