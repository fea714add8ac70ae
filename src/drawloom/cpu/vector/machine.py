"""The CPU that code is made for, with the features that DRAWLOOM_CPU_FEATURES allows, and how code is linked."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

from drawloom.cpu.engine import FULL, LARGE, Host, Loaded, host

#: The widest vector registers in bits by the feature that brings them, widest first (LLVM's names).
REGISTERS: Final = (("avx512f", 512), ("avx", 256))
#: What every x86-64 and 64-bit ARM has.
LEAST_BITS: Final = 128
LAST_CACHE: Final = Path("/sys/devices/system/cpu/cpu0/cache/index3/size")
UNITS: Final = {"K": 1 << 10, "M": 1 << 20}
USUAL_CACHE: Final = 32 << 20


def vector_bits() -> int:
    """Return the width of the widest vector registers."""
    features = host().features
    return next((bits for name, bits in REGISTERS if name in features), LEAST_BITS)


def vector_registers() -> int:
    """Return how many vector registers there are."""
    return 32 if "avx512f" in host().features or not host().is_x86 else 16


def mask_registers() -> int:
    """Return how many registers for masks there are, less one for what a compiler needs; 0 where vectors are masks."""
    return 6 if {"avx512f", "avx512dq"} <= host().features else 0


@cache
def last_cache_bytes() -> int:
    """Return the size of the last cache, as Linux says it; 32 MiB where it does not."""
    try:
        text = LAST_CACHE.read_text(encoding="ascii").strip()
    except OSError:
        return USUAL_CACHE
    number, unit = (text[:-1], text[-1]) if text[-1:] in UNITS else (text, "")
    return int(number) * UNITS.get(unit, 1) if number.isdigit() else USUAL_CACHE


__all__ = ["FULL", "LARGE", "Host", "Loaded", "host", "last_cache_bytes", "mask_registers", "vector_bits",
           "vector_registers"]  # fmt: skip
