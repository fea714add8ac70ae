"""Every pattern by its printed name."""

from __future__ import annotations

from typing import Final

from drawloom.lift.language.patterns import algorithmic, layout, opencl
from drawloom.lift.language.patterns.base import DefinedPattern

PATTERNS: Final[dict[str, type[DefinedPattern]]] = {
    pattern.keyword: pattern for pattern in (*algorithmic.PATTERNS, *layout.PATTERNS, *opencl.PATTERNS)
}
