"""What SQL text says before it is planned: EXPLAIN, numbers that are doubles for DuckDB, words DataFusion passes over,
SIMILAR TO, which is a regular expression for the whole text and has no Substrait form, FETCH FIRST, which is LIMIT.

DataFusion reads 0.1 as a decimal because we ask for it, and then 1e2 too; DuckDB reads a number with an exponent, or of
more than 38 digits, as a double. Such a number becomes the call of a function of its text, and so does text that is
cast to a double: DataFusion compares doubles with decimals as decimals of 15 digits behind the point, and would fold
what it sees to them; so nothing is lost before ``coercion.py`` drops those casts.

DataFusion's quotient of integers is an integer, DuckDB's a double, and the difference would spread through every type
around it. So ``a / b`` becomes ``a * 1 / b`` with 1 as a double: both operators bind alike and to the left, so that
the 1 meets exactly the dividend, and the planner drops it again once it has made the dividend a double.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import pairwise
from typing import Final

from drawloom.horse.types import MAX_DIGITS
from drawloom.sql.brackets import with_brackets
from drawloom.sql.chains import balanced
from drawloom.sql.clauses import place_before, replaced
from drawloom.sql.depth import refuse_deep
from drawloom.sql.filters import without_filters
from drawloom.sql.framestext import plain_windows, shown_frame
from drawloom.sql.inlists import kept_apart
from drawloom.sql.names import shown_calls, with_known_names
from drawloom.sql.rounding import INTEGERS, TEXT, rounded, seen
from drawloom.sql.subqueryplaces import nullable, selections
from drawloom.sql.tokens import COMMENT, NUMBER, QUOTED_NAME, STRING, WORD, pattern_of, without_comments
from drawloom.sql.unfolded import NUMBER as NUMBER_CALL
from drawloom.sql.unfolded import long_numbers, shown

_TOKEN: Final = pattern_of(
    rf"{COMMENT} | {STRING} | {QUOTED_NAME} | (?P<word> {WORD} ) | (?P<divide> //? ) | (?P<number> {NUMBER} )"
)
_BLANKS: Final = re.compile(r"\s+")
_NEXT_WORD: Final = re.compile(r"\s*+(?P<word>\w++)")
#: The most words of EXPLAIN before its query.
_EXPLAIN_WORDS: Final = 4
_SIMILAR: Final = re.compile(r"(?P<not>not\s+)?similar\s+to\s+'(?P<pattern>(?:''|[^'])*)'", re.IGNORECASE)
_FETCH: Final = re.compile(r"fetch\s+(?:first|next)\s+(?:(?P<count>\d+)\s+)?rows?\s+only\b", re.IGNORECASE)
#: A join that DataFusion takes for a table called so and a join without a condition.
_POSITIONAL: Final = re.compile(r"positional\s+join\b", re.IGNORECASE)
_QUOTES: Final = frozenset("'\"`$")
_DOUBLES: Final = frozenset(["double", "float8", "float64"])
_MOMENTS: Final = ("timestamp", "datetime", "arrow_cast", "arrow_try_cast")
_REAL: Final = r"(?:\d++(?:\.\d*+)?+|\.\d++)(?:e[+-]?\d++)?+"
#: A constant that is cast to a double, in both spellings.
_CAST: Final = re.compile(
    rf"(?P<cast>cast\s*\(\s*)?(?:'(?P<text>[+-]?(?:{_REAL}|nan|inf(?:inity)?))'|(?P<number>{_REAL}))"
    r"\s*(?(cast)as|::)\s*(?:double(?:\s+precision)?|float8|float64)\b(?(cast)\s*\))",
    re.IGNORECASE,
)
#: A constant text that has a part taken from its end, which the planner takes from its beginning.
_FROM_END: Final = re.compile(r"(?P<before>substr(?:ing)?\s*\(\s*)(?P<text>'(?:''|[^'])*')(?=\s*,\s*-)", re.IGNORECASE)
#: A pattern that all texts match, which the planner takes for the question whether there is one, and what is before it.
_ANY_TEXT: Final = "'.*'"
_MATCHES: Final = re.compile(r"(?:~\*?|,)\s*\Z")
_OF_LIST: Final = re.compile(r"\w+\s*+\((?!\s*+(?:\(|(?:select|with|values|from|table)\b))", re.IGNORECASE)
_COMPARISON: Final = re.compile(r"[=<>]\s*\Z")
#: An interval of a fraction of a unit above the second, of which the planner makes smaller units and DuckDB none.
_FRACTION: Final = re.compile(r"interval\s*+'\s*+[+-]?+\d*+\.\d++\s*+'\s*+(?!sec)[a-z]", re.IGNORECASE)
#: The years that have all their moments in nanoseconds, which DataFusion takes moments for.
_NANOSECOND_YEARS: Final = range(1678, 2262)
#: A text that is a moment with an offset, by which the planner moves it, or in a year that its nanoseconds do not have;
#: the word before it that makes it one.
_TEXT_MOMENT: Final = re.compile(
    r"(?P<word>timestamp\s+)?(?P<text>'\s*(?P<year>\d{4,6})-\d{1,2}-\d{1,2}"
    r"(?:[ T]+[\d:.]+\s*(?P<zone>[+-]\d[\d:]*)?)?\s*')",
    re.IGNORECASE,
)
#: The day that moments are counted from, as text that is cast.
_EPOCH: Final = re.compile(r"'\s*epoch\s*'(?=\s*(?:::|as\s)\s*(?:timestamp|date)\b)", re.IGNORECASE)
#: What before a text makes a constant of another kind of it.
_TYPED: Final = re.compile(r"(?:\b(?:timestamptz|date|time|zone)|\))\s*\Z", re.IGNORECASE)
#: The function that doubles are, which the planner knows by name and cannot fold.
DOUBLE: Final = "drawloom_double"
_UNFOLDED: Final = re.compile(rf"(?P<function>{DOUBLE}|{TEXT}|{NUMBER_CALL})\((?P<text>'(?:''|[^'])*')\)")
_SHOWN: Final = re.compile(rf"(?:{DOUBLE}|{TEXT})\(Utf8\(\"([^\"]*)\"\)\)")
_ONE: Final = "cast('1' as double)"
#: What DataFusion parses and then leaves out of the plan, although it changes the answer.
_PASSED_OVER: Final[dict[str, str]] = {"tablesample": "TABLESAMPLE"}

#: Functions that are not built, by what plans call them, which DataFusion computes of constants in types of its own.
_FOLDED: Final[dict[str, str]] = {
    f"{kind}_{name}": f"array_{name}" for kind in ("list", "array") for name in ("sum", "avg", "product")
}
#: What is another value the next time; such a query is planned anew.
_PASSING: Final = frozenset(["now", "current_timestamp", "current_date", "current_time", "today"])
#: With ALL these count repeated rows, which DataFusion plans as joins that do not.
_BAGS: Final = frozenset(["intersect", "except"])


class SqlText:
    """``sql`` is what the planner gets, every line where it was. ``explain`` is "", "explain" or "analyze": what the
    text wants to be told about ``sql``. ``digits`` counts the digits of all its numbers; ``names_double`` tells
    that it has a word for the type double, ``names_integer`` one for integers, ``names_moment`` one for moments that
    something may be cast to; ``bags`` counts INTERSECT ALL and
    EXCEPT ALL, ``selects`` the SELECTs; ``is_lasting`` tells that it does not ask what time it is; ``unsupported``
    names what a plan would not show. ``given`` is the text as it was, ``pieces`` where in ``sql`` and in ``given``
    begin, by turns, what is alike and what was put in the place of something."""

    def __init__(
        self, sql: str, explain: str, digits: int, names_double: bool, unsupported: list[str],
        given: str = "", pieces: list[tuple[int, int]] | None = None,
    ) -> None:  # fmt: skip
        self.selects = 0
        self.bags = 0
        self.names_integer = False
        self.names_moment = False
        self.is_lasting = True
        self.given = given
        self.pieces = pieces or [(0, 0)]
        #: What was changed in ``sql`` since it was read.
        self.changes: list[list[tuple[int, int, str]]] = []
        self.sql = sql
        self.explain = explain
        self.digits = digits
        self.names_double = names_double
        self.unsupported = unsupported

    def change(self, changes: list[tuple[int, int, str]]) -> None:
        """Changes each ``(start, end, by)`` in ``sql``."""
        self.changes.append(changes)
        self.sql = replaced(self.sql, changes)

    def offset(self, offset: int) -> int:
        """Where in ``given`` an offset in ``sql`` is; what was put in its place begins where that did."""
        for changes in reversed(self.changes):
            offset = place_before(changes, offset)
        number = bisect_right(self.pieces, (offset, len(self.given))) - 1
        made, was = self.pieces[number]
        return was if number % 2 else was + offset - made


def read(text: str) -> SqlText:
    """The text taken apart. Raises UnsupportedError for one with too much within each other."""
    unsupported: list[str] = []
    blank = without_comments(text)
    refuse_deep(blank)
    bracketed = with_brackets(plain_windows(without_filters(with_known_names(blank)), unsupported), unsupported)
    text, given = bracketed, text if bracketed == blank else bracketed
    explain = ""
    asked = _explain_words(text)
    if asked:
        is_analyze = len(asked) > 1 and asked[1][0] == "analyze"
        explain = "analyze" if is_analyze else "explain"
        option = " ".join([word for word, _, _ in asked[1 + is_analyze :]])
        if option:
            unsupported.append(f"EXPLAIN {option.upper()}")
        start, end = asked[0][1], asked[-1][2]
        text = text[:start] + re.sub(r"\S", " ", text[start:end]) + text[end:]
    made: list[str] = []
    at = digits = 0
    names_double = names_integer = names_moment = False
    selects = 0
    is_lasting = True
    pieces = [(0, 0)]

    def replace(start: int, end: int, by: str) -> None:
        """Takes the text up to ``start`` as it is and puts ``by`` in the place of what is up to ``end``."""
        nonlocal at
        made.extend([text[at:start], by])
        behind = pieces[-1][0] + start - pieces[-1][1]
        pieces.extend([(behind, start), (behind + len(by), end)])
        at = end

    unfolded = long_numbers(text)
    put_in = balanced(text)
    for places in (rounded(text), nullable(text), kept_apart(text), selections(text)):
        for offset, marks in places.items():
            put_in[offset] = put_in.get(offset, "") + marks
    brackets = sorted(put_in.items(), reverse=True)
    for token in _TOKEN.finditer(text):
        if token.start() < at:
            continue
        while brackets and brackets[-1][0] <= token.start():
            offset, marks = brackets.pop()
            replace(offset, offset, marks)
        word, number = (token.group("word") or "").lower(), token.group("number")
        names_double = names_double or word in _DOUBLES
        names_integer = names_integer or word in INTEGERS
        names_moment = names_moment or word.startswith(_MOMENTS)
        selects += word == "select"
        is_lasting = is_lasting and word not in _PASSING
        similar = _SIMILAR.match(text, token.start()) if word in ("not", "similar") else None
        if similar is not None:
            sign = "!~" if similar["not"] else "~"
            replace(similar.start(), similar.end(), f"{sign} '^(?:{similar['pattern']})$'")
            continue
        is_constant = number is not None or token.group().startswith("'")
        double = _CAST.match(text, token.start()) if word == "cast" or is_constant else None
        if double is not None:
            names_double = True
            replace(double.start(), double.end(), f"{DOUBLE}('{double['text'] or double['number']}')")
            continue
        from_end = _FROM_END.match(text, token.start()) if word in ("substr", "substring") else None
        if from_end is not None:
            replace(from_end.start(), from_end.end(), f"{from_end['before']}{TEXT}({from_end['text']})")
            continue
        moment = _TEXT_MOMENT.match(text, token.start()) if word == "timestamp" or token.group()[0] == "'" else None
        if token.group()[0] == "'" and _EPOCH.match(text, token.start()):
            replace(token.start(), token.end(), f"{TEXT}({token.group()})")
            continue
        hidden = "" if moment is None else _hidden_moment(text, moment)
        if moment is not None and hidden:
            replace(moment.start(), moment.end(), hidden)
            continue
        if token.group() == _ANY_TEXT and _MATCHES.search(text, max(token.start() - 40, 0), token.start()):
            replace(token.start(), token.end(), f"{TEXT}({_ANY_TEXT})")
            continue
        fetch = _FETCH.match(text, token.start()) if word == "fetch" else None
        if fetch is not None:
            replace(fetch.start(), fetch.end(), f"limit {fetch['count'] or 1}")
            continue
        if word in ("any", "all", "some") and _OF_LIST.match(text, token.start()):
            if _COMPARISON.search(text, max(token.start() - 40, 0), token.start()):
                unsupported.append(f"{word.upper()} of a list")
        if word == "interval" and _FRACTION.match(text, token.start()):
            unsupported.append("an interval of a fraction of a unit")
        if word in _PASSED_OVER:
            unsupported.append(_PASSED_OVER[word])
        if word in _FOLDED and text[token.end() :].lstrip().startswith("("):
            unsupported.append(f"function: {_FOLDED[word]}")
        if token.group("divide") == "//":
            unsupported.append("operator: // (a whole quotient)")
            replace(token.start(), token.end(), "/")
        if token.group("divide") == "/":
            replace(token.start(), token.end(), f"* {_ONE} /")
        if word == "positional" and _POSITIONAL.match(text, token.start()):
            unsupported.append("POSITIONAL JOIN")
        if token.start() in unfolded:
            number = token.group().strip("' ")
        if number is None:
            continue
        number = number.replace("_", "")
        digits += sum([c.isdigit() for c in number])
        is_long = token.start() in unfolded
        replace(token.start(), token.end(), f"{NUMBER_CALL}('{number}')" if is_long else _number(number, unsupported))
    for offset, marks in reversed(brackets):
        replace(offset, offset, marks)
    made.append(text[at:])
    read = SqlText("".join(made), explain, digits, names_double, unsupported, given, pieces)
    read.names_integer, read.names_moment = names_integer, names_moment
    read.selects, read.bags, read.is_lasting = selects, bags_of(text)[0], is_lasting
    return read


def _explain_words(text: str) -> list[tuple[str, int, int]]:
    """Return the words of EXPLAIN at the beginning of a text without comments, each in lower case with its place.

    explain ::= 'explain' ['analyze'] ['verbose' | 'format' WORD]
    """
    words: list[tuple[str, int, int]] = []
    place = 0
    while len(words) < _EXPLAIN_WORDS and (found := _NEXT_WORD.match(text, place)) is not None:
        words.append((found["word"].lower(), found.start("word"), found.end()))
        place = found.end()
    if not words or words[0][0] != "explain":
        return []
    count = 1
    if words[count:] and words[count][0] == "analyze":
        count += 1
    if words[count:] and words[count][0] == "verbose":
        count += 1
    elif words[count + 1 :] and words[count][0] == "format":
        count += 2
    return words[:count]


def _hidden_moment(text: str, moment: re.Match[str]) -> str:
    """The moment in a text as one that the planner does not see; "" where it reads it right."""
    is_far = int(moment["year"]) not in _NANOSECOND_YEARS
    if not (moment["zone"] or is_far) or _TYPED.search(text, max(moment.start() - 40, 0), moment.start()):
        return ""
    hidden = f"{TEXT}({moment['text']})"
    return f"cast({hidden} as timestamp)" if moment["word"] else hidden


def bags_of(sql: str) -> tuple[int, bool]:
    """How often a text has INTERSECT ALL or EXCEPT ALL, and whether it has no INTERSECT or EXCEPT besides."""
    words = [word for token in _TOKEN.finditer(sql) if (word := (token.group("word") or "").lower())]
    bags = sum([a in _BAGS and b == "all" for a, b in pairwise(words)])
    return bags, bags == sum([word in _BAGS for word in words])


def names_table(sql: str, table: str) -> bool:
    """Whether a text may name a table: it has the word, be it as another name or within a string."""
    return re.search(rf"(?<!\w){re.escape(table)}(?!\w)", sql, re.IGNORECASE) is not None


def same_query(text: str) -> str:
    """What texts have in common that are one query: how many blanks there are in a place, and comments, do not matter
    outside of quotes."""
    made: list[str] = []
    at = 0
    for token in [*_TOKEN.finditer(text), None]:
        found = "" if token is None else token.group()
        is_comment = found.startswith("--") or (found.startswith("/*") and found.endswith("*/") and len(found) > 3)
        if token is not None and not is_comment and found[-1] not in _QUOTES:
            continue
        between = _BLANKS.sub(" ", text[at:] if token is None else text[at : token.start()])
        if made and made[-1].endswith(" "):
            between = between.lstrip()
        made.extend([part for part in (between, "" if is_comment else found) if part])
        if is_comment and made and not made[-1].endswith(" "):
            made.append(" ")
        at = len(text) if token is None else token.end()
    return "".join(made).strip()


def runnable(sql: str) -> str:
    """The text for an engine, which is to compute the constants that the planner is not to fold."""
    types = {DOUBLE: "double", TEXT: "varchar", NUMBER_CALL: "bigint"}
    return _UNFOLDED.sub(lambda f: f"cast({f['text']} as {types[f['function']]})", sql)


def shown_name(name: str) -> str:
    """The name that DataFusion gives a column, as if it had seen the text as it was."""
    return shown_calls(shown_frame(_SHOWN.sub(r'Utf8("\1")', seen(shown(name)).replace(' * Utf8("1") / ', " / "))))


def _number(number: str, unsupported: list[str]) -> str:
    """``number`` as DataFusion has to see it for the type that DuckDB gives it."""
    if "e" in number.lower() or ("." in number and len(number) - 1 > MAX_DIGITS):
        return f"{DOUBLE}('{number}')"
    if "." not in number and len(number.lstrip("0")) > MAX_DIGITS:
        unsupported.append(f"an integer of more than {MAX_DIGITS} digits")
        return "0"
    return number
