"""The function of a kernel that machine code calls: it takes the arguments from memory, a word of 8 bytes for each.

    void NAME.entry(ptr words, i64 first, i64 last)

Functions of one type are what threads can run for every kernel (`runtime/team.py`).
"""

from __future__ import annotations

import struct
from typing import Final

from drawloom.batch.signature import Parameter, Signature
from drawloom.runtime.team import JOB_FORMAT, MOST_ARGUMENTS, WORD

#: The bytes that `struct` adds to a number to fill a word, by the number's size.
PADDING: Final = {1: "7x", 2: "6x", 4: "4x", 8: ""}


def entry_name(kernel: str) -> str:
    return f"{kernel}.entry"


def emit_entry(kernel: str, types: list[str]) -> str:
    """Return the function in LLVM IR, for a kernel whose parameters have these types of LLVM."""
    lines, arguments = [], []
    for number, type in enumerate(types):
        lines.append(f"  %at{number} = getelementptr i64, ptr %words, i64 {number}")
        lines.append(f"  %value{number} = load {type}, ptr %at{number}, align {WORD}")
        arguments.append(f"{type} %value{number}, ")
    body = "".join(line + "\n" for line in lines)
    return f"""define void @{entry_name(kernel)}(ptr %words, i64 %first, i64 %last) nounwind {{
{body}  call void @{kernel}({"".join(arguments)}i64 %first, i64 %last)
  ret void
}}
"""


def job_words(signature: Signature) -> struct.Struct | None:
    """Return how a job of a kernel is written; None if the kernel has more parameters than a job has room for."""
    if len(signature.parameters) > MOST_ARGUMENTS:
        return None
    return struct.Struct(JOB_FORMAT + "".join(map(word_format, signature.parameters)))


def word_format(parameter: Parameter) -> str:
    """Return how `struct` writes an argument to the beginning of a word."""
    if parameter.is_pointer:
        return "Q"
    dtype = parameter.dtype
    letter = {"i": "bhiq", "u": "BHIQ", "f": "  fd", "b": "?"}[dtype.kind][dtype.itemsize.bit_length() - 1]
    return letter + PADDING[dtype.itemsize]
