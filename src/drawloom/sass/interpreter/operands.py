"""The operands of a decoded instruction: its text's structure, with the numbers in place.

[-R5]  |R5|.H1_H1  !P3  c[0x0][R2+0x10]  desc[UR4][R2.64+UR6+0x8]  R6 0x120
"""

from __future__ import annotations

from typing import Final

from drawloom.sass.form import NUMBER_KINDS, Opcode
from drawloom.sass.instruction import Instruction

#: Values of an operand that are kept: all registers, and some of the immediates.
MOST_KEPT: Final = 1 << 10


class Number:
    """One number: `kind` as in a signature (`F16` to `F64` for floats), `before` and `after` what is printed there."""

    def __init__(self, kind: str, value: int, before: str, after: str) -> None:
        self.kind = kind
        self.value = value
        self.before = before
        self.after = after


class Operand:
    """What stands between two commas. Of a plain register, predicate or immediate, `kind` and `value` are its own;
    `kind` is "address" or "bank" for memory, "pair" for two numbers side by side, "words" for a name such as PR.

    Of an address: `base` (a general register, 255 for none), `wide` (it is a pair), `unsigned` (.U32), `scale`,
    `uniform` (63 for none), `offset`, and `descriptor` (63 for none). Of a bank: `bank`, and an address in it.
    """

    def __init__(self) -> None:
        self.kind = "words"
        self.value = 0
        self.before = ""
        self.after = ""
        self.words = ""
        self.numbers: list[Number] = []
        self.base = 255
        self.wide = self.unsigned = False
        self.scale = 1
        self.uniform = 63
        self.offset = 0
        self.descriptor = 63
        self.bank = -1

    def copy(self) -> Operand:
        made = Operand.__new__(Operand)
        made.__dict__.update(self.__dict__)
        made.numbers = list(self.numbers)
        return made

    @property
    def negative(self) -> bool:
        return "-" in self.before

    @property
    def absolute(self) -> bool:
        return "|" in self.before

    @property
    def inverted(self) -> bool:
        return "~" in self.before or "!" in self.before

    @property
    def half(self) -> str:
        """`H0_H0`, `H1_H1`, `F32` or "" of a packed operand."""
        return self.after.rstrip("|").rpartition(".")[2] if "." in self.after else ""


def operands_of(instruction: Instruction) -> list[Operand]:
    """The operands in the order in which they are printed; nobody changes them, instructions share them."""
    plan = _plans.get(instruction.opcode)
    if plan is None:
        plan = _plans[instruction.opcode] = _Plan(instruction.opcode)
    return plan.filled(instruction.values)


class _Plan:
    """The operands of an opcode, found once, and which values of an instruction go where in them."""

    def __init__(self, opcode: Opcode) -> None:
        self.operands: list[Operand] = []
        #: (value, operand, its attribute), and (value, operand, which of its numbers) of pairs.
        self.places: list[tuple[int, int, str]] = []
        self.pairs: list[tuple[int, int, int]] = []
        form = opcode.form
        number = value = 0
        opening = ""
        for place, token in enumerate(form.structure):
            if place == 0 or token == ",":
                self.operands.append(Operand())
            operand = self.operands[-1]
            if token in NUMBER_KINDS:
                constant = form.constants[number]
                made = Number(form.kinds[number], constant, opcode.gaps[place], opcode.gaps[place + 1])
                number += 1
                attribute = _place(operand, made, opening)
                if constant < 0:
                    at = len(self.operands) - 1
                    if attribute:
                        self.places.append((value, at, attribute))
                    else:
                        self.pairs.append((value, at, len(operand.numbers) - 1))
                    value += 1
            elif token[-1] == "[":
                opening = token
            elif token == "]":
                opening = ""
                operand.words += opcode.gaps[place + 1]
            if token in ("_", ","):
                operand.words += opcode.gaps[place + 1]
        for operand in self.operands:
            _finish(operand)
        self.places += [(value, at, "value") for value, at, _ in self.pairs if self.operands[at].kind != "pair"]
        self.pairs = [p for p in self.pairs if self.operands[p[1]].kind == "pair"]
        #: The values that go into each operand, and what has been made of it with them.
        self.needs = [
            sorted(v for v, at, _ in [*self.places, *self.pairs] if at == n) for n in range(len(self.operands))
        ]
        self.made: list[dict[tuple[int, ...], Operand]] = [{} for _ in self.operands]

    def filled(self, values: list[int]) -> list[Operand]:
        """The operands with an instruction's values."""
        found = []
        for at, needs in enumerate(self.needs):
            key = tuple([values[n] for n in needs])
            operand = self.made[at].get(key)
            found.append(operand if operand is not None else self._made(at, key, values))
        return found

    def _made(self, at: int, key: tuple[int, ...], values: list[int]) -> Operand:
        operand = self.operands[at].copy()
        for value, of, attribute in self.places:
            if of == at:
                setattr(operand, attribute, values[value])
        for value, of, number in self.pairs:
            if of == at:
                old = operand.numbers[number]
                operand.numbers[number] = Number(old.kind, values[value], old.before, old.after)
        if len(self.made[at]) == MOST_KEPT:
            self.made[at].clear()
        self.made[at][key] = operand
        return operand


_plans: Final[dict[Opcode, _Plan]] = {}


def _place(operand: Operand, number: Number, opening: str) -> str:
    """Puts a number where the bracket around it says that it belongs; the attribute that it is, "" for a number of
    its own."""
    if opening in ("c[", "cx["):
        operand.kind = "bank"
        operand.bank = number.value if number.kind == "I" else -2
        return "bank" if number.kind == "I" else "value"
    if opening == "desc[":
        operand.descriptor = number.value
        return "descriptor"
    if opening != "[":
        operand.numbers.append(number)
        return ""
    if operand.kind != "bank":
        operand.kind = "address"
    if number.kind == "UR":
        operand.uniform = number.value
        return "uniform"
    if number.kind != "R":
        operand.offset = number.value
        return "offset"
    operand.base = number.value
    operand.wide = ".64" in number.after
    operand.unsigned = ".U32" in number.after
    if ".X" in number.after:
        operand.scale = int(number.after.partition(".X")[2].partition(".")[0])
    return "base"


def _finish(operand: Operand) -> None:
    if operand.kind in ("bank", "address"):
        operand.before = operand.words  # what stands around the brackets: -c[0x0][0x10], |c[..]|
        return
    if len(operand.numbers) == 1:
        only = operand.numbers[0]
        operand.kind, operand.value, operand.before, operand.after = only.kind, only.value, only.before, only.after
    elif operand.numbers:
        operand.kind = "pair"
