"""Items of a suite that hang, die and raise, beside those that end."""

from pathlib import Path

from tools.suites.report import Outcome, report, run_in_processes, table

ITEMS = ["one", "hang", "die", "raise", "two"]


def test_an_item_that_hangs_or_dies_costs_no_other_item(tmp_path: Path) -> None:
    found = list(run_in_processes(ITEMS, "tests.tools.suite_items:check", timeout=1.0, jobs=2))
    by_name = {outcome.name: outcome for outcome in found}
    assert len(found) == 2 * len(ITEMS)
    assert all(by_name[f"{item}:1"].kind == "same" for item in ITEMS)
    assert by_name["one:2"] == Outcome("one:2", "refused", "no such thing\nin line 7")
    assert by_name["two:2"].cause == "no such thing"
    assert by_name["hang:2"] == Outcome("hang:2", "hung", "no answer for 1 seconds")
    assert by_name["die:2"].kind == "crashed"
    assert by_name["die:2"].cause == "the process died: signal SIGABRT"
    assert "last words" in by_name["die:2"].detail
    assert (by_name["raise:2"].kind, by_name["raise:2"].cause) == ("crashed", "ValueError: what it says")


def test_the_table_counts_kinds_and_causes(tmp_path: Path) -> None:
    outcomes = [Outcome("a:1", "same"), Outcome("a:2", "refused", "no a\nhere"), Outcome("b:1", "refused", "no a")]
    assert report(outcomes, tmp_path / "report") == 0
    assert len((tmp_path / "report").read_text().splitlines()) == 3
    assert "       2  no a  [a:2]" in table(outcomes)
    assert report([Outcome("a", "hung")]) == 1
