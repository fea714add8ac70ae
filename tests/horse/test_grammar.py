"""The grammar in docs/horse.md: what it generates is read, and printed so that it reads back; programs in the
documentation are read."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

import drawloom
from drawloom.horse.parser import parse_modules

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "horse.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TOKEN = re.compile(r"'([^']+)'|([A-Za-z]+)|([()|*+?])")

#: What stands for tokens, and for what has to go together: a literal's value and type, a decimal's digits.
TERMINALS = {
    "NAME": ["x", "t1", "_a", "Sum", "def", "module", "table"], "FUNCTION": ["@sum", "@m.f", "@each"],
    "literal": re.findall(r"`+ ?([^`|]*`?[^`|]*:(?:[a-z]\w*(?:<[^`]*>)?)) ?`+", PAGE[PAGE.index("### Types") :][:2600]),
    "vector": ["bool", "i32", "u8", "f64", "str", "timestamp_ns", "decimal<15,2>"],
}  # fmt: skip


def rules() -> dict[str, str]:
    grammar = next(block for block in BLOCK.findall(PAGE) if block.startswith("text "))
    found = re.findall(r"^(\w+) +::= (.*?)(?=^\w+ +::=|\Z)", grammar, re.MULTILINE | re.DOTALL)
    return dict(found)


class Generator:
    """Random texts of a grammar: a rule is alternatives of sequences of terminals, names and groups, which may stand
    once, ``?``, ``*`` or ``+`` times."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.rules = {name: TOKEN.findall(rule) for name, rule in rules().items()}
        self.depth = 0

    def make(self, name: str) -> list[str]:
        if name in TERMINALS:
            return [self.random.choice(TERMINALS[name])]
        self.depth += 1
        made, _ = self.alternatives(self.rules[name], 0)
        self.depth -= 1
        return made

    def alternatives(self, tokens: list[tuple[str, str, str]], at: int) -> tuple[list[str], int]:
        """One of the alternatives from ``at`` up to the end of the group; and where that is."""
        choices: list[int] = [at]
        depth, end = 0, at
        while end < len(tokens):
            mark = tokens[end][2]
            if mark == ")" and depth == 0:
                break
            depth += (mark == "(") - (mark == ")")
            if mark == "|" and depth == 0:
                choices.append(end + 1)
            end += 1
        return self.sequence(tokens, self.random.choice(choices), end), end

    def sequence(self, tokens: list[tuple[str, str, str]], at: int, end: int) -> list[str]:
        made: list[str] = []
        while at < end and tokens[at][2] != "|":
            start, after = at, at + 1
            if tokens[at][2] == "(":
                depth = 1
                while depth:
                    depth += (tokens[after][2] == "(") - (tokens[after][2] == ")")
                    after += 1
            mark = tokens[after][2] if after < end else ""
            for _ in range(self.times(mark)):
                made.extend(self.one(tokens, start))
            at = after + (mark in ("?", "*", "+") and mark != "")
        return made

    def one(self, tokens: list[tuple[str, str, str]], at: int) -> list[str]:
        terminal, name, _ = tokens[at]
        if terminal:
            return [terminal]
        return self.make(name) if name else self.alternatives(tokens, at + 1)[0]

    def times(self, mark: str) -> int:
        most = 2 if self.depth < 9 else 0
        return {"?": self.random.randint(0, min(most, 1)), "*": self.random.randint(0, most),
                "+": self.random.randint(1, max(most, 1))}.get(mark, 1)  # fmt: skip


@pytest.mark.parametrize("seed", range(200))
def test_what_the_grammar_generates_is_read(seed: int) -> None:
    text = " ".join(Generator(seed).make("text"))
    modules = parse_modules(text)
    printed = "\n".join([str(m) for m in modules])
    assert parse_modules(printed) == modules


def test_the_grammar_generates_every_kind_of_statement_and_literal() -> None:
    assert len(TERMINALS["literal"]) >= 12
    texts = " ".join([" ".join(Generator(seed).make("text")) for seed in range(200)])
    words = ["while (", "repeat (", "else {", "break ;", "continue ;", "return ;", "check_cast (", "import", "kernel"]
    assert [w for w in [*words, *TERMINALS["literal"]] if w not in texts] == []


def test_programs_in_the_documentation_are_read() -> None:
    read = 0
    for page in sorted(ROOT.glob("docs/*.md")):
        for block in BLOCK.findall(page.read_text(encoding="utf-8")):
            if re.match(r"module \w+ {", block) and "..." not in block:
                read += len(parse_modules(block, page.name))
    assert read >= 1


@pytest.mark.parametrize("word", ["if", "while", "repeat", "return", "break", "continue", "var", "check_cast", "nan"])
def test_words_of_the_language_are_no_variables(word: str) -> None:
    with pytest.raises(drawloom.ParseError):
        parse_modules(f"module m {{ def f(x:i32) : i32 {{ y = {word}; return y; }} }}")
