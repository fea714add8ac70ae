"""Generated PTX programs for the differential fuzzer."""

from tools.programs.generator import generate
from tools.programs.program import Program

__all__ = ["Program", "generate"]
