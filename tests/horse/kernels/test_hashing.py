"""Tables of rows by their keys: each key one leader, the same for all of its rows; and who has none."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from drawloom.horse.kernels import hashing
from drawloom.horse.kernels.device import DeviceKernels
from drawloom.horse.kernels.keys import key_columns
from drawloom.horse.types import I64
from drawloom.horse.values import Array, Vector
from drawloom.runtime import device as find_device
from tests.horse.kernels.checks import SIZES, assembled, kernels_on, taken_by_the_vendor

#: Columns of keys by what is odd about them; each of ``size`` rows.
KINDS: dict[str, Callable[[np.random.Generator, int], list[Array]]] = {
    "dense": lambda rng, size: [rng.integers(0, size + 1, size).astype(np.int32)],
    "two dense": lambda rng, size: [rng.integers(-3, 4, size).astype(np.int8), rng.integers(0, 5, size)],
    "truth": lambda rng, size: [rng.integers(0, 2, size).astype(bool)],
    "narrow": lambda rng, size: [rng.integers(-(2**31), 2**31, size).astype(np.int32)],
    "ends": lambda rng, size: [rng.choice(np.array([-(2**31), 2**31 - 1, -1, 0], dtype=np.int32), size)],
    "wide": lambda rng, size: [rng.integers(-(2**63), 2**63 - 1, size)],
    "wide ends": lambda rng, size: [rng.choice(np.array([-(2**63), 2**63 - 1, -1, 0, 2**32]), size)],
    "one": lambda rng, size: [np.full(size, 2**40)],
    "skewed": lambda rng, size: [np.minimum(rng.zipf(1.3, size), 2**62)],
    "doubles": lambda rng, size: [rng.choice(np.array([0.0, -0.0, np.nan, -np.nan, np.inf, -1.5]), size)],
    "floats": lambda rng, size: [rng.choice(np.array([0.0, -0.0, np.nan, 2.5], dtype=np.float32), size)],
    "mixed": lambda rng, size: [rng.integers(0, 3, size).astype(np.int16) * 9000, rng.choice([0.5, np.nan], size)],
}


def keys_of(columns: list[Array]) -> list[tuple[object, ...]]:
    """Python's keys of the rows, where NaN is one value and 0.0 another."""
    lists = [["nan" if v != v else v + 0 for v in c.tolist()] for c in columns]
    return list(zip(*lists))


def check(device: str, columns: list[Array], asked: list[Array]) -> str:
    """Compares a table with a Python dictionary; gives the table's kind."""
    kernels = kernels_on(device)
    keys, probing = [key_columns([Vector(I64, c) for c in side]) for side in (columns, asked)]
    assert keys is not None and probing is not None
    leaders = kernels.workspace.empty(keys.rows, np.int32)
    table = hashing.build(kernels, keys, probing, leaders)
    known = keys_of(columns)
    assert table.repeats == (len(set(known)) < len(known))
    leader = dict(zip(known, leaders[: keys.rows].tolist()))
    assert all(known[row] == key for key, row in leader.items())
    assert leaders[: keys.rows].tolist() == [leader[key] for key in known]
    found = hashing.find(kernels, table, probing)[: probing.rows].tolist()
    assert found == [leader.get(key, -1) for key in keys_of(asked)]
    has = hashing.contains(kernels, table, probing)[: probing.rows].tolist()
    assert has == [row >= 0 for row in found]
    return table.kind


@pytest.mark.parametrize(
    ("device", "kind"), [*[("cpu", kind) for kind in KINDS], ("reference", "two dense"), ("reference", "mixed")]
)
def test_every_kind_of_key(device: str, kind: str) -> None:
    for size in SIZES if device == "cpu" else [0, 1, 33]:
        rng = np.random.default_rng(size)
        columns = KINDS[kind](rng, size)
        others = KINDS[kind](rng, size // 2 + 3)
        check(device, columns, [np.concatenate([o, c[::3]]) for o, c in zip(others, columns)])


def test_each_kind_of_table() -> None:
    rng = np.random.default_rng(5)
    sparse = rng.integers(-(2**31), 2**31, 997)
    assert check("cpu", [np.arange(997)], [sparse]) == "direct"
    assert check("cpu", [sparse.astype(np.int32)], [sparse.astype(np.int32)]) == "exact"
    # Keys of 64 bits whose low 32 are a key of the table are not that key.
    assert check("cpu", [sparse.astype(np.int32)], [np.concatenate([sparse, sparse + 2**32])]) == "hash"


def test_keys_out_of_the_range_of_a_table_addressed_by_keys() -> None:
    asked = np.array([-1, 0, 996, 997, 2**32, 2**32 + 5, -(2**63), 2**63 - 1])
    assert check("cpu", [np.arange(997, dtype=np.int16)], [asked]) == "direct"
    pairs = [np.array([2, 2, 3, 9]), np.array([7, -1, 7, 0])]
    assert check("cpu", [np.array([2, 3]), np.array([7, 8])], pairs) == "direct"


def test_integers_of_python_are_no_keys() -> None:
    assert key_columns([Vector(I64, np.array([1, 2**70], dtype=object))]) is None


@pytest.mark.vendor
def test_assemblers_take_tables_by_keys(ptxas: str, tmp_path: Path) -> None:
    kernels = DeviceKernels(find_device("cpu"))
    for kind in ("dense", "two dense", "narrow", "wide", "floats", "mixed"):
        keys = key_columns([Vector(I64, c) for c in KINDS[kind](np.random.default_rng(1), 50)])
        assert keys is not None
        table = hashing.build(kernels, keys, keys, kernels.workspace.empty(50, np.int32))
        hashing.find(kernels, table, keys)
        hashing.contains(kernels, table, keys)
        hashing.found_by(kernels, keys, keys)
    assembled(kernels)
    taken_by_the_vendor(kernels, ptxas, tmp_path)
