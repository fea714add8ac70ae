"""Random queries of the supported family over random tables agree with DuckDB in every bit."""

import pytest

from tools.fuzz_sql import check


@pytest.mark.parametrize("seed", range(5000, 5040))
def test_the_interpreter_agrees_with_duckdb(seed: int) -> None:
    assert check(seed, "interpreter") == []


@pytest.mark.parametrize("seed", range(20))
def test_the_reference_device_agrees_with_duckdb(seed: int) -> None:
    assert check(seed, "reference", 2) == []


@pytest.mark.parametrize("seed", range(1000, 1020))
def test_the_cpu_agrees_with_duckdb(seed: int) -> None:
    assert check(seed, "cpu", 2) == []


@pytest.mark.parametrize("seed", range(5000, 5025))
def test_joins_by_the_interpreter_agree_with_duckdb(seed: int) -> None:
    assert check(seed, "interpreter", joins=True) == []


@pytest.mark.parametrize("seed", range(20))
def test_joins_on_the_cpu_agree_with_duckdb(seed: int) -> None:
    assert check(seed, "cpu", 2, joins=True) == []


@pytest.mark.parametrize("seed", range(5000, 5025))
def test_windows_by_the_interpreter_agree_with_duckdb(seed: int) -> None:
    assert check(seed, "interpreter", 3, windows=True) == []


@pytest.mark.parametrize("seed", range(10))
def test_windows_on_the_cpu_agree_with_duckdb(seed: int) -> None:
    assert check(seed, "cpu", 2, windows=True) == []


@pytest.mark.parametrize("seed", range(10))
def test_joins_on_the_reference_device_agree_with_duckdb(seed: int) -> None:
    assert check(seed, "reference", 2, joins=True) == []


@pytest.mark.parametrize("seed", range(5000, 5010))
def test_lists_and_made_tables_by_the_interpreter_agree_with_duckdb(seed: int) -> None:
    assert check(seed, "interpreter", 3, nested=True) == []


@pytest.mark.parametrize("seed", range(5))
def test_lists_and_made_tables_on_the_cpu_agree_with_duckdb(seed: int) -> None:
    assert check(seed, "cpu", 2, nested=True) == []


@pytest.mark.parametrize("seed", range(5000, 5015))
def test_values_of_every_type_by_the_interpreter_agree_with_duckdb(seed: int) -> None:
    assert check(seed, "interpreter", 3, values=True) == []


@pytest.mark.parametrize("seed", range(10))
def test_values_of_every_type_on_the_cpu_agree_with_duckdb(seed: int) -> None:
    assert check(seed, "cpu", 2, values=True) == []


@pytest.mark.parametrize("seed", range(2000, 2012))
def test_subqueries_by_the_interpreter_agree_with_duckdb(seed: int) -> None:
    assert check(seed, "interpreter", 3, subqueries=True) == []


@pytest.mark.parametrize("outline", ["none", "flow"])
@pytest.mark.parametrize("seed", range(70000, 70005))
def test_less_outlined_queries_agree_with_duckdb(seed: int, outline: str) -> None:
    assert check(seed, "reference", 2, outline=outline) == []
