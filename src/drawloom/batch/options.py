"""Options of the package's functions, checked and brought to one form: whole numbers, texts, and macros."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from drawloom.errors import DataError

MACRO_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def as_whole_number(name: str, value: Any) -> int:
    """Return an option that is a whole number.

    Args:
        name: What errors call the option.
        value: What the caller passed: an `int` or a NumPy integer, but not a `bool`.

    Raises:
        DataError: The value has another type.

    Example:
        >>> import numpy as np
        >>> as_whole_number("wg_size", np.int64(8))
        8
    """
    if not is_whole_number(value):
        raise DataError(f"{name} is {value!r}, of type {type(value).__name__}\n  expected a whole number")
    return int(value)


def is_whole_number(value: Any) -> bool:
    """Return whether a value is an `int` or a NumPy integer, but not a `bool`."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def check_text(name: str, value: Any) -> None:
    """Refuse an option that is not a text.

    Raises:
        DataError: The value has another type than `str`.
    """
    if not isinstance(value, str):
        raise DataError(f"{name} is {value!r}, of type {type(value).__name__}\n  expected a text")


def as_macros(defines: Any) -> dict[str, str]:
    """Return macros as texts by name.

    Args:
        defines: Texts or numbers by the names of macros; None for no macros.

    Raises:
        DataError: This is not a mapping, a key is not the name of a macro, or a value is neither a text nor a number.

    Example:
        >>> as_macros({"real": "double", "N": 4})
        {'real': 'double', 'N': '4'}
    """
    if defines is None:
        return {}
    if not isinstance(defines, Mapping):
        raise DataError(f"defines is {defines!r}\n  expected texts by the names of macros, as {{'real': 'double'}}")
    return {macro_name(name): macro_text(name, value) for name, value in defines.items()}


def macro_name(name: Any) -> str:
    if not isinstance(name, str) or not MACRO_NAME.fullmatch(name):
        raise DataError(f"{name!r} is not the name of a macro\n  expected letters, digits and _, not a digit first")
    return name


def macro_text(name: str, value: Any) -> str:
    """Return what a macro stands for; a number is written as C writes it."""
    if isinstance(value, str):
        return value
    if is_whole_number(value):
        return str(int(value))
    if not isinstance(value, float | np.floating) or not math.isfinite(value):
        raise DataError(f"the macro {name} is {value!r}\n  expected a text or a finite number")
    return repr(float(value))
