"""What the launch of a kernel has to know of it: parameters, and which elements of its arrays it accesses.

A signature outlives the compiler: it is kept on disk beside the machine code (`stored.py`), as JSON.
"""

from __future__ import annotations

import json
from typing import Any, Final, NamedTuple

import numpy as np

from drawloom.batch.frontend import syntax
from drawloom.batch.ir.ir import Access, Kernel
from drawloom.batch.types import TYPES
from drawloom.errors import LaunchError

#: The run-time part of an address: products of numbers, each with a coefficient.
Terms = tuple[tuple[tuple[str, ...], int], ...]
LOADS: Final = ("load", "gather")
ACCESSES: Final = (*LOADS, "store", "scatter")
#: What a pointer's addresses depend on.
NOTHING, OWN_GROUP, ANYTHING = "nothing", "own group", "anything"


class Parameter(NamedTuple):
    """A parameter of a kernel.

    Args:
        name: Its name.
        type: Its scalar type by C's name, that of the elements for a pointer.
        is_pointer: Whether it takes an array.
        is_written: Whether the kernel stores through it.
        is_read: Whether the kernel loads through it.
        reach: "nothing" if every group accesses the same elements; "own group" if group g accesses none but the
            elements g * stride to (g + 1) * stride - 1; "anything" otherwise.
        stride: The elements of a group, 0 unless the reach is the own group.
    """

    name: str
    type: str
    is_pointer: bool
    is_written: bool
    is_read: bool
    reach: str = NOTHING
    stride: int = 0

    @property
    def dtype(self) -> np.dtype[Any]:
        return TYPES[self.type].dtype

    @property
    def is_only_written(self) -> bool:
        """Whether the kernel stores through it and never loads: such stores may go around the caches."""
        return self.is_written and not self.is_read

    @property
    def is_integer(self) -> bool:
        """Whether it takes an integer, on which an address may depend."""
        return not self.is_pointer and not TYPES[self.type].is_float

    @property
    def llvm_type(self) -> str:
        return TYPES[self.type].llvm


class Span(NamedTuple):
    """What an access may touch: elements `least` to `most` from a run-time place, which all its lanes share."""

    pointer: str
    terms: Terms
    least: int
    most: int


class Signature(NamedTuple):
    """A kernel's name and parameters, and the accesses whose elements are known before it runs (`spans`)."""

    name: str
    wg_size: int
    parameters: tuple[Parameter, ...]
    spans: tuple[Span, ...]
    most_groups: int

    def __str__(self) -> str:
        names = ", ".join(parameter.name for parameter in self.parameters)
        return f"<batch kernel {self.name}({names}), groups of {self.wg_size}>"

    def check_reach(self, sizes: dict[str, int], numbers: dict[str, int], groups: int) -> None:
        """Refuse arrays that are too small for a number of groups.

        Args:
            sizes: The elements of every array.
            numbers: The arguments that are no arrays.
            groups: How many groups run, at least 1.

        Raises:
            LaunchError: An element that the kernel reads or writes is outside of an array.
        """
        if groups > self.most_groups:
            raise LaunchError(
                f"{groups:,} groups overflow an index of 32 bits\n"
                f"  run at most {self.most_groups:,} at once, or compute indices as size_t", self.name
            )  # fmt: skip
        for span in self.spans:
            size = sizes[span.pointer]
            for group in (0, groups - 1):
                place = 0
                for factors, coefficient in span.terms:
                    product = coefficient
                    for name in factors:
                        product *= group if name == "group" else numbers[name]
                    place += product
                if place + span.least < 0 or place + span.most >= size:
                    worst = place + (span.least if place + span.least < 0 else span.most)
                    raise LaunchError(
                        f"group {group} accesses element {worst} of {span.pointer}, an array of {size} elements",
                        self.name,
                    )

    def to_json(self) -> str:
        return json.dumps(self)

    @staticmethod
    def from_json(text: str) -> Signature:
        name, wg_size, parameters, spans, most_groups = json.loads(text)
        made = tuple(
            Span(pointer, tuple((tuple(factors), number) for factors, number in terms), least, most)
            for pointer, terms, least, most in spans
        )
        return Signature(name, wg_size, tuple(Parameter(*parameter) for parameter in parameters), made, most_groups)


def signature_of(source: syntax.Kernel, lowered: Kernel) -> Signature:
    """Return the signature of a kernel, from its syntax tree and its InfReg-IR."""
    reached = reach_of_pointers(lowered)
    accesses = [value for block in lowered.blocks() for value in block.values if value.op in LOADS]
    read = {value.detail.pointer for value in accesses}
    parameters = []
    for p, found in zip(source.parameters, lowered.parameters):
        reach, stride = reached.get(p.name, (NOTHING, 0))
        is_read = p.name in read
        parameters.append(Parameter(p.name, p.type.name, p.is_pointer, found.is_written, is_read, reach, stride))
    return Signature(source.name, source.wg_size, tuple(parameters), known_spans(lowered), lowered.most_groups)


def known_spans(kernel: Kernel) -> tuple[Span, ...]:
    """Return what a kernel accesses in any case: no run-time mask, loop or index decides it."""
    found: dict[Any, Span] = {}
    for value in kernel.body.values:
        if (value.op == "load" and not value.operands) or (value.op == "store" and len(value.operands) == 1):
            for span in spans_of(value.detail):
                key = span.pointer, span.terms
                known = found.get(key, span)
                found[key] = span._replace(least=min(span.least, known.least), most=max(span.most, known.most))
    return tuple(found.values())


def reach_of_pointers(kernel: Kernel) -> dict[str, tuple[str, int]]:
    """Return the reach and the stride of every pointer that is accessed."""
    reached: dict[str, tuple[str, int]] = {}
    for block in kernel.blocks():
        for value in block.values:
            if value.op not in ACCESSES:
                continue
            for found in reach_of_access(value.op, value.detail):
                pointer = value.detail.pointer
                if reached.setdefault(pointer, found) != found:
                    reached[pointer] = ANYTHING, 0
    return reached


def reach_of_access(op: str, access: Access) -> list[tuple[str, int]]:
    if op in ("gather", "scatter"):
        return [(ANYTHING, 0)]
    found = []
    for span in spans_of(access):
        if not span.terms:
            found.append((NOTHING, 0))
            continue
        (factors, stride), *others = span.terms
        inside = not others and factors == ("group",) and span.least >= 0 and span.most < stride
        found.append((OWN_GROUP, stride) if inside else (ANYTHING, 0))
    return found


def spans_of(access: Access) -> list[Span]:
    """Return what an access touches, for each set of lanes that share the run-time part."""
    lanes: dict[Terms, list[int]] = {}
    active = access.active.reshape(-1)
    offsets = access.offsets.reshape(-1)
    rows = [(term.factors, term.coefficients.reshape(-1)) for term in access.terms]
    for lane in np.flatnonzero(active).tolist():
        terms = tuple((factors, int(numbers[lane])) for factors, numbers in rows if numbers[lane])
        lanes.setdefault(terms, []).append(int(offsets[lane]))
    return [Span(access.pointer, terms, min(places), max(places)) for terms, places in lanes.items()]
