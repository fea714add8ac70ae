"""What CUDA's device runtime gives a kernel to call: ``vprintf``, ``__assertfail``, ``malloc`` and ``free``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from drawloom.ptx.printf import argument_bytes, argument_count, format_vprintf
from drawloom.reference.memory import WINDOW_SIZE, Fault, space_of

if TYPE_CHECKING:
    from drawloom.reference.threads import Thread

MASK32: Final = 0xFFFFFFFF


def _read_bytes(t: Thread, address: int, size: int) -> bytes:
    """``size`` bytes at a generic address."""
    return bytes([_read_byte(t, address + at) for at in range(size)])


def _read_byte(t: Thread, address: int) -> int:
    space = space_of(address)
    if space == "local":
        return t.local.load(address & WINDOW_SIZE - 1, 1)
    if space == "shared":
        return t.block.shared.load(address & WINDOW_SIZE - 1, 1)
    if space == "param":
        return t.block.launch.params.load(address & WINDOW_SIZE - 1, 1)
    return t.block.launch.memory.load(address, 1)


def _read_string(t: Thread, address: int) -> bytes:
    """The bytes before the NUL at a generic address."""
    out = bytearray()
    while byte := _read_byte(t, address + len(out)):
        out.append(byte)
    return bytes(out)


def _vprintf(t: Thread, arguments: list[int]) -> int:
    """Prints and returns the number of arguments; -1 for a null format (CUDA C++ Programming Guide, 10.35)."""
    format_address, block = arguments
    if format_address == 0:
        return -1 & MASK32
    format = _read_string(t, format_address)
    size = argument_bytes(format)
    data = _read_bytes(t, block, size) if size else b""
    t.block.launch.write(format_vprintf(format, data, lambda address: _read_string(t, address)))
    return argument_count(format)


def _assertfail(t: Thread, arguments: list[int]) -> int:
    """Stops the kernel with the message that CUDA prints."""
    message, file, line, function = arguments[:4]
    texts = [_read_string(t, a).decode("utf-8", "replace") if a else "?" for a in (message, file, function)]
    raise Fault(f"assertion failed: {texts[0]} ({texts[1]}:{line & MASK32}, {texts[2]})")


def _malloc(t: Thread, arguments: list[int]) -> int:
    return t.block.launch.memory.allocate(arguments[0])


def _free(t: Thread, arguments: list[int]) -> int:
    t.block.launch.memory.free(arguments[0])
    return 0


RUNTIME_FUNCTIONS: Final[dict[str, Callable[[Thread, list[int]], int]]] = {
    "vprintf": _vprintf, "__assertfail": _assertfail, "malloc": _malloc, "free": _free,
}  # fmt: skip
