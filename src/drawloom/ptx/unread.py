"""What is kept of a text that is not understood: instructions, and whole functions and directives, word for word.

Only ``drawloom.ptx.recovery`` makes these; ``verify`` refuses a module that has them.
"""

from __future__ import annotations

from mypy_extensions import mypyc_attr

from drawloom.errors import SourceError
from drawloom.ptx.ir import Arguments, Directive, Instruction, Key, Operand, Register
from drawloom.ptx.isa import CALL, Form, Opcode


def _unknown() -> Opcode:
    """An opcode that may do what a call may, with results and arguments; none that PTX spells."""
    opcode = Opcode("unknown", "unknown", [], [], [Form("unknown", [], [], [], ["=", "_"], (1, 0), "10")])
    opcode.effect = CALL
    return opcode


UNKNOWN = _unknown()


@mypyc_attr(acyclic=True)
class Unknown(Instruction):
    """An instruction that the table lacks, or whose operands are not understood. ``parts`` spell it behind its guard.

    Taken to write every register that it names outside of addresses, to read all that it names, and to do to memory
    and to other lanes what a call may; that it jumps nowhere is known, since it names no label.
    """

    def __init__(
        self, parts: list[str | Register], written: list[Operand], read: list[Operand], guard: Register | None,
        guard_negated: bool, pos: int, refusal: SourceError,
    ) -> None:  # fmt: skip
        self.pos = pos
        self.opcode = UNKNOWN
        self.operands = [Arguments(written), Arguments(read)]
        self.guard = guard
        self.guard_negated = guard_negated
        self.parts = parts
        self.refusal = refusal

    @property
    def is_load(self) -> bool:
        """Whether it says that it loads, from a space that kernels share."""
        words = self.text.split(maxsplit=1)[0].split(".")
        return words[0] in ("ld", "ldu") and not any(word.startswith("param") for word in words)

    @property
    def text(self) -> str:
        """What stands behind the guard, without the ``;``."""
        return "".join([part.name if isinstance(part, Register) else part for part in self.parts])

    def key(self) -> Key:
        guard = None if self.guard is None else (self.guard.id, self.guard_negated)
        return ("unknown", guard, self.text)

    def __repr__(self) -> str:
        guard = "" if self.guard is None else f"@{'!' if self.guard_negated else ''}{self.guard.name} "
        return guard + " ".join(self.text.split())


@mypyc_attr(acyclic=True)
class Unread(Directive):
    """A directive, or a function, that is not understood: its whole text, and why. ``loads`` are the offsets and texts
    of what looks like loads in it, from global or generic memory."""

    def __init__(self, text: str, pos: int, refusal: SourceError) -> None:
        self.pos = pos
        self.name = ""
        self.text = text
        self.refusal = refusal
        self.loads: list[tuple[int, str]] = []
