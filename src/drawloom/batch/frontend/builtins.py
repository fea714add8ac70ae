"""The functions of values that kernels may call: how many arguments each takes, and of which types.

`numbers` take any arithmetic type and convert their arguments to the common one; `reals` convert integers to double;
`predicate` functions take a real and give a bool.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Builtin(NamedTuple):
    arguments: int
    domain: str


BUILTINS: Final[dict[str, Builtin]] = {
    "max": Builtin(2, "numbers"),
    "min": Builtin(2, "numbers"),
    "abs": Builtin(1, "numbers"),
    "sqrt": Builtin(1, "reals"),
    "rcp": Builtin(1, "reals"),
    "fabs": Builtin(1, "reals"),
    "fmax": Builtin(2, "reals"),
    "fmin": Builtin(2, "reals"),
    "fma": Builtin(3, "reals"),
    "exp": Builtin(1, "reals"),
    "log": Builtin(1, "reals"),
    "pow": Builtin(2, "reals"),
    "sin": Builtin(1, "reals"),
    "cos": Builtin(1, "reals"),
    "tan": Builtin(1, "reals"),
    "isnan": Builtin(1, "predicate"),
}

#: Functions of the place of a work-item; each may be given the dimension 0.
IDENTITIES: Final = ("get_local_id", "get_group_id", "get_global_id")
SIZE: Final = "get_local_size"
SHUFFLE: Final = "shuffle"
#: Names of C that are values.
CONSTANTS: Final = {"INFINITY": float("inf"), "NAN": float("nan")}


def is_reserved(name: str) -> bool:
    return name in BUILTINS or name in IDENTITIES or name in (SHUFFLE, SIZE)
