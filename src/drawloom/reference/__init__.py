"""The oracle: a slow PTX interpreter to be read beside the manual, which also finds what programs do wrong."""

from drawloom.reference.machine import run

__all__ = ["run"]
