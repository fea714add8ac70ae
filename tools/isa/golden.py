"""Keeps a sample of what ptxas emits, with nvdisasm's text, so that the tests need neither: tests/golden/sass.

A line of sm_<target>.txt.gz is word, number of uses in the corpus and text at address 0, between tabs: a few words for
every mnemonic with modifiers and structure. lost.txt lists, by form, the words of the samples that do not come back
from their text.
"""

from __future__ import annotations

import gzip
import re
from collections import Counter
from collections.abc import Callable

from drawloom.sass.isa import TARGETS, load_target
from drawloom.sass.syntax import TO_LABELS, scan
from tools.isa import vendor
from tools.isa.check import UNSAID, fault
from tools.isa.oracle import PLAIN_CONTROL
from tools.isa.probes import ROOT, emitted_words

GOLDEN = ROOT / "tests" / "golden" / "sass"
KEPT = 4  # words for one mnemonic and structure
LAST_NUMBER = re.compile(r"-?0x[0-9a-f]+$")


def write_golden(number: int, log: Callable[[str], None], counts: Counter[int] | None = None) -> None:
    """Writes the sample of one target."""
    counts = emitted_words(number) if counts is None else counts
    words = sorted(counts, key=lambda word: (-counts[word], word))
    wide = number >= 75
    texts = vendor.texts_of([word | PLAIN_CONTROL if wide else word for word in words], number)
    kept: dict[tuple[str, str], int] = {}
    lines = []
    target = load_target(number)
    for place, (word, text) in enumerate(zip(words, texts)):
        text = at_zero(text, vendor.address_of(place % vendor.BATCH, number))
        parsed = scan(text)
        variant = (parsed.key(), str(parsed.gaps))
        full = word | PLAIN_CONTROL if wide else word
        kept[variant] = kept.get(variant, 0) + 1
        if kept[variant] <= KEPT or fault(target, full, text, 0) not in ("", UNSAID):
            lines.append(f"{full:x}\t{counts[word]}\t{text}\n")
    GOLDEN.mkdir(parents=True, exist_ok=True)
    data = "".join(sorted(lines)).encode("ascii")
    (GOLDEN / f"sm_{number}.txt.gz").write_bytes(gzip.compress(data, mtime=0))
    log(f"sm_{number}: {len(lines)} of {len(words)} words kept")


def at_zero(text: str, address: int) -> str:
    """The text of an instruction as it would be at address 0."""
    if scan(text).base not in TO_LABELS:
        return text
    return LAST_NUMBER.sub(lambda found: hex(int(found[0], 16) - address), text)


def samples(number: int) -> list[tuple[int, int, str]]:
    """(word, uses, text) of the kept sample of one target."""
    rows = gzip.decompress((GOLDEN / f"sm_{number}.txt.gz").read_bytes()).decode("ascii").splitlines()
    return [(int(row[0], 16), int(row[1]), row[2]) for row in (line.split("\t") for line in rows)]


def losses(number: int) -> tuple[Counter[str], int]:
    """By form and reason, the words of the sample that do not come back from their text; and how many instructions of
    ptxas are of those that do not come back from the word either."""
    target = load_target(number)
    found: Counter[str] = Counter()
    lost = 0
    for word, uses, text in samples(number):
        reason = fault(target, word, text, 0)
        if reason:
            found[f"sm_{number} {text.split(' ')[text.startswith('@')]} ({reason})"] += 1
            lost += uses if reason != UNSAID else 0
    return found, lost


def write_losses() -> None:
    lines = [f"{count} {name}" for number in TARGETS for name, count in sorted(losses(number)[0].items())]
    (GOLDEN / "lost.txt").write_text("\n".join(lines) + "\n")
