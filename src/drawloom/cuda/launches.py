"""Joins the signs of launches that are written with blanks, `kernel << <grid, block>> >(...)`, as nvcc reads them.

C++ has no `<< <`, and formatters put the blanks there. Clang's lexer knows only `<<<` and `>>>`. What is joined is
preprocessed text, so launches in headers and from macros count, and comments are gone.
"""

import re
from typing import Final

#: The tokens of preprocessed C++ as far as they matter: literals, words and numbers, signs.
_TOKEN: Final = re.compile(
    r"""(?:u8|[uUL])?R"(?P<delimiter>[^()\\\s]{0,16})\(.*?\)(?P=delimiter)"
    | "(?:\\.|[^"\\\n])*"
    | '(?:\\.|[^'\\\n])*'
    | \d[\w.']* | [A-Za-z_]\w*
    | <<< | >>> | << | >> | [<>()\[\]{};]""",
    re.X | re.S,
)
_SPACED: Final = re.compile(r"<<[ \t]+<|>>[ \t]+>")
_BLANKS: Final = re.compile(r"[ \t]+")
_SPACE: Final = re.compile(r"\s*")
_OPENING: Final = "([{"
_CLOSING: Final = ")]}"


def join_launches(text: str) -> str | None:
    """Return preprocessed CUDA C++ with `<< <` and `>> >` of launches as `<<<` and `>>>`, None if there are none.

    Lines and columns stay as they are.
    """
    if not _SPACED.search(text):
        return None
    pieces: list[str] = []
    configurations: list[int] = []  # the depths at which launch configurations are open
    depth = kept = 0
    for token in _TOKEN.finditer(text):
        sign, start, end = token[0], token.start(), token.end()
        if start < kept:
            continue  # the second half of joined signs
        if sign in _OPENING:
            depth += 1
        elif sign in _CLOSING or sign == ";":
            depth -= sign != ";"
            while configurations and (configurations[-1] > depth or sign == ";"):
                configurations.pop()
        elif sign == "<<<":
            configurations.append(depth)
        elif sign == "<<":
            after = _end_of(text, end, "<")
            if after:
                pieces += (text[kept:start], "<<<", " " * (after - start - 3))
                kept = after
                configurations.append(depth)
        elif sign in (">>", ">>>") and configurations and configurations[-1] == depth:
            after = end if sign == ">>>" else _end_of(text, end, ">")
            if after and text.startswith("(", _SPACE.match(text, after).end()):  # type: ignore[union-attr]
                configurations.pop()
                if sign == ">>":
                    pieces += (text[kept:start], ">>>", " " * (after - start - 3))
                    kept = after
    return "".join([*pieces, text[kept:]]) if pieces else None


def _end_of(text: str, start: int, sign: str) -> int:
    """Return where `sign` ends that stands after blanks at `start`, 0 if there are no blanks or another sign."""
    blanks = _BLANKS.match(text, start)
    if blanks is None or not text.startswith(sign, blanks.end()) or text.startswith((sign * 2, "="), blanks.end() + 1):
        return 0
    return blanks.end() + 1


__all__ = ["join_launches"]
