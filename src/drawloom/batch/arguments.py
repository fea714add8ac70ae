"""Arguments of a launch, checked against a kernel's parameters: nothing is written where any is wrong."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from drawloom.batch.frontend import syntax
from drawloom.batch.ir.ir import Access, Kernel
from drawloom.errors import LaunchError, count


def check_arguments(kernel: syntax.Kernel, written: list[bool], arguments: tuple[Any, ...]) -> None:
    """Refuse arguments that do not fit the parameters.

    Args:
        kernel: The kernel whose parameters they are.
        written: For each parameter whether the kernel stores through it.
        arguments: What a caller passed.

    Raises:
        LaunchError: A wrong number, type or layout of arguments, a read-only output, or outputs that overlap.
    """
    parameters = kernel.parameters
    if len(arguments) != len(parameters):
        names = ", ".join(parameter.name for parameter in parameters)
        raise LaunchError(
            f"expected {count(len(parameters), 'argument')} ({names}), found {len(arguments)}", kernel.name
        )
    for parameter, value, is_written in zip(parameters, arguments, written):
        if parameter.is_pointer:
            check_array(kernel, parameter, value, is_written)
        else:
            check_number(kernel, parameter, value)
    check_overlaps(kernel, written, arguments)


def check_array(kernel: syntax.Kernel, parameter: syntax.Parameter, value: Any, is_written: bool) -> None:
    name = parameter.name
    if not isinstance(value, np.ndarray):
        raise LaunchError(f"{name} is a {type(value).__name__}\n  expected a NumPy array", kernel.name)
    if value.dtype != parameter.type.dtype or not value.dtype.isnative:
        raise LaunchError(f"{name} is an array of {value.dtype}\n  expected {parameter.type.dtype}", kernel.name)
    if not value.flags.c_contiguous:
        raise LaunchError(
            f"{name} is not contiguous: its strides are {value.strides}\n  numpy.ascontiguousarray makes a copy",
            kernel.name,
        )
    if not value.flags.aligned:
        raise LaunchError(f"{name} is not aligned to its elements", kernel.name)
    if is_written and not value.flags.writeable:
        raise LaunchError(f"{name} is read-only, and the kernel writes to it", kernel.name)


def check_number(kernel: syntax.Kernel, parameter: syntax.Parameter, value: Any) -> None:
    dtype = parameter.type.dtype
    if isinstance(value, np.ndarray) and value.ndim:
        raise LaunchError(f"{parameter.name} is an array\n  expected a number", kernel.name)
    if not isinstance(value, int | float | np.number | np.bool_ | np.ndarray) or isinstance(value, complex):
        raise LaunchError(f"{parameter.name} is a {type(value).__name__}\n  expected a number", kernel.name)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        if int(value) != value or not limits.min <= int(value) <= limits.max:
            raise LaunchError(f"{parameter.name} is {value}\n  expected a number of type {parameter.type}", kernel.name)


def check_overlaps(kernel: syntax.Kernel, written: list[bool], arguments: tuple[Any, ...]) -> None:
    arrays = [
        (parameter.name, value, is_written)
        for parameter, value, is_written in zip(kernel.parameters, arguments, written)
        if parameter.is_pointer
    ]
    for number, (left, one, left_written) in enumerate(arrays):
        for right, other, right_written in arrays[number + 1 :]:
            if (left_written or right_written) and np.may_share_memory(one, other):
                raise LaunchError(f"{left} and {right} overlap, and the kernel writes to one", kernel.name)


def count_groups(kernel: syntax.Kernel, arguments: tuple[Any, ...], groups: int | None) -> int:
    """Return how many groups run: as said, or the length that all arrays with several dimensions begin with.

    Raises:
        LaunchError: The number is not said, and arrays disagree about it.
    """
    if groups is not None:
        if groups < 0:
            raise LaunchError(f"groups is {groups!r}\n  expected a number of work-groups", kernel.name)
        return int(groups)
    lengths = {value.shape[0] for value in arguments if isinstance(value, np.ndarray) and value.ndim > 1}
    if len(lengths) != 1:
        found = "none has" if not lengths else f"they begin with {', '.join(map(str, sorted(lengths)))}"
        raise LaunchError(
            f"the number of groups is not known: of the arrays with several dimensions {found}\n"
            "  pass groups=..., the number of work-groups", kernel.name
        )  # fmt: skip
    return int(lengths.pop())


class Span(NamedTuple):
    """What an access may touch: elements `least` to `most` from a run-time place, which all its lanes share."""

    pointer: str
    terms: tuple[tuple[tuple[str, ...], int], ...]
    least: int
    most: int


class Reach:
    """The accesses of a kernel whose elements are known before it runs: no run-time mask or index decides them."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        found: dict[tuple[Any, ...], Span] = {}
        for value in kernel.body.values:
            if (value.op == "load" and not value.operands) or (value.op == "store" and len(value.operands) == 1):
                for span in spans_of(value.detail):
                    key = span.pointer, span.terms
                    known = found.get(key, span)
                    found[key] = span._replace(least=min(span.least, known.least), most=max(span.most, known.most))
        self.spans = list(found.values())

    def check(self, arguments: dict[str, Any], groups: int) -> None:
        """Refuse arrays that are too small for a number of groups.

        Raises:
            LaunchError: An element that the kernel reads or writes is outside of an array.
        """
        if groups > self.kernel.most_groups:
            raise LaunchError(
                f"{groups:,} groups overflow an index of 32 bits\n"
                f"  run at most {self.kernel.most_groups:,} at once, or compute indices as size_t", self.kernel.name
            )  # fmt: skip
        for span in self.spans:
            size = arguments[span.pointer].size
            for group in (0, groups - 1):
                place = 0
                for factors, coefficient in span.terms:
                    product = coefficient
                    for name in factors:
                        product *= group if name == "group" else int(arguments[name])
                    place += product
                if place + span.least < 0 or place + span.most >= size:
                    worst = place + (span.least if place + span.least < 0 else span.most)
                    raise LaunchError(
                        f"group {group} accesses element {worst} of {span.pointer}, an array of {size} elements",
                        self.kernel.name,
                    )


