"""From the name of a kernel in a source to its symbol: `scale`, `ns::scale`, `scale<4>` of a template, `scale(int*)` of
several.
"""

import ctypes
import re
from collections.abc import Iterable
from functools import cache
from typing import Any

from drawloom.errors import LaunchError
from drawloom.ptx.demangle import source_name


def symbol_of(name: str, symbols: Iterable[str]) -> str:
    """The symbol that `name` means: itself, a qualified name, or the last part of one, each with template arguments and
    parameters where they tell. A name that no symbol has is returned as it is. Raises LaunchError with the symbols
    where it means several."""
    there = list(symbols)
    if name in there:
        return name
    wanted = squeezed(name)
    found = [symbol for symbol in there if any(ends_as(known, wanted) for known in names_of(symbol))]
    if len(found) > 1:
        told = ", ".join(f"{names_of(symbol)[0]} ({symbol})" for symbol in found)
        raise LaunchError(f"'{name}' is {len(found)} kernels; name one by its parameters or its symbol: {told}")
    return found[0] if found else name


def names_of(symbol: str) -> list[str]:
    """What a source may call a symbol: with parameters, without them, without template arguments."""
    full = demangled(symbol)
    short = source_name(symbol)
    if full is None:
        return [short]
    before = without_brackets(full).partition("(")[0]  # as long as what is before the parameters
    start = before.rfind(" ") + 1  # behind the result's type
    return [squeezed(full[start:]), squeezed(full[start : len(before)]), short]


def without_brackets(text: str) -> str:
    """The text with all that stands in angle brackets replaced, so that lengths stay."""
    depth, out = 0, []
    for letter in text.replace("(anonymous namespace)", "-anonymous-namespace-"):
        depth -= letter == ">"
        out.append("-" if depth else letter)
        depth += letter == "<"
    return "".join(out)


def ends_as(known: str, wanted: str) -> bool:
    return known == wanted or known.endswith("::" + wanted)


def squeezed(name: str) -> str:
    return re.sub(r"\s+(?=\W)|(?<=\W)\s+", "", name.strip())


def demangled(symbol: str) -> str | None:
    """What the C++ library reads a symbol as; None for none of C++, and without that library."""
    demangle = demangler()
    if demangle is None or not symbol.startswith("_Z"):
        return None
    status = ctypes.c_int()
    text = demangle(symbol.encode(), None, None, ctypes.byref(status))
    try:
        return ctypes.string_at(text).decode() if status.value == 0 else None
    finally:
        ctypes.CDLL(None).free(ctypes.c_void_p(text))


@cache
def demangler() -> Any:
    try:
        found = ctypes.CDLL("libstdc++.so.6").__getattr__("__cxa_demangle")
    except (OSError, AttributeError):
        return None
    found.restype = ctypes.c_void_p
    return found
