"""Random kernels: both oracles, and machine code in several layouts (tools/fuzz_batch.py draws more)."""

import random

import pytest

from drawloom.batch import parse_file
from drawloom.errors import Error
from tests.batch.random_kernels import Generator
from tools.fuzz_batch import check

pytest.importorskip("pycparser")


@pytest.mark.parametrize("first", range(0, 40, 10))
def test_random_kernels_agree(first: int) -> None:
    for seed in range(first, first + 10):
        assert check(seed) == ""


def test_damaged_kernels_are_refused_or_accepted_and_nothing_else() -> None:
    """Delete, double and exchange pieces of kernels: a `drawloom.Error` with a place, or a kernel."""
    refused = 0
    for seed in range(600):
        draw = random.Random(seed)
        text = Generator(seed % 50).text
        for _ in range(draw.randint(1, 3)):
            begin = draw.randrange(len(text))
            end = min(len(text), begin + draw.randint(1, 12))
            other = draw.randrange(len(text))
            pieces = ("", text[begin:end] * 2, text[other : other + 5], draw.choice("(){}[];,=+-*/<>?:#\"'@0aé\\\n"))
            text = text[:begin] + draw.choice(pieces) + text[end:]
        try:
            parse_file(text, wg_size=4, file="damaged.cl")
        except Error as refusal:
            refused += 1
            assert str(refusal).startswith("damaged.cl:")
    assert 100 < refused < 600
