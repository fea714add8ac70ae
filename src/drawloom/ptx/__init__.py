"""PTX, the waist of the house: instruction table, module, parser, printer, verifier and analyses."""

from drawloom.ptx.ir import Function, Instruction, Module, Register
from drawloom.ptx.parser import parse
from drawloom.ptx.verifier import verify, verify_all

__all__ = ["Function", "Instruction", "Module", "Register", "parse", "verify", "verify_all"]
