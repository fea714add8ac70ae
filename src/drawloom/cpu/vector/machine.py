"""The CPU that code is made for, with the features that DRAWLOOM_CPU_FEATURES allows, and how code is linked."""

from __future__ import annotations

from typing import Final

from drawloom.cpu.engine import FULL, LARGE, Host, Loaded, host

#: The widest vector registers in bits by the feature that brings them, widest first (LLVM's names).
REGISTERS: Final = (("avx512f", 512), ("avx", 256))
#: What every x86-64 and 64-bit ARM has.
LEAST_BITS: Final = 128


def vector_bits() -> int:
    """Return the width of the widest vector registers."""
    features = host().features
    return next((bits for name, bits in REGISTERS if name in features), LEAST_BITS)


def vector_registers() -> int:
    """Return how many vector registers there are."""
    return 32 if "avx512f" in host().features or not host().is_x86 else 16


__all__ = ["FULL", "LARGE", "Host", "Loaded", "host", "vector_bits", "vector_registers"]
