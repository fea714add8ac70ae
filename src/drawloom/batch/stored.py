"""What was compiled for this machine, on disk: by the package's version and code, the CPU, and what is asked for."""

from __future__ import annotations

from collections.abc import Callable

from drawloom.build_info import VERSION, fingerprint
from drawloom.cpu.vector.machine import host
from drawloom.runtime.cache import cache_key, kernel_store


def stored(make: Callable[[], bytes], *asked: str) -> bytes:
    """Return what `make` returns, from the kernel cache where an equal call left it.

    Args:
        make: What compiles.
        asked: Everything that its result depends on, but for the package and the machine.
    """
    store = kernel_store()
    if store is None:
        return make()
    key = cache_key("batch", VERSION, fingerprint("batch"), host().key, *asked)
    known = store.get(key)
    if known is None:
        known = make()
        store.put(key, known)
    return known
