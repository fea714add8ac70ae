"""Joins the signs of launches that are written with blanks, `kernel << <grid, block>> >(...)`, as nvcc reads them.

C++ has no `<< <`, and formatters put the blanks there. Clang's lexer knows only `<<<` and `>>>`. What is joined is
preprocessed text, so launches in headers and from macros count, and comments are gone. What clang reads differently
once it is preprocessed is put right as well.
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
#: Clang's built-in transformations of types (TransformTypeTraits.def). A class by such a name ends the built-in one, so
#: `__has_builtin` is false after it; but not where clang only preprocesses, and knows of no classes.
_TRANSFORMATIONS: Final = (
    "add_lvalue_reference", "add_pointer", "add_rvalue_reference", "decay", "make_signed", "make_unsigned",
    "remove_all_extents", "remove_const", "remove_cv", "remove_cvref", "remove_extent", "remove_pointer",
    "remove_reference_t", "remove_restrict", "remove_volatile", "underlying_type",
)  # fmt: skip
_CLASS_OF_THEIRS: Final = re.compile(rf"\b__(?:{'|'.join(_TRANSFORMATIONS)})\b(?!\s*\()")
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


def rename_shadowing_classes(text: str) -> str:
    """Give classes of the host's library that have the name of a built-in transformation of types another name.

    A built-in one is a name with a parenthesis behind it: `__make_signed(T)`, which CCCL uses, beside the class
    `__make_signed<T>` of libstdc++.
    """
    return _CLASS_OF_THEIRS.sub(r"\g<0>_of_host", text)


def _end_of(text: str, start: int, sign: str) -> int:
    """Return where `sign` ends that stands after blanks at `start`, 0 if there are no blanks or another sign."""
    blanks = _BLANKS.match(text, start)
    if blanks is None or not text.startswith(sign, blanks.end()) or text.startswith((sign * 2, "="), blanks.end() + 1):
        return 0
    return blanks.end() + 1


__all__ = ["join_launches", "rename_shadowing_classes"]
