"""Asks nvdisasm what words mean, remembers the answers, and runs many questioners side by side.

A questioner is a generator that yields lists of words and is sent the list of their `Meaning`s: all that are
running are asked in one batch, since starting nvdisasm costs more than ten thousand words.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import NamedTuple, TypeVar

from drawloom.sass.syntax import TO_LABELS, SyntaxRefusal, drop_second_of_pair, scan
from tools.isa import vendor

Result = TypeVar("Result")
CONTROL_BITS = ((1 << 21) - 1) << 105
# Stall 2, no yield, no barriers: with it nvdisasm accepts every reuse flag that an instruction has.
PLAIN_CONTROL = 0x7F2 << 105
REUSE_BITS = (122, 123, 124)


class Meaning(NamedTuple):
    """What nvdisasm says of one word. `key` is opcode, base and structure; it is empty where the word is illegal."""

    key: str
    gaps: tuple[str, ...]
    values: tuple[int | str, ...]
    reuse: tuple[int, ...]
    guard: str  # "", "P" or "UP"
    text: str


ILLEGAL = Meaning("", (), (), (), "", "")


def meaning_of(text: str, address: int, size: int) -> Meaning:
    """Reads one line of nvdisasm; a label becomes its distance from the next instruction."""
    if not text or "?" in text or "INVALID" in text:
        return ILLEGAL
    try:
        parsed = scan(text)
    except SyntaxRefusal:
        return ILLEGAL
    if parsed.base.split(".")[0] in vendor.OUTSIDE or parsed.base.startswith("__"):  # "__HIR...": nvdisasm has no name
        return ILLEGAL
    if size == 8:
        drop_second_of_pair(parsed)
    values = list(parsed.values)
    if parsed.base in TO_LABELS and parsed.structure and parsed.structure[-1] == "N":
        last = values[-1]
        assert isinstance(last, int)
        values[-1] = signed(last - address - size, 64)
    guard = "" if not text.startswith("@") else "UP" if parsed.uniform_guard else "P"
    gaps = tuple("".join(gap) for gap in parsed.gaps)
    return Meaning(parsed.key(), gaps, tuple(values), tuple(parsed.reuse), guard, text)


def signed(value: int, width: int) -> int:
    value &= (1 << width) - 1
    return value - (1 << width) if value >> (width - 1) else value


class Oracle:
    """nvdisasm for one target, with a memory. Words are asked with `PLAIN_CONTROL` unless they bring control."""

    def __init__(self, target: int) -> None:
        self.target = target
        self.size = 16 if target >= 75 else 8
        self.memory: dict[int, Meaning] = {}

    def ask(self, words: Sequence[int]) -> list[Meaning]:
        fresh = [word for word in dict.fromkeys(words) if word not in self.memory]
        asked = fresh
        if self.target >= 75:
            asked = [word if word & CONTROL_BITS else word | PLAIN_CONTROL for word in fresh]
        for place, (word, text) in enumerate(zip(fresh, vendor.texts_of(asked, self.target) if fresh else [])):
            address = vendor.address_of(place % vendor.BATCH, self.target)
            meaning = meaning_of(text, address, self.size)
            if meaning.key and self.target >= 75:  # forms with different opcodes are told apart
                meaning = meaning._replace(key=f"{word & 0xFFF:03x} {meaning.key}")
            elif meaning.key:
                meaning = meaning._replace(key=f"- {meaning.key}")
            self.memory[word] = meaning
        return [self.memory[word] for word in words]

    def run(self, questioners: Sequence[Generator[list[int], list[Meaning], Result]]) -> list[Result]:
        """Runs the questioners to their ends, side by side, and returns their results in order."""
        results: dict[int, Result] = {}
        waiting: dict[int, list[int]] = {}
        for place, questioner in enumerate(questioners):
            try:
                waiting[place] = next(questioner)
            except StopIteration as done:
                results[place] = done.value
        while waiting:
            self.ask([word for words in waiting.values() for word in words])
            following: dict[int, list[int]] = {}
            for place, words in waiting.items():
                try:
                    following[place] = questioners[place].send([self.memory[word] for word in words])
                except StopIteration as done:
                    results[place] = done.value
            waiting = following
        return [results[place] for place in range(len(questioners))]
