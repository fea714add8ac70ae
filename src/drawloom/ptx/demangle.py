"""From the symbols of C++ to the names in a source: `_ZN2ns5scaleIfEEvPT_i` is `ns::scale` (Itanium C++ ABI, section
5.1). Only the name is read; parameters and template arguments tell nothing that a user of a kernel types.
"""

from typing import Final

ANONYMOUS: Final = "_GLOBAL__N_"
MOST_DIGITS: Final = 9  # of the length of a name; a symbol with more is of something else


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
        if not 0 < digits - at <= MOST_DIGITS:
            break
        length = int(symbol[at:digits])
        part = symbol[digits : digits + length]
        if not part.startswith(ANONYMOUS):
            parts.append(part)
        at = digits + length
        if not nested:
            break
    return "::".join(parts) or symbol


def readable(symbol: str) -> str:
    """A symbol for people: after its name in the source where it has one."""
    name = source_name(symbol)
    return symbol if name == symbol else f"{name} ({symbol})"
