"""What the rules of signatures share: how a call is refused, and what its arguments must be."""

from __future__ import annotations

from collections.abc import Callable

from drawloom.horse.ir import Operand
from drawloom.horse.types import WILDCARD, Type, VectorType


class SignatureError(Exception):
    """A call that no rule allows; ``expected`` says what the builtin takes."""

    def __init__(self, message: str, expected: str) -> None:
        super().__init__(message)
        self.message = message
        self.expected = expected


Rule = Callable[[str, list[Operand], list[Type]], Type]


def refuse(name: str, types: list[Type], expected: str) -> SignatureError:
    """The error for a call that does not take such types."""
    given = ", ".join([str(t) for t in types])
    return SignatureError(f"@{name} does not take ({given})", expected)


def arity(name: str, types: list[Type], count: int) -> None:
    """Raises SignatureError for another number of arguments."""
    if len(types) != count:
        word = "argument" if count == 1 else "arguments"
        raise SignatureError(f"@{name} takes {count} {word}, not {len(types)}", f"{count} {word}")


def vectors(name: str, types: list[Type], expected: str) -> list[VectorType]:
    """The types, which must be vectors. Raises SignatureError."""
    out: list[VectorType] = []
    for type in types:
        if not isinstance(type, VectorType):
            raise refuse(name, types, expected)
        out.append(type)
    return out


def numbers(name: str, types: list[Type], count: int) -> list[VectorType] | None:
    """The types, which must be numeric; None when one is not known yet."""
    arity(name, types, count)
    if WILDCARD in types:
        return None
    found = vectors(name, types, "numbers")
    if not all(v.is_numeric for v in found):
        raise refuse(name, types, "numbers")
    return found
