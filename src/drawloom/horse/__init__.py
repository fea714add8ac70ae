"""HorseIR: the array language that queries become, and its way down to PTX kernels."""

from drawloom.horse.parser import parse

__all__ = ["parse"]