def spans_of(access: Access) -> list[Span]:
    """Return what an access touches, for each set of lanes that share the run-time part."""
    lanes: dict[tuple[tuple[tuple[str, ...], int], ...], list[int]] = {}
    active = access.active.reshape(-1)
    offsets = access.offsets.reshape(-1)
    rows = [(term.factors, term.coefficients.reshape(-1)) for term in access.terms]
    for lane in np.flatnonzero(active).tolist():
        terms = tuple((factors, int(coefficients[lane])) for factors, coefficients in rows)
        lanes.setdefault(terms, []).append(int(offsets[lane]))
    return [Span(access.pointer, terms, min(places), max(places)) for terms, places in lanes.items()]


#: Scalars by their kind, as ctypes takes them.
PYTHON_TYPES: Final = {"b": bool, "i": int, "u": int, "f": float}


class LaunchArguments:
    """What the arguments of a launch have to be. `source` is the kernel's syntax tree, `lowered` its InfReg-IR."""

    def __init__(self, source: syntax.Kernel, lowered: Kernel) -> None:
        self.source = source
        self.written = [parameter.is_written for parameter in lowered.parameters]
        self.reach = Reach(lowered)

    def check(self, arguments: tuple[Any, ...], groups: int | None) -> tuple[list[Any], int]:
        """Return the arguments, numbers as Python has them, and how many groups run.

        Raises:
            LaunchError: Arguments do not fit.
        """
        check_arguments(self.source, self.written, arguments)
        number = count_groups(self.source, arguments, groups)
        parameters = self.source.parameters
        if number:
            by_name = {parameter.name: value for parameter, value in zip(parameters, arguments)}
            self.reach.check(by_name, number)
        passed = [
            value if parameter.is_pointer else PYTHON_TYPES[parameter.type.kind](value)
            for parameter, value in zip(parameters, arguments)
        ]
        return passed, number
