"""A functional interpreter of decoded machine code: what sm_75 to sm_90 compute, bit for bit, without their timing."""

from drawloom.sass.interpreter.launch import run

__all__ = ["run"]
