"""The refusals of the code generator: programs that are well-typed and well-formed, but have no code."""

from __future__ import annotations

from drawloom.errors import VerifyError
from drawloom.lift.language.positions import Position


class LiftCompileError(VerifyError):
    """A program that no kernel is made of: a pattern, why not, and what to write in its place."""


class DivergentBarrier(LiftCompileError):
    """A program that needs a barrier which not all work-items would reach, or that work-groups do not have."""


def not_compiled(
    message: str, position: Position, expected: str = "", kind: type[LiftCompileError] = LiftCompileError
) -> LiftCompileError:
    return kind(message, position.file, position.line, position.column, position.read_source_line(), expected)
