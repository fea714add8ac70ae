"""Damaged kernels: the ready ones and random ones with tokens, characters, numbers and lines changed."""

from __future__ import annotations

import random
import re
from functools import cache

from drawloom.batch.kernels import LINEAR_ALGEBRA, READY, read_text
from tests.batch.random_kernels import Generator

TOKEN = re.compile(r"[A-Za-z_]\w*|\d[\w.]*|[-+*/%&|^<>=!]=|&&|\|\||->|<<|>>|\S|\s+")
WORDS = (
    "int", "double", "float", "uchar", "long", "bool", "void", "const", "static", "inline", "__kernel", "__local",
    "struct", "typedef", "return", "if", "else", "for", "while", "do", "break", "continue", "switch (x)",
    "case 1:", "default:", "sizeof", "__constant", "'a'", "x++", "= x = 2", "[]", "shuffle", "sqrt", "max", "x", "k",
    "get_local_id()", "get_local_size()", "get_group_id()", "INFINITY", "struct s { int a; float b; };", "(int)", "&",
    "*", ".re", "->a", "[0]", "= {1, 2}", "{.a = 1}", "++", "+=", "? 1 : 2", "&& 1", ", 1", "#define N 3\n",
    "#ifdef N\n", "#endif\n", '#include "reductions.cl"\n', "/*", "//", "\\\n", "'", '"', "@", "é", "\0", "\t",
)  # fmt: skip
NUMBERS = (
    "0", "1", "-1", "2", "31", "4096", "4097", "1000000000", "0x7fffffff", "99999999999999999999", "1e400", "0.5f",
)  # fmt: skip
PIECES = "(){}[];,=+-*/<>?:#\"'@0aé\\\n."
GROUP_SIZES = (1, 3, 4)


@cache
def ready_texts() -> tuple[str, ...]:
    return tuple(read_text(name) for name in (*READY, *LINEAR_ALGEBRA) if name != "frcg")


def damaged_kernel(seed: int) -> tuple[str, int]:
    """Return a text that may or may not be a kernel, and a group size."""
    draw = random.Random(seed)
    if draw.random() < 0.4:
        text = draw.choice(ready_texts())
    else:
        text = Generator(draw.randrange(2000)).text
    for _ in range(draw.choice((1, 1, 1, 2, 3, 6))):
        text = draw.choice((change_token, change_token, change_token, change_characters, change_lines))(text, draw)
    return text, draw.choice(GROUP_SIZES)


def change_token(text: str, draw: random.Random) -> str:
    """Delete, double, exchange or replace a token, by another one of the text, a word or a number."""
    tokens = TOKEN.findall(text)
    solid = [place for place, token in enumerate(tokens) if not token.isspace()]
    place, other = draw.choice(solid), draw.choice(solid)
    numbers = [place for place in solid if tokens[place][0].isdigit()]
    match draw.randrange(7):
        case 0:
            tokens[place] = ""
        case 1:
            tokens[place] *= 2
        case 2:
            tokens[place], tokens[other] = tokens[other], tokens[place]
        case 3:
            tokens[place] = tokens[other]
        case 4:
            tokens[place] = f" {draw.choice(WORDS)} "
        case 5:
            tokens[place] += f" {draw.choice(WORDS)} "
        case _ if numbers:
            tokens[draw.choice(numbers)] = draw.choice(NUMBERS)
    return "".join(tokens)


def change_characters(text: str, draw: random.Random) -> str:
    begin = draw.randrange(len(text))
    end = min(len(text), begin + draw.randint(1, 12))
    other = draw.randrange(len(text))
    pieces = ("", text[begin:end] * 2, text[other : other + 5], draw.choice(PIECES))
    return text[:begin] + draw.choice(pieces) + text[end:]


def change_lines(text: str, draw: random.Random) -> str:
    """Delete, double or exchange lines."""
    lines = text.split("\n")
    place, other = draw.randrange(len(lines)), draw.randrange(len(lines))
    match draw.randrange(3):
        case 0:
            del lines[place]
        case 1:
            lines.insert(other, lines[place])
        case _:
            lines[place], lines[other] = lines[other], lines[place]
    return "\n".join(lines)
