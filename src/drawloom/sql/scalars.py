"""Scalar functions that are one builtin each: SQL's name, the builtin, and what the arguments are brought to.

A row is

    name in the plan | builtin | arguments

where ``text``, ``int``, ``real`` are what an argument is cast to, ``?`` marks one that may be left out, ``space`` is a
text that is a space where it is left out, and ``text=value`` a constant behind those of the query.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from drawloom.horse.ir import Literal, Operand
from drawloom.horse.plain import PLAIN
from drawloom.horse.types import F64, I64, STR, VectorType
from drawloom.sql import plan
from drawloom.sql.coercion import drop_to_double
from drawloom.sql.frames import Frame, Result

if TYPE_CHECKING:
    from drawloom.sql.translate import Translator

_TABLE: Final = """
reverse          | reverse       | text
lpad             | pad_start     | text int space
rpad             | pad_end       | text int space
repeat           | repeat        | text int
initcap          | capitalise    | text
split_part       | split_part    | text text int
ascii            | code_of       | text
chr              | char_of       | int
md5              | digest        | text text=md5
sha224           | digest        | text text=sha224
sha256           | digest        | text text=sha256
sha384           | digest        | text text=sha384
sha512           | digest        | text text=sha512
contains         | contains_text | text text
starts_with      | begins_with   | text text
ends_with        | ends_with     | text text
left             | leftmost      | text int
right            | rightmost     | text int
substring        | slice         | text int int?
replace          | replace_each  | text text text
btrim            | trim_each     | text text
ltrim            | trim_start_each | text text
rtrim            | trim_end_each | text text
translate        | translate     | text text text
overlay          | overlay       | text text int int?
levenshtein      | levenshtein   | text text
find_in_set      | find_in_set   | text text
substr_index     | before_nth    | text text int
to_hex           | hex           | int
strpos           | locate        | text text
regex_match      | matches       | text text
regex_imatch     | matches       | text text text=i
similar          | matches       | text text text=f
regexp_like      | matches       | text text
regexp_count     | match_count   | text text
regexp_instr     | match_place   | text text
sin              | sin           | real
cos              | cos           | real
tan              | tan           | real
cot              | cot           | real
asin             | asin          | real
acos             | acos          | real
atan             | atan          | real
sinh             | sinh          | real
cosh             | cosh          | real
tanh             | tanh          | real
asinh            | asinh         | real
acosh            | acosh         | real
atanh            | atanh         | real
atan2            | atan2         | real real
cbrt             | cbrt          | real
log2             | log2          | real
log10            | log10         | real
log_of           | log_of        | real real
degrees          | degrees       | real
radians          | radians       | real
signum           | sign          | real
is_nan           | is_nan        | real
gcd              | gcd           | int int
lcm              | lcm           | int int
factorial        | factorial     | int
make_date        | make_date     | int int int
"""


class Scalar:
    """A row: the builtin, what each argument is brought to, and the constants behind those that are given."""

    def __init__(self, builtin: str, arguments: list[str], fixed: list[str]) -> None:
        self.builtin = builtin
        self.arguments = arguments
        self.fixed = fixed

    @property
    def counts(self) -> tuple[int, ...]:
        """How many arguments a call may have."""
        least = len([a for a in self.arguments if a != "space" and not a.endswith("?")])
        return tuple(range(least, len(self.arguments) + 1))


def _load() -> dict[str, Scalar]:
    table: dict[str, Scalar] = {}
    for line in _TABLE.splitlines():
        if line:
            name, builtin, words = [cell.strip() for cell in line.split("|")]
            given = [w for w in words.split() if "=" not in w]
            table[name] = Scalar(builtin, given, [w.partition("=")[2] for w in words.split() if "=" in w])
    return table


TABLE: Final[dict[str, Scalar]] = _load()
_TYPES: Final[dict[str, VectorType]] = {"text": STR, "int": I64, "real": F64, "space": STR}
#: The kinds of values that may stand for each word.
KINDS_OF: Final[dict[str, frozenset[str]]] = {
    "text": frozenset(["text"]), "int": frozenset(["int"]), "real": frozenset(["int", "decimal", "float"]),
    "space": frozenset(["text"]),
}  # fmt: skip


def kind_of(name: str) -> str:
    """The kind of the function's values."""
    return PLAIN[TABLE[name].builtin].gives.kind


def scalar(t: Translator, call: plan.Apply, frame: Frame) -> Result:
    """The builtin's call."""
    row = TABLE[call.function]
    sides = [_argument(t, a, word.rstrip("?"), frame) for a, word in zip(call.arguments, row.arguments)]
    valid = t.both([s.valid for s in sides])
    values: list[Operand] = [s.value for s in sides]
    if row.arguments[-1] == "space" and len(values) < len(row.arguments):
        values.append(Literal([" "], STR))
    values.extend([Literal([text], STR) for text in row.fixed])
    plain = PLAIN[row.builtin]
    rest_is_constant = all(isinstance(v, Literal) for v in values[1:])
    if row.arguments[0] == "text" and rest_is_constant and not plain.is_partial:
        return t.of_words(row.builtin, Result(values[0], STR, valid), values[1:])
    return t.result(row.builtin, values, valid)


def _argument(t: Translator, argument: plan.Expression, word: str, frame: Frame) -> Result:
    made = t.uncast(argument, frame, drop_to_double) if word == "real" else t.expression(argument, frame)
    return t.cast(made, _TYPES[word])
