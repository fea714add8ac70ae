"""Entries of cells at places of their order, against sorting each cell; quantiles of such against DuckDB."""

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from drawloom.horse import selection
from drawloom.horse.library import call
from drawloom.horse.selection import at_places
from drawloom.horse.types import BOOL, F64, I64, I128
from drawloom.horse.values import ListValue, Value, Vector, as_vector, from_values
from tests.sql.compare import assert_agrees

RANDOM = np.random.default_rng(3)


def values_of(dtype: str, rows: int) -> np.ndarray:
    if dtype == "object":
        return np.array([int(v) << 70 for v in RANDOM.integers(-9, 9, rows)], dtype=object)
    if dtype[0] == "f":
        odd = np.array([np.nan, -np.nan, -0.0, 0.0, np.inf, -np.inf, 1e-45, 2.5, -2.5, 2.5], dtype)
        usual = RANDOM.normal(size=rows - rows // 2)
        return np.concatenate([odd[RANDOM.integers(0, len(odd), rows // 2)], usual]).astype(dtype)
    if dtype == "bool":
        return RANDOM.integers(0, 2, rows).astype(bool)
    info = np.iinfo(dtype)
    wide = RANDOM.integers(info.min, info.max, rows, dtype=dtype, endpoint=True)
    return np.where(RANDOM.random(rows) < 0.5, wide, wide % 3).astype(dtype)


def in_order(cell: np.ndarray) -> list[Any]:
    if cell.dtype.kind != "f":
        return sorted(cell.tolist())
    numbers = sorted(cell[~np.isnan(cell)].tolist(), key=lambda v: (v, np.copysign(1, v)))
    return numbers + [np.nan] * int(np.isnan(cell).sum())


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u8", "f4", "f8", "bool", "object"])
@pytest.mark.parametrize("counts", [[1], [700, 900], [1, 2, 3, 1, 40], [3] * 50])
def test_entries_at_places_are_those_of_the_sorted_cell(dtype: str, counts: list[int]) -> None:
    values = values_of(dtype, sum(counts))
    starts = np.concatenate([[0], np.cumsum(counts)])[:-1]
    places = [np.array([p * (c - 1) // 2 for c in counts]) for p in (0, 1, 2)]
    found = at_places(values, starts, np.array(counts), places)
    for place, got in zip(places, found):
        wanted = [in_order(values[s : s + c])[p] for s, c, p in zip(starts, counts, place)]
        assert got.dtype == values.dtype
        assert [repr(v) for v in got.tolist()] == [repr(v) for v in wanted]


@pytest.mark.parametrize("dtype", ["i1", "i4", "u8", "f4", "f8", "bool", "object"])
@pytest.mark.parametrize(
    "up, nulls_first, nulls", [(True, True, 0.0), (False, False, 0.1), (False, True, 0.99), (True, False, 0.99)]
)
@pytest.mark.parametrize("rows", [1, 1000, 140_000])
def test_the_first_rows_of_an_order_are_its_beginning(
    dtype: str, up: bool, nulls_first: bool, nulls: float, rows: int
) -> None:
    """In several blocks, with equal keys of which the next key and then the rows' numbers decide."""
    if dtype == "object":
        rows = min(rows, 70_000)
    values = values_of(dtype, rows)
    valid = None if not nulls else RANDOM.random(rows) >= nulls
    type = {"f": F64, "b": BOOL}.get(values.dtype.kind, I128)
    keys = ListValue([Vector(type, values, None, valid), Vector(I64, RANDOM.integers(0, 3, rows))])
    flags: list[Value] = [from_values([int(up), 1], BOOL), from_values([int(nulls_first), 0], BOOL)]
    whole = as_vector(call("order", [keys, *flags])).data
    for wanted in (0, 1, 7, 2000, selection.MOST_SELECTED + 1):
        found = as_vector(call("order_first", [keys, *flags, from_values([wanted], I64)])).data
        assert found.tolist() == whole[:wanted].tolist()


@pytest.mark.parametrize("rows", [0, 1, 300])
def test_quantiles_agree_with_duckdb(rows: int) -> None:
    table = pa.table(
        {
            "k": pa.array(np.arange(rows) % 7, pa.int64()),
            "y": pa.array(np.where(np.arange(rows) % 2, 127, -128), pa.int8()),
            "d": pa.array([Decimal(int(v)) / 4 for v in RANDOM.integers(-999, 999, rows)], pa.decimal128(10, 2)),
            "f": pa.array(np.where(RANDOM.random(rows) < 0.3, np.nan, RANDOM.normal(size=rows))),
            "s": pa.array([None if i % 5 == 0 else f"w{i % 11}" for i in range(rows)], pa.string()),
            "n": pa.array([None] * rows, pa.int32()),
        }
    )
    asked = (
        "median(y), quantile_cont(d, 0.3), quantile_disc(f, 0.9), quantile_disc(s, 0.5), median(n), "
        "quantile_cont(y, 1), quantile_cont(f, 0.01)"
    )
    for rest in ("from t", "from t where k = 2"):
        assert_agrees(f"select {asked} {rest}", table)
    assert_agrees(f"select k, {asked} from t group by k", table)
