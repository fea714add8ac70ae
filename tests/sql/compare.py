"""Compares a result with DuckDB's: exact types exactly, doubles within the bound of a reordered sum."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa

#: Rows times half a unit in the last place, twice over (both sides round), for sums of at most 10**5 rows whose
#: terms are within 10**6 of their sum's scale.
RELATIVE = 1e5 * 2.0**-52
ABSOLUTE = 1e5 * 2.0**-52 * 1e4


def normalised(table: pa.Table) -> list[tuple[Any, ...]]:
    """The rows, sorted; floats rounded for the sort only by their place in it."""
    rows = list(zip(*[c.to_pylist() for c in table.columns]))
    return sorted(rows, key=lambda row: [_sort_key(v) for v in row])


def _sort_key(value: Any) -> Any:
    if value is None:
        return (1, "")
    if isinstance(value, float):
        return (0, "nan") if math.isnan(value) else (0, f"{round(value, 3) + 0.0:030.3f}")
    return (0, str(value))


def same_value(ours: Any, theirs: Any) -> bool:
    if isinstance(ours, float) and isinstance(theirs, float):
        if math.isnan(ours) or math.isnan(theirs) or math.isinf(theirs):
            return ours == theirs or (math.isnan(ours) and math.isnan(theirs))
        return math.isclose(ours, theirs, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
    return bool(ours == theirs) and (ours is None) == (theirs is None)


def differences(ours: pa.Table, theirs: pa.Table) -> list[str]:
    """What differs, a line each; empty when the results agree as bags of rows."""
    if ours.num_columns != theirs.num_columns or ours.num_rows != theirs.num_rows:
        return [f"shape {ours.num_rows}x{ours.num_columns}, expected {theirs.num_rows}x{theirs.num_columns}"]
    found: list[str] = []
    for a, b in zip(normalised(ours), normalised(theirs)):
        if not all(same_value(x, y) for x, y in zip(a, b)):
            found.append(f"{a}, expected {b}")
    return found
