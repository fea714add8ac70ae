"""The refusals of Lift: what is wrong, at which Python line or at which place of a text."""

from __future__ import annotations

from drawloom.errors import DataError, ParseError, VerifyError
from drawloom.lift.language.positions import Position


class LiftParseError(ParseError):
    """Text that is not Lift, or not the subset of C that user functions are written in."""


class LiftTypeError(VerifyError):
    """An ill-typed program: a pattern, what it expects, and what it was given."""


class WellFormednessError(VerifyError):
    """A well-typed program that no kernel can run as it stands, such as ``mapLcl`` outside ``mapWrg``."""


class SizeError(DataError):
    """Arrays or sizes that do not fit the program's types."""


def ill_typed(message: str, position: Position, expected: str = "") -> LiftTypeError:
    """Return a type error at a place, with the source line where there is one."""
    return LiftTypeError(message, position.file, position.line, position.column, position.read_source_line(), expected)


def not_well_formed(message: str, position: Position, expected: str = "") -> WellFormednessError:
    """Return a well-formedness error at a place, with the source line where there is one."""
    return WellFormednessError(
        message, position.file, position.line, position.column, position.read_source_line(), expected
    )
