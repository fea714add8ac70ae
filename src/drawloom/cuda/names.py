"""From the name of a kernel in a source to its symbol."""

from collections.abc import Iterable

from drawloom.errors import LaunchError
from drawloom.ptx.demangle import source_name


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
