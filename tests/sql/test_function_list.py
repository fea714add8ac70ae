"""Every function that DataFusion has is asked for: it runs, or it is refused by name; docs/functions.md says which."""

import re
from pathlib import Path

import datafusion
import pytest

import drawloom
from drawloom.sql import connect
from drawloom.sql.planner import SqlError
from tests.sql.function_calls import AGGREGATES, SCALARS, TABLE, WINDOWS, query

PAGE = Path(__file__).parents[2] / "docs" / "functions.md"
KINDS = {"scalar": SCALARS, "aggregate": AGGREGATES, "window": WINDOWS, "over a window": AGGREGATES}


def datafusions(kind: str) -> set[str]:
    """The names of its functions, but for those of lists alone."""
    config = datafusion.SessionConfig().set("datafusion.catalog.information_schema", "true")
    routines = "select distinct routine_name as name from information_schema.routines where function_type = "
    rows = (
        datafusion.SessionContext(config)
        .sql(f"{routines}'{'AGGREGATE' if kind == 'over a window' else kind.upper()}'")
        .to_pydict()
    )
    return {n for n in rows["name"] if not n.startswith(("array_", "list_")) or n == "array_agg"}


def outcome(connection: drawloom.Connection, text: str) -> str:
    """ "runs" or "refused"; DataFusion may refuse what it cannot type."""
    try:
        connection.sql(text).query.program().interpret()
    except (drawloom.UnsupportedError, SqlError):
        return "refused"
    return "runs"


def documented(kind: str) -> dict[str, set[str]]:
    """The names that the page has under a kind, by what it says of them."""
    (section,) = re.findall(rf"^## {kind.capitalize()}[^\n]*\n(.*?)(?=^## |\Z)", PAGE.read_text(), re.M | re.S)
    found: dict[str, set[str]] = {}
    for word, text in re.findall(r"^(Runs|Refused)[^:]*:(.*?)(?=\n\n|\Z)", section, re.M | re.S):
        found.setdefault(word.lower(), set()).update(re.findall(r"`([a-z_0-9]+)`", text))
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_each_function_runs_or_is_refused_as_the_page_says(kind: str) -> None:
    assert datafusions(kind) == set(KINDS[kind])
    connection = connect("cpu").register("t", TABLE)
    found: dict[str, set[str]] = {"runs": set(), "refused": set()}
    for name in KINDS[kind]:
        found[outcome(connection, query(kind, name))].add(name)
    assert documented(kind) == {word: names for word, names in found.items() if names}


def test_functions_of_lists_run_or_are_refused_as_the_page_says() -> None:
    connection = connect("cpu").register("t", TABLE)
    calls = {
        "array_length": "make_array(i)", "list_length": "make_array(i)", "array_element": "make_array(i), 1",
        "list_extract": "make_array(i), 1", "array_to_string": "make_array(s), '-'", "list_join": "make_array(s), '-'",
        "array_has": "make_array(i), 1", "array_position": "make_array(i), 1", "array_min": "make_array(i)",
        "array_max": "make_array(i)", "array_slice": "make_array(i), 1, 1", "array_sort": "make_array(i)",
        "array_reverse": "make_array(i)", "array_distinct": "make_array(i)", "array_remove": "make_array(i), 1",
        "array_remove_all": "make_array(i), 1", "array_append": "make_array(i), i",
        "array_prepend": "i, make_array(i)", "array_concat": "make_array(i), make_array(b)", "array_repeat": "i, 2",
    }  # fmt: skip
    for name, arguments in calls.items():
        assert outcome(connection, f"select {name}({arguments}) as x from t") == "runs"
        assert f"`{name}`" in PAGE.read_text().partition("## ")[0]
    names = ["array_union", "array_intersect", "array_except", "array_replace", "array_resize"]
    assert {outcome(connection, query("scalar", name)) for name in names} == {"refused"}
