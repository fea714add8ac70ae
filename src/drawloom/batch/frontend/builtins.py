"""The functions of values that kernels may call: how many arguments each takes, and of which types.

`numbers` take any arithmetic type and convert their arguments to the common one; `reals` convert integers to double;
`predicate` functions take a real and give a bool; `bits` take the bits of a number as one of another type.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from drawloom.batch.types import BITS_AS, FLOAT, ScalarType


class Builtin(NamedTuple):
    """`library` is the file of ready kernels that has the function as kernel code, nothing where it is an operation."""

    arguments: int
    domain: str
    library: str = ""


ROUNDING: Final = "rounding.cl"
EXPONENTIALS: Final = "exponentials.cl"
ANGLES: Final = "angles.cl"

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
    "isnan": Builtin(1, "predicate"),
    **{name: Builtin(1, "bits") for name in BITS_AS},
    **{name: Builtin(1, "reals", ROUNDING) for name in ("floor", "ceil", "trunc", "rint", "round")},
    "copysign": Builtin(2, "reals", ROUNDING),
    "exp": Builtin(1, "reals", EXPONENTIALS),
    "log": Builtin(1, "reals", EXPONENTIALS),
    "pow": Builtin(2, "reals", EXPONENTIALS),
    **{name: Builtin(1, "reals", ANGLES) for name in ("sin", "cos", "tan")},
}

#: Functions of the place of a work-item; each may be given the dimension 0.
IDENTITIES: Final = ("get_local_id", "get_group_id", "get_global_id")
SIZE: Final = "get_local_size"
SHUFFLE: Final = "shuffle"
#: Names of C that are values.
CONSTANTS: Final = {"INFINITY": float("inf"), "NAN": float("nan")}


def is_reserved(name: str) -> bool:
    return name in BUILTINS or name in IDENTITIES or name in (SHUFFLE, SIZE)


def library_function(name: str, scalar: ScalarType) -> str:
    """Return the name in its library of a builtin function for a type."""
    return f"{name}_{'float' if scalar is FLOAT else 'double'}"
