"""Checks a target's table against the vendor tools: both ways, and over everything that ptxas emits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from drawloom.sass.decoder import decode
from drawloom.sass.encoding import encode
from drawloom.sass.form import IsaError
from drawloom.sass.isa import Target, load_target
from drawloom.sass.text import parse_instruction
from tools.isa import vendor, verify
from tools.isa.oracle import PLAIN_CONTROL
from tools.isa.probes import emitted_words

# nvdisasm prints no payload of a NaN, and for sm_80 to 89 no memory descriptor: the word is decoded and encoded all
# the same, only its text is not enough.
UNSAID = "its text does not say all"


@dataclass
class Coverage:
    """Over distinct words: how many print as nvdisasm prints them and come back from their text unchanged."""

    words: int = 0
    instructions: int = 0
    lost: int = 0  # of the instructions
    unsaid: int = 0  # of the instructions, those that come back from the word but not from the text
    reasons: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)


def check(number: int, log: Callable[[str], None]) -> bool:
    """Prints what it finds; says whether every form prints right and 99.5 % of what ptxas emits comes back."""
    target = load_target(number)
    report = verify.check_forms(target, 16, 12345)
    log(
        f"sm_{number}: {len(target.all_forms())} forms, {report.asked} random words, {report.illegal} illegal, "
        f"{len(report.mismatches)} misprinted, {len(report.silent)} forms not printed"
    )
    for mismatch in report.mismatches[:20]:
        log(f"  {mismatch.ours!r} for {mismatch.theirs!r}")
    covered = coverage(target, emitted_words(number))
    share = 1 - covered.lost / max(1, covered.instructions)
    log(
        f"sm_{number}: {covered.words} words of {covered.instructions} instructions of ptxas, {share:.4%} come back, "
        f"{covered.unsaid} of them not from their text"
    )
    for reason, count in covered.reasons.most_common():
        log(f"  {count} {reason}: {covered.examples[reason]}")
    return not report.mismatches and not report.silent and share >= 0.995


def coverage(target: Target, counts: Counter[int]) -> Coverage:
    """Decodes, prints, parses and encodes every word, beside nvdisasm."""
    made = Coverage()
    words = sorted(counts)
    asked = [word | PLAIN_CONTROL if target.wide else word for word in words]
    for place, (word, theirs) in enumerate(zip(asked, vendor.texts_of(asked, target.number))):
        count = counts[words[place]]
        made.words += 1
        made.instructions += count
        reason = fault(target, word, theirs, vendor.address_of(place % vendor.BATCH, target.number))
        if reason:
            name = f"{theirs.split(' ')[0]} ({reason})"
            made.lost += 0 if reason == UNSAID else count
            made.unsaid += count if reason == UNSAID else 0
            made.reasons[name] += count
            made.examples.setdefault(name, f"{word:#x} {theirs}")
    return made


def fault(target: Target, word: int, theirs: str, address: int) -> str:
    """Why this word does not come back from its text; "" where it does."""
    try:
        instruction = decode(target, word)
    except IsaError:
        return "not in the tables"
    if encode(instruction) != word:
        return "encoded differently"
    if instruction.text(address) != theirs:
        return "printed differently"
    try:
        again = parse_instruction(target, theirs, address, instruction.control)
    except IsaError:
        return "not read back"
    return "" if encode(again) == word else UNSAID
