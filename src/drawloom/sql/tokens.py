"""What SQL text is read by: regular expressions of its comments, strings, names and numbers, to one that finds tokens.

Whoever looks for something in a text looks for tokens, so that nothing within quotes or a comment is taken for it.
"""

from __future__ import annotations

import re
from typing import Final

COMMENT: Final = r"--[^\n]* | /\*.*?\*/"
STRING: Final = r"[eE]'(?:\\.|''|[^'\\])*' | '(?:''|[^'])*' | \$(?P<tag>\w*)\$.*?\$(?P=tag)\$"
QUOTED_NAME: Final = r'"(?:""|[^"])*" | `[^`]*`'
WORD: Final = r"[^\W\d]\w*"
NUMBER: Final = r"(?: \d+(?:_\d+)*(?:\.(?:\d+(?:_\d+)*)?)? | \.\d+(?:_\d+)* ) (?: [eE][+-]?\d+ )?"


def pattern_of(kinds: str) -> re.Pattern[str]:
    """The expression whose alternatives are ``kinds``, in which blanks mean nothing. The strings' group is "tag"."""
    return re.compile(kinds, re.VERBOSE | re.DOTALL)
