"""Text that is nearly PTX: refused as bad input, or rewritten as a whole; nothing else is raised."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from drawloom.errors import SourceError
from drawloom.ptx import parse, verify
from drawloom.shuffle.emulator import Options, analyse
from drawloom.shuffle.pipeline import shuffle
from drawloom.shuffle.trace import trace
from tools.shuffle_suite import COMPILERS, text_of

CORPUS = Path(__file__).parents[1] / "golden" / "corpus"
TEXTS = [
    *[text_of(compiler, name) for compiler in COMPILERS for name in ("jacobi", "matvec", "sincos", "uxx1")],
    *[path.read_text() for path in sorted(CORPUS.glob("*/*.sm_80.O3.ptx"))],
]
MARKS = "0123456789,;[]{}.%@!rpfdus -+:"


def mutated(chance: random.Random) -> str:
    """One of the texts with some characters, lines or registers in the place of others."""
    lines = chance.choice(TEXTS).splitlines()
    for _ in range(chance.choice((1, 1, 2, 3))):
        at, other = chance.randrange(len(lines)), chance.randrange(len(lines))
        match chance.choice(("character", "delete", "repeat", "swap", "register", "register")):
            case "character" if lines[at]:
                place = chance.randrange(len(lines[at]))
                lines[at] = lines[at][:place] + chance.choice(MARKS) + lines[at][place + 1 :]
            case "delete":
                del lines[at]
            case "repeat":
                lines.insert(other, lines[at])
            case "swap":
                lines[at], lines[other] = lines[other], lines[at]
            case "register":
                words, given = lines[at].split(), lines[other].split()
                names = [word for word in given if word.startswith("%")]
                places = [k for k, word in enumerate(words) if word.startswith("%")]
                if names and places:
                    words[chance.choice(places)] = chance.choice(names)
                    lines[at] = " ".join(words)
    return "\n".join(lines)


@pytest.mark.parametrize("seed", range(4))
def test_what_is_nearly_ptx_is_refused_or_rewritten(seed: int) -> None:
    chance = random.Random(seed)
    refused = 0
    for _ in range(20):
        text = mutated(chance)
        try:
            module = parse(text)
            verify(module)
        except SourceError:
            refused += 1
            continue
        made = shuffle(module, apply="all", shared=True, distinct_parameters=True)
        verify(parse(str(made)))
        assert made.report.json()
        for function in [f for f in module.functions.values() if f.has_body]:
            assert trace(module, analyse(module, function, Options(shared=True, solver_steps=100))).data()
    assert 0 < refused < 20
