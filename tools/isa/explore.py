"""From the words that ptxas emitted to every form that bit flips reach: samples of each, by key."""

from __future__ import annotations

from collections.abc import Iterable

from tools.isa.oracle import CONTROL_BITS, Meaning, Oracle

SAMPLES = 12  # words kept for one key
ROUNDS = 5


def free_bits(target: int) -> list[int]:
    """The bits of a word that are neither guard nor control."""
    if target >= 75:
        return [bit for bit in range(105) if not 12 <= bit < 16]
    return [bit for bit in range(64) if not 16 <= bit < 20]


def without_control(word: int, target: int) -> int:
    """The word without guard and control."""
    if target >= 75:
        return word & ~CONTROL_BITS & ~0xF000 | 0x7000
    return word & ~0xF0000 | 0x70000


class Samples:
    """Words by key, with the mnemonic's modifiers as varied as possible."""

    def __init__(self) -> None:
        self.words: dict[str, list[int]] = {}
        self.from_ptxas: dict[str, dict[int, int]] = {}  # how often ptxas emitted a word
        self.variants: set[tuple[str, tuple[str, ...]]] = set()

    def add(self, word: int, meaning: Meaning) -> bool:
        """Keeps a word where it shows something new; says whether its key is new."""
        kept = self.words.get(meaning.key)
        if kept is None:
            self.words[meaning.key] = [word]
            self.variants.add((meaning.key, meaning.gaps))
            return True
        if len(kept) < SAMPLES and (meaning.key, meaning.gaps) not in self.variants:
            kept.append(word)
            self.variants.add((meaning.key, meaning.gaps))
        return False


def explore(oracle: Oracle, emitted: Iterable[int]) -> Samples:
    """Starts from ptxas's words and flips every bit of every new form, until nothing new comes."""
    samples = Samples()
    words = [without_control(word, oracle.target) for word in emitted]
    for word, meaning in zip(words, oracle.ask(words)):
        if meaning.key:
            samples.add(word, meaning)
            counts = samples.from_ptxas.setdefault(meaning.key, {})
            counts[word] = counts.get(word, 0) + 1
    frontier = [word for kept in samples.words.values() for word in kept]
    bits = free_bits(oracle.target)
    for _ in range(ROUNDS):
        flipped = [word ^ (1 << bit) for word in frontier for bit in bits]
        frontier = []
        for word, meaning in zip(flipped, oracle.ask(flipped)):
            if meaning.key and samples.add(word, meaning):
                frontier.append(word)
        if not frontier:
            break
    return samples
