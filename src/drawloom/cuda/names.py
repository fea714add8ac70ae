"""From the symbols of C++ to the names in a source: `_ZN2ns5scaleIfEEvPT_i` is `ns::scale` (Itanium C++ ABI, section
5.1). Only the name is read; parameters and template arguments tell nothing that a user of a kernel types.
"""

from collections.abc import Iterable
from typing import Final

from drawloom.errors import LaunchError

ANONYMOUS: Final = "_GLOBAL__N_"


def source_name(symbol: str) -> str:
    """The qualified name of a symbol, without arguments; the symbol itself where it is not of C++."""
    if not symbol.startswith("_Z"):
        return symbol
    at = 2
    nested = symbol[at : at + 1] == "N"
    at += nested
    parts: list[str] = []
    while at < len(symbol):
        while symbol[at : at + 1] in ("L", "K", "r", "V"):  # internal linkage, and qualifiers of nested names
            at += 1
        digits = at
        while digits < len(symbol) and symbol[digits].isdigit():
            digits += 1
        if digits == at:
            break
        length = int(symbol[at:digits])
        part = symbol[digits : digits + length]
        if not part.startswith(ANONYMOUS):
            parts.append(part)
        at = digits + length
        if not nested:
            break
    return "::".join(parts) or symbol


def symbol_of(name: str, symbols: Iterable[str]) -> str:
    """The symbol that `name` means: itself, a qualified name, or the last part of one. A name that no symbol has is
    returned as it is. Raises LaunchError with the symbols where it means several."""
    there = list(symbols)
    if name in there:
        return name
    found = [symbol for symbol in there if source_name(symbol) == name or source_name(symbol).endswith("::" + name)]
    if len(found) > 1:
        raise LaunchError(f"'{name}' is {len(found)} kernels; name one by its symbol: {', '.join(found)}")
    return found[0] if found else name
