"""What SQL text is read by: regular expressions of its comments, strings, names and numbers, to one that finds tokens.

Whoever looks for something in a text looks for tokens, so that nothing within quotes or a comment is taken for it.
"""

from __future__ import annotations

import re
from typing import Final

#: One without an end goes to the text's: the planner refuses it.
COMMENT: Final = r"--[^\n]* | /\*.*?(?:\*/|\Z)"
STRING: Final = r"[eE]'(?:\\.|''|[^'\\])*' | '(?:''|[^'])*' | \$(?P<tag>\w*)\$.*?\$(?P=tag)\$"
QUOTED_NAME: Final = r'"(?:""|[^"])*" | `[^`]*`'
WORD: Final = r"[^\W\d]\w*"
NUMBER: Final = r"(?: \d+(?:_\d+)*(?:\.(?:\d+(?:_\d+)*)?)? | \.\d+(?:_\d+)* ) (?: [eE][+-]?\d+ )?"


def pattern_of(kinds: str) -> re.Pattern[str]:
    """The expression whose alternatives are ``kinds``, in which blanks mean nothing. The strings' group is "tag"."""
    return re.compile(kinds, re.VERBOSE | re.DOTALL)


_COMMENT: Final = pattern_of(rf"(?P<line> --[^\n]* ) | (?P<open> /\* ) | {STRING} | {QUOTED_NAME}")
_NESTED: Final = re.compile(r"/\*|\*/")
_VISIBLE: Final = re.compile(r"[^\n]")


def without_comments(text: str) -> str:
    """The text with blanks in the place of comments, which may have others in them."""
    made: list[str] = []
    at = 0
    while (found := _COMMENT.search(text, at)) is not None:
        end = found.end()
        if found["open"]:
            depth = 1
            while depth and (mark := _NESTED.search(text, end)) is not None:
                end = mark.end()
                depth += 1 if mark.group() == "/*" else -1
            if depth:  # the planner says that it has no end
                break
        if found["open"] or found["line"]:
            made.extend([text[at : found.start()], _VISIBLE.sub(" ", text[found.start() : end])])
        else:
            made.append(text[at:end])
        at = end
    return "".join([*made, text[at:]])
